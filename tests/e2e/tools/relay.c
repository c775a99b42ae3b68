// A relay for datagrams between members that does to them whatever a network, or somebody in it,
// may do. Commands come on standard input, one a line; each is answered by a line, "ok N" or
// "no REASON":
//
//     route PORT ADDRESS PORT     what arrives at PORT is passed on to ADDRESS PORT
//     set drop|double|flip N      of a hundred datagrams passed on, how many are lost, sent twice, or
//                                 have a bit flipped in a copy that is sent beside the original
//     set delay N                 each is kept back for a random time up to N ms, so their order changes
//     hold|pass|let PORT          what arrives at PORT is held back from now on; what is held goes on,
//                                 and what comes is still held; it goes on, and no more is held
//     lose PORT N                 the next N datagrams that arrive at PORT are lost
//     keep on|enough|none         a copy of each datagram is kept from now on (the last 4096); no more,
//                                 but those kept stay; they are forgotten
//     replay N                    sends the copies again, N times, to where they went; answers how many
//     flips | cuts                sends each copy with a random bit flipped; or cut short at a random length
//     garbage N                   sends N random datagrams to each route, half behind a genuine header
//     huge N                      sends N datagrams of 60000 bytes to each route, behind a genuine header
//     count                       answers how many were passed on
//
// Addresses are numeric. The random numbers come from a seed (first argument, default 1).
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUTES_MAX 32
#define KEPT_MAX 4096
#define DELAYED_MAX 4096
#define DATAGRAM_MAX 2048
#define HEADER_BYTES 44
#define HUGE_BYTES 60000

struct route {
    int fd;
    uint16_t port;
    bool held;
    unsigned long lose;
    struct sockaddr_in to;
};

struct datagram {
    const struct route *route;
    int64_t due_ns;
    size_t size;
    uint8_t bytes[DATAGRAM_MAX];
};

static struct route routes[ROUTES_MAX];
static unsigned route_count;
static struct datagram kept[KEPT_MAX]; // a ring
static unsigned long kept_count;
static struct datagram delayed[DELAYED_MAX];
static unsigned delayed_count;
static bool keeping;
static unsigned long drop, doubled, flip, delay_ms;
static unsigned long passed;
static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below == 0 ? 0 : (uint32_t)(random_state >> 33) % below;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void send_on(const struct route *route, const void *bytes, size_t size)
{
    sendto(route->fd, bytes, size, 0, (const struct sockaddr *)&route->to, sizeof route->to);
}

static void send_flipped(const struct datagram *datagram)
{
    uint8_t bytes[DATAGRAM_MAX];
    if (datagram->size == 0)
        return;
    memcpy(bytes, datagram->bytes, datagram->size);
    bytes[draw((uint32_t)datagram->size)] ^= (uint8_t)(1u << draw(8));
    send_on(datagram->route, bytes, datagram->size);
}

static void pass_on(const struct datagram *datagram)
{
    send_on(datagram->route, datagram->bytes, datagram->size);
    passed++;
    if (draw(100) < doubled)
        send_on(datagram->route, datagram->bytes, datagram->size);
    if (draw(100) < flip)
        send_flipped(datagram);
}

static void take(struct route *route)
{
    static struct datagram datagram;
    ssize_t size = recv(route->fd, datagram.bytes, sizeof datagram.bytes, MSG_DONTWAIT);
    if (size < 0)
        return;
    datagram.route = route;
    datagram.size = (size_t)size;
    datagram.due_ns = now_ns() + (int64_t)draw((uint32_t)delay_ms + 1) * 1000000;
    if (keeping)
        kept[kept_count++ % KEPT_MAX] = datagram;
    bool lost = route->lose > 0;
    route->lose -= lost;
    if (lost || draw(100) < drop)
        return;
    if ((delay_ms > 0 || route->held) && delayed_count < DELAYED_MAX)
        delayed[delayed_count++] = datagram;
    else
        pass_on(&datagram);
}

// Passes on what is due; returns how many milliseconds until the next is, -1 for none.
static int pass_on_due(void)
{
    int64_t now = now_ns(), next = INT64_MAX;
    for (unsigned i = 0; i < delayed_count;) {
        if (delayed[i].route->held) {
            i++;
        } else if (delayed[i].due_ns <= now) {
            pass_on(&delayed[i]);
            delayed[i] = delayed[--delayed_count];
        } else {
            next = delayed[i].due_ns < next ? delayed[i].due_ns : next;
            i++;
        }
    }
    return next == INT64_MAX ? -1 : (int)((next - now) / 1000000) + 1;
}

// --- commands ---

static const struct datagram *any_kept(const struct route *route)
{
    unsigned long count = kept_count < KEPT_MAX ? kept_count : KEPT_MAX;
    for (unsigned long i = 0; i < count; i++)
        if (kept[i].route == route)
            return &kept[i];
    return NULL;
}

static unsigned long send_junk(unsigned long times, bool huge)
{
    static uint8_t bytes[HUGE_BYTES];
    unsigned long sent = 0;
    for (unsigned i = 0; i < route_count; i++) {
        const struct datagram *genuine = any_kept(&routes[i]);
        for (unsigned long n = 0; n < times; n++) {
            size_t size = huge ? HUGE_BYTES : draw(1500);
            for (size_t at = 0; at < size; at++)
                bytes[at] = (uint8_t)draw(256);
            if (genuine != NULL && size >= HEADER_BYTES && (huge || n % 2 == 0))
                memcpy(bytes, genuine->bytes, HEADER_BYTES);
            send_on(&routes[i], bytes, size);
            sent++;
        }
    }
    return sent;
}

