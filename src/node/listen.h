// Where clients arrive: a Unix socket and, if configured, loopback TCP. Accepts connections and hands
// them on.
//
// What must stay true: nobody who arrives is left waiting without a word. Out of descriptors, a
// spare one is given up for as long as it takes to tell a stranger so; libuv's own listener closes
// such connections in silence, or never returns, so it is not used.
#ifndef LH_NODE_LISTEN_H
#define LH_NODE_LISTEN_H

#include <uv.h>

#include "node/config.h"
#include "node/log.h"

// Gets a connection, which is now its own, and does not block.
typedef void lh_arrival_fn(void *context, int file, bool is_tcp);

struct lh_listeners;

struct lh_listener {
    uv_poll_t poll;
    struct lh_listeners *all;
    int file;
    bool open;
};

struct lh_listeners {
    struct lh_listener unix_socket, tcp_socket;
    uv_timer_t pause; // until the next try, where accepting fails
    lh_arrival_fn *arrival;
    void *context;
    const char *path; // of the Unix socket
    int spare;        // descriptor
    uint64_t failed;
    struct lh_log_limit limit;
};

bool lh_listen_open(struct lh_listeners *listeners, uv_loop_t *loop,
                    const struct lh_node_config *config, lh_arrival_fn *arrival, void *context,
                    struct lh_error *error);

// Says in one line that there are too many and closes the connection; nothing is kept of it.
void lh_listen_turn_away(int file);

// Stops listening and removes the Unix socket. The handles end with the loop.
void lh_listen_close(struct lh_listeners *listeners);

#endif
