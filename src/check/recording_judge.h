// Whether a recording is a behaviour of the lease module. One node is followed at a time, in its
// own order; for each name the acceptor and the proposer are followed beside what they said.
//
// A recording does not tell everything. The rate error is learned from the first answer that says
// what remains of an exclusion, and must be one throughout. What a clean restart restored (F4) is
// what the life before left, if that was recorded. A name that rested for its exclusion may have
// been forgotten (F1, F2). Where two ways are possible, both are accepted: what is refused is a
// behaviour that no setting allows.
#ifndef LH_CHECK_RECORDING_JUDGE_H
#define LH_CHECK_RECORDING_JUDGE_H

#include "check/recording.h"

// Returns true if every event may be. Otherwise `ret_event` is the first that may not, and
// `ret_why` the rule that it breaks. Without memory, `ret_event` is NULL.
bool lh_recording_judge(const struct lh_recording *recording, const struct lh_recorded **ret_event,
                        char ret_why[256]);

#endif
