// A node of the simulated cluster: the driver that the daemon runs, over a network that delays,
// loses, repeats, reorders and holds datagrams, a disk that loses what was not synced, and a clock
// of its own. The world stands where udp.c, clients.c and store.c of the daemon do: it delivers
// only what is authentic, so a damaged datagram never arrives.
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/memory.h"
#include "host/host_internal.h"

#define HELD_AT_MOST (2 * 3600 * LH_NS_PER_S)
// As src/node/store.c and src/node/daemon.c have it.
#define RETRY_FIRST_NS (10 * LH_NS_PER_MS)
#define RETRY_MOST_NS (1 * LH_NS_PER_S)
#define STORE_PATIENCE (2 * LH_NS_PER_S)

static const struct lh_clock_binding binding = {{1}, 2};

// --- the world below the driver ---

static struct lh_instant world_now(void *context)
{
    struct lh_sim_node *node = context;
    struct lh_sim *sim = node->sim;
    if (sim->settings.turn_ns > 0)
        sim->now += lh_sim_between(sim, 0, sim->settings.turn_ns);
    int64_t reading = lh_sim_clock_read(&node->clock, sim->now);
    if ((sim->settings.weakened & LH_SIM_WEAKEN_STALE_CLOCK) != 0 && node->turn_local_ns != 0)
        reading = node->turn_local_ns;
    return (struct lh_instant){reading};
}

static int64_t latency(struct lh_sim *sim)
{
    const struct lh_sim_settings *settings = &sim->settings;
    int64_t ns = settings->delay_ns + lh_sim_between(sim, 0, settings->jitter_ns);
    if (sim->healed)
        return ns;
    if (lh_sim_chance(sim, settings->late_ppm))
        ns += lh_sim_span(sim, LH_NS_PER_MS, 2 * settings->max_ttl_ns);
    if (lh_sim_chance(sim, settings->held_ppm))
        ns += lh_sim_span(sim, settings->max_ttl_ns, HELD_AT_MOST);
    return ns;
}

static void world_send(void *context, uint8_t to, struct lh_slice bytes)
{
    struct lh_sim_node *node = context;
    struct lh_sim *sim = node->sim;
    unsigned target = to - 1u;
    struct lh_sim_event event = {.kind = LH_SIM_DATAGRAM,
                                 .target = target,
                                 .from = node->config.node,
                                 .generation = lh_host_generation(lh_driver_host(node->driver))};
    sim->result.datagrams++;
    if (sim->cut_until[node->index][target] > sim->now)
        return;
    bool lost = !sim->healed && (lh_sim_chance(sim, sim->settings.loss_ppm) ||
                                 lh_sim_chance(sim, sim->settings.corrupt_ppm));
    unsigned copies = lost ? 0 : 1;
    copies += !sim->healed && lh_sim_chance(sim, sim->settings.duplicate_ppm);
    while (copies-- > 0)
        lh_sim_queue_push(sim->queue, sim->now + latency(sim), &event, bytes.data,
                          bytes.size_bytes);
}

static void begin_write(struct lh_sim_node *node)
{
    struct lh_sim *sim = node->sim;
    int64_t from = lh_sim_node_disk_is(node, LH_SIM_DISK_STALLED) ? node->disk_until : sim->now;
    node->batch = node->write_count;
    struct lh_sim_event event = {.kind = LH_SIM_WRITTEN, .target = node->index, .life = node->life};
    lh_sim_queue_push(sim->queue, from + sim->settings.disk_ns, &event, NULL, 0);
}

static void world_persist(void *context, uint64_t number, const struct lh_host_pair *pairs,
                          unsigned count)
{
    struct lh_sim_node *node = context;
    LH_ASSERT_LE(count, LH_HOST_PAIRS_MAX);
    if (node->write_count == LH_SIM_WRITES_MAX) { // later pairs of a key win
        struct lh_sim_write *last = &node->writes[LH_SIM_WRITES_MAX - 1];
        last->number = number;
        last->count = count;
        memcpy(last->pairs, pairs, count * sizeof pairs[0]);
        return;
    }
    struct lh_sim_write *write = &node->writes[node->write_count++];
    write->number = number;
    write->count = count;
    memcpy(write->pairs, pairs, count * sizeof pairs[0]);
    if (node->write_count == 1) {
        node->retry_ns = RETRY_FIRST_NS;
        begin_write(node);
    }
}

