// Opening files so that nothing is written to the wrong one and nothing waits: the three standard
// descriptors are there before any other is opened, and a configured path leads to a regular file.
// Opening a FIFO waits for its other end, and a read of one for bytes, for ever; the daemon has one
// thread for everything.
#ifndef LH_OS_FILE_H
#define LH_OS_FILE_H

#include <stdbool.h>
#include <stdint.h>

// Puts /dev/null where descriptors 0 to 2 are closed, or a socket or a database would be taken for
// the terminal: such that reading the one and writing to the others fails, as when it was closed.
// To be called first of all. False, with errno, if /dev/null cannot be opened.
bool lh_file_fill_standard(void);

// open(2) of a regular file with O_CLOEXEC; what is new has mode 0666 less the umask. Returns the
// descriptor, or -1 with errno and with the reason in words.
int lh_file_open(const char *path, int flags, const char **ret_reason);

// Raises the limit of open files to `wanted` or, if that is less, to the most that is allowed. Never
// lowers it. Returns how many may be open from now on.
uint64_t lh_file_raise_limit(uint64_t wanted);

#endif
