// See options.h.
#include "sim/options.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sim/monte_carlo.h"
#include "sim/roles.h"
#include "sim/weaken.h"

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
    "Exit codes: 0 clean; 3 two held a lease at once, a token fell, a stale write was taken, or a\n"
    "clock was measured wrongly; 4 after healing a node did not serve or a lease was not granted "
    "in\n"
    "time; 70 a run crashed; 1 a file could not be written; 64 the command line; 129, 130 or 143\n"
    "ended by SIGHUP, SIGINT or SIGTERM before the last seed.\n\n"
    "Settings:\n";

enum option {
    SEED,
    SEEDS,
    DURATION,
    NODES,
    FAULTS,
    WEAKEN,
    WORKERS,
    LOG,
    TIMELINE,
    RECORD,
    PRESET,
    REPLAY,
    WITH_VALUE, // so many
    KEEP_GOING = WITH_VALUE,
    JSON,
    OPTIONS
};

static const char *const names[OPTIONS] = {[SEED] = "--seed",
                                           [SEEDS] = "--seeds",
                                           [DURATION] = "--duration",
                                           [NODES] = "--nodes",
                                           [FAULTS] = "--faults",
                                           [WEAKEN] = "--weaken",
                                           [WORKERS] = "--workers",
                                           [LOG] = "--log",
                                           [TIMELINE] = "--timeline",
                                           [RECORD] = "--record",
                                           [PRESET] = "--preset",
                                           [REPLAY] = "--replay",
                                           [KEEP_GOING] = "--keep-going",
                                           [JSON] = "--json"};

// Of whole clusters only: what drives single roles (roles.h) has none.
static const enum option of_clusters[] = {DURATION, NODES, FAULTS, WORKERS, LOG, TIMELINE, RECORD};

bool lh_sim_complain(const char *what, const char *value, const char *remedy)
{
    char text[1024];
    snprintf(text, sizeof text, "%s '%s': %s", what, value, remedy);
    lh_make_printable(text);
    fprintf(stderr, "leasehold sim: %s\n", text);
    return false;
}

void lh_sim_options_help(FILE *file)
{
    fputs(usage, file);
    lh_sim_settings_help(file);
    fputs("\nRules to break (what is behind others breaks nothing while they hold):\n", file);
    lh_sim_weaken_help(file);
}

// --- values ---

static bool read_seed(struct lh_sim_campaign *campaign, const char *text)
{
    if (!lh_u64_parse(lh_slice_of_string(text), &campaign->first) ||
        campaign->first >= LH_SIM_SEED_LAST)
        return lh_sim_complain("--seed", text, "give one number, such as 17");
    campaign->last = campaign->first;
    return true;
}

static bool read_seeds(struct lh_sim_campaign *campaign, const char *text)
{
    const char *dots = strstr(text, "..");
    struct lh_slice first = lh_slice_of(text, dots != NULL ? (size_t)(dots - text) : strlen(text));
    if (!lh_u64_parse(first, &campaign->first) || campaign->first >= LH_SIM_SEED_LAST)
        return lh_sim_complain("--seeds", text, "give two numbers, such as 1..100");
    campaign->last = dots == NULL ? campaign->first : LH_SIM_SEED_LAST;
    if (dots != NULL && dots[2] == '\0')
        campaign->keep_going = true;
    else if (dots != NULL &&
             (!lh_u64_parse(lh_slice_of_string(dots + 2), &campaign->last) ||
              campaign->last < campaign->first || campaign->last >= LH_SIM_SEED_LAST))
        return lh_sim_complain("--seeds", text,
                               "give two numbers, the smaller one first, such as 1..100");
    return true;
}

