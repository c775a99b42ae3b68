// Letting go and handing over: who is woken in which order, who waits behind whom, and what becomes of
// Releases that are lost.
#include "machine_world.h"

// What was sent to `to` is lost.
static void lose_to(struct fixture *fixture, unsigned to)
{
    for (unsigned i = fixture->packet_count; i-- > 0;)
        if (fixture->packets[i].to == to)
            fixture_forget_packet(fixture, i);
}

static bool live(struct fixture *fixture, unsigned node, lh_ballot ballot)
{
    const struct lh_acceptor_record *record = fixture_record(fixture, node, NAME);
    return record != NULL && record->ballot == ballot &&
           lh_acceptor_live(record, fixture_now(fixture, node));
}

// --- who is woken ---

// Not who has waited longest: the lease goes around, so that nobody waits for ever.
static void a_release_wakes_the_next_member_first(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 1, 1000);
    fixture->true_ns = 100 * MS;
    fixture_acquire_waited(fixture, 2, NAME, lh_ms(1000), lh_ms(10));
    fixture_settle(fixture);
    fixture_acquire_waited(fixture, 0, NAME, lh_ms(1000), lh_ms(90));
    fixture_settle(fixture);
    lose_everything(fixture);
    fixture_release(fixture, 1, NAME);
    assert_int_equal(sent(fixture, LH_MESSAGE_WAKE), 2);
    assert_int_equal(fixture->packets[3].to, 2);
    assert_int_equal(fixture->packets[3].message.rank, 0);
    assert_int_equal(fixture->packets[4].to, 0);
    assert_int_equal(fixture->packets[4].message.rank, 1);
    assert_true(settles_with(fixture, LH_NOTICE_WOKEN));
    end(fixture);
}

// Node 1 asks everybody for what node 0 holds, and node 0 never hears of it. The Prepares to 1 and 2
// are delivered; their answers, packets 0 and 1, are not yet.
static struct fixture *asked_behind_the_owner(void)
{
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture_acquire_waited(fixture, 1, NAME, lh_ms(1000), lh_ms(10));
    assert_int_equal(fixture->packets[0].to, 0);
    fixture_forget_packet(fixture, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(fixture_deliver(fixture, 0));
        fixture_forget_packet(fixture, 0);
    }
    return fixture;
}

// The owner knows who waits from their Prepares. One that it never got must not cost an exclusion.
static void a_release_wakes_whom_its_owner_does_not_know(void **state)
{
    (void)state;
    struct fixture *fixture = asked_behind_the_owner();
    assert_true(settles_with(fixture, LH_NOTICE_BLOCKED));
    const int64_t blocked_ns = fixture->told[0].notice.at.ns;
    lose_everything(fixture);
    fixture_release(fixture, 0, NAME);
    assert_int_equal(sent(fixture, LH_MESSAGE_WAKE), 0);
    assert_true(settles_with(fixture, LH_NOTICE_WOKEN));
    assert_int_equal(fixture->told[0].node, 1);
    assert_true(fixture->told[0].notice.at.ns < blocked_ns - 900 * MS);
    end(fixture);
}

static void a_release_that_overtakes_the_answers_shortens_the_wait(void **state)
{
    (void)state;
    struct fixture *fixture = asked_behind_the_owner();
    fixture_release(fixture, 0, NAME);
    unsigned release = 0;
    while (fixture->packets[release].message.kind != LH_MESSAGE_RELEASE ||
           fixture->packets[release].to != 1)
        release++;
    assert_true(fixture_deliver(fixture, release));
    assert_false(was_told(fixture, LH_NOTICE_WOKEN)); // it is still trying
    assert_true(settles_with(fixture, LH_NOTICE_BLOCKED));
    assert_true(fixture->told[0].notice.at.ns < fixture_now(fixture, 1).ns + 500 * MS);
    end(fixture);
}

// Who waits tells the next owner, from whose Accept it learns that the lease went there.
static void who_waits_waits_behind_the_next_owner(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture_acquire_waited(fixture, 2, NAME, lh_ms(1000), lh_ms(10));
    fixture_settle(fixture);
    fixture_release(fixture, 0, NAME);
    fixture_settle(fixture);
    lose_everything(fixture);
    fixture_acquire(fixture, 1, NAME, lh_ms(1000));
    while (settles_with(fixture, LH_NOTICE_BLOCKED) && fixture->told[0].node != 2)
        ;
    assert_int_equal(fixture->told[0].node, 2);
    assert_int_equal(fixture->told[0].notice.ballot, ballot_of(1, 3));
    fixture_settle(fixture);
    assert_int_equal(sent(fixture, LH_MESSAGE_WAITS), 1);
    lose_everything(fixture);
    fixture_release(fixture, 1, NAME);
    assert_int_equal(sent(fixture, LH_MESSAGE_WAKE), 1);
    assert_int_equal(last(fixture)->to, 2);
    end(fixture);
}

