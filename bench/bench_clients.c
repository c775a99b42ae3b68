// Leases granted a second, to 1, 32 and 256 clients, beside etcd 3.4, Redlock on five Redis and one Redis.
//
// Each operation is a new name, each client has its own connections and asks for one lease at a time. Leasehold's
// clients are spread over three daemons and use their Unix sockets, as clients beside a daemon do; etcd grants
// at its leader, over gRPC; Redis is asked over TCP, `SET name value NX PX ttl`, and by Redlock five of it in
// parallel, of which three make a lock. All are measured in turns, several rounds, and medians stand. etcd writes
// to the storage that the daemons' directories are on; the others write nothing to grant.
#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"
#include "load.h"
#include "peers.h"

#define ROUNDS_MAX 5

enum peer {
    LEASEHOLD,
    ETCD,
    REDLOCK,
    REDIS,
    PEERS,
};

static const char *const names[PEERS] = {"leasehold", "etcd", "redlock", "redis"};

struct clients {
    struct bench_cluster cluster;
    struct bench_redis redis;
    struct bench_etcd etcd;
    uint64_t named; // so many names were used
};

static int connect_daemon(void *context, unsigned endpoint)
{
    struct clients *run = context;
    return bench_connect_path(run->cluster.nodes[endpoint].socket);
}

static size_t ask_lease(void *context, uint64_t operation, char *out, size_t size)
{
    char command[128];
    (void)context;
    snprintf(command, sizeof command, "LEASE ACQUIRE lock:%llu TTL 10s HOLDER bench",
             (unsigned long long)operation);
    return bench_request(out, size, command);
}

static bool is_granted(void *context, uint64_t operation, const struct lh_resp_value *reply)
{
    struct lh_slice status;
    (void)context;
    (void)operation;
    return lh_resp_as_text(lh_resp_get(reply, "status"), &status) &&
           lh_slice_equal(status, LH_SLICE("granted"));
}

static int connect_redis(void *context, unsigned endpoint)
{
    struct clients *run = context;
    return bench_connect_port(run->redis.ports[endpoint]);
}

static size_t ask_set(void *context, uint64_t operation, char *out, size_t size)
{
    char command[128];
    (void)context;
    snprintf(command, sizeof command, "SET lock:%llu bench NX PX 10000",
             (unsigned long long)operation);
    return bench_request(out, size, command);
}

static bool is_ok(void *context, uint64_t operation, const struct lh_resp_value *reply)
{
    (void)context;
    (void)operation;
    return lh_resp_is(reply, LH_RESP_SIMPLE);
}

static double grant(struct clients *run, enum peer peer, unsigned clients, uint64_t operations)
{
    struct bench_load load = {.clients = clients,
                              .fan = peer == REDLOCK ? BENCH_REDIS_COUNT : 1,
                              .endpoints = peer == LEASEHOLD ? BENCH_NODES : 1,
                              .operations = operations,
                              .first = run->named,
                              .context = run,
                              .connect = peer == LEASEHOLD ? connect_daemon : connect_redis,
                              .request = peer == LEASEHOLD ? ask_lease : ask_set,
                              .is_good = peer == LEASEHOLD ? is_granted : is_ok};
    if (peer == ETCD)
        return bench_etcd_grant(&run->etcd, clients, operations);
    run->named += operations;
    struct bench_load_result result = bench_load(&load);
    if (result.bad > 0)
        bench_die("%s granted %llu of %llu", names[peer], (unsigned long long)result.good,
                  (unsigned long long)operations);
    return result.per_second;
}

// Enough for a second or so of each.
static uint64_t operations_for(enum peer peer, unsigned clients)
{
    static const uint64_t counts[PEERS][2] = {[LEASEHOLD] = {5000, 40000},
                                              [ETCD] = {500, 4000},
                                              [REDLOCK] = {3000, 15000},
                                              [REDIS] = {10000, 40000}};
    uint64_t count = counts[peer][clients > 1];
    return bench_is_tiny() ? clients * 2 : count;
}

static void measure(struct clients *run, unsigned clients, size_t rounds)
{
    double rates[PEERS][ROUNDS_MAX], medians[PEERS];
    char name[64];
    for (size_t round = 0; round < rounds; round++)
        for (unsigned peer = 0; peer < PEERS; peer++)
            rates[peer][round] = grant(run, peer, clients, operations_for(peer, clients));
    for (unsigned peer = 0; peer < PEERS; peer++) {
        medians[peer] = bench_quantile(rates[peer], rounds, 0.5);
        snprintf(name, sizeof name, "grants, %u client%s, %s", clients, clients > 1 ? "s" : "",
                 names[peer]);
        bench_figure(name, medians[peer], "/s", 0, BENCH_NO_GOAL, 0);
        bench_point("clients.tsv", names[peer], clients, medians[peer]);
    }
    const bool judged = clients == 256;
    const double goals[PEERS] = {[ETCD] = 10, [REDLOCK] = 3};
    for (unsigned peer = ETCD; peer < PEERS; peer++) {
        snprintf(name, sizeof name, "grants, %u client%s, to %s", clients, clients > 1 ? "s" : "",
                 names[peer]);
        bench_figure(name, medians[LEASEHOLD], "/s", medians[peer],
                     judged && goals[peer] > 0 ? BENCH_AT_LEAST : BENCH_NO_GOAL, goals[peer]);
    }
}

int main(void)
{
    static struct clients run;
    const unsigned counts[] = {1, 32, 256};
    const size_t rounds = bench_is_tiny() ? 1 : ROUNDS_MAX;
    bench_cluster_start(&run.cluster, "");
    bench_redis_start(&run.redis);
    bench_etcd_start(&run.etcd);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        measure(&run, counts[i], rounds);
    bench_etcd_stop(&run.etcd);
    bench_redis_stop(&run.redis);
    bench_cluster_stop(&run.cluster);
    return 0;
}
