// Tenants: see tenant.h.
#include "host/tenant.h"

#include "base/assert.h"
#include "base/hash.h"
#include "host/host_internal.h"

#define TURN_LASTS LH_NS_PER_S
#define START_RETRY (20 * LH_NS_PER_MS)
#define SLOT_MIN (2 * LH_NS_PER_MS)

static void next(struct lh_host *host, uint32_t id, struct lh_instant now,
                 struct lh_host_effects *effects);

static struct lh_lease *lease_of(struct lh_host *host, uint32_t id)
{
    return lh_machine_lease(&host->machine, id);
}

static bool holds(struct lh_host *host, uint32_t id, struct lh_instant now)
{
    return lh_proposer_holds(&lease_of(host, id)->proposer, now);
}

static uint64_t holder_hash(const struct lh_request *request)
{
    return lh_hash_bytes(LH_HASH_START, lh_request_holder(request)) ^ request->id_hash;
}

static bool is_holder(const struct lh_host *host, const struct lh_tenant *tenant,
                      const struct lh_request *request)
{
    return tenant->holder != 0 &&
           lh_texts_equal(&host->tenants.texts, tenant->holder, lh_request_holder(request));
}

// --- lists ---

static void enqueue(struct lh_host *host, struct lh_tenant *tenant, struct lh_request *request,
                    bool in_front)
{
    uint32_t *queue = &tenant->queue;
    request->next = in_front ? *queue : 0;
    request->previous = in_front ? 0 : tenant->queue_end;
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

static void dequeue(struct lh_host *host, struct lh_tenant *tenant, struct lh_request *request)
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

// --- answers ---

static void answer_plain(struct lh_host *host, struct lh_request *request, enum lh_status status,
                         enum lh_reason reason, struct lh_instant now,
                         struct lh_host_effects *effects)
{
    struct lh_result result = {
        .status = status, .reason = reason, .name = lh_request_name(request)};
    lh_request_answer(host, request, &result, now, effects);
}

// td minus the clock read after this very request was received: what the client's own deadline is
// made of.
static int64_t until_for(struct lh_host *host, uint32_t id, const struct lh_request *request)
{
    return lease_of(host, id)->proposer.until.ns - request->received_at.ns;
}

static void answer_granted(struct lh_host *host, uint32_t id, struct lh_request *request,
                           struct lh_instant now, struct lh_host_effects *effects)
{
    uint8_t holder[LH_TEXT_MAX_BYTES];
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_result result = {
        .status = LH_STATUS_GRANTED,
        .name = lh_request_name(request),
        .holder = lh_texts_get(&host->tenants.texts, tenant->holder, holder),
        .token = tenant->token,
        .node = host->config.node,
        .ttl = lease_of(host, id)->ttl,
        .until_ns = until_for(host, id, request),
        .renewals = tenant->renewals,
    };
    lh_request_answer(host, request, &result, now, effects);
}

// Somebody else has it: what is known of whom, and when it can be free at the earliest.
static void answer_held(struct lh_host *host, uint32_t id, struct lh_request *request,
                        enum lh_reason reason, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    uint8_t holder[LH_TEXT_MAX_BYTES];
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lease_of(host, id);
    struct lh_result result = {
        .status = LH_STATUS_HELD, .reason = reason, .name = lh_request_name(request)};
    if (lh_proposer_holds(&lease->proposer, now)) {
        struct lh_duration exclusion = lh_timing_exclusion(host->config.timing, lease->ttl);
        result.token = tenant->token;
        result.node = host->config.node;
        result.holder = lh_texts_get(&host->tenants.texts, tenant->holder, holder);
        result.free_in.ns = lh_left(now, lease->proposer.until).ns + (exclusion.ns - lease->ttl.ns);
    } else if (tenant->blocker != LH_BALLOT_NONE) {
        result.node = lh_ballot_node(tenant->blocker);
        result.free_in = lh_left(now, tenant->blocked_until);
    }
    lh_request_answer(host, request, &result, now, effects);
}

static void answer_lost(struct lh_host *host, uint32_t id, struct lh_request *request,
                        enum lh_reason reason, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    struct lh_result result = {.status = LH_STATUS_LOST,
                               .reason = reason,
                               .name = lh_request_name(request),
                               .token = request->token};
    // A holder that may not renew keeps what it has; a stranger has nothing.
    if (id != 0 && reason == LH_REASON_WAS_REVOKED && holds(host, id, now))
        result.until_ns = until_for(host, id, request);
    lh_request_answer(host, request, &result, now, effects);
}

static void tell_event(struct lh_host *host, uint32_t id, enum lh_event_kind kind,
                       struct lh_host_effects *effects)
{
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lease_of(host, id);
    struct lh_event *event = lh_host_event(effects, kind);
    event->key = lease->key;
    event->ballot = tenant->token;
    event->at = lease->proposer.until;
    event->name =
        lh_texts_get(&host->tenants.texts, tenant->name, lh_host_arena(effects, LH_TEXT_MAX_BYTES));
    event->holder = lh_texts_get(&host->tenants.texts, tenant->holder,
                                 lh_host_arena(effects, LH_TEXT_MAX_BYTES));
}

// --- the tenant's own clock ---

// Who waits behind a lease or an attempt of our own is called by what becomes of it, and looks
// after it when it must have ended.
static void arm(struct lh_host *host, uint32_t id)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_proposer *proposer = &lease_of(host, id)->proposer;
    struct lh_instant at = LH_NEVER;
    if (tenant->turn_given) {
        at = tenant->turn_ends;
    } else if (tenant->queue != 0 && tenant->active == 0) {
        at = tenant->blocked_until;
        if (proposer->held != LH_BALLOT_NONE)
            at = lh_later(at, proposer->until);
        if (proposer->phase != LH_IDLE)
            at = lh_later(at, proposer->td);
    }
    if (tenant->watches != 0 && tenant->watch_query == 0)
        at = lh_earlier(at, tenant->watch_at);
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
    struct lh_lease *lease = lease_of(host, id);
    arm(host, id);
    if (lease->want != LH_WANT_NOTHING || lease->proposer.phase != LH_IDLE ||
        lease->proposer.held != LH_BALLOT_NONE || tenant->active != 0 || tenant->queue != 0 ||
        tenant->answering != 0 || tenant->turn_given || tenant->watches != 0)
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
    request->active = true;
    lh_wheel_schedule(&host->wheel, &request->timer, lh_after(now, request->timeout));
    lh_machine_acquire(&host->machine, lease_of(host, id), now, request->ttl,
                       request->wait.ns > 0 ? request->waiting_since : LH_NEVER,
                       &host->lease_effects);
    lh_host_settle(host, now, effects);
}

