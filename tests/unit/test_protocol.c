// Headers and host messages on the wire: what was written is read back, and nothing that cannot be
// is taken.
#include "host/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN_MAX (INT64_MAX / 4)

static struct lh_entry some_entry(void)
{
    return (struct lh_entry){.name = LH_SLICE("name"),
                             .holder = LH_SLICE("holder"),
                             .token = LH_BALLOT_MAX,
                             .node = 255,
                             .renewals = UINT32_MAX,
                             .remaining = {1},
                             .age = {2},
                             .renewed_ago = {SPAN_MAX},
                             .ttl = {4},
                             .revoked = true};
}

static struct lh_host_message some_message(enum lh_host_message_kind kind)
{
    return (struct lh_host_message){.kind = kind,
                                    .generation = 7,
                                    .directory = "0123456789abcde",
                                    .reservation = LH_COUNTER_MAX,
                                    .reason = 3,
                                    .nonce = UINT64_MAX,
                                    .key = {{1, UINT64_MAX}},
                                    .serving = true,
                                    .ballot = LH_BALLOT_MAX,
                                    .exclusion = {SPAN_MAX},
                                    .owner = true,
                                    .entry = some_entry(),
                                    .call = 2,
                                    .timeout = {9},
                                    .until_ns = -5,
                                    .position = UINT32_MAX,
                                    .count = 3,
                                    .text = LH_SLICE("prefix")};
}

static size_t encode(const struct lh_host_message *message, uint8_t bytes[2048])
{
    struct lh_writer writer = lh_writer_of(bytes, 2048);
    lh_host_message_encode(&writer, message);
    assert_false(writer.failed);
    size_t size = lh_writer_size_bytes(&writer);
    assert_int_equal(bytes[0], message->kind);
    assert_int_equal(lh_load_u16(bytes + 1), size - 3);
    return size - 3;
}

static bool decode(enum lh_host_message_kind kind, const uint8_t *body, size_t size,
                   struct lh_host_message *ret)
{
    uint8_t *exact = malloc(size); // so that the sanitizer sees a read past the end
    memcpy(exact, body, size);
    bool taken = lh_host_message_decode(kind, lh_slice_of(exact, size), ret);
    free(exact);
    return taken;
}

static void test_every_kind_comes_back(void **state)
{
    (void)state;
    for (int kind = LH_HOST_PING; kind <= LH_HOST_MESSAGE_LAST; kind++) {
        uint8_t bytes[2048], again[2048];
        struct lh_host_message message = some_message((enum lh_host_message_kind)kind), read;
        size_t size = encode(&message, bytes);
        assert_true(lh_host_message_decode(message.kind, lh_slice_of(bytes + 3, size), &read));
        assert_int_equal(encode(&read, again), size);
        assert_memory_equal(bytes, again, size + 3);
    }
}

static void test_cut_off_or_too_long(void **state)
{
    (void)state;
    for (int kind = LH_HOST_PING; kind <= LH_HOST_MESSAGE_LAST; kind++) {
        uint8_t bytes[2048];
        struct lh_host_message message = some_message((enum lh_host_message_kind)kind), read;
        size_t size = encode(&message, bytes);
        bool open_ended = kind == LH_HOST_PAGE; // its entries are checked by whoever takes the page
        for (size_t cut = 0; cut < size; cut++)
            assert_true(decode(message.kind, bytes + 3, cut, &read) ==
                        (open_ended && cut >= size - message.text.size_bytes));
        assert_true(decode(message.kind, bytes + 3, size + 1, &read) == open_ended);
    }
}

static void test_unknown_kinds(void **state)
{
    (void)state;
    struct lh_host_message read;
    for (int kind = 0; kind < 256; kind++)
        if (kind < LH_HOST_PING || kind > LH_HOST_MESSAGE_LAST)
            assert_false(lh_host_message_decode((enum lh_host_message_kind)kind,
                                                (struct lh_slice){NULL, 0}, &read));
}

static void expect_refused(const struct lh_host_message *message)
{
    uint8_t bytes[2048];
    struct lh_host_message read;
    size_t size = encode(message, bytes);
    assert_false(decode(message->kind, bytes + 3, size, &read));
}

static void test_impossible_values(void **state)
{
    (void)state;
    struct lh_host_message message = some_message(LH_HOST_KNOWN);
    message.reservation = LH_COUNTER_MAX + 1;
    expect_refused(&message);
    message = some_message(LH_HOST_STATE);
    message.ballot = LH_BALLOT_MAX + 1;
    expect_refused(&message);
    message = some_message(LH_HOST_STATE);
    message.exclusion.ns = SPAN_MAX + 1;
    expect_refused(&message);
    message = some_message(LH_HOST_STATE);
    message.exclusion.ns = -1;
    expect_refused(&message);
    message = some_message(LH_HOST_CALL);
    message.timeout.ns = SPAN_MAX + 1;
    expect_refused(&message);
    message = some_message(LH_HOST_RETURN);
    message.entry.token = LH_BALLOT_MAX + 1;
    expect_refused(&message);
    struct lh_duration *spans[] = {&message.entry.remaining, &message.entry.age,
                                   &message.entry.renewed_ago, &message.entry.ttl};
    for (unsigned i = 0; i < 4; i++) {
        message = some_message(LH_HOST_RETURN);
        spans[i]->ns = -1;
        expect_refused(&message);
    }
}

