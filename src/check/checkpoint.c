// The configuration is part of the file as a hash: a checkpoint continues only the search that
// wrote it. What was edited is refused: states left out of it would never be missed.
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
    uint64_t conform;
};

static const char magic[8] = "lhchck3";

static uint64_t hash_configuration(const struct lh_check_config *config)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    const char *name;
    char value[LH_CHECK_VALUE_SIZE];
    char text[LH_CHECK_VALUE_SIZE + 96];
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
        .conform = checkpoint->conform,
    };
    memcpy(header.magic, magic, sizeof header.magic);
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return false;
    FILE *file = fopen(beside, "wb");
    struct lh_summed_file summed = {.file = file};
    bool saved = file != NULL && lh_summed_write(&summed, &header, sizeof header) &&
                 lh_fpset_save(checkpoint->set, &summed) &&
                 lh_frontier_save(checkpoint->present, &summed) &&
                 lh_frontier_save(checkpoint->next, &summed) && lh_summed_write_end(&summed) &&
                 fflush(file) == 0 && fsync(fileno(file)) == 0;
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
    struct lh_summed_file summed = {.file = file};
    if (!lh_summed_read(&summed, &header, sizeof header) ||
        memcmp(header.magic, magic, sizeof header.magic) != 0 ||
        header.configuration != hash_configuration(&checkpoint->model->config) ||
        header.state_bytes != checkpoint->model->layout.packed_bytes)
        wrong = "the file given to --resume is not a checkpoint of this configuration";
    else if (checkpoint->conform && !header.conform)
        wrong = "the file given to --resume was written without --conform";
    else if (!lh_fpset_load(checkpoint->set, &summed) ||
             !lh_frontier_load(checkpoint->present, &summed) ||
             !lh_frontier_load(checkpoint->next, &summed))
        wrong = "the file given to --resume is cut short, or memory is too small for it";
    else if (!lh_summed_read_end(&summed))
        wrong = "the file given to --resume is damaged";
    fclose(file);
    if (wrong != NULL)
        return wrong;
    checkpoint->distinct = header.distinct;
    checkpoint->generated = header.generated;
    checkpoint->unreduced = header.unreduced;
    checkpoint->depth = header.depth;
    return NULL;
}
