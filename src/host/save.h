// F4, clean restart: what a node that stops in order leaves behind for its next start, so
// that it need not be silent and no lease is lost. It is believed only by the same
// directory (its start number has not risen since), with the same members and timing, under the
// same kernel boot and offset of BOOTTIME, and not before the moment of the save; the start number that
// rises before the first answer consumes it.
#ifndef LH_HOST_SAVE_H
#define LH_HOST_SAVE_H

#include "host/host.h"

// Under which clock readings of this process mean the same as another's.
struct lh_clock_binding {
    uint8_t kernel_boot_id[16];
    int64_t boottime_offset_ns; // of the time namespace: all that readings depend on
};

// How many bytes a save takes now.
size_t lh_host_save_size(const struct lh_host *host);

// Writes it into `out`, which has lh_host_save_size() bytes, and returns how many were used: 0 if
// this node has nothing worth saving, because it is not admitted or still in quarantine, or if
// `out` is too small. The host must be handed no input after this.
size_t lh_host_save(struct lh_host *host, struct lh_instant now,
                    const struct lh_clock_binding *binding, uint8_t *out, size_t capacity);

// After lh_host_load and before START. Returns NULL if the save was taken over whole; else why not,
// and nothing was.
const char *lh_host_restore(struct lh_host *host, struct lh_instant now,
                            const struct lh_clock_binding *binding, struct lh_slice saved);

#endif
