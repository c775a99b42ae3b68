// See answer.h.
#include "client/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *word;
    enum lh_answer_status status;
} statuses[] = {
    {"granted", LH_ANSWER_GRANTED},    {"held", LH_ANSWER_HELD},
    {"turn", LH_ANSWER_TURN},          {"lost", LH_ANSWER_LOST},
    {"released", LH_ANSWER_RELEASED},  {"revoked", LH_ANSWER_REVOKED},
    {"free", LH_ANSWER_FREE},          {"undecided", LH_ANSWER_UNDECIDED},
    {"noquorum", LH_ANSWER_NO_QUORUM},
};

static void copy_text(struct lh_slice text, char ret[256])
{
    size_t size = text.size_bytes < 255 ? text.size_bytes : 255;
    if (size > 0)
        memcpy(ret, text.data, size);
    ret[size] = '\0';
    lh_make_printable(ret);
}

static int64_t integer(const struct lh_resp_value *reply, const char *key)
{
    int64_t number = 0;
    lh_resp_as_integer(lh_resp_get(reply, key), &number);
    return number;
}

static void text(const struct lh_resp_value *reply, const char *key, char ret[256])
{
    struct lh_slice found = {NULL, 0};
    lh_resp_as_text(lh_resp_get(reply, key), &found);
    copy_text(found, ret);
}

static void read_error(struct lh_slice error, struct lh_answer *answer)
{
    bool elsewhere = lh_slice_has_prefix(error, LH_SLICE("NOTREADY")) ||
                     lh_slice_has_prefix(error, LH_SLICE("BUSY"));
    answer->status = elsewhere ? LH_ANSWER_ELSEWHERE : LH_ANSWER_REFUSED;
    const uint8_t *space = memchr(error.data, ' ', error.size_bytes);
    if (space != NULL) { // the code is for programs
        size_t skipped = (size_t)(space - error.data) + 1;
        error = lh_slice_of(error.data + skipped, error.size_bytes - skipped);
    }
    copy_text(error, answer->reason);
}

static void read_status(const struct lh_resp_value *reply, struct lh_answer *answer)
{
    struct lh_slice word;
    if (!lh_resp_as_text(lh_resp_get(reply, "status"), &word)) {
        snprintf(answer->reason, sizeof answer->reason, "the answer has no status");
        return;
    }
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (lh_slice_equal(word, lh_slice_of_string(statuses[i].word)))
            answer->status = statuses[i].status;
    if (answer->status == LH_ANSWER_UNKNOWN)
        snprintf(answer->reason, sizeof answer->reason, "the answer has the unknown status '%.*s'",
                 (int)(word.size_bytes < 64 ? word.size_bytes : 64), (const char *)word.data);
}

void lh_answer_read(const struct lh_resp_value *reply, const char *name,
                    struct lh_answer *ret_answer)
{
    struct lh_slice named;
    *ret_answer = (struct lh_answer){.status = LH_ANSWER_UNKNOWN};
    if (lh_resp_is(reply, LH_RESP_ERROR)) {
        read_error(reply->text, ret_answer);
        return;
    }
    if (lh_resp_as_text(lh_resp_get(reply, "name"), &named) &&
        !lh_slice_equal(named, lh_slice_of_string(name))) {
        snprintf(ret_answer->reason, sizeof ret_answer->reason,
                 "the answer is about another lease");
        return;
    }
    ret_answer->token = integer(reply, "token");
    ret_answer->node = integer(reply, "node");
    ret_answer->ttl_ms = integer(reply, "ttl-ms");
    ret_answer->until_ns = integer(reply, "until-ns");
    ret_answer->rate_ppm = integer(reply, "rate-ppm");
    ret_answer->free_in_ns = integer(reply, "free-in-ns");
    ret_answer->ends_in_ns = integer(reply, "ends-in-ns");
    ret_answer->revoked = integer(reply, "revoked") == 1;
    text(reply, "holder", ret_answer->holder);
    text(reply, "reason", ret_answer->reason);
    read_status(reply, ret_answer);
}
