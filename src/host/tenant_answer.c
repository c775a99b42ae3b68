// What a tenant says: answers to its clients, events for the log, and what it tells of a lease that
// this node holds. `until` in an answer counts from the clock read after that very request was
// received, so it is made for each anew.
#include "host/host_internal.h"
#include "host/tenant_internal.h"

void lh_tenant_answer_plain(struct lh_host *host, struct lh_request *request, enum lh_status status,
                            enum lh_reason reason, struct lh_host_effects *effects)
{
    struct lh_result result = {
        .status = status, .reason = reason, .name = lh_request_name(request)};
    lh_request_answer(host, request, &result, effects);
}

struct lh_instant lh_tenant_ends_at(struct lh_host *host, uint32_t id)
{
    const struct lh_proposer *proposer = &lh_tenant_lease(host, id)->proposer;
    return proposer->phase == LH_ACCEPTING ? lh_later(proposer->until, proposer->td)
                                           : proposer->until;
}

int64_t lh_tenant_until(struct lh_host *host, uint32_t id, const struct lh_request *request)
{
    return lh_tenant_lease(host, id)->proposer.until.ns - request->received_at.ns;
}

void lh_tenant_answer_granted(struct lh_host *host, uint32_t id, struct lh_request *request,
                              struct lh_host_effects *effects)
{
    uint8_t holder[LH_TEXT_MAX_BYTES];
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    lh_tenant_granted_to(host, id, request);
    struct lh_result result = {
        .status = LH_STATUS_GRANTED,
        .name = lh_request_name(request),
        .holder = lh_texts_get(&host->tenants.texts, tenant->holder, holder),
        .token = tenant->token,
        .node = host->config.node,
        .ttl = lh_tenant_lease(host, id)->ttl,
        .until_ns = lh_tenant_until(host, id, request),
        .renewals = tenant->renewals,
    };
    lh_request_answer(host, request, &result, effects);
}

void lh_tenant_answer_held(struct lh_host *host, uint32_t id, struct lh_request *request,
                           enum lh_reason reason, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    uint8_t holder[LH_TEXT_MAX_BYTES];
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lh_tenant_lease(host, id);
    struct lh_result result = {
        .status = LH_STATUS_HELD, .reason = reason, .name = lh_request_name(request)};
    if (lh_proposer_holds(&lease->proposer, now)) {
        struct lh_duration exclusion = lh_timing_exclusion(host->config.timing, lease->ttl);
        // A renewal that came to nothing keeps others away all the same.
        struct lh_instant latest = lh_later(lease->proposer.until, lease->proposer.td);
        result.token = tenant->token;
        result.node = host->config.node;
        result.holder = lh_texts_get(&host->tenants.texts, tenant->holder, holder);
        result.revoked = tenant->revoked;
        result.free_in.ns = lh_left(now, latest).ns + (exclusion.ns - lease->ttl.ns);
    } else if (tenant->blocker != LH_BALLOT_NONE) {
        result.node = lh_ballot_node(tenant->blocker);
        result.free_in = lh_left(now, tenant->blocked_until);
    }
    lh_request_answer(host, request, &result, effects);
}

void lh_tenant_answer_lost(struct lh_host *host, uint32_t id, struct lh_request *request,
                           enum lh_reason reason, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    struct lh_result result = {.status = LH_STATUS_LOST,
                               .reason = reason,
                               .name = lh_request_name(request),
                               .token = request->token,
                               .revoked = reason == LH_REASON_WAS_REVOKED};
    // A holder that may not renew keeps what it has; a stranger has nothing.
    if (id != 0 && reason == LH_REASON_WAS_REVOKED && lh_tenant_holds(host, id, now))
        result.until_ns = lh_tenant_until(host, id, request);
    lh_request_answer(host, request, &result, effects);
}

void lh_tenant_answer_own(struct lh_host *host, uint32_t id, struct lh_request *request,
                          struct lh_instant now, struct lh_host_effects *effects)
{
    if (lh_tenant_of(&host->tenants, id)->revoked)
        lh_tenant_answer_held(host, id, request, LH_REASON_WAS_REVOKED, now, effects);
    else
        lh_tenant_answer_granted(host, id, request, effects);
}

void lh_tenant_tell(struct lh_host *host, uint32_t id, enum lh_event_kind kind,
                    struct lh_host_effects *effects)
{
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lh_tenant_lease(host, id);
    struct lh_event *event = lh_host_event(effects, kind);
    event->key = lease->key;
    event->ballot = tenant->token;
    event->at = kind == LH_EVENT_REVOKED ? lh_tenant_ends_at(host, id) : lease->proposer.until;
    event->name =
        lh_texts_get(&host->tenants.texts, tenant->name, lh_host_arena(effects, LH_TEXT_MAX_BYTES));
    event->holder = lh_texts_get(&host->tenants.texts, tenant->holder,
                                 lh_host_arena(effects, LH_TEXT_MAX_BYTES));
}

bool lh_tenant_describe(struct lh_host *host, uint32_t id, struct lh_instant now,
                        struct lh_texts_of_entry *texts, struct lh_entry *ret_entry)
{
    if (!lh_tenant_holds(host, id, now))
        return false;
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lh_tenant_lease(host, id);
    *ret_entry = (struct lh_entry){
        .name = lh_texts_get(&host->tenants.texts, tenant->name, texts->name),
        .holder = lh_texts_get(&host->tenants.texts, tenant->holder, texts->holder),
        .token = tenant->token,
        .node = host->config.node,
        .renewals = tenant->renewals,
        .remaining =
            lh_left(now, tenant->revoked ? lh_tenant_ends_at(host, id) : lease->proposer.until),
        .age = {now.ns - tenant->granted_at.ns},
        .renewed_ago = {now.ns - tenant->renewed_at.ns},
        .ttl = lease->ttl,
        .revoked = tenant->revoked,
    };
    return true;
}
