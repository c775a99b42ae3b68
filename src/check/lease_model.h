// The paper's lease module and its implementation projection as one transition system: where a
// variable lies in a raw state, what a message number stands for. They differ in where the deadline
// is set, in the retry timer, and in what counts as an open promise.
#ifndef LH_CHECK_LEASE_MODEL_H
#define LH_CHECK_LEASE_MODEL_H

#include "check/model.h"

enum lh_message_kind {
    LH_MSG_PREPARE,
    LH_MSG_PROMISE,
    LH_MSG_ACCEPT,
    LH_MSG_ACCEPTED,
    LH_MSG_RELEASE,
};

// Proposers and acceptors count from 0, owners and ballots from 1; 0 is nobody and no ballot.
struct lh_message {
    uint8_t kind;
    uint8_t proposer;
    uint8_t acceptor;
    uint8_t ballot;
    uint8_t owner;           // Promise: of the live record, or 0
    uint8_t accepted_ballot; // Promise: its ballot
    uint8_t deadline;        // Promise: its deadline; Accepted: of the new record
    uint8_t inbox;           // bit of the process it goes to: acceptors first, then proposers
};

enum lh_phase { LH_PHASE_IDLE, LH_PHASE_PREPARING, LH_PHASE_ACCEPTING };

// Variables of a raw state: `now`, the used ballots, then one row per acceptor, one per proposer.
enum { LH_VAR_NOW, LH_VAR_USED, LH_VAR_ROWS };

enum lh_acceptor_variable {
    LH_A_PROMISED,
    LH_A_OWNER,
    LH_A_BALLOT,
    LH_A_DEADLINE,
    LH_A_CRASHED,
    LH_A_QUARANTINE, // until
    LH_A_VARIABLES,
};

enum lh_proposer_variable {
    LH_P_PHASE,
    LH_P_BALLOT,
    LH_P_DEADLINE,
    LH_P_PENDING,
    LH_P_ATTEMPT,
    LH_P_OPEN,     // okResp: a set, or a count under scalar-quorum
    LH_P_ACCEPTED, // acceptResp: likewise
    LH_P_ACTIVE,
    LH_P_ACTIVE_BALLOT,
    LH_P_CERT,
    LH_P_CRASHED,
    LH_P_CERT_DEADLINE, // one per acceptor from here on
};

struct lh_lease {
    uint8_t proposers;
    uint8_t acceptors;
    uint8_t ballots;
    uint8_t proposer_row; // variables of a proposer
    uint32_t crashable;
    bool quorum[1 << LH_CHECK_MAX_ACCEPTORS];       // by set
    bool scalar_quorum[LH_CHECK_MAX_ACCEPTORS + 1]; // by count
    uint32_t deadlines;                             // how many values a record's deadline has
    uint32_t records;                               // how many a Promise can report
    uint32_t first[LH_MSG_RELEASE + 1];             // number of the first message of each kind
    struct lh_message *messages;                    // by number
};

// The successors of a state, for this kind of search (lease_actions.c).
lh_expand *lh_lease_expand(const struct lh_check_config *config);

bool lh_lease_model_open(struct lh_model *model, const struct lh_check_config *config);

static inline const struct lh_lease *lh_lease_of(const struct lh_model *model)
{
    return model->private;
}

static inline uint32_t lh_lease_acceptor(uint32_t acceptor, uint32_t variable)
{
    return LH_VAR_ROWS + acceptor * LH_A_VARIABLES + variable;
}

static inline uint32_t lh_lease_proposer(const struct lh_lease *lease, uint32_t proposer,
                                         uint32_t variable)
{
    return LH_VAR_ROWS + (uint32_t)lease->acceptors * LH_A_VARIABLES +
           proposer * lease->proposer_row + variable;
}

// The number of a message; every field that its kind has must be in range.
static inline uint32_t lh_lease_message(const struct lh_lease *lease, struct lh_message message)
{
    const uint32_t route =
        ((uint32_t)message.proposer * lease->acceptors + message.acceptor) * lease->ballots +
        message.ballot - 1u;
    const uint32_t first = lease->first[message.kind];
    if (message.kind == LH_MSG_PROMISE) {
        uint32_t record = 0;
        if (message.owner != 0)
            record = 1 +
                     ((message.owner - 1u) * lease->ballots + message.accepted_ballot - 1u) *
                         lease->deadlines +
                     message.deadline;
        return first + route * lease->records + record;
    }
    if (message.kind == LH_MSG_ACCEPTED)
        return first + route * lease->deadlines + message.deadline;
    return first + route;
}

#endif
