// The acceptor's table: found by key whatever the chains look like, full without harm, forgetting
// only what F1 allows, and raising the floor (F2) when it does.
#include "lease/acceptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MINE(counter) lh_ballot_make(counter, 1, 1)

static struct lh_instant at(int64_t ns)
{
    return (struct lh_instant){ns};
}

static struct lh_duration lasting(int64_t ns)
{
    return (struct lh_duration){ns};
}

// Keys of one bucket, whatever the number of buckets: they differ above bit 32 only.
static struct lh_key key(uint64_t number)
{
    return (struct lh_key){{number << 32, number}};
}

struct table {
    struct lh_acceptors acceptors;
    void *memory;
};

static struct table table_of(uint32_t capacity)
{
    struct table table;
    table.memory = calloc(1, lh_acceptors_size(capacity));
    assert_non_null(table.memory);
    lh_acceptors_init(&table.acceptors, table.memory, capacity);
    return table;
}

static struct lh_acceptor_record *promise(struct table *table, uint64_t number, int64_t now_ns,
                                          lh_ballot ballot)
{
    struct lh_acceptor_record *record =
        lh_acceptors_touch(&table->acceptors, key(number), at(now_ns));
    assert_non_null(record);
    assert_int_equal(lh_acceptor_prepare(record, at(now_ns), ballot).verdict, LH_PROMISED);
    return record;
}

// Looks at every record once, two a call.
static unsigned forget_all(struct table *table, int64_t now_ns, int64_t quarantine_ns)
{
    unsigned forgotten = 0;
    for (uint32_t looked = 0; looked < table->acceptors.used; looked += 2)
        forgotten += lh_acceptors_forget(&table->acceptors, at(now_ns), lasting(quarantine_ns));
    return forgotten;
}

static void a_name_is_known_once_touched(void **state)
{
    (void)state;
    struct table table = table_of(4);
    assert_null(lh_acceptors_find(&table.acceptors, key(1)));
    struct lh_acceptor_record *record = lh_acceptors_touch(&table.acceptors, key(1), at(7));
    assert_ptr_equal(lh_acceptors_find(&table.acceptors, key(1)), record);
    assert_ptr_equal(lh_acceptors_touch(&table.acceptors, key(1), at(8)), record);
    assert_int_equal(table.acceptors.count, 1);
    assert_null(lh_acceptors_find(&table.acceptors, key(2)));
    free(table.memory);
}

static void names_of_one_bucket_stay_apart(void **state)
{
    (void)state;
    struct table table = table_of(8);
    for (uint64_t i = 1; i <= 8; i++)
        promise(&table, i, 1, MINE(i));
    for (uint64_t i = 1; i <= 8; i++)
        assert_int_equal(lh_acceptors_find(&table.acceptors, key(i))->promised, MINE(i));
    free(table.memory);
}

static void names_that_differ_in_one_word_stay_apart(void **state)
{
    (void)state;
    struct table table = table_of(8);
    const struct lh_key one = {{5, 6}}, other = {{5, 7}};
    lh_acceptors_touch(&table.acceptors, one, at(1));
    assert_null(lh_acceptors_find(&table.acceptors, other));
    assert_int_not_equal(lh_acceptors_touch(&table.acceptors, other, at(1)) -
                             lh_acceptors_find(&table.acceptors, one),
                         0);
    free(table.memory);
}

static void a_full_table_knows_what_it_knew(void **state)
{
    (void)state;
    struct table table = table_of(3);
    for (uint64_t i = 1; i <= 3; i++)
        promise(&table, i, 1, MINE(i));
    assert_null(lh_acceptors_touch(&table.acceptors, key(4), at(1)));
    assert_non_null(lh_acceptors_touch(&table.acceptors, key(3), at(1)));
    assert_int_equal(table.acceptors.count, 3);
    free(table.memory);
}

static void F1_forgets_at_the_quarantine_and_not_one_nanosecond_early(void **state)
{
    (void)state;
    struct table table = table_of(4);
    promise(&table, 1, 100, MINE(5));
    assert_int_equal(forget_all(&table, 149, 50), 0);
    assert_non_null(lh_acceptors_find(&table.acceptors, key(1)));
    assert_int_equal(forget_all(&table, 150, 50), 1);
    assert_null(lh_acceptors_find(&table.acceptors, key(1)));
    assert_int_equal(table.acceptors.count, 0);
    free(table.memory);
}

static void F1_forgets_no_live_lease(void **state)
{
    (void)state;
    struct table table = table_of(4);
    struct lh_acceptor_record *record = promise(&table, 1, 100, MINE(5));
    lh_acceptor_accept(record, at(100), MINE(5), LH_BALLOT_NONE, lasting(1000));
    assert_int_equal(forget_all(&table, 1099, 0), 0);
    assert_int_equal(forget_all(&table, 1100, 0), 1);
    free(table.memory);
}

