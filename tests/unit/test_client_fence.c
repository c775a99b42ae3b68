// Fences refuse what is smaller than they have seen, on both sides of the edge, across processes and
// crashes in the midst of a write.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leasehold/fence.h"

static char directory[64];
static char path[96];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/lh-fence-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/f", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory); // so nothing else was left there
}

static struct lh_fence *open_fence(void)
{
    struct lh_fence *fence = NULL;
    assert_int_equal(lh_fence_open(path, &fence), LH_OK);
    return fence;
}

static enum lh_return admit(int64_t token)
{
    struct lh_fence *fence = open_fence();
    enum lh_return result = lh_fence_enter(fence, token);
    lh_fence_close(fence);
    return result;
}

// Overwrites one byte of the file.
static void damage(off_t offset)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static void test_scenario_6_a_word_refuses_41_after_42(void **state)
{
    (void)state;
    int64_t word = 0;
    assert_false(lh_fence_word_admit(&word, 0));
    assert_false(lh_fence_word_admit(&word, -1));
    assert_true(lh_fence_word_admit(&word, 41));
    assert_true(lh_fence_word_admit(&word, 41));
    assert_true(lh_fence_word_admit(&word, 42));
    assert_false(lh_fence_word_admit(&word, 41));
    assert_true(lh_fence_word_admit(&word, 42));
    assert_int_equal(word, 42);
    assert_true(lh_fence_word_admit(&word, INT64_MAX));
    assert_false(lh_fence_word_admit(&word, INT64_MAX - 1));
}

static void test_scenario_6_a_file_refuses_41_after_42(void **state)
{
    (void)state;
    assert_int_equal(admit(41), LH_OK);
    assert_int_equal(admit(41), LH_OK);
    assert_int_equal(admit(42), LH_OK);
    assert_int_equal(admit(41), LH_STALE);
    assert_int_equal(admit(42), LH_OK);
    assert_int_equal(admit(0), LH_ARGUMENT);
    struct lh_fence *fence = open_fence();
    int64_t greatest = 0;
    assert_int_equal(lh_fence_greatest(fence, &greatest), LH_OK);
    assert_int_equal(greatest, 42);
    assert_int_equal(lh_fence_enter(fence, 43), LH_OK);
    assert_int_equal(lh_fence_enter(fence, 43), LH_STATE);
    lh_fence_leave(fence);
    lh_fence_leave(fence);
    assert_int_equal(lh_fence_enter(fence, 42), LH_STALE);
    assert_int_equal(lh_fence_enter(fence, 43), LH_OK);
    lh_fence_close(fence);
}

static void test_a_new_fence_has_admitted_nothing(void **state)
{
    (void)state;
    struct stat status;
    int64_t greatest = -1;
    struct lh_fence *fence = open_fence();
    assert_int_equal(lh_fence_greatest(fence, &greatest), LH_OK);
    assert_int_equal(greatest, 0);
    lh_fence_close(fence);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(admit(1), LH_OK);
}

// Who acts excludes who comes with a greater token, until it leaves.
static void test_nobody_enters_before_the_other_leaves(void **state)
{
    (void)state;
    int told[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    struct lh_fence *fence = open_fence();
    assert_int_equal(lh_fence_enter(fence, 41), LH_OK);
    pid_t child = fork();
    if (child == 0) {
        struct lh_fence *other;
        bool good = lh_fence_open(path, &other) == LH_OK;
        (void)good;
        _exit(lh_fence_enter(other, 42) == LH_OK && write(told[1], "x", 1) == 1 ? 0 : 1);
    }
    close(told[1]);
    int other = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1); // 41 is inside
    close(other);
    assert_int_equal(fcntl(told[0], F_SETFL, O_NONBLOCK), 0);
    usleep(50000); // a chance to go wrong; the test does not depend on it
    assert_int_equal(read(told[0], &byte, 1), -1);
    lh_fence_leave(fence);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lh_fence_enter(fence, 41), LH_STALE);
    lh_fence_close(fence);
    close(told[0]);
}

// Either record may be torn by a crash or rot: what was acted under is in the other, and is healed.
static void test_one_damaged_record_loses_nothing(void **state)
{
    (void)state;
    for (off_t record = 0; record < 1024; record += 512) {
        for (off_t byte = 0; byte < 24; byte++) {
            int64_t token = 100 + record + byte;
            assert_int_equal(admit(token), LH_OK);
            damage(record + byte);
            assert_int_equal(admit(token - 1), LH_STALE);
            assert_int_equal(admit(token), LH_OK); // heals
            damage(512 - record + byte);
            assert_int_equal(admit(token - 1), LH_STALE);
            assert_int_equal(admit(token), LH_OK);
        }
    }
}

