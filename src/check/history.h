// Where every state came from, level by level: five bytes a state, kept only while a trace may be
// wanted. Walking it back from a violating state gives the trace as a list of choices, which is
// then replayed from the initial state.
#ifndef LH_CHECK_HISTORY_H
#define LH_CHECK_HISTORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/frontier.h"

struct lh_history {
    bool enabled;
    struct lh_history_level *levels; // levels[0] is the second level: the first has no origin
    uint32_t level_count;
    uint64_t bytes;
    pthread_mutex_t mutex;
};

bool lh_history_open(struct lh_history *history);
void lh_history_close(struct lh_history *history);

// A level begins; the origins that follow belong to it.
bool lh_history_begin_level(struct lh_history *history);

// Copies the origins of states first..first+count-1 of the present level. Any thread.
bool lh_history_append(struct lh_history *history, uint64_t first, const struct lh_origin *origins,
                       uint32_t count);

// Drops everything, to make room.
void lh_history_disable(struct lh_history *history);

// The choices that lead from the initial state to state `number` of level `level` (0: the initial
// state's). ret_choices has room for `level` entries.
bool lh_history_choices(const struct lh_history *history, uint32_t level, uint64_t number,
                        uint8_t *ret_choices);

#endif
