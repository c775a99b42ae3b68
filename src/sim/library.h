// The client library as the simulator drives it: one conversation with one node at a time, without
// a socket and without a clock of its own. The bytes (stream.h), the answers (answer.h) and the
// deadline (authority.h) are src/client's; what is asked and what follows from an answer goes step
// by step as in src/client/errand.c.
#ifndef LH_SIM_LIBRARY_H
#define LH_SIM_LIBRARY_H

#include "client/answer.h"
#include "client/authority.h"
#include "client/stream.h"
#include "sim/weaken.h"

#define LH_SIM_REQUEST_BYTES 1024
#define LH_SIM_INPUT_BYTES 65536
#define LH_SIM_VALUES 4096

enum lh_sim_verb {
    LH_SIM_ACQUIRE,
    LH_SIM_RENEW,
    LH_SIM_RELEASE,
    LH_SIM_ASK, // about a lease; the answer changes nothing
};

enum lh_sim_outcome {
    LH_SIM_PENDING, // the answer is not whole yet
    LH_SIM_GRANTED,
    LH_SIM_AGAIN, // it is our turn, or our lease is at another node: send again at once
    LH_SIM_HELD,
    LH_SIM_LOST,
    LH_SIM_RELEASED,
    LH_SIM_FAILED, // this endpoint has no answer for us
    LH_SIM_DONE,   // an Ask was answered
    LH_SIM_BROKEN, // what came is no answer: close the connection
};

struct lh_sim_library {
    unsigned weakened;
    // the lease
    char name[16], holder[32];
    int64_t token;
    int64_t released;           // its release was sent: no lease under it or below is ours again
    struct lh_instant deadline; // LH_PAST: not held
    int64_t ttl_ms;
    // the request
    enum lh_sim_verb verb;
    bool resuming; // an acquisition that goes on as a renewal
    uint64_t id;
    struct lh_answer answer;
    // the connection
    struct lh_stream stream;
    uint8_t output[LH_SIM_REQUEST_BYTES], input[LH_SIM_INPUT_BYTES];
    struct lh_resp_value values[LH_SIM_VALUES];
};

// Authority, asked anew at each use.
static inline bool lh_sim_library_valid(const struct lh_sim_library *library, struct lh_instant now)
{
    return lh_authority_at(library->deadline, now);
}

// A new connection.
void lh_sim_library_connect(struct lh_sim_library *library);

// Another holder, or another life of the same one, that holds nothing.
void lh_sim_library_begin(struct lh_sim_library *library, const char *holder);

// The bytes of the request, valid until the next. `now` is read just before they are sent.
// `wait_ms` 0: do not wait in line.
struct lh_slice lh_sim_library_request(struct lh_sim_library *library, enum lh_sim_verb verb,
                                       struct lh_instant now, int64_t wait_ms, int64_t timeout_ms);

// A question about `name`: GET, LIST, REVOKE.
struct lh_slice lh_sim_library_ask(struct lh_sim_library *library, struct lh_instant now,
                                   const char *const *words, size_t count);

// Bytes of the node, at `now`.
enum lh_sim_outcome lh_sim_library_bytes(struct lh_sim_library *library, struct lh_instant now,
                                         const uint8_t *bytes, size_t size);

#endif
