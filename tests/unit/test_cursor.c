// Byte cursors at both sides of every edge: the last byte that fits and the first that does not,
// for each width; that failure sticks; and that what a writer wrote a reader reads.
#include "base/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t counting[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static struct lh_reader reader_of(size_t size_bytes)
{
    return lh_reader_of(lh_slice_of(counting, size_bytes));
}

static void integers_are_little_endian(void **state)
{
    (void)state;
    struct lh_reader reader = reader_of(15);
    assert_int_equal(lh_reader_u8(&reader), 0x01);
    assert_int_equal(lh_reader_u16(&reader), 0x0302);
    assert_int_equal(lh_reader_u32(&reader), 0x07060504);
    assert_true(lh_reader_u64(&reader) == UINT64_C(0x0f0e0d0c0b0a0908));
    assert_true(lh_reader_done(&reader));
}

static void each_read_fails_one_byte_short(void **state)
{
    (void)state;
    struct lh_reader reader = reader_of(0);
    assert_int_equal(lh_reader_u8(&reader), 0);
    assert_true(reader.failed);
    reader = reader_of(1);
    assert_int_equal(lh_reader_u16(&reader), 0);
    assert_true(reader.failed);
    reader = reader_of(3);
    assert_int_equal(lh_reader_u32(&reader), 0);
    assert_true(reader.failed);
    reader = reader_of(7);
    assert_true(lh_reader_u64(&reader) == 0);
    assert_true(reader.failed);
    reader = reader_of(2);
    assert_int_equal(lh_reader_slice(&reader, 3).size_bytes, 0);
    assert_true(reader.failed);
    reader = reader_of(2);
    assert_int_equal(lh_reader_slice(&reader, SIZE_MAX).size_bytes, 0);
    assert_true(reader.failed);
}

static void a_failed_read_makes_every_later_one_fail(void **state)
{
    (void)state;
    uint8_t copied[2] = {0xaa, 0xaa};
    struct lh_reader reader = reader_of(3);
    (void)lh_reader_u32(&reader);
    assert_int_equal(lh_reader_u8(&reader), 0); // three bytes were there
    assert_int_equal(lh_reader_left_bytes(&reader), 0);
    lh_reader_bytes(&reader, copied, sizeof copied);
    assert_int_equal(copied[0], 0);
    assert_int_equal(copied[1], 0);
    assert_int_equal(lh_reader_slice(&reader, 0).size_bytes, 0);
    assert_true(reader.failed);
    assert_false(lh_reader_done(&reader));
}

static void done_needs_success_and_nothing_left(void **state)
{
    (void)state;
    struct lh_reader reader = reader_of(2);
    assert_false(lh_reader_done(&reader));
    (void)lh_reader_u8(&reader);
    assert_int_equal(lh_reader_left_bytes(&reader), 1);
    assert_false(lh_reader_done(&reader));
    (void)lh_reader_u8(&reader);
    assert_true(lh_reader_done(&reader));
    lh_reader_fail(&reader);
    assert_false(lh_reader_done(&reader));
}

static void nothing_at_all_can_be_read(void **state)
{
    (void)state;
    struct lh_reader reader = lh_reader_of(lh_slice_of(NULL, 0));
    lh_reader_bytes(&reader, NULL, 0);
    assert_int_equal(lh_reader_slice(&reader, 0).size_bytes, 0);
    assert_true(lh_reader_done(&reader));
    assert_int_equal(lh_reader_u8(&reader), 0);
    assert_false(lh_reader_done(&reader));
}

static void a_length_prefix_must_be_covered(void **state)
{
    (void)state;
    const uint8_t fits[] = {2, 'a', 'b'};
    struct lh_reader reader = lh_reader_of(lh_slice_of(fits, sizeof fits));
    assert_true(lh_slice_equal(lh_reader_slice_u8(&reader), LH_SLICE("ab")));
    assert_true(lh_reader_done(&reader));
    reader = lh_reader_of(lh_slice_of(fits, 2));
    assert_int_equal(lh_reader_slice_u8(&reader).size_bytes, 0);
    assert_true(reader.failed);

    const uint8_t short_by_one[] = {3, 0, 'a', 'b'};
    reader = lh_reader_of(lh_slice_of(short_by_one, sizeof short_by_one));
    assert_int_equal(lh_reader_slice_u16(&reader).size_bytes, 0);
    assert_true(reader.failed);

    const uint8_t huge[] = {0xff, 0xff, 'a'};
    reader = lh_reader_of(lh_slice_of(huge, sizeof huge));
    assert_int_equal(lh_reader_slice_u16(&reader).size_bytes, 0);
    assert_true(reader.failed);

    const uint8_t empty[] = {0, 0};
    reader = lh_reader_of(lh_slice_of(empty, sizeof empty));
    assert_int_equal(lh_reader_slice_u16(&reader).size_bytes, 0);
    assert_true(lh_reader_done(&reader));
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    uint8_t buffer[64];
    struct lh_writer writer = lh_writer_of(buffer, sizeof buffer);
    lh_writer_u8(&writer, 0xfe);
    lh_writer_u16(&writer, 0xfedc);
    lh_writer_u32(&writer, UINT32_C(0xfedcba98));
    lh_writer_u64(&writer, UINT64_C(0xfedcba9876543210));
    lh_writer_slice_u8(&writer, LH_SLICE("one"));
    lh_writer_u16(&writer, 3);
    lh_writer_string(&writer, "two");
    lh_writer_slice_u8(&writer, LH_SLICE(""));
    lh_writer_string(&writer, "end");
    assert_false(writer.failed);
    assert_int_equal(lh_writer_size_bytes(&writer), 1 + 2 + 4 + 8 + 4 + 5 + 1 + 3);

    struct lh_reader reader = lh_reader_of(lh_writer_slice(&writer));
    uint8_t end[3];
    assert_int_equal(lh_reader_u8(&reader), 0xfe);
    assert_int_equal(lh_reader_u16(&reader), 0xfedc);
    assert_true(lh_reader_u32(&reader) == UINT32_C(0xfedcba98));
    assert_true(lh_reader_u64(&reader) == UINT64_C(0xfedcba9876543210));
    assert_true(lh_slice_equal(lh_reader_slice_u8(&reader), LH_SLICE("one")));
    assert_true(lh_slice_equal(lh_reader_slice_u16(&reader), LH_SLICE("two")));
    assert_int_equal(lh_reader_slice_u8(&reader).size_bytes, 0);
    lh_reader_bytes(&reader, end, sizeof end);
    assert_memory_equal(end, "end", 3);
    assert_true(lh_reader_done(&reader));
}

