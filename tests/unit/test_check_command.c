// The command line of `check`: what is refused, and with which words; exit codes; a search that
// runs out of memory says so and never passes; a checkpoint goes on where it was written.
// run-tests: timeout 300
#include "check/check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"
#include "check/options.h"
#include "check/search.h"

enum { MAX_ARGUMENTS = 32 };

static int split(char *line, char **argv)
{
    int argc = 0;
    static char name[] = "check";
    argv[argc++] = name;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

// Runs the command with its output thrown away.
static int run(const char *arguments)
{
    char line[512];
    char *argv[MAX_ARGUMENTS];
    char output[1];
    snprintf(line, sizeof line, "%s", arguments);
    const int argc = split(line, argv);
    return captured(lh_check_command, argc, argv, output, sizeof output);
}

// The arguments are refused, and the message has these words in it.
static void expect_refused(const char *arguments, const char *words)
{
    struct lh_check_options options;
    char error[LH_CHECK_ERROR_SIZE] = "";
    char line[512];
    char *argv[MAX_ARGUMENTS];
    snprintf(line, sizeof line, "%s", arguments);
    const int argc = split(line, argv);
    const bool parsed = lh_check_options_parse(&options, argc, argv, error);
    lh_check_options_close(&options);
    if (parsed || strstr(error, words) == NULL)
        fail_msg("%s: %s", arguments, parsed ? "was taken" : error);
    assert_int_equal(run(arguments), 64);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    expect_refused("", "name a configuration");
    expect_refused("bass", "bass: no configuration has this name");
    expect_refused("--module lease --set MaxTime=3 Ballots=2", "Ballots=2: give --set before each");
    expect_refused("--frobnicate", "--frobnicate: there is no such option");
    expect_refused("--module leases", "leases: --module takes");
    expect_refused("--module lease base", "leave the names out");
    expect_refused("base --threads 0", "0: --threads takes");
    expect_refused("base --threads", "needs a value");
    expect_refused("base --memory lots", "lots: --memory takes a size");
    expect_refused("base --time 5d", "5d: --time takes");
    expect_refused("base --trace picture.png", "picture.png: --trace takes");
    expect_refused("base --trace /nowhere/x.svg",
                   "/nowhere/x.svg: --trace: nothing can be written");
    expect_refused("--list --module leases", "leases: --module takes");
    expect_refused("base --network open", "open: --network takes");
    expect_refused("base --all --trace x.svg", "one configuration at a time");
    expect_refused("base --json=yes", "takes no value");
    expect_refused("base --threads +2", "+2: --threads takes");
    expect_refused("base --checkpoint /nowhere/x", "/nowhere/x: --checkpoint: nothing can be");
    expect_refused("base --checkpoint /dev/null", "/dev/null: --checkpoint: nothing can be");
    expect_refused("base --checkpoint .", ".: --checkpoint: nothing can be");
    expect_refused("base --spill /nowhere", "/nowhere: --spill takes a directory");
    expect_refused("base --spill /dev/null", "/dev/null: --spill takes a directory");
    expect_refused("base --spill=", "--spill takes a directory");
}

static void what_contradicts_itself_is_refused(void **state)
{
    (void)state;
    expect_refused("--module lease --set MaxTime=1 --set MaxTime=2", "MaxTime=2: --set: this");
    expect_refused("--set MaxTime=1 --module lease --set=MaxTime=1", "is given twice");
    expect_refused("--module lease --module impl", "impl: this option is given twice");
    expect_refused("base --threads 1 --threads 2", "2: this option is given twice");
    expect_refused("base --symmetry --no-symmetry", "leave one out");
    assert_int_equal(run("--module lease --set MaxTime=0 --set Ballots=1 --weaken late-timer "
                         "--weaken scalar-quorum"),
                     0);
}

static size_t lines_of(const char *arguments)
{
    static char output[1 << 16];
    char line[128];
    char *argv[MAX_ARGUMENTS];
    size_t lines = 0;
    snprintf(line, sizeof line, "%s", arguments);
    const int argc = split(line, argv);
    assert_int_equal(captured(lh_check_command, argc, argv, output, sizeof output), 0);
    for (const char *at = output; *at != '\0'; at++)
        lines += *at == '\n';
    return lines;
}

// A configuration that is named twice, by itself or by --quick, is run and listed once.
static void what_is_named_twice_is_there_once(void **state)
{
    (void)state;
    assert_int_equal(lines_of("drift drift renew-release --json"), 2);
    assert_int_equal(lines_of("--list drift"), 1);
    assert_int_equal(lines_of("--list --quick drift"), lines_of("--list --quick"));
    assert_true(lines_of("--list --quick") < lines_of("--list"));
}

static void wrong_constants_are_named(void **state)
{
    (void)state;
    expect_refused("--module lease --set MaxTime=8", "MaxTime=8: give a whole number from 0 to 7");
    expect_refused("--module lease --set MaxTime=x", "MaxTime=x");
    expect_refused("--module lease --set MaxTime=+2", "MaxTime=+2: give a whole number");
    expect_refused("--module lease --set MaxTime=03", "MaxTime=03: give a whole number");
    expect_refused("--module lease --set MaxTime=", "MaxTime=: give a whole number");
    expect_refused("--module lease --set Proposers=4", "from 1 to 3");
    expect_refused("--module lease --set Acceptors=6", "from 1 to 5");
    expect_refused("--module lease --set AllowCrash=maybe", "give true or false");
    expect_refused("--module lease --set AllowCrash", "NAME=VALUE");
    expect_refused("--module lease --set Crash=true", "no such constant");
    expect_refused("--module lease --set RetryTimeout=1", "module lease has no constant");
    expect_refused("--module impl --set AllowRedeliver=true", "module impl has no constant");
    expect_refused("--module lease --set ProposerDuration=3", "is above AcceptorDuration=2");
    expect_refused("--module lease --set CrashableAcceptors=3", "names an acceptor that is not");
    expect_refused("--module lease --set CrashableAcceptors=x", "name acceptors by number");
    expect_refused("--module lease --set CrashableAcceptors=1,1", "1,1: name acceptors by number");
    expect_refused("--module lease --set CrashableAcceptors=12", "12: name acceptors by number");
    for (const char *const *broken =
             (const char *const[]){"1,2,", ",1", "1,,2", "{1", "1}", "{1}2", "a", "1a", NULL};
         *broken != NULL; broken++) {
        char line[80];
        snprintf(line, sizeof line, "--module lease --set CrashableAcceptors=%s", *broken);
        expect_refused(line, "name acceptors by number");
    }
    expect_refused("--module lease --set Quorums=12,", "list sets of acceptor numbers");
    expect_refused("--module lease --set Quorums=11,12", "11,12: list sets of acceptor numbers");
    expect_refused("--module lease --set Quorums=12,21", "12,21: list sets of acceptor numbers");
    expect_refused("--module lease --weaken late-timer --weaken late-timer",
                   "late-timer: this rule is left out already");
    expect_refused("--module lease --set ProposerDuration=0 --conform", "give at least 1 under");
    expect_refused("--module lease --set Quorums=13", "names an acceptor that is not there");
    expect_refused("--module lease --weaken gravity",
                   "gravity: there is no such rule; module lease has late-timer");
    expect_refused("--module lease --weaken late-timer,scalar-quorum", "give --weaken before each");
    expect_refused("--module composition --weaken late-timer",
                   "module composition has no such rule, --network closed has; it has none");
    expect_refused("--module lease --weaken floor-lost", "--network closed has; it has late-timer");
    expect_refused("--network closed --weaken floor",
                   "floor: there is no such rule; module closed");
    expect_refused("--network closed --weaken floor", " abandon-goes-on");
    expect_refused("--network closed --set MaxTime=2", "closed has no constant MaxTime; it has");
    expect_refused("--network closed --set promptly=1", " Quarantine CrashableAcceptors");
    expect_refused("--network closed base",
                   "--network closed: this is for a configuration of your");
    expect_refused("--module composition --symmetry", "no symmetry");
    expect_refused("--network closed --set ProposerDurations=0", "list durations");
    expect_refused("--network closed --set ProposerDurations=1,1", "1,1: list durations");
    expect_refused("--network closed --set ProposerDurations=12", "12: list durations");
    expect_refused("--network closed --set ProposerDurations=1,", "1,: list durations");
}

// Quorums that do not intersect are refused, and with the refusal off they grant two leases.
static void quorums_must_intersect(void **state)
{
    (void)state;
    expect_refused("--module lease --set Quorums=1,2", "1 and 2 do not intersect");
    assert_int_equal(run("--module lease --set Quorums=1,2 --weaken quorums"), 12);
    assert_int_equal(run("--module lease --set Quorums=1,2 --weaken quorums --expect-violation"),
                     0);
    assert_int_equal(run("--network closed --set Quorums=1,2 --weaken quorums"), 12);
    assert_int_equal(
        run("--module lease --set Proposers=1 --set MaxTime=1 --set Ballots=1 --set Quorums=1,12"),
        0);
}

// A checkpoint is of a configuration by all that it says: nothing of a long value may be cut off.
static void a_long_list_of_quorums_is_told_whole(void **state)
{
    (void)state;
    static const char every_quorum[] =
        "12345,1234,1235,1245,1345,2345,123,124,125,134,135,145,234,235,245,345,12,13,14,15,23,24,"
        "25,34,35,45,1,2,3,4,5";
    struct lh_check_config config;
    char assignment[256];
    char error[LH_CHECK_ERROR_SIZE] = "";
    char value[LH_CHECK_VALUE_SIZE];
    const char *name = "";
    lh_check_config_default(&config, LH_CHECK_LEASE);
    assert_true(lh_check_config_set(&config, "Acceptors=5", error));
    snprintf(assignment, sizeof assignment, "Quorums=%s", every_quorum);
    assert_true(lh_check_config_set(&config, assignment, error));
    for (size_t i = 0; strcmp(name, "Quorums") != 0; i++)
        assert_true(lh_check_config_constant(&config, i, &name, value));
    assert_string_equal(value, every_quorum);
}

static void exit_codes_tell_the_verdict(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), 0);
    assert_int_equal(run("--list"), 0);
    assert_int_equal(run("--list --json"), 0);
    assert_int_equal(run("--list --module closed"), 0);
    assert_int_equal(run("--list --network closed --json"), 0);
    assert_int_equal(run("renew-release --expect-violation"), 1);
    assert_int_equal(run("renew-release drift paxos-lease-paxos --json"), 0);
    assert_int_equal(run("drift --set MaxTime=1 --expect-violation"), 1);
    assert_int_equal(run("base --time 1s --set Ballots=3 --set AllowCrash=true"), 75);
}

