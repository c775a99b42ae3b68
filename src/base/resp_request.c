// The request parser. An array is cut in one pass, each argument remembered as an offset; an inline
// command is split once its line is complete. See the header for what must stay true.
#include "base/resp_request.h"

#include "base/assert.h"
#include "base/text.h"

static enum lh_resp_result malformed(struct lh_resp_request_parser *parser, const char *reason)
{
    parser->reason = reason;
    return LH_RESP_MALFORMED;
}

void lh_resp_request_parser_init(struct lh_resp_request_parser *parser, size_t max_bytes)
{
    LH_ASSERT(max_bytes > 0 && max_bytes <= UINT32_MAX);
    memset(parser, 0, sizeof *parser);
    parser->max_bytes = max_bytes;
}

static void begin_next(struct lh_resp_request_parser *parser)
{
    lh_resp_scan_to(&parser->scan, 0);
    parser->args_expected = 0;
    parser->args_begun = 0;
    parser->in_argument = false;
}

static void add_argument(struct lh_resp_request_parser *parser, size_t offset, size_t size_bytes)
{
    parser->args[parser->args_begun].offset = (uint32_t)offset;
    parser->args[parser->args_begun].size_bytes = (uint32_t)size_bytes;
    parser->args_begun++;
}

// --- inline commands ---

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static uint8_t unescaped(uint8_t byte)
{
    switch (byte) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return byte;
    }
}

// One argument of an inline command: read at `at`, written back at `to` <= `at`, since what a form
// stands for is never longer than the form.
struct inline_cursor {
    uint8_t *at, *to;
    const uint8_t *end;
};

// After the opening quote. False if there is no closing one.
static bool unquote(struct inline_cursor *cursor, uint8_t quote)
{
    while (cursor->at < cursor->end) {
        uint8_t byte = *cursor->at++;
        if (byte == quote)
            return true;
        if (byte == '\\' && cursor->at < cursor->end) {
            uint8_t code;
            if (quote == '"' && cursor->end - cursor->at >= 3 && cursor->at[0] == 'x' &&
                lh_hex_decode((struct lh_slice){cursor->at + 1, 2}, &code, 1)) {
                byte = code;
                cursor->at += 3;
            } else if (quote == '"') {
                byte = unescaped(*cursor->at++);
            } else if (*cursor->at == '\'') {
                byte = *cursor->at++;
            }
        }
        *cursor->to++ = byte;
    }
    return false;
}

// Quotes may begin anywhere in an argument, but one that ends must end the argument.
static bool cut_inline_argument(struct inline_cursor *cursor, struct lh_slice *ret)
{
    const uint8_t *start = cursor->at;
    cursor->to = cursor->at;
    while (cursor->at < cursor->end && !is_space(*cursor->at)) {
        uint8_t byte = *cursor->at++;
        if (byte != '"' && byte != '\'') {
            *cursor->to++ = byte;
            continue;
        }
        if (!unquote(cursor, byte))
            return false;
        if (cursor->at < cursor->end && !is_space(*cursor->at))
            return false;
    }
    *ret = (struct lh_slice){start, (size_t)(cursor->to - start)};
    return true;
}

// A web page can make a browser send a POST whose body is lines of commands; Redis was attacked so.
static bool is_http(struct lh_slice first)
{
    return lh_slice_equal_ignoring_case(first, LH_SLICE("post")) ||
           lh_slice_equal_ignoring_case(first, LH_SLICE("host:"));
}

static enum lh_resp_result split_inline(struct lh_resp_request_parser *parser, uint8_t *line,
                                        size_t line_bytes)
{
    struct inline_cursor cursor = {line, line, line + line_bytes};

    if (line_bytes > 0 && memchr(line, 0, line_bytes) != NULL)
        return malformed(parser, "zero byte in an inline command");
    for (;;) {
        struct lh_slice argument;
        while (cursor.at < cursor.end && is_space(*cursor.at))
            cursor.at++;
        if (cursor.at == cursor.end)
            return LH_RESP_COMPLETE;
        if (parser->args_begun == LH_RESP_ARGS_MAX)
            return malformed(parser, "too many arguments (at most 64)");
        if (!cut_inline_argument(&cursor, &argument))
            return malformed(parser, "unbalanced quotes in an inline command");
        if (parser->args_begun == 0 && is_http(argument))
            return malformed(parser, "this is HTTP; this port speaks the Redis protocol");
        add_argument(parser, (size_t)(argument.data - line), argument.size_bytes);
    }
}

