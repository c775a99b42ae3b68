// LEASE: the words of a client are checked one by one, and only what is wholly right becomes a
// request; the result that comes back, now or much later, is written in lease_reply.c. What is
// refused here costs nothing beyond this node, and the refusal names the value and the remedy.
#include "host/command.h"

#include "base/hash.h"
#include "base/text.h"

#define TTL_DEFAULT_MS 10000
#define TIMEOUT_DEFAULT_MS 5000
#define COUNT_DEFAULT 100
#define COUNT_MAX 500 // long names end a listing earlier, at LH_LIST_BYTES_MAX

enum {
    OPTION_TTL = 1 << 0,
    OPTION_HOLDER = 1 << 1,
    OPTION_WAIT = 1 << 2,
    OPTION_TIMEOUT = 1 << 3,
    OPTION_ID = 1 << 4,
    OPTION_PREFIX = 1 << 5,
    OPTION_COUNT = 1 << 6,
    OPTION_CURSOR = 1 << 7,
    OPTION_ON_DISCONNECT = 1 << 8,
};
#define OPTION_KINDS 9

static const struct lh_slice option_names[OPTION_KINDS] = {
    LH_SLICE_INIT("TTL"),     LH_SLICE_INIT("HOLDER"), LH_SLICE_INIT("WAIT"),
    LH_SLICE_INIT("TIMEOUT"), LH_SLICE_INIT("ID"),     LH_SLICE_INIT("PREFIX"),
    LH_SLICE_INIT("COUNT"),   LH_SLICE_INIT("CURSOR"), LH_SLICE_INIT("ON-DISCONNECT"),
};

struct options {
    unsigned given;
    struct lh_duration ttl, wait, timeout;
    struct lh_slice holder, id, prefix;
    uint64_t count, cursor;
    bool bound;
};

// --- checking words ---

// A duration of our own as it may be typed: "60s", "1500ms".
static struct lh_slice duration_text(struct lh_duration duration, char buffer[32])
{
    struct lh_writer writer = lh_writer_of(buffer, 32);
    int64_t ms = lh_floor_ms(duration);
    lh_i64_write(&writer, ms % 1000 == 0 ? ms / 1000 : ms);
    lh_writer_string(&writer, ms % 1000 == 0 ? "s" : "ms");
    return lh_writer_slice(&writer);
}

bool lh_call_takes_name(struct lh_call *call, struct lh_slice name)
{
    if (name.size_bytes == 0)
        lh_call_refuse(call, "BADNAME",
                       "the name is empty: name what the lease is for, such as 'backup'", NULL);
    else if (name.size_bytes > LH_NAME_MAX_BYTES)
        lh_call_refuse(call, "BADNAME", "the name '%' is longer than 255 bytes: shorten it",
                       LH_VALUES(name));
    else if (!lh_utf8_name_valid(name))
        lh_call_refuse(call, "BADNAME",
                       "the name '%' is not UTF-8 or has control characters: leave them out",
                       LH_VALUES(name));
    else if (name.data[0] == '@')
        lh_call_refuse(call, "BADNAME", "the name '%' begins with '@': such names are the system's",
                       LH_VALUES(name));
    else
        return true;
    return false;
}

static bool takes_holder(struct lh_call *call, struct lh_slice holder)
{
    if (lh_utf8_name_valid(holder))
        return true;
    lh_call_refuse(call, "ERR",
                   "the holder '%' is not 1 to 255 bytes of UTF-8 without control characters",
                   LH_VALUES(holder));
    return false;
}

static bool takes_token(struct lh_call *call, struct lh_slice word, lh_ballot *ret_token)
{
    uint64_t token;
    if (lh_u64_parse(word, &token) && lh_ballot_valid(token)) {
        *ret_token = token;
        return true;
    }
    lh_call_refuse(call, "ERR", "'%' is no token: give the one that was granted", LH_VALUES(word));
    return false;
}

// Said of a number without a unit: 10000 is often meant as milliseconds.
static struct lh_slice unit_text(struct lh_slice duration)
{
    const uint8_t last = duration.data[duration.size_bytes - 1];
    return last >= '0' && last <= '9' ? LH_SLICE(" (seconds)") : LH_SLICE("");
}

