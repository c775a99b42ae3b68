// A run of bytes that somebody else owns: what zero-copy parsing hands out. A slice is a value; it
// is valid as long as the bytes it points at are. It is not terminated, and it may hold zero bytes.
#ifndef LH_BASE_SLICE_H
#define LH_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lh_slice {
    const uint8_t *data; // may be NULL when size_bytes is 0
    size_t size_bytes;
};

// The slice of a string literal, also as a static initialiser: LH_SLICE("LEASE").
#define LH_SLICE_INIT(literal)                                                                     \
    {                                                                                              \
        (const uint8_t *)("" literal), sizeof(literal) - 1                                         \
    }
#define LH_SLICE(literal) ((struct lh_slice)LH_SLICE_INIT(literal))

// The bytes of a terminated string, without the terminator. A literal costs nothing: strlen folds.
static inline struct lh_slice lh_slice_of_string(const char *string)
{
    return (struct lh_slice){(const uint8_t *)string, strlen(string)};
}

static inline struct lh_slice lh_slice_of(const void *data, size_t size_bytes)
{
    return (struct lh_slice){data, size_bytes};
}

static inline bool lh_slice_equal(struct lh_slice a, struct lh_slice b)
{
    // memcmp may not be given NULL, even for no bytes.
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static inline uint8_t lh_ascii_lower(uint8_t byte)
{
    return (uint8_t)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

// Equal when the letters A..Z are taken as a..z; every other byte must match. No locale takes part.
static inline bool lh_slice_equal_ignoring_case(struct lh_slice a, struct lh_slice b)
{
    if (a.size_bytes != b.size_bytes)
        return false;
    for (size_t i = 0; i < a.size_bytes; i++) {
        if (lh_ascii_lower(a.data[i]) != lh_ascii_lower(b.data[i]))
            return false;
    }
    return true;
}

static inline bool lh_slice_has_prefix(struct lh_slice whole, struct lh_slice prefix)
{
    return whole.size_bytes >= prefix.size_bytes &&
           (prefix.size_bytes == 0 || memcmp(whole.data, prefix.data, prefix.size_bytes) == 0);
}

#endif
