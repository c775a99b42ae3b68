// The many-lease machine: see machine.h. This file holds the slots, the dispatch and the timers.
#include "lease/machine.h"

#include "base/assert.h"
#include "base/memory.h"
#include "lease/machine_internal.h"

#include <string.h>

#define RESERVATION_MARGIN (UINT64_C(1) << 18) // ask for more this far ahead of need ..
#define RESERVATION_STEP (UINT64_C(1) << 20)   // .. and so much at a time

struct lh_message *lh_machine_send(struct lh_lease_effects *effects, uint8_t to,
                                   enum lh_message_kind kind, struct lh_key key, lh_ballot ballot)
{
    LH_ASSERT_LT(effects->send_count, LH_LEASE_SENDS_MAX);
    struct lh_send *send = &effects->sends[effects->send_count++];
    *send = (struct lh_send){.to = to, .message = {.kind = kind, .key = key, .ballot = ballot}};
    return &send->message;
}

struct lh_notice *lh_machine_notify(struct lh_lease_effects *effects, enum lh_notice_kind kind,
                                    uint32_t lease)
{
    LH_ASSERT_LT(effects->notice_count, LH_LEASE_NOTICES_MAX);
    struct lh_notice *notice = &effects->notices[effects->notice_count++];
    *notice = (struct lh_notice){.kind = kind, .lease = lease};
    return notice;
}

size_t lh_machine_size(const struct lh_machine_config *config)
{
    return lh_aligned(lh_acceptors_size(config->max_leases)) +
           lh_aligned(sizeof(struct lh_lease) * config->max_leases) +
           lh_aligned(sizeof(uint32_t) * lh_bucket_count(config->max_leases));
}

void lh_machine_init(struct lh_machine *machine, const struct lh_machine_config *config,
                     void *memory, struct lh_prng *prng, struct lh_instant now)
{
    LH_ASSERT(lh_timing_valid(config->timing));
    LH_ASSERT(config->member_count >= 1 && config->member_count <= LH_MEMBERS_MAX);
    LH_ASSERT(config->max_leases >= 1 && config->max_leases <= UINT32_C(1) << 30);
    uint8_t *leases = (uint8_t *)memory + lh_aligned(lh_acceptors_size(config->max_leases));
    uint8_t *buckets = leases + lh_aligned(sizeof(struct lh_lease) * config->max_leases);
    memset(machine, 0, offsetof(struct lh_machine, wheel));
    machine->config = *config;
    machine->quorum = config->member_count / 2u + 1;
    machine->prng = prng;
    lh_acceptors_init(&machine->acceptors, memory, config->max_leases);
    lh_wheel_init(&machine->wheel, now);
    machine->leases = (struct lh_lease *)(void *)leases;
    machine->buckets = (uint32_t *)(void *)buckets;
    machine->bucket_mask = lh_bucket_count(config->max_leases) - 1;
    machine->quarantine_until = LH_NEVER;
    machine->ceiling_turn = now;
    machine->round = (struct lh_duration){LH_NS_PER_MS};
}

void lh_machine_clear(struct lh_machine *machine)
{
    lh_acceptors_clear(&machine->acceptors);
    memset(machine->buckets, 0, ((size_t)machine->bucket_mask + 1) * sizeof machine->buckets[0]);
}

void lh_machine_serve(struct lh_machine *machine, struct lh_instant quarantine_until,
                      lh_ballot floor, uint64_t counter, uint64_t reserved,
                      struct lh_duration ceiling)
{
    machine->quarantine_until = quarantine_until;
    machine->acceptors.floor = floor;
    machine->seen = counter > machine->seen ? counter : machine->seen;
    machine->reserved = reserved;
    machine->asked_for = reserved;
    machine->ceiling = ceiling;
    machine->ceiling_wanted = ceiling;
    // What the last life answered for counts as answered just before this one began.
    machine->ceiling_recent = ceiling;
}

