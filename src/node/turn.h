// How long the longest turn of the loop took lately: of the last ten seconds that are over or of those
// that run, so that whoever asks disturbs nobody else who asks. A turn begins with the first clock
// reading after a sleep and includes what the machine took from it meanwhile.
#ifndef LH_NODE_TURN_H
#define LH_NODE_TURN_H

#include "base/time.h"

#define LH_TURN_WINDOW_MS 10000

// All zero at the start.
struct lh_turn {
    struct lh_instant began;  // LH_PAST between turns
    struct lh_instant window; // when the running ten seconds end
    uint64_t running_us, over_us;
    uint64_t longest_us; // what is told: the greater of both
};

// A reading of the clock; the first of a turn begins it.
static inline void lh_turn_read(struct lh_turn *turn, struct lh_instant now)
{
    if (turn->began.ns == LH_PAST.ns)
        turn->began = now;
}

// Ends the turn, if one began.
void lh_turn_end(struct lh_turn *turn, struct lh_instant now);

#endif
