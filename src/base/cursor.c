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

// The length and the bytes are taken together, so that a slice that does not fit leaves no length
// behind it.
void lh_writer_slice_u8(struct lh_writer *writer, struct lh_slice slice)
{
    if (slice.size_bytes > UINT8_MAX) {
        lh_writer_fail(writer);
        return;
    }
    uint8_t *at = lh_writer_take(writer, 1 + slice.size_bytes);
    if (at == NULL)
        return;
    at[0] = (uint8_t)slice.size_bytes;
    if (slice.size_bytes != 0)
        memcpy(at + 1, slice.data, slice.size_bytes);
}
