// L1: a remote view ends no later than the lease, however the two clocks run within the rate error.
#include "lease/learner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct lh_timing TEN_PERCENT = {{60 * LH_NS_PER_S}, 100000};

static int64_t view(int64_t echoed_ns, int64_t remaining_ns)
{
    return lh_learner_expiry(TEN_PERCENT, (struct lh_instant){echoed_ns},
                             (struct lh_duration){remaining_ns})
        .ns;
}

static void L1_counts_from_our_own_stamp(void **state)
{
    (void)state;
    assert_int_equal(view(1000, 0), 1000);
    assert_int_equal(view(1000, 1100), 1900);
    assert_int_equal(view(2000, 1100), 2900);
}

// 1.1 units at the owner may be 0.9 of ours: 1100 -> 900, and 1099 -> 899.18.
static void L1_shrinks_by_the_rate_error_and_rounds_down(void **state)
{
    (void)state;
    assert_int_equal(view(0, 1099), 899);
    assert_int_equal(view(0, 1100), 900);
    assert_int_equal(view(0, 1101), 900);
    assert_int_equal(view(0, 1), 0);
}

static void L1_a_slow_owner_and_a_fast_learner_just_agree(void **state)
{
    (void)state;
    const int64_t remaining = 10 * LH_NS_PER_S;
    const int64_t seen = view(0, remaining);
    // The owner's clock runs fast: its `remaining` takes the least real time, remaining / 1.1; ours
    // slow: `seen` takes the most, seen / 0.9.
    assert_true(seen * 11 <= remaining * 9);
    assert_true((seen + 1) * 11 > remaining * 9);
}

static void L1_never_wraps(void **state)
{
    (void)state;
    assert_int_equal(view(INT64_MAX - 10, 1100), INT64_MAX);
    assert_true(view(0, INT64_MAX) < INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(L1_counts_from_our_own_stamp),
        cmocka_unit_test(L1_shrinks_by_the_rate_error_and_rounds_down),
        cmocka_unit_test(L1_a_slow_owner_and_a_fast_learner_just_agree),
        cmocka_unit_test(L1_never_wraps),
    };
    return cmocka_run_group_tests_name("learner", tests, NULL, NULL);
}
