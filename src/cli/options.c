// See options.h.
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/elsewhere.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/suggest.h"

#define OPTIONS_MOST 24

const struct lh_option *lh_option_find(const struct lh_syntax *syntax, const char *name,
                                       size_t size)
{
    for (size_t i = 0; i < syntax->option_count; i++) {
        const char *candidate = syntax->options[i].name;
        if (strlen(candidate) == size && memcmp(candidate, name, size) == 0)
            return &syntax->options[i];
    }
    return NULL;
}

// After a first word that is "Usage" in the help and "usage" below a complaint.
static void print_usage(FILE *where, const char *word, const struct lh_syntax *syntax)
{
    fprintf(where, "%s: leasehold %s%s%s\n", word, syntax->command,
            syntax->arguments[0] != '\0' ? " " : "", syntax->arguments);
}

static void print_help(const struct lh_syntax *syntax)
{
    print_usage(stdout, "Usage", syntax);
    printf("\n%s\n", syntax->about);
    if (syntax->option_count > 0)
        printf("\nOptions:\n");
    for (size_t i = 0; i < syntax->option_count; i++) {
        const struct lh_option *option = &syntax->options[i];
        char left[48];
        snprintf(left, sizeof left, "%s%s%s%s", option->name[1] != '\0' ? "--" : "-", option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
        printf("  %-26s ", left);
        for (const char *at = option->help; *at != '\0'; at++) {
            putchar(*at);
            if (*at == '\n')
                printf("%29s", "");
        }
        printf("\n");
    }
}

static bool wrong(const struct lh_syntax *syntax, int *ret_exit)
{
    print_usage(stderr, "usage", syntax);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

// `word` is as it was typed, with one dash or two, and its value perhaps.
static bool unknown_option(const struct lh_syntax *syntax, const char *word, int *ret_exit)
{
    char typed[66]; // without the value
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
    const bool dashed = word[1] != '-';
    const char *name = typed + (dashed ? 1 : 2);
    const char *names[OPTIONS_MOST + 1] = {"help"};
    for (size_t i = 0; i < syntax->option_count && i < OPTIONS_MOST; i++)
        names[i + 1] = syntax->options[i].name;
    const struct lh_elsewhere *elsewhere = lh_elsewhere_option(syntax, name);
    const char *meant = NULL;
    if (elsewhere != NULL)
        meant = elsewhere->ours;
    else if (!dashed || strlen(name) > 1)
        meant = lh_cli_nearest(name, names, OPTIONS_MOST + 1);
    if (elsewhere != NULL && elsewhere->advice != NULL)
        lh_complain(syntax->command, "unknown option '%s': %s", typed, elsewhere->advice);
    else if (meant != NULL)
        lh_complain(syntax->command, "unknown option '%s': did you mean '--%s'?", typed, meant);
    else if (dashed)
        lh_complain(syntax->command, "unknown option '%s': options begin with '--'", word);
    else
        lh_complain(syntax->command, "unknown option '%s'", typed);
    return wrong(syntax, ret_exit);
}

static bool store_duration(const struct lh_syntax *syntax, const struct lh_option *option,
                           const char *value, int *ret_exit)
{
    struct lh_option_duration *duration = option->value;
    const char *reason = "must be longer than 0";
    struct lh_duration parsed;
    if (lh_duration_parse(lh_slice_of_string(value), &parsed, &reason) &&
        (parsed.ns > 0 || option->kind == LH_OPTION_WAIT)) {
        duration->given = true;
        duration->value = parsed;
        duration->text = value;
        return true;
    }
    lh_complain(syntax->command, "the duration '%s' of --%s is refused: %s", value, option->name,
                reason);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

static bool store_number(const struct lh_syntax *syntax, const struct lh_option *option,
                         const char *value, int *ret_exit)
{
    int64_t parsed;
    if (lh_i64_parse(lh_slice_of_string(value), &parsed) && parsed > 0) {
        *(int64_t *)option->value = parsed;
        return true;
    }
    const bool digits =
        value[strspn(value, "0123456789")] == '\0' && value[strspn(value, "0")] != '\0';
    lh_complain(syntax->command, "'%s' of --%s is %s", value, option->name,
                digits ? "too large" : "not a positive whole number");
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

static bool store(const struct lh_syntax *syntax, const struct lh_option *option, const char *value,
                  int *ret_exit)
{
    switch (option->kind) {
    case LH_OPTION_FLAG: *(bool *)option->value = true; return true;
    case LH_OPTION_TEXT: *(const char **)option->value = value; return true;
    case LH_OPTION_DURATION:
    case LH_OPTION_WAIT: return store_duration(syntax, option, value, ret_exit);
    case LH_OPTION_NUMBER: return store_number(syntax, option, value, ret_exit);
    }
    return false;
}

// One `--name`, `--name=value`, `--name value` or `-E value`; moves *at to the last word it used.
static bool parse_option(const struct lh_syntax *syntax, char **argv, int *at, int *ret_exit)
{
    const char *name = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
    const char *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    const struct lh_option *option = lh_option_find(syntax, name, size);
    if (option == NULL)
        return unknown_option(syntax, argv[*at], ret_exit);
    const char *value = equals ? equals + 1 : NULL;
    if (option->kind == LH_OPTION_FLAG && value != NULL) {
        lh_complain(syntax->command, "--%s takes no value, but '%s' was given", option->name,
                    value);
        return wrong(syntax, ret_exit);
    }
    if (option->kind != LH_OPTION_FLAG && value == NULL) {
        value = argv[*at + 1];
        if (value == NULL || strcmp(value, "--") == 0) {
            lh_complain(syntax->command, "%s needs a value (%s)", argv[*at], option->argument);
            return wrong(syntax, ret_exit);
        }
        ++*at;
    }
    return store(syntax, option, value, ret_exit);
}

// `-E5`, `-E=5`, or a letter that is none.
static bool refuse_dashed(const struct lh_syntax *syntax, const char *word, int *ret_exit)
{
    const struct lh_option *option = lh_option_find(syntax, word + 1, 1);
    const char *value = word + 2 + (word[2] == '=');
    if (option == NULL)
        return unknown_option(syntax, word, ret_exit);
    lh_complain(syntax->command, "'%s': the value of -%c is a word of its own: write -%c %s", word,
                word[1], word[1], value[0] != '\0' ? value : option->argument);
    return wrong(syntax, ret_exit);
}

// A word that begins with one dash is one only if there is such a letter.
static bool is_option(const struct lh_syntax *syntax, const char *word)
{
    if (word[0] != '-' || word[1] == '-')
        return word[0] == '-';
    return word[1] != '\0' && word[2] == '\0' && lh_option_find(syntax, word + 1, 1) != NULL;
}

static bool check_count(const struct lh_syntax *syntax, const struct lh_parsed *parsed,
                        int *ret_exit)
{
    if (parsed->positional_count < syntax->positionals_least) {
        int name = (int)strcspn(syntax->arguments, " .");
        lh_complain(syntax->command, "%.*s is missing", name, syntax->arguments);
        return wrong(syntax, ret_exit);
    }
    if (syntax->takes_command && parsed->command_count == 0) {
        lh_complain(syntax->command, "the command to run is missing: to hold the lease until "
                                     "Ctrl-C, write -- sleep infinity");
        return wrong(syntax, ret_exit);
    }
    return true;
}

bool lh_options_one_wait(const char *command, bool nonblock, const struct lh_option_duration *wait,
                         int *ret_exit)
{
    if (!nonblock || !wait->given)
        return true;
    fprintf(stderr, "leasehold %s: --nonblock and --wait exclude each other: give one\n", command);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

bool lh_options_parse(const struct lh_syntax *syntax, int argc, char **argv,
                      struct lh_parsed *ret_parsed, int *ret_exit)
{
    struct lh_parsed parsed = {.positionals = argv + 1};
    bool options_ended = false;
    for (int at = 1; at < argc; at++) {
        char *word = argv[at];
        bool positionals_full = parsed.positional_count == syntax->positionals_most;
        if (!options_ended && strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (!options_ended && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            print_help(syntax);
            *ret_exit = LH_EXIT_OK;
            return false;
        } else if (!options_ended && is_option(syntax, word)) {
            if (!parse_option(syntax, argv, &at, ret_exit))
                return false;
        } else if (!options_ended && word[0] == '-' && word[1] != '\0') {
            return refuse_dashed(syntax, word, ret_exit);
        } else if (positionals_full && syntax->takes_command) {
            parsed.command = &argv[at];
            parsed.command_count = argc - at;
            break;
        } else if (positionals_full) {
            lh_complain(syntax->command, "one argument too many: '%s'", word);
            return wrong(syntax, ret_exit);
        } else {
            parsed.positionals[parsed.positional_count++] = word;
        }
    }
    if (!check_count(syntax, &parsed, ret_exit))
        return false;
    *ret_parsed = parsed;
    return true;
}
