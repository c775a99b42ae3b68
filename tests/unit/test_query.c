// Questions to other members: get, list, and what is handed on to the node that owns a lease;
// through any node, with members that are silent, slow or of another opinion.
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
    settings.max_leases = 1024;
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

static unsigned long long acquire(struct cluster *cluster, unsigned client, const char *name)
{
    cluster_call(cluster, client, "LEASE ACQUIRE %s HOLDER me TTL 5s", name);
    expect_status(cluster, client, "granted");
    return (unsigned long long)cluster_integer(cluster, client, "token");
}

// --- GET ---

static void test_get_through_any_node(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(5, 8);
    unsigned holder = cluster_connect(cluster, 2);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_run(cluster, 1000);
    for (unsigned i = 0; i < 5; i++) {
        unsigned client = cluster_connect(cluster, i);
        cluster_call(cluster, client, "LEASE GET x");
        expect_status(cluster, client, "held");
        assert_int_equal(cluster_integer(cluster, client, "token"), token);
        assert_int_equal(cluster_integer(cluster, client, "node"), 3);
        assert_string_equal(cluster_text(cluster, client, "holder"), "me");
        assert_in_range(cluster_integer(cluster, client, "remaining-ns"), 3800 * LH_NS_PER_MS,
                        4000 * LH_NS_PER_MS);
        assert_in_range(cluster_integer(cluster, client, "age-ns"), 990 * LH_NS_PER_MS,
                        1100 * LH_NS_PER_MS);
        assert_true(cluster_integer(cluster, client, "next-owner-max-ns") >=
                    cluster_integer(cluster, client, "remaining-ns"));
        cluster_call(cluster, client, "LEASE GET y");
        expect_status(cluster, client, "free");
        assert_in_range(cluster->clients[client].reply_took, 0, 300 * LH_NS_PER_US);
    }
    cluster_close(cluster);
}

// After a renewal in two rounds the acceptors know another ballot than the holder's token.
static void test_get_tells_the_token_not_the_ballot(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned client = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, client, "x");
    for (int64_t i = 1; i <= 3; i++) {
        cluster_call(cluster, client, "LEASE RENEW x %llu me TTL 5s", token);
        expect_status(cluster, client, "granted");
        assert_int_equal(cluster_integer(cluster, client, "token"), token);
        cluster_call(cluster, client, "LEASE GET x");
        assert_int_equal(cluster_integer(cluster, client, "token"), token);
        assert_int_equal(cluster_integer(cluster, client, "renewals"), i);
    }
    cluster_close(cluster);
}

static void test_get_without_the_owner(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    acquire(cluster, cluster_connect(cluster, 0), "x");
    unsigned client = cluster_connect(cluster, 1);
    cluster_crash(cluster, 0, 0);
    cluster_call(cluster, client, "LEASE GET x");
    expect_status(cluster, client, "held");
    assert_int_equal(cluster_integer(cluster, client, "node"), 1);
    assert_string_equal(cluster_text(cluster, client, "reason"),
                        "the member that holds it does not answer");
    cluster_run(cluster, 5200);
    cluster_call(cluster, client, "LEASE GET x");
    expect_status(cluster, client, "free");
    cluster_close(cluster);
}

static void test_get_without_a_majority(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned client = cluster_connect(cluster, 0);
    acquire(cluster, client, "x");
    cluster_isolate(cluster, 0, true);
    cluster_call(cluster, client, "LEASE GET x");
    expect_status(cluster, client, "noquorum");
    assert_in_range(cluster->clients[client].reply_took, 4900 * LH_NS_PER_MS, 5200 * LH_NS_PER_MS);
    cluster_call(cluster, client, "LEASE GET x TIMEOUT 330ms");
    expect_status(cluster, client, "noquorum");
    assert_int_equal(cluster_integer(cluster, client, "node"), 0);
    assert_in_range(cluster->clients[client].reply_took, 330 * LH_NS_PER_MS, 340 * LH_NS_PER_MS);
    cluster_close(cluster);
}

