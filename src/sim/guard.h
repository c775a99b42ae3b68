// A lease between two clocks, run tick by tick: a grantor that gives the lease away again once its
// own clock has reached the end of the lease plus a guard, and a holder that acts until its own
// clock, which is `skew` ticks behind, has reached the end minus the same guard. Counted are the
// ticks of real time in which both could act (overlap), none (gap), or exactly one (clean). Nothing
// here is computed from a formula for those widths: whoever wants to know them runs it.
#ifndef LH_SIM_GUARD_H
#define LH_SIM_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What may be asked for, so that a run is over within seconds.
#define LH_GUARD_VALUE_MOST 1000
#define LH_GUARD_WINDOW_MOST 20000
#define LH_GUARD_LEASE_END_MOST 1000000000
#define LH_GUARD_LIST_MOST 256

// Real time runs from tick `first` to tick `last`, both included.
struct lh_guard_world {
    int64_t lease_end, first, last;
};

// Ascending, no value twice.
struct lh_guard_list {
    size_t count;
    int64_t values[LH_GUARD_LIST_MOST];
};

struct lh_guard_counts {
    int64_t overlap, gap, clean;
    // The window begins after the first of the two has acted on the end of the lease, or ends
    // before the last has: the counts are those of a part.
    bool cut;
};

// What a search over all guards that the window shows whole has found for one skew.
struct lh_guard_found {
    bool any;            // some guard is whole and leaves no overlap
    int64_t smallest;    // the first of them
    int64_t gap;         // and what gap it leaves
    int64_t searched;    // the greatest guard that was tried, -1 if the window shows none
    int64_t clean_count; // guards with neither overlap nor gap
    int64_t clean;       // the first of these
    bool ordered;        // below the smallest all leave an overlap, above it all leave only a gap
};

void lh_guard_run(const struct lh_guard_world *world, int64_t skew, int64_t guard,
                  struct lh_guard_counts *ret);

void lh_guard_search(const struct lh_guard_world *world, int64_t skew, struct lh_guard_found *ret);

// Widens the window until nothing on the grid is cut. Begins with 14 ticks on either side of the
// lease's end.
struct lh_guard_world lh_guard_fit(int64_t lease_end, const struct lh_guard_list *skews,
                                   const struct lh_guard_list *guards);

enum lh_guard_verdict {
    LH_GUARD_PASSED,
    LH_GUARD_FAILED,
    LH_GUARD_CUT,     // the window does not show enough to tell
    LH_GUARD_NOTHING, // no skew on the grid that it is about
};

#define LH_GUARD_CHECKS 5

// What must be so, for these skews: see lh_guard_check_text.
void lh_guard_check(const struct lh_guard_world *world, const struct lh_guard_list *skews,
                    enum lh_guard_verdict ret[LH_GUARD_CHECKS]);
const char *lh_guard_check_text(size_t check);

#endif
