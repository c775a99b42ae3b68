// Text chunks: see texts.h. The first byte of a text's first chunk is its size.
#include "host/texts.h"

#include "base/assert.h"

void lh_texts_init(struct lh_texts *texts, void *memory, uint32_t capacity)
{
    *texts = (struct lh_texts){.chunks = memory, .capacity = capacity};
}

static uint32_t take(struct lh_texts *texts)
{
    uint32_t at = texts->free;
    if (at != 0) {
        texts->free = texts->chunks[at - 1].next;
        texts->free_count--;
        return at;
    }
    LH_ASSERT_LT(texts->used, texts->capacity);
    return ++texts->used;
}

bool lh_texts_put(struct lh_texts *texts, struct lh_slice text, lh_text *ret_text)
{
    LH_ASSERT_LE(text.size_bytes, LH_TEXT_MAX_BYTES);
    if (text.size_bytes == 0) {
        *ret_text = 0;
        return true;
    }
    size_t needed = (text.size_bytes + 1 + LH_TEXT_CHUNK_BYTES - 1) / LH_TEXT_CHUNK_BYTES;
    if (needed > texts->free_count + (texts->capacity - texts->used))
        return false;
    lh_text first = 0;
    uint32_t *link = &first;
    size_t done = 0;
    while (link == &first || done < text.size_bytes) {
        size_t at = link == &first ? 1 : 0;
        uint32_t chunk = take(texts);
        struct lh_text_chunk *made = &texts->chunks[chunk - 1];
        if (at == 1)
            made->bytes[0] = (uint8_t)text.size_bytes;
        size_t part = text.size_bytes - done;
        part = part < LH_TEXT_CHUNK_BYTES - at ? part : LH_TEXT_CHUNK_BYTES - at;
        memcpy(made->bytes + at, text.data + done, part);
        done += part;
        *link = chunk;
        link = &made->next;
    }
    *link = 0;
    *ret_text = first;
    return true;
}

struct lh_slice lh_texts_get(const struct lh_texts *texts, lh_text text,
                             uint8_t buffer[LH_TEXT_MAX_BYTES])
{
    if (text == 0)
        return (struct lh_slice){NULL, 0};
    size_t size = texts->chunks[text - 1].bytes[0];
    size_t done = 0;
    for (uint32_t at = text; done < size; at = texts->chunks[at - 1].next) {
        size_t skip = at == text ? 1 : 0;
        size_t part = size - done;
        part = part < LH_TEXT_CHUNK_BYTES - skip ? part : LH_TEXT_CHUNK_BYTES - skip;
        memcpy(buffer + done, texts->chunks[at - 1].bytes + skip, part);
        done += part;
    }
    return lh_slice_of(buffer, size);
}

bool lh_texts_equal(const struct lh_texts *texts, lh_text text, struct lh_slice other)
{
    uint8_t buffer[LH_TEXT_MAX_BYTES];
    return lh_slice_equal(lh_texts_get(texts, text, buffer), other);
}

void lh_texts_drop(struct lh_texts *texts, lh_text text)
{
    while (text != 0) {
        struct lh_text_chunk *chunk = &texts->chunks[text - 1];
        uint32_t next = chunk->next;
        chunk->next = texts->free;
        texts->free = text;
        texts->free_count++;
        text = next;
    }
}
