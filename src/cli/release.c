// `leasehold release`: a lease given back by its holder, which has stopped acting (P6).
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/session.h"

int lh_release_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    const char *holder = NULL;
    struct lh_holding lease = {.token = 0};
    const struct lh_option options[] = {
        {"token", LH_OPTION_NUMBER, &lease.token, "TOKEN", "as acquire printed it"},
        {"holder", LH_OPTION_TEXT, &holder, "H", "as acquire printed it"},
        LH_COMMON_OPTIONS(common),
    };
    const struct lh_syntax syntax = {
        .command = "release",
        .arguments = "NAME --token TOKEN --holder H [--json]",
        .about =
            "Gives a lease back, so that the next may have it at once. Whatever acted under it\n"
            "must have stopped before.\n"
            "\n"
            "Exit code: 0 released, 76 it was not held any more, 69 no quorum, 64 refused as "
            "wrong.",
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    struct lh_parsed parsed;
    struct lh_errand call;
    struct lh_channel *client;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code) ||
        !lh_session_owner("release", holder, &lease, &exit_code) ||
        !lh_session_name("release", parsed.positionals[0], &lease, &exit_code) ||
        !lh_cli_session_open("release", &common, &client, &exit_code))
        return exit_code;
    lh_errand_release(&call, client, &lease, lh_session_patience(&common, NULL));
    return lh_session_finish("release", &call, &common);
}
