// Segments are handed over whole, so the lock is taken once per some thousand states. The file has
// no name: it vanishes with the process, however that ends.
#include "check/frontier.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_nameless(const char *directory)
{
    const int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/check-XXXXXX", directory) >= (int)sizeof path)
        return -1;
    const int named = mkostemp(path, O_CLOEXEC);
    if (named >= 0)
        unlink(path);
    return named;
}

bool lh_frontier_open(struct lh_frontier *frontier, uint32_t state_bytes,
                      const char *spill_directory, uint64_t memory_budget)
{
    memset(frontier, 0, sizeof *frontier);
    frontier->state_bytes = state_bytes;
    frontier->segment_states = LH_SEGMENT_BYTES / state_bytes;
    frontier->memory_budget = memory_budget;
    frontier->file = -1;
    if (spill_directory != NULL) {
        frontier->file = open_nameless(spill_directory);
        if (frontier->file < 0)
            return false;
    }
    return pthread_mutex_init(&frontier->mutex, NULL) == 0;
}

void lh_frontier_close(struct lh_frontier *frontier)
{
    if (frontier == NULL)
        return;
    lh_frontier_clear(frontier);
    free(frontier->segments);
    frontier->segments = NULL;
    if (frontier->file >= 0)
        close(frontier->file);
    frontier->file = -1;
}

uint8_t *lh_frontier_buffer(const struct lh_frontier *frontier)
{
    return malloc((size_t)frontier->segment_states * frontier->state_bytes);
}

static bool write_all(int file, const uint8_t *bytes, size_t size, int64_t offset)
{
    while (size > 0) {
        const ssize_t written = pwrite(file, bytes, size, offset);
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
        offset += written;
    }
    return true;
}

static bool read_all(int file, uint8_t *bytes, size_t size, int64_t offset)
{
    while (size > 0) {
        const ssize_t got = pread(file, bytes, size, offset);
        if (got <= 0)
            return false;
        bytes += got;
        size -= (size_t)got;
        offset += got;
    }
    return true;
}

static struct lh_segment *new_segment(struct lh_frontier *frontier)
{
    if (frontier->segment_count == frontier->segment_capacity) {
        const uint32_t capacity =
            frontier->segment_capacity == 0 ? 64 : 2 * frontier->segment_capacity;
        struct lh_segment *segments =
            realloc(frontier->segments, capacity * sizeof(struct lh_segment));
        if (segments == NULL)
            return NULL;
        frontier->segments = segments;
        frontier->segment_capacity = capacity;
    }
    return &frontier->segments[frontier->segment_count++];
}

uint64_t lh_frontier_append(struct lh_frontier *frontier, uint8_t *states, uint32_t count)
{
    const size_t bytes = (size_t)count * frontier->state_bytes;
    pthread_mutex_lock(&frontier->mutex);
    struct lh_segment *segment = new_segment(frontier);
    uint64_t first = UINT64_MAX;
    bool to_file = false;
    int64_t offset = 0;
    if (segment != NULL) {
        first = frontier->states;
        frontier->states += count;
        to_file = frontier->file >= 0 && frontier->memory_bytes + bytes > frontier->memory_budget;
        offset = frontier->file_bytes;
        *segment = (struct lh_segment){
            .states = to_file ? NULL : states, .count = count, .first = first, .offset = -1};
        if (to_file) {
            segment->offset = offset;
            frontier->file_bytes += (int64_t)bytes;
        } else {
            frontier->memory_bytes += bytes;
        }
    }
    pthread_mutex_unlock(&frontier->mutex);
    if (segment == NULL || to_file) {
        if (to_file && !write_all(frontier->file, states, bytes, offset))
            first = UINT64_MAX;
        free(states);
    }
    return first;
}

