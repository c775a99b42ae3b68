// Questions to the other members: see query.h.
#include "host/query.h"

#include "base/assert.h"
#include "host/host_internal.h"
#include "lease/learner.h"

#define ROUND_LASTS (100 * LH_NS_PER_MS) // after which a question is asked again
#define OWNER_PATIENCE (3 * ROUND_LASTS) // of an ACQUIRE that is blocked
#define MIXED_PAUSE (5 * LH_NS_PER_MS)   // a renewal passes by in less
#define MIXED_ROUNDS 8
#define PAGE_TRIES 3
#define PAGE_BYTES 1100     // of entries: a page fits a datagram
#define PAGE_SCAN 4096      // leases looked at for one page
#define ENTRY_BYTES_MAX 600 // no entry is longer

static struct lh_query *query_new(struct lh_host *host, enum lh_query_kind kind,
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
    return host->queries.free != 0 || host->queries.used < LH_QUERIES_MAX;
}

static struct lh_query *query_of(struct lh_host *host, uint64_t nonce)
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
    query->id = 0;
    query->next = host->queries.free;
    host->queries.free = id;
}

// Answers whoever asked, and ends the query. `query` stays readable until the next one begins.
static void finish(struct lh_host *host, struct lh_query *query, const struct lh_result *result,
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
        lh_request_answer(host, request, result, now, effects);
    else
        lh_watch_result(host, lease, result, now, effects);
}

static void no_room(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                    struct lh_host_effects *effects)
{
    struct lh_result result = {.status = LH_STATUS_BUSY,
                               .reason = LH_REASON_FULL_REQUESTS,
                               .name = lh_request_name(request)};
    lh_request_answer(host, request, &result, now, effects);
}

static struct lh_slice name_of(struct lh_host *host, const struct lh_query *query)
{
    if (query->request == 0)
        return (struct lh_slice){NULL, 0};
    return lh_request_name(lh_request_get(host, query->request));
}

// --- STATE ---

static void ask_state(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_host_message message = {
        .kind = LH_HOST_QUERY, .nonce = query->nonce, .key = query->key};
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (!lh_set_has(query->answered, i))
            lh_host_send(effects, host->config.members[i], &message, 0);
    lh_wheel_schedule(&host->wheel, &query->timer,
                      lh_after(now, (struct lh_duration){ROUND_LASTS}));
}

// Asks everybody anew: answers of the last round no longer count.
static void ask_again(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    query->nonce += UINT64_C(1) << 32;
    query->asked_at = now;
    query->answered = query->serving = (struct lh_members_set){0};
    query->owner_known = false;
    ask_state(host, query, now, effects);
}

void lh_query_get(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                  struct lh_host_effects *effects)
{
    struct lh_query *query = query_new(host, LH_QUERY_STATE, request, now);
    if (query == NULL)
        no_room(host, request, now, effects);
    else
        ask_state(host, query, now, effects);
}

uint32_t lh_query_watch(struct lh_host *host, uint32_t lease, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    struct lh_query *query = query_new(host, LH_QUERY_STATE, NULL, now);
    if (query == NULL)
        return 0;
    query->lease = lease;
    query->key = lh_machine_lease(&host->machine, lease)->key;
    query->ends_at = lh_after(now, lh_ms(1000));
    ask_state(host, query, now, effects);
    return query->id;
}

static void on_query(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                     struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_host_message state = {
        .kind = LH_HOST_STATE, .nonce = message->nonce, .key = message->key};
    state.serving =
        lh_machine_view(&host->machine, message->key, now, &state.ballot, &state.exclusion);
    const struct lh_lease *lease = lh_machine_find(&host->machine, message->key);
    struct lh_texts_of_entry texts;
    state.owner = lease != NULL && lh_tenant_describe(host, lease->id, now, &texts, &state.entry);
    state.entry.name =
        (struct lh_slice){NULL, 0}; // names cross the wire only where they were asked for
    lh_host_send(effects, node, &state, 0);
}

// The ballot that a majority reports in this round, LH_BALLOT_NONE included.
static bool agreed(const struct lh_host *host, const struct lh_query *query, lh_ballot *ret_ballot)
{
    for (unsigned i = 0; i < host->config.member_count; i++) {
        unsigned equal = 0;
        for (unsigned j = 0; j < host->config.member_count; j++)
            equal += lh_set_has(query->serving, i) && lh_set_has(query->serving, j) &&
                     query->ballots[i] == query->ballots[j];
        if (equal >= host->machine.quorum) {
            *ret_ballot = query->ballots[i];
            return true;
        }
    }
    return false;
}

