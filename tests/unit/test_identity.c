// Who a node is: first starts, restarts, replacements and impostors, with crashes between any two
// writes. What a node says of itself rests on what is durable, here and at enough others, and on
// nothing else.
// run-tests: timeout 300
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cluster *open_with(unsigned nodes, bool dormant, bool ceiling, uint64_t seed)
{
    struct cluster_settings settings = cluster_defaults();
    settings.nodes = nodes;
    settings.max_ttl_ms = 2000;
    settings.dormant = dormant;
    settings.quarantine_ceiling = ceiling;
    settings.seed = seed;
    return cluster_open(&settings);
}

static struct cluster *open_cluster(unsigned nodes)
{
    struct cluster *cluster = open_with(nodes, false, false, 1);
    assert_true(cluster_run_until_serving(cluster, 3000));
    cluster_run(cluster, 1000);
    return cluster;
}

static uint64_t acquire_at(struct cluster *cluster, unsigned process)
{
    unsigned client = cluster_connect(cluster, process);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER p%u TTL 2s WAIT 20s", process);
    while (strcmp(cluster_status(cluster, client), "turn") == 0)
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER p%u TTL 2s WAIT 20s", process);
    cluster_expect(cluster, client, "granted", NULL);
    uint64_t token = (uint64_t)cluster_integer(cluster, client, "token");
    cluster_disconnect(cluster, client);
    return token;
}

static struct lh_identity_record stored(struct cluster *cluster, unsigned process)
{
    struct lh_identity_record record = {0};
    const struct lh_host_pair *pair = cluster_stored(cluster, process, 'I');
    if (pair != NULL)
        assert_true(lh_identity_decode(lh_slice_of(pair->value, pair->value_size), &record));
    return record;
}

static int64_t quarantine_ms(const struct cluster *cluster)
{
    struct lh_timing timing = {lh_ms(cluster->settings.max_ttl_ms), cluster->settings.rate_ppm};
    return lh_floor_ms(lh_timing_quarantine(timing, timing.max_ttl));
}

// --- form ---

static struct lh_identity_record some_record(void)
{
    return (struct lh_identity_record){.node = 3,
                                       .cluster_id = "cluster",
                                       .directory = "directory",
                                       .generation = 2,
                                       .admitted = true,
                                       .start = 9,
                                       .reservation = LH_COUNTER_MAX,
                                       .ceiling = lh_ms(60000),
                                       .member_epoch = 4,
                                       .members_tag = 5,
                                       .max_ttl_ms = 60000,
                                       .rate_ppm = 10000};
}

static void test_the_stored_form(void **state)
{
    (void)state;
    uint8_t value[LH_VALUE_BYTES_MAX], again[LH_VALUE_BYTES_MAX];
    struct lh_identity_record record = some_record(), read;
    size_t size = lh_identity_encode(&record, value);
    assert_true(lh_identity_decode(lh_slice_of(value, size), &read));
    assert_int_equal(lh_identity_encode(&read, again), size);
    assert_memory_equal(value, again, size);
    for (size_t cut = 0; cut < size; cut++)
        assert_false(lh_identity_decode(lh_slice_of(value, cut), &read));
    assert_false(lh_identity_decode(lh_slice_of(value, size + 1), &read));
}

static void expect_refused_record(struct lh_identity_record record)
{
    uint8_t value[LH_VALUE_BYTES_MAX];
    struct lh_identity_record read;
    size_t size = lh_identity_encode(&record, value);
    assert_false(lh_identity_decode(lh_slice_of(value, size), &read));
}

