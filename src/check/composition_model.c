// M1 to M5 as the module states them. The state space is small (thousands of states), so a
// successor is simply copied, changed and hashed anew.
#include "check/composition_model.h"

#include <stdlib.h>

struct step {
    const struct lh_model *model;
    const uint8_t *from;
    struct lh_batch *batch;
    uint8_t *raw;
    uint8_t ordinal;
};

static void begin(struct step *step)
{
    const uint32_t stride = step->model->layout.stride;
    step->raw = step->batch->raw + (size_t)step->batch->count * stride;
    memcpy(step->raw, step->from, stride);
}

static void commit(struct step *step, enum lh_action_kind kind, uint32_t process, uint32_t argument)
{
    struct lh_batch *batch = step->batch;
    const uint32_t at = batch->count++;
    batch->generated++;
    lh_layout_hash(&step->model->layout, step->raw, &batch->lanes[at]);
    batch->actions[at] = (struct lh_action){
        .kind = (uint8_t)kind, .process = (uint8_t)process, .argument = (uint8_t)argument};
    batch->parents[at] = batch->parent;
    batch->ordinals[at] = step->ordinal++;
    batch->outside[at] = false;
}

static uint32_t leader(const struct step *step, uint32_t p, uint32_t variable)
{
    return step->from[lh_composition_leader(&step->model->config, p, variable)];
}

static void put_leader(struct step *step, uint32_t p, uint32_t variable, uint32_t value)
{
    step->raw[lh_composition_leader(&step->model->config, p, variable)] = (uint8_t)value;
}

// M1: a fresh epoch forgets the recovery of the one before.
static void acquire_lease(struct step *step, uint32_t p)
{
    const struct lh_check_config *config = &step->model->config;
    for (uint32_t other = 0; other < config->proposers; other++) {
        if (leader(step, other, LH_L_ACTIVE))
            return;
    }
    begin(step);
    put_leader(step, p, LH_L_ACTIVE, 1);
    put_leader(step, p, LH_L_DEADLINE, step->from[0] + (uint32_t)config->lease_duration);
    put_leader(step, p, LH_L_STATE, LH_LEADER_ELECTED);
    put_leader(step, p, LH_L_RECOVERED, 0);
    commit(step, LH_ACT_ACQUIRE_LEASE, p, 0);
}

// M2, M3, M4: from elected to ready, one state after the other, while the lease lasts.
static void advance(struct step *step, uint32_t p)
{
    switch (leader(step, p, LH_L_STATE)) {
    case LH_LEADER_ELECTED:
        begin(step);
        put_leader(step, p, LH_L_STATE, LH_LEADER_RECOVERING);
        commit(step, LH_ACT_START_RECOVERY, p, 0);
        break;
    case LH_LEADER_RECOVERING:
        begin(step);
        put_leader(step, p, LH_L_STATE, LH_LEADER_REPAIRING);
        put_leader(step, p, LH_L_RECOVERED, 1);
        put_leader(step, p, LH_L_EVER_RECOVERED, 1);
        commit(step, LH_ACT_FINISH_RECOVERY, p, 0);
        break;
    case LH_LEADER_REPAIRING:
        if (!leader(step, p, LH_L_RECOVERED))
            break;
        begin(step);
        put_leader(step, p, LH_L_STATE, LH_LEADER_READY);
        commit(step, LH_ACT_BECOME_READY, p, 0);
        break;
    default: break;
    }
}

// M5.
static void admit(struct step *step, uint32_t p)
{
    const struct lh_check_config *config = &step->model->config;
    const uint32_t slot = leader(step, p, LH_L_APPLIED) + 1;
    if (leader(step, p, LH_L_STATE) != LH_LEADER_READY || slot > config->max_slot)
        return;
    for (uint32_t value = 1; value <= config->values; value++) {
        begin(step);
        if (step->from[lh_composition_slot(slot)] == 0)
            step->raw[lh_composition_slot(slot)] = (uint8_t)value;
        put_leader(step, p, LH_L_APPLIED, slot);
        commit(step, LH_ACT_ADMIT, p, value);
    }
}

