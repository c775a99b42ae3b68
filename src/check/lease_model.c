// The lease module's state: which messages there are, the domains of the variables, and the
// invariants of Appendix A. What a state can turn into is in lease_actions.c.
#include "check/lease_model.h"

#include <stdlib.h>

#include "base/assert.h"
#include "check/symmetry.h"

static bool accepted_coherence(const struct lh_lease *lease, const uint8_t *raw, uint32_t a)
{
    const uint8_t *row = raw + lh_lease_acceptor(a, 0);
    if (row[LH_A_OWNER] == 0)
        return row[LH_A_BALLOT] == 0 && row[LH_A_DEADLINE] == 0;
    return row[LH_A_OWNER] <= lease->proposers && row[LH_A_BALLOT] != 0 &&
           row[LH_A_BALLOT] <= lease->ballots && row[LH_A_DEADLINE] != 0;
}

// An active proposer: unexpired, by a quorum, contained in what its certificate excludes.
static enum lh_invariant active_violated(const struct lh_model *model, const uint8_t *raw,
                                         uint32_t p)
{
    const struct lh_lease *lease = lh_lease_of(model);
    const uint8_t *row = raw + lh_lease_proposer(lease, p, 0);
    const uint32_t deadline = row[LH_P_DEADLINE];
    if (raw[LH_VAR_NOW] >= deadline)
        return LH_INV_ACTIVE_IMPLIES_UNEXPIRED;
    if (!(model->config.weaken & LH_WEAKEN_SCALAR_QUORUM) && !lease->quorum[row[LH_P_CERT]])
        return LH_INV_ACTIVATION_HAS_QUORUM;
    for (uint32_t a = 0; a < lease->acceptors; a++) {
        if ((row[LH_P_CERT] & 1u << a) && deadline > row[LH_P_CERT_DEADLINE + a])
            return LH_INV_TIMER_CONTAINMENT;
    }
    if (row[LH_P_ACTIVE_BALLOT] == 0)
        return LH_INV_ACTIVE_BALLOT_WELL_FORMED;
    return LH_INV_NONE;
}

static enum lh_invariant violated(const struct lh_model *model, const uint8_t *raw)
{
    const struct lh_lease *lease = lh_lease_of(model);
    if (!lh_layout_in_domain(&model->layout, raw))
        return LH_INV_TYPE_OK;
    for (uint32_t a = 0; a < lease->acceptors; a++) {
        const uint8_t *row = raw + lh_lease_acceptor(a, 0);
        if (!accepted_coherence(lease, raw, a))
            return LH_INV_ACCEPTED_COHERENCE;
        if (raw[LH_VAR_NOW] < row[LH_A_QUARANTINE] &&
            (row[LH_A_OWNER] != 0 || row[LH_A_PROMISED] != 0))
            return LH_INV_QUARANTINE_PREVENTS_PARTICIPATION;
    }
    uint32_t active = 0;
    enum lh_invariant result = LH_INV_NONE;
    for (uint32_t p = 0; p < lease->proposers; p++) {
        const uint8_t *row = raw + lh_lease_proposer(lease, p, 0);
        if (row[LH_P_ACTIVE]) {
            active++;
            if (result == LH_INV_NONE)
                result = active_violated(model, raw, p);
        }
        if (model->config.module == LH_CHECK_IMPL && model->config.timely_dispatch &&
            row[LH_P_PHASE] != LH_PHASE_IDLE && raw[LH_VAR_NOW] >= row[LH_P_ATTEMPT])
            result = LH_INV_ATTEMPT_FRESHNESS;
    }
    return active > 1 ? LH_INV_LEASE_EXCLUSIVITY : result;
}

static void init(const struct lh_model *model, uint8_t *ret_raw)
{
    memset(ret_raw, 0, model->layout.stride);
}

static void number_messages(struct lh_lease *lease)
{
    const uint32_t routes = (uint32_t)lease->proposers * lease->acceptors * lease->ballots;
    uint32_t next = 0;
    for (uint32_t kind = 0; kind <= LH_MSG_RELEASE; kind++) {
        lease->first[kind] = next;
        next += kind == LH_MSG_PROMISE    ? routes * lease->records
                : kind == LH_MSG_ACCEPTED ? routes * lease->deadlines
                                          : routes;
    }
}

static uint32_t message_count(const struct lh_lease *lease)
{
    return lease->first[LH_MSG_RELEASE] +
           (uint32_t)lease->proposers * lease->acceptors * lease->ballots;
}

static void store_message(struct lh_lease *lease, struct lh_message message)
{
    const bool to_acceptor = message.kind != LH_MSG_PROMISE && message.kind != LH_MSG_ACCEPTED;
    message.inbox = (uint8_t)(to_acceptor ? 1u << message.acceptor
                                          : 1u << (lease->acceptors + message.proposer));
    lease->messages[lh_lease_message(lease, message)] = message;
}

// Every message of one proposer, acceptor and ballot.
static void store_route(struct lh_lease *lease, struct lh_message route)
{
    for (uint32_t kind = 0; kind <= LH_MSG_RELEASE; kind++) {
        route.kind = (uint8_t)kind;
        const bool has_deadline = kind == LH_MSG_ACCEPTED;
        for (uint32_t deadline = 0; deadline < (has_deadline ? lease->deadlines : 1); deadline++) {
            route.deadline = (uint8_t)deadline;
            store_message(lease, route);
        }
        route.deadline = 0;
    }
    route.kind = LH_MSG_PROMISE;
    for (uint32_t record = 0; record + 1 < lease->records; record++) {
        route.owner = (uint8_t)(1 + record / lease->deadlines / lease->ballots);
        route.accepted_ballot = (uint8_t)(1 + record / lease->deadlines % lease->ballots);
        route.deadline = (uint8_t)(record % lease->deadlines);
        store_message(lease, route);
    }
}