static uint64_t query_nonce(struct cluster *cluster, unsigned process)
{
    const struct lh_queries *queries = &cluster_host(cluster, process)->queries;
    for (unsigned i = 0; i < queries->used; i++)
        if (queries->pool[i].id != 0)
            return queries->pool[i].nonce;
    return 0;
}

static void say_state(struct cluster *cluster, unsigned from, unsigned to, uint64_t nonce,
                      lh_ballot ballot, bool owner, lh_ballot token, const char *holder)
{
    uint8_t bytes[LH_DATAGRAM_MAX];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    lh_host_header(cluster_host(cluster, from), (uint8_t)(to + 1), cluster_now(cluster, from),
                   &writer);
    struct lh_host_message message = {.kind = LH_HOST_STATE,
                                      .nonce = nonce,
                                      .serving = true,
                                      .ballot = ballot,
                                      .exclusion = lh_ms(1000),
                                      .owner = owner};
    message.entry.token = token;
    message.entry.holder = lh_slice_of_string(holder);
    message.entry.remaining = lh_ms(900);
    lh_host_message_encode(&writer, &message);
    cluster_inject(cluster, (uint8_t)(to + 1), (uint8_t)(from + 1), 1, lh_writer_slice(&writer));
    cluster_run(cluster, 0);
}

// While a lease goes from one node to another, the answers of one round are of different moments:
// what the former owner says of itself is not put beside the new owner's ballot.
static void test_get_believes_only_the_owner_of_the_ballot(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(5, 8);
    unsigned client = cluster_connect(cluster, 0);
    lh_ballot former = lh_ballot_make(5, 1, 2);
    lh_ballot present = lh_ballot_make(9, 1, 3);
    for (unsigned i = 1; i < 5; i++)
        cluster_cut(cluster, 0, i, true);
    cluster_command(cluster, client, "LEASE GET x");
    cluster_run(cluster, 1);
    uint64_t nonce = query_nonce(cluster, 0);
    assert_int_not_equal(nonce, 0);
    say_state(cluster, 2, 0, nonce, present, true, present, "new");
    say_state(cluster, 1, 0, nonce, former, true, former, "old");
    say_state(cluster, 3, 0, nonce, present, false, 0, "");
    say_state(cluster, 4, 0, nonce, present, false, 0, "");
    cluster_await(cluster, client, 1000);
    expect_status(cluster, client, "held");
    assert_int_equal(cluster_integer(cluster, client, "node"), 3);
    assert_int_equal(cluster_integer(cluster, client, "token"), present);
    assert_string_equal(cluster_text(cluster, client, "holder"), "new");
    cluster_close(cluster);
}

// Answers to an earlier round, or to nobody, change nothing.
static void test_stale_states_do_not_count(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned client = cluster_connect(cluster, 0);
    cluster_isolate(cluster, 0, true);
    cluster_command(cluster, client, "LEASE GET x");
    cluster_run(cluster, 1);
    uint64_t nonce = query_nonce(cluster, 0);
    say_state(cluster, 1, 0, nonce + 1, 0, false, 0, "");
    say_state(cluster, 1, 0, nonce ^ UINT64_C(1) << 40, 0, false, 0, "");
    say_state(cluster, 1, 0, UINT64_MAX, 0, false, 0, "");
    say_state(cluster, 1, 0, 0, 0, false, 0, "");
    assert_int_equal(cluster->clients[client].replies, 0);
    cluster_run(cluster, 120);
    say_state(cluster, 1, 0, nonce, 0, false, 0, "");
    assert_int_equal(cluster->clients[client].replies, 0);
    say_state(cluster, 1, 0, query_nonce(cluster, 0), 0, false, 0, "");
    cluster_run(cluster, 1);
    expect_status(cluster, client, "free");
    cluster_close(cluster);
}

// --- handed on ---

