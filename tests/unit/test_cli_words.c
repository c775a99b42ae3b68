// What a user types and reads: suggestions, options, durations for people.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/suggest.h"

static const char *const words[] = {"acquire", "renew", "release", NULL,
                                    "revoke",  "run",   "status",  "keygen"};
#define NEAREST(typed) lh_cli_nearest(typed, words, sizeof words / sizeof words[0])

static void test_suggestions(void **state)
{
    (void)state;
    assert_string_equal(NEAREST("relase"), "release");  // one too few
    assert_string_equal(NEAREST("acquier"), "acquire"); // swapped
    assert_string_equal(NEAREST("aquier"), "acquire");  // two slips
    assert_string_equal(NEAREST("statsu"), "status");
    assert_string_equal(NEAREST("rnu"), "run");
    assert_string_equal(NEAREST("acq"), "acquire"); // a beginning
    assert_null(NEAREST("re"));                     // of three words
    assert_null(NEAREST("aqir3"));                  // three slips
    assert_null(NEAREST("x"));
    assert_null(NEAREST(""));
    assert_null(NEAREST("a-word-much-longer-than-any-command-could-ever-be-typed"));
}

struct parsed_options {
    bool flag;
    const char *text;
    struct lh_option_duration ttl, wait;
    int64_t number;
    struct lh_parsed parsed;
    int exit_code;
};

static bool parse(struct parsed_options *ret, bool takes_command, char **argv)
{
    const struct lh_option options[] = {
        {"json", LH_OPTION_FLAG, &ret->flag, NULL, "h"},
        {"holder", LH_OPTION_TEXT, &ret->text, "H", "h"},
        {"ttl", LH_OPTION_DURATION, &ret->ttl, "D", "h"},
        {"wait", LH_OPTION_WAIT, &ret->wait, "D", "h"},
        {"token", LH_OPTION_NUMBER, &ret->number, "T", "h"},
    };
    const struct lh_syntax syntax = {
        .command = "try",
        .arguments = "NAME",
        .about = "a",
        .positionals_least = 1,
        .positionals_most = 1,
        .takes_command = takes_command,
        .options = options,
        .option_count = 5,
    };
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    return lh_options_parse(&syntax, argc, argv, &ret->parsed, &ret->exit_code);
}

#define ARGV(...) ((char *[]){(char *)"try", __VA_ARGS__, NULL})
#define S (char *)

static void test_options_in_any_order_and_form(void **state)
{
    (void)state;
    struct parsed_options got = {.exit_code = -1};
    assert_true(
        parse(&got, false,
              ARGV(S "--ttl=1.5s", S "n", S "--json", S "--token", S "9", S "--wait", S "0")));
    assert_string_equal(got.parsed.positionals[0], "n");
    assert_true(got.flag);
    assert_true(got.ttl.given);
    assert_int_equal(got.ttl.value.ns, 1500 * LH_NS_PER_MS);
    assert_true(got.wait.given);
    assert_int_equal(got.wait.value.ns, 0);
    assert_int_equal(got.number, 9);
    got = (struct parsed_options){.exit_code = -1};
    assert_true(parse(&got, false, ARGV(S "--", S "--json")));
    assert_string_equal(got.parsed.positionals[0], "--json");
    assert_false(got.flag);
}

static void test_a_command_keeps_its_own_options(void **state)
{
    (void)state;
    struct parsed_options got = {.exit_code = -1};
    assert_true(
        parse(&got, true, ARGV(S "n", S "--ttl", S "2", S "--", S "ls", S "--json", S "--")));
    assert_int_equal(got.parsed.command_count, 3);
    assert_string_equal(got.parsed.command[0], "ls");
    assert_string_equal(got.parsed.command[2], "--");
    assert_null(got.parsed.command[3]);
    assert_false(got.flag);
    got = (struct parsed_options){.exit_code = -1};
    assert_true(parse(&got, true, ARGV(S "n", S "ls", S "--json")));
    assert_int_equal(got.parsed.command_count, 2);
    assert_false(got.flag);
}

static void test_wrong_command_lines(void **state)
{
    (void)state;
    char **wrong[] = {
        ARGV(S "--json"),               // NAME is missing
        ARGV(S "n", S "m"),             // one too many
        ARGV(S "n", S "--tll", S "2"),  // unknown
        ARGV(S "n", S "-j"),            // unknown
        ARGV(S "n", S "--ttl"),         // no value
        ARGV(S "n", S "--json=yes"),    // a value too many
        ARGV(S "n", S "--ttl", S "0"),  // not longer than 0
        ARGV(S "n", S "--ttl=-1s"),     // negative
        ARGV(S "n", S "--ttl=0.0001s"), // not whole ms
        ARGV(S "n", S "--ttl=1e3"),     // exponent
        ARGV(S "n", S "--token=0"),     // not positive
        ARGV(S "n", S "--token=9223372036854775808"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct parsed_options got = {.exit_code = -1};
        assert_false(parse(&got, false, wrong[i]));
        assert_int_equal(got.exit_code, LH_EXIT_USAGE);
    }
    struct parsed_options got = {.exit_code = -1};
    assert_false(parse(&got, true, ARGV(S "n", S "--"))); // no command
    assert_int_equal(got.exit_code, LH_EXIT_USAGE);
    assert_false(parse(&got, false, ARGV(S "n", S "--help")));
    assert_int_equal(got.exit_code, LH_EXIT_OK);
}

static void test_durations_for_people(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0ms"},         {999, "999ms"},       {1000, "1s"},        {1099, "1.0s"},
        {9999, "9.9s"},     {59999, "59.9s"},     {60000, "1m00s"},    {3599999, "59m59s"},
        {3600000, "1h00m"}, {86399999, "23h59m"}, {86400000, "1d00h"}, {-5, "0ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[LH_DURATION_TEXT_BYTES];
        assert_string_equal(
            lh_duration_text((struct lh_duration){cases[i].ms * LH_NS_PER_MS}, text),
            cases[i].text);
    }
    char text[LH_DURATION_TEXT_BYTES];
    lh_duration_text((struct lh_duration){INT64_MAX}, text);
    assert_true(strlen(text) < LH_DURATION_TEXT_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_options_in_any_order_and_form),
        cmocka_unit_test(test_a_command_keeps_its_own_options),
        cmocka_unit_test(test_wrong_command_lines),
        cmocka_unit_test(test_durations_for_people),
    };
    return cmocka_run_group_tests_name("cli_words", tests, NULL, NULL);
}