static bool store_messages(struct lh_lease *lease)
{
    number_messages(lease);
    lease->messages = calloc(message_count(lease), sizeof *lease->messages);
    if (lease->messages == NULL)
        return false;
    for (uint32_t p = 0; p < lease->proposers; p++) {
        for (uint32_t a = 0; a < lease->acceptors; a++) {
            for (uint32_t b = 1; b <= lease->ballots; b++)
                store_route(lease, (struct lh_message){.proposer = (uint8_t)p,
                                                       .acceptor = (uint8_t)a,
                                                       .ballot = (uint8_t)b});
        }
    }
    return true;
}

static void set_domains(const struct lh_check_config *config, const struct lh_lease *lease,
                        struct lh_layout *layout)
{
    const uint8_t horizon = config->max_time;
    const uint8_t all = (uint8_t)((1u << lease->acceptors) - 1);
    const uint8_t answers = config->weaken & LH_WEAKEN_SCALAR_QUORUM ? lease->acceptors : all;
    const uint8_t exclusion = (uint8_t)(horizon + config->acceptor_duration);
    const uint8_t pending = (uint8_t)(horizon + config->proposer_duration);
    layout->limit[LH_VAR_NOW] = horizon;
    layout->limit[LH_VAR_USED] = (uint8_t)((1u << lease->ballots) - 1);
    for (uint32_t a = 0; a < lease->acceptors; a++) {
        uint8_t *row = layout->limit + lh_lease_acceptor(a, 0);
        row[LH_A_PROMISED] = lease->ballots;
        row[LH_A_OWNER] = lease->proposers;
        row[LH_A_BALLOT] = lease->ballots;
        row[LH_A_DEADLINE] = exclusion;
        row[LH_A_CRASHED] = config->allow_crash;
        row[LH_A_QUARANTINE] = config->allow_crash ? (uint8_t)(horizon + config->quarantine) : 0;
    }
    for (uint32_t p = 0; p < lease->proposers; p++) {
        uint8_t *row = layout->limit + lh_lease_proposer(lease, p, 0);
        row[LH_P_PHASE] = LH_PHASE_ACCEPTING;
        row[LH_P_BALLOT] = lease->ballots;
        row[LH_P_DEADLINE] = pending;
        row[LH_P_PENDING] = pending;
        row[LH_P_ATTEMPT] =
            config->module == LH_CHECK_IMPL ? (uint8_t)(horizon + config->retry_timeout) : 0;
        row[LH_P_OPEN] = answers;
        row[LH_P_ACCEPTED] = answers;
        row[LH_P_ACTIVE] = 1;
        row[LH_P_ACTIVE_BALLOT] = lease->ballots;
        row[LH_P_CERT] = all;
        row[LH_P_CRASHED] = config->allow_crash;
        for (uint32_t a = 0; a < lease->acceptors; a++)
            row[LH_P_CERT_DEADLINE + a] = exclusion;
    }
    layout->variable_count = lh_lease_proposer(lease, lease->proposers, 0);
}

static void close_model(struct lh_model *model)
{
    struct lh_lease *lease = model->private;
    lh_layout_close(&model->layout);
    if (lease != NULL)
        free(lease->messages);
    free(lease);
    model->private = NULL;
}

static void fill_quorums(struct lh_lease *lease, const struct lh_check_config *config)
{
    for (uint32_t set = 0; set < 1u << lease->acceptors; set++)
        lease->quorum[set] = lh_check_config_is_quorum(config, set);
    for (uint32_t count = 0; count <= lease->acceptors; count++)
        lease->scalar_quorum[count] = 2 * count > lease->acceptors;
}

bool lh_lease_model_open(struct lh_model *model, const struct lh_check_config *config)
{
    struct lh_lease *lease = calloc(1, sizeof *lease);
    *model = (struct lh_model){.config = *config,
                               .private = lease,
                               .init = init,
                               .violated = violated,
                               .close = close_model,
                               .expand = lh_lease_expand(config)};
    if (lease == NULL)
        return false;
    lease->proposers = config->proposers;
    lease->acceptors = config->acceptors;
    lease->ballots = config->ballots;
    lease->proposer_row = (uint8_t)(LH_P_CERT_DEADLINE + config->acceptors);
    lease->crashable = config->crashable_acceptors != 0 ? config->crashable_acceptors
                                                        : (1u << config->acceptors) - 1;
    lease->deadlines = config->max_time + config->acceptor_duration + 1u;
    lease->records = 1 + (uint32_t)config->proposers * config->ballots * lease->deadlines;
    fill_quorums(lease, config);
    if (!store_messages(lease)) {
        close_model(model);
        return false;
    }
    set_domains(config, lease, &model->layout);
    model->layout.message_count = message_count(lease);
    model->layout.max_network = config->max_network;
    model->max_successors = config->max_network * 3u + config->proposers * (config->ballots + 4u) +
                            config->acceptors + 1u;
    LH_ASSERT_LE(model->layout.message_count, UINT16_MAX);
    LH_ASSERT_LE(model->max_successors, UINT8_MAX);
    const uint32_t lanes = config->symmetry ? lh_symmetry_order(model) : 1;
    if (!lh_layout_open(&model->layout, lanes, config->acceptors)) {
        close_model(model);
        return false;
    }
    if (config->symmetry)
        lh_symmetry_fill(model);
    return true;
}
