// See authority.h. The product is split so that no value from outside can overflow it.
#include "client/authority.h"

#define PPM INT64_C(1000000)

// floor(until_ns * (PPM - rate_ppm) / (PPM + rate_ppm)) for until_ns > 0 and 0 <= rate_ppm < PPM:
// with until_ns = whole * (PPM + rate_ppm) + rest, both products stay below until_ns and below
// 2^42.
static int64_t shrink(int64_t until_ns, int64_t rate_ppm)
{
    int64_t slow = PPM - rate_ppm;
    int64_t fast = PPM + rate_ppm;
    int64_t whole = until_ns / fast;
    int64_t rest = until_ns % fast;
    return whole * slow + rest * slow / fast;
}

struct lh_instant lh_authority_deadline(struct lh_instant old, struct lh_instant sent,
                                        int64_t until_ns, int64_t rate_ppm)
{
    if (until_ns <= 0 || rate_ppm < 0 || rate_ppm >= PPM)
        return old;
    struct lh_duration granted = {shrink(until_ns, rate_ppm)};
    return lh_later(old, lh_after(sent, granted));
}
