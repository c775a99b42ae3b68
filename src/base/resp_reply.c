// The reply parser: one value at a time, with a stack of the aggregates that are still open. Values
// remember offsets until the reply is complete, since the buffer may move while it grows.
#include "base/resp_reply.h"

#include "base/assert.h"
#include "base/text.h"

static enum lh_resp_result malformed(struct lh_resp_reply_parser *parser, const char *reason)
{
    parser->reason = reason;
    return LH_RESP_MALFORMED;
}

void lh_resp_reply_parser_init(struct lh_resp_reply_parser *parser, struct lh_resp_value *values,
                               uint32_t capacity, size_t max_bytes)
{
    LH_ASSERT(capacity > 0 && max_bytes > 0);
    memset(parser, 0, sizeof *parser);
    parser->values = values;
    parser->capacity = capacity;
    parser->max_bytes = max_bytes;
}

// Adds a value, or gives a scratch one inside an attribute. There is room: capacity is at least
// one, and no more children are ever promised than fit.
static struct lh_resp_value *add_value(struct lh_resp_reply_parser *parser,
                                       struct lh_resp_value *hidden, enum lh_resp_type type)
{
    struct lh_resp_value *value = hidden;
    if (parser->hidden == 0) {
        LH_ASSERT(parser->used < parser->capacity);
        value = &parser->values[parser->used++];
        if (parser->promised > 0)
            parser->promised--;
    }
    memset(value, 0, sizeof *value);
    value->type = type;
    value->span = 1;
    return value;
}

// After a value: closes every aggregate that it was the last of, and the reply with the outermost.
static void end_value(struct lh_resp_reply_parser *parser)
{
    while (parser->depth > 0) {
        if (--parser->open[parser->depth - 1].left > 0)
            return;
        parser->depth--;
        if (parser->open[parser->depth].attribute) {
            parser->hidden--; // the value it says something about comes now, in its place
            return;
        }
        uint32_t value = parser->open[parser->depth].value;
        if (parser->hidden == 0)
            parser->values[value].span = parser->used - value;
    }
    parser->whole = true;
}

// --- what a line may hold ---

static bool all_digits(struct lh_slice text)
{
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    }
    return text.size_bytes > 0;
}

static struct lh_slice without_sign(struct lh_slice text, const char *signs)
{
    if (text.size_bytes > 0 && text.data[0] != 0 && strchr(signs, text.data[0]) != NULL)
        return lh_slice_of(text.data + 1, text.size_bytes - 1);
    return text;
}

static struct lh_slice skip_digits(struct lh_slice text)
{
    while (text.size_bytes > 0 && text.data[0] >= '0' && text.data[0] <= '9')
        text = lh_slice_of(text.data + 1, text.size_bytes - 1);
    return text;
}

static bool is_big_number(struct lh_slice text)
{
    return all_digits(without_sign(text, "+-"));
}

// digits[.digits][e[sign]digits], with a sign or without, or one of the three that are no numbers.
static bool is_double(struct lh_slice text)
{
    struct lh_slice unsigned_text = without_sign(text, "+-");
    if (lh_slice_equal(unsigned_text, LH_SLICE("inf")) ||
        lh_slice_equal(unsigned_text, LH_SLICE("nan")))
        return true;
    struct lh_slice rest = skip_digits(unsigned_text);
    if (rest.size_bytes == unsigned_text.size_bytes)
        return false;
    if (rest.size_bytes > 0 && rest.data[0] == '.') {
        struct lh_slice fraction = without_sign(rest, ".");
        rest = skip_digits(fraction);
        if (rest.size_bytes == fraction.size_bytes)
            return false;
    }
    return rest.size_bytes == 0 || ((rest.data[0] == 'e' || rest.data[0] == 'E') &&
                                    all_digits(without_sign(without_sign(rest, "eE"), "+-")));
}

static bool parse_integer(struct lh_slice text, int64_t *ret)
{
    struct lh_slice positive = without_sign(text, "+");
    if (positive.size_bytes != text.size_bytes && !all_digits(positive))
        return false;
    return lh_i64_parse(positive, ret);
}

