// `leasehold witness`: shows each known failure on a schedule of its own, with one rule weakened,
// and the same schedule with the rule as it ships (src/check/witness.h). Exit codes are those of
// `leasehold check`: 0 all as expected, 1 one does not show its failure, 12 one fails with the rule
// restored, 64 usage, 75 one was named that waits for the log.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/witness.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/suggest.h"

enum { EXIT_DIFFERS = 1, EXIT_VIOLATED = 12, EXIT_WAITS = 75, NAMES_MOST = 32 };

struct runs {
    struct lh_witness_world weakened;
    struct lh_witness_world restored;
};

static const char *verdict_text(enum lh_witness_verdict verdict)
{
    switch (verdict) {
    case LH_WITNESS_AS_EXPECTED: return "as-expected";
    case LH_WITNESS_DIFFERS: return "differs";
    case LH_WITNESS_VIOLATED: return "violated";
    case LH_WITNESS_WAITS: break;
    }
    return "waits-for-the-log";
}

static int exit_of(enum lh_witness_verdict verdict)
{
    switch (verdict) {
    case LH_WITNESS_AS_EXPECTED: return LH_EXIT_OK;
    case LH_WITNESS_DIFFERS: return EXIT_DIFFERS;
    case LH_WITNESS_VIOLATED: return EXIT_VIOLATED;
    case LH_WITNESS_WAITS: break;
    }
    return EXIT_WAITS;
}

static void print_run(const char *title, const struct lh_witness_world *world)
{
    printf("  %s:\n", title);
    for (unsigned i = 0; i < world->step_count; i++)
        printf("  %s\n", world->steps[i]);
    printf("            => %s\n", world->failure[0] != '\0' ? world->failure : "nothing fails");
}

static void print_text(const struct lh_witness *witness, const struct runs *runs,
                       enum lh_witness_verdict verdict)
{
    printf("%s (%s)\n  shows: %s\n  rule: %s\n", witness->name, witness->kind, witness->shows,
           witness->fix);
    if (verdict == LH_WITNESS_WAITS) {
        printf("  not yet: it comes with the log\n\n");
        return;
    }
    if (witness->note != NULL)
        printf("  note: %s\n", witness->note);
    print_run("without the rule", &runs->weakened);
    print_run("with it", &runs->restored);
    if (verdict == LH_WITNESS_DIFFERS)
        printf("  UNEXPECTED: without the rule it should show: %s\n", witness->failure);
    if (verdict == LH_WITNESS_VIOLATED)
        printf("  UNEXPECTED: it fails with the rule as well\n");
    printf("\n");
}

static json_t *run_json(const struct lh_witness_world *world)
{
    json_t *steps = json_array();
    for (unsigned i = 0; i < world->step_count; i++)
        json_array_append_new(steps, json_string(world->steps[i] + strspn(world->steps[i], " ")));
    return json_pack("{s:s?, s:o}", "failure", world->failure[0] != '\0' ? world->failure : NULL,
                     "steps", steps);
}

static json_t *witness_json(const struct lh_witness *witness, const struct runs *runs,
                            enum lh_witness_verdict verdict)
{
    const bool waits = verdict == LH_WITNESS_WAITS;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:o, s:o}", "witness", witness->name,
                     "kind", witness->kind, "shows", witness->shows, "fix", witness->fix, "verdict",
                     verdict_text(verdict), "expected_failure", witness->failure, "note",
                     witness->note, "weakened", waits ? json_null() : run_json(&runs->weakened),
                     "restored", waits ? json_null() : run_json(&runs->restored));
}

static int run_one(const struct lh_witness *witness, bool named, json_t *list)
{
    struct runs *runs = calloc(1, sizeof *runs);
    if (runs == NULL) {
        lh_complain("witness", "the machine has no memory left");
        return LH_EXIT_FAILED;
    }
    if (witness->failure != NULL) {
        lh_witness_run(witness, true, &runs->weakened);
        lh_witness_run(witness, false, &runs->restored);
    }
    const enum lh_witness_verdict verdict =
        lh_witness_judge(witness, &runs->weakened, &runs->restored);
    if (list != NULL)
        json_array_append_new(list, witness_json(witness, runs, verdict));
    else
        print_text(witness, runs, verdict);
    free(runs);
    return verdict == LH_WITNESS_WAITS && !named ? LH_EXIT_OK : exit_of(verdict);
}

static int unknown(const char *typed)
{
    const char *names[NAMES_MOST];
    const size_t count = lh_witness_count() < NAMES_MOST ? lh_witness_count() : NAMES_MOST;
    for (size_t i = 0; i < count; i++)
        names[i] = lh_witness_at(i)->name;
    const char *nearest = lh_cli_nearest(typed, names, count);
    if (nearest != NULL)
        lh_complain("witness", "no witness is called '%s': did you mean '%s'?", typed, nearest);
    else
        lh_complain("witness",
                    "no witness is called '%s': `leasehold witness --list` has their names", typed);
    return LH_EXIT_USAGE;
}

static int print_list(void)
{
    for (size_t i = 0; i < lh_witness_count(); i++) {
        const struct lh_witness *witness = lh_witness_at(i);
        printf("%-32s%s%s\n", witness->name, witness->shows,
               witness->failure == NULL ? " (waits for the log)" : "");
    }
    return LH_EXIT_OK;
}

static int print_list_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < lh_witness_count(); i++) {
        const struct lh_witness *witness = lh_witness_at(i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b}", "witness", witness->name,
                                              "kind", witness->kind, "shows", witness->shows,
                                              "waits", witness->failure == NULL));
    }
    return lh_json_print("witness", list);
}

static int run_all(const struct lh_witness *only, json_t *list)
{
    int worst = LH_EXIT_OK;
    size_t shown = 0;
    size_t expected = 0;
    for (size_t i = 0; i < lh_witness_count(); i++) {
        const struct lh_witness *witness = lh_witness_at(i);
        if (only != NULL && only != witness)
            continue;
        const int code = run_one(witness, only != NULL, list);
        if (worst == LH_EXIT_OK || code == EXIT_VIOLATED)
            worst = code;
        shown++;
        expected += code == LH_EXIT_OK && witness->failure != NULL;
    }
    if (list == NULL && only == NULL)
        printf("%zu of %zu witnesses show their failure without the rule and none with it\n",
               expected, shown);
    return worst;
}

int lh_witness_command(int argc, char **argv)
{
    bool json = false;
    bool names = false;
    const struct lh_option options[] = {
        {"json", LH_OPTION_FLAG, &json, NULL, "print JSON with stable names"},
        {"list", LH_OPTION_FLAG, &names, NULL, "print the names"},
    };
    const struct lh_syntax syntax = {
        .command = "witness",
        .arguments = "[NAME|all] [options]",
        .about = "Shows known failures of lease protocols: each on a schedule of its own, with one "
                 "rule weakened,\nand the same schedule with the rule as it ships.",
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0]};
    struct lh_parsed parsed;
    int code = LH_EXIT_OK;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &code))
        return code;
    if (names)
        return json ? print_list_json() : print_list();
    const char *name = parsed.positional_count > 0 ? parsed.positionals[0] : "all";
    const struct lh_witness *only = lh_witness_find(name);
    if (only == NULL && strcmp(name, "all") != 0)
        return unknown(name);
    json_t *list = json ? json_array() : NULL;
    code = run_all(only, list);
    if (list != NULL) {
        const int printed = lh_json_print("witness", list);
        code = code != LH_EXIT_OK ? code : printed;
    }
    return code;
}
