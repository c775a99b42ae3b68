// A request: one thing that a client, or another node for its client, wants of this node; and the
// result it gets. Requests live in a pool sized at start, one a session and some for peers; each is
// in exactly one place (a tenant's queue, a query) and is answered exactly once.
#ifndef LH_HOST_REQUEST_H
#define LH_HOST_REQUEST_H

#include "base/slice.h"
#include "base/text.h"
#include "base/wheel.h"
#include "host/host.h"

#define LH_LIST_BYTES_MAX (48 * 1024)

enum lh_request_kind {
    LH_REQUEST_ACQUIRE = 1,
    LH_REQUEST_RENEW = 2,
    LH_REQUEST_RELEASE = 3,
    LH_REQUEST_REVOKE = 4,
    LH_REQUEST_GET = 5,
    LH_REQUEST_LIST = 6, // `name` is the prefix
};

// One X a status: what a result says first.
#define LH_STATUSES(X)                                                                             \
    X(GRANTED, "granted")                                                                          \
    X(HELD, "held")                                                                                \
    X(TURN, "turn")                                                                                \
    X(NOQUORUM, "noquorum")                                                                        \
    X(LOST, "lost")                                                                                \
    X(RELEASED, "released")                                                                        \
    X(REVOKED, "revoked")                                                                          \
    X(FREE, "free")                                                                                \
    X(UNDECIDED, "undecided")                                                                      \
    X(LISTED, "listed")                                                                            \
    X(BUSY, "busy") /* a table of this node is full; reason says which */

enum lh_status {
#define LH_STATUS_ENUM(name, text) LH_STATUS_##name,
    LH_STATUSES(LH_STATUS_ENUM)
#undef LH_STATUS_ENUM
};

const char *lh_status_name(enum lh_status status);

// Why, where the status alone does not tell: text for people, code for the wire. Append only.
#define LH_REASONS(X)                                                                              \
    X(NONE, "")                                                                                    \
    X(OTHER_HOLDER, "somebody else holds it")                                                      \
    X(OTHER_ATTEMPT, "somebody else is being granted it")                                          \
    X(WAITED, "it was not free within WAIT")                                                       \
    X(YOUR_TURN, "it is your turn: send the same request again")                                   \
    X(NO_MAJORITY, "no majority of the members answered in time")                                  \
    X(STARTING, "this node is not admitted yet: it waits for answers of other members")            \
    X(QUARANTINE, "no majority answered; this node itself is in quarantine after a restart")       \
    X(EXPIRED, "it ended before this request came")                                                \
    X(TOKEN, "the token is not the present one")                                                   \
    X(HOLDER, "the holder is not the present one")                                                 \
    X(WAS_REVOKED, "it was revoked: no renewal; stop before it ends")                              \
    X(NOT_HELD, "nobody holds it")                                                                 \
    X(ENDED, "this request was answered before, and that lease has ended since")                   \
    X(OWNER_SILENT, "the member that holds it does not answer")                                    \
    X(MIXED, "the members differ; ask again")                                                      \
    X(FULL_LEASES, "this node holds max-leases names already")                                     \
    X(FULL_TEXT, "this node has no room left for names and holders")                               \
    X(FULL_REQUESTS, "this node has too many requests waiting")

enum lh_reason {
#define LH_REASON_ENUM(name, text) LH_REASON_##name,
    LH_REASONS(LH_REASON_ENUM)
#undef LH_REASON_ENUM
        LH_REASON_COUNT
};

const char *lh_reason_text(enum lh_reason reason);

struct lh_request {
    uint32_t id; // 1 ..; 0 in a free one
    enum lh_request_kind kind;
    // Who gets the result: a session, or (peer != 0) another node's query `nonce`.
    uint32_t session;
    uint8_t peer;
    uint64_t nonce;
    // What was asked.
    uint8_t name_size, holder_size;
    uint8_t name[LH_NAME_MAX_BYTES];
    uint8_t holder[LH_HOLDER_MAX_BYTES];
    struct lh_key key;
    lh_ballot token;         // renew, release
    struct lh_duration ttl;  // acquire, renew: whole ms, 50 ms .. M; renew: 0 = as before
    struct lh_duration wait; // acquire: how long to wait for somebody else's lease to end; 0 = not
    struct lh_duration timeout;    // how long to wait for a quorum
    uint64_t id_hash;              // acquire: of the client's own request id; 0 = none
    bool bound;                    // acquire: the lease is to end with the connection
    uint64_t cursor;               // list
    uint32_t count;                // list: stop once so many are there; a page may bring more
    struct lh_instant received_at; // the clock read after this very request was received
    struct lh_instant waiting_since;
    // Where it is.
    uint32_t lease; // tenant it queues at; 0 = none
    uint32_t next, previous;
    uint32_t query; // query that answers it; 0 = none
    bool active;    // the tenant's present attempt is for it
    bool waited;    // somebody else's lease was, or is, in its way
    uint8_t asks;   // acquire: times that the node in the way was asked whom it holds it for
    struct lh_wheel_timer timer;
};

struct lh_result {
    enum lh_status status;
    enum lh_reason reason;
    struct lh_slice name, holder;
    lh_ballot token;
    uint8_t node; // the owner, 0 unknown
    uint32_t renewals;
    bool revoked;     // held, lost: it will not be renewed
    int64_t until_ns; // td minus received_at; at most 0 grants nothing
    struct lh_duration ttl, free_in, remaining, age, renewed_ago, ends_in;
    struct lh_duration next_owner_min, next_owner_max;
    // list: entries in protocol.h's form, and where to go on (0 = end)
    struct lh_slice entries;
    uint32_t entry_count;
    uint64_t cursor;
    uint8_t missing_count, missing[LH_MEMBERS_MAX];
};

#define LH_REQUESTS_OF_PEERS_MAX 256 // beside one a session

struct lh_requests {
    struct lh_request *pool;
    uint32_t capacity, free, used;
    uint32_t of_peers; // so many are for other nodes now
};

struct lh_host;

// NULL if all are in use.
struct lh_request *lh_request_new(struct lh_host *host, enum lh_request_kind kind,
                                  struct lh_instant now);
struct lh_request *lh_request_get(struct lh_host *host, uint32_t id);

// What this node knows of why no majority answered.
enum lh_reason lh_request_why_no_quorum(const struct lh_host *host);

static inline struct lh_slice lh_request_name(const struct lh_request *request)
{
    return lh_slice_of(request->name, request->name_size);
}

static inline struct lh_slice lh_request_holder(const struct lh_request *request)
{
    return lh_slice_of(request->holder, request->holder_size);
}

// Hands a filled request to whoever serves it: tenant.c or query.c. It may be answered before this
// returns.
void lh_request_submit(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects);

// Answers the request, once, and frees it.
void lh_request_answer(struct lh_host *host, struct lh_request *request,
                       const struct lh_result *result, struct lh_host_effects *effects);

// Whoever asked has gone: takes the request out of wherever it is and frees it.
void lh_request_cancel(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects);

#endif
