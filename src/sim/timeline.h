// Who held what over time, and what went wrong meanwhile, as spans of true time: gathered while a
// run goes on, and drawn (timeline_svg.c) when it has ended. All functions but the first take NULL
// and do nothing, for a run that is not drawn.
#ifndef LH_SIM_TIMELINE_H
#define LH_SIM_TIMELINE_H

#include <stdio.h>

#include "sim/run.h"

// kind, what it is called
#define LH_SIM_SPANS(X)                                                                            \
    X(NODE_HOLDS, "holds")                                                                         \
    X(CLIENT_HOLDS, "holds")                                                                       \
    X(CRASHED, "crashed")                                                                          \
    X(STOPPED, "stopped in order")                                                                 \
    X(HALTED, "halted itself")                                                                     \
    X(NOT_SERVING, "does not serve yet")                                                           \
    X(PAUSED, "stands still")                                                                      \
    X(SUSPENDED, "sleeps")                                                                         \
    X(WIPED, "loses its disk")                                                                     \
    X(LINK_CUT, "does not reach node")                                                             \
    X(DEAF, "hears nobody")                                                                        \
    X(MUTE, "reaches nobody")                                                                      \
    X(CUT_OFF, "is cut off")                                                                       \
    X(DISK_STALLED, "disk stands still")                                                           \
    X(DISK_FULL, "disk is full")                                                                   \
    X(DISK_FAILING, "disk fails")

enum lh_sim_span_kind {
#define LH_SIM_SPAN_ENUM(kind, words) LH_SIM_SPAN_##kind,
    LH_SIM_SPANS(LH_SIM_SPAN_ENUM)
#undef LH_SIM_SPAN_ENUM
        LH_SIM_SPAN_KINDS
};

struct lh_sim_span {
    enum lh_sim_span_kind kind;
    unsigned node;  // from 0: whose lane
    unsigned which; // NODE_HOLDS, CLIENT_HOLDS: the name; LINK_CUT: the other node
    unsigned client;
    uint64_t token;
    int64_t from_ns, to_ns;
};

#define LH_SIM_SPANS_OPEN 256

struct lh_sim_timeline {
    struct lh_sim_span *spans; // that have ended, in the order in which they did
    size_t count, capacity;
    unsigned open_count;
    struct lh_sim_span open[LH_SIM_SPANS_OPEN];
    int64_t healed_ns; // INT64_MAX: not
};

struct lh_sim_timeline *lh_sim_timeline_open(void);
void lh_sim_timeline_close(struct lh_sim_timeline *timeline);

void lh_sim_timeline_add(struct lh_sim_timeline *timeline, const struct lh_sim_span *span);

// It has begun, and ends by lh_sim_timeline_end, or with the run. Of a holder: a new token or node
// is a new span.
void lh_sim_timeline_begin(struct lh_sim_timeline *timeline, const struct lh_sim_span *span);
// By kind, node, name and client; no matter if there is none. A client is known at any node.
void lh_sim_timeline_end(struct lh_sim_timeline *timeline, const struct lh_sim_span *span,
                         int64_t at_ns);

void lh_sim_timeline_healed(struct lh_sim_timeline *timeline, int64_t at_ns);

// Ends what is open with the run, and draws all. Takes no NULL.
void lh_sim_timeline_draw(struct lh_sim_timeline *timeline, const struct lh_sim_settings *settings,
                          const struct lh_sim_result *result, FILE *file);

#endif
