// The acceptor's half of the many-lease machine, through the fixture's small clusters: what must
// hold before a request is answered at all (A4, T2, F2, F5), and what is forgotten when (F1).
#include "machine_world.h"

// --- A4, T2 ---

static void A4_drops_every_request_until_the_quarantine_ends(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_crash(fixture, 1, 0);
    fixture_restart(fixture, 1);
    struct lh_machine *machine = fixture->nodes[1].machine;
    const struct lh_instant serves = machine->quarantine_until;
    const uint64_t above = machine->reserved;
    lh_machine_reserved(machine, above + 10);
    fixture->true_ns = serves.ns - LH_NS_PER_S - 1;
    assert_null(ask(fixture, 0, 1, prepare(0, above + 1, 1000)));
    assert_null(ask(fixture, 0, 1, accept_of(0, above + 1, 1000)));
    assert_null(ask(fixture, 0, 1, extend(0, above + 1, 1, 1000)));
    assert_null(ask(fixture, 0, 1, release_of(0, above + 1)));
    assert_int_equal(machine->counters.dropped_quarantine, 4);
    fixture->true_ns++;
    lose_everything(fixture);
    fixture_timer(fixture, 1);
    assert_int_equal(fixture->packet_count, 0); // nothing was kept for later
    assert_int_equal(ask(fixture, 0, 1, prepare(0, above + 1, 1000))->message.kind,
                     LH_MESSAGE_PROMISE);
    end(fixture);
}

static void A4_is_silent_until_told_to_serve(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture->nodes[1].machine->quarantine_until = LH_NEVER;
    fixture->true_ns = INT64_C(1) << 60;
    assert_null(ask(fixture, 0, 1, prepare(0, 1, 1000)));
    end(fixture);
}

static void T2_refuses_attempts_longer_than_M(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    assert_null(ask(fixture, 0, 1, prepare(0, 1, 1001)));
    assert_null(ask(fixture, 0, 1, accept_of(0, 1, 1001)));
    assert_null(ask(fixture, 0, 1, extend(0, 1, 1, 1001)));
    assert_int_equal(fixture->nodes[1].machine->counters.dropped_ttl, 3);
    assert_null(fixture_record(fixture, 1, NAME));
    assert_non_null(ask(fixture, 0, 1, prepare(0, 1, 1000)));
    end(fixture);
}

static void T2_refuses_attempts_shorter_than_the_least(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    assert_null(ask(fixture, 0, 1, prepare(0, 1, LH_TTL_MIN_MS - 1)));
    assert_non_null(ask(fixture, 0, 1, prepare(0, 1, LH_TTL_MIN_MS)));
    end(fixture);
}

static void T2_the_exclusion_follows_from_the_attempt(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    const struct lh_timing timing = {lh_ms(1000), 10000};
    ask(fixture, 0, 1, accept_of(0, 1, 100));
    assert_int_equal(fixture_record(fixture, 1, NAME)->deadline.ns,
                     fixture_now(fixture, 1).ns + lh_timing_exclusion(timing, lh_ms(100)).ns);
    end(fixture);
}

static void only_the_owner_of_a_ballot_may_send_it(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    ask(fixture, 0, 1, accept_of(0, 1, 1000));
    assert_null(ask(fixture, 2, 1, prepare(0, 2, 1000)));
    assert_null(ask(fixture, 2, 1, accept_of(0, 2, 1000)));
    assert_null(ask(fixture, 2, 1, extend(0, 1, 1, 1000)));
    assert_null(ask(fixture, 2, 1, release_of(0, 1)));
    assert_true(lh_acceptor_live(fixture_record(fixture, 1, NAME), fixture_now(fixture, 1)));
    ask(fixture, 0, 1, release_of(0, 1));
    assert_false(lh_acceptor_live(fixture_record(fixture, 1, NAME), fixture_now(fixture, 1)));
    end(fixture);
}

static void strangers_are_not_heard(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    struct lh_message message = prepare(8, 1, 1000);
    message.key = fixture_key(NAME);
    fixture->effects.send_count = 0;
    lh_machine_message(fixture->nodes[1].machine, 9, &message, fixture_now(fixture, 1),
                       &fixture->effects);
    assert_int_equal(fixture->effects.send_count, 0);
    assert_null(fixture_record(fixture, 1, NAME));
    end(fixture);
}

