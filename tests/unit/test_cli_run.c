// `run` against a daemon of lies: whatever it says or fails to say, the command ends before the
// lease does, the exit code is right, and the lease is released only after the command has ended.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/beats.h"
#include "cli/exit.h"
#include "cli/run_loop.h"
#include "fake_daemon.h"
#include "os/clock.h"

#define GRANTED(ttl_ms, until_ms)                                                                  \
    "status=granted token:=7 holder=$HOLDER ttl-ms:=" #ttl_ms " until-ns:=" #until_ms              \
    "000000 rate-ppm:=0 node:=1"
#define RELEASED "status=released token:=7"
#define LOST "status=lost reason=revoked until-ns:=0"

// Runs `script` under sh by `plan`, whose command and patience are set here, with a lease from
// `fake`; returns the exit code.
static int run_plan(const char *endpoint, struct lh_run_plan plan, const char *script,
                    struct lh_holding *ret_lease)
{
    char *command[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    plan.command = command;
    plan.wait = LH_WAIT_FOREVER;
    plan.patience = lh_ms(5000);
    struct lh_channel *client;
    struct lh_error error;
    struct lh_holding lease = {.token = 0};
    strcpy(lease.name, "job");
    strcpy(lease.holder, "me");
    if (!lh_channel_open(endpoint, &client, &error))
        fail_msg("%s", error.text);
    int exit_code = lh_run_loop(&plan, client, &lease);
    lh_channel_close(client);
    if (ret_lease != NULL)
        *ret_lease = lease;
    return exit_code;
}

static int run_shell(const char *endpoint, const char *script, int64_t kill_after_ms,
                     struct lh_holding *ret_lease)
{
    struct lh_run_plan plan = {
        .kill_after = lh_ms(kill_after_ms),
        .kill_after_given = kill_after_ms > 0,
    };
    return run_plan(endpoint, plan, script, ret_lease);
}

static void test_scenario_23_the_command_s_code_is_passed_on(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
    assert_int_equal(run_shell(fake.path, "exit 3", 0, NULL), 3);
    assert_int_equal(fake.request_count, 2);
    assert_non_null(strstr(fake.requests[1], "LEASE RELEASE job 7 me TIMEOUT "));
    fake_stop(&fake);
}

static void test_a_command_ended_by_a_signal(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
    assert_int_equal(run_shell(fake.path, "kill -KILL $$", 0, NULL), 128 + SIGKILL);
    fake_stop(&fake);
}

static void test_commands_that_cannot_be_started(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
    char *missing[] = {(char *)"/nonexistent/command", NULL};
    char *directory[] = {(char *)"/tmp", NULL};
    struct lh_run_plan plan = {.command = missing, .patience = lh_ms(5000)};
    struct lh_channel *client;
    struct lh_error error;
    struct lh_holding lease = {.name = "job", .holder = "me"};
    struct lh_holding another = lease;
    assert_true(lh_channel_open(fake.path, &client, &error));
    assert_int_equal(lh_run_loop(&plan, client, &lease), LH_EXIT_NOT_FOUND);
    lh_channel_close(client);
    fake_stop(&fake);
    fake_start(&fake, fake_steps, 2);
    plan.command = directory;
    assert_true(lh_channel_open(fake.path, &client, &error));
    assert_int_equal(lh_run_loop(&plan, client, &another), LH_EXIT_NOT_EXECUTABLE);
    lh_channel_close(client);
    fake_stop(&fake);
}

static void test_the_environment(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
    assert_int_equal(run_shell(fake.path,
                               "test \"$LEASEHOLD_NAME $LEASEHOLD_TOKEN $LEASEHOLD_TTL_MS "
                               "$LEASEHOLD_HOLDER\" = 'job 7 10000 me'",
                               0, NULL),
                     0);
    fake_stop(&fake);
}

// Scenario 4: no renewal succeeds. TERM comes kill_after before the end, and a command that obeys is
// gone. What is measured includes the release that follows.
static void test_lost_by_silence_ends_before_the_deadline(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(1000, 1000), "silent", RELEASED);
    struct lh_instant before = lh_clock_now();
    assert_int_equal(run_shell(fake.path, "exec sleep 60", 0, NULL), LH_EXIT_LOST);
    assert_true(lh_clock_now().ns < before.ns + 1000 * LH_NS_PER_MS);
    assert_int_equal(fake.request_count, 3);
    assert_non_null(strstr(fake.requests[2], "LEASE RELEASE job 7 me TIMEOUT "));
    fake_stop(&fake);
}

