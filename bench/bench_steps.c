// What a command costs a node that has many leases: the pure host in this process, as a cluster of
// one, so that no other process, socket or disk has a part in it. Times are of this thread's
// processor time and of a whole command with all its messages.
//
// bench_leases has the longest turn of a real daemon, which includes whatever the machine did
// meanwhile; here the same command is done often, and the slowest thousandth is left out, so that
// what is left grows only if the node looks at more.
#include <stdio.h>
#include <time.h>

#include "../tests/unit/lone_host.h"
#include "bench.h"

#define TTL_MS (20 * 60 * 1000)
#define SAMPLES 20000

enum client { WORKER, HOLDER };

static double samples[SAMPLES];

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
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

// Of each command what all but the slowest thousandth stay below.
static void measure(struct lone_host *lone, const int64_t *tokens, uint64_t live,
                    double ret_us[COMMANDS])
{
    size_t count = bench_is_tiny() ? 100 : SAMPLES;
    for (unsigned command = 0; command < COMMANDS; command++) {
        for (size_t i = 0; i < count; i++) {
            double begun = cpu_us();
            commands[command].run(lone, tokens, live, i);
            samples[i] = cpu_us() - begun;
            lone_advance(lone, 1);
        }
        ret_us[command] = bench_quantile(samples, count, 0.999);
    }
}

// All are bound to one connection whose client ends: what that step takes, and what all but the
// slowest thousandth of the first SAMPLES steps that let them go stay below.
static void end_holder(struct lone_host *lone, double *ret_end_us, double *ret_let_go_us)
{
    size_t count = 0;
    double begun = cpu_us();
    lone_input(lone,
               (struct lh_host_input){.kind = LH_INPUT_CLOSE, .session = HOLDER, .ended = true});
    *ret_end_us = cpu_us() - begun;
    lone->clients[HOLDER].open = false;
    while (lone->host->machine.held > 0) {
        begun = cpu_us();
        lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_TIMER});
        if (count < SAMPLES)
            samples[count++] = cpu_us() - begun;
        lone_settle(lone);
    }
    *ret_let_go_us = bench_quantile(samples, count, 0.999);
}

static void figure(const char *what, uint64_t live, double us, double few_us)
{
    char name[64];
    snprintf(name, sizeof name, "%s, %llu leases", what, (unsigned long long)live);
    bench_figure(name, us, "us", few_us, BENCH_NO_GOAL, 0);
}

int main(void)
{
    static const uint64_t full[] = {1000, 100000, 1000000}, tiny[] = {100, 1000};
    const bool is_tiny = bench_is_tiny();
    const uint64_t *counts = is_tiny ? tiny : full;
    const size_t sizes = is_tiny ? 2 : 3;
    const uint64_t most = counts[sizes - 1];
    struct lone_host *lone = lone_host_open_for(lh_ms(TTL_MS), (uint32_t)(most * 11 / 10));
    int64_t *tokens = calloc(most, sizeof *tokens);
    double few[COMMANDS], many[COMMANDS];
    uint64_t live = 0;
    for (unsigned client = 0; client < 2; client++)
        lone_connect(lone, client);
    for (size_t size = 0; size < sizes; size++) {
        for (; live < counts[size]; live++) {
            lone_tell(lone, HOLDER,
                      "LEASE ACQUIRE lease-%07llu TTL 20m HOLDER bench ON-DISCONNECT release\r\n",
                      (unsigned long long)live);
            tokens[live] = last_token(lone, HOLDER);
        }
        measure(lone, tokens, live, size == 0 ? few : many);
        for (unsigned command = 0; command < COMMANDS; command++)
            figure(commands[command].name, live, size == 0 ? few[command] : many[command],
                   size == 0 ? 0 : few[command]);
    }
    double end_us, let_go_us;
    end_holder(lone, &end_us, &let_go_us);
    figure("their holder ends", live, end_us, 0);
    figure("a step that lets some go", live, let_go_us, 0);
    free(tokens);
    lone_host_close(lone);
    return 0;
}