static void test_renew_and_release_through_any_node(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(5, 8);
    unsigned clients[5];
    for (unsigned i = 0; i < 5; i++)
        clients[i] = cluster_connect(cluster, i);
    for (unsigned i = 0; i < 5; i++) {
        unsigned long long token = acquire(cluster, clients[4], "x");
        cluster_call(cluster, clients[i], "LEASE RENEW x %llu me TTL 8s", token);
        expect_status(cluster, clients[i], "granted");
        assert_int_equal(cluster_integer(cluster, clients[i], "token"), token);
        assert_in_range(cluster_integer(cluster, clients[i], "until-ns"), 7990 * LH_NS_PER_MS,
                        8000 * LH_NS_PER_MS);
        cluster_call(cluster, clients[i], "LEASE RENEW x %llu you TTL 8s", token);
        expect_status(cluster, clients[i], "lost");
        cluster_call(cluster, clients[i], "LEASE RENEW x %llu me TTL 8s", token + 65536);
        expect_status(cluster, clients[i], "lost");
        cluster_call(cluster, clients[i], "LEASE RELEASE x %llu you", token);
        expect_status(cluster, clients[i], "lost");
        cluster_call(cluster, clients[i], "LEASE RELEASE x %llu me", token + 65536);
        expect_status(cluster, clients[i], "lost");
        cluster_call(cluster, clients[i], "LEASE GET x");
        expect_status(cluster, clients[i], "held");
        cluster_call(cluster, clients[i], "LEASE RELEASE x %llu me", token);
        expect_status(cluster, clients[i], "released");
        cluster_call(cluster, clients[i], "LEASE RELEASE x %llu me", token);
        expect_status(cluster, clients[i], "lost");
        cluster_run(cluster, 20);
    }
    cluster_close(cluster);
}

static void test_revoke_through_any_node(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned holder = cluster_connect(cluster, 1);
    for (unsigned i = 0; i < 3; i++) {
        unsigned long long token = acquire(cluster, holder, "x");
        unsigned client = cluster_connect(cluster, i);
        cluster_call(cluster, client, "LEASE REVOKE x");
        expect_status(cluster, client, "revoked");
        assert_int_equal(cluster_integer(cluster, client, "token"), token);
        assert_int_equal(cluster_integer(cluster, client, "node"), 2);
        assert_string_equal(cluster_text(cluster, client, "holder"), "me");
        assert_in_range(cluster_integer(cluster, client, "ends-in-ns"), 4900 * LH_NS_PER_MS,
                        5000 * LH_NS_PER_MS);
        cluster_call(cluster, holder, "LEASE RENEW x %llu me", token);
        expect_status(cluster, holder, "lost");
        assert_int_equal(cluster_integer(cluster, holder, "revoked"), 1);
        cluster_call(cluster, client, "LEASE GET x");
        assert_int_equal(cluster_integer(cluster, client, "revoked"), 1);
        assert_in_range(cluster_integer(cluster, holder, "until-ns"), 4900 * LH_NS_PER_MS,
                        5000 * LH_NS_PER_MS);
        cluster_call(cluster, holder, "LEASE RELEASE x %llu me", token);
        expect_status(cluster, holder, "released");
        cluster_run(cluster, 20);
        cluster_call(cluster, client, "LEASE REVOKE x");
        expect_status(cluster, client, "free");
        cluster_disconnect(cluster, client);
    }
    cluster_close(cluster);
}

static void replay_all(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->tape_count; i++)
        cluster_replay(cluster, &cluster->tapes[i]);
}

