// The embedded core of leasehold/core.h: the many-lease machine of src/lease with a header on its
// messages, and queues for what it wants sent and told.
//
// What must stay true:
//   - what the member says to itself is handed back within the same call;
//   - an answer counts only if it echoes this life of this member: another life may have promised
//     what this one knows nothing of;
//   - members with another M or rate error are refused: an acceptor that is timed more loosely would
//     let others in too early (T2).
#include "leasehold/core.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "lease/machine.h"

#define MAGIC 0x3143684cu // "LhC1"
#define SENDS_MOST 256
#define EVENTS_MOST 64

struct lh_core {
    struct lh_machine machine;
    struct lh_prng prng;
    struct lh_lease_effects effects; // of one call of the machine
    struct lh_timing timing;
    uint64_t cluster;
    uint64_t boot;
    uint64_t boots[LH_MEMBERS_MAX];        // the life of each member that was heard last
    uint64_t reserve_wanted, reserve_told; // beside the queue, since it must not be dropped
    unsigned send_first, send_count;
    struct lh_send sends[SENDS_MOST];
    unsigned own_first, own_count;
    struct lh_message own[SENDS_MOST]; // to this member
    unsigned event_first, event_count;
    struct lh_core_event events[EVENTS_MOST];
};

static struct lh_key key_of(struct lh_core_key key)
{
    return (struct lh_key){{lh_load_u64(key.bytes), lh_load_u64(key.bytes + 8)}};
}

static struct lh_core_key key_back(struct lh_key key)
{
    struct lh_core_key back;
    lh_store_u64(back.bytes, key.word[0]);
    lh_store_u64(back.bytes + 8, key.word[1]);
    return back;
}

static struct lh_instant at(int64_t ns)
{
    return (struct lh_instant){ns > 0 ? ns : 0};
}

// --- configuration ---

static bool configuration(const struct lh_core_config *config, struct lh_machine_config *ret)
{
    if (config->size_bytes < sizeof *config || config->member_count < 1 ||
        config->member_count > LH_CORE_MEMBERS_MAX || config->max_ttl_ms < LH_TTL_MIN_MS ||
        config->max_ttl_ms > LH_TTL_MAX_MS || config->max_leases < 1 ||
        config->max_leases > UINT32_C(1) << 30 || config->reserved > LH_COUNTER_MAX / 2)
        return false;
    bool member = false;
    for (unsigned i = 0; i < config->member_count; i++) {
        member = member || config->members[i] == config->node;
        if (config->members[i] == 0 || (i > 0 && config->members[i] <= config->members[i - 1]))
            return false;
    }
    *ret = (struct lh_machine_config){
        .node = config->node,
        .generation = 1,
        .member_count = config->member_count,
        .timing = {.max_ttl = lh_ms(config->max_ttl_ms), .rate_ppm = config->rate_ppm},
        .max_leases = config->max_leases,
    };
    memcpy(ret->members, config->members, config->member_count);
    return member && lh_timing_valid(ret->timing);
}

size_t lh_core_size(const struct lh_core_config *config)
{
    struct lh_machine_config machine;
    if (!configuration(config, &machine))
        return 0;
    return lh_aligned(sizeof(struct lh_core)) + lh_machine_size(&machine);
}

// --- what the machine wants ---

static void add_event(struct lh_core *core, struct lh_core_event event)
{
    if (core->event_count == EVENTS_MOST) {
        core->event_first = (core->event_first + 1) % EVENTS_MOST;
        core->event_count--;
    }
    core->events[(core->event_first + core->event_count++) % EVENTS_MOST] = event;
}

