// Which of several failures is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/reach.h"

static void expect(enum lh_reach first, enum lh_reach second, const char *told)
{
    struct lh_trouble trouble = {.reach = LH_REACH_NOBODY}, taken = trouble,
                      other = {.reach = second};
    lh_trouble_note(&trouble, first, "a", "first");
    lh_trouble_note(&trouble, second, "b", "second");
    assert_string_equal(trouble.error.text, told);
    assert_int_equal(trouble.reach, told[0] == 'a' ? first : second);

    lh_error_set(&other.error, "b: second");
    lh_trouble_note(&taken, first, "a", "first");
    lh_trouble_take(&taken, &other);
    assert_string_equal(taken.error.text, told);
}

static void the_furthest_is_told(void **state)
{
    (void)state;
    for (enum lh_reach reach = LH_REACH_NOBODY; reach < LH_REACH_ANSWER; reach++) {
        expect(reach, reach + 1, "b: second");
        expect(reach + 1, reach, "a: first");
    }
}

static void of_two_as_far_the_last_word_or_the_first_silence(void **state)
{
    (void)state;
    expect(LH_REACH_NOBODY, LH_REACH_NOBODY, "a: first");
    expect(LH_REACH_FORBIDDEN, LH_REACH_FORBIDDEN, "a: first");
    expect(LH_REACH_SILENCE, LH_REACH_SILENCE, "a: first");
    expect(LH_REACH_BROKEN, LH_REACH_BROKEN, "b: second");
    expect(LH_REACH_ANSWER, LH_REACH_ANSWER, "b: second");
}

static void no_quorum_names_a_silent_owner(void **state)
{
    (void)state;
    char why[LH_REACH_WHY_BYTES];
    assert_int_equal(lh_reach_no_quorum(3, LH_SLICE("it is silent"), why), LH_REACH_OWNER);
    assert_string_equal(why, "node 3 holds it and does not answer");
    assert_int_equal(lh_reach_no_quorum(0, LH_SLICE("in quarantine"), why), LH_REACH_ANSWER);
    assert_string_equal(why, "in quarantine");
    assert_int_equal(lh_reach_no_quorum(0, LH_SLICE(""), why), LH_REACH_ANSWER);
    assert_string_equal(why, LH_NO_MAJORITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_furthest_is_told),
        cmocka_unit_test(of_two_as_far_the_last_word_or_the_first_silence),
        cmocka_unit_test(no_quorum_names_a_silent_owner),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
