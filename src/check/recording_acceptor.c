// The acceptor's rules, as they bear on what is recorded. An answer is judged by what the acceptor
// was when the request came. A request without an answer changed nothing: it was dropped (A4, T2,
// F2), or the datagram with its answer never left, which is a loss.
#include <string.h>

#include "check/recording_roles.h"

enum { RATE_UNIT = 1000000 };

#define TTL_MOST UINT64_C(3600000000000) // one hour

int64_t lh_recording_exclusion_end(int64_t at, uint64_t ttl_ns, uint32_t rate_ppm)
{
    const uint64_t low = RATE_UNIT - rate_ppm;
    const uint64_t ttl = ttl_ns < TTL_MOST ? ttl_ns : TTL_MOST;
    return lh_recording_after(at, (ttl * (RATE_UNIT + (uint64_t)rate_ppm) + low - 1) / low);
}

static bool surely_live(const struct lh_recorded_name *name, int64_t at)
{
    return name->record != 0 && at < name->live_least;
}

static bool maybe_live(const struct lh_recorded_name *name, int64_t at)
{
    return name->record != 0 && at < name->live_most;
}

// F1: it rested for as long as any quarantine that it was answered under.
static bool maybe_forgotten(const struct lh_recording_judge *judge,
                            const struct lh_recorded_name *name, int64_t at)
{
    return !surely_live(name, at) &&
           at >= lh_recording_exclusion_end(name->touched, name->touched_ttl, judge->rate_least);
}

static bool same_owner(uint64_t a, uint64_t b)
{
    return (a & 0xffff) == (b & 0xffff);
}

// The exclusion of a record begins; `keeps`: it is the same owner's, and never ends sooner (D).
static void exclude(const struct lh_recording_judge *judge, struct lh_recorded_name *name,
                    int64_t at, uint64_t ttl_ns, bool keeps)
{
    const int64_t least = lh_recording_exclusion_end(at, ttl_ns, judge->rate_least);
    const int64_t most = lh_recording_exclusion_end(at, ttl_ns, judge->rate_most);
    const bool later = !keeps || least >= name->live_most;
    name->since = later ? at : -1;
    name->lasting = ttl_ns;
    name->live_least = keeps && name->live_least > least ? name->live_least : least;
    name->live_most = keeps && name->live_most > most ? name->live_most : most;
}

// The rate errors at which the exclusion ends exactly when it is said to.
static bool learn_rate(struct lh_recording_judge *judge, const struct lh_recorded_name *name,
                       int64_t end)
{
    uint32_t low = judge->rate_least;
    uint32_t high = judge->rate_most + 1;
    while (low < high) { // the least that reaches it
        const uint32_t middle = low + (high - low) / 2;
        if (lh_recording_exclusion_end(name->since, name->lasting, middle) < end)
            low = middle + 1;
        else
            high = middle;
    }
    const uint32_t least = low;
    while (low <= judge->rate_most &&
           lh_recording_exclusion_end(name->since, name->lasting, low) == end)
        low++;
    if (low == least)
        return lh_recording_fail(judge, "T2: no rate error makes an exclusion end then, or not one "
                                        "for all");
    judge->rate_least = least;
    judge->rate_most = low - 1;
    return true;
}

// What an answer says of the live lease.
static bool reports(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                    const struct lh_recorded *request, const struct lh_recorded *answer)
{
    const uint64_t reported = answer->message.reported;
    const int64_t end = lh_recording_after(request->at, answer->message.exclusion_ns);
    if (!name->known && !judge->complete && reported != 0) { // restored (F4)
        name->record = reported;
        name->live_least = name->live_most = end;
        name->since = -1;
        return true;
    }
    if (reported == 0)
        return !surely_live(name, request->at) ||
               lh_recording_fail(judge, "A1: a live lease is not reported");
    if (reported != name->record || !maybe_live(name, request->at))
        return lh_recording_fail(judge,
                                 "A1: a lease is reported that is not recorded, or has expired");
    if (end < name->live_least || end > name->live_most)
        return lh_recording_fail(judge, "A1: what is said to remain of a lease does not");
    if (name->since >= 0 && !learn_rate(judge, name, end))
        return false;
    name->live_least = name->live_most = end;
    return true;
}

// What stood against a ballot: exactly what was promised, or if that may be forgotten, the floor.
static bool tells_promise(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                          const struct lh_recorded *request, uint64_t promised)
{
    const bool exact = name->known && !maybe_forgotten(judge, name, request->at);
    if (promised < name->promised || promised < (name->known ? 0 : judge->floor))
        return lh_recording_fail(judge, "A1: a rejection carries less than what was promised");
    if (exact && promised != name->promised)
        return lh_recording_fail(judge, "A1: a rejection carries more than what was promised");
    const bool remembered = name->known && promised == name->promised;
    if (!exact && !remembered && promised > judge->floor)
        judge->floor = promised;
    return true;
}

static bool promised(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                     const struct lh_recorded *request, const struct lh_recorded *answer)
{
    const uint64_t ballot = request->message.ballot;
    if (ballot < name->promised || (!name->known && ballot < judge->floor))
        return lh_recording_fail(judge, "A1: a promise below the promised ballot");
    if (!reports(judge, name, request, answer))
        return false;
    name->promised = ballot;
    return true;
}