static bool takes_ttl(struct lh_call *call, struct lh_slice word, struct lh_duration *ret_ttl)
{
    const char *reason;
    struct lh_duration ttl;
    struct lh_duration most = call->host->config.timing.max_ttl;
    char text[32];
    if (!lh_duration_parse(word, &ttl, &reason))
        lh_call_refuse(call, "BADTTL", "TTL '%' is no duration such as 10s or 300ms: $",
                       LH_VALUES(word, lh_slice_of_string(reason)));
    else if (ttl.ns > most.ns)
        lh_call_refuse(
            call, "BADTTL",
            "TTL '%'$ is above this cluster's max-ttl $; ask for less, or raise max-ttl on "
            "every node",
            LH_VALUES(word, unit_text(word), duration_text(most, text)));
    else if (ttl.ns < LH_TTL_MIN_MS * LH_NS_PER_MS)
        lh_call_refuse(call, "BADTTL", "TTL '%' is below the least, 50ms; ask for more",
                       LH_VALUES(word));
    else {
        *ret_ttl = ttl;
        return true;
    }
    return false;
}

static bool takes_duration(struct lh_call *call, struct lh_slice option, struct lh_slice word,
                           int64_t least_ms, struct lh_duration *ret_duration)
{
    const char *reason = "at least 1ms is needed for others to answer";
    struct lh_duration duration;
    if (lh_duration_parse(word, &duration, &reason) && duration.ns >= least_ms * LH_NS_PER_MS) {
        *ret_duration = duration;
        return true;
    }
    lh_call_refuse(call, "ERR", "$ '%' is no duration such as 10s or 300ms: $",
                   LH_VALUES(option, word, lh_slice_of_string(reason)));
    return false;
}

static bool takes_prefix(struct lh_call *call, struct lh_slice word, struct lh_slice *ret_prefix)
{
    if (word.size_bytes > 0 && !lh_call_takes_name(call, word))
        return false;
    *ret_prefix = word;
    return true;
}

static bool takes_number(struct lh_call *call, struct lh_slice option, struct lh_slice word,
                         uint64_t least, const char *meaning, uint64_t *ret_number)
{
    uint64_t number;
    if (lh_u64_parse(word, &number) && number >= least) {
        *ret_number = number;
        return true;
    }
    lh_call_refuse(call, "ERR", "$ '%' is not $",
                   LH_VALUES(option, word, lh_slice_of_string(meaning)));
    return false;
}

// Who opts in promises that whoever acts under the lease has this very connection open.
static bool takes_on_disconnect(struct lh_call *call, struct lh_slice word, bool *ret_bound)
{
    bool release = lh_slice_equal_ignoring_case(word, LH_SLICE("release"));
    if (!release && !lh_slice_equal_ignoring_case(word, LH_SLICE("keep"))) {
        lh_call_refuse(call, "ERR", "ON-DISCONNECT '%' is neither release nor keep",
                       LH_VALUES(word));
        return false;
    }
    if (release && !call->session->local) {
        lh_call_refuse(call, "ERR",
                       "ON-DISCONNECT '%' is for clients of the Unix socket: the end of a TCP "
                       "connection does not prove that its client has ended; leave it out, and the "
                       "lease ends with its TTL",
                       LH_VALUES(word));
        return false;
    }
    *ret_bound = release;
    return true;
}

static bool takes_option(struct lh_call *call, unsigned option, struct lh_slice name,
                         struct lh_slice word, struct options *options)
{
    switch (option) {
    case OPTION_TTL: return takes_ttl(call, word, &options->ttl);
    case OPTION_WAIT: return takes_duration(call, name, word, 0, &options->wait);
    case OPTION_TIMEOUT: return takes_duration(call, name, word, 1, &options->timeout);
    case OPTION_PREFIX: return takes_prefix(call, word, &options->prefix);
    case OPTION_COUNT:
        return takes_number(call, name, word, 1, "a number from 1 up", &options->count);
    case OPTION_CURSOR:
        return takes_number(call, name, word, 0,
                            "a cursor: give 0 to begin, or what LEASE LIST answered as 'cursor'",
                            &options->cursor);
    case OPTION_ON_DISCONNECT: return takes_on_disconnect(call, word, &options->bound);
    case OPTION_HOLDER: options->holder = word; return takes_holder(call, word);
    default: options->id = word; return true; // any bytes
    }
}

