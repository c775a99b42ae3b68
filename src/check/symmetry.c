// Permutations are listed once, the identity first. Renaming is defined on a single variable with
// its value, and on a message; everything else follows from these two.
#include "check/symmetry.h"

#include "check/lease_model.h"

struct permutation {
    uint8_t proposer[LH_CHECK_MAX_PROPOSERS]; // new name of each
    uint8_t acceptor[LH_CHECK_MAX_ACCEPTORS];
};

// The permutation of 0..count-1 with this index in lexicographic order.
static void permute(uint32_t index, uint32_t count, uint8_t *ret_names)
{
    uint8_t left[8];
    uint32_t factorial = 1;
    for (uint32_t i = 0; i < count; i++) {
        left[i] = (uint8_t)i;
        factorial *= i + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        factorial /= count - i;
        const uint32_t pick = index / factorial;
        index %= factorial;
        ret_names[i] = left[pick];
        for (uint32_t j = pick; j + 1 < count - i; j++)
            left[j] = left[j + 1];
    }
}

static uint32_t factorial_of(uint32_t count)
{
    uint32_t product = 1;
    for (uint32_t i = 2; i <= count; i++)
        product *= i;
    return product;
}

static uint32_t rename_set(const struct permutation *g, uint32_t acceptors)
{
    uint32_t renamed = 0;
    for (uint32_t a = 0; a < LH_CHECK_MAX_ACCEPTORS; a++) {
        if (acceptors & 1u << a)
            renamed |= 1u << g->acceptor[a];
    }
    return renamed;
}

static bool keeps_configuration(const struct lh_lease *lease, const struct permutation *g)
{
    if (lease->crashable < 1u << lease->acceptors &&
        rename_set(g, lease->crashable) != lease->crashable)
        return false;
    for (uint32_t set = 0; set < 1u << lease->acceptors; set++) {
        if (lease->quorum[set] != lease->quorum[rename_set(g, set)])
            return false;
    }
    return true;
}

// The permutation that is the `lane`-th to keep the configuration; false behind the last.
static bool find_permutation(const struct lh_lease *lease, uint32_t lane, struct permutation *ret)
{
    const uint32_t of_acceptors = factorial_of(lease->acceptors);
    const uint32_t total = of_acceptors * factorial_of(lease->proposers);
    for (uint32_t index = 0; index < total; index++) {
        struct permutation g = {{0}, {0}};
        permute(index % of_acceptors, lease->acceptors, g.acceptor);
        permute(index / of_acceptors, lease->proposers, g.proposer);
        if (keeps_configuration(lease, &g) && lane-- == 0) {
            *ret = g;
            return true;
        }
    }
    return false;
}

static void rename_variable(const struct lh_model *model, const struct permutation *g,
                            uint32_t *variable, uint32_t *value)
{
    const struct lh_lease *lease = lh_lease_of(model);
    const uint32_t proposers = lh_lease_proposer(lease, 0, 0);
    if (*variable < LH_VAR_ROWS)
        return;
    if (*variable < proposers) {
        const uint32_t a = (*variable - LH_VAR_ROWS) / LH_A_VARIABLES;
        const uint32_t inner = (*variable - LH_VAR_ROWS) % LH_A_VARIABLES;
        if (inner == LH_A_OWNER && *value != 0 && *value <= lease->proposers)
            *value = g->proposer[*value - 1] + 1u;
        *variable = lh_lease_acceptor(g->acceptor[a], inner);
        return;
    }
    const uint32_t p = (*variable - proposers) / lease->proposer_row;
    uint32_t inner = (*variable - proposers) % lease->proposer_row;
    const bool counts = (model->config.weaken & LH_WEAKEN_SCALAR_QUORUM) != 0;
    if (inner == LH_P_CERT || ((inner == LH_P_OPEN || inner == LH_P_ACCEPTED) && !counts))
        *value = rename_set(g, *value & ((1u << lease->acceptors) - 1));
    if (inner >= LH_P_CERT_DEADLINE)
        inner = LH_P_CERT_DEADLINE + g->acceptor[inner - LH_P_CERT_DEADLINE];
    *variable = lh_lease_proposer(lease, g->proposer[p], inner);
}

static uint32_t rename_message(const struct lh_lease *lease, const struct permutation *g,
                               uint32_t number)
{
    struct lh_message message = lease->messages[number];
    message.proposer = g->proposer[message.proposer];
    message.acceptor = g->acceptor[message.acceptor];
    if (message.owner != 0)
        message.owner = (uint8_t)(g->proposer[message.owner - 1] + 1);
    return lh_lease_message(lease, message);
}

uint32_t lh_symmetry_order(const struct lh_model *model)
{
    struct permutation g;
    uint32_t order = 0;
    while (find_permutation(lh_lease_of(model), order, &g))
        order++;
    return order;
}

void lh_symmetry_fill(struct lh_model *model)
{
    struct lh_layout *layout = &model->layout;
    const struct lh_lease *lease = lh_lease_of(model);
    for (uint32_t lane = 1; lane < layout->lanes; lane++) {
        struct permutation g;
        if (!find_permutation(lease, lane, &g))
            return;
        for (uint32_t variable = 0; variable < layout->variable_count; variable++) {
            for (uint32_t value = 0; value < layout->values; value++) {
                uint32_t to = variable;
                uint32_t renamed = value;
                rename_variable(model, &g, &to, &renamed);
                lh_layout_variable_word(layout, variable, value)[lane] =
                    *lh_layout_variable_word(layout, to, renamed);
            }
        }
        for (uint32_t message = 0; message < layout->message_count; message++)
            lh_layout_message_word(layout, message)[lane] =
                *lh_layout_message_word(layout, rename_message(lease, &g, message));
    }
}

void lh_symmetry_apply(const struct lh_model *model, uint32_t lane, const uint8_t *raw,
                       uint8_t *ret_raw)
{
    const struct lh_layout *layout = &model->layout;
    const struct lh_lease *lease = lh_lease_of(model);
    struct permutation g;
    memcpy(ret_raw, raw, layout->stride);
    if (!find_permutation(lease, lane, &g))
        return;
    for (uint32_t variable = 0; variable < layout->variable_count; variable++) {
        uint32_t to = variable;
        uint32_t value = raw[variable];
        rename_variable(model, &g, &to, &value);
        ret_raw[to] = (uint8_t)value;
    }
    uint16_t *network = lh_layout_network(layout, ret_raw);
    for (uint32_t i = 0; i < network[0]; i++)
        network[1 + i] = (uint16_t)rename_message(lease, &g, network[1 + i]);
}
