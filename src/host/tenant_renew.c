// Renewing, releasing and revoking a lease that is held here. One renewal serves all who ask while
// it is under way: they wait in the tenant's list `answering`, and so does a release that came
// while the Accepts of a renewal were out.
//
// What must stay true: a lease ends only by its holder's own release or at td (P6), and nobody who
// waited for the outcome of one lease is answered about the next.
#include "host/host_internal.h"
#include "host/tenant_internal.h"

static void answering_add(struct lh_tenant *tenant, struct lh_request *request)
{
    request->next = tenant->answering;
    tenant->answering = request->id;
}

static void answering_remove(struct lh_host *host, struct lh_tenant *tenant,
                             struct lh_request *request)
{
    uint32_t *link = &tenant->answering;
    while (*link != request->id)
        link = &lh_request_get(host, *link)->next;
    *link = request->next;
    request->next = 0;
}

// Checks name, token and holder: against mistakes, not against attackers. Returns the lease's id,
// or 0 after having answered.
static uint32_t held_by(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    struct lh_lease *lease = lh_machine_find(&host->machine, request->key);
    enum lh_reason reason = LH_REASON_NONE;
    if (lease == NULL || !lh_proposer_holds(&lease->proposer, now))
        reason = LH_REASON_EXPIRED;
    else if (lh_tenant_of(&host->tenants, lease->id)->token != request->token)
        reason = LH_REASON_TOKEN;
    else if (!lh_texts_equal(&host->tenants.texts, lh_tenant_of(&host->tenants, lease->id)->holder,
                             lh_request_holder(request)))
        reason = LH_REASON_HOLDER;
    if (reason == LH_REASON_NONE)
        return lease->id;
    lh_tenant_answer_lost(host, 0, request, reason, now, effects);
    return 0;
}

void lh_tenant_renew(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                     struct lh_host_effects *effects)
{
    uint32_t id = held_by(host, request, now, effects);
    if (id == 0)
        return;
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (tenant->revoked) {
        lh_tenant_answer_lost(host, id, request, LH_REASON_WAS_REVOKED, now, effects);
        return;
    }
    request->lease = id;
    answering_add(tenant, request);
    lh_wheel_schedule(&host->wheel, &request->timer, lh_after(now, request->timeout));
    struct lh_lease *lease = lh_tenant_lease(host, id);
    if (lease->want == LH_WANT_RENEW)
        return; // one renewal serves all who ask; each is told what is left from its own asking
    struct lh_duration ttl = request->ttl.ns > 0 ? request->ttl : lease->ttl;
    lh_machine_renew(&host->machine, lease, now, ttl, &host->lease_effects);
    lh_host_settle(host, now, effects);
}

// --- the outcome ---

// Takes the first of the renew and release requests out, or returns NULL. When this step has
// answered enough of them, the others are due at once and find out by themselves.
static struct lh_request *take_answering(struct lh_host *host, struct lh_tenant *tenant,
                                         struct lh_instant now,
                                         const struct lh_host_effects *effects)
{
    if (!lh_host_has_room(effects)) {
        for (uint32_t at = tenant->answering; at != 0; at = lh_request_get(host, at)->next)
            lh_wheel_schedule(&host->wheel, &lh_request_get(host, at)->timer, now);
        return NULL;
    }
    if (tenant->answering == 0)
        return NULL;
    struct lh_request *request = lh_request_get(host, tenant->answering);
    answering_remove(host, tenant, request);
    return request;
}

static void answer_released(struct lh_host *host, struct lh_request *request,
                            struct lh_host_effects *effects)
{
    struct lh_result result = {.status = LH_STATUS_RELEASED,
                               .name = lh_request_name(request),
                               .token = request->token,
                               .node = host->config.node};
    lh_request_answer(host, request, &result, effects);
}

void lh_tenant_dismiss(struct lh_host *host, uint32_t id, bool released, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    for (struct lh_request *request = take_answering(host, tenant, now, effects); request != NULL;
         request = take_answering(host, tenant, now, effects)) {
        if (released && request->kind == LH_REQUEST_RELEASE)
            answer_released(host, request, effects);
        else
            lh_tenant_answer_lost(host, id, request, LH_REASON_EXPIRED, now, effects);
    }
}

void lh_tenant_let_go(struct lh_host *host, uint32_t id, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_lease *lease = lh_tenant_lease(host, id);
    lh_tenant_tell(host, id, LH_EVENT_RELEASED, effects);
    lh_tenant_unbind(host, id);
    lh_texts_drop(&host->tenants.texts, tenant->holder);
    tenant->holder = 0;
    tenant->revoked = false;
    // Until a Wake says whose turn it is; a lost one costs this little.
    tenant->blocker = lease->proposer.held;
    tenant->blocked_until = lh_after(now, lh_tenant_patience(host, 0));
    tenant->handing_over = !lh_set_is_empty(lease->waiters);
    tenant->rewakes = 0;
    lease->waits = tenant->queue != 0;
    lh_machine_release(&host->machine, lease, now, &host->lease_effects);
    lh_host_settle(host, now, effects);
    lh_tenant_dismiss(host, id, true, now, effects);
    tenant->watch_at = now;
    lh_tenant_next(host, id, now, effects);
}

