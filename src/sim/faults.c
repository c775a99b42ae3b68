// What goes wrong. Each kind of fault comes again after a span of its own, evenly between nothing
// and twice the setting, and ends by itself. Three things are never done, because nothing can stand
// them and the documents say so: more disks are not lost at once than a minority's, no node is
// replaced more often than it has generations, and no clock is driven out of its bound unless the
// settings ask for it.
#include "sim/world.h"

#define GENERATION_LAST 250 // of 255: a start that is cut off may use one up

enum fault { DRIFT, CRASH, STOP, PAUSE, SUSPEND, CUT, DISK_STALL, DISK_FULL, DISK_FAIL, FAULTS };

int64_t lh_sim_span(struct lh_sim *sim, int64_t least_ns, int64_t most_ns)
{
    if (most_ns <= least_ns)
        return least_ns;
    unsigned doublings = 0;
    while (doublings < 62 && least_ns <= most_ns >> (doublings + 1))
        doublings++;
    int64_t low = least_ns << lh_sim_below(sim, doublings + 1);
    return lh_sim_between(sim, low, low > most_ns / 2 ? most_ns : 2 * low);
}

static int64_t some_rate(struct lh_sim *sim)
{
    int64_t most = sim->settings.clock_ppm;
    if (lh_sim_chance(sim, sim->settings.extreme))
        return lh_sim_below(sim, 2) == 0 ? most : -most;
    return lh_sim_between(sim, -most, most);
}

struct lh_sim_clock lh_sim_some_clock(struct lh_sim *sim)
{
    int64_t rate_ppm = some_rate(sim);
    int64_t uptime = lh_sim_span(sim, LH_NS_PER_S, 1000000 * LH_NS_PER_S);
    return (struct lh_sim_clock){.true_ns = sim->now, .local_ns = uptime, .rate_ppm = rate_ppm};
}

static int64_t every(const struct lh_sim *sim, unsigned kind)
{
    const struct lh_sim_settings *settings = &sim->settings;
    const int64_t spans[FAULTS] = {[DRIFT] = settings->drift_ns,
                                   [CRASH] = settings->crash_ns,
                                   [STOP] = settings->stop_ns,
                                   [PAUSE] = settings->pause_ns,
                                   [SUSPEND] = settings->suspend_ns,
                                   [CUT] = settings->cut_ns,
                                   [DISK_STALL] = settings->disk_stall_ns,
                                   [DISK_FULL] = settings->disk_full_ns,
                                   [DISK_FAIL] = settings->disk_fail_ns};
    return kind < FAULTS ? spans[kind] : 0;
}

static void again(struct lh_sim *sim, unsigned kind)
{
    struct lh_sim_event event = {.kind = LH_SIM_FAULT, .other = kind};
    if (every(sim, kind) > 0)
        lh_sim_queue_push(sim->queue, sim->now + lh_sim_between(sim, 1, 2 * every(sim, kind)),
                          &event, NULL, 0);
}

void lh_sim_faults_begin(struct lh_sim *sim)
{
    for (unsigned kind = 0; kind < FAULTS; kind++)
        again(sim, kind);
}

static struct lh_sim_node *some_node(struct lh_sim *sim)
{
    return &sim->nodes[lh_sim_below(sim, (uint64_t)sim->settings.nodes)];
}

static int64_t some_span(struct lh_sim *sim)
{
    return lh_sim_span(sim, LH_NS_PER_MS, sim->settings.span_ns);
}

static unsigned memories_missing(const struct lh_sim *sim)
{
    unsigned count = 0;
    for (unsigned i = 0; i < sim->settings.nodes; i++)
        count += sim->nodes[i].wiped;
    return count;
}

static void draw(const struct lh_sim *sim, enum lh_sim_span_kind kind, unsigned node,
                 unsigned which, int64_t until)
{
    lh_sim_timeline_add(
        sim->timeline,
        &(struct lh_sim_span){
            .kind = kind, .node = node, .which = which, .from_ns = sim->now, .to_ns = until});
}

static void crash(struct lh_sim *sim, struct lh_sim_node *node, bool told)
{
    if (node->driver == NULL)
        return;
    sim->result.crashes++;
    unsigned durable = (unsigned)lh_sim_below(sim, node->write_count + 1);
    lh_sim_node_crash(node, lh_sim_node_disk_is(node, LH_SIM_DISK_FULL) ? 0 : durable, told);
    if (lh_sim_chance(sim, sim->settings.reboot_ppm))
        lh_sim_node_reboot(node);
    if (!node->wiped && node->generation < GENERATION_LAST &&
        memories_missing(sim) < (unsigned)(sim->settings.nodes - 1) / 2 &&
        lh_sim_chance(sim, sim->settings.wipe_ppm))
        lh_sim_node_wipe(node);
}

static void drift(struct lh_sim *sim)
{
    unsigned index = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.nodes +
                                                     (uint64_t)sim->settings.clients);
    int64_t rate_ppm = some_rate(sim);
    if (index < sim->settings.nodes)
        lh_sim_node_bend(&sim->nodes[index], rate_ppm);
    else
        lh_sim_client_bend(&sim->clients[index - sim->settings.nodes], sim, rate_ppm);
}

