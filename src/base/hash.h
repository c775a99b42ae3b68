// FNV-1a, 64 bits wide: tells one run of bytes from another and notices damage. It is no protection
// against somebody who chooses the bytes; what needs that is hashed under a key (the names of
// leases) or sealed (datagrams).
#ifndef LH_BASE_HASH_H
#define LH_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

// The hash of no bytes: where hashing begins.
#define LH_HASH_START UINT64_C(0xcbf29ce484222325)

// Goes on with `hash`. Runs hashed one after the other are one run: whoever must tell where one
// ends hashes an end mark too.
static inline uint64_t lh_hash_bytes(uint64_t hash, struct lh_slice bytes)
{
    for (size_t i = 0; i < bytes.size_bytes; i++)
        hash = (hash ^ bytes.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
