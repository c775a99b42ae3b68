// One conversation with a cluster: a list of endpoints, a connection to one of them, one request at
// a time. Nothing here blocks (except in lh_client_wait): a request is begun, then advanced
// whenever its descriptor is ready or its instant has come, so that whoever holds a lease can watch
// its deadline in the same poll. This is the seam from which the public asynchronous client grows.
//
// What must stay true (docs/protocol.md, Client):
//   - the clock is read before the first byte of a request is handed to the kernel: lh_client_sent;
//   - a request that failed or ran out of time closes the connection, so that no late answer is ever
//     taken for the answer to another request;
//   - a request is tried once at one endpoint; who repeats it builds it afresh, and it is sent under
//     a fresh reading. The endpoint after a failed one is tried next.
//
// Threads: one client, one thread.
#ifndef LH_CLIENT_CLIENT_H
#define LH_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/resp.h"
#include "base/time.h"
#include "os/error.h"

struct lh_client;

enum lh_client_state {
    LH_CLIENT_IDLE,     // nothing begun since the last answer was taken
    LH_CLIENT_BUSY,     // waiting for the descriptor or the instant
    LH_CLIENT_ANSWERED, // lh_client_reply has the answer
    LH_CLIENT_FAILED,   // no answer from this endpoint; lh_client_error says why
};

// How far a request got that was not answered: of several failures the one that got furthest tells
// the most, and is what a user reads.
enum lh_client_reach {
    LH_REACH_NOBODY,    // nothing listens: no such socket, refused, unreachable
    LH_REACH_FORBIDDEN, // the socket is there, and may not be opened by this user
    LH_REACH_SILENCE,   // connected, and no answer came in time
    LH_REACH_BROKEN,    // the connection ended, or what answers speaks another protocol
    LH_REACH_ANSWER,    // a node answered
};

// Parses and resolves the endpoints (may block on a name server); connects to nothing yet. NULL
// means LEASEHOLD_CONNECT, then (also if that is empty) LH_ENDPOINT_DEFAULT. The caller closes what
// it gets.
bool lh_client_open(const char *endpoints, struct lh_client **ret_client, struct lh_error *error);

// Closes the connection and frees the client. Accepts NULL.
void lh_client_close(struct lh_client *client);

size_t lh_client_endpoint_count(const struct lh_client *client);

// Begins a request of `count` words to the current endpoint, connecting if need be. It ends by
// itself `timeout` from now. The words are copied. A request in flight is abandoned first.
void lh_client_begin(struct lh_client *client, const char *const *words, size_t count,
                     struct lh_duration timeout);

// Does what can be done without waiting.
enum lh_client_state lh_client_advance(struct lh_client *client);

// What to wait for while BUSY: the descriptor (-1 for none), its poll events, and the instant at
// which to advance anyway.
int lh_client_fd(const struct lh_client *client);
short lh_client_events(const struct lh_client *client);
struct lh_instant lh_client_wake_at(const struct lh_client *client);

// Advances and waits until the request has ended.
enum lh_client_state lh_client_wait(struct lh_client *client);

// Waits until one of `count` descriptors (fd -1 is skipped) is ready or `wake_at` has come, but for
// no more than a second, since the kernel's time-outs do not count a suspend and BOOTTIME does.
struct pollfd;
void lh_client_poll(struct pollfd *fds, size_t count, struct lh_instant wake_at);

// The endpoint that answered cannot help: the next request goes to the one after it.
void lh_client_try_next(struct lh_client *client);

// Abandons a request in flight and closes the connection.
void lh_client_abandon(struct lh_client *client);

// The answer, valid until the next begin or close.
const struct lh_resp_value *lh_client_reply(const struct lh_client *client);

// The clock before the answered request was sent.
struct lh_instant lh_client_sent(const struct lh_client *client);

// The endpoint of the last request as it was written, and why the request failed.
const char *lh_client_endpoint(const struct lh_client *client);
const char *lh_client_error(const struct lh_client *client);

// How far the last request got.
enum lh_client_reach lh_client_reach(const struct lh_client *client);

// Whether the endpoints came from LEASEHOLD_CONNECT.
bool lh_client_from_environment(const struct lh_client *client);

// Why a call of several requests failed, and how far the furthest of them got.
struct lh_client_trouble {
    enum lh_client_reach reach;
    struct lh_error error; // "" as long as nothing failed
};

// Notes that the last request failed: with `why`, unless an earlier one got further, or as far
// without a word from a node.
void lh_client_note(const struct lh_client *client, const char *why,
                    struct lh_client_trouble *trouble);

// A request that may go to any endpoint: tries each in turn, and again until `timeout` has passed,
// unless none of them can be connected to. Answers that mean "ask another node" (-NOTREADY, -BUSY)
// count as failures.
bool lh_client_call(struct lh_client *client, const char *const *words, size_t count,
                    struct lh_duration timeout, struct lh_client_trouble *ret_trouble);

#endif
