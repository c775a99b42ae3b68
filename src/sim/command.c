// `leasehold sim`: reads its options, runs a campaign, and prints what came of it. Results go to
// standard output; progress and how to replay a failure to standard error.
#include "sim/sim.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/campaign.h"
#include "sim/monte_carlo.h"
#include "sim/replay.h"
#include "sim/roles.h"
#include "sim/weaken.h"

enum { EXIT_USAGE = 64 };

#define SEED_LAST (UINT64_MAX / 2 - 1)
#define FAILED_SHOWN 100

static const char usage[] =
    "Usage: leasehold sim [--seed N | --seeds A..B] [--duration D] [OPTIONS]\n\n"
    "Runs whole clusters of the code that ships on a virtual network, virtual disks and virtual\n"
    "clocks, with faults, and judges what their clients believe. The same seed gives the same "
    "run.\n\n"
    "  --seed N             one run, with all that it was made of\n"
    "  --seeds A..B         many runs, on all cores (default: 1..100)\n"
    "  --seeds A..          until told to stop, past failures\n"
    "  --duration D         simulated time with faults, such as 60s (default), 1h, 24h\n"
    "  --nodes N            members, 1 to 7 (default: the seed's choice)\n"
    "  --faults K=V,...     settings instead of the seed's, listed below\n"
    "  --weaken RULE,...    break rules on purpose, listed below\n"
    "  --keep-going         do not end at the first failure\n"
    "  --workers N          processes (default: one for each core)\n"
    "  --log FILE           write the event log of one seed\n"
    "  --timeline FILE.svg  draw who held what over the time of one seed, and its faults\n"
    "  --record DIR         write what each node of one seed records, for `leasehold trace check`\n"
    "  --preset monte-carlo the paper's random schedules of single steps instead: seeds 1..10000\n"
    "                       unless given; takes --weaken, --keep-going and --json as well\n"
    "  --replay FILE.json   a trace of `leasehold check --trace` instead, on the functions that "
    "ship;\n"
    "                       takes --weaken as well\n"
    "  --json               one object a run\n\n"
    "Exit codes: 0 clean; 3 two held a lease at once, a token fell, or a stale write was taken; 4\n"
    "after healing a node did not serve or a lease was not granted in time; 70 a run crashed; 1 a\n"
    "file could not be written.\n\n"
    "Settings:\n";

struct options {
    struct lh_sim_campaign campaign;
    const char *log, *record, *timeline, *replay; // paths, or NULL
    char unfit[32]; // an option that is for whole clusters only, or empty
    bool json, progress, monte_carlo;
    // what came so far
    enum lh_sim_verdict worst;
    int unwritten; // errno of a file, or 0
    uint64_t failed, done;
    uint64_t failed_seeds[FAILED_SHOWN];
    struct lh_sim_result total;
    struct timespec began;
    double shown;
};

static bool complain(const char *what, const char *value, const char *remedy)
{
    char text[1024];
    snprintf(text, sizeof text, "%s '%s': %s", what, value, remedy);
    lh_make_printable(text);
    fprintf(stderr, "leasehold sim: %s\n", text);
    return false;
}

static double seconds_since(const struct timespec *began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began->tv_sec) + 1e-9 * (double)(now.tv_nsec - began->tv_nsec);
}

// --- options ---

static bool is_open(const struct lh_sim_campaign *campaign)
{
    return campaign->last == SEED_LAST;
}

static bool read_seed(struct lh_sim_campaign *campaign, const char *text)
{
    if (!lh_u64_parse(lh_slice_of_string(text), &campaign->first) || campaign->first >= SEED_LAST)
        return complain("--seed", text, "give one number, such as 17");
    campaign->last = campaign->first;
    return true;
}

