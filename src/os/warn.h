// A line on standard error that is dropped rather than waited for.
//
// Standard error may be a pipe that nobody reads, or a terminal stopped by Ctrl-S: a write would
// wait without end, and with it whatever a deadline needs to be done. Where something must happen
// in time, it is done first and told through here.
#ifndef LH_OS_WARN_H
#define LH_OS_WARN_H

// Writes the text at once, as one write of at most LH_WARN_BYTES that ends in a newline, or not at
// all; what does not fit is cut. SIGPIPE and SIGXFSZ are the caller's to ignore.
void lh_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define LH_WARN_BYTES 1024 // below PIPE_BUF: a pipe takes it whole or not at all

#endif
