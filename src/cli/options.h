// The command line of one subcommand: a table of its options, read the same way everywhere. `--name
// value` and `--name=value` are the same, an option whose name is one letter is written `-E value`,
// options and positional arguments may come in any order, `--` ends the options, and every command
// understands --help. What is wrong is said with the word as it was typed, what is allowed and, for
// a slip of the finger, what was probably meant.
#ifndef LH_CLI_OPTIONS_H
#define LH_CLI_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

enum lh_option_kind {
    LH_OPTION_FLAG,     // bool *
    LH_OPTION_TEXT,     // const char **, points into argv
    LH_OPTION_DURATION, // struct lh_option_duration *, > 0
    LH_OPTION_WAIT,     // struct lh_option_duration *, 0 allowed
    LH_OPTION_NUMBER,   // int64_t *, 1..2^63-1: tokens and counts
};

struct lh_option_duration {
    bool given;
    struct lh_duration value;
    const char *text; // as it was typed
};

struct lh_option {
    const char *name; // without the dashes; one letter: has one dash
    enum lh_option_kind kind;
    void *value;          // left alone unless the option is given
    const char *argument; // what stands for the value in the help: "D", "TOKEN"; NULL for a flag
    const char *help;     // lines after a '\n' are indented likewise
};

#define LH_POSITIONALS_ANY INT_MAX

struct lh_syntax {
    const char *command;   // "acquire"
    const char *arguments; // how it is called, after the command: "NAME [options]"
    const char *about;     // a sentence or two for the help
    int positionals_least; // how many positional arguments it takes
    int positionals_most;  // LH_POSITIONALS_ANY: as many as are given
    bool takes_command;    // what follows the positionals, or `--`, is a command of its own
    const struct lh_option *options;
    size_t option_count;
};

struct lh_parsed {
    char **positionals; // gathered at the front of argv, behind the command's name
    int positional_count;
    char **command; // takes_command: ends in NULL; points into argv
    int command_count;
};

// Reads argv[1..]; argv[0] is the command's own name. Returns true with everything stored, else
// false with the exit code in *ret_exit after printing why (or the help, for which the code is 0).
bool lh_options_parse(const struct lh_syntax *syntax, int argc, char **argv,
                      struct lh_parsed *ret_parsed, int *ret_exit);

// The option of this name, of size bytes; NULL if there is none.
const struct lh_option *lh_option_find(const struct lh_syntax *syntax, const char *name,
                                       size_t size);

// --nonblock and --wait exclude each other: says so and sets *ret_exit.
bool lh_options_one_wait(const char *command, bool nonblock, const struct lh_option_duration *wait,
                         int *ret_exit);

// What every command that talks to a daemon takes.
struct lh_common_options {
    const char *connect;               // NULL: LEASEHOLD_CONNECT, then the default
    struct lh_option_duration timeout; // how long to go on without a quorum; default 5 s
    bool json;
};

#define LH_COMMON_OPTIONS(common)                                                                  \
    {"connect", LH_OPTION_TEXT, &(common).connect, "ENDPOINT[,..]",                                \
     "where daemons are (default $LEASEHOLD_CONNECT, then unix:/run/leasehold/client.sock)"},      \
        {"timeout", LH_OPTION_DURATION, &(common).timeout, "D",                                    \
         "give up after so long without an answer of a quorum (default 5s)"},                      \
    {                                                                                              \
        "json", LH_OPTION_FLAG, &(common).json, NULL, "print JSON with stable names"               \
    }

#endif
