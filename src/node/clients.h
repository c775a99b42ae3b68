// Client connections. This file moves bytes; the host's sessions understand them. To a client that
// does not read, the host says no more than it asks for; one that asks on all the same is let go.
#ifndef LH_NODE_CLIENTS_H
#define LH_NODE_CLIENTS_H

#include <uv.h>

#include "host/driver.h"
#include "node/config.h"
#include "node/listen.h"

#define LH_CLIENT_BACKLOG_BYTES (64 << 10) // not yet read by a client: it is slow
#define LH_CLIENT_PENDING_MAX (1 << 20)    // bytes not yet read by a client before it is let go

struct lh_client {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tcp_t tcp;
    } as;
    struct lh_clients *clients;
    uint32_t session;
    uint32_t next; // of the free list
    bool open;
    bool reading;
    bool closing; // end the connection once everything is written
    bool dirty;   // in the list of those with bytes to write
    bool is_tcp;
    bool ended;   // the other side closed it, which on a Unix socket proves that it has ended
    bool writing; // `sent` is with the kernel
    uint32_t next_dirty;
    char *out, *sent;
    size_t out_used, out_size, sent_size;
    uv_write_t write;
};

struct lh_clients {
    struct lh_listeners listeners;
    uv_loop_t *loop;
    struct lh_driver *driver;
    struct lh_client *pool;
    uint32_t capacity, used, free, dirty;
    uint64_t accepted, turned_away, let_go;
    char buffer[65536];
};

bool lh_clients_open(struct lh_clients *clients, uv_loop_t *loop,
                     const struct lh_node_config *config, struct lh_driver *driver,
                     struct lh_error *error);

// Bytes for a session, written by lh_clients_flush.
void lh_clients_reply(struct lh_clients *clients, uint32_t session, struct lh_slice bytes,
                      bool close);

// Writes what the turn produced, and reads on where there is room again.
void lh_clients_flush(struct lh_clients *clients);

void lh_clients_close(struct lh_clients *clients);

#endif
