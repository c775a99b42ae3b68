// What will happen, in the order of true time; what happens at the same nanosecond happens in the
// order in which it was made, so that a seed has one history. A heap of small keys, four children
// each, over a pool of events; the bytes that events carry come from lists of blocks by size, so
// that a run in its stride allocates nothing.
#ifndef LH_SIM_QUEUE_H
#define LH_SIM_QUEUE_H

#include <stddef.h>
#include <stdint.h>

enum lh_sim_event_kind {
    LH_SIM_DATAGRAM,  // to a node
    LH_SIM_WRITTEN,   // a node's oldest write is on its disk
    LH_SIM_FLUSH,     // a node's turn ends late
    LH_SIM_TO_NODE,   // bytes of a client
    LH_SIM_GONE,      // a client's connection has ended, seen at the node
    LH_SIM_TO_CLIENT, // bytes of a node
    LH_SIM_RESET,     // a client's connection has ended, seen at the client
    LH_SIM_WAKE,      // a client acts
    LH_SIM_TURN,      // its library's timer
    LH_SIM_STORE,     // a client's write reaches the fenced resource
    LH_SIM_EDGE,      // the oracle looks at a deadline
    LH_SIM_FAULT,     // something goes wrong
    LH_SIM_START,     // a node is started again
    LH_SIM_EVENT_KINDS
};

struct lh_sim_event {
    enum lh_sim_event_kind kind;
    uint32_t target; // node, client or name
    uint32_t other;  // client or session of it; kind of a fault; who has a deadline
    uint32_t life;   // of the target, or of the connection: an event for an earlier one is void
    uint8_t from;    // member that sent a datagram
    uint8_t generation;
    uint64_t token, grant; // of a write
    uint32_t size, block;
    uint8_t *bytes;
};

struct lh_sim_queue;

struct lh_sim_queue *lh_sim_queue_open(void);
void lh_sim_queue_close(struct lh_sim_queue *queue);

// `bytes` are copied.
void lh_sim_queue_push(struct lh_sim_queue *queue, int64_t at_ns, const struct lh_sim_event *event,
                       const void *bytes, size_t size);

// When the next event happens; INT64_MAX if none does.
int64_t lh_sim_queue_next(const struct lh_sim_queue *queue);

// Takes the next event out; the queue is not empty. Its bytes are the caller's until it hands them
// back.
void lh_sim_queue_pop(struct lh_sim_queue *queue, struct lh_sim_event *ret_event);
void lh_sim_queue_free(struct lh_sim_queue *queue, const struct lh_sim_event *event);

#endif
