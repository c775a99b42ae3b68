// The client's own authority (docs/protocol.md, Client): until when a client may act on what a node
// told it. It is contained in the node's authority as the node's is in the acceptors' (T1, T2, T3):
// the client read its clock before it sent the request, the node read its own after it received
// that very request, so what the node says is left was left at the client's earlier reading too;
// the rates of the two clocks are allowed for, and every rounding goes down. A late answer
// therefore grants less, down to nothing. No deadline moves back (rule D).
//
// What must stay true: lh_authority_deadline is the only place where a deadline of a client is
// computed, and authority is asked anew, with a clock read, at each use.
#ifndef LH_CLIENT_AUTHORITY_H
#define LH_CLIENT_AUTHORITY_H

#include "base/time.h"

// The greater of `old` and sent + floor(until_ns * (1000000 - rate_ppm) / (1000000 + rate_ppm)).
// `old` is the deadline under the same token, LH_PAST for a token not held before. `sent` is the
// client's clock before the request was handed to the kernel, `until_ns` and `rate_ppm` the node's
// words. A pair that no sane node sends (until_ns <= 0, a rate of 100 % or more) adds nothing.
struct lh_instant lh_authority_deadline(struct lh_instant old, struct lh_instant sent,
                                        int64_t until_ns, int64_t rate_ppm);

// Whether the holder may act at `now`, which the caller has just read.
static inline bool lh_authority_at(struct lh_instant deadline, struct lh_instant now)
{
    return lh_before(now, deadline);
}

#endif
