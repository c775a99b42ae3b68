// Error texts: one printable line, whatever was quoted in it.
#include "os/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void it_formats_and_returns_false(void **state)
{
    (void)state;
    struct lh_error error;
    assert_false(lh_error_set(&error, "%s: want %d", "max-ttl", 5));
    assert_string_equal(error.text, "max-ttl: want 5");
}

static void control_characters_do_not_pass(void **state)
{
    (void)state;
    struct lh_error error;
    lh_error_set(&error, "a%sb", "\x1b[31m\n\x7f");
    assert_string_equal(error.text, "a?[31m??b");
    lh_error_set(&error, "%s", "\xc2\x9b\x31mCSI\xc2\xa0\x9b");
    assert_string_equal(error.text, "??1mCSI\xc2\xa0\x9b");
    lh_error_set(&error, "%s", "ü stays");
    assert_string_equal(error.text, "ü stays");
}

static void a_long_text_ends_in_dots(void **state)
{
    (void)state;
    struct lh_error error;
    char text[sizeof(error.text) + 1];
    memset(text, 'x', sizeof(text));
    text[sizeof(error.text) - 1] = '\0';
    lh_error_set(&error, "%s", text);
    assert_string_equal(error.text, text);
    text[sizeof(error.text) - 1] = 'x';
    text[sizeof(error.text)] = '\0';
    lh_error_set(&error, "%s", text);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_string_equal(error.text + sizeof(error.text) - 5, "x...");
}

static void an_error_may_quote_itself(void **state)
{
    (void)state;
    struct lh_error error;
    lh_error_set(&error, "disk full");
    lh_error_set(&error, "cannot start: %s", error.text);
    assert_string_equal(error.text, "cannot start: disk full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_formats_and_returns_false),
        cmocka_unit_test(control_characters_do_not_pass),
        cmocka_unit_test(a_long_text_ends_in_dots),
        cmocka_unit_test(an_error_may_quote_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
