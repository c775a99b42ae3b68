// Slips of the finger, counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/nearest.h"

static size_t slips(const char *typed, const char *word)
{
    return lh_slips(lh_slice_of_string(typed), lh_slice_of_string(word));
}

static void slips_of_each_kind(void **state)
{
    (void)state;
    assert_int_equal(slips("renew", "renew"), 0);
    assert_int_equal(slips("rnew", "renew"), 1);   // too few
    assert_int_equal(slips("rennew", "renew"), 1); // too many
    assert_int_equal(slips("renex", "renew"), 1);  // wrong
    assert_int_equal(slips("rneew", "renew"), 1);  // swapped
    assert_int_equal(slips("wener", "renew"), 2);
    assert_int_equal(slips("ca", "abc"), 3); // a swap with something between is none
    assert_int_equal(slips("", "renew"), 5);
    assert_int_equal(slips("renew", ""), 5);
    assert_int_equal(slips("", ""), 0);
}

static void words_too_long_were_not_mistyped(void **state)
{
    (void)state;
    static const char longest[] = "123456789012345678901234567890123456789012345678";
    static const char longer[] = "1234567890123456789012345678901234567890123456789";
    assert_int_equal(sizeof longest - 1, LH_SLIPS_WORD_BYTES);
    assert_int_equal(slips(longest, longest), 0);
    assert_int_equal(slips(longest, longest + 1), 1);
    assert_int_equal(slips(longer, longer), LH_SLIPS_WORD_BYTES);
    assert_int_equal(slips("renew", longer), LH_SLIPS_WORD_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_of_each_kind),
        cmocka_unit_test(words_too_long_were_not_mistyped),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
