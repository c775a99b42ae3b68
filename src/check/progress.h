// The line that a long search keeps on a terminal, at most five times a second.
#ifndef LH_CHECK_PROGRESS_H
#define LH_CHECK_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct lh_progress {
    bool shown;
    bool enabled;
    double last_seconds;
    uint64_t last_generated;
};

// The estimated chance that two of so many states have the same fingerprint.
double lh_progress_collision(uint64_t distinct, uint32_t fingerprint_bits);

void lh_progress_open(struct lh_progress *progress, bool enabled);
void lh_progress_close(struct lh_progress *progress);
void lh_progress_show(struct lh_progress *progress, uint64_t generated, uint64_t distinct,
                      uint32_t depth, uint64_t frontier, uint64_t memory_bytes,
                      uint32_t fingerprint_bits);

#endif
