// Log lines: fields stay fields whatever is put into them, and nothing floods the log.
#include "node/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char line[LH_LOG_LINE_MAX + 1];

__attribute__((format(printf, 4, 5))) static const char *format_into(size_t capacity,
                                                                     enum lh_log_style style,
                                                                     enum lh_log_level level,
                                                                     const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t size = lh_log_format(line, capacity, style, INT64_C(1700000000123456789), level,
                                      "peer-refused", format, arguments);
    va_end(arguments);
    assert_true(size <= capacity);
    line[size] = '\0';
    return line;
}

// The fields only, without the start that all lines share.
#define fields(...) (format_into(LH_LOG_LINE_MAX, LH_LOG_JOURNAL, LH_LOG_WARN, __VA_ARGS__) + 32)

static void a_line_begins_with_its_priority_or_the_time(void **state)
{
    (void)state;
    assert_string_equal(format_into(LH_LOG_LINE_MAX, LH_LOG_JOURNAL, LH_LOG_WARN, "node=%u", 2u),
                        "<4>level=warn event=peer-refused node=2\n");
    assert_string_equal(format_into(LH_LOG_LINE_MAX, LH_LOG_TIMED, LH_LOG_ERROR, "node=%u", 2u),
                        "time=2023-11-14T22:13:20.123Z level=error event=peer-refused node=2\n");
    assert_memory_equal(format_into(LH_LOG_LINE_MAX, LH_LOG_JOURNAL, LH_LOG_DEBUG, "a=%d", 1),
                        "<7>level=debug ", 15);
    assert_memory_equal(format_into(LH_LOG_LINE_MAX, LH_LOG_JOURNAL, LH_LOG_INFO, "a=%d", 1),
                        "<6>level=info ", 14);
}

static void every_conversion_and_length(void **state)
{
    (void)state;
    assert_string_equal(fields("a=%d b=%u c=%x d=%c e=%i%%", -1, 2u, 0xabu, 'z', 5),
                        " a=-1 b=2 c=ab d=z e=5%\n");
    assert_string_equal(fields("a=%ld b=%lu c=%lld d=%llu", -1L, 2UL, INT64_MIN + 0LL, ~0ULL),
                        " a=-1 b=2 c=-9223372036854775808 d=18446744073709551615\n");
    assert_string_equal(fields("a=%zu b=%" PRId64 " c=%" PRIu64 " d=%jd e=%zd", (size_t)7,
                               INT64_C(-8), UINT64_C(9), (intmax_t)-10, (ssize_t)-11),
                        " a=7 b=-8 c=9 d=-10 e=-11\n");
    assert_string_equal(fields("a=%hhu b=%hd", (unsigned char)200, (short)-5), " a=200 b=-5\n");
    assert_string_equal(fields("a=%.*s b=%s", 3, "abcdef", "xyz"), " a=abc b=xyz\n");
    assert_string_equal(fields("a=%.*s b=%d", 0, "abc", 1), " a=\"\" b=1\n");
}

static void a_value_may_have_several_parts(void **state)
{
    (void)state;
    assert_string_equal(fields("address=%s:%u reason=older", "10.0.0.2", 7741u),
                        " address=10.0.0.2:7741 reason=older\n");
    assert_string_equal(fields("address=%s:%u", "a b", 7741u), " address=\"a b:7741\"\n");
}

static void a_value_cannot_become_a_field_or_a_line(void **state)
{
    (void)state;
    assert_string_equal(fields("holder=%s", "x level=error"), " holder=\"x level=error\"\n");
    assert_string_equal(fields("holder=%s", "x\nevent=y"), " holder=\"x\\x0aevent=y\"\n");
    assert_string_equal(fields("holder=%s", "a\"b\\c"), " holder=\"a\\\"b\\\\c\"\n");
    assert_string_equal(fields("holder=%s", ""), " holder=\"\"\n");
    assert_string_equal(fields("holder=%s node=%d", "a=b", 1), " holder=\"a=b\" node=1\n");
    assert_string_equal(fields("holder=%s", "\x1b[2J"), " holder=\"\\x1b[2J\"\n");
    assert_string_equal(fields("holder=%s", "100%s"), " holder=100%s\n");
}

