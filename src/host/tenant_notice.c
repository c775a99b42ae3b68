// What the machine says became of a lease, and what that means for the clients who want it.
#include "host/host_internal.h"
#include "host/tenant_internal.h"

#define SLOT_MIN (2 * LH_NS_PER_MS)

// Everybody who asked for no more than an immediate answer gets it now, and so does the holder that
// asked twice.
static void hurry_impatient(struct lh_host *host, const struct lh_tenant *tenant,
                            struct lh_instant now)
{
    for (uint32_t at = tenant->queue; at != 0;) {
        struct lh_request *request = lh_request_get(host, at);
        request->waited = true;
        if (request->wait.ns == 0 || lh_tenant_is_holder(host, tenant, request))
            lh_wheel_schedule(&host->wheel, &request->timer, now);
        else
            lh_wheel_schedule(&host->wheel, &request->timer,
                              lh_after(request->received_at, request->wait));
        at = request->next;
    }
}

static void on_acquired(struct lh_host *host, uint32_t id, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_request *request = tenant->active != 0 ? lh_request_get(host, tenant->active) : NULL;
    tenant->active = 0;
    tenant->handing_over = false;
    tenant->token = lh_tenant_lease(host, id)->proposer.token;
    tenant->blocker = LH_BALLOT_NONE;
    tenant->revoked = false;
    tenant->granted_to = 0;
    tenant->granted_at = tenant->renewed_at = now;
    tenant->renewals = 0;
    tenant->watch_at = now;
    if (request == NULL) { // nobody wants it any more
        lh_tenant_let_go(host, id, now, effects);
        return;
    }
    if (!lh_texts_put(&host->tenants.texts, lh_request_holder(request), &tenant->holder)) {
        lh_tenant_answer_plain(host, request, LH_STATUS_BUSY, LH_REASON_FULL_TEXT, effects);
        lh_tenant_let_go(host, id, now, effects);
        return;
    }
    if (request->id_hash != 0) {
        host->tenants.recent[request->id_hash & (LH_RECENT_IDS - 1)].hash = request->id_hash;
        host->tenants.recent[request->id_hash & (LH_RECENT_IDS - 1)].token = tenant->token;
    }
    lh_tenant_tell(host, id, LH_EVENT_GRANTED, effects);
    lh_tenant_answer_granted(host, id, request, effects);
    hurry_impatient(host, tenant, now);
    lh_tenant_settle(host, id);
}

static unsigned position(const struct lh_host *host, uint8_t node)
{
    unsigned at = 0;
    while (at < host->config.member_count && host->config.members[at] != node)
        at++;
    return at;
}

// All nodes that wait know the same instant. Two that try at once may each leave a live record at
// some acceptors (A2) and block one another for a whole exclusion, so each has a slot of its own,
// long enough for two rounds, in the members' order from the owner on: the lease goes around. Nodes
// measure rounds a little differently: widths are few and far apart, so that they agree.
static struct lh_duration behind_others(const struct lh_host *host, lh_ballot blocker)
{
    unsigned count = host->config.member_count;
    unsigned own = position(host, host->config.node);
    unsigned owner = position(host, lh_ballot_node(blocker));
    int64_t width = SLOT_MIN;
    while (width < 2 * host->machine.round.ns)
        width *= 4;
    return (struct lh_duration){(int64_t)((own + 2 * count - owner - 1) % count) * width};
}

static void on_blocked(struct lh_host *host, const struct lh_notice *notice, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, notice->lease);
    struct lh_request *request = tenant->active != 0 ? lh_request_get(host, tenant->active) : NULL;
    tenant->active = 0;
    tenant->handing_over = false;
    tenant->blocker = notice->ballot;
    tenant->blocked_until = lh_after(notice->at, behind_others(host, notice->ballot));
    if (request != NULL) {
        request->active = false;
        if (!lh_tenant_ask_owner(host, notice->lease, request, now, effects))
            lh_tenant_enqueue(host, tenant, request, true);
    }
    hurry_impatient(host, tenant, now);
    lh_tenant_settle(host, notice->lease);
}

static void on_renewed(struct lh_host *host, uint32_t id, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->renewals++;
    tenant->renewed_at = now;
    lh_tenant_tell(host, id, LH_EVENT_RENEWED, effects);
    lh_tenant_renewed(host, id, now, effects);
    if (lh_tenant_orphan_ready(host, id)) // false if it was released
        lh_tenant_settle(host, id);
}

static void on_lost(struct lh_host *host, uint32_t id, struct lh_instant now,
                    struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    lh_tenant_tell(host, id, LH_EVENT_LOST, effects);
    lh_tenant_dismiss(host, id, false, now, effects);
    lh_tenant_unbind(host, id);
    lh_texts_drop(&host->tenants.texts, tenant->holder);
    tenant->holder = 0;
    tenant->revoked = false;
    tenant->watch_at = now;
    lh_tenant_next(host, id, now, effects);
}

static void on_woken(struct lh_host *host, const struct lh_notice *notice, struct lh_instant now,
                     struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, notice->lease);
    struct lh_instant at = notice->at;
    if (notice->ballot != LH_BALLOT_NONE) // its Release came, and everybody hears it at once
        at = lh_after(at, behind_others(host, notice->ballot));
    tenant->blocked_until = lh_earlier(tenant->blocked_until, at);
    tenant->watch_at = now;
    lh_tenant_next(host, notice->lease, now, effects);
}

// Nobody wants it any more: it is not tried again.
static void on_stalled(struct lh_host *host, uint32_t id, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_lease *lease = lh_tenant_lease(host, id);
    if (lh_tenant_of(&host->tenants, id)->active == 0 && lease->want == LH_WANT_ACQUIRE)
        lh_machine_stop(&host->machine, lease);
    lh_tenant_next(host, id, now, effects);
}

void lh_tenant_notice(struct lh_host *host, const struct lh_notice *notice, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    switch (notice->kind) {
    case LH_NOTICE_ACQUIRED: on_acquired(host, notice->lease, now, effects); break;
    case LH_NOTICE_RENEWED: on_renewed(host, notice->lease, now, effects); break;
    case LH_NOTICE_BLOCKED: on_blocked(host, notice, now, effects); break;
    case LH_NOTICE_LOST: on_lost(host, notice->lease, now, effects); break;
    case LH_NOTICE_WOKEN: on_woken(host, notice, now, effects); break;
    case LH_NOTICE_STALLED: on_stalled(host, notice->lease, now, effects); break;
    case LH_NOTICE_RESERVE:
    case LH_NOTICE_CEILING: break;
    }
}
