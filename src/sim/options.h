// The command line of `leasehold sim`. What is wrong with it is said on standard error, with the
// value and what to do.
#ifndef LH_SIM_OPTIONS_H
#define LH_SIM_OPTIONS_H

#include "sim/campaign.h"

struct lh_sim_options {
    struct lh_sim_campaign campaign;              // all but its files and what is called back
    const char *log, *record, *timeline, *replay; // paths, or NULL; they point into argv
    bool json, monte_carlo, help;
};

// Returns false after saying what is wrong. With `help` nothing else counts.
bool lh_sim_options_read(struct lh_sim_options *ret_options, int argc, char **argv);
void lh_sim_options_help(FILE *file);

// Says "leasehold sim: WHAT 'VALUE': REMEDY"; returns false.
bool lh_sim_complain(const char *what, const char *value, const char *remedy);

#endif
