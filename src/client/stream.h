// The bytes of one connection to a node, without the connection: a request in, bytes to send out,
// bytes that came in, an answer out. Whoever owns a socket, real or simulated, moves the bytes.
//
// What must stay true:
//   - a request is stamped by the call that first hands out its bytes, with the clock the caller
//     has just read: so the reading is before the send (docs/protocol.md, Client);
//   - one request is under way at a time, and what comes beside its answer breaks the connection;
//   - a connection that broke, or whose request ran out of time, is never used again: the caller
//     closes it and begins anew with lh_stream_reset, so no answer meets another request.
//
// Pure: no clock, no system call, no allocation. All memory is the owner's.
#ifndef LH_CLIENT_STREAM_H
#define LH_CLIENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/resp.h"
#include "base/time.h"

// Room that a greeting takes in front of the first request.
#define LH_STREAM_GREETING_BYTES 22

enum lh_stream_state {
    LH_STREAM_QUIET,    // nothing begun since the last answer was taken
    LH_STREAM_WAITING,  // for the answer, or for its rest
    LH_STREAM_ANSWERED, // lh_stream_reply has it
    LH_STREAM_BROKEN,   // close the connection; `reason` says why
};

struct lh_stream {
    uint8_t *out; // greeting and request
    size_t out_room, out_size, out_done;
    uint8_t *in;
    size_t in_room, in_size;
    struct lh_resp_value *values;
    uint32_t value_count;
    size_t reply_bytes_most;
    struct lh_resp_reply_parser parser;
    enum lh_stream_state state;
    bool greeted; // the answer to the greeting has come
    bool stamped;
    struct lh_instant sent;
    char reason[160];
};

// The stream of a connection that is yet to be made. The buffers live as long as the stream; `out`
// and `in` may be replaced by larger ones with the same bytes in them.
void lh_stream_init(struct lh_stream *stream, uint8_t *out, size_t out_room, uint8_t *in,
                    size_t in_room, struct lh_resp_value *values, uint32_t value_count,
                    size_t reply_bytes_most);

// Another connection: forgets everything about the last one.
void lh_stream_reset(struct lh_stream *stream);

// How much room in `out` a request takes at most.
size_t lh_stream_request_bytes(const char *const *words, size_t count);

// Begins a request; the words are copied. False if `out` has no room for it. Takes a stream that is
// QUIET or ANSWERED.
bool lh_stream_begin(struct lh_stream *stream, const char *const *words, size_t count);

// What is to be sent now: hand it to the kernel at once, then say with lh_stream_wrote how much of
// it went. `now` was read just before.
struct lh_slice lh_stream_output(struct lh_stream *stream, struct lh_instant now);
void lh_stream_wrote(struct lh_stream *stream, size_t size_bytes);
static inline bool lh_stream_has_output(const struct lh_stream *stream)
{
    return stream->state == LH_STREAM_WAITING && stream->out_done < stream->out_size;
}

// Where bytes that come are put: at most *ret_room of them; 0 means that the answer is too long.
// Then the caller says how many came. Bytes that come while nothing is asked break the stream.
uint8_t *lh_stream_input(struct lh_stream *stream, size_t *ret_room);
enum lh_stream_state lh_stream_received(struct lh_stream *stream, size_t size_bytes);

// The answer, valid until the next begin or reset.
static inline const struct lh_resp_value *lh_stream_reply(const struct lh_stream *stream)
{
    return &stream->values[0];
}

#endif
