// The grid of `leasehold guard`: a table of all its cells, one skew guard by guard, the smallest
// guard of each skew as the search finds it, and what must be so. See guard.h.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/guard.h"
#include "cli/output.h"
#include "sim/guard_svg.h"

struct totals {
    size_t cells, overlaps, gaps, cuts;
    size_t skews, right; // skews, and those for which the search finds one guard with neither
    struct lh_guard_found found[LH_GUARD_LIST_MOST]; // of each skew
};

static struct totals count(const struct lh_guard_grid *grid)
{
    struct totals totals = {.skews = grid->skews.count};
    struct lh_guard_counts counts;
    for (size_t s = 0; s < grid->skews.count; s++) {
        lh_guard_search(&grid->world, grid->skews.values[s], &totals.found[s]);
        totals.right += totals.found[s].clean_count == 1;
        for (size_t g = 0; g < grid->guards.count; g++) {
            lh_guard_run(&grid->world, grid->skews.values[s], grid->guards.values[g], &counts);
            totals.cells++;
            totals.overlaps += counts.overlap > 0;
            totals.gaps += counts.gap > 0;
            totals.cuts += counts.cut;
        }
    }
    return totals;
}

enum outcome { HOLDS, FAILS, CANNOT_BE_TOLD };

static enum outcome outcome_of(const enum lh_guard_verdict verdicts[LH_GUARD_CHECKS])
{
    enum outcome outcome = HOLDS;
    for (size_t i = 0; i < LH_GUARD_CHECKS; i++) {
        if (verdicts[i] == LH_GUARD_FAILED)
            return FAILS;
        if (verdicts[i] == LH_GUARD_CUT)
            outcome = CANNOT_BE_TOLD;
    }
    return outcome;
}

static const char *outcome_text(enum outcome outcome, const struct totals *totals)
{
    switch (outcome) {
    case HOLDS:
        if (totals->right == 0)
            return "No guard is right for such a skew: each leaves two leaders for a while, or "
                   "none.";
        if (totals->right == totals->skews)
            return "One guard is right, half the skew: less leaves two leaders, more leaves none.";
        return "One guard is right, half the skew: less leaves two leaders, more leaves none, and "
               "an odd or negative skew has no right one.";
    case FAILS: return "FAILED: the runs contradict a check.";
    case CANNOT_BE_TOLD: break;
    }
    return "Not shown: the window cuts what happens around the end of the lease; widen --window, "
           "or leave it out.";
}

static const char *verdict_text(enum lh_guard_verdict verdict)
{
    switch (verdict) {
    case LH_GUARD_PASSED: return "passed";
    case LH_GUARD_FAILED: return "failed";
    case LH_GUARD_CUT: return "cut";
    case LH_GUARD_NOTHING: break;
    }
    return "nothing";
}

// --- for people ---

static const char *mark(const struct lh_guard_counts *counts)
{
    return counts->cut ? "   cut by the window" : "";
}

static void print_cells(const struct lh_guard_grid *grid, const struct totals *totals)
{
    struct lh_guard_counts counts;
    printf("skew  guard  overlap  gap  clean\n");
    for (size_t s = 0; s < grid->skews.count; s++) {
        for (size_t g = 0; g < grid->guards.count; g++) {
            const int64_t skew = grid->skews.values[s];
            const int64_t guard = grid->guards.values[g];
            lh_guard_run(&grid->world, skew, guard, &counts);
            printf("%-5" PRId64 " %-6" PRId64 " %-8" PRId64 " %-4" PRId64 " %" PRId64 "%s\n", skew,
                   guard, counts.overlap, counts.gap, counts.clean, mark(&counts));
        }
    }
    printf("\ncombinations of skew and guard: %zu\n", totals->cells);
    printf("  with an overlap, two leaders:  %zu\n", totals->overlaps);
    printf("  with a gap, no leader:         %zu\n", totals->gaps);
    if (totals->cuts > 0)
        printf("  cut by the window:             %zu\n", totals->cuts);
}

