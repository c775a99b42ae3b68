// How far a request got that was not answered: of several failures the one that got furthest tells
// the most, and is what a user reads.
#ifndef LH_CLIENT_REACH_H
#define LH_CLIENT_REACH_H

#include <stdint.h>

#include "base/slice.h"
#include "os/error.h"

// What a node means by `noquorum` if it gives no reason.
#define LH_NO_MAJORITY "no majority of the members answered in time"

enum lh_reach {
    LH_REACH_NOBODY,    // nothing listens: no such socket, refused, unreachable
    LH_REACH_FORBIDDEN, // the socket is there, and may not be opened by this user
    LH_REACH_SILENCE,   // connected, and no answer came in time
    LH_REACH_BROKEN,    // the connection ended, or what answers speaks another protocol
    LH_REACH_OWNER,     // a node answered that the one that holds the lease does not
    LH_REACH_ANSWER,    // a node answered
};

// Why something of several requests failed, and how far the furthest of them got.
struct lh_trouble {
    enum lh_reach reach;
    struct lh_error error; // "" as long as nothing failed
};

// Notes that a request to `endpoint` (as it was written) got so far and failed with `why`, unless
// an earlier one got further, or as far without a word from a node.
void lh_trouble_note(struct lh_trouble *trouble, enum lh_reach reach, const char *endpoint,
                     const char *why);

// What the answer `noquorum` says: `node` is its key of that name, 0 if it names none.
#define LH_REACH_WHY_BYTES 256
enum lh_reach lh_reach_no_quorum(int64_t node, struct lh_slice reason,
                                 char ret_why[LH_REACH_WHY_BYTES]);

// The same of what was noted elsewhere. `later` is not empty.
void lh_trouble_take(struct lh_trouble *trouble, const struct lh_trouble *later);

#endif
