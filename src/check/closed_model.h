// The lease rules on the closed network: every message once sent may arrive any number of times, in
// any order, or never, and time is only what remains of each deadline. There is no bound on
// messages and none on time; runs end because ballots do.
//
// A network that forgets nothing need not be listed: Prepare(b) is under way because b is used,
// Accept(b), Release(b) and Extend(b, n) because a bit of b says that they were sent. Of the
// answers, only those to the present attempt matter, and an answer that counts is best read at
// once: reading later enables nothing that reading now does not. So each acceptor carries one bit
// per proposer, "its answer counts", and SendAccept and Activate remain steps of their own that may
// be taken late or never.
//
// `Prompt=true` leaves delays out that others stand for: an Accept is sent as soon as it may be
// (it may still arrive at any time, or never), and a restart follows its crash (which may come
// again). It finds the same verdicts in shorter traces and fewer states, for the largest searches.
//
// An acceptor's row holds everything that is particular to it, the bits included, so the order of
// the rows says nothing; the few permutations of proposers are tried (closed_hash.c).
#ifndef LH_CHECK_CLOSED_MODEL_H
#define LH_CHECK_CLOSED_MODEL_H

#include "check/model.h"

enum { LH_C_MAX_TOKEN, LH_C_TOKEN_BROKEN, LH_C_ROWS };

enum lh_closed_ballot {
    LH_CB_OWNER, // from 1; 0: unused; above all proposers: used, and nobody's any more
    LH_CB_DURATION,
    LH_CB_ACCEPT_SENT,
    LH_CB_BASE, // the lease that its Accept names as renewed
    LH_CB_RELEASED,
    LH_CB_EXTEND, // duration of Extend n = 1, 2, 3, or 0: not sent
    LH_CB_VARIABLES = LH_CB_EXTEND + 3,
};

enum lh_closed_phase { LH_C_IDLE, LH_C_PREPARING, LH_C_ACCEPTING, LH_C_EXTENDING };

enum lh_closed_proposer {
    LH_CP_PHASE,
    LH_CP_BALLOT,  // of the last attempt
    LH_CP_PENDING, // what remains of td
    LH_CP_BASE,    // the lease held when the attempt began
    LH_CP_HELD,    // the ballot under which the lease is held
    LH_CP_TOKEN,
    LH_CP_AUTHORITY, // what remains of it
    LH_CP_ORPHAN,    // what remains to a client whose daemon is gone
    LH_CP_STAMP,     // n of the last Extend of the held ballot
    LH_CP_VARIABLES,
};

enum lh_closed_power { LH_C_UP, LH_C_DOWN, LH_C_STOPPED };

enum lh_closed_acceptor {
    LH_CA_PROMISED,
    LH_CA_RECORD,    // ballot of the last record that matters
    LH_CA_EXCLUSION, // what remains of it
    LH_CA_STAMP,     // n of the newest Extend that restarted it
    LH_CA_POWER,
    LH_CA_SILENCE,  // what remains of the quarantine
    LH_CA_OPEN,     // proposers whose present attempt has an open promise from here
    LH_CA_ANSWERED, // ... an Accepted, or an Extended, that counts
    LH_CA_STALE,    // under older-extend: ... an Extended to any n
    LH_CA_IDLE,     // time since the last answer, up to the greatest quarantine
    LH_CA_COOL,     // time since the last answer at the ceiling, likewise
    LH_CA_CEILING,
    LH_CA_SAVED, // F4: a state is saved
    LH_CA_SAVED_PROMISED,
    LH_CA_SAVED_RECORD,
    LH_CA_SAVED_EXCLUSION,
    LH_CA_VARIABLES,
};

bool lh_closed_model_open(struct lh_model *model, const struct lh_check_config *config);

// Appends the successors of a state (closed_actions.c).
void lh_closed_expand(const struct lh_model *model, const uint8_t *raw, const struct lh_fp *lanes,
                      struct lh_batch *batch);

static inline uint32_t lh_closed_ballot(uint32_t ballot, uint32_t variable) // from 1
{
    return LH_C_ROWS + (ballot - 1) * LH_CB_VARIABLES + variable;
}

static inline uint32_t lh_closed_proposer(const struct lh_check_config *config, uint32_t p,
                                          uint32_t variable)
{
    return LH_C_ROWS + (uint32_t)config->ballots * LH_CB_VARIABLES + p * LH_CP_VARIABLES + variable;
}

static inline uint32_t lh_closed_acceptor(const struct lh_check_config *config, uint32_t a,
                                          uint32_t variable)
{
    return lh_closed_proposer(config, config->proposers, 0) + a * LH_CA_VARIABLES + variable;
}

#endif
