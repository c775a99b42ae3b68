// See socket.h. No signal: MSG_NOSIGNAL. No descriptor for children: SOCK_CLOEXEC.
#include "client/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static enum lh_socket_state cannot_connect(int failure, enum lh_reach *ret_reach,
                                           const char **ret_why)
{
    *ret_reach = LH_REACH_NOBODY;
    if (failure == EACCES || failure == EPERM)
        *ret_reach = LH_REACH_FORBIDDEN;
    else if (failure == EAGAIN) // somebody listens, but has no room for us now
        *ret_reach = LH_REACH_SILENCE;
    *ret_why = strerror(failure);
    return LH_SOCKET_FAILED;
}

enum lh_socket_state lh_socket_connect(const struct lh_endpoint *endpoint, int *ret_fd,
                                       enum lh_reach *ret_reach, const char **ret_why)
{
    int family = endpoint->address.ss_family;
    int yes = 1;
    *ret_fd = -1;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return cannot_connect(errno, ret_reach, ret_why);
    if (family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    bool at_once =
        connect(fd, (const struct sockaddr *)&endpoint->address, endpoint->address_size) == 0;
    if (!at_once && errno != EINPROGRESS) {
        int failure = errno;
        close(fd);
        return cannot_connect(failure, ret_reach, ret_why);
    }
    *ret_fd = fd;
    return at_once ? LH_SOCKET_CONNECTED : LH_SOCKET_CONNECTING;
}

enum lh_socket_state lh_socket_connected(int fd, enum lh_reach *ret_reach, const char **ret_why)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int failure = 0;
    socklen_t size = sizeof failure;
    if (poll(&ready, 1, 0) == 0)
        return LH_SOCKET_CONNECTING;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
        failure = errno;
    return failure == 0 ? LH_SOCKET_CONNECTED : cannot_connect(failure, ret_reach, ret_why);
}

static ssize_t ended(const char **ret_why)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return 0;
    *ret_why = strerror(errno);
    return -1;
}

ssize_t lh_socket_send(int fd, struct lh_slice bytes, const char **ret_why)
{
    ssize_t size;
    do
        size = send(fd, bytes.data, bytes.size_bytes, MSG_NOSIGNAL);
    while (size < 0 && errno == EINTR);
    return size >= 0 ? size : ended(ret_why);
}

ssize_t lh_socket_receive(int fd, uint8_t *buffer, size_t room_bytes, const char **ret_why)
{
    ssize_t size;
    do
        size = recv(fd, buffer, room_bytes, MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size > 0)
        return size;
    if (size < 0)
        return ended(ret_why);
    *ret_why = "the server closed the connection";
    return -1;
}

bool lh_socket_quiet(int fd)
{
    uint8_t byte;
    ssize_t size = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}
