// Randomness for back-off, jitter and the simulator: xoshiro256** by Blackman and Vigna. It is fast
// and repeatable, and it is not secret: whoever sees a few outputs knows the rest, so nothing that
// must not be guessed comes from here. The same seed gives the same numbers on every machine.
#ifndef LH_BASE_PRNG_H
#define LH_BASE_PRNG_H

#include <stdint.h>

#define LH_PRNG_SEED_BYTES 32

struct lh_prng {
    uint64_t state[4]; // never all zero
};

// From 32 bytes of entropy, used as they are (little endian).
void lh_prng_seed(struct lh_prng *prng, const uint8_t seed[LH_PRNG_SEED_BYTES]);

// From one number, stretched so that seeds 1, 2, 3.. share nothing: for the simulator and for
// tests.
void lh_prng_seed_number(struct lh_prng *prng, uint64_t number);

static inline uint64_t lh_prng_rotate(uint64_t bits, unsigned by)
{
    return bits << by | bits >> (64 - by);
}

static inline uint64_t lh_prng_next(struct lh_prng *prng)
{
    uint64_t *state = prng->state;
    uint64_t result = lh_prng_rotate(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = lh_prng_rotate(state[3], 45);
    return result;
}

// Evenly one of 0 .. n - 1. Takes n > 0.
uint64_t lh_prng_below(struct lh_prng *prng, uint64_t n);

// Evenly one of lo_ns .. hi_ns, both included. Takes lo_ns <= hi_ns.
int64_t lh_prng_between(struct lh_prng *prng, int64_t lo_ns, int64_t hi_ns);

#endif
