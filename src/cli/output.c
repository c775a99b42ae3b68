// See output.h.
#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/text.h"
#include "cli/exit.h"
#include "os/error.h"

void lh_complain(const char *command, const char *format, ...)
{
    struct lh_error error;
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start
    lh_error_set_list(&error, format, arguments);
    va_end(arguments);
    fprintf(stderr, "leasehold%s%s: %s\n", command != NULL ? " " : "",
            command != NULL ? command : "", error.text);
}

const char *lh_duration_text(struct lh_duration duration, char ret[LH_DURATION_TEXT_BYTES])
{
    int64_t ms = duration.ns > 0 ? lh_floor_ms(duration) : 0;
    int64_t s = ms / 1000;
    size_t size = LH_DURATION_TEXT_BYTES;
    if (ms < 1000)
        snprintf(ret, size, "%" PRId64 "ms", ms);
    else if (s < 60 && ms % 1000 != 0)
        snprintf(ret, size, "%" PRId64 ".%" PRId64 "s", s, ms % 1000 / 100);
    else if (s < 120)
        snprintf(ret, size, "%" PRId64 "s", s);
    else if (s < 3600 && s % 60 == 0)
        snprintf(ret, size, "%" PRId64 "m", s / 60);
    else if (s < 3600)
        snprintf(ret, size, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400 && s % 3600 < 60)
        snprintf(ret, size, "%" PRId64 "h", s / 3600);
    else if (s < 86400)
        snprintf(ret, size, "%" PRId64 "h%02" PRId64 "m", s / 3600, s % 3600 / 60);
    else
        snprintf(ret, size, "%" PRId64 "d%02" PRId64 "h", s / 86400, s % 86400 / 3600);
    return ret;
}

int64_t lh_ceil_ms(int64_t ns)
{
    return ns / LH_NS_PER_MS + (ns % LH_NS_PER_MS > 0);
}

const char *lh_duration_text_up(struct lh_duration duration, char ret[LH_DURATION_TEXT_BYTES])
{
    static const struct {
        int64_t below_s;
        int64_t step_ms; // the last digit that lh_duration_text shows
    } steps[] = {{1, 1}, {60, 100}, {3600, 1000}, {86400, 60000}, {INT64_MAX, 3600000}};
    int64_t ms = duration.ns > 0 ? lh_ceil_ms(duration.ns) : 0;
    size_t i = 0;
    while (ms / 1000 >= steps[i].below_s)
        i++;
    int64_t over_ms = ms % steps[i].step_ms;
    return lh_duration_text(lh_ms(over_ms > 0 ? ms - over_ms + steps[i].step_ms : ms), ret);
}

const char *lh_held_text(const struct lh_answer *answer, char ret[LH_HELD_TEXT_BYTES])
{
    char left[LH_DURATION_TEXT_BYTES];
    size_t size = LH_HELD_TEXT_BYTES;
    if (answer->holder[0] == '\0' && answer->token == 0 && answer->free_in_ns > 0) {
        char node[48] = "";
        if (answer->node > 0)
            snprintf(node, sizeof node, ": node %" PRId64 " names none", answer->node);
        snprintf(ret, size, "no holder known%s; members still refuse it for at most %s", node,
                 lh_duration_text_up((struct lh_duration){answer->free_in_ns}, left));
        return ret;
    }
    int used = snprintf(ret, size, "held by %s",
                        answer->holder[0] != '\0' ? answer->holder : "somebody else");
    if (answer->token > 0)
        used += snprintf(ret + used, size - (size_t)used, " (token %" PRId64 ", node %" PRId64 ")",
                         answer->token, answer->node);
    if (answer->free_in_ns > 0)
        used += snprintf(ret + used, size - (size_t)used, ", free in at most %s%s",
                         lh_duration_text_up((struct lh_duration){answer->free_in_ns}, left),
                         answer->revoked ? "" : " unless renewed");
    if (answer->revoked)
        used += snprintf(ret + used, size - (size_t)used, ": it was revoked");
    if (answer->reason[0] != '\0' && answer->holder[0] == '\0')
        snprintf(ret + used, size - (size_t)used, ": %s", answer->reason);
    return ret;
}

// --- tables ---

#define COLUMN_WIDTH_MOST 48 // of what one long name makes all others wide

static void add_cell(struct lh_table *table, char *text)
{
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 64 : table->room * 2;
        char **cells = realloc(table->cells, room * sizeof *cells);
        if (cells == NULL)
            abort();
        table->cells = cells;
        table->room = room;
    }
    table->cells[table->count++] = text;
}

