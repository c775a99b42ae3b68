// The other members: see peers.h.
#include "host/peers.h"

#include "base/hash.h"
#include "host/host_internal.h"

#include <string.h>

#define PING_EVERY LH_NS_PER_S
#define PING_EVERY_UNHEARD (100 * LH_NS_PER_MS)
#define TELL_EVERY (50 * LH_NS_PER_MS)
#define REPORT_EVERY (30 * LH_NS_PER_S)
#define DOUBT_FORGOTTEN_AFTER (5 * LH_NS_PER_S)
#define DOUBTS_REPORTED 3
#define PEER_VALUE_VERSION 1

#define UNKNOWN_REFUSAL "for a reason that this version does not know: run one version"
#define REFUSES_US "the others refuse this node: "

const char *lh_refusal_text(enum lh_refusal refusal)
{
    static const char *const texts[] = {
#define LH_REFUSAL_TEXT(name, text) text,
        LH_REFUSALS(LH_REFUSAL_TEXT)
#undef LH_REFUSAL_TEXT
    };
    return refusal < LH_REFUSAL_COUNT ? texts[refusal] : UNKNOWN_REFUSAL;
}

const char *lh_refusal_of_us_text(enum lh_refusal refusal)
{
    static const char *const texts[] = {
#define LH_REFUSAL_TEXT(name, text) REFUSES_US text,
        LH_REFUSALS(LH_REFUSAL_TEXT)
#undef LH_REFUSAL_TEXT
    };
    return refusal < LH_REFUSAL_COUNT ? texts[refusal] : REFUSES_US UNKNOWN_REFUSAL;
}

uint64_t lh_peers_tag(const uint8_t *members, unsigned count)
{
    return lh_hash_bytes(LH_HASH_START, lh_slice_of(members, count));
}

void lh_peers_init(struct lh_host *host)
{
    host->peers.members_tag = lh_peers_tag(host->config.members, host->config.member_count);
    for (unsigned i = 0; i < host->config.member_count; i++)
        host->peers.peers[i] = (struct lh_peer){.node = host->config.members[i]};
}

struct lh_peer *lh_peers_find(struct lh_host *host, uint8_t node)
{
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (host->peers.peers[i].node == node)
            return &host->peers.peers[i];
    return NULL;
}

// One cluster, one list of members.
static enum lh_refusal refuse_layout(const struct lh_host *host, const struct lh_header *header)
{
    if (header->member_epoch != host->config.member_epoch)
        return LH_REFUSAL_EPOCH;
    return header->members_tag != host->peers.members_tag ? LH_REFUSAL_MEMBERS : LH_REFUSAL_NONE;
}

// T2, T3: a peer with a smaller rate error excludes for less than our authority lasts; one with a
// greater M answers for attempts that our quarantine does not cover.
static enum lh_refusal refuse_timing(const struct lh_host *host, const struct lh_header *header)
{
    const struct lh_timing *ours = &host->config.timing;
    bool looser =
        lh_ms(header->max_ttl_ms).ns > ours->max_ttl.ns || header->rate_ppm < ours->rate_ppm;
    return looser ? LH_REFUSAL_TIMING : LH_REFUSAL_NONE;
}

// One directory, one generation, one process at a time.
static enum lh_refusal refuse_life(const struct lh_peer *peer, uint8_t generation,
                                   const struct lh_header *header)
{
    if (generation < peer->generation)
        return LH_REFUSAL_GENERATION;
    if (generation > peer->generation || peer->boot == 0)
        return LH_REFUSAL_NONE;
    if (header->start == peer->start && header->boot != peer->boot)
        return LH_REFUSAL_TWICE;
    return header->start < peer->start ? LH_REFUSAL_START : LH_REFUSAL_NONE;
}

enum lh_judgement lh_peers_judge(const struct lh_host *host, const struct lh_peer *peer,
                                 uint8_t generation, const struct lh_header *header,
                                 enum lh_refusal *ret_refusal)
{
    enum lh_refusal refusal = refuse_layout(host, header);
    if (refusal == LH_REFUSAL_NONE)
        refusal = refuse_timing(host, header);
    if (refusal == LH_REFUSAL_NONE && generation == 0)
        return LH_JUDGED_JOINING;
    if (refusal == LH_REFUSAL_NONE)
        refusal = refuse_life(peer, generation, header);
    if (refusal != LH_REFUSAL_NONE) {
        *ret_refusal = refusal;
        return LH_JUDGED_REFUSED;
    }
    // Stale processes: what was said to another life of ours counts no more.
    return header->echo_boot == host->boot ? LH_JUDGED_BELIEVED : LH_JUDGED_STALE;
}

