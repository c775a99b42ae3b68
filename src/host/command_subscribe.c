// SUBSCRIBE and what follows from it. A channel is `lease:NAME`; its messages are JSON on one line,
// numbered from 1 for each subscription, so that a client sees when it missed one. What must stay
// true: a channel is confirmed before its first message comes, even when that comes while it is
// being subscribed to.
#include "base/text.h"
#include "host/command.h"

// One command asks every member about each channel, and all of that must fit into one step.
#define CHANNELS_A_COMMAND 32
#define UNSUBSCRIBED_A_STEP 128
_Static_assert(CHANNELS_A_COMMAND *LH_MEMBERS_MAX <= LH_HOST_SENDS_MAX, "room to ask");

static const struct lh_slice channel_prefix = LH_SLICE_INIT("lease:");

// The name within a channel; empty if it is no channel of ours.
static struct lh_slice name_of_channel(struct lh_slice channel)
{
    if (!lh_slice_has_prefix(channel, channel_prefix))
        return (struct lh_slice){NULL, 0};
    return (struct lh_slice){channel.data + channel_prefix.size_bytes,
                             channel.size_bytes - channel_prefix.size_bytes};
}

static void write_confirmation(struct lh_writer *writer, const struct lh_session *session,
                               const char *what, struct lh_slice channel)
{
    lh_resp_write_push(writer, session->protocol, 3);
    lh_resp_write_text(writer, what);
    lh_resp_write_bulk(writer, channel);
    lh_resp_write_integer(writer, session->watch_count);
}

static void confirm(struct lh_session *session, uint32_t session_id,
                    struct lh_host_effects *effects)
{
    struct lh_writer reply = lh_reply_begin(effects);
    write_confirmation(&reply, session, "subscribe", session->confirming);
    lh_reply_end(effects, session_id, &reply);
    session->confirming = (struct lh_slice){NULL, 0};
}

// --- SUBSCRIBE ---

static bool takes_channel(struct lh_call *call, struct lh_slice channel)
{
    struct lh_slice name = name_of_channel(channel);
    if (name.size_bytes > 0)
        return lh_call_takes_name(call, name);
    lh_call_refuse(call, "ERR", "'%' is no channel: subscribe to lease:NAME, such as lease:backup",
                   LH_VALUES(channel));
    return false;
}

static bool may_watch_more(struct lh_call *call, size_t count)
{
    char most[LH_INTEGER_TEXT_BYTES];
    if (count > CHANNELS_A_COMMAND) {
        lh_u64_format(CHANNELS_A_COMMAND, most);
        lh_call_refuse(call, "ERR", "one SUBSCRIBE takes at most $ channels: send several",
                       LH_VALUES(lh_slice_of_string(most)));
        return false;
    }
    if (call->session->watch_count + count > LH_SESSION_WATCHES_MAX) {
        lh_u64_format(LH_SESSION_WATCHES_MAX, most);
        lh_call_refuse(call, "ERR", "a connection watches at most $ leases: open another for more",
                       LH_VALUES(lh_slice_of_string(most)));
        return false;
    }
    return true;
}

void lh_command_subscribe(struct lh_call *call)
{
    struct lh_session *session = call->session;
    if (!may_watch_more(call, call->word_count - 1))
        return;
    for (size_t i = 1; i < call->word_count; i++)
        if (!takes_channel(call, call->words[i]))
            return;
    for (size_t i = 1; i < call->word_count; i++) {
        session->confirming = call->words[i];
        bool watched = lh_watch_add(call->host, call->session_id, name_of_channel(call->words[i]),
                                    call->now, call->effects);
        if (watched && session->confirming.size_bytes > 0)
            confirm(session, call->session_id, call->effects);
        session->confirming = (struct lh_slice){NULL, 0};
        if (!watched)
            lh_call_refuse(call, "BUSY",
                           "this node cannot watch more leases: subscribe to '%' at another node",
                           LH_VALUES(call->words[i]));
    }
}

// --- UNSUBSCRIBE ---

// From everything: a thousand confirmations do not fit into one step.
void lh_command_unsubscribe_on(struct lh_host *host, uint32_t session_id,
                               struct lh_host_effects *effects)
{
    struct lh_session *session = &host->sessions.sessions[session_id];
    uint8_t channel[sizeof "lease:" - 1 + LH_NAME_MAX_BYTES];
    uint8_t *name_at = channel + channel_prefix.size_bytes;
    memcpy(channel, channel_prefix.data, channel_prefix.size_bytes);
    struct lh_writer reply = lh_reply_begin(effects);
    for (unsigned i = 0; i < UNSUBSCRIBED_A_STEP && session->watches != 0; i++) {
        const struct lh_watch *watch = lh_watch_get(&host->watches, session->watches);
        struct lh_slice name = lh_watch_name(host, watch, name_at);
        if (name.data != name_at)
            memcpy(name_at, name.data, name.size_bytes);
        bool removed = lh_watch_remove(host, session_id, lh_slice_of(name_at, name.size_bytes));
        LH_ASSERT(removed);
        write_confirmation(&reply, session, "unsubscribe",
                           lh_slice_of(channel, channel_prefix.size_bytes + name.size_bytes));
    }
    session->unsubscribing = session->watches != 0;
    lh_reply_end(effects, session_id, &reply);
}

