// What a module of the paper is to the search: an initial state, all successors of a state, the
// invariants, and words for what happened.
//
// A step is known by its action: what was done, by whom, on which message. (raw state, action, raw
// state) is all that a description, a drawing or a comparison with the shipped code needs.
//
// Counting follows TLC. Every enabled step counts as generated; a step that TLC enumerates twice
// counts twice. A successor outside the network constraint is counted and its invariants are
// checked here; it does not reach the search.
#ifndef LH_CHECK_MODEL_H
#define LH_CHECK_MODEL_H

#include "check/config.h"
#include "check/layout.h"

enum lh_action_kind {
    LH_ACT_INIT,
    LH_ACT_START_ACQUIRE,
    LH_ACT_DELIVER_PREPARE,
    LH_ACT_DELIVER_PROMISE,
    LH_ACT_SEND_ACCEPT,
    LH_ACT_DELIVER_ACCEPT,
    LH_ACT_DELIVER_ACCEPTED,
    LH_ACT_ABANDON,
    LH_ACT_RELEASE,
    LH_ACT_DELIVER_RELEASE,
    LH_ACT_DROP,
    LH_ACT_TICK,
    LH_ACT_CRASH_PROPOSER,
    LH_ACT_RESTART_PROPOSER,
    LH_ACT_CRASH_ACCEPTOR,
    LH_ACT_RESTART_ACCEPTOR,
    LH_ACT_STUTTER,
    LH_ACT_ACQUIRE_LEASE,
    LH_ACT_START_RECOVERY,
    LH_ACT_FINISH_RECOVERY,
    LH_ACT_BECOME_READY,
    LH_ACT_ADMIT,
    LH_ACT_ACTIVATE,
    LH_ACT_EXTEND,
    LH_ACT_DELIVER_EXTEND,
    LH_ACT_EXTENDED,
    LH_ACT_FORGET,
    LH_ACT_LOWER_CEILING,
    LH_ACT_STOP_ACCEPTOR,
    LH_ACT_RESTORE_ACCEPTOR,
    LH_ACT_RESTORE_PROPOSER,
    LH_ACT_REPLACE_ACCEPTOR,
    LH_ACT_ABANDON_RELEASE,
    LH_ACT_KINDS,
};

struct lh_action {
    uint8_t kind;     // of lh_action_kind
    uint8_t process;  // the proposer or acceptor that acts, from 0
    uint16_t message; // the message that is delivered or dropped
    uint8_t argument; // a ballot, a value
    bool keep;        // the delivered message stays in flight
};

enum lh_invariant {
    LH_INV_NONE, // all hold
    LH_INV_TYPE_OK,
    LH_INV_ACCEPTED_COHERENCE,
    LH_INV_ACTIVE_IMPLIES_UNEXPIRED,
    LH_INV_LEASE_EXCLUSIVITY,
    LH_INV_ACTIVATION_HAS_QUORUM,
    LH_INV_TIMER_CONTAINMENT,
    LH_INV_QUARANTINE_PREVENTS_PARTICIPATION,
    LH_INV_ACTIVE_BALLOT_WELL_FORMED,
    LH_INV_ATTEMPT_FRESHNESS,
    LH_INV_CHOSEN_VALUE_WELL_FORMED,
    LH_INV_READY_IMPLIES_ACTIVE,
    LH_INV_READY_LEADER_UNIQUENESS,
    LH_INV_RECOVERY_PRECEDES_ADMISSION,
    LH_INV_READY_IMPLIES_RECOVERED,
    LH_INV_APPLIED_IMPLIES_CHOSEN,
    LH_INV_LOG_PREFIX_CONSISTENCY,
    LH_INV_TOKEN_ORDER,
    LH_INV_CONFORMANCE, // not the model's: the shipped code does what the model does (conform.h)
    LH_INV_COUNT,
};

// The successors of one or more states. `raw` and `lanes` are arrays with the model's strides.
struct lh_batch {
    uint8_t *raw;
    struct lh_fp *lanes;
    struct lh_action *actions;
    uint32_t *parents; // which state of the block it follows from
    uint8_t *ordinals; // which successor of that state it is
    bool *outside;     // outside the constraint: present only under keep_outside
    uint32_t count;
    uint32_t capacity;
    uint32_t parent;            // set by the caller before each expand
    bool keep_outside;          // for replaying a trace
    uint64_t generated;         // added to by expand
    enum lh_invariant violated; // by a successor outside the constraint
    uint32_t violated_parent;
    uint8_t violated_ordinal;
};

struct lh_model;

// Appends the successors of a state; there must be room for max_successors.
typedef void lh_expand(const struct lh_model *model, const uint8_t *raw, const struct lh_fp *lanes,
                       struct lh_batch *batch);

struct lh_model {
    struct lh_check_config config;
    struct lh_layout layout;
    uint32_t max_successors; // of one state
    void *private;

    void (*init)(const struct lh_model *model, uint8_t *ret_raw);
    lh_expand *expand;
    // All lanes of a state, from nothing; NULL: as the layout does.
    void (*hash)(const struct lh_model *model, const uint8_t *raw, struct lh_fp *ret_lanes);
    enum lh_invariant (*violated)(const struct lh_model *model, const uint8_t *raw);
    void (*close)(struct lh_model *model);
};

// Makes the model of a validated configuration. Returns false without memory.
bool lh_model_open(struct lh_model *model, const struct lh_check_config *config);
void lh_model_close(struct lh_model *model);

static inline void lh_model_hash(const struct lh_model *model, const uint8_t *raw,
                                 struct lh_fp *ret_lanes)
{
    if (model->hash != NULL)
        model->hash(model, raw, ret_lanes);
    else
        lh_layout_hash(&model->layout, raw, ret_lanes);
}

// The fingerprint that names the state, or its orbit under symmetry reduction.
static inline struct lh_fp lh_model_fingerprint(const struct lh_model *model,
                                                const struct lh_fp *lanes)
{
    struct lh_fp least = lanes[0];
    for (uint32_t lane = 1; lane < model->layout.lanes; lane++) {
        if (lh_fp_less(lanes[lane], least))
            least = lanes[lane];
    }
    if (model->layout.lanes > 1) // the least of several are small: spread them out, one to one
        least.high = (least.high ^ least.high >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return least;
}

// How many states the orbit has. A permutation that leaves the state as it is leaves its
// fingerprint, so the lanes that equal the first count those; 1 without symmetry reduction.
static inline uint32_t lh_model_orbit(const struct lh_model *model, const struct lh_fp *lanes)
{
    const uint32_t order = model->layout.lanes;
    if (order == 1)
        return 1;
    uint32_t stabilizer = 1;
    for (uint32_t lane = 1; lane < order; lane++)
        stabilizer += lanes[lane].high == lanes[0].high && lanes[lane].low == lanes[0].low;
    return order / stabilizer;
}

bool lh_batch_open(struct lh_batch *batch, const struct lh_model *model, uint32_t capacity);
void lh_batch_close(struct lh_batch *batch);

const char *lh_action_name(enum lh_action_kind kind);
const char *lh_invariant_name(enum lh_invariant invariant);

#endif
