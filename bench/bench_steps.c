// What a command costs a node that has many leases: the pure host in this process, as a cluster of
// one, so that no other process, socket or disk has a part in it. Times are of this thread's
// processor time and of a whole command with all its messages.
//
// The same sequence is run ROUNDS times, and of each command in it the least time counts: what the
// machine did meanwhile (bench_leases has the turns of a real daemon, with it) does not come thrice at
// the same place, and what the node itself does now and then for many leases does. So the slowest
// can be told, and nothing need be left out.
#include <stdio.h>
#include <time.h>

#include "../tests/unit/lone_host.h"
#include "bench.h"

#define TTL_MS (20 * 60 * 1000)
#define SAMPLES 20000
#define ROUNDS 3

enum client { WORKER, HOLDER };

// Of each command of the sequence, in its order.
struct times {
    float *least_us;
    size_t room;
    size_t next; // in the running round
    int round;
};

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void note(struct times *times, double begun_us)
{
    float took_us = (float)(cpu_us() - begun_us);
    if (times->next == times->room)
        bench_die("a round has more than %zu commands", times->room);
    float *least_us = &times->least_us[times->next++];
    if (times->round == 0 || took_us < *least_us)
        *least_us = took_us;
}

static double slowest(const struct times *times, size_t from, size_t count)
{
    float slowest_us = 0;
    for (size_t i = from; i < from + count; i++)
        if (times->least_us[i] > slowest_us)
            slowest_us = times->least_us[i];
    return slowest_us;
}

static long long last_token(const struct lone_host *lone, enum client client)
{
    static struct lh_resp_value values[64];
    struct lh_resp_reply_parser parser;
    size_t consumed;
    const struct lone_client *from = &lone->clients[client];
    lh_resp_reply_parser_init(&parser, values, 64, LONE_OUTPUT_BYTES);
    int64_t token = 0;
    if (lh_resp_reply_parse(&parser, from->output, from->used, &consumed) != LH_RESP_COMPLETE ||
        !lh_resp_as_integer(lh_resp_get(&values[0], "token"), &token))
        bench_die("not granted: %.*s", (int)from->used, (const char *)from->output);
    return token;
}

static void renew(struct lone_host *lone, const int64_t *tokens, uint64_t live, uint64_t i)
{
    uint64_t lease = i * 2654435761u % live;
    lone_tell(lone, HOLDER, "LEASE RENEW lease-%07llu %lld bench\r\n", (unsigned long long)lease,
              (long long)tokens[lease]);
}

static void come_and_go(struct lone_host *lone, const int64_t *tokens, uint64_t live, uint64_t i)
{
    (void)tokens;
    (void)live;
    lone_tell(lone, WORKER, "LEASE ACQUIRE passing-%llu TTL 10s HOLDER bench\r\n",
              (unsigned long long)(i % 20));
    lone_tell(lone, WORKER, "LEASE RELEASE passing-%llu %lld bench\r\n",
              (unsigned long long)(i % 20), last_token(lone, WORKER));
}

static void list(struct lone_host *lone, const int64_t *tokens, uint64_t live, uint64_t i)
{
    (void)tokens;
    (void)live;
    (void)i;
    lone_tell(lone, WORKER, "LEASE LIST COUNT 20\r\n");
}

static void status(struct lone_host *lone, const int64_t *tokens, uint64_t live, uint64_t i)
{
    (void)tokens;
    (void)live;
    (void)i;
    lone_tell(lone, WORKER, "CLUSTER STATUS\r\n");
}

static const struct {
    const char *name;
    void (*run)(struct lone_host *lone, const int64_t *tokens, uint64_t live, uint64_t i);
} commands[] = {
    {"renew", renew}, {"acquire and release", come_and_go}, {"list 20", list}, {"status", status}};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

// What is run: with each of these numbers of leases, reached by as many grants, so many of each command.
struct sequence {
    const uint64_t *live;
    size_t sizes;
    size_t samples;
};

