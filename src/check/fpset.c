// Open addressing over cache lines. What must stay true: a fingerprint lies in the first bucket
// from its home on that was not full when it came, at most LAST_MOVE further, and buckets never
// lose a slot. So a search may stop at the first bucket that is not full.
//
// The arithmetic of a quotient with any number of buckets n: high * n = home * 2^64 + fraction. Two
// neighbouring values of `high` differ by n in the fraction, so the fraction without its lowest
// floor(log2 n) bits still tells them apart, and `high` can be computed back from both parts.
#include "check/fpset.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/assert.h"

__extension__ typedef unsigned __int128 wide;

enum {
    LINE = 64,
    SLOTS = 10,
    HIGH_OFFSET = 40,
    META_OFFSET = 60,
    LAST_MOVE = 7,
    TAIL = LAST_MOVE + 1, // buckets behind the last home
    REST_BITS = 47,
    COUNT_MASK = 15,
    LOCKED = 16,
    MOVE_SHIFT = 8,
};

struct place {
    uint64_t home;
    uint64_t rest; // REST_BITS
};

uint64_t lh_fpset_buckets_for(uint64_t states)
{
    return states / 86 * 10 + 32; // 8.6 states a bucket
}

uint64_t lh_fpset_capacity(uint64_t buckets)
{
    return buckets / 25 * 220 + buckets % 25 * 8; // 8.8 states a bucket
}

static uint64_t spill_capacity_for(uint64_t buckets)
{
    return buckets / 8 + 64;
}

uint64_t lh_fpset_bytes(uint64_t buckets)
{
    return (buckets + TAIL) * LINE + spill_capacity_for(buckets) * sizeof(struct lh_fp);
}

static uint32_t floor_log2(uint64_t value)
{
    return 63u - (uint32_t)__builtin_clzll(value);
}

uint32_t lh_fpset_bits_for(uint64_t buckets)
{
    return REST_BITS + floor_log2(buckets);
}

static void set_buckets(struct lh_fpset *set, uint64_t buckets)
{
    const uint32_t logarithm = floor_log2(buckets);
    set->buckets = buckets;
    set->extra = set->bits > 64 ? set->bits - 64 : 0;
    set->shift = logarithm + (set->bits < 64 ? 64 - set->bits : 0);
}

static uint8_t *map_lines(size_t bytes)
{
    void *lines = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (lines == MAP_FAILED)
        return NULL;
    (void)madvise(lines, bytes, MADV_HUGEPAGE); // a wish; the search is right without it
    return lines;
}

static void unmap(const struct lh_fpset *set)
{
    if (set->lines != NULL)
        munmap(set->lines, set->mapped_bytes);
    free(set->spill);
}

// Fresh memory for a set whose `bits` are given.
static bool map_set(struct lh_fpset *set, uint64_t buckets)
{
    set_buckets(set, buckets);
    set->mapped_bytes = (buckets + TAIL) * LINE;
    set->lines = map_lines(set->mapped_bytes);
    set->spill_capacity = spill_capacity_for(buckets);
    set->spill = calloc(set->spill_capacity, sizeof *set->spill);
    if (set->lines != NULL && set->spill != NULL)
        return true;
    unmap(set);
    set->lines = NULL;
    set->spill = NULL;
    return false;
}

bool lh_fpset_open(struct lh_fpset *set, uint64_t buckets)
{
    LH_ASSERT_GE(buckets, 2);
    memset(set, 0, sizeof *set);
    set->bits = lh_fpset_bits_for(buckets);
    return map_set(set, buckets);
}

void lh_fpset_close(struct lh_fpset *set)
{
    if (set == NULL)
        return;
    unmap(set);
    set->lines = NULL;
    set->spill = NULL;
}

