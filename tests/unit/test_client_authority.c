// lh_authority_deadline: the one place where a client decides until when it may act
// (docs/protocol.md, Client).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/authority.h"

__extension__ typedef __int128 wide;

static int64_t deadline(int64_t old, int64_t sent, int64_t until, int64_t ppm)
{
    return lh_authority_deadline((struct lh_instant){old}, (struct lh_instant){sent}, until, ppm)
        .ns;
}

// floor(until * 990000 / 1010000) for the default rate error of 1 %.
static void test_shrinks_by_the_rate_and_rounds_down(void **state)
{
    (void)state;
    assert_int_equal(deadline(0, 1000, 101, 10000), 1000 + 99);
    assert_int_equal(deadline(0, 1000, 102, 10000), 1000 + 99);  // 99.98
    assert_int_equal(deadline(0, 1000, 103, 10000), 1000 + 100); // 100.96
    assert_int_equal(deadline(0, 1000, 1, 10000), 1000);         // 0.98: nothing
    assert_int_equal(deadline(0, 1000, 2, 10000), 1001);         // 1.96
    assert_int_equal(deadline(0, 1000, 1, 0), 1001);             // perfect clocks
}

static void test_agrees_with_wide_arithmetic(void **state)
{
    (void)state;
    int64_t untils[] = {1,
                        2,
                        999999,
                        1000000,
                        1010000,
                        1010001,
                        3600000000000,
                        9000000000000000,
                        INT64_MAX - 1,
                        INT64_MAX};
    int64_t rates[] = {0, 1, 999, 10000, 100000, 500000, 999999};
    for (size_t i = 0; i < sizeof untils / sizeof untils[0]; i++) {
        for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++) {
            wide exact = (wide)untils[i] * (1000000 - rates[j]) / (1000000 + rates[j]);
            assert_int_equal(deadline(0, 0, untils[i], rates[j]), (int64_t)exact);
        }
    }
}

static void test_no_deadline_moves_back(void **state)
{
    (void)state;
    assert_int_equal(deadline(1100, 1000, 101, 10000), 1100); // 1099 is less
    assert_int_equal(deadline(1099, 1000, 101, 10000), 1099);
    assert_int_equal(deadline(1098, 1000, 101, 10000), 1099);
}

static void test_nonsense_adds_nothing(void **state)
{
    (void)state;
    assert_int_equal(deadline(7, 1000, 0, 10000), 7);
    assert_int_equal(deadline(7, 1000, -1, 10000), 7);
    assert_int_equal(deadline(7, 1000, INT64_MIN, 10000), 7);
    assert_int_equal(deadline(7, 1000, 101, -1), 7);
    assert_int_equal(deadline(7, 1000, 101, 1000000), 7);
    assert_int_equal(deadline(7, 1000, 101, INT64_MAX), 7);
    assert_int_equal(deadline(7, 1000, 101, 999999), 1000); // all but nothing: 101 / 1999999
}

static void test_saturates(void **state)
{
    (void)state;
    assert_int_equal(deadline(0, INT64_MAX - 10, INT64_MAX, 0), INT64_MAX);
}

// An answer counted from the send: the later it comes, the less is left, down to nothing.
static void test_a_late_answer_grants_less(void **state)
{
    (void)state;
    struct lh_instant sent = {5000};
    struct lh_instant until = lh_authority_deadline(LH_PAST, sent, 101, 10000);
    assert_true(lh_authority_at(until, sent));
    assert_int_equal(lh_left((struct lh_instant){5040}, until).ns, 59);
    assert_true(lh_authority_at(until, (struct lh_instant){5098}));
    assert_false(lh_authority_at(until, (struct lh_instant){5099}));
    assert_false(lh_authority_at(until, (struct lh_instant){6000}));
    assert_false(lh_authority_at(LH_PAST, (struct lh_instant){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shrinks_by_the_rate_and_rounds_down),
        cmocka_unit_test(test_agrees_with_wide_arithmetic),
        cmocka_unit_test(test_no_deadline_moves_back),
        cmocka_unit_test(test_nonsense_adds_nothing),
        cmocka_unit_test(test_saturates),
        cmocka_unit_test(test_a_late_answer_grants_less),
    };
    return cmocka_run_group_tests_name("client_authority", tests, NULL, NULL);
}