// Writes one value of each kind into room for exactly it and for one byte less.
static bool fits(int kind, size_t room_bytes)
{
    uint8_t buffer[16];
    struct lh_writer writer = lh_writer_of(buffer, room_bytes);
    memset(buffer, 0xaa, sizeof buffer);
    switch (kind) {
    case 1: lh_writer_u8(&writer, 1); break;
    case 2: lh_writer_u16(&writer, 1); break;
    case 4: lh_writer_u32(&writer, 1); break;
    case 8: lh_writer_u64(&writer, 1); break;
    case 3: lh_writer_slice_u8(&writer, LH_SLICE("ab")); break;
    case 5: lh_writer_string(&writer, "abcde"); break;
    default: lh_writer_bytes(&writer, "abcdef", 6); break;
    }
    assert_int_equal(buffer[room_bytes], 0xaa);
    assert_true(writer.failed || lh_writer_left_bytes(&writer) == 0);
    if (writer.failed) {
        lh_writer_u8(&writer, 1); // there may be room for this one, but it must not slip in
        assert_int_equal(lh_writer_size_bytes(&writer), 0);
        assert_int_equal(buffer[0], 0xaa);
    }
    return !writer.failed;
}

static void each_write_fails_one_byte_short(void **state)
{
    (void)state;
    static const int kinds[] = {1, 2, 3, 4, 5, 6, 8};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_true(fits(kinds[i], (size_t)kinds[i]));
        assert_false(fits(kinds[i], (size_t)kinds[i] - 1));
    }
}

static void a_slice_too_long_for_its_length_fails(void **state)
{
    (void)state;
    static uint8_t bytes[256];
    static uint8_t buffer[600];
    struct lh_writer writer = lh_writer_of(buffer, sizeof buffer);
    lh_writer_slice_u8(&writer, lh_slice_of(bytes, 255));
    assert_false(writer.failed);
    lh_writer_slice_u8(&writer, lh_slice_of(bytes, 256));
    assert_true(writer.failed);
    assert_int_equal(lh_writer_size_bytes(&writer), 256);
}

static void a_copied_writer_is_a_mark(void **state)
{
    (void)state;
    uint8_t buffer[4];
    struct lh_writer writer = lh_writer_of(buffer, sizeof buffer);
    lh_writer_u16(&writer, 0x1234);
    struct lh_writer mark = writer;
    lh_writer_u32(&writer, 1);
    assert_true(writer.failed);
    writer = mark;
    lh_writer_u16(&writer, 0x5678);
    assert_false(writer.failed);
    assert_int_equal(lh_writer_left_bytes(&writer), 0);
}

static void taken_room_can_be_filled_later(void **state)
{
    (void)state;
    uint8_t buffer[3];
    struct lh_writer writer = lh_writer_of(buffer, sizeof buffer);
    uint8_t *count = lh_writer_take(&writer, 2);
    lh_writer_u8(&writer, 7);
    assert_non_null(count);
    lh_store_u16(count, 0x0102);
    assert_memory_equal(buffer, "\2\1\7", 3);
    assert_null(lh_writer_take(&writer, 1));
    assert_true(writer.failed);

    writer = lh_writer_of(NULL, 0);
    lh_writer_bytes(&writer, NULL, 0);
    lh_writer_slice_bytes(&writer, lh_slice_of(NULL, 0));
    assert_false(writer.failed);
    assert_int_equal(lh_writer_size_bytes(&writer), 0);
    lh_writer_fail(&writer);
    assert_true(writer.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_little_endian),
        cmocka_unit_test(each_read_fails_one_byte_short),
        cmocka_unit_test(a_failed_read_makes_every_later_one_fail),
        cmocka_unit_test(done_needs_success_and_nothing_left),
        cmocka_unit_test(nothing_at_all_can_be_read),
        cmocka_unit_test(a_length_prefix_must_be_covered),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(each_write_fails_one_byte_short),
        cmocka_unit_test(a_slice_too_long_for_its_length_fails),
        cmocka_unit_test(a_copied_writer_is_a_mark),
        cmocka_unit_test(taken_room_can_be_filled_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
