// Whole clusters: what a client sees of leases through any node, while the referee of
// host_fixture.h watches. The single parts have tests of their own; here are the schedules that
// need all of them at once.
// run-tests: timeout 300
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Takes its turns until it is granted.
static void acquire(struct cluster *cluster, unsigned client, const char *request)
{
    do
        cluster_call(cluster, client, "%s", request);
    while (strcmp(cluster_status(cluster, client), "turn") == 0);
    cluster_expect(cluster, client, "granted", NULL);
}

static void test_a_new_cluster_grants(void **state)
{
    (void)state;
    for (unsigned nodes = 1; nodes <= 7; nodes += 2) {
        struct cluster_settings settings = cluster_defaults();
        settings.nodes = nodes;
        struct cluster *cluster = cluster_open(&settings);
        assert_true(cluster_run_until_serving(cluster, nodes == 1 ? 11000 : 1000));
        unsigned client = cluster_connect(cluster, nodes - 1);
        cluster_call(cluster, client, "LEASE ACQUIRE backup HOLDER me");
        cluster_expect(cluster, client, "granted", NULL);
        cluster_close(cluster);
    }
}

static void test_events_have_names(void **state)
{
    (void)state;
    for (int kind = LH_EVENT_RESTORED; kind <= LH_EVENT_REVOKED; kind++)
        assert_true(strlen(lh_event_name((enum lh_event_kind)kind)) > 3);
    assert_string_equal(lh_event_name(LH_EVENT_REVOKED), "revoked");
}

// Settings under which clocks are as far apart as they may be: every second node and client is as
// fast as allowed, the others as slow; the referee compares what they believe.
static struct cluster *open_apart(uint64_t seed, int64_t latency_us)
{
    struct cluster_settings settings = cluster_defaults();
    settings.seed = seed;
    settings.max_ttl_ms = 1000;
    settings.rate_ppm = 100000;
    settings.drift_ppm = 100000;
    settings.latency_ns = latency_us * LH_NS_PER_US;
    settings.one_round_renewal = seed % 2 == 0;
    settings.idle_forget = seed % 3 == 0;
    settings.quarantine_ceiling = seed % 5 == 0;
    struct cluster *cluster = cluster_open(&settings);
    for (unsigned i = 0; i < 3; i++) {
        struct lh_prng prng;
        lh_prng_seed_number(&prng, seed * 3 + i);
        int32_t rate = lh_prng_below(&prng, 2) == 0 ? -100000 : 100000;
        cluster->processes[i].clock.rate_ppm = rate;
    }
    assert_true(cluster_run_until_serving(cluster, 3000));
    return cluster;
}

static unsigned connect_apart(struct cluster *cluster, unsigned process, int32_t rate_ppm)
{
    unsigned client = cluster_connect(cluster, process);
    cluster->clients[client].clock.rate_ppm = rate_ppm;
    return client;
}

// An owner is cut off while its client goes on believing for as long as it may; another has the
// lease as soon as it can. Whatever runs fast or slow, they never meet.
static void test_cut_off_owner_on_clocks_apart(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 32; seed++) {
        struct cluster *cluster = open_apart(seed, 50);
        unsigned holder = connect_apart(cluster, 0, seed % 4 < 2 ? -100000 : 100000);
        unsigned other = connect_apart(cluster, 1, 0);
        for (unsigned round = 0; round < 3; round++) {
            acquire(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 1s WAIT 5s");
            cluster_run(cluster, 300);
            cluster_call(cluster, holder, "LEASE RENEW x %llu me TTL 1s",
                         cluster_token(cluster, holder));
            cluster_expect(cluster, holder, "granted", NULL);
            cluster_isolate(cluster, 0, true);
            acquire(cluster, other, "LEASE ACQUIRE x HOLDER you TTL 500ms WAIT 9s");
            cluster_isolate(cluster, 0, false);
            cluster_run(cluster, 900);
        }
        cluster_close(cluster);
    }
}

