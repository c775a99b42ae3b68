// Datagrams between members: see udp.h.
#include "node/udp.h"

#include <stdlib.h>
#include <string.h>

#include "os/clock.h"

#define LOOK_UP_EVERY_MS 5000
#define RECEIVE_BYTES (20 * 65536) // libuv cuts it into as many datagrams as one recvmmsg(2) takes

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    const struct lh_udp *udp = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init((char *)udp->buffer, RECEIVE_BYTES);
}

static void format_source(const struct sockaddr *from, char *out, size_t capacity)
{
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)from;
        uv_ip4_name(in, host, sizeof host);
        port = ntohs(in->sin_port);
    } else if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)from;
        uv_ip6_name(in6, host, sizeof host);
        port = ntohs(in6->sin6_port);
    }
    snprintf(out, capacity, "%s:%u", host, port);
}

static void refuse(struct lh_udp *udp, enum lh_unseal cause, const struct sockaddr *from)
{
    uint64_t missed = 0;
    if (!lh_log_every(&udp->limits[cause], lh_clock_now(), lh_ms(10000), &missed))
        return;
    char source[INET6_ADDRSTRLEN + 8];
    format_source(from, source, sizeof source);
    lh_log(LH_LOG_WARN, "datagram-refused", "from=%s cause=%s reason=%s also=%llu", source,
           lh_unseal_name(cause), lh_unseal_text(cause), (unsigned long long)missed);
}

static bool is_member(const struct lh_node_config *config, uint8_t node)
{
    for (size_t i = 0; i < config->member_count; i++)
        if (config->members[i].node == node)
            return true;
    return false;
}

static void on_receive(uv_udp_t *socket, ssize_t size, const uv_buf_t *buffer,
                       const struct sockaddr *from, unsigned flags)
{
    struct lh_udp *udp = socket->data;
    if (size <= 0 || from == NULL)
        return;
    struct lh_unsealed about = {0};
    enum lh_unseal cause =
        (flags & UV_UDP_PARTIAL) != 0
            ? LH_UNSEAL_FOREIGN
            : lh_unseal_datagram(&udp->seal, lh_slice_of(buffer->base, (size_t)size), udp->plain,
                                 sizeof udp->plain, &about);
    udp->unsealed[cause]++;
    if (cause != LH_UNSEAL_OK)
        refuse(udp, cause, from);
    else if (!is_member(udp->config, about.sender) || about.sender == udp->config->node)
        udp->strangers++;
    else
        udp->receive(udp->context, about.sender, about.generation,
                     lh_slice_of(udp->plain, about.size_bytes));
}

static struct lh_config_member *own_member(struct lh_node_config *config)
{
    for (size_t i = 0; i < config->member_count; i++)
        if (config->members[i].node == config->node)
            return &config->members[i];
    return NULL;
}

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct lh_udp_name *name = request->data;
    struct lh_address *address = name->address;
    name->pending = false;
    if (status == 0) {
        memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
        address->size_bytes = found->ai_addrlen;
    } else if (status != UV_ECANCELED && !name->failing) {
        lh_log(LH_LOG_WARN, "member-not-found", "host=%s reason=%s", address->host,
               uv_strerror(status));
    }
    name->failing = status != 0;
    uv_freeaddrinfo(found);
}

static void look_up_names(struct lh_udp *udp)
{
    const struct addrinfo hints = {.ai_family = own_member(udp->config)->address.socket.ss_family,
                                   .ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_ADDRCONFIG};
    for (size_t i = 0; i < udp->config->member_count; i++) {
        struct lh_udp_name *name = &udp->names[i];
        struct lh_address *address = &udp->config->members[i].address;
        char port[8];
        if (address->is_numeric || name->pending ||
            udp->config->members[i].node == udp->config->node)
            continue;
        name->address = address;
        name->request.data = name;
        snprintf(port, sizeof port, "%u", address->port);
        name->pending = uv_getaddrinfo(udp->socket.loop, &name->request, on_looked_up,
                                       address->host, port, &hints) == 0;
    }
}

static void on_look_up(uv_timer_t *timer)
{
    look_up_names(timer->data);
}

