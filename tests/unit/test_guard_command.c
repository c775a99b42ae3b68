// The command line of `guard`: its whole output without options, exit codes, machine forms, and
// what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "captured.h"
#include "cli/command.h"

static char output[1 << 20];

// Runs the command with these arguments, a blank between two; what it prints is in `output`.
static int run(const char *arguments)
{
    static char name[] = "guard";
    char line[512];
    char *argv[16] = {name};
    int argc = 1;
    snprintf(line, sizeof line, "%s", arguments);
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    return captured(lh_guard_command, argc, argv, output, sizeof output);
}

// The numbers, their layout and order are those of the document that asks the question.
static const char golden[] =
    "skew  guard  overlap  gap  clean\n"
    "0     0      0        0    29\n"
    "0     3      0        6    23\n"
    "0     8      0        16   13\n"
    "2     0      2        0    27\n"
    "2     3      0        4    25\n"
    "2     8      0        14   15\n"
    "5     0      5        0    24\n"
    "5     3      0        1    28\n"
    "5     8      0        11   18\n"
    "10    0      10       0    19\n"
    "10    3      4        0    25\n"
    "10    8      0        6    23\n"
    "\n"
    "combinations of skew and guard: 12\n"
    "  with an overlap, two leaders:  4\n"
    "  with a gap, no leader:         7\n"
    "\n"
    "skew 5, guard by guard:\n"
    "guard  overlap  gap  overlap+gap\n"
    "0      5        0    5\n"
    "2      1        0    1\n"
    "4      0        3    3\n"
    "5      0        5    5\n"
    "6      0        7    7\n"
    "8      0        11   11\n"
    "10     0        15   15\n"
    "\n"
    "the smallest guard with no overlap, from trying all:\n"
    "  skew 0   smallest guard: 0   gap: 0   half the skew, and the only one of 0..13 with "
    "neither\n"
    "  skew 2   smallest guard: 1   gap: 0   half the skew, and the only one of 0..14 with "
    "neither\n"
    "  skew 5   smallest guard: 3   gap: 1   none of 0..14 has neither\n"
    "  skew 10  smallest guard: 5   gap: 0   half the skew, and the only one of 0..14 with "
    "neither\n"
    "\n"
    "clocks that agree, and no guard: overlap 0, gap 0, clean 29\n"
    "\n"
    "  passed   clocks that agree need no guard: neither overlap nor gap\n"
    "  passed   a holder's clock that is behind makes two leaders if there is no guard\n"
    "  passed   a guard that is too small leaves an overlap, one that is too large a gap\n"
    "  passed   every skew has a smallest guard without overlap, which grows with the skew\n"
    "  passed   one guard alone has neither, half of an even skew; an odd or negative skew has "
    "none\n"
    "checks passed: 5/5\n"
    "One guard is right, half the skew: less leaves two leaders, more leaves none, and an odd or "
    "negative skew has no right one.\n";

static void without_options_it_prints_the_tables(void **state)
{
    (void)state;
    assert_int_equal(run(""), 0);
    assert_string_equal(output, golden);
}

static void a_grid_of_ones_own(void **state)
{
    (void)state;
    assert_int_equal(run("--skew -3,7,0,7 --guard 0..4 --lease-end 1000"), 0);
    assert_non_null(strstr(output, "\n-3    0      0        3    26\n"));
    assert_non_null(strstr(output, "\n7     4      0        1    28\n\ncombinations of skew and "
                                   "guard: 15\n"));
    assert_non_null(strstr(output, "\nskew 7, guard by guard:\n"));
    assert_non_null(strstr(output, "  skew -3  smallest guard: 0   gap: 3   none of "));
    assert_non_null(strstr(output, "checks passed: 5/5\n"));
}

static json_int_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void the_verdict_is_of_the_skews_that_were_run(void **state)
{
    (void)state;
    assert_int_equal(run("--skew -3,-4,5"), 0);
    assert_non_null(strstr(output, "\nNo guard is right for such a skew"));
    assert_int_equal(run("--skew 0,4"), 0);
    assert_non_null(strstr(output, "more leaves none.\n"));
    assert_int_equal(run("--skew 3,4 --json"), 0);
    json_t *answer = json_loads(output, 0, NULL);
    assert_int_equal(integer(answer, "skews_with_one_right_guard"), 1);
    json_decref(answer);
}

static void a_window_that_cuts_is_no_pass(void **state)
{
    (void)state;
    assert_int_equal(run("--window 86..99"), 1);
    assert_non_null(strstr(output, "10    0      0        0    14   cut by the window\n"));
    assert_non_null(strstr(output, "  skew 10  smallest guard: cut by the window\n"));
    assert_non_null(strstr(output, "Not shown: the window cuts"));
    assert_int_equal(run("--window 0..200"), 0);
}

