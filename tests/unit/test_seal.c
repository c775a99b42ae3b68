// Sealed datagrams: what opens, and the one cause for which each other one does not.
#include "node/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/cursor.h"

#define START ((struct lh_instant){1000 * LH_NS_PER_S})
#define START_REALTIME (INT64_C(1700000000) * LH_NS_PER_S)

enum { ROOM = 1600 };

// Node 1 in generation 3 seals for node 2, which opens.
struct fixture {
    struct lh_keyring keyring;
    struct lh_seal one, two;
    uint8_t datagram[ROOM];
    size_t size;
    uint8_t plain[ROOM];
    struct lh_unsealed unsealed;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    for (size_t i = 0; i < LH_KEY_BYTES; i++) {
        fixture.keyring.cluster_id[i % LH_CLUSTER_ID_BYTES] = (uint8_t)i;
        fixture.keyring.hash_key[i] = (uint8_t)(100 + i);
        for (size_t k = 0; k < LH_KEYRING_KEYS_MAX; k++)
            fixture.keyring.keys[k][i] = (uint8_t)(16 * k + i);
    }
    fixture.keyring.key_count = 1;
    lh_seal_init(&fixture.one, &fixture.keyring, 1);
    lh_seal_init(&fixture.two, &fixture.keyring, 2);
    *state = &fixture;
    return 0;
}

static void seal_at(struct fixture *fixture, int64_t later_ns, int64_t realtime_later_ns,
                    struct lh_slice plain)
{
    fixture->size =
        lh_seal_datagram(&fixture->one, (struct lh_instant){START.ns + later_ns},
                         START_REALTIME + realtime_later_ns, 3, 2, plain, fixture->datagram, ROOM);
}

static enum lh_unseal open_datagram(struct fixture *fixture)
{
    return lh_unseal_datagram(&fixture->two, lh_slice_of(fixture->datagram, fixture->size),
                              fixture->plain, ROOM, &fixture->unsealed);
}

static void what_is_sealed_opens(void **state)
{
    struct fixture *fixture = *state;
    uint8_t plain[1400];
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size <= sizeof(plain); size += 100) {
        seal_at(fixture, 0, 0, lh_slice_of(plain, size));
        assert_int_equal(fixture->size, size + LH_SEAL_OVERHEAD_BYTES);
        assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
        assert_int_equal(fixture->unsealed.sender, 1);
        assert_int_equal(fixture->unsealed.generation, 3);
        assert_int_equal(fixture->unsealed.version, LH_SEAL_VERSION);
        assert_int_equal(fixture->unsealed.size_bytes, size);
        assert_memory_equal(fixture->plain, plain, size);
    }
}

// The layout is what other releases read: every field at its place, and libsodium's own one-call
// opening of it.
static void the_layout_is_fixed(void **state)
{
    struct fixture *fixture = *state;
    uint8_t hash[32], associated[36], plain[5];
    unsigned long long size = 0;
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    const uint8_t *bytes = fixture->datagram;
    assert_memory_equal(bytes, "LH\1\1\3\2\0\0", 8);
    crypto_generichash(hash, sizeof(hash), fixture->keyring.cluster_id, 16, NULL, 0);
    assert_memory_equal(bytes + 8, hash, 8);
    crypto_generichash(hash, sizeof(hash), fixture->keyring.keys[0], 32, NULL, 0);
    assert_memory_equal(bytes + 16, hash, 4);
    assert_int_equal(lh_load_u64(bytes + 36), 0);
    memcpy(associated, fixture->keyring.cluster_id, 16);
    memcpy(associated + 16, bytes, 20);
    assert_int_equal(crypto_aead_xchacha20poly1305_ietf_decrypt(
                         plain, &size, NULL, bytes + 44, fixture->size - 44, associated,
                         sizeof(associated), bytes + 20, fixture->keyring.keys[0]),
                     0);
    assert_int_equal(size, 5);
    assert_memory_equal(plain, "lease", 5);
}

