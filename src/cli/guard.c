// `leasehold guard`: how great must the guard between two clocks be? Its options, and what is said
// to wrong ones.
#include "cli/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"

struct given {
    const char *skew, *guard, *window, *lease_end, *svg;
    bool json, csv;
    const char *skew_ns, *rate_error;
    struct lh_option_duration delay, ttl;
};

static bool refuse(const char *option, const char *value, const char *remedy)
{
    lh_complain("guard", "'%s' of --%s is refused: %s", value, option, remedy);
    return false;
}

// --- numbers, ranges and lists ---

static bool parse_number(struct lh_slice text, int64_t least, int64_t most, int64_t *ret)
{
    int64_t number;
    if (!lh_i64_parse(text, &number) || number < least || number > most)
        return false;
    *ret = number;
    return true;
}

// "A..B" or "A", which is A..A.
static bool parse_range(struct lh_slice text, int64_t least, int64_t most, int64_t *ret_from,
                        int64_t *ret_to)
{
    const uint8_t *dots = memmem(text.data, text.size_bytes, "..", 2);
    const size_t size = dots != NULL ? (size_t)(dots - text.data) : text.size_bytes;
    int64_t from, to;
    if (!parse_number(lh_slice_of(text.data, size), least, most, &from))
        return false;
    to = from;
    if (dots != NULL &&
        !parse_number(lh_slice_of(dots + 2, text.size_bytes - size - 2), least, most, &to))
        return false;
    if (to < from)
        return false;
    *ret_from = from;
    *ret_to = to;
    return true;
}

static int by_value(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void sort(struct lh_guard_list *list)
{
    size_t kept = 0;
    qsort(list->values, list->count, sizeof list->values[0], by_value);
    for (size_t i = 0; i < list->count; i++)
        if (kept == 0 || list->values[kept - 1] != list->values[i])
            list->values[kept++] = list->values[i];
    list->count = kept;
}

static bool parse_list(const char *option, const char *text, int64_t least,
                       struct lh_guard_list *ret)
{
    struct lh_guard_list list = {.count = 0};
    char remedy[160];
    snprintf(remedy, sizeof remedy,
             "give whole numbers from %" PRId64
             " to %d with commas between them, or ranges, as in 0,2,5..8; at most %d in all",
             least, LH_GUARD_VALUE_MOST, LH_GUARD_LIST_MOST);
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ",");
        int64_t from, to;
        if (!parse_range(lh_slice_of((const uint8_t *)at, size), least, LH_GUARD_VALUE_MOST, &from,
                         &to) ||
            (size_t)(to - from) >= LH_GUARD_LIST_MOST - list.count)
            return refuse(option, text, remedy);
        while (from <= to)
            list.values[list.count++] = from++;
        at += size;
        if (*at == '\0')
            break;
    }
    sort(&list);
    *ret = list;
    return true;
}

// --- the grid ---

// The tables of the document that this answers, and the skews of its checks.
static const struct lh_guard_list document_skews = {4, {0, 2, 5, 10}};
static const struct lh_guard_list document_guards = {3, {0, 3, 8}};
static const struct lh_guard_list document_listed = {7, {0, 2, 4, 5, 6, 8, 10}};
static const struct lh_guard_list document_checked = {6, {0, 2, 4, 5, 6, 10}};
#define DOCUMENT_LISTED_SKEW 5
#define DOCUMENT_LEASE_END 100

// An odd skew is the one for which no guard is right; without one the greatest will do.
static int64_t choose_listed(const struct lh_guard_list *skews)
{
    for (size_t i = 0; i < skews->count; i++)
        if (skews->values[i] > 0 && skews->values[i] % 2 != 0)
            return skews->values[i];
    return skews->values[skews->count - 1];
}

static bool parse_window(const char *text, struct lh_guard_world *world)
{
    int64_t first, last;
    const int64_t most = LH_GUARD_LEASE_END_MOST + LH_GUARD_WINDOW_MOST;
    if (!parse_range(lh_slice_of_string(text), -most, most, &first, &last) ||
        last - first >= LH_GUARD_WINDOW_MOST)
        return refuse("window", text,
                      "give the first and the last tick, as in 86..114, at most 20000 in all");
    world->first = first;
    world->last = last;
    return true;
}

static bool parse_grid(const struct given *given, struct lh_guard_grid *ret)
{
    struct lh_guard_grid grid = {.skews = document_skews,
                                 .guards = document_guards,
                                 .listed_skew = DOCUMENT_LISTED_SKEW,
                                 .listed = document_listed,
                                 .checked = document_checked,
                                 .svg = given->svg};
    int64_t lease_end = DOCUMENT_LEASE_END;
    if (given->skew != NULL) {
        if (!parse_list("skew", given->skew, -LH_GUARD_VALUE_MOST, &grid.skews))
            return false;
        grid.checked = grid.skews;
        grid.listed_skew = choose_listed(&grid.skews);
    }
    if (given->guard != NULL) {
        if (!parse_list("guard", given->guard, 0, &grid.guards))
            return false;
        grid.listed = grid.guards;
    }
    if (given->lease_end != NULL &&
        !parse_number(lh_slice_of_string(given->lease_end), -LH_GUARD_LEASE_END_MOST,
                      LH_GUARD_LEASE_END_MOST, &lease_end))
        return refuse("lease-end", given->lease_end,
                      "give a tick, a whole number of at most 1000000000");
    if (given->window != NULL) {
        grid.world.lease_end = lease_end;
        if (!parse_window(given->window, &grid.world))
            return false;
    } else {
        grid.world = lh_guard_fit(lease_end, &grid.skews, &grid.guards);
    }
    *ret = grid;
    return true;
}

