// One run of one seed: a phase with faults, in which nothing may ever be wrong, and a healed one, in
// which every node must serve and every lease be granted within a stated time.
#ifndef LH_SIM_RUN_H
#define LH_SIM_RUN_H

#include <stdio.h>

#include "sim/settings.h"

enum lh_sim_verdict {
    LH_SIM_CLEAN = 0,
    LH_SIM_UNSAFE = 3,
    LH_SIM_STUCK = 4,
    LH_SIM_CRASHED = 70,
};

// What was counted, in the order in which it is printed.
#define LH_SIM_COUNTS(X)                                                                           \
    X(events, "events")                                                                            \
    X(datagrams, "datagrams")                                                                      \
    X(grants, "grants")                                                                            \
    X(renewals, "renewals")                                                                        \
    X(releases, "releases")                                                                        \
    X(losses, "losses")                                                                            \
    X(writes, "writes")                                                                            \
    X(refused, "stale-refused")                                                                    \
    X(crashes, "crashes")                                                                          \
    X(wipes, "wipes")                                                                              \
    X(restores, "restores")                                                                        \
    X(halts, "halts")                                                                              \
    X(pauses, "pauses")                                                                            \
    X(cuts, "cuts")                                                                                \
    X(stalls, "stalls")                                                                            \
    X(disk_errors, "disk-errors")                                                                  \
    X(intervals, "clock-intervals")

enum lh_sim_file { LH_SIM_FILE_LOG, LH_SIM_FILE_TIMELINE, LH_SIM_FILE_RECORD };

struct lh_sim_result {
    uint64_t seed;
    enum lh_sim_verdict verdict;
    int64_t at_ns; // of what was wrong, in true time
    char what[256];
    uint64_t log_hash;               // of the event log
    int unwritten;                   // why a file is not whole (errno), or 0
    enum lh_sim_file unwritten_file; // which
    int64_t simulated_ns;
#define LH_SIM_COUNT_FIELD(field, name) uint64_t field;
    LH_SIM_COUNTS(LH_SIM_COUNT_FIELD)
#undef LH_SIM_COUNT_FIELD
};

// What a run writes besides its result; NULL: not.
struct lh_sim_files {
    FILE *log;                       // the event log
    FILE *timeline;                  // a drawing (timeline.h)
    FILE *records[LH_SIM_NODES_MAX]; // what each node records (host/recorder.h)
};

void lh_sim_run(const struct lh_sim_settings *settings, const struct lh_sim_files *files,
                struct lh_sim_result *ret_result);

#endif