// The longest waiting client is woken; it has a second to ask afresh.
static void give_turn(struct lh_host *host, uint32_t id, struct lh_request *request,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tenant->turn_given = true;
    tenant->turn_hash = holder_hash(request);
    tenant->turn_since = request->waiting_since;
    tenant->turn_ends = lh_after(now, (struct lh_duration){TURN_LASTS});
    answer_plain(host, request, LH_STATUS_TURN, LH_REASON_YOUR_TURN, now, effects);
}

// Goes on with whoever is next, if nothing is under way.
static void next(struct lh_host *host, uint32_t id, struct lh_instant now,
                 struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool busy = tenant->active != 0 || tenant->turn_given ||
                lease_of(host, id)->proposer.phase != LH_IDLE || holds(host, id, now);
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
    dequeue(host, tenant, request);
    if (request->waited)
        give_turn(host, id, request, now, effects);
    else
        activate(host, id, request, now, effects);
    lh_tenant_settle(host, id);
}

// The lease in the way may be this very holder's, acquired through the node that owns it. True if
// that node was asked; lh_tenant_owner_said goes on.
static bool ask_owner(struct lh_host *host, uint32_t id, struct lh_request *request,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    uint8_t owner = lh_ballot_node(tenant->blocker);
    const struct lh_peer *peer = lh_peers_find(host, owner);
    if (request->asked || tenant->blocker == LH_BALLOT_NONE || owner == host->config.node ||
        peer == NULL || !peer->up || !lh_query_has_room(host))
        return false;
    request->asked = true;
    request->lease = 0;
    lh_wheel_cancel(&host->wheel, &request->timer);
    lh_query_call(host, request, owner, now, effects);
    return true;
}

