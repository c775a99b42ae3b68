// Many who wait for one name, over three nodes: what they cost the members, how soon the lease goes
// from hand to hand, with datagrams lost too, and how long anybody may wait for its turn.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME "x"
#define HANDOVERS 10000

// Clients that acquire, hold for a while, release, and wait again.
struct waiter {
    struct line *line;
    unsigned client;
    char request[128];
    uint64_t token;
    int64_t release_at; // true time; INT64_MAX unless it holds
    uint64_t since;     // hand-overs when it began to wait
    uint64_t grants;
};

struct line {
    struct cluster *cluster;
    unsigned count;
    struct waiter *waiters;
    int64_t hold_ns;
    uint64_t handovers, worst;       // the most hand-overs that anybody waited for
    int64_t released_at, longest_ns; // from a release to the next grant
    uint64_t refused;
};

static void join(struct waiter *waiter)
{
    waiter->since = waiter->line->handovers;
    cluster_command(waiter->line->cluster, waiter->client, "%s", waiter->request);
}

static void on_granted(struct waiter *waiter, uint64_t token)
{
    struct line *line = waiter->line;
    struct cluster *cluster = line->cluster;
    uint64_t waited = line->handovers - waiter->since;
    if (waited > line->worst)
        line->worst = waited;
    if (line->handovers > 0 && cluster->true_ns - line->released_at > line->longest_ns)
        line->longest_ns = cluster->true_ns - line->released_at;
    line->handovers++;
    waiter->grants++;
    waiter->token = token;
    waiter->release_at =
        cluster->true_ns + lh_prng_between(&cluster->prng, line->hold_ns / 2, line->hold_ns);
}

static void on_reply(struct cluster *cluster, unsigned client, const struct lh_resp_value *reply)
{
    struct waiter *waiter = cluster->clients[client].context;
    struct lh_slice status = {NULL, 0};
    int64_t token = 0;
    lh_resp_as_text(lh_resp_get(reply, "status"), &status);
    lh_resp_as_integer(lh_resp_get(reply, "token"), &token);
    if (lh_slice_equal(status, LH_SLICE("granted"))) {
        on_granted(waiter, (uint64_t)token);
    } else if (lh_slice_equal(status, LH_SLICE("turn"))) {
        cluster_command(cluster, client, "%s", waiter->request);
    } else if (lh_slice_equal(status, LH_SLICE("released"))) {
        join(waiter);
    } else {
        waiter->line->refused++;
        cluster_command(cluster, client, "%s", waiter->request);
    }
}

static void open_line(struct line *line, uint64_t seed, const unsigned counts[3], int64_t hold_ns)
{
    struct cluster_settings settings = cluster_defaults();
    settings.seed = seed;
    settings.max_clients = 512;
    *line = (struct line){.cluster = cluster_open(&settings), .hold_ns = hold_ns};
    assert_true(cluster_run_until_serving(line->cluster, 1000));
    line->count = counts[0] + counts[1] + counts[2];
    line->waiters = calloc(line->count, sizeof line->waiters[0]);
    unsigned at = 0;
    for (unsigned process = 0; process < 3; process++)
        for (unsigned i = 0; i < counts[process]; i++, at++) {
            struct waiter *waiter = &line->waiters[at];
            waiter->line = line;
            waiter->client = cluster_connect(line->cluster, process);
            waiter->release_at = INT64_MAX;
            snprintf(waiter->request, sizeof waiter->request,
                     "LEASE ACQUIRE " NAME " HOLDER h%u TTL 10s WAIT 9000s", at);
        }
}

static void begin(struct waiter *waiter)
{
    struct cluster_client *client = &waiter->line->cluster->clients[waiter->client];
    client->context = waiter;
    client->on_reply = on_reply;
    join(waiter);
}

static void release(struct waiter *waiter)
{
    struct line *line = waiter->line;
    waiter->release_at = INT64_MAX;
    line->released_at = line->cluster->true_ns;
    cluster_command(line->cluster, waiter->client, "LEASE RELEASE " NAME " %llu h%u",
                    (unsigned long long)waiter->token, (unsigned)(waiter - line->waiters));
}

// Until so many hand-overs were made.
static void run_until(struct line *line, uint64_t handovers)
{
    int64_t limit = line->cluster->true_ns + 3600 * LH_NS_PER_S;
    while (line->handovers < handovers) {
        struct waiter *due = NULL;
        for (unsigned i = 0; i < line->count; i++)
            if (due == NULL || line->waiters[i].release_at < due->release_at)
                due = &line->waiters[i];
        int64_t at = due->release_at < limit ? due->release_at : limit;
        if (!cluster_step(line->cluster, at) && at == due->release_at)
            release(due);
        if (line->cluster->true_ns >= limit)
            fail_msg("%llu hand-overs in an hour", (unsigned long long)line->handovers);
    }
}

