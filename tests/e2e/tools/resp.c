// A client of the client port for tests, that shares no code with Leasehold.
//
//     resp SOCKET talk                 each line of standard input is a request, words between tabs;
//                                      prints what was replied, one scalar a line, then a line with a dot
//     resp SOCKET say [PACE_US]        sends standard input as it is, one byte every PACE_US if given;
//                                      prints what comes back until the other side closes or is quiet
//                                      for a second
//     resp SOCKET deaf PATIENCE_MS     sends pings and never reads; prints "let go" once the other side
//                                      closes
//     resp SOCKET keep [HOW]           sends standard input, prints what was replied, and keeps the connection
//                                      open; as HOW says, 1: a child that outlives it keeps it as well (its
//                                      number is printed), 2: ends its own side of it and lives on
//     resp SOCKET crowd COUNT          opens COUNT connections, pings on each; prints how many were
//                                      served and how many turned away; keeps them until standard
//                                      input ends
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 15000
#define QUIET_MS 1000
#define PING "*1\r\n$4\r\nPING\r\n"

static int dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool readable(int fd, int patience_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    return poll(&wanted, 1, patience_ms) == 1;
}

static bool send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

// --- talk ---

struct conversation {
    int fd;
    size_t used, size;
    char buffer[65536];
};

static bool next_byte(struct conversation *with, char *ret_byte)
{
    if (with->used == with->size) {
        ssize_t got =
            readable(with->fd, PATIENCE_MS) ? read(with->fd, with->buffer, sizeof with->buffer) : 0;
        if (got <= 0)
            return false;
        with->used = 0;
        with->size = (size_t)got;
    }
    *ret_byte = with->buffer[with->used++];
    return true;
}

// A line without its CRLF, cut to what fits.
static bool next_line(struct conversation *with, char *out, size_t capacity)
{
    size_t size = 0;
    char byte;
    while (next_byte(with, &byte)) {
        if (byte == '\n') {
            out[size > 0 && out[size - 1] == '\r' ? size - 1 : size] = '\0';
            return true;
        }
        if (size + 1 < capacity)
            out[size++] = byte;
    }
    return false;
}

static bool print_bulk(struct conversation *with, long size)
{
    char byte;
    for (long i = 0; i < size + 2; i++) {
        if (!next_byte(with, &byte))
            return false;
        if (i < size)
            putchar(byte == '\n' ? ' ' : byte);
    }
    putchar('\n');
    return true;
}

static bool print_reply(struct conversation *with)
{
    char line[4096];
    for (long left = 1; left > 0; left--) { // a nested reply only adds to what is still to come
        if (!next_line(with, line, sizeof line))
            return false;
        long size = strtol(line + 1, NULL, 10);
        if (line[0] == '*' || line[0] == '~' || line[0] == '>')
            left += size;
        else if (line[0] == '%')
            left += 2 * size;
        else if (line[0] == '$' && size >= 0) {
            if (!print_bulk(with, size))
                return false;
        } else {
            printf("%s\n", line[0] == '$' ? "" : line + 1);
        }
    }
    return true;
}

static bool send_words(int fd, char *line)
{
    char request[8192];
    size_t size = 0;
    int words = 1;
    for (const char *at = line; *at != '\0'; at++)
        words += *at == '\t';
    size += (size_t)snprintf(request, sizeof request, "*%d\r\n", words);
    for (char *rest = line, *word; (word = strsep(&rest, "\t")) != NULL && size < sizeof request;)
        size += (size_t)snprintf(request + size, sizeof request - size, "$%zu\r\n%s\r\n",
                                 strlen(word), word);
    return size < sizeof request && send_all(fd, request, size);
}

// The connection is made for the first request, and again after the daemon ended it.
static int talk(const char *path)
{
    static struct conversation with = {.fd = -1};
    char *line = NULL;
    size_t room = 0;
    for (ssize_t size; (size = getline(&line, &room, stdin)) > 0;) {
        if (line[size - 1] == '\n')
            line[size - 1] = '\0';
        if (with.fd >= 0 && readable(with.fd, 0)) { // nothing was asked, so it can only be the end
            close(with.fd);
            with.fd = -1;
        }
        if (with.fd < 0) {
            with.used = with.size = 0;
            with.fd = dial(path);
        }
        if (with.fd < 0)
            printf("ERR no connection: %s\n", strerror(errno));
        else if (!send_words(with.fd, line) || !print_reply(&with)) {
            printf("ERR the connection ended, or no answer came\n");
            close(with.fd);
            with.fd = -1;
        }
        printf(".\n");
        fflush(stdout);
    }
    free(line);
    return 0;
}

// --- say ---

static void copy_replies(int fd, int patience_ms)
{
    char buffer[65536];
    while (readable(fd, patience_ms)) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got <= 0)
            return;
        fwrite(buffer, 1, (size_t)got, stdout);
    }
}

