// The life of one lease over a virtual connection and a virtual clock: what is sent when, what is
// believed of what comes, and what the application is told. Times are in milliseconds; the rate
// error in the answers is 0, so that deadlines can be read off.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/keeper.h"
#include "fake_daemon.h"

#define GRANTED(token, until_ms)                                                                   \
    "status=granted token:=" #token " holder=$HOLDER ttl-ms:=10000 until-ns:=" #until_ms           \
    "000000 rate-ppm:=0 node:=1"
#define HELD "status=held token:=5 holder=ada node:=2 free-in-ns:=3000000000 until-ns:=0"
#define TURN "status=turn until-ns:=0"

struct world {
    struct lh_keeper keeper;
    int64_t now_ms;
    bool linked;
    bool refuses;       // nobody listens
    size_t endpoint;    // of the connection
    size_t connects;    // ever
    char request[8192]; // bytes not answered yet
    size_t request_size;
    char last[400];  // the last request, words joined by spaces
    size_t requests; // whole ones, greetings not counted
    struct lh_keeper_event event;
};

static struct lh_instant now_of(const struct world *world)
{
    return (struct lh_instant){world->now_ms * LH_NS_PER_MS};
}

static void note_request(struct world *world, char **words, size_t count)
{
    world->last[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(world->last + strlen(world->last), sizeof world->last - strlen(world->last),
                 "%s%s", i > 0 ? " " : "", words[i]);
    world->requests++;
}

// Does what the keeper wishes. What it sends is gathered; each whole request is noted.
static void carry(struct world *world)
{
    struct lh_keeper *keeper = &world->keeper;
    enum lh_keeper_wish wish;
    while ((wish = lh_keeper_wish(keeper)) != LH_KEEPER_NOTHING) {
        if (wish == LH_KEEPER_CONNECT) {
            lh_keeper_name_endpoint(keeper, "there");
            world->endpoint = keeper->endpoint;
            world->connects++;
            world->linked = !world->refuses;
            if (world->refuses)
                lh_keeper_ended(keeper, now_of(world), LH_REACH_NOBODY, "refused");
            else
                lh_keeper_connected(keeper, now_of(world));
        } else if (wish == LH_KEEPER_DISCONNECT) {
            assert_true(world->linked);
            world->linked = false;
            world->request_size = 0;
        } else {
            struct lh_slice bytes = lh_keeper_output(keeper, now_of(world));
            memcpy(world->request + world->request_size, bytes.data, bytes.size_bytes);
            world->request_size += bytes.size_bytes;
            lh_keeper_wrote(keeper, bytes.size_bytes);
        }
    }
    lh_keeper_wake_at(keeper);
}

// Takes one request out of what was sent; its words point into `copy`.
static size_t cut(struct world *world, char *copy, char **words)
{
    size_t count = 0;
    memcpy(copy, world->request, world->request_size);
    size_t size = fake_cut(copy, world->request_size, words, &count);
    memmove(world->request, world->request + size, world->request_size - size);
    world->request_size -= size;
    return size > 0 ? count : 0;
}

static void receive(struct world *world, const char *bytes)
{
    size_t room;
    uint8_t *at = lh_keeper_input(&world->keeper, &room);
    size_t size = strlen(bytes);
    assert_true(size <= room);
    memcpy(at, bytes, size);
    lh_keeper_received(&world->keeper, now_of(world), size);
    carry(world);
}

// The node answers the request that is under way with `step`, as fake_daemon.h writes it.
static void answer(struct world *world, const char *step)
{
    char copy[8192];
    char text[2000];
    char reply[8000] = "";
    char *words[FAKE_WORDS_MOST];
    size_t count = cut(world, copy, words);
    assert_true(count > 0);
    if (strcmp(words[0], "HELLO") == 0) {
        receive(world, "%1\r\n$5\r\nproto\r\n:3\r\n");
        count = cut(world, copy, words);
        assert_true(count > 0);
    }
    note_request(world, words, count);
    snprintf(text, sizeof text, "%s", step);
    fake_map(text, words, count, reply);
    receive(world, reply);
}

static void at(struct world *world, int64_t ms)
{
    world->now_ms = ms;
    lh_keeper_turn(&world->keeper, now_of(world));
    carry(world);
}

static bool valid_at(const struct world *world, int64_t ms)
{
    return lh_before((struct lh_instant){ms * LH_NS_PER_MS}, lh_keeper_deadline(&world->keeper));
}

static bool told(struct world *world, enum lh_keeper_event_kind kind)
{
    return lh_keeper_event(&world->keeper, &world->event) && world->event.kind == kind;
}

static bool told_nothing(struct world *world)
{
    return !lh_keeper_event(&world->keeper, &world->event);
}

static int64_t wake_ms(struct world *world)
{
    return (lh_keeper_wake_at(&world->keeper).ns + LH_NS_PER_MS - 1) / LH_NS_PER_MS; // never early
}

static void begin_after(struct world *world, int64_t released, int64_t token,
                        struct lh_duration wait, size_t endpoints)
{
    memset(world, 0, sizeof *world);
    world->now_ms = 1000;
    lh_keeper_init(&world->keeper,
                   &(struct lh_keeper_plan){.name = "job",
                                            .holder = "me",
                                            .token = token,
                                            .released = released,
                                            .ttl = lh_ms(10000),
                                            .wait = wait,
                                            .patience = lh_ms(5000),
                                            .endpoint_count = endpoints,
                                            .seed = 7},
                   now_of(world));
    carry(world);
}

static void begin(struct world *world, int64_t token, struct lh_duration wait, size_t endpoints)
{
    begin_after(world, 0, token, wait, endpoints);
}

// Granted at 1000, on the node's word that 10 s are left: until 11000.
static void begin_held(struct world *world, size_t endpoints)
{
    begin(world, 0, (struct lh_duration){0}, endpoints);
    answer(world, GRANTED(7, 10000));
    assert_true(told(world, LH_KEEPER_GRANTED));
    assert_int_equal(world->event.token, 7);
}

static void test_the_deadline_counts_from_the_send(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 0, (struct lh_duration){0}, 1);
    assert_false(valid_at(&world, 1000));
    world.now_ms = 3000; // two seconds on their way
    answer(&world, GRANTED(7, 10000));
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_true(valid_at(&world, 10999));
    assert_false(valid_at(&world, 11000));
}

