// See conform_gate.h.
#include "check/conform_gate.h"

#include <stdlib.h>

#include "check/conform_convert.h"
#include "lease/machine.h"

struct lh_conform_gate {
    struct lh_machine machine;
    struct lh_prng prng;
    void *memory;
    struct lh_lease_effects effects;
};

enum { NODES = 5 }; // owners of ballots, and nobody

struct lh_conform_gate *lh_conform_gate_open(void)
{
    const struct lh_machine_config config = {.node = 1,
                                             .generation = LH_CONFORM_GENERATION,
                                             .member_count = NODES,
                                             .members = {1, 2, 3, 4, 5},
                                             .timing = {lh_ms(LH_TTL_MAX_MS), LH_RATE_PPM_MIN},
                                             .max_leases = 1};
    struct lh_conform_gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL)
        return NULL;
    gate->memory = calloc(1, lh_machine_size(&config));
    if (gate->memory == NULL) {
        lh_conform_gate_close(gate);
        return NULL;
    }
    lh_machine_init(&gate->machine, &config, gate->memory, &gate->prng, LH_PAST);
    lh_machine_serve(&gate->machine, LH_PAST, LH_BALLOT_NONE, 0, UINT64_C(1) << 40, lh_ms(1));
    return gate;
}

void lh_conform_gate_close(struct lh_conform_gate *gate)
{
    if (gate == NULL)
        return;
    free(gate->memory);
    free(gate);
}

static struct lh_conform_answer told(const struct lh_conform_gate *gate,
                                     const struct lh_conform_place *place)
{
    struct lh_conform_answer answer = {.verdict = LH_CONFORM_SILENT};
    if (gate->machine.counters.dropped_quarantine != 0)
        answer.verdict = LH_CONFORM_DROPPED;
    if (gate->effects.send_count == 0)
        return answer;
    const struct lh_message *message = &gate->effects.sends[0].message;
    switch (message->kind) {
    case LH_MESSAGE_PROMISE: answer.verdict = LH_CONFORM_PROMISED; break;
    case LH_MESSAGE_ACCEPTED: answer.verdict = LH_CONFORM_ACCEPTED; break;
    case LH_MESSAGE_EXTENDED: answer.verdict = LH_CONFORM_EXTENDED; break;
    case LH_MESSAGE_REJECTED: answer.verdict = LH_CONFORM_REJECTED; break;
    default: answer.verdict = LH_CONFORM_STRANGE; break;
    }
    if (gate->effects.send_count > 1)
        answer.verdict = LH_CONFORM_STRANGE;
    answer.promised = lh_conform_ballot_back(place, message->promised);
    answer.reported = lh_conform_ballot_back(place, message->reported);
    if (message->exclusion.ns != 0)
        answer.ends = lh_conform_instant_back(lh_after(lh_conform_now(place), message->exclusion));
    return answer;
}

struct lh_conform_answer lh_conform_gate_deliver(struct lh_conform_gate *gate,
                                                 const struct lh_conform_place *place,
                                                 struct lh_conform_acceptor *acceptor,
                                                 uint8_t quarantine, uint8_t from,
                                                 const struct lh_conform_delivery *delivery)
{
    static const enum lh_message_kind kinds[] = {[LH_CONFORM_PREPARE] = LH_MESSAGE_PREPARE,
                                                 [LH_CONFORM_ACCEPT] = LH_MESSAGE_ACCEPT,
                                                 [LH_CONFORM_RELEASE] = LH_MESSAGE_RELEASE,
                                                 [LH_CONFORM_EXTEND] = LH_MESSAGE_EXTEND};
    const struct lh_acceptor_record record = lh_conform_record(place, acceptor);
    struct lh_acceptor_record *kept =
        lh_acceptors_touch(&gate->machine.acceptors, record.key, LH_PAST);
    const struct lh_message message = {.kind = kinds[delivery->request],
                                       .key = record.key,
                                       .ballot = lh_conform_ballot(place, delivery->ballot),
                                       .base = lh_conform_ballot(place, delivery->base),
                                       .stamp = lh_conform_stamp(delivery->stamp),
                                       .ttl = lh_conform_duration(delivery->ttl)};
    *kept = record;
    gate->machine.quarantine_until = lh_conform_instant(quarantine);
    gate->machine.counters.dropped_quarantine = 0;
    gate->effects.send_count = 0;
    gate->effects.notice_count = 0;
    lh_machine_message(&gate->machine, lh_conform_node(place, from), &message,
                       lh_conform_now(place), &gate->effects);
    *acceptor = lh_conform_record_back(place, kept);
    return told(gate, place);
}
