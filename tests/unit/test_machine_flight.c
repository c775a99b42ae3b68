// What the many-lease machine does about an attempt in flight when something else is wanted (join,
// stop), when some acceptors refuse and others are silent (P5, F3), how long attempts may last
// (T2), and what a clean restart takes over (F4).
#include "machine_world.h"

// --- what is in flight ---

// Hands over everything of this kind that is under way.
static void deliver_all(struct fixture *fixture, enum lh_message_kind kind)
{
    const unsigned count = fixture->packet_count;
    for (unsigned i = 0; i < count; i++)
        if (fixture->packets[i].delivered == 0 && fixture->packets[i].message.kind == kind)
            fixture_deliver(fixture, i);
}

// Up to where all acceptors have the Accept and nobody has read their answers.
static void go_on_to_accepted(struct fixture *fixture)
{
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    deliver_all(fixture, LH_MESSAGE_PROMISE);
    deliver_all(fixture, LH_MESSAGE_ACCEPT);
}

static void P5_a_renewal_joins_the_one_whose_accepts_are_out(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    go_on_to_accepted(fixture);
    const unsigned before = fixture->packet_count;
    fixture->true_ns = 600 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(fixture->packet_count, before);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1500 * MS);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.held, ballot_of(0, 2));
    assert_int_equal(fixture_lease(fixture, 0, NAME)->want, LH_WANT_NOTHING);
    end(fixture);
}

// What is sent again is the Accept of the attempt that was joined, whatever the one that joined
// asked for: its exclusion belongs to that td.
static void T2_a_joined_renewal_keeps_its_duration(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    deliver_all(fixture, LH_MESSAGE_PROMISE);
    lose_everything(fixture);
    fixture_renew(fixture, 0, NAME, lh_ms(50));
    assert_int_equal(fixture->packet_count, 0);
    fixture->true_ns += 20 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_ACCEPT), 3);
    assert_int_equal(last(fixture)->message.ttl.ns, 1000 * MS);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1500 * MS);
    for (unsigned i = 0; i < 3; i++)
        assert_true(lh_before(fixture->told[0].until, fixture_record(fixture, i, NAME)->deadline));
    end(fixture);
}

static void a_renewal_takes_the_place_of_one_that_still_prepares(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture->true_ns = 500 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture->true_ns = 600 * MS;
    fixture_renew(fixture, 0, NAME, lh_ms(900));
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 3));
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1500 * MS);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.held, ballot_of(0, 3));
    end(fixture);
}

static void a_renewal_joins_what_was_stopped_and_is_sent_again(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    deliver_all(fixture, LH_MESSAGE_PROMISE);
    fixture_stop(fixture, 0, NAME);
    lose_everything(fixture);
    fixture->true_ns = 20 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(fixture->packet_count, 0); // nobody wants it
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_ACCEPT), 3);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    end(fixture);
}

// Both others promise a higher ballot before the Accepts come: the attempt is refused, and its
// record at node 0 would block everybody.
static void refuse_accepts(struct fixture *fixture)
{
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    deliver_all(fixture, LH_MESSAGE_PROMISE);
    ask(fixture, 1, 1, prepare(1, 70, 1000));
    ask(fixture, 1, 2, prepare(1, 70, 1000));
    deliver_all(fixture, LH_MESSAGE_ACCEPT);
    deliver_all(fixture, LH_MESSAGE_ACCEPTED);
    deliver_all(fixture, LH_MESSAGE_REJECTED);
}

static void P5_an_abandoned_fresh_attempt_is_taken_back(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    refuse_accepts(fixture);
    assert_true(lh_acceptor_live(fixture_record(fixture, 0, NAME), fixture_now(fixture, 0)));
    assert_int_equal(sent(fixture, LH_MESSAGE_RELEASE), 3);
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 1));
    deliver_all(fixture, LH_MESSAGE_RELEASE);
    assert_false(lh_acceptor_live(fixture_record(fixture, 0, NAME), fixture_now(fixture, 0)));
    end(fixture);
}

// Its records protect the lease that was to be renewed, and that is still held.
static void P5_an_abandoned_renewal_is_not_taken_back(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    refuse_accepts(fixture);
    assert_true(fixture_holds(fixture, 0, NAME));
    assert_int_equal(sent(fixture, LH_MESSAGE_RELEASE), 0);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.phase, LH_IDLE);
    end(fixture);
}

