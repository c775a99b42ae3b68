// The wire form of headers and host messages: see protocol.h and docs/wire.md.
#include "host/protocol.h"

#include "lease/timing.h"

#define SPAN_MAX_NS ((uint64_t)INT64_MAX / 4) // no span that a node states is longer: seventy years

void lh_header_write(struct lh_writer *writer, const struct lh_header *header)
{
    lh_writer_u32(writer, header->member_epoch);
    lh_writer_u64(writer, header->members_tag);
    lh_writer_u64(writer, header->start);
    lh_writer_u64(writer, header->boot);
    lh_writer_u64(writer, header->echo_boot);
    lh_writer_u64(writer, header->stamp);
    lh_writer_u64(writer, header->echo_stamp);
    lh_writer_u64(writer, header->echo_held);
    lh_writer_u64(writer, header->counter);
    lh_writer_u32(writer, header->max_ttl_ms);
    lh_writer_u32(writer, header->rate_ppm);
}

void lh_header_read(struct lh_reader *reader, struct lh_header *ret_header)
{
    ret_header->member_epoch = lh_reader_u32(reader);
    ret_header->members_tag = lh_reader_u64(reader);
    ret_header->start = lh_reader_u64(reader);
    ret_header->boot = lh_reader_u64(reader);
    ret_header->echo_boot = lh_reader_u64(reader);
    ret_header->stamp = lh_reader_u64(reader);
    ret_header->echo_stamp = lh_reader_u64(reader);
    ret_header->echo_held = lh_reader_u64(reader);
    ret_header->counter = lh_reader_u64(reader);
    ret_header->max_ttl_ms = lh_reader_u32(reader);
    ret_header->rate_ppm = lh_reader_u32(reader);
    if (ret_header->stamp > INT64_MAX || ret_header->echo_stamp > INT64_MAX ||
        ret_header->echo_held > INT64_MAX || ret_header->counter > LH_COUNTER_MAX)
        lh_reader_fail(reader);
}

static void write_span(struct lh_writer *writer, struct lh_duration span)
{
    lh_writer_u64(writer, (uint64_t)span.ns);
}

static struct lh_duration read_span(struct lh_reader *reader)
{
    uint64_t ns = lh_reader_u64(reader);
    if (ns > SPAN_MAX_NS)
        lh_reader_fail(reader);
    return (struct lh_duration){(int64_t)ns};
}

static lh_ballot read_ballot(struct lh_reader *reader)
{
    lh_ballot ballot = lh_reader_u64(reader);
    if (ballot > LH_BALLOT_MAX)
        lh_reader_fail(reader);
    return ballot;
}

static bool read_flag(struct lh_reader *reader)
{
    uint8_t flag = lh_reader_u8(reader);
    if (flag > 1)
        lh_reader_fail(reader);
    return flag == 1;
}

void lh_entry_write(struct lh_writer *writer, const struct lh_entry *entry)
{
    lh_writer_slice_u8(writer, entry->name);
    lh_writer_slice_u8(writer, entry->holder);
    lh_writer_u64(writer, entry->token);
    lh_writer_u8(writer, entry->node);
    lh_writer_u32(writer, entry->renewals);
    write_span(writer, entry->remaining);
    write_span(writer, entry->age);
    write_span(writer, entry->renewed_ago);
    write_span(writer, entry->ttl);
    lh_writer_u8(writer, entry->revoked);
}

void lh_entry_read(struct lh_reader *reader, struct lh_entry *ret_entry)
{
    ret_entry->name = lh_reader_slice_u8(reader);
    ret_entry->holder = lh_reader_slice_u8(reader);
    ret_entry->token = read_ballot(reader);
    ret_entry->node = lh_reader_u8(reader);
    ret_entry->renewals = lh_reader_u32(reader);
    ret_entry->remaining = read_span(reader);
    ret_entry->age = read_span(reader);
    ret_entry->renewed_ago = read_span(reader);
    ret_entry->ttl = read_span(reader);
    ret_entry->revoked = read_flag(reader);
}