static void test_impossible_records(void **state)
{
    (void)state;
    struct lh_identity_record record = some_record();
    record.node = 0;
    expect_refused_record(record);
    record = some_record();
    record.generation = 0;
    expect_refused_record(record);
    record = some_record();
    record.start = 0;
    expect_refused_record(record);
    record = some_record();
    record.reservation = LH_COUNTER_MAX + 1;
    expect_refused_record(record);
    record = some_record();
    record.ceiling.ns = -1;
    expect_refused_record(record);
    record = some_record();
    record.ceiling.ns = 2 * LH_TTL_MAX_MS * LH_NS_PER_MS + 1;
    expect_refused_record(record);
    uint8_t value[LH_VALUE_BYTES_MAX];
    struct lh_identity_record read;
    record = some_record();
    size_t size = lh_identity_encode(&record, value);
    value[0]++; // another version
    assert_false(lh_identity_decode(lh_slice_of(value, size), &read));
    value[0]--;
    value[35] = 2; // admitted: neither yes nor no
    assert_false(lh_identity_decode(lh_slice_of(value, size), &read));
}

// The two sets of witnesses, of the question and of the record, share more members than can lose
// their directories while the node itself has lost its own.
static void test_witnesses(void **state)
{
    (void)state;
    for (unsigned members = 3; members <= 7; members++) {
        unsigned others = members - 1, faults = (members - 1) / 2;
        unsigned witnesses = lh_identity_witnesses(members);
        assert_true(witnesses <= others);
        assert_true(2 * witnesses - others > faults - 1);
    }
    assert_int_equal(lh_identity_witnesses(1), 0);
}

// --- first start ---

static void test_new_clusters_serve_at_once(void **state)
{
    (void)state;
    for (unsigned nodes = 3; nodes <= 7; nodes++) {
        struct cluster *cluster = open_with(nodes, false, nodes % 2 == 0, nodes);
        assert_true(cluster_run_until_serving(cluster, 500));
        for (unsigned i = 0; i < nodes; i++) {
            assert_int_equal(cluster->processes[i].events[LH_EVENT_QUARANTINE], 0);
            assert_string_equal(cluster->processes[i].text[LH_EVENT_ADMITTED], "new");
            struct lh_identity_record record = stored(cluster, i);
            assert_true(record.admitted);
            assert_int_equal(record.generation, 1);
            assert_int_equal(record.start, 1);
        }
        acquire_at(cluster, nodes - 1);
        cluster_close(cluster);
    }
}

// A changed set of members, of which the new ones alone are a majority, knows nothing of what the
// old one granted.
static void test_new_members_of_a_changed_set_are_silent(void **state)
{
    (void)state;
    struct cluster *cluster = open_with(3, true, false, 1);
    for (unsigned i = 0; i < 3; i++)
        cluster->processes[i].config.member_epoch = 2;
    for (unsigned i = 0; i < 3; i++)
        assert_true(cluster_start(cluster, i));
    cluster_run(cluster, quarantine_ms(cluster) - 1);
    for (unsigned i = 0; i < 3; i++)
        assert_false(cluster_serving(cluster, i));
    assert_true(cluster_run_until_serving(cluster, 500));
    cluster_close(cluster);
}

// All directories were in memory and the power failed: what was granted before it ended at the
// latest a quarantine after the machines came up.
static void test_a_cluster_that_lost_all_is_silent_after_a_boot(void **state)
{
    (void)state;
    struct cluster *cluster = open_with(3, true, false, 1);
    const int64_t up = 500 * LH_NS_PER_MS;
    for (unsigned i = 0; i < 3; i++)
        cluster->processes[i].clock = (struct cluster_clock){.offset_ns = up - cluster->true_ns};
    for (unsigned i = 0; i < 3; i++)
        assert_true(cluster_start(cluster, i));
    const int64_t rest_ms = quarantine_ms(cluster) - 500;
    cluster_run(cluster, rest_ms - 1);
    for (unsigned i = 0; i < 3; i++)
        assert_false(cluster_serving(cluster, i));
    assert_true(cluster_run_until_serving(cluster, 500));
    cluster_close(cluster);
}

static void test_one_member_serves_its_quarantine(void **state)
{
    (void)state;
    struct cluster *cluster = open_with(1, false, false, 1);
    cluster_run(cluster, quarantine_ms(cluster) - 1);
    assert_false(cluster_serving(cluster, 0));
    assert_true(cluster_run_until_serving(cluster, 100));
    uint64_t token = acquire_at(cluster, 0);
    cluster_crash(cluster, 0, 0);
    assert_true(cluster_start(cluster, 0));
    cluster_run(cluster, quarantine_ms(cluster) - 1);
    assert_false(cluster_serving(cluster, 0));
    assert_true(acquire_at(cluster, 0) > token);
    cluster_close(cluster);
}