static void utf8_stays_and_what_is_not_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(fields("name=%s", "Köln"), " name=\"Köln\"\n");
    assert_string_equal(fields("name=%s", "a\xff\xc3"), " name=\"a\\xff\\xc3\"\n");
    assert_string_equal(fields("name=%s", "a\xc2\x9b"), " name=\"a\\xc2\\x9b\"\n"); // C1
}

static void a_line_that_is_too_long_says_so(void **state)
{
    (void)state;
    // "<4>level=warn event=peer-refused" is 32 bytes, " a=" three, " cut=yes\n" nine.
    assert_string_equal(format_into(32 + 3 + 4 + 9, LH_LOG_JOURNAL, LH_LOG_WARN, "a=%s", "1234"),
                        "<4>level=warn event=peer-refused a=1234\n");
    assert_string_equal(format_into(32 + 3 + 4 + 9, LH_LOG_JOURNAL, LH_LOG_WARN, "a=%s", "12345"),
                        "<4>level=warn event=peer-refused a=1234 cut=yes\n");
    assert_string_equal(format_into(32 + 3 + 5 + 9, LH_LOG_JOURNAL, LH_LOG_WARN, "a=%s", "1 23"),
                        "<4>level=warn event=peer-refused a=\"1 2\" cut=yes\n");
    assert_string_equal(format_into(32 + 3 + 1 + 9, LH_LOG_JOURNAL, LH_LOG_WARN, "a=%s", "1 23"),
                        "<4>level=warn event=peer-refused a= cut=yes\n");
    char longer[2 * LH_LOG_LINE_MAX];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    const char *cut = format_into(LH_LOG_LINE_MAX, LH_LOG_JOURNAL, LH_LOG_WARN, "a=%s", longer);
    assert_int_equal(strlen(cut), LH_LOG_LINE_MAX);
    assert_string_equal(cut + LH_LOG_LINE_MAX - 9, " cut=yes\n");
}

static ssize_t read_line(int file)
{
    const ssize_t size = read(file, line, sizeof(line) - 1);
    line[size < 0 ? 0 : size] = '\0';
    return size;
}

static int evaluated;

static int evaluate(void)
{
    return ++evaluated;
}

static void the_level_decides_what_is_written(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    unsetenv("JOURNAL_STREAM");
    lh_log_open(ends[1], LH_LOG_INFO);
    lh_log(LH_LOG_DEBUG, "hidden", "a=%d", evaluate());
    lh_log_event(LH_LOG_DEBUG, "hidden");
    assert_int_equal(evaluated, 0);
    lh_log(LH_LOG_INFO, "shown", "a=%d", evaluate());
    assert_true(read_line(ends[0]) > 0);
    assert_non_null(strstr(line, "Z level=info event=shown a=1\n"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    lh_log_set_level(LH_LOG_DEBUG);
    lh_log_event(LH_LOG_DEBUG, "started");
    assert_true(read_line(ends[0]) > 0);
    assert_non_null(strstr(line, "Z level=debug event=started\n"));
    close(ends[0]);
    close(ends[1]);
}

static void the_priority_is_written_only_to_the_journal(void **state)
{
    (void)state;
    int ends[2];
    struct stat status;
    char stream[64];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fstat(ends[1], &status), 0);

    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    lh_log_open(ends[1], LH_LOG_INFO);
    lh_log_event(LH_LOG_WARN, "x");
    read_line(ends[0]);
    assert_string_equal(line, "<4>level=warn event=x\n");

    // Inherited, but standard error goes elsewhere by now.
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino + 1);
    setenv("JOURNAL_STREAM", stream, 1);
    lh_log_open(ends[1], LH_LOG_INFO);
    lh_log_event(LH_LOG_WARN, "x");
    read_line(ends[0]);
    assert_memory_equal(line, "time=", 5);
    unsetenv("JOURNAL_STREAM");
    close(ends[0]);
    close(ends[1]);
}

