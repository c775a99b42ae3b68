// Prints what the functions of src/lease/timing.c and src/base/time.h give for several thousand
// values, as assertions about the functions of the same names in definitions.smt2; and behind them
// one that is off by one, which must be refuted. tools/prove hands them to both solvers.
#include <inttypes.h>
#include <stdio.h>

#include "base/prng.h"
#include "lease/timing.h"

static void print_rate(uint32_t rate_ppm, int64_t ttl_ns, int64_t span_ns)
{
    const struct lh_timing timing = {{LH_TTL_MAX_MS * LH_NS_PER_MS}, rate_ppm};
    const struct lh_duration ttl = {ttl_ns};
    const struct lh_duration span = {span_ns};
    const struct lh_instant t = {INT64_MAX - span_ns};
    const int64_t exclusion_ns = lh_timing_exclusion(timing, ttl).ns;
    printf("(assert (= (stretch %u %" PRId64 ") %" PRId64 "))\n", rate_ppm, ttl_ns, exclusion_ns);
    printf("(assert (= (stretch %u %" PRId64 ") %" PRId64 "))\n", rate_ppm, ttl_ns,
           lh_timing_quarantine(timing, ttl).ns);
    printf("(assert (= (shrink %u %" PRId64 ") %" PRId64 "))\n", rate_ppm, span_ns,
           lh_timing_shrink(timing, span).ns);
    for (int64_t off = -1; off <= 1; off++) {
        const struct lh_duration cover = {exclusion_ns > 0 ? exclusion_ns + off : 0};
        printf("(assert (= (covers %u %" PRId64 " %" PRId64 ") %s))\n", rate_ppm, ttl_ns, cover.ns,
               lh_timing_covers(timing, ttl, cover) ? "true" : "false");
    }
    printf("(assert (= (after %" PRId64 " %" PRId64 ") %" PRId64 "))\n", t.ns, ttl_ns,
           lh_after(t, ttl).ns);
    printf("(assert (= (later %" PRId64 " %" PRId64 ") %" PRId64 "))\n", t.ns, ttl_ns,
           lh_later(t, (struct lh_instant){ttl_ns}).ns);
}

static void print_limits(void)
{
    printf("(assert (= ppm %u))\n(assert (= rate-min %u))\n(assert (= rate-max %u))\n", LH_PPM,
           LH_RATE_PPM_MIN, LH_RATE_PPM_MAX);
    printf("(assert (= ttl-min %" PRId64 "))\n(assert (= ttl-max %" PRId64 "))\n",
           LH_TTL_MIN_MS * LH_NS_PER_MS, LH_TTL_MAX_MS * LH_NS_PER_MS);
    printf("(assert (= int64-max %" PRId64 "))\n", INT64_MAX);
}

int main(void)
{
    static const uint32_t rates[] = {LH_RATE_PPM_MIN, 3, 100, 9999, 10000, 33333, LH_RATE_PPM_MAX};
    static const int64_t ttls[] = {0,
                                   1,
                                   99,
                                   100,
                                   101,
                                   LH_TTL_MIN_MS * LH_NS_PER_MS,
                                   10 * LH_NS_PER_S,
                                   LH_TTL_MAX_MS * LH_NS_PER_MS - 1,
                                   LH_TTL_MAX_MS * LH_NS_PER_MS};
    struct lh_prng prng;
    lh_prng_seed_number(&prng, 3);
    printf("(set-logic QF_NIA)\n");
    print_limits();
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
        for (size_t t = 0; t < sizeof ttls / sizeof *ttls; t++)
            print_rate(rates[r], ttls[t], INT64_MAX - ttls[t]);
    for (int i = 0; i < 400; i++) {
        const int64_t rate = lh_prng_between(&prng, LH_RATE_PPM_MIN, LH_RATE_PPM_MAX);
        print_rate((uint32_t)rate, lh_prng_between(&prng, 0, LH_TTL_MAX_MS * LH_NS_PER_MS),
                   lh_prng_between(&prng, 0, INT64_MAX));
    }
    printf("; Claim: all of them hold.\n(push 1)\n(set-info :status sat)\n(check-sat)\n(pop 1)\n");
    printf("; Twin: and this one.\n(push 1)\n(assert (= (stretch 10000 100) 102))\n");
    printf("(set-info :status unsat)\n(check-sat)\n(pop 1)\n");
    return 0;
}
