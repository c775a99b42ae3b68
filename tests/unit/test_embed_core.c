// The embedded core: three members over a network in memory that loses, repeats, delays and turns
// round; one clock, moved by the test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "leasehold/core.h"

#define MEMBERS 3
#define PACKETS 512
#define MS INT64_C(1000000)

struct packet {
    int64_t at_ns;
    uint8_t to;
    size_t size;
    unsigned char bytes[LH_CORE_MESSAGE_BYTES];
};

struct world {
    int64_t now_ns;
    struct lh_core *cores[MEMBERS]; // NULL: down
    void *memory[MEMBERS];
    uint64_t durable[MEMBERS];
    size_t reserves;
    struct lh_prng prng;
    unsigned loss_percent, repeat_percent;
    int64_t delay_most_ns;
    struct packet packets[PACKETS];
    size_t packet_count;
    struct lh_core_event last[MEMBERS]; // of each kind that is not RESERVE
    int64_t greatest_token;
};

static const struct lh_core_key key = {"job"};

static struct lh_core_config config_of(const struct world *world, unsigned i, bool first)
{
    struct lh_core_config config = {.size_bytes = sizeof config,
                                    .node = (uint8_t)(i + 1),
                                    .member_count = MEMBERS,
                                    .members = {1, 2, 3},
                                    .max_ttl_ms = 1000,
                                    .rate_ppm = 10000,
                                    .max_leases = 16,
                                    .cluster = 7,
                                    .reserved = world->durable[i],
                                    .first = first};
    config.seed[0] = (uint8_t)(i + 1);
    config.seed[1] = (uint8_t)(world->now_ns / MS);
    config.seed[2] = (uint8_t)(world->now_ns / MS / 256);
    return config;
}

static void referee(struct world *world)
{
    unsigned holders = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (world->cores[i] != NULL && lh_core_holds(world->cores[i], world->now_ns, key)) {
            holders++;
            int64_t token = lh_core_token(world->cores[i], world->now_ns, key);
            assert_true(token >= world->greatest_token);
            world->greatest_token = token;
        }
    assert_true(holders <= 1);
}

static void post(struct world *world, const struct packet *packet)
{
    if (lh_prng_below(&world->prng, 100) < world->loss_percent || world->packet_count == PACKETS)
        return;
    world->packets[world->packet_count++] = *packet;
}

// Takes what a core wants sent and told; what must be durable is so at once.
static void carry(struct world *world, unsigned i)
{
    struct packet packet;
    struct lh_core_event event;
    while (lh_core_send(world->cores[i], &packet.to, packet.bytes, &packet.size)) {
        packet.at_ns = world->now_ns +
                       (int64_t)lh_prng_below(&world->prng, (uint64_t)world->delay_most_ns + 1);
        post(world, &packet);
        if (lh_prng_below(&world->prng, 100) < world->repeat_percent) {
            packet.at_ns += 300 * MS;
            post(world, &packet);
        }
    }
    while (lh_core_event(world->cores[i], &event)) {
        if (event.kind == LH_CORE_RESERVE) {
            world->durable[i] = event.reserve;
            world->reserves++;
            lh_core_reserved(world->cores[i], event.reserve);
        } else {
            world->last[i] = event;
        }
    }
    referee(world);
}

static void start(struct world *world, unsigned i, bool first)
{
    struct lh_core_config config = config_of(world, i, first);
    size_t size = lh_core_size(&config);
    assert_true(size > 0);
    free(world->memory[i]);
    world->memory[i] = aligned_alloc(16, (size + 15) / 16 * 16);
    assert_int_equal(lh_core_init(world->memory[i], size, &config, world->now_ns, &world->cores[i]),
                     LH_OK);
    carry(world, i);
}

static struct world *open_world(void)
{
    struct world *world = calloc(1, sizeof *world);
    world->now_ns = 1000 * MS;
    world->delay_most_ns = MS;
    lh_prng_seed_number(&world->prng, 1);
    for (unsigned i = 0; i < MEMBERS; i++)
        start(world, i, true);
    return world;
}

static void close_world(struct world *world)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        free(world->memory[i]);
    free(world);
}