static inline struct place place_of(const struct lh_fpset *set, struct lh_fp fp)
{
    uint64_t high = fp.high;
    if (set->bits < 64)
        high &= ~UINT64_C(0) << (64 - set->bits);
    const wide product = (wide)high * set->buckets;
    uint64_t rest = (uint64_t)product >> set->shift;
    if (set->extra != 0)
        rest = rest << set->extra | fp.low >> (64 - set->extra);
    return (struct place){.home = (uint64_t)(product >> 64), .rest = rest};
}

// The effective bits of the fingerprint again, the others zero.
static struct lh_fp fingerprint_at(const struct lh_fpset *set, struct place place)
{
    const uint64_t fraction = place.rest >> set->extra << set->shift;
    const uint32_t dropped = set->bits < 64 ? 64 - set->bits : 0;
    const wide step = (wide)set->buckets << dropped;
    const wide product = (wide)place.home << 64 | fraction;
    struct lh_fp fp = {.high = (uint64_t)((product + step - 1) / step) << dropped};
    if (set->extra != 0)
        fp.low = place.rest << (64 - set->extra);
    return fp;
}

static inline _Atomic uint32_t *meta_of(const struct lh_fpset *set, uint64_t bucket)
{
    return (_Atomic uint32_t *)(void *)(set->lines + bucket * LINE + META_OFFSET);
}

// The slots of a line whose low 32 bits are `low`, one bit each.
static inline uint32_t match_low(const uint8_t *line, uint32_t low)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi32((int)low);
    const __m128i *quads = (const __m128i *)(const void *)line;
    const int first = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(quads[0], wanted)));
    const int second = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(quads[1], wanted)));
    const int third = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(quads[2], wanted)));
    return (uint32_t)(first | second << 4 | (third & 3) << 8);
#else
    const uint32_t *lows = (const uint32_t *)(const void *)line;
    uint32_t matches = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        matches |= (uint32_t)(lows[i] == low) << i;
    return matches;
#endif
}

static inline bool bucket_holds(const struct lh_fpset *set, uint64_t bucket, uint32_t meta,
                                uint64_t rest, uint32_t move)
{
    const uint8_t *line = set->lines + bucket * LINE;
    uint32_t matches = match_low(line, (uint32_t)rest) & ((1u << (meta & COUNT_MASK)) - 1);
    const uint16_t high = (uint16_t)(rest >> 32 | (move >> 2) << 15);
    while (matches != 0) {
        const uint32_t slot = (uint32_t)__builtin_ctz(matches);
        const uint16_t *highs = (const uint16_t *)(const void *)(line + HIGH_OFFSET);
        if (highs[slot] == high && (meta >> (MOVE_SHIFT + 2 * slot) & 3) == (move & 3))
            return true;
        matches &= matches - 1;
    }
    return false;
}

static void write_slot(struct lh_fpset *set, uint64_t bucket, uint32_t slot, uint64_t rest,
                       uint32_t move)
{
    uint8_t *line = set->lines + bucket * LINE;
    ((uint32_t *)(void *)line)[slot] = (uint32_t)rest;
    ((uint16_t *)(void *)(line + HIGH_OFFSET))[slot] = (uint16_t)(rest >> 32 | (move >> 2) << 15);
}

// Locks a bucket and returns its meta word without the lock.
static uint32_t lock_bucket(_Atomic uint32_t *meta)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(meta, memory_order_relaxed) & ~(uint32_t)LOCKED;
        if (atomic_compare_exchange_weak_explicit(meta, &seen, seen | LOCKED, memory_order_acquire,
                                                  memory_order_relaxed))
            return seen;
    }
}

static uint64_t spill_start(const struct lh_fpset *set, struct lh_fp fp)
{
    const uint64_t mixed = fp.high * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)(((wide)mixed * set->spill_capacity) >> 64);
}

// What of a fingerprint the set knows, never zero in `high`.
static struct lh_fp effective(const struct lh_fpset *set, struct lh_fp fp)
{
    if (set->bits < 64)
        fp.high &= ~UINT64_C(0) << (64 - set->bits);
    fp.low = set->extra == 0 ? 0 : fp.low >> (64 - set->extra) << (64 - set->extra);
    if (fp.high == 0)
        fp.high = UINT64_C(1) << 63;
    return fp;
}

