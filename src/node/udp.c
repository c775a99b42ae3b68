// Datagrams between members: see udp.h.
#include "node/udp.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

#define LOOK_UP_EVERY_MS 5000
#define TAKE_US 500 // in a turn, so that clients have theirs

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

static void take(struct lh_udp *udp, struct lh_slice datagram, const struct sockaddr *from)
{
    struct lh_unsealed about = {0};
    enum lh_unseal cause =
        lh_unseal_datagram(&udp->seal, datagram, udp->plain, sizeof udp->plain, &about);
    udp->unsealed[cause]++;
    if (cause != LH_UNSEAL_OK)
        refuse(udp, cause, from);
    else if (!is_member(udp->config, about.sender) || about.sender == udp->config->node)
        udp->strangers++;
    else
        udp->receive(udp->context, about.sender, about.generation,
                     lh_slice_of(udp->plain, about.size_bytes));
}

// Takes what is there, and says whether there may be more.
static bool take_batch(struct lh_udp *udp)
{
    struct mmsghdr headers[LH_UDP_BATCH];
    struct iovec buffers[LH_UDP_BATCH];
    struct sockaddr_storage from[LH_UDP_BATCH];
    for (unsigned i = 0; i < LH_UDP_BATCH; i++) {
        buffers[i] = (struct iovec){udp->buffers[i], sizeof udp->buffers[i]};
        headers[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                             .msg_namelen = sizeof from[i],
                                             .msg_iov = &buffers[i],
                                             .msg_iovlen = 1};
    }
    int count = recvmmsg(udp->file, headers, LH_UDP_BATCH, 0, NULL);
    for (int i = 0; i < count; i++)
        take(udp, lh_slice_of(udp->buffers[i], headers[i].msg_len),
             (const struct sockaddr *)&from[i]);
    return count == LH_UDP_BATCH;
}

// The answers leave at the end of the turn, so nothing asks whether more has come meanwhile: that wakes
// the loop again.
static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct lh_udp *udp = poll->data;
    (void)events;
    struct lh_instant end = lh_after(lh_clock_now(), (struct lh_duration){TAKE_US * LH_NS_PER_US});
    while (take_batch(udp) && lh_before(lh_clock_now(), end))
        continue;
    if (status < 0) // libuv ceases at an error of the socket; receiving took it away
        uv_poll_start(poll, UV_READABLE, on_readable);
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
        name->pending = uv_getaddrinfo(udp->readable.loop, &name->request, on_looked_up,
                                       address->host, port, &hints) == 0;
    }
}

static bool has_names(const struct lh_node_config *config)
{
    for (size_t i = 0; i < config->member_count; i++)
        if (!config->members[i].address.is_numeric)
            return true;
    return false;
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
    udp->file = socket(own->socket.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udp->file >= 0 &&
        bind(udp->file, (const struct sockaddr *)&own->socket, own->size_bytes) == 0)
        return true;
    int code = errno;
    char text[LH_ADDRESS_TEXT_MAX];
    lh_address_format(own, text);
    return lh_error_set(
        error,
        "cannot receive datagrams at %s, the address in [node %u]: %s; it must be an "
        "address of this machine that nothing else uses",
        text, udp->config->node, strerror(code));
}

bool lh_udp_open(struct lh_udp *udp, uv_loop_t *loop, struct lh_node_config *config,
                 const struct lh_keyring *keyring, struct lh_error *error)
{
    udp->config = config;
    lh_seal_init(&udp->seal, keyring, (uint8_t)config->node);
    if (!bind_own(udp, error))
        return false;
    int wanted = 4 << 20; // bursts of a whole cluster's renewals; the kernel may give less
    setsockopt(udp->file, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    uv_poll_init(loop, &udp->readable, udp->file);
    udp->readable.data = udp;
    uv_poll_start(&udp->readable, UV_READABLE, on_readable);
    uv_timer_init(loop, &udp->look_up);
    udp->look_up.data = udp;
    if (has_names(config))
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

void lh_udp_send(struct lh_udp *udp, uint8_t to, uint8_t generation, struct lh_slice plain)
{
    uint8_t sealed[LH_DATAGRAM_MAX + LH_SEAL_OVERHEAD_BYTES];
    size_t size = lh_seal_datagram(&udp->seal, lh_clock_now(), lh_clock_realtime_ns(), generation,
                                   to, plain, sealed, sizeof sealed);
    for (size_t i = 0; i < udp->config->member_count; i++) {
        const struct lh_address *address = &udp->config->members[i].address;
        if (udp->config->members[i].node != to)
            continue;
        if (address->size_bytes == 0 || // its name was not found yet
            sendto(udp->file, sealed, size, 0, (const struct sockaddr *)&address->socket,
                   address->size_bytes) >= 0)
            return;
        udp->send_failed++; // like a datagram lost: it is asked for again
        uint64_t missed = 0;
        if (lh_log_every(&udp->send_limit, lh_clock_now(), lh_ms(10000), &missed))
            lh_log(LH_LOG_WARN, "send-failed", "node=%u reason=%s also=%llu", to, strerror(errno),
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
    uv_poll_stop(&udp->readable);
    close(udp->file);
}
