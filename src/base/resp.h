// RESP, the Redis protocol, versions 2 and 3: everything about it that is bytes. Three parts:
// cutting a client's request, writing replies (and requests), and reading replies at the client.
#ifndef LH_BASE_RESP_H
#define LH_BASE_RESP_H

#include "base/resp_reply.h"
#include "base/resp_request.h"
#include "base/resp_writer.h"

#endif
