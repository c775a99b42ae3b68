// A recording as a whole: which answer belongs to which request, the lives of each node, and that
// every message that was received was sent. The rules are in recording_acceptor.c and
// recording_proposer.c.
#include "check/recording_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/recording_roles.h"

enum { RATE_LEAST = 1, RATE_MOST = 100000 }; // of what a daemon takes, in parts per million

bool lh_recording_fail(struct lh_recording_judge *judge, const char *why)
{
    judge->why = why;
    return false;
}

static bool fits(const struct lh_recorded *request, const struct lh_recorded *answer)
{
    return request->what == LH_RECORDED_RECEIVE && request->name == answer->name &&
           request->message.kind == lh_recorded_request(answer) &&
           request->message.from == answer->message.to &&
           request->message.ballot == answer->message.ballot &&
           request->message.stamp == answer->message.stamp;
}

// The request that an answer is to: the latest of that instant. An answer is made in the step of its
// request, and is sent or held in it.
static size_t find_request(const struct lh_recording_judge *judge, size_t answer_at)
{
    const struct lh_recorded *events = judge->recording->events;
    const struct lh_recorded *answer = &events[answer_at];
    for (size_t at = answer_at; at > 0;) {
        const struct lh_recorded *request = &events[--at];
        if (request->file != answer->file || request->n > answer->n || request->at != answer->at)
            break;
        if (judge->answer_of[at] == 0 && fits(request, answer))
            return at;
    }
    return answer_at;
}

// Whether what is sent now was held in this life, and not sent yet.
static bool was_held(const struct lh_recording_judge *judge, size_t answer_at)
{
    const struct lh_recorded *events = judge->recording->events;
    const struct lh_recorded *answer = &events[answer_at];
    // Without made_at: the write was durable in the very instant in which it was made.
    const int64_t made = answer->made_at != 0 ? (int64_t)answer->made_at : answer->at;
    for (size_t at = answer_at; at > 0;) {
        const struct lh_recorded *held = &events[--at];
        if (held->file != answer->file || held->n > answer->n || held->at < made)
            break;
        if (held->what == LH_RECORDED_HOLD && held->at == made && judge->answer_of[at] == 0 &&
            memcmp(&held->message, &answer->message, sizeof held->message) == 0) {
            judge->answer_of[at] = (uint32_t)answer_at + 1;
            return true;
        }
    }
    return false;
}

static bool match_answers(struct lh_recording_judge *judge)
{
    const struct lh_recorded *events = judge->recording->events;
    memset(judge->answer_of, 0, judge->recording->count * sizeof *judge->answer_of);
    for (size_t i = 0; i < judge->recording->count; i++) {
        const struct lh_recorded *event = &events[i];
        if (event->node != judge->node || event->what == LH_RECORDED_RECEIVE ||
            lh_recorded_request(event) == LH_RECORDED_NONE)
            continue;
        const size_t at = event->made_at != 0 ? i : find_request(judge, i);
        if (at != i) {
            judge->answer_of[at] = (uint32_t)i + 1;
        } else if (!was_held(judge, i)) {
            judge->n = i; // where
            return lh_recording_fail(judge, event->made_at == 0
                                                ? "an answer to nothing that was received"
                                                : "an answer that was not held");
        }
    }
    return true;
}

static bool receive(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                    const struct lh_recorded *event, uint32_t answer_of)
{
    const uint64_t kind = event->message.kind;
    const bool request = lh_recording_is_request(kind);
    if ((request || kind == LH_RECORDED_RELEASE) &&
        lh_recording_owner(event->message.ballot) != event->message.from)
        return lh_recording_fail(judge, "T4: a request under the ballot of another node");
    if (judge->clock_bad && answer_of == 0)
        return true; // dropped
    if (request && answer_of != 0)
        return lh_recording_answer(judge, name, event, &judge->recording->events[answer_of - 1]);
    if (kind == LH_RECORDED_RELEASE)
        lh_recording_released(judge, name, event);
    else if (!request)
        lh_recording_hear(judge, name, event);
    return true;
}

static bool begin_life(struct lh_recording_judge *judge, const struct lh_recorded *event)
{
    if (event->n != 1)
        return lh_recording_fail(judge, "lines are missing before this one, or out of order");
    const size_t size = judge->recording->names * sizeof *judge->names;
    memcpy(judge->before, judge->names, size);
    memset(judge->names, 0, size);
    judge->ended = judge->at;
    if (event->at < judge->at) { // the machine was started anew, and its clock with it
        judge->owed = 0;
        judge->ended = 0;
    }
    judge->owed_before = judge->owed;
    judge->silent_until = 0;
    judge->floor = 0;
    judge->generation = 0;
    judge->admitted = false;
    judge->clock_bad = false;
    judge->restored = false;
    judge->complete = false;
    judge->untold = 0;
    judge->at = event->at;
    return true;
}

// F4: what was saved at the end of the last life, and no attempt in flight.
static void restore(struct lh_recording_judge *judge, int64_t at)
{
    judge->restored = true;
    judge->complete = judge->ended != 0;
    if (!judge->complete)
        return;
    memcpy(judge->names, judge->before, judge->recording->names * sizeof *judge->names);
    for (uint32_t i = 0; i < judge->recording->names; i++) {
        struct lh_recorded_name *name = &judge->names[i];
        name->phase = LH_RECORDED_IDLE;
        name->attempt = name->taken_back = name->given_up = name->let_go = 0;
        name->won = name->extending = false;
        if (name->until <= at) {
            name->held = name->token = 0;
            name->lapsed = true;
            name->until = 0;
        }
    }
}

