// Requests: see request.h. Which part of the host serves what, and who gets the result.
#include "host/request.h"

#include "base/assert.h"
#include "host/host_internal.h"

const char *lh_status_name(enum lh_status status)
{
    static const char *const names[] = {
#define LH_STATUS_NAME(name, text) text,
        LH_STATUSES(LH_STATUS_NAME)
#undef LH_STATUS_NAME
    };
    return names[status];
}

const char *lh_reason_text(enum lh_reason reason)
{
    static const char *const texts[] = {
#define LH_REASON_TEXT(name, text) text,
        LH_REASONS(LH_REASON_TEXT)
#undef LH_REASON_TEXT
    };
    return texts[reason];
}

enum lh_reason lh_request_why_no_quorum(const struct lh_host *host)
{
    if (!lh_identity_acts(&host->identity))
        return LH_REASON_STARTING;
    return host->identity.state == LH_IDENTITY_QUARANTINE ? LH_REASON_QUARANTINE
                                                          : LH_REASON_NO_MAJORITY;
}

struct lh_request *lh_request_new(struct lh_host *host, enum lh_request_kind kind,
                                  struct lh_instant now)
{
    struct lh_requests *requests = &host->requests;
    uint32_t id = requests->free;
    if (id != 0)
        requests->free = requests->pool[id - 1].next;
    else if (requests->used < requests->capacity)
        id = ++requests->used;
    else
        return NULL;
    struct lh_request *request = &requests->pool[id - 1];
    *request =
        (struct lh_request){.id = id, .kind = kind, .received_at = now, .waiting_since = now};
    return request;
}

struct lh_request *lh_request_get(struct lh_host *host, uint32_t id)
{
    LH_ASSERT(id >= 1 && id <= host->requests.used);
    LH_ASSERT_EQ(host->requests.pool[id - 1].id, id);
    return &host->requests.pool[id - 1];
}

static void free_request(struct lh_host *host, struct lh_request *request)
{
    lh_wheel_cancel(&host->wheel, &request->timer);
    uint32_t id = request->id;
    host->requests.of_peers -= request->peer != 0;
    request->id = 0;
    request->next = host->requests.free;
    host->requests.free = id;
}

// Renew and release go to the node that owns the lease: the token names it.
static void submit_to_owner(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                            struct lh_host_effects *effects)
{
    uint8_t owner = lh_ballot_node(request->token);
    bool elsewhere =
        owner != host->config.node && request->peer == 0 && lh_peers_find(host, owner) != NULL;
    if (elsewhere)
        lh_query_call(host, request, owner, now, effects);
    else if (request->kind == LH_REQUEST_RENEW)
        lh_tenant_renew(host, request, now, effects);
    else
        lh_tenant_release(host, request, now, effects);
}

void lh_request_submit(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    request->key = lh_host_key(host, lh_request_name(request));
    switch (request->kind) {
    case LH_REQUEST_ACQUIRE:
        if (request->peer == 0)
            lh_tenant_acquire(host, request, now, effects);
        else
            lh_tenant_hand_back(host, request, now, effects);
        break;
    case LH_REQUEST_RENEW:
    case LH_REQUEST_RELEASE: submit_to_owner(host, request, now, effects); break;
    case LH_REQUEST_REVOKE:
        if (lh_tenant_revoke(host, request, now, effects))
            break;
        if (request->peer == 0) {
            lh_query_get(host, request, now, effects);
            break;
        }
        lh_request_answer(host, request,
                          &(struct lh_result){.status = LH_STATUS_FREE,
                                              .reason = LH_REASON_NOT_HELD,
                                              .name = lh_request_name(request)},
                          effects);
        break;
    case LH_REQUEST_GET: lh_query_get(host, request, now, effects); break;
    case LH_REQUEST_LIST: lh_query_list(host, request, now, effects); break;
    }
}

static void return_to_peer(const struct lh_request *request, const struct lh_result *result,
                           struct lh_host_effects *effects)
{
    struct lh_host_message message = {
        .kind = LH_HOST_RETURN,
        .nonce = request->nonce,
        .call = (uint8_t)result->status,
        .reason = (uint8_t)result->reason,
        .until_ns = result->until_ns,
        .entry = {.name = result->name,
                  .holder = result->holder,
                  .token = result->token,
                  .node = result->node,
                  .renewals = result->renewals,
                  .remaining = result->status == LH_STATUS_HELD ? result->free_in : result->ends_in,
                  .ttl = result->ttl,
                  .revoked = result->revoked},
    };
    lh_host_send(effects, request->peer, &message, 0);
}

void lh_request_answer(struct lh_host *host, struct lh_request *request,
                       const struct lh_result *result, struct lh_host_effects *effects)
{
    if (request->peer != 0 && result->status == LH_STATUS_RELEASED)
        lh_query_released(host, request->peer, request->nonce);
    if (request->peer != 0)
        return_to_peer(request, result, effects);
    else
        lh_session_answer(host, request, result, effects);
    free_request(host, request);
}

void lh_request_cancel(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    if (request->query != 0)
        lh_query_cancel(host, request->query);
    if (request->lease != 0)
        lh_tenant_cancel(host, request, now, effects);
    free_request(host, request);
}
