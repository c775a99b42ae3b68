// `run` in hostile surroundings: a standard error that blocks or is gone, a command that leaves its
// group. Whatever they do, the command must not outlive the lease. Each wrapper is a process of its own, so that one that
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>

#include "cli/exit.h"
#include "cli/run_loop.h"
#include "fake_daemon.h"
#include "os/clock.h"

#define GRANTED_FOR(ttl_ms)                                                                        \
    "status=granted token:=7 holder=$HOLDER ttl-ms:=" #ttl_ms " until-ns:=" #ttl_ms                \
    "000000 rate-ppm:=0 node:=1"
#define GRANTED GRANTED_FOR(1000)
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
    struct lh_holding lease = {.name = "job", .holder = "me"};
    struct lh_channel *client;
    struct lh_error error;
    if (!lh_channel_open(endpoint, &client, &error))
        _exit(99);
    dup2(standard_error, STDERR_FILENO);
    int exit_code = lh_run_loop(&plan, client, &lease);
    lh_channel_close(client);
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

// Telling the loss must not end the wrapper, which would leave what the command started.
static void test_a_pipe_without_a_reader(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_DFL);
    assert_ends_with(ends[1]);
    close(ends[1]);
}

static void test_a_file_that_may_not_grow(void **state)
{
    (void)state;
    char path[] = "/tmp/lh-run-XXXXXX";
    int fd = mkstemp(path);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit nothing = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    FAKE_START(fake, GRANTED, LOST);
    setrlimit(RLIMIT_FSIZE, &nothing);
    pid_t wrapper = start_shell(fake.path, stubborn, fd);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_exit(wrapper, LH_EXIT_LOST);
    fake_stop(&fake);
    close(fd);
    unlink(path);
}

// One line of /proc/self/status.
static void read_status(const char *key, char *ret_line, size_t size)
{
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(ret_line, (int)size, file) != NULL && strncmp(ret_line, key, strlen(key)) != 0)
        ;
    fclose(file);
    ret_line[strcspn(ret_line, "\n")] = '\0';
}

// No shell between: it would set signals of its own.
static void test_the_command_finds_the_signals_of_the_wrapper_s_parent(void **state)
{
    (void)state;
    static const int signals[] = {SIGPIPE, SIGXFSZ, SIGCHLD};
    static const char *const keys[] = {"SigBlk:", "SigIgn:"};
    for (size_t i = 0; i < 4; i++) {
        char line[64];
        char *command[] = {(char *)"grep", (char *)"-qxF", line, (char *)"/proc/self/status", NULL};
        FAKE_START(fake, GRANTED, RELEASED);
        for (size_t j = 0; j < 3; j++)
            signal(signals[j], i < 2 ? SIG_IGN : SIG_DFL);
        read_status(keys[i % 2], line, sizeof line);
        pid_t wrapper = start_wrapper(fake.path, command, STDERR_FILENO);
        signal(SIGCHLD, SIG_DFL);
        assert_exit(wrapper, 0);
        fake_stop(&fake);
    }
}

// A zombie that nobody reaps, as a child of one who left the group, keeps the group from ending until
// that one is ended, too.
static void test_a_group_that_does_not_end(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "(sleep 0.01 & exec setsid sleep 3) & sleep 60",          // lost
        "(sleep 0.01 & exec setsid sleep 3) & sleep 0.1; exit 5", // ended by itself
    };
    static const int codes[] = {LH_EXIT_LOST, 5};
    for (size_t i = 0; i < 2; i++) {
        FAKE_START(fake, GRANTED, LOST);
        assert_exit(start_shell(fake.path, scripts[i], STDERR_FILENO), codes[i]);
        fake_stop(&fake);
    }
}

// The command of the next test: joins the group of the wrapper and stays there.
static int leave_group(const char *ready)
{
    if (setpgid(0, getpgid(getppid())) != 0)
        return 1;
    close(open(ready, O_WRONLY | O_CREAT, 0600));
    for (;;)
        pause();
}

static void test_a_command_that_left_its_group(void **state)
{
    (void)state;
    char directory[] = "/tmp/lh-run-XXXXXX";
    char ready[64];
    assert_non_null(mkdtemp(directory));
    snprintf(ready, sizeof ready, "%s/ready", directory);
    FAKE_START(fake, GRANTED_FOR(4000), LOST); // time to start under sanitizers
    char *command[] = {(char *)"/proc/self/exe", (char *)"leave-group", ready, NULL};
    assert_exit(start_wrapper(fake.path, command, STDERR_FILENO), LH_EXIT_LOST);
    assert_int_equal(unlink(ready), 0);
    rmdir(directory);
    fake_stop(&fake);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "leave-group") == 0)
        return leave_group(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_pipe_that_nobody_reads),
        cmocka_unit_test(test_a_full_socket_that_nobody_reads),
        cmocka_unit_test(test_a_stopped_terminal),
        cmocka_unit_test(test_a_pipe_with_room),
        cmocka_unit_test(test_a_pipe_without_a_reader),
        cmocka_unit_test(test_a_file_that_may_not_grow),
        cmocka_unit_test(test_a_group_that_does_not_end),
        cmocka_unit_test(test_a_command_that_left_its_group),
        cmocka_unit_test(test_the_command_finds_the_signals_of_the_wrapper_s_parent),
    };
    return cmocka_run_group_tests_name("cli_run_hostile", tests, NULL, NULL);
}
