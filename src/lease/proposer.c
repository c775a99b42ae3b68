// The proposer's role: see proposer.h. One clock reading per call, compared before anything is
// subtracted.
#include "lease/proposer.h"

#include "base/assert.h"

void lh_proposer_start(struct lh_proposer *proposer, struct lh_instant now, lh_ballot ballot,
                       struct lh_duration ttl)
{
    LH_ASSERT(proposer->phase == LH_IDLE);
    LH_ASSERT(ballot > proposer->ballot);
    proposer->ballot = ballot;
    proposer->base = lh_proposer_holds(proposer, now) ? proposer->held : LH_BALLOT_NONE;
    proposer->td = lh_after(now, ttl);
    proposer->phase = LH_PREPARING;
    proposer->open = LH_SET_EMPTY;
    proposer->accepted = LH_SET_EMPTY;
}

// The lease captured as renewal base at P1 is held still.
static bool base_is_held(const struct lh_proposer *proposer, struct lh_instant now)
{
    return proposer->base != LH_BALLOT_NONE && proposer->held == proposer->base &&
           lh_proposer_holds(proposer, now);
}

bool lh_proposer_promise(struct lh_proposer *proposer, struct lh_instant now, unsigned acceptor,
                         lh_ballot ballot, lh_ballot reported)
{
    if (ballot != proposer->ballot)
        return false;
    // Our own lease under any other ballot blocks like a stranger's: an abandoned attempt may have
    // put it there.
    bool open =
        reported == LH_BALLOT_NONE || (reported == proposer->base && base_is_held(proposer, now));
    if (open)
        lh_set_add(&proposer->open, acceptor);
    return open;
}

bool lh_proposer_propose(struct lh_proposer *proposer, struct lh_instant now, unsigned quorum)
{
    if (proposer->phase != LH_PREPARING || !lh_before(now, proposer->td) ||
        lh_set_count(proposer->open) < quorum)
        return false;
    proposer->phase = LH_ACCEPTING;
    proposer->accepted = LH_SET_EMPTY;
    return true;
}

enum lh_outcome lh_proposer_accepted(struct lh_proposer *proposer, struct lh_instant now,
                                     unsigned acceptor, lh_ballot ballot, unsigned quorum)
{
    if (proposer->phase != LH_ACCEPTING || ballot != proposer->ballot)
        return LH_NOTHING;
    lh_set_add(&proposer->accepted, acceptor);
    if (lh_set_count(proposer->accepted) < quorum)
        return LH_NOTHING;
    proposer->phase = LH_IDLE;
    if (!lh_before(now, proposer->td))
        return LH_NOTHING;
    bool renewed = base_is_held(proposer, now);
    proposer->held = ballot;
    proposer->token = renewed ? proposer->token : ballot;
    proposer->until = renewed ? lh_later(proposer->until, proposer->td) : proposer->td; // D
    return renewed ? LH_RENEWED : LH_ACQUIRED;
}

void lh_proposer_abandon(struct lh_proposer *proposer)
{
    proposer->phase = LH_IDLE;
}

lh_ballot lh_proposer_release(struct lh_proposer *proposer, struct lh_instant now)
{
    lh_ballot named = lh_proposer_holds(proposer, now) ? proposer->held : LH_BALLOT_NONE;
    proposer->phase = LH_IDLE;
    proposer->held = LH_BALLOT_NONE;
    proposer->token = LH_BALLOT_NONE;
    proposer->until = LH_PAST;
    return named;
}

void lh_proposer_extend(struct lh_proposer *proposer, struct lh_instant now, struct lh_duration ttl)
{
    LH_ASSERT(proposer->phase == LH_IDLE);
    LH_ASSERT(lh_proposer_holds(proposer, now));
    uint64_t reading = (uint64_t)now.ns;
    proposer->stamp = reading > proposer->stamp ? reading : proposer->stamp + 1;
    proposer->td = lh_after(now, ttl);
    proposer->phase = LH_EXTENDING;
    proposer->accepted = LH_SET_EMPTY;
}

enum lh_outcome lh_proposer_extended(struct lh_proposer *proposer, struct lh_instant now,
                                     unsigned acceptor, lh_ballot ballot, uint64_t stamp,
                                     unsigned quorum)
{
    if (proposer->phase != LH_EXTENDING || ballot != proposer->held || stamp != proposer->stamp)
        return LH_NOTHING;
    lh_set_add(&proposer->accepted, acceptor);
    if (lh_set_count(proposer->accepted) < quorum)
        return LH_NOTHING;
    proposer->phase = LH_IDLE;
    if (!lh_before(now, proposer->td) || !lh_proposer_holds(proposer, now))
        return LH_NOTHING;
    proposer->until = lh_later(proposer->until, proposer->td); // D
    return LH_RENEWED;
}
