// What the measured rates of all peers say of this node's own clock. Two clocks within the bound
// cannot differ by more than lh_clock_bound_allowed; if one peer is measured beyond that, either
// clock may be the bad one. If more than half of the other members are, all in the same direction,
// it is ours, as long as more than half of all clocks are good: this node then gives up authority,
// begins nothing and answers nothing as acceptor, because a fast acceptor expires others early and
// a slow holder believes for too long. A lone bad peer stops nobody but itself.
//
// When it is proved no longer, the node serves a quarantine before it answers again: what it
// promised meanwhile, or just before it knew, may have ended too soon.
#ifndef LH_HOST_CLOCKS_H
#define LH_HOST_CLOCKS_H

#include "host/clock_bound.h"
#include "host/host.h"

struct lh_peer;

#define LH_CLOCKS_REASON_BYTES 256

struct lh_clocks {
    bool bad;
    uint8_t peer;       // the one that is furthest out
    int64_t excess_ppb; // and by how much: > 0 it is faster than ours
    char reason[LH_CLOCKS_REASON_BYTES];
};

// Judges by what was measured until `now`.
void lh_clocks_tick(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects);

// What a peer's stamps prove, as it is told: the offset of its clock from ours, rounded outwards, and
// its rate against ours; by how much the rate's interval keeps within what two good clocks may
// differ (below 0: it does not), and by how much it lies outside.
struct lh_clocks_measured {
    bool has_offset, has_rate;
    struct lh_clock_interval offset_us, rate_ppb;
    int64_t margin_ppb, excess_ppb;
};

struct lh_clocks_measured lh_clocks_measure(const struct lh_host *host, const struct lh_peer *peer,
                                            struct lh_instant now);

// By how much exclusions outlast max-ttl as configured.
struct lh_duration lh_clocks_configured_guard(const struct lh_host *host);

// Whole microseconds, rounded up.
int64_t lh_clocks_ceiling_us(int64_t ns);

// The guard that the measurements would justify for `ttl`: by how much exclusions must outlast it.
// False unless every other member is measured.
bool lh_clocks_guard(const struct lh_host *host, struct lh_instant now, struct lh_duration ttl,
                     struct lh_duration *ret_guard);

#endif
