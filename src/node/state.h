// The file behind a clean restart (F4): leasehold-NODE.state in state-dir, or beside the socket if
// that is empty. It is worth nothing once the machine was started again, so a directory in memory
// fits. It is removed as soon as it was read.
#ifndef LH_NODE_STATE_H
#define LH_NODE_STATE_H

#include "host/driver.h"
#include "node/config.h"
#include "os/error.h"

// Restores what the last start of this node saved. False if there is nothing or it cannot be used;
// `error` then says why, or is empty if there is nothing.
bool lh_state_restore(const struct lh_node_config *config, struct lh_host *host,
                      struct lh_error *error);

// Whether lh_state_save finds its directory and may write there. If not, `error` says what to do; a
// daemon runs without.
bool lh_state_check(const struct lh_node_config *config, struct lh_error *error);

// Saves the host, which is handed no input from here on.
bool lh_state_save(const struct lh_node_config *config, struct lh_host *host,
                   struct lh_error *error);

#endif
