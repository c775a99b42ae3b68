// A control group of the command's own, where this process may make one: its `cgroup.kill` ends
// everything in it at once, what is just being forked and what became another user's included.
//
// What must stay true: only a cgroup v2 that was delegated is touched: to a user by its permissions,
// to root by the mark that systemd puts on it (Delegate=yes). Everywhere else the tree of processes
// does (run_family.h).
#ifndef LH_CLI_RUN_CGROUP_H
#define LH_CLI_RUN_CGROUP_H

#include <stdbool.h>

struct lh_cgroup {
    char path[600]; // "": there is none
    int join;       // its cgroup.procs; -1
    int kill;       // its cgroup.kill; -1
};

// Makes one below our own. Without a word none, where that is not possible.
void lh_cgroup_make(struct lh_cgroup *ret_cgroup);

// Joins it: for the process that becomes the command.
void lh_cgroup_join(const struct lh_cgroup *cgroup);

// Kills all that is in it.
void lh_cgroup_kill(const struct lh_cgroup *cgroup);

// Removes it, once it is empty, and closes its files.
void lh_cgroup_close(struct lh_cgroup *cgroup);

#endif
