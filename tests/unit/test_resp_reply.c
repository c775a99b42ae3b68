// Replies as servers send them and as broken or hostile ones do. Every input is parsed twice, whole
// and byte by byte in a buffer that moves each time and ends where the bytes end, and must come out
// the same.
#include "base/resp_reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LIMIT 1000
#define CAPACITY 40

static struct lh_resp_reply_parser parser;
static struct lh_resp_value values[CAPACITY];
static size_t consumed_bytes;
static uint8_t *whole; // what `values` point into

static int begin(void **state)
{
    (void)state;
    whole = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(whole);
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

static void same_value(const struct lh_resp_value *a, const struct lh_resp_value *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->child_count, b->child_count);
    assert_int_equal(a->span, b->span);
    assert_true(a->integer == b->integer);
    assert_true(lh_slice_equal(a->text, b->text));
}

static enum lh_resp_result parse(struct lh_slice bytes)
{
    struct lh_resp_reply_parser slow;
    struct lh_resp_value slow_values[CAPACITY];
    size_t slow_consumed_bytes = 0;
    enum lh_resp_result slow_result = LH_RESP_NEED_MORE;
    uint8_t *moving = NULL;

    whole = copy_of(whole, bytes.data, bytes.size_bytes);
    lh_resp_reply_parser_init(&parser, values, CAPACITY, LIMIT);
    enum lh_resp_result result =
        lh_resp_reply_parse(&parser, whole, bytes.size_bytes, &consumed_bytes);

    lh_resp_reply_parser_init(&slow, slow_values, CAPACITY, LIMIT);
    for (size_t i = 0; i <= bytes.size_bytes && slow_result == LH_RESP_NEED_MORE; i++) {
        moving = copy_of(moving, bytes.data, i);
        slow_result = lh_resp_reply_parse(&slow, moving, i, &slow_consumed_bytes);
    }
    assert_int_equal(slow_result, result);
    if (result == LH_RESP_MALFORMED)
        assert_string_equal(slow.reason, parser.reason);
    if (result == LH_RESP_COMPLETE) {
        assert_int_equal(slow_consumed_bytes, consumed_bytes);
        for (size_t i = 0; i < values[0].span; i++)
            same_value(&slow_values[i], &values[i]);
    }
    free(moving);
    return result;
}

// Parses text that is one whole reply.
#define REPLY(text) reply(LH_SLICE(text))
static const struct lh_resp_value *reply(struct lh_slice bytes)
{
    assert_int_equal(parse(bytes), LH_RESP_COMPLETE);
    assert_int_equal(consumed_bytes, bytes.size_bytes);
    return values;
}

#define NEEDS_MORE(text) assert_int_equal(parse(LH_SLICE(text)), LH_RESP_NEED_MORE)
#define REFUSED(text, why)                                                                         \
    do {                                                                                           \
        assert_int_equal(parse(LH_SLICE(text)), LH_RESP_MALFORMED);                                \
        assert_string_equal(parser.reason, why);                                                   \
    } while (0)

static void is_text(const struct lh_resp_value *value, enum lh_resp_type type, const char *text)
{
    assert_non_null(value);
    assert_int_equal(value->type, type);
    assert_int_equal(value->span, 1);
    assert_int_equal(value->child_count, 0);
    assert_true(lh_slice_equal(value->text, lh_slice_of_string(text)));
}

static void is_integer(const struct lh_resp_value *value, int64_t expected)
{
    int64_t integer = ~expected;
    assert_non_null(value);
    assert_int_equal(value->type, LH_RESP_INTEGER);
    assert_true(lh_resp_as_integer(value, &integer));
    assert_true(integer == expected);
}

static void lines(void **state)
{
    (void)state;
    is_text(REPLY("+OK\r\n"), LH_RESP_SIMPLE, "OK");
    is_text(REPLY("+\r\n"), LH_RESP_SIMPLE, "");
    is_text(REPLY("-ERR no\r\n"), LH_RESP_ERROR, "ERR no");
    is_text(REPLY("(-12345678901234567890123\r\n"), LH_RESP_BIG_NUMBER, "-12345678901234567890123");
    is_text(REPLY("(+1\r\n"), LH_RESP_BIG_NUMBER, "+1");
    is_text(REPLY("_\r\n"), LH_RESP_NULL, "");
    assert_int_equal(REPLY("#t\r\n")->integer, 1);
    assert_int_equal(REPLY("#f\r\n")->integer, 0);
    assert_int_equal(values[0].type, LH_RESP_BOOLEAN);
}

