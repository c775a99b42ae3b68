// The proposer's half of the many-lease machine, through the fixture's small clusters: what it does
// about refusals, silence, losses and ends (P4 to P6, F3), which counters it issues (T4, F2), and
// what a caller is told.
#include "machine_world.h"

// --- acquiring ---

static void a_quorum_grants_and_td_counts_from_the_call(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    const struct lh_instant began = fixture_now(fixture, 0);
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    fixture->true_ns += 100 * MS;
    assert_true(settles_with(fixture, LH_NOTICE_ACQUIRED));
    assert_int_equal(fixture->told[0].until.ns, began.ns + 1000 * MS);
    assert_int_equal(fixture->told[0].token, ballot_of(0, 1));
    fixture->true_ns = 1000 * MS - 1;
    assert_true(fixture_holds(fixture, 0, NAME));
    fixture->true_ns = 1000 * MS;
    assert_false(fixture_holds(fixture, 0, NAME));
    end(fixture);
}

static void one_member_is_its_own_quorum(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.nodes = 1;
    struct fixture *fixture = cluster_of(settings);
    acquire(fixture, 0, 1000);
    end(fixture);
}

static void five_members_need_three(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.nodes = 5;
    struct fixture *fixture = cluster_of(settings);
    fixture_crash(fixture, 3, 0);
    fixture_crash(fixture, 4, 0);
    acquire(fixture, 0, 1000);
    fixture_crash(fixture, 2, 0);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_false(settles_with(fixture, LH_NOTICE_RENEWED));
    end(fixture);
}

static void P4_nothing_is_granted_at_td(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(100));
    fixture->true_ns = 100 * MS;
    assert_false(settles_with(fixture, LH_NOTICE_ACQUIRED));
    fixture_timer(fixture, 0);
    assert_true(was_told(fixture, LH_NOTICE_STALLED));
    end(fixture);
}

static void P5_a_stalled_attempt_is_retried_under_a_higher_ballot(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(100));
    lose_everything(fixture);
    fixture->true_ns = 100 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 0); // it backs off first
    fixture->true_ns += 100 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 3);
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 2));
    fixture_settle(fixture);
    assert_true(fixture_holds(fixture, 0, NAME));
    end(fixture);
}

static void only_members_that_did_not_answer_are_asked_again(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    assert_true(fixture_deliver(fixture, 1)); // Prepare at node 2
    assert_true(fixture_deliver(fixture, 3)); // and its promise
    lose_everything(fixture);
    fixture->true_ns = 20 * MS - 1;
    fixture_timer(fixture, 0);
    assert_int_equal(fixture->packet_count, 0);
    fixture->true_ns = 20 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(fixture->packet_count, 2);
    assert_int_equal(fixture->packets[0].to, 0);
    assert_int_equal(fixture->packets[1].to, 2);
    end(fixture);
}

static void a_live_lease_blocks_until_a_quorum_will_be_free(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 100 * MS;
    fixture_acquire(fixture, 1, NAME, lh_ms(1000));
    assert_true(settles_with(fixture, LH_NOTICE_BLOCKED));
    const struct lh_notice notice = fixture->told[0].notice;
    assert_int_equal(notice.ballot, ballot_of(0, 1));
    const struct lh_timing timing = {lh_ms(1000), 10000};
    assert_int_equal(notice.at.ns, LH_NS_PER_S + lh_timing_exclusion(timing, lh_ms(1000)).ns);
    assert_int_equal(fixture_lease(fixture, 1, NAME)->want, LH_WANT_NOTHING);
    end(fixture);
}

// --- ends ---

static void LOST_is_told_once_when_authority_has_ended(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 1000 * MS - 1;
    fixture_timer(fixture, 0);
    assert_false(was_told(fixture, LH_NOTICE_LOST));
    fixture->true_ns = 1000 * MS;
    fixture_timer(fixture, 0);
    assert_true(was_told(fixture, LH_NOTICE_LOST));
    assert_int_equal(fixture->nodes[0].machine->held, 0);
    fixture_timer(fixture, 0);
    assert_false(was_told(fixture, LH_NOTICE_LOST));
    end(fixture);
}

static void P4_a_renewal_after_the_end_is_lost_and_then_acquired(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 600 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    // Both rounds go through but for the answers to Accept, which come after the lease has ended.
    for (unsigned i = 0; i < fixture->packet_count; i++)
        if (fixture->packets[i].delivered == 0 &&
            fixture->packets[i].message.kind != LH_MESSAGE_ACCEPTED)
            fixture_deliver(fixture, i);
    fixture->true_ns = 1000 * MS;
    assert_true(settles_with(fixture, LH_NOTICE_ACQUIRED));
    assert_int_equal(fixture->told[0].notice.kind, LH_NOTICE_LOST);
    assert_int_equal(fixture->told[1].notice.kind, LH_NOTICE_ACQUIRED);
    assert_int_equal(fixture->told[1].token, ballot_of(0, 2));
    assert_int_equal(fixture->nodes[0].machine->held, 1);
    end(fixture);
}