static void a_kind_is_due_once_in_its_interval(void **state)
{
    (void)state;
    struct lh_log_limit limit = {0};
    const struct lh_duration interval = lh_ms(10);
    uint64_t missed = 99;
    assert_true(lh_log_every(&limit, (struct lh_instant){5 * LH_NS_PER_MS}, interval, &missed));
    assert_int_equal(missed, 0);
    missed = 99;
    assert_false(lh_log_every(&limit, (struct lh_instant){5 * LH_NS_PER_MS}, interval, &missed));
    assert_false(
        lh_log_every(&limit, (struct lh_instant){15 * LH_NS_PER_MS - 1}, interval, &missed));
    assert_int_equal(missed, 99);
    assert_true(lh_log_every(&limit, (struct lh_instant){15 * LH_NS_PER_MS}, interval, &missed));
    assert_int_equal(missed, 2);
    assert_true(lh_log_every(&limit, (struct lh_instant){40 * LH_NS_PER_MS}, interval, &missed));
    assert_int_equal(missed, 0);
}

// How many bytes a pipe holds until it takes no more.
static size_t fill(int file)
{
    static const char bytes[4096];
    size_t size = 0;
    fcntl(file, F_SETFL, O_NONBLOCK);
    for (ssize_t part = 0; part >= 0; size += part > 0 ? (size_t)part : 0)
        part = write(file, bytes, sizeof(bytes));
    fcntl(file, F_SETFL, 0);
    return size;
}

static void drain(int file, size_t size)
{
    char bytes[4096];
    while (size > 0) {
        const ssize_t part = read(file, bytes, size < sizeof(bytes) ? size : sizeof(bytes));
        assert_true(part > 0);
        size -= (size_t)part;
    }
}

static void lines_that_nobody_takes_are_dropped_and_counted(void **state)
{
    (void)state;
    int ends[2];
    const uint64_t before = lh_log_dropped();
    assert_int_equal(pipe(ends), 0);
    unsetenv("JOURNAL_STREAM");
    lh_log_open(ends[1], LH_LOG_INFO);
    const size_t size = fill(ends[1]);
    alarm(10); // which ends a test that waits for a reader
    lh_log_event(LH_LOG_INFO, "lost");
    lh_log(LH_LOG_ERROR, "lost", "a=%d", 1);
    lh_log_event(LH_LOG_DEBUG, "hidden");
    alarm(0);
    assert_int_equal(lh_log_dropped() - before, 2);

    drain(ends[0], size);
    lh_log_event(LH_LOG_INFO, "shown");
    assert_true(read_line(ends[0]) > 0);
    const char *second = strchr(line, '\n') + 1;
    assert_memory_equal(line, "time=", 5);
    assert_non_null(strstr(line, "Z level=warn event=log-lines-dropped lines=2\n"));
    assert_true(strstr(line, "lines=2\n") < second);
    assert_non_null(strstr(second, "Z level=info event=shown\n"));
    lh_log_event(LH_LOG_INFO, "again");
    read_line(ends[0]);
    assert_null(strstr(line, "dropped"));
    assert_int_equal(lh_log_dropped() - before, 2);
    close(ends[0]);
    close(ends[1]);
}

static void a_log_without_a_reader_or_a_file_is_counted_too(void **state)
{
    (void)state;
    int ends[2];
    const uint64_t before = lh_log_dropped();
    assert_int_equal(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN);
    lh_log_open(ends[1], LH_LOG_INFO);
    close(ends[0]);
    lh_log_event(LH_LOG_INFO, "lost");
    assert_int_equal(lh_log_dropped() - before, 1);
    close(ends[1]);
    lh_log_event(LH_LOG_INFO, "lost");
    assert_int_equal(lh_log_dropped() - before, 2);
    signal(SIGPIPE, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_begins_with_its_priority_or_the_time),
        cmocka_unit_test(every_conversion_and_length),
        cmocka_unit_test(a_value_may_have_several_parts),
        cmocka_unit_test(a_value_cannot_become_a_field_or_a_line),
        cmocka_unit_test(utf8_stays_and_what_is_not_is_escaped),
        cmocka_unit_test(a_line_that_is_too_long_says_so),
        cmocka_unit_test(the_level_decides_what_is_written),
        cmocka_unit_test(the_priority_is_written_only_to_the_journal),
        cmocka_unit_test(a_kind_is_due_once_in_its_interval),
        cmocka_unit_test(lines_that_nobody_takes_are_dropped_and_counted),
        cmocka_unit_test(a_log_without_a_reader_or_a_file_is_counted_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
