// `leasehold get`: who holds a lease, asked of a quorum now.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/lease_table.h"
#include "cli/session.h"

static int print_lease(const struct lh_resp_value *reply, const char *name, bool json)
{
    struct lh_answer answer;
    if (json)
        return lh_json_print(lh_reply_json(reply));
    lh_answer_read(reply, name, &answer);
    if (answer.status == LH_ANSWER_FREE) {
        printf("%s  free\n", name);
        return LH_EXIT_OK;
    }
    if (answer.status == LH_ANSWER_UNDECIDED) {
        printf("%s  undecided: the members differ, as while a lease changes hands; ask again\n",
               name);
        return LH_EXIT_OK;
    }
    if (answer.status != LH_ANSWER_HELD) {
        fprintf(stderr, "leasehold get: %s\n", answer.reason);
        return LH_EXIT_FAILED;
    }
    struct lh_table table;
    lh_lease_table_open(&table);
    lh_lease_table_add(&table, reply);
    lh_table_close(&table);
    char soonest[LH_DURATION_TEXT_BYTES];
    char latest[LH_DURATION_TEXT_BYTES];
    int64_t soonest_ns = 0;
    int64_t latest_ns = 0;
    lh_resp_as_integer(lh_resp_get(reply, "next-owner-min-ns"), &soonest_ns);
    lh_resp_as_integer(lh_resp_get(reply, "next-owner-max-ns"), &latest_ns);
    printf("Unless it is renewed or released, the next owner can come in %s, and no later than in "
           "%s.\n",
           lh_duration_text((struct lh_duration){soonest_ns}, soonest),
           lh_duration_text((struct lh_duration){latest_ns}, latest));
    return LH_EXIT_OK;
}

int lh_get_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    const struct lh_option options[] = {LH_COMMON_OPTIONS(common)};
    const struct lh_syntax syntax = {
        .command = "get",
        .arguments = "NAME [--json]",
        .about = "Shows who holds a lease, as a quorum of the members says now.",
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    struct lh_parsed parsed;
    struct lh_lease lease = {.token = 0};
    struct lh_client *client;
    const struct lh_resp_value *reply;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code) ||
        !lh_session_name("get", parsed.positionals[0], &lease, &exit_code) ||
        !lh_session_open("get", &common, &client, &exit_code))
        return exit_code;
    const char *words[] = {"LEASE", "GET", lease.name};
    if (lh_session_call("get", client, &common, words, 3, &reply, &exit_code))
        exit_code = print_lease(reply, lease.name, common.json);
    lh_client_close(client);
    return exit_code;
}
