// The timer wheel: each rule by itself, then long random runs beside a dumb twin that keeps a plain
// array and searches it, which must yield the same timers in the same order.
#include "base/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/prng.h"

static struct lh_wheel wheel;
static struct lh_wheel_timer timers[600];

static struct lh_instant at(int64_t ns)
{
    return (struct lh_instant){ns};
}

static int begin_empty(void **state)
{
    (void)state;
    memset(timers, 0, sizeof timers);
    lh_wheel_init(&wheel, at(1000));
    return 0;
}

static void schedule(size_t i, int64_t deadline_ns)
{
    lh_wheel_schedule(&wheel, &timers[i], at(deadline_ns));
}

// The index of the timer that expires at now_ns, or -1.
static long expire(int64_t now_ns)
{
    struct lh_wheel_timer *timer = NULL;
    if (!lh_wheel_expire(&wheel, at(now_ns), &timer)) {
        assert_null(timer);
        return -1;
    }
    assert_false(lh_wheel_is_scheduled(timer));
    assert_true(timer->deadline.ns <= now_ns);
    return (long)(timer - timers);
}

static void an_empty_wheel_has_nothing_to_do(void **state)
{
    (void)state;
    assert_true(lh_wheel_next(&wheel).ns == INT64_MAX);
    assert_int_equal(expire(1000), -1);
    assert_int_equal(expire(INT64_MAX), -1);
    assert_true(lh_wheel_turn(&wheel, at(INT64_MAX), 0));
}

static void a_timer_is_never_early_and_never_late(void **state)
{
    (void)state;
    // Every level, and both neighbours of every boundary between two.
    for (unsigned bit = 0; bit < 63; bit++) {
        for (int64_t delta = -1; delta <= 1; delta++) {
            int64_t deadline_ns = (int64_t)(UINT64_C(1) << bit) + delta;
            lh_wheel_init(&wheel, at(0));
            memset(timers, 0, sizeof timers);
            schedule(0, deadline_ns);
            assert_true(lh_wheel_is_scheduled(&timers[0]));
            assert_true(lh_wheel_next(&wheel).ns == deadline_ns);
            if (deadline_ns > 0)
                assert_int_equal(expire(deadline_ns - 1), -1);
            assert_true(lh_wheel_next(&wheel).ns == deadline_ns);
            assert_int_equal(expire(deadline_ns), 0);
            assert_int_equal(expire(deadline_ns), -1);
            assert_int_equal(wheel.count, 0);
        }
    }
}

static void the_last_instants_have_places(void **state)
{
    (void)state;
    schedule(0, INT64_MAX);
    schedule(1, INT64_MAX - 1);
    assert_true(lh_wheel_next(&wheel).ns == INT64_MAX - 1);
    assert_int_equal(expire(INT64_MAX - 2), -1);
    assert_int_equal(expire(INT64_MAX - 1), 1);
    assert_int_equal(expire(INT64_MAX - 1), -1);
    assert_int_equal(expire(INT64_MAX), 0);
}

static void order_is_by_deadline_then_by_insertion(void **state)
{
    (void)state;
    static const int64_t deadlines_ns[] = {5000, 3000, 5000, 4000, 3000, 90000, 3001, 5000};
    static const long expected[] = {1, 4, 6, 3, 0, 2, 7, 5};
    for (size_t i = 0; i < 8; i++)
        schedule(i, deadlines_ns[i]);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(expire(INT64_MAX), expected[i]);
    assert_int_equal(expire(INT64_MAX), -1);
}

static void many_equal_deadlines_keep_their_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < 500; i++)
        schedule(i, 70 * LH_NS_PER_S);
    // Closer to the deadline a new timer would go to a finer level: the older ones are there by
    // then.
    assert_int_equal(expire(70 * LH_NS_PER_S - 100), -1);
    for (size_t i = 500; i < 600; i++)
        schedule(i, 70 * LH_NS_PER_S);
    for (long i = 0; i < 600; i++)
        assert_int_equal(expire(70 * LH_NS_PER_S), i);
}

static void scheduling_again_moves_to_the_end(void **state)
{
    (void)state;
    schedule(0, 2000);
    schedule(1, 2000);
    schedule(0, 2000);
    assert_int_equal(wheel.count, 2);
    assert_int_equal(expire(2000), 1);
    assert_int_equal(expire(2000), 0);
    schedule(0, 3000);
    schedule(0, 9000);
    assert_int_equal(expire(8999), -1);
    assert_int_equal(expire(9000), 0);
}

