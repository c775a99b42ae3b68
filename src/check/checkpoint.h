// A search in a file: what was visited, what is left of the present level, the next one as far as it
// is known, and the counts.
#ifndef LH_CHECK_CHECKPOINT_H
#define LH_CHECK_CHECKPOINT_H

#include "check/fpset.h"
#include "check/frontier.h"
#include "check/search.h"

struct lh_checkpoint {
    const struct lh_model *model;
    struct lh_fpset *set;
    struct lh_frontier *present; // what is not yet expanded
    struct lh_frontier *next;
    uint64_t distinct;
    uint64_t generated;
    struct lh_search_counts unreduced;
    uint32_t depth;
    bool conform; // all steps so far were compared with the shipped code
};

// Writes beside the old file and renames, so that one of the two is always whole.
bool lh_checkpoint_save(const struct lh_checkpoint *checkpoint, const char *path);

// Fills the set (not yet open), the frontiers (open and empty) and the counts. On failure returns
// what is wrong with the file; NULL is success.
const char *lh_checkpoint_load(struct lh_checkpoint *checkpoint, const char *path);

#endif