static void integers(void **state)
{
    (void)state;
    is_integer(REPLY(":0\r\n"), 0);
    is_integer(REPLY(":+5\r\n"), 5);
    is_integer(REPLY(":-5\r\n"), -5);
    is_integer(REPLY(":9223372036854775807\r\n"), INT64_MAX);
    is_integer(REPLY(":-9223372036854775808\r\n"), INT64_MIN);
    static const char reason[] = "not an integer of 64 bits";
    REFUSED(":9223372036854775808\r\n", reason);
    REFUSED(":-9223372036854775809\r\n", reason);
    REFUSED(":\r\n", reason);
    REFUSED(":+\r\n", reason);
    REFUSED(":+-5\r\n", reason);
    REFUSED(":--5\r\n", reason);
    REFUSED(":5 \r\n", reason);
    REFUSED(":5.0\r\n", reason);
}

static void doubles(void **state)
{
    (void)state;
    is_text(REPLY(",1.5\r\n"), LH_RESP_DOUBLE, "1.5");
    is_text(REPLY(",10\r\n"), LH_RESP_DOUBLE, "10");
    is_text(REPLY(",-0.25e-10\r\n"), LH_RESP_DOUBLE, "-0.25e-10");
    is_text(REPLY(",+1E5\r\n"), LH_RESP_DOUBLE, "+1E5");
    is_text(REPLY(",inf\r\n"), LH_RESP_DOUBLE, "inf");
    is_text(REPLY(",-inf\r\n"), LH_RESP_DOUBLE, "-inf");
    is_text(REPLY(",nan\r\n"), LH_RESP_DOUBLE, "nan");
    static const char *const refused[] = {"",    ".5",  "1.",   "1.e5",     "1e",    "1e+",
                                          "+",   "e5",  "1.5x", "infinity", "0x1p3", "1.5.5",
                                          "1 5", "++1", "1ee5", "1e5.5",    "1e+-5"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char text[32] = ",";
        strcat(strcat(text, refused[i]), "\r\n");
        assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_MALFORMED);
        assert_string_equal(parser.reason, "not a double");
    }
    REFUSED(",1\0\r\n", "not a double");
    REFUSED(",\0001\r\n", "not a double");
}

static void other_lines_that_are_none(void **state)
{
    (void)state;
    REFUSED("#\r\n", "not a boolean");
    REFUSED("#T\r\n", "not a boolean");
    REFUSED("#true\r\n", "not a boolean");
    REFUSED("_x\r\n", "not a null");
    REFUSED("(1.5\r\n", "not a big number");
    REFUSED("(\r\n", "not a big number");
    REFUSED("(-\r\n", "not a big number");
    REFUSED("+a\n", "line does not end in CR LF");
    REFUSED("+a\rb\r\n", "line does not end in CR LF");
    REFUSED("+\n", "line does not end in CR LF");
    REFUSED("PONG\r\n", "not a type of this protocol");
    REFUSED("\r\n", "not a type of this protocol");
    REFUSED("\0", "not a type of this protocol");
    REFUSED("$?\r\n;4\r\n", "length is not a number from 0 up"); // streamed
    REFUSED("*?\r\n", "length is not a number from 0 up");
}

static void blobs(void **state)
{
    (void)state;
    is_text(REPLY("$5\r\nhello\r\n"), LH_RESP_BULK, "hello");
    is_text(REPLY("$0\r\n\r\n"), LH_RESP_BULK, "");
    is_text(REPLY("$2\r\n\r\n\r\n"), LH_RESP_BULK, "\r\n");
    is_text(REPLY("!5\r\nERR x\r\n"), LH_RESP_ERROR, "ERR x");
    is_text(REPLY("=8\r\ntxt:text\r\n"), LH_RESP_VERBATIM, "text");
    is_text(REPLY("=4\r\nmkd:\r\n"), LH_RESP_VERBATIM, "");
    is_text(REPLY("$-1\r\n"), LH_RESP_NULL, "");
    is_text(REPLY("*-1\r\n"), LH_RESP_NULL, "");
    REFUSED("=3\r\ntxt\r\n", "verbatim string without its format");
    REFUSED("=0\r\n\r\n", "verbatim string without its format");
    REFUSED("=4\r\ntext\r\n", "verbatim string without its format");
    REFUSED("$5\r\nhello!\r\n", "string does not end in CR LF");
    REFUSED("$5\r\nhello\n\n", "string does not end in CR LF");
    REFUSED("$5\r\nhello\r\r", "string does not end in CR LF");
    REFUSED("!-1\r\n", "length is not a number from 0 up");
    REFUSED("=-1\r\n", "length is not a number from 0 up");
    REFUSED("$-2\r\n", "length is not a number from 0 up");
    REFUSED("%-1\r\n", "length is not a number from 0 up");
    REFUSED("$\r\n", "length is not a number from 0 up");
    REFUSED("$05\r\nhello\r\n", "length is not a number from 0 up");
}

