// A level's origins lie in chunks as they were handed over, in no order; a state is looked up once
// per level of a trace, so chunks are simply searched.
#include "check/history.h"

#include <stdlib.h>
#include <string.h>

struct chunk {
    uint64_t first;
    uint32_t count;
    uint32_t *parents;
    uint8_t *ordinals;
};

struct lh_history_level {
    struct chunk *chunks;
    uint32_t count;
    uint32_t capacity;
};

bool lh_history_open(struct lh_history *history)
{
    memset(history, 0, sizeof *history);
    history->enabled = true;
    return pthread_mutex_init(&history->mutex, NULL) == 0;
}

void lh_history_disable(struct lh_history *history)
{
    for (uint32_t i = 0; i < history->level_count; i++) {
        for (uint32_t j = 0; j < history->levels[i].count; j++) {
            free(history->levels[i].chunks[j].parents);
            free(history->levels[i].chunks[j].ordinals);
        }
        free(history->levels[i].chunks);
    }
    free(history->levels);
    history->levels = NULL;
    history->level_count = 0;
    history->bytes = 0;
    history->enabled = false;
}

void lh_history_close(struct lh_history *history)
{
    if (history != NULL)
        lh_history_disable(history);
}

bool lh_history_begin_level(struct lh_history *history)
{
    struct lh_history_level *levels =
        realloc(history->levels, (history->level_count + 1) * sizeof *levels);
    if (levels == NULL)
        return false;
    history->levels = levels;
    levels[history->level_count++] = (struct lh_history_level){0};
    return true;
}

static bool add_chunk(struct lh_history_level *level, struct chunk chunk)
{
    if (level->count == level->capacity) {
        const uint32_t capacity = level->capacity == 0 ? 16 : 2 * level->capacity;
        struct chunk *chunks = realloc(level->chunks, capacity * sizeof *chunks);
        if (chunks == NULL)
            return false;
        level->chunks = chunks;
        level->capacity = capacity;
    }
    level->chunks[level->count++] = chunk;
    return true;
}

bool lh_history_append(struct lh_history *history, uint64_t first, const struct lh_origin *origins,
                       uint32_t count)
{
    struct chunk chunk = {.first = first,
                          .count = count,
                          .parents = malloc(count * sizeof(uint32_t)),
                          .ordinals = malloc(count)};
    bool added = chunk.parents != NULL && chunk.ordinals != NULL;
    for (uint32_t i = 0; i < count && added; i++) {
        chunk.parents[i] = origins[i].parent;
        chunk.ordinals[i] = origins[i].ordinal;
    }
    pthread_mutex_lock(&history->mutex);
    added = added && add_chunk(&history->levels[history->level_count - 1], chunk);
    if (added)
        history->bytes += (uint64_t)count * (sizeof(uint32_t) + 1);
    pthread_mutex_unlock(&history->mutex);
    if (!added) {
        free(chunk.parents);
        free(chunk.ordinals);
    }
    return added;
}

static const struct chunk *find_chunk(const struct lh_history_level *level, uint64_t number)
{
    for (uint32_t i = 0; i < level->count; i++) {
        if (number >= level->chunks[i].first &&
            number - level->chunks[i].first < level->chunks[i].count)
            return &level->chunks[i];
    }
    return NULL;
}

bool lh_history_choices(const struct lh_history *history, uint32_t level, uint64_t number,
                        uint8_t *ret_choices)
{
    if (!history->enabled || level > history->level_count)
        return false;
    for (uint32_t at = level; at > 0; at--) {
        const struct chunk *chunk = find_chunk(&history->levels[at - 1], number);
        if (chunk == NULL)
            return false;
        ret_choices[at - 1] = chunk->ordinals[number - chunk->first];
        number = chunk->parents[number - chunk->first];
    }
    return true;
}
