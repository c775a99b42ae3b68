// How long a client waits for a lease, beside what the machine needs for the same bytes without the
// protocol.
//
// The floors are plain epoll programs: rounds of datagrams from one process to two others, over when
// the first answers, since the asker is the third of the quorum; and round trips over a Unix socket.
// They and the daemon are measured in turns, in small blocks, so that whatever else the machine does
// disturbs all alike. A goal is about the sum of the medians of floors that an operation consists of.
// Beside that stands the same chain of processes without a protocol: a request over a Unix socket, for
// which one process holds two rounds, or one, before it answers.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cursor.h"
#include "cluster.h"
#include "host/protocol.h"
#include "lease/message.h"
#include "node/seal.h"

#define PEERS 2
#define DATAGRAM_MAX 512
#define TEXT_BYTES 512

// --- a round of datagrams ---

// What a datagram of the floors begins with; the rest is padding.
struct mark {
    uint32_t round, answer_bytes;
};

struct asker {
    int file, epoll;
    uint32_t round;
    struct sockaddr_in peers[PEERS];
};

struct exchange {
    size_t asked_bytes, answered_bytes;
};

static int udp_socket(struct sockaddr_in *ret_address)
{
    socklen_t size = sizeof *ret_address;
    *ret_address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0 || bind(file, (struct sockaddr *)ret_address, size) != 0 ||
        getsockname(file, (struct sockaddr *)ret_address, &size) != 0)
        bench_die("no socket for datagrams: %s", strerror(errno));
    return file;
}

static int epoll_of(int file)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = file}};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) != 0)
        bench_die("no epoll: %s", strerror(errno));
    return epoll;
}

// False if only a second of the alarm has passed.
static bool await(int epoll)
{
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, -1) > 0;
}

static void on_alarm(int number)
{
    (void)number;
}

// From now on nothing waits for longer than a second at a time.
static void set_alarm(void)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval second = {{.tv_sec = 1}, {.tv_sec = 1}};
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &second, NULL) != 0)
        bench_die("no alarm: %s", strerror(errno));
}

static void answer_datagrams(void *context)
{
    int file = *(int *)context, epoll = epoll_of(file);
    uint8_t bytes[DATAGRAM_MAX] = {0};
    for (;;) {
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        await(epoll);
        while (recvfrom(file, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size) > 0) {
            struct mark mark;
            memcpy(&mark, bytes, sizeof mark);
            sendto(file, bytes, mark.answer_bytes, 0, (struct sockaddr *)&from, size);
        }
    }
}

static void open_asker(struct asker *asker, const struct sockaddr_in *peers)
{
    struct sockaddr_in own;
    *asker = (struct asker){.file = udp_socket(&own)};
    asker->epoll = epoll_of(asker->file);
    memcpy(asker->peers, peers, sizeof asker->peers);
}

static void ask_peers(const struct asker *asker, struct mark mark, size_t size)
{
    uint8_t bytes[DATAGRAM_MAX] = {0};
    memcpy(bytes, &mark, sizeof mark);
    for (unsigned i = 0; i < PEERS; i++)
        sendto(asker->file, bytes, size, 0, (struct sockaddr *)&asker->peers[i],
               sizeof asker->peers[i]);
}

// On a machine with much else to do the answers of a peer that lags fill the socket, and others are
// lost: so what is not answered is asked again.
static void hold_round(struct asker *asker, struct exchange exchange)
{
    uint8_t bytes[DATAGRAM_MAX];
    struct mark mark = {++asker->round, (uint32_t)exchange.answered_bytes}, heard = {0};
    ask_peers(asker, mark, exchange.asked_bytes);
    while (heard.round != mark.round) {
        ssize_t got = recv(asker->file, bytes, sizeof bytes, 0); // an answer to an older round, too
        if (got >= (ssize_t)sizeof heard)
            memcpy(&heard, bytes, sizeof heard);
        else if (!await(asker->epoll))
            ask_peers(asker, mark, exchange.asked_bytes);
    }
}

