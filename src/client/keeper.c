// See keeper.h.
#include "client/keeper.h"

#include <stdio.h>
#include <string.h>

#include "client/authority.h"

// The turn before which a stall is the reason of a loss: half of the time there is to renew.
#define STALL_SHARE 4
// Without interest it is looked for again so often in a TTL: it may be shown by another thread.
#define LOOKS_IN_A_TTL 16

static const char nothing_said[] = "no reason was given";

// --- events ---

static struct lh_keeper_event *add_event(struct lh_keeper *keeper, enum lh_keeper_event_kind kind,
                                         enum lh_keeper_cause cause, const char *reason)
{
    if (keeper->event_count == LH_KEEPER_EVENTS) { // nobody takes them: the latest tell most
        keeper->event_first = (keeper->event_first + 1) % LH_KEEPER_EVENTS;
        keeper->event_count--;
    }
    unsigned at = (keeper->event_first + keeper->event_count++) % LH_KEEPER_EVENTS;
    struct lh_keeper_event *event = &keeper->events[at];
    *event = (struct lh_keeper_event){
        .kind = kind,
        .cause = cause,
        .token = keeper->holding.token,
        .node = keeper->holding.node,
        .stalled = keeper->stalled,
    };
    snprintf(event->holder, sizeof event->holder, "%s", keeper->holding.holder);
    snprintf(event->reason, sizeof event->reason, "%s", reason);
    return event;
}

bool lh_keeper_event(struct lh_keeper *keeper, struct lh_keeper_event *ret_event)
{
    if (keeper->event_count == 0)
        return false;
    *ret_event = keeper->events[keeper->event_first];
    keeper->event_first = (keeper->event_first + 1) % LH_KEEPER_EVENTS;
    keeper->event_count--;
    return true;
}

// Somebody else holds it: told in line, and at the end of a wait.
static void add_owner(struct lh_keeper *keeper, enum lh_keeper_event_kind kind)
{
    const struct lh_answer *answer = &keeper->errand.answer;
    struct lh_keeper_event *event = add_event(keeper, kind, LH_KEEPER_BY_HOLDER, answer->reason);
    event->token = answer->token;
    event->node = answer->node;
    event->free_in.ns = answer->free_in_ns > 0 ? answer->free_in_ns : 0;
    snprintf(event->holder, sizeof event->holder, "%s", answer->holder);
}

// --- errands ---

static void follow(struct lh_keeper *keeper, struct lh_instant now);

static void start(struct lh_keeper *keeper, enum lh_errand_verb verb, struct lh_duration patience,
                  struct lh_instant now)
{
    struct lh_errand_plan plan = {
        .verb = verb,
        .ttl = keeper->plan.ttl,
        .wait = verb == LH_ERRAND_ACQUIRE ? keeper->plan.wait : (struct lh_duration){0},
        .patience = patience,
        .endpoint_count = keeper->plan.endpoint_count,
        .endpoint = keeper->endpoint,
        .seed = lh_prng_next(&keeper->prng),
    };
    keeper->errand_runs = true;
    lh_errand_begin(&keeper->errand, &keeper->holding, &plan, now);
    keeper->errand.reached = true; // go on to the end though nothing listens: a node may come back
    follow(keeper, now);
}

// Leaves whatever is under way. An answer that is still owed must meet nobody.
static void abandon(struct lh_keeper *keeper)
{
    if (keeper->errand_runs && keeper->errand.move == LH_ERRAND_SEND)
        keeper->hang_up = keeper->link != LH_LINK_NONE;
    keeper->errand_runs = false;
    keeper->request_ends = LH_NEVER;
}

static void end(struct lh_keeper *keeper)
{
    abandon(keeper);
    keeper->hang_up = keeper->link != LH_LINK_NONE;
    keeper->phase = LH_KEEPER_ENDED;
}

