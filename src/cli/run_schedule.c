// See run_schedule.h.
#include "cli/run_schedule.h"

// A twentieth of the lease, 5 ms to 100 ms: what SIGKILL needs on a busy machine, measured
// generously.
static struct lh_duration kill_margin(struct lh_duration ttl)
{
    int64_t margin_ns = ttl.ns / 20;
    if (margin_ns < 5 * LH_NS_PER_MS)
        margin_ns = 5 * LH_NS_PER_MS;
    if (margin_ns > 100 * LH_NS_PER_MS)
        margin_ns = 100 * LH_NS_PER_MS;
    return (struct lh_duration){margin_ns};
}

// t - d, and never before the beginning of time.
static struct lh_instant earlier_by(struct lh_instant t, struct lh_duration d)
{
    return d.ns >= t.ns ? LH_PAST : (struct lh_instant){t.ns - d.ns};
}

struct lh_duration lh_run_kill_after_most(struct lh_duration ttl)
{
    return (struct lh_duration){ttl.ns / 2};
}

struct lh_duration lh_run_kill_after_default(struct lh_duration ttl)
{
    int64_t quarter_ns = ttl.ns / 4;
    return (struct lh_duration){quarter_ns < 5 * LH_NS_PER_S ? quarter_ns : 5 * LH_NS_PER_S};
}

struct lh_run_schedule lh_run_schedule(struct lh_instant now, struct lh_instant deadline,
                                       struct lh_duration ttl, struct lh_duration kill_after,
                                       uint32_t spread)
{
    struct lh_run_schedule schedule;
    schedule.kill = earlier_by(deadline, kill_margin(ttl));
    schedule.terminate = lh_earlier(earlier_by(deadline, kill_after), schedule.kill);

    int64_t half_ns = lh_left(now, deadline).ns / 2;
    int64_t two_thirds_ns = lh_left(now, schedule.terminate).ns / 3 * 2;
    int64_t until_renewal_ns = half_ns < two_thirds_ns ? half_ns : two_thirds_ns;
    until_renewal_ns -= until_renewal_ns / 10 * (spread % 1024) / 1024;
    schedule.renew = lh_after(now, (struct lh_duration){until_renewal_ns});
    return schedule;
}

struct lh_run_schedule lh_run_schedule_lost(struct lh_instant now, struct lh_run_schedule schedule,
                                            struct lh_duration kill_after)
{
    return (struct lh_run_schedule){
        .renew = LH_NEVER,
        .terminate = lh_earlier(now, schedule.terminate),
        .kill = lh_earlier(lh_after(now, kill_after), schedule.kill),
    };
}