static void world_reply(void *context, uint32_t session, struct lh_slice bytes, bool close)
{
    struct lh_sim_node *node = context;
    struct lh_sim *sim = node->sim;
    LH_ASSERT(node->sessions[session] != 0);
    struct lh_sim_client *client = &sim->clients[node->sessions[session] - 1];
    struct lh_sim_event event = {
        .kind = LH_SIM_TO_CLIENT, .target = client->index, .life = node->lives[session]};
    int64_t at = sim->now + lh_sim_between(sim, 1, sim->settings.client_ns);
    if (!sim->healed && lh_sim_chance(sim, sim->settings.stall_ppm))
        at += lh_sim_span(sim, LH_NS_PER_MS, 2 * sim->settings.max_ttl_ns);
    if (client->life == node->lives[session])
        client->to_client_at = at = at > client->to_client_at ? at : client->to_client_at;
    if (bytes.size_bytes > 0)
        lh_sim_queue_push(sim->queue, at, &event, bytes.data, bytes.size_bytes);
    if (!close)
        return;
    node->sessions[session] = 0;
    event.kind = LH_SIM_RESET;
    lh_sim_queue_push(sim->queue, at, &event, NULL, 0);
}

// --- what it tells ---

static void begin_state(const struct lh_sim_node *node, enum lh_sim_span_kind kind)
{
    lh_sim_timeline_begin(
        node->sim->timeline,
        &(struct lh_sim_span){.kind = kind, .node = node->index, .from_ns = node->sim->now});
}

static void end_state(const struct lh_sim_node *node, enum lh_sim_span_kind kind)
{
    lh_sim_timeline_end(node->sim->timeline,
                        &(struct lh_sim_span){.kind = kind, .node = node->index}, node->sim->now);
}

static void put_record(const struct lh_sim_node *node, const struct lh_writer *writer)
{
    fwrite(writer->start, 1, lh_writer_size_bytes(writer), node->sim->files.records[node->index]);
}

static void record_message(struct lh_sim_node *node, struct lh_instant now,
                           const struct lh_trace *trace)
{
    uint8_t line[LH_RECORDER_LINE_MAX];
    struct lh_writer writer = lh_writer_of(line, sizeof line);
    lh_recorder_message(&node->recorder, now, trace, &writer);
    put_record(node, &writer);
}

static void record_event(struct lh_sim_node *node, struct lh_instant now,
                         const struct lh_event *event)
{
    uint8_t line[LH_RECORDER_LINE_MAX];
    struct lh_writer writer = lh_writer_of(line, sizeof line);
    lh_recorder_event(&node->recorder, now, event, &writer);
    put_record(node, &writer);
}

static void on_event(void *context, struct lh_instant now, const struct lh_event *event)
{
    struct lh_sim_node *node = context;
    struct lh_sim *sim = node->sim;
    lh_sim_note(sim, lh_event_name(event->kind), node->index + 1, event->ballot, event->number);
    if (sim->files.records[node->index] != NULL)
        record_event(node, now, event);
    if (event->kind == LH_EVENT_HALTED)
        sim->result.halts++;
    if (event->kind == LH_EVENT_SERVING)
        end_state(node, LH_SIM_SPAN_NOT_SERVING);
    if (event->kind == LH_EVENT_ADMITTED) {
        node->generation = event->generation;
        lh_sim_weaken_admitted(node, now.ns);
    }
    if (event->name.size_bytes < 2)
        return;
    unsigned name = (unsigned)(event->name.data[1] - '0');
    LH_ASSERT_LT(name, LH_SIM_NAMES_MAX);
    switch (event->kind) {
    case LH_EVENT_GRANTED:
        sim->result.grants++;
        lh_sim_oracle_granted(&sim->oracle, name, event->ballot, sim->now);
        node->until_local_ns[name] = event->at.ns;
        lh_sim_oracle_claim(&sim->oracle, node->index, name, event->ballot, sim->now);
        break;
    case LH_EVENT_RENEWED:
        sim->result.renewals++;
        node->until_local_ns[name] = event->at.ns;
        lh_sim_oracle_claim(&sim->oracle, node->index, name, event->ballot, sim->now);
        break;
    case LH_EVENT_RELEASED:
        sim->result.releases++;
        lh_sim_oracle_drop(&sim->oracle, node->index, name);
        break;
    case LH_EVENT_LOST: sim->result.losses++; break;
    default: break;
    }
}

