// How soon somebody who waits has the lease after its owner was killed, at a TTL of 1 s.
//
// Without help a lease ends when its time is over: what the acceptors refuse others for is counted from
// before the last renewal was sent, and the goal is about what is beyond that. A client that asked for
// ON-DISCONNECT release is succeeded at once.
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cluster.h"
#include "lease/timing.h"

#define TTL_MS 1000
#define RENEW_EVERY_MS 500
#define ROUNDS_MAX 20
#define GOAL_MS 5

enum victim {
    CLIENT,
    DAEMON,
    BOUND_CLIENT, // with ON-DISCONNECT release
};

struct owner {
    const char *socket;
    enum victim victim;
    _Atomic(int64_t)
        *sent_ns; // when its last request was about to leave; 0 before it has the lease
};

static void own(void *context)
{
    static struct bench_asker asker;
    struct owner *owner = context;
    bench_asker_open(&asker, owner->socket);
    int64_t sent = bench_now_ns();
    const struct lh_resp_value *reply =
        bench_ask(&asker, "LEASE ACQUIRE takeover TTL %dms HOLDER owner%s", TTL_MS,
                  owner->victim == BOUND_CLIENT ? " ON-DISCONNECT release" : "");
    bench_expect(reply, "granted");
    long long token = bench_number(reply, "token");
    for (;;) {
        atomic_store(owner->sent_ns, sent);
        bench_sleep_ms(RENEW_EVERY_MS);
        sent = bench_now_ns();
        atomic_store(owner->sent_ns, sent);
        bench_expect(bench_ask(&asker, "LEASE RENEW takeover %lld owner", token), "granted");
    }
}

struct takeover {
    struct bench_cluster cluster;
    struct bench_asker waiter;
    _Atomic(int64_t) *sent_ns;
    size_t count;
    double after_kill_ms[ROUNDS_MAX], beyond_ms[ROUNDS_MAX];
};

// Waits in line on another node; the answer comes after the kill.
static void queue(struct takeover *run)
{
    static struct bench_asker asker;
    bench_asker_open(&asker, run->cluster.nodes[1].socket);
    bench_tell(&run->waiter, "LEASE ACQUIRE takeover TTL %dms HOLDER waiter WAIT 60s", TTL_MS);
    while (bench_number(bench_ask(&asker, "CLUSTER STATUS"), "waiters") == 0)
        bench_sleep_ms(5);
    bench_asker_close(&asker);
}

static long long await_grant(struct takeover *run)
{
    for (;;) {
        struct lh_slice status;
        const struct lh_resp_value *reply = bench_hear(&run->waiter);
        if (lh_resp_as_text(lh_resp_get(reply, "status"), &status) &&
            lh_slice_equal(status, LH_SLICE("turn"))) {
            bench_tell(&run->waiter, "LEASE ACQUIRE takeover TTL %dms HOLDER waiter WAIT 60s",
                       TTL_MS);
            continue;
        }
        bench_expect(reply, "granted");
        return bench_number(reply, "token");
    }
}

static void once(struct takeover *run, enum victim victim, size_t i)
{
    const struct lh_timing timing = {.max_ttl = lh_ms(60000), .rate_ppm = 10000};
    struct owner owner = {run->cluster.nodes[0].socket, victim, run->sent_ns};
    atomic_store(run->sent_ns, 0);
    pid_t pid = bench_fork(own, &owner);
    while (atomic_load(run->sent_ns) == 0)
        bench_sleep_ms(1);
    queue(run);
    bench_sleep_ms(RENEW_EVERY_MS + rand() % RENEW_EVERY_MS); // NOLINT(cert-msc30-c,cert-msc50-cpp)
    int64_t killed = bench_now_ns();
    if (victim == DAEMON) {
        kill(pid, SIGSTOP); // it would complain
        bench_end(run->cluster.nodes[0].pid, SIGKILL);
    }
    bench_end(pid, SIGKILL);
    long long token = await_grant(run);
    int64_t granted = bench_now_ns();
    int64_t free = atomic_load(run->sent_ns) + lh_timing_exclusion(timing, lh_ms(TTL_MS)).ns;
    run->after_kill_ms[i] = (double)(granted - killed) / 1e6;
    run->beyond_ms[i] = (double)(granted - free) / 1e6;
    bench_expect(bench_ask(&run->waiter, "LEASE RELEASE takeover %lld waiter", token), "released");
    if (victim == DAEMON)
        bench_cluster_restart(&run->cluster, 0);
}

static void figures(const char *what, const char *which, double *samples, size_t count,
                    enum bench_sense sense)
{
    char name[64];
    snprintf(name, sizeof name, "%s, %s, median", what, which);
    bench_figure(name, bench_quantile(samples, count, 0.5), "ms", 0, sense, GOAL_MS);
    snprintf(name, sizeof name, "%s, %s, worst", what, which);
    bench_figure(name, bench_quantile(samples, count, 1), "ms", 0, sense, GOAL_MS);
}

static void measure(struct takeover *run, enum victim victim, const char *which)
{
    for (size_t i = 0; i < run->count; i++)
        once(run, victim, i);
    figures("take-over", which, run->after_kill_ms, run->count, BENCH_NO_GOAL);
    if (victim != BOUND_CLIENT)
        figures("beyond the exclusion", which, run->beyond_ms, run->count, BENCH_AT_MOST);
}

int main(void)
{
    static struct takeover run;
    run.count = bench_is_tiny() ? 1 : ROUNDS_MAX;
    run.sent_ns =
        mmap(NULL, sizeof *run.sent_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.sent_ns == MAP_FAILED)
        bench_die("no shared memory: %s", strerror(errno));
    bench_cluster_start(&run.cluster, "");
    bench_asker_open(&run.waiter, run.cluster.nodes[1].socket);
    measure(&run, BOUND_CLIENT, "on-disconnect client killed");
    measure(&run, CLIENT, "client killed");
    measure(&run, DAEMON, "daemon killed");
    bench_cluster_stop(&run.cluster);
    return 0;
}
