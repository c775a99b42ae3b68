// Tenants: see tenant.h. This file keeps the queue of a name and acquires it for whoever is first.
#include "host/tenant.h"

#include "base/hash.h"
#include "host/host_internal.h"
#include "host/tenant_internal.h"

#define ASKS_MAX 6 // of who does not wait: several that try at once may have to try again
#define TURN_LASTS LH_NS_PER_S
#define REWAKES 3
#define START_RETRY (20 * LH_NS_PER_MS)

static uint64_t hash_of(struct lh_slice holder)
{
    return lh_hash_bytes(LH_HASH_START, holder);
}

static uint64_t turn_hash(const struct lh_request *request)
{
    return hash_of(lh_request_holder(request)) ^ request->id_hash;
}

// --- the queue ---

void lh_tenant_enqueue(struct lh_host *host, struct lh_tenant *tenant, struct lh_request *request,
                       bool in_front)
{
    uint32_t *queue = &tenant->queue;
    request->previous = in_front ? 0 : tenant->queue_end;
    while (
        request->previous != 0 && // who asked the owner meanwhile does not lose its place
        lh_before(request->waiting_since, lh_request_get(host, request->previous)->waiting_since))
        request->previous = lh_request_get(host, request->previous)->previous;
    request->next = request->previous == 0 ? *queue : lh_request_get(host, request->previous)->next;
    if (request->next != 0)
        lh_request_get(host, request->next)->previous = request->id;
    else
        tenant->queue_end = request->id;
    if (request->previous != 0)
        lh_request_get(host, request->previous)->next = request->id;
    else
        *queue = request->id;
    host->tenants.waiting++;
}

void lh_tenant_dequeue(struct lh_host *host, struct lh_tenant *tenant, struct lh_request *request)
{
    if (request->next != 0)
        lh_request_get(host, request->next)->previous = request->previous;
    else
        tenant->queue_end = request->previous;
    if (request->previous != 0)
        lh_request_get(host, request->previous)->next = request->next;
    else
        tenant->queue = request->next;
    request->next = request->previous = 0;
    host->tenants.waiting--;
}

// --- the tenant's own clock ---

// Who waits behind a lease or an attempt of our own is called by what becomes of it, and looks
// after it when it must have ended.
static void arm(struct lh_host *host, uint32_t id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_proposer *proposer = &lh_tenant_lease(host, id)->proposer;
    struct lh_instant at = LH_NEVER;
    if (tenant->turn_given) {
        at = tenant->turn_ends;
    } else if (tenant->handing_over) {
        at = tenant->blocked_until;
    } else if (tenant->queue != 0 && tenant->active == 0) {
        at = tenant->blocked_until;
        if (proposer->held != LH_BALLOT_NONE)
            at = lh_later(at, proposer->until);
        if (proposer->phase != LH_IDLE)
            at = lh_later(at, proposer->td);
    }
    if (tenant->watches != 0 && tenant->watch_query == 0)
        at = lh_earlier(at, tenant->watch_at);
    if (lh_tenant_orphan_ready(host, id))
        at = LH_PAST;
    if (at.ns == LH_NEVER.ns)
        lh_wheel_cancel(&host->wheel, &tenant->timer);
    else
        lh_wheel_schedule(&host->wheel, &tenant->timer, at);
}

uint32_t lh_tenant_open(struct lh_host *host, struct lh_slice name, struct lh_key key,
                        enum lh_reason *ret_reason)
{
    struct lh_lease *lease = lh_machine_open(&host->machine, key);
    if (lease == NULL) {
        *ret_reason = LH_REASON_FULL_LEASES;
        return 0;
    }
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease->id);
    if (tenant->name == 0 && !lh_texts_put(&host->tenants.texts, name, &tenant->name)) {
        lh_machine_close(&host->machine, lease);
        *ret_reason = LH_REASON_FULL_TEXT;
        return 0;
    }
    return lease->id;
}