static void test_too_few_to_know_wait(void **state)
{
    (void)state;
    for (unsigned nodes = 3; nodes <= 7; nodes += 2) {
        struct cluster *cluster = open_with(nodes, true, false, 1);
        unsigned needed = lh_identity_witnesses(nodes) + 1;
        for (unsigned i = 0; i + 1 < needed; i++)
            assert_true(cluster_start(cluster, i));
        cluster_run(cluster, 10000);
        for (unsigned i = 0; i + 1 < needed; i++)
            assert_int_equal(lh_host_generation(cluster_host(cluster, i)), 0);
        unsigned client = cluster_connect(cluster, 0);
        cluster_call(cluster, client, "LEASE ACQUIRE x TIMEOUT 100ms");
        cluster_expect(cluster, client, "noquorum", NULL);
        assert_string_equal(cluster_text(cluster, client, "reason"),
                            "this node is not admitted yet: it waits for answers of other members");
        assert_true(cluster_start(cluster, needed - 1));
        assert_true(cluster_run_until_serving(cluster, 1000));
        acquire_at(cluster, 0);
        cluster_close(cluster);
    }
}

static void test_disk_that_does_not_write(void **state)
{
    (void)state;
    struct cluster *cluster = open_with(3, true, false, 1);
    cluster_stall_disk(cluster, 0, true);
    for (unsigned i = 0; i < 3; i++)
        assert_true(cluster_start(cluster, i));
    cluster_run(cluster, 5000);
    for (unsigned i = 0; i < 3; i++) // nobody can be recorded by both others
        assert_int_equal(lh_host_generation(cluster_host(cluster, i)), 0);
    cluster_stall_disk(cluster, 0, false);
    assert_true(cluster_run_until_serving(cluster, 1000));
    cluster_crash(cluster, 0, 0);
    cluster_stall_disk(cluster, 0, true);
    assert_true(cluster_start(cluster, 0)); // its start number is not durable: it says nothing
    cluster_run(cluster, 10000);
    assert_int_equal(lh_host_generation(cluster_host(cluster, 0)), 0);
    acquire_at(cluster, 1);
    cluster_close(cluster);
}

// Whatever is lost, repeated or late while everybody joins: they are new, and need no quarantine.
static void test_new_clusters_on_bad_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *cluster = open_with(seed % 2 == 0 ? 3 : 5, true, false, seed);
        cluster->loss_ppm = 200000;
        cluster->duplicate_ppm = 300000;
        cluster->late_ppm = 300000;
        for (unsigned i = 0; i < cluster->settings.nodes; i++)
            assert_true(cluster_start(cluster, i));
        assert_true(cluster_run_until_serving(cluster, 10000));
        for (unsigned i = 0; i < cluster->settings.nodes; i++)
            if (cluster->processes[i].events[LH_EVENT_QUARANTINE] > 0)
                cluster_break(cluster, "node %u is %s", i + 1,
                              cluster->processes[i].text[LH_EVENT_ADMITTED]);
        cluster_close(cluster);
    }
}

// --- restart ---

static void test_restarts_of_some(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 3; count++) {
        for (int64_t pause_ms = 0; pause_ms <= 4000; pause_ms += 800) {
            struct cluster *cluster = open_cluster(3);
            uint64_t token = acquire_at(cluster, 0);
            for (unsigned round = 0; round < 3; round++) {
                for (unsigned i = 0; i < count; i++)
                    cluster_crash(cluster, i, 0);
                cluster_run(cluster, pause_ms / 4);
                for (unsigned i = 0; i < count; i++)
                    assert_true(cluster_start(cluster, i));
                cluster_run(cluster, pause_ms); // again inside the quarantine, or behind it
            }
            uint64_t next = acquire_at(cluster, 2);
            assert_true(next > token);
            assert_true(cluster_run_until_serving(cluster, 3000));
            for (unsigned i = 0; i < 3; i++) {
                struct lh_identity_record record = stored(cluster, i);
                assert_int_equal(record.generation, 1);
                assert_in_range(record.start, 1, i < count ? 4 : 1);
                if (i < count && pause_ms > 0) // the start was durable before the next crash
                    assert_int_equal(record.start, 4);
            }
            cluster_close(cluster);
        }
    }
}

