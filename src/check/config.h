// What one run of the checker is about: a module of the paper, the values of its constants, and the
// rules that are weakened. Constants have the names of the TLA+ modules, so that a configuration of
// the paper can be typed in as it stands. A configuration is validated once, when it is complete;
// everything behind lh_check_config_validate may rely on its ranges.
#ifndef LH_CHECK_CONFIG_H
#define LH_CHECK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LH_CHECK_MAX_PROPOSERS = 3,
    LH_CHECK_MAX_ACCEPTORS = 5,
    LH_CHECK_MAX_BALLOTS = 5,
    LH_CHECK_MAX_QUORUMS = 31, // every set of acceptors
    LH_CHECK_MAX_NETWORK = 32,
    LH_CHECK_VALUES = 32, // every variable of a module stays below this
    LH_CHECK_ERROR_SIZE = 640,
    LH_CHECK_VALUE_SIZE = 192, // a value as text: all quorums, of all acceptors
};

enum lh_check_module {
    LH_CHECK_LEASE,
    LH_CHECK_IMPL,
    LH_CHECK_COMPOSITION,
    LH_CHECK_CLOSED, // the lease rules on the closed network
    LH_CHECK_MODULES,
};

// One bit per rule that can be switched off alone.
enum lh_check_rule {
    LH_WEAKEN_LATE_TIMER = 1 << 0,         // P1/T1: the deadline is set at SendAccept
    LH_WEAKEN_OWNER_ONLY_RELEASE = 1 << 1, // P6: a release clears any record of its owner
    LH_WEAKEN_SCALAR_QUORUM = 1 << 2,      // P2: answers are counted, not acceptors
    LH_WEAKEN_STALE_OWNER_OPEN = 1 << 3,   // P2: any record of one's own counts as open
    LH_WEAKEN_QUORUMS = 1 << 4,            // two quorums need not intersect
    // The rest belong to the closed module.
    LH_WEAKEN_LIVE_OVERWRITE = 1 << 5,      // A2 as in the paper: any ballot >= promised replaces
    LH_WEAKEN_OVERWRITE_BY_OWNER = 1 << 6,  // A2: the owner suffices, whatever the base
    LH_WEAKEN_RECORDED_AGAIN = 1 << 7,      // A2: a redelivered Accept restarts the exclusion
    LH_WEAKEN_NOT_HELD_OPEN = 1 << 8,       // P2: the base need not be held any more
    LH_WEAKEN_EXCLUSION_SET = 1 << 9,       // D at the acceptor: the new deadline, not the greater
    LH_WEAKEN_AUTHORITY_SET = 1 << 10,      // D at the owner: likewise
    LH_WEAKEN_LATE_RENEWAL_TOKEN = 1 << 11, // P4: a renewal completed too late keeps its token
    LH_WEAKEN_FORGET_EARLY = 1 << 12,       // F1: one unit before the quarantine has passed
    LH_WEAKEN_FLOOR_LOST = 1 << 13,         // F2: a restart forgets the floor
    LH_WEAKEN_OLDER_EXTEND = 1 << 14,       // F3: answers to an older Extend count
    LH_WEAKEN_EXTEND_EXPIRED = 1 << 15,     // F3: an expired record is revived
    LH_WEAKEN_EXTEND_FOREIGN = 1 << 16,     // F3: any live record is answered for
    LH_WEAKEN_STAMP_RESTARTS = 1 << 17,     // F3 with F4: n begins at 1 again
    LH_WEAKEN_SAVED_TWICE = 1 << 18,        // F4: a saved state is not consumed
    LH_WEAKEN_CEILING_PROMISE = 1 << 19,    // F5: not raised before a promise
    LH_WEAKEN_CEILING_ACCEPT = 1 << 20,     // F5: not raised before an accept
    LH_WEAKEN_CEILING_EXTEND = 1 << 21,     // F5: not raised before an extend
    LH_WEAKEN_BALLOT_REUSE = 1 << 22,       // P1: a restarted node uses its last ballot again
    LH_WEAKEN_EXTEND_LATE = 1 << 23,        // F3: an extend counts after the lease has ended
    LH_WEAKEN_ABANDON_RENEWAL = 1 << 24,    // AbandonRelease: of a renewal too
    LH_WEAKEN_ABANDON_GOES_ON = 1 << 25,    // AbandonRelease: the attempt goes on
};

struct lh_check_config {
    char name[48];
    enum lh_check_module module;
    uint32_t weaken; // of lh_check_rule
    bool symmetry;

    uint8_t proposers;
    uint8_t acceptors;
    uint8_t ballots;
    uint8_t max_time;
    uint8_t proposer_duration;
    uint8_t acceptor_duration;
    uint8_t quarantine;
    uint8_t retry_timeout;
    uint8_t max_network;
    uint8_t crashable_acceptors; // a set; 0 stands for all
    uint8_t values;
    uint8_t max_slot;
    uint8_t lease_duration;
    uint8_t quorum_count; // 0: majorities
    uint8_t quorums[LH_CHECK_MAX_QUORUMS];

    // the closed module
    uint8_t durations; // of attempts: bit d-1 for duration d
    uint8_t extends;   // Extends a ballot; 0: no one-round renewal
    bool idle_forget;
    bool promise_floor;
    bool clean_restart;
    bool ceiling;
    bool client_outlives;
    bool abandon_release;
    bool keep_dead;
    bool prompt;
    bool allow_replace;

    bool timely_dispatch;
    bool allow_crash;
    bool allow_release;
    bool allow_drop;
    bool allow_renewal;
    bool allow_abandon;
    bool allow_redeliver;
    bool crash_drops_incoming;
    bool refuse_live_overwrite;
};

// The paper's smallest useful values for a module, to be changed with lh_check_config_set.
void lh_check_config_default(struct lh_check_config *config, enum lh_check_module module);

// Applies "NAME=VALUE". On failure returns false, leaves `config` untouched and says in `ret_error`
// what is wrong with the value and what would be right.
bool lh_check_config_set(struct lh_check_config *config, const char *assignment,
                         char ret_error[LH_CHECK_ERROR_SIZE]);

// Adds one rule, by its name, to the weakened ones; not a second time.
bool lh_check_config_weaken(struct lh_check_config *config, const char *rule,
                            char ret_error[LH_CHECK_ERROR_SIZE]);

// Whether the constants fit each other and the limits of this checker; what to change if not.
bool lh_check_config_validate(const struct lh_check_config *config,
                              char ret_error[LH_CHECK_ERROR_SIZE]);

// The greatest attempt duration of the closed module: M.
uint8_t lh_check_config_longest(const struct lh_check_config *config);

// Whether the set of acceptors contains a quorum.
bool lh_check_config_is_quorum(const struct lh_check_config *config, uint32_t acceptors);

const char *lh_check_module_name(enum lh_check_module module);
bool lh_check_module_parse(const char *text, enum lh_check_module *ret_module);

// The constants of a configuration, one after another: name and value as lh_check_config_set takes
// them. Returns false behind the last one.
bool lh_check_config_constant(const struct lh_check_config *config, size_t index,
                              const char **ret_name, char ret_value[LH_CHECK_VALUE_SIZE]);

// What a module takes: the name and the range of a constant, the name of a rule. False or NULL
// behind the last one.
bool lh_check_module_constant(enum lh_check_module module, size_t index, const char **ret_name,
                              char ret_range[64]);
const char *lh_check_module_rule(enum lh_check_module module, size_t index);

// The weakened rules by name, separated by commas; empty when none is.
void lh_check_config_weakened(const struct lh_check_config *config, char *ret_text, size_t size);

#endif
