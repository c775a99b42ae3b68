// The proposer's half of the machine: attempts and what becomes of them. The role functions decide
// what counts; this file only begins attempts, backs off and reports (machine_round.c sends). Every
// wait here may end late or early without harm: authority and evidence are bounded by the deadlines
// that the role functions read.
#include "lease/machine_internal.h"

#include "base/assert.h"

#define REMINDERS 2
#define ROUND_MIN (200 * LH_NS_PER_US)
#define ROUND_MAX LH_NS_PER_S
#define LATE_WAKE (100 * LH_NS_PER_MS)
#define RESERVATION_WAIT (5 * LH_NS_PER_MS)
#define SUSPENDED_WAIT LH_NS_PER_S
#define SENDINGS_ENOUGH 4 // after which who is silent is not waited for

// T4, F2: the next counter, above all that were met, or 0 until more is reserved.
static uint64_t next_counter(struct lh_machine *machine, struct lh_lease_effects *effects)
{
    uint64_t next = (machine->seen > machine->counter ? machine->seen : machine->counter) + 1;
    lh_machine_reserve_ahead(machine, next, effects);
    if (next > machine->reserved)
        return 0;
    machine->counter = next;
    return next;
}

static void attempt(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                    struct lh_lease_effects *effects)
{
    LH_ASSERT(!lh_machine_attempting(lease));
    if (machine->suspended) {
        lease->retry_at = lh_after(now, (struct lh_duration){SUSPENDED_WAIT});
        lh_machine_arm(machine, lease);
        return;
    }
    lease->ttl = lease->next_ttl;
    if (lease->want == LH_WANT_RENEW && machine->config.one_round_renewal &&
        !lease->whole_renewal) {
        lh_proposer_extend(&lease->proposer, now, lease->ttl);
    } else {
        uint64_t counter = next_counter(machine, effects);
        if (counter == 0) {
            lease->retry_at = lh_after(now, (struct lh_duration){RESERVATION_WAIT});
            lh_machine_arm(machine, lease);
            return;
        }
        lh_proposer_start(&lease->proposer, now,
                          lh_ballot_make(counter, machine->config.generation, machine->config.node),
                          lease->ttl);
    }
    machine->counters.attempts++;
    lh_machine_begin_round(machine, lease, now);
    lh_machine_broadcast(machine, lease, lease->proposer.phase, now, effects);
    lh_machine_arm(machine, lease);
}

// P5: abandon. A fresh attempt whose Accepts are out leaves records that would block everybody for
// a whole exclusion, and nobody can complete it any more: they are taken back. A renewal's are not,
// since they protect what it was to renew.
static void abandon(struct lh_machine *machine, struct lh_lease *lease,
                    struct lh_lease_effects *effects)
{
    const struct lh_proposer *proposer = &lease->proposer;
    bool fresh = proposer->phase == LH_ACCEPTING && proposer->base == LH_BALLOT_NONE;
    lh_proposer_abandon(&lease->proposer);
    if (fresh)
        lh_machine_let_go(machine, lease->key, proposer->ballot, effects);
}

// P5: retry under a higher ballot after a randomised pause.
static void back_off(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                     struct lh_lease_effects *effects)
{
    abandon(machine, lease, effects);
    unsigned doublings = lease->tries < 6 ? lease->tries : 6;
    if (lease->tries < UINT8_MAX)
        lease->tries++;
    int64_t longest = (machine->round.ns << doublings) * 2;
    int64_t pause = lh_prng_between(machine->prng, machine->round.ns / 2, longest);
    lease->retry_at = lh_after(now, (struct lh_duration){pause});
    lh_machine_arm(machine, lease);
}

// Others' leases keep a quorum from us until `at`.
static void blocked(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant at,
                    struct lh_instant now, struct lh_lease_effects *effects)
{
    machine->counters.blocked++;
    abandon(machine, lease, effects);
    lease->want = LH_WANT_NOTHING;
    lease->waits = true;
    lease->tries = 0;
    lh_machine_arm(machine, lease);
    struct lh_notice *notice = lh_machine_notify(effects, LH_NOTICE_BLOCKED, lease->id);
    notice->ballot = lease->blocker;
    notice->at = at;
    if (lh_machine_in_the_way(machine, lease, lease->let_go)) // its Release overtook the answers
        notice->at = lh_earlier(at, lh_machine_after_woken(machine, now));
}

// Enough acceptors refused that this round cannot succeed.
static void refused_by_quorum(struct lh_machine *machine, struct lh_lease *lease,
                              struct lh_instant now, struct lh_lease_effects *effects)
{
    if (lease->proposer.phase == LH_EXTENDING) { // F3: at once in two rounds
        lh_proposer_abandon(&lease->proposer);
        lease->whole_renewal = true;
        attempt(machine, lease, now, effects);
        return;
    }
    struct lh_instant at = lh_machine_free_at(
        machine, lease, machine->config.member_count - lh_set_count(lease->refused));
    if (lease->want != LH_WANT_ACQUIRE || !lh_before(now, at)) {
        machine->counters.duels++;
        back_off(machine, lease, now, effects);
        return;
    }
    blocked(machine, lease, at, now, effects);
}

