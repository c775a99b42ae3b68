// Timing arithmetic: see timing.h. Every product is formed from a quotient and a remainder, so that
// none overflows on the way; a stretched duration itself must fit, and does up to about INT64_MAX x
// (1 - 2 rho) ns, far above any TTL.
#include "lease/timing.h"

#include "base/assert.h"

bool lh_timing_valid(struct lh_timing timing)
{
    return timing.rate_ppm >= LH_RATE_PPM_MIN && timing.rate_ppm <= LH_RATE_PPM_MAX &&
           timing.max_ttl.ns >= LH_TTL_MIN_MS * LH_NS_PER_MS &&
           timing.max_ttl.ns <= LH_TTL_MAX_MS * LH_NS_PER_MS;
}

// value * numerator / denominator, rounded down; `ret_inexact` tells whether something was cut off.
static int64_t scale(int64_t value, int64_t numerator, int64_t denominator, bool *ret_inexact)
{
    int64_t whole = value / denominator;
    int64_t rest = value % denominator * numerator;
    *ret_inexact = rest % denominator != 0;
    LH_ASSERT(whole <= (INT64_MAX - 2 * numerator) / numerator);
    return whole * numerator + rest / denominator;
}

static struct lh_duration stretch(struct lh_timing timing, struct lh_duration span)
{
    bool inexact = false;
    int64_t ns = scale(span.ns, (int64_t)LH_PPM + timing.rate_ppm,
                       (int64_t)LH_PPM - timing.rate_ppm, &inexact);
    return (struct lh_duration){ns + (inexact ? 1 : 0)};
}

struct lh_duration lh_timing_exclusion(struct lh_timing timing, struct lh_duration ttl)
{
    return stretch(timing, ttl);
}

struct lh_duration lh_timing_quarantine(struct lh_timing timing, struct lh_duration ttl)
{
    return stretch(timing, ttl);
}

struct lh_duration lh_timing_shrink(struct lh_timing timing, struct lh_duration span)
{
    bool inexact = false;
    int64_t ns = scale(span.ns, (int64_t)LH_PPM - timing.rate_ppm,
                       (int64_t)LH_PPM + timing.rate_ppm, &inexact);
    return (struct lh_duration){ns};
}

bool lh_timing_covers(struct lh_timing timing, struct lh_duration ttl, struct lh_duration cover)
{
    return cover.ns >= stretch(timing, ttl).ns;
}
