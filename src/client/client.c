// See client.h.
#include "client/client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/endpoint.h"
#include "os/clock.h"

// What one reply may hold: a page of LEASE LIST is a few thousand values.
#define VALUES_MOST 65536
#define REPLY_BYTES_MOST (16 << 20)
#define RECEIVE_BYTES 16384
// Between rounds of lh_client_call in which no endpoint had an answer.
#define CALL_PAUSE_MS 100

// Every connection speaks RESP3, in which a map is a map; the greeting travels with the first
// request.
static const char greeting[] = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";

enum stage { CONNECTING, SENDING, RECEIVING };

struct lh_client {
    struct lh_endpoint_list endpoints;
    size_t current; // the endpoint of the last request
    size_t next;    // where the next one goes
    int fd;
    bool greeted; // the answer to the greeting has come
    enum lh_client_state state;
    enum stage stage;
    struct lh_instant ends_at;
    struct lh_instant sent;
    enum lh_client_reach reach;
    struct lh_error error;
    bool from_environment;

    uint8_t *out; // greeting and request
    size_t out_room, out_size, out_done;
    uint8_t *in;
    size_t in_room, in_size;
    struct lh_resp_value *values;
    struct lh_resp_reply_parser parser;
};

bool lh_client_open(const char *endpoints, struct lh_client **ret_client, struct lh_error *error)
{
    struct lh_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return lh_error_set(error, "out of memory");
    client->fd = -1;
    client->values = malloc(VALUES_MOST * sizeof *client->values);
    const char *variable = getenv("LEASEHOLD_CONNECT");
    if (endpoints == NULL && variable != NULL && variable[0] != '\0') {
        endpoints = variable;
        client->from_environment = true;
    }
    if (endpoints == NULL)
        endpoints = LH_ENDPOINT_DEFAULT;
    struct lh_error why;
    bool good = client->values != NULL || lh_error_set(error, "out of memory");
    if (good && !lh_endpoint_list_parse(endpoints, &client->endpoints, &why))
        good = lh_error_set(error, "%s%s", client->from_environment ? "LEASEHOLD_CONNECT: " : "",
                            why.text);
    if (!good) {
        lh_client_close(client);
        return false;
    }
    *ret_client = client;
    return true;
}

static void disconnect(struct lh_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    client->greeted = false;
    client->in_size = 0;
}

void lh_client_close(struct lh_client *client)
{
    if (client == NULL)
        return;
    disconnect(client);
    free(client->out);
    free(client->in);
    free(client->values);
    free(client);
}

size_t lh_client_endpoint_count(const struct lh_client *client)
{
    return client->endpoints.count;
}

void lh_client_try_next(struct lh_client *client)
{
    client->next = (client->current + 1) % client->endpoints.count;
}

