// The driver's turn, and every fixed capacity of driver, host and identity, each filled as far as
// clients, peers and disks can fill it.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cluster *open_cluster(unsigned nodes, uint32_t max_clients)
{
    struct cluster_settings settings = cluster_defaults();
    settings.nodes = nodes;
    settings.max_clients = max_clients;
    settings.max_leases = 512;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 1000));
    return cluster;
}

static void expect_status(struct cluster *cluster, unsigned client, const char *status)
{
    if (strcmp(cluster_status(cluster, client), status) != 0)
        fail_msg("client %u: '%s' (%s%s), not '%s'", client, cluster_status(cluster, client),
                 cluster_text(cluster, client, "reason"), cluster_error(cluster, client), status);
}

static uint64_t acquire(struct cluster *cluster, unsigned client, const char *name)
{
    cluster_call(cluster, client, "LEASE ACQUIRE %s HOLDER me TTL 5s", name);
    expect_status(cluster, client, "granted");
    return (uint64_t)cluster_integer(cluster, client, "token");
}

// --- clients ---

#define MANY 300

// One renewal answers all who ask for it, however many that are.
static void renew_from_many(unsigned at)
{
    struct cluster *cluster = open_cluster(3, MANY + 1);
    static unsigned clients[MANY];
    unsigned holder = cluster_connect(cluster, 0);
    uint64_t token = acquire(cluster, holder, "x");
    for (unsigned i = 0; i < MANY; i++)
        clients[i] = cluster_connect(cluster, at);
    for (unsigned i = 0; i < MANY; i++)
        cluster_command(cluster, clients[i], "LEASE RENEW x %llu me TTL 5s",
                        (unsigned long long)token);
    for (unsigned i = 0; i < MANY; i++) {
        assert_non_null(cluster_await(cluster, clients[i], 10000));
        if (at == 0)
            expect_status(cluster, clients[i], "granted");
    }
    cluster_close(cluster);
}

static void test_many_renew_at_the_owner(void **state)
{
    (void)state;
    renew_from_many(0);
}

static void test_many_renew_at_another_node(void **state)
{
    (void)state;
    renew_from_many(1);
}

// And one loss, too: nobody is left without an answer.
static void test_many_renewals_are_lost(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, MANY + 1);
    static unsigned clients[MANY];
    unsigned holder = cluster_connect(cluster, 0);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 1s");
    unsigned long long token = (unsigned long long)cluster_integer(cluster, holder, "token");
    cluster_isolate(cluster, 0, true);
    for (unsigned i = 0; i < MANY; i++) {
        clients[i] = cluster_connect(cluster, 0);
        cluster_command(cluster, clients[i], "LEASE RENEW x %llu me TTL 1s", token);
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_non_null(cluster_await(cluster, clients[i], 10000));
        expect_status(cluster, clients[i], "lost");
    }
    cluster_close(cluster);
}

// What one client sent ahead is gone on with although another client's command answered it.
static void test_pipelined_commands_go_on(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned waiter = cluster_connect(cluster, 0);
    unsigned long long token = (unsigned long long)acquire(cluster, holder, "x");
    cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER other WAIT 60s");
    cluster_command(cluster, waiter, "PING");
    cluster_run(cluster, 10);
    assert_int_equal(cluster->clients[waiter].replies, 0);
    // Three commands in one read: the second lets go, which gives the waiter its turn.
    cluster_cork(cluster, holder, true);
    cluster_command(cluster, holder, "PING");
    cluster_command(cluster, holder, "LEASE RELEASE x %llu me", token);
    cluster_command(cluster, holder, "PING");
    cluster_cork(cluster, holder, false);
    cluster_run(cluster, 200);
    assert_int_equal(cluster->clients[waiter].replies, 2);
    cluster_close(cluster);
}