static void a_reply_needs_all_its_bytes(void **state)
{
    (void)state;
    static const char text[] =
        "|1\r\n+ttl\r\n:1\r\n%2\r\n+a\r\n*2\r\n$2\r\nhi\r\n_\r\n=5\r\ntxt:x\r\n~0\r\n";
    for (size_t size_bytes = 0; size_bytes < sizeof text - 1; size_bytes++)
        assert_int_equal(parse(lh_slice_of(text, size_bytes)), LH_RESP_NEED_MORE);
    assert_int_equal(parse(lh_slice_of(text, sizeof text - 1)), LH_RESP_COMPLETE);
    assert_int_equal(consumed_bytes, sizeof text - 1);
}

static void aggregates_are_trees_in_one_array(void **state)
{
    (void)state;
    const struct lh_resp_value *root = REPLY("*4\r\n:1\r\n*2\r\n:2\r\n*0\r\n~1\r\n:3\r\n:4\r\n");
    assert_int_equal(root->type, LH_RESP_ARRAY);
    assert_int_equal(root->child_count, 4);
    assert_int_equal(root->span, 8);
    is_integer(lh_resp_child(root, 0), 1);
    const struct lh_resp_value *inner = lh_resp_child(root, 1);
    assert_int_equal(inner->span, 3);
    is_integer(lh_resp_child(inner, 0), 2);
    assert_int_equal(lh_resp_child(inner, 1)->child_count, 0);
    assert_int_equal(lh_resp_child(inner, 1)->span, 1);
    assert_null(lh_resp_child(inner, 2));
    assert_null(lh_resp_child(lh_resp_child(inner, 1), 0));
    assert_int_equal(lh_resp_child(root, 2)->type, LH_RESP_SET);
    is_integer(lh_resp_child(root, 3), 4);
    assert_null(lh_resp_child(root, 4));
    assert_null(lh_resp_child(NULL, 0));

    int64_t sum = 0;
    const struct lh_resp_value *child = root + 1;
    for (uint32_t i = 0; i < root->child_count; i++, child += child->span)
        sum += child->integer;
    assert_int_equal(sum, 5);
}

static void maps_are_looked_up_in_both_versions(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "%3\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n+token\r\n:77\r\n:5\r\n*1\r\n+x\r\n",
        "*6\r\n$6\r\nstatus\r\n$7\r\ngranted\r\n+token\r\n$2\r\n77\r\n:5\r\n*1\r\n+x\r\n"};
    for (size_t i = 0; i < 2; i++) {
        const struct lh_resp_value *root = reply(lh_slice_of_string(texts[i]));
        int64_t token = 0;
        assert_int_equal(root->child_count, 6);
        is_text(lh_resp_get(root, "status"), LH_RESP_BULK, "granted");
        assert_true(lh_resp_as_integer(lh_resp_get(root, "token"), &token));
        assert_int_equal(token, 77);
        assert_null(lh_resp_get(root, "toke"));
        assert_null(lh_resp_get(root, "granted")); // a value is no key
        assert_null(lh_resp_get(root, "5"));
        assert_null(lh_resp_get(root, "x"));
    }
    assert_null(lh_resp_get(REPLY("*3\r\n+a\r\n+b\r\n+c\r\n"), "c")); // a key without its value
    assert_null(lh_resp_get(REPLY("*0\r\n"), "a"));
    assert_null(lh_resp_get(REPLY("~2\r\n+a\r\n+b\r\n"), "a"));
    assert_null(lh_resp_get(REPLY("+a\r\n"), "a"));
    assert_null(lh_resp_get(NULL, "a"));
}