static void cut(struct lh_sim *sim)
{
    unsigned from = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.nodes);
    unsigned to = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.nodes);
    uint64_t kind = lh_sim_below(sim, 4); // one direction of a link, a node's ears, mouth, or both
    int64_t until = sim->now + some_span(sim);
    for (unsigned i = 0; i < sim->settings.nodes; i++) {
        if (kind == 1 || kind == 3)
            sim->cut_until[i][from] = until;
        if (kind == 2 || kind == 3)
            sim->cut_until[from][i] = until;
    }
    if (kind == 0)
        sim->cut_until[from][to] = until;
    static const enum lh_sim_span_kind kinds[] = {LH_SIM_SPAN_LINK_CUT, LH_SIM_SPAN_DEAF,
                                                  LH_SIM_SPAN_MUTE, LH_SIM_SPAN_CUT_OFF};
    draw(sim, kinds[kind], from, to, until);
    sim->result.cuts++;
}

static void trouble_disk(struct lh_sim *sim, struct lh_sim_node *node, enum lh_sim_disk disk)
{
    node->disk = disk;
    node->disk_until = sim->now + some_span(sim);
    draw(sim, LH_SIM_SPAN_DISK_STALLED + (enum lh_sim_span_kind)disk, node->index, 0,
         node->disk_until);
    sim->result.stalls += disk == LH_SIM_DISK_STALLED;
}

static void pause_node(struct lh_sim *sim, bool suspended)
{
    struct lh_sim_node *node = some_node(sim);
    if (node->driver == NULL || node->paused_until > sim->now)
        return;
    node->paused_until = sim->now + some_span(sim);
    node->suspended = suspended;
    draw(sim, suspended ? LH_SIM_SPAN_SUSPENDED : LH_SIM_SPAN_PAUSED, node->index, 0,
         node->paused_until);
    sim->result.pauses++;
}

void lh_sim_fault(struct lh_sim *sim, unsigned kind)
{
    if (sim->healed)
        return;
    lh_sim_note(sim, "fault", kind, 0, 0);
    struct lh_sim_node *node = some_node(sim);
    bool told = lh_sim_below(sim, 4) > 0; // else the machine is gone, and nobody's connection ends
    switch ((enum fault)kind) {
    case DRIFT: drift(sim); break;
    case CRASH:
        if (lh_sim_chance(sim, sim->settings.black_ppm))
            for (unsigned i = 0; i < sim->settings.nodes; i++)
                crash(sim, &sim->nodes[i], told);
        else
            crash(sim, node, told);
        break;
    case STOP:
        if (node->driver != NULL && node->paused_until <= sim->now)
            sim->result.crashes++, lh_sim_node_stop(node);
        break;
    case PAUSE: pause_node(sim, false); break;
    case SUSPEND: pause_node(sim, true); break;
    case CUT: cut(sim); break;
    case DISK_STALL: trouble_disk(sim, node, LH_SIM_DISK_STALLED); break;
    case DISK_FULL: trouble_disk(sim, node, LH_SIM_DISK_FULL); break;
    case DISK_FAIL: trouble_disk(sim, node, LH_SIM_DISK_FAILING); break;
    case FAULTS: break;
    }
    again(sim, kind);
}

// What a pause, a stall or a slow stream held back comes now; a late datagram stays late.
static void let_loose(struct lh_sim *sim)
{
    struct lh_sim_queue *held = sim->queue;
    sim->queue = lh_sim_queue_open();
    while (lh_sim_queue_next(held) != INT64_MAX) {
        struct lh_sim_event event;
        int64_t at = lh_sim_queue_next(held);
        lh_sim_queue_pop(held, &event);
        bool loose = event.kind == LH_SIM_WRITTEN || event.kind == LH_SIM_TO_NODE ||
                     event.kind == LH_SIM_GONE;
        lh_sim_queue_push(sim->queue, loose ? sim->now : at, &event, event.bytes, event.size);
        lh_sim_queue_free(held, &event);
    }
    lh_sim_queue_close(held);
}

static int64_t within(int64_t rate_ppm, int64_t most)
{
    return rate_ppm > most ? most : rate_ppm < -most ? -most : rate_ppm;
}

// Liveness is promised to clocks within their bound only.
static void correct_clocks(struct lh_sim *sim)
{
    const int64_t most = sim->settings.rate_ppm;
    if (sim->settings.clock_ppm <= most)
        return;
    for (unsigned i = 0; i < sim->settings.nodes; i++)
        lh_sim_node_bend(&sim->nodes[i], within(sim->nodes[i].clock.rate_ppm, most));
    for (unsigned i = 0; i <= sim->settings.clients; i++)
        lh_sim_client_bend(&sim->clients[i], sim, within(sim->clients[i].clock.rate_ppm, most));
}

void lh_sim_heal(struct lh_sim *sim)
{
    sim->healed = true;
    lh_sim_settings_heal(&sim->settings);
    lh_sim_note(sim, "healed", 0, 0, 0);
    lh_sim_timeline_healed(sim->timeline, sim->now);
    for (unsigned i = 0; i < LH_SIM_NODES_MAX; i++)
        for (unsigned j = 0; j < LH_SIM_NODES_MAX; j++)
            sim->cut_until[i][j] = 0;
    for (unsigned i = 0; i < sim->settings.nodes; i++) {
        struct lh_sim_node *node = &sim->nodes[i];
        node->paused_until = node->disk_until = 0;
        if (node->driver == NULL)
            lh_sim_node_start(node);
    }
    for (unsigned i = 0; i < sim->settings.clients; i++) {
        sim->clients[i].gone = true;
        lh_sim_client_crash(&sim->clients[i], sim);
    }
    correct_clocks(sim);
    let_loose(sim);
}
