// Whom a node believes: every rule about a datagram's header on both sides of its edge, and whole
// clusters in which datagrams are repeated, come late, or come from other lives, other lists and
// looser clocks.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cluster *open_cluster(unsigned nodes)
{
    struct cluster_settings settings = cluster_defaults();
    settings.nodes = nodes;
    settings.max_ttl_ms = 2000;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 3000));
    cluster_run(cluster, 1500);
    return cluster;
}

static struct lh_peer *peer_of(struct cluster *cluster, unsigned process, uint8_t node)
{
    return lh_peers_find(cluster_host(cluster, process), node);
}

static uint64_t acquire_at(struct cluster *cluster, unsigned process)
{
    unsigned client = cluster_connect(cluster, process);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER p%u TTL 500ms WAIT 20s", process);
    while (strcmp(cluster_status(cluster, client), "turn") == 0)
        cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER p%u TTL 500ms WAIT 20s", process);
    assert_string_equal(cluster_status(cluster, client), "granted");
    uint64_t token = (uint64_t)cluster_integer(cluster, client, "token");
    cluster_disconnect(cluster, client);
    return token;
}

// --- the judge ---

static struct lh_header good_header(struct cluster *cluster)
{
    const struct lh_peer *peer = peer_of(cluster, 0, 2);
    const struct lh_host *host = cluster_host(cluster, 0);
    return (struct lh_header){.member_epoch = 1,
                              .members_tag = host->peers.members_tag,
                              .start = peer->start,
                              .boot = peer->boot,
                              .echo_boot = host->boot,
                              .max_ttl_ms = 2000,
                              .rate_ppm = 10000};
}

static void expect(struct cluster *cluster, struct lh_header header, uint8_t generation,
                   enum lh_judgement judgement, enum lh_refusal refusal)
{
    enum lh_refusal found = LH_REFUSAL_NONE;
    assert_int_equal(lh_peers_judge(cluster_host(cluster, 0), peer_of(cluster, 0, 2), generation,
                                    &header, &found),
                     judgement);
    assert_int_equal(found, refusal);
}

static void test_the_judge(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    struct lh_header header = good_header(cluster);
    const enum lh_judgement refused = LH_JUDGED_REFUSED, believed = LH_JUDGED_BELIEVED;
    expect(cluster, header, 1, believed, LH_REFUSAL_NONE);
    expect(cluster, header, 0, LH_JUDGED_JOINING, LH_REFUSAL_NONE);
    expect(cluster, header, 2, believed, LH_REFUSAL_NONE);
    header.member_epoch++;
    expect(cluster, header, 1, refused, LH_REFUSAL_EPOCH);
    expect(cluster, header, 0, refused, LH_REFUSAL_EPOCH);
    header = good_header(cluster);
    header.members_tag++;
    expect(cluster, header, 1, refused, LH_REFUSAL_MEMBERS);
    header = good_header(cluster);
    header.max_ttl_ms++;
    expect(cluster, header, 1, refused, LH_REFUSAL_TIMING);
    header.max_ttl_ms -= 2; // tighter
    expect(cluster, header, 1, believed, LH_REFUSAL_NONE);
    header = good_header(cluster);
    header.rate_ppm--;
    expect(cluster, header, 1, refused, LH_REFUSAL_TIMING);
    header.rate_ppm += 2;
    expect(cluster, header, 1, believed, LH_REFUSAL_NONE);
    header = good_header(cluster);
    header.echo_boot++;
    expect(cluster, header, 1, LH_JUDGED_STALE, LH_REFUSAL_NONE);
    header = good_header(cluster);
    header.boot++;
    expect(cluster, header, 1, refused, LH_REFUSAL_TWICE);
    header.start++;
    expect(cluster, header, 1, believed, LH_REFUSAL_NONE);
    header = good_header(cluster);
    header.start--;
    expect(cluster, header, 1, refused, LH_REFUSAL_START);
    expect(cluster, header, 2, believed, LH_REFUSAL_NONE); // another directory counts anew
    peer_of(cluster, 0, 2)->generation = 2;
    header = good_header(cluster);
    expect(cluster, header, 1, refused, LH_REFUSAL_GENERATION);
    cluster_close(cluster);
}

static void test_stored_peers(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    struct lh_host *host = cluster_host(cluster, 0);
    uint8_t key[2] = {'P', 2}, value[19] = {1, 7};
    assert_true(lh_peers_load(host, lh_slice_of(key, 2), lh_slice_of(value, 18)));
    assert_int_equal(peer_of(cluster, 0, 2)->generation, 7);
    assert_false(lh_peers_load(host, lh_slice_of(key, 1), lh_slice_of(value, 18)));
    assert_false(lh_peers_load(host, lh_slice_of(key, 2), lh_slice_of(value, 17)));
    assert_false(lh_peers_load(host, lh_slice_of(key, 2), lh_slice_of(value, 19)));
    key[1] = 200; // a member of former days
    assert_true(lh_peers_load(host, lh_slice_of(key, 2), lh_slice_of(value, 18)));
    value[0] = 2;
    assert_false(lh_peers_load(host, lh_slice_of(key, 2), lh_slice_of(value, 18)));
    value[0] = 1, value[1] = 0;
    assert_false(lh_peers_load(host, lh_slice_of(key, 2), lh_slice_of(value, 18)));
    cluster_close(cluster);
}