static void granted(struct lh_keeper *keeper, struct lh_instant now)
{
    struct lh_holding *holding = &keeper->holding;
    struct lh_duration left = lh_left(now, holding->deadline);
    int64_t spread_ns = lh_prng_between(&keeper->prng, 0, left.ns / 20);
    bool first = !keeper->granted;
    keeper->granted = true;
    keeper->phase = LH_KEEPER_HELD;
    keeper->renew_at = lh_after(now, (struct lh_duration){left.ns / 2 - spread_ns});
    keeper->stalled = (struct lh_duration){0};
    keeper->told_danger = false;
    if (!first)
        return;
    struct lh_keeper_event *event = add_event(keeper, LH_KEEPER_GRANTED, LH_KEEPER_NO_CAUSE, "");
    event->last_token = keeper->seen_token;
    memcpy(event->last_holder, keeper->seen_holder, sizeof event->last_holder);
}

static const char *words_of(const struct lh_keeper *keeper)
{
    if (keeper->errand.trouble.error.text[0] != '\0')
        return keeper->errand.trouble.error.text;
    if (keeper->errand.answer.reason[0] != '\0')
        return keeper->errand.answer.reason;
    return nothing_said;
}

// It will not be renewed. What is left of it stays the holder's, to stop in.
static void lose(struct lh_keeper *keeper, struct lh_instant now, enum lh_keeper_cause cause,
                 const char *why)
{
    if (keeper->phase != LH_KEEPER_DOOMED)
        add_event(keeper, LH_KEEPER_LOST, cause, why);
    abandon(keeper);
    keeper->phase = LH_KEEPER_DOOMED;
    if (!lh_authority_at(keeper->holding.deadline, now))
        end(keeper);
}

static void not_acquired(struct lh_keeper *keeper)
{
    enum lh_keeper_cause cause = LH_KEEPER_BY_QUORUM;
    if (keeper->errand.result == LH_ERRAND_HELD) {
        add_owner(keeper, LH_KEEPER_NOT_ACQUIRED);
        end(keeper);
        return;
    }
    if (keeper->errand.result == LH_ERRAND_REFUSED)
        cause = LH_KEEPER_BY_REFUSAL;
    else if (keeper->errand.result == LH_ERRAND_LOST)
        cause = LH_KEEPER_BY_OTHER;
    struct lh_keeper_event *event =
        add_event(keeper, LH_KEEPER_NOT_ACQUIRED, cause, words_of(keeper));
    event->token = event->node = 0;
    event->holder[0] = '\0';
    end(keeper);
}

static void renewal_ended(struct lh_keeper *keeper, struct lh_instant now)
{
    switch (keeper->errand.result) {
    case LH_ERRAND_GRANTED: granted(keeper, now); break;
    case LH_ERRAND_LOST:
        lose(keeper, now, keeper->errand.answer.revoked ? LH_KEEPER_BY_REVOKE : LH_KEEPER_BY_OTHER,
             words_of(keeper));
        break;
    case LH_ERRAND_REFUSED: lose(keeper, now, LH_KEEPER_BY_REFUSAL, words_of(keeper)); break;
    default: break; // out of time: the deadline tells
    }
}

static void release_ended(struct lh_keeper *keeper)
{
    enum lh_keeper_cause cause = LH_KEEPER_BY_QUORUM;
    if (keeper->errand.result == LH_ERRAND_RELEASED)
        cause = LH_KEEPER_NO_CAUSE;
    else if (keeper->errand.result == LH_ERRAND_LOST)
        cause = LH_KEEPER_BY_OTHER;
    keeper->let_go = cause != LH_KEEPER_BY_QUORUM;
    add_event(keeper, LH_KEEPER_WAS_RELEASED, cause,
              cause == LH_KEEPER_NO_CAUSE ? "" : words_of(keeper));
    end(keeper);
}

