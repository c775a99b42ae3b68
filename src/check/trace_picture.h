// What a drawing of a trace shows, whatever the module: a lane per process, in each state up to two
// bars per lane, and the arrows that end in each step. All of it is read off the states and the
// actions, so the drawing cannot show more than happened.
//
// The bounded modules (trace_picture.c) have messages to follow. The closed network has none: there
// an arrow begins at the step in which its message was first sent, which may be long ago, and an
// answer that counts arrives in the step that gave it (trace_picture_closed.c).
#ifndef LH_CHECK_TRACE_PICTURE_H
#define LH_CHECK_TRACE_PICTURE_H

#include "check/describe.h"
#include "check/trace.h"

enum lh_bar {
    LH_BAR_NONE,
    LH_BAR_AUTHORITY, // of the proposer itself
    LH_BAR_ORPHAN,    // a client that outlives its daemon believes in the lease
    LH_BAR_CRASHED,
    LH_BAR_STOPPED, // in order, its state saved
    LH_BAR_QUARANTINE,
    LH_BAR_RECORD, // live
    LH_BAR_ENDED,  // a record whose exclusion has ended
};

struct lh_picture_cell {
    enum lh_bar line;  // on the lane's line
    enum lh_bar below; // under it
    uint32_t owner;    // of the record: a proposer from 1; 0: nobody's
};

struct lh_picture_arrow {
    uint32_t from_lane, from_step;
    uint32_t to_lane, to_step;
    uint32_t proposer; // whose colour it has, from 0
    bool arrives;      // else it was lost, or is under way at the end
    bool again;        // this message had arrived there before
    char label[16];    // "A2": kind and ballot
    char title[128];
};

// Proposers come first, then acceptors.
uint32_t lh_picture_lanes(const struct lh_trace *trace);
void lh_picture_cell(const struct lh_trace *trace, uint32_t step, uint32_t lane,
                     struct lh_picture_cell *ret_cell);
// How many have authority, clients that outlived their daemon included.
uint32_t lh_picture_owners(const struct lh_trace *trace, uint32_t step);
// The arrows that end in a step, one after the other. Returns false behind the last.
bool lh_picture_arrow(const struct lh_trace *trace, uint32_t step, uint32_t index,
                      struct lh_picture_arrow *ret_arrow);

void lh_picture_closed_cell(const struct lh_trace *trace, uint32_t step, uint32_t lane,
                            struct lh_picture_cell *ret_cell);
bool lh_picture_closed_arrow(const struct lh_trace *trace, uint32_t step, uint32_t index,
                             struct lh_picture_arrow *ret_arrow);

#endif
