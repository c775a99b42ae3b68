// Release on disconnect: a lease ends with the connection that it was granted on, if its holder
// asked for that, the holder is known to have ended, and nobody was told meanwhile that he has it.
#include "host_fixture.h"
#include "lone_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_status(struct cluster *cluster, unsigned client, const char *status)
{
    if (strcmp(cluster_status(cluster, client), status) != 0)
        fail_msg("client %u: '%s' (%s%s), not '%s'", client, cluster_status(cluster, client),
                 cluster_text(cluster, client, "reason"), cluster_error(cluster, client), status);
}

static struct cluster *open_cluster(void)
{
    struct cluster_settings settings = cluster_defaults();
    settings.max_leases = 1000;
    struct cluster *cluster = cluster_open(&settings);
    cluster_run(cluster, 1000);
    return cluster;
}

static int64_t acquire(struct cluster *cluster, unsigned client, const char *more)
{
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 8s %s", more);
    expect_status(cluster, client, "granted");
    return cluster_integer(cluster, client, "token");
}

static void expect_x(struct cluster *cluster, const char *status)
{
    unsigned client = cluster_connect(cluster, 2);
    cluster_call(cluster, client, "LEASE GET x");
    expect_status(cluster, client, status);
    cluster_disconnect(cluster, client);
}

static void test_ends_with_its_client(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = cluster_connect(cluster, 0);
    acquire(cluster, client, "ON-DISCONNECT release");
    cluster_run(cluster, 1000);
    expect_x(cluster, "held");
    cluster_end_client(cluster, client);
    cluster_run(cluster, 10);
    expect_x(cluster, "free");
    cluster_close(cluster);
}

static void test_stays_unless_its_client_is_known_to_have_ended(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = cluster_connect(cluster, 0);
    acquire(cluster, client, "ON-DISCONNECT release");
    cluster_disconnect(cluster, client);
    cluster_run(cluster, 5000);
    expect_x(cluster, "held");
    cluster_run(cluster, 4000);
    expect_x(cluster, "free");
    cluster_close(cluster);
}

static void test_stays_unless_it_was_asked_for(void **state)
{
    (void)state;
    static const char *const options[] = {"", "ON-DISCONNECT keep"};
    struct cluster *cluster = open_cluster();
    for (unsigned i = 0; i < 2; i++) {
        unsigned client = cluster_connect(cluster, 0);
        int64_t token = acquire(cluster, client, options[i]);
        cluster_end_client(cluster, client);
        cluster_run(cluster, 1000);
        expect_x(cluster, "held");
        client = cluster_connect(cluster, 0);
        cluster_call(cluster, client, "LEASE RELEASE x %lld me", (long long)token);
    }
    cluster_close(cluster);
}

// Whoever is told on another connection that the lease is his may believe after the first is dead.
static void test_another_connection_takes_the_bond_away(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct cluster *cluster = open_cluster();
        unsigned first = cluster_connect(cluster, 0);
        unsigned other = cluster_connect(cluster, how == 2 ? 1 : 0);
        int64_t token = acquire(cluster, first, "ON-DISCONNECT release");
        if (how == 0)
            acquire(cluster, other, "");
        else if (how == 3)
            acquire(cluster, first, ""); // the same one, which thought better of it
        else
            cluster_call(cluster, other, "LEASE RENEW x %lld me TTL 8s", (long long)token);
        cluster_end_client(cluster, first);
        cluster_run(cluster, 1000);
        expect_x(cluster, "held");
        cluster_close(cluster);
    }
}

// Nor can it be had back: two were told, and nobody knows which of them lives longer.
static void test_a_shared_lease_is_never_bound(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct cluster *cluster = open_cluster();
        unsigned clients[2] = {cluster_connect(cluster, 0), cluster_connect(cluster, 0)};
        acquire(cluster, clients[0], "ON-DISCONNECT release");
        acquire(cluster, clients[1], "ON-DISCONNECT release");
        acquire(cluster, clients[0], "ON-DISCONNECT release");
        cluster_end_client(cluster, clients[i]);
        cluster_run(cluster, 1000);
        expect_x(cluster, "held");
        cluster_close(cluster);
    }
}

static void test_renewals_on_its_own_connection_keep_the_bond(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = cluster_connect(cluster, 0);
    int64_t token = acquire(cluster, client, "ON-DISCONNECT release");
    for (unsigned i = 0; i < 3; i++) {
        cluster_run(cluster, 2000);
        cluster_call(cluster, client, "LEASE RENEW x %lld me TTL 8s", (long long)token);
        expect_status(cluster, client, "granted");
    }
    cluster_end_client(cluster, client);
    cluster_run(cluster, 10);
    expect_x(cluster, "free");
    cluster_close(cluster);
}

