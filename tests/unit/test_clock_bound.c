// Two clocks whose rates and offset the test knows, 10,000 times: datagrams are delayed, lost,
// held, delivered late and again, and the intervals must contain the truth each time one is given.
// They must also be narrow, or they would prove nothing.
#include "host/clock_bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/prng.h"

#define RUNS 10000

struct clock {
    int64_t offset_ns, rate_ppm;
};

static int64_t reading(struct clock clock, int64_t true_ns)
{
    const int64_t part = true_ns % 1000000 * clock.rate_ppm;
    return clock.offset_ns + true_ns + true_ns / 1000000 * clock.rate_ppm + part / 1000000 -
           (part % 1000000 < 0);
}

struct datagram {
    uint64_t echo, held, stamp;
    int64_t sent_ns; // true time
};

struct pair {
    struct clock ours, peer;
    struct lh_prng prng;
    struct lh_clock_bound bound;
    int64_t now_ns, delay_most_ns, arrived_ns, echo_ns; // true time, but the last: our stamp
};

__extension__ typedef __int128 wide;

// least <= (1 + peer) / (1 + ours) - 1 <= most
static void expect_rate(const struct pair *pair, struct lh_clock_interval ppb)
{
    const wide truth = (wide)(pair->peer.rate_ppm - pair->ours.rate_ppm) * LH_PPB;
    const wide unit = 1000000 + pair->ours.rate_ppm;
    assert_true(ppb.least <= ppb.most);
    assert_true(ppb.least * unit <= truth);
    assert_true(ppb.most * unit >= truth);
}

static struct lh_instant our_now(const struct pair *pair)
{
    return (struct lh_instant){reading(pair->ours, pair->now_ns)};
}

static int64_t draw(struct pair *pair, int64_t least, int64_t most)
{
    return lh_prng_between(&pair->prng, least, most);
}

static int64_t delay(struct pair *pair)
{
    const int64_t most = pair->delay_most_ns;
    return draw(pair, 0, 9) == 0 ? draw(pair, 0, 40 * most) : draw(pair, 0, most);
}

// Ours goes out and, after the peer has held it, the peer's comes back. True if it arrived.
static bool exchange(struct pair *pair, struct datagram *ret)
{
    pair->now_ns += draw(pair, 1000000, 1500000000);
    if (pair->arrived_ns == 0 || draw(pair, 0, 9) > 0) { // else ours is lost: the old echo again
        pair->echo_ns = reading(pair->ours, pair->now_ns);
        pair->now_ns += delay(pair);
        pair->arrived_ns = pair->now_ns;
    }
    pair->now_ns += draw(pair, 0, 1) * draw(pair, 0, 1000000000);
    const int64_t stamp = reading(pair->peer, pair->now_ns);
    *ret = (struct datagram){(uint64_t)pair->echo_ns,
                             (uint64_t)(stamp - reading(pair->peer, pair->arrived_ns)),
                             (uint64_t)stamp, pair->now_ns};
    pair->now_ns += delay(pair);
    return draw(pair, 0, 9) > 0;
}

static void hear(struct pair *pair, const struct datagram *datagram)
{
    assert_true(lh_clock_bound_add(&pair->bound, our_now(pair), datagram->echo, datagram->held,
                                   datagram->stamp));
}

static struct pair random_pair(uint64_t seed)
{
    struct pair pair = {.now_ns = 0};
    lh_prng_seed_number(&pair.prng, seed);
    const int64_t rate_most = draw(&pair, 0, 1) ? 100000 : 200;
    pair.ours = (struct clock){draw(&pair, 1, 1000000000000), draw(&pair, -rate_most, rate_most)};
    pair.peer = (struct clock){draw(&pair, 1, 1000000000000), draw(&pair, -rate_most, rate_most)};
    // Without any delay only the rounding keeps the truth inside.
    static const int64_t delays[] = {0, 3, 1000000, 50000000};
    pair.delay_most_ns = delays[draw(&pair, 0, 3)];
    return pair;
}