// The call that revokes comes again when somebody else has the lease.
static void test_a_revocation_names_the_lease(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned holder = cluster_connect(cluster, 1);
    unsigned operator= cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster->taping = true;
    cluster_call(cluster, operator, "LEASE REVOKE x");
    expect_status(cluster, operator, "revoked");
    cluster->taping = false;
    const unsigned askers[] = {holder, operator};
    for (unsigned i = 0; i < 2; i++) { // to whom it belongs, it is no grant any more
        cluster_call(cluster, askers[i], "LEASE ACQUIRE x HOLDER me");
        expect_status(cluster, askers[i], "held");
        assert_int_equal(cluster_integer(cluster, askers[i], "token"), token);
        assert_int_equal(cluster_integer(cluster, askers[i], "revoked"), 1);
        assert_non_null(strstr(cluster_text(cluster, askers[i], "reason"), "it was revoked"));
        assert_in_range(cluster_integer(cluster, askers[i], "free-in-ns"), 4900 * LH_NS_PER_MS,
                        5200 * LH_NS_PER_MS);
    }
    cluster_call(cluster, holder, "LEASE RELEASE x %llu me", token);
    token = acquire(cluster, holder, "x");
    replay_all(cluster);
    cluster_run(cluster, 10);
    cluster_call(cluster, holder, "LEASE RENEW x %llu me", token);
    expect_status(cluster, holder, "granted");
    cluster_close(cluster);
}

static void test_a_renewal_is_not_replayed_for_ever(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned long long token = acquire(cluster, cluster_connect(cluster, 1), "x");
    unsigned elsewhere = cluster_connect(cluster, 0);
    cluster->taping = true;
    cluster_call(cluster, elsewhere, "LEASE RENEW x %llu me TTL 5s", token);
    expect_status(cluster, elsewhere, "granted");
    cluster->taping = false;
    for (unsigned i = 0; i < 65; i++) {
        cluster_run(cluster, 100);
        replay_all(cluster);
    }
    cluster_call(cluster, elsewhere, "LEASE GET x");
    expect_status(cluster, elsewhere, "free");
    cluster_close(cluster);
}

static void test_a_release_whose_answer_is_lost_is_a_release(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned long long token = acquire(cluster, cluster_connect(cluster, 1), "x");
    unsigned elsewhere = cluster_connect(cluster, 0);
    cluster->cut[1][0] = true;
    cluster_command(cluster, elsewhere, "LEASE RELEASE x %llu me", token);
    cluster_run(cluster, 150);
    assert_int_equal(cluster->processes[1].events[LH_EVENT_RELEASED], 1);
    cluster->cut[1][0] = false;
    cluster_await(cluster, elsewhere, 1000);
    expect_status(cluster, elsewhere, "released");
    cluster_close(cluster);
}

static void test_owner_is_silent(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    unsigned client = cluster_connect(cluster, 1);
    cluster_crash(cluster, 0, 0);
    const char *const asked[] = {"RENEW x %llu me TIMEOUT 750ms", "RELEASE x %llu me TIMEOUT 750ms",
                                 "REVOKE x TIMEOUT 750ms"};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        char words[64];
        snprintf(words, sizeof words, asked[i], token);
        cluster_call(cluster, client, "LEASE %s", words);
        expect_status(cluster, client, "noquorum");
        assert_int_equal(cluster_integer(cluster, client, "node"), 1);
        assert_in_range(cluster->clients[client].reply_took, 750 * LH_NS_PER_MS,
                        760 * LH_NS_PER_MS);
    }
    cluster_close(cluster);
}

// The answers to a question that is asked just before the end would come too late: nobody would seem
// to have answered.
static void test_the_last_round_is_not_cut_short(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.latency_ns = 10 * LH_NS_PER_MS;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 12000));
    acquire(cluster, cluster_connect(cluster, 0), "x");
    unsigned client = cluster_connect(cluster, 1);
    cluster_crash(cluster, 0, 0);
    for (int timeout_ms = 401; timeout_ms < 420; timeout_ms += 6) {
        cluster_call(cluster, client, "LEASE REVOKE x TIMEOUT %dms", timeout_ms);
        expect_status(cluster, client, "noquorum");
        assert_int_equal(cluster_integer(cluster, client, "node"), 1);
    }
    cluster_close(cluster);
}