// An acceptor that still knows an older lease refuses the next owner; its own clients wait all the
// same.
static void who_waits_beside_a_stale_record_tells_the_owner(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    fixture_acquire_waited(fixture, 2, NAME, lh_ms(1000), lh_ms(10));
    fixture_settle(fixture);
    lose_everything(fixture);
    fixture_release(fixture, 0, NAME);
    lose_to(fixture, 2);
    fixture_settle(fixture);
    ask(fixture, 1, 2, accept_of(1, 9, 1000));
    assert_int_equal(sent(fixture, LH_MESSAGE_WAITS), 1);
    assert_true(live(fixture, 2, ballot_of(0, 1)));
    end(fixture);
}

// --- Releases that are lost ---

static void a_lost_release_is_sent_again_when_another_asks(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture_release(fixture, 0, NAME);
    lose_to(fixture, 2);
    fixture_settle(fixture);
    assert_true(live(fixture, 2, ballot_of(0, 1)));
    for (unsigned round = 0; round < 3; round++) {
        lose_everything(fixture);
        ask(fixture, 1, 0, prepare(1, 10 + round, 1000));
        assert_int_equal(sent(fixture, LH_MESSAGE_RELEASE), round < 2 ? 3 : 0);
        fixture_settle(fixture);
        assert_false(live(fixture, 2, ballot_of(0, 1)));
    }
    end(fixture);
}

// Both others missed it, and nobody else asks: its own refusals tell.
static void a_lost_release_is_sent_again_when_its_owner_meets_it(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    acquire(fixture, 0, 1000);
    lose_everything(fixture);
    fixture_release(fixture, 0, NAME);
    lose_to(fixture, 1);
    lose_to(fixture, 2);
    fixture_settle(fixture);
    fixture_acquire(fixture, 0, NAME, lh_ms(1000));
    assert_true(settles_with(fixture, LH_NOTICE_BLOCKED));
    assert_true(fixture->told[0].notice.at.ns < fixture_now(fixture, 0).ns + 500 * MS);
    fixture_settle(fixture);
    assert_false(live(fixture, 1, ballot_of(0, 1)));
    assert_false(live(fixture, 2, ballot_of(0, 1)));
    acquire(fixture, 0, 1000);
    end(fixture);
}

// Both in the way of node 2 are let go, one after the other: either Release ends its wait.
static void a_release_of_any_lease_in_the_way_wakes(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    ask(fixture, 0, 0, accept_of(0, 5, 1000));
    ask(fixture, 1, 1, accept_of(1, 6, 1000));
    lose_everything(fixture);
    fixture_acquire(fixture, 2, NAME, lh_ms(1000));
    assert_true(settles_with(fixture, LH_NOTICE_BLOCKED));
    lose_everything(fixture);
    ask(fixture, 0, 2, release_of(0, 5));
    assert_true(was_told(fixture, LH_NOTICE_WOKEN));
    ask(fixture, 1, 2, release_of(1, 6));
    assert_true(was_told(fixture, LH_NOTICE_WOKEN));
    ask(fixture, 1, 2, release_of(1, 7)); // which nobody named
    assert_false(was_told(fixture, LH_NOTICE_WOKEN));
    end(fixture);
}

// --- a member that is silent ---

// Node 1 has the lease, node 0 missed its Accept, node 2 is down: a majority says enough.
static void who_is_silent_is_not_waited_for(void **state)
{
    (void)state;
    struct fixture *fixture = cluster();
    fixture_acquire(fixture, 1, NAME, lh_ms(1000));
    for (unsigned i = 0; sent(fixture, LH_MESSAGE_ACCEPT) == 0; i++)
        fixture_deliver(fixture, i);
    lose_to(fixture, 0);
    fixture_settle(fixture);
    assert_true(fixture_holds(fixture, 1, NAME));
    lose_everything(fixture);
    fixture_crash(fixture, 2, 0);
    fixture_acquire_waited(fixture, 0, NAME, lh_ms(1000), lh_ms(10));
    fixture_settle(fixture);
    unsigned sendings = 1;
    while (!was_told(fixture, LH_NOTICE_BLOCKED) && fixture->true_ns < 900 * MS) {
        lose_everything(fixture);
        fixture->true_ns += MS;
        fixture_timer(fixture, 0);
        sendings += sent(fixture, LH_MESSAGE_PREPARE) > 0 ? 1 : 0;
    }
    assert_true(was_told(fixture, LH_NOTICE_BLOCKED));
    assert_int_equal(fixture->told[0].notice.ballot, ballot_of(1, 1));
    assert_int_equal(sendings, 4);
    end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_wakes_the_next_member_first),
        cmocka_unit_test(a_release_wakes_whom_its_owner_does_not_know),
        cmocka_unit_test(a_release_that_overtakes_the_answers_shortens_the_wait),
        cmocka_unit_test(who_waits_waits_behind_the_next_owner),
        cmocka_unit_test(who_waits_beside_a_stale_record_tells_the_owner),
        cmocka_unit_test(a_lost_release_is_sent_again_when_another_asks),
        cmocka_unit_test(a_lost_release_is_sent_again_when_its_owner_meets_it),
        cmocka_unit_test(a_release_of_any_lease_in_the_way_wakes),
        cmocka_unit_test(who_is_silent_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