// --- a round trip over a Unix socket, with rounds of datagrams behind it or without ---

struct stream_mark {
    uint32_t asked_bytes, answered_bytes, rounds;
    struct exchange exchanges[2];
};

struct answerer {
    int file;
    struct sockaddr_in peers[PEERS];
};

static void answer_stream(void *context)
{
    struct answerer *self = context;
    uint8_t bytes[2 * TEXT_BYTES] = {0};
    struct asker asker;
    int epoll = epoll_of(self->file);
    open_asker(&asker, self->peers);
    set_alarm();
    for (;;) {
        struct stream_mark mark;
        while (!await(epoll))
            continue;
        if (read(self->file, bytes, sizeof bytes) <= 0)
            return;
        memcpy(&mark, bytes, sizeof mark);
        for (uint32_t i = 0; i < mark.rounds; i++)
            hold_round(&asker, mark.exchanges[i]);
        if (write(self->file, bytes, mark.answered_bytes) < 0)
            return;
    }
}

static void trip(int file, int epoll, const struct stream_mark *mark)
{
    uint8_t bytes[2 * TEXT_BYTES] = {0};
    memcpy(bytes, mark, sizeof *mark);
    if (write(file, bytes, mark->asked_bytes) < 0)
        bench_die("a floor ended: %s", strerror(errno));
    while (!await(epoll))
        continue;
    if (read(file, bytes, sizeof bytes) <= 0)
        bench_die("a floor ended");
}

// --- what is measured ---

enum series {
    PREPARE_ROUND,
    ACCEPT_ROUND,
    EXTEND_ROUND,
    ACQUIRE_TRIP,
    RENEW_TRIP,
    RELEASE_TRIP,
    ACQUIRE_CHAIN,
    RENEW_CHAIN,
    ACQUIRE,
    RENEW,
    RELEASE,
    SERIES,
};

static const char *const names[SERIES] = {
    "UDP round, Prepare",
    "UDP round, Accept",
    "UDP round, Extend",
    "socket, acquire",
    "socket, renew",
    "socket, release",
    "chain, acquire",
    "chain, renew",
    "acquire",
    "renew",
    "release",
};

struct latency {
    struct bench_cluster cluster;
    struct bench_asker client;
    struct asker asker;
    int file, epoll; // of the floor over a Unix socket
    size_t blocks, block, count;
    double *samples[SERIES]; // us
    struct stream_mark marks[SERIES];
    struct exchange exchanges[SERIES];
};

static size_t sealed_bytes(enum lh_message_kind kind)
{
    uint8_t bytes[DATAGRAM_MAX];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    struct lh_message message = {.kind = kind, .ttl = lh_ms(10000), .refused = LH_MESSAGE_PREPARE};
    lh_message_encode(&writer, &message);
    return LH_SEAL_OVERHEAD_BYTES + LH_HEADER_BYTES + lh_writer_size_bytes(&writer);
}