static void print_listed(const struct lh_guard_grid *grid)
{
    struct lh_guard_counts counts;
    printf("\nskew %" PRId64 ", guard by guard:\nguard  overlap  gap  overlap+gap\n",
           grid->listed_skew);
    for (size_t g = 0; g < grid->listed.count; g++) {
        lh_guard_run(&grid->world, grid->listed_skew, grid->listed.values[g], &counts);
        printf("%-6" PRId64 " %-8" PRId64 " %-4" PRId64 " %" PRId64 "%s\n", grid->listed.values[g],
               counts.overlap, counts.gap, counts.overlap + counts.gap, mark(&counts));
    }
}

static void print_found(const struct lh_guard_grid *grid, const struct totals *totals)
{
    printf("\nthe smallest guard with no overlap, from trying all:\n");
    for (size_t s = 0; s < grid->skews.count; s++) {
        const int64_t skew = grid->skews.values[s];
        const struct lh_guard_found found = totals->found[s];
        if (!found.any) {
            printf("  skew %-3" PRId64 " smallest guard: cut by the window\n", skew);
            continue;
        }
        printf("  skew %-3" PRId64 " smallest guard: %-3" PRId64 " gap: %" PRId64, skew,
               found.smallest, found.gap);
        if (found.clean_count == 1 && found.clean * 2 == skew)
            printf("   half the skew, and the only one of 0..%" PRId64 " with neither",
                   found.searched);
        else if (found.clean_count == 0)
            printf("   none of 0..%" PRId64 " has neither", found.searched);
        else
            printf("   with neither: %" PRId64 " of 0..%" PRId64, found.clean_count,
                   found.searched);
        printf("\n");
    }
}

static void print_checks(const struct lh_guard_grid *grid, const struct totals *totals,
                         const enum lh_guard_verdict verdicts[LH_GUARD_CHECKS],
                         enum outcome outcome)
{
    struct lh_guard_counts counts;
    size_t passed = 0, judged = 0;
    lh_guard_run(&grid->world, 0, 0, &counts);
    printf("\nclocks that agree, and no guard: overlap %" PRId64 ", gap %" PRId64 ", clean %" PRId64
           "%s\n\n",
           counts.overlap, counts.gap, counts.clean, mark(&counts));
    for (size_t i = 0; i < LH_GUARD_CHECKS; i++) {
        passed += verdicts[i] == LH_GUARD_PASSED;
        judged += verdicts[i] != LH_GUARD_NOTHING;
        printf("  %-8s %s\n", verdict_text(verdicts[i]), lh_guard_check_text(i));
    }
    printf("checks passed: %zu/%zu\n%s\n", passed, judged, outcome_text(outcome, totals));
}

// --- for machines ---

static json_t *cell_json(const struct lh_guard_grid *grid, int64_t skew, int64_t guard)
{
    struct lh_guard_counts counts;
    lh_guard_run(&grid->world, skew, guard, &counts);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:b}", "skew", (json_int_t)skew, "guard",
                     (json_int_t)guard, "overlap", (json_int_t)counts.overlap, "gap",
                     (json_int_t)counts.gap, "clean", (json_int_t)counts.clean, "cut", counts.cut);
}

static json_t *found_json(int64_t skew, struct lh_guard_found found)
{
    return json_pack("{s:I, s:o, s:o, s:I, s:I, s:o}", "skew", (json_int_t)skew, "smallest_guard",
                     found.any ? json_integer(found.smallest) : json_null(), "gap",
                     found.any ? json_integer(found.gap) : json_null(), "searched_to",
                     (json_int_t)found.searched, "clean_guards", (json_int_t)found.clean_count,
                     "clean_guard",
                     found.clean_count > 0 ? json_integer(found.clean) : json_null());
}

