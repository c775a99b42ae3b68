// See errand.h. One function per answer decides what happens next; everything that sends goes
// through send_request, so that each request is built anew with the times of its moment.
#include "client/errand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/authority.h"

// A waiter asks for at most this long at a time: a node that was stopped does not close its
// sockets, and a waiter notices only when its own time has passed.
#define WAIT_AT_ONCE_NS (30 * LH_NS_PER_S)
// Between rounds in which every endpoint failed, randomised.
#define PAUSE_LEAST_NS (20 * LH_NS_PER_MS)
#define PAUSE_MOST_NS (320 * LH_NS_PER_MS)
// No try is given less than this, unless less is left altogether.
#define TRY_LEAST_NS (50 * LH_NS_PER_MS)

// How long one endpoint may take: an even share of the patience among those not tried in this
// round.
static struct lh_duration share(const struct lh_errand *errand, struct lh_instant now)
{
    size_t count = errand->endpoint_count;
    size_t untried = count - errand->failures % count;
    int64_t left_ns = lh_left(now, errand->give_up_at).ns;
    int64_t share_ns = left_ns / (int64_t)untried;
    if (share_ns < TRY_LEAST_NS)
        share_ns = left_ns < TRY_LEAST_NS ? left_ns : TRY_LEAST_NS;
    return (struct lh_duration){share_ns};
}

static uint64_t new_id(struct lh_errand *errand)
{
    return lh_prng_next(&errand->prng) >> 1;
}

static void add(struct lh_errand *errand, const char *word)
{
    errand->words[errand->word_count++] = word;
}

static void add_number(struct lh_errand *errand, const char *key, uint64_t number, const char *unit)
{
    char *text = errand->numbers[errand->number_count++];
    snprintf(text, sizeof errand->numbers[0], "%" PRIu64 "%s", number, unit);
    if (key != NULL)
        add(errand, key);
    add(errand, text);
}

// A duration as the protocol writes it, rounded up to a whole millisecond; whole seconds as such,
// since a node that refuses it says it back.
static void add_duration(struct lh_errand *errand, const char *key, struct lh_duration duration)
{
    uint64_t ms = (uint64_t)(duration.ns / LH_NS_PER_MS + (duration.ns % LH_NS_PER_MS != 0));
    bool whole = ms > 0 && ms % 1000 == 0;
    add_number(errand, key, whole ? ms / 1000 : ms, whole ? "s" : "ms");
}

static void build(struct lh_errand *errand, struct lh_duration wait,
                  struct lh_duration node_timeout)
{
    static const char *const verbs[] = {[LH_ERRAND_ACQUIRE] = "ACQUIRE",
                                        [LH_ERRAND_RENEW] = "RENEW",
                                        [LH_ERRAND_RELEASE] = "RELEASE"};
    const struct lh_holding *holding = errand->holding;
    enum lh_errand_verb verb = errand->resuming ? LH_ERRAND_RENEW : errand->verb;
    add(errand, "LEASE");
    add(errand, verbs[verb]);
    add(errand, holding->name);
    if (verb != LH_ERRAND_ACQUIRE) {
        add_number(errand, NULL, (uint64_t)holding->token, "");
        add(errand, holding->holder);
    }
    if (verb != LH_ERRAND_RELEASE && errand->ttl.ns > 0)
        add_duration(errand, "TTL", errand->ttl);
    add_duration(errand, "TIMEOUT", node_timeout);
    if (verb != LH_ERRAND_ACQUIRE)
        return;
    add(errand, "HOLDER");
    add(errand, holding->holder);
    add_number(errand, "ID", errand->id, "");
    if (wait.ns > 0)
        add_duration(errand, "WAIT", wait);
}

