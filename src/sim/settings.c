// See settings.h.
#include "sim/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "base/text.h"
#include "lease/timing.h"

#define SPAN_MOST (10000 * 3600 * LH_NS_PER_S) // as of --duration

enum kind { COUNT, SPAN, EVERY, CHANCE, SWITCH };

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *help;
} table[] = {
#define ROW(field, name, kind, help) {name, kind, offsetof(struct lh_sim_settings, field), help},
    LH_SIM_SETTINGS(ROW)
#undef ROW
};
#define TABLE_COUNT (sizeof table / sizeof table[0])

static int64_t *value_of(struct lh_sim_settings *settings, size_t index)
{
    return (int64_t *)(void *)((char *)settings + table[index].offset);
}

// --- drawing ---

static int64_t one_of(struct lh_prng *prng, const int64_t *values, size_t count)
{
    return values[lh_prng_below(prng, count)];
}
#define ONE_OF(prng, ...)                                                                          \
    one_of(prng, (const int64_t[]){__VA_ARGS__},                                                   \
           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// Half of the seeds do without.
static int64_t perhaps(struct lh_prng *prng, int64_t value)
{
    return lh_prng_below(prng, 2) == 0 ? 0 : value;
}

// A run has about as many turns whatever its length: M is between a 5000th and a quarter of it.
static int64_t draw_max_ttl(struct lh_prng *prng, int64_t duration_ns)
{
    const int64_t choices_ms[] = {200, 1000, 3000, 10000, 60000, 600000, 3600000};
    int64_t fit[sizeof choices_ms / sizeof choices_ms[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof choices_ms / sizeof choices_ms[0]; i++) {
        int64_t ns = choices_ms[i] * LH_NS_PER_MS;
        if (ns >= duration_ns / 5000 && ns <= duration_ns / 4)
            fit[count++] = ns;
    }
    if (count == 0)
        fit[count++] = (duration_ns < 4 * LH_NS_PER_S ? 200 : 3600000) * LH_NS_PER_MS;
    return one_of(prng, fit, count);
}

static void draw_cluster(struct lh_sim_settings *settings, struct lh_prng *prng)
{
    settings->clients = 2 + (int64_t)lh_prng_below(prng, 11);
    settings->names = 1 + (int64_t)lh_prng_below(prng, 3);
    settings->max_ttl_ns = draw_max_ttl(prng, settings->duration_ns);
    settings->rate_ppm = ONE_OF(prng, 10, 1000, 10000, 10000, 100000);
    settings->clock_ppm = settings->rate_ppm;
    settings->extreme = ONE_OF(prng, 0, 300000, 1000000);
    settings->drift_ns = perhaps(prng, settings->max_ttl_ns * ONE_OF(prng, 1, 10));
    settings->idle_forget = (int64_t)lh_prng_below(prng, 2);
    settings->one_round_renewal = (int64_t)lh_prng_below(prng, 2);
    settings->clean_restart = (int64_t)lh_prng_below(prng, 2);
    settings->quarantine_ceiling = (int64_t)lh_prng_below(prng, 2);
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

// The slowest that a seed draws, and all that healing leaves.
#define DELAY_MOST_US 3000
#define JITTER_MOST_DELAYS 20
#define JITTER_MOST_US (JITTER_MOST_DELAYS * DELAY_MOST_US)
#define TURN_MOST_US 20
#define CLIENT_MOST_US 2000
#define DISK_MOST_NS (20 * LH_NS_PER_MS)

// A TTL is some round trips, or nothing works.
static int64_t jitter_most_ns(const struct lh_sim_settings *settings)
{
    return settings->max_ttl_ns / 50;
}

static void draw_world(struct lh_sim_settings *settings, struct lh_prng *prng)
{
    settings->delay_ns = ONE_OF(prng, 20, 50, 300, DELAY_MOST_US) * LH_NS_PER_US;
    settings->jitter_ns = settings->delay_ns * ONE_OF(prng, 0, 1, 1, JITTER_MOST_DELAYS);
    settings->jitter_ns = at_most(settings->jitter_ns, jitter_most_ns(settings));
    settings->loss_ppm = ONE_OF(prng, 0, 1000, 10000, 100000, 300000);
    settings->duplicate_ppm = ONE_OF(prng, 0, 10000, 100000, 300000);
    settings->late_ppm = ONE_OF(prng, 0, 1000, 10000, 100000);
    settings->held_ppm = ONE_OF(prng, 0, 0, 100, 1000);
    settings->corrupt_ppm = ONE_OF(prng, 0, 0, 1000, 10000);
    settings->batch_ppm = ONE_OF(prng, 0, 30000, 300000);
    settings->turn_ns = ONE_OF(prng, 0, 2, TURN_MOST_US) * LH_NS_PER_US;
    settings->client_ns = ONE_OF(prng, 20, 200, CLIENT_MOST_US) * LH_NS_PER_US;
    settings->stall_ppm = ONE_OF(prng, 0, 1000, 10000, 50000);
    settings->disk_ns = lh_prng_between(prng, 10 * LH_NS_PER_US, DISK_MOST_NS);
}

static void draw_faults(struct lh_sim_settings *settings, struct lh_prng *prng)
{
    const int64_t unit = settings->max_ttl_ns;
    settings->crash_ns = perhaps(prng, unit * ONE_OF(prng, 1, 4, 20));
    settings->stop_ns = perhaps(prng, unit * ONE_OF(prng, 2, 10));
    settings->wipe_ppm = ONE_OF(prng, 0, 0, 100000, 300000);
    settings->reboot_ppm = ONE_OF(prng, 0, 100000, 300000);
    settings->black_ppm = ONE_OF(prng, 0, 0, 50000, 200000);
    settings->pause_ns = perhaps(prng, unit * ONE_OF(prng, 1, 4, 20));
    settings->suspend_ns = perhaps(prng, unit * ONE_OF(prng, 4, 20));
    settings->cut_ns = perhaps(prng, unit * ONE_OF(prng, 1, 4, 20));
    settings->disk_stall_ns = perhaps(prng, unit * ONE_OF(prng, 4, 20));
    settings->span_ns = unit * ONE_OF(prng, 1, 2, 4) / 2;
    settings->client_crash_ppm = ONE_OF(prng, 0, 20000, 100000);
    settings->client_hang_ppm = ONE_OF(prng, 0, 20000, 100000);
    settings->client_move_ppm = ONE_OF(prng, 0, 20000, 100000);
    settings->client_release_ppm = ONE_OF(prng, 10000, 100000, 300000);
    settings->client_rest_ppm = ONE_OF(prng, 0, 20000, 100000);
    settings->wait_ppm = ONE_OF(prng, 300000, 700000, 1000000);
    settings->disk_full_ns = perhaps(prng, unit * ONE_OF(prng, 4, 20));
    settings->disk_fail_ns = perhaps(prng, unit * ONE_OF(prng, 4, 20));
}

void lh_sim_settings_draw(struct lh_sim_settings *settings, uint64_t seed, int64_t duration_ns,
                          unsigned nodes)
{
    struct lh_prng prng;
    lh_prng_seed_number(&prng, ~seed);
    *settings = (struct lh_sim_settings){.seed = seed, .duration_ns = duration_ns};
    settings->nodes = ONE_OF(&prng, 3, 3, 3, 5, 5, 7);
    if (nodes != 0)
        settings->nodes = nodes;
    draw_cluster(settings, &prng);
    draw_world(settings, &prng);
    draw_faults(settings, &prng);
}

void lh_sim_settings_heal(struct lh_sim_settings *settings)
{
    settings->delay_ns = at_most(settings->delay_ns, DELAY_MOST_US * LH_NS_PER_US);
    settings->jitter_ns = at_most(settings->jitter_ns, JITTER_MOST_US * LH_NS_PER_US);
    settings->jitter_ns = at_most(settings->jitter_ns, jitter_most_ns(settings));
    settings->turn_ns = at_most(settings->turn_ns, TURN_MOST_US * LH_NS_PER_US);
    settings->client_ns = at_most(settings->client_ns, CLIENT_MOST_US * LH_NS_PER_US);
    settings->disk_ns = at_most(settings->disk_ns, DISK_MOST_NS);
}

// --- reading and printing ---

// "12%", "0.5%", or parts in a million.
static bool parse_chance(const char *text, int64_t *ret)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0) || value > 1e6)
        return false;
    if (strcmp(end, "%") == 0)
        value *= 10000;
    else if (*end != '\0')
        return false;
    *ret = (int64_t)(value + 0.5);
    return *ret <= LH_SIM_SETTINGS_CHANCE_MAX;
}

