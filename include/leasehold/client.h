// The client: acquire a lease, keep it while you want it, ask before each act whether you may.
//
//     struct lh_client *client;                      one loop, one descriptor to poll
//     lh_client_open("/run/leasehold/client.sock", &client, why, sizeof why);
//     lh_lease_acquire(client, "backup", &options, &lease);
//     for (;;) { poll(lh_client_fd(client)); lh_client_dispatch(client); }     events arrive here
//     if (lh_lease_valid(lease)) act(lh_lease_token(lease));                   the clock is read here
//     lh_lease_release(lease);                       after you have stopped
//
// The one rule: being told that a lease was granted gives no right to act. `lh_lease_valid` does, at
// the moment it returns true; it reads CLOCK_BOOTTIME each time. Between that and the act the
// process may be paused, so give the token to what you act upon, and let that refuse a smaller one
// than it has seen (fence.h, docs/fencing.md).
//
// Interest: a lease is renewed, from half of its TTL on, by lh_client_dispatch and by nothing else.
// There is no hidden thread: a program whose loop stands still loses its lease in time. If the loop
// may run while the work hangs, set `pulse_ms` and let the work call lh_lease_pulse.
//
// A lease object is granted at most once: it has one token, and once lh_lease_valid has returned
// false after true it does not return true again. After LOST, close it and acquire anew.
//
// Nothing here raises or blocks a signal or writes to a descriptor it was not given. The library
// stops the process (abort, after a line on standard error) only if CLOCK_BOOTTIME goes backwards
// or its own state is broken.
//
// Threads: a client and its leases belong to one thread at a time, but lh_lease_valid,
// lh_lease_remaining_ns, lh_lease_token and lh_lease_pulse may be called by any thread as long as
// the lease is not closed. After fork, the child only calls _exit or exec; descriptors close there.
//
// Source: src/client/library.c; what it decides: src/client/keeper.h. Stands alone, C99 and C++.
#ifndef LEASEHOLD_CLIENT_H
#define LEASEHOLD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leasehold/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Owns its leases, an epoll descriptor and a timer descriptor; made and freed by the two below.
struct lh_client;

// One lease, asked for, held or over. Owned by its client; freed by lh_lease_close or with the
// client.
struct lh_lease;

// --- the client ---

// Parses `endpoints` and resolves host names, which may block on a name server: do it before time
// matters. Connects to nothing yet. Several are separated by commas and tried in turn:
//
//     unix:PATH, or a path beginning with / or .        tcp:HOST:PORT, HOST:PORT
//
// NULL means $LEASEHOLD_CONNECT, then unix:/run/leasehold/client.sock. TCP is not encrypted.
//
// Returns LH_OK, LH_MEMORY, LH_SYSTEM (no descriptors) or LH_ARGUMENT (an endpoint is wrong). On
// failure `ret_why`, if not NULL, gets at most why_bytes bytes of a sentence that names the value.
LH_API enum lh_return lh_client_open(const char *endpoints, struct lh_client **ret_client,
                                     char *ret_why, size_t why_bytes);

// Closes all connections and frees the client and its leases. Releases nothing: a lease still held
// ends by itself, so release first if others wait. Accepts NULL. Not from a callback.
LH_API void lh_client_close(struct lh_client *client);

// What was wrong with the latest call on this client that returned LH_ARGUMENT: a sentence that
// names the argument and its value, or "". Owned by the client, valid until the next such call.
LH_API const char *lh_client_why(const struct lh_client *client);

// One descriptor, the same for the life of the client. Poll it for reading, without a time-out of
// your own; when it is readable, call lh_client_dispatch. Do not read from it.
LH_API int lh_client_fd(const struct lh_client *client);

// Does whatever can be done without waiting, and calls callbacks. Cheap if there is nothing to do.
// Call it when the descriptor is readable; calling it at other times does no harm. A long gap
// between readable and dispatch counts as a stall, and may cost leases.
// Returns LH_OK, LH_SYSTEM (no timer could be set, no descriptor made: leases still end in time;
// call again), LH_STATE (called from a callback).
LH_API enum lh_return lh_client_dispatch(struct lh_client *client);

// --- events ---

enum lh_lease_event_kind {
    LH_LEASE_GRANTED = 1,  // it is ours: ask lh_lease_valid before each act
    LH_LEASE_OWNER,        // we wait; `holder` has it now, under `token`
    LH_LEASE_NOT_ACQUIRED, // the end: `cause` says why; close it
    LH_LEASE_ENDANGERED,   // NODE_GONE: its daemon hung up; EXPIRED: it was not renewed yet. It is
                           // tried on until the deadline, and need not be lost
    LH_LEASE_LOST,     // it will not be renewed any more. Stop; lh_lease_valid says whether some
                       // of it is left to stop in. Then release it (if valid) and close it
    LH_LEASE_RELEASED, // the end of lh_lease_release; close it
};

