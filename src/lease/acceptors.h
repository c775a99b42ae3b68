// The acceptor's table: one record a name, found by hash, in memory given at start. It adds what
// concerns all names of one acceptor: the promise floor (F2) and idle forgetting (F1). No call
// costs more because the table is fuller; forgetting looks at two records a call, around and
// around.
#ifndef LH_LEASE_ACCEPTORS_H
#define LH_LEASE_ACCEPTORS_H

#include <stddef.h>
#include <stdint.h>

#include "lease/acceptor.h"

struct lh_acceptors {
    struct lh_acceptor_record *records; // [0, used) have been in use; some may be free again
    uint32_t *next; // chain of a bucket, or of the free list; index + 1, 0 ends it
    uint32_t *buckets;
    uint32_t bucket_mask;
    uint32_t capacity;
    uint32_t used;
    uint32_t free;  // head of the free list
    uint32_t count; // names known
    uint32_t hand;  // where forgetting looks next
    lh_ballot floor;
};

// Bytes of memory for `capacity` names: of each 48 for its record, 4 for its chain and 4 to 8 for
// buckets.
size_t lh_acceptors_size(uint32_t capacity);

// `memory` is zeroed, 8-aligned, lh_acceptors_size() long, and outlives the table.
void lh_acceptors_init(struct lh_acceptors *acceptors, void *memory, uint32_t capacity);

// Ends the table: its memory may be another's of the same capacity.
void lh_acceptors_clear(struct lh_acceptors *acceptors);

// The record of `key`, or NULL if this acceptor knows nothing of it. Valid until the next
// forgetting.
struct lh_acceptor_record *lh_acceptors_find(struct lh_acceptors *acceptors, struct lh_key key);

// The record of `key`, made at the floor if there is none. NULL if the table is full.
struct lh_acceptor_record *lh_acceptors_touch(struct lh_acceptors *acceptors, struct lh_key key,
                                              struct lh_instant now);

// Of the first `used` records: this one is a name's, not free.
bool lh_acceptors_in_use(const struct lh_acceptor_record *record);

// F4: takes a record over as it was saved. Returns false if the table is full.
bool lh_acceptors_restore(struct lh_acceptors *acceptors, const struct lh_acceptor_record *record);

// F1 and F2: look at the next two records; forget those that may be forgotten and raise the floor
// to the greatest ballot they had promised. Returns how many were forgotten.
unsigned lh_acceptors_forget(struct lh_acceptors *acceptors, struct lh_instant now,
                             struct lh_duration quarantine);

#endif
