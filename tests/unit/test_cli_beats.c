// The demo's check can fail: overlapping beats and falling tokens are refused, and only what is
// truly excused is excused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/beats.h"

static struct lh_beats_verdict verdict;
static struct lh_error error;

static bool check(const struct lh_beat *beats, size_t count, int64_t stopped)
{
    memset(&error, 0, sizeof error);
    return lh_beats_check(beats, count, &stopped, stopped > 0, &verdict, &error);
}
#define CHECK(beats, stopped) check(beats, sizeof(beats) / sizeof((beats)[0]), stopped)

static void test_good(void **state)
{
    (void)state;
    const struct lh_beat beats[] = {{5, 10}, {5, 20}, {9, 21}, {9, 40}, {12, 41}};
    assert_true(CHECK(beats, 0));
    assert_int_equal(verdict.beats, 5);
    assert_int_equal(verdict.span_count, 3);
    assert_int_equal(verdict.spans[1].token, 9);
    assert_int_equal(verdict.spans[1].first_ns, 21);
    assert_int_equal(verdict.spans[1].last_ns, 40);
    assert_int_equal(verdict.refused, 0);
    assert_true(check(NULL, 0, 0));
}

static void test_overlap_is_refused(void **state)
{
    (void)state;
    const struct lh_beat touching[] = {{5, 10}, {5, 20}, {9, 20}};
    assert_false(CHECK(touching, 0));
    assert_non_null(strstr(error.text, "two holders at once"));
    const struct lh_beat one_ns_later[] = {{5, 10}, {5, 20}, {9, 21}};
    assert_true(CHECK(one_ns_later, 0));
    // The stamps of a third overlap the first's, not its neighbour's.
    const struct lh_beat farther[] = {{5, 10}, {5, 50}, {9, 51}, {12, 40}};
    assert_false(CHECK(farther, 0));
}

// Both at once, in whatever order the writes came: seen as falling tokens.
static void test_interleaved_is_refused(void **state)
{
    (void)state;
    const struct lh_beat beats[] = {{5, 10}, {9, 15}, {5, 20}, {9, 25}};
    assert_false(CHECK(beats, 0));
    assert_non_null(strstr(error.text, "tokens fell: line 3 has token 5 after token 9"));
}

static void test_falling_tokens_are_refused(void **state)
{
    (void)state;
    const struct lh_beat beats[] = {{9, 10}, {9, 20}, {5, 30}, {5, 40}};
    assert_false(CHECK(beats, 0));
    assert_non_null(strstr(error.text, "tokens fell"));
}

static void test_late_writes_of_the_stopped_are_counted(void **state)
{
    (void)state;
    const struct lh_beat beats[] = {{5, 10}, {5, 20}, {9, 30}, {5, 35}, {5, 21}, {9, 40}};
    assert_true(CHECK(beats, 5));
    assert_int_equal(verdict.refused, 2);
    assert_int_equal(verdict.spans[0].refused, 2);
    assert_int_equal(verdict.spans[0].last_ns, 20); // refused ones do not count as acting
    assert_false(CHECK(beats, 9));                  // another one was stopped
    assert_false(CHECK(beats, 0));
}

// Being stopped excuses nothing that was written before a higher token.
static void test_the_stopped_may_not_overlap_either(void **state)
{
    (void)state;
    const struct lh_beat beats[] = {{5, 10}, {5, 40}, {9, 30}, {9, 50}};
    assert_false(CHECK(beats, 5));
    assert_non_null(strstr(error.text, "two holders at once"));
}

static void test_lines(void **state)
{
    (void)state;
    struct lh_beat beat;
    assert_true(lh_beat_parse("7 123", 5, &beat));
    assert_int_equal(beat.token, 7);
    assert_int_equal(beat.boottime_ns, 123);
    static const char *const wrong[] = {"",
                                        "7",
                                        "7 ",
                                        " 7 1",
                                        "7 1 ",
                                        "-7 1",
                                        "7  1",
                                        "0 1",
                                        "7 0",
                                        "7 1x",
                                        "9223372036854775808 1",
                                        "7\t1",
                                        "7 -1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(lh_beat_parse(wrong[i], strlen(wrong[i]), &beat));
    assert_true(lh_beat_parse("9223372036854775807 9223372036854775807", 39, &beat));
}

static bool read_text(const char *text, size_t *ret_count)
{
    char path[] = "/tmp/lh-beats-XXXXXX";
    int fd = mkstemp(path);
    struct lh_beat *beats = NULL;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    bool good = lh_beats_read(path, &beats, ret_count, &error);
    unlink(path);
    if (good)
        free(beats);
    return good;
}

static void test_files(void **state)
{
    (void)state;
    size_t count = 99;
    assert_true(read_text("", &count));
    assert_int_equal(count, 0);
    assert_true(read_text("5 10\n5 20\n", &count));
    assert_int_equal(count, 2);
    assert_false(read_text("5 10\n5 2", &count)); // a torn write
    assert_false(read_text("5 10\nx\n", &count));
    assert_non_null(strstr(error.text, "line 2"));
    assert_false(lh_beats_read("/tmp/lh-no-such-file", &(struct lh_beat *){NULL}, &count, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_overlap_is_refused),
        cmocka_unit_test(test_interleaved_is_refused),
        cmocka_unit_test(test_falling_tokens_are_refused),
        cmocka_unit_test(test_late_writes_of_the_stopped_are_counted),
        cmocka_unit_test(test_the_stopped_may_not_overlap_either),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests_name("cli_beats", tests, NULL, NULL);
}
