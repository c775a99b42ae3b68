// `leasehold run` at work: acquire, start the command, renew, end it in time, release. One poll
// loop over signals (signalfd), the schedule (a CLOCK_BOOTTIME timerfd, which counts suspend) and
// the client's descriptor; nothing in it blocks, so that a daemon that hangs cannot delay the
// deadline.
//
// What must stay true:
//   - after each wake-up the clock is read and the schedule applied before anything else: an answer
//     that waited in a socket while this process was stopped revives nothing;
//   - the guardian, which ends the command (run_guardian.h), is told of each renewal and each loss;
//     if it does not do its work the wrapper does, before the deadline;
//   - the lease is released only after the command and everything that it started has ended.
#ifndef LH_CLI_RUN_LOOP_H
#define LH_CLI_RUN_LOOP_H

#include <stdbool.h>

#include "client/drive.h"

struct lh_run_codes {
    int not_acquired;
    int lost;
};

struct lh_run_plan {
    char **command;                // ends in NULL
    struct lh_duration ttl;        // 0: the daemon's default
    struct lh_duration wait;       // 0: ask once; LH_WAIT_FOREVER
    struct lh_duration patience;   // without a quorum
    struct lh_duration kill_after; // 0 and !kill_after_given: by the TTL
    bool kill_after_given;
    struct lh_duration pulse;         // renew only if the command pulsed within it; 0: no gate
    struct lh_duration min_hold;      // since it was acquired, even if the command ends before
    bool keep;                        // after a loss wait for it and run the command again
    const char *on_lost;              // a line for /bin/sh after a loss; NULL: none
    const struct lh_run_codes *codes; // NULL: 75 and 76
};

// Runs the plan for lease->name and lease->holder; returns the exit code. Reasons go to standard
// error.
int lh_run_loop(const struct lh_run_plan *plan, struct lh_channel *client,
                struct lh_holding *lease);

#endif