// The bytes of one real operation of each kind are those of the floors.
static void learn_sizes(struct latency *run, int64_t *token)
{
    const struct lh_resp_value *reply;
    struct stream_mark *marks = run->marks;
    char request[TEXT_BYTES];
    static const struct {
        enum series series;
        enum lh_message_kind asked, answered;
    } rounds[] = {
        {PREPARE_ROUND, LH_MESSAGE_PREPARE, LH_MESSAGE_PROMISE},
        {ACCEPT_ROUND, LH_MESSAGE_ACCEPT, LH_MESSAGE_ACCEPTED},
        {EXTEND_ROUND, LH_MESSAGE_EXTEND, LH_MESSAGE_EXTENDED},
    };
    for (unsigned i = 0; i < 3; i++)
        run->exchanges[rounds[i].series] =
            (struct exchange){sealed_bytes(rounds[i].asked), sealed_bytes(rounds[i].answered)};

    reply = bench_ask(&run->client, "LEASE ACQUIRE size TTL 10s HOLDER bench");
    bench_expect(reply, "granted");
    *token = bench_number(reply, "token");
    marks[ACQUIRE_TRIP].asked_bytes = (uint32_t)bench_request(
        request, sizeof request, "LEASE ACQUIRE latency-00000000 TTL 10s HOLDER bench");
    marks[ACQUIRE_TRIP].answered_bytes = (uint32_t)run->client.reply_bytes;
    reply = bench_ask(&run->client, "LEASE RENEW size %lld bench", (long long)*token);
    bench_expect(reply, "granted");
    marks[RENEW_TRIP].asked_bytes = (uint32_t)bench_request(
        request, sizeof request, "LEASE RENEW latency-00000000 123456789 bench");
    marks[RENEW_TRIP].answered_bytes = (uint32_t)run->client.reply_bytes;
    reply = bench_ask(&run->client, "LEASE RELEASE size %lld bench", (long long)*token);
    bench_expect(reply, "released");
    marks[RELEASE_TRIP] = marks[RENEW_TRIP];
    marks[RELEASE_TRIP].answered_bytes = (uint32_t)run->client.reply_bytes;

    marks[ACQUIRE_CHAIN] = marks[ACQUIRE_TRIP];
    marks[ACQUIRE_CHAIN].rounds = 2;
    marks[ACQUIRE_CHAIN].exchanges[0] = run->exchanges[PREPARE_ROUND];
    marks[ACQUIRE_CHAIN].exchanges[1] = run->exchanges[ACCEPT_ROUND];
    marks[RENEW_CHAIN] = marks[RENEW_TRIP];
    marks[RENEW_CHAIN].rounds = 1;
    marks[RENEW_CHAIN].exchanges[0] = run->exchanges[EXTEND_ROUND];
    // The mark travels in the request, which has room for it.
    for (unsigned i = 0; i < SERIES; i++)
        if (marks[i].asked_bytes > 0 && marks[i].asked_bytes < sizeof *marks)
            marks[i].asked_bytes = sizeof *marks;
}

static void open_floors(struct latency *run)
{
    static int files[PEERS];
    static struct answerer answerer;
    int ends[2];
    for (unsigned i = 0; i < PEERS; i++) {
        files[i] = udp_socket(&answerer.peers[i]);
        bench_fork(answer_datagrams, &files[i]);
    }
    open_asker(&run->asker, answerer.peers);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        bench_die("no socket: %s", strerror(errno));
    answerer.file = ends[1];
    bench_fork(answer_stream, &answerer);
    run->file = ends[0];
    run->epoll = epoll_of(run->file);
}

static void once(struct latency *run, enum series series, int64_t *tokens, size_t i)
{
    char command[TEXT_BYTES] = "", request[TEXT_BYTES];
    size_t size = 0;
    if (series == ACQUIRE)
        snprintf(command, sizeof command, "LEASE ACQUIRE latency-%08zu TTL 10s HOLDER bench", i);
    else if (series == RENEW || series == RELEASE)
        snprintf(command, sizeof command, "LEASE %s latency-%08zu %lld bench",
                 series == RENEW ? "RENEW" : "RELEASE", i, (long long)tokens[i]);
    if (series >= ACQUIRE)
        size = bench_request(request, sizeof request, command);

    const struct lh_resp_value *reply = NULL;
    int64_t start = bench_now_ns();
    if (series <= EXTEND_ROUND)
        hold_round(&run->asker, run->exchanges[series]);
    else if (series < ACQUIRE)
        trip(run->file, run->epoll, &run->marks[series]);
    else
        reply = bench_ask_bytes(&run->client, request, size);
    run->samples[series][i] = (double)(bench_now_ns() - start) / 1000;
    if (reply != NULL)
        bench_expect(reply, series == RELEASE ? "released" : "granted");
    if (series == ACQUIRE)
        tokens[i] = bench_number(reply, "token");
}

