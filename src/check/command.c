// `leasehold check`: runs configurations one after the other and compares each with what is
// recorded for it. Lines for people go to standard output too; only errors and progress to standard
// error.
#include "check/check.h"

#include <stdio.h>
#include <string.h>

#include "check/options.h"
#include "check/say.h"
#include "check/trace.h"

enum exit_code {
    EXIT_AS_EXPECTED = 0,
    EXIT_DIFFERS = 1,
    EXIT_VIOLATION = 12,
    EXIT_USAGE = 64,
    EXIT_INCOMPLETE = 75
};

static const char help[] =
    "Usage:\n"
    "leasehold check [NAME...|--quick|--all]      run recorded configurations (--all: those that "
    "were\n"
    "                                             finished)\n"
    "leasehold check --module lease|impl|composition|closed [--set NAME=VALUE]... [--weaken "
    "RULE]...\n"
    "                                             one of your own\n"
    "leasehold check --list [--json]              what is recorded\n"
    "leasehold check --list --module MODULE       the constants and the rules of a module\n"
    "\n"
    "  --set NAME=VALUE      a constant of the TLA+ module, as in MaxTime=3, AllowCrash=true,\n"
    "                        CrashableAcceptors=1,3, Quorums=12,13,23\n"
    "  --network closed      every message may arrive at any time, any number of times, or "
    "never,\n"
    "                        and time has no end: the module closed\n"
    "  --weaken RULE         leave one rule out, as in late-timer; most are rules of the closed "
    "module\n"
    "  --symmetry            count states that differ by names only as one (--no-symmetry: do "
    "not;\n"
    "                        the closed network does by itself)\n"
    "  --trace FILE          draw (.svg) or write (.json) the trace to a violation\n"
    "  --json                one object per configuration\n"
    "  --threads N           default: all cores\n"
    "  --memory SIZE         default: 4/5 of what is free\n"
    "  --spill DIR           keep large frontiers in a file there\n"
    "  --checkpoint FILE     write one every 15 minutes (--checkpoint-every), and when told to "
    "end\n"
    "  --resume FILE         go on from a checkpoint\n"
    "  --time TIME           give up after 90s, 15m, 2h\n"
    "  --expect-violation    exit 0 on a violation, 1 without one\n"
    "  --conform             make every step with the shipped functions as well, and compare\n"
    "\n"
    "Exit: 0 as expected or recorded, 1 differs from what is recorded, 12 a violation that "
    "nothing\n"
    "expects, 64 usage, 75 ended without a verdict (memory, time).\n";

static const char *verdict_name(enum lh_verdict verdict)
{
    static const char *const names[] = {"pass", "violated", "incomplete"};
    return names[verdict];
}

static void print_string(const char *text)
{
    if (text[0] == '\0')
        printf("null");
    else
        printf("\"%s\"", text); // names of ours: nothing to escape
}

static void print_json_constants(const struct lh_check_config *config)
{
    const char *name;
    char value[LH_CHECK_VALUE_SIZE];
    char weakened[128];
    lh_check_config_weakened(config, weakened, sizeof weakened);
    printf("\"symmetry\":%s,\"weaken\":", config->symmetry ? "true" : "false");
    print_string(weakened);
    printf(",\"constants\":{");
    for (size_t i = 0; lh_check_config_constant(config, i, &name, value); i++) {
        const bool quoted = strchr(value, ',') != NULL || strcmp(value, "none") == 0 ||
                            strcmp(name, "CrashableAcceptors") == 0 || strcmp(name, "Quorums") == 0;
        printf(quoted ? "%s\"%s\":\"%s\"" : "%s\"%s\":%s", i == 0 ? "" : ",", name, value);
    }
    printf("}");
}

