// Text at the borders: what may be a name, how durations and integers are typed and printed, JSON
// strings and hex. Everything is exact (no floating point, no locale), refuses what it does not
// fully understand, and never allocates.
#ifndef LH_BASE_TEXT_H
#define LH_BASE_TEXT_H

#include "base/cursor.h"
#include "base/slice.h"
#include "base/time.h"

// Of a lease, and of whoever holds it.
#define LH_NAME_MAX_BYTES 255
#define LH_HOLDER_MAX_BYTES 255
// Room for any 64-bit integer, signed or not, and a terminator.
#define LH_INTEGER_TEXT_BYTES 21

// True for 1..255 bytes of well-formed UTF-8 (shortest form, no surrogates, at most U+10FFFF)
// without control characters (U+0000..U+001F, U+007F..U+009F). Says nothing about a leading '@',
// which is the system's: who may use it depends on who asks.
bool lh_utf8_name_valid(struct lh_slice name);

// Bytes of the well-formed UTF-8 character at the front of `text`, 0 if there is none.
size_t lh_utf8_char_bytes(struct lh_slice text);

// Replaces each control character of a terminated text by '?', each of its bytes: what is shown on a
// terminal may quote anything.
void lh_make_printable(char *text);

// Parses `300ms`, `10s`, `1.5s`, `2m`, `1m30s`, `1h`, or a bare number of seconds. The value must
// be a whole number of milliseconds, computed exactly, and fit an lh_duration. No sign, exponent or
// space. Zero is a duration: whether it makes sense is the caller's to say. On failure returns
// false and sets *ret_reason to a constant that completes "the duration 'X' is refused: ..."; *ret
// is untouched.
bool lh_duration_parse(struct lh_slice text, struct lh_duration *ret, const char **ret_reason);

// Decimal integers exactly as lh_u64_format and lh_i64_format print them: no sign but a '-' before
// a number below zero, no leading zero, no space, nothing behind. False when it is anything else or
// does not fit; *ret is then untouched.
bool lh_u64_parse(struct lh_slice text, uint64_t *ret);
bool lh_i64_parse(struct lh_slice text, int64_t *ret);

// "1%", "0.25%": exact to a ten-thousandth of a percent, which is one part per million. False when it
// is anything else; *ret_ppm is then untouched.
bool lh_percent_parse(struct lh_slice text, uint64_t *ret_ppm);

// Writes the decimal form and a terminator; returns its length without the terminator.
size_t lh_u64_format(uint64_t value, char ret[LH_INTEGER_TEXT_BYTES]);
size_t lh_i64_format(int64_t value, char ret[LH_INTEGER_TEXT_BYTES]);
void lh_u64_write(struct lh_writer *writer, uint64_t value);
void lh_i64_write(struct lh_writer *writer, int64_t value);

// The inside of a JSON string, without its quotes. Control characters (C1 and DEL as well, so that
// a line can be shown on a terminal) are escaped; bytes that are not UTF-8 become U+FFFD, so that
// the output is always valid JSON.
void lh_json_escape(struct lh_writer *writer, struct lh_slice text);
// The same with its quotes: a complete JSON string.
void lh_json_string(struct lh_writer *writer, struct lh_slice text);

// Lower-case hex of `bytes` and a terminator: `ret` has room for 2 * size_bytes + 1 characters.
void lh_hex_encode(const uint8_t *bytes, size_t size_bytes, char *ret);
// Decodes exactly size_bytes bytes from 2 * size_bytes digits of either case. On failure returns
// false with `ret` untouched.
bool lh_hex_decode(struct lh_slice text, uint8_t *ret, size_t size_bytes);

#endif
