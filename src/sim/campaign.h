// Many seeds on all cores. Each worker is a process of its own, so that a run that crashes (an
// assertion of the code that is tested, say) is a result like any other: its seed is known, and the
// rest goes on.
#ifndef LH_SIM_CAMPAIGN_H
#define LH_SIM_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/run.h"
#include "sim/settings.h"

#define LH_SIM_WORKERS_MAX 64
#define LH_SIM_SEED_LAST (UINT64_MAX / 2 - 1) // the last seed of an open range

struct lh_sim_campaign {
    uint64_t first, last; // seeds
    int64_t duration_ns;
    unsigned nodes;        // 0: the seed's choice
    const char *overrides; // or NULL
    unsigned weakened;
    unsigned workers;          // 0: one for each core
    bool keep_going;           // after a failure
    struct lh_sim_files files; // one seed only
    int stopped_by; // SIGINT, SIGTERM or SIGHUP, if one came: seeds under way then have no result
    // Each result, in the order in which they come.
    void *context;
    void (*each)(void *context, const struct lh_sim_result *result);
};

static inline bool lh_sim_is_open(const struct lh_sim_campaign *campaign)
{
    return campaign->last == LH_SIM_SEED_LAST;
}

// The settings of one seed of the campaign.
void lh_sim_campaign_settings(const struct lh_sim_campaign *campaign, uint64_t seed,
                              struct lh_sim_settings *ret_settings);

// Runs them. Returns false if no process could be started.
bool lh_sim_campaign_run(struct lh_sim_campaign *campaign);

#endif
