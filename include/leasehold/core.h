// The pure core, for a daemon that embeds leases among its own members over its own transport:
// acceptor and proposer of every name, in memory given at start. No thread, no clock, no socket, no
// allocation: time comes in as a parameter, bytes go out as bytes.
//
//     a call that takes now_ns          acquire, renew, release, receive, timer
//     while (lh_core_send(..))          hand each message to your transport, to that member
//     while (lh_core_event(..))         what became of leases
//     wait until a message or lh_core_deadline_ns has come, then lh_core_timer or lh_core_receive
//
// What you owe, or two members will hold one lease (docs/library.md says why):
//   - now_ns is CLOCK_BOOTTIME in nanoseconds, read before each call; for lh_core_receive, after the
//     receive call returned. Messages are sent after the call that made them, never kept for later.
//   - Every member has the same members, max_ttl_ms, rate_ppm and cluster, and its own number.
//   - rate_ppm is more than any member's clock can be wrong by, in parts per million.
//   - On LH_CORE_RESERVE make `reserve` durable, then call lh_core_reserved. Start with the greatest
//     value that was ever made durable. It is written about once in a million attempts.
//   - `first` is true only if no member of this cluster has ever run before.
//   - Your transport proves who sent a message; it may lose, repeat, reorder and delay as it likes.
//   - Before each act ask lh_core_holds with a fresh reading; give lh_core_token to what you act on.
//
// What is not here, and leaseholdd has: identity of data directories, replacement of lost ones,
// sealed datagrams, queues of clients, names (a key is 16 bytes of yours).
//
// Threads: one core, one thread at a time. Errors: see base.h; an argument that no bytes from
// outside can have caused (a member that is not one, memory too small) is LH_ARGUMENT.
//
// Source: src/embed/core.c over src/lease/. Stands alone, C99 and C++.
#ifndef LEASEHOLD_CORE_H
#define LEASEHOLD_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leasehold/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LH_CORE_MEMBERS_MAX 7
#define LH_CORE_MESSAGE_BYTES 160 // no message is longer

struct lh_core;

// Which lease: 16 bytes, a hash of a name or the name itself; the same at every member.
struct lh_core_key {
    unsigned char bytes[16];
};

struct lh_core_config {
    size_t size_bytes;                    // sizeof(struct lh_core_config)
    uint8_t node;                         // this member's number, 1 .. 255
    uint8_t member_count;                 // 1 to 7
    uint8_t members[LH_CORE_MEMBERS_MAX]; // all numbers, ascending, `node` among them
    int64_t max_ttl_ms;  // 50 .. 3600000: the longest lease; a restart is silent for as long
    uint32_t rate_ppm;   // 1 .. 100000
    uint32_t max_leases; // keys this member can know as acceptor, or has asked for
    uint64_t cluster;    // messages of another cluster are refused
    uint64_t reserved;   // durable, see above; 0 if nothing was ever made durable
    bool first;          // see above
    uint8_t seed[32];    // fresh random bytes at every start; need not be secret
};

// How much memory a core of this configuration takes; 0 if the configuration is wrong.
LH_API size_t lh_core_size(const struct lh_core_config *config);

// Makes a core in `memory`, which is the caller's, 16-aligned, of at least lh_core_size bytes, and
// must neither move nor be freed while the core is used. There is nothing to close. LH_OK or
// LH_ARGUMENT.
LH_API enum lh_return lh_core_init(void *memory, size_t size_bytes,
                                   const struct lh_core_config *config, int64_t now_ns,
                                   struct lh_core **ret_core);

// --- what is wanted ---

// Try to acquire `key` for ttl_ms (50 .. max_ttl_ms). Ends in ACQUIRED or BLOCKED; tried on, with
// pauses, until then or until lh_core_stop. LH_OK, LH_ARGUMENT, LH_FULL (no room for another key:
// lh_core_forget some), LH_STATE (held already: renew).
LH_API enum lh_return lh_core_acquire(struct lh_core *core, int64_t now_ns, struct lh_core_key key,
                                      int64_t ttl_ms);

