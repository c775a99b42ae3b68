// Replies in the making: written straight into the arena of the effects, with the codec's writer,
// and framed as a whole when they end. Between begin and end nothing else may be put into the
// effects.
#ifndef LH_HOST_REPLY_H
#define LH_HOST_REPLY_H

#include "base/resp_writer.h"
#include "host/host.h"

// Kept from every reply, for what else a step has to say.
#define LH_REPLY_RESERVE_BYTES (56 * 1024)

// Whether a message that nobody waits for may be added. The rest is for answers, which cannot be
// put off.
bool lh_reply_has_room_for_message(const struct lh_host_effects *effects);

// A writer over what is left of the arena, but for the reserve.
struct lh_writer lh_reply_begin(struct lh_host_effects *effects);

// A second writer, over the far half of what is left to the first: for text whose length must be
// known before it is written to the first as one value.
struct lh_writer lh_reply_scratch(const struct lh_writer *writer);

// Hands the bytes written to `session`; one that did not fit becomes an error in its place. Replies
// to one session that stand side by side are handed over as one.
void lh_reply_end(struct lh_host_effects *effects, uint32_t session,
                  const struct lh_writer *writer);

// Ends the connection behind what was replied to it in this step, which is at least one reply.
void lh_reply_close(struct lh_host_effects *effects, uint32_t session);

#endif
