// See cluster.h.
#include "cluster.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/keyring.h"

#define REQUEST_BYTES_MAX 2048
#define REPLY_BYTES_MAX (1 << 16)
#define SERVING_PATIENCE_NS INT64_C(120000000000)

static void write_config(const struct bench_cluster *cluster, int node, const uint16_t *ports,
                         const char *settings)
{
    FILE *file = fopen(cluster->nodes[node].config, "we");
    if (file == NULL)
        bench_die("cannot write %s: %s", cluster->nodes[node].config, strerror(errno));
    fprintf(file,
            "node = %d\ndata-dir = %s/data%d\nkeyring = %s/keyring\nsocket = %s\n"
            "clean-restart = off\n%s",
            node + 1, bench_directory(), node + 1, bench_directory(), cluster->nodes[node].socket,
            settings);
    for (int i = 0; i < BENCH_NODES; i++)
        fprintf(file, "[node %d]\naddress = 127.0.0.1:%u\n", i + 1, (unsigned)ports[i]);
    fclose(file);
}

static void write_files(struct bench_cluster *cluster, const char *settings)
{
    char path[2 * BENCH_PATH_BYTES];
    uint16_t ports[BENCH_NODES];
    struct lh_keyring keyring;
    struct lh_error error;
    snprintf(path, sizeof path, "%s/keyring", bench_directory());
    if (access(path, F_OK) != 0 &&
        (!lh_keyring_generate(&keyring, &error) || !lh_keyring_create(path, &keyring, &error)))
        bench_die("%s", error.text);
    for (int i = 0; i < BENCH_NODES; i++) {
        struct bench_node *node = &cluster->nodes[i];
        ports[i] = bench_free_port();
        snprintf(path, sizeof path, "%s/data%d", bench_directory(), i + 1);
        mkdir(path, 0700);
        snprintf(node->socket, sizeof node->socket, "%s/%d.sock", bench_directory(), i + 1);
        snprintf(node->config, sizeof node->config, "%s/%d.conf", bench_directory(), i + 1);
    }
    for (int i = 0; i < BENCH_NODES; i++)
        write_config(cluster, i, ports, settings);
}

static void start(struct bench_cluster *cluster, int node)
{
    char program[BENCH_PATH_BYTES], log[32], flag[] = "--config";
    char *argv[] = {program, flag, cluster->nodes[node].config, NULL};
    bench_find_program("leaseholdd", program);
    snprintf(log, sizeof log, "%d.log", node + 1);
    cluster->nodes[node].pid = bench_start(log, argv);
}

static bool is_ready(const struct lh_resp_value *reply)
{
    struct lh_slice state;
    const struct lh_resp_value *peers = lh_resp_get(reply, "peers");
    if (!lh_resp_as_text(lh_resp_get(reply, "state"), &state) ||
        !lh_slice_equal(state, LH_SLICE("serving")) || peers == NULL)
        return false;
    for (uint32_t i = 0; i < peers->child_count; i++)
        if (!lh_resp_as_text(lh_resp_get(lh_resp_child(peers, i), "state"), &state) ||
            !lh_slice_equal(state, LH_SLICE("up")))
            return false;
    return true;
}

static void wait_until_ready(const struct bench_cluster *cluster, int node)
{
    static struct bench_asker asker;
    int64_t give_up = bench_now_ns() + SERVING_PATIENCE_NS;
    bool ready = false;
    char failure[64];
    snprintf(failure, sizeof failure, "node %d does not serve", node + 1);
    while (!ready) {
        int file = bench_connect_path(cluster->nodes[node].socket);
        if (file >= 0) {
            close(file);
            bench_asker_open(&asker, cluster->nodes[node].socket);
            ready = is_ready(bench_ask(&asker, "CLUSTER STATUS"));
            bench_asker_close(&asker);
        }
        if (!ready)
            bench_wait_on(cluster->nodes[node].pid, give_up, failure);
    }
}

void bench_cluster_start(struct bench_cluster *cluster, const char *settings)
{
    write_files(cluster, settings);
    for (int i = 0; i < BENCH_NODES; i++)
        start(cluster, i);
    for (int i = 0; i < BENCH_NODES; i++)
        wait_until_ready(cluster, i);
}

void bench_cluster_restart(struct bench_cluster *cluster, int node)
{
    start(cluster, node);
    for (int i = 0; i < BENCH_NODES; i++)
        wait_until_ready(cluster, i);
}

