// Who holds, waits for, renews and releases a name: everything a client can do about one lease, on
// one node and across nodes, and what becomes of those who are too late, too many or gone.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUND_NS (100 * LH_NS_PER_US) // there and back between nodes
#define CLIENT_NS (20 * LH_NS_PER_US) // .. and between client and node

static struct cluster *open_cluster(unsigned nodes)
{
    struct cluster_settings settings = cluster_defaults();
    settings.nodes = nodes;
    settings.max_clients = 256;
    settings.jitter_ns = 0;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 12000));
    cluster_run(cluster, 1000);
    return cluster;
}

static unsigned long long acquire(struct cluster *cluster, unsigned client, const char *name)
{
    cluster_call(cluster, client, "LEASE ACQUIRE %s HOLDER me TTL 5s", name);
    cluster_expect(cluster, client, "granted", NULL);
    return cluster_token(cluster, client);
}

// --- acquiring ---

static void test_costs_two_rounds_and_renewal_one(void **state)
{
    (void)state;
    for (unsigned one_round = 0; one_round < 2; one_round++) {
        struct cluster_settings settings = cluster_defaults();
        settings.jitter_ns = 0;
        settings.one_round_renewal = one_round == 1;
        struct cluster *cluster = cluster_open(&settings);
        cluster_run(cluster, 1000);
        unsigned client = cluster_connect(cluster, 0);
        unsigned long long token = acquire(cluster, client, "x");
        assert_int_equal(cluster->clients[client].reply_took, 2 * ROUND_NS + CLIENT_NS);
        cluster_call(cluster, client, "LEASE RENEW x %llu me", token);
        cluster_expect(cluster, client, "granted", NULL);
        assert_int_equal(cluster->clients[client].reply_took,
                         (2 - (int64_t)one_round) * ROUND_NS + CLIENT_NS);
        cluster_close(cluster);
    }
}

static void test_same_holder_asks_again(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned first = cluster_connect(cluster, 0);
    unsigned second = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, first, "x");
    int64_t until = cluster_integer(cluster, first, "until-ns");
    cluster_run(cluster, 1000);
    cluster_call(cluster, second, "LEASE ACQUIRE x HOLDER me TTL 9s");
    cluster_expect(cluster, second, "granted", NULL);
    assert_int_equal(cluster_token(cluster, second), token);
    assert_true(cluster_integer(cluster, second, "until-ns") < until - 990 * LH_NS_PER_MS);
    cluster_call(cluster, second, "LEASE ACQUIRE x HOLDER you");
    cluster_expect(cluster, second, "held", "somebody else holds it");
    assert_string_equal(cluster_text(cluster, second, "holder"), "me");
    assert_int_equal(cluster_integer(cluster, second, "until-ns"), 0);
    assert_in_range(cluster_integer(cluster, second, "free-in-ns"), 3900 * LH_NS_PER_MS,
                    4200 * LH_NS_PER_MS);
    cluster_close(cluster);
}

static void test_a_request_id_is_one_request(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned first = cluster_connect(cluster, 0);
    unsigned second = cluster_connect(cluster, 0);
    cluster_call(cluster, first, "LEASE ACQUIRE x HOLDER me ID 7 TTL 1s");
    unsigned long long token = cluster_token(cluster, first);
    cluster_disconnect(cluster, first);
    cluster_call(cluster, second, "LEASE ACQUIRE x HOLDER me ID 7 TTL 1s");
    cluster_expect(cluster, second, "granted", NULL);
    assert_int_equal(cluster_token(cluster, second), token);
    cluster_run(cluster, 1100);
    cluster_call(cluster, second, "LEASE ACQUIRE x HOLDER me ID 7 TTL 1s");
    cluster_expect(cluster, second, "lost", "ended since");
    cluster_call(cluster, second, "LEASE ACQUIRE x HOLDER me ID 8 TTL 1s");
    cluster_expect(cluster, second, "granted", NULL);
    assert_true(cluster_token(cluster, second) > token);
    cluster_close(cluster);
}

