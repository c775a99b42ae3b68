// Requests handed to the node that owns the lease: RENEW, RELEASE, REVOKE, and ACQUIRE when the
// lease in the way may be the asker's own.
#include "host/host_internal.h"
#include "host/query_internal.h"
#include "lease/timing.h"

#define CALL_LATE LH_NS_PER_S // asked again ten times since

static void send_call(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_request *request = lh_request_get(host, query->request);
    struct lh_host_message message = {
        .kind = LH_HOST_CALL,
        .nonce = query->nonce,
        .call = (uint8_t)request->kind,
        .timeout = lh_left(now, query->ends_at),
        .entry = {.name = lh_request_name(request),
                  .holder = lh_request_holder(request),
                  .token = request->token,
                  .ttl = request->ttl},
    };
    lh_host_send(effects, host->config.members[query->member], &message, 0);
    lh_query_await(host, query, now);
}

void lh_query_call(struct lh_host *host, struct lh_request *request, uint8_t owner,
                   struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = lh_query_new(host, LH_QUERY_CALL, request, now);
    if (query == NULL) {
        lh_query_no_room(host, request, effects);
        return;
    }
    for (uint8_t i = 0; i < host->config.member_count; i++)
        if (host->config.members[i] == owner)
            query->member = i;
    if (request->kind == LH_REQUEST_ACQUIRE)
        query->ends_at = lh_earlier(query->ends_at,
                                    lh_after(now, (struct lh_duration){LH_QUERY_OWNER_PATIENCE}));
    send_call(host, query, now, effects);
}

// --- at the owner ---

// A call is repeated until it is answered; while the first copy waits for a renewal, others are of
// no use.
static bool waits_already(struct lh_host *host, uint8_t node, const struct lh_host_message *message)
{
    const struct lh_lease *lease =
        lh_machine_find(&host->machine, lh_host_key(host, message->entry.name));
    if (lease == NULL)
        return false;
    for (uint32_t at = lh_tenant_of(&host->tenants, lease->id)->answering; at != 0;) {
        const struct lh_request *request = lh_request_get(host, at);
        if (request->peer == node && request->nonce == message->nonce)
            return true;
        at = request->next;
    }
    return false;
}

// A release that was done, and whose Return may have been lost, is not refused when it comes again.
void lh_query_released(struct lh_host *host, uint8_t node, uint64_t nonce)
{
    host->queries.released[(nonce >> 32) % LH_RELEASED_MAX] =
        (struct lh_released){.nonce = nonce, .node = node};
}

static bool was_released(const struct lh_host *host, uint8_t node, uint64_t nonce)
{
    const struct lh_released *released = &host->queries.released[(nonce >> 32) % LH_RELEASED_MAX];
    return released->nonce == nonce && released->node == node;
}

void lh_query_on_call(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    bool known = message->call == LH_REQUEST_RENEW || message->call == LH_REQUEST_RELEASE ||
                 message->call == LH_REQUEST_REVOKE || message->call == LH_REQUEST_ACQUIRE;
    struct lh_duration ttl = message->entry.ttl;
    bool ttl_allowed =
        ttl.ns == 0 || (ttl.ns % LH_NS_PER_MS == 0 && ttl.ns >= LH_TTL_MIN_MS * LH_NS_PER_MS &&
                        ttl.ns <= host->config.timing.max_ttl.ns);
    bool sane = known && message->entry.name.size_bytes > 0 &&
                (message->call != LH_REQUEST_RENEW || ttl_allowed);
    if (!sane) {
        host->bad_messages++;
        return;
    }
    // Lease messages may come again at any time; a renewal may not: it would go on for a holder that
    // has gone.
    struct lh_peer *peer = lh_peers_find(host, node);
    if (peer->behind.ns > CALL_LATE) {
        peer->stale_count++;
        return;
    }
    if (host->requests.of_peers == LH_REQUESTS_OF_PEERS_MAX || waits_already(host, node, message))
        return; // it asks again
    struct lh_request *request = lh_request_new(host, (enum lh_request_kind)message->call, now);
    if (request == NULL)
        return;
    host->requests.of_peers++;
    request->peer = node;
    request->nonce = message->nonce;
    request->token = message->entry.token;
    request->ttl = message->entry.ttl;
    request->timeout = message->timeout;
    request->name_size = (uint8_t)message->entry.name.size_bytes;
    memcpy(request->name, message->entry.name.data, message->entry.name.size_bytes);
    request->holder_size = (uint8_t)message->entry.holder.size_bytes;
    if (request->holder_size > 0)
        memcpy(request->holder, message->entry.holder.data, request->holder_size);
    struct lh_result done = {.status = LH_STATUS_RELEASED,
                             .name = lh_request_name(request),
                             .token = request->token,
                             .node = host->config.node};
    if (message->call == LH_REQUEST_RELEASE && was_released(host, node, message->nonce))
        lh_request_answer(host, request, &done, effects);
    else
        lh_request_submit(host, request, now, effects);
}

// --- at the node that asked ---

void lh_query_on_return(struct lh_host *host, const struct lh_host_message *message,
                        struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = lh_query_of(host, message->nonce);
    if (query == NULL || query->kind != LH_QUERY_CALL || message->call > LH_STATUS_BUSY ||
        message->reason >= LH_REASON_COUNT)
        return;
    struct lh_result result = {
        .status = (enum lh_status)message->call,
        .reason = (enum lh_reason)message->reason,
        .name = lh_query_name(host, query),
        .holder = message->entry.holder,
        .token = message->entry.token,
        .node = message->entry.node,
        .renewals = message->entry.renewals,
        .revoked = message->entry.revoked,
        .ttl = message->entry.ttl,
        .until_ns = message->until_ns,
        .free_in = message->entry.remaining,
        .ends_in = message->entry.remaining,
    };
    lh_query_finish(host, query, &result, now, effects);
}

void lh_query_call_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    if (lh_before(now, query->ends_at)) {
        send_call(host, query, now, effects);
        return;
    }
    struct lh_result result = {.status = LH_STATUS_NOQUORUM,
                               .reason = LH_REASON_OWNER_SILENT,
                               .name = lh_query_name(host, query),
                               .node = host->config.members[query->member]};
    lh_query_finish(host, query, &result, now, effects);
}
