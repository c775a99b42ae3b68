// Writes RESP values; which form each takes in which version is in the header.
#include "base/resp_writer.h"

#include "base/assert.h"
#include "base/text.h"

static void write_crlf(struct lh_writer *writer)
{
    lh_writer_bytes(writer, "\r\n", 2);
}

// One type byte and one integer: every header, and integers themselves. Built apart, so that the
// writer is asked for room once.
static void write_header(struct lh_writer *writer, char type, int64_t value)
{
    char line[1 + LH_INTEGER_TEXT_BYTES + 2];
    line[0] = type;
    size_t size_bytes = 1 + lh_i64_format(value, line + 1);
    line[size_bytes++] = '\r';
    line[size_bytes++] = '\n';
    lh_writer_bytes(writer, line, size_bytes);
}

static void write_count(struct lh_writer *writer, char type, size_t count)
{
    LH_ASSERT(count <= INT64_MAX / 2);
    write_header(writer, type, (int64_t)count);
}

static void write_line(struct lh_writer *writer, uint8_t type, struct lh_slice text)
{
    lh_writer_u8(writer, type);
    uint8_t *at = lh_writer_take(writer, text.size_bytes);
    for (size_t i = 0; at != NULL && i < text.size_bytes; i++) {
        uint8_t byte = text.data[i];
        at[i] = (uint8_t)(byte < 0x20 || byte == 0x7f ? ' ' : byte);
    }
    write_crlf(writer);
}

void lh_resp_write_simple(struct lh_writer *writer, struct lh_slice text)
{
    write_line(writer, '+', text);
}

void lh_resp_write_error(struct lh_writer *writer, struct lh_slice text)
{
    write_line(writer, '-', text);
}

void lh_resp_write_integer(struct lh_writer *writer, int64_t value)
{
    write_header(writer, ':', value);
}

void lh_resp_write_bulk(struct lh_writer *writer, struct lh_slice bytes)
{
    write_count(writer, '$', bytes.size_bytes);
    lh_writer_slice_bytes(writer, bytes);
    write_crlf(writer);
}

void lh_resp_write_text(struct lh_writer *writer, const char *text)
{
    lh_resp_write_bulk(writer, lh_slice_of_string(text));
}

void lh_resp_write_verbatim(struct lh_writer *writer, enum lh_resp_protocol protocol,
                            struct lh_slice text)
{
    if (protocol == LH_RESP2) {
        lh_resp_write_bulk(writer, text);
        return;
    }
    write_count(writer, '=', text.size_bytes + 4);
    lh_writer_string(writer, "txt:");
    lh_writer_slice_bytes(writer, text);
    write_crlf(writer);
}

void lh_resp_write_null(struct lh_writer *writer, enum lh_resp_protocol protocol)
{
    lh_writer_string(writer, protocol == LH_RESP2 ? "$-1\r\n" : "_\r\n");
}

void lh_resp_write_array(struct lh_writer *writer, size_t count)
{
    write_count(writer, '*', count);
}

void lh_resp_write_map(struct lh_writer *writer, enum lh_resp_protocol protocol, size_t pairs)
{
    if (protocol == LH_RESP2)
        write_count(writer, '*', pairs * 2);
    else
        write_count(writer, '%', pairs);
}

void lh_resp_write_set(struct lh_writer *writer, enum lh_resp_protocol protocol, size_t count)
{
    write_count(writer, protocol == LH_RESP2 ? '*' : '~', count);
}

void lh_resp_write_push(struct lh_writer *writer, enum lh_resp_protocol protocol, size_t count)
{
    write_count(writer, protocol == LH_RESP2 ? '*' : '>', count);
}
