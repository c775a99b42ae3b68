// How a state of a model lies in memory, is packed for the frontier, and is hashed.
//
// A raw state is a row of small variables, one byte each and below LH_CHECK_VALUES, followed by the
// messages in flight: a count and that many 16-bit numbers, a set in no particular order. Both the
// packing and the fingerprint are derived from one description, so a variable cannot be forgotten
// in one of them.
//
// The fingerprint is a xor of one random 128-bit word per (variable, value) and per message. Two
// different states agree in n bits of it with probability 2^-n over the choice of the words; it
// does not depend on the order of the messages; and a successor's fingerprint follows from its
// parent's by the words of what changed, which is what makes the search fast.
//
// Under symmetry reduction a fingerprint has one lane per permutation: lane g is the fingerprint of
// the state renamed by g. The least lane is the same for all states of an orbit, and names it.
#ifndef LH_CHECK_LAYOUT_H
#define LH_CHECK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check/config.h"

struct lh_fp {
    uint64_t high;
    uint64_t low;
};

enum {
    LH_LAYOUT_MAX_VARIABLES = 192,
    LH_LAYOUT_MAX_STRIDE = 256,
    LH_LAYOUT_MAX_PACKED = 160,
};

struct lh_layout {
    uint32_t variable_count;
    uint8_t width[LH_LAYOUT_MAX_VARIABLES]; // in bits; 0: the variable is always 0
    uint8_t limit[LH_LAYOUT_MAX_VARIABLES]; // the greatest value of its domain (TypeOK)
    uint32_t message_count;                 // size of the universe of messages
    uint32_t max_network;                   // messages in flight in a state that is kept
    uint32_t network_offset;
    uint32_t stride;       // bytes of a raw state, a multiple of 64
    uint32_t packed_bytes; // of a state in the frontier
    uint32_t lanes;
    uint32_t values; // that a variable has words for: a power of two, above every limit; if 0
                     // before opening, LH_CHECK_VALUES
    struct lh_fp *variable_words; // [variable][value][lane]
    struct lh_fp *message_words;  // [message][lane]

    uint8_t message_width;
    uint8_t count_width;
};

// Before: variable_count, limit, message_count, max_network and the greatest number of messages
// that one action adds. Fills the rest and the words of the first lane. Returns false without
// memory.
bool lh_layout_open(struct lh_layout *layout, uint32_t lanes, uint32_t max_added);
void lh_layout_close(struct lh_layout *layout);

void lh_layout_pack(const struct lh_layout *layout, const uint8_t *raw, uint8_t *ret_packed);
void lh_layout_unpack(const struct lh_layout *layout, const uint8_t *packed, uint8_t *ret_raw);

// All lanes of a raw state, from nothing.
void lh_layout_hash(const struct lh_layout *layout, const uint8_t *raw, struct lh_fp *ret_lanes);

// Whether every variable lies in its domain.
bool lh_layout_in_domain(const struct lh_layout *layout, const uint8_t *raw);

static inline uint16_t *lh_layout_network(const struct lh_layout *layout, uint8_t *raw)
{
    return (uint16_t *)(void *)(raw + layout->network_offset);
}

static inline const uint16_t *lh_layout_network_const(const struct lh_layout *layout,
                                                      const uint8_t *raw)
{
    return (const uint16_t *)(const void *)(raw + layout->network_offset);
}

static inline struct lh_fp *lh_layout_variable_word(const struct lh_layout *layout,
                                                    uint32_t variable, uint32_t value)
{
    return layout->variable_words + ((size_t)variable * layout->values + value) * layout->lanes;
}

static inline struct lh_fp *lh_layout_message_word(const struct lh_layout *layout, uint32_t message)
{
    return layout->message_words + (size_t)message * layout->lanes;
}

static inline bool lh_fp_less(struct lh_fp a, struct lh_fp b)
{
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}

#endif
