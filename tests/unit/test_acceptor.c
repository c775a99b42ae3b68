// The acceptor's rules over one record, each on both sides of its edge: A1, A2 with its order, its
// refusal and its spent ballots, A3, D, F1, F2 and F3.
#include "lease/acceptor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Attempts of node 1 and node 2; and of node 1 come back with a new data directory.
#define MINE(counter) lh_ballot_make(counter, 1, 1)
#define OTHERS(counter) lh_ballot_make(counter, 1, 2)
#define REPLACED(counter) lh_ballot_make(counter, 2, 1)

static struct lh_instant at(int64_t ns)
{
    return (struct lh_instant){ns};
}

static struct lh_duration lasting(int64_t ns)
{
    return (struct lh_duration){ns};
}

// A record holding MINE(5) from 100 until 200.
static struct lh_acceptor_record holding(void)
{
    struct lh_acceptor_record record = {0};
    const struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(100), MINE(5), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_ACCEPTED);
    return record;
}

static void assert_unchanged(struct lh_acceptor_record before, struct lh_acceptor_record after)
{
    assert_memory_equal(&before, &after, sizeof before);
}

static void A1_promises_at_the_promised_ballot_and_rejects_one_below(void **state)
{
    (void)state;
    struct lh_acceptor_record record = {0};
    assert_int_equal(lh_acceptor_prepare(&record, at(1), OTHERS(5)).verdict, LH_PROMISED);
    const struct lh_acceptor_record before = record;
    struct lh_acceptor_answer answer = lh_acceptor_prepare(&record, at(1), OTHERS(5) - 1);
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_unchanged(before, record);
    assert_int_equal(lh_acceptor_prepare(&record, at(1), OTHERS(5)).verdict, LH_PROMISED);
    answer = lh_acceptor_prepare(&record, at(1), OTHERS(5) + 1);
    assert_int_equal(answer.verdict, LH_PROMISED);
    assert_int_equal(record.promised, OTHERS(5) + 1);
}

static void A1_a_rejection_carries_the_promised_ballot(void **state)
{
    (void)state;
    struct lh_acceptor_record record = {0};
    lh_acceptor_prepare(&record, at(1), OTHERS(5));
    assert_int_equal(lh_acceptor_prepare(&record, at(1), MINE(5)).promised, OTHERS(5));
    const struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(1), MINE(5), LH_BALLOT_NONE, lasting(9));
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_int_equal(answer.promised, OTHERS(5));
}

static void A1_reports_a_live_lease_and_what_remains_of_it(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_answer answer = lh_acceptor_prepare(&record, at(199), OTHERS(6));
    assert_int_equal(answer.verdict, LH_PROMISED);
    assert_int_equal(answer.reported, MINE(5));
    assert_int_equal(answer.exclusion.ns, 1);
}

static void A1_reports_an_expired_lease_as_none(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_answer answer = lh_acceptor_prepare(&record, at(200), OTHERS(6));
    assert_int_equal(answer.verdict, LH_PROMISED);
    assert_int_equal(answer.reported, LH_BALLOT_NONE);
    assert_int_equal(answer.exclusion.ns, 0);
}

static void A1_promising_ends_no_lease(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_prepare(&record, at(150), OTHERS(9));
    assert_int_equal(record.ballot, MINE(5));
    assert_int_equal(record.deadline.ns, 200);
}

static void A2_accepts_at_the_promised_ballot_and_rejects_one_below(void **state)
{
    (void)state;
    struct lh_acceptor_record record = {0};
    lh_acceptor_prepare(&record, at(1), OTHERS(5));
    const struct lh_acceptor_record before = record;
    struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(1), OTHERS(5) - 1, LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_unchanged(before, record);
    answer = lh_acceptor_accept(&record, at(2), OTHERS(5), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_ACCEPTED);
    assert_int_equal(record.deadline.ns, 102);
    assert_int_equal(record.ballot, OTHERS(5));
}

