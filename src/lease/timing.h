// The durations of the protocol and the two inequalities that make its timers safe (T2, T3):
//
//     D_P * (1 + rho) <= D_A * (1 - rho)        an exclusion outlasts the authority it supports
//     D_P * (1 + rho) <= Q   * (1 - rho)        a quarantine outlasts whatever was forgotten
//
// rho is counted in parts per million; all arithmetic is in integer nanoseconds and every rounding
// goes to the safe side: up for those who must wait, down for those who may act.
#ifndef LH_LEASE_TIMING_H
#define LH_LEASE_TIMING_H

#include "base/time.h"

#define LH_PPM 1000000u
#define LH_RATE_PPM_MIN 1u      // no clock is perfect: a rate error of zero is refused
#define LH_RATE_PPM_MAX 100000u // 10 %
#define LH_TTL_MIN_MS 50
#define LH_TTL_MAX_MS 3600000 // one hour

// What a whole cluster agrees on. `max_ttl` is M, the greatest D_P anybody may ask for.
struct lh_timing {
    struct lh_duration max_ttl;
    uint32_t rate_ppm;
};

// True if both values lie in the ranges above. All functions below take a valid timing.
bool lh_timing_valid(struct lh_timing timing);

// T2: the exclusion D_A that an attempt of duration `ttl` needs: the smallest that satisfies the
// inequality.
struct lh_duration lh_timing_exclusion(struct lh_timing timing, struct lh_duration ttl);

// T3: the quarantine Q that covers every attempt of at most `ttl`.
struct lh_duration lh_timing_quarantine(struct lh_timing timing, struct lh_duration ttl);

// The part of `span`, measured on another clock, that has surely not passed on ours: rounded down.
// L1 for learners, and the client's own authority.
struct lh_duration lh_timing_shrink(struct lh_timing timing, struct lh_duration span);

// `ttl * (1 + rho) <= cover * (1 - rho)`, exactly.
bool lh_timing_covers(struct lh_timing timing, struct lh_duration ttl, struct lh_duration cover);

#endif
