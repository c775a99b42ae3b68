// CLUSTER STATUS: one nested map with everything that tells how this node is and how it sees the
// others. The keys are stable; new ones may be added at any place.
#include "base/text.h"
#include "host/command.h"
#include "host/status.h"

static void write_number(struct lh_writer *writer, const char *key, uint64_t value)
{
    lh_resp_write_text(writer, key);
    lh_resp_write_integer(writer, value <= INT64_MAX ? (int64_t)value : INT64_MAX);
}

static void write_text(struct lh_writer *writer, const char *key, const char *value)
{
    lh_resp_write_text(writer, key);
    lh_resp_write_text(writer, value);
}

// As a person rounds what is left: up, so that 0 means over.
static uint64_t ceiling_ms(struct lh_duration duration)
{
    return (uint64_t)(lh_floor_ms(duration) + (duration.ns % LH_NS_PER_MS != 0));
}

static void write_boot(struct lh_writer *writer, uint64_t boot)
{
    uint8_t bytes[8];
    char hex[2 * sizeof bytes + 1];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(boot >> (56 - 8 * i));
    lh_hex_encode(bytes, sizeof bytes, hex);
    write_text(writer, "boot", hex);
}

// --- peers ---

// The last datagram that was believed, or in which it asks whether it is new: then it has no life yet.
static struct lh_instant heard_at(const struct lh_peer *peer)
{
    return peer->start == 0 ? lh_later(peer->heard_at, peer->stamp_at) : peer->heard_at;
}

static bool is_joining(const struct lh_peer *peer, struct lh_instant now)
{
    return !peer->up && lh_before(peer->heard_at, heard_at(peer)) &&
           lh_left(heard_at(peer), now).ns < LH_PEER_DOWN_AFTER_NS;
}

static const char *peer_state(const struct lh_peer *peer, struct lh_instant now)
{
    if (peer->refused != LH_REFUSAL_NONE)
        return "refused";
    if (peer->up)
        return "up";
    if (is_joining(peer, now))
        return "joining";
    return lh_before(LH_PAST, heard_at(peer)) ? "down" : "unknown";
}

static const char *peer_reason(const struct lh_peer *peer, struct lh_instant now)
{
    if (peer->refused != LH_REFUSAL_NONE)
        return lh_refusal_text(peer->refused);
    if (peer->up)
        return "";
    if (is_joining(peer, now))
        return "it waits for other members to say whether it is new";
    return lh_before(LH_PAST, heard_at(peer)) ? "nothing heard from it lately"
                                              : "nothing heard from it since this node started";
}

static void write_interval(struct lh_writer *writer, const char *least_key, const char *most_key,
                           const struct lh_clock_interval *interval)
{
    lh_resp_write_text(writer, least_key);
    lh_resp_write_integer(writer, interval->least);
    lh_resp_write_text(writer, most_key);
    lh_resp_write_integer(writer, interval->most);
}

// Absent is what is not measured.
static void write_clock(struct lh_writer *writer, enum lh_resp_protocol protocol,
                        const struct lh_host *host, const struct lh_peer *peer,
                        struct lh_instant now)
{
    const struct lh_clocks_measured clock = lh_clocks_measure(host, peer, now);
    lh_resp_write_text(writer, "clock");
    lh_resp_write_map(writer, protocol, (clock.has_offset ? 2u : 0) + (clock.has_rate ? 4u : 0));
    if (clock.has_offset)
        write_interval(writer, "offset-least-us", "offset-most-us", &clock.offset_us);
    if (!clock.has_rate)
        return;
    write_interval(writer, "rate-least-ppb", "rate-most-ppb", &clock.rate_ppb);
    lh_resp_write_text(writer, "margin-ppb");
    lh_resp_write_integer(writer, clock.margin_ppb);
    lh_resp_write_text(writer, "excess-ppb");
    lh_resp_write_integer(writer, clock.excess_ppb);
}

#define PEER_KEYS 10

static void write_peer(struct lh_writer *writer, enum lh_resp_protocol protocol,
                       const struct lh_host *host, const struct lh_peer *peer,
                       struct lh_instant now)
{
    struct lh_instant heard = heard_at(peer);
    bool refuses_us = lh_before(LH_PAST, peer->refuses_us_at);
    lh_resp_write_map(writer, protocol, PEER_KEYS);
    write_number(writer, "node", peer->node);
    write_text(writer, "state", peer_state(peer, now));
    write_text(writer, "reason", peer_reason(peer, now));
    lh_resp_write_text(writer, "heard-ago-ms");
    if (lh_before(LH_PAST, heard))
        lh_resp_write_integer(writer, lh_floor_ms(lh_left(heard, now)));
    else
        lh_resp_write_null(writer, protocol);
    write_number(writer, "generation", peer->generation);
    write_number(writer, "start", peer->start);
    lh_resp_write_text(writer, "rtt-us");
    if (peer->round_trip.ns > 0)
        lh_resp_write_integer(writer, peer->round_trip.ns / LH_NS_PER_US);
    else
        lh_resp_write_null(writer, protocol);
    write_text(writer, "refuses-us", refuses_us ? lh_refusal_text(peer->refuses_us) : "");
    write_number(writer, "refused", peer->refused_count);
    write_clock(writer, protocol, host, peer, now);
}

