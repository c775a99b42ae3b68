// `leasehold release`: a lease given back by its holder, which has stopped acting (P6).
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/session.h"

static int print_released(const struct lh_lease *lease, bool json)
{
    if (json)
        return lh_json_print(json_pack("{s:s, s:s, s:I}", "status", "released", "name", lease->name,
                                       "token", (json_int_t)lease->token));
    printf("%s  released\n", lease->name);
    return LH_EXIT_OK;
}

int lh_release_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    const char *holder = NULL;
    struct lh_lease lease = {.token = 0};
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
            "must have stopped before. Exit code 76: it was not held any more.",
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    struct lh_parsed parsed;
    struct lh_lease_call call;
    struct lh_client *client;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code) ||
        !lh_session_owner("release", holder, &lease, &exit_code) ||
        !lh_session_name("release", parsed.positionals[0], &lease, &exit_code) ||
        !lh_session_open("release", &common, &client, &exit_code))
        return exit_code;
    lh_lease_release(&call, client, &lease, lh_session_patience(&common));
    enum lh_lease_result result = lh_lease_finish(&call);
    if (result == LH_LEASE_RELEASED)
        exit_code = print_released(&lease, common.json);
    else
        exit_code = lh_session_lease_failed("release", &call, result);
    lh_client_close(client);
    return exit_code;
}
