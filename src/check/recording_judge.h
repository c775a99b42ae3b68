// Whether a recording is a behaviour of the lease module. One node is followed at a time, in its
// own order; for each name the acceptor and the proposer are followed beside what they said.
//
// A recording does not tell everything: not the rate error, so how long an exclusion lasts is known
// only between the TTL and 1.25 times it (the greatest rate error allowed, with room); and not what
// was forgotten (F1, F2) or restored (F4). Where two ways are possible, both are accepted: what is
// refused is a behaviour that no setting allows.
#ifndef LH_CHECK_RECORDING_JUDGE_H
#define LH_CHECK_RECORDING_JUDGE_H

#include "check/recording.h"

// Returns true if every event may be. Otherwise `ret_event` is the first that may not, and
// `ret_why` the rule that it breaks. Without memory, `ret_event` is NULL.
bool lh_recording_judge(const struct lh_recording *recording, const struct lh_recorded **ret_event,
                        char ret_why[256]);

#endif
