// The guardian of `leasehold run`: a small process between the wrapper and the command that holds
// the deadline whatever becomes of the wrapper. The wrapper owns the lease, the guardian owns the
// command: it starts it, passes signals on, ends it in time, and tells when the command and
// everything that it started has ended. It is a subreaper, so nothing that the command starts gets
// out from under it (run_family.h), and it knows that all of it has ended when it has no child left.
//
//     wrapper    -- orders: signal N; renewed until ..; end now -->  guardian  --  command
//                <-- reports: started, ended with .., all gone ---
//
// Each is the other's safeguard:
//   - wrapper stopped: nobody renews, and the last schedule that was ordered holds;
//   - wrapper killed: the channel ends. The command is asked to end at once and is killed after
//     kill_after or by the schedule, whichever comes first: nobody will renew its lease;
//   - guardian killed: the kernel kills the command (PDEATHSIG), what it left behind becomes the
//     wrapper's children, and the wrapper kills that (run_child.h);
//   - guardian stopped: the wrapper continues it at once; if it is stopped as well, the kernel does
//     when there is something to be done, since the guardian's own timer sends it SIGCONT. One that
//     does nothing all the same is killed by the wrapper before the deadline.
//
// Its last act after a loss is to become the hook of --on-lost: so the hook runs after the command has
// ended, once, and even if the wrapper is gone.
//
// What must stay true: orders carry instants, never durations, so one that waited while either was
// stopped prolongs nothing; waiting orders are taken before the clock is read; once the end has
// begun no order puts it off.
#ifndef LH_CLI_RUN_GUARDIAN_H
#define LH_CLI_RUN_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/run_schedule.h"
#include "cli/run_start.h"
#include "client/drive.h"

struct lh_guardian_plan {
    char **command; // ends in NULL
    const struct lh_holding *lease;
    const struct lh_inherited *inherited;
    struct lh_run_schedule schedule;
    struct lh_duration kill_after;
    const char *on_lost;      // NULL: no hook
    int pulse_fd;             // for the command to pulse; -1: none
    struct lh_cgroup *cgroup; // the command's
    bool terminal;            // the command becomes the terminal's foreground group at its start
    pid_t group;              // the wrapper's, which may have it
};

enum lh_guardian_order_kind {
    LH_GUARDIAN_SIGNAL,  // pass `signal` on
    LH_GUARDIAN_RENEWED, // `schedule` from now on
    LH_GUARDIAN_END,     // the lease is lost: end the command now, by `schedule`
};

struct lh_guardian_order {
    enum lh_guardian_order_kind kind;
    int signal;
    struct lh_run_schedule schedule;
};

enum lh_guardian_report_kind {
    LH_GUARDIAN_STARTED,     // `pid` is the command's
    LH_GUARDIAN_NOT_STARTED, // `number` is errno
    LH_GUARDIAN_DENIED,      // process `pid` is another user's by now and cannot be signalled
    LH_GUARDIAN_TERMINAL,    // the command has the terminal now
    LH_GUARDIAN_ENDED,       // the command has, with code `number`
    LH_GUARDIAN_GONE,        // and everything else that it started
};

struct lh_guardian_report {
    enum lh_guardian_report_kind kind;
    pid_t pid;
    int number;
    bool lost;     // the command was being ended because of the lease
    bool terminal; // the command has been the terminal's foreground group
};

// The guardian's whole life, in a process forked for it; `channel` is its end of a pair of
// SOCK_SEQPACKET sockets with close-on-exec. Closes every other descriptor but standard error.
_Noreturn void lh_guardian_main(const struct lh_guardian_plan *plan, int channel);

#endif
