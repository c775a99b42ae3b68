// Any bytes as a lease message: the first chooses the kind, the rest are its body. What is taken
// must come back unchanged when it is sent on, byte for byte.
#include <stdlib.h>
#include <string.h>

#include "lease/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    const enum lh_message_kind kind = (enum lh_message_kind)bytes[0];
    const struct lh_slice body = lh_slice_of(bytes + 1, size - 1);
    struct lh_message message;
    if (!lh_message_decode(kind, body, &message))
        return 0;
    uint8_t again[128];
    struct lh_writer writer = lh_writer_of(again, sizeof again);
    lh_message_encode(&writer, &message);
    const struct lh_slice written = lh_writer_slice(&writer);
    if (writer.failed || written.size_bytes != body.size_bytes + 3 || again[0] != bytes[0] ||
        lh_load_u16(again + 1) != body.size_bytes ||
        memcmp(again + 3, body.data, body.size_bytes) != 0)
        abort();
    return 0;
}
