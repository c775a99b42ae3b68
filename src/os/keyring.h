// The cluster's secrets: its id, the key that hashes names, and up to eight sealing keys, the first
// of which seals while each opens. Made by `leasehold keygen`, read by every daemon of the cluster.
//
//     cluster-id = 32 hexadecimal digits
//     hash-key = 64
//     key = 64                              (one line a key)
//
// The cluster id and the hash key never change in the life of a cluster. A sealing key is replaced
// by adding the new one at the end everywhere, then moving it to the front everywhere, then
// removing the old one. No error and no log line ever holds a value of this file.
#ifndef LH_OS_KEYRING_H
#define LH_OS_KEYRING_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "os/error.h"

enum {
    LH_CLUSTER_ID_BYTES = 16,
    LH_KEY_BYTES = 32,
    LH_KEYRING_KEYS_MAX = 8,
    LH_KEYRING_TEXT_MAX = 1024, // of lh_keyring_format
};

struct lh_keyring {
    uint8_t cluster_id[LH_CLUSTER_ID_BYTES];
    uint8_t hash_key[LH_KEY_BYTES];
    uint8_t keys[LH_KEYRING_KEYS_MAX][LH_KEY_BYTES];
    size_t key_count; // at least 1
};

// Reads a keyring from text of any origin. `path` is for the error, which names line and key.
bool lh_keyring_parse(struct lh_slice text, const char *path, struct lh_keyring *ret_keyring,
                      struct lh_error *error);

// Reads a file. If others than its owner may open it, `ret_warning` says so; else its text is
// empty.
bool lh_keyring_load(const char *path, struct lh_keyring *ret_keyring, struct lh_error *ret_warning,
                     struct lh_error *error);

// As lh_keyring_load, for a running daemon: replaces `keyring` only if cluster id and hash key are
// unchanged.
bool lh_keyring_reload(const char *path, struct lh_keyring *keyring, struct lh_error *ret_warning,
                       struct lh_error *error);

// A new cluster: random id, hash key and one sealing key.
bool lh_keyring_generate(struct lh_keyring *ret_keyring, struct lh_error *error);

// The text of the file, terminated; `out` has room for LH_KEYRING_TEXT_MAX bytes. Returns its
// length.
size_t lh_keyring_format(const struct lh_keyring *keyring, char out[LH_KEYRING_TEXT_MAX]);

// Makes a file of mode 0600 with it, durably. Refused if there is one: it may be the only copy of
// its keys.
bool lh_keyring_create(const char *path, const struct lh_keyring *keyring, struct lh_error *error);

// Overwrites the secrets.
void lh_keyring_wipe(struct lh_keyring *keyring);

#endif