enum treatment { WHOLE, FLIPPED, CUT };

static unsigned long send_kept(enum treatment treatment)
{
    unsigned long count = kept_count < KEPT_MAX ? kept_count : KEPT_MAX;
    for (unsigned long i = 0; i < count; i++) {
        if (treatment == FLIPPED)
            send_flipped(&kept[i]);
        else
            send_on(kept[i].route, kept[i].bytes,
                    treatment == CUT ? draw((uint32_t)kept[i].size) : kept[i].size);
        if (i % 64 == 63)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); // a socket holds only so much
    }
    return count;
}

static bool add_route(uint16_t port, const char *address, uint16_t to_port)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct route *route = &routes[route_count];
    if (route_count == ROUTES_MAX)
        return false;
    route->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(to_port)};
    route->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, address, &route->to.sin_addr) != 1 || route->fd < 0 ||
        bind(route->fd, (const struct sockaddr *)&here, sizeof here) != 0)
        return false;
    route->port = port;
    route_count++;
    return true;
}

static void pass_on_held(const struct route *route)
{
    for (unsigned i = 0; i < delayed_count;) {
        if (delayed[i].route == route) {
            pass_on(&delayed[i]);
            delayed[i] = delayed[--delayed_count];
        } else {
            i++;
        }
    }
}

static bool hold(unsigned long port, const char *verb)
{
    for (unsigned i = 0; i < route_count; i++) {
        if (routes[i].port != port)
            continue;
        routes[i].held = strcmp(verb, "let") != 0;
        if (strcmp(verb, "hold") != 0)
            pass_on_held(&routes[i]);
        return true;
    }
    return false;
}

static bool lose(unsigned long port, unsigned long times)
{
    for (unsigned i = 0; i < route_count; i++)
        if (routes[i].port == port) {
            routes[i].lose = times;
            return true;
        }
    return false;
}

static bool set(const char *what, unsigned long value)
{
    if (strcmp(what, "drop") == 0)
        drop = value;
    else if (strcmp(what, "double") == 0)
        doubled = value;
    else if (strcmp(what, "flip") == 0)
        flip = value;
    else if (strcmp(what, "delay") == 0)
        delay_ms = value;
    else
        return false;
    return true;
}

static bool obey(char *line, unsigned long *ret_number)
{
    const char *words[4] = {"", "", "", ""};
    for (unsigned i = 0; i < 4 && line != NULL; i++)
        words[i] = strsep(&line, " ");
    const char *verb = words[0];
    unsigned long number = strtoul(words[1], NULL, 10);
    if (strcmp(verb, "route") == 0)
        return add_route((uint16_t)number, words[2], (uint16_t)strtoul(words[3], NULL, 10));
    if (strcmp(verb, "set") == 0)
        return set(words[1], strtoul(words[2], NULL, 10));
    if (strcmp(verb, "hold") == 0 || strcmp(verb, "pass") == 0 || strcmp(verb, "let") == 0)
        return hold(number, verb);
    if (strcmp(verb, "lose") == 0)
        return lose(number, strtoul(words[2], NULL, 10));
    if (strcmp(verb, "keep") == 0) {
        keeping = strcmp(words[1], "on") == 0;
        kept_count = strcmp(words[1], "none") == 0 ? 0 : kept_count;
        return true;
    }
    if (strcmp(verb, "replay") == 0) {
        for (; number > 0; number--)
            *ret_number += send_kept(WHOLE);
        return true;
    }
    bool huge = strcmp(verb, "huge") == 0, flips = strcmp(verb, "flips") == 0;
    if (huge || strcmp(verb, "garbage") == 0)
        *ret_number = send_junk(number, huge);
    else if (flips || strcmp(verb, "cuts") == 0)
        *ret_number = send_kept(flips ? FLIPPED : CUT);
    else
        *ret_number = passed;
    return huge || flips || strcmp(verb, "garbage") == 0 || strcmp(verb, "cuts") == 0 ||
           strcmp(verb, "count") == 0;
}

int main(int count, char **arguments)
{
    char line[128];
    random_state = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    for (;;) {
        struct pollfd wanted[ROUTES_MAX + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        for (unsigned i = 0; i < route_count; i++)
            wanted[i + 1] = (struct pollfd){.fd = routes[i].fd, .events = POLLIN};
        int timeout_ms = pass_on_due();
        if (poll(wanted, route_count + 1, timeout_ms) < 0)
            return 1;
        for (unsigned i = 0; i < route_count; i++)
            if ((wanted[i + 1].revents & POLLIN) != 0)
                take(&routes[i]);
        if (wanted[0].revents == 0)
            continue;
        ssize_t size = 0; // byte by byte: lines may come together
        while (size < (ssize_t)sizeof line - 1 && read(STDIN_FILENO, line + size, 1) == 1 &&
               line[size] != '\n')
            size++;
        if (size == 0)
            return 0;
        line[size] = '\0';
        unsigned long number = 0;
        if (obey(line, &number))
            printf("ok %lu\n", number);
        else
            printf("no %s\n", line);
        fflush(stdout);
    }
}
