// Arguments are read in two passes: the first finds the names and the module, so that `--set` may
// stand before or behind them; the second applies the constants.
#include "check/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct parser {
    struct lh_check_options *options;
    int argc;
    char **argv;
    char *error;
    bool all;
    bool quick;
    bool symmetry;
    bool no_symmetry;
    bool closed;
    uint32_t given; // bit per option_kind
    bool changed;   // --set, --weaken or --symmetry: the recorded counts no longer apply
    const char *module;
};

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

// `value`: what was typed, or NULL.
static bool complain(struct parser *parser, const char *value, const char *remedy)
{
    snprintf(parser->error, LH_CHECK_ERROR_SIZE, "%s%s%s", value == NULL ? "" : value,
             value == NULL ? "" : ": ", remedy);
    return false;
}

// "16G", "512M", "1000000"
static bool parse_size(const char *text, uint64_t *ret_bytes)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    double factor = 1;
    if (!is_digit(*text) || !(value > 0))
        return false;
    switch (toupper((unsigned char)*end)) {
    case 'K': factor = 1024; break;
    case 'M': factor = 1024.0 * 1024; break;
    case 'G': factor = 1024.0 * 1024 * 1024; break;
    case 'T': factor = 1024.0 * 1024 * 1024 * 1024; break;
    case '\0': break;
    default: return false;
    }
    if (*end != '\0')
        end++;
    if (strcasecmp(end, "iB") == 0 || strcasecmp(end, "B") == 0)
        end += strlen(end);
    if (*end != '\0' || value * factor > 1e15)
        return false;
    *ret_bytes = (uint64_t)(value * factor);
    return true;
}

static bool parse_count(const char *text, uint32_t max, uint32_t *ret_count)
{
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    if (!is_digit(*text) || *end != '\0' || value < 1 || value > (long)max)
        return false;
    *ret_count = (uint32_t)value;
    return true;
}

// "90", "90s", "15m", "2h"
static bool parse_seconds(const char *text, uint32_t *ret_seconds)
{
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    long factor = 1;
    if (!is_digit(*text) || value < 1)
        return false;
    if (*end == 'm' || *end == 'h')
        factor = *end == 'm' ? 60 : 3600;
    else if (*end != 's' && *end != '\0')
        return false;
    if (*end != '\0' && end[1] != '\0')
        return false;
    if (value > 10000000 / factor)
        return false;
    *ret_seconds = (uint32_t)(value * factor);
    return true;
}

enum option_kind {
    OPT_ALL,
    OPT_QUICK,
    OPT_LIST,
    OPT_JSON,
    OPT_HELP,
    OPT_SYMMETRY,
    OPT_NO_SYMMETRY,
    OPT_EXPECT_VIOLATION,
    OPT_CONFORM,
    OPT_WITH_VALUE,
    OPT_MODULE = OPT_WITH_VALUE,
    OPT_SET,
    OPT_WEAKEN,
    OPT_NETWORK,
    OPT_THREADS,
    OPT_MEMORY,
    OPT_SPILL,
    OPT_CHECKPOINT,
    OPT_CHECKPOINT_EVERY,
    OPT_RESUME,
    OPT_TIME,
    OPT_TRACE,
};

static const struct {
    const char *name;
    enum option_kind kind;
} option_names[] = {
    {"--all", OPT_ALL},
    {"--quick", OPT_QUICK},
    {"--list", OPT_LIST},
    {"--json", OPT_JSON},
    {"--help", OPT_HELP},
    {"-h", OPT_HELP},
    {"--symmetry", OPT_SYMMETRY},
    {"--no-symmetry", OPT_NO_SYMMETRY},
    {"--expect-violation", OPT_EXPECT_VIOLATION},
    {"--conform", OPT_CONFORM},
    {"--module", OPT_MODULE},
    {"--set", OPT_SET},
    {"--weaken", OPT_WEAKEN},
    {"--network", OPT_NETWORK},
    {"--threads", OPT_THREADS},
    {"--memory", OPT_MEMORY},
    {"--spill", OPT_SPILL},
    {"--checkpoint", OPT_CHECKPOINT},
    {"--checkpoint-every", OPT_CHECKPOINT_EVERY},
    {"--resume", OPT_RESUME},
    {"--time", OPT_TIME},
    {"--trace", OPT_TRACE},
};

