// Implements the text forms of the header. The rule throughout: what is accepted is stated as a
// grammar, checked byte by byte, and the value is computed in integers with every overflow caught.
#include "base/text.h"

// --- UTF-8 ---

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t lh_utf8_char_bytes(struct lh_slice text)
{
    const uint8_t *at = text.data;
    size_t left = text.size_bytes;
    if (left == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xc2) // a continuation byte, or the overlong forms C0 and C1
        return 0;
    if (at[0] < 0xe0)
        return left >= 2 && is_continuation(at[1]) ? 2 : 0;
    if (at[0] < 0xf0) {
        if (left < 3 || !is_continuation(at[1]) || !is_continuation(at[2]))
            return 0;
        bool overlong = at[0] == 0xe0 && at[1] < 0xa0;
        bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (at[0] > 0xf4 || left < 4)
        return 0;
    if (!is_continuation(at[1]) || !is_continuation(at[2]) || !is_continuation(at[3]))
        return 0;
    bool overlong = at[0] == 0xf0 && at[1] < 0x90;
    bool beyond = at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || beyond ? 0 : 4;
}

// U+0000..U+001F, U+007F, and U+0080..U+009F as their two bytes.
static bool is_control(const uint8_t *at, size_t char_bytes)
{
    if (char_bytes == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    return char_bytes == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

bool lh_utf8_name_valid(struct lh_slice name)
{
    if (name.size_bytes < 1 || name.size_bytes > LH_NAME_MAX_BYTES)
        return false;
    while (name.size_bytes > 0) {
        size_t char_bytes = lh_utf8_char_bytes(name);
        if (char_bytes == 0 || is_control(name.data, char_bytes))
            return false;
        name.data += char_bytes;
        name.size_bytes -= char_bytes;
    }
    return true;
}

void lh_make_printable(char *text)
{
    struct lh_slice rest = lh_slice_of_string(text);
    while (rest.size_bytes > 0) {
        const size_t good = lh_utf8_char_bytes(rest);
        const size_t char_bytes = good == 0 ? 1 : good;
        if (is_control(rest.data, char_bytes))
            memset(text, '?', char_bytes);
        text += char_bytes;
        rest.data += char_bytes;
        rest.size_bytes -= char_bytes;
    }
}

// --- integers ---

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

bool lh_u64_parse(struct lh_slice text, uint64_t *ret)
{
    if (text.size_bytes < 1 || text.size_bytes > LH_INTEGER_TEXT_BYTES - 1)
        return false;
    if (text.data[0] == '0' && text.size_bytes > 1)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (!is_digit(text.data[i]))
            return false;
        unsigned digit = text.data[i] - (unsigned)'0';
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

bool lh_i64_parse(struct lh_slice text, int64_t *ret)
{
    bool negative = text.size_bytes > 0 && text.data[0] == '-';
    uint64_t magnitude;
    if (negative) {
        text.data++;
        text.size_bytes--;
    }
    if (!lh_u64_parse(text, &magnitude))
        return false;
    if (!negative) {
        if (magnitude > INT64_MAX)
            return false;
        *ret = (int64_t)magnitude;
        return true;
    }
    if (magnitude == 0 || magnitude > (uint64_t)INT64_MAX + 1)
        return false;
    *ret = -(int64_t)(magnitude - 1) - 1; // never negates the least value
    return true;
}

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

bool lh_percent_parse(struct lh_slice value, uint64_t *ret_ppm)
{
    enum { DECIMALS = 4 };
    uint64_t ppm = 0;
    size_t decimals = 0;
    size_t digits = 0;
    bool point = false;
    if (value.size_bytes < 2 || value.size_bytes > 16 || value.data[value.size_bytes - 1] != '%')
        return false;
    for (size_t i = 0; i < value.size_bytes - 1; i++) {
        const uint8_t byte = value.data[i];
        if (byte == '.' && !point && digits > 0) {
            point = true;
            digits = 0;
            continue;
        }
        if (byte < '0' || byte > '9')
            return false;
        digits++;
        if (point && ++decimals > DECIMALS) {
            if (byte != '0')
                return false;
            continue;
        }
        ppm = ppm * 10 + (uint64_t)(byte - '0');
    }
    for (; decimals < DECIMALS; decimals++)
        ppm *= 10;
    if (digits == 0)
        return false;
    *ret_ppm = ppm;
    return true;
}

size_t lh_u64_format(uint64_t value, char ret[LH_INTEGER_TEXT_BYTES])
{
    char text[LH_INTEGER_TEXT_BYTES];
    char *at = text + sizeof text;
    while (value >= 100) {
        at -= 2;
        memcpy(at, digit_pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, digit_pairs + 2 * value, 2);
    } else {
        *--at = (char)('0' + value);
    }
    size_t size_bytes = (size_t)(text + sizeof text - at);
    memcpy(ret, at, size_bytes);
    ret[size_bytes] = '\0';
    return size_bytes;
}

size_t lh_i64_format(int64_t value, char ret[LH_INTEGER_TEXT_BYTES])
{
    if (value >= 0)
        return lh_u64_format((uint64_t)value, ret);
    // At most 19 digits follow the sign, so shifting the buffer by one leaves room for them.
    char digits[LH_INTEGER_TEXT_BYTES];
    size_t size_bytes = lh_u64_format(UINT64_C(0) - (uint64_t)value, digits);
    ret[0] = '-';
    memcpy(ret + 1, digits, size_bytes + 1);
    return size_bytes + 1;
}

void lh_u64_write(struct lh_writer *writer, uint64_t value)
{
    char text[LH_INTEGER_TEXT_BYTES];
    lh_writer_bytes(writer, text, lh_u64_format(value, text));
}

void lh_i64_write(struct lh_writer *writer, int64_t value)
{
    char text[LH_INTEGER_TEXT_BYTES];
    lh_writer_bytes(writer, text, lh_i64_format(value, text));
}

// --- durations ---

static const char reason_empty[] = "it is empty";
static const char reason_start[] = "it must begin with a digit (no sign, no space)";
static const char reason_point[] = "a digit must follow the decimal point";
static const char reason_unit[] = "after the number only ms, s, m or h may follow";
static const char reason_order[] =
    "several parts begin with the greatest unit, and each has one, as in 1m30s";
static const char reason_whole[] = "it must be a whole number of milliseconds";
static const char reason_long[] = "it is longer than 292 years, more than can be counted";

// Milliseconds of the unit `text`; 0 when there is no such unit.
static uint64_t unit_ms(struct lh_slice text)
{
    if (lh_slice_equal(text, LH_SLICE("s")))
        return 1000;
    if (lh_slice_equal(text, LH_SLICE("ms")))
        return 1;
    if (lh_slice_equal(text, LH_SLICE("m")))
        return 60 * 1000;
    if (lh_slice_equal(text, LH_SLICE("h")))
        return 60 * 60 * 1000;
    return 0;
}

static struct lh_slice take_digits(struct lh_slice *text)
{
    struct lh_slice digits = {text->data, 0};
    while (digits.size_bytes < text->size_bytes && is_digit(text->data[digits.size_bytes]))
        digits.size_bytes++;
    text->data += digits.size_bytes;
    text->size_bytes -= digits.size_bytes;
    return digits;
}

static struct lh_slice take_letters(struct lh_slice *text)
{
    struct lh_slice letters = {text->data, 0};
    while (letters.size_bytes < text->size_bytes && !is_digit(text->data[letters.size_bytes]))
        letters.size_bytes++;
    text->data += letters.size_bytes;
    text->size_bytes -= letters.size_bytes;
    return letters;
}

// Milliseconds of 0.<digits> units. An hour is 2^7 * 3^2 * 5^5 ms, so a fraction that does not end
// in zero gives whole milliseconds of no unit once it has more than seven digits.
static bool fraction_ms(struct lh_slice digits, uint64_t unit, uint64_t *ret)
{
    uint64_t numerator = 0;
    uint64_t denominator = 1;
    while (digits.size_bytes > 0 && digits.data[digits.size_bytes - 1] == '0')
        digits.size_bytes--;
    if (digits.size_bytes > 7)
        return false;
    for (size_t i = 0; i < digits.size_bytes; i++) {
        numerator = numerator * 10 + digits.data[i] - '0';
        denominator *= 10;
    }
    if (numerator * unit % denominator != 0)
        return false;
    *ret = numerator * unit / denominator;
    return true;
}

// Milliseconds of `digits` units, if no more than most_ms.
static bool whole_ms(struct lh_slice digits, uint64_t unit, uint64_t most_ms, uint64_t *ret)
{
    uint64_t units = 0;
    for (size_t i = 0; i < digits.size_bytes; i++) {
        units = units * 10 + digits.data[i] - '0';
        if (units > most_ms / unit) // far below where the next digit could overflow
            return false;
    }
    *ret = units * unit;
    return true;
}

// One number and its unit, taken off the front of `text`. *unit is that of the part before, and
// becomes this one's.
static const char *parse_part_ms(struct lh_slice *text, uint64_t most_ms, uint64_t *unit,
                                 uint64_t *ret)
{
    uint64_t whole = 0;
    uint64_t part = 0;
    bool first = *unit == 0;
    struct lh_slice fraction = {NULL, 0};
    struct lh_slice digits = take_digits(text);
    if (digits.size_bytes == 0)
        return reason_start;
    if (text->size_bytes > 0 && text->data[0] == '.') {
        text->data++;
        text->size_bytes--;
        fraction = take_digits(text);
        if (fraction.size_bytes == 0)
            return reason_point;
    }
    struct lh_slice letters = take_letters(text);
    uint64_t this_unit = first && letters.size_bytes == 0 ? 1000 : unit_ms(letters);
    if (this_unit == 0 && letters.size_bytes > 0)
        return reason_unit;
    if (this_unit == 0 || (!first && this_unit >= *unit))
        return reason_order;
    if (!fraction_ms(fraction, this_unit, &part))
        return reason_whole;
    if (!whole_ms(digits, this_unit, most_ms, &whole) || part > most_ms - whole)
        return reason_long;
    *unit = this_unit;
    *ret = whole + part;
    return NULL;
}

static const char *parse_duration_ms(struct lh_slice text, uint64_t most_ms, uint64_t *ret)
{
    uint64_t sum = 0;
    uint64_t unit = 0;
    if (text.size_bytes == 0)
        return reason_empty;
    while (text.size_bytes > 0) {
        uint64_t part = 0;
        const char *reason = parse_part_ms(&text, most_ms - sum, &unit, &part);
        if (reason != NULL)
            return reason;
        sum += part;
    }
    *ret = sum;
    return NULL;
}

bool lh_duration_parse(struct lh_slice text, struct lh_duration *ret, const char **ret_reason)
{
    uint64_t ms;
    const char *reason = parse_duration_ms(text, (uint64_t)(INT64_MAX / LH_NS_PER_MS), &ms);
    if (reason != NULL) {
        *ret_reason = reason;
        return false;
    }
    *ret = lh_ms((int64_t)ms);
    return true;
}

// --- hex and JSON ---

static const char hex_digits[] = "0123456789abcdef";

void lh_hex_encode(const uint8_t *bytes, size_t size_bytes, char *ret)
{
    for (size_t i = 0; i < size_bytes; i++) {
        ret[2 * i] = hex_digits[bytes[i] >> 4];
        ret[2 * i + 1] = hex_digits[bytes[i] & 15];
    }
    ret[2 * size_bytes] = '\0';
}

// The value of a hex digit, or 16.
static unsigned hex_value(uint8_t digit)
{
    if (is_digit(digit))
        return digit - (unsigned)'0';
    digit = lh_ascii_lower(digit);
    return digit >= 'a' && digit <= 'f' ? digit - (unsigned)'a' + 10 : 16;
}

bool lh_hex_decode(struct lh_slice text, uint8_t *ret, size_t size_bytes)
{
    if (text.size_bytes % 2 != 0 || text.size_bytes / 2 != size_bytes)
        return false;
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (hex_value(text.data[i]) > 15)
            return false;
    }
    for (size_t i = 0; i < size_bytes; i++)
        ret[i] = (uint8_t)(hex_value(text.data[2 * i]) << 4 | hex_value(text.data[2 * i + 1]));
    return true;
}

static void write_unicode_escape(struct lh_writer *writer, unsigned code)
{
    char escape[6] = {'\\', 'u', '0', '0', hex_digits[code >> 4 & 15], hex_digits[code & 15]};
    lh_writer_bytes(writer, escape, sizeof escape);
}

static void write_control(struct lh_writer *writer, unsigned code)
{
    switch (code) {
    case '\b': lh_writer_string(writer, "\\b"); return;
    case '\t': lh_writer_string(writer, "\\t"); return;
    case '\n': lh_writer_string(writer, "\\n"); return;
    case '\f': lh_writer_string(writer, "\\f"); return;
    case '\r': lh_writer_string(writer, "\\r"); return;
    default: write_unicode_escape(writer, code); return;
    }
}

void lh_json_escape(struct lh_writer *writer, struct lh_slice text)
{
    while (text.size_bytes > 0) {
        size_t char_bytes = lh_utf8_char_bytes(text);
        if (char_bytes == 0) {
            lh_writer_string(writer, "\\ufffd");
            char_bytes = 1;
        } else if (is_control(text.data, char_bytes)) {
            write_control(writer, text.data[char_bytes - 1]);
        } else {
            if (text.data[0] == '"' || text.data[0] == '\\')
                lh_writer_u8(writer, '\\');
            lh_writer_bytes(writer, text.data, char_bytes);
        }
        text.data += char_bytes;
        text.size_bytes -= char_bytes;
    }
}

void lh_json_string(struct lh_writer *writer, struct lh_slice text)
{
    lh_writer_u8(writer, '"');
    lh_json_escape(writer, text);
    lh_writer_u8(writer, '"');
}
