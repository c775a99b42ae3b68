// A search between two levels, in a file: what was visited, what comes next, and the counts.
#ifndef LH_CHECK_CHECKPOINT_H
#define LH_CHECK_CHECKPOINT_H

#include "check/fpset.h"
#include "check/frontier.h"
#include "check/model.h"

struct lh_checkpoint {
    const struct lh_model *model;
    struct lh_fpset *set;
    struct lh_frontier *frontier; // the level to be expanded
    uint64_t distinct;
    uint64_t generated;
    uint32_t depth;
};

// Writes beside the old file and renames, so that one of the two is always whole.
bool lh_checkpoint_save(const struct lh_checkpoint *checkpoint, const char *path);

// Fills the set (not yet open), the frontier (open and empty) and the counts. On failure returns
// what is wrong with the file; NULL is success.
const char *lh_checkpoint_load(struct lh_checkpoint *checkpoint, const char *path);

#endif
