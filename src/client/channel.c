// See channel.h. The bytes are stream.c's, the socket calls socket.c's.
#include "client/channel.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/endpoint.h"
#include "client/socket.h"
#include "client/stream.h"
#include "os/clock.h"

// What one reply may hold: a page of LEASE LIST is a few thousand values.
#define VALUES_MOST 65536
#define REPLY_BYTES_MOST (16 << 20)
#define RECEIVE_BYTES 16384
// Between rounds of lh_channel_call in which no endpoint had an answer.
#define CALL_PAUSE_MS 100

struct lh_channel {
    struct lh_endpoint_list endpoints;
    size_t current; // the endpoint of the last request
    size_t next;    // where the next one goes
    int fd;
    bool connecting;
    enum lh_channel_state state;
    struct lh_instant ends_at;
    enum lh_reach reach;
    struct lh_error error;
    bool from_environment;
    struct lh_stream stream;
    struct lh_resp_value *values;
};

bool lh_channel_open(const char *endpoints, struct lh_channel **ret_channel, struct lh_error *error)
{
    struct lh_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL)
        return lh_error_set(error, "out of memory");
    channel->fd = -1;
    channel->values = malloc(VALUES_MOST * sizeof *channel->values);
    bool good = channel->values != NULL || lh_error_set(error, "out of memory");
    good = good &&
           lh_endpoint_list_find(endpoints, &channel->endpoints, &channel->from_environment, error);
    if (!good) {
        lh_channel_close(channel);
        return false;
    }
    lh_stream_init(&channel->stream, NULL, 0, NULL, 0, channel->values, VALUES_MOST,
                   REPLY_BYTES_MOST);
    *ret_channel = channel;
    return true;
}

static void disconnect(struct lh_channel *channel)
{
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
    lh_stream_reset(&channel->stream);
}

void lh_channel_close(struct lh_channel *channel)
{
    if (channel == NULL)
        return;
    if (channel->fd >= 0)
        close(channel->fd);
    free(channel->stream.out);
    free(channel->stream.in);
    free(channel->values);
    free(channel);
}

size_t lh_channel_endpoint_count(const struct lh_channel *channel)
{
    return channel->endpoints.count;
}

void lh_channel_go_to(struct lh_channel *channel, size_t index)
{
    channel->next = index % channel->endpoints.count;
}

size_t lh_channel_next(const struct lh_channel *channel)
{
    return channel->next;
}

void lh_channel_try_next(struct lh_channel *channel)
{
    lh_channel_go_to(channel, channel->current + 1);
}

// Ends the request without an answer. The connection is closed: its answer, should it still come,
// is nobody's. The next request goes to the next endpoint.
static enum lh_channel_state fail(struct lh_channel *channel, enum lh_reach reach, const char *what,
                                  const char *why)
{
    lh_error_set(&channel->error, "%s%s%s", what, why[0] != '\0' ? ": " : "", why);
    disconnect(channel);
    lh_channel_try_next(channel);
    channel->reach = reach;
    channel->state = LH_CHANNEL_FAILED;
    return LH_CHANNEL_FAILED;
}

static bool make_room(uint8_t **buffer, size_t *room, size_t wanted)
{
    if (wanted <= *room)
        return true;
    size_t larger = *room == 0 ? RECEIVE_BYTES : *room;
    while (larger < wanted)
        larger *= 2;
    uint8_t *moved = realloc(*buffer, larger);
    if (moved == NULL)
        return false;
    *buffer = moved;
    *room = larger;
    return true;
}

// An idle connection that ended, or on which something came unasked, is not used again.
static void drop_stale(struct lh_channel *channel)
{
    if (channel->fd >= 0 && (channel->current != channel->next || !lh_socket_quiet(channel->fd)))
        disconnect(channel);
}

static void take_connection(struct lh_channel *channel, enum lh_socket_state state,
                            enum lh_reach reach, const char *why)
{
    channel->connecting = state == LH_SOCKET_CONNECTING;
    if (state == LH_SOCKET_FAILED)
        fail(channel, reach, "cannot connect", why);
}

void lh_channel_begin(struct lh_channel *channel, const char *const *words, size_t count,
                      struct lh_duration timeout)
{
    struct lh_stream *stream = &channel->stream;
    enum lh_reach reach = LH_REACH_SILENCE;
    const char *why = "";
    if (channel->state == LH_CHANNEL_BUSY)
        disconnect(channel);
    drop_stale(channel);
    channel->current = channel->next;
    channel->ends_at = lh_after(lh_clock_now(), timeout);
    channel->reach = reach;
    channel->state = LH_CHANNEL_BUSY;
    if (!make_room(&stream->out, &stream->out_room, lh_stream_request_bytes(words, count)) ||
        !lh_stream_begin(stream, words, count)) {
        fail(channel, LH_REACH_BROKEN, "out of memory", "");
        return;
    }
    if (channel->fd >= 0)
        return;
    const struct lh_endpoint *endpoint = &channel->endpoints.items[channel->current];
    enum lh_socket_state state = lh_socket_connect(endpoint, &channel->fd, &reach, &why);
    take_connection(channel, state, reach, why);
}

