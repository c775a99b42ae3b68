// The host: see host.h. This file composes the parts and hands each input to the one it is for.
#include "host/host.h"

#include "base/assert.h"
#include "base/memory.h"
#include "host/host_internal.h"

#define TIMERS_A_STEP 16
#define TEXT_CHUNKS_A_LEASE 2
#define WATCHES_A_CLIENT 4

const char *lh_event_name(enum lh_event_kind kind)
{
    static const char *const names[] = {
#define LH_EVENT_TEXT(name, text) text,
        LH_EVENT_KINDS(LH_EVENT_TEXT)
#undef LH_EVENT_TEXT
    };
    return names[kind];
}

// --- memory ---

static struct lh_machine_config machine_config(const struct lh_host_config *config)
{
    struct lh_machine_config made = {
        .node = config->node,
        .member_count = config->member_count,
        .timing = config->timing,
        .max_leases = config->max_leases,
        .idle_forget = config->idle_forget,
        .one_round_renewal = config->one_round_renewal,
        .quarantine_ceiling = config->quarantine_ceiling,
    };
    memcpy(made.members, config->members, sizeof made.members);
    return made;
}

// Cuts the host's parts out of one block; with `host` NULL it only measures.
static size_t lay_out(struct lh_host *host, const struct lh_host_config *config)
{
    struct lh_machine_config machine = machine_config(config);
    uint8_t *base = (uint8_t *)host;
    size_t at = lh_aligned(sizeof(struct lh_host));
    size_t parts[7] = {
        lh_machine_size(&machine),
        sizeof(struct lh_tenant) * config->max_leases,
        sizeof(struct lh_text_chunk) * TEXT_CHUNKS_A_LEASE * config->max_leases,
        sizeof(struct lh_request) * (config->max_clients + LH_REQUESTS_OF_PEERS_MAX),
        sizeof(struct lh_query) * LH_QUERIES_MAX,
        sizeof(struct lh_session) * config->max_clients,
        sizeof(struct lh_watch) * WATCHES_A_CLIENT * config->max_clients,
    };
    void *starts[7] = {NULL};
    for (unsigned i = 0; i < 7; i++) {
        if (host != NULL)
            starts[i] = base + at;
        at += lh_aligned(parts[i]);
    }
    if (host == NULL)
        return at;
    lh_machine_init(&host->machine, &machine, starts[0], &host->prng, LH_PAST);
    host->tenants.tenants = starts[1];
    lh_texts_init(&host->tenants.texts, starts[2], TEXT_CHUNKS_A_LEASE * config->max_leases);
    host->requests.pool = starts[3];
    host->requests.capacity = config->max_clients + LH_REQUESTS_OF_PEERS_MAX;
    host->queries.pool = starts[4];
    host->sessions.sessions = starts[5];
    host->watches.pool = starts[6];
    host->watches.capacity = WATCHES_A_CLIENT * config->max_clients;
    return at;
}

size_t lh_host_size(const struct lh_host_config *config)
{
    return lay_out(NULL, config);
}

struct lh_host *lh_host_init(void *memory, const struct lh_host_config *config)
{
    struct lh_host *host = memory;
    host->config = *config;
    lh_prng_seed(&host->prng, config->entropy);
    do
        host->boot = lh_prng_next(&host->prng);
    while (host->boot == 0);
    lay_out(host, config);
    lh_wheel_init(&host->wheel, LH_PAST);
    lh_peers_init(host);
    lh_identity_init(host);
    return host;
}

void lh_host_clear(struct lh_host *host)
{
    memset(host->tenants.tenants, 0, host->machine.used * sizeof host->tenants.tenants[0]);
    for (uint32_t i = 0; i < host->config.max_clients; i++)
        host->sessions.sessions[i].open = false;
    lh_machine_clear(&host->machine);
    host->lease_effects.send_count = host->lease_effects.notice_count = 0;
    memset(host, 0, offsetof(struct lh_host, lease_effects));
}

void lh_host_show_counter(struct lh_host *host, const char *name, const uint64_t *value)
{
    LH_ASSERT_LT(host->shown_count, LH_HOST_SHOWN_MAX);
    host->shown[host->shown_count++] = (struct lh_host_shown){name, value};
}

// --- effects ---

