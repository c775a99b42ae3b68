// INFO: facts and counters as lines of text in sections, in the form of Redis, whose field names
// clients look for: `loading:0` passes ioredis' ready check, `redis_version` tells what connection
// commands to expect, `role:master` that any command may be sent here. Everything of our own is in
// the section Leasehold.
#include "base/text.h"
#include "host/command.h"
#include "host/status.h"

#define SECONDS_PER_DAY 86400

static void write_number(struct lh_writer *text, const char *key, uint64_t value)
{
    lh_writer_string(text, key);
    lh_writer_u8(text, ':');
    lh_u64_write(text, value);
    lh_writer_string(text, "\r\n");
}

static void write_text(struct lh_writer *text, const char *key, struct lh_slice value)
{
    lh_writer_string(text, key);
    lh_writer_u8(text, ':');
    lh_json_escape(text, value); // one line, whatever it is
    lh_writer_string(text, "\r\n");
}

static void write_server(struct lh_writer *text, const struct lh_call *call)
{
    const struct lh_host *host = call->host;
    uint64_t uptime_s = (uint64_t)(lh_status_uptime(host, call->now).ns / LH_NS_PER_S);
    write_text(text, "redis_version", LH_SLICE(LH_REDIS_VERSION));
    write_text(text, "redis_mode", LH_SLICE("standalone"));
    write_text(text, "leasehold_version", host->config.version);
    write_number(text, "arch_bits", 8 * sizeof(void *));
    write_number(text, "uptime_in_seconds", uptime_s);
    write_number(text, "uptime_in_days", uptime_s / SECONDS_PER_DAY);
}

static void write_clients(struct lh_writer *text, const struct lh_call *call)
{
    const struct lh_host *host = call->host;
    uint64_t blocked = 0, watching = 0;
    for (uint32_t i = 0; i < host->config.max_clients; i++) {
        const struct lh_session *session = &host->sessions.sessions[i];
        blocked += session->open && session->request != 0;
        watching += session->open && session->watch_count > 0;
    }
    write_number(text, "connected_clients", host->sessions.count_open);
    write_number(text, "maxclients", host->config.max_clients);
    write_number(text, "blocked_clients", blocked);
    write_number(text, "pubsub_clients", watching);
}

static void write_persistence(struct lh_writer *text, const struct lh_call *call)
{
    (void)call;
    write_number(text, "loading", 0);
}

static void write_stats(struct lh_writer *text, const struct lh_call *call)
{
    const struct lh_sessions *sessions = &call->host->sessions;
    uint64_t watched = 0;
    for (uint32_t i = 0; i < call->host->config.max_clients; i++)
        watched += sessions->sessions[i].open ? sessions->sessions[i].watch_count : 0;
    write_number(text, "total_connections_received", sessions->opened);
    write_number(text, "total_commands_processed", sessions->commands);
    write_number(text, "malformed_connections", sessions->malformed);
    write_number(text, "pubsub_channels", watched);
    write_number(text, "pubsub_patterns", 0);
}

static void write_replication(struct lh_writer *text, const struct lh_call *call)
{
    (void)call;
    write_text(text, "role", LH_SLICE("master"));
    write_number(text, "connected_slaves", 0);
}

static void write_cluster(struct lh_writer *text, const struct lh_call *call)
{
    (void)call;
    write_number(text, "cluster_enabled", 0); // no hash slots: see CLUSTER STATUS
}

static void write_leasehold(struct lh_writer *text, const struct lh_call *call)
{
    const struct lh_host *host = call->host;
    struct lh_status_counter counters[LH_STATUS_COUNTERS_MAX];
    size_t count = lh_status_counters(host, counters);
    write_number(text, "node", host->config.node);
    write_number(text, "generation", host->identity.generation);
    write_text(text, "state", lh_slice_of_string(lh_status_state(host)));
    write_number(text, "members", host->config.member_count);
    write_number(text, "members_up", lh_status_members_up(host));
    write_number(text, "quorum", host->machine.quorum);
    write_number(text, "max_ttl_ms", (uint64_t)lh_floor_ms(host->config.timing.max_ttl));
    write_number(text, "rate_ppm", host->config.timing.rate_ppm);
    write_number(text, "leases", host->machine.held);
    write_number(text, "waiters", host->tenants.waiting);
    write_number(text, "records", host->machine.acceptors.count);
    write_number(text, "capacity", host->config.max_leases);
    for (size_t i = 0; i < count; i++) {
        char key[64];
        size_t size = 0;
        for (const char *at = counters[i].name; *at != '\0' && size < sizeof key - 1; at++)
            key[size++] = *at == '-' ? '_' : *at;
        key[size] = '\0';
        write_number(text, key, counters[i].value);
    }
}

