// The host: leases, identity, peers and client sessions of one node, composed into one step
// machine.
//
//     step(host, input{now, one event}, effects)      deadline(host) -> when to call again
//
// Time, randomness and memory come from outside; nothing here calls the system, logs or allocates.
// Whoever drives it (driver.h: the daemon and the simulator alike) carries the effects out in their
// order. What must stay true: no answer that rests on something durable leaves before it is
// durable, and nothing from a peer counts before its boot, generation, members and timing were
// checked.
#ifndef LH_HOST_HOST_H
#define LH_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/time.h"
#include "lease/machine.h"

#define LH_KEY_BYTES_MAX 4     // a durable pair's key
#define LH_VALUE_BYTES_MAX 128 // and its value
// Plain bytes of one datagram: with seal and UDP header it fits an Ethernet frame.
#define LH_DATAGRAM_MAX 1400

struct lh_host_config {
    uint8_t node;
    uint8_t member_count;
    uint8_t members[LH_MEMBERS_MAX]; // ascending
    uint32_t member_epoch;
    uint8_t cluster_id[16];
    struct lh_timing timing;
    uint32_t max_leases;
    uint32_t max_clients;
    bool idle_forget, one_round_renewal, quarantine_ceiling; // F1, F3, F5
    uint8_t entropy[32];                                     // fresh from the system at every start
    // The 16-byte hash of a name under the cluster's hash key.
    void (*hash_name)(void *context, struct lh_slice name, uint8_t ret_hash[16]);
    void *hash_context;
    struct lh_slice version; // of the program, for CLUSTER STATUS and INFO
};

enum lh_input_kind {
    LH_INPUT_START,     // first of all, once; durable pairs were handed to lh_host_load before
    LH_INPUT_DATAGRAM,  // an authentic datagram's header: `node`, `generation`, `bytes`
    LH_INPUT_MESSAGE,   // one message of the datagram last accepted: `node`, `kind`, `bytes`
    LH_INPUT_OPEN,      // a client connected as `session`
    LH_INPUT_BYTES,     // bytes from `session`, no more than lh_host_room; none to go on
    LH_INPUT_CLOSE,     // `session` is gone
    LH_INPUT_PERSISTED, // writes up to `number` are durable
    LH_INPUT_TIMER,     // the deadline came
};

struct lh_host_input {
    enum lh_input_kind kind;
    struct lh_instant now; // read after the event was received; one reading for the whole step
    uint8_t node;
    uint8_t generation;
    uint8_t message;
    uint32_t session; // 0 .. max_clients - 1
    bool local;       // OPEN: over a Unix socket, whose end proves that the client has ended
    bool ended;       // CLOSE: and it has, as far as the kernel knows; not ended by this side
    uint64_t number;
    struct lh_slice bytes;
};

// To a member, this node included: not before write `after` is durable (0: now).
struct lh_host_send {
    uint8_t to;
    uint64_t after;
    uint32_t offset, size; // framed message in `arena`
};

struct lh_host_pair {
    uint8_t key_size, key[LH_KEY_BYTES_MAX];
    uint8_t value_size, value[LH_VALUE_BYTES_MAX];
};

struct lh_host_reply {
    uint32_t session;
    uint32_t offset, size; // bytes in `arena`
    bool close;            // after them, end the connection
};

// What the node logs and --record writes. Each kind fills the fields that name it.
#define LH_EVENT_KINDS(X)                                                                          \
    X(RESTORED, "state-restored") /* F4: what the last life saved is held and known again */       \
    X(JOINING, "joining")         /* number = answers needed */                                    \
    X(ADMITTED, "admitted")       /* generation; text "new", "replacement" or "restart" */         \
    X(QUARANTINE, "quarantine")   /* number = ns to be served */                                   \
    X(SERVING, "serving")                                                                          \
    X(PEER_UP, "peer-up")           /* peer, generation, number = start */                         \
    X(PEER_DOWN, "peer-down")       /* peer */                                                     \
    X(PEER_REFUSED, "peer-refused") /* peer, text = why and what to do */                          \
    X(REFUSED, "refused-by-peer")   /* peer, text */                                               \
    X(HALTED, "halted")             /* text */                                                     \
    X(CLOCK_BAD, "clock-bad")       /* peer, text = which way, number = ppb beyond the bound */    \
    X(CLOCK_GOOD, "clock-good")     /* nothing proves it any more */                               \
    X(GRANTED, "granted")           /* key, name, holder, ballot = token, at = td */               \
    X(RENEWED, "renewed")           /* key, name, holder, ballot = token, at = td */               \
    X(LOST, "lost")                 /* key, name, holder, ballot = token */                        \
    X(RELEASED, "released")         /* key, name, holder, ballot = token */                        \
    X(REVOKED, "revoked")           /* key, name, holder, ballot = token, at = td */