static void log_message(const struct lh_sim_node *node, const struct lh_trace *trace)
{
    FILE *log = node->sim->files.log;
    const struct lh_message *message = &trace->message;
    fprintf(log, "%lld   node %u %s %s %s %u: name %x ballot %llu", (long long)node->sim->now,
            node->index + 1,
            trace->received ? "receives"
            : trace->held   ? "holds"
                            : "sends",
            lh_message_name(message->kind), trace->received ? "from" : "to", trace->peer,
            (unsigned)(message->key.word[0] & 0xfff), (unsigned long long)message->ballot);
    if (message->base != 0)
        fprintf(log, " base %llu", (unsigned long long)message->base);
    if (message->promised != 0)
        fprintf(log, " promised %llu", (unsigned long long)message->promised);
    if (message->reported != 0)
        fprintf(log, " reports %llu for %lld ns", (unsigned long long)message->reported,
                (long long)message->exclusion.ns);
    fputc('\n', log);
}

static void on_trace(void *context, struct lh_instant now, const struct lh_trace *trace)
{
    struct lh_sim_node *node = context;
    const struct lh_sim_files *files = &node->sim->files;
    if (files->log != NULL)
        log_message(node, trace);
    if (files->records[node->index] != NULL)
        record_message(node, now, trace);
    lh_sim_weaken_message(node, now.ns, trace);
}

static void hash_name(void *context, struct lh_slice name, uint8_t ret_hash[16])
{
    uint64_t hash = lh_hash_bytes(LH_HASH_START, name);
    (void)context;
    lh_store_u64(ret_hash, hash ^ hash >> 29);
    lh_store_u64(ret_hash + 8, hash * UINT64_C(0x9e3779b97f4a7c15));
}

// --- turns ---

static void arm(struct lh_sim_node *node)
{
    node->timer_at = lh_sim_clock_when(&node->clock, lh_driver_deadline(node->driver).ns);
}

static void end_turn(struct lh_sim_node *node)
{
    struct lh_sim *sim = node->sim;
    node->turn_local_ns = lh_sim_clock_read(&node->clock, sim->now);
    arm(node);
    if (!lh_sim_chance(sim, sim->settings.batch_ppm)) {
        node->flush_due = false;
        lh_driver_flush(node->driver);
        return;
    }
    if (node->flush_due)
        return;
    node->flush_due = true; // the turn goes on with whatever comes in the next moment
    struct lh_sim_event event = {.kind = LH_SIM_FLUSH, .target = node->index, .life = node->life};
    lh_sim_queue_push(sim->queue, sim->now + 30 * LH_NS_PER_US, &event, NULL, 0);
}

void lh_sim_node_timer(struct lh_sim_node *node)
{
    lh_driver_timer(node->driver);
    end_turn(node);
}

// --- disk ---

static void store(struct lh_sim_node *node, const struct lh_host_pair *pair)
{
    unsigned at = 0;
    while (at < node->pair_count && (node->pairs[at].key_size != pair->key_size ||
                                     memcmp(node->pairs[at].key, pair->key, pair->key_size) != 0))
        at++;
    LH_ASSERT_LT(at, LH_SIM_PAIRS_MAX);
    if (at == node->pair_count)
        node->pair_count++;
    node->pairs[at] = *pair;
}

static void write_pairs(struct lh_sim_node *node, unsigned count)
{
    for (unsigned at = 0; at < count; at++)
        for (unsigned i = 0; i < node->writes[at].count; i++)
            store(node, &node->writes[at].pairs[i]);
}

static void make_durable(struct lh_sim_node *node, unsigned count)
{
    write_pairs(node, count);
    node->write_count -= count;
    memmove(&node->writes[0], &node->writes[count], node->write_count * sizeof node->writes[0]);
}

