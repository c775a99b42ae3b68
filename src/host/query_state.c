// What the members know of one name, for GET, for REVOKE's first half and for watchers: believed is
// only a majority of equal answers to this very question. A lease that is being renewed looks mixed
// for a moment, so the question is asked again.
#include "host/host_internal.h"
#include "host/query_internal.h"
#include "lease/learner.h"

#define MIXED_PAUSE (5 * LH_NS_PER_MS) // a renewal passes by in less
#define MIXED_ROUNDS 8

static void ask_state(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_host_message message = {
        .kind = LH_HOST_QUERY, .nonce = query->nonce, .key = query->key};
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (!lh_set_has(query->answered, i))
            lh_host_send(effects, host->config.members[i], &message, 0);
    lh_query_await(host, query, now);
}

// Asks everybody anew: answers of the last round no longer count.
static void ask_again(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    query->nonce += UINT64_C(1) << 32;
    query->asked_at = now;
    query->answered = query->serving = LH_SET_EMPTY;
    query->owner_known = false;
    ask_state(host, query, now, effects);
}

void lh_query_get(struct lh_host *host, struct lh_request *request, struct lh_instant now,
                  struct lh_host_effects *effects)
{
    struct lh_query *query = lh_query_new(host, LH_QUERY_STATE, request, now);
    if (query == NULL)
        lh_query_no_room(host, request, effects);
    else
        ask_state(host, query, now, effects);
}

uint32_t lh_query_watch(struct lh_host *host, uint32_t lease, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    if (host->queries.count >= LH_QUERIES_MAX - LH_QUERIES_OF_REQUESTS)
        return 0;
    struct lh_query *query = lh_query_new(host, LH_QUERY_STATE, NULL, now);
    query->lease = lease;
    query->key = lh_machine_lease(&host->machine, lease)->key;
    query->ends_at = lh_after(now, lh_ms(1000));
    ask_state(host, query, now, effects);
    return query->id;
}

// --- the answers ---

void lh_query_on_query(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                       struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_host_message state = {
        .kind = LH_HOST_STATE, .nonce = message->nonce, .key = message->key};
    state.serving =
        lh_machine_view(&host->machine, message->key, now, &state.ballot, &state.exclusion);
    const struct lh_lease *lease = lh_machine_find(&host->machine, message->key);
    struct lh_texts_of_entry texts;
    state.owner = lease != NULL && lh_tenant_describe(host, lease->id, now, &texts, &state.entry);
    // Names cross the wire only where they were asked for.
    state.entry.name = (struct lh_slice){NULL, 0};
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

// The node of the agreed ballot said more, as owner: not another that let go while the question was
// on its way. Its token may be of an earlier ballot, since renewals keep it, so nodes are compared.
static bool owner_speaks(const struct lh_query *query, lh_ballot ballot)
{
    return query->owner_known && query->owner.node == lh_ballot_node(ballot);
}

static struct lh_result describe_held(struct lh_host *host, const struct lh_query *query,
                                      lh_ballot ballot, struct lh_instant now)
{
    struct lh_result result = {.status = LH_STATUS_HELD,
                               .name = lh_query_name(host, query),
                               .node = lh_ballot_node(ballot)};
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
    result.revoked = query->owner.revoked;
    result.ttl = query->owner.ttl;
    result.age = query->owner.age;
    result.renewed_ago = query->owner.renewed_ago;
    result.remaining = remains(host, query, query->owner.remaining, now);
    if (result.remaining.ns < result.next_owner_min.ns)
        result.next_owner_min = result.remaining;
    return result;
}

static bool revokes(struct lh_host *host, const struct lh_query *query)
{
    return query->request != 0 && lh_request_get(host, query->request)->kind == LH_REQUEST_REVOKE;
}

// A lease that is to be revoked is named by its token: the next one is somebody else's.
static void finish_state(struct lh_host *host, struct lh_query *query, struct lh_result result,
                         struct lh_instant now, struct lh_host_effects *effects)
{
    if (!revokes(host, query) || result.status != LH_STATUS_HELD) {
        lh_query_finish(host, query, &result, now, effects);
        return;
    }
    struct lh_request *request = lh_request_get(host, query->request);
    request->token = result.token;
    request->query = 0;
    lh_query_cancel(host, query->id);
    lh_query_call(host, request, result.node, now, effects);
}

static void weigh(struct lh_host *host, struct lh_query *query, bool round_over,
                  struct lh_instant now, struct lh_host_effects *effects)
{
    lh_ballot ballot = LH_BALLOT_NONE;
    struct lh_result result = {.name = lh_query_name(host, query)};
    bool all = lh_set_count(query->answered) == host->config.member_count;
    if (agreed(host, query, &ballot)) {
        bool silent = ballot != LH_BALLOT_NONE && !owner_speaks(query, ballot);
        if (silent && !round_over && (!all || revokes(host, query)))
            return; // the owner can say more
        if (silent && revokes(host, query)) {
            result.status = LH_STATUS_NOQUORUM;
            result.reason = LH_REASON_OWNER_SILENT;
            result.node = lh_ballot_node(ballot);
            if (lh_before(now, query->ends_at))
                ask_again(host, query, now, effects);
            else
                finish_state(host, query, result, now, effects);
            return;
        }
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
    bool over = !lh_before(now, query->ends_at);
    if (mixed && (over || query->rounds >= MIXED_ROUNDS)) {
        result.status = LH_STATUS_UNDECIDED;
        result.reason = LH_REASON_MIXED;
        finish_state(host, query, result, now, effects);
    } else if (over) {
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

void lh_query_on_state(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                       struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_query *query = lh_query_of(host, message->nonce);
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

void lh_query_state_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                        struct lh_host_effects *effects)
{
    weigh(host, query, true, now, effects);
}
