// See library.h.
#include "sim/library.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/resp_reply.h"
#include "base/resp_writer.h"

#define VALUES_MAX 4096

void lh_sim_library_connect(struct lh_sim_library *library)
{
    library->greeted = false;
    library->greeting_due = true;
    library->input_size = 0;
}

void lh_sim_library_begin(struct lh_sim_library *library, const char *holder)
{
    snprintf(library->holder, sizeof library->holder, "%s", holder);
    library->token = library->released = 0;
    library->deadline = LH_PAST;
    library->resuming = false;
}

size_t lh_sim_library_ask(struct lh_sim_library *library, const char *const *words, size_t count,
                          uint8_t *out)
{
    struct lh_writer writer = lh_writer_of(out, LH_SIM_REQUEST_BYTES);
    if (library->greeting_due) {
        lh_resp_write_array(&writer, 2);
        lh_resp_write_text(&writer, "HELLO");
        lh_resp_write_text(&writer, "3");
        library->greeting_due = false;
    }
    lh_resp_write_array(&writer, count);
    for (size_t i = 0; i < count; i++)
        lh_resp_write_text(&writer, words[i]);
    LH_ASSERT(!writer.failed);
    library->verb = LH_SIM_ASK;
    return lh_writer_size_bytes(&writer);
}

size_t lh_sim_library_request(struct lh_sim_library *library, enum lh_sim_verb verb,
                              struct lh_instant now, int64_t wait_ms, int64_t timeout_ms,
                              uint8_t *out)
{
    static const char *const verbs[] = {"ACQUIRE", "RENEW", "RELEASE"};
    char token[24], ttl[24], timeout[24], wait[24], id[24];
    const char *words[16];
    size_t count = 0;
    enum lh_sim_verb sent = library->resuming ? LH_SIM_RENEW : verb;
    snprintf(token, sizeof token, "%lld", (long long)library->token);
    snprintf(ttl, sizeof ttl, "%lldms", (long long)library->ttl_ms);
    snprintf(timeout, sizeof timeout, "%lldms", (long long)timeout_ms);
    snprintf(wait, sizeof wait, "%lldms", (long long)wait_ms);
    snprintf(id, sizeof id, "%llu", (unsigned long long)library->id);
    words[count++] = "LEASE";
    words[count++] = verbs[sent];
    words[count++] = library->name;
    if (sent != LH_SIM_ACQUIRE) {
        words[count++] = token;
        words[count++] = library->holder;
    }
    if (sent != LH_SIM_RELEASE) {
        words[count++] = "TTL", words[count++] = ttl;
        words[count++] = "TIMEOUT", words[count++] = timeout;
    }
    if (sent == LH_SIM_ACQUIRE) {
        words[count++] = "HOLDER", words[count++] = library->holder;
        words[count++] = "ID", words[count++] = id;
        if (wait_ms > 0)
            words[count++] = "WAIT", words[count++] = wait;
    }
    size_t size = lh_sim_library_ask(library, words, count, out);
    library->verb = verb;
    library->sent = now;
    if (sent == LH_SIM_RELEASE) { // P6: dead before the kernel has it
        library->released = library->token;
        if ((library->weakened & LH_SIM_WEAKEN_EARLY_RELEASE) == 0)
            library->deadline = LH_PAST;
    }
    return size;
}

// --- answers ---

static struct lh_instant deadline(const struct lh_sim_library *library, struct lh_instant old,
                                  struct lh_instant now)
{
    bool overgrants = (library->weakened & LH_SIM_WEAKEN_CLIENT_OVERGRANT) != 0;
    return lh_authority_deadline(old, overgrants ? now : library->sent, library->answer.until_ns,
                                 library->answer.rate_ppm);
}

static enum lh_sim_outcome granted(struct lh_sim_library *library, struct lh_instant now)
{
    const struct lh_answer *answer = &library->answer;
    bool renewal = library->verb == LH_SIM_RENEW || library->resuming;
    if (answer->token <= library->released || (renewal && answer->token != library->token))
        return LH_SIM_FAILED;
    library->token = answer->token;
    library->deadline = deadline(library, renewal ? library->deadline : LH_PAST, now);
    if (lh_sim_library_valid(library, now)) {
        library->resuming = false;
        return LH_SIM_GRANTED;
    }
    if (library->verb == LH_SIM_RENEW)
        return LH_SIM_LOST;
    if (library->resuming)
        return LH_SIM_FAILED;
    library->resuming = true;
    return LH_SIM_AGAIN;
}

static enum lh_sim_outcome held(struct lh_sim_library *library)
{
    const struct lh_answer *answer = &library->answer;
    if (library->verb != LH_SIM_ACQUIRE)
        return LH_SIM_FAILED;
    if (answer->token <= library->released || strcmp(answer->holder, library->holder) != 0 ||
        library->resuming)
        return LH_SIM_HELD;
    library->token = answer->token;
    library->deadline = LH_PAST;
    library->resuming = true;
    return LH_SIM_AGAIN;
}

static enum lh_sim_outcome handle(struct lh_sim_library *library, const struct lh_resp_value *reply,
                                  struct lh_instant now)
{
    if (library->verb == LH_SIM_ASK)
        return LH_SIM_DONE;
    lh_answer_read(reply, library->name, &library->answer);
    switch (library->answer.status) {
    case LH_ANSWER_GRANTED: return granted(library, now);
    case LH_ANSWER_HELD: return held(library);
    case LH_ANSWER_TURN: return LH_SIM_AGAIN;
    case LH_ANSWER_LOST: library->resuming = false; return LH_SIM_LOST;
    case LH_ANSWER_RELEASED: library->deadline = LH_PAST; return LH_SIM_RELEASED;
    case LH_ANSWER_NO_QUORUM:
        if (library->verb == LH_SIM_RENEW)
            library->deadline = deadline(library, library->deadline, now);
        library->resuming = false;
        return LH_SIM_FAILED;
    case LH_ANSWER_ELSEWHERE: return LH_SIM_FAILED;
    case LH_ANSWER_REFUSED:
    case LH_ANSWER_REVOKED:
    case LH_ANSWER_FREE:
    case LH_ANSWER_UNDECIDED:
    case LH_ANSWER_UNKNOWN: break;
    }
    return LH_SIM_BROKEN;
}

enum lh_sim_outcome lh_sim_library_bytes(struct lh_sim_library *library, struct lh_instant now,
                                         const uint8_t *bytes, size_t size)
{
    struct lh_resp_value values[VALUES_MAX];
    if (size > sizeof library->input - library->input_size)
        return LH_SIM_BROKEN;
    memcpy(library->input + library->input_size, bytes, size);
    library->input_size += size;
    enum lh_sim_outcome outcome = LH_SIM_PENDING;
    while (library->input_size > 0 && outcome == LH_SIM_PENDING) {
        struct lh_resp_reply_parser parser;
        size_t consumed = 0;
        lh_resp_reply_parser_init(&parser, values, VALUES_MAX, LH_SIM_INPUT_BYTES);
        switch (lh_resp_reply_parse(&parser, library->input, library->input_size, &consumed)) {
        case LH_RESP_NEED_MORE: return LH_SIM_PENDING;
        case LH_RESP_MALFORMED: return LH_SIM_BROKEN;
        case LH_RESP_COMPLETE: break;
        }
        if (lh_resp_is(values, LH_RESP_PUSH))
            outcome = LH_SIM_PENDING;
        else if (library->greeted)
            outcome = handle(library, values, now);
        else
            library->greeted = true;
        library->input_size -= consumed;
        memmove(library->input, library->input + consumed, library->input_size);
    }
    return outcome;
}
