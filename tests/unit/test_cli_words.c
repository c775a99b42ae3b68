// What a user types and reads: suggestions, options, durations for people.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/session.h"
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
        {9999, "9.9s"},     {59999, "59.9s"},     {60000, "60s"},      {119999, "119s"},
        {120000, "2m"},     {121000, "2m01s"},    {3599999, "59m59s"}, {3600000, "1h"},
        {3660000, "1h01m"}, {86399999, "23h59m"}, {86400000, "1d00h"}, {-5, "0ms"},
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

// What is an upper bound is never shown shorter than it is.
static void test_upper_bounds_are_rounded_up(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0ms"},
        {1, "1ms"},
        {999 * LH_NS_PER_MS, "999ms"},
        {999 * LH_NS_PER_MS + 1, "1s"},
        {1000 * LH_NS_PER_MS + 1, "1.1s"},
        {9200 * LH_NS_PER_MS, "9.2s"},
        {59901 * LH_NS_PER_MS, "60s"},
        {60001 * LH_NS_PER_MS, "61s"},
        {3599001 * LH_NS_PER_MS, "1h"},
        {-5, "0ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[LH_DURATION_TEXT_BYTES];
        assert_string_equal(lh_duration_text_up((struct lh_duration){cases[i].ns}, text),
                            cases[i].text);
    }
    char text[LH_DURATION_TEXT_BYTES];
    lh_duration_text_up((struct lh_duration){INT64_MAX}, text);
    assert_true(strlen(text) < LH_DURATION_TEXT_BYTES);
}

// Below a day, what is printed may be typed.
static void test_printed_durations_are_durations(void **state)
{
    (void)state;
    for (int64_t ms = 1; ms < 86400000; ms = ms * 17 / 16 + 1) {
        char text[LH_DURATION_TEXT_BYTES];
        struct lh_duration typed;
        const char *reason = "";
        lh_duration_text(lh_ms(ms), text);
        if (!lh_duration_parse(lh_slice_of_string(text), &typed, &reason))
            fail_msg("%s: %s", text, reason);
        assert_true(typed.ns <= lh_ms(ms).ns);
        assert_true(typed.ns >= lh_ms(ms).ns / 10 * 9);
    }
}

static void test_who_holds_it(void **state)
{
    (void)state;
    char text[LH_HELD_TEXT_BYTES];
    struct lh_answer answer = {.token = 7, .node = 2, .free_in_ns = 4150 * LH_NS_PER_MS};
    strcpy(answer.holder, "ada");
    assert_string_equal(lh_held_text(&answer, text),
                        "held by ada (token 7, node 2), free in at most 4.2s unless renewed");
    answer.revoked = true;
    assert_string_equal(lh_held_text(&answer, text),
                        "held by ada (token 7, node 2), free in at most 4.2s: it was revoked");
    answer = (struct lh_answer){.node = 2, .free_in_ns = 700 * LH_NS_PER_MS + 1};
    assert_string_equal(
        lh_held_text(&answer, text),
        "no holder known: node 2 names none; members still refuse it for at most 701ms");
    answer = (struct lh_answer){.token = 0};
    strcpy(answer.reason, "somebody else is being granted it");
    assert_string_equal(lh_held_text(&answer, text),
                        "held by somebody else: somebody else is being granted it");
}

// Every time in milliseconds, bounds rounded up; what is empty is null.
static void test_replies_as_json(void **state)
{
    (void)state;
    static const char bytes[] =
        "%5\r\n+remaining-ns\r\n:1999999\r\n+next-owner-max-ns\r\n:1000001\r\n"
        "+holder\r\n$0\r\n\r\n+refuses-us\r\n+why\r\n+rtt-us\r\n:150\r\n";
    struct lh_resp_value values[16];
    struct lh_resp_reply_parser parser;
    size_t consumed = 0;
    lh_resp_reply_parser_init(&parser, values, 16, 4096);
    assert_int_equal(
        lh_resp_reply_parse(&parser, (const uint8_t *)bytes, sizeof bytes - 1, &consumed),
        LH_RESP_COMPLETE);
    json_t *json = lh_reply_json(values);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_string_equal(text, "{\"remaining_ms\":1,\"next_owner_max_ms\":2,\"holder\":null,"
                              "\"refuses_this_node\":\"why\",\"rtt_us\":150}");
    free(text);
    json_decref(json);
}

static void test_one_way_to_wait(void **state)
{
    (void)state;
    struct lh_option_duration wait = {.given = true};
    struct lh_option_duration none = {.given = false};
    int exit_code = -1;
    assert_true(lh_options_one_wait("run", false, &wait, &exit_code));
    assert_true(lh_options_one_wait("run", true, &none, &exit_code));
    assert_int_equal(exit_code, -1);
    assert_false(lh_options_one_wait("run", true, &wait, &exit_code));
    assert_int_equal(exit_code, LH_EXIT_USAGE);
}

// A wait bounds how long a quorum is missed, but not below a second; --timeout says it itself.
static void test_patience(void **state)
{
    (void)state;
    struct lh_common_options common = {.json = false};
    struct lh_option_duration wait = {.given = true};
    assert_int_equal(lh_session_patience(&common, NULL).ns, 5 * LH_NS_PER_S);
    static const int64_t cases[][2] = {
        {0, 1000}, {999, 1000}, {2000, 2000}, {4999, 4999}, {5001, 5000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wait.value = lh_ms(cases[i][0]);
        assert_int_equal(lh_session_patience(&common, &wait).ns, lh_ms(cases[i][1]).ns);
    }
    wait.given = false;
    assert_int_equal(lh_session_patience(&common, &wait).ns, 5 * LH_NS_PER_S);
    common.timeout = (struct lh_option_duration){.given = true, .value = lh_ms(700)};
    assert_int_equal(lh_session_patience(&common, &wait).ns, lh_ms(700).ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_options_in_any_order_and_form),
        cmocka_unit_test(test_a_command_keeps_its_own_options),
        cmocka_unit_test(test_wrong_command_lines),
        cmocka_unit_test(test_durations_for_people),
        cmocka_unit_test(test_upper_bounds_are_rounded_up),
        cmocka_unit_test(test_printed_durations_are_durations),
        cmocka_unit_test(test_who_holds_it),
        cmocka_unit_test(test_replies_as_json),
        cmocka_unit_test(test_one_way_to_wait),
        cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests_name("cli_words", tests, NULL, NULL);
}
