// See suggest.h.
#include "cli/suggest.h"

#include <string.h>

#include "base/nearest.h"

// The only word that begins with `typed`, if there is exactly one and `typed` is not a mere letter.
static const char *completed(const char *typed, const char *const *words, size_t count)
{
    const char *found = NULL;
    size_t length = strlen(typed);
    if (length < 2)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (words[i] == NULL || strncmp(words[i], typed, length) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = words[i];
    }
    return found;
}

const char *lh_cli_nearest(const char *typed, const char *const *words, size_t count)
{
    const char *nearest = completed(typed, words, count);
    if (nearest != NULL)
        return nearest;
    size_t fewest = 3;
    for (size_t i = 0; i < count; i++) {
        if (words[i] == NULL)
            continue;
        size_t slips = lh_slips(lh_slice_of_string(typed), lh_slice_of_string(words[i]));
        if (slips < fewest && slips * 2 < strlen(words[i])) {
            fewest = slips;
            nearest = words[i];
        }
    }
    return nearest;
}
