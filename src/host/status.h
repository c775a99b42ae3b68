// What a node says of itself, for CLUSTER STATUS and INFO alike: its state in one word, why, and
// its counters by name, with those of the world around it (lh_host_show_counter). The names are
// stable: people's dashboards hang on them.
#ifndef LH_HOST_STATUS_H
#define LH_HOST_STATUS_H

#include "host/host_internal.h"

struct lh_status_counter {
    const char *name;
    uint64_t value;
};

#define LH_STATUS_COUNTERS_MAX (32 + LH_HOST_SHOWN_MAX)

// "joining", "quarantine", "serving", "refused" (the others believe it no more), "bad-clock" or
// "halted".
const char *lh_status_state(const struct lh_host *host);

// What stands in the way of serving and what to do; "" if nothing does.
const char *lh_status_reason(const struct lh_host *host);

struct lh_duration lh_status_uptime(const struct lh_host *host, struct lh_instant now);

// Members that are up, this one included.
unsigned lh_status_members_up(const struct lh_host *host);

// Returns how many there are.
size_t lh_status_counters(const struct lh_host *host,
                          struct lh_status_counter ret_counters[LH_STATUS_COUNTERS_MAX]);

#endif
