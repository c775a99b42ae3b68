// See cluster.h.
#include "cli/cluster.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/channel.h"
#include "os/clock.h"
#include "os/keyring.h"

#define STOP_PATIENCE_NS (2 * LH_NS_PER_S)

// --- programs ---

static bool executable(const char *path)
{
    return access(path, X_OK) == 0;
}

bool lh_cluster_find_program(const char *name, char *ret_path, size_t size, struct lh_error *error)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        if ((size_t)snprintf(ret_path, size, "%s/%s", self, name) < size && executable(ret_path))
            return true;
        if ((size_t)snprintf(ret_path, size, "%s/../sbin/%s", self, name) < size &&
            executable(ret_path))
            return true;
    }
    const char *path = getenv("PATH");
    for (const char *at = path; at != NULL; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int part = (int)strcspn(at, ":");
        if (part > 0 && (size_t)snprintf(ret_path, size, "%.*s/%s", part, at, name) < size &&
            executable(ret_path))
            return true;
    }
    return lh_error_set(error,
                        "%s was found neither beside leasehold nor in PATH: install it, or "
                        "build it with `make build`",
                        name);
}

// --- ports ---

// Binds 127.0.0.1:port (0: any); -1 if it is taken.
static int bind_loopback(int type, uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        close(fd);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

// A port that is free for UDP and TCP. Both sockets stay open, so that the next call finds another
// one; the caller closes them once all ports are chosen.
static bool reserve_port(int fds[2], uint16_t *ret_port)
{
    for (int attempt = 0; attempt < 64; attempt++) {
        uint16_t port;
        fds[0] = bind_loopback(SOCK_STREAM, 0, &port);
        if (fds[0] < 0)
            return false;
        fds[1] = bind_loopback(SOCK_DGRAM, port, &port);
        if (fds[1] >= 0) {
            *ret_port = port;
            return true;
        }
        close(fds[0]);
    }
    return false;
}

// A socket may be bound to 127.0.0.1 while loopback is down, as in a new network namespace.
static bool loopback_is_up(struct lh_error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(9),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (!up)
        lh_error_set(error,
                     "the nodes could not reach each other at 127.0.0.1: %s: is loopback up? "
                     "(`ip link set lo up`)",
                     strerror(errno));
    if (fd >= 0)
        close(fd);
    return up;
}

static bool choose_ports(struct lh_cluster *cluster, struct lh_error *error)
{
    int fds[LH_CLUSTER_NODES_MOST * 2][2];
    int reserved = 0;
    bool good = true;
    for (int i = 0; i < cluster->count && good; i++) {
        uint16_t *ports[2] = {&cluster->nodes[i].peer_port, &cluster->nodes[i].client_port};
        for (int j = 0; j < 2 && good; j++) {
            good = reserve_port(fds[reserved], ports[j]);
            reserved += good;
        }
    }
    for (int i = 0; i < reserved; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
    return good || lh_error_set(error, "no free port on 127.0.0.1: %s", strerror(errno));
}

// --- files ---

static bool is_empty_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return false;
    int entries = 0;
    while (readdir(directory) != NULL)
        entries++;
    closedir(directory);
    return entries == 2; // . and ..
}

static bool make_directory(struct lh_cluster *cluster, const char *directory,
                           struct lh_error *error)
{
    size_t size = sizeof cluster->directory;
    if (directory == NULL) {
        const char *where = getenv("TMPDIR");
        if (where == NULL ||
            (size_t)snprintf(cluster->directory, size, "%s/leasehold-XXXXXX", where) >= size)
            snprintf(cluster->directory, size, "/tmp/leasehold-XXXXXX");
        if (mkdtemp(cluster->directory) == NULL)
            return lh_error_set(error, "cannot make the directory %s: %s", cluster->directory,
                                strerror(errno));
        cluster->directory_is_ours = true;
        return true;
    }
    char absolute[PATH_MAX];
    bool made = mkdir(directory, 0700) == 0;
    if (!made && errno != EEXIST)
        return lh_error_set(error, "cannot make the directory %s: %s", directory, strerror(errno));
    if (!made && !is_empty_directory(directory))
        return lh_error_set(error, "%s is not an empty directory: name an empty or a new one",
                            directory);
    bool good = realpath(directory, absolute) != NULL ||
                lh_error_set(error, "cannot find the directory %s: %s", directory, strerror(errno));
    if (good && strpbrk(absolute, ",#;") != NULL)
        good = lh_error_set(error,
                            "the directory '%s' has ',', '#' or ';' in its path: name "
                            "another, since it stands in endpoints and configurations",
                            absolute);
    if (good && (size_t)snprintf(cluster->directory, size, "%s", absolute) >= size)
        good = lh_error_set(error,
                            "the directory '%s' has a long path: at most %zu bytes are "
                            "allowed, since sockets are made in it",
                            absolute, size - 1);
    if (!good && made)
        rmdir(directory);
    cluster->directory_is_ours = made;
    return good;
}

static bool write_config(const struct lh_cluster *cluster, const struct lh_cluster_node *node,
                         const char *max_ttl, struct lh_error *error)
{
    FILE *file = fopen(node->config, "we");
    if (file == NULL)
        return lh_error_set(error, "cannot write %s: %s", node->config, strerror(errno));
    fprintf(file, "node = %d\n", node->daemon.id);
    fprintf(file, "data-dir = %s/data%d\n", cluster->directory, node->daemon.id);
    fprintf(file, "keyring = %s/keyring\n", cluster->directory);
    fprintf(file, "socket = %s\n", node->socket);
    fprintf(file, "client-listen = 127.0.0.1:%u\n", (unsigned)node->client_port);
    fprintf(file, "max-ttl = %s\n", max_ttl);
    fprintf(file, "max-leases = 10000\n");
    for (int i = 0; i < cluster->count; i++)
        fprintf(file, "[node %d]\naddress = 127.0.0.1:%u\n", cluster->nodes[i].daemon.id,
                (unsigned)cluster->nodes[i].peer_port);
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    return good || lh_error_set(error, "cannot write %s: %s", node->config, strerror(errno));
}

static bool write_files(struct lh_cluster *cluster, const char *max_ttl, struct lh_error *error)
{
    char path[LH_CLUSTER_PATH_BYTES + 16];
    struct lh_keyring keyring;
    if (!lh_keyring_generate(&keyring, error))
        return false;
    snprintf(path, sizeof path, "%s/keyring", cluster->directory);
    bool good = lh_keyring_create(path, &keyring, error);
    lh_keyring_wipe(&keyring);
    for (int i = 0; i < cluster->count && good; i++) {
        snprintf(path, sizeof path, "%s/data%d", cluster->directory, cluster->nodes[i].daemon.id);
        if (mkdir(path, 0700) != 0)
            good = lh_error_set(error, "cannot make the directory %s: %s", path, strerror(errno));
        good = good && write_config(cluster, &cluster->nodes[i], max_ttl, error);
    }
    return good;
}

// --- removing ---

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    if (where->level > 0)
        remove(path);
    return 0;
}