// Finds an option and its value, whether "--name value" or "--name=value". Moves `index` to the
// last argument it used.
static bool read_option(struct parser *parser, int *index, enum option_kind *ret_kind,
                        const char **ret_value)
{
    const char *argument = parser->argv[*index];
    for (size_t i = 0; i < sizeof option_names / sizeof option_names[0]; i++) {
        const size_t length = strlen(option_names[i].name);
        if (strncmp(argument, option_names[i].name, length) != 0 ||
            (argument[length] != '\0' && argument[length] != '='))
            continue;
        *ret_kind = option_names[i].kind;
        *ret_value = NULL;
        if (option_names[i].kind < OPT_WITH_VALUE) {
            if (argument[length] != '\0')
                return complain(parser, argument, "this option takes no value");
            return true;
        }
        if (argument[length] == '=') {
            *ret_value = argument + length + 1;
        } else if (*index + 1 < parser->argc) {
            *ret_value = parser->argv[++*index];
        } else {
            return complain(parser, argument, "this option needs a value behind it");
        }
        return true;
    }
    return complain(parser, argument, "there is no such option; leasehold check --help shows them");
}

// The directory is there and the file, if there is one, is a file (a device would be replaced by
// one).
static bool can_be_written(const char *path)
{
    char directory[4096];
    struct stat status;
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (length >= sizeof directory)
        return false;
    memcpy(directory, path, length);
    directory[length] = '\0';
    if (stat(path, &status) == 0)
        return S_ISREG(status.st_mode) && access(path, W_OK) == 0;
    return access(length == 0 ? "." : directory, W_OK) == 0;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && access(path, W_OK) == 0;
}

static bool is_readable_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

// An option whose value is a path: what is there is asked for before hours of search.
static bool apply_path(struct parser *parser, enum option_kind kind, const char *path)
{
    struct lh_search_options *search = &parser->options->search;
    const char *dot = strrchr(path, '.');
    if (kind == OPT_SPILL) {
        search->spill_directory = path;
        return is_directory(path) ||
               complain(parser, path, "--spill takes a directory that can be written to");
    }
    if (kind == OPT_RESUME) {
        search->resume = path;
        return is_readable_file(path) ||
               complain(parser, path, "--resume takes a file that --checkpoint wrote");
    }
    if (kind == OPT_CHECKPOINT) {
        search->checkpoint = path;
        return can_be_written(path) ||
               complain(parser, path,
                        "--checkpoint: nothing can be written there: name a file in a "
                        "directory that is there");
    }
    parser->options->trace = path;
    if (dot == NULL || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".json") != 0))
        return complain(parser, path, "--trace takes a file that ends in .svg or .json");
    return can_be_written(path) || complain(parser, path,
                                            "--trace: nothing can be written there: name a file in "
                                            "a directory that is there");
}

static bool apply_value(struct parser *parser, enum option_kind kind, const char *value)
{
    struct lh_search_options *search = &parser->options->search;
    switch (kind) {
    case OPT_MODULE: parser->module = value; return true;
    case OPT_SET:
    case OPT_WEAKEN: parser->changed = true; return true; // in the second pass
    case OPT_NETWORK:
        parser->closed = strcmp(value, "closed") == 0;
        if (!parser->closed && strcmp(value, "bounded") != 0)
            return complain(parser, value, "--network takes bounded (as the paper) or closed");
        return true;
    case OPT_THREADS:
        if (!parse_count(value, 256, &search->threads))
            return complain(parser, value, "--threads takes a number from 1 to 256");
        return true;
    case OPT_MEMORY:
        if (!parse_size(value, &search->memory_bytes))
            return complain(parser, value, "--memory takes a size, as in 512M or 16G");
        return true;
    case OPT_CHECKPOINT_EVERY:
        if (!parse_seconds(value, &search->checkpoint_seconds))
            return complain(parser, value, "--checkpoint-every takes a time, as in 90s or 15m");
        return true;
    case OPT_TIME:
        if (!parse_seconds(value, &search->time_limit_seconds))
            return complain(parser, value, "--time takes a time, as in 90s, 15m or 2h");
        return true;
    default: return apply_path(parser, kind, value);
    }
}