// A command that ignores TERM is killed, and still before the deadline.
static void test_a_stubborn_command_is_killed_before_the_deadline(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(2000, 2000), "silent", RELEASED);
    struct lh_instant before = lh_clock_now();
    int code = run_shell(fake.path, "trap '' TERM; while :; do sleep 0.02; done", 300, NULL);
    struct lh_instant after = lh_clock_now();
    assert_int_equal(code, LH_EXIT_LOST);
    assert_true(after.ns < before.ns + 2000 * LH_NS_PER_MS);
    assert_true(after.ns >= before.ns + 1800 * LH_NS_PER_MS); // by KILL, not by TERM
    fake_stop(&fake);
}

// A daemon that breaks every connection while the lease is held, with nothing else to ask.
static void test_lost_by_a_dead_daemon(void **state)
{
    (void)state;
    char path[] = "/tmp/lh-run-XXXXXX";
    char script[200];
    char text[64] = "";
    int fd = mkstemp(path);
    FAKE_START(fake, GRANTED(1000, 1000), "close");
    snprintf(script, sizeof script,
             "trap 'cat /proc/uptime >%s; exit' TERM; while :; do sleep 0.01; done", path);
    struct lh_instant before = lh_clock_now();
    assert_int_equal(run_shell(fake.path, script, 0, NULL), LH_EXIT_LOST);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    double ended_s = strtod(text, NULL);
    assert_true(ended_s < (double)before.ns / 1e9 + 1.0);
    assert_true(ended_s > (double)before.ns / 1e9 + 0.7);
    assert_true(fake.request_count > 2); // it was tried again and again
    close(fd);
    unlink(path);
    fake_stop(&fake);
}

// Told that it is lost: the command ends at once, not at the deadline; nothing is released.
static void test_lost_by_word(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(20000, 1000), LOST);
    struct lh_instant before = lh_clock_now();
    assert_int_equal(run_shell(fake.path, "exec sleep 60", 0, NULL), LH_EXIT_NOT_ACQUIRED);
    // (granted with little left: renewed before the command starts, and lost there)
    fake_stop(&fake);
    FAKE_START(other, GRANTED(1200, 1200), LOST);
    struct lh_holding lease;
    assert_int_equal(run_shell(other.path, "exec sleep 60", 0, &lease), LH_EXIT_LOST);
    assert_int_equal(other.request_count, 2);
    assert_true(lh_left(before, lh_clock_now()).ns < 30 * LH_NS_PER_S);
    fake_stop(&other);
}

static void test_renewals_keep_the_command_alive(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(600, 600), GRANTED(600, 600), GRANTED(600, 600), GRANTED(600, 600),
               GRANTED(600, 600), GRANTED(600, 600), GRANTED(600, 600), GRANTED(600, 600));
    assert_int_equal(run_shell(fake.path, "sleep 1.5; exit 4", 0, NULL), 4); // 2.5 times the TTL
    assert_true(fake.request_count >= 5);
    assert_int_equal(strncmp(fake.requests[1], "LEASE RENEW job 7 me", 20), 0);
    fake_stop(&fake);
}

// Scenario 34: a command that hangs, but does not end, is not renewed.
static void test_scenario_34_a_command_without_a_pulse_is_not_renewed(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(1000, 1000), RELEASED);
    struct lh_run_plan plan = {.pulse = lh_ms(200)};
    struct lh_instant before = lh_clock_now();
    assert_int_equal(run_plan(fake.path, plan, "echo >&$LEASEHOLD_PULSE_FD; exec sleep 60", NULL),
                     LH_EXIT_LOST);
    assert_true(lh_clock_now().ns < before.ns + 1000 * LH_NS_PER_MS);
    assert_int_equal(fake.request_count, 2);
    assert_non_null(strstr(fake.requests[1], "LEASE RELEASE job 7 me TIMEOUT "));
    fake_stop(&fake);
}