static bool read_seeds(struct lh_sim_campaign *campaign, const char *text)
{
    const char *dots = strstr(text, "..");
    struct lh_slice first = lh_slice_of(text, dots != NULL ? (size_t)(dots - text) : strlen(text));
    if (!lh_u64_parse(first, &campaign->first) || campaign->first >= SEED_LAST)
        return complain("--seeds", text, "give two numbers, such as 1..100");
    campaign->last = dots == NULL ? campaign->first : SEED_LAST;
    if (dots != NULL && dots[2] == '\0')
        campaign->keep_going = true;
    else if (dots != NULL && (!lh_u64_parse(lh_slice_of_string(dots + 2), &campaign->last) ||
                              campaign->last < campaign->first || campaign->last >= SEED_LAST))
        return complain("--seeds", text, "give two numbers, the smaller one first, such as 1..100");
    return true;
}

static bool read_number(const char *option, const char *text, uint64_t most, unsigned *ret)
{
    uint64_t value;
    if (!lh_u64_parse(lh_slice_of_string(text), &value) || value < 1 || value > most) {
        char remedy[64];
        snprintf(remedy, sizeof remedy, "give a number from 1 to %llu", (unsigned long long)most);
        return complain(option, text, remedy);
    }
    *ret = (unsigned)value;
    return true;
}

static bool read_duration(struct lh_sim_campaign *campaign, const char *text)
{
    struct lh_duration duration;
    const char *reason = "give at least 1s and at most 10000h";
    if (!lh_duration_parse(lh_slice_of_string(text), &duration, &reason) ||
        duration.ns < LH_NS_PER_S || duration.ns > 10000 * 3600 * LH_NS_PER_S)
        return complain("--duration", text, reason);
    campaign->duration_ns = duration.ns;
    return true;
}

static bool read_preset(struct options *options, const char *text)
{
    options->monte_carlo = strcmp(text, "monte-carlo") == 0;
    return options->monte_carlo || complain("--preset", text, "the only one is monte-carlo");
}

static bool read_rules(struct lh_sim_campaign *campaign, const char *text)
{
    campaign->weakened = lh_sim_weaken_parse(text);
    return campaign->weakened != 0 ||
           complain("--weaken", text, "no such rule; `leasehold sim --help` lists them");
}

static bool read_value(struct options *options, const char *option, const char *value)
{
    struct lh_sim_campaign *campaign = &options->campaign;
    if (strcmp(option, "--seed") == 0)
        return read_seed(campaign, value);
    if (strcmp(option, "--seeds") == 0)
        return read_seeds(campaign, value);
    if (strcmp(option, "--weaken") == 0)
        return read_rules(campaign, value);
    if (strcmp(option, "--preset") == 0)
        return read_preset(options, value);
    if (strcmp(option, "--replay") == 0) {
        options->replay = value;
        return true;
    }
    snprintf(options->unfit, sizeof options->unfit, "%s", option);
    if (strcmp(option, "--duration") == 0)
        return read_duration(campaign, value);
    if (strcmp(option, "--nodes") == 0)
        return read_number(option, value, LH_SIM_NODES_MAX, &campaign->nodes);
    if (strcmp(option, "--workers") == 0)
        return read_number(option, value, 64, &campaign->workers);
    if (strcmp(option, "--faults") == 0) {
        campaign->overrides = value;
    } else if (strcmp(option, "--log") == 0) {
        options->log = value;
    } else if (strcmp(option, "--record") == 0) {
        options->record = value;
    } else if (strcmp(option, "--timeline") == 0) {
        options->timeline = value;
    } else {
        return complain("unknown option", option, "`leasehold sim --help` lists them");
    }
    return true;
}

static bool read_options(struct options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char name[32];
        const char *equals = strchr(argv[i], '=');
        if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
            continue;
        }
        if (strcmp(argv[i], "--keep-going") == 0) {
            options->campaign.keep_going = true;
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0)
            return complain("unexpected word", argv[i], "`leasehold sim --help` shows the usage");
        snprintf(name, sizeof name, "%.*s",
                 equals != NULL ? (int)(equals - argv[i]) : (int)strlen(argv[i]), argv[i]);
        const char *value = equals != NULL ? equals + 1 : ++i < argc ? argv[i] : NULL;
        if (value == NULL)
            return complain(
                "option", name,
                "there is none such, or a value is missing; `leasehold sim --help` tells");
        if (!read_value(options, name, value))
            return false;
    }
    return true;
}

