// See nearest.h: the table of distances between beginnings of the two words, of which only the last
// three rows are looked at again, so only they are kept.
#include "base/nearest.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t lh_slips(struct lh_slice typed, struct lh_slice word)
{
    size_t rows[3][LH_SLIPS_WORD_BYTES + 1];
    const uint8_t *a = typed.data;
    const uint8_t *b = word.data;
    if (typed.size_bytes > LH_SLIPS_WORD_BYTES || word.size_bytes > LH_SLIPS_WORD_BYTES)
        return LH_SLIPS_WORD_BYTES;
    for (size_t j = 0; j <= word.size_bytes; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= typed.size_bytes; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        row[0] = i;
        for (size_t j = 1; j <= word.size_bytes; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[typed.size_bytes % 3][word.size_bytes];
}