// What a flipped bit of each byte of the header brings; the nonce and all behind it break the seal.
static enum lh_unseal cause_of_flip(size_t byte, size_t bit_of_byte)
{
    static const enum lh_unseal causes[20] = {
        LH_UNSEAL_FOREIGN, LH_UNSEAL_FOREIGN,     LH_UNSEAL_VERSION, LH_UNSEAL_FORGED,
        LH_UNSEAL_FORGED,  LH_UNSEAL_DESTINATION, LH_UNSEAL_FOREIGN, LH_UNSEAL_FOREIGN,
        LH_UNSEAL_CLUSTER, LH_UNSEAL_CLUSTER,     LH_UNSEAL_CLUSTER, LH_UNSEAL_CLUSTER,
        LH_UNSEAL_CLUSTER, LH_UNSEAL_CLUSTER,     LH_UNSEAL_CLUSTER, LH_UNSEAL_CLUSTER,
        LH_UNSEAL_KEY,     LH_UNSEAL_KEY,         LH_UNSEAL_KEY,     LH_UNSEAL_KEY,
    };
    if (byte == 3 && bit_of_byte == 0)
        return LH_UNSEAL_FOREIGN; // sender 1 becomes 0, which is no node
    return byte < 20 ? causes[byte] : LH_UNSEAL_FORGED;
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    for (size_t bit = 0; bit < fixture->size * 8; bit++) {
        fixture->datagram[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(open_datagram(fixture), cause_of_flip(bit / 8, bit % 8));
        fixture->datagram[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
}

static void every_truncation_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    const size_t whole = fixture->size;
    for (fixture->size = 0; fixture->size < whole; fixture->size++)
        assert_int_equal(open_datagram(fixture), fixture->size < LH_SEAL_OVERHEAD_BYTES
                                                     ? LH_UNSEAL_SHORT
                                                     : LH_UNSEAL_FORGED);
    fixture->size = whole + 1;
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_FORGED);
    assert_int_equal(
        lh_unseal_datagram(&fixture->two, (struct lh_slice){NULL, 0}, NULL, 0, &fixture->unsealed),
        LH_UNSEAL_SHORT);
}

static void a_plain_text_that_has_no_room_is_refused(void **state)
{
    struct fixture *fixture = *state;
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    const struct lh_slice datagram = lh_slice_of(fixture->datagram, fixture->size);
    assert_int_equal(
        lh_unseal_datagram(&fixture->two, datagram, fixture->plain, 4, &fixture->unsealed),
        LH_UNSEAL_FOREIGN);
    assert_int_equal(
        lh_unseal_datagram(&fixture->two, datagram, fixture->plain, 5, &fixture->unsealed),
        LH_UNSEAL_OK);
}

static void another_version_tells_which(void **state)
{
    struct fixture *fixture = *state;
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    fixture->datagram[2] = 9;
    fixture->unsealed.sender = 77;
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_VERSION);
    assert_int_equal(fixture->unsealed.version, 9);
    assert_int_equal(fixture->unsealed.sender, 77);
}

static void another_cluster_is_named_even_with_the_same_keys(void **state)
{
    struct fixture *fixture = *state;
    struct lh_keyring other = fixture->keyring;
    other.cluster_id[0] ^= 1;
    lh_seal_init(&fixture->two, &other, 2);
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_CLUSTER);
    // A forged tag gets past the header, not past the seal: the cluster id itself is in it.
    memcpy(fixture->datagram + 8, fixture->two.cluster_tag, 8);
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_FORGED);
}

static void only_the_destination_opens_it(void **state)
{
    struct fixture *fixture = *state;
    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    lh_seal_init(&fixture->two, &fixture->keyring, 3);
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_DESTINATION);
    fixture->datagram[5] = 3; // turned to another node on its way
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_FORGED);
}

static void the_first_key_seals_and_every_key_opens(void **state)
{
    struct fixture *fixture = *state;
    struct lh_keyring all = fixture->keyring;
    all.key_count = LH_KEYRING_KEYS_MAX;
    lh_seal_init(&fixture->two, &all, 2);
    for (size_t k = 0; k < LH_KEYRING_KEYS_MAX; k++) {
        struct lh_keyring one = fixture->keyring;
        memcpy(one.keys[0], fixture->keyring.keys[k], LH_KEY_BYTES);
        lh_seal_init(&fixture->one, &one, 1);
        seal_at(fixture, 0, 0, LH_SLICE("lease"));
        assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
    }
    // The last key is retired: what is sealed under it no longer opens.
    all.key_count--;
    lh_seal_init(&fixture->two, &all, 2);
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_KEY);
}

