// A counterexample of `leasehold check --trace FILE.json`, step by step on the role functions that
// ship. After each step what they have come to is compared with the trace's state: where the rule
// that the trace breaks stands, they depart from it.
#ifndef LH_SIM_REPLAY_H
#define LH_SIM_REPLAY_H

// Tells each step, and how it ended. Returns the exit code: 0 if the code departs from the trace, or
// ends it with nothing wrong, 3 if it ends with two holders, or another breach; 64 if the file is no
// such trace. The file is not trusted.
int lh_sim_replay(const char *path, unsigned weakened);

#endif