// Never a pass: the set, or the frontier, did not fit.
static void little_memory_is_incomplete(void **state)
{
    (void)state;
    assert_int_equal(run("crash-restart --memory 1M"), 75);
    struct lh_model model;
    struct lh_search_result result;
    struct lh_check_config config = lh_check_row_find("crash-restart")->config;
    const struct lh_search_options options = {.threads = 2, .memory_bytes = 3 << 20};
    assert_true(lh_model_open(&model, &config));
    lh_search_run(&model, &options, &result);
    assert_int_equal(result.verdict, LH_VERDICT_INCOMPLETE);
    assert_int_equal(result.invariant, LH_INV_NONE);
    assert_non_null(strstr(result.reason, "--memory"));
    assert_true(result.distinct > 1000);
    lh_model_close(&model);
}

// A frontier on disk and a search in two parts count what one in memory counts.
static void spilling_and_resuming_change_nothing(void **state)
{
    (void)state;
    struct lh_model model;
    struct lh_search_result result;
    struct lh_check_config config = lh_check_row_find("renew-release-stale")->config;
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char path[512];
    snprintf(path, sizeof path, "%s/check-checkpoint-%d", directory, (int)getpid());
    assert_true(lh_model_open(&model, &config));
    struct lh_search_options options = {
        .threads = 2, .memory_bytes = 8 << 20, .spill_directory = directory};
    lh_search_run(&model, &options, &result);
    assert_int_equal(result.verdict, LH_VERDICT_PASS);
    assert_int_equal(result.distinct, 204050);
    assert_int_equal(result.generated, 675110);

    options = (struct lh_search_options){
        .threads = 1, .memory_bytes = 64 << 20, .checkpoint = path, .distinct_limit = 100000};
    options.checkpoint_seconds = 0; // after every level
    lh_search_run(&model, &options, &result);
    assert_int_equal(result.verdict, LH_VERDICT_INCOMPLETE);
    assert_in_range(result.distinct, 100000, 204049);
    options = (struct lh_search_options){.threads = 2, .memory_bytes = 64 << 20, .resume = path};
    lh_search_run(&model, &options, &result);
    assert_int_equal(result.verdict, LH_VERDICT_PASS);
    assert_int_equal(result.distinct, 204050);
    assert_int_equal(result.generated, 675110);
    assert_int_equal(result.depth, 39);
    lh_model_close(&model);

    config.max_time = 2;
    assert_true(lh_model_open(&model, &config));
    lh_search_run(&model, &options, &result);
    assert_int_equal(result.verdict, LH_VERDICT_INCOMPLETE);
    assert_non_null(strstr(result.reason, "not a checkpoint of this configuration"));
    lh_model_close(&model);
    unlink(path);
}