// The next thing that happens, if it does before `until_ns`.
static bool step(struct world *world, int64_t until_ns)
{
    int64_t at_ns = until_ns;
    int due = -1;
    size_t found = PACKETS;
    for (unsigned i = 0; i < MEMBERS; i++)
        if (world->cores[i] != NULL && lh_core_deadline_ns(world->cores[i]) < at_ns) {
            at_ns = lh_core_deadline_ns(world->cores[i]);
            due = (int)i;
        }
    for (size_t i = 0; i < world->packet_count; i++)
        if (world->packets[i].at_ns < at_ns) {
            at_ns = world->packets[i].at_ns;
            found = i;
        }
    if (due < 0 && found == PACKETS) {
        world->now_ns = until_ns;
        return false;
    }
    world->now_ns = at_ns > world->now_ns ? at_ns : world->now_ns;
    if (found == PACKETS) {
        lh_core_timer(world->cores[due], world->now_ns);
        carry(world, (unsigned)due);
        return true;
    }
    struct packet packet = world->packets[found];
    world->packets[found] = world->packets[--world->packet_count];
    unsigned to = packet.to - 1u;
    if (world->cores[to] != NULL) {
        lh_core_receive(world->cores[to], world->now_ns, packet.bytes, packet.size);
        carry(world, to);
    }
    return true;
}

static void pass(struct world *world, int64_t ms)
{
    int64_t until_ns = world->now_ns + ms * MS;
    while (step(world, until_ns))
        referee(world);
}

static enum lh_return acquire(struct world *world, unsigned i, int64_t ttl_ms)
{
    enum lh_return result = lh_core_acquire(world->cores[i], world->now_ns, key, ttl_ms);
    carry(world, i);
    return result;
}

static bool holds(const struct world *world, unsigned i)
{
    return lh_core_holds(world->cores[i], world->now_ns, key);
}

static void test_acquire_renew_release(void **state)
{
    (void)state;
    struct world *world = open_world();
    assert_int_equal(world->reserves, MEMBERS); // asked for before the first attempt
    int64_t from_ns = world->now_ns;
    assert_int_equal(acquire(world, 0, 500), LH_OK);
    pass(world, 20);
    assert_int_equal(world->last[0].kind, LH_CORE_ACQUIRED);
    assert_int_equal(world->last[0].at_ns, from_ns + 500 * MS);
    assert_int_equal(world->last[0].token, lh_core_token(world->cores[0], world->now_ns, key));
    int64_t token = world->last[0].token;
    assert_int_equal(acquire(world, 0, 500), LH_STATE);

    acquire(world, 1, 500);
    pass(world, 20);
    assert_int_equal(world->last[1].kind, LH_CORE_BLOCKED);
    assert_true(world->last[1].at_ns >= from_ns + 500 * MS);

    from_ns = world->now_ns;
    assert_int_equal(lh_core_renew(world->cores[0], world->now_ns, key, 500), LH_OK);
    carry(world, 0);
    pass(world, 20);
    assert_int_equal(world->last[0].kind, LH_CORE_RENEWED);
    assert_int_equal(world->last[0].token, token);
    assert_true(lh_core_holds(world->cores[0], from_ns + 500 * MS - 1, key));
    assert_false(lh_core_holds(world->cores[0], from_ns + 500 * MS, key));

    assert_int_equal(lh_core_release(world->cores[0], world->now_ns, key), LH_OK);
    assert_false(holds(world, 0));
    carry(world, 0);
    pass(world, 5);
    assert_int_equal(world->last[1].kind, LH_CORE_WOKEN);
    acquire(world, 1, 500);
    pass(world, 20);
    assert_true(holds(world, 1));
    assert_true(world->last[1].token > token);
    assert_int_equal(lh_core_release(world->cores[0], world->now_ns, key), LH_STATE);
    close_world(world);
}

static void test_lost_at_the_deadline_without_a_quorum(void **state)
{
    (void)state;
    struct world *world = open_world();
    acquire(world, 0, 500);
    pass(world, 20);
    world->cores[1] = world->cores[2] = NULL;
    lh_core_renew(world->cores[0], world->now_ns, key, 500);
    carry(world, 0);
    pass(world, 600);
    assert_int_equal(world->last[0].kind, LH_CORE_LOST);
    assert_false(holds(world, 0));
    close_world(world);
}