static void A2_accepting_is_promising(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    assert_int_equal(record.promised, MINE(5));
    assert_int_equal(lh_acceptor_prepare(&record, at(100), MINE(5) - 1).verdict, LH_REJECTED);
}

static void A2_keeps_a_live_lease_from_another_owner(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(199), OTHERS(6), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_int_equal(answer.reported, MINE(5));
    assert_int_equal(answer.exclusion.ns, 1);
    assert_unchanged(before, record);
    answer = lh_acceptor_accept(&record, at(200), OTHERS(6), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_ACCEPTED);
    assert_int_equal(record.ballot, OTHERS(6));
    assert_int_equal(record.deadline.ns, 300);
}

static void A2_a_stranger_cannot_name_a_live_lease(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    assert_int_equal(lh_acceptor_accept(&record, at(150), OTHERS(6), MINE(5), lasting(1)).verdict,
                     LH_REJECTED);
    assert_int_equal(lh_acceptor_accept(&record, at(150), REPLACED(6), MINE(5), lasting(1)).verdict,
                     LH_REJECTED);
    assert_unchanged(before, record);
}

static void A2_the_owner_renews_the_lease_it_names(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    assert_int_equal(lh_acceptor_accept(&record, at(150), MINE(6), MINE(5), lasting(100)).verdict,
                     LH_ACCEPTED);
    assert_int_equal(record.ballot, MINE(6));
    assert_int_equal(record.deadline.ns, 250);
}

static void A2_the_owner_without_the_base_is_refused(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    const lh_ballot bases[] = {LH_BALLOT_NONE, MINE(4), MINE(6), MINE(5) - 1, MINE(5) + 1};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        const struct lh_acceptor_answer answer =
            lh_acceptor_accept(&record, at(150), MINE(6), bases[i], lasting(100));
        assert_int_equal(answer.verdict, LH_REJECTED);
        assert_int_equal(answer.promised, MINE(5));
        assert_unchanged(before, record);
    }
}

static void A2_a_redelivery_is_answered_and_restarts_nothing(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    const struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(199), MINE(5), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_ACCEPTED);
    assert_unchanged(before, record);
}

static void A2_a_spent_ballot_is_never_installed_again_after_expiry(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    const struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(200), MINE(5), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_int_equal(answer.reported, LH_BALLOT_NONE);
    assert_unchanged(before, record);
}