// What drives single roles (roles.h) has no clusters, and breaks the rules of roles only.
static bool check_roles(const struct options *options, const char *option)
{
    if (options->unfit[0] != '\0')
        return complain("no use for", options->unfit, option);
    if ((options->campaign.weakened & ~(unsigned)LH_SIM_ROLES_WEAKENINGS) != 0) {
        fprintf(stderr, "leasehold sim: %s can break these rules only: ", option);
        lh_sim_weaken_print(LH_SIM_ROLES_WEAKENINGS, stderr);
        fputc('\n', stderr);
        return false;
    }
    return true;
}

static bool check_replay(const struct options *options)
{
    const struct lh_sim_campaign *campaign = &options->campaign;
    if (campaign->first <= campaign->last || options->monte_carlo || options->json)
        return complain("--replay", options->replay, "takes --weaken only");
    return check_roles(options, "--replay");
}

static bool check_monte_carlo(const struct options *options)
{
    if (is_open(&options->campaign))
        return complain("--seeds of --preset", "monte-carlo", "give the last one as well");
    return check_roles(options, "--preset monte-carlo");
}

static bool check_options(struct options *options)
{
    struct lh_sim_campaign *campaign = &options->campaign;
    struct lh_sim_settings settings;
    char error[256];
    if (options->replay != NULL)
        return check_replay(options);
    if (campaign->last < campaign->first) // none given
        campaign->last = options->monte_carlo ? LH_SIM_SCHEDULES : 100;
    if (options->monte_carlo)
        return check_monte_carlo(options);
    lh_sim_settings_draw(&settings, campaign->first, campaign->duration_ns, campaign->nodes);
    if (campaign->overrides != NULL &&
        !lh_sim_settings_override(&settings, campaign->overrides, error, sizeof error))
        return complain("--faults", campaign->overrides, error);
    if (options->timeline != NULL && campaign->duration_ns > 3600 * LH_NS_PER_S)
        return complain("--timeline", options->timeline, "draws at most 1h; give a --duration");
    if (campaign->first == campaign->last)
        return true;
    const char *needs = "needs a single --seed";
    return (options->log == NULL || complain("--log", options->log, needs)) &&
           (options->record == NULL || complain("--record", options->record, needs)) &&
           (options->timeline == NULL || complain("--timeline", options->timeline, needs));
}

// --- what a single run writes ---

static bool open_file(const char *option, const char *path, FILE **ret_file)
{
    *ret_file = fopen(path, "w");
    return *ret_file != NULL || complain(option, path, strerror(errno));
}

static bool open_records(struct options *options)
{
    char path[PATH_MAX];
    struct lh_sim_settings settings;
    if (mkdir(options->record, 0777) != 0 && errno != EEXIST)
        return complain("--record", options->record, strerror(errno));
    lh_sim_campaign_settings(&options->campaign, options->campaign.first, &settings);
    for (int i = 0; i < settings.nodes; i++) {
        if (snprintf(path, sizeof path, "%s/node%d", options->record, i + 1) >= (int)sizeof path)
            return complain("--record", options->record, "the path is too long");
        if (!open_file("--record", path, &options->campaign.files.records[i]))
            return false;
    }
    return true;
}

static bool open_files(struct options *options)
{
    return (options->log == NULL ||
            open_file("--log", options->log, &options->campaign.files.log)) &&
           (options->timeline == NULL ||
            open_file("--timeline", options->timeline, &options->campaign.files.timeline)) &&
           (options->record == NULL || open_records(options));
}

// --- printing ---

