// Client sessions: RESP bytes in, requests out; results in, RESP bytes out. A session works on one
// command at a time, so a pipelining client gets its answers in order; what it sent ahead waits in
// a small buffer, and a client that sends more than that is not read from until its command is
// answered.
//
// What must stay true: everything a client sends is a stranger's. It is checked here, whole, before
// a request is made of it, and what cannot be served is refused in words that name the value and
// the remedy. A request is answered once; a session that is closing handles nothing more.
#ifndef LH_HOST_SESSION_H
#define LH_HOST_SESSION_H

#include "base/resp_request.h"
#include "base/resp_writer.h"
#include "host/request.h"
#include "host/watch.h"

#define LH_SESSION_INPUT_BYTES 4096 // the longest request
#define LH_SESSION_NAME_BYTES_MAX 64
#define LH_SESSION_LIBRARY_BYTES_MAX 48
#define LH_SESSION_WATCHES_MAX 1024 // a session's; more leases are watched over more connections

struct lh_session {
    bool open;
    bool closing;
    bool local;         // the end of this connection proves that its client has ended
    bool handling;      // a command of it is being carried out
    bool backlogged;    // its client does not read what it is sent
    bool unsubscribing; // from everything, a portion a step
    enum lh_resp_protocol protocol;
    uint32_t request;                 // pending, 0 = none
    uint32_t input_start, input_used; // bytes of `input` not yet handled: where, how many
    uint64_t number;                  // CLIENT ID
    uint32_t bonds;                   // first lease that is to end with it
    uint32_t watches;                 // head of its list in watch.h
    uint32_t watch_count;             // more than 0 in RESP2: only the commands of a subscriber
    struct lh_slice confirming;       // SUBSCRIBE: the channel to confirm before its first message
    uint8_t name_size, library_size, library_version_size;
    uint8_t name[LH_SESSION_NAME_BYTES_MAX];               // CLIENT SETNAME
    uint8_t library[LH_SESSION_LIBRARY_BYTES_MAX];         // CLIENT SETINFO LIB-NAME
    uint8_t library_version[LH_SESSION_LIBRARY_BYTES_MAX]; // CLIENT SETINFO LIB-VER
    struct lh_resp_request_parser parser;
    uint8_t input[LH_SESSION_INPUT_BYTES];
};

struct lh_sessions {
    struct lh_session *sessions;
    uint32_t count_open;
    uint64_t opened;    // ever
    uint64_t commands;  // ever
    uint64_t malformed; // connections ended for it
    uint64_t left_out;  // changes that watchers did not read
};

// How many bytes lh_session_bytes takes now. 0 while a closing session waits for its end.
static inline size_t lh_session_room(const struct lh_session *session)
{
    return session->open && !session->closing ? LH_SESSION_INPUT_BYTES - session->input_used : 0;
}

void lh_session_open(struct lh_host *host, uint32_t session_id, bool local);

// Takes bytes in, no more than there is room for, and handles at most one whole command. Sets
// effects->again if bytes are left that may hold another: hand in none to go on.
void lh_session_bytes(struct lh_host *host, uint32_t session_id, struct lh_slice bytes,
                      struct lh_instant now, struct lh_host_effects *effects);
void lh_session_close(struct lh_host *host, uint32_t session_id, bool ended, struct lh_instant now,
                      struct lh_host_effects *effects);

// Writes a result to the session whose request it answers, which may have sent more meanwhile: hand
// in no bytes to go on.
void lh_session_answer(struct lh_host *host, const struct lh_request *request,
                       const struct lh_result *result, struct lh_host_effects *effects);

// What is known of a watched lease changed: one message, numbered from 1, to the watch's session.
// `result` is GET's, with status HELD or FREE, or UNDECIDED for unknown. If this step has no room
// for more messages, the watch is made fresh again, so that it is told with the next answer.
void lh_session_publish(struct lh_host *host, struct lh_watch *watch,
                        const struct lh_result *result, struct lh_host_effects *effects);

#endif
