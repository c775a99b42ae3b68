// Any bytes as a host message: the first chooses the kind, the rest are its body. What is taken
// must come back unchanged when it is sent on, byte for byte; a page's entries are read as a query
// reads them.
#include <stdlib.h>
#include <string.h>

#include "host/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_entries(const struct lh_host_message *message)
{
    struct lh_reader reader = lh_reader_of(message->text);
    for (unsigned i = 0; i < message->count; i++) {
        struct lh_entry entry;
        lh_entry_read(&reader, &entry);
        if (reader.failed)
            return;
        if (entry.name.size_bytes > 255 || entry.holder.size_bytes > 255 ||
            entry.remaining.ns < 0 || entry.age.ns < 0 || entry.ttl.ns < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t again[70000];
    struct lh_host_message message;
    if (size == 0 || size > 65536)
        return 0;
    const struct lh_slice body = lh_slice_of(bytes + 1, size - 1);
    if (!lh_host_message_decode((enum lh_host_message_kind)bytes[0], body, &message))
        return 0;
    if (message.kind == LH_HOST_PAGE)
        read_entries(&message);
    struct lh_writer writer = lh_writer_of(again, sizeof again);
    lh_host_message_encode(&writer, &message);
    if (writer.failed || lh_writer_size_bytes(&writer) != body.size_bytes + 3 ||
        memcmp(again + 3, body.data, body.size_bytes) != 0)
        abort();
    return 0;
}
