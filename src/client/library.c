// The public client of leasehold/client.h: gives each lease's keeper a socket, the clock and its
// turn. All that is decided is decided in keeper.c.
//
// What must stay true:
//   - a deadline is published, for threads that ask lh_lease_valid, before a callback runs and
//     before a byte is sent that depends on it: so a release is known here first (P6);
//   - callbacks run in lh_client_dispatch only, and may close or release any lease: what is closed
//     meanwhile is freed at the end of it;
//   - the timer only wakes; every decision reads the clock anew;
//   - a release that nobody answered is remembered for whoever acquires again under the holder that
//     the application chose: that closed lease is freed when a new one has taken the memory over.
#include "leasehold/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/authority.h"
#include "client/endpoint.h"
#include "client/holder.h"
#include "client/keeper.h"
#include "client/socket.h"
#include "os/clock.h"

#define PATIENCE_DEFAULT_MS 5000
#define EVENTS_AT_ONCE 64

struct lh_lease {
    struct lh_client *client;
    struct lh_lease *next;
    int fd;
    bool connecting;
    bool closed;     // to be freed at the end of the dispatch
    bool own_holder; // the application chose it, and may use it again
    uint32_t watched;
    _Atomic int64_t deadline_ns;
    _Atomic int64_t token;
    _Atomic int64_t pulse_ns;
    int64_t pulse_ms;
    lh_lease_callback *on_event;
    void *context;
    struct lh_keeper keeper;
};

struct lh_client {
    struct lh_endpoint_list endpoints;
    size_t endpoint; // where the last lease found an answer: the next one begins there
    int epoll_fd;
    int timer_fd;
    bool dispatching;
    bool trouble;        // a system call failed in this dispatch
    struct lh_error why; // the latest LH_ARGUMENT
    struct lh_lease *leases;
};

// --- the client ---

enum lh_return lh_client_open(const char *endpoints, struct lh_client **ret_client, char *ret_why,
                              size_t why_bytes)
{
    const char *variable = getenv("LEASEHOLD_CONNECT");
    struct lh_error error = {""};
    enum lh_return result = LH_OK;
    if (endpoints == NULL)
        endpoints = variable != NULL && variable[0] != '\0' ? variable : LH_ENDPOINT_DEFAULT;
    struct lh_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return LH_MEMORY;
    client->timer_fd = -1;
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (client->epoll_fd >= 0)
        client->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event timer = {.events = EPOLLIN, .data.ptr = NULL};
    if (client->timer_fd < 0 ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->timer_fd, &timer) != 0) {
        lh_error_set(&error, "no descriptor for epoll or timer: %s", strerror(errno));
        result = LH_SYSTEM;
    } else {
        result = lh_endpoint_list_parse(endpoints, &client->endpoints, &error);
    }
    if (result == LH_OK) {
        *ret_client = client;
        return LH_OK;
    }
    if (ret_why != NULL && why_bytes > 0)
        snprintf(ret_why, why_bytes, "%s", error.text);
    int failure = errno;
    lh_client_close(client);
    errno = failure;
    return result;
}

const char *lh_client_why(const struct lh_client *client)
{
    return client->why.text;
}

int lh_client_fd(const struct lh_client *client)
{
    return client->epoll_fd;
}

static void close_socket(struct lh_lease *lease)
{
    if (lease->fd >= 0)
        close(lease->fd); // which takes it out of the epoll set
    lease->fd = -1;
    lease->connecting = false;
    lease->watched = 0;
}

void lh_client_close(struct lh_client *client)
{
    if (client == NULL)
        return;
    while (client->leases != NULL) {
        struct lh_lease *lease = client->leases;
        client->leases = lease->next;
        close_socket(lease);
        free(lease);
    }
    if (client->timer_fd >= 0)
        close(client->timer_fd);
    if (client->epoll_fd >= 0)
        close(client->epoll_fd);
    free(client);
}

// --- one lease's turn ---

static void publish(struct lh_lease *lease)
{
    const struct lh_keeper *keeper = &lease->keeper;
    atomic_store(&lease->deadline_ns, lh_keeper_deadline(keeper).ns);
    if (!keeper->granted || atomic_load(&lease->token) != 0)
        return;
    atomic_store(&lease->pulse_ns, lh_clock_now().ns);
    atomic_store(&lease->token, keeper->holding.token);
}

static void ended(struct lh_lease *lease, enum lh_reach reach, const char *why)
{
    close_socket(lease);
    lh_keeper_ended(&lease->keeper, lh_clock_now(), reach, why);
}

