// Each text form beside a second, simpler statement of the same grammar, and each printed form read
// back.
#include "base/text.h"

#include <stdlib.h>

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

// Decodes a character by arithmetic alone: the number of its bytes follows from the code point, not
// the other way around. UINT32_MAX if it is not well formed.
static uint32_t decode(const uint8_t *at, size_t left, size_t *ret_bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t char_bytes = at[0] < 0x80   ? 1
                        : at[0] < 0xc0 ? 0
                        : at[0] < 0xe0 ? 2
                        : at[0] < 0xf0 ? 3
                        : at[0] < 0xf8 ? 4
                                       : 0;
    if (char_bytes == 0 || char_bytes > left)
        return UINT32_MAX;
    uint32_t code = char_bytes == 1 ? at[0] : at[0] & (0x7fu >> char_bytes);
    for (size_t i = 1; i < char_bytes; i++) {
        if (at[i] >> 6 != 2)
            return UINT32_MAX;
        code = code << 6 | (at[i] & 0x3f);
    }
    *ret_bytes = char_bytes;
    if (code < least[char_bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return UINT32_MAX;
    return code;
}

static bool is_name(struct lh_slice text)
{
    size_t at = 0;
    if (text.size_bytes == 0 || text.size_bytes > 255)
        return false;
    while (at < text.size_bytes) {
        size_t char_bytes = 0;
        uint32_t code = decode(text.data + at, text.size_bytes - at, &char_bytes);
        if (code == UINT32_MAX || code < 0x20 || (code >= 0x7f && code < 0xa0))
            return false;
        at += char_bytes;
    }
    return true;
}

static void check_integers(struct lh_slice text)
{
    char back[LH_INTEGER_TEXT_BYTES];
    uint64_t value = 0;
    int64_t signed_value = 0;
    if (lh_u64_parse(text, &value))
        LH_ASSERT(lh_slice_equal(lh_slice_of(back, lh_u64_format(value, back)), text));
    if (lh_i64_parse(text, &signed_value))
        LH_ASSERT(lh_slice_equal(lh_slice_of(back, lh_i64_format(signed_value, back)), text));
}

// An accepted duration, scaled by the power of ten that makes its number whole, is that number of
// units: checked in 128 bits where they suffice.
static void check_duration(struct lh_slice text)
{
    __extension__ typedef unsigned __int128 wide;
    struct lh_duration duration = {-1};
    const char *reason = NULL;
    if (!lh_duration_parse(text, &duration, &reason)) {
        LH_ASSERT(reason != NULL && duration.ns == -1);
        return;
    }
    LH_ASSERT(reason == NULL && duration.ns >= 0 && duration.ns % LH_NS_PER_MS == 0);
    wide number = 0;
    wide scale = 1;
    bool in_fraction = false;
    size_t at = 0;
    if (text.size_bytes > 22)
        return;
    for (; at < text.size_bytes && text.data[at] <= '9'; at++) {
        if (text.data[at] == '.') {
            in_fraction = true;
            continue;
        }
        number = number * 10 + (unsigned)(text.data[at] - '0');
        scale *= in_fraction ? 10 : 1;
    }
    struct lh_slice unit = lh_slice_of(text.data + at, text.size_bytes - at);
    for (size_t i = 0; i < unit.size_bytes; i++)
        if (unit.data[i] <= '9')
            return; // of several parts
    wide unit_ns = lh_slice_equal(unit, LH_SLICE("ms"))  ? 1000000u
                   : lh_slice_equal(unit, LH_SLICE("m")) ? 60000000000u
                   : lh_slice_equal(unit, LH_SLICE("h")) ? 3600000000000u
                                                         : 1000000000u;
    LH_ASSERT((wide)duration.ns * scale == number * unit_ns);
}

// What is escaped can be read back: as it was, with U+FFFD for each byte that was no UTF-8.
static void check_json(struct lh_slice text)
{
    uint8_t *escaped = malloc(6 * text.size_bytes + 2);
    LH_ASSERT(escaped != NULL);
    struct lh_writer writer = lh_writer_of(escaped, 6 * text.size_bytes + 2);
    lh_json_string(&writer, text);
    LH_ASSERT(!writer.failed);
    struct lh_slice json = lh_writer_slice(&writer);
    LH_ASSERT(json.data[0] == '"' && json.data[json.size_bytes - 1] == '"');
    size_t read = 0;
    for (size_t at = 1; at < json.size_bytes - 1; read++) {
        size_t char_bytes = 0;
        uint32_t code = decode(json.data + at, json.size_bytes - at, &char_bytes);
        LH_ASSERT(code != UINT32_MAX && code >= 0x20 && code != '"');
        LH_ASSERT(!(code >= 0x7f && code < 0xa0));
        at += char_bytes;
        if (code == '\\') {
            static const char names[] = "\"\\bfnrt";
            LH_ASSERT(json.data[at] == 'u' || strchr(names, json.data[at]) != NULL);
            at += json.data[at] == 'u' ? 5 : 1;
        }
    }
    size_t characters = 0;
    for (size_t at = 0; at < text.size_bytes; characters++) {
        size_t char_bytes = lh_utf8_char_bytes(lh_slice_of(text.data + at, text.size_bytes - at));
        at += char_bytes == 0 ? 1 : char_bytes;
    }
    LH_ASSERT(read == characters);
    free(escaped);
}

static void check_hex(struct lh_slice text)
{
    uint8_t *bytes = malloc(text.size_bytes / 2 + 1);
    char *back = malloc(text.size_bytes + 1);
    LH_ASSERT(bytes != NULL && back != NULL);
    if (lh_hex_decode(text, bytes, text.size_bytes / 2)) {
        lh_hex_encode(bytes, text.size_bytes / 2, back);
        LH_ASSERT(lh_slice_equal_ignoring_case(lh_slice_of_string(back), text));
    }
    free(bytes);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lh_slice text = lh_slice_of(bytes, size_bytes);
    LH_ASSERT(lh_utf8_name_valid(text) == is_name(text));
    check_integers(text);
    check_duration(text);
    check_json(text);
    check_hex(text);
    return 0;
}
