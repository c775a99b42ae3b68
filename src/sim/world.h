// What the simulator's files share: nodes, clients, and the world around them.
//
//     node.c     a node: the shipped driver over a virtual network, disk and clock
//     client.c   a client: what it does, its connection, its writes to the fenced resource
//     faults.c   what goes wrong, and healing
//     run.c      the loop, and the two phases of a run
//     oracle.c   the judge
//     measured.c the judge of what nodes measure of each other's clocks
//
// Nothing here depends on addresses, on the machine or on time outside: the same seed and the same
// build give the same history, byte for byte.
#ifndef LH_SIM_WORLD_H
#define LH_SIM_WORLD_H

#include "base/prng.h"
#include "client/keeper.h"
#include "host/recorder.h"
#include "sim/clock.h"
#include "sim/oracle.h"
#include "sim/queue.h"
#include "sim/run.h"
#include "sim/settings.h"
#include "sim/timeline.h"
#include "sim/weaken.h"

#define LH_SIM_PAIRS_MAX 16
#define LH_SIM_WRITES_MAX 64
#define LH_SIM_SESSIONS_MAX 32

struct lh_sim;

struct lh_sim_write {
    uint64_t number;
    unsigned count;
    struct lh_host_pair pairs[LH_HOST_PAIRS_MAX];
};

// A name that this node promised or granted something of, and when, by its clock; 0: none.
struct lh_sim_answered {
    struct lh_key key;
    int64_t at_ns;
};

enum lh_sim_disk { LH_SIM_DISK_STALLED, LH_SIM_DISK_FULL, LH_SIM_DISK_FAILING };

struct lh_sim_node {
    struct lh_sim *sim;
    unsigned index;
    struct lh_host_config config;
    void *memory; // of its driver
    size_t memory_size;
    struct lh_driver *driver; // NULL while down
    uint32_t life;            // counts starts
    struct lh_recorder recorder;
    struct lh_sim_clock clock;
    int64_t clock_since;   // true time since which it has run as it does
    int64_t judged_at;     // when what it measures was last judged
    int64_t turn_local_ns; // what it read last; for the canary that goes by it
    int64_t timer_at;      // true time at which its driver wants to be called
    int64_t paused_until;
    bool suspended;     // and nothing that is sent meanwhile reaches it
    bool wiped;         // and has not served since
    uint8_t generation; // as last admitted
    bool flush_due;
    // its disk
    unsigned pair_count, write_count;
    struct lh_host_pair pairs[LH_SIM_PAIRS_MAX];
    struct lh_sim_write writes[LH_SIM_WRITES_MAX];
    unsigned batch;        // the first of its writes that the commit under way makes durable
    int64_t retry_ns;      // before a commit that failed is tried again
    enum lh_sim_disk disk; // what is wrong with it ..
    int64_t disk_until;    // .. before this time
    uint8_t *saved;        // F4
    size_t saved_size;
    // who is connected
    uint32_t sessions[LH_SIM_SESSIONS_MAX];            // client + 1
    uint32_t lives[LH_SIM_SESSIONS_MAX];               // which connection of it
    struct lh_sim_answered answered[LH_SIM_NAMES_MAX]; // for the canary that forgets early
    // what it said of the leases it holds
    int64_t until_local_ns[LH_SIM_NAMES_MAX];
};

struct lh_sim_client {
    struct lh_sim_clock clock;
    unsigned index, name;
    unsigned holders;
    char holder[24];
    int64_t token;    // of a lease it had and may resume, or 0
    int64_t released; // of a release of this holder that nobody answered, or 0
    bool gone;        // it does nothing any more
    bool probes;      // after healing: it only acquires what it is told to
    int64_t probe_ns;
    uint32_t wake; // only the last one counts
    int64_t paused_until;
    // the library, with one lease at a time
    bool keeping;
    bool granted; // since it began to
    struct lh_keeper keeper;
    struct lh_instant deadline; // what lh_lease_valid would compare with the clock
    uint64_t grant;             // of the lease it holds, for the oracle
    int64_t turn_at;            // true time of the library's next turn
    uint32_t turn;              // only the last one counts
    // its connection
    bool connected;
    bool asking; // a question, not the library's
    unsigned node;
    uint32_t node_life;
    uint32_t life;                    // counts connections
    int64_t to_node_at, to_client_at; // a stream keeps its order
};