static void grant(struct lone_host *lone, struct times *times, int64_t *tokens, uint64_t lease)
{
    double begun = cpu_us();
    lone_tell(lone, HOLDER,
              "LEASE ACQUIRE lease-%07llu TTL 20m HOLDER bench ON-DISCONNECT release\r\n",
              (unsigned long long)lease);
    note(times, begun);
    tokens[lease] = last_token(lone, HOLDER);
}

// All leases are bound to one connection, whose client ends: that step, and those that let them go.
static void end_holder(struct lone_host *lone, struct times *times)
{
    double begun = cpu_us();
    lone_input(lone,
               (struct lh_host_input){.kind = LH_INPUT_CLOSE, .session = HOLDER, .ended = true});
    note(times, begun);
    lone->clients[HOLDER].open = false;
    while (lone->host->machine.held > 0) {
        begun = cpu_us();
        lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_TIMER});
        note(times, begun);
        lone_settle(lone);
    }
}

static void run_round(const struct sequence *sequence, struct times *times, int64_t *tokens)
{
    uint64_t live = 0;
    uint32_t most = (uint32_t)sequence->live[sequence->sizes - 1];
    struct lone_host *lone = lone_host_open_for(lh_ms(TTL_MS), most + most / 10);
    times->next = 0;
    for (unsigned client = 0; client < 2; client++)
        lone_connect(lone, client);
    for (size_t size = 0; size < sequence->sizes; size++) {
        for (; live < sequence->live[size]; live++)
            grant(lone, times, tokens, live);
        for (unsigned command = 0; command < COMMANDS; command++)
            for (size_t i = 0; i < sequence->samples; i++) {
                double begun = cpu_us();
                commands[command].run(lone, tokens, live, i);
                note(times, begun);
                lone_advance(lone, 1);
            }
    }
    end_holder(lone, times);
    lone_host_close(lone);
}

static void figure(const char *what, uint64_t live, double us, double few_us)
{
    char name[64];
    snprintf(name, sizeof name, "%s, %llu leases", what, (unsigned long long)live);
    bench_figure(name, us, "us", few_us, BENCH_NO_GOAL, 0);
}

// The places are those of run_round.
static void say(const struct sequence *sequence, const struct times *times)
{
    double few_us[COMMANDS];
    uint64_t live = 0;
    size_t at = 0;
    char name[64];
    for (size_t size = 0; size < sequence->sizes; size++) {
        size_t grants = (size_t)(sequence->live[size] - live);
        live = sequence->live[size];
        figure("slowest grant up to", live, slowest(times, at, grants), 0);
        at += grants;
        for (unsigned command = 0; command < COMMANDS; command++) {
            double us = slowest(times, at, sequence->samples);
            at += sequence->samples;
            if (size == 0)
                few_us[command] = us;
            figure(commands[command].name, live, us, size == 0 ? 0 : few_us[command]);
        }
    }
    figure("their holder ends", live, times->least_us[at], 0);
    figure("a step that lets some go", live, slowest(times, at + 1, times->next - at - 1), 0);
    snprintf(name, sizeof name, "slowest of all, %llu leases", (unsigned long long)live);
    bench_figure(name, slowest(times, 0, times->next), "us", 0, BENCH_AT_MOST, 1000);
}

int main(void)
{
    static const uint64_t full[] = {1000, 100000, 1000000}, tiny[] = {100, 1000};
    struct sequence sequence = {full, sizeof full / sizeof full[0], SAMPLES};
    if (bench_is_tiny())
        sequence = (struct sequence){tiny, sizeof tiny / sizeof tiny[0], 100};
    uint64_t most = sequence.live[sequence.sizes - 1];
    struct times times = {.room = 2 * most + sequence.sizes * COMMANDS * sequence.samples + 1};
    int64_t *tokens = calloc(most, sizeof *tokens);
    times.least_us = calloc(times.room, sizeof *times.least_us);
    if (tokens == NULL || times.least_us == NULL)
        bench_die("out of memory");
    for (; times.round < ROUNDS; times.round++)
        run_round(&sequence, &times, tokens);
    say(&sequence, &times);
    free(times.least_us);
    free(tokens);
    return 0;
}