// A commit failed: it is tried again, with whatever was queued behind it. Whether one that failed
// for an error of the disk counts is unknown.
static void commit_failed(struct lh_sim_node *node)
{
    struct lh_sim *sim = node->sim;
    struct lh_sim_event event = {.kind = LH_SIM_WRITTEN, .target = node->index, .life = node->life};
    sim->result.disk_errors++;
    if (node->disk == LH_SIM_DISK_FAILING && lh_sim_below(sim, 2) == 0)
        write_pairs(node, node->batch);
    node->batch = node->write_count;
    lh_sim_queue_push(sim->queue, sim->now + node->retry_ns + sim->settings.disk_ns, &event, NULL,
                      0);
    node->retry_ns = node->retry_ns * 2 < RETRY_MOST_NS ? node->retry_ns * 2 : RETRY_MOST_NS;
}

static void on_written(struct lh_sim_node *node)
{
    if (node->write_count == 0)
        return;
    if (lh_sim_node_disk_is(node, LH_SIM_DISK_STALLED)) {
        begin_write(node);
        return;
    }
    if (node->disk_until > node->sim->now) {
        commit_failed(node);
        return;
    }
    uint64_t number = node->writes[node->batch - 1].number;
    make_durable(node, node->batch);
    node->retry_ns = RETRY_FIRST_NS;
    if (node->write_count > 0)
        begin_write(node);
    lh_driver_persisted(node->driver, number);
    end_turn(node);
}

// How many of its writes become durable when it ends in order: it waits a little for the disk.
static unsigned drained(const struct lh_sim_node *node)
{
    return node->disk_until > node->sim->now + STORE_PATIENCE ? 0 : node->write_count;
}

// --- clients ---

static int session_of(struct lh_sim_node *node, const struct lh_sim_event *event)
{
    for (int i = 0; i < LH_SIM_SESSIONS_MAX; i++)
        if (node->sessions[i] == event->other + 1 && node->lives[i] == event->life)
            return i;
    return -1;
}

static int open_session(struct lh_sim_node *node, const struct lh_sim_event *event)
{
    for (int i = 0; i < LH_SIM_SESSIONS_MAX; i++) {
        if (node->sessions[i] != 0)
            continue;
        node->sessions[i] = event->other + 1;
        node->lives[i] = event->life;
        lh_driver_open(node->driver, (uint32_t)i, false);
        return i;
    }
    return -1;
}

static void on_client(struct lh_sim_node *node, const struct lh_sim_event *event)
{
    if (event->token != node->life) // a connection to an earlier process
        return;
    int session = session_of(node, event);
    if (event->kind == LH_SIM_GONE) {
        if (session < 0)
            return;
        node->sessions[session] = 0;
        lh_driver_close(node->driver, (uint32_t)session, false);
    } else {
        if (session < 0)
            session = open_session(node, event);
        if (session < 0 || lh_driver_room(node->driver, (uint32_t)session) < event->size)
            return; // too many, or too much: the client gives up in time
        lh_driver_bytes(node->driver, (uint32_t)session, lh_slice_of(event->bytes, event->size));
    }
    end_turn(node);
}

static void end_life(struct lh_sim_node *node, unsigned durable, bool told,
                     enum lh_sim_span_kind kind);

void lh_sim_node_event(struct lh_sim_node *node, const struct lh_sim_event *event)
{
    struct lh_sim *sim = node->sim;
    if (event->kind == LH_SIM_START) {
        if (node->driver != NULL || event->life != node->life)
            return;
        if (lh_sim_node_disk_is(node, LH_SIM_DISK_FAILING)) // its directory cannot be read
            lh_sim_queue_push(sim->queue, sim->now + RETRY_MOST_NS, event, NULL, 0);
        else
            lh_sim_node_start(node);
        return;
    }
    if (node->driver == NULL)
        return;
    if (node->paused_until > sim->now) { // the kernel keeps it, unless the machine sleeps
        if (event->kind != LH_SIM_DATAGRAM || !node->suspended)
            lh_sim_queue_push(sim->queue, node->paused_until, event, event->bytes, event->size);
        return;
    }
    switch (event->kind) {
    case LH_SIM_DATAGRAM:
        lh_driver_datagram(node->driver, event->from, event->generation,
                           lh_slice_of(event->bytes, event->size));
        end_turn(node);
        lh_sim_measured_judge(node);
        break;
    case LH_SIM_WRITTEN:
        if (event->life == node->life)
            on_written(node);
        break;
    case LH_SIM_FLUSH:
        if (event->life == node->life)
            node->flush_due = false, lh_driver_flush(node->driver);
        break;
    default: on_client(node, event); break;
    }
    if (node->wiped && lh_sim_node_serves(node))
        node->wiped = false;
    if (node->driver != NULL && lh_host_halted(lh_driver_host(node->driver)) != NULL)
        end_life(node, drained(node), true, LH_SIM_SPAN_HALTED); // its supervisor waits
}

