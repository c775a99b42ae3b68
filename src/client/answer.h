// What a node answers to the LEASE commands, out of the reply's bytes: a status and the fields that
// go with it. A field that is missing or of another kind reads as zero or empty, an unknown status
// as UNKNOWN; texts are without control characters, numbers are checked where they are used. Nothing
// from the wire trips an assertion.
#ifndef LH_CLIENT_ANSWER_H
#define LH_CLIENT_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/resp.h"

enum lh_answer_status {
    LH_ANSWER_UNKNOWN, // not an answer this client understands; reason says what came
    LH_ANSWER_GRANTED, // acquired or renewed
    LH_ANSWER_HELD,    // somebody holds it
    LH_ANSWER_TURN,    // the caller waited and is now first: send again
    LH_ANSWER_LOST,    // not the caller's any more
    LH_ANSWER_RELEASED,
    LH_ANSWER_REVOKED,
    LH_ANSWER_FREE,
    LH_ANSWER_UNDECIDED,
    LH_ANSWER_NO_QUORUM,
    LH_ANSWER_ELSEWHERE, // -NOTREADY, -BUSY: this node cannot now, another may
    LH_ANSWER_REFUSED,   // any other error: the request is wrong
};

struct lh_answer {
    enum lh_answer_status status;
    int64_t token;
    int64_t node;
    int64_t ttl_ms;
    int64_t until_ns;
    int64_t rate_ppm;
    int64_t free_in_ns;
    int64_t ends_in_ns;
    bool revoked; // held, lost: it will not be renewed, and is the holder's until it ends
    char holder[256];
    char reason[256]; // the node's words: why, or the error's text
};

// Reads an answer. `name` is what was asked about: an answer that names another lease is UNKNOWN.
void lh_answer_read(const struct lh_resp_value *reply, const char *name,
                    struct lh_answer *ret_answer);

#endif
