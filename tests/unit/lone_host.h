// A cluster of one, in memory: the pure host with its effects carried out at once and what it sends
// to itself handed back, so that a test (or a fuzzer) speaks to it as a client does and nothing is
// left out but the wire. Time stands still unless the test moves it.
#ifndef LH_TESTS_LONE_HOST_H
#define LH_TESTS_LONE_HOST_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/resp.h"
#include "base/text.h"
#include "host/command.h"

#define LONE_CLIENTS 8
#define LONE_OUTPUT_BYTES (1 << 20)
#define LONE_QUEUE_MAX 4096

struct lone_message {
    uint8_t kind;
    uint16_t size;
    uint8_t body[2048];
};

struct lone_client {
    bool open, closed; // closed: the host ended the connection
    size_t used;       // of `output`, not yet taken
    uint8_t *output;
};

struct lone_host {
    struct lh_host *host;
    struct lh_host_config config;
    struct lh_host_effects *effects;
    struct lh_instant now;
    struct lone_client clients[LONE_CLIENTS];
    struct lone_message *queue;
    size_t head, count;
    bool again;
    bool deaf; // what the host sends to itself is lost: no majority answers
    bool slow; // it is kept, and handed back by the next step that is not slow
    bool full; // more is kept than there is room for: what comes then may be lost
};

static inline void lone_hash(void *context, struct lh_slice name, uint8_t ret_hash[16])
{
    uint64_t hash = lh_hash_bytes(LH_HASH_START, name);
    (void)context;
    lh_store_u64(ret_hash, hash);
    lh_store_u64(ret_hash + 8, ~hash);
}

static inline void lone_enqueue(struct lone_host *lone, const struct lh_host_send *send)
{
    const uint8_t *framed = lone->effects->arena + send->offset;
    LH_ASSERT(send->size >= 3 && send->to == lone->config.node);
    if (lone->full && lone->count == LONE_QUEUE_MAX)
        return;
    LH_ASSERT_LT(lone->count, LONE_QUEUE_MAX);
    struct lone_message *message = &lone->queue[(lone->head + lone->count++) % LONE_QUEUE_MAX];
    message->kind = framed[0];
    message->size = lh_load_u16(framed + 1);
    LH_ASSERT_EQ(message->size + 3u, send->size);
    memcpy(message->body, framed + 3, message->size);
}

static inline void lone_carry_out(struct lone_host *lone, uint64_t *ret_persist)
{
    const struct lh_host_effects *effects = lone->effects;
    *ret_persist = effects->pair_count > 0 ? effects->persist : 0;
    for (unsigned i = 0; i < effects->send_count && !lone->deaf; i++)
        lone_enqueue(lone, &effects->sends[i]);
    for (unsigned i = 0; i < effects->reply_count; i++) {
        const struct lh_host_reply *reply = &effects->replies[i];
        struct lone_client *client = &lone->clients[reply->session];
        LH_ASSERT(client->open && !client->closed);
        LH_ASSERT_LE(client->used + reply->size, LONE_OUTPUT_BYTES);
        memcpy(client->output + client->used, effects->arena + reply->offset, reply->size);
        client->used += reply->size;
        client->closed = client->closed || reply->close;
    }
    lone->again = effects->again;
}

static inline void lone_input(struct lone_host *lone, struct lh_host_input input)
{
    uint64_t persist = 0;
    input.now = lone->now;
    lh_host_effects_clear(lone->effects);
    lh_host_step(lone->host, &input, lone->effects);
    lone_carry_out(lone, &persist);
    if (persist != 0)
        lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_PERSISTED, .number = persist});
}

// Hands back what the host sent to itself, until it is quiet.
static inline void lone_settle(struct lone_host *lone)
{
    bool again = lone->again;
    while (lone->count > 0 && !lone->slow) {
        struct lone_message message = lone->queue[lone->head];
        lone->head = (lone->head + 1) % LONE_QUEUE_MAX;
        lone->count--;
        lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_MESSAGE,
                                                .node = lone->config.node,
                                                .generation = lh_host_generation(lone->host),
                                                .message = message.kind,
                                                .bytes = {message.body, message.size}});
        again = again || lone->again;
    }
    lone->again = again;
}

// Moves the clock on, timer by timer. A host that wants its timer again and again at one instant
// would keep a processor busy for ever.
static inline void lone_advance(struct lone_host *lone, int64_t ms)
{
    struct lh_instant end = lh_after(lone->now, lh_ms(ms));
    unsigned in_a_row = 0;
    for (;;) {
        lone_settle(lone);
        struct lh_instant next = lh_host_deadline(lone->host);
        if (lh_before(end, next))
            break;
        in_a_row = lh_before(lone->now, next) ? 0 : in_a_row + 1;
        LH_ASSERT_LT(in_a_row, 1000);
        lone->now = lh_later(lone->now, next);
        lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_TIMER});
    }
    lone->now = end;
}

