// The many-lease machine: every lease of one node, as acceptor and as proposer, in memory given at
// start.
//
// It runs the role functions of acceptor.h and proposer.h for as many names as there are,
// retransmits, backs off, and tells its caller what became of each lease. It serves the quarantine
// (A4, T3), refuses durations above M (T2), keeps counters above every ballot seen (T4) and below
// what is reserved on disk (F2), and asks for the durable ceiling before it answers for a longer
// attempt (F5). Time, randomness and memory come from outside; no step costs more because there are
// more leases.
#ifndef LH_LEASE_MACHINE_H
#define LH_LEASE_MACHINE_H

#include <stddef.h>

#include "base/prng.h"
#include "base/wheel.h"
#include "lease/acceptors.h"
#include "lease/message.h"
#include "lease/proposer.h"
#include "lease/timing.h"

#define LH_MEMBERS_MAX 7

struct lh_machine_config {
    uint8_t node;       // this member's number, 1 .. 255
    uint8_t generation; // of this node's data directory
    uint8_t member_count;
    uint8_t members[LH_MEMBERS_MAX]; // numbers of all members, ascending; this node is one of them
    struct lh_timing timing;
    uint32_t max_leases; // names this acceptor can know, and leases this proposer can want or hold
    bool idle_forget;    // F1
    bool one_round_renewal;  // F3
    bool quarantine_ceiling; // F5
};

// What the lease is wanted for right now.
enum lh_want {
    LH_WANT_NOTHING,
    LH_WANT_ACQUIRE,
    LH_WANT_RENEW,
};

// A lease that this node wants or holds. The caller reads `proposer`; everything else is the
// machine's.
struct lh_lease {
    struct lh_key key;
    struct lh_proposer proposer;
    struct lh_wheel_timer timer;
    uint32_t id;   // 1 .. max_leases; how the caller names it
    uint32_t next; // chain of its bucket or of the free list
    enum lh_want want;
    struct lh_duration ttl;                          // of the attempt in flight, or of the last one
    struct lh_duration next_ttl;                     // of the next one
    struct lh_instant waiting_since;                 // of whoever it is wanted for
    struct lh_instant retry_at;                      // next retransmission, or end of the back-off
    struct lh_duration pause;                        // between retransmissions
    struct lh_members_set answered;                  // acceptors that answered this round
    struct lh_members_set refused;                   // those of them that will not help this round
    struct lh_instant blocked_until[LH_MEMBERS_MAX]; // what refusers said of the lease in the way
    lh_ballot blocked_by[LH_MEMBERS_MAX];            // .. and which it was
    lh_ballot blocker;                               // the lease that was in the way last
    lh_ballot let_go;                                // the lease whose Release came last
    struct lh_members_set waiters;                   // members that wait for us
    bool waits;                // the caller's: somebody at this node waits for another's to end
    struct lh_instant sent_at; // when this round was last sent
    uint8_t sendings;          // of this round
    uint8_t tries;             // attempts in a row that came to nothing
    uint8_t reminders;         // times to send the winning Accept again to members silent so far
    bool whole_renewal;        // F3: some acceptor refused an Extend; renew in two rounds next
};

enum lh_notice_kind {
    LH_NOTICE_ACQUIRED, // the lease is ours; proposer.token, proposer.until
    LH_NOTICE_RENEWED,
    LH_NOTICE_BLOCKED, // another's lease `ballot` is live till `at`, or later; no more is tried.
                       // Also of one that waits, when the lease went to another meanwhile
    LH_NOTICE_STALLED, // an attempt reached its td without a quorum; it is tried again
    LH_NOTICE_LOST,    // authority ended at td without a renewal
    LH_NOTICE_WOKEN,   // `ballot`, or if NONE whatever was in the way, was released: try at `at`
    LH_NOTICE_RESERVE, // counters up to `counter` are needed: reserve more on disk
    LH_NOTICE_CEILING, // F5: make `quarantine` durable; answers marked `after_ceiling` wait for it
};

