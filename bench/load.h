// Clients in a closed loop, all in this process over epoll: each sends a request of the Redis protocol,
// waits for its reply, and sends the next. One generator for every system that speaks it.
#ifndef LH_BENCH_LOAD_H
#define LH_BENCH_LOAD_H

#include "bench.h"

#include "base/resp_reply.h"

struct bench_load {
    unsigned clients;
    // 1: client i has one connection, to endpoint i modulo `endpoints`. Otherwise it has one to each of so
    // many endpoints, sends to all, and goes on once a majority is good, or all have answered.
    unsigned fan;
    unsigned endpoints;
    uint64_t operations; // in all, counted from `first`
    uint64_t first;
    void *context;
    int (*connect)(void *context, unsigned endpoint);
    size_t (*request)(void *context, uint64_t operation, char *out, size_t size);
    bool (*is_good)(void *context, uint64_t operation, const struct lh_resp_value *reply);
};

struct bench_load_result {
    double per_second; // good operations
    uint64_t good, bad;
};

struct bench_load_result bench_load(const struct bench_load *load);

#endif