// --- lives ---

void lh_sim_node_init(struct lh_sim *sim, unsigned index)
{
    const struct lh_sim_settings *settings = &sim->settings;
    struct lh_sim_node *node = &sim->nodes[index];
    node->sim = sim;
    node->index = index;
    node->clock = lh_sim_some_clock(sim);
    node->clock_since = sim->now;
    node->config = (struct lh_host_config){
        .node = (uint8_t)(index + 1),
        .member_count = (uint8_t)settings->nodes,
        .member_epoch = 1,
        .cluster_id = "simulated",
        .timing = {{settings->max_ttl_ns}, (uint32_t)settings->rate_ppm},
        .max_leases = 64,
        .max_clients = LH_SIM_SESSIONS_MAX,
        .idle_forget = settings->idle_forget != 0,
        .one_round_renewal = settings->one_round_renewal != 0,
        .quarantine_ceiling = settings->quarantine_ceiling != 0,
        .hash_name = hash_name,
        .version = LH_SLICE_INIT("sim"),
    };
    for (unsigned i = 0; i < settings->nodes; i++)
        node->config.members[i] = (uint8_t)(i + 1);
}

static void load(struct lh_sim_node *node, struct lh_driver *driver)
{
    for (unsigned i = 0; i < node->pair_count; i++) {
        const struct lh_host_pair *pair = &node->pairs[i];
        const char *refused = lh_driver_load(driver, lh_slice_of(pair->key, pair->key_size),
                                             lh_slice_of(pair->value, pair->value_size));
        if (refused != NULL)
            lh_sim_oracle_break(&node->sim->oracle, "node %u refuses its own disk: %s",
                                node->index + 1, refused);
    }
    struct lh_instant now = {lh_sim_clock_read(&node->clock, node->sim->now)};
    if (node->saved_size > 0 && lh_host_restore(lh_driver_host(driver), now, &binding,
                                                lh_slice_of(node->saved, node->saved_size)) == NULL)
        node->sim->result.restores++;
}

