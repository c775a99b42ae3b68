// One lease through its life, as the library keeps it for an application: in line, held and renewed
// at half of its time, lost or released; over one connection of its own, of which this file knows
// only the bytes. The library gives it sockets (library.c), the simulator a virtual network.
//
// What must stay true:
//   - a keeper is granted at most once: one token, one deadline that only a release moves back;
//   - it renews only while the application wants it (interest), from half of the TTL on, and never
//     waits for a renewal beyond the deadline;
//   - that the deadline has passed is told by the first step after it, whatever else comes in;
//   - a request that has run out of time ends its connection;
//   - a lease is dead from the moment its release is handed out (P6).
//
// The order of a turn: read the clock; one of the calls that take `now`; then, until
// lh_keeper_wish says NOTHING, do what it says; take the events; wait until the connection has
// something or lh_keeper_wake_at has come.
//
// Pure: no clock, no system call, no allocation.
#ifndef LH_CLIENT_KEEPER_H
#define LH_CLIENT_KEEPER_H

#include "client/errand.h"
#include "client/stream.h"

#define LH_KEEPER_OUT_BYTES 2048
#define LH_KEEPER_IN_BYTES 4096
#define LH_KEEPER_VALUES 96
#define LH_KEEPER_EVENTS 8

enum lh_keeper_phase {
    LH_KEEPER_ACQUIRING,
    LH_KEEPER_HELD,
    LH_KEEPER_RENEWING,
    LH_KEEPER_DOOMED, // it will not be renewed; its deadline stands
    LH_KEEPER_RELEASING,
    LH_KEEPER_ENDED,
};

enum lh_keeper_event_kind {
    LH_KEEPER_GRANTED,
    LH_KEEPER_OWNER,        // in line: who holds it now
    LH_KEEPER_NOT_ACQUIRED, // the end of an acquisition
    LH_KEEPER_ENDANGERED,   // it was not renewed so far; it is tried on
    LH_KEEPER_LOST,         // it will not be renewed any more
    LH_KEEPER_WAS_RELEASED, // or its end was waited for in vain: the lease is over in any case
};

enum lh_keeper_cause {
    LH_KEEPER_NO_CAUSE,
    LH_KEEPER_BY_HOLDER,  // NOT_ACQUIRED: somebody holds it
    LH_KEEPER_BY_QUORUM,  // no quorum answered in time
    LH_KEEPER_BY_REFUSAL, // the daemon refuses the request as wrong
    LH_KEEPER_BY_REVOKE,  // the node will not renew it
    LH_KEEPER_BY_STALL,   // the program was not given its turn for stalled
    LH_KEEPER_BY_NODE,    // the node that owns the lease is gone
    LH_KEEPER_BY_NEGLECT, // the application showed no interest
    LH_KEEPER_BY_OTHER,   // the node does not know it (any more) under this token and holder
};

struct lh_keeper_event {
    enum lh_keeper_event_kind kind;
    enum lh_keeper_cause cause;
    int64_t token; // ours; of OWNER, NOT_ACQUIRED: the holder's, 0 if unknown
    int64_t node;
    struct lh_duration stalled; // how late the latest turn since the last grant came
    struct lh_duration free_in; // OWNER, NOT_ACQUIRED: at most, unless renewed
    int64_t last_token;         // GRANTED: whom we waited for last, 0 if nobody
    char holder[LH_HOLDER_MAX_BYTES + 1];
    char last_holder[LH_HOLDER_MAX_BYTES + 1];
    char reason[400];
};

enum lh_keeper_wish {
    LH_KEEPER_NOTHING,
    LH_KEEPER_CONNECT,    // to `endpoint`; then lh_keeper_connected or lh_keeper_ended
    LH_KEEPER_DISCONNECT, // close the connection, or stop connecting
    LH_KEEPER_WRITE,      // lh_keeper_output has bytes
};

enum lh_keeper_link { LH_LINK_NONE, LH_LINK_CONNECTING, LH_LINK_OPEN };

struct lh_keeper_plan {
    const char *name;
    const char *holder;
    int64_t token;           // resume: of a lease held already; 0: acquire
    int64_t released;        // lh_keeper_released of the same name and holder before; or 0
    struct lh_duration ttl;  // 0: the daemon's default
    struct lh_duration wait; // in line; INT64_MAX: without end
    struct lh_duration patience;
    size_t endpoint_count;
    size_t endpoint; // to begin with
    uint64_t seed;
};

