// A search from inside: what its threads share, what each has of its own (search_worker.c), and what
// the first of them does while the others stand still (search.c).
#ifndef LH_CHECK_SEARCH_INTERNAL_H
#define LH_CHECK_SEARCH_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "check/fpset.h"
#include "check/frontier.h"
#include "check/history.h"
#include "check/progress.h"
#include "check/search.h"

struct lh_search_violation {
    enum lh_invariant invariant;
    uint64_t parent; // number of the state before, within its level
    uint8_t ordinal;
};

struct lh_search_worker {
    struct lh_search *search;
    pthread_t thread;
    uint32_t index;
    struct lh_batch batch;
    struct lh_fp *seen;         // a few fingerprints that are in the set, by their low bits
    struct lh_fp *fingerprints; // of the successors that are to be looked up
    uint32_t *lookups;          // their places in the batch
    uint32_t lookup_count;
    uint32_t lookup_at;   // so many are looked up
    uint64_t block_first; // number of the block's first state
    uint8_t *block_raw;
    struct lh_fp *block_lanes;
    uint8_t *segment; // being read
    uint32_t segment_count;
    uint32_t segment_at;
    uint64_t segment_first;
    uint8_t *out; // being filled, for the next level
    struct lh_origin *origins;
    uint32_t out_count;
    struct lh_conform conform;
    struct lh_search_counts unreduced;
};

struct lh_search {
    const struct lh_model *model;
    const struct lh_search_options *options;
    struct lh_fpset set;
    struct lh_frontier frontiers[2];
    struct lh_frontier *present;
    struct lh_frontier *next;
    struct lh_history history;
    struct lh_search_worker *workers;
    uint32_t threads;
    pthread_barrier_t barrier;
    uint64_t generated; // at the last barrier
    struct lh_search_counts unreduced;
    uint32_t depth;
    double started;
    double started_cpu;
    double last_checkpoint;
    struct lh_progress progress;
    bool done;
    bool too_short; // the fingerprint is, for so many states: start again
    uint64_t restart_buckets;

    _Atomic uint64_t distinct;
    _Atomic bool must_grow;
    _Atomic bool must_pause; // a checkpoint is due
    _Atomic bool stop;       // found something, or failed
    _Atomic bool failed;     // no memory, or the file
    pthread_mutex_t mutex;
    struct lh_search_violation violation;
    char fault[LH_CONFORM_TEXT];
    char reason[LH_CHECK_ERROR_SIZE];
};

// Ends the search as incomplete; the first reason counts.
void lh_search_fail(struct lh_search *search, const char *reason);

// Whether a signal, the time limit or the clock of checkpoints asks for the search to pause.
bool lh_search_wants_pause(const struct lh_search *search);

uint64_t lh_search_memory_used(const struct lh_search *search);

bool lh_search_open_worker(struct lh_search *search, uint32_t index);
void lh_search_close_worker(struct lh_search_worker *worker);

// One round: until the level is exhausted, the set must grow, the search must pause, or it ends.
void lh_search_work(struct lh_search_worker *worker);

// Hands the filled buffer over to the next level.
void lh_search_flush(struct lh_search_worker *worker);

#endif