struct lh_notice {
    enum lh_notice_kind kind;
    uint32_t lease;                // id, for the first six
    lh_ballot ballot;              // Blocked, Woken
    struct lh_instant at;          // Blocked, Woken
    uint64_t counter;              // Reserve
    struct lh_duration quarantine; // Ceiling
};

struct lh_send {
    uint8_t to;         // a member, this node included
    bool after_ceiling; // F5: not before the ceiling asked for last is durable
    struct lh_message message;
};

#define LH_LEASE_TIMERS_A_STEP 16
#define LH_LEASE_MOVES_A_TIMER 256 // entries of the wheel that may move before the next is due
#define LH_LEASE_SENDS_MAX (LH_LEASE_TIMERS_A_STEP * 2 * LH_MEMBERS_MAX)
#define LH_LEASE_NOTICES_MAX (LH_LEASE_TIMERS_A_STEP * 3 + 4)

// What a step wants done. The caller empties it before each step; it is sized so that no step fills
// it.
struct lh_lease_effects {
    unsigned send_count;
    unsigned notice_count;
    struct lh_send sends[LH_LEASE_SENDS_MAX];
    struct lh_notice notices[LH_LEASE_NOTICES_MAX];
};

struct lh_machine_counters {
    uint64_t acquired, renewed, lost, released;
    uint64_t attempts, retransmits, blocked, stalled, duels;
    uint64_t dropped_quarantine; // A4
    uint64_t dropped_clock;      // T2, T3: while our clock's rate is proved to be out of its bound
    uint64_t dropped_ttl;        // D_P above M, or below the least
    uint64_t dropped_unreserved; // F2: the counter is above our reservation
    uint64_t dropped_full;       // no record left for a new name
    uint64_t overwrites_refused; // A2
    uint64_t forgotten;          // F1
    uint64_t late_wakes;         // timers that came more than 100 ms late
};

// A lease that was let go, or an attempt that was taken back: its Release is sent again when
// somebody may have missed it.
#define LH_LET_GO_MAX 1024 // a power of two

struct lh_let_go {
    struct lh_key key;
    lh_ballot ballot;
    uint8_t times_left;
};

struct lh_machine {
    struct lh_machine_config config;
    unsigned quorum;
    struct lh_prng *prng;
    struct lh_acceptors acceptors;
    struct lh_instant quarantine_until;
    bool suspended;                    // our clock's rate is out of its bound
    struct lh_duration ceiling;        // F5: durable
    struct lh_duration ceiling_wanted; // F5: asked for
    struct lh_duration ceiling_recent; // greatest Q answered for in this period
    struct lh_instant ceiling_turn;    // when the period ends
    uint64_t counter;                  // the last one issued
    uint64_t seen;                     // T4: the greatest met anywhere
    uint64_t reserved;  // F2: durable; nothing above it is issued, promised or accepted
    uint64_t asked_for; // what RESERVE asked for last
    struct lh_lease *leases;
    uint32_t *buckets;
    uint32_t bucket_mask;
    uint32_t used, free, count, held;
    struct lh_duration round; // what a quorum round takes, smoothed
    struct lh_machine_counters counters;
    struct lh_let_go let_go[LH_LET_GO_MAX]; // by key
    struct lh_wheel wheel;                  // last: it is begun, not cleared
};

size_t lh_machine_size(const struct lh_machine_config *config);

// `memory` is zeroed, 16-aligned, lh_machine_size() long; it and `prng` outlive the machine. The
// machine stays silent until lh_machine_serve.
void lh_machine_init(struct lh_machine *machine, const struct lh_machine_config *config,
                     void *memory, struct lh_prng *prng, struct lh_instant now);

// Ends the machine: its memory may be another's of the same configuration. Costs what was used.
void lh_machine_clear(struct lh_machine *machine);

// A4: begin to answer at `quarantine_until`. `floor` covers every ballot promised before (F2),
// counters start above `counter`, `reserved` and `ceiling` are what is durable.
void lh_machine_serve(struct lh_machine *machine, struct lh_instant quarantine_until,
                      lh_ballot floor, uint64_t counter, uint64_t reserved,
                      struct lh_duration ceiling);

