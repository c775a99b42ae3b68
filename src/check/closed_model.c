// Domains and invariants. The rules are in closed_acceptor.c and closed_proposer.c.
#include "check/closed_model.h"

#include <stdlib.h>

#include "base/assert.h"
#include "check/closed_rules.h"

static void init(const struct lh_model *model, uint8_t *ret_raw)
{
    memset(ret_raw, 0, model->layout.stride);
    lh_closed_settle(model, ret_raw);
}

// At most one client anywhere has authority, daemons that are gone included; and tokens rise.
static enum lh_invariant violated(const struct lh_model *model, const uint8_t *raw)
{
    uint32_t holders = 0;
    if (!lh_layout_in_domain(&model->layout, raw))
        return LH_INV_TYPE_OK;
    for (uint32_t p = 0; p < model->config.proposers; p++) {
        const uint8_t *row = raw + lh_closed_proposer(&model->config, p, 0);
        holders += row[LH_CP_AUTHORITY] != 0;
        holders += row[LH_CP_ORPHAN] != 0;
    }
    if (holders > 1)
        return LH_INV_LEASE_EXCLUSIVITY;
    return raw[LH_C_TOKEN_BROKEN] ? LH_INV_TOKEN_ORDER : LH_INV_NONE;
}

static void close_model(struct lh_model *model)
{
    lh_layout_close(&model->layout);
    free(model->private);
    model->private = NULL;
}

static void set_ballot_domains(const struct lh_check_config *config, uint8_t *limit)
{
    const uint8_t longest = lh_check_config_longest(config);
    for (uint32_t b = 1; b <= config->ballots; b++) {
        uint8_t *row = limit + lh_closed_ballot(b, 0);
        row[LH_CB_OWNER] = (uint8_t)(config->proposers + 1); // nobody's any more
        row[LH_CB_DURATION] = longest;
        row[LH_CB_ACCEPT_SENT] = 1;
        row[LH_CB_BASE] = config->allow_renewal ? config->ballots : 0;
        row[LH_CB_RELEASED] = config->allow_release || config->abandon_release;
        for (uint32_t n = 0; n < config->extends; n++)
            row[LH_CB_EXTEND + n] = longest;
    }
}

static void set_proposer_domains(const struct lh_check_config *config, uint8_t *limit)
{
    const uint8_t longest = lh_check_config_longest(config);
    for (uint32_t p = 0; p < config->proposers; p++) {
        uint8_t *row = limit + lh_closed_proposer(config, p, 0);
        row[LH_CP_PHASE] = config->extends != 0 ? LH_C_EXTENDING : LH_C_ACCEPTING;
        row[LH_CP_BALLOT] = config->ballots;
        row[LH_CP_PENDING] = longest;
        row[LH_CP_BASE] = config->allow_renewal ? config->ballots : 0;
        row[LH_CP_HELD] = config->ballots;
        row[LH_CP_TOKEN] = config->promise_floor ? config->ballots : 0;
        row[LH_CP_AUTHORITY] = longest;
        row[LH_CP_ORPHAN] = config->client_outlives ? longest : 0;
        row[LH_CP_STAMP] = config->extends;
    }
}

static void set_acceptor_domains(const struct lh_check_config *config, uint8_t *limit)
{
    const uint8_t longest = lh_check_config_longest(config);
    const uint8_t proposers = (uint8_t)((1u << config->proposers) - 1);
    const uint8_t wait = longest > config->quarantine ? longest : config->quarantine;
    for (uint32_t a = 0; a < config->acceptors; a++) {
        uint8_t *row = limit + lh_closed_acceptor(config, a, 0);
        row[LH_CA_PROMISED] = config->ballots;
        row[LH_CA_RECORD] = config->ballots;
        row[LH_CA_EXCLUSION] = longest;
        row[LH_CA_STAMP] = config->extends;
        row[LH_CA_POWER] = LH_C_STOPPED;
        row[LH_CA_SILENCE] = wait;
        row[LH_CA_OPEN] = proposers;
        row[LH_CA_ANSWERED] = proposers;
        row[LH_CA_STALE] = config->weaken & LH_WEAKEN_OLDER_EXTEND ? proposers : 0;
        row[LH_CA_IDLE] = config->idle_forget || config->ceiling ? wait : 0;
        row[LH_CA_COOL] = config->ceiling ? wait : 0;
        row[LH_CA_CEILING] = config->ceiling ? longest : 0;
        row[LH_CA_SAVED] = config->clean_restart;
        row[LH_CA_SAVED_PROMISED] = config->clean_restart ? config->ballots : 0;
        row[LH_CA_SAVED_RECORD] = config->clean_restart ? config->ballots : 0;
        row[LH_CA_SAVED_EXCLUSION] = config->clean_restart ? longest : 0;
    }
}

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

