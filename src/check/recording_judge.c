// The rules, as they bear on what is recorded. An answer is judged by what the acceptor was when
// the request came, which is the latest like it before the answer; a request without an answer
// changed nothing (it was dropped: A4, T2, F2).
#include "check/recording_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 64 };

// One name at one node, in the present life of the node.
struct name {
    // acceptor
    uint64_t promised;
    uint64_t record;    // the last ballot recorded
    int64_t live_least; // live at least until then, at most until live_most
    int64_t live_most;
    uint64_t record_stamp; // the newest n answered for it
    // proposer
    uint64_t attempt;
    uint64_t ttl_ns;
    int64_t td;
    uint64_t base; // 0: a fresh attempt
    uint64_t open; // bit per acceptor
    uint64_t accepted;
    bool proposed;
    uint64_t held;
    uint64_t token;
    int64_t until;
    uint64_t extend; // its n
    int64_t extend_td;
    uint64_t extended;
};

struct judge {
    const struct lh_recording *recording;
    struct name *names;
    uint32_t *answer_of; // of a request: 1 + the number of its answer; 0: none
    uint64_t *used;      // per name: the greatest ballot this node ever prepared, in all lives
    uint32_t node;
    uint32_t quorum;
    uint64_t n;
    int64_t at;
    int64_t silent_until;
    bool forgot; // this life began without memory: nothing was restored
    const char *why;
};

static bool fail(struct judge *judge, const char *why)
{
    judge->why = why;
    return false;
}

static bool is_request(uint64_t kind)
{
    return kind == LH_RECORDED_PREPARE || kind == LH_RECORDED_ACCEPT || kind == LH_RECORDED_EXTEND;
}

static uint64_t request_of(const struct lh_recorded *answer)
{
    switch (answer->message.kind) {
    case LH_RECORDED_PROMISE: return LH_RECORDED_PREPARE;
    case LH_RECORDED_ACCEPTED: return LH_RECORDED_ACCEPT;
    case LH_RECORDED_EXTENDED: return LH_RECORDED_EXTEND;
    case LH_RECORDED_REJECTED: return answer->message.refused;
    default: return LH_RECORDED_NONE;
    }
}

static uint32_t owner_of(uint64_t ballot)
{
    return (uint32_t)(ballot & 0xff);
}

static bool same_owner(uint64_t a, uint64_t b)
{
    return (a & 0xffff) == (b & 0xffff);
}

static uint64_t bit(uint64_t node)
{
    return UINT64_C(1) << node;
}

static bool is_quorum(const struct judge *judge, uint64_t set)
{
    return (uint32_t)__builtin_popcountll(set) >= judge->quorum;
}

static int64_t after(int64_t at, uint64_t span)
{
    return span > (uint64_t)(INT64_MAX - at) ? INT64_MAX : at + (int64_t)span;
}

// The latest request before each answer that it fits, each used once.
static bool match_answers(struct judge *judge)
{
    const struct lh_recorded *events = judge->recording->events;
    memset(judge->answer_of, 0, judge->recording->count * sizeof *judge->answer_of);
    for (size_t i = 0; i < judge->recording->count; i++) {
        const struct lh_recorded *answer = &events[i];
        if (answer->node != judge->node || answer->what != LH_RECORDED_SEND ||
            request_of(answer) == LH_RECORDED_NONE)
            continue;
        size_t at = i;
        bool found = false;
        while (at > 0 && !found) {
            const struct lh_recorded *request = &events[--at];
            if (request->file != answer->file || request->n > answer->n)
                break; // another life
            found = request->what == LH_RECORDED_RECEIVE && request->name == answer->name &&
                    request->message.kind == request_of(answer) &&
                    request->message.from == answer->message.to &&
                    request->message.ballot == answer->message.ballot &&
                    request->message.stamp == answer->message.stamp && judge->answer_of[at] == 0;
        }
        if (!found) {
            judge->n = i; // where
            return fail(judge, "an answer to nothing that was received");
        }
        judge->answer_of[at] = (uint32_t)i + 1;
    }
    return true;
}

