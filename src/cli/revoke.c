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
    lh_answer_read(reply, name, &answer);
    int shown = json ? lh_json_print("revoke", lh_reply_json(reply)) : LH_EXIT_OK;
    if (answer.status != LH_ANSWER_FREE && answer.status != LH_ANSWER_REVOKED) {
        fprintf(stderr, "leasehold revoke: '%s' was not revoked: %s\n", name, answer.reason);
        return LH_EXIT_FAILED;
    }
    if (json)
        return shown;
    if (answer.status == LH_ANSWER_FREE)
        printf("%s  free: there is nothing to revoke\n", name);
    else
        printf("%s  revoked: token %" PRId64 " of %s on node %" PRId64 " ends within %s\n", name,
               answer.token, answer.holder[0] != '\0' ? answer.holder : "(unknown)", answer.node,
               lh_duration_text_up((struct lh_duration){answer.ends_in_ns}, left));
    return lh_output_end("revoke");
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
            "itself. It ends sooner if the holder lets go: `leasehold run`, on whatever machine,\n"
            "ends its command when it would renew, within half of the TTL.\n"
            "\n"
            "Exit code: 0 revoked or free, 69 no quorum, 1 undecided: ask again.",
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return lh_session_ask(&syntax, &common, argc, argv, "REVOKE", print_revoked);
}