static void tick(struct step *step)
{
    const struct lh_check_config *config = &step->model->config;
    const uint32_t now = step->from[0];
    begin(step);
    if (now >= config->max_time) {
        commit(step, LH_ACT_STUTTER, 0, 0);
        return;
    }
    step->raw[0] = (uint8_t)(now + 1);
    for (uint32_t p = 0; p < config->proposers; p++) {
        if (leader(step, p, LH_L_ACTIVE) && now + 1 >= leader(step, p, LH_L_DEADLINE)) {
            put_leader(step, p, LH_L_ACTIVE, 0);
            put_leader(step, p, LH_L_STATE, LH_LEADER_NOT_ELECTED);
        }
    }
    commit(step, LH_ACT_TICK, 0, 0);
}

static void expand(const struct lh_model *model, const uint8_t *raw, const struct lh_fp *lanes,
                   struct lh_batch *batch)
{
    (void)lanes;
    struct step step = {.model = model, .from = raw, .batch = batch};
    for (uint32_t p = 0; p < model->config.proposers; p++) {
        acquire_lease(&step, p);
        if (leader(&step, p, LH_L_ACTIVE) && raw[0] < leader(&step, p, LH_L_DEADLINE)) {
            advance(&step, p);
            admit(&step, p);
        }
    }
    tick(&step);
}

static enum lh_invariant leader_violated(const struct lh_model *model, const uint8_t *raw,
                                         uint32_t p)
{
    const uint8_t *row = raw + lh_composition_leader(&model->config, p, 0);
    if (row[LH_L_STATE] == LH_LEADER_READY) {
        if (!row[LH_L_ACTIVE] || raw[0] >= row[LH_L_DEADLINE])
            return LH_INV_READY_IMPLIES_ACTIVE;
        if (!row[LH_L_RECOVERED])
            return LH_INV_READY_IMPLIES_RECOVERED;
    }
    if (row[LH_L_APPLIED] > 0 && !row[LH_L_EVER_RECOVERED])
        return LH_INV_RECOVERY_PRECEDES_ADMISSION;
    for (uint32_t slot = 1; slot <= row[LH_L_APPLIED]; slot++) {
        if (raw[lh_composition_slot(slot)] == 0)
            return LH_INV_APPLIED_IMPLIES_CHOSEN;
    }
    return LH_INV_NONE;
}

static enum lh_invariant violated(const struct lh_model *model, const uint8_t *raw)
{
    if (!lh_layout_in_domain(&model->layout, raw))
        return LH_INV_TYPE_OK;
    uint32_t ready = 0;
    for (uint32_t p = 0; p < model->config.proposers; p++) {
        const enum lh_invariant result = leader_violated(model, raw, p);
        if (result != LH_INV_NONE)
            return result;
        ready += raw[lh_composition_leader(&model->config, p, LH_L_STATE)] == LH_LEADER_READY;
    }
    return ready > 1 ? LH_INV_READY_LEADER_UNIQUENESS : LH_INV_NONE;
}

static void init(const struct lh_model *model, uint8_t *ret_raw)
{
    memset(ret_raw, 0, model->layout.stride);
}

static void close_model(struct lh_model *model)
{
    lh_layout_close(&model->layout);
}

bool lh_composition_model_open(struct lh_model *model, const struct lh_check_config *config)
{
    *model = (struct lh_model){.config = *config,
                               .init = init,
                               .expand = expand,
                               .violated = violated,
                               .close = close_model};
    struct lh_layout *layout = &model->layout;
    layout->limit[0] = config->max_time;
    for (uint32_t slot = 1; slot <= config->max_slot; slot++)
        layout->limit[lh_composition_slot(slot)] = config->values;
    for (uint32_t p = 0; p < config->proposers; p++) {
        uint8_t *row = layout->limit + lh_composition_leader(config, p, 0);
        row[LH_L_ACTIVE] = 1;
        row[LH_L_DEADLINE] = (uint8_t)(config->max_time + config->lease_duration);
        row[LH_L_STATE] = LH_LEADER_READY;
        row[LH_L_RECOVERED] = 1;
        row[LH_L_EVER_RECOVERED] = 1;
        row[LH_L_APPLIED] = config->max_slot;
    }
    layout->variable_count = lh_composition_leader(config, config->proposers, 0);
    model->max_successors = config->proposers * (2u + config->values) + 1u;
    return lh_layout_open(layout, 1, 0);
}
