// One conversation with a cluster: a list of endpoints, a connection to one of them, one request at
// a time. Nothing here blocks (except in lh_channel_wait): a request is begun, then advanced
// whenever its descriptor is ready or its instant has come, so that whoever holds a lease can watch
// its deadline in the same poll. The command line talks through it; the library's clients have a
// connection for each lease (library.c).
//
// What must stay true (docs/protocol.md, Client):
//   - the clock is read before the first byte of a request is handed to the kernel: lh_channel_sent;
//   - a request that failed or ran out of time closes the connection, so that no late answer is ever
//     taken for the answer to another request;
//   - a request is tried once at one endpoint; who repeats it builds it afresh, and it is sent under
//     a fresh reading. The endpoint after a failed one is tried next.
//
// Threads: one channel, one thread.
#ifndef LH_CLIENT_CHANNEL_H
#define LH_CLIENT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/resp.h"
#include "base/time.h"
#include "client/reach.h"

struct lh_channel;

enum lh_channel_state {
    LH_CHANNEL_IDLE,     // nothing begun since the last answer was taken
    LH_CHANNEL_BUSY,     // waiting for the descriptor or the instant
    LH_CHANNEL_ANSWERED, // lh_channel_reply has the answer
    LH_CHANNEL_FAILED,   // no answer from this endpoint; lh_channel_error says why
};

// Parses and resolves the endpoints (may block on a name server); connects to nothing yet. NULL
// means LEASEHOLD_CONNECT, then (also if that is empty) LH_ENDPOINT_DEFAULT. The caller closes what
// it gets.
bool lh_channel_open(const char *endpoints, struct lh_channel **ret_channel,
                     struct lh_error *error);

// Closes the connection and frees the channel. Accepts NULL.
void lh_channel_close(struct lh_channel *channel);

size_t lh_channel_endpoint_count(const struct lh_channel *channel);

// Begins a request of `count` words to the current endpoint, connecting if need be. It ends by
// itself `timeout` from now. The words are copied. A request in flight is abandoned first.
void lh_channel_begin(struct lh_channel *channel, const char *const *words, size_t count,
                      struct lh_duration timeout);

// Does what can be done without waiting.
enum lh_channel_state lh_channel_advance(struct lh_channel *channel);

// What to wait for while BUSY: the descriptor (-1 for none), its poll events, and the instant at
// which to advance anyway.
int lh_channel_fd(const struct lh_channel *channel);
short lh_channel_events(const struct lh_channel *channel);
struct lh_instant lh_channel_wake_at(const struct lh_channel *channel);

// The connection while no request is under way, or -1: readable once the daemon has hung up.
int lh_channel_idle_fd(const struct lh_channel *channel);

// Advances and waits until the request has ended.
enum lh_channel_state lh_channel_wait(struct lh_channel *channel);

// Waits until one of `count` descriptors (fd -1 is skipped) is ready or `wake_at` has come, but for
// no more than a second, since the kernel's time-outs do not count a suspend and BOOTTIME does.
struct pollfd;
void lh_channel_poll(struct pollfd *fds, size_t count, struct lh_instant wake_at);

// The endpoint that answered cannot help: the next request goes to the one after it.
void lh_channel_try_next(struct lh_channel *channel);

// Which endpoint the next request goes to, and choosing it.
size_t lh_channel_next(const struct lh_channel *channel);
void lh_channel_go_to(struct lh_channel *channel, size_t index);

// Abandons a request in flight and closes the connection.
void lh_channel_abandon(struct lh_channel *channel);

// The answer, valid until the next begin or close.
const struct lh_resp_value *lh_channel_reply(const struct lh_channel *channel);

// The clock before the answered request was sent.
struct lh_instant lh_channel_sent(const struct lh_channel *channel);

// The endpoint of the last request as it was written, and why the request failed.
const char *lh_channel_endpoint(const struct lh_channel *channel);
const char *lh_channel_error(const struct lh_channel *channel);

// How far the last request got.
enum lh_reach lh_channel_reach(const struct lh_channel *channel);

// Whether the endpoints came from LEASEHOLD_CONNECT.
bool lh_channel_from_environment(const struct lh_channel *channel);

// A request that may go to any endpoint: tries each in turn, and again until `timeout` has passed,
// unless none of them can be connected to. Answers that mean "ask another node" (-NOTREADY, -BUSY)
// count as failures, and so does that of a node without a majority, which took its time over it: of
// those each endpoint gives at most one.
bool lh_channel_call(struct lh_channel *channel, const char *const *words, size_t count,
                     struct lh_duration timeout, struct lh_trouble *ret_trouble);

#endif
