// Requests as clients send them and as attackers do. Every input is parsed twice, whole and byte by
// byte in a buffer that moves each time and ends where the bytes end, and must come out the same.
#include "base/resp_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LIMIT 1000

static struct lh_resp_request_parser parser;
static struct lh_resp_request request;
static uint8_t *whole;  // what the arguments of `request` point into
static uint8_t *moving; // the same for the parse byte by byte

static int begin(void **state)
{
    (void)state;
    whole = NULL;
    moving = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(whole);
    free(moving);
    return 0;
}

static uint8_t *copy_of(uint8_t *old, const void *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes == 0 ? 1 : size_bytes);
    assert_non_null(copy);
    memcpy(copy, bytes, size_bytes);
    free(old);
    return copy;
}

// Parses one request from the front of `bytes`, given one more byte at each call.
static enum lh_resp_result parse_slowly(struct lh_slice bytes, struct lh_resp_request *ret,
                                        const char **ret_reason)
{
    struct lh_resp_request_parser slow;
    enum lh_resp_result result = LH_RESP_NEED_MORE;
    lh_resp_request_parser_init(&slow, LIMIT);
    for (size_t i = 0; i <= bytes.size_bytes && result == LH_RESP_NEED_MORE; i++) {
        moving = copy_of(moving, bytes.data, i);
        result = lh_resp_request_parse(&slow, moving, i, ret);
    }
    *ret_reason = slow.reason;
    return result;
}

static enum lh_resp_result parse(struct lh_slice bytes)
{
    struct lh_resp_request slow;
    const char *slow_reason = NULL;
    whole = copy_of(whole, bytes.data, bytes.size_bytes);
    lh_resp_request_parser_init(&parser, LIMIT);
    enum lh_resp_result result = lh_resp_request_parse(&parser, whole, bytes.size_bytes, &request);
    assert_int_equal(parse_slowly(bytes, &slow, &slow_reason), result);
    if (result == LH_RESP_MALFORMED)
        assert_string_equal(slow_reason, parser.reason);
    if (result == LH_RESP_COMPLETE) {
        assert_int_equal(slow.consumed_bytes, request.consumed_bytes);
        assert_int_equal(slow.arg_count, request.arg_count);
        for (size_t i = 0; i < request.arg_count; i++)
            assert_true(lh_slice_equal(slow.args[i], request.args[i]));
    }
    return result;
}

#define NEEDS_MORE(text) assert_int_equal(parse(LH_SLICE(text)), LH_RESP_NEED_MORE)

static void refused(struct lh_slice bytes, const char *reason)
{
    assert_int_equal(parse(bytes), LH_RESP_MALFORMED);
    assert_string_equal(parser.reason, reason);
    // It stays so.
    assert_int_equal(lh_resp_request_parse(&parser, whole, bytes.size_bytes, &request),
                     LH_RESP_MALFORMED);
}

#define REFUSED(text, reason) refused(LH_SLICE(text), reason)

// Parses `bytes`, all of them, into the arguments that follow, up to NULL.
static void gives(struct lh_slice bytes, ...)
{
    va_list expected;
    size_t count = 0;
    assert_int_equal(parse(bytes), LH_RESP_COMPLETE);
    assert_int_equal(request.consumed_bytes, bytes.size_bytes);
    va_start(expected, bytes);
    for (;;) {
        const char *argument = va_arg(expected, const char *);
        if (argument == NULL)
            break;
        assert_true(count < request.arg_count);
        assert_true(lh_slice_equal(request.args[count], lh_slice_of_string(argument)));
        count++;
    }
    va_end(expected);
    assert_int_equal(request.arg_count, count);
}

#define GIVES(text, ...) gives(LH_SLICE(text), __VA_ARGS__)