static void a_rotation_in_three_steps_never_refuses(void **state)
{
    struct fixture *fixture = *state;
    struct lh_keyring steps[4];
    for (size_t i = 0; i < 4; i++)
        steps[i] = fixture->keyring; // old; old, new; new, old; new
    steps[1].key_count = 2;
    memcpy(steps[2].keys[0], fixture->keyring.keys[1], LH_KEY_BYTES);
    memcpy(steps[2].keys[1], fixture->keyring.keys[0], LH_KEY_BYTES);
    steps[2].key_count = 2;
    memcpy(steps[3].keys[0], fixture->keyring.keys[1], LH_KEY_BYTES);
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            lh_seal_init(&fixture->one, &steps[i], 1);
            lh_seal_init(&fixture->two, &steps[j], 2);
            seal_at(fixture, 0, 0, LH_SLICE("lease"));
            const bool neighbours = i <= j + 1 && j <= i + 1;
            if (neighbours)
                assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
        }
    }
}

// Whether the datagram sealed at the given times has another random part than the one before it.
static bool redraws(struct fixture *fixture, int64_t later_ns, int64_t realtime_later_ns)
{
    uint8_t before[LH_SEAL_NONCE_RANDOM_BYTES];
    memcpy(before, fixture->datagram + 20, sizeof(before));
    const uint64_t counter = lh_load_u64(fixture->datagram + 36);
    seal_at(fixture, later_ns, realtime_later_ns, LH_SLICE("lease"));
    const bool drawn = memcmp(before, fixture->datagram + 20, sizeof(before)) != 0;
    assert_int_equal(lh_load_u64(fixture->datagram + 36), drawn ? 0 : counter + 1);
    return drawn;
}

static void the_nonce_is_drawn_each_minute(void **state)
{
    struct fixture *fixture = *state;
    const int64_t minute = 60 * LH_NS_PER_S;
    assert_true(redraws(fixture, 0, 0));
    assert_false(redraws(fixture, 0, 0));
    assert_false(redraws(fixture, minute - 1, minute - 1));
    assert_true(redraws(fixture, minute, minute));
    assert_false(redraws(fixture, 2 * minute - 1, 2 * minute - 1));
    assert_true(redraws(fixture, 2 * minute, 2 * minute));
}

static void the_nonce_is_drawn_when_the_clocks_moved_apart(void **state)
{
    struct fixture *fixture = *state;
    const int64_t second = LH_NS_PER_S;
    assert_true(redraws(fixture, 0, 0));
    assert_false(redraws(fixture, second, 2 * second));     // one second, the most that is let pass
    assert_true(redraws(fixture, second, 2 * second + 1));  // measured against the last draw
    assert_false(redraws(fixture, second, 3 * second + 1)); // ... and so again
    assert_true(redraws(fixture, second, 1));               // set back by more than a second
    assert_true(redraws(fixture, 2 * second, -3600 * second));
}

static void a_reloaded_keyring_starts_another_nonce(void **state)
{
    struct fixture *fixture = *state;
    assert_true(redraws(fixture, 0, 0));
    lh_seal_init(&fixture->one, &fixture->keyring, 1);
    assert_true(redraws(fixture, 0, 0));
}