static void note(struct lh_core *core, const struct lh_notice *notice)
{
    static const enum lh_core_event_kind kinds[] = {
        [LH_NOTICE_ACQUIRED] = LH_CORE_ACQUIRED, [LH_NOTICE_RENEWED] = LH_CORE_RENEWED,
        [LH_NOTICE_BLOCKED] = LH_CORE_BLOCKED,   [LH_NOTICE_STALLED] = LH_CORE_STALLED,
        [LH_NOTICE_LOST] = LH_CORE_LOST,         [LH_NOTICE_WOKEN] = LH_CORE_WOKEN,
    };
    if (notice->kind == LH_NOTICE_CEILING) // F5 is off
        return;
    if (notice->kind == LH_NOTICE_RESERVE) {
        core->reserve_wanted = notice->counter;
        return;
    }
    const struct lh_lease *lease = lh_machine_lease(&core->machine, notice->lease);
    struct lh_core_event event = {
        .kind = kinds[notice->kind], .key = key_back(lease->key), .at_ns = notice->at.ns};
    if (notice->kind == LH_NOTICE_ACQUIRED || notice->kind == LH_NOTICE_RENEWED) {
        event.token = (int64_t)lease->proposer.token;
        event.at_ns = lease->proposer.until.ns;
    }
    add_event(core, event);
}

// Takes the effects of one call of the machine.
static void gather(struct lh_core *core)
{
    for (unsigned i = 0; i < core->effects.send_count; i++) {
        const struct lh_send *send = &core->effects.sends[i];
        if (send->to == core->machine.config.node && core->own_count < SENDS_MOST)
            core->own[(core->own_first + core->own_count++) % SENDS_MOST] = send->message;
        else if (send->to != core->machine.config.node && core->send_count < SENDS_MOST)
            core->sends[(core->send_first + core->send_count++) % SENDS_MOST] = *send;
    }
    for (unsigned i = 0; i < core->effects.notice_count; i++)
        note(core, &core->effects.notices[i]);
    core->effects.send_count = core->effects.notice_count = 0;
}

static void begin(struct lh_core *core)
{
    core->send_count = core->own_count = 0;
    core->effects.send_count = core->effects.notice_count = 0;
}

// What the member said to itself, until it has nothing more to say.
static void finish(struct lh_core *core, struct lh_instant now)
{
    gather(core);
    while (core->own_count > 0) {
        struct lh_message message = core->own[core->own_first];
        core->own_first = (core->own_first + 1) % SENDS_MOST;
        core->own_count--;
        lh_machine_message(&core->machine, core->machine.config.node, &message, now,
                           &core->effects);
        gather(core);
    }
}

enum lh_return lh_core_init(void *memory, size_t size_bytes, const struct lh_core_config *config,
                            int64_t now_ns, struct lh_core **ret_core)
{
    struct lh_machine_config machine;
    if (memory == NULL || (uintptr_t)memory % 16 != 0 || !configuration(config, &machine) ||
        size_bytes < lh_core_size(config))
        return LH_ARGUMENT;
    struct lh_instant now = at(now_ns);
    memset(memory, 0, lh_core_size(config));
    struct lh_core *core = memory;
    core->timing = machine.timing;
    core->cluster = config->cluster;
    lh_prng_seed(&core->prng, config->seed);
    for (unsigned i = 0; i < 8; i++) // until every byte of the seed matters
        core->boot = lh_prng_next(&core->prng) | 1;
    lh_machine_init(&core->machine, &machine, (uint8_t *)memory + lh_aligned(sizeof *core),
                    &core->prng, now);
    struct lh_duration quarantine = lh_timing_quarantine(machine.timing, machine.timing.max_ttl);
    struct lh_instant serves = config->first ? now : lh_after(now, quarantine);
    lh_ballot floor = config->reserved > 0 ? lh_ballot_ceiling(config->reserved) : LH_BALLOT_NONE;
    lh_machine_serve(&core->machine, serves, floor, config->reserved, config->reserved, quarantine);
    // Asks for the first block.
    lh_machine_observe(&core->machine, config->reserved, &core->effects);
    finish(core, now);
    *ret_core = core;
    return LH_OK;
}

// --- what is wanted ---

static bool valid_ttl(const struct lh_core *core, int64_t ttl_ms)
{
    return ttl_ms >= LH_TTL_MIN_MS && ttl_ms <= lh_floor_ms(core->timing.max_ttl);
}

static struct lh_lease *find(const struct lh_core *core, struct lh_core_key key)
{
    // The machine only reads; it has no const twin.
    return lh_machine_find((struct lh_machine *)&core->machine, key_of(key));
}