static void list_json(const struct lh_check_row *row)
{
    printf("{\"config\":\"%s\",\"module\":\"%s\",", row->config.name,
           lh_check_module_name(row->config.module));
    print_json_constants(&row->config);
    printf(",\"verdict\":\"%s\",\"invariant\":", verdict_name(row->verdict));
    print_string(lh_invariant_name(row->invariant));
    if (row->trace_states != 0)
        printf(",\"trace_states\":%u", row->trace_states);
    if (row->distinct != 0)
        printf(",\"distinct\":%llu,\"generated\":%llu", (unsigned long long)row->distinct,
               (unsigned long long)row->generated);
    if (row->depth != 0)
        printf(",\"depth\":%u", row->depth);
    printf(",\"quick\":%s}\n", row->quick ? "true" : "false");
}

static void list_text(const struct lh_check_row *row)
{
    char weakened[128];
    lh_check_config_weakened(&row->config, weakened, sizeof weakened);
    printf("%-28s %-12s %-10s ", row->config.name, lh_check_module_name(row->config.module),
           verdict_name(row->verdict));
    if (row->trace_states != 0)
        printf("%s in %u states", lh_invariant_name(row->invariant), row->trace_states);
    else
        printf("%llu states", (unsigned long long)row->distinct);
    printf("%s%s%s%s\n", weakened[0] != '\0' ? ", without " : "", weakened,
           row->config.symmetry ? ", symmetry" : "", row->quick ? ", quick" : "");
}

// The rows that are named, or all.
static int list_rows(const struct lh_check_options *options)
{
    const size_t count = options->job_count != 0 ? options->job_count : lh_check_row_count();
    for (size_t i = 0; i < count; i++) {
        const struct lh_check_row *row =
            options->job_count != 0 ? options->jobs[i].row : lh_check_row_at(i);
        if (options->json)
            list_json(row);
        else
            list_text(row);
    }
    return EXIT_AS_EXPECTED;
}

static void list_module_json(enum lh_check_module module)
{
    struct lh_check_config config;
    const char *rule;
    lh_check_config_default(&config, module);
    printf("{\"module\":\"%s\",", lh_check_module_name(module));
    print_json_constants(&config);
    printf(",\"rules\":[");
    for (size_t i = 0; (rule = lh_check_module_rule(module, i)) != NULL; i++)
        printf("%s\"%s\"", i == 0 ? "" : ",", rule);
    printf("]}\n");
}

// What --set takes, with what holds unless it is given, and what --weaken takes.
static void list_module_text(enum lh_check_module module)
{
    struct lh_check_config config;
    const char *name;
    const char *rule;
    char range[64];
    lh_check_config_default(&config, module);
    for (size_t i = 0; lh_check_module_constant(module, i, &name, range); i++) {
        const char *given;
        char value[LH_CHECK_VALUE_SIZE] = "";
        char line[256];
        for (size_t j = 0; lh_check_config_constant(&config, j, &given, value); j++) {
            if (strcmp(given, name) == 0)
                break;
            value[0] = '\0';
        }
        snprintf(line, sizeof line, "%s=%s", name, value);
        printf("--set %-28s %s\n", line, range);
    }
    for (size_t i = 0; (rule = lh_check_module_rule(module, i)) != NULL; i++)
        printf("--weaken %s\n", rule);
}

static int list_module(enum lh_check_module module, bool json)
{
    if (json)
        list_module_json(module);
    else
        list_module_text(module);
    return EXIT_AS_EXPECTED;
}

static double per_state(const struct lh_search_result *result)
{
    return result->distinct == 0 ? 0 : (double)result->set_bytes / (double)result->distinct;
}

static double per_second(const struct lh_search_result *result)
{
    return result->seconds > 0 ? (double)result->distinct / result->seconds : 0;
}

