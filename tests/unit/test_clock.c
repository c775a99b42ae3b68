// The clock of authority never runs backwards, and the two facts that bind its readings parse
// exactly.
#include "os/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void readings_never_fall_and_are_boottime(void **state)
{
    (void)state;
    struct timespec before, after;
    struct lh_instant last = LH_PAST;
    clock_gettime(CLOCK_BOOTTIME, &before);
    for (int i = 0; i < 1000; i++) {
        const struct lh_instant now = lh_clock_now();
        assert_false(lh_before(now, last));
        last = now;
    }
    clock_gettime(CLOCK_BOOTTIME, &after);
    assert_true(last.ns >= before.tv_sec * LH_NS_PER_S + before.tv_nsec);
    assert_true(last.ns <= after.tv_sec * LH_NS_PER_S + after.tv_nsec);
}

static void the_same_or_a_later_reading_follows(void **state)
{
    (void)state;
    assert_int_equal(lh_clock_follow((struct lh_instant){5}, (struct lh_instant){5}).ns, 5);
    assert_int_equal(lh_clock_follow((struct lh_instant){5}, (struct lh_instant){6}).ns, 6);
}

static void an_earlier_reading_aborts_and_says_why(void **state)
{
    (void)state;
    int ends[2];
    char said[512];
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        lh_clock_follow((struct lh_instant){6}, (struct lh_instant){5});
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    const ssize_t size = read(ends[0], said, sizeof(said) - 1);
    close(ends[0]);
    assert_true(size > 0);
    said[size] = '\0';
    assert_non_null(strstr(said, "went backwards, from 6 ns to 5 ns"));
}

static void the_boot_id_parses_exactly(void **state)
{
    (void)state;
    static const char text[] = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n";
    static const uint8_t expected[] = {0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x69, 0x78,
                                       0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0};
    uint8_t id[LH_KERNEL_BOOT_ID_BYTES] = {0};
    assert_true(lh_kernel_boot_id_parse(text, sizeof(text) - 1, id));
    assert_memory_equal(id, expected, sizeof(id));
    assert_true(lh_kernel_boot_id_parse(text, sizeof(text) - 2, id));

    memset(id, 7, sizeof(id));
    assert_false(lh_kernel_boot_id_parse(text, sizeof(text) - 3, id));
    assert_false(lh_kernel_boot_id_parse(text, sizeof(text), id)); // with the terminator
    assert_false(lh_kernel_boot_id_parse(text, 0, id));
    for (size_t i = 0; i < sizeof(text) - 2; i++) {
        char bad[sizeof(text)];
        memcpy(bad, text, sizeof(text));
        bad[i] = bad[i] == '-' ? 'a' : 'g';
        assert_false(lh_kernel_boot_id_parse(bad, sizeof(text) - 1, id));
    }
    for (size_t i = 0; i < sizeof(id); i++)
        assert_int_equal(id[i], 7);
}

static bool parse_offset(const char *text, int64_t *ret_offset_ns)
{
    return lh_boottime_offset_parse(text, ret_offset_ns);
}

static void the_boottime_offset_parses_exactly(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "boottime",
        "boottime ",
        "boottime 1",
        "boottime 1 2", // cut
        "boottime 1 2 3\n",
        "boottime x 2\n",
        "boottime 1 x\n",
        "boottime 1 -1\n",
        "boottime 1 1000000000\n",
        "boottime 9223372036 854775808\n",
        "boottime -9223372037 0\n",
        "boottime 99999999999999999999 0\n",
        "boottimes 1 2\n",
        "monotonic 1 2\n",
        "monotonic 1 2 boottime 1 2\n",
        "17 1 2\n",
    };
    int64_t offset = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(parse_offset(bad[i], &offset));
    assert_int_equal(offset, 7);
    assert_true(parse_offset("monotonic           0         0\n"
                             "boottime            0         0\n",
                             &offset));
    assert_int_equal(offset, 0);
    assert_true(parse_offset("monotonic           5         6\nboottime   1000   200\n", &offset));
    assert_int_equal(offset, 1000 * LH_NS_PER_S + 200);
    assert_true(parse_offset("boottime  -3 999999999\nmonotonic 5 6\n", &offset));
    assert_int_equal(offset, -2 * LH_NS_PER_S - 1);
    assert_true(parse_offset("1 5 6\n7 8 9\n", &offset)); // Linux 5.6
    assert_int_equal(offset, 8 * LH_NS_PER_S + 9);
    assert_true(parse_offset("boottime 9223372036 854775807\n", &offset));
    assert_true(offset == INT64_MAX);
}

// In a child, whose children are in another time namespace than itself unless it forks. Returns its
// exit code: 9 where there is no right to make one.
static int offset_in_child(bool fork_again)
{
    static const char wanted[] = "boottime 1234 5678";
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        int64_t offset = 0;
        struct lh_error error = {""};
        if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0)
            _exit(9);
        const int file = open("/proc/self/timens_offsets", O_WRONLY);
        if (write(file, wanted, strlen(wanted)) != (ssize_t)strlen(wanted))
            _exit(9);
        if (!fork_again)
            _exit(lh_boottime_offset(&offset, &error) || error.text[0] == '\0');
        const pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(!lh_boottime_offset(&offset, &error) || offset != 1234 * LH_NS_PER_S + 5678);
        waitpid(grandchild, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_offset_is_that_of_this_process(void **state)
{
    (void)state;
    const int own = offset_in_child(true);
    const int of_children = offset_in_child(false);
    if (own == 9)
        skip();
    assert_int_equal(own, 0);
    assert_int_equal(of_children, 0);
}

static void this_machine_has_both(void **state)
{
    (void)state;
    static const uint8_t zero[LH_KERNEL_BOOT_ID_BYTES];
    uint8_t id[LH_KERNEL_BOOT_ID_BYTES] = {0};
    uint8_t again[LH_KERNEL_BOOT_ID_BYTES] = {0};
    int64_t offset = 0;
    struct lh_error error;
    assert_true(lh_kernel_boot_id(id, &error));
    assert_true(lh_kernel_boot_id(again, &error));
    assert_memory_equal(id, again, sizeof(id));
    assert_memory_not_equal(id, zero, sizeof(id));
    assert_true(lh_boottime_offset(&offset, &error));
    assert_true(lh_clock_realtime_ns() > INT64_C(1600000000) * LH_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_never_fall_and_are_boottime),
        cmocka_unit_test(the_same_or_a_later_reading_follows),
        cmocka_unit_test(an_earlier_reading_aborts_and_says_why),
        cmocka_unit_test(the_boot_id_parses_exactly),
        cmocka_unit_test(the_boottime_offset_parses_exactly),
        cmocka_unit_test(the_offset_is_that_of_this_process),
        cmocka_unit_test(this_machine_has_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
