// See peers.h.
#include "peers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(60000000000)
#define WORD_BYTES 512

// --- Redis ---

static void start_redis(struct bench_redis *redis, int i)
{
    char port[8], log[32], directory[] = "--dir";
    char where[BENCH_PATH_BYTES];
    redis->ports[i] = bench_free_port();
    snprintf(port, sizeof port, "%u", (unsigned)redis->ports[i]);
    snprintf(log, sizeof log, "redis%d.log", i + 1);
    snprintf(where, sizeof where, "%s", bench_directory());
    char program[] = "redis-server", port_flag[] = "--port", bind_flag[] = "--bind",
         address[] = "127.0.0.1", save_flag[] = "--save", nothing[] = "",
         append_flag[] = "--appendonly", no[] = "no", client_flag[] = "--maxclients",
         clients[] = "2000";
    char *argv[] = {program,   port_flag, port,        bind_flag, address,     directory, where,
                    save_flag, nothing,   append_flag, no,        client_flag, clients,   NULL};
    redis->pids[i] = bench_start(log, argv);
}

static void await_redis(const struct bench_redis *redis, int i)
{
    int64_t give_up = bench_now_ns() + PATIENCE_NS;
    int file = -1;
    while ((file = bench_connect_port(redis->ports[i])) < 0)
        bench_wait_on(redis->pids[i], give_up, "redis-server does not listen");
    close(file);
}

void bench_redis_start(struct bench_redis *redis)
{
    for (int i = 0; i < BENCH_REDIS_COUNT; i++)
        start_redis(redis, i);
    for (int i = 0; i < BENCH_REDIS_COUNT; i++)
        await_redis(redis, i);
}

void bench_redis_stop(struct bench_redis *redis)
{
    for (int i = 0; i < BENCH_REDIS_COUNT; i++)
        bench_end(redis->pids[i], SIGKILL);
}

// --- etcd ---

static void start_etcd(struct bench_etcd *etcd, int i, const char *members, const uint16_t *peers)
{
    char log[32], name[32], directory[2 * BENCH_PATH_BYTES], client[64], peer[64],
        cluster[WORD_BYTES];
    snprintf(log, sizeof log, "etcd%d.log", i + 1);
    snprintf(name, sizeof name, "--name=m%d", i + 1);
    snprintf(directory, sizeof directory, "--data-dir=%s/etcd%d", bench_directory(), i + 1);
    snprintf(client, sizeof client, "http://127.0.0.1:%u", (unsigned)etcd->client_ports[i]);
    snprintf(peer, sizeof peer, "http://127.0.0.1:%u", (unsigned)peers[i]);
    snprintf(cluster, sizeof cluster, "--initial-cluster=%s", members);
    char program[] = "etcd", client_flag[] = "--listen-client-urls",
         client_seen[] = "--advertise-client-urls", peer_flag[] = "--listen-peer-urls",
         peer_seen[] = "--initial-advertise-peer-urls";
    char *argv[] = {program,   name, directory, client_flag, client,  client_seen, client,
                    peer_flag, peer, peer_seen, peer,        cluster, NULL};
    etcd->pids[i] = bench_start(log, argv);
}

// POST of an empty object to the JSON gateway; the answer, or "" if there was none.
static void post(uint16_t port, const char *path, char *out, size_t size)
{
    char request[WORD_BYTES];
    size_t used = 0;
    int file = bench_connect_port(port);
    int length = snprintf(request, sizeof request,
                          "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                          "Content-Length: 2\r\n\r\n{}",
                          path);
    if (file >= 0 && write(file, request, (size_t)length) == length)
        for (ssize_t got; used + 1 < size && (got = read(file, out + used, size - 1 - used)) > 0;)
            used += (size_t)got;
    out[used] = '\0';
    close(file);
}

// Whether a member answers, and as leader: the id of both is in its status.
static bool is_leader(uint16_t port)
{
    char text[4096], member[32] = "", leader[32] = "";
    post(port, "/v3/maintenance/status", text, sizeof text);
    const char *at = strstr(text, "\"member_id\":\""), *of = strstr(text, "\"leader\":\"");
    return at != NULL && of != NULL && sscanf(at + 13, "%31[0-9]", member) == 1 &&
           sscanf(of + 10, "%31[0-9]", leader) == 1 && strcmp(member, leader) == 0;
}

