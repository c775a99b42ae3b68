// Sizes for cutting one block of memory, given at start, into parts.
#ifndef LH_BASE_MEMORY_H
#define LH_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// Up to a multiple of 16: whatever a part holds, the next one may begin there.
static inline size_t lh_aligned(size_t size_bytes)
{
    return (size_bytes + 15) & ~(size_t)15;
}

// Of a hash table for `capacity` things: the least power of two that is not below, 2^30 at most.
static inline uint32_t lh_bucket_count(uint32_t capacity)
{
    uint32_t count = 1;
    while (count < capacity && count < UINT32_C(1) << 30)
        count <<= 1;
    return count;
}

#endif