// The retry arrives while the first copy is still being served, as after a connection that broke
// unnoticed.
static void test_a_retry_meets_its_original(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned first = cluster_connect(cluster, 0);
    unsigned second = cluster_connect(cluster, 0);
    unsigned third = cluster_connect(cluster, 0);
    cluster_command(cluster, first, "LEASE ACQUIRE x HOLDER me ID 7 TTL 5s");
    cluster_command(cluster, second, "LEASE ACQUIRE x HOLDER me ID 7 TTL 5s");
    cluster_command(cluster, third, "LEASE ACQUIRE x HOLDER me ID 7 TTL 5s WAIT 20s");
    cluster_await(cluster, first, 100);
    cluster_await(cluster, second, 100);
    cluster_await(cluster, third, 100);
    cluster_expect(cluster, first, "granted", NULL);
    cluster_expect(cluster, second, "granted", NULL);
    cluster_expect(cluster, third, "granted", NULL);
    assert_int_equal(cluster_token(cluster, first), cluster_token(cluster, second));
    assert_int_equal(cluster_token(cluster, first), cluster_token(cluster, third));
    cluster_close(cluster);
}

static void test_majority_down(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned client = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, client, "x");
    cluster_isolate(cluster, 0, true);
    cluster_call(cluster, client, "LEASE ACQUIRE y TIMEOUT 300ms");
    cluster_expect(cluster, client, "noquorum", "no majority");
    assert_in_range(cluster->clients[client].reply_took, 300 * LH_NS_PER_MS, 310 * LH_NS_PER_MS);
    cluster_call(cluster, client, "LEASE ACQUIRE y WAIT 30s TIMEOUT 300ms");
    cluster_expect(cluster, client, "noquorum", "no majority");
    assert_in_range(cluster->clients[client].reply_took, 300 * LH_NS_PER_MS, 310 * LH_NS_PER_MS);
    cluster_call(cluster, client, "LEASE RENEW x %llu me TIMEOUT 300ms", token);
    cluster_expect(cluster, client, "noquorum", "no majority");
    assert_in_range(cluster_integer(cluster, client, "until-ns"), 4000 * LH_NS_PER_MS,
                    5000 * LH_NS_PER_MS);
    cluster_call(cluster, client, "LEASE RELEASE x %llu me", token);
    cluster_expect(cluster, client, "released", NULL);
    cluster_isolate(cluster, 0, false);
    cluster_call(cluster, client, "LEASE ACQUIRE y TIMEOUT 300ms");
    cluster_expect(cluster, client, "granted", NULL);
    cluster_close(cluster);
}

// --- renewing and releasing ---

static bool accepting(struct cluster *cluster, void *context)
{
    const struct lh_machine *machine = &cluster_host(cluster, 0)->machine;
    (void)context;
    return machine->used > 0 && machine->leases[0].proposer.phase == LH_ACCEPTING;
}

// A renewal that was answered too late for its asker goes on: what its Accepts left must not block
// the next.
static void test_an_impatient_renewal_does_no_harm(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.latency_ns = 3 * LH_NS_PER_MS;
    struct cluster *cluster = cluster_open(&settings);
    cluster_run(cluster, 2000);
    unsigned client = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, client, "x");
    for (unsigned i = 0; i < 20; i++) {
        cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 5s TIMEOUT %ums", token, 1 + i);
        cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 5s TIMEOUT 1s", token);
        cluster_expect(cluster, client, "granted", NULL);
        assert_in_range(cluster->clients[client].reply_took, 0, 60 * LH_NS_PER_MS);
    }
    cluster_close(cluster);
}