// A retry of a request that was answered: the same lease if it lives, else the news that it ended.
static bool answer_repeat(struct lh_host *host, uint32_t id, struct lh_request *request,
                          struct lh_instant now, struct lh_host_effects *effects)
{
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (holds(host, id, now) && is_holder(host, tenant, request)) {
        answer_granted(host, id, request, now, effects);
        return true;
    }
    uint64_t hash = request->id_hash;
    if (hash == 0 || host->tenants.recent[hash & (LH_RECENT_IDS - 1)].hash != hash)
        return false;
    request->token = host->tenants.recent[hash & (LH_RECENT_IDS - 1)].token;
    answer_lost(host, id, request, LH_REASON_ENDED, now, effects);
    return true;
}

void lh_tenant_acquire(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    enum lh_reason reason = LH_REASON_NONE;
    uint32_t id = lh_tenant_open(host, lh_request_name(request), request->key, &reason);
    if (id == 0) {
        answer_plain(host, request, LH_STATUS_BUSY, reason, now, effects);
        return;
    }
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (answer_repeat(host, id, request, now, effects)) {
        lh_tenant_settle(host, id);
        return;
    }
    if (holds(host, id, now) && request->wait.ns == 0) {
        answer_held(host, id, request, LH_REASON_OTHER_HOLDER, now, effects);
        return;
    }
    request->lease = id;
    bool my_turn = tenant->turn_given && tenant->turn_hash == holder_hash(request);
    if (my_turn) {
        tenant->turn_given = false;
        request->waiting_since = tenant->turn_since;
    }
    if (request->wait.ns == 0 && tenant->queue == 0 && tenant->blocker != LH_BALLOT_NONE)
        tenant->blocked_until = now; // what is known may be old; it is tried
    bool blocked = tenant->blocker != LH_BALLOT_NONE && lh_before(now, tenant->blocked_until);
    request->waited = !my_turn && (holds(host, id, now) || tenant->queue != 0 || blocked);
    if (blocked && !my_turn && ask_owner(host, id, request, now, effects)) {
        lh_tenant_settle(host, id);
        return;
    }
    enqueue(host, tenant, request, my_turn);
    struct lh_duration patience =
        request->wait.ns > request->timeout.ns ? request->wait : request->timeout;
    if (request->waited)
        patience = request->wait;
    lh_wheel_schedule(&host->wheel, &request->timer, lh_after(request->received_at, patience));
    next(host, id, now, effects);
}

void lh_tenant_hand_back(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                         struct lh_host_effects *effects)
{
    const struct lh_lease *lease = lh_machine_find(&host->machine, request->key);
    if (lease == NULL || !lh_proposer_holds(&lease->proposer, now))
        answer_plain(host, request, LH_STATUS_FREE, LH_REASON_NOT_HELD, now, effects);
    else if (is_holder(host, lh_tenant_of(&host->tenants, lease->id), request))
        answer_granted(host, lease->id, request, now, effects);
    else
        answer_held(host, lease->id, request, LH_REASON_OTHER_HOLDER, now, effects);
}

void lh_tenant_owner_said(struct lh_host *host, struct lh_request *request,
                          const struct lh_result *result, struct lh_instant now,
                          struct lh_host_effects *effects)
{
    if (result->status == LH_STATUS_GRANTED ||
        (result->status == LH_STATUS_HELD && request->wait.ns == 0))
        lh_request_answer(host, request, result, now, effects);
    else
        lh_tenant_acquire(host, request, now, effects);
}

// --- renewing, releasing, revoking ---

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
    answer_lost(host, 0, request, reason, now, effects);
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
        answer_lost(host, id, request, LH_REASON_WAS_REVOKED, now, effects);
        return;
    }
    request->lease = id;
    answering_add(tenant, request);
    lh_wheel_schedule(&host->wheel, &request->timer, lh_after(now, request->timeout));
    struct lh_lease *lease = lease_of(host, id);
    if (lease->want == LH_WANT_RENEW)
        return; // one renewal serves all who ask; each is told what is left from its own asking
    struct lh_duration ttl = request->ttl.ns > 0 ? request->ttl : lease->ttl;
    lh_machine_renew(&host->machine, lease, now, ttl, &host->lease_effects);
    lh_host_settle(host, now, effects);
}

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