// 64 clients are answered at once, and each has sent commands ahead that make the node ask itself
// hundreds of questions.
static void test_clients_do_not_fill_what_a_node_says_to_itself(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 128);
    static unsigned clients[64];
    static char ahead[4096];
    uint64_t token = acquire(cluster, cluster_connect(cluster, 0), "x");
    size_t used = 0;
    while (used < sizeof ahead - 200) {
        used += (size_t)snprintf(ahead + used, sizeof ahead - used, "SUBSCRIBE");
        for (unsigned i = 0; i < 16; i++)
            used += (size_t)snprintf(ahead + used, sizeof ahead - used, " lease:%c", 'a' + (char)i);
        used += (size_t)snprintf(ahead + used, sizeof ahead - used, "\r\nUNSUBSCRIBE\r\n");
    }
    for (unsigned i = 0; i < 64; i++) {
        char renewal[64];
        int size = snprintf(renewal, sizeof renewal, "LEASE RENEW x %llu me TTL 5s\r\n",
                            (unsigned long long)token);
        clients[i] = cluster_connect(cluster, 0);
        cluster_cork(cluster, clients[i], true);
        cluster_send_bytes(cluster, clients[i], renewal, (size_t)size);
        cluster_send_bytes(cluster, clients[i], ahead, used);
        cluster_cork(cluster, clients[i], false);
    }
    cluster_run(cluster, 100);
    assert_int_equal(lh_driver_counters(cluster->processes[0].driver)->self_full, 0);
    for (unsigned i = 0; i < 64; i++)
        assert_true(cluster->clients[clients[i]].open);
    unsigned other = cluster_connect(cluster, 0);
    cluster_call(cluster, other, "LEASE GET x");
    expect_status(cluster, other, "held");
    cluster_close(cluster);
}

// --- timers ---

#define LEASES 40

static bool accepts(struct cluster *cluster, void *context)
{
    const struct lh_machine *machine = &cluster_host(cluster, 0)->machine;
    (void)context;
    unsigned count = 0;
    for (unsigned i = 0; i < machine->used; i++)
        count += machine->leases[i].proposer.phase == LH_ACCEPTING;
    return count >= LEASES;
}

// With seven members every lease due asks seven: a step may not run out of room for what it sends.
static void test_everything_is_due_at_once(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(7, 256);
    static unsigned clients[LEASES * 3];
    static unsigned long long tokens[LEASES];
    for (unsigned i = 0; i < 3 * LEASES; i++)
        clients[i] = cluster_connect(cluster, 0);
    for (unsigned i = 0; i < LEASES; i++) {
        cluster_call(cluster, clients[i], "LEASE ACQUIRE a%u HOLDER me TTL 10s", i);
        tokens[i] = (unsigned long long)cluster_integer(cluster, clients[i], "token");
        for (unsigned node = 1; node < 7; node++)
            cluster_command(cluster, cluster_connect(cluster, node), "LEASE ACQUIRE a%u WAIT 60s",
                            i);
    }
    cluster_run(cluster, 2000);
    // Renewals whose Accepts are out, with a release behind each, and attempts for names nobody
    // has.
    for (unsigned i = 0; i < LEASES; i++)
        cluster_command(cluster, clients[i], "LEASE RENEW a%u %llu me TTL 10s", i, tokens[i]);
    assert_true(cluster_run_until(cluster, accepts, NULL, 10));
    cluster_isolate(cluster, 0, true);
    for (unsigned i = 0; i < LEASES; i++)
        cluster_command(cluster, clients[LEASES + i], "LEASE RELEASE a%u %llu me", i, tokens[i]);
    for (unsigned i = 0; i < LEASES; i++)
        cluster_command(cluster, clients[2 * LEASES + i], "LEASE ACQUIRE b%u TTL 10s TIMEOUT 20s",
                        i);
    cluster_run(cluster, 100);
    for (unsigned pause = 0; pause < 12; pause++) {
        cluster_stop(cluster, 0);
        cluster_run(cluster, 1500);
        cluster_continue(cluster, 0);
        cluster_run(cluster, 20);
    }
    cluster_isolate(cluster, 0, false);
    cluster_run(cluster, 20000);
    cluster_close(cluster);
}

// --- disks ---

static void inject_counter(struct cluster *cluster, uint64_t counter)
{
    uint8_t bytes[LH_HEADER_BYTES];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    struct lh_host *host = cluster_host(cluster, 0);
    lh_host_header(cluster_host(cluster, 1), 1, cluster_now(cluster, 1), &writer);
    struct lh_reader reader = lh_reader_of(lh_writer_slice(&writer));
    struct lh_header header;
    lh_header_read(&reader, &header);
    header.counter = counter;
    header.echo_boot = host->boot;
    writer = lh_writer_of(bytes, sizeof bytes);
    lh_header_write(&writer, &header);
    cluster_inject(cluster, 1, 2, 1, lh_writer_slice(&writer));
    cluster_run(cluster, 0);
}

