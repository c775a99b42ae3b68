// A heat map of the grid: skews from left to right, guards from bottom to top; a cell is red by its
// overlap, blue by its gap, and shows both counts. What the window cuts is hatched. The line runs
// through the guards that the search found to be right, half-way between two where none is.
#ifndef LH_SIM_GUARD_SVG_H
#define LH_SIM_GUARD_SVG_H

#include <stdio.h>

#include "sim/guard.h"

void lh_guard_draw(const struct lh_guard_world *world, const struct lh_guard_list *skews,
                   const struct lh_guard_list *guards, FILE *file);

#endif
