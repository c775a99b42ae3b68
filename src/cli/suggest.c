// See suggest.h: the optimal string alignment distance, three rows of it, over short words.
#include "cli/suggest.h"

#include <string.h>

#define LONGEST 48

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

// Slips between a and b; LONGEST for words too long to have been mistyped.
static size_t distance(const char *a, const char *b)
{
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    if (a_length >= LONGEST || b_length >= LONGEST)
        return LONGEST;
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t differs = a[i - 1] != b[j - 1];
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two_above[j - 2] + 1 < row[j])
                row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

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
        size_t slips = distance(typed, words[i]);
        if (slips < fewest && slips * 2 < strlen(words[i])) {
            fewest = slips;
            nearest = words[i];
        }
    }
    return nearest;
}
