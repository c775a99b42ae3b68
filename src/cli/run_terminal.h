// The terminal under `leasehold run`. The command has a process group of its own and reads the
// terminal only if that is the foreground group. It is made so at its start if `run` was; but where
// something else in the pipeline may want to read the terminal, as `less` does, only once the
// terminal has stopped the command for reading or setting it.
//
// What must stay true: the terminal is taken from nobody but the wrapper's own group, and given back
// to it only if no living group has it.
#ifndef LH_CLI_RUN_TERMINAL_H
#define LH_CLI_RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

// Whether the command should have the terminal from its start.
bool lh_terminal_is_ours_alone(void);

// Makes `to` the foreground group if `from` is; false if it is not, or there is no terminal. The
// caller blocks SIGTTOU.
bool lh_terminal_lend(pid_t from, pid_t to);

// Makes the caller's group the foreground group again, unless a living group is. The caller blocks
// SIGTTOU.
void lh_terminal_take_back(void);

#endif
