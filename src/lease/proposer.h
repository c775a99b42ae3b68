// The proposer's role for one name: rules P1 to P6, D and F3 over one small record.
//
// One attempt at a time. Its deadline td is data, stored before Prepare leaves and tested inside
// every transition that uses the attempt's evidence (T1); no timer callback decides anything.
// Quorums are sets of distinct acceptors. What must stay true: authority (`held` before `until`)
// came from a quorum of accepts that answered before td, `until` of a live lease never moves back,
// and a token lives only as long as renewals complete in time.
#ifndef LH_LEASE_PROPOSER_H
#define LH_LEASE_PROPOSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/time.h"
#include "lease/ballot.h"

enum lh_phase {
    LH_IDLE,
    LH_PREPARING,
    LH_ACCEPTING,
    LH_EXTENDING, // F3
};

struct lh_proposer {
    // the attempt
    lh_ballot ballot;     // of this attempt, or of the last one
    lh_ballot base;       // the lease this attempt renews, or none
    struct lh_instant td; // no evidence of this attempt counts from here on
    uint64_t stamp;       // F3: n of the Extend in flight, or of the last one
    enum lh_phase phase;
    struct lh_members_set open;     // acceptors whose promise was open
    struct lh_members_set accepted; // acceptors that accepted, or extended
    // the lease
    lh_ballot held;          // under which ballot the acceptors know it
    lh_ballot token;         // under which ballot this holder first won it
    struct lh_instant until; // authority ends here
};

enum lh_outcome {
    LH_NOTHING,  // not this attempt's, not a quorum yet, or too late
    LH_ACQUIRED, // P4: a new lease, a new token
    LH_RENEWED,  // P4: the same lease and token, held for longer
};

// Authority: read the clock at the moment of use and ask.
static inline bool lh_proposer_holds(const struct lh_proposer *proposer, struct lh_instant now)
{
    return lh_before(now, proposer->until);
}

// P1, T1: begin an attempt under `ballot`, which nobody has used and which is above this proposer's
// last. Takes the clock reading made before Prepare is handed to the kernel. The lease held at
// `now`, if any, becomes the renewal base. Takes an idle proposer.
void lh_proposer_start(struct lh_proposer *proposer, struct lh_instant now, lh_ballot ballot,
                       struct lh_duration ttl);

// P2: a promise for `ballot` from `acceptor` that reports the live lease `reported`, or none.
// Returns true if it is open. A promise of another attempt changes nothing.
bool lh_proposer_promise(struct lh_proposer *proposer, struct lh_instant now, unsigned acceptor,
                         lh_ballot ballot, lh_ballot reported);

// P3: if a quorum is open and td has not come, go on to Accept. Returns true if Accept(ballot,
// base) must be broadcast now.
bool lh_proposer_propose(struct lh_proposer *proposer, struct lh_instant now, unsigned quorum);

// P4: an accepted answer for `ballot` from `acceptor`.
enum lh_outcome lh_proposer_accepted(struct lh_proposer *proposer, struct lh_instant now,
                                     unsigned acceptor, lh_ballot ballot, unsigned quorum);

// P5: give the attempt up; a lease already held stays held.
void lh_proposer_abandon(struct lh_proposer *proposer);

// P6: the holder has stopped. Authority ends at once and any attempt is abandoned. Returns the
// ballot that Release must name, or none if nothing was held at `now`.
lh_ballot lh_proposer_release(struct lh_proposer *proposer, struct lh_instant now);

// F3: begin a renewal in one round. Takes an idle proposer that holds the lease. Extend(held,
// stamp) must be broadcast now.
void lh_proposer_extend(struct lh_proposer *proposer, struct lh_instant now,
                        struct lh_duration ttl);

// F3: an extended answer from `acceptor`. Only an answer to exactly the Extend in flight counts.
enum lh_outcome lh_proposer_extended(struct lh_proposer *proposer, struct lh_instant now,
                                     unsigned acceptor, lh_ballot ballot, uint64_t stamp,
                                     unsigned quorum);

#endif
