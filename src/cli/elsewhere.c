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

// For the commands that have `ours`, the first that fits; without one for those that run a command.
static const struct {
    const char *word;
    struct lh_elsewhere meant;
} options[] = {
    {"n", {.ours = "nonblock"}},
    {"nb", {.ours = "nonblock"}},
    {"w", {.ours = "wait"}},
    {"try", {.ours = "wait"}},
    {"timeout", {"wait", "did you mean '--wait' (in line) or '--timeout' (without a quorum)?"}},
    {"c", {.advice = "for a line of a shell write -- sh -c 'LINE'"}},
    {"conflict-exit-code", {"E", "did you mean '-E'?"}},
    {"k", {.ours = "kill-after"}},
    {"endpoint", {.ours = "connect"}},
    {"endpoints", {.ours = "connect"}},
    {"http-addr", {.ours = "connect"}},
    {"socket", {.ours = "connect"}},
    {"command-timeout", {.ours = "timeout"}},
    {"w", {.ours = "json"}},
    {"write-out", {.ours = "json"}},
    {"id", {.ours = "holder"}},
    {"id", {.advice = "leave it out: each run is a holder of its own"}},
    {"holder", {.advice = "leave it out: each run is a holder of its own"}},
    {"child-exit-code", {.advice = "leave it out: the exit code is the command's own"}},
    {"pass-stdin", {.advice = "leave it out: the command has the standard input"}},
    {"monitor-retry", {.advice = "leave it out: a renewal is repeated while there is time"}},
};

const struct lh_elsewhere *lh_elsewhere_option(const struct lh_syntax *syntax, const char *typed)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *ours = options[i].meant.ours;
        if (strcmp(options[i].word, typed) == 0 &&
            (ours != NULL ? lh_option_find(syntax, ours, strlen(ours)) != NULL
                          : syntax->takes_command))
            return &options[i].meant;
    }
    return NULL;
}
