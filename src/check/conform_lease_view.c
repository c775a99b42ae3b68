// See conform_lease_view.h.
#include "check/conform_lease_view.h"

#include "base/assert.h"

void lh_lease_trial_find_owners(const struct lh_lease_trial *trial, uint8_t *owners)
{
    const uint16_t *network = lh_layout_network_const(&trial->conform->model->layout, trial->from);
    for (uint32_t i = 1; i <= network[0]; i++) {
        const struct lh_message *m = &trial->lease->messages[network[i]];
        owners[m->ballot] = (uint8_t)(m->proposer + 1);
        if (m->kind == LH_MSG_PROMISE && m->owner != 0)
            owners[m->accepted_ballot] = m->owner;
    }
    for (uint32_t a = 0; a < trial->lease->acceptors; a++) {
        const uint8_t *row = lh_lease_trial_acceptor(trial->from, a);
        if (row[LH_A_OWNER] != 0)
            owners[row[LH_A_BALLOT]] = row[LH_A_OWNER];
    }
    for (uint32_t p = 0; p < trial->lease->proposers; p++) {
        const uint8_t *row = lh_lease_trial_proposer(trial, trial->from, p);
        owners[row[LH_P_BALLOT]] = (uint8_t)(p + 1);
        owners[row[LH_P_ACTIVE_BALLOT]] = (uint8_t)(p + 1);
    }
    owners[0] = 0;
}

struct lh_conform_proposer lh_lease_trial_read_proposer(const struct lh_lease_trial *trial,
                                                        uint32_t p)
{
    const uint8_t *row = lh_lease_trial_proposer(trial, trial->from, p);
    const bool active = row[LH_P_ACTIVE] != 0;
    const bool ended =
        !active && row[LH_P_ACTIVE_BALLOT] != 0 && row[LH_P_DEADLINE] <= trial->from[LH_VAR_NOW];
    struct lh_conform_proposer view = {.phase = row[LH_P_PHASE],
                                       .ballot = row[LH_P_BALLOT],
                                       .td = row[LH_P_PENDING],
                                       .open = row[LH_P_OPEN],
                                       .accepted = row[LH_P_ACCEPTED]};
    if (active || ended) {
        view.held = row[LH_P_ACTIVE_BALLOT];
        view.until = row[LH_P_DEADLINE];
        view.token = LH_CONFORM_OLD_TOKEN;
    }
    const bool renews = active && row[LH_P_PHASE] != LH_PHASE_IDLE;
    if (renews || ((active || ended) && !trial->hidden))
        view.base = view.held;
    return view;
}

struct lh_conform_proposer lh_lease_trial_want_proposer(const struct lh_lease_trial *trial,
                                                        uint32_t p,
                                                        const struct lh_conform_proposer *before)
{
    struct lh_conform_proposer want = *before;
    if (trial->to == NULL)
        return want;
    const uint8_t *row = lh_lease_trial_proposer(trial, trial->to, p);
    want.phase = row[LH_P_PHASE];
    want.ballot = row[LH_P_BALLOT];
    want.td = row[LH_P_PENDING];
    want.open = row[LH_P_OPEN];
    want.accepted = row[LH_P_ACCEPTED];
    if (row[LH_P_ACTIVE]) {
        want.held = row[LH_P_ACTIVE_BALLOT];
        want.until = row[LH_P_DEADLINE];
    }
    return want;
}

struct lh_conform_acceptor lh_lease_trial_read_acceptor(const struct lh_lease_trial *trial,
                                                        uint32_t a, uint8_t spent)
{
    const uint8_t *row = lh_lease_trial_acceptor(trial->from, a);
    struct lh_conform_acceptor view = {.promised = row[LH_A_PROMISED]};
    if (row[LH_A_OWNER] != 0) {
        view.ballot = row[LH_A_BALLOT];
        view.deadline = row[LH_A_DEADLINE];
        if (!lh_lease_trial_live(trial, row) && trial->hidden) {
            view.touched = view.deadline;
            view.deadline = 0;
        }
    } else if (trial->hidden && spent <= view.promised) {
        view.ballot = spent;
    }
    return view;
}

struct lh_conform_acceptor lh_lease_trial_want_acceptor(const struct lh_lease_trial *trial,
                                                        uint32_t a,
                                                        const struct lh_conform_acceptor *before,
                                                        bool touched)
{
    struct lh_conform_acceptor want = *before;
    if (trial->to == NULL)
        return want;
    const uint8_t *row = lh_lease_trial_acceptor(trial->to, a);
    want.promised = row[LH_A_PROMISED];
    if (lh_lease_trial_live(trial, row)) {
        want.ballot = row[LH_A_BALLOT];
        want.deadline = row[LH_A_DEADLINE];
        want.touched = 0;
    } else if (touched) {
        want.deadline = 0;
        want.stamp = 0;
        want.touched = trial->from[LH_VAR_NOW];
    }
    return want;
}

void lh_lease_trial_emit(struct lh_lease_trial *trial, struct lh_message message)
{
    LH_ASSERT_LT(trial->emitted_count, LH_CHECK_MAX_ACCEPTORS);
    trial->emitted[trial->emitted_count++] = (uint16_t)lh_lease_message(trial->lease, message);
}

void lh_lease_trial_emit_to_all(struct lh_lease_trial *trial, enum lh_message_kind kind, uint32_t p,
                                uint8_t ballot)
{
    trial->emitted_count = 0;
    for (uint32_t a = 0; a < trial->lease->acceptors; a++)
        lh_lease_trial_emit(trial, (struct lh_message){.kind = (uint8_t)kind,
                                                       .proposer = (uint8_t)p,
                                                       .acceptor = (uint8_t)a,
                                                       .ballot = ballot});
}

static bool in_set(const uint16_t *network, uint32_t message)
{
    for (uint32_t i = 1; i <= network[0]; i++) {
        if (network[i] == message)
            return true;
    }
    return false;
}

bool lh_lease_trial_same_network(struct lh_lease_trial *trial, uint32_t consumed)
{
    const struct lh_layout *layout = &trial->conform->model->layout;
    const uint16_t *before = lh_layout_network_const(layout, trial->from);
    const uint16_t *after = lh_layout_network_const(layout, trial->to);
    uint32_t count = 0;
    for (uint32_t i = 1; i <= before[0]; i++) {
        bool sent_again = false;
        for (uint32_t e = 0; e < trial->emitted_count; e++)
            sent_again = sent_again || trial->emitted[e] == before[i];
        if (before[i] == consumed || sent_again)
            continue;
        count++;
        if (!in_set(after, before[i]))
            return lh_conform_fail(trial->conform, "a message is lost");
    }
    for (uint32_t e = 0; e < trial->emitted_count; e++) {
        count++;
        if (!in_set(after, trial->emitted[e]))
            return lh_conform_fail(trial->conform, "the code sends a message of its own");
    }
    if (count != after[0])
        return lh_conform_fail(trial->conform, "the code sends %u messages, the model more",
                               trial->emitted_count);
    return true;
}
