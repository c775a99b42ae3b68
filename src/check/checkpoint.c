// The configuration is part of the file as a hash: a checkpoint continues only the search that
// wrote it.
#include "check/checkpoint.h"

#include <unistd.h>

struct header {
    char magic[8];
    uint64_t configuration;
    uint64_t distinct;
    uint64_t generated;
    struct lh_search_counts unreduced;
    uint32_t depth;
    uint32_t state_bytes;
};

static const char magic[8] = "lhchck2";

static uint64_t hash_configuration(const struct lh_check_config *config)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    const char *name;
    char value[64];
    char text[160];
    for (size_t i = 0; lh_check_config_constant(config, i, &name, value); i++) {
        snprintf(text, sizeof text, "%d %u %d %s=%s;", config->module, config->weaken,
                 config->symmetry, name, value);
        for (const char *at = text; *at != '\0'; at++)
            hash = (hash ^ (uint8_t)*at) * UINT64_C(1099511628211);
    }
    return hash;
}

bool lh_checkpoint_save(const struct lh_checkpoint *checkpoint, const char *path)
{
    char beside[4096];
    struct header header = {
        .configuration = hash_configuration(&checkpoint->model->config),
        .distinct = checkpoint->distinct,
        .generated = checkpoint->generated,
        .unreduced = checkpoint->unreduced,
        .depth = checkpoint->depth,
        .state_bytes = checkpoint->model->layout.packed_bytes,
    };
    memcpy(header.magic, magic, sizeof header.magic);
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return false;
    FILE *file = fopen(beside, "wb");
    bool saved =
        file != NULL && fwrite(&header, sizeof header, 1, file) == 1 &&
        lh_fpset_save(checkpoint->set, file) && lh_frontier_save(checkpoint->present, file) &&
        lh_frontier_save(checkpoint->next, file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file != NULL)
        saved = fclose(file) == 0 && saved;
    saved = saved && rename(beside, path) == 0;
    if (!saved)
        unlink(beside);
    return saved;
}

const char *lh_checkpoint_load(struct lh_checkpoint *checkpoint, const char *path)
{
    struct header header;
    const char *wrong = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return "the file given to --resume cannot be opened";
    if (fread(&header, sizeof header, 1, file) != 1 ||
        memcmp(header.magic, magic, sizeof header.magic) != 0 ||
        header.configuration != hash_configuration(&checkpoint->model->config) ||
        header.state_bytes != checkpoint->model->layout.packed_bytes)
        wrong = "the file given to --resume is not a checkpoint of this configuration";
    else if (!lh_fpset_load(checkpoint->set, file) ||
             !lh_frontier_load(checkpoint->present, file) ||
             !lh_frontier_load(checkpoint->next, file))
        wrong = "the file given to --resume is cut short, or memory is too small for it";
    fclose(file);
    if (wrong != NULL)
        return wrong;
    checkpoint->distinct = header.distinct;
    checkpoint->generated = header.generated;
    checkpoint->unreduced = header.unreduced;
    checkpoint->depth = header.depth;
    return NULL;
}
