// Witnesses: each known failure as a short schedule that anybody can read and run. A schedule is
// run twice by the shipped role functions of src/lease: once with one rule weakened, when it must
// fail, and in exactly the way it is there for; once with that rule as it ships, when nothing may
// fail. Weakening is done around the functions, by what they are given, never inside them.
#ifndef LH_CHECK_WITNESS_H
#define LH_CHECK_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lease/acceptor.h"
#include "lease/proposer.h"
#include "lease/timing.h"

enum {
    LH_WITNESS_PROPOSERS = 3,
    LH_WITNESS_ACCEPTORS = 6,
    LH_WITNESS_BALLOTS = 8,
    LH_WITNESS_STEPS = 64,
    LH_WITNESS_LINE = 120,
};

// What the schedule's proposers and acceptors are, and what was said between them. Members count
// from 0; a ballot is named by its counter, which no two proposers share.
struct lh_witness_world {
    struct lh_timing timing;
    struct lh_duration ttl;
    int64_t now_ms;
    unsigned quorum;
    bool weak;     // the witness's rule is weakened in this run
    bool paper_a2; // acceptors follow the paper's A2, where ours would refuse as well
    struct lh_proposer proposers[LH_WITNESS_PROPOSERS];
    struct lh_acceptor_record acceptors[LH_WITNESS_ACCEPTORS];
    struct lh_instant silent_until[LH_WITNESS_ACCEPTORS];
    // By ballot: whose it is, and what was sent.
    unsigned owner[LH_WITNESS_BALLOTS];
    bool used[LH_WITNESS_BALLOTS];
    bool accept_sent[LH_WITNESS_BALLOTS];
    lh_ballot base[LH_WITNESS_BALLOTS];
    bool release_sent[LH_WITNESS_BALLOTS];
    bool promised[LH_WITNESS_BALLOTS][LH_WITNESS_ACCEPTORS];
    lh_ballot reported[LH_WITNESS_BALLOTS][LH_WITNESS_ACCEPTORS];
    bool accepted[LH_WITNESS_BALLOTS][LH_WITNESS_ACCEPTORS];
    unsigned counted; // answers of the present attempt, for who counts messages

    unsigned step_count;
    char steps[LH_WITNESS_STEPS][LH_WITNESS_LINE];
    char failure[LH_WITNESS_LINE]; // the first, or empty
};

struct lh_witness {
    const char *name;
    const char *kind;
    const char *shows;
    const char *fix;
    const char *failure; // what the weakened run must say; NULL: it waits for the log
    void (*run)(struct lh_witness_world *world);
    const char *note; // NULL, or what else is out of the way in both runs
    bool paper_a2;    // both runs are under the paper's A2
};

size_t lh_witness_count(void);
const struct lh_witness *lh_witness_at(size_t index);
const struct lh_witness *lh_witness_find(const char *name);

// Runs it once. `ret_world` has the steps and the failure.
void lh_witness_run(const struct lh_witness *witness, bool weak,
                    struct lh_witness_world *ret_world);

// Whether both runs came out as they must.
enum lh_witness_verdict {
    LH_WITNESS_AS_EXPECTED,
    LH_WITNESS_DIFFERS,  // weakened, it does not fail, or in another way
    LH_WITNESS_VIOLATED, // it fails with the rule restored
    LH_WITNESS_WAITS,    // for the log
};
enum lh_witness_verdict lh_witness_judge(const struct lh_witness *witness,
                                         const struct lh_witness_world *weakened,
                                         const struct lh_witness_world *restored);

#endif