// Sends the request that is due. An endpoint is asked to let us wait only once it has answered
// without a wait: from then on silence means that we wait, while before it may mean that it hangs.
// The node is given nine tenths of the time this side will wait, so that it is the node that says
// "no quorum".
static void send_request(struct lh_errand *errand)
{
    struct lh_instant now = errand->now;
    struct lh_duration wait = {0};
    if (errand->verb == LH_ERRAND_ACQUIRE && !errand->resuming && errand->in_contact) {
        wait = lh_left(now, errand->wait_until);
        if (wait.ns > WAIT_AT_ONCE_NS)
            wait.ns = WAIT_AT_ONCE_NS;
    }
    struct lh_duration timeout = share(errand, now);
    struct lh_duration node_timeout = {timeout.ns / 10 * 9};
    if (node_timeout.ns == 0)
        node_timeout.ns = 1; // a time-out of 0 would be refused as a mistake
    errand->word_count = errand->number_count = 0;
    build(errand, wait, node_timeout);
    if (errand->verb == LH_ERRAND_RELEASE) { // before the kernel has it
        errand->holding->deadline = LH_PAST;
        errand->holding->released = errand->holding->token;
    }
    errand->wait_ends = lh_after(now, wait);
    errand->timeout = (struct lh_duration){wait.ns + timeout.ns};
    errand->move = LH_ERRAND_SEND;
}

static enum lh_errand_result pause_for(struct lh_errand *errand, int64_t most_ns)
{
    int64_t pause_ns = lh_prng_between(&errand->prng, most_ns / 2, most_ns);
    errand->pause_until = lh_after(errand->now, (struct lh_duration){pause_ns});
    errand->move = LH_ERRAND_PAUSE;
    return LH_ERRAND_BUSY;
}

static enum lh_errand_result refuse(struct lh_errand *errand, const char *why)
{
    lh_error_set(&errand->trouble.error, "%s", why);
    return LH_ERRAND_REFUSED;
}

// A quorum spoke: whatever was wrong before is over.
static void quorum_answered(struct lh_errand *errand)
{
    errand->failures = 0;
    errand->trouble = (struct lh_trouble){.reach = LH_REACH_NOBODY};
    errand->in_contact = true;
    if (errand->verb == LH_ERRAND_ACQUIRE)
        errand->give_up_at = lh_after(errand->now, errand->patience);
}

// One endpoint had no answer for us. The next is tried at once, after a whole round with a pause.
static enum lh_errand_result endpoint_failed(struct lh_errand *errand, enum lh_reach reach,
                                             const char *why)
{
    size_t count = errand->endpoint_count;
    struct lh_instant now = errand->now;
    errand->failures++;
    errand->in_contact = false;
    lh_trouble_note(&errand->trouble, reach, errand->where, why);
    errand->endpoint = (errand->endpoint + 1) % errand->endpoint_count;
    bool nobody_there = !errand->reached && errand->failures >= count;
    if (nobody_there || !lh_before(now, errand->give_up_at))
        return LH_ERRAND_NO_QUORUM;
    if (errand->failures % count != 0) {
        send_request(errand);
        return LH_ERRAND_BUSY;
    }
    size_t rounds = errand->failures / count;
    int64_t most_ns = PAUSE_LEAST_NS << (rounds < 5 ? rounds : 5);
    return pause_for(errand, most_ns < PAUSE_MOST_NS ? most_ns : PAUSE_MOST_NS);
}

// Granted, to us or to the same holder renewing. An acquisition that came too late to be worth
// anything is renewed at once, which asks for a fresh answer.
static enum lh_errand_result granted(struct lh_errand *errand)
{
    struct lh_holding *holding = errand->holding;
    const struct lh_answer *answer = &errand->answer;
    bool renewal = errand->verb == LH_ERRAND_RENEW || errand->resuming;
    errand->owner_gone = false;
    if (answer->token > 0 && answer->token <= holding->released)
        return endpoint_failed(errand, LH_REACH_ANSWER,
                               "the lease that was released has not ended yet");
    if (answer->token <= 0 || (renewal && answer->token != holding->token))
        return endpoint_failed(errand, LH_REACH_ANSWER, "granted under a token that cannot be");
    struct lh_instant old =
        renewal && lh_before(holding->deadline, LH_NEVER) ? holding->deadline : LH_PAST;
    holding->token = answer->token;
    holding->node = answer->node;
    if (!renewal) {
        holding->owner_at = errand->endpoint;
        holding->owner_known = true;
    }
    if (answer->ttl_ms > 0)
        holding->ttl = lh_ms(answer->ttl_ms);
    holding->deadline =
        lh_authority_deadline(old, errand->sent, answer->until_ns, answer->rate_ppm);
    if (lh_authority_at(holding->deadline, errand->now))
        return LH_ERRAND_GRANTED;
    if (errand->verb == LH_ERRAND_RENEW)
        return LH_ERRAND_LOST;
    if (errand->resuming)
        return endpoint_failed(errand, LH_REACH_ANSWER,
                               "grants arrive after they have ended: ask for a longer TTL");
    errand->resuming = true;
    send_request(errand);
    return LH_ERRAND_BUSY;
}

