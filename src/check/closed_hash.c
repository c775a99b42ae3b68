// The fingerprint of a closed state: the same for all states that differ by the names of processes
// only, without looking for the one that stands for them.
//
// A lane is a renaming of the proposers. Within a lane, what belongs to no acceptor is hashed as
// everywhere, by a xor of random words; the rows of the acceptors, each mixed to one number, are
// added up, so their order does not matter. Where acceptors are not alike their rows are hashed
// with words of their own. A successor's fingerprint follows from its parent's by the rows that
// changed.
#include "check/closed_rules.h"

static uint64_t stir(uint64_t word)
{
    word = (word ^ (word >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ (word >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ (word >> 33);
}

// One to one, so that rows that differ stay different; and no sum of some is likely that of others.
static struct lh_fp mix(struct lh_fp row)
{
    const uint64_t high = stir(row.high);
    return (struct lh_fp){.high = high, .low = stir(row.low ^ high)};
}

static void toggle(struct lh_fp *hash, const struct lh_fp *word)
{
    hash->high ^= word->high;
    hash->low ^= word->low;
}

// The words of the first variable of an acceptor's row.
static const struct lh_fp *row_words(const struct lh_model *model, uint32_t a)
{
    const struct lh_closed *closed = model->private;
    const uint32_t of = closed->sortable && model->config.symmetry ? 0 : a;
    return lh_layout_variable_word(&model->layout, lh_closed_acceptor(&model->config, of, 0), 0);
}

// Hashes `count` variables. The number of lanes is a constant wherever this is called, so that the
// inner loop has none.
static inline void hash_variables(const struct lh_fp *words, const uint8_t *values, uint32_t count,
                                  uint32_t lanes, struct lh_fp *lane)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct lh_fp *word = words + ((size_t)i * LH_CLOSED_VALUES + values[i]) * lanes;
        for (uint32_t l = 0; l < lanes; l++)
            toggle(&lane[l], &word[l]);
    }
}

// Exchanges the words of those that changed.
static inline void follow_variables(const struct lh_fp *words, const uint8_t *from,
                                    const uint8_t *to, uint32_t count, uint32_t lanes,
                                    struct lh_fp *lane)
{
    for (uint32_t i = 0; i < count; i++) {
        if (from[i] == to[i])
            continue;
        const struct lh_fp *old = words + ((size_t)i * LH_CLOSED_VALUES + from[i]) * lanes;
        const struct lh_fp *new = words + ((size_t)i * LH_CLOSED_VALUES + to[i]) * lanes;
        for (uint32_t l = 0; l < lanes; l++) {
            toggle(&lane[l], &old[l]);
            toggle(&lane[l], &new[l]);
        }
    }
}

static inline void sum(const struct lh_model *model, const uint8_t *raw, uint32_t lanes,
                       struct lh_closed_sums *ret)
{
    const uint32_t rows = lh_closed_acceptor(&model->config, 0, 0);
    memset(ret->others, 0, sizeof ret->others);
    memset(ret->total, 0, sizeof ret->total);
    hash_variables(model->layout.variable_words, raw, rows, lanes, ret->others);
    for (uint32_t a = 0; a < model->config.acceptors; a++) {
        memset(ret->rows[a], 0, sizeof ret->rows[a]);
        hash_variables(row_words(model, a), raw + lh_closed_acceptor(&model->config, a, 0),
                       LH_CA_VARIABLES, lanes, ret->rows[a]);
        for (uint32_t l = 0; l < lanes; l++) {
            ret->mixed[a][l] = mix(ret->rows[a][l]);
            ret->total[l].high += ret->mixed[a][l].high;
            ret->total[l].low += ret->mixed[a][l].low;
        }
    }
}

void lh_closed_sum(const struct lh_model *model, const uint8_t *raw, struct lh_closed_sums *ret)
{
    switch (model->layout.lanes) {
    case 1: sum(model, raw, 1, ret); break;
    case 2: sum(model, raw, 2, ret); break;
    default: sum(model, raw, LH_CLOSED_LANES, ret);
    }
}

void lh_closed_hash(const struct lh_model *model, const uint8_t *raw, struct lh_fp *ret_lanes)
{
    struct lh_closed_sums sums;
    lh_closed_sum(model, raw, &sums);
    for (uint32_t lane = 0; lane < model->layout.lanes; lane++) {
        ret_lanes[lane] = sums.others[lane];
        toggle(&ret_lanes[lane], &sums.total[lane]);
    }
}

static inline void hash_step(const struct lh_closed_step *step, uint32_t lanes,
                             struct lh_fp *ret_lanes)
{
    const struct lh_closed_sums *sums = step->sums;
    struct lh_fp total[LH_CLOSED_LANES];
    memcpy(total, sums->total, lanes * sizeof *total);
    memcpy(ret_lanes, sums->others, lanes * sizeof *ret_lanes);
    follow_variables(step->model->layout.variable_words, step->from, step->raw,
                     lh_closed_acceptor(step->config, 0, 0), lanes, ret_lanes);
    for (uint32_t a = 0; a < step->config->acceptors; a++) {
        const uint8_t *from = lh_closed_from_a(step, a);
        const uint8_t *to = lh_closed_a(step, a);
        struct lh_fp row[LH_CLOSED_LANES];
        if (memcmp(from, to, LH_CA_VARIABLES) == 0)
            continue;
        memcpy(row, sums->rows[a], lanes * sizeof *row);
        follow_variables(row_words(step->model, a), from, to, LH_CA_VARIABLES, lanes, row);
        for (uint32_t l = 0; l < lanes; l++) {
            const struct lh_fp mixed = mix(row[l]);
            total[l].high += mixed.high - sums->mixed[a][l].high;
            total[l].low += mixed.low - sums->mixed[a][l].low;
        }
    }
    for (uint32_t l = 0; l < lanes; l++)
        toggle(&ret_lanes[l], &total[l]);
}

void lh_closed_hash_step(const struct lh_closed_step *step, struct lh_fp *ret_lanes)
{
    switch (step->model->layout.lanes) {
    case 1: hash_step(step, 1, ret_lanes); break;
    case 2: hash_step(step, 2, ret_lanes); break;
    default: hash_step(step, LH_CLOSED_LANES, ret_lanes);
    }
}

static uint32_t rename_set(uint32_t set, const uint8_t *names)
{
    uint32_t renamed = 0;
    for (uint32_t p = 0; p < LH_CHECK_MAX_PROPOSERS; p++) {
        if (set & 1u << p)
            renamed |= 1u << names[p];
    }
    return renamed | (set >> LH_CHECK_MAX_PROPOSERS) << LH_CHECK_MAX_PROPOSERS;
}

// What a variable and its value become when proposer p is called names[p].
static void rename_variable(const struct lh_check_config *config, const uint8_t *names,
                            uint32_t *variable, uint32_t *value)
{
    const uint32_t proposers = lh_closed_proposer(config, 0, 0);
    const uint32_t acceptors = lh_closed_acceptor(config, 0, 0);
    if (*variable < LH_C_ROWS)
        return;
    if (*variable < proposers) {
        if ((*variable - LH_C_ROWS) % LH_CB_VARIABLES == LH_CB_OWNER && *value != 0 &&
            *value <= config->proposers)
            *value = names[*value - 1] + 1u;
        return;
    }
    if (*variable < acceptors) {
        const uint32_t p = (*variable - proposers) / LH_CP_VARIABLES;
        *variable = lh_closed_proposer(config, names[p], (*variable - proposers) % LH_CP_VARIABLES);
        return;
    }
    const uint32_t inner = (*variable - acceptors) % LH_CA_VARIABLES;
    if (inner == LH_CA_OPEN || inner == LH_CA_ANSWERED || inner == LH_CA_STALE)
        *value = rename_set(*value, names);
}

uint32_t lh_closed_lanes(const struct lh_check_config *config)
{
    static const uint8_t counts[LH_CHECK_MAX_PROPOSERS + 1] = {1, 1, 2, LH_CLOSED_LANES};
    return config->symmetry ? counts[config->proposers] : 1;
}

void lh_closed_fill_lanes(struct lh_model *model)
{
    static const uint8_t permutations[LH_CLOSED_LANES][LH_CHECK_MAX_PROPOSERS] = {
        {0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}};
    const struct lh_layout *layout = &model->layout;
    for (uint32_t lane = 1; lane < layout->lanes; lane++) {
        for (uint32_t variable = 0; variable < layout->variable_count; variable++) {
            for (uint32_t value = 0; value < layout->values; value++) {
                uint32_t to = variable;
                uint32_t renamed = value;
                rename_variable(&model->config, permutations[lane], &to, &renamed);
                lh_layout_variable_word(layout, variable, value)[lane] =
                    *lh_layout_variable_word(layout, to, renamed);
            }
        }
    }
}