// The place of a fingerprint in the table beside, or the empty one where it would go. There is
// always an empty one.
static uint64_t spill_find(const struct lh_fpset *set, struct lh_fp fp, bool *ret_present)
{
    for (uint64_t at = spill_start(set, fp);; at = at + 1 == set->spill_capacity ? 0 : at + 1) {
        const _Atomic uint64_t *high = (const _Atomic uint64_t *)(const void *)&set->spill[at].high;
        const uint64_t seen = atomic_load_explicit(high, memory_order_acquire);
        *ret_present = seen == fp.high && set->spill[at].low == fp.low;
        if (*ret_present || seen == 0)
            return at;
    }
}

static enum lh_fpset_result spill_insert(struct lh_fpset *set, struct lh_fp whole)
{
    const struct lh_fp fp = effective(set, whole);
    bool present;
    spill_find(set, fp, &present);
    if (present)
        return LH_FPSET_PRESENT;
    while (atomic_exchange_explicit(&set->spill_locked, true, memory_order_acquire)) {
    }
    enum lh_fpset_result result = LH_FPSET_PRESENT;
    const uint64_t at = spill_find(set, fp, &present);
    const uint64_t count = atomic_load_explicit(&set->spill_count, memory_order_relaxed);
    if (!present && count + 1 > set->spill_capacity / 8 * 7) {
        result = LH_FPSET_FULL;
    } else if (!present) {
        set->spill[at].low = fp.low;
        atomic_store_explicit((_Atomic uint64_t *)(void *)&set->spill[at].high, fp.high,
                              memory_order_release);
        atomic_store_explicit(&set->spill_count, count + 1, memory_order_relaxed);
        result = LH_FPSET_NEW;
    }
    atomic_store_explicit(&set->spill_locked, false, memory_order_release);
    return result;
}

enum lh_fpset_result lh_fpset_insert(struct lh_fpset *set, struct lh_fp fp)
{
    const struct place place = place_of(set, fp);
    for (uint32_t move = 0; move <= LAST_MOVE; move++) {
        const uint64_t bucket = place.home + move;
        _Atomic uint32_t *word = meta_of(set, bucket);
        uint32_t meta = atomic_load_explicit(word, memory_order_acquire);
        if (bucket_holds(set, bucket, meta, place.rest, move))
            return LH_FPSET_PRESENT;
        if ((meta & COUNT_MASK) == SLOTS)
            continue;
        meta = lock_bucket(word);
        const uint32_t count = meta & COUNT_MASK;
        if (bucket_holds(set, bucket, meta, place.rest, move)) {
            atomic_store_explicit(word, meta, memory_order_release);
            return LH_FPSET_PRESENT;
        }
        if (count == SLOTS) {
            atomic_store_explicit(word, meta, memory_order_release);
            continue;
        }
        write_slot(set, bucket, count, place.rest, move);
        meta = (meta + 1) | (move & 3) << (MOVE_SHIFT + 2 * count);
        atomic_store_explicit(word, meta, memory_order_release);
        return LH_FPSET_NEW;
    }
    return spill_insert(set, fp);
}

bool lh_fpset_contains(const struct lh_fpset *set, struct lh_fp fp)
{
    const struct place place = place_of(set, fp);
    for (uint32_t move = 0; move <= LAST_MOVE; move++) {
        const uint64_t bucket = place.home + move;
        const uint32_t meta = atomic_load_explicit(meta_of(set, bucket), memory_order_acquire);
        if (bucket_holds(set, bucket, meta, place.rest, move))
            return true;
        if ((meta & COUNT_MASK) != SLOTS)
            return false;
    }
    bool present;
    spill_find(set, effective(set, fp), &present);
    return present;
}

