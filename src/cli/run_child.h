// The command under `leasehold run` as the wrapper sees it: started, signalled and ended through its
// guardian (run_guardian.h), and by the wrapper itself if the guardian is gone.
//
// What must stay true: the wrapper is a subreaper, too, so what a killed guardian leaves behind
// comes to it; nothing here waits; and `gone` is said only when the command and everything that it
// started has ended.
#ifndef LH_CLI_RUN_CHILD_H
#define LH_CLI_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/run_family.h"
#include "cli/run_guardian.h"
#include "os/error.h"

struct lh_child {
    pid_t guardian;     // or the hook that it became; 0: none was started, or it was reaped
    int channel;        // to it; -1: closed
    pid_t pid;          // the command, also its process group; 0: not started
    int failure;        // why not: errno
    bool ended;         // the command itself has; others that it started may remain
    int exit_code;      // once ended: its own, or 128 + the signal
    bool lost;          // the guardian ended it because of the lease
    bool gone;          // it and everything that it started has ended
    bool guardian_lost; // the guardian is gone before that
    bool replaced;      // because we killed it: it did nothing any more
    pid_t denied;       // a process that cannot be signalled: another user's
    bool terminal;      // the command has been the terminal's foreground group
    struct lh_cgroup cgroup;
    struct lh_family family;
};

// Starts a guardian, which starts the command; plan->terminal, group and cgroup are set here.
// `child` stays where it is until it is closed. The caller is
// single-threaded. What became of it is seen by looking.
bool lh_child_start(struct lh_guardian_plan *plan, struct lh_child *child, struct lh_error *error);

// Orders to the guardian. One that takes no more orders is stopped, and replaced by ourselves.
void lh_child_signal(struct lh_child *child, int signal);
void lh_child_renewed(struct lh_child *child, struct lh_run_schedule schedule);
void lh_child_end(struct lh_child *child, struct lh_run_schedule schedule);

// Kills the guardian, and with it the command: it did not do its work in time.
void lh_child_replace_guardian(struct lh_child *child);

// Takes note of what the guardian reports and of what has ended. If the guardian is gone, kills what
// it left.
void lh_child_look(struct lh_child *child);

// Starts the hook of --on-lost in the place of a guardian that cannot.
void lh_child_start_hook(struct lh_child *child, const char *hook, const struct lh_holding *lease,
                         const struct lh_inherited *inherited);

// Takes the terminal back unless a living group has it, closes the channel, and removes the control
// group if all has ended.
void lh_child_close(struct lh_child *child);

#endif