// A question is repeated until it is answered; the owner keeps one request for it, not one for
// every copy.
static void test_repeated_calls_are_one_request(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 64);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_cut(cluster, 0, 2, true);
    cluster_cut(cluster, 0, 1, false);
    cluster_crash(cluster, 2, 0);
    // The owner hears node 1's calls, and nobody's answers to its renewals.
    cluster->cut[0][1] = true;
    for (unsigned i = 0; i < 32; i++)
        cluster_command(cluster, cluster_connect(cluster, 1),
                        "LEASE RENEW x %llu me TTL 10s TIMEOUT 4s", token);
    cluster_run(cluster, 3000);
    const struct lh_requests *requests = &cluster_host(cluster, 0)->requests;
    unsigned count = 0;
    for (unsigned i = 0; i < requests->used; i++)
        count += requests->pool[i].id != 0;
    assert_in_range(count, 1, 32);
    cluster_close(cluster);
}

// Peers cannot take the requests that a node has for its own clients.
static void test_peers_leave_room_for_clients(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 512);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_crash(cluster, 2, 0);
    cluster->cut[0][1] = true;
    for (unsigned i = 0; i < 400; i++)
        cluster_command(cluster, cluster_connect(cluster, 1),
                        "LEASE RENEW x %llu me TTL 10s TIMEOUT 4s", token);
    cluster_run(cluster, 3500);
    for (unsigned i = 0; i < 100; i++) {
        unsigned client = cluster_connect(cluster, 0);
        cluster_command(cluster, client, "LEASE RENEW x %llu me TTL 10s TIMEOUT 100ms", token);
        cluster_run(cluster, 1);
        assert_string_equal(cluster_error(cluster, client), "");
    }
    cluster_close(cluster);
}

// --- ACQUIRE with somebody's lease of another node in the way ---

static void test_one_s_own_lease_is_handed_back_by_any_node(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned elsewhere = cluster_connect(cluster, 1);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_run(cluster, 1000);
    for (unsigned waits = 0; waits < 2; waits++) {
        cluster_call(cluster, elsewhere, "LEASE ACQUIRE x HOLDER me TTL 5s%s",
                     waits == 1 ? " WAIT 3s" : "");
        expect_status(cluster, elsewhere, "granted");
        assert_int_equal(cluster_integer(cluster, elsewhere, "token"), token);
        assert_int_equal(cluster_integer(cluster, elsewhere, "node"), 1);
        assert_in_range(cluster_integer(cluster, elsewhere, "until-ns"), 3900 * LH_NS_PER_MS,
                        4000 * LH_NS_PER_MS);
        assert_in_range(cluster->clients[elsewhere].reply_took, 0, 500 * LH_NS_PER_US);
    }
    cluster_call(cluster, elsewhere, "LEASE RENEW x %llu me", token);
    expect_status(cluster, elsewhere, "granted");
    cluster_close(cluster);
}

static void test_held_tells_by_whom(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned long long token = acquire(cluster, cluster_connect(cluster, 0), "x");
    unsigned other = cluster_connect(cluster, 1);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    expect_status(cluster, other, "held");
    assert_string_equal(cluster_text(cluster, other, "holder"), "me");
    assert_int_equal(cluster_integer(cluster, other, "token"), token);
    assert_int_equal(cluster_integer(cluster, other, "node"), 1);
    assert_in_range(cluster_integer(cluster, other, "free-in-ns"), 4900 * LH_NS_PER_MS,
                    5200 * LH_NS_PER_MS);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you WAIT 1s");
    expect_status(cluster, other, "held");
    assert_in_range(cluster->clients[other].reply_took, 990 * LH_NS_PER_MS, 1010 * LH_NS_PER_MS);
    cluster_close(cluster);
}