static void test_texts_of_refusals(void **state)
{
    (void)state;
    for (int refusal = 0; refusal <= LH_REFUSAL_COUNT; refusal++)
        assert_non_null(strstr(lh_refusal_of_us_text((enum lh_refusal)refusal),
                               lh_refusal_text((enum lh_refusal)refusal)));
    const uint8_t one[] = {1, 2, 3}, other[] = {1, 2, 4};
    assert_true(lh_peers_tag(one, 3) != lh_peers_tag(other, 3));
    assert_true(lh_peers_tag(one, 3) != lh_peers_tag(one, 2));
}

// --- up and down ---

static void test_up_and_down(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cluster->processes[i].events[LH_EVENT_PEER_UP], 2);
    cluster_crash(cluster, 2, 0);
    cluster_run(cluster, 5100);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cluster->processes[i].events[LH_EVENT_PEER_DOWN], 1);
        assert_false(peer_of(cluster, i, 3)->up);
    }
    assert_true(cluster_start(cluster, 2));
    cluster_run(cluster, 200);
    for (unsigned i = 0; i < 2; i++)
        assert_true(peer_of(cluster, i, 3)->up);
    uint64_t datagrams = cluster->datagrams;
    cluster_run(cluster, 10000);
    assert_in_range(cluster->datagrams - datagrams, 50, 70); // six pings a second, and no more
    assert_in_range(peer_of(cluster, 0, 2)->round_trip.ns, 90 * LH_NS_PER_US, 140 * LH_NS_PER_US);
    cluster_close(cluster);
}

// --- datagrams again ---

// Everything that was ever sent comes once more, in any order, in the same lives: a redelivery,
// which changes nothing.
static void test_replays_of_the_same_boot(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    cluster->taping = true;
    uint64_t token = acquire_at(cluster, 0);
    cluster_run(cluster, 600);
    for (unsigned round = 0; round < 6; round++)
        token = acquire_at(cluster, round % 3);
    cluster->taping = false;
    unsigned client = cluster_connect(cluster, 0);
    cluster_run(cluster, 600);
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 2s");
    unsigned long long present = (unsigned long long)cluster_integer(cluster, client, "token");
    assert_true(present > token);
    for (unsigned round = 0; round < 2000; round++) {
        cluster_replay(cluster,
                       &cluster->tapes[lh_prng_below(&cluster->prng, cluster->tape_count)]);
        cluster_run(cluster, 1);
        if (round % 100 == 0) {
            cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 2s", present);
            assert_string_equal(cluster_status(cluster, client), "granted");
        }
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cluster->processes[i].events[LH_EVENT_PEER_REFUSED], 0);
    cluster_close(cluster);
}

// .. and in later lives: dropped and counted, whoever it was that started again.
static void test_replays_of_older_boots(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    cluster->taping = true;
    for (unsigned round = 0; round < 6; round++)
        acquire_at(cluster, round % 3);
    cluster->taping = false;
    cluster_crash(cluster, 0, 0);
    assert_true(cluster_start(cluster, 0));
    cluster_run(cluster, 4000);
    uint64_t ups[3];
    for (unsigned i = 0; i < 3; i++)
        ups[i] = cluster->processes[i].events[LH_EVENT_PEER_UP];
    const struct lh_machine *machine = &cluster_host(cluster, 0)->machine;
    uint64_t count = machine->acceptors.count;
    for (unsigned i = 0; i < cluster->tape_count; i++) {
        const struct cluster_tape *tape = &cluster->tapes[i];
        if (tape->from != 0 && tape->to != 1)
            continue;
        unsigned to = tape->to - 1u;
        uint8_t from = (uint8_t)(tape->from + 1);
        uint64_t before =
            peer_of(cluster, to, from)->stale_count + peer_of(cluster, to, from)->refused_count;
        cluster_replay(cluster, tape);
        cluster_run(cluster, 0);
        assert_true(peer_of(cluster, to, from)->stale_count +
                        peer_of(cluster, to, from)->refused_count ==
                    before + 1);
        cluster_run(cluster, 1);
    }
    assert_int_equal(machine->acceptors.count, count);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(cluster->processes[i].events[LH_EVENT_PEER_UP], ups[i]);
        assert_null(lh_host_halted(cluster_host(cluster, i)));
        for (uint8_t node = 1; node <= 3; node++)
            assert_true(node == i + 1 || peer_of(cluster, i, node)->up);
    }
    acquire_at(cluster, 0);
    cluster_close(cluster);
}