static void the_truth_lies_in_every_interval(void **state)
{
    (void)state;
    unsigned measured = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct pair pair = random_pair(seed);
        struct lh_clock_interval interval;
        struct datagram datagram, kept = {0};
        const int64_t exchanges = draw(&pair, 2, 120);
        for (int64_t i = 0; i < exchanges; i++) {
            if (!exchange(&pair, &datagram))
                continue;
            hear(&pair, &datagram);
            if (draw(&pair, 0, 9) == 0 && kept.stamp != 0)
                hear(&pair, &kept); // an old one, replayed
            if (draw(&pair, 0, 5) == 0)
                kept = datagram;
            if (!lh_clock_bound_rate(&pair.bound, our_now(&pair), &interval))
                continue;
            expect_rate(&pair, interval);
            measured++;
        }
        if (lh_clock_bound_offset(&pair.bound, our_now(&pair), &interval)) {
            const struct lh_clock_point *point = &pair.bound.points[pair.bound.count - 1];
            assert_true(interval.least <= interval.most);
            // The offset at the true moment of that stamp: found by going to it.
            int64_t at = 0, after = pair.now_ns + 1;
            while (after - at > 1) {
                const int64_t middle = at + (after - at) / 2;
                *(reading(pair.peer, middle) <= point->peer_late ? &at : &after) = middle;
            }
            const int64_t truth = reading(pair.peer, at) - reading(pair.ours, at);
            assert_in_range(truth - interval.least + 2, 0, interval.most - interval.least + 4);
        }
    }
    assert_true(measured > RUNS * 20);
}

// On a network of 0.1 ms the interval is narrower than 20 ppm after a minute, and narrower the
// longer it lasts.
static void the_interval_narrows(void **state)
{
    (void)state;
    struct pair pair = {.ours = {5, 30}, .peer = {77000, -40}, .now_ns = 1};
    int64_t width = INT64_MAX;
    for (int64_t second = 1; second <= 60; second++) {
        struct lh_clock_interval ppb;
        const int64_t sent = second * LH_NS_PER_S;
        const uint64_t stamp = (uint64_t)reading(pair.peer, sent + 200000);
        pair.now_ns = sent + 300000;
        hear(&pair, &(struct datagram){(uint64_t)reading(pair.ours, sent), 100000, stamp, 0});
        if (!lh_clock_bound_rate(&pair.bound, our_now(&pair), &ppb))
            continue;
        expect_rate(&pair, ppb);
        assert_true(ppb.most - ppb.least <= width);
        width = ppb.most - ppb.least;
    }
    assert_in_range(width, 1, 20000);
}

// What cannot be true is passed over, and late copies neither widen nor move anything.
static void hostile_stamps_change_nothing(void **state)
{
    (void)state;
    struct pair pair = random_pair(4711);
    struct datagram datagram, old = {0};
    for (unsigned i = 0; i < 60; i++) {
        if (!exchange(&pair, &datagram))
            continue;
        hear(&pair, &datagram);
        old = i < 20 ? datagram : old;
    }
    hear(&pair, &datagram);
    const struct lh_clock_bound before = pair.bound;
    const struct lh_instant now = our_now(&pair);
    const struct {
        uint64_t echo, held, stamp;
    } forged[] = {
        {0, 0, 5000},                                        // no echo
        {(uint64_t)now.ns + 1, 0, datagram.stamp},           // of the future
        {datagram.echo, datagram.stamp + 1, datagram.stamp}, // held for longer than it ran
        {datagram.echo, 0, UINT64_MAX},                      // no clock runs so long
        {datagram.echo, UINT64_MAX, UINT64_MAX},
        {UINT64_MAX, 0, 1},
    };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++)
        assert_false(
            lh_clock_bound_add(&pair.bound, now, forged[i].echo, forged[i].held, forged[i].stamp));
    assert_memory_equal(&pair.bound, &before, sizeof before);
    hear(&pair, &old);
    hear(&pair, &old);
    struct lh_clock_interval is, was;
    assert_true(lh_clock_bound_rate(&before, now, &was));
    assert_true(lh_clock_bound_rate(&pair.bound, now, &is));
    assert_int_equal(is.least, was.least);
    assert_int_equal(is.most, was.most);
}

