// Schedules of the protocol itself. The lease lasts 2 s and clock rates may be off by 1 %, so that
// an exclusion and a quarantine last 2040.40.. ms, unless a schedule says otherwise.
#include "check/witness_schedules.h"
#include "check/witness_world.h"

#define SHIPPED LH_WITNESS_AS_SHIPPED

enum { P1, P2, P3 };
enum { A1, A2, A3 };

static struct lh_duration quarantine(const struct lh_witness_world *world)
{
    return lh_timing_quarantine(world->timing, world->ttl);
}

// The first round of a ballot at two acceptors, its promises on their way.
static void prepare_both(struct lh_witness_world *world, unsigned ballot)
{
    lh_witness_prepare(world, ballot, A1);
    lh_witness_prepare(world, ballot, A2);
}

static void promise_both(struct lh_witness_world *world, unsigned ballot,
                         enum lh_witness_weakness weakness)
{
    lh_witness_promise(world, ballot, A1, weakness);
    lh_witness_promise(world, ballot, A2, weakness);
}

static void accept_both(struct lh_witness_world *world, unsigned ballot)
{
    lh_witness_accept(world, ballot, A1, SHIPPED);
    lh_witness_accept(world, ballot, A2, SHIPPED);
}

static void accepted_both(struct lh_witness_world *world, unsigned ballot)
{
    lh_witness_accepted(world, ballot, A1, SHIPPED);
    lh_witness_accepted(world, ballot, A2, SHIPPED);
}

void lh_witness_insufficient_quarantine(struct lh_witness_world *world)
{
    const struct lh_duration served = world->weak ? lh_ms(400) : quarantine(world);
    lh_witness_win(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 500);
    lh_witness_crash_acceptor(world, A1, served);
    lh_witness_crash_acceptor(world, A2, served);
    lh_witness_wait_until(world, 1000);
    lh_witness_win(world, P2, 2, A1, A2);
}

void lh_witness_owner_only_release(struct lh_witness_world *world)
{
    lh_witness_win(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 100);
    lh_witness_release(world, P1);
    lh_witness_release_to(world, 1, A1, SHIPPED);
    lh_witness_release_to(world, 1, A2, SHIPPED);
    lh_witness_wait_until(world, 200);
    lh_witness_win(world, P1, 2, A1, A2);
    lh_witness_wait_until(world, 300);
    lh_witness_say(world, "the network delivers Release(1) once more");
    lh_witness_release_to(world, 1, A1, LH_WITNESS_OWNER_ALONE);
    lh_witness_release_to(world, 1, A2, LH_WITNESS_OWNER_ALONE);
    lh_witness_win(world, P2, 3, A1, A2);
}

// Three acceptors; each proposer hears of one or two.
void lh_witness_duplicate_quorum_counting(struct lh_witness_world *world)
{
    const enum lh_witness_weakness counting = LH_WITNESS_COUNT_MESSAGES;
    lh_witness_start(world, P1, 1, SHIPPED);
    lh_witness_prepare(world, 1, A1);
    lh_witness_promise(world, 1, A1, counting);
    lh_witness_promise(world, 1, A1, counting);
    lh_witness_propose(world, 1, SHIPPED);
    lh_witness_accept(world, 1, A1, SHIPPED);
    lh_witness_accepted(world, 1, A1, counting);
    lh_witness_accepted(world, 1, A1, counting);
    lh_witness_wait_until(world, 100);
    lh_witness_win(world, P2, 2, A2, A3);
}

// The answers to the attempt before the crash are still under way.
void lh_witness_ballot_reuse_after_restart(struct lh_witness_world *world)
{
    lh_witness_first_round(world, P1, 1, A1, A2);
    accept_both(world, 1);
    lh_witness_crash_proposer(world, P1);
    lh_witness_wait_until(world, 2100);
    lh_witness_win(world, P2, 2, A1, A2);
    lh_witness_wait_until(world, 2200);
    lh_witness_start(world, P1, world->weak ? 1 : 3, SHIPPED);
    lh_witness_say(world, "the answers of before the crash arrive");
    promise_both(world, 1, SHIPPED);
    lh_witness_propose(world, world->weak ? 1 : 3, SHIPPED);
    accepted_both(world, 1);
}