static void P5_a_stop_before_accept_ends_the_attempt(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    fixture_stop(fixture, 0, NAME);
    fixture_settle(fixture);
    assert_int_equal(sent(fixture, LH_MESSAGE_ACCEPT), 0);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.phase, LH_IDLE);
    assert_int_equal(lh_machine_deadline(fixture->nodes[0].machine).ns, LH_NEVER.ns);
    end(fixture);
}

static void P5_a_stop_after_accept_lets_it_end(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    go_on_to_accepted(fixture);
    fixture_stop(fixture, 0, NAME);
    assert_int_equal(fixture_lease(fixture, 0, NAME)->want, LH_WANT_NOTHING);
    assert_true(settles_with(fixture, LH_NOTICE_ACQUIRED));
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    go_on_to_accepted(fixture);
    fixture_stop(fixture, 0, NAME);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    end(fixture);
}

static void P5_a_stopped_attempt_ends_at_td_for_good(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(100));
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    deliver_all(fixture, LH_MESSAGE_PROMISE);
    fixture_stop(fixture, 0, NAME);
    lose_everything(fixture);
    for (int64_t ms = 10; ms <= 1000; ms += 10) {
        fixture->true_ns = ms * MS;
        fixture_timer(fixture, 0);
        assert_int_equal(fixture->packet_count, ms == 100 ? 3 : 0);
        assert_int_equal(sent(fixture, LH_MESSAGE_RELEASE), fixture->packet_count); // taken back
        lose_everything(fixture);
    }
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.phase, LH_IDLE);
    assert_int_equal(lh_machine_deadline(fixture->nodes[0].machine).ns, LH_NEVER.ns);
    assert_true(fixture_forget_lease(fixture, 0, NAME));
    end(fixture);
}

// Node 1 has promised a higher ballot, node 2 is silent.
static void refused_by_one_with_one_silent(struct fixture *fixture)
{
    ask(fixture, 1, 1, prepare(1, 70, 1000));
    lose_everything(fixture);
    fixture_crash(fixture, 2, 0);
}

static void before_accept_silent_acceptors_are_given_up(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    refused_by_one_with_one_silent(fixture);
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    fixture_settle(fixture);
    lose_everything(fixture);
    for (int64_t ms = 20; ms <= 30; ms++) {
        fixture->true_ns = ms * MS;
        fixture_timer(fixture, 0);
    }
    assert_int_equal(last(fixture)->message.kind, LH_MESSAGE_PREPARE);
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 71));
    fixture_settle(fixture);
    assert_true(fixture_holds(fixture, 0, NAME));
    end(fixture);
}

// The owner, node 2, is gone, and node 1 knows of it for a millisecond longer than node 0.
static void what_ends_soon_is_tried_then_and_not_when_the_silent_are_asked_again(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 2, 100);
    fixture_crash(fixture, 2, 0);
    const int64_t ends = fixture_record(fixture, 1, NAME)->deadline.ns;
    lh_acceptor_release(fixture_record(fixture, 0, NAME), fixture_now(fixture, 0), ballot_of(2, 1));
    fixture->true_ns += ends - fixture_now(fixture, 1).ns - MS;
    const int64_t asked = fixture->true_ns;
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    fixture_settle(fixture);
    while (!fixture_holds(fixture, 0, NAME) && fixture->true_ns < asked + 10 * MS) {
        fixture->true_ns += MS / 10;
        fixture_timer(fixture, 0);
        fixture_settle(fixture);
    }
    assert_true(fixture_holds(fixture, 0, NAME));
    end(fixture);
}

static void after_accept_silent_acceptors_are_asked_until_td(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    deliver_all(fixture, LH_MESSAGE_PREPARE);
    deliver_all(fixture, LH_MESSAGE_PROMISE);
    refused_by_one_with_one_silent(fixture); // the Accepts are lost
    for (int64_t ms = 20; ms < 1000; ms++) {
        fixture->true_ns = ms * MS;
        fixture_timer(fixture, 0);
        fixture_settle(fixture);
        assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.phase, LH_ACCEPTING);
        assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 1));
    }
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 0);
    assert_true(sent(fixture, LH_MESSAGE_ACCEPT) > 3);
    fixture->true_ns = 1000 * MS;
    fixture_timer(fixture, 0);
    assert_true(was_told(fixture, LH_NOTICE_STALLED));
    end(fixture);
}

