// Questions to the other members. GET asks all of them for one name and believes only a majority of
// equal answers to this very question; LIST pages through what each of them holds; RENEW, RELEASE
// and REVOKE of a lease that another node owns are handed to that node, as is ACQUIRE when its
// lease is in the way: the holder may be the same. A question is asked again
// until it is answered or its time is up; every answer names the question by its nonce.
#ifndef LH_HOST_QUERY_H
#define LH_HOST_QUERY_H

#include "host/protocol.h"
#include "host/request.h"

#define LH_QUERIES_MAX 256
#define LH_QUERY_OWNER_PATIENCE (300 * LH_NS_PER_MS) // with the owner of a lease in the way

enum lh_query_kind {
    LH_QUERY_STATE, // GET, REVOKE's first half, and watchers
    LH_QUERY_PAGES, // LIST
    LH_QUERY_CALL,  // a request handed on
};

struct lh_query {
    uint32_t id; // 0 in a free one
    uint32_t next;
    enum lh_query_kind kind;
    uint32_t request; // whom to answer; 0 = the watchers of `lease`
    uint32_t lease;
    uint64_t nonce;
    struct lh_key key;
    struct lh_instant asked_at; // of the present round
    struct lh_instant ends_at;
    unsigned rounds;
    struct lh_wheel_timer timer;
    // STATE
    struct lh_members_set answered, serving;
    lh_ballot ballots[LH_MEMBERS_MAX];
    struct lh_duration exclusions[LH_MEMBERS_MAX];
    bool owner_known;
    struct lh_entry owner; // its texts in `holder`
    uint8_t holder[LH_HOLDER_MAX_BYTES];
    // PAGES, CALL
    uint8_t member; // position in the configuration of whoever is asked
    unsigned tries;
    uint32_t position;
    uint8_t missing_count, missing[LH_MEMBERS_MAX];
    uint32_t entry_count, entry_bytes;
    uint8_t entries[LH_LIST_BYTES_MAX];
};

#define LH_QUERIES_OF_REQUESTS 64 // so many are not for watchers
#define LH_RELEASED_MAX 256

// A release that was done for a client of another node.
struct lh_released {
    uint64_t nonce; // of its call
    uint8_t node;
};

struct lh_queries {
    struct lh_query *pool;
    uint32_t free, used, count;
    struct lh_released released[LH_RELEASED_MAX]; // the last ones
};

// Begin. Each may answer at once if there is no room.
void lh_query_get(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                  struct lh_host_effects *effects);
void lh_query_list(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                   struct lh_host_effects *effects);
bool lh_query_has_room(const struct lh_host *host);
void lh_query_call(struct lh_host *host, struct lh_request *request, uint8_t owner,
                   struct lh_instant now, struct lh_host_effects *effects);

// For the watchers of `lease`. Returns the query's id, or 0 if there is no room.
uint32_t lh_query_watch(struct lh_host *host, uint32_t lease, struct lh_instant now,
                        struct lh_host_effects *effects);

void lh_query_cancel(struct lh_host *host, uint32_t id);

// `node` was told that the release of its call `nonce` is done.
void lh_query_released(struct lh_host *host, uint8_t node, uint64_t nonce);
void lh_query_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                  struct lh_host_effects *effects);

// Query, State, Call, Return, PageAsk, Page from `node`.
void lh_query_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects);

#endif
