// Why a data directory is refused, in values: see history.h.
#include "node/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "host/identity.h"

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

static void compare(const struct lh_node_config *config, const struct lh_identity_record *record,
                    struct list *list)
{
    const uint32_t max_ttl_ms = (uint32_t)lh_floor_ms(config->timing.max_ttl);
    uint8_t members[LH_MEMBERS_MAX];
    for (size_t i = 0; i < config->member_count; i++)
        members[i] = (uint8_t)config->members[i].node;
    if (record->member_epoch != config->member_epoch)
        add(list, "member-epoch was %" PRIu32 ", is %" PRIu32, record->member_epoch,
            config->member_epoch);
    else if (record->members_tag != lh_peers_tag(members, (unsigned)config->member_count))
        add(list, "the nodes are others, member-epoch is %" PRIu32 " as before",
            config->member_epoch);
    if (record->max_ttl_ms != max_ttl_ms) {
        char was[DURATION_BYTES], is[DURATION_BYTES];
        duration(record->max_ttl_ms, was);
        duration(max_ttl_ms, is);
        add(list, "max-ttl was %s, is %s", was, is);
    }
    if (record->rate_ppm != config->timing.rate_ppm)
        add(list, "rate-error was %g%%, is %g%%", record->rate_ppm / 1e4,
            config->timing.rate_ppm / 1e4);
}

bool lh_history_refuse(const struct lh_node_config *config, const struct lh_keyring *keyring,
                       const char *problem, struct lh_slice key, struct lh_slice value,
                       struct lh_error *error)
{
    struct lh_identity_record record;
    struct list list = {.size = 0};
    if (lh_slice_equal(key, LH_SLICE("I")) && lh_identity_decode(value, &record) &&
        memcmp(record.cluster_id, keyring->cluster_id, sizeof record.cluster_id) == 0) {
        if (record.node != config->node)
            add(&list, "it was used by node %u, and node is %u", record.node, config->node);
        else
            compare(config, &record, &list);
    }
    return lh_error_set(error, "data-dir = %s: %s%s%s%s", config->data_dir, problem,
                        list.size > 0 ? " (" : "", list.text, list.size > 0 ? ")" : "");
}
