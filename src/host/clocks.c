// See clocks.h.
#include "host/clocks.h"

#include "base/text.h"
#include "host/host_internal.h"

#define SLOW "this node's clock runs slow: more than half of the others run fast by it"
#define FAST "this node's clock runs fast: more than half of the others run slow by it"

struct poll {
    unsigned fast, slow; // peers beyond the bound on either side
    uint8_t fast_peer, slow_peer;
    int64_t fast_ppb, slow_ppb; // and the furthest of each
};

static struct poll poll_peers(const struct lh_host *host, struct lh_instant now)
{
    const struct lh_clock_interval allowed = lh_clock_bound_allowed(host->config.timing.rate_ppm);
    struct poll poll = {0};
    for (unsigned i = 0; i < host->config.member_count; i++) {
        const struct lh_peer *peer = &host->peers.peers[i];
        struct lh_clock_interval measured;
        if (peer->node == host->config.node || !lh_clock_bound_rate(&peer->clock, now, &measured))
            continue;
        const int64_t excess = lh_clock_bound_excess(measured, allowed);
        poll.fast += excess > 0;
        poll.slow += excess < 0;
        if (excess > poll.fast_ppb) {
            poll.fast_ppb = excess;
            poll.fast_peer = peer->node;
        }
        if (excess < poll.slow_ppb) {
            poll.slow_ppb = excess;
            poll.slow_peer = peer->node;
        }
    }
    return poll;
}

// "..., node 2 by at least 4.3% more than rate-error allows: ..."
static void explain(struct lh_clocks *clocks, const char *what)
{
    struct lh_writer writer = lh_writer_of((uint8_t *)clocks->reason, sizeof clocks->reason - 1);
    const int64_t ppb = clocks->excess_ppb < 0 ? -clocks->excess_ppb : clocks->excess_ppb;
    const uint64_t thousandths = (uint64_t)(ppb / 10000); // of a percent
    lh_writer_string(&writer, what);
    lh_writer_string(&writer, ", node ");
    lh_u64_write(&writer, clocks->peer);
    lh_writer_string(&writer, " by ");
    lh_u64_write(&writer, thousandths / 1000);
    lh_writer_string(&writer, ".");
    lh_u64_write(&writer, thousandths / 100 % 10);
    lh_u64_write(&writer, thousandths / 10 % 10);
    lh_u64_write(&writer, thousandths % 10);
    lh_writer_string(&writer,
                     "% more than rate-error allows; it neither holds nor grants until the "
                     "clock is right again: see to its time source or move the machine");
    clocks->reason[writer.failed ? 0 : lh_writer_size_bytes(&writer)] = '\0';
}

void lh_clocks_tick(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_clocks *clocks = &host->clocks;
    const unsigned others = host->config.member_count - 1u;
    const struct poll poll = poll_peers(host, now);
    const bool slow = 2 * poll.fast > others;
    const bool fast = 2 * poll.slow > others;
    if (!lh_identity_acts(&host->identity) || (!clocks->bad && !slow && !fast))
        return;
    if (!slow && !fast) {
        clocks->bad = false;
        lh_host_event(effects, LH_EVENT_CLOCK_GOOD);
        lh_machine_resume(&host->machine, lh_identity_quarantine(host, now, effects));
        return;
    }
    const bool news = !clocks->bad;
    clocks->bad = true;
    clocks->peer = slow ? poll.fast_peer : poll.slow_peer;
    clocks->excess_ppb = slow ? poll.fast_ppb : poll.slow_ppb;
    explain(clocks, slow ? SLOW : FAST);
    if (!news)
        return;
    lh_machine_suspend(&host->machine, now);
    struct lh_event *event = lh_host_event(effects, LH_EVENT_CLOCK_BAD);
    event->peer = clocks->peer;
    event->number = (uint64_t)(slow ? clocks->excess_ppb : -clocks->excess_ppb);
    event->text = slow ? SLOW : FAST;
}

static int64_t floor_us(int64_t ns)
{
    return ns / LH_NS_PER_US - (ns % LH_NS_PER_US < 0);
}

int64_t lh_clocks_ceiling_us(int64_t ns)
{
    return -floor_us(-ns);
}

struct lh_clocks_measured lh_clocks_measure(const struct lh_host *host, const struct lh_peer *peer,
                                            struct lh_instant now)
{
    const struct lh_clock_interval allowed = lh_clock_bound_allowed(host->config.timing.rate_ppm);
    struct lh_clocks_measured measured = {0};
    struct lh_clock_interval offset;
    measured.has_offset = lh_clock_bound_offset(&peer->clock, now, &offset);
    if (measured.has_offset)
        measured.offset_us =
            (struct lh_clock_interval){floor_us(offset.least), lh_clocks_ceiling_us(offset.most)};
    measured.has_rate = lh_clock_bound_rate(&peer->clock, now, &measured.rate_ppb);
    if (!measured.has_rate)
        return measured;
    const int64_t above = allowed.most - measured.rate_ppb.most;
    const int64_t below = measured.rate_ppb.least - allowed.least;
    measured.margin_ppb = above < below ? above : below;
    measured.excess_ppb = lh_clock_bound_excess(measured.rate_ppb, allowed);
    return measured;
}

struct lh_duration lh_clocks_configured_guard(const struct lh_host *host)
{
    const struct lh_timing timing = host->config.timing;
    return (struct lh_duration){lh_timing_exclusion(timing, timing.max_ttl).ns - timing.max_ttl.ns};
}

bool lh_clocks_guard(const struct lh_host *host, struct lh_instant now, struct lh_duration ttl,
                     struct lh_duration *ret_guard)
{
    struct lh_duration greatest = {0};
    if (host->config.member_count == 1)
        return false;
    for (unsigned i = 0; i < host->config.member_count; i++) {
        const struct lh_peer *peer = &host->peers.peers[i];
        struct lh_clock_interval measured;
        if (peer->node == host->config.node)
            continue;
        if (!lh_clock_bound_rate(&peer->clock, now, &measured))
            return false;
        const struct lh_duration guard = lh_clock_bound_guard(measured, ttl);
        greatest = guard.ns > greatest.ns ? guard : greatest;
    }
    *ret_guard = greatest;
    return true;
}
