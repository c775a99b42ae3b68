// The recorded configurations by name.
#ifndef LH_CHECK_ROWS_H
#define LH_CHECK_ROWS_H

#include "check/search.h"

struct lh_check_row {
    struct lh_check_config config;
    enum lh_verdict verdict;     // incomplete: the paper's run was stopped
    enum lh_invariant invariant; // that breaks
    uint32_t trace_states;
    uint64_t distinct; // 0: not recorded. Of a violating run only the trace can be compared
    uint64_t generated;
    uint32_t depth;
    uint64_t hint; // distinct states that a violating run met here, to size the set; 0: unknown
    bool quick;
};

size_t lh_check_row_count(void);
const struct lh_check_row *lh_check_row_at(size_t index);
const struct lh_check_row *lh_check_row_find(const char *name);

#endif
