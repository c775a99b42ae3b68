// The two halves of `leasehold guard`, each with its printed forms: the grid of ticks (guard_grid.c)
// and real clocks within bounds (guard_bounds.c).
#ifndef LH_CLI_GUARD_H
#define LH_CLI_GUARD_H

#include "sim/guard.h"
#include "sim/guard_clock.h"

struct lh_guard_grid {
    struct lh_guard_world world;
    struct lh_guard_list skews, guards;
    // The skew whose guards are listed, and those guards.
    int64_t listed_skew;
    struct lh_guard_list listed;
    struct lh_guard_list checked; // the skews that the checks are about
    const char *svg;              // a file, or NULL
};

enum lh_guard_form { LH_GUARD_TEXT, LH_GUARD_JSON, LH_GUARD_CSV };

// Each returns the exit code: 1 if a check fails, the window shows too little to tell, no guard is
// enough, or the picture cannot be written.
int lh_guard_grid_print(const struct lh_guard_grid *grid, enum lh_guard_form form);
int lh_guard_bounds_print(const struct lh_guard_bounds *bounds, bool json);

#endif
