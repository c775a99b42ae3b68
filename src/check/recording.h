// What a daemon recorded (`record = FILE`), read back: one event a line, in the order of steps of
// one node. Lines are JSON objects of strings and whole numbers, as src/node/record.c writes them;
// anything else is refused with its line.
#ifndef LH_CHECK_RECORDING_H
#define LH_CHECK_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lh_recorded_what { // of an event; the others are OTHER
    LH_RECORDED_OTHER,
    LH_RECORDED_SEND,
    LH_RECORDED_RECEIVE,
    LH_RECORDED_HOLD,
    LH_RECORDED_ADMITTED,
    LH_RECORDED_QUARANTINE,
    LH_RECORDED_GRANTED,
    LH_RECORDED_RENEWED,
    LH_RECORDED_LOST,
    LH_RECORDED_RELEASED,
    LH_RECORDED_REVOKED,
    LH_RECORDED_SERVING,
    LH_RECORDED_RESTORED,
    LH_RECORDED_CLOCK_BAD,
    LH_RECORDED_CLOCK_GOOD,
    LH_RECORDED_WHATS,
};

enum lh_recorded_kind { // of a message
    LH_RECORDED_NONE,
    LH_RECORDED_PREPARE,
    LH_RECORDED_PROMISE,
    LH_RECORDED_ACCEPT,
    LH_RECORDED_ACCEPTED,
    LH_RECORDED_EXTEND,
    LH_RECORDED_EXTENDED,
    LH_RECORDED_REJECTED,
    LH_RECORDED_RELEASE,
    LH_RECORDED_WAKE,
    LH_RECORDED_WAITS,
    LH_RECORDED_KINDS,
};

// Absent numbers are 0. What identifies a message comes first, so that it can be compared at once.
struct lh_recorded {
    struct {
        uint64_t key[2];
        uint64_t kind; // of lh_recorded_kind
        uint64_t refused;
        uint64_t ballot, base, promised, reported, stamp, ttl_ns, exclusion_ns;
        uint64_t from, to;
    } message;
    enum lh_recorded_what what;
    uint32_t node;
    uint64_t n;       // counts from 1 in each life of a node
    int64_t at;       // on that node's clock
    uint64_t made_at; // of an answer that was held: when that was; 0: it was not
    uint64_t number, token, until;
    uint64_t generation;
    uint64_t text, holder; // hashes of what is written out: the name of a key, the holder; 0: none
    bool is_new;           // admitted as a node without a past
    bool is_restored;      // admitted with what it saved (F4)
    bool is_late;          // recorded when the other files were being read already
    uint32_t file, line;
    uint32_t name; // of its key: numbered over all files
};

struct lh_recording {
    struct lh_recorded *events;
    size_t count;
    size_t capacity;
    uint32_t names;
    uint64_t nodes; // that recorded, or that somebody sent to or heard from: bit per node below 64
    uint64_t recorders;
};

// The kind of message that an answer is to; LH_RECORDED_NONE if it is none.
uint64_t lh_recorded_request(const struct lh_recorded *answer);

// Appends the events of `count` files, at least one, which daemons may be adding to. Returns false
// with what is wrong: file, line and why; what was read before stays.
bool lh_recording_read(struct lh_recording *recording, const char *const *paths, uint32_t count,
                       char *ret_error, size_t error_size);
// Numbers the names. After the last file, before anything is judged. False without memory.
bool lh_recording_finish(struct lh_recording *recording);
void lh_recording_close(struct lh_recording *recording);

#endif
