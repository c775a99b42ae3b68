// What the host's files share: its parts, and the requests that travel between them.
//
//     session.c   bytes of a client <-> requests and results (RESP)         commands in command_*.c
//     tenant*.c   who holds, waits for, renews and releases a name at this node
//     query*.c    questions to the other members: get, list, forwarded renew, release and revoke
//     watch.c     which session watches which lease
//     peers.c     what is known of the other members, and whom not to believe
//     clocks.c    what peers' clocks prove about this node's own (clock_bound.c: about each)
//     identity.c  this node's own: directory, start number, generation, reservation, ceiling
#ifndef LH_HOST_HOST_INTERNAL_H
#define LH_HOST_HOST_INTERNAL_H

#include "host/clocks.h"
#include "host/host.h"
#include "host/identity.h"
#include "host/peers.h"
#include "host/protocol.h"
#include "host/query.h"
#include "host/request.h"
#include "host/session.h"
#include "host/tenant.h"
#include "host/watch.h"

// A counter that somebody else keeps.
struct lh_host_shown {
    const char *name;
    const uint64_t *value;
};

struct lh_host {
    struct lh_host_config config;
    struct lh_prng prng;
    uint64_t boot; // random; one life of one process
    struct lh_instant started_at;
    struct lh_instant tick_at; // peers and identity
    struct lh_identity identity;
    struct lh_peers peers;
    struct lh_clocks clocks;
    struct lh_requests requests;
    struct lh_tenants tenants;
    struct lh_queries queries;
    struct lh_watches watches;
    struct lh_sessions sessions;
    uint64_t persist_number;   // of the last write asked for
    uint64_t persisted_number; // of the last one that is durable
    uint64_t ceiling_write;    // F5: the write that the marked answers wait for
    uint64_t bad_messages;     // from authentic peers, and yet not decodable
    struct lh_host_shown shown[LH_HOST_SHOWN_MAX];
    unsigned shown_count;
    const char *halted;
    // From here on nothing is read before it was begun.
    struct lh_lease_effects lease_effects;
    struct lh_wheel wheel; // of requests and of the host's own ticks
    struct lh_machine machine;
};

// --- effects ---

// Room of `size` bytes in the arena; the arena is sized so that no single step fills it.
uint8_t *lh_host_arena(struct lh_host_effects *effects, size_t size);
struct lh_event *lh_host_event(struct lh_host_effects *effects, enum lh_event_kind kind);

// Whether a step may begin with one more thing that it could also leave to the next step. What is
// once begun may use the other half of the room.
bool lh_host_has_room(const struct lh_host_effects *effects);

// A framed message to `to`. Body bytes are copied.
void lh_host_send_lease(struct lh_host_effects *effects, uint8_t to,
                        const struct lh_message *message, uint64_t after);
void lh_host_send(struct lh_host_effects *effects, uint8_t to,
                  const struct lh_host_message *message, uint64_t after);

// Asks for a durable write; returns its number.
uint64_t lh_host_persist(struct lh_host *host, struct lh_host_effects *effects, struct lh_slice key,
                         struct lh_slice value);

// Carries out what the machine wants: call after every lh_machine_* that took lease_effects.
void lh_host_settle(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects);

struct lh_key lh_host_key(const struct lh_host *host, struct lh_slice name);

#endif
