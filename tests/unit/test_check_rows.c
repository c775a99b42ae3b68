// Recorded rows that a sanitizer build can afford, and what the closed network finds: the paper's
// own rules fail in 33 states, which the bounded lease module can replay as a trace of 42. Longer
// rows run in the release build.
// run-tests: timeout 300
#include "check/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/closed_model.h"
#include "check/describe.h"
#include "check/lease_model.h"
#include "check/trace.h"
#include "closed_config.h"

static void search(const struct lh_check_config *config, bool want_trace,
                   struct lh_search_result *ret_result)
{
    struct lh_model model;
    const struct lh_search_options options = {
        .threads = 2, .memory_bytes = UINT64_C(1) << 30, .want_trace = want_trace};
    assert_true(lh_model_open(&model, config));
    lh_search_run(&model, &options, ret_result);
    lh_model_close(&model);
}

static void expect_recorded(const char *name)
{
    const struct lh_check_row *row = lh_check_row_find(name);
    struct lh_search_result result;
    assert_non_null(row);
    search(&row->config, false, &result);
    assert_int_equal(result.verdict, row->verdict);
    assert_int_equal(result.invariant, row->invariant);
    if (row->verdict == LH_VERDICT_VIOLATED) {
        assert_int_equal(result.trace_states, row->trace_states);
        return;
    }
    assert_int_equal(result.distinct, row->distinct);
    assert_int_equal(result.generated, row->generated);
    assert_int_equal(result.depth, row->depth);
}

static void small_rows_are_as_recorded(void **state)
{
    (void)state;
    expect_recorded("renew-release");
    expect_recorded("drift");
    expect_recorded("paxos-lease-paxos");
}

// A trace begins at the initial state, each state follows from the one before, only the last
// breaks.
static void a_trace_is_a_behaviour(void **state)
{
    (void)state;
    const struct lh_check_row *row = lh_check_row_find("scalar-quorum-counting");
    struct lh_search_result result;
    struct lh_model model;
    struct lh_trace trace;
    struct lh_batch batch;
    search(&row->config, true, &result);
    assert_true(result.has_trace);
    assert_true(lh_model_open(&model, &row->config));
    assert_true(lh_trace_open(&trace, &model, &result));
    assert_true(lh_batch_open(&batch, &model, model.max_successors));
    assert_int_equal(trace.count, 18);
    batch.keep_outside = true;
    for (uint32_t i = 0; i < trace.count; i++) {
        const uint8_t *to = lh_trace_state(&trace, i);
        char text[LH_DESCRIPTION_SIZE];
        assert_int_equal(model.violated(&model, to),
                         i + 1 == trace.count ? LH_INV_LEASE_EXCLUSIVITY : LH_INV_NONE);
        if (i == 0)
            continue;
        struct lh_fp lanes;
        const uint8_t *from = lh_trace_state(&trace, i - 1);
        lh_layout_hash(&model.layout, from, &lanes);
        batch.count = 0;
        model.expand(&model, from, &lanes, &batch);
        bool found = false;
        for (uint32_t s = 0; s < batch.count; s++)
            found |= memcmp(batch.raw + (size_t)s * model.layout.stride, to,
                            model.layout.variable_count) == 0;
        assert_true(found);
        lh_describe_action(&model, from, trace.actions[i], to, text);
        assert_true(strlen(text) > 0);
    }
    lh_batch_close(&batch);
    lh_trace_close(&trace);
    lh_model_close(&model);
}

static void expect_closed(struct lh_check_config config, enum lh_invariant invariant,
                          uint32_t trace_states)
{
    struct lh_search_result result;
    search(&config, false, &result);
    assert_int_equal(result.verdict,
                     invariant == LH_INV_NONE ? LH_VERDICT_PASS : LH_VERDICT_VIOLATED);
    assert_int_equal(result.invariant, invariant);
    assert_int_equal(result.trace_states, trace_states);
}

