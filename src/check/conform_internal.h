// What the files of conformance share.
#ifndef LH_CHECK_CONFORM_INTERNAL_H
#define LH_CHECK_CONFORM_INTERNAL_H

#include "check/conform.h"
#include "check/conform_gate.h"

// Notes what went wrong, the first time. Returns false.
__attribute__((format(printf, 2, 3))) bool lh_conform_fail(struct lh_conform *conform,
                                                           const char *format, ...);

// Compares two rows. True if they are equal.
bool lh_conform_same_proposer(struct lh_conform *conform, const struct lh_conform_proposer *model,
                              const struct lh_conform_proposer *code);
bool lh_conform_same_acceptor(struct lh_conform *conform, const struct lh_conform_acceptor *model,
                              const struct lh_conform_acceptor *code);

// A4: the machine around the role functions gives this very answer, or, until `quarantine`, none.
// `after` is the record that the role function left, `answer` what it said.
bool lh_conform_gate_agrees(struct lh_conform *conform, const struct lh_conform_place *place,
                            const struct lh_conform_acceptor *before, uint8_t quarantine,
                            const struct lh_conform_delivery *delivery,
                            const struct lh_conform_acceptor *after,
                            struct lh_conform_answer answer);

// All steps of a state whose successors are in conform->batch (conform_lease.c, conform_closed.c).
bool lh_conform_lease_state(struct lh_conform *conform, const uint8_t *raw);
bool lh_conform_closed_state(struct lh_conform *conform, const uint8_t *raw);

#endif