static void test_restart_is_silent_for_the_quarantine(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    acquire_at(cluster, 0);
    cluster_crash(cluster, 1, 0);
    assert_true(cluster_start(cluster, 1));
    int64_t began = cluster->true_ns;
    assert_true(cluster_run_until_serving(cluster, 5000));
    assert_in_range(cluster->true_ns - began, quarantine_ms(cluster) * LH_NS_PER_MS,
                    (quarantine_ms(cluster) + 2) * LH_NS_PER_MS);
    assert_string_equal(cluster->processes[1].text[LH_EVENT_ADMITTED], "restart");
    cluster_close(cluster);
}

// F5: the quarantine is what was promised, and what was promised was durable before the answer
// left.
static void test_quarantine_by_what_was_promised(void **state)
{
    (void)state;
    struct cluster *cluster = open_with(3, false, true, 1);
    assert_true(cluster_run_until_serving(cluster, 1000));
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 400ms");
    cluster_expect(cluster, client, "granted", NULL);
    cluster_crash(cluster, 1, 0);
    assert_true(stored(cluster, 1).ceiling.ns >= 400 * LH_NS_PER_MS);
    assert_true(stored(cluster, 1).ceiling.ns < 600 * LH_NS_PER_MS);
    assert_true(cluster_start(cluster, 1));
    int64_t began = cluster->true_ns;
    assert_true(cluster_run_until_serving(cluster, 5000));
    assert_in_range(cluster->true_ns - began, 400 * LH_NS_PER_MS, 600 * LH_NS_PER_MS);
    cluster_close(cluster);
}

static void test_answers_wait_for_the_ceiling(void **state)
{
    (void)state;
    struct cluster *cluster = open_with(3, false, true, 1);
    assert_true(cluster_run_until_serving(cluster, 1000));
    for (unsigned i = 0; i < 3; i++)
        cluster_stall_disk(cluster, i, true);
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 1s TIMEOUT 500ms");
    cluster_expect(cluster, client, "noquorum", NULL);
    for (unsigned i = 0; i < 3; i++)
        cluster_stall_disk(cluster, i, false);
    cluster_run(cluster, 100);
    cluster_call(cluster, client, "LEASE ACQUIRE y HOLDER me TTL 1s TIMEOUT 500ms");
    cluster_expect(cluster, client, "granted", NULL);
    unsigned long long token = (unsigned long long)cluster_integer(cluster, client, "token");
    for (unsigned i = 0; i < 3; i++)
        cluster_stall_disk(cluster, i, true);
    for (unsigned i = 0; i < 5; i++) { // no more than was promised before: no write in the way
        cluster_call(cluster, client, "LEASE RENEW y %llu me TTL 1s", token);
        cluster_expect(cluster, client, "granted", NULL);
        cluster_run(cluster, 500);
    }
    cluster_call(cluster, client, "LEASE RENEW y %llu me TTL 2s TIMEOUT 100ms", token);
    cluster_expect(cluster, client, "noquorum", NULL);
    cluster_close(cluster);
}

// F2, F1, F3 without F5: a disk that stands still for 5 s costs nobody a lease.
static void test_a_stalled_disk_loses_no_lease(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.max_ttl_ms = 2000;
    settings.idle_forget = settings.one_round_renewal = true;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 1000));
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 1s");
    unsigned long long token = (unsigned long long)cluster_integer(cluster, client, "token");
    for (unsigned i = 0; i < 3; i++)
        cluster_stall_disk(cluster, i, true);
    for (unsigned i = 0; i < 10; i++) {
        cluster_run(cluster, 500);
        cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 1s", token);
        cluster_expect(cluster, client, "granted", NULL);
        acquire_at(cluster, 1 + i % 2);
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 1s WAIT 5s");
        while (strcmp(cluster_status(cluster, client), "turn") == 0)
            cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 1s WAIT 5s");
        cluster_expect(cluster, client, "granted", NULL);
        token = (unsigned long long)cluster_integer(cluster, client, "token");
    }
    cluster_close(cluster);
}

