// Traces as drawings and as objects: of violations that a search found, and of random walks through
// every module, so that every kind of step is drawn. Whatever is drawn is well-formed, and its bars
// and arrows are as many as the states and the steps say.
#include "check/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "check/closed_model.h"
#include "check/composition_model.h"
#include "check/lease_model.h"
#include "closed_config.h"

enum { STEPS = 60 };

static const char *file_name(const char *ending)
{
    static char path[512];
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    snprintf(path, sizeof path, "%s/trace-%d%s", directory, (int)getpid(), ending);
    return path;
}

// What lh_trace_write makes of it; to be freed.
static char *written(const struct lh_trace *trace, const char *ending)
{
    const char *path = file_name(ending);
    assert_true(lh_trace_write(trace, path));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    char *text = malloc(size + 1);
    rewind(file);
    assert_int_equal(fread(text, 1, size, file), size);
    text[size] = '\0';
    fclose(file);
    unlink(path);
    return text;
}

// --- well-formed ---

// One attribute, ='...'. Returns what is behind it, or NULL.
static const char *attribute(const char *at)
{
    const size_t name =
        strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-1234567890");
    if (name == 0 || at[name] != '=' || at[name + 1] != '\'')
        return NULL;
    at += name + 2;
    at += strcspn(at, "'<&");
    return *at == '\'' ? at + 1 : NULL;
}

static void assert_xml(const char *text)
{
    char open[16][16];
    unsigned depth = 0;
    for (const char *at = text; *at != '\0';) {
        if (*at != '<') {
            assert_true(*at != '&');
            at++;
            continue;
        }
        const bool closes = *++at == '/';
        char name[16] = "";
        at += closes;
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        assert_in_range(length, 1, sizeof name - 1);
        memcpy(name, at, length);
        at += length;
        if (closes) {
            assert_true(depth > 0 && strcmp(open[--depth], name) == 0);
        } else {
            assert_true(depth < 16);
            snprintf(open[depth++], 16, "%s", name);
        }
        while (*at == ' ')
            assert_non_null(at = attribute(at + 1));
        if (*at == '/') {
            depth--;
            at++;
        }
        assert_int_equal(*at++, '>');
    }
    assert_int_equal(depth, 0);
}

// Returns what is behind one value, which must be there.
static const char *json_value(const char *at)
{
    const char open = *at;
    if (open == '"') {
        at += 1 + strcspn(at + 1, "\"\\\n");
        assert_int_equal(*at, '"');
        return at + 1;
    }
    if (open != '{' && open != '[') {
        const size_t length = strspn(at, "0123456789aeflnrstu");
        assert_true(length > 0);
        return at + length;
    }
    const char close = open == '{' ? '}' : ']';
    at += 1 + strspn(at + 1, "\n");
    while (*at != close) {
        if (open == '{') {
            assert_int_equal(*at, '"');
            at = json_value(at);
            assert_int_equal(*at++, ':');
        }
        at = json_value(at);
        at += strspn(at, "\n");
        if (*at != ',')
            assert_int_equal(*at, close);
        else
            at += 1 + strspn(at + 1, "\n");
    }
    return at + 1;
}

// --- counts ---

static unsigned occurrences(const char *text, const char *words)
{
    unsigned count = 0;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
        count++;
    return count;
}

static unsigned owners(const struct lh_trace *trace, uint32_t step)
{
    const struct lh_check_config *config = &trace->model->config;
    const uint8_t *raw = lh_trace_state(trace, step);
    unsigned count = 0;
    for (uint32_t p = 0; p < config->proposers; p++) {
        if (config->module == LH_CHECK_COMPOSITION)
            count += raw[lh_composition_leader(config, p, LH_L_ACTIVE)] != 0;
        else if (config->module == LH_CHECK_CLOSED)
            count += raw[lh_closed_proposer(config, p, LH_CP_AUTHORITY)] != 0;
        else
            count += raw[lh_lease_proposer(lh_lease_of(trace->model), p, LH_P_ACTIVE)] != 0;
    }
    return count;
}

static bool is_delivery(uint8_t kind)
{
    return kind == LH_ACT_DELIVER_PREPARE || kind == LH_ACT_DELIVER_PROMISE ||
           kind == LH_ACT_DELIVER_ACCEPT || kind == LH_ACT_DELIVER_ACCEPTED ||
           kind == LH_ACT_DELIVER_RELEASE || kind == LH_ACT_DELIVER_EXTEND;
}

