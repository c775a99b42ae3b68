// See stream.h. Every connection speaks RESP3, in which a map is a map; the greeting travels with
// the first request.
#include "client/stream.h"

#include <stdio.h>
#include <string.h>

static const char greeting[] = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
_Static_assert(sizeof greeting - 1 == LH_STREAM_GREETING_BYTES, "the greeting's size is public");

static void expect_reply(struct lh_stream *stream)
{
    lh_resp_reply_parser_init(&stream->parser, stream->values, stream->value_count,
                              stream->reply_bytes_most);
}

void lh_stream_init(struct lh_stream *stream, uint8_t *out, size_t out_room, uint8_t *in,
                    size_t in_room, struct lh_resp_value *values, uint32_t value_count,
                    size_t reply_bytes_most)
{
    *stream = (struct lh_stream){
        .out = out,
        .out_room = out_room,
        .in = in,
        .in_room = in_room,
        .values = values,
        .value_count = value_count,
        .reply_bytes_most = reply_bytes_most,
    };
    lh_stream_reset(stream);
}

void lh_stream_reset(struct lh_stream *stream)
{
    stream->out_size = stream->out_done = 0;
    stream->in_size = 0;
    stream->greeted = false;
    stream->stamped = false;
    stream->state = LH_STREAM_QUIET;
    stream->reason[0] = '\0';
    expect_reply(stream);
}

size_t lh_stream_request_bytes(const char *const *words, size_t count)
{
    size_t wanted = LH_STREAM_GREETING_BYTES + LH_RESP_HEADER_MAX_BYTES;
    for (size_t i = 0; i < count; i++)
        wanted += strlen(words[i]) + 2 * LH_RESP_HEADER_MAX_BYTES;
    return wanted;
}

bool lh_stream_begin(struct lh_stream *stream, const char *const *words, size_t count)
{
    struct lh_writer writer = lh_writer_of(stream->out, stream->out_room);
    if (!stream->greeted)
        lh_writer_string(&writer, greeting);
    lh_resp_write_array(&writer, count);
    for (size_t i = 0; i < count; i++)
        lh_resp_write_text(&writer, words[i]);
    if (writer.failed)
        return false;
    stream->out_size = lh_writer_size_bytes(&writer);
    stream->out_done = 0;
    stream->in_size = 0;
    stream->stamped = false;
    stream->state = LH_STREAM_WAITING;
    expect_reply(stream);
    return true;
}

struct lh_slice lh_stream_output(struct lh_stream *stream, struct lh_instant now)
{
    if (!lh_stream_has_output(stream))
        return lh_slice_of(NULL, 0);
    if (!stream->stamped)
        stream->sent = now;
    stream->stamped = true;
    return lh_slice_of(stream->out + stream->out_done, stream->out_size - stream->out_done);
}

void lh_stream_wrote(struct lh_stream *stream, size_t size_bytes)
{
    stream->out_done += size_bytes;
}

uint8_t *lh_stream_input(struct lh_stream *stream, size_t *ret_room)
{
    *ret_room = stream->in_room - stream->in_size;
    return stream->in + stream->in_size;
}

static enum lh_stream_state broken(struct lh_stream *stream, const char *what, const char *why)
{
    snprintf(stream->reason, sizeof stream->reason, "%s%s%s", what, why[0] != '\0' ? ": " : "",
             why);
    stream->state = LH_STREAM_BROKEN;
    return LH_STREAM_BROKEN;
}

static enum lh_stream_state refused_greeting(struct lh_stream *stream, struct lh_slice text)
{
    char why[100];
    size_t size = text.size_bytes < sizeof why - 1 ? text.size_bytes : sizeof why - 1;
    if (size > 0)
        memcpy(why, text.data, size);
    why[size] = '\0';
    return broken(stream, "the server refused HELLO 3", why);
}

// One reply is complete at the front of `in`. WAITING: it was the greeting's, or not an answer at
// all.
static enum lh_stream_state take_reply(struct lh_stream *stream, size_t consumed)
{
    const struct lh_resp_value *reply = &stream->values[0];
    bool unasked = reply->type == LH_RESP_PUSH;
    if (!unasked && stream->greeted) {
        if (stream->in_size > consumed)
            return broken(stream, "more than one answer came to one request", "");
        if (lh_stream_has_output(stream))
            return broken(stream, "an answer came before the request was sent", "");
        stream->state = LH_STREAM_ANSWERED;
        stream->in_size = 0; // the bytes stay where they are until the next request
        return LH_STREAM_ANSWERED;
    }
    if (!unasked && reply->type == LH_RESP_ERROR)
        return refused_greeting(stream, reply->text);
    stream->greeted = stream->greeted || !unasked;
    memmove(stream->in, stream->in + consumed, stream->in_size - consumed);
    stream->in_size -= consumed;
    expect_reply(stream);
    return LH_STREAM_WAITING;
}

enum lh_stream_state lh_stream_received(struct lh_stream *stream, size_t size_bytes)
{
    if (size_bytes > 0 && stream->state != LH_STREAM_WAITING)
        return broken(stream, "something came that nobody asked for", "");
    stream->in_size += size_bytes;
    while (stream->in_size > 0) {
        size_t consumed = 0;
        switch (lh_resp_reply_parse(&stream->parser, stream->in, stream->in_size, &consumed)) {
        case LH_RESP_NEED_MORE: return stream->state;
        case LH_RESP_MALFORMED:
            return broken(stream, "what answers does not speak this protocol",
                          stream->parser.reason);
        case LH_RESP_COMPLETE: break;
        }
        enum lh_stream_state state = take_reply(stream, consumed);
        if (state != LH_STREAM_WAITING)
            return state;
    }
    return stream->state;
}
