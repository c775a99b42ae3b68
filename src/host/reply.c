// Replies in the making: see reply.h. The arena holds the bytes; an entry in `replies` frames them.
// What does not fit is our own limit and not the client's fault, so it is told so and goes on.
#include "host/reply.h"

#include "base/assert.h"
#include "base/resp_line.h"

static const char does_not_fit[] =
    "-BUSY the answer does not fit into one message: ask for less (LEASE LIST takes COUNT)\r\n";

bool lh_reply_has_room_for_message(const struct lh_host_effects *effects)
{
    return effects->reply_count < LH_HOST_REPLIES_MAX / 2 &&
           effects->arena_used < LH_HOST_ARENA_BYTES / 2;
}

struct lh_writer lh_reply_begin(struct lh_host_effects *effects)
{
    size_t left = LH_HOST_ARENA_BYTES - effects->arena_used;
    return lh_writer_of(effects->arena + effects->arena_used,
                        left > LH_REPLY_RESERVE_BYTES ? left - LH_REPLY_RESERVE_BYTES : 0);
}

struct lh_writer lh_reply_scratch(const struct lh_writer *writer)
{
    size_t half = lh_writer_left_bytes(writer) / 2;
    size_t frame = LH_RESP_HEADER_MAX_BYTES + 2; // of the value in the near half
    if (half <= frame)
        return lh_writer_of(writer->at, 0);
    return lh_writer_of(writer->at + half, half - frame);
}

static void frame(struct lh_host_effects *effects, uint32_t session, uint32_t size_bytes)
{
    uint32_t offset = effects->arena_used;
    effects->arena_used += size_bytes;
    if (effects->reply_count > 0) {
        struct lh_host_reply *last = &effects->replies[effects->reply_count - 1];
        if (last->session == session && last->offset + last->size == offset) {
            last->size += size_bytes;
            return;
        }
    }
    LH_ASSERT_LT(effects->reply_count, LH_HOST_REPLIES_MAX);
    effects->replies[effects->reply_count++] =
        (struct lh_host_reply){.session = session, .offset = offset, .size = size_bytes};
}

void lh_reply_end(struct lh_host_effects *effects, uint32_t session, const struct lh_writer *writer)
{
    if (!writer->failed) {
        frame(effects, session, (uint32_t)lh_writer_size_bytes(writer));
        return;
    }
    struct lh_writer again = lh_writer_of(effects->arena + effects->arena_used,
                                          LH_HOST_ARENA_BYTES - effects->arena_used);
    lh_writer_string(&again, does_not_fit);
    LH_ASSERT(!again.failed);
    frame(effects, session, (uint32_t)lh_writer_size_bytes(&again));
}

void lh_reply_close(struct lh_host_effects *effects, uint32_t session)
{
    LH_ASSERT_GT(effects->reply_count, 0);
    struct lh_host_reply *last = &effects->replies[effects->reply_count - 1];
    LH_ASSERT_EQ(last->session, session);
    last->close = true;
}