static void test_scenario_34_a_command_that_pulses_is_renewed(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(1000, 1000));
    struct lh_run_plan plan = {.pulse = lh_ms(400)};
    assert_int_equal(run_plan(fake.path, plan,
                              "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                              "sleep 0.1; echo >&$LEASEHOLD_PULSE_FD; done; exit 4",
                              NULL),
                     4); // twice the TTL
    assert_true(fake.request_count >= 4);
    fake_stop(&fake);
}

// It hung for a while: as long as it is not being ended, a pulse is followed by a renewal at once.
static void test_a_pulse_that_comes_late_is_in_time(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(3000, 3000));
    struct lh_run_plan plan = {.pulse = lh_ms(100)};
    struct lh_instant before = lh_clock_now();
    assert_int_equal(
        run_plan(fake.path, plan,
                 "sleep 1.7; echo >&$LEASEHOLD_PULSE_FD; sleep 0.8; exit 4", // TERM at 2.25 s
                 NULL),
        4);
    assert_true(lh_clock_now().ns >= before.ns + 2500 * LH_NS_PER_MS);
    fake_stop(&fake);
}

// Pulses without end are looked at now and then, and the command's end is not missed.
static void test_a_flood_of_pulses(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED(600, 600));
    struct lh_run_plan plan = {.pulse = lh_ms(200)};
    assert_int_equal(run_plan(fake.path, plan,
                              "yes >&$LEASEHOLD_PULSE_FD & sleep 1; kill $!; wait $!; exit 4",
                              NULL),
                     4);
    fake_stop(&fake);
}

// The release must not reach the daemon while the command or its children live.
static void test_release_follows_the_whole_group(void **state)
{
    (void)state;
    char path[] = "/tmp/lh-run-XXXXXX";
    char script[300];
    int fd = mkstemp(path);
    FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
    snprintf(script, sizeof script,
             "(trap 'sleep 0.2; echo gone >>%s; exit 0' TERM; while :; do sleep 0.02; done) & "
             "sleep 0.1; exit 5",
             path);
    assert_int_equal(run_shell(fake.path, script, 2000, NULL), 5);
    char text[16] = "";
    assert_int_equal(read(fd, text, sizeof text - 1), 5);
    assert_string_equal(text, "gone\n");
    assert_int_equal(fake.request_count, 2);
    close(fd);
    unlink(path);
    fake_stop(&fake);
}

struct killer {
    pid_t target;
    int signal;
    const char *file; // wait until it has something in it
};

static void *kill_when_ready(void *argument)
{
    const struct killer *killer = argument;
    struct stat status;
    while (stat(killer->file, &status) != 0 || status.st_size == 0)
        usleep(2000);
    kill(killer->target, killer->signal);
    return NULL;
}

static void test_signals_are_passed_on(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char path[] = "/tmp/lh-run-XXXXXX";
        char script[200];
        int fd = mkstemp(path);
        FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
        snprintf(
            script, sizeof script,
            "trap 'exit 9' TERM INT HUP QUIT USR1 USR2; echo up >%s; while :; do sleep 0.01; done",
            path);
        struct killer killer = {.target = getpid(), .signal = signals[i], .file = path};
        pthread_t thread;
        sigset_t all;
        sigset_t old;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &old);
        pthread_create(&thread, NULL, kill_when_ready, &killer);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        assert_int_equal(run_shell(fake.path, script, 0, NULL), 9);
        pthread_join(thread, NULL);
        close(fd);
        unlink(path);
        fake_stop(&fake);
    }
}

static void test_not_acquired(void **state)
{
    (void)state;
    FAKE_START(fake, "status=held token:=5 holder=ada node:=2 free-in-ns:=1000000000");
    char *command[] = {(char *)"true", NULL};
    struct lh_run_plan plan = {.command = command, .patience = lh_ms(5000)};
    struct lh_channel *client;
    struct lh_error error;
    struct lh_holding lease = {.name = "job", .holder = "me"};
    assert_true(lh_channel_open(fake.path, &client, &error));
    assert_int_equal(lh_run_loop(&plan, client, &lease), LH_EXIT_NOT_ACQUIRED);
    lh_channel_close(client);
    fake_stop(&fake);
    assert_true(lh_channel_open("/tmp/lh-no-such-socket", &client, &error));
    assert_int_equal(lh_run_loop(&plan, client, &lease), LH_EXIT_NO_QUORUM);
    lh_channel_close(client);
}

