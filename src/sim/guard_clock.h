// The same lease on real clocks, in nanoseconds: how great must the guard be so that no two ever
// act at once, whatever the clocks do within given bounds? Each side is run against its own clock;
// the moments at which it stands down or gives the lease away are found on that clock, and the
// smallest guard is found by bisection over such runs at all extremes of the bounds.
//
// The lease is granted at real time 0, until the grantor's clock shows `ttl`. The holder hears of
// it up to one delay later. It acts while its own clock shows less than the end minus its guard;
// what it does takes effect up to one delay after it looked at its clock. The grantor gives the
// lease to somebody else once its own clock shows the end plus its guard.
#ifndef LH_SIM_GUARD_CLOCK_H
#define LH_SIM_GUARD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define LH_GUARD_NS_MOST INT64_C(86400000000000) // a day: of every bound
#define LH_GUARD_PPM_MOST 100000

// How far clocks and messages may go. All bounds are included.
struct lh_guard_bounds {
    int64_t skew_least_ns, skew_most_ns; // the holder's clock behind the grantor's, at the grant
    int64_t rate_ppm;                    // either clock may be so much too fast or too slow
    int64_t delay_ns;                    // of the grant, and of what the holder does
    int64_t ttl_ns;
};

// What happens in one run.
struct lh_guard_case {
    int64_t skew_ns;
    int64_t holder_ppm, grantor_ppm; // signed
    int64_t grant_delay_ns, act_delay_ns;
    int64_t holder_guard_ns, grantor_guard_ns;
};

// When, in real time.
struct lh_guard_outcome {
    int64_t holder_from_ns, holder_until_ns; // equal if it may never act
    int64_t effects_until_ns;                // of what it did
    int64_t given_away_ns;
};

// Takes values within LH_GUARD_NS_MOST and LH_GUARD_PPM_MOST.
void lh_guard_play(int64_t ttl_ns, const struct lh_guard_case *run, struct lh_guard_outcome *ret);

// For how long two act, and for how long nobody may between the grant and the next.
int64_t lh_guard_overlap_ns(const struct lh_guard_outcome *outcome);
int64_t lh_guard_idle_ns(const struct lh_guard_outcome *outcome);

// The worst over all extremes of the bounds.
struct lh_guard_worst {
    int64_t overlap_ns;
    struct lh_guard_case overlap_case; // the first that has it
    int64_t gap_ns;                    // from the holder's end until the lease is given away
    int64_t usable_ns;                 // the least for which the holder may act
    int64_t idle_ns,
        cycle_ns; // the greatest share of a cycle, from grant to grant, without anybody
    unsigned runs;
};

// `sides`: 2, the holder stands down early and the grantor waits late by the guard; 1, only the
// grantor waits.
void lh_guard_extremes(const struct lh_guard_bounds *bounds, int64_t guard_ns, unsigned sides,
                       struct lh_guard_worst *ret);

struct lh_guard_answer {
    bool found;   // false: every guard up to the TTL leaves an overlap
    bool ordered; // all guards tried below leave an overlap, none tried above
    int64_t guard_ns;
    int64_t tried;
    struct lh_guard_worst worst; // at that guard
    struct lh_guard_worst less;  // at one nanosecond less; not filled in if the guard is 0
    struct lh_guard_worst none;  // without any guard
};

void lh_guard_solve(const struct lh_guard_bounds *bounds, unsigned sides,
                    struct lh_guard_answer *ret);

#endif