static void refuse_option(struct lh_call *call, struct lh_slice word, unsigned allowed)
{
    struct lh_slice names[OPTION_KINDS];
    struct lh_slice command = call->command->sub;
    for (unsigned i = 0; i < OPTION_KINDS; i++)
        names[i] = (allowed >> i & 1) != 0 ? option_names[i] : (struct lh_slice){NULL, 0};
    int nearest = lh_command_nearest(word, names, OPTION_KINDS);
    if (nearest >= 0)
        lh_call_refuse(call, "ERR", "LEASE $ has no option '%': did you mean $?",
                       LH_VALUES(command, word, names[nearest]));
    else
        lh_call_refuse(call, "ERR", "LEASE $ has no option '%': it takes $",
                       LH_VALUES(command, word, lh_slice_of_string(call->command->arguments)));
}

// The options from word `first` on, each of `allowed` at most once.
static bool takes_options(struct lh_call *call, size_t first, unsigned allowed,
                          struct options *ret_options)
{
    struct lh_duration most = call->host->config.timing.max_ttl;
    *ret_options = (struct options){
        .ttl = most.ns < lh_ms(TTL_DEFAULT_MS).ns ? most : lh_ms(TTL_DEFAULT_MS),
        .timeout = lh_ms(TIMEOUT_DEFAULT_MS),
        .count = COUNT_DEFAULT,
    };
    for (size_t i = first; i < call->word_count; i += 2) {
        struct lh_slice word = call->words[i];
        unsigned kind = 0;
        while (kind < OPTION_KINDS && !lh_slice_equal_ignoring_case(word, option_names[kind]))
            kind++;
        if (kind == OPTION_KINDS || (allowed >> kind & 1) == 0) {
            refuse_option(call, word, allowed);
            return false;
        }
        if ((ret_options->given >> kind & 1) != 0) {
            lh_call_refuse(call, "ERR", "option $ is given twice: give it once",
                           LH_VALUES(option_names[kind]));
            return false;
        }
        if (i + 1 == call->word_count) {
            lh_call_refuse(
                call, "ERR", "option $ has no value: it takes $",
                LH_VALUES(option_names[kind], lh_slice_of_string(call->command->arguments)));
            return false;
        }
        ret_options->given |= 1u << kind;
        if (!takes_option(call, 1u << kind, option_names[kind], call->words[i + 1], ret_options))
            return false;
    }
    return true;
}

// --- requests ---

static bool node_is_able(struct lh_call *call)
{
    const char *halted = lh_host_halted(call->host);
    if (halted == NULL)
        return true;
    lh_call_refuse(call, "NOTREADY", "this node has stopped serving: $; ask another node",
                   LH_VALUES(lh_slice_of_string(halted)));
    return false;
}

// A request about `name` (LIST: a prefix) with everything that all kinds share; NULL after a
// refusal.
static struct lh_request *new_request(struct lh_call *call, enum lh_request_kind kind,
                                      struct lh_slice name, struct lh_duration timeout)
{
    if (!node_is_able(call))
        return NULL;
    struct lh_request *request = lh_request_new(call->host, kind, call->now);
    if (request == NULL) {
        lh_call_refuse(call, "BUSY", "$: ask again later, or another node",
                       LH_VALUES(lh_slice_of_string(lh_reason_text(LH_REASON_FULL_REQUESTS))));
        return NULL;
    }
    request->session = call->session_id;
    request->name_size = (uint8_t)name.size_bytes;
    if (name.size_bytes > 0)
        memcpy(request->name, name.data, name.size_bytes);
    request->timeout = timeout;
    return request;
}

static void set_holder(struct lh_request *request, struct lh_slice holder)
{
    request->holder_size = (uint8_t)holder.size_bytes;
    memcpy(request->holder, holder.data, holder.size_bytes);
}

// "client-<connection>@node<N>:<16 hex>": nobody else has it, and a person sees where it came from.
static void make_holder(struct lh_call *call, struct lh_request *request)
{
    struct lh_writer writer = lh_writer_of(request->holder, sizeof request->holder);
    uint8_t random[8];
    char hex[2 * sizeof random + 1];
    lh_store_u64(random, lh_prng_next(&call->host->prng));
    lh_hex_encode(random, sizeof random, hex);
    lh_writer_string(&writer, "client-");
    lh_u64_write(&writer, call->session->number);
    lh_writer_string(&writer, "@node");
    lh_u64_write(&writer, call->host->config.node);
    lh_writer_u8(&writer, ':');
    lh_writer_string(&writer, hex);
    request->holder_size = (uint8_t)lh_writer_size_bytes(&writer);
}