// F4: takes over a lease that was held when this node stopped in order. Takes a lease just opened,
// before serving.
void lh_machine_restore_lease(struct lh_machine *machine, struct lh_lease *lease,
                              const struct lh_proposer *proposer, struct lh_duration ttl);

// T2, T3: the rate of our clock is proved to be out of its bound. Every authority ends, nothing is
// begun, and no message is answered or believed. What was held is told as LOST, when it is due: now.
void lh_machine_suspend(struct lh_machine *machine, struct lh_instant now);

// The rate is not out of its bound any more. What was promised under the old one may have ended too
// soon: silent until `quarantine_until`, as after a restart.
void lh_machine_resume(struct lh_machine *machine, struct lh_instant quarantine_until);

// What was asked for by RESERVE and CEILING is durable now.
void lh_machine_reserved(struct lh_machine *machine, uint64_t reserved);
void lh_machine_ceiling_raised(struct lh_machine *machine, struct lh_duration ceiling);

// T4: a counter seen elsewhere.
void lh_machine_observe(struct lh_machine *machine, uint64_t counter,
                        struct lh_lease_effects *effects);

struct lh_lease *lh_machine_find(struct lh_machine *machine, struct lh_key key);
struct lh_lease *lh_machine_lease(struct lh_machine *machine, uint32_t id);

// The lease of `key`, made if need be. NULL if max_leases are in use.
struct lh_lease *lh_machine_open(struct lh_machine *machine, struct lh_key key);

// Gives the lease's memory back. Takes one that is neither wanted nor held.
void lh_machine_close(struct lh_machine *machine, struct lh_lease *lease);

// Want the lease for `ttl` (whole ms, 50 ms .. M), on behalf of somebody who has waited since
// `waiting_since`. Ends in ACQUIRED or BLOCKED, or is stopped. Takes a lease that is not held.
void lh_machine_acquire(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                        struct lh_duration ttl, struct lh_instant waiting_since,
                        struct lh_lease_effects *effects);

// Renew the lease to last for `ttl` from now, or join the renewal whose Accepts are out. Ends in
// RENEWED or LOST. Takes a lease that is held.
void lh_machine_renew(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                      struct lh_duration ttl, struct lh_lease_effects *effects);

// P5: want it no longer; a lease already held stays held until td. An attempt whose Accepts are out
// runs to its end all the same, since what it left would block the next: it may still end in
// ACQUIRED or RENEWED.
void lh_machine_stop(struct lh_machine *machine, struct lh_lease *lease);

// P6: the holder has stopped: let go, and pass it on to the next member that waits, in their order
// from this one on. Returns false if it was not held any more.
bool lh_machine_release(struct lh_machine *machine, struct lh_lease *lease, struct lh_instant now,
                        struct lh_lease_effects *effects);

// What was let go last went to nobody yet: say so again, and wake again.
void lh_machine_release_again(struct lh_machine *machine, struct lh_lease *lease,
                              struct lh_lease_effects *effects);

// A message from member `from`, whose authenticity and boot the caller has checked.
void lh_machine_message(struct lh_machine *machine, uint8_t from, const struct lh_message *message,
                        struct lh_instant now, struct lh_lease_effects *effects);

// Handles what is due: at most LH_LEASE_TIMERS_A_STEP leases; the deadline stays in the past if
// more are.
void lh_machine_timer(struct lh_machine *machine, struct lh_instant now,
                      struct lh_lease_effects *effects);

// When lh_machine_timer wants to be called next. It may come late: only wake-ups hang on it, no
// safety.
struct lh_instant lh_machine_deadline(const struct lh_machine *machine);

// The acceptor's view of `key` for somebody who asks: the live lease, and what remains of its
// exclusion. Returns false while in quarantine or suspended.
bool lh_machine_view(struct lh_machine *machine, struct lh_key key, struct lh_instant now,
                     lh_ballot *ret_ballot, struct lh_duration *ret_exclusion);

#endif
