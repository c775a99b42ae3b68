// The command line of `witness`: exit codes, and what it prints for people and for machines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "captured.h"
#include "cli/command.h"

static char output[262144];

// Runs the command; what it wrote to standard output is in `output`.
static int run(const char *first, const char *second)
{
    static char name[] = "witness";
    char words[2][64];
    char *argv[4] = {name, NULL, NULL, NULL};
    int argc = 1;
    if (first != NULL)
        argv[argc++] = strcpy(words[0], first);
    if (second != NULL)
        argv[argc++] = strcpy(words[1], second);
    return captured(lh_witness_command, argc, argv, output, sizeof output);
}

static void all_pass(void **state)
{
    (void)state;
    assert_int_equal(run("all", NULL), 0);
    assert_non_null(strstr(output, "13 of 15 witnesses show their failure without the rule"));
    assert_int_equal(run(NULL, NULL), 0);
}

static void one_is_told_step_by_step(void **state)
{
    (void)state;
    assert_int_equal(run("stale-owner-open", NULL), 0);
    assert_non_null(strstr(output, "  2100 ms  a1 promises 3 and reports lease 2\n"));
    assert_non_null(strstr(output, "=> two owners at once: p1 under 3, p2 under 1\n"));
    assert_non_null(strstr(output, "=> nothing fails\n"));
    assert_null(strstr(output, "UNEXPECTED"));
}

static void what_waits_for_the_log_is_no_pass(void **state)
{
    (void)state;
    assert_int_equal(run("skipped-paxos-recovery", NULL), 75);
}

static void wrong_words_are_usage(void **state)
{
    (void)state;
    assert_int_equal(run("stale-owner", NULL), 64);
    assert_int_equal(run("all", "--frobnicate"), 64);
}

static void names_are_listed_as_json(void **state)
{
    (void)state;
    assert_int_equal(run("--list", "--json"), 0);
    json_t *list = json_loads(output, 0, NULL);
    assert_int_equal(json_array_size(list), 15);
    json_t *last = json_array_get(list, 14);
    assert_non_null(json_string_value(json_object_get(last, "witness")));
    assert_true(json_is_boolean(json_object_get(last, "waits")));
    json_decref(list);
}

static void names_are_listed(void **state)
{
    (void)state;
    assert_int_equal(run("--list", NULL), 0);
    assert_non_null(strstr(output, "unsigned-expiry-underflow"));
}

static void json_has_both_runs(void **state)
{
    (void)state;
    json_error_t error;
    assert_int_equal(run("all", "--json"), 0);
    json_t *list = json_loads(output, 0, &error);
    assert_int_equal(json_array_size(list), 15);
    json_t *first = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(first, "witness")),
                        "insufficient-quarantine");
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "as-expected");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(first, "weakened"), "failure")),
        "two owners at once: p1 under 1, p2 under 2");
    json_t *restored = json_object_get(first, "restored");
    assert_true(json_is_null(json_object_get(restored, "failure")));
    assert_true(json_array_size(json_object_get(restored, "steps")) > 10);
    json_t *waiting = json_array_get(list, 4);
    assert_string_equal(json_string_value(json_object_get(waiting, "verdict")),
                        "waits-for-the-log");
    assert_true(json_is_null(json_object_get(waiting, "weakened")));
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pass),
        cmocka_unit_test(one_is_told_step_by_step),
        cmocka_unit_test(what_waits_for_the_log_is_no_pass),
        cmocka_unit_test(wrong_words_are_usage),
        cmocka_unit_test(names_are_listed),
        cmocka_unit_test(names_are_listed_as_json),
        cmocka_unit_test(json_has_both_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