static bool is_past(struct cluster *cluster, void *limit_ns)
{
    return cluster->true_ns >= *(const int64_t *)limit_ns;
}

// The Accepts of a renewal may be out: their outcome comes first, whatever it is.
static void test_ends_in_the_middle_of_a_renewal(void **state)
{
    (void)state;
    for (int64_t after_us = 0; after_us <= 400; after_us += 20) {
        struct cluster *cluster = open_cluster();
        unsigned client = cluster_connect(cluster, 0);
        int64_t token = acquire(cluster, client, "ON-DISCONNECT release");
        cluster_command(cluster, client, "LEASE RENEW x %lld me TTL 9s", (long long)token);
        int64_t limit_ns = cluster->true_ns + after_us * 1000;
        cluster_run_until(cluster, is_past, &limit_ns, 1);
        cluster_end_client(cluster, client);
        cluster_run(cluster, 500);
        expect_x(cluster, "free");
        cluster_close(cluster);
    }
}

static void test_a_waiter_follows_at_once(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = cluster_connect(cluster, 0);
    unsigned waiter = cluster_connect(cluster, 0);
    acquire(cluster, client, "ON-DISCONNECT release");
    cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER next TTL 5s WAIT 60s");
    cluster_run(cluster, 1000);
    cluster_end_client(cluster, client);
    cluster_run(cluster, 100);
    expect_status(cluster, waiter, "turn");
    cluster_close(cluster);
}

static void test_many_end_with_one_client(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster();
    unsigned client = cluster_connect(cluster, 0);
    for (unsigned i = 0; i < 400; i++) {
        cluster_call(cluster, client, "LEASE ACQUIRE a%u HOLDER me TTL 9s ON-DISCONNECT release",
                     i);
        expect_status(cluster, client, "granted");
    }
    int64_t token = cluster_integer(cluster, client, "token");
    cluster_call(cluster, client, "LEASE RELEASE a399 %lld me", (long long)token);
    cluster_end_client(cluster, client);
    cluster_run(cluster, 1000);
    unsigned other = cluster_connect(cluster, 1);
    for (unsigned i = 0; i < 400; i++) {
        cluster_call(cluster, other, "LEASE ACQUIRE a%u HOLDER you TTL 1s", i);
        expect_status(cluster, other, "granted");
    }
    cluster_close(cluster);
}

// --- how many end at once ---

#define BOUND_AT_ONCE 16 // that one timer step lets go

static struct lone_host *open_lone(void)
{
    struct lone_host *lone = lone_host_open(lh_ms(60000));
    for (unsigned client = 0; client < 3; client++)
        lone_connect(lone, client);
    return lone;
}

static void bind_many(struct lone_host *lone, unsigned client, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        assert_non_null(
            strstr(lone_tell(lone, client,
                             "LEASE ACQUIRE a%u TTL 30s HOLDER me ON-DISCONNECT release\r\n", i),
                   "granted"));
}

static void end(struct lone_host *lone, unsigned client, bool ended)
{
    lone_input(lone,
               (struct lh_host_input){.kind = LH_INPUT_CLOSE, .session = client, .ended = ended});
    lone->clients[client].open = false;
}

static void timer_step(struct lone_host *lone)
{
    lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_TIMER});
    lone_settle(lone);
}

static bool is_due(const struct lone_host *lone)
{
    return !lh_before(lone->now, lh_host_deadline(lone->host));
}

static void expect_lone(struct lone_host *lone, const char *name, const char *status)
{
    const char *answer = lone_tell(lone, 2, "LEASE GET %s\r\n", name);
    if (strstr(answer, status) == NULL)
        fail_msg("%s is not %s: %s", name, status, answer);
}

// The end itself does not walk through them, each step lets a few go, and what is left is held.
static void test_a_step_lets_only_so_many_go(void **state)
{
    (void)state;
    for (unsigned more = 0; more <= 1; more++) {
        struct lone_host *lone = open_lone();
        bind_many(lone, 0, 0, BOUND_AT_ONCE + more);
        end(lone, 0, true);
        assert_int_equal(lone->host->machine.held, BOUND_AT_ONCE + more);
        assert_true(is_due(lone));
        timer_step(lone);
        assert_int_equal(lone->host->machine.held, more);
        assert_int_equal(is_due(lone), more > 0);
        if (more > 0) {
            expect_lone(lone, "a16", "held");
            timer_step(lone);
            assert_int_equal(lone->host->machine.held, 0);
            assert_false(is_due(lone));
        }
        lone_host_close(lone);
    }
}