// Carries out what the errand wants next.
static void follow(struct lh_keeper *keeper, struct lh_instant now)
{
    struct lh_errand *errand = &keeper->errand;
    bool open = keeper->link != LH_LINK_NONE && !keeper->hang_up;
    keeper->request_ends = LH_NEVER;
    if (open && (errand->afresh || errand->endpoint != keeper->endpoint))
        keeper->hang_up = true;
    if ((errand->move == LH_ERRAND_PAUSE || errand->owner_gone) &&
        keeper->phase == LH_KEEPER_RENEWING && !keeper->told_danger) {
        keeper->told_danger = true;
        add_event(keeper, LH_KEEPER_ENDANGERED,
                  errand->owner_gone ? LH_KEEPER_BY_NODE : LH_KEEPER_BY_QUORUM, words_of(keeper));
    }
    if (errand->move == LH_ERRAND_SEND) {
        keeper->request_ends = lh_after(now, errand->timeout);
        if (open && !keeper->hang_up && keeper->link == LH_LINK_OPEN)
            lh_stream_begin(&keeper->stream, errand->words, errand->word_count);
        else
            keeper->endpoint = errand->endpoint;
    }
    if (errand->move != LH_ERRAND_END)
        return;
    keeper->errand_runs = false;
    if (keeper->phase == LH_KEEPER_RELEASING)
        release_ended(keeper);
    else if (keeper->phase == LH_KEEPER_RENEWING)
        renewal_ended(keeper, now);
    else if (errand->result == LH_ERRAND_GRANTED)
        granted(keeper, now);
    else
        not_acquired(keeper);
}

// --- what the clock brings ---

static bool interested(const struct lh_keeper *keeper, struct lh_instant now)
{
    return lh_before(now, keeper->interest_until);
}

static bool is_held(const struct lh_keeper *keeper)
{
    return keeper->phase == LH_KEEPER_HELD || keeper->phase == LH_KEEPER_RENEWING ||
           keeper->phase == LH_KEEPER_DOOMED;
}

static void expire(struct lh_keeper *keeper, struct lh_instant now)
{
    enum lh_keeper_cause cause = LH_KEEPER_BY_QUORUM;
    char why[sizeof keeper->events[0].reason];
    if (keeper->stalled.ns >= keeper->holding.ttl.ns / STALL_SHARE) {
        cause = LH_KEEPER_BY_STALL;
        snprintf(why, sizeof why, "the program was not given its turn for %lld ms",
                 (long long)lh_floor_ms(keeper->stalled));
    } else if (keeper->phase == LH_KEEPER_HELD && !interested(keeper, now)) {
        cause = LH_KEEPER_BY_NEGLECT;
        snprintf(why, sizeof why, "the application did not say that it still wants it");
    } else if (keeper->errand.owner_gone) {
        cause = LH_KEEPER_BY_NODE;
        snprintf(why, sizeof why, "node %lld, which owns the lease, is gone: %.300s",
                 (long long)keeper->holding.node, words_of(keeper));
    } else {
        snprintf(why, sizeof why, "it was not renewed in time: %.300s",
                 keeper->phase == LH_KEEPER_RENEWING ? words_of(keeper) : nothing_said);
    }
    lose(keeper, now, cause, why);
}

// The part of a turn that comes before anything that arrived is looked at.
static void look_at_clock(struct lh_keeper *keeper, struct lh_instant now)
{
    struct lh_duration late = lh_left(keeper->asked_wake, now);
    if (late.ns > keeper->stalled.ns)
        keeper->stalled = late;
    keeper->asked_wake = LH_NEVER;
    keeper->now = now;
    if (is_held(keeper) && !lh_authority_at(keeper->holding.deadline, now))
        expire(keeper, now);
}

static void fail(struct lh_keeper *keeper, struct lh_instant now, enum lh_reach reach,
                 const char *why)
{
    if (keeper->errand_runs && keeper->errand.move == LH_ERRAND_SEND) {
        lh_errand_failed(&keeper->errand, now, reach, keeper->where, why);
        follow(keeper, now);
    } else if (keeper->phase == LH_KEEPER_HELD) {
        keeper->renew_at = lh_earlier(keeper->renew_at, now); // to learn whether it can be renewed
    }
}

