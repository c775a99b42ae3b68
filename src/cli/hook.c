// See hook.h.
#include "cli/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/output.h"

bool lh_hook_check(const char *line, const char *command, const char *option, int *ret_exit)
{
    if (line == NULL || line[0] != '\0')
        return true;
    lh_complain(command, "'' of %s is no command: write a line for /bin/sh, or leave %s out",
                option, option);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

_Noreturn void lh_hook_become(const char *line, const char *command, const char *option)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    if (nothing > STDERR_FILENO)
        close(nothing);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    fprintf(stderr, "leasehold %s: cannot execute /bin/sh for %s: %s\n", command, option,
            strerror(errno));
    fflush(stderr);
    _exit(LH_EXIT_NOT_EXECUTABLE);
}
