// The learner's role (L1). The owner's own learner holds td itself: that is lh_proposer.until.
// Anybody else has only a view: unless it is released, the lease ends, on our clock, no earlier
// than computed here, and nobody may act on it.
#ifndef LH_LEASE_LEARNER_H
#define LH_LEASE_LEARNER_H

#include "base/time.h"
#include "lease/timing.h"

// L1: the owner said that `remaining` was left, reading its clock after it had received our stamp
// `echoed`. Returns the instant on our clock until which the lease, unless it is released, surely
// lasts.
static inline struct lh_instant lh_learner_expiry(struct lh_timing timing, struct lh_instant echoed,
                                                  struct lh_duration remaining)
{
    return lh_after(echoed, lh_timing_shrink(timing, remaining));
}

#endif
