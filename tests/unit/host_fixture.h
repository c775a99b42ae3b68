// The one place where tests make whole clusters: real drivers of real hosts on a network, on disks
// and under clocks of our own, all in one process and in true time that only the fixture knows. A
// seed decides latencies, losses, duplicates, clock rates and everything else; the same seed gives
// the same run.
//
// The referee looks at every event and every answer. At most one holder of a name may believe at
// any instant of true time, whether it is the node or the client that believes; tokens of a name
// only rise; a renewal moves no deadline back; no node lets go of a lease under a client that still
// believes; and what a client computes from `until-ns` on its own clock ends no later than the
// node's td. A break ends the test with the seed.
#ifndef LH_TESTS_UNIT_HOST_FIXTURE_H
#define LH_TESTS_UNIT_HOST_FIXTURE_H

#include "base/prng.h"
#include "base/resp_reply.h"
#include "host/driver.h"
#include "host/host_internal.h"
#include "host/save.h"

#define CLUSTER_PROCESSES_MAX 10
#define CLUSTER_CLIENTS_MAX 1152
#define CLUSTER_PAIRS_MAX 16
#define CLUSTER_WRITES_MAX 256
#define CLUSTER_NAMES_MAX 1024
#define CLUSTER_BELIEFS_MAX 320
#define CLUSTER_ASKED_MAX 64
#define CLUSTER_VALUES_MAX 16384
#define CLUSTER_TAPES_MAX 4096
#define CLUSTER_PUSHES_MAX 32

struct cluster;
struct cluster_event;

struct cluster_settings {
    unsigned nodes;
    int64_t max_ttl_ms;
    uint32_t rate_ppm;
    bool idle_forget, one_round_renewal, quarantine_ceiling, clean_restart;
    uint32_t max_leases, max_clients;
    uint64_t seed;
    int64_t latency_ns, jitter_ns; // of a datagram, one way
    int64_t client_ns;             // between client and node, one way
    int64_t disk_ns;               // of one write
    int64_t step_ns;   // at most so much passes between two readings of a clock in one turn
    int32_t drift_ppm; // clocks of nodes and clients run at a rate chosen within this
    bool dormant;      // cluster_open starts nobody
};

struct cluster_disk {
    unsigned count;
    struct lh_host_pair pairs[CLUSTER_PAIRS_MAX];
};

struct cluster_write {
    uint64_t number;
    unsigned count;
    struct lh_host_pair pairs[LH_HOST_PAIRS_MAX];
};

struct cluster_clock {
    int32_t rate_ppm; // against true time
    int64_t offset_ns;
};

// One daemon, running or not. Several may use the number of one node: copies that should not be.
struct cluster_process {
    struct cluster *cluster;
    struct lh_host_config config;
    void *memory; // of its drivers, one after the other
    size_t memory_size;
    struct lh_driver *driver; // NULL while down
    const char *refused;      // why it did not start
    uint32_t life;            // counts starts
    struct cluster_clock clock;
    struct cluster_disk disk;
    uint8_t
        *saved; // F4: what the last stop in order left; it is tried at every start, used up or not
    size_t saved_size;
    uint64_t restores;
    unsigned write_count, writes_begun;
    struct cluster_write writes[CLUSTER_WRITES_MAX];
    bool stalled;                  // its disk
    bool stopped;                  // as by SIGSTOP
    struct cluster_event *backlog; // what came meanwhile
    size_t backlog_count, backlog_capacity;
    uint32_t sessions[CLUSTER_CLIENTS_MAX]; // client + 1, by session ..
    uint32_t lives[CLUSTER_CLIENTS_MAX];    // .. and which connection of it
    uint64_t events[LH_EVENT_REVOKED + 1];  // seen, by kind
    const char *text[LH_EVENT_REVOKED + 1]; // of the last one of the kind
    uint64_t number[LH_EVENT_REVOKED + 1];
    uint8_t peer[LH_EVENT_REVOKED + 1];
    bool flush_due;
};