static const char *verdict_name(enum lh_sim_verdict verdict)
{
    switch (verdict) {
    case LH_SIM_CLEAN: return "clean";
    case LH_SIM_UNSAFE: return "safety";
    case LH_SIM_STUCK: return "liveness";
    case LH_SIM_CRASHED: break;
    }
    return "crash";
}

static void print_replay(const struct options *options, uint64_t seed)
{
    const struct lh_sim_campaign *campaign = &options->campaign;
    bool whole = campaign->duration_ns % LH_NS_PER_S == 0;
    printf("replay: leasehold sim --seed %llu --duration %lld%s", (unsigned long long)seed,
           (long long)(campaign->duration_ns / (whole ? LH_NS_PER_S : LH_NS_PER_MS)),
           whole ? "s" : "ms");
    if (campaign->nodes != 0)
        printf(" --nodes %u", campaign->nodes);
    if (campaign->overrides != NULL)
        printf(" --faults %s", campaign->overrides);
    if (campaign->weakened != 0) {
        printf(" --weaken ");
        lh_sim_weaken_print(campaign->weakened, stdout);
    }
    printf("\n");
}

static void print_counts(const struct lh_sim_result *result)
{
    const char *separator = "";
#define PRINT_COUNT(field, name)                                                                   \
    if (result->field != 0)                                                                        \
        printf("%s%s %llu", separator, name, (unsigned long long)result->field), separator = ", ";
    LH_SIM_COUNTS(PRINT_COUNT)
#undef PRINT_COUNT
    printf("\n");
}

static void print_text(const struct options *options, const struct lh_sim_result *result)
{
    struct lh_sim_settings settings;
    bool single = options->campaign.first == options->campaign.last;
    if (result->verdict == LH_SIM_CLEAN && !single)
        return;
    lh_sim_campaign_settings(&options->campaign, result->seed, &settings);
    printf("seed %llu: %s", (unsigned long long)result->seed, verdict_name(result->verdict));
    if (result->verdict != LH_SIM_CLEAN)
        printf(": %s, at %lld.%09lld s", result->what, (long long)(result->at_ns / LH_NS_PER_S),
               (long long)(result->at_ns % LH_NS_PER_S));
    printf("\nsettings: ");
    lh_sim_settings_print(&settings, stdout);
    printf("\n");
    if (single) {
        printf("counts: ");
        print_counts(result);
        printf("event log: %016llx\n", (unsigned long long)result->log_hash);
    }
    if (result->verdict != LH_SIM_CLEAN)
        print_replay(options, result->seed);
}

static void print_json(const struct lh_sim_result *result)
{
    char text[2 * sizeof result->what];
    struct lh_writer writer = lh_writer_of(text, sizeof text);
    lh_json_escape(&writer, lh_slice_of_string(result->what));
    printf("{\"seed\":%llu,\"verdict\":\"%s\",\"what\":\"%.*s\",\"at_ns\":%lld",
           (unsigned long long)result->seed, verdict_name(result->verdict),
           (int)lh_writer_size_bytes(&writer), text, (long long)result->at_ns);
    printf(",\"simulated_ns\":%lld,\"log\":\"%016llx\"", (long long)result->simulated_ns,
           (unsigned long long)result->log_hash);
#define PRINT_FIELD(field, name) printf(",\"%s\":%llu", name, (unsigned long long)result->field);
    LH_SIM_COUNTS(PRINT_FIELD)
#undef PRINT_FIELD
    printf("}\n");
}

static void show_progress(struct options *options)
{
    double now = seconds_since(&options->began);
    if (!options->progress || now - options->shown < 0.2)
        return;
    options->shown = now;
    fprintf(stderr, "\r\033[K%llu", (unsigned long long)options->done);
    if (!is_open(&options->campaign))
        fprintf(stderr, " of %llu",
                (unsigned long long)options->campaign.last - options->campaign.first + 1);
    fprintf(stderr, " seeds, %llu failed, %.1f simulated hours, %.1f M events, %.2f M/s",
            (unsigned long long)options->failed, (double)options->total.simulated_ns / 3600e9,
            (double)options->total.events / 1e6,
            now > 0 ? (double)options->total.events / now / 1e6 : 0);
}

