// The command line of `check`: what to run, how, and what to print.
#ifndef LH_CHECK_OPTIONS_H
#define LH_CHECK_OPTIONS_H

#include "check/rows.h"

struct lh_check_job {
    struct lh_check_config config;
    const struct lh_check_row *row; // NULL: nothing is recorded for it
    bool counts_comparable;         // the row's counts hold for this very configuration
};

struct lh_check_options {
    struct lh_check_job *jobs;
    size_t job_count;
    bool list;
    bool list_module; // what this one takes, instead of what is recorded
    enum lh_check_module module;
    bool json;
    bool help;
    bool expect_violation;
    const char *trace; // file to draw or write the trace to
    struct lh_search_options search;
};

// Parses argv[1..]; paths point into it. Returns false with a message for the user. The caller
// closes in either case.
bool lh_check_options_parse(struct lh_check_options *ret_options, int argc, char **argv,
                            char ret_error[LH_CHECK_ERROR_SIZE]);
void lh_check_options_close(struct lh_check_options *options);

#endif
