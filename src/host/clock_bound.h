// What the stamps in a peer's datagrams prove about its clock: an interval that contains its offset
// from ours, and one that contains its rate against ours. All arithmetic is in integers, and each
// end is rounded outwards.
//
// A datagram of a peer carries our stamp E that it received last, the reading R of its own clock at
// that moment (its stamp less how long it held ours), and its stamp S; it reaches us when our clock
// shows A. So when the peer's clock showed R ours had reached E, and when it showed S ours was not
// yet past A. Nothing else is used: no bound on either rate, and no share of the round trip. Two
// such datagrams bound how far our clock ran while the peer's ran a known way; the round trips in
// that bound weigh less the longer the way is.
//
// What must stay true: a datagram that was delayed or replayed makes a weaker statement, never a
// false one, and a weaker one replaces none. The rate is that over the time between two datagrams;
// when its intervals contradict each other it has changed, and what is older is forgotten.
#ifndef LH_HOST_CLOCK_BOUND_H
#define LH_HOST_CLOCK_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define LH_PPB INT64_C(1000000000)
#define LH_CLOCK_POINTS 32

// The best exchange of a slot of time.
struct lh_clock_point {
    int64_t begin_ns;               // of the slot, on our clock
    int64_t peer_early, ours_early; // R, E
    int64_t peer_late, ours_late;   // S, A
};

// Zeroed: nothing is known. For one life of a peer and one of ours.
struct lh_clock_bound {
    unsigned count;
    struct lh_clock_point points[LH_CLOCK_POINTS]; // the oldest first
};

struct lh_clock_interval {
    int64_t least, most;
};

// A datagram came at `now`: E, how long the peer held it, S. False if they cannot be what they say,
// and are passed over: E of the future or not ours, held for longer than the peer's clock has run.
bool lh_clock_bound_add(struct lh_clock_bound *bound, struct lh_instant now, uint64_t echo_stamp,
                        uint64_t echo_held, uint64_t stamp);

// The peer's clock less ours, when it sent the best datagram of late. False if there was none.
bool lh_clock_bound_offset(const struct lh_clock_bound *bound, struct lh_instant now,
                           struct lh_clock_interval *ret_ns);

// By how many parts per billion the peer's clock runs faster than ours. False if the way from one
// exchange to another is too short, if the rate is just changing, or if nothing came of late.
bool lh_clock_bound_rate(const struct lh_clock_bound *bound, struct lh_instant now,
                         struct lh_clock_interval *ret_ppb);

// The same for any two clocks that keep within `rate_ppm` of real time.
struct lh_clock_interval lh_clock_bound_allowed(uint32_t rate_ppm);

// By how much the measured interval lies outside the allowed one: above 0 the peer is too fast for
// us, below 0 too slow, 0 it is not proved.
int64_t lh_clock_bound_excess(struct lh_clock_interval measured, struct lh_clock_interval allowed);

// By how much an exclusion must be longer than `ttl` between two clocks with that rate, whichever
// of them holds and whichever excludes: rounded up.
struct lh_duration lh_clock_bound_guard(struct lh_clock_interval ppb, struct lh_duration ttl);

#endif