static void answer_released(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                            struct lh_host_effects *effects)
{
    struct lh_result result = {.status = LH_STATUS_RELEASED,
                               .name = lh_request_name(request),
                               .token = request->token,
                               .node = host->config.node};
    lh_request_answer(host, request, &result, now, effects);
}

// The lease is gone: nobody who waited for its renewal may be taken for one who asks about the next
// lease.
static void dismiss_answering(struct lh_host *host, uint32_t id, bool released,
                              struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    for (struct lh_request *request = take_answering(host, tenant, now, effects); request != NULL;
         request = take_answering(host, tenant, now, effects)) {
        if (released && request->kind == LH_REQUEST_RELEASE)
            answer_released(host, request, now, effects);
        else
            answer_lost(host, id, request, LH_REASON_EXPIRED, now, effects);
    }
}

// P6, then the queue.
static void let_go(struct lh_host *host, uint32_t id, struct lh_instant now,
                   struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_lease *lease = lease_of(host, id);
    if (tenant->queue != 0) // local clients wait in the same order as those of other nodes
        for (unsigned i = 0; i < host->config.member_count; i++)
            if (host->config.members[i] == host->config.node)
                lease->waiter_since[i] = lh_request_get(host, tenant->queue)->waiting_since;
    tell_event(host, id, LH_EVENT_RELEASED, effects);
    lh_texts_drop(&host->tenants.texts, tenant->holder);
    tenant->holder = 0;
    tenant->revoked = false;
    // Until a Wake says whose turn it is; a lost one costs this little.
    tenant->blocked_until = lh_after(now, (struct lh_duration){64 * host->machine.round.ns});
    lh_machine_release(&host->machine, lease, now, &host->lease_effects);
    lh_host_settle(host, now, effects);
    dismiss_answering(host, id, true, now, effects);
    tenant->watch_at = now;
    next(host, id, now, effects);
}

void lh_tenant_release(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    uint32_t id = held_by(host, request, now, effects);
    if (id == 0)
        return;
    if (lease_of(host, id)->proposer.phase == LH_ACCEPTING) {
        // A renewal's Accepts are in flight and would outlive a Release of the old ballot: its
        // outcome comes first.
        request->lease = id;
        answering_add(lh_tenant_of(&host->tenants, id), request);
        lh_wheel_schedule(&host->wheel, &request->timer, lh_after(now, request->timeout));
        return;
    }
    answer_released(host, request, now, effects);
    let_go(host, id, now, effects);
}

bool lh_tenant_revoke(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_lease *lease = lh_machine_find(&host->machine, request->key);
    if (lease == NULL || !lh_proposer_holds(&lease->proposer, now))
        return false;
    uint8_t holder[LH_TEXT_MAX_BYTES];
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, lease->id);
    if (!tenant->revoked)
        tell_event(host, lease->id, LH_EVENT_REVOKED, effects);
    tenant->revoked = true;
    struct lh_result result = {
        .status = LH_STATUS_REVOKED,
        .name = lh_request_name(request),
        .holder = lh_texts_get(&host->tenants.texts, tenant->holder, holder),
        .token = tenant->token,
        .node = host->config.node,
        .ends_in = lh_left(now, lease->proposer.until),
    };
    lh_request_answer(host, request, &result, now, effects);
    return true;
}

// --- what the machine says ---

