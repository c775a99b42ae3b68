// When `run` renews, terminates and kills: both sides of each bound.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/run_schedule.h"

#define S LH_NS_PER_S
#define MS LH_NS_PER_MS

static struct lh_run_schedule schedule(int64_t now, int64_t deadline, int64_t ttl,
                                       int64_t kill_after, uint32_t spread)
{
    return lh_run_schedule((struct lh_instant){now}, (struct lh_instant){deadline},
                           (struct lh_duration){ttl}, (struct lh_duration){kill_after}, spread);
}

// Scenario 4: T=30 s, kill-after 5 s: TERM by 25 s, dead by 30 s.
static void test_scenario_4_thirty_seconds(void **state)
{
    (void)state;
    struct lh_run_schedule got = schedule(100 * S, 130 * S, 30 * S, 5 * S, 0);
    assert_int_equal(got.renew.ns, 115 * S);
    assert_int_equal(got.terminate.ns, 125 * S);
    assert_int_equal(got.kill.ns, 130 * S - 500 * MS);
}

static void test_a_long_kill_after_renews_earlier(void **state)
{
    (void)state;
    struct lh_run_schedule got = schedule(0, 10 * S, 10 * S, 5 * S, 0);
    assert_int_equal(got.terminate.ns, 5 * S);
    assert_in_range(got.renew.ns, 3333 * MS, 3334 * MS); // a third is left for retries
    got = schedule(0, 10 * S, 10 * S, 2500 * MS, 0);
    assert_int_equal(got.renew.ns, 5 * S); // half, as without
}

static void test_no_kill_after_kills_at_once(void **state)
{
    (void)state;
    struct lh_run_schedule got = schedule(0, 10 * S, 10 * S, 0, 0);
    assert_int_equal(got.terminate.ns, got.kill.ns);
    assert_int_equal(got.kill.ns, 9900 * MS);
}

static void test_margin_bounds(void **state)
{
    (void)state;
    assert_int_equal(schedule(0, 50 * MS, 50 * MS, 10 * MS, 0).kill.ns, 45 * MS);
    assert_int_equal(schedule(0, 100 * MS, 100 * MS, 20 * MS, 0).kill.ns, 90 * MS);
    assert_int_equal(schedule(0, 1000 * MS, 1000 * MS, 200 * MS, 0).kill.ns, 900 * MS);
    assert_int_equal(schedule(0, 2000 * MS, 2000 * MS, 200 * MS, 0).kill.ns, 1900 * MS);
    assert_int_equal(schedule(0, 3600 * S, 3600 * S, 200 * MS, 0).kill.ns, 3600 * S - 100 * MS);
}

// A deadline that is near or past gives instants that are past, never negative ones.
static void test_little_is_left(void **state)
{
    (void)state;
    struct lh_run_schedule got = schedule(10 * S, 10 * S + 1, 10 * S, 2 * S, 1023);
    assert_true(got.terminate.ns < 10 * S);
    assert_true(got.kill.ns < 10 * S);
    assert_int_equal(got.renew.ns, 10 * S);
    got = schedule(10 * S, 5, 10 * S, 2 * S, 0);
    assert_int_equal(got.kill.ns, 0);
    assert_int_equal(got.terminate.ns, 0);
}

static void test_spread_only_moves_forward_by_a_tenth(void **state)
{
    (void)state;
    for (uint32_t spread = 0; spread < 5000; spread += 7) {
        int64_t renew = schedule(0, 10 * S, 10 * S, 2 * S, spread).renew.ns;
        assert_in_range(renew, 4500 * MS, 5000 * MS);
    }
    assert_true(schedule(0, 10 * S, 10 * S, 2 * S, 1023).renew.ns < 4501 * MS);
}

static void test_kill_after_bounds(void **state)
{
    (void)state;
    assert_int_equal(lh_run_kill_after_default((struct lh_duration){30 * S}).ns, 5 * S);
    assert_int_equal(lh_run_kill_after_default((struct lh_duration){20 * S}).ns, 5 * S);
    assert_int_equal(lh_run_kill_after_default((struct lh_duration){10 * S}).ns, 2500 * MS);
    assert_int_equal(lh_run_kill_after_most((struct lh_duration){10 * S}).ns, 5 * S);
}

static void test_lost(void **state)
{
    (void)state;
    struct lh_run_schedule was = schedule(0, 30 * S, 30 * S, 5 * S, 0);
    struct lh_run_schedule got =
        lh_run_schedule_lost((struct lh_instant){10 * S}, was, (struct lh_duration){5 * S});
    assert_int_equal(got.terminate.ns, 10 * S);
    assert_int_equal(got.kill.ns, 15 * S);
    assert_int_equal(got.renew.ns, LH_NEVER.ns);
    got = lh_run_schedule_lost((struct lh_instant){27 * S}, was, (struct lh_duration){5 * S});
    assert_int_equal(got.kill.ns, was.kill.ns); // before the deadline all the same
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario_4_thirty_seconds),
        cmocka_unit_test(test_a_long_kill_after_renews_earlier),
        cmocka_unit_test(test_no_kill_after_kills_at_once),
        cmocka_unit_test(test_margin_bounds),
        cmocka_unit_test(test_little_is_left),
        cmocka_unit_test(test_spread_only_moves_forward_by_a_tenth),
        cmocka_unit_test(test_kill_after_bounds),
        cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests_name("cli_run_schedule", tests, NULL, NULL);
}
