// A file that ends with a sum of all its bytes: one that was cut short, added to or edited is told
// apart. Not so one that somebody made up on purpose.
#ifndef LH_CHECK_SUMMED_FILE_H
#define LH_CHECK_SUMMED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lh_summed_file {
    FILE *file;   // the caller's
    uint64_t sum; // 0 at the beginning
};

bool lh_summed_write(struct lh_summed_file *summed, const void *bytes, size_t size);
bool lh_summed_read(struct lh_summed_file *summed, void *ret_bytes, size_t size);

// Whether the file goes on for so many bytes: to be asked before memory is taken for them.
bool lh_summed_has(const struct lh_summed_file *summed, uint64_t bytes);

// To be called behind the last bytes: writes the sum; reads it, and whether it is right and nothing
// stands behind it.
bool lh_summed_write_end(struct lh_summed_file *summed);
bool lh_summed_read_end(struct lh_summed_file *summed);

#endif
