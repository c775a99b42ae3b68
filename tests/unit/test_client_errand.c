// Acquire, renew and release against a daemon of lies: what is sent, what is believed, and what is
// done next.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/drive.h"
#include "fake_daemon.h"
#include "os/clock.h"

#define GRANTED(token, until_ns)                                                                   \
    "status=granted token:=" #token " holder=$HOLDER ttl-ms:=10000 until-ns:=" #until_ns           \
    " rate-ppm:=10000 node:=1"

static struct lh_channel *open_client(const char *endpoints)
{
    struct lh_channel *client = NULL;
    struct lh_error error;
    if (!lh_channel_open(endpoints, &client, &error))
        fail_msg("%s", error.text);
    return client;
}

static struct lh_holding new_lease(const char *holder)
{
    struct lh_holding lease = {.token = 0};
    strcpy(lease.name, "job");
    strcpy(lease.holder, holder);
    return lease;
}

static void test_acquire_sets_the_deadline_from_the_send(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(7, 1010000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    struct lh_instant before = lh_clock_now();
    lh_errand_acquire(&call, client, &lease, lh_ms(10000), (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    struct lh_instant after = lh_clock_now();
    assert_int_equal(lease.token, 7);
    assert_int_equal(lease.node, 1);
    assert_int_equal(lease.ttl.ns, 10 * LH_NS_PER_S);
    assert_true(lease.deadline.ns >= before.ns + 990000000);
    assert_true(lease.deadline.ns <= after.ns + 990000000);
    assert_int_equal(lease.deadline.ns, lh_channel_sent(client).ns + 990000000);
    assert_true(lh_holding_valid(&lease));
    assert_non_null(
        strstr(fake.requests[0], "LEASE ACQUIRE job TTL 10s TIMEOUT 4500ms HOLDER me ID "));
    assert_null(strstr(fake.requests[0], "WAIT"));
    lh_channel_close(client);
    fake_stop(&fake);
}

// An answer that took longer than what it grants is worth nothing; the lease is renewed at once,
// and only what the fresh answer says counts.
static void test_a_grant_that_comes_too_late_is_asked_for_again(void **state)
{
    (void)state;
    FAKE_START(fake, "after 60 " GRANTED(7, 50000000), GRANTED(7, 5000000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lh_errand_acquire(&call, client, &lease, lh_ms(10000), (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(fake.request_count, 2);
    assert_int_equal(strncmp(fake.requests[1], "LEASE RENEW job 7 me", 20), 0);
    assert_true(lh_holding_valid(&lease));
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_a_renewal_that_comes_too_late_grants_nothing(void **state)
{
    (void)state;
    FAKE_START(fake, "after 60 " GRANTED(7, 50000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = LH_NEVER; // a command line does not know it
    lh_errand_renew(&call, client, &lease, (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_LOST);
    assert_false(lh_holding_valid(&lease));
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_a_turn_is_sent_afresh_as_the_same_request(void **state)
{
    (void)state;
    FAKE_START(fake, "status=held token:=5 holder=ada node:=2", "after 30 status=turn until-ns:=0",
               GRANTED(9, 5000000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    struct lh_instant before = lh_clock_now();
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, lh_ms(20000), lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(fake.request_count, 3);
    assert_true(lh_channel_sent(client).ns >= before.ns + 30 * LH_NS_PER_MS); // a fresh reading
    const char *first = strstr(fake.requests[1], "HOLDER me ID ");
    const char *second = strstr(fake.requests[2], "HOLDER me ID ");
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(strncmp(first, second, (size_t)(strstr(first, " WAIT") - first)), 0);
    assert_non_null(strstr(fake.requests[1], " WAIT "));
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_held_ends_an_acquisition_without_a_wait(void **state)
{
    (void)state;
    FAKE_START(fake, "status=held token:=5 holder=ada node:=2 free-in-ns:=3000000000 until-ns:=0");
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, (struct lh_duration){0},
                      lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_HELD);
    assert_string_equal(call.answer.holder, "ada");
    assert_int_equal(call.answer.free_in_ns, 3000000000);
    assert_false(lh_holding_valid(&lease));
    lh_channel_close(client);
    fake_stop(&fake);
}

// Asked once without a wait, then to wait; a node that does not let us is asked again, with pauses.
static void test_held_is_asked_again_while_the_wait_lasts(void **state)
{
    (void)state;
    FAKE_START(fake, "status=held token:=5 holder=ada node:=2",
               "status=held token:=5 holder=ada node:=2", GRANTED(6, 5000000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, LH_WAIT_FOREVER, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(lease.token, 6);
    assert_null(strstr(fake.requests[0], " WAIT "));
    assert_non_null(strstr(fake.requests[1], " WAIT 30s"));
    assert_non_null(strstr(fake.requests[2], " WAIT 30s"));
    lh_channel_close(client);
    fake_stop(&fake);
}

// Granted by one node, cut off, and found at another: the lease is taken up by its token.
static void test_our_own_lease_at_another_node_is_resumed(void **state)
{
    (void)state;
    FAKE_START(one, "close");
    FAKE_START(two, "status=held token:=5 holder=me node:=1", GRANTED(5, 5000000000));
    char endpoints[140];
    snprintf(endpoints, sizeof endpoints, "%s,unix:%s", one.path, two.path);
    struct lh_channel *client = open_client(endpoints);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, (struct lh_duration){0},
                      lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(one.request_count, 1);
    assert_int_equal(two.request_count, 2);
    assert_int_equal(strncmp(two.requests[1], "LEASE RENEW job 5 me", 20), 0);
    assert_int_equal(lease.token, 5);
    lh_channel_close(client);
    fake_stop(&one);
    fake_stop(&two);
}

// A daemon that hangs gets its share of the patience, not all of it.
static void test_fails_over_from_a_daemon_that_hangs(void **state)
{
    (void)state;
    FAKE_START(one, "silent");
    FAKE_START(two, GRANTED(8, 5000000000));
    char endpoints[140];
    snprintf(endpoints, sizeof endpoints, "%s,%s", one.path, two.path);
    struct lh_channel *client = open_client(endpoints);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, (struct lh_duration){0},
                      lh_ms(600));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_non_null(strstr(one.requests[0], "TIMEOUT 270ms"));
    assert_int_equal(lease.token, 8);
    lh_channel_close(client);
    fake_stop(&one);
    fake_stop(&two);
}

// A daemon that hangs is not waited for: the patience is the same however long the wait may be.
static void test_a_wait_does_not_lengthen_the_patience(void **state)
{
    (void)state;
    FAKE_START(fake, "silent");
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    struct lh_instant before = lh_clock_now();
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, LH_WAIT_FOREVER, lh_ms(100));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
    assert_true(lh_left(before, lh_clock_now()).ns < 20 * LH_NS_PER_S); // WAIT is 30 s
    assert_null(strstr(fake.requests[0], " WAIT "));
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_no_quorum_ends_with_the_patience(void **state)
{
    (void)state;
    FAKE_START(fake, "after 20 status=noquorum until-ns:=0 reason=1_of_3_answered");
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    struct lh_instant before = lh_clock_now();
    lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, LH_WAIT_FOREVER, lh_ms(300));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
    struct lh_duration took = lh_left(before, lh_clock_now());
    assert_true(took.ns >= 280 * LH_NS_PER_MS);
    assert_true(fake.request_count > 1);
    assert_non_null(strstr(call.trouble.error.text, "1_of_3_answered"));
    lh_channel_close(client);
    fake_stop(&fake);
}

// Whichever comes first: the reason is that of the endpoint that was got furthest with.
static void test_the_furthest_failure_is_told(void **state)
{
    (void)state;
    static const char absent[] = "/tmp/lh-there-is-no-such-socket";
    for (int order = 0; order < 2; order++) {
        FAKE_START(silent, "silent");
        FAKE_START(fake, "status=noquorum until-ns:=0 reason=1_of_3_answered");
        char endpoints[200];
        if (order == 0)
            snprintf(endpoints, sizeof endpoints, "%s,%s,%s", fake.path, silent.path, absent);
        else
            snprintf(endpoints, sizeof endpoints, "%s,%s,%s", absent, silent.path, fake.path);
        struct lh_channel *client = open_client(endpoints);
        struct lh_holding lease = new_lease("me");
        struct lh_errand call;
        lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, (struct lh_duration){0},
                          lh_ms(1000));
        assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
        assert_int_equal(call.trouble.reach, LH_REACH_ANSWER);
        assert_non_null(strstr(call.trouble.error.text, "1_of_3_answered"));
        lh_channel_close(client);
        fake_stop(&silent);
        fake_stop(&fake);
    }
}

static void test_one_request_tells_the_furthest_failure_too(void **state)
{
    (void)state;
    static const char *const words[] = {"LEASE", "GET", "job"};
    FAKE_START(fake, "-NOTREADY it has stopped");
    char endpoints[200];
    struct lh_trouble trouble;
    snprintf(endpoints, sizeof endpoints, "%s,/tmp/lh-there-is-no-such-socket", fake.path);
    struct lh_channel *client = open_client(endpoints);
    assert_false(lh_channel_call(client, words, 3, lh_ms(1000), &trouble));
    assert_int_equal(trouble.reach, LH_REACH_ANSWER);
    assert_non_null(strstr(trouble.error.text, "it has stopped"));
    lh_channel_close(client);
    fake_stop(&fake);
}

// Where the endpoints came from is said with what is wrong about them; an empty word is none.
static void test_endpoints_of_the_environment(void **state)
{
    (void)state;
    struct lh_channel *client = NULL;
    struct lh_error error = {""};
    setenv("LEASEHOLD_CONNECT", "nope", 1);
    assert_false(lh_channel_open(NULL, &client, &error));
    assert_non_null(strstr(error.text, "LEASEHOLD_CONNECT: endpoint 'nope'"));
    assert_false(lh_channel_open("nope", &client, &error));
    assert_null(strstr(error.text, "LEASEHOLD_CONNECT"));
    assert_false(lh_channel_open("", &client, &error));
    setenv("LEASEHOLD_CONNECT", "/a", 1);
    assert_true(lh_channel_open(NULL, &client, &error));
    assert_true(lh_channel_from_environment(client));
    lh_channel_close(client);
    setenv("LEASEHOLD_CONNECT", "", 1);
    assert_true(lh_channel_open(NULL, &client, &error));
    assert_false(lh_channel_from_environment(client));
    lh_channel_close(client);
    unsetenv("LEASEHOLD_CONNECT");
}

// Who asks once is told at once; who may wait goes on for its patience: a daemon may be on its way.
static void test_nothing_listening(void **state)
{
    (void)state;
    const struct lh_duration waits[] = {{0}, LH_WAIT_FOREVER};
    for (unsigned i = 0; i < 2; i++) {
        struct lh_duration patience = waits[i].ns > 0 ? lh_ms(300) : lh_ms(60000);
        struct lh_channel *client = open_client("/tmp/lh-there-is-no-such-socket");
        struct lh_holding lease = new_lease("me");
        struct lh_errand call;
        struct lh_instant before = lh_clock_now();
        lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, waits[i], patience);
        assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
        struct lh_instant now = lh_clock_now();
        assert_int_equal(!lh_before(now, lh_after(before, patience)), waits[i].ns > 0);
        assert_int_equal(call.trouble.reach, LH_REACH_NOBODY);
        lh_channel_close(client);
    }
}

// The time-out of a renewal is what is left of the lease, however patient the caller is.
static void test_a_renewal_ends_with_the_lease(void **state)
{
    (void)state;
    FAKE_START(fake, "silent");
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = lh_after(lh_clock_now(), lh_ms(200));
    lh_errand_renew(&call, client, &lease, (struct lh_duration){0}, lh_ms(60000));
    // The channel counts from a clock reading of its own, a little later on a busy machine.
    assert_true(lh_channel_wake_at(client).ns <= lease.deadline.ns + 100 * LH_NS_PER_MS);
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
    assert_false(lh_holding_valid(&lease));
    assert_true(lh_left(lease.deadline, lh_clock_now()).ns < 10 * LH_NS_PER_S);
    lh_channel_close(client);
    fake_stop(&fake);
}

// The answer to a request that timed out must not meet the next request.
static void test_a_late_answer_meets_nobody(void **state)
{
    (void)state;
    FAKE_START(fake, "after 150 status=held token:=5 holder=ada node:=2", GRANTED(7, 5000000000));
    struct lh_channel *client = open_client(fake.path);
    static const char *const words[] = {"LEASE", "GET", "job"};
    lh_channel_begin(client, words, 3, lh_ms(30));
    assert_int_equal(lh_channel_wait(client), LH_CHANNEL_FAILED);
    lh_channel_begin(client, words, 3, lh_ms(5000));
    assert_int_equal(lh_channel_wait(client), LH_CHANNEL_ANSWERED);
    struct lh_answer answer;
    lh_answer_read(lh_channel_reply(client), "job", &answer);
    assert_int_equal(answer.status, LH_ANSWER_GRANTED);
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_renewal_keeps_the_greater_deadline(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(7, 1000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = lh_after(lh_clock_now(), lh_ms(60000));
    struct lh_instant old = lease.deadline;
    lh_errand_renew(&call, client, &lease, (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(lease.deadline.ns, old.ns);
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_renewal_under_another_token_is_not_believed(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(8, 50000000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = lh_after(lh_clock_now(), lh_ms(150));
    struct lh_instant old = lease.deadline;
    lh_errand_renew(&call, client, &lease, (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
    assert_int_equal(lease.deadline.ns, old.ns);
    assert_int_equal(lease.token, 7);
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_lost_leaves_the_deadline_standing(void **state)
{
    (void)state;
    FAKE_START(fake, "status=lost reason=revoked until-ns:=4000000000");
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = lh_after(lh_clock_now(), lh_ms(60000));
    struct lh_instant old = lease.deadline;
    lh_errand_renew(&call, client, &lease, (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_LOST);
    assert_int_equal(lease.deadline.ns, old.ns);
    assert_string_equal(call.answer.reason, "revoked");
    lh_channel_close(client);
    fake_stop(&fake);
}

// From the moment the release is handed to the kernel the token is dead here, whatever the answer.
static void test_a_released_lease_is_dead_at_once(void **state)
{
    (void)state;
    FAKE_START(fake, "status=released token:=7");
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = lh_after(lh_clock_now(), lh_ms(60000));
    assert_true(lh_holding_valid(&lease));
    lh_errand_release(&call, client, &lease, lh_ms(5000));
    assert_false(lh_holding_valid(&lease));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_RELEASED);
    assert_string_equal(fake.requests[0], "LEASE RELEASE job 7 me TIMEOUT 4500ms");
    lh_channel_close(client);
    fake_stop(&fake);
}

// A release that nobody answered may be handled at any time later: the lease is not taken up again,
// neither as granted to the same holder nor as held by it, and a greater token is a lease like any.
static void test_a_released_lease_is_not_resumed(void **state)
{
    (void)state;
    FAKE_START(fake, "close", GRANTED(7, 5000000000), "status=held token:=7 holder=$HOLDER node:=2",
               GRANTED(8, 5000000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lease.token = 7;
    lease.deadline = lh_after(lh_clock_now(), lh_ms(60000));
    lh_errand_release(&call, client, &lease, (struct lh_duration){0});
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
    lh_errand_acquire(&call, client, &lease, lh_ms(10000), lh_ms(60000), lh_ms(60000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(lease.token, 8);
    assert_int_equal(fake.request_count, 4);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(strncmp(fake.requests[i], "LEASE ACQUIRE job", 17), 0);
    lh_channel_close(client);
    fake_stop(&fake);
}

// To the holder of a revoked lease the name is taken, by that: it asks once, is told, and waits for
// the next one by another request.
static void test_a_revoked_lease_is_not_resumed(void **state)
{
    (void)state;
    FAKE_START(fake, "status=held token:=7 holder=me node:=2 free-in-ns:=3000000000 revoked:=1",
               "status=held token:=7 holder=me node:=2 free-in-ns:=3000000000 revoked:=1",
               "status=turn", GRANTED(8, 5000000000));
    struct lh_channel *client = open_client(fake.path);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    char request[400];
    lh_errand_acquire(&call, client, &lease, lh_ms(10000), (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_HELD);
    assert_true(call.answer.revoked);
    assert_int_equal(fake.request_count, 1);
    assert_false(lh_holding_valid(&lease));
    lh_errand_acquire(&call, client, &lease, lh_ms(10000), lh_ms(60000), lh_ms(60000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_GRANTED);
    assert_int_equal(lease.token, 8);
    assert_int_equal(fake.request_count, 4);
    snprintf(request, sizeof request, "%s", strstr(fake.requests[2], "HOLDER me ID "));
    assert_null(strstr(fake.requests[1], request));
    assert_non_null(strstr(request, " WAIT "));
    *strstr(request, " WAIT ") = '\0';
    assert_non_null(strstr(fake.requests[3], request));
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_errors_are_refused_or_tried_elsewhere(void **state)
{
    (void)state;
    FAKE_START(one, "-NOTREADY node 1 is in quarantine for 2s more",
               "-BADTTL the TTL '1h' is too long");
    FAKE_START(two, "-BUSY no room for another lease");
    char endpoints[140];
    snprintf(endpoints, sizeof endpoints, "%s,%s", one.path, two.path);
    struct lh_channel *client = open_client(endpoints);
    struct lh_holding lease = new_lease("me");
    struct lh_errand call;
    lh_errand_acquire(&call, client, &lease, lh_ms(3600000), (struct lh_duration){0}, lh_ms(5000));
    assert_int_equal(lh_errand_finish(&call), LH_ERRAND_REFUSED);
    assert_string_equal(call.trouble.error.text, "the TTL '1h' is too long");
    assert_int_equal(one.request_count, 2);
    assert_int_equal(two.request_count, 1);
    lh_channel_close(client);
    fake_stop(&one);
    fake_stop(&two);
}

// What is not an answer is a failure of that endpoint: the connection is closed, nothing is
// believed.
static void test_nonsense_is_not_believed(void **state)
{
    (void)state;
    static const char *const nonsense[] = {
        "raw:HTTP/1.1 400 Bad Request\r\n\r\n",
        "raw:+OK\r\n",
        "raw:*0\r\n",
        "raw:%1\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n:1\r\n", // an answer and something more
        "raw:%2\r\n$4\r\nname\r\n$5\r\nother\r\n$6\r\nstatus\r\n$4\r\nheld\r\n",
        "raw:$-2\r\n",
        "raw:%9999999\r\n",
        "status=granted token:=0 until-ns:=5000000000 rate-ppm:=10000",
        "status=granted token:=-5 until-ns:=5000000000 rate-ppm:=10000",
        "status=splendid",
        "status:=4",
        "close",
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        struct fake_daemon fake;
        fake_start(&fake, &nonsense[i], 1);
        struct lh_channel *client = open_client(fake.path);
        struct lh_holding lease = new_lease("me");
        struct lh_errand call;
        lh_errand_acquire(&call, client, &lease, (struct lh_duration){0}, (struct lh_duration){0},
                          lh_ms(60));
        assert_int_equal(lh_errand_finish(&call), LH_ERRAND_NO_QUORUM);
        assert_false(lh_holding_valid(&lease));
        lh_channel_close(client);
        fake_stop(&fake);
    }
}

static void test_names(void **state)
{
    (void)state;
    struct lh_error error;
    char longest[LH_NAME_MAX_BYTES + 2];
    memset(longest, 'a', sizeof longest);
    longest[LH_NAME_MAX_BYTES + 1] = '\0';
    assert_false(lh_name_check(longest, &error));
    longest[LH_NAME_MAX_BYTES] = '\0';
    assert_true(lh_name_check(longest, &error));
    assert_true(lh_name_check("a/b c@d", &error));
    assert_false(lh_name_check("", &error));
    assert_false(lh_name_check("@leader", &error));
    assert_false(lh_name_check("a\nb", &error));
    assert_false(lh_name_check("\xff", &error));
}

static void test_holders_differ(void **state)
{
    (void)state;
    char one[LH_HOLDER_MAX_BYTES + 1];
    char two[LH_HOLDER_MAX_BYTES + 1];
    lh_holder_make(one);
    lh_holder_make(two);
    assert_string_not_equal(one, two);
    assert_true(lh_utf8_name_valid(lh_slice_of_string(one)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_sets_the_deadline_from_the_send),
        cmocka_unit_test(test_a_grant_that_comes_too_late_is_asked_for_again),
        cmocka_unit_test(test_a_renewal_that_comes_too_late_grants_nothing),
        cmocka_unit_test(test_a_turn_is_sent_afresh_as_the_same_request),
        cmocka_unit_test(test_held_ends_an_acquisition_without_a_wait),
        cmocka_unit_test(test_held_is_asked_again_while_the_wait_lasts),
        cmocka_unit_test(test_our_own_lease_at_another_node_is_resumed),
        cmocka_unit_test(test_fails_over_from_a_daemon_that_hangs),
        cmocka_unit_test(test_a_wait_does_not_lengthen_the_patience),
        cmocka_unit_test(test_no_quorum_ends_with_the_patience),
        cmocka_unit_test(test_the_furthest_failure_is_told),
        cmocka_unit_test(test_one_request_tells_the_furthest_failure_too),
        cmocka_unit_test(test_endpoints_of_the_environment),
        cmocka_unit_test(test_nothing_listening),
        cmocka_unit_test(test_a_renewal_ends_with_the_lease),
        cmocka_unit_test(test_a_late_answer_meets_nobody),
        cmocka_unit_test(test_renewal_keeps_the_greater_deadline),
        cmocka_unit_test(test_renewal_under_another_token_is_not_believed),
        cmocka_unit_test(test_lost_leaves_the_deadline_standing),
        cmocka_unit_test(test_a_released_lease_is_dead_at_once),
        cmocka_unit_test(test_a_released_lease_is_not_resumed),
        cmocka_unit_test(test_a_revoked_lease_is_not_resumed),
        cmocka_unit_test(test_errors_are_refused_or_tried_elsewhere),
        cmocka_unit_test(test_nonsense_is_not_believed),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_holders_differ),
    };
    return cmocka_run_group_tests_name("client_lease", tests, NULL, NULL);
}
