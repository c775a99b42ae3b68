// Accepting connections: see listen.h.
#include "node/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"

#define BACKLOG 1024
#define ACCEPTED_A_TURN 64 // so that those who are there are served in between
#define PAUSE_MS 100

void lh_listen_turn_away(int file)
{
    static const char text[] = "-ERR max number of clients reached\r\n";
    const ssize_t sent = send(file, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; // a stranger who cannot be told has gone
    close(file);
}

static int open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int accept_one(const struct lh_listener *listener)
{
    return accept4(listener->file, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// Accepts with the descriptor that is kept for this. Returns 0 or an errno.
static int turn_one_away(struct lh_listener *listener)
{
    struct lh_listeners *listeners = listener->all;
    if (listeners->spare >= 0)
        close(listeners->spare);
    const int file = accept_one(listener);
    const int code = file >= 0 ? 0 : errno;
    if (file >= 0)
        lh_listen_turn_away(file);
    listeners->spare = open_spare();
    return code;
}

static void on_arrival(uv_poll_t *poll, int status, int events);

static void watch(struct lh_listener *listener)
{
    if (listener->open)
        uv_poll_start(&listener->poll, UV_READABLE, on_arrival);
}

static void on_pause_over(uv_timer_t *timer)
{
    struct lh_listeners *listeners = timer->data;
    watch(&listeners->unix_socket);
    watch(&listeners->tcp_socket);
}

// The socket stays readable, so that asking again at once would be all that the daemon does.
static void pause_listening(struct lh_listeners *listeners)
{
    if (listeners->unix_socket.open)
        uv_poll_stop(&listeners->unix_socket.poll);
    if (listeners->tcp_socket.open)
        uv_poll_stop(&listeners->tcp_socket.poll);
    uv_timer_start(&listeners->pause, on_pause_over, PAUSE_MS, 0);
}

static void tell_failed(struct lh_listeners *listeners, int code)
{
    uint64_t missed = 0;
    listeners->failed++;
    if (lh_log_every(&listeners->limit, lh_clock_now(), lh_ms(10000), &missed))
        lh_log(LH_LOG_ERROR, "accept-failed", "reason=%s remedy=%s also=%llu", strerror(code),
               code == EMFILE ? "raise the limit of open files, or lower max-clients"
                              : "look at what the machine is short of",
               (unsigned long long)missed);
}

// After accepting failed. True if the next may be accepted at once.
static bool recover(struct lh_listener *listener, int code)
{
    int left = code;
    if (code == EINTR || code == ECONNABORTED)
        return true;
    if (code == EMFILE || code == ENFILE)
        left = turn_one_away(listener);
    if (left == EAGAIN) // nobody is there; a descriptor is looked for before that
        return false;
    tell_failed(listener->all, code);
    if (left != 0)
        pause_listening(listener->all);
    return left == 0;
}

static void on_arrival(uv_poll_t *poll, int status, int events)
{
    struct lh_listener *listener = poll->data;
    struct lh_listeners *listeners = listener->all;
    (void)status;
    (void)events;
    for (unsigned i = 0; i < ACCEPTED_A_TURN; i++) {
        const int file = accept_one(listener);
        if (file >= 0)
            listeners->arrival(listeners->context, file, listener == &listeners->tcp_socket);
        else if (errno == EAGAIN || !recover(listener, errno))
            return;
    }
}

// Takes over a socket that is bound. Returns 0 or an errno.
static int listen_at(struct lh_listeners *listeners, struct lh_listener *listener, uv_loop_t *loop,
                     int file)
{
    if (listen(file, BACKLOG) != 0)
        return errno;
    const int code = uv_poll_init(loop, &listener->poll, file);
    if (code != 0)
        return -code;
    listener->poll.data = listener;
    listener->all = listeners;
    listener->file = file;
    listener->open = true;
    watch(listener);
    return 0;
}

// A socket file nobody listens at is left over from a daemon that was killed; one that answers is
// in use.
static bool clear_path(const char *path, const struct sockaddr_un *address, struct lh_error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return true;
    if (!S_ISSOCK(status.st_mode))
        return lh_error_set(
            error, "socket = %s exists and is not a socket: remove it, or name another", path);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return lh_error_set(error, "socket = %s cannot be looked at: %s", path, strerror(errno));
    int answer = connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    close(probe);
    if (answer == 0 || answer == EAGAIN)
        return lh_error_set(error, "another daemon listens at socket = %s: give each its own",
                            path);
    if (answer != ECONNREFUSED)
        return lh_error_set(error,
                            "socket = %s exists, and whether another daemon listens there cannot "
                            "be told: %s: remove it if none does, or name another",
                            path, strerror(answer));
    unlink(path);
    return true;
}

static bool cannot_listen(const char *path, int code, struct lh_error *error)
{
    char copy[LH_CONFIG_PATH_BYTES];
    struct stat status;
    snprintf(copy, sizeof copy, "%s", path);
    const char *directory = dirname(copy);
    if (stat(directory, &status) != 0)
        return lh_error_set(error,
                            "cannot listen at socket = %s: its directory %s: %s; make it, or name "
                            "another",
                            path, directory, strerror(errno));
    return lh_error_set(error, "cannot listen at socket = %s: %s; its directory must be writable",
                        path, strerror(code));
}

static int bind_unix(const struct sockaddr_un *address, mode_t mode, int file)
{
    mode_t before = umask(0777 & ~mode);
    int code = bind(file, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    umask(before);
    if (code == 0 && chmod(address->sun_path, mode) != 0)
        code = errno;
    return code;
}

static bool open_unix(struct lh_listeners *listeners, uv_loop_t *loop,
                      const struct lh_node_config *config, struct lh_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(config->socket) >= sizeof address.sun_path)
        return lh_error_set(error,
                            "socket = %s is longer than the %zu bytes a socket path may have",
                            config->socket, sizeof address.sun_path - 1);
    strcpy(address.sun_path, config->socket);
    if (!clear_path(config->socket, &address, error))
        return false;
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code = file < 0 ? errno : bind_unix(&address, config->socket_mode, file);
    if (code == 0)
        code = listen_at(listeners, &listeners->unix_socket, loop, file);
    if (code == 0) {
        listeners->path = config->socket;
        return true;
    }
    if (file >= 0)
        close(file);
    return cannot_listen(config->socket, code, error);
}

static bool open_tcp(struct lh_listeners *listeners, uv_loop_t *loop,
                     const struct lh_node_config *config, struct lh_error *error)
{
    static const int on = 1;
    struct lh_address address = config->client_listen;
    if (address.port == 0)
        return true;
    if (!lh_address_resolve(&address, error))
        return false;
    const int file =
        socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code = 0;
    if (file < 0 || setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(file, (const struct sockaddr *)&address.socket, address.size_bytes) != 0)
        code = errno;
    if (code == 0)
        code = listen_at(listeners, &listeners->tcp_socket, loop, file);
    if (code == 0)
        return true;
    if (file >= 0)
        close(file);
    char text[LH_ADDRESS_TEXT_MAX];
    lh_address_format(&address, text);
    return lh_error_set(error,
                        "cannot listen at client-listen = %s: %s; stop what listens there, or name "
                        "another port",
                        text, strerror(code));
}

bool lh_listen_open(struct lh_listeners *listeners, uv_loop_t *loop,
                    const struct lh_node_config *config, lh_arrival_fn *arrival, void *context,
                    struct lh_error *error)
{
    *listeners =
        (struct lh_listeners){.arrival = arrival, .context = context, .spare = open_spare()};
    uv_timer_init(loop, &listeners->pause);
    listeners->pause.data = listeners;
    return open_unix(listeners, loop, config, error) && open_tcp(listeners, loop, config, error);
}

static void close_socket(struct lh_listener *listener)
{
    if (!listener->open)
        return;
    uv_poll_stop(&listener->poll);
    close(listener->file);
    listener->open = false;
}

void lh_listen_close(struct lh_listeners *listeners)
{
    if (listeners->unix_socket.open)
        unlink(listeners->path);
    close_socket(&listeners->unix_socket);
    close_socket(&listeners->tcp_socket);
    if (listeners->arrival != NULL)
        uv_timer_stop(&listeners->pause);
}