// A new life in the same memory, with nothing remembered: cheaper than another host.
static inline void lone_restart(struct lone_host *lone)
{
    void *memory = lone->host;
    memset(memory, 0, lh_host_size(&lone->config));
    lone->host = lh_host_init(memory, &lone->config);
    lone->now = (struct lh_instant){LH_NS_PER_S};
    lone->head = lone->count = 0;
    lone->again = lone->deaf = lone->slow = false;
    for (unsigned i = 0; i < LONE_CLIENTS; i++)
        lone->clients[i].open = false;
    lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_START});
    // A single node serves its quarantine first.
    lone_advance(lone, 2 * lh_floor_ms(lone->config.timing.max_ttl));
    LH_ASSERT_EQ(lone->host->identity.state, LH_IDENTITY_SERVING);
}

static inline struct lone_host *lone_host_open_for(struct lh_duration max_ttl, uint32_t max_leases)
{
    struct lone_host *lone = calloc(1, sizeof *lone);
    lone->config = (struct lh_host_config){
        .node = 1,
        .member_count = 1,
        .members = {1},
        .member_epoch = 1,
        .timing = {max_ttl, 10000},
        .max_leases = max_leases,
        .max_clients = LONE_CLIENTS,
        .entropy = {1, 2, 3},
        .hash_name = lone_hash,
        .version = LH_SLICE("0.1.0"),
    };
    lone->effects = calloc(1, sizeof *lone->effects);
    lone->queue = calloc(LONE_QUEUE_MAX, sizeof *lone->queue);
    lone->host = malloc(lh_host_size(&lone->config)); // 16-aligned
    for (unsigned i = 0; i < LONE_CLIENTS; i++)
        lone->clients[i].output = malloc(LONE_OUTPUT_BYTES);
    lone_restart(lone);
    return lone;
}

static inline struct lone_host *lone_host_open(struct lh_duration max_ttl)
{
    return lone_host_open_for(max_ttl, 64);
}

static inline void lone_host_close(struct lone_host *lone)
{
    if (lone == NULL)
        return;
    for (unsigned i = 0; i < LONE_CLIENTS; i++)
        free(lone->clients[i].output);
    free(lone->queue);
    free(lone->effects);
    free(lone->host);
    free(lone);
}

static inline void lone_connect(struct lone_host *lone, uint32_t client)
{
    lone->clients[client].open = true;
    lone->clients[client].closed = false;
    lone->clients[client].used = 0;
    lone_input(lone,
               (struct lh_host_input){.kind = LH_INPUT_OPEN, .session = client, .local = true});
}

static inline void lone_disconnect(struct lone_host *lone, uint32_t client)
{
    lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_CLOSE, .session = client});
    lone->clients[client].open = false;
    lone_settle(lone);
}

// One step with bytes, in memory of just their size, as the driver hands them in.
static inline void lone_bytes(struct lone_host *lone, uint32_t client, const void *bytes,
                              size_t size)
{
    uint8_t *exact = malloc(size);
    if (size > 0)
        memcpy(exact, bytes, size);
    lone_input(lone, (struct lh_host_input){
                         .kind = LH_INPUT_BYTES, .session = client, .bytes = {exact, size}});
    free(exact);
}

// Hands in bytes as a driver does: as many as there is room for, then none as long as more commands
// wait. Returns how many were taken; the rest would wait in the socket.
static inline size_t lone_send(struct lone_host *lone, uint32_t client, const void *bytes,
                               size_t size)
{
    size_t taken = 0;
    while (!lone->clients[client].closed) {
        size_t room = lh_host_room(lone->host, client);
        size_t part = size - taken < room ? size - taken : room;
        lone_bytes(lone, client, (const uint8_t *)bytes + taken, part);
        taken += part;
        lone_settle(lone);
        bool go_on = lone->again || (taken < size && lh_host_room(lone->host, client) > 0);
        if (!go_on)
            break;
    }
    return taken;
}

// A command's line. Returns all that was answered, which is something, valid until the next.
__attribute__((format(printf, 3, 4))) static inline const char *
lone_tell(struct lone_host *lone, uint32_t client, const char *format, ...)
{
    char line[160];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    struct lone_client *from = &lone->clients[client];
    from->used = 0;
    lone_send(lone, client, line, (size_t)size);
    LH_ASSERT(from->used > 0 && from->used < LONE_OUTPUT_BYTES);
    from->output[from->used] = 0;
    return (const char *)from->output;
}

#endif
