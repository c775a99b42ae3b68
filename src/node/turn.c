// See turn.h.
#include "node/turn.h"

void lh_turn_end(struct lh_turn *turn, struct lh_instant now)
{
    if (turn->began.ns == LH_PAST.ns)
        return;
    uint64_t took_us = (uint64_t)(lh_left(turn->began, now).ns / LH_NS_PER_US);
    turn->began = LH_PAST;
    if (!lh_before(now, turn->window)) {
        bool adjoins = lh_before(now, lh_after(turn->window, lh_ms(LH_TURN_WINDOW_MS)));
        turn->over_us = adjoins ? turn->running_us : 0;
        turn->running_us = 0;
        turn->window = lh_after(now, lh_ms(LH_TURN_WINDOW_MS));
    }
    if (took_us > turn->running_us)
        turn->running_us = took_us;
    turn->longest_us = turn->running_us > turn->over_us ? turn->running_us : turn->over_us;
}
