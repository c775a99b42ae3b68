// `leasehold sim`: runs a campaign, and prints what came of it. Results go to standard output;
// progress and how to replay a failure to standard error.
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
#include "sim/monte_carlo.h"
#include "sim/options.h"
#include "sim/replay.h"
#include "sim/weaken.h"

enum { EXIT_USAGE = 64 };

#define FAILED_SHOWN 100

struct command {
    struct lh_sim_options options;
    bool progress;
    // what came so far
    enum lh_sim_verdict worst;
    bool unwritten; // some file is not whole
    uint64_t failed, done;
    uint64_t failed_seeds[FAILED_SHOWN];
    struct lh_sim_result total;
    struct timespec began;
    double shown;
};

static double seconds_since(const struct timespec *began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began->tv_sec) + 1e-9 * (double)(now.tv_nsec - began->tv_nsec);
}

// --- what a single run writes ---

static bool open_file(const char *option, const char *path, FILE **ret_file)
{
    *ret_file = fopen(path, "w");
    return *ret_file != NULL || lh_sim_complain(option, path, strerror(errno));
}

// What an earlier recording of more nodes left would be taken for a part of this one.
static bool check_no_other(const char *directory, unsigned nodes)
{
    char path[PATH_MAX];
    for (unsigned i = nodes; i < LH_SIM_NODES_MAX; i++) {
        snprintf(path, sizeof path, "%s/node%u", directory, i + 1);
        if (access(path, F_OK) == 0)
            return lh_sim_complain(
                "--record", path, "is of another recording: remove it, or give an empty directory");
    }
    return true;
}

static bool open_records(const char *directory, struct lh_sim_campaign *campaign)
{
    char path[PATH_MAX];
    struct lh_sim_settings settings;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return lh_sim_complain("--record", directory, strerror(errno));
    lh_sim_campaign_settings(campaign, campaign->first, &settings);
    if (!check_no_other(directory, (unsigned)settings.nodes))
        return false;
    for (int i = 0; i < settings.nodes; i++) {
        if (snprintf(path, sizeof path, "%s/node%d", directory, i + 1) >= (int)sizeof path)
            return lh_sim_complain("--record", directory, "the path is too long");
        if (!open_file("--record", path, &campaign->files.records[i]))
            return false;
    }
    return true;
}

