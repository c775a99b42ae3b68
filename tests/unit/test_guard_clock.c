// Real clocks within bounds: the answer leaves no overlap whatever happens inside the bounds, one
// nanosecond less does, and for bounds on rates alone it is the difference between exclusion and
// TTL that the daemons use.
#include "sim/guard_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/prng.h"
#include "lease/timing.h"

static struct lh_guard_answer solve(struct lh_guard_bounds bounds, unsigned sides)
{
    struct lh_guard_answer answer;
    lh_guard_solve(&bounds, sides, &answer);
    if (answer.found) {
        assert_true(answer.ordered);
        assert_int_equal(answer.worst.overlap_ns, 0);
        if (answer.guard_ns > 0)
            assert_true(answer.less.overlap_ns > 0);
    }
    return answer;
}

// The tables of ticks again, a nanosecond a tick.
static void exact_skews_are_the_grid(void **state)
{
    (void)state;
    for (int64_t skew = -3; skew <= 12; skew++) {
        const struct lh_guard_bounds bounds = {
            .skew_least_ns = skew, .skew_most_ns = skew, .ttl_ns = 100};
        const struct lh_guard_answer answer = solve(bounds, 2);
        assert_int_equal(answer.guard_ns, skew > 0 ? (skew + 1) / 2 : 0);
        assert_int_equal(answer.worst.gap_ns, skew > 0 ? skew % 2 : -skew);
    }
}

// D_A - D_P, which timing.c computes and this finds by running clocks.
static void rates_alone_give_the_exclusion(void **state)
{
    (void)state;
    const uint32_t rates[] = {1, 200, 10000, 33333, 100000};
    const int64_t ttls_ms[] = {50, 333, 10000, 60000, 3600000};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (size_t t = 0; t < sizeof ttls_ms / sizeof ttls_ms[0]; t++) {
            const struct lh_timing timing = {lh_ms(3600000), rates[r]};
            const int64_t ttl_ns = ttls_ms[t] * LH_NS_PER_MS;
            const struct lh_guard_bounds bounds = {.rate_ppm = rates[r], .ttl_ns = ttl_ns};
            const struct lh_guard_answer answer = solve(bounds, 1);
            const int64_t exclusion = lh_timing_exclusion(timing, lh_ms(ttls_ms[t])).ns;
            // Readings are whole nanoseconds, so the two may be one apart.
            assert_in_range(answer.guard_ns - (exclusion - ttl_ns) + 1, 0, 2);
        }
    }
}

static void a_delay_is_an_overlap_and_a_wait(void **state)
{
    (void)state;
    const struct lh_guard_bounds bounds = {.delay_ns = 1000, .ttl_ns = 100000};
    const struct lh_guard_answer answer = solve(bounds, 2);
    assert_int_equal(answer.guard_ns, 500);
    assert_int_equal(answer.none.overlap_ns, 1000);
    assert_int_equal(answer.worst.usable_ns, 98500);
    assert_int_equal(answer.worst.gap_ns, 1000);
    assert_int_equal(answer.worst.idle_ns, 2000);
    assert_int_equal(answer.worst.cycle_ns, 100500);
}

static void skew_and_rates_add_up(void **state)
{
    (void)state;
    const struct lh_guard_bounds rates = {.rate_ppm = 200, .ttl_ns = 10000000000};
    struct lh_guard_bounds both = rates;
    both.skew_least_ns = -5000000;
    both.skew_most_ns = 5000000;
    assert_true(solve(both, 2).guard_ns > solve(rates, 2).guard_ns + 2500000 - 2);
    // A holder that is ahead by more than the rates can make up needs no guard.
    both.skew_least_ns = both.skew_most_ns = -5000000;
    assert_int_equal(solve(both, 2).guard_ns, 0);
}

static void a_skew_longer_than_the_lease_has_no_guard(void **state)
{
    (void)state;
    const struct lh_guard_bounds bounds = {
        .skew_least_ns = 0, .skew_most_ns = 5000, .ttl_ns = 1000};
    assert_false(solve(bounds, 2).found);
}

// The extremes are the worst: no point inside the bounds overlaps where they do not.
static void nothing_inside_the_bounds_is_worse(void **state)
{
    (void)state;
    struct lh_prng prng;
    lh_prng_seed_number(&prng, 20260101);
    for (unsigned i = 0; i < 100; i++) {
        struct lh_guard_bounds bounds = {.rate_ppm = lh_prng_between(&prng, 0, 100000),
                                         .delay_ns = lh_prng_between(&prng, 0, 3000000),
                                         .ttl_ns = lh_prng_between(&prng, 100000000, 20000000000)};
        bounds.skew_least_ns = lh_prng_between(&prng, -9000000, 9000000);
        bounds.skew_most_ns = lh_prng_between(&prng, bounds.skew_least_ns, 9000000);
        const struct lh_guard_answer answer = solve(bounds, 2);
        for (unsigned k = 0; answer.found && k < 200; k++) {
            struct lh_guard_outcome outcome;
            const struct lh_guard_case run = {
                .skew_ns = lh_prng_between(&prng, bounds.skew_least_ns, bounds.skew_most_ns),
                .holder_ppm = lh_prng_between(&prng, -bounds.rate_ppm, bounds.rate_ppm),
                .grantor_ppm = lh_prng_between(&prng, -bounds.rate_ppm, bounds.rate_ppm),
                .grant_delay_ns = lh_prng_between(&prng, 0, bounds.delay_ns),
                .act_delay_ns = lh_prng_between(&prng, 0, bounds.delay_ns),
                .holder_guard_ns = answer.guard_ns,
                .grantor_guard_ns = answer.guard_ns};
            lh_guard_play(bounds.ttl_ns, &run, &outcome);
            assert_int_equal(lh_guard_overlap_ns(&outcome), 0);
            assert_true(outcome.holder_until_ns - outcome.holder_from_ns >= answer.worst.usable_ns);
            assert_true(outcome.given_away_ns - outcome.holder_until_ns <= answer.worst.gap_ns);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_skews_are_the_grid),
        cmocka_unit_test(rates_alone_give_the_exclusion),
        cmocka_unit_test(a_delay_is_an_overlap_and_a_wait),
        cmocka_unit_test(skew_and_rates_add_up),
        cmocka_unit_test(a_skew_longer_than_the_lease_has_no_guard),
        cmocka_unit_test(nothing_inside_the_bounds_is_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
