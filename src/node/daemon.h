// The daemon: the host's driver on a libuv loop, with its socket, clients, data directory, log and
// signals.
//
// One turn of the loop: whatever came is handed to the driver, which reads the clock for each event
// itself; at the turn's end its datagrams and replies leave and one BOOTTIME timer is armed. The
// loop's own clock is never asked.
#ifndef LH_NODE_DAEMON_H
#define LH_NODE_DAEMON_H

#include "node/config.h"

// The configuration is wrong or does not fit data-dir. No restart mends it, and the packaged unit
// tries none.
#define LH_DAEMON_EXIT_USAGE 64

// Runs until TERM or INT. Returns the exit code; what went wrong at the start is in `error`, and
// the code is then not 0.
int lh_daemon_run(struct lh_node_config *config, const char *version, struct lh_error *error);

// `leaseholdd set-members`: gives a stopped node's directory the members, member epoch, max-ttl and
// rate-error of the configuration. The next start serves the larger of the old and the new
// quarantine.
bool lh_daemon_set_members(const struct lh_node_config *config, struct lh_error *error);

#endif
