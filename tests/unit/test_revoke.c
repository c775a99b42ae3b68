// Revoking: what `revoke` reports is a bound. Whatever was under way when it came, nobody is told a
// later end afterwards, nobody holds the lease beyond it, and the name is free when it was said to
// be.
// run-tests: timeout 300
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RENEWERS 3
#define STEP_US 80 // messages take 50

struct trial {
    bool one_round;
    unsigned renew_at[RENEWERS], renewers; // nodes; the lease is node 0's
    unsigned revoke_at;
    int64_t pause_us;   // from the renewals to the revocation
    int64_t silence_ms; // for so long then the owner hears nobody
};

static struct cluster *open_cluster(bool one_round)
{
    struct cluster_settings settings = cluster_defaults();
    settings.one_round_renewal = one_round;
    settings.jitter_ns = 0;
    settings.max_leases = settings.max_clients = 8;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 12000));
    cluster_run(cluster, 1000);
    return cluster;
}

static unsigned long long acquire(struct cluster *cluster, unsigned client, const char *more)
{
    cluster_call(cluster, client, "LEASE ACQUIRE x HOLDER me TTL 5s %s", more);
    cluster_expect(cluster, client, "granted", NULL);
    return cluster_token(cluster, client);
}

static void run_for_us(struct cluster *cluster, int64_t us)
{
    int64_t limit = cluster->true_ns + us * LH_NS_PER_US;
    while (cluster_step(cluster, limit))
        ;
}

// Clocks run at one rate here. When the owner's node holds it no longer, in true time.
static int64_t held_until(struct cluster *cluster)
{
    const struct lh_machine *machine = &cluster_host(cluster, 0)->machine;
    if (machine->used == 0)
        return 0;
    return machine->leases[0].proposer.until.ns - cluster_now(cluster, 0).ns + cluster->true_ns;
}

static int64_t revoke(struct cluster *cluster, unsigned operator)
{
    cluster_call(cluster, operator, "LEASE REVOKE x");
    cluster_expect(cluster, operator, "revoked", NULL);
    return cluster->true_ns + cluster_integer(cluster, operator, "ends-in-ns");
}

// By the time it was said to be free in at most, somebody else gets it: what was sent of a renewal
// that came to nothing is counted in. An Accept that had to be sent again began that much later.
static void expect_free_as_said(struct cluster *cluster, int64_t bound, int64_t most,
                                int64_t again_ns)
{
    unsigned other = cluster_connect(cluster, 1);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    cluster_expect(cluster, other, "held", NULL);
    assert_int_equal(cluster_integer(cluster, other, "revoked"), 1);
    int64_t free_at = cluster->true_ns + cluster_integer(cluster, other, "free-in-ns");
    assert_in_range(free_at, bound - LH_NS_PER_MS, most + 300 * LH_NS_PER_MS);
    while (cluster_step(cluster, bound))
        ;
    assert_int_equal(cluster_believed(cluster, "x"), 0);
    while (cluster_step(cluster, free_at + again_ns))
        ;
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    cluster_expect(cluster, other, "granted", NULL);
}

static void try(const struct trial *trial)
{
    int64_t sent[RENEWERS];
    unsigned renewers[RENEWERS];
    struct cluster *cluster = open_cluster(trial->one_round);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned operator= cluster_connect(cluster, trial->revoke_at);
    unsigned long long token = acquire(cluster, holder, "");
    for (unsigned i = 0; i < trial->renewers; i++)
        renewers[i] = cluster_connect(cluster, trial->renew_at[i]);
    cluster_run(cluster, 2000);
    for (unsigned i = 0; i < trial->renewers; i++) {
        sent[i] = cluster->true_ns;
        cluster_command(cluster, renewers[i], "LEASE RENEW x %llu me TTL 9s", token);
        run_for_us(cluster, i < trial->renewers - 1 ? 30 : trial->pause_us);
    }
    cluster_isolate(cluster, 0, trial->silence_ms > 0);
    int64_t bound = revoke(cluster, operator);
    if (trial->silence_ms > 0)
        cluster_run(cluster, trial->silence_ms);
    cluster_isolate(cluster, 0, false);
    for (unsigned i = 0; i < trial->renewers; i++) {
        assert_non_null(cluster_await(cluster, renewers[i], 300));
        if (strcmp(cluster_status(cluster, renewers[i]), "granted") != 0)
            cluster_expect(cluster, renewers[i], "lost", "it was revoked");
        assert_true(cluster_integer(cluster, renewers[i], "until-ns") > 0);
        assert_true(sent[i] + cluster_integer(cluster, renewers[i], "until-ns") <= bound);
    }
    cluster_run(cluster, 100);
    assert_in_range(held_until(cluster), cluster->true_ns, bound);
    assert_true(revoke(cluster, operator) <= bound);
    cluster_call(cluster, holder, "LEASE RENEW x %llu me", token);
    cluster_expect(cluster, holder, "lost", "it was revoked");
    assert_true(cluster_integer(cluster, holder, "until-ns") + cluster->true_ns <= bound);
    expect_free_as_said(cluster, bound, sent[trial->renewers - 1] + 9 * LH_NS_PER_S,
                        3 * trial->silence_ms * LH_NS_PER_MS);
    cluster_close(cluster);
}

