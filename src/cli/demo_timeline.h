// The demo's picture: one row a node, time from left to right, who holds the lease when. On a
// terminal it stays at the bottom, redrawn in place as wide as the terminal is, with lines of
// events scrolling above; elsewhere only the events are printed.
#ifndef LH_CLI_DEMO_TIMELINE_H
#define LH_CLI_DEMO_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

#define LH_TIMELINE_ROWS_MOST 7
#define LH_TIMELINE_COLUMNS_MOST 240

// What a row was doing in a column's time; the greatest one seen wins.
enum lh_timeline_mark {
    LH_TIMELINE_NOTHING,
    LH_TIMELINE_WAITING,
    LH_TIMELINE_QUARANTINE,
    LH_TIMELINE_KILLED,
    LH_TIMELINE_STOPPED,
    LH_TIMELINE_HOLDING,
};

struct lh_timeline {
    bool drawn; // a terminal, and wide enough
    bool unicode;
    bool on_screen;
    size_t rows;
    size_t columns;
    struct lh_instant begin;
    struct lh_duration length; // what the columns stand for; doubled when it is over
    unsigned char marks[LH_TIMELINE_ROWS_MOST][LH_TIMELINE_COLUMNS_MOST];
};

// `length` is how long the whole is expected to take.
void lh_timeline_open(struct lh_timeline *timeline, size_t rows, struct lh_instant begin,
                      struct lh_duration length);

// The row did this at `at`.
void lh_timeline_mark(struct lh_timeline *timeline, size_t row, struct lh_instant at,
                      enum lh_timeline_mark mark);

// Prints an event above the picture, with the time since the beginning.
void lh_timeline_event(struct lh_timeline *timeline, struct lh_instant at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Draws the picture anew.
void lh_timeline_draw(struct lh_timeline *timeline, struct lh_instant now);

// The text of one row without colours, for tests and for the end. `ret` holds columns * 3 + 1
// bytes.
void lh_timeline_row(const struct lh_timeline *timeline, size_t row, size_t columns, char *ret);

#endif