// Everybody who asked for no more than an immediate answer gets it now, and so does the holder that
// asked twice.
static void hurry_impatient(struct lh_host *host, const struct lh_tenant *tenant,
                            struct lh_instant now)
{
    for (uint32_t at = tenant->queue; at != 0;) {
        struct lh_request *request = lh_request_get(host, at);
        request->waited = true;
        if (request->wait.ns == 0 || is_holder(host, tenant, request))
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
    tenant->token = lease_of(host, id)->proposer.token;
    tenant->blocker = LH_BALLOT_NONE;
    tenant->revoked = false;
    tenant->granted_at = tenant->renewed_at = now;
    tenant->renewals = 0;
    tenant->watch_at = now;
    if (request == NULL) { // nobody wants it any more
        let_go(host, id, now, effects);
        return;
    }
    if (!lh_texts_put(&host->tenants.texts, lh_request_holder(request), &tenant->holder)) {
        answer_plain(host, request, LH_STATUS_BUSY, LH_REASON_FULL_TEXT, now, effects);
        let_go(host, id, now, effects);
        return;
    }
    tenant->id_hash = request->id_hash;
    if (request->id_hash != 0) {
        host->tenants.recent[request->id_hash & (LH_RECENT_IDS - 1)].hash = request->id_hash;
        host->tenants.recent[request->id_hash & (LH_RECENT_IDS - 1)].token = tenant->token;
    }
    tell_event(host, id, LH_EVENT_GRANTED, effects);
    answer_granted(host, id, request, now, effects);
    hurry_impatient(host, tenant, now);
    lh_tenant_settle(host, id);
}

// All nodes that wait know the same instant. Two that try at once may each leave a live record at
// some acceptors (A2) and block one another for a whole exclusion, so each has a slot of its own,
// long enough for two rounds; whose comes first goes around with the lease in the way. Nodes
// measure rounds a little differently: widths are few and far apart, so that they agree.
static struct lh_duration behind_others(const struct lh_host *host, lh_ballot blocker)
{
    unsigned count = host->config.member_count;
    unsigned own = 0;
    while (host->config.members[own] != host->config.node)
        own++;
    int64_t width = SLOT_MIN;
    while (width < 2 * host->machine.round.ns)
        width *= 4;
    return (struct lh_duration){(int64_t)((own + lh_ballot_counter(blocker)) % count) * width};
}

static void on_blocked(struct lh_host *host, const struct lh_notice *notice, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, notice->lease);
    struct lh_request *request = tenant->active != 0 ? lh_request_get(host, tenant->active) : NULL;
    tenant->active = 0;
    tenant->blocker = notice->ballot;
    tenant->blocked_until = lh_after(notice->at, behind_others(host, notice->ballot));
    if (request != NULL) {
        request->active = false;
        if (!ask_owner(host, notice->lease, request, now, effects))
            enqueue(host, tenant, request, true);
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
    tell_event(host, id, LH_EVENT_RENEWED, effects);
    bool released = false;
    for (struct lh_request *request = take_answering(host, tenant, now, effects); request != NULL;
         request = take_answering(host, tenant, now, effects)) {
        if (request->token != tenant->token) {
            answer_lost(host, id, request, LH_REASON_EXPIRED, now, effects);
            continue;
        }
        if (request->kind == LH_REQUEST_RENEW) {
            answer_granted(host, id, request, now, effects);
            continue;
        }
        answer_released(host, request, now, effects);
        released = true;
    }
    if (released)
        let_go(host, id, now, effects);
}

static void on_lost(struct lh_host *host, uint32_t id, struct lh_instant now,
                    struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    tell_event(host, id, LH_EVENT_LOST, effects);
    dismiss_answering(host, id, false, now, effects);
    lh_texts_drop(&host->tenants.texts, tenant->holder);
    tenant->holder = 0;
    tenant->revoked = false;
    tenant->watch_at = now;
    next(host, id, now, effects);
}

static void on_woken(struct lh_host *host, const struct lh_notice *notice, struct lh_instant now,
                     struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, notice->lease);
    tenant->blocked_until = lh_earlier(tenant->blocked_until, notice->at);
    tenant->watch_at = now;
    next(host, notice->lease, now, effects);
}

