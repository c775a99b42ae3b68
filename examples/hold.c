// Acquires a lease, keeps it as long as standard input is open, and releases it: the smallest
// program that uses libleasehold well. One loop, one descriptor of the library's beside its own.
//
//     cc hold.c $(pkg-config --cflags --libs leasehold) -o hold
//     ./hold NAME [ENDPOINT[,...] [TTL_MS]]
//
// Each event is one line on standard output. A line that comes in is answered by what lh_lease_valid
// says at that moment. Exit code: 0 released, 75 not acquired, 76 lost.
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <leasehold/client.h>

struct program {
    struct lh_lease *lease;
    bool lost;
    int exit_code; // -1: goes on
};

static void on_event(struct lh_lease *lease, const struct lh_lease_event *event, void *context)
{
    struct program *program = context;
    switch (event->kind) {
    case LH_LEASE_GRANTED:
        printf("granted token %" PRId64 " holder %s after token %" PRId64 " of '%s'\n",
               event->token, event->holder, event->last_token, event->last_holder);
        break;
    case LH_LEASE_OWNER:
        printf("waiting for '%s', token %" PRId64 ", free in at most %" PRId64 " ms\n",
               event->holder, event->token, event->free_in_ms);
        break;
    case LH_LEASE_NOT_ACQUIRED:
        printf("not acquired, cause %d: %s\n", (int)event->cause, event->reason);
        program->exit_code = 75;
        break;
    case LH_LEASE_ENDANGERED:
        printf("endangered, cause %d: %s\n", (int)event->cause, event->reason);
        break;
    case LH_LEASE_LOST: // stop at once: whatever is left of it is for stopping; then let go of it
        printf("lost, cause %d, %" PRId64 " ms left: %s\n", (int)event->cause,
               lh_lease_remaining_ns(lease) / 1000000, event->reason);
        program->lost = true;
        if (lh_lease_valid(lease))
            lh_lease_release(lease);
        else
            program->exit_code = 76;
        break;
    case LH_LEASE_RELEASED:
        printf("released, cause %d\n", (int)event->cause);
        program->exit_code = program->lost ? 76 : 0;
        break;
    }
}

// Somebody typed a line, or closed standard input: then we stop, and only then let go. False after
// the latter.
static bool take_line(struct program *program)
{
    char line[256];
    ssize_t size = read(STDIN_FILENO, line, sizeof line);
    if (size > 0)
        printf("%s token %" PRId64 "\n", lh_lease_valid(program->lease) ? "valid" : "not valid",
               lh_lease_token(program->lease));
    else
        lh_lease_release(program->lease);
    return size > 0;
}

int main(int argc, char **argv)
{
    struct program program = {.exit_code = -1};
    struct lh_lease_options options = {
        .size_bytes = sizeof options,
        .ttl_ms = argc > 3 ? strtol(argv[3], NULL, 10) : 0,
        .wait_ms = LH_WAIT_WITHOUT_END,
        .on_event = on_event,
        .context = &program,
    };
    struct lh_client *client;
    char why[256];
    if (argc < 2) {
        fprintf(stderr, "usage: hold NAME [ENDPOINT[,...] [TTL_MS]]\n");
        return 64;
    }
    if (lh_client_open(argc > 2 ? argv[2] : NULL, &client, why, sizeof why) != LH_OK) {
        fprintf(stderr, "hold: %s\n", why);
        return 64;
    }
    enum lh_return result = lh_lease_acquire(client, argv[1], &options, &program.lease);
    if (result != LH_OK) {
        fprintf(stderr, "hold: %s\n",
                result == LH_ARGUMENT ? lh_client_why(client) : lh_return_text(result));
        lh_client_close(client);
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct pollfd wanted[] = {{.fd = lh_client_fd(client), .events = POLLIN},
                              {.fd = STDIN_FILENO, .events = POLLIN}};
    while (program.exit_code < 0) {
        poll(wanted, 2, -1);
        lh_client_dispatch(client);
        if (wanted[1].revents != 0 && !take_line(&program))
            wanted[1].fd = -1;
    }
    lh_client_close(client);
    return program.exit_code;
}
