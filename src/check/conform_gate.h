// A4 as the daemon keeps it: not by the role functions, but by the machine around them, which drops
// what comes before its quarantine has passed; and P6, by which it drops what another node than the
// ballot's owner sends. One machine with one name stands for any acceptor.
#ifndef LH_CHECK_CONFORM_GATE_H
#define LH_CHECK_CONFORM_GATE_H

#include "check/conform_roles.h"

enum lh_conform_request {
    LH_CONFORM_PREPARE,
    LH_CONFORM_ACCEPT,
    LH_CONFORM_RELEASE,
    LH_CONFORM_EXTEND,
};

struct lh_conform_delivery {
    enum lh_conform_request request;
    uint8_t ballot;
    uint8_t base;
    uint8_t stamp;
    uint8_t ttl;
};

struct lh_conform_gate;

// NULL without memory.
struct lh_conform_gate *lh_conform_gate_open(void);
void lh_conform_gate_close(struct lh_conform_gate *gate);

// Delivers a request of owner `from` to a machine with this record that is silent until
// `quarantine`. The record comes back; the answer has what the machine sent, LH_CONFORM_SILENT if
// that was nothing, or LH_CONFORM_DROPPED if it did not even listen. The machine's exclusions are a
// little longer than their TTL (T2), which shows at the end of a unit; the rest is exact.
struct lh_conform_answer lh_conform_gate_deliver(struct lh_conform_gate *gate,
                                                 const struct lh_conform_place *place,
                                                 struct lh_conform_acceptor *acceptor,
                                                 uint8_t quarantine, uint8_t from,
                                                 const struct lh_conform_delivery *delivery);

#endif