static void write_field(struct lh_writer *text, const char *separator, const char *key,
                        int64_t value)
{
    lh_writer_string(text, separator);
    lh_writer_string(text, key);
    lh_writer_u8(text, '=');
    lh_i64_write(text, value);
}

// A line a peer, in the form of Redis' `slave0`; what is not measured is left out.
static void write_peer_clock(struct lh_writer *text, const struct lh_call *call,
                             const struct lh_peer *peer)
{
    const struct lh_clocks_measured clock = lh_clocks_measure(call->host, peer, call->now);
    lh_writer_string(text, "clock_node");
    lh_u64_write(text, peer->node);
    write_field(text, ":", "measured", clock.has_rate);
    if (clock.has_rate) {
        write_field(text, ",", "rate_least_ppb", clock.rate_ppb.least);
        write_field(text, ",", "rate_most_ppb", clock.rate_ppb.most);
        write_field(text, ",", "margin_ppb", clock.margin_ppb);
        write_field(text, ",", "excess_ppb", clock.excess_ppb);
    }
    if (clock.has_offset) {
        write_field(text, ",", "offset_least_us", clock.offset_us.least);
        write_field(text, ",", "offset_most_us", clock.offset_us.most);
    }
    lh_writer_string(text, "\r\n");
}

static void write_clocks(struct lh_writer *text, const struct lh_call *call)
{
    const struct lh_host *host = call->host;
    const struct lh_clock_interval allowed = lh_clock_bound_allowed(host->config.timing.rate_ppm);
    struct lh_duration measured;
    write_number(text, "clock_bad", host->clocks.bad);
    write_number(text, "clock_allowed_most_ppb", (uint64_t)allowed.most);
    lh_writer_string(text, "clock_allowed_least_ppb:");
    lh_i64_write(text, allowed.least);
    lh_writer_string(text, "\r\n");
    write_number(text, "clock_guard_us",
                 (uint64_t)lh_clocks_ceiling_us(lh_clocks_configured_guard(host).ns));
    if (lh_clocks_guard(host, call->now, host->config.timing.max_ttl, &measured))
        write_number(text, "clock_measured_guard_us", (uint64_t)lh_clocks_ceiling_us(measured.ns));
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (host->config.members[i] != host->config.node)
            write_peer_clock(text, call, &host->peers.peers[i]);
}

static const struct section {
    struct lh_slice name;
    void (*write)(struct lh_writer *text, const struct lh_call *call);
} sections[] = {
    {LH_SLICE_INIT("Server"), write_server},           {LH_SLICE_INIT("Clients"), write_clients},
    {LH_SLICE_INIT("Persistence"), write_persistence}, {LH_SLICE_INIT("Stats"), write_stats},
    {LH_SLICE_INIT("Replication"), write_replication}, {LH_SLICE_INIT("Cluster"), write_cluster},
    {LH_SLICE_INIT("Leasehold"), write_leasehold},     {LH_SLICE_INIT("Clocks"), write_clocks},
};

static bool is_wanted(const struct lh_call *call, const struct section *section)
{
    for (size_t i = 1; i < call->word_count; i++) {
        struct lh_slice word = call->words[i];
        if (lh_slice_equal_ignoring_case(word, section->name) ||
            lh_slice_equal_ignoring_case(word, LH_SLICE("all")) ||
            lh_slice_equal_ignoring_case(word, LH_SLICE("default")) ||
            lh_slice_equal_ignoring_case(word, LH_SLICE("everything")))
            return true;
    }
    return call->word_count == 1;
}

// A section that is not there is empty, as in Redis: clients ask for those of other versions.
void lh_command_info(struct lh_call *call)
{
    struct lh_writer reply = lh_reply_begin(call->effects);
    struct lh_writer text = lh_reply_scratch(&reply);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!is_wanted(call, &sections[i]))
            continue;
        if (lh_writer_size_bytes(&text) > 0)
            lh_writer_string(&text, "\r\n");
        lh_writer_string(&text, "# ");
        lh_writer_slice_bytes(&text, sections[i].name);
        lh_writer_string(&text, "\r\n");
        sections[i].write(&text, call);
    }
    lh_resp_write_verbatim(&reply, call->session->protocol, lh_writer_slice(&text));
    lh_reply_end(call->effects, call->session_id, &reply);
}
