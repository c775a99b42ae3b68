// What nodes say to each other about one name. The first group is the paper's (Prepare .. Release)
// with what docs/protocol.md adds: Accept carries the lease it renews, rejections carry the
// promised ballot, answers carry the exclusion that remains. Wake passes a release on to a node
// that waits, Waits tells an owner that there is one.
#ifndef LH_LEASE_MESSAGE_H
#define LH_LEASE_MESSAGE_H

#include "base/cursor.h"
#include "base/time.h"
#include "lease/acceptor.h"
#include "lease/ballot.h"

enum lh_message_kind {
    LH_MESSAGE_PREPARE = 1,
    LH_MESSAGE_PROMISE = 2,
    LH_MESSAGE_ACCEPT = 3,
    LH_MESSAGE_ACCEPTED = 4,
    LH_MESSAGE_EXTEND = 5,
    LH_MESSAGE_EXTENDED = 6,
    LH_MESSAGE_REJECTED = 7,
    LH_MESSAGE_RELEASE = 8,
    LH_MESSAGE_WAKE = 9,
    LH_MESSAGE_WAITS = 10,
    LH_MESSAGE_LEASE_LAST = LH_MESSAGE_WAITS, // greater kinds belong to host/protocol.h
};

// One decoded message. Each kind uses the fields that name it; the others are zero.
struct lh_message {
    enum lh_message_kind kind;
    struct lh_key key;      // all
    lh_ballot ballot;       // all but Wake and Waits: the attempt, or the lease
    lh_ballot base;         // Accept: the lease it renews, or none
    lh_ballot promised;     // Rejected: what must be exceeded
    lh_ballot reported;     // Promise, Rejected: the live lease, or none
    uint64_t stamp;         // Extend, Extended; Rejected of an Extend: the sender's clock reading n
    struct lh_duration ttl; // Prepare, Accept, Extend: D_P, in whole ms
    struct lh_duration exclusion; // Promise, Rejected: what remains of `reported`
    struct lh_duration waited;    // Prepare: how long somebody at the sender has waited, whole ms
    enum lh_message_kind refused; // Rejected: Prepare, Accept or Extend
    uint8_t rank;                 // Wake: how many nodes come before
};

// For recordings and logs: "prepare" .. "waits".
const char *lh_message_name(enum lh_message_kind kind);

// True for the answers, which count only if they echo the asker's boot.
static inline bool lh_message_is_answer(enum lh_message_kind kind)
{
    return kind == LH_MESSAGE_PROMISE || kind == LH_MESSAGE_ACCEPTED ||
           kind == LH_MESSAGE_EXTENDED || kind == LH_MESSAGE_REJECTED;
}

static inline void lh_key_write(struct lh_writer *writer, struct lh_key key)
{
    lh_writer_u64(writer, key.word[0]);
    lh_writer_u64(writer, key.word[1]);
}

static inline struct lh_key lh_key_read(struct lh_reader *reader)
{
    uint64_t first = lh_reader_u64(reader);
    return (struct lh_key){{first, lh_reader_u64(reader)}};
}

// Appends kind, length and body. A writer without room fails and is left for the caller to rewind.
void lh_message_encode(struct lh_writer *writer, const struct lh_message *message);

// Decodes the body of a message of `kind`, checking every field. Returns false, leaving
// *ret_message alone, on a body that is too short, too long, or holds an impossible value.
bool lh_message_decode(enum lh_message_kind kind, struct lh_slice body,
                       struct lh_message *ret_message);

#endif