static void arrays_are_cut_into_arguments(void **state)
{
    (void)state;
    GIVES("*1\r\n$4\r\nPING\r\n", "PING", NULL);
    GIVES("*3\r\n$5\r\nLEASE\r\n$3\r\nGET\r\n$2\r\ndb\r\n", "LEASE", "GET", "db", NULL);
    GIVES("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "ECHO", "", NULL);
    GIVES("*1\r\n$2\r\n\r\n\r\n", "\r\n", NULL);
    GIVES("*0\r\n", NULL);
}

static void an_array_needs_all_its_bytes(void **state)
{
    (void)state;
    static const char text[] = "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n";
    for (size_t size_bytes = 0; size_bytes < sizeof text - 1; size_bytes++)
        assert_int_equal(parse(lh_slice_of(text, size_bytes)), LH_RESP_NEED_MORE);
    assert_int_equal(parse(lh_slice_of(text, sizeof text - 1)), LH_RESP_COMPLETE);
}

static void arguments_may_hold_any_byte(void **state)
{
    (void)state;
    assert_int_equal(parse(LH_SLICE("*1\r\n$4\r\n\0\r\n\xff\r\n")), LH_RESP_COMPLETE);
    assert_true(lh_slice_equal(request.args[0], LH_SLICE("\0\r\n\xff")));
}

static void requests_follow_each_other(void **state)
{
    (void)state;
    static uint8_t bytes[] = "*1\r\n$4\r\nPING\r\nPING\r\n\r\n*1\r\n$4\r\nQUIT\r\n*1";
    size_t at = 0;
    size_t size_bytes = sizeof bytes - 1;
    lh_resp_request_parser_init(&parser, LIMIT);
    static const size_t expected_bytes[] = {14, 6, 2, 14};
    static const size_t expected_args[] = {1, 1, 0, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(lh_resp_request_parse(&parser, bytes + at, size_bytes - at, &request),
                         LH_RESP_COMPLETE);
        assert_int_equal(request.consumed_bytes, expected_bytes[i]);
        assert_int_equal(request.arg_count, expected_args[i]);
        at += request.consumed_bytes;
    }
    assert_int_equal(lh_resp_request_parse(&parser, bytes + at, size_bytes - at, &request),
                     LH_RESP_NEED_MORE);
}

static void there_are_at_most_64_arguments(void **state)
{
    (void)state;
    char text[600] = "*64\r\n";
    for (int i = 0; i < 64; i++)
        strcat(text, "$1\r\na\r\n");
    assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_COMPLETE);
    assert_int_equal(request.arg_count, 64);
    REFUSED("*65\r\n", "too many arguments (at most 64)");
    REFUSED("*18446744073709551615\r\n", "too many arguments (at most 64)");

    memset(text, 0, sizeof text);
    for (int i = 0; i < 64; i++)
        strcat(text, "a ");
    strcat(text, "\r\n");
    assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_COMPLETE);
    assert_int_equal(request.arg_count, 64);
    memcpy(text + strlen(text) - 2, "a\r\n", 4);
    refused(lh_slice_of_string(text), "too many arguments (at most 64)");
}

static void lengths_are_numbers_from_0_up(void **state)
{
    (void)state;
    static const char reason[] = "length is not a number from 0 up";
    REFUSED("*-1\r\n", reason);
    REFUSED("*\r\n", reason);
    REFUSED("*x\r\n", reason);
    REFUSED("*+1\r\n", reason);
    REFUSED("* 1\r\n", reason);
    REFUSED("*01\r\n", reason);
    REFUSED("*1 \r\n", reason);
    REFUSED("*1.0\r\n", reason);
    REFUSED("*18446744073709551616\r\n", reason);
    REFUSED("*1\r\n$-1\r\n", reason);
    REFUSED("*1\r\n$\r\n", reason);
    REFUSED("*1\r\n$4x\r\n", reason);
    REFUSED("*1\r\n$99999999999999999999\r\n", reason);
}