// The owner's silence is no reason to let anybody wait who does not want to.
static void test_held_by_a_silent_node(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    acquire(cluster, cluster_connect(cluster, 0), "x");
    unsigned other = cluster_connect(cluster, 1);
    cluster_crash(cluster, 0, 0);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    expect_status(cluster, other, "held");
    assert_int_equal(cluster_integer(cluster, other, "node"), 1);
    assert_in_range(cluster->clients[other].reply_took, 0, 400 * LH_NS_PER_MS);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you WAIT 9s");
    expect_status(cluster, other, "turn");
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you WAIT 9s");
    expect_status(cluster, other, "granted");
    cluster_close(cluster);
}

// A node that watches a name knows of a lease that may have been released since: it tries.
static void test_what_a_watching_node_knows_may_be_old(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned holder = cluster_connect(cluster, 0);
    unsigned other = cluster_connect(cluster, 1);
    unsigned long long token = acquire(cluster, holder, "x");
    cluster_call(cluster, cluster_connect(cluster, 1), "SUBSCRIBE lease:x");
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    expect_status(cluster, other, "held");
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    expect_status(cluster, other, "held");
    assert_in_range(cluster->clients[other].reply_took, 0, LH_NS_PER_MS);
    cluster_call(cluster, holder, "LEASE RELEASE x %llu me", token);
    cluster_call(cluster, other, "LEASE ACQUIRE x HOLDER you");
    expect_status(cluster, other, "granted");
    assert_in_range(cluster->clients[other].reply_took, 0, LH_NS_PER_MS);
    cluster_close(cluster);
}

// Of those who try at one instant and do not wait, one is granted.
static void test_one_of_those_who_try_at_once_is_granted(void **state)
{
    (void)state;
    struct cluster_settings settings = cluster_defaults();
    settings.latency_ns = 100 * LH_NS_PER_US;
    settings.jitter_ns = 10 * LH_NS_PER_MS;
    settings.max_clients = 8;
    struct cluster *cluster = cluster_open(&settings);
    assert_true(cluster_run_until_serving(cluster, 2000));
    unsigned clients[3], nobody = 0;
    for (unsigned i = 0; i < 3; i++)
        clients[i] = cluster_connect(cluster, i);
    for (unsigned round = 0; round < 100; round++) {
        unsigned granted = 0;
        for (unsigned i = 0; i < 3; i++)
            cluster_command(cluster, clients[i], "LEASE ACQUIRE x%u HOLDER h%u TTL 5s", round, i);
        for (unsigned i = 0; i < 3; i++) {
            cluster_await(cluster, clients[i], 6000);
            granted += strcmp(cluster_status(cluster, clients[i]), "granted") == 0;
        }
        assert_in_range(granted, 0, 1);
        nobody += granted == 0;
    }
    print_message("# of 100 rounds, %u had no winner\n", nobody);
    assert_in_range(nobody, 0, 1);
    cluster_close(cluster);
}

// Watches that ask and ask, since there is no quorum, leave room for who asks once.
static void test_watches_leave_room(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 16);
    cluster_isolate(cluster, 0, true);
    for (unsigned i = 0; i < 12; i++) {
        char words[1024] = "SUBSCRIBE";
        size_t used = strlen(words);
        for (unsigned j = 0; j < 32; j++)
            used += (size_t)snprintf(words + used, sizeof words - used, " lease:w%u-%u", i, j);
        cluster_command(cluster, cluster_connect(cluster, 0), "%s", words);
    }
    cluster_run(cluster, 2000);
    unsigned other = cluster_connect(cluster, 0);
    cluster_call(cluster, other, "LEASE GET x");
    expect_status(cluster, other, "noquorum");
    cluster_close(cluster);
}

static void test_many_are_told_at_once(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 500);
    unsigned clients[400];
    acquire(cluster, cluster_connect(cluster, 0), "x");
    for (unsigned i = 0; i < 400; i++) {
        clients[i] = cluster_connect(cluster, 1);
        cluster_command(cluster, clients[i], "LEASE ACQUIRE x HOLDER you");
    }
    for (unsigned i = 0; i < 400; i++) {
        cluster_await(cluster, clients[i], 400);
        expect_status(cluster, clients[i], "held");
    }
    cluster_close(cluster);
}

