// The acceptor's role for one name: rules A1 to A3, D, F1 and F3 over one 48-byte record.
//
// Nothing here is durable. The functions decide; the caller carries messages, keeps records, serves
// the quarantine (A4) and refuses durations above M. What must stay true: `promised` never falls,
// `deadline` of a live lease never moves back except by its exact Release, and a ballot that was
// recorded once is never installed again.
#ifndef LH_LEASE_ACCEPTOR_H
#define LH_LEASE_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "lease/ballot.h"

// A name as the quorum knows it: 16 bytes of keyed hash.
struct lh_key {
    uint64_t word[2];
};

static inline bool lh_key_equal(struct lh_key a, struct lh_key b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

// One name at one acceptor. A record of zeroes has promised nothing and holds nothing.
struct lh_acceptor_record {
    struct lh_key key;
    lh_ballot promised;         // the highest ballot promised or accepted
    lh_ballot ballot;           // the last lease recorded, live or not; its owner is inside
    struct lh_instant deadline; // the lease is live before this; LH_PAST once cleared
    uint64_t stamp; // deadline set: newest Extend counted; cleared: when last touched, in ns
};

enum lh_verdict {
    LH_REJECTED, // nothing changed; `promised` and, if a live lease blocks, `reported` say why
    LH_PROMISED, // A1
    LH_ACCEPTED, // A2
    LH_EXTENDED, // F3
};

struct lh_acceptor_answer {
    enum lh_verdict verdict;
    lh_ballot promised;           // T4: what a rejected proposer has to exceed
    lh_ballot reported;           // the live lease, or none
    struct lh_duration exclusion; // what remains of it
};

// A lease is recorded and its exclusion has not ended.
static inline bool lh_acceptor_live(const struct lh_acceptor_record *record, struct lh_instant now)
{
    return lh_before(now, record->deadline);
}

// A1: promise for ballots >= promised; report the live lease, an expired one as none.
struct lh_acceptor_answer lh_acceptor_prepare(struct lh_acceptor_record *record,
                                              struct lh_instant now, lh_ballot ballot);

// A2: record (owner, ballot) for ballots >= promised, unless a live lease stands there that this
// Accept does not name by `base`, the lease it renews. `exclusion` is D_A of the attempt.
struct lh_acceptor_answer lh_acceptor_accept(struct lh_acceptor_record *record,
                                             struct lh_instant now, lh_ballot ballot,
                                             lh_ballot base, struct lh_duration exclusion);

// A3: clear the lease only if it is exactly this ballot's. Returns true if it was.
bool lh_acceptor_release(struct lh_acceptor_record *record, struct lh_instant now,
                         lh_ballot ballot);

// F3: restart the exclusion of exactly the live lease `ballot`. `stamp` is the owner's clock at the
// send; a redelivered or older one is answered but restarts nothing.
struct lh_acceptor_answer lh_acceptor_extend(struct lh_acceptor_record *record,
                                             struct lh_instant now, lh_ballot ballot,
                                             uint64_t stamp, struct lh_duration exclusion);

// When this name last promised or held something: the instant from which F1 counts.
struct lh_instant lh_acceptor_touched(const struct lh_acceptor_record *record);

// F1: the name may be forgotten: no live lease, and `quarantine` (that of the ceiling) has passed
// since it was touched. By T3 this is a restart already served. The caller raises the promise floor
// (F2).
bool lh_acceptor_forgettable(const struct lh_acceptor_record *record, struct lh_instant now,
                             struct lh_duration quarantine);

// F2: a fresh record for a name nobody remembers: promised, and spent, at the floor.
struct lh_acceptor_record lh_acceptor_fresh(struct lh_key key, lh_ballot floor,
                                            struct lh_instant now);

#endif
