// The only file of this layer that touches sockets: connect, send and receive without waiting, and
// what a failure means in words.
#ifndef LH_CLIENT_SOCKET_H
#define LH_CLIENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/slice.h"
#include "client/endpoint.h"
#include "client/reach.h"

enum lh_socket_state {
    LH_SOCKET_CONNECTING, // writable once it is known
    LH_SOCKET_CONNECTED,
    LH_SOCKET_FAILED, // *ret_reach and *ret_why (a constant, or of strerror) say how
};

// Makes a socket and begins to connect it. The caller closes *ret_fd, which is -1 on failure.
enum lh_socket_state lh_socket_connect(const struct lh_endpoint *endpoint, int *ret_fd,
                                       enum lh_reach *ret_reach, const char **ret_why);

// What became of it.
enum lh_socket_state lh_socket_connected(int fd, enum lh_reach *ret_reach, const char **ret_why);

// How many bytes went or came: 0 if none can now, -1 if the connection has ended, for *ret_why.
ssize_t lh_socket_send(int fd, struct lh_slice bytes, const char **ret_why);
ssize_t lh_socket_receive(int fd, uint8_t *buffer, size_t room_bytes, const char **ret_why);

// True while the connection is open and nothing has come on it.
bool lh_socket_quiet(int fd);

#endif
