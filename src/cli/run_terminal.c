// See run_terminal.h.
#include "cli/run_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_pipe(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && S_ISFIFO(status.st_mode);
}

bool lh_terminal_is_ours_alone(void)
{
    return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
           !is_pipe(STDOUT_FILENO) && !is_pipe(STDERR_FILENO);
}

// Standard input may be something else, or closed.
static int open_terminal(void)
{
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

bool lh_terminal_lend(pid_t from, pid_t to)
{
    int terminal = open_terminal();
    if (terminal < 0)
        return false;
    bool lent = tcgetpgrp(terminal) == from && tcsetpgrp(terminal, to) == 0;
    close(terminal);
    return lent;
}

void lh_terminal_take_back(void)
{
    int terminal = open_terminal();
    if (terminal < 0)
        return;
    pid_t front = tcgetpgrp(terminal);
    if (front > 0 && front != getpgrp() && kill(-front, 0) != 0 && errno == ESRCH)
        tcsetpgrp(terminal, getpgrp());
    close(terminal);
}