// As the rest of the program reads durations, and "20us", "7ns".
static bool parse_span(const char *text, int64_t *ret)
{
    struct lh_duration span;
    const char *reason;
    char *end = NULL;
    if (lh_duration_parse(lh_slice_of_string(text), &span, &reason)) {
        *ret = span.ns;
        return true;
    }
    long long value = strtoll(text, &end, 10);
    if (end == text || value < 0 || value > INT64_MAX / LH_NS_PER_US)
        return false;
    *ret = strcmp(end, "us") == 0 ? value * LH_NS_PER_US : value;
    return strcmp(end, "us") == 0 || strcmp(end, "ns") == 0;
}

static bool parse_value(enum kind kind, const char *text, int64_t *ret)
{
    char *end = NULL;
    switch (kind) {
    case SPAN: return parse_span(text, ret) && *ret <= SPAN_MOST;
    case EVERY:
        return parse_span(text, ret) && *ret <= SPAN_MOST && (*ret == 0 || *ret >= LH_NS_PER_MS);
    case CHANCE: return parse_chance(text, ret);
    case SWITCH:
        *ret = strcmp(text, "on") == 0 || strcmp(text, "1") == 0;
        return *ret == 1 || strcmp(text, "off") == 0 || strcmp(text, "0") == 0;
    case COUNT: *ret = strtoll(text, &end, 10); return end != text && *end == '\0' && *ret >= 1;
    }
    return false;
}

