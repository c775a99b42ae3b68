// What nodes say to each other besides lease messages, and the header that every datagram begins
// with. The header carries what must be checked before anything else counts: members, timing, which
// life of which node speaks (start, boot), and to which life (echo_boot); and the stamps from which
// clocks are measured.
#ifndef LH_HOST_PROTOCOL_H
#define LH_HOST_PROTOCOL_H

#include "base/cursor.h"
#include "base/slice.h"
#include "lease/message.h"

struct lh_header {
    uint32_t member_epoch;
    uint64_t members_tag; // of the member numbers
    uint64_t start;       // durable number of this start of the sender's directory; 0 while joining
    uint64_t boot;        // random; one life of one process
    uint64_t echo_boot;   // the receiver's life that the sender knows of, 0 if none
    uint64_t stamp;       // the sender's clock, just before the send
    uint64_t echo_stamp;  // the receiver's stamp that arrived last
    uint64_t echo_held;   // for how long the sender had it, in ns
    uint64_t counter;     // T4: the greatest counter the sender met
    uint32_t max_ttl_ms;
    uint32_t rate_ppm;
};

#define LH_HEADER_BYTES 76

void lh_header_write(struct lh_writer *writer, const struct lh_header *header);
void lh_header_read(struct lh_reader *reader, struct lh_header *ret_header);

enum lh_host_message_kind {
    LH_HOST_PING = 16,     // nothing: the header is the message
    LH_HOST_ASK = 17,      // joining: have you heard of me?
    LH_HOST_KNOWN = 18,    // ..: generation (0 = no), reservation
    LH_HOST_ANNOUNCE = 19, // joining: record this generation and directory
    LH_HOST_RECORDED = 20, // ..: it is durable here
    LH_HOST_REFUSAL = 21,  // we do not believe the life `nonce` of you: reason
    LH_HOST_QUERY = 22,    // what do you know of this name?
    LH_HOST_STATE = 23,    // ..: as acceptor, and as owner if you are
    LH_HOST_CALL = 24,     // do this for a client of mine
    LH_HOST_RETURN = 25,
    LH_HOST_PAGE_ASK = 26, // list what you hold, from a position on
    LH_HOST_PAGE = 27,
    LH_HOST_MESSAGE_LAST = LH_HOST_PAGE,
};

// A lease as its owner knows it.
struct lh_entry {
    struct lh_slice name, holder;
    lh_ballot token;
    uint8_t node;
    uint32_t renewals;
    struct lh_duration remaining, age, renewed_ago, ttl;
    bool revoked;
};

struct lh_host_message {
    enum lh_host_message_kind kind;
    uint8_t generation;           // Known, Announce, Recorded
    uint8_t directory[16];        // Ask, Announce
    uint64_t reservation;         // Known
    uint8_t reason;               // Refusal: enum lh_refusal; Return: enum lh_reason
    uint64_t nonce;               // Query, State, Call, Return, PageAsk, Page
    struct lh_key key;            // Query, State
    bool serving;                 // State: not in quarantine
    lh_ballot ballot;             // State: the live lease, or none
    struct lh_duration exclusion; // State: what remains of it
    bool owner;                   // State: `entry` says more, without its name
    struct lh_entry entry; // State; Call: name, holder, token, ttl; Return: holder, token, node, ..
    uint8_t call;          // Call: enum lh_request_kind; Return: enum lh_status
    struct lh_duration timeout; // Call
    int64_t until_ns;           // Return
    uint32_t position;          // PageAsk, Page: where the next page begins, 0 = end
    uint8_t count;              // Page
    struct lh_slice text;       // PageAsk: prefix; Page: entries
};

// Kind, length, body; as lh_message_encode.
void lh_host_message_encode(struct lh_writer *writer, const struct lh_host_message *message);

// Slices point into `body`. Returns false on anything impossible.
bool lh_host_message_decode(enum lh_host_message_kind kind, struct lh_slice body,
                            struct lh_host_message *ret_message);

void lh_entry_write(struct lh_writer *writer, const struct lh_entry *entry);

// Reads one entry; fails the reader on anything impossible.
void lh_entry_read(struct lh_reader *reader, struct lh_entry *ret_entry);

#endif