// --- replacement ---

static void test_a_wiped_directory_is_a_replacement(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    uint64_t token = 0;
    for (unsigned generation = 2; generation < 6; generation++) {
        token = acquire_at(cluster, 0);
        cluster_crash(cluster, 1, 0);
        cluster_wipe(cluster, 1);
        uint64_t reservations[2] = {stored(cluster, 0).reservation, stored(cluster, 2).reservation};
        assert_true(cluster_start(cluster, 1));
        int64_t began = cluster->true_ns;
        assert_true(cluster_run_until_serving(cluster, 5000));
        assert_true(cluster->true_ns - began >= quarantine_ms(cluster) * LH_NS_PER_MS);
        assert_string_equal(cluster->processes[1].text[LH_EVENT_ADMITTED], "replacement");
        struct lh_identity_record record = stored(cluster, 1);
        assert_int_equal(record.generation, generation);
        const struct lh_machine *machine = &cluster_host(cluster, 1)->machine;
        for (unsigned i = 0; i < 2; i++)
            assert_true(lh_ballot_counter(machine->acceptors.floor) >= reservations[i]);
        uint64_t next = acquire_at(cluster, 1);
        assert_true(next > token);
        assert_int_equal(next >> 8 & 0xff, generation);
    }
    cluster_close(cluster);
}

static void test_two_of_five_are_wiped(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct cluster *cluster = open_with(5, false, false, seed);
        assert_true(cluster_run_until_serving(cluster, 1000));
        cluster_run(cluster, 500);
        uint64_t token = acquire_at(cluster, 3);
        cluster_crash(cluster, 3, 0);
        cluster_crash(cluster, 4, 0);
        cluster_wipe(cluster, 3);
        cluster_wipe(cluster, 4);
        cluster->loss_ppm = 100000;
        assert_true(cluster_start(cluster, 3));
        assert_true(cluster_start(cluster, 4));
        assert_true(cluster_run_until_serving(cluster, 8000));
        for (unsigned i = 3; i < 5; i++) {
            assert_string_equal(cluster->processes[i].text[LH_EVENT_ADMITTED], "replacement");
            assert_int_equal(stored(cluster, i).generation, 2);
        }
        assert_true(acquire_at(cluster, 4) > token);
        cluster_close(cluster);
    }
}

// A crash after any number of durable writes, of a new node and of a replacement: it comes back,
// with a higher generation wherever its last one was announced, and never serves twice under one.
static void crash_while_joining(bool replaced, unsigned writes, int64_t pause_us)
{
    struct cluster *cluster = open_with(3, true, false, writes + 1);
    if (replaced) {
        for (unsigned i = 0; i < 3; i++)
            assert_true(cluster_start(cluster, i));
        assert_true(cluster_run_until_serving(cluster, 1000));
        acquire_at(cluster, 0);
        cluster_crash(cluster, 0, 0);
        cluster_wipe(cluster, 0);
    } else {
        for (unsigned i = 1; i < 3; i++)
            assert_true(cluster_start(cluster, i));
    }
    for (unsigned round = 0; round < 3; round++) {
        assert_true(cluster_start(cluster, 0));
        int64_t limit = cluster->true_ns + pause_us * LH_NS_PER_US;
        while (cluster_step(cluster, limit))
            ;
        cluster_crash(cluster, 0, writes);
    }
    uint8_t before = stored(cluster, 0).admitted ? stored(cluster, 0).generation : 0;
    assert_true(cluster_start(cluster, 0));
    assert_true(cluster_run_until_serving(cluster, 9000));
    struct lh_identity_record record = stored(cluster, 0);
    assert_true(record.admitted);
    assert_true(record.generation >= before);
    if (replaced)
        assert_true(record.generation >= 2);
    for (unsigned i = 1; i < 3; i++) {
        const struct lh_peer *peer = lh_peers_find(cluster_host(cluster, i), 1);
        assert_int_equal(peer->generation, record.generation);
    }
    acquire_at(cluster, 0);
    cluster_close(cluster);
}

