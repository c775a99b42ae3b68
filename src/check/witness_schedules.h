// The schedules, one function each, named as the witness is.
#ifndef LH_CHECK_WITNESS_SCHEDULES_H
#define LH_CHECK_WITNESS_SCHEDULES_H

#include "check/witness.h"

// Executions of the protocol (witness_protocol.c).
void lh_witness_insufficient_quarantine(struct lh_witness_world *world);
void lh_witness_owner_only_release(struct lh_witness_world *world);
void lh_witness_duplicate_quorum_counting(struct lh_witness_world *world);
void lh_witness_ballot_reuse_after_restart(struct lh_witness_world *world);
void lh_witness_renewal_without_quorum(struct lh_witness_world *world);
void lh_witness_stale_accept_overwrites_newer(struct lh_witness_world *world);
void lh_witness_late_promise_reuse(struct lh_witness_world *world);
void lh_witness_stale_owner_open(struct lh_witness_world *world);
void lh_witness_suspended_event_loop(struct lh_witness_world *world);

// What surrounds it (witness_around.c).
void lh_witness_unfenced_external_effect(struct lh_witness_world *world);
void lh_witness_nonintersecting_reconfiguration(struct lh_witness_world *world);
void lh_witness_unsafe_clock_source(struct lh_witness_world *world);
void lh_witness_unsigned_expiry_underflow(struct lh_witness_world *world);

#endif