// A record that is surely live, or may be.
static bool surely_live(const struct name *name, int64_t at)
{
    return name->record != 0 && at < name->live_least;
}

static bool maybe_live(const struct name *name, int64_t at)
{
    return name->record != 0 && at < name->live_most;
}

static void restart_exclusion(struct name *name, int64_t at, uint64_t ttl, bool keeps)
{
    const int64_t least = after(at, ttl);
    const int64_t most = after(at, ttl + ttl / 4);
    name->live_least = keeps && name->live_least > least ? name->live_least : least;
    name->live_most = keeps && name->live_most > most ? name->live_most : most;
}

static bool promised(struct judge *judge, struct name *name, const struct lh_recorded *request,
                     const struct lh_recorded *answer)
{
    const uint64_t reported = answer->message.reported;
    if (request->message.ballot < name->promised)
        return fail(judge, "A1: a promise below the promised ballot");
    if (reported == 0 && surely_live(name, request->at))
        return fail(judge, "A1: a live lease is not reported");
    if (reported != 0 && judge->forgot &&
        (reported != name->record || !maybe_live(name, request->at)))
        return fail(judge, "A1: a lease is reported that is not recorded, or has expired");
    name->promised = request->message.ballot;
    return true;
}

static bool accepted(struct judge *judge, struct name *name, const struct lh_recorded *request)
{
    const uint64_t ballot = request->message.ballot;
    if (ballot < name->promised)
        return fail(judge, "A2: an Accept below the promised ballot is accepted");
    if (surely_live(name, request->at) && ballot != name->record &&
        (request->message.base != name->record || !same_owner(ballot, name->record)))
        return fail(judge, "A2: a live lease is overwritten by an Accept that does not name it");
    if (ballot == name->record && !maybe_live(name, request->at))
        return fail(judge, "A2: a ballot recorded before is installed again");
    if (ballot != name->record) {
        const bool keeps = surely_live(name, request->at);
        restart_exclusion(name, request->at, request->message.ttl_ns, keeps);
        name->record_stamp = 0;
    }
    name->promised = ballot;
    name->record = ballot;
    return true;
}

static bool extended(struct judge *judge, struct name *name, const struct lh_recorded *request)
{
    if (request->message.ballot != name->record && (judge->forgot || name->record != 0))
        return fail(judge, "F3: an Extend of a lease that is not recorded is answered");
    if (name->record != 0 && !maybe_live(name, request->at))
        return fail(judge, "F3: an Extend of an expired lease is answered");
    if (request->message.stamp > name->record_stamp) {
        restart_exclusion(name, request->at, request->message.ttl_ns, name->record != 0);
        name->record_stamp = request->message.stamp;
    }
    name->record = request->message.ballot;
    return true;
}

static bool rejected(struct judge *judge, const struct name *name,
                     const struct lh_recorded *request, const struct lh_recorded *answer)
{
    const uint64_t reported = answer->message.reported;
    if (answer->message.promised < name->promised)
        return fail(judge, "A1: a rejection carries less than what was promised");
    if (reported == 0 && surely_live(name, request->at))
        return fail(judge, "a rejection does not report the live lease");
    if (reported != 0 && judge->forgot && reported != name->record)
        return fail(judge, "a rejection reports a lease that is not recorded");
    if (request->message.kind == LH_RECORDED_PREPARE &&
        answer->message.promised <= request->message.ballot)
        return fail(judge, "A1: a Prepare that is not below the promised ballot is rejected");
    return true;
}

