// One name at one node, followed beside what the node recorded, and what the judge's files share.
//
// How long an exclusion lasts depends on the rate error, which is not recorded; but answers tell
// what remains of one, so the first of them tells the rate error, and from then on deadlines are
// known to the nanosecond. A recording is gone through twice: once to learn, once to judge.
#ifndef LH_CHECK_RECORDING_ROLES_H
#define LH_CHECK_RECORDING_ROLES_H

#include "check/recording.h"

enum { LH_RECORDED_NODES = 64 };

enum lh_recorded_phase { LH_RECORDED_IDLE, LH_RECORDED_PREPARING, LH_RECORDED_ACCEPTING };

struct lh_recorded_name {
    // acceptor
    bool known;         // in this life something was answered for it
    uint64_t promised;  // exactly, or if it may have been forgotten (F1), at least
    uint64_t record;    // the last ballot recorded, live or not
    int64_t live_least; // the record is live until then, not known better than ..
    int64_t live_most;  // .. until then
    int64_t since;      // the exclusion began then and lasts for `lasting`; -1: more than one did
    uint64_t lasting;   // the TTL
    int64_t touched;    // when it was last answered for, and for which TTL: F1 counts from there
    uint64_t touched_ttl;
    uint64_t record_stamp; // the newest n answered for it
    // proposer
    enum lh_recorded_phase phase;
    uint64_t attempt;
    uint64_t ttl_ns;
    int64_t td;
    uint64_t base; // 0: a fresh attempt
    uint64_t open; // bit per acceptor
    uint64_t accepted;
    uint64_t refused; // of those who were sent the Accept
    uint64_t held;
    uint64_t token;
    int64_t until;
    uint64_t extend; // its n
    int64_t extend_td;
    uint64_t extended;
    bool extending;
    uint64_t extended_in; // in this step a quorum had answered in time: told, or given up (P5)
    // what the client knows
    uint64_t told; // a token
    int64_t told_until;
    uint64_t told_holder;
    int64_t revoked_until; // what the revocation of the lease told reported; 0: none
    bool lapsed;           // its end fell into a restart: it may be told, or not
    // what was decided in this step and must be told in it
    bool won;
    bool renewed; // else it is a new lease
    uint64_t let_go;
    uint64_t let_go_token;
    int64_t let_go_until;
    uint64_t taken_back; // a fresh attempt
    uint64_t given_up;   // let go or taken back, last
};

struct lh_recording_judge {
    const struct lh_recording *recording;
    struct lh_recorded_name *names;
    struct lh_recorded_name *before; // as the life before left them
    uint32_t *answer_of;             // of a request: 1 + the number of its answer; 0: none
    uint64_t *used;      // per name: the greatest ballot this node ever prepared, in all lives
    uint64_t *texts;     // per name: the name written out; 0: not yet seen
    uint32_t rate_least; // in parts per million
    uint32_t rate_most;
    uint32_t node;
    uint32_t quorum;
    uint64_t n;
    int64_t at;
    int64_t ended;       // when the life before ended; 0: there was none, or on another clock
    int64_t owed;        // T3: before then, whoever forgets what was answered must be silent
    int64_t owed_before; // likewise, for what was answered in earlier lives
    int64_t silent_until;
    uint64_t generation;
    uint64_t floor;  // F2: a name without a record is promised at least here
    uint64_t step;   // counts the steps of this node
    bool admitted;   // may act
    bool clock_bad;  // and may not, since its clock is proved out of its bound
    bool restored;   // with what it saved (F4)
    bool complete;   // what this life began with is known: nothing, or what the last one had
    uint32_t untold; // names with something to be told in this step
    const char *why;
};

bool lh_recording_fail(struct lh_recording_judge *judge, const char *why);

// A1 to A4, D, F1 to F3: a request and the answer that the node gave to it.
bool lh_recording_answer(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                         const struct lh_recorded *request, const struct lh_recorded *answer);
void lh_recording_released(const struct lh_recording_judge *judge, struct lh_recorded_name *name,
                           const struct lh_recorded *event);

// P1 to P6, F3: what a proposer says, hears and tells.
bool lh_recording_send(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                       const struct lh_recorded *event);
void lh_recording_hear(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                       const struct lh_recorded *event);
bool lh_recording_tell(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                       const struct lh_recorded *event);

// The exclusion, or the quarantine, that a TTL needs at a rate error (T2, T3).
int64_t lh_recording_exclusion_end(int64_t at, uint64_t ttl_ns, uint32_t rate_ppm);

static inline bool lh_recording_is_request(uint64_t kind)
{
    return kind == LH_RECORDED_PREPARE || kind == LH_RECORDED_ACCEPT || kind == LH_RECORDED_EXTEND;
}

static inline uint32_t lh_recording_owner(uint64_t ballot)
{
    return (uint32_t)(ballot & 0xff);
}

static inline uint64_t lh_recording_bit(uint64_t node)
{
    return UINT64_C(1) << node;
}

static inline int64_t lh_recording_after(int64_t at, uint64_t span)
{
    return span > (uint64_t)(INT64_MAX - at) ? INT64_MAX : at + (int64_t)span;
}

#endif
