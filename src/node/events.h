// What the host has to tell, as lines of the log. What is told of leases is written at the end of the
// turn, behind all that the turn sends: nobody's grant waits for standard error. What is told of the
// node itself is rare, and written at once.
#ifndef LH_NODE_EVENTS_H
#define LH_NODE_EVENTS_H

#include "base/text.h"
#include "host/host.h"

#define LH_EVENTS_MAX 64 // told in one turn; at more of them the first are written earlier

// One thing told of a lease.
struct lh_events_lease {
    enum lh_event_kind kind;
    lh_ballot token;
    uint8_t name_size, holder_size;
    uint8_t name[LH_NAME_MAX_BYTES], holder[LH_HOLDER_MAX_BYTES];
};

// All zero at the start.
struct lh_events {
    unsigned count;
    struct lh_events_lease leases[LH_EVENTS_MAX];
};

void lh_events_add(struct lh_events *events, const struct lh_event *event);

// Writes what was added.
void lh_events_write(struct lh_events *events);

#endif
