// The proposer's rules over one record, each on both sides of its edge: P1 to P6, T1, D and F3.
#include "lease/proposer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MINE(counter) lh_ballot_make(counter, 1, 1)
#define OTHERS(counter) lh_ballot_make(counter, 1, 2)

enum { QUORUM = 2 };

static struct lh_instant at(int64_t ns)
{
    return (struct lh_instant){ns};
}

static struct lh_duration lasting(int64_t ns)
{
    return (struct lh_duration){ns};
}

static struct lh_proposer preparing(int64_t now_ns, lh_ballot ballot, int64_t ttl_ns)
{
    struct lh_proposer proposer = {0};
    lh_proposer_start(&proposer, at(now_ns), ballot, lasting(ttl_ns));
    return proposer;
}

// Two open promises and the proposal, all at `now`.
static void propose(struct lh_proposer *proposer, int64_t now_ns)
{
    assert_true(lh_proposer_promise(proposer, at(now_ns), 0, proposer->ballot, LH_BALLOT_NONE));
    assert_true(lh_proposer_promise(proposer, at(now_ns), 1, proposer->ballot, LH_BALLOT_NONE));
    assert_true(lh_proposer_propose(proposer, at(now_ns), QUORUM));
}

static enum lh_outcome accept_both(struct lh_proposer *proposer, int64_t now_ns)
{
    assert_int_equal(lh_proposer_accepted(proposer, at(now_ns), 0, proposer->ballot, QUORUM),
                     LH_NOTHING);
    return lh_proposer_accepted(proposer, at(now_ns), 1, proposer->ballot, QUORUM);
}

// Holds MINE(5), won at 100, until 200.
static struct lh_proposer holding(void)
{
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    assert_int_equal(accept_both(&proposer, 120), LH_ACQUIRED);
    return proposer;
}

static void P1_T1_td_counts_from_the_reading_before_prepare(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    assert_int_equal(proposer.td.ns, 200);
    propose(&proposer, 150);
    assert_int_equal(proposer.td.ns, 200);
    assert_int_equal(accept_both(&proposer, 160), LH_ACQUIRED);
    assert_int_equal(proposer.until.ns, 200);
    assert_int_equal(proposer.token, MINE(5));
}

static void P1_captures_the_lease_held_as_base(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(199), MINE(6), lasting(100));
    assert_int_equal(proposer.base, MINE(5));
}

static void P1_captures_no_base_once_authority_has_ended(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(200), MINE(6), lasting(100));
    assert_int_equal(proposer.base, LH_BALLOT_NONE);
}

static void P1_begins_with_no_evidence(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    lh_proposer_accepted(&proposer, at(110), 0, MINE(5), QUORUM);
    lh_proposer_abandon(&proposer);
    lh_proposer_start(&proposer, at(120), MINE(6), lasting(100));
    assert_true(lh_set_is_empty(proposer.open));
    assert_true(lh_set_is_empty(proposer.accepted));
    assert_false(lh_proposer_propose(&proposer, at(120), QUORUM));
}

static void P2_counts_distinct_acceptors(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    for (int i = 0; i < 3; i++)
        assert_true(lh_proposer_promise(&proposer, at(110), 1, MINE(5), LH_BALLOT_NONE));
    assert_false(lh_proposer_propose(&proposer, at(110), QUORUM));
    lh_proposer_promise(&proposer, at(110), 2, MINE(5), LH_BALLOT_NONE);
    assert_true(lh_proposer_propose(&proposer, at(110), QUORUM));
}

static void P2_a_promise_of_another_attempt_changes_nothing(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    assert_false(lh_proposer_promise(&proposer, at(110), 0, MINE(4), LH_BALLOT_NONE));
    assert_false(lh_proposer_promise(&proposer, at(110), 1, MINE(6), LH_BALLOT_NONE));
    assert_false(lh_proposer_promise(&proposer, at(110), 2, OTHERS(5), LH_BALLOT_NONE));
    assert_true(lh_set_is_empty(proposer.open));
}

static void P2_a_strangers_lease_blocks(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    assert_false(lh_proposer_promise(&proposer, at(110), 0, MINE(5), OTHERS(4)));
    assert_true(lh_set_is_empty(proposer.open));
}

static void P2_own_lease_blocks_a_fresh_acquisition(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    assert_false(lh_proposer_promise(&proposer, at(110), 0, MINE(5), MINE(4)));
    assert_false(lh_proposer_promise(&proposer, at(110), 0, MINE(5), MINE(5)));
}