static bool handle_request(struct judge *judge, struct name *name,
                           const struct lh_recorded *request, uint32_t answer_of)
{
    if (answer_of == 0)
        return true;
    const struct lh_recorded *answer = &judge->recording->events[answer_of - 1];
    if (request->at < judge->silent_until)
        return fail(judge, "A4: a request is answered in quarantine");
    switch (answer->message.kind) {
    case LH_RECORDED_PROMISE: return promised(judge, name, request, answer);
    case LH_RECORDED_ACCEPTED: return accepted(judge, name, request);
    case LH_RECORDED_EXTENDED: return extended(judge, name, request);
    default: return rejected(judge, name, request, answer);
    }
}

// The proposer hears an answer. What does not count is ignored, as there.
static void hear(struct name *name, const struct lh_recorded *event)
{
    const uint64_t from = bit(event->message.from);
    const uint64_t reported = event->message.reported;
    const bool mine = event->message.ballot == name->attempt;
    switch (event->message.kind) {
    case LH_RECORDED_PROMISE:
        if (mine && event->at < name->td &&
            (reported == 0 || (reported == name->base && event->at < name->until)))
            name->open |= from;
        break;
    case LH_RECORDED_ACCEPTED:
        if (mine && name->proposed && event->at < name->td)
            name->accepted |= from;
        break;
    case LH_RECORDED_EXTENDED:
        if (event->message.ballot == name->held && event->message.stamp == name->extend &&
            event->at < name->extend_td)
            name->extended |= from;
        break;
    default: break;
    }
}

static bool receive(struct judge *judge, struct name *name, const struct lh_recorded *event,
                    uint32_t answer_of)
{
    if (is_request(event->message.kind) || event->message.kind == LH_RECORDED_RELEASE) {
        if (owner_of(event->message.ballot) != event->message.from)
            return fail(judge, "T4: a request under the ballot of another node");
    }
    if (is_request(event->message.kind))
        return handle_request(judge, name, event, answer_of);
    if (event->message.kind == LH_RECORDED_RELEASE && event->message.ballot == name->record &&
        event->at >= judge->silent_until) {
        name->live_least = 0; // A3
        name->live_most = 0;
    }
    hear(name, event);
    return true;
}

static bool send_prepare(struct judge *judge, struct name *name, const struct lh_recorded *event)
{
    const uint64_t ballot = event->message.ballot;
    if (ballot == name->attempt) // to another acceptor, or once more
        return event->message.ttl_ns == name->ttl_ns ||
               fail(judge, "P1: an attempt has one duration");
    if (ballot <= judge->used[event->name])
        return fail(judge, "T4: a ballot that is not above the last one of this node");
    judge->used[event->name] = ballot;
    name->attempt = ballot;
    name->ttl_ns = event->message.ttl_ns;
    name->td = after(event->at, name->ttl_ns);
    name->base = event->at < name->until ? name->held : 0;
    name->open = name->accepted = 0;
    name->proposed = false;
    return true;
}

static bool send_accept(struct judge *judge, struct name *name, const struct lh_recorded *event)
{
    if (event->message.ballot != name->attempt)
        return fail(judge, "P3: an Accept of no attempt in flight");
    if (event->message.ttl_ns != name->ttl_ns)
        return fail(judge, "P1: an attempt has one duration");
    if (event->at >= name->td)
        return fail(judge, "P3: an Accept at or after td");
    if (!is_quorum(judge, name->open))
        return fail(judge, "P3: an Accept without a quorum of open promises");
    if (event->message.base != name->base && judge->forgot)
        return fail(judge, "P1: an Accept names another base than its attempt began with");
    name->proposed = true;
    return true;
}

static bool send_extend(struct judge *judge, struct name *name, const struct lh_recorded *event)
{
    if (judge->forgot && (event->message.ballot != name->held || event->at >= name->until))
        return fail(judge, "F3: an Extend of a lease that is not held");
    if (event->message.stamp < name->extend)
        return fail(judge, "F3: n falls");
    if (event->message.stamp == name->extend)
        return true;
    name->extend = event->message.stamp;
    name->extend_td = after(event->at, event->message.ttl_ns);
    name->extended = 0;
    if (!judge->forgot)
        name->held = event->message.ballot;
    return true;
}

