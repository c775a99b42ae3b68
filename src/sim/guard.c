// See guard.h. Holder and grantor are two functions that see a reading of their own clock and
// nothing else; only lh_guard_run knows real time.
#include "sim/guard.h"

static bool holder_acts(const struct lh_guard_world *world, int64_t reading, int64_t guard)
{
    return reading < world->lease_end - guard;
}

static bool grantor_gives_away(const struct lh_guard_world *world, int64_t reading, int64_t guard)
{
    return reading >= world->lease_end + guard;
}

struct moment {
    bool holder, successor;
};

static struct moment at(const struct lh_guard_world *world, int64_t tick, int64_t skew,
                        int64_t guard)
{
    const int64_t grantor_clock = tick;
    const int64_t holder_clock = tick - skew;
    return (struct moment){holder_acts(world, holder_clock, guard),
                           grantor_gives_away(world, grantor_clock, guard)};
}

void lh_guard_run(const struct lh_guard_world *world, int64_t skew, int64_t guard,
                  struct lh_guard_counts *ret)
{
    struct lh_guard_counts counts = {0};
    for (int64_t tick = world->first; tick <= world->last; tick++) {
        const struct moment moment = at(world, tick, skew, guard);
        if (moment.holder && moment.successor)
            counts.overlap++;
        else if (moment.holder || moment.successor)
            counts.clean++;
        else
            counts.gap++;
    }
    // Whole is a window that begins under the holder alone and ends under the successor alone.
    const struct moment begin = at(world, world->first, skew, guard);
    const struct moment end = at(world, world->last, skew, guard);
    counts.cut = !begin.holder || begin.successor || end.holder || !end.successor;
    *ret = counts;
}

void lh_guard_search(const struct lh_guard_world *world, int64_t skew, struct lh_guard_found *ret)
{
    struct lh_guard_found found = {.searched = -1, .ordered = true};
    struct lh_guard_counts counts;
    for (int64_t guard = 0; guard <= world->last - world->first; guard++) {
        lh_guard_run(world, skew, guard, &counts);
        if (counts.cut && found.searched >= 0)
            break;
        if (counts.cut)
            continue; // if a greater guard is whole, this one has shown its overlap
        found.searched = guard;
        if (counts.overlap == 0 && counts.gap == 0 && found.clean_count++ == 0)
            found.clean = guard;
        if (found.any) {
            found.ordered = found.ordered && counts.overlap == 0 && counts.gap > 0;
        } else if (counts.overlap == 0) {
            found.any = true;
            found.smallest = guard;
            found.gap = counts.gap;
        }
    }
    *ret = found;
}

// The smallest guard, and at least one that is greater.
static bool is_shown(const struct lh_guard_found *found)
{
    return found->any && found->searched > found->smallest;
}

static bool fits(const struct lh_guard_world *world, const struct lh_guard_list *skews,
                 const struct lh_guard_list *guards)
{
    struct lh_guard_counts counts;
    struct lh_guard_found found;
    for (size_t s = 0; s < skews->count; s++) {
        for (size_t g = 0; g < guards->count; g++) {
            lh_guard_run(world, skews->values[s], guards->values[g], &counts);
            if (counts.cut)
                return false;
        }
        lh_guard_search(world, skews->values[s], &found);
        if (!is_shown(&found))
            return false;
    }
    return true;
}

struct lh_guard_world lh_guard_fit(int64_t lease_end, const struct lh_guard_list *skews,
                                   const struct lh_guard_list *guards)
{
    int64_t around = 14;
    struct lh_guard_world world = {lease_end, lease_end - around, lease_end + around};
    while (!fits(&world, skews, guards) && 4 * around <= LH_GUARD_WINDOW_MOST) {
        around *= 2;
        world = (struct lh_guard_world){lease_end, lease_end - around, lease_end + around};
    }
    return world;
}

// --- what must be so ---

const char *lh_guard_check_text(size_t check)
{
    static const char *const texts[LH_GUARD_CHECKS] = {
        "clocks that agree need no guard: neither overlap nor gap",
        "a holder's clock that is behind makes two leaders if there is no guard",
        "a guard that is too small leaves an overlap, one that is too large a gap",
        "every skew has a smallest guard without overlap, which grows with the skew",
        "one guard alone has neither, half of an even skew; an odd or negative skew has none",
    };
    return texts[check];
}

static enum lh_guard_verdict judge(bool passed)
{
    return passed ? LH_GUARD_PASSED : LH_GUARD_FAILED;
}

// A failure says most, then what cannot be seen, then a success.
static void join(enum lh_guard_verdict *verdict, enum lh_guard_verdict next)
{
    if (*verdict == LH_GUARD_FAILED || next == LH_GUARD_NOTHING)
        return;
    if (next == LH_GUARD_FAILED || next == LH_GUARD_CUT || *verdict == LH_GUARD_NOTHING)
        *verdict = next;
}

static enum lh_guard_verdict agreeing_clocks(const struct lh_guard_world *world)
{
    struct lh_guard_counts counts;
    lh_guard_run(world, 0, 0, &counts);
    if (counts.overlap > 0 || counts.gap > 0)
        return LH_GUARD_FAILED;
    return counts.cut ? LH_GUARD_CUT : LH_GUARD_PASSED;
}

static enum lh_guard_verdict no_guard(const struct lh_guard_world *world, int64_t skew)
{
    struct lh_guard_counts counts;
    if (skew <= 0)
        return LH_GUARD_NOTHING;
    lh_guard_run(world, skew, 0, &counts);
    if (counts.overlap > 0 && counts.gap == 0)
        return LH_GUARD_PASSED;
    return counts.cut ? LH_GUARD_CUT : LH_GUARD_FAILED;
}

// `before` is the smallest guard of `below`, the skew before this one on the grid.
static enum lh_guard_verdict grows(int64_t below, int64_t before, int64_t skew, int64_t smallest)
{
    if (below < 0)
        return judge(smallest >= before);
    return judge(smallest >= before && (skew - below < 2 || smallest > before));
}

static enum lh_guard_verdict one_value(int64_t skew, const struct lh_guard_found *found)
{
    if (skew < 0 || skew % 2 != 0)
        return judge(found->clean_count == 0);
    return judge(found->clean_count == 1 && found->clean * 2 == skew);
}

void lh_guard_check(const struct lh_guard_world *world, const struct lh_guard_list *skews,
                    enum lh_guard_verdict ret[LH_GUARD_CHECKS])
{
    struct lh_guard_found found, before = {.any = false};
    for (size_t i = 0; i < LH_GUARD_CHECKS; i++)
        ret[i] = LH_GUARD_NOTHING;
    ret[0] = agreeing_clocks(world);
    for (size_t i = 0; i < skews->count; i++) {
        const int64_t skew = skews->values[i];
        join(&ret[1], no_guard(world, skew));
        lh_guard_search(world, skew, &found);
        for (size_t check = 2; !is_shown(&found) && check < LH_GUARD_CHECKS; check++)
            join(&ret[check], LH_GUARD_CUT);
        if (is_shown(&found)) {
            join(&ret[2], judge(found.ordered));
            join(&ret[3], before.any
                              ? grows(skews->values[i - 1], before.smallest, skew, found.smallest)
                              : LH_GUARD_PASSED);
            join(&ret[4], one_value(skew, &found));
        }
        before = found;
    }
}