// L1: what the owner said remained, as far as it surely still does; a view.
static struct lh_duration remains(const struct lh_host *host, const struct lh_query *query,
                                  struct lh_duration said, struct lh_instant now)
{
    return lh_left(now, lh_learner_expiry(host->config.timing, query->asked_at, said));
}

// The owner of exactly the agreed ballot said more: not one that let go while the question was on
// its way.
static bool owner_speaks(const struct lh_query *query, lh_ballot ballot)
{
    return query->owner_known && query->owner.node == lh_ballot_node(ballot);
}

static struct lh_result describe_held(struct lh_host *host, const struct lh_query *query,
                                      lh_ballot ballot, struct lh_instant now)
{
    struct lh_result result = {
        .status = LH_STATUS_HELD, .name = name_of(host, query), .node = lh_ballot_node(ballot)};
    for (unsigned i = 0; i < host->config.member_count; i++) {
        if (!lh_set_has(query->serving, i) || query->ballots[i] != ballot)
            continue;
        if (result.next_owner_max.ns < query->exclusions[i].ns)
            result.next_owner_max = query->exclusions[i];
        if (result.next_owner_min.ns == 0 || query->exclusions[i].ns < result.next_owner_min.ns)
            result.next_owner_min = query->exclusions[i];
    }
    if (!owner_speaks(query, ballot)) {
        result.reason = LH_REASON_OWNER_SILENT;
        return result;
    }
    result.holder = query->owner.holder;
    result.token = query->owner.token;
    result.renewals = query->owner.renewals;
    result.ttl = query->owner.ttl;
    result.age = query->owner.age;
    result.renewed_ago = query->owner.renewed_ago;
    result.remaining = remains(host, query, query->owner.remaining, now);
    if (result.remaining.ns < result.next_owner_min.ns)
        result.next_owner_min = result.remaining;
    return result;
}

static void finish_state(struct lh_host *host, struct lh_query *query, struct lh_result result,
                         struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_request *request = query->request != 0 ? lh_request_get(host, query->request) : NULL;
    bool revoke = request != NULL && request->kind == LH_REQUEST_REVOKE;
    if (!revoke || result.status != LH_STATUS_HELD) {
        finish(host, query, &result, now, effects);
        return;
    }
    request->query = 0;
    lh_query_cancel(host, query->id);
    lh_query_call(host, request, result.node, now, effects);
}

static void weigh(struct lh_host *host, struct lh_query *query, bool round_over,
                  struct lh_instant now, struct lh_host_effects *effects)
{
    lh_ballot ballot = LH_BALLOT_NONE;
    struct lh_result result = {.name = name_of(host, query)};
    bool all = lh_set_count(query->answered) == host->config.member_count;
    if (agreed(host, query, &ballot)) {
        if (ballot != LH_BALLOT_NONE && !owner_speaks(query, ballot) && !round_over && !all)
            return; // the owner can say more
        if (ballot != LH_BALLOT_NONE)
            result = describe_held(host, query, ballot, now);
        else
            result.status = LH_STATUS_FREE;
        finish_state(host, query, result, now, effects);
        return;
    }
    if (!all && !round_over)
        return;
    bool mixed = lh_set_count(query->serving) >= host->machine.quorum;
    if (mixed && round_over)
        query->rounds++;
    if (mixed && query->rounds >= MIXED_ROUNDS) {
        result.status = LH_STATUS_UNDECIDED;
        result.reason = LH_REASON_MIXED;
        finish_state(host, query, result, now, effects);
    } else if (!lh_before(now, query->ends_at)) {
        result.status = LH_STATUS_NOQUORUM;
        result.reason = lh_request_why_no_quorum(host);
        finish_state(host, query, result, now, effects);
    } else if (round_over) {
        ask_again(host, query, now, effects);
    } else if (mixed) {
        lh_wheel_schedule(&host->wheel, &query->timer,
                          lh_after(now, (struct lh_duration){MIXED_PAUSE}));
    }
}

