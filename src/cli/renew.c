// `leasehold renew`: more time for a lease acquired before, by name, token and holder.
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/session.h"

int lh_renew_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    struct lh_option_duration ttl = {.given = false};
    const char *holder = NULL;
    struct lh_holding lease = {.deadline = LH_NEVER}; // what it was is not known here
    const struct lh_option options[] = {
        {"token", LH_OPTION_NUMBER, &lease.token, "TOKEN", "as acquire printed it"},
        {"holder", LH_OPTION_TEXT, &holder, "H", "as acquire printed it"},
        {"ttl", LH_OPTION_DURATION, &ttl, "D", "for how long from now (default: as before)"},
        LH_COMMON_OPTIONS(common),
    };
    const struct lh_syntax syntax = {
        .command = "renew",
        .arguments = "NAME --token TOKEN --holder H [--ttl D] [--json]",
        .about = "Renews a lease.\n"
                 "\n"
                 "Exit code: 0 renewed, 76 it is lost, and another may have it by now, 69 no "
                 "quorum, 64\n"
                 "refused as wrong.",
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
        !lh_session_owner("renew", holder, &lease, &exit_code) ||
        !lh_session_name("renew", parsed.positionals[0], &lease, &exit_code) ||
        !lh_cli_session_open("renew", &common, &client, &exit_code))
        return exit_code;
    lh_errand_renew(&call, client, &lease, ttl.value, lh_session_patience(&common, NULL));
    return lh_session_finish("renew", &call, &common);
}