// Fills in a value from its text. NULL, or what is wrong.
static const char *read_text(struct lh_resp_value *value, struct lh_slice text)
{
    switch (value->type) {
    case LH_RESP_INTEGER:
        return parse_integer(text, &value->integer) ? NULL : "not an integer of 64 bits";
    case LH_RESP_BOOLEAN:
        value->integer = lh_slice_equal(text, LH_SLICE("t"));
        return value->integer == 1 || lh_slice_equal(text, LH_SLICE("f")) ? NULL : "not a boolean";
    case LH_RESP_DOUBLE: return is_double(text) ? NULL : "not a double";
    case LH_RESP_BIG_NUMBER: return is_big_number(text) ? NULL : "not a big number";
    case LH_RESP_NULL: return text.size_bytes == 0 ? NULL : "not a null";
    default: return NULL;
    }
}

// --- the three shapes of a value: line, blob, aggregate ---

// Cuts the line of a value, without its type and CR.
static enum lh_resp_result cut_line(struct lh_resp_reply_parser *parser, const uint8_t *buffer,
                                    size_t size_bytes, size_t most_bytes, struct lh_slice *ret)
{
    struct lh_slice line;
    enum lh_resp_result result =
        lh_resp_scan_line(&parser->scan, buffer, size_bytes, most_bytes, &line);
    if (result == LH_RESP_MALFORMED)
        return malformed(parser, "line too long");
    if (result == LH_RESP_NEED_MORE)
        return result;
    if (!lh_resp_trim_cr(&line))
        return malformed(parser, "line does not end in CR LF");
    *ret = lh_slice_of(line.data + 1, line.size_bytes - 1);
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result add_text(struct lh_resp_reply_parser *parser, enum lh_resp_type type,
                                    const uint8_t *buffer, struct lh_slice text)
{
    struct lh_resp_value hidden;
    struct lh_resp_value *value = add_value(parser, &hidden, type);
    const char *reason = read_text(value, text);
    if (reason != NULL)
        return malformed(parser, reason);
    value->text.size_bytes = text.size_bytes;
    value->offset = (size_t)(text.data - buffer);
    end_value(parser);
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result parse_line(struct lh_resp_reply_parser *parser, enum lh_resp_type type,
                                      const uint8_t *buffer, size_t size_bytes)
{
    struct lh_slice text;
    size_t most_bytes = parser->max_bytes - parser->scan.at - 1;
    enum lh_resp_result result = cut_line(parser, buffer, size_bytes, most_bytes, &text);
    if (result != LH_RESP_COMPLETE)
        return result;
    return add_text(parser, type, buffer, text);
}

// Reads a length or a count. COMPLETE with *ret_absent: it was -1, a null of version 2.
static enum lh_resp_result parse_count(struct lh_resp_reply_parser *parser, const uint8_t *buffer,
                                       size_t size_bytes, uint64_t *ret, bool *ret_absent)
{
    struct lh_slice text;
    enum lh_resp_result result =
        cut_line(parser, buffer, size_bytes, LH_RESP_HEADER_MAX_BYTES, &text);
    if (result != LH_RESP_COMPLETE)
        return result;
    if (parser->scan.at > parser->max_bytes)
        return malformed(parser, "reply too long");
    *ret_absent = lh_slice_equal(text, LH_SLICE("-1"));
    if (!*ret_absent && !lh_u64_parse(text, ret))
        return malformed(parser, "length is not a number from 0 up");
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result begin_blob(struct lh_resp_reply_parser *parser, uint8_t type,
                                      const uint8_t *buffer, size_t size_bytes)
{
    uint64_t length = 0;
    bool absent;
    enum lh_resp_result result = parse_count(parser, buffer, size_bytes, &length, &absent);
    if (result != LH_RESP_COMPLETE)
        return result;
    if (absent) {
        if (type != '$')
            return malformed(parser, "length is not a number from 0 up");
        return add_text(parser, LH_RESP_NULL, buffer, lh_slice_of(buffer, 0));
    }
    size_t left_bytes = parser->max_bytes - parser->scan.at;
    if (length > left_bytes || left_bytes - length < 2)
        return malformed(parser, "reply too long");
    parser->blob_type = type;
    parser->blob_bytes = (size_t)length;
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result finish_blob(struct lh_resp_reply_parser *parser, const uint8_t *buffer,
                                       size_t size_bytes)
{
    size_t end = parser->scan.at + parser->blob_bytes;
    if (size_bytes < end + 2)
        return LH_RESP_NEED_MORE;
    if (buffer[end] != '\r' || buffer[end + 1] != '\n')
        return malformed(parser, "string does not end in CR LF");
    struct lh_slice text = lh_slice_of(buffer + parser->scan.at, parser->blob_bytes);
    uint8_t type = parser->blob_type;
    parser->blob_type = 0;
    lh_resp_scan_to(&parser->scan, end + 2);
    if (type == '$')
        return add_text(parser, LH_RESP_BULK, buffer, text);
    if (type == '!')
        return add_text(parser, LH_RESP_ERROR, buffer, text);
    if (text.size_bytes < 4 || text.data[3] != ':')
        return malformed(parser, "verbatim string without its format");
    return add_text(parser, LH_RESP_VERBATIM, buffer,
                    lh_slice_of(text.data + 4, text.size_bytes - 4));
}

static enum lh_resp_result open_aggregate(struct lh_resp_reply_parser *parser,
                                          enum lh_resp_type type, uint64_t count, bool attribute)
{
    if (parser->depth == LH_RESP_DEPTH_MAX)
        return malformed(parser, "nested too deep");
    parser->open[parser->depth].left = count;
    parser->open[parser->depth].attribute = attribute;
    if (attribute) {
        parser->hidden++;
    } else {
        struct lh_resp_value hidden;
        uint32_t index = parser->used;
        struct lh_resp_value *value = add_value(parser, &hidden, type);
        if (parser->hidden == 0) {
            if (count > parser->capacity - parser->used - parser->promised)
                return malformed(parser, "too many values");
            parser->promised += (uint32_t)count;
        }
        value->child_count = (uint32_t)count;
        parser->open[parser->depth].value = index;
    }
    parser->depth++;
    if (count == 0) {
        parser->open[parser->depth - 1].left = 1; // as if one value came and ended it
        end_value(parser);
    }
    return LH_RESP_COMPLETE;
}

static enum lh_resp_result parse_aggregate(struct lh_resp_reply_parser *parser, uint8_t type_byte,
                                           const uint8_t *buffer, size_t size_bytes)
{
    uint64_t count = 0;
    bool absent;
    enum lh_resp_result result = parse_count(parser, buffer, size_bytes, &count, &absent);
    if (result != LH_RESP_COMPLETE)
        return result;
    if (absent) {
        if (type_byte != '*')
            return malformed(parser, "length is not a number from 0 up");
        return add_text(parser, LH_RESP_NULL, buffer, lh_slice_of(buffer, 0));
    }
    // The shortest value has three bytes. This also keeps a count far from where it could overflow.
    uint64_t most = (parser->max_bytes - parser->scan.at) / 3;
    bool pairs = type_byte == '%' || type_byte == '|';
    if (count > (pairs ? most / 2 : most) || count > UINT32_MAX / 2)
        return malformed(parser, "more values announced than a reply may hold");
    if (pairs)
        count *= 2;
    if (type_byte == '>' && parser->depth > 0)
        return malformed(parser, "push inside a reply");
    switch (type_byte) {
    case '*': return open_aggregate(parser, LH_RESP_ARRAY, count, false);
    case '%': return open_aggregate(parser, LH_RESP_MAP, count, false);
    case '~': return open_aggregate(parser, LH_RESP_SET, count, false);
    case '>': return open_aggregate(parser, LH_RESP_PUSH, count, false);
    default: return open_aggregate(parser, LH_RESP_NULL, count, true);
    }
}

// Understands the next line, blob header, blob or aggregate header.
static enum lh_resp_result parse_piece(struct lh_resp_reply_parser *parser, const uint8_t *buffer,
                                       size_t size_bytes)
{
    if (parser->blob_type != 0)
        return finish_blob(parser, buffer, size_bytes);
    if (parser->scan.at >= parser->max_bytes)
        return malformed(parser, "reply too long");
    if (parser->scan.at == size_bytes)
        return LH_RESP_NEED_MORE;
    uint8_t type = buffer[parser->scan.at];
    switch (type) {
    case '+': return parse_line(parser, LH_RESP_SIMPLE, buffer, size_bytes);
    case '-': return parse_line(parser, LH_RESP_ERROR, buffer, size_bytes);
    case ':': return parse_line(parser, LH_RESP_INTEGER, buffer, size_bytes);
    case '_': return parse_line(parser, LH_RESP_NULL, buffer, size_bytes);
    case '#': return parse_line(parser, LH_RESP_BOOLEAN, buffer, size_bytes);
    case ',': return parse_line(parser, LH_RESP_DOUBLE, buffer, size_bytes);
    case '(': return parse_line(parser, LH_RESP_BIG_NUMBER, buffer, size_bytes);
    case '$':
    case '!':
    case '=': return begin_blob(parser, type, buffer, size_bytes);
    case '*':
    case '%':
    case '~':
    case '|':
    case '>': return parse_aggregate(parser, type, buffer, size_bytes);
    default: return malformed(parser, "not a type of this protocol");
    }
}

enum lh_resp_result lh_resp_reply_parse(struct lh_resp_reply_parser *parser, const uint8_t *buffer,
                                        size_t size_bytes, size_t *ret_consumed_bytes)
{
    if (parser->reason != NULL)
        return LH_RESP_MALFORMED;
    while (!parser->whole) {
        enum lh_resp_result result = parse_piece(parser, buffer, size_bytes);
        if (result != LH_RESP_COMPLETE)
            return result;
    }
    for (uint32_t i = 0; i < parser->used; i++)
        parser->values[i].text.data = buffer + parser->values[i].offset;
    *ret_consumed_bytes = parser->scan.at;
    lh_resp_scan_to(&parser->scan, 0);
    parser->used = 0;
    parser->whole = false;
    return LH_RESP_COMPLETE;
}

// --- walking ---

const struct lh_resp_value *lh_resp_child(const struct lh_resp_value *value, size_t index)
{
    if (value == NULL || index >= value->child_count)
        return NULL;
    const struct lh_resp_value *child = value + 1;
    for (size_t i = 0; i < index; i++)
        child += child->span;
    return child;
}

const struct lh_resp_value *lh_resp_get(const struct lh_resp_value *map, const char *key)
{
    struct lh_slice wanted = lh_slice_of_string(key);
    if (!lh_resp_is(map, LH_RESP_MAP) && !lh_resp_is(map, LH_RESP_ARRAY))
        return NULL;
    const struct lh_resp_value *found = map + 1;
    for (uint32_t i = 0; i + 1 < map->child_count; i += 2) {
        const struct lh_resp_value *value = found + found->span;
        struct lh_slice text;
        if (lh_resp_as_text(found, &text) && lh_slice_equal(text, wanted))
            return value;
        found = value + value->span;
    }
    return NULL;
}

bool lh_resp_as_text(const struct lh_resp_value *value, struct lh_slice *ret)
{
    if (!lh_resp_is(value, LH_RESP_SIMPLE) && !lh_resp_is(value, LH_RESP_BULK) &&
        !lh_resp_is(value, LH_RESP_VERBATIM))
        return false;
    *ret = value->text;
    return true;
}

bool lh_resp_as_integer(const struct lh_resp_value *value, int64_t *ret)
{
    if (lh_resp_is(value, LH_RESP_INTEGER) || lh_resp_is(value, LH_RESP_BOOLEAN)) {
        *ret = value->integer;
        return true;
    }
    return (lh_resp_is(value, LH_RESP_SIMPLE) || lh_resp_is(value, LH_RESP_BULK)) &&
           lh_i64_parse(value->text, ret);
}