void lh_tenant_settle(struct lh_host *host, uint32_t id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_lease *lease = lh_tenant_lease(host, id);
    lease->waits = tenant->queue != 0 || tenant->turn_given;
    arm(host, id);
    if (lease->want != LH_WANT_NOTHING || lease->proposer.phase != LH_IDLE ||
        lease->proposer.held != LH_BALLOT_NONE || tenant->active != 0 || tenant->queue != 0 ||
        tenant->answering != 0 || tenant->turn_given || tenant->handing_over ||
        tenant->watches != 0)
        return;
    lh_wheel_cancel(&host->wheel, &tenant->timer);
    lh_texts_drop(&host->tenants.texts, tenant->name);
    lh_texts_drop(&host->tenants.texts, tenant->holder);
    *tenant = (struct lh_tenant){0};
    lh_machine_close(&host->machine, lease);
}

// --- acquiring ---

static void activate(struct lh_host *host, uint32_t id, struct lh_request *request,
                     struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->active = request->id;
    tenant->handing_over = false;
    request->active = true;
    lh_wheel_schedule(&host->wheel, &request->timer, lh_after(now, request->timeout));
    // The owner remembers from the Prepare that this node wants to hear of a release; so it must even
    // of a client that does not wait, since it asks to wait once it is told who holds the lease.
    lh_machine_acquire(&host->machine, lh_tenant_lease(host, id), now, request->ttl,
                       request->waiting_since, &host->lease_effects);
    lh_host_settle(host, now, effects);
}

// The longest waiting client is woken; it has a second to ask afresh.
static void give_turn(struct lh_host *host, uint32_t id, struct lh_request *request,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->turn_given = true;
    tenant->turn_hash = turn_hash(request);
    tenant->turn_since = request->waiting_since;
    tenant->turn_ends = lh_after(now, (struct lh_duration){TURN_LASTS});
    lh_tenant_answer_plain(host, request, LH_STATUS_TURN, LH_REASON_YOUR_TURN, effects);
}

void lh_tenant_next(struct lh_host *host, uint32_t id, struct lh_instant now,
                    struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool busy = tenant->active != 0 || tenant->turn_given ||
                lh_tenant_lease(host, id)->proposer.phase != LH_IDLE ||
                lh_tenant_holds(host, id, now);
    if (busy || tenant->queue == 0 || lh_before(now, tenant->blocked_until)) {
        lh_tenant_settle(host, id);
        return;
    }
    if (!lh_identity_acts(&host->identity)) {
        tenant->blocked_until = lh_after(now, (struct lh_duration){START_RETRY});
        lh_tenant_settle(host, id);
        return;
    }
    struct lh_request *request = lh_request_get(host, tenant->queue);
    lh_tenant_dequeue(host, tenant, request);
    if (request->waited)
        give_turn(host, id, request, now, effects);
    else
        activate(host, id, request, now, effects);
    lh_tenant_settle(host, id);
}

// Of those that wait, one asks for all.
static bool owner_is_known(const struct lh_tenant *tenant, const struct lh_request *request,
                           struct lh_instant now)
{
    if (request->wait.ns == 0)
        return false;
    if (tenant->told_of == tenant->blocker)
        return tenant->told_hash != hash_of(lh_request_holder(request));
    return tenant->asked_of == tenant->blocker && lh_before(now, tenant->asked_until);
}

bool lh_tenant_ask_owner(struct lh_host *host, uint32_t id, struct lh_request *request,
                         struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    uint8_t owner = lh_ballot_node(tenant->blocker);
    const struct lh_peer *peer = lh_peers_find(host, owner);
    if (request->asks >= (request->wait.ns == 0 ? ASKS_MAX : 1) ||
        tenant->blocker == LH_BALLOT_NONE || owner == host->config.node || peer == NULL ||
        !peer->up || !lh_query_has_room(host) || owner_is_known(tenant, request, now))
        return false;
    request->asks++;
    tenant->asked_of = tenant->blocker;
    tenant->asked_until = lh_after(now, (struct lh_duration){LH_QUERY_OWNER_PATIENCE});
    request->lease = 0;
    lh_wheel_cancel(&host->wheel, &request->timer);
    lh_query_call(host, request, owner, now, effects);
    return true;
}