// --- T3: while our clock's rate is proved to be out of its bound ---

static void T3_suspended_it_hears_nothing_and_counts_it(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    struct lh_machine *machine = fixture->nodes[1].machine;
    acquire(fixture, 1, 1000);
    const struct lh_acceptor_record record = *fixture_record(fixture, 1, NAME);
    lh_machine_suspend(machine, fixture_now(fixture, 1));
    for (int kind = LH_MESSAGE_PREPARE; kind <= LH_MESSAGE_LEASE_LAST; kind++) {
        const bool answer = lh_message_is_answer((enum lh_message_kind)kind);
        assert_null(ask(fixture, 0, 1,
                        (struct lh_message){.kind = (enum lh_message_kind)kind,
                                            .ballot = ballot_of(answer ? 1 : 0, 9),
                                            .refused = LH_MESSAGE_PREPARE,
                                            .ttl = lh_ms(1000)}));
        assert_int_equal(machine->counters.dropped_clock, kind);
        assert_int_equal(fixture->told_count, 0);
    }
    assert_memory_equal(fixture_record(fixture, 1, NAME), &record, sizeof record);
    end(fixture);
}

static void T3_suspended_it_holds_nothing_and_begins_nothing(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    struct lh_machine *machine = fixture->nodes[1].machine;
    lh_ballot ballot;
    struct lh_duration left;
    acquire(fixture, 1, 1000);
    lose_everything(fixture);
    lh_machine_suspend(machine, fixture_now(fixture, 1));
    assert_false(
        lh_machine_view(machine, fixture_key(NAME), fixture_now(fixture, 1), &ballot, &left));
    assert_true(fixture_timer(fixture, 1));
    assert_true(was_told(fixture, LH_NOTICE_LOST));
    assert_false(fixture_holds(fixture, 1, NAME));
    lose_everything(fixture);
    fixture->true_ns += 5000 * MS;
    fixture_acquire(fixture, 1, NAME, lh_ms(1000));
    fixture->true_ns += 5000 * MS;
    fixture_timer(fixture, 1);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 0);
    end(fixture);
}

static void T3_resumed_it_serves_a_quarantine_first(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    struct lh_machine *machine = fixture->nodes[1].machine;
    lh_machine_suspend(machine, fixture_now(fixture, 1));
    const struct lh_instant serves = lh_after(fixture_now(fixture, 1), lh_ms(1000));
    lh_machine_resume(machine, serves);
    fixture->true_ns = fixture_true_of(fixture, 1, serves) - 1;
    assert_null(ask(fixture, 0, 1, prepare(0, 1, 1000)));
    fixture->true_ns++;
    assert_non_null(ask(fixture, 0, 1, prepare(0, 1, 1000)));
    end(fixture);
}

// --- F2 ---

static void F2_answers_up_to_the_reservation_and_not_above(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.reserved = 100;
    struct fixture *fixture = cluster_of(settings);
    assert_null(ask(fixture, 0, 1, prepare(0, 101, 1000)));
    assert_true(was_told(fixture, LH_NOTICE_RESERVE));
    assert_null(ask(fixture, 0, 1, accept_of(0, 101, 1000)));
    assert_int_equal(fixture->nodes[1].machine->counters.dropped_unreserved, 2);
    assert_non_null(ask(fixture, 0, 1, prepare(0, 100, 1000)));
    assert_true(fixture_persisted(fixture, 1));
    assert_non_null(ask(fixture, 0, 1, prepare(0, 101, 1000)));
    end(fixture);
}

static void F2_reserves_ahead_of_need_and_once(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    unsigned asked = 0;
    for (int i = 0; i < 100; i++) {
        fixture_acquire(fixture, 0, NAME, lh_ms(1000));
        asked += was_told(fixture, LH_NOTICE_RESERVE) ? 1 : 0;
        lose_everything(fixture);
    }
    assert_int_equal(asked, 0);
    ask(fixture, 1, 0, prepare(1, fixture->nodes[0].machine->reserved, 1000));
    assert_true(was_told(fixture, LH_NOTICE_RESERVE));
    assert_true(fixture->told[0].notice.counter > fixture->nodes[0].machine->reserved);
    ask(fixture, 1, 0, prepare(1, fixture->nodes[0].machine->reserved + 1, 1000));
    assert_false(was_told(fixture, LH_NOTICE_RESERVE));
    end(fixture);
}

