// A primary and its standbys: run it as often as you like, with the same NAME. One acts; when it
// dies, hangs or is cut off, another one goes on. Who loses stays a candidate.
//
//     cc failover.c $(pkg-config --cflags --libs leasehold) -o failover
//     ./failover NAME FILE [ENDPOINT[,...] [TTL_MS]]
//
// To act is to write a line `TOKEN PID` to FILE, every 20 ms, behind a fence: a process that was
// stopped and continued between asking and writing is refused there, whatever it believes. Ends
// with SIGTERM or SIGINT, after it has released.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // CLOCK_BOOTTIME, signals
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <leasehold/client.h>
#include <leasehold/fence.h>

#define ACT_EVERY_MS 20

struct candidate {
    struct lh_client *client;
    struct lh_lease *lease; // NULL: none asked for
    struct lh_lease_options options;
    const char *name;
    const char *path;
    struct lh_fence *fence;
    bool over; // what became of the lease was told; close it
};

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    told_to_end = number;
}

static void on_event(struct lh_lease *lease, const struct lh_lease_event *event, void *context)
{
    struct candidate *candidate = context;
    switch (event->kind) {
    case LH_LEASE_GRANTED: printf("primary, token %" PRId64 "\n", event->token); break;
    case LH_LEASE_OWNER: printf("standby, '%s' is primary\n", event->holder); break;
    case LH_LEASE_ENDANGERED: printf("still primary: %s\n", event->reason); break;
    case LH_LEASE_LOST: // nothing acts between two dispatches: what is left of it can be let go
        printf("not primary, cause %d %s\n", (int)event->cause, event->reason);
        if (lh_lease_valid(lease))
            lh_lease_release(lease);
        else
            candidate->over = true;
        break;
    case LH_LEASE_NOT_ACQUIRED:
    case LH_LEASE_RELEASED:
        printf("over, cause %d %s\n", (int)event->cause, event->reason);
        candidate->over = true;
        break;
    }
}

// Asked at the moment of the act, and once more by the fence, which lasts until the act is done.
static void act(struct candidate *candidate)
{
    if (candidate->lease == NULL || !lh_lease_valid(candidate->lease))
        return;
    int64_t token = lh_lease_token(candidate->lease);
    enum lh_return result = lh_fence_enter(candidate->fence, token);
    if (result != LH_OK) {
        printf("refused under token %" PRId64 ": %s\n", token, lh_return_text(result));
        return;
    }
    FILE *file = fopen(candidate->path, "ae");
    if (file != NULL) {
        fprintf(file, "%" PRId64 " %ld\n", token, (long)getpid());
        fclose(file);
    }
    lh_fence_leave(candidate->fence);
}

static void stand(struct candidate *candidate)
{
    if (candidate->over) {
        lh_lease_close(candidate->lease);
        candidate->lease = NULL;
        candidate->over = false;
    }
    if (candidate->lease == NULL && told_to_end == 0)
        lh_lease_acquire(candidate->client, candidate->name, &candidate->options,
                         &candidate->lease);
}

int main(int argc, char **argv)
{
    struct candidate candidate = {.name = argc > 1 ? argv[1] : ""};
    char why[256];
    char fence_path[512];
    if (argc < 3) {
        fprintf(stderr, "usage: failover NAME FILE [ENDPOINT[,...] [TTL_MS]]\n");
        return 64;
    }
    candidate.path = argv[2];
    candidate.options =
        (struct lh_lease_options){.size_bytes = sizeof candidate.options,
                                  .ttl_ms = argc > 4 ? strtol(argv[4], NULL, 10) : 0,
                                  .wait_ms = LH_WAIT_WITHOUT_END,
                                  .on_event = on_event,
                                  .context = &candidate};
    snprintf(fence_path, sizeof fence_path, "%.500s.fence", argv[2]);
    if (lh_fence_open(fence_path, &candidate.fence) != LH_OK) {
        fprintf(stderr, "failover: %s: %s\n", fence_path, strerror(errno));
        return 1;
    }
    if (lh_client_open(argc > 3 ? argv[3] : NULL, &candidate.client, why, sizeof why) != LH_OK) {
        fprintf(stderr, "failover: %s\n", why);
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    stand(&candidate);
    while (candidate.lease != NULL) {
        struct pollfd wanted = {.fd = lh_client_fd(candidate.client), .events = POLLIN};
        poll(&wanted, 1, ACT_EVERY_MS);
        lh_client_dispatch(candidate.client);
        if (told_to_end != 0)
            lh_lease_release(candidate.lease); // from here on it is not valid
        act(&candidate);
        stand(&candidate);
    }
    lh_client_close(candidate.client);
    lh_fence_close(candidate.fence);
    return 0;
}