static void P2_a_renewal_is_open_at_exactly_its_base(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(7), lasting(100));
    assert_false(lh_proposer_promise(&proposer, at(160), 0, MINE(7), MINE(4)));
    assert_false(lh_proposer_promise(&proposer, at(160), 0, MINE(7), MINE(6)));
    assert_false(lh_proposer_promise(&proposer, at(160), 0, MINE(7), MINE(7)));
    assert_false(lh_proposer_promise(&proposer, at(160), 0, MINE(7), OTHERS(5)));
    assert_true(lh_proposer_promise(&proposer, at(160), 0, MINE(7), MINE(5)));
    assert_true(lh_proposer_promise(&proposer, at(160), 1, MINE(7), LH_BALLOT_NONE));
}

static void P2_the_base_must_be_held_when_the_promise_is_read(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    assert_false(lh_proposer_promise(&proposer, at(200), 0, MINE(6), MINE(5)));
    assert_true(lh_proposer_promise(&proposer, at(199), 0, MINE(6), MINE(5)));
}

static void P3_needs_now_before_td(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    lh_proposer_promise(&proposer, at(110), 0, MINE(5), LH_BALLOT_NONE);
    lh_proposer_promise(&proposer, at(110), 1, MINE(5), LH_BALLOT_NONE);
    assert_false(lh_proposer_propose(&proposer, at(200), QUORUM));
    assert_true(lh_proposer_propose(&proposer, at(199), QUORUM));
}

static void P3_happens_once(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    lh_proposer_accepted(&proposer, at(115), 0, MINE(5), QUORUM);
    assert_false(lh_proposer_propose(&proposer, at(120), QUORUM));
    assert_true(lh_set_has(proposer.accepted, 0));
}

static void P3_needs_an_attempt_in_flight(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    lh_proposer_promise(&proposer, at(110), 0, MINE(5), LH_BALLOT_NONE);
    lh_proposer_promise(&proposer, at(110), 1, MINE(5), LH_BALLOT_NONE);
    lh_proposer_abandon(&proposer);
    assert_false(lh_proposer_propose(&proposer, at(110), QUORUM));
}

static void P4_activates_one_nanosecond_before_td(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    assert_int_equal(accept_both(&proposer, 199), LH_ACQUIRED);
    assert_true(lh_proposer_holds(&proposer, at(199)));
    assert_false(lh_proposer_holds(&proposer, at(200)));
}

static void P4_activates_nothing_at_td(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    assert_int_equal(accept_both(&proposer, 200), LH_NOTHING);
    assert_int_equal(proposer.held, LH_BALLOT_NONE);
    assert_false(lh_proposer_holds(&proposer, at(0)));
    assert_int_equal(lh_proposer_accepted(&proposer, at(150), 2, MINE(5), QUORUM), LH_NOTHING);
}

static void P4_counts_distinct_acceptors(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lh_proposer_accepted(&proposer, at(110), 2, MINE(5), QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_accepted(&proposer, at(110), 0, MINE(5), QUORUM), LH_ACQUIRED);
}

static void P4_does_not_count_promises(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    assert_int_equal(lh_proposer_accepted(&proposer, at(110), 2, MINE(5), QUORUM), LH_NOTHING);
}

static void P4_an_answer_to_another_attempt_changes_nothing(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    assert_int_equal(lh_proposer_accepted(&proposer, at(110), 0, MINE(5), QUORUM), LH_NOTHING);
    propose(&proposer, 110);
    assert_true(lh_set_is_empty(proposer.accepted));
    lh_proposer_accepted(&proposer, at(110), 0, MINE(4), QUORUM);
    lh_proposer_accepted(&proposer, at(110), 1, OTHERS(5), QUORUM);
    assert_true(lh_set_is_empty(proposer.accepted));
}

static void P4_a_renewal_keeps_the_token_and_takes_the_new_ballot(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    propose(&proposer, 160);
    assert_int_equal(accept_both(&proposer, 199), LH_RENEWED);
    assert_int_equal(proposer.token, MINE(5));
    assert_int_equal(proposer.held, MINE(6));
    assert_int_equal(proposer.until.ns, 250);
}

static void P4_a_renewal_after_its_base_ended_is_a_new_lease(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    propose(&proposer, 160);
    assert_int_equal(accept_both(&proposer, 200), LH_ACQUIRED);
    assert_int_equal(proposer.token, MINE(6));
    assert_int_equal(proposer.held, MINE(6));
    assert_int_equal(proposer.until.ns, 250);
}

static void P5_keeps_the_lease_already_held(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    propose(&proposer, 160);
    lh_proposer_abandon(&proposer);
    assert_true(lh_proposer_holds(&proposer, at(199)));
    assert_int_equal(proposer.held, MINE(5));
    assert_int_equal(accept_both(&proposer, 170), LH_NOTHING);
    assert_int_equal(proposer.held, MINE(5));
    assert_int_equal(proposer.until.ns, 200);
}

