// Sealing and opening: see seal.h.
#include "node/seal.h"

#include <string.h>

#include <sodium.h>

#include "base/assert.h"
#include "base/cursor.h"

#define REDRAW_NS (60 * LH_NS_PER_S)
#define APART_MAX_NS (1 * LH_NS_PER_S)

// Where the fields of the header begin.
enum {
    AT_VERSION = 2,
    AT_SENDER = 3,
    AT_GENERATION = 4,
    AT_DESTINATION = 5,
    AT_ZERO = 6,
    AT_CLUSTER_TAG = 8,
    AT_KEY_ID = 16,
    AT_NONCE = 20,
    AT_COUNTER = 36,
    ASSOCIATED_BYTES = LH_CLUSTER_ID_BYTES + AT_NONCE,
};

static const uint8_t magic[2] = {'L', 'H'};

_Static_assert(AT_NONCE + LH_SEAL_NONCE_BYTES == LH_SEAL_HEADER_BYTES, "the nonce ends the header");
_Static_assert(AT_COUNTER == AT_NONCE + LH_SEAL_NONCE_RANDOM_BYTES, "the counter ends the nonce");
_Static_assert(LH_SEAL_NONCE_BYTES == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert(LH_KEY_BYTES == crypto_core_hchacha20_KEYBYTES, "key");
_Static_assert(LH_KEY_BYTES == crypto_core_hchacha20_OUTPUTBYTES, "derived key");
_Static_assert(LH_SEAL_NONCE_RANDOM_BYTES == crypto_core_hchacha20_INPUTBYTES, "random part");
_Static_assert(LH_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(LH_SEAL_OVERHEAD_BYTES - LH_SEAL_HEADER_BYTES ==
                   crypto_aead_xchacha20poly1305_ietf_ABYTES,
               "tag");

static const struct {
    const char *name;
    const char *text;
} causes[] = {
#define LH_UNSEAL_ROW(enumerator, name, text) {name, text},
    LH_UNSEAL_CAUSES(LH_UNSEAL_ROW)
#undef LH_UNSEAL_ROW
};

const char *lh_unseal_name(enum lh_unseal cause)
{
    return causes[cause].name;
}

const char *lh_unseal_text(enum lh_unseal cause)
{
    return causes[cause].text;
}

// The first `size` bytes of BLAKE2b-256.
static void short_hash(const uint8_t *bytes, size_t bytes_size, uint8_t *ret_hash, size_t size)
{
    uint8_t hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof(hash), bytes, bytes_size, NULL, 0);
    memcpy(ret_hash, hash, size);
}

void lh_seal_init(struct lh_seal *ret_seal, const struct lh_keyring *keyring, uint8_t node)
{
    const int ready = sodium_init();
    LH_ASSERT(ready >= 0);
    LH_ASSERT(node != 0);
    LH_ASSERT(keyring->key_count >= 1 && keyring->key_count <= LH_KEYRING_KEYS_MAX);
    struct lh_seal seal = {
        .node = node,
        .key_count = (uint8_t)keyring->key_count,
        .redraw_at = LH_PAST,
    };
    memcpy(seal.cluster_id, keyring->cluster_id, sizeof(seal.cluster_id));
    short_hash(seal.cluster_id, sizeof(seal.cluster_id), seal.cluster_tag,
               sizeof(seal.cluster_tag));
    for (size_t i = 0; i < keyring->key_count; i++) {
        struct lh_seal_key *key = &seal.keys[i];
        memcpy(key->key, keyring->keys[i], sizeof(key->key));
        short_hash(key->key, sizeof(key->key), key->id, sizeof(key->id));
    }
    *ret_seal = seal;
    sodium_memzero(&seal, sizeof(seal));
}

void lh_seal_wipe(struct lh_seal *seal)
{
    sodium_memzero(seal, sizeof(*seal));
}

static void derive(const struct lh_seal *seal, uint8_t key_number,
                   const uint8_t nonce_random[LH_SEAL_NONCE_RANDOM_BYTES],
                   struct lh_seal_derived *ret_derived)
{
    ret_derived->known = true;
    ret_derived->key_number = key_number;
    memcpy(ret_derived->nonce_random, nonce_random, sizeof(ret_derived->nonce_random));
    crypto_core_hchacha20(ret_derived->key, nonce_random, seal->keys[key_number].key, NULL);
}

// Under the derived key the rest of XChaCha20's nonce is ChaCha20's, behind four zero bytes.
static void inner_nonce(const uint8_t *header,
                        uint8_t ret_nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
    lh_store_u32(ret_nonce, 0);
    memcpy(ret_nonce + 4, header + AT_COUNTER, 8);
}

// A restored memory image brings back the counter, but not the time of day.
static void refresh_nonce(struct lh_seal *seal, struct lh_instant now, int64_t realtime_ns)
{
    const int64_t apart_ns = realtime_ns - now.ns;
    const int64_t moved_ns = apart_ns - seal->apart_ns;
    if (lh_before(now, seal->redraw_at) && moved_ns <= APART_MAX_NS && moved_ns >= -APART_MAX_NS)
        return;
    uint8_t random[LH_SEAL_NONCE_RANDOM_BYTES];
    randombytes_buf(random, sizeof(random));
    derive(seal, 0, random, &seal->own);
    seal->nonce_counter = 0;
    seal->redraw_at = lh_after(now, (struct lh_duration){REDRAW_NS});
    seal->apart_ns = apart_ns;
}

static void associate(const struct lh_seal *seal, const uint8_t *header,
                      uint8_t ret_data[ASSOCIATED_BYTES])
{
    memcpy(ret_data, seal->cluster_id, LH_CLUSTER_ID_BYTES);
    memcpy(ret_data + LH_CLUSTER_ID_BYTES, header, AT_NONCE);
}

size_t lh_seal_datagram(struct lh_seal *seal, struct lh_instant now, int64_t realtime_ns,
                        uint8_t generation, uint8_t destination, struct lh_slice plain,
                        uint8_t *out, size_t capacity)
{
    uint8_t associated[ASSOCIATED_BYTES];
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    unsigned long long sealed = 0;
    LH_ASSERT(destination != 0);
    LH_ASSERT(capacity >= LH_SEAL_OVERHEAD_BYTES);
    LH_ASSERT(plain.size_bytes <= capacity - LH_SEAL_OVERHEAD_BYTES);
    refresh_nonce(seal, now, realtime_ns);
    memcpy(out, magic, sizeof(magic));
    out[AT_VERSION] = LH_SEAL_VERSION;
    out[AT_SENDER] = seal->node;
    out[AT_GENERATION] = generation;
    out[AT_DESTINATION] = destination;
    lh_store_u16(out + AT_ZERO, 0);
    memcpy(out + AT_CLUSTER_TAG, seal->cluster_tag, sizeof(seal->cluster_tag));
    memcpy(out + AT_KEY_ID, seal->keys[0].id, sizeof(seal->keys[0].id));
    memcpy(out + AT_NONCE, seal->own.nonce_random, sizeof(seal->own.nonce_random));
    lh_store_u64(out + AT_COUNTER, seal->nonce_counter++);
    associate(seal, out, associated);
    inner_nonce(out, nonce);
    crypto_aead_chacha20poly1305_ietf_encrypt(out + LH_SEAL_HEADER_BYTES, &sealed, plain.data,
                                              plain.size_bytes, associated, sizeof(associated),
                                              NULL, nonce, seal->own.key);
    return LH_SEAL_HEADER_BYTES + (size_t)sealed;
}

// Judges the clear header.
static enum lh_unseal check_header(const struct lh_seal *seal, struct lh_slice datagram,
                                   size_t capacity)
{
    const uint8_t *header = datagram.data;
    if (datagram.size_bytes < LH_SEAL_OVERHEAD_BYTES)
        return LH_UNSEAL_SHORT;
    if (memcmp(header, magic, sizeof(magic)) != 0)
        return LH_UNSEAL_FOREIGN;
    if (header[AT_VERSION] != LH_SEAL_VERSION)
        return LH_UNSEAL_VERSION;
    if (header[AT_SENDER] == 0 || lh_load_u16(header + AT_ZERO) != 0 ||
        datagram.size_bytes - LH_SEAL_OVERHEAD_BYTES > capacity)
        return LH_UNSEAL_FOREIGN;
    if (memcmp(header + AT_CLUSTER_TAG, seal->cluster_tag, LH_SEAL_CLUSTER_TAG_BYTES) != 0)
        return LH_UNSEAL_CLUSTER;
    if (header[AT_DESTINATION] != seal->node)
        return LH_UNSEAL_DESTINATION;
    return LH_UNSEAL_OK;
}

static bool opens(const struct lh_seal_derived *derived, struct lh_slice datagram, uint8_t *out,
                  unsigned long long *ret_size, const uint8_t associated[ASSOCIATED_BYTES])
{
    uint8_t nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    inner_nonce(datagram.data, nonce);
    return crypto_aead_chacha20poly1305_ietf_decrypt(
               out, ret_size, NULL, datagram.data + LH_SEAL_HEADER_BYTES,
               datagram.size_bytes - LH_SEAL_HEADER_BYTES, associated, ASSOCIATED_BYTES, nonce,
               derived->key) == 0;
}

enum lh_unseal lh_unseal_datagram(struct lh_seal *seal, struct lh_slice datagram, uint8_t *out,
                                  size_t capacity, struct lh_unsealed *ret_unsealed)
{
    uint8_t associated[ASSOCIATED_BYTES];
    const uint8_t *header = datagram.data;
    enum lh_unseal cause = check_header(seal, datagram, capacity);
    if (cause == LH_UNSEAL_VERSION)
        ret_unsealed->version = header[AT_VERSION];
    if (cause != LH_UNSEAL_OK)
        return cause;
    associate(seal, header, associated);
    cause = LH_UNSEAL_KEY;
    struct lh_seal_derived *kept = &seal->of_sender[header[AT_SENDER]];
    // Two keys may share an id: one pair in four thousand million does.
    for (uint8_t i = 0; i < seal->key_count; i++) {
        struct lh_seal_derived derived;
        unsigned long long size = 0;
        if (memcmp(seal->keys[i].id, header + AT_KEY_ID, LH_SEAL_KEY_ID_BYTES) != 0)
            continue;
        bool is_kept =
            kept->known && kept->key_number == i &&
            memcmp(kept->nonce_random, header + AT_NONCE, LH_SEAL_NONCE_RANDOM_BYTES) == 0;
        if (!is_kept)
            derive(seal, i, header + AT_NONCE, &derived);
        if (opens(is_kept ? kept : &derived, datagram, out, &size, associated)) {
            if (!is_kept) // what does not open displaces nothing
                *kept = derived;
            sodium_memzero(&derived, sizeof(derived));
            *ret_unsealed = (struct lh_unsealed){.version = header[AT_VERSION],
                                                 .sender = header[AT_SENDER],
                                                 .generation = header[AT_GENERATION],
                                                 .size_bytes = (size_t)size};
            return LH_UNSEAL_OK;
        }
        cause = LH_UNSEAL_FORGED;
    }
    return cause;
}

void lh_name_hash(const struct lh_keyring *keyring, struct lh_slice name,
                  uint8_t out[LH_NAME_HASH_BYTES])
{
    crypto_generichash(out, LH_NAME_HASH_BYTES, name.data, name.size_bytes, keyring->hash_key,
                       sizeof(keyring->hash_key));
}