uint8_t *lh_host_arena(struct lh_host_effects *effects, size_t size)
{
    LH_ASSERT_LE(size, LH_HOST_ARENA_BYTES - effects->arena_used);
    uint8_t *at = effects->arena + effects->arena_used;
    effects->arena_used += (uint32_t)size;
    return at;
}

bool lh_host_has_room(const struct lh_host_effects *effects)
{
    return effects->send_count < LH_HOST_SENDS_MAX / 2 &&
           effects->reply_count < LH_HOST_REPLIES_MAX / 2 &&
           effects->event_count < LH_HOST_EVENTS_MAX / 2 &&
           effects->arena_used < LH_HOST_ARENA_BYTES / 2;
}

struct lh_event *lh_host_event(struct lh_host_effects *effects, enum lh_event_kind kind)
{
    LH_ASSERT_LT(effects->event_count, LH_HOST_EVENTS_MAX);
    struct lh_event *event = &effects->events[effects->event_count++];
    *event = (struct lh_event){.kind = kind};
    return event;
}

static void commit_send(struct lh_host_effects *effects, uint8_t to, uint64_t after,
                        const struct lh_writer *writer)
{
    LH_ASSERT(!writer->failed);
    LH_ASSERT_LT(effects->send_count, LH_HOST_SENDS_MAX);
    effects->sends[effects->send_count++] =
        (struct lh_host_send){.to = to,
                              .after = after,
                              .offset = (uint32_t)(writer->start - effects->arena),
                              .size = (uint32_t)lh_writer_size_bytes(writer)};
    effects->arena_used += (uint32_t)lh_writer_size_bytes(writer);
}

static struct lh_writer arena_writer(struct lh_host_effects *effects)
{
    return lh_writer_of(effects->arena + effects->arena_used,
                        LH_HOST_ARENA_BYTES - effects->arena_used);
}

void lh_host_send_lease(struct lh_host_effects *effects, uint8_t to,
                        const struct lh_message *message, uint64_t after)
{
    struct lh_writer writer = arena_writer(effects);
    lh_message_encode(&writer, message);
    commit_send(effects, to, after, &writer);
}

void lh_host_send(struct lh_host_effects *effects, uint8_t to,
                  const struct lh_host_message *message, uint64_t after)
{
    struct lh_writer writer = arena_writer(effects);
    lh_host_message_encode(&writer, message);
    commit_send(effects, to, after, &writer);
}

uint64_t lh_host_persist(struct lh_host *host, struct lh_host_effects *effects, struct lh_slice key,
                         struct lh_slice value)
{
    LH_ASSERT_LT(effects->pair_count, LH_HOST_PAIRS_MAX);
    if (effects->pair_count == 0)
        effects->persist = ++host->persist_number;
    struct lh_host_pair *pair = &effects->pairs[effects->pair_count++];
    pair->key_size = (uint8_t)key.size_bytes;
    memcpy(pair->key, key.data, key.size_bytes);
    pair->value_size = (uint8_t)value.size_bytes;
    memcpy(pair->value, value.data, value.size_bytes);
    return effects->persist;
}

// Ceilings first: the marked sends wait for the write that they ask for.
static void settle_durable(struct lh_host *host, const struct lh_lease_effects *wanted,
                           struct lh_host_effects *effects)
{
    // Until it acts a node issues nothing; what it begins with is exactly what its last write made
    // durable.
    if (!lh_identity_acts(&host->identity))
        return;
    for (unsigned i = 0; i < wanted->notice_count; i++) {
        const struct lh_notice *notice = &wanted->notices[i];
        if (notice->kind == LH_NOTICE_RESERVE)
            lh_identity_reserve(host, notice->counter, effects);
        if (notice->kind == LH_NOTICE_CEILING)
            host->ceiling_write = lh_identity_raise_ceiling(host, notice->quarantine, effects);
    }
}

void lh_host_settle(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects)
{
    // The parts that are told may call the machine again: what it wants now is taken away first.
    struct lh_lease_effects *wanted = &host->lease_effects;
    struct lh_notice notices[LH_LEASE_NOTICES_MAX];
    unsigned notice_count = wanted->notice_count;
    settle_durable(host, wanted, effects);
    for (unsigned i = 0; i < wanted->send_count; i++)
        lh_host_send_lease(effects, wanted->sends[i].to, &wanted->sends[i].message,
                           wanted->sends[i].after_ceiling ? host->ceiling_write : 0);
    memcpy(notices, wanted->notices, notice_count * sizeof notices[0]);
    wanted->send_count = wanted->notice_count = 0;
    for (unsigned i = 0; i < notice_count; i++)
        lh_tenant_notice(host, &notices[i], now, effects);
}