static const char *form_of(enum kind kind)
{
    switch (kind) {
    case SPAN: return "a duration such as 20us, 300ms or 10s, at most 10000h";
    case EVERY: return "a duration from 1ms to 10000h, or 0s for never";
    case CHANCE: return "a share such as 1%, or parts in a million";
    case SWITCH: return "on or off";
    case COUNT: break;
    }
    return "a number from 1";
}

_Static_assert(TABLE_COUNT <= 64, "a bit for each setting");

static bool set_one(struct lh_sim_settings *settings, const char *name, const char *value,
                    uint64_t *given, char *ret_error, size_t error_size)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        if ((*given >> i & 1) != 0) {
            snprintf(ret_error, error_size, "%s is given twice", name);
            return false;
        }
        *given |= UINT64_C(1) << i;
        if (parse_value(table[i].kind, value, value_of(settings, i)))
            return true;
        snprintf(ret_error, error_size, "%s '%s' is not %s", name, value, form_of(table[i].kind));
        return false;
    }
    snprintf(ret_error, error_size, "'%s' is no setting: `leasehold sim --help` lists them", name);
    return false;
}

// What the simulator has room for, and what a daemon would refuse.
static bool fits(const struct lh_sim_settings *settings, char *ret_error, size_t error_size)
{
    struct lh_timing timing = {{settings->max_ttl_ns}, (uint32_t)settings->rate_ppm};
    const char *wrong = NULL;
    if (settings->nodes > LH_SIM_NODES_MAX)
        wrong = "at most 7 nodes";
    else if (settings->clients > LH_SIM_CLIENTS_MAX)
        wrong = "at most 24 clients";
    else if (settings->names > LH_SIM_NAMES_MAX)
        wrong = "at most 8 names";
    else if (!lh_timing_valid(timing))
        wrong = "max-ttl from 50ms to 1h, and a rate-error from 1 to 100000";
    else if (settings->clock_ppm >= LH_SIM_SETTINGS_CHANCE_MAX / 2)
        wrong = "a clock-rate below 50%";
    if (wrong != NULL)
        snprintf(ret_error, error_size, "the simulator takes %s", wrong);
    return wrong == NULL;
}

bool lh_sim_settings_override(struct lh_sim_settings *settings, const char *text, char *ret_error,
                              size_t error_size)
{
    uint64_t given = 0; // a bit for each row of the table
    for (const char *at = text;; at++) {
        char pair[128];
        const size_t size = strcspn(at, ",");
        snprintf(pair, sizeof pair, "%.*s", (int)size, at);
        char *equals = strchr(pair, '=');
        if (equals == NULL || size >= sizeof pair) {
            snprintf(ret_error, error_size, "'%s' is not name=value", pair);
            return false;
        }
        *equals = '\0';
        if (!set_one(settings, pair, equals + 1, &given, ret_error, error_size))
            return false;
        at += size;
        if (*at == '\0')
            break;
    }
    return fits(settings, ret_error, error_size);
}

static void print_value(FILE *file, enum kind kind, int64_t value)
{
    if (kind == SWITCH)
        fputs(value != 0 ? "on" : "off", file);
    else if (kind != SPAN && kind != EVERY)
        fprintf(file, "%lld", (long long)value);
    else if (value % LH_NS_PER_MS == 0)
        fprintf(file, "%lldms", (long long)(value / LH_NS_PER_MS));
    else if (value % LH_NS_PER_US == 0)
        fprintf(file, "%lldus", (long long)(value / LH_NS_PER_US));
    else
        fprintf(file, "%lldns", (long long)value);
}

void lh_sim_settings_print(const struct lh_sim_settings *settings, FILE *file)
{
    struct lh_sim_settings copy = *settings;
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        fprintf(file, "%s%s=", i == 0 ? "" : ",", table[i].name);
        print_value(file, table[i].kind, *value_of(&copy, i));
    }
}

void lh_sim_settings_help(FILE *file)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        fprintf(file, "  %-19s %s\n", table[i].name, table[i].help);
}
