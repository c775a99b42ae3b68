// The many-lease machine, through the fixture's small clusters: what must hold before an acceptor
// answers at all (A4, T2, F2, F5), what proposers do about refusals, losses and ends (P4 to P6,
// F3), and what a caller is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fixture.h"

enum { NAME = 0, PACKETS = 2048 };

#define MS LH_NS_PER_MS

static struct fixture_settings usual(void)
{
    return (struct fixture_settings){.nodes = 3,
                                     .max_ttl_ms = 1000,
                                     .rate_ppm = 10000,
                                     .max_leases = FIXTURE_NAMES,
                                     .reserved = UINT64_C(1) << 20,
                                     .seed = 1,
                                     .packet_capacity = PACKETS};
}

static struct fixture *cluster_of(struct fixture_settings settings)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture_open(fixture, &settings);
    return fixture;
}

static struct fixture *cluster(void)
{
    return cluster_of(usual());
}

static void end(struct fixture *fixture)
{
    assert_null(fixture_check(fixture));
    fixture_close(fixture);
    free(fixture);
}

// Everything arrives at once; nobody's timers come.
static void acquire(struct fixture *fixture, unsigned node, int64_t ttl_ms)
{
    assert_true(fixture_acquire(fixture, node, NAME, lh_ms(ttl_ms)));
    fixture_settle(fixture);
    assert_true(fixture_holds(fixture, node, NAME));
}

static bool was_told(const struct fixture *fixture, enum lh_notice_kind kind)
{
    for (unsigned i = 0; i < fixture->told_count; i++)
        if (fixture->told[i].notice.kind == kind)
            return true;
    return false;
}

// Settles one packet at a time until a notice of this kind comes.
static bool settles_with(struct fixture *fixture, enum lh_notice_kind kind)
{
    for (unsigned i = 0; i < fixture->packet_count; i++)
        if (fixture->packets[i].delivered == 0 && fixture_deliver(fixture, i) &&
            was_told(fixture, kind))
            return true;
    return false;
}

static unsigned sent(const struct fixture *fixture, enum lh_message_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < fixture->packet_count; i++)
        count += fixture->packets[i].message.kind == kind ? 1 : 0;
    return count;
}

static void lose_everything(struct fixture *fixture)
{
    fixture->packet_count = 0;
}

static const struct fixture_packet *last(const struct fixture *fixture)
{
    assert_true(fixture->packet_count > 0);
    return &fixture->packets[fixture->packet_count - 1];
}

// Hands node `to` a request of node `from`. Returns the answer, or NULL if there was none.
static const struct fixture_packet *ask(struct fixture *fixture, unsigned from, unsigned to,
                                        struct lh_message message)
{
    message.key = fixture_key(NAME);
    fixture_inject(fixture, from, to, &message);
    const unsigned before = fixture->packet_count;
    assert_true(fixture_deliver(fixture, before - 1));
    return fixture->packet_count > before ? last(fixture) : NULL;
}

static lh_ballot ballot_of(unsigned node, uint64_t counter)
{
    return lh_ballot_make(counter, 1, (uint8_t)(node + 1));
}

static struct lh_message prepare(unsigned node, uint64_t counter, int64_t ttl_ms)
{
    return (struct lh_message){
        .kind = LH_MESSAGE_PREPARE, .ballot = ballot_of(node, counter), .ttl = lh_ms(ttl_ms)};
}

static struct lh_message accept_of(unsigned node, uint64_t counter, int64_t ttl_ms)
{
    return (struct lh_message){
        .kind = LH_MESSAGE_ACCEPT, .ballot = ballot_of(node, counter), .ttl = lh_ms(ttl_ms)};
}

static struct lh_message extend(unsigned node, uint64_t counter, uint64_t stamp, int64_t ttl_ms)
{
    return (struct lh_message){.kind = LH_MESSAGE_EXTEND,
                               .ballot = ballot_of(node, counter),
                               .stamp = stamp,
                               .ttl = lh_ms(ttl_ms)};
}

