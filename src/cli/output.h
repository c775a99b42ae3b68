// What commands print: complaints, durations for people, the reason why a lease was not acquired,
// aligned columns, and JSON with stable names. JSON goes through jansson; names are lower case with
// underscores, times carry their unit.
#ifndef LH_CLI_OUTPUT_H
#define LH_CLI_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

#include "base/resp.h"
#include "base/time.h"
#include "client/answer.h"

// "leasehold COMMAND: ..." on standard error, one line whatever bytes it quotes; NULL: no command
// yet.
void lh_complain(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define LH_DURATION_TEXT_BYTES 24

// As a person would say it, rounded down: "250ms", "9.2s", "90s", "5m", "4m10s", "3h05m", "2d04h".
// All but days may be typed as a duration, too.
const char *lh_duration_text(struct lh_duration duration, char ret[LH_DURATION_TEXT_BYTES]);
// The same rounded up: for what is promised to be over by then.
const char *lh_duration_text_up(struct lh_duration duration, char ret[LH_DURATION_TEXT_BYTES]);
// Whole milliseconds, rounded up.
int64_t lh_ceil_ms(int64_t ns);

#define LH_HELD_TEXT_BYTES 700

// "held by ada@box (token 7, node 2), free in at most 4.2s unless renewed": as much of it as the
// answer tells. Where it names nobody, the members refuse the name for somebody who does not speak.
const char *lh_held_text(const struct lh_answer *answer, char ret[LH_HELD_TEXT_BYTES]);

// A table whose columns, except the last, are as wide as their widest cell on a terminal, but not
// for one very long name. Cells are copied, and what a terminal would obey in them is replaced.
#define LH_TABLE_COLUMNS_MOST 12
struct lh_table {
    char **cells;
    size_t count;
    size_t room;
    size_t columns;
};

// Begins a table with its headings.
void lh_table_open(struct lh_table *table, const char *const *headings, size_t columns);
void lh_table_add(struct lh_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Puts the rows under the headings into the order of their first cells' bytes.
void lh_table_sort(struct lh_table *table);
// Prints to standard output and frees.
void lh_table_close(struct lh_table *table);
// Frees without printing. Accepts a table that was closed.
void lh_table_discard(struct lh_table *table);

// A reply as JSON: maps as objects with '-' in keys written '_', arrays, integers, strings; empty
// strings as null. Nanoseconds become milliseconds, named so: a bound from above is rounded up,
// everything else down. The caller owns what it gets; NULL when memory ran out.
json_t *lh_reply_json(const struct lh_resp_value *value);

// Prints `json` on one line (pretty on a terminal) and frees it. Returns as lh_output_end.
int lh_json_print(const char *command, json_t *json);

// To be called when all is printed: 0, or LH_EXIT_FAILED after saying that not all of it could be
// written.
int lh_output_end(const char *command);

#endif