static void write_nothing_left(struct lh_writer *writer, const struct lh_session *session,
                               const char *what)
{
    lh_resp_write_push(writer, session->protocol, 3);
    lh_resp_write_text(writer, what);
    lh_resp_write_null(writer, session->protocol);
    lh_resp_write_integer(writer, session->watch_count);
}

void lh_command_unsubscribe(struct lh_call *call)
{
    if (call->word_count == 1 && call->session->watch_count > 0) {
        lh_command_unsubscribe_on(call->host, call->session_id, call->effects);
        return;
    }
    struct lh_writer reply = lh_reply_begin(call->effects);
    if (call->word_count == 1)
        write_nothing_left(&reply, call->session, "unsubscribe");
    for (size_t i = 1; i < call->word_count; i++) {
        struct lh_slice name = name_of_channel(call->words[i]);
        if (name.size_bytes > 0 && name.size_bytes <= LH_NAME_MAX_BYTES)
            lh_watch_remove(call->host, call->session_id, name);
        write_confirmation(&reply, call->session, "unsubscribe", call->words[i]);
    }
    lh_reply_end(call->effects, call->session_id, &reply);
}

// --- patterns ---

void lh_command_psubscribe(struct lh_call *call)
{
    lh_call_refuse(
        call, "ERR",
        "patterns such as '%' cannot be watched, since no node knows all names: SUBSCRIBE "
        "lease:NAME for each lease, or poll LEASE LIST PREFIX",
        LH_VALUES(call->words[1]));
}

void lh_command_punsubscribe(struct lh_call *call)
{
    struct lh_writer reply = lh_reply_begin(call->effects);
    if (call->word_count == 1)
        write_nothing_left(&reply, call->session, "punsubscribe");
    for (size_t i = 1; i < call->word_count; i++)
        write_confirmation(&reply, call->session, "punsubscribe", call->words[i]);
    lh_reply_end(call->effects, call->session_id, &reply);
}

// --- messages ---

static const char *state_text(enum lh_status status)
{
    switch (status) {
    case LH_STATUS_HELD: return "held";
    case LH_STATUS_FREE: return "free";
    default: return "unknown";
    }
}

static void write_member(struct lh_writer *json, const char *key, uint64_t value)
{
    lh_writer_string(json, key);
    lh_u64_write(json, value);
}

static void write_payload(struct lh_writer *json, uint32_t sequence, struct lh_slice name,
                          const struct lh_result *result)
{
    write_member(json, "{\"seq\":", sequence);
    lh_writer_string(json, ",\"name\":");
    lh_json_string(json, name);
    lh_writer_string(json, ",\"state\":\"");
    lh_writer_string(json, state_text(result->status));
    write_member(json, "\",\"token\":", result->token);
    lh_writer_string(json, ",\"holder\":");
    lh_json_string(json, result->holder);
    write_member(json, ",\"node\":", result->node);
    write_member(json, ",\"remaining_ms\":", (uint64_t)lh_floor_ms(result->remaining));
    lh_writer_string(json, result->revoked ? ",\"revoked\":true}" : ",\"revoked\":false}");
}

void lh_session_publish(struct lh_host *host, struct lh_watch *watch,
                        const struct lh_result *result, struct lh_host_effects *effects)
{
    struct lh_session *session = &host->sessions.sessions[watch->session];
    uint8_t channel[sizeof "lease:" - 1 + LH_NAME_MAX_BYTES];
    uint8_t name_buffer[LH_NAME_MAX_BYTES];
    char payload[4096]; // an escaped byte is six, of 255 for the name and as many for the holder
    struct lh_slice name = lh_watch_name(host, watch, name_buffer);
    struct lh_writer text = lh_writer_of(channel, sizeof channel);
    struct lh_writer json = lh_writer_of(payload, sizeof payload);

    if (session->closing)
        return;
    if (!lh_reply_has_room_for_message(effects)) {
        watch->fresh = true;
        watch->sequence--;
        return;
    }
    if (session->confirming.size_bytes > 0)
        confirm(session, watch->session, effects);
    lh_writer_slice_bytes(&text, channel_prefix);
    lh_writer_slice_bytes(&text, name);
    write_payload(&json, watch->sequence, name, result);
    LH_ASSERT(!text.failed && !json.failed);
    struct lh_writer reply = lh_reply_begin(effects);
    lh_resp_write_push(&reply, session->protocol, 3);
    lh_resp_write_text(&reply, "message");
    lh_resp_write_bulk(&reply, lh_writer_slice(&text));
    lh_resp_write_bulk(&reply, lh_writer_slice(&json));
    lh_reply_end(effects, watch->session, &reply);
}