static void close_line(struct line *line)
{
    cluster_close(line->cluster);
    free(line->waiters);
}

// --- what they cost ---

struct cost {
    uint64_t datagrams, bytes;
};

// A minute of waiting while node 1 renews what it holds; they come one after the other.
static struct cost cost_of(unsigned per_node)
{
    struct line line;
    open_line(&line, 1, (unsigned[]){per_node, per_node, per_node}, LH_NS_PER_MS);
    struct cluster *cluster = line.cluster;
    unsigned holder = cluster_connect(cluster, 0);
    cluster_call(cluster, holder, "LEASE ACQUIRE " NAME " HOLDER me TTL 10s");
    long long token = cluster_integer(cluster, holder, "token");
    const uint64_t datagrams = cluster->datagrams, bytes = cluster->datagram_bytes;
    const int64_t from = cluster->true_ns;
    for (unsigned i = 0; i < line.count; i++) {
        begin(&line.waiters[i]);
        cluster_run(cluster, i % 8 == 0);
    }
    for (int64_t at_s = 5; at_s <= 60; at_s += 5) {
        cluster_run(cluster, (from - cluster->true_ns) / LH_NS_PER_MS + at_s * 1000);
        cluster_call(cluster, holder, "LEASE RENEW " NAME " %lld me", token);
        assert_string_equal(cluster_status(cluster, holder), "granted");
    }
    assert_int_equal(line.handovers, 0);
    struct cost cost = {cluster->datagrams - datagrams, cluster->datagram_bytes - bytes};
    print_message("%u wait: %llu datagrams, %llu bytes\n", line.count,
                  (unsigned long long)cost.datagrams, (unsigned long long)cost.bytes);
    close_line(&line);
    return cost;
}

static void test_a_thousand_cost_what_few_cost(void **state)
{
    (void)state;
    const struct cost few = cost_of(3), many = cost_of(333);
    assert_in_range(many.datagrams, 0, few.datagrams + few.datagrams / 20);
    assert_in_range(many.bytes, 0, few.bytes + few.bytes / 20);
}

// --- how soon, and for how long ---

static void ten_thousand(struct line *line, const unsigned counts[3], int64_t hold_ns,
                         uint32_t loss_ppm, uint64_t seed)
{
    open_line(line, seed, counts, hold_ns);
    line->cluster->loss_ppm = loss_ppm;
    for (unsigned i = 0; i < line->count; i++)
        begin(&line->waiters[i]);
    run_until(line, HANDOVERS);
    print_message("%u, %u and %u: at most %llu hand-overs and %lld us from release to grant\n",
                  counts[0], counts[1], counts[2], (unsigned long long)line->worst,
                  (long long)line->longest_ns / 1000);
    assert_int_equal(line->refused, 0);
    for (unsigned i = 0; i < line->count; i++)
        assert_true(line->waiters[i].grants > 0);
}

// The lease goes from node to node and within a node to who has waited longest, so that nobody waits
// for more than three times as many as wait at its node; twice that, for those who come in between.
static void test_nobody_starves(void **state)
{
    (void)state;
    const unsigned counts[][3] = {{3, 3, 2}, {20, 2, 1}, {1, 0, 20}};
    for (unsigned i = 0; i < 3; i++)
        for (int64_t hold_us = 20; hold_us <= 20000; hold_us *= 1000) {
            struct line line;
            ten_thousand(&line, counts[i], hold_us * LH_NS_PER_US, 0, 1 + i);
            const unsigned most = counts[i][0] > counts[i][2] ? counts[i][0] : counts[i][2];
            assert_in_range(line.worst, 1, 2 * 3 * most);
            assert_in_range(line.longest_ns, 0, 2 * LH_NS_PER_MS);
            close_line(&line);
        }
}

// One datagram in a hundred is lost, Releases, Wakes and all; a lease is never left to its TTL of 10 s.
static void test_losses_cost_no_ttl(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct line line;
        ten_thousand(&line, (unsigned[]){3, 3, 2}, LH_NS_PER_MS, 10000, seed);
        assert_in_range(line.worst, 1, HANDOVERS / 10);
        assert_in_range(line.longest_ns, 0, LH_NS_PER_S);
        close_line(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_cost_what_few_cost),
        cmocka_unit_test(test_nobody_starves),
        cmocka_unit_test(test_losses_cost_no_ttl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
