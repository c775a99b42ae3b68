// The driver's turn: see driver.h.
#include "host/driver.h"

#include "base/assert.h"
#include "base/cursor.h"
#include "base/memory.h"
#include "host/protocol.h"

#include <string.h>

#define FRAME_BYTES 3 // kind and length before every message
#define HELD_MAX 1024
#define HELD_BYTES_MAX 96 // lease messages and Recorded: all that ever wait for a write
#define SELF_BYTES (2 * LH_HOST_ARENA_BYTES) // what a node said to itself and has not heard yet
#define TIMER_STEPS 64

// What waits for a write.
struct held {
    uint64_t after;
    struct lh_instant made;
    uint8_t to;
    uint16_t size;
    uint8_t bytes[HELD_BYTES_MAX];
};

// Messages packed for one member.
struct outbox {
    uint16_t used; // behind the header, which is written last
    uint8_t bytes[LH_DATAGRAM_MAX];
};

struct lh_driver {
    struct lh_world world;
    struct lh_host *host;
    struct lh_driver_counters counters;
    uint64_t persisted;
    uint8_t node;
    uint8_t member_count;
    uint8_t members[LH_MEMBERS_MAX];
    unsigned held_count;
    uint32_t self_start, self_end;
    uint32_t ready_count; // sessions that were replied to and may have sent more, each once
    uint32_t *ready;
    bool *is_ready; // by session
    struct outbox outboxes[LH_MEMBERS_MAX];
    // From here on nothing is read before it was written.
    struct held held[HELD_MAX];
    uint8_t self[SELF_BYTES];
    struct lh_host_effects effects;
};

size_t lh_driver_size(const struct lh_host_config *config)
{
    return lh_aligned(sizeof(struct lh_driver)) +
           lh_aligned(sizeof(uint32_t) * config->max_clients) +
           lh_aligned(sizeof(bool) * config->max_clients) + lh_host_size(config);
}

static void show_counters(struct lh_driver *driver)
{
    const struct lh_driver_counters *counters = &driver->counters;
    lh_host_show_counter(driver->host, "datagrams-in", &counters->datagrams_in);
    lh_host_show_counter(driver->host, "datagrams-out", &counters->datagrams_out);
    lh_host_show_counter(driver->host, "messages-in", &counters->messages_in);
    lh_host_show_counter(driver->host, "messages-out", &counters->messages_out);
    lh_host_show_counter(driver->host, "datagrams-malformed", &counters->malformed);
    lh_host_show_counter(driver->host, "messages-held-full", &counters->held_full);
    lh_host_show_counter(driver->host, "messages-self-full", &counters->self_full);
}

struct lh_driver *lh_driver_init(void *memory, const struct lh_host_config *config,
                                 const struct lh_world *world)
{
    struct lh_driver *driver = memory;
    driver->world = *world;
    driver->node = config->node;
    driver->member_count = config->member_count;
    memcpy(driver->members, config->members, sizeof driver->members);
    uint8_t *rest = (uint8_t *)memory + lh_aligned(sizeof *driver);
    driver->ready = (uint32_t *)(void *)rest;
    rest += lh_aligned(sizeof(uint32_t) * config->max_clients);
    driver->is_ready = (bool *)rest;
    driver->host = lh_host_init(rest + lh_aligned(sizeof(bool) * config->max_clients), config);
    show_counters(driver);
    return driver;
}

void lh_driver_clear(struct lh_driver *driver)
{
    for (uint32_t i = 0; i < driver->ready_count; i++)
        driver->is_ready[driver->ready[i]] = false;
    lh_host_clear(driver->host);
    memset(driver, 0, offsetof(struct lh_driver, held));
}

const char *lh_driver_load(struct lh_driver *driver, struct lh_slice key, struct lh_slice value)
{
    return lh_host_load(driver->host, key, value);
}

// --- letting out ---

static void send_outbox(struct lh_driver *driver, unsigned member)
{
    struct outbox *outbox = &driver->outboxes[member];
    if (outbox->used == 0)
        return;
    uint8_t to = driver->members[member];
    uint8_t header[LH_HEADER_BYTES];
    struct lh_writer writer = lh_writer_of(header, sizeof header);
    lh_host_header(driver->host, to, driver->world.now(driver->world.context), &writer);
    LH_ASSERT(!writer.failed && lh_writer_left_bytes(&writer) == 0);
    memcpy(outbox->bytes, header, sizeof header);
    driver->counters.datagrams_out++;
    driver->world.send(driver->world.context, to,
                       lh_slice_of(outbox->bytes, sizeof header + outbox->used));
    outbox->used = 0;
}

static void trace(struct lh_driver *driver, struct lh_instant now, struct lh_trace made,
                  struct lh_slice framed)
{
    if (driver->world.trace != NULL && framed.data[0] <= LH_MESSAGE_LEASE_LAST &&
        lh_message_decode((enum lh_message_kind)framed.data[0],
                          lh_slice_of(framed.data + FRAME_BYTES, framed.size_bytes - FRAME_BYTES),
                          &made.message))
        driver->world.trace(driver->world.context, now, &made);
}

