// Everything that a process has started and that still lives below it, wherever it has gone: other
// process groups, other sessions, orphans. The calling process is a subreaper, so an orphan of any
// descendant becomes its own child, and nothing that is not ours is ever found: we look at children
// in /proc, from ourselves down, never for names, groups or numbers.
//
// What must stay true: a number that was read is signalled at once; another process group than the
// command's is never signalled as a group, since a descendant may have joined one that is not ours;
// where /proc is missing, or is that of another process namespace, only the command's group is.
#ifndef LH_CLI_RUN_FAMILY_H
#define LH_CLI_RUN_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/run_cgroup.h"

#define LH_FAMILY_SPARED_MOST 64

struct lh_family {
    const struct lh_cgroup *cgroup; // the command's; SIGKILL goes there, too
    pid_t group;                    // the command's process group, which the kernel signals as one
    pid_t spared[LH_FAMILY_SPARED_MOST]; // children that are not to be touched, nor what is below
    size_t spared_count;
};

struct lh_family_found {
    size_t living; // descendants that were found, zombies that others must reap included
    pid_t denied;  // one that is another user's and not ours to signal; 0: none
    bool blind;    // /proc could not be used
};

// Spares all children that this process has now.
void lh_family_spare_children(struct lh_family *family);

// Sends `signal` to every descendant once (SIGKILL perhaps twice); 0 only looks. SIGKILL to the
// group meets members that are just being forked, too; for others that fork on, call it again until
// nothing is found.
struct lh_family_found lh_family_signal(const struct lh_family *family, int signal);

#endif