// Of both kinds of renewal, and at each moment of it.
static void try_each(struct trial trial)
{
    for (unsigned one_round = 0; one_round < 2; one_round++)
        for (trial.pause_us = 0; trial.pause_us < 400; trial.pause_us += STEP_US) {
            trial.one_round = one_round == 1;
            try(&trial);
        }
}

static void test_a_renewal_is_under_way(void **state)
{
    (void)state;
    for (unsigned at = 0; at < 4; at++)
        try_each((struct trial){.renew_at = {at % 2}, .renewers = 1, .revoke_at = at / 2});
}

static void test_many_renew_at_once(void **state)
{
    (void)state;
    try_each((struct trial){.renew_at = {0, 0, 2}, .renewers = 3});
}

static void test_the_owner_hears_nobody_meanwhile(void **state)
{
    (void)state;
    try_each((struct trial){.renew_at = {0}, .renewers = 1, .silence_ms = 60});
}

// Whoever asked for the renewal has gone: what it left is no longer than was reported, and is let go
// if the lease was to end with it.
static void test_the_renewer_has_gone(void **state)
{
    (void)state;
    for (unsigned bound = 0; bound < 2; bound++) {
        for (int64_t pause_us = 0; pause_us < 400; pause_us += STEP_US) {
            struct cluster *cluster = open_cluster(false);
            unsigned holder = cluster_connect(cluster, 0);
            unsigned operator= cluster_connect(cluster, 0);
            unsigned long long token =
                acquire(cluster, holder, bound == 1 ? "ON-DISCONNECT release" : "");
            cluster_run(cluster, 2000);
            cluster_command(cluster, holder, "LEASE RENEW x %llu me TTL 9s", token);
            run_for_us(cluster, pause_us);
            cluster_end_client(cluster, holder);
            cluster_call(cluster, operator, "LEASE REVOKE x");
            if (bound == 0)
                cluster_expect(cluster, operator, "revoked", NULL);
            int64_t ends = cluster->true_ns + cluster_integer(cluster, operator, "ends-in-ns");
            cluster_run(cluster, 10);
            if (bound == 0)
                assert_in_range(held_until(cluster), cluster->true_ns, ends);
            else
                assert_true(held_until(cluster) <= cluster->true_ns);
            cluster_close(cluster);
        }
    }
}

// Who has the name next is revoked if and only if it is his lease that was reported.
static void test_it_is_handed_over(void **state)
{
    (void)state;
    unsigned revoked[2] = {0, 0};
    for (unsigned at = 0; at < 4; at++) {
        for (int64_t pause_us = 0; pause_us < 800; pause_us += 2 * STEP_US) {
            struct cluster *cluster = open_cluster(true);
            unsigned holder = cluster_connect(cluster, 0);
            unsigned waiter = cluster_connect(cluster, at % 2);
            unsigned operator= cluster_connect(cluster, at / 2);
            unsigned long long token = acquire(cluster, holder, "");
            cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s TTL 5s");
            cluster_run(cluster, 100);
            cluster_command(cluster, operator, "LEASE REVOKE x");
            if (pause_us < 400)
                run_for_us(cluster, pause_us);
            cluster_command(cluster, holder, "LEASE RELEASE x %llu me", token);
            cluster_await(cluster, waiter, 1000);
            cluster_expect(cluster, waiter, "turn", NULL);
            cluster_command(cluster, waiter, "LEASE ACQUIRE x HOLDER you WAIT 20s TTL 5s");
            if (pause_us >= 400) {
                cluster_await(cluster, operator, 1000);
                run_for_us(cluster, pause_us - 400);
                cluster_command(cluster, operator, "LEASE REVOKE x");
            }
            cluster_await(cluster, waiter, 1000);
            cluster_expect(cluster, waiter, "granted", NULL);
            unsigned long long next = cluster_token(cluster, waiter);
            assert_non_null(cluster_await(cluster, operator, 1000));
            bool his = cluster_token(cluster, operator) == next;
            revoked[his]++;
            cluster_call(cluster, waiter, "LEASE RENEW x %llu you", next);
            cluster_expect(cluster, waiter, his ? "lost" : "granted",
                           his ? "it was revoked" : NULL);
            cluster_close(cluster);
        }
    }
    assert_true(revoked[0] > 0 && revoked[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_renewal_is_under_way),
        cmocka_unit_test(test_many_renew_at_once),
        cmocka_unit_test(test_the_owner_hears_nobody_meanwhile),
        cmocka_unit_test(test_the_renewer_has_gone),
        cmocka_unit_test(test_it_is_handed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
