// See demo_timeline.h.
#include "cli/demo_timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL_COLUMNS 10
#define COLUMNS_LEAST 20
#define LEGEND_COLUMNS 64 // a line that wraps could not be erased

static const char *const plain[] = {
    [LH_TIMELINE_NOTHING] = " ", [LH_TIMELINE_WAITING] = ".", [LH_TIMELINE_QUARANTINE] = "q",
    [LH_TIMELINE_KILLED] = "x",  [LH_TIMELINE_STOPPED] = "s", [LH_TIMELINE_HOLDING] = "#",
};
static const char *const pretty[] = {
    [LH_TIMELINE_NOTHING] = " ", [LH_TIMELINE_WAITING] = "·", [LH_TIMELINE_QUARANTINE] = "q",
    [LH_TIMELINE_KILLED] = "×",  [LH_TIMELINE_STOPPED] = "s", [LH_TIMELINE_HOLDING] = "█",
};
static const char *const colours[] = {"\033[32m", "\033[33m", "\033[36m", "\033[35m",
                                      "\033[34m", "\033[31m", "\033[37m"};

static bool locale_is_utf8(void)
{
    const char *locale = getenv("LC_ALL");
    if (locale == NULL || locale[0] == '\0')
        locale = getenv("LC_CTYPE");
    if (locale == NULL || locale[0] == '\0')
        locale = getenv("LANG");
    return locale != NULL && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

void lh_timeline_open(struct lh_timeline *timeline, size_t rows, struct lh_instant begin,
                      struct lh_duration length)
{
    struct winsize size = {.ws_col = 0};
    memset(timeline, 0, sizeof *timeline);
    timeline->rows = rows;
    timeline->begin = begin;
    timeline->length = length;
    timeline->columns = 72;
    timeline->unicode = locale_is_utf8();
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col < LABEL_COLUMNS + COLUMNS_LEAST || size.ws_row < rows + 4)
        return;
    timeline->drawn = true;
    timeline->columns = (size_t)size.ws_col - LABEL_COLUMNS - 1;
    if (timeline->columns > LH_TIMELINE_COLUMNS_MOST)
        timeline->columns = LH_TIMELINE_COLUMNS_MOST;
}

// The demo takes longer than planned: two columns become one.
static void halve(struct lh_timeline *timeline)
{
    for (size_t row = 0; row < timeline->rows; row++) {
        unsigned char *marks = timeline->marks[row];
        for (size_t i = 0; i < LH_TIMELINE_COLUMNS_MOST; i++) {
            size_t j = 2 * i;
            unsigned char a = j < LH_TIMELINE_COLUMNS_MOST ? marks[j] : 0;
            unsigned char b = j + 1 < LH_TIMELINE_COLUMNS_MOST ? marks[j + 1] : 0;
            marks[i] = a > b ? a : b;
        }
    }
    timeline->length.ns *= 2;
}

void lh_timeline_mark(struct lh_timeline *timeline, size_t row, struct lh_instant at,
                      enum lh_timeline_mark mark)
{
    struct lh_duration since = lh_left(timeline->begin, at);
    while (since.ns >= timeline->length.ns)
        halve(timeline);
    size_t column = (size_t)(since.ns / (timeline->length.ns / (int64_t)timeline->columns + 1));
    if (row < timeline->rows && timeline->marks[row][column] < mark)
        timeline->marks[row][column] = (unsigned char)mark;
}

static void erase(struct lh_timeline *timeline)
{
    if (timeline->on_screen)
        printf("\033[%zuA\r\033[J", timeline->rows + 2);
    timeline->on_screen = false;
}

void lh_timeline_event(struct lh_timeline *timeline, struct lh_instant at, const char *format, ...)
{
    va_list arguments;
    erase(timeline);
    printf("%7.3fs  ", (double)lh_left(timeline->begin, at).ns / 1e9);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    lh_timeline_draw(timeline, at);
    fflush(stdout);
}

void lh_timeline_row(const struct lh_timeline *timeline, size_t row, size_t columns, char *ret)
{
    const char *const *signs = timeline->unicode ? pretty : plain;
    for (size_t i = 0; i < columns; i++) {
        const char *sign = signs[timeline->marks[row][i]];
        size_t size = strlen(sign);
        memcpy(ret, sign, size);
        ret += size;
    }
    *ret = '\0';
}

void lh_timeline_draw(struct lh_timeline *timeline, struct lh_instant now)
{
    char text[LH_TIMELINE_COLUMNS_MOST * 3 + 1];
    if (!timeline->drawn)
        return;
    erase(timeline);
    printf("\n");
    for (size_t row = 0; row < timeline->rows; row++) {
        lh_timeline_row(timeline, row, timeline->columns, text);
        printf("%snode %zu    %s\033[0m\n", colours[row], row + 1, text);
    }
    printf("%6.1fs", (double)lh_left(timeline->begin, now).ns / 1e9);
    if (timeline->columns >= LEGEND_COLUMNS)
        printf("   %s holds  %s waits  %s daemon killed  q quarantine  s stopped",
               timeline->unicode ? "█" : "#", timeline->unicode ? "·" : ".",
               timeline->unicode ? "×" : "x");
    printf("\n");
    timeline->on_screen = true;
    fflush(stdout);
}