static void test_crashes_while_joining(void **state)
{
    (void)state;
    for (unsigned writes = 0; writes <= 2; writes++)
        for (int64_t pause_us = 0; pause_us <= 12000; pause_us += 1500) {
            crash_while_joining(false, writes, pause_us);
            crash_while_joining(true, writes, pause_us);
        }
}

// What a member records is lost on the way back, again and again.
static void test_lost_recorded(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    cluster_crash(cluster, 0, 0);
    cluster_wipe(cluster, 0);
    assert_true(cluster_start(cluster, 0));
    for (unsigned i = 0; cluster_identity(cluster, 0)->state != LH_IDENTITY_ANNOUNCING; i++)
        assert_true(i < 1000 && cluster_step(cluster, cluster->true_ns + LH_NS_PER_S));
    cluster->cut[1][0] = cluster->cut[2][0] = true;
    cluster_run(cluster, 3000);
    assert_int_equal(lh_host_generation(cluster_host(cluster, 0)), 0);
    cluster->cut[1][0] = cluster->cut[2][0] = false;
    assert_true(cluster_run_until_serving(cluster, 4000));
    assert_int_equal(stored(cluster, 0).generation, 2);
    cluster_close(cluster);
}

// Two replacements of one node at once: only one of them gets the generation.
static void test_two_announce_one_generation(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *cluster = open_with(3, false, false, seed);
        assert_true(cluster_run_until_serving(cluster, 1000));
        cluster_run(cluster, 1000);
        cluster_crash(cluster, 0, 0);
        cluster_wipe(cluster, 0);
        unsigned twin = cluster_add(cluster, 1);
        assert_true(cluster_start(cluster, 0));
        assert_true(cluster_start(cluster, twin));
        for (unsigned i = 0; i < 20; i++) {
            cluster_run(cluster, 500);
            uint8_t one = lh_host_generation(cluster_host(cluster, 0));
            uint8_t other = lh_host_generation(cluster_host(cluster, twin));
            assert_true(one == 0 || one != other);
        }
        acquire_at(cluster, 1);
        cluster_close(cluster);
    }
}

static void test_generations_end(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    cluster_crash(cluster, 0, 0);
    cluster_wipe(cluster, 0);
    for (unsigned i = 1; i < 3; i++)
        lh_peers_find(cluster_host(cluster, i), 1)->generation = UINT8_MAX;
    assert_true(cluster_start(cluster, 0));
    cluster_run(cluster, 1000);
    assert_non_null(lh_host_halted(cluster_host(cluster, 0)));
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x");
    assert_memory_equal(cluster_error(cluster, client), "NOTREADY", 8);
    cluster_close(cluster);
}

// --- directories that are not one's own ---

static bool halted_for(struct cluster *cluster, unsigned process, enum lh_refusal refusal)
{
    const char *text = cluster->processes[process].text[LH_EVENT_HALTED];
    return text != NULL && strcmp(text, lh_refusal_of_us_text(refusal)) == 0 &&
           lh_host_halted(cluster_host(cluster, process)) == text;
}

static void expect_unusable(struct cluster *cluster, unsigned process, const char *text)
{
    assert_false(cluster_start(cluster, process));
    if (strstr(cluster->processes[process].refused, text) == NULL)
        fail_msg("'%s' does not say '%s'", cluster->processes[process].refused, text);
}