void lh_witness_renewal_without_quorum(struct lh_witness_world *world)
{
    lh_witness_win(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 1000);
    lh_witness_first_round(world, P1, 2, A1, A2);
    lh_witness_accept(world, 2, A1, SHIPPED);
    lh_witness_accepted(world, 2, A1, LH_WITNESS_ONE_WILL_DO);
    lh_witness_wait_until(world, 2500);
    lh_witness_win(world, P2, 3, A2, A3);
}

void lh_witness_stale_accept_overwrites_newer(struct lh_witness_world *world)
{
    lh_witness_first_round(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 100);
    lh_witness_win(world, P2, 2, A1, A2);
    lh_witness_wait_until(world, 200);
    lh_witness_say(world, "the Accepts of p1 arrive late");
    lh_witness_accept(world, 1, A1, LH_WITNESS_ACCEPT_BELOW);
    lh_witness_accept(world, 1, A2, LH_WITNESS_ACCEPT_BELOW);
    accepted_both(world, 1);
}

// Appendix B of the paper.
void lh_witness_late_promise_reuse(struct lh_witness_world *world)
{
    const enum lh_witness_weakness late = LH_WITNESS_TIMER_AT_QUORUM;
    lh_witness_start(world, P1, 1, late);
    lh_witness_start(world, P2, 2, late);
    prepare_both(world, 1);
    prepare_both(world, 2);
    lh_witness_crash_acceptor(world, A1, quarantine(world));
    lh_witness_crash_acceptor(world, A2, quarantine(world));
    lh_witness_wait_until(world, 2050);
    lh_witness_say(world, "both proposers come to read their promises");
    promise_both(world, 1, SHIPPED);
    lh_witness_propose(world, 1, late);
    promise_both(world, 2, SHIPPED);
    lh_witness_propose(world, 2, late);
    accept_both(world, 1);
    accept_both(world, 2);
    accepted_both(world, 1);
    accepted_both(world, 2);
}

// Section 8 of the paper.
void lh_witness_stale_owner_open(struct lh_witness_world *world)
{
    lh_witness_first_round(world, P1, 2, A1, A2);
    lh_witness_abandon(world, P1);
    lh_witness_crash_acceptor(world, A1, quarantine(world));
    lh_witness_crash_acceptor(world, A2, quarantine(world));
    lh_witness_wait_until(world, 2050);
    lh_witness_win(world, P2, 1, A1, A2);
    lh_witness_wait_until(world, 2100);
    lh_witness_say(world, "the Accepts of the abandoned attempt arrive");
    accept_both(world, 2);
    lh_witness_start(world, P1, 3, SHIPPED);
    prepare_both(world, 3);
    promise_both(world, 3, LH_WITNESS_OWN_IS_OPEN);
    lh_witness_propose(world, 3, SHIPPED);
    accept_both(world, 3);
    accepted_both(world, 3);
}

// Appendix C.3 of the paper: a lease of 7 s, a retry timeout of 2 s that is only a callback, three
// nodes of which only the one in both quorums crashes. Node 3 is suspended between the timer scan
// of its loop and what its poll returns, so the callback that would abandon comes after the
// answers.
void lh_witness_suspended_event_loop(struct lh_witness_world *world)
{
    const enum lh_witness_weakness late = LH_WITNESS_TIMER_AT_QUORUM;
    world->ttl = lh_ms(7000);
    lh_witness_start(world, P3, 2, late);
    lh_witness_prepare(world, 2, A2);
    lh_witness_prepare(world, 2, A3);
    lh_witness_crash_acceptor(world, A2, quarantine(world));
    lh_witness_wait_until(world, 1900);
    lh_witness_promise(world, 2, A2, SHIPPED);
    lh_witness_promise(world, 2, A3, SHIPPED);
    lh_witness_propose(world, 2, late);
    lh_witness_say(world, "the loop of node 3 scans its timers: the retry is due at 2000 ms; then "
                          "it is suspended");
    lh_witness_wait_until(world, 7200);
    lh_witness_win(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 7300);
    lh_witness_accept(world, 2, A2, SHIPPED);
    lh_witness_say(world, "node 3 goes on: its queued messages come before its overdue timer");
    lh_witness_accept(world, 2, A3, SHIPPED);
    lh_witness_accepted(world, 2, A2, SHIPPED);
    lh_witness_accepted(world, 2, A3, SHIPPED);
    lh_witness_say(world, "node 3's retry timer fires");
    lh_witness_abandon(world, P3);
}
