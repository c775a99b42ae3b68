// A line that the user gave to be run when something happens: --on-lost, --exec.
#ifndef LH_CLI_HOOK_H
#define LH_CLI_HOOK_H

#include <stdbool.h>

// An empty line is refused, and that is said with *ret_exit; NULL was not given.
bool lh_hook_check(const char *line, const char *command, const char *option, int *ret_exit);

// In the new process, whose environment is ready: becomes /bin/sh with `line`. It reads nothing, and
// what it says goes to standard error, where it does not mix with the command's own lines. `command`
// and `option` name it if that fails.
_Noreturn void lh_hook_become(const char *line, const char *command, const char *option);

#endif