// The clock is read before the kernel gets the first byte; a request that needs several writes was
// sent when the first began.
static enum lh_channel_state send_some(struct lh_channel *channel)
{
    const char *why = "";
    while (lh_stream_has_output(&channel->stream)) {
        struct lh_slice bytes = lh_stream_output(&channel->stream, lh_clock_now());
        ssize_t size = lh_socket_send(channel->fd, bytes, &why);
        if (size < 0)
            return fail(channel, LH_REACH_BROKEN, "the connection broke", why);
        if (size == 0)
            return LH_CHANNEL_BUSY;
        lh_stream_wrote(&channel->stream, (size_t)size);
    }
    return LH_CHANNEL_BUSY;
}

static enum lh_channel_state receive_some(struct lh_channel *channel)
{
    struct lh_stream *stream = &channel->stream;
    const char *why = "";
    size_t room;
    for (;;) {
        if (!make_room(&stream->in, &stream->in_room, stream->in_size + RECEIVE_BYTES))
            return fail(channel, LH_REACH_BROKEN, "out of memory", "");
        uint8_t *at = lh_stream_input(stream, &room);
        ssize_t size = lh_socket_receive(channel->fd, at, room, &why);
        if (size == 0)
            return LH_CHANNEL_BUSY;
        if (size < 0)
            return fail(channel, LH_REACH_BROKEN, "the connection broke", why);
        enum lh_stream_state state = lh_stream_received(stream, (size_t)size);
        if (state == LH_STREAM_BROKEN)
            return fail(channel, LH_REACH_BROKEN, stream->reason, "");
        if (state == LH_STREAM_ANSWERED) {
            channel->reach = LH_REACH_ANSWER;
            channel->state = LH_CHANNEL_ANSWERED;
            return LH_CHANNEL_ANSWERED;
        }
    }
}

static enum lh_channel_state do_what_can_be_done(struct lh_channel *channel)
{
    enum lh_reach reach = LH_REACH_NOBODY;
    const char *why = "";
    if (channel->connecting) {
        enum lh_socket_state state = lh_socket_connected(channel->fd, &reach, &why);
        take_connection(channel, state, reach, why);
    }
    if (channel->state == LH_CHANNEL_BUSY && !channel->connecting)
        send_some(channel);
    if (channel->state == LH_CHANNEL_BUSY && !channel->connecting &&
        !lh_stream_has_output(&channel->stream))
        receive_some(channel);
    return channel->state;
}

enum lh_channel_state lh_channel_advance(struct lh_channel *channel)
{
    if (channel->state != LH_CHANNEL_BUSY)
        return channel->state;
    if (do_what_can_be_done(channel) != LH_CHANNEL_BUSY)
        return channel->state;
    if (lh_before(lh_clock_now(), channel->ends_at))
        return LH_CHANNEL_BUSY;
    return fail(channel, channel->connecting ? LH_REACH_NOBODY : LH_REACH_SILENCE,
                "no answer in time", "");
}

int lh_channel_fd(const struct lh_channel *channel)
{
    return channel->state == LH_CHANNEL_BUSY ? channel->fd : -1;
}

int lh_channel_idle_fd(const struct lh_channel *channel)
{
    return channel->state == LH_CHANNEL_BUSY ? -1 : channel->fd;
}

short lh_channel_events(const struct lh_channel *channel)
{
    return channel->connecting || lh_stream_has_output(&channel->stream) ? POLLOUT : POLLIN;
}

struct lh_instant lh_channel_wake_at(const struct lh_channel *channel)
{
    return channel->state == LH_CHANNEL_BUSY ? channel->ends_at : LH_PAST;
}

void lh_channel_poll(struct pollfd *fds, size_t count, struct lh_instant wake_at)
{
    int64_t left_ns = lh_left(lh_clock_now(), wake_at).ns;
    if (left_ns > LH_NS_PER_S)
        left_ns = LH_NS_PER_S;
    struct timespec pause = {.tv_sec = left_ns / LH_NS_PER_S, .tv_nsec = left_ns % LH_NS_PER_S};
    ppoll(fds, count, &pause, NULL);
}

