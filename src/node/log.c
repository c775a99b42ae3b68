// Rendering and writing of log lines: see log.h. The format is walked here instead of by vsnprintf,
// because only then is it known where an argument ends and a field begins. A line is written at
// once or dropped and counted: whoever reads standard error must not be able to stop the daemon.
#include "node/log.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/slice.h"
#include "base/text.h"
#include "os/clock.h"

#define CUT " cut=yes\n"

static struct {
    int file;
    enum lh_log_style style;
    _Atomic(enum lh_log_level) level;
    pthread_mutex_t mutex;     // held from asking for room until it is used
    uint64_t untold;           // lines dropped since the last that was written
    _Atomic(uint64_t) dropped; // ever
} state = {.file = STDERR_FILENO,
           .style = LH_LOG_TIMED,
           .level = LH_LOG_INFO,
           .mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *name;
    int priority; // of syslog(3), as sd-daemon(3) writes it before a line
} levels[] = {
    [LH_LOG_ERROR] = {"error", 3},
    [LH_LOG_WARN] = {"warn", 4},
    [LH_LOG_INFO] = {"info", 6},
    [LH_LOG_DEBUG] = {"debug", 7},
};

// $JOURNAL_STREAM is DEVICE:INODE of the journal's socket. Standard error may have been redirected
// since, or the variable inherited, so it counts only if it names this very file (systemd.exec(5)).
static bool is_journal(int file)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    char expected[64];
    if (stream == NULL || fstat(file, &status) != 0)
        return false;
    snprintf(expected, sizeof(expected), "%ju:%ju", (uintmax_t)status.st_dev,
             (uintmax_t)status.st_ino);
    return strcmp(stream, expected) == 0;
}

void lh_log_open(int file, enum lh_log_level level)
{
    state.file = file;
    state.style = is_journal(file) ? LH_LOG_JOURNAL : LH_LOG_TIMED;
    lh_log_set_level(level);
}

void lh_log_set_level(enum lh_log_level level)
{
    atomic_store_explicit(&state.level, level, memory_order_relaxed);
}

bool lh_log_enabled(enum lh_log_level level)
{
    return level <= atomic_load_explicit(&state.level, memory_order_relaxed);
}

const char *lh_log_level_name(enum lh_log_level level)
{
    return levels[level].name;
}

// Bytes with a fixed end: what does not fit is dropped and remembered.
struct text {
    char *bytes;
    size_t used;
    size_t capacity;
    bool cut;
};

static void append(struct text *text, const char *bytes, size_t size)
{
    const size_t room = text->capacity - text->used;
    if (size > room) {
        size = room;
        text->cut = true;
    }
    if (size > 0)
        memcpy(text->bytes + text->used, bytes, size);
    text->used += size;
}

static void append_string(struct text *text, const char *string)
{
    append(text, string, strlen(string));
}

static bool needs_quotes(const struct text *value)
{
    for (size_t i = 0; i < value->used; i++) {
        const unsigned char byte = (unsigned char)value->bytes[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '"' || byte == '=' || byte == '\\')
            return true;
    }
    return value->used == 0;
}

// Appends the character at the front of `rest`; returns its size. UTF-8 stands as it is, so that
// names can be read; control characters, C1 as well, and bytes that are not UTF-8 are escaped.
static size_t append_character(struct text *line, struct lh_slice rest)
{
    static const char hex[] = "0123456789abcdef";
    const uint8_t byte = rest.data[0];
    const size_t size = lh_utf8_char_bytes(rest);
    const bool control =
        byte < ' ' || byte == 0x7f || (size == 2 && byte == 0xc2 && rest.data[1] < 0xa0);
    if (byte == '"' || byte == '\\') {
        append(line, (const char[]){'\\', (char)byte}, 2);
        return 1;
    }
    if (size == 0 || control) {
        append(line, (const char[]){'\\', 'x', hex[byte >> 4], hex[byte & 15]}, 4);
        return 1;
    }
    append(line, (const char *)rest.data, size);
    return size;
}

