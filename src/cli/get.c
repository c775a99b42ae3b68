// `leasehold get`: who holds a lease, asked of a quorum now.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/lease_table.h"
#include "cli/session.h"

// What is not known is null, and of a name that nobody holds only that is told.
static json_t *lease_json(const struct lh_resp_value *reply, const char *name,
                          const struct lh_answer *answer)
{
    static const char *const of_the_owner[] = {
        "token", "ttl_ms", "remaining_ms", "age_ms", "renewals", "renewed_ago_ms", "revoked"};
    if (answer->status == LH_ANSWER_FREE)
        return json_pack("{s:s, s:s}", "status", "free", "name", name);
    json_t *json = lh_reply_json(reply);
    for (size_t i = 0; answer->token == 0 && i < sizeof of_the_owner / sizeof of_the_owner[0]; i++)
        json_object_set_new(json, of_the_owner[i], json_null());
    if (answer->node == 0)
        json_object_set_new(json, "node", json_null());
    return json;
}

static void print_table(const struct lh_resp_value *reply, bool revoked)
{
    struct lh_table table;
    char soonest[LH_DURATION_TEXT_BYTES];
    char latest[LH_DURATION_TEXT_BYTES];
    int64_t soonest_ns = 0;
    int64_t latest_ns = 0;
    lh_lease_table_open(&table);
    lh_lease_table_add(&table, reply);
    lh_table_close(&table);
    lh_resp_as_integer(lh_resp_get(reply, "next-owner-min-ns"), &soonest_ns);
    lh_resp_as_integer(lh_resp_get(reply, "next-owner-max-ns"), &latest_ns);
    printf("%s released, the next owner can come in %s, and no later than in %s.\n",
           revoked ? "It was revoked: unless it is" : "Unless it is renewed or",
           lh_duration_text((struct lh_duration){soonest_ns}, soonest),
           lh_duration_text_up((struct lh_duration){latest_ns}, latest));
}

static int print_lease(const struct lh_resp_value *reply, const char *name, bool json)
{
    struct lh_answer answer;
    char text[LH_HELD_TEXT_BYTES];
    lh_answer_read(reply, name, &answer);
    lh_resp_as_integer(lh_resp_get(reply, "next-owner-max-ns"), &answer.free_in_ns);
    bool known = answer.status == LH_ANSWER_FREE || answer.status == LH_ANSWER_UNDECIDED ||
                 answer.status == LH_ANSWER_HELD;
    if (json && known)
        return lh_json_print("get", lease_json(reply, name, &answer));
    if (!known) {
        fprintf(stderr, "leasehold get: %s\n", answer.reason);
        return LH_EXIT_FAILED;
    }
    if (answer.status == LH_ANSWER_FREE)
        printf("%s  free\n", name);
    else if (answer.status == LH_ANSWER_UNDECIDED)
        printf("%s  undecided: the members differ, as while a lease changes hands; ask again\n",
               name);
    else if (answer.token == 0)
        printf("%s  %s\n", name, lh_held_text(&answer, text));
    else
        print_table(reply, answer.revoked);
    return lh_output_end("get");
}

int lh_get_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    const struct lh_option options[] = {LH_COMMON_OPTIONS(common)};
    const struct lh_syntax syntax = {
        .command = "get",
        .arguments = "NAME [--json]",
        .about = "Shows who holds a lease, as a quorum of the members says now.\n"
                 "\n"
                 "Exit code: 0 it was told, also that the name is free; 69 no quorum.",
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return lh_session_ask(&syntax, &common, argc, argv, "GET", print_lease);
}
