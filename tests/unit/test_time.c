// Both sides of every edge of base/time.h: where sums saturate, where a deadline is reached, and
// which way a rounding goes.
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct lh_instant at(int64_t ns)
{
    return (struct lh_instant){ns};
}

static struct lh_duration lasting(int64_t ns)
{
    return (struct lh_duration){ns};
}

static void ms_is_exact_up_to_the_last_that_fits(void **state)
{
    (void)state;
    const int64_t last = INT64_MAX / LH_NS_PER_MS;
    assert_int_equal(lh_ms(0).ns, 0);
    assert_int_equal(lh_ms(1).ns, LH_NS_PER_MS);
    assert_int_equal(lh_ms(last).ns, last * LH_NS_PER_MS);
    assert_true(lh_ms(last).ns < INT64_MAX);
}

static void ms_saturates_beyond(void **state)
{
    (void)state;
    assert_int_equal(lh_ms(INT64_MAX / LH_NS_PER_MS + 1).ns, INT64_MAX);
    assert_int_equal(lh_ms(INT64_MAX).ns, INT64_MAX);
    assert_int_equal(lh_ms(INT64_MIN).ns, INT64_MIN);
}

static void before_is_strict(void **state)
{
    (void)state;
    assert_true(lh_before(at(6), at(7)));
    assert_false(lh_before(at(7), at(7)));
    assert_false(lh_before(at(8), at(7)));
    assert_true(lh_before(LH_PAST, LH_NEVER));
    assert_true(lh_before(at(INT64_MAX - 1), LH_NEVER));
    assert_false(lh_before(LH_NEVER, LH_NEVER));
    assert_false(lh_before(LH_PAST, LH_PAST));
}

static void later_and_earlier_take_either_order(void **state)
{
    (void)state;
    assert_int_equal(lh_later(at(6), at(7)).ns, 7);
    assert_int_equal(lh_later(at(7), at(6)).ns, 7);
    assert_int_equal(lh_later(at(7), at(7)).ns, 7);
    assert_int_equal(lh_earlier(at(6), at(7)).ns, 6);
    assert_int_equal(lh_earlier(at(7), at(6)).ns, 6);
    assert_int_equal(lh_earlier(at(7), at(7)).ns, 7);
    assert_int_equal(lh_later(LH_PAST, LH_NEVER).ns, INT64_MAX);
    assert_int_equal(lh_earlier(LH_PAST, LH_NEVER).ns, 0);
}

static void after_adds_up_to_never(void **state)
{
    (void)state;
    assert_int_equal(lh_after(at(7), lasting(0)).ns, 7);
    assert_int_equal(lh_after(at(7), lasting(5)).ns, 12);
    assert_int_equal(lh_after(at(7), lasting(INT64_MAX - 8)).ns, INT64_MAX - 1);
    assert_int_equal(lh_after(at(7), lasting(INT64_MAX - 7)).ns, INT64_MAX);
}

static void after_saturates_instead_of_wrapping(void **state)
{
    (void)state;
    assert_int_equal(lh_after(at(7), lasting(INT64_MAX - 6)).ns, INT64_MAX);
    assert_int_equal(lh_after(at(INT64_MAX - 1), lasting(2)).ns, INT64_MAX);
    assert_int_equal(lh_after(at(INT64_MAX), lasting(INT64_MAX)).ns, INT64_MAX);
    assert_int_equal(lh_after(LH_NEVER, lasting(0)).ns, INT64_MAX);
    assert_int_equal(lh_after(LH_NEVER, lasting(1)).ns, INT64_MAX);
}

static void left_ends_exactly_at_the_deadline(void **state)
{
    (void)state;
    assert_int_equal(lh_left(at(5), at(7)).ns, 2);
    assert_int_equal(lh_left(at(6), at(7)).ns, 1);
    assert_int_equal(lh_left(at(7), at(7)).ns, 0);
    assert_int_equal(lh_left(at(8), at(7)).ns, 0);
    assert_int_equal(lh_left(LH_NEVER, LH_PAST).ns, 0);
    assert_int_equal(lh_left(LH_PAST, LH_NEVER).ns, INT64_MAX);
}

static void floor_ms_never_tells_more_than_remains(void **state)
{
    (void)state;
    assert_int_equal(lh_floor_ms(lasting(0)), 0);
    assert_int_equal(lh_floor_ms(lasting(LH_NS_PER_MS - 1)), 0);
    assert_int_equal(lh_floor_ms(lasting(LH_NS_PER_MS)), 1);
    assert_int_equal(lh_floor_ms(lasting(2 * LH_NS_PER_MS - 1)), 1);
    assert_int_equal(lh_floor_ms(lasting(INT64_MAX)), INT64_MAX / LH_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ms_is_exact_up_to_the_last_that_fits),
        cmocka_unit_test(ms_saturates_beyond),
        cmocka_unit_test(before_is_strict),
        cmocka_unit_test(later_and_earlier_take_either_order),
        cmocka_unit_test(after_adds_up_to_never),
        cmocka_unit_test(after_saturates_instead_of_wrapping),
        cmocka_unit_test(left_ends_exactly_at_the_deadline),
        cmocka_unit_test(floor_ms_never_tells_more_than_remains),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