static void a_request_too_long_is_refused_at_its_header(void **state)
{
    (void)state;
    // 4 bytes, then the header of 6, then the argument and its CR LF.
    NEEDS_MORE("*1\r\n$988\r\n");
    REFUSED("*1\r\n$989\r\n", "request too long");
    REFUSED("*1\r\n$1000\r\n", "request too long");
    REFUSED("*1\r\n$4294967295\r\n", "request too long");
    REFUSED("*1\r\n$4294967296\r\n", "request too long");
    REFUSED("*1\r\n$18446744073709551615\r\n", "request too long");
    REFUSED("*1\r\n$18446744073709551614\r\n", "request too long");
    REFUSED("*2\r\n$1\r\na\r\n$982\r\n", "request too long");
    NEEDS_MORE("*2\r\n$1\r\na\r\n$981\r\n");
}

static void the_longest_request_is_taken(void **state)
{
    (void)state;
    char text[LIMIT + 1];
    memset(text, 'a', sizeof text);
    memcpy(text, "*1\r\n$988\r\n", 10);
    memcpy(text + LIMIT - 2, "\r\n", 3);
    assert_int_equal(parse(lh_slice_of(text, LIMIT)), LH_RESP_COMPLETE);
    assert_int_equal(request.args[0].size_bytes, 988);

    memset(text, 'a', sizeof text);
    memcpy(text + LIMIT - 1, "\n", 2);
    assert_int_equal(parse(lh_slice_of(text, LIMIT)), LH_RESP_COMPLETE);
    assert_int_equal(request.args[0].size_bytes, LIMIT - 1);
    memset(text, 'a', sizeof text);
    assert_int_equal(parse(lh_slice_of(text, LIMIT - 1)), LH_RESP_NEED_MORE);
    refused(lh_slice_of(text, LIMIT), "inline command too long");
}

static void even_the_smallest_limit_holds(void **state)
{
    (void)state;
    uint8_t empty_array[] = "*0\r\n";
    lh_resp_request_parser_init(&parser, 4);
    assert_int_equal(lh_resp_request_parse(&parser, empty_array, 4, &request), LH_RESP_COMPLETE);
    lh_resp_request_parser_init(&parser, 3);
    assert_int_equal(lh_resp_request_parse(&parser, empty_array, 4, &request), LH_RESP_MALFORMED);
    uint8_t feed[] = "\n";
    lh_resp_request_parser_init(&parser, 1);
    assert_int_equal(lh_resp_request_parse(&parser, feed, 1, &request), LH_RESP_COMPLETE);
}

static void lines_do_not_go_on_for_ever(void **state)
{
    (void)state;
    char text[64] = "*";
    memset(text + 1, '1', 62);
    assert_int_equal(parse(lh_slice_of(text, LH_RESP_HEADER_MAX_BYTES)), LH_RESP_NEED_MORE);
    refused(lh_slice_of(text, LH_RESP_HEADER_MAX_BYTES + 1), "length line too long");
}

static void arrays_hold_bulk_strings_only(void **state)
{
    (void)state;
    static const char reason[] = "expected '$' (requests are arrays of bulk strings)";
    REFUSED("*1\r\n*1\r\n$4\r\nPING\r\n", reason);
    REFUSED("*1\r\n:1\r\n", reason);
    REFUSED("*1\r\n+PING\r\n", reason);
    REFUSED("*1\r\n\r\n", reason);
    REFUSED("*2\r\n$1\r\na\r\n*", reason);
}

static void lines_end_in_cr_lf(void **state)
{
    (void)state;
    REFUSED("*1\n$4\r\nPING\r\n", "length line does not end in CR LF");
    REFUSED("*1\r\n$4\nPING\r\n", "length line does not end in CR LF");
    REFUSED("*1\r1\r\n", "length line does not end in CR LF");
    REFUSED("*1\r\n$4\r\nPING\n\n", "bulk string does not end in CR LF");
    REFUSED("*1\r\n$4\r\nPING\r\r", "bulk string does not end in CR LF");
    REFUSED("*1\r\n$4\r\nPINGxx", "bulk string does not end in CR LF");
    REFUSED("*1\r\n$3\r\nPING\r\n", "bulk string does not end in CR LF");
}