// Somebody holds it. If that is this very holder at another node, which it reached before a failure
// cut the answer off, the lease is taken up by a renewal; unless it was revoked: then it is in the
// way, and what is waited for is the next one, by a request of its own.
static enum lh_errand_result held(struct lh_errand *errand)
{
    const struct lh_answer *answer = &errand->answer;
    quorum_answered(errand);
    if (errand->verb != LH_ERRAND_ACQUIRE)
        return endpoint_failed(errand, LH_REACH_ANSWER,
                               "answered 'held' to what was not an acquisition");
    bool ours = strcmp(answer->holder, errand->holding->holder) == 0;
    if (ours && answer->revoked)
        errand->id = new_id(errand);
    else if (ours && answer->token > errand->holding->released && !errand->resuming) {
        errand->holding->token = answer->token;
        errand->resuming = true;
        send_request(errand);
        return LH_ERRAND_BUSY;
    }
    errand->turns = 0;
    struct lh_instant now = errand->now;
    if (!lh_before(now, errand->wait_until))
        return LH_ERRAND_HELD;
    if (lh_before(now, errand->wait_ends))
        return pause_for(errand, PAUSE_MOST_NS); // it did not let us wait in line: do not hammer it
    send_request(errand);
    return LH_ERRAND_BUSY;
}

// First in line: sent afresh, at once the first time.
static enum lh_errand_result turn(struct lh_errand *errand)
{
    quorum_answered(errand);
    if (errand->turns++ > 0)
        return pause_for(errand, PAUSE_LEAST_NS);
    send_request(errand);
    return LH_ERRAND_BUSY;
}

// Of an acquisition: what it was granted before has ended since. The next one is another request.
static enum lh_errand_result lost(struct lh_errand *errand)
{
    if (errand->verb != LH_ERRAND_ACQUIRE)
        return LH_ERRAND_LOST;
    errand->resuming = false;
    errand->id = new_id(errand);
    errand->holding->token = 0;
    errand->holding->deadline = LH_PAST;
    return endpoint_failed(errand, LH_REACH_ANSWER,
                           "what was granted ended before its answer came");
}

// No majority in time. For a renewal the answer still says how long the old lease stands.
static enum lh_errand_result no_quorum(struct lh_errand *errand)
{
    struct lh_holding *holding = errand->holding;
    const struct lh_answer *answer = &errand->answer;
    char why[LH_REACH_WHY_BYTES];
    errand->resuming = false;
    if (errand->verb == LH_ERRAND_RENEW && lh_before(holding->deadline, LH_NEVER))
        holding->deadline = lh_authority_deadline(holding->deadline, errand->sent, answer->until_ns,
                                                  answer->rate_ppm);
    enum lh_reach reach = lh_reach_no_quorum(answer->node, lh_slice_of_string(answer->reason), why);
    return endpoint_failed(errand, reach, why);
}