// The lease an answer is for, or NULL: none of ours, or not of the attempt in flight.
static struct lh_lease *lease_of_answer(struct lh_machine *machine,
                                        const struct lh_message *message)
{
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease == NULL || !lh_machine_attempting(lease))
        return NULL;
    lh_ballot expected =
        lease->proposer.phase == LH_EXTENDING ? lease->proposer.held : lease->proposer.ballot;
    return message->ballot == expected ? lease : NULL;
}

static void refuse(struct lh_machine *machine, struct lh_lease *lease, unsigned acceptor,
                   const struct lh_message *message, struct lh_instant now,
                   struct lh_lease_effects *effects)
{
    lh_set_add(&lease->answered, acceptor);
    lh_set_add(&lease->refused, acceptor);
    if (message->reported == LH_BALLOT_NONE)
        return;
    lease->blocked_until[acceptor] = lh_after(now, message->exclusion);
    lease->blocked_by[acceptor] = message->reported;
    if (message->reported == lh_machine_let_go_last(machine, lease->key)) // it missed our Release
        lh_machine_send_release(machine, lease->key, message->reported, effects);
    if (message->reported != lease->proposer.base || lease->blocker == LH_BALLOT_NONE)
        lease->blocker = message->reported;
}

// A quorum has answered, one of it with a lease that ends sooner than the silent are asked again: it is
// tried then.
static void try_when_free(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now)
{
    unsigned answered = lh_set_count(lease->answered);
    struct lh_instant at =
        lh_machine_free_at(machine, lease, answered - lh_set_count(lease->refused));
    if (answered < machine->quorum || lease->want != LH_WANT_ACQUIRE || !lh_before(now, at))
        return;
    lease->retry_at = lh_earlier(lease->retry_at, at);
    lh_machine_arm(machine, lease);
}

void lh_machine_on_promise(struct lh_machine *machine, unsigned acceptor,
                           const struct lh_message *message, struct lh_instant now,
                           struct lh_lease_effects *effects)
{
    struct lh_lease *lease = lease_of_answer(machine, message);
    if (lease == NULL || lease->proposer.phase != LH_PREPARING)
        return;
    lh_set_add(&lease->answered, acceptor);
    if (!lh_proposer_promise(&lease->proposer, now, acceptor, message->ballot, message->reported))
        refuse(machine, lease, acceptor, message, now, effects);
    if (lh_proposer_propose(&lease->proposer, now, machine->quorum)) {
        int64_t took = now.ns - lease->sent_at.ns; // after a loss this may be short, never long
        machine->round =
            lh_machine_in_range((7 * machine->round.ns + took) / 8, ROUND_MIN, ROUND_MAX);
        lh_machine_begin_round(machine, lease, now);
        lh_machine_broadcast(machine, lease, LH_ACCEPTING, now, effects);
        lh_machine_arm(machine, lease);
    } else if (lh_machine_out_of_reach(machine, lease)) {
        refused_by_quorum(machine, lease, now, effects);
    } else {
        try_when_free(machine, lease, now);
    }
}

void lh_machine_lose(struct lh_machine *machine, struct lh_lease *lease,
                     struct lh_lease_effects *effects)
{
    machine->counters.lost++;
    machine->held--;
    lease->reminders = 0;
    lh_machine_notify(effects, LH_NOTICE_LOST, lease->id);
}

static void won(struct lh_machine *machine, struct lh_lease *lease, enum lh_outcome outcome,
                struct lh_lease_effects *effects)
{
    lease->want = LH_WANT_NOTHING;
    lease->tries = 0;
    lease->blocker = LH_BALLOT_NONE;
    lease->waits = false;
    bool renewed = outcome == LH_RENEWED;
    if (renewed)
        machine->counters.renewed++;
    else
        machine->counters.acquired++, machine->held++;
    lh_machine_notify(effects, renewed ? LH_NOTICE_RENEWED : LH_NOTICE_ACQUIRED, lease->id);
    lh_machine_arm(machine, lease);
}

// The answer to an Accept after the quorum's.
static void answered_late(struct lh_machine *machine, unsigned acceptor,
                          const struct lh_message *message)
{
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease == NULL || lease->reminders == 0 || message->ballot != lease->proposer.ballot)
        return;
    lh_set_add(&lease->answered, acceptor);
    if (lh_machine_all_answered(machine, lease)) {
        lease->reminders = 0;
        lh_machine_arm(machine, lease);
    }
}