static void P5_discards_answers_of_the_abandoned_attempt(void **state)
{
    (void)state;
    struct lh_proposer proposer = preparing(100, MINE(5), 100);
    propose(&proposer, 110);
    lh_proposer_abandon(&proposer);
    lh_proposer_start(&proposer, at(120), MINE(6), lasting(100));
    assert_false(lh_proposer_promise(&proposer, at(130), 0, MINE(5), LH_BALLOT_NONE));
    propose(&proposer, 130);
    assert_int_equal(lh_proposer_accepted(&proposer, at(130), 0, MINE(5), QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_accepted(&proposer, at(130), 1, MINE(5), QUORUM), LH_NOTHING);
    assert_false(lh_proposer_holds(&proposer, at(130)));
}

static void P6_ends_authority_and_names_the_exact_lease(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    propose(&proposer, 150);
    accept_both(&proposer, 150);
    assert_int_equal(lh_proposer_release(&proposer, at(249)), MINE(6));
    assert_false(lh_proposer_holds(&proposer, at(0)));
    assert_int_equal(proposer.token, LH_BALLOT_NONE);
}

static void P6_names_nothing_once_the_lease_has_ended(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    assert_int_equal(lh_proposer_release(&proposer, at(200)), LH_BALLOT_NONE);
    assert_int_equal(lh_proposer_release(&proposer, at(0)), LH_BALLOT_NONE);
}

static void P6_abandons_the_renewal_in_flight(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    propose(&proposer, 160);
    assert_int_equal(lh_proposer_release(&proposer, at(170)), MINE(5));
    assert_int_equal(accept_both(&proposer, 180), LH_NOTHING);
    assert_false(lh_proposer_holds(&proposer, at(180)));
}

static void P6_a_released_base_makes_no_promise_open(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(100));
    lh_proposer_release(&proposer, at(160));
    assert_false(lh_proposer_promise(&proposer, at(170), 0, MINE(6), MINE(5)));
}

static void D_a_shorter_renewal_moves_until_not_back(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_start(&proposer, at(150), MINE(6), lasting(49));
    propose(&proposer, 160);
    assert_int_equal(accept_both(&proposer, 170), LH_RENEWED);
    assert_int_equal(proposer.until.ns, 200);
    lh_proposer_start(&proposer, at(150), MINE(7), lasting(51));
    propose(&proposer, 160);
    assert_int_equal(accept_both(&proposer, 170), LH_RENEWED);
    assert_int_equal(proposer.until.ns, 201);
}

static void D_a_shorter_extension_moves_until_not_back(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(49));
    lh_proposer_extended(&proposer, at(160), 0, MINE(5), proposer.stamp, QUORUM);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), proposer.stamp, QUORUM),
                     LH_RENEWED);
    assert_int_equal(proposer.until.ns, 200);
}

static void D_until_saturates(void **state)
{
    (void)state;
    const struct lh_proposer proposer = preparing(INT64_MAX - 5, MINE(5), 100);
    assert_int_equal(proposer.td.ns, INT64_MAX);
}

static void F3_extends_under_the_same_ballot_and_token(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    assert_int_equal(proposer.stamp, 150);
    assert_int_equal(proposer.td.ns, 250);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 0, MINE(5), 150, QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 2, MINE(5), 150, QUORUM), LH_RENEWED);
    assert_int_equal(proposer.until.ns, 250);
    assert_int_equal(proposer.held, MINE(5));
    assert_int_equal(proposer.token, MINE(5));
}

static void F3_counts_distinct_acceptors(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    for (int i = 0; i < 3; i++)
        assert_int_equal(lh_proposer_extended(&proposer, at(160), 0, MINE(5), 150, QUORUM),
                         LH_NOTHING);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 150, QUORUM), LH_RENEWED);
}

static void F3_counts_answers_to_exactly_this_n(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(140), lasting(100));
    lh_proposer_extended(&proposer, at(145), 0, MINE(5), 140, QUORUM);
    lh_proposer_abandon(&proposer);
    lh_proposer_extend(&proposer, at(150), lasting(100));
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 0, MINE(5), 140, QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 140, QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 151, QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 149, QUORUM), LH_NOTHING);
    assert_true(lh_set_is_empty(proposer.accepted));
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 150, QUORUM), LH_NOTHING);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 2, MINE(5), 150, QUORUM), LH_RENEWED);
}

static void F3_counts_answers_to_exactly_this_lease(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    lh_proposer_extended(&proposer, at(160), 0, MINE(4), 150, QUORUM);
    lh_proposer_extended(&proposer, at(160), 1, OTHERS(5), 150, QUORUM);
    assert_true(lh_set_is_empty(proposer.accepted));
}

static void F3_n_rises_within_one_clock_reading(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    lh_proposer_abandon(&proposer);
    lh_proposer_extend(&proposer, at(150), lasting(100));
    assert_int_equal(proposer.stamp, 151);
    assert_int_equal(proposer.td.ns, 250);
}