static void a_cancelled_timer_does_not_come(void **state)
{
    (void)state;
    lh_wheel_cancel(&wheel, &timers[0]); // idle: nothing happens
    for (size_t i = 0; i < 100; i++)
        schedule(i, 1000 + (int64_t)(i % 7) * 100000);
    for (size_t i = 0; i < 100; i += 2)
        lh_wheel_cancel(&wheel, &timers[i]);
    assert_int_equal(wheel.count, 50);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(expire(INT64_MAX) % 2, 1);
    assert_int_equal(expire(INT64_MAX), -1);
    schedule(1, 0);
    lh_wheel_cancel(&wheel, &timers[1]);
    assert_int_equal(expire(INT64_MAX), -1);
}

static void next_is_not_later_after_a_cancel_and_a_turn_corrects_it(void **state)
{
    (void)state;
    const int64_t base_ns = 100 * LH_NS_PER_S;
    schedule(0, base_ns);
    schedule(1, base_ns + 1000);
    lh_wheel_cancel(&wheel, &timers[0]);
    assert_true(lh_wheel_next(&wheel).ns <= base_ns + 1000);
    assert_int_equal(expire(base_ns), -1);
    assert_true(lh_wheel_next(&wheel).ns == base_ns + 1000);
}

static void past_deadlines_come_at_once_in_order(void **state)
{
    (void)state;
    schedule(0, 5000);
    assert_int_equal(expire(6000), 0);
    schedule(1, 300);
    schedule(2, 100);
    schedule(3, 300);
    schedule(4, 200);
    schedule(5, 5500);
    lh_wheel_cancel(&wheel, &timers[4]);
    assert_true(lh_wheel_next(&wheel).ns == 100);
    assert_int_equal(expire(99), -1);
    assert_int_equal(expire(6000), 2);
    assert_int_equal(expire(6000), 1);
    schedule(4, 200);
    assert_int_equal(expire(6000), 4);
    assert_int_equal(expire(6000), 3);
    assert_int_equal(expire(6000), 5);
}

static void a_clock_that_jumps_back_does_no_harm(void **state)
{
    (void)state;
    schedule(0, 50000);
    assert_int_equal(expire(40000), -1);
    assert_int_equal(expire(10), -1);
    schedule(1, 20000);
    assert_int_equal(expire(10), -1);
    assert_int_equal(expire(20000), 1);
    assert_int_equal(expire(20000), -1);
    assert_int_equal(expire(50000), 0);
}

static void a_turn_moves_no_more_than_it_may(void **state)
{
    (void)state;
    const int64_t deadline_ns = 3600 * LH_NS_PER_S;
    for (size_t i = 0; i < 500; i++)
        schedule(i, deadline_ns + (int64_t)(i % 3));
    unsigned turns = 0;
    while (!lh_wheel_turn(&wheel, at(deadline_ns), 100)) {
        assert_true(lh_wheel_next(&wheel).ns <= deadline_ns);
        // What is scheduled or cancelled meanwhile finds its place.
        if (turns == 0)
            schedule(500, deadline_ns);
        if (turns == 1)
            lh_wheel_cancel(&wheel, &timers[3]);
        turns++;
    }
    assert_true(turns >= 4);
    for (size_t i = 0; i < 500; i += 3) {
        if (i != 3)
            assert_int_equal(expire(deadline_ns), i);
    }
    assert_int_equal(expire(deadline_ns), 500);
    assert_int_equal(expire(deadline_ns), -1);
    assert_int_equal(expire(deadline_ns + 1), 1);
}

static void a_draining_slot_may_be_cancelled_away(void **state)
{
    (void)state;
    const int64_t deadline_ns = 3600 * LH_NS_PER_S;
    schedule(0, deadline_ns);
    schedule(1, deadline_ns);
    assert_false(lh_wheel_turn(&wheel, at(deadline_ns), 0));
    lh_wheel_cancel(&wheel, &timers[0]);
    lh_wheel_cancel(&wheel, &timers[1]);
    assert_int_equal(wheel.count, 0);
    schedule(2, deadline_ns);
    assert_int_equal(expire(deadline_ns), 2);
    assert_int_equal(expire(INT64_MAX), -1);
    assert_true(lh_wheel_next(&wheel).ns == INT64_MAX);
}

// --- the dumb twin ---

struct twin {
    bool scheduled[600];
    int64_t deadline_ns[600];
    uint64_t order[600];
    uint64_t inserted;
};

