// What clients say about the connection itself, most of it unasked: HELLO AUTH PING ECHO QUIT RESET
// SELECT. The words, errors and replies are those of Redis, because client libraries look for them;
// where Redis has something that is not here (passwords, databases) the answer is the one it gives
// when that is not in use.
#include "base/text.h"
#include "host/command.h"

static const struct lh_slice default_user = LH_SLICE_INIT("default");

// As Redis without a password: its default user takes any, and there is no other user.
static bool takes_user(struct lh_call *call, struct lh_slice user)
{
    if (lh_slice_equal(user, default_user))
        return true;
    lh_call_refuse(
        call, "WRONGPASS",
        "invalid username-password pair or user is disabled. There are no users here but "
        "'default': the permissions of the socket say who may connect",
        NULL);
    return false;
}

// --- HELLO ---

struct hello {
    enum lh_resp_protocol protocol;
    bool has_name;
    struct lh_slice name;
};

static bool takes_version(struct lh_call *call, struct lh_slice word, struct hello *hello)
{
    uint64_t version;
    if (!lh_u64_parse(word, &version)) {
        lh_call_refuse(call, "ERR", "Protocol version is not an integer or out of range: '%'",
                       LH_VALUES(word));
        return false;
    }
    if (version != LH_RESP2 && version != LH_RESP3) {
        lh_call_refuse(call, "NOPROTO", "unsupported protocol version '%': 2 and 3 are spoken here",
                       LH_VALUES(word));
        return false;
    }
    hello->protocol = (enum lh_resp_protocol)version;
    return true;
}

// The options behind the version: each is checked before any of them has an effect.
static bool takes_hello_options(struct lh_call *call, struct hello *hello)
{
    for (size_t i = 2; i < call->word_count;) {
        size_t left = call->word_count - i;
        if (lh_slice_equal_ignoring_case(call->words[i], LH_SLICE("AUTH")) && left >= 3) {
            if (!takes_user(call, call->words[i + 1]))
                return false;
            i += 3;
        } else if (lh_slice_equal_ignoring_case(call->words[i], LH_SLICE("SETNAME")) && left >= 2) {
            hello->has_name = true;
            hello->name = call->words[i + 1];
            i += 2;
        } else {
            lh_call_refuse(call, "ERR", "Syntax error in HELLO option '%': it takes $",
                           LH_VALUES(call->words[i], lh_slice_of_string(call->command->arguments)));
            return false;
        }
    }
    return true;
}

void lh_command_hello(struct lh_call *call)
{
    struct lh_session *session = call->session;
    struct hello hello = {.protocol = session->protocol};
    if (call->word_count > 1 && !takes_version(call, call->words[1], &hello))
        return;
    if (!takes_hello_options(call, &hello))
        return;
    if (hello.has_name && !lh_call_takes_client_name(call, hello.name))
        return;
    session->protocol = hello.protocol;
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_map(&reply, session->protocol, 7);
    lh_resp_write_text(&reply, "server");
    lh_resp_write_text(&reply, "leasehold");
    lh_resp_write_text(&reply, "version");
    lh_resp_write_bulk(&reply, call->host->config.version);
    lh_resp_write_text(&reply, "proto");
    lh_resp_write_integer(&reply, session->protocol);
    lh_resp_write_text(&reply, "id");
    lh_resp_write_integer(&reply, (int64_t)session->number);
    lh_resp_write_text(&reply, "mode");
    lh_resp_write_text(&reply, "standalone"); // "cluster" would make clients ask for hash slots
    lh_resp_write_text(&reply, "role");
    lh_resp_write_text(&reply, "master"); // any node takes any command
    lh_resp_write_text(&reply, "modules");
    lh_resp_write_array(&reply, 0);
    lh_reply_end(call->effects, call->session_id, &reply);
}

// --- the others ---

void lh_command_auth(struct lh_call *call)
{
    if (call->word_count == 2)
        lh_call_refuse(
            call, "ERR",
            "AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?",
            NULL);
    else if (call->word_count > 3)
        lh_call_refuse(call, "ERR", "syntax error: AUTH takes $",
                       LH_VALUES(lh_slice_of_string(call->command->arguments)));
    else if (takes_user(call, call->words[1]))
        lh_call_ok(call);
}

// A RESP2 session that watches gets its PONG in the form of a message, as its reader expects.
void lh_command_ping(struct lh_call *call)
{
    const struct lh_session *session = call->session;
    struct lh_slice message = call->word_count > 1 ? call->words[1] : (struct lh_slice){NULL, 0};
    if (call->word_count > 2) {
        lh_call_refuse(call, "ERR", "wrong number of arguments for 'ping' command", NULL);
        return;
    }
    struct lh_writer reply = lh_reply_begin(call->effects);
    if (session->protocol == LH_RESP2 && session->watch_count > 0) {
        lh_resp_write_array(&reply, 2);
        lh_resp_write_text(&reply, "pong");
        lh_resp_write_bulk(&reply, message);
    } else if (call->word_count > 1) {
        lh_resp_write_bulk(&reply, message);
    } else {
        lh_resp_write_simple(&reply, LH_SLICE("PONG"));
    }
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_echo(struct lh_call *call)
{
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_bulk(&reply, call->words[1]);
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_quit(struct lh_call *call)
{
    lh_call_ok(call);
    lh_reply_close(call->effects, call->session_id);
    call->session->closing = true;
}

void lh_command_reset(struct lh_call *call)
{
    lh_watch_remove_all(call->host, call->session_id);
    call->session->protocol = LH_RESP2;
    call->session->name_size = 0;
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_simple(&reply, LH_SLICE("RESET"));
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_select(struct lh_call *call)
{
    uint64_t index;
    if (!lh_u64_parse(call->words[1], &index))
        lh_call_refuse(call, "ERR", "invalid DB index '%': only 0 is there",
                       LH_VALUES(call->words[1]));
    else if (index != 0)
        lh_call_refuse(call, "ERR", "DB index is out of range: '%'; only 0 is there",
                       LH_VALUES(call->words[1]));
    else
        lh_call_ok(call);
}