static void do_what_is_due(struct lh_keeper *keeper, struct lh_instant now)
{
    struct lh_errand *errand = &keeper->errand;
    if (keeper->errand_runs && errand->move == LH_ERRAND_SEND &&
        !lh_before(now, keeper->request_ends))
        fail(keeper, now,
             keeper->link == LH_LINK_OPEN && !keeper->hang_up ? LH_REACH_SILENCE : LH_REACH_NOBODY,
             "no answer in time");
    if (keeper->errand_runs && errand->move == LH_ERRAND_PAUSE &&
        !lh_before(now, errand->pause_until)) {
        lh_errand_go_on(errand, now);
        follow(keeper, now);
    }
    if (keeper->phase == LH_KEEPER_HELD && !lh_before(now, keeper->renew_at) &&
        interested(keeper, now)) {
        keeper->phase = LH_KEEPER_RENEWING;
        start(keeper, LH_ERRAND_RENEW, lh_left(now, keeper->holding.deadline), now);
    }
}

// --- from outside ---

void lh_keeper_init(struct lh_keeper *keeper, const struct lh_keeper_plan *plan,
                    struct lh_instant now)
{
    memset(keeper, 0, sizeof *keeper);
    keeper->plan = *plan;
    keeper->endpoint = plan->endpoint;
    keeper->interest_until = keeper->asked_wake = keeper->request_ends = LH_NEVER;
    keeper->now = now;
    snprintf(keeper->holding.name, sizeof keeper->holding.name, "%s", plan->name);
    snprintf(keeper->holding.holder, sizeof keeper->holding.holder, "%s", plan->holder);
    keeper->plan.name = keeper->holding.name;
    keeper->plan.holder = keeper->holding.holder;
    keeper->holding.token = plan->token;
    keeper->holding.released = plan->released;
    keeper->holding.deadline = LH_NEVER; // of a lease resumed: not known here
    lh_prng_seed_number(&keeper->prng, plan->seed);
    lh_stream_init(&keeper->stream, keeper->out, sizeof keeper->out, keeper->in, sizeof keeper->in,
                   keeper->values, LH_KEEPER_VALUES, sizeof keeper->in);
    start(keeper, plan->token > 0 ? LH_ERRAND_RENEW : LH_ERRAND_ACQUIRE, plan->patience, now);
}

void lh_keeper_turn(struct lh_keeper *keeper, struct lh_instant now)
{
    look_at_clock(keeper, now);
    do_what_is_due(keeper, now);
}

void lh_keeper_interest(struct lh_keeper *keeper, struct lh_instant until)
{
    keeper->interest_until = until;
}

void lh_keeper_release(struct lh_keeper *keeper, struct lh_instant now)
{
    look_at_clock(keeper, now);
    if (keeper->phase == LH_KEEPER_RELEASING || keeper->phase == LH_KEEPER_ENDED)
        return;
    if (!is_held(keeper)) {
        end(keeper);
        add_event(keeper, LH_KEEPER_WAS_RELEASED, LH_KEEPER_NO_CAUSE, "");
        return;
    }
    struct lh_duration patience = lh_left(now, keeper->holding.deadline);
    if (keeper->plan.patience.ns < patience.ns)
        patience = keeper->plan.patience;
    abandon(keeper);
    keeper->phase = LH_KEEPER_RELEASING;
    start(keeper, LH_ERRAND_RELEASE, patience, now);
}

int64_t lh_keeper_released(const struct lh_keeper *keeper)
{
    const struct lh_holding *holding = &keeper->holding;
    return keeper->let_go || holding->token > holding->released ? 0 : holding->released;
}

enum lh_keeper_wish lh_keeper_wish(struct lh_keeper *keeper)
{
    bool sends = keeper->errand_runs && keeper->errand.move == LH_ERRAND_SEND;
    if (keeper->hang_up) {
        bool there = keeper->link != LH_LINK_NONE;
        keeper->hang_up = false;
        keeper->link = LH_LINK_NONE;
        lh_stream_reset(&keeper->stream);
        if (there)
            return LH_KEEPER_DISCONNECT;
    }
    if (keeper->link == LH_LINK_NONE && sends) {
        keeper->link = LH_LINK_CONNECTING;
        keeper->endpoint = keeper->errand.endpoint;
        return LH_KEEPER_CONNECT;
    }
    if (keeper->link == LH_LINK_OPEN && lh_stream_has_output(&keeper->stream))
        return LH_KEEPER_WRITE;
    return LH_KEEPER_NOTHING;
}

