// Proposers and acceptors of one name, each by itself, and a network that keeps what was sent until
// a schedule delivers, drops or repeats it: the paper's world, made of the role functions that ship.
// There is one clock, that of the schedule, in whole seconds. After each step a referee looks at who
// holds the lease, and at how long the acceptors that made it so exclude others.
#ifndef LH_SIM_ROLES_H
#define LH_SIM_ROLES_H

#include <stdio.h>

#include "lease/message.h"
#include "lease/proposer.h"

#define LH_SIM_PROPOSERS_MAX 3
#define LH_SIM_ACCEPTORS_MAX 5
#define LH_SIM_PACKETS_MAX 1024

struct lh_sim_packet {
    struct lh_message message;
    unsigned proposer, acceptor; // from 0; which of them sent it, its kind tells
    struct lh_instant covers;    // Accepted: when the exclusion ended, as it was sent
};

struct lh_sim_proposer {
    struct lh_proposer role;
    uint64_t counter; // of the last ballot, and of the greatest heard of; durable
    bool down;
    struct lh_instant covers[LH_SIM_ACCEPTORS_MAX]; // of the answers to the attempt under way
};

struct lh_sim_acceptor {
    struct lh_acceptor_record role;
    bool down;
    struct lh_instant silent_until; // A4
};

struct lh_sim_roles_config {
    unsigned proposers, acceptors;
    struct lh_duration ttl, exclusion, quarantine;
    unsigned weakened; // some of LH_SIM_ROLES_WEAKENINGS
    FILE *told;        // each step in words, or NULL
};

struct lh_sim_roles {
    struct lh_sim_roles_config config;
    unsigned quorum;
    struct lh_instant now;
    struct lh_sim_proposer proposers[LH_SIM_PROPOSERS_MAX];
    struct lh_sim_acceptor acceptors[LH_SIM_ACCEPTORS_MAX];
    unsigned step;   // its number, for what is told
    char wrong[128]; // what the referee found: two holders, if there were, or empty
    unsigned packet_count;
    struct lh_sim_packet packets[LH_SIM_PACKETS_MAX];
};

// The rules that can be broken here; the others of weaken.h belong to what is around the roles.
#define LH_SIM_ROLES_WEAKENINGS                                                                    \
    (LH_SIM_WEAKEN_LATE_TIMER | LH_SIM_WEAKEN_OWNER_ONLY_RELEASE | LH_SIM_WEAKEN_SCALAR_QUORUM |   \
     LH_SIM_WEAKEN_STALE_OWNER_OPEN | LH_SIM_WEAKEN_LIVE_OVERWRITE |                               \
     LH_SIM_WEAKEN_SHRINKING_DEADLINE | LH_SIM_WEAKEN_NO_QUARANTINE |                              \
     LH_SIM_WEAKEN_SHORT_QUARANTINE)

#define LH_SIM_ROLES_START_S 1000 // what the clock shows at the beginning, so that LH_PAST is past

void lh_sim_roles_init(struct lh_sim_roles *roles, const struct lh_sim_roles_config *config);

// Each step returns false if it changed nothing.

// P1: under the ballot after the proposer's counter; of a lease that is held, a renewal. An attempt
// whose td has come is given up first (P5), one under way goes on.
bool lh_sim_roles_start(struct lh_sim_roles *roles, unsigned proposer);
bool lh_sim_roles_propose(struct lh_sim_roles *roles, unsigned proposer); // P3
bool lh_sim_roles_abandon(struct lh_sim_roles *roles, unsigned proposer);
bool lh_sim_roles_release(struct lh_sim_roles *roles, unsigned proposer);
bool lh_sim_roles_deliver(struct lh_sim_roles *roles, unsigned packet);
bool lh_sim_roles_drop(struct lh_sim_roles *roles, unsigned packet);
bool lh_sim_roles_repeat(struct lh_sim_roles *roles, unsigned packet);
bool lh_sim_roles_pass(struct lh_sim_roles *roles, unsigned seconds);
bool lh_sim_roles_crash_acceptor(struct lh_sim_roles *roles, unsigned acceptor);
bool lh_sim_roles_restart_acceptor(struct lh_sim_roles *roles, unsigned acceptor);
bool lh_sim_roles_crash_proposer(struct lh_sim_roles *roles, unsigned proposer);
bool lh_sim_roles_restart_proposer(struct lh_sim_roles *roles, unsigned proposer);

// The first packet of that kind between the two, or LH_SIM_PACKETS_MAX.
unsigned lh_sim_roles_find(const struct lh_sim_roles *roles, enum lh_message_kind kind,
                           unsigned proposer, unsigned acceptor);

// Which proposers hold the lease now.
struct lh_members_set lh_sim_roles_holders(const struct lh_sim_roles *roles);

#endif
