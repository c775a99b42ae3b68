// `leasehold revoke`: an operator wants a name cleared. Nobody ends a lease under a holder that
// still believes, so this refuses further renewals and says when the lease ends
// by itself.
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/session.h"

static int print_revoked(const struct lh_resp_value *reply, const char *name, bool json)
{
    struct lh_answer answer;
    char left[LH_DURATION_TEXT_BYTES];
    if (json)
        return lh_json_print(lh_reply_json(reply));
    lh_answer_read(reply, name, &answer);
    if (answer.status != LH_ANSWER_FREE && answer.status != LH_ANSWER_REVOKED) {
        fprintf(stderr, "leasehold revoke: '%s' was not revoked: %s\n", name, answer.reason);
        return LH_EXIT_FAILED;
    }
    if (answer.status == LH_ANSWER_FREE)
        printf("%s  free: there is nothing to revoke\n", name);
    else
        printf("%s  revoked: token %" PRId64 " of %s on node %" PRId64 " ends within %s\n", name,
               answer.token, answer.holder[0] != '\0' ? answer.holder : "(unknown)", answer.node,
               lh_duration_text((struct lh_duration){answer.ends_in_ns}, left));
    return LH_EXIT_OK;
}

int lh_revoke_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    const struct lh_option options[] = {LH_COMMON_OPTIONS(common)};
    const struct lh_syntax syntax = {
        .command = "revoke",
        .arguments = "NAME [--json]",
        .about =
            "Refuses the holder of a lease further renewals, and prints when the lease ends by\n"
            "itself. It ends sooner if the holder lets go.",
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
        !lh_session_name("revoke", parsed.positionals[0], &lease, &exit_code) ||
        !lh_session_open("revoke", &common, &client, &exit_code))
        return exit_code;
    const char *words[] = {"LEASE", "REVOKE", lease.name};
    if (lh_session_call("revoke", client, &common, words, 3, &reply, &exit_code))
        exit_code = print_revoked(reply, lease.name, common.json);
    lh_client_close(client);
    return exit_code;
}
