// What many live leases cost: memory, the longest turn of the loop, processor time without a client.
//
// All are held through node 1, so that its memory grows by what an owner knows of a lease and what an
// acceptor does, and that of node 2 by what an acceptor does. Growth is measured between pages touched;
// what is reserved beforehand (max-leases) is named beside it and costs address space only.
#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"
#include "host/driver.h"
#include "load.h"

#define CLIENTS 64
#define STEADY_MS (2 * 10000 + 1000) // two windows of longest-turn-us
#define IDLE_MS 10000

struct leases {
    struct bench_cluster cluster;
    struct bench_asker askers[2];
    int64_t *tokens;
    uint64_t live;
};

static int connect_first(void *context, unsigned endpoint)
{
    struct leases *run = context;
    (void)endpoint;
    return bench_connect_path(run->cluster.nodes[0].socket);
}

static bool is_granted(const struct lh_resp_value *reply)
{
    struct lh_slice status;
    return lh_resp_as_text(lh_resp_get(reply, "status"), &status) &&
           lh_slice_equal(status, LH_SLICE("granted"));
}

static size_t ask_acquire(void *context, uint64_t operation, char *out, size_t size)
{
    char command[128];
    (void)context;
    snprintf(command, sizeof command, "LEASE ACQUIRE lease-%07llu TTL 20m HOLDER bench TIMEOUT 60s",
             (unsigned long long)operation);
    return bench_request(out, size, command);
}

static bool keep_token(void *context, uint64_t operation, const struct lh_resp_value *reply)
{
    struct leases *run = context;
    if (!is_granted(reply))
        return false;
    run->tokens[operation] = bench_number(reply, "token");
    return true;
}

static size_t ask_renew(void *context, uint64_t operation, char *out, size_t size)
{
    struct leases *run = context;
    char command[128];
    uint64_t lease = operation * 2654435761u % run->live;
    snprintf(command, sizeof command, "LEASE RENEW lease-%07llu %lld bench TIMEOUT 60s",
             (unsigned long long)lease, (long long)run->tokens[lease]);
    return bench_request(out, size, command);
}

static bool is_renewed(void *context, uint64_t operation, const struct lh_resp_value *reply)
{
    (void)context;
    (void)operation;
    return is_granted(reply);
}

static void fill(struct leases *run, uint64_t live)
{
    const struct bench_load load = {.clients = CLIENTS,
                                    .fan = 1,
                                    .endpoints = 1,
                                    .first = run->live,
                                    .operations = live - run->live,
                                    .context = run,
                                    .connect = connect_first,
                                    .request = ask_acquire,
                                    .is_good = keep_token};
    struct bench_load_result result = bench_load(&load);
    if (result.bad > 0)
        bench_die("%llu leases were not granted", (unsigned long long)result.bad);
    run->live = live;
}

// What a day has: renewals, leases that come and go, questions.
static void keep_busy(struct leases *run, int64_t ms)
{
    const struct bench_load renewals = {.clients = 4,
                                        .fan = 1,
                                        .endpoints = 1,
                                        .operations = 500,
                                        .context = run,
                                        .connect = connect_first,
                                        .request = ask_renew,
                                        .is_good = is_renewed};
    struct bench_asker *asker = &run->askers[0];
    int64_t end = bench_now_ns() + ms * 1000000;
    while (bench_now_ns() < end) {
        if (bench_load(&renewals).bad > 0)
            bench_die("a renewal failed");
        for (unsigned i = 0; i < 20; i++) {
            const struct lh_resp_value *reply =
                bench_ask(asker, "LEASE ACQUIRE passing-%u TTL 10s HOLDER bench", i);
            bench_expect(reply, "granted");
            long long token = bench_number(reply, "token");
            bench_expect(bench_ask(asker, "LEASE RELEASE passing-%u %lld bench", i, token),
                         "released");
        }
        bench_expect(bench_ask(asker, "LEASE GET lease-0000007"), "held");
        bench_ask(asker, "LEASE LIST COUNT 20");
    }
}

static double counter(struct bench_asker *asker, const char *name)
{
    int64_t value = 0;
    lh_resp_as_integer(
        lh_resp_get(lh_resp_get(bench_ask(asker, "CLUSTER STATUS"), "counters"), name), &value);
    return (double)value;
}

static void say_idle(struct leases *run, const char *with)
{
    char name[64];
    double begun = bench_cpu_seconds(run->cluster.nodes[0].pid);
    int64_t start = bench_now_ns();
    bench_sleep_ms(bench_is_tiny() ? 200 : IDLE_MS);
    double used = bench_cpu_seconds(run->cluster.nodes[0].pid) - begun;
    snprintf(name, sizeof name, "idle CPU, %s", with);
    bench_figure(name, used * 1e11 / (double)(bench_now_ns() - start), "%", 0, BENCH_NO_GOAL, 0);
}

static void say_turns(struct leases *run)
{
    char name[64];
    keep_busy(run, bench_is_tiny() ? 200 : STEADY_MS);
    for (int i = 0; i < 2; i++) {
        double longest = counter(&run->askers[i], "longest-turn-us");
        snprintf(name, sizeof name, "longest turn, %llu leases, %s", (unsigned long long)run->live,
                 i == 0 ? "owner" : "acceptor");
        bench_figure(name, longest, "us", 0, BENCH_NO_GOAL, 0);
        bench_point("turns.tsv", i == 0 ? "owner" : "acceptor", (double)run->live, longest);
    }
}

int main(void)
{
    static struct leases run;
    const uint64_t most = bench_is_tiny() ? 2000 : 1000000;
    char settings[64];
    double empty[2];
    run.tokens = calloc(most, sizeof *run.tokens);
    snprintf(settings, sizeof settings, "max-ttl = 20m\nlog-level = warn\nmax-leases = %llu\n",
             (unsigned long long)most * 11 / 10);
    bench_cluster_start(&run.cluster, settings);
    for (int i = 0; i < 2; i++)
        bench_asker_open(&run.askers[i], run.cluster.nodes[i].socket);
    say_idle(&run, "no leases");
    for (int i = 0; i < 2; i++)
        empty[i] = bench_rss_bytes(run.cluster.nodes[i].pid);
    for (uint64_t live = 1000; live <= most; live = live == 1000 ? 100000 : live * 10) {
        fill(&run, live);
        say_turns(&run);
    }
    fill(&run, most);
    for (int i = 0; i < 2; i++)
        bench_figure(i == 0 ? "memory of a lease, its owner" : "memory of a lease, an acceptor",
                     (bench_rss_bytes(run.cluster.nodes[i].pid) - empty[i]) / (double)most, "B", 0,
                     i == 0 ? BENCH_NO_GOAL : BENCH_AT_MOST, 64);
    struct lh_host_config config = {.max_leases = (uint32_t)most, .max_clients = 1024};
    bench_figure("reserved for a lease", (double)lh_driver_size(&config) / (double)most, "B", 0,
                 BENCH_NO_GOAL, 0);
    snprintf(settings, sizeof settings, "%llu leases", (unsigned long long)most);
    say_idle(&run, settings);
    bench_cluster_stop(&run.cluster);
    free(run.tokens);
    return 0;
}