static void F3_silent_acceptors_are_given_up_for_a_whole_renewal(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.one_round_renewal = true;
    struct fixture *fixture = cluster_of(settings);
    acquire(fixture, 0, 1000);
    fixture_crash(fixture, 2, 0);
    lh_acceptor_release(fixture_record(fixture, 1, NAME), fixture_now(fixture, 1), ballot_of(0, 1));
    lose_everything(fixture);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    fixture_settle(fixture);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 0);
    fixture->true_ns = 20 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 3);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture_lease(fixture, 0, NAME)->proposer.token, ballot_of(0, 1));
    end(fixture);
}

// --- T2 ---

static void acquire_for_a_rest(struct fixture *fixture)
{
    fixture_acquire(fixture, 0, NAME, (struct lh_duration){50 * MS + 1});
}

static void acquire_for_less(struct fixture *fixture)
{
    fixture_acquire(fixture, 0, NAME, lh_ms(LH_TTL_MIN_MS - 1));
}

static void acquire_for_more(struct fixture *fixture)
{
    fixture_acquire(fixture, 0, NAME, lh_ms(1001));
}

static void acquire_for_the_least(struct fixture *fixture)
{
    fixture_acquire(fixture, 0, NAME, lh_ms(LH_TTL_MIN_MS));
}

static void acquire_for_the_most(struct fixture *fixture)
{
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
}

static void renew_for_a_rest(struct fixture *fixture)
{
    fixture_renew(fixture, 0, NAME, (struct lh_duration){1000 * MS - 1});
}

static void renew_for_more(struct fixture *fixture)
{
    fixture_renew(fixture, 0, NAME, lh_ms(1001));
}

static void T2_attempts_last_whole_milliseconds_up_to_M(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    assert_true(dies(acquire_for_a_rest, fixture));
    assert_true(dies(acquire_for_less, fixture));
    assert_true(dies(acquire_for_more, fixture));
    assert_false(dies(acquire_for_the_least, fixture));
    assert_false(dies(acquire_for_the_most, fixture));
    acquire(fixture, 0, 1000);
    assert_true(dies(renew_for_a_rest, fixture));
    assert_true(dies(renew_for_more, fixture));
    end(fixture);
}

// --- F4 ---

static struct lh_proposer saved_lease(const struct fixture *fixture)
{
    return (struct lh_proposer){.ballot = ballot_of(0, 9),
                                .held = ballot_of(0, 8),
                                .token = ballot_of(0, 3),
                                .until = lh_after(fixture_now(fixture, 0), lh_ms(700)),
                                .stamp = UINT64_C(1) << 40};
}

// Node 0 takes over a lease that all acceptors know under ballot 8.
static struct fixture *restored(bool one_round_renewal)
{
    struct fixture_settings settings = usual();
    settings.one_round_renewal = one_round_renewal;
    struct fixture *fixture = cluster_of(settings);
    for (unsigned i = 0; i < 3; i++)
        ask(fixture, 0, i, accept_of(0, 8, 1000));
    for (unsigned i = 0; i < 3; i++)
        fixture_record(fixture, i, NAME)->stamp = UINT64_C(1) << 40;
    lose_everything(fixture);
    const struct lh_proposer proposer = saved_lease(fixture);
    struct lh_machine *machine = fixture->nodes[0].machine;
    machine->seen = 9;
    lh_machine_restore_lease(machine, lh_machine_open(machine, fixture_key(NAME)), &proposer,
                             lh_ms(1000));
    assert_true(fixture_holds(fixture, 0, NAME));
    assert_int_equal(machine->held, 1);
    return fixture;
}

static void F4_a_restored_lease_ends_when_it_would_have(void **state)
{
    (void)state;
    struct fixture *fixture = restored(false);
    assert_int_equal(lh_machine_deadline(fixture->nodes[0].machine).ns, LH_NS_PER_S + 700 * MS);
    fixture->true_ns = 700 * MS - 1;
    fixture_timer(fixture, 0);
    assert_true(fixture_holds(fixture, 0, NAME));
    fixture->true_ns = 700 * MS;
    fixture_timer(fixture, 0);
    assert_true(was_told(fixture, LH_NOTICE_LOST));
    assert_int_equal(fixture->nodes[0].machine->held, 0);
    end(fixture);
}