// Renew a lease that is held, to last for ttl_ms from now, or longer if it did. At half of the TTL
// is a good time. Ends in RENEWED or LOST. LH_OK, LH_ARGUMENT, LH_STATE (not held).
LH_API enum lh_return lh_core_renew(struct lh_core *core, int64_t now_ns, struct lh_core_key key,
                                    int64_t ttl_ms);

// You have stopped: let go. LH_OK, or LH_STATE: it is not held, or a renewal is at a point where it
// must be waited for (RENEWED or LOST comes; then release).
LH_API enum lh_return lh_core_release(struct lh_core *core, int64_t now_ns, struct lh_core_key key);

// Want it no longer. What is held stays held; an attempt that is nearly through may still end in
// ACQUIRED or RENEWED.
LH_API void lh_core_stop(struct lh_core *core, struct lh_core_key key);

// Gives the room of a key back that is neither wanted nor held: true if that is so.
LH_API bool lh_core_forget(struct lh_core *core, int64_t now_ns, struct lh_core_key key);

// --- what is held ---

// Authority: whether this member may act at now_ns, which was read just before.
LH_API bool lh_core_holds(const struct lh_core *core, int64_t now_ns, struct lh_core_key key);

// The fencing token and when authority ends; 0 if it is not held at now_ns.
LH_API int64_t lh_core_token(const struct lh_core *core, int64_t now_ns, struct lh_core_key key);
LH_API int64_t lh_core_until_ns(const struct lh_core *core, int64_t now_ns, struct lh_core_key key);

// --- in and out ---

// A message that came. Bytes of strangers do no harm: LH_ARGUMENT if it is not for us, of another
// cluster, from nobody we know, malformed or timed differently; LH_STALE if it answers what an
// earlier life of this member asked. Drop it and go on.
LH_API enum lh_return lh_core_receive(struct lh_core *core, int64_t now_ns, const void *bytes,
                                      size_t size_bytes);

// When lh_core_timer wants to be called; INT64_MAX for never. Late is harmless.
LH_API int64_t lh_core_deadline_ns(const struct lh_core *core);
LH_API void lh_core_timer(struct lh_core *core, int64_t now_ns);

// Up to `reserved` is durable now.
LH_API void lh_core_reserved(struct lh_core *core, uint64_t reserved);

// The next message to send: its member, and its bytes in `buffer`. False if there is none. What is
// not taken before the next call that takes now_ns is lost.
LH_API bool lh_core_send(struct lh_core *core, uint8_t *ret_member,
                         unsigned char buffer[LH_CORE_MESSAGE_BYTES], size_t *ret_size_bytes);

enum lh_core_event_kind {
    LH_CORE_ACQUIRED = 1, // token, at_ns: authority ends unless renewed
    LH_CORE_RENEWED,      // likewise
    LH_CORE_BLOCKED,      // somebody holds it until at_ns, or longer if renewed; ask again then
    LH_CORE_STALLED,      // no quorum within an attempt; it is tried again
    LH_CORE_LOST,         // authority ended without a renewal
    LH_CORE_WOKEN,        // the lease in the way was let go: ask again at at_ns, not before
    LH_CORE_RESERVE,      // make `reserve` durable, see above
};

struct lh_core_event {
    enum lh_core_event_kind kind;
    struct lh_core_key key;
    int64_t token;
    int64_t at_ns;
    uint64_t reserve;
};

// The next event, oldest first; false if there is none. Take them after each call: when 64 wait, the
// oldest is dropped (never a RESERVE; ask lh_core_holds what is held).
LH_API bool lh_core_event(struct lh_core *core, struct lh_core_event *ret_event);

#ifdef __cplusplus
}
#endif

#endif
