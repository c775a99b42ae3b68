// Closed standard descriptors are filled, and what is not a regular file is refused without waiting.
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/leasehold-file-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

// In a child in which those descriptors of 0..2 are closed whose bit is set. Returns 0 if each of
// them is there afterwards and can be used in the wrong direction only.
static int fill_in_child(unsigned closed)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        int wrong = 0;
        for (int fd = 0; fd <= 2; fd++) {
            if ((closed & (1U << fd)) != 0)
                close(fd);
        }
        wrong |= !lh_file_fill_standard();
        for (int fd = 0; fd <= 2; fd++)
            wrong |= fcntl(fd, F_GETFD) < 0;
        if ((closed & 1) != 0)
            wrong |= read(0, &byte, 1) >= 0;
        if ((closed & 2) != 0)
            wrong |= write(1, &byte, 1) >= 0;
        if ((closed & 4) != 0)
            wrong |= write(2, &byte, 1) >= 0;
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void closed_standard_descriptors_are_filled(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; closed++)
        assert_int_equal(fill_in_child(closed), 0);
}

static void those_that_are_open_stay(void **state)
{
    (void)state;
    struct stat before[3], after;
    for (int fd = 0; fd <= 2; fd++)
        assert_int_equal(fstat(fd, &before[fd]), 0);
    assert_true(lh_file_fill_standard());
    for (int fd = 0; fd <= 2; fd++) {
        assert_int_equal(fstat(fd, &after), 0);
        assert_true(before[fd].st_ino == after.st_ino && before[fd].st_dev == after.st_dev);
    }
}

static void a_regular_file_is_opened_or_made(void **state)
{
    (void)state;
    const char *reason = NULL;
    char bytes[3] = "";
    assert_int_equal(lh_file_open(path, O_RDONLY, &reason), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(reason, strerror(ENOENT));
    int file = lh_file_open(path, O_WRONLY | O_CREAT, &reason);
    assert_true(file >= 0);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(file, "ab", 2), 2);
    close(file);
    file = lh_file_open(path, O_RDONLY, &reason);
    assert_int_equal(read(file, bytes, 2), 2);
    assert_string_equal(bytes, "ab");
    close(file);
}

// Neither to read nor to write; an alarm ends a test that waits.
static void assert_refused(const char *what)
{
    static const int flags[] = {O_RDONLY, O_WRONLY | O_CREAT | O_APPEND};
    alarm(10);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const char *reason = NULL;
        assert_int_equal(lh_file_open(what, flags[i], &reason), -1);
        assert_string_equal(reason, "not a regular file");
    }
    alarm(0);
}

static void a_fifo_is_refused_at_once(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path);
    const int both = open(path, O_RDWR); // with somebody at the other end, too
    assert_refused(path);
    close(both);
}

static void a_socket_and_a_device_are_refused(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, path);
    assert_int_equal(bind(socket_file, (struct sockaddr *)&address, sizeof address), 0);
    assert_refused(path);
    close(socket_file);
    assert_refused("/dev/null");
}

static void a_directory_is_refused(void **state)
{
    (void)state;
    const char *reason = NULL;
    assert_int_equal(lh_file_open(directory, O_RDONLY, &reason), -1);
    assert_string_equal(reason, "not a regular file");
    assert_int_equal(lh_file_open(directory, O_WRONLY, &reason), -1);
    assert_string_equal(reason, strerror(EISDIR));
}

// In a child with these limits: 0 if what is returned and what holds then are `expected`.
static int raise_in_child(rlim_t soft, rlim_t hard, uint64_t wanted, uint64_t expected)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {soft, hard};
        int wrong = setrlimit(RLIMIT_NOFILE, &limit) != 0;
        wrong |= lh_file_raise_limit(wanted) != expected;
        wrong |= getrlimit(RLIMIT_NOFILE, &limit) != 0;
        _exit(wrong || limit.rlim_cur != expected || limit.rlim_max != hard);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void the_limit_is_raised_as_far_as_it_may_be(void **state)
{
    (void)state;
    assert_int_equal(raise_in_child(50, 100, 49, 50), 0);
    assert_int_equal(raise_in_child(50, 100, 50, 50), 0);
    assert_int_equal(raise_in_child(50, 100, 51, 51), 0);
    assert_int_equal(raise_in_child(50, 100, 100, 100), 0);
    assert_int_equal(raise_in_child(50, 100, 101, 100), 0);
    assert_int_equal(raise_in_child(100, 100, 101, 100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_standard_descriptors_are_filled),
        cmocka_unit_test(those_that_are_open_stay),
        cmocka_unit_test_setup_teardown(a_regular_file_is_opened_or_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fifo_is_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_socket_and_a_device_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_is_refused, set_up, tear_down),
        cmocka_unit_test(the_limit_is_raised_as_far_as_it_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