static json_t *checks_json(const enum lh_guard_verdict verdicts[LH_GUARD_CHECKS])
{
    json_t *checks = json_array();
    for (size_t i = 0; i < LH_GUARD_CHECKS; i++)
        json_array_append_new(checks, json_pack("{s:s, s:s}", "check", lh_guard_check_text(i),
                                                "result", verdict_text(verdicts[i])));
    return checks;
}

static int print_json(const struct lh_guard_grid *grid, const struct totals *totals,
                      const enum lh_guard_verdict verdicts[LH_GUARD_CHECKS], enum outcome outcome)
{
    static const char *const names[] = {"holds", "fails", "cut"};
    json_t *cells = json_array();
    json_t *listed = json_array();
    json_t *found = json_array();
    for (size_t s = 0; s < grid->skews.count; s++) {
        json_array_append_new(found, found_json(grid->skews.values[s], totals->found[s]));
        for (size_t g = 0; g < grid->guards.count; g++)
            json_array_append_new(cells,
                                  cell_json(grid, grid->skews.values[s], grid->guards.values[g]));
    }
    for (size_t g = 0; g < grid->listed.count; g++)
        json_array_append_new(listed, cell_json(grid, grid->listed_skew, grid->listed.values[g]));
    return lh_json_print(
        "guard", json_pack("{s:I, s:[I,I], s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:s}",
                           "lease_end", (json_int_t)grid->world.lease_end, "window",
                           (json_int_t)grid->world.first, (json_int_t)grid->world.last, "cells",
                           cells, "combinations", (json_int_t)totals->cells, "with_overlap",
                           (json_int_t)totals->overlaps, "with_gap", (json_int_t)totals->gaps,
                           "cut", (json_int_t)totals->cuts, "listed", listed, "smallest", found,
                           "skews_with_one_right_guard", (json_int_t)totals->right,
                           "agreeing_clocks", cell_json(grid, 0, 0), "checks",
                           checks_json(verdicts), "verdict", names[outcome]));
}

static int print_csv(const struct lh_guard_grid *grid)
{
    struct lh_guard_counts counts;
    printf("skew,guard,overlap,gap,clean,cut\n");
    for (size_t s = 0; s < grid->skews.count; s++) {
        for (size_t g = 0; g < grid->guards.count; g++) {
            lh_guard_run(&grid->world, grid->skews.values[s], grid->guards.values[g], &counts);
            printf("%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d\n",
                   grid->skews.values[s], grid->guards.values[g], counts.overlap, counts.gap,
                   counts.clean, counts.cut);
        }
    }
    return lh_output_end("guard");
}

static int draw(const struct lh_guard_grid *grid)
{
    FILE *file = fopen(grid->svg, "w");
    bool written = file != NULL;
    if (file != NULL) {
        lh_guard_draw(&grid->world, &grid->skews, &grid->guards, file);
        written = ferror(file) == 0;
        written = fclose(file) == 0 && written;
    }
    if (!written)
        lh_complain("guard", "'%s' of --svg cannot be written: %s", grid->svg, strerror(errno));
    return written ? LH_EXIT_OK : LH_EXIT_FAILED;
}

int lh_guard_grid_print(const struct lh_guard_grid *grid, enum lh_guard_form form)
{
    enum lh_guard_verdict verdicts[LH_GUARD_CHECKS];
    const struct totals totals = count(grid);
    int code;
    lh_guard_check(&grid->world, &grid->checked, verdicts);
    const enum outcome outcome = outcome_of(verdicts);
    if (form == LH_GUARD_JSON) {
        code = print_json(grid, &totals, verdicts, outcome);
    } else if (form == LH_GUARD_CSV) {
        code = print_csv(grid);
    } else {
        print_cells(grid, &totals);
        print_listed(grid);
        print_found(grid, &totals);
        print_checks(grid, &totals, verdicts, outcome);
        code = lh_output_end("guard");
    }
    const int drawn = grid->svg != NULL ? draw(grid) : LH_EXIT_OK;
    if (code == LH_EXIT_OK)
        code = drawn;
    return code == LH_EXIT_OK && outcome != HOLDS ? LH_EXIT_FAILED : code;
}
