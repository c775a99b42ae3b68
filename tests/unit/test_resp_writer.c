// Each kind of value in both versions, byte for byte, and read back by the reply parser.
#include "base/resp_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/resp_reply.h"
#include "base/resp_request.h"

static uint8_t buffer[256];
static struct lh_writer writer;

static int begin(void **state)
{
    (void)state;
    writer = lh_writer_of(buffer, sizeof buffer);
    return 0;
}

// What was written since the last call.
static void wrote(const char *expected)
{
    assert_false(writer.failed);
    assert_true(lh_slice_equal(lh_writer_slice(&writer), lh_slice_of_string(expected)));
    begin(NULL);
}

static void what_both_versions_say_alike(void **state)
{
    (void)state;
    lh_resp_write_simple(&writer, LH_SLICE("OK"));
    wrote("+OK\r\n");
    lh_resp_write_error(&writer, LH_SLICE("ERR no"));
    wrote("-ERR no\r\n");
    lh_resp_write_integer(&writer, INT64_MIN);
    wrote(":-9223372036854775808\r\n");
    lh_resp_write_bulk(&writer, LH_SLICE("a\r\nb"));
    wrote("$4\r\na\r\nb\r\n");
    lh_resp_write_bulk(&writer, lh_slice_of(NULL, 0));
    wrote("$0\r\n\r\n");
    lh_resp_write_text(&writer, "status");
    wrote("$6\r\nstatus\r\n");
    lh_resp_write_array(&writer, 3);
    wrote("*3\r\n");
}

static void what_version_2_must_say_otherwise(void **state)
{
    (void)state;
    lh_resp_write_null(&writer, LH_RESP2);
    wrote("$-1\r\n");
    lh_resp_write_null(&writer, LH_RESP3);
    wrote("_\r\n");
    lh_resp_write_map(&writer, LH_RESP2, 3);
    wrote("*6\r\n");
    lh_resp_write_map(&writer, LH_RESP3, 3);
    wrote("%3\r\n");
    lh_resp_write_set(&writer, LH_RESP2, 3);
    wrote("*3\r\n");
    lh_resp_write_set(&writer, LH_RESP3, 3);
    wrote("~3\r\n");
    lh_resp_write_push(&writer, LH_RESP2, 3);
    wrote("*3\r\n");
    lh_resp_write_push(&writer, LH_RESP3, 3);
    wrote(">3\r\n");
    lh_resp_write_verbatim(&writer, LH_RESP2, LH_SLICE("text"));
    wrote("$4\r\ntext\r\n");
    lh_resp_write_verbatim(&writer, LH_RESP3, LH_SLICE("text"));
    wrote("=8\r\ntxt:text\r\n");
}

// An error that echoes a client's words must not become two replies.
static void a_line_cannot_be_broken_from_within(void **state)
{
    (void)state;
    lh_resp_write_error(&writer, LH_SLICE("ERR bad\r\n+OK\r\n\0\x1b\x7f\xc3\xa9"));
    wrote("-ERR bad  +OK     \xc3\xa9\r\n");
    lh_resp_write_simple(&writer, LH_SLICE("\n\x1f\x20\x7e"));
    wrote("+   ~\r\n");
}

static void what_does_not_fit_fails(void **state)
{
    (void)state;
    for (size_t room_bytes = 0; room_bytes <= 11; room_bytes++) {
        writer = lh_writer_of(buffer, room_bytes);
        lh_resp_write_bulk(&writer, LH_SLICE("hello"));
        assert_int_equal(writer.failed, room_bytes < 11);
        writer = lh_writer_of(buffer, room_bytes);
        lh_resp_write_error(&writer, LH_SLICE("ERR nope"));
        assert_int_equal(writer.failed, room_bytes < 11);
    }
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++) {
        enum lh_resp_protocol protocol = version == 2 ? LH_RESP2 : LH_RESP3;
        struct lh_resp_reply_parser parser;
        struct lh_resp_value values[32];
        size_t consumed_bytes = 0;
        int64_t token = 0;
        begin(NULL);
        lh_resp_write_map(&writer, protocol, 2);
        lh_resp_write_text(&writer, "name");
        lh_resp_write_bulk(&writer, LH_SLICE("db\0x"));
        lh_resp_write_text(&writer, "token");
        lh_resp_write_integer(&writer, 4711);
        lh_resp_reply_parser_init(&parser, values, 32, sizeof buffer);
        struct lh_slice written = lh_writer_slice(&writer);
        assert_int_equal(
            lh_resp_reply_parse(&parser, written.data, written.size_bytes, &consumed_bytes),
            LH_RESP_COMPLETE);
        assert_int_equal(consumed_bytes, written.size_bytes);
        assert_true(lh_slice_equal(lh_resp_get(values, "name")->text, LH_SLICE("db\0x")));
        assert_true(lh_resp_as_integer(lh_resp_get(values, "token"), &token));
        assert_int_equal(token, 4711);
    }
}

static void a_request_is_written_with_the_same_functions(void **state)
{
    (void)state;
    struct lh_resp_request_parser parser;
    struct lh_resp_request request;
    lh_resp_write_array(&writer, 2);
    lh_resp_write_text(&writer, "ECHO");
    lh_resp_write_bulk(&writer, LH_SLICE("\r\n"));
    lh_resp_request_parser_init(&parser, sizeof buffer);
    assert_int_equal(
        lh_resp_request_parse(&parser, buffer, lh_writer_size_bytes(&writer), &request),
        LH_RESP_COMPLETE);
    assert_int_equal(request.arg_count, 2);
    assert_true(lh_slice_equal(request.args[1], LH_SLICE("\r\n")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(what_both_versions_say_alike),
        TEST(what_version_2_must_say_otherwise),
        TEST(a_line_cannot_be_broken_from_within),
        TEST(what_does_not_fit_fails),
        TEST(what_is_written_is_read),
        TEST(a_request_is_written_with_the_same_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
