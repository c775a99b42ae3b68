// The shipped role functions of src/lease, in the numbers of a model: ballots from 1, instants in
// units of its time, acceptors from 0. A step is taken by turning a model's row into the record
// that the daemon keeps, calling the function that ships, and turning the record back; every field
// of a record is in its row, so nothing that a function changes can go unseen.
//
// A unit of the model's time is a second, and a step may be taken in its first nanosecond or in its
// last. Deadlines lie at the beginning of units, so both must come to the same; a comparison that
// is off by one nanosecond at its edge does not.
#ifndef LH_CHECK_CONFORM_ROLES_H
#define LH_CHECK_CONFORM_ROLES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LH_CONFORM_BALLOTS = 8,        // ballots stay below
    LH_CONFORM_OLD_TOKEN = 100,    // a token won under an earlier ballot than any of the model's
    LH_CONFORM_NO_QUORUM = 32,     // answers are only gathered
    LH_CONFORM_STRANGE = UINT8_MAX // a value that no model has
};

// Where and when a step is taken.
struct lh_conform_place {
    uint8_t now;
    bool last;                          // in the unit's last nanosecond
    uint8_t quorum;                     // how many acceptors
    uint8_t owners[LH_CONFORM_BALLOTS]; // of each ballot, from 1; 0 if it is not known
};

enum lh_conform_phase {
    LH_CONFORM_IDLE,
    LH_CONFORM_PREPARING,
    LH_CONFORM_ACCEPTING,
    LH_CONFORM_EXTENDING,
};

// struct lh_proposer. An instant of 0 is one that has always been past.
struct lh_conform_proposer {
    uint8_t phase;
    uint8_t ballot;
    uint8_t base;
    uint8_t td;
    uint8_t stamp; // n, counted; the daemon's is a clock reading
    uint8_t open;
    uint8_t accepted;
    uint8_t held;
    uint8_t token;
    uint8_t until;
};

// struct lh_acceptor_record.
struct lh_conform_acceptor {
    uint8_t promised;
    uint8_t ballot;
    uint8_t deadline; // 0: cleared
    uint8_t stamp;    // newest n, unless cleared
    uint8_t touched;  // once cleared
};

enum lh_conform_verdict {
    LH_CONFORM_REJECTED,
    LH_CONFORM_PROMISED,
    LH_CONFORM_ACCEPTED,
    LH_CONFORM_EXTENDED,
    LH_CONFORM_SILENT,  // no answer
    LH_CONFORM_DROPPED, // not even heard (A4)
};

struct lh_conform_answer {
    uint8_t verdict;
    uint8_t promised;
    uint8_t reported;
    uint8_t ends; // of what is reported
};

enum lh_conform_outcome { LH_CONFORM_NOTHING, LH_CONFORM_ACQUIRED, LH_CONFORM_RENEWED };

bool lh_conform_holds(const struct lh_conform_place *place,
                      const struct lh_conform_proposer *proposer);
bool lh_conform_live(const struct lh_conform_place *place,
                     const struct lh_conform_acceptor *acceptor);

// P1 to P6. Each changes the row as the code does.
void lh_conform_start(const struct lh_conform_place *place, struct lh_conform_proposer *proposer,
                      uint8_t ballot, uint8_t ttl);
bool lh_conform_promise(const struct lh_conform_place *place, struct lh_conform_proposer *proposer,
                        uint8_t acceptor, uint8_t ballot, uint8_t reported);
bool lh_conform_propose(const struct lh_conform_place *place, struct lh_conform_proposer *proposer);
enum lh_conform_outcome lh_conform_accepted(const struct lh_conform_place *place,
                                            struct lh_conform_proposer *proposer, uint8_t acceptor,
                                            uint8_t ballot);
void lh_conform_abandon(const struct lh_conform_place *place, struct lh_conform_proposer *proposer);
uint8_t lh_conform_release(const struct lh_conform_place *place,
                           struct lh_conform_proposer *proposer);

// F3. `again`: the last Extend was sent within the same reading of the clock.
void lh_conform_extend(const struct lh_conform_place *place, struct lh_conform_proposer *proposer,
                       uint8_t ttl, bool again);
enum lh_conform_outcome lh_conform_extended(const struct lh_conform_place *place,
                                            struct lh_conform_proposer *proposer, uint8_t acceptor,
                                            uint8_t ballot, uint8_t stamp);

// A1 to A3, F3, F1.
struct lh_conform_answer lh_conform_prepare(const struct lh_conform_place *place,
                                            struct lh_conform_acceptor *acceptor, uint8_t ballot);
struct lh_conform_answer lh_conform_accept(const struct lh_conform_place *place,
                                           struct lh_conform_acceptor *acceptor, uint8_t ballot,
                                           uint8_t base, uint8_t exclusion);
bool lh_conform_clear(const struct lh_conform_place *place, struct lh_conform_acceptor *acceptor,
                      uint8_t ballot);
struct lh_conform_answer lh_conform_lengthen(const struct lh_conform_place *place,
                                             struct lh_conform_acceptor *acceptor, uint8_t ballot,
                                             uint8_t stamp, uint8_t exclusion);
bool lh_conform_forgettable(const struct lh_conform_place *place,
                            const struct lh_conform_acceptor *acceptor, uint8_t quarantine);
struct lh_conform_acceptor lh_conform_fresh(const struct lh_conform_place *place, uint8_t floor);

#endif
