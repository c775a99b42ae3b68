// The stored identity against the configured one: see history.h.
#include "node/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "host/identity.h"
#include "node/store_look.h"

#define DURATION_BYTES 24

struct list {
    char text[256]; // terminated
    size_t size;
};

static void add(struct list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct list *list, const char *format, ...)
{
    struct lh_error part;
    va_list arguments;
    va_start(arguments, format);
    lh_error_set_list(&part, format, arguments);
    va_end(arguments);
    const int size = snprintf(list->text + list->size, sizeof list->text - list->size, "%s%s",
                              list->size > 0 ? "; " : "", part.text);
    list->size += (size_t)size;
    LH_ASSERT(list->size < sizeof list->text); // three short parts
}

static void duration(uint32_t ms, char out[DURATION_BYTES])
{
    if (ms % 1000 == 0)
        snprintf(out, DURATION_BYTES, "%" PRIu32 "s", ms / 1000);
    else
        snprintf(out, DURATION_BYTES, "%" PRIu32 "ms", ms);
}

static void compare(const struct lh_host_config *identity, const struct lh_identity_record *record,
                    struct list *list)
{
    const uint32_t max_ttl_ms = (uint32_t)lh_floor_ms(identity->timing.max_ttl);
    if (record->member_epoch != identity->member_epoch)
        add(list, "member-epoch was %" PRIu32 ", is %" PRIu32, record->member_epoch,
            identity->member_epoch);
    else if (record->members_tag != lh_peers_tag(identity->members, identity->member_count))
        add(list, "the nodes are others, member-epoch is %" PRIu32 " as before",
            identity->member_epoch);
    if (record->max_ttl_ms != max_ttl_ms) {
        char was[DURATION_BYTES], is[DURATION_BYTES];
        duration(record->max_ttl_ms, was);
        duration(max_ttl_ms, is);
        add(list, "max-ttl was %s, is %s", was, is);
    }
    if (record->rate_ppm != identity->timing.rate_ppm)
        add(list, "rate-error was %g%%, is %g%%", record->rate_ppm / 1e4,
            identity->timing.rate_ppm / 1e4);
}

struct lh_host_config lh_history_identity(const struct lh_node_config *config,
                                          const struct lh_keyring *keyring)
{
    struct lh_host_config identity = {.node = (uint8_t)config->node,
                                      .member_count = (uint8_t)config->member_count,
                                      .member_epoch = config->member_epoch,
                                      .timing = config->timing};
    for (size_t i = 0; i < config->member_count; i++)
        identity.members[i] = (uint8_t)config->members[i].node;
    memcpy(identity.cluster_id, keyring->cluster_id, sizeof identity.cluster_id);
    return identity;
}

static void explain(const struct lh_host_config *identity, const char *problem,
                    const struct lh_store_pair *pair, struct lh_error *ret_reason)
{
    struct lh_identity_record record;
    struct list list = {.size = 0};
    if (lh_slice_equal(pair->key, LH_SLICE("I")) && lh_identity_decode(pair->value, &record) &&
        memcmp(record.cluster_id, identity->cluster_id, sizeof record.cluster_id) == 0) {
        if (record.node != identity->node)
            add(&list, "node was %u, is %u", record.node, identity->node);
        else
            compare(identity, &record, &list);
    }
    lh_error_set(ret_reason, "%s%s%s%s", problem, list.size > 0 ? " (" : "", list.text,
                 list.size > 0 ? ")" : "");
}

void lh_history_load(void *context, const struct lh_store_pair *pair)
{
    struct lh_history *history = context;
    const char *problem = lh_host_load(history->host, pair->key, pair->value);
    if (problem == NULL || history->refused)
        return;
    history->refused = true;
    explain(history->identity, problem, pair, &history->reason);
}

bool lh_history_look(const struct lh_node_config *config, const struct lh_keyring *keyring,
                     struct lh_error *ret_reason)
{
    struct lh_host_config identity = lh_history_identity(config, keyring);
    identity.max_leases = identity.max_clients = 1; // it is never started
    identity.entropy[0] = 1;
    ret_reason->text[0] = '\0';
    void *memory = calloc(1, lh_host_size(&identity));
    if (memory == NULL) {
        lh_error_set(ret_reason, "data.mdb was not looked into: out of memory");
        return true;
    }
    struct lh_history history = {.identity = &identity, .host = lh_host_init(memory, &identity)};
    const enum lh_store_look result =
        lh_store_look(config->data_dir, lh_history_load, &history, ret_reason);
    free(memory);
    if (result == LH_STORE_LOOK_READ && history.refused)
        *ret_reason = history.reason;
    return result != LH_STORE_LOOK_REFUSED && !history.refused;
}
