// Text forms at the edges: each refused byte sequence has an accepted neighbour.
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ACCEPTED(text) assert_true(lh_utf8_name_valid(LH_SLICE(text)))
#define REFUSED(text) assert_false(lh_utf8_name_valid(LH_SLICE(text)))

static void a_name_has_1_to_255_bytes(void **state)
{
    (void)state;
    uint8_t name[256];
    memset(name, 'a', sizeof name);
    assert_false(lh_utf8_name_valid(lh_slice_of(NULL, 0)));
    assert_true(lh_utf8_name_valid(lh_slice_of(name, 1)));
    assert_true(lh_utf8_name_valid(lh_slice_of(name, 255)));
    assert_false(lh_utf8_name_valid(lh_slice_of(name, 256)));
}

static void a_name_has_no_control_characters(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 0x80; byte++) {
        uint8_t name[3] = {'a', (uint8_t)byte, 'b'};
        assert_int_equal(lh_utf8_name_valid(lh_slice_of(name, 3)), byte >= 0x20 && byte != 0x7f);
    }
    REFUSED("\xc2\x80");
    REFUSED("\xc2\x9f");
    ACCEPTED("\xc2\xa0");
    ACCEPTED("db/primary eu@1");
    ACCEPTED("@leader");      // whose it is, is not a question of form
    ACCEPTED("\xe2\x80\xa8"); // U+2028 separates lines but is no control character
}

static void a_name_is_wellformed_utf8(void **state)
{
    (void)state;
    ACCEPTED("sch\xc3\xb6n \xe2\x82\xac \xf0\x9f\x98\x80");
    REFUSED("\x80");
    REFUSED("\xbf");
    REFUSED("\xc0\xaf"); // overlong
    REFUSED("\xc1\xbf");
    ACCEPTED("\xdf\xbf");
    REFUSED("\xdf\x7f");
    REFUSED("\xdf\xc0");
    REFUSED("\xe0\x9f\xbf"); // overlong
    ACCEPTED("\xe0\xa0\x80");
    ACCEPTED("\xed\x9f\xbf");
    REFUSED("\xed\xa0\x80"); // surrogates
    REFUSED("\xed\xbf\xbf");
    ACCEPTED("\xee\x80\x80");
    ACCEPTED("\xef\xbf\xbf");
    REFUSED("\xf0\x8f\xbf\xbf"); // overlong
    ACCEPTED("\xf0\x90\x80\x80");
    ACCEPTED("\xf4\x8f\xbf\xbf");
    REFUSED("\xf4\x90\x80\x80"); // beyond U+10FFFF
    REFUSED("\xf5\x80\x80\x80");
    REFUSED("\xff");
}

static void a_name_does_not_end_inside_a_character(void **state)
{
    (void)state;
    REFUSED("a\xc3");
    REFUSED("a\xe2\x82");
    REFUSED("a\xe2");
    REFUSED("a\xf0\x9f\x98");
    REFUSED("a\xf0\x9f");
    REFUSED("a\xf0");
    REFUSED("\xe2\x82g");
    REFUSED("\xf0\x9f\x98g");
}

static int64_t duration_ms(const char *text)
{
    struct lh_duration duration = {-1};
    const char *reason = NULL;
    if (!lh_duration_parse(lh_slice_of_string(text), &duration, &reason))
        return -1;
    assert_null(reason);
    assert_int_equal(duration.ns % LH_NS_PER_MS, 0);
    return duration.ns / LH_NS_PER_MS;
}

static const char *duration_refusal(const char *text)
{
    struct lh_duration duration = {-77};
    const char *reason = NULL;
    assert_false(lh_duration_parse(lh_slice_of_string(text), &duration, &reason));
    assert_int_equal(duration.ns, -77);
    assert_non_null(reason);
    return reason;
}