static bool accepted(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                     const struct lh_recorded *request)
{
    const uint64_t ballot = request->message.ballot;
    const bool live = surely_live(name, request->at);
    if (ballot < name->promised || (!name->known && ballot < judge->floor))
        return lh_recording_fail(judge, "A2: an Accept below the promised ballot is accepted");
    if (live && ballot != name->record &&
        (request->message.base != name->record || !same_owner(ballot, name->record)))
        return lh_recording_fail(
            judge, "A2: a live lease is overwritten by an Accept that does not name it");
    if (ballot == name->record && !maybe_live(name, request->at))
        return lh_recording_fail(judge, "A2: a ballot recorded before is installed again");
    if (ballot != name->record) {
        exclude(judge, name, request->at, request->message.ttl_ns, live);
        name->record_stamp = 0;
    }
    name->promised = ballot;
    name->record = ballot;
    return true;
}

static bool extended(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                     const struct lh_recorded *request)
{
    const bool restored = !name->known && !judge->complete;
    if (request->message.ballot != name->record && !restored)
        return lh_recording_fail(judge,
                                 "F3: an Extend of a lease that is not recorded is answered");
    if (!restored && !maybe_live(name, request->at))
        return lh_recording_fail(judge, "F3: an Extend of an expired lease is answered");
    if (request->message.stamp > name->record_stamp) {
        exclude(judge, name, request->at, request->message.ttl_ns, name->record != 0);
        name->record_stamp = request->message.stamp;
    }
    name->record = request->message.ballot;
    if (name->promised < name->record)
        name->promised = name->record;
    return true;
}

// Something stood against the request.
static bool rejected(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                     const struct lh_recorded *request, const struct lh_recorded *answer)
{
    const uint64_t ballot = request->message.ballot;
    const bool below = ballot < answer->message.promised;
    const bool restored = !name->known && !judge->complete;
    const bool fresh = !name->known || maybe_forgotten(judge, name, request->at);
    if (!tells_promise(judge, name, request, answer->message.promised) ||
        !reports(judge, name, request, answer))
        return false;
    if (request->message.kind == LH_RECORDED_PREPARE && !below)
        return lh_recording_fail(judge,
                                 "A1: a Prepare that is not below the promised ballot is rejected");
    if (request->message.kind == LH_RECORDED_ACCEPT && !below &&
        !(answer->message.reported != 0 && answer->message.reported != ballot &&
          (answer->message.reported != request->message.base ||
           !same_owner(ballot, request->message.base))) &&
        !(ballot == name->record && !surely_live(name, request->at)) &&
        !(fresh && ballot == answer->message.promised) && !restored)
        return lh_recording_fail(judge, "A2: an Accept against which nothing stands is rejected");
    if (request->message.kind == LH_RECORDED_EXTEND && ballot == name->record &&
        surely_live(name, request->at))
        return lh_recording_fail(judge, "F3: an Extend of the live lease is rejected");
    if (name->promised < answer->message.promised)
        name->promised = answer->message.promised;
    return true;
}

bool lh_recording_answer(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                         const struct lh_recorded *request, const struct lh_recorded *answer)
{
    const uint64_t kind = answer->message.kind;
    const uint64_t ttl = request->message.ttl_ns;
    bool allowed = false;
    if (!judge->admitted)
        return lh_recording_fail(judge, "A4: a request is answered before the node is admitted");
    if (judge->clock_bad)
        return lh_recording_fail(judge, "Clock: a request is answered by a clock proved wrong");
    if (request->at < judge->silent_until)
        return lh_recording_fail(judge, "A4: a request is answered in quarantine");
    if (!judge->restored && request->at < judge->owed_before)
        return lh_recording_fail(judge, "T3: a request is answered before what was forgotten ends");
    if (ttl > TTL_MOST)
        return lh_recording_fail(judge, "T2: a request for more than an hour is answered");
    if (kind == LH_RECORDED_REJECTED) {
        if (answer->at != request->at)
            return lh_recording_fail(judge, "a rejection waits for nothing, and this one did");
        allowed = rejected(judge, name, request, answer);
    } else {
        if (kind == LH_RECORDED_PROMISE)
            allowed = promised(judge, name, request, answer);
        else if (kind == LH_RECORDED_ACCEPTED)
            allowed = accepted(judge, name, request);
        else
            allowed = extended(judge, name, request);
        const bool told = answer->what == LH_RECORDED_SEND ||
                          judge->answer_of[answer - judge->recording->events] != 0;
        const int64_t owed = lh_recording_exclusion_end(request->at, ttl, judge->rate_least);
        if (told && owed > judge->owed) // an answer that was held and never sent binds nobody
            judge->owed = owed;
        name->known = true;
        name->touched = request->at;
        name->touched_ttl = ttl;
    }
    return allowed;
}

// A3.
void lh_recording_released(const struct lh_recording_judge *judge, struct lh_recorded_name *name,
                           const struct lh_recorded *event)
{
    if (event->message.ballot != name->record || !judge->admitted ||
        event->at < judge->silent_until)
        return;
    name->live_least = 0;
    name->live_most = 0;
}