struct cluster_asked {
    int64_t sent_ns; // on the client's clock, before the send
    int64_t true_ns;
    bool about_lease, acquire, renew, release;
    uint64_t token;
    char name[64];
};

struct cluster_client {
    bool open;
    bool kept; // not for another connection, although it is closed
    unsigned process;
    uint32_t session, life;
    struct cluster_clock clock;
    unsigned asked_first, asked_count;
    struct cluster_asked asked[CLUSTER_ASKED_MAX];
    uint8_t *input; // from the node
    size_t input_used, input_capacity;
    bool corked; // what it sends waits, to arrive in one piece
    uint8_t *corked_bytes;
    size_t corked_used, corked_capacity;
    uint8_t *unread; // at the node, not taken yet
    size_t unread_used, unread_capacity;
    struct lh_resp_value *values;
    uint8_t *reply; // the last one
    size_t reply_size;
    int64_t reply_at, reply_took; // true time
    unsigned replies;             // so many came
    unsigned pushes;
    char push[CLUSTER_PUSHES_MAX][512]; // payloads of messages, the last ones
    void (*on_reply)(struct cluster *cluster, unsigned client, const struct lh_resp_value *reply);
    void *context;
};

// Somebody believes that it holds a name.
struct cluster_belief {
    bool client;  // else the node itself
    unsigned who; // process or client
    uint64_t token;
    int64_t until_ns; // on its own clock
};

struct cluster_name {
    char text[64];
    uint64_t token; // the greatest granted
    unsigned count;
    struct cluster_belief beliefs[CLUSTER_BELIEFS_MAX];
    // td of the token granted last, for those who compute from it
    unsigned owner;
    int64_t td_ns;
    bool released;
    uint64_t let_go; // its holder has sent a release: whoever shares the holder must know
};

struct cluster_tape {
    unsigned from; // process
    uint32_t life;
    uint8_t to, generation;
    uint16_t size;
    uint8_t bytes[LH_DATAGRAM_MAX];
};

struct cluster {
    struct cluster_settings settings;
    struct lh_prng prng;
    int64_t true_ns;
    uint64_t sequence;
    unsigned process_count, client_count, name_count;
    struct cluster_process processes[CLUSTER_PROCESSES_MAX];
    struct cluster_client clients[CLUSTER_CLIENTS_MAX];
    struct cluster_name names[CLUSTER_NAMES_MAX];
    struct cluster_event *heap;
    size_t heap_count, heap_capacity;
    bool cut[CLUSTER_PROCESSES_MAX][CLUSTER_PROCESSES_MAX]; // from, to
    uint32_t loss_ppm, duplicate_ppm, late_ppm, batch_ppm;  // of datagrams; of turns
    bool taping;
    unsigned tape_count; // the first ones
    struct cluster_tape *tapes;
    uint64_t datagrams, datagram_bytes, grants, steps;
    unsigned idle_turns; // timers in a row without time passing
    bool loud;
    bool expect_break, broken; // the referee's own test: it says so and goes on
};

// 3 nodes, M 10 s, rho 1 %, 50 us one way, 2 ms a write.
struct cluster_settings cluster_defaults(void);

// A cluster whose nodes are processes 0 .. nodes - 1, numbered from 1, on empty disks and started.
struct cluster *cluster_open(const struct cluster_settings *settings);
void cluster_close(struct cluster *cluster);

// --- processes ---

// Another daemon that calls itself `node`, with an empty disk, not started.
unsigned cluster_add(struct cluster *cluster, uint8_t node);
// True if it came up; else `refused` says why not.
bool cluster_start(struct cluster *cluster, unsigned process);
// Of the writes under way the first `durable` reach the disk.
void cluster_crash(struct cluster *cluster, unsigned index, unsigned durable);
// As by SIGTERM: what it has is saved, and then it is gone.
void cluster_shut_down(struct cluster *cluster, unsigned index, unsigned durable);
void cluster_stop(struct cluster *cluster, unsigned process);
void cluster_continue(struct cluster *cluster, unsigned process);
void cluster_wipe(struct cluster *cluster, unsigned process);
void cluster_copy_disk(struct cluster *cluster, unsigned from, unsigned to);
void cluster_stall_disk(struct cluster *cluster, unsigned process, bool stalled);
void cluster_cut(struct cluster *cluster, unsigned a, unsigned b, bool cut);
void cluster_isolate(struct cluster *cluster, unsigned process, bool cut);