static void F2_an_unknown_name_is_refused_below_the_floor(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    const lh_ballot floor = ballot_of(1, 50);
    fixture->nodes[1].machine->acceptors.floor = floor;
    const struct fixture_packet *answer = ask(fixture, 0, 1, prepare(0, 50, 1000));
    assert_int_equal(answer->message.kind, LH_MESSAGE_REJECTED);
    assert_int_equal(answer->message.promised, floor);
    answer = ask(fixture, 0, 1, accept_of(0, 50, 1000));
    assert_int_equal(answer->message.kind, LH_MESSAGE_REJECTED);
    assert_int_equal(answer->message.promised, floor);
    assert_int_equal(answer->message.refused, LH_MESSAGE_ACCEPT);
    assert_null(fixture_record(fixture, 1, NAME)); // a refusal costs no memory
    assert_int_equal(ask(fixture, 1, 1, accept_of(1, 50, 1000))->message.kind,
                     LH_MESSAGE_REJECTED); // at the floor: spent
    assert_int_equal(ask(fixture, 0, 1, prepare(0, 51, 1000))->message.kind, LH_MESSAGE_PROMISE);
    assert_int_equal(ask(fixture, 0, 1, accept_of(0, 51, 1000))->message.kind, LH_MESSAGE_ACCEPTED);
    end(fixture);
}

static void F2_an_extend_of_an_unknown_name_is_refused_with_the_floor(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture->nodes[1].machine->acceptors.floor = ballot_of(1, 50);
    const struct fixture_packet *answer = ask(fixture, 0, 1, extend(0, 60, 7, 1000));
    assert_int_equal(answer->message.kind, LH_MESSAGE_REJECTED);
    assert_int_equal(answer->message.refused, LH_MESSAGE_EXTEND);
    assert_int_equal(answer->message.promised, ballot_of(1, 50));
    assert_int_equal(answer->message.stamp, 7);
    end(fixture);
}

static void F2_tokens_rise_through_the_crash_of_everybody(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 2, 1000);
    const lh_ballot token = fixture_lease(fixture, 2, NAME)->proposer.token;
    for (unsigned i = 0; i < 3; i++) {
        fixture_crash(fixture, i, 0);
        fixture_restart(fixture, i);
    }
    lose_everything(fixture);
    fixture->true_ns = 2000 * MS;
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    for (int turn = 0; turn < 50 && !fixture_holds(fixture, 0, NAME); turn++) {
        for (unsigned i = 0; i < 3; i++)
            while (fixture_persisted(fixture, i))
                continue;
        fixture->true_ns += 20 * MS;
        fixture_timer(fixture, 0);
        fixture_settle(fixture);
    }
    assert_true(fixture_holds(fixture, 0, NAME));
    assert_true(fixture_lease(fixture, 0, NAME)->proposer.token > token);
    end(fixture);
}

static void F2_asks_for_no_less_than_is_reserved(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    struct lh_machine *machine = fixture->nodes[1].machine;
    const uint64_t much = machine->reserved * 16;
    lh_machine_reserved(machine, much);
    assert_non_null(ask(fixture, 0, 1, prepare(0, much / 2, 1000)));
    assert_false(was_told(fixture, LH_NOTICE_RESERVE));
    assert_non_null(ask(fixture, 0, 1, prepare(0, much, 1000)));
    assert_true(was_told(fixture, LH_NOTICE_RESERVE));
    assert_true(fixture->told[0].notice.counter > much);
    end(fixture);
}

// --- F1 ---

static void F1_the_machine_forgets_by_the_greatest_quarantine(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.idle_forget = true;
    struct fixture *fixture = cluster_of(settings);
    const struct lh_timing timing = {lh_ms(1000), 10000};
    ask(fixture, 0, 1, prepare(0, 1, 50)); // of a short attempt; M's quarantine counts
    fixture->true_ns = lh_timing_quarantine(timing, lh_ms(1000)).ns - 1;
    fixture_timer(fixture, 1);
    assert_non_null(fixture_record(fixture, 1, NAME));
    fixture->true_ns++;
    fixture_timer(fixture, 1);
    assert_null(fixture_record(fixture, 1, NAME));
    assert_int_equal(fixture->nodes[1].machine->acceptors.floor, ballot_of(0, 1));
    end(fixture);
}

