// The generator against its authors' numbers, and its ranges: every value is reached, none outside
// is, and small ones are not favoured.
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void known_numbers_from_a_known_state(void **state)
{
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
    };
    const uint8_t seed[LH_PRNG_SEED_BYTES] = {[0] = 1, [8] = 2, [16] = 3, [24] = 4};
    struct lh_prng prng;
    lh_prng_seed(&prng, seed);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_true(lh_prng_next(&prng) == expected[i]);
}

static void a_number_is_stretched_by_splitmix64(void **state)
{
    (void)state;
    struct lh_prng prng;
    lh_prng_seed_number(&prng, 1234567);
    assert_true(prng.state[0] == UINT64_C(6457827717110365317));
    assert_true(prng.state[1] == UINT64_C(3203168211198807973));
    assert_true(prng.state[2] == UINT64_C(9817491932198370423));
    assert_true(prng.state[3] == UINT64_C(4593380528125082431));
}

static void a_seed_of_zeros_still_gives_numbers(void **state)
{
    (void)state;
    const uint8_t zeros[LH_PRNG_SEED_BYTES] = {0};
    struct lh_prng prng;
    uint64_t all = 0;
    lh_prng_seed(&prng, zeros);
    for (int i = 0; i < 4; i++)
        all |= lh_prng_next(&prng);
    assert_true(all != 0);
}

static void equal_seeds_agree_and_others_do_not(void **state)
{
    (void)state;
    struct lh_prng a;
    struct lh_prng b;
    struct lh_prng c;
    lh_prng_seed_number(&a, 7);
    lh_prng_seed_number(&b, 7);
    lh_prng_seed_number(&c, 8);
    for (int i = 0; i < 100; i++) {
        uint64_t drawn = lh_prng_next(&a);
        assert_true(drawn == lh_prng_next(&b));
        assert_true(drawn != lh_prng_next(&c));
    }
}

static void below_reaches_all_and_only_its_range(void **state)
{
    (void)state;
    struct lh_prng prng;
    lh_prng_seed_number(&prng, 1);
    assert_true(lh_prng_below(&prng, 1) == 0);
    for (uint64_t n = 1; n <= 33; n++) {
        unsigned drawn[33] = {0};
        for (unsigned i = 0; i < 1000 * n; i++) {
            uint64_t value = lh_prng_below(&prng, n);
            assert_true(value < n);
            drawn[value]++;
        }
        // A fair one gets 1000 +- 32; this is twelve times that.
        for (uint64_t value = 0; value < n; value++)
            assert_in_range(drawn[value], 600, 1400);
    }
}

// A remainder would draw the lower half of this range twice as often as the upper.
static void below_does_not_favour_small_numbers(void **state)
{
    (void)state;
    const uint64_t n = UINT64_C(3) << 62;
    struct lh_prng prng;
    unsigned low = 0;
    lh_prng_seed_number(&prng, 2);
    for (int i = 0; i < 30000; i++)
        low += lh_prng_below(&prng, n) < (UINT64_C(1) << 62);
    assert_in_range(low, 9500, 10500);
    for (int i = 0; i < 100; i++)
        assert_true(lh_prng_below(&prng, UINT64_MAX) < UINT64_MAX);
}

static void between_includes_both_ends(void **state)
{
    (void)state;
    struct lh_prng prng;
    bool seen[3] = {false};
    lh_prng_seed_number(&prng, 3);
    for (int i = 0; i < 200; i++) {
        int64_t value = lh_prng_between(&prng, -1, 1);
        assert_true(value >= -1 && value <= 1);
        seen[value + 1] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_true(lh_prng_between(&prng, 5, 5) == 5);
    assert_true(lh_prng_between(&prng, INT64_MIN, INT64_MIN) == INT64_MIN);
    bool negative = false;
    bool positive = false;
    for (int i = 0; i < 200; i++) {
        int64_t value = lh_prng_between(&prng, INT64_MIN, INT64_MAX);
        negative |= value < 0;
        positive |= value > 0;
    }
    assert_true(negative && positive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers_from_a_known_state),
        cmocka_unit_test(a_number_is_stretched_by_splitmix64),
        cmocka_unit_test(a_seed_of_zeros_still_gives_numbers),
        cmocka_unit_test(equal_seeds_agree_and_others_do_not),
        cmocka_unit_test(below_reaches_all_and_only_its_range),
        cmocka_unit_test(below_does_not_favour_small_numbers),
        cmocka_unit_test(between_includes_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
