// Ballots as integers: their order is the order of attempts, their low bits name one incarnation of
// one node (P1, T4), and every edge of what counts as a ballot.
#include "lease/ballot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void parts_come_back_as_they_were_put_in(void **state)
{
    (void)state;
    const lh_ballot ballot = lh_ballot_make(UINT64_C(0x123456789abc), 0xde, 0xf0);
    assert_int_equal(ballot, UINT64_C(0x123456789abcdef0));
    assert_int_equal(lh_ballot_counter(ballot), UINT64_C(0x123456789abc));
    assert_int_equal(lh_ballot_node(ballot), 0xf0);
}

static void the_counter_outweighs_generation_and_node(void **state)
{
    (void)state;
    assert_true(lh_ballot_make(2, 0, 1) > lh_ballot_make(1, 255, 255));
    assert_true(lh_ballot_make(1, 2, 1) > lh_ballot_make(1, 1, 255));
    assert_true(lh_ballot_make(1, 1, 2) > lh_ballot_make(1, 1, 1));
}

static void the_greatest_ballot_is_a_signed_integer(void **state)
{
    (void)state;
    assert_int_equal(lh_ballot_make(LH_COUNTER_MAX, 255, 255), LH_BALLOT_MAX);
    assert_int_equal(LH_BALLOT_MAX, INT64_MAX);
    assert_int_equal(lh_ballot_ceiling(LH_COUNTER_MAX), LH_BALLOT_MAX);
}

static void the_ceiling_covers_its_counter_and_not_the_next(void **state)
{
    (void)state;
    assert_true(lh_ballot_ceiling(7) >= lh_ballot_make(7, 255, 255));
    assert_true(lh_ballot_ceiling(7) < lh_ballot_make(8, 0, 1));
    assert_int_equal(lh_ballot_counter(lh_ballot_ceiling(7)), 7);
}

static void same_owner_is_the_same_node_in_the_same_generation(void **state)
{
    (void)state;
    const lh_ballot ballot = lh_ballot_make(7, 3, 2);
    assert_true(lh_ballot_same_owner(ballot, lh_ballot_make(9, 3, 2)));
    assert_false(lh_ballot_same_owner(ballot, lh_ballot_make(7, 3, 1)));
    assert_false(lh_ballot_same_owner(ballot, lh_ballot_make(7, 4, 2)));
    assert_false(lh_ballot_same_owner(ballot, lh_ballot_make(7, 2, 3)));
}

static void a_ballot_has_a_counter_and_a_node_and_63_bits(void **state)
{
    (void)state;
    assert_false(lh_ballot_valid(LH_BALLOT_NONE));
    assert_false(lh_ballot_valid(lh_ballot_make(0, 0, 1)));
    assert_false(lh_ballot_valid(lh_ballot_make(0, 255, 255)));
    assert_false(lh_ballot_valid(lh_ballot_make(1, 0, 0)));
    assert_false(lh_ballot_valid(lh_ballot_make(1, 1, 0)));
    assert_true(lh_ballot_valid(lh_ballot_make(1, 0, 1)));
    assert_true(lh_ballot_valid(LH_BALLOT_MAX));
    assert_false(lh_ballot_valid(LH_BALLOT_MAX + 1));
    assert_false(lh_ballot_valid(UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_come_back_as_they_were_put_in),
        cmocka_unit_test(the_counter_outweighs_generation_and_node),
        cmocka_unit_test(the_greatest_ballot_is_a_signed_integer),
        cmocka_unit_test(the_ceiling_covers_its_counter_and_not_the_next),
        cmocka_unit_test(same_owner_is_the_same_node_in_the_same_generation),
        cmocka_unit_test(a_ballot_has_a_counter_and_a_node_and_63_bits),
    };
    return cmocka_run_group_tests_name("ballot", tests, NULL, NULL);
}
