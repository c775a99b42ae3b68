// What the machine's three files share: the acceptor's half, the proposer's half, and the slots.
#ifndef LH_LEASE_MACHINE_INTERNAL_H
#define LH_LEASE_MACHINE_INTERNAL_H

#include "lease/machine.h"

// Position of member `node` in the configuration, or -1 for a stranger.
static inline int lh_machine_member(const struct lh_machine *machine, uint8_t node)
{
    for (int i = 0; i < machine->config.member_count; i++)
        if (machine->config.members[i] == node)
            return i;
    return -1;
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
                           struct lh_instant now);
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
void lh_machine_on_wake(struct lh_machine *machine, const struct lh_message *message,
                        struct lh_instant now, struct lh_lease_effects *effects);
void lh_machine_lease_due(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                          struct lh_lease_effects *effects);

#endif
