// A step of the closed network under comparison: rows of the state as the code's records, and back
// into a copy of the state, which is then compared with the model's successor as a whole.
#ifndef LH_CHECK_CONFORM_CLOSED_VIEW_H
#define LH_CHECK_CONFORM_CLOSED_VIEW_H

#include "check/closed_rules.h"
#include "check/conform_internal.h"

enum { LH_CLOSED_TRIAL_NOW = 20 }; // time is relative there: any will do

struct lh_closed_trial {
    struct lh_conform *conform;
    const struct lh_model *model;
    const struct lh_check_config *config;
    const uint8_t *from;
    uint8_t raw[LH_LAYOUT_MAX_STRIDE]; // what the code makes of it
    struct lh_conform_place place;
    bool hidden; // the other way for what the state does not tell
};

static inline const uint8_t *lh_closed_trial_a(const struct lh_closed_trial *trial, uint32_t a)
{
    return trial->from + lh_closed_acceptor(trial->config, a, 0);
}

static inline const uint8_t *lh_closed_trial_p(const struct lh_closed_trial *trial, uint32_t p)
{
    return trial->from + lh_closed_proposer(trial->config, p, 0);
}

static inline const uint8_t *lh_closed_trial_b(const struct lh_closed_trial *trial, uint32_t ballot)
{
    return trial->from + lh_closed_ballot(ballot, 0);
}

// What remains, and until when.
static inline uint8_t lh_closed_trial_until(uint8_t remaining)
{
    return remaining == 0 ? 0 : (uint8_t)(LH_CLOSED_TRIAL_NOW + remaining);
}

static inline uint8_t lh_closed_trial_remaining(uint8_t until_unit)
{
    return until_unit > LH_CLOSED_TRIAL_NOW ? (uint8_t)(until_unit - LH_CLOSED_TRIAL_NOW) : 0;
}

static inline bool lh_closed_trial_first_way(const struct lh_closed_trial *trial)
{
    return !trial->place.last && !trial->hidden;
}

void lh_closed_trial_name_own(struct lh_closed_trial *trial, enum lh_action_kind kind, uint32_t p,
                              const uint8_t *to);

uint8_t lh_closed_trial_answers(const struct lh_closed_trial *trial, uint32_t p, uint32_t variable);

struct lh_conform_proposer lh_closed_trial_read_proposer(const struct lh_closed_trial *trial,
                                                         uint32_t p);

// Everything but the answers, which are in the acceptors' rows.
void lh_closed_trial_write_proposer(struct lh_closed_trial *trial, uint32_t p,
                                    const struct lh_conform_proposer *view);

// A record that is not live is still there, or was cleared; then the time of that is known.
struct lh_conform_acceptor lh_closed_trial_read_acceptor(const struct lh_closed_trial *trial,
                                                         uint32_t a);

void lh_closed_trial_write_acceptor(struct lh_closed_trial *trial, uint32_t a,
                                    const struct lh_conform_acceptor *view);

// The model's successor by this action, or NULL.
const uint8_t *lh_closed_trial_successor(const struct lh_closed_trial *trial,
                                         struct lh_action action, uint32_t *ret_index);

// Compares what the code made with `to`; where `to` is NULL, it must have changed nothing.
bool lh_closed_trial_same_state(struct lh_closed_trial *trial, const uint8_t *to);

void lh_closed_trial_begin(struct lh_closed_trial *trial);

#endif
