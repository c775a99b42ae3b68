// The driver's turn: receive, read the clock, step, queue what must be durable, let out what may
// go, arm one timer. The daemon and the simulator share it; what differs is the world below it
// (struct lh_world). It packs messages into datagrams, up to LH_DATAGRAM_MAX each, and sends them
// at the end of the turn; it holds back what waits for a write; it hands a node's messages to
// itself straight back.
#ifndef LH_HOST_DRIVER_H
#define LH_HOST_DRIVER_H

#include "host/host.h"
#include "host/save.h"

// One lease message that was sent or received, for --record.
struct lh_trace {
    bool received;
    bool held; // it was made, and is sent once a write is durable
    uint8_t peer;
    struct lh_instant made; // earlier than now if it was held
    struct lh_message message;
};

// The world below. Every function but `now` may be called during any lh_driver_ call and must not
// call back.
struct lh_world {
    void *context;
    // The node's clock, read now. Never decreases.
    struct lh_instant (*now)(void *context);
    // Sends the plain bytes of one datagram (header and messages) to member `to`, or drops them.
    void (*send)(void *context, uint8_t to, struct lh_slice bytes);
    // Queues a write; lh_driver_persisted(number) follows when it and all before it are durable.
    void (*persist)(void *context, uint64_t number, const struct lh_host_pair *pairs,
                    unsigned count);
    // Appends bytes to what `session` gets; `close` ends the connection after them.
    void (*reply)(void *context, uint32_t session, struct lh_slice bytes, bool close);
    // For the log and --record. May be NULL.
    void (*event)(void *context, struct lh_instant now, const struct lh_event *event);
    void (*trace)(void *context, struct lh_instant now, const struct lh_trace *trace);
};

// Shown in CLUSTER STATUS.
struct lh_driver_counters {
    uint64_t datagrams_in, datagrams_out, messages_in, messages_out;
    uint64_t malformed; // authentic datagrams whose framing makes no sense
    uint64_t held_full; // messages dropped because too many waited for a write
    uint64_t self_full; // messages to itself dropped because too many were on their way
};

struct lh_driver;

size_t lh_driver_size(const struct lh_host_config *config);

// `memory` is zeroed, 16-aligned, lh_driver_size() long and outlives the driver, which it becomes.
struct lh_driver *lh_driver_init(void *memory, const struct lh_host_config *config,
                                 const struct lh_world *world);

// Ends the driver: its memory may be another's of the same configuration. Costs what was used, so
// that a simulated node's start is cheap.
void lh_driver_clear(struct lh_driver *driver);

// One stored pair, before lh_driver_start. Returns NULL, or why not (lh_host_load).
const char *lh_driver_load(struct lh_driver *driver, struct lh_slice key, struct lh_slice value);

void lh_driver_start(struct lh_driver *driver);

// A datagram that the world below authenticated as from `node` in `generation`.
void lh_driver_datagram(struct lh_driver *driver, uint8_t node, uint8_t generation,
                        struct lh_slice bytes);

// `local` and, when it closes, `ended` are those of the inputs OPEN and CLOSE.
void lh_driver_open(struct lh_driver *driver, uint32_t session, bool local);

// How many bytes of `session` can be taken now; when 0, stop reading from it until it was replied
// to.
size_t lh_driver_room(const struct lh_driver *driver, uint32_t session);

// See lh_host_backlog.
void lh_driver_backlog(struct lh_driver *driver, uint32_t session, bool backlogged);
void lh_driver_bytes(struct lh_driver *driver, uint32_t session, struct lh_slice bytes);
void lh_driver_close(struct lh_driver *driver, uint32_t session, bool ended);
void lh_driver_persisted(struct lh_driver *driver, uint64_t number);

// Handles whatever is due, however late.
void lh_driver_timer(struct lh_driver *driver);

// Ends the turn: sends what was packed. Call after any number of the calls above, before sleeping.
void lh_driver_flush(struct lh_driver *driver);

// When lh_driver_timer wants to be called next; at or before now if it still has work.
struct lh_instant lh_driver_deadline(const struct lh_driver *driver);

struct lh_host *lh_driver_host(struct lh_driver *driver);
const struct lh_driver_counters *lh_driver_counters(const struct lh_driver *driver);

#endif
