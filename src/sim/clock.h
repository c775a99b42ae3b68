// A virtual clock against true time, which only the simulator knows: a straight line with a rate,
// whose slope changes when the simulator says so. Readings are whole nanoseconds, rounded down, as
// a real clock's are.
//
// What must stay true: readings never fall while the rate is above minus 100 %, and
// lh_sim_clock_when is the exact inverse, so that an edge can be looked at from one nanosecond
// before.
#ifndef LH_SIM_CLOCK_H
#define LH_SIM_CLOCK_H

#include <stdint.h>

#define LH_SIM_PPM 1000000

struct lh_sim_clock {
    int64_t true_ns, local_ns; // a point of the line
    int64_t rate_ppm;          // how much faster than true time
};

static inline int64_t lh_sim_clock_drift(int64_t elapsed_ns, int64_t rate_ppm)
{
    const int64_t small = INT64_MAX / LH_SIM_PPM; // no rate is greater
    if (elapsed_ns < small && elapsed_ns > -small) {
        int64_t product = elapsed_ns * rate_ppm;
        return product / LH_SIM_PPM - (product % LH_SIM_PPM < 0);
    }
    __extension__ typedef __int128 wide;
    wide product = (wide)elapsed_ns * rate_ppm;
    return (int64_t)(product / LH_SIM_PPM - (product % LH_SIM_PPM < 0));
}

// What the clock shows at `true_ns`.
static inline int64_t lh_sim_clock_read(const struct lh_sim_clock *clock, int64_t true_ns)
{
    int64_t elapsed = true_ns - clock->true_ns;
    return clock->local_ns + elapsed + lh_sim_clock_drift(elapsed, clock->rate_ppm);
}

// The first true time at which the clock shows `local_ns` or more; INT64_MAX if that is never.
int64_t lh_sim_clock_when(const struct lh_sim_clock *clock, int64_t local_ns);

// From `true_ns` on the clock runs at another rate.
void lh_sim_clock_bend(struct lh_sim_clock *clock, int64_t true_ns, int64_t rate_ppm);

#endif
