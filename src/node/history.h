// What a data directory says of the node that used it, against the configuration: told in values
// where they differ, and looked at beforehand for --config-test.
#ifndef LH_NODE_HISTORY_H
#define LH_NODE_HISTORY_H

#include "base/slice.h"
#include "host/host.h"
#include "node/config.h"
#include "os/error.h"
#include "os/keyring.h"

// Who this node is: what lh_host_load compares a stored pair with. The rest is left empty.
struct lh_host_config lh_history_identity(const struct lh_node_config *config,
                                          const struct lh_keyring *keyring);

// Fills `ret_reason` with `problem`, which is what lh_host_load said of this pair, and with the
// values that differ.
void lh_history_explain(const struct lh_host_config *identity, const char *problem,
                        struct lh_slice key, struct lh_slice value, struct lh_error *ret_reason);

// Looks into data-dir as a start would, without changing it and also while a daemon uses it. False
// if a start would be refused; `ret_reason` says why, or that it could not be looked into, or is
// empty.
bool lh_history_look(const struct lh_node_config *config, const struct lh_keyring *keyring,
                     struct lh_error *ret_reason);

#endif
