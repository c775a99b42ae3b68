// See clock_bound.h.
#include "host/clock_bound.h"

#include <string.h>

#define SLOT (4 * LH_NS_PER_S)
#define OLDEST (600 * LH_NS_PER_S)
#define LATELY (20 * LH_NS_PER_S) // nothing for so long: it says nothing about now
#define BASELINE_LEAST LH_NS_PER_S
#define STAMP_MOST (INT64_MAX / 4)
#define DEVIATION_MOST (LH_PPB / 2) // above it no guard is worth naming

// parts * 10^9 / whole for 0 <= parts < whole, in steps that cannot overflow. Rounded down.
static int64_t share(int64_t parts, int64_t whole, bool *ret_inexact)
{
    int64_t quotient = 0;
    for (unsigned i = 0; i < 3; i++) {
        parts *= 1000;
        quotient = quotient * 1000 + parts / whole;
        parts %= whole;
    }
    *ret_inexact = parts != 0;
    return quotient;
}

// (peer - ours) / ours in parts per billion, rounded down or up; at most twice, at least not at
// all.
static int64_t deviation(int64_t peer, int64_t ours, bool up)
{
    bool inexact = false;
    if (peer >= ours && peer - ours >= ours)
        return up ? INT64_MAX : LH_PPB;
    if (peer >= ours) {
        const int64_t above = share(peer - ours, ours, &inexact);
        return above + (inexact && up);
    }
    if (peer <= 0)
        return -LH_PPB;
    const int64_t below = share(ours - peer, ours, &inexact);
    return -below - (inexact && !up);
}

static int64_t round_trip(const struct lh_clock_point *point)
{
    return point->ours_late - point->ours_early - (point->peer_late - point->peer_early);
}

// What the way from one exchange to a later one allows. Returns false if it is too short.
static bool between(const struct lh_clock_point *from, const struct lh_clock_point *to,
                    struct lh_clock_interval *ret_ppb)
{
    // A reading is a clock rounded down: two of them may be one nanosecond further apart, or nearer.
    const int64_t ours_least = to->ours_early - from->ours_late - 1;
    const int64_t ours_most = to->ours_late - from->ours_early + 1;
    const int64_t peer_inner = to->peer_early - from->peer_late + 1;
    const int64_t peer_outer = to->peer_late - from->peer_early - 1;
    if (ours_least < BASELINE_LEAST || peer_inner <= 1)
        return false;
    *ret_ppb = (struct lh_clock_interval){deviation(peer_outer, ours_most, false),
                                          deviation(peer_inner, ours_least, true)};
    return true;
}

static bool rate_of(const struct lh_clock_bound *bound, struct lh_clock_interval *ret_ppb)
{
    struct lh_clock_interval all = {INT64_MIN, INT64_MAX}, one;
    bool any = false;
    for (unsigned i = 0; i + 1 < bound->count; i++) {
        if (!between(&bound->points[i], &bound->points[bound->count - 1], &one))
            continue;
        any = true;
        all.least = one.least > all.least ? one.least : all.least;
        all.most = one.most < all.most ? one.most : all.most;
    }
    if (any)
        *ret_ppb = all;
    return any;
}

static void forget_first(struct lh_clock_bound *bound, unsigned count)
{
    bound->count -= count;
    memmove(bound->points, bound->points + count, bound->count * sizeof bound->points[0]);
}

static bool is_over(const struct lh_clock_bound *bound, struct lh_instant now)
{
    return bound->count > 0 && now.ns - bound->points[bound->count - 1].begin_ns >= SLOT;
}

static void put(struct lh_clock_bound *bound, const struct lh_clock_point *point, bool begins)
{
    if (begins && bound->count == LH_CLOCK_POINTS)
        forget_first(bound, 1);
    if (begins) {
        bound->points[bound->count++] = *point;
        return;
    }
    struct lh_clock_point *last = &bound->points[bound->count - 1];
    if (round_trip(point) > round_trip(last))
        return;
    const int64_t begin_ns = last->begin_ns;
    *last = *point;
    last->begin_ns = begin_ns;
}

