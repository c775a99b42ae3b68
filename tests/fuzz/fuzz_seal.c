// Datagrams of any origin, under a keyring that is known. The first byte says how much of a good
// header is put in front, so that the fuzzer gets past each check; the seal itself it cannot forge.
#include <stdlib.h>
#include <string.h>

#include "node/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct lh_seal seal;
    static uint8_t good[LH_SEAL_OVERHEAD_BYTES + 5];
    uint8_t datagram[2048], plain[2048];
    struct lh_unsealed unsealed;
    if (seal.node == 0) {
        struct lh_keyring keyring = {
            .cluster_id = {1}, .hash_key = {2}, .keys = {{3}, {4}}, .key_count = 2};
        struct lh_seal sender;
        lh_seal_init(&seal, &keyring, 2);
        lh_seal_init(&sender, &keyring, 1);
        lh_seal_datagram(&sender, (struct lh_instant){1}, 1, 1, 2, LH_SLICE("lease"), good,
                         sizeof(good));
    }
    if (size == 0 || size > sizeof(datagram) - sizeof(good))
        return 0;
    const size_t kept = bytes[0] % (sizeof(good) + 1);
    memcpy(datagram, good, kept);
    memcpy(datagram + kept, bytes + 1, size - 1);
    const struct lh_slice whole = {datagram, kept + size - 1};
    const enum lh_unseal cause = lh_unseal_datagram(&seal, whole, plain, sizeof(plain), &unsealed);
    const bool is_good =
        whole.size_bytes == sizeof(good) && memcmp(datagram, good, sizeof(good)) == 0;
    if (cause >= LH_UNSEAL_COUNT || (cause == LH_UNSEAL_OK) != is_good)
        abort();
    return 0;
}