// The owner is stopped beyond its TTL and goes on: nothing that it does late counts.
static void test_stopped_owner_goes_on(void **state)
{
    (void)state;
    for (int64_t stop_ms = 100; stop_ms <= 2500; stop_ms += 300) {
        struct cluster *cluster = open_apart((uint64_t)stop_ms, 50);
        unsigned holder = connect_apart(cluster, 0, 0), other = connect_apart(cluster, 1, 0);
        acquire(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 1s");
        unsigned long long token = cluster_token(cluster, holder);
        cluster_run(cluster, 500);
        cluster_command(cluster, holder, "LEASE RENEW x %llu me TTL 1s", token);
        cluster_stop(cluster, 0);
        cluster_command(cluster, other, "LEASE ACQUIRE x HOLDER you TTL 1s WAIT 10s");
        cluster_run(cluster, stop_ms);
        cluster_continue(cluster, 0);
        cluster_await(cluster, holder, 1000);
        cluster_await(cluster, other, 5000);
        while (strcmp(cluster_status(cluster, other), "turn") == 0)
            cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you TTL 1s WAIT 10s");
        cluster_expect(cluster, other, "granted", NULL);
        cluster_close(cluster);
    }
}

// The node that owns dies while its client believes, and comes back at once with its disk.
static void test_owner_restarts_under_its_client(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *cluster = open_apart(seed, 50);
        unsigned holder = connect_apart(cluster, 0, 100000);
        acquire(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 1s");
        unsigned long long token = cluster_token(cluster, holder);
        cluster->clients[holder].kept = true; // it believes on
        cluster_crash(cluster, 0, 0);
        assert_true(cluster_start(cluster, 0));
        cluster_run(cluster, 20);
        unsigned again = cluster_connect(cluster, 0);
        cluster_call(cluster, again, "LEASE RENEW x %llu me TTL 1s", token);
        cluster_expect(cluster, again, "lost", NULL);
        acquire(cluster, again, "LEASE ACQUIRE x HOLDER me TTL 1s WAIT 9s");
        assert_true(cluster_token(cluster, again) > token);
        cluster_close(cluster);
    }
}

// Everybody wants one name on a network that loses, repeats and reorders: they get it in turns, and
// the time in which nobody has it stays bounded.
static void test_contention_on_a_bad_network(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct cluster *cluster = open_apart(seed, 200);
        cluster->loss_ppm = 200000;
        cluster->duplicate_ppm = 200000;
        cluster->late_ppm = 200000;
        unsigned clients[8];
        for (unsigned i = 0; i < 8; i++)
            clients[i] = cluster_connect(cluster, i % 3);
        uint64_t grants = cluster->grants;
        for (unsigned round = 0; round < 24; round++) {
            unsigned client = clients[round % 8];
            char request[96];
            snprintf(request, sizeof request,
                     "LEASE ACQUIRE x HOLDER h%u TTL 1s WAIT 30s TIMEOUT 30s", round % 8);
            int64_t began = cluster->true_ns;
            acquire(cluster, client, request);
            // At worst the Accepts of a round that came to nothing block for one exclusion, twice
            // in a row.
            assert_in_range(cluster->true_ns - began, 0, 8 * LH_NS_PER_S);
            cluster_call(cluster, client, "LEASE RELEASE x %llu h%u",
                         cluster_token(cluster, client), round % 8);
        }
        assert_true(cluster->grants >= grants + 24);
        cluster_close(cluster);
    }
}

// F1: names that rest are forgotten, and nothing about tokens or exclusion changes with it.
static void test_forgotten_names(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.max_ttl_ms = 500;
    settings.idle_forget = true;
    settings.max_leases = 64;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 1000));
    unsigned clients[3];
    for (unsigned i = 0; i < 3; i++)
        clients[i] = cluster_connect(cluster, i);
    for (unsigned round = 0; round < 600; round++) { // far more names than an acceptor has records
        char request[64];
        snprintf(request, sizeof request, "LEASE ACQUIRE n%u HOLDER me TTL 100ms WAIT 5s",
                 round % 300);
        acquire(cluster, clients[round % 3], request);
        cluster_run(cluster, 20);
    }
    cluster_close(cluster);
}