// Sends what fits and reads in between, so that neither side waits for the other.
static bool pour(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN | POLLOUT};
        if (poll(&wanted, 1, PATIENCE_MS) != 1)
            return false;
        if ((wanted.revents & POLLIN) != 0) {
            char buffer[65536];
            ssize_t got = read(fd, buffer, sizeof buffer);
            if (got <= 0)
                return false;
            fwrite(buffer, 1, (size_t)got, stdout);
        }
        if ((wanted.revents & POLLOUT) != 0) {
            ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && errno != EAGAIN)
                return false;
            bytes += sent > 0 ? sent : 0;
            size -= sent > 0 ? (size_t)sent : 0;
        }
    }
    return true;
}

static int say(const char *path, long pace_us)
{
    char bytes[65536];
    int fd = dial(path);
    if (fd < 0) {
        perror(path);
        return 1;
    }
    bool open = true;
    for (ssize_t got; open && (got = read(STDIN_FILENO, bytes, sizeof bytes)) > 0;) {
        for (ssize_t i = 0; pace_us > 0 && open && i < got; i++) {
            struct timespec pause = {.tv_nsec = pace_us * 1000};
            open = pour(fd, bytes + i, 1);
            nanosleep(&pause, NULL);
        }
        if (pace_us == 0)
            open = pour(fd, bytes, (size_t)got);
    }
    copy_replies(fd, QUIET_MS);
    close(fd);
    return 0;
}

// --- deaf ---

static int deaf(const char *path, int patience_ms)
{
    char pings[64 * (sizeof PING - 1)];
    size_t sent_bytes = 0;
    int fd = dial(path);
    if (fd < 0) {
        perror(path);
        return 1;
    }
    for (size_t i = 0; i < sizeof pings; i += sizeof PING - 1)
        memcpy(pings + i, PING, sizeof PING - 1);
    for (;;) {
        struct pollfd wanted = {.fd = fd, .events = POLLOUT};
        if (poll(&wanted, 1, patience_ms) != 1) {
            printf("still there after %zu bytes\n", sent_bytes);
            return 1;
        }
        ssize_t sent = send(fd, pings, sizeof pings, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            break;
        sent_bytes += sent > 0 ? (size_t)sent : 0;
    }
    printf("let go after %zu bytes\n", sent_bytes);
    return 0;
}

// --- keep ---

static int keep(const char *path, long how)
{
    char bytes[65536];
    int fd = dial(path);
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (fd < 0 || got <= 0 || !send_all(fd, bytes, (size_t)got) || !readable(fd, PATIENCE_MS) ||
        (got = read(fd, bytes, sizeof bytes)) <= 0)
        return 1;
    fwrite(bytes, 1, (size_t)got, stdout);
    pid_t child = how == 1 ? fork() : 0;
    if (child > 0)
        printf("child %d\n", (int)child);
    if (how == 2)
        shutdown(fd, SHUT_WR);
    fflush(stdout);
    for (;;)
        pause();
}

// --- crowd ---

static int crowd(const char *path, int count)
{
    int *fds = calloc((size_t)count, sizeof *fds);
    int served = 0, turned_away = 0;
    char text[256];
    for (int i = 0; fds != NULL && i < count; i++) {
        fds[i] = dial(path);
        if (fds[i] >= 0)
            send_all(fds[i], PING, sizeof PING - 1);
    }
    for (int i = 0; fds != NULL && i < count; i++) {
        ssize_t got =
            fds[i] >= 0 && readable(fds[i], PATIENCE_MS) ? read(fds[i], text, sizeof text - 1) : 0;
        text[got > 0 ? got : 0] = '\0';
        served += strstr(text, "+PONG") != NULL;
        turned_away += strstr(text, "max number of clients") != NULL;
    }
    printf("%d served, %d turned away\n", served, turned_away);
    fflush(stdout);
    while (read(STDIN_FILENO, text, sizeof text) > 0)
        ;
    free(fds);
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 2 ? arguments[2] : "";
    long number = count > 3 ? strtol(arguments[3], NULL, 10) : 0;
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(what, "talk") == 0)
        return talk(arguments[1]);
    if (strcmp(what, "say") == 0)
        return say(arguments[1], number);
    if (strcmp(what, "deaf") == 0 && number > 0)
        return deaf(arguments[1], (int)number);
    if (strcmp(what, "keep") == 0)
        return keep(arguments[1], number);
    if (strcmp(what, "crowd") == 0 && number > 0)
        return crowd(arguments[1], (int)number);
    fprintf(stderr,
            "usage: resp SOCKET talk|say [PACE_US]|deaf PATIENCE_MS|keep [HOW]|crowd COUNT\n");
    return 64;
}