static void a_renewal_keeps_the_token(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].token, ballot_of(0, 1));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1500 * MS);
    end(fixture);
}

static void D_a_shorter_renewal_moves_nothing_back(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(50));
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1000 * MS);
    for (unsigned i = 0; i < 3; i++)
        assert_true(lh_before(fixture->told[0].until, fixture_record(fixture, i, NAME)->deadline));
    end(fixture);
}

static void P5_stopping_a_renewal_keeps_the_lease(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture_stop(fixture, 0, NAME);
    fixture_settle(fixture);
    fixture->true_ns = 1000 * MS - 1;
    assert_true(fixture_holds(fixture, 0, NAME));
    fixture->true_ns = 1000 * MS;
    fixture_timer(fixture, 0);
    assert_true(was_told(fixture, LH_NOTICE_LOST));
    end(fixture);
}

static void P6_a_release_frees_the_name_at_once(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    assert_true(fixture_release(fixture, 0, NAME));
    assert_false(fixture_holds(fixture, 0, NAME));
    assert_int_equal(sent(fixture, LH_MESSAGE_RELEASE), 3);
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 1));
    fixture_settle(fixture);
    acquire(fixture, 1, 1000);
    end(fixture);
}

static void P6_a_release_names_the_renewed_ballot(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture_settle(fixture);
    fixture_release(fixture, 0, NAME);
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 2));
    end(fixture);
}

static void P6_a_release_abandons_the_renewal_in_flight(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture_release(fixture, 0, NAME);
    assert_false(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_false(fixture_holds(fixture, 0, NAME));
    end(fixture);
}

static void P6_a_release_that_comes_too_late_sends_nothing(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture->true_ns = 1000 * MS;
    assert_false(fixture_release(fixture, 0, NAME));
    assert_int_equal(fixture->packet_count, 0);
    assert_true(was_told(fixture, LH_NOTICE_LOST));
    end(fixture);
}

// --- T4, F2 ---

static void T4_counters_rise_above_requests_of_others(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    ask(fixture, 1, 0, prepare(1, 70, 1000));
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 71));
    end(fixture);
}

static void T4_counters_rise_above_what_rejections_carry(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    ask(fixture, 0, 1,
        (struct lh_message){.kind = LH_MESSAGE_REJECTED,
                            .ballot = ballot_of(1, 1),
                            .refused = LH_MESSAGE_PREPARE,
                            .promised = ballot_of(2, 90)});
    fixture_acquire(fixture, 1, NAME, lh_ms(1000));
    assert_int_equal(last(fixture)->message.ballot, ballot_of(1, 91));
    end(fixture);
}

static void F2_issues_no_counter_above_the_reservation(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.reserved = 1;
    struct fixture *fixture = cluster_of(settings);
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 1));
    fixture_stop(fixture, 0, NAME);
    lose_everything(fixture);
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(fixture->packet_count, 0);
    for (int turn = 0; turn < 10; turn++) {
        fixture->true_ns += 5 * MS;
        fixture_timer(fixture, 0);
        assert_int_equal(fixture->packet_count, 0);
    }
    fixture_persisted(fixture, 0);
    fixture->true_ns += 5 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 3);
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 2)); // the wait burnt none
    end(fixture);
}

// --- F3 ---

static struct fixture *extending_cluster(void)
{
    struct fixture_settings settings = usual();
    settings.one_round_renewal = true;
    return cluster_of(settings);
}

static void F3_renews_in_one_round_under_the_same_ballot(void **state)
{
    (void)state;
    struct fixture *fixture = extending_cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(sent(fixture, LH_MESSAGE_EXTEND), 3);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1500 * MS);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.held, ballot_of(0, 1));
    end(fixture);
}

static void F3_refused_by_some_the_next_renewal_is_a_whole_one(void **state)
{
    (void)state;
    struct fixture *fixture = extending_cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    for (unsigned i = 0; i < fixture->packet_count; i++)
        if (fixture->packets[i].to != 2)
            fixture_deliver(fixture, i); // node 3 never hears of it
    lose_everything(fixture);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture_settle(fixture);
    assert_int_equal(sent(fixture, LH_MESSAGE_REJECTED), 1);
    lose_everything(fixture);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 3);
    fixture_settle(fixture);
    lose_everything(fixture);
    assert_int_equal(fixture_record(fixture, 2, NAME)->ballot, ballot_of(0, 2));
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(sent(fixture, LH_MESSAGE_EXTEND), 3);
    end(fixture);
}

static void F3_refused_by_a_quorum_it_goes_on_in_two_rounds(void **state)
{
    (void)state;
    struct fixture *fixture = extending_cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    // The others lost the record as if released; the owner holds it still.
    for (unsigned i = 1; i < 3; i++)
        lh_acceptor_release(fixture_record(fixture, i, NAME), fixture_now(fixture, i),
                            ballot_of(0, 1));
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 3);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.held, ballot_of(0, 2));
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.token, ballot_of(0, 1));
    end(fixture);
}

