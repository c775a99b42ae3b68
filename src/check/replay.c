// A trace is kept as choices; here they become states again.
#include <stdlib.h>

#include "check/search.h"

struct replay {
    const struct lh_model *model;
    struct lh_batch batch;
    struct lh_fp *lanes;
};

// The successor that the search chose. States are kept with the names they had when they were
// found, so the same choice means the same step again.
static bool replay_step(struct replay *replay, uint8_t choice, uint8_t *raw,
                        struct lh_action *ret_action)
{
    const uint32_t stride = replay->model->layout.stride;
    struct lh_batch *batch = &replay->batch;
    uint32_t at = 0;
    lh_model_hash(replay->model, raw, replay->lanes);
    batch->count = 0;
    batch->keep_outside = true;
    replay->model->expand(replay->model, raw, replay->lanes, batch);
    while (at < batch->count && batch->ordinals[at] != choice)
        at++;
    if (at == batch->count)
        return false;
    memcpy(raw, batch->raw + (size_t)at * stride, stride);
    *ret_action = batch->actions[at];
    return true;
}

bool lh_search_replay(const struct lh_model *model, const uint8_t *choices, uint32_t index,
                      uint8_t *ret_raw, struct lh_action *ret_action)
{
    struct replay replay = {.model = model,
                            .lanes = calloc(model->layout.lanes, sizeof(struct lh_fp))};
    bool replayed =
        replay.lanes != NULL && lh_batch_open(&replay.batch, model, model->max_successors);
    model->init(model, ret_raw);
    *ret_action = (struct lh_action){.kind = LH_ACT_INIT};
    for (uint32_t i = 0; i < index && replayed; i++)
        replayed = replay_step(&replay, choices[i], ret_raw, ret_action);
    lh_batch_close(&replay.batch);
    free(replay.lanes);
    return replayed;
}
