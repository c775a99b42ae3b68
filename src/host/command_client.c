// CLIENT: what a connection is called, and which connections there are. Names are kept short and
// printable, so that the lines of LIST can be taken apart at their spaces whatever clients call
// themselves. LIST is one string in one reply: lines that do not fit are left out.
#include "base/text.h"
#include "host/command.h"

#define LINE_BYTES_MAX 512

// As in Redis: '!' to '~'.
static bool is_plain(struct lh_slice text)
{
    for (size_t i = 0; i < text.size_bytes; i++)
        if (text.data[i] < '!' || text.data[i] > '~')
            return false;
    return true;
}

// Keeps `text` in `field`, which has most_bytes bytes; `what` begins the refusal.
static bool keep(struct lh_call *call, const char *what, struct lh_slice text, uint8_t *field,
                 size_t most_bytes, uint8_t *field_size)
{
    char most[LH_INTEGER_TEXT_BYTES];
    lh_u64_format(most_bytes, most);
    if (!is_plain(text)) {
        lh_call_refuse(call, "ERR", "$ cannot contain spaces, newlines or special characters: '%'",
                       LH_VALUES(lh_slice_of_string(what), text));
        return false;
    }
    if (text.size_bytes > most_bytes) {
        lh_call_refuse(call, "ERR", "$ have at most $ bytes here: '%' is longer",
                       LH_VALUES(lh_slice_of_string(what), lh_slice_of_string(most), text));
        return false;
    }
    if (text.size_bytes > 0)
        memcpy(field, text.data, text.size_bytes);
    *field_size = (uint8_t)text.size_bytes;
    return true;
}

bool lh_call_takes_client_name(struct lh_call *call, struct lh_slice name)
{
    struct lh_session *session = call->session;
    return keep(call, "Client names", name, session->name, sizeof session->name,
                &session->name_size);
}

void lh_command_client_setname(struct lh_call *call)
{
    if (lh_call_takes_client_name(call, call->words[2]))
        lh_call_ok(call);
}

void lh_command_client_getname(struct lh_call *call)
{
    const struct lh_session *session = call->session;
    struct lh_writer reply = lh_reply_begin(call->effects);
    if (session->name_size == 0)
        lh_resp_write_null(&reply, session->protocol);
    else
        lh_resp_write_bulk(&reply, lh_slice_of(session->name, session->name_size));
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_client_setinfo(struct lh_call *call)
{
    struct lh_session *session = call->session;
    struct lh_slice attribute = call->words[2];
    bool kept = false;
    if (lh_slice_equal_ignoring_case(attribute, LH_SLICE("LIB-NAME")))
        kept = keep(call, "lib-name", call->words[3], session->library, sizeof session->library,
                    &session->library_size);
    else if (lh_slice_equal_ignoring_case(attribute, LH_SLICE("LIB-VER")))
        kept = keep(call, "lib-ver", call->words[3], session->library_version,
                    sizeof session->library_version, &session->library_version_size);
    else
        lh_call_refuse(call, "ERR", "Unrecognized option '%': it is LIB-NAME or LIB-VER",
                       LH_VALUES(attribute));
    if (kept)
        lh_call_ok(call);
}

void lh_command_client_id(struct lh_call *call)
{
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_integer(&reply, (int64_t)call->session->number);
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_client_flag(struct lh_call *call)
{
    if (lh_slice_equal_ignoring_case(call->words[2], LH_SLICE("ON")) ||
        lh_slice_equal_ignoring_case(call->words[2], LH_SLICE("OFF")))
        lh_call_ok(call);
    else
        lh_call_refuse(call, "ERR", "syntax error: '%' is neither on nor off",
                       LH_VALUES(call->words[2]));
}

// --- INFO and LIST ---

static void write_field(struct lh_writer *line, const char *key, uint64_t value)
{
    lh_writer_string(line, key);
    lh_u64_write(line, value);
}

static void write_field_bytes(struct lh_writer *line, const char *key, const uint8_t *bytes,
                              size_t size_bytes)
{
    lh_writer_string(line, key);
    lh_writer_bytes(line, bytes, size_bytes);
}

// The fields of Redis that mean something here. flags: b waits for an answer, P watches, N neither.
static void write_line(struct lh_writer *line, const struct lh_session *session)
{
    write_field(line, "id=", session->number);
    write_field_bytes(line, " name=", session->name, session->name_size);
    lh_writer_string(line, " flags=");
    lh_writer_string(line, session->request != 0 ? "b" : session->watch_count > 0 ? "P" : "N");
    lh_writer_string(line, " db=0");
    write_field(line, " sub=", session->watch_count);
    lh_writer_string(line, " psub=0");
    write_field(line, " qbuf=", session->input_used);
    write_field(line, " resp=", session->protocol);
    write_field_bytes(line, " lib-name=", session->library, session->library_size);
    write_field_bytes(line, " lib-ver=", session->library_version, session->library_version_size);
    lh_writer_u8(line, '\n');
}

void lh_command_client_info(struct lh_call *call)
{
    char bytes[LINE_BYTES_MAX];
    struct lh_writer line = lh_writer_of(bytes, sizeof bytes);
    write_line(&line, call->session);
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_verbatim(&reply, call->session->protocol, lh_writer_slice(&line));
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_client_list(struct lh_call *call)
{
    const struct lh_sessions *sessions = &call->host->sessions;
    struct lh_writer reply = lh_reply_begin(call->effects);
    struct lh_writer lines = lh_reply_scratch(&reply);
    for (uint32_t i = 0; i < call->host->config.max_clients; i++) {
        struct lh_writer before = lines;
        if (!sessions->sessions[i].open)
            continue;
        write_line(&lines, &sessions->sessions[i]);
        if (lines.failed) {
            lines = before;
            break;
        }
    }
    lh_resp_write_verbatim(&reply, call->session->protocol, lh_writer_slice(&lines));
    lh_reply_end(call->effects, call->session_id, &reply);
}
