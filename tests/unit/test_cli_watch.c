// What `leasehold watch` makes of a daemon's messages: which change it is, what is news, what was
// left out, and what is no message.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/watch_line.h"

static struct lh_watched lease;
static struct lh_watch_line line;
static bool revoked;

static void take(unsigned connection, int64_t sequence, const char *state, int token, int node,
                 const char *holder)
{
    char json[256];
    struct lh_watch_message message;
    snprintf(json, sizeof json,
             "{\"seq\":%" PRId64
             ",\"name\":\"x\",\"state\":\"%s\",\"token\":%d,\"holder\":\"%s\",\"node\":%d,"
             "\"remaining_ms\":70,\"revoked\":%s}",
             sequence, state, token, holder, node, revoked ? "true" : "false");
    assert_true(lh_watch_message_read(lh_slice_of_string(json), &message));
    assert_string_equal(message.name, "x");
    lh_watch_take(&lease, connection, &message, 5, &line);
}

static void expect(enum lh_watch_event event, bool news)
{
    assert_int_equal(line.event, event);
    assert_int_equal(line.news, news);
    assert_int_equal(line.missed, 0);
}

static int begin(void **state)
{
    (void)state;
    lease = (struct lh_watched){.name = "x"};
    revoked = false;
    return 0;
}

static void tells_a_revocation_once(void **state)
{
    (void)state;
    take(1, 1, "held", 7, 2, "ada");
    revoked = true;
    take(1, 2, "held", 7, 2, "ada");
    expect(LH_WATCH_REVOKED, true);
    take(1, 3, "held", 7, 2, "ada");
    expect(LH_WATCH_PRESENT, false);
    take(2, 1, "held", 0, 2, ""); // the owner is silent
    expect(LH_WATCH_PRESENT, false);
    assert_true(line.state.revoked);
    revoked = false;
    take(2, 2, "held", 9, 2, "ada");
    expect(LH_WATCH_CHANGED, true);
    assert_false(line.state.revoked);
}

static void tells_each_change(void **state)
{
    (void)state;
    take(1, 1, "free", 0, 0, "");
    expect(LH_WATCH_PRESENT, true);
    take(1, 2, "held", 7, 2, "ada");
    expect(LH_WATCH_GAINED, true);
    assert_int_equal(line.remaining_ms, 70);
    take(1, 3, "held", 9, 3, "bob");
    expect(LH_WATCH_CHANGED, true);
    assert_int_equal(line.previous.token, 7);
    assert_string_equal(line.previous.holder, "ada");
    assert_int_equal(line.state.token, 9);
    take(1, 4, "free", 0, 0, "");
    expect(LH_WATCH_LOST, true);
    assert_string_equal(line.previous.holder, "bob");
}

static void another_connection_tells_what_changed_meanwhile(void **state)
{
    (void)state;
    take(1, 1, "held", 7, 2, "ada");
    expect(LH_WATCH_PRESENT, true);
    take(2, 1, "held", 7, 2, "ada"); // nothing
    expect(LH_WATCH_PRESENT, false);
    take(3, 1, "held", 9, 2, "ada");
    expect(LH_WATCH_CHANGED, true);
    take(4, 1, "free", 0, 0, "");
    expect(LH_WATCH_LOST, true);
}

static void not_knowing_is_no_change(void **state)
{
    (void)state;
    take(1, 1, "held", 7, 2, "ada");
    take(2, 1, "unknown", 0, 0, "");
    expect(LH_WATCH_UNKNOWN, true);
    assert_true(lease.unknown);
    take(3, 1, "unknown", 0, 0, ""); // said already
    expect(LH_WATCH_UNKNOWN, false);
    take(3, 2, "held", 7, 2, "ada"); // `unknown` was told last
    expect(LH_WATCH_PRESENT, true);
    assert_false(lease.unknown);
    take(4, 1, "unknown", 0, 0, "");
    take(4, 2, "free", 0, 0, "");
    expect(LH_WATCH_LOST, true);
}

// A majority knows that node 2 has it, and node 2 does not answer.
static void an_owner_that_says_nothing_still_has_it(void **state)
{
    (void)state;
    take(1, 1, "held", 0, 2, "");
    expect(LH_WATCH_PRESENT, true);
    take(1, 2, "held", 7, 2, "ada");
    expect(LH_WATCH_PRESENT, true);
    take(2, 1, "held", 0, 2, "");
    expect(LH_WATCH_PRESENT, false);
    assert_int_equal(line.state.token, 7);
    assert_true(line.remaining_ms < 0); // which is not known then
    take(2, 2, "held", 7, 2, "ada");    // it speaks again: as it was
    expect(LH_WATCH_PRESENT, false);
    take(3, 1, "held", 0, 3, "");
    expect(LH_WATCH_CHANGED, true);
}

static void counts_what_was_left_out(void **state)
{
    (void)state;
    take(1, 1, "free", 0, 0, "");
    take(1, 5, "held", 7, 2, "ada");
    assert_int_equal(line.missed, 3);
    assert_int_equal(line.event, LH_WATCH_GAINED);
    take(1, 6, "free", 0, 0, "");
    assert_int_equal(line.missed, 0);
    take(2, 1, "free", 0, 0, ""); // counted anew
    assert_int_equal(line.missed, 0);
    take(2, INT64_MAX, "free", 0, 0, "");
    assert_int_equal(line.missed, INT64_MAX - 2);
    take(2, INT64_MAX, "free", 0, 0, "");
    assert_int_equal(line.missed, 0);
}

static void refuses_what_is_no_message(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{\"seq\":1}",
        "{\"seq\":1,\"name\":\"x\",\"state\":\"lost\",\"holder\":\"\"}",
        "{\"seq\":1,\"name\":\"x\",\"state\":\"held\"}",
        "{\"seq\":0,\"name\":\"x\",\"state\":\"free\"}",
        "{\"seq\":\"1\",\"name\":\"x\",\"state\":\"free\"}",
        "{\"seq\":1,\"name\":\"x\",\"state\":\"held\",\"holder\":\"a\\u001b[2J\"}",
    };
    struct lh_watch_message message = {.sequence = 44};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(lh_watch_message_read(lh_slice_of_string(bad[i]), &message));
        assert_int_equal(message.sequence, 44);
    }
    assert_true(lh_watch_message_read(
        lh_slice_of_string("{\"seq\":1,\"name\":\"x\",\"state\":\"free\"}"), &message));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tells_each_change, begin),
        cmocka_unit_test_setup(tells_a_revocation_once, begin),
        cmocka_unit_test_setup(another_connection_tells_what_changed_meanwhile, begin),
        cmocka_unit_test_setup(not_knowing_is_no_change, begin),
        cmocka_unit_test_setup(an_owner_that_says_nothing_still_has_it, begin),
        cmocka_unit_test_setup(counts_what_was_left_out, begin),
        cmocka_unit_test(refuses_what_is_no_message),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