static void durations_have_four_units(void **state)
{
    (void)state;
    assert_int_equal(duration_ms("300ms"), 300);
    assert_int_equal(duration_ms("10s"), 10000);
    assert_int_equal(duration_ms("10"), 10000);
    assert_int_equal(duration_ms("2m"), 120000);
    assert_int_equal(duration_ms("1h"), 3600000);
    assert_int_equal(duration_ms("0"), 0);
    assert_int_equal(duration_ms("0ms"), 0);
    assert_int_equal(duration_ms("007s"), 7000);
}

static void durations_are_exact_decimals(void **state)
{
    (void)state;
    assert_int_equal(duration_ms("1.5s"), 1500);
    assert_int_equal(duration_ms("1.5"), 1500);
    assert_int_equal(duration_ms("0.001s"), 1);
    assert_int_equal(duration_ms("1.2340000000000000000000000000s"), 1234);
    assert_int_equal(duration_ms("1.000000ms"), 1);
    assert_int_equal(duration_ms("0.00005m"), 3);
    assert_int_equal(duration_ms("0.0000025h"), 9);
    assert_int_equal(duration_ms("0.0000125h"), 45);
    assert_int_equal(duration_ms("0.3s"), 300); // 299 in binary floating point, rounded down
    assert_string_equal(duration_refusal("0.0005s"), "it must be a whole number of milliseconds");
    assert_string_equal(duration_refusal("1.0001"), "it must be a whole number of milliseconds");
    assert_string_equal(duration_refusal("0.5ms"), "it must be a whole number of milliseconds");
    assert_string_equal(duration_refusal("0.0000001h"),
                        "it must be a whole number of milliseconds");
    assert_string_equal(duration_refusal("0.00000125h"),
                        "it must be a whole number of milliseconds");
    assert_string_equal(duration_refusal("0.00000000000000000000000000001h"),
                        "it must be a whole number of milliseconds");
}

static void durations_have_parts(void **state)
{
    (void)state;
    assert_int_equal(duration_ms("1m30s"), 90000);
    assert_int_equal(duration_ms("1m00s"), 60000);
    assert_int_equal(duration_ms("1h2m3s4ms"), 3723004);
    assert_int_equal(duration_ms("1h0.5s"), 3600500);
    assert_int_equal(duration_ms("9223372036s854ms"), INT64_MAX / LH_NS_PER_MS);
    assert_string_equal(duration_refusal("9223372036s855ms"),
                        "it is longer than 292 years, more than can be counted");
}