static void csv_has_one_line_a_cell(void **state)
{
    (void)state;
    assert_int_equal(run("--csv --skew 5 --guard 2,3"), 0);
    assert_string_equal(output, "skew,guard,overlap,gap,clean,cut\n5,2,1,0,28,0\n5,3,0,1,28,0\n");
}

static void json_has_every_table(void **state)
{
    (void)state;
    assert_int_equal(run("--json"), 0);
    json_t *answer = json_loads(output, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(answer, "cells")), 12);
    assert_int_equal(integer(answer, "with_overlap"), 4);
    assert_int_equal(integer(answer, "with_gap"), 7);
    assert_int_equal(json_array_size(json_object_get(answer, "listed")), 7);
    const json_t *five = json_array_get(json_object_get(answer, "smallest"), 2);
    assert_int_equal(integer(five, "smallest_guard"), 3);
    assert_int_equal(integer(five, "clean_guards"), 0);
    assert_true(json_is_null(json_object_get(five, "clean_guard")));
    assert_int_equal(json_array_size(json_object_get(answer, "checks")), 5);
    assert_string_equal(json_string_value(json_object_get(answer, "verdict")), "holds");
    json_decref(answer);
    assert_int_equal(run("--json --window 86..99"), 1);
    answer = json_loads(output, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(answer, "verdict")), "cut");
    json_decref(answer);
}

static void the_picture_is_written_or_the_reason_told(void **state)
{
    (void)state;
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char arguments[400], path[300], begin[5] = "";
    snprintf(path, sizeof path, "%s/guard-%d.svg", directory, (int)getpid());
    snprintf(arguments, sizeof arguments, "--svg %s", path);
    assert_int_equal(run(arguments), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(begin, 1, 4, file), 4);
    assert_string_equal(begin, "<svg");
    fclose(file);
    unlink(path);
    assert_int_equal(run("--svg /nowhere/at/all.svg"), 1);
}

static void real_clocks_get_the_smallest_guard(void **state)
{
    (void)state;
    assert_int_equal(run("--rate-error 1% --ttl 10s"), 0);
    assert_non_null(strstr(output, "smallest guard without overlap: 100000000 ns (100.000000 ms)"));
    assert_non_null(strstr(output, "only the grantor waits, as Leasehold's acceptors do: "
                                   "202020203 ns"));
    assert_int_equal(run("--skew-ns -3 --json"), 0);
    json_t *answer = json_loads(output, 0, NULL);
    const json_t *both = json_object_get(answer, "both_sides");
    assert_int_equal(integer(both, "guard_ns"), 0);
    assert_int_equal(integer(both, "gap_ns"), 3);
    assert_true(json_is_true(json_object_get(both, "monotonic")));
    json_decref(answer);
    assert_int_equal(run("--skew-ns 0..9000000000 --ttl 1s"), 1);
    assert_non_null(strstr(output, "smallest guard without overlap: none."));
    assert_int_equal(run("--delay 1h --ttl 10s"), 1);
    assert_non_null(strstr(output, "its holder may never act. Lengthen --ttl, or shorten --delay"));
}

static void wrong_words_are_usage(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "--skw 5",
        "--skew",
        "--skew 5..x",
        "--skew 5,",
        "--skew 1001",
        "--skew 0..400",
        "--skew 7..5",
        "--guard -1",
        "--guard 1.5",
        "--window 90..80",
        "--window 0..999999",
        "--lease-end soon",
        "--json --csv",
        "--csv=yes",
        "--skew-ns 4.5",
        "--skew-ns 5..4",
        "--rate-error 1",
        "--rate-error 11%",
        "--delay long",
        "--ttl 0",
        "--ttl 25h",
        "--ttl 1s --skew 2",
        "more",
        "--ttl 1s --csv",
        "--delay 1d",
        "--rate-error -1%",
        "--window 5..",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (run(wrong[i]) != 64 || output[0] != '\0')
            fail_msg("%s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_it_prints_the_tables),
        cmocka_unit_test(a_grid_of_ones_own),
        cmocka_unit_test(the_verdict_is_of_the_skews_that_were_run),
        cmocka_unit_test(a_window_that_cuts_is_no_pass),
        cmocka_unit_test(csv_has_one_line_a_cell),
        cmocka_unit_test(json_has_every_table),
        cmocka_unit_test(the_picture_is_written_or_the_reason_told),
        cmocka_unit_test(real_clocks_get_the_smallest_guard),
        cmocka_unit_test(wrong_words_are_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
