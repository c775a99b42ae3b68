// The other members: which life of which generation of each is believed, and whom not to believe
// and why. Every rule about a datagram's header is in lh_peers_judge; everything else trusts it.
#ifndef LH_HOST_PEERS_H
#define LH_HOST_PEERS_H

#include "host/clock_bound.h"
#include "host/host.h"
#include "host/protocol.h"

#define LH_PEER_DOWN_AFTER_NS (4 * LH_NS_PER_S) // of silence

// Why a datagram that is authentic is not believed, and what to do about it, as the node that
// refuses sees it. Append only: it goes over the wire.
#define LH_REFUSALS(X)                                                                             \
    X(NONE, "")                                                                                    \
    X(MEMBERS,                                                                                     \
      "its [node N] sections name other members: give every node the same list and member-epoch")  \
    X(EPOCH, "it has another member-epoch: finish the change with 'leaseholdd set-members' on "    \
             "every node")                                                                         \
    X(TIMING, "its max-ttl is longer or its rate-error smaller than ours: both must be equal on "  \
              "every node; change them with 'leaseholdd set-members'")                             \
    X(GENERATION, "it uses an old data directory that was replaced: stop it and remove that "      \
                  "directory; it then joins as a replacement")                                     \
    X(START, "its data directory is older than what it has said before, so it was restored or "    \
             "copied: stop it and remove that directory; it then joins as a replacement")          \
    X(TWICE, "it runs twice: two daemons use copies of one data directory; stop one and remove "   \
             "its copy")

enum lh_refusal {
#define LH_REFUSAL_ENUM(name, text) LH_REFUSAL_##name,
    LH_REFUSALS(LH_REFUSAL_ENUM)
#undef LH_REFUSAL_ENUM
        LH_REFUSAL_COUNT
};

const char *lh_refusal_text(enum lh_refusal refusal);

// The same, when it is this node that is not believed.
const char *lh_refusal_of_us_text(enum lh_refusal refusal);

struct lh_peer {
    uint8_t node;
    uint8_t generation;    // durable: no older one is believed; 0 = never heard of
    uint8_t directory[16]; // durable: whose generation that is
    bool up;
    uint64_t start, boot;          // its present life; 0 = unknown since we started
    struct lh_instant heard_at;    // last datagram that was believed
    struct lh_instant stamp;       // what it said (on its clock) ..
    struct lh_instant stamp_at;    // .. and when that came (on ours)
    struct lh_instant newest;      // the greatest stamp of its present life
    struct lh_duration behind;     // by which the datagram in hand is older than that
    struct lh_duration round_trip; // the last measured; 0 = unknown
    struct lh_clock_bound clock;   // what its stamps prove of its clock in its present life
    struct lh_instant ping_at;
    enum lh_refusal refused;      // why it was not believed last
    struct lh_instant refused_at; // when that was reported
    struct lh_instant doubted_at; // the last datagram refused, and how many in a row
    unsigned doubts;
    struct lh_instant told_at;         // when we last told it, or answered an unknown life
    enum lh_refusal refuses_us;        // what it says of us
    struct lh_instant refuses_us_at;   // when that was reported; LH_PAST if it does not
    struct lh_instant refuses_us_last; // when it said so last
    uint64_t refused_count;
    uint64_t stale_count; // datagrams of, or to, an older life: replays and stragglers
};

struct lh_peers {
    struct lh_peer peers[LH_MEMBERS_MAX]; // in the order of the configuration, this node included
    uint64_t members_tag;
    bool joiner_echoes; // the joining peer's datagram last accepted speaks to this life of ours
};

enum lh_judgement {
    LH_JUDGED_BELIEVED, // its messages count
    LH_JUDGED_JOINING,  // no generation yet: only Ask, Announce, Refusal, and Known and Recorded if
                        // it echoes us, count
    LH_JUDGED_STALE,    // an older life speaks, or it speaks to an older life of ours: dropped
    LH_JUDGED_REFUSED,  // `refused` says why
};

// Tells one ascending list of members from another.
uint64_t lh_peers_tag(const uint8_t *members, unsigned count);

void lh_peers_init(struct lh_host *host);

// NULL for a stranger.
struct lh_peer *lh_peers_find(struct lh_host *host, uint8_t node);

// Judges the header of an authentic datagram without changing anything.
enum lh_judgement lh_peers_judge(const struct lh_host *host, const struct lh_peer *peer,
                                 uint8_t generation, const struct lh_header *header,
                                 enum lh_refusal *ret_refusal);

// Judges, and learns from it. True if the messages may be handed in.
bool lh_peers_receive(struct lh_host *host, uint8_t node, uint8_t generation, struct lh_slice bytes,
                      struct lh_instant now, struct lh_host_effects *effects);

// Ask, Announce and Refusal.
void lh_peers_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects);

// A stored pair about a peer. Returns false on bytes that make no sense.
bool lh_peers_load(struct lh_host *host, struct lh_slice key, struct lh_slice value);

// Pings, and notices silence. Returns when it wants to be called next.
struct lh_instant lh_peers_tick(struct lh_host *host, struct lh_instant now,
                                struct lh_host_effects *effects);

#endif