static void F1_nothing_is_forgotten_unless_it_is_on(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    ask(fixture, 0, 1, prepare(0, 1, 50));
    fixture->true_ns = 100000 * MS;
    fixture_timer(fixture, 1);
    assert_non_null(fixture_record(fixture, 1, NAME));
    end(fixture);
}

// What F5 once left on the disk says nothing about the attempts of a cluster without it.
static void F1_without_F5_the_wait_is_that_of_M(void **state)
{
    (void)state;
    const struct lh_timing timing = {lh_ms(1000), 10000};
    const struct lh_duration whole = lh_timing_quarantine(timing, lh_ms(1000));
    for (int64_t part = 0; part <= 4; part++) {
        struct fixture_settings settings = usual();
        settings.idle_forget = true;
        struct fixture *fixture = cluster_of(settings);
        struct lh_machine *machine = fixture->nodes[1].machine;
        lh_machine_serve(machine, fixture_now(fixture, 1), LH_BALLOT_NONE, 0, machine->reserved,
                         (struct lh_duration){whole.ns * part / 2});
        ask(fixture, 0, 1, prepare(0, 1, 50));
        fixture->true_ns = whole.ns - 1;
        fixture_timer(fixture, 1);
        assert_non_null(fixture_record(fixture, 1, NAME));
        fixture->true_ns++;
        fixture_timer(fixture, 1);
        assert_null(fixture_record(fixture, 1, NAME));
        end(fixture);
    }
}

// With F5 it is that of the ceiling, and of one that is asked for already.
static void F1_with_F5_the_wait_is_that_of_the_ceiling(void **state)
{
    (void)state;
    const struct lh_timing timing = {lh_ms(1000), 10000};
    for (int raised = 0; raised <= 1; raised++) {
        struct fixture_settings settings = usual();
        settings.idle_forget = true;
        settings.quarantine_ceiling = true;
        settings.ceiling = lh_timing_quarantine(timing, lh_ms(100));
        struct fixture *fixture = cluster_of(settings);
        struct lh_message other = prepare(0, 2, 1000);
        other.key = fixture_key(1);
        ask(fixture, 0, 1, prepare(0, 1, 50));
        if (raised) { // its disk stands still
            fixture_inject(fixture, 0, 1, &other);
            fixture_deliver(fixture, fixture->packet_count - 1);
        }
        fixture->true_ns = lh_timing_quarantine(timing, lh_ms(raised ? 1000 : 100)).ns - 1;
        fixture_timer(fixture, 1);
        assert_non_null(fixture_record(fixture, 1, NAME));
        fixture->true_ns++;
        fixture_timer(fixture, 1);
        assert_null(fixture_record(fixture, 1, NAME));
        end(fixture);
    }
}

// Between a clean restart (F4) and the write that lets a node serve, nothing may be forgotten: the
// ceiling is not known yet, and the floor that is saved would take the place of the one that
// forgetting raised. Found by the simulator: a token fell.
static void F1_nothing_is_forgotten_before_the_node_serves(void **state)
{
    (void)state;
    for (int ceiling = 0; ceiling <= 1; ceiling++) {
        struct fixture_settings settings = usual();
        settings.idle_forget = true;
        settings.quarantine_ceiling = ceiling != 0;
        struct fixture *fixture = cluster_of(settings);
        struct lh_machine *machine = fixture->nodes[1].machine;
        ask(fixture, 0, 1, prepare(0, 5, 50));
        machine->quarantine_until = LH_NEVER; // as before lh_machine_serve
        machine->ceiling = machine->ceiling_wanted = (struct lh_duration){0};
        fixture->true_ns = 100000 * MS;
        fixture_timer(fixture, 1);
        assert_non_null(fixture_record(fixture, 1, NAME));
        lh_machine_serve(machine, fixture_now(fixture, 1), LH_BALLOT_NONE, 0, machine->reserved,
                         (struct lh_duration){0});
        assert_int_equal(ask(fixture, 0, 1, prepare(0, 4, 50))->message.kind, LH_MESSAGE_REJECTED);
        end(fixture);
    }
}