static void persist_peer(struct lh_host *host, const struct lh_peer *peer,
                         struct lh_host_effects *effects, uint64_t *ret_number)
{
    uint8_t key[2] = {'P', peer->node};
    uint8_t value[18] = {PEER_VALUE_VERSION, peer->generation};
    memcpy(value + 2, peer->directory, sizeof peer->directory);
    *ret_number = lh_host_persist(host, effects, lh_slice_of(key, sizeof key),
                                  lh_slice_of(value, sizeof value));
}

bool lh_peers_load(struct lh_host *host, struct lh_slice key, struct lh_slice value)
{
    if (key.size_bytes != 2 || value.size_bytes != 18 || value.data[0] != PEER_VALUE_VERSION ||
        value.data[1] == 0)
        return false;
    struct lh_peer *peer = lh_peers_find(host, key.data[1]);
    if (peer == NULL)
        return true; // a member of an earlier epoch
    peer->generation = value.data[1];
    memcpy(peer->directory, value.data + 2, sizeof peer->directory);
    return true;
}

// Tells the peer about us, or what is wrong with the life `boot` of it, but not for every datagram.
static void tell(struct lh_peer *peer, enum lh_refusal refusal, uint64_t boot,
                 struct lh_instant now, struct lh_host_effects *effects)
{
    if (lh_before(now, lh_after(peer->told_at, (struct lh_duration){TELL_EVERY})))
        return;
    peer->told_at = now;
    struct lh_host_message message = {.kind = refusal == LH_REFUSAL_NONE ? LH_HOST_PING
                                                                         : LH_HOST_REFUSAL,
                                      .reason = (uint8_t)refusal,
                                      .nonce = boot};
    lh_host_send(effects, peer->node, &message, 0);
}

static bool passed(struct lh_instant now, struct lh_instant since, int64_t span_ns)
{
    return !lh_before(now, lh_after(since, (struct lh_duration){span_ns}));
}

// What is wrong with a life, not with a configuration: it will not be believed again.
static bool is_about_life(enum lh_refusal refusal)
{
    return refusal == LH_REFUSAL_GENERATION || refusal == LH_REFUSAL_START ||
           refusal == LH_REFUSAL_TWICE;
}

// One straggler or replay of an older life is no news; a peer that keeps being refused is.
static void on_refused(struct lh_peer *peer, enum lh_refusal refusal, uint64_t boot,
                       struct lh_instant now, struct lh_host_effects *effects)
{
    peer->refused_count++;
    peer->doubts = passed(now, peer->doubted_at, DOUBT_FORGOTTEN_AFTER) ? 1 : peer->doubts + 1;
    peer->doubted_at = now;
    tell(peer, refusal, boot, now, effects);
    if (is_about_life(refusal) && peer->doubts < DOUBTS_REPORTED)
        return;
    bool news = peer->refused != refusal || peer->refused_at.ns == LH_PAST.ns ||
                passed(now, peer->refused_at, REPORT_EVERY);
    peer->refused = refusal;
    if (!news)
        return;
    peer->refused_at = now;
    struct lh_event *event = lh_host_event(effects, LH_EVENT_PEER_REFUSED);
    event->peer = peer->node;
    event->text = lh_refusal_text(refusal);
}

// A new life has a clock of its own.
static void forget_clock(struct lh_peer *peer)
{
    peer->stamp = LH_PAST;
    peer->stamp_at = LH_PAST;
    peer->newest = LH_PAST;
    peer->round_trip = (struct lh_duration){0};
    memset(&peer->clock, 0, sizeof peer->clock);
}

// A new life begins, or the present one goes on.
static void learn_life(struct lh_host *host, struct lh_peer *peer, uint8_t generation,
                       const struct lh_header *header, struct lh_host_effects *effects)
{
    if (generation > peer->generation) {
        // It was recorded durably by enough others before it said anything; here it may follow.
        uint64_t number = 0;
        peer->generation = generation;
        memset(peer->directory, 0, sizeof peer->directory);
        persist_peer(host, peer, effects, &number);
    }
    peer->start = header->start;
    if (header->boot == peer->boot)
        return;
    peer->boot = header->boot;
    peer->up = false;
    forget_clock(peer);
}

