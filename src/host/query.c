// Questions to the other members: see query.h. This file keeps them, finds what an answer is for
// and what is due, and ends them.
#include "host/query.h"

#include "host/host_internal.h"
#include "host/query_internal.h"

struct lh_query *lh_query_new(struct lh_host *host, enum lh_query_kind kind,
                              struct lh_request *request, struct lh_instant now)
{
    struct lh_queries *queries = &host->queries;
    uint32_t id = queries->free;
    if (id != 0)
        queries->free = queries->pool[id - 1].next;
    else if (queries->used < LH_QUERIES_MAX)
        id = ++queries->used;
    else
        return NULL;
    struct lh_query *query = &queries->pool[id - 1];
    // The entries are left as they are: 48 KiB that only LIST uses.
    memset(query, 0, offsetof(struct lh_query, entries));
    host->queries.count++;
    query->id = id;
    query->kind = kind;
    query->nonce = (lh_prng_next(&host->prng) & ~(uint64_t)UINT32_MAX) | id;
    query->asked_at = now;
    if (request != NULL) {
        query->request = request->id;
        query->key = request->key;
        query->ends_at = lh_after(now, request->timeout);
        request->query = id;
    }
    return query;
}

bool lh_query_has_room(const struct lh_host *host)
{
    return host->queries.count < LH_QUERIES_MAX;
}

struct lh_query *lh_query_of(struct lh_host *host, uint64_t nonce)
{
    uint32_t id = (uint32_t)nonce;
    if (id == 0 || id > host->queries.used)
        return NULL;
    struct lh_query *query = &host->queries.pool[id - 1];
    return query->id != 0 && query->nonce == nonce ? query : NULL;
}

void lh_query_cancel(struct lh_host *host, uint32_t id)
{
    struct lh_query *query = &host->queries.pool[id - 1];
    lh_wheel_cancel(&host->wheel, &query->timer);
    host->queries.count--;
    query->id = 0;
    query->next = host->queries.free;
    host->queries.free = id;
}

void lh_query_finish(struct lh_host *host, struct lh_query *query, const struct lh_result *result,
                     struct lh_instant now, struct lh_host_effects *effects)
{
    uint32_t lease = query->lease;
    struct lh_request *request = query->request != 0 ? lh_request_get(host, query->request) : NULL;
    if (request != NULL)
        request->query = 0;
    lh_query_cancel(host, query->id);
    if (request != NULL && request->kind == LH_REQUEST_ACQUIRE)
        lh_tenant_owner_said(host, request, result, now, effects);
    else if (request != NULL)
        lh_request_answer(host, request, result, effects);
    else
        lh_watch_result(host, lease, result, now, effects);
}

void lh_query_await(struct lh_host *host, struct lh_query *query, struct lh_instant now)
{
    struct lh_duration left = lh_left(now, query->ends_at);
    bool last = left.ns < LH_QUERY_ROUND_LASTS + LH_QUERY_ROUND_LASTS / 2;
    lh_wheel_schedule(&host->wheel, &query->timer,
                      last ? query->ends_at
                           : lh_after(now, (struct lh_duration){LH_QUERY_ROUND_LASTS}));
}

void lh_query_no_room(struct lh_host *host, struct lh_request *request,
                      struct lh_host_effects *effects)
{
    struct lh_result result = {.status = LH_STATUS_BUSY,
                               .reason = LH_REASON_FULL_REQUESTS,
                               .name = lh_request_name(request)};
    lh_request_answer(host, request, &result, effects);
}

struct lh_slice lh_query_name(struct lh_host *host, const struct lh_query *query)
{
    if (query->request == 0)
        return (struct lh_slice){NULL, 0};
    return lh_request_name(lh_request_get(host, query->request));
}

void lh_query_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                  struct lh_host_effects *effects)
{
    switch (query->kind) {
    case LH_QUERY_STATE: lh_query_state_due(host, query, now, effects); break;
    case LH_QUERY_PAGES: lh_query_list_due(host, query, now, effects); break;
    case LH_QUERY_CALL: lh_query_call_due(host, query, now, effects); break;
    }
}

void lh_query_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    unsigned member = 0;
    while (host->config.members[member] != node)
        member++;
    switch (message->kind) {
    case LH_HOST_QUERY: lh_query_on_query(host, node, message, now, effects); break;
    case LH_HOST_STATE: lh_query_on_state(host, member, message, now, effects); break;
    case LH_HOST_CALL: lh_query_on_call(host, node, message, now, effects); break;
    case LH_HOST_RETURN: lh_query_on_return(host, message, now, effects); break;
    case LH_HOST_PAGE_ASK: lh_query_on_page_ask(host, node, message, now, effects); break;
    case LH_HOST_PAGE: lh_query_on_page(host, member, message, now, effects); break;
    case LH_HOST_PING:
    case LH_HOST_ASK:
    case LH_HOST_KNOWN:
    case LH_HOST_ANNOUNCE:
    case LH_HOST_RECORDED:
    case LH_HOST_REFUSAL: break;
    }
}
