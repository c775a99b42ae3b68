// What the machine's five files share: the slots and the dispatch (machine.c), the acceptor's half,
// the proposer's half, the rounds of its attempts, and letting go.
#ifndef LH_LEASE_MACHINE_INTERNAL_H
#define LH_LEASE_MACHINE_INTERNAL_H

#include "base/assert.h"
#include "lease/machine.h"

// Position of member `node` in the configuration, or -1 for a stranger.
static inline int lh_machine_member(const struct lh_machine *machine, uint8_t node)
{
    for (int i = 0; i < machine->config.member_count; i++)
        if (machine->config.members[i] == node)
            return i;
    return -1;
}

// Each step ends in it.
static inline void lh_machine_check_invariants(const struct lh_machine *machine)
{
    LH_ASSERT(machine->counter <= machine->reserved);
    LH_ASSERT(machine->ceiling.ns <= machine->ceiling_wanted.ns);
    LH_ASSERT(machine->held <= machine->count);
    LH_ASSERT(machine->acceptors.count <= machine->acceptors.used);
}

struct lh_message *lh_machine_send(struct lh_lease_effects *effects, uint8_t to,
                                   enum lh_message_kind kind, struct lh_key key, lh_ballot ballot);
struct lh_notice *lh_machine_notify(struct lh_lease_effects *effects, enum lh_notice_kind kind,
                                    uint32_t lease);

// F2: asks for more counters when `counter` comes near what is reserved.
void lh_machine_reserve_ahead(struct lh_machine *machine, uint64_t counter,
                              struct lh_lease_effects *effects);

// Acceptor's half.
void lh_machine_on_prepare(struct lh_machine *machine, uint8_t from,
                           const struct lh_message *message, struct lh_instant now,
                           struct lh_lease_effects *effects);
void lh_machine_on_accept(struct lh_machine *machine, uint8_t from,
                          const struct lh_message *message, struct lh_instant now,
                          struct lh_lease_effects *effects);
void lh_machine_on_extend(struct lh_machine *machine, uint8_t from,
                          const struct lh_message *message, struct lh_instant now,
                          struct lh_lease_effects *effects);
void lh_machine_on_release(struct lh_machine *machine, const struct lh_message *message,
                           struct lh_instant now, struct lh_lease_effects *effects);
void lh_machine_ceiling_tick(struct lh_machine *machine, struct lh_instant now,
                             struct lh_lease_effects *effects);

// Proposer's half. `acceptor` is a position in the member list.
void lh_machine_on_promise(struct lh_machine *machine, unsigned acceptor,
                           const struct lh_message *message, struct lh_instant now,
                           struct lh_lease_effects *effects);
void lh_machine_on_accepted(struct lh_machine *machine, unsigned acceptor,
                            const struct lh_message *message, struct lh_instant now,
                            struct lh_lease_effects *effects);
void lh_machine_on_extended(struct lh_machine *machine, unsigned acceptor,
                            const struct lh_message *message, struct lh_instant now,
                            struct lh_lease_effects *effects);
void lh_machine_on_rejected(struct lh_machine *machine, unsigned acceptor,
                            const struct lh_message *message, struct lh_instant now,
                            struct lh_lease_effects *effects);
// Authority has ended without a renewal: say so, once.
void lh_machine_lose(struct lh_machine *machine, struct lh_lease *lease,
                     struct lh_lease_effects *effects);

// Letting go and handing over.
void lh_machine_let_go(struct lh_machine *machine, struct lh_key key, lh_ballot ballot,
                       struct lh_lease_effects *effects);
void lh_machine_send_release(struct lh_machine *machine, struct lh_key key, lh_ballot ballot,
                             struct lh_lease_effects *effects);
// What was let go last of `key`, as far as it is remembered.
lh_ballot lh_machine_let_go_last(struct lh_machine *machine, struct lh_key key);
// Somebody wants what was let go here, and may meet an acceptor that missed it.
void lh_machine_let_go_again(struct lh_machine *machine, struct lh_key key,
                             struct lh_lease_effects *effects);
// Whether `ballot` is among what kept a quorum from us last.
bool lh_machine_in_the_way(const struct lh_machine *machine, const struct lh_lease *lease,
                           lh_ballot ballot);
// When one tries whom the owner did not wake: after all whom it did.
struct lh_instant lh_machine_after_woken(const struct lh_machine *machine, struct lh_instant now);
// An Accept of another member came, new enough to win: whoever waits here waits behind it from now on,
// and its owner is told so. `deadline` is what our own record says.
void lh_machine_passed_to(struct lh_machine *machine, uint8_t from,
                          const struct lh_message *message, struct lh_instant deadline,
                          struct lh_lease_effects *effects);
// Of whoever waits here behind that lease: its owner need not have known of us when it let go.
void lh_machine_heard_release(struct lh_machine *machine, const struct lh_message *message,
                              struct lh_instant now, struct lh_lease_effects *effects);
void lh_machine_on_wake(struct lh_machine *machine, const struct lh_message *message,
                        struct lh_instant now, struct lh_lease_effects *effects);
void lh_machine_on_waits(struct lh_machine *machine, unsigned member,
                         const struct lh_message *message);
void lh_machine_lease_due(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                          struct lh_lease_effects *effects);

// Rounds.
static inline bool lh_machine_attempting(const struct lh_lease *lease)
{
    return lease->proposer.phase != LH_IDLE;
}

static inline struct lh_duration lh_machine_in_range(int64_t ns, int64_t least, int64_t most)
{
    return (struct lh_duration){ns < least ? least : ns > most ? most : ns};
}

// One timer a lease: the first of retransmission or back-off, td, and the end of authority.
void lh_machine_arm(struct lh_machine *machine, struct lh_lease *lease);

// A round was just sent, `last` after the time before (0: the first).
void lh_machine_sent(struct lh_machine *machine, struct lh_lease *lease, struct lh_duration last,
                     struct lh_instant now);
void lh_machine_begin_round(struct lh_machine *machine, struct lh_lease *lease,
                            struct lh_instant now);

// The message of `phase`, to every member that has not answered this round.
void lh_machine_broadcast(struct lh_machine *machine, struct lh_lease *lease, enum lh_phase phase,
                          struct lh_instant now, struct lh_lease_effects *effects);

// A member that missed the Accept of a lease that was won would report the one before it and help
// no renewal: it is sent again to who is silent, a redelivery to whom it had reached.
void lh_machine_remind(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                       struct lh_lease_effects *effects);

// When enough refusers will have let go, the earliest first, to make a quorum with `helpers` others;
// LH_NEVER if there are too few.
struct lh_instant lh_machine_free_at(const struct lh_machine *machine, const struct lh_lease *lease,
                                     unsigned helpers);

// Enough acceptors refused that this round cannot succeed.
bool lh_machine_out_of_reach(const struct lh_machine *machine, const struct lh_lease *lease);
bool lh_machine_all_answered(const struct lh_machine *machine, const struct lh_lease *lease);

#endif
