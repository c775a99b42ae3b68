// See recording_replay.h.
#include "recording_replay.h"

#include <stdlib.h>
#include <string.h>

#include "lease/timing.h"

enum { QUORUM = 2 };

static const struct lh_timing timing = {{INT64_C(1000000000)}, 10000};

struct replay {
    const struct lh_recording *recording;
    struct replay_seat *seats;
    uint32_t *answer_of; // of a request: 1 + the number of its answer
    struct lh_instant silent_until;
    lh_ballot floor;
    unsigned lives;
    uint8_t generation;
};

static bool is_answer_to(const struct lh_recorded *answer, const struct lh_recorded *request)
{
    static const uint64_t answers[LH_RECORDED_KINDS] = {
        [LH_RECORDED_PREPARE] = LH_RECORDED_PROMISE, [LH_RECORDED_ACCEPT] = LH_RECORDED_ACCEPTED};
    const uint64_t wanted = answers[request->message.kind];
    const bool kind =
        answer->message.kind == wanted || (answer->message.kind == LH_RECORDED_REJECTED &&
                                           answer->message.refused == request->message.kind);
    return wanted != 0 && kind && answer->what == LH_RECORDED_SEND &&
           answer->name == request->name && answer->message.to == request->message.from &&
           answer->message.ballot == request->message.ballot;
}

// Each request is answered at once, or never: else the answers would have waited for a write, which
// they do under F5 only. A step later is allowed, so that an alteration that puts it there is
// judged by what it says.
static void match(struct replay *replay, uint32_t node)
{
    const struct lh_recorded *events = replay->recording->events;
    const size_t count = replay->recording->count;
    bool *claimed = calloc(count + 1, sizeof *claimed);
    for (size_t i = 0; i < count; i++) {
        replay->answer_of[i] = 0;
        if (events[i].node != node || events[i].what != LH_RECORDED_RECEIVE)
            continue;
        for (size_t j = i + 1; j < count && j < i + 4 && events[j].file == events[i].file; j++) {
            if (claimed[j] || !is_answer_to(&events[j], &events[i]))
                continue;
            claimed[j] = true;
            replay->answer_of[i] = (uint32_t)j + 1;
            break;
        }
    }
    // An answer without a request.
    for (size_t i = 0; i < count; i++) {
        const uint64_t kind = events[i].message.kind;
        const bool answer = kind == LH_RECORDED_PROMISE || kind == LH_RECORDED_ACCEPTED ||
                            kind == LH_RECORDED_REJECTED || kind == LH_RECORDED_EXTENDED;
        if (events[i].node == node && events[i].what == LH_RECORDED_SEND && answer && !claimed[i])
            replay->answer_of[count] = 1;
    }
    free(claimed);
}

static bool gives(const struct lh_acceptor_answer *made, enum lh_verdict good, uint64_t good_kind,
                  const struct lh_recorded *answer)
{
    const bool rejected = made->verdict == LH_REJECTED;
    const uint64_t kind = rejected ? (uint64_t)LH_RECORDED_REJECTED : good_kind;
    const bool reports = rejected || made->verdict == LH_PROMISED;
    return (rejected || made->verdict == good) && answer->message.kind == kind &&
           answer->message.promised == (rejected ? made->promised : 0) &&
           answer->message.reported == (reports ? made->reported : 0) &&
           answer->message.exclusion_ns == (reports ? (uint64_t)made->exclusion.ns : 0);
}

static bool answers(struct replay *replay, struct replay_seat *seat,
                    const struct lh_recorded *request, const struct lh_recorded *answer)
{
    const struct lh_instant now = {request->at};
    const struct lh_duration ttl = {(int64_t)request->message.ttl_ns};
    const struct lh_key key = {{request->message.key[0], request->message.key[1]}};
    struct lh_acceptor_answer made;
    if (lh_before(now, replay->silent_until) || request->message.ttl_ns > INT64_C(3600000000000))
        return false;
    if (seat->acceptor.key.word[0] == 0)
        seat->acceptor = lh_acceptor_fresh(key, replay->floor, now);
    if (request->message.kind == LH_RECORDED_PREPARE) {
        made = lh_acceptor_prepare(&seat->acceptor, now, request->message.ballot);
        return gives(&made, LH_PROMISED, LH_RECORDED_PROMISE, answer);
    }
    made = lh_acceptor_accept(&seat->acceptor, now, request->message.ballot, request->message.base,
                              lh_timing_exclusion(timing, ttl));
    return gives(&made, LH_ACCEPTED, LH_RECORDED_ACCEPTED, answer);
}

static bool receive(struct replay *replay, struct replay_seat *seat,
                    const struct lh_recorded *event, const struct lh_recorded *answer)
{
    const struct lh_instant now = {event->at};
    const unsigned from = (unsigned)event->message.from;
    struct lh_proposer *proposer = &seat->proposer;
    switch (event->message.kind) {
    case LH_RECORDED_PREPARE:
    case LH_RECORDED_ACCEPT: return answer == NULL || answers(replay, seat, event, answer);
    case LH_RECORDED_RELEASE:
        if (!lh_before(now, replay->silent_until))
            lh_acceptor_release(&seat->acceptor, now, event->message.ballot);
        return true;
    case LH_RECORDED_PROMISE:
        if (proposer->phase != LH_PREPARING || event->message.ballot != proposer->ballot)
            return true;
        lh_proposer_promise(proposer, now, from, event->message.ballot, event->message.reported);
        lh_proposer_propose(proposer, now, QUORUM);
        return true;
    case LH_RECORDED_ACCEPTED:
        if (seat->accept_out == event->message.ballot)
            seat->won = lh_proposer_accepted(proposer, now, from, event->message.ballot, QUORUM);
        return true;
    default: return true;
    }
}

