// Who this node is: the durable facts of its data directory, and how a node without history becomes
// a member.
//
// A directory holds a random id, the number of its last start, its generation, its reservation of
// counters (F2) and its ceiling (F5). With history, a start counts the start number and the
// reservation up, makes that durable, and serves a quarantine. Without, the node asks others
// whether they have heard of it: if none has it is new and may serve at once; if any has, it
// replaces what it was: next generation, floor above every reservation it heard, quarantine for M.
// Either way enough others record its generation before it acts, so that this can never happen
// twice for one generation.
#ifndef LH_HOST_IDENTITY_H
#define LH_HOST_IDENTITY_H

#include "base/bitset.h"
#include "host/host.h"
#include "host/peers.h"

#define LH_RESERVATION_BLOCK (UINT64_C(1) << 20)
#define LH_IDENTITY_WRITES_MAX 128

enum lh_identity_state {
    LH_IDENTITY_LOADING,    // before START
    LH_IDENTITY_ASKING,     // no history: whoever has heard of us?
    LH_IDENTITY_WRITING,    // the proposed generation becomes durable here
    LH_IDENTITY_ANNOUNCING, // .. and at enough others
    LH_IDENTITY_ADMITTING,  // the last write before we may serve
    LH_IDENTITY_QUARANTINE, // A4: silent as acceptor
    LH_IDENTITY_SERVING,
};

struct lh_identity_write {
    uint64_t number;
    uint64_t reservation;
    struct lh_duration ceiling;
};

struct lh_identity {
    enum lh_identity_state state;
    // durable
    uint8_t directory[16];
    uint8_t generation; // 0: none yet
    bool admitted;
    uint64_t start;
    uint64_t reservation;
    struct lh_duration ceiling;
    // of this start
    bool loaded;               // a stored identity was found
    uint64_t old_reservation;  // covers every ballot that was promised before
    struct lh_duration served; // the quarantine this start has to serve
    struct lh_instant quarantine_until;
    const char *origin; // "new", "replacement", "restart" or "clean restart"
    bool restored;      // F4: the tables are as they were
    uint64_t restored_floor, restored_counter;
    uint64_t awaited; // the write that the present state waits for
    struct lh_instant ask_at;
    struct lh_members_set answered, recorded;
    bool heard_of; // some member knew us
    uint8_t heard_generation;
    uint64_t heard_reservation;
    unsigned write_count; // writes under way, oldest first
    struct lh_identity_write writes[LH_IDENTITY_WRITES_MAX];
};

// How many other members must have answered, and later recorded, before a node without history may
// act: so many that the two sets share more members than can lose their directories at once.
unsigned lh_identity_witnesses(unsigned member_count);

void lh_identity_init(struct lh_host *host);

// The stored identity. Returns NULL, or why this node cannot use that directory.
const char *lh_identity_load(struct lh_host *host, struct lh_slice value);

void lh_identity_start(struct lh_host *host, struct lh_instant now,
                       struct lh_host_effects *effects);
void lh_identity_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                         struct lh_host_effects *effects);
void lh_identity_persisted(struct lh_host *host, struct lh_instant now,
                           struct lh_host_effects *effects);
struct lh_instant lh_identity_tick(struct lh_host *host, struct lh_instant now,
                                   struct lh_host_effects *effects);

// The machine needs counters up to `counter`, or this ceiling. Returns the number of the write.
uint64_t lh_identity_reserve(struct lh_host *host, uint64_t counter,
                             struct lh_host_effects *effects);
uint64_t lh_identity_raise_ceiling(struct lh_host *host, struct lh_duration ceiling,
                                   struct lh_host_effects *effects);

// Answers a joining peer: the generation that we know of it, and what we have reserved.
void lh_identity_tell_known(struct lh_host *host, const struct lh_peer *peer, uint8_t generation,
                            struct lh_host_effects *effects);

// A4 again, for as long as whatever was promised may last: what this acceptor promised cannot be
// relied on. Takes an identity that acts.
struct lh_instant lh_identity_quarantine(struct lh_host *host, struct lh_instant now,
                                         struct lh_host_effects *effects);

// Admitted: its lease messages may be sent and counted.
static inline bool lh_identity_acts(const struct lh_identity *identity)
{
    return identity->state >= LH_IDENTITY_QUARANTINE;
}

// The durable form.
struct lh_identity_record {
    uint8_t node;
    uint8_t cluster_id[16];
    uint8_t directory[16];
    uint8_t generation;
    bool admitted;
    uint64_t start, reservation;
    struct lh_duration ceiling;
    uint32_t member_epoch;
    uint64_t members_tag;
    uint32_t max_ttl_ms, rate_ppm;
};

// This node's own, as it is now, and any; returns the size in bytes.
size_t lh_identity_describe(const struct lh_host *host, uint8_t ret[LH_VALUE_BYTES_MAX]);
size_t lh_identity_encode(const struct lh_identity_record *record, uint8_t ret[LH_VALUE_BYTES_MAX]);
bool lh_identity_decode(struct lh_slice value, struct lh_identity_record *ret_record);

#endif
