// The systems beside which leases are measured, started in the benchmark's directory, on loopback.
#ifndef LH_BENCH_PEERS_H
#define LH_BENCH_PEERS_H

#include "bench.h"

#define BENCH_REDIS_COUNT 5
#define BENCH_ETCD_NODES 3

struct bench_redis {
    pid_t pids[BENCH_REDIS_COUNT];
    uint16_t ports[BENCH_REDIS_COUNT];
};

// Without persistence, as Redlock is usually run.
void bench_redis_start(struct bench_redis *redis);
void bench_redis_stop(struct bench_redis *redis);

struct bench_etcd {
    pid_t pids[BENCH_ETCD_NODES];
    uint16_t client_ports[BENCH_ETCD_NODES];
    uint16_t leader_port;
};

// Three members with everything at its default, on the storage of the benchmark's directory.
void bench_etcd_start(struct bench_etcd *etcd);
void bench_etcd_stop(struct bench_etcd *etcd);

// LeaseGrant at the leader over gRPC, by so many clients of h2load, each with one connection and one request
// at a time. Returns the grants a second. Every lease that was asked for is counted afterwards.
double bench_etcd_grant(struct bench_etcd *etcd, unsigned clients, uint64_t operations);

#endif