static struct lh_lease *held(const struct lh_core *core, struct lh_core_key key,
                             struct lh_instant now)
{
    struct lh_lease *lease = find(core, key);
    return lease != NULL && lh_proposer_holds(&lease->proposer, now) ? lease : NULL;
}

enum lh_return lh_core_acquire(struct lh_core *core, int64_t now_ns, struct lh_core_key key,
                               int64_t ttl_ms)
{
    struct lh_instant now = at(now_ns);
    if (!valid_ttl(core, ttl_ms))
        return LH_ARGUMENT;
    if (held(core, key, now) != NULL)
        return LH_STATE;
    struct lh_lease *lease = lh_machine_open(&core->machine, key_of(key));
    if (lease == NULL)
        return LH_FULL;
    begin(core);
    lh_machine_acquire(&core->machine, lease, now, lh_ms(ttl_ms), now, &core->effects);
    finish(core, now);
    return LH_OK;
}

enum lh_return lh_core_renew(struct lh_core *core, int64_t now_ns, struct lh_core_key key,
                             int64_t ttl_ms)
{
    struct lh_instant now = at(now_ns);
    struct lh_lease *lease = held(core, key, now);
    if (!valid_ttl(core, ttl_ms))
        return LH_ARGUMENT;
    if (lease == NULL)
        return LH_STATE;
    begin(core);
    lh_machine_renew(&core->machine, lease, now, lh_ms(ttl_ms), &core->effects);
    finish(core, now);
    return LH_OK;
}

enum lh_return lh_core_release(struct lh_core *core, int64_t now_ns, struct lh_core_key key)
{
    struct lh_instant now = at(now_ns);
    struct lh_lease *lease = held(core, key, now);
    // Accepts that are out would outlive a Release of the ballot they renew.
    if (lease == NULL || lease->proposer.phase == LH_ACCEPTING)
        return LH_STATE;
    begin(core);
    lh_machine_release(&core->machine, lease, now, &core->effects);
    finish(core, now);
    return LH_OK;
}

void lh_core_stop(struct lh_core *core, struct lh_core_key key)
{
    struct lh_lease *lease = find(core, key);
    if (lease != NULL)
        lh_machine_stop(&core->machine, lease);
}

bool lh_core_forget(struct lh_core *core, int64_t now_ns, struct lh_core_key key)
{
    struct lh_lease *lease = find(core, key);
    if (lease == NULL)
        return true;
    if (lease->want != LH_WANT_NOTHING || lease->proposer.phase != LH_IDLE ||
        lease->proposer.held != LH_BALLOT_NONE || held(core, key, at(now_ns)) != NULL)
        return false;
    lh_machine_close(&core->machine, lease);
    return true;
}

// --- what is held ---

bool lh_core_holds(const struct lh_core *core, int64_t now_ns, struct lh_core_key key)
{
    return held(core, key, at(now_ns)) != NULL;
}

int64_t lh_core_token(const struct lh_core *core, int64_t now_ns, struct lh_core_key key)
{
    const struct lh_lease *lease = held(core, key, at(now_ns));
    return lease != NULL ? (int64_t)lease->proposer.token : 0;
}

int64_t lh_core_until_ns(const struct lh_core *core, int64_t now_ns, struct lh_core_key key)
{
    const struct lh_lease *lease = held(core, key, at(now_ns));
    return lease != NULL ? lease->proposer.until.ns : 0;
}

// --- bytes ---

static unsigned index_of(const struct lh_core *core, uint8_t node)
{
    unsigned i = 0;
    while (i < core->machine.config.member_count && core->machine.config.members[i] != node)
        i++;
    return i;
}

