// Ini files of any origin: a configuration that keeps its promises, or a reason.
#include <stdlib.h>
#include <string.h>

#include "node/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool keeps_its_promises(const struct lh_node_config *config)
{
    const size_t count = config->member_count;
    bool present = false;
    for (size_t i = 0; i < count && count <= LH_CONFIG_MEMBERS_MAX; i++) {
        present |= config->members[i].node == config->node;
        if (config->members[i].address.port == 0 ||
            (i > 0 && config->members[i - 1].node >= config->members[i].node))
            return false;
    }
    return present && (count == 1 || (count >= 3 && count <= LH_CONFIG_MEMBERS_MAX)) &&
           config->node <= 255 && lh_timing_valid(config->timing) &&
           memchr(config->record, '\0', sizeof(config->record)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct lh_node_config config;
    struct lh_error error = {""};
    const bool good = lh_config_parse(lh_slice_of(bytes, size), "config", &config, &error);
    if (good ? !keeps_its_promises(&config) : error.text[0] == '\0')
        abort();
    return 0;
}
