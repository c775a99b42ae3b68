// The assertions with a hook of this program's own, which records the report and jumps back: each
// macro on both sides of its edge, and each operand evaluated once.
#include "base/assert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static jmp_buf back;
static const char *failed_expression;
static long long failed_left;
static long long failed_right;

_Noreturn void lh_assert_failed(const char *file, int line, const char *expression, long long left,
                                long long right)
{
    assert_non_null(strstr(file, "test_assert.c"));
    assert_true(line > 0);
    failed_expression = expression;
    failed_left = left;
    failed_right = right;
    longjmp(back, 1);
}

static bool fails_condition(bool condition)
{
    if (setjmp(back) != 0)
        return true;
    LH_ASSERT(condition);
    return false;
}

#define DEFINE_FAILS(name, macro)                                                                  \
    static bool name(long long left, long long right)                                              \
    {                                                                                              \
        if (setjmp(back) != 0)                                                                     \
            return true;                                                                           \
        macro(left, right);                                                                        \
        return false;                                                                              \
    }
DEFINE_FAILS(fails_eq, LH_ASSERT_EQ)
DEFINE_FAILS(fails_ne, LH_ASSERT_NE)
DEFINE_FAILS(fails_lt, LH_ASSERT_LT)
DEFINE_FAILS(fails_le, LH_ASSERT_LE)
DEFINE_FAILS(fails_gt, LH_ASSERT_GT)
DEFINE_FAILS(fails_ge, LH_ASSERT_GE)

static void a_condition_reports_what_it_was_and_should_be(void **state)
{
    (void)state;
    assert_false(fails_condition(true));
    assert_true(fails_condition(false));
    assert_string_equal(failed_expression, "condition");
    assert_int_equal(failed_left, 0);
    assert_int_equal(failed_right, 1);
}

static void comparisons_fail_on_the_right_side_of_their_edge(void **state)
{
    (void)state;
    assert_true(fails_eq(6, 7) && !fails_eq(7, 7) && fails_eq(8, 7));
    assert_true(!fails_ne(6, 7) && fails_ne(7, 7) && !fails_ne(8, 7));
    assert_true(!fails_lt(6, 7) && fails_lt(7, 7) && fails_lt(8, 7));
    assert_true(!fails_le(6, 7) && !fails_le(7, 7) && fails_le(8, 7));
    assert_true(fails_gt(6, 7) && fails_gt(7, 7) && !fails_gt(8, 7));
    assert_true(fails_ge(6, 7) && !fails_ge(7, 7) && !fails_ge(8, 7));
    assert_true(!fails_le(INT64_MIN, INT64_MAX) && fails_le(INT64_MAX, INT64_MIN));
}

static void a_comparison_reports_its_operands(void **state)
{
    (void)state;
    assert_true(fails_le(8, 7));
    assert_string_equal(failed_expression, "left <= right");
    assert_int_equal(failed_left, 8);
    assert_int_equal(failed_right, 7);
}

static void operands_are_evaluated_once(void **state)
{
    (void)state;
    int left = 0;
    int right = 0;
    LH_ASSERT_EQ(++left, ++right);
    assert_int_equal(left, 1);
    assert_int_equal(right, 1);
}

static void equality_holds_for_all_64_bits(void **state)
{
    (void)state;
    const uint64_t all = UINT64_MAX;
    LH_ASSERT_EQ(all, UINT64_MAX);
    LH_ASSERT_NE(all, UINT64_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_reports_what_it_was_and_should_be),
        cmocka_unit_test(comparisons_fail_on_the_right_side_of_their_edge),
        cmocka_unit_test(a_comparison_reports_its_operands),
        cmocka_unit_test(operands_are_evaluated_once),
        cmocka_unit_test(equality_holds_for_all_64_bits),
    };
    return cmocka_run_group_tests_name("assert", tests, NULL, NULL);
}