struct lh_key lh_host_key(const struct lh_host *host, struct lh_slice name)
{
    uint8_t hash[16];
    host->config.hash_name(host->config.hash_context, name, hash);
    return (struct lh_key){{lh_load_u64(hash), lh_load_u64(hash + 8)}};
}

// --- inputs ---

const char *lh_host_load(struct lh_host *host, struct lh_slice key, struct lh_slice value)
{
    if (key.size_bytes == 1 && key.data[0] == 'I')
        return lh_identity_load(host, value);
    if (key.size_bytes >= 1 && key.data[0] == 'P')
        return lh_peers_load(host, key, value)
                   ? NULL
                   : "what is stored about another member in this data directory cannot be read: "
                     "remove the directory; the node then joins as a replacement";
    return NULL; // a later version's: kept, not read
}

static void on_start(struct lh_host *host, const struct lh_host_input *input,
                     struct lh_host_effects *effects)
{
    host->started_at = input->now;
    lh_identity_start(host, input->now, effects);
    host->tick_at = input->now;
}

// A node that is not admitted sends and believes nothing about leases.
static void on_lease_message(struct lh_host *host, const struct lh_host_input *input,
                             struct lh_host_effects *effects)
{
    struct lh_message message;
    if (!lh_message_decode((enum lh_message_kind)input->message, input->bytes, &message)) {
        host->bad_messages++;
        return;
    }
    if (!lh_identity_acts(&host->identity))
        return;
    lh_machine_message(&host->machine, input->node, &message, input->now, &host->lease_effects);
    lh_host_settle(host, input->now, effects);
}

static void on_host_message(struct lh_host *host, const struct lh_host_input *input,
                            struct lh_host_effects *effects)
{
    struct lh_host_message message;
    if (!lh_host_message_decode((enum lh_host_message_kind)input->message, input->bytes,
                                &message)) {
        host->bad_messages++;
        return;
    }
    lh_peers_message(host, input->node, &message, input->now, effects);
    lh_identity_message(host, input->node, &message, effects);
    if (lh_identity_acts(&host->identity))
        lh_query_message(host, input->node, &message, input->now, effects);
}

// Of a peer that has no generation yet only what admits nodes is heard: its questions, and its
// answers to ours.
static bool admissible(struct lh_host *host, const struct lh_host_input *input)
{
    if (lh_peers_find(host, input->node) == NULL)
        return false;
    if (input->generation != 0 || input->node == host->config.node)
        return true;
    bool answer = input->message == LH_HOST_KNOWN || input->message == LH_HOST_RECORDED;
    return input->message == LH_HOST_ASK || input->message == LH_HOST_ANNOUNCE ||
           input->message == LH_HOST_REFUSAL || (answer && host->peers.joiner_echoes);
}

static void on_message(struct lh_host *host, const struct lh_host_input *input,
                       struct lh_host_effects *effects)
{
    if (host->halted != NULL || !admissible(host, input))
        return;
    if (input->message <= LH_MESSAGE_LEASE_LAST)
        on_lease_message(host, input, effects);
    else
        on_host_message(host, input, effects);
}

// The wheel holds timers of three kinds; each lies in an array, which tells whose it is.
static void dispatch(struct lh_host *host, struct lh_wheel_timer *timer, struct lh_instant now,
                     struct lh_host_effects *effects)
{
    uint8_t *at = (uint8_t *)timer;
    uint8_t *tenants = (uint8_t *)host->tenants.tenants;
    uint8_t *requests = (uint8_t *)host->requests.pool;
    uint8_t *queries = (uint8_t *)host->queries.pool;
    if (at >= queries && at < (uint8_t *)(host->queries.pool + LH_QUERIES_MAX)) {
        lh_query_due(host, &host->queries.pool[(size_t)(at - queries) / sizeof(struct lh_query)],
                     now, effects);
    } else if (at >= requests && at < (uint8_t *)(host->requests.pool + host->requests.capacity)) {
        lh_tenant_request_due(
            host, &host->requests.pool[(size_t)(at - requests) / sizeof(struct lh_request)], now,
            effects);
    } else {
        lh_tenant_due(host, (uint32_t)((size_t)(at - tenants) / sizeof(struct lh_tenant)) + 1, now,
                      effects);
    }
}

