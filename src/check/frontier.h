// The states of one level of a breadth-first search, packed, in segments that one thread fills and
// one thread reads. Segments beyond a budget of memory go to a file, sequentially, and come back
// one at a time. Beside each state may lie where it came from, so that a trace can be followed
// back.
#ifndef LH_CHECK_FRONTIER_H
#define LH_CHECK_FRONTIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/summed_file.h"

enum { LH_SEGMENT_BYTES = 1 << 18 };

// Which successor (ordinal) of which state of the level before (parent, counted from 0).
struct lh_origin {
    uint32_t parent;
    uint8_t ordinal;
};

struct lh_segment {
    uint8_t *states; // NULL while it is in the file
    uint32_t count;
    uint64_t first; // number of its first state within the level
    int64_t offset; // in the file, or -1
};

struct lh_frontier {
    uint32_t state_bytes;
    uint32_t segment_states;
    struct lh_segment *segments;
    uint32_t segment_count;
    uint32_t segment_capacity;
    uint64_t states;
    _Atomic uint32_t next; // segment to be read
    uint64_t memory_bytes;
    uint64_t memory_budget; // beyond it, segments are written to the file
    int file;               // -1: none
    int64_t file_bytes;
    pthread_mutex_t mutex;
};

// `spill_directory` may be NULL: then everything stays in memory. Returns false if the file cannot
// be made or there is no memory.
bool lh_frontier_open(struct lh_frontier *frontier, uint32_t state_bytes,
                      const char *spill_directory, uint64_t memory_budget);
void lh_frontier_close(struct lh_frontier *frontier);

// An empty buffer of segment_states states; NULL without memory. Any thread.
uint8_t *lh_frontier_buffer(const struct lh_frontier *frontier);

// Hands a filled buffer over. Returns the number of the segment's first state, or UINT64_MAX if the
// file is full or there is no memory. Any thread.
uint64_t lh_frontier_append(struct lh_frontier *frontier, uint8_t *states, uint32_t count);

// The next segment that nobody has read, or false. The caller frees ret_states. `ret_failed` says
// that the file could not be read. Any thread.
bool lh_frontier_take(struct lh_frontier *frontier, uint8_t **ret_states, uint32_t *ret_count,
                      uint64_t *ret_first, bool *ret_failed);

// Gives the end of a taken segment back: `count` states from number `at` on in it, the first of
// which is number `first` of the level. Takes the buffer, whatever it returns. No other thread may
// use the frontier meanwhile.
bool lh_frontier_return(struct lh_frontier *frontier, uint8_t *states, uint32_t at, uint32_t count,
                        uint64_t first);

// Whether every segment was taken.
bool lh_frontier_is_read(const struct lh_frontier *frontier);

// Forgets all states, keeps the file.
void lh_frontier_clear(struct lh_frontier *frontier);

// The states not yet taken, and back.
bool lh_frontier_save(struct lh_frontier *frontier, struct lh_summed_file *file);
bool lh_frontier_load(struct lh_frontier *frontier, struct lh_summed_file *file);

#endif
