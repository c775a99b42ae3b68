// Conformance: what a model allows is what the code does. From every state that a search explores,
// every step of the model is also made by the shipped functions (conform_roles.h), and every field
// and message must come out alike; what the model does not allow must change nothing.
//
// The bounded module is the paper's, and ours refuses more (docs/protocol.md): where it may differ
// is written down as one of the differences below, and it must differ there and only there. The
// closed network has our own rules: nothing differs.
#ifndef LH_CHECK_CONFORM_H
#define LH_CHECK_CONFORM_H

#include <stdio.h>

#include "check/conform_memo.h"
#include "check/model.h"

enum lh_conform_difference {
    LH_CONFORM_KEEPS_LIVE,       // A2: a live record stays though the paper's is replaced
    LH_CONFORM_KEEPS_RECORDED,   // A2: an Accept that is recorded already restarts nothing
    LH_CONFORM_REFUSES_SPENT,    // A2: a ballot that was recorded once is not installed again
    LH_CONFORM_RELEASE_ABANDONS, // P6: a release ends the attempt in flight as well
    LH_CONFORM_DIFFERENCES,
};

struct lh_conform_counts {
    uint64_t steps;    // of the model, made by the code as well
    uint64_t refusals; // deliveries and steps that the model does not allow, tried on the code
    uint64_t differences[LH_CONFORM_DIFFERENCES]; // steps
};

enum { LH_CONFORM_NO_STEP = UINT8_MAX, LH_CONFORM_TEXT = 256 };

// What is being compared.
struct lh_conform_step {
    uint8_t kind; // of lh_action_kind; LH_ACT_INIT: the state itself
    uint8_t ballot;
    uint8_t n;        // of an Extend
    uint8_t proposer; // from 1, as is the acceptor
    uint8_t acceptor;
    bool refused; // the model does not allow it
};

// The first thing that does not conform.
struct lh_conform_fault {
    uint8_t ordinal; // of the successor, or LH_CONFORM_NO_STEP: the state itself
    char text[LH_CONFORM_TEXT];
};

// One per thread.
struct lh_conform {
    const struct lh_model *model;
    struct lh_batch batch; // the successors once more, those outside the constraint included
    struct lh_fp *lanes;
    struct lh_conform_gate *gate;
    struct lh_conform_memo memo;
    struct lh_conform_counts counts;
    struct lh_conform_step step;
    struct lh_conform_fault fault;
};

// Whether the model's steps can be compared with ours; if not, says why.
bool lh_conform_possible(const struct lh_check_config *config, char ret_error[LH_CHECK_ERROR_SIZE]);

// Returns false without memory; may be closed in either case. The model outlives it.
bool lh_conform_open(struct lh_conform *conform, const struct lh_model *model);
void lh_conform_close(struct lh_conform *conform);

// Compares every step from a state. Returns false at the first that does not conform, with `fault`.
bool lh_conform_state(struct lh_conform *conform, const uint8_t *raw);

void lh_conform_add(struct lh_conform_counts *counts, const struct lh_conform_counts *more);
const char *lh_conform_difference_name(enum lh_conform_difference difference);

// What was compared, for people; and as members of a JSON object, a comma before each.
void lh_conform_print(const struct lh_conform_counts *counts, FILE *out);
void lh_conform_print_json(const struct lh_conform_counts *counts, const char *fault, FILE *out);

#endif