static void F3_extends_one_nanosecond_before_the_lease_ends(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    lh_proposer_extended(&proposer, at(160), 0, MINE(5), 150, QUORUM);
    assert_int_equal(lh_proposer_extended(&proposer, at(199), 1, MINE(5), 150, QUORUM), LH_RENEWED);
}

static void F3_extends_nothing_once_the_lease_has_ended(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    lh_proposer_extended(&proposer, at(160), 0, MINE(5), 150, QUORUM);
    assert_int_equal(lh_proposer_extended(&proposer, at(200), 1, MINE(5), 150, QUORUM), LH_NOTHING);
    assert_int_equal(proposer.until.ns, 200);
}

static void F3_extends_nothing_at_td(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(110), lasting(50));
    lh_proposer_extended(&proposer, at(120), 0, MINE(5), 110, QUORUM);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 110, QUORUM), LH_NOTHING);
    proposer = holding();
    lh_proposer_extend(&proposer, at(110), lasting(50));
    lh_proposer_extended(&proposer, at(120), 0, MINE(5), 110, QUORUM);
    assert_int_equal(lh_proposer_extended(&proposer, at(159), 1, MINE(5), 110, QUORUM), LH_RENEWED);
}

static void F3_a_release_abandons_it(void **state)
{
    (void)state;
    struct lh_proposer proposer = holding();
    lh_proposer_extend(&proposer, at(150), lasting(100));
    lh_proposer_release(&proposer, at(160));
    lh_proposer_extended(&proposer, at(160), 0, MINE(5), 150, QUORUM);
    assert_int_equal(lh_proposer_extended(&proposer, at(160), 1, MINE(5), 150, QUORUM), LH_NOTHING);
    assert_false(lh_proposer_holds(&proposer, at(160)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(P1_T1_td_counts_from_the_reading_before_prepare),
        cmocka_unit_test(P1_captures_the_lease_held_as_base),
        cmocka_unit_test(P1_captures_no_base_once_authority_has_ended),
        cmocka_unit_test(P1_begins_with_no_evidence),
        cmocka_unit_test(P2_counts_distinct_acceptors),
        cmocka_unit_test(P2_a_promise_of_another_attempt_changes_nothing),
        cmocka_unit_test(P2_a_strangers_lease_blocks),
        cmocka_unit_test(P2_own_lease_blocks_a_fresh_acquisition),
        cmocka_unit_test(P2_a_renewal_is_open_at_exactly_its_base),
        cmocka_unit_test(P2_the_base_must_be_held_when_the_promise_is_read),
        cmocka_unit_test(P3_needs_now_before_td),
        cmocka_unit_test(P3_happens_once),
        cmocka_unit_test(P3_needs_an_attempt_in_flight),
        cmocka_unit_test(P4_activates_one_nanosecond_before_td),
        cmocka_unit_test(P4_activates_nothing_at_td),
        cmocka_unit_test(P4_counts_distinct_acceptors),
        cmocka_unit_test(P4_does_not_count_promises),
        cmocka_unit_test(P4_an_answer_to_another_attempt_changes_nothing),
        cmocka_unit_test(P4_a_renewal_keeps_the_token_and_takes_the_new_ballot),
        cmocka_unit_test(P4_a_renewal_after_its_base_ended_is_a_new_lease),
        cmocka_unit_test(P5_keeps_the_lease_already_held),
        cmocka_unit_test(P5_discards_answers_of_the_abandoned_attempt),
        cmocka_unit_test(P6_ends_authority_and_names_the_exact_lease),
        cmocka_unit_test(P6_names_nothing_once_the_lease_has_ended),
        cmocka_unit_test(P6_abandons_the_renewal_in_flight),
        cmocka_unit_test(P6_a_released_base_makes_no_promise_open),
        cmocka_unit_test(D_a_shorter_renewal_moves_until_not_back),
        cmocka_unit_test(D_a_shorter_extension_moves_until_not_back),
        cmocka_unit_test(D_until_saturates),
        cmocka_unit_test(F3_extends_under_the_same_ballot_and_token),
        cmocka_unit_test(F3_counts_distinct_acceptors),
        cmocka_unit_test(F3_counts_answers_to_exactly_this_n),
        cmocka_unit_test(F3_counts_answers_to_exactly_this_lease),
        cmocka_unit_test(F3_n_rises_within_one_clock_reading),
        cmocka_unit_test(F3_extends_one_nanosecond_before_the_lease_ends),
        cmocka_unit_test(F3_extends_nothing_once_the_lease_has_ended),
        cmocka_unit_test(F3_extends_nothing_at_td),
        cmocka_unit_test(F3_a_release_abandons_it),
    };
    return cmocka_run_group_tests_name("proposer", tests, NULL, NULL);
}