static void inline_commands_are_split_at_spaces(void **state)
{
    (void)state;
    GIVES("PING\r\n", "PING", NULL);
    GIVES("PING\n", "PING", NULL);
    GIVES("  LEASE\tGET   db \r\n", "LEASE", "GET", "db", NULL);
    GIVES("\r\n", NULL);
    GIVES("\n", NULL);
    GIVES("   \t \r\n", NULL);
    GIVES("lease get \xc3\xa9\r\n", "lease", "get", "\xc3\xa9", NULL);
    NEEDS_MORE("");
    NEEDS_MORE("PING");
    NEEDS_MORE("PING\r");
}

static void inline_quotes_are_resolved(void **state)
{
    (void)state;
    GIVES("a \"b c\" d\r\n", "a", "b c", "d", NULL);
    GIVES("\"\" ''\r\n", "", "", NULL);
    GIVES("a 'b \"c' \"d 'e\"\n", "a", "b \"c", "d 'e", NULL);
    GIVES("k=\"v w\"\n", "k=v w", NULL);
    GIVES("\"\\n\\r\\t\\b\\a\\\\\\\"\\q\"\n", "\n\r\t\b\a\\\"q", NULL);
    GIVES("\"\\x41\\x7a\\xFf\"\n", "Az\xff", NULL);
    GIVES("\"\\x4\\xg1\"\n", "x4xg1", NULL);
    GIVES("\"\\x\"\n", "x", NULL);
    GIVES("'\\x41\\n\\\\ '\n", "\\x41\\n\\\\ ", NULL);
    GIVES("'it\\'s'\n", "it's", NULL);
    GIVES("back\\slash\n", "back\\slash", NULL);
    assert_int_equal(parse(LH_SLICE("\"\\x00\"\n")), LH_RESP_COMPLETE);
    assert_true(lh_slice_equal(request.args[0], LH_SLICE("\0")));
}

static void unbalanced_quotes_are_refused(void **state)
{
    (void)state;
    static const char reason[] = "unbalanced quotes in an inline command";
    REFUSED("\"abc\r\n", reason);
    REFUSED("'abc\r\n", reason);
    REFUSED("\"abc\\\"\r\n", reason);
    REFUSED("'abc\\'\r\n", reason);
    REFUSED("'abc\\\\'\r\n", reason); // only the quote can be escaped in single quotes
    REFUSED("\"abc\"d\r\n", reason);
    REFUSED("'abc'd\r\n", reason);
    REFUSED("'abc'\"d\"\r\n", reason);
    REFUSED("\"\\\n", reason);
    REFUSED("a\"\n", reason);
    NEEDS_MORE("\"abc");
}

static void strangers_of_other_protocols_are_refused(void **state)
{
    (void)state;
    REFUSED("a\0b\r\n", "zero byte in an inline command");
    REFUSED("POST / HTTP/1.1\r\n", "this is HTTP; this port speaks the Redis protocol");
    REFUSED("host: localhost\r\n", "this is HTTP; this port speaks the Redis protocol");
    GIVES("lease get post\r\n", "lease", "get", "post", NULL);
    GIVES("posts\r\n", "posts", NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(arrays_are_cut_into_arguments),
        TEST(an_array_needs_all_its_bytes),
        TEST(arguments_may_hold_any_byte),
        TEST(requests_follow_each_other),
        TEST(there_are_at_most_64_arguments),
        TEST(lengths_are_numbers_from_0_up),
        TEST(a_request_too_long_is_refused_at_its_header),
        TEST(the_longest_request_is_taken),
        TEST(even_the_smallest_limit_holds),
        TEST(lines_do_not_go_on_for_ever),
        TEST(arrays_hold_bulk_strings_only),
        TEST(lines_end_in_cr_lf),
        TEST(inline_commands_are_split_at_spaces),
        TEST(inline_quotes_are_resolved),
        TEST(unbalanced_quotes_are_refused),
        TEST(strangers_of_other_protocols_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
