// See clock.h. The estimate is off by a few nanoseconds at most; the loops make it exact.
#include "sim/clock.h"

#define LATEST (INT64_MAX / 4)

int64_t lh_sim_clock_when(const struct lh_sim_clock *clock, int64_t local_ns)
{
    if (local_ns >= LATEST)
        return INT64_MAX;
    const int64_t ahead = local_ns - clock->local_ns;
    const int64_t speed = LH_SIM_PPM + clock->rate_ppm;
    const int64_t whole = ahead / speed;
    if (whole > LATEST / LH_SIM_PPM)
        return INT64_MAX;
    int64_t at = clock->true_ns + whole * LH_SIM_PPM + ahead % speed * LH_SIM_PPM / speed;
    while (lh_sim_clock_read(clock, at) < local_ns)
        at++;
    while (lh_sim_clock_read(clock, at - 1) >= local_ns)
        at--;
    return at;
}

void lh_sim_clock_bend(struct lh_sim_clock *clock, int64_t true_ns, int64_t rate_ppm)
{
    *clock = (struct lh_sim_clock){
        .true_ns = true_ns, .local_ns = lh_sim_clock_read(clock, true_ns), .rate_ppm = rate_ppm};
}
