// The acceptor's table: see acceptors.h. Chained buckets over 32-bit indices; names are keyed
// hashes, so their low bits serve as they are and nobody outside the cluster can aim at a bucket.
#include "lease/acceptors.h"

#include "base/assert.h"
#include "base/memory.h"

#include <string.h>

size_t lh_acceptors_size(uint32_t capacity)
{
    return (size_t)capacity * (sizeof(struct lh_acceptor_record) + sizeof(uint32_t)) +
           (size_t)lh_bucket_count(capacity) * sizeof(uint32_t);
}

void lh_acceptors_init(struct lh_acceptors *acceptors, void *memory, uint32_t capacity)
{
    LH_ASSERT_GT(capacity, 0);
    LH_ASSERT_LE(capacity, UINT32_C(1) << 30);
    struct lh_acceptor_record *records = memory;
    uint32_t *next = (uint32_t *)(void *)(records + capacity);
    *acceptors = (struct lh_acceptors){
        .records = records,
        .next = next,
        .buckets = next + capacity,
        .bucket_mask = lh_bucket_count(capacity) - 1,
        .capacity = capacity,
    };
}

void lh_acceptors_clear(struct lh_acceptors *acceptors)
{
    memset(acceptors->buckets, 0,
           ((size_t)acceptors->bucket_mask + 1) * sizeof acceptors->buckets[0]);
}

static uint32_t *bucket_of(const struct lh_acceptors *acceptors, struct lh_key key)
{
    return &acceptors->buckets[key.word[0] & acceptors->bucket_mask];
}

struct lh_acceptor_record *lh_acceptors_find(struct lh_acceptors *acceptors, struct lh_key key)
{
    for (uint32_t at = *bucket_of(acceptors, key); at != 0; at = acceptors->next[at - 1])
        if (lh_key_equal(acceptors->records[at - 1].key, key))
            return &acceptors->records[at - 1];
    return NULL;
}

// Takes a free record off the list, or one never used. Returns index + 1, or 0 if there is none.
static uint32_t take_free(struct lh_acceptors *acceptors)
{
    uint32_t at = acceptors->free;
    if (at != 0)
        acceptors->free = acceptors->next[at - 1];
    else if (acceptors->used < acceptors->capacity)
        at = ++acceptors->used;
    return at;
}

struct lh_acceptor_record *lh_acceptors_touch(struct lh_acceptors *acceptors, struct lh_key key,
                                              struct lh_instant now)
{
    struct lh_acceptor_record *record = lh_acceptors_find(acceptors, key);
    if (record != NULL)
        return record;
    uint32_t at = take_free(acceptors);
    if (at == 0)
        return NULL;
    uint32_t *bucket = bucket_of(acceptors, key);
    acceptors->next[at - 1] = *bucket;
    *bucket = at;
    acceptors->count++;
    acceptors->records[at - 1] = lh_acceptor_fresh(key, acceptors->floor, now);
    return &acceptors->records[at - 1];
}

bool lh_acceptors_restore(struct lh_acceptors *acceptors, const struct lh_acceptor_record *record)
{
    struct lh_acceptor_record *made = lh_acceptors_touch(acceptors, record->key, LH_PAST);
    if (made == NULL)
        return false;
    *made = *record;
    return true;
}

static void unlink_record(struct lh_acceptors *acceptors, uint32_t at)
{
    uint32_t *link = bucket_of(acceptors, acceptors->records[at - 1].key);
    while (*link != at)
        link = &acceptors->next[*link - 1];
    *link = acceptors->next[at - 1];
}

// A free record is all zeroes: it has promised nothing, which no record in use can say.
bool lh_acceptors_in_use(const struct lh_acceptor_record *record)
{
    return record->key.word[0] != 0 || record->key.word[1] != 0 || record->promised != 0;
}

static void forget(struct lh_acceptors *acceptors, uint32_t at)
{
    struct lh_acceptor_record *record = &acceptors->records[at - 1];
    if (acceptors->floor < record->promised) // F2
        acceptors->floor = record->promised;
    unlink_record(acceptors, at);
    *record = (struct lh_acceptor_record){0};
    acceptors->next[at - 1] = acceptors->free;
    acceptors->free = at;
    acceptors->count--;
}

unsigned lh_acceptors_forget(struct lh_acceptors *acceptors, struct lh_instant now,
                             struct lh_duration quarantine)
{
    unsigned forgotten = 0;
    for (unsigned looked = 0; looked < 2 && acceptors->used > 0; looked++) {
        acceptors->hand = acceptors->hand < acceptors->used ? acceptors->hand + 1 : 1;
        const struct lh_acceptor_record *record = &acceptors->records[acceptors->hand - 1];
        if (lh_acceptors_in_use(record) && lh_acceptor_forgettable(record, now, quarantine)) {
            forget(acceptors, acceptors->hand);
            forgotten++;
        }
    }
    return forgotten;
}