// A client that dies in the middle of its renewal leaves a lease that ends at td, and no longer
// blocks others.
static void test_a_renewer_dies(void **state)
{
    (void)state;
    for (int64_t pause_us = 0; pause_us < 400; pause_us += 20) {
        struct cluster *cluster = open_cluster(3);
        unsigned client = cluster_connect(cluster, 0);
        unsigned other = cluster_connect(cluster, 1);
        unsigned long long token = acquire(cluster, client, "x");
        cluster_command(cluster, client, "LEASE RENEW x %llu me TTL 5s", token);
        int64_t limit = cluster->true_ns + pause_us * LH_NS_PER_US;
        while (cluster_step(cluster, limit))
            ;
        cluster_disconnect(cluster, client);
        cluster_run(cluster, 5250);
        cluster_call(cluster, other, "LEASE ACQUIRE x TTL 1s");
        cluster_expect(cluster, other, "granted", NULL);
        cluster_close(cluster);
    }
}

static void test_released_while_renewing(void **state)
{
    (void)state;
    for (int64_t pause_us = 0; pause_us < 400; pause_us += 20) {
        struct cluster *cluster = open_cluster(3);
        unsigned client = cluster_connect(cluster, 0);
        unsigned other = cluster_connect(cluster, 0);
        unsigned third = cluster_connect(cluster, 1);
        unsigned long long token = acquire(cluster, client, "x");
        cluster_command(cluster, other, "LEASE RENEW x %llu me TTL 5s", token);
        int64_t limit = cluster->true_ns + pause_us * LH_NS_PER_US;
        while (cluster_step(cluster, limit))
            ;
        cluster_call(cluster, client, "LEASE RELEASE x %llu me", token);
        cluster_expect(cluster, client, "released", NULL);
        assert_in_range(cluster->clients[client].reply_took, 0, 3 * ROUND_NS);
        cluster_await(cluster, other, 1000);
        cluster_run(cluster, 5);
        cluster_call(cluster, third, "LEASE ACQUIRE x TTL 1s");
        cluster_expect(cluster, third, "granted", NULL);
        cluster_close(cluster);
    }
}

// A release waits for a renewal whose outcome does not come; another one, sent later, is faster.
// Nothing of the first is left for the next holder.
static void test_a_release_is_overtaken(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned first = cluster_connect(cluster, 0), second = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_command(cluster, holder, "LEASE RENEW x %llu me TTL 100ms", token);
    assert_true(cluster_run_until(cluster, accepting, NULL, 10));
    cluster_isolate(cluster, 0, true);
    cluster_command(cluster, first, "LEASE RELEASE x %llu me", token);
    assert_null(cluster_await(cluster, first, 105)); // the attempt reaches its td
    cluster_call(cluster, second, "LEASE RELEASE x %llu me", token);
    cluster_expect(cluster, second, "released", NULL);
    cluster_await(cluster, first, 5);
    cluster_expect(cluster, first, "released", NULL);
    cluster_await(cluster, holder, 5);
    cluster_expect(cluster, holder, "lost", NULL);
    cluster_isolate(cluster, 0, false);
    cluster_run(cluster, 6000);
    unsigned other = cluster_connect(cluster, 0);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you TTL 5s");
    cluster_expect(cluster, other, "granted", NULL);
    cluster_call(cluster, other, "LEASE RENEW x %llu you TTL 5s", cluster_token(cluster, other));
    cluster_expect(cluster, other, "granted", NULL);
    assert_int_equal(cluster_believed(cluster, "x"), cluster_token(cluster, other));
    cluster_close(cluster);
}

// A renewal that waits when its lease is released is not answered with the next holder's.
static void test_a_renewal_is_overtaken(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0), renewer = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_isolate(cluster, 0, true);
    cluster_command(cluster, renewer, "LEASE RENEW x %llu me TTL 5s TIMEOUT 20s", token);
    cluster_run(cluster, 10);
    cluster_call(cluster, holder, "LEASE RELEASE x %llu me", token);
    cluster_expect(cluster, holder, "released", NULL);
    cluster_await(cluster, renewer, 5);
    cluster_expect(cluster, renewer, "lost", NULL);
    cluster_close(cluster);
}