static void on_state(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                     struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = query_of(host, message->nonce);
    if (query == NULL || query->kind != LH_QUERY_STATE || lh_set_has(query->answered, member))
        return;
    lh_set_add(&query->answered, member);
    query->ballots[member] = message->ballot;
    query->exclusions[member] = message->exclusion;
    if (message->serving)
        lh_set_add(&query->serving, member);
    // Of two that say so the one with the greater token came later.
    if (message->owner && (!query->owner_known || query->owner.token < message->entry.token)) {
        query->owner_known = true;
        query->owner = message->entry;
        query->owner.node = host->config.members[member];
        if (message->entry.holder.size_bytes > 0)
            memcpy(query->holder, message->entry.holder.data, message->entry.holder.size_bytes);
        query->owner.holder = lh_slice_of(query->holder, message->entry.holder.size_bytes);
    }
    weigh(host, query, false, now, effects);
}

// --- CALL ---

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
    lh_wheel_schedule(&host->wheel, &query->timer,
                      lh_earlier(query->ends_at, lh_after(now, (struct lh_duration){ROUND_LASTS})));
}

void lh_query_call(struct lh_host *host, struct lh_request *request, uint8_t owner,
                   struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = query_new(host, LH_QUERY_CALL, request, now);
    if (query == NULL) {
        no_room(host, request, now, effects);
        return;
    }
    for (uint8_t i = 0; i < host->config.member_count; i++)
        if (host->config.members[i] == owner)
            query->member = i;
    if (request->kind == LH_REQUEST_ACQUIRE)
        query->ends_at =
            lh_earlier(query->ends_at, lh_after(now, (struct lh_duration){OWNER_PATIENCE}));
    send_call(host, query, now, effects);
}

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

static void on_call(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
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
    lh_request_submit(host, request, now, effects);
}

static void on_return(struct lh_host *host, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = query_of(host, message->nonce);
    if (query == NULL || query->kind != LH_QUERY_CALL || message->call > LH_STATUS_BUSY ||
        message->reason >= LH_REASON_COUNT)
        return;
    struct lh_result result = {
        .status = (enum lh_status)message->call,
        .reason = (enum lh_reason)message->reason,
        .name = name_of(host, query),
        .holder = message->entry.holder,
        .token = message->entry.token,
        .node = message->entry.node,
        .renewals = message->entry.renewals,
        .ttl = message->entry.ttl,
        .until_ns = message->until_ns,
        .free_in = message->entry.remaining,
        .ends_in = message->entry.remaining,
    };
    finish(host, query, &result, now, effects);
}

// --- PAGES ---

static void ask_page(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                     struct lh_host_effects *effects)
{
    struct lh_host_message message = {.kind = LH_HOST_PAGE_ASK,
                                      .nonce = query->nonce,
                                      .position = query->position,
                                      .text = name_of(host, query)};
    query->tries++;
    lh_host_send(effects, host->config.members[query->member], &message, 0);
    lh_wheel_schedule(&host->wheel, &query->timer,
                      lh_after(now, (struct lh_duration){ROUND_LASTS}));
}

static void finish_list(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    bool more = query->member < host->config.member_count;
    struct lh_result result = {
        .status = LH_STATUS_LISTED,
        .entries = lh_slice_of(query->entries, query->entry_bytes),
        .entry_count = query->entry_count,
        .cursor = more ? (uint64_t)(query->member + 1u) << 32 | query->position : 0,
        .age = {now.ns - query->asked_at.ns},
        .missing_count = query->missing_count,
    };
    memcpy(result.missing, query->missing, sizeof result.missing);
    finish(host, query, &result, now, effects);
}

// Goes on with the next member that can answer, or finishes.
static void list_next(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    for (; query->member < host->config.member_count; query->member++) {
        query->tries = 0;
        const struct lh_peer *peer = &host->peers.peers[query->member];
        if (peer->up || peer->node == host->config.node) {
            ask_page(host, query, now, effects);
            return;
        }
        query->missing[query->missing_count++] = peer->node;
        query->position = 0;
    }
    finish_list(host, query, now, effects);
}

void lh_query_list(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                   struct lh_host_effects *effects)
{
    struct lh_query *query = query_new(host, LH_QUERY_PAGES, request, now);
    if (query == NULL) {
        no_room(host, request, now, effects);
        return;
    }
    uint64_t member = request->cursor >> 32;
    if (member > 0) {
        query->member =
            member <= host->config.member_count ? (uint8_t)(member - 1) : host->config.member_count;
        query->position = (uint32_t)request->cursor;
    }
    list_next(host, query, now, effects);
}

