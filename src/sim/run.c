// See run.h. The loop takes whatever comes first: an event of the queue, or the timer of a node.
#include "sim/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "client/authority.h"
#include "sim/world.h"

#define TIMERS_WITHOUT_TIME 1000
#define CLOCK_PROVED_GOOD (120 * LH_NS_PER_S) // docs/timing.md: at most so long after it is right

// --- the event log ---

static void fold(struct lh_sim *sim, uint64_t value)
{
    uint64_t hash = sim->result.log_hash ^ value;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    sim->result.log_hash = hash ^ hash >> 32;
}

void lh_sim_note(struct lh_sim *sim, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    fold(sim, (uint64_t)sim->now);
    fold(sim, lh_hash_bytes(LH_HASH_START, lh_slice_of_string(what)) ^ a);
    fold(sim, b);
    fold(sim, c);
    if (sim->files.log != NULL)
        fprintf(sim->files.log, "%lld %s %llu %llu %llu\n", (long long)sim->now, what,
                (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
}

static void note_event(struct lh_sim *sim, const struct lh_sim_event *event)
{
    static const char *const names[LH_SIM_EVENT_KINDS] = {
        [LH_SIM_DATAGRAM] = "datagram", [LH_SIM_WRITTEN] = "written",
        [LH_SIM_FLUSH] = "flush",       [LH_SIM_TO_NODE] = "to-node",
        [LH_SIM_GONE] = "gone",         [LH_SIM_TO_CLIENT] = "to-client",
        [LH_SIM_RESET] = "reset",       [LH_SIM_WAKE] = "wake",
        [LH_SIM_TURN] = "turn",         [LH_SIM_STORE] = "store",
        [LH_SIM_EDGE] = "edge",         [LH_SIM_FAULT] = "fault-due",
        [LH_SIM_START] = "start-due"};
    fold(sim, (uint64_t)sim->now);
    fold(sim, (uint64_t)event->kind << 48 ^ (uint64_t)event->target << 24 ^ event->size);
    if (sim->files.log != NULL)
        fprintf(sim->files.log, "%lld %s %u %u %u\n", (long long)sim->now, names[event->kind],
                event->target, event->other, event->size);
}

// --- what the oracle asks ---

static bool believes(void *context, unsigned who, unsigned name, int64_t true_ns)
{
    const struct lh_sim *sim = context;
    if (who < LH_SIM_NODES_MAX) {
        const struct lh_sim_node *node = &sim->nodes[who];
        return lh_sim_clock_read(&node->clock, true_ns) < node->until_local_ns[name];
    }
    const struct lh_sim_client *client = &sim->clients[who - LH_SIM_NODES_MAX];
    struct lh_instant now = {lh_sim_clock_read(&client->clock, true_ns)};
    return client->name == name && lh_authority_at(client->deadline, now);
}

static int64_t ends(void *context, unsigned who, unsigned name)
{
    const struct lh_sim *sim = context;
    if (who < LH_SIM_NODES_MAX)
        return lh_sim_clock_when(&sim->nodes[who].clock, sim->nodes[who].until_local_ns[name]);
    const struct lh_sim_client *client = &sim->clients[who - LH_SIM_NODES_MAX];
    return lh_sim_clock_when(&client->clock,
                             client->name == name ? client->deadline.ns : LH_PAST.ns);
}

static void look(void *context, unsigned who, unsigned name, int64_t true_ns)
{
    struct lh_sim *sim = context;
    struct lh_sim_event event = {.kind = LH_SIM_EDGE, .target = name, .other = who};
    lh_sim_queue_push(sim->queue, true_ns, &event, NULL, 0);
}

static struct lh_sim_span holding(const struct lh_sim *sim, unsigned who, unsigned name)
{
    if (who < LH_SIM_NODES_MAX)
        return (struct lh_sim_span){
            .kind = LH_SIM_SPAN_NODE_HOLDS, .node = who, .which = name, .from_ns = sim->now};
    unsigned client = who - LH_SIM_NODES_MAX;
    return (struct lh_sim_span){.kind = LH_SIM_SPAN_CLIENT_HOLDS,
                                .node = sim->clients[client].node,
                                .which = name,
                                .client = client,
                                .from_ns = sim->now};
}

static void held(void *context, unsigned who, unsigned name, uint64_t token)
{
    const struct lh_sim *sim = context;
    struct lh_sim_span span = holding(sim, who, name);
    span.token = token;
    lh_sim_timeline_begin(sim->timeline, &span);
}

static void ended(void *context, unsigned who, unsigned name, int64_t true_ns)
{
    const struct lh_sim *sim = context;
    struct lh_sim_span span = holding(sim, who, name);
    lh_sim_timeline_end(sim->timeline, &span, true_ns < sim->now ? true_ns : sim->now);
}

// --- the loop ---

static void dispatch(struct lh_sim *sim, const struct lh_sim_event *event, int64_t at)
{
    switch (event->kind) {
    case LH_SIM_TO_CLIENT:
    case LH_SIM_RESET:
    case LH_SIM_TURN:
    case LH_SIM_WAKE: lh_sim_client_event(&sim->clients[event->target], sim, event); break;
    case LH_SIM_STORE:
        if (lh_sim_oracle_write(&sim->oracle, event->target, event->token, event->grant))
            sim->result.writes++;
        else
            sim->result.refused++;
        break;
    case LH_SIM_EDGE: lh_sim_oracle_edge(&sim->oracle, event->other, event->target, at); break;
    case LH_SIM_FAULT: lh_sim_fault(sim, event->other); break;
    default: lh_sim_node_event(&sim->nodes[event->target], event); break;
    }
}

static void one_timer(struct lh_sim *sim, struct lh_sim_node *node, int64_t at)
{
    sim->idle_timers = at > sim->now ? 0 : sim->idle_timers + 1;
    if (sim->idle_timers > TIMERS_WITHOUT_TIME)
        lh_sim_oracle_break(&sim->oracle, "node %u runs its timers without end", node->index + 1);
    sim->now = at > sim->now ? at : sim->now;
    fold(sim, (uint64_t)sim->now ^ node->index);
    if (sim->files.log != NULL)
        fprintf(sim->files.log, "%lld timer %u\n", (long long)sim->now, node->index);
    lh_sim_node_timer(node);
}

// One event. Returns false if there is none before `limit_ns`, which is then the time.
static bool step(struct lh_sim *sim, int64_t limit_ns)
{
    int64_t queued = lh_sim_queue_next(sim->queue);
    int64_t at = queued;
    struct lh_sim_node *due = NULL;
    for (unsigned i = 0; i < sim->settings.nodes; i++) {
        int64_t timer_at = lh_sim_node_timer_at(&sim->nodes[i]);
        if (timer_at < at)
            at = timer_at, due = &sim->nodes[i];
    }
    if (at > limit_ns) {
        sim->now = limit_ns > sim->now ? limit_ns : sim->now;
        return false;
    }
    sim->result.events++;
    if (due != NULL) {
        one_timer(sim, due, at);
    } else {
        struct lh_sim_event event;
        lh_sim_queue_pop(sim->queue, &event);
        sim->idle_timers = 0;
        sim->now = at > sim->now ? at : sim->now;
        note_event(sim, &event);
        dispatch(sim, &event, at);
        lh_sim_queue_free(sim->queue, &event);
    }
    lh_sim_oracle_event(&sim->oracle, sim->now);
    return true;
}

static void run_until(struct lh_sim *sim, int64_t limit_ns)
{
    while (!sim->oracle.broken && step(sim, limit_ns))
        ;
}

static bool everybody_serves(const struct lh_sim *sim)
{
    for (unsigned i = 0; i < sim->settings.nodes; i++)
        if (!lh_sim_node_serves(&sim->nodes[i]))
            return false;
    return true;
}

static bool probe_granted(const struct lh_sim *sim)
{
    const struct lh_sim_client *probe = &sim->clients[sim->settings.clients];
    return probe->granted;
}

// The longest quarantine or exclusion, in true time, on the slowest clock once healed.
static int64_t longest_wait(const struct lh_sim_settings *settings)
{
    struct lh_timing timing = {{settings->max_ttl_ns}, (uint32_t)settings->rate_ppm};
    int64_t local = lh_timing_quarantine(timing, timing.max_ttl).ns;
    bool bad_clocks = settings->clock_ppm > settings->rate_ppm;
    int64_t slow_ppm = bad_clocks ? settings->rate_ppm : settings->clock_ppm;
    return local / (LH_SIM_PPM - slow_ppm) * LH_SIM_PPM + LH_NS_PER_MS +
           (bad_clocks ? CLOCK_PROVED_GOOD : 0);
}

static void stuck(struct lh_sim *sim, int64_t bound_ns, const char *format, unsigned which)
{
    char what[128];
    snprintf(what, sizeof what, format, which);
    sim->result.verdict = LH_SIM_STUCK;
    snprintf(sim->result.what, sizeof sim->result.what, "healed, and yet %s within %lld ms", what,
             (long long)(bound_ns / LH_NS_PER_MS));
}

// After healing every node serves within the longest wait and 5 s (Ask and Announce are repeated
// every 200 ms, a node that is away comes back at once); then every name is granted through
// some node within the longest wait and 5 s.
static void check_liveness(struct lh_sim *sim)
{
    int64_t bound = longest_wait(&sim->settings) + 5 * LH_NS_PER_S;
    int64_t limit = sim->now + bound;
    lh_sim_heal(sim);
    while (!sim->oracle.broken && !everybody_serves(sim) && step(sim, limit))
        ;
    for (unsigned i = 0; i < sim->settings.nodes && !sim->oracle.broken; i++)
        if (!lh_sim_node_serves(&sim->nodes[i])) {
            stuck(sim, bound, "node %u does not serve", i + 1);
            return;
        }
    for (unsigned name = 0; name < sim->settings.names && !sim->oracle.broken; name++) {
        unsigned node = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.nodes);
        limit = sim->now + bound;
        lh_sim_client_probe(sim, node, name, bound);
        while (!sim->oracle.broken && !probe_granted(sim) && step(sim, limit))
            ;
        if (!sim->oracle.broken && !probe_granted(sim)) {
            stuck(sim, bound, "n%u is granted to nobody", name);
            return;
        }
    }
}

static void open_world(struct lh_sim *sim)
{
    sim->now = LH_NS_PER_S;
    sim->queue = lh_sim_queue_open();
    lh_prng_seed_number(&sim->prng, sim->settings.seed);
    sim->oracle.context = sim;
    sim->oracle.tokens_fall = (sim->settings.weakened & LH_SIM_WEAKEN_NO_FLOOR) != 0;
    sim->oracle.believes = believes;
    sim->oracle.ends = ends;
    sim->oracle.look = look;
    sim->oracle.held = held;
    sim->oracle.ended = ended;
    for (unsigned i = 0; i < sim->settings.nodes; i++)
        lh_sim_node_init(sim, i);
    for (unsigned i = 0; i < sim->settings.nodes; i++)
        lh_sim_node_start(&sim->nodes[i]);
    for (unsigned i = 0; i <= sim->settings.clients; i++)
        lh_sim_client_init(sim, i);
    sim->clients[sim->settings.clients].gone = true;
    lh_sim_faults_begin(sim);
}

void lh_sim_run(const struct lh_sim_settings *settings, const struct lh_sim_files *files,
                struct lh_sim_result *ret_result)
{
    struct lh_sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        abort();
    sim->settings = *settings;
    sim->files = *files;
    sim->result.seed = settings->seed;
    sim->sees_messages = settings->weakened != 0 || files->log != NULL || files->records[0] != NULL;
    sim->timeline = files->timeline != NULL ? lh_sim_timeline_open() : NULL;
    open_world(sim);
    run_until(sim, sim->now + settings->duration_ns);
    if (!sim->oracle.broken)
        check_liveness(sim);
    if (sim->oracle.broken) {
        sim->result.verdict = LH_SIM_UNSAFE;
        memcpy(sim->result.what, sim->oracle.what, sizeof sim->result.what);
    }
    sim->result.at_ns = sim->now;
    sim->result.simulated_ns = sim->now;
    *ret_result = sim->result;
    if (sim->timeline != NULL)
        lh_sim_timeline_draw(sim->timeline, settings, ret_result, files->timeline);
    lh_sim_timeline_close(sim->timeline);
    for (unsigned i = 0; i < LH_SIM_NODES_MAX; i++)
        lh_sim_node_close(&sim->nodes[i]);
    lh_sim_queue_close(sim->queue);
    free(sim);
}
