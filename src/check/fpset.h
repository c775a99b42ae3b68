// The set of visited states, as fingerprints in open addressing: 6.6 bytes a slot.
//
// A bucket is one cache line of ten slots. Where a fingerprint lies says part of it: the bucket it
// belongs to is floor(high * buckets / 2^64), and only what distinguishes it within the bucket is
// stored, 47 bits and how many buckets (at most seven) it had to move on. So a set of n buckets
// holds floor(log2 n) + 47 effective bits, exactly; nothing is rounded away and the number of
// buckets need not be a power of two. The few that find eight full buckets in a row (6 in 1000 at
// the greatest load) go, whole, to a small table beside.
//
// Any number of threads may insert. A slot is written before the bucket's count is raised and never
// changes afterwards, so readers need no lock; writers lock their bucket. Growing and saving need
// all other threads to stand still.
#ifndef LH_CHECK_FPSET_H
#define LH_CHECK_FPSET_H

#include <stdatomic.h>

#include "check/layout.h"
#include "check/summed_file.h"

struct lh_fpset {
    uint8_t *lines;
    uint64_t buckets;
    uint32_t bits;  // effective, fixed when the set is opened
    uint32_t shift; // of the fraction within a bucket
    uint32_t extra; // bits taken from `low`
    size_t mapped_bytes;
    struct lh_fp *spill; // the table beside: `high` 0 is an empty place
    uint64_t spill_capacity;
    _Atomic uint64_t spill_count;
    _Atomic bool spill_locked;
};

enum lh_fpset_result {
    LH_FPSET_NEW,
    LH_FPSET_PRESENT,
    LH_FPSET_FULL, // not inserted: grow the set
};

// Buckets that hold so many states without growing.
uint64_t lh_fpset_buckets_for(uint64_t states);
// Up to so many states a set of this size takes before it must grow.
uint64_t lh_fpset_capacity(uint64_t buckets);
uint64_t lh_fpset_bytes(uint64_t buckets);
uint32_t lh_fpset_bits_for(uint64_t buckets);

// Opens an empty set. Returns false without memory.
bool lh_fpset_open(struct lh_fpset *set, uint64_t buckets);
void lh_fpset_close(struct lh_fpset *set);

enum lh_fpset_result lh_fpset_insert(struct lh_fpset *set, struct lh_fp fp);
bool lh_fpset_contains(const struct lh_fpset *set, struct lh_fp fp);

// Moves everything to a larger number of buckets, giving the old memory back on the way. Returns
// false, with the set as it was, without memory. No other thread may use the set meanwhile.
bool lh_fpset_grow(struct lh_fpset *set, uint64_t buckets);

// The set as bytes, and back. The file holds nothing that depends on the machine's memory layout.
bool lh_fpset_save(const struct lh_fpset *set, struct lh_summed_file *file);
bool lh_fpset_load(struct lh_fpset *set, struct lh_summed_file *file);

// Brings the bucket of a fingerprint into the cache.
static inline void lh_fpset_prefetch(const struct lh_fpset *set, struct lh_fp fp)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t home = (uint64_t)(((wide)fp.high * set->buckets) >> 64);
    __builtin_prefetch(set->lines + home * 64, 0, 1);
}

#endif
