// Tenants: who holds a name at this node, who waits for it, and whose turn it is. The machine knows
// leases of nodes; this file knows their clients. A node runs one attempt a name however many of
// its clients want it: they queue, first come first served, and one lease handed from client to
// client is a new acquisition with a new token each time.
//
// Nobody ends a lease under a holder that still believes: only the holder's own release does, a
// revoked lease is merely not renewed, and a lease that nobody renews ends at td. A client that had
// to wait is woken first and asks afresh, since what it is granted counts from the moment it asked.
#ifndef LH_HOST_TENANT_H
#define LH_HOST_TENANT_H

#include "host/protocol.h"
#include "host/request.h"
#include "host/texts.h"

#define LH_GRANTED_TO_MANY UINT64_MAX

struct lh_tenant {
    lh_text name;
    lh_text holder; // 0 unless held
    lh_ballot token;
    struct lh_instant granted_at, renewed_at;
    uint32_t renewals;
    bool revoked;
    bool turn_given;   // one that waited was woken and has until turn_ends to ask afresh
    bool handing_over; // let go, with other members woken: until blocked_until one of them is first
    uint8_t rewakes;   // times they were woken again
    uint32_t active;   // request for which the present attempt is made; 0 = nobody's any more
    uint32_t queue;    // first of the acquire requests that wait
    uint32_t queue_end; // last
    uint32_t answering; // first of the renew and release requests under way
    uint64_t turn_hash; // of the holder whose turn it is
    struct lh_instant turn_since, turn_ends;
    struct lh_instant blocked_until; // somebody else's lease is in the way
    lh_ballot blocker;
    lh_ballot asked_of, told_of; // blocker whose owner was asked for its holder, and said
    struct lh_instant asked_until;
    uint64_t told_hash;                // of that holder
    uint64_t granted_to;               // the one connection that was told of this token; or MANY
    uint32_t bond_session;             // the connection the lease is to end with, if bond_next
    uint32_t bond_next, bond_previous; // the ring of that connection's leases; 0 = not bound
    bool orphaned;                     // that connection's client has ended: let go when ready
    uint32_t watches;                  // first of them; 0 = nobody watches
    uint32_t watch_query;
    struct lh_instant watch_at;       // when to ask again
    lh_ballot watch_token;            // what the watchers were told
    uint8_t watch_status, watch_node; // .. 0: nothing yet
    bool watch_revoked;
    struct lh_wheel_timer timer;
};

#define LH_RECENT_IDS 4096 // a power of two

struct lh_tenants {
    struct lh_tenant *tenants; // by lease id
    struct lh_texts texts;
    uint32_t waiting; // requests in queues
    uint32_t orphans; // first of the leases whose connections ended, a ring; 0 = none
    struct {
        uint64_t hash;
        lh_ballot token;
    } recent[LH_RECENT_IDS]; // request ids that were granted: a late retry is no new request
};

static inline struct lh_tenant *lh_tenant_of(const struct lh_tenants *tenants, uint32_t lease)
{
    return &tenants->tenants[lease - 1];
}

// The lease and tenant of `name`, made if need be. Returns 0, and why, if a table is full.
uint32_t lh_tenant_open(struct lh_host *host, struct lh_slice name, struct lh_key key,
                        enum lh_reason *ret_reason);

// Gives lease and tenant back if nothing needs them.
void lh_tenant_settle(struct lh_host *host, uint32_t id);

void lh_tenant_acquire(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects);

// ACQUIRE handed on by a node that this node's lease is in the way of: the lease itself if the
// holder is the same, else who has it.
void lh_tenant_hand_back(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                         struct lh_host_effects *effects);
// And what became of that, at the node that asked.
void lh_tenant_owner_said(struct lh_host *host, struct lh_request *request,
                          const struct lh_result *result, struct lh_instant now,
                          struct lh_host_effects *effects);

void lh_tenant_renew(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                     struct lh_host_effects *effects);
void lh_tenant_release(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects);

// Revokes what is held here. Returns false, without an answer, if nothing is.
bool lh_tenant_revoke(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                      struct lh_host_effects *effects);

// A request at a tenant ran out of time, or its client is gone: take it out. The caller frees it.
void lh_tenant_request_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                           struct lh_host_effects *effects);
void lh_tenant_cancel(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                      struct lh_host_effects *effects);

// A session is no more: leases bound to it are let go, soon, if its client is known to have ended.
void lh_tenant_session_ended(struct lh_host *host, uint32_t session, bool client_ended);

// Lets some of them go, in every timer step; while there are more, the next one is due at once.
void lh_tenant_let_go_orphans(struct lh_host *host, struct lh_instant now,
                              struct lh_host_effects *effects);

void lh_tenant_notice(struct lh_host *host, const struct lh_notice *notice, struct lh_instant now,
                      struct lh_host_effects *effects);
void lh_tenant_due(struct lh_host *host, uint32_t id, struct lh_instant now,
                   struct lh_host_effects *effects);

struct lh_texts_of_entry {
    uint8_t name[LH_TEXT_MAX_BYTES], holder[LH_TEXT_MAX_BYTES];
};

// What this node, as owner, says of a lease it holds. Returns false if it does not hold it. The
// entry's texts are in `texts`.
bool lh_tenant_describe(struct lh_host *host, uint32_t id, struct lh_instant now,
                        struct lh_texts_of_entry *texts, struct lh_entry *ret_entry);

#endif
