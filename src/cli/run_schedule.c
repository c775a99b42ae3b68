// See run_schedule.h.
#include "cli/run_schedule.h"

static int64_t clamp(int64_t least, int64_t value, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

// What SIGKILL needs on a busy machine, where a hundred processes that are killed wait for the
// processor to die on: a tenth of the lease, 5 ms to 500 ms. Where that would take more than half of
// kill_after it is less, but at least a twentieth and 5 ms to 100 ms.
static struct lh_duration kill_margin(struct lh_duration ttl, struct lh_duration kill_after)
{
    int64_t least_ns = clamp(5 * LH_NS_PER_MS, ttl.ns / 20, 100 * LH_NS_PER_MS);
    int64_t wanted_ns = clamp(5 * LH_NS_PER_MS, ttl.ns / 10, 500 * LH_NS_PER_MS);
    return (struct lh_duration){clamp(least_ns, kill_after.ns / 2, wanted_ns)};
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
    schedule.kill = earlier_by(deadline, kill_margin(ttl, kill_after));
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
