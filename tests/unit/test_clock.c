// The clock of authority never runs backwards, and the two identities that bind its readings parse
// exactly.
#include "os/clock.h"

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

static void the_time_namespace_parses_exactly(void **state)
{
    (void)state;
    uint64_t inode = 7;
    assert_true(lh_time_namespace_parse("time:[4026531834]", 17, &inode));
    assert_int_equal(inode, 4026531834u);
    assert_true(lh_time_namespace_parse("time:[18446744073709551615]", 27, &inode));
    assert_true(inode == UINT64_MAX);
    inode = 7;
    assert_false(lh_time_namespace_parse("time:[18446744073709551616]", 27, &inode));
    assert_false(lh_time_namespace_parse("time:[]", 7, &inode));
    assert_false(lh_time_namespace_parse("time:[12", 8, &inode));
    assert_false(lh_time_namespace_parse("time:[1a]", 9, &inode));
    assert_false(lh_time_namespace_parse("pid:[123456]", 12, &inode));
    assert_false(lh_time_namespace_parse("", 0, &inode));
    assert_int_equal(inode, 7);
}

static void this_machine_has_both(void **state)
{
    (void)state;
    static const uint8_t zero[LH_KERNEL_BOOT_ID_BYTES];
    uint8_t id[LH_KERNEL_BOOT_ID_BYTES] = {0};
    uint8_t again[LH_KERNEL_BOOT_ID_BYTES] = {0};
    uint64_t inode = 0;
    struct lh_error error;
    assert_true(lh_kernel_boot_id(id, &error));
    assert_true(lh_kernel_boot_id(again, &error));
    assert_memory_equal(id, again, sizeof(id));
    assert_memory_not_equal(id, zero, sizeof(id));
    assert_true(lh_time_namespace(&inode, &error));
    assert_true(lh_clock_realtime_ns() > INT64_C(1600000000) * LH_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_never_fall_and_are_boottime),
        cmocka_unit_test(the_same_or_a_later_reading_follows),
        cmocka_unit_test(an_earlier_reading_aborts_and_says_why),
        cmocka_unit_test(the_boot_id_parses_exactly),
        cmocka_unit_test(the_time_namespace_parses_exactly),
        cmocka_unit_test(this_machine_has_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