enum lh_lease_cause {
    LH_CAUSE_NONE = 0,
    LH_CAUSE_HELD,      // NOT_ACQUIRED, OWNER: somebody holds it
    LH_CAUSE_EXPIRED,   // its time was over before a quorum renewed it; NOT_ACQUIRED: no quorum
                        // answered within the patience
    LH_CAUSE_REFUSED,   // the daemon refuses the request as wrong: see `reason`
    LH_CAUSE_REVOKED,   // an operator revoked it
    LH_CAUSE_STALLED,   // dispatch was called `stalled_ms` late, and that was too late
    LH_CAUSE_NODE_GONE, // the daemon that owns the lease cannot be reached any more
    LH_CAUSE_NEGLECTED, // lh_lease_pulse was not called for pulse_ms
    LH_CAUSE_NOT_OWNER, // the cluster does not know it under this name, token and holder: it ended
};

// Valid during the callback, texts included.
struct lh_lease_event {
    enum lh_lease_event_kind kind;
    enum lh_lease_cause cause;
    int64_t token;      // ours; of OWNER and NOT_ACQUIRED the holder's, 0 if not known
    int64_t node;       // the member that owns it, 0 if not known
    int64_t stalled_ms; // how late the latest dispatch since the last grant or renewal was
    int64_t free_in_ms; // OWNER, NOT_ACQUIRED: free in at most so long unless renewed; rounded up
    const char *holder; // as token; "" if not known
    int64_t last_token; // GRANTED: of the last owner that we were told of while waiting, or 0
    const char *last_holder; // likewise, or ""
    const char *reason;      // for people, one line; may be ""
};

// May call any function on any lease of this client, lh_lease_close included; not
// lh_client_close or lh_client_dispatch.
typedef void lh_lease_callback(struct lh_lease *lease, const struct lh_lease_event *event,
                               void *context);

// --- leases ---

#define LH_WAIT_WITHOUT_END INT64_C(-1)

// Set what you need, leave the rest zero. Copied.
struct lh_lease_options {
    size_t size_bytes;   // sizeof(struct lh_lease_options), so that later versions can add to it
    const char *holder;  // 1..255 bytes of UTF-8, yours alone; NULL: user@host: and 64 random bits.
                         // A release that was not confirmed may be carried out until the lease
                         // ends by itself: this client then waits for that end, but another one
                         // under the same holder knows nothing of it
    int64_t ttl_ms;      // how long one grant lasts; 0: 10 s, or the cluster's max-ttl if less
    int64_t wait_ms;     // in line; 0: ask once; LH_WAIT_WITHOUT_END
    int64_t patience_ms; // how long to go on without an answer of a quorum; 0: 5000
    int64_t pulse_ms; // 0: an open lease is wanted. Else: renew only if lh_lease_pulse was called
                      // within so long (counted from the grant at first)
    lh_lease_callback *on_event; // may be NULL
    void *context;               // handed to it
};

// Asks for the lease `name`: 1..255 bytes of UTF-8 without control characters, no '@' in front.
// Copied. What becomes of it is told by events, from lh_client_dispatch on, never from this call.
// Returns LH_OK, LH_MEMORY or LH_ARGUMENT (lh_client_why says which).
LH_API enum lh_return lh_lease_acquire(struct lh_client *client, const char *name,
                                       const struct lh_lease_options *options,
                                       struct lh_lease **ret_lease);

// Takes up a lease that this holder has already: after a restart of the program, or handed over by
// another process. `options->holder` is not NULL, `token` is the one it was granted under. GRANTED
// follows, under the same token, or NOT_ACQUIRED; nothing is valid before. Returns as above.
LH_API enum lh_return lh_lease_resume(struct lh_client *client, const char *name, int64_t token,
                                      const struct lh_lease_options *options,
                                      struct lh_lease **ret_lease);

// Lets go. Call it when you have stopped acting: from here on lh_lease_valid is false. RELEASED
// follows, whether or not a node confirmed it (`cause` says; unconfirmed, it ends by itself). A
// lease not yet granted leaves the line. Once over, it does nothing.
LH_API void lh_lease_release(struct lh_lease *lease);

// Frees it without a word to anybody: if it is held it ends by itself, in at most its TTL. No event
// follows. Accepts NULL.
LH_API void lh_lease_close(struct lh_lease *lease);

// Whether you may act now. Reads the clock at each call; keep the answer for nothing. Any thread.
LH_API bool lh_lease_valid(const struct lh_lease *lease);

// Nanoseconds until it ends, 0 if it has or was never granted. Reads the clock. Any thread.
LH_API int64_t lh_lease_remaining_ns(const struct lh_lease *lease);

// The fencing token, 0 before GRANTED. It is below 2^63, and above every earlier one of this name.
// Any thread.
LH_API int64_t lh_lease_token(const struct lh_lease *lease);

// The work is alive: counts for pulse_ms from now. Any thread.
LH_API void lh_lease_pulse(struct lh_lease *lease);

// As given, or as made. Valid until the lease is closed.
LH_API const char *lh_lease_name(const struct lh_lease *lease);
LH_API const char *lh_lease_holder(const struct lh_lease *lease);

#ifdef __cplusplus
}
#endif

#endif
