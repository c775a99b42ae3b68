// Opening files: see file.h.
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char not_regular[] = "not a regular file";

bool lh_file_fill_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        // The lowest that is free is opened, and all below this one are open.
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}

int lh_file_open(const char *path, int flags, const char **ret_reason)
{
    struct stat status;
    const int file = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file < 0) {
        // ENXIO: a FIFO that nobody reads, or a socket.
        *ret_reason = errno == ENXIO ? not_regular : strerror(errno);
        return -1;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        return file;
    *ret_reason = not_regular;
    close(file);
    errno = EINVAL;
    return -1;
}

uint64_t lh_file_raise_limit(uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted; // forbidden to ask: nothing is known against it
    const rlim_t before = limit.rlim_cur;
    if (before >= wanted)
        return before;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}
