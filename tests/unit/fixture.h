// The one place where tests make machines: a small cluster of them with clocks that run at
// different rates, a network that keeps every packet until somebody delivers or forgets it, and a
// disk for each node. It is the driver of docs/architecture.md without threads: whoever uses it
// decides what happens next.
//
// fixture_check is the referee. It looks at true time, which no node sees: at most one node may
// hold a name, tokens only rise, a token that ended never comes back, and no deadline of a holder
// moves back.
#ifndef LH_TESTS_UNIT_FIXTURE_H
#define LH_TESTS_UNIT_FIXTURE_H

#include "lease/machine.h"

#define FIXTURE_NAMES 4
#define FIXTURE_PERSISTS 64

struct fixture_settings {
    unsigned nodes;
    int64_t max_ttl_ms;
    uint32_t rate_ppm;
    bool idle_forget, one_round_renewal, quarantine_ceiling;
    uint32_t max_leases;
    uint64_t reserved;          // on every disk at the start
    struct lh_duration ceiling; // F5: on every disk at the start
    uint64_t seed;
    unsigned packet_capacity;
};

struct fixture_packet {
    uint8_t from, to; // positions, from 0
    uint32_t sender_boot;
    uint32_t echoed_boot; // of an answer: the boot that asked
    uint32_t waits_for;   // F5: leaves once the sender's disk has done this many writes
    int64_t sent_ns;      // true time
    unsigned delivered;   // how often
    struct lh_message message;
};

struct fixture_persist {
    bool is_ceiling;
    uint64_t reserved;
    struct lh_duration ceiling;
};

struct fixture_node {
    struct lh_machine *machine; // NULL while it is down
    void *memory;
    struct lh_prng prng;
    int32_t rate_ppm; // of its clock against true time
    int64_t offset_ns;
    uint32_t boot;
    uint64_t reserved; // on disk
    struct lh_duration ceiling;
    struct fixture_persist pending[FIXTURE_PERSISTS];
    unsigned pending_count;
    uint32_t asked, done; // writes
};

// What a node was told in the last call, and its lease at that moment.
struct fixture_told {
    uint8_t node;
    struct lh_notice notice;
    unsigned name;
    lh_ballot token;
    struct lh_instant until;
};

struct fixture_name {
    lh_ballot token; // the greatest that was ever held
    unsigned node;
    struct lh_instant until;
    bool over;
};

struct fixture {
    struct fixture_settings settings;
    struct fixture_node nodes[LH_MEMBERS_MAX];
    int64_t true_ns;
    struct fixture_packet *packets;
    unsigned packet_count;
    unsigned packets_lost; // no room
    struct fixture_told told[LH_LEASE_NOTICES_MAX];
    unsigned told_count;
    struct fixture_name names[FIXTURE_NAMES];
    struct lh_machine_counters past; // of machines that crashed
    struct lh_lease_effects effects;
};

// Every node is up, nobody is in quarantine: a new cluster. Fixtures are large: allocate them.
void fixture_open(struct fixture *fixture, const struct fixture_settings *settings);
void fixture_close(struct fixture *fixture);

struct lh_key fixture_key(unsigned name);
struct lh_instant fixture_now(const struct fixture *fixture, unsigned node);
// The first true instant at which `node` reads `local` or later.
int64_t fixture_true_of(const struct fixture *fixture, unsigned node, struct lh_instant local);
struct lh_lease *fixture_lease(const struct fixture *fixture, unsigned node, unsigned name);
bool fixture_holds(const struct fixture *fixture, unsigned node, unsigned name);
struct lh_acceptor_record *fixture_record(const struct fixture *fixture, unsigned node,
                                          unsigned name);

// These do nothing and return false where the machine's contract does not allow the call.
bool fixture_acquire(struct fixture *fixture, unsigned node, unsigned name, struct lh_duration ttl);
bool fixture_acquire_waited(struct fixture *fixture, unsigned node, unsigned name,
                            struct lh_duration ttl, struct lh_duration waited);
bool fixture_renew(struct fixture *fixture, unsigned node, unsigned name, struct lh_duration ttl);
bool fixture_stop(struct fixture *fixture, unsigned node, unsigned name);
bool fixture_release(struct fixture *fixture, unsigned node, unsigned name);
bool fixture_timer(struct fixture *fixture, unsigned node);
bool fixture_forget_lease(struct fixture *fixture, unsigned node, unsigned name);

// Hands the packet over, if it may have left and its receiver is up and still of the boot it
// answers.
bool fixture_deliver(struct fixture *fixture, unsigned packet);
bool fixture_deliverable(const struct fixture *fixture, const struct fixture_packet *packet);
void fixture_forget_packet(struct fixture *fixture, unsigned packet);
// Puts a message in that no machine sent.
void fixture_inject(struct fixture *fixture, unsigned from, unsigned to,
                    const struct lh_message *message);
// Delivers what can be delivered, the oldest first and each packet once, until nothing is left.
void fixture_settle(struct fixture *fixture);

// The disk finishes its oldest write. Returns false if there was none.
bool fixture_persisted(struct fixture *fixture, unsigned node);

// The node loses its memory; of the writes under way the first `durable` reach the disk.
void fixture_crash(struct fixture *fixture, unsigned node, unsigned durable);
// It comes back with what its disk knows, in quarantine (A4), with its reservation as floor (F2).
void fixture_restart(struct fixture *fixture, unsigned node);

// NULL, or what is wrong with the cluster at this instant.
const char *fixture_check(struct fixture *fixture);

#endif