static void write_body(struct lh_writer *writer, const struct lh_host_message *message)
{
    switch (message->kind) {
    case LH_HOST_PING: break;
    case LH_HOST_ASK: lh_writer_bytes(writer, message->directory, 16); break;
    case LH_HOST_KNOWN:
        lh_writer_u8(writer, message->generation);
        lh_writer_u64(writer, message->reservation);
        break;
    case LH_HOST_ANNOUNCE:
        lh_writer_u8(writer, message->generation);
        lh_writer_bytes(writer, message->directory, 16);
        break;
    case LH_HOST_RECORDED: lh_writer_u8(writer, message->generation); break;
    case LH_HOST_REFUSAL:
        lh_writer_u8(writer, message->reason);
        lh_writer_u64(writer, message->nonce);
        break;
    case LH_HOST_QUERY:
        lh_writer_u64(writer, message->nonce);
        lh_key_write(writer, message->key);
        break;
    case LH_HOST_STATE:
        lh_writer_u64(writer, message->nonce);
        lh_key_write(writer, message->key);
        lh_writer_u8(writer, message->serving);
        lh_writer_u64(writer, message->ballot);
        write_span(writer, message->exclusion);
        lh_writer_u8(writer, message->owner);
        if (message->owner)
            lh_entry_write(writer, &message->entry);
        break;
    case LH_HOST_CALL:
        lh_writer_u64(writer, message->nonce);
        lh_writer_u8(writer, message->call);
        write_span(writer, message->timeout);
        lh_entry_write(writer, &message->entry);
        break;
    case LH_HOST_RETURN:
        lh_writer_u64(writer, message->nonce);
        lh_writer_u8(writer, message->call);
        lh_writer_u8(writer, message->reason);
        lh_writer_u64(writer, (uint64_t)message->until_ns);
        lh_entry_write(writer, &message->entry);
        break;
    case LH_HOST_PAGE_ASK:
        lh_writer_u64(writer, message->nonce);
        lh_writer_u32(writer, message->position);
        lh_writer_slice_u8(writer, message->text);
        break;
    case LH_HOST_PAGE:
        lh_writer_u64(writer, message->nonce);
        lh_writer_u32(writer, message->position);
        lh_writer_u8(writer, message->count);
        lh_writer_slice_bytes(writer, message->text);
        break;
    }
}

void lh_host_message_encode(struct lh_writer *writer, const struct lh_host_message *message)
{
    lh_writer_u8(writer, (uint8_t)message->kind);
    uint8_t *length = lh_writer_take(writer, 2);
    size_t before = lh_writer_size_bytes(writer);
    write_body(writer, message);
    if (!writer->failed)
        lh_store_u16(length, (uint16_t)(lh_writer_size_bytes(writer) - before));
}

static void read_body(struct lh_reader *reader, struct lh_host_message *message)
{
    switch (message->kind) {
    case LH_HOST_PING: break;
    case LH_HOST_ASK: lh_reader_bytes(reader, message->directory, 16); break;
    case LH_HOST_KNOWN:
        message->generation = lh_reader_u8(reader);
        message->reservation = lh_reader_u64(reader);
        if (message->reservation > LH_COUNTER_MAX)
            lh_reader_fail(reader);
        break;
    case LH_HOST_ANNOUNCE:
        message->generation = lh_reader_u8(reader);
        lh_reader_bytes(reader, message->directory, 16);
        break;
    case LH_HOST_RECORDED: message->generation = lh_reader_u8(reader); break;
    case LH_HOST_REFUSAL:
        message->reason = lh_reader_u8(reader);
        message->nonce = lh_reader_u64(reader);
        break;
    case LH_HOST_QUERY:
        message->nonce = lh_reader_u64(reader);
        message->key = lh_key_read(reader);
        break;
    case LH_HOST_STATE:
        message->nonce = lh_reader_u64(reader);
        message->key = lh_key_read(reader);
        message->serving = read_flag(reader);
        message->ballot = read_ballot(reader);
        message->exclusion = read_span(reader);
        message->owner = read_flag(reader);
        if (message->owner)
            lh_entry_read(reader, &message->entry);
        break;
    case LH_HOST_CALL:
        message->nonce = lh_reader_u64(reader);
        message->call = lh_reader_u8(reader);
        message->timeout = read_span(reader);
        lh_entry_read(reader, &message->entry);
        break;
    case LH_HOST_RETURN:
        message->nonce = lh_reader_u64(reader);
        message->call = lh_reader_u8(reader);
        message->reason = lh_reader_u8(reader);
        message->until_ns = (int64_t)lh_reader_u64(reader);
        lh_entry_read(reader, &message->entry);
        break;
    case LH_HOST_PAGE_ASK:
        message->nonce = lh_reader_u64(reader);
        message->position = lh_reader_u32(reader);
        message->text = lh_reader_slice_u8(reader);
        break;
    case LH_HOST_PAGE:
        message->nonce = lh_reader_u64(reader);
        message->position = lh_reader_u32(reader);
        message->count = lh_reader_u8(reader);
        message->text = lh_reader_slice(reader, lh_reader_left_bytes(reader));
        break;
    }
}

bool lh_host_message_decode(enum lh_host_message_kind kind, struct lh_slice body,
                            struct lh_host_message *ret_message)
{
    if (kind < LH_HOST_PING || kind > LH_HOST_MESSAGE_LAST)
        return false;
    struct lh_reader reader = lh_reader_of(body);
    struct lh_host_message message = {.kind = kind};
    read_body(&reader, &message);
    if (!lh_reader_done(&reader))
        return false;
    *ret_message = message;
    return true;
}
