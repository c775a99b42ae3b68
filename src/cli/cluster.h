// A whole cluster of daemons on this machine's loopback, for `leasehold dev` and `leasehold demo`:
// a directory with keyring and configurations, free ports, the daemons started, watched, killed,
// stopped and continued, their log lines passed on, and in the end everything removed that was
// made.
//
// What must stay true: no daemon outlives this process (PDEATHSIG) and no file does, even if it is
// killed; only files made here are removed.
#ifndef LH_CLI_CLUSTER_H
#define LH_CLI_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"
#include "cli/process.h"

#define LH_CLUSTER_NODES_MOST 7
#define LH_CLUSTER_PATH_BYTES 96 // a socket's path must fit in 108 bytes

struct lh_cluster_node {
    struct lh_process daemon; // its id is the node's, from 1 on
    uint16_t peer_port;
    uint16_t client_port;
    char socket[LH_CLUSTER_PATH_BYTES + 16];
    char config[LH_CLUSTER_PATH_BYTES + 16];
};

struct lh_cluster {
    int count;
    char directory[LH_CLUSTER_PATH_BYTES];
    char daemon[4096];      // leaseholdd
    bool directory_is_ours; // made here, so removed here
    pid_t sweeper;          // removes the files if this process is killed
    int alive_fd;           // closed then
    struct lh_cluster_node nodes[LH_CLUSTER_NODES_MOST];
};

// Makes directory, keyring and configurations for `count` nodes. `directory` NULL makes a temporary
// one; a named one must be empty or not exist; its path is made absolute. `max_ttl` as in the
// configuration: "3s". On failure nothing is left behind.
bool lh_cluster_open(int count, const char *directory, const char *max_ttl,
                     struct lh_cluster *ret_cluster, struct lh_error *error);

// Starts a node's daemon. False with the reason.
bool lh_cluster_start(struct lh_cluster *cluster, struct lh_cluster_node *node,
                      struct lh_error *error);

// Sends a signal to a running daemon; nothing if it does not run.
void lh_cluster_signal(struct lh_cluster_node *node, int signal);

// What a node says of itself: its state ("joining", "quarantine", "serving") and what is left of a
// quarantine. False if it does not answer within `timeout`. Blocks.
bool lh_cluster_state(const struct lh_cluster_node *node, struct lh_duration timeout,
                      char ret_state[32], int64_t *ret_quarantine_left_ms);

// Ends every daemon, in order first (SIGTERM), after two seconds with SIGKILL, and removes what
// lh_cluster_open and the daemons made.
void lh_cluster_close(struct lh_cluster *cluster);

// Blocks TERM, INT, HUP and CHLD and returns a descriptor from which they are read; -1 with the
// reason.
int lh_cluster_open_signals(struct lh_error *error);

// The path of the running leasehold, and of a program beside it, in ../sbin or in PATH.
bool lh_cluster_find_program(const char *name, char *ret_path, size_t size, struct lh_error *error);

#endif
