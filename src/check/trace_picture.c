// The paper's modules as pictures, and the choice between them and the closed network.
#include "check/trace_picture.h"

#include <stdio.h>

#include "check/composition_model.h"
#include "check/lease_model.h"

static bool has_acceptors(const struct lh_trace *trace)
{
    return trace->model->config.module != LH_CHECK_COMPOSITION;
}

uint32_t lh_picture_lanes(const struct lh_trace *trace)
{
    const struct lh_check_config *config = &trace->model->config;
    return config->proposers + (has_acceptors(trace) ? config->acceptors : 0u);
}

uint32_t lh_picture_owners(const struct lh_trace *trace, uint32_t step)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < trace->model->config.proposers; p++) {
        struct lh_picture_cell cell;
        lh_picture_cell(trace, step, p, &cell);
        count += cell.line == LH_BAR_AUTHORITY;
        count += cell.below == LH_BAR_ORPHAN;
    }
    return count;
}

static void leader_cell(const struct lh_trace *trace, const uint8_t *raw, uint32_t p,
                        struct lh_picture_cell *ret_cell)
{
    if (raw[lh_composition_leader(&trace->model->config, p, LH_L_ACTIVE)] != 0)
        ret_cell->line = LH_BAR_AUTHORITY;
}

static void proposer_cell(const struct lh_trace *trace, const uint8_t *raw, uint32_t p,
                          struct lh_picture_cell *ret_cell)
{
    const struct lh_lease *lease = lh_lease_of(trace->model);
    if (raw[lh_lease_proposer(lease, p, LH_P_CRASHED)])
        ret_cell->line = LH_BAR_CRASHED;
    else if (raw[lh_lease_proposer(lease, p, LH_P_ACTIVE)])
        ret_cell->line = LH_BAR_AUTHORITY;
}

static void acceptor_cell(const uint8_t *raw, uint32_t a, struct lh_picture_cell *ret_cell)
{
    const uint8_t *row = raw + lh_lease_acceptor(a, 0);
    if (row[LH_A_CRASHED])
        ret_cell->line = LH_BAR_CRASHED;
    else if (raw[LH_VAR_NOW] < row[LH_A_QUARANTINE])
        ret_cell->line = LH_BAR_QUARANTINE;
    if (row[LH_A_OWNER] == 0)
        return;
    ret_cell->below = raw[LH_VAR_NOW] < row[LH_A_DEADLINE] ? LH_BAR_RECORD : LH_BAR_ENDED;
    ret_cell->owner = row[LH_A_OWNER];
}

void lh_picture_cell(const struct lh_trace *trace, uint32_t step, uint32_t lane,
                     struct lh_picture_cell *ret_cell)
{
    const uint8_t *raw = lh_trace_state(trace, step);
    const uint32_t proposers = trace->model->config.proposers;
    *ret_cell = (struct lh_picture_cell){0};
    if (trace->model->config.module == LH_CHECK_CLOSED)
        lh_picture_closed_cell(trace, step, lane, ret_cell);
    else if (!has_acceptors(trace))
        leader_cell(trace, raw, lane, ret_cell);
    else if (lane < proposers)
        proposer_cell(trace, raw, lane, ret_cell);
    else
        acceptor_cell(raw, lane - proposers, ret_cell);
}

static bool in_flight(const struct lh_trace *trace, uint32_t step, uint32_t message)
{
    const uint16_t *network =
        lh_layout_network_const(&trace->model->layout, lh_trace_state(trace, step));
    for (uint32_t i = 1; i <= network[0]; i++) {
        if (network[i] == message)
            return true;
    }
    return false;
}

// The step that put the message, in flight before `step`, under way.
static uint32_t sent_at(const struct lh_trace *trace, uint32_t step, uint32_t message)
{
    uint32_t sent = step - 1;
    while (sent > 0 && in_flight(trace, sent - 1, message))
        sent--;
    return sent;
}

static bool is_delivery(struct lh_action action)
{
    return action.kind == LH_ACT_DELIVER_PREPARE || action.kind == LH_ACT_DELIVER_PROMISE ||
           action.kind == LH_ACT_DELIVER_ACCEPT || action.kind == LH_ACT_DELIVER_ACCEPTED ||
           action.kind == LH_ACT_DELIVER_RELEASE;
}

// `before`: a step before which the message is in flight.
static void describe_arrow(const struct lh_trace *trace, uint32_t message, uint32_t before,
                           uint32_t to_step, bool arrives, struct lh_picture_arrow *ret_arrow)
{
    static const char letters[] = {'P', 'p', 'A', 'a', 'R'};
    const struct lh_message *m = &lh_lease_of(trace->model)->messages[message];
    const bool answer = m->kind == LH_MSG_PROMISE || m->kind == LH_MSG_ACCEPTED;
    const uint32_t acceptor = trace->model->config.proposers + m->acceptor;
    *ret_arrow = (struct lh_picture_arrow){
        .from_lane = answer ? acceptor : m->proposer,
        .to_lane = answer ? m->proposer : acceptor,
        .from_step = sent_at(trace, before, message),
        .to_step = to_step,
        .proposer = m->proposer,
        .arrives = arrives,
    };
    for (uint32_t step = ret_arrow->from_step + 1; step < to_step && arrives; step++)
        ret_arrow->again |=
            is_delivery(trace->actions[step]) && trace->actions[step].message == message;
    snprintf(ret_arrow->label, sizeof ret_arrow->label, "%c%u", letters[m->kind], m->ballot);
    lh_describe_message(trace->model, message, ret_arrow->title, sizeof ret_arrow->title);
}

bool lh_picture_arrow(const struct lh_trace *trace, uint32_t step, uint32_t index,
                      struct lh_picture_arrow *ret_arrow)
{
    if (trace->model->config.module == LH_CHECK_CLOSED)
        return lh_picture_closed_arrow(trace, step, index, ret_arrow);
    if (trace->model->layout.message_count == 0)
        return false;
    const struct lh_action action = trace->actions[step];
    if (is_delivery(action) || action.kind == LH_ACT_DROP) {
        if (index == 0) {
            describe_arrow(trace, action.message, step, step, is_delivery(action), ret_arrow);
            return true;
        }
        index--;
    }
    const uint16_t *network =
        lh_layout_network_const(&trace->model->layout, lh_trace_state(trace, step));
    if (step + 1 != trace->count || index >= network[0])
        return false;
    describe_arrow(trace, network[index + 1], step + 1, step, false, ret_arrow);
    return true;
}
