// When `leasehold run` renews, when it asks the command to end and when it kills it, timed back
// from the lease's deadline so that the command is dead while the lease still stands. Pure
// arithmetic: the loop in run.c, and a guardian process beside it, only wait for these instants.
//
//     deadline - ttl ....... renew ........ terminate ........ kill . deadline
//                            |  retries     |   kill_after     |margin|
//
// The margin is the time a SIGKILL is given to take effect.
#ifndef LH_CLI_RUN_SCHEDULE_H
#define LH_CLI_RUN_SCHEDULE_H

#include "base/time.h"

struct lh_run_schedule {
    struct lh_instant renew;     // ask for more time from here on
    struct lh_instant terminate; // SIGTERM unless renewed
    struct lh_instant kill;      // SIGKILL unless renewed
};

// The longest time between SIGTERM and the deadline that a lease of `ttl` has room for: half of it.
struct lh_duration lh_run_kill_after_most(struct lh_duration ttl);

// What it is unless the user says otherwise: 5 s, but no more than a quarter of `ttl`.
struct lh_duration lh_run_kill_after_default(struct lh_duration ttl);

// The schedule of a lease that was granted for `ttl` and ends at `deadline`. Renewal begins at half
// of what was left at `now`, or earlier where a long kill_after would leave no room for retries,
// and is moved forward by up to a tenth by `spread` (a random number), so that a thousand wrappers
// started by one cron minute do not renew in step. kill_after is at most
// lh_run_kill_after_most(ttl).
struct lh_run_schedule lh_run_schedule(struct lh_instant now, struct lh_instant deadline,
                                       struct lh_duration ttl, struct lh_duration kill_after,
                                       uint32_t spread);

// The schedule once the lease is known to be lost though its deadline stands: nothing is renewed,
// the command is asked to end at once and is killed after kill_after or before the deadline,
// whichever comes first.
struct lh_run_schedule lh_run_schedule_lost(struct lh_instant now, struct lh_run_schedule schedule,
                                            struct lh_duration kill_after);

#endif
