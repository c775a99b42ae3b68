// The longest turn of the loop, over two windows of ten seconds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/turn.h"

static uint64_t longest_after(struct lh_turn *turn, int64_t at_ms, int64_t took_us)
{
    struct lh_instant began = lh_after(LH_PAST, lh_ms(at_ms));
    struct lh_instant ended = lh_after(began, (struct lh_duration){took_us * LH_NS_PER_US});
    lh_turn_read(turn, began);
    lh_turn_read(turn, ended); // only the first reading counts
    lh_turn_end(turn, ended);
    return turn->longest_us;
}

static void the_longest_stands(void **state)
{
    (void)state;
    struct lh_turn turn = {0};
    assert_int_equal(longest_after(&turn, 1000, 50), 50);
    assert_int_equal(longest_after(&turn, 1001, 20), 50);
    assert_int_equal(longest_after(&turn, 1002, 70), 70);
}

static void it_is_forgotten_after_the_next_window(void **state)
{
    (void)state;
    struct lh_turn turn = {0};
    assert_int_equal(longest_after(&turn, 1000, 0), 0); // the window ends at 11,000
    assert_int_equal(longest_after(&turn, 1001, 70), 70);
    assert_int_equal(longest_after(&turn, 10999, 20), 70);
    assert_int_equal(longest_after(&turn, 11000, 30), 70);
    assert_int_equal(longest_after(&turn, 20999, 10), 70);
    assert_int_equal(longest_after(&turn, 21001, 10), 30);
}

static void after_a_long_sleep_nothing_is_left(void **state)
{
    (void)state;
    struct lh_turn turn = {0};
    longest_after(&turn, 1000, 0);
    longest_after(&turn, 1001, 70);
    assert_int_equal(longest_after(&turn, 21000, 5), 5);
}

static void a_wake_without_a_reading_is_no_turn(void **state)
{
    (void)state;
    struct lh_turn turn = {0};
    longest_after(&turn, 1000, 70);
    lh_turn_end(&turn, lh_after(LH_PAST, lh_ms(5000)));
    assert_int_equal(turn.longest_us, 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_stands),
        cmocka_unit_test(it_is_forgotten_after_the_next_window),
        cmocka_unit_test(after_a_long_sleep_nothing_is_left),
        cmocka_unit_test(a_wake_without_a_reading_is_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
