// See lease.h. One function per answer decides what happens next; everything that sends goes
// through send_request, so that each request is built anew with the times of its moment.
#include "client/lease.h"

#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "client/authority.h"
#include "os/clock.h"

// A waiter asks for at most this long at a time: a node that was stopped does not close its
// sockets, and a waiter notices only when its own time has passed.
#define WAIT_AT_ONCE_NS (30 * LH_NS_PER_S)
// Between rounds in which every endpoint failed, randomised.
#define PAUSE_LEAST_NS (20 * LH_NS_PER_MS)
#define PAUSE_MOST_NS (320 * LH_NS_PER_MS)
// No try is given less than this, unless less is left altogether.
#define TRY_LEAST_NS (50 * LH_NS_PER_MS)

static uint64_t random_bits(void)
{
    uint64_t bits;
    while (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        ;
    return bits;
}

bool lh_lease_valid(const struct lh_lease *lease)
{
    return lh_client_has_authority(lease->deadline, lh_clock_now());
}

void lh_holder_make(char ret_holder[LH_HOLDER_MAX_BYTES + 1])
{
    char host[65] = "localhost";
    const struct passwd *user = getpwuid(geteuid());
    gethostname(host, sizeof host - 1);
    if (user != NULL)
        snprintf(ret_holder, LH_HOLDER_MAX_BYTES + 1, "%.100s@%.64s:%016" PRIx64, user->pw_name,
                 host, random_bits());
    else
        snprintf(ret_holder, LH_HOLDER_MAX_BYTES + 1, "%u@%.64s:%016" PRIx64, (unsigned)geteuid(),
                 host, random_bits());
}

bool lh_lease_name_check(const char *name, struct lh_error *error)
{
    size_t size = strlen(name);
    if (size == 0)
        return lh_error_set(error,
                            "the name is empty: name what the lease is for, such as 'backup'");
    if (size > LH_NAME_MAX_BYTES)
        return lh_error_set(error, "the name '%.32s...' has %zu bytes: at most %d are allowed",
                            name, size, LH_NAME_MAX_BYTES);
    if (!lh_utf8_name_valid(lh_slice_of_string(name)))
        return lh_error_set(
            error, "the name '%s' is not UTF-8 or has control characters: leave them out", name);
    if (name[0] == '@')
        return lh_error_set(error, "the name '%s' begins with '@': such names are the system's",
                            name);
    return true;
}

// How long one endpoint may take: an even share of the patience among those not tried in this
// round.
static struct lh_duration share(const struct lh_lease_call *call, struct lh_instant now)
{
    size_t count = lh_client_endpoint_count(call->client);
    size_t untried = count - call->failures % count;
    int64_t left_ns = lh_left(now, call->give_up_at).ns;
    int64_t share_ns = left_ns / (int64_t)untried;
    if (share_ns < TRY_LEAST_NS)
        share_ns = left_ns < TRY_LEAST_NS ? left_ns : TRY_LEAST_NS;
    return (struct lh_duration){share_ns};
}

// Words of one request, with room for the numbers among them.
struct request {
    const char *words[16];
    size_t count;
    char numbers[8][24];
    size_t number_count;
};

static void add(struct request *request, const char *word)
{
    request->words[request->count++] = word;
}

static void add_number(struct request *request, const char *key, uint64_t number, const char *unit)
{
    char *text = request->numbers[request->number_count++];
    snprintf(text, sizeof request->numbers[0], "%" PRIu64 "%s", number, unit);
    if (key != NULL)
        add(request, key);
    add(request, text);
}

// A duration as the protocol writes it, rounded up to a whole millisecond; whole seconds as such,
// since a node that refuses it says it back.
static void add_duration(struct request *request, const char *key, struct lh_duration duration)
{
    uint64_t ms = (uint64_t)(duration.ns / LH_NS_PER_MS + (duration.ns % LH_NS_PER_MS != 0));
    bool whole = ms > 0 && ms % 1000 == 0;
    add_number(request, key, whole ? ms / 1000 : ms, whole ? "s" : "ms");
}

static void build(const struct lh_lease_call *call, struct lh_duration wait,
                  struct lh_duration node_timeout, struct request *request)
{
    static const char *const verbs[] = {
        [LH_LEASE_ACQUIRE] = "ACQUIRE", [LH_LEASE_RENEW] = "RENEW", [LH_LEASE_RELEASE] = "RELEASE"};
    const struct lh_lease *lease = call->lease;
    enum lh_lease_verb verb = call->resuming ? LH_LEASE_RENEW : call->verb;
    add(request, "LEASE");
    add(request, verbs[verb]);
    add(request, lease->name);
    if (verb != LH_LEASE_ACQUIRE) {
        add_number(request, NULL, (uint64_t)lease->token, "");
        add(request, lease->holder);
    }
    if (verb == LH_LEASE_RELEASE)
        return;
    if (call->ttl.ns > 0)
        add_duration(request, "TTL", call->ttl);
    add_duration(request, "TIMEOUT", node_timeout);
    if (verb != LH_LEASE_ACQUIRE)
        return;
    add(request, "HOLDER");
    add(request, lease->holder);
    add_number(request, "ID", call->id, "");
    if (wait.ns > 0)
        add_duration(request, "WAIT", wait);
}

// Sends the request that is due. An endpoint is asked to let us wait only once it has answered
// without a wait: from then on silence means that we wait, while before it may mean that it hangs.
// The node is given nine tenths of the time this side will wait, so that it is the node that says
// "no quorum".
static void send_request(struct lh_lease_call *call)
{
    struct lh_instant now = lh_clock_now();
    struct lh_duration wait = {0};
    if (call->verb == LH_LEASE_ACQUIRE && !call->resuming && call->in_contact) {
        wait = lh_left(now, call->wait_until);
        if (wait.ns > WAIT_AT_ONCE_NS)
            wait.ns = WAIT_AT_ONCE_NS;
    }
    struct lh_duration timeout = share(call, now);
    struct lh_duration node_timeout = {timeout.ns / 10 * 9};
    if (node_timeout.ns == 0)
        node_timeout.ns = 1; // a time-out of 0 would be refused as a mistake
    struct request request = {.count = 0};
    build(call, wait, node_timeout, &request);
    if (call->verb == LH_LEASE_RELEASE)
        call->lease->deadline = LH_PAST; // before the kernel has it
    call->wait_ends = lh_after(now, wait);
    call->pause_until = LH_PAST;
    lh_client_begin(call->client, request.words, request.count,
                    (struct lh_duration){wait.ns + timeout.ns});
}

static enum lh_lease_result pause_for(struct lh_lease_call *call, int64_t most_ns)
{
    int64_t pause_ns = most_ns / 2 + (int64_t)(random_bits() % (uint64_t)(most_ns / 2));
    call->pause_until = lh_after(lh_clock_now(), (struct lh_duration){pause_ns});
    return LH_LEASE_BUSY;
}

static enum lh_lease_result refuse(struct lh_lease_call *call, const char *why)
{
    lh_error_set(&call->trouble.error, "%s", why);
    return LH_LEASE_REFUSED;
}

// A quorum spoke: whatever was wrong before is over.
static void quorum_answered(struct lh_lease_call *call)
{
    call->failures = 0;
    call->trouble = (struct lh_client_trouble){.reach = LH_REACH_NOBODY};
    call->in_contact = true;
    if (call->verb == LH_LEASE_ACQUIRE)
        call->give_up_at = lh_after(lh_clock_now(), call->patience);
}

// One endpoint had no answer for us. The next is tried at once, after a whole round with a pause.
static enum lh_lease_result endpoint_failed(struct lh_lease_call *call, const char *why)
{
    size_t count = lh_client_endpoint_count(call->client);
    struct lh_instant now = lh_clock_now();
    call->failures++;
    call->in_contact = false;
    lh_client_note(call->client, why, &call->trouble);
    lh_client_try_next(call->client);
    bool nobody_there = !call->reached && call->failures >= count;
    if (nobody_there || !lh_before(now, call->give_up_at))
        return LH_LEASE_NO_QUORUM;
    if (call->failures % count != 0) {
        send_request(call);
        return LH_LEASE_BUSY;
    }
    size_t rounds = call->failures / count;
    int64_t most_ns = PAUSE_LEAST_NS << (rounds < 5 ? rounds : 5);
    return pause_for(call, most_ns < PAUSE_MOST_NS ? most_ns : PAUSE_MOST_NS);
}

// Granted, to us or to the same holder renewing. An acquisition that came too late to be worth
// anything is renewed at once, which asks for a fresh answer.
static enum lh_lease_result granted(struct lh_lease_call *call)
{
    struct lh_lease *lease = call->lease;
    const struct lh_answer *answer = &call->answer;
    bool renewal = call->verb == LH_LEASE_RENEW || call->resuming;
    if (answer->token <= 0 || (renewal && answer->token != lease->token))
        return endpoint_failed(call, "granted under a token that cannot be");
    struct lh_instant old =
        renewal && lh_before(lease->deadline, LH_NEVER) ? lease->deadline : LH_PAST;
    lease->token = answer->token;
    lease->node = answer->node;
    if (answer->ttl_ms > 0)
        lease->ttl = lh_ms(answer->ttl_ms);
    lease->deadline =
        lh_client_deadline(old, lh_client_sent(call->client), answer->until_ns, answer->rate_ppm);
    if (lh_lease_valid(lease))
        return LH_LEASE_GRANTED;
    if (call->verb == LH_LEASE_RENEW)
        return LH_LEASE_LOST;
    if (call->resuming)
        return endpoint_failed(call, "grants arrive after they have ended: ask for a longer TTL");
    call->resuming = true;
    send_request(call);
    return LH_LEASE_BUSY;
}

// Somebody holds it. If that is this very holder at another node, which it reached before a failure
// cut the answer off, the lease is taken up by a renewal.
static enum lh_lease_result held(struct lh_lease_call *call)
{
    const struct lh_answer *answer = &call->answer;
    quorum_answered(call);
    if (call->verb != LH_LEASE_ACQUIRE)
        return endpoint_failed(call, "answered 'held' to what was not an acquisition");
    if (answer->token > 0 && strcmp(answer->holder, call->lease->holder) == 0 && !call->resuming) {
        call->lease->token = answer->token;
        call->resuming = true;
        send_request(call);
        return LH_LEASE_BUSY;
    }
    call->turns = 0;
    struct lh_instant now = lh_clock_now();
    if (!lh_before(now, call->wait_until))
        return LH_LEASE_HELD;
    if (lh_before(now, call->wait_ends))
        return pause_for(call, PAUSE_MOST_NS); // it did not let us wait in line: do not hammer it
    send_request(call);
    return LH_LEASE_BUSY;
}

// First in line: sent afresh, at once the first time.
static enum lh_lease_result turn(struct lh_lease_call *call)
{
    quorum_answered(call);
    if (call->turns++ > 0)
        return pause_for(call, PAUSE_LEAST_NS);
    send_request(call);
    return LH_LEASE_BUSY;
}

// Of an acquisition: what it was granted before has ended since. The next one is another request.
static enum lh_lease_result lost(struct lh_lease_call *call)
{
    if (call->verb != LH_LEASE_ACQUIRE)
        return LH_LEASE_LOST;
    call->resuming = false;
    call->id = random_bits() >> 1;
    call->lease->token = 0;
    call->lease->deadline = LH_PAST;
    return endpoint_failed(call, "what was granted ended before its answer came");
}

// No majority in time. For a renewal the answer still says how long the old lease stands.
static enum lh_lease_result no_quorum(struct lh_lease_call *call)
{
    struct lh_lease *lease = call->lease;
    call->resuming = false;
    if (call->verb == LH_LEASE_RENEW && lh_before(lease->deadline, LH_NEVER))
        lease->deadline = lh_client_deadline(lease->deadline, lh_client_sent(call->client),
                                             call->answer.until_ns, call->answer.rate_ppm);
    return endpoint_failed(call, call->answer.reason[0] != '\0'
                                     ? call->answer.reason
                                     : "no majority of the members answered in time");
}

static enum lh_lease_result handle_answer(struct lh_lease_call *call)
{
    lh_answer_read(lh_client_reply(call->client), call->lease->name, &call->answer);
    switch (call->answer.status) {
    case LH_ANSWER_GRANTED: return granted(call);
    case LH_ANSWER_HELD: return held(call);
    case LH_ANSWER_TURN: return turn(call);
    case LH_ANSWER_LOST: return lost(call);
    case LH_ANSWER_RELEASED: return LH_LEASE_RELEASED;
    case LH_ANSWER_NO_QUORUM: return no_quorum(call);
    case LH_ANSWER_ELSEWHERE: return endpoint_failed(call, call->answer.reason);
    case LH_ANSWER_REFUSED: return refuse(call, call->answer.reason);
    case LH_ANSWER_REVOKED:
    case LH_ANSWER_FREE:
    case LH_ANSWER_UNDECIDED:
    case LH_ANSWER_UNKNOWN: break;
    }
    lh_client_abandon(call->client);
    return endpoint_failed(call, call->answer.reason);
}

static void begin(struct lh_lease_call *call, enum lh_lease_verb verb, struct lh_client *client,
                  struct lh_lease *lease, struct lh_duration ttl, struct lh_duration patience)
{
    struct lh_instant now = lh_clock_now();
    *call = (struct lh_lease_call){
        .verb = verb,
        .client = client,
        .lease = lease,
        .ttl = ttl,
        .wait_until = now,
        .patience = patience,
        .give_up_at = lh_after(now, patience),
        .id = random_bits() >> 1,
    };
}

void lh_lease_acquire(struct lh_lease_call *call, struct lh_client *client, struct lh_lease *lease,
                      struct lh_duration ttl, struct lh_duration wait, struct lh_duration patience)
{
    begin(call, LH_LEASE_ACQUIRE, client, lease, ttl, patience);
    lease->token = 0;
    lease->deadline = LH_PAST;
    call->wait_until = lh_after(lh_clock_now(), wait);
    send_request(call);
}

void lh_lease_renew(struct lh_lease_call *call, struct lh_client *client, struct lh_lease *lease,
                    struct lh_duration ttl, struct lh_duration patience)
{
    begin(call, LH_LEASE_RENEW, client, lease, ttl, patience);
    call->give_up_at = lh_earlier(call->give_up_at, lease->deadline);
    send_request(call);
}

void lh_lease_release(struct lh_lease_call *call, struct lh_client *client, struct lh_lease *lease,
                      struct lh_duration patience)
{
    begin(call, LH_LEASE_RELEASE, client, lease, (struct lh_duration){0}, patience);
    send_request(call);
}

enum lh_lease_result lh_lease_advance(struct lh_lease_call *call)
{
    for (;;) {
        if (call->pause_until.ns != LH_PAST.ns) {
            if (lh_before(lh_clock_now(), call->pause_until))
                return LH_LEASE_BUSY;
            send_request(call);
        }
        enum lh_lease_result result = LH_LEASE_BUSY;
        enum lh_client_state state = lh_client_advance(call->client);
        if (state == LH_CLIENT_BUSY || state == LH_CLIENT_IDLE)
            return LH_LEASE_BUSY;
        call->reached = call->reached || lh_client_reach(call->client) >= LH_REACH_SILENCE;
        if (state == LH_CLIENT_ANSWERED)
            result = handle_answer(call);
        else
            result = endpoint_failed(call, lh_client_error(call->client));
        if (result != LH_LEASE_BUSY)
            return result;
    }
}

int lh_lease_call_fd(const struct lh_lease_call *call)
{
    return call->pause_until.ns != LH_PAST.ns ? -1 : lh_client_fd(call->client);
}

short lh_lease_call_events(const struct lh_lease_call *call)
{
    return lh_client_events(call->client);
}

struct lh_instant lh_lease_call_wake_at(const struct lh_lease_call *call)
{
    return call->pause_until.ns != LH_PAST.ns ? call->pause_until : lh_client_wake_at(call->client);
}

enum lh_lease_result lh_lease_finish(struct lh_lease_call *call)
{
    enum lh_lease_result result;
    while ((result = lh_lease_advance(call)) == LH_LEASE_BUSY) {
        struct pollfd wanted = {.fd = lh_lease_call_fd(call), .events = lh_lease_call_events(call)};
        lh_client_poll(&wanted, 1, lh_lease_call_wake_at(call));
    }
    return result;
}
