// The set of members that answered one round. A quorum counts distinct members, never messages (P2,
// P4): counting messages lets one member that answers twice stand for two (18 states to two
// owners). Members are small indices into the layout (0..6), given by the caller's own table and
// never taken from a message unchecked.
#ifndef LH_BASE_BITSET_H
#define LH_BASE_BITSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

#define LH_SET_CAPACITY 32

struct lh_members_set {
    uint32_t bits;
};

#define LH_SET_EMPTY ((struct lh_members_set){0})

static inline void lh_set_add(struct lh_members_set *set, unsigned member)
{
    LH_ASSERT(member < LH_SET_CAPACITY);
    set->bits |= UINT32_C(1) << member;
}

static inline void lh_set_remove(struct lh_members_set *set, unsigned member)
{
    LH_ASSERT(member < LH_SET_CAPACITY);
    set->bits &= ~(UINT32_C(1) << member);
}

static inline bool lh_set_has(struct lh_members_set set, unsigned member)
{
    LH_ASSERT(member < LH_SET_CAPACITY);
    return (set.bits >> member & 1) != 0;
}

static inline bool lh_set_is_empty(struct lh_members_set set)
{
    return set.bits == 0;
}

// Written out because the compiler's builtin is a call into its library on processors that have no
// instruction for it, and pure archives call nothing.
static inline unsigned lh_set_count(struct lh_members_set set)
{
    uint32_t bits = set.bits;
    bits -= bits >> 1 & UINT32_C(0x55555555);
    bits = (bits & UINT32_C(0x33333333)) + (bits >> 2 & UINT32_C(0x33333333));
    bits = (bits + (bits >> 4)) & UINT32_C(0x0f0f0f0f);
    return bits * UINT32_C(0x01010101) >> 24;
}

#endif