// Ends the request without an answer. The connection is closed: its answer, should it still come,
// is nobody's. The next request goes to the next endpoint.
static enum lh_client_state fail(struct lh_client *client, enum lh_client_reach reach,
                                 const char *what, const char *why)
{
    disconnect(client);
    lh_client_try_next(client);
    client->reach = reach;
    client->state = LH_CLIENT_FAILED;
    lh_error_set(&client->error, "%s%s%s", what, why[0] ? ": " : "", why);
    return LH_CLIENT_FAILED;
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

// Writes greeting and request into `out`; what is sent begins behind the greeting if it is not
// needed.
static bool build(struct lh_client *client, const char *const *words, size_t count)
{
    size_t wanted = sizeof greeting + LH_RESP_HEADER_MAX_BYTES;
    for (size_t i = 0; i < count; i++)
        wanted += strlen(words[i]) + 2 * LH_RESP_HEADER_MAX_BYTES;
    if (!make_room(&client->out, &client->out_room, wanted))
        return false;
    struct lh_writer writer = lh_writer_of(client->out, client->out_room);
    lh_writer_string(&writer, greeting);
    lh_resp_write_array(&writer, count);
    for (size_t i = 0; i < count; i++)
        lh_resp_write_text(&writer, words[i]);
    client->out_size = lh_writer_size_bytes(&writer);
    return !writer.failed;
}

// An idle connection that ended, or on which something came unasked, is not used again.
static void drop_stale(struct lh_client *client)
{
    uint8_t byte;
    if (client->fd < 0)
        return;
    ssize_t size = recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool quiet = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (!quiet || client->current != client->next || client->in_size > 0)
        disconnect(client);
}

static enum lh_client_state cannot_connect(struct lh_client *client, int failure)
{
    enum lh_client_reach reach = LH_REACH_NOBODY;
    if (failure == EACCES || failure == EPERM)
        reach = LH_REACH_FORBIDDEN;
    else if (failure == EAGAIN) // somebody listens, but has no room for us now
        reach = LH_REACH_SILENCE;
    return fail(client, reach, "cannot connect", strerror(failure));
}

static enum lh_client_state start_connecting(struct lh_client *client)
{
    const struct lh_endpoint *endpoint = &client->endpoints.items[client->current];
    int family = endpoint->address.ss_family;
    int yes = 1;
    client->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        return fail(client, LH_REACH_NOBODY, "cannot make a socket", strerror(errno));
    if (family != AF_UNIX)
        setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    client->stage = CONNECTING;
    if (connect(client->fd, (const struct sockaddr *)&endpoint->address, endpoint->address_size) ==
        0)
        client->stage = SENDING;
    else if (errno != EINPROGRESS)
        return cannot_connect(client, errno);
    return LH_CLIENT_BUSY;
}

void lh_client_begin(struct lh_client *client, const char *const *words, size_t count,
                     struct lh_duration timeout)
{
    if (client->state == LH_CLIENT_BUSY)
        disconnect(client);
    drop_stale(client);
    client->current = client->next;
    client->ends_at = lh_after(lh_clock_now(), timeout);
    client->reach = LH_REACH_SILENCE;
    client->state = LH_CLIENT_BUSY;
    client->in_size = 0;
    lh_resp_reply_parser_init(&client->parser, client->values, VALUES_MOST, REPLY_BYTES_MOST);
    if (!build(client, words, count)) {
        fail(client, LH_REACH_BROKEN, "out of memory", "");
        return;
    }
    client->stage = SENDING;
    client->out_done = client->fd >= 0 ? sizeof greeting - 1 : 0;
    client->sent = LH_PAST;
    if (client->fd < 0)
        start_connecting(client);
}

static enum lh_client_state finish_connecting(struct lh_client *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLOUT};
    int failure = 0;
    socklen_t size = sizeof failure;
    if (poll(&ready, 1, 0) == 0)
        return LH_CLIENT_BUSY;
    if (getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
        failure = errno;
    if (failure != 0)
        return cannot_connect(client, failure);
    client->stage = SENDING;
    return LH_CLIENT_BUSY;
}

// The clock is read before the kernel gets the first byte; a request that needs several writes was
// sent when the first began.
static enum lh_client_state send_some(struct lh_client *client)
{
    if (client->sent.ns == LH_PAST.ns)
        client->sent = lh_clock_now();
    while (client->out_done < client->out_size) {
        ssize_t size = send(client->fd, client->out + client->out_done,
                            client->out_size - client->out_done, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return LH_CLIENT_BUSY;
        if (size < 0)
            return fail(client, LH_REACH_BROKEN, "the connection broke", strerror(errno));
        client->out_done += (size_t)size;
    }
    client->stage = RECEIVING;
    return LH_CLIENT_BUSY;
}

// One reply is complete at the front of `in`. BUSY: it was the greeting's, or not an answer at all.
static enum lh_client_state take_reply(struct lh_client *client, size_t consumed)
{
    const struct lh_resp_value *reply = &client->values[0];
    bool unasked = reply->type == LH_RESP_PUSH;
    if (!unasked && client->greeted) {
        if (client->in_size > consumed)
            return fail(client, LH_REACH_BROKEN, "more than one answer came to one request", "");
        client->state = LH_CLIENT_ANSWERED;
        client->reach = LH_REACH_ANSWER;
        client->in_size = 0; // the bytes stay where they are until the next request
        return LH_CLIENT_ANSWERED;
    }
    if (!unasked && reply->type == LH_RESP_ERROR) {
        char text[200];
        snprintf(text, sizeof text, "%.*s", (int)reply->text.size_bytes,
                 (const char *)reply->text.data);
        return fail(client, LH_REACH_BROKEN, "the server refused HELLO 3", text);
    }
    client->greeted = client->greeted || !unasked;
    memmove(client->in, client->in + consumed, client->in_size - consumed);
    client->in_size -= consumed;
    lh_resp_reply_parser_init(&client->parser, client->values, VALUES_MOST, REPLY_BYTES_MOST);
    return LH_CLIENT_BUSY;
}

static enum lh_client_state parse(struct lh_client *client)
{
    while (client->in_size > 0) {
        size_t consumed = 0;
        switch (lh_resp_reply_parse(&client->parser, client->in, client->in_size, &consumed)) {
        case LH_RESP_NEED_MORE: return LH_CLIENT_BUSY;
        case LH_RESP_MALFORMED:
            return fail(client, LH_REACH_BROKEN, "what answers does not speak this protocol",
                        client->parser.reason);
        case LH_RESP_COMPLETE: break;
        }
        enum lh_client_state state = take_reply(client, consumed);
        if (state != LH_CLIENT_BUSY)
            return state;
    }
    return LH_CLIENT_BUSY;
}

static enum lh_client_state receive_some(struct lh_client *client)
{
    for (;;) {
        if (!make_room(&client->in, &client->in_room, client->in_size + RECEIVE_BYTES))
            return fail(client, LH_REACH_BROKEN, "out of memory", "");
        ssize_t size = recv(client->fd, client->in + client->in_size, RECEIVE_BYTES, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return LH_CLIENT_BUSY;
        if (size < 0)
            return fail(client, LH_REACH_BROKEN, "the connection broke", strerror(errno));
        if (size == 0)
            return fail(client, LH_REACH_BROKEN, "the server closed the connection", "");
        client->in_size += (size_t)size;
        enum lh_client_state state = parse(client);
        if (state != LH_CLIENT_BUSY)
            return state;
    }
}

static enum lh_client_state do_what_can_be_done(struct lh_client *client)
{
    enum lh_client_state state = LH_CLIENT_BUSY;
    if (client->stage == CONNECTING)
        state = finish_connecting(client);
    if (state == LH_CLIENT_BUSY && client->stage == SENDING)
        state = send_some(client);
    if (state == LH_CLIENT_BUSY && client->stage == RECEIVING)
        state = receive_some(client);
    return state;
}

enum lh_client_state lh_client_advance(struct lh_client *client)
{
    if (client->state != LH_CLIENT_BUSY)
        return client->state;
    if (do_what_can_be_done(client) != LH_CLIENT_BUSY)
        return client->state;
    if (lh_before(lh_clock_now(), client->ends_at))
        return LH_CLIENT_BUSY;
    return fail(client, client->stage == CONNECTING ? LH_REACH_NOBODY : LH_REACH_SILENCE,
                "no answer in time", "");
}

int lh_client_fd(const struct lh_client *client)
{
    return client->state == LH_CLIENT_BUSY ? client->fd : -1;
}

short lh_client_events(const struct lh_client *client)
{
    return client->stage == RECEIVING ? POLLIN : POLLOUT;
}

struct lh_instant lh_client_wake_at(const struct lh_client *client)
{
    return client->state == LH_CLIENT_BUSY ? client->ends_at : LH_PAST;
}

void lh_client_poll(struct pollfd *fds, size_t count, struct lh_instant wake_at)
{
    int64_t left_ns = lh_left(lh_clock_now(), wake_at).ns;
    if (left_ns > LH_NS_PER_S)
        left_ns = LH_NS_PER_S;
    struct timespec pause = {.tv_sec = left_ns / LH_NS_PER_S, .tv_nsec = left_ns % LH_NS_PER_S};
    ppoll(fds, count, &pause, NULL);
}

enum lh_client_state lh_client_wait(struct lh_client *client)
{
    enum lh_client_state state;
    while ((state = lh_client_advance(client)) == LH_CLIENT_BUSY) {
        struct pollfd wanted = {.fd = lh_client_fd(client), .events = lh_client_events(client)};
        lh_client_poll(&wanted, 1, lh_client_wake_at(client));
    }
    return state;
}

void lh_client_abandon(struct lh_client *client)
{
    disconnect(client);
    client->state = LH_CLIENT_IDLE;
}

const struct lh_resp_value *lh_client_reply(const struct lh_client *client)
{
    return &client->values[0];
}

struct lh_instant lh_client_sent(const struct lh_client *client)
{
    return client->sent;
}

const char *lh_client_endpoint(const struct lh_client *client)
{
    return client->endpoints.items[client->current].text;
}

const char *lh_client_error(const struct lh_client *client)
{
    return client->error.text;
}

enum lh_client_reach lh_client_reach(const struct lh_client *client)
{
    return client->reach;
}

bool lh_client_from_environment(const struct lh_client *client)
{
    return client->from_environment;
}

void lh_client_note(const struct lh_client *client, const char *why,
                    struct lh_client_trouble *trouble)
{
    // Of two that did not answer the first one is told, which was asked first.
    bool further = client->reach > trouble->reach ||
                   (client->reach == trouble->reach && client->reach > LH_REACH_SILENCE);
    if (trouble->error.text[0] != '\0' && !further)
        return;
    trouble->reach = client->reach;
    lh_error_set(&trouble->error, "%s: %s", lh_client_endpoint(client), why);
}

// One endpoint's turn. True if the answer is to be taken; else the trouble says why not.
static bool try_call(struct lh_client *client, const char *const *words, size_t count,
                     struct lh_duration timeout, struct lh_client_trouble *trouble)
{
    char why[256];
    lh_client_begin(client, words, count, timeout);
    if (lh_client_wait(client) != LH_CLIENT_ANSWERED) {
        lh_client_note(client, client->error.text, trouble);
        return false;
    }
    struct lh_slice text = client->values[0].text;
    if (client->values[0].type != LH_RESP_ERROR ||
        !(lh_slice_has_prefix(text, LH_SLICE("NOTREADY")) ||
          lh_slice_has_prefix(text, LH_SLICE("BUSY"))))
        return true;
    snprintf(why, sizeof why, "%.*s", (int)text.size_bytes, (const char *)text.data);
    lh_client_note(client, why, trouble);
    lh_client_try_next(client);
    return false;
}

bool lh_client_call(struct lh_client *client, const char *const *words, size_t count,
                    struct lh_duration timeout, struct lh_client_trouble *ret_trouble)
{
    struct lh_instant give_up = lh_after(lh_clock_now(), timeout);
    *ret_trouble = (struct lh_client_trouble){.reach = LH_REACH_NOBODY};
    for (;;) {
        size_t endpoints = client->endpoints.count;
        for (size_t untried = endpoints; untried > 0; untried--) {
            struct lh_duration left = lh_left(lh_clock_now(), give_up);
            struct lh_duration share = {left.ns / (int64_t)untried};
            if (try_call(client, words, count, share, ret_trouble))
                return true;
        }
        if (ret_trouble->reach < LH_REACH_SILENCE ||
            lh_left(lh_clock_now(), give_up).ns <= CALL_PAUSE_MS * LH_NS_PER_MS)
            return false;
        poll(NULL, 0, CALL_PAUSE_MS);
    }
}