static void F4_a_restored_lease_is_renewed_under_its_token(void **state)
{
    (void)state;
    struct fixture *fixture = restored(false);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 10));
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    assert_int_equal(fixture->told[0].token, ballot_of(0, 3));
    assert_int_equal(fixture->told[0].until.ns, LH_NS_PER_S + 1000 * MS);
    end(fixture);
}

static void F4_an_extend_counts_on_from_the_saved_stamp(void **state)
{
    (void)state;
    struct fixture *fixture = restored(true);
    fixture_renew(fixture, 0, NAME, lh_ms(1000));
    assert_int_equal(last(fixture)->message.kind, LH_MESSAGE_EXTEND);
    assert_true(last(fixture)->message.stamp > UINT64_C(1) << 40);
    assert_true(settles_with(fixture, LH_NOTICE_RENEWED));
    for (unsigned i = 0; i < 2; i++)
        assert_true(lh_before(fixture->told[0].until, fixture_record(fixture, i, NAME)->deadline));
    end(fixture);
}

static void F4_a_restored_lease_is_released(void **state)
{
    (void)state;
    struct fixture *fixture = restored(false);
    assert_true(fixture_release(fixture, 0, NAME));
    assert_int_equal(last(fixture)->message.ballot, ballot_of(0, 8));
    fixture_settle(fixture);
    acquire(fixture, 1, 1000);
    end(fixture);
}

static void restore_once_more(struct fixture *fixture)
{
    const struct lh_proposer proposer = saved_lease(fixture);
    lh_machine_restore_lease(fixture->nodes[0].machine, fixture_lease(fixture, 0, NAME), &proposer,
                             lh_ms(1000));
}

static void restore_in_an_attempt(struct fixture *fixture)
{
    struct lh_proposer proposer = saved_lease(fixture);
    struct lh_machine *machine = fixture->nodes[0].machine;
    proposer.phase = LH_PREPARING;
    lh_machine_restore_lease(machine, lh_machine_open(machine, fixture_key(1)), &proposer,
                             lh_ms(1000));
}

static void F4_only_an_idle_lease_is_restored_and_once(void **state)
{
    (void)state;
    struct fixture *fixture = restored(false);
    assert_true(dies(restore_once_more, fixture));
    assert_true(dies(restore_in_an_attempt, fixture));
    end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(P5_a_renewal_joins_the_one_whose_accepts_are_out),
        cmocka_unit_test(T2_a_joined_renewal_keeps_its_duration),
        cmocka_unit_test(a_renewal_takes_the_place_of_one_that_still_prepares),
        cmocka_unit_test(a_renewal_joins_what_was_stopped_and_is_sent_again),
        cmocka_unit_test(P5_an_abandoned_fresh_attempt_is_taken_back),
        cmocka_unit_test(P5_an_abandoned_renewal_is_not_taken_back),
        cmocka_unit_test(P5_a_stop_before_accept_ends_the_attempt),
        cmocka_unit_test(P5_a_stop_after_accept_lets_it_end),
        cmocka_unit_test(P5_a_stopped_attempt_ends_at_td_for_good),
        cmocka_unit_test(before_accept_silent_acceptors_are_given_up),
        cmocka_unit_test(what_ends_soon_is_tried_then_and_not_when_the_silent_are_asked_again),
        cmocka_unit_test(after_accept_silent_acceptors_are_asked_until_td),
        cmocka_unit_test(F3_silent_acceptors_are_given_up_for_a_whole_renewal),
        cmocka_unit_test(T2_attempts_last_whole_milliseconds_up_to_M),
        cmocka_unit_test(F4_a_restored_lease_ends_when_it_would_have),
        cmocka_unit_test(F4_a_restored_lease_is_renewed_under_its_token),
        cmocka_unit_test(F4_an_extend_counts_on_from_the_saved_stamp),
        cmocka_unit_test(F4_a_restored_lease_is_released),
        cmocka_unit_test(F4_only_an_idle_lease_is_restored_and_once),
    };
    return cmocka_run_group_tests_name("machine, in flight", tests, NULL, NULL);
}