// --- real clocks ---

static bool parse_bounds(const struct given *given, struct lh_guard_bounds *ret)
{
    struct lh_guard_bounds bounds = {.ttl_ns = 10 * LH_NS_PER_S};
    uint64_t ppm = 0;
    if (given->ttl.given)
        bounds.ttl_ns = given->ttl.value.ns;
    if (given->delay.given)
        bounds.delay_ns = given->delay.value.ns;
    if (bounds.ttl_ns > LH_GUARD_NS_MOST)
        return refuse("ttl", given->ttl.text, "give at most 24h");
    if (bounds.delay_ns > LH_GUARD_NS_MOST)
        return refuse("delay", given->delay.text, "give at most 24h");
    if (given->skew_ns != NULL &&
        !parse_range(lh_slice_of_string(given->skew_ns), -LH_GUARD_NS_MOST, LH_GUARD_NS_MOST,
                     &bounds.skew_least_ns, &bounds.skew_most_ns))
        return refuse("skew-ns", given->skew_ns,
                      "give whole nanoseconds that the holder's clock is behind, as in 5000000, or "
                      "the bounds, as in -5000000..5000000; at most a day");
    if (given->rate_error != NULL &&
        (!lh_percent_parse(lh_slice_of_string(given->rate_error), &ppm) || ppm > LH_GUARD_PPM_MOST))
        return refuse("rate-error", given->rate_error,
                      "give at most 10%, as in 1% or 0.02%, in steps of 0.0001%");
    bounds.rate_ppm = (int64_t)ppm;
    *ret = bounds;
    return true;
}

// --- the command ---

static bool asks_for_grid(const struct given *given)
{
    return given->skew != NULL || given->guard != NULL || given->window != NULL ||
           given->lease_end != NULL || given->svg != NULL || given->csv;
}

static bool asks_for_bounds(const struct given *given)
{
    return given->skew_ns != NULL || given->rate_error != NULL || given->delay.given ||
           given->ttl.given;
}

static int run(const struct given *given)
{
    if (asks_for_bounds(given)) {
        struct lh_guard_bounds bounds;
        if (asks_for_grid(given)) {
            fprintf(stderr, "leasehold guard: --skew-ns, --rate-error, --delay and --ttl are about "
                            "real clocks; --skew, --guard,\n--window, --lease-end, --csv and --svg "
                            "about a grid of ticks: give only one kind\n");
            return LH_EXIT_USAGE;
        }
        return parse_bounds(given, &bounds) ? lh_guard_bounds_print(&bounds, given->json)
                                            : LH_EXIT_USAGE;
    }
    struct lh_guard_grid grid;
    if (given->json && given->csv) {
        fprintf(stderr, "leasehold guard: --json and --csv exclude each other: give one\n");
        return LH_EXIT_USAGE;
    }
    if (!parse_grid(given, &grid))
        return LH_EXIT_USAGE;
    return lh_guard_grid_print(&grid, given->json  ? LH_GUARD_JSON
                                      : given->csv ? LH_GUARD_CSV
                                                   : LH_GUARD_TEXT);
}

int lh_guard_command(int argc, char **argv)
{
    struct given given = {.skew = NULL};
    const struct lh_option options[] = {
        {"skew", LH_OPTION_TEXT, &given.skew, "LIST",
         "ticks that the holder's clock is behind, as in 0,2,5..8"},
        {"guard", LH_OPTION_TEXT, &given.guard, "LIST", "guards to try, in ticks"},
        {"lease-end", LH_OPTION_TEXT, &given.lease_end, "N",
         "the tick at which the lease ends (default 100)"},
        {"window", LH_OPTION_TEXT, &given.window, "A..B",
         "count from tick A to tick B (default: wide enough, at least\n14 ticks on either side of "
         "the end)"},
        {"csv", LH_OPTION_FLAG, &given.csv, NULL, "print the grid as CSV"},
        {"svg", LH_OPTION_TEXT, &given.svg, "FILE", "draw the grid as a heat map, too"},
        {"skew-ns", LH_OPTION_TEXT, &given.skew_ns, "A[..B]",
         "real clocks: nanoseconds that the holder's clock is behind at the\ngrant, exactly A or "
         "from A to B (default 0)"},
        {"rate-error", LH_OPTION_TEXT, &given.rate_error, "R",
         "how far the rate of either clock may be off, as in 1% (default 0%)"},
        {"delay", LH_OPTION_WAIT, &given.delay, "D",
         "how long the grant may travel, and what the holder does (default 0)"},
        {"ttl", LH_OPTION_DURATION, &given.ttl, "D", "how long the lease is (default 10s)"},
        {"json", LH_OPTION_FLAG, &given.json, NULL, "print JSON with stable names"},
    };
    const struct lh_syntax syntax = {
        .command = "guard",
        .arguments = "[--skew LIST] [--guard LIST] [options]",
        .about =
            "Two sides believe in a lease by clocks that differ: its holder stands down a guard "
            "before its end,\nthe grantor gives it to the next a guard after its end, each by its "
            "own clock. Both are run, tick by\ntick, for every skew and guard of a grid, and the "
            "ticks with two leaders, with none and with one counted.\nWith --skew-ns, "
            "--rate-error, "
            "--delay or --ttl: the smallest guard that leaves no overlap whatever\nreal clocks do "
            "within these bounds, found by search, and what it costs.\n\nExit code: 0; 1 if a "
            "check fails or the window shows too little to tell, or if no guard is enough\nor "
            "leaves the holder any time.",
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    struct lh_parsed parsed;
    int code = LH_EXIT_OK;
    return lh_options_parse(&syntax, argc, argv, &parsed, &code) ? run(&given) : code;
}