// One block serves all lives of a node: it is large and hardly touched.
static void *memory_of(struct lh_sim_node *node)
{
    if (node->memory != NULL)
        return node->memory;
    node->memory_size = lh_aligned(lh_driver_size(&node->config));
    node->memory = mmap(NULL, node->memory_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (node->memory == MAP_FAILED)
        abort();
    return node->memory;
}

void lh_sim_node_start(struct lh_sim_node *node)
{
    struct lh_sim *sim = node->sim;
    struct lh_world world = {.context = node,
                             .now = world_now,
                             .send = world_send,
                             .persist = world_persist,
                             .reply = world_reply,
                             .event = on_event,
                             .trace = sim->sees_messages ? on_trace : NULL};
    LH_ASSERT(node->driver == NULL);
    for (unsigned i = 0; i < sizeof node->config.entropy; i++)
        node->config.entropy[i] = (uint8_t)lh_prng_next(&sim->prng);
    node->driver = lh_driver_init(memory_of(node), &node->config, &world);
    node->life++;
    node->recorder = (struct lh_recorder){.node = node->config.node};
    node->flush_due = node->suspended = false;
    node->paused_until = node->turn_local_ns = 0;
    node->write_count = 0;
    load(node, node->driver);
    lh_sim_weaken_start(node);
    lh_driver_start(node->driver);
    end_turn(node);
    lh_sim_note(sim, "start", node->index + 1, node->life, 0);
    end_state(node, LH_SIM_SPAN_CRASHED);
    end_state(node, LH_SIM_SPAN_STOPPED);
    end_state(node, LH_SIM_SPAN_HALTED);
    begin_state(node, LH_SIM_SPAN_NOT_SERVING);
}

void lh_sim_node_stop(struct lh_sim_node *node)
{
    struct lh_host *host = lh_driver_host(node->driver);
    struct lh_instant now = {lh_sim_clock_read(&node->clock, node->sim->now)};
    size_t size = lh_host_save_size(host);
    free(node->saved);
    node->saved = malloc(size);
    if (node->saved == NULL)
        abort();
    node->saved_size = 0;
    if (node->sim->settings.clean_restart != 0)
        node->saved_size = lh_host_save(host, now, &binding, node->saved, size);
    end_life(node, drained(node), true, LH_SIM_SPAN_STOPPED);
}

void lh_sim_node_crash(struct lh_sim_node *node, unsigned durable, bool told)
{
    end_life(node, durable, told, LH_SIM_SPAN_CRASHED);
}

static void end_life(struct lh_sim_node *node, unsigned durable, bool told,
                     enum lh_sim_span_kind kind)
{
    struct lh_sim *sim = node->sim;
    end_state(node, LH_SIM_SPAN_NOT_SERVING);
    begin_state(node, kind);
    make_durable(node, durable);
    node->write_count = 0;
    lh_driver_clear(node->driver);
    node->driver = NULL;
    for (unsigned i = 0; i < LH_SIM_SESSIONS_MAX; i++) {
        struct lh_sim_event event = {
            .kind = LH_SIM_RESET, .target = node->sessions[i] - 1, .life = node->lives[i]};
        if (node->sessions[i] != 0 && told)
            lh_sim_queue_push(sim->queue, sim->now + sim->settings.client_ns, &event, NULL, 0);
        node->sessions[i] = 0;
    }
    lh_sim_note(sim, "down", node->index + 1, durable, told);
    struct lh_sim_event again = {.kind = LH_SIM_START, .target = node->index, .life = node->life};
    int64_t away =
        sim->healed ? LH_NS_PER_MS : lh_sim_span(sim, LH_NS_PER_MS, sim->settings.span_ns);
    lh_sim_queue_push(sim->queue, sim->now + away, &again, NULL, 0);
}

void lh_sim_node_wipe(struct lh_sim_node *node)
{
    node->pair_count = 0;
    node->wiped = true;
    node->sim->result.wipes++;
    lh_sim_timeline_add(node->sim->timeline, &(struct lh_sim_span){.kind = LH_SIM_SPAN_WIPED,
                                                                   .node = node->index,
                                                                   .from_ns = node->sim->now,
                                                                   .to_ns = node->sim->now});
    lh_sim_note(node->sim, "wiped", node->index + 1, 0, 0);
}

void lh_sim_node_reboot(struct lh_sim_node *node)
{
    struct lh_sim *sim = node->sim;
    int64_t old = lh_sim_clock_read(&node->clock, sim->now);
    int64_t fresh = lh_sim_between(sim, LH_NS_PER_S, 20 * LH_NS_PER_S);
    node->clock.local_ns += fresh - old;
    node->clock_since = sim->now;
    for (unsigned i = 0; i < LH_SIM_NAMES_MAX; i++) // its leases end when they would have ended
        node->until_local_ns[i] += fresh - old;
    node->saved_size = 0;
    lh_sim_note(sim, "reboot", node->index + 1, 0, 0);
}

void lh_sim_node_bend(struct lh_sim_node *node, int64_t rate_ppm)
{
    lh_sim_clock_bend(&node->clock, node->sim->now, rate_ppm);
    node->clock_since = node->sim->now;
    if (node->driver != NULL)
        arm(node);
}

bool lh_sim_node_serves(const struct lh_sim_node *node)
{
    return node->driver != NULL &&
           lh_driver_host(node->driver)->identity.state == LH_IDENTITY_SERVING;
}

void lh_sim_node_close(struct lh_sim_node *node)
{
    if (node->memory != NULL)
        munmap(node->memory, node->memory_size);
    free(node->saved);
}