static void F1_looks_at_two_records_a_call(void **state)
{
    (void)state;
    struct table table = table_of(8);
    for (uint64_t i = 1; i <= 5; i++)
        promise(&table, i, 100, MINE(i));
    assert_int_equal(lh_acceptors_forget(&table.acceptors, at(500), lasting(50)), 2);
    assert_int_equal(lh_acceptors_forget(&table.acceptors, at(500), lasting(50)), 2);
    assert_int_equal(lh_acceptors_forget(&table.acceptors, at(500), lasting(50)), 1);
    assert_int_equal(table.acceptors.count, 0);
    free(table.memory);
}

static void F1_an_empty_table_forgets_nothing(void **state)
{
    (void)state;
    struct table table = table_of(1);
    assert_int_equal(lh_acceptors_forget(&table.acceptors, at(500), lasting(0)), 0);
    promise(&table, 1, 100, MINE(1));
    assert_int_equal(lh_acceptors_forget(&table.acceptors, at(500), lasting(0)), 1);
    assert_int_equal(lh_acceptors_forget(&table.acceptors, at(500), lasting(0)), 0);
    free(table.memory);
}

static void F1_a_forgotten_record_serves_another_name(void **state)
{
    (void)state;
    struct table table = table_of(2);
    promise(&table, 1, 100, MINE(1));
    promise(&table, 2, 400, MINE(2));
    assert_int_equal(forget_all(&table, 420, 50), 1);
    promise(&table, 3, 420, MINE(3));
    assert_null(lh_acceptors_find(&table.acceptors, key(1)));
    assert_int_equal(lh_acceptors_find(&table.acceptors, key(2))->promised, MINE(2));
    assert_int_equal(lh_acceptors_find(&table.acceptors, key(3))->promised, MINE(3));
    assert_null(lh_acceptors_touch(&table.acceptors, key(4), at(420)));
    free(table.memory);
}

static void F2_forgetting_raises_the_floor_to_what_was_promised(void **state)
{
    (void)state;
    struct table table = table_of(4);
    promise(&table, 1, 100, MINE(5));
    promise(&table, 2, 100, MINE(9));
    promise(&table, 3, 100, MINE(7));
    forget_all(&table, 149, 50);
    assert_int_equal(table.acceptors.floor, LH_BALLOT_NONE);
    forget_all(&table, 150, 50);
    assert_int_equal(table.acceptors.floor, MINE(9));
    free(table.memory);
}

static void F2_an_unknown_name_behaves_as_promised_at_the_floor(void **state)
{
    (void)state;
    struct table table = table_of(4);
    promise(&table, 1, 100, MINE(5));
    forget_all(&table, 150, 50);
    struct lh_acceptor_record *record = lh_acceptors_touch(&table.acceptors, key(2), at(150));
    assert_int_equal(lh_acceptor_prepare(record, at(150), MINE(5) - 1).verdict, LH_REJECTED);
    assert_int_equal(lh_acceptor_prepare(record, at(150), MINE(5)).verdict, LH_PROMISED);
    assert_int_equal(
        lh_acceptor_accept(record, at(150), MINE(5), LH_BALLOT_NONE, lasting(9)).verdict,
        LH_REJECTED);
    free(table.memory);
}

static void F2_the_floor_never_falls(void **state)
{
    (void)state;
    struct table table = table_of(4);
    table.acceptors.floor = MINE(9);
    promise(&table, 1, 100, MINE(9) + 1);
    forget_all(&table, 150, 50);
    assert_int_equal(table.acceptors.floor, MINE(9) + 1);
    lh_acceptors_touch(&table.acceptors, key(2), at(200));
    forget_all(&table, 250, 50);
    assert_int_equal(table.acceptors.floor, MINE(9) + 1);
    free(table.memory);
}