// --- F5 ---

static struct fixture *ceiling_cluster(int64_t ceiling_ttl_ms)
{
    struct fixture_settings settings = usual();
    const struct lh_timing timing = {lh_ms(1000), 10000};
    settings.quarantine_ceiling = true;
    settings.one_round_renewal = true;
    settings.ceiling = lh_timing_quarantine(timing, lh_ms(ceiling_ttl_ms));
    return cluster_of(settings);
}

static void F5_a_promise_waits_for_the_ceiling(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(100);
    assert_int_equal(ask(fixture, 0, 1, prepare(0, 1, 100))->waits_for, 0);
    assert_false(was_told(fixture, LH_NOTICE_CEILING));
    assert_int_not_equal(ask(fixture, 0, 1, prepare(0, 2, 101))->waits_for, 0);
    assert_true(was_told(fixture, LH_NOTICE_CEILING));
    const struct lh_timing timing = {lh_ms(1000), 10000};
    assert_true(fixture->told[0].notice.quarantine.ns >=
                lh_timing_quarantine(timing, lh_ms(101)).ns);
    // Not asked for twice, and waited for all the same.
    assert_int_not_equal(ask(fixture, 0, 1, prepare(0, 3, 101))->waits_for, 0);
    assert_false(was_told(fixture, LH_NOTICE_CEILING));
    fixture_persisted(fixture, 1);
    assert_int_equal(ask(fixture, 0, 1, prepare(0, 4, 101))->waits_for, 0);
    end(fixture);
}

static void F5_an_accepted_answer_waits_for_the_ceiling(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(100);
    assert_int_equal(ask(fixture, 0, 1, accept_of(0, 1, 100))->waits_for, 0);
    ask(fixture, 0, 1, release_of(0, 1));
    assert_int_not_equal(ask(fixture, 0, 1, accept_of(0, 2, 101))->waits_for, 0);
    end(fixture);
}

static void F5_an_extended_answer_waits_for_the_ceiling(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(100);
    ask(fixture, 0, 1, accept_of(0, 1, 100));
    assert_int_equal(ask(fixture, 0, 1, extend(0, 1, 1, 100))->waits_for, 0);
    assert_int_not_equal(ask(fixture, 0, 1, extend(0, 1, 2, 101))->waits_for, 0);
    end(fixture);
}

static void F5_a_rejection_waits_for_nothing(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(100);
    ask(fixture, 0, 1, accept_of(0, 5, 100));
    assert_int_equal(ask(fixture, 2, 1, accept_of(2, 6, 1000))->waits_for, 0);
    assert_false(was_told(fixture, LH_NOTICE_CEILING));
    end(fixture);
}

static void F5_the_ceiling_stays_until_its_own_quarantine_has_passed(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(0);
    const struct lh_timing timing = {lh_ms(1000), 10000};
    const int64_t whole_ns = lh_timing_quarantine(timing, lh_ms(1000)).ns;
    ask(fixture, 0, 1, prepare(0, 1, 1000));
    fixture_persisted(fixture, 1);
    // Short attempts from now on; the machine's timer comes often.
    uint64_t counter = 2;
    for (; fixture->true_ns < whole_ns; fixture->true_ns += 50 * MS) {
        ask(fixture, 0, 1, prepare(0, counter++, 50));
        fixture_timer(fixture, 1);
        assert_false(was_told(fixture, LH_NOTICE_CEILING));
        lose_everything(fixture);
    }
    bool lowered = false;
    for (; fixture->true_ns < 4 * whole_ns; fixture->true_ns += 50 * MS) {
        ask(fixture, 0, 1, prepare(0, counter++, 50));
        fixture_timer(fixture, 1);
        lowered = lowered || was_told(fixture, LH_NOTICE_CEILING);
        lose_everything(fixture);
    }
    assert_true(lowered);
    assert_true(fixture->nodes[1].machine->ceiling.ns < whole_ns);
    assert_true(fixture->nodes[1].machine->ceiling.ns >=
                lh_timing_quarantine(timing, lh_ms(50)).ns);
    end(fixture);
}