static void A2_a_spent_ballot_is_never_installed_again_after_release(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    assert_true(lh_acceptor_release(&record, at(120), MINE(5)));
    const struct lh_acceptor_answer answer =
        lh_acceptor_accept(&record, at(120), MINE(5), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_false(lh_acceptor_live(&record, at(120)));
    assert_int_equal(lh_acceptor_prepare(&record, at(120), MINE(5)).verdict, LH_PROMISED);
    assert_int_equal(
        lh_acceptor_accept(&record, at(121), MINE(5), LH_BALLOT_NONE, lasting(100)).verdict,
        LH_REJECTED);
}

static void A3_clears_exactly_the_released_lease(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    assert_false(lh_acceptor_release(&record, at(150), MINE(4)));
    assert_false(lh_acceptor_release(&record, at(150), MINE(6)));
    assert_false(lh_acceptor_release(&record, at(150), OTHERS(5)));
    assert_unchanged(before, record);
    assert_true(lh_acceptor_release(&record, at(150), MINE(5)));
    assert_false(lh_acceptor_live(&record, at(150)));
}

static void A3_a_late_release_leaves_the_renewed_lease(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_accept(&record, at(150), MINE(6), MINE(5), lasting(100));
    assert_false(lh_acceptor_release(&record, at(151), MINE(5)));
    assert_true(lh_acceptor_live(&record, at(249)));
}

static void A3_keeps_the_promise(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_release(&record, at(150), MINE(5));
    assert_int_equal(record.promised, MINE(5));
    assert_int_equal(lh_acceptor_prepare(&record, at(150), MINE(5) - 1).verdict, LH_REJECTED);
}

static void A3_is_spent_at_the_deadline(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    assert_false(lh_acceptor_release(&record, at(200), MINE(5)));
    record = holding();
    assert_true(lh_acceptor_release(&record, at(199), MINE(5)));
}

static void D_a_shorter_renewal_moves_no_deadline_back(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_accept(&record, at(150), MINE(6), MINE(5), lasting(49));
    assert_int_equal(record.ballot, MINE(6));
    assert_int_equal(record.deadline.ns, 200);
    lh_acceptor_accept(&record, at(150), MINE(7), MINE(6), lasting(51));
    assert_int_equal(record.deadline.ns, 201);
}

static void D_binds_a_live_lease_only(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    assert_true(lh_acceptor_release(&record, at(150), MINE(5)));
    lh_acceptor_accept(&record, at(150), OTHERS(6), LH_BALLOT_NONE, lasting(10));
    assert_int_equal(record.deadline.ns, 160);
    record = holding();
    lh_acceptor_accept(&record, at(200), OTHERS(6), LH_BALLOT_NONE, lasting(10));
    assert_int_equal(record.deadline.ns, 210);
}

static void D_a_shorter_extension_moves_no_deadline_back(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_extend(&record, at(150), MINE(5), 7, lasting(49));
    assert_int_equal(record.deadline.ns, 200);
    lh_acceptor_extend(&record, at(150), MINE(5), 8, lasting(51));
    assert_int_equal(record.deadline.ns, 201);
}

static void D_deadlines_saturate(void **state)
{
    (void)state;
    struct lh_acceptor_record record = {0};
    lh_acceptor_accept(&record, at(INT64_MAX - 5), MINE(1), LH_BALLOT_NONE, lasting(100));
    assert_int_equal(record.deadline.ns, INT64_MAX);
}

static void F3_extends_while_the_lease_is_live(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    struct lh_acceptor_answer answer =
        lh_acceptor_extend(&record, at(199), MINE(5), 7, lasting(100));
    assert_int_equal(answer.verdict, LH_EXTENDED);
    assert_int_equal(record.deadline.ns, 299);
    answer = lh_acceptor_extend(&record, at(299), MINE(5), 8, lasting(100));
    assert_int_equal(answer.verdict, LH_REJECTED);
    assert_int_equal(record.deadline.ns, 299);
}

static void F3_refuses_any_other_ballot(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    const struct lh_acceptor_record before = record;
    const lh_ballot strange[] = {MINE(4), MINE(6), OTHERS(5), REPLACED(5)};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        const struct lh_acceptor_answer answer =
            lh_acceptor_extend(&record, at(150), strange[i], 7, lasting(100));
        assert_int_equal(answer.verdict, LH_REJECTED);
        assert_int_equal(answer.reported, MINE(5));
        assert_int_equal(answer.promised, MINE(5));
    }
    assert_unchanged(before, record);
}

static void F3_refuses_a_released_lease_and_an_empty_record(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_release(&record, at(150), MINE(5));
    assert_int_equal(lh_acceptor_extend(&record, at(150), MINE(5), 7, lasting(1)).verdict,
                     LH_REJECTED);
    struct lh_acceptor_record empty = {0};
    assert_int_equal(lh_acceptor_extend(&empty, at(150), MINE(5), 7, lasting(1)).verdict,
                     LH_REJECTED);
}

static void F3_counts_a_newer_n_only(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_extend(&record, at(150), MINE(5), 7, lasting(100));
    assert_int_equal(record.deadline.ns, 250);
    assert_int_equal(lh_acceptor_extend(&record, at(160), MINE(5), 7, lasting(100)).verdict,
                     LH_EXTENDED);
    assert_int_equal(record.deadline.ns, 250);
    assert_int_equal(lh_acceptor_extend(&record, at(170), MINE(5), 6, lasting(100)).verdict,
                     LH_EXTENDED);
    assert_int_equal(record.deadline.ns, 250);
    lh_acceptor_extend(&record, at(180), MINE(5), 8, lasting(100));
    assert_int_equal(record.deadline.ns, 280);
}

