// See recorder.h. Instants are nanoseconds of this node's clock; ballots are plain integers; names
// are their 32-digit hash, since that is all that the quorum knows.
#include "host/recorder.h"

#include "base/text.h"

static void put_key(struct lh_writer *writer, struct lh_key key)
{
    uint8_t bytes[16];
    char digits[2 * sizeof bytes + 1];
    for (unsigned i = 0; i < sizeof bytes; i++) // the greatest digit first
        bytes[i] = (uint8_t)(key.word[i / 8] >> (56 - 8 * (i % 8)));
    lh_hex_encode(bytes, sizeof bytes, digits);
    lh_writer_string(writer, ",\"key\":\"");
    lh_writer_string(writer, digits);
    lh_writer_string(writer, "\"");
}

static void put_name(struct lh_writer *writer, const char *name)
{
    lh_writer_string(writer, ",\"");
    lh_writer_string(writer, name);
    lh_writer_string(writer, "\":");
}

static void put_number(struct lh_writer *writer, const char *name, uint64_t value)
{
    if (value == 0)
        return;
    put_name(writer, name);
    lh_u64_write(writer, value);
}

static void put_text(struct lh_writer *writer, const char *name, struct lh_slice text)
{
    if (text.size_bytes == 0)
        return;
    put_name(writer, name);
    lh_json_string(writer, text);
}

static void begin(struct lh_recorder *recorder, struct lh_writer *writer, struct lh_instant now,
                  const char *what)
{
    lh_writer_string(writer, "{\"node\":");
    lh_u64_write(writer, recorder->node);
    put_name(writer, "n");
    lh_u64_write(writer, ++recorder->sequence);
    put_name(writer, "at");
    lh_i64_write(writer, now.ns);
    put_text(writer, "event", lh_slice_of_string(what));
}

void lh_recorder_event(struct lh_recorder *recorder, struct lh_instant now,
                       const struct lh_event *event, struct lh_writer *writer)
{
    begin(recorder, writer, now, lh_event_name(event->kind));
    put_number(writer, "peer", event->peer);
    put_number(writer, "generation", event->generation);
    put_number(writer, "number", event->number);
    if (event->ballot != LH_BALLOT_NONE) {
        put_key(writer, event->key);
        put_number(writer, "token", event->ballot);
        put_number(writer, "until", (uint64_t)event->at.ns);
    }
    put_text(writer, "name", event->name);
    put_text(writer, "holder", event->holder);
    if (event->text != NULL)
        put_text(writer, "text", lh_slice_of_string(event->text));
    lh_writer_string(writer, "}\n");
}

void lh_recorder_message(struct lh_recorder *recorder, struct lh_instant now,
                         const struct lh_trace *trace, struct lh_writer *writer)
{
    const struct lh_message *message = &trace->message;
    begin(recorder, writer, now, trace->received ? "receive" : trace->held ? "hold" : "send");
    put_number(writer, trace->received ? "from" : "to", trace->peer);
    if (trace->made.ns != now.ns)
        put_number(writer, "made_at", (uint64_t)trace->made.ns);
    put_text(writer, "kind", lh_slice_of_string(lh_message_name(message->kind)));
    put_key(writer, message->key);
    put_number(writer, "ballot", message->ballot);
    put_number(writer, "base", message->base);
    put_number(writer, "promised", message->promised);
    put_number(writer, "reported", message->reported);
    put_number(writer, "stamp", message->stamp);
    put_number(writer, "ttl_ns", (uint64_t)message->ttl.ns);
    put_number(writer, "exclusion_ns", (uint64_t)message->exclusion.ns);
    if (message->kind == LH_MESSAGE_REJECTED)
        put_text(writer, "refused", lh_slice_of_string(lh_message_name(message->refused)));
    lh_writer_string(writer, "}\n");
}