// A node that is alone in its opinion of the time, far off and at another rate, harms nobody.
static void test_asymmetric_links(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 64; mask++) {
        struct cluster *cluster = open_apart(mask + 1, 50);
        unsigned bit = 0;
        for (unsigned from = 0; from < 3; from++)
            for (unsigned to = 0; to < 3; to++)
                if (from != to)
                    cluster->cut[from][to] = (mask >> bit++ & 1) != 0;
        unsigned clients[3];
        for (unsigned i = 0; i < 3; i++) {
            clients[i] = cluster_connect(cluster, i);
            cluster_command(cluster, clients[i],
                            "LEASE ACQUIRE x HOLDER h%u TTL 200ms WAIT 2s TIMEOUT 1s", i);
        }
        cluster_run(cluster, 3000);
        memset(cluster->cut, 0, sizeof cluster->cut);
        for (unsigned i = 0; i < 3; i++) {
            cluster_await(cluster, clients[i], 3000);
            acquire(cluster, clients[i], "LEASE ACQUIRE x HOLDER last TTL 200ms WAIT 9s");
            cluster_call(cluster, clients[i], "LEASE RELEASE x %llu last",
                         cluster_token(cluster, clients[i]));
        }
        cluster_close(cluster);
    }
}

// The same seed is the same run, to the last datagram.
static void test_runs_repeat(void **state)
{
    (void)state;
    uint64_t datagrams[2], bytes[2];
    unsigned long long tokens[2];
    for (unsigned i = 0; i < 2; i++) {
        struct cluster *cluster = open_apart(77, 50);
        cluster->loss_ppm = cluster->duplicate_ppm = cluster->late_ppm = 200000;
        unsigned client = cluster_connect(cluster, 1);
        acquire(cluster, client, "LEASE ACQUIRE x TTL 500ms TIMEOUT 20s");
        tokens[i] = cluster_token(cluster, client);
        cluster_run(cluster, 5000);
        datagrams[i] = cluster->datagrams;
        bytes[i] = cluster->datagram_bytes;
        cluster_close(cluster);
    }
    assert_true(datagrams[0] == datagrams[1] && bytes[0] == bytes[1] && tokens[0] == tokens[1]);
}

// --- the referee can fail ---

static bool breaks(void (*plant)(struct cluster *cluster, struct lh_event *event))
{
    struct cluster *cluster = open_apart(1, 50);
    struct lh_event event = {.kind = LH_EVENT_GRANTED,
                             .ballot = 65793,
                             .at = lh_after(cluster_now(cluster, 0), lh_ms(1000)),
                             .name = LH_SLICE("x")};
    cluster->expect_break = true;
    cluster_tell(cluster, 0, &event);
    assert_false(cluster->broken);
    plant(cluster, &event);
    bool broken = cluster->broken;
    cluster_close(cluster);
    return broken;
}

static void plant_second_owner(struct cluster *cluster, struct lh_event *event)
{
    event->ballot += 65536;
    event->at = lh_after(cluster_now(cluster, 1), lh_ms(1000));
    cluster_tell(cluster, 1, event);
}

static void plant_lower_token(struct cluster *cluster, struct lh_event *event)
{
    cluster_run(cluster, 1500);
    event->ballot -= 1;
    event->at = lh_after(cluster_now(cluster, 1), lh_ms(1000));
    cluster_tell(cluster, 1, event);
}

static void plant_shorter_renewal(struct cluster *cluster, struct lh_event *event)
{
    event->kind = LH_EVENT_RENEWED;
    event->at.ns--;
    cluster_tell(cluster, 0, event);
}

static void plant_nothing(struct cluster *cluster, struct lh_event *event)
{
    event->kind = LH_EVENT_RELEASED;
    cluster_tell(cluster, 0, event);
    event->kind = LH_EVENT_GRANTED;
    event->ballot += 65536;
    event->at = lh_after(cluster_now(cluster, 1), lh_ms(1000));
    cluster_tell(cluster, 1, event);
}

static void test_the_referee_sees(void **state)
{
    (void)state;
    assert_true(breaks(plant_second_owner));
    assert_true(breaks(plant_lower_token));
    assert_true(breaks(plant_shorter_renewal));
    assert_false(breaks(plant_nothing));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_cluster_grants),
        cmocka_unit_test(test_events_have_names),
        cmocka_unit_test(test_cut_off_owner_on_clocks_apart),
        cmocka_unit_test(test_stopped_owner_goes_on),
        cmocka_unit_test(test_owner_restarts_under_its_client),
        cmocka_unit_test(test_contention_on_a_bad_network),
        cmocka_unit_test(test_forgotten_names),
        cmocka_unit_test(test_asymmetric_links),
        cmocka_unit_test(test_runs_repeat),
        cmocka_unit_test(test_the_referee_sees),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
