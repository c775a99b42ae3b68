// Writing RESP. What version 2 cannot say is said as Redis says it there: a map is a flat array of
// keys and values, a set or a push an array, a boolean 1 or 0, a double a string. Aggregates are
// written as a header; the values follow one by one. All functions write into a cursor and leave
// errors to its `failed`.
#ifndef LH_BASE_RESP_WRITER_H
#define LH_BASE_RESP_WRITER_H

#include "base/cursor.h"

enum lh_resp_protocol { LH_RESP2 = 2, LH_RESP3 = 3 };

// One line of text. Control characters become spaces, so that no text, whatever stranger's words it
// echoes, can end the line early and forge a reply behind it.
void lh_resp_write_simple(struct lh_writer *writer, struct lh_slice text);
// "ERR what is wrong": the text begins with its code. Control characters become spaces.
void lh_resp_write_error(struct lh_writer *writer, struct lh_slice text);

void lh_resp_write_integer(struct lh_writer *writer, int64_t value);
void lh_resp_write_bulk(struct lh_writer *writer, struct lh_slice bytes);
// A terminated string as a bulk string: keys and constant values.
void lh_resp_write_text(struct lh_writer *writer, const char *text);
// Text for people, such as INFO: verbatim `txt` in version 3.
void lh_resp_write_verbatim(struct lh_writer *writer, enum lh_resp_protocol protocol,
                            struct lh_slice text);
void lh_resp_write_null(struct lh_writer *writer, enum lh_resp_protocol protocol);

void lh_resp_write_array(struct lh_writer *writer, size_t count);
void lh_resp_write_map(struct lh_writer *writer, enum lh_resp_protocol protocol, size_t pairs);
void lh_resp_write_set(struct lh_writer *writer, enum lh_resp_protocol protocol, size_t count);
void lh_resp_write_push(struct lh_writer *writer, enum lh_resp_protocol protocol, size_t count);

#endif