// A4: with two of three restarted, nobody acquires until a quarantine has passed.
static void test_a_restarted_member_is_silent_for_a_quarantine(void **state)
{
    (void)state;
    struct world *world = open_world();
    acquire(world, 0, 1000);
    pass(world, 20);
    assert_true(holds(world, 0));
    start(world, 1, false);
    start(world, 2, false);
    acquire(world, 1, 1000);
    pass(world, 900);
    assert_true(holds(world, 0));
    assert_false(holds(world, 1));
    pass(world, 1000);
    assert_true(holds(world, 1));
    close_world(world);
}

// F2: what was never made durable is never issued, and a restart goes on above what was.
static void test_tokens_rise_through_a_restart(void **state)
{
    (void)state;
    struct world *world = open_world();
    acquire(world, 0, 200);
    pass(world, 20);
    int64_t token = world->last[0].token;
    for (unsigned i = 0; i < MEMBERS; i++)
        start(world, i, false);
    acquire(world, 0, 200);
    pass(world, 1500);
    assert_true(world->greatest_token > token);
    assert_true((uint64_t)world->greatest_token >> 16 > UINT64_C(1) << 20);
    close_world(world);
}

static void test_nothing_is_acquired_before_the_reservation_is_durable(void **state)
{
    (void)state;
    struct world *world = open_world();
    struct lh_core_config config = config_of(world, 0, true);
    struct lh_core_event event;
    config.member_count = 1;
    start(world, 0, true);
    assert_int_equal(lh_core_init(world->memory[0], lh_core_size(&config), &config, world->now_ns,
                                  &world->cores[0]),
                     LH_OK);
    lh_core_acquire(world->cores[0], world->now_ns, key, 500);
    assert_false(holds(world, 0));
    assert_true(lh_core_event(world->cores[0], &event));
    assert_int_equal(event.kind, LH_CORE_RESERVE);
    lh_core_reserved(world->cores[0], event.reserve + 1); // never asked for: passed over
    lh_core_timer(world->cores[0], world->now_ns + 400 * MS);
    assert_false(lh_core_holds(world->cores[0], world->now_ns + 400 * MS, key));
    lh_core_reserved(world->cores[0], event.reserve);
    for (int64_t ms = 400; ms < 3000; ms += 10)
        lh_core_timer(world->cores[0], world->now_ns + ms * MS);
    world->now_ns += 2990 * MS;
    bool acquired = false;
    while (lh_core_event(world->cores[0], &event))
        acquired = acquired || event.kind == LH_CORE_ACQUIRED;
    assert_true(acquired);
    close_world(world);
}

static void test_strange_bytes_are_refused(void **state)
{
    (void)state;
    struct world *world = open_world();
    struct packet good;
    struct packet bad;
    lh_core_acquire(world->cores[0], world->now_ns, key, 500);
    assert_true(lh_core_send(world->cores[0], &good.to, good.bytes, &good.size));
    assert_int_equal(good.to, 2);
    for (size_t size = 0; size < good.size; size++)
        assert_int_equal(lh_core_receive(world->cores[1], world->now_ns, good.bytes, size),
                         LH_ARGUMENT);
    memcpy(bad.bytes, good.bytes, good.size);
    bad.bytes[good.size] = 0;
    assert_int_equal(lh_core_receive(world->cores[1], world->now_ns, bad.bytes, good.size + 1),
                     LH_ARGUMENT);
    // magic, sender, destination, cluster, max-ttl, rate, kind
    static const size_t places[] = {0, 4, 5, 6, 38, 42, 46};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        memcpy(bad.bytes, good.bytes, good.size);
        bad.bytes[places[i]] ^= 0x40;
        assert_int_equal(lh_core_receive(world->cores[1], world->now_ns, bad.bytes, good.size),
                         LH_ARGUMENT);
    }
    assert_int_equal(lh_core_receive(world->cores[2], world->now_ns, good.bytes, good.size),
                     LH_ARGUMENT);
    assert_int_equal(lh_core_receive(world->cores[1], world->now_ns, good.bytes, good.size), LH_OK);
    // Its answer, to another life of the asker.
    assert_true(lh_core_send(world->cores[1], &bad.to, bad.bytes, &bad.size));
    assert_int_equal(bad.to, 1);
    assert_int_equal(lh_core_receive(world->cores[0], world->now_ns, bad.bytes, bad.size), LH_OK);
    world->now_ns += MS; // another seed
    start(world, 0, true);
    assert_int_equal(lh_core_receive(world->cores[0], world->now_ns, bad.bytes, bad.size),
                     LH_STALE);
    close_world(world);
}