static void take_connection(struct lh_lease *lease, enum lh_socket_state state, enum lh_reach reach,
                            const char *why)
{
    lease->connecting = state == LH_SOCKET_CONNECTING;
    if (state == LH_SOCKET_CONNECTED)
        lh_keeper_connected(&lease->keeper, lh_clock_now());
    else if (state == LH_SOCKET_FAILED)
        ended(lease, reach, why);
}

static void connect_socket(struct lh_lease *lease)
{
    const struct lh_endpoint *endpoint = &lease->client->endpoints.items[lease->keeper.endpoint];
    enum lh_reach reach = LH_REACH_NOBODY;
    const char *why = "";
    close_socket(lease);
    lh_keeper_name_endpoint(&lease->keeper, endpoint->text);
    enum lh_socket_state state = lh_socket_connect(endpoint, &lease->fd, &reach, &why);
    take_connection(lease, state, reach, why);
}

// False if the kernel takes no more now.
static bool write_socket(struct lh_lease *lease)
{
    const char *why = "";
    struct lh_slice bytes = lh_keeper_output(&lease->keeper, lh_clock_now());
    ssize_t size = lh_socket_send(lease->fd, bytes, &why);
    if (size > 0)
        lh_keeper_wrote(&lease->keeper, (size_t)size);
    if (size < 0)
        ended(lease, LH_REACH_BROKEN, why);
    return size != 0;
}

static void read_socket(struct lh_lease *lease)
{
    const char *why = "";
    size_t room;
    uint8_t *at = lh_keeper_input(&lease->keeper, &room);
    ssize_t size = lh_socket_receive(lease->fd, at, room, &why);
    if (size > 0)
        lh_keeper_received(&lease->keeper, lh_clock_now(), (size_t)size);
    else if (size < 0)
        ended(lease, LH_REACH_BROKEN, why);
}

static void watch_socket(struct lh_lease *lease)
{
    bool out = lease->connecting || lh_stream_has_output(&lease->keeper.stream);
    struct epoll_event wanted = {.events = out ? EPOLLOUT : EPOLLIN, .data.ptr = lease};
    if (lease->fd < 0 || lease->watched == wanted.events)
        return;
    int how = lease->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(lease->client->epoll_fd, how, lease->fd, &wanted) != 0) {
        lease->client->trouble = true;
        ended(lease, LH_REACH_NOBODY, "the socket cannot be watched");
        return;
    }
    lease->watched = wanted.events;
}

// Does with the connection whatever the keeper wishes and can be done without waiting.
static void carry(struct lh_lease *lease)
{
    bool going = true;
    while (going) {
        publish(lease);
        switch (lh_keeper_wish(&lease->keeper)) {
        case LH_KEEPER_NOTHING: going = false; break;
        case LH_KEEPER_CONNECT: connect_socket(lease); break;
        case LH_KEEPER_DISCONNECT: close_socket(lease); break;
        case LH_KEEPER_WRITE: going = write_socket(lease); break;
        }
    }
    watch_socket(lease);
    publish(lease);
}

static void take_interest(struct lh_lease *lease)
{
    if (lease->pulse_ms > 0 && atomic_load(&lease->token) != 0)
        lh_keeper_interest(
            &lease->keeper,
            lh_after((struct lh_instant){atomic_load(&lease->pulse_ns)}, lh_ms(lease->pulse_ms)));
}

static void take_input(struct lh_lease *lease)
{
    enum lh_reach reach = LH_REACH_NOBODY;
    const char *why = "";
    take_interest(lease);
    if (lease->connecting) {
        enum lh_socket_state state = lh_socket_connected(lease->fd, &reach, &why);
        take_connection(lease, state, reach, why);
    } else if ((lease->watched & EPOLLOUT) == 0) {
        read_socket(lease);
    }
    carry(lease);
}

// --- events ---

static enum lh_lease_event_kind kind_of(enum lh_keeper_event_kind kind)
{
    switch (kind) {
    case LH_KEEPER_GRANTED: return LH_LEASE_GRANTED;
    case LH_KEEPER_OWNER: return LH_LEASE_OWNER;
    case LH_KEEPER_NOT_ACQUIRED: return LH_LEASE_NOT_ACQUIRED;
    case LH_KEEPER_ENDANGERED: return LH_LEASE_ENDANGERED;
    case LH_KEEPER_LOST: return LH_LEASE_LOST;
    case LH_KEEPER_WAS_RELEASED: break;
    }
    return LH_LEASE_RELEASED;
}