static void end_progress(struct options *options)
{
    if (options->progress && options->shown > 0)
        fprintf(stderr, "\r\033[K");
    options->shown = 0;
}

static void on_result(void *context, const struct lh_sim_result *result)
{
    struct options *options = context;
    options->done++;
    if (result->unwritten != 0)
        options->unwritten = result->unwritten;
    if (result->verdict != LH_SIM_CLEAN && options->failed++ < FAILED_SHOWN)
        options->failed_seeds[options->failed - 1] = result->seed;
    if (result->verdict > options->worst)
        options->worst = result->verdict;
    options->total.simulated_ns += result->simulated_ns;
#define ADD_COUNT(field, name) options->total.field += result->field;
    LH_SIM_COUNTS(ADD_COUNT)
#undef ADD_COUNT
    if (options->json || result->verdict != LH_SIM_CLEAN)
        end_progress(options);
    if (options->json)
        print_json(result);
    else
        print_text(options, result);
    fflush(stdout);
    show_progress(options);
}

static void print_summary(struct options *options)
{
    double seconds = seconds_since(&options->began);
    end_progress(options);
    if (options->json)
        return;
    const struct lh_sim_campaign *campaign = &options->campaign;
    if (campaign->first != campaign->last) {
        printf("seeds %llu..", (unsigned long long)campaign->first);
        if (!is_open(campaign))
            printf("%llu", (unsigned long long)campaign->last);
        printf(": %llu run, %llu failed; ", (unsigned long long)options->done,
               (unsigned long long)options->failed);
        print_counts(&options->total);
        for (uint64_t i = 0; campaign->keep_going && i < options->failed && i < FAILED_SHOWN; i++)
            print_replay(options, options->failed_seeds[i]);
    }
    printf("%.1f simulated hours in %.1f s, %.2f million events a second\n",
           (double)options->total.simulated_ns / 3600e9, seconds,
           seconds > 0 ? (double)options->total.events / seconds / 1e6 : 0);
}

int lh_sim_command(int argc, char **argv)
{
    struct options options = {.campaign = {.first = 1, .last = 0, .duration_ns = 60000000000},
                              .progress = isatty(STDERR_FILENO) != 0};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        lh_sim_settings_help(stdout);
        fputs("\nRules to break (what is behind others breaks nothing while they hold):\n", stdout);
        lh_sim_weaken_help(stdout);
        return ferror(stdout) != 0;
    }
    if (!read_options(&options, argc, argv) || !check_options(&options) || !open_files(&options))
        return EXIT_USAGE;
    if (options.replay != NULL)
        return lh_sim_replay(options.replay, options.campaign.weakened);
    if (options.monte_carlo)
        return lh_sim_monte_carlo(options.campaign.first, options.campaign.last,
                                  options.campaign.weakened, options.campaign.keep_going,
                                  options.json);
    options.campaign.context = &options;
    options.campaign.each = on_result;
    clock_gettime(CLOCK_MONOTONIC, &options.began);
    if (!lh_sim_campaign_run(&options.campaign)) {
        perror("leasehold sim: no process could be started");
        return LH_SIM_CRASHED;
    }
    print_summary(&options);
    if (options.unwritten != 0)
        fprintf(stderr, "leasehold sim: what the run writes is not whole: %s\n",
                strerror(options.unwritten));
    if (options.worst == LH_SIM_CLEAN && options.unwritten != 0)
        return EXIT_FAILURE;
    if (options.worst == LH_SIM_CLEAN && options.campaign.stopped_by != 0 &&
        !is_open(&options.campaign))
        return 128 + options.campaign.stopped_by;
    return (int)options.worst;
}
