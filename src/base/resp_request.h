// Cutting one request out of what a client sent: an array of bulk strings, or an inline command as
// typed into a terminal, with the quoting of redis-cli. Nothing is copied, nothing is allocated,
// and no byte is looked at twice however slowly bytes arrive. The sender is a stranger: every
// length is checked against the limits when it is read, before any of the bytes it announces has
// come.
#ifndef LH_BASE_RESP_REQUEST_H
#define LH_BASE_RESP_REQUEST_H

#include "base/resp_line.h"

#define LH_RESP_ARGS_MAX 64

struct lh_resp_request {
    struct lh_slice args[LH_RESP_ARGS_MAX]; // into the buffer: valid while its bytes are
    size_t arg_count; // 0 for an empty line or an empty array: no reply is due
    size_t consumed_bytes;
};

// How far one request has been understood. It holds offsets, no pointers: the buffer may be moved
// between two calls.
struct lh_resp_request_parser {
    struct lh_resp_scan scan;
    size_t max_bytes;
    const char *reason;     // why it is malformed; NULL otherwise
    uint32_t args_expected; // of the array; 0 before its header was read
    uint32_t args_begun;    // bulk headers read
    bool in_argument;       // the last of these still lacks bytes
    struct {
        uint32_t offset, size_bytes;
    } args[LH_RESP_ARGS_MAX];
};

// max_bytes: the longest request that is accepted, all of it counted; at most UINT32_MAX.
void lh_resp_request_parser_init(struct lh_resp_request_parser *parser, size_t max_bytes);

// Goes on with the request that begins at `buffer`, of which size_bytes bytes are there: the same
// bytes as in the last call and more. COMPLETE: *ret is the request, the parser is ready for the
// next one, and the caller drops ret->consumed_bytes bytes from the front once it is done with the
// arguments. MALFORMED: parser->reason is a constant that says why; the caller sends it and closes,
// and every further call says the same. Quotes of an inline command are resolved in place, so the
// buffer is writable.
enum lh_resp_result lh_resp_request_parse(struct lh_resp_request_parser *parser, uint8_t *buffer,
                                          size_t size_bytes, struct lh_resp_request *ret);

#endif
