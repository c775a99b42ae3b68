// A trace on the closed network as a picture. A request may arrive again and again: each arrival is
// an arrow from the step that sent it. A crash that its restart follows at once (Prompt) is shown
// in the step in which it happens.
#include <stdio.h>

#include "check/closed_model.h"
#include "check/trace_picture.h"

static void proposer_cell(const struct lh_trace *trace, uint32_t step, uint32_t p,
                          struct lh_picture_cell *ret_cell)
{
    const uint8_t *row =
        lh_trace_state(trace, step) + lh_closed_proposer(&trace->model->config, p, 0);
    const struct lh_action action = trace->actions[step];
    if (action.kind == LH_ACT_CRASH_PROPOSER && action.process == p)
        ret_cell->line = LH_BAR_CRASHED;
    else if (row[LH_CP_AUTHORITY] != 0)
        ret_cell->line = LH_BAR_AUTHORITY;
    if (row[LH_CP_ORPHAN] != 0)
        ret_cell->below = LH_BAR_ORPHAN;
}

static void acceptor_cell(const struct lh_trace *trace, uint32_t step, uint32_t a,
                          struct lh_picture_cell *ret_cell)
{
    const uint8_t *raw = lh_trace_state(trace, step);
    const uint8_t *row = raw + lh_closed_acceptor(&trace->model->config, a, 0);
    const struct lh_action action = trace->actions[step];
    const bool falls =
        (action.kind == LH_ACT_CRASH_ACCEPTOR || action.kind == LH_ACT_REPLACE_ACCEPTOR) &&
        action.process == a;
    if (falls || row[LH_CA_POWER] == LH_C_DOWN)
        ret_cell->line = LH_BAR_CRASHED;
    else if (row[LH_CA_POWER] == LH_C_STOPPED)
        ret_cell->line = LH_BAR_STOPPED;
    else if (row[LH_CA_SILENCE] != 0)
        ret_cell->line = LH_BAR_QUARANTINE;
    if (row[LH_CA_RECORD] == 0)
        return;
    const uint8_t owner = raw[lh_closed_ballot(row[LH_CA_RECORD], LH_CB_OWNER)];
    ret_cell->below = row[LH_CA_EXCLUSION] != 0 ? LH_BAR_RECORD : LH_BAR_ENDED;
    ret_cell->owner = owner <= trace->model->config.proposers ? owner : 0;
}

void lh_picture_closed_cell(const struct lh_trace *trace, uint32_t step, uint32_t lane,
                            struct lh_picture_cell *ret_cell)
{
    const uint32_t proposers = trace->model->config.proposers;
    if (lane < proposers)
        proposer_cell(trace, step, lane, ret_cell);
    else
        acceptor_cell(trace, step, lane - proposers, ret_cell);
}

// What says in a state that the message of a delivery is sent; 0 for a Prepare, which is sent when
// its attempt begins.
static uint32_t sent_variable(struct lh_action action)
{
    switch (action.kind) {
    case LH_ACT_DELIVER_ACCEPT: return lh_closed_ballot(action.message, LH_CB_ACCEPT_SENT);
    case LH_ACT_DELIVER_RELEASE: return lh_closed_ballot(action.message, LH_CB_RELEASED);
    case LH_ACT_DELIVER_EXTEND:
        return lh_closed_ballot(action.message, LH_CB_EXTEND + action.argument - 1u);
    default: return 0;
    }
}

static bool sends(const struct lh_trace *trace, uint32_t step, struct lh_action delivery)
{
    const struct lh_action action = trace->actions[step];
    const uint32_t variable = sent_variable(delivery);
    if (variable == 0)
        return action.kind == LH_ACT_START_ACQUIRE && action.argument == delivery.message;
    return step > 0 && lh_trace_state(trace, step - 1)[variable] == 0 &&
           lh_trace_state(trace, step)[variable] != 0;
}

static uint32_t sent_at(const struct lh_trace *trace, uint32_t step, struct lh_action delivery)
{
    while (step > 0 && !sends(trace, step, delivery))
        step--;
    return step;
}

