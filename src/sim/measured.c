// The judge of what a node measures of its peers' clocks (host/clock_bound.h), by the clocks
// themselves: whatever happened to the datagrams, each interval must contain the truth. A clock
// that was bent or began anew has no one rate: what is older is not judged. And where all clocks
// keep the bound, no node may hold its own for bad.
#include "host/host_internal.h"
#include "sim/world.h"

#define EVERY (250 * LH_NS_PER_MS)

__extension__ typedef __int128 wide;

// least <= (1 + peer) / (1 + ours) - 1 <= most
static bool has_rate(struct lh_clock_interval ppb, const struct lh_sim_clock *ours,
                     const struct lh_sim_clock *peer)
{
    const wide truth = (wide)(peer->rate_ppm - ours->rate_ppm) * LH_PPB;
    const wide unit = LH_SIM_PPM + ours->rate_ppm;
    return ppb.least * unit <= truth && truth <= ppb.most * unit;
}

// The peer's clock may have shown its stamp for a nanosecond longer.
static bool has_offset(struct lh_clock_interval ns, int64_t stamp, const struct lh_sim_clock *ours,
                       const struct lh_sim_clock *peer)
{
    const int64_t truth = stamp - lh_sim_clock_read(ours, lh_sim_clock_when(peer, stamp));
    return ns.least <= truth && truth <= ns.most + 1;
}

static void judge(struct lh_sim_node *node, const struct lh_sim_node *other,
                  const struct lh_clock_bound *bound)
{
    struct lh_sim *sim = node->sim;
    const struct lh_instant now = {lh_sim_clock_read(&node->clock, sim->now)};
    const int64_t since =
        node->clock_since > other->clock_since ? node->clock_since : other->clock_since;
    struct lh_clock_interval ppb, ns;
    if (!lh_clock_bound_offset(bound, now, &ns) ||
        bound->points[0].ours_early < lh_sim_clock_read(&node->clock, since))
        return;
    sim->result.intervals++;
    if (!has_offset(ns, bound->points[bound->count - 1].peer_late, &node->clock, &other->clock))
        lh_sim_oracle_break(&sim->oracle, "node %u measured the offset of node %u wrongly",
                            node->index + 1, other->index + 1);
    if (lh_clock_bound_rate(bound, now, &ppb) && !has_rate(ppb, &node->clock, &other->clock))
        lh_sim_oracle_break(&sim->oracle, "node %u measured the rate of node %u wrongly",
                            node->index + 1, other->index + 1);
}

void lh_sim_measured_judge(struct lh_sim_node *node)
{
    if (node->driver == NULL || node->sim->now - node->judged_at < EVERY)
        return;
    node->judged_at = node->sim->now;
    const struct lh_host *host = lh_driver_host(node->driver);
    const struct lh_sim_settings *settings = &node->sim->settings;
    if (host->clocks.bad && settings->clock_ppm <= settings->rate_ppm)
        lh_sim_oracle_break(&node->sim->oracle, "node %u takes its clock for bad: %s",
                            node->index + 1, host->clocks.reason);
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (i != node->index)
            judge(node, &node->sim->nodes[i], &host->peers.peers[i].clock);
}
