// One lease as its holder sees it, and the calls that acquire, renew and release it: waiting in
// line, being woken, failing over, trying again, as steps that never block. The deadline is
// computed in authority.c and nowhere else.
//
// What must stay true:
//   - whatever is sent again is sent afresh, under a fresh clock reading; the answer `turn` only says
//     that it is this client's turn to do so;
//   - an acquisition keeps its holder and id however often it is sent, so that the node knows it
//     again; if another node holds the name for this very holder, the lease is resumed by a renewal;
//   - a renewal never waits beyond the lease's deadline;
//   - a lease is dead here from the moment its release is handed to the kernel (P6).
#ifndef LH_CLIENT_LEASE_H
#define LH_CLIENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "client/answer.h"
#include "client/client.h"

struct lh_lease {
    char name[LH_NAME_MAX_BYTES + 1];
    char holder[LH_HOLDER_MAX_BYTES + 1];
    int64_t token;              // 0: never held
    int64_t node;               // the owner
    struct lh_duration ttl;     // as granted; 0: not yet known, the daemon's default is asked for
    struct lh_instant deadline; // LH_PAST: not held
};

// Whether the holder may act now: reads the clock, each time.
bool lh_lease_valid(const struct lh_lease *lease);

// A holder nobody else has: user@host: and 64 random bits.
void lh_holder_make(char ret_holder[LH_HOLDER_MAX_BYTES + 1]);

// Whether `name` can be asked for: 1..255 bytes of UTF-8 without control characters, no leading
// '@'. On failure the error says which rule it breaks.
bool lh_lease_name_check(const char *name, struct lh_error *error);

enum lh_lease_result {
    LH_LEASE_BUSY,      // wait for lh_lease_call_*, then advance
    LH_LEASE_GRANTED,   // acquired or renewed; the deadline is set and has not passed
    LH_LEASE_HELD,      // not acquired: somebody else holds it; see answer
    LH_LEASE_LOST,      // cannot be renewed (its deadline still stands), or was not ours to release
    LH_LEASE_RELEASED,  // released
    LH_LEASE_NO_QUORUM, // no answer of a quorum within the patience; see trouble
    LH_LEASE_REFUSED,   // the daemon refused the request as wrong; see trouble
};

enum lh_lease_verb { LH_LEASE_ACQUIRE, LH_LEASE_RENEW, LH_LEASE_RELEASE };

// One acquisition, renewal or release under way. Lives in the caller's memory; refers to the client
// and the lease, of which each has at most one call at a time.
struct lh_lease_call {
    enum lh_lease_verb verb;
    struct lh_client *client;
    struct lh_lease *lease;
    struct lh_duration ttl;        // to ask for; 0: the daemon's default
    struct lh_instant wait_until;  // acquire: how long to stay in line
    struct lh_duration patience;   // how long to go on without a quorum
    struct lh_instant give_up_at;  // the patience ends, unless a quorum answers
    struct lh_instant wait_ends;   // when the WAIT of the request in flight ends
    struct lh_instant pause_until; // LH_PAST: a request is in flight
    bool resuming;           // acquire: our holder has it at another node; a renewal is in flight
    bool reached;            // some endpoint was connected to; as long as none was, one round
                             // of refused connections ends the call
    size_t failures;         // endpoints that failed one after another
    bool in_contact;         // acquire: the endpoint has answered, so it may be asked to wait
    size_t turns;            // acquire: `turn` answered so many times in a row
    uint64_t id;             // acquire: the request's
    struct lh_answer answer; // the last one
    struct lh_client_trouble trouble; // why not: NO_QUORUM, REFUSED
};

// Begins to acquire lease->name for lease->holder. `wait` 0 asks once, LH_WAIT_FOREVER stays in
// line without end. Then advance.
#define LH_WAIT_FOREVER ((struct lh_duration){INT64_MAX})
void lh_lease_acquire(struct lh_lease_call *call, struct lh_client *client, struct lh_lease *lease,
                      struct lh_duration ttl, struct lh_duration wait, struct lh_duration patience);

// Begins to renew under the lease's name, token and holder; goes on until the patience or the
// lease's deadline ends. `ttl` 0 asks for as long as before. A lease held through other means (a
// command line) has the deadline LH_NEVER until the answer has come, which then sets it from
// nothing.
void lh_lease_renew(struct lh_lease_call *call, struct lh_client *client, struct lh_lease *lease,
                    struct lh_duration ttl, struct lh_duration patience);

// Begins to release. The holder must have stopped.
void lh_lease_release(struct lh_lease_call *call, struct lh_client *client, struct lh_lease *lease,
                      struct lh_duration patience);

// Does what can be done without waiting. Any result but BUSY ends the call.
enum lh_lease_result lh_lease_advance(struct lh_lease_call *call);

// What to wait for while BUSY, as in client.h.
int lh_lease_call_fd(const struct lh_lease_call *call);
short lh_lease_call_events(const struct lh_lease_call *call);
struct lh_instant lh_lease_call_wake_at(const struct lh_lease_call *call);

// Advances and waits until the call has ended.
enum lh_lease_result lh_lease_finish(struct lh_lease_call *call);

#endif
