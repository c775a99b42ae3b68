// The paper's composition module: the life of a leader between winning the lease (M1) and admitting
// commands (M5), over an abstract lease and log.
#ifndef LH_CHECK_COMPOSITION_MODEL_H
#define LH_CHECK_COMPOSITION_MODEL_H

#include "check/model.h"

enum lh_leader_state {
    LH_LEADER_NOT_ELECTED,
    LH_LEADER_ELECTED,
    LH_LEADER_RECOVERING,
    LH_LEADER_REPAIRING,
    LH_LEADER_READY,
};

// Variables: `now`, the chosen value of each slot (0: none), then one row per proposer.
enum lh_leader_variable {
    LH_L_ACTIVE,
    LH_L_DEADLINE,
    LH_L_STATE,
    LH_L_RECOVERED,
    LH_L_EVER_RECOVERED,
    LH_L_APPLIED, // up to this slot
    LH_L_VARIABLES,
};

bool lh_composition_model_open(struct lh_model *model, const struct lh_check_config *config);

static inline uint32_t lh_composition_slot(uint32_t slot) // from 1
{
    return slot;
}

static inline uint32_t lh_composition_leader(const struct lh_check_config *config, uint32_t p,
                                             uint32_t variable)
{
    return 1u + config->max_slot + p * LH_L_VARIABLES + variable;
}

#endif
