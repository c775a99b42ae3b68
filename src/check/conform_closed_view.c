// See conform_closed_view.h.
#include "check/conform_closed_view.h"

#include <string.h>

#include "check/describe.h"

void lh_closed_trial_name_own(struct lh_closed_trial *trial, enum lh_action_kind kind, uint32_t p,
                              const uint8_t *to)
{
    trial->conform->step = (struct lh_conform_step){
        .kind = (uint8_t)kind, .proposer = (uint8_t)(p + 1), .refused = to == NULL};
}

uint8_t lh_closed_trial_answers(const struct lh_closed_trial *trial, uint32_t p, uint32_t variable)
{
    uint32_t set = 0;
    for (uint32_t a = 0; a < trial->config->acceptors; a++)
        set |= (uint32_t)(lh_closed_trial_a(trial, a)[variable] >> p & 1) << a;
    return (uint8_t)set;
}

struct lh_conform_proposer lh_closed_trial_read_proposer(const struct lh_closed_trial *trial,
                                                         uint32_t p)
{
    const uint8_t *row = lh_closed_trial_p(trial, p);
    struct lh_conform_proposer view = {.phase = row[LH_CP_PHASE],
                                       .ballot = row[LH_CP_BALLOT],
                                       .base = row[LH_CP_BASE],
                                       .td = lh_closed_trial_until(row[LH_CP_PENDING]),
                                       .stamp = row[LH_CP_STAMP],
                                       .open = lh_closed_trial_answers(trial, p, LH_CA_OPEN),
                                       .accepted =
                                           lh_closed_trial_answers(trial, p, LH_CA_ANSWERED),
                                       .held = row[LH_CP_HELD],
                                       .token = row[LH_CP_TOKEN],
                                       .until = lh_closed_trial_until(row[LH_CP_AUTHORITY])};
    if (view.held != 0 && view.token == 0)
        view.token = LH_CONFORM_OLD_TOKEN; // the model counts tokens under F2 only
    if (view.base != 0 && view.until == 0 && trial->hidden) { // it ended, and is remembered
        view.held = view.base;
        view.until = LH_CLOSED_TRIAL_NOW;
        view.token = LH_CONFORM_OLD_TOKEN;
    }
    return view;
}

void lh_closed_trial_write_proposer(struct lh_closed_trial *trial, uint32_t p,
                                    const struct lh_conform_proposer *view)
{
    uint8_t *row = trial->raw + lh_closed_proposer(trial->config, p, 0);
    row[LH_CP_PHASE] = view->phase;
    row[LH_CP_BALLOT] = view->ballot;
    row[LH_CP_BASE] = view->base;
    row[LH_CP_PENDING] = lh_closed_trial_remaining(view->td);
    row[LH_CP_STAMP] = view->stamp;
    row[LH_CP_AUTHORITY] = lh_closed_trial_remaining(view->until);
    row[LH_CP_HELD] = row[LH_CP_AUTHORITY] != 0 ? view->held : 0;
    if (trial->config->promise_floor)
        row[LH_CP_TOKEN] = row[LH_CP_AUTHORITY] != 0 ? view->token : 0;
    for (uint32_t a = 0; a < trial->config->acceptors; a++) {
        uint8_t *acceptor = trial->raw + lh_closed_acceptor(trial->config, a, 0);
        const uint32_t bit = 1u << p;
        acceptor[LH_CA_OPEN] =
            (uint8_t)((acceptor[LH_CA_OPEN] & ~bit) | ((view->open >> a & 1u) != 0 ? bit : 0));
        acceptor[LH_CA_ANSWERED] = (uint8_t)((acceptor[LH_CA_ANSWERED] & ~bit) |
                                             ((view->accepted >> a & 1u) != 0 ? bit : 0));
    }
}

struct lh_conform_acceptor lh_closed_trial_read_acceptor(const struct lh_closed_trial *trial,
                                                         uint32_t a)
{
    const uint8_t *row = lh_closed_trial_a(trial, a);
    const uint8_t last = (uint8_t)(LH_CLOSED_TRIAL_NOW - row[LH_CA_IDLE]);
    struct lh_conform_acceptor view = {.promised = row[LH_CA_PROMISED],
                                       .ballot = row[LH_CA_RECORD],
                                       .deadline = lh_closed_trial_until(row[LH_CA_EXCLUSION]),
                                       .stamp = row[LH_CA_STAMP]};
    if (view.deadline == 0) {
        view.stamp = 0;
        if (trial->hidden && view.ballot != 0)
            view.deadline = last;
        else
            view.touched = last;
    }
    return view;
}

void lh_closed_trial_write_acceptor(struct lh_closed_trial *trial, uint32_t a,
                                    const struct lh_conform_acceptor *view)
{
    uint8_t *row = trial->raw + lh_closed_acceptor(trial->config, a, 0);
    row[LH_CA_PROMISED] = view->promised;
    row[LH_CA_RECORD] = view->ballot;
    row[LH_CA_EXCLUSION] = lh_closed_trial_remaining(view->deadline);
    row[LH_CA_STAMP] = row[LH_CA_EXCLUSION] != 0 ? view->stamp : 0;
}

const uint8_t *lh_closed_trial_successor(const struct lh_closed_trial *trial,
                                         struct lh_action action, uint32_t *ret_index)
{
    const struct lh_batch *batch = &trial->conform->batch;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct lh_action *found = &batch->actions[i];
        if (found->kind == action.kind && found->process == action.process &&
            found->message == action.message && found->argument == action.argument) {
            *ret_index = i;
            return batch->raw + (size_t)i * trial->model->layout.stride;
        }
    }
    return NULL;
}

bool lh_closed_trial_same_state(struct lh_closed_trial *trial, const uint8_t *to)
{
    static const uint8_t apart[] = {LH_CA_IDLE, LH_CA_COOL, LH_CA_CEILING};
    const uint8_t *want = to != NULL ? to : trial->from;
    for (uint32_t a = 0; a < trial->config->acceptors; a++) {
        const uint32_t row = lh_closed_acceptor(trial->config, a, 0);
        for (uint32_t i = 0; i < sizeof apart; i++)
            trial->raw[row + apart[i]] = want[row + apart[i]];
    }
    const uint32_t variables = trial->model->layout.variable_count;
    if (memcmp(trial->raw, want, variables) == 0) // which is settled
        return true;
    lh_closed_settle(trial->model, trial->raw);
    if (memcmp(trial->raw, want, variables) == 0)
        return true;
    for (uint32_t i = 0; i < variables; i++) {
        if (trial->raw[i] == want[i])
            continue;
        char name[32];
        lh_describe_variable(trial->model, i, name, sizeof name);
        return lh_conform_fail(trial->conform, "%s is %u in the model, %u in the code", name,
                               want[i], trial->raw[i]);
    }
    return true;
}

void lh_closed_trial_begin(struct lh_closed_trial *trial)
{
    memcpy(trial->raw, trial->from,
           sizeof trial->raw < trial->model->layout.stride ? sizeof trial->raw
                                                           : trial->model->layout.stride);
}
