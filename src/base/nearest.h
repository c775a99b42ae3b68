// How far a typed word is from one that was probably meant.
#ifndef LH_BASE_NEAREST_H
#define LH_BASE_NEAREST_H

#include <stddef.h>

#include "base/slice.h"

#define LH_SLIPS_WORD_BYTES 48

// How many letters are too many, too few, wrong or swapped with their neighbour (the optimal string
// alignment distance). LH_SLIPS_WORD_BYTES if one of the two is longer than that: it was not
// mistyped.
size_t lh_slips(struct lh_slice typed, struct lh_slice word);

#endif
