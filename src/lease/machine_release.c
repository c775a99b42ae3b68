// Letting a lease go and handing it over: who is woken in which order, who waits behind whom, and
// Releases that are sent again. All of it is for speed: a message of this file that is lost, late or
// repeated costs time, never safety. Release itself names exactly what its owner gave up (P6); sent
// again it is a redelivery.
#include "lease/machine_internal.h"

#include "base/assert.h"

#define WAKE_ROUNDS 8  // between one who is woken and the next
#define LET_GO_TIMES 2 // that a Release is sent again to who may have missed it

static struct lh_let_go *slot_of(struct lh_machine *machine, struct lh_key key)
{
    return &machine->let_go[key.word[0] & (LH_LET_GO_MAX - 1)];
}

void lh_machine_send_release(struct lh_machine *machine, struct lh_key key, lh_ballot ballot,
                             struct lh_lease_effects *effects)
{
    for (unsigned i = 0; i < machine->config.member_count; i++)
        lh_machine_send(effects, machine->config.members[i], LH_MESSAGE_RELEASE, key, ballot);
}

// An acceptor that misses this Release keeps others out for a whole exclusion.
void lh_machine_let_go(struct lh_machine *machine, struct lh_key key, lh_ballot ballot,
                       struct lh_lease_effects *effects)
{
    *slot_of(machine, key) = (struct lh_let_go){key, ballot, LET_GO_TIMES};
    lh_machine_send_release(machine, key, ballot, effects);
}

lh_ballot lh_machine_let_go_last(struct lh_machine *machine, struct lh_key key)
{
    const struct lh_let_go *known = slot_of(machine, key);
    return lh_key_equal(known->key, key) ? known->ballot : LH_BALLOT_NONE;
}

void lh_machine_let_go_again(struct lh_machine *machine, struct lh_key key,
                             struct lh_lease_effects *effects)
{
    struct lh_let_go *known = slot_of(machine, key);
    if (known->times_left == 0 || !lh_key_equal(known->key, key))
        return;
    known->times_left--;
    lh_machine_send_release(machine, key, known->ballot, effects);
}

// Those that wait, in the members' order from this one on and this one last, so that the lease goes
// around; each is told how many are before it.
static void wake_waiters(struct lh_machine *machine, struct lh_lease *lease,
                         struct lh_lease_effects *effects)
{
    const struct lh_machine_config *config = &machine->config;
    unsigned own = (unsigned)lh_machine_member(machine, config->node);
    uint8_t rank = 0;
    for (unsigned step = 1; step <= config->member_count; step++) {
        unsigned member = (own + step) % config->member_count;
        if (member == own ? !lease->waits : !lh_set_has(lease->waiters, member))
            continue;
        lh_machine_send(effects, config->members[member], LH_MESSAGE_WAKE, lease->key,
                        LH_BALLOT_NONE)
            ->rank = rank++;
    }
}

bool lh_machine_release(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                        struct lh_lease_effects *effects)
{
    bool recorded = lease->proposer.held != LH_BALLOT_NONE;
    lh_ballot named = lh_proposer_release(&lease->proposer, now);
    lease->want = LH_WANT_NOTHING;
    lease->reminders = 0;
    lh_machine_arm(machine, lease);
    if (named == LH_BALLOT_NONE) {
        if (recorded)
            lh_machine_lose(machine, lease, effects);
        lh_machine_check_invariants(machine);
        return false;
    }
    machine->counters.released++;
    machine->held--;
    lh_machine_let_go(machine, lease->key, named, effects);
    wake_waiters(machine, lease, effects);
    lh_machine_check_invariants(machine);
    return true;
}

void lh_machine_release_again(struct lh_machine *machine, struct lh_lease *lease,
                              struct lh_lease_effects *effects)
{
    lh_ballot last = lh_machine_let_go_last(machine, lease->key);
    if (last != LH_BALLOT_NONE)
        lh_machine_send_release(machine, lease->key, last, effects);
    wake_waiters(machine, lease, effects);
}

// --- at those that wait ---

struct lh_instant lh_machine_after_woken(const struct lh_machine *machine, struct lh_instant now)
{
    int64_t behind_ns = WAKE_ROUNDS * machine->round.ns * machine->config.member_count;
    return lh_after(now, (struct lh_duration){behind_ns});
}

bool lh_machine_in_the_way(const struct lh_machine *machine, const struct lh_lease *lease,
                           lh_ballot ballot)
{
    bool found = lease->blocker == ballot && ballot != LH_BALLOT_NONE;
    for (unsigned i = 0; i < machine->config.member_count; i++)
        found |= lease->blocked_by[i] == ballot && ballot != LH_BALLOT_NONE;
    return found;
}

void lh_machine_on_wake(struct lh_machine *machine, const struct lh_message *message,
                        struct lh_instant now, struct lh_lease_effects *effects)
{
    const struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease == NULL)
        return;
    struct lh_notice *notice = lh_machine_notify(effects, LH_NOTICE_WOKEN, lease->id);
    struct lh_duration behind = {WAKE_ROUNDS * machine->round.ns * message->rank};
    notice->at = lh_after(now, behind);
}

void lh_machine_heard_release(struct lh_machine *machine, const struct lh_message *message,
                              struct lh_instant now, struct lh_lease_effects *effects)
{
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease == NULL)
        return;
    lease->let_go = message->ballot;
    if (lease->want != LH_WANT_NOTHING || !lh_machine_in_the_way(machine, lease, message->ballot))
        return;
    struct lh_notice *notice = lh_machine_notify(effects, LH_NOTICE_WOKEN, lease->id);
    notice->ballot = message->ballot;
    notice->at = lh_machine_after_woken(machine, now);
}

void lh_machine_passed_to(struct lh_machine *machine, uint8_t from,
                          const struct lh_message *message, struct lh_instant deadline,
                          struct lh_lease_effects *effects)
{
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease == NULL || lease->want != LH_WANT_NOTHING || lh_machine_attempting(lease) ||
        lease->proposer.held != LH_BALLOT_NONE)
        return;
    if (lease->waits)
        lh_machine_send(effects, from, LH_MESSAGE_WAITS, lease->key, LH_BALLOT_NONE);
    bool behind = lease->blocker != LH_BALLOT_NONE || lease->let_go != LH_BALLOT_NONE;
    if (!behind || lease->blocker == message->ballot)
        return;
    lease->blocker = message->ballot;
    for (unsigned i = 0; i < LH_MEMBERS_MAX; i++)
        lease->blocked_by[i] = LH_BALLOT_NONE;
    struct lh_notice *notice = lh_machine_notify(effects, LH_NOTICE_BLOCKED, lease->id);
    notice->ballot = message->ballot;
    notice->at = deadline;
}

void lh_machine_on_waits(struct lh_machine *machine, unsigned member,
                         const struct lh_message *message)
{
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease != NULL)
        lh_set_add(&lease->waiters, member);
}