static void test_directories_of_others(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    for (unsigned i = 0; i < 3; i++)
        cluster_crash(cluster, i, 0);
    struct cluster_disk disk = cluster->processes[0].disk;
    cluster_copy_disk(cluster, 1, 0);
    expect_unusable(cluster, 0, "belongs to another node");
    cluster->processes[0].disk = disk;
    cluster->processes[0].config.cluster_id[0]++;
    expect_unusable(cluster, 0, "belongs to another cluster");
    cluster->processes[0].config.cluster_id[0]--;
    cluster->processes[0].config.member_epoch++;
    expect_unusable(cluster, 0, "member-epoch");
    cluster->processes[0].config.member_epoch--;
    cluster->processes[0].config.members[2] = 9;
    expect_unusable(cluster, 0, "members");
    cluster->processes[0].config.members[2] = 3;
    cluster->processes[0].config.timing.max_ttl = lh_ms(3000);
    expect_unusable(cluster, 0, "max-ttl");
    cluster->processes[0].config.timing.max_ttl = lh_ms(2000);
    cluster->processes[0].config.timing.rate_ppm++;
    expect_unusable(cluster, 0, "rate-error");
    cluster->processes[0].config.timing.rate_ppm--;
    cluster_stored(cluster, 0, 'I')->value[0] = 9;
    expect_unusable(cluster, 0, "cannot be read");
    cluster->processes[0].disk = disk;
    cluster_stored(cluster, 0, 'P')->value[1] = 0;
    expect_unusable(cluster, 0, "another member");
    cluster->processes[0].disk = disk;
    assert_true(cluster_start(cluster, 0));
    cluster_close(cluster);
}

// A copy of the directory runs beside it. Whoever is told by anybody that it runs twice lets go:
// two members may each have believed another one of the two.
static void test_a_copy_runs_beside(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *cluster = open_with(3, false, false, seed);
        assert_true(cluster_run_until_serving(cluster, 1000));
        cluster_run(cluster, 1000);
        cluster_crash(cluster, 0, 0);
        unsigned copy = cluster_add(cluster, 1);
        cluster_copy_disk(cluster, 0, copy);
        // Each is heard first by another member.
        cluster_cut(cluster, 0, 2, true);
        cluster_cut(cluster, copy, 1, true);
        assert_true(cluster_start(cluster, 0));
        assert_true(cluster_start(cluster, copy));
        cluster_run(cluster, 500);
        cluster_cut(cluster, 0, 2, false);
        cluster_cut(cluster, copy, 1, false);
        cluster_run(cluster, 8000);
        unsigned one = cluster_connect(cluster, 0), other = cluster_connect(cluster, copy);
        cluster_call(cluster, one, "LEASE ACQUIRE x HOLDER a TTL 2s TIMEOUT 500ms");
        cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER b TTL 2s TIMEOUT 500ms");
        assert_false(strcmp(cluster_status(cluster, one), "granted") == 0 &&
                     strcmp(cluster_status(cluster, other), "granted") == 0);
        assert_true(halted_for(cluster, 0, LH_REFUSAL_TWICE) ||
                    halted_for(cluster, copy, LH_REFUSAL_TWICE));
        cluster_close(cluster);
    }
}

// An older copy of the directory is started while its successor runs.
static void test_an_older_copy(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned copy = cluster_add(cluster, 1);
    cluster_crash(cluster, 0, 0);
    cluster_copy_disk(cluster, 0, copy);
    for (unsigned i = 0; i < 3; i++) { // the original goes on for some starts
        assert_true(cluster_start(cluster, 0));
        cluster_run(cluster, 3000);
        if (i < 2)
            cluster_crash(cluster, 0, 0);
    }
    uint64_t token = acquire_at(cluster, 0);
    assert_true(cluster_start(cluster, copy));
    cluster_run(cluster, 5000);
    unsigned client = cluster_connect(cluster, copy);
    cluster_call(cluster, client, "LEASE ACQUIRE x TIMEOUT 500ms");
    assert_memory_equal(cluster_error(cluster, client), "NOTREADY", 8);
    assert_true(halted_for(cluster, copy, LH_REFUSAL_START));
    assert_null(lh_host_halted(cluster_host(cluster, 0)));
    assert_true(acquire_at(cluster, 0) > token);
    cluster_close(cluster);
}

