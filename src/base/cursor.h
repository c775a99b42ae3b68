// Byte cursors: the only way this code takes bytes apart or puts them together. Integers are little
// endian. A failure is sticky: after one, every read gives zero and every write is dropped, so a
// decoder reads a whole message straight through and asks once at its end, with lh_reader_done,
// whether any of it was true. Whoever acts on a value before that acts on a stranger's word.
//
// Both cursors are plain values. A copy is a mark: to try a record that may not fit, copy the
// writer, write, and assign the copy back if it failed.
#ifndef LH_BASE_CURSOR_H
#define LH_BASE_CURSOR_H

#include "base/slice.h"

// Rule: after a failure at == end, so that one comparison in the hot path serves both questions.
struct lh_reader {
    const uint8_t *at, *end;
    bool failed;
};

struct lh_writer {
    uint8_t *start, *at, *end;
    bool failed;
};

// --- little-endian memory; compilers make single loads and stores of these ---

static inline uint16_t lh_load_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t lh_load_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t lh_load_u64(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static inline void lh_store_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void lh_store_u32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
}

static inline void lh_store_u64(uint8_t *at, uint64_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
    at[4] = (uint8_t)(value >> 32);
    at[5] = (uint8_t)(value >> 40);
    at[6] = (uint8_t)(value >> 48);
    at[7] = (uint8_t)(value >> 56);
}

// --- reader ---

static inline struct lh_reader lh_reader_of(struct lh_slice slice)
{
    if (slice.size_bytes == 0)
        return (struct lh_reader){slice.data, slice.data, false};
    return (struct lh_reader){slice.data, slice.data + slice.size_bytes, false};
}

static inline size_t lh_reader_left_bytes(const struct lh_reader *reader)
{
    return reader->at == reader->end ? 0 : (size_t)(reader->end - reader->at);
}

// The next size_bytes bytes, or NULL after a failure (and for zero bytes of an empty NULL slice).
static inline const uint8_t *lh_reader_take(struct lh_reader *reader, size_t size_bytes)
{
    const uint8_t *taken = reader->at;
    if (size_bytes > lh_reader_left_bytes(reader)) {
        reader->failed = true;
        reader->at = reader->end;
        return NULL;
    }
    if (size_bytes != 0)
        reader->at += size_bytes;
    return taken;
}

static inline uint8_t lh_reader_u8(struct lh_reader *reader)
{
    const uint8_t *at = lh_reader_take(reader, 1);
    return at == NULL ? 0 : at[0];
}

static inline uint16_t lh_reader_u16(struct lh_reader *reader)
{
    const uint8_t *at = lh_reader_take(reader, 2);
    return at == NULL ? 0 : lh_load_u16(at);
}

static inline uint32_t lh_reader_u32(struct lh_reader *reader)
{
    const uint8_t *at = lh_reader_take(reader, 4);
    return at == NULL ? 0 : lh_load_u32(at);
}

static inline uint64_t lh_reader_u64(struct lh_reader *reader)
{
    const uint8_t *at = lh_reader_take(reader, 8);
    return at == NULL ? 0 : lh_load_u64(at);
}

// A view of the next size_bytes bytes; an empty slice after a failure.
static inline struct lh_slice lh_reader_slice(struct lh_reader *reader, size_t size_bytes)
{
    const uint8_t *at = lh_reader_take(reader, size_bytes);
    return at == NULL ? (struct lh_slice){NULL, 0} : (struct lh_slice){at, size_bytes};
}

// Copies the next size_bytes bytes out; `ret` is zeroed after a failure, so that no stack garbage
// is ever taken for input.
void lh_reader_bytes(struct lh_reader *reader, void *ret, size_t size_bytes);

// A slice behind its own length, which is one or two bytes wide.
struct lh_slice lh_reader_slice_u8(struct lh_reader *reader);
struct lh_slice lh_reader_slice_u16(struct lh_reader *reader);

// Marks the input as bad: for a decoder that finds a value it cannot allow.
static inline void lh_reader_fail(struct lh_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
}

// True only if nothing failed and nothing is left over: trailing bytes are an error, not padding.
static inline bool lh_reader_done(const struct lh_reader *reader)
{
    return !reader->failed && reader->at == reader->end;
}

// --- writer ---

static inline struct lh_writer lh_writer_of(void *buffer, size_t size_bytes)
{
    uint8_t *start = buffer;
    return (struct lh_writer){start, start, size_bytes == 0 ? start : start + size_bytes, false};
}

static inline size_t lh_writer_left_bytes(const struct lh_writer *writer)
{
    return writer->at == writer->end ? 0 : (size_t)(writer->end - writer->at);
}

static inline size_t lh_writer_size_bytes(const struct lh_writer *writer)
{
    return writer->at == writer->start ? 0 : (size_t)(writer->at - writer->start);
}

// What was written so far. Whoever sends it asks `failed` first.
static inline struct lh_slice lh_writer_slice(const struct lh_writer *writer)
{
    return (struct lh_slice){writer->start, lh_writer_size_bytes(writer)};
}

// Room for size_bytes bytes that the caller fills (or patches later), or NULL when they do not fit.
static inline uint8_t *lh_writer_take(struct lh_writer *writer, size_t size_bytes)
{
    uint8_t *taken = writer->at;
    if (size_bytes > lh_writer_left_bytes(writer)) {
        writer->failed = true;
        writer->end = writer->at; // nothing shorter may slip in behind what was dropped
        return NULL;
    }
    if (size_bytes != 0)
        writer->at += size_bytes;
    return taken;
}

static inline void lh_writer_u8(struct lh_writer *writer, uint8_t value)
{
    uint8_t *at = lh_writer_take(writer, 1);
    if (at != NULL)
        at[0] = value;
}

static inline void lh_writer_u16(struct lh_writer *writer, uint16_t value)
{
    uint8_t *at = lh_writer_take(writer, 2);
    if (at != NULL)
        lh_store_u16(at, value);
}

static inline void lh_writer_u32(struct lh_writer *writer, uint32_t value)
{
    uint8_t *at = lh_writer_take(writer, 4);
    if (at != NULL)
        lh_store_u32(at, value);
}

static inline void lh_writer_u64(struct lh_writer *writer, uint64_t value)
{
    uint8_t *at = lh_writer_take(writer, 8);
    if (at != NULL)
        lh_store_u64(at, value);
}

static inline void lh_writer_bytes(struct lh_writer *writer, const void *bytes, size_t size_bytes)
{
    uint8_t *at = lh_writer_take(writer, size_bytes);
    if (at != NULL && size_bytes != 0)
        memcpy(at, bytes, size_bytes);
}

static inline void lh_writer_slice_bytes(struct lh_writer *writer, struct lh_slice slice)
{
    lh_writer_bytes(writer, slice.data, slice.size_bytes);
}

// A terminated string without its terminator.
static inline void lh_writer_string(struct lh_writer *writer, const char *string)
{
    lh_writer_bytes(writer, string, strlen(string));
}

// A slice behind its own length. Fails when the length does not fit its field.
void lh_writer_slice_u8(struct lh_writer *writer, struct lh_slice slice);

// Marks the output as useless: for an encoder that was asked for something it cannot say.
static inline void lh_writer_fail(struct lh_writer *writer)
{
    writer->failed = true;
    writer->end = writer->at;
}

#endif
