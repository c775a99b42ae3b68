// leaseholdd set-members: the one way to change who the members are, M or rho. Two epochs never
// talk to each other, and every node serves the larger of their quarantines when it starts again,
// so no lease of the old layout can still be held once the new one grants. See daemon.h.
#include <string.h>
#include <uv.h>

#include "host/identity.h"
#include "node/daemon.h"
#include "node/store.h"
#include "os/keyring.h"

#define STORE_PATIENCE_MS 10000

static const uint8_t identity_key[1] = {'I'};

struct found {
    bool any;
    bool readable;
    struct lh_identity_record record;
};

static void on_pair(void *context, const struct lh_store_pair *pair)
{
    struct found *found = context;
    if (!lh_slice_equal(pair->key, lh_slice_of(identity_key, sizeof identity_key)))
        return;
    found->any = true;
    found->readable = lh_identity_decode(pair->value, &found->record);
}

static void ignore_persisted(void *context, uint64_t n)
{
    (void)context;
    (void)n;
}

static void ignore_trouble(void *context, const char *reason)
{
    (void)context;
    (void)reason;
}

static bool check(const struct lh_node_config *config, const struct lh_keyring *keyring,
                  const struct found *found, struct lh_error *error)
{
    const char *directory = config->data_dir;
    if (!found->any)
        return lh_error_set(error, "data-dir = %s has no history: just start the node", directory);
    if (!found->readable)
        return lh_error_set(error,
                            "data-dir = %s: its identity cannot be read; remove the directory "
                            "and start the node as a replacement",
                            directory);
    if (memcmp(found->record.cluster_id, keyring->cluster_id, LH_CLUSTER_ID_BYTES) != 0)
        return lh_error_set(error, "data-dir = %s belongs to another cluster than keyring = %s",
                            directory, config->keyring);
    if (found->record.node != config->node)
        return lh_error_set(error, "data-dir = %s belongs to node %u, and node = %u is configured",
                            directory, found->record.node, config->node);
    if (config->member_epoch != found->record.member_epoch + 1)
        return lh_error_set(error,
                            "member-epoch = %u: the directory is at %u, so the configuration "
                            "must say %u",
                            config->member_epoch, found->record.member_epoch,
                            found->record.member_epoch + 1);
    return true;
}

// The old members serve the larger quarantine, but a new one knows the new max-ttl only.
static bool check_growth(const struct lh_node_config *config, const struct found *found,
                         struct lh_error *error)
{
    uint8_t members[LH_MEMBERS_MAX];
    for (size_t i = 0; i < config->member_count; i++)
        members[i] = (uint8_t)config->members[i].node;
    bool same = lh_peers_tag(members, (unsigned)config->member_count) == found->record.members_tag;
    struct lh_timing old = {.max_ttl = lh_ms(found->record.max_ttl_ms),
                            .rate_ppm = found->record.rate_ppm};
    if (same || !lh_timing_valid(old) ||
        lh_timing_quarantine(config->timing, config->timing.max_ttl).ns >=
            lh_timing_quarantine(old, old.max_ttl).ns)
        return true;
    return lh_error_set(error,
                        "max-ttl or rate-error get smaller while members change: change the "
                        "members first, start the cluster, and then those, with one more epoch");
}

static struct lh_duration longest(struct lh_duration a, struct lh_duration b)
{
    return a.ns < b.ns ? b : a;
}

static void change(struct lh_identity_record *record, const struct lh_node_config *config)
{
    struct lh_timing old = {.max_ttl = lh_ms(record->max_ttl_ms), .rate_ppm = record->rate_ppm};
    uint8_t members[LH_MEMBERS_MAX];
    for (size_t i = 0; i < config->member_count; i++)
        members[i] = (uint8_t)config->members[i].node;
    if (lh_timing_valid(old))
        record->ceiling = longest(record->ceiling, lh_timing_quarantine(old, old.max_ttl));
    record->ceiling =
        longest(record->ceiling, lh_timing_quarantine(config->timing, config->timing.max_ttl));
    record->member_epoch = config->member_epoch;
    record->members_tag = lh_peers_tag(members, (unsigned)config->member_count);
    record->max_ttl_ms = (uint32_t)lh_floor_ms(config->timing.max_ttl);
    record->rate_ppm = config->timing.rate_ppm;
}

static bool store_record(struct lh_store *store, const struct lh_identity_record *record,
                         struct lh_error *error)
{
    uv_loop_t loop;
    uint8_t value[LH_VALUE_BYTES_MAX];
    size_t size = lh_identity_encode(record, value);
    struct lh_store_pair pair = {.key = lh_slice_of(identity_key, sizeof identity_key),
                                 .value = lh_slice_of(value, size)};
    struct lh_store_events events = {.persisted = ignore_persisted, .trouble = ignore_trouble};
    uv_loop_init(&loop);
    if (!lh_store_start(store, &loop, events, error))
        return false;
    bool queued = lh_store_write(store, 1, &pair, 1);
    bool durable = lh_store_close(store, lh_ms(STORE_PATIENCE_MS));
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return (queued && durable) ||
           lh_error_set(error,
                        "the new members could not be written within %d s: the disk is full or "
                        "does not answer; mend it and try again",
                        STORE_PATIENCE_MS / 1000);
}

bool lh_daemon_set_members(const struct lh_node_config *config, struct lh_error *error)
{
    struct lh_keyring keyring;
    struct lh_error warning = {""};
    struct lh_store *store = NULL;
    struct found found = {.any = false};
    if (!lh_keyring_load(config->keyring, &keyring, &warning, error))
        return false;
    bool usable = lh_store_open(config->data_dir, &store, error) &&
                  lh_store_each(store, on_pair, &found, error) &&
                  check(config, &keyring, &found, error) && check_growth(config, &found, error);
    lh_keyring_wipe(&keyring);
    if (!usable) {
        lh_store_close(store, lh_ms(0));
        return false;
    }
    change(&found.record, config);
    return store_record(store, &found.record, error);
}
