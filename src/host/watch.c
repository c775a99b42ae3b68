// Subscriptions: see watch.h.
#include "host/watch.h"

#include "base/assert.h"
#include "host/host_internal.h"

#define ASK_EVERY (250 * LH_NS_PER_MS)
#define ROOM_EVERY (20 * LH_NS_PER_MS) // while as many questions are under way as there may be

static struct lh_watch *find(const struct lh_host *host, uint32_t session, uint32_t lease)
{
    for (uint32_t at = lh_tenant_of(&host->tenants, lease)->watches; at != 0;) {
        struct lh_watch *watch = lh_watch_get(&host->watches, at);
        if (watch->session == session)
            return watch;
        at = watch->next_of_lease;
    }
    return NULL;
}

static uint32_t take(struct lh_watches *watches)
{
    uint32_t id = watches->free;
    if (id != 0)
        watches->free = watches->pool[id - 1].next_of_lease;
    else if (watches->used < watches->capacity)
        id = ++watches->used;
    return id;
}

bool lh_watch_add(struct lh_host *host, uint32_t session, struct lh_slice name,
                  struct lh_instant now, struct lh_host_effects *effects)
{
    enum lh_reason reason = LH_REASON_NONE;
    uint32_t lease = lh_tenant_open(host, name, lh_host_key(host, name), &reason);
    if (lease == 0)
        return false;
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease);
    struct lh_watch *watch = find(host, session, lease);
    if (watch == NULL) {
        uint32_t id = take(&host->watches);
        if (id == 0) {
            lh_tenant_settle(host, lease);
            return false;
        }
        watch = lh_watch_get(&host->watches, id);
        struct lh_session *owner = &host->sessions.sessions[session];
        *watch = (struct lh_watch){.session = session,
                                   .lease = lease,
                                   .next_of_lease = tenant->watches,
                                   .next_of_session = owner->watches};
        tenant->watches = owner->watches = id;
        owner->watch_count++;
    }
    watch->fresh = true;
    if (tenant->watch_query == 0)
        lh_watch_ask(host, lease, now, effects);
    return true;
}

static void unlink_watch(struct lh_host *host, struct lh_watch *watch)
{
    uint32_t id = (uint32_t)(watch - host->watches.pool) + 1;
    uint32_t lease = watch->lease;
    struct lh_session *session = &host->sessions.sessions[watch->session];
    uint32_t *link = &lh_tenant_of(&host->tenants, lease)->watches;
    while (*link != id)
        link = &lh_watch_get(&host->watches, *link)->next_of_lease;
    *link = watch->next_of_lease;
    link = &session->watches;
    while (*link != id)
        link = &lh_watch_get(&host->watches, *link)->next_of_session;
    *link = watch->next_of_session;
    session->watch_count--;
    *watch = (struct lh_watch){.next_of_lease = host->watches.free};
    host->watches.free = id;
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease);
    if (tenant->watches == 0 && tenant->watch_query != 0) {
        lh_query_cancel(host, tenant->watch_query);
        tenant->watch_query = 0;
    }
    lh_tenant_settle(host, lease);
}

bool lh_watch_remove(struct lh_host *host, uint32_t session, struct lh_slice name)
{
    const struct lh_lease *lease = lh_machine_find(&host->machine, lh_host_key(host, name));
    struct lh_watch *watch = lease != NULL ? find(host, session, lease->id) : NULL;
    if (watch == NULL)
        return false;
    unlink_watch(host, watch);
    return true;
}

void lh_watch_remove_all(struct lh_host *host, uint32_t session)
{
    while (host->sessions.sessions[session].watches != 0)
        unlink_watch(host, lh_watch_get(&host->watches, host->sessions.sessions[session].watches));
}

void lh_watch_ask(struct lh_host *host, uint32_t lease, struct lh_instant now,
                  struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease);
    tenant->watch_query = lh_query_watch(host, lease, now, effects);
    int64_t again_ns = tenant->watch_query != 0 ? ASK_EVERY : ROOM_EVERY;
    tenant->watch_at = lh_after(now, (struct lh_duration){again_ns});
    lh_tenant_settle(host, lease);
}

// Leaves out a change that a watcher does not read; what it was told first stays number 1.
static void leave_out(struct lh_host *host, struct lh_watch *watch, bool changed)
{
    if (changed && watch->sequence > 0) {
        watch->sequence++;
        host->sessions.left_out++;
    }
    watch->fresh = true;
}

void lh_watch_result(struct lh_host *host, uint32_t lease, const struct lh_result *result,
                     struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease);
    bool known = result->status == LH_STATUS_HELD || result->status == LH_STATUS_FREE;
    // An owner that fell silent still holds what it held; members that differ will agree soon.
    bool same =
        !known ||
        (tenant->watch_status == result->status &&
         ((result->token == tenant->watch_token && result->revoked == tenant->watch_revoked) ||
          (result->token == LH_BALLOT_NONE && result->node == tenant->watch_node)));
    bool whole = result->status == LH_STATUS_FREE ||
                 (result->status == LH_STATUS_HELD && result->token != LH_BALLOT_NONE);
    bool nobody_knows = result->status == LH_STATUS_NOQUORUM;
    struct lh_result told = *result;
    if (!known)
        told.status = LH_STATUS_UNDECIDED;
    tenant->watch_query = 0;
    for (uint32_t at = tenant->watches; at != 0;) {
        struct lh_watch *watch = lh_watch_get(&host->watches, at);
        at = watch->next_of_lease;
        bool owed = watch->fresh || (whole && watch->unsure) || (known && watch->blind) ||
                    (nobody_knows && !watch->blind);
        if (same && !owed)
            continue;
        if (host->sessions.sessions[watch->session].backlogged) {
            leave_out(host, watch, !same);
            continue;
        }
        watch->fresh = false;
        watch->unsure = !whole;
        watch->blind = !known;
        watch->sequence++;
        lh_session_publish(host, watch, &told, effects);
    }
    if (known && !same) {
        tenant->watch_status = (uint8_t)result->status;
        tenant->watch_token = result->token;
        tenant->watch_node = result->node;
        tenant->watch_revoked = result->revoked;
    }
    tenant->watch_at = lh_earlier(tenant->watch_at, lh_after(now, (struct lh_duration){ASK_EVERY}));
    lh_tenant_settle(host, lease);
}

struct lh_slice lh_watch_name(const struct lh_host *host, const struct lh_watch *watch,
                              uint8_t buffer[LH_NAME_MAX_BYTES])
{
    return lh_texts_get(&host->tenants.texts, lh_tenant_of(&host->tenants, watch->lease)->name,
                        buffer);
}