// Before anything is opened, which would empty it. `b` may not exist yet: then it is another.
static bool is_same(const char *a, const char *b)
{
    struct stat one, other;
    if (a == NULL || b == NULL)
        return false;
    if (strcmp(a, b) == 0)
        return strncmp(a, "/dev/", 5) != 0;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool check_apart(const struct lh_sim_options *options)
{
    char path[PATH_MAX];
    const char *remedy = "is written by another option as well: give each its own file";
    if (is_same(options->log, options->timeline))
        return lh_sim_complain("--timeline", options->timeline, remedy);
    for (unsigned i = 0; i < LH_SIM_NODES_MAX && options->record != NULL; i++) {
        snprintf(path, sizeof path, "%s/node%u", options->record, i + 1);
        if (is_same(path, options->log) || is_same(path, options->timeline))
            return lh_sim_complain("--record", path, remedy);
    }
    return true;
}

static bool open_files(struct lh_sim_options *options)
{
    struct lh_sim_files *files = &options->campaign.files;
    return (options->log == NULL || open_file("--log", options->log, &files->log)) &&
           (options->timeline == NULL ||
            open_file("--timeline", options->timeline, &files->timeline)) &&
           (options->record == NULL || open_records(options->record, &options->campaign));
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

static void print_replay(const struct lh_sim_campaign *campaign, uint64_t seed)
{
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

static void print_text(const struct lh_sim_campaign *campaign, const struct lh_sim_result *result)
{
    struct lh_sim_settings settings;
    bool single = campaign->first == campaign->last;
    if (result->verdict == LH_SIM_CLEAN && !single)
        return;
    lh_sim_campaign_settings(campaign, result->seed, &settings);
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
        print_replay(campaign, result->seed);
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

static void show_progress(struct command *command)
{
    double now = seconds_since(&command->began);
    if (!command->progress || now - command->shown < 0.2)
        return;
    command->shown = now;
    fprintf(stderr, "\r\033[K%llu", (unsigned long long)command->done);
    if (!lh_sim_is_open(&command->options.campaign))
        fprintf(stderr, " of %llu",
                (unsigned long long)command->options.campaign.last -
                    command->options.campaign.first + 1);
    fprintf(stderr, " seeds, %llu failed, %.1f simulated hours, %.1f M events, %.2f M/s",
            (unsigned long long)command->failed, (double)command->total.simulated_ns / 3600e9,
            (double)command->total.events / 1e6,
            now > 0 ? (double)command->total.events / now / 1e6 : 0);
}

static void end_progress(struct command *command)
{
    if (command->progress && command->shown > 0)
        fprintf(stderr, "\r\033[K");
    command->shown = 0;
}

static void complain_unwritten(struct command *command, const struct lh_sim_result *result)
{
    const struct lh_sim_options *options = &command->options;
    const char *const paths[] = {[LH_SIM_FILE_LOG] = options->log,
                                 [LH_SIM_FILE_TIMELINE] = options->timeline,
                                 [LH_SIM_FILE_RECORD] = options->record};
    command->unwritten = true;
    end_progress(command);
    lh_sim_complain("not whole", paths[result->unwritten_file], strerror(result->unwritten));
}

static void on_result(void *context, const struct lh_sim_result *result)
{
    struct command *command = context;
    command->done++;
    if (result->unwritten != 0)
        complain_unwritten(command, result);
    if (result->verdict != LH_SIM_CLEAN && command->failed++ < FAILED_SHOWN)
        command->failed_seeds[command->failed - 1] = result->seed;
    if (result->verdict > command->worst)
        command->worst = result->verdict;
    command->total.simulated_ns += result->simulated_ns;
#define ADD_COUNT(field, name) command->total.field += result->field;
    LH_SIM_COUNTS(ADD_COUNT)
#undef ADD_COUNT
    if (command->options.json || result->verdict != LH_SIM_CLEAN)
        end_progress(command);
    if (command->options.json)
        print_json(result);
    else
        print_text(&command->options.campaign, result);
    fflush(stdout);
    show_progress(command);
}

static void print_summary(struct command *command)
{
    double seconds = seconds_since(&command->began);
    end_progress(command);
    if (command->options.json)
        return;
    const struct lh_sim_campaign *campaign = &command->options.campaign;
    if (campaign->first != campaign->last) {
        printf("seeds %llu..", (unsigned long long)campaign->first);
        if (!lh_sim_is_open(campaign))
            printf("%llu", (unsigned long long)campaign->last);
        printf(": %llu run, %llu failed; ", (unsigned long long)command->done,
               (unsigned long long)command->failed);
        print_counts(&command->total);
        for (uint64_t i = 0; campaign->keep_going && i < command->failed && i < FAILED_SHOWN; i++)
            print_replay(campaign, command->failed_seeds[i]);
    }
    printf("%.1f simulated hours in %.1f s, %.2f million events a second\n",
           (double)command->total.simulated_ns / 3600e9, seconds,
           seconds > 0 ? (double)command->total.events / seconds / 1e6 : 0);
}

static int run(struct command *command)
{
    struct lh_sim_campaign *campaign = &command->options.campaign;
    campaign->context = command;
    campaign->each = on_result;
    clock_gettime(CLOCK_MONOTONIC, &command->began);
    if (!lh_sim_campaign_run(campaign)) {
        perror("leasehold sim: no process could be started");
        return LH_SIM_CRASHED;
    }
    print_summary(command);
    const bool cut_short = campaign->stopped_by != 0 && !lh_sim_is_open(campaign);
    const struct lh_sim_files *files = &campaign->files;
    if (cut_short && (files->log != NULL || files->timeline != NULL || files->records[0] != NULL))
        fputs("leasehold sim: ended before the run was over: what it writes is cut off\n", stderr);
    if (command->worst != LH_SIM_CLEAN)
        return (int)command->worst;
    return command->unwritten ? EXIT_FAILURE : cut_short ? 128 + campaign->stopped_by : 0;
}

int lh_sim_command(int argc, char **argv)
{
    struct command command = {.progress = isatty(STDERR_FILENO) != 0};
    struct lh_sim_options *options = &command.options;
    const struct lh_sim_campaign *campaign = &options->campaign;
    if (!lh_sim_options_read(options, argc, argv))
        return EXIT_USAGE;
    if (options->help) {
        lh_sim_options_help(stdout);
        return ferror(stdout) != 0;
    }
    if (options->replay != NULL)
        return lh_sim_replay(options->replay, campaign->weakened);
    if (options->monte_carlo)
        return lh_sim_monte_carlo(campaign->first, campaign->last, campaign->weakened,
                                  campaign->keep_going, options->json);
    if (!check_apart(options))
        return EXIT_USAGE;
    return open_files(options) ? run(&command) : EXIT_FAILURE;
}
