// See elsewhere.h.
#include "cli/elsewhere.h"

#include <string.h>

const char *lh_elsewhere_command(const char *typed)
{
    static const char *const words[][2] = {
        {"lock", "run"},      {"elect", "run"},     {"exec", "run"},         {"unlock", "release"},
        {"grant", "acquire"}, {"lease", "acquire"}, {"keep-alive", "renew"}, {"timetolive", "get"},
        {"extend", "renew"},  {"ls", "list"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], typed) == 0)
            return words[i][1];
    return NULL;
}

// For the commands that have the option, the first that fits; without one for those that run a
// command.
static const struct {
    const char *word;
    const char *option;
    const char *advice;
} options[] = {
    {"n", "nonblock", "did you mean '--nonblock'?"},
    {"nb", "nonblock", "did you mean '--nonblock'?"},
    {"w", "wait", "did you mean '--wait'?"},
    {"try", "wait", "did you mean '--wait'?"},
    {"timeout", "wait", "did you mean '--wait' (in line) or '--timeout' (without a quorum)?"},
    {"c", NULL, "for a line of a shell write -- sh -c 'LINE'"},
    {"conflict-exit-code", "E", "did you mean '-E'?"},
    {"k", "kill-after", "did you mean '--kill-after'?"},
    {"endpoint", "connect", "did you mean '--connect'?"},
    {"endpoints", "connect", "did you mean '--connect'?"},
    {"http-addr", "connect", "did you mean '--connect'?"},
    {"socket", "connect", "did you mean '--connect'?"},
    {"command-timeout", "timeout", "did you mean '--timeout'?"},
    {"w", "json", "did you mean '--json'?"},
    {"write-out", "json", "did you mean '--json'?"},
    {"id", "holder", "did you mean '--holder'?"},
    {"id", NULL, "leave it out: each run is a holder of its own"},
    {"holder", NULL, "leave it out: each run is a holder of its own"},
    {"child-exit-code", NULL, "leave it out: the exit code is the command's own"},
    {"pass-stdin", NULL, "leave it out: the command has the standard input"},
    {"monitor-retry", NULL, "leave it out: a renewal is repeated while there is time"},
};

static bool has(const struct lh_syntax *syntax, const char *option)
{
    for (size_t i = 0; i < syntax->option_count; i++)
        if (strcmp(syntax->options[i].name, option) == 0)
            return true;
    return false;
}

const char *lh_elsewhere_option(const struct lh_syntax *syntax, const char *typed)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].word, typed) == 0 &&
            (options[i].option != NULL ? has(syntax, options[i].option) : syntax->takes_command))
            return options[i].advice;
    return NULL;
}