static void the_closed_network_passes_the_rules_and_fails_each_weakened(void **state)
{
    (void)state;
    const enum lh_invariant two = LH_INV_LEASE_EXCLUSIVITY;
    expect_closed(closed(NULL), LH_INV_NONE, 0);
    expect_closed(closed("Quarantine=1", NULL), two, 20);
    expect_closed(closed("live-overwrite", NULL), two, 33);
    expect_closed(closed("live-overwrite", "AllowRelease=false", NULL), LH_INV_NONE, 0);
    expect_closed(closed("live-overwrite", "AllowRelease=false", "late-timer", NULL), two, 21);
    expect_closed(closed("live-overwrite", "AllowRelease=false", "not-held-open", NULL), two, 30);
    expect_closed(closed("owner-only-release", NULL), two, 27);
    expect_closed(closed("scalar-quorum", NULL), two, 11);
    expect_closed(closed("ballot-reuse", NULL), two, 19);
    expect_closed(closed("PromiseFloor=true", NULL), LH_INV_NONE, 0);
    expect_closed(closed("PromiseFloor=true", "floor-lost", NULL), LH_INV_TOKEN_ORDER, 21);
}

static void deadlines_never_move_back(void **state)
{
    (void)state;
    expect_closed(closed("ProposerDurations=1,2", "AllowCrash=false", NULL), LH_INV_NONE, 0);
    expect_closed(closed("ProposerDurations=1,2", "AllowCrash=false", "exclusion-set", NULL),
                  LH_INV_LEASE_EXCLUSIVITY, 22);
    expect_closed(closed("ProposerDurations=1,2", "AllowCrash=false", "OneRoundRenewal=1",
                         "exclusion-set", NULL),
                  LH_INV_LEASE_EXCLUSIVITY, 19);
}

struct replayer {
    struct lh_model model;
    struct lh_batch batch;
    uint8_t raw[LH_LAYOUT_MAX_STRIDE] __attribute__((aligned(64)));
    uint32_t states;
};

// Takes the step of the bounded module with this action; a delivered message stays in flight.
static void take_step(struct replayer *r, struct lh_action wanted)
{
    struct lh_fp lanes;
    lh_layout_hash(&r->model.layout, r->raw, &lanes);
    r->batch.count = 0;
    r->model.expand(&r->model, r->raw, &lanes, &r->batch);
    for (uint32_t i = 0; i < r->batch.count; i++) {
        const struct lh_action found = r->batch.actions[i];
        if (found.kind != wanted.kind || found.process != wanted.process ||
            found.message != wanted.message || found.argument != wanted.argument ||
            found.keep != wanted.keep)
            continue;
        memcpy(r->raw, r->batch.raw + (size_t)i * r->model.layout.stride, r->model.layout.stride);
        r->states++;
        return;
    }
    fail_msg("no step %s of %u", lh_action_name(wanted.kind), wanted.process);
}

static void deliver(struct replayer *r, enum lh_action_kind kind, uint32_t process,
                    struct lh_message message)
{
    take_step(r, (struct lh_action){.kind = (uint8_t)kind,
                                    .process = (uint8_t)process,
                                    .message =
                                        (uint16_t)lh_lease_message(lh_lease_of(&r->model), message),
                                    .keep = true});
}

// Every Accepted of ballot in flight, until the proposer owns the lease.
static void deliver_answers(struct replayer *r, uint32_t p, uint32_t ballot)
{
    const struct lh_lease *lease = lh_lease_of(&r->model);
    for (;;) {
        if (r->raw[lh_lease_proposer(lease, p, LH_P_ACTIVE)])
            return;
        const uint32_t answered = r->raw[lh_lease_proposer(lease, p, LH_P_ACCEPTED)];
        const uint16_t *network = lh_layout_network(&r->model.layout, r->raw);
        uint32_t at = 0;
        while (at < network[0]) {
            const struct lh_message *m = &lease->messages[network[1 + at]];
            if (m->kind == LH_MSG_ACCEPTED && m->proposer == p && m->ballot == ballot &&
                !(answered & 1u << m->acceptor))
                break;
            at++;
        }
        assert_true(at < network[0]);
        deliver(r, LH_ACT_DELIVER_ACCEPTED, p, lease->messages[network[1 + at]]);
    }
}

