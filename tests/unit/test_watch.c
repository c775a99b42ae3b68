// Subscriptions: the first message is the present state, messages are numbered, and every change of
// owner or state comes once, whoever watches from where and whatever is cut off meanwhile.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cluster *open_cluster(void)
{
    struct cluster_settings settings = cluster_defaults();
    settings.max_clients = 300;
    settings.jitter_ns = 0; // a question behind a Release stays behind it
    struct cluster *cluster = cluster_open(&settings);
    cluster_run(cluster, 1000);
    return cluster;
}

static unsigned watcher(struct cluster *cluster, unsigned process, const char *name)
{
    unsigned client = cluster_connect(cluster, process);
    cluster_call(cluster, client, "HELLO 3");
    cluster_command(cluster, client, "SUBSCRIBE lease:%s", name);
    cluster->clients[client].asked_count = 0; // its answers are pushes
    return client;
}

static const char *message(struct cluster *cluster, unsigned client, unsigned number)
{
    return cluster->clients[client].push[(number - 1) % CLUSTER_PUSHES_MAX];
}

static void expect_message(struct cluster *cluster, unsigned client, unsigned number,
                           const char *state, int64_t token)
{
    char quoted[64];
    if (cluster->clients[client].pushes != number)
        fail_msg("client %u has %u messages, not %u; the last: %s", client,
                 cluster->clients[client].pushes, number,
                 message(cluster, client, cluster->clients[client].pushes));
    const char *payload = message(cluster, client, number);
    snprintf(quoted, sizeof quoted, "\"state\":\"%s\"", state);
    if (strstr(payload, quoted) == NULL || cluster_push_integer(payload, "token") != token ||
        cluster_push_integer(payload, "seq") != (int64_t)number)
        fail_msg("message %u is %s, not '%s' of token %lld", number, payload, state,
                 (long long)token);
}

static void test_every_change_comes_once(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned watchers[3];
    for (unsigned i = 0; i < 3; i++)
        watchers[i] = watcher(cluster, i, "x");
    cluster_run(cluster, 10);
    for (unsigned i = 0; i < 3; i++)
        expect_message(cluster, watchers[i], 1, "free", 0);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned number = 1;
    for (unsigned round = 0; round < 5; round++) {
        cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 5s");
        int64_t token = cluster_integer(cluster, holder, "token");
        cluster_run(cluster, 600);
        number++;
        for (unsigned i = 0; i < 3; i++)
            expect_message(cluster, watchers[i], number, "held", token);
        for (unsigned i = 0; i < 3; i++) {
            cluster_call(cluster, holder, "LEASE RENEW x %lld me TTL 5s", (long long)token);
            cluster_run(cluster, 400);
        }
        for (unsigned i = 0; i < 3; i++)
            expect_message(cluster, watchers[i], number, "held", token);
        cluster_call(cluster, holder, "LEASE RELEASE x %lld me", (long long)token);
        cluster_run(cluster, 600);
        number++;
        for (unsigned i = 0; i < 3; i++)
            expect_message(cluster, watchers[i], number, "free", 0);
    }
    cluster_close(cluster);
}

static void test_what_happens_here_is_told_at_once(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = watcher(cluster, 0, "x");
    unsigned holder = cluster_connect(cluster, 0);
    cluster_run(cluster, 10);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 5s");
    int64_t token = cluster_integer(cluster, holder, "token");
    cluster_run(cluster, 10);
    expect_message(cluster, client, 2, "held", token);
    for (unsigned i = 0; i < 2; i++) { // once
        cluster_call(cluster, holder, "LEASE REVOKE x");
        cluster_run(cluster, 400);
        expect_message(cluster, client, 3, "held", token);
        assert_non_null(strstr(message(cluster, client, 3), "\"revoked\":true"));
    }
    cluster_call(cluster, holder, "LEASE RELEASE x %lld me", (long long)token);
    cluster_run(cluster, 10);
    expect_message(cluster, client, 4, "free", 0);
    assert_non_null(strstr(message(cluster, client, 4), "\"revoked\":false"));
    cluster_close(cluster);
}

