// Three daemons on loopback, in the benchmark's directory, and a connection to ask them over.
#ifndef LH_BENCH_CLUSTER_H
#define LH_BENCH_CLUSTER_H

#include "bench.h"

#include "base/resp_reply.h"

#define BENCH_NODES 3
#define BENCH_VALUES_MAX 2048

struct bench_cluster {
    struct bench_node {
        pid_t pid;
        char config[BENCH_PATH_BYTES];
        char socket[BENCH_PATH_BYTES];
    } nodes[BENCH_NODES];
};

// Writes the configuration (`settings` are further lines of it), starts all three and waits until each
// serves and sees the others.
void bench_cluster_start(struct bench_cluster *cluster, const char *settings);
void bench_cluster_stop(struct bench_cluster *cluster);

// Starts one that was ended, and waits until it serves.
void bench_cluster_restart(struct bench_cluster *cluster, int node);

// A connection over which one command at a time is asked, by epoll as the floors are.
struct bench_asker {
    int file, epoll;
    size_t used, reply_bytes;
    uint8_t buffer[1 << 16];
    struct lh_resp_value values[BENCH_VALUES_MAX];
};

void bench_asker_open(struct bench_asker *asker, const char *socket);
void bench_asker_close(struct bench_asker *asker);

// The words of `command`, which blanks separate, as a request; returns its size.
size_t bench_request(char *out, size_t size, const char *command);

// Sends a request; waits for the whole reply, which is valid until the next request or reply.
void bench_tell(struct bench_asker *asker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const struct lh_resp_value *bench_hear(struct bench_asker *asker);

// Sends a request and waits for the whole reply, which is valid until the next.
const struct lh_resp_value *bench_ask_bytes(struct bench_asker *asker, const char *request,
                                            size_t size);
const struct lh_resp_value *bench_ask(struct bench_asker *asker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// What stands in a reply under a key; ends the benchmark if there is no such number.
int64_t bench_number(const struct lh_resp_value *reply, const char *key);

// Ends the benchmark unless the reply has this status.
void bench_expect(const struct lh_resp_value *reply, const char *status);

#endif
