// A trace is kept as choices; here they become states again.
#include <stdlib.h>

#include "check/search.h"

struct replay {
    const struct lh_model *model;
    struct lh_batch batch;
    struct lh_fp *lanes;
};

static void expand_one(struct replay *replay, const uint8_t *raw, bool keep_names)
{
    lh_layout_hash(&replay->model->layout, raw, replay->lanes);
    replay->batch.count = 0;
    replay->batch.keep_outside = true;
    replay->batch.keep_names = keep_names;
    replay->model->expand(replay->model, raw, replay->lanes, &replay->batch);
}

static struct lh_fp fingerprint_of(const struct replay *replay, uint32_t successor)
{
    return lh_model_fingerprint(replay->model, replay->batch.lanes +
                                                   (size_t)successor * replay->model->layout.lanes);
}

// Follows one choice twice: on the state as the search kept it, which may be renamed, and on the
// state with the names it had so far, where the successor with the same fingerprint is taken.
static bool replay_step(struct replay *replay, uint8_t choice, uint8_t *kept, uint8_t *named,
                        struct lh_action *ret_action)
{
    const uint32_t stride = replay->model->layout.stride;
    struct lh_batch *batch = &replay->batch;
    uint32_t at = 0;
    expand_one(replay, kept, false);
    while (at < batch->count && batch->ordinals[at] != choice)
        at++;
    if (at == batch->count)
        return false;
    const struct lh_fp wanted = fingerprint_of(replay, at);
    memcpy(kept, batch->raw + (size_t)at * stride, stride);
    expand_one(replay, named, true);
    for (at = 0; at < batch->count; at++) {
        const struct lh_fp found = fingerprint_of(replay, at);
        if (found.high == wanted.high && found.low == wanted.low)
            break;
    }
    if (at == batch->count)
        return false;
    memcpy(named, batch->raw + (size_t)at * stride, stride);
    *ret_action = batch->actions[at];
    return true;
}

bool lh_search_replay(const struct lh_model *model, const uint8_t *choices, uint32_t index,
                      uint8_t *ret_raw, struct lh_action *ret_action)
{
    uint8_t kept[LH_LAYOUT_MAX_STRIDE] __attribute__((aligned(64)));
    struct replay replay = {.model = model,
                            .lanes = calloc(model->layout.lanes, sizeof(struct lh_fp))};
    bool replayed =
        replay.lanes != NULL && lh_batch_open(&replay.batch, model, model->max_successors);
    model->init(model, kept);
    model->init(model, ret_raw);
    *ret_action = (struct lh_action){.kind = LH_ACT_INIT};
    for (uint32_t i = 0; i < index && replayed; i++)
        replayed = replay_step(&replay, choices[i], kept, ret_raw, ret_action);
    lh_batch_close(&replay.batch);
    free(replay.lanes);
    return replayed;
}
