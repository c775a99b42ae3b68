// The wire form of lease messages: every kind comes back as it was sent, its bytes are fixed, and
// no body that is short, long or impossible is taken.
#include "lease/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lease/timing.h"

enum { HEAD_BYTES = 3, BUFFER_BYTES = 128, KINDS = LH_MESSAGE_LEASE_LAST };

// One message of each kind with every field of its kind set.
static const struct lh_message SAMPLES[KINDS] = {
    {.kind = LH_MESSAGE_PREPARE,
     .key = {{1, 2}},
     .ballot = 0x30102,
     .ttl = {10 * LH_NS_PER_S},
     .waited = {7 * LH_NS_PER_MS}},
    {.kind = LH_MESSAGE_PROMISE,
     .key = {{1, 2}},
     .ballot = 0x30102,
     .reported = 0x20103,
     .exclusion = {12345}},
    {.kind = LH_MESSAGE_ACCEPT,
     .key = {{1, 2}},
     .ballot = 0x30102,
     .base = 0x20102,
     .ttl = {50 * LH_NS_PER_MS}},
    {.kind = LH_MESSAGE_ACCEPTED, .key = {{1, 2}}, .ballot = 0x30102},
    {.kind = LH_MESSAGE_EXTEND,
     .key = {{1, 2}},
     .ballot = 0x30102,
     .stamp = 99,
     .ttl = {50 * LH_NS_PER_MS}},
    {.kind = LH_MESSAGE_EXTENDED, .key = {{1, 2}}, .ballot = 0x30102, .stamp = 99},
    {.kind = LH_MESSAGE_REJECTED,
     .key = {{1, 2}},
     .ballot = 0x30102,
     .refused = LH_MESSAGE_EXTEND,
     .stamp = 99,
     .promised = 0x40103,
     .reported = 0x20103,
     .exclusion = {12345}},
    {.kind = LH_MESSAGE_RELEASE, .key = {{1, 2}}, .ballot = 0x30102},
    {.kind = LH_MESSAGE_WAKE, .key = {{1, 2}}, .rank = 3},
    {.kind = LH_MESSAGE_WAITS, .key = {{1, 2}}},
};

static const uint8_t BODY_BYTES[KINDS] = {32, 40, 36, 24, 36, 32, 57, 24, 17, 16};

static size_t encode(const struct lh_message *message, uint8_t bytes[BUFFER_BYTES])
{
    struct lh_writer writer = lh_writer_of(bytes, BUFFER_BYTES);
    lh_message_encode(&writer, message);
    assert_false(writer.failed);
    return lh_writer_size_bytes(&writer);
}

static bool decode(enum lh_message_kind kind, const uint8_t *body, size_t size_bytes,
                   struct lh_message *ret_message)
{
    return lh_message_decode(kind, lh_slice_of(body, size_bytes), ret_message);
}

static void assert_same(const struct lh_message *a, const struct lh_message *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_true(lh_key_equal(a->key, b->key));
    assert_int_equal(a->ballot, b->ballot);
    assert_int_equal(a->base, b->base);
    assert_int_equal(a->promised, b->promised);
    assert_int_equal(a->reported, b->reported);
    assert_int_equal(a->stamp, b->stamp);
    assert_int_equal(a->ttl.ns, b->ttl.ns);
    assert_int_equal(a->exclusion.ns, b->exclusion.ns);
    assert_int_equal(a->waited.ns, b->waited.ns);
    assert_int_equal(a->refused, b->refused);
    assert_int_equal(a->rank, b->rank);
}

// True if the sample of `kind` with 8 bytes of its body at `offset` set to `value` is taken.
static bool takes_u64(enum lh_message_kind kind, size_t offset, uint64_t value)
{
    uint8_t bytes[BUFFER_BYTES];
    const size_t size = encode(&SAMPLES[kind - 1], bytes);
    struct lh_message message;
    lh_store_u64(bytes + HEAD_BYTES + offset, value);
    return decode(kind, bytes + HEAD_BYTES, size - HEAD_BYTES, &message);
}

static void every_kind_comes_back_as_it_was_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        uint8_t bytes[BUFFER_BYTES];
        const size_t size = encode(&SAMPLES[i], bytes);
        struct lh_message message;
        assert_int_equal(bytes[0], SAMPLES[i].kind);
        assert_int_equal(lh_load_u16(bytes + 1), size - HEAD_BYTES);
        assert_int_equal(size - HEAD_BYTES, BODY_BYTES[i]);
        assert_true(decode(SAMPLES[i].kind, bytes + HEAD_BYTES, size - HEAD_BYTES, &message));
        assert_same(&message, &SAMPLES[i]);
    }
}

