// Symmetry reduction for the lease module: proposers, and acceptors, are alike, so states that
// differ only by their names are one. The group is every pair of permutations that leaves the
// configuration as it is (the crashable acceptors, the quorums).
#ifndef LH_CHECK_SYMMETRY_H
#define LH_CHECK_SYMMETRY_H

#include "check/model.h"

// The number of permutations: lanes of a fingerprint. Needs the model's private part.
uint32_t lh_symmetry_order(const struct lh_model *model);

// Fills the words of lanes 1 and up from those of lane 0: under permutation g, a variable has the
// word of the variable and value that g renames it to.
void lh_symmetry_fill(struct lh_model *model);

// The state that permutation `lane` makes of `raw`; for tests and for drawing.
void lh_symmetry_apply(const struct lh_model *model, uint32_t lane, const uint8_t *raw,
                       uint8_t *ret_raw);

#endif