static enum lh_errand_result handle_answer(struct lh_errand *errand,
                                           const struct lh_resp_value *reply)
{
    lh_answer_read(reply, errand->holding->name, &errand->answer);
    enum lh_answer_status status = errand->answer.status;
    bool fits = errand->verb == LH_ERRAND_RELEASE
                    ? status != LH_ANSWER_GRANTED && status != LH_ANSWER_TURN
                    : status != LH_ANSWER_RELEASED;
    if (!fits) // to another question: a release above all is never answered by a grant
        status = LH_ANSWER_UNKNOWN;
    switch (status) {
    case LH_ANSWER_GRANTED: return granted(errand);
    case LH_ANSWER_HELD: return held(errand);
    case LH_ANSWER_TURN: return turn(errand);
    case LH_ANSWER_LOST: return lost(errand);
    case LH_ANSWER_RELEASED: return LH_ERRAND_RELEASED;
    case LH_ANSWER_NO_QUORUM: return no_quorum(errand);
    case LH_ANSWER_ELSEWHERE:
        return endpoint_failed(errand, LH_REACH_ANSWER, errand->answer.reason);
    case LH_ANSWER_REFUSED: return refuse(errand, errand->answer.reason);
    case LH_ANSWER_REVOKED:
    case LH_ANSWER_FREE:
    case LH_ANSWER_UNDECIDED:
    case LH_ANSWER_UNKNOWN: break;
    }
    errand->afresh = true; // whatever this is, it may be out of step
    return endpoint_failed(errand, LH_REACH_ANSWER,
                           fits ? errand->answer.reason : "the answer does not fit the request");
}

// --- from outside ---

static enum lh_errand_move moved(struct lh_errand *errand, enum lh_errand_result result)
{
    errand->result = result;
    if (result != LH_ERRAND_BUSY)
        errand->move = LH_ERRAND_END;
    return errand->move;
}

enum lh_errand_move lh_errand_begin(struct lh_errand *errand, struct lh_holding *holding,
                                    const struct lh_errand_plan *plan, struct lh_instant now)
{
    *errand = (struct lh_errand){
        .verb = plan->verb,
        .holding = holding,
        .ttl = plan->ttl,
        .wait_until = lh_after(now, plan->wait),
        .patience = plan->patience,
        .give_up_at = lh_after(now, plan->patience),
        .endpoint_count = plan->endpoint_count,
        .endpoint = plan->endpoint % plan->endpoint_count,
        .reached = plan->wait.ns > 0,
        .now = now,
    };
    lh_prng_seed_number(&errand->prng, plan->seed);
    errand->id = new_id(errand);
    if (plan->verb == LH_ERRAND_ACQUIRE) {
        holding->token = 0;
        holding->deadline = LH_PAST;
        holding->owner_known = false;
    } else if (holding->owner_known) {
        errand->endpoint = holding->owner_at;
    }
    if (plan->verb == LH_ERRAND_RENEW)
        errand->give_up_at = lh_earlier(errand->give_up_at, holding->deadline);
    send_request(errand);
    return errand->move;
}

enum lh_errand_move lh_errand_answered(struct lh_errand *errand, struct lh_instant now,
                                       struct lh_instant sent, const char *where,
                                       const struct lh_resp_value *reply)
{
    errand->now = now;
    errand->sent = sent;
    errand->where = where;
    errand->afresh = false;
    errand->reached = true;
    return moved(errand, handle_answer(errand, reply));
}

enum lh_errand_move lh_errand_failed(struct lh_errand *errand, struct lh_instant now,
                                     enum lh_reach reach, const char *where, const char *why)
{
    errand->now = now;
    errand->where = where;
    errand->afresh = true;
    errand->reached = errand->reached || reach >= LH_REACH_SILENCE;
    if (errand->verb != LH_ERRAND_ACQUIRE && errand->holding->owner_known &&
        errand->endpoint == errand->holding->owner_at &&
        (reach == LH_REACH_NOBODY || reach == LH_REACH_BROKEN))
        errand->owner_gone = true;
    return moved(errand, endpoint_failed(errand, reach, why));
}

enum lh_errand_move lh_errand_go_on(struct lh_errand *errand, struct lh_instant now)
{
    errand->now = now;
    send_request(errand);
    return errand->move;
}

bool lh_errand_waits(const struct lh_errand *errand)
{
    return errand->verb == LH_ERRAND_ACQUIRE && errand->move != LH_ERRAND_END &&
           !errand->resuming && errand->in_contact && errand->answer.status == LH_ANSWER_HELD;
}

bool lh_errand_tries_on(const struct lh_errand *errand)
{
    return errand->verb == LH_ERRAND_ACQUIRE && errand->move == LH_ERRAND_PAUSE &&
           errand->failures > 0;
}