static void wait_for_line(int fd, char *text, size_t size)
{
    memset(text, 0, size);
    while (pread(fd, text, size - 1, 0) <= 0 || strchr(text, '\n') == NULL)
        usleep(2000);
}

// A wrapper that was stopped beyond its lease looks at the clock first: though a renewal waits to
// be sent, and a daemon to grant it, the command is killed.
static void test_a_stopped_wrapper_finds_its_lease_over(void **state)
{
    (void)state;
    char path[] = "/tmp/lh-run-XXXXXX";
    char script[200];
    char text[32];
    int status = 0;
    int fd = mkstemp(path);
    FAKE_START(fake, GRANTED(1000, 1000));
    snprintf(script, sizeof script, "trap '' TERM; echo $$ >%s; while :; do sleep 0.01; done",
             path);
    pid_t wrapper = fork();
    if (wrapper == 0)
        _exit(run_shell(fake.path, script, 0, NULL));
    wait_for_line(fd, text, sizeof text);
    struct lh_instant over = lh_after(lh_clock_now(), lh_ms(1000));
    kill(wrapper, SIGSTOP);
    while (lh_before(lh_clock_now(), over))
        usleep(5000);
    kill(wrapper, SIGCONT);
    assert_int_equal(waitpid(wrapper, &status, 0), wrapper);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), LH_EXIT_LOST);
    assert_int_equal(fake.request_count, 1); // neither renewed nor released
    assert_int_equal(kill((pid_t)strtol(text, NULL, 10), 0), -1);
    close(fd);
    unlink(path);
    fake_stop(&fake);
}

// If the wrapper is killed hard, its guardian ends the command.
static void test_the_command_dies_with_the_wrapper(void **state)
{
    (void)state;
    char path[] = "/tmp/lh-run-XXXXXX";
    char script[200];
    int fd = mkstemp(path);
    FAKE_START(fake, GRANTED(10000, 10000), RELEASED);
    snprintf(script, sizeof script, "echo $$ >%s; exec sleep 60", path);
    pid_t wrapper = fork();
    if (wrapper == 0)
        _exit(run_shell(fake.path, script, 0, NULL));
    char text[32];
    wait_for_line(fd, text, sizeof text);
    kill(wrapper, SIGKILL);
    waitpid(wrapper, NULL, 0);
    pid_t command = (pid_t)strtol(text, NULL, 10);
    char proc[64];
    char line[400] = "";
    snprintf(proc, sizeof proc, "/proc/%ld/stat", (long)command);
    for (;;) { // until it is gone, or dead and waiting for somebody to reap it
        FILE *file = fopen(proc, "r");
        if (file == NULL)
            break;
        bool dead = fgets(line, sizeof line, file) != NULL && strstr(line, ") Z ") != NULL;
        fclose(file);
        if (dead)
            break;
        usleep(2000);
    }
    close(fd);
    unlink(path);
    fake_stop(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario_23_the_command_s_code_is_passed_on),
        cmocka_unit_test(test_a_command_ended_by_a_signal),
        cmocka_unit_test(test_commands_that_cannot_be_started),
        cmocka_unit_test(test_the_environment),
        cmocka_unit_test(test_lost_by_silence_ends_before_the_deadline),
        cmocka_unit_test(test_a_stubborn_command_is_killed_before_the_deadline),
        cmocka_unit_test(test_lost_by_a_dead_daemon),
        cmocka_unit_test(test_lost_by_word),
        cmocka_unit_test(test_renewals_keep_the_command_alive),
        cmocka_unit_test(test_scenario_34_a_command_without_a_pulse_is_not_renewed),
        cmocka_unit_test(test_scenario_34_a_command_that_pulses_is_renewed),
        cmocka_unit_test(test_a_pulse_that_comes_late_is_in_time),
        cmocka_unit_test(test_a_flood_of_pulses),
        cmocka_unit_test(test_release_follows_the_whole_group),
        cmocka_unit_test(test_signals_are_passed_on),
        cmocka_unit_test(test_not_acquired),
        cmocka_unit_test(test_a_stopped_wrapper_finds_its_lease_over),
        cmocka_unit_test(test_the_command_dies_with_the_wrapper),
    };
    return cmocka_run_group_tests_name("cli_run", tests, NULL, NULL);
}