// A derived key is kept for each sender. It changes nothing of what opens, and what does not open does
// not displace it.
static void what_was_derived_is_kept_for_each_sender(void **state)
{
    struct fixture *fixture = *state;
    struct lh_seal three;
    uint8_t first[LH_SEAL_NONCE_RANDOM_BYTES];
    lh_seal_init(&three, &fixture->keyring, 3);
    for (int i = 0; i < 3; i++) {
        seal_at(fixture, 0, 0, LH_SLICE("lease"));
        assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
        assert_int_equal(fixture->unsealed.sender, 1);
        fixture->size = lh_seal_datagram(&three, START, START_REALTIME, 1, 2, LH_SLICE("other"),
                                         fixture->datagram, ROOM);
        assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
        assert_int_equal(fixture->unsealed.sender, 3);
    }
    memcpy(first, fixture->one.own.nonce_random, sizeof(first));
    assert_memory_equal(fixture->two.of_sender[1].nonce_random, first, sizeof(first));

    seal_at(fixture, 0, 0, LH_SLICE("lease"));
    fixture->datagram[20] ^= 1;
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_FORGED);
    assert_memory_equal(fixture->two.of_sender[1].nonce_random, first, sizeof(first));
    fixture->datagram[20] ^= 1;
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);

    seal_at(fixture, 60 * LH_NS_PER_S, 60 * LH_NS_PER_S, LH_SLICE("lease"));
    assert_memory_not_equal(fixture->one.own.nonce_random, first, sizeof(first));
    assert_int_equal(open_datagram(fixture), LH_UNSEAL_OK);
    assert_memory_equal(fixture->two.of_sender[1].nonce_random, fixture->one.own.nonce_random,
                        sizeof(first));

    lh_seal_wipe(&fixture->two);
    assert_false(fixture->two.of_sender[1].known);
}

static void every_cause_has_a_name_and_a_remedy(void **state)
{
    (void)state;
    for (enum lh_unseal cause = LH_UNSEAL_OK; cause < LH_UNSEAL_COUNT; cause++) {
        assert_true(strlen(lh_unseal_name(cause)) > 0);
        assert_true(strlen(lh_unseal_text(cause)) > 0);
        for (enum lh_unseal other = LH_UNSEAL_OK; other < cause; other++)
            assert_string_not_equal(lh_unseal_name(cause), lh_unseal_name(other));
    }
    assert_string_equal(lh_unseal_name(LH_UNSEAL_FORGED), "forged");
}

static void a_name_hashes_under_the_hash_key(void **state)
{
    struct fixture *fixture = *state;
    struct lh_keyring other = fixture->keyring;
    uint8_t hash[LH_NAME_HASH_BYTES], again[LH_NAME_HASH_BYTES], expected[LH_NAME_HASH_BYTES];
    crypto_generichash(expected, sizeof(expected), (const uint8_t *)"db", 2,
                       fixture->keyring.hash_key, 32);
    lh_name_hash(&fixture->keyring, LH_SLICE("db"), hash);
    assert_memory_equal(hash, expected, sizeof(hash));
    lh_name_hash(&fixture->keyring, LH_SLICE("dc"), again);
    assert_memory_not_equal(hash, again, sizeof(hash));
    other.keys[0][0] ^= 1; // sealing keys rotate; names keep their hash
    other.cluster_id[0] ^= 1;
    lh_name_hash(&other, LH_SLICE("db"), again);
    assert_memory_equal(hash, again, sizeof(hash));
    other.hash_key[0] ^= 1;
    lh_name_hash(&other, LH_SLICE("db"), again);
    assert_memory_not_equal(hash, again, sizeof(hash));
}

static void wiping_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    static const struct lh_seal empty;
    lh_seal_wipe(&fixture->one);
    assert_memory_equal(&fixture->one, &empty, sizeof(empty));
}

#define CASE(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_sealed_opens),
        CASE(the_layout_is_fixed),
        CASE(every_flipped_bit_is_noticed),
        CASE(every_truncation_is_noticed),
        CASE(a_plain_text_that_has_no_room_is_refused),
        CASE(another_version_tells_which),
        CASE(another_cluster_is_named_even_with_the_same_keys),
        CASE(only_the_destination_opens_it),
        CASE(the_first_key_seals_and_every_key_opens),
        CASE(a_rotation_in_three_steps_never_refuses),
        CASE(the_nonce_is_drawn_each_minute),
        CASE(the_nonce_is_drawn_when_the_clocks_moved_apart),
        CASE(a_reloaded_keyring_starts_another_nonce),
        CASE(what_was_derived_is_kept_for_each_sender),
        CASE(every_cause_has_a_name_and_a_remedy),
        CASE(a_name_hashes_under_the_hash_key),
        CASE(wiping_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