bool lh_core_send(struct lh_core *core, uint8_t *ret_member,
                  unsigned char buffer[LH_CORE_MESSAGE_BYTES], size_t *ret_size_bytes)
{
    if (core->send_count == 0)
        return false;
    const struct lh_send *send = &core->sends[core->send_first];
    core->send_first = (core->send_first + 1) % SENDS_MOST;
    core->send_count--;
    struct lh_writer writer = lh_writer_of(buffer, LH_CORE_MESSAGE_BYTES);
    lh_writer_u32(&writer, MAGIC);
    lh_writer_u8(&writer, core->machine.config.node);
    lh_writer_u8(&writer, send->to);
    lh_writer_u64(&writer, core->cluster);
    lh_writer_u64(&writer, core->boot);
    lh_writer_u64(&writer, core->boots[index_of(core, send->to)]);
    lh_writer_u64(&writer, core->machine.seen); // T4
    lh_writer_u32(&writer, (uint32_t)lh_floor_ms(core->timing.max_ttl));
    lh_writer_u32(&writer, core->timing.rate_ppm);
    lh_message_encode(&writer, &send->message);
    LH_ASSERT(!writer.failed);
    *ret_member = send->to;
    *ret_size_bytes = lh_writer_size_bytes(&writer);
    return true;
}

enum lh_return lh_core_receive(struct lh_core *core, int64_t now_ns, const void *bytes,
                               size_t size_bytes)
{
    struct lh_instant now = at(now_ns);
    struct lh_reader reader = lh_reader_of(lh_slice_of(bytes, size_bytes));
    struct lh_message message;
    begin(core);
    uint32_t magic = lh_reader_u32(&reader);
    uint8_t from = lh_reader_u8(&reader);
    uint8_t to = lh_reader_u8(&reader);
    uint64_t cluster = lh_reader_u64(&reader);
    uint64_t boot = lh_reader_u64(&reader);
    uint64_t echo = lh_reader_u64(&reader);
    uint64_t counter = lh_reader_u64(&reader);
    uint32_t max_ttl_ms = lh_reader_u32(&reader);
    uint32_t rate_ppm = lh_reader_u32(&reader);
    uint8_t kind = lh_reader_u8(&reader);
    uint16_t size = lh_reader_u16(&reader);
    const uint8_t *body = lh_reader_take(&reader, size);
    unsigned peer = index_of(core, from);
    if (!lh_reader_done(&reader) || magic != MAGIC || cluster != core->cluster ||
        to != core->machine.config.node || from == to ||
        peer == core->machine.config.member_count || counter > LH_COUNTER_MAX ||
        max_ttl_ms != lh_floor_ms(core->timing.max_ttl) || rate_ppm != core->timing.rate_ppm ||
        kind < LH_MESSAGE_PREPARE || kind > LH_MESSAGE_LEASE_LAST ||
        !lh_message_decode((enum lh_message_kind)kind, lh_slice_of(body, size), &message))
        return LH_ARGUMENT;
    core->boots[peer] = boot;
    if (lh_message_is_answer(message.kind) && echo != core->boot)
        return LH_STALE;
    lh_machine_observe(&core->machine, counter, &core->effects);
    lh_machine_message(&core->machine, from, &message, now, &core->effects);
    finish(core, now);
    return LH_OK;
}

// --- time ---

int64_t lh_core_deadline_ns(const struct lh_core *core)
{
    return lh_machine_deadline(&core->machine).ns;
}

void lh_core_timer(struct lh_core *core, int64_t now_ns)
{
    begin(core);
    lh_machine_timer(&core->machine, at(now_ns), &core->effects);
    finish(core, at(now_ns));
}

void lh_core_reserved(struct lh_core *core, uint64_t reserved)
{
    if (reserved > core->machine.reserved && reserved <= core->machine.asked_for)
        lh_machine_reserved(&core->machine, reserved);
}

bool lh_core_event(struct lh_core *core, struct lh_core_event *ret_event)
{
    if (core->reserve_wanted > core->reserve_told) {
        core->reserve_told = core->reserve_wanted;
        *ret_event =
            (struct lh_core_event){.kind = LH_CORE_RESERVE, .reserve = core->reserve_wanted};
        return true;
    }
    if (core->event_count == 0)
        return false;
    *ret_event = core->events[core->event_first];
    core->event_first = (core->event_first + 1) % EVENTS_MOST;
    core->event_count--;
    return true;
}