void lh_table_open(struct lh_table *table, const char *const *headings, size_t columns)
{
    *table = (struct lh_table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        lh_table_add(table, "%s", headings[i]);
}

void lh_table_add(struct lh_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        abort();
    lh_make_printable(text);
    add_cell(table, text);
}

// Columns a terminal needs for UTF-8 text, under the locale that print_rows chose: two for a wide
// character, none for a combining one.
static size_t width_of(const char *text)
{
    mbstate_t state = {0};
    size_t width = 0;
    while (*text != '\0') {
        wchar_t character;
        size_t size = mbrtowc(&character, text, strlen(text), &state);
        if (size > strlen(text)) { // no UTF-8, or no such locale
            state = (mbstate_t){0};
            size = 1;
            width += ((unsigned char)*text & 0xc0) != 0x80;
        } else {
            int columns = wcwidth(character);
            width += columns > 0 ? (size_t)columns : 0;
        }
        text += size;
    }
    return width;
}

// Nothing is printed behind the last cell that has something in it; a cell wider than its column moves
// the rest of its own row.
static void print_row(char *const *cells, size_t columns, const size_t *widths)
{
    while (columns > 1 && cells[columns - 1][0] == '\0')
        columns--;
    for (size_t i = 0; i + 1 < columns; i++) {
        size_t width = width_of(cells[i]);
        printf("%s%*s", cells[i], (int)(width < widths[i] ? widths[i] - width : 0) + 2, "");
    }
    printf("%s\n", cells[columns - 1]);
}

static int compare_rows(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

void lh_table_sort(struct lh_table *table)
{
    qsort(table->cells + table->columns, table->count / table->columns - 1,
          table->columns * sizeof *table->cells, compare_rows);
}

static void print_rows(const struct lh_table *table)
{
    size_t widths[LH_TABLE_COLUMNS_MOST] = {0};
    for (size_t i = 0; i < table->count; i++) {
        size_t width = width_of(table->cells[i]);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width < COLUMN_WIDTH_MOST ? width : COLUMN_WIDTH_MOST;
    }
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(&table->cells[i], table->columns, widths);
}

void lh_table_close(struct lh_table *table)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    print_rows(table);
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    lh_table_discard(table);
}

void lh_table_discard(struct lh_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct lh_table){.columns = 0};
}

// --- JSON ---

// Bytes that are not UTF-8 cannot be in JSON; a stranger's text is shown as far as it can be.
static json_t *text_json(struct lh_slice text)
{
    json_t *json = json_stringn((const char *)text.data, text.size_bytes);
    return json != NULL ? json : json_string("(not UTF-8)");
}

// The JSON name of a key; false if its value is in nanoseconds, which are told in milliseconds.
static void name_key(struct lh_slice key, char ret[128], bool *ret_in_ns)
{
    if (lh_slice_equal(key, LH_SLICE("refuses-us"))) // which reads like microseconds
        key = LH_SLICE("refuses-this-node");
    snprintf(ret, 128, "%.*s", (int)key.size_bytes, (const char *)key.data);
    for (char *at = ret; *at != '\0'; at++)
        if (*at == '-')
            *at = '_';
    *ret_in_ns = key.size_bytes > 3 && strcmp(ret + key.size_bytes - 3, "_ns") == 0;
    if (*ret_in_ns)
        ret[key.size_bytes - 2] = 'm';
}

static json_t *milliseconds_json(struct lh_slice key, int64_t ns)
{
    bool bound = lh_slice_equal(key, LH_SLICE("free-in-ns")) ||
                 lh_slice_equal(key, LH_SLICE("ends-in-ns")) ||
                 lh_slice_equal(key, LH_SLICE("next-owner-max-ns"));
    return json_integer(bound ? lh_ceil_ms(ns) : lh_floor_ms((struct lh_duration){ns}));
}

// RESP2 has no booleans.
static json_t *member_json(struct lh_slice key, bool in_ns, const struct lh_resp_value *value)
{
    if (value->type != LH_RESP_INTEGER)
        return lh_reply_json(value);
    if (lh_slice_equal(key, LH_SLICE("revoked")))
        return json_boolean(value->integer);
    return in_ns ? milliseconds_json(key, value->integer) : lh_reply_json(value);
}

static json_t *map_json(const struct lh_resp_value *map)
{
    json_t *object = json_object();
    const struct lh_resp_value *key = map + 1;
    for (uint32_t i = 0; i + 1 < map->child_count; i += 2) {
        const struct lh_resp_value *value = key + key->span;
        struct lh_slice text;
        char name[128];
        if (lh_resp_as_text(key, &text) && text.size_bytes < sizeof name) {
            bool in_ns;
            name_key(text, name, &in_ns);
            json_object_set_new(object, name, member_json(text, in_ns, value));
        }
        key = value + value->span;
    }
    return object;
}

static json_t *array_json(const struct lh_resp_value *array)
{
    json_t *list = json_array();
    const struct lh_resp_value *child = array + 1;
    for (uint32_t i = 0; i < array->child_count; i++, child += child->span)
        json_array_append_new(list, lh_reply_json(child));
    return list;
}

json_t *lh_reply_json(const struct lh_resp_value *value)
{
    switch (value->type) {
    case LH_RESP_NULL: return json_null();
    case LH_RESP_INTEGER: return json_integer(value->integer);
    case LH_RESP_BOOLEAN: return json_boolean(value->integer);
    case LH_RESP_MAP: return map_json(value);
    case LH_RESP_ARRAY:
    case LH_RESP_SET:
    case LH_RESP_PUSH: return array_json(value);
    case LH_RESP_DOUBLE: {
        char number[64];
        snprintf(number, sizeof number, "%.*s", (int)value->text.size_bytes,
                 (const char *)value->text.data);
        return json_real(strtod(number, NULL));
    }
    default: return value->text.size_bytes > 0 ? text_json(value->text) : json_null();
    }
}

int lh_output_end(const char *command)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        return LH_EXIT_OK;
    fprintf(stderr, "leasehold %s: cannot write to standard output%s%s\n", command,
            errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    clearerr(stdout);
    return LH_EXIT_FAILED;
}

int lh_json_print(const char *command, json_t *json)
{
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII;
    if (isatty(STDOUT_FILENO))
        flags = JSON_INDENT(2);
    bool complete = json != NULL && json_dumpf(json, stdout, flags) == 0 && printf("\n") > 0;
    json_decref(json);
    int exit_code = lh_output_end(command);
    if (exit_code == LH_EXIT_OK && !complete) {
        fprintf(stderr, "leasehold %s: the answer cannot be written as JSON\n", command);
        exit_code = LH_EXIT_FAILED;
    }
    return exit_code;
}