static void learn_clock(struct lh_peer *peer, const struct lh_header *header, struct lh_instant now)
{
    struct lh_instant said = {(int64_t)header->stamp};
    peer->newest = lh_later(peer->newest, said);
    peer->behind = lh_left(said, peer->newest);
    if (peer->behind.ns > 0)
        return; // overtaken, or replayed
    peer->stamp = said;
    peer->stamp_at = now;
    int64_t since = now.ns - (int64_t)header->echo_stamp;
    if (header->echo_stamp != 0 && since >= (int64_t)header->echo_held)
        peer->round_trip = (struct lh_duration){since - (int64_t)header->echo_held};
}

static void learn_up(struct lh_peer *peer, struct lh_instant now, struct lh_host_effects *effects)
{
    peer->heard_at = now;
    if (passed(now, peer->doubted_at, DOUBT_FORGOTTEN_AFTER))
        peer->refused = LH_REFUSAL_NONE;
    if (passed(now, peer->refuses_us_last, DOUBT_FORGOTTEN_AFTER))
        peer->refuses_us_at = LH_PAST;
    if (peer->up)
        return;
    peer->up = true;
    struct lh_event *event = lh_host_event(effects, LH_EVENT_PEER_UP);
    event->peer = peer->node;
    event->generation = peer->generation;
    event->number = peer->start;
}

// It does not believe us. The operator of this node has to know as well. If another life of this
// node speaks, this one stops: other members may believe either of the two, and each would have a
// quorum.
static void on_refusal(struct lh_host *host, struct lh_peer *peer,
                       const struct lh_host_message *message, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    enum lh_refusal refusal =
        message->reason < LH_REFUSAL_COUNT ? (enum lh_refusal)message->reason : LH_REFUSAL_COUNT;
    bool news = peer->refuses_us != refusal || peer->refuses_us_at.ns == LH_PAST.ns ||
                passed(now, peer->refuses_us_at, REPORT_EVERY);
    peer->refuses_us = refusal;
    peer->refuses_us_last = now;
    if (!news)
        return;
    peer->refuses_us_at = now;
    struct lh_event *event = lh_host_event(effects, LH_EVENT_REFUSED);
    event->peer = peer->node;
    event->text = lh_refusal_of_us_text(refusal);
    if (!is_about_life(refusal) || host->halted != NULL)
        return;
    host->halted = lh_refusal_of_us_text(refusal);
    lh_host_event(effects, LH_EVENT_HALTED)->text = host->halted;
}

// A peer that does not believe this life does not echo it either: its Refusal, which names the
// life, is all that counts of such a datagram.
static void hear_refusal(struct lh_host *host, struct lh_peer *peer, struct lh_reader reader,
                         struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_host_message message;
    while (lh_reader_left_bytes(&reader) > 0) {
        uint8_t kind = lh_reader_u8(&reader);
        struct lh_slice body = lh_reader_slice_u16(&reader);
        if (reader.failed)
            return;
        if (kind == LH_HOST_REFUSAL && lh_host_message_decode(LH_HOST_REFUSAL, body, &message) &&
            message.nonce == host->boot)
            on_refusal(host, peer, &message, now, effects);
    }
}

// What a peer said while it was joining may come again when it has long been admitted, or started
// once more. While one life of it is heard, another that joins must show that it lives now.
static bool answers_lately(const struct lh_host *host, const struct lh_header *header,
                           struct lh_instant now)
{
    struct lh_instant asked = {(int64_t)header->echo_stamp};
    return header->echo_boot == host->boot && header->echo_stamp != 0 &&
           !passed(now, asked, LH_PEER_DOWN_AFTER_NS);
}

