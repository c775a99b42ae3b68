// The terminal under `leasehold run`. The command has a process group of its own and reads the terminal only if
// that is the foreground group. It is made so at its start if `run` was, or else when the terminal has stopped it
// for reading or setting the terminal; the second if something else in the pipeline may want to read it, as `less` does.
//
// What must stay true: the terminal is taken from nobody but the wrapper's own group, and given back to it only if no
// living group has it.
#ifndef LH_CLI_RUN_TERMINAL_H
#define LH_CLI_RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

// Whether the command should have the terminal from its start.
bool lh_terminal_is_ours_alone(void);

// Makes `to` the foreground group if `from` is. The caller blocks SIGTTOU.
bool lh_terminal_lend(pid_t from, pid_t to);

// Makes the caller's group the foreground group again. The caller blocks SIGTTOU.
void lh_terminal_take_back(void);

#endif