static void append_value(struct text *line, const struct text *value)
{
    line->cut |= value->cut;
    if (!needs_quotes(value)) {
        append(line, value->bytes, value->used);
        return;
    }
    if (line->capacity - line->used < 2) {
        line->cut = true;
        return;
    }
    line->capacity--; // the closing quote is there even if the value is cut
    append(line, "\"", 1);
    for (size_t i = 0; i < value->used;)
        i += append_character(line, lh_slice_of(value->bytes + i, value->used - i));
    line->capacity++;
    append(line, "\"", 1);
}

// A conversion: the part between '%' and its letter.
struct conversion {
    int long_count; // 1 for l, 2 for ll and j, 3 for z; h and hh are promoted to int
    int precision;  // of %.*s, -1 if there is none
};

// NOLINTBEGIN(clang-analyzer-valist.Uninitialized): clang 14 does not see that whoever passes a
// pointer to a va_list has started it.
static int64_t signed_argument(struct conversion conversion, va_list *arguments)
{
    switch (conversion.long_count) {
    case 0: return va_arg(*arguments, int);
    case 1: return va_arg(*arguments, long);
    case 2: return va_arg(*arguments, long long);
    default: return va_arg(*arguments, ssize_t);
    }
}

static uint64_t unsigned_argument(struct conversion conversion, va_list *arguments)
{
    switch (conversion.long_count) {
    case 0: return va_arg(*arguments, unsigned int);
    case 1: return va_arg(*arguments, unsigned long);
    case 2: return va_arg(*arguments, unsigned long long);
    default: return va_arg(*arguments, size_t);
    }
}

static void append_argument(struct text *value, char letter, struct conversion conversion,
                            va_list *arguments)
{
    char digits[32] = "";
    switch (letter) {
    case 's': {
        const char *string = va_arg(*arguments, const char *);
        if (conversion.precision >= 0) // none of it may be at NULL
            append(value, string, string ? strnlen(string, (size_t)conversion.precision) : 0);
        else
            append_string(value, string);
        return;
    }
    case 'c': append(value, (const char[]){(char)va_arg(*arguments, int)}, 1); return;
    case 'd':
    case 'i':
        snprintf(digits, sizeof(digits), "%" PRId64, signed_argument(conversion, arguments));
        break;
    case 'u':
        snprintf(digits, sizeof(digits), "%" PRIu64, unsigned_argument(conversion, arguments));
        break;
    case 'x':
        snprintf(digits, sizeof(digits), "%" PRIx64, unsigned_argument(conversion, arguments));
        break;
    case '%': append(value, "%", 1); return;
    default: LH_ASSERT_EQ(letter, 's'); // not a conversion that log.h lists
    }
    append_string(value, digits);
}

// NOLINTEND(clang-analyzer-valist.Uninitialized)

// Renders the conversion that follows a '%'; returns what comes after it.
static const char *render_conversion(struct text *value, const char *format, va_list *arguments)
{
    struct conversion conversion = {.precision = -1};
    if (format[0] == '.' && format[1] == '*') {
        const int precision = va_arg(*arguments, int);
        conversion.precision = precision < 0 ? 0 : precision;
        format += 2;
    }
    for (;; format++) {
        if (*format == 'l')
            conversion.long_count++;
        else if (*format == 'j')
            conversion.long_count = 2;
        else if (*format == 'z')
            conversion.long_count = 3;
        else if (*format != 'h')
            break;
    }
    append_argument(value, *format, conversion, arguments);
    return format + 1;
}

// Renders one field, "key=" as it stands and its value as a unit; returns what comes after it.
static const char *render_field(struct text *line, const char *format, va_list *arguments)
{
    char bytes[LH_LOG_LINE_MAX];
    struct text value = {.bytes = bytes, .capacity = sizeof(bytes)};
    const size_t key = strcspn(format, "= ") + 1;
    LH_ASSERT(format[key - 1] == '=');
    append(line, " ", 1);
    append(line, format, key);
    format += key;
    while (*format != '\0' && *format != ' ') {
        if (*format == '%') {
            format = render_conversion(&value, format + 1, arguments);
        } else {
            append(&value, format, 1);
            format++;
        }
    }
    append_value(line, &value);
    return format + (*format == ' ');
}