static bool read_number(const char *option, const char *text, uint64_t most, unsigned *ret)
{
    uint64_t value;
    if (!lh_u64_parse(lh_slice_of_string(text), &value) || value < 1 || value > most) {
        char remedy[64];
        snprintf(remedy, sizeof remedy, "give a number from 1 to %llu", (unsigned long long)most);
        return lh_sim_complain(option, text, remedy);
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
        return lh_sim_complain("--duration", text, reason);
    campaign->duration_ns = duration.ns;
    return true;
}

static bool read_preset(struct lh_sim_options *options, const char *text)
{
    options->monte_carlo = strcmp(text, "monte-carlo") == 0;
    return options->monte_carlo || lh_sim_complain("--preset", text, "the only one is monte-carlo");
}

static bool read_rules(struct lh_sim_campaign *campaign, const char *text)
{
    campaign->weakened = lh_sim_weaken_parse(text);
    return campaign->weakened != 0 ||
           lh_sim_complain("--weaken", text, "no such rule; `leasehold sim --help` lists them");
}

static bool read_value(struct lh_sim_options *options, enum option option, const char *value)
{
    struct lh_sim_campaign *campaign = &options->campaign;
    switch (option) {
    case SEED: return read_seed(campaign, value);
    case SEEDS: return read_seeds(campaign, value);
    case DURATION: return read_duration(campaign, value);
    case NODES: return read_number(names[option], value, LH_SIM_NODES_MAX, &campaign->nodes);
    case WORKERS: return read_number(names[option], value, LH_SIM_WORKERS_MAX, &campaign->workers);
    case WEAKEN: return read_rules(campaign, value);
    case PRESET: return read_preset(options, value);
    case FAULTS: campaign->overrides = value; return true;
    case LOG: options->log = value; return true;
    case TIMELINE: options->timeline = value; return true;
    case RECORD: options->record = value; return true;
    case REPLAY: options->replay = value; return true;
    case KEEP_GOING:
    case JSON:
    case OPTIONS: break;
    }
    return false;
}

static enum option find(const char *name, size_t size)
{
    unsigned option = 0;
    while (option < OPTIONS &&
           (strlen(names[option]) != size || strncmp(names[option], name, size) != 0))
        option++;
    return (enum option)option;
}

static bool read_flag(struct lh_sim_options *options, enum option option, const char *value)
{
    if (value != NULL)
        return lh_sim_complain(names[option], value, "it takes no value");
    if (option == JSON)
        options->json = true;
    else
        options->campaign.keep_going = true;
    return true;
}

// One option, and its value if that is the next word; moves *at to the last word it used.
static bool read_option(struct lh_sim_options *options, char **argv, int *at, unsigned *given)
{
    const char *word = argv[*at];
    const char *equals = strchr(word, '=');
    const enum option option = find(word, equals != NULL ? (size_t)(equals - word) : strlen(word));
    if (strncmp(word, "--", 2) != 0)
        return lh_sim_complain("unexpected word", word, "`leasehold sim --help` shows the usage");
    if (option == OPTIONS)
        return lh_sim_complain("unknown option", word, "`leasehold sim --help` lists them");
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (option >= WITH_VALUE)
        return read_flag(options, option, value);
    if (value == NULL)
        value = argv[*at + 1];
    if (value == NULL || (equals == NULL && strncmp(value, "--", 2) == 0))
        return lh_sim_complain("no value of", word, "`leasehold sim --help` tells what it takes");
    *at += equals == NULL;
    if ((*given >> option & 1) != 0)
        return lh_sim_complain(names[option], value, "given before: give it once");
    *given |= 1u << option;
    return read_value(options, option, value);
}

// --- what goes together ---

static bool check_roles(const struct lh_sim_options *options, const char *how, unsigned given)
{
    for (size_t i = 0; i < sizeof of_clusters / sizeof of_clusters[0]; i++)
        if ((given >> of_clusters[i] & 1) != 0) {
            fprintf(stderr, "leasehold sim: %s has no use for %s: it runs single roles\n", how,
                    names[of_clusters[i]]);
            return false;
        }
    if ((options->campaign.weakened & ~(unsigned)LH_SIM_ROLES_WEAKENINGS) != 0) {
        fprintf(stderr, "leasehold sim: %s can break these rules only: ", how);
        lh_sim_weaken_print(LH_SIM_ROLES_WEAKENINGS, stderr);
        fputc('\n', stderr);
        return false;
    }
    return true;
}

static bool check_replay(const struct lh_sim_options *options, unsigned given)
{
    if ((given & (1u << SEED | 1u << SEEDS | 1u << PRESET)) != 0 || options->json ||
        options->campaign.keep_going)
        return lh_sim_complain("--replay", options->replay, "takes --weaken only");
    return check_roles(options, "--replay", given);
}

static bool check_monte_carlo(const struct lh_sim_options *options, unsigned given)
{
    if (lh_sim_is_open(&options->campaign))
        return lh_sim_complain("--seeds of --preset", "monte-carlo", "give the last one as well");
    return check_roles(options, "--preset monte-carlo", given);
}

static bool check_settings(const struct lh_sim_campaign *campaign)
{
    struct lh_sim_settings settings;
    char error[256];
    lh_sim_settings_draw(&settings, campaign->first, campaign->duration_ns, campaign->nodes);
    if (campaign->overrides == NULL)
        return true;
    if (!lh_sim_settings_override(&settings, campaign->overrides, error, sizeof error))
        return lh_sim_complain("--faults", campaign->overrides, error);
    return campaign->nodes == 0 || campaign->nodes == settings.nodes ||
           lh_sim_complain("--faults", campaign->overrides, "--nodes is another number of nodes");
}

static bool check_files(const struct lh_sim_options *options)
{
    const char *const paths[] = {options->log, options->record, options->timeline};
    const enum option of[] = {LOG, RECORD, TIMELINE};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        if (paths[i] != NULL && options->campaign.first != options->campaign.last)
            return lh_sim_complain(names[of[i]], paths[i], "needs a single --seed");
    if (options->timeline != NULL && options->campaign.duration_ns > 3600 * LH_NS_PER_S)
        return lh_sim_complain("--timeline", options->timeline,
                               "draws at most 1h; give a --duration");
    return true;
}

static bool check(struct lh_sim_options *options, unsigned given)
{
    struct lh_sim_campaign *campaign = &options->campaign;
    if (options->replay != NULL)
        return check_replay(options, given);
    if ((given & (1u << SEED | 1u << SEEDS)) == (1u << SEED | 1u << SEEDS)) {
        fputs("leasehold sim: --seed and --seeds exclude each other: give one\n", stderr);
        return false;
    }
    if (campaign->last < campaign->first) // none given
        campaign->last = options->monte_carlo ? LH_SIM_SCHEDULES : 100;
    if (options->monte_carlo)
        return check_monte_carlo(options, given);
    return check_settings(campaign) && check_files(options);
}

bool lh_sim_options_read(struct lh_sim_options *ret_options, int argc, char **argv)
{
    unsigned given = 0;
    struct lh_sim_options options = {
        .campaign = {.first = 1, .last = 0, .duration_ns = 60 * LH_NS_PER_S}};
    for (int at = 1; at < argc && !options.help; at++) {
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0)
            options.help = true;
        else if (!read_option(&options, argv, &at, &given))
            return false;
    }
    if (!options.help && !check(&options, given))
        return false;
    *ret_options = options;
    return true;
}