// Who began the attempt: the state may have forgotten whose ballot it was.
static uint32_t proposer_of(const struct lh_trace *trace, uint32_t step, uint32_t ballot)
{
    const struct lh_action prepare = {.kind = LH_ACT_DELIVER_PREPARE, .message = (uint16_t)ballot};
    return trace->actions[sent_at(trace, step, prepare)].process;
}

static bool same_delivery(struct lh_action one, struct lh_action other)
{
    return one.kind == other.kind && one.process == other.process && one.message == other.message &&
           one.argument == other.argument;
}

// Whether the proposer counted the answer, which it reads at once; the one that makes a quorum may
// send its Accept on (Prompt).
static bool counted(const struct lh_trace *trace, uint32_t step, uint32_t p)
{
    const uint32_t phase = lh_closed_proposer(&trace->model->config, p, LH_CP_PHASE);
    const struct lh_action action = trace->actions[step];
    const uint32_t at = lh_closed_acceptor(&trace->model->config, action.process, 0);
    const uint8_t *before = lh_trace_state(trace, step - 1) + at;
    const uint8_t *after = lh_trace_state(trace, step) + at;
    const uint8_t gained = (uint8_t)((after[LH_CA_OPEN] & ~before[LH_CA_OPEN]) |
                                     (after[LH_CA_ANSWERED] & ~before[LH_CA_ANSWERED]));
    return (gained & 1u << p) != 0 ||
           lh_trace_state(trace, step)[phase] > lh_trace_state(trace, step - 1)[phase];
}

bool lh_picture_closed_arrow(const struct lh_trace *trace, uint32_t step, uint32_t index,
                             struct lh_picture_arrow *ret_arrow)
{
    static const struct {
        enum lh_action_kind kind;
        char letter, answer;
        const char *name, *answer_name;
    } kinds[] = {
        {LH_ACT_DELIVER_PREPARE, 'P', 'p', "Prepare", "Promise"},
        {LH_ACT_DELIVER_ACCEPT, 'A', 'a', "Accept", "Accepted"},
        {LH_ACT_DELIVER_RELEASE, 'R', 'r', "Release", ""},
        {LH_ACT_DELIVER_EXTEND, 'E', 'e', "Extend", "Extended"},
    };
    const struct lh_action action = trace->actions[step];
    uint32_t kind = 0;
    while (kind < 4 && kinds[kind].kind != action.kind)
        kind++;
    if (kind == 4 || index > 1)
        return false;
    const uint32_t acceptor = trace->model->config.proposers + action.process;
    const uint32_t proposer = proposer_of(trace, step, action.message);
    *ret_arrow = (struct lh_picture_arrow){.from_lane = proposer,
                                           .to_lane = acceptor,
                                           .from_step = sent_at(trace, step, action),
                                           .to_step = step,
                                           .proposer = proposer,
                                           .arrives = true};
    const char *name = kinds[kind].name;
    char letter = kinds[kind].letter;
    if (index == 0) {
        for (uint32_t at = ret_arrow->from_step + 1; at < step; at++)
            ret_arrow->again |= same_delivery(trace->actions[at], action);
    } else {
        if (!counted(trace, step, proposer))
            return false;
        name = kinds[kind].answer_name;
        letter = kinds[kind].answer;
        ret_arrow->from_lane = acceptor;
        ret_arrow->to_lane = proposer;
        ret_arrow->from_step = step;
    }
    snprintf(ret_arrow->label, sizeof ret_arrow->label, "%c%u", letter, action.message);
    if (index == 0)
        snprintf(ret_arrow->title, sizeof ret_arrow->title, "%s(b%u) p%u->a%u%s", name,
                 action.message, proposer + 1, action.process + 1u,
                 ret_arrow->again ? ", again" : "");
    else
        snprintf(ret_arrow->title, sizeof ret_arrow->title, "%s(b%u) a%u->p%u", name,
                 action.message, action.process + 1u, proposer + 1);
    return true;
}
