// See guard_clock.h. A clock is a function of real time that only rises; holder and grantor see a
// reading and nothing else. Real times are found by bisection on what they answer.
#include "sim/guard_clock.h"

#include "base/assert.h"
#include "sim/clock.h"

#define SAMPLES 64 // guards on either side of the answer, and as many right beside it

// --- the two sides ---

static bool holder_acts(int64_t reading_ns, int64_t end_ns, int64_t guard_ns)
{
    return reading_ns < end_ns - guard_ns;
}

static bool grantor_gives_away(int64_t reading_ns, int64_t end_ns, int64_t guard_ns)
{
    return reading_ns >= end_ns + guard_ns;
}

struct side {
    struct lh_sim_clock clock;
    int64_t end_ns, guard_ns;
    bool is_holder;
};

static bool has_changed(const struct side *side, int64_t real_ns)
{
    const int64_t shown = lh_sim_clock_read(&side->clock, real_ns);
    return side->is_holder ? !holder_acts(shown, side->end_ns, side->guard_ns)
                           : grantor_gives_away(shown, side->end_ns, side->guard_ns);
}

// The first moment from the grant on at which the side has changed its mind. Clocks only rise, so
// it does so once.
static int64_t change(const struct side *side)
{
    int64_t before = -1;
    int64_t after = LH_GUARD_NS_MOST * 8;
    LH_ASSERT(has_changed(side, after));
    while (after - before > 1) {
        const int64_t middle = before + (after - before) / 2;
        if (has_changed(side, middle))
            after = middle;
        else
            before = middle;
    }
    return after;
}

void lh_guard_play(int64_t ttl_ns, const struct lh_guard_case *run, struct lh_guard_outcome *ret)
{
    const struct side holder = {
        {0, -run->skew_ns, run->holder_ppm}, ttl_ns, run->holder_guard_ns, true};
    const struct side grantor = {{0, 0, run->grantor_ppm}, ttl_ns, run->grantor_guard_ns, false};
    const int64_t stop = change(&holder);
    struct lh_guard_outcome outcome = {.holder_from_ns = run->grant_delay_ns,
                                       .holder_until_ns = stop,
                                       .given_away_ns = change(&grantor)};
    if (stop < outcome.holder_from_ns)
        outcome.holder_until_ns = outcome.holder_from_ns;
    outcome.effects_until_ns = outcome.holder_until_ns;
    if (outcome.holder_until_ns > outcome.holder_from_ns)
        outcome.effects_until_ns += run->act_delay_ns;
    *ret = outcome;
}

int64_t lh_guard_overlap_ns(const struct lh_guard_outcome *outcome)
{
    if (outcome->holder_until_ns == outcome->holder_from_ns)
        return 0;
    const int64_t both = outcome->effects_until_ns - outcome->given_away_ns;
    return both > 0 ? both : 0;
}

int64_t lh_guard_idle_ns(const struct lh_guard_outcome *outcome)
{
    const int64_t idle =
        outcome->given_away_ns - (outcome->holder_until_ns - outcome->holder_from_ns);
    return idle > 0 ? idle : 0;
}

// --- the extremes ---

static double share(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0;
}

static void take(struct lh_guard_worst *worst, const struct lh_guard_case *run,
                 const struct lh_guard_outcome *outcome)
{
    const int64_t overlap = lh_guard_overlap_ns(outcome);
    const int64_t gap = outcome->given_away_ns - outcome->holder_until_ns;
    const int64_t usable = outcome->holder_until_ns - outcome->holder_from_ns;
    const int64_t idle = lh_guard_idle_ns(outcome);
    if (overlap > worst->overlap_ns) {
        worst->overlap_ns = overlap;
        worst->overlap_case = *run;
    }
    if (gap > worst->gap_ns)
        worst->gap_ns = gap;
    if (worst->runs == 0 || usable < worst->usable_ns)
        worst->usable_ns = usable;
    if (worst->runs == 0 ||
        share(idle, outcome->given_away_ns) > share(worst->idle_ns, worst->cycle_ns)) {
        worst->idle_ns = idle;
        worst->cycle_ns = outcome->given_away_ns;
    }
    worst->runs++;
}

void lh_guard_extremes(const struct lh_guard_bounds *bounds, int64_t guard_ns, unsigned sides,
                       struct lh_guard_worst *ret)
{
    struct lh_guard_worst worst = {.runs = 0};
    for (unsigned corner = 0; corner < 32; corner++) {
        const struct lh_guard_case run = {
            .skew_ns = corner & 1 ? bounds->skew_least_ns : bounds->skew_most_ns,
            .holder_ppm = corner & 2 ? bounds->rate_ppm : -bounds->rate_ppm,
            .grantor_ppm = corner & 4 ? -bounds->rate_ppm : bounds->rate_ppm,
            .grant_delay_ns = corner & 8 ? bounds->delay_ns : 0,
            .act_delay_ns = corner & 16 ? 0 : bounds->delay_ns,
            .holder_guard_ns = sides == 2 ? guard_ns : 0,
            .grantor_guard_ns = guard_ns};
        struct lh_guard_outcome outcome;
        lh_guard_play(bounds->ttl_ns, &run, &outcome);
        take(&worst, &run, &outcome);
    }
    *ret = worst;
}

// --- the search ---

struct search {
    const struct lh_guard_bounds *bounds;
    unsigned sides;
    int64_t tried;
};

static bool overlaps(struct search *search, int64_t guard_ns)
{
    struct lh_guard_worst worst;
    search->tried++;
    lh_guard_extremes(search->bounds, guard_ns, search->sides, &worst);
    return worst.overlap_ns > 0;
}

// Bisection is right only if overlaps end once and for all: tries guards on both sides of the
// answer, right beside it and spread from 0 to the TTL.
static bool is_ordered(struct search *search, int64_t answer_ns)
{
    const int64_t ttl = search->bounds->ttl_ns;
    for (int64_t i = 1; i <= SAMPLES; i++) {
        const int64_t below = answer_ns / (SAMPLES + 1) * i;
        const int64_t above = answer_ns + (ttl - answer_ns) / SAMPLES * i;
        if (answer_ns > 0 && below < answer_ns && !overlaps(search, below))
            return false;
        if (answer_ns >= i && !overlaps(search, answer_ns - i))
            return false;
        if (overlaps(search, above) || (answer_ns + i <= ttl && overlaps(search, answer_ns + i)))
            return false;
    }
    return true;
}

void lh_guard_solve(const struct lh_guard_bounds *bounds, unsigned sides,
                    struct lh_guard_answer *ret)
{
    struct search search = {bounds, sides, 0};
    struct lh_guard_answer answer = {.found = false};
    int64_t below = -1; // leaves an overlap
    int64_t enough = bounds->ttl_ns;
    lh_guard_extremes(bounds, 0, sides, &answer.none);
    answer.found = !overlaps(&search, enough);
    while (answer.found && enough - below > 1) {
        const int64_t middle = below + (enough - below) / 2;
        if (overlaps(&search, middle))
            below = middle;
        else
            enough = middle;
    }
    answer.guard_ns = enough;
    answer.ordered = answer.found && is_ordered(&search, enough);
    lh_guard_extremes(bounds, enough, sides, &answer.worst);
    if (enough > 0)
        lh_guard_extremes(bounds, enough - 1, sides, &answer.less);
    answer.tried = search.tried;
    *ret = answer;
}
