// What a data directory says of the node that used it, against the configuration.
#ifndef LH_NODE_HISTORY_H
#define LH_NODE_HISTORY_H

#include "base/slice.h"
#include "node/config.h"
#include "os/error.h"
#include "os/keyring.h"

// Fills `error` with `problem`, which is what lh_host_load said of this pair, and with the values
// that differ. Returns false.
bool lh_history_refuse(const struct lh_node_config *config, const struct lh_keyring *keyring,
                       const char *problem, struct lh_slice key, struct lh_slice value,
                       struct lh_error *error);

#endif
