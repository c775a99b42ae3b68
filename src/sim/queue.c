// See queue.h.
#include "sim/queue.h"

#include <stdbool.h>

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define BLOCK_KINDS 3
static const size_t block_bytes[BLOCK_KINDS] = {128, 512, 2048};

struct key {
    int64_t at_ns;
    uint32_t sequence;
    uint32_t slot;
};

struct block {
    struct block *next;
};

struct lh_sim_queue {
    struct key *heap;
    struct lh_sim_event *slots;
    uint32_t *free_slots;
    uint32_t count, capacity, free_count, sequence;
    struct block *free_blocks[BLOCK_KINDS];
};

// Memory that the simulator cannot do without.
static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

struct lh_sim_queue *lh_sim_queue_open(void)
{
    return need(calloc(1, sizeof(struct lh_sim_queue)));
}

static void free_bytes(const struct lh_sim_event *event)
{
    free(event->bytes);
}

void lh_sim_queue_close(struct lh_sim_queue *queue)
{
    if (queue == NULL)
        return;
    for (uint32_t i = 0; i < queue->count; i++)
        free_bytes(&queue->slots[queue->heap[i].slot]);
    for (unsigned kind = 0; kind < BLOCK_KINDS; kind++) {
        while (queue->free_blocks[kind] != NULL) {
            struct block *block = queue->free_blocks[kind];
            queue->free_blocks[kind] = block->next;
            free(block);
        }
    }
    free(queue->heap);
    free(queue->slots);
    free(queue->free_slots);
    free(queue);
}

static bool sooner(const struct key *a, const struct key *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : (int32_t)(a->sequence - b->sequence) < 0;
}

static void grow(struct lh_sim_queue *queue)
{
    uint32_t old = queue->capacity;
    queue->capacity = old == 0 ? 256 : 2 * old;
    queue->heap = need(realloc(queue->heap, queue->capacity * sizeof queue->heap[0]));
    queue->slots = need(realloc(queue->slots, queue->capacity * sizeof queue->slots[0]));
    queue->free_slots =
        need(realloc(queue->free_slots, queue->capacity * sizeof queue->free_slots[0]));
    for (uint32_t slot = queue->capacity; slot > old; slot--)
        queue->free_slots[queue->free_count++] = slot - 1;
}

static uint8_t *take_block(struct lh_sim_queue *queue, size_t size, uint32_t *ret_kind)
{
    unsigned kind = 0;
    while (kind < BLOCK_KINDS && block_bytes[kind] < size)
        kind++;
    *ret_kind = kind;
    if (kind == BLOCK_KINDS)
        return need(malloc(size));
    struct block *block = queue->free_blocks[kind];
    if (block == NULL)
        return need(malloc(block_bytes[kind]));
    queue->free_blocks[kind] = block->next;
    return (uint8_t *)block;
}

void lh_sim_queue_free(struct lh_sim_queue *queue, const struct lh_sim_event *event)
{
    if (event->bytes == NULL)
        return;
    if (event->block == BLOCK_KINDS) {
        free(event->bytes);
        return;
    }
    struct block *block = (struct block *)(void *)event->bytes;
    block->next = queue->free_blocks[event->block];
    queue->free_blocks[event->block] = block;
}

void lh_sim_queue_push(struct lh_sim_queue *queue, int64_t at_ns, const struct lh_sim_event *event,
                       const void *bytes, size_t size)
{
    if (queue->count == queue->capacity)
        grow(queue);
    struct key key = {at_ns, queue->sequence++, queue->free_slots[--queue->free_count]};
    struct lh_sim_event *made = &queue->slots[key.slot];
    *made = *event;
    made->size = (uint32_t)size;
    made->bytes = NULL;
    if (size > 0) {
        made->bytes = take_block(queue, size, &made->block);
        memcpy(made->bytes, bytes, size);
    }
    uint32_t at = queue->count++;
    while (at > 0 && sooner(&key, &queue->heap[(at - 1) / 4])) {
        queue->heap[at] = queue->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    queue->heap[at] = key;
}

int64_t lh_sim_queue_next(const struct lh_sim_queue *queue)
{
    return queue->count > 0 ? queue->heap[0].at_ns : INT64_MAX;
}

void lh_sim_queue_pop(struct lh_sim_queue *queue, struct lh_sim_event *ret_event)
{
    LH_ASSERT_GT(queue->count, 0);
    uint32_t slot = queue->heap[0].slot;
    *ret_event = queue->slots[slot];
    queue->free_slots[queue->free_count++] = slot;
    struct key last = queue->heap[--queue->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 4 * at + 1;
        if (child >= queue->count)
            break;
        uint32_t end = child + 4 < queue->count ? child + 4 : queue->count;
        uint32_t first = child;
        for (uint32_t i = child + 1; i < end; i++)
            if (sooner(&queue->heap[i], &queue->heap[first]))
                first = i;
        if (!sooner(&queue->heap[first], &last))
            break;
        queue->heap[at] = queue->heap[first];
        at = first;
    }
    if (queue->count > 0)
        queue->heap[at] = last;
}