static void on_page_ask(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                        struct lh_instant now, struct lh_host_effects *effects)
{
    uint8_t page[PAGE_BYTES];
    struct lh_writer writer = lh_writer_of(page, sizeof page);
    struct lh_host_message answer = {.kind = LH_HOST_PAGE, .nonce = message->nonce};
    uint32_t at = message->position;
    uint32_t scanned = 0;
    for (; at < host->machine.used && scanned < PAGE_SCAN && answer.count < UINT8_MAX;
         at++, scanned++) {
        if (lh_writer_left_bytes(&writer) < ENTRY_BYTES_MAX)
            break;
        struct lh_entry entry;
        struct lh_texts_of_entry texts;
        if (lh_machine_lease(&host->machine, at + 1)->proposer.held == LH_BALLOT_NONE ||
            !lh_tenant_describe(host, at + 1, now, &texts, &entry) ||
            !lh_slice_has_prefix(entry.name, message->text))
            continue;
        lh_entry_write(&writer, &entry);
        answer.count++;
    }
    answer.position = at < host->machine.used ? at : 0;
    answer.text = lh_writer_slice(&writer);
    lh_host_send(effects, node, &answer, 0);
}

// Takes over whole entries only; a page that does not decode is no page.
static bool take_page(struct lh_query *query, const struct lh_host_message *message)
{
    struct lh_reader reader = lh_reader_of(message->text);
    for (unsigned i = 0; i < message->count; i++) {
        struct lh_entry entry;
        lh_entry_read(&reader, &entry);
    }
    if (!lh_reader_done(&reader) ||
        message->text.size_bytes > sizeof query->entries - query->entry_bytes)
        return false;
    if (message->text.size_bytes > 0)
        memcpy(query->entries + query->entry_bytes, message->text.data, message->text.size_bytes);
    query->entry_bytes += (uint32_t)message->text.size_bytes;
    query->entry_count += message->count;
    return true;
}

static void on_page(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                    struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = query_of(host, message->nonce);
    if (query == NULL || query->kind != LH_QUERY_PAGES || query->member != member ||
        (message->position != 0 && message->position <= query->position) ||
        !take_page(query, message))
        return;
    query->nonce += UINT64_C(1) << 32; // a second copy of this page is of no use
    query->position = message->position;
    query->tries = 0;
    if (query->position == 0)
        query->member++;
    uint32_t wanted = lh_request_get(host, query->request)->count;
    bool full = sizeof query->entries - query->entry_bytes < LH_DATAGRAM_MAX;
    if (query->entry_count >= wanted || full)
        finish_list(host, query, now, effects);
    else
        list_next(host, query, now, effects);
}

// --- all ---

void lh_query_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                  struct lh_host_effects *effects)
{
    switch (query->kind) {
    case LH_QUERY_STATE: weigh(host, query, true, now, effects); break;
    case LH_QUERY_PAGES:
        if (query->tries < PAGE_TRIES) {
            ask_page(host, query, now, effects);
            break;
        }
        query->missing[query->missing_count++] = host->config.members[query->member++];
        query->position = 0;
        list_next(host, query, now, effects);
        break;
    case LH_QUERY_CALL:
        if (lh_before(now, query->ends_at)) {
            send_call(host, query, now, effects);
            break;
        }
        finish(host, query,
               &(struct lh_result){.status = LH_STATUS_NOQUORUM,
                                   .reason = LH_REASON_OWNER_SILENT,
                                   .name = name_of(host, query)},
               now, effects);
        break;
    }
}

void lh_query_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    unsigned member = 0;
    while (host->config.members[member] != node)
        member++;
    switch (message->kind) {
    case LH_HOST_QUERY: on_query(host, node, message, now, effects); break;
    case LH_HOST_STATE: on_state(host, member, message, now, effects); break;
    case LH_HOST_CALL: on_call(host, node, message, now, effects); break;
    case LH_HOST_RETURN: on_return(host, message, now, effects); break;
    case LH_HOST_PAGE_ASK: on_page_ask(host, node, message, now, effects); break;
    case LH_HOST_PAGE: on_page(host, member, message, now, effects); break;
    case LH_HOST_PING:
    case LH_HOST_ASK:
    case LH_HOST_KNOWN:
    case LH_HOST_ANNOUNCE:
    case LH_HOST_RECORDED:
    case LH_HOST_REFUSAL: break;
    }
}
