// Between the numbers of a model and the values of src/lease. Included only where the headers of
// src/lease are: those of the models use some of the same names.
#ifndef LH_CHECK_CONFORM_CONVERT_H
#define LH_CHECK_CONFORM_CONVERT_H

#include "check/conform_roles.h"
#include "lease/acceptor.h"
#include "lease/proposer.h"

#define LH_CONFORM_UNIT_NS LH_NS_PER_S
#define LH_CONFORM_ORIGIN INT64_C(1000) // the unit that a model calls 0
#define LH_CONFORM_GENERATION 1

// Two owners are two nodes; or, in a unit's last nanosecond, a node and who replaced it, which must
// be as different.
static inline uint8_t lh_conform_node(const struct lh_conform_place *place, uint8_t owner)
{
    return place->last && owner != 0 ? 1 : owner;
}

static inline lh_ballot lh_conform_ballot(const struct lh_conform_place *place, uint8_t ballot)
{
    if (ballot == 0)
        return LH_BALLOT_NONE;
    if (ballot == LH_CONFORM_OLD_TOKEN)
        return lh_ballot_make(1, LH_CONFORM_GENERATION, 1);
    const uint8_t owner = place->owners[ballot];
    const uint8_t generation = place->last ? owner : LH_CONFORM_GENERATION;
    return lh_ballot_make(1u + ballot, generation, lh_conform_node(place, owner));
}

static inline uint8_t lh_conform_ballot_back(const struct lh_conform_place *place, lh_ballot ballot)
{
    for (uint32_t b = 0; b < LH_CONFORM_BALLOTS; b++) {
        if (ballot == lh_conform_ballot(place, (uint8_t)b))
            return (uint8_t)b;
    }
    if (ballot == lh_conform_ballot(place, LH_CONFORM_OLD_TOKEN))
        return LH_CONFORM_OLD_TOKEN;
    return LH_CONFORM_STRANGE;
}

static inline struct lh_instant lh_conform_instant(uint8_t unit)
{
    if (unit == 0)
        return LH_PAST;
    return (struct lh_instant){(LH_CONFORM_ORIGIN + unit) * LH_CONFORM_UNIT_NS};
}

static inline uint8_t lh_conform_instant_back(struct lh_instant instant)
{
    if (instant.ns == LH_PAST.ns)
        return 0;
    const int64_t unit = instant.ns / LH_CONFORM_UNIT_NS - LH_CONFORM_ORIGIN;
    return unit < 0 || unit >= LH_CONFORM_OLD_TOKEN ? LH_CONFORM_STRANGE : (uint8_t)unit;
}

static inline struct lh_instant lh_conform_now(const struct lh_conform_place *place)
{
    const int64_t first = (LH_CONFORM_ORIGIN + place->now) * LH_CONFORM_UNIT_NS;
    return (struct lh_instant){first + (place->last ? LH_CONFORM_UNIT_NS - 1 : 0)};
}

static inline struct lh_duration lh_conform_duration(uint8_t units)
{
    return (struct lh_duration){units * LH_CONFORM_UNIT_NS};
}

// A stamp below every reading of the clock, so that a model's n can stand for it.
static inline uint64_t lh_conform_stamp(uint8_t n)
{
    return n;
}

static inline struct lh_acceptor_record
lh_conform_record(const struct lh_conform_place *place, const struct lh_conform_acceptor *acceptor)
{
    return (struct lh_acceptor_record){
        .key = {{7, 7}},
        .promised = lh_conform_ballot(place, acceptor->promised),
        .ballot = lh_conform_ballot(place, acceptor->ballot),
        .deadline = lh_conform_instant(acceptor->deadline),
        .stamp = acceptor->deadline == 0 ? (uint64_t)lh_conform_instant(acceptor->touched).ns
                                         : lh_conform_stamp(acceptor->stamp)};
}

static inline struct lh_conform_acceptor
lh_conform_record_back(const struct lh_conform_place *place,
                       const struct lh_acceptor_record *record)
{
    const bool cleared = record->deadline.ns == LH_PAST.ns;
    const bool same_key = lh_key_equal(record->key, (struct lh_key){{7, 7}});
    struct lh_conform_acceptor back = {
        .promised = lh_conform_ballot_back(place, record->promised),
        .ballot = same_key ? lh_conform_ballot_back(place, record->ballot) : LH_CONFORM_STRANGE,
        .deadline = lh_conform_instant_back(record->deadline)};
    if (cleared)
        back.touched = lh_conform_instant_back((struct lh_instant){(int64_t)record->stamp});
    else
        back.stamp =
            record->stamp < LH_CONFORM_OLD_TOKEN ? (uint8_t)record->stamp : LH_CONFORM_STRANGE;
    return back;
}

#endif
