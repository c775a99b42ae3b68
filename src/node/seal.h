// Sealed datagrams: XChaCha20-Poly1305 under a key of the keyring, behind a clear header of 44
// bytes.
//
//     "LH" 2 | version 1 | sender 1 | generation 1 | destination 1 | zero 2
//     cluster tag 8 | key id 4 | nonce 24
//
// Little-endian; then the ciphertext and its 16 bytes of tag. Associated data are the cluster id
// and the header before the nonce, so a datagram opens only in its cluster and at the node it was
// meant for. The header is judged before any cryptography, and every refusal has a cause that can
// be counted and named.
//
// Nonces: 16 random bytes, drawn anew each minute and whenever CLOCK_REALTIME and CLOCK_BOOTTIME
// have moved apart (the machine was suspended, or its memory restored from a snapshot), then a
// counter. What must stay true: no nonce is used twice with a key. XChaCha20 derives a key of its own
// from the 16 random bytes (HChaCha20), a fifth of what a short datagram costs: it is kept, here
// for the nonce in use, and for each sender as long as what it sends opens.
#ifndef LH_NODE_SEAL_H
#define LH_NODE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/time.h"
#include "os/keyring.h"

enum {
    LH_SEAL_VERSION = 1, // of all that travels between nodes, the messages inside included
    LH_SEAL_HEADER_BYTES = 44,
    LH_SEAL_OVERHEAD_BYTES = LH_SEAL_HEADER_BYTES + 16,
    LH_SEAL_CLUSTER_TAG_BYTES = 8,
    LH_SEAL_KEY_ID_BYTES = 4,
    LH_SEAL_NONCE_BYTES = 24,
    LH_SEAL_NONCE_RANDOM_BYTES = 16,
    LH_NAME_HASH_BYTES = 16,
};

// Why a datagram was not opened: enumerator, name for counters and log lines, what it means and
// what to do.
#define LH_UNSEAL_CAUSES(X)                                                                        \
    X(OK, "ok", "opened")                                                                          \
    X(SHORT, "too-short", "cut on its way or not from leaseholdd: look for what sends it")         \
    X(FOREIGN, "not-ours", "not from leaseholdd: look for what sends it, or change the port")      \
    X(VERSION, "other-version",                                                                    \
      "another protocol version: run releases next to each other on all nodes")                    \
    X(CLUSTER, "other-cluster",                                                                    \
      "sealed for another cluster id: compare the keyring files and addresses of both nodes")      \
    X(KEY, "unknown-key",                                                                          \
      "sealed under a key that is not in the keyring: add it here, then send HUP")                 \
    X(DESTINATION, "wrong-destination",                                                            \
      "meant for another node: compare the addresses in [node N] on both nodes")                   \
    X(FORGED, "forged",                                                                            \
      "the seal is broken: damaged on its way, or forged by somebody without the key")

enum lh_unseal {
#define LH_UNSEAL_ENUMERATOR(enumerator, name, text) LH_UNSEAL_##enumerator,
    LH_UNSEAL_CAUSES(LH_UNSEAL_ENUMERATOR)
#undef LH_UNSEAL_ENUMERATOR
        LH_UNSEAL_COUNT
};

// "forged" and the like; and the sentence with the remedy.
const char *lh_unseal_name(enum lh_unseal cause);
const char *lh_unseal_text(enum lh_unseal cause);

// One key with what is derived from it.
struct lh_seal_key {
    uint8_t id[LH_SEAL_KEY_ID_BYTES];
    uint8_t key[LH_KEY_BYTES];
};

// What was derived from a key and the random part of a nonce.
struct lh_seal_derived {
    bool known;
    uint8_t key_number; // of `keys`
    uint8_t nonce_random[LH_SEAL_NONCE_RANDOM_BYTES];
    uint8_t key[LH_KEY_BYTES];
};

// Seals for one node and opens what is meant for it. Plain memory of its owner; one thread.
struct lh_seal {
    uint8_t node;
    uint8_t cluster_id[LH_CLUSTER_ID_BYTES];
    uint8_t cluster_tag[LH_SEAL_CLUSTER_TAG_BYTES];
    uint8_t key_count;
    struct lh_seal_key keys[LH_KEYRING_KEYS_MAX];
    uint64_t nonce_counter;
    struct lh_instant redraw_at; // LH_PAST: draw before the next use
    int64_t apart_ns;            // REALTIME - BOOTTIME when the random part was drawn
    struct lh_seal_derived own;
    struct lh_seal_derived of_sender[UINT8_MAX + 1];
};

// Prepares for `node`, 1..255. Also after a keyring was reloaded.
void lh_seal_init(struct lh_seal *ret_seal, const struct lh_keyring *keyring, uint8_t node);

// Overwrites the keys.
void lh_seal_wipe(struct lh_seal *seal);

// Seals `plain` for `destination` into `out`, which has room for plain.size_bytes +
// LH_SEAL_OVERHEAD_BYTES and does not overlap `plain`. Returns the size of the datagram.
// `generation` is the sender's, 0 while it joins. `now` and `realtime_ns` are readings of the two
// clocks from the same moment.
size_t lh_seal_datagram(struct lh_seal *seal, struct lh_instant now, int64_t realtime_ns,
                        uint8_t generation, uint8_t destination, struct lh_slice plain,
                        uint8_t *out, size_t capacity);

// What an opened datagram says of itself. With LH_UNSEAL_VERSION only `version` is set.
struct lh_unsealed {
    uint8_t version;
    uint8_t sender;
    uint8_t generation;
    size_t size_bytes; // of the plain text
};

// Opens a datagram of any origin into `out`, which has room for its size less the overhead and may
// not overlap it; one that is too small counts as LH_UNSEAL_FOREIGN. With LH_UNSEAL_OK, sender
// (1..255) and generation are those of a holder of the key; the caller checks that they are a
// member's. Else nothing in `out` means anything.
enum lh_unseal lh_unseal_datagram(struct lh_seal *seal, struct lh_slice datagram, uint8_t *out,
                                  size_t capacity, struct lh_unsealed *ret_unsealed);

// What a name is called inside the quorum: BLAKE2b keyed with the cluster's hash key.
void lh_name_hash(const struct lh_keyring *keyring, struct lh_slice name,
                  uint8_t out[LH_NAME_HASH_BYTES]);

#endif
