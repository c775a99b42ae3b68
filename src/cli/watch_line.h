// What `leasehold watch` says of a lease: the message of a daemon compared with what was known, as an
// event with a line of text, a line of JSON, or variables for a command.
//
// What must stay true: a state that differs from what was told before is told once, as the change
// that it is, also if it happened while nobody listened; a daemon that does not know is no change.
#ifndef LH_CLI_WATCH_LINE_H
#define LH_CLI_WATCH_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/text.h"
#include "os/error.h"

enum lh_watch_event {
    LH_WATCH_PRESENT, // the present state: at first, or again after a pause
    LH_WATCH_GAINED,  // it was free and is held
    LH_WATCH_LOST,    // it was held and is free
    LH_WATCH_CHANGED, // it was held and is held under another token
    LH_WATCH_REVOKED, // it is held, and will not be renewed any more
    LH_WATCH_UNKNOWN, // the daemon cannot tell: no majority answers it
};

struct lh_watch_state {
    enum { LH_WATCHED_NEVER, LH_WATCHED_FREE, LH_WATCHED_HELD } kind;
    int64_t token; // 0: the owner did not say, or nobody holds it
    int64_t node;
    bool revoked;
    char holder[LH_HOLDER_MAX_BYTES + 1];
};

// One lease that is watched.
struct lh_watched {
    const char *name;
    unsigned connection; // that `sequence` counts the messages of
    int64_t sequence;
    bool unknown; // says the daemon now; `state` is what was known before
    struct lh_watch_state state;
};

// What one message came to.
struct lh_watch_line {
    enum lh_watch_event event;
    const char *name;
    struct lh_watch_state state, previous;
    int64_t remaining_ms; // below 0: the owner did not say
    int64_t missed;       // changes that the daemon left out because they were read too slowly
    bool news;            // to be told: not what was told last
    int64_t at_ns;        // CLOCK_REALTIME
};

// What a message says, checked: false if it is none.
struct lh_watch_message {
    char name[LH_NAME_MAX_BYTES + 1];
    int64_t sequence;
    bool unknown;
    struct lh_watch_state state;
    int64_t remaining_ms;
};
bool lh_watch_message_read(struct lh_slice json, struct lh_watch_message *ret_message);

// Takes a message that came on the `connection`-th connection.
void lh_watch_take(struct lh_watched *watched, unsigned connection,
                   const struct lh_watch_message *message, int64_t now_ns,
                   struct lh_watch_line *ret_line);

// Prints the line to standard output, at once.
void lh_watch_line_print(const struct lh_watch_line *line, bool json);

// Sets LEASEHOLD_* for a command; what is not known is empty.
void lh_watch_line_export(const struct lh_watch_line *line);

#endif
