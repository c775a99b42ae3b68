// The command under `leasehold run`: started without a shell, in a process group of its own, with
// the lease in its environment, and ended as a group.
//
// What must stay true: if the wrapper dies, the kernel kills the command (PDEATHSIG), since nobody
// would end it in time any more; and the lease is released only once the whole group is gone.
#ifndef LH_CLI_RUN_CHILD_H
#define LH_CLI_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "client/drive.h"
#include "os/error.h"

struct lh_child {
    pid_t pid;     // also its process group; 0: not started
    bool ended;    // the command itself was reaped; others of its group may remain
    int exit_code; // once ended: its own, or 128 + the signal
    bool terminal; // it was made the terminal's foreground group
};

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

// Starts argv with the signals as they were inherited. A command that cannot be executed says so on
// standard error and exits with 126 or 127 as any command may. The caller is single-threaded.
bool lh_child_start(char **argv, const struct lh_holding *lease,
                    const struct lh_inherited *inherited, struct lh_child *ret_child,
                    struct lh_error *error);

// Sends `signal` to every process of the group and to the command, wherever it has gone; nothing if
// there is none any more. False if the command, or the whole group, is another user's by now and not
// ours to signal.
bool lh_child_signal(const struct lh_child *child, int signal);

// Takes note of what has ended, without waiting. A command that the terminal stopped is continued:
// a lease goes on, so what it protects does.
void lh_child_reap(struct lh_child *child);

// Whether the command or anything in its group still lives, by what was reaped.
bool lh_child_alive(const struct lh_child *child);

// Takes the terminal back.
void lh_child_close(struct lh_child *child);

#endif
