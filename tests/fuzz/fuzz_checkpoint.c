// The file behind `check --resume`: one as it was written is taken, and what differs from it in any
// byte is refused with a reason.
//
//     'f' and a file as it is
//     'e' and edits of the written file, each an offset of two bytes and a byte
//     'c' and an offset of two bytes, where the written file is cut off, and what stands there instead
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "check/checkpoint.h"

enum { STATES = 3, MEMORY_BYTES = 1 << 20, PATH_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct lh_model model;
static struct {
    uint8_t *bytes;
    size_t size;
} written;

static void open_frontiers(struct lh_frontier frontiers[2])
{
    for (unsigned i = 0; i < 2; i++)
        LH_ASSERT(lh_frontier_open(&frontiers[i], model.layout.packed_bytes, NULL, MEMORY_BYTES));
}

static void close_all(struct lh_fpset *set, struct lh_frontier frontiers[2])
{
    lh_fpset_close(set);
    lh_frontier_close(&frontiers[0]);
    lh_frontier_close(&frontiers[1]);
}

static void read_back(const char *path)
{
    FILE *file = fopen(path, "rb");
    LH_ASSERT(file != NULL && fseek(file, 0, SEEK_END) == 0);
    written.size = (size_t)ftell(file);
    written.bytes = malloc(written.size);
    rewind(file);
    LH_ASSERT_EQ(fread(written.bytes, 1, written.size, file), written.size);
    fclose(file);
}

// A small one: some states to go on from and a set with room for a few.
static void write_one(void)
{
    struct lh_check_config config;
    struct lh_fpset set;
    struct lh_frontier frontiers[2];
    char directory[] = "/tmp/fuzz-checkpoint-XXXXXX";
    char path[PATH_BYTES];
    lh_check_config_default(&config, LH_CHECK_LEASE);
    LH_ASSERT(lh_model_open(&model, &config) && lh_fpset_open(&set, 2));
    LH_ASSERT(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/file", directory);
    open_frontiers(frontiers);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *states = lh_frontier_buffer(&frontiers[i]);
        memset(states, 0, (size_t)STATES * model.layout.packed_bytes);
        LH_ASSERT(lh_frontier_append(&frontiers[i], states, STATES) != UINT64_MAX);
    }
    const struct lh_checkpoint checkpoint = {.model = &model,
                                             .set = &set,
                                             .present = &frontiers[0],
                                             .next = &frontiers[1],
                                             .distinct = 5,
                                             .generated = 9,
                                             .depth = 2};
    LH_ASSERT(lh_checkpoint_save(&checkpoint, path));
    read_back(path);
    unlink(path);
    rmdir(directory);
    close_all(&set, frontiers);
}

static size_t offset_of(const uint8_t *bytes)
{
    return ((size_t)bytes[0] << 8 | bytes[1]) % (written.size + 1);
}

static size_t put(int file, const void *bytes, size_t size)
{
    LH_ASSERT_EQ(write(file, bytes, size), size);
    return size;
}

// The file that the input stands for. Returns its size.
static size_t make_file(int file, const uint8_t *bytes, size_t size)
{
    if (bytes[0] == 'e') {
        put(file, written.bytes, written.size);
        for (size_t at = 1; at + 3 <= size; at += 3)
            LH_ASSERT_EQ(pwrite(file, &bytes[at + 2], 1, (off_t)offset_of(&bytes[at])), 1);
        return (size_t)lseek(file, 0, SEEK_END);
    }
    if (bytes[0] == 'c' && size >= 3)
        return put(file, written.bytes, offset_of(&bytes[1])) + put(file, bytes + 3, size - 3);
    return put(file, bytes + 1, size - 1);
}

static bool is_as_written(int file, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    LH_ASSERT_EQ(pread(file, bytes, size, 0), size);
    const bool same = size == written.size && memcmp(bytes, written.bytes, size) == 0;
    free(bytes);
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (written.bytes == NULL)
        write_one();
    if (size == 0)
        return 0;
    struct lh_fpset set = {0};
    struct lh_frontier frontiers[2];
    struct lh_checkpoint checkpoint = {
        .model = &model, .set = &set, .present = &frontiers[0], .next = &frontiers[1]};
    char path[PATH_BYTES];
    const int file = memfd_create("checkpoint", MFD_CLOEXEC);
    const size_t file_bytes = make_file(file, bytes, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    open_frontiers(frontiers);
    const char *wrong = lh_checkpoint_load(&checkpoint, path);
    if ((wrong == NULL) != is_as_written(file, file_bytes))
        abort();
    if (wrong == NULL && (checkpoint.distinct != 5 || frontiers[0].states != STATES))
        abort();
    close_all(&set, frontiers);
    close(file);
    return 0;
}
