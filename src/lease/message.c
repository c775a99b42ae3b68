// The wire form of lease messages: kind, length, body; see docs/wire.md. Integers are little
// endian, durations that people chose travel as whole milliseconds, measured ones as nanoseconds.
#include "lease/message.h"

#include "lease/timing.h"

const char *lh_message_name(enum lh_message_kind kind)
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

static void write_ms(struct lh_writer *writer, struct lh_duration span)
{
    int64_t ms = span.ns / LH_NS_PER_MS;
    lh_writer_u32(writer, ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms);
}

static void write_body(struct lh_writer *writer, const struct lh_message *message)
{
    lh_key_write(writer, message->key);
    if (message->kind == LH_MESSAGE_WAKE) {
        lh_writer_u8(writer, message->rank);
        return;
    }
    if (message->kind == LH_MESSAGE_WAITS)
        return;
    lh_writer_u64(writer, message->ballot);
    switch (message->kind) {
    case LH_MESSAGE_PREPARE:
        write_ms(writer, message->ttl);
        write_ms(writer, message->waited);
        break;
    case LH_MESSAGE_PROMISE:
        lh_writer_u64(writer, message->reported);
        lh_writer_u64(writer, (uint64_t)message->exclusion.ns);
        break;
    case LH_MESSAGE_ACCEPT:
        lh_writer_u64(writer, message->base);
        write_ms(writer, message->ttl);
        break;
    case LH_MESSAGE_EXTEND:
        lh_writer_u64(writer, message->stamp);
        write_ms(writer, message->ttl);
        break;
    case LH_MESSAGE_EXTENDED: lh_writer_u64(writer, message->stamp); break;
    case LH_MESSAGE_REJECTED:
        lh_writer_u8(writer, (uint8_t)message->refused);
        lh_writer_u64(writer, message->stamp);
        lh_writer_u64(writer, message->promised);
        lh_writer_u64(writer, message->reported);
        lh_writer_u64(writer, (uint64_t)message->exclusion.ns);
        break;
    case LH_MESSAGE_ACCEPTED:
    case LH_MESSAGE_RELEASE:
    case LH_MESSAGE_WAKE:
    case LH_MESSAGE_WAITS: break;
    }
}

void lh_message_encode(struct lh_writer *writer, const struct lh_message *message)
{
    lh_writer_u8(writer, (uint8_t)message->kind);
    uint8_t *length = lh_writer_take(writer, 2);
    size_t before = lh_writer_size_bytes(writer);
    write_body(writer, message);
    if (!writer->failed)
        lh_store_u16(length, (uint16_t)(lh_writer_size_bytes(writer) - before));
}

static struct lh_duration read_ms(struct lh_reader *reader)
{
    return lh_ms(lh_reader_u32(reader));
}

// A ballot that must be there, and one that may be absent.
static lh_ballot read_ballot(struct lh_reader *reader)
{
    lh_ballot ballot = lh_reader_u64(reader);
    if (!lh_ballot_valid(ballot))
        lh_reader_fail(reader);
    return ballot;
}

static lh_ballot read_ballot_or_none(struct lh_reader *reader)
{
    lh_ballot ballot = lh_reader_u64(reader);
    if (ballot > LH_BALLOT_MAX)
        lh_reader_fail(reader);
    return ballot;
}

// No exclusion is longer than that of the greatest TTL at the greatest rate error.
static struct lh_duration read_exclusion(struct lh_reader *reader)
{
    uint64_t ns = lh_reader_u64(reader);
    if (ns > (uint64_t)LH_TTL_MAX_MS * LH_NS_PER_MS * 2)
        lh_reader_fail(reader);
    return (struct lh_duration){(int64_t)ns};
}

static uint64_t read_stamp(struct lh_reader *reader)
{
    uint64_t stamp = lh_reader_u64(reader);
    if (stamp > INT64_MAX)
        lh_reader_fail(reader);
    return stamp;
}

static enum lh_message_kind read_refused(struct lh_reader *reader)
{
    uint8_t kind = lh_reader_u8(reader);
    if (kind != LH_MESSAGE_PREPARE && kind != LH_MESSAGE_ACCEPT && kind != LH_MESSAGE_EXTEND)
        lh_reader_fail(reader);
    return (enum lh_message_kind)kind;
}

static void read_body(struct lh_reader *reader, struct lh_message *message)
{
    message->key = lh_key_read(reader);
    if (message->kind == LH_MESSAGE_WAKE) {
        message->rank = lh_reader_u8(reader);
        return;
    }
    if (message->kind == LH_MESSAGE_WAITS)
        return;
    message->ballot = read_ballot(reader);
    switch (message->kind) {
    case LH_MESSAGE_PREPARE:
        message->ttl = read_ms(reader);
        message->waited = read_ms(reader);
        break;
    case LH_MESSAGE_PROMISE:
        message->reported = read_ballot_or_none(reader);
        message->exclusion = read_exclusion(reader);
        break;
    case LH_MESSAGE_ACCEPT:
        message->base = read_ballot_or_none(reader);
        message->ttl = read_ms(reader);
        break;
    case LH_MESSAGE_EXTEND:
        message->stamp = read_stamp(reader);
        message->ttl = read_ms(reader);
        break;
    case LH_MESSAGE_EXTENDED: message->stamp = read_stamp(reader); break;
    case LH_MESSAGE_REJECTED:
        message->refused = read_refused(reader);
        message->stamp = read_stamp(reader);
        message->promised = read_ballot_or_none(reader);
        message->reported = read_ballot_or_none(reader);
        message->exclusion = read_exclusion(reader);
        break;
    case LH_MESSAGE_ACCEPTED:
    case LH_MESSAGE_RELEASE:
    case LH_MESSAGE_WAKE:
    case LH_MESSAGE_WAITS: break;
    }
}

bool lh_message_decode(enum lh_message_kind kind, struct lh_slice body,
                       struct lh_message *ret_message)
{
    if (kind < LH_MESSAGE_PREPARE || kind > LH_MESSAGE_LEASE_LAST)
        return false;
    struct lh_reader reader = lh_reader_of(body);
    struct lh_message message = {.kind = kind};
    read_body(&reader, &message);
    if (!lh_reader_done(&reader))
        return false;
    *ret_message = message;
    return true;
}