// A reply delayed beyond the TTL grants nothing; it is renewed, which asks for a fresh answer.
static void test_a_late_reply_grants_nothing(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 0, (struct lh_duration){0}, 1);
    world.now_ms = 1000 + 2000;
    answer(&world, GRANTED(7, 2000));
    assert_true(told_nothing(&world));
    assert_false(valid_at(&world, world.now_ms));
    answer(&world, GRANTED(7, 2000));
    assert_int_equal(strncmp(world.last, "LEASE RENEW job 7 me", 20), 0);
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_true(valid_at(&world, 4999));
    assert_false(valid_at(&world, 5000));
    // One millisecond earlier the first one would have counted.
    begin(&world, 0, (struct lh_duration){0}, 1);
    world.now_ms = 1000 + 1999;
    answer(&world, GRANTED(7, 2000));
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_true(valid_at(&world, 2999));
    assert_false(valid_at(&world, 3000));
}

static void test_renews_from_half_of_the_ttl(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    int64_t renew_ms = wake_ms(&world);
    assert_in_range(renew_ms, 1000 + 4500, 1000 + 5000);
    at(&world, renew_ms - 1);
    assert_int_equal(world.request_size, 0);
    at(&world, renew_ms + 1);
    assert_true(world.request_size > 0);
    answer(&world, GRANTED(7, 10000));
    assert_int_equal(strncmp(world.last, "LEASE RENEW job 7 me", 20), 0);
    assert_int_equal(lh_keeper_deadline(&world.keeper).ns, (renew_ms + 1 + 10000) * LH_NS_PER_MS);
    assert_true(told_nothing(&world));
    assert_int_equal(world.connects, 1);
}