static void print_json(const struct lh_check_config *config, const struct lh_search_options *search,
                       const struct lh_search_result *result)
{
    printf("{\"config\":\"%s\",\"module\":\"%s\",\"verdict\":\"%s\",\"invariant\":", config->name,
           lh_check_module_name(config->module), verdict_name(result->verdict));
    print_string(lh_invariant_name(result->invariant));
    if (result->verdict == LH_VERDICT_VIOLATED)
        printf(",\"trace_states\":%u", result->trace_states);
    else
        printf(",\"trace_states\":null");
    printf(",\"distinct\":%llu,\"generated\":%llu,\"depth\":%u,\"seconds\":%.3f,"
           "\"distinct_per_second\":%.0f,\"bytes_per_state\":%.2f,\"threads\":%u,"
           "\"cpu_seconds\":%.3f,\"collision\":%.1e",
           (unsigned long long)result->distinct, (unsigned long long)result->generated,
           result->depth, result->seconds, per_second(result), per_state(result), result->threads,
           result->cpu_seconds, result->collision_probability);
    if (config->symmetry)
        printf(",\"unreduced_distinct\":%llu,\"unreduced_generated\":%llu",
               (unsigned long long)result->unreduced.distinct,
               (unsigned long long)result->unreduced.generated);
    if (search->conform)
        lh_conform_print_json(&result->conform, result->fault, stdout);
    printf("}\n");
}

static void print_text(const struct lh_check_config *config, const struct lh_search_result *result)
{
    printf("%s: %s", config->name, verdict_name(result->verdict));
    if (result->verdict == LH_VERDICT_VIOLATED)
        printf(", %s, trace of %u states", lh_invariant_name(result->invariant),
               result->trace_states);
    if (result->verdict == LH_VERDICT_INCOMPLETE)
        printf(" (%s)", result->reason);
    printf("; %llu distinct, %llu generated, depth %u, %.1f s, %.2f M generated/s, "
           "%.1f bytes/state, collision %.0e, %u thread%s\n",
           (unsigned long long)result->distinct, (unsigned long long)result->generated,
           result->depth, result->seconds,
           result->seconds > 0 ? (double)result->generated / result->seconds / 1e6 : 0,
           per_state(result), result->collision_probability, result->threads,
           result->threads == 1 ? "" : "s");
    if (config->symmetry && result->verdict == LH_VERDICT_PASS)
        printf("  without symmetry reduction: %llu distinct, %llu generated\n",
               (unsigned long long)result->unreduced.distinct,
               (unsigned long long)result->unreduced.generated);
}

// Above this many states TLC, whose fingerprints have 64 bits, may have taken a state or two for
// others, and not have made the few steps from them.
#define EXACT_UP_TO UINT64_C(200000000)
enum { STATES_OFF_MOST = 2, STEPS_OFF_MOST = 40 };

static bool near(uint64_t recorded, uint64_t found, uint64_t off_most)
{
    const uint64_t off = recorded > found ? recorded - found : found - recorded;
    return off <= (recorded > EXACT_UP_TO ? off_most : 0);
}

static bool counts_differ(const struct lh_check_row *row, const struct lh_search_result *result)
{
    return !near(row->distinct, result->distinct, STATES_OFF_MOST) ||
           !near(row->generated, result->generated, STEPS_OFF_MOST) || row->depth != result->depth;
}

// Compares with the record, says what differs, and chooses the exit code.
static int judge(const struct lh_check_options *options, const struct lh_check_job *job,
                 const struct lh_search_result *result)
{
    const struct lh_check_row *row = job->row;
    if (result->invariant == LH_INV_CONFORMANCE) {
        lh_check_say(stderr, "leasehold check: %s: the code does not do what the model does: %s",
                     job->config.name, result->fault);
        return options->expect_violation ? EXIT_AS_EXPECTED : EXIT_VIOLATION;
    }
    if (result->verdict == LH_VERDICT_INCOMPLETE) {
        lh_check_say(stderr, "leasehold check: %s: incomplete: %s", job->config.name,
                     result->reason);
        return EXIT_INCOMPLETE;
    }
    if (options->expect_violation && result->verdict != LH_VERDICT_VIOLATED) {
        lh_check_say(stderr, "leasehold check: %s: a violation was expected", job->config.name);
        return EXIT_DIFFERS;
    }
    if (row == NULL || row->verdict == LH_VERDICT_INCOMPLETE || options->expect_violation) {
        if (options->expect_violation)
            return EXIT_AS_EXPECTED;
        return result->verdict == LH_VERDICT_VIOLATED ? EXIT_VIOLATION : EXIT_AS_EXPECTED;
    }
    if (row->verdict != result->verdict) {
        lh_check_say(stderr, "leasehold check: %s: recorded is %s", job->config.name,
                     verdict_name(row->verdict));
        return result->verdict == LH_VERDICT_VIOLATED ? EXIT_VIOLATION : EXIT_DIFFERS;
    }
    if (row->verdict == LH_VERDICT_VIOLATED) {
        if (row->invariant == result->invariant && row->trace_states == result->trace_states)
            return EXIT_AS_EXPECTED;
        lh_check_say(stderr, "leasehold check: %s: recorded is %s in %u states", job->config.name,
                     lh_invariant_name(row->invariant), row->trace_states);
        return EXIT_DIFFERS;
    }
    if (job->counts_comparable && row->distinct != 0 && counts_differ(row, result)) {
        lh_check_say(stderr,
                     "leasehold check: %s: recorded are %llu distinct, %llu generated, depth %u",
                     job->config.name, (unsigned long long)row->distinct,
                     (unsigned long long)row->generated, row->depth);
        return EXIT_DIFFERS;
    }
    return EXIT_AS_EXPECTED;
}