// What a node said while it was joining, in its first life: nobody takes it for that life again.
static void test_replays_of_joining(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.dormant = true;
    settings.max_ttl_ms = 2000;
    struct cluster *cluster = cluster_open(&settings);
    cluster->taping = true;
    for (unsigned i = 0; i < 3; i++)
        assert_true(cluster_start(cluster, i));
    assert_true(cluster_run_until_serving(cluster, 1000));
    cluster->taping = false;
    cluster_run(cluster, 1500);
    cluster_crash(cluster, 0, 0);
    assert_true(cluster_start(cluster, 0));
    cluster_run(cluster, 4000);
    uint64_t boots[3] = {0, peer_of(cluster, 1, 1)->boot, peer_of(cluster, 2, 1)->boot};
    uint64_t starts[3] = {0, peer_of(cluster, 1, 1)->start, peer_of(cluster, 2, 1)->start};
    for (unsigned i = 0; i < cluster->tape_count; i++) {
        const struct cluster_tape *tape = &cluster->tapes[i];
        if (tape->from != 0 || tape->generation != 0)
            continue;
        cluster_replay(cluster, tape);
        cluster_run(cluster, 0);
        unsigned to = tape->to - 1u;
        assert_true(peer_of(cluster, to, 1)->boot == boots[to]);
        assert_true(peer_of(cluster, to, 1)->start == starts[to]);
        assert_true(peer_of(cluster, to, 1)->up);
    }
    cluster_close(cluster);
}

// --- other configurations ---

static void other_timing(int64_t ttl_ms, uint32_t rate_ppm, bool theirs_is_looser)
{
    struct cluster_settings settings = cluster_defaults();
    settings.max_ttl_ms = 2000;
    settings.dormant = true;
    struct cluster *cluster = cluster_open(&settings);
    cluster->processes[0].config.timing = (struct lh_timing){lh_ms(ttl_ms), rate_ppm};
    for (unsigned i = 0; i < 3; i++)
        assert_true(cluster_start(cluster, i));
    cluster_run(cluster, 10000);
    const char *text = lh_refusal_text(LH_REFUSAL_TIMING);
    unsigned refuser = theirs_is_looser ? 1 : 0, refused = theirs_is_looser ? 0 : 1;
    assert_string_equal(cluster->processes[refuser].text[LH_EVENT_PEER_REFUSED], text);
    assert_string_equal(cluster->processes[refused].text[LH_EVENT_REFUSED],
                        lh_refusal_of_us_text(LH_REFUSAL_TIMING));
    for (unsigned i = 0; i < 3; i++) {
        unsigned client = cluster_connect(cluster, i);
        cluster_call(cluster, client, "LEASE ACQUIRE x TTL 100ms TIMEOUT 100ms");
        assert_string_equal(cluster_status(cluster, client), "noquorum");
    }
    cluster_close(cluster);
}

static void test_looser_timing(void **state)
{
    (void)state;
    other_timing(3000, 10000, true);
    other_timing(2000, 9999, true);
    other_timing(1999, 10000, false);
    other_timing(2000, 10001, false);
}

// One member with another configuration in a cluster that runs: the others go on without it.
static void test_one_of_another_epoch_or_list(void **state)
{
    (void)state;
    for (unsigned what = 0; what < 2; what++) {
        struct cluster *cluster = open_cluster(3);
        uint64_t token = acquire_at(cluster, 2);
        cluster_crash(cluster, 0, 0);
        cluster_wipe(cluster, 0);
        if (what == 0)
            cluster->processes[0].config.member_epoch = 2;
        else
            cluster->processes[0].config.members[2] = 4;
        assert_true(cluster_start(cluster, 0));
        cluster_run(cluster, 10000);
        assert_int_equal(lh_host_generation(cluster_host(cluster, 0)), 0);
        assert_string_equal(cluster->processes[1].text[LH_EVENT_PEER_REFUSED],
                            lh_refusal_text(what == 0 ? LH_REFUSAL_EPOCH : LH_REFUSAL_MEMBERS));
        assert_true(acquire_at(cluster, 1) > token);
        // Refusals are told now and then, not for every datagram.
        assert_in_range(cluster->processes[1].events[LH_EVENT_PEER_REFUSED], 1, 2);
        cluster_close(cluster);
    }
}

static void test_strangers(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3);
    uint8_t bytes[LH_HEADER_BYTES];
    struct lh_header header = good_header(cluster);
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    lh_header_write(&writer, &header);
    cluster_inject(cluster, 1, 9, 1, lh_writer_slice(&writer));
    cluster_inject(cluster, 1, 1, 1, lh_writer_slice(&writer)); // it never speaks to itself
    cluster_inject(cluster, 1, 0, 1, lh_writer_slice(&writer));
    cluster_run(cluster, 10);
    assert_int_equal(cluster->processes[0].events[LH_EVENT_PEER_UP], 2);
    acquire_at(cluster, 0);
    cluster_close(cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_judge),
        cmocka_unit_test(test_stored_peers),
        cmocka_unit_test(test_texts_of_refusals),
        cmocka_unit_test(test_up_and_down),
        cmocka_unit_test(test_replays_of_the_same_boot),
        cmocka_unit_test(test_replays_of_older_boots),
        cmocka_unit_test(test_replays_of_joining),
        cmocka_unit_test(test_looser_timing),
        cmocka_unit_test(test_one_of_another_epoch_or_list),
        cmocka_unit_test(test_strangers),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
