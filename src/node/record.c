// --record: see record.h. Instants are nanoseconds of this node's clock; ballots are plain
// integers; names are their 32-digit hash, since that is all that the quorum knows.
#include "node/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "node/log.h"
#include "os/file.h"

static const char *message_name(enum lh_message_kind kind)
{
    switch (kind) {
    case LH_MESSAGE_PREPARE: return "prepare";
    case LH_MESSAGE_PROMISE: return "promise";
    case LH_MESSAGE_ACCEPT: return "accept";
    case LH_MESSAGE_ACCEPTED: return "accepted";
    case LH_MESSAGE_EXTEND: return "extend";
    case LH_MESSAGE_EXTENDED: return "extended";
    case LH_MESSAGE_REJECTED: return "rejected";
    case LH_MESSAGE_RELEASE: return "release";
    case LH_MESSAGE_WAKE: return "wake";
    case LH_MESSAGE_WAITS: return "waits";
    }
    return "unknown";
}

bool lh_record_open(struct lh_record *record, const char *path, uint8_t node,
                    struct lh_error *error)
{
    *record = (struct lh_record){.node = node};
    if (path[0] == '\0')
        return true;
    const char *reason = NULL;
    const int file = lh_file_open(path, O_WRONLY | O_CREAT | O_APPEND, &reason);
    if (file < 0)
        return lh_error_set(error, "cannot open record = %s: %s; name another file", path, reason);
    record->file = fdopen(file, "a");
    if (record->file != NULL)
        return true;
    close(file);
    return lh_error_set(error, "no memory for record = %s", path);
}

static void begin(struct lh_record *record, struct lh_instant now, const char *what)
{
    fprintf(record->file, "{\"node\":%u,\"n\":%" PRIu64 ",\"at\":%" PRId64 ",\"event\":\"%s\"",
            record->node, ++record->sequence, now.ns, what);
}

static void put_key(const struct lh_record *record, struct lh_key key)
{
    fprintf(record->file, ",\"key\":\"%016" PRIx64 "%016" PRIx64 "\"", key.word[0], key.word[1]);
}

static void put_number(const struct lh_record *record, const char *name, uint64_t value)
{
    if (value != 0)
        fprintf(record->file, ",\"%s\":%" PRIu64, name, value);
}

static void put_text(const struct lh_record *record, const char *name, struct lh_slice text)
{
    uint8_t escaped[6 * 255 + 3];
    struct lh_writer writer = lh_writer_of(escaped, sizeof escaped);
    lh_json_string(&writer, text);
    if (text.size_bytes == 0 || writer.failed)
        return;
    fprintf(record->file, ",\"%s\":%.*s", name, (int)lh_writer_size_bytes(&writer),
            (const char *)escaped);
}

static void finish(const struct lh_record *record)
{
    fputs("}\n", record->file);
}

void lh_record_event(struct lh_record *record, struct lh_instant now, const struct lh_event *event)
{
    if (record->file == NULL)
        return;
    begin(record, now, lh_event_name(event->kind));
    put_number(record, "peer", event->peer);
    put_number(record, "generation", event->generation);
    put_number(record, "number", event->number);
    if (event->ballot != LH_BALLOT_NONE) {
        put_key(record, event->key);
        put_number(record, "token", event->ballot);
        put_number(record, "until", (uint64_t)event->at.ns);
    }
    put_text(record, "name", event->name);
    put_text(record, "holder", event->holder);
    if (event->text != NULL)
        put_text(record, "text", lh_slice_of_string(event->text));
    finish(record);
}

void lh_record_message(struct lh_record *record, struct lh_instant now,
                       const struct lh_trace *trace)
{
    if (record->file == NULL)
        return;
    const struct lh_message *message = &trace->message;
    begin(record, now, trace->received ? "receive" : "send");
    put_number(record, trace->received ? "from" : "to", trace->peer);
    fprintf(record->file, ",\"kind\":\"%s\"", message_name(message->kind));
    put_key(record, message->key);
    put_number(record, "ballot", message->ballot);
    put_number(record, "base", message->base);
    put_number(record, "promised", message->promised);
    put_number(record, "reported", message->reported);
    put_number(record, "stamp", message->stamp);
    put_number(record, "ttl_ns", (uint64_t)message->ttl.ns);
    put_number(record, "exclusion_ns", (uint64_t)message->exclusion.ns);
    if (message->kind == LH_MESSAGE_REJECTED)
        fprintf(record->file, ",\"refused\":\"%s\"", message_name(message->refused));
    finish(record);
}

void lh_record_flush(struct lh_record *record)
{
    if (record->file == NULL)
        return;
    if ((fflush(record->file) != 0 || ferror(record->file) != 0) && !record->failed) {
        record->failed = true;
        lh_log(LH_LOG_ERROR, "record-failed", "reason=%s", strerror(errno));
    }
}

void lh_record_close(struct lh_record *record)
{
    if (record->file != NULL)
        fclose(record->file);
    record->file = NULL;
}