static void write_peers(struct lh_writer *writer, enum lh_resp_protocol protocol,
                        const struct lh_host *host, struct lh_instant now)
{
    lh_resp_write_text(writer, "peers");
    lh_resp_write_array(writer, host->config.member_count - 1u);
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (host->config.members[i] != host->config.node)
            write_peer(writer, protocol, host, &host->peers.peers[i], now);
}

// --- this node ---

static void write_counters(struct lh_writer *writer, enum lh_resp_protocol protocol,
                           const struct lh_host *host)
{
    struct lh_status_counter counters[LH_STATUS_COUNTERS_MAX];
    size_t count = lh_status_counters(host, counters);
    lh_resp_write_text(writer, "counters");
    lh_resp_write_map(writer, protocol, count);
    for (size_t i = 0; i < count; i++)
        write_number(writer, counters[i].name, counters[i].value);
}

#define IDENTITY_KEYS 8

static void write_identity(struct lh_writer *writer, const struct lh_host *host,
                           struct lh_instant now)
{
    const struct lh_identity *identity = &host->identity;
    struct lh_duration left = {0};
    if (identity->state == LH_IDENTITY_QUARANTINE)
        left = lh_left(now, identity->quarantine_until);
    write_number(writer, "node", host->config.node);
    write_number(writer, "generation", identity->generation);
    write_number(writer, "start", identity->start);
    write_boot(writer, host->boot);
    write_text(writer, "state", lh_status_state(host));
    write_number(writer, "quarantine-left-ms", ceiling_ms(left));
    write_text(writer, "reason", lh_status_reason(host));
    lh_resp_write_text(writer, "version");
    lh_resp_write_bulk(writer, host->config.version);
}

#define CLUSTER_KEYS 4

static void write_cluster(struct lh_writer *writer, const struct lh_host *host)
{
    lh_resp_write_text(writer, "members");
    lh_resp_write_array(writer, host->config.member_count);
    for (unsigned i = 0; i < host->config.member_count; i++)
        lh_resp_write_integer(writer, host->config.members[i]);
    write_number(writer, "quorum", host->machine.quorum);
    write_number(writer, "max-ttl-ms", (uint64_t)lh_floor_ms(host->config.timing.max_ttl));
    write_number(writer, "rate-ppm", host->config.timing.rate_ppm);
}

#define USE_KEYS 8

static void write_use(struct lh_writer *writer, const struct lh_host *host, struct lh_instant now)
{
    write_number(writer, "leases", host->machine.held);
    write_number(writer, "waiters", host->tenants.waiting);
    write_number(writer, "records", host->machine.acceptors.count);
    write_number(writer, "capacity", host->config.max_leases);
    write_number(writer, "counter", host->machine.counter);
    write_number(writer, "reservation", host->machine.reserved);
    write_number(writer, "uptime-ms", (uint64_t)lh_floor_ms(lh_status_uptime(host, now)));
    write_number(writer, "connections", host->sessions.count_open);
}

// The guard between exclusion and TTL for max-ttl: as configured, and as what is measured would
// justify.
static void write_guard(struct lh_writer *writer, enum lh_resp_protocol protocol,
                        const struct lh_host *host, struct lh_instant now)
{
    const struct lh_timing timing = host->config.timing;
    const struct lh_clock_interval allowed = lh_clock_bound_allowed(timing.rate_ppm);
    struct lh_duration measured;
    const bool known = lh_clocks_guard(host, now, timing.max_ttl, &measured);
    lh_resp_write_text(writer, "clocks");
    lh_resp_write_map(writer, protocol, known ? 4 : 3);
    write_interval(writer, "allowed-least-ppb", "allowed-most-ppb", &allowed);
    write_number(writer, "guard-us",
                 (uint64_t)lh_clocks_ceiling_us(lh_clocks_configured_guard(host).ns));
    if (known)
        write_number(writer, "measured-guard-us", (uint64_t)lh_clocks_ceiling_us(measured.ns));
}

void lh_command_cluster_status(struct lh_call *call)
{
    enum lh_resp_protocol protocol = call->session->protocol;
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_map(&reply, protocol, IDENTITY_KEYS + CLUSTER_KEYS + USE_KEYS + 3);
    write_identity(&reply, call->host, call->now);
    write_cluster(&reply, call->host);
    write_use(&reply, call->host, call->now);
    write_peers(&reply, protocol, call->host, call->now);
    write_guard(&reply, protocol, call->host, call->now);
    write_counters(&reply, protocol, call->host);
    lh_reply_end(call->effects, call->session_id, &reply);
}