// The directory was made here or found empty: whatever is in it now came from us.
static bool remove_files(const struct lh_cluster *cluster)
{
    nftw(cluster->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (cluster->directory_is_ours)
        return rmdir(cluster->directory) == 0 || errno == ENOENT;
    return is_empty_directory(cluster->directory);
}

// If this process is killed, the sweeper does what lh_cluster_close would have done: it waits for
// the other end of a pipe to close, and removes the files until the daemons, which are killed at
// the same moment, make no more.
static _Noreturn void sweep(const struct lh_cluster *cluster, int alive)
{
    char byte;
    setsid(); // no terminal's signals
    dup2(alive, STDIN_FILENO);
    close_range(STDIN_FILENO + 1, ~0U, 0);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int tries = 0; !remove_files(cluster) && tries < 100; tries++)
        poll(NULL, 0, 20);
    _exit(0);
}

static bool start_sweeper(struct lh_cluster *cluster, struct lh_error *error)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return lh_error_set(error, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    cluster->sweeper = fork();
    if (cluster->sweeper == 0)
        sweep(cluster, pipe_fds[0]);
    close(pipe_fds[0]);
    cluster->alive_fd = pipe_fds[1];
    return cluster->sweeper > 0 ||
           lh_error_set(error, "cannot start a process: %s", strerror(errno));
}

static void end_sweeper(struct lh_cluster *cluster)
{
    if (cluster->sweeper > 0) {
        kill(cluster->sweeper, SIGKILL);
        waitpid(cluster->sweeper, NULL, 0);
    }
    if (cluster->alive_fd >= 0)
        close(cluster->alive_fd);
    cluster->sweeper = 0;
    cluster->alive_fd = -1;
}

// --- the beginning ---