struct lh_sim {
    struct lh_sim_settings settings;
    struct lh_prng prng;
    int64_t now; // true time
    struct lh_sim_queue *queue;
    struct lh_sim_oracle oracle;
    struct lh_sim_result result;
    bool healed;
    unsigned idle_timers;                                  // in a row without time passing
    int64_t cut_until[LH_SIM_NODES_MAX][LH_SIM_NODES_MAX]; // from, to
    struct lh_sim_node nodes[LH_SIM_NODES_MAX];
    struct lh_sim_client clients[LH_SIM_CLIENTS_MAX + 1]; // the last one asks after healing
    struct lh_sim_files files;
    struct lh_sim_timeline *timeline; // or NULL
    bool sees_messages;               // a file or a weakened rule needs them
};

// --- chance ---

static inline bool lh_sim_chance(struct lh_sim *sim, int64_t ppm)
{
    return ppm > 0 && (int64_t)lh_prng_below(&sim->prng, LH_SIM_PPM) < ppm;
}

static inline uint64_t lh_sim_below(struct lh_sim *sim, uint64_t n)
{
    return lh_prng_below(&sim->prng, n);
}

static inline int64_t lh_sim_between(struct lh_sim *sim, int64_t least, int64_t most)
{
    return least >= most ? least : lh_prng_between(&sim->prng, least, most);
}

// Short spans are as likely as long ones: each power of two from `least_ns` to `most_ns`.
int64_t lh_sim_span(struct lh_sim *sim, int64_t least_ns, int64_t most_ns);

// --- run.c ---

// A line of the event log, which is part of what a seed repeats.
void lh_sim_note(struct lh_sim *sim, const char *what, uint64_t a, uint64_t b, uint64_t c);

// --- node.c ---

void lh_sim_node_init(struct lh_sim *sim, unsigned index);
void lh_sim_node_start(struct lh_sim_node *node);
// Of the writes under way the first `durable` reach the disk.
void lh_sim_node_crash(struct lh_sim_node *node, unsigned durable, bool told);
void lh_sim_node_stop(struct lh_sim_node *node);
void lh_sim_node_wipe(struct lh_sim_node *node);
// Its clock begins anew, as after a boot; the node is down.
void lh_sim_node_reboot(struct lh_sim_node *node);
void lh_sim_node_bend(struct lh_sim_node *node, int64_t rate_ppm);
void lh_sim_node_timer(struct lh_sim_node *node);
void lh_sim_node_event(struct lh_sim_node *node, const struct lh_sim_event *event);
bool lh_sim_node_serves(const struct lh_sim_node *node);
void lh_sim_node_close(struct lh_sim_node *node);

static inline bool lh_sim_node_disk_is(const struct lh_sim_node *node, enum lh_sim_disk disk)
{
    return node->disk_until > node->sim->now && node->disk == disk;
}

static inline int64_t lh_sim_node_timer_at(const struct lh_sim_node *node)
{
    if (node->driver == NULL)
        return INT64_MAX;
    return node->timer_at > node->paused_until ? node->timer_at : node->paused_until;
}

// --- measured.c ---

void lh_sim_measured_judge(struct lh_sim_node *node);

// --- client.c ---

void lh_sim_client_init(struct lh_sim *sim, unsigned index);
void lh_sim_client_event(struct lh_sim_client *client, struct lh_sim *sim,
                         const struct lh_sim_event *event);
void lh_sim_client_crash(struct lh_sim_client *client, struct lh_sim *sim);
void lh_sim_client_bend(struct lh_sim_client *client, struct lh_sim *sim, int64_t rate_ppm);
// The last client asks for `name`, beginning behind `node`, until it is granted.
void lh_sim_client_probe(struct lh_sim *sim, unsigned node, unsigned name, int64_t wait_ns);

// --- faults.c ---

struct lh_sim_clock lh_sim_some_clock(struct lh_sim *sim);
void lh_sim_faults_begin(struct lh_sim *sim);
void lh_sim_fault(struct lh_sim *sim, unsigned kind);
void lh_sim_heal(struct lh_sim *sim);

#endif
