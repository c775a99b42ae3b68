// What commands print: durations for people, the reason why a lease was not acquired, aligned
// columns, and JSON with stable names. JSON goes through jansson; names are lower case with
// underscores, times carry their unit.
#ifndef LH_CLI_OUTPUT_H
#define LH_CLI_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

#include "base/resp.h"
#include "base/time.h"
#include "client/answer.h"

#define LH_DURATION_TEXT_BYTES 24

// As a person would say it, rounded down: "250ms", "9.2s", "4m10s", "3h05m", "2d04h".
const char *lh_duration_text(struct lh_duration duration, char ret[LH_DURATION_TEXT_BYTES]);

#define LH_HELD_TEXT_BYTES 700

// "held by ada@box (token 7, node 2), free in at most 4.2s": as much of it as the answer tells.
const char *lh_held_text(const struct lh_answer *answer, char ret[LH_HELD_TEXT_BYTES]);

// A table whose columns are as wide as their widest cell, except the last. Cells are copied.
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
// Prints to standard output and frees.
void lh_table_close(struct lh_table *table);
// Frees without printing. Accepts a table that was closed.
void lh_table_discard(struct lh_table *table);

// A reply as JSON: maps as objects with '-' in keys written '_', arrays, integers, strings, null.
// The caller owns what it gets; NULL when memory ran out.
json_t *lh_reply_json(const struct lh_resp_value *value);

// Prints `json` on one line (pretty on a terminal) and frees it. Returns 0, or LH_EXIT_FAILED when
// it could not be written.
int lh_json_print(json_t *json);

#endif
