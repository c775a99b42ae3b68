// The daemon's log: one line of key=value a message, on standard error.
//
//     lh_log(LH_LOG_WARN, "peer-refused", "node=%u address=%s:%u reason=%s", node, host, port, reason);
//     level=warn event=peer-refused node=2 address=10.0.0.2:7741 reason="older generation 3, known is 4"
//
// The format is one key=value a field, separated by single spaces. A value is quoted when it needs
// it, decided after the arguments are in place, so nothing a client or a peer sent can begin a
// field or a line. Under the journal a line begins with its priority; elsewhere with the time.
//
// Nothing waits for the log: a line that standard error does not take at once, because it is a pipe
// that nobody reads or a full disk, is dropped, and the next that is written comes behind
// event=log-lines-dropped lines=N.
#ifndef LH_NODE_LOG_H
#define LH_NODE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

enum lh_log_level { LH_LOG_ERROR, LH_LOG_WARN, LH_LOG_INFO, LH_LOG_DEBUG };

// The greatest length of a line with its newline. What does not fit is cut, and the line ends in
// cut=yes.
enum { LH_LOG_LINE_MAX = 2048 };

// Messages above `level` are dropped from now on. `file` is where lines go (2); whether it is the
// journal is found from $JOURNAL_STREAM. Before the first call: standard error, info. Call before
// threads start.
void lh_log_open(int file, enum lh_log_level level);

// The level may be changed at any time, by any thread.
void lh_log_set_level(enum lh_log_level level);
bool lh_log_enabled(enum lh_log_level level);

// "error", "warn", "info", "debug".
const char *lh_log_level_name(enum lh_log_level level);

// Writes one line with one write(2); any thread. Takes the conversions s .*s d i u x c and %, with
// the length modifiers h hh l ll j z. Arguments are not evaluated when the level is off.
#define lh_log(level, event, ...)                                                                  \
    do {                                                                                           \
        if (lh_log_enabled(level))                                                                 \
            lh_log_write(level, event, __VA_ARGS__);                                               \
    } while (0)

void lh_log_write(enum lh_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// A message without fields.
void lh_log_event(enum lh_log_level level, const char *event);

// How many lines were dropped since the process started; any thread.
uint64_t lh_log_dropped(void);

// Keeps one kind of message from flooding the log. Zero-initialised; one for each kind, or kind and
// peer.
struct lh_log_limit {
    struct lh_instant next;
    uint64_t missed;
};

// True at most once in `interval`: then the message is due, and `*ret_missed` says how many were
// not, since the last that was. Counts the message as missed otherwise.
bool lh_log_every(struct lh_log_limit *limit, struct lh_instant now, struct lh_duration interval,
                  uint64_t *ret_missed);

enum lh_log_style { LH_LOG_JOURNAL, LH_LOG_TIMED };

// What lh_log_write writes, into `out` of `capacity` bytes (at least 64), with its newline and no
// NUL. Returns the length. `format` may be NULL.
size_t lh_log_format(char *out, size_t capacity, enum lh_log_style style, int64_t realtime_ns,
                     enum lh_log_level level, const char *event, const char *format,
                     va_list arguments);

#endif