// A peer whose counters run away while the disk writes nothing.
static void test_reservations_wait_for_a_disk(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    cluster_stall_disk(cluster, 0, true);
    uint64_t counter = 0;
    for (unsigned i = 0; i < 3 * LH_IDENTITY_WRITES_MAX && i < CLUSTER_WRITES_MAX - 8; i++)
        inject_counter(cluster, counter += LH_RESERVATION_BLOCK);
    cluster_stall_disk(cluster, 0, false);
    cluster_run(cluster, 5000);
    assert_int_equal(cluster->processes[0].write_count, 0);
    assert_true(cluster_host(cluster, 0)->machine.reserved >= counter);
    unsigned client = cluster_connect(cluster, 0);
    acquire(cluster, client, "x");
    cluster_close(cluster);
}

// The greatest counter there is: nothing wraps, and what is stored can be read again.
static void test_counters_end(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    inject_counter(cluster, LH_COUNTER_MAX - 2 * LH_RESERVATION_BLOCK);
    cluster_run(cluster, 100);
    inject_counter(cluster, LH_COUNTER_MAX);
    cluster_run(cluster, 100);
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x TIMEOUT 100ms");
    cluster_crash(cluster, 0, 0);
    assert_true(cluster_start(cluster, 0));
    cluster_run(cluster, 30000);
    client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "LEASE ACQUIRE x TIMEOUT 100ms");
    cluster_crash(cluster, 0, 0);
    assert_true(cluster_start(cluster, 0));
    cluster_close(cluster);
}

// --- the node's own messages ---

static void test_malformed_frames_are_counted(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    uint8_t bytes[LH_DATAGRAM_MAX];
    cluster_inject(cluster, 1, 2, 1, lh_slice_of(bytes, 0));
    memset(bytes, 0, sizeof bytes);
    cluster_inject(cluster, 1, 2, 1, lh_slice_of(bytes, LH_HEADER_BYTES - 1));
    cluster_run(cluster, 0);
    assert_int_equal(lh_driver_counters(cluster->processes[0].driver)->malformed, 2);
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    lh_host_header(cluster_host(cluster, 1), 1, cluster_now(cluster, 1), &writer);
    uint8_t cut_off[] = {LH_HOST_PING, 1, 0};
    lh_writer_bytes(&writer, cut_off, sizeof cut_off);
    cluster_inject(cluster, 1, 2, 1, lh_writer_slice(&writer));
    cluster_run(cluster, 0);
    assert_int_equal(lh_driver_counters(cluster->processes[0].driver)->malformed, 3);
    unsigned client = cluster_connect(cluster, 0);
    cluster_call(cluster, client, "CLUSTER STATUS");
    const struct lh_resp_value *counters = lh_resp_get(cluster_reply(cluster, client), "counters");
    assert_int_equal(lh_resp_get(counters, "datagrams-malformed")->integer, 3);
    cluster_close(cluster);
}

// Full datagrams leave before the turn ends, and none is longer than fits a frame.
static void test_datagrams_are_packed(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 256);
    static unsigned clients[200];
    for (unsigned i = 0; i < 200; i++)
        clients[i] = cluster_connect(cluster, 0);
    cluster->batch_ppm = 1000000;
    cluster_run(cluster, 100);
    uint64_t before = cluster->datagrams;
    for (unsigned i = 0; i < 200; i++)
        cluster_command(cluster, clients[i], "LEASE ACQUIRE a%u", i);
    for (unsigned i = 0; i < 200; i++) {
        assert_non_null(cluster_await(cluster, clients[i], 1000));
        expect_status(cluster, clients[i], "granted");
    }
    assert_in_range(cluster->datagrams - before, 1, 200);
    cluster_close(cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_renew_at_the_owner),
        cmocka_unit_test(test_many_renew_at_another_node),
        cmocka_unit_test(test_many_renewals_are_lost),
        cmocka_unit_test(test_pipelined_commands_go_on),
        cmocka_unit_test(test_clients_do_not_fill_what_a_node_says_to_itself),
        cmocka_unit_test(test_everything_is_due_at_once),
        cmocka_unit_test(test_reservations_wait_for_a_disk),
        cmocka_unit_test(test_counters_end),
        cmocka_unit_test(test_malformed_frames_are_counted),
        cmocka_unit_test(test_datagrams_are_packed),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