void lh_machine_on_accepted(struct lh_machine *machine, unsigned acceptor,
                            const struct lh_message *message, struct lh_instant now,
                            struct lh_lease_effects *effects)
{
    struct lh_lease *lease = lease_of_answer(machine, message);
    if (lease == NULL)
        answered_late(machine, acceptor, message);
    if (lease == NULL || lease->proposer.phase != LH_ACCEPTING)
        return;
    lh_set_add(&lease->answered, acceptor);
    bool lapsed =
        lease->proposer.held != LH_BALLOT_NONE && !lh_proposer_holds(&lease->proposer, now);
    enum lh_outcome outcome =
        lh_proposer_accepted(&lease->proposer, now, acceptor, message->ballot, machine->quorum);
    if (outcome == LH_NOTHING)
        return; // a quorum after td left the phase idle; the timer retries
    if (outcome == LH_ACQUIRED && lapsed) // P4: a renewal that came too late is a new lease
        lh_machine_lose(machine, lease, effects);
    if (outcome == LH_RENEWED)
        lease->whole_renewal = !lh_set_is_empty(lease->refused);
    lease->reminders = lh_machine_all_answered(machine, lease) ? 0 : REMINDERS;
    won(machine, lease, outcome, effects);
}

void lh_machine_on_extended(struct lh_machine *machine, unsigned acceptor,
                            const struct lh_message *message, struct lh_instant now,
                            struct lh_lease_effects *effects)
{
    struct lh_lease *lease = lease_of_answer(machine, message);
    if (lease == NULL || lease->proposer.phase != LH_EXTENDING ||
        message->stamp != lease->proposer.stamp)
        return;
    lh_set_add(&lease->answered, acceptor);
    enum lh_outcome outcome = lh_proposer_extended(&lease->proposer, now, acceptor, message->ballot,
                                                   message->stamp, machine->quorum);
    if (outcome == LH_RENEWED)
        won(machine, lease, outcome, effects);
}

static bool refuses_phase(const struct lh_lease *lease, const struct lh_message *message)
{
    switch (lease->proposer.phase) {
    case LH_PREPARING: return message->refused == LH_MESSAGE_PREPARE;
    case LH_ACCEPTING: return message->refused == LH_MESSAGE_ACCEPT;
    case LH_EXTENDING:
        return message->refused == LH_MESSAGE_EXTEND && message->stamp == lease->proposer.stamp;
    case LH_IDLE: break;
    }
    return false;
}

void lh_machine_on_rejected(struct lh_machine *machine, unsigned acceptor,
                            const struct lh_message *message, struct lh_instant now,
                            struct lh_lease_effects *effects)
{
    lh_machine_observe(machine, lh_ballot_counter(message->promised), effects); // T4
    struct lh_lease *lease = lease_of_answer(machine, message);
    if (lease == NULL) { // F3: refused by some, after a quorum extended: next time in two rounds
        if (message->refused == LH_MESSAGE_ACCEPT)
            answered_late(machine, acceptor, message);
        lease = lh_machine_find(machine, message->key);
        if (lease != NULL && message->refused == LH_MESSAGE_EXTEND &&
            message->ballot == lease->proposer.held && message->stamp == lease->proposer.stamp)
            lease->whole_renewal = true;
        return;
    }
    if (!refuses_phase(lease, message))
        return;
    if (lease->proposer.phase == LH_EXTENDING)
        lease->whole_renewal = true;
    refuse(machine, lease, acceptor, message, now, effects);
    if (lh_machine_out_of_reach(machine, lease))
        refused_by_quorum(machine, lease, now, effects);
}

// The wire carries whole ms: a TTL with a rest would give the acceptors less than td was made from
// (T2).
static void check_ttl(const struct lh_machine *machine, struct lh_duration ttl)
{
    LH_ASSERT_LE(ttl.ns, machine->config.timing.max_ttl.ns);
    LH_ASSERT_GE(ttl.ns, LH_TTL_MIN_MS * LH_NS_PER_MS);
    LH_ASSERT_EQ(ttl.ns % LH_NS_PER_MS, 0);
}

void lh_machine_acquire(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                        struct lh_duration ttl, struct lh_instant waiting_since,
                        struct lh_lease_effects *effects)
{
    LH_ASSERT(!lh_proposer_holds(&lease->proposer, now));
    check_ttl(machine, ttl);
    if (lease->proposer.held != LH_BALLOT_NONE) { // it ended, and its timer has not come yet
        lh_proposer_release(&lease->proposer, now);
        lh_machine_lose(machine, lease, effects);
    }
    lease->want = LH_WANT_ACQUIRE;
    lease->waiters = LH_SET_EMPTY;
    lease->next_ttl = ttl;
    lease->waiting_since = waiting_since;
    lease->tries = 0;
    lease->whole_renewal = false;
    abandon(machine, lease, effects);
    attempt(machine, lease, now, effects);
    lh_machine_check_invariants(machine);
}