static void measure(struct latency *run, int64_t *tokens)
{
    for (size_t block = 0; block < run->blocks; block++)
        for (unsigned series = 0; series < SERIES; series++)
            for (size_t i = 0; i < run->block; i++)
                once(run, series, tokens, block * run->block + i);
}

// --- what is said ---

static double at(struct latency *run, enum series series, double part)
{
    return bench_quantile(run->samples[series], run->count, part);
}

static void say(struct latency *run)
{
    static const double parts[] = {0.01, 0.05, 0.1, 0.2,  0.3,  0.4,  0.5,   0.6,
                                   0.7,  0.8,  0.9, 0.95, 0.98, 0.99, 0.995, 0.999};
    char name[64];
    double floor = 0;
    for (unsigned series = PREPARE_ROUND; series <= RELEASE_TRIP; series++)
        bench_figure(names[series], at(run, series, 0.5), "us", 0, BENCH_NO_GOAL, 0);
    floor = at(run, PREPARE_ROUND, 0.5) + at(run, ACCEPT_ROUND, 0.5) + at(run, ACQUIRE_TRIP, 0.5);
    bench_figure("chain, acquire", at(run, ACQUIRE_CHAIN, 0.5), "us", floor, BENCH_NO_GOAL, 0);
    bench_figure("acquire p50", at(run, ACQUIRE, 0.5), "us", floor, BENCH_AT_MOST, 1.25);
    bench_figure("acquire p50, to the chain", at(run, ACQUIRE, 0.5), "us",
                 at(run, ACQUIRE_CHAIN, 0.5), BENCH_NO_GOAL, 0);
    floor = at(run, EXTEND_ROUND, 0.5) + at(run, RENEW_TRIP, 0.5);
    bench_figure("chain, renew", at(run, RENEW_CHAIN, 0.5), "us", floor, BENCH_NO_GOAL, 0);
    bench_figure("renew p50", at(run, RENEW, 0.5), "us", floor, BENCH_AT_MOST, 1.25);
    bench_figure("renew p50, to the chain", at(run, RENEW, 0.5), "us", at(run, RENEW_CHAIN, 0.5),
                 BENCH_NO_GOAL, 0);
    bench_figure("release p50", at(run, RELEASE, 0.5), "us", at(run, RELEASE_TRIP, 0.5),
                 BENCH_NO_GOAL, 0);
    for (unsigned series = ACQUIRE; series <= RELEASE; series++) {
        unsigned floors = series == ACQUIRE ? ACQUIRE_CHAIN
                          : series == RENEW ? RENEW_CHAIN
                                            : RELEASE_TRIP;
        snprintf(name, sizeof name, "%s p99", names[series]);
        bench_figure(name, at(run, series, 0.99), "us", at(run, floors, 0.99), BENCH_NO_GOAL, 0);
    }
    for (unsigned series = ACQUIRE_CHAIN; series <= RELEASE; series++)
        for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
            bench_point("latency.tsv", names[series], at(run, series, parts[i]), parts[i]);
}

int main(void)
{
    static struct latency run;
    run.blocks = bench_is_tiny() ? 2 : 50;
    run.block = bench_is_tiny() ? 10 : 200;
    run.count = run.blocks * run.block;
    int64_t *tokens = calloc(run.count, sizeof *tokens);
    for (unsigned series = 0; series < SERIES; series++)
        run.samples[series] = calloc(run.count, sizeof *run.samples[series]);
    open_floors(&run);
    bench_cluster_start(&run.cluster, "max-leases = 100000\n");
    bench_asker_open(&run.client, run.cluster.nodes[0].socket);
    learn_sizes(&run, tokens);
    set_alarm();
    measure(&run, tokens);
    say(&run);
    bench_cluster_stop(&run.cluster);
    free(tokens);
    for (unsigned series = 0; series < SERIES; series++)
        free(run.samples[series]);
    return 0;
}
