// See feed.h. The connection speaks RESP3: messages are pushes, and beside them come the answers to
// HELLO and PING.
#include "client/feed.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/resp.h"
#include "client/endpoint.h"
#include "client/socket.h"
#include "os/clock.h"

// What one reply may hold: a message is a few hundred bytes, the answer to HELLO a small map.
#define VALUES_MOST 256
#define IN_BYTES 65536
// Of one SUBSCRIBE: a daemon takes requests of 4096 bytes and 32 channels.
#define REQUEST_BYTES_MOST 3500
#define REQUEST_CHANNELS_MOST 32
#define CHANNEL_BYTES_MOST 300 // "lease:", a name, and what is around them
// Between rounds in which no endpoint had an answer.
#define ROUND_PAUSE_NS (250 * LH_NS_PER_MS)

static const char hello[] = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
static const char ping[] = "*1\r\n$4\r\nPING\r\n";
static const char channel_prefix[] = "lease:";

struct lh_feed {
    struct lh_endpoint_list endpoints;
    bool from_environment;
    size_t current;
    size_t failures; // endpoints in a row that had no answer
    unsigned connection;
    int fd;
    bool connecting;
    bool heard;  // something came over this connection
    bool begun;  // or over an earlier one
    bool pinged; // and nothing has come since
    struct lh_duration silence;
    struct lh_instant wake_at; // of the next ping, of the end of patience, of the next attempt
    struct lh_trouble trouble; // of the endpoint that was given up last
    struct lh_resp_reply_parser parser;
    struct lh_slice message;
    uint8_t *subscription; // HELLO and every SUBSCRIBE
    size_t subscription_bytes;
    const uint8_t *out; // what is to be sent: all of the subscription, or a ping
    size_t out_bytes;
    size_t in_used, in_taken; // bytes there, and those of the reply that was handed out
    struct lh_resp_value values[VALUES_MOST];
    uint8_t in[IN_BYTES];
};

// --- opening ---

static void write_subscribe(struct lh_writer *writer, char *const *names, size_t count)
{
    lh_resp_write_array(writer, count + 1);
    lh_resp_write_text(writer, "SUBSCRIBE");
    for (size_t i = 0; i < count; i++) {
        uint8_t channel[CHANNEL_BYTES_MOST];
        struct lh_writer text = lh_writer_of(channel, sizeof channel);
        lh_writer_string(&text, channel_prefix);
        lh_writer_string(&text, names[i]);
        lh_resp_write_bulk(writer, lh_writer_slice(&text));
    }
}

// How many of the names fit into one request.
static size_t portion_of(char *const *names, size_t count)
{
    size_t bytes = 0;
    size_t taken = 0;
    while (taken < count && taken < REQUEST_CHANNELS_MOST) {
        bytes += sizeof channel_prefix + strlen(names[taken]) + LH_RESP_HEADER_MAX_BYTES;
        if (taken > 0 && bytes > REQUEST_BYTES_MOST)
            break;
        taken++;
    }
    return taken;
}

static bool write_subscription(struct lh_feed *feed, char *const *names, size_t count)
{
    size_t room = sizeof hello + count * 2 * CHANNEL_BYTES_MOST;
    feed->subscription = malloc(room);
    if (feed->subscription == NULL)
        return false;
    struct lh_writer writer = lh_writer_of(feed->subscription, room);
    lh_writer_string(&writer, hello);
    for (size_t done = 0; done < count;) {
        size_t portion = portion_of(names + done, count - done);
        write_subscribe(&writer, names + done, portion);
        done += portion;
    }
    feed->subscription_bytes = lh_writer_size_bytes(&writer);
    return !writer.failed;
}

bool lh_feed_open(const char *endpoints, char *const *names, size_t count,
                  struct lh_duration silence, struct lh_feed **ret_feed, struct lh_error *error)
{
    struct lh_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL)
        return lh_error_set(error, "out of memory");
    feed->fd = -1;
    feed->silence = silence;
    feed->wake_at = LH_PAST;
    bool good = write_subscription(feed, names, count) || lh_error_set(error, "out of memory");
    good =
        good && lh_endpoint_list_find(endpoints, &feed->endpoints, &feed->from_environment, error);
    if (good)
        *ret_feed = feed;
    else
        lh_feed_close(feed);
    return good;
}

void lh_feed_close(struct lh_feed *feed)
{
    if (feed == NULL)
        return;
    if (feed->fd >= 0)
        close(feed->fd);
    free(feed->subscription);
    free(feed);
}

