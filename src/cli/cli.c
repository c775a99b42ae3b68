// The program's front: the one table of subcommands, the short help, and what is said to a mistyped
// word.
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/trace_check.h"
#include "cli/command.h"
#include "cli/elsewhere.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "sim/sim.h"

static int help_command(int argc, char **argv);
static int version_command(int argc, char **argv);

// In the order of the help.
static const struct lh_command commands[] = {
    {"run", lh_run_command, "run a command while holding a lease; it ends before the lease does"},
    {"acquire", lh_acquire_command, "acquire a lease and print its token"},
    {"renew", lh_renew_command, "renew a lease acquired before"},
    {"release", lh_release_command, "give a lease back"},
    {"get", lh_get_command, "show who holds a lease"},
    {"list", lh_list_command, "show all leases of the cluster"},
    {"watch", lh_watch_command, "tell who gains and who loses leases, as it happens"},
    {"revoke", lh_revoke_command, "refuse a holder further renewals"},
    {"status", lh_status_command, "show how a node and its cluster are"},
    {"keygen", lh_keygen_command, "make the keyring of a new cluster"},
    {"dev", lh_dev_command, "start a cluster on this machine to try things on"},
    {"demo", lh_demo_command, "show three nodes, a kill and a stop, and check that no two held"},
    {"check", lh_check_command, "for developers: search the protocol's states for a violation"},
    {"sim", lh_sim_command, "for developers: run whole clusters under faults, from one number"},
    {"witness", lh_witness_command,
     "for developers: each known failure, and the rule that stops it"},
    {"guard", lh_guard_command,
     "how great a guard must be between clocks that differ, and what it costs"},
    {"trace", lh_trace_command, "for developers: is a recording of daemons what the rules allow?"},
    {"help", help_command, "show this, or the help of a command"},
    {"version", version_command, "print the version"},
    {"demo-beat", lh_demo_beat_command, NULL},
    {"demo-check", lh_demo_check_command, NULL},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static const char *program_version;

static const struct lh_command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_help(FILE *where)
{
    fprintf(where, "Usage: leasehold COMMAND [ARGUMENTS]\n\n"
                   "Gives exactly one of many processes the right to act, for a bounded time.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary != NULL)
            fprintf(where, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(where,
            "\n`leasehold COMMAND --help` tells more. Durations: 300ms, 10s, 1.5s, 2m, 1m30s, 1h; "
            "a bare number is seconds.\nTo try it: `leasehold dev` in one terminal, `leasehold run "
            "hello -- sleep 60` in another,\nwith LEASEHOLD_CONNECT as the first one prints it.\n");
}

static int unknown(const char *typed)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].summary != NULL ? commands[i].name : NULL;
    const char *nearest = lh_elsewhere_command(typed);
    if (nearest == NULL)
        nearest = lh_cli_nearest(typed, names, COMMAND_COUNT);
    if (nearest != NULL)
        lh_complain(NULL, "unknown command '%s': did you mean '%s'?", typed, nearest);
    else
        lh_complain(NULL, "unknown command '%s': `leasehold help` lists them", typed);
    return LH_EXIT_USAGE;
}

static int help_command(int argc, char **argv)
{
    if (argc > 2) {
        lh_complain("help", "one argument too many: '%s'", argv[2]);
        return LH_EXIT_USAGE;
    }
    if (argc > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
        const struct lh_command *command = find(argv[1]);
        char option[] = "--help";
        char *arguments[] = {argv[1], option, NULL};
        if (command == NULL)
            return unknown(argv[1]);
        if (command->run != help_command)
            return command->run(2, arguments);
    }
    print_help(stdout);
    return lh_output_end("help");
}

static int version_command(int argc, char **argv)
{
    const struct lh_syntax syntax = {
        .command = "version", .arguments = "", .about = "Prints the version."};
    struct lh_parsed parsed;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code))
        return exit_code;
    printf("leasehold %s\n", program_version);
    return lh_output_end("version");
}

int lh_cli_main(const char *version, int argc, char **argv)
{
    program_version = version;
    if (argc < 2) {
        print_help(stderr);
        return LH_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    if (word[0] == '-') {
        lh_complain(NULL,
                    "'%s' stands before the command: options come after it, as in `leasehold "
                    "status --connect ENDPOINT`",
                    word);
        return LH_EXIT_USAGE;
    }
    const struct lh_command *command = find(word);
    if (command == NULL)
        return unknown(word);
    const int code = command->run(argc - 1, argv + 1);
    const int written = lh_output_end(word); // what was printed and lost is no success
    return code != LH_EXIT_OK ? code : written;
}
