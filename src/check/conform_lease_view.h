// A step of the bounded module under comparison: rows of the state as the code's records, the rows
// that the model says they become, and the messages. Whatever the paper's state does not tell (the
// base of an attempt, a spent ballot, whether an expired record was cleared) is tried in both ways
// that it can be.
#ifndef LH_CHECK_CONFORM_LEASE_VIEW_H
#define LH_CHECK_CONFORM_LEASE_VIEW_H

#include "check/conform_internal.h"
#include "check/lease_model.h"

// A step under comparison.
struct lh_lease_trial {
    struct lh_conform *conform;
    const struct lh_check_config *config;
    const struct lh_lease *lease;
    const uint8_t *from;
    const uint8_t *to; // NULL: the model does not allow it
    struct lh_conform_place place;
    bool hidden;       // the other way for what the state does not tell
    uint32_t differed; // bits of lh_conform_difference
    uint16_t emitted[LH_CHECK_MAX_ACCEPTORS];
    uint32_t emitted_count;
    // For the memo: what all steps share, each row, and the messages that go to or come from each
    // proposer.
    struct lh_fp around;
    struct lh_fp proposers[LH_CHECK_MAX_PROPOSERS];
    struct lh_fp acceptors[LH_CHECK_MAX_ACCEPTORS];
    struct lh_fp sent[LH_CHECK_MAX_PROPOSERS];
};

static inline const uint8_t *lh_lease_trial_acceptor(const uint8_t *raw, uint32_t a)
{
    return raw + lh_lease_acceptor(a, 0);
}

static inline const uint8_t *lh_lease_trial_proposer(const struct lh_lease_trial *trial,
                                                     const uint8_t *raw, uint32_t p)
{
    return raw + lh_lease_proposer(trial->lease, p, 0);
}

static inline bool lh_lease_trial_live(const struct lh_lease_trial *trial, const uint8_t *row)
{
    return row[LH_A_OWNER] != 0 && trial->from[LH_VAR_NOW] < row[LH_A_DEADLINE];
}

// Who used which ballot, as far as anything still shows it; of the others nothing depends on it.
void lh_lease_trial_find_owners(const struct lh_lease_trial *trial, uint8_t *owners);

// A lease that is not held any more was either released, and nothing of it is left, or it ended,
// and is remembered. An attempt that began while it was held has it as its base.
struct lh_conform_proposer lh_lease_trial_read_proposer(const struct lh_lease_trial *trial,
                                                        uint32_t p);

// What the model says that the row becomes.
struct lh_conform_proposer lh_lease_trial_want_proposer(const struct lh_lease_trial *trial,
                                                        uint32_t p,
                                                        const struct lh_conform_proposer *before);

// A record that is not live is either still there, or was cleared by a later promise; under it, or
// behind a release, lies a ballot that is spent: `spent` here.
struct lh_conform_acceptor lh_lease_trial_read_acceptor(const struct lh_lease_trial *trial,
                                                        uint32_t a, uint8_t spent);

// What the model says that the row becomes; `touched`: it promised, or let go, without a live one.
struct lh_conform_acceptor lh_lease_trial_want_acceptor(const struct lh_lease_trial *trial,
                                                        uint32_t a,
                                                        const struct lh_conform_acceptor *before,
                                                        bool touched);

void lh_lease_trial_emit(struct lh_lease_trial *trial, struct lh_message message);

void lh_lease_trial_emit_to_all(struct lh_lease_trial *trial, enum lh_message_kind kind, uint32_t p,
                                uint8_t ballot);

// The model's network is the one before, without what was consumed, and with what the code sent.
bool lh_lease_trial_same_network(struct lh_lease_trial *trial, uint32_t consumed);

// A step that the model makes, made by the code as well, in one way (conform_lease_steps.c).
bool lh_lease_trial_step(struct lh_lease_trial *trial, struct lh_action action);

// A delivery that the model does not allow, to a process that is up; a step that it does not allow.
bool lh_lease_trial_refuse_delivery(struct lh_lease_trial *trial, struct lh_action action);
bool lh_lease_trial_refuse_step(struct lh_lease_trial *trial, struct lh_action action);

// Authority and live records are read from the clock, and must be what the model says they are.
bool lh_lease_trial_reads_authority(struct lh_lease_trial *trial, struct lh_action action);
bool lh_lease_trial_reads_record(struct lh_lease_trial *trial, struct lh_action action);

#endif
