// The daemon's configuration: one ini file in which every key is also a flag, and flags win.
//
// Nothing is guessed: an unknown or repeated key, a bad value, an indented or over-long line is
// refused with file, line, key, value and what is allowed, because a daemon that misread its timing
// would be unsafe in silence. One table (config_key.h) gives names, ranges, defaults and help to
// the parser, the flags and --help.
#ifndef LH_NODE_CONFIG_H
#define LH_NODE_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/slice.h"
#include "base/time.h"
#include "lease/timing.h"
#include "node/log.h"
#include "os/address.h"
#include "os/error.h"

enum {
    LH_CONFIG_MEMBERS_MAX = 7,
    LH_CONFIG_PATH_BYTES = 256, // with the terminator
    LH_CONFIG_FILE_MAX_BYTES = 65536,
    LH_CONFIG_PORT = 7741,        // between members
    LH_CONFIG_CLIENT_PORT = 7742, // of client-listen
};

struct lh_config_member {
    uint32_t node;
    struct lh_address address; // host names are not looked up yet
};

struct lh_node_config {
    uint32_t node; // 1..255, one of the members
    char data_dir[LH_CONFIG_PATH_BYTES];
    char keyring[LH_CONFIG_PATH_BYTES];
    char socket[LH_CONFIG_PATH_BYTES];
    uint32_t socket_mode;
    struct lh_address client_listen; // port 0: off
    struct lh_timing timing;         // max-ttl and rate-error
    uint32_t max_leases;
    uint32_t max_clients;
    uint32_t member_epoch;
    char state_dir[LH_CONFIG_PATH_BYTES];
    bool idle_forget;
    bool one_round_renewal;
    bool clean_restart;
    bool quarantine_ceiling;
    enum lh_log_level log_level;
    char record[LH_CONFIG_PATH_BYTES];                      // empty: off
    struct lh_config_member members[LH_CONFIG_MEMBERS_MAX]; // by rising node
    size_t member_count;                                    // 1, or 3 to 7
};

enum lh_config_action {
    LH_CONFIG_RUN,
    LH_CONFIG_TEST,    // --config-test: lh_config_test, then exit
    LH_CONFIG_HELP,    // --help, -h
    LH_CONFIG_VERSION, // --version, -V
};

// What is read when neither --config nor a setting is given.
#define LH_CONFIG_FILE_DEFAULT "/etc/leasehold/leasehold.conf"

// Reads the file of --config, if given, and the flags of `arguments` (without the program's name),
// and checks the whole. With LH_CONFIG_HELP and LH_CONFIG_VERSION nothing is read and the
// configuration is left alone.
bool lh_config_read(int count, char *const *arguments, struct lh_node_config *ret_config,
                    enum lh_config_action *ret_action, struct lh_error *error);

// Reads and checks the text of an ini file of any origin; `path` is for errors.
bool lh_config_parse(struct lh_slice text, const char *path, struct lh_node_config *ret_config,
                     struct lh_error *error);

// The options for --help.
void lh_config_write_help(FILE *out);

// --config-test: looks at what the configuration names (the keyring, the directories of the socket
// and of the data, which are not made, and into the latter), and prints a verdict, what was found,
// and what the configuration means: members, quorum, D_P, D_A, Q and guard, with the inequalities
// they satisfy. False if a daemon would not start with it; a directory that is only missing is left
// to the unit, which makes it.
bool lh_config_test(FILE *out, const struct lh_node_config *config);

#endif
