// What is written for other tools and means something here: commands of etcdctl and consul, options
// of those, of flock(1) and timeout(1), and of Redis locks.
#ifndef LH_CLI_ELSEWHERE_H
#define LH_CLI_ELSEWHERE_H

#include "cli/options.h"

// The command that is called `typed` elsewhere; NULL if there is none.
const char *lh_elsewhere_command(const char *typed);

// What stands for an option of another tool.
struct lh_elsewhere {
    const char *ours;   // an option of this command; NULL: none is needed
    const char *advice; // the end of a sentence; NULL: did you mean `ours`?
};

// What stands for the option `typed` (without dashes) at a command with this syntax; NULL if it is
// known nowhere, or this command has nothing like it.
const struct lh_elsewhere *lh_elsewhere_option(const struct lh_syntax *syntax, const char *typed);

#endif