static void the_bytes_of_an_accept_are_fixed(void **state)
{
    (void)state;
    const uint8_t expected[] = {3,    36, 0,                // kind, length
                                1,    0,  0, 0, 0, 0, 0, 0, // key
                                2,    0,  0, 0, 0, 0, 0, 0, //
                                0x02, 1,  3, 0, 0, 0, 0, 0, // ballot
                                0x02, 1,  2, 0, 0, 0, 0, 0, // base
                                50,   0,  0, 0};            // D_P in ms
    uint8_t bytes[BUFFER_BYTES];
    assert_int_equal(encode(&SAMPLES[LH_MESSAGE_ACCEPT - 1], bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void a_body_of_any_other_length_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        uint8_t bytes[BUFFER_BYTES] = {0};
        const size_t size = encode(&SAMPLES[i], bytes) - HEAD_BYTES;
        for (size_t length = 0; length <= size + 9; length++) {
            struct lh_message message = {.rank = 77};
            const bool taken = decode(SAMPLES[i].kind, bytes + HEAD_BYTES, length, &message);
            assert_int_equal(taken, length == size);
            assert_true(taken || message.rank == 77);
        }
    }
}

static void kinds_outside_the_lease_are_refused(void **state)
{
    (void)state;
    const uint8_t body[BUFFER_BYTES] = {1};
    struct lh_message message;
    for (int kind = -1; kind <= 300; kind++)
        if (kind < LH_MESSAGE_PREPARE || kind > LH_MESSAGE_LEASE_LAST)
            for (size_t size = 0; size < 64; size++)
                assert_false(decode((enum lh_message_kind)kind, body, size, &message));
}

static void a_ballot_must_be_one(void **state)
{
    (void)state;
    for (int kind = LH_MESSAGE_PREPARE; kind < LH_MESSAGE_WAKE; kind++) {
        assert_true(takes_u64((enum lh_message_kind)kind, 16, lh_ballot_make(1, 0, 1)));
        assert_true(takes_u64((enum lh_message_kind)kind, 16, LH_BALLOT_MAX));
        assert_false(takes_u64((enum lh_message_kind)kind, 16, LH_BALLOT_MAX + 1));
        assert_false(takes_u64((enum lh_message_kind)kind, 16, LH_BALLOT_NONE));
        assert_false(takes_u64((enum lh_message_kind)kind, 16, lh_ballot_make(0, 1, 1)));
        assert_false(takes_u64((enum lh_message_kind)kind, 16, lh_ballot_make(1, 1, 0)));
    }
}

static void a_ballot_that_may_be_absent_has_63_bits(void **state)
{
    (void)state;
    const struct {
        enum lh_message_kind kind;
        size_t offset;
    } fields[] = {{LH_MESSAGE_PROMISE, 24},
                  {LH_MESSAGE_ACCEPT, 24},
                  {LH_MESSAGE_REJECTED, 33},
                  {LH_MESSAGE_REJECTED, 41}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        assert_true(takes_u64(fields[i].kind, fields[i].offset, LH_BALLOT_NONE));
        assert_true(takes_u64(fields[i].kind, fields[i].offset, LH_BALLOT_MAX));
        assert_false(takes_u64(fields[i].kind, fields[i].offset, LH_BALLOT_MAX + 1));
        assert_false(takes_u64(fields[i].kind, fields[i].offset, UINT64_MAX));
    }
}

static void an_exclusion_is_bounded_and_a_stamp_is_an_instant(void **state)
{
    (void)state;
    const uint64_t most = (uint64_t)LH_TTL_MAX_MS * LH_NS_PER_MS * 2;
    assert_true(takes_u64(LH_MESSAGE_PROMISE, 32, most));
    assert_false(takes_u64(LH_MESSAGE_PROMISE, 32, most + 1));
    assert_true(takes_u64(LH_MESSAGE_REJECTED, 49, most));
    assert_false(takes_u64(LH_MESSAGE_REJECTED, 49, UINT64_MAX));
    assert_true(takes_u64(LH_MESSAGE_EXTEND, 24, INT64_MAX));
    assert_false(takes_u64(LH_MESSAGE_EXTEND, 24, (uint64_t)INT64_MAX + 1));
    assert_true(takes_u64(LH_MESSAGE_EXTENDED, 24, INT64_MAX));
    assert_false(takes_u64(LH_MESSAGE_EXTENDED, 24, UINT64_MAX));
    assert_false(takes_u64(LH_MESSAGE_REJECTED, 25, UINT64_MAX));
}

static void every_exclusion_an_acceptor_can_have_fits(void **state)
{
    (void)state;
    const struct lh_timing loosest = {{LH_TTL_MAX_MS * LH_NS_PER_MS}, LH_RATE_PPM_MAX};
    assert_true(takes_u64(LH_MESSAGE_PROMISE, 32,
                          (uint64_t)lh_timing_exclusion(loosest, loosest.max_ttl).ns));
}

static void only_requests_can_be_refused(void **state)
{
    (void)state;
    uint8_t bytes[BUFFER_BYTES];
    const size_t size = encode(&SAMPLES[LH_MESSAGE_REJECTED - 1], bytes);
    for (unsigned refused = 0; refused <= UINT8_MAX; refused++) {
        struct lh_message message;
        bytes[HEAD_BYTES + 24] = (uint8_t)refused;
        assert_int_equal(
            decode(LH_MESSAGE_REJECTED, bytes + HEAD_BYTES, size - HEAD_BYTES, &message),
            refused == LH_MESSAGE_PREPARE || refused == LH_MESSAGE_ACCEPT ||
                refused == LH_MESSAGE_EXTEND);
    }
}

static void durations_travel_as_whole_ms_rounded_down_and_capped(void **state)
{
    (void)state;
    struct lh_message message = SAMPLES[LH_MESSAGE_PREPARE - 1];
    uint8_t bytes[BUFFER_BYTES];
    message.waited = (struct lh_duration){INT64_MAX};
    size_t size = encode(&message, bytes);
    assert_true(decode(LH_MESSAGE_PREPARE, bytes + HEAD_BYTES, size - HEAD_BYTES, &message));
    assert_int_equal(message.waited.ns, UINT32_MAX * LH_NS_PER_MS);
    message.waited = (struct lh_duration){2 * LH_NS_PER_MS - 1};
    size = encode(&message, bytes);
    assert_true(decode(LH_MESSAGE_PREPARE, bytes + HEAD_BYTES, size - HEAD_BYTES, &message));
    assert_int_equal(message.waited.ns, LH_NS_PER_MS);
}

static void a_writer_without_room_fails_and_nothing_is_written_past_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const size_t needed = (size_t)HEAD_BYTES + BODY_BYTES[i];
        for (size_t room = 0; room <= needed; room++) {
            uint8_t bytes[BUFFER_BYTES];
            memset(bytes, 0xee, sizeof bytes);
            struct lh_writer writer = lh_writer_of(bytes, room);
            lh_message_encode(&writer, &SAMPLES[i]);
            assert_int_equal(writer.failed, room < needed);
            for (size_t past = room; past < sizeof bytes; past++)
                assert_int_equal(bytes[past], 0xee);
        }
    }
}