// A coalesced renewal is answered with less than a fresh one would be: nothing is over-granted,
// and no deadline moves back (rule D).
static void test_a_coalesced_reply_moves_nothing_back(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    at(&world, 6000);
    answer(&world, GRANTED(7, 3000)); // 9000: less than the 11000 there are
    assert_true(valid_at(&world, 10999));
    assert_false(valid_at(&world, 11000));
    at(&world, wake_ms(&world) + 1);
    assert_true(world.request_size > 0);
    answer(&world, GRANTED(7, 3000));
    assert_true(valid_at(&world, world.now_ms + 2900));
    assert_false(valid_at(&world, world.now_ms + 3000));
}

// A second answer to one request belongs to nobody: the connection is closed, and only a renewal
// over a new one counts.
static void test_a_repeated_reply_is_nobodys(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    world.now_ms = 2000;
    receive(&world, "%2\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n$8\r\nuntil-ns\r\n:99000000000\r\n");
    assert_true(valid_at(&world, 10999));
    assert_false(valid_at(&world, 11000));
    assert_int_equal(world.connects, 2);
    answer(&world, GRANTED(7, 10000));
    assert_false(valid_at(&world, 12000));
    assert_true(told_nothing(&world));
}

// The time-out of a request is never above what is left; then the connection ends with it.
static void test_a_timeout_closes_the_connection(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 2);
    at(&world, 7000); // 4 s left, two endpoints
    assert_in_range(wake_ms(&world), 8999, 9000);
    assert_int_equal(world.endpoint, 0);
    at(&world, 8999);
    assert_int_equal(world.connects, 1);
    at(&world, 9001);
    assert_int_equal(world.connects, 2);
    assert_int_equal(world.endpoint, 1);
    assert_true(wake_ms(&world) <= 11000);
    answer(&world, GRANTED(7, 10000)); // of the second, from its own send
    assert_false(valid_at(&world, 19001));
    assert_true(valid_at(&world, 19000));
}

// Scenario 2: every renewal fails from now on. Told no later than a TTL after the last good send.
static void test_scenario_2_the_loss_is_told_at_the_deadline_without_help(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    while (wake_ms(&world) < 11000)
        at(&world, wake_ms(&world) + 1);
    at(&world, 11000);
    while (told(&world, LH_KEEPER_ENDANGERED))
        ;
    assert_int_equal(world.event.kind, LH_KEEPER_LOST);
    assert_int_equal(world.event.cause, LH_KEEPER_BY_QUORUM);
    assert_false(valid_at(&world, 11000));
    assert_int_equal(world.keeper.phase, LH_KEEPER_ENDED);
    // An answer that comes now changes nothing.
    assert_false(world.linked);
}

static void test_a_stall_is_the_cause(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    at(&world, 20000);
    assert_true(told(&world, LH_KEEPER_LOST));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_STALL);
    assert_in_range(world.event.stalled.ns / LH_NS_PER_MS, 14000, 14600);
    // Late by less than a quarter of the TTL: no stall, however the lease ended.
    begin_held(&world, 1);
    int64_t due_ms = wake_ms(&world);
    at(&world, due_ms + 2499);
    while (world.keeper.phase != LH_KEEPER_ENDED)
        at(&world, wake_ms(&world) + 1);
    while (told(&world, LH_KEEPER_ENDANGERED))
        ;
    assert_int_equal(world.event.kind, LH_KEEPER_LOST);
    assert_int_equal(world.event.cause, LH_KEEPER_BY_QUORUM);
    begin_held(&world, 1);
    at(&world, due_ms + 2501);
    while (world.keeper.phase != LH_KEEPER_ENDED)
        at(&world, wake_ms(&world) + 1);
    while (told(&world, LH_KEEPER_ENDANGERED))
        ;
    assert_int_equal(world.event.cause, LH_KEEPER_BY_STALL);
}

