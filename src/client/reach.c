// See reach.h.
#include "client/reach.h"

#include <inttypes.h>
#include <stdio.h>

void lh_trouble_note(struct lh_trouble *trouble, enum lh_reach reach, const char *endpoint,
                     const char *why)
{
    struct lh_trouble later = {.reach = reach};
    lh_error_set(&later.error, "%s: %s", endpoint, why);
    lh_trouble_take(trouble, &later);
}

void lh_trouble_take(struct lh_trouble *trouble, const struct lh_trouble *later)
{
    // Of two that did not answer the first one is told, which was asked first.
    bool further = later->reach > trouble->reach ||
                   (later->reach == trouble->reach && later->reach > LH_REACH_SILENCE);
    if (trouble->error.text[0] == '\0' || further)
        *trouble = *later;
}

enum lh_reach lh_reach_no_quorum(int64_t node, struct lh_slice reason,
                                 char ret_why[LH_REACH_WHY_BYTES])
{
    if (node > 0) {
        snprintf(ret_why, LH_REACH_WHY_BYTES, "node %" PRId64 " holds it and does not answer",
                 node);
        return LH_REACH_OWNER;
    }
    if (reason.size_bytes == 0)
        reason = LH_SLICE(LH_NO_MAJORITY);
    snprintf(ret_why, LH_REACH_WHY_BYTES, "%.*s", (int)reason.size_bytes,
             (const char *)reason.data);
    return LH_REACH_ANSWER;
}