static void a_change_of_rate_is_noticed_and_forgotten(void **state)
{
    (void)state;
    struct pair pair = {.ours = {5, 0}, .peer = {5, 0}, .now_ns = 1};
    struct lh_clock_interval ppb = {0, 0};
    const struct lh_clock_interval allowed = lh_clock_bound_allowed(10000);
    int64_t excess[3] = {0};
    for (int64_t second = 1; second <= 180; second++) {
        if (second == 61) // 10 % fast from here on, and back
            pair.peer = (struct clock){reading(pair.peer, 60 * LH_NS_PER_S) - 66000000000, 100000};
        if (second == 121)
            pair.peer = (struct clock){reading(pair.peer, 120 * LH_NS_PER_S) - 120000000000, 0};
        pair.now_ns = second * LH_NS_PER_S;
        const int64_t sent = pair.now_ns - 1000000;
        hear(&pair, &(struct datagram){(uint64_t)reading(pair.ours, sent), 500000,
                                       (uint64_t)reading(pair.peer, sent + 600000), 0});
        if (second % 60 == 59) {
            assert_true(lh_clock_bound_rate(&pair.bound, our_now(&pair), &ppb));
            excess[second / 60] = lh_clock_bound_excess(ppb, allowed);
        }
    }
    assert_int_equal(excess[0], 0);
    assert_in_range(excess[1], 70000000, 80000000); // 10 % less 2 %
    assert_int_equal(excess[2], 0);
}

static void silence_says_nothing(void **state)
{
    (void)state;
    struct pair pair = random_pair(3);
    struct datagram datagram;
    struct lh_clock_interval interval;
    assert_false(lh_clock_bound_rate(&pair.bound, (struct lh_instant){5}, &interval));
    assert_false(lh_clock_bound_offset(&pair.bound, (struct lh_instant){5}, &interval));
    for (unsigned i = 0; i < 40; i++)
        if (exchange(&pair, &datagram))
            hear(&pair, &datagram);
    assert_true(lh_clock_bound_rate(&pair.bound, our_now(&pair), &interval));
    pair.now_ns += 30 * LH_NS_PER_S;
    assert_false(lh_clock_bound_rate(&pair.bound, our_now(&pair), &interval));
    assert_false(lh_clock_bound_offset(&pair.bound, our_now(&pair), &interval));
}

static void guards_are_rounded_up(void **state)
{
    (void)state;
    const struct lh_clock_interval allowed = lh_clock_bound_allowed(10000);
    assert_int_equal(allowed.most, 20202021);
    assert_int_equal(allowed.least, -19801981);
    // What the daemons use for the same bound: D_A - D_P.
    const struct lh_duration ttl = {10 * LH_NS_PER_S};
    assert_in_range(lh_clock_bound_guard(allowed, ttl).ns, 202020203, 202020213);
    assert_int_equal(
        lh_clock_bound_guard((struct lh_clock_interval){0, 1}, (struct lh_duration){1}).ns, 1);
    assert_int_equal(lh_clock_bound_guard((struct lh_clock_interval){0, 0}, ttl).ns, 0);
    assert_int_equal(lh_clock_bound_guard((struct lh_clock_interval){-10000000, 0}, ttl).ns,
                     101010102);
    assert_int_equal(lh_clock_bound_guard((struct lh_clock_interval){0, LH_PPB}, ttl).ns,
                     INT64_MAX);
    assert_int_equal(lh_clock_bound_excess((struct lh_clock_interval){20202022, 30000000}, allowed),
                     1);
    assert_int_equal(lh_clock_bound_excess((struct lh_clock_interval){20202021, 30000000}, allowed),
                     0);
    assert_int_equal(
        lh_clock_bound_excess((struct lh_clock_interval){-90000000, -19801982}, allowed), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_lies_in_every_interval),
        cmocka_unit_test(the_interval_narrows),
        cmocka_unit_test(hostile_stamps_change_nothing),
        cmocka_unit_test(a_change_of_rate_is_noticed_and_forgotten),
        cmocka_unit_test(silence_says_nothing),
        cmocka_unit_test(guards_are_rounded_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
