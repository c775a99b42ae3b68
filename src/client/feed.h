// What becomes of leases, as a daemon tells it: a subscription to names at one of several endpoints.
// Nothing here blocks. When a connection fails, or nothing comes on it for too long although it was
// pinged, the endpoint after it is tried, without end; every subscription begins with the present
// state of each name, so nothing is lost that still is so.
//
// What must stay true:
//   - what one connection said is never mixed with the next one's: messages are numbered anew;
//   - a daemon is asked for the next message only when the last one was taken, so that whoever takes
//     them slowly is slow to the daemon, which then counts what it leaves out.
//
// Threads: one feed, one thread.
#ifndef LH_CLIENT_FEED_H
#define LH_CLIENT_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "base/time.h"
#include "client/reach.h"

struct lh_feed;

enum lh_feed_event {
    LH_FEED_QUIET,   // wait for the descriptor or the instant
    LH_FEED_MESSAGE, // lh_feed_message has it
    LH_FEED_BROKEN,  // this endpoint is given up for the next one; lh_feed_trouble says why
    LH_FEED_REFUSED, // the daemon refuses what is asked of it; lh_feed_trouble says why
};

// Parses and resolves the endpoints (may block on a name server); connects to nothing yet. NULL as
// in lh_endpoint_list_find. The names are copied; `silence` is how long a daemon may say nothing,
// or, before any has said something, all of them together. The caller closes what it gets.
bool lh_feed_open(const char *endpoints, char *const *names, size_t count,
                  struct lh_duration silence, struct lh_feed **ret_feed, struct lh_error *error);

// Closes the connection and frees the feed. Accepts NULL.
void lh_feed_close(struct lh_feed *feed);

// Does what can be done without waiting, up to the next event.
enum lh_feed_event lh_feed_next(struct lh_feed *feed);

// What to wait for after QUIET: the descriptor (-1 for none), its poll events, and the instant at
// which to go on anyway.
int lh_feed_fd(const struct lh_feed *feed);
short lh_feed_events(const struct lh_feed *feed);
struct lh_instant lh_feed_wake_at(const struct lh_feed *feed);

// The JSON of the message, as the daemon wrote it: valid until the next call.
struct lh_slice lh_feed_message(const struct lh_feed *feed);

// How many connections there were: messages of different ones are numbered apart.
unsigned lh_feed_connection(const struct lh_feed *feed);

// Gives this endpoint up although it answers.
void lh_feed_try_next(struct lh_feed *feed);

// What of `silence` is each endpoint's own.
struct lh_duration lh_feed_share(const struct lh_feed *feed);

size_t lh_feed_endpoint_count(const struct lh_feed *feed);
bool lh_feed_from_environment(const struct lh_feed *feed);

// The present endpoint as it was written.
const char *lh_feed_endpoint(const struct lh_feed *feed);

// After BROKEN and REFUSED: how far the endpoint got and, with its name, why it was given up.
const struct lh_trouble *lh_feed_trouble(const struct lh_feed *feed);

// Whether the present endpoint has answered anything.
bool lh_feed_heard(const struct lh_feed *feed);

#endif