static uint64_t expected_distinct(const struct lh_check_job *job)
{
    if (!job->counts_comparable)
        return 0;
    return job->row->distinct != 0 ? job->row->distinct : job->row->hint;
}

static bool show_trace(const struct lh_check_options *options, const struct lh_model *model,
                       const struct lh_search_result *result)
{
    struct lh_trace trace;
    if (!lh_trace_open(&trace, model, result)) {
        lh_check_say(stderr, "leasehold check: %s: no memory for the trace; raise --memory",
                     model->config.name);
        return false;
    }
    bool shown = true;
    if (!options->json)
        lh_trace_print(&trace, stdout);
    if (options->trace != NULL && !lh_trace_write(&trace, options->trace)) {
        lh_check_say(stderr, "leasehold check: %s: cannot be written", options->trace);
        shown = false;
    }
    lh_trace_close(&trace);
    return shown;
}

static int run_job(const struct lh_check_options *options, const struct lh_check_job *job)
{
    struct lh_model model;
    struct lh_search_result result;
    struct lh_search_options search = options->search;
    if (!lh_model_open(&model, &job->config)) {
        lh_check_say(stderr, "leasehold check: %s: the machine has no memory for its tables",
                     job->config.name);
        return EXIT_INCOMPLETE;
    }
    search.expected_distinct = expected_distinct(job);
    const bool may_break = job->row == NULL || job->row->verdict == LH_VERDICT_VIOLATED;
    search.want_trace = options->trace != NULL || (!options->json && options->job_count == 1 &&
                                                   (may_break || search.conform));
    lh_search_run(&model, &search, &result);
    if (options->json)
        print_json(&job->config, &search, &result);
    else
        print_text(&job->config, &result);
    if (search.conform && !options->json)
        lh_conform_print(&result.conform, stdout);
    int code = judge(options, job, &result);
    if (result.verdict == LH_VERDICT_VIOLATED && search.want_trace &&
        !show_trace(options, &model, &result) && code == EXIT_AS_EXPECTED)
        code = EXIT_DIFFERS;
    fflush(stdout);
    lh_model_close(&model);
    return code;
}

int lh_check_command(int argc, char **argv)
{
    struct lh_check_options options;
    char error[LH_CHECK_ERROR_SIZE];
    int worst = EXIT_AS_EXPECTED;
    if (!lh_check_options_parse(&options, argc, argv, error)) {
        lh_check_say(stderr, "leasehold check: %s", error);
        worst = EXIT_USAGE;
    } else if (options.help) {
        fputs(help, stdout);
    } else if (options.list_module) {
        worst = list_module(options.module, options.json);
    } else if (options.list) {
        worst = list_rows(&options);
    } else {
        for (size_t i = 0; i < options.job_count && !lh_search_interrupted(); i++) {
            const int code = run_job(&options, &options.jobs[i]);
            if (worst == EXIT_AS_EXPECTED || code == EXIT_VIOLATION)
                worst = code;
        }
    }
    lh_check_options_close(&options);
    return worst;
}