bool lh_cluster_open(int count, const char *directory, const char *max_ttl,
                     struct lh_cluster *ret_cluster, struct lh_error *error)
{
    struct lh_cluster *cluster = ret_cluster;
    memset(cluster, 0, sizeof *cluster);
    cluster->count = count;
    cluster->alive_fd = -1;
    for (int i = 0; i < count; i++) {
        cluster->nodes[i].daemon.id = i + 1;
        cluster->nodes[i].daemon.output = -1;
    }
    if (!lh_cluster_find_program("leaseholdd", cluster->daemon, sizeof cluster->daemon, error) ||
        !make_directory(cluster, directory, error)) {
        cluster->directory[0] = '\0'; // nothing was made, so nothing is removed
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct lh_cluster_node *node = &cluster->nodes[i];
        snprintf(node->socket, sizeof node->socket, "%s/%d.sock", cluster->directory,
                 node->daemon.id);
        snprintf(node->config, sizeof node->config, "%s/%d.conf", cluster->directory,
                 node->daemon.id);
    }
    if (start_sweeper(cluster, error) && loopback_is_up(error) && choose_ports(cluster, error) &&
        write_files(cluster, max_ttl, error))
        return true;
    lh_cluster_close(cluster);
    return false;
}

// --- processes ---

struct daemon {
    const char *program, *config;
};

static void become_daemon(const void *context)
{
    const struct daemon *daemon = context;
    unsetenv("NOTIFY_SOCKET");
    execl(daemon->program, daemon->program, "--config", daemon->config, (char *)NULL);
    fprintf(stderr, "cannot execute %s: %s\n", daemon->program, strerror(errno));
    fflush(stderr);
}

bool lh_cluster_start(struct lh_cluster *cluster, struct lh_cluster_node *node,
                      struct lh_error *error)
{
    const struct daemon daemon = {cluster->daemon, node->config};
    return lh_process_start(&node->daemon, SIGKILL, become_daemon, &daemon, error);
}

void lh_cluster_signal(struct lh_cluster_node *node, int signal)
{
    if (node->daemon.pid > 0)
        kill(node->daemon.pid, signal);
}

int lh_cluster_open_signals(struct lh_error *error)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGHUP);
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    int fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        lh_error_set(error, "no descriptor for signals: %s", strerror(errno));
    return fd;
}

bool lh_cluster_state(const struct lh_cluster_node *node, struct lh_duration timeout,
                      char ret_state[32], int64_t *ret_quarantine_left_ms)
{
    static const char *const words[] = {"CLUSTER", "STATUS"};
    struct lh_channel *client;
    struct lh_error error;
    if (!lh_channel_open(node->socket, &client, &error))
        return false;
    lh_channel_begin(client, words, 2, timeout);
    bool good = lh_channel_wait(client) == LH_CHANNEL_ANSWERED;
    if (good) {
        const struct lh_resp_value *reply = lh_channel_reply(client);
        struct lh_slice state;
        good = lh_resp_as_text(lh_resp_get(reply, "state"), &state) && state.size_bytes < 32;
        if (good)
            snprintf(ret_state, 32, "%.*s", (int)state.size_bytes, (const char *)state.data);
        *ret_quarantine_left_ms = 0;
        lh_resp_as_integer(lh_resp_get(reply, "quarantine-left-ms"), ret_quarantine_left_ms);
    }
    lh_channel_close(client);
    return good;
}

// --- the end ---

static void ignore_line(void *context, int id, const char *text)
{
    (void)context;
    (void)id;
    (void)text;
}

static bool all_ended(struct lh_cluster *cluster)
{
    bool ended = true;
    for (int i = 0; i < cluster->count; i++) {
        int status;
        lh_process_read(&cluster->nodes[i].daemon, ignore_line, NULL); // a full pipe would block it
        lh_process_reap(&cluster->nodes[i].daemon, &status);
        ended = ended && cluster->nodes[i].daemon.pid == 0;
    }
    return ended;
}

static void end_all(struct lh_cluster *cluster, int signal, struct lh_duration patience)
{
    struct lh_instant give_up = lh_after(lh_clock_now(), patience);
    for (int i = 0; i < cluster->count; i++) {
        lh_cluster_signal(&cluster->nodes[i], signal);
        lh_cluster_signal(&cluster->nodes[i], SIGCONT);
    }
    while (!all_ended(cluster) && lh_before(lh_clock_now(), give_up))
        poll(NULL, 0, 5);
}

void lh_cluster_close(struct lh_cluster *cluster)
{
    end_all(cluster, SIGTERM, (struct lh_duration){STOP_PATIENCE_NS});
    end_all(cluster, SIGKILL, (struct lh_duration){STOP_PATIENCE_NS});
    for (int i = 0; i < cluster->count; i++)
        lh_process_ignore(&cluster->nodes[i].daemon);
    end_sweeper(cluster);
    if (cluster->directory[0] != '\0')
        remove_files(cluster);
    cluster->directory[0] = '\0';
}