static struct lh_message release_of(unsigned node, uint64_t counter)
{
    return (struct lh_message){.kind = LH_MESSAGE_RELEASE, .ballot = ballot_of(node, counter)};
}

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

static void a_release_wakes_the_longest_waiting_first(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture->true_ns = 100 * MS;
    fixture_acquire_waited(fixture, 1, NAME, lh_ms(1000), lh_ms(10));
    fixture_settle(fixture);
    fixture_acquire_waited(fixture, 2, NAME, lh_ms(1000), lh_ms(90));
    fixture_settle(fixture);
    lose_everything(fixture);
    fixture_release(fixture, 0, NAME);
    assert_int_equal(sent(fixture, LH_MESSAGE_WAKE), 2);
    assert_int_equal(fixture->packets[3].to, 2);
    assert_int_equal(fixture->packets[3].message.rank, 0);
    assert_int_equal(fixture->packets[4].to, 1);
    assert_int_equal(fixture->packets[4].message.rank, 1);
    assert_true(settles_with(fixture, LH_NOTICE_WOKEN));
    end(fixture);
}

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
    fixture_persisted(fixture, 0);
    fixture->true_ns += 5 * MS;
    fixture_timer(fixture, 0);
    assert_int_equal(sent(fixture, LH_MESSAGE_PREPARE), 3);
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
        cmocka_unit_test(a_release_wakes_the_longest_waiting_first),
        cmocka_unit_test(A4_drops_every_request_until_the_quarantine_ends),
        cmocka_unit_test(A4_is_silent_until_told_to_serve),
        cmocka_unit_test(T2_refuses_attempts_longer_than_M),
        cmocka_unit_test(T2_refuses_attempts_shorter_than_the_least),
        cmocka_unit_test(T2_the_exclusion_follows_from_the_attempt),
        cmocka_unit_test(only_the_owner_of_a_ballot_may_send_it),
        cmocka_unit_test(strangers_are_not_heard),
        cmocka_unit_test(T4_counters_rise_above_requests_of_others),
        cmocka_unit_test(T4_counters_rise_above_what_rejections_carry),
        cmocka_unit_test(F2_answers_up_to_the_reservation_and_not_above),
        cmocka_unit_test(F2_issues_no_counter_above_the_reservation),
        cmocka_unit_test(F2_reserves_ahead_of_need_and_once),
        cmocka_unit_test(F2_an_unknown_name_is_refused_below_the_floor),
        cmocka_unit_test(F2_an_extend_of_an_unknown_name_is_refused_with_the_floor),
        cmocka_unit_test(F2_tokens_rise_through_the_crash_of_everybody),
        cmocka_unit_test(F1_the_machine_forgets_by_the_greatest_quarantine),
        cmocka_unit_test(F1_nothing_is_forgotten_unless_it_is_on),
        cmocka_unit_test(F3_renews_in_one_round_under_the_same_ballot),
        cmocka_unit_test(F3_refused_by_some_the_next_renewal_is_a_whole_one),
        cmocka_unit_test(F3_refused_by_a_quorum_it_goes_on_in_two_rounds),
        cmocka_unit_test(F3_a_contender_does_not_disturb_it),
        cmocka_unit_test(F5_a_promise_waits_for_the_ceiling),
        cmocka_unit_test(F5_an_accepted_answer_waits_for_the_ceiling),
        cmocka_unit_test(F5_an_extended_answer_waits_for_the_ceiling),
        cmocka_unit_test(F5_a_rejection_waits_for_nothing),
        cmocka_unit_test(F5_the_ceiling_stays_until_its_own_quarantine_has_passed),
        cmocka_unit_test(F5_a_restart_serves_what_was_on_the_disk),
        cmocka_unit_test(a_full_acceptor_drops_new_names_and_serves_old_ones),
        cmocka_unit_test(leases_are_opened_closed_and_opened_again),
        cmocka_unit_test(the_view_shows_a_live_lease_and_nothing_in_quarantine),
        cmocka_unit_test(the_deadline_is_the_first_thing_that_is_due),
        cmocka_unit_test(answers_nobody_asked_for_change_nothing),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