void lh_keeper_name_endpoint(struct lh_keeper *keeper, const char *where)
{
    snprintf(keeper->where, sizeof keeper->where, "%s", where);
}

void lh_keeper_connected(struct lh_keeper *keeper, struct lh_instant now)
{
    lh_keeper_turn(keeper, now);
    if (keeper->link != LH_LINK_CONNECTING || keeper->hang_up)
        return;
    keeper->link = LH_LINK_OPEN;
    lh_stream_reset(&keeper->stream);
    if (keeper->errand_runs && keeper->errand.move == LH_ERRAND_SEND)
        lh_stream_begin(&keeper->stream, keeper->errand.words, keeper->errand.word_count);
}

void lh_keeper_ended(struct lh_keeper *keeper, struct lh_instant now, enum lh_reach reach,
                     const char *why)
{
    look_at_clock(keeper, now);
    if (keeper->link != LH_LINK_NONE) {
        keeper->link = LH_LINK_NONE;
        keeper->hang_up = false;
        lh_stream_reset(&keeper->stream);
        fail(keeper, now, reach, why);
    }
    do_what_is_due(keeper, now);
}

struct lh_slice lh_keeper_output(struct lh_keeper *keeper, struct lh_instant now)
{
    return lh_stream_output(&keeper->stream, now);
}

void lh_keeper_wrote(struct lh_keeper *keeper, size_t size_bytes)
{
    lh_stream_wrote(&keeper->stream, size_bytes);
}

uint8_t *lh_keeper_input(struct lh_keeper *keeper, size_t *ret_room)
{
    return lh_stream_input(&keeper->stream, ret_room);
}

static void take_answer(struct lh_keeper *keeper, struct lh_instant now)
{
    struct lh_errand *errand = &keeper->errand;
    const struct lh_answer *answer = &errand->answer;
    lh_errand_answered(errand, now, keeper->stream.sent, keeper->where,
                       lh_stream_reply(&keeper->stream));
    if (errand->verb == LH_ERRAND_ACQUIRE && answer->status == LH_ANSWER_HELD &&
        !errand->resuming && answer->token > 0 && answer->token != keeper->seen_token) {
        keeper->seen_token = answer->token;
        snprintf(keeper->seen_holder, sizeof keeper->seen_holder, "%s", answer->holder);
        if (errand->result == LH_ERRAND_BUSY)
            add_owner(keeper, LH_KEEPER_OWNER);
    }
    follow(keeper, now);
}

void lh_keeper_received(struct lh_keeper *keeper, struct lh_instant now, size_t size_bytes)
{
    look_at_clock(keeper, now);
    if (keeper->link == LH_LINK_OPEN && !keeper->hang_up) {
        enum lh_stream_state state = lh_stream_received(&keeper->stream, size_bytes);
        bool full = keeper->stream.in_size == sizeof keeper->in;
        if (state == LH_STREAM_ANSWERED && keeper->errand_runs) {
            take_answer(keeper, now);
        } else if (state == LH_STREAM_BROKEN || full) {
            keeper->hang_up = true;
            fail(keeper, now, LH_REACH_BROKEN,
                 state == LH_STREAM_BROKEN ? keeper->stream.reason : "the answer is too long");
        }
    }
    do_what_is_due(keeper, now);
}

struct lh_instant lh_keeper_wake_at(struct lh_keeper *keeper)
{
    struct lh_instant wake = LH_NEVER;
    if (keeper->errand_runs)
        wake = keeper->errand.move == LH_ERRAND_PAUSE ? keeper->errand.pause_until
                                                      : keeper->request_ends;
    if (is_held(keeper))
        wake = lh_earlier(wake, keeper->holding.deadline);
    if (keeper->phase == LH_KEEPER_HELD) {
        struct lh_duration look = {keeper->holding.ttl.ns / LOOKS_IN_A_TTL};
        wake = lh_earlier(wake, lh_before(keeper->now, keeper->renew_at)
                                    ? keeper->renew_at
                                    : lh_after(keeper->now, look));
    }
    keeper->asked_wake = wake;
    return wake;
}
