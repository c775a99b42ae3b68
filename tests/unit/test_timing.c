// T2 and T3 in integers: each duration is exactly the smallest (for those who wait) or the greatest
// (for those who act) that satisfies its inequality. Checked against 128-bit products, which cannot
// overflow.
#include "lease/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/prng.h"

__extension__ typedef __int128 wide;

static const uint32_t RATES[] = {1, 2, 3, 7, 100, 999, 10000, 33333, 99999, LH_RATE_PPM_MAX};

static struct lh_timing timing_of(int64_t max_ttl_ns, uint32_t rate_ppm)
{
    return (struct lh_timing){{max_ttl_ns}, rate_ppm};
}

static wide slow(int64_t span_ns, uint32_t rate_ppm)
{
    return (wide)span_ns * (LH_PPM + rate_ppm);
}

static wide fast(int64_t span_ns, uint32_t rate_ppm)
{
    return (wide)span_ns * (LH_PPM - rate_ppm);
}

// `cover` is the smallest that satisfies ttl * (1 + rho) <= cover * (1 - rho).
static void assert_smallest(uint32_t rate_ppm, int64_t ttl_ns, int64_t cover_ns)
{
    assert_true(slow(ttl_ns, rate_ppm) <= fast(cover_ns, rate_ppm));
    assert_false(slow(ttl_ns, rate_ppm) <= fast(cover_ns - 1, rate_ppm));
}

static void check_ttl(uint32_t rate_ppm, int64_t ttl_ns)
{
    const struct lh_timing timing = timing_of(LH_TTL_MAX_MS * LH_NS_PER_MS, rate_ppm);
    const struct lh_duration ttl = {ttl_ns};
    const struct lh_duration exclusion = lh_timing_exclusion(timing, ttl);
    const struct lh_duration quarantine = lh_timing_quarantine(timing, ttl);
    assert_smallest(rate_ppm, ttl_ns, exclusion.ns);
    assert_smallest(rate_ppm, ttl_ns, quarantine.ns);
    assert_true(lh_timing_covers(timing, ttl, exclusion));
    assert_false(lh_timing_covers(timing, ttl, (struct lh_duration){exclusion.ns - 1}));
    const int64_t shrunk = lh_timing_shrink(timing, ttl).ns;
    assert_true(slow(shrunk, rate_ppm) <= fast(ttl_ns, rate_ppm));
    assert_false(slow(shrunk + 1, rate_ppm) <= fast(ttl_ns, rate_ppm));
}

static void T2_T3_hold_exactly_at_every_ttl_and_rate(void **state)
{
    (void)state;
    const int64_t ttls[] = {1,
                            2,
                            999999,
                            1000000,
                            1000001,
                            LH_TTL_MIN_MS * LH_NS_PER_MS,
                            LH_TTL_MIN_MS * LH_NS_PER_MS + 1,
                            10 * LH_NS_PER_S,
                            LH_TTL_MAX_MS * LH_NS_PER_MS - 1,
                            LH_TTL_MAX_MS * LH_NS_PER_MS};
    for (size_t r = 0; r < sizeof RATES / sizeof *RATES; r++)
        for (size_t t = 0; t < sizeof ttls / sizeof *ttls; t++)
            check_ttl(RATES[r], ttls[t]);
}

static void T2_T3_hold_exactly_at_random_ttls_and_rates(void **state)
{
    (void)state;
    struct lh_prng prng;
    lh_prng_seed_number(&prng, 2);
    for (int i = 0; i < 20000; i++)
        check_ttl((uint32_t)lh_prng_between(&prng, LH_RATE_PPM_MIN, LH_RATE_PPM_MAX),
                  lh_prng_between(&prng, 1, LH_TTL_MAX_MS * LH_NS_PER_MS));
}

