// Client connections: see clients.h.
#include "node/clients.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/log.h"

static void on_closed(uv_handle_t *handle)
{
    struct lh_client *client = handle->data;
    struct lh_clients *clients = client->clients;
    lh_clients_flush(clients); // it may be in the list itself
    free(client->out);
    free(client->sent);
    uint32_t session = client->session;
    lh_driver_close(clients->driver, session, client->ended);
    lh_driver_flush(clients->driver);
    *client = (struct lh_client){.clients = clients, .session = session, .next = clients->free};
    clients->free = session + 1;
}

// Whether nobody has the other end any more. One that only ceased to send may well go on.
static bool has_ended(const struct lh_client *client)
{
    struct pollfd file = {.events = 0};
    return !client->is_tcp && uv_fileno(&client->as.handle, &file.fd) == 0 &&
           poll(&file, 1, 0) == 1 && (file.revents & POLLHUP) != 0;
}

static void end(struct lh_client *client)
{
    client->ended = client->ended || has_ended(client);
    client->open = false;
    if (!uv_is_closing(&client->as.handle))
        uv_close(&client->as.handle, on_closed);
}

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    const struct lh_client *client = handle->data;
    struct lh_clients *clients = client->clients;
    (void)suggested;
    size_t room = lh_driver_room(clients->driver, client->session);
    if (room > sizeof clients->buffer)
        room = sizeof clients->buffer;
    *ret_buffer = uv_buf_init(clients->buffer, (unsigned)room);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct lh_client *client = stream->data;
    struct lh_clients *clients = client->clients;
    if (size == UV_ENOBUFS) { // no room: it is read on after the next reply
        uv_read_stop(stream);
        client->reading = false;
    } else if (size < 0) {
        end(client);
    } else if (size > 0) {
        lh_driver_bytes(clients->driver, client->session, lh_slice_of(buffer->base, (size_t)size));
        if (client->open && lh_driver_room(clients->driver, client->session) == 0) {
            uv_read_stop(stream);
            client->reading = false;
        }
    }
}

static void read_on(struct lh_client *client)
{
    if (client->reading || client->closing ||
        lh_driver_room(client->clients->driver, client->session) == 0)
        return;
    client->reading = uv_read_start(&client->as.stream, on_allocate, on_read) == 0;
}

static void mark_dirty(struct lh_client *client)
{
    if (client->dirty)
        return;
    client->dirty = true;
    client->next_dirty = client->clients->dirty;
    client->clients->dirty = client->session + 1;
}

void lh_clients_reply(struct lh_clients *clients, uint32_t session, struct lh_slice bytes,
                      bool close)
{
    struct lh_client *client = &clients->pool[session];
    if (!client->open)
        return;
    client->closing = client->closing || close;
    mark_dirty(client);
    size_t needed = client->out_used + bytes.size_bytes;
    if (needed + client->sent_size > LH_CLIENT_PENDING_MAX) {
        clients->let_go++;
        lh_log(LH_LOG_WARN, "client-let-go", "session=%u reason=%s", session,
               "it does not read what it is sent");
        end(client);
        return;
    }
    if (needed > client->out_size) {
        size_t size = client->out_size == 0 ? 1024 : client->out_size;
        while (size < needed)
            size *= 2;
        char *grown = realloc(client->out, size);
        if (grown == NULL) {
            end(client);
            return;
        }
        client->out = grown;
        client->out_size = size;
    }
    memcpy(client->out + client->out_used, bytes.data, bytes.size_bytes);
    client->out_used = needed;
}

static void write_out(struct lh_client *client);

static void note_backlog(struct lh_client *client)
{
    if (client->open)
        lh_driver_backlog(client->clients->driver, client->session,
                          client->out_used + client->sent_size > LH_CLIENT_BACKLOG_BYTES);
}

static void on_written(uv_write_t *write, int status)
{
    struct lh_client *client = write->data;
    client->writing = false;
    free(client->sent);
    client->sent = NULL;
    client->sent_size = 0;
    if (status != 0)
        end(client);
    else if (client->open)
        write_out(client);
    note_backlog(client);
}

static void write_out(struct lh_client *client)
{
    if (client->writing)
        return;
    size_t done = 0;
    if (client->out_used > 0) {
        uv_buf_t buffer = uv_buf_init(client->out, (unsigned)client->out_used);
        int written = uv_try_write(&client->as.stream, &buffer, 1);
        if (written < 0 && written != UV_EAGAIN) {
            end(client);
            return;
        }
        done = written > 0 ? (size_t)written : 0;
    }
    if (done == client->out_used) {
        client->out_used = 0;
        if (client->closing)
            end(client);
        return;
    }
    // The rest goes along when the client reads; what comes meanwhile is gathered anew.
    client->sent = client->out;
    client->sent_size = client->out_used - done;
    client->out = NULL;
    client->out_used = client->out_size = 0;
    client->writing = true;
    client->write.data = client;
    uv_buf_t rest = uv_buf_init(client->sent + done, (unsigned)client->sent_size);
    if (uv_write(&client->write, &client->as.stream, &rest, 1, on_written) != 0)
        end(client);
}

void lh_clients_flush(struct lh_clients *clients)
{
    while (clients->dirty != 0) {
        struct lh_client *client = &clients->pool[clients->dirty - 1];
        clients->dirty = client->next_dirty;
        client->dirty = false;
        if (!client->open)
            continue;
        write_out(client);
        note_backlog(client);
        if (client->open)
            read_on(client);
    }
}

static struct lh_client *client_new(struct lh_clients *clients)
{
    uint32_t id = clients->free;
    if (id != 0)
        clients->free = clients->pool[id - 1].next;
    else if (clients->used < clients->capacity)
        id = ++clients->used;
    else
        return NULL;
    struct lh_client *client = &clients->pool[id - 1];
    *client = (struct lh_client){.clients = clients, .session = id - 1, .open = true};
    return client;
}

static void on_arrival(void *context, int file, bool is_tcp)
{
    struct lh_clients *clients = context;
    struct lh_client *client = client_new(clients);
    if (client == NULL) {
        clients->turned_away++;
        lh_listen_turn_away(file);
        return;
    }
    int code = 0;
    if (is_tcp) {
        uv_tcp_init(clients->loop, &client->as.tcp);
        code = uv_tcp_open(&client->as.tcp, file);
    } else {
        uv_pipe_init(clients->loop, &client->as.pipe, 0);
        code = uv_pipe_open(&client->as.pipe, file);
    }
    client->as.handle.data = client;
    client->is_tcp = is_tcp;
    lh_driver_open(clients->driver, client->session, !is_tcp);
    if (code != 0) {
        close(file);
        end(client);
        return;
    }
    if (is_tcp)
        uv_tcp_nodelay(&client->as.tcp, 1);
    clients->accepted++;
    read_on(client);
}

bool lh_clients_open(struct lh_clients *clients, uv_loop_t *loop,
                     const struct lh_node_config *config, struct lh_driver *driver,
                     struct lh_error *error)
{
    clients->loop = loop;
    clients->driver = driver;
    clients->capacity = config->max_clients;
    clients->pool = calloc(config->max_clients, sizeof *clients->pool);
    if (clients->pool == NULL)
        return lh_error_set(error, "no memory for max-clients = %u", config->max_clients);
    return lh_listen_open(&clients->listeners, loop, config, on_arrival, clients, error);
}

void lh_clients_close(struct lh_clients *clients)
{
    lh_listen_close(&clients->listeners);
    for (uint32_t i = 0; i < clients->used; i++)
        if (clients->pool[i].open)
            end(&clients->pool[i]);
}