static bool bind_own(struct lh_udp *udp, struct lh_error *error)
{
    struct lh_address *own = &own_member(udp->config)->address;
    if (!lh_address_resolve(own, error))
        return false;
    int code = uv_udp_bind(&udp->socket, (const struct sockaddr *)&own->socket, 0);
    if (code == 0)
        code = uv_udp_recv_start(&udp->socket, on_allocate, on_receive);
    if (code == 0)
        return true;
    char text[LH_ADDRESS_TEXT_MAX];
    lh_address_format(own, text);
    return lh_error_set(
        error,
        "cannot receive datagrams at %s, the address in [node %u]: %s; it must be an "
        "address of this machine that nothing else uses",
        text, udp->config->node, uv_strerror(code));
}

bool lh_udp_open(struct lh_udp *udp, uv_loop_t *loop, struct lh_node_config *config,
                 const struct lh_keyring *keyring, struct lh_error *error)
{
    udp->config = config;
    udp->buffer = malloc(RECEIVE_BYTES);
    if (udp->buffer == NULL)
        return lh_error_set(error, "no memory for a receive buffer of %d bytes", RECEIVE_BYTES);
    lh_seal_init(&udp->seal, keyring, (uint8_t)config->node);
    uv_udp_init_ex(loop, &udp->socket, AF_UNSPEC | UV_UDP_RECVMMSG);
    udp->socket.data = udp;
    if (!bind_own(udp, error))
        return false;
    int wanted = 4 << 20; // bursts of a whole cluster's renewals; the kernel may give less
    uv_recv_buffer_size((uv_handle_t *)&udp->socket, &wanted);
    uv_timer_init(loop, &udp->look_up);
    udp->look_up.data = udp;
    uv_timer_start(&udp->look_up, on_look_up, 0, LOOK_UP_EVERY_MS);
    return true;
}

void lh_udp_show_counters(const struct lh_udp *udp, struct lh_host *host)
{
    static const char *const names[LH_UNSEAL_COUNT] = {
#define LH_UNSEAL_COUNTER(enumerator, name, text) "datagrams-" name,
        LH_UNSEAL_CAUSES(LH_UNSEAL_COUNTER)
#undef LH_UNSEAL_COUNTER
    };
    for (unsigned cause = LH_UNSEAL_OK + 1; cause < LH_UNSEAL_COUNT; cause++)
        lh_host_show_counter(host, names[cause], &udp->unsealed[cause]);
    lh_host_show_counter(host, "datagrams-of-strangers", &udp->strangers);
    lh_host_show_counter(host, "sends-failed", &udp->send_failed);
}

// False while the member's name was not found.
static bool send_to(struct lh_udp *udp, const struct lh_address *address, uint8_t *bytes,
                    size_t size, int *ret_code)
{
    if (address->size_bytes == 0)
        return false;
    uv_buf_t buffer = uv_buf_init((char *)bytes, (unsigned)size);
    *ret_code =
        uv_udp_try_send(&udp->socket, &buffer, 1, (const struct sockaddr *)&address->socket);
    return true;
}

void lh_udp_send(struct lh_udp *udp, uint8_t to, uint8_t generation, struct lh_slice plain)
{
    uint8_t sealed[LH_DATAGRAM_MAX + LH_SEAL_OVERHEAD_BYTES];
    size_t size = lh_seal_datagram(&udp->seal, lh_clock_now(), lh_clock_realtime_ns(), generation,
                                   to, plain, sealed, sizeof sealed);
    for (size_t i = 0; i < udp->config->member_count; i++) {
        if (udp->config->members[i].node != to)
            continue;
        int sent = 0;
        if (!send_to(udp, &udp->config->members[i].address, sealed, size, &sent) || sent >= 0)
            return;
        udp->send_failed++; // like a datagram lost: it is asked for again
        uint64_t missed = 0;
        if (lh_log_every(&udp->send_limit, lh_clock_now(), lh_ms(10000), &missed))
            lh_log(LH_LOG_WARN, "send-failed", "node=%u reason=%s also=%llu", to, uv_strerror(sent),
                   (unsigned long long)missed);
    }
}

void lh_udp_rekey(struct lh_udp *udp, const struct lh_keyring *keyring)
{
    lh_seal_init(&udp->seal, keyring, (uint8_t)udp->config->node);
}

void lh_udp_close(struct lh_udp *udp)
{
    lh_seal_wipe(&udp->seal);
    uv_timer_stop(&udp->look_up);
    uv_close((uv_handle_t *)&udp->socket, NULL);
}