struct lh_keeper {
    struct lh_holding holding;
    struct lh_keeper_plan plan; // name and holder are in `holding`
    struct lh_errand errand;
    struct lh_stream stream;
    struct lh_prng prng;
    enum lh_keeper_phase phase;
    bool errand_runs;
    bool granted;     // ever
    bool told_danger; // since the last grant
    bool let_go;      // the release was answered
    enum lh_keeper_link link;
    bool hang_up;                   // the connection is to be closed
    size_t endpoint;                // of the connection; where the next request goes
    struct lh_instant request_ends; // of the request under way; LH_NEVER: none
    struct lh_instant renew_at;
    struct lh_instant interest_until; // the application wants it renewed if asked before this
    struct lh_instant now;            // of this turn
    struct lh_instant asked_wake;     // what was waited for at the last look
    struct lh_duration stalled;
    int64_t seen_token; // the last other owner that was told
    char seen_holder[LH_HOLDER_MAX_BYTES + 1];
    unsigned event_first, event_count;
    struct lh_keeper_event events[LH_KEEPER_EVENTS];
    struct lh_resp_value values[LH_KEEPER_VALUES];
    uint8_t out[LH_KEEPER_OUT_BYTES];
    uint8_t in[LH_KEEPER_IN_BYTES];
    char where[128]; // `endpoint` as the driver calls it, for messages
};

// Begins to acquire or resume. Takes a name that lh_name_check allows, a holder that is one, and at
// least one endpoint. The keeper must not be moved in memory from here on.
void lh_keeper_init(struct lh_keeper *keeper, const struct lh_keeper_plan *plan,
                    struct lh_instant now);

// Time has passed, or the driver looks for any other reason.
void lh_keeper_turn(struct lh_keeper *keeper, struct lh_instant now);

// The application's interest ends at `until` unless it is shown again; LH_NEVER at first.
void lh_keeper_interest(struct lh_keeper *keeper, struct lh_instant until);

// The holder has stopped: let go. Of one not granted yet: leave the line. WAS_RELEASED follows.
void lh_keeper_release(struct lh_keeper *keeper, struct lh_instant now);

// The token of a release that was sent and may still be carried out at any time, because nobody
// answered it; 0 if there is none. Whoever acquires again under this name and holder says so in the
// plan: else the lease might be taken up, and that release end it under its holder.
int64_t lh_keeper_released(const struct lh_keeper *keeper);

// What the driver is to do with the connection, in this order until NOTHING; asking for CONNECT or
// DISCONNECT again means that it has been begun or done.
enum lh_keeper_wish lh_keeper_wish(struct lh_keeper *keeper);

// Says how `endpoint` is called in messages. Copied.
void lh_keeper_name_endpoint(struct lh_keeper *keeper, const char *where);

// What became of the connection. After `ended` there is none.
void lh_keeper_connected(struct lh_keeper *keeper, struct lh_instant now);
void lh_keeper_ended(struct lh_keeper *keeper, struct lh_instant now, enum lh_reach reach,
                     const char *why);

// Bytes, as in stream.h: `now` was read just before; hand them on at once.
struct lh_slice lh_keeper_output(struct lh_keeper *keeper, struct lh_instant now);
void lh_keeper_wrote(struct lh_keeper *keeper, size_t size_bytes);
uint8_t *lh_keeper_input(struct lh_keeper *keeper, size_t *ret_room);
void lh_keeper_received(struct lh_keeper *keeper, struct lh_instant now, size_t size_bytes);

// The next event, oldest first, in *ret_event; false if there is none.
bool lh_keeper_event(struct lh_keeper *keeper, struct lh_keeper_event *ret_event);

// When lh_keeper_turn wants to be called; to be asked at the end of each turn, because what is
// later than this counts as a stall.
struct lh_instant lh_keeper_wake_at(struct lh_keeper *keeper);

// Until when the holder may act; LH_PAST if it may not.
static inline struct lh_instant lh_keeper_deadline(const struct lh_keeper *keeper)
{
    return keeper->granted ? keeper->holding.deadline : LH_PAST;
}

#endif
