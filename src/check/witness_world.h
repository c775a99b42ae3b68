// The steps of schedules. Each is said, carried out by the role functions, and looked at by a
// referee who sees everything: at most one owner at a time, authority only from a quorum, no record
// replaced by an older one, no ballot begun twice.
#ifndef LH_CHECK_WITNESS_WORLD_H
#define LH_CHECK_WITNESS_WORLD_H

#include "check/witness.h"

// A rule may be weakened in one step of a schedule: by what it is given there.
enum lh_witness_weakness {
    LH_WITNESS_AS_SHIPPED,
    LH_WITNESS_COUNT_MESSAGES,  // P2: every answer counts as another acceptor's
    LH_WITNESS_OWN_IS_OPEN,     // P2: a lease of one's own is open
    LH_WITNESS_TIMER_AT_QUORUM, // T1: td is set when the promises have come
    LH_WITNESS_ONE_WILL_DO,     // P4: one answer renews
    LH_WITNESS_ACCEPT_BELOW,    // A2: below the promise as well
    LH_WITNESS_OWNER_ALONE,     // A3: a release matches the owner alone
};

lh_ballot lh_witness_ballot(const struct lh_witness_world *world, unsigned ballot);
struct lh_instant lh_witness_now(const struct lh_witness_world *world);

__attribute__((format(printf, 2, 3))) void lh_witness_say(struct lh_witness_world *world,
                                                          const char *format, ...);
// Notes a failure, the first one only, and says it.
__attribute__((format(printf, 2, 3))) void lh_witness_fail(struct lh_witness_world *world,
                                                           const char *format, ...);

void lh_witness_wait_until(struct lh_witness_world *world, int64_t ms);

// P1 and what follows from it; `weakness` counts only in the weakened run.
void lh_witness_start(struct lh_witness_world *world, unsigned p, unsigned ballot,
                      enum lh_witness_weakness weakness);
void lh_witness_prepare(struct lh_witness_world *world, unsigned ballot, unsigned a);
void lh_witness_promise(struct lh_witness_world *world, unsigned ballot, unsigned a,
                        enum lh_witness_weakness weakness);
void lh_witness_propose(struct lh_witness_world *world, unsigned ballot,
                        enum lh_witness_weakness weakness);
void lh_witness_accept(struct lh_witness_world *world, unsigned ballot, unsigned a,
                       enum lh_witness_weakness weakness);
void lh_witness_accepted(struct lh_witness_world *world, unsigned ballot, unsigned a,
                         enum lh_witness_weakness weakness);
void lh_witness_abandon(struct lh_witness_world *world, unsigned p);
void lh_witness_release(struct lh_witness_world *world, unsigned p);
void lh_witness_release_to(struct lh_witness_world *world, unsigned ballot, unsigned a,
                           enum lh_witness_weakness weakness);
void lh_witness_crash_proposer(struct lh_witness_world *world, unsigned p);
// A4: down, and up again, silent for the quarantine given.
void lh_witness_crash_acceptor(struct lh_witness_world *world, unsigned a,
                               struct lh_duration quarantine);

// Proposer p's first round with acceptors a and b, and its decision to propose; nothing weakened.
void lh_witness_first_round(struct lh_witness_world *world, unsigned p, unsigned ballot, unsigned a,
                            unsigned b);
// Both rounds.
void lh_witness_win(struct lh_witness_world *world, unsigned p, unsigned ballot, unsigned a,
                    unsigned b);

#endif
