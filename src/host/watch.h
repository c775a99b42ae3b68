// Subscriptions: which session watches which lease. A watched lease is asked for at the other
// members at an interval and whenever something happens to it here; a watcher hears of changes of
// state, owner and holder, not of renewals, and once when no majority can tell any more.
//
// What must stay true: a watcher that does not read holds nothing up. What it would have been told is
// left out and counted (the numbers of its messages show the gap), and it has the present state as
// soon as it reads again.
#ifndef LH_HOST_WATCH_H
#define LH_HOST_WATCH_H

#include "host/request.h"

struct lh_watch {
    uint32_t session;
    uint32_t lease;    // 0 in a free one
    uint32_t sequence; // messages sent
    bool fresh;        // the present state is owed, changed or not
    bool unsure; // it was told less than the others know: what is known is owed, changed or not
    bool blind;  // it was told that the state is not known
    uint32_t next_of_lease, next_of_session; // ids; 0 ends
};

struct lh_watches {
    struct lh_watch *pool;
    uint32_t capacity, free, used;
};

static inline struct lh_watch *lh_watch_get(const struct lh_watches *watches, uint32_t id)
{
    return &watches->pool[id - 1];
}

// Begins to watch `name` for `session`; its present state follows as the first message. Returns
// false if no watch or lease is free. Watching a name twice is watching it once, and has its state
// sent again.
bool lh_watch_add(struct lh_host *host, uint32_t session, struct lh_slice name,
                  struct lh_instant now, struct lh_host_effects *effects);

// Returns false if the session did not watch it.
bool lh_watch_remove(struct lh_host *host, uint32_t session, struct lh_slice name);
void lh_watch_remove_all(struct lh_host *host, uint32_t session);

// Asks the members for a watched lease, and takes the answer: GET's result.
void lh_watch_ask(struct lh_host *host, uint32_t lease, struct lh_instant now,
                  struct lh_host_effects *effects);
void lh_watch_result(struct lh_host *host, uint32_t lease, const struct lh_result *result,
                     struct lh_instant now, struct lh_host_effects *effects);

// The name that `watch` is for, into `buffer`.
struct lh_slice lh_watch_name(const struct lh_host *host, const struct lh_watch *watch,
                              uint8_t buffer[LH_NAME_MAX_BYTES]);

#endif
