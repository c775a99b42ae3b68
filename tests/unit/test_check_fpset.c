// The set of fingerprints: what was put in is found, once, at any load, through growth and a file,
// and with several threads putting in the same.
#include "check/fpset.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct lh_fp nth(uint64_t n)
{
    uint64_t word[2];
    for (int i = 0; i < 2; i++) {
        uint64_t z = (n * 2 + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        word[i] = z ^ (z >> 31);
    }
    return (struct lh_fp){word[0], word[1]};
}

static void put(struct lh_fpset *set, uint64_t begin, uint64_t end)
{
    for (uint64_t n = begin; n < end; n++)
        assert_int_equal(lh_fpset_insert(set, nth(n)), LH_FPSET_NEW);
}

static void expect_exactly(struct lh_fpset *set, uint64_t count)
{
    for (uint64_t n = 0; n < count; n++)
        assert_true(lh_fpset_contains(set, nth(n)));
    for (uint64_t n = count; n < 2 * count; n++)
        assert_false(lh_fpset_contains(set, nth(n)));
    for (uint64_t n = 0; n < count; n++)
        assert_int_equal(lh_fpset_insert(set, nth(n)), LH_FPSET_PRESENT);
}

static void it_holds_what_its_size_promises(void **state)
{
    (void)state;
    struct lh_fpset set;
    const uint64_t buckets = lh_fpset_buckets_for(50000);
    assert_true(lh_fpset_capacity(buckets) >= 50000);
    assert_true(lh_fpset_open(&set, buckets));
    put(&set, 0, 50000);
    expect_exactly(&set, 50000);
    lh_fpset_close(&set);
}

static void a_state_costs_at_most_eight_bytes(void **state)
{
    (void)state;
    const uint64_t counts[] = {UINT64_C(1857563), UINT64_C(494875842), UINT64_C(2319130447)};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const uint64_t buckets = lh_fpset_buckets_for(counts[i]);
        assert_true((double)lh_fpset_bytes(buckets) / (double)counts[i] <= 8.0);
        assert_true(lh_fpset_capacity(buckets) >= counts[i]);
        assert_true(lh_fpset_bits_for(buckets) >= 64);
    }
}

// Far beyond the load it is meant for, some land in the table beside, and then it is full.
static void it_says_when_it_is_full(void **state)
{
    (void)state;
    struct lh_fpset set;
    uint64_t n = 0;
    assert_true(lh_fpset_open(&set, 100));
    while (lh_fpset_insert(&set, nth(n)) == LH_FPSET_NEW)
        n++;
    assert_int_equal(lh_fpset_insert(&set, nth(n)), LH_FPSET_FULL);
    assert_true(n > 900);
    assert_true(set.spill_count > 0);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(lh_fpset_insert(&set, nth(i)), LH_FPSET_PRESENT);
    assert_true(lh_fpset_grow(&set, 200));
    assert_int_equal(lh_fpset_insert(&set, nth(n)), LH_FPSET_NEW);
    expect_exactly(&set, n + 1);
    lh_fpset_close(&set);
}

static void growth_keeps_everything(void **state)
{
    (void)state;
    struct lh_fpset set;
    uint64_t count = 0;
    assert_true(lh_fpset_open(&set, 16));
    const uint32_t bits = set.bits;
    while (count < 60000) {
        while (count < lh_fpset_capacity(set.buckets))
            put(&set, count, count + 1), count++;
        assert_true(lh_fpset_grow(&set, set.buckets + set.buckets / 16 + 16));
    }
    assert_int_equal(set.bits, bits);
    expect_exactly(&set, count);
    lh_fpset_close(&set);
}

// Two fingerprints that differ only in the last bit that a set of this size knows are two.
static void every_effective_bit_counts(void **state)
{
    (void)state;
    const uint64_t sizes[] = {3, 1000, 131072, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct lh_fpset set;
        assert_true(lh_fpset_open(&set, sizes[i]));
        struct lh_fp a = nth(7);
        struct lh_fp b = a;
        if (set.bits <= 64)
            b.high ^= UINT64_C(1) << (64 - set.bits);
        else
            b.low ^= UINT64_C(1) << (128 - set.bits);
        assert_int_equal(lh_fpset_insert(&set, a), LH_FPSET_NEW);
        assert_int_equal(lh_fpset_insert(&set, b), LH_FPSET_NEW);
        assert_true(lh_fpset_grow(&set, 2 * sizes[i] + 1));
        assert_int_equal(lh_fpset_insert(&set, a), LH_FPSET_PRESENT);
        assert_int_equal(lh_fpset_insert(&set, b), LH_FPSET_PRESENT);
        lh_fpset_close(&set);
    }
}

static void a_file_brings_it_back(void **state)
{
    (void)state;
    struct lh_fpset set;
    struct lh_fpset again;
    assert_true(lh_fpset_open(&set, 300));
    put(&set, 0, 2600);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(lh_fpset_save(&set, &(struct lh_summed_file){.file = file}));
    rewind(file);
    assert_true(lh_fpset_load(&again, &(struct lh_summed_file){.file = file}));
    expect_exactly(&again, 2600);
    lh_fpset_close(&again);
    rewind(file);
    assert_int_equal(ftruncate(fileno(file), 1000), 0);
    assert_false(lh_fpset_load(&again, &(struct lh_summed_file){.file = file}));
    fclose(file);
    lh_fpset_close(&set);
}

enum { THREADS = 4, SHARED = 40000 };

static void *put_shared(void *argument)
{
    struct lh_fpset *set = argument;
    uintptr_t added = 0;
    for (uint64_t n = 0; n < SHARED; n++)
        added += lh_fpset_insert(set, nth(n)) == LH_FPSET_NEW;
    return (void *)added;
}

static void threads_count_each_once(void **state)
{
    (void)state;
    struct lh_fpset set;
    pthread_t threads[THREADS];
    uintptr_t total = 0;
    assert_true(lh_fpset_open(&set, lh_fpset_buckets_for(SHARED)));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_shared, &set), 0);
    for (int i = 0; i < THREADS; i++) {
        void *added;
        pthread_join(threads[i], &added);
        total += (uintptr_t)added;
    }
    assert_int_equal(total, SHARED);
    expect_exactly(&set, SHARED);
    lh_fpset_close(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_what_its_size_promises),
        cmocka_unit_test(a_state_costs_at_most_eight_bytes),
        cmocka_unit_test(it_says_when_it_is_full),
        cmocka_unit_test(growth_keeps_everything),
        cmocka_unit_test(every_effective_bit_counts),
        cmocka_unit_test(a_file_brings_it_back),
        cmocka_unit_test(threads_count_each_once),
    };
    return cmocka_run_group_tests_name("check_fpset", tests, NULL, NULL);
}