static enum lh_lease_cause cause_of(enum lh_keeper_cause cause)
{
    switch (cause) {
    case LH_KEEPER_NO_CAUSE: break;
    case LH_KEEPER_BY_HOLDER: return LH_CAUSE_HELD;
    case LH_KEEPER_BY_QUORUM: return LH_CAUSE_EXPIRED;
    case LH_KEEPER_BY_REFUSAL: return LH_CAUSE_REFUSED;
    case LH_KEEPER_BY_REVOKE: return LH_CAUSE_REVOKED;
    case LH_KEEPER_BY_STALL: return LH_CAUSE_STALLED;
    case LH_KEEPER_BY_NODE: return LH_CAUSE_NODE_GONE;
    case LH_KEEPER_BY_NEGLECT: return LH_CAUSE_NEGLECTED;
    case LH_KEEPER_BY_OTHER: return LH_CAUSE_NOT_OWNER;
    }
    return LH_CAUSE_NONE;
}

static void deliver(struct lh_lease *lease)
{
    struct lh_keeper_event from;
    while (!lease->closed && lh_keeper_event(&lease->keeper, &from)) {
        int64_t free_ns = from.free_in.ns;
        struct lh_lease_event event = {
            .kind = kind_of(from.kind),
            .cause = cause_of(from.cause),
            .token = from.token,
            .node = from.node,
            .stalled_ms = lh_floor_ms(from.stalled),
            .free_in_ms = free_ns / LH_NS_PER_MS + (free_ns % LH_NS_PER_MS != 0),
            .holder = from.holder,
            .last_token = from.last_token,
            .last_holder = from.last_holder,
            .reason = from.reason,
        };
        if (from.kind == LH_KEEPER_GRANTED)
            lease->client->endpoint = lease->keeper.endpoint;
        if (lease->on_event != NULL)
            lease->on_event(lease, &event, lease->context);
    }
}

// --- the dispatch ---

static bool remembers(const struct lh_lease *lease)
{
    return lease->own_holder && lh_keeper_released(&lease->keeper) > 0;
}

// What is remembered of earlier leases under this name and holder; they need not any more.
static int64_t take_over_released(struct lh_client *client, const char *name, const char *holder)
{
    int64_t released = 0;
    for (struct lh_lease *lease = client->leases; lease != NULL; lease = lease->next) {
        const struct lh_holding *holding = &lease->keeper.holding;
        if (!remembers(lease) || strcmp(holding->name, name) != 0 ||
            strcmp(holding->holder, holder) != 0)
            continue;
        if (lh_keeper_released(&lease->keeper) > released)
            released = lh_keeper_released(&lease->keeper);
        lease->own_holder = false;
    }
    return released;
}

static void free_closed(struct lh_client *client)
{
    struct lh_lease **link = &client->leases;
    while (*link != NULL) {
        struct lh_lease *lease = *link;
        if (!lease->closed || remembers(lease)) {
            link = &lease->next;
            continue;
        }
        *link = lease->next;
        free(lease);
    }
}

// Makes the descriptor readable when the first lease wants its turn, at once if an event waits.
static void arm(struct lh_client *client)
{
    struct lh_instant wake = LH_NEVER;
    for (struct lh_lease *lease = client->leases; lease != NULL; lease = lease->next) {
        if (lease->closed)
            continue;
        wake = lh_earlier(wake, lh_keeper_wake_at(&lease->keeper));
        if (lease->keeper.event_count > 0)
            wake = LH_PAST;
    }
    struct itimerspec when = {.it_value = {0}};
    int64_t wake_ns = wake.ns > 0 ? wake.ns : 1; // 0 would disarm
    if (lh_before(wake, LH_NEVER)) {
        when.it_value.tv_sec = wake_ns / LH_NS_PER_S;
        when.it_value.tv_nsec = wake_ns % LH_NS_PER_S;
    }
    if (timerfd_settime(client->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) != 0)
        client->trouble = true;
}

enum lh_return lh_client_dispatch(struct lh_client *client)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    if (client->dispatching)
        return LH_STATE;
    client->dispatching = true;
    client->trouble = false;
    int count = epoll_wait(client->epoll_fd, events, EVENTS_AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        struct lh_lease *lease = events[i].data.ptr;
        if (lease != NULL && !lease->closed)
            take_input(lease);
    }
    // A callback may add leases, in front, and close any: those stay in the list until the end.
    for (struct lh_lease *lease = client->leases; lease != NULL; lease = lease->next) {
        if (lease->closed)
            continue;
        take_interest(lease);
        lh_keeper_turn(&lease->keeper, lh_clock_now());
        carry(lease);
        deliver(lease);
    }
    free_closed(client);
    client->dispatching = false;
    arm(client);
    if (count < 0 && errno != EINTR)
        client->trouble = true;
    return client->trouble ? LH_SYSTEM : LH_OK;
}

// --- leases ---

static bool check_least(const char *option, int64_t given, int64_t least, struct lh_error *error)
{
    return given >= least ||
           lh_error_set(error, "%s %" PRId64 " is too small: give at least %" PRId64, option, given,
                        least);
}

