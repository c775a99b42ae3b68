// See reach.h.
#include "client/reach.h"

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
