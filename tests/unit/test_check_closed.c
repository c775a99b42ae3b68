// The closed network: fingerprints that follow steps are those made from nothing, and do not know
// the names of processes; settling what nothing reads any more, or leaving out delays that others
// stand for, changes no verdict; a released attempt is safe if it was fresh and is over.
// run-tests: timeout 300
#include "check/closed_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/rows.h"
#include "closed_config.h"

enum { WALKS = 40, STEPS = 60 };

static struct lh_check_config everything(const char *proposers, const char *acceptors)
{
    return closed(proposers, acceptors, "ProposerDurations=1,2", "IdleForget=true",
                  "PromiseFloor=true", "OneRoundRenewal=2", "CleanRestart=true", "Ceiling=true",
                  "ClientOutlives=true", "AllowReplace=true", "AbandonRelease=true", NULL);
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

typedef void check_state(const struct lh_model *model, const uint8_t *raw,
                         const struct lh_fp *lanes);

// Random walks; `check` sees every successor met, with the lanes that followed its step.
static void walk(const struct lh_check_config *config, check_state *check)
{
    struct lh_model model;
    struct lh_batch batch;
    uint8_t raw[LH_LAYOUT_MAX_STRIDE] __attribute__((aligned(64)));
    struct lh_fp lanes[LH_CLOSED_LANES];
    uint64_t seed = 20120713;
    assert_true(lh_model_open(&model, config));
    assert_true(lh_batch_open(&batch, &model, model.max_successors));
    for (unsigned i = 0; i < WALKS; i++) {
        model.init(&model, raw);
        for (unsigned step = 0; step < STEPS; step++) {
            batch.count = 0;
            lh_model_hash(&model, raw, lanes);
            model.expand(&model, raw, lanes, &batch);
            assert_in_range(batch.count, 1, model.max_successors);
            for (uint32_t s = 0; s < batch.count; s++)
                check(&model, batch.raw + (size_t)s * model.layout.stride,
                      batch.lanes + (size_t)s * model.layout.lanes);
            memcpy(raw, batch.raw + (size_t)draw(&seed, batch.count) * model.layout.stride,
                   model.layout.stride);
        }
    }
    lh_batch_close(&batch);
    lh_model_close(&model);
}

static void expect_lanes_from_nothing(const struct lh_model *model, const uint8_t *raw,
                                      const struct lh_fp *lanes)
{
    struct lh_fp made[LH_CLOSED_LANES];
    lh_model_hash(model, raw, made);
    assert_memory_equal(made, lanes, model->layout.lanes * sizeof *made);
}

static void expect_same_fingerprint(const struct lh_model *model, const uint8_t *a,
                                    const uint8_t *b)
{
    struct lh_fp lanes[LH_CLOSED_LANES];
    lh_model_hash(model, a, lanes);
    const struct lh_fp one = lh_model_fingerprint(model, lanes);
    lh_model_hash(model, b, lanes);
    const struct lh_fp other = lh_model_fingerprint(model, lanes);
    assert_memory_equal(&one, &other, sizeof one);
}

static uint8_t swap_bits(uint8_t set)
{
    return (uint8_t)((set & ~3u) | (set & 1u) << 1 | (set >> 1 & 1u));
}

// The first two proposers exchange their names.
static void swap_proposers(const struct lh_check_config *config, uint8_t *raw)
{
    uint8_t row[LH_CP_VARIABLES];
    uint8_t *first = raw + lh_closed_proposer(config, 0, 0);
    uint8_t *second = raw + lh_closed_proposer(config, 1, 0);
    memcpy(row, first, sizeof row);
    memcpy(first, second, sizeof row);
    memcpy(second, row, sizeof row);
    for (uint32_t b = 1; b <= config->ballots; b++) {
        uint8_t *owner = raw + lh_closed_ballot(b, LH_CB_OWNER);
        if (*owner == 1 || *owner == 2)
            *owner = (uint8_t)(3 - *owner);
    }
    for (uint32_t a = 0; a < config->acceptors; a++) {
        uint8_t *acceptor = raw + lh_closed_acceptor(config, a, 0);
        acceptor[LH_CA_OPEN] = swap_bits(acceptor[LH_CA_OPEN]);
        acceptor[LH_CA_ANSWERED] = swap_bits(acceptor[LH_CA_ANSWERED]);
        acceptor[LH_CA_STALE] = swap_bits(acceptor[LH_CA_STALE]);
    }
}

static void expect_names_are_nothing(const struct lh_model *model, const uint8_t *raw,
                                     const struct lh_fp *lanes)
{
    const struct lh_check_config *config = &model->config;
    const uint32_t first = lh_closed_acceptor(config, 0, 0);
    const uint32_t last = lh_closed_acceptor(config, config->acceptors - 1u, 0);
    uint8_t renamed[LH_LAYOUT_MAX_STRIDE];
    (void)lanes;
    memcpy(renamed, raw, model->layout.stride);
    memcpy(renamed + first, raw + last, LH_CA_VARIABLES);
    memcpy(renamed + last, raw + first, LH_CA_VARIABLES);
    expect_same_fingerprint(model, raw, renamed);
    swap_proposers(config, renamed);
    expect_same_fingerprint(model, raw, renamed);
}

static void expect_settled(const struct lh_model *model, const uint8_t *raw,
                           const struct lh_fp *lanes)
{
    uint8_t again[LH_LAYOUT_MAX_STRIDE];
    (void)lanes;
    memcpy(again, raw, model->layout.stride);
    lh_closed_settle(model, again);
    assert_memory_equal(again, raw, model->layout.variable_count);
    assert_int_not_equal(model->violated(model, raw), LH_INV_TYPE_OK);
}

static void fingerprints_follow_steps(void **state)
{
    (void)state;
    struct lh_check_config config = everything("Proposers=3", "Acceptors=3");
    walk(&config, expect_lanes_from_nothing);
    config = everything("Proposers=2", "Acceptors=5");
    walk(&config, expect_lanes_from_nothing);
    config.symmetry = false;
    walk(&config, expect_lanes_from_nothing);
    config = closed("Acceptors=3", "Quorums=12,13", "older-extend", "OneRoundRenewal=2", NULL);
    walk(&config, expect_lanes_from_nothing);
}

static void names_of_processes_are_nothing(void **state)
{
    (void)state;
    struct lh_check_config config = everything("Proposers=3", "Acceptors=3");
    walk(&config, expect_names_are_nothing);
    config = everything("Proposers=2", "Acceptors=2");
    walk(&config, expect_names_are_nothing);
}

static void a_settled_state_stays_as_it_is(void **state)
{
    (void)state;
    struct lh_check_config config = everything("Proposers=3", "Acceptors=3");
    walk(&config, expect_settled);
    config = closed("PromiseFloor=true", "IdleForget=true", NULL);
    walk(&config, expect_settled);
}

static struct lh_search_result search(const struct lh_check_config *config)
{
    struct lh_model model;
    struct lh_search_result result;
    const struct lh_search_options options = {.threads = 2, .memory_bytes = UINT64_C(1) << 30};
    assert_true(lh_model_open(&model, config));
    lh_search_run(&model, &options, &result);
    lh_model_close(&model);
    return result;
}

// The same verdict when every value is kept, and the same trace; the same when delays are left out,
// and a shorter one.
static void expect_reductions_agree(struct lh_check_config config)
{
    const struct lh_search_result settled = search(&config);
    assert_int_not_equal(settled.verdict, LH_VERDICT_INCOMPLETE);
    config.keep_dead = true;
    const struct lh_search_result kept = search(&config);
    assert_int_equal(kept.verdict, settled.verdict);
    assert_int_equal(kept.invariant, settled.invariant);
    assert_int_equal(kept.trace_states, settled.trace_states);
    if (kept.verdict == LH_VERDICT_PASS)
        assert_true(kept.distinct > settled.distinct);
    config.keep_dead = false;
    config.prompt = true;
    const struct lh_search_result prompt = search(&config);
    assert_int_equal(prompt.verdict, settled.verdict);
    assert_int_equal(prompt.invariant, settled.invariant);
    assert_true(prompt.trace_states <= settled.trace_states);
    assert_true(prompt.distinct < settled.distinct);
}

static void reductions_change_no_verdict(void **state)
{
    (void)state;
    expect_reductions_agree(closed("Ballots=2", NULL));
    expect_reductions_agree(closed("Ballots=2", "PromiseFloor=true", "IdleForget=true",
                                   "CleanRestart=true", "ProposerDurations=1,2", NULL));
    expect_reductions_agree(closed("Ballots=2", "Ceiling=true", "ProposerDurations=1,2", NULL));
    expect_reductions_agree(closed("Quarantine=1", NULL));
    expect_reductions_agree(closed("PromiseFloor=true", "floor-lost", NULL));
    expect_reductions_agree(closed("AbandonRelease=true", "abandon-goes-on", NULL));
}

static void expect(struct lh_check_config config, uint32_t trace_states)
{
    const struct lh_search_result result = search(&config);
    assert_int_equal(result.invariant, trace_states == 0 ? LH_INV_NONE : LH_INV_LEASE_EXCLUSIVITY);
    assert_int_equal(result.trace_states, trace_states);
}

// Released while it goes on, or over a lease that is still held, it lets a second owner in.
static void an_abandoned_attempt_is_released_only_if_fresh_and_over(void **state)
{
    (void)state;
    expect(closed("AbandonRelease=true", NULL), 0);
    expect(closed("AbandonRelease=true", "abandon-goes-on", NULL), 18);
    expect(closed("AbandonRelease=true", "abandon-renewal", NULL), 24);
}

static void the_ceiling_is_raised_before_an_extend_is_answered(void **state)
{
    (void)state;
    expect(closed("Ballots=2", "PromiseFloor=true", "ProposerDurations=1,2", "OneRoundRenewal=1",
                  "Ceiling=true", "ceiling-extend", NULL),
           24);
}

// One byte numbers the steps of a state: even the greatest configuration has no more, and the
// states that a short search meets have no more than was counted.
static void steps_fit_into_a_byte(void **state)
{
    (void)state;
    struct lh_model model;
    struct lh_search_result result;
    const struct lh_search_options options = {.threads = 1, .memory_bytes = UINT64_C(24) << 20};
    struct lh_check_config config =
        closed("Proposers=3", "Acceptors=5", "Ballots=5", "ProposerDurations=1,2,3,4,5,6,7",
               "OneRoundRenewal=3", "IdleForget=true", "PromiseFloor=true", "CleanRestart=true",
               "Ceiling=true", "AllowReplace=true", "AbandonRelease=true", "ballot-reuse",
               "owner-only-release", "extend-foreign", NULL);
    assert_true(lh_model_open(&model, &config));
    assert_in_range(model.max_successors, 200, 255);
    lh_search_run(&model, &options, &result);
    assert_true(result.distinct > 1000);
    lh_model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprints_follow_steps),
        cmocka_unit_test(names_of_processes_are_nothing),
        cmocka_unit_test(a_settled_state_stays_as_it_is),
        cmocka_unit_test(reductions_change_no_verdict),
        cmocka_unit_test(an_abandoned_attempt_is_released_only_if_fresh_and_over),
        cmocka_unit_test(the_ceiling_is_raised_before_an_extend_is_answered),
        cmocka_unit_test(steps_fit_into_a_byte),
    };
    return cmocka_run_group_tests_name("check_closed", tests, NULL, NULL);
}
