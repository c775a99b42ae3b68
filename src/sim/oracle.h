// The judge. It has true time, knows nothing of the protocol and shares no code with it: it asks
// everybody who ever claimed a lease whether they believe at this moment, at every event while two
// could, and from one nanosecond before to one after each deadline. A client is asked with the
// function that a real client calls before it acts.
//
// What must hold: of a name at most one client and one node believe at any instant, under one
// token; tokens of a name only rise; the fenced resource takes no write of an earlier grant after
// one of a later.
#ifndef LH_SIM_ORACLE_H
#define LH_SIM_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/settings.h"

#define LH_SIM_CLAIMS_MAX (LH_SIM_NODES_MAX + LH_SIM_CLIENTS_MAX)

// Who claims: nodes are 0.., clients are LH_SIM_NODES_MAX...
struct lh_sim_oracle {
    void *context;
    // Whether `who` believes at `true_ns` that it holds `name`, and since when not any more.
    bool (*believes)(void *context, unsigned who, unsigned name, int64_t true_ns);
    int64_t (*ends)(void *context, unsigned who, unsigned name);
    // Calls lh_sim_oracle_edge at `true_ns`.
    void (*look)(void *context, unsigned who, unsigned name, int64_t true_ns);
    // `who` begins to hold `name`, or for longer; or has stopped, at `true_ns` or now (INT64_MAX).
    void (*held)(void *context, unsigned who, unsigned name, uint64_t token);
    void (*ended)(void *context, unsigned who, unsigned name, int64_t true_ns);
    bool tokens_fall; // on purpose: they are not judged
    bool broken;
    char what[256];
    uint32_t contested; // names with claims that exclude each other, should both be believed
    struct {
        uint32_t claims, looking; // sets of who
        uint64_t tokens[LH_SIM_CLAIMS_MAX];
        uint64_t node_token;   // the greatest that a node granted
        uint64_t client_token; // the greatest that a client had
        unsigned client;       // who had it
        uint64_t grants;       // counts acquisitions at clients
        uint64_t highest;      // at the resource: the fence
        uint64_t written;      // the latest grant whose write was taken
    } names[LH_SIM_NAMES_MAX];
};

// A node says that it granted `name` anew under `token`.
void lh_sim_oracle_granted(struct lh_sim_oracle *oracle, unsigned name, uint64_t token,
                           int64_t true_ns);

// `who` may believe from now on, or for longer. Returns the number of the grant.
uint64_t lh_sim_oracle_claim(struct lh_sim_oracle *oracle, unsigned who, unsigned name,
                             uint64_t token, int64_t true_ns);

// `who` has stopped.
void lh_sim_oracle_drop(struct lh_sim_oracle *oracle, unsigned who, unsigned name);

void lh_sim_oracle_edge(struct lh_sim_oracle *oracle, unsigned who, unsigned name, int64_t true_ns);

// After every event.
void lh_sim_oracle_contested(struct lh_sim_oracle *oracle, int64_t true_ns);
static inline void lh_sim_oracle_event(struct lh_sim_oracle *oracle, int64_t true_ns)
{
    if (oracle->contested != 0)
        lh_sim_oracle_contested(oracle, true_ns);
}

// A write reaches the fenced resource. Returns whether it was taken.
bool lh_sim_oracle_write(struct lh_sim_oracle *oracle, unsigned name, uint64_t token,
                         uint64_t grant);

__attribute__((format(printf, 2, 3))) void lh_sim_oracle_break(struct lh_sim_oracle *oracle,
                                                               const char *format, ...);

#endif