static enum lh_resp_result parse_inline(struct lh_resp_request_parser *parser, uint8_t *buffer,
                                        size_t size_bytes)
{
    struct lh_slice line;
    enum lh_resp_result result =
        lh_resp_scan_line(&parser->scan, buffer, size_bytes, parser->max_bytes - 1, &line);
    if (result == LH_RESP_MALFORMED)
        return malformed(parser, "inline command too long");
    if (result == LH_RESP_NEED_MORE)
        return result;
    return split_inline(parser, buffer, line.size_bytes);
}

// --- arrays of bulk strings ---

// Reads `<type><count>`, and checks the count. Its line is consumed.
static enum lh_resp_result parse_header(struct lh_resp_request_parser *parser,
                                        const uint8_t *buffer, size_t size_bytes, uint64_t *ret)
{
    struct lh_slice line;
    enum lh_resp_result result =
        lh_resp_scan_line(&parser->scan, buffer, size_bytes, LH_RESP_HEADER_MAX_BYTES, &line);
    if (result == LH_RESP_MALFORMED)
        return malformed(parser, "length line too long");
    if (result == LH_RESP_NEED_MORE)
        return result;
    if (!lh_resp_trim_cr(&line))
        return malformed(parser, "length line does not end in CR LF");
    if (!lh_u64_parse((struct lh_slice){line.data + 1, line.size_bytes - 1}, ret))
        return malformed(parser, "length is not a number from 0 up");
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result begin_argument(struct lh_resp_request_parser *parser,
                                          const uint8_t *buffer, size_t size_bytes)
{
    uint64_t length;

    if (parser->scan.at == size_bytes)
        return LH_RESP_NEED_MORE;
    if (buffer[parser->scan.at] != '$')
        return malformed(parser, "expected '$' (requests are arrays of bulk strings)");
    enum lh_resp_result result = parse_header(parser, buffer, size_bytes, &length);
    if (result != LH_RESP_COMPLETE)
        return result;
    size_t at = parser->scan.at;
    if (at > parser->max_bytes || length > parser->max_bytes - at ||
        parser->max_bytes - at - length < 2)
        return malformed(parser, "request too long");
    add_argument(parser, at, length);
    parser->in_argument = true;
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result finish_argument(struct lh_resp_request_parser *parser,
                                           const uint8_t *buffer, size_t size_bytes)
{
    size_t end = parser->scan.at + parser->args[parser->args_begun - 1].size_bytes;
    if (size_bytes < end + 2)
        return LH_RESP_NEED_MORE;
    if (buffer[end] != '\r' || buffer[end + 1] != '\n')
        return malformed(parser, "bulk string does not end in CR LF");
    lh_resp_scan_to(&parser->scan, end + 2);
    parser->in_argument = false;
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result parse_array(struct lh_resp_request_parser *parser, const uint8_t *buffer,
                                       size_t size_bytes)
{
    enum lh_resp_result result;

    if (parser->scan.at == 0) {
        uint64_t count;
        result = parse_header(parser, buffer, size_bytes, &count);
        if (result != LH_RESP_COMPLETE)
            return result;
        if (count > LH_RESP_ARGS_MAX)
            return malformed(parser, "too many arguments (at most 64)");
        if (parser->scan.at > parser->max_bytes)
            return malformed(parser, "request too long");
        parser->args_expected = (uint32_t)count;
    }
    while (parser->args_begun < parser->args_expected || parser->in_argument) {
        result = parser->in_argument ? finish_argument(parser, buffer, size_bytes)
                                     : begin_argument(parser, buffer, size_bytes);
        if (result != LH_RESP_COMPLETE)
            return result;
    }
    return LH_RESP_COMPLETE;
}

enum lh_resp_result lh_resp_request_parse(struct lh_resp_request_parser *parser, uint8_t *buffer,
                                          size_t size_bytes, struct lh_resp_request *ret)
{
    if (parser->reason != NULL)
        return LH_RESP_MALFORMED;
    if (size_bytes == 0)
        return LH_RESP_NEED_MORE;
    enum lh_resp_result result = buffer[0] == '*' ? parse_array(parser, buffer, size_bytes)
                                                  : parse_inline(parser, buffer, size_bytes);
    if (result != LH_RESP_COMPLETE)
        return result;
    for (size_t i = 0; i < parser->args_begun; i++)
        ret->args[i] = lh_slice_of(buffer + parser->args[i].offset, parser->args[i].size_bytes);
    ret->arg_count = parser->args_begun;
    ret->consumed_bytes = parser->scan.at;
    begin_next(parser);
    return LH_RESP_COMPLETE;
}