static bool add_job(struct parser *parser, const struct lh_check_config *config,
                    const struct lh_check_row *row)
{
    struct lh_check_options *options = parser->options;
    for (size_t i = 0; i < options->job_count; i++) {
        if (row != NULL && options->jobs[i].row == row)
            return true; // named twice, run once
    }
    struct lh_check_job *jobs =
        realloc(options->jobs, (options->job_count + 1) * sizeof(struct lh_check_job));
    if (jobs == NULL)
        return complain(parser, NULL, "the machine has no memory left");
    options->jobs = jobs;
    jobs[options->job_count++] = (struct lh_check_job){
        .config = *config, .row = row, .counts_comparable = row != NULL && !parser->changed};
    return true;
}

static bool read_arguments(struct parser *parser)
{
    struct lh_check_options *options = parser->options;
    for (int i = 1; i < parser->argc; i++) {
        enum option_kind kind;
        const char *value;
        if (parser->argv[i][0] != '-') {
            const struct lh_check_row *row = lh_check_row_find(parser->argv[i]);
            if (row == NULL)
                return complain(
                    parser, parser->argv[i],
                    strchr(parser->argv[i], '=') != NULL
                        ? "give --set before each constant"
                        : "no configuration has this name; leasehold check --list shows them");
            if (!add_job(parser, &row->config, row))
                return false;
            continue;
        }
        if (!read_option(parser, &i, &kind, &value))
            return false;
        if (kind >= OPT_WITH_VALUE && kind != OPT_SET && kind != OPT_WEAKEN &&
            (parser->given & 1u << kind) != 0)
            return complain(parser, value, "this option is given twice");
        parser->given |= 1u << kind;
        switch (kind) {
        case OPT_ALL: parser->all = true; break;
        case OPT_QUICK: parser->quick = true; break;
        case OPT_LIST: options->list = true; break;
        case OPT_JSON: options->json = true; break;
        case OPT_HELP: options->help = true; break;
        case OPT_SYMMETRY: parser->symmetry = true; break;
        case OPT_NO_SYMMETRY: parser->no_symmetry = true; break;
        case OPT_EXPECT_VIOLATION: options->expect_violation = true; break;
        case OPT_CONFORM: options->search.conform = true; break;
        default:
            if (!apply_value(parser, kind, value))
                return false;
        }
    }
    return true;
}

// A configuration of the user's own: the module with its usual constants.
static bool add_own_job(struct parser *parser)
{
    struct lh_check_config config;
    enum lh_check_module module = LH_CHECK_LEASE;
    if (parser->module == NULL && !parser->changed)
        return complain(parser, NULL,
                        "name a configuration, or give --quick, --all or --module; "
                        "--list shows what there is");
    if (parser->module != NULL && !lh_check_module_parse(parser->module, &module))
        return complain(parser, parser->module,
                        "--module takes lease, impl, composition or closed");
    lh_check_config_default(&config, module);
    return add_job(parser, &config, NULL);
}

// What `--all`, `--quick` or `--module` add to the names given.
static bool choose_jobs(struct parser *parser)
{
    struct lh_check_options *options = parser->options;
    for (size_t i = 0; i < lh_check_row_count(); i++) {
        const struct lh_check_row *row = lh_check_row_at(i);
        char ignored[LH_CHECK_ERROR_SIZE];
        // Weakened rules are not what ships.
        if (options->search.conform &&
            (row->config.weaken != 0 || !lh_conform_possible(&row->config, ignored)))
            continue;
        if ((parser->all || (parser->quick && row->quick)) && !add_job(parser, &row->config, row))
            return false;
    }
    if (parser->module != NULL && options->job_count > 0)
        return complain(parser, parser->closed ? "--network closed" : parser->module,
                        parser->closed
                            ? "this is for a configuration of your own: leave the names out"
                            : "--module is for a configuration of your own: leave the names out");
    if (options->list && parser->module != NULL) {
        options->list_module = lh_check_module_parse(parser->module, &options->module);
        return options->list_module ||
               complain(parser, parser->module,
                        "--module takes lease, impl, composition or closed");
    }
    return options->job_count > 0 || options->list || options->help || add_own_job(parser);
}