static void F3_a_renewal_in_two_rounds_starts_n_anew(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_extend(&record, at(150), MINE(5), 7, lasting(100));
    lh_acceptor_accept(&record, at(160), MINE(6), MINE(5), lasting(100));
    assert_int_equal(record.deadline.ns, 260);
    lh_acceptor_extend(&record, at(170), MINE(6), 7, lasting(100));
    assert_int_equal(record.deadline.ns, 270);
}

static void F3_does_not_ask_whether_the_promise_is_still_the_owners(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_prepare(&record, at(150), OTHERS(9));
    assert_int_equal(lh_acceptor_extend(&record, at(160), MINE(5), 7, lasting(100)).verdict,
                     LH_EXTENDED);
    assert_int_equal(record.promised, OTHERS(9));
    assert_int_equal(record.deadline.ns, 260);
}

static void F1_waits_for_the_quarantine_after_the_lease(void **state)
{
    (void)state;
    const struct lh_acceptor_record record = holding();
    assert_false(lh_acceptor_forgettable(&record, at(199), lasting(0)));
    assert_true(lh_acceptor_forgettable(&record, at(200), lasting(0)));
    assert_false(lh_acceptor_forgettable(&record, at(249), lasting(50)));
    assert_true(lh_acceptor_forgettable(&record, at(250), lasting(50)));
}

static void F1_waits_for_the_quarantine_after_a_promise(void **state)
{
    (void)state;
    struct lh_acceptor_record record = {0};
    lh_acceptor_prepare(&record, at(100), MINE(5));
    assert_false(lh_acceptor_forgettable(&record, at(149), lasting(50)));
    assert_true(lh_acceptor_forgettable(&record, at(150), lasting(50)));
    lh_acceptor_prepare(&record, at(140), MINE(6));
    assert_false(lh_acceptor_forgettable(&record, at(189), lasting(50)));
    assert_true(lh_acceptor_forgettable(&record, at(190), lasting(50)));
}

static void F1_counts_a_promise_made_after_the_lease(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_prepare(&record, at(230), OTHERS(6));
    assert_int_equal(lh_acceptor_touched(&record).ns, 230);
    assert_false(lh_acceptor_forgettable(&record, at(279), lasting(50)));
    assert_true(lh_acceptor_forgettable(&record, at(280), lasting(50)));
}

static void F1_counts_from_a_release(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_extend(&record, at(150), MINE(5), UINT64_C(1) << 60, lasting(100));
    lh_acceptor_release(&record, at(160), MINE(5));
    assert_int_equal(lh_acceptor_touched(&record).ns, 160);
    assert_false(lh_acceptor_forgettable(&record, at(209), lasting(50)));
    assert_true(lh_acceptor_forgettable(&record, at(210), lasting(50)));
}

static void F1_counts_from_the_extended_deadline(void **state)
{
    (void)state;
    struct lh_acceptor_record record = holding();
    lh_acceptor_extend(&record, at(150), MINE(5), 7, lasting(100));
    assert_false(lh_acceptor_forgettable(&record, at(299), lasting(50)));
    assert_true(lh_acceptor_forgettable(&record, at(300), lasting(50)));
}

static void F1_a_rejection_touches_nothing(void **state)
{
    (void)state;
    struct lh_acceptor_record record = {0};
    lh_acceptor_prepare(&record, at(100), OTHERS(5));
    lh_acceptor_prepare(&record, at(140), MINE(4));
    assert_int_equal(lh_acceptor_touched(&record).ns, 100);
}