static void assert_drawn(const struct lh_trace *trace)
{
    char *svg = written(trace, ".svg");
    unsigned authority = 0;
    unsigned two = 0;
    unsigned ticks = 0;
    unsigned deliveries = 0;
    unsigned crashes = 0;
    for (uint32_t step = 0; step < trace->count; step++) {
        const uint8_t kind = trace->actions[step].kind;
        authority += owners(trace, step);
        two += owners(trace, step) > 1;
        ticks += kind == LH_ACT_TICK;
        assert_int_equal(lh_trace_time(trace, step), ticks);
        deliveries += is_delivery(kind);
        crashes += kind == LH_ACT_CRASH_ACCEPTOR || kind == LH_ACT_CRASH_PROPOSER;
    }
    assert_xml(svg);
    assert_int_equal(occurrences(svg, "class='authority"), authority);
    assert_int_equal(occurrences(svg, "class='two'"), two);
    assert_int_equal(occurrences(svg, "class='tick'"), ticks);
    assert_true(occurrences(svg, "class='crashed") >= crashes);
    const unsigned arrows = occurrences(svg, "class='arrow");
    const unsigned lost = occurrences(svg, "class='arrow lost");
    if (trace->model->config.module == LH_CHECK_CLOSED) // and the answers that count
        assert_in_range(arrows, deliveries, 2 * deliveries);
    else
        assert_int_equal(arrows - lost, deliveries);
    free(svg);
    char *json = written(trace, ".json");
    assert_string_equal(json_value(json), "\n");
    assert_int_equal(occurrences(json, "{\"number\":"), trace->count);
    free(json);
}

// --- traces ---

static void draw_violation(const struct lh_check_config *config)
{
    struct lh_model model;
    struct lh_search_result result;
    struct lh_trace trace;
    const struct lh_search_options options = {
        .threads = 1, .memory_bytes = UINT64_C(1) << 28, .want_trace = true};
    char error[LH_CHECK_ERROR_SIZE];
    assert_true(lh_check_config_validate(config, error));
    assert_true(lh_model_open(&model, config));
    lh_search_run(&model, &options, &result);
    assert_int_equal(result.verdict, LH_VERDICT_VIOLATED);
    assert_true(lh_trace_open(&trace, &model, &result));
    assert_drawn(&trace);
    if (result.invariant == LH_INV_LEASE_EXCLUSIVITY) {
        char *svg = written(&trace, ".svg");
        assert_int_equal(occurrences(svg, " owner'"), 2);
        free(svg);
    }
    lh_trace_close(&trace);
    lh_model_close(&model);
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

static void draw_walk(const struct lh_model *model, uint64_t seed)
{
    struct lh_search_result result = {.trace_states = 1, .has_trace = true};
    struct lh_trace trace;
    struct lh_action action;
    uint8_t *raw = aligned_alloc(64, model->layout.stride);
    for (unsigned tries = 0; tries < 30 * STEPS && result.trace_states <= STEPS; tries++) {
        result.choices[result.trace_states - 1] = (uint8_t)draw(&seed, 24);
        if (lh_search_replay(model, result.choices, result.trace_states, raw, &action))
            result.trace_states++;
    }
    assert_true(result.trace_states > 3);
    assert_true(lh_trace_open(&trace, model, &result));
    assert_drawn(&trace);
    lh_trace_close(&trace);
    free(raw);
}

static void draw_walks(const struct lh_check_config *config)
{
    struct lh_model model;
    assert_true(lh_model_open(&model, config));
    for (uint64_t seed = 1; seed <= 12; seed++)
        draw_walk(&model, seed);
    lh_model_close(&model);
}

static struct lh_check_config bounded(enum lh_check_module module)
{
    struct lh_check_config config;
    lh_check_config_default(&config, module);
    config.allow_crash = config.allow_release = config.allow_drop = config.allow_renewal = true;
    if (module == LH_CHECK_LEASE)
        config.allow_abandon = config.allow_redeliver = true;
    return config;
}

static void two_owners_are_drawn(void **state)
{
    (void)state;
    char error[LH_CHECK_ERROR_SIZE];
    for (unsigned module = LH_CHECK_LEASE; module <= LH_CHECK_IMPL; module++) {
        struct lh_check_config config;
        lh_check_config_default(&config, (enum lh_check_module)module);
        assert_true(lh_check_config_set(&config, "Quorums=1,2", error));
        assert_true(lh_check_config_weaken(&config, "quorums", error));
        draw_violation(&config);
    }
}

static void the_closed_network_is_drawn(void **state)
{
    (void)state;
    struct lh_check_config config = closed("scalar-quorum", NULL);
    draw_violation(&config);
    config = closed("Quarantine=1", "Prompt=true", "ProposerDurations=2", NULL);
    draw_violation(&config);
    config = closed("floor-lost", "PromiseFloor=true", "Prompt=true", NULL);
    draw_violation(&config);
}

static void every_module_is_drawn(void **state)
{
    (void)state;
    struct lh_check_config config = bounded(LH_CHECK_LEASE);
    draw_walks(&config);
    config = bounded(LH_CHECK_IMPL);
    draw_walks(&config);
    lh_check_config_default(&config, LH_CHECK_COMPOSITION);
    draw_walks(&config);
    config =
        closed("Proposers=3", "Acceptors=3", "Ballots=5", "OneRoundRenewal=3", "IdleForget=true",
               "PromiseFloor=true", "CleanRestart=true", "Ceiling=true", "ClientOutlives=true",
               "AllowReplace=true", "AbandonRelease=true", "ProposerDurations=1,2", NULL);
    draw_walks(&config);
    config.prompt = true;
    draw_walks(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_owners_are_drawn),
        cmocka_unit_test(the_closed_network_is_drawn),
        cmocka_unit_test(every_module_is_drawn),
    };
    return cmocka_run_group_tests_name("check_trace", tests, NULL, NULL);
}