// --- LIST ---

static unsigned list_all(struct cluster *cluster, unsigned client, const char *options,
                         bool seen[600])
{
    unsigned count = 0;
    char cursor[32] = "0";
    memset(seen, 0, 600 * sizeof seen[0]);
    for (unsigned pages = 0; pages < 200; pages++) {
        cluster_call(cluster, client, "LEASE LIST %s CURSOR %s", options, cursor);
        const struct lh_resp_value *leases = lh_resp_get(cluster_reply(cluster, client), "leases");
        assert_non_null(leases);
        for (size_t i = 0; i < leases->child_count; i++) {
            struct lh_slice name;
            assert_true(lh_resp_as_text(lh_resp_get(lh_resp_child(leases, i), "name"), &name));
            unsigned number = (unsigned)strtoul((const char *)name.data + 1, NULL, 10);
            assert_in_range(number, 0, 599);
            assert_false(seen[number]);
            seen[number] = true;
            count++;
        }
        snprintf(cursor, sizeof cursor, "%s", cluster_text(cluster, client, "cursor"));
        if (strcmp(cursor, "0") == 0)
            return count;
    }
    fail_msg("the list does not end");
    return 0;
}

static void test_list_covers_the_cluster(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    static bool seen[600];
    unsigned clients[3];
    for (unsigned i = 0; i < 3; i++)
        clients[i] = cluster_connect(cluster, i);
    for (unsigned i = 0; i < 550; i++) {
        char name[32];
        snprintf(name, sizeof name, "%c%u", i % 2 == 0 ? 'a' : 'b', i);
        cluster_call(cluster, clients[i % 3], "LEASE ACQUIRE %s HOLDER me TTL 10s", name);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(list_all(cluster, clients[i], "COUNT 1", seen), 550);
        assert_int_equal(list_all(cluster, clients[i], "COUNT 100", seen), 550);
        assert_int_equal(list_all(cluster, clients[i], "COUNT 100000", seen), 550);
        assert_int_equal(list_all(cluster, clients[i], "PREFIX a", seen), 275);
        assert_int_equal(list_all(cluster, clients[i], "PREFIX c", seen), 0);
    }
    cluster_crash(cluster, 1, 0);
    cluster_run(cluster, 100);
    cluster_call(cluster, clients[0], "LEASE LIST COUNT 100000 CURSOR %llu",
                 (unsigned long long)(UINT64_C(2) << 32)); // begins with the dead one
    const struct lh_resp_value *missing =
        lh_resp_get(cluster_reply(cluster, clients[0]), "missing");
    assert_int_equal(missing->child_count, 1);
    assert_int_equal(lh_resp_child(missing, 0)->integer, 2);
    cluster_run(cluster, 5000);
    assert_in_range(list_all(cluster, clients[0], "COUNT 100", seen), 360, 370);
    cluster_close(cluster);
}

// Whatever cursor a client makes up, the list ends.
static void test_list_takes_any_cursor(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 8);
    unsigned client = cluster_connect(cluster, 0);
    acquire(cluster, client, "a1");
    const uint64_t cursors[] = {1,
                                UINT32_MAX,
                                UINT64_C(1) << 32 | 1,
                                UINT64_C(1) << 32 | UINT32_MAX,
                                UINT64_C(3) << 32 | 7,
                                UINT64_C(4) << 32,
                                UINT64_C(255) << 32,
                                UINT64_C(256) << 32,
                                UINT64_C(257) << 32 | 3,
                                UINT64_MAX};
    for (unsigned i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        cluster_call(cluster, client, "LEASE LIST CURSOR %llu", (unsigned long long)cursors[i]);
        assert_non_null(lh_resp_get(cluster_reply(cluster, client), "cursor"));
    }
    cluster_close(cluster);
}

