// The parts of the byte cursors that are not hot enough to be inlined: copies out and slices that
// carry their own length. The rules are in the header.
#include "base/cursor.h"

void lh_reader_bytes(struct lh_reader *reader, void *ret, size_t size_bytes)
{
    const uint8_t *at = lh_reader_take(reader, size_bytes);
    if (size_bytes == 0)
        return;
    if (at == NULL)
        memset(ret, 0, size_bytes);
    else
        memcpy(ret, at, size_bytes);
}

struct lh_slice lh_reader_slice_u8(struct lh_reader *reader)
{
    size_t size_bytes = lh_reader_u8(reader);
    return lh_reader_slice(reader, size_bytes);
}

struct lh_slice lh_reader_slice_u16(struct lh_reader *reader)
{
    size_t size_bytes = lh_reader_u16(reader);
    return lh_reader_slice(reader, size_bytes);
}

struct lh_slice lh_reader_slice_u32(struct lh_reader *reader)
{
    size_t size_bytes = lh_reader_u32(reader);
    return lh_reader_slice(reader, size_bytes);
}

// The length and the bytes are taken together, so that a slice that does not fit leaves no length
// behind it.
static uint8_t *take_prefixed(struct lh_writer *writer, struct lh_slice slice, size_t prefix_bytes,
                              size_t most_bytes)
{
    if (slice.size_bytes > most_bytes || slice.size_bytes > SIZE_MAX - prefix_bytes) {
        lh_writer_fail(writer);
        return NULL;
    }
    uint8_t *at = lh_writer_take(writer, prefix_bytes + slice.size_bytes);
    if (at != NULL && slice.size_bytes != 0)
        memcpy(at + prefix_bytes, slice.data, slice.size_bytes);
    return at;
}

void lh_writer_slice_u8(struct lh_writer *writer, struct lh_slice slice)
{
    uint8_t *at = take_prefixed(writer, slice, 1, UINT8_MAX);
    if (at != NULL)
        at[0] = (uint8_t)slice.size_bytes;
}

void lh_writer_slice_u16(struct lh_writer *writer, struct lh_slice slice)
{
    uint8_t *at = take_prefixed(writer, slice, 2, UINT16_MAX);
    if (at != NULL)
        lh_store_u16(at, (uint16_t)slice.size_bytes);
}

void lh_writer_slice_u32(struct lh_writer *writer, struct lh_slice slice)
{
    uint8_t *at = take_prefixed(writer, slice, 4, UINT32_MAX);
    if (at != NULL)
        lh_store_u32(at, (uint32_t)slice.size_bytes);
}