static void on_timer(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects)
{
    lh_machine_timer(&host->machine, now, &host->lease_effects);
    lh_host_settle(host, now, effects);
    struct lh_wheel_timer *timer = NULL;
    for (unsigned i = 0; i < TIMERS_A_STEP && lh_host_has_room(effects) &&
                         lh_wheel_turn(&host->wheel, now, LH_LEASE_MOVES_A_TIMER) &&
                         lh_wheel_expire(&host->wheel, now, &timer);
         i++)
        dispatch(host, timer, now, effects);
    lh_tenant_let_go_orphans(host, now, effects);
    if (!lh_before(now, host->tick_at)) {
        lh_clocks_tick(host, now, effects);
        struct lh_instant at = lh_peers_tick(host, now, effects);
        host->tick_at = lh_earlier(at, lh_identity_tick(host, now, effects));
    }
}

void lh_host_step(struct lh_host *host, const struct lh_host_input *input,
                  struct lh_host_effects *effects)
{
    struct lh_instant now = input->now;
    switch (input->kind) {
    case LH_INPUT_START: on_start(host, input, effects); break;
    case LH_INPUT_DATAGRAM:
        effects->accepted =
            lh_peers_receive(host, input->node, input->generation, input->bytes, now, effects);
        break;
    case LH_INPUT_MESSAGE: on_message(host, input, effects); break;
    case LH_INPUT_OPEN: lh_session_open(host, input->session, input->local); break;
    case LH_INPUT_BYTES: lh_session_bytes(host, input->session, input->bytes, now, effects); break;
    case LH_INPUT_CLOSE: lh_session_close(host, input->session, input->ended, now, effects); break;
    case LH_INPUT_PERSISTED:
        host->persisted_number = input->number;
        lh_identity_persisted(host, now, effects);
        host->tick_at = now;
        break;
    case LH_INPUT_TIMER: on_timer(host, now, effects); break;
    }
    if (host->halted != NULL) // it says nothing any more
        effects->send_count = 0;
    LH_ASSERT(host->lease_effects.send_count == 0 && host->lease_effects.notice_count == 0);
}

struct lh_instant lh_host_deadline(const struct lh_host *host)
{
    if (host->tenants.orphans != 0)
        return LH_PAST;
    struct lh_instant at = lh_earlier(lh_wheel_next(&host->wheel), host->tick_at);
    return lh_earlier(at, lh_machine_deadline(&host->machine));
}

size_t lh_host_room(const struct lh_host *host, uint32_t session)
{
    return lh_session_room(&host->sessions.sessions[session]);
}

void lh_host_backlog(struct lh_host *host, uint32_t session, bool backlogged)
{
    host->sessions.sessions[session].backlogged = backlogged;
}

void lh_host_header(struct lh_host *host, uint8_t to, struct lh_instant now,
                    struct lh_writer *writer)
{
    const struct lh_peer *peer = lh_peers_find(host, to);
    const struct lh_machine *machine = &host->machine;
    struct lh_header header = {
        .member_epoch = host->config.member_epoch,
        .members_tag = host->peers.members_tag,
        .start = lh_host_generation(host) != 0 ? host->identity.start : 0,
        .boot = host->boot,
        .echo_boot = peer->boot,
        .stamp = (uint64_t)now.ns,
        .echo_stamp = (uint64_t)peer->stamp.ns,
        .echo_held = peer->stamp.ns != 0 ? (uint64_t)lh_left(peer->stamp_at, now).ns : 0,
        .counter = machine->seen > machine->counter ? machine->seen : machine->counter,
        .max_ttl_ms = (uint32_t)lh_floor_ms(host->config.timing.max_ttl),
        .rate_ppm = host->config.timing.rate_ppm,
    };
    lh_header_write(writer, &header);
}

uint8_t lh_host_generation(const struct lh_host *host)
{
    return lh_identity_acts(&host->identity) ? host->identity.generation : 0;
}

const char *lh_host_halted(const struct lh_host *host)
{
    return host->halted;
}