static void render_start(struct text *line, enum lh_log_style style, int64_t realtime_ns,
                         enum lh_log_level level)
{
    char start[64];
    if (style == LH_LOG_JOURNAL) {
        snprintf(start, sizeof(start), "<%d>", levels[level].priority);
    } else {
        const time_t seconds = (time_t)(realtime_ns / LH_NS_PER_S);
        struct tm date = {0};
        gmtime_r(&seconds, &date);
        const size_t used = strftime(start, sizeof(start), "time=%Y-%m-%dT%H:%M:%S", &date);
        snprintf(start + used, sizeof(start) - used, ".%03dZ ",
                 (int)(realtime_ns % LH_NS_PER_S / LH_NS_PER_MS));
    }
    append_string(line, start);
    append_string(line, "level=");
    append_string(line, levels[level].name);
}

size_t lh_log_format(char *out, size_t capacity, enum lh_log_style style, int64_t realtime_ns,
                     enum lh_log_level level, const char *event, const char *format,
                     va_list arguments)
{
    // Room for the mark of a cut line, or for the newline of a whole one, is kept from the start.
    struct text line = {.bytes = out, .capacity = capacity - strlen(CUT)};
    // An array type cannot be passed on by address, and va_list is one on some machines: copy it
    // first.
    va_list rest;
    va_copy(rest, arguments);
    render_start(&line, style, realtime_ns, level);
    append_string(&line, " event=");
    append_string(&line, event);
    while (format != NULL && *format != '\0')
        format = render_field(&line, format, &rest);
    va_end(rest);
    const char *end = line.cut ? CUT : "\n";
    memcpy(out + line.used, end, strlen(end));
    return line.used + strlen(end);
}

// A pipe that says POLLOUT takes PIPE_BUF bytes without waiting. O_NONBLOCK would do so too, but for
// every process that has the same standard error.
static bool write_at_once(const char *line, size_t size)
{
    _Static_assert(LH_LOG_LINE_MAX <= PIPE_BUF, "a line is one write that does not wait");
    struct pollfd file = {.fd = state.file, .events = POLLOUT};
    return poll(&file, 1, 0) == 1 && (file.revents & POLLOUT) != 0 &&
           write(state.file, line, size) == (ssize_t)size;
}

// True unless lines were dropped and not even that can be written.
static bool tell_dropped(void)
{
    char line[LH_LOG_LINE_MAX];
    struct text text = {.bytes = line, .capacity = sizeof(line)};
    char fields[64];
    if (state.untold == 0)
        return true;
    render_start(&text, state.style, lh_clock_realtime_ns(), LH_LOG_WARN);
    snprintf(fields, sizeof(fields), " event=log-lines-dropped lines=%" PRIu64 "\n", state.untold);
    append_string(&text, fields);
    if (!write_at_once(line, text.used))
        return false;
    state.untold = 0;
    return true;
}

static void write_line(enum lh_log_level level, const char *event, const char *format,
                       va_list arguments)
{
    char line[LH_LOG_LINE_MAX];
    const size_t size = lh_log_format(line, sizeof(line), state.style, lh_clock_realtime_ns(),
                                      level, event, format, arguments);
    pthread_mutex_lock(&state.mutex);
    if (!tell_dropped() || !write_at_once(line, size)) {
        state.untold++;
        atomic_fetch_add_explicit(&state.dropped, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&state.mutex);
}

uint64_t lh_log_dropped(void)
{
    return atomic_load_explicit(&state.dropped, memory_order_relaxed);
}

void lh_log_write(enum lh_log_level level, const char *event, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(level, event, format, arguments);
    va_end(arguments);
}

// Variadic only to have an empty list of arguments to pass on.
static void write_event(enum lh_log_level level, const char *event, ...)
{
    va_list none;
    va_start(none, event);
    write_line(level, event, NULL, none);
    va_end(none);
}

void lh_log_event(enum lh_log_level level, const char *event)
{
    if (lh_log_enabled(level))
        write_event(level, event);
}

bool lh_log_every(struct lh_log_limit *limit, struct lh_instant now, struct lh_duration interval,
                  uint64_t *ret_missed)
{
    if (lh_before(now, limit->next)) {
        limit->missed++;
        return false;
    }
    *ret_missed = limit->missed;
    limit->missed = 0;
    limit->next = lh_after(now, interval);
    return true;
}
