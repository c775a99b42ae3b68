// `leasehold trace`: the command.
#ifndef LH_CHECK_TRACE_CHECK_H
#define LH_CHECK_TRACE_CHECK_H

// argv[0] is "trace"; the rest are its arguments. Returns the exit code: 0 the recording is a
// behaviour of the protocol, 1 it is not, 64 usage or a file that cannot be read.
int lh_trace_command(int argc, char **argv);

#endif