bool lh_clock_bound_add(struct lh_clock_bound *bound, struct lh_instant now, uint64_t echo_stamp,
                        uint64_t echo_held, uint64_t stamp)
{
    struct lh_clock_interval ppb;
    if (echo_stamp == 0 || echo_stamp > (uint64_t)now.ns || now.ns > STAMP_MOST ||
        stamp > STAMP_MOST || echo_held > stamp)
        return false;
    const struct lh_clock_point point = {.begin_ns = now.ns,
                                         .peer_early = (int64_t)(stamp - echo_held),
                                         .ours_early = (int64_t)echo_stamp,
                                         .peer_late = (int64_t)stamp,
                                         .ours_late = now.ns};
    while (bound->count > 0 && now.ns - bound->points[0].ours_late > OLDEST)
        forget_first(bound, 1);
    // A slot is over: what its best exchange says is compared with all before it.
    const bool over = is_over(bound, now);
    if (over && rate_of(bound, &ppb) && ppb.least > ppb.most)
        forget_first(bound, bound->count - 1);
    put(bound, &point, over || bound->count == 0);
    return true;
}

static bool is_fresh(const struct lh_clock_bound *bound, struct lh_instant now)
{
    return bound->count > 0 && now.ns - bound->points[bound->count - 1].ours_late <= LATELY;
}

bool lh_clock_bound_offset(const struct lh_clock_bound *bound, struct lh_instant now,
                           struct lh_clock_interval *ret_ns)
{
    if (!is_fresh(bound, now))
        return false;
    // When the peer's clock showed S ours was between E and A; both are rounded down.
    const struct lh_clock_point *point = &bound->points[bound->count - 1];
    *ret_ns = (struct lh_clock_interval){point->peer_late - point->ours_late - 1,
                                         point->peer_late - point->ours_early + 1};
    return true;
}

bool lh_clock_bound_rate(const struct lh_clock_bound *bound, struct lh_instant now,
                         struct lh_clock_interval *ret_ppb)
{
    struct lh_clock_interval ppb;
    if (!is_fresh(bound, now) || !rate_of(bound, &ppb) || ppb.least > ppb.most)
        return false;
    *ret_ppb = ppb;
    return true;
}

struct lh_clock_interval lh_clock_bound_allowed(uint32_t rate_ppm)
{
    // (1 + rho) / (1 - rho) - 1, and the same the other way round.
    const int64_t twice = 2 * (int64_t)rate_ppm * LH_PPB;
    const int64_t slow = 1000000 - (int64_t)rate_ppm;
    const int64_t fast = 1000000 + (int64_t)rate_ppm;
    return (struct lh_clock_interval){-((twice + fast - 1) / fast), (twice + slow - 1) / slow};
}

int64_t lh_clock_bound_excess(struct lh_clock_interval measured, struct lh_clock_interval allowed)
{
    if (measured.least > allowed.most)
        return measured.least - allowed.most;
    return measured.most < allowed.least ? measured.most - allowed.least : 0;
}

// value * numerator / denominator, rounded up. Takes numerator <= 10^9 and 10^9 / 2 <= denominator
// <= 10^9.
static int64_t scale_up(int64_t value, int64_t numerator, int64_t denominator)
{
    const int64_t rest = value % denominator * numerator;
    return value / denominator * numerator + (rest + denominator - 1) / denominator;
}

struct lh_duration lh_clock_bound_guard(struct lh_clock_interval ppb, struct lh_duration ttl)
{
    int64_t guard = 0;
    if (ppb.most > DEVIATION_MOST || ppb.least < -DEVIATION_MOST)
        return (struct lh_duration){INT64_MAX};
    // We hold: the peer's exclusion runs (1 + most) times as fast. The peer holds: ours does by
    // 1 / (1 + least).
    if (ppb.most > 0)
        guard = scale_up(ttl.ns, ppb.most, LH_PPB);
    if (ppb.least < 0) {
        const int64_t other = scale_up(ttl.ns, -ppb.least, LH_PPB + ppb.least);
        guard = other > guard ? other : guard;
    }
    return (struct lh_duration){guard};
}