static void F4_a_record_comes_back_as_it_was_saved(void **state)
{
    (void)state;
    struct table table = table_of(3);
    table.acceptors.floor = MINE(9); // nothing of it shows in what is restored
    const struct lh_acceptor_record saved[] = {
        {key(1), MINE(5), MINE(4), at(700), 12},  // a lease that may live
        {key(2), MINE(6), MINE(6), LH_PAST, 300}, // cleared
        {{{0, 0}}, MINE(7), LH_BALLOT_NONE, LH_PAST, 100},
    };
    for (unsigned i = 0; i < 3; i++)
        assert_true(lh_acceptors_restore(&table.acceptors, &saved[i]));
    assert_int_equal(table.acceptors.count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_memory_equal(lh_acceptors_find(&table.acceptors, saved[i].key), &saved[i],
                            sizeof saved[i]);
    assert_int_equal(
        lh_acceptor_prepare(lh_acceptors_find(&table.acceptors, key(1)), at(699), MINE(5)).reported,
        MINE(4));
    free(table.memory);
}

static void F4_what_does_not_fit_is_not_restored(void **state)
{
    (void)state;
    struct table table = table_of(1);
    const struct lh_acceptor_record one = {key(1), MINE(5), MINE(5), LH_PAST, 1};
    const struct lh_acceptor_record other = {key(2), MINE(5), MINE(5), LH_PAST, 1};
    assert_true(lh_acceptors_restore(&table.acceptors, &one));
    assert_false(lh_acceptors_restore(&table.acceptors, &other));
    assert_int_equal(table.acceptors.count, 1);
    assert_null(lh_acceptors_find(&table.acceptors, key(2)));
    free(table.memory);
}

// F1 counts from when it was touched in its first life.
static void F4_a_restored_name_is_forgotten_when_it_would_have_been(void **state)
{
    (void)state;
    struct table table = table_of(2);
    const struct lh_acceptor_record promised = {key(1), MINE(5), MINE(2), LH_PAST, 100};
    const struct lh_acceptor_record leased = {key(2), MINE(6), MINE(6), at(130), 0};
    lh_acceptors_restore(&table.acceptors, &promised);
    lh_acceptors_restore(&table.acceptors, &leased);
    assert_int_equal(forget_all(&table, 149, 50), 0);
    assert_int_equal(forget_all(&table, 150, 50), 1);
    assert_int_equal(table.acceptors.floor, MINE(5));
    assert_int_equal(forget_all(&table, 179, 50), 0);
    assert_int_equal(forget_all(&table, 180, 50), 1);
    assert_int_equal(table.acceptors.floor, MINE(6));
    free(table.memory);
}

static void only_names_are_in_use(void **state)
{
    (void)state;
    struct table table = table_of(2);
    promise(&table, 1, 100, MINE(5));
    promise(&table, 2, 200, MINE(6));
    forget_all(&table, 150, 50);
    assert_int_equal(table.acceptors.used, 2);
    assert_false(lh_acceptors_in_use(&table.acceptors.records[0]));
    assert_true(lh_acceptors_in_use(&table.acceptors.records[1]));
    // A name whose hash is zero is one all the same.
    struct lh_acceptor_record *zero = lh_acceptors_touch(&table.acceptors, key(0), at(200));
    lh_acceptor_prepare(zero, at(200), MINE(1));
    assert_true(lh_acceptors_in_use(zero));
    free(table.memory);
}

// Touching and forgetting at random, against an array that remembers everything.
static void the_table_agrees_with_a_dumb_twin(void **state)
{
    (void)state;
    enum { NAMES = 40, CAPACITY = 24 };
    int64_t touched[NAMES] = {0};
    struct table table = table_of(CAPACITY);
    uint64_t random = 1;
    int64_t now = 1000;
    for (int step = 0; step < 50000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint64_t name = (random >> 33) % NAMES;
        now += (int64_t)(random >> 60);
        lh_acceptors_forget(&table.acceptors, at(now), lasting(100));
        struct lh_acceptor_record *record =
            lh_acceptors_touch(&table.acceptors, key(name + 1), at(now));
        if (record == NULL) {
            assert_int_equal(table.acceptors.count, CAPACITY);
        } else {
            lh_acceptor_prepare(record, at(now), MINE((uint64_t)now));
            touched[name] = now;
        }
        uint32_t known = 0;
        for (uint64_t i = 0; i < NAMES; i++) {
            const bool found = lh_acceptors_find(&table.acceptors, key(i + 1)) != NULL;
            known += found ? 1 : 0;
            if (!found && touched[i] != 0) {
                assert_true(touched[i] + 100 <= now);
                touched[i] = 0;
            }
            assert_true(!found || touched[i] != 0);
        }
        assert_int_equal(known, table.acceptors.count);
    }
    free(table.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_known_once_touched),
        cmocka_unit_test(names_of_one_bucket_stay_apart),
        cmocka_unit_test(names_that_differ_in_one_word_stay_apart),
        cmocka_unit_test(a_full_table_knows_what_it_knew),
        cmocka_unit_test(F1_forgets_at_the_quarantine_and_not_one_nanosecond_early),
        cmocka_unit_test(F1_forgets_no_live_lease),
        cmocka_unit_test(F1_looks_at_two_records_a_call),
        cmocka_unit_test(F1_an_empty_table_forgets_nothing),
        cmocka_unit_test(F1_a_forgotten_record_serves_another_name),
        cmocka_unit_test(F2_forgetting_raises_the_floor_to_what_was_promised),
        cmocka_unit_test(F2_an_unknown_name_behaves_as_promised_at_the_floor),
        cmocka_unit_test(F2_the_floor_never_falls),
        cmocka_unit_test(F4_a_record_comes_back_as_it_was_saved),
        cmocka_unit_test(F4_what_does_not_fit_is_not_restored),
        cmocka_unit_test(F4_a_restored_name_is_forgotten_when_it_would_have_been),
        cmocka_unit_test(only_names_are_in_use),
        cmocka_unit_test(the_table_agrees_with_a_dumb_twin),
    };
    return cmocka_run_group_tests_name("acceptors", tests, NULL, NULL);
}
