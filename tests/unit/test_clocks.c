// Whole clusters in which clocks leave their bound: the node whose clock it is notices, gives up
// what it holds, begins and answers nothing, and comes back through a quarantine; the others go on.
// Inside the bound nobody notices anything.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/status.h"

static struct cluster *open_cluster(unsigned nodes)
{
    struct cluster_settings settings = cluster_defaults();
    settings.nodes = nodes;
    settings.max_ttl_ms = 60000;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 30000));
    return cluster;
}

// From now on, without a jump.
static void set_rate(struct cluster *cluster, unsigned process, int32_t rate_ppm)
{
    struct cluster_clock *clock = &cluster->processes[process].clock;
    const int64_t before = cluster_now(cluster, process).ns;
    clock->rate_ppm = rate_ppm;
    clock->offset_ns += before - cluster_now(cluster, process).ns;
}

static bool is_bad(struct cluster *cluster, unsigned process)
{
    return cluster_host(cluster, process)->clocks.bad;
}

static bool first_is_bad(struct cluster *cluster, void *context)
{
    (void)context;
    return is_bad(cluster, 0);
}

static bool first_is_good(struct cluster *cluster, void *context)
{
    (void)context;
    return !is_bad(cluster, 0);
}

// A client on the node's own machine.
static unsigned connect_on(struct cluster *cluster, unsigned process)
{
    unsigned client = cluster_connect(cluster, process);
    cluster->clients[client].clock = cluster->processes[process].clock;
    return client;
}

static void grants_at(struct cluster *cluster, unsigned process, const char *name)
{
    unsigned client = connect_on(cluster, process);
    cluster_call(cluster, client, "LEASE ACQUIRE %s HOLDER h TTL 500ms WAIT 5s", name);
    assert_string_equal(cluster_status(cluster, client), "granted");
    cluster_disconnect(cluster, client);
}