void lh_machine_restore_lease(struct lh_machine *machine, struct lh_lease *lease,
                              const struct lh_proposer *proposer, struct lh_duration ttl)
{
    LH_ASSERT(lease->proposer.held == LH_BALLOT_NONE && proposer->phase == LH_IDLE);
    lease->proposer = *proposer;
    lease->ttl = ttl;
    machine->held++;
    lh_wheel_schedule(&machine->wheel, &lease->timer, proposer->until);
}

void lh_machine_suspend(struct lh_machine *machine, struct lh_instant now)
{
    machine->suspended = true;
    for (uint32_t i = 0; i < machine->used; i++) {
        struct lh_lease *lease = &machine->leases[i];
        if (lease->want != LH_WANT_NOTHING || lease->proposer.held != LH_BALLOT_NONE ||
            lh_machine_attempting(lease))
            lh_wheel_schedule(&machine->wheel, &lease->timer, now);
    }
}

void lh_machine_resume(struct lh_machine *machine, struct lh_instant quarantine_until)
{
    machine->suspended = false;
    machine->quarantine_until = lh_later(machine->quarantine_until, quarantine_until);
}

void lh_machine_reserved(struct lh_machine *machine, uint64_t reserved)
{
    LH_ASSERT_GE(reserved, machine->reserved);
    machine->reserved = reserved;
    machine->asked_for = reserved > machine->asked_for ? reserved : machine->asked_for;
}

void lh_machine_ceiling_raised(struct lh_machine *machine, struct lh_duration ceiling)
{
    if (ceiling.ns <= machine->ceiling_wanted.ns && ceiling.ns > machine->ceiling.ns)
        machine->ceiling = ceiling;
}

void lh_machine_reserve_ahead(struct lh_machine *machine, uint64_t counter,
                              struct lh_lease_effects *effects)
{
    if (counter + RESERVATION_MARGIN <= machine->asked_for ||
        counter > LH_COUNTER_MAX - 2 * RESERVATION_STEP)
        return;
    machine->asked_for = counter + RESERVATION_STEP;
    lh_machine_notify(effects, LH_NOTICE_RESERVE, 0)->counter = machine->asked_for;
}

void lh_machine_observe(struct lh_machine *machine, uint64_t counter,
                        struct lh_lease_effects *effects)
{
    if (counter > machine->seen)
        machine->seen = counter;
    lh_machine_reserve_ahead(machine, counter, effects);
}

struct lh_lease *lh_machine_lease(struct lh_machine *machine, uint32_t id)
{
    LH_ASSERT(id >= 1 && id <= machine->used);
    return &machine->leases[id - 1];
}

static uint32_t *bucket_of(const struct lh_machine *machine, struct lh_key key)
{
    return &machine->buckets[key.word[0] & machine->bucket_mask];
}

struct lh_lease *lh_machine_find(struct lh_machine *machine, struct lh_key key)
{
    if (machine->count == 0) // an acceptor only: not even the buckets are touched, nor paid for
        return NULL;
    for (uint32_t at = *bucket_of(machine, key); at != 0; at = machine->leases[at - 1].next)
        if (lh_key_equal(machine->leases[at - 1].key, key))
            return &machine->leases[at - 1];
    return NULL;
}

struct lh_lease *lh_machine_open(struct lh_machine *machine, struct lh_key key)
{
    struct lh_lease *lease = lh_machine_find(machine, key);
    if (lease != NULL)
        return lease;
    uint32_t id = machine->free;
    if (id != 0)
        machine->free = machine->leases[id - 1].next;
    else if (machine->used < machine->config.max_leases)
        id = ++machine->used;
    else
        return NULL;
    lease = &machine->leases[id - 1];
    *lease = (struct lh_lease){.key = key, .id = id, .next = *bucket_of(machine, key)};
    *bucket_of(machine, key) = id;
    machine->count++;
    return lease;
}

void lh_machine_close(struct lh_machine *machine, struct lh_lease *lease)
{
    LH_ASSERT(lease->want == LH_WANT_NOTHING);
    LH_ASSERT(lease->proposer.held == LH_BALLOT_NONE);
    LH_ASSERT(lease->proposer.phase == LH_IDLE); // Accepts in flight are not forgotten
    lh_wheel_cancel(&machine->wheel, &lease->timer);
    uint32_t *link = bucket_of(machine, lease->key);
    while (*link != lease->id)
        link = &machine->leases[*link - 1].next;
    *link = lease->next;
    lease->next = machine->free;
    machine->free = lease->id;
    machine->count--;
}