// --- the connection ---

static void expect_reply(struct lh_feed *feed)
{
    lh_resp_reply_parser_init(&feed->parser, feed->values, VALUES_MOST, IN_BYTES);
}

// The next endpoint's turn, at once or, after a whole round, a little later.
static void move_on(struct lh_feed *feed)
{
    if (feed->fd >= 0)
        close(feed->fd);
    feed->fd = -1;
    feed->current = (feed->current + 1) % feed->endpoints.count;
    feed->failures++;
    feed->wake_at = lh_clock_now();
    if (feed->failures % feed->endpoints.count == 0)
        feed->wake_at = lh_after(feed->wake_at, (struct lh_duration){ROUND_PAUSE_NS});
}

static enum lh_feed_event give_up(struct lh_feed *feed, enum lh_reach reach, const char *why)
{
    const bool unreached = reach == LH_REACH_NOBODY || reach == LH_REACH_FORBIDDEN;
    lh_error_set(&feed->trouble.error, "%s: %s%s", lh_feed_endpoint(feed),
                 unreached ? "cannot connect: " : "", why);
    feed->trouble.reach = reach;
    move_on(feed);
    return LH_FEED_BROKEN;
}

void lh_feed_try_next(struct lh_feed *feed)
{
    move_on(feed);
    feed->wake_at = lh_after(lh_clock_now(), (struct lh_duration){ROUND_PAUSE_NS});
}

static enum lh_feed_event connect_to(struct lh_feed *feed)
{
    enum lh_reach reach;
    const char *why;
    enum lh_socket_state state =
        lh_socket_connect(&feed->endpoints.items[feed->current], &feed->fd, &reach, &why);
    if (state == LH_SOCKET_FAILED)
        return give_up(feed, reach, why);
    feed->connection++;
    feed->connecting = state == LH_SOCKET_CONNECTING;
    feed->heard = false;
    feed->pinged = true; // the subscription is to be answered
    feed->wake_at = lh_after(lh_clock_now(), feed->begun ? feed->silence : lh_feed_share(feed));
    feed->out = feed->subscription;
    feed->out_bytes = feed->subscription_bytes;
    feed->in_used = feed->in_taken = 0;
    expect_reply(feed);
    return LH_FEED_QUIET;
}

static enum lh_feed_event send_some(struct lh_feed *feed)
{
    const char *why;
    while (feed->out_bytes > 0) {
        ssize_t size = lh_socket_send(feed->fd, lh_slice_of(feed->out, feed->out_bytes), &why);
        if (size < 0)
            return give_up(feed, LH_REACH_BROKEN, why);
        if (size == 0)
            break;
        feed->out += size;
        feed->out_bytes -= (size_t)size;
    }
    return LH_FEED_QUIET;
}

// --- what comes ---

static void drop_taken(struct lh_feed *feed)
{
    if (feed->in_taken == 0)
        return;
    feed->in_used -= feed->in_taken;
    memmove(feed->in, feed->in + feed->in_taken, feed->in_used);
    feed->in_taken = 0;
    expect_reply(feed);
}

static enum lh_feed_event refuse(struct lh_feed *feed, struct lh_slice text)
{
    struct lh_error why;
    lh_error_set(&why, "%.*s", (int)text.size_bytes, (const char *)text.data);
    if (lh_slice_has_prefix(text, LH_SLICE("NOTREADY")) ||
        lh_slice_has_prefix(text, LH_SLICE("BUSY")))
        return give_up(feed, LH_REACH_ANSWER, why.text);
    give_up(feed, LH_REACH_ANSWER, why.text);
    return LH_FEED_REFUSED;
}

// One reply is complete. QUIET: it was none that matters to anybody.
static enum lh_feed_event take_reply(struct lh_feed *feed)
{
    const struct lh_resp_value *reply = &feed->values[0];
    struct lh_slice what;
    if (reply->type == LH_RESP_ERROR)
        return refuse(feed, reply->text);
    if (reply->type != LH_RESP_PUSH || reply->child_count != 3 ||
        !lh_resp_as_text(lh_resp_child(reply, 0), &what) ||
        !lh_slice_equal(what, LH_SLICE("message")) ||
        !lh_resp_as_text(lh_resp_child(reply, 2), &feed->message))
        return LH_FEED_QUIET;
    feed->failures = 0;
    return LH_FEED_MESSAGE;
}

