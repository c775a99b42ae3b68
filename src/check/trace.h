// A trace to a violation, for people and for machines.
#ifndef LH_CHECK_TRACE_H
#define LH_CHECK_TRACE_H

#include <stdio.h>

#include "check/search.h"

struct lh_trace {
    const struct lh_model *model;
    enum lh_invariant invariant;
    uint32_t count;
    uint8_t *raw;              // the states
    struct lh_action *actions; // what led to each; the first is LH_ACT_INIT
};

// Replays the trace of a violation. Returns false if the search kept none, or without memory.
bool lh_trace_open(struct lh_trace *trace, const struct lh_model *model,
                   const struct lh_search_result *result);
void lh_trace_close(struct lh_trace *trace);

const uint8_t *lh_trace_state(const struct lh_trace *trace, uint32_t index);

// The model time of a state: what `now` says, or on the closed network, which has no clock but only
// what remains of each deadline, how often time has passed.
uint32_t lh_trace_time(const struct lh_trace *trace, uint32_t index);

// Two lines per step: who did what; what changed.
void lh_trace_print(const struct lh_trace *trace, FILE *file);

// Writes a drawing (.svg) or an object (.json), by the ending of the path.
bool lh_trace_write(const struct lh_trace *trace, const char *path);

#endif