static void F5_a_restart_serves_what_was_on_the_disk(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(100);
    const struct lh_timing timing = {lh_ms(1000), 10000};
    fixture_crash(fixture, 1, 0);
    fixture_restart(fixture, 1);
    assert_int_equal(fixture->nodes[1].machine->quarantine_until.ns,
                     fixture_now(fixture, 1).ns + lh_timing_quarantine(timing, lh_ms(100)).ns);
    end(fixture);
}

// A crash in the quarantine may not leave a shorter one.
static void F5_a_restart_keeps_the_ceiling_for_its_quarantine(void **state)
{
    (void)state;
    struct fixture *fixture = ceiling_cluster(1000);
    fixture_crash(fixture, 1, 0);
    fixture_restart(fixture, 1);
    const int64_t serves_ns = fixture->nodes[1].machine->quarantine_until.ns - LH_NS_PER_S;
    while (fixture->true_ns < serves_ns) {
        fixture_timer(fixture, 1);
        assert_false(was_told(fixture, LH_NOTICE_CEILING));
        fixture->true_ns += 10 * MS;
    }
    fixture_timer(fixture, 1);
    assert_true(was_told(fixture, LH_NOTICE_CEILING));
    assert_int_equal(fixture->told[0].notice.quarantine.ns, 0);
    end(fixture);
}

// One long attempt and many short ones in the same period: the longest counts, whenever it came.
static void F5_the_longest_of_a_period_counts(void **state)
{
    (void)state;
    const struct lh_timing timing = {lh_ms(1000), 10000};
    const int64_t whole_ns = lh_timing_quarantine(timing, lh_ms(1000)).ns;
    for (int64_t long_at = 100 * MS; long_at < whole_ns; long_at += 100 * MS) {
        struct fixture *fixture = ceiling_cluster(1000);
        bool lowered = false;
        uint64_t counter = 1;
        fixture_timer(fixture, 1); // the first period begins
        while (fixture->true_ns < long_at + whole_ns - 50 * MS) {
            const bool is_long = fixture->true_ns == long_at;
            ask(fixture, 0, 1, prepare(0, counter++, is_long ? 1000 : 50));
            fixture_timer(fixture, 1);
            lowered =
                lowered || (fixture->true_ns >= long_at && was_told(fixture, LH_NOTICE_CEILING));
            fixture->true_ns += 50 * MS;
            lose_everything(fixture);
            while (fixture_persisted(fixture, 1))
                continue;
        }
        assert_false(lowered);
        end(fixture);
    }
}

// It falls to a step, so that the next TTL of nearly the same length costs no write.
static void F5_the_ceiling_falls_to_a_step(void **state)
{
    (void)state;
    const struct lh_timing timing = {lh_ms(1000), 10000};
    struct fixture *fixture = ceiling_cluster(1000);
    struct lh_machine *machine = fixture->nodes[1].machine;
    uint64_t counter = 1;
    while (machine->ceiling.ns >= lh_timing_quarantine(timing, lh_ms(1000)).ns) {
        ask(fixture, 0, 1, prepare(0, counter++, 50));
        fixture->true_ns += 50 * MS;
        fixture_timer(fixture, 1);
        lose_everything(fixture);
        assert_true(counter < 100);
    }
    assert_true(was_told(fixture, LH_NOTICE_CEILING));
    const struct lh_duration lowered = fixture->told[0].notice.quarantine;
    assert_int_equal(lowered.ns, machine->ceiling.ns);
    assert_true(lowered.ns > lh_timing_quarantine(timing, lh_ms(50)).ns);
    assert_true(lowered.ns <= lh_timing_quarantine(timing, lh_ms(50)).ns * 5 / 4);
    fixture_persisted(fixture, 1);
    assert_int_equal(ask(fixture, 0, 1, prepare(0, counter++, 51))->waits_for, 0);
    assert_false(was_told(fixture, LH_NOTICE_CEILING));
    end(fixture);
}

// --- room ---

