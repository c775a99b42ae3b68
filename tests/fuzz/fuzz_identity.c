// Any bytes as what a data directory holds: first as an identity alone, then as pairs (key size,
// key, value size, value) that are handed to a host, which starts if it takes them all and must not
// trip over what they say.
#include <stdlib.h>
#include <string.h>

#include "host/host_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void hash_name(void *context, struct lh_slice name, uint8_t ret_hash[16])
{
    (void)context;
    memset(ret_hash, 0, 16);
    if (name.size_bytes > 0)
        ret_hash[0] = name.data[0];
}

static void decode_alone(struct lh_slice value)
{
    uint8_t again[LH_VALUE_BYTES_MAX];
    struct lh_identity_record record;
    if (!lh_identity_decode(value, &record))
        return;
    if (record.reservation > LH_COUNTER_MAX || record.generation == 0 || record.start == 0 ||
        lh_identity_encode(&record, again) != value.size_bytes ||
        memcmp(again, value.data, value.size_bytes) != 0)
        abort();
}

static bool load(struct lh_host *host, struct lh_reader reader)
{
    while (lh_reader_left_bytes(&reader) > 0) {
        struct lh_slice key = lh_reader_slice_u8(&reader);
        struct lh_slice value = lh_reader_slice_u8(&reader);
        if (reader.failed || key.size_bytes == 0 || lh_host_load(host, key, value) != NULL)
            return false;
    }
    return true;
}

static void run(struct lh_host *host, struct lh_host_effects *effects)
{
    struct lh_host_input input = {.kind = LH_INPUT_START, .now = {LH_NS_PER_S}};
    for (unsigned i = 0; i < 40; i++) {
        lh_host_effects_clear(effects);
        lh_host_step(host, &input, effects);
        input.kind = LH_INPUT_TIMER;
        if (effects->pair_count > 0) {
            // What it asks to be stored it must be able to read.
            for (unsigned pair = 0; pair < effects->pair_count; pair++)
                if (effects->pairs[pair].key[0] == 'I')
                    decode_alone(
                        lh_slice_of(effects->pairs[pair].value, effects->pairs[pair].value_size));
            input.kind = LH_INPUT_PERSISTED;
            input.number = effects->persist;
        }
        input.now = lh_after(input.now, lh_ms(200));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct lh_host_config config = {
        .node = 1,
        .member_count = size % 2 == 0 ? 3 : 1,
        .members = {1, 2, 3},
        .member_epoch = 1,
        .timing = {lh_ms(10000), 10000},
        .max_leases = 16,
        .max_clients = 2,
        .idle_forget = true,
        .one_round_renewal = true,
        .quarantine_ceiling = size % 4 < 2,
        .entropy = {1, 2, 3},
        .hash_name = hash_name,
    };
    decode_alone(lh_slice_of(bytes, size));
    static struct lh_host_effects effects;
    static void *memory; // of the larger host; leaves with the process
    if (memory == NULL) {
        struct lh_host_config largest = config;
        largest.member_count = 3;
        memory = calloc(1, lh_host_size(&largest));
    }
    memset(memory, 0, lh_host_size(&config));
    struct lh_host *host = lh_host_init(memory, &config);
    if (load(host, lh_reader_of(lh_slice_of(bytes, size))))
        run(host, &effects);
    return 0;
}
