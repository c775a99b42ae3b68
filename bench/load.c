// See load.h.
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define REQUEST_BYTES 1024
#define REPLY_BYTES 4096
#define VALUES 64
#define EVENTS 64

struct connection {
    int file;
    unsigned client;
    uint64_t replies; // of its client's rounds, so many are answered here
    size_t used;
    uint8_t bytes[REPLY_BYTES];
};

struct client {
    uint64_t operation, round;
    unsigned answered, good;
    bool waits;
    struct connection *connections; // as many as load->fan
};

struct run {
    const struct bench_load *load;
    int epoll;
    uint64_t issued, done;
    struct bench_load_result result;
    struct client *clients;
    struct connection *connections;
};

static void issue(struct run *run, struct client *client)
{
    const struct bench_load *load = run->load;
    char request[REQUEST_BYTES];
    client->waits = run->issued < load->operations;
    if (!client->waits)
        return;
    client->operation = load->first + run->issued++;
    client->round++;
    client->answered = client->good = 0;
    size_t size = load->request(load->context, client->operation, request, sizeof request);
    for (unsigned i = 0; i < load->fan; i++)
        if (write(client->connections[i].file, request, size) != (ssize_t)size)
            bench_die("a server takes no request: %s", strerror(errno));
}

// A reply to an operation that is over, because a majority had answered, is one too late.
static void take(struct run *run, struct connection *connection, const struct lh_resp_value *reply)
{
    const struct bench_load *load = run->load;
    struct client *client = &run->clients[connection->client];
    connection->replies++;
    if (!client->waits || connection->replies != client->round)
        return;
    client->answered++;
    client->good += load->is_good(load->context, client->operation, reply);
    bool is_good = client->good > load->fan / 2;
    if (!is_good && client->answered < load->fan)
        return;
    run->done++;
    if (is_good)
        run->result.good++;
    else
        run->result.bad++;
    issue(run, client);
}

static void receive(struct run *run, struct connection *connection)
{
    struct lh_resp_reply_parser parser;
    struct lh_resp_value values[VALUES];
    size_t at = 0, size = 0;
    ssize_t got = read(connection->file, connection->bytes + connection->used,
                       sizeof connection->bytes - connection->used);
    if (got <= 0)
        bench_die("a server ended a connection");
    connection->used += (size_t)got;
    for (;;) {
        lh_resp_reply_parser_init(&parser, values, VALUES, REPLY_BYTES);
        enum lh_resp_result result =
            lh_resp_reply_parse(&parser, connection->bytes + at, connection->used - at, &size);
        if (result == LH_RESP_MALFORMED)
            bench_die("a server answers nonsense: %s", parser.reason);
        if (result == LH_RESP_NEED_MORE)
            break;
        at += size;
        take(run, connection, &values[0]);
    }
    connection->used -= at;
    memmove(connection->bytes, connection->bytes + at, connection->used);
}

static void open_clients(struct run *run)
{
    const struct bench_load *load = run->load;
    run->epoll = epoll_create1(EPOLL_CLOEXEC);
    run->clients = calloc(load->clients, sizeof *run->clients);
    run->connections = calloc((size_t)load->clients * load->fan, sizeof *run->connections);
    if (run->epoll < 0 || run->clients == NULL || run->connections == NULL)
        bench_die("no memory for %u clients", load->clients);
    for (unsigned i = 0; i < load->clients * load->fan; i++) {
        struct connection *connection = &run->connections[i];
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = connection}};
        unsigned endpoint = load->fan > 1 ? i % load->fan : i % load->endpoints;
        connection->client = i / load->fan;
        connection->file = load->connect(load->context, endpoint);
        if (connection->file < 0 ||
            epoll_ctl(run->epoll, EPOLL_CTL_ADD, connection->file, &event) != 0)
            bench_die("connection %u to endpoint %u: %s", i, endpoint, strerror(errno));
    }
    for (unsigned i = 0; i < load->clients; i++)
        run->clients[i].connections = &run->connections[(size_t)i * load->fan];
}

static void close_clients(struct run *run)
{
    for (unsigned i = 0; i < run->load->clients * run->load->fan; i++)
        close(run->connections[i].file);
    close(run->epoll);
    free(run->clients);
    free(run->connections);
}

struct bench_load_result bench_load(const struct bench_load *load)
{
    struct run run = {.load = load};
    struct epoll_event events[EVENTS];
    open_clients(&run);
    int64_t start = bench_now_ns();
    for (unsigned i = 0; i < load->clients; i++)
        issue(&run, &run.clients[i]);
    while (run.done < load->operations) {
        int count = epoll_wait(run.epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++)
            receive(&run, events[i].data.ptr);
    }
    run.result.per_second = (double)run.result.good * 1e9 / (double)(bench_now_ns() - start);
    close_clients(&run);
    return run.result;
}