void bench_cluster_stop(struct bench_cluster *cluster)
{
    for (int i = 0; i < BENCH_NODES; i++)
        bench_end(cluster->nodes[i].pid, SIGTERM);
}

// --- asking ---

void bench_asker_open(struct bench_asker *asker, const char *socket)
{
    *asker = (struct bench_asker){.file = bench_connect_path(socket)};
    asker->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (asker->file < 0 || epoll_ctl(asker->epoll, EPOLL_CTL_ADD, asker->file, &event) != 0)
        bench_die("cannot connect to %s: %s", socket, strerror(errno));
}

void bench_asker_close(struct bench_asker *asker)
{
    close(asker->epoll);
    close(asker->file);
}

size_t bench_request(char *out, size_t size, const char *command)
{
    unsigned words = 1;
    for (const char *at = command; *at != '\0'; at++)
        words += *at == ' ';
    size_t used = (size_t)snprintf(out, size, "*%u\r\n", words);
    while (words-- > 0) {
        int length = (int)strcspn(command, " ");
        used +=
            (size_t)snprintf(out + used, size - used, "$%d\r\n%.*s\r\n", length, length, command);
        command += length + 1;
    }
    if (used >= size)
        bench_die("a request of %zu bytes", used);
    return used;
}

static void drop_last_reply(struct bench_asker *asker)
{
    asker->used -= asker->reply_bytes;
    memmove(asker->buffer, asker->buffer + asker->reply_bytes, asker->used);
    asker->reply_bytes = 0;
}

static void tell_bytes(struct bench_asker *asker, const char *request, size_t size)
{
    if (write(asker->file, request, size) != (ssize_t)size)
        bench_die("a daemon takes no request: %s", strerror(errno));
}

const struct lh_resp_value *bench_hear(struct bench_asker *asker)
{
    struct lh_resp_reply_parser parser;
    struct epoll_event event;
    drop_last_reply(asker);
    lh_resp_reply_parser_init(&parser, asker->values, BENCH_VALUES_MAX, REPLY_BYTES_MAX);
    for (;;) {
        if (epoll_wait(asker->epoll, &event, 1, -1) < 0)
            continue;
        ssize_t got =
            read(asker->file, asker->buffer + asker->used, sizeof asker->buffer - asker->used);
        if (got <= 0)
            bench_die("a daemon ended the connection");
        asker->used += (size_t)got;
        switch (lh_resp_reply_parse(&parser, asker->buffer, asker->used, &asker->reply_bytes)) {
        case LH_RESP_COMPLETE: return &asker->values[0];
        case LH_RESP_MALFORMED: bench_die("a daemon answers nonsense: %s", parser.reason);
        case LH_RESP_NEED_MORE: break;
        }
    }
}

const struct lh_resp_value *bench_ask_bytes(struct bench_asker *asker, const char *request,
                                            size_t size)
{
    tell_bytes(asker, request, size);
    return bench_hear(asker);
}

static size_t format_request(char *out, size_t size, const char *format, va_list arguments)
{
    char command[REQUEST_BYTES_MAX / 2];
    vsnprintf(command, sizeof command, format, arguments);
    return bench_request(out, size, command);
}

void bench_tell(struct bench_asker *asker, const char *format, ...)
{
    char request[REQUEST_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    tell_bytes(asker, request, format_request(request, sizeof request, format, arguments));
    va_end(arguments);
}

const struct lh_resp_value *bench_ask(struct bench_asker *asker, const char *format, ...)
{
    char request[REQUEST_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    tell_bytes(asker, request, format_request(request, sizeof request, format, arguments));
    va_end(arguments);
    return bench_hear(asker);
}

int64_t bench_number(const struct lh_resp_value *reply, const char *key)
{
    int64_t number = 0;
    if (!lh_resp_as_integer(lh_resp_get(reply, key), &number))
        bench_die("no number '%s' in a reply", key);
    return number;
}

void bench_expect(const struct lh_resp_value *reply, const char *status)
{
    struct lh_slice found = reply->text;
    if (!lh_resp_as_text(lh_resp_get(reply, "status"), &found) ||
        !lh_slice_equal(found, lh_slice_of_string(status)))
        bench_die("a daemon answers '%.*s', not '%s'", (int)found.size_bytes,
                  (const char *)found.data, status);
}
