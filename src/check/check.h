// `leasehold check`: the command.
#ifndef LH_CHECK_CHECK_H
#define LH_CHECK_CHECK_H

// argv[0] is "check"; the rest are its arguments. Returns the exit code: 0 everything as expected
// or recorded, 1 a verdict or a count differs from what is recorded, 12 a violation that nothing
// expects, 64 usage, 75 ended without a verdict.
int lh_check_command(int argc, char **argv);

#endif