// Puts the slots of one old line, given its bucket number, into the new set.
static bool move_line(struct lh_fpset *set, const struct lh_fpset *old, uint64_t bucket)
{
    const uint8_t *line = old->lines + bucket * LINE;
    uint32_t meta;
    memcpy(&meta, line + META_OFFSET, sizeof meta);
    for (uint32_t slot = 0; slot < (meta & COUNT_MASK); slot++) {
        uint32_t low;
        uint16_t high;
        memcpy(&low, line + slot * sizeof low, sizeof low);
        memcpy(&high, line + HIGH_OFFSET + slot * sizeof high, sizeof high);
        const uint32_t move = (meta >> (MOVE_SHIFT + 2 * slot) & 3) | (uint32_t)(high >> 15) << 2;
        const struct place place = {.home = bucket - move,
                                    .rest = (uint64_t)(high & 0x7fff) << 32 | low};
        if (lh_fpset_insert(set, fingerprint_at(old, place)) == LH_FPSET_FULL)
            return false;
    }
    return true;
}

static bool move_spill(struct lh_fpset *set, const struct lh_fpset *old)
{
    for (uint64_t at = 0; at < old->spill_capacity; at++) {
        if (old->spill[at].high != 0 && lh_fpset_insert(set, old->spill[at]) == LH_FPSET_FULL)
            return false;
    }
    return true;
}

// Homes keep their order, so both sets are walked from the first line to the last, and the old
// one's pages are given back behind the walk: the peak is the new size, not the sum.
bool lh_fpset_grow(struct lh_fpset *set, uint64_t buckets)
{
    enum { GIVE_BACK = 1 << 24 };
    LH_ASSERT_GT(buckets, set->buckets);
    struct lh_fpset larger;
    memset(&larger, 0, sizeof larger);
    larger.bits = set->bits;
    if (!map_set(&larger, buckets))
        return false;
    bool fits = true;
    uint64_t given = 0;
    for (uint64_t bucket = 0; bucket < set->buckets + TAIL; bucket++) {
        fits = fits && move_line(&larger, set, bucket);
        if ((bucket + 1) * LINE - given == GIVE_BACK) {
            (void)madvise(set->lines + given, GIVE_BACK, MADV_DONTNEED);
            given += GIVE_BACK;
        }
    }
    fits = fits && move_spill(&larger, set);
    LH_ASSERT(fits); // a looser set takes what the tighter one held
    lh_fpset_close(set);
    memcpy(set, &larger, sizeof larger);
    return true;
}

struct header {
    uint64_t buckets;
    uint64_t bits;
    uint64_t spill_count;
};

bool lh_fpset_save(const struct lh_fpset *set, struct lh_summed_file *file)
{
    const struct header header = {
        .buckets = set->buckets, .bits = set->bits, .spill_count = set->spill_count};
    return lh_summed_write(file, &header, sizeof header) &&
           lh_summed_write(file, set->lines, set->mapped_bytes) &&
           lh_summed_write(file, set->spill, set->spill_capacity * sizeof *set->spill);
}

bool lh_fpset_load(struct lh_fpset *set, struct lh_summed_file *file)
{
    struct header header;
    if (!lh_summed_read(file, &header, sizeof header) || header.buckets < 2 ||
        header.buckets > UINT32_MAX || header.bits > lh_fpset_bits_for(header.buckets) ||
        header.bits < REST_BITS || !lh_summed_has(file, lh_fpset_bytes(header.buckets)))
        return false;
    memset(set, 0, sizeof *set);
    set->bits = (uint32_t)header.bits;
    if (!map_set(set, header.buckets))
        return false;
    set->spill_count = header.spill_count;
    if (lh_summed_read(file, set->lines, set->mapped_bytes) &&
        lh_summed_read(file, set->spill, set->spill_capacity * sizeof *set->spill))
        return true;
    lh_fpset_close(set);
    return false;
}
