// Copying a store that may be written meanwhile: see store_look.h.
#include "node/store_look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/file.h"

#define TRIES 10
#define PAUSE_MS 50
#define CHUNK_BYTES (64 << 10)
#define COPY_MAX_BYTES ((off_t)LH_STORE_MAP_MIB << 20)

static int copy_file(int from, int to)
{
    uint8_t bytes[CHUNK_BYTES];
    if (ftruncate(to, 0) != 0)
        return errno;
    for (off_t at = 0; at < COPY_MAX_BYTES;) {
        const ssize_t size = pread(from, bytes, sizeof bytes, at);
        if (size <= 0)
            return size == 0 ? 0 : errno;
        const ssize_t written = pwrite(to, bytes, (size_t)size, at);
        if (written != size)
            return written < 0 ? errno : ENOSPC;
        at += size;
    }
    return 0;
}

static bool is_same(int one, int other)
{
    uint8_t bytes[CHUNK_BYTES], others[CHUNK_BYTES];
    for (off_t at = 0; at < COPY_MAX_BYTES;) {
        const ssize_t size = pread(one, bytes, sizeof bytes, at);
        if (pread(other, others, sizeof others, at) != size)
            return false;
        if (size <= 0)
            return size == 0;
        if (memcmp(bytes, others, (size_t)size) != 0)
            return false;
        at += size;
    }
    return true;
}

// A file that is the same when it is read again was so at the instant between: as a crash at that
// instant would have left it, which LMDB is made for.
static int copy_steady(int from, int to)
{
    for (unsigned i = 0; i < TRIES; i++) {
        const int code = copy_file(from, to);
        if (code != 0)
            return code;
        if (is_same(from, to))
            return 0;
        poll(NULL, 0, PAUSE_MS);
    }
    return EAGAIN;
}

static enum lh_store_look look(const char *directory, int file, int copy, lh_store_each_fn *each,
                               void *context, struct lh_error *ret_reason)
{
    char path[32];
    struct lh_store_file store = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    int code = copy_steady(file, copy);
    if (code == 0 && access(path, F_OK) != 0)
        code = errno;
    if (code != 0) {
        lh_error_set(ret_reason, "data.mdb was not looked into: %s",
                     code == EAGAIN ? "a daemon writes to it" : strerror(code));
        return LH_STORE_LOOK_UNSEEN;
    }
    if (!lh_store_file_open_copy(directory, path, &store, ret_reason))
        return LH_STORE_LOOK_REFUSED;
    const bool read = lh_store_file_each(&store, each, context, ret_reason);
    lh_store_file_close(&store);
    return read ? LH_STORE_LOOK_READ : LH_STORE_LOOK_REFUSED;
}

enum lh_store_look lh_store_look(const char *directory, lh_store_each_fn *each, void *context,
                                 struct lh_error *ret_reason)
{
    char path[512];
    const char *reason = NULL;
    snprintf(path, sizeof path, "%s/data.mdb", directory);
    if (access(path, R_OK | W_OK) != 0) {
        if (errno == ENOENT)
            return LH_STORE_LOOK_NEW;
        lh_store_file_explain(directory, errno, ret_reason);
        return LH_STORE_LOOK_REFUSED;
    }
    const int file = lh_file_open(path, O_RDONLY, &reason);
    if (file < 0) {
        lh_error_set(ret_reason, "%s: %s", path, reason);
        return LH_STORE_LOOK_REFUSED;
    }
    enum lh_store_look result = LH_STORE_LOOK_UNSEEN;
    const int copy = memfd_create("data.mdb", MFD_CLOEXEC);
    if (copy < 0)
        lh_error_set(ret_reason, "data.mdb was not looked into: %s", strerror(errno));
    else
        result = look(directory, file, copy, each, context, ret_reason);
    if (copy >= 0)
        close(copy);
    close(file);
    return result;
}
