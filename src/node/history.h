// What a data directory says of the node that used it, against the configuration: told in values
// where they differ, and looked at beforehand for --config-test.
#ifndef LH_NODE_HISTORY_H
#define LH_NODE_HISTORY_H

#include "host/host.h"
#include "node/config.h"
#include "node/store_file.h"
#include "os/error.h"
#include "os/keyring.h"

// Who this node is: what lh_host_load compares a stored pair with. The rest is left empty.
struct lh_host_config lh_history_identity(const struct lh_node_config *config,
                                          const struct lh_keyring *keyring);

// The stored pairs on their way into a host.
struct lh_history {
    const struct lh_host_config *identity;
    struct lh_host *host;
    bool refused;           // the host refuses one of them
    struct lh_error reason; // what it said of the first, with the values that differ
};

// Loads one pair; `context` is the history, as for lh_store_each.
void lh_history_load(void *context, const struct lh_store_pair *pair);

// Looks into data-dir as a start would, without changing it and also while a daemon uses it. False
// if a start would be refused; `ret_reason` says why, or that it could not be looked into, or is
// empty.
bool lh_history_look(const struct lh_node_config *config, const struct lh_keyring *keyring,
                     struct lh_error *ret_reason);

#endif