// 10 s at 1 %: 10 * 101 / 99 = 10.202020202020202...
static void T2_rounds_up_at_the_edge(void **state)
{
    (void)state;
    const struct lh_timing timing = timing_of(60 * LH_NS_PER_S, 10000);
    assert_int_equal(lh_timing_exclusion(timing, lh_ms(10000)).ns, INT64_C(10202020203));
    assert_int_equal(lh_timing_exclusion(timing, (struct lh_duration){99}).ns, 101);
    assert_int_equal(lh_timing_exclusion(timing, (struct lh_duration){100}).ns, 103);
    assert_int_equal(lh_timing_exclusion(timing, (struct lh_duration){0}).ns, 0);
}

static void T3_is_the_quarantine_of_the_attempt_and_rounds_up(void **state)
{
    (void)state;
    const struct lh_timing timing = timing_of(60 * LH_NS_PER_S, 10000);
    assert_int_equal(lh_timing_quarantine(timing, lh_ms(60000)).ns, INT64_C(61212121213));
    assert_int_equal(lh_timing_quarantine(timing, (struct lh_duration){99}).ns, 101);
}

static void L1_shrink_rounds_down_at_the_edge(void **state)
{
    (void)state;
    const struct lh_timing timing = timing_of(60 * LH_NS_PER_S, 10000);
    assert_int_equal(lh_timing_shrink(timing, (struct lh_duration){101}).ns, 99);
    assert_int_equal(lh_timing_shrink(timing, (struct lh_duration){100}).ns, 98);
    assert_int_equal(lh_timing_shrink(timing, (struct lh_duration){0}).ns, 0);
}

static void shrink_never_overflows(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof RATES / sizeof *RATES; r++) {
        const struct lh_timing timing = timing_of(60 * LH_NS_PER_S, RATES[r]);
        const int64_t shrunk = lh_timing_shrink(timing, (struct lh_duration){INT64_MAX}).ns;
        assert_true(slow(shrunk, RATES[r]) <= fast(INT64_MAX, RATES[r]));
        assert_true(slow(shrunk + 1, RATES[r]) > fast(INT64_MAX, RATES[r]));
    }
}

static void covers_is_exact_on_both_sides(void **state)
{
    (void)state;
    const struct lh_timing timing = timing_of(60 * LH_NS_PER_S, 10000);
    const struct lh_duration ttl = {990};
    assert_false(lh_timing_covers(timing, ttl, (struct lh_duration){1009}));
    assert_true(lh_timing_covers(timing, ttl, (struct lh_duration){1010}));
    assert_true(lh_timing_covers(timing, ttl, (struct lh_duration){INT64_MAX}));
}

static void a_timing_is_valid_within_its_ranges(void **state)
{
    (void)state;
    const int64_t least = LH_TTL_MIN_MS * LH_NS_PER_MS;
    const int64_t most = LH_TTL_MAX_MS * LH_NS_PER_MS;
    assert_true(lh_timing_valid(timing_of(least, LH_RATE_PPM_MIN)));
    assert_true(lh_timing_valid(timing_of(most, LH_RATE_PPM_MAX)));
    assert_false(lh_timing_valid(timing_of(least - 1, 10000)));
    assert_false(lh_timing_valid(timing_of(most + 1, 10000)));
    assert_false(lh_timing_valid(timing_of(least, 0)));
    assert_false(lh_timing_valid(timing_of(least, LH_RATE_PPM_MAX + 1)));
    assert_false(lh_timing_valid(timing_of(0, 10000)));
    assert_false(lh_timing_valid(timing_of(-1, 10000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(T2_T3_hold_exactly_at_every_ttl_and_rate),
        cmocka_unit_test(T2_T3_hold_exactly_at_random_ttls_and_rates),
        cmocka_unit_test(T2_rounds_up_at_the_edge),
        cmocka_unit_test(T3_is_the_quarantine_of_the_attempt_and_rounds_up),
        cmocka_unit_test(L1_shrink_rounds_down_at_the_edge),
        cmocka_unit_test(shrink_never_overflows),
        cmocka_unit_test(covers_is_exact_on_both_sides),
        cmocka_unit_test(a_timing_is_valid_within_its_ranges),
    };
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
