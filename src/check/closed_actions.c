// Taking steps: all successors of a state, time, and the settling of what can no longer matter.
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

static void settle_proposer(const struct lh_check_config *config, uint8_t *row)
{
    const bool late_timer = (config->weaken & LH_WEAKEN_LATE_TIMER) != 0;
    const bool extends_late = (config->weaken & LH_WEAKEN_EXTEND_LATE) != 0;
    const bool keeps_token = (config->weaken & LH_WEAKEN_LATE_RENEWAL_TOKEN) != 0;
    uint8_t *phase = &row[LH_CP_PHASE];
    if (row[LH_CP_PENDING] == 0 && *phase != LH_C_IDLE &&
        !(late_timer && *phase == LH_C_PREPARING) &&
        (config->allow_abandon || *phase == LH_C_EXTENDING))
        *phase = LH_C_IDLE;
    if (row[LH_CP_AUTHORITY] == 0 && *phase == LH_C_EXTENDING && !extends_late)
        *phase = LH_C_IDLE;
    if (*phase == LH_C_IDLE || *phase == LH_C_EXTENDING)
        row[LH_CP_BASE] = 0;
    if (*phase == LH_C_IDLE)
        row[LH_CP_PENDING] = 0;
    if (row[LH_CP_AUTHORITY] == 0 && *phase != LH_C_EXTENDING) {
        row[LH_CP_HELD] = 0;
        row[LH_CP_STAMP] = 0;
        if (!keeps_token || row[LH_CP_BASE] == 0)
            row[LH_CP_TOKEN] = 0;
        if (*phase == LH_C_ACCEPTING && !keeps_token)
            row[LH_CP_BASE] = 0; // it is a new acquisition by now
    }
}

static void settle_acceptor(const struct lh_model *model, const uint8_t *raw, uint8_t *row)
{
    const struct lh_check_config *config = &model->config;
    const struct lh_closed *closed = model->private;
    if (row[LH_CA_EXCLUSION] == 0) {
        const bool revivable = (config->weaken & LH_WEAKEN_EXTEND_EXPIRED) != 0;
        const bool reinstallable =
            (config->weaken & (LH_WEAKEN_LIVE_OVERWRITE | LH_WEAKEN_RECORDED_AGAIN)) != 0;
        if (!revivable)
            row[LH_CA_STAMP] = 0;
        if (!revivable && (reinstallable || row[LH_CA_RECORD] != row[LH_CA_PROMISED]))
            row[LH_CA_RECORD] = 0;
    }
    if (row[LH_CA_RECORD] == 0)
        row[LH_CA_STAMP] = 0;
    for (uint32_t p = 0; p < config->proposers; p++) {
        const uint8_t *proposer = raw + lh_closed_proposer(config, p, 0);
        const uint8_t phase = proposer[LH_CP_PHASE];
        const uint8_t others = (uint8_t) ~(1u << p);
        if (config->weaken & LH_WEAKEN_BALLOT_REUSE)
            continue;
        if (phase != LH_C_PREPARING)
            row[LH_CA_OPEN] &= others;
        if (phase != LH_C_ACCEPTING && phase != LH_C_EXTENDING)
            row[LH_CA_ANSWERED] &= others;
        if (proposer[LH_CP_HELD] == 0)
            row[LH_CA_STALE] &= others;
    }
    const uint8_t wait = lh_closed_greater(closed->longest, config->quarantine);
    const bool remembers = row[LH_CA_PROMISED] != 0 || row[LH_CA_CEILING] != 0;
    if (!config->idle_forget && !config->ceiling)
        row[LH_CA_IDLE] = 0;
    else if (!remembers)
        row[LH_CA_IDLE] = wait;
    if (!config->ceiling)
        row[LH_CA_COOL] = 0;
    else if (row[LH_CA_CEILING] == 0)
        row[LH_CA_COOL] = wait;
}

void lh_closed_settle(const struct lh_model *model, uint8_t *raw)
{
    const struct lh_check_config *config = &model->config;
    for (uint32_t p = 0; p < config->proposers; p++)
        settle_proposer(config, raw + lh_closed_proposer(config, p, 0));
    for (uint32_t a = 0; a < config->acceptors; a++)
        settle_acceptor(model, raw, raw + lh_closed_acceptor(config, a, 0));
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
}
