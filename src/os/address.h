// Where a peer or a server listens, as people write it: 10.0.0.1:7741, [::1]:7741, db1.example.org,
// each with or without its port.
//
// Numeric addresses are complete once parsed. A host name is only checked; it is looked up by
// lh_address_resolve, which asks the resolver and may take seconds.
#ifndef LH_OS_ADDRESS_H
#define LH_OS_ADDRESS_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/slice.h"
#include "os/error.h"

enum {
    LH_HOST_MAX_BYTES = 253,                      // of a host name
    LH_ADDRESS_TEXT_MAX = LH_HOST_MAX_BYTES + 10, // with brackets, port and terminator
};

struct lh_address {
    char host[LH_HOST_MAX_BYTES + 1]; // without brackets
    uint16_t port;                    // 1..65535
    bool is_numeric;
    socklen_t size_bytes; // of `socket`; 0 until resolved
    struct sockaddr_storage socket;
};

// Parses text of any origin. On failure returns false and sets *ret_reason to a constant that
// completes "the address 'X' is refused: ..."; *ret_address is untouched.
bool lh_address_parse(struct lh_slice text, uint16_t default_port, struct lh_address *ret_address,
                      const char **ret_reason);

// Looks a host name up, anew each time; does nothing for a numeric address. The first answer
// counts. Blocks.
bool lh_address_resolve(struct lh_address *address, struct lh_error *error);

// True for a numeric address in 127.0.0.0/8 or ::1.
bool lh_address_is_loopback(const struct lh_address *address);

// The same host, as written or as a number, and the same port.
bool lh_address_equal(const struct lh_address *a, const struct lh_address *b);

// HOST:PORT or [HOST]:PORT, terminated.
void lh_address_format(const struct lh_address *address, char out[LH_ADDRESS_TEXT_MAX]);

#endif