// Cut off, it says "unknown", once, to those who ask then and to those who knew; and the truth as
// soon as it knows it.
static void test_first_message_while_cut_off(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned holder = cluster_connect(cluster, 1);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 10s");
    int64_t token = cluster_integer(cluster, holder, "token");
    unsigned early = watcher(cluster, 0, "x");
    cluster_run(cluster, 500);
    expect_message(cluster, early, 1, "held", token);
    cluster_isolate(cluster, 0, true);
    cluster_run(cluster, 500);
    unsigned late = watcher(cluster, 0, "x");
    cluster_run(cluster, 2500);
    expect_message(cluster, late, 1, "unknown", 0);
    expect_message(cluster, early, 2, "unknown", 0);
    cluster_isolate(cluster, 0, false);
    cluster_run(cluster, 2500);
    expect_message(cluster, early, 3, "held", token);
    expect_message(cluster, late, 2, "held", token);
    cluster_close(cluster);
}

// Who does not read holds nobody up: what it misses is counted, and it has the present state when it
// reads again.
static void test_a_watcher_that_does_not_read(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned slow = watcher(cluster, 0, "x");
    unsigned other = watcher(cluster, 0, "x");
    unsigned holder = cluster_connect(cluster, 0);
    int64_t token = 0;
    cluster_run(cluster, 600);
    expect_message(cluster, slow, 1, "free", 0);
    lh_host_backlog(cluster_host(cluster, 0), cluster->clients[slow].session, true);
    for (unsigned round = 0; round < 2; round++) {
        cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 5s");
        token = cluster_integer(cluster, holder, "token");
        cluster_run(cluster, 600);
        cluster_call(cluster, holder, "LEASE RELEASE x %lld me", (long long)token);
        cluster_run(cluster, 600);
    }
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 10s");
    token = cluster_integer(cluster, holder, "token");
    cluster_run(cluster, 600);
    expect_message(cluster, other, 6, "held", token);
    expect_message(cluster, slow, 1, "free", 0);
    assert_int_equal(cluster_host(cluster, 0)->sessions.left_out, 5);
    lh_host_backlog(cluster_host(cluster, 0), cluster->clients[slow].session, false);
    cluster_run(cluster, 600);
    const char *payload = message(cluster, slow, 2);
    assert_int_equal(cluster->clients[slow].pushes, 2);
    assert_int_equal(cluster_push_integer(payload, "seq"), 7);
    assert_int_equal(cluster_push_integer(payload, "token"), token);
    cluster_close(cluster);
}

// The owner is cut off when somebody begins to watch: who holds is told later, once.
static void test_first_message_without_the_owner(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned holder = cluster_connect(cluster, 1);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 10s");
    int64_t token = cluster_integer(cluster, holder, "token");
    unsigned early = watcher(cluster, 0, "x");
    cluster_run(cluster, 500);
    cluster_isolate(cluster, 1, true);
    unsigned late = watcher(cluster, 0, "x");
    cluster_run(cluster, 1000);
    expect_message(cluster, late, 1, "held", 0);
    cluster_isolate(cluster, 1, false);
    cluster_run(cluster, 1000);
    expect_message(cluster, early, 1, "held", token);
    expect_message(cluster, late, 2, "held", token);
    cluster_close(cluster);
}

static void test_many_watch_one_lease(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    static unsigned watchers[250];
    for (unsigned i = 0; i < 250; i++)
        watchers[i] = watcher(cluster, 0, "x");
    cluster_run(cluster, 3000);
    unsigned holder = cluster_connect(cluster, 1);
    cluster_call(cluster, holder, "LEASE ACQUIRE x HOLDER me TTL 10s");
    int64_t token = cluster_integer(cluster, holder, "token");
    cluster_run(cluster, 3000);
    for (unsigned i = 0; i < 250; i++)
        expect_message(cluster, watchers[i], 2, "held", token);
    for (unsigned i = 0; i < 250; i++)
        cluster_disconnect(cluster, watchers[i]);
    cluster_run(cluster, 100);
    assert_int_equal(cluster_host(cluster, 0)->machine.count, 0);
    cluster_close(cluster);
}

