// Datagrams between members: one UDP socket, sealed at the last moment and opened at the first.
// What cannot be opened is dropped, counted by its cause (in CLUSTER STATUS), and named in the log
// now and then with its remedy.
#ifndef LH_NODE_UDP_H
#define LH_NODE_UDP_H

#include <uv.h>

#include "host/host.h"
#include "node/config.h"
#include "node/log.h"
#include "node/seal.h"

#define LH_UDP_BATCH 16 // datagrams taken with one system call

// One host name being looked up.
struct lh_udp_name {
    uv_getaddrinfo_t request;
    struct lh_address *address;
    bool pending, failing;
};

struct lh_udp {
    int file;
    uv_poll_t readable;
    struct lh_seal seal;
    struct lh_node_config *config;
    void *context;
    // An authentic datagram of a member other than this one.
    void (*receive)(void *context, uint8_t node, uint8_t generation, struct lh_slice bytes);
    uint64_t unsealed[LH_UNSEAL_COUNT]; // by cause
    uint64_t strangers;                 // authentic, from a number that is no member's
    uint64_t send_failed;
    struct lh_log_limit limits[LH_UNSEAL_COUNT];
    struct lh_log_limit send_limit;
    uv_timer_t look_up; // members' host names, anew now and then
    struct lh_udp_name names[LH_CONFIG_MEMBERS_MAX];
    uint8_t plain[LH_DATAGRAM_MAX];
    // What the kernel fills; with one byte more than any datagram of ours has.
    uint8_t buffers[LH_UDP_BATCH][LH_SEAL_OVERHEAD_BYTES + LH_DATAGRAM_MAX + 1];
};

// Binds this member's address and begins to receive. Other members' host names are looked up in the
// background, again and again: a member may not be there yet, or move. `udp->context` and
// `udp->receive` are set, `config` outlives the socket.
bool lh_udp_open(struct lh_udp *udp, uv_loop_t *loop, struct lh_node_config *config,
                 const struct lh_keyring *keyring, struct lh_error *error);

// Shows the socket's counters in the host's CLUSTER STATUS. The socket outlives the host.
void lh_udp_show_counters(const struct lh_udp *udp, struct lh_host *host);

void lh_udp_send(struct lh_udp *udp, uint8_t to, uint8_t generation, struct lh_slice plain);

void lh_udp_rekey(struct lh_udp *udp, const struct lh_keyring *keyring);

void lh_udp_close(struct lh_udp *udp);

#endif
