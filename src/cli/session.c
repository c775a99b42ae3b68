// See session.h.
#include "cli/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/output.h"
#include "os/clock.h"

#define PATIENCE_DEFAULT_NS (5 * LH_NS_PER_S)

bool lh_session_open(const char *command, const struct lh_common_options *common,
                     struct lh_client **ret_client, int *ret_exit)
{
    struct lh_error error;
    if (lh_client_open(common->connect, ret_client, &error))
        return true;
    fprintf(stderr, "leasehold %s: %s\n", command, error.text);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

struct lh_duration lh_session_patience(const struct lh_common_options *common)
{
    return common->timeout.given ? common->timeout.value
                                 : (struct lh_duration){PATIENCE_DEFAULT_NS};
}

bool lh_session_name(const char *command, const char *name, struct lh_lease *lease, int *ret_exit)
{
    struct lh_error error;
    if (lh_lease_name_check(name, &error)) {
        snprintf(lease->name, sizeof lease->name, "%s", name);
        return true;
    }
    fprintf(stderr, "leasehold %s: %s\n", command, error.text);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

bool lh_session_holder(const char *command, const char *holder, struct lh_lease *lease,
                       int *ret_exit)
{
    if (holder == NULL) {
        lh_holder_make(lease->holder);
        return true;
    }
    if (lh_utf8_name_valid(lh_slice_of_string(holder))) {
        snprintf(lease->holder, sizeof lease->holder, "%s", holder);
        return true;
    }
    fprintf(stderr,
            "leasehold %s: the holder '%.64s' is refused: write 1 to %d bytes of UTF-8 without "
            "control characters\n",
            command, holder, LH_HOLDER_MAX_BYTES);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

bool lh_session_owner(const char *command, const char *holder, struct lh_lease *lease,
                      int *ret_exit)
{
    if (lease->token > 0 && holder != NULL)
        return lh_session_holder(command, holder, lease, ret_exit);
    fprintf(stderr,
            "leasehold %s: --%s is missing: give the token and the holder that acquire "
            "printed\n",
            command, lease->token > 0 ? "holder" : "token");
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

int lh_session_no_quorum(const char *command, const struct lh_client *client, const char *why)
{
    fprintf(stderr, "leasehold %s: no quorum: %s\n", command, why);
    if (lh_client_unreachable(client))
        fprintf(stderr,
                "leasehold %s: is leaseholdd running there? Name others with --connect or "
                "LEASEHOLD_CONNECT\n",
                command);
    return LH_EXIT_NO_QUORUM;
}

bool lh_session_call(const char *command, struct lh_client *client,
                     const struct lh_common_options *common, const char *const *words, size_t count,
                     const struct lh_resp_value **ret_reply, int *ret_exit)
{
    struct lh_error error;
    if (!lh_client_call(client, words, count, lh_session_patience(common), &error)) {
        *ret_exit = lh_session_no_quorum(command, client, error.text);
        return false;
    }
    const struct lh_resp_value *reply = lh_client_reply(client);
    struct lh_slice text;
    if (lh_resp_is(reply, LH_RESP_ERROR)) {
        fprintf(stderr, "leasehold %s: refused: %.*s\n", command, (int)reply->text.size_bytes,
                (const char *)reply->text.data);
        *ret_exit = LH_EXIT_USAGE;
        return false;
    }
    if (lh_resp_as_text(lh_resp_get(reply, "status"), &text) &&
        lh_slice_equal(text, LH_SLICE("noquorum"))) {
        struct lh_slice reason = LH_SLICE("no majority of the members answered in time");
        lh_resp_as_text(lh_resp_get(reply, "reason"), &reason);
        fprintf(stderr, "leasehold %s: no quorum: %s: %.*s\n", command, lh_client_endpoint(client),
                (int)reason.size_bytes, (const char *)reason.data);
        *ret_exit = LH_EXIT_NO_QUORUM;
        return false;
    }
    *ret_reply = reply;
    return true;
}

int lh_session_lease_failed(const char *command, const struct lh_lease_call *call,
                            enum lh_lease_result result)
{
    char text[LH_HELD_TEXT_BYTES];
    const char *name = call->lease->name;
    const struct lh_answer *answer = &call->answer;
    switch (result) {
    case LH_LEASE_HELD:
        fprintf(stderr, "leasehold %s: '%s' was not acquired: %s\n", command, name,
                lh_held_text(answer, text));
        return LH_EXIT_NOT_ACQUIRED;
    case LH_LEASE_LOST:
        fprintf(stderr, "leasehold %s: '%s' is not held under token %" PRId64 " by '%s'%s%s\n",
                command, name, call->lease->token, call->lease->holder,
                answer->reason[0] != '\0' ? ": " : "", answer->reason);
        return LH_EXIT_LOST;
    case LH_LEASE_REFUSED:
        fprintf(stderr, "leasehold %s: '%s' was refused: %s\n", command, name, call->error.text);
        return LH_EXIT_USAGE;
    default: return lh_session_no_quorum(command, call->client, call->error.text);
    }
}

int lh_session_print_granted(const struct lh_lease *lease, bool json)
{
    struct lh_duration left = lh_left(lh_clock_now(), lease->deadline);
    if (json)
        return lh_json_print(json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I}", "status", "granted",
                                       "name", lease->name, "token", (json_int_t)lease->token,
                                       "holder", lease->holder, "node", (json_int_t)lease->node,
                                       "ttl_ms", (json_int_t)lh_floor_ms(lease->ttl),
                                       "remaining_ms", (json_int_t)lh_floor_ms(left)));
    char text[LH_DURATION_TEXT_BYTES];
    printf("%s  token %" PRId64 "  holder %s  for %s\n", lease->name, lease->token, lease->holder,
           lh_duration_text(left, text));
    return fflush(stdout) == 0 ? LH_EXIT_OK : LH_EXIT_FAILED;
}