// Requests name their sender in the ballot: only the owner proposes, extends and releases.
static bool sent_by_owner(uint8_t from, const struct lh_message *message)
{
    return lh_message_is_answer(message->kind) || message->kind == LH_MESSAGE_WAKE ||
           message->kind == LH_MESSAGE_WAITS || lh_ballot_node(message->ballot) == from;
}

// F1: by the argument of T3, a name at rest for the ceiling's quarantine is a restart already
// served. Not before this node serves: until then neither the ceiling nor the floor is known, while
// a clean restart (F4) has brought records back.
static void forget_idle(struct lh_machine *machine, struct lh_instant now)
{
    if (!machine->config.idle_forget)
        return;
    if (machine->quarantine_until.ns == LH_NEVER.ns)
        return;
    struct lh_duration quarantine =
        machine->config.quarantine_ceiling
            ? machine->ceiling_wanted // never below the durable one
            : lh_timing_quarantine(machine->config.timing, machine->config.timing.max_ttl);
    machine->counters.forgotten += lh_acceptors_forget(&machine->acceptors, now, quarantine);
}

void lh_machine_message(struct lh_machine *machine, uint8_t from, const struct lh_message *message,
                        struct lh_instant now, struct lh_lease_effects *effects)
{
    int acceptor = lh_machine_member(machine, from);
    if (acceptor < 0 || !sent_by_owner(from, message))
        return;
    if (machine->suspended) {
        machine->counters.dropped_clock++;
        return;
    }
    forget_idle(machine, now);
    switch (message->kind) {
    case LH_MESSAGE_PREPARE: lh_machine_on_prepare(machine, from, message, now, effects); break;
    case LH_MESSAGE_ACCEPT: lh_machine_on_accept(machine, from, message, now, effects); break;
    case LH_MESSAGE_EXTEND: lh_machine_on_extend(machine, from, message, now, effects); break;
    case LH_MESSAGE_RELEASE: lh_machine_on_release(machine, message, now, effects); break;
    case LH_MESSAGE_PROMISE:
        lh_machine_on_promise(machine, (unsigned)acceptor, message, now, effects);
        break;
    case LH_MESSAGE_ACCEPTED:
        lh_machine_on_accepted(machine, (unsigned)acceptor, message, now, effects);
        break;
    case LH_MESSAGE_EXTENDED:
        lh_machine_on_extended(machine, (unsigned)acceptor, message, now, effects);
        break;
    case LH_MESSAGE_REJECTED:
        lh_machine_on_rejected(machine, (unsigned)acceptor, message, now, effects);
        break;
    case LH_MESSAGE_WAKE: lh_machine_on_wake(machine, message, now, effects); break;
    case LH_MESSAGE_WAITS: lh_machine_on_waits(machine, (unsigned)acceptor, message); break;
    }
    lh_machine_check_invariants(machine);
}

void lh_machine_timer(struct lh_machine *machine, struct lh_instant now,
                      struct lh_lease_effects *effects)
{
    forget_idle(machine, now);
    lh_machine_ceiling_tick(machine, now, effects);
    struct lh_wheel_timer *timer = NULL;
    for (unsigned handled = 0; handled < LH_LEASE_TIMERS_A_STEP; handled++) {
        if (!lh_wheel_turn(&machine->wheel, now, LH_LEASE_MOVES_A_TIMER) ||
            !lh_wheel_expire(&machine->wheel, now, &timer))
            break;
        struct lh_lease *lease =
            (struct lh_lease *)(void *)((uint8_t *)timer - offsetof(struct lh_lease, timer));
        lh_machine_lease_due(machine, lease, now, effects);
    }
    lh_machine_check_invariants(machine);
}

struct lh_instant lh_machine_deadline(const struct lh_machine *machine)
{
    return lh_wheel_next(&machine->wheel);
}
