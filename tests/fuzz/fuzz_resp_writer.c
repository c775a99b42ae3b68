// The input says which values to write. In either version the reply parser must read every one of
// them back, with what it was given, and must find nothing else.
#include "base/resp_writer.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/resp_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void is_line_of(struct lh_slice line, struct lh_slice text)
{
    LH_ASSERT(line.size_bytes == text.size_bytes);
    for (size_t i = 0; i < text.size_bytes; i++) {
        bool control = text.data[i] < 0x20 || text.data[i] == 0x7f;
        LH_ASSERT(line.data[i] == (control ? ' ' : text.data[i]));
    }
}

struct choice {
    unsigned kind;
    int64_t integer;
    struct lh_slice text;
};

static void write_choice(struct lh_writer *writer, enum lh_resp_protocol protocol,
                         const struct choice *choice)
{
    switch (choice->kind) {
    case 0: lh_resp_write_simple(writer, choice->text); break;
    case 1: lh_resp_write_error(writer, choice->text); break;
    case 2: lh_resp_write_integer(writer, choice->integer); break;
    case 3: lh_resp_write_bulk(writer, choice->text); break;
    case 4: lh_resp_write_verbatim(writer, protocol, choice->text); break;
    default: lh_resp_write_null(writer, protocol); break;
    }
}

static void check_choice(const struct lh_resp_value *value, const struct choice *choice)
{
    switch (choice->kind) {
    case 0:
        LH_ASSERT(value->type == LH_RESP_SIMPLE);
        is_line_of(value->text, choice->text);
        break;
    case 1:
        LH_ASSERT(value->type == LH_RESP_ERROR);
        is_line_of(value->text, choice->text);
        break;
    case 2: LH_ASSERT(value->type == LH_RESP_INTEGER && value->integer == choice->integer); break;
    case 3:
    case 4: LH_ASSERT(lh_slice_equal(value->text, choice->text)); break;
    default: LH_ASSERT(value->type == LH_RESP_NULL); break;
    }
}

static void write_and_read(enum lh_resp_protocol protocol, const struct choice *choice)
{
    size_t room_bytes = choice->text.size_bytes + 64;
    uint8_t *buffer = malloc(room_bytes);
    struct lh_resp_value values[3];
    struct lh_resp_reply_parser parser;
    size_t consumed_bytes = 0;

    LH_ASSERT(buffer != NULL);
    struct lh_writer writer = lh_writer_of(buffer, room_bytes);
    lh_resp_write_map(&writer, protocol, 1);
    lh_resp_write_text(&writer, "k");
    write_choice(&writer, protocol, choice);
    LH_ASSERT(!writer.failed);
    lh_resp_reply_parser_init(&parser, values, 3, room_bytes);
    LH_ASSERT(lh_resp_reply_parse(&parser, buffer, lh_writer_size_bytes(&writer),
                                  &consumed_bytes) == LH_RESP_COMPLETE);
    LH_ASSERT(consumed_bytes == lh_writer_size_bytes(&writer));
    const struct lh_resp_value *value = lh_resp_get(values, "k");
    LH_ASSERT(value != NULL);
    check_choice(value, choice);
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lh_reader reader = lh_reader_of(lh_slice_of(bytes, size_bytes));
    while (lh_reader_left_bytes(&reader) > 0) {
        struct choice choice = {.kind = lh_reader_u8(&reader) % 6};
        choice.integer = (int64_t)lh_reader_u64(&reader);
        choice.text = lh_reader_slice_u8(&reader);
        write_and_read(LH_RESP2, &choice);
        write_and_read(LH_RESP3, &choice);
    }
    return 0;
}
