// `leasehold guard` for real clocks: the smallest guard within bounds, what one nanosecond less
// would do, and what the guard costs. See guard.h.
#include <inttypes.h>
#include <stdio.h>

#include "cli/exit.h"
#include "cli/guard.h"
#include "cli/output.h"

#define NS_TEXT_BYTES 48

// Exact: whole nanoseconds are the answer, units are for the eye.
static const char *ns_text(int64_t ns, char ret[NS_TEXT_BYTES])
{
    const int64_t size = ns < 0 ? -ns : ns;
    if (size < LH_NS_PER_US)
        snprintf(ret, NS_TEXT_BYTES, "%" PRId64 " ns", ns);
    else if (size < LH_NS_PER_MS)
        snprintf(ret, NS_TEXT_BYTES, "%.3f us", (double)ns / 1e3);
    else if (size < LH_NS_PER_S)
        snprintf(ret, NS_TEXT_BYTES, "%.6f ms", (double)ns / 1e6);
    else
        snprintf(ret, NS_TEXT_BYTES, "%.9f s", (double)ns / 1e9);
    return ret;
}

static double idle_percent(const struct lh_guard_worst *worst)
{
    return worst->cycle_ns > 0 ? 100.0 * (double)worst->idle_ns / (double)worst->cycle_ns : 0;
}

static void print_bounds(const struct lh_guard_bounds *bounds)
{
    char least[NS_TEXT_BYTES], most[NS_TEXT_BYTES];
    printf("ttl         %s\n", ns_text(bounds->ttl_ns, most));
    printf("skew        %s", ns_text(bounds->skew_least_ns, least));
    if (bounds->skew_most_ns != bounds->skew_least_ns)
        printf(" .. %s", ns_text(bounds->skew_most_ns, most));
    printf(", the holder's clock behind the grantor's at the grant\n");
    printf("rate error  %.4f %% of either clock from then on\n", (double)bounds->rate_ppm / 1e4);
    printf("delay       %s, of the grant and of what the holder does\n\n",
           ns_text(bounds->delay_ns, most));
}

static void print_nothing_enough(const struct lh_guard_bounds *bounds,
                                 const struct lh_guard_answer *answer)
{
    char text[NS_TEXT_BYTES], ttl[NS_TEXT_BYTES];
    printf("smallest guard without overlap: none. One of %s, the whole ttl, still leaves two at "
           "once for %s:\nlengthen --ttl, or bring the clocks nearer to each other.\n",
           ns_text(bounds->ttl_ns, ttl), ns_text(answer->worst.overlap_ns, text));
}

static void print_why(const struct lh_guard_answer *answer)
{
    char text[NS_TEXT_BYTES], skew[NS_TEXT_BYTES];
    const struct lh_guard_case *run = &answer->less.overlap_case;
    if (answer->guard_ns > 0)
        printf("  one nanosecond less: two at once for %s, with skew %s, the holder's clock\n"
               "  %+.4f %%, the grantor's %+.4f %%, and an act that takes %s\n",
               ns_text(answer->less.overlap_ns, text), ns_text(run->skew_ns, skew),
               (double)run->holder_ppm / 1e4, (double)run->grantor_ppm / 1e4,
               run->act_delay_ns > 0 ? "the whole delay" : "no time");
    printf("  without any guard: two at once for up to %s\n",
           ns_text(answer->none.overlap_ns, text));
    printf("  bisection over %u runs a guard; %" PRId64
           " guards tried: all below it leave an overlap, none above it does\n",
           answer->worst.runs, answer->tried);
}

