// What was compared already. A comparison is decided by what it is about (the clock, the owners of
// the ballots, the row of the process that acts, its messages, what changes), and by nothing else
// of the state: once is enough. The memo forgets what others displace, which only costs time.
#ifndef LH_CHECK_CONFORM_MEMO_H
#define LH_CHECK_CONFORM_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check/layout.h"

enum {
    LH_CONFORM_MEMO_SLOTS = 1 << 18,
    LH_CONFORM_MEMO_NOTES = 4, // bits that a comparison leaves
};

// 128 bits, less the notes: two comparisons are taken for one with probability 2^-124.
struct lh_conform_memo {
    struct lh_fp *slots;
};

static inline uint64_t lh_conform_memo_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// Takes a word into a key.
static inline struct lh_fp lh_conform_memo_add(struct lh_fp key, uint64_t word)
{
    return (struct lh_fp){
        lh_conform_memo_fold(key.high ^ word, UINT64_C(0x9e3779b97f4a7c15)) + key.low,
        lh_conform_memo_fold(key.low ^ word, UINT64_C(0xc2b2ae3d27d4eb4f)) ^ key.high};
}

static inline struct lh_fp lh_conform_memo_row(const uint8_t *variables, uint32_t count)
{
    struct lh_fp key = {0, 0};
    for (uint32_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, variables + at, count - at < sizeof word ? count - at : sizeof word);
        key = lh_conform_memo_add(key, word);
    }
    return key;
}

static inline struct lh_fp lh_conform_memo_join(struct lh_fp key, struct lh_fp more)
{
    return lh_conform_memo_add(lh_conform_memo_add(key, more.high), more.low);
}

static inline struct lh_fp *lh_conform_memo_slot(const struct lh_conform_memo *memo,
                                                 struct lh_fp key)
{
    return &memo->slots[key.high % LH_CONFORM_MEMO_SLOTS];
}

static inline void lh_conform_memo_fetch(const struct lh_conform_memo *memo, struct lh_fp key)
{
    __builtin_prefetch(lh_conform_memo_slot(memo, key));
}

static inline uint64_t lh_conform_memo_mask(void)
{
    return (UINT64_C(1) << LH_CONFORM_MEMO_NOTES) - 1;
}

// Whether this was compared, and came out well, with these notes.
static inline bool lh_conform_memo_knows(const struct lh_conform_memo *memo, struct lh_fp key,
                                         uint32_t *ret_notes)
{
    const struct lh_fp kept = *lh_conform_memo_slot(memo, key);
    *ret_notes = (uint32_t)(kept.low & lh_conform_memo_mask());
    return kept.high == key.high && ((kept.low ^ key.low) & ~lh_conform_memo_mask()) == 0;
}

static inline void lh_conform_memo_keep(struct lh_conform_memo *memo, struct lh_fp key,
                                        uint32_t notes)
{
    *lh_conform_memo_slot(memo, key) =
        (struct lh_fp){key.high, (key.low & ~lh_conform_memo_mask()) | notes};
}

#endif
