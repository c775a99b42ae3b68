// See session.h.
#include "cli/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/output.h"
#include "os/clock.h"

#define PATIENCE_DEFAULT_NS (5 * LH_NS_PER_S)
#define PATIENCE_LEAST_NS (1 * LH_NS_PER_S) // of one that is cut to the wait

bool lh_cli_session_open(const char *command, const struct lh_common_options *common,
                         struct lh_channel **ret_client, int *ret_exit)
{
    struct lh_error error;
    if (lh_channel_open(common->connect, ret_client, &error))
        return true;
    fprintf(stderr, "leasehold %s: %s\n", command, error.text);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

void lh_session_export(const struct lh_common_options *common)
{
    if (common->connect != NULL)
        setenv("LEASEHOLD_CONNECT", common->connect, 1);
}

struct lh_duration lh_session_max_ttl(struct lh_channel *client)
{
    static const char *const words[] = {"CLUSTER", "STATUS"};
    struct lh_trouble trouble;
    int64_t max_ttl_ms;
    if (lh_channel_call(client, words, 2, (struct lh_duration){LH_NS_PER_S}, &trouble) &&
        lh_resp_as_integer(lh_resp_get(lh_channel_reply(client), "max-ttl-ms"), &max_ttl_ms) &&
        max_ttl_ms > 0 && max_ttl_ms < LH_WAIT_FOREVER.ns / LH_NS_PER_MS)
        return lh_ms(max_ttl_ms);
    return LH_WAIT_FOREVER;
}

struct lh_duration lh_session_patience(const struct lh_common_options *common,
                                       const struct lh_option_duration *wait)
{
    struct lh_duration patience = {PATIENCE_DEFAULT_NS};
    if (common->timeout.given)
        return common->timeout.value;
    if (wait != NULL && wait->given && wait->value.ns < patience.ns)
        patience.ns = wait->value.ns > PATIENCE_LEAST_NS ? wait->value.ns : PATIENCE_LEAST_NS;
    return patience;
}

bool lh_session_name(const char *command, const char *name, struct lh_holding *lease, int *ret_exit)
{
    struct lh_error error;
    if (lh_name_check(name, &error)) {
        snprintf(lease->name, sizeof lease->name, "%s", name);
        return true;
    }
    fprintf(stderr, "leasehold %s: %s\n", command, error.text);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

bool lh_session_holder(const char *command, const char *holder, struct lh_holding *lease,
                       int *ret_exit)
{
    if (holder == NULL) {
        lh_holder_make(lease->holder);
        return true;
    }
    struct lh_error error;
    if (lh_holder_check(holder, &error)) {
        snprintf(lease->holder, sizeof lease->holder, "%s", holder);
        return true;
    }
    lh_complain(command, "%s", error.text);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

bool lh_session_owner(const char *command, const char *holder, struct lh_holding *lease,
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

// --- what did not work ---

static json_t *number_or_null(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

void lh_session_failure(const char *command, const char *status, const char *name,
                        const struct lh_answer *holder, const char *reason)
{
    static const struct lh_answer nobody = {.token = 0};
    if (holder == NULL)
        holder = &nobody;
    bool knows = holder->token > 0 || holder->status == LH_ANSWER_LOST;
    lh_json_print(command,
                  json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "status", status, "name",
                            text_or_null(name), "token", number_or_null(holder->token), "holder",
                            text_or_null(holder->holder), "node", number_or_null(holder->node),
                            "free_in_ms", number_or_null(lh_ceil_ms(holder->free_in_ns)), "revoked",
                            knows ? json_boolean(holder->revoked) : json_null(), "reason",
                            text_or_null(reason)));
}

const char *lh_session_cause(enum lh_reach reach)
{
    switch (reach) {
    case LH_REACH_NOBODY:
    case LH_REACH_FORBIDDEN: return "no daemon";
    case LH_REACH_SILENCE:
    case LH_REACH_BROKEN:
    case LH_REACH_OWNER: return "no answer";
    case LH_REACH_ANSWER: break;
    }
    return "no quorum";
}

void lh_session_hint(const char *command, bool from_environment, enum lh_reach reach)
{
    if (reach == LH_REACH_FORBIDDEN)
        fprintf(stderr,
                "leasehold %s: the socket is for its owner and group (leaseholdd's socket-mode): "
                "become a member of its group, `leasehold` as installed, and log in anew\n",
                command);
    else if (reach == LH_REACH_NOBODY)
        fprintf(stderr, "leasehold %s: is leaseholdd running there? %s\n", command,
                from_environment ? "The endpoint is from LEASEHOLD_CONNECT"
                                 : "Name others with --connect or LEASEHOLD_CONNECT");
    else if (reach == LH_REACH_OWNER)
        fprintf(
            stderr,
            "leasehold %s: only that node can renew, release or revoke it: if it stays away the "
            "lease ends by itself\n",
            command);
}

static int no_quorum(const char *command, const struct lh_channel *client,
                     const struct lh_trouble *trouble, const char *name, bool json)
{
    fprintf(stderr, "leasehold %s: %s: %s\n", command, lh_session_cause(trouble->reach),
            trouble->error.text);
    lh_session_hint(command, lh_channel_from_environment(client), trouble->reach);
    if (json)
        lh_session_failure(command, "noquorum", name, NULL, trouble->error.text);
    return LH_EXIT_NO_QUORUM;
}

static int refused(const char *command, const char *name, const char *why, bool json)
{
    if (name != NULL)
        fprintf(stderr, "leasehold %s: '%s' was refused: %s\n", command, name, why);
    else
        fprintf(stderr, "leasehold %s: refused: %s\n", command, why);
    if (json)
        lh_session_failure(command, "refused", name, NULL, why);
    return LH_EXIT_USAGE;
}

static int lease_failed(const char *command, const struct lh_errand *call,
                        enum lh_errand_result result, bool json)
{
    char text[LH_HELD_TEXT_BYTES];
    const char *name = call->holding->name;
    const struct lh_answer *answer = &call->answer;
    switch (result) {
    case LH_ERRAND_HELD:
        fprintf(stderr, "leasehold %s: '%s' was not acquired: %s\n", command, name,
                lh_held_text(answer, text));
        if (json)
            lh_session_failure(command, "held", name, answer, answer->reason);
        return LH_EXIT_NOT_ACQUIRED;
    case LH_ERRAND_LOST:
        fprintf(stderr, "leasehold %s: '%s' %s under token %" PRId64 " by '%s'%s%s\n", command,
                name, answer->revoked ? "is not renewed" : "is not held", call->holding->token,
                call->holding->holder, answer->reason[0] != '\0' ? ": " : "", answer->reason);
        if (json)
            lh_session_failure(command, "lost", name, answer, answer->reason);
        return LH_EXIT_LOST;
    case LH_ERRAND_REFUSED: return refused(command, name, call->trouble.error.text, json);
    default: return no_quorum(command, call->client, &call->trouble, name, json);
    }
}

// --- one request ---

bool lh_session_call(const char *command, struct lh_channel *client,
                     const struct lh_common_options *common, const char *name,
                     const char *const *words, size_t count, const struct lh_resp_value **ret_reply,
                     int *ret_exit)
{
    struct lh_trouble trouble;
    // A tenth more than a node has: it is the node that says "no quorum".
    struct lh_duration patience = lh_session_patience(common, NULL);
    patience.ns += patience.ns / 10;
    if (!lh_channel_call(client, words, count, patience, &trouble)) {
        *ret_exit = no_quorum(command, client, &trouble, name, common->json);
        return false;
    }
    const struct lh_resp_value *reply = lh_channel_reply(client);
    struct lh_answer answer;
    lh_answer_read(reply, name != NULL ? name : "", &answer);
    if (lh_resp_is(reply, LH_RESP_ERROR)) {
        *ret_exit = refused(command, name, answer.reason, common->json);
        return false;
    }
    *ret_reply = reply;
    return true;
}

int lh_session_ask(const struct lh_syntax *syntax, const struct lh_common_options *common, int argc,
                   char **argv, const char *verb,
                   int (*print)(const struct lh_resp_value *reply, const char *name, bool json))
{
    struct lh_parsed parsed;
    struct lh_holding lease = {.token = 0};
    struct lh_channel *client;
    const struct lh_resp_value *reply;
    int exit_code;
    if (!lh_options_parse(syntax, argc, argv, &parsed, &exit_code) ||
        !lh_session_name(syntax->command, parsed.positionals[0], &lease, &exit_code) ||
        !lh_cli_session_open(syntax->command, common, &client, &exit_code))
        return exit_code;
    // Each endpoint has its share of the time.
    char timeout[32];
    snprintf(timeout, sizeof timeout, "%" PRId64 "ms",
             lh_session_patience(common, NULL).ns / LH_NS_PER_MS /
                     (int64_t)lh_channel_endpoint_count(client) +
                 1);
    const char *words[] = {"LEASE", verb, lease.name, "TIMEOUT", timeout};
    if (lh_session_call(syntax->command, client, common, lease.name, words, 5, &reply, &exit_code))
        exit_code = print(reply, lease.name, common->json);
    lh_channel_close(client);
    return exit_code;
}

// --- a lease ---

static int print_granted(const char *command, const struct lh_holding *lease, bool json)
{
    struct lh_duration left = lh_left(lh_clock_now(), lease->deadline);
    if (json)
        return lh_json_print(command,
                             json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I}", "status", "granted",
                                       "name", lease->name, "token", (json_int_t)lease->token,
                                       "holder", lease->holder, "node", (json_int_t)lease->node,
                                       "ttl_ms", (json_int_t)lh_floor_ms(lease->ttl),
                                       "remaining_ms", (json_int_t)lh_floor_ms(left)));
    char text[LH_DURATION_TEXT_BYTES];
    printf("%s  token %" PRId64 "  holder %s  for %s\n", lease->name, lease->token, lease->holder,
           lh_duration_text(left, text));
    return lh_output_end(command);
}

static int print_released(const char *command, const struct lh_holding *lease, bool json)
{
    if (json)
        return lh_json_print(command, json_pack("{s:s, s:s, s:I}", "status", "released", "name",
                                                lease->name, "token", (json_int_t)lease->token));
    printf("%s  released\n", lease->name);
    return lh_output_end(command);
}

bool lh_session_waited(const struct lh_errand *errand, struct lh_waited *waited)
{
    char held[LH_HELD_TEXT_BYTES];
    char left[LH_DURATION_TEXT_BYTES];
    bool tries = !waited->told_trouble && lh_errand_tries_on(errand);
    bool waits = !waited->told_holder && lh_errand_waits(errand);
    if ((!tries && !waits) || !isatty(STDERR_FILENO))
        return false;
    struct lh_instant now = lh_clock_now();
    if (tries) {
        waited->told_trouble = true;
        snprintf(waited->text, sizeof waited->text, "is not acquired yet: %s: %s; trying for %s",
                 lh_session_cause(errand->trouble.reach), errand->trouble.error.text,
                 lh_duration_text_up(lh_left(now, errand->give_up_at), left));
        return true;
    }
    waited->told_holder = true;
    int used = snprintf(waited->text, sizeof waited->text, "is waited for: %s",
                        lh_held_text(&errand->answer, held));
    if (lh_before(errand->wait_until, LH_NEVER))
        snprintf(waited->text + used, sizeof waited->text - (size_t)used, "; waiting for %s",
                 lh_duration_text_up(lh_left(now, errand->wait_until), left));
    return true;
}

static enum lh_errand_result finish(const char *command, struct lh_errand *call)
{
    struct lh_waited waited = {.told_holder = false};
    enum lh_errand_result result;
    while ((result = lh_errand_advance(call)) == LH_ERRAND_BUSY) {
        if (lh_session_waited(call, &waited))
            lh_complain(command, "'%s' %s", call->holding->name, waited.text);
        lh_errand_await(call);
    }
    return result;
}

// Who has it already keeps it for the TTL that it has: to ask again changes nothing.
static void tell_other_ttl(const char *command, const struct lh_errand *call)
{
    char asked[LH_DURATION_TEXT_BYTES];
    char granted[LH_DURATION_TEXT_BYTES];
    if (call->verb == LH_ERRAND_ACQUIRE && call->ttl.ns > 0 &&
        call->ttl.ns != call->holding->ttl.ns)
        lh_complain(command, "'%s' is held already with a TTL of %s, not %s: renew it for another",
                    call->holding->name, lh_duration_text(call->holding->ttl, granted),
                    lh_duration_text(call->ttl, asked));
}

int lh_session_finish(const char *command, struct lh_errand *call,
                      const struct lh_common_options *common)
{
    int exit_code;
    enum lh_errand_result result = finish(command, call);
    if (result == LH_ERRAND_GRANTED) {
        exit_code = print_granted(command, call->holding, common->json);
        tell_other_ttl(command, call);
        if (exit_code != LH_EXIT_OK && call->verb == LH_ERRAND_ACQUIRE) {
            lh_errand_release(call, call->client, call->holding, lh_session_patience(common, NULL));
            bool released = lh_errand_finish(call) == LH_ERRAND_RELEASED;
            fprintf(stderr, "leasehold %s: '%s' %s\n", command, call->holding->name,
                    released ? "is released again" : "could not be released: it ends by itself");
        }
    } else if (result == LH_ERRAND_RELEASED) {
        exit_code = print_released(command, call->holding, common->json);
    } else {
        exit_code = lease_failed(command, call, result, common->json);
    }
    lh_channel_close(call->client);
    return exit_code;
}