static void stops_and_recovers(int32_t rate_ppm)
{
    struct cluster *cluster = open_cluster(3);
    struct cluster_process *first = &cluster->processes[0];
    set_rate(cluster, 0, rate_ppm);
    unsigned client = connect_on(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE held HOLDER h TTL 60s");
    assert_string_equal(cluster_status(cluster, client), "granted");
    assert_true(cluster_run_until(cluster, first_is_bad, NULL, 15000));
    cluster_run(cluster, 10);

    // It holds nothing, says which peer proves it and by how much, and begins and answers nothing.
    const struct lh_host *host = cluster_host(cluster, 0);
    assert_int_equal(first->events[LH_EVENT_CLOCK_BAD], 1);
    assert_int_equal(first->events[LH_EVENT_LOST], 1);
    assert_int_equal(host->machine.held, 0);
    assert_string_equal(lh_status_state(host), "bad-clock");
    assert_non_null(strstr(lh_status_reason(host),
                           rate_ppm > 0 ? "this node's clock runs fast" : "clock runs slow"));
    assert_in_range(first->peer[LH_EVENT_CLOCK_BAD], 2, 3);
    assert_in_range(first->number[LH_EVENT_CLOCK_BAD], 1, 100000000);
    const uint64_t dropped = host->machine.counters.dropped_clock;
    cluster_call(cluster, client, "LEASE ACQUIRE other HOLDER h TTL 500ms WAIT 3s");
    assert_string_equal(cluster_status(cluster, client), "noquorum");
    cluster_disconnect(cluster, client);

    // The others do not stop, and none of what they send is answered.
    grants_at(cluster, 1, "y");
    grants_at(cluster, 2, "z");
    assert_true(host->machine.counters.dropped_clock > dropped);
    assert_false(is_bad(cluster, 1));
    assert_false(is_bad(cluster, 2));

    set_rate(cluster, 0, 0);
    assert_true(cluster_run_until(cluster, first_is_good, NULL, 120000));
    assert_int_equal(first->events[LH_EVENT_CLOCK_GOOD], 1);
    assert_string_equal(lh_status_state(host), "quarantine");
    assert_true(lh_before(cluster_now(cluster, 0), host->machine.quarantine_until));
    assert_true(cluster_run_until_serving(cluster, 90000));
    grants_at(cluster, 0, "again");
    cluster_close(cluster);
}

static void a_fast_clock_stops_its_node(void **state)
{
    (void)state;
    stops_and_recovers(60000);
}

static void a_slow_clock_stops_its_node(void **state)
{
    (void)state;
    stops_and_recovers(-60000);
}

static char *info_of(struct cluster *cluster, unsigned process, const char *sections)
{
    unsigned client = connect_on(cluster, process);
    struct lh_slice text;
    cluster_call(cluster, client, "INFO %s", sections);
    assert_true(lh_resp_as_text(cluster_reply(cluster, client), &text));
    char *copy = calloc(1, text.size_bytes + 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size_bytes);
    cluster_disconnect(cluster, client);
    return copy;
}

static long long number_in(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

// What a monitor reads: the intervals, the bound, the margin, and the guards.
static void info_tells_what_is_measured(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    set_rate(cluster, 0, 0);
    set_rate(cluster, 1, 500);
    set_rate(cluster, 2, -500);
    char *early = info_of(cluster, 0, "clocks");
    assert_null(strstr(early, "redis_version"));
    free(early);
    cluster_run(cluster, 60000);
    char *text = info_of(cluster, 0, "Clocks");
    assert_int_equal(number_in(text, "\r\nclock_bad:"), 0);
    assert_int_equal(number_in(text, "\r\nclock_allowed_most_ppb:"),
                     lh_clock_bound_allowed(10000).most);
    assert_int_equal(number_in(text, "\r\nclock_allowed_least_ppb:"),
                     lh_clock_bound_allowed(10000).least);
    const char *second = strstr(text, "\r\nclock_node2:measured=1,");
    const char *third = strstr(text, "\r\nclock_node3:measured=1,");
    assert_non_null(second);
    assert_non_null(third);
    assert_null(strstr(text, "clock_node1"));
    assert_true(number_in(second, ",rate_least_ppb=") <= 500000);
    assert_true(number_in(second, ",rate_most_ppb=") >= 500000);
    assert_true(number_in(third, ",rate_least_ppb=") <= -500000);
    assert_true(number_in(third, ",rate_most_ppb=") >= -500000);
    assert_int_equal(number_in(second, ",margin_ppb="),
                     lh_clock_bound_allowed(10000).most - number_in(second, ",rate_most_ppb="));
    assert_int_equal(number_in(second, ",excess_ppb="), 0);
    assert_true(number_in(second, ",offset_least_us=") <= number_in(second, ",offset_most_us="));
    const struct lh_timing timing = cluster_host(cluster, 0)->config.timing;
    assert_int_equal(
        number_in(text, "\r\nclock_guard_us:"),
        lh_clocks_ceiling_us(lh_timing_exclusion(timing, timing.max_ttl).ns - timing.max_ttl.ns));
    // Rates that differ by 0.05 % justify a small part of a guard for 2 %.
    assert_in_range(number_in(text, "\r\nclock_measured_guard_us:"), 30000,
                    number_in(text, "\r\nclock_guard_us:") / 10);
    free(text);
    cluster_close(cluster);
}

static void info_tells_of_a_bad_clock(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    set_rate(cluster, 0, 60000);
    assert_true(cluster_run_until(cluster, first_is_bad, NULL, 15000));
    char *text = info_of(cluster, 0, "clocks");
    assert_int_equal(number_in(text, "\r\nclock_bad:"), 1);
    assert_true(number_in(text, ",margin_ppb=") < 0);
    assert_true(number_in(text, ",excess_ppb=") < 0);
    free(text);
    cluster_crash(cluster, 1, 0);
    cluster_run(cluster, 60000);
    text = info_of(cluster, 0, "clocks");
    assert_non_null(strstr(text, "\r\nclock_node2:measured=0"));
    assert_null(strstr(text, "clock_measured_guard_us"));
    free(text);
    cluster_close(cluster);
}

// Three clocks at the ends of the bound differ by all that is allowed.
static void inside_the_bound_nobody_stops(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    set_rate(cluster, 0, 9990);
    set_rate(cluster, 1, -9990);
    set_rate(cluster, 2, 9990);
    cluster_run(cluster, 600000);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(cluster->processes[i].events[LH_EVENT_CLOCK_BAD], 0);
        struct lh_clock_interval ppb;
        const struct lh_peer *peer = lh_peers_find(cluster_host(cluster, i), i == 1 ? 1 : 2);
        assert_true(lh_clock_bound_rate(&peer->clock, cluster_now(cluster, i), &ppb));
        assert_true(ppb.most - ppb.least < 100000);
        assert_int_equal(lh_clock_bound_excess(ppb, lh_clock_bound_allowed(10000)), 0);
        assert_int_not_equal(lh_clock_bound_excess(ppb, lh_clock_bound_allowed(9900)), 0);
    }
    cluster_close(cluster);
}

// Two bad clocks of five, one fast and one slow: each stops its own node only.
static void bad_clocks_stop_no_majority(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(5);
    set_rate(cluster, 0, 80000);
    set_rate(cluster, 1, -80000);
    cluster_run(cluster, 60000);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(is_bad(cluster, i), i < 2);
    grants_at(cluster, 4, "x");
    cluster_close(cluster);
}

// Two of three are out in opposite directions: the third cannot tell its own clock bad by them.
static void opposite_peers_prove_nothing(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    set_rate(cluster, 0, 80000);
    set_rate(cluster, 1, -80000);
    cluster_run(cluster, 60000);
    assert_true(is_bad(cluster, 0));
    assert_true(is_bad(cluster, 1));
    assert_false(is_bad(cluster, 2));
    cluster_close(cluster);
}

// Replays of everything that was said, over and over, and a clock that is right stays right.
static void replays_move_nothing(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.max_ttl_ms = 2000;
    struct cluster *cluster = cluster_open(&settings);
    cluster->taping = true;
    assert_true(cluster_run_until_serving(cluster, 10000));
    cluster_run(cluster, 20000);
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = round % 7; i < cluster->tape_count; i += 7)
            cluster_replay(cluster, &cluster->tapes[i]);
        cluster_run(cluster, 1000);
    }
    for (unsigned i = 0; i < 3; i++) {
        struct lh_clock_interval ppb;
        const struct lh_peer *peer = lh_peers_find(cluster_host(cluster, i), i == 0 ? 2 : 1);
        const int64_t truth = cluster->processes[peer->node - 1].clock.rate_ppm -
                              cluster->processes[i].clock.rate_ppm;
        assert_false(is_bad(cluster, i));
        assert_true(lh_clock_bound_rate(&peer->clock, cluster_now(cluster, i), &ppb));
        assert_true(ppb.most - ppb.least < 100000);
        // To within the product of the two rates.
        assert_in_range(truth * 1000 - ppb.least + 200000, 0, ppb.most - ppb.least + 400000);
    }
    // Nor do they keep one alive that is gone.
    struct lh_clock_interval ppb;
    cluster_crash(cluster, 1, 0);
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < cluster->tape_count; i++)
            cluster_replay(cluster, &cluster->tapes[i]);
        cluster_run(cluster, 1000);
    }
    assert_false(lh_clock_bound_rate(&lh_peers_find(cluster_host(cluster, 0), 2)->clock,
                                     cluster_now(cluster, 0), &ppb));
    cluster_close(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fast_clock_stops_its_node),
        cmocka_unit_test(a_slow_clock_stops_its_node),
        cmocka_unit_test(info_tells_what_is_measured),
        cmocka_unit_test(info_tells_of_a_bad_clock),
        cmocka_unit_test(inside_the_bound_nobody_stops),
        cmocka_unit_test(bad_clocks_stop_no_majority),
        cmocka_unit_test(opposite_peers_prove_nothing),
        cmocka_unit_test(replays_move_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