// A retry of a request that was answered: the same lease if it lives, else the news that it ended.
// Of a lease that was revoked neither: its holder has nothing more to gain from it, and may wait.
static bool answer_repeat(struct lh_host *host, uint32_t id, struct lh_request *request,
                          struct lh_instant now, struct lh_host_effects *effects)
{
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (lh_tenant_holds(host, id, now) && lh_tenant_is_holder(host, tenant, request)) {
        if (tenant->revoked && request->wait.ns > 0)
            return false;
        lh_tenant_answer_own(host, id, request, now, effects);
        return true;
    }
    uint64_t hash = request->id_hash;
    if (hash == 0 || host->tenants.recent[hash & (LH_RECENT_IDS - 1)].hash != hash)
        return false;
    request->token = host->tenants.recent[hash & (LH_RECENT_IDS - 1)].token;
    lh_tenant_answer_lost(host, id, request, LH_REASON_ENDED, now, effects);
    return true;
}

void lh_tenant_acquire(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    enum lh_reason reason = LH_REASON_NONE;
    uint32_t id = lh_tenant_open(host, lh_request_name(request), request->key, &reason);
    if (id == 0) {
        lh_tenant_answer_plain(host, request, LH_STATUS_BUSY, reason, effects);
        return;
    }
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (answer_repeat(host, id, request, now, effects)) {
        lh_tenant_settle(host, id);
        return;
    }
    if (lh_tenant_holds(host, id, now) && request->wait.ns == 0) {
        lh_tenant_answer_held(host, id, request, LH_REASON_OTHER_HOLDER, now, effects);
        return;
    }
    request->lease = id;
    bool my_turn = tenant->turn_given && tenant->turn_hash == turn_hash(request);
    if (my_turn) {
        tenant->turn_given = false;
        request->waiting_since = tenant->turn_since;
    }
    if (request->wait.ns == 0 && tenant->queue == 0 && tenant->blocker != LH_BALLOT_NONE)
        tenant->blocked_until = now; // what is known may be old; it is tried
    bool blocked = tenant->blocker != LH_BALLOT_NONE && lh_before(now, tenant->blocked_until);
    request->waited = lh_tenant_holds(host, id, now) || blocked || (!my_turn && tenant->queue != 0);
    if (blocked && !my_turn && lh_tenant_ask_owner(host, id, request, now, effects)) {
        lh_tenant_settle(host, id);
        return;
    }
    lh_tenant_enqueue(host, tenant, request, my_turn);
    struct lh_duration patience =
        request->wait.ns > request->timeout.ns ? request->wait : request->timeout;
    if (request->waited)
        patience = request->wait;
    lh_wheel_schedule(&host->wheel, &request->timer, lh_after(request->received_at, patience));
    lh_tenant_next(host, id, now, effects);
}

void lh_tenant_hand_back(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                         struct lh_host_effects *effects)
{
    const struct lh_lease *lease = lh_machine_find(&host->machine, request->key);
    if (lease == NULL || !lh_proposer_holds(&lease->proposer, now))
        lh_tenant_answer_plain(host, request, LH_STATUS_FREE, LH_REASON_NOT_HELD, effects);
    else if (lh_tenant_is_holder(host, lh_tenant_of(&host->tenants, lease->id), request))
        lh_tenant_answer_own(host, lease->id, request, now, effects);
    else
        lh_tenant_answer_held(host, lease->id, request, LH_REASON_OTHER_HOLDER, now, effects);
}

// Whoever else waits here need not ask, unless it is that very holder.
static void learn_owner(struct lh_host *host, uint32_t id, const struct lh_result *result,
                        struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (result->status != LH_STATUS_HELD || lh_ballot_node(tenant->asked_of) != result->node)
        return;
    tenant->told_of = tenant->asked_of;
    tenant->told_hash = hash_of(result->holder);
    for (uint32_t at = tenant->queue; at != 0; at = lh_request_get(host, at)->next) {
        struct lh_request *request = lh_request_get(host, at);
        if (hash_of(lh_request_holder(request)) != tenant->told_hash || request->asks > 0)
            continue;
        lh_tenant_dequeue(host, tenant, request);
        if (!lh_tenant_ask_owner(host, id, request, now, effects))
            lh_tenant_enqueue(host, tenant, request, false);
        return;
    }
}

