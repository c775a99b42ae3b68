// A daemon of lies for tests of the client and the command line: listens on a Unix socket and
// answers each request with the next step of a script, whatever was asked, while it writes down
// what was asked. It answers the greeting by itself.
//
// A step is `key=text key:=number ...`, sent as a map with the request's own name in front
// (`$HOLDER` stands for the request's holder); `-CODE text` is sent as an error, `raw:BYTES` as
// they are. Words before that: `close` ends the connection instead of answering, `silent` never
// answers, `after N` waits N ms first. When the script is over the last step is repeated.
#ifndef LH_TESTS_FAKE_DAEMON_H
#define LH_TESTS_FAKE_DAEMON_H

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FAKE_REQUESTS_MOST 256
#define FAKE_CONNECTIONS_MOST 16
#define FAKE_WORDS_MOST 16

struct fake_daemon {
    char directory[32];
    char path[64]; // an endpoint
    const char *const *steps;
    size_t step_count;
    int listener;
    int stop[2];
    pthread_t thread;
    pthread_mutex_t lock; // of what follows
    size_t request_count;
    char requests[FAKE_REQUESTS_MOST][400]; // words joined by spaces
};

// The number of a line that begins with `type`; moves *at behind the line. False if it is not
// complete.
static inline bool fake_header(char *bytes, size_t *at, char type, size_t *ret_number)
{
    char *end = strstr(bytes + *at, "\r\n");
    if (end == NULL || bytes[*at] != type)
        return false;
    *ret_number = strtoul(bytes + *at + 1, NULL, 10);
    *at = (size_t)(end - bytes) + 2;
    return true;
}

// Cuts one request, an array of bulk strings, from the front; 0 if it is not complete.
static inline size_t fake_cut(char *bytes, size_t size, char **words, size_t *count)
{
    size_t at = 0;
    size_t wanted = 0;
    *count = 0;
    bytes[size] = '\0';
    if (!fake_header(bytes, &at, '*', &wanted))
        return 0;
    for (size_t i = 0; i < wanted; i++) {
        size_t length = 0;
        if (!fake_header(bytes, &at, '$', &length) || at + length + 2 > size)
            return 0;
        assert(*count < FAKE_WORDS_MOST);
        words[(*count)++] = bytes + at;
        at += length + 2;
    }
    for (size_t i = 0; i < *count; i++)
        *strstr(words[i], "\r\n") = '\0';
    return at;
}

static inline const char *fake_holder(char **words, size_t count)
{
    for (size_t i = 3; i + 1 < count; i++)
        if (strcmp(words[i], "HOLDER") == 0)
            return words[i + 1];
    return count > 4 ? words[4] : "";
}

static inline void fake_add_bulk(char *reply, const char *text)
{
    sprintf(reply + strlen(reply), "$%zu\r\n%s\r\n", strlen(text), text);
}