void lh_tenant_renewed(struct lh_host *host, uint32_t id, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool released = false;
    for (struct lh_request *request = take_answering(host, tenant, now, effects); request != NULL;
         request = take_answering(host, tenant, now, effects)) {
        if (request->token != tenant->token) {
            lh_tenant_answer_lost(host, id, request, LH_REASON_EXPIRED, now, effects);
            continue;
        }
        if (request->kind == LH_REQUEST_RENEW) {
            lh_tenant_answer_granted(host, id, request, effects);
            continue;
        }
        answer_released(host, request, effects);
        released = true;
    }
    if (released)
        lh_tenant_let_go(host, id, now, effects);
}

// --- releasing and revoking ---

void lh_tenant_release(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    uint32_t id = held_by(host, request, now, effects);
    if (id == 0)
        return;
    if (lh_tenant_lease(host, id)->proposer.phase == LH_ACCEPTING) {
        // A renewal's Accepts are in flight and would outlive a Release of the old ballot: its
        // outcome comes first.
        request->lease = id;
        answering_add(lh_tenant_of(&host->tenants, id), request);
        lh_wheel_schedule(&host->wheel, &request->timer, lh_after(now, request->timeout));
        return;
    }
    answer_released(host, request, effects);
    lh_tenant_let_go(host, id, now, effects);
}

// Who waits for a renewal is told now that there is none, and does not learn it half a TTL later.
static void refuse_waiting(struct lh_host *host, uint32_t id, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const bool accepting = lh_tenant_lease(host, id)->proposer.phase == LH_ACCEPTING;
    for (uint32_t at = tenant->answering; at != 0;) {
        struct lh_request *request = lh_request_get(host, at);
        at = request->next;
        if (request->kind == LH_REQUEST_RENEW && lh_host_has_room(effects)) {
            answering_remove(host, tenant, request);
            lh_tenant_answer_lost(host, id, request, LH_REASON_WAS_REVOKED, now, effects);
        } else if (request->kind == LH_REQUEST_RENEW || !accepting) {
            lh_wheel_schedule(&host->wheel, &request->timer, now);
        }
    }
}

// A renewal under way is given up, or, if its Accepts are out, its end is part of what is reported.
bool lh_tenant_revoke(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_lease *lease = lh_machine_find(&host->machine, request->key);
    if (lease == NULL || !lh_proposer_holds(&lease->proposer, now))
        return false;
    uint8_t holder[LH_TEXT_MAX_BYTES];
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease->id);
    if (request->token != LH_BALLOT_NONE && request->token != tenant->token)
        return false; // the lease that was to be revoked has ended
    lh_machine_stop(&host->machine, lease);
    if (!tenant->revoked)
        lh_tenant_tell(host, lease->id, LH_EVENT_REVOKED, effects);
    tenant->revoked = true;
    tenant->watch_at = now;
    refuse_waiting(host, lease->id, now, effects);
    struct lh_result result = {
        .status = LH_STATUS_REVOKED,
        .name = lh_request_name(request),
        .holder = lh_texts_get(&host->tenants.texts, tenant->holder, holder),
        .token = tenant->token,
        .node = host->config.node,
        .ends_in = lh_left(now, lh_tenant_ends_at(host, lease->id)),
    };
    lh_request_answer(host, request, &result, effects);
    return true;
}

// --- time and clients that go away ---

// The renewal that this request waits for has been decided meanwhile. Returns false if it has not.
static bool answer_decided(struct lh_host *host, uint32_t id, struct lh_request *request,
                           struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool theirs = lh_tenant_holds(host, id, now) && tenant->token == request->token;
    bool refused = theirs && tenant->revoked;
    if (theirs && !refused &&
        (tenant->renewals == 0 || lh_before(tenant->renewed_at, request->received_at)))
        return false;
    answering_remove(host, tenant, request);
    request->lease = 0;
    if (theirs && !refused)
        lh_tenant_answer_granted(host, id, request, effects);
    else
        lh_tenant_answer_lost(host, id, request,
                              refused ? LH_REASON_WAS_REVOKED : LH_REASON_EXPIRED, now, effects);
    lh_tenant_next(host, id, now, effects);
    return true;
}

void lh_tenant_renew_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                         struct lh_host_effects *effects)
{
    if (answer_decided(host, request->lease, request, now, effects))
        return;
    struct lh_result result = {.status = LH_STATUS_NOQUORUM,
                               .reason = lh_request_why_no_quorum(host),
                               .name = lh_request_name(request),
                               .token = request->token,
                               .until_ns = lh_tenant_until(host, request->lease, request)};
    lh_tenant_cancel(host, request, now, effects);
    lh_request_answer(host, request, &result, effects);
}

// The renewal's outcome did not come: let go all the same.
void lh_tenant_release_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    uint32_t id = request->lease;
    answering_remove(host, lh_tenant_of(&host->tenants, id), request);
    request->lease = 0;
    if (held_by(host, request, now, effects) == 0)
        return;
    answer_released(host, request, effects);
    lh_tenant_let_go(host, id, now, effects);
}

void lh_tenant_cancel_renewal(struct lh_host *host, uint32_t id, struct lh_request *request)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_lease *lease = lh_tenant_lease(host, id);
    answering_remove(host, tenant, request);
    // Accepts that are out run to their end: under another ballot they would block the next
    // renewal.
    if (tenant->answering == 0 && lease->want == LH_WANT_RENEW &&
        lease->proposer.phase != LH_ACCEPTING)
        lh_machine_stop(&host->machine, lease); // nobody asks for this renewal any more
}