static bool send_release(struct judge *judge, struct name *name, const struct lh_recorded *event)
{
    const uint64_t ballot = event->message.ballot;
    if (ballot == name->held && event->at < name->until)
        return fail(judge, "P6: a Release of a lease that is still held");
    if (ballot == name->attempt)
        name->attempt = 0; // it is over
    return true;
}

static bool send(struct judge *judge, struct name *name, const struct lh_recorded *event)
{
    const uint64_t kind = event->message.kind;
    if ((is_request(kind) || kind == LH_RECORDED_RELEASE) &&
        owner_of(event->message.ballot) != judge->node)
        return fail(judge, "T4: a request under the ballot of another node");
    switch (kind) {
    case LH_RECORDED_PREPARE: return send_prepare(judge, name, event);
    case LH_RECORDED_ACCEPT: return send_accept(judge, name, event);
    case LH_RECORDED_EXTEND: return send_extend(judge, name, event);
    case LH_RECORDED_RELEASE: return send_release(judge, name, event);
    default: return true; // answers were judged with their requests
    }
}

// A grant or a renewal that is told to a client: the lease was won, and lasts no longer than td.
static bool granted(struct judge *judge, struct name *name, const struct lh_recorded *event)
{
    const int64_t until = (int64_t)event->until;
    const bool won = is_quorum(judge, name->accepted) && event->at < name->td;
    const bool lengthened = is_quorum(judge, name->extended) && event->at < name->extend_td;
    int64_t most = name->until;
    if (won && name->td > most)
        most = name->td;
    if (lengthened && name->extend_td > most)
        most = name->extend_td;
    if (event->at >= until)
        return fail(judge, "P4: granted at or after its end");
    if (judge->forgot && until > most)
        return fail(judge, "P4: granted for longer than a quorum of accepted answers allows");
    if (event->what == LH_RECORDED_GRANTED && judge->forgot && event->token < name->token)
        return fail(judge, "F2: a token that is below an earlier one");
    if (won)
        name->held = name->attempt;
    if (until > name->until)
        name->until = until;
    if (event->what == LH_RECORDED_GRANTED)
        name->token = event->token;
    return true;
}

static bool begin_life(struct judge *judge, const struct lh_recorded *event)
{
    if (event->n != 1)
        return fail(judge, "lines are missing before this one, or out of order");
    memset(judge->names, 0, judge->recording->names * sizeof *judge->names);
    judge->silent_until = 0;
    judge->forgot = false;
    judge->at = event->at;
    return true;
}

static bool follow(struct judge *judge, const struct lh_recorded *event, uint32_t answer_of)
{
    struct name *name = &judge->names[event->name];
    if (event->n == 1 || event->n != judge->n + 1) {
        if (!begin_life(judge, event))
            return false;
    }
    judge->n = event->n;
    if (event->at < judge->at)
        return fail(judge, "Clock: time runs backwards");
    judge->at = event->at;
    switch (event->what) {
    case LH_RECORDED_RECEIVE: return receive(judge, name, event, answer_of);
    case LH_RECORDED_SEND: return send(judge, name, event);
    case LH_RECORDED_ADMITTED: judge->forgot = judge->forgot || event->is_new; return true;
    case LH_RECORDED_QUARANTINE:
        judge->forgot = true;
        judge->silent_until = after(event->at, event->number);
        return true;
    case LH_RECORDED_GRANTED:
    case LH_RECORDED_RENEWED: return granted(judge, name, event);
    case LH_RECORDED_LOST:
    case LH_RECORDED_RELEASED: name->until = 0; return true;
    default: return true;
    }
}

static bool judge_node(struct judge *judge, const struct lh_recorded **ret_event)
{
    const struct lh_recorded *events = judge->recording->events;
    if (!match_answers(judge)) {
        *ret_event = &events[judge->n];
        return false;
    }
    judge->n = 0;
    memset(judge->used, 0, judge->recording->names * sizeof *judge->used);
    for (size_t i = 0; i < judge->recording->count; i++) {
        if (events[i].node == judge->node && !follow(judge, &events[i], judge->answer_of[i])) {
            *ret_event = &events[i];
            return false;
        }
    }
    return true;
}