static void test_an_older_generation(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned former = cluster_add(cluster, 1);
    cluster_crash(cluster, 0, 0);
    cluster_copy_disk(cluster, 0, former);
    cluster_wipe(cluster, 0);
    assert_true(cluster_start(cluster, 0));
    assert_true(cluster_run_until_serving(cluster, 5000));
    uint64_t token = acquire_at(cluster, 0);
    assert_true(cluster_start(cluster, former));
    cluster_run(cluster, 5000);
    unsigned client = cluster_connect(cluster, former);
    cluster_call(cluster, client, "LEASE ACQUIRE x TIMEOUT 500ms");
    assert_memory_equal(cluster_error(cluster, client), "NOTREADY", 8);
    assert_true(halted_for(cluster, former, LH_REFUSAL_GENERATION));
    assert_true(acquire_at(cluster, 0) > token);
    cluster_close(cluster);
}

// --- reservations ---

// Attempts across the edge of what is reserved, with and without a disk that writes.
static void test_the_edge_of_the_reservation(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    unsigned client = cluster_connect(cluster, 0);
    uint64_t edge = stored(cluster, 0).reservation;
    for (unsigned i = 0; i < 3; i++)
        cluster_stall_disk(cluster, i, true);
    cluster_host(cluster, 0)->machine.counter = edge - 3;
    for (unsigned i = 0; i < 3; i++) {
        cluster_call(cluster, client, "LEASE ACQUIRE a%u HOLDER me TIMEOUT 200ms TTL 50ms", i);
        cluster_expect(cluster, client, "granted", NULL);
    }
    cluster_call(cluster, client, "LEASE ACQUIRE b HOLDER me TIMEOUT 200ms TTL 50ms");
    cluster_expect(cluster, client, "noquorum", NULL);
    cluster_stall_disk(cluster, 0, false);
    cluster_call(cluster, client, "LEASE ACQUIRE c HOLDER me TIMEOUT 200ms TTL 50ms");
    cluster_expect(cluster, client, "noquorum", NULL); // others have reserved no more than before
    cluster_stall_disk(cluster, 1, false);
    cluster_run(cluster, 10);
    cluster_call(cluster, client, "LEASE ACQUIRE d HOLDER me TIMEOUT 200ms TTL 50ms");
    cluster_expect(cluster, client, "granted", NULL);
    assert_true(lh_ballot_counter((lh_ballot)cluster_integer(cluster, client, "token")) > edge);
    assert_true(stored(cluster, 0).reservation >= edge + LH_RESERVATION_BLOCK / 2);
    cluster_close(cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_stored_form),
        cmocka_unit_test(test_impossible_records),
        cmocka_unit_test(test_witnesses),
        cmocka_unit_test(test_new_clusters_serve_at_once),
        cmocka_unit_test(test_new_members_of_a_changed_set_are_silent),
        cmocka_unit_test(test_a_cluster_that_lost_all_is_silent_after_a_boot),
        cmocka_unit_test(test_one_member_serves_its_quarantine),
        cmocka_unit_test(test_too_few_to_know_wait),
        cmocka_unit_test(test_disk_that_does_not_write),
        cmocka_unit_test(test_new_clusters_on_bad_networks),
        cmocka_unit_test(test_restarts_of_some),
        cmocka_unit_test(test_restart_is_silent_for_the_quarantine),
        cmocka_unit_test(test_quarantine_by_what_was_promised),
        cmocka_unit_test(test_answers_wait_for_the_ceiling),
        cmocka_unit_test(test_a_stalled_disk_loses_no_lease),
        cmocka_unit_test(test_a_wiped_directory_is_a_replacement),
        cmocka_unit_test(test_two_of_five_are_wiped),
        cmocka_unit_test(test_crashes_while_joining),
        cmocka_unit_test(test_lost_recorded),
        cmocka_unit_test(test_two_announce_one_generation),
        cmocka_unit_test(test_generations_end),
        cmocka_unit_test(test_directories_of_others),
        cmocka_unit_test(test_a_copy_runs_beside),
        cmocka_unit_test(test_an_older_copy),
        cmocka_unit_test(test_an_older_generation),
        cmocka_unit_test(test_the_edge_of_the_reservation),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