// What queued up while the process stood still activates nothing.
static void test_an_answer_after_the_deadline_comes_too_late(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    at(&world, 6000);
    world.now_ms = 11000;
    answer(&world, GRANTED(7, 10000)); // 16000, had it been looked at in time
    assert_true(told(&world, LH_KEEPER_LOST));
    assert_false(valid_at(&world, 11000));
    begin_held(&world, 1);
    at(&world, 6000);
    world.now_ms = 10999;
    answer(&world, GRANTED(7, 10000));
    assert_true(told_nothing(&world));
    assert_true(valid_at(&world, 15999));
}

static void test_revoked_is_told_and_the_deadline_stands(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    at(&world, 6000);
    answer(&world, "status=lost until-ns:=0 reason=it_was_revoked");
    assert_true(told(&world, LH_KEEPER_LOST));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_OTHER); // other words
    begin_held(&world, 1);
    at(&world, 6000);
    answer(&world, "status=lost until-ns:=0 revoked:=1 reason=so");
    assert_true(told(&world, LH_KEEPER_LOST));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_REVOKE);
    assert_true(valid_at(&world, 10999));
    at(&world, 9000);
    assert_int_equal(world.request_size, 0); // it is not asked again
    lh_keeper_release(&world.keeper, now_of(&world));
    assert_false(valid_at(&world, 9000)); // before the bytes are out
    carry(&world);
    answer(&world, "status=released token:=7");
    assert_non_null(strstr(world.last, "LEASE RELEASE job 7 me TIMEOUT "));
    assert_true(told(&world, LH_KEEPER_WAS_RELEASED));
    assert_int_equal(world.event.cause, LH_KEEPER_NO_CAUSE);
    at(&world, 12000);
    assert_true(told_nothing(&world));
}

static void test_a_loss_is_told_once(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    at(&world, 6000);
    answer(&world, "status=lost until-ns:=0 reason=so");
    assert_true(told(&world, LH_KEEPER_LOST));
    at(&world, 10999);
    assert_int_equal(world.keeper.phase, LH_KEEPER_DOOMED);
    at(&world, 11000);
    assert_int_equal(world.keeper.phase, LH_KEEPER_ENDED);
    assert_true(told_nothing(&world));
    assert_int_equal(lh_keeper_wake_at(&world.keeper).ns, LH_NEVER.ns);
}

static void test_a_node_that_is_gone_is_the_cause(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    world.refuses = true;
    world.linked = false;
    lh_keeper_ended(&world.keeper, now_of(&world), LH_REACH_BROKEN, "closed");
    carry(&world);
    assert_true(told(&world, LH_KEEPER_ENDANGERED)); // at once, with the deadline far away
    assert_int_equal(world.event.cause, LH_KEEPER_BY_NODE);
    assert_true(valid_at(&world, 10999));
    while (world.keeper.phase != LH_KEEPER_ENDED)
        at(&world, wake_ms(&world));
    assert_true(world.connects > 5); // tried on
    assert_true(told(&world, LH_KEEPER_LOST));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_NODE);
    assert_int_equal(world.now_ms, 11000);
}

static void test_fails_over_and_keeps_the_token(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 2);
    world.linked = false;
    lh_keeper_ended(&world.keeper, now_of(&world), LH_REACH_BROKEN, "closed");
    world.refuses = true;
    assert_int_equal(lh_keeper_wish(&world.keeper), LH_KEEPER_CONNECT);
    assert_int_equal(world.keeper.endpoint, 0); // first where it was
    world.refuses = false;
    lh_keeper_ended(&world.keeper, now_of(&world), LH_REACH_NOBODY, "refused");
    carry(&world);
    assert_int_equal(world.endpoint, 1);
    assert_true(told(&world, LH_KEEPER_ENDANGERED)); // at once: only that node can renew it
    assert_int_equal(world.event.cause, LH_KEEPER_BY_NODE);
    answer(&world, GRANTED(7, 10000));
    assert_true(told_nothing(&world));
    assert_true(valid_at(&world, 10999));
    at(&world, 9000);
    assert_int_equal(world.endpoint, 0); // the next renewal begins at the owner again
    answer(&world, GRANTED(7, 10000));
    assert_true(valid_at(&world, 18999));
    assert_true(told_nothing(&world));
}

