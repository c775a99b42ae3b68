// Names and holders of a million leases, in one block of small chunks given at start: a text takes
// as many chunks as it needs, and its handle is the first.
#ifndef LH_HOST_TEXTS_H
#define LH_HOST_TEXTS_H

#include "base/slice.h"
#include "base/text.h"

#define LH_TEXT_MAX_BYTES LH_NAME_MAX_BYTES
#define LH_TEXT_CHUNK_BYTES 60

struct lh_text_chunk {
    uint32_t next; // index + 1; 0 ends
    uint8_t bytes[LH_TEXT_CHUNK_BYTES];
};

struct lh_texts {
    struct lh_text_chunk *chunks;
    uint32_t capacity, used, free, free_count;
};

_Static_assert(LH_HOLDER_MAX_BYTES <= LH_TEXT_MAX_BYTES, "a holder is a text too");

// 0 is the empty text and costs nothing.
typedef uint32_t lh_text;

// How many chunks a text takes.
static inline uint32_t lh_texts_chunks(struct lh_slice text)
{
    return text.size_bytes == 0
               ? 0
               : (uint32_t)((text.size_bytes + LH_TEXT_CHUNK_BYTES) / LH_TEXT_CHUNK_BYTES);
}

void lh_texts_init(struct lh_texts *texts, void *memory, uint32_t capacity);

// Stores up to LH_TEXT_MAX_BYTES bytes. Returns false, with nothing stored, if there is no room.
bool lh_texts_put(struct lh_texts *texts, struct lh_slice text, lh_text *ret_text);

// The text, copied into `buffer`.
struct lh_slice lh_texts_get(const struct lh_texts *texts, lh_text text,
                             uint8_t buffer[LH_TEXT_MAX_BYTES]);

bool lh_texts_equal(const struct lh_texts *texts, lh_text text, struct lh_slice other);

void lh_texts_drop(struct lh_texts *texts, lh_text text);

#endif
