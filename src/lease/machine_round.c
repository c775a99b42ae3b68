// A round of an attempt: its messages to every member that has not answered, the pauses after which
// they are sent again, and who refused. Nothing here decides what counts, and no length of a pause
// matters to safety: it only says how soon a lost datagram is made good.
#include "base/assert.h"
#include "lease/machine_internal.h"

#define RETRANSMIT_MIN (20 * LH_NS_PER_MS)
#define RETRANSMIT_MAX LH_NS_PER_S
#define RETRANSMITS_A_TTL 20 // at least, whatever is lost

void lh_machine_arm(struct lh_machine *machine, struct lh_lease *lease)
{
    struct lh_instant at = LH_NEVER;
    if (lease->want != LH_WANT_NOTHING || lease->reminders > 0)
        at = lh_earlier(at, lease->retry_at);
    if (lh_machine_attempting(lease))
        at = lh_earlier(at, lease->proposer.td);
    if (lease->proposer.held != LH_BALLOT_NONE)
        at = lh_earlier(at, lease->proposer.until);
    if (at.ns == LH_NEVER.ns)
        lh_wheel_cancel(&machine->wheel, &lease->timer);
    else
        lh_wheel_schedule(&machine->wheel, &lease->timer, at);
}

// The first pause before this round is sent again, or the one after `last`.
static struct lh_duration next_pause(const struct lh_machine *machine, const struct lh_lease *lease,
                                     struct lh_duration last)
{
    int64_t share = lease->ttl.ns / RETRANSMITS_A_TTL;
    int64_t least = share < RETRANSMIT_MIN ? share : RETRANSMIT_MIN;
    struct lh_duration most = lh_machine_in_range(share, 2 * machine->round.ns, RETRANSMIT_MAX);
    return lh_machine_in_range(last.ns > 0 ? 2 * last.ns : 4 * machine->round.ns, least, most.ns);
}

void lh_machine_sent(struct lh_machine *machine, struct lh_lease *lease, struct lh_duration last,
                     struct lh_instant now)
{
    lease->sent_at = now;
    if (lease->sendings < UINT8_MAX)
        lease->sendings++;
    lease->pause = next_pause(machine, lease, last);
    lease->retry_at = lh_after(now, lease->pause);
}

void lh_machine_begin_round(struct lh_machine *machine, struct lh_lease *lease,
                            struct lh_instant now)
{
    lease->answered = LH_SET_EMPTY;
    lease->refused = LH_SET_EMPTY;
    for (unsigned i = 0; i < LH_MEMBERS_MAX; i++) {
        lease->blocked_until[i] = LH_PAST;
        lease->blocked_by[i] = LH_BALLOT_NONE;
    }
    lease->reminders = 0;
    lease->sendings = 0;
    lh_machine_sent(machine, lease, (struct lh_duration){0}, now);
}

// --- sending ---

static struct lh_duration waited(const struct lh_lease *lease, struct lh_instant now)
{
    if (lease->waiting_since.ns == LH_NEVER.ns)
        return (struct lh_duration){0};
    int64_t ns = now.ns - lease->waiting_since.ns;
    return lh_machine_in_range(ns, LH_NS_PER_MS, INT64_MAX);
}

// The message of `phase`, to one member.
static void send_phase(struct lh_lease *lease, enum lh_phase phase, uint8_t to,
                       struct lh_instant now, struct lh_lease_effects *effects)
{
    const struct lh_proposer *proposer = &lease->proposer;
    struct lh_message *made;
    switch (phase) {
    case LH_IDLE: return;
    case LH_PREPARING:
        made = lh_machine_send(effects, to, LH_MESSAGE_PREPARE, lease->key, proposer->ballot);
        made->waited = waited(lease, now);
        break;
    case LH_ACCEPTING:
        made = lh_machine_send(effects, to, LH_MESSAGE_ACCEPT, lease->key, proposer->ballot);
        made->base = proposer->base;
        break;
    case LH_EXTENDING:
        made = lh_machine_send(effects, to, LH_MESSAGE_EXTEND, lease->key, proposer->held);
        made->stamp = proposer->stamp;
        break;
    default: LH_UNREACHABLE("a phase");
    }
    made->ttl = lease->ttl;
}

void lh_machine_broadcast(struct lh_machine *machine, struct lh_lease *lease, enum lh_phase phase,
                          struct lh_instant now, struct lh_lease_effects *effects)
{
    for (unsigned i = 0; i < machine->config.member_count; i++)
        if (!lh_set_has(lease->answered, i))
            send_phase(lease, phase, machine->config.members[i], now, effects);
}

void lh_machine_remind(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                       struct lh_lease_effects *effects)
{
    lease->reminders--;
    machine->counters.retransmits++;
    lh_machine_broadcast(machine, lease, LH_ACCEPTING, now, effects);
    lh_machine_sent(machine, lease, lease->pause, now);
}

// --- who refused ---

struct lh_instant lh_machine_free_at(const struct lh_machine *machine, const struct lh_lease *lease,
                                     unsigned helpers)
{
    struct lh_members_set left = lease->refused;
    struct lh_instant at = LH_PAST;
    for (; helpers < machine->quorum; helpers++) {
        unsigned soonest = LH_MEMBERS_MAX;
        for (unsigned i = 0; i < machine->config.member_count; i++)
            if (lh_set_has(left, i) &&
                (soonest == LH_MEMBERS_MAX ||
                 lh_before(lease->blocked_until[i], lease->blocked_until[soonest])))
                soonest = i;
        if (soonest == LH_MEMBERS_MAX)
            return LH_NEVER;
        at = lh_later(at, lease->blocked_until[soonest]);
        lh_set_remove(&left, soonest);
    }
    return at;
}

bool lh_machine_out_of_reach(const struct lh_machine *machine, const struct lh_lease *lease)
{
    return machine->config.member_count - lh_set_count(lease->refused) < machine->quorum;
}

bool lh_machine_all_answered(const struct lh_machine *machine, const struct lh_lease *lease)
{
    return lh_set_count(lease->answered) == machine->config.member_count;
}