static void say_to_self(struct lh_driver *driver, struct lh_slice framed)
{
    if (framed.size_bytes > SELF_BYTES - driver->self_end) {
        memmove(driver->self, driver->self + driver->self_start,
                driver->self_end - driver->self_start);
        driver->self_end -= driver->self_start;
        driver->self_start = 0;
    }
    if (framed.size_bytes > SELF_BYTES - driver->self_end) { // like a datagram lost
        driver->counters.self_full++;
        return;
    }
    memcpy(driver->self + driver->self_end, framed.data, framed.size_bytes);
    driver->self_end += (uint32_t)framed.size_bytes;
}

// Packs a message for another member, or lays it by for this node itself.
static void let_out(struct lh_driver *driver, struct lh_instant now, struct lh_instant made,
                    uint8_t to, struct lh_slice framed)
{
    driver->counters.messages_out++;
    trace(driver, now, (struct lh_trace){.peer = to, .made = made}, framed);
    if (to == driver->node) {
        say_to_self(driver, framed);
        return;
    }
    for (unsigned i = 0; i < driver->member_count; i++) {
        if (driver->members[i] != to)
            continue;
        struct outbox *outbox = &driver->outboxes[i];
        if (LH_HEADER_BYTES + outbox->used + framed.size_bytes > LH_DATAGRAM_MAX)
            send_outbox(driver, i);
        LH_ASSERT_LE(framed.size_bytes, LH_DATAGRAM_MAX - LH_HEADER_BYTES);
        memcpy(outbox->bytes + LH_HEADER_BYTES + outbox->used, framed.data, framed.size_bytes);
        outbox->used = (uint16_t)(outbox->used + framed.size_bytes);
    }
}

static void hold(struct lh_driver *driver, struct lh_instant now, uint64_t after, uint8_t to,
                 struct lh_slice framed)
{
    LH_ASSERT_LE(framed.size_bytes, HELD_BYTES_MAX);
    if (driver->held_count == HELD_MAX) { // like a datagram lost
        driver->counters.held_full++;
        return;
    }
    trace(driver, now, (struct lh_trace){.held = true, .peer = to, .made = now}, framed);
    struct held *held = &driver->held[driver->held_count++];
    held->after = after;
    held->made = now;
    held->to = to;
    held->size = (uint16_t)framed.size_bytes;
    memcpy(held->bytes, framed.data, framed.size_bytes);
}

static void let_out_held(struct lh_driver *driver, struct lh_instant now)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < driver->held_count; i++) {
        struct held *held = &driver->held[i];
        if (held->after <= driver->persisted)
            let_out(driver, now, held->made, held->to, lh_slice_of(held->bytes, held->size));
        else
            driver->held[kept++] = *held;
    }
    driver->held_count = kept;
}

static void carry_out(struct lh_driver *driver, struct lh_instant now)
{
    const struct lh_host_effects *effects = &driver->effects;
    const struct lh_world *world = &driver->world;
    if (effects->pair_count > 0)
        world->persist(world->context, effects->persist, effects->pairs, effects->pair_count);
    for (unsigned i = 0; i < effects->send_count; i++) {
        const struct lh_host_send *send = &effects->sends[i];
        struct lh_slice framed = lh_slice_of(effects->arena + send->offset, send->size);
        if (send->after > driver->persisted)
            hold(driver, now, send->after, send->to, framed);
        else
            let_out(driver, now, now, send->to, framed);
    }
    for (unsigned i = 0; i < effects->reply_count; i++) {
        const struct lh_host_reply *reply = &effects->replies[i];
        world->reply(world->context, reply->session,
                     lh_slice_of(effects->arena + reply->offset, reply->size), reply->close);
        if (!driver->is_ready[reply->session])
            driver->ready[driver->ready_count++] = reply->session;
        driver->is_ready[reply->session] = true;
    }
    for (unsigned i = 0; world->event != NULL && i < effects->event_count; i++)
        world->event(world->context, now, &effects->events[i]);
}

static void step_once(struct lh_driver *driver, const struct lh_host_input *input)
{
    lh_host_effects_clear(&driver->effects);
    lh_host_step(driver->host, input, &driver->effects);
    carry_out(driver, input->now);
}

// A client that was answered may have sent its next command long ago.
static void go_on_with_session(struct lh_driver *driver, struct lh_instant now)
{
    uint32_t session = driver->ready[driver->ready_count - 1];
    struct lh_host_input input = {.kind = LH_INPUT_BYTES, .now = now, .session = session};
    driver->is_ready[session] = false;
    driver->ready_count--;
    step_once(driver, &input);
    if (driver->effects.again && !driver->is_ready[session]) {
        driver->ready[driver->ready_count++] = session;
        driver->is_ready[session] = true;
    }
}

