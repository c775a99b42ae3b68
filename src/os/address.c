// Parsing and resolving addresses: see address.h.
#include "os/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool refuse(const char **ret_reason, const char *reason)
{
    *ret_reason = reason;
    return false;
}

// Splits HOST, HOST:PORT, [HOST] and [HOST]:PORT. `ret_port` has NULL data if there is none.
static bool split(struct lh_slice text, struct lh_slice *ret_host, struct lh_slice *ret_port,
                  bool *ret_brackets, const char **ret_reason)
{
    const uint8_t *end = text.data + text.size_bytes;
    const uint8_t *colon = NULL;
    *ret_port = (struct lh_slice){NULL, 0};
    *ret_brackets = text.data[0] == '[';
    if (*ret_brackets) {
        const uint8_t *close = memchr(text.data, ']', text.size_bytes);
        if (close == NULL)
            return refuse(ret_reason, "the closing ']' is missing");
        *ret_host = lh_slice_of(text.data + 1, (size_t)(close - text.data) - 1);
        if (close + 1 == end)
            return true;
        if (close[1] != ':')
            return refuse(ret_reason, "after ']' there may only be ':' and a port");
        colon = close + 1;
    } else {
        colon = memchr(text.data, ':', text.size_bytes);
        if (colon == NULL) {
            *ret_host = text;
            return true;
        }
        if (memchr(colon + 1, ':', (size_t)(end - colon) - 1) != NULL)
            return refuse(ret_reason, "write an IPv6 address in brackets: [::1]:7741");
        *ret_host = lh_slice_of(text.data, (size_t)(colon - text.data));
    }
    *ret_port = lh_slice_of(colon + 1, (size_t)(end - colon) - 1);
    return true;
}

static bool parse_port(struct lh_slice text, uint16_t *ret_port)
{
    uint64_t port = 0;
    if (!lh_u64_parse(text, &port) || port == 0 || port > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

// Letters, digits, '-' and '_' in labels of 1..63 between dots; one dot may end it.
static bool is_host_name(const char *host)
{
    size_t label = 0;
    for (const char *at = host; *at != '\0'; at++) {
        const uint8_t byte = lh_ascii_lower((uint8_t)*at);
        if (byte == '.') {
            if (label == 0)
                return false;
            label = 0;
            continue;
        }
        if (!((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
              byte == '_'))
            return false;
        if (++label > 63)
            return false;
    }
    return host[0] != '\0';
}

static void set_port(struct lh_address *address)
{
    if (address->socket.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&address->socket)->sin6_port = htons(address->port);
    else
        ((struct sockaddr_in *)&address->socket)->sin_port = htons(address->port);
}

static int look_up(struct lh_address *address, int flags, int family)
{
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_DGRAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    const int code = getaddrinfo(address->host, NULL, &hints, &found);
    if (code != 0)
        return code;
    memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
    address->size_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    set_port(address);
    return 0;
}

bool lh_address_parse(struct lh_slice text, uint16_t default_port, struct lh_address *ret_address,
                      const char **ret_reason)
{
    struct lh_address address = {.port = default_port};
    struct lh_slice host;
    struct lh_slice port;
    bool brackets = false;
    if (text.size_bytes == 0)
        return refuse(ret_reason, "it is empty");
    if (memmem(text.data, text.size_bytes, "://", 3) != NULL)
        return refuse(ret_reason, "it is a URL: write HOST or HOST:PORT");
    if (!split(text, &host, &port, &brackets, ret_reason))
        return false;
    if (port.data != NULL && !parse_port(port, &address.port))
        return refuse(ret_reason, "the port must be a number from 1 to 65535");
    if (host.size_bytes == 0)
        return refuse(ret_reason, "the host is missing");
    if (host.size_bytes > LH_HOST_MAX_BYTES || memchr(host.data, '\0', host.size_bytes) != NULL)
        return refuse(ret_reason, "the host is not a host name, an IPv4 or an [IPv6] address");
    memcpy(address.host, host.data, host.size_bytes);
    if (brackets) {
        // The resolver also knows the zone of fe80::1%eth0.
        if (strchr(address.host, ':') == NULL || look_up(&address, AI_NUMERICHOST, AF_INET6) != 0)
            return refuse(ret_reason, "between the brackets is no IPv6 address");
        address.is_numeric = true;
    } else if (strspn(address.host, "0123456789.") == host.size_bytes) {
        struct sockaddr_in *socket = (struct sockaddr_in *)&address.socket;
        if (port.data == NULL && strchr(address.host, '.') == NULL)
            return refuse(ret_reason,
                          "it is a port without a host: write HOST:PORT, such as 127.0.0.1:7742");
        if (inet_pton(AF_INET, address.host, &socket->sin_addr) != 1)
            return refuse(ret_reason, "an IPv4 address is four numbers from 0 to 255");
        socket->sin_family = AF_INET;
        address.size_bytes = sizeof(*socket);
        set_port(&address);
        address.is_numeric = true;
    } else if (!is_host_name(address.host)) {
        return refuse(ret_reason, "the host is not a host name, an IPv4 or an [IPv6] address");
    }
    *ret_address = address;
    return true;
}

bool lh_address_resolve(struct lh_address *address, struct lh_error *error)
{
    if (address->is_numeric)
        return true;
    const int code = look_up(address, AI_ADDRCONFIG, AF_UNSPEC);
    if (code != 0)
        return lh_error_set(error, "host name %s: %s: correct it, or check the resolver",
                            address->host, gai_strerror(code));
    return true;
}

bool lh_address_is_loopback(const struct lh_address *address)
{
    if (!address->is_numeric)
        return false;
    if (address->socket.ss_family == AF_INET) {
        const struct sockaddr_in *socket = (const struct sockaddr_in *)&address->socket;
        return ntohl(socket->sin_addr.s_addr) >> 24 == 127;
    }
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address->socket)->sin6_addr);
}

bool lh_address_equal(const struct lh_address *a, const struct lh_address *b)
{
    if (a->port != b->port)
        return false;
    if (a->is_numeric && b->is_numeric)
        return a->size_bytes == b->size_bytes && memcmp(&a->socket, &b->socket, a->size_bytes) == 0;
    return strcasecmp(a->host, b->host) == 0;
}

void lh_address_format(const struct lh_address *address, char out[LH_ADDRESS_TEXT_MAX])
{
    const bool brackets = strchr(address->host, ':') != NULL;
    snprintf(out, LH_ADDRESS_TEXT_MAX, brackets ? "[%s]:%u" : "%s:%u", address->host,
             (unsigned)address->port);
}
