// Reading replies at the client, all of RESP2 and RESP3 but streamed values, which nobody sends. A
// reply is parsed as bytes arrive into an array of values that the caller supplies, and can then be
// walked as a tree without a pointer to chase: the children of a value follow it directly. A server
// is a stranger too: depth, number of values and bytes are limited, and nothing it sends is trusted
// beyond what was checked.
#ifndef LH_BASE_RESP_REPLY_H
#define LH_BASE_RESP_REPLY_H

#include "base/resp_line.h"

// Aggregates within aggregates, attributes counted.
#define LH_RESP_DEPTH_MAX 16

enum lh_resp_type {
    LH_RESP_NULL,
    LH_RESP_SIMPLE,
    LH_RESP_ERROR, // of a line or a blob
    LH_RESP_INTEGER,
    LH_RESP_BULK,
    LH_RESP_BOOLEAN, // `integer` is 0 or 1
    LH_RESP_DOUBLE,  // `text` is a number, inf, -inf or nan: well formed, not converted
    LH_RESP_BIG_NUMBER,
    LH_RESP_VERBATIM, // `text` without its three letters of format
    LH_RESP_ARRAY,
    LH_RESP_MAP, // children are key, value, key, value..
    LH_RESP_SET,
    LH_RESP_PUSH, // not an answer: sent unasked between replies
};

struct lh_resp_value {
    enum lh_resp_type type;
    uint32_t child_count; // values directly beneath: two for each pair of a map
    uint32_t span;        // this value and all beneath it: value + span is the next sibling
    int64_t integer;      // of INTEGER and BOOLEAN
    struct lh_slice text; // of all but aggregates and NULL, into the buffer
    size_t offset;        // the parser's: where text begins in the buffer
};

struct lh_resp_reply_parser {
    struct lh_resp_scan scan;
    size_t max_bytes;
    const char *reason; // why it is malformed; NULL otherwise
    struct lh_resp_value *values;
    uint32_t capacity, used, promised; // promised: values announced that are still to come
    uint32_t depth, hidden;            // open aggregates; attributes among them
    bool whole;                        // the reply's last value was read
    struct {
        uint64_t left; // values still to come
        uint32_t value;
        bool attribute;
    } open[LH_RESP_DEPTH_MAX];
    uint8_t blob_type; // of a blob whose header was read; 0 if there is none
    size_t blob_bytes;
};

// `values` has room for `capacity` values and outlives the parser. max_bytes limits one reply, at
// least 1.
void lh_resp_reply_parser_init(struct lh_resp_reply_parser *parser, struct lh_resp_value *values,
                               uint32_t capacity, size_t max_bytes);

// Goes on with the reply that begins at `buffer`, of which size_bytes bytes are there: the same
// bytes as in the last call and more. COMPLETE: values[0] is the reply, valid until the next call
// and while the buffer's bytes are; the caller drops *ret_consumed_bytes bytes. MALFORMED:
// parser->reason is a constant that says why; close the connection. Attributes are checked and left
// out.
enum lh_resp_result lh_resp_reply_parse(struct lh_resp_reply_parser *parser, const uint8_t *buffer,
                                        size_t size_bytes, size_t *ret_consumed_bytes);

// --- walking; a value of NULL (an absent one) is allowed everywhere and has nothing ---

// The child at `index`, or NULL. To visit all: child = value + 1, then child += child->span.
const struct lh_resp_value *lh_resp_child(const struct lh_resp_value *value, size_t index);

// The value under a text key of a map, or of the flat array that version 2 sends for one. NULL if
// there is none.
const struct lh_resp_value *lh_resp_get(const struct lh_resp_value *map, const char *key);

// The bytes of SIMPLE, BULK or VERBATIM; false for any other type.
bool lh_resp_as_text(const struct lh_resp_value *value, struct lh_slice *ret);

// The number of INTEGER or BOOLEAN, or one printed in a SIMPLE or BULK; false for anything else.
bool lh_resp_as_integer(const struct lh_resp_value *value, int64_t *ret);

static inline bool lh_resp_is(const struct lh_resp_value *value, enum lh_resp_type type)
{
    return value != NULL && value->type == type;
}

#endif
