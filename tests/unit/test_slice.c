// Slices: equality with and without regard to case, for every byte, and for slices of nothing.
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct lh_slice nothing = {NULL, 0};

static void a_literal_has_no_terminator(void **state)
{
    (void)state;
    static const struct lh_slice fixed = LH_SLICE_INIT("LEASE");
    assert_int_equal(fixed.size_bytes, 5);
    assert_int_equal(LH_SLICE("").size_bytes, 0);
    assert_int_equal(LH_SLICE("a\0b").size_bytes, 3);
    assert_int_equal(lh_slice_of_string("a\0b").size_bytes, 1);
    assert_true(lh_slice_equal(fixed, lh_slice_of_string("LEASE")));
    assert_true(lh_slice_equal(fixed, lh_slice_of("LEASE!", 5)));
}

static void equal_needs_every_byte_and_the_size(void **state)
{
    (void)state;
    assert_true(lh_slice_equal(LH_SLICE("abc"), LH_SLICE("abc")));
    assert_false(lh_slice_equal(LH_SLICE("abc"), LH_SLICE("abd")));
    assert_false(lh_slice_equal(LH_SLICE("abc"), LH_SLICE("ab")));
    assert_false(lh_slice_equal(LH_SLICE("ab\0c"), LH_SLICE("ab\0d")));
    assert_false(lh_slice_equal(LH_SLICE("abc"), LH_SLICE("ABC")));
    assert_true(lh_slice_equal(nothing, LH_SLICE("")));
    assert_false(lh_slice_equal(nothing, LH_SLICE("a")));
}

static void case_is_ignored_for_ascii_letters_only(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            uint8_t left = (uint8_t)a;
            uint8_t right = (uint8_t)b;
            unsigned folded_a = a >= 'A' && a <= 'Z' ? a + 32 : a;
            unsigned folded_b = b >= 'A' && b <= 'Z' ? b + 32 : b;
            assert_int_equal(
                lh_slice_equal_ignoring_case(lh_slice_of(&left, 1), lh_slice_of(&right, 1)),
                folded_a == folded_b);
        }
    }
    assert_true(lh_slice_equal_ignoring_case(LH_SLICE("Lease"), LH_SLICE("lEASE")));
    assert_false(lh_slice_equal_ignoring_case(LH_SLICE("Lease"), LH_SLICE("leases")));
    assert_true(lh_slice_equal_ignoring_case(nothing, nothing));
}

static void a_prefix_may_be_empty_or_the_whole(void **state)
{
    (void)state;
    assert_true(lh_slice_has_prefix(LH_SLICE("lease:db"), LH_SLICE("lease:")));
    assert_true(lh_slice_has_prefix(LH_SLICE("lease:"), LH_SLICE("lease:")));
    assert_false(lh_slice_has_prefix(LH_SLICE("lease"), LH_SLICE("lease:")));
    assert_false(lh_slice_has_prefix(LH_SLICE("leasf:db"), LH_SLICE("lease:")));
    assert_true(lh_slice_has_prefix(LH_SLICE("x"), nothing));
    assert_true(lh_slice_has_prefix(nothing, nothing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_literal_has_no_terminator),
        cmocka_unit_test(equal_needs_every_byte_and_the_size),
        cmocka_unit_test(case_is_ignored_for_ascii_letters_only),
        cmocka_unit_test(a_prefix_may_be_empty_or_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
