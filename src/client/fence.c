// The fences of leasehold/fence.h.
//
// A file is 1024 bytes: the same record at 0 and at 512, in sectors of their own: magic, token, hash.
// A new token is written to one and made durable, then to the other, and only then is anybody
// admitted under it. So whatever one crash, or damage to one record, leaves behind, the other record
// holds every token that was ever acted under. Of two whole records that differ the greater counts.
//
// What must stay true: the greatest token never shrinks. Without a whole record nothing is admitted,
// and an empty file is damaged, too: a new fence appears under its name only when it is complete.
#include "leasehold/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/hash.h"

#define RECORD_BYTES 24
#define RECORDS_APART 512
#define FILE_BYTES 1024
#define MAGIC UINT64_C(0x3165636e6566684c) // "Lhfence1"

struct lh_fence {
    int fd;
    bool entered;
};

struct state {
    int64_t token;
    bool whole; // both records hold it
};

bool lh_fence_word_admit(int64_t *word, int64_t token)
{
    int64_t greatest = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    if (token <= 0)
        return false;
    while (token > greatest)
        if (__atomic_compare_exchange_n(word, &greatest, token, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return token == greatest;
}

// --- records ---

static void encode(int64_t token, uint8_t ret[RECORD_BYTES])
{
    lh_store_u64(ret, MAGIC);
    lh_store_u64(ret + 8, (uint64_t)token);
    lh_store_u64(ret + 16, lh_hash_bytes(LH_HASH_START, lh_slice_of(ret, 16)));
}

// The token of a whole record, or -1.
static int64_t decode(const uint8_t *at)
{
    uint64_t token = lh_load_u64(at + 8);
    if (lh_load_u64(at) != MAGIC || token > INT64_MAX ||
        lh_load_u64(at + 16) != lh_hash_bytes(LH_HASH_START, lh_slice_of(at, 16)))
        return -1;
    return (int64_t)token;
}

static ssize_t read_whole(int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t now = pread(fd, bytes + done, size - done, (off_t)done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return -1;
        if (now == 0)
            break;
        done += (size_t)now;
    }
    return (ssize_t)done;
}

static enum lh_return read_state(int fd, struct state *ret)
{
    uint8_t bytes[FILE_BYTES] = {0};
    struct stat status;
    ssize_t size = read_whole(fd, bytes, sizeof bytes);
    if (size < 0 || fstat(fd, &status) != 0)
        return LH_SYSTEM;
    int64_t first = decode(bytes);
    int64_t second = decode(bytes + RECORDS_APART);
    if (status.st_size != FILE_BYTES || (first < 0 && second < 0))
        return LH_DAMAGED;
    ret->token = first > second ? first : second;
    ret->whole = first == second;
    return LH_OK;
}

static bool write_at(int fd, const uint8_t *bytes, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t now = pwrite(fd, bytes + done, size - done, offset + (off_t)done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return false;
        done += (size_t)now;
    }
    return true;
}

// One after the other: at no moment are both in the air.
static enum lh_return write_token(int fd, int64_t token)
{
    uint8_t bytes[RECORD_BYTES];
    encode(token, bytes);
    for (off_t offset = 0; offset < FILE_BYTES; offset += RECORDS_APART)
        if (!write_at(fd, bytes, sizeof bytes, offset) || fdatasync(fd) != 0)
            return LH_SYSTEM;
    return LH_OK;
}

// --- the file ---

static bool lock(int fd)
{
    int result;
    do
        result = flock(fd, LOCK_EX);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static void unlock(int fd)
{
    int failure = errno;
    flock(fd, LOCK_UN);
    errno = failure;
}

// A file that was just made is there after a crash.
static bool sync_directory(const char *path)
{
    char *directory = strdup(path);
    if (directory == NULL)
        return false;
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory ? 1 : 0] = '\0';
    int fd = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    bool good = fd >= 0 && fsync(fd) == 0;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    errno = failure;
    return good;
}

// Makes a whole fence beside `path` and gives it that name, unless there is one meanwhile.
static bool create(const char *path)
{
    static const char ending[] = ".new-XXXXXX";
    size_t size = strlen(path);
    char *name = malloc(size + sizeof ending);
    if (name == NULL)
        return false;
    memcpy(name, path, size);
    memcpy(name + size, ending, sizeof ending);
    int fd = mkostemp(name, O_CLOEXEC);
    bool good = fd >= 0 && ftruncate(fd, FILE_BYTES) == 0 && write_token(fd, 0) == LH_OK &&
                fsync(fd) == 0 && (link(name, path) == 0 || errno == EEXIST);
    int failure = errno;
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    free(name);
    errno = failure;
    return good;
}

static int open_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

enum lh_return lh_fence_open(const char *path, struct lh_fence **ret_fence)
{
    struct state state;
    struct lh_fence *fence = calloc(1, sizeof *fence);
    if (fence == NULL)
        return LH_MEMORY;
    enum lh_return result = LH_SYSTEM;
    fence->fd = open_file(path);
    if (fence->fd < 0 && errno == ENOENT && create(path))
        fence->fd = open_file(path);
    if (fence->fd >= 0 && sync_directory(path) && lock(fence->fd)) {
        result = read_state(fence->fd, &state);
        unlock(fence->fd);
    }
    if (result == LH_OK) {
        *ret_fence = fence;
        return LH_OK;
    }
    int failure = errno;
    if (fence->fd >= 0)
        close(fence->fd);
    free(fence);
    errno = failure;
    return result;
}

void lh_fence_close(struct lh_fence *fence)
{
    if (fence == NULL)
        return;
    close(fence->fd); // which unlocks
    free(fence);
}

enum lh_return lh_fence_enter(struct lh_fence *fence, int64_t token)
{
    struct state state;
    if (token <= 0)
        return LH_ARGUMENT;
    if (fence->entered)
        return LH_STATE;
    if (!lock(fence->fd))
        return LH_SYSTEM;
    enum lh_return result = read_state(fence->fd, &state);
    if (result == LH_OK && token < state.token)
        result = LH_STALE;
    if (result == LH_OK && (token > state.token || !state.whole))
        result = write_token(fence->fd, token);
    fence->entered = result == LH_OK;
    if (result != LH_OK)
        unlock(fence->fd);
    return result;
}

void lh_fence_leave(struct lh_fence *fence)
{
    if (!fence->entered)
        return;
    fence->entered = false;
    unlock(fence->fd);
}

enum lh_return lh_fence_greatest(struct lh_fence *fence, int64_t *ret_token)
{
    struct state state;
    if (!fence->entered && !lock(fence->fd))
        return LH_SYSTEM;
    enum lh_return result = read_state(fence->fd, &state);
    if (!fence->entered)
        unlock(fence->fd);
    if (result == LH_OK)
        *ret_token = state.token;
    return result;
}

enum lh_return lh_fence_repair(const char *path, int64_t token)
{
    struct state state;
    if (token <= 0)
        return LH_ARGUMENT;
    int fd = open_file(path);
    if (fd < 0)
        return LH_SYSTEM;
    enum lh_return result = LH_SYSTEM;
    if (lock(fd)) {
        result = read_state(fd, &state);
        if (result == LH_OK)
            result = LH_STATE;
        else if (result == LH_DAMAGED)
            result = ftruncate(fd, FILE_BYTES) == 0 ? write_token(fd, token) : LH_SYSTEM;
    }
    int failure = errno;
    close(fd);
    errno = failure;
    return result;
}
