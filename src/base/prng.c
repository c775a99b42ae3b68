// Seeding and ranges of the generator in the header. Ranges are drawn by rejection: a remainder
// would favour small numbers, and a back-off that favours small numbers makes contenders collide.
#include "base/prng.h"

#include "base/assert.h"
#include "base/cursor.h"

// One step of splitmix64 (Steele, Lea and Flood): what xoshiro's authors seed it with.
static uint64_t stretch(uint64_t *number)
{
    *number += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = *number;
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

void lh_prng_seed_number(struct lh_prng *prng, uint64_t number)
{
    // Four successive outputs of a bijection are distinct, hence never all zero.
    for (unsigned i = 0; i < 4; i++)
        prng->state[i] = stretch(&number);
}

void lh_prng_seed(struct lh_prng *prng, const uint8_t seed[LH_PRNG_SEED_BYTES])
{
    uint64_t all = 0;
    for (unsigned i = 0; i < 4; i++) {
        prng->state[i] = lh_load_u64(seed + 8 * (size_t)i);
        all |= prng->state[i];
    }
    // The all-zero state is the one the generator never leaves.
    if (all == 0)
        lh_prng_seed_number(prng, 0);
}

// Draws from 0 .. most, by cutting to the bits that `most` has and drawing again when above it:
// less than two draws on average, no division.
static uint64_t draw_up_to(struct lh_prng *prng, uint64_t most)
{
    uint64_t mask = most;
    for (unsigned by = 1; by < 64; by *= 2)
        mask |= mask >> by;
    for (;;) {
        uint64_t drawn = lh_prng_next(prng) & mask;
        if (drawn <= most)
            return drawn;
    }
}

uint64_t lh_prng_below(struct lh_prng *prng, uint64_t n)
{
    LH_ASSERT(n > 0);
    return draw_up_to(prng, n - 1);
}

int64_t lh_prng_between(struct lh_prng *prng, int64_t lo_ns, int64_t hi_ns)
{
    LH_ASSERT(lo_ns <= hi_ns);
    // Unsigned, so that the width of a range across zero cannot overflow.
    uint64_t drawn = draw_up_to(prng, (uint64_t)hi_ns - (uint64_t)lo_ns);
    return (int64_t)((uint64_t)lo_ns + drawn);
}
