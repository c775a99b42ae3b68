// Ballots: one positive 63-bit integer, counter:47 | generation:8 | node:8, so that plain integer
// order is the order of attempts. A ballot is unique because its low 16 bits name one incarnation
// of one node and that incarnation never issues a counter twice (P1, T4). The ballot under which a
// holder first won a lease is its fencing token; counters start low, so tokens stay exact in a
// double for years.
#ifndef LH_LEASE_BALLOT_H
#define LH_LEASE_BALLOT_H

#include <stdbool.h>
#include <stdint.h>

// 0 means "none". Valid ballots are 1 .. 2^63-1.
typedef uint64_t lh_ballot;

#define LH_BALLOT_NONE ((lh_ballot)0)
#define LH_BALLOT_MAX ((lh_ballot)INT64_MAX)
#define LH_COUNTER_MAX ((uint64_t)(UINT64_C(1) << 47) - 1)

static inline lh_ballot lh_ballot_make(uint64_t counter, uint8_t generation, uint8_t node)
{
    return counter << 16 | (lh_ballot)generation << 8 | node;
}

static inline uint64_t lh_ballot_counter(lh_ballot ballot)
{
    return ballot >> 16;
}

static inline uint8_t lh_ballot_node(lh_ballot ballot)
{
    return (uint8_t)(ballot & 0xff);
}

// The greatest ballot whose counter is `counter`: the promise that covers every attempt up to it.
static inline lh_ballot lh_ballot_ceiling(uint64_t counter)
{
    return counter << 16 | 0xffff;
}

// Same owner: same node in the same generation. A replaced node shares nothing with its
// predecessor.
static inline bool lh_ballot_same_owner(lh_ballot a, lh_ballot b)
{
    return (a & 0xffff) == (b & 0xffff);
}

static inline bool lh_ballot_valid(lh_ballot ballot)
{
    return ballot <= LH_BALLOT_MAX && lh_ballot_counter(ballot) > 0 && lh_ballot_node(ballot) > 0;
}

#endif
