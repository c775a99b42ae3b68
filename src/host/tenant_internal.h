// What the tenant's files share:
//
//     tenant.c         the queue of a name, and acquiring it
//     tenant_renew.c   renewing, releasing, revoking
//     tenant_notice.c  what the machine says
//     tenant_answer.c  what clients and the log are told
//     tenant_bond.c    leases that end with their holder's connection
#ifndef LH_HOST_TENANT_INTERNAL_H
#define LH_HOST_TENANT_INTERNAL_H

#include "host/host_internal.h"

static inline struct lh_lease *lh_tenant_lease(struct lh_host *host, uint32_t id)
{
    return lh_machine_lease(&host->machine, id);
}

static inline bool lh_tenant_holds(struct lh_host *host, uint32_t id, struct lh_instant now)
{
    return lh_proposer_holds(&lh_tenant_lease(host, id)->proposer, now);
}

static inline bool lh_tenant_is_holder(const struct lh_host *host, const struct lh_tenant *tenant,
                                       const struct lh_request *request)
{
    return tenant->holder != 0 &&
           lh_texts_equal(&host->tenants.texts, tenant->holder, lh_request_holder(request));
}

// --- tenant.c ---

void lh_tenant_enqueue(struct lh_host *host, struct lh_tenant *tenant, struct lh_request *request,
                       bool in_front);
void lh_tenant_dequeue(struct lh_host *host, struct lh_tenant *tenant, struct lh_request *request);

// Goes on with whoever is next, if nothing is under way.
void lh_tenant_next(struct lh_host *host, uint32_t id, struct lh_instant now,
                    struct lh_host_effects *effects);

// The lease in the way may be this very holder's, acquired through the node that owns it. True if
// that node was asked; lh_tenant_owner_said goes on.
bool lh_tenant_ask_owner(struct lh_host *host, uint32_t id, struct lh_request *request,
                         struct lh_instant now, struct lh_host_effects *effects);

// How long those that were woken have to take a lease, the first time and again.
static inline struct lh_duration lh_tenant_patience(const struct lh_host *host, unsigned rewakes)
{
    return (struct lh_duration){(64 * host->machine.round.ns) << rewakes};
}

// --- tenant_renew.c ---

// P6, then the queue. Takes a lease that was held.
void lh_tenant_let_go(struct lh_host *host, uint32_t id, struct lh_instant now,
                      struct lh_host_effects *effects);

// A renewal completed: everybody who asked for one is answered, and a release that waited for it is
// done.
void lh_tenant_renewed(struct lh_host *host, uint32_t id, struct lh_instant now,
                       struct lh_host_effects *effects);

// The lease is gone: nobody who waited for its renewal may be taken for one who asks about the next
// lease.
void lh_tenant_dismiss(struct lh_host *host, uint32_t id, bool released, struct lh_instant now,
                       struct lh_host_effects *effects);

// A renewal's time is up, or a release's to wait for one; and a client that waited for either is
// gone.
void lh_tenant_renew_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                         struct lh_host_effects *effects);
void lh_tenant_release_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                           struct lh_host_effects *effects);
void lh_tenant_cancel_renewal(struct lh_host *host, uint32_t id, struct lh_request *request);

// --- tenant_answer.c ---

// When a lease that is not renewed any more has ended. A renewal whose Accepts are out may still
// complete: that is counted in.
struct lh_instant lh_tenant_ends_at(struct lh_host *host, uint32_t id);

void lh_tenant_answer_plain(struct lh_host *host, struct lh_request *request, enum lh_status status,
                            enum lh_reason reason, struct lh_host_effects *effects);
void lh_tenant_answer_granted(struct lh_host *host, uint32_t id, struct lh_request *request,
                              struct lh_host_effects *effects);

// The lease that this very holder has: granted; or held, if it was revoked, until it has ended.
void lh_tenant_answer_own(struct lh_host *host, uint32_t id, struct lh_request *request,
                          struct lh_instant now, struct lh_host_effects *effects);

// Somebody else has it: what is known of whom, and when it can be free at the earliest.
void lh_tenant_answer_held(struct lh_host *host, uint32_t id, struct lh_request *request,
                           enum lh_reason reason, struct lh_instant now,
                           struct lh_host_effects *effects);

// `id` is 0 where the request names no lease of this node.
void lh_tenant_answer_lost(struct lh_host *host, uint32_t id, struct lh_request *request,
                           enum lh_reason reason, struct lh_instant now,
                           struct lh_host_effects *effects);

// td minus the clock read after this very request was received: what the client's own deadline is
// made of.
int64_t lh_tenant_until(struct lh_host *host, uint32_t id, const struct lh_request *request);

void lh_tenant_tell(struct lh_host *host, uint32_t id, enum lh_event_kind kind,
                    struct lh_host_effects *effects);

// --- tenant_bond.c ---

// The lease was granted or renewed for `request`: binds it to the connection, or takes a bond away.
void lh_tenant_granted_to(struct lh_host *host, uint32_t id, const struct lh_request *request);

// The lease is over, or somebody else's.
void lh_tenant_unbind(struct lh_host *host, uint32_t id);

// Whether the holder is dead and the lease can be let go now; and letting it go: true if it was,
// and the queue went on.
bool lh_tenant_orphan_ready(struct lh_host *host, uint32_t id);
bool lh_tenant_orphan_due(struct lh_host *host, uint32_t id, struct lh_instant now,
                          struct lh_host_effects *effects);

#endif