// Whether an option before argv[end] sets the same constant.
static bool is_set_before(struct parser *parser, int end, const char *assignment)
{
    const size_t length = strcspn(assignment, "=");
    for (int i = 1; i < end; i++) {
        enum option_kind kind;
        const char *value;
        if (parser->argv[i][0] == '-' && read_option(parser, &i, &kind, &value) &&
            kind == OPT_SET && strcspn(value, "=") == length &&
            strncmp(value, assignment, length) == 0)
            return true;
    }
    return false;
}

static bool apply_constants(struct parser *parser, struct lh_check_config *config)
{
    for (int i = 1; i < parser->argc; i++) {
        enum option_kind kind;
        const char *value;
        const int at = i;
        if (parser->argv[i][0] != '-')
            continue;
        if (!read_option(parser, &i, &kind, &value))
            return false;
        if (kind == OPT_SET && is_set_before(parser, at, value))
            return complain(parser, value, "--set: this constant is given twice");
        if (kind == OPT_SET && !lh_check_config_set(config, value, parser->error))
            return false;
        if (kind == OPT_WEAKEN && !lh_check_config_weaken(config, value, parser->error))
            return false;
    }
    if (parser->symmetry) {
        if (config->module == LH_CHECK_COMPOSITION)
            return complain(parser, "--symmetry", "module composition has no symmetry reduction");
        config->symmetry = true;
    }
    if (parser->no_symmetry)
        config->symmetry = false;
    return lh_check_config_validate(config, parser->error);
}

// Four fifths of what the machine can give.
static uint64_t default_memory(void)
{
    uint64_t available = UINT64_C(4) << 30;
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        static const char name[] = "MemAvailable:";
        if (strncmp(line, name, sizeof name - 1) == 0)
            available = strtoull(line + sizeof name - 1, NULL, 10) * 1024;
    }
    if (file != NULL)
        fclose(file);
    return available / 5 * 4;
}

// Constants and what goes with them, for every job.
static bool finish_jobs(struct parser *parser)
{
    struct lh_check_options *options = parser->options;
    for (size_t i = 0; i < options->job_count; i++) {
        struct lh_check_job *job = &options->jobs[i];
        if (!apply_constants(parser, &job->config) ||
            (options->search.conform && !lh_conform_possible(&job->config, parser->error)))
            return false;
        job->counts_comparable = job->row != NULL && !parser->changed &&
                                 job->config.symmetry == job->row->config.symmetry;
        if (parser->changed)
            job->row = NULL;
    }
    const bool one_file = options->trace != NULL || options->search.checkpoint != NULL ||
                          options->search.resume != NULL;
    if (one_file && options->job_count > 1)
        return complain(parser, NULL,
                        "--trace, --checkpoint and --resume are for one configuration at a time");
    return true;
}

bool lh_check_options_parse(struct lh_check_options *ret_options, int argc, char **argv,
                            char ret_error[LH_CHECK_ERROR_SIZE])
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *ret_options =
        (struct lh_check_options){.search = {.threads = processors < 1 ? 1 : (uint32_t)processors,
                                             .memory_bytes = default_memory(),
                                             .checkpoint_seconds = 900,
                                             .progress = isatty(2) != 0}};
    if (ret_options->search.threads > 256)
        ret_options->search.threads = 256;
    struct parser parser = {.options = ret_options, .argc = argc, .argv = argv, .error = ret_error};
    if (!read_arguments(&parser))
        return false;
    if (parser.symmetry && parser.no_symmetry)
        return complain(&parser, "--no-symmetry", "--symmetry is given, too: leave one out");
    if (parser.closed) {
        if (parser.module != NULL && strcmp(parser.module, "lease") != 0)
            return complain(&parser, parser.module,
                            "the closed network is a search over the lease module");
        parser.module = "closed";
    }
    return choose_jobs(&parser) && finish_jobs(&parser);
}

void lh_check_options_close(struct lh_check_options *options)
{
    if (options == NULL)
        return;
    free(options->jobs);
    options->jobs = NULL;
    options->job_count = 0;
}