enum lh_channel_state lh_channel_wait(struct lh_channel *channel)
{
    enum lh_channel_state state;
    while ((state = lh_channel_advance(channel)) == LH_CHANNEL_BUSY) {
        struct pollfd wanted = {.fd = lh_channel_fd(channel), .events = lh_channel_events(channel)};
        lh_channel_poll(&wanted, 1, lh_channel_wake_at(channel));
    }
    return state;
}

void lh_channel_abandon(struct lh_channel *channel)
{
    disconnect(channel);
    channel->state = LH_CHANNEL_IDLE;
}

const struct lh_resp_value *lh_channel_reply(const struct lh_channel *channel)
{
    return lh_stream_reply(&channel->stream);
}

struct lh_instant lh_channel_sent(const struct lh_channel *channel)
{
    return channel->stream.sent;
}

const char *lh_channel_endpoint(const struct lh_channel *channel)
{
    return channel->endpoints.items[channel->current].text;
}

const char *lh_channel_error(const struct lh_channel *channel)
{
    return channel->error.text;
}

enum lh_reach lh_channel_reach(const struct lh_channel *channel)
{
    return channel->reach;
}

bool lh_channel_from_environment(const struct lh_channel *channel)
{
    return channel->from_environment;
}

static bool says_no_quorum(const struct lh_resp_value *reply, enum lh_reach *ret_reach,
                           char ret_why[LH_REACH_WHY_BYTES])
{
    struct lh_slice status;
    struct lh_slice reason = {NULL, 0};
    int64_t node = 0;
    if (!lh_resp_as_text(lh_resp_get(reply, "status"), &status) ||
        !lh_slice_equal(status, LH_SLICE("noquorum")))
        return false;
    lh_resp_as_text(lh_resp_get(reply, "reason"), &reason);
    lh_resp_as_integer(lh_resp_get(reply, "node"), &node);
    *ret_reach = lh_reach_no_quorum(node, reason, ret_why);
    return true;
}

enum turn {
    TURN_TAKEN, // the answer is to be taken
    TURN_FAILED,
    TURN_NO_QUORUM, // it is a node's word that others do not answer it
};

// One endpoint's turn. Unless the answer is to be taken the trouble says why not.
static enum turn try_call(struct lh_channel *channel, const char *const *words, size_t count,
                          struct lh_duration timeout, struct lh_trouble *trouble)
{
    char why[LH_REACH_WHY_BYTES];
    enum lh_reach reach;
    lh_channel_begin(channel, words, count, timeout);
    if (lh_channel_wait(channel) != LH_CHANNEL_ANSWERED) {
        lh_trouble_note(trouble, channel->reach, lh_channel_endpoint(channel), channel->error.text);
        return TURN_FAILED;
    }
    if (says_no_quorum(&channel->values[0], &reach, why)) {
        lh_trouble_note(trouble, reach, lh_channel_endpoint(channel), why);
        lh_channel_try_next(channel);
        return TURN_NO_QUORUM;
    }
    struct lh_slice text = channel->values[0].text;
    if (channel->values[0].type != LH_RESP_ERROR ||
        !(lh_slice_has_prefix(text, LH_SLICE("NOTREADY")) ||
          lh_slice_has_prefix(text, LH_SLICE("BUSY"))))
        return TURN_TAKEN;
    snprintf(why, sizeof why, "%.*s", (int)text.size_bytes, (const char *)text.data);
    lh_trouble_note(trouble, LH_REACH_ANSWER, lh_channel_endpoint(channel), why);
    lh_channel_try_next(channel);
    return TURN_FAILED;
}

bool lh_channel_call(struct lh_channel *channel, const char *const *words, size_t count,
                     struct lh_duration timeout, struct lh_trouble *ret_trouble)
{
    struct lh_instant give_up = lh_after(lh_clock_now(), timeout);
    *ret_trouble = (struct lh_trouble){.reach = LH_REACH_NOBODY};
    bool no_quorum = false;
    for (;;) {
        size_t endpoints = channel->endpoints.count;
        for (size_t untried = endpoints; untried > 0; untried--) {
            struct lh_duration left = lh_left(lh_clock_now(), give_up);
            struct lh_duration share = {left.ns / (int64_t)untried};
            enum turn turn = try_call(channel, words, count, share, ret_trouble);
            if (turn == TURN_TAKEN)
                return true;
            no_quorum = no_quorum || turn == TURN_NO_QUORUM;
        }
        if (no_quorum || ret_trouble->reach < LH_REACH_SILENCE ||
            lh_left(lh_clock_now(), give_up).ns <= CALL_PAUSE_MS * LH_NS_PER_MS)
            return false;
        poll(NULL, 0, CALL_PAUSE_MS);
    }
}