static int compare_messages(const void *left, const void *right)
{
    const struct lh_recorded *a = *(const struct lh_recorded *const *)left;
    const struct lh_recorded *b = *(const struct lh_recorded *const *)right;
    const int order = memcmp(&a->message, &b->message, sizeof a->message);
    return order != 0 ? order : a < b ? -1 : 1; // of equal ones the earliest first
}

// The first event that sent this very message, or the number of events.
static size_t find_send(const struct lh_recording *recording, const struct lh_recorded **sent,
                        size_t count, const struct lh_recorded *event)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (memcmp(&sent[middle]->message, &event->message, sizeof event->message) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || memcmp(&sent[low]->message, &event->message, sizeof event->message) != 0)
        return recording->count;
    return (size_t)(sent[low] - recording->events);
}

// Goes through all nodes side by side, each in its own order; a message is received only after it
// was sent, by a node whose recording is there. Returns false at the first that never can be.
static bool follow_all(struct judge *judge, const struct lh_recorded **sent, size_t count,
                       const struct lh_recorded **ret_event)
{
    const struct lh_recording *recording = judge->recording;
    size_t at[NODES] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        *ret_event = NULL;
        for (uint32_t node = 1; node < NODES; node++) {
            for (; at[node] < recording->count; at[node]++) {
                const struct lh_recorded *event = &recording->events[at[node]];
                if (event->node == node && event->what == LH_RECORDED_RECEIVE &&
                    (recording->recorders & bit(event->message.from)) != 0) {
                    const size_t send = find_send(recording, sent, count, event);
                    if (send >= at[event->message.from]) { // not sent yet, or never
                        *ret_event = *ret_event == NULL ? event : *ret_event;
                        break;
                    }
                }
                moved = true;
            }
        }
    }
    return *ret_event == NULL || fail(judge, "a message that nobody has sent before");
}

static bool judge_network(struct judge *judge, const struct lh_recorded **ret_event)
{
    const struct lh_recording *recording = judge->recording;
    const struct lh_recorded **sent =
        malloc((recording->count + 1) * sizeof(const struct lh_recorded *));
    size_t count = 0;
    *ret_event = NULL;
    if (sent == NULL)
        return false;
    for (size_t i = 0; i < recording->count; i++) {
        if (recording->events[i].what == LH_RECORDED_SEND)
            sent[count++] = &recording->events[i];
    }
    qsort(sent, count, sizeof(const struct lh_recorded *), compare_messages);
    const bool allowed = follow_all(judge, sent, count, ret_event);
    free(sent);
    return allowed;
}

bool lh_recording_judge(const struct lh_recording *recording, const struct lh_recorded **ret_event,
                        char ret_why[256])
{
    struct name *const names = calloc(recording->names, sizeof *names);
    uint32_t *const answer_of = calloc(recording->count + 1, sizeof *answer_of);
    uint64_t *const used = calloc(recording->names, sizeof *used);
    struct judge judge = {.recording = recording,
                          .names = names,
                          .answer_of = answer_of,
                          .used = used,
                          .quorum = (uint32_t)__builtin_popcountll(recording->nodes) / 2 + 1};
    *ret_event = NULL;
    bool allowed = names != NULL && answer_of != NULL && used != NULL;
    for (judge.node = 1; judge.node < NODES && allowed; judge.node++) {
        if (recording->recorders & bit(judge.node))
            allowed = judge_node(&judge, ret_event);
    }
    allowed = allowed && judge_network(&judge, ret_event);
    if (judge.why != NULL)
        snprintf(ret_why, 256, "%s", judge.why);
    free(names);
    free(answer_of);
    free(used);
    return allowed;
}