// The id is the client's own for one acquisition: the same id of another holder, or for another
// name, is another. Names and holders have no control characters, so a zero byte ends each; the id,
// which may be any bytes, comes last.
static uint64_t hash_of_id(const struct lh_request *request, struct lh_slice id)
{
    uint64_t hash = lh_hash_bytes(LH_HASH_START, lh_request_name(request));
    hash = lh_hash_bytes(hash, LH_SLICE("\0"));
    hash = lh_hash_bytes(hash, lh_request_holder(request));
    hash = lh_hash_bytes(hash, LH_SLICE("\0"));
    hash = lh_hash_bytes(hash, id);
    return hash != 0 ? hash : 1;
}

// The words of the call are not valid any more when this returns, and the request may be answered
// already.
static void submit(struct lh_call *call, struct lh_request *request)
{
    call->session->request = request->id;
    lh_request_submit(call->host, request, call->now, call->effects);
}

// --- the commands ---

void lh_command_lease_acquire(struct lh_call *call)
{
    struct options options;
    if (!lh_call_takes_name(call, call->words[2]) ||
        !takes_options(call, 3,
                       OPTION_TTL | OPTION_HOLDER | OPTION_WAIT | OPTION_TIMEOUT | OPTION_ID |
                           OPTION_ON_DISCONNECT,
                       &options))
        return;
    struct lh_request *request =
        new_request(call, LH_REQUEST_ACQUIRE, call->words[2], options.timeout);
    if (request == NULL)
        return;
    request->ttl = options.ttl;
    request->wait = options.wait;
    request->bound = options.bound;
    if ((options.given & OPTION_HOLDER) != 0)
        set_holder(request, options.holder);
    else
        make_holder(call, request);
    request->id_hash = (options.given & OPTION_ID) != 0 ? hash_of_id(request, options.id) : 0;
    submit(call, request);
}

void lh_command_lease_renew(struct lh_call *call)
{
    struct options options;
    lh_ballot token;
    if (!lh_call_takes_name(call, call->words[2]) || !takes_token(call, call->words[3], &token) ||
        !takes_holder(call, call->words[4]) ||
        !takes_options(call, 5, OPTION_TTL | OPTION_TIMEOUT, &options))
        return;
    struct lh_request *request =
        new_request(call, LH_REQUEST_RENEW, call->words[2], options.timeout);
    if (request == NULL)
        return;
    request->token = token;
    request->ttl = (options.given & OPTION_TTL) != 0 ? options.ttl : (struct lh_duration){0};
    set_holder(request, call->words[4]);
    submit(call, request);
}

void lh_command_lease_release(struct lh_call *call)
{
    struct options options;
    lh_ballot token;
    if (!lh_call_takes_name(call, call->words[2]) || !takes_token(call, call->words[3], &token) ||
        !takes_holder(call, call->words[4]) || !takes_options(call, 5, OPTION_TIMEOUT, &options))
        return;
    struct lh_request *request =
        new_request(call, LH_REQUEST_RELEASE, call->words[2], options.timeout);
    if (request == NULL)
        return;
    request->token = token;
    set_holder(request, call->words[4]);
    submit(call, request);
}

static void ask_about_name(struct lh_call *call, enum lh_request_kind kind)
{
    struct options options;
    if (!lh_call_takes_name(call, call->words[2]) ||
        !takes_options(call, 3, OPTION_TIMEOUT, &options))
        return;
    struct lh_request *request = new_request(call, kind, call->words[2], options.timeout);
    if (request != NULL)
        submit(call, request);
}

void lh_command_lease_revoke(struct lh_call *call)
{
    ask_about_name(call, LH_REQUEST_REVOKE);
}

void lh_command_lease_get(struct lh_call *call)
{
    ask_about_name(call, LH_REQUEST_GET);
}

void lh_command_lease_list(struct lh_call *call)
{
    struct options options;
    if (!takes_options(call, 2, OPTION_PREFIX | OPTION_COUNT | OPTION_CURSOR, &options))
        return;
    struct lh_request *request =
        new_request(call, LH_REQUEST_LIST, options.prefix, lh_ms(TIMEOUT_DEFAULT_MS));
    if (request == NULL)
        return;
    request->count = (uint32_t)(options.count < COUNT_MAX ? options.count : COUNT_MAX);
    request->cursor = options.cursor;
    submit(call, request);
}