// What is in the buffer, up to the first event.
static enum lh_feed_event take_in(struct lh_feed *feed)
{
    for (;;) {
        drop_taken(feed);
        switch (lh_resp_reply_parse(&feed->parser, feed->in, feed->in_used, &feed->in_taken)) {
        case LH_RESP_NEED_MORE: feed->in_taken = 0; return LH_FEED_QUIET;
        case LH_RESP_MALFORMED:
            feed->in_taken = 0;
            return give_up(feed, LH_REACH_BROKEN, "what answers does not speak this protocol");
        case LH_RESP_COMPLETE: break;
        }
        enum lh_feed_event event = take_reply(feed);
        if (event != LH_FEED_QUIET)
            return event;
    }
}

static enum lh_feed_event receive_some(struct lh_feed *feed)
{
    const char *why;
    for (;;) {
        enum lh_feed_event event = take_in(feed);
        if (event != LH_FEED_QUIET)
            return event;
        ssize_t size =
            lh_socket_receive(feed->fd, feed->in + feed->in_used, IN_BYTES - feed->in_used, &why);
        if (size < 0)
            return give_up(feed, LH_REACH_BROKEN, why);
        if (size == 0)
            return LH_FEED_QUIET;
        feed->in_used += (size_t)size;
        feed->heard = feed->begun = true;
        feed->pinged = false;
        feed->wake_at = lh_after(lh_clock_now(), (struct lh_duration){feed->silence.ns / 2});
    }
}

// A daemon that says nothing for half of the time is asked whether it is there.
static enum lh_feed_event mind_silence(struct lh_feed *feed)
{
    if (lh_before(lh_clock_now(), feed->wake_at))
        return LH_FEED_QUIET;
    if (feed->connecting || feed->pinged || feed->out_bytes > 0)
        return give_up(feed, feed->connecting ? LH_REACH_NOBODY : LH_REACH_SILENCE,
                       "no answer in time");
    feed->pinged = true;
    feed->wake_at = lh_after(lh_clock_now(), (struct lh_duration){feed->silence.ns / 2});
    feed->out = (const uint8_t *)ping;
    feed->out_bytes = sizeof ping - 1;
    return send_some(feed);
}

enum lh_feed_event lh_feed_next(struct lh_feed *feed)
{
    enum lh_feed_event event = LH_FEED_QUIET;
    enum lh_reach reach;
    const char *why;
    if (feed->fd < 0 && lh_before(lh_clock_now(), feed->wake_at))
        return LH_FEED_QUIET;
    if (feed->fd < 0)
        event = connect_to(feed);
    if (event == LH_FEED_QUIET && feed->connecting) {
        enum lh_socket_state state = lh_socket_connected(feed->fd, &reach, &why);
        feed->connecting = state == LH_SOCKET_CONNECTING;
        if (state == LH_SOCKET_FAILED)
            return give_up(feed, reach, why);
    }
    if (event == LH_FEED_QUIET && !feed->connecting)
        event = send_some(feed);
    if (event == LH_FEED_QUIET && !feed->connecting)
        event = receive_some(feed);
    return event == LH_FEED_QUIET ? mind_silence(feed) : event;
}

int lh_feed_fd(const struct lh_feed *feed)
{
    return feed->fd;
}

short lh_feed_events(const struct lh_feed *feed)
{
    return feed->connecting || feed->out_bytes > 0 ? POLLIN | POLLOUT : POLLIN;
}

struct lh_instant lh_feed_wake_at(const struct lh_feed *feed)
{
    return feed->wake_at;
}

struct lh_slice lh_feed_message(const struct lh_feed *feed)
{
    return feed->message;
}

unsigned lh_feed_connection(const struct lh_feed *feed)
{
    return feed->connection;
}

struct lh_duration lh_feed_share(const struct lh_feed *feed)
{
    return (struct lh_duration){feed->silence.ns / (int64_t)feed->endpoints.count};
}

size_t lh_feed_endpoint_count(const struct lh_feed *feed)
{
    return feed->endpoints.count;
}

bool lh_feed_from_environment(const struct lh_feed *feed)
{
    return feed->from_environment;
}

const char *lh_feed_endpoint(const struct lh_feed *feed)
{
    return feed->endpoints.items[feed->current].text;
}

const struct lh_trouble *lh_feed_trouble(const struct lh_feed *feed)
{
    return &feed->trouble;
}

bool lh_feed_heard(const struct lh_feed *feed)
{
    return feed->fd >= 0 && feed->heard;
}
