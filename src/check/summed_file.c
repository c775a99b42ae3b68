// Word by word, since a checkpoint has gigabytes.
#include "check/summed_file.h"

#include <string.h>
#include <sys/stat.h>

static uint64_t add_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

static uint64_t add_bytes(uint64_t sum, const uint8_t *bytes, size_t size)
{
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sum = add_word(sum, word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return add_word(sum, word + size);
}

bool lh_summed_write(struct lh_summed_file *summed, const void *bytes, size_t size)
{
    summed->sum = add_bytes(summed->sum, bytes, size);
    return fwrite(bytes, 1, size, summed->file) == size;
}

bool lh_summed_read(struct lh_summed_file *summed, void *ret_bytes, size_t size)
{
    if (fread(ret_bytes, 1, size, summed->file) != size)
        return false;
    summed->sum = add_bytes(summed->sum, ret_bytes, size);
    return true;
}

bool lh_summed_has(const struct lh_summed_file *summed, uint64_t bytes)
{
    struct stat status;
    const off_t at = ftello(summed->file);
    return at >= 0 && fstat(fileno(summed->file), &status) == 0 && status.st_size >= at &&
           (uint64_t)(status.st_size - at) >= bytes;
}

bool lh_summed_write_end(struct lh_summed_file *summed)
{
    return fwrite(&summed->sum, sizeof summed->sum, 1, summed->file) == 1;
}

bool lh_summed_read_end(struct lh_summed_file *summed)
{
    uint64_t sum;
    return fread(&sum, sizeof sum, 1, summed->file) == 1 && sum == summed->sum &&
           fgetc(summed->file) == EOF;
}