static void F2_a_fresh_record_is_promised_and_spent_at_the_floor(void **state)
{
    (void)state;
    const struct lh_key key = {{1, 2}};
    const lh_ballot floor = MINE(5);
    struct lh_acceptor_record record = lh_acceptor_fresh(key, floor, at(100));
    assert_int_equal(record.key.word[1], 2);
    assert_int_equal(lh_acceptor_prepare(&record, at(100), floor - 1).verdict, LH_REJECTED);
    assert_int_equal(
        lh_acceptor_accept(&record, at(100), floor - 1, LH_BALLOT_NONE, lasting(9)).verdict,
        LH_REJECTED);
    assert_int_equal(
        lh_acceptor_accept(&record, at(100), floor, LH_BALLOT_NONE, lasting(9)).verdict,
        LH_REJECTED);
    assert_int_equal(lh_acceptor_prepare(&record, at(100), floor + 1).verdict, LH_PROMISED);
    assert_int_equal(
        lh_acceptor_accept(&record, at(100), floor + 1, LH_BALLOT_NONE, lasting(9)).verdict,
        LH_ACCEPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A1_promises_at_the_promised_ballot_and_rejects_one_below),
        cmocka_unit_test(A1_a_rejection_carries_the_promised_ballot),
        cmocka_unit_test(A1_reports_a_live_lease_and_what_remains_of_it),
        cmocka_unit_test(A1_reports_an_expired_lease_as_none),
        cmocka_unit_test(A1_promising_ends_no_lease),
        cmocka_unit_test(A2_accepts_at_the_promised_ballot_and_rejects_one_below),
        cmocka_unit_test(A2_accepting_is_promising),
        cmocka_unit_test(A2_keeps_a_live_lease_from_another_owner),
        cmocka_unit_test(A2_a_stranger_cannot_name_a_live_lease),
        cmocka_unit_test(A2_the_owner_renews_the_lease_it_names),
        cmocka_unit_test(A2_the_owner_without_the_base_is_refused),
        cmocka_unit_test(A2_a_redelivery_is_answered_and_restarts_nothing),
        cmocka_unit_test(A2_a_spent_ballot_is_never_installed_again_after_expiry),
        cmocka_unit_test(A2_a_spent_ballot_is_never_installed_again_after_release),
        cmocka_unit_test(A3_clears_exactly_the_released_lease),
        cmocka_unit_test(A3_a_late_release_leaves_the_renewed_lease),
        cmocka_unit_test(A3_keeps_the_promise),
        cmocka_unit_test(A3_is_spent_at_the_deadline),
        cmocka_unit_test(D_a_shorter_renewal_moves_no_deadline_back),
        cmocka_unit_test(D_binds_a_live_lease_only),
        cmocka_unit_test(D_a_shorter_extension_moves_no_deadline_back),
        cmocka_unit_test(D_deadlines_saturate),
        cmocka_unit_test(F3_extends_while_the_lease_is_live),
        cmocka_unit_test(F3_refuses_any_other_ballot),
        cmocka_unit_test(F3_refuses_a_released_lease_and_an_empty_record),
        cmocka_unit_test(F3_counts_a_newer_n_only),
        cmocka_unit_test(F3_a_renewal_in_two_rounds_starts_n_anew),
        cmocka_unit_test(F3_does_not_ask_whether_the_promise_is_still_the_owners),
        cmocka_unit_test(F1_waits_for_the_quarantine_after_the_lease),
        cmocka_unit_test(F1_waits_for_the_quarantine_after_a_promise),
        cmocka_unit_test(F1_counts_a_promise_made_after_the_lease),
        cmocka_unit_test(F1_counts_from_a_release),
        cmocka_unit_test(F1_counts_from_the_extended_deadline),
        cmocka_unit_test(F1_a_rejection_touches_nothing),
        cmocka_unit_test(F2_a_fresh_record_is_promised_and_spent_at_the_floor),
    };
    return cmocka_run_group_tests_name("acceptor", tests, NULL, NULL);
}