// A client may watch as many as it is allowed to; they are asked for in turns and none is left out.
static void test_many_leases_are_watched(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned clients[3], holder = cluster_connect(cluster, 1);
    for (unsigned i = 0; i < 3; i++) {
        clients[i] = cluster_connect(cluster, 0);
        cluster_call(cluster, clients[i], "HELLO 3");
        for (unsigned j = 0; j < 70; j++) {
            cluster_command(cluster, clients[i], "SUBSCRIBE lease:a%u", 70 * i + j);
            cluster->clients[clients[i]].asked_count = 0;
        }
    }
    cluster_run(cluster, 3000);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cluster->clients[clients[i]].pushes, 70);
    for (unsigned i = 0; i < 210; i++)
        cluster_call(cluster, holder, "LEASE ACQUIRE a%u HOLDER me TTL 10s", i);
    cluster_run(cluster, 3000);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cluster->clients[clients[i]].pushes, 140);
    cluster_close(cluster);
}

// All of them are told their first state and each change, and one UNSUBSCRIBE ends all.
static void test_a_thousand_on_one_connection(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.max_clients = 300;
    settings.max_leases = 2000;
    struct cluster *cluster = cluster_open(&settings);
    cluster_run(cluster, 1000);
    unsigned client = cluster_connect(cluster, 0), holder = cluster_connect(cluster, 1);
    struct cluster_client *watching = &cluster->clients[client];
    cluster_call(cluster, client, "HELLO 3");
    for (unsigned i = 0; i < 1024; i++) {
        cluster_command(cluster, client, "SUBSCRIBE lease:a%u", i);
        watching->asked_count = 0;
        if (i % 32 == 0)
            cluster_run(cluster, 10);
    }
    cluster_run(cluster, 3000);
    assert_int_equal(watching->pushes, 1024);
    for (unsigned i = 0; i < 1024; i++)
        cluster_call(cluster, holder, "LEASE ACQUIRE a%u HOLDER me TTL 10s", i);
    cluster_run(cluster, 3000);
    assert_int_equal(watching->pushes, 2048);
    cluster_command(cluster, client, "UNSUBSCRIBE");
    watching->asked_count = 0;
    cluster_run(cluster, 10);
    assert_int_equal(cluster_host(cluster, 0)->sessions.sessions[watching->session].watch_count, 0);
    cluster_call(cluster, client, "PING");
    cluster_close(cluster);
}

static void test_unsubscribed(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = watcher(cluster, 0, "x");
    cluster_run(cluster, 10);
    cluster_command(cluster, client, "SUBSCRIBE lease:x"); // again: its state comes again
    cluster->clients[client].asked_count = 0;
    cluster_run(cluster, 400);
    expect_message(cluster, client, 2, "free", 0);
    cluster_command(cluster, client, "UNSUBSCRIBE");
    cluster->clients[client].asked_count = 0;
    cluster_run(cluster, 10);
    cluster_call(cluster, cluster_connect(cluster, 0), "LEASE ACQUIRE x");
    cluster_run(cluster, 600);
    expect_message(cluster, client, 2, "free", 0);
    cluster_close(cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_change_comes_once),
        cmocka_unit_test(test_what_happens_here_is_told_at_once),
        cmocka_unit_test(test_first_message_while_cut_off),
        cmocka_unit_test(test_a_watcher_that_does_not_read),
        cmocka_unit_test(test_first_message_without_the_owner),
        cmocka_unit_test(test_many_watch_one_lease),
        cmocka_unit_test(test_many_leases_are_watched),
        cmocka_unit_test(test_a_thousand_on_one_connection),
        cmocka_unit_test(test_unsubscribed),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
