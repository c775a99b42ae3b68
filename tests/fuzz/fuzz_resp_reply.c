// A stream of replies, parsed once from all its bytes and once as they trickle in. Both must give
// the same trees, whose spans add up and whose texts lie within the bytes consumed; and every way
// to look into a tree must be safe.
#include "base/resp_reply.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/prng.h"

#define LIMIT 300
#define CAPACITY 40

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static uint8_t *copy_of(const uint8_t *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes + 1);
    LH_ASSERT(copy != NULL);
    if (size_bytes > 0)
        memcpy(copy, bytes, size_bytes);
    return copy;
}

// Checks a tree and returns its number of values.
static uint32_t check_tree(const struct lh_resp_value *value, const uint8_t *buffer,
                           size_t consumed_bytes, unsigned depth)
{
    struct lh_slice text;
    int64_t integer;
    uint32_t span = 1;

    LH_ASSERT(depth <= LH_RESP_DEPTH_MAX);
    LH_ASSERT(value->text.data >= buffer);
    LH_ASSERT(value->text.data + value->text.size_bytes <= buffer + consumed_bytes);
    (void)lh_resp_as_text(value, &text);
    (void)lh_resp_as_integer(value, &integer);
    (void)lh_resp_get(value, "a");
    LH_ASSERT(lh_resp_child(value, value->child_count) == NULL);
    for (uint32_t i = 0; i < value->child_count; i++) {
        const struct lh_resp_value *child = value + span;
        LH_ASSERT(lh_resp_child(value, i) == child);
        LH_ASSERT(child->type != LH_RESP_PUSH);
        span += check_tree(child, buffer, consumed_bytes, depth + 1);
    }
    LH_ASSERT(value->child_count == 0 || value->type >= LH_RESP_ARRAY);
    LH_ASSERT(value->type != LH_RESP_MAP || value->child_count % 2 == 0);
    LH_ASSERT(value->span == span && span <= CAPACITY);
    return span;
}

static void same_tree(const struct lh_resp_value *a, const struct lh_resp_value *b)
{
    LH_ASSERT(a->span == b->span);
    for (uint32_t i = 0; i < a->span; i++) {
        LH_ASSERT(a[i].type == b[i].type && a[i].child_count == b[i].child_count);
        LH_ASSERT(a[i].span == b[i].span && a[i].integer == b[i].integer);
        LH_ASSERT(lh_slice_equal(a[i].text, b[i].text));
    }
}

// Parses the reply at `bytes` from pieces, each time in another block of exactly their size.
static enum lh_resp_result parse_pieces(struct lh_resp_reply_parser *parser, struct lh_prng *prng,
                                        const uint8_t *bytes, size_t size_bytes,
                                        size_t *ret_consumed_bytes, uint8_t **ret_buffer)
{
    enum lh_resp_result result = LH_RESP_NEED_MORE;
    for (size_t have = 0; result == LH_RESP_NEED_MORE;) {
        free(*ret_buffer);
        *ret_buffer = copy_of(bytes, have);
        result = lh_resp_reply_parse(parser, *ret_buffer, have, ret_consumed_bytes);
        if (have == size_bytes)
            break;
        have += 1 + lh_prng_below(prng, 8);
        have = have < size_bytes ? have : size_bytes;
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lh_resp_value values[CAPACITY];
    struct lh_resp_value piece_values[CAPACITY];
    struct lh_resp_reply_parser parser;
    struct lh_resp_reply_parser piece_parser;
    struct lh_prng prng;
    uint8_t *pieces = NULL;
    size_t at = 0;

    lh_prng_seed_number(&prng, size_bytes == 0 ? 0 : bytes[0]);
    lh_resp_reply_parser_init(&parser, values, CAPACITY, LIMIT);
    lh_resp_reply_parser_init(&piece_parser, piece_values, CAPACITY, LIMIT);
    for (;;) {
        size_t consumed_bytes = 0;
        size_t piece_consumed_bytes = 0;
        enum lh_resp_result result =
            lh_resp_reply_parse(&parser, bytes + at, size_bytes - at, &consumed_bytes);
        enum lh_resp_result piece_result = parse_pieces(
            &piece_parser, &prng, bytes + at, size_bytes - at, &piece_consumed_bytes, &pieces);
        LH_ASSERT(result == piece_result && parser.reason == piece_parser.reason);
        if (result != LH_RESP_COMPLETE)
            break;
        LH_ASSERT(consumed_bytes == piece_consumed_bytes && consumed_bytes <= LIMIT);
        check_tree(values, bytes + at, consumed_bytes, 0);
        same_tree(values, piece_values);
        at += consumed_bytes;
    }
    free(pieces);
    return 0;
}
