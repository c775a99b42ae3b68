// Witnesses: each fails in its own way without its rule and not at all with it; an unrelated
// failure does not pass for it, and a failure with the rule restored is told apart.
#include "check/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// All fifteen known to the paper's repository; two need the log.
static const char *const names[] = {
    "insufficient-quarantine",         "owner-only-release",     "duplicate-quorum-counting",
    "ballot-reuse-after-restart",      "skipped-paxos-recovery", "unfenced-external-effect",
    "nonintersecting-reconfiguration", "unsafe-clock-source",    "renewal-without-quorum",
    "stale-accept-overwrites-newer",   "late-promise-reuse",     "stale-owner-open",
    "split-brain-read-without-fence",  "suspended-event-loop",   "unsigned-expiry-underflow",
};
#define NAMES (sizeof names / sizeof names[0])

static struct lh_witness_world *world_of(const char *name, bool weak)
{
    struct lh_witness_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    lh_witness_run(lh_witness_find(name), weak, world);
    return world;
}

static bool says(const struct lh_witness_world *world, const char *words)
{
    for (unsigned i = 0; i < world->step_count; i++)
        if (strstr(world->steps[i], words) != NULL)
            return true;
    return false;
}

static void all_fifteen_are_there_and_two_wait(void **state)
{
    (void)state;
    size_t waiting = 0;
    assert_int_equal(lh_witness_count(), NAMES);
    for (size_t i = 0; i < NAMES; i++) {
        const struct lh_witness *witness = lh_witness_find(names[i]);
        assert_non_null(witness);
        assert_ptr_equal(witness, lh_witness_at(i));
        waiting += witness->failure == NULL;
    }
    assert_int_equal(waiting, 2);
    assert_null(lh_witness_find("skipped"));
}

static void each_shows_exactly_its_failure_and_nothing_with_the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < lh_witness_count(); i++) {
        const struct lh_witness *witness = lh_witness_at(i);
        if (witness->failure == NULL)
            continue;
        struct lh_witness_world *weakened = world_of(witness->name, true);
        struct lh_witness_world *restored = world_of(witness->name, false);
        assert_string_equal(weakened->failure, witness->failure);
        assert_string_equal(restored->failure, "");
        assert_int_equal(lh_witness_judge(witness, weakened, restored), LH_WITNESS_AS_EXPECTED);
        assert_true(weakened->step_count < LH_WITNESS_STEPS);
        assert_true(restored->step_count > 4);
        free(weakened);
        free(restored);
    }
}

// The rule, and not some accident, is what stops it.
static void with_the_rule_it_is_the_rule_that_refuses(void **state)
{
    (void)state;
    static const char *const refusals[][2] = {
        {"insufficient-quarantine", "a1 drops Prepare(2): silent until 2541 ms"},
        {"owner-only-release", "a1 gets Release(1): it clears nothing"},
        {"duplicate-quorum-counting", "p1 sends no Accept(1)"},
        {"ballot-reuse-after-restart", "p1 reads the promise of a1 for 1: not open, 0 of 2"},
        {"unfenced-external-effect", "the resource refuses p1's write: token 1, it has seen 2"},
        {"nonintersecting-reconfiguration", "a4 drops Prepare(2): silent until 3041 ms"},
        {"unsafe-clock-source", "p1 reads 2500 ms and knows that it has ended"},
        {"renewal-without-quorum", "p1 reads the Accepted of a1 for 2: 1 of 2"},
        {"stale-accept-overwrites-newer", "a1 rejects 1: it promised 2"},
        {"late-promise-reuse", "p1 sends no Accept(1): its td has come"},
        {"stale-owner-open", "p1 reads the promise of a1 for 3: not open, 0 of 2"},
        {"suspended-event-loop", "p3 reads the Accepted of a3 for 2: nothing comes of it"},
        {"unsigned-expiry-underflow", "p1 reads the Accepted of a2 for 1: nothing comes of it"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct lh_witness_world *restored = world_of(refusals[i][0], false);
        struct lh_witness_world *weakened = world_of(refusals[i][0], true);
        if (!says(restored, refusals[i][1]) || says(weakened, refusals[i][1]))
            fail_msg("%s: %s", refusals[i][0], refusals[i][1]);
        free(restored);
        free(weakened);
    }
}

// Every schedule of the protocol that ends in two owners really has two.
static void two_owners_are_two(void **state)
{
    (void)state;
    static const char *const both[] = {"owner-only-release", "ballot-reuse-after-restart",
                                       "renewal-without-quorum", "stale-accept-overwrites-newer"};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        struct lh_witness_world *weakened = world_of(both[i], true);
        assert_true(says(weakened, "FAILURE: two owners at once"));
        free(weakened);
    }
}

static void an_unrelated_failure_does_not_pass(void **state)
{
    (void)state;
    const struct lh_witness *witness = lh_witness_find("owner-only-release");
    struct lh_witness_world *weakened = world_of("owner-only-release", true);
    struct lh_witness_world *restored = world_of("owner-only-release", false);
    strcpy(weakened->failure, "two owners at once: p1 under 1, p2 under 2");
    assert_int_equal(lh_witness_judge(witness, weakened, restored), LH_WITNESS_DIFFERS);
    strcpy(weakened->failure, "");
    assert_int_equal(lh_witness_judge(witness, weakened, restored), LH_WITNESS_DIFFERS);
    strcpy(weakened->failure, witness->failure);
    strcpy(restored->failure, witness->failure);
    assert_int_equal(lh_witness_judge(witness, weakened, restored), LH_WITNESS_VIOLATED);
    assert_int_equal(
        lh_witness_judge(lh_witness_find("skipped-paxos-recovery"), weakened, restored),
        LH_WITNESS_WAITS);
    free(weakened);
    free(restored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_fifteen_are_there_and_two_wait),
        cmocka_unit_test(each_shows_exactly_its_failure_and_nothing_with_the_rule),
        cmocka_unit_test(with_the_rule_it_is_the_rule_that_refuses),
        cmocka_unit_test(two_owners_are_two),
        cmocka_unit_test(an_unrelated_failure_does_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
