// `run` in hostile surroundings: a standard error that blocks or is gone. Whatever happens there,
// the command must not outlive the lease. Each wrapper is a process of its own, so that one that
// hangs or is killed fails its test only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>

#include "cli/exit.h"
#include "cli/run_loop.h"
#include "fake_daemon.h"
#include "os/clock.h"

#define GRANTED                                                                                    \
    "status=granted token:=7 holder=$HOLDER ttl-ms:=1000 until-ns:=1000000000 rate-ppm:=0 node:=1"
#define LOST "status=lost reason=revoked until-ns:=0"
#define RELEASED "status=released token:=7"

static const char stubborn[] = "trap '' TERM; while :; do sleep 0.02; done";

// A wrapper of `command` with this standard error.
static pid_t start_wrapper(const char *endpoint, char **command, int standard_error)
{
    pid_t wrapper = fork();
    if (wrapper != 0)
        return wrapper;
    struct lh_run_plan plan = {
        .command = command, .wait = LH_WAIT_FOREVER, .patience = lh_ms(5000)};
    struct lh_lease lease = {.name = "job", .holder = "me"};
    struct lh_client *client;
    struct lh_error error;
    if (!lh_client_open(endpoint, &client, &error))
        _exit(99);
    dup2(standard_error, STDERR_FILENO);
    int exit_code = lh_run_loop(&plan, client, &lease);
    lh_client_close(client);
    _exit(exit_code);
}

static pid_t start_shell(const char *endpoint, const char *script, int standard_error)
{
    char *command[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    return start_wrapper(endpoint, command, standard_error);
}

// What waitpid tells of a wrapper that has 10 s; one that hangs is killed.
static int end_of(pid_t wrapper)
{
    int status = 0;
    struct lh_instant end = lh_after(lh_clock_now(), lh_ms(10000));
    while (waitpid(wrapper, &status, WNOHANG) == 0) {
        if (!lh_before(lh_clock_now(), end))
            kill(wrapper, SIGKILL);
        usleep(2000);
    }
    return status;
}

static void assert_exit(pid_t wrapper, int code)
{
    int status = end_of(wrapper);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

// Writes until no byte more is taken.
static void fill(int fd)
{
    char bytes[4096] = "";
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (size_t size = sizeof bytes; size > 0; size /= 2)
        while (write(fd, bytes, size) > 0)
            ;
    assert_int_equal(errno, EAGAIN);
    fcntl(fd, F_SETFL, 0);
}

// Loses its lease by word and by silence, with a command that only SIGKILL ends.
static void assert_ends_with(int standard_error)
{
    FAKE_START(revoked, GRANTED, LOST);
    assert_exit(start_shell(revoked.path, stubborn, standard_error), LH_EXIT_LOST);
    fake_stop(&revoked);
    FAKE_START(silent, GRANTED, "silent", RELEASED);
    assert_exit(start_shell(silent.path, stubborn, standard_error), LH_EXIT_LOST);
    fake_stop(&silent);
}

static void test_a_full_pipe_that_nobody_reads(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fill(ends[1]);
    assert_ends_with(ends[1]);
    close(ends[0]);
    close(ends[1]);
}

static void test_a_full_socket_that_nobody_reads(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fill(ends[1]);
    assert_ends_with(ends[1]);
    close(ends[0]);
    close(ends[1]);
}

// Ctrl-S.
static void test_a_stopped_terminal(void **state)
{
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(tcflow(terminal, TCOOFF), 0);
    assert_ends_with(terminal);
    close(terminal);
    close(master);
}

// What can be told is told, in one line.
static void test_a_pipe_with_room(void **state)
{
    (void)state;
    int ends[2];
    char text[2000] = "";
    static const char wanted[] = "leasehold run: 'job' is lost: revoked; ending the command (";
    assert_int_equal(pipe(ends), 0);
    FAKE_START(fake, GRANTED, LOST);
    assert_exit(start_shell(fake.path, "exec sleep 60", ends[1]), LH_EXIT_LOST);
    fake_stop(&fake);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_int_equal(strncmp(text, wanted, sizeof wanted - 1), 0);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_pipe_that_nobody_reads),
        cmocka_unit_test(test_a_full_socket_that_nobody_reads),
        cmocka_unit_test(test_a_stopped_terminal),
        cmocka_unit_test(test_a_pipe_with_room),
    };
    return cmocka_run_group_tests_name("cli_run_hostile", tests, NULL, NULL);
}
