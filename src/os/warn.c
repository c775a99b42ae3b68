// See warn.h.
#include "os/warn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(LH_WARN_BYTES <= PIPE_BUF, "a pipe must take it whole or not at all");

// Standard error opened anew, so that a write does not wait, which O_NONBLOCK on the old
// description would do to everybody who shares it. -1 where that is not possible or not needed.
static int open_anew(void)
{
    struct stat status;
    if (fstat(STDERR_FILENO, &status) != 0 || !(S_ISFIFO(status.st_mode) || isatty(STDERR_FILENO)))
        return -1;
    return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Room found by poll may be taken by another writer before the write: only where standard error
// cannot be opened anew (another user's terminal) is that not excluded.
static void write_now(const char *text, size_t size)
{
    if (send(STDERR_FILENO, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK)
        return;
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0)
        return;
    int anew = open_anew();
    ssize_t written = write(anew >= 0 ? anew : STDERR_FILENO, text, size);
    (void)written; // there is nobody to tell
    if (anew >= 0)
        close(anew);
}

void lh_warn(const char *format, ...)
{
    char text[LH_WARN_BYTES];
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size <= 0)
        return;
    if ((size_t)size >= sizeof text) {
        size = (int)sizeof text - 1;
        memcpy(text + size - 4, "...\n", 4);
    }
    write_now(text, (size_t)size);
}