// One step of the closed trace, as one or more of the bounded module.
static void translate(struct replayer *r, const uint8_t *from, struct lh_action action,
                      const uint8_t *to, const struct lh_check_config *config)
{
    const uint8_t b = (uint8_t)action.message;
    struct lh_message m = {.acceptor = action.process, .ballot = b};
    if (b != 0)
        m.proposer = (uint8_t)(from[lh_closed_ballot(b, LH_CB_OWNER)] - 1);
    const uint32_t open = lh_closed_acceptor(config, action.process, LH_CA_OPEN);
    switch (action.kind) {
    case LH_ACT_DELIVER_PREPARE:
        m.kind = LH_MSG_PREPARE;
        deliver(r, LH_ACT_DELIVER_PREPARE, action.process, m);
        if (from[open] == to[open])
            return;
        m.kind = LH_MSG_PROMISE;
        deliver(r, LH_ACT_DELIVER_PROMISE, m.proposer, m);
        return;
    case LH_ACT_DELIVER_ACCEPT:
        m.kind = LH_MSG_ACCEPT;
        deliver(r, LH_ACT_DELIVER_ACCEPT, action.process, m);
        return;
    case LH_ACT_DELIVER_RELEASE:
        m.kind = LH_MSG_RELEASE;
        deliver(r, LH_ACT_DELIVER_RELEASE, action.process, m);
        return;
    case LH_ACT_ACTIVATE: deliver_answers(r, action.process, action.argument); return;
    case LH_ACT_START_ACQUIRE: take_step(r, action); return;
    default:
        action.argument = 0;
        action.message = 0;
        take_step(r, action);
    }
}

static void the_paper_s_own_rules_fail_in_the_bounded_module_too(void **state)
{
    (void)state;
    // With the owner of every ballot, which names the sender of its messages.
    const struct lh_check_config config = closed("live-overwrite", "KeepDead=true", NULL);
    struct lh_search_result result;
    struct lh_model model;
    struct lh_trace trace;
    struct replayer r = {.states = 1};
    struct lh_check_config bounded;
    search(&config, true, &result);
    assert_int_equal(result.trace_states, 33);
    assert_true(lh_model_open(&model, &config));
    assert_true(lh_trace_open(&trace, &model, &result));
    lh_check_config_default(&bounded, LH_CHECK_LEASE);
    bounded.ballots = 3;
    bounded.max_time = 7;
    bounded.max_network = LH_CHECK_MAX_NETWORK;
    bounded.allow_crash = bounded.allow_release = bounded.allow_redeliver = true;
    assert_true(lh_model_open(&r.model, &bounded));
    assert_true(lh_batch_open(&r.batch, &r.model, r.model.max_successors));
    r.model.init(&r.model, r.raw);
    for (uint32_t i = 1; i < trace.count; i++)
        translate(&r, lh_trace_state(&trace, i - 1), trace.actions[i], lh_trace_state(&trace, i),
                  &config);
    assert_int_equal(r.states, 42);
    assert_int_equal(r.model.violated(&r.model, r.raw), LH_INV_LEASE_EXCLUSIVITY);
    lh_batch_close(&r.batch);
    lh_model_close(&r.model);
    lh_trace_close(&trace);
    lh_model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_rows_are_as_recorded),
        cmocka_unit_test(a_trace_is_a_behaviour),
        cmocka_unit_test(the_closed_network_passes_the_rules_and_fails_each_weakened),
        cmocka_unit_test(deadlines_never_move_back),
        cmocka_unit_test(the_paper_s_own_rules_fail_in_the_bounded_module_too),
    };
    return cmocka_run_group_tests_name("check_rows", tests, NULL, NULL);
}