static inline void fake_map(char *step, char **words, size_t count, char *reply)
{
    char body[4000] = "";
    size_t pairs = 1;
    fake_add_bulk(body, "name");
    fake_add_bulk(body, count > 2 ? words[2] : "");
    for (char *save, *word = strtok_r(step, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        bool number = equals[-1] == ':';
        equals[number ? -1 : 0] = '\0';
        fake_add_bulk(body, word);
        if (number)
            sprintf(body + strlen(body), ":%s\r\n", equals + 1);
        else
            fake_add_bulk(body, strcmp(equals + 1, "$HOLDER") == 0 ? fake_holder(words, count)
                                                                   : equals + 1);
        pairs++;
    }
    sprintf(reply, "%%%zu\r\n%s", pairs, body);
}

static inline void fake_send(int fd, const char *text)
{
    ssize_t sent = send(fd, text, strlen(text), MSG_NOSIGNAL);
    (void)sent; // the client may have gone
}

// Answers one request; false if the connection is to be closed.
static inline bool fake_answer(struct fake_daemon *fake, int fd, char **words, size_t count)
{
    char step[2000];
    char reply[8000];
    char *rest = step;
    if (strcmp(words[0], "HELLO") == 0) {
        fake_send(fd, "%1\r\n$5\r\nproto\r\n:3\r\n");
        return true;
    }
    pthread_mutex_lock(&fake->lock);
    size_t at = fake->request_count < fake->step_count ? fake->request_count : fake->step_count - 1;
    assert(fake->request_count < FAKE_REQUESTS_MOST);
    char *line = fake->requests[fake->request_count++];
    for (size_t i = 0; i < count; i++)
        snprintf(line + strlen(line), 400 - strlen(line), "%s%s", i ? " " : "", words[i]);
    pthread_mutex_unlock(&fake->lock);
    snprintf(step, sizeof step, "%s", fake->steps[at]);
    if (strncmp(rest, "after ", 6) == 0) {
        long ms = strtol(rest + 6, &rest, 10);
        usleep((useconds_t)ms * 1000);
        rest += *rest == ' ';
    }
    if (strcmp(rest, "close") == 0)
        return false;
    if (strcmp(rest, "silent") == 0)
        return true;
    if (rest[0] == '-')
        snprintf(reply, sizeof reply, "%s\r\n", rest);
    else if (strncmp(rest, "raw:", 4) == 0)
        snprintf(reply, sizeof reply, "%s", rest + 4);
    else
        fake_map(rest, words, count, reply);
    fake_send(fd, reply);
    return true;
}

struct fake_connection {
    int fd;
    size_t size;
    char bytes[8192];
};

// Reads what came and answers it; false once the connection has ended.
static inline bool fake_serve(struct fake_daemon *fake, struct fake_connection *connection)
{
    size_t room = sizeof connection->bytes - connection->size - 1;
    ssize_t size = recv(connection->fd, connection->bytes + connection->size, room, 0);
    if (size <= 0)
        return false;
    connection->size += (size_t)size;
    for (;;) {
        char *words[FAKE_WORDS_MOST];
        size_t count;
        char copy[8192];
        memcpy(copy, connection->bytes, connection->size);
        size_t cut = fake_cut(copy, connection->size, words, &count);
        if (cut == 0)
            return true;
        connection->size -= cut;
        memmove(connection->bytes, connection->bytes + cut, connection->size);
        if (!fake_answer(fake, connection->fd, words, count))
            return false;
    }
}

static inline void *fake_main(void *argument)
{
    struct fake_daemon *fake = argument;
    static __thread struct fake_connection connections[FAKE_CONNECTIONS_MOST];
    for (size_t i = 0; i < FAKE_CONNECTIONS_MOST; i++)
        connections[i] = (struct fake_connection){.fd = -1};
    for (;;) {
        struct pollfd wanted[2 + FAKE_CONNECTIONS_MOST] = {
            {.fd = fake->stop[0], .events = POLLIN}, {.fd = fake->listener, .events = POLLIN}};
        for (size_t i = 0; i < FAKE_CONNECTIONS_MOST; i++)
            wanted[2 + i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
        poll(wanted, 2 + FAKE_CONNECTIONS_MOST, -1);
        if (wanted[0].revents)
            break;
        for (size_t i = 0; i < FAKE_CONNECTIONS_MOST; i++) {
            if (wanted[2 + i].revents && !fake_serve(fake, &connections[i])) {
                close(connections[i].fd);
                connections[i].fd = -1;
            }
        }
        for (size_t i = 0; wanted[1].revents && i < FAKE_CONNECTIONS_MOST; i++) {
            if (connections[i].fd < 0) {
                connections[i].fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
                connections[i].size = 0;
                break;
            }
        }
    }
    for (size_t i = 0; i < FAKE_CONNECTIONS_MOST; i++)
        if (connections[i].fd >= 0)
            close(connections[i].fd);
    return NULL;
}

static inline void fake_start(struct fake_daemon *fake, const char *const *steps, size_t step_count)
{
    sigset_t all;
    sigset_t old;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memset(fake, 0, sizeof *fake);
    strcpy(fake->directory, "/tmp/lh-fake-XXXXXX");
    if (mkdtemp(fake->directory) == NULL)
        abort();
    snprintf(fake->path, sizeof fake->path, "%s/sock", fake->directory);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fake->path);
    fake->steps = steps;
    fake->step_count = step_count;
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fake->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fake->listener, 8) != 0 || pipe(fake->stop) != 0)
        abort();
    pthread_mutex_init(&fake->lock, NULL);
    sigfillset(&all); // signals are the tested code's
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_create(&fake->thread, NULL, fake_main, fake);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static inline void fake_stop(struct fake_daemon *fake)
{
    if (write(fake->stop[1], "x", 1) != 1)
        abort();
    pthread_join(fake->thread, NULL);
    close(fake->stop[0]);
    close(fake->stop[1]);
    close(fake->listener);
    unlink(fake->path);
    rmdir(fake->directory);
}

#define FAKE_START(fake, ...)                                                                      \
    static const char *const fake##_steps[] = {__VA_ARGS__};                                       \
    struct fake_daemon fake;                                                                       \
    fake_start(&fake, fake##_steps, sizeof fake##_steps / sizeof fake##_steps[0])

#endif