// Nobody wants it any more: it is not tried again.
static void on_stalled(struct lh_host *host, uint32_t id, struct lh_instant now,
                       struct lh_host_effects *effects)
{
    struct lh_lease *lease = lease_of(host, id);
    if (lh_tenant_of(&host->tenants, id)->active == 0 && lease->want == LH_WANT_ACQUIRE)
        lh_machine_stop(&host->machine, lease);
    next(host, id, now, effects);
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

void lh_tenant_due(struct lh_host *host, uint32_t id, struct lh_instant now,
                   struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    if (tenant->turn_given && !lh_before(now, tenant->turn_ends))
        tenant->turn_given = false; // it did not come
    if (tenant->watches != 0 && tenant->watch_query == 0 && !lh_before(now, tenant->watch_at))
        lh_watch_ask(host, id, now, effects);
    next(host, id, now, effects);
}

void lh_tenant_cancel(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    uint32_t id = request->lease;
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    struct lh_lease *lease = lease_of(host, id);
    request->lease = 0;
    if (request->kind != LH_REQUEST_ACQUIRE) {
        answering_remove(host, tenant, request);
        // Accepts that are out run to their end: under another ballot they would block the next
        // renewal.
        if (tenant->answering == 0 && lease->want == LH_WANT_RENEW &&
            lease->proposer.phase != LH_ACCEPTING)
            lh_machine_stop(&host->machine, lease); // nobody asks for this renewal any more
    } else if (request->active) {
        tenant->active = 0;
        lh_machine_stop(&host->machine, lease); // if it is won all the same, it is let go
    } else {
        dequeue(host, tenant, request);
    }
    next(host, id, now, effects);
}

// The renewal that this request waits for has been decided meanwhile. Returns false if it has not.
static bool answer_decided(struct lh_host *host, uint32_t id, struct lh_request *request,
                           struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool theirs = holds(host, id, now) && tenant->token == request->token;
    if (theirs && (tenant->renewals == 0 || lh_before(tenant->renewed_at, request->received_at)))
        return false;
    answering_remove(host, tenant, request);
    request->lease = 0;
    if (theirs)
        answer_granted(host, id, request, now, effects);
    else
        answer_lost(host, id, request, LH_REASON_EXPIRED, now, effects);
    next(host, id, now, effects);
    return true;
}

void lh_tenant_request_due(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    uint32_t id = request->lease;
    if (request->kind ==
        LH_REQUEST_RELEASE) { // the renewal's outcome did not come: let go all the same
        struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
        answering_remove(host, tenant, request);
        request->lease = 0;
        if (held_by(host, request, now, effects) != 0) {
            answer_released(host, request, now, effects);
            let_go(host, id, now, effects);
        }
        return;
    }
    if (request->kind == LH_REQUEST_RENEW && answer_decided(host, id, request, now, effects))
        return;
    if (request->kind == LH_REQUEST_RENEW) {
        struct lh_result result = {.status = LH_STATUS_NOQUORUM,
                                   .reason = lh_request_why_no_quorum(host),
                                   .name = lh_request_name(request),
                                   .token = request->token,
                                   .until_ns = until_for(host, id, request)};
        lh_tenant_cancel(host, request, now, effects);
        lh_request_answer(host, request, &result, now, effects);
        return;
    }
    bool in_the_way = request->waited && !request->active;
    bool repeats = in_the_way && holds(host, id, now) &&
                   is_holder(host, lh_tenant_of(&host->tenants, id), request);
    if (!in_the_way) {
        lh_tenant_cancel(host, request, now, effects);
        answer_plain(host, request, LH_STATUS_NOQUORUM, lh_request_why_no_quorum(host), now,
                     effects);
        return;
    }
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    dequeue(host, tenant, request);
    request->lease = 0;
    if (repeats)
        answer_granted(host, id, request, now, effects);
    else if (!ask_owner(host, id, request, now, effects))
        answer_held(host, id, request,
                    request->wait.ns > 0 ? LH_REASON_WAITED : LH_REASON_OTHER_HOLDER, now, effects);
    next(host, id, now, effects);
}

bool lh_tenant_describe(struct lh_host *host, uint32_t id, struct lh_instant now,
                        struct lh_texts_of_entry *texts, struct lh_entry *ret_entry)
{
    if (!holds(host, id, now))
        return false;
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lease_of(host, id);
    *ret_entry = (struct lh_entry){
        .name = lh_texts_get(&host->tenants.texts, tenant->name, texts->name),
        .holder = lh_texts_get(&host->tenants.texts, tenant->holder, texts->holder),
        .token = tenant->token,
        .node = host->config.node,
        .renewals = tenant->renewals,
        .remaining = lh_left(now, lease->proposer.until),
        .age = {now.ns - tenant->granted_at.ns},
        .renewed_ago = {now.ns - tenant->renewed_at.ns},
        .ttl = lease->ttl,
    };
    return true;
}
