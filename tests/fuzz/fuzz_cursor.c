// The input is read by a sequence of reads that its own bytes choose. Whatever was read must be
// within it, a failure must stick, and writing the same values again must give the same bytes.
#include "base/cursor.h"

#include <stdlib.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

// Reads one value of the kind and writes it again.
static void copy_value(unsigned kind, struct lh_reader *reader, struct lh_writer *writer)
{
    uint8_t copied[5];
    switch (kind) {
    case 0: lh_writer_u8(writer, lh_reader_u8(reader)); break;
    case 1: lh_writer_u16(writer, lh_reader_u16(reader)); break;
    case 2: lh_writer_u32(writer, lh_reader_u32(reader)); break;
    case 3: lh_writer_u64(writer, lh_reader_u64(reader)); break;
    case 4: lh_writer_slice_u8(writer, lh_reader_slice_u8(reader)); break;
    case 5: {
        struct lh_slice slice = lh_reader_slice_u16(reader);
        lh_writer_u16(writer, (uint16_t)slice.size_bytes);
        lh_writer_slice_bytes(writer, slice);
        break;
    }
    default:
        lh_reader_bytes(reader, copied, sizeof copied);
        lh_writer_bytes(writer, copied, sizeof copied);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lh_reader reader = lh_reader_of(lh_slice_of(bytes, size_bytes));
    uint8_t *copy = malloc(size_bytes + 16);
    LH_ASSERT(copy != NULL);
    struct lh_writer writer = lh_writer_of(copy, size_bytes);
    size_t understood_bytes = 0;

    for (unsigned turn = 0; !reader.failed && !lh_reader_done(&reader); turn++) {
        unsigned kind = (bytes[lh_writer_size_bytes(&writer)] + turn) % 7;
        copy_value(kind, &reader, &writer);
        if (!reader.failed)
            understood_bytes = size_bytes - lh_reader_left_bytes(&reader);
    }
    // Up to the first failure the copy is exact, and it never needs more room than the input had.
    if (!reader.failed)
        LH_ASSERT(!writer.failed && understood_bytes == size_bytes);
    LH_ASSERT(understood_bytes == 0 || memcmp(copy, bytes, understood_bytes) == 0);
    if (reader.failed) {
        LH_ASSERT(lh_reader_u64(&reader) == 0 && lh_reader_left_bytes(&reader) == 0);
        LH_ASSERT(!lh_reader_done(&reader));
    }
    free(copy);
    return 0;
}
