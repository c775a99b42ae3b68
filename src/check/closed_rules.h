// What the files of the closed module share.
#ifndef LH_CHECK_CLOSED_RULES_H
#define LH_CHECK_CLOSED_RULES_H

#include "check/closed_model.h"

struct lh_closed {
    bool quorum[1 << LH_CHECK_MAX_ACCEPTORS];
    uint32_t crashable;
    bool sortable;   // acceptors are alike
    uint8_t longest; // M
};

enum {
    LH_CLOSED_LANES = 6,  // renamings of three proposers
    LH_CLOSED_VALUES = 8, // every variable stays below
};

// The parts of a state's fingerprint, to follow a step from.
struct lh_closed_sums {
    struct lh_fp others[LH_CLOSED_LANES];
    struct lh_fp rows[LH_CHECK_MAX_ACCEPTORS][LH_CLOSED_LANES];
    struct lh_fp mixed[LH_CHECK_MAX_ACCEPTORS][LH_CLOSED_LANES];
    struct lh_fp total[LH_CLOSED_LANES]; // of the mixed
};

// A step that is being taken: the state before, and the state after in the making.
struct lh_closed_step {
    const struct lh_model *model;
    const struct lh_check_config *config;
    const struct lh_closed *closed;
    const struct lh_closed_sums *sums; // of `from`
    const uint8_t *from;
    uint8_t *raw;
    struct lh_batch *batch;
    uint8_t ordinal;
};

void lh_closed_begin(struct lh_closed_step *step);
// Appends the new state, unless nothing changed.
void lh_closed_commit(struct lh_closed_step *step, struct lh_action action);

// Sets to 0 what no rule will read again, so that states that behave alike are equal.
void lh_closed_settle(const struct lh_model *model, uint8_t *raw);

// Fingerprints (closed_hash.c): of a state from nothing, and of a step's new state.
void lh_closed_hash(const struct lh_model *model, const uint8_t *raw, struct lh_fp *ret_lanes);
void lh_closed_sum(const struct lh_model *model, const uint8_t *raw, struct lh_closed_sums *ret);
void lh_closed_hash_step(const struct lh_closed_step *step, struct lh_fp *ret_lanes);
uint32_t lh_closed_lanes(const struct lh_check_config *config);
void lh_closed_fill_lanes(struct lh_model *model);

// P3, as part of another step: the proposer's Accept is sent.
void lh_closed_send_accept(const struct lh_closed_step *step, uint32_t p);
// Whether these acceptors' rows, in the state in the making, have the proposer's bit at a quorum.
bool lh_closed_has_quorum(const struct lh_closed_step *step, uint32_t p, uint32_t variable);

// The acceptor side: deliveries, crashes, forgetting (closed_acceptor.c).
void lh_closed_acceptor_steps(struct lh_closed_step *step, uint32_t a);
// The proposer side: attempts, authority (closed_proposer.c).
void lh_closed_proposer_steps(struct lh_closed_step *step, uint32_t p);

static inline bool lh_closed_weak(const struct lh_closed_step *step, enum lh_check_rule rule)
{
    return (step->config->weaken & (uint32_t)rule) != 0;
}

static inline uint8_t *lh_closed_p(const struct lh_closed_step *step, uint32_t p)
{
    return step->raw + lh_closed_proposer(step->config, p, 0);
}

static inline uint8_t *lh_closed_a(const struct lh_closed_step *step, uint32_t a)
{
    return step->raw + lh_closed_acceptor(step->config, a, 0);
}

static inline uint8_t *lh_closed_b(const struct lh_closed_step *step, uint32_t b)
{
    return step->raw + lh_closed_ballot(b, 0);
}

static inline const uint8_t *lh_closed_from_p(const struct lh_closed_step *step, uint32_t p)
{
    return step->from + lh_closed_proposer(step->config, p, 0);
}

static inline const uint8_t *lh_closed_from_a(const struct lh_closed_step *step, uint32_t a)
{
    return step->from + lh_closed_acceptor(step->config, a, 0);
}

static inline const uint8_t *lh_closed_from_b(const struct lh_closed_step *step, uint32_t b)
{
    return step->from + lh_closed_ballot(b, 0);
}

static inline uint8_t lh_closed_greater(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

#endif