// Scenario 1: A expired; it comes back with its old record and is told that it is not the owner.
static void test_scenario_1_an_old_record_is_not_the_owner(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 7, (struct lh_duration){0}, 1);
    assert_false(valid_at(&world, 1000));
    answer(&world, "status=lost until-ns:=0 reason=it_ended");
    assert_int_equal(strncmp(world.last, "LEASE RENEW job 7 me", 20), 0);
    assert_true(told(&world, LH_KEEPER_NOT_ACQUIRED));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_OTHER);
    assert_int_equal(world.keeper.phase, LH_KEEPER_ENDED);
    assert_false(valid_at(&world, 1000));
}

static void test_resumes_under_the_same_token(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 7, (struct lh_duration){0}, 1);
    world.now_ms = 2000;
    answer(&world, GRANTED(7, 4000)); // sent at 1000
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_int_equal(world.event.token, 7);
    assert_true(valid_at(&world, 4999));
    assert_false(valid_at(&world, 5000));
    begin(&world, 7, (struct lh_duration){0}, 1);
    answer(&world, GRANTED(8, 4000)); // another token is not ours
    assert_true(told_nothing(&world));
    assert_false(valid_at(&world, 1000));
}

static void test_a_waiter_is_woken_and_sends_afresh(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 0, (struct lh_duration){INT64_MAX}, 1);
    answer(&world, HELD);
    assert_true(told(&world, LH_KEEPER_OWNER));
    assert_string_equal(world.event.holder, "ada");
    assert_int_equal(world.event.free_in.ns, 3 * LH_NS_PER_S);
    world.now_ms = 20000;
    answer(&world, TURN);
    assert_non_null(strstr(world.last, " WAIT 30s"));
    world.now_ms = 20100;
    answer(&world, GRANTED(9, 10000));
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_true(valid_at(&world, 29999)); // from the turn, not from the beginning
    assert_false(valid_at(&world, 30000));
}

// Scenario 7: B held it in between; the answer names the predecessor.
static void test_scenario_7_the_grant_names_whom_we_waited_for(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 0, (struct lh_duration){INT64_MAX}, 1);
    answer(&world, HELD);
    answer(&world, TURN);
    answer(&world, GRANTED(9, 10000));
    assert_true(told(&world, LH_KEEPER_OWNER));
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_int_equal(world.event.token, 9);
    assert_int_equal(world.event.last_token, 5);
    assert_string_equal(world.event.last_holder, "ada");
}

#define HOLDERS 14000
#define PAUSE_FROM_MS 26000
#define PAUSE_TO_MS 36000
#define BUCKET_MS 100
#define BUCKETS (200000 / BUCKET_MS)

// One holder of 60 s from its grant at 1000 on, for three renewals; notes when it asked.
static void renew_three_times(uint64_t seed, size_t *asked)
{
    struct world world;
    begin(&world, 0, (struct lh_duration){0}, 1);
    lh_prng_seed_number(&world.keeper.prng, seed);
    answer(&world, GRANTED(7, 60000));
    assert_true(told(&world, LH_KEEPER_GRANTED));
    for (size_t renewals = 0; renewals < 3;) {
        bool asks = world.request_size > 0;
        int64_t answer_ms = world.now_ms;
        if (answer_ms >= PAUSE_FROM_MS && answer_ms < PAUSE_TO_MS)
            answer_ms = PAUSE_TO_MS;
        if (asks && (answer_ms == world.now_ms || answer_ms <= wake_ms(&world))) {
            world.now_ms = answer_ms;
            answer(&world, GRANTED(7, 60000));
            renewals++;
            continue;
        }
        at(&world, wake_ms(&world));
        if (world.request_size > 0)
            asked[world.now_ms / BUCKET_MS]++;
        assert_true(told_nothing(&world));
        assert_true(valid_at(&world, world.now_ms));
    }
}

