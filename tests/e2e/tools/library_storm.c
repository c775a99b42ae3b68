// Storms libleasehold: for some seconds, several clients in this process ask for a few names, and every
// function of the library is called at random, from callbacks too; now and then a client is closed and
// another opened, the loop stands still, or a child is forked that ends or executes something.
//
//     library_storm ENDPOINTS SECONDS SEED
//
// What must stay true: of all leases of a name at most one is valid at a time; tokens only rise; a lease
// is granted once; nothing follows its end. Prints the events it had and exits with 0 if that held.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <leasehold/client.h>

#include "base/prng.h"

#define CLIENTS 4
#define NAMES 12
#define PLACES 60 // of each client
#define KINDS (LH_LEASE_RELEASED + 1)

struct place {
    struct lh_lease *lease; // NULL: free
    int client, name;
    bool granted, lost, over;
};

static struct lh_client *clients[CLIENTS];
static struct place places[CLIENTS][PLACES];
static const char *endpoints;
static int64_t last_token[NAMES];
static unsigned long events[KINDS];
static unsigned long valid, wrong;
static struct lh_prng prng;

static unsigned below(unsigned bound)
{
    return (unsigned)lh_prng_below(&prng, bound);
}

static void complain(const struct place *place, const char *what)
{
    wrong++;
    printf("name %d of client %d: %s\n", place->name, place->client, what);
}

static void look_for_overlap(void)
{
    const struct place *holder[NAMES] = {NULL};
    for (int client = 0; client < CLIENTS; client++)
        for (int i = 0; i < PLACES; i++) {
            const struct place *place = &places[client][i];
            if (place->lease == NULL || !lh_lease_valid(place->lease))
                continue;
            valid++;
            if (holder[place->name] != NULL)
                complain(place, "two hold it");
            holder[place->name] = place;
        }
}

static void close_place(struct place *place)
{
    lh_lease_close(place->lease);
    place->lease = NULL;
}

static void on_event(struct lh_lease *lease, const struct lh_lease_event *event, void *context);

static void ask(struct place *place, int client)
{
    char name[16];
    *place = (struct place){.client = client, .name = (int)below(NAMES)};
    struct lh_lease_options options = {
        .size_bytes = sizeof options,
        .ttl_ms = 200 + below(800),
        .wait_ms = below(3) == 0 ? LH_WAIT_WITHOUT_END : (int64_t)below(3000),
        .patience_ms = 1 + below(2000),
        .pulse_ms = below(4) == 0 ? 1 + below(500) : 0,
        .on_event = on_event,
        .context = place,
    };
    snprintf(name, sizeof name, "storm-%d", place->name);
    if (lh_lease_acquire(clients[client], name, &options, &place->lease) != LH_OK)
        complain(place, lh_client_why(clients[client]));
}

static void call_something(int client)
{
    struct place *place = &places[client][below(PLACES)];
    if (place->lease == NULL) {
        if (below(3) == 0)
            ask(place, client);
        return;
    }
    switch (below(6)) {
    case 0: lh_lease_release(place->lease); break;
    case 1: close_place(place); break;
    case 2: lh_lease_pulse(place->lease); break;
    case 3:
        if (lh_lease_remaining_ns(place->lease) < 0)
            complain(place, "less than nothing is left");
        break;
    case 4:
        if (strlen(lh_lease_holder(place->lease)) == 0 || strlen(lh_lease_name(place->lease)) == 0)
            complain(place, "it has no name or holder");
        break;
    default: break;
    }
}

static void on_event(struct lh_lease *lease, const struct lh_lease_event *event, void *context)
{
    struct place *place = context;
    int client = place->client;
    events[event->kind]++;
    if (place->lease != lease || place->over)
        complain(place, "an event after the end");
    if (event->kind == LH_LEASE_GRANTED) {
        if (place->granted)
            complain(place, "granted again");
        if (event->token <= last_token[place->name] || event->token != lh_lease_token(lease))
            complain(place, "its token did not rise");
        last_token[place->name] = event->token;
        place->granted = true;
    }
    if (event->kind == LH_LEASE_LOST) {
        if (!place->granted || place->lost)
            complain(place, "lost without a grant, or again");
        place->lost = true;
    }
    place->over = event->kind == LH_LEASE_NOT_ACQUIRED || event->kind == LH_LEASE_RELEASED;
    bool close_it = (place->over || place->lost) && below(2) == 0;
    look_for_overlap();
    if (lh_client_dispatch(clients[client]) != LH_STATE)
        complain(place, "dispatch from a callback was not refused");
    if (close_it)
        close_place(place);
    for (int i = 0; i < 3; i++)
        call_something(client);
}

static void open_client(int client)
{
    char why[256];
    if (lh_client_open(endpoints, &clients[client], why, sizeof why) != LH_OK) {
        fprintf(stderr, "library_storm: %s\n", why);
        exit(2);
    }
}

static void open_another(int client)
{
    lh_client_close(clients[client]);
    for (int i = 0; i < PLACES; i++)
        places[client][i].lease = NULL;
    open_client(client);
}

static void fork_something(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (below(2) == 0)
            execlp("true", "true", (char *)NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void turn(void)
{
    struct pollfd wanted[CLIENTS];
    for (int client = 0; client < CLIENTS; client++)
        wanted[client] = (struct pollfd){.fd = lh_client_fd(clients[client]), .events = POLLIN};
    poll(wanted, CLIENTS, 20);
    for (int client = 0; client < CLIENTS; client++)
        if (wanted[client].revents != 0 && lh_client_dispatch(clients[client]) != LH_OK)
            complain(&places[client][0], "dispatch failed");
    for (int i = 0; i < 4; i++)
        call_something((int)below(CLIENTS));
    look_for_overlap();
    if (below(1000) == 0)
        open_another((int)below(CLIENTS));
    if (below(1000) == 0)
        usleep(below(1000) * 1000); // the loop stands still
    if (below(500) == 0)
        fork_something();
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: library_storm ENDPOINTS SECONDS SEED\n");
        return 64;
    }
    endpoints = argv[1];
    lh_prng_seed_number(&prng, strtoull(argv[3], NULL, 10));
    time_t end = time(NULL) + strtol(argv[2], NULL, 10);
    for (int client = 0; client < CLIENTS; client++)
        open_client(client);
    while (time(NULL) < end)
        turn();
    for (int client = 0; client < CLIENTS; client++)
        lh_client_close(clients[client]);
    printf("granted %lu lost %lu released %lu not-acquired %lu owner %lu; valid %lu times; wrong "
           "%lu\n",
           events[LH_LEASE_GRANTED], events[LH_LEASE_LOST], events[LH_LEASE_RELEASED],
           events[LH_LEASE_NOT_ACQUIRED], events[LH_LEASE_OWNER], valid, wrong);
    return wrong == 0 && events[LH_LEASE_GRANTED] > 0 && events[LH_LEASE_LOST] > 0 ? 0 : 1;
}