// The number of the connection is another's before they are all let go.
static void test_the_next_connection_has_no_part_in_it(void **state)
{
    (void)state;
    for (unsigned ended = 0; ended <= 1; ended++) {
        struct lone_host *lone = open_lone();
        bind_many(lone, 0, 0, BOUND_AT_ONCE + 2);
        end(lone, 0, true);
        lone_connect(lone, 0);
        bind_many(lone, 0, 50, 2);
        timer_step(lone);
        assert_int_equal(lone->host->machine.held, 4);
        end(lone, 0, ended);
        lone_advance(lone, 1);
        assert_int_equal(lone->host->machine.held, ended ? 0 : 2);
        expect_lone(lone, "a51", ended ? "free" : "held");
        lone_host_close(lone);
    }
}

// A client that may live keeps its leases, whatever happens to who has its number next.
static void test_leases_of_a_client_that_may_live_belong_to_no_connection(void **state)
{
    (void)state;
    struct lone_host *lone = open_lone();
    bind_many(lone, 0, 0, 3);
    end(lone, 0, false);
    assert_false(is_due(lone));
    lone_connect(lone, 0);
    bind_many(lone, 0, 50, 3);
    // The first, the middle and the last of what one connection had and of what the other has.
    assert_non_null(
        strstr(lone_tell(lone, 1, "LEASE ACQUIRE a0 TTL 30s HOLDER me\r\n"), "granted"));
    assert_non_null(
        strstr(lone_tell(lone, 1, "LEASE ACQUIRE a50 TTL 30s HOLDER me\r\n"), "granted"));
    end(lone, 0, true);
    lone_advance(lone, 1);
    static const char *const held[] = {"a0", "a1", "a2", "a50"};
    for (unsigned i = 0; i < 4; i++)
        expect_lone(lone, held[i], "held");
    expect_lone(lone, "a51", "free");
    expect_lone(lone, "a52", "free");
    lone_advance(lone, 30000);
    assert_int_equal(lone->host->machine.held, 0);
    lone_host_close(lone);
}

// Who is told so before it is let go may believe.
static void test_an_orphan_that_is_granted_again_stays(void **state)
{
    (void)state;
    static const unsigned again[] = {0, 5, BOUND_AT_ONCE + 1};
    for (unsigned i = 0; i < 3; i++) {
        struct lone_host *lone = open_lone();
        bind_many(lone, 0, 0, BOUND_AT_ONCE);
        bind_many(lone, 1, BOUND_AT_ONCE, 2);
        end(lone, 0, true);
        end(lone, 1, true);
        assert_non_null(strstr(
            lone_tell(lone, 2, "LEASE ACQUIRE a%u TTL 30s HOLDER me\r\n", again[i]), "granted"));
        lone_advance(lone, 1);
        assert_int_equal(lone->host->machine.held, 1);
        lone_host_close(lone);
    }
}

// One that is not let go yet ends at its deadline, as any other does.
static void test_an_orphan_ends_at_its_deadline_at_the_latest(void **state)
{
    (void)state;
    struct lone_host *lone = open_lone();
    bind_many(lone, 0, 0, BOUND_AT_ONCE + 1);
    end(lone, 0, true);
    lone->now = lh_after(lone->now, lh_ms(30001));
    while (is_due(lone))
        timer_step(lone);
    assert_int_equal(lone->host->machine.held, 0);
    assert_int_equal(lone->host->machine.counters.released, 0);
    lone_advance(lone, 2000); // what acceptors exclude ends a little later
    bind_many(lone, 1, 0, 3);
    assert_int_equal(lone->host->machine.held, 3);
    lone_host_close(lone);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_with_its_client),
        cmocka_unit_test(test_stays_unless_its_client_is_known_to_have_ended),
        cmocka_unit_test(test_stays_unless_it_was_asked_for),
        cmocka_unit_test(test_another_connection_takes_the_bond_away),
        cmocka_unit_test(test_a_shared_lease_is_never_bound),
        cmocka_unit_test(test_renewals_on_its_own_connection_keep_the_bond),
        cmocka_unit_test(test_ends_in_the_middle_of_a_renewal),
        cmocka_unit_test(test_a_waiter_follows_at_once),
        cmocka_unit_test(test_many_end_with_one_client),
        cmocka_unit_test(test_a_step_lets_only_so_many_go),
        cmocka_unit_test(test_the_next_connection_has_no_part_in_it),
        cmocka_unit_test(test_leases_of_a_client_that_may_live_belong_to_no_connection),
        cmocka_unit_test(test_an_orphan_that_is_granted_again_stays),
        cmocka_unit_test(test_an_orphan_ends_at_its_deadline_at_the_latest),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