static struct twin twin;

static long twin_first(void)
{
    long first = -1;
    for (long i = 0; i < 600; i++) {
        if (!twin.scheduled[i])
            continue;
        if (first < 0 || twin.deadline_ns[i] < twin.deadline_ns[first] ||
            (twin.deadline_ns[i] == twin.deadline_ns[first] && twin.order[i] < twin.order[first]))
            first = i;
    }
    return first;
}

static void twin_schedule(size_t i, int64_t deadline_ns)
{
    schedule(i, deadline_ns);
    twin.scheduled[i] = true;
    twin.deadline_ns[i] = deadline_ns;
    twin.order[i] = twin.inserted++;
}

// A deadline at every distance from now_ns, often equal to another, at times past.
static int64_t some_deadline(struct lh_prng *prng, int64_t now_ns)
{
    uint64_t kind = lh_prng_below(prng, 20);
    if (kind == 0)
        return INT64_MAX;
    if (kind < 5)
        return twin.deadline_ns[lh_prng_below(prng, 600)];
    int64_t reach_ns = (int64_t)(UINT64_C(1) << lh_prng_below(prng, 40));
    int64_t deadline_ns = now_ns + lh_prng_between(prng, -reach_ns / 16, reach_ns);
    return deadline_ns < 0 ? 0 : deadline_ns;
}

static void yields_what_the_twin_yields(struct lh_prng *prng, int64_t now_ns)
{
    struct lh_wheel_timer *timer = NULL;
    uint64_t most = lh_prng_below(prng, 1000);
    for (uint64_t yielded = 0; yielded < most; yielded++) {
        long first = twin_first();
        if (lh_prng_below(prng, 4) == 0)
            (void)lh_wheel_turn(&wheel, at(now_ns), lh_prng_below(prng, 30));
        if (first >= 0)
            assert_true(lh_wheel_next(&wheel).ns <= twin.deadline_ns[first]);
        if (first < 0 || twin.deadline_ns[first] > now_ns) {
            assert_false(lh_wheel_expire(&wheel, at(now_ns), &timer));
            assert_true(lh_wheel_next(&wheel).ns > now_ns || now_ns == INT64_MAX);
            // Behind the clock, timers would cascade too often; ahead of it, be sorted one by one.
            assert_true(wheel.position == (uint64_t)now_ns);
            return;
        }
        assert_true(lh_wheel_expire(&wheel, at(now_ns), &timer));
        assert_int_equal(timer - timers, first);
        twin.scheduled[first] = false;
    }
}

static void the_same_as_the_twin(void **state)
{
    (void)state;
    struct lh_prng prng;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int64_t now_ns = 1000;
        lh_prng_seed_number(&prng, seed);
        memset(&twin, 0, sizeof twin);
        memset(timers, 0, sizeof timers);
        lh_wheel_init(&wheel, at(now_ns));
        for (int step = 0; step < 3000; step++) {
            size_t i = lh_prng_below(&prng, 600);
            switch (lh_prng_below(&prng, 8)) {
            case 0:
                lh_wheel_cancel(&wheel, &timers[i]);
                twin.scheduled[i] = false;
                break;
            case 1:
                now_ns += (int64_t)(lh_prng_next(&prng) >> (24 + lh_prng_below(&prng, 40)));
                yields_what_the_twin_yields(&prng, now_ns);
                break;
            case 2: (void)lh_wheel_turn(&wheel, at(now_ns), lh_prng_below(&prng, 5)); break;
            default: twin_schedule(i, some_deadline(&prng, now_ns)); break;
            }
        }
        now_ns = INT64_MAX;
        while (wheel.count > 0)
            yields_what_the_twin_yields(&prng, now_ns);
        assert_int_equal(twin_first(), -1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin_empty)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_wheel_has_nothing_to_do),
        TEST(a_timer_is_never_early_and_never_late),
        TEST(the_last_instants_have_places),
        TEST(order_is_by_deadline_then_by_insertion),
        TEST(many_equal_deadlines_keep_their_order),
        TEST(scheduling_again_moves_to_the_end),
        TEST(a_cancelled_timer_does_not_come),
        TEST(next_is_not_later_after_a_cancel_and_a_turn_corrects_it),
        TEST(past_deadlines_come_at_once_in_order),
        TEST(a_clock_that_jumps_back_does_no_harm),
        TEST(a_turn_moves_no_more_than_it_may),
        TEST(a_draining_slot_may_be_cancelled_away),
        TEST(the_same_as_the_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