static void test_renewed_after_its_end(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 1s");
    unsigned long long token = cluster_token(cluster, client);
    cluster_run(cluster, 999);
    cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 1s", token);
    cluster_expect(cluster, client, "granted", NULL);
    cluster_run(cluster, 1001);
    cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 1s", token);
    cluster_expect(cluster, client, "lost", "ended before");
    assert_int_equal(cluster_integer(cluster, client, "until-ns"), 0);
    cluster_close(cluster);
}

// D: a shorter renewal takes nothing away.
static void test_shorter_renewal(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned client = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, client, "x");
    cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 50ms", token);
    cluster_expect(cluster, client, "granted", NULL);
    assert_true(cluster_integer(cluster, client, "until-ns") > 4900 * LH_NS_PER_MS);
    cluster_run(cluster, 4900);
    cluster_call(cluster, cluster_connect(cluster, 1), "LEASE ACQUIRE x");
    cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 5s", token);
    cluster_expect(cluster, client, "granted", NULL);
    cluster_close(cluster);
}

static void test_revoked(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned waiter = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_call(cluster, waiter, "LEASE REVOKE x");
    cluster_expect(cluster, waiter, "revoked", NULL);
    cluster_call(cluster, waiter, "LEASE REVOKE x");
    cluster_expect(cluster, waiter, "revoked", NULL);
    cluster_call(cluster, holder, "LEASE RENEW x %llu me", token);
    cluster_expect(cluster, holder, "lost", "revoked");
    assert_true(cluster_believed(cluster, "x") == token);
    cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s");
    cluster_await(cluster, waiter, 6000);
    cluster_expect(cluster, waiter, "turn", NULL);
    cluster_call(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s");
    for (unsigned i = 0; i < 4 && strcmp(cluster_status(cluster, waiter), "turn") == 0; i++)
        cluster_call(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s");
    cluster_expect(cluster, waiter, "granted", NULL);
    cluster_call(cluster, waiter, "LEASE RENEW x %llu you", cluster_token(cluster, waiter));
    cluster_expect(cluster, waiter, "granted", NULL);
    cluster_close(cluster);
}

// Asking again, its holder finds its own lease in the way, and waits for the end like anybody.
static void test_a_revoked_holder_waits_for_the_end(void **state)
{
    (void)state;
    for (unsigned at = 0; at < 2; at++) {
        struct cluster *cluster = open_cluster(3);
        unsigned holder = cluster_connect(cluster, 0);
        unsigned again = cluster_connect(cluster, at);
        cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 1s ID 1");
        unsigned long long token = cluster_token(cluster, holder);
        cluster_call(cluster, holder, "LEASE REVOKE x");
        cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 1s ID 1");
        cluster_expect(cluster, holder, "held", "it was revoked");
        cluster_call(cluster, again, "LEASE ACQUIRE x HOLDER me TTL 1s ID 2 WAIT 100ms");
        cluster_expect(cluster, again, "held", at == 0 ? "it was revoked" : "not free within WAIT");
        assert_in_range(cluster->clients[again].reply_took, 100 * LH_NS_PER_MS, 120 * LH_NS_PER_MS);
        assert_true(cluster_believed(cluster, "x") == token);
        cluster_command(cluster, again, "LEASE ACQUIRE x HOLDER me TTL 1s ID 2 WAIT 5s");
        cluster_await(cluster, again, 2000);
        cluster_expect(cluster, again, "turn", NULL);
        for (unsigned i = 0; i < 4 && strcmp(cluster_status(cluster, again), "turn") == 0; i++)
            cluster_call(cluster, again, "LEASE ACQUIRE x HOLDER me TTL 1s ID 2 WAIT 5s");
        cluster_expect(cluster, again, "granted", NULL);
        assert_true(cluster_token(cluster, again) > token);
        cluster_close(cluster);
    }
}

// --- waiting ---

static void test_wait_and_timeout_end(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    acquire(cluster, holder, "x");
    for (unsigned at = 0; at < 3; at++) {
        unsigned client = cluster_connect(cluster, at);
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER you");
        cluster_expect(cluster, client, "held", "somebody else holds it");
        assert_in_range(cluster->clients[client].reply_took, 0, 4 * ROUND_NS);
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER you WAIT 300ms TIMEOUT 10s");
        cluster_expect(cluster, client, "held", "not free within WAIT");
        assert_in_range(cluster->clients[client].reply_took, 300 * LH_NS_PER_MS,
                        302 * LH_NS_PER_MS);
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER you WAIT 300ms TIMEOUT 10ms");
        cluster_expect(cluster, client, "held", "not free within WAIT");
        cluster_disconnect(cluster, client);
    }
    cluster_close(cluster);
}

// From the release to the grant: the Release and the Wake, the client's turn, and two rounds.
static void hand_over(unsigned holder_at, unsigned waiter_at)
{
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, holder_at);
    unsigned waiter = cluster_connect(cluster, waiter_at);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s TTL 5s");
    cluster_run(cluster, 100);
    int64_t began = cluster->true_ns;
    cluster_command(cluster, holder, "LEASE RELEASE x %llu me", token);
    cluster_await(cluster, waiter, 1000);
    cluster_expect(cluster, waiter, "turn", "your turn");
    assert_int_equal(cluster_integer(cluster, waiter, "until-ns"), 0);
    cluster_call(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s TTL 5s");
    cluster_expect(cluster, waiter, "granted", NULL);
    int64_t took = cluster->true_ns - began;
    assert_in_range(took, 2 * ROUND_NS + 2 * CLIENT_NS, 5 * ROUND_NS / 2 + 3 * CLIENT_NS);
    assert_true(cluster_integer(cluster, waiter, "until-ns") > 4990 * LH_NS_PER_MS);
    cluster_close(cluster);
}

static void test_hand_over(void **state)
{
    (void)state;
    hand_over(0, 0);
    hand_over(0, 1);
    hand_over(2, 1);
}

// Those who wait at several nodes come in the order in which they began to wait.
static void test_the_longest_waiting_is_first(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(5);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    unsigned order[6] = {3, 0, 4, 1, 2, 0}, clients[6];
    for (unsigned i = 0; i < 6; i++) {
        clients[i] = cluster_connect(cluster, order[i]);
        cluster_command(cluster, clients[i], "LEASE ACQUIRE x HOLDER w%u WAIT 60s TTL 5s", i);
        cluster_run(cluster, 50);
    }
    unsigned releaser = holder;
    const char *name = "me";
    char holders[6][8];
    for (unsigned i = 0; i < 6; i++) {
        cluster_command(cluster, releaser, "LEASE RELEASE x %llu %s", token, name);
        unsigned replies = cluster->clients[clients[i]].replies;
        int64_t limit = cluster->true_ns + 50 * LH_NS_PER_MS;
        while (cluster->clients[clients[i]].replies == replies && cluster_step(cluster, limit))
            ;
        cluster_expect(cluster, clients[i], "turn", NULL);
        cluster_call(cluster, clients[i], "LEASE ACQUIRE x HOLDER w%u WAIT 60s TTL 5s", i);
        cluster_expect(cluster, clients[i], "granted", NULL);
        token = cluster_token(cluster, clients[i]);
        releaser = clients[i];
        snprintf(holders[i], sizeof holders[i], "w%u", i);
        name = holders[i];
        cluster_run(cluster, 100); // those behind it have found out who is in the way
        for (unsigned later = i + 1; later < 6; later++)
            if (cluster->clients[clients[later]].asked_count == 0)
                cluster_command(cluster, clients[later],
                                "LEASE ACQUIRE x HOLDER w%u WAIT 60s TTL 5s", later);
        cluster_run(cluster, 20);
    }
    cluster_close(cluster);
}

static void test_a_turn_is_not_taken(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned sleeper = cluster_connect(cluster, 0);
    unsigned waiter = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_command(cluster, sleeper, "LEASE ACQUIRE x HOLDER s WAIT 20s");
    cluster_run(cluster, 1);
    cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER w WAIT 20s");
    cluster_run(cluster, 1);
    cluster_call(cluster, holder, "LEASE RELEASE x %llu me", token);
    cluster_await(cluster, sleeper, 100);
    cluster_expect(cluster, sleeper, "turn", NULL);
    assert_null(cluster_await(cluster, waiter, 900));
    cluster_await(cluster, waiter, 200);
    cluster_expect(cluster, waiter, "turn", NULL);
    cluster_call(cluster, waiter, "LEASE ACQUIRE x HOLDER w WAIT 20s");
    cluster_expect(cluster, waiter, "granted", NULL);
    cluster_call(cluster, sleeper, "LEASE ACQUIRE x HOLDER s"); // too late, as anybody else
    cluster_expect(cluster, sleeper, "held", NULL);
    cluster_close(cluster);
}

static void test_clients_close(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    unsigned queued[3];
    for (unsigned i = 0; i < 3; i++) {
        queued[i] = cluster_connect(cluster, 0);
        cluster_command(cluster, queued[i], "LEASE ACQUIRE x HOLDER q%u WAIT 20s", i);
    }
    cluster_run(cluster, 1);
    cluster_disconnect(cluster, queued[0]); // while it waits
    cluster_run(cluster, 1);
    cluster_call(cluster, holder, "LEASE RELEASE x %llu me", token);
    cluster_await(cluster, queued[1], 100);
    cluster_expect(cluster, queued[1], "turn", NULL);
    cluster_disconnect(cluster, queued[1]); // at its turn
    cluster_await(cluster, queued[2], 1100);
    cluster_expect(cluster, queued[2], "turn", NULL);
    cluster_command(cluster, queued[2], "LEASE ACQUIRE x HOLDER q2 WAIT 20s");
    cluster_run(cluster, 0);
    cluster_disconnect(cluster, queued[2]);
    for (int64_t pause_us = 0; pause_us < 400; pause_us += 10) { // while it is being granted
        unsigned client = cluster_connect(cluster, 0);
        cluster_command(cluster, client, "LEASE ACQUIRE x HOLDER c%lld TTL 10s WAIT 20s",
                        (long long)pause_us);
        int64_t limit = cluster->true_ns + pause_us * LH_NS_PER_US;
        while (cluster_step(cluster, limit))
            ;
        cluster_disconnect(cluster, client);
        unsigned next = cluster_connect(cluster, 1);
        cluster_run(cluster, 5);
        cluster_call(cluster, next, "LEASE ACQUIRE x HOLDER n TTL 50ms WAIT 20s");
        while (strcmp(cluster_status(cluster, next), "turn") == 0)
            cluster_call(cluster, next, "LEASE ACQUIRE x HOLDER n TTL 50ms WAIT 20s");
        cluster_expect(cluster, next, "granted", NULL);
        bool was_granted =
            cluster->clients[client].replies > 0 || cluster->clients[next].reply_took > LH_NS_PER_S;
        if (!was_granted)
            assert_in_range(cluster->clients[next].reply_took, 0, 100 * LH_NS_PER_MS);
        cluster_disconnect(cluster, next);
        cluster_run(cluster, 100);
    }
    cluster_close(cluster);
}

static void reject_accept(struct cluster *cluster, unsigned from)
{
    const struct lh_lease *lease = &cluster_host(cluster, 0)->machine.leases[0];
    uint8_t bytes[LH_DATAGRAM_MAX];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    struct lh_message message = {.kind = LH_MESSAGE_REJECTED,
                                 .key = lease->key,
                                 .ballot = lease->proposer.ballot,
                                 .refused = LH_MESSAGE_ACCEPT,
                                 .promised = lease->proposer.ballot + 65536};
    lh_host_header(cluster_host(cluster, from), 1, cluster_now(cluster, from), &writer);
    lh_message_encode(&writer, &message);
    cluster_inject(cluster, 1, (uint8_t)(from + 1), 1, lh_writer_slice(&writer));
}

// An attempt whose client is gone comes to nothing: whoever waits behind it goes on.
static void test_an_orphan_is_refused(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned gone = cluster_connect(cluster, 0), client = cluster_connect(cluster, 0);
    cluster_command(cluster, gone, "LEASE ACQUIRE x HOLDER me TTL 200ms");
    assert_true(cluster_run_until(cluster, accepting, NULL, 10));
    cluster_isolate(cluster, 0, true);
    cluster_disconnect(cluster, gone);
    cluster_run(cluster, 1);
    cluster_command(cluster, client, "LEASE ACQUIRE x HOLDER you TTL 1s WAIT 3s");
    cluster_run(cluster, 1);
    reject_accept(cluster, 1);
    reject_accept(cluster, 2);
    cluster_run(cluster, 1);
    cluster_isolate(cluster, 0, false);
    assert_non_null(cluster_await(cluster, client, 1000));
    if (strcmp(cluster_status(cluster, client), "turn") == 0)
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER you TTL 1s WAIT 3s");
    cluster_expect(cluster, client, "granted", NULL);
    cluster_close(cluster);
}

#define WAITERS 200

// Two hundred wait at one node, each of them gets the lease once, in order, and nothing is lost on
// the way.
static void test_two_hundred_waiters(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    static unsigned clients[WAITERS];
    unsigned holder = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    for (unsigned i = 0; i < WAITERS; i++) {
        clients[i] = cluster_connect(cluster, 0);
        cluster_command(cluster, clients[i], "LEASE ACQUIRE x HOLDER w%u WAIT 100s TTL 5s", i);
        cluster_run(cluster, 1);
    }
    uint64_t datagrams = cluster->datagrams;
    cluster_run(cluster, 3000);
    assert_in_range(cluster->datagrams - datagrams, 0, 100); // they cost nothing
    unsigned releaser = holder;
    char name[16] = "me";
    for (unsigned i = 0; i < WAITERS; i++) {
        int64_t began = cluster->true_ns;
        cluster_command(cluster, releaser, "LEASE RELEASE x %llu %s", token, name);
        assert_non_null(cluster_await(cluster, clients[i], 1000));
        cluster_expect(cluster, clients[i], "turn", NULL);
        cluster_call(cluster, clients[i], "LEASE ACQUIRE x HOLDER w%u WAIT 100s TTL 5s", i);
        cluster_expect(cluster, clients[i], "granted", NULL);
        assert_in_range(cluster->true_ns - began, 0, 4 * ROUND_NS);
        token = cluster_token(cluster, clients[i]);
        releaser = clients[i];
        snprintf(name, sizeof name, "w%u", i);
    }
    cluster_close(cluster);
}

// Waiting behind a lease of the same node wakes nobody until something happens.
static void test_waiting_is_silent(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 10s");
    for (unsigned at = 0; at < 3; at++)
        cluster_command(cluster, cluster_connect(cluster, at),
                        "LEASE ACQUIRE x HOLDER you WAIT 60s");
    cluster_run(cluster, 100);
    uint64_t steps = cluster->steps;
    cluster_run(cluster, 9000);
    assert_in_range(cluster->steps - steps, 0, 500);
    cluster_close(cluster);
}

// The owner dies without a word: the waiter elsewhere has the lease as soon as the exclusion
// allows.
static void test_take_over(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned waiter = cluster_connect(cluster, 1);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 5s");
    int64_t granted = cluster->true_ns;
    cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 60s TTL 5s");
    cluster_run(cluster, 100);
    cluster_crash(cluster, 0, 0);
    do
        cluster_await(cluster, waiter, 6000);
    while (strcmp(cluster_status(cluster, waiter), "turn") == 0 &&
           (cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 60s TTL 5s"), true));
    cluster_expect(cluster, waiter, "granted", NULL);
    int64_t exclusion =
        lh_timing_exclusion((struct lh_timing){lh_ms(10000), 10000}, lh_ms(5000)).ns;
    assert_in_range(cluster->true_ns - granted, exclusion - ROUND_NS,
                    exclusion + 3 * ROUND_NS + 5 * LH_NS_PER_MS);
    cluster_close(cluster);
}

// --- full ---

static void test_leases_are_full(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.max_leases = 8;
    struct cluster *cluster = cluster_open(&settings);
    cluster_run(cluster, 1000);
    unsigned client = cluster_connect(cluster, 0);
    for (unsigned i = 0; i < 8; i++) {
        cluster_call(cluster, client, "LEASE ACQUIRE a%u HOLDER me TTL 1s", i);
        cluster_expect(cluster, client, "granted", NULL);
    }
    cluster_call(cluster, client, "LEASE ACQUIRE b TTL 1s");
    assert_string_equal(
        cluster_error(cluster, client),
        "BUSY this node holds max-leases names already: ask again later, or another node");
    cluster_call(cluster, client, "SUBSCRIBE lease:b");
    assert_memory_equal(cluster_error(cluster, client), "BUSY", 4);
    cluster_close(cluster);
}

// Names and holders of full length: the texts run out before the leases do, and are given back.
static void test_texts_are_full(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.max_leases = 8; // 16 chunks: a long name and a long holder need five each
    struct cluster *cluster = cluster_open(&settings);
    cluster_run(cluster, 1000);
    unsigned client = cluster_connect(cluster, 0);
    unsigned granted = 0, busy = 0;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 5; i++) {
            cluster_call(cluster, client, "LEASE ACQUIRE %u%0250u HOLDER %0255u TTL 200ms", i, 0u,
                         i);
            granted += strcmp(cluster_status(cluster, client), "granted") == 0;
            busy += strncmp(cluster_error(cluster, client), "BUSY", 4) == 0;
        }
        cluster_run(cluster, 300);
    }
    assert_int_equal(granted, 3);
    assert_int_equal(busy, 12);
    assert_int_equal(cluster_host(cluster, 0)->machine.count, 0);
    cluster_close(cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_two_rounds_and_renewal_one),
        cmocka_unit_test(test_same_holder_asks_again),
        cmocka_unit_test(test_a_request_id_is_one_request),
        cmocka_unit_test(test_a_retry_meets_its_original),
        cmocka_unit_test(test_majority_down),
        cmocka_unit_test(test_an_impatient_renewal_does_no_harm),
        cmocka_unit_test(test_a_renewer_dies),
        cmocka_unit_test(test_released_while_renewing),
        cmocka_unit_test(test_a_release_is_overtaken),
        cmocka_unit_test(test_a_renewal_is_overtaken),
        cmocka_unit_test(test_renewed_after_its_end),
        cmocka_unit_test(test_shorter_renewal),
        cmocka_unit_test(test_revoked),
        cmocka_unit_test(test_a_revoked_holder_waits_for_the_end),
        cmocka_unit_test(test_wait_and_timeout_end),
        cmocka_unit_test(test_hand_over),
        cmocka_unit_test(test_the_longest_waiting_is_first),
        cmocka_unit_test(test_a_turn_is_not_taken),
        cmocka_unit_test(test_clients_close),
        cmocka_unit_test(test_an_orphan_is_refused),
        cmocka_unit_test(test_two_hundred_waiters),
        cmocka_unit_test(test_waiting_is_silent),
        cmocka_unit_test(test_take_over),
        cmocka_unit_test(test_leases_are_full),
        cmocka_unit_test(test_texts_are_full),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