static void values_are_read_as_what_they_are(void **state)
{
    (void)state;
    struct lh_slice text;
    int64_t integer = 77;
    assert_false(lh_resp_as_text(NULL, &text));
    assert_false(lh_resp_as_integer(NULL, &integer));
    assert_false(lh_resp_as_text(REPLY("-ERR x\r\n"), &text));
    assert_false(lh_resp_as_text(REPLY(":1\r\n"), &text));
    assert_false(lh_resp_as_integer(REPLY("-1\r\n"), &integer));
    assert_false(lh_resp_as_integer(REPLY("$2\r\n1x\r\n"), &integer));
    assert_false(lh_resp_as_integer(REPLY(",1\r\n"), &integer));
    assert_false(lh_resp_as_integer(REPLY("_\r\n"), &integer));
    assert_int_equal(integer, 77);
    assert_true(lh_resp_as_text(REPLY("=5\r\ntxt:x\r\n"), &text));
    assert_true(lh_slice_equal(text, LH_SLICE("x")));
    assert_true(lh_resp_as_integer(REPLY("#t\r\n"), &integer));
    assert_int_equal(integer, 1);
}

static void attributes_are_left_out(void **state)
{
    (void)state;
    is_integer(REPLY("|1\r\n+ttl\r\n:3600\r\n:5\r\n"), 5);
    is_integer(REPLY("|0\r\n:5\r\n"), 5);
    is_integer(REPLY("|1\r\n+a\r\n%1\r\n+b\r\n*2\r\n:1\r\n_\r\n:5\r\n"), 5);
    is_integer(REPLY("|1\r\n+a\r\n|1\r\n+b\r\n:1\r\n:2\r\n:5\r\n"), 5); // within one
    is_integer(REPLY("|1\r\n+a\r\n:1\r\n|1\r\n+b\r\n:1\r\n:5\r\n"), 5); // one after another
    const struct lh_resp_value *root =
        REPLY("*2\r\n|1\r\n+a\r\n:1\r\n:5\r\n*1\r\n|1\r\n+b\r\n*1\r\n:9\r\n:6\r\n");
    assert_int_equal(root->span, 4);
    is_integer(lh_resp_child(root, 0), 5);
    is_integer(lh_resp_child(lh_resp_child(root, 1), 0), 6);
    assert_int_equal(REPLY("|1\r\n+a\r\n:1\r\n>1\r\n+m\r\n")->type, LH_RESP_PUSH);
    NEEDS_MORE("|1\r\n+a\r\n:1\r\n");
    REFUSED("|1\r\n+a\r\n:x\r\n", "not an integer of 64 bits");
    REFUSED("|-1\r\n", "length is not a number from 0 up");
}

static void a_push_stands_alone(void **state)
{
    (void)state;
    static uint8_t bytes[] = ">2\r\n+message\r\n+x\r\n:7\r\n";
    lh_resp_reply_parser_init(&parser, values, CAPACITY, LIMIT);
    assert_int_equal(lh_resp_reply_parse(&parser, bytes, sizeof bytes - 1, &consumed_bytes),
                     LH_RESP_COMPLETE);
    assert_int_equal(values[0].type, LH_RESP_PUSH);
    size_t at = consumed_bytes;
    assert_int_equal(
        lh_resp_reply_parse(&parser, bytes + at, sizeof bytes - 1 - at, &consumed_bytes),
        LH_RESP_COMPLETE);
    is_integer(values, 7);
    assert_int_equal(at + consumed_bytes, sizeof bytes - 1);
    REFUSED("*1\r\n>1\r\n+x\r\n", "push inside a reply");
    REFUSED("|1\r\n>1\r\n", "push inside a reply");
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[4 * LH_RESP_DEPTH_MAX + 16] = "";
    for (int i = 0; i < LH_RESP_DEPTH_MAX; i++)
        strcat(text, "*1\r\n");
    size_t size_bytes = strlen(text);
    strcpy(text + size_bytes, ":1\r\n");
    assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_COMPLETE);
    assert_int_equal(values[0].span, LH_RESP_DEPTH_MAX + 1);
    strcpy(text + size_bytes, "*0\r\n");
    assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_MALFORMED);
    assert_string_equal(parser.reason, "nested too deep");
    strcpy(text + size_bytes, "|1\r\n");
    assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_MALFORMED);
    assert_string_equal(parser.reason, "nested too deep");
}

