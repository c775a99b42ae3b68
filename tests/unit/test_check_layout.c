// States survive packing; the fingerprint that a step makes from its parent's is the one made from
// nothing; it does not depend on the order of the messages.
#include "check/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check/model.h"

enum { STEPS = 3000 };

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

static void expect_same_state(const struct lh_layout *layout, const uint8_t *a, const uint8_t *b)
{
    assert_memory_equal(a, b, layout->variable_count);
    const uint16_t *left = lh_layout_network_const(layout, a);
    const uint16_t *right = lh_layout_network_const(layout, b);
    assert_memory_equal(left, right, sizeof(uint16_t) * (1u + left[0]));
}

static void expect_packing(const struct lh_layout *layout, const uint8_t *raw)
{
    uint8_t packed[LH_LAYOUT_MAX_PACKED + 1];
    uint8_t again[LH_LAYOUT_MAX_STRIDE] __attribute__((aligned(64))) = {0};
    memset(packed, 0xa5, sizeof packed);
    lh_layout_pack(layout, raw, packed);
    assert_int_equal(packed[layout->packed_bytes], 0xa5); // not one byte too many
    lh_layout_unpack(layout, packed, again);
    expect_same_state(layout, raw, again);
}

static void expect_order_is_nothing(const struct lh_layout *layout, const uint8_t *raw)
{
    uint8_t turned[LH_LAYOUT_MAX_STRIDE] __attribute__((aligned(64)));
    memcpy(turned, raw, layout->stride);
    uint16_t *network = lh_layout_network(layout, turned);
    for (uint32_t i = 0; i < network[0] / 2u; i++) {
        const uint16_t swap = network[1 + i];
        network[1 + i] = network[network[0] - i];
        network[network[0] - i] = swap;
    }
    struct lh_fp *here = calloc(2 * (size_t)layout->lanes, sizeof *here);
    assert_non_null(here);
    lh_layout_hash(layout, raw, here);
    lh_layout_hash(layout, turned, here + layout->lanes);
    assert_memory_equal(here, here + layout->lanes, layout->lanes * sizeof *here);
    free(here);
}

// Walks at random, and checks every successor on the way.
static void walk(const struct lh_check_config *config)
{
    struct lh_model model;
    struct lh_batch batch;
    uint8_t raw[LH_LAYOUT_MAX_STRIDE] __attribute__((aligned(64)));
    uint64_t seed = 7;
    assert_true(lh_model_open(&model, config));
    assert_true(lh_batch_open(&batch, &model, model.max_successors));
    const struct lh_layout *layout = &model.layout;
    struct lh_fp *lanes = calloc(2 * (size_t)layout->lanes, sizeof *lanes);
    assert_non_null(lanes);
    model.init(&model, raw);
    for (uint32_t step = 0; step < STEPS; step++) {
        lh_model_hash(&model, raw, lanes);
        batch.count = 0;
        model.expand(&model, raw, lanes, &batch);
        for (uint32_t i = 0; i < batch.count; i++) {
            const uint8_t *successor = batch.raw + (size_t)i * layout->stride;
            lh_model_hash(&model, successor, lanes + layout->lanes);
            assert_memory_equal(lanes + layout->lanes, batch.lanes + (size_t)i * layout->lanes,
                                layout->lanes * sizeof *lanes);
            assert_true(lh_layout_in_domain(layout, successor));
        }
        if (batch.count == 0) {
            model.init(&model, raw);
            continue;
        }
        memcpy(raw, batch.raw + (size_t)draw(&seed, batch.count) * layout->stride, layout->stride);
        expect_packing(layout, raw);
        if (layout->message_count != 0)
            expect_order_is_nothing(layout, raw);
        if (step % 200 == 199)
            model.init(&model, raw);
    }
    free(lanes);
    lh_batch_close(&batch);
    lh_model_close(&model);
}

static void everything_on(struct lh_check_config *config)
{
    config->max_time = 3;
    config->allow_crash = config->allow_release = config->allow_drop = true;
    config->allow_renewal = config->allow_abandon = config->allow_redeliver = true;
    config->crash_drops_incoming = true;
}

static void the_lease_module_walks(void **state)
{
    (void)state;
    struct lh_check_config config;
    lh_check_config_default(&config, LH_CHECK_LEASE);
    everything_on(&config);
    walk(&config);
    config.weaken = LH_WEAKEN_SCALAR_QUORUM;
    walk(&config);
}

static void the_largest_lease_module_walks(void **state)
{
    (void)state;
    struct lh_check_config config;
    lh_check_config_default(&config, LH_CHECK_LEASE);
    everything_on(&config);
    config.proposers = LH_CHECK_MAX_PROPOSERS;
    config.acceptors = LH_CHECK_MAX_ACCEPTORS;
    config.ballots = LH_CHECK_MAX_BALLOTS;
    config.max_time = 7;
    config.max_network = 12;
    walk(&config);
}

static void symmetry_lanes_walk(void **state)
{
    (void)state;
    struct lh_check_config config;
    lh_check_config_default(&config, LH_CHECK_LEASE);
    everything_on(&config);
    config.acceptors = 3;
    config.symmetry = true;
    walk(&config);
}

static void the_projection_walks(void **state)
{
    (void)state;
    struct lh_check_config config;
    lh_check_config_default(&config, LH_CHECK_IMPL);
    config.allow_crash = true;
    config.timely_dispatch = false;
    walk(&config);
}

static void the_composition_walks(void **state)
{
    (void)state;
    struct lh_check_config config;
    lh_check_config_default(&config, LH_CHECK_COMPOSITION);
    walk(&config);
}

static void the_closed_module_walks(void **state)
{
    (void)state;
    struct lh_check_config config;
    lh_check_config_default(&config, LH_CHECK_CLOSED);
    config.durations = 3;
    config.extends = 2;
    config.idle_forget = config.promise_floor = config.clean_restart = config.ceiling = true;
    config.client_outlives = config.allow_replace = true;
    config.proposers = 3;
    config.acceptors = 5;
    config.ballots = 5;
    walk(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lease_module_walks), cmocka_unit_test(the_largest_lease_module_walks),
        cmocka_unit_test(symmetry_lanes_walk),    cmocka_unit_test(the_projection_walks),
        cmocka_unit_test(the_composition_walks),  cmocka_unit_test(the_closed_module_walks),
    };
    return cmocka_run_group_tests_name("check_layout", tests, NULL, NULL);
}