void bench_etcd_start(struct bench_etcd *etcd)
{
    char members[WORD_BYTES] = "";
    uint16_t peers[BENCH_ETCD_NODES];
    for (int i = 0; i < BENCH_ETCD_NODES; i++) {
        size_t used = strlen(members);
        etcd->client_ports[i] = bench_free_port();
        peers[i] = bench_free_port();
        snprintf(members + used, sizeof members - used, "%sm%d=http://127.0.0.1:%u",
                 i > 0 ? "," : "", i + 1, (unsigned)peers[i]);
    }
    for (int i = 0; i < BENCH_ETCD_NODES; i++)
        start_etcd(etcd, i, members, peers);
    int64_t give_up = bench_now_ns() + PATIENCE_NS;
    etcd->leader_port = 0;
    while (etcd->leader_port == 0) {
        bench_wait_on(etcd->pids[0], give_up, "etcd has no leader");
        for (int i = 0; i < BENCH_ETCD_NODES; i++)
            if (is_leader(etcd->client_ports[i]))
                etcd->leader_port = etcd->client_ports[i];
    }
}

void bench_etcd_stop(struct bench_etcd *etcd)
{
    for (int i = 0; i < BENCH_ETCD_NODES; i++)
        bench_end(etcd->pids[i], SIGKILL);
}

static uint64_t count_leases(uint16_t port)
{
    const size_t size = (size_t)64 << 20;
    uint64_t count = 0;
    char *text = malloc(size);
    if (text == NULL)
        bench_die("no memory for etcd's leases");
    post(port, "/v3/lease/leases", text, size);
    for (const char *at = text; (at = strstr(at, "\"ID\"")) != NULL; at++)
        count++;
    free(text);
    return count;
}

double bench_etcd_grant(struct bench_etcd *etcd, unsigned clients, uint64_t operations)
{
    // A frame of gRPC around LeaseGrantRequest{TTL: 600}.
    static const unsigned char grant[] = {0, 0, 0, 0, 3, 0x08, 0xd8, 0x04};
    char body[2 * BENCH_PATH_BYTES], requests[32], connections[32], url[128];
    uint64_t before = count_leases(etcd->leader_port);
    snprintf(body, sizeof body, "%s/grant", bench_directory());
    FILE *file = fopen(body, "we");
    if (file == NULL || fwrite(grant, sizeof grant, 1, file) != 1 || fclose(file) != 0)
        bench_die("cannot write %s: %s", body, strerror(errno));
    snprintf(requests, sizeof requests, "%llu", (unsigned long long)operations);
    snprintf(connections, sizeof connections, "%u", clients);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/etcdserverpb.Lease/LeaseGrant",
             (unsigned)etcd->leader_port);
    char program[] = "h2load", n[] = "-n", c[] = "-c", m[] = "-m", one[] = "1", d[] = "-d",
         h[] = "-H", type[] = "content-type: application/grpc", trailers[] = "te: trailers";
    char *argv[] = {program, n, requests, c, connections, m,   one, d,
                    body,    h, type,     h, trailers,    url, NULL};
    char *text = bench_output(argv);
    double seconds = 0, per_second = 0;
    const char *at = strstr(text, "finished in ");
    char unit[4] = "";
    // NOLINTBEGIN(cert-err34-c): h2load's own figures
    if (at == NULL ||
        sscanf(at, "finished in %lf%3[a-z], %lf req/s", &seconds, unit, &per_second) != 3)
        bench_die("h2load says:\n%s", text);
    // NOLINTEND(cert-err34-c)
    free(text);
    uint64_t granted = count_leases(etcd->leader_port) - before;
    if (granted != operations)
        bench_die("of %llu leases etcd granted %llu", (unsigned long long)operations,
                  (unsigned long long)granted);
    return per_second;
}