bool lh_peers_receive(struct lh_host *host, uint8_t node, uint8_t generation, struct lh_slice bytes,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_peer *peer = lh_peers_find(host, node);
    struct lh_reader reader = lh_reader_of(bytes);
    struct lh_header header;
    lh_header_read(&reader, &header);
    if (peer == NULL || node == host->config.node || reader.failed)
        return false;
    enum lh_refusal refusal = LH_REFUSAL_NONE;
    switch (lh_peers_judge(host, peer, generation, &header, &refusal)) {
    case LH_JUDGED_REFUSED: on_refused(peer, refusal, header.boot, now, effects); return false;
    case LH_JUDGED_JOINING:
        if (peer->up && header.boot != peer->boot && !answers_lately(host, &header, now)) {
            peer->stale_count++;
            tell(peer, LH_REFUSAL_NONE, 0, now, effects);
            return false;
        }
        if (peer->boot != header.boot)
            forget_clock(peer);
        peer->boot = header.boot;
        peer->start = 0;
        host->peers.joiner_echoes = header.echo_boot == host->boot;
        learn_clock(peer, &header, now);
        return true;
    case LH_JUDGED_STALE:
        peer->stale_count++;
        learn_life(host, peer, generation, &header, effects);
        peer->stamp = (struct lh_instant){(int64_t)header.stamp};
        peer->stamp_at = now;
        tell(peer, LH_REFUSAL_NONE, 0, now, effects); // so that it learns which life this is
        hear_refusal(host, peer, reader, now, effects);
        return false;
    case LH_JUDGED_BELIEVED: break;
    }
    learn_life(host, peer, generation, &header, effects);
    if (peer->newest.ns < (int64_t)header.stamp) // neither overtaken nor replayed
        lh_clock_bound_add(&peer->clock, now, header.echo_stamp, header.echo_held, header.stamp);
    learn_clock(peer, &header, now);
    learn_up(peer, now, effects);
    lh_machine_observe(&host->machine, header.counter, &host->lease_effects); // T4
    lh_host_settle(host, now, effects);
    return true;
}

// A question that comes late, behind the announcement of the same directory, is about what was
// before that.
static void on_ask(struct lh_host *host, const struct lh_peer *peer,
                   const struct lh_host_message *message, struct lh_host_effects *effects)
{
    bool own = peer->generation > 0 &&
               memcmp(message->directory, peer->directory, sizeof peer->directory) == 0;
    lh_identity_tell_known(host, peer, (uint8_t)(peer->generation - own), effects);
}

// A joining node asks to be remembered under a generation. It may act only once enough of us have.
static void on_announce(struct lh_host *host, struct lh_peer *peer,
                        const struct lh_host_message *message, struct lh_host_effects *effects)
{
    bool same = message->generation == peer->generation &&
                memcmp(message->directory, peer->directory, sizeof peer->directory) == 0;
    if (message->generation == 0 || message->generation < peer->generation ||
        (message->generation == peer->generation && !same)) {
        lh_identity_tell_known(host, peer, peer->generation, effects);
        return;
    }
    uint64_t number = 0;
    if (!same) {
        peer->generation = message->generation;
        memcpy(peer->directory, message->directory, sizeof peer->directory);
    }
    persist_peer(host, peer, effects, &number);
    struct lh_host_message recorded = {.kind = LH_HOST_RECORDED, .generation = message->generation};
    lh_host_send(effects, peer->node, &recorded, number);
}

void lh_peers_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_peer *peer = lh_peers_find(host, node);
    if (peer == NULL)
        return;
    if (message->kind == LH_HOST_ANNOUNCE)
        on_announce(host, peer, message, effects);
    if (message->kind == LH_HOST_ASK)
        on_ask(host, peer, message, effects);
    if (message->kind == LH_HOST_REFUSAL && message->nonce == host->boot)
        on_refusal(host, peer, message, now, effects);
}

struct lh_instant lh_peers_tick(struct lh_host *host, struct lh_instant now,
                                struct lh_host_effects *effects)
{
    struct lh_instant next = LH_NEVER;
    for (unsigned i = 0; i < host->config.member_count; i++) {
        struct lh_peer *peer = &host->peers.peers[i];
        if (peer->node == host->config.node)
            continue;
        if (peer->up && passed(now, peer->heard_at, LH_PEER_DOWN_AFTER_NS)) {
            peer->up = false;
            lh_host_event(effects, LH_EVENT_PEER_DOWN)->peer = peer->node;
        }
        if (!lh_before(now, peer->ping_at)) {
            struct lh_host_message ping = {.kind = LH_HOST_PING};
            lh_host_send(effects, peer->node, &ping, 0);
            peer->ping_at =
                lh_after(now, (struct lh_duration){peer->up ? PING_EVERY : PING_EVERY_UNHEARD});
        }
        next = lh_earlier(next, peer->ping_at);
    }
    return next;
}
