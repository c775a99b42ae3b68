// The paper's Monte Carlo over the role functions that ship: two proposers, three acceptors, and
// schedules of blindly picked steps, most of them deliveries. Every other schedule begins with a
// lease that is held, since few of the others get as far.
#ifndef LH_SIM_MONTE_CARLO_H
#define LH_SIM_MONTE_CARLO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LH_SIM_SCHEDULES 10000
#define LH_SIM_SCHEDULE_STEPS 100

// What is counted, by its name for machines, and in words.
#define LH_SIM_SCHEDULE_COUNTS(X)                                                                  \
    X(schedules, "schedules")                                                                      \
    X(steps, "steps picked")                                                                       \
    X(effective, "steps that changed something")                                                   \
    X(idle, "steps that were not possible")                                                        \
    X(queued, "messages under way at once, at most")                                               \
    X(delivered, "messages delivered")                                                             \
    X(dropped, "messages lost")                                                                    \
    X(repeated, "messages repeated")                                                               \
    X(ticks, "times that time passed")                                                             \
    X(acceptor_crashes, "crashes of an acceptor")                                                  \
    X(crashes_under_lease, "crashes of an acceptor while a lease was held")                        \
    X(restarts_under_way, "restarts of an acceptor with messages under way")                       \
    X(proposer_crashes, "crashes of a proposer")                                                   \
    X(grants, "leases granted")                                                                    \
    X(renewals, "leases renewed")                                                                  \
    X(releases, "leases released")                                                                 \
    X(violations, "schedules that broke a rule")

struct lh_sim_schedule_counts {
#define LH_SIM_SCHEDULE_FIELD(field, words) uint64_t field;
    LH_SIM_SCHEDULE_COUNTS(LH_SIM_SCHEDULE_FIELD)
#undef LH_SIM_SCHEDULE_FIELD
};

// Runs the schedules of those seeds, up to the first that breaks a rule unless `keep_going`, tells
// that one (or the only one) step by step, and prints the counts. Returns the exit code.
int lh_sim_monte_carlo(uint64_t first, uint64_t last, unsigned weakened, bool keep_going,
                       bool json);

#endif
