// Texts in chunks: every length on both sides of a chunk's edge, a store that is full to the last
// chunk, and a long run against a plain array of the same texts.
#include "host/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/prng.h"

static struct lh_texts open_texts(uint32_t capacity)
{
    struct lh_texts texts;
    lh_texts_init(&texts, calloc(capacity, sizeof(struct lh_text_chunk)), capacity);
    return texts;
}

static uint32_t chunks_of(size_t size)
{
    return size == 0 ? 0 : (uint32_t)((size + 1 + LH_TEXT_CHUNK_BYTES - 1) / LH_TEXT_CHUNK_BYTES);
}

static uint32_t left(const struct lh_texts *texts)
{
    return texts->free_count + texts->capacity - texts->used;
}

static void test_every_length(void **state)
{
    (void)state;
    struct lh_texts texts = open_texts(5);
    uint8_t bytes[LH_TEXT_MAX_BYTES + 1], buffer[LH_TEXT_MAX_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size <= LH_TEXT_MAX_BYTES; size++) {
        lh_text text = 99;
        assert_true(lh_texts_put(&texts, lh_slice_of(bytes, size), &text));
        assert_true((text == 0) == (size == 0));
        assert_int_equal(left(&texts), 5 - chunks_of(size));
        struct lh_slice got = lh_texts_get(&texts, text, buffer);
        assert_true(lh_slice_equal(got, lh_slice_of(bytes, size)));
        assert_true(lh_texts_equal(&texts, text, lh_slice_of(bytes, size)));
        if (size > 0) {
            assert_false(lh_texts_equal(&texts, text, lh_slice_of(bytes, size - 1)));
            assert_false(lh_texts_equal(&texts, text, lh_slice_of(bytes + 1, size)));
        }
        lh_texts_drop(&texts, text);
        assert_int_equal(left(&texts), 5);
    }
    free(texts.chunks);
}

static void test_full(void **state)
{
    (void)state;
    struct lh_texts texts = open_texts(3);
    uint8_t bytes[LH_TEXT_MAX_BYTES] = {1}, buffer[LH_TEXT_MAX_BYTES];
    lh_text first, second, text = 99;
    assert_true(lh_texts_put(&texts, lh_slice_of(bytes, LH_TEXT_CHUNK_BYTES - 1), &first));
    assert_int_equal(left(&texts), 2);
    assert_false(lh_texts_put(&texts, lh_slice_of(bytes, 2 * LH_TEXT_CHUNK_BYTES), &text));
    assert_int_equal(text, 99);
    assert_int_equal(left(&texts), 2);
    assert_true(lh_texts_put(&texts, lh_slice_of(bytes, 2 * LH_TEXT_CHUNK_BYTES - 1), &second));
    assert_int_equal(left(&texts), 0);
    assert_false(lh_texts_put(&texts, lh_slice_of(bytes, 1), &text));
    assert_true(
        lh_texts_put(&texts, (struct lh_slice){NULL, 0}, &text)); // the empty one needs no room
    assert_int_equal(text, 0);
    lh_texts_drop(&texts, first);
    assert_true(lh_texts_put(&texts, lh_slice_of(bytes, 1), &text));
    assert_int_equal(lh_texts_get(&texts, second, buffer).size_bytes, 2 * LH_TEXT_CHUNK_BYTES - 1);
    lh_texts_drop(&texts, 0);
    free(texts.chunks);
}

static void test_against_an_array(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    static struct {
        lh_text text;
        size_t size;
        uint8_t bytes[LH_TEXT_MAX_BYTES];
    } plain[COUNT];
    struct lh_texts texts = open_texts(60);
    struct lh_prng prng;
    uint8_t buffer[LH_TEXT_MAX_BYTES];
    uint32_t used = 0;
    unsigned refused = 0;
    lh_prng_seed_number(&prng, 1);
    for (unsigned round = 0; round < 20000; round++) {
        unsigned at = (unsigned)lh_prng_below(&prng, COUNT);
        lh_texts_drop(&texts, plain[at].text);
        used -= chunks_of(plain[at].size);
        plain[at].text = 0;
        plain[at].size = (size_t)lh_prng_below(&prng, LH_TEXT_MAX_BYTES + 1);
        for (size_t i = 0; i < plain[at].size; i++)
            plain[at].bytes[i] = (uint8_t)lh_prng_next(&prng);
        bool fits = chunks_of(plain[at].size) <= 60 - used;
        assert_true(lh_texts_put(&texts, lh_slice_of(plain[at].bytes, plain[at].size),
                                 &plain[at].text) == fits);
        if (!fits) {
            plain[at].size = 0;
            refused++;
        }
        used += chunks_of(plain[at].size);
        assert_int_equal(left(&texts), 60 - used);
        unsigned other = (unsigned)lh_prng_below(&prng, COUNT);
        assert_true(lh_slice_equal(lh_texts_get(&texts, plain[other].text, buffer),
                                   lh_slice_of(plain[other].bytes, plain[other].size)));
    }
    assert_in_range(refused, 1000, 19000);
    free(texts.chunks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_against_an_array),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