enum lh_event_kind {
#define LH_EVENT_ENUM(name, text) LH_EVENT_##name,
    LH_EVENT_KINDS(LH_EVENT_ENUM)
#undef LH_EVENT_ENUM
};

const char *lh_event_name(enum lh_event_kind kind);

struct lh_event {
    enum lh_event_kind kind;
    uint8_t peer;
    uint8_t generation;
    uint64_t number;
    struct lh_key key;
    lh_ballot ballot;
    struct lh_instant at;
    const char *text;
    struct lh_slice name, holder; // in `arena`
};

#define LH_HOST_SENDS_MAX 256
#define LH_HOST_PAIRS_MAX 4
#define LH_HOST_REPLIES_MAX 128
#define LH_HOST_EVENTS_MAX 128
#define LH_HOST_ARENA_BYTES (256 * 1024)

struct lh_host_effects {
    bool accepted;    // after DATAGRAM: its messages may be handed in
    bool again;       // after BYTES: `session` has another whole command; hand in no bytes to go on
    uint64_t persist; // number of the write that `pairs` make, when pair_count > 0
    unsigned send_count, pair_count, reply_count, event_count;
    uint32_t arena_used;
    struct lh_host_send sends[LH_HOST_SENDS_MAX];
    struct lh_host_pair pairs[LH_HOST_PAIRS_MAX];
    struct lh_host_reply replies[LH_HOST_REPLIES_MAX];
    struct lh_event events[LH_HOST_EVENTS_MAX];
    uint8_t arena[LH_HOST_ARENA_BYTES];
};

static inline void lh_host_effects_clear(struct lh_host_effects *effects)
{
    effects->accepted = false;
    effects->again = false;
    effects->persist = 0;
    effects->send_count = effects->pair_count = effects->reply_count = effects->event_count = 0;
    effects->arena_used = 0;
}

struct lh_host;

size_t lh_host_size(const struct lh_host_config *config);

// `memory` is zeroed, 16-aligned, lh_host_size() long and outlives the host, which it becomes.
struct lh_host *lh_host_init(void *memory, const struct lh_host_config *config);

// Ends the host: its memory may be another's of the same configuration. Costs what was used.
void lh_host_clear(struct lh_host *host);

// One durable pair, before START. Returns NULL, or why this directory cannot be used by this node
// and what to do.
const char *lh_host_load(struct lh_host *host, struct lh_slice key, struct lh_slice value);

void lh_host_step(struct lh_host *host, const struct lh_host_input *input,
                  struct lh_host_effects *effects);

// When to hand in TIMER next.
struct lh_instant lh_host_deadline(const struct lh_host *host);

// How many bytes `session` can take now.
size_t lh_host_room(const struct lh_host *host, uint32_t session);

// Whether the client of `session` leaves unread what it was sent: then no more is said to it than it
// asks for.
void lh_host_backlog(struct lh_host *host, uint32_t session, bool backlogged);

// The datagram header for `to`, appended by the driver just before it seals; `now` is read just
// before.
void lh_host_header(struct lh_host *host, uint8_t to, struct lh_instant now,
                    struct lh_writer *writer);

// A counter of the world around the host, shown beside the host's own in CLUSTER STATUS and INFO.
// `name` and `value` outlive the host; `value` is read whenever a client asks. Takes up to
// LH_HOST_SHOWN_MAX of them.
#define LH_HOST_SHOWN_MAX 24
void lh_host_show_counter(struct lh_host *host, const char *name, const uint64_t *value);

// This node's generation, 0 until it is admitted.
uint8_t lh_host_generation(const struct lh_host *host);

// The host can promise nothing any more and says why, or NULL.
const char *lh_host_halted(const struct lh_host *host);

#endif
