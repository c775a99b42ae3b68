// Rules broken on purpose ("canaries"): a simulator that cannot find these cannot be believed when
// it finds nothing. They live here and nowhere else: the code that is driven is the code that
// ships, and a rule of the protocol is broken from outside, by changing a node's memory just before
// the message that the rule is about is handled. So a daemon has no such switch, and a run without
// them executes none of this.
#ifndef LH_SIM_WEAKEN_H
#define LH_SIM_WEAKEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lease/message.h"
#include "lease/proposer.h"

struct lh_sim_node;
struct lh_trace;

// flag, name, what it means. What the paper leaves out and another rule here makes good for
// (docs/testing.md) is planted as more than its bare absence; A2 alone is `live-overwrite`.
#define LH_SIM_WEAKENINGS(X)                                                                       \
    X(LATE_TIMER, "late-timer", "T1: the deadline counts from the last answer")                    \
    X(OWNER_ONLY_RELEASE, "owner-only-release", "A3: a release clears any lease of its owner")     \
    X(SCALAR_QUORUM, "scalar-quorum", "P2: messages are counted, not acceptors")                   \
    X(STALE_OWNER_OPEN, "stale-owner-open",                                                        \
      "P2, A2: one's own lease is open under any ballot, and nothing objects")                     \
    X(NO_REFUSAL, "no-refusal", "A1, A2: an acceptor keeps a live lease from nobody")              \
    X(LIVE_OVERWRITE, "live-overwrite", "A2: any accept replaces a live lease; behind F2")         \
    X(SHRINKING_DEADLINE, "shrinking-deadline", "D: a shorter renewal moves an exclusion back")    \
    X(NO_QUARANTINE, "no-quarantine", "A4: an acceptor that lost its memory answers at once")      \
    X(SHORT_QUARANTINE, "short-quarantine", "T3: the quarantine is half as long")                  \
    X(NO_GUARD, "no-guard", "T2: an exclusion allows nothing for the rates of clocks")             \
    X(STALE_CLOCK, "stale-clock", "Clock: a node uses the reading of its last turn")               \
    X(TOKEN_REUSE, "token-reuse", "F2: a restarted node counts from the beginning")                \
    X(NO_FLOOR, "no-floor",                                                                        \
      "F2: a restarted acceptor has promised nothing; tokens are not judged")                      \
    X(FORGET_EARLY, "forget-early",                                                                \
      "F1: a name is forgotten an eighth of max-ttl after its last promise or grant, live or not") \
    X(EARLY_RELEASE, "early-release", "P6: the client releases and goes on")                       \
    X(CLIENT_OVERGRANT, "client-overgrant", "Client: the deadline counts from the answer")

enum {
#define LH_SIM_WEAKEN_ENUM(flag, name, help) LH_SIM_WEAKEN_INDEX_##flag,
    LH_SIM_WEAKENINGS(LH_SIM_WEAKEN_ENUM)
#undef LH_SIM_WEAKEN_ENUM
        LH_SIM_WEAKEN_COUNT
};

enum {
#define LH_SIM_WEAKEN_BIT(flag, name, help) LH_SIM_WEAKEN_##flag = 1 << LH_SIM_WEAKEN_INDEX_##flag,
    LH_SIM_WEAKENINGS(LH_SIM_WEAKEN_BIT)
#undef LH_SIM_WEAKEN_BIT
};

// The flags of "name" or "name,name"; 0 if one is unknown.
unsigned lh_sim_weaken_parse(const char *text);
void lh_sim_weaken_print(unsigned flags, FILE *file);
void lh_sim_weaken_help(FILE *file);

// A role is about to handle this message: where one of `flags` breaks its rule, as if that was not
// there.
void lh_sim_weaken_request(unsigned flags, struct lh_acceptor_record *record, struct lh_instant now,
                           const struct lh_message *message);
void lh_sim_weaken_answer(unsigned flags, struct lh_proposer *proposer, unsigned acceptor,
                          const struct lh_message *message);

// The node has just been made and not started; it was admitted, and begins its quarantine.
void lh_sim_weaken_start(struct lh_sim_node *node);
void lh_sim_weaken_admitted(struct lh_sim_node *node, int64_t now_ns);

// The node is about to handle a message, or to send one.
void lh_sim_weaken_message(struct lh_sim_node *node, int64_t now_ns, const struct lh_trace *trace);

#endif
