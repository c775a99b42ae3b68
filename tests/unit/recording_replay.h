// A recording made again by the shipped role functions: every answer must be exactly what
// lh_acceptor_* gives for its request at that instant, and whatever a proposer sends or tells must
// follow from what lh_proposer_* made of the answers that it heard. Written apart from the judge
// (src/check/recording_judge.c), which has rules of its own and no code of src/lease.
//
// It knows what the judge does not: the settings of the cluster that was recorded (a rate error of
// 1 %, the F-rules off).
#ifndef LH_TESTS_UNIT_RECORDING_REPLAY_H
#define LH_TESTS_UNIT_RECORDING_REPLAY_H

#include "check/recording.h"

#include "lease/acceptor.h"
#include "lease/proposer.h"

enum { REPLAY_NAMES = 8 };

// One name at one node.
struct replay_seat {
    struct lh_acceptor_record acceptor;
    struct lh_proposer proposer;
    struct lh_duration ttl;
    lh_ballot accept_out; // an Accept of it was sent
    lh_ballot let_go;     // in this step
    lh_ballot taken_back; // likewise
    enum lh_outcome won;  // likewise, and not yet told
    lh_ballot told;
    struct lh_instant told_until;
};

// Replays one node up to its event number `stop` (counted over the recording; SIZE_MAX: all of
// it). Returns false at the first event that the functions would not make; its number goes to
// `ret_at`.
bool replay_node(const struct lh_recording *recording, uint32_t node, size_t stop,
                 struct replay_seat ret_seats[REPLAY_NAMES], size_t *ret_at);

#endif
