// See reach.h.
#include "client/reach.h"

void lh_trouble_note(struct lh_trouble *trouble, enum lh_reach reach, const char *endpoint,
                     const char *why)
{
    // Of two that did not answer the first one is told, which was asked first.
    bool further = reach > trouble->reach || (reach == trouble->reach && reach > LH_REACH_SILENCE);
    if (trouble->error.text[0] != '\0' && !further)
        return;
    trouble->reach = reach;
    lh_error_set(&trouble->error, "%s: %s", endpoint, why);
}
