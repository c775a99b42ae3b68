// The data directory of a daemon: locked, read once at the start, and from then on written by one
// thread.
//
// The loop thread never waits for the disk. It queues numbered writes; the storage thread commits
// everything queued at once and tells the loop the highest number that is durable. What must stay
// true: n is reported only after all writes up to n are on disk, in their order. A commit that fails
// is tried again with back-off until it succeeds; nothing is dropped or reordered meanwhile.
#ifndef LH_NODE_STORE_H
#define LH_NODE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "base/time.h"
#include "node/store_file.h"
#include "os/error.h"

// What may be queued and not yet durable. A write beyond it is refused.
enum { LH_STORE_QUEUE_MAX_BYTES = 8 << 20 };

struct lh_store;

// Called on the loop thread, never from inside another call of this header.
struct lh_store_events {
    void *context;
    // Every write up to `n` is durable.
    void (*persisted)(void *context, uint64_t n);
    // Commits began to fail, or fail for another reason: `reason` names the directory and the
    // remedy. NULL: they succeed again. Once per change.
    void (*trouble)(void *context, const char *reason);
};

// Makes the directory (0700) if only its last part is missing, locks it and opens what it holds.
// Refused, with the pid that has it, while another store on it is open, in this process or another;
// refused if damaged.
bool lh_store_open(const char *directory, struct lh_store **ret_store, struct lh_error *error);

// Calls `each` for every stored pair; before lh_store_start only. If it fails, forget what `each`
// was told.
bool lh_store_each(struct lh_store *store, lh_store_each_fn *each, void *context,
                   struct lh_error *error);

// Starts the storage thread. Writing is possible from then on.
bool lh_store_start(struct lh_store *store, uv_loop_t *loop, struct lh_store_events events,
                    struct lh_error *error);

// Queues `count` pairs (copied; none is allowed) as write `n`, which is greater than every n
// before. Later pairs of a key win. Loop thread only. False, and nothing is queued, if the queue is
// full: the caller holds back whatever depends on n, as with any write that is not yet durable.
bool lh_store_write(struct lh_store *store, uint64_t n, const struct lh_store_pair *pairs,
                    size_t count);

// Waits until everything queued is durable, at most `patience`, and gives the directory up. True if
// all of it is durable. No event is called any more; run the loop once more, so that it can let go
// of the memory. If the disk holds the thread beyond `patience`, the directory stays locked until
// the process ends. Accepts NULL.
bool lh_store_close(struct lh_store *store, struct lh_duration patience);

#endif
