// See watch_line.h.
#include "cli/watch_line.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIME_TEXT_BYTES 40
#define NUMBER_TEXT_BYTES 24
#define REMAINING_UNKNOWN (-1)

// --- reading a message ---

static int64_t number_of(const json_t *json, const char *key)
{
    int64_t number = json_integer_value(json_object_get(json, key));
    return number > 0 ? number : 0;
}

// A text that the daemon would not have let anybody choose is no text.
static bool take_text(const json_t *json, const char *key, char *ret, size_t room)
{
    const char *text = json_string_value(json_object_get(json, key));
    if (text == NULL || strlen(text) >= room ||
        (text[0] != '\0' && !lh_utf8_name_valid(lh_slice_of_string(text))))
        return false;
    strcpy(ret, text);
    return true;
}

static bool take_state(const json_t *json, struct lh_watch_message *message)
{
    const char *state = json_string_value(json_object_get(json, "state"));
    if (state == NULL)
        return false;
    message->unknown = strcmp(state, "unknown") == 0;
    if (message->unknown)
        return true;
    message->state.kind = strcmp(state, "held") == 0 ? LH_WATCHED_HELD : LH_WATCHED_FREE;
    if (message->state.kind == LH_WATCHED_FREE)
        return strcmp(state, "free") == 0;
    message->state.token = number_of(json, "token");
    message->state.node = number_of(json, "node");
    message->state.revoked = json_is_true(json_object_get(json, "revoked"));
    return take_text(json, "holder", message->state.holder, sizeof message->state.holder);
}

bool lh_watch_message_read(struct lh_slice text, struct lh_watch_message *ret_message)
{
    struct lh_watch_message message = {.sequence = 0};
    json_t *json =
        json_loadb((const char *)text.data, text.size_bytes, JSON_REJECT_DUPLICATES, NULL);
    message.sequence = number_of(json, "seq");
    message.remaining_ms = number_of(json, "remaining_ms");
    bool good = message.sequence > 0 &&
                take_text(json, "name", message.name, sizeof message.name) &&
                take_state(json, &message);
    json_decref(json);
    if (good)
        *ret_message = message;
    return good;
}

// --- what it comes to ---

// Whether they are the same lease; an owner that did not say its token is known by its node.
static bool same_state(const struct lh_watch_state *before, const struct lh_watch_state *now)
{
    if (before->kind != now->kind || now->kind == LH_WATCHED_FREE)
        return before->kind == now->kind;
    if (before->token == 0 || now->token == 0)
        return before->node == now->node;
    return before->token == now->token;
}

static enum lh_watch_event event_of(const struct lh_watch_state *before,
                                    const struct lh_watch_state *now)
{
    if (before->kind == LH_WATCHED_NEVER)
        return LH_WATCH_PRESENT;
    if (same_state(before, now))
        return now->revoked && !before->revoked ? LH_WATCH_REVOKED : LH_WATCH_PRESENT;
    if (now->kind == LH_WATCHED_FREE)
        return LH_WATCH_LOST;
    return before->kind == LH_WATCHED_FREE ? LH_WATCH_GAINED : LH_WATCH_CHANGED;
}

void lh_watch_take(struct lh_watched *watched, unsigned connection,
                   const struct lh_watch_message *message, int64_t now_ns,
                   struct lh_watch_line *ret_line)
{
    int64_t last = watched->connection == connection ? watched->sequence : 0;
    struct lh_watch_line line = {
        .event = LH_WATCH_UNKNOWN,
        .name = watched->name,
        .previous = watched->state,
        .missed = message->sequence > last ? message->sequence - last - 1 : 0,
        .at_ns = now_ns,
    };
    bool told_unknown = watched->unknown;
    watched->connection = connection;
    watched->sequence = message->sequence;
    watched->unknown = message->unknown;
    line.news = message->unknown != told_unknown;
    if (!message->unknown) {
        line.event = event_of(&watched->state, &message->state);
        line.state = message->state;
        if (line.event == LH_WATCH_PRESENT && line.state.token == 0 && line.previous.token != 0)
            line.state = line.previous;
        line.news = line.news || line.previous.kind != line.state.kind ||
                    line.previous.token != line.state.token || line.event == LH_WATCH_REVOKED;
        line.remaining_ms = message->state.token > 0 ? message->remaining_ms : REMAINING_UNKNOWN;
        watched->state = line.state;
    }
    *ret_line = line;
}