static void test_wrong_configurations_are_refused(void **state)
{
    (void)state;
    struct world *world = open_world();
    struct lh_core_config config = config_of(world, 0, true);
    assert_true(lh_core_size(&config) > 0);
#define WRONG(change)                                                                              \
    config = config_of(world, 0, true);                                                            \
    change;                                                                                        \
    assert_int_equal(lh_core_size(&config), 0)
    WRONG(config.size_bytes--);
    WRONG(config.node = 4);
    WRONG(config.member_count = 0);
    WRONG(config.member_count = 8);
    WRONG(config.members[1] = 1);
    WRONG(config.max_ttl_ms = 49);
    WRONG(config.max_ttl_ms = 3600001);
    WRONG(config.rate_ppm = 0);
    WRONG(config.rate_ppm = 100001);
    WRONG(config.max_leases = 0);
    WRONG(config.reserved = UINT64_MAX);
    struct lh_core *core = NULL;
    config = config_of(world, 0, true);
    size_t size = lh_core_size(&config);
    assert_int_equal(lh_core_init(world->memory[0], size - 1, &config, 1, &core), LH_ARGUMENT);
    assert_int_equal(lh_core_init((uint8_t *)world->memory[0] + 8, size, &config, 1, &core),
                     LH_ARGUMENT);
    assert_int_equal(acquire(world, 1, 49), LH_ARGUMENT);
    assert_int_equal(acquire(world, 1, 1001), LH_ARGUMENT);
    assert_int_equal(acquire(world, 1, 1000), LH_OK);
    close_world(world);
}

static void test_keys_fill_and_are_forgotten(void **state)
{
    (void)state;
    struct world *world = open_world();
    struct lh_core_key other = {"a"};
    for (unsigned i = 0; i < 16; i++) {
        other.bytes[1] = (unsigned char)i;
        assert_int_equal(lh_core_acquire(world->cores[0], world->now_ns, other, 500), LH_OK);
    }
    assert_int_equal(lh_core_acquire(world->cores[0], world->now_ns, key, 500), LH_FULL);
    assert_false(lh_core_forget(world->cores[0], world->now_ns, other));
    lh_core_stop(world->cores[0], other);
    assert_true(lh_core_forget(world->cores[0], world->now_ns, other));
    assert_int_equal(lh_core_acquire(world->cores[0], world->now_ns, key, 500), LH_OK);
    close_world(world);
}

// All want it, over a bad network, and members crash; the referee looks at each step.
static void test_never_two_over_a_bad_network(void **state)
{
    (void)state;
    struct world *world = open_world();
    uint64_t acquired = 0;
    world->loss_percent = 10;
    world->repeat_percent = 20;
    world->delay_most_ns = 20 * MS;
    for (unsigned round = 0; round < 3000; round++) {
        unsigned i = (unsigned)lh_prng_below(&world->prng, MEMBERS);
        switch (lh_prng_below(&world->prng, 40)) {
        case 0: start(world, i, false); break;
        case 1:
            lh_core_release(world->cores[i], world->now_ns, key);
            carry(world, i);
            break;
        case 2:
            lh_core_renew(world->cores[i], world->now_ns, key, 300);
            carry(world, i);
            break;
        default: acquire(world, i, 300); break;
        }
        int64_t before = world->greatest_token;
        pass(world, 1 + (int64_t)lh_prng_below(&world->prng, 100));
        acquired += world->greatest_token > before;
    }
    assert_true(acquired > 100);
    close_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_renew_release),
        cmocka_unit_test(test_lost_at_the_deadline_without_a_quorum),
        cmocka_unit_test(test_a_restarted_member_is_silent_for_a_quarantine),
        cmocka_unit_test(test_tokens_rise_through_a_restart),
        cmocka_unit_test(test_nothing_is_acquired_before_the_reservation_is_durable),
        cmocka_unit_test(test_strange_bytes_are_refused),
        cmocka_unit_test(test_wrong_configurations_are_refused),
        cmocka_unit_test(test_keys_fill_and_are_forgotten),
        cmocka_unit_test(test_never_two_over_a_bad_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