bool lh_frontier_take(struct lh_frontier *frontier, uint8_t **ret_states, uint32_t *ret_count,
                      uint64_t *ret_first, bool *ret_failed)
{
    const uint32_t index = atomic_fetch_add_explicit(&frontier->next, 1, memory_order_relaxed);
    if (index >= frontier->segment_count) {
        atomic_store_explicit(&frontier->next, frontier->segment_count, memory_order_relaxed);
        return false;
    }
    struct lh_segment *segment = &frontier->segments[index];
    const size_t bytes = (size_t)segment->count * frontier->state_bytes;
    uint8_t *states = segment->states;
    segment->states = NULL;
    if (states == NULL) {
        states = lh_frontier_buffer(frontier);
        if (states == NULL || !read_all(frontier->file, states, bytes, segment->offset)) {
            free(states);
            *ret_failed = true;
            return false;
        }
    } else {
        pthread_mutex_lock(&frontier->mutex);
        frontier->memory_bytes -= bytes;
        pthread_mutex_unlock(&frontier->mutex);
    }
    *ret_states = states;
    *ret_count = segment->count;
    *ret_first = segment->first;
    return true;
}

bool lh_frontier_return(struct lh_frontier *frontier, uint8_t *states, uint32_t at, uint32_t count,
                        uint64_t first)
{
    struct lh_segment *segment = new_segment(frontier);
    if (segment == NULL) {
        free(states);
        return false;
    }
    memmove(states, states + (size_t)at * frontier->state_bytes,
            (size_t)count * frontier->state_bytes);
    *segment = (struct lh_segment){.states = states, .count = count, .first = first, .offset = -1};
    frontier->memory_bytes += (uint64_t)count * frontier->state_bytes;
    return true;
}

bool lh_frontier_is_read(const struct lh_frontier *frontier)
{
    return atomic_load(&frontier->next) >= frontier->segment_count;
}

void lh_frontier_clear(struct lh_frontier *frontier)
{
    for (uint32_t i = 0; i < frontier->segment_count; i++)
        free(frontier->segments[i].states);
    frontier->segment_count = 0;
    frontier->states = 0;
    frontier->memory_bytes = 0;
    frontier->file_bytes = 0;
    atomic_store(&frontier->next, 0);
    if (frontier->file >= 0 && ftruncate(frontier->file, 0) != 0)
        return; // the next level overwrites it from the start
}

bool lh_frontier_save(struct lh_frontier *frontier, struct lh_summed_file *file)
{
    const uint32_t begin = atomic_load(&frontier->next);
    const uint64_t count = frontier->segment_count > begin ? frontier->segment_count - begin : 0;
    if (!lh_summed_write(file, &count, sizeof count))
        return false;
    uint8_t *buffer = lh_frontier_buffer(frontier);
    bool saved = buffer != NULL;
    for (uint32_t i = begin; i < frontier->segment_count && saved; i++) {
        const struct lh_segment *segment = &frontier->segments[i];
        const size_t bytes = (size_t)segment->count * frontier->state_bytes;
        const uint8_t *states = segment->states;
        if (states == NULL) {
            saved = read_all(frontier->file, buffer, bytes, segment->offset);
            states = buffer;
        }
        saved = saved && lh_summed_write(file, &segment->count, sizeof segment->count) &&
                lh_summed_write(file, states, bytes);
    }
    free(buffer);
    return saved;
}

bool lh_frontier_load(struct lh_frontier *frontier, struct lh_summed_file *file)
{
    uint64_t count;
    if (!lh_summed_read(file, &count, sizeof count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t states;
        uint8_t *buffer = lh_frontier_buffer(frontier);
        if (buffer == NULL || !lh_summed_read(file, &states, sizeof states) || states == 0 ||
            states > frontier->segment_states ||
            !lh_summed_read(file, buffer, (size_t)states * frontier->state_bytes)) {
            free(buffer);
            return false;
        }
        if (lh_frontier_append(frontier, buffer, states) == UINT64_MAX)
            return false;
    }
    return true;
}
