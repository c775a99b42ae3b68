// Breadth-first search of a model by several threads, level by level, until every state is seen, an
// invariant breaks, or memory or time runs out.
#ifndef LH_CHECK_SEARCH_H
#define LH_CHECK_SEARCH_H

#include "check/conform.h"
#include "check/model.h"

enum lh_verdict { LH_VERDICT_PASS, LH_VERDICT_VIOLATED, LH_VERDICT_INCOMPLETE };

enum { LH_TRACE_MAX = 256 };

struct lh_search_counts {
    uint64_t distinct;
    uint64_t generated;
};

struct lh_search_options {
    uint32_t threads;
    uint64_t memory_bytes;       // visited set and frontier together
    uint64_t expected_distinct;  // 0: unknown; sizes the set
    const char *spill_directory; // NULL: the frontier stays in memory
    const char *checkpoint;      // NULL: none
    uint32_t checkpoint_seconds; // so far apart, and at the end of an incomplete search
    const char *resume;          // NULL: from the initial state
    uint32_t time_limit_seconds; // 0: none
    uint64_t distinct_limit;     // 0: none; to be deterministic, with one thread
    bool want_trace;
    bool conform;  // compare every step with the shipped code
    bool progress; // a line on standard error
};

struct lh_search_result {
    enum lh_verdict verdict;
    enum lh_invariant invariant;
    uint32_t trace_states; // 0 unless violated
    uint64_t distinct;
    uint64_t generated;
    // What a search without symmetry reduction counts: each state found stands for its orbit. Of a
    // search that went to its end; without reduction the same as above.
    struct lh_search_counts unreduced;
    uint32_t depth;
    double seconds;
    double cpu_seconds; // of this process, all threads
    uint64_t set_bytes;
    uint32_t fingerprint_bits;
    uint32_t threads;
    double collision_probability;     // that two states looked alike
    char reason[LH_CHECK_ERROR_SIZE]; // why it is incomplete, and what to do
    struct lh_conform_counts conform;
    char fault[LH_CONFORM_TEXT]; // what does not conform
    bool has_trace;
    uint8_t choices[LH_TRACE_MAX]; // trace_states - 1 of them: which successor each time
};

// Runs a search. SIGINT, SIGTERM and SIGHUP end it as incomplete.
void lh_search_run(const struct lh_model *model, const struct lh_search_options *options,
                   struct lh_search_result *ret_result);

// Whether a signal ended a search of this process.
bool lh_search_interrupted(void);

// Makes state number `index` (0: the initial one) of a trace and the action that led to it.
bool lh_search_replay(const struct lh_model *model, const uint8_t *choices, uint32_t index,
                      uint8_t *ret_raw, struct lh_action *ret_action);

#endif
