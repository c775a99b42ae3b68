// What a mistyped word was probably meant to be.
#ifndef LH_CLI_SUGGEST_H
#define LH_CLI_SUGGEST_H

#include <stddef.h>

// The word of `words` (count pointers) nearest to `typed`: a unique beginning of it, or at most
// two slips away (a letter too many, too few, wrong, or two swapped) and fewer slips than half its
// length. NULL when nothing is near. Entries may be NULL and are skipped.
const char *lh_cli_nearest(const char *typed, const char *const *words, size_t count);

#endif
