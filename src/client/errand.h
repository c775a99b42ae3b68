// One errand of a holder: to acquire, to renew or to release a lease, however many requests that
// takes: waiting in line, being woken, failing over, trying again. It decides; whoever runs it
// sends what it says and tells it what came of that. The deadline is computed in authority.c and
// nowhere else.
//
// What must stay true:
//   - whatever is sent again is sent afresh, under a fresh clock reading; the answer `turn` only
//     says that it is this client's turn to do so;
//   - an acquisition keeps its holder and id however often it is sent, so that the node knows it
//     again; if another node holds the name for this very holder, the lease is resumed by a
//     renewal;
//   - a renewal never waits beyond the lease's deadline, and asks the owner first: the others can
//     only hand it on;
//   - a lease is dead here from the moment its release is handed out (P6), and stays so: if nobody
//     answered, the release may be handled at any time later, so an acquisition that finds the same
//     holder's lease under that token does not resume it.
//
// Pure: time is a parameter, randomness a seed; no system call, no allocation. drive.h runs it over
// the command line's channel, keeper.h over bytes.
#ifndef LH_CLIENT_ERRAND_H
#define LH_CLIENT_ERRAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"
#include "base/text.h"
#include "base/time.h"
#include "client/answer.h"
#include "client/reach.h"

// One lease as its holder sees it.
struct lh_holding {
    char name[LH_NAME_MAX_BYTES + 1];
    char holder[LH_HOLDER_MAX_BYTES + 1];
    int64_t token;              // 0: never held
    int64_t released;           // its release was sent: no token up to this one is ours again
    int64_t node;               // the owner
    size_t owner_at;            // its endpoint, if owner_known: only the owner can renew
    bool owner_known;           // for who took a lease up may have asked any node
    struct lh_duration ttl;     // as granted; 0: not yet known, the daemon's default is asked for
    struct lh_instant deadline; // LH_PAST: not held
};

enum lh_errand_result {
    LH_ERRAND_BUSY,     // not ended
    LH_ERRAND_GRANTED,  // acquired or renewed; the deadline is set and has not passed
    LH_ERRAND_HELD,     // not acquired: somebody else holds it; see answer
    LH_ERRAND_LOST,     // cannot be renewed (its deadline still stands), or was not ours to release
    LH_ERRAND_RELEASED, // released
    LH_ERRAND_NO_QUORUM, // no answer of a quorum within the patience; see trouble
    LH_ERRAND_REFUSED,   // the daemon refused the request as wrong; see trouble
};

enum lh_errand_verb { LH_ERRAND_ACQUIRE, LH_ERRAND_RENEW, LH_ERRAND_RELEASE };

// What is to be done next.
enum lh_errand_move {
    LH_ERRAND_SEND, // `words` to `endpoint`, over a connection that owes no answer; `timeout` for it
    LH_ERRAND_PAUSE, // nothing until `pause_until`, then lh_errand_go_on
    LH_ERRAND_END,   // see result
};

#define LH_ERRAND_WORDS_MOST 16

struct lh_channel;

struct lh_errand {
    enum lh_errand_verb verb;
    struct lh_holding *holding;
    struct lh_duration ttl;       // to ask for; 0: the daemon's default
    struct lh_instant wait_until; // acquire: how long to stay in line
    struct lh_duration patience;  // how long to go on without a quorum
    struct lh_instant give_up_at; // the patience ends, unless a quorum answers
    struct lh_instant wait_ends;  // when the WAIT of the request in flight ends
    size_t endpoint_count;
    bool resuming;             // acquire: our holder has it at another node; a renewal is in flight
    bool reached;              // some endpoint was connected to, or it may wait; else one round of
                               // refused connections ends the errand
    size_t failures;           // endpoints that failed one after another
    bool owner_gone;           // renew, release: the owner's endpoint hung up, or nobody listens
    bool in_contact;           // acquire: the endpoint has answered, so it may be asked to wait
    size_t turns;              // acquire: `turn` answered so many times in a row
    uint64_t id;               // acquire: the request's
    struct lh_prng prng;       // pauses, ids
    struct lh_instant now;     // of this step
    struct lh_instant sent;    // the clock before the answered request left
    const char *where;         // its endpoint, as it was written
    struct lh_answer answer;   // the last one
    struct lh_trouble trouble; // why not: NO_QUORUM, REFUSED
    enum lh_errand_result result;

    // What the last move wants.
    enum lh_errand_move move;
    size_t endpoint;
    bool afresh; // over a new connection: the last one failed, or is out of step
    struct lh_duration timeout;
    struct lh_instant pause_until;
    const char *words[LH_ERRAND_WORDS_MOST]; // into this and the holding
    size_t word_count;
    char numbers[8][24];
    size_t number_count;

    struct lh_channel *client; // drive.h: who carries it; NULL elsewhere
};

// What an errand begins with. `patience` bounds how long it goes on without a quorum, and of a
// renewal no longer than the lease's deadline; `wait` (acquire) how long to stay in line. Who may
// wait in line waits for a daemon, too.
struct lh_errand_plan {
    enum lh_errand_verb verb;
    struct lh_duration ttl, wait, patience;
    size_t endpoint_count;
    size_t endpoint; // to begin with, unless the owner's is known
    uint64_t seed;   // fresh random bits
};

// An acquisition forgets the holding's token and deadline. Of a lease held through other means (a
// command line, a former process) the deadline is LH_NEVER when a renewal begins; its answer then
// sets it from nothing. To release, the holder must have stopped. The holding outlives the errand,
// which must not be moved in memory.
enum lh_errand_move lh_errand_begin(struct lh_errand *errand, struct lh_holding *holding,
                                    const struct lh_errand_plan *plan, struct lh_instant now);

// What came of a SEND: an answer to a request that was sent at `sent`, or nothing but `why`.
// `where` is the endpoint as it was written, for messages.
enum lh_errand_move lh_errand_answered(struct lh_errand *errand, struct lh_instant now,
                                       struct lh_instant sent, const char *where,
                                       const struct lh_resp_value *reply);
enum lh_errand_move lh_errand_failed(struct lh_errand *errand, struct lh_instant now,
                                     enum lh_reach reach, const char *where, const char *why);

// Whether it waits in line for somebody else's lease, which its answer describes.
bool lh_errand_waits(const struct lh_errand *errand);
// Whether an acquisition waits for a daemon or a quorum; its trouble describes why.
bool lh_errand_tries_on(const struct lh_errand *errand);

// The end of a PAUSE has come.
enum lh_errand_move lh_errand_go_on(struct lh_errand *errand, struct lh_instant now);

#endif
