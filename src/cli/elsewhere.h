// What is written for other tools and means something here: commands of etcdctl and consul, options
// of those, of flock(1) and timeout(1), and of Redis locks.
#ifndef LH_CLI_ELSEWHERE_H
#define LH_CLI_ELSEWHERE_H

#include "cli/options.h"

// The command that is called `typed` elsewhere; NULL if there is none.
const char *lh_elsewhere_command(const char *typed);

// What to write instead of the option `typed` (without dashes) at a command with this syntax: the
// end of a sentence; NULL if it is known nowhere, or this command has nothing like it.
const char *lh_elsewhere_option(const struct lh_syntax *syntax, const char *typed);

#endif