void lh_machine_renew(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                      struct lh_duration ttl, struct lh_lease_effects *effects)
{
    LH_ASSERT(lh_proposer_holds(&lease->proposer, now));
    check_ttl(machine, ttl);
    lease->want = LH_WANT_RENEW;
    lease->next_ttl = ttl;
    lease->waiting_since = LH_NEVER;
    lease->tries = 0;
    // Accepts that are out are recorded by now: they are joined, since they would block others.
    if (lease->proposer.phase == LH_ACCEPTING) {
        lh_machine_arm(machine, lease);
    } else {
        lh_proposer_abandon(&lease->proposer);
        attempt(machine, lease, now, effects);
    }
    lh_machine_check_invariants(machine);
}

void lh_machine_stop(struct lh_machine *machine, struct lh_lease *lease)
{
    if (lease->proposer.phase != LH_ACCEPTING)
        lh_proposer_abandon(&lease->proposer);
    lease->want = LH_WANT_NOTHING;
    lease->tries = 0;
    lh_machine_arm(machine, lease);
    lh_machine_check_invariants(machine);
}

// Some refused and the others are silent, perhaps down: rather than wait for them until td, try
// again once those that answered suffice. True if it was.
static bool give_up_on_silent(struct lh_machine *machine, struct lh_lease *lease,
                              struct lh_instant now, struct lh_lease_effects *effects)
{
    if (lh_set_is_empty(lease->refused))
        return false;
    if (lease->proposer.phase == LH_ACCEPTING)
        return false; // what was accepted would block the next attempt: its answers are worth
                      // waiting for
    if (lease->proposer.phase == LH_EXTENDING) {
        refused_by_quorum(machine, lease, now, effects);
        return true;
    }
    unsigned helpers = lh_set_count(lease->answered) - lh_set_count(lease->refused);
    struct lh_instant at = lh_machine_free_at(machine, lease, helpers);
    if (lh_before(now, at) && lease->want == LH_WANT_ACQUIRE && lease->sendings > SENDINGS_ENOUGH &&
        lh_set_count(lease->answered) >= machine->quorum) {
        blocked(machine, lease, at, now, effects);
        return true;
    }
    if (lh_before(now, at)) {
        lease->retry_at = lh_earlier(lease->retry_at, at);
        return false;
    }
    machine->counters.duels++;
    back_off(machine, lease, now, effects);
    return true;
}

// Our clock is out of its bound: authority that it measures is none, and the acceptors, whose clocks
// are right, keep the name until td. A fresh attempt is taken back.
static void due_while_suspended(struct lh_machine *machine, struct lh_lease *lease,
                                struct lh_instant now, struct lh_lease_effects *effects)
{
    abandon(machine, lease, effects);
    lease->reminders = 0;
    lease->retry_at = lh_after(now, (struct lh_duration){SUSPENDED_WAIT});
    if (lease->proposer.held != LH_BALLOT_NONE) {
        lh_proposer_release(&lease->proposer, now);
        lease->want = LH_WANT_NOTHING;
        lh_machine_lose(machine, lease, effects);
    }
    lh_machine_arm(machine, lease);
}

void lh_machine_lease_due(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                          struct lh_lease_effects *effects)
{
    struct lh_proposer *proposer = &lease->proposer;
    if (machine->suspended) {
        due_while_suspended(machine, lease, now, effects);
        return;
    }
    if (proposer->held != LH_BALLOT_NONE && !lh_proposer_holds(proposer, now)) {
        if (now.ns - proposer->until.ns > LATE_WAKE)
            machine->counters.late_wakes++;
        lh_proposer_release(proposer, now);
        lease->want = LH_WANT_NOTHING;
        lh_machine_lose(machine, lease, effects);
    } else if (lh_machine_attempting(lease) && !lh_before(now, proposer->td)) {
        machine->counters.stalled++;
        lh_machine_notify(effects, LH_NOTICE_STALLED, lease->id);
        back_off(machine, lease, now, effects);
        return;
    } else if (lease->want != LH_WANT_NOTHING && !lh_before(now, lease->retry_at)) {
        if (!lh_machine_attempting(lease)) {
            attempt(machine, lease, now, effects);
            return;
        }
        machine->counters.retransmits++;
        lh_machine_sent(machine, lease, lease->pause, now);
        if (give_up_on_silent(machine, lease, now, effects))
            return;
        lh_machine_broadcast(machine, lease, proposer->phase, now, effects);
    } else if (lease->reminders > 0 && !lh_before(now, lease->retry_at)) {
        lh_machine_remind(machine, lease, now, effects);
    }
    lh_machine_arm(machine, lease);
}
