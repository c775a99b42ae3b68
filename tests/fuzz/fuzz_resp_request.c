// A stream of requests, parsed once from all its bytes and once as they trickle in pieces whose
// sizes the first byte chooses. Both must see the same requests and the same end, arguments within
// the bytes consumed, and no more of them than the limit.
#include "base/resp_request.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/prng.h"

#define LIMIT 300

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static uint8_t *copy_of(const uint8_t *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes + 1);
    LH_ASSERT(copy != NULL);
    if (size_bytes > 0)
        memcpy(copy, bytes, size_bytes);
    return copy;
}

static void same_request(const struct lh_resp_request *a, const struct lh_resp_request *b)
{
    LH_ASSERT(a->consumed_bytes == b->consumed_bytes && a->arg_count == b->arg_count);
    for (size_t i = 0; i < a->arg_count; i++)
        LH_ASSERT(lh_slice_equal(a->args[i], b->args[i]));
}

static void within(const struct lh_resp_request *request, const uint8_t *buffer)
{
    const uint8_t *at = buffer;
    LH_ASSERT(request->arg_count <= LH_RESP_ARGS_MAX && request->consumed_bytes <= LIMIT);
    for (size_t i = 0; i < request->arg_count; i++) {
        LH_ASSERT(request->args[i].data >= at);
        at = request->args[i].data + request->args[i].size_bytes;
    }
    LH_ASSERT(at <= buffer + request->consumed_bytes);
}

// Parses the request at `bytes` from pieces, each time in another block of exactly their size.
static enum lh_resp_result parse_pieces(struct lh_resp_request_parser *parser, struct lh_prng *prng,
                                        const uint8_t *bytes, size_t size_bytes,
                                        struct lh_resp_request *ret, uint8_t **ret_buffer)
{
    enum lh_resp_result result = LH_RESP_NEED_MORE;
    for (size_t have = 0; result == LH_RESP_NEED_MORE;) {
        free(*ret_buffer);
        *ret_buffer = copy_of(bytes, have);
        result = lh_resp_request_parse(parser, *ret_buffer, have, ret);
        if (have == size_bytes)
            break;
        have += 1 + lh_prng_below(prng, 8);
        have = have < size_bytes ? have : size_bytes;
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lh_resp_request_parser whole_parser;
    struct lh_resp_request_parser piece_parser;
    struct lh_prng prng;
    uint8_t *whole = copy_of(bytes, size_bytes);
    uint8_t *pieces = NULL;
    size_t at = 0;

    lh_prng_seed_number(&prng, size_bytes == 0 ? 0 : bytes[0]);
    lh_resp_request_parser_init(&whole_parser, LIMIT);
    lh_resp_request_parser_init(&piece_parser, LIMIT);
    for (;;) {
        struct lh_resp_request request;
        struct lh_resp_request piece_request;
        enum lh_resp_result result =
            lh_resp_request_parse(&whole_parser, whole + at, size_bytes - at, &request);
        enum lh_resp_result piece_result = parse_pieces(&piece_parser, &prng, bytes + at,
                                                        size_bytes - at, &piece_request, &pieces);
        LH_ASSERT(result == piece_result && whole_parser.reason == piece_parser.reason);
        if (result != LH_RESP_COMPLETE)
            break;
        within(&request, whole + at);
        same_request(&request, &piece_request);
        at += request.consumed_bytes;
    }
    free(whole);
    free(pieces);
    return 0;
}