// --- full ---

static void test_questions_are_bounded(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 400);
    static unsigned clients[300];
    for (unsigned i = 0; i < 300; i++)
        clients[i] = cluster_connect(cluster, 0);
    cluster_run(cluster, 200); // until it has heard of the others
    cluster_isolate(cluster, 0, true);
    for (unsigned i = 0; i < 300; i++)
        cluster_command(cluster, clients[i], i % 3 == 0 ? "LEASE LIST" : "LEASE GET x%u", i);
    unsigned busy = 0;
    for (unsigned i = 0; i < 300; i++) {
        assert_non_null(cluster_await(cluster, clients[i], 20000));
        busy += strncmp(cluster_error(cluster, clients[i]), "BUSY", 4) == 0;
    }
    assert_int_equal(busy, 300 - LH_QUERIES_MAX);
    cluster_isolate(cluster, 0, false);
    cluster_call(cluster, clients[0], "LEASE GET x");
    expect_status(cluster, clients[0], "free");
    cluster_close(cluster);
}

// Long lists that end in the same moment each have room.
static void test_long_lists_at_once(void **state)
{
    (void)state;
    struct cluster *cluster = open_cluster(3, 64);
    unsigned clients[12];
    for (unsigned i = 0; i < 12; i++)
        clients[i] = cluster_connect(cluster, 0);
    for (unsigned i = 0; i < 500; i++)
        cluster_call(cluster, clients[0], "LEASE ACQUIRE a%u HOLDER %0200u TTL 10s", i, i);
    cluster_crash(cluster, 2, 0);
    cluster_run(cluster, 10);
    for (unsigned i = 0; i < 12; i++)
        cluster_command(cluster, clients[i], "LEASE LIST COUNT 500");
    cluster_run(cluster, 20);
    cluster_stop(cluster, 0);
    cluster_run(cluster, 500); // all that is asked of the dead node is overdue
    cluster_continue(cluster, 0);
    for (unsigned i = 0; i < 12; i++) {
        assert_non_null(cluster_await(cluster, clients[i], 5000));
        assert_string_equal(cluster_error(cluster, clients[i]), "");
    }
    cluster_close(cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_through_any_node),
        cmocka_unit_test(test_get_tells_the_token_not_the_ballot),
        cmocka_unit_test(test_get_without_the_owner),
        cmocka_unit_test(test_get_without_a_majority),
        cmocka_unit_test(test_get_believes_only_the_owner_of_the_ballot),
        cmocka_unit_test(test_stale_states_do_not_count),
        cmocka_unit_test(test_renew_and_release_through_any_node),
        cmocka_unit_test(test_revoke_through_any_node),
        cmocka_unit_test(test_a_revocation_names_the_lease),
        cmocka_unit_test(test_a_renewal_is_not_replayed_for_ever),
        cmocka_unit_test(test_a_release_whose_answer_is_lost_is_a_release),
        cmocka_unit_test(test_owner_is_silent),
        cmocka_unit_test(test_the_last_round_is_not_cut_short),
        cmocka_unit_test(test_repeated_calls_are_one_request),
        cmocka_unit_test(test_peers_leave_room_for_clients),
        cmocka_unit_test(test_one_s_own_lease_is_handed_back_by_any_node),
        cmocka_unit_test(test_held_tells_by_whom),
        cmocka_unit_test(test_held_by_a_silent_node),
        cmocka_unit_test(test_what_a_watching_node_knows_may_be_old),
        cmocka_unit_test(test_one_of_those_who_try_at_once_is_granted),
        cmocka_unit_test(test_watches_leave_room),
        cmocka_unit_test(test_many_are_told_at_once),
        cmocka_unit_test(test_list_covers_the_cluster),
        cmocka_unit_test(test_list_takes_any_cursor),
        cmocka_unit_test(test_questions_are_bounded),
        cmocka_unit_test(test_long_lists_at_once),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