static void F3_a_contender_does_not_disturb_it(void **state)
{
    (void)state;
    struct fixture *fixture = extending_cluster();
    acquire(fixture, 0, 1000);
    for (unsigned i = 0; i < 3; i++)
        ask(fixture, 1, i, prepare(1, 900, 1000));
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 6); // the first three, and the contender's
    end(fixture);
}

// --- room ---

static void leases_are_opened_closed_and_opened_again(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.max_leases = 2;
    struct fixture *fixture = cluster_of(settings);
    struct lh_machine *machine = fixture->nodes[0].machine;
    struct lh_lease *first = lh_machine_open(machine, fixture_key(0));
    struct lh_lease *second = lh_machine_open(machine, fixture_key(1));
    assert_non_null(second);
    assert_ptr_equal(lh_machine_open(machine, fixture_key(0)), first);
    assert_null(lh_machine_open(machine, fixture_key(2)));
    assert_ptr_equal(lh_machine_lease(machine, first->id), first);
    lh_machine_close(machine, first);
    assert_null(lh_machine_find(machine, fixture_key(0)));
    assert_ptr_equal(lh_machine_find(machine, fixture_key(1)), second);
    assert_ptr_equal(lh_machine_open(machine, fixture_key(2)), first);
    assert_int_equal(machine->count, 2);
    end(fixture);
}

static void the_deadline_is_the_first_thing_that_is_due(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    const struct lh_machine *machine = fixture->nodes[0].machine;
    assert_int_equal(lh_machine_deadline(machine).ns, LH_NEVER.ns);
    acquire(fixture, 0, 1000);
    assert_int_equal(lh_machine_deadline(machine).ns, LH_NS_PER_S + 1000 * MS);
    fixture_release(fixture, 0, NAME);
    assert_int_equal(lh_machine_deadline(machine).ns, LH_NEVER.ns);
    end(fixture);
}

static void answers_nobody_asked_for_change_nothing(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    const enum lh_message_kind answers[] = {LH_MESSAGE_PROMISE, LH_MESSAGE_ACCEPTED,
                                            LH_MESSAGE_EXTENDED, LH_MESSAGE_REJECTED};
    for (unsigned from = 0; from < 3; from++)
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
            assert_null(ask(fixture, from, 0,
                            (struct lh_message){.kind = answers[i],
                                                .ballot = ballot_of(0, 1),
                                                .refused = LH_MESSAGE_PREPARE}));
    assert_false(fixture_holds(fixture, 0, NAME));
    assert_null(fixture_lease(fixture, 0, NAME));
    end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quorum_grants_and_td_counts_from_the_call),
        cmocka_unit_test(one_member_is_its_own_quorum),
        cmocka_unit_test(five_members_need_three),
        cmocka_unit_test(P4_nothing_is_granted_at_td),
        cmocka_unit_test(P5_a_stalled_attempt_is_retried_under_a_higher_ballot),
        cmocka_unit_test(only_members_that_did_not_answer_are_asked_again),
        cmocka_unit_test(a_live_lease_blocks_until_a_quorum_will_be_free),
        cmocka_unit_test(LOST_is_told_once_when_authority_has_ended),
        cmocka_unit_test(P4_a_renewal_after_the_end_is_lost_and_then_acquired),
        cmocka_unit_test(a_renewal_keeps_the_token),
        cmocka_unit_test(D_a_shorter_renewal_moves_nothing_back),
        cmocka_unit_test(P5_stopping_a_renewal_keeps_the_lease),
        cmocka_unit_test(P6_a_release_frees_the_name_at_once),
        cmocka_unit_test(P6_a_release_names_the_renewed_ballot),
        cmocka_unit_test(P6_a_release_abandons_the_renewal_in_flight),
        cmocka_unit_test(P6_a_release_that_comes_too_late_sends_nothing),
        cmocka_unit_test(T4_counters_rise_above_requests_of_others),
        cmocka_unit_test(T4_counters_rise_above_what_rejections_carry),
        cmocka_unit_test(F2_issues_no_counter_above_the_reservation),
        cmocka_unit_test(F3_renews_in_one_round_under_the_same_ballot),
        cmocka_unit_test(F3_refused_by_some_the_next_renewal_is_a_whole_one),
        cmocka_unit_test(F3_refused_by_a_quorum_it_goes_on_in_two_rounds),
        cmocka_unit_test(F3_a_contender_does_not_disturb_it),
        cmocka_unit_test(leases_are_opened_closed_and_opened_again),
        cmocka_unit_test(the_deadline_is_the_first_thing_that_is_due),
        cmocka_unit_test(answers_nobody_asked_for_change_nothing),
    };
    return cmocka_run_group_tests_name("machine, proposer", tests, NULL, NULL);
}