// The most steps that a state may have, so that one byte numbers them. A ballot is either unused,
// and may be started, or used, and its messages may be delivered.
static uint32_t count_successors(const struct lh_check_config *config)
{
    const uint32_t durations = (uint32_t)__builtin_popcount(config->durations);
    const bool any_release = (config->weaken & LH_WEAKEN_OWNER_ONLY_RELEASE) != 0;
    const bool any_extend = (config->weaken & LH_WEAKEN_EXTEND_FOREIGN) != 0;
    const uint32_t again = (config->weaken & LH_WEAKEN_BALLOT_REUSE) != 0;
    const uint32_t rest_of_acceptor = 4 + 4; // crash, stop, forget, ceiling; replaced, four ways
    const uint32_t rest_of_proposer = 6;     // in phase ACCEPTING; when idle no more than 3
    uint32_t most = 0;
    for (uint32_t used = 0; used <= config->ballots; used++) {
        const uint32_t one = used == 0 ? 0 : 1; // ballot is recorded
        const uint32_t deliveries =
            2 * used + (any_release ? used : one) + (any_extend ? used : one) * config->extends;
        const uint32_t idle = (config->ballots - used + again) * durations +
                              (config->extends != 0 ? durations : 0) + 3;
        most = greater(most, config->acceptors * (deliveries + rest_of_acceptor) +
                                 config->proposers * greater(idle, rest_of_proposer) + 1);
    }
    return most;
}

bool lh_closed_model_open(struct lh_model *model, const struct lh_check_config *config)
{
    struct lh_closed *closed = calloc(1, sizeof *closed);
    *model = (struct lh_model){.config = *config,
                               .private = closed,
                               .init = init,
                               .expand = lh_closed_expand,
                               .hash = lh_closed_hash,
                               .violated = violated,
                               .close = close_model};
    if (closed == NULL)
        return false;
    for (uint32_t set = 0; set < 1u << config->acceptors; set++)
        closed->quorum[set] = config->weaken & LH_WEAKEN_SCALAR_QUORUM
                                  ? set != 0
                                  : lh_check_config_is_quorum(config, set);
    closed->crashable = config->crashable_acceptors != 0 ? config->crashable_acceptors
                                                         : (1u << config->acceptors) - 1;
    closed->sortable = config->quorum_count == 0 && config->crashable_acceptors == 0;
    closed->longest = lh_check_config_longest(config);
    struct lh_layout *layout = &model->layout;
    layout->variable_count = lh_closed_acceptor(config, config->acceptors, 0);
    layout->limit[LH_C_MAX_TOKEN] = config->promise_floor ? config->ballots : 0;
    layout->limit[LH_C_TOKEN_BROKEN] = config->promise_floor;
    set_ballot_domains(config, layout->limit);
    set_proposer_domains(config, layout->limit);
    set_acceptor_domains(config, layout->limit);
    model->max_successors = count_successors(config);
    LH_ASSERT_LE(model->max_successors, UINT8_MAX);
    layout->values = LH_CLOSED_VALUES;
    if (lh_layout_open(layout, lh_closed_lanes(config), 0)) {
        lh_closed_fill_lanes(model);
        return true;
    }
    close_model(model);
    return false;
}
