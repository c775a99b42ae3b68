// Client sessions: see session.h. Bytes wait in `input` from input_start on; the parser holds
// offsets from there, so they may be moved to the front when room is needed.
#include "host/session.h"

#include "base/text.h"
#include "host/command.h"

static struct lh_session *session_of(struct lh_host *host, uint32_t session)
{
    LH_ASSERT_LT(session, host->config.max_clients);
    return &host->sessions.sessions[session];
}

void lh_session_open(struct lh_host *host, uint32_t session_id, bool local)
{
    struct lh_session *session = session_of(host, session_id);
    LH_ASSERT(!session->open);
    // The rest is written before it is read.
    memset(session, 0, offsetof(struct lh_session, parser));
    lh_resp_request_parser_init(&session->parser, LH_SESSION_INPUT_BYTES);
    session->open = true;
    session->local = local;
    session->protocol = LH_RESP2;
    session->number = ++host->sessions.opened;
    host->sessions.count_open++;
}

void lh_session_close(struct lh_host *host, uint32_t session_id, bool ended, struct lh_instant now,
                      struct lh_host_effects *effects)
{
    struct lh_session *session = session_of(host, session_id);
    if (!session->open)
        return;
    if (session->request != 0)
        lh_request_cancel(host, lh_request_get(host, session->request), now, effects);
    lh_tenant_session_ended(host, session_id, ended);
    lh_watch_remove_all(host, session_id);
    session->request = 0;
    session->open = false;
    host->sessions.count_open--;
}

static void take_in(struct lh_session *session, struct lh_slice bytes)
{
    LH_ASSERT_LE(bytes.size_bytes, LH_SESSION_INPUT_BYTES - session->input_used);
    if (session->input_used == 0)
        session->input_start = 0;
    uint32_t end = session->input_start + session->input_used;
    if (bytes.size_bytes > LH_SESSION_INPUT_BYTES - end) {
        memmove(session->input, session->input + session->input_start, session->input_used);
        session->input_start = 0;
        end = session->input_used;
    }
    if (bytes.size_bytes > 0)
        memcpy(session->input + end, bytes.data, bytes.size_bytes);
    session->input_used += (uint32_t)bytes.size_bytes;
}

static void end_for_malformed(struct lh_host *host, uint32_t session_id,
                              struct lh_host_effects *effects)
{
    struct lh_session *session = session_of(host, session_id);
    char line[256];
    struct lh_writer text = lh_writer_of(line, sizeof line);
    lh_writer_string(&text, "ERR Protocol error: ");
    lh_writer_string(&text, session->parser.reason);
    lh_writer_string(&text, " (a request has at most ");
    lh_u64_write(&text, LH_SESSION_INPUT_BYTES);
    lh_writer_string(&text, " bytes in at most ");
    lh_u64_write(&text, LH_RESP_ARGS_MAX);
    lh_writer_string(&text, " arguments); the connection ends");
    struct lh_writer reply = lh_reply_begin(effects);
    lh_resp_write_error(&reply, lh_writer_slice(&text));
    lh_reply_end(effects, session_id, &reply);
    lh_reply_close(effects, session_id);
    session->closing = true;
    host->sessions.malformed++;
}

// The next request that has words. False if there is none (yet).
static bool next_request(struct lh_host *host, uint32_t session_id, struct lh_host_effects *effects,
                         struct lh_resp_request *ret_request)
{
    struct lh_session *session = session_of(host, session_id);
    for (;;) {
        switch (lh_resp_request_parse(&session->parser, session->input + session->input_start,
                                      session->input_used, ret_request)) {
        case LH_RESP_NEED_MORE: return false;
        case LH_RESP_MALFORMED: end_for_malformed(host, session_id, effects); return false;
        case LH_RESP_COMPLETE: break;
        }
        session->input_start += (uint32_t)ret_request->consumed_bytes;
        session->input_used -= (uint32_t)ret_request->consumed_bytes;
        if (ret_request->arg_count > 0)
            return true;
    }
}

static bool more_waits(const struct lh_session *session)
{
    return !session->closing && session->request == 0 &&
           (session->input_used > 0 || session->unsubscribing);
}

void lh_session_bytes(struct lh_host *host, uint32_t session_id, struct lh_slice bytes,
                      struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_session *session = session_of(host, session_id);
    struct lh_resp_request request;
    if (!session->open || session->closing)
        return;
    take_in(session, bytes);
    if (session->unsubscribing) {
        lh_command_unsubscribe_on(host, session_id, effects);
        effects->again = more_waits(session);
        return;
    }
    if (session->request != 0 || !next_request(host, session_id, effects, &request))
        return;
    struct lh_call call = {
        .host = host,
        .session = session,
        .session_id = session_id,
        .now = now,
        .effects = effects,
        .words = request.args,
        .word_count = request.arg_count,
    };
    host->sessions.commands++;
    session->handling = true;
    lh_command_run(&call);
    session->handling = false;
    effects->again = more_waits(session);
}

void lh_session_answer(struct lh_host *host, const struct lh_request *request,
                       const struct lh_result *result, struct lh_host_effects *effects)
{
    struct lh_session *session = session_of(host, request->session);
    LH_ASSERT_EQ(session->request, request->id);
    session->request = 0;
    struct lh_writer reply = lh_reply_begin(effects);
    lh_lease_write_result(&reply, session->protocol, host, request, result);
    lh_reply_end(effects, request->session, &reply);
}