static void answers_are_told_from_requests(void **state)
{
    (void)state;
    assert_false(lh_message_is_answer(LH_MESSAGE_PREPARE));
    assert_true(lh_message_is_answer(LH_MESSAGE_PROMISE));
    assert_false(lh_message_is_answer(LH_MESSAGE_ACCEPT));
    assert_true(lh_message_is_answer(LH_MESSAGE_ACCEPTED));
    assert_false(lh_message_is_answer(LH_MESSAGE_EXTEND));
    assert_true(lh_message_is_answer(LH_MESSAGE_EXTENDED));
    assert_true(lh_message_is_answer(LH_MESSAGE_REJECTED));
    assert_false(lh_message_is_answer(LH_MESSAGE_RELEASE));
    assert_false(lh_message_is_answer(LH_MESSAGE_WAKE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_comes_back_as_it_was_sent),
        cmocka_unit_test(the_bytes_of_an_accept_are_fixed),
        cmocka_unit_test(a_body_of_any_other_length_is_refused),
        cmocka_unit_test(kinds_outside_the_lease_are_refused),
        cmocka_unit_test(a_ballot_must_be_one),
        cmocka_unit_test(a_ballot_that_may_be_absent_has_63_bits),
        cmocka_unit_test(an_exclusion_is_bounded_and_a_stamp_is_an_instant),
        cmocka_unit_test(every_exclusion_an_acceptor_can_have_fits),
        cmocka_unit_test(only_requests_can_be_refused),
        cmocka_unit_test(durations_travel_as_whole_ms_rounded_down_and_capped),
        cmocka_unit_test(a_writer_without_room_fails_and_nothing_is_written_past_it),
        cmocka_unit_test(answers_are_told_from_requests),
    };
    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
