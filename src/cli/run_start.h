// The command under `leasehold run`, as it is started: without a shell, in a process group of its
// own, with the lease in its environment and the signals as the wrapper found them. The hook of
// --on-lost is started the same way.
//
// What must stay true: if the process that starts the command dies, the kernel kills the command
// (PDEATHSIG); a command that becomes another user's loses that.
#ifndef LH_CLI_RUN_START_H
#define LH_CLI_RUN_START_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/run_cgroup.h"
#include "client/drive.h"

// What the wrapper found at its start and changes for itself: the command finds it as it was.
struct lh_inherited {
    sigset_t mask;
    struct sigaction child_ended; // SIGCHLD: an inherited "ignore" would reap the command
    struct sigaction broken_pipe; // SIGPIPE and SIGXFSZ: what cannot be told must not kill the
    struct sigaction file_size;   // wrapper
};

// Keeps what is there, sets the three signals for the wrapper and blocks `blocked`.
void lh_inherited_replace(struct lh_inherited *ret_inherited, const sigset_t *blocked);
void lh_inherited_restore(const struct lh_inherited *inherited);

// Forks and executes argv, in the control group if there is one; with `terminal` as the terminal's
// foreground group; with `pulse_fd`, unless it is -1, at the number that LEASEHOLD_PULSE_FD tells. A
// command that cannot be executed says so on standard error and exits with 126 or 127 as any command
// may. -1 with errno if there was no process for it. SIGTTOU is blocked.
pid_t lh_start_command(char **argv, const struct lh_holding *lease,
                       const struct lh_inherited *inherited, const struct lh_cgroup *cgroup,
                       bool terminal, int pulse_fd);

// Becomes the hook of --on-lost, a line for /bin/sh, with the lease in its environment; what it
// prints goes to standard error.
_Noreturn void lh_become_hook(const char *hook, const struct lh_holding *lease,
                              const struct lh_inherited *inherited);

#endif