// T3: whatever was answered in an earlier life is forgotten only once its exclusion has passed.
static bool admit(struct lh_recording_judge *judge, const struct lh_recorded *event)
{
    judge->admitted = true;
    if (event->what == LH_RECORDED_ADMITTED) {
        judge->generation = event->generation;
        judge->complete |= !judge->restored;
        return event->is_restored == judge->restored || // a quarantine may follow
               lh_recording_fail(judge,
                                 "F4: a clean restart without what was saved, or the reverse");
    }
    judge->silent_until = lh_recording_after(event->at, event->number);
    return true;
}

// The effects of a step are recorded before the next one begins.
static bool begins_step(const struct lh_recording_judge *judge, const struct lh_recorded *event)
{
    return event->at != judge->at || event->what == LH_RECORDED_RECEIVE;
}

static bool follow(struct lh_recording_judge *judge, const struct lh_recorded *event,
                   uint32_t answer_of)
{
    struct lh_recorded_name *name = &judge->names[event->name];
    if (event->n == 1 || event->n != judge->n + 1) {
        if (!begin_life(judge, event))
            return false;
    }
    judge->n = event->n;
    if (event->at < judge->at)
        return lh_recording_fail(judge, "Clock: time runs backwards");
    if (judge->untold != 0 && begins_step(judge, event))
        return lh_recording_fail(judge, "before this a lease was won, or let go, and nobody told");
    judge->step += begins_step(judge, event);
    judge->at = event->at;
    switch (event->what) {
    case LH_RECORDED_RECEIVE: return receive(judge, name, event, answer_of);
    case LH_RECORDED_SEND: return lh_recording_send(judge, name, event);
    case LH_RECORDED_ADMITTED:
    case LH_RECORDED_QUARANTINE: return admit(judge, event);
    case LH_RECORDED_SERVING:
        return (judge->admitted && event->at >= judge->silent_until) ||
               lh_recording_fail(judge, "A4: it serves before its quarantine has passed");
    case LH_RECORDED_RESTORED:
        restore(judge, event->at);
        return !judge->admitted ||
               lh_recording_fail(judge, "F4: it restores what it saved too late");
    case LH_RECORDED_HOLD: return true; // judged with its request
    case LH_RECORDED_CLOCK_BAD:
    case LH_RECORDED_CLOCK_GOOD:
        judge->clock_bad = event->what == LH_RECORDED_CLOCK_BAD;
        return true;
    case LH_RECORDED_OTHER: return true;
    default: return lh_recording_tell(judge, name, event);
    }
}

static bool judge_node(struct lh_recording_judge *judge, const struct lh_recorded **ret_event)
{
    const struct lh_recorded *events = judge->recording->events;
    if (!match_answers(judge)) {
        *ret_event = &events[judge->n];
        return false;
    }
    judge->n = 0;
    judge->at = 0;
    judge->owed = 0;
    memset(judge->names, 0, judge->recording->names * sizeof *judge->names);
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
// was sent, by a node whose recording is there. Returns false at the first that never can be. What is
// late may have been sent when the sender's file was read already.
static bool follow_all(struct lh_recording_judge *judge, const struct lh_recorded **sent,
                       size_t count, const struct lh_recorded **ret_event)
{
    const struct lh_recording *recording = judge->recording;
    size_t at[LH_RECORDED_NODES] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        *ret_event = NULL;
        for (uint32_t node = 1; node < LH_RECORDED_NODES; node++) {
            for (; at[node] < recording->count; at[node]++) {
                const struct lh_recorded *event = &recording->events[at[node]];
                if (event->node == node && event->what == LH_RECORDED_RECEIVE &&
                    (recording->recorders & lh_recording_bit(event->message.from)) != 0) {
                    const size_t send = find_send(recording, sent, count, event);
                    if (send >= at[event->message.from]) { // not sent yet, or never
                        if (!event->is_late && *ret_event == NULL)
                            *ret_event = event;
                        break;
                    }
                }
                moved = true;
            }
        }
    }
    return *ret_event == NULL || lh_recording_fail(judge, "a message that nobody has sent before");
}

static bool judge_network(struct lh_recording_judge *judge, const struct lh_recorded **ret_event)
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
    struct lh_recorded_name *const names = calloc(recording->names, sizeof *names);
    struct lh_recorded_name *const before = calloc(recording->names, sizeof *before);
    uint32_t *const answer_of = calloc(recording->count + 1, sizeof *answer_of);
    uint64_t *const used = calloc(recording->names, sizeof *used);
    uint64_t *const texts = calloc(recording->names, sizeof *texts);
    struct lh_recording_judge judge = {
        .recording = recording,
        .names = names,
        .before = before,
        .answer_of = answer_of,
        .used = used,
        .texts = texts,
        .rate_least = RATE_LEAST,
        .rate_most = RATE_MOST,
        .quorum = (uint32_t)__builtin_popcountll(recording->nodes) / 2 + 1};
    *ret_event = NULL;
    bool allowed =
        names != NULL && before != NULL && answer_of != NULL && used != NULL && texts != NULL;
    for (unsigned pass = 0; pass < 2; pass++) { // once to learn the rate error
        for (judge.node = 1; judge.node < LH_RECORDED_NODES && allowed; judge.node++) {
            if (recording->recorders & lh_recording_bit(judge.node))
                allowed = judge_node(&judge, ret_event);
        }
    }
    allowed = allowed && judge_network(&judge, ret_event);
    if (judge.why != NULL)
        snprintf(ret_why, 256, "%s", judge.why);
    free(names);
    free(before);
    free(answer_of);
    free(used);
    free(texts);
    return allowed;
}