static bool read_options(const struct lh_lease_options *given, struct lh_lease_options *ret,
                         struct lh_error *error)
{
    *ret = (struct lh_lease_options){.size_bytes = sizeof *ret};
    if (given == NULL)
        return true;
    if (given->size_bytes < sizeof *ret)
        return lh_error_set(error,
                            "size_bytes %zu is too small: set it to sizeof(struct "
                            "lh_lease_options), which is %zu",
                            given->size_bytes, sizeof *ret);
    *ret = *given;
    return check_least("ttl_ms", ret->ttl_ms, 0, error) &&
           check_least("wait_ms", ret->wait_ms, LH_WAIT_WITHOUT_END, error) &&
           check_least("patience_ms", ret->patience_ms, 0, error) &&
           check_least("pulse_ms", ret->pulse_ms, 0, error) &&
           (ret->holder == NULL || lh_holder_check(ret->holder, error));
}

static enum lh_return open_lease(struct lh_client *client, const char *name, int64_t token,
                                 const struct lh_lease_options *given, struct lh_lease **ret_lease)
{
    struct lh_lease_options options;
    char holder[LH_HOLDER_MAX_BYTES + 1];
    if (!lh_name_check(name, &client->why) || !read_options(given, &options, &client->why))
        return LH_ARGUMENT;
    if (token != 0 && options.holder == NULL) {
        lh_error_set(&client->why,
                     "holder is NULL: give the one that token %" PRId64 " was granted to", token);
        return LH_ARGUMENT;
    }
    struct lh_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL)
        return LH_MEMORY;
    if (options.holder == NULL)
        lh_holder_make(holder);
    struct lh_keeper_plan plan = {
        .name = name,
        .holder = options.holder != NULL ? options.holder : holder,
        .token = token,
        .ttl = lh_ms(options.ttl_ms),
        .wait = options.wait_ms < 0 ? (struct lh_duration){INT64_MAX} : lh_ms(options.wait_ms),
        .patience = lh_ms(options.patience_ms > 0 ? options.patience_ms : PATIENCE_DEFAULT_MS),
        .endpoint_count = client->endpoints.count,
        .endpoint = client->endpoint,
        .seed = lh_random_bits(),
    };
    if (options.holder != NULL)
        plan.released = take_over_released(client, name, options.holder);
    lease->client = client;
    lease->own_holder = options.holder != NULL;
    lease->fd = -1;
    lease->pulse_ms = options.pulse_ms;
    lease->on_event = options.on_event;
    lease->context = options.context;
    lh_keeper_init(&lease->keeper, &plan, lh_clock_now());
    lease->next = client->leases;
    client->leases = lease;
    *ret_lease = lease;
    carry(lease);
    if (!client->dispatching)
        arm(client);
    return LH_OK;
}

enum lh_return lh_lease_acquire(struct lh_client *client, const char *name,
                                const struct lh_lease_options *options, struct lh_lease **ret_lease)
{
    return open_lease(client, name, 0, options, ret_lease);
}

enum lh_return lh_lease_resume(struct lh_client *client, const char *name, int64_t token,
                               const struct lh_lease_options *options, struct lh_lease **ret_lease)
{
    if (!check_least("token", token, 1, &client->why))
        return LH_ARGUMENT;
    return open_lease(client, name, token, options, ret_lease);
}

void lh_lease_release(struct lh_lease *lease)
{
    if (lease->closed)
        return;
    lh_keeper_release(&lease->keeper, lh_clock_now());
    carry(lease);
    if (!lease->client->dispatching)
        arm(lease->client);
}

void lh_lease_close(struct lh_lease *lease)
{
    if (lease == NULL || lease->closed)
        return;
    close_socket(lease);
    lease->closed = true;
    atomic_store(&lease->deadline_ns, LH_PAST.ns);
    if (!lease->client->dispatching)
        free_closed(lease->client);
}

bool lh_lease_valid(const struct lh_lease *lease)
{
    struct lh_instant deadline = {atomic_load(&lease->deadline_ns)};
    return lh_authority_at(deadline, lh_clock_now());
}

int64_t lh_lease_remaining_ns(const struct lh_lease *lease)
{
    struct lh_instant deadline = {atomic_load(&lease->deadline_ns)};
    return lh_left(lh_clock_now(), deadline).ns;
}

int64_t lh_lease_token(const struct lh_lease *lease)
{
    return atomic_load(&lease->token);
}

void lh_lease_pulse(struct lh_lease *lease)
{
    atomic_store(&lease->pulse_ns, lh_clock_now().ns);
}

const char *lh_lease_name(const struct lh_lease *lease)
{
    return lease->keeper.holding.name;
}

const char *lh_lease_holder(const struct lh_lease *lease)
{
    return lease->keeper.holding.holder;
}