static void print_cost(const struct lh_guard_answer *answer)
{
    char usable[NS_TEXT_BYTES], gap[NS_TEXT_BYTES], idle[NS_TEXT_BYTES], cycle[NS_TEXT_BYTES];
    const struct lh_guard_worst *worst = &answer->worst;
    printf("what it costs at worst, if no holder renews:\n");
    printf("  the holder may act for       %s%s\n", ns_text(worst->usable_ns, usable),
           worst->usable_ns == 0 ? ": the lease may be over when it hears of it" : "");
    printf("  then nobody may for          %s\n", ns_text(worst->gap_ns, gap));
    printf("  from one grant to the next   %s of %s without anybody: %.4f %% available\n",
           ns_text(worst->idle_ns, idle), ns_text(worst->cycle_ns, cycle),
           100 - idle_percent(worst));
    printf("  and without a guard          %.4f %% available\n", 100 - idle_percent(&answer->none));
    if (worst->usable_ns == 0)
        printf("So guarded it is no lease: at worst its holder may never act. Lengthen --ttl, or "
               "shorten --delay.\n");
}

static json_t *answer_json(const struct lh_guard_answer *answer)
{
    return json_pack("{s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I}", "guard_ns",
                     answer->found ? json_integer(answer->guard_ns) : json_null(), "monotonic",
                     answer->ordered, "overlap_without_ns", (json_int_t)answer->none.overlap_ns,
                     "overlap_one_less_ns", (json_int_t)answer->less.overlap_ns, "usable_ns",
                     (json_int_t)answer->worst.usable_ns, "gap_ns",
                     (json_int_t)answer->worst.gap_ns, "idle_ns", (json_int_t)answer->worst.idle_ns,
                     "cycle_ns", (json_int_t)answer->worst.cycle_ns, "available_percent",
                     100 - idle_percent(&answer->worst), "available_without_percent",
                     100 - idle_percent(&answer->none), "guards_tried", (json_int_t)answer->tried);
}

static int print_json(const struct lh_guard_bounds *bounds, const struct lh_guard_answer *both,
                      const struct lh_guard_answer *grantor)
{
    return lh_json_print(
        "guard", json_pack("{s:I, s:[I,I], s:I, s:I, s:o, s:o}", "ttl_ns",
                           (json_int_t)bounds->ttl_ns, "skew_ns", (json_int_t)bounds->skew_least_ns,
                           (json_int_t)bounds->skew_most_ns, "rate_ppm",
                           (json_int_t)bounds->rate_ppm, "delay_ns", (json_int_t)bounds->delay_ns,
                           "both_sides", answer_json(both), "grantor_only", answer_json(grantor)));
}

static void print_text(const struct lh_guard_bounds *bounds, const struct lh_guard_answer *both,
                       const struct lh_guard_answer *grantor)
{
    char text[NS_TEXT_BYTES];
    print_bounds(bounds);
    if (both->found) {
        printf("smallest guard without overlap: %" PRId64 " ns (%s), on either side\n",
               both->guard_ns, ns_text(both->guard_ns, text));
        print_why(both);
        print_cost(both);
    } else {
        print_nothing_enough(bounds, both);
    }
    if (grantor->found)
        printf("if only the grantor waits, as Leasehold's acceptors do: %" PRId64 " ns (%s), "
               "%.4f %% available\n",
               grantor->guard_ns, ns_text(grantor->guard_ns, text),
               100 - idle_percent(&grantor->worst));
}

int lh_guard_bounds_print(const struct lh_guard_bounds *bounds, bool json)
{
    struct lh_guard_answer both, grantor;
    lh_guard_solve(bounds, 2, &both);
    lh_guard_solve(bounds, 1, &grantor);
    if ((both.found && !both.ordered) || (grantor.found && !grantor.ordered)) {
        fprintf(stderr, "leasehold guard: a greater guard leaves an overlap where a smaller one "
                        "leaves none: this is a bug of the simulation\n");
        return LH_EXIT_FAILED;
    }
    int code;
    if (json) {
        code = print_json(bounds, &both, &grantor);
    } else {
        print_text(bounds, &both, &grantor);
        code = lh_output_end("guard");
    }
    const bool usable = both.found && both.worst.usable_ns > 0;
    return code == LH_EXIT_OK && !usable ? LH_EXIT_FAILED : code;
}
