// `check --conform`: what it takes and what it says. That the code conforms, and that every
// weakened rule and every planted bug is noticed, is tests/search/test_conform.c and tests/planted.
#include "check/conform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "captured.h"
#include "check/check.h"
#include "check/rows.h"

enum { MAX_ARGUMENTS = 32 };

static char output[65536];

// Runs the command; what it wrote to standard output is in `output`.
static int run(const char *arguments)
{
    static char name[] = "check";
    char line[512];
    char *argv[MAX_ARGUMENTS] = {name};
    char *rest = NULL;
    int argc = 1;
    snprintf(line, sizeof line, "%s", arguments);
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    return captured(lh_check_command, argc, argv, output, sizeof output);
}

#define SMALL                                                                                      \
    "--module lease --set Proposers=1 --set Acceptors=2 --set Ballots=2 --set MaxTime=2 "          \
    "--set ProposerDuration=2 --set AcceptorDuration=2 --set Quarantine=2 --set MaxNetwork=3 "

static void what_conforms_is_counted(void **state)
{
    (void)state;
    assert_int_equal(run("drift --conform --threads 1"), 0);
    assert_non_null(strstr(output, "drift: pass; 19656 distinct"));
    assert_non_null(strstr(output, "the shipped code made "));
    assert_non_null(strstr(output, "differs on purpose: refuses-spent "));
}

static void the_search_is_the_same_with_and_without(void **state)
{
    (void)state;
    assert_int_equal(run("renew-release --conform --json --threads 2"), 0);
    assert_non_null(strstr(output, "\"distinct\":7717,\"generated\":22158,\"depth\":29"));
    assert_non_null(strstr(output, "\"conform\":{\"steps\":"));
    assert_non_null(strstr(output, "\"fault\":null}"));
    assert_int_equal(run("renew-release --json"), 0);
    assert_null(strstr(output, "conform\":{"));
}

static void what_does_not_is_a_violation_with_its_trace(void **state)
{
    (void)state;
    assert_int_equal(run(SMALL "--weaken late-timer --conform --threads 1"), 12);
    assert_non_null(strstr(output, "lease: violated, Conformance, trace of 2 states"));
    assert_non_null(strstr(output, "Prepare"));
    assert_int_equal(run(SMALL "--weaken late-timer --conform --json --threads 1"), 12);
    assert_non_null(strstr(output, "\"fault\":\"StartAcquire 1 p1: td is 0 in the model, "));
    assert_int_equal(run(SMALL "--weaken late-timer --conform --expect-violation --threads 1"), 0);
}

static void the_fault_names_the_variable(void **state)
{
    (void)state;
    assert_int_equal(run("--module closed --set Proposers=1 --set Acceptors=2 --set Ballots=1 "
                         "--set Quarantine=2 --set ProposerDurations=2 --set OneRoundRenewal=1 "
                         "--weaken extend-expired --conform --json --threads 1"),
                     12);
    assert_non_null(strstr(output, "\"invariant\":\"Conformance\""));
    assert_non_null(
        strstr(output, "DeliverRelease 1 a1: a1.stamp is 1 in the model, 0 in the code"));
}

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run("impl-timely-r-dominant --conform"), 64);
    assert_int_equal(run("paxos-lease-paxos --conform"), 64);
    assert_int_equal(run(SMALL "--set Quorums=12 --conform"), 64);
}

static struct lh_conform conform;

// The comparison itself, on a state of its own.
static void the_initial_state_conforms(void **state)
{
    (void)state;
    struct lh_model model;
    assert_true(lh_model_open(&model, &lh_check_row_find("renew-release")->config));
    assert_true(lh_conform_open(&conform, &model));
    uint8_t *raw = aligned_alloc(64, model.layout.stride);
    assert_non_null(raw);
    model.init(&model, raw);
    assert_true(lh_conform_state(&conform, raw));
    assert_int_equal(conform.counts.steps, 2); // either ballot
    assert_true(conform.counts.refusals != 0);
    free(raw);
    lh_conform_close(&conform);
    lh_conform_close(NULL);
    lh_model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_conforms_is_counted),
        cmocka_unit_test(the_search_is_the_same_with_and_without),
        cmocka_unit_test(what_does_not_is_a_violation_with_its_trace),
        cmocka_unit_test(the_fault_names_the_variable),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
        cmocka_unit_test(the_initial_state_conforms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
