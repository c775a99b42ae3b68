// The keys of the configuration: one table that the ini parser, the flags and --help share, and the
// parsers of their values. A key is added by one row here and one field in struct lh_node_config.
#ifndef LH_NODE_CONFIG_KEY_H
#define LH_NODE_CONFIG_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "node/config.h"

enum lh_config_type {
    LH_CONFIG_NUMBER,   // uint32_t
    LH_CONFIG_MODE,     // uint32_t, octal
    LH_CONFIG_PATH,     // char[LH_CONFIG_PATH_BYTES]; least and most count bytes
    LH_CONFIG_LISTEN,   // struct lh_address
    LH_CONFIG_DURATION, // struct lh_duration; least and most in ms
    LH_CONFIG_RATE,     // uint32_t, parts per million
    LH_CONFIG_SWITCH,   // bool
    LH_CONFIG_LEVEL,    // enum lh_log_level
};

struct lh_config_key {
    const char *name;
    enum lh_config_type type;
    size_t offset; // in struct lh_node_config
    uint64_t least;
    uint64_t most;
    const char *initial; // NULL: none, the key is required
    const char *allowed; // completes "want ..."
    const char *help;
};

enum { LH_CONFIG_KEYS = 18 };
extern const struct lh_config_key lh_config_keys[LH_CONFIG_KEYS];

// The key of this name; LH_CONFIG_KEYS if there is none.
size_t lh_config_key_find(struct lh_slice name);

// The name among all keys (and `address` and `member`) that `name` was probably meant to be, or
// NULL.
const char *lh_config_key_nearest(struct lh_slice name);

// Parses `value` into the key's field of `config`. On failure returns false and sets *ret_reason to
// why, which may be the key's `allowed`; the field is untouched.
bool lh_config_key_set(const struct lh_config_key *key, struct lh_slice value,
                       struct lh_node_config *config, const char **ret_reason);

// Sets every key that has an initial value to it.
void lh_config_defaults(struct lh_node_config *ret_config);

#endif
