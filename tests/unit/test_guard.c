// The grid of ticks: the document's numbers, windows that cut, negative skews, grids of any size,
// and checks that can fail. The widths that lh_guard_run counts are compared with the intervals'
// arithmetic, which the program itself does not use.
#include "sim/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/guard_svg.h"

static const struct lh_guard_world document = {100, 86, 114};

static void expect(int64_t skew, int64_t guard, int64_t overlap, int64_t gap, int64_t clean)
{
    struct lh_guard_counts counts;
    lh_guard_run(&document, skew, guard, &counts);
    assert_int_equal(counts.overlap, overlap);
    assert_int_equal(counts.gap, gap);
    assert_int_equal(counts.clean, clean);
    assert_false(counts.cut);
}

static void numbers_of_the_document(void **state)
{
    (void)state;
    expect(0, 0, 0, 0, 29);
    expect(2, 8, 0, 14, 15);
    expect(5, 3, 0, 1, 28);
    expect(5, 10, 0, 15, 14);
    expect(10, 3, 4, 0, 25);
    expect(6, 8, 0, 10, 19);
    expect(6, 1, 4, 0, 25);
}

static int64_t positive(int64_t number)
{
    return number > 0 ? number : 0;
}

static void whole_runs_agree_with_the_arithmetic(void **state)
{
    (void)state;
    const struct lh_guard_world world = {-7, -207, 193};
    for (int64_t skew = -60; skew <= 60; skew++) {
        for (int64_t guard = 0; guard <= 60; guard++) {
            struct lh_guard_counts counts;
            lh_guard_run(&world, skew, guard, &counts);
            assert_false(counts.cut);
            assert_int_equal(counts.overlap, positive(skew - 2 * guard));
            assert_int_equal(counts.gap, positive(2 * guard - skew));
            assert_int_equal(counts.overlap + counts.gap + counts.clean, 401);
        }
    }
}

static void one_guard_is_right_and_none_for_an_odd_skew(void **state)
{
    (void)state;
    const struct lh_guard_world world = {1000, 500, 1500};
    for (int64_t skew = -9; skew <= 200; skew += 3) {
        struct lh_guard_found found;
        lh_guard_search(&world, skew, &found);
        assert_true(found.any && found.ordered && found.searched > 300);
        assert_int_equal(found.smallest, positive((skew + 1) / 2));
        assert_int_equal(found.clean_count, skew >= 0 && skew % 2 == 0);
        if (found.clean_count > 0)
            assert_int_equal(found.clean, skew / 2);
    }
}

// A window that shows only a part is never taken for the whole.
static void windows_that_cut_are_no_proof(void **state)
{
    (void)state;
    const struct lh_guard_world worlds[] = {
        {100, 86, 99}, {100, 101, 130}, {100, 86, 100}, {100, 98, 102}, {100, 200, 210}};
    const struct lh_guard_list skews = {3, {2, 5, 10}};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        enum lh_guard_verdict verdicts[LH_GUARD_CHECKS];
        struct lh_guard_counts counts;
        lh_guard_run(&worlds[i], 10, 0, &counts);
        assert_true(counts.cut);
        lh_guard_check(&worlds[i], &skews, verdicts);
        for (size_t check = 2; check < LH_GUARD_CHECKS; check++)
            assert_int_equal(verdicts[check], LH_GUARD_CUT);
    }
    // Seen before the window ends: two leaders are two leaders.
    struct lh_guard_counts counts;
    const struct lh_guard_world early = {100, 86, 105};
    lh_guard_run(&early, 10, 0, &counts);
    assert_int_equal(counts.overlap, 6);
    assert_true(counts.cut);
}

// A window that begins too late shows no overlap for any guard: that is no answer. One that ends too
// soon for the smaller guards has shown their overlaps.
static void a_search_answers_only_from_whole_runs(void **state)
{
    (void)state;
    struct lh_guard_found found;
    const struct lh_guard_world late = {100, 97, 120};
    lh_guard_search(&late, -4, &found);
    assert_false(found.any);
    const struct lh_guard_world whole = {100, 86, 120};
    lh_guard_search(&whole, -4, &found);
    assert_true(found.any);
    assert_int_equal(found.smallest, 0);
    assert_int_equal(found.gap, 4);
    const struct lh_guard_world soon = {100, 60, 107};
    struct lh_guard_counts counts;
    lh_guard_run(&soon, 10, 0, &counts);
    assert_true(counts.cut && counts.overlap > 0);
    lh_guard_search(&soon, 10, &found);
    assert_true(found.any);
    assert_int_equal(found.smallest, 5);
}

static void a_window_is_made_wide_enough(void **state)
{
    (void)state;
    const struct lh_guard_list small = {2, {0, 10}};
    const struct lh_guard_list great = {2, {-1000, 1000}};
    const struct lh_guard_list guards = {2, {0, 1000}};
    struct lh_guard_world world = lh_guard_fit(100, &small, &small);
    assert_int_equal(world.first, 86);
    assert_int_equal(world.last, 114);
    world = lh_guard_fit(-5, &great, &guards);
    assert_int_equal(world.lease_end, -5);
    for (size_t s = 0; s < 2; s++) {
        for (size_t g = 0; g < 2; g++) {
            struct lh_guard_counts counts;
            lh_guard_run(&world, great.values[s], guards.values[g], &counts);
            assert_false(counts.cut);
        }
    }
}

static void checks_say_what_they_are_about(void **state)
{
    (void)state;
    enum lh_guard_verdict verdicts[LH_GUARD_CHECKS];
    const struct lh_guard_list skews = {6, {0, 2, 4, 5, 6, 10}};
    lh_guard_check(&document, &skews, verdicts);
    for (size_t i = 0; i < LH_GUARD_CHECKS; i++)
        assert_int_equal(verdicts[i], LH_GUARD_PASSED);
    const struct lh_guard_list ahead = {2, {-4, -1}};
    lh_guard_check(&document, &ahead, verdicts);
    assert_int_equal(verdicts[1], LH_GUARD_NOTHING);
    assert_int_equal(verdicts[4], LH_GUARD_PASSED);
}

static void the_picture_marks_the_exact_line(void **state)
{
    (void)state;
    char *picture = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&picture, &size);
    const struct lh_guard_list skews = {4, {-2, 0, 1, 2}};
    const struct lh_guard_list guards = {3, {0, 1, 2}};
    lh_guard_draw(&document, &skews, &guards, file);
    fclose(file);
    // Skews 0, 1 and 2 at guards 0, a half and 1; no point for the negative one.
    assert_non_null(strstr(picture, "points='129,179 175,156 221,133 '"));
    assert_non_null(strstr(picture, "skew 2, guard 0: overlap 2, gap 0</title>"));
    assert_null(strstr(picture, "class='cut'"));
    free(picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_the_document),
        cmocka_unit_test(whole_runs_agree_with_the_arithmetic),
        cmocka_unit_test(one_guard_is_right_and_none_for_an_odd_skew),
        cmocka_unit_test(windows_that_cut_are_no_proof),
        cmocka_unit_test(a_search_answers_only_from_whole_runs),
        cmocka_unit_test(a_window_is_made_wide_enough),
        cmocka_unit_test(checks_say_what_they_are_about),
        cmocka_unit_test(the_picture_marks_the_exact_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
