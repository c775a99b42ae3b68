// Taking steps: all successors of a state, and time.
#include "base/assert.h"
#include "check/closed_rules.h"

void lh_closed_begin(struct lh_closed_step *step)
{
    const uint32_t stride = step->model->layout.stride;
    step->raw = step->batch->raw + (size_t)step->batch->count * stride;
    memcpy(step->raw, step->from, stride);
}

void lh_closed_commit(struct lh_closed_step *step, struct lh_action action)
{
    struct lh_batch *batch = step->batch;
    const uint32_t at = batch->count;
    const uint32_t used = step->model->layout.variable_count;
    lh_closed_settle(step->model, step->raw);
    if (memcmp(step->raw, step->from, used) == 0)
        return;
    lh_closed_hash_step(step, batch->lanes + (size_t)at * step->model->layout.lanes);
    batch->actions[at] = action;
    batch->parents[at] = batch->parent;
    batch->ordinals[at] = step->ordinal++;
    batch->outside[at] = false;
    batch->generated++;
    batch->count = at + 1;
}

static void down(uint8_t *value)
{
    if (*value > 0)
        *value = (uint8_t)(*value - 1);
}

static void up(uint8_t *value, uint8_t limit)
{
    if (*value < limit)
        *value = (uint8_t)(*value + 1);
}

static void tick(struct lh_closed_step *step)
{
    const struct lh_check_config *config = step->config;
    const uint8_t wait = lh_closed_greater(step->closed->longest, config->quarantine);
    lh_closed_begin(step);
    for (uint32_t p = 0; p < config->proposers; p++) {
        uint8_t *row = lh_closed_p(step, p);
        down(&row[LH_CP_PENDING]);
        down(&row[LH_CP_AUTHORITY]);
        down(&row[LH_CP_ORPHAN]);
    }
    for (uint32_t a = 0; a < config->acceptors; a++) {
        uint8_t *row = lh_closed_a(step, a);
        down(&row[LH_CA_EXCLUSION]);
        down(&row[LH_CA_SILENCE]);
        down(&row[LH_CA_SAVED_EXCLUSION]);
        up(&row[LH_CA_IDLE], wait);
        up(&row[LH_CA_COOL], wait);
    }
    lh_closed_commit(step, (struct lh_action){.kind = LH_ACT_TICK});
}

void lh_closed_expand(const struct lh_model *model, const uint8_t *raw, const struct lh_fp *lanes,
                      struct lh_batch *batch)
{
    (void)lanes;
    struct lh_closed_sums sums;
    const uint32_t before = batch->count;
    lh_closed_sum(model, raw, &sums);
    struct lh_closed_step step = {.model = model,
                                  .sums = &sums,
                                  .config = &model->config,
                                  .closed = model->private,
                                  .from = raw,
                                  .batch = batch};
    for (uint32_t a = 0; a < model->config.acceptors; a++)
        lh_closed_acceptor_steps(&step, a);
    for (uint32_t p = 0; p < model->config.proposers; p++)
        lh_closed_proposer_steps(&step, p);
    tick(&step);
    LH_ASSERT_LE(batch->count - before, model->max_successors);
}