static enum lh_verdict resume(const struct lh_model *model, const char *path, bool conform,
                              char ret_reason[LH_CHECK_ERROR_SIZE])
{
    struct lh_search_result result;
    const struct lh_search_options options = {
        .threads = 1, .memory_bytes = 64 << 20, .resume = path, .conform = conform};
    lh_search_run(model, &options, &result);
    snprintf(ret_reason, LH_CHECK_ERROR_SIZE, "%s", result.reason);
    return result.verdict;
}

// A state that was edited out of a checkpoint would never be missed: any change is refused.
static void a_checkpoint_that_was_edited_is_refused(void **state)
{
    (void)state;
    struct lh_model model;
    struct lh_search_result result;
    const struct lh_check_config config = lh_check_row_find("drift")->config;
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char path[512];
    char reason[LH_CHECK_ERROR_SIZE];
    snprintf(path, sizeof path, "%s/check-edited-%d", directory, (int)getpid());
    assert_true(lh_model_open(&model, &config));
    const struct lh_search_options options = {
        .threads = 1, .memory_bytes = 64 << 20, .checkpoint = path}; // after every level
    lh_search_run(&model, &options, &result);
    assert_int_equal(resume(&model, path, false, reason), LH_VERDICT_PASS);
    assert_int_equal(resume(&model, path, true, reason), LH_VERDICT_INCOMPLETE);
    assert_non_null(strstr(reason, "without --conform"));

    FILE *file = fopen(path, "r+be");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    for (long at = 0; at < size; at += size / 50) {
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        const int byte = fgetc(file);
        for (int edited = byte ^ 1;; edited = byte) {
            assert_int_equal(fseek(file, at, SEEK_SET), 0);
            fputc(edited, file);
            assert_int_equal(fflush(file), 0);
            if (edited == byte)
                break;
            if (resume(&model, path, false, reason) != LH_VERDICT_INCOMPLETE || reason[0] == '\0')
                fail_msg("byte %ld of %ld was edited and nobody noticed", at, size);
        }
    }
    assert_int_equal(resume(&model, path, false, reason), LH_VERDICT_PASS);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    fputc('x', file);
    fclose(file);
    assert_int_equal(resume(&model, path, false, reason), LH_VERDICT_INCOMPLETE);
    assert_non_null(strstr(reason, "damaged"));
    lh_model_close(&model);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(what_contradicts_itself_is_refused),
        cmocka_unit_test(what_is_named_twice_is_there_once),
        cmocka_unit_test(wrong_constants_are_named),
        cmocka_unit_test(a_long_list_of_quorums_is_told_whole),
        cmocka_unit_test(quorums_must_intersect),
        cmocka_unit_test(exit_codes_tell_the_verdict),
        cmocka_unit_test(little_memory_is_incomplete),
        cmocka_unit_test(spilling_and_resuming_change_nothing),
        cmocka_unit_test(a_checkpoint_that_was_edited_is_refused),
    };
    return cmocka_run_group_tests_name("check_command", tests, NULL, NULL);
}
