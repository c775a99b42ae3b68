// States, rate, frontier, memory and the chance that two states looked alike.
#include "check/progress.h"

#include <stdio.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double lh_progress_collision(uint64_t distinct, uint32_t fingerprint_bits)
{
    double chance = (double)distinct * (double)distinct / 2;
    for (uint32_t bit = 0; bit < fingerprint_bits; bit++)
        chance /= 2;
    return chance;
}

void lh_progress_open(struct lh_progress *progress, bool enabled)
{
    *progress = (struct lh_progress){.enabled = enabled, .last_seconds = seconds_now()};
}

void lh_progress_close(struct lh_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}

void lh_progress_show(struct lh_progress *progress, uint64_t generated, uint64_t distinct,
                      uint32_t depth, uint64_t frontier, uint64_t memory_bytes,
                      uint32_t fingerprint_bits)
{
    if (!progress->enabled)
        return;
    const double now = seconds_now();
    const double elapsed = now - progress->last_seconds;
    if (elapsed < 0.2)
        return;
    const double rate = ((double)generated - (double)progress->last_generated) / elapsed;
    fprintf(stderr,
            "\r\033[Klevel %u: %.1f M states, %.1f M generated, %.2f M/s, next level %.2f M, "
            "%.2f GiB, collision %.0e",
            depth, (double)distinct / 1e6, (double)generated / 1e6, rate / 1e6,
            (double)frontier / 1e6, (double)memory_bytes / 1073741824.0,
            lh_progress_collision(distinct, fingerprint_bits));
    progress->shown = true;
    progress->last_seconds = now;
    progress->last_generated = generated;
}
