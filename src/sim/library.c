// See library.h.
#include "sim/library.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

void lh_sim_library_connect(struct lh_sim_library *library)
{
    lh_stream_init(&library->stream, library->output, sizeof library->output, library->input,
                   sizeof library->input, library->values, LH_SIM_VALUES, sizeof library->input);
}

void lh_sim_library_begin(struct lh_sim_library *library, const char *holder)
{
    snprintf(library->holder, sizeof library->holder, "%s", holder);
    library->token = library->released = 0;
    library->deadline = LH_PAST;
    library->resuming = false;
}

struct lh_slice lh_sim_library_ask(struct lh_sim_library *library, struct lh_instant now,
                                   const char *const *words, size_t count)
{
    const bool begun = lh_stream_begin(&library->stream, words, count);
    LH_ASSERT(begun);
    const struct lh_slice bytes = lh_stream_output(&library->stream, now);
    lh_stream_wrote(&library->stream, bytes.size_bytes);
    library->verb = LH_SIM_ASK;
    return bytes;
}

struct lh_slice lh_sim_library_request(struct lh_sim_library *library, enum lh_sim_verb verb,
                                       struct lh_instant now, int64_t wait_ms, int64_t timeout_ms)
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
    const struct lh_slice bytes = lh_sim_library_ask(library, now, words, count);
    library->verb = verb;
    if (sent == LH_SIM_RELEASE) { // P6: dead before the kernel has it
        library->released = library->token;
        if ((library->weakened & LH_SIM_WEAKEN_EARLY_RELEASE) == 0)
            library->deadline = LH_PAST;
    }
    return bytes;
}

// --- answers ---

static struct lh_instant deadline(const struct lh_sim_library *library, struct lh_instant old,
                                  struct lh_instant now)
{
    bool overgrants = (library->weakened & LH_SIM_WEAKEN_CLIENT_OVERGRANT) != 0;
    return lh_authority_deadline(old, overgrants ? now : library->stream.sent,
                                 library->answer.until_ns, library->answer.rate_ppm);
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
    size_t room = 0;
    uint8_t *input = lh_stream_input(&library->stream, &room);
    if (size > room)
        return LH_SIM_BROKEN;
    memcpy(input, bytes, size);
    switch (lh_stream_received(&library->stream, size)) {
    case LH_STREAM_QUIET:
    case LH_STREAM_WAITING: return LH_SIM_PENDING;
    case LH_STREAM_ANSWERED: return handle(library, lh_stream_reply(&library->stream), now);
    case LH_STREAM_BROKEN: break;
    }
    return LH_SIM_BROKEN;
}