// --- telling it ---

static const char *const event_names[] = {
    [LH_WATCH_PRESENT] = "present", [LH_WATCH_GAINED] = "gained",   [LH_WATCH_LOST] = "lost",
    [LH_WATCH_CHANGED] = "changed", [LH_WATCH_REVOKED] = "revoked", [LH_WATCH_UNKNOWN] = "unknown",
};

static const char *state_name(const struct lh_watch_line *line)
{
    if (line->event == LH_WATCH_UNKNOWN)
        return "unknown";
    return line->state.kind == LH_WATCHED_HELD ? "held" : "free";
}

static const char *time_text(int64_t at_ns, char ret[TIME_TEXT_BYTES])
{
    time_t seconds = at_ns / LH_NS_PER_S;
    struct tm date;
    gmtime_r(&seconds, &date);
    size_t used = strftime(ret, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &date);
    snprintf(ret + used, TIME_TEXT_BYTES - used, ".%03dZ",
             (int)(at_ns % LH_NS_PER_S / LH_NS_PER_MS));
    return ret;
}

static void print_owner(const struct lh_watch_state *state)
{
    if (state->token > 0)
        printf("  token %" PRId64, state->token);
    if (state->node > 0)
        printf("  node %" PRId64, state->node);
    if (state->holder[0] != '\0')
        printf("  %s", state->holder);
}

static void print_text(const struct lh_watch_line *line)
{
    char time[TIME_TEXT_BYTES];
    bool present = line->event == LH_WATCH_PRESENT;
    printf("%s  %-7s  %s", time_text(line->at_ns, time),
           present ? state_name(line) : event_names[line->event], line->name);
    print_owner(line->event == LH_WATCH_LOST ? &line->previous : &line->state);
    if (line->state.revoked && line->event != LH_WATCH_REVOKED)
        printf("  revoked");
    if (line->event == LH_WATCH_CHANGED) {
        printf("  before:");
        print_owner(&line->previous);
    }
    printf("\n");
}

static json_t *number_json(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *text_json(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static void print_json(const struct lh_watch_line *line)
{
    char time[TIME_TEXT_BYTES];
    bool left_known =
        line->state.kind == LH_WATCHED_HELD && line->remaining_ms != REMAINING_UNKNOWN;
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "time",
        time_text(line->at_ns, time), "event", event_names[line->event], "name", line->name,
        "state", state_name(line), "token", number_json(line->state.token), "holder",
        text_json(line->state.holder), "node", number_json(line->state.node), "remaining_ms",
        left_known ? json_integer(line->remaining_ms) : json_null(), "revoked",
        line->state.token > 0 ? json_boolean(line->state.revoked) : json_null(), "previous_token",
        number_json(line->previous.token), "previous_holder", text_json(line->previous.holder),
        "previous_node", number_json(line->previous.node), "missed", (json_int_t)line->missed);
    if (json != NULL)
        json_dumpf(json, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(json);
    printf("\n");
}

void lh_watch_line_print(const struct lh_watch_line *line, bool json)
{
    if (json)
        print_json(line);
    else
        print_text(line);
    fflush(stdout);
}

static void export_number(const char *variable, int64_t number)
{
    char text[NUMBER_TEXT_BYTES] = "";
    if (number > 0)
        snprintf(text, sizeof text, "%" PRId64, number);
    setenv(variable, text, 1);
}

void lh_watch_line_export(const struct lh_watch_line *line)
{
    char time[TIME_TEXT_BYTES];
    setenv("LEASEHOLD_EVENT", event_names[line->event], 1);
    setenv("LEASEHOLD_TIME", time_text(line->at_ns, time), 1);
    setenv("LEASEHOLD_NAME", line->name, 1);
    setenv("LEASEHOLD_STATE", state_name(line), 1);
    export_number("LEASEHOLD_TOKEN", line->state.token);
    export_number("LEASEHOLD_NODE", line->state.node);
    setenv("LEASEHOLD_HOLDER", line->state.holder, 1);
    setenv("LEASEHOLD_REVOKED", line->state.revoked ? "1" : "", 1);
    export_number("LEASEHOLD_PREVIOUS_TOKEN", line->previous.token);
    export_number("LEASEHOLD_PREVIOUS_NODE", line->previous.node);
    setenv("LEASEHOLD_PREVIOUS_HOLDER", line->previous.holder, 1);
}