// Scenario 35: 14,000 were granted at one instant, and at another the cluster, which had paused for
// 10 s, answers all that had asked. Spread over a tenth of their half TTL, 3 s, 470 in 100 ms would be
// even.
static void test_scenario_35_renewals_are_spread_after_a_pause(void **state)
{
    (void)state;
    static size_t asked[BUCKETS];
    size_t most = 0;
    size_t sum = 0;
    for (uint64_t seed = 1; seed <= HOLDERS; seed++)
        renew_three_times(seed, asked);
    for (size_t i = 0; i < BUCKETS; i++) {
        most = asked[i] > most ? asked[i] : most;
        sum += asked[i];
    }
    assert_in_range(sum, 3 * HOLDERS, 4 * HOLDERS);
    assert_in_range(most, 400, 940);
}

static void test_held_ends_an_acquisition_that_does_not_wait(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 0, (struct lh_duration){0}, 1);
    answer(&world, HELD);
    assert_true(told(&world, LH_KEEPER_NOT_ACQUIRED));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_HOLDER);
    assert_string_equal(world.event.holder, "ada");
    assert_false(world.linked);
}

static void test_scenario_34_without_interest_it_runs_out(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    lh_keeper_interest(&world.keeper, (struct lh_instant){3000 * LH_NS_PER_MS});
    while (world.keeper.phase != LH_KEEPER_ENDED)
        at(&world, wake_ms(&world));
    assert_int_equal(world.requests, 1);
    assert_true(told(&world, LH_KEEPER_LOST));
    assert_int_equal(world.event.cause, LH_KEEPER_BY_NEGLECT);
    // Shown again in time, by another thread that wakes nobody.
    begin_held(&world, 1);
    lh_keeper_interest(&world.keeper, (struct lh_instant){3000 * LH_NS_PER_MS});
    at(&world, wake_ms(&world) + 1);
    assert_int_equal(world.request_size, 0);
    lh_keeper_interest(&world.keeper, LH_NEVER);
    at(&world, wake_ms(&world) + 1);
    assert_true(world.request_size > 0);
}

static void test_release_leaves_the_line(void **state)
{
    (void)state;
    struct world world;
    begin(&world, 0, (struct lh_duration){INT64_MAX}, 1);
    answer(&world, HELD);
    assert_true(told(&world, LH_KEEPER_OWNER));
    lh_keeper_release(&world.keeper, now_of(&world));
    carry(&world);
    assert_false(world.linked);
    assert_true(told(&world, LH_KEEPER_WAS_RELEASED));
}

static void test_a_release_in_the_midst_of_a_renewal_goes_over_a_new_connection(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    at(&world, 6000);
    lh_keeper_release(&world.keeper, now_of(&world));
    carry(&world);
    assert_int_equal(world.connects, 2);
    answer(&world, "status=released token:=7");
    assert_non_null(strstr(world.last, "LEASE RELEASE job 7 me TIMEOUT "));
    assert_true(told(&world, LH_KEEPER_WAS_RELEASED));
}

// Found by the fuzzer: a grant is no answer to a release, and revives nothing.
static void test_a_grant_in_answer_to_a_release_grants_nothing(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    lh_keeper_release(&world.keeper, now_of(&world));
    carry(&world);
    answer(&world, GRANTED(7, 10000));
    assert_false(valid_at(&world, 1000));
    assert_true(told_nothing(&world)); // it is asked again
    at(&world, wake_ms(&world) + 1);
    answer(&world, "status=released token:=7");
    assert_true(told(&world, LH_KEEPER_WAS_RELEASED));
    assert_int_equal(world.event.cause, LH_KEEPER_NO_CAUSE);
}