static void a_full_acceptor_drops_new_names_and_serves_old_ones(void **state)
{
    (void)state;
    struct fixture_settings settings = usual();
    settings.max_leases = 1;
    struct fixture *fixture = cluster_of(settings);
    assert_non_null(ask(fixture, 0, 1, prepare(0, 1, 1000)));
    struct lh_message other = prepare(0, 2, 1000);
    other.key = fixture_key(1);
    fixture_inject(fixture, 0, 1, &other);
    const unsigned before = fixture->packet_count;
    fixture_deliver(fixture, before - 1);
    assert_int_equal(fixture->packet_count, before);
    assert_int_equal(fixture->nodes[1].machine->counters.dropped_full, 1);
    assert_non_null(ask(fixture, 0, 1, prepare(0, 3, 1000)));
    end(fixture);
}

static void the_view_shows_a_live_lease_and_nothing_in_quarantine(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    lh_ballot ballot = LH_BALLOT_NONE;
    struct lh_duration left = {0};
    ask(fixture, 0, 1, accept_of(0, 1, 1000));
    struct lh_machine *machine = fixture->nodes[1].machine;
    const struct lh_instant ends = fixture_record(fixture, 1, NAME)->deadline;
    const struct lh_instant before = {ends.ns - 1};
    assert_true(lh_machine_view(machine, fixture_key(NAME), before, &ballot, &left));
    assert_int_equal(ballot, ballot_of(0, 1));
    assert_int_equal(left.ns, 1);
    assert_true(lh_machine_view(machine, fixture_key(NAME), ends, &ballot, &left));
    assert_int_equal(ballot, LH_BALLOT_NONE);
    machine->quarantine_until = ends;
    assert_false(lh_machine_view(machine, fixture_key(NAME), before, &ballot, &left));
    end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A4_drops_every_request_until_the_quarantine_ends),
        cmocka_unit_test(A4_is_silent_until_told_to_serve),
        cmocka_unit_test(T3_suspended_it_hears_nothing_and_counts_it),
        cmocka_unit_test(T3_suspended_it_holds_nothing_and_begins_nothing),
        cmocka_unit_test(T3_resumed_it_serves_a_quarantine_first),
        cmocka_unit_test(T2_refuses_attempts_longer_than_M),
        cmocka_unit_test(T2_refuses_attempts_shorter_than_the_least),
        cmocka_unit_test(T2_the_exclusion_follows_from_the_attempt),
        cmocka_unit_test(only_the_owner_of_a_ballot_may_send_it),
        cmocka_unit_test(strangers_are_not_heard),
        cmocka_unit_test(F2_answers_up_to_the_reservation_and_not_above),
        cmocka_unit_test(F2_reserves_ahead_of_need_and_once),
        cmocka_unit_test(F2_an_unknown_name_is_refused_below_the_floor),
        cmocka_unit_test(F2_an_extend_of_an_unknown_name_is_refused_with_the_floor),
        cmocka_unit_test(F2_tokens_rise_through_the_crash_of_everybody),
        cmocka_unit_test(F1_the_machine_forgets_by_the_greatest_quarantine),
        cmocka_unit_test(F1_nothing_is_forgotten_unless_it_is_on),
        cmocka_unit_test(F5_a_promise_waits_for_the_ceiling),
        cmocka_unit_test(F5_an_accepted_answer_waits_for_the_ceiling),
        cmocka_unit_test(F5_an_extended_answer_waits_for_the_ceiling),
        cmocka_unit_test(F5_a_rejection_waits_for_nothing),
        cmocka_unit_test(F5_the_ceiling_stays_until_its_own_quarantine_has_passed),
        cmocka_unit_test(F5_a_restart_serves_what_was_on_the_disk),
        cmocka_unit_test(a_full_acceptor_drops_new_names_and_serves_old_ones),
        cmocka_unit_test(the_view_shows_a_live_lease_and_nothing_in_quarantine),
        cmocka_unit_test(F2_asks_for_no_less_than_is_reserved),
        cmocka_unit_test(F1_without_F5_the_wait_is_that_of_M),
        cmocka_unit_test(F1_with_F5_the_wait_is_that_of_the_ceiling),
        cmocka_unit_test(F1_nothing_is_forgotten_before_the_node_serves),
        cmocka_unit_test(F5_a_restart_keeps_the_ceiling_for_its_quarantine),
        cmocka_unit_test(F5_the_longest_of_a_period_counts),
        cmocka_unit_test(F5_the_ceiling_falls_to_a_step),
    };
    return cmocka_run_group_tests_name("machine, acceptor", tests, NULL, NULL);
}