static void durations_must_be_understood_whole(void **state)
{
    (void)state;
    assert_string_equal(duration_refusal(""), "it is empty");
    static const char *const starts[] = {"-1s", "+1s", " 1s", ".5s", "s", "ms", "x", "inf", "\t1"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        assert_string_equal(duration_refusal(starts[i]),
                            "it must begin with a digit (no sign, no space)");
    static const char *const points[] = {"1.", "1.s", "1.-5s", "1. 5s", "1..5s"};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        assert_string_equal(duration_refusal(points[i]), "a digit must follow the decimal point");
    static const char *const units[] = {"1 s", "1s ",  "1S", "1MS",  "1us", "1d",   "1min", "1m30d",
                                        "1e3", "1.5.", "1_", "0x10", "1,5", "1mss", "1\n"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        assert_string_equal(duration_refusal(units[i]),
                            "after the number only ms, s, m or h may follow");
    static const char *const orders[] = {"1m30", "1s1m", "1m1m", "1h1ms1s", "1s1"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        assert_string_equal(duration_refusal(orders[i]), "several parts begin with the greatest "
                                                         "unit, and each has one, as in 1m30s");
    struct lh_duration duration;
    const char *reason = NULL;
    assert_false(lh_duration_parse(LH_SLICE("1s\0"), &duration, &reason));
}

static void durations_do_not_wrap(void **state)
{
    (void)state;
    static const char too_long[] = "it is longer than 292 years, more than can be counted";
    assert_int_equal(duration_ms("9223372036854ms"), INT64_MAX / LH_NS_PER_MS);
    assert_string_equal(duration_refusal("9223372036855ms"), too_long);
    assert_int_equal(duration_ms("9223372036.854s"), INT64_MAX / LH_NS_PER_MS);
    assert_string_equal(duration_refusal("9223372036.855s"), too_long);
    assert_string_equal(duration_refusal("9223372037"), too_long);
    assert_int_equal(duration_ms("2562047h"), INT64_C(2562047) * 3600000);
    assert_string_equal(duration_refusal("2562048h"), too_long);
    assert_string_equal(duration_refusal("18446744073709551617"), too_long); // 2^64 + 1
    assert_string_equal(duration_refusal("99999999999999999999999999999999999999h"), too_long);
}

static void unsigned_integers(void **state)
{
    (void)state;
    uint64_t value = 77;
    assert_true(lh_u64_parse(LH_SLICE("0"), &value));
    assert_true(value == 0);
    assert_true(lh_u64_parse(LH_SLICE("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    value = 77;
    static const char *const refused[] = {"18446744073709551616",
                                          "18446744073709551620",
                                          "99999999999999999999",
                                          "100000000000000000000",
                                          "",
                                          "-1",
                                          "+1",
                                          " 1",
                                          "1 ",
                                          "01",
                                          "00",
                                          "1.0",
                                          "0x1",
                                          "1e3",
                                          "a"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_false(lh_u64_parse(lh_slice_of_string(refused[i]), &value));
    assert_true(value == 77);
}

static void signed_integers(void **state)
{
    (void)state;
    int64_t value = 77;
    assert_true(lh_i64_parse(LH_SLICE("9223372036854775807"), &value));
    assert_true(value == INT64_MAX);
    assert_true(lh_i64_parse(LH_SLICE("-9223372036854775808"), &value));
    assert_true(value == INT64_MIN);
    assert_true(lh_i64_parse(LH_SLICE("-1"), &value));
    assert_true(value == -1);
    assert_true(lh_i64_parse(LH_SLICE("0"), &value));
    assert_true(value == 0);
    value = 77;
    static const char *const refused[] = {
        "9223372036854775808", "-9223372036854775809", "-0", "-", "--1", "", "-01", "- 1",
        "18446744073709551615"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_false(lh_i64_parse(lh_slice_of_string(refused[i]), &value));
    assert_true(value == 77);
}

static void integers_print_as_they_parse(void **state)
{
    (void)state;
    char text[LH_INTEGER_TEXT_BYTES];
    uint64_t power = 1;
    for (int digits = 1; digits <= 20; digits++) {
        for (int delta = -1; delta <= 1; delta++) {
            uint64_t value = power + (uint64_t)(int64_t)delta;
            uint64_t back = 0;
            size_t size_bytes = lh_u64_format(value, text);
            assert_int_equal(size_bytes, strlen(text));
            assert_true(lh_u64_parse(lh_slice_of_string(text), &back));
            assert_true(back == value);
            int64_t signed_back = 0;
            size_bytes = lh_i64_format((int64_t)value, text);
            assert_int_equal(size_bytes, strlen(text));
            assert_true(lh_i64_parse(lh_slice_of_string(text), &signed_back));
            assert_true(signed_back == (int64_t)value);
        }
        power *= 10;
    }
    assert_int_equal(lh_u64_format(UINT64_MAX, text), 20);
    assert_string_equal(text, "18446744073709551615");
    assert_int_equal(lh_i64_format(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
    lh_u64_format(0, text);
    assert_string_equal(text, "0");
    lh_u64_format(100, text);
    assert_string_equal(text, "100");
}

static void json_text(const struct lh_slice text, const char *expected)
{
    uint8_t buffer[256];
    struct lh_writer writer = lh_writer_of(buffer, sizeof buffer);
    lh_json_string(&writer, text);
    assert_false(writer.failed);
    assert_true(lh_slice_equal(lh_writer_slice(&writer), lh_slice_of_string(expected)));
}

static void json_strings_are_escaped(void **state)
{
    (void)state;
    json_text(LH_SLICE(""), "\"\"");
    json_text(LH_SLICE("plain / text"), "\"plain / text\"");
    json_text(LH_SLICE("a\"b\\c"), "\"a\\\"b\\\\c\"");
    json_text(LH_SLICE("\b\t\n\f\r"), "\"\\b\\t\\n\\f\\r\"");
    json_text(LH_SLICE("\0\1\x1f\x20\x7e\x7f"), "\"\\u0000\\u0001\\u001f ~\\u007f\"");
    json_text(LH_SLICE("\xc2\x80\xc2\x9f\xc2\xa0"), "\"\\u0080\\u009f\xc2\xa0\"");
    json_text(LH_SLICE("\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xe2\x82\xac\xf0\x9f\x98\x80\"");
    json_text(LH_SLICE("\xff"
                       "a\xe2\x82"),
              "\"\\ufffda\\ufffd\\ufffd\"");
}

static void json_that_does_not_fit_fails(void **state)
{
    (void)state;
    uint8_t buffer[8];
    struct lh_writer writer = lh_writer_of(buffer, 8);
    lh_json_string(&writer, LH_SLICE("\1"));
    assert_false(writer.failed);
    writer = lh_writer_of(buffer, 7);
    lh_json_string(&writer, LH_SLICE("\1"));
    assert_true(writer.failed);
}

static void hex_goes_both_ways(void **state)
{
    (void)state;
    uint8_t all[256];
    uint8_t back[256];
    char text[2 * sizeof all + 1];
    for (unsigned i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    lh_hex_encode(all, sizeof all, text);
    assert_int_equal(strlen(text), 512);
    assert_memory_equal(text, "000102", 6);
    assert_memory_equal(text + 510, "ff", 3);
    assert_true(lh_hex_decode(lh_slice_of_string(text), back, sizeof back));
    assert_memory_equal(back, all, sizeof all);
    assert_true(lh_hex_decode(LH_SLICE("aFaF"), back, 2));
    assert_int_equal(back[0], 0xaf);
    assert_int_equal(back[1], 0xaf);
    assert_true(lh_hex_decode(LH_SLICE(""), back, 0));
}

static void hex_of_another_size_or_alphabet_is_refused(void **state)
{
    (void)state;
    uint8_t back[2] = {7, 7};
    static const char *const refused[] = {"",     "00",   "000",  "00000", "000000", "00g0", "/000",
                                          ":000", "@000", "G000", "`000",  "000 ",   "0x00"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_false(lh_hex_decode(lh_slice_of_string(refused[i]), back, 2));
    assert_false(lh_hex_decode(LH_SLICE("00"), back, SIZE_MAX / 2 + 2));
    assert_int_equal(back[0], 7);
    assert_int_equal(back[1], 7);
}

static void test_percent(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t ppm;
    } good[] = {{"1%", 10000}, {"0.02%", 200}, {"0%", 0}, {"100%", 1000000}, {"0.00010%", 1}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t ppm = 77;
        assert_true(lh_percent_parse(lh_slice_of_string(good[i].text), &ppm));
        assert_int_equal(ppm, good[i].ppm);
    }
    const char *const bad[] = {"", "%", "1", "1.%", ".5%", "-1%", "1%%", "0.00001%", "1e2%"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t ppm = 77;
        assert_false(lh_percent_parse(lh_slice_of_string(bad[i]), &ppm));
        assert_int_equal(ppm, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_1_to_255_bytes),
        cmocka_unit_test(a_name_has_no_control_characters),
        cmocka_unit_test(a_name_is_wellformed_utf8),
        cmocka_unit_test(a_name_does_not_end_inside_a_character),
        cmocka_unit_test(durations_have_four_units),
        cmocka_unit_test(durations_are_exact_decimals),
        cmocka_unit_test(durations_have_parts),
        cmocka_unit_test(durations_must_be_understood_whole),
        cmocka_unit_test(durations_do_not_wrap),
        cmocka_unit_test(unsigned_integers),
        cmocka_unit_test(signed_integers),
        cmocka_unit_test(integers_print_as_they_parse),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(json_that_does_not_fit_fails),
        cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(hex_of_another_size_or_alphabet_is_refused),
        cmocka_unit_test(test_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