// Found by the simulator: a release that nobody answered is still under way when its holder asks
// again. The lease that it will end is not taken up, neither where it is nor from elsewhere.
static void test_a_released_lease_is_not_taken_up_again(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    assert_int_equal(lh_keeper_released(&world.keeper), 0);
    lh_keeper_release(&world.keeper, now_of(&world));
    carry(&world);
    assert_int_equal(lh_keeper_released(&world.keeper), 7);
    at(&world, 6000); // the patience ends
    assert_true(told(&world, LH_KEEPER_WAS_RELEASED));
    assert_int_equal(lh_keeper_released(&world.keeper), 7);
    begin_after(&world, 7, 0, lh_ms(60000), 1);
    answer(&world, GRANTED(7, 10000));
    assert_true(told_nothing(&world));
    at(&world, wake_ms(&world));
    answer(&world, "status=held token:=7 holder=me node:=2 free-in-ns:=3000000000 until-ns:=0");
    assert_int_equal(lh_keeper_released(&world.keeper), 7);
    answer(&world, GRANTED(8, 10000));
    assert_int_equal(strncmp(world.last, "LEASE ACQUIRE job", 17), 0);
    assert_true(told(&world, LH_KEEPER_OWNER));
    assert_true(told(&world, LH_KEEPER_GRANTED));
    assert_int_equal(world.event.token, 8);
    assert_int_equal(lh_keeper_released(&world.keeper), 0);
}

static void test_an_answered_release_is_over(void **state)
{
    (void)state;
    struct world world;
    begin_held(&world, 1);
    lh_keeper_release(&world.keeper, now_of(&world));
    carry(&world);
    answer(&world, "status=released token:=7");
    assert_int_equal(lh_keeper_released(&world.keeper), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_deadline_counts_from_the_send),
        cmocka_unit_test(test_a_late_reply_grants_nothing),
        cmocka_unit_test(test_renews_from_half_of_the_ttl),
        cmocka_unit_test(test_a_coalesced_reply_moves_nothing_back),
        cmocka_unit_test(test_a_repeated_reply_is_nobodys),
        cmocka_unit_test(test_a_timeout_closes_the_connection),
        cmocka_unit_test(test_scenario_2_the_loss_is_told_at_the_deadline_without_help),
        cmocka_unit_test(test_a_stall_is_the_cause),
        cmocka_unit_test(test_an_answer_after_the_deadline_comes_too_late),
        cmocka_unit_test(test_revoked_is_told_and_the_deadline_stands),
        cmocka_unit_test(test_a_loss_is_told_once),
        cmocka_unit_test(test_a_node_that_is_gone_is_the_cause),
        cmocka_unit_test(test_fails_over_and_keeps_the_token),
        cmocka_unit_test(test_scenario_1_an_old_record_is_not_the_owner),
        cmocka_unit_test(test_resumes_under_the_same_token),
        cmocka_unit_test(test_a_waiter_is_woken_and_sends_afresh),
        cmocka_unit_test(test_scenario_7_the_grant_names_whom_we_waited_for),
        cmocka_unit_test(test_scenario_35_renewals_are_spread_after_a_pause),
        cmocka_unit_test(test_held_ends_an_acquisition_that_does_not_wait),
        cmocka_unit_test(test_scenario_34_without_interest_it_runs_out),
        cmocka_unit_test(test_release_leaves_the_line),
        cmocka_unit_test(test_a_grant_in_answer_to_a_release_grants_nothing),
        cmocka_unit_test(test_a_release_in_the_midst_of_a_renewal_goes_over_a_new_connection),
        cmocka_unit_test(test_a_released_lease_is_not_taken_up_again),
        cmocka_unit_test(test_an_answered_release_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