// Hands the node the first of what it said to itself.
static void hear_self(struct lh_driver *driver, struct lh_instant now)
{
    uint8_t at[LH_DATAGRAM_MAX];
    size_t size = (size_t)FRAME_BYTES + lh_load_u16(driver->self + driver->self_start + 1);
    memcpy(at, driver->self + driver->self_start, size); // new messages may move the others
    struct lh_host_input input = {.kind = LH_INPUT_MESSAGE,
                                  .now = now,
                                  .node = driver->node,
                                  .message = at[0],
                                  .bytes = lh_slice_of(at + FRAME_BYTES, size - FRAME_BYTES)};
    trace(driver, now, (struct lh_trace){.received = true, .peer = driver->node, .made = now},
          lh_slice_of(at, size));
    driver->self_start += (uint32_t)size;
    step_once(driver, &input);
}

// Until nothing follows from the last step. A client's next command waits until the node has heard
// what it said to itself, so that clients cannot fill that queue.
static void settle(struct lh_driver *driver, struct lh_instant now)
{
    for (;;) {
        if (driver->self_start < driver->self_end)
            hear_self(driver, now);
        else if (driver->ready_count > 0)
            go_on_with_session(driver, now);
        else
            break;
    }
    driver->self_start = driver->self_end = 0;
}

static void step(struct lh_driver *driver, const struct lh_host_input *input)
{
    step_once(driver, input);
    settle(driver, input->now);
}

static struct lh_instant read_clock(const struct lh_driver *driver)
{
    return driver->world.now(driver->world.context);
}

// --- the turn ---

void lh_driver_start(struct lh_driver *driver)
{
    step(driver, &(struct lh_host_input){.kind = LH_INPUT_START, .now = read_clock(driver)});
}

void lh_driver_datagram(struct lh_driver *driver, uint8_t node, uint8_t generation,
                        struct lh_slice bytes)
{
    struct lh_host_input input = {.kind = LH_INPUT_DATAGRAM,
                                  .now = read_clock(driver),
                                  .node = node,
                                  .generation = generation,
                                  .bytes = bytes};
    driver->counters.datagrams_in++;
    step_once(driver, &input);
    bool accepted = driver->effects.accepted;
    settle(driver, input.now);
    struct lh_reader reader = lh_reader_of(bytes);
    lh_reader_take(&reader, LH_HEADER_BYTES);
    if (reader.failed)
        driver->counters.malformed++;
    if (!accepted)
        return;
    while (lh_reader_left_bytes(&reader) > 0) {
        const uint8_t *frame = reader.at;
        input.kind = LH_INPUT_MESSAGE;
        input.message = lh_reader_u8(&reader);
        input.bytes = lh_reader_slice(&reader, lh_reader_u16(&reader));
        if (reader.failed) {
            driver->counters.malformed++;
            return;
        }
        driver->counters.messages_in++;
        if (generation != 0) // else it says nothing of leases that is heard
            trace(driver, input.now,
                  (struct lh_trace){.received = true, .peer = node, .made = input.now},
                  lh_slice_of(frame, FRAME_BYTES + input.bytes.size_bytes));
        step(driver, &input);
    }
}

void lh_driver_open(struct lh_driver *driver, uint32_t session, bool local)
{
    step(driver,
         &(struct lh_host_input){
             .kind = LH_INPUT_OPEN, .now = read_clock(driver), .session = session, .local = local});
}

size_t lh_driver_room(const struct lh_driver *driver, uint32_t session)
{
    return lh_host_room(driver->host, session);
}

void lh_driver_backlog(struct lh_driver *driver, uint32_t session, bool backlogged)
{
    lh_host_backlog(driver->host, session, backlogged);
}

void lh_driver_bytes(struct lh_driver *driver, uint32_t session, struct lh_slice bytes)
{
    struct lh_host_input input = {
        .kind = LH_INPUT_BYTES, .now = read_clock(driver), .session = session, .bytes = bytes};
    step(driver, &input);
}

void lh_driver_close(struct lh_driver *driver, uint32_t session, bool ended)
{
    step(driver, &(struct lh_host_input){.kind = LH_INPUT_CLOSE,
                                         .now = read_clock(driver),
                                         .session = session,
                                         .ended = ended});
}

void lh_driver_persisted(struct lh_driver *driver, uint64_t number)
{
    struct lh_instant now = read_clock(driver);
    driver->persisted = number;
    if (lh_host_halted(driver->host) == NULL)
        let_out_held(driver, now);
    step(driver, &(struct lh_host_input){.kind = LH_INPUT_PERSISTED, .now = now, .number = number});
}

void lh_driver_timer(struct lh_driver *driver)
{
    for (unsigned i = 0; i < TIMER_STEPS; i++) {
        struct lh_instant now = read_clock(driver);
        if (lh_before(now, lh_host_deadline(driver->host)))
            return;
        step(driver, &(struct lh_host_input){.kind = LH_INPUT_TIMER, .now = now});
    }
}

void lh_driver_flush(struct lh_driver *driver)
{
    for (unsigned i = 0; i < driver->member_count; i++)
        send_outbox(driver, i);
}

struct lh_instant lh_driver_deadline(const struct lh_driver *driver)
{
    return lh_host_deadline(driver->host);
}

struct lh_host *lh_driver_host(struct lh_driver *driver)
{
    return driver->host;
}

const struct lh_driver_counters *lh_driver_counters(const struct lh_driver *driver)
{
    return &driver->counters;
}