static void the_number_of_values_is_limited(void **state)
{
    (void)state;
    char text[4 * CAPACITY + 16] = "*39\r\n";
    for (int i = 0; i < 39; i++)
        strcat(text, ":1\r\n");
    assert_int_equal(parse(lh_slice_of_string(text)), LH_RESP_COMPLETE);
    assert_int_equal(values[0].span, CAPACITY);
    REFUSED("*40\r\n", "too many values"); // at the header
    REFUSED("%20\r\n", "too many values");
    NEEDS_MORE("%19\r\n");
    REFUSED("*39\r\n*1\r\n", "too many values");
    REFUSED("*2\r\n*38\r\n", "too many values");
    NEEDS_MORE("*2\r\n*37\r\n");
    NEEDS_MORE("|40\r\n"); // those of attributes are not kept
}

static void bytes_are_limited(void **state)
{
    (void)state;
    // A count is checked against the bytes that could hold it: here 1000 - 7, three bytes each.
    static const char many[] = "more values announced than a reply may hold";
    NEEDS_MORE("|165\r\n");
    REFUSED("|166\r\n", many);
    REFUSED("*18446744073709551615\r\n", many);
    REFUSED("%9223372036854775808\r\n", many);
    REFUSED("*4294967297\r\n", many);
    NEEDS_MORE("$992\r\n");
    REFUSED("$993\r\n", "reply too long");
    REFUSED("$18446744073709551615\r\n", "reply too long");
    REFUSED("*1\r\n$989\r\n", "reply too long");

    char text[LIMIT + 2];
    memset(text, 'a', sizeof text);
    text[0] = '+';
    memcpy(text + LIMIT - 2, "\r\n", 2);
    assert_int_equal(parse(lh_slice_of(text, LIMIT)), LH_RESP_COMPLETE);
    memcpy(text + LIMIT - 2, "a\r\n", 3);
    assert_int_equal(parse(lh_slice_of(text, LIMIT - 1)), LH_RESP_NEED_MORE);
    assert_int_equal(parse(lh_slice_of(text, LIMIT)), LH_RESP_MALFORMED);
    assert_string_equal(parser.reason, "line too long");

    // Attributes before a value do not go on for ever.
    for (size_t i = 0; i < LIMIT; i += 4)
        memcpy(text + i, "|0\r\n", 4);
    assert_int_equal(parse(lh_slice_of(text, LIMIT - 4)), LH_RESP_NEED_MORE);
    assert_int_equal(parse(lh_slice_of(text, LIMIT)), LH_RESP_MALFORMED);
    assert_string_equal(parser.reason, "reply too long");
    static const char *const last_lines[] = {"$10\r\n", "*10\r\n", "|10\r\n"};
    for (size_t i = 0; i < 3; i++) { // a header that begins within the limit and ends beyond
        memcpy(text + LIMIT - 4, last_lines[i], 5);
        assert_int_equal(parse(lh_slice_of(text, LIMIT + 1)), LH_RESP_MALFORMED);
        assert_string_equal(parser.reason, "reply too long");
    }
    memset(text, '1', sizeof text);
    text[0] = '*';
    assert_int_equal(parse(lh_slice_of(text, LH_RESP_HEADER_MAX_BYTES + 1)), LH_RESP_MALFORMED);
    assert_string_equal(parser.reason, "line too long");
}

static void malformed_stays_malformed(void **state)
{
    (void)state;
    REFUSED("x", "not a type of this protocol");
    assert_int_equal(lh_resp_reply_parse(&parser, (const uint8_t *)"+OK\r\n", 5, &consumed_bytes),
                     LH_RESP_MALFORMED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(lines),
        TEST(integers),
        TEST(doubles),
        TEST(other_lines_that_are_none),
        TEST(blobs),
        TEST(a_reply_needs_all_its_bytes),
        TEST(aggregates_are_trees_in_one_array),
        TEST(maps_are_looked_up_in_both_versions),
        TEST(values_are_read_as_what_they_are),
        TEST(attributes_are_left_out),
        TEST(a_push_stands_alone),
        TEST(depth_is_limited),
        TEST(the_number_of_values_is_limited),
        TEST(bytes_are_limited),
        TEST(malformed_stays_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