void lh_tenant_owner_said(struct lh_host *host, struct lh_request *request,
                          const struct lh_result *result, struct lh_instant now,
                          struct lh_host_effects *effects)
{
    if (result->status == LH_STATUS_NOQUORUM) // silent: it is not asked again
        request->asks = ASKS_MAX;
    const struct lh_lease *lease = lh_machine_find(&host->machine, request->key);
    if (lease != NULL)
        learn_owner(host, lease->id, result, now, effects);
    if (result->status == LH_STATUS_GRANTED ||
        (result->status == LH_STATUS_HELD && request->wait.ns == 0))
        lh_request_answer(host, request, result, effects);
    else
        lh_tenant_acquire(host, request, now, effects);
}

// --- what time and clients that go away do ---

// Nobody was heard to take what was let go: they may not have heard of it.
static void hand_over_again(struct lh_host *host, uint32_t id, struct lh_instant now,
                            struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->handing_over = tenant->rewakes < REWAKES && tenant->queue == 0;
    if (!tenant->handing_over)
        return;
    tenant->rewakes++;
    tenant->blocked_until = lh_after(now, lh_tenant_patience(host, tenant->rewakes));
    lh_machine_release_again(&host->machine, lh_tenant_lease(host, id), &host->lease_effects);
    lh_host_settle(host, now, effects);
}

void lh_tenant_due(struct lh_host *host, uint32_t id, struct lh_instant now,
                   struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (tenant->turn_given && !lh_before(now, tenant->turn_ends))
        tenant->turn_given = false; // it did not come
    if (tenant->handing_over && !lh_before(now, tenant->blocked_until))
        hand_over_again(host, id, now, effects);
    if (lh_tenant_orphan_due(host, id, now, effects))
        return;
    if (tenant->watches != 0 && tenant->watch_query == 0 && !lh_before(now, tenant->watch_at))
        lh_watch_ask(host, id, now, effects);
    lh_tenant_next(host, id, now, effects);
}

void lh_tenant_cancel(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    uint32_t id = request->lease;
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    request->lease = 0;
    if (request->kind != LH_REQUEST_ACQUIRE) {
        lh_tenant_cancel_renewal(host, id, request);
    } else if (request->active) {
        tenant->active = 0; // if it is won all the same, it is let go
        lh_machine_stop(&host->machine, lh_tenant_lease(host, id));
    } else {
        lh_tenant_dequeue(host, tenant, request);
    }
    lh_tenant_next(host, id, now, effects);
}

static enum lh_reason why_held(const struct lh_request *request)
{
    if (request->wait.ns > 0)
        return LH_REASON_WAITED;
    return request->asks > 1 ? LH_REASON_OTHER_ATTEMPT : LH_REASON_OTHER_HOLDER;
}

// An ACQUIRE has waited for as long as it was to.
static void acquire_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    uint32_t id = request->lease;
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool in_the_way = request->waited && !request->active;
    bool repeats =
        in_the_way && lh_tenant_holds(host, id, now) && lh_tenant_is_holder(host, tenant, request);
    if (!in_the_way) {
        lh_tenant_cancel(host, request, now, effects);
        lh_tenant_answer_plain(host, request, LH_STATUS_NOQUORUM, lh_request_why_no_quorum(host),
                               effects);
        return;
    }
    lh_tenant_dequeue(host, tenant, request);
    request->lease = 0;
    if (repeats)
        lh_tenant_answer_own(host, id, request, now, effects);
    else if (!lh_tenant_ask_owner(host, id, request, now, effects))
        lh_tenant_answer_held(host, id, request, why_held(request), now, effects);
    lh_tenant_next(host, id, now, effects);
}

void lh_tenant_request_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    if (request->kind == LH_REQUEST_RELEASE)
        lh_tenant_release_due(host, request, now, effects);
    else if (request->kind == LH_REQUEST_RENEW)
        lh_tenant_renew_due(host, request, now, effects);
    else
        acquire_due(host, request, now, effects);
}