static void test_a_damaged_file_admits_nothing_until_repaired(void **state)
{
    (void)state;
    struct lh_fence *fence = NULL;
    assert_int_equal(admit(7), LH_OK);
    assert_int_equal(lh_fence_repair(path, 9), LH_STATE);
    struct lh_fence *before = open_fence();
    damage(3);
    damage(512 + 9);
    assert_int_equal(lh_fence_open(path, &fence), LH_DAMAGED);
    assert_null(fence);
    assert_int_equal(lh_fence_enter(before, 8), LH_DAMAGED);
    lh_fence_close(before);
    assert_int_equal(lh_fence_repair(path, 0), LH_ARGUMENT);
    assert_int_equal(lh_fence_repair(path, 9), LH_OK);
    assert_int_equal(admit(8), LH_STALE);
    assert_int_equal(admit(9), LH_OK);
    for (off_t size = 0; size < 1024; size += 511) { // 0, 511, 1022
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(lh_fence_open(path, &fence), LH_DAMAGED);
        assert_int_equal(lh_fence_repair(path, 9), LH_OK);
        assert_int_equal(admit(8), LH_STALE);
    }
    // One that is not there is not made: it would begin at 0 and admit every old token.
    assert_int_equal(unlink(path), 0);
    assert_int_equal(lh_fence_repair(path, 9), LH_SYSTEM);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_what_cannot_be_opened_says_so(void **state)
{
    (void)state;
    struct lh_fence *fence = NULL;
    assert_int_equal(lh_fence_open("/nowhere/f", &fence), LH_SYSTEM);
    assert_int_equal(lh_fence_open(directory, &fence), LH_SYSTEM);
    assert_int_equal(lh_fence_open("/dev/null", &fence), LH_SYSTEM);
    assert_null(fence);
}

// A disk that takes no more: not admitted, and admitted later.
static void test_a_write_that_fails_admits_nothing(void **state)
{
    (void)state;
    assert_int_equal(admit(5), LH_OK);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, RLIM_INFINITY};
        struct lh_fence *fence;
        signal(SIGXFSZ, SIG_IGN);
        if (lh_fence_open(path, &fence) != LH_OK || setrlimit(RLIMIT_FSIZE, &none) != 0)
            _exit(2);
        _exit(lh_fence_enter(fence, 6) == LH_SYSTEM && lh_fence_enter(fence, 5) == LH_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(admit(4), LH_STALE);
    assert_int_equal(admit(6), LH_OK);
}

// Many processes at once: whoever is inside finds no greater token than its own acted before.
static void test_processes_that_race_act_in_the_order_of_tokens(void **state)
{
    (void)state;
    char log[110];
    snprintf(log, sizeof log, "%s.log", path);
    for (int64_t worker = 1; worker <= 8; worker++) {
        if (fork() != 0)
            continue;
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        for (int64_t token = worker; token <= 80; token += 8) {
            struct lh_fence *fence;
            if (lh_fence_open(path, &fence) != LH_OK)
                _exit(1);
            if (lh_fence_enter(fence, token) == LH_OK && write(fd, &token, sizeof token) < 0)
                _exit(1);
            lh_fence_close(fence);
        }
        _exit(0);
    }
    int status;
    while (wait(&status) > 0)
        assert_int_equal(status, 0);
    FILE *file = fopen(log, "r");
    int64_t last = 0;
    for (int64_t token; fread(&token, sizeof token, 1, file) == 1; last = token)
        assert_true(token >= last);
    fclose(file);
    unlink(log);
    assert_int_equal(last, 80);
}

#define FENCE_TEST(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario_6_a_word_refuses_41_after_42),
        FENCE_TEST(test_scenario_6_a_file_refuses_41_after_42),
        FENCE_TEST(test_a_new_fence_has_admitted_nothing),
        FENCE_TEST(test_nobody_enters_before_the_other_leaves),
        FENCE_TEST(test_one_damaged_record_loses_nothing),
        FENCE_TEST(test_a_damaged_file_admits_nothing_until_repaired),
        FENCE_TEST(test_what_cannot_be_opened_says_so),
        FENCE_TEST(test_a_write_that_fails_admits_nothing),
        FENCE_TEST(test_processes_that_race_act_in_the_order_of_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
