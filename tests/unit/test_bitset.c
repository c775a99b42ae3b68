// Member sets: a member counts once however often it answers (P2), and an index outside the set is
// a mistake of ours that stops the program. The assertion hook here jumps back instead.
#include "base/bitset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static jmp_buf back;

_Noreturn void lh_assert_failed(const char *file, int line, const char *expression, long long left,
                                long long right)
{
    (void)file, (void)line, (void)expression, (void)left, (void)right;
    longjmp(back, 1);
}

static void a_member_counts_once(void **state)
{
    (void)state;
    struct lh_members_set set = LH_SET_EMPTY;
    assert_true(lh_set_is_empty(set));
    lh_set_add(&set, 6);
    lh_set_add(&set, 6);
    assert_int_equal(lh_set_count(set), 1);
    assert_true(lh_set_has(set, 6));
    assert_false(lh_set_has(set, 5));
    lh_set_add(&set, 0);
    assert_int_equal(lh_set_count(set), 2);
    lh_set_remove(&set, 6);
    lh_set_remove(&set, 6);
    assert_int_equal(lh_set_count(set), 1);
    assert_false(lh_set_is_empty(set));
}

static void count_agrees_with_counting_one_by_one(void **state)
{
    (void)state;
    uint32_t bits = 1;
    for (int round = 0; round < 100000; round++) {
        unsigned expected = 0;
        for (unsigned member = 0; member < LH_SET_CAPACITY; member++)
            expected += lh_set_has((struct lh_members_set){bits}, member);
        assert_int_equal(lh_set_count((struct lh_members_set){bits}), expected);
        bits = bits * UINT32_C(1664525) + UINT32_C(1013904223);
    }
    assert_int_equal(lh_set_count((struct lh_members_set){0}), 0);
    assert_int_equal(lh_set_count((struct lh_members_set){UINT32_MAX}), 32);
}

static bool stops(unsigned member)
{
    struct lh_members_set set = LH_SET_EMPTY;
    if (setjmp(back) != 0)
        return true;
    lh_set_add(&set, member);
    return false;
}

static void an_index_outside_the_set_stops(void **state)
{
    (void)state;
    assert_false(stops(31));
    assert_true(stops(32));
    assert_true(stops(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_counts_once),
        cmocka_unit_test(count_agrees_with_counting_one_by_one),
        cmocka_unit_test(an_index_outside_the_set_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