static void test_flags_are_zero_or_one(void **state)
{
    (void)state;
    uint8_t bytes[2048];
    struct lh_host_message message = some_message(LH_HOST_STATE), read;
    size_t size = encode(&message, bytes);
    bytes[3 + 24] = 2;
    assert_false(decode(LH_HOST_STATE, bytes + 3, size, &read));
    message = some_message(LH_HOST_RETURN);
    size = encode(&message, bytes);
    assert_int_equal(bytes[3 + size - 1], 1); // revoked
    bytes[3 + size - 1] = 2;
    assert_false(decode(LH_HOST_RETURN, bytes + 3, size, &read));
}

static void test_a_failed_decode_leaves_no_trace(void **state)
{
    (void)state;
    uint8_t body[4] = {0};
    struct lh_host_message read = {.kind = LH_HOST_PING, .nonce = 42};
    assert_false(lh_host_message_decode(LH_HOST_QUERY, lh_slice_of(body, 4), &read));
    assert_int_equal(read.kind, LH_HOST_PING);
    assert_int_equal(read.nonce, 42);
}

// --- sizes ---

// What a driver has to fit into one datagram beside the header.
static void test_the_longest_messages_fit(void **state)
{
    (void)state;
    uint8_t bytes[2048], name[255];
    memset(name, 'n', sizeof name);
    for (int kind = LH_HOST_PING; kind <= LH_HOST_MESSAGE_LAST; kind++) {
        struct lh_host_message message = some_message((enum lh_host_message_kind)kind);
        message.entry.name = message.entry.holder = lh_slice_of(name, sizeof name);
        message.text = lh_slice_of(name, sizeof name);
        assert_in_range(encode(&message, bytes) + 3, 3, 1400 - LH_HEADER_BYTES);
    }
}

static void test_entries(void **state)
{
    (void)state;
    uint8_t bytes[2048];
    struct lh_entry entry = some_entry(), read;
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    for (unsigned i = 0; i < 5; i++)
        lh_entry_write(&writer, &entry);
    struct lh_reader reader = lh_reader_of(lh_writer_slice(&writer));
    for (unsigned i = 0; i < 5; i++) {
        lh_entry_read(&reader, &read);
        assert_true(lh_slice_equal(read.name, entry.name));
        assert_true(lh_slice_equal(read.holder, entry.holder));
        assert_true(read.token == entry.token && read.node == entry.node);
        assert_true(read.renewed_ago.ns == entry.renewed_ago.ns && read.ttl.ns == entry.ttl.ns);
        assert_true(read.revoked);
    }
    assert_true(lh_reader_done(&reader));
}

// --- header ---

static struct lh_header some_header(void)
{
    return (struct lh_header){1, 2, 3, 4, 5, INT64_MAX, INT64_MAX, INT64_MAX, LH_COUNTER_MAX, 6, 7};
}

static bool reads(const struct lh_header *header, struct lh_header *ret)
{
    uint8_t bytes[LH_HEADER_BYTES];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    lh_header_write(&writer, header);
    assert_false(writer.failed);
    assert_int_equal(lh_writer_left_bytes(&writer), 0);
    struct lh_reader reader = lh_reader_of(lh_writer_slice(&writer));
    lh_header_read(&reader, ret);
    return lh_reader_done(&reader);
}

static void test_headers(void **state)
{
    (void)state;
    struct lh_header header = some_header(), read;
    uint8_t bytes[LH_HEADER_BYTES] = {0}, again[LH_HEADER_BYTES];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    assert_true(reads(&header, &read));
    lh_header_write(&writer, &header);
    writer = lh_writer_of(again, sizeof again);
    lh_header_write(&writer, &read);
    assert_memory_equal(bytes, again, sizeof bytes);
    header.stamp++;
    assert_false(reads(&header, &read));
    header = some_header();
    header.echo_stamp++;
    assert_false(reads(&header, &read));
    header = some_header();
    header.echo_held++;
    assert_false(reads(&header, &read));
    header = some_header();
    header.counter++;
    assert_false(reads(&header, &read));
    for (size_t cut = 0; cut < sizeof bytes; cut++) {
        struct lh_reader reader = lh_reader_of(lh_slice_of(bytes, cut));
        lh_header_read(&reader, &read);
        assert_true(reader.failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_comes_back),
        cmocka_unit_test(test_cut_off_or_too_long),
        cmocka_unit_test(test_unknown_kinds),
        cmocka_unit_test(test_impossible_values),
        cmocka_unit_test(test_flags_are_zero_or_one),
        cmocka_unit_test(test_a_failed_decode_leaves_no_trace),
        cmocka_unit_test(test_the_longest_messages_fit),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_headers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
