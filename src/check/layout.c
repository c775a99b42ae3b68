// Packing and hashing of states. Both run once per state that is new, not once per successor, and
// both walk the same description.
#include "check/layout.h"

#include <stdlib.h>

#include "base/assert.h"

static uint8_t bits_for(uint32_t greatest)
{
    uint8_t bits = 0;
    while (greatest >> bits != 0)
        bits++;
    return bits;
}

// splitmix64: the words only have to look independent, and must be the same in every run, so that a
// checkpoint can be resumed.
static uint64_t next_word(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void draw_words(struct lh_layout *layout)
{
    uint64_t seed = 2012;
    for (uint32_t i = 0; i < layout->variable_count; i++) {
        for (uint32_t value = 0; value < layout->values; value++) {
            struct lh_fp *word = lh_layout_variable_word(layout, i, value);
            word->high = next_word(&seed);
            word->low = next_word(&seed);
        }
    }
    for (uint32_t message = 0; message < layout->message_count; message++) {
        struct lh_fp *word = lh_layout_message_word(layout, message);
        word->high = next_word(&seed);
        word->low = next_word(&seed);
    }
}

bool lh_layout_open(struct lh_layout *layout, uint32_t lanes, uint32_t max_added)
{
    LH_ASSERT_LE(layout->variable_count, LH_LAYOUT_MAX_VARIABLES);
    uint32_t bits = 0;
    if (layout->values == 0)
        layout->values = LH_CHECK_VALUES;
    for (uint32_t i = 0; i < layout->variable_count; i++) {
        LH_ASSERT_LT(layout->limit[i], layout->values);
        layout->width[i] = bits_for(layout->limit[i]);
        bits += layout->width[i];
    }
    layout->message_width = bits_for(layout->message_count == 0 ? 0 : layout->message_count - 1);
    layout->count_width = layout->message_count == 0 ? 0 : bits_for(layout->max_network);
    bits += layout->count_width + layout->max_network * layout->message_width;
    layout->packed_bytes = (bits + 7) / 8;

    const uint32_t slots = layout->message_count == 0 ? 0 : layout->max_network + max_added + 1;
    layout->network_offset = (layout->variable_count + 1) & ~1u;
    layout->stride = (layout->network_offset + 2 * (1 + slots) + 63) & ~63u;
    layout->lanes = lanes;
    LH_ASSERT_LE(layout->stride, LH_LAYOUT_MAX_STRIDE);
    LH_ASSERT_LE(layout->packed_bytes, LH_LAYOUT_MAX_PACKED);

    // A value outside its domain is found out later, by TypeOK: it may read beyond its own words.
    const size_t variable_words =
        ((size_t)layout->variable_count * layout->values + UINT8_MAX) * lanes;
    layout->variable_words = calloc(variable_words, sizeof(struct lh_fp));
    layout->message_words = calloc((size_t)layout->message_count * lanes + 1, sizeof(struct lh_fp));
    if (layout->variable_words == NULL || layout->message_words == NULL) {
        lh_layout_close(layout);
        return false;
    }
    draw_words(layout);
    return true;
}

void lh_layout_close(struct lh_layout *layout)
{
    free(layout->variable_words);
    free(layout->message_words);
    layout->variable_words = NULL;
    layout->message_words = NULL;
}

struct bit_writer {
    uint8_t *at;
    uint64_t pending;
    uint32_t count;
};

static inline void write_bits(struct bit_writer *writer, uint64_t value, uint32_t width)
{
    writer->pending |= value << writer->count;
    writer->count += width;
    if (writer->count >= 32) {
        const uint32_t word = (uint32_t)writer->pending;
        memcpy(writer->at, &word, 4);
        writer->at += 4;
        writer->pending >>= 32;
        writer->count -= 32;
    }
}

void lh_layout_pack(const struct lh_layout *layout, const uint8_t *raw, uint8_t *ret_packed)
{
    struct bit_writer writer = {.at = ret_packed};
    for (uint32_t i = 0; i < layout->variable_count; i++)
        write_bits(&writer, raw[i], layout->width[i]);
    if (layout->message_count != 0) {
        const uint16_t *network = lh_layout_network_const(layout, raw);
        write_bits(&writer, network[0], layout->count_width);
        for (uint32_t i = 0; i < layout->max_network; i++)
            write_bits(&writer, i < network[0] ? network[1 + i] : 0, layout->message_width);
    }
    const uint32_t rest = layout->packed_bytes - (uint32_t)(writer.at - ret_packed);
    for (uint32_t i = 0; i < rest; i++)
        writer.at[i] = (uint8_t)(writer.pending >> (8 * i));
}

struct bit_reader {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t pending;
    uint32_t count;
};

static inline uint32_t read_bits(struct bit_reader *reader, uint32_t width)
{
    if (reader->count < width) {
        uint32_t word = 0;
        const size_t left = (size_t)(reader->end - reader->at);
        if (left >= 4) {
            memcpy(&word, reader->at, 4);
            reader->at += 4;
        } else {
            for (size_t i = 0; i < left; i++)
                word |= (uint32_t)reader->at[i] << (8 * i);
            reader->at = reader->end;
        }
        reader->pending |= (uint64_t)word << reader->count;
        reader->count += 32;
    }
    const uint32_t value = (uint32_t)(reader->pending & ((UINT64_C(1) << width) - 1));
    reader->pending >>= width;
    reader->count -= width;
    return value;
}

void lh_layout_unpack(const struct lh_layout *layout, const uint8_t *packed, uint8_t *ret_raw)
{
    struct bit_reader reader = {.at = packed, .end = packed + layout->packed_bytes};
    for (uint32_t i = 0; i < layout->variable_count; i++)
        ret_raw[i] = (uint8_t)read_bits(&reader, layout->width[i]);
    if (layout->variable_count & 1)
        ret_raw[layout->variable_count] = 0;
    uint16_t *network = lh_layout_network(layout, ret_raw);
    network[0] = 0;
    if (layout->message_count == 0)
        return;
    network[0] = (uint16_t)read_bits(&reader, layout->count_width);
    for (uint32_t i = 0; i < network[0]; i++)
        network[1 + i] = (uint16_t)read_bits(&reader, layout->message_width);
}

// Without symmetry: the sum stays in registers.
static struct lh_fp hash_one_lane(const struct lh_layout *layout, const uint8_t *raw)
{
    struct lh_fp sum = {0, 0};
    const struct lh_fp *row = layout->variable_words;
    for (uint32_t i = 0; i < layout->variable_count; i++, row += layout->values) {
        sum.high ^= row[raw[i]].high;
        sum.low ^= row[raw[i]].low;
    }
    if (layout->message_count == 0)
        return sum;
    const uint16_t *network = lh_layout_network_const(layout, raw);
    for (uint32_t i = 0; i < network[0]; i++) {
        const struct lh_fp word = layout->message_words[network[1 + i]];
        sum.high ^= word.high;
        sum.low ^= word.low;
    }
    return sum;
}

void lh_layout_hash(const struct lh_layout *layout, const uint8_t *raw, struct lh_fp *ret_lanes)
{
    if (layout->lanes == 1) {
        *ret_lanes = hash_one_lane(layout, raw);
        return;
    }
    memset(ret_lanes, 0, layout->lanes * sizeof *ret_lanes);
    for (uint32_t i = 0; i < layout->variable_count; i++) {
        const struct lh_fp *word = lh_layout_variable_word(layout, i, raw[i]);
        for (uint32_t lane = 0; lane < layout->lanes; lane++) {
            ret_lanes[lane].high ^= word[lane].high;
            ret_lanes[lane].low ^= word[lane].low;
        }
    }
    if (layout->message_count == 0)
        return;
    const uint16_t *network = lh_layout_network_const(layout, raw);
    for (uint32_t i = 0; i < network[0]; i++) {
        const struct lh_fp *word = lh_layout_message_word(layout, network[1 + i]);
        for (uint32_t lane = 0; lane < layout->lanes; lane++) {
            ret_lanes[lane].high ^= word[lane].high;
            ret_lanes[lane].low ^= word[lane].low;
        }
    }
}

bool lh_layout_in_domain(const struct lh_layout *layout, const uint8_t *raw)
{
    for (uint32_t i = 0; i < layout->variable_count; i++) {
        if (raw[i] > layout->limit[i])
            return false;
    }
    return true;
}
