// Leases inside a daemon of your own: three members in one process, each with its core, over a
// transport that is an array. A real daemon has one core, sends the same bytes in datagrams that it
// seals, and keeps one number on disk.
//
//     cc embed_core.c $(pkg-config --cflags --libs leasehold) -o embed_core
//     ./embed_core
//
// It acts out: member 1 acquires and renews, then falls silent; member 2 waits out what is left and
// takes over under a greater token; its own release lets member 3 in at once. Exit code 0 if so.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // CLOCK_BOOTTIME, signals
#endif
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <leasehold/core.h>

#define MEMBERS 3
#define TTL_MS 500
#define PACKETS 256

struct packet {
    uint8_t to;
    size_t size;
    unsigned char bytes[LH_CORE_MESSAGE_BYTES];
};

struct member {
    struct lh_core *core;
    void *memory;
    bool silent;         // it neither sends nor hears
    bool wants;          // try again whenever that may help
    int64_t try_at_ns;   // not before
    int64_t renew_at_ns; // of a lease it wants to keep
    int64_t token;       // of its last lease
    uint64_t on_disk;    // stands for a file that was fsynced
};

static struct member members[MEMBERS];
static struct packet packets[PACKETS];
static size_t packet_count;
static const struct lh_core_key key = {"the printer"};

// Read anew each time: never the time of the loop.
static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_event(unsigned i, const struct lh_core_event *event)
{
    struct member *member = &members[i];
    switch (event->kind) {
    case LH_CORE_ACQUIRED:
        printf("member %u acquired, token %" PRId64 "\n", i + 1, event->token);
        member->token = event->token;
        member->renew_at_ns = now_ns() + TTL_MS / 2 * INT64_C(1000000);
        break;
    case LH_CORE_RENEWED:
        printf("member %u renewed\n", i + 1);
        member->renew_at_ns = now_ns() + TTL_MS / 2 * INT64_C(1000000);
        break;
    case LH_CORE_LOST: printf("member %u lost it\n", i + 1); break;
    case LH_CORE_BLOCKED:
        printf("member %u waits for whoever holds it\n", i + 1);
        member->try_at_ns = event->at_ns;
        break;
    case LH_CORE_WOKEN: member->try_at_ns = event->at_ns; break;
    case LH_CORE_STALLED: break;
    case LH_CORE_RESERVE: // write it, fsync it, and only then:
        member->on_disk = event->reserve;
        lh_core_reserved(member->core, event->reserve);
        break;
    }
}

// After each call: what it wants sent, and what became of leases.
static void carry(unsigned i)
{
    struct packet packet;
    struct lh_core_event event;
    while (lh_core_send(members[i].core, &packet.to, packet.bytes, &packet.size))
        if (!members[i].silent && packet_count < PACKETS) // a full network loses
            packets[packet_count++] = packet;
    while (lh_core_event(members[i].core, &event))
        on_event(i, &event);
}

static bool start(unsigned i)
{
    struct lh_core_config config = {.size_bytes = sizeof config,
                                    .node = (uint8_t)(i + 1),
                                    .member_count = MEMBERS,
                                    .members = {1, 2, 3},
                                    .max_ttl_ms = TTL_MS,
                                    .rate_ppm = 10000,
                                    .max_leases = 1000,
                                    .cluster = UINT64_C(0x5ca1ab1e),
                                    .reserved = members[i].on_disk,
                                    .first = true}; // of all three, once
    if (getrandom(config.seed, sizeof config.seed, 0) != sizeof config.seed)
        return false;
    size_t size = lh_core_size(&config);
    members[i].memory = malloc(size); // 16-aligned
    if (size == 0 || members[i].memory == NULL ||
        lh_core_init(members[i].memory, size, &config, now_ns(), &members[i].core) != LH_OK)
        return false;
    carry(i);
    return true;
}

static void deliver(void)
{
    while (packet_count > 0) {
        struct packet packet = packets[0];
        memmove(packets, packets + 1, --packet_count * sizeof packets[0]);
        unsigned to = packet.to - 1u;
        if (members[to].silent)
            continue;
        lh_core_receive(members[to].core, now_ns(), packet.bytes, packet.size);
        carry(to);
    }
}

static bool holds(unsigned i)
{
    return lh_core_holds(members[i].core, now_ns(), key);
}

static void turn(unsigned i)
{
    struct member *member = &members[i];
    if (now_ns() >= lh_core_deadline_ns(member->core)) {
        lh_core_timer(member->core, now_ns());
        carry(i);
    }
    if (member->wants && !holds(i) && now_ns() >= member->try_at_ns) {
        member->try_at_ns = INT64_MAX; // until an event says when
        lh_core_acquire(member->core, now_ns(), key, TTL_MS);
        carry(i);
    }
    if (member->wants && holds(i) && now_ns() >= member->renew_at_ns) {
        member->renew_at_ns = INT64_MAX;
        lh_core_renew(member->core, now_ns(), key, TTL_MS);
        carry(i);
    }
    deliver();
}

// Until member i holds it, or more than `ms` have passed; looks at the one rule all the while.
static bool until(bool (*done)(void), int64_t ms)
{
    int64_t end_ns = now_ns() + ms * 1000000;
    while (!done() && now_ns() < end_ns) {
        unsigned holders = 0;
        for (unsigned i = 0; i < MEMBERS; i++)
            turn(i);
        for (unsigned i = 0; i < MEMBERS; i++)
            holders += holds(i);
        if (holders > 1) {
            printf("two members hold it\n");
            exit(1);
        }
        poll(NULL, 0, 1); // a real daemon waits for its socket and lh_core_deadline_ns
    }
    return done();
}

static bool first_holds(void)
{
    return holds(0);
}
static bool second_holds(void)
{
    return holds(1);
}
static bool third_holds(void)
{
    return holds(2);
}
static bool never(void)
{
    return false;
}

int main(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (!start(i))
            return 2;
    members[0].wants = true;
    bool good = until(first_holds, 5000);
    members[1].wants = true;
    until(never, 2 * TTL_MS);
    good = good && holds(0);
    printf("member 1 falls silent\n");
    members[0].silent = true;
    members[0].wants = false;
    good = good && until(second_holds, 5000) && members[1].token > members[0].token;
    members[2].wants = true;
    until(never, TTL_MS / 2);
    printf("member 2 releases\n");
    members[1].wants = false;
    while (holds(1) && lh_core_release(members[1].core, now_ns(), key) == LH_STATE)
        until(never, 1);
    carry(1);
    good = good && until(third_holds, 5000) && members[2].token > members[1].token;
    for (unsigned i = 0; i < MEMBERS; i++)
        free(members[i].memory);
    printf("%s\n", good ? "each had it in turn" : "it went otherwise than said");
    return good ? 0 : 1;
}