struct lh_host *cluster_host(struct cluster *cluster, unsigned process);
struct lh_identity *cluster_identity(struct cluster *cluster, unsigned process);
bool cluster_serving(struct cluster *cluster, unsigned process);
struct lh_instant cluster_now(const struct cluster *cluster, unsigned process);
// The stored pair whose key begins with `kind`, or NULL.
struct lh_host_pair *cluster_stored(struct cluster *cluster, unsigned process, char kind);

// --- time ---

// One event. Returns false if there is none before `limit_ns`, which is then the time.
bool cluster_step(struct cluster *cluster, int64_t limit_ns);
void cluster_run(struct cluster *cluster, int64_t ms);

typedef bool (*cluster_condition)(struct cluster *cluster, void *context);
// Returns false if the condition did not come true within `ms`.
bool cluster_run_until(struct cluster *cluster, cluster_condition condition, void *context,
                       int64_t ms);
// All of them serve.
bool cluster_run_until_serving(struct cluster *cluster, int64_t ms);

// --- network ---

// Hands a datagram to every process that calls itself `to`, at once.
void cluster_inject(struct cluster *cluster, uint8_t to, uint8_t from, uint8_t generation,
                    struct lh_slice bytes);
void cluster_replay(struct cluster *cluster, const struct cluster_tape *tape);

// --- clients ---

unsigned cluster_connect(struct cluster *cluster, unsigned index);
void cluster_disconnect(struct cluster *cluster, unsigned index);
// The client has ended, and the node sees it.
void cluster_end_client(struct cluster *cluster, unsigned index);
void cluster_send_bytes(struct cluster *cluster, unsigned index, const void *bytes, size_t size);
// Until it is uncorked, what the client sends waits, and then arrives in one piece.
void cluster_cork(struct cluster *cluster, unsigned index, bool corked);
// The words of a command, separated by single spaces.
__attribute__((format(printf, 3, 4))) void cluster_command(struct cluster *cluster, unsigned client,
                                                           const char *format, ...);
// Sends it and runs until its answer is here: at most 60 s.
__attribute__((format(printf, 3, 4))) const struct lh_resp_value *
cluster_call(struct cluster *cluster, unsigned client, const char *format, ...);
// Runs until `client` has received as many replies as it sent commands.
const struct lh_resp_value *cluster_await(struct cluster *cluster, unsigned client, int64_t ms);

// Of the last reply of `client`: "" or -1 if it has no such key.
const char *cluster_text(struct cluster *cluster, unsigned client, const char *key);
int64_t cluster_integer(struct cluster *cluster, unsigned client, const char *key);
unsigned long long cluster_token(struct cluster *cluster, unsigned client);
const char *cluster_status(struct cluster *cluster, unsigned client);
// Fails unless it has this status and, if not NULL, these words in its reason.
void cluster_expect(struct cluster *cluster, unsigned client, const char *status,
                    const char *reason);
const char *cluster_error(struct cluster *cluster, unsigned client);
const struct lh_resp_value *cluster_reply(struct cluster *cluster, unsigned index);
// The number after "key": in the payload of a message, or -1.
int64_t cluster_push_integer(const char *payload, const char *key);

// Whether somebody believes to hold `name` now, and under which token.
uint64_t cluster_believed(struct cluster *cluster, const char *text);

// Ends the test, unless a break is what the test expects.
__attribute__((format(printf, 2, 3))) void cluster_break(struct cluster *cluster,
                                                         const char *format, ...);
// For the referee's own test: an event that no node had.
void cluster_tell(struct cluster *cluster, unsigned process, const struct lh_event *event);

#endif