static bool send_prepare(struct replay *replay, struct replay_seat *seat,
                         const struct lh_recorded *event)
{
    struct lh_proposer *proposer = &seat->proposer;
    const lh_ballot ballot = event->message.ballot;
    const struct lh_duration ttl = {(int64_t)event->message.ttl_ns};
    if ((ballot >> 8 & 0xff) != replay->generation || (ballot & 0xff) != event->node)
        return false;
    if (ballot == proposer->ballot)
        return proposer->phase == LH_PREPARING && ttl.ns == seat->ttl.ns;
    if (ballot < proposer->ballot || ttl.ns < 0)
        return false;
    lh_proposer_abandon(proposer);
    lh_proposer_start(proposer, (struct lh_instant){event->at}, ballot, ttl);
    seat->ttl = ttl;
    return true;
}

static bool send_accept(struct replay_seat *seat, const struct lh_recorded *event)
{
    const struct lh_proposer *proposer = &seat->proposer;
    if (event->message.ballot != proposer->ballot || event->message.base != proposer->base ||
        (int64_t)event->message.ttl_ns != seat->ttl.ns)
        return false;
    if (proposer->phase == LH_ACCEPTING)
        seat->accept_out = proposer->ballot;
    return seat->accept_out == proposer->ballot && seat->taken_back != proposer->ballot;
}

static bool send_release(struct replay_seat *seat, const struct lh_recorded *event)
{
    struct lh_proposer *proposer = &seat->proposer;
    const struct lh_instant now = {event->at};
    const lh_ballot ballot = event->message.ballot;
    if (ballot == seat->let_go || ballot == seat->taken_back)
        return true; // to another member
    if (lh_proposer_holds(proposer, now) && ballot == proposer->held) {
        seat->let_go = lh_proposer_release(proposer, now);
        seat->won = LH_NOTHING;
        return true;
    }
    if (proposer->phase != LH_ACCEPTING || proposer->base != LH_BALLOT_NONE ||
        ballot != proposer->ballot)
        return false;
    lh_proposer_abandon(proposer);
    seat->taken_back = ballot;
    return true;
}

static bool tell(struct replay_seat *seat, const struct lh_recorded *event)
{
    const struct lh_instant now = {event->at};
    const struct lh_proposer *proposer = &seat->proposer;
    const enum lh_outcome won = event->what == LH_RECORDED_GRANTED ? LH_ACQUIRED : LH_RENEWED;
    switch (event->what) {
    case LH_RECORDED_GRANTED:
    case LH_RECORDED_RENEWED:
        if (seat->won != won || event->token != proposer->token ||
            (int64_t)event->until != proposer->until.ns)
            return false;
        seat->won = LH_NOTHING;
        seat->told = event->token;
        seat->told_until = proposer->until;
        return true;
    case LH_RECORDED_LOST:
        if (event->token != seat->told || lh_before(now, seat->told_until))
            return false;
        seat->told = LH_BALLOT_NONE;
        return true;
    case LH_RECORDED_RELEASED: seat->told = LH_BALLOT_NONE; return seat->let_go != LH_BALLOT_NONE;
    default: return true;
    }
}

static void begin_life(struct replay *replay)
{
    memset(replay->seats, 0, REPLAY_NAMES * sizeof *replay->seats);
    replay->silent_until = LH_PAST;
    // A node reserves 2^20 counters at a time, and takes all that it had reserved as its floor.
    replay->floor = replay->lives == 0 ? 0 : lh_ballot_ceiling((uint64_t)replay->lives << 20);
    replay->lives++;
}

static bool follow(struct replay *replay, size_t at)
{
    const struct lh_recorded *event = &replay->recording->events[at];
    struct replay_seat *seat = &replay->seats[event->name];
    const uint32_t answer = replay->answer_of[at];
    switch (event->what) {
    case LH_RECORDED_RECEIVE:
        seat->let_go = seat->taken_back = LH_BALLOT_NONE;
        return receive(replay, seat, event,
                       answer == 0 ? NULL : &replay->recording->events[answer - 1]);
    case LH_RECORDED_SEND:
        if (event->message.kind == LH_RECORDED_PREPARE)
            return send_prepare(replay, seat, event);
        if (event->message.kind == LH_RECORDED_ACCEPT)
            return send_accept(seat, event);
        return event->message.kind != LH_RECORDED_RELEASE || send_release(seat, event);
    case LH_RECORDED_ADMITTED: replay->generation = (uint8_t)event->generation; return true;
    case LH_RECORDED_QUARANTINE:
        replay->silent_until =
            lh_after((struct lh_instant){event->at}, (struct lh_duration){(int64_t)event->number});
        return true;
    case LH_RECORDED_SERVING:
    case LH_RECORDED_REVOKED:
    case LH_RECORDED_OTHER: return true;
    default: return tell(seat, event);
    }
}

bool replay_node(const struct lh_recording *recording, uint32_t node, size_t stop,
                 struct replay_seat ret_seats[REPLAY_NAMES], size_t *ret_at)
{
    struct replay replay = {.recording = recording,
                            .seats = ret_seats,
                            .answer_of = calloc(recording->count + 1, sizeof(uint32_t))};
    match(&replay, node);
    bool good = recording->names <= REPLAY_NAMES && replay.answer_of[recording->count] == 0;
    *ret_at = recording->count;
    for (size_t i = 0; i < recording->count && i <= stop && good; i++) {
        if (recording->events[i].node != node)
            continue;
        if (recording->events[i].n == 1)
            begin_life(&replay);
        good = follow(&replay, i);
        *ret_at = i;
    }
    free(replay.answer_of);
    return good;
}
