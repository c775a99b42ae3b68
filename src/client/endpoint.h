// Where daemons are: the words of --connect and LEASEHOLD_CONNECT, parsed and resolved.
//
//     unix:PATH | PATH beginning with / or .        a Unix socket
//     tcp:HOST:PORT | HOST:PORT                     IPv4, [IPv6] or a host name
//
// Several are separated by commas; blanks around them do not matter. Names are resolved once, here,
// before any lease is held: a look-up may block for seconds, and nothing that renews a lease may
// wait for it.
#ifndef LH_CLIENT_ENDPOINT_H
#define LH_CLIENT_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "leasehold/base.h"
#include "os/error.h"

#define LH_ENDPOINT_DEFAULT "unix:/run/leasehold/client.sock"
#define LH_ENDPOINTS_MOST 16

// One address to connect to. A host name with several addresses makes several of these.
struct lh_endpoint {
    struct sockaddr_storage address;
    socklen_t address_size;
    char text[128]; // as it was written, for messages; cut if longer
};

struct lh_endpoint_list {
    struct lh_endpoint items[LH_ENDPOINTS_MOST];
    size_t count; // at least 1 after a successful parse
};

// Parses `text` and resolves its host names (may block). Returns LH_OK, LH_MEMORY or LH_ARGUMENT:
// the error echoes the word that is wrong.
enum lh_return lh_endpoint_list_parse(const char *text, struct lh_endpoint_list *ret_list,
                                      struct lh_error *error);

// The endpoints that a command was given: `text`, or if that is NULL those of LEASEHOLD_CONNECT,
// then (also if that is empty) LH_ENDPOINT_DEFAULT. Tells which it was.
bool lh_endpoint_list_find(const char *text, struct lh_endpoint_list *ret_list,
                           bool *ret_from_environment, struct lh_error *error);

#endif
