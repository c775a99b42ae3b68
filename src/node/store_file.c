// LMDB, opened with care: see store_file.h.
#include "node/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "base/assert.h"

// Neither is an errno nor one of LMDB's codes, which lie between -30799 and -30780.
#define LH_STORE_DAMAGED (-1)
#define LH_STORE_VERSION 2u
#define LH_STORE_VERSION_UNNUMBERED 1u
#define CHILD_PATIENCE_S 20

// The digest's own key is longer than any pair's, so it can never be one.
static const char digest_key[] = "leasehold pairs digest";

struct digest {
    uint32_t version;
    uint32_t commit; // LMDB's number of it, folded; not in version 1
    uint64_t count;
    uint64_t sum; // of SipHash over each pair, modulo 2^64
};

static MDB_val value_of(const void *bytes, size_t size)
{
    return (MDB_val){.mv_size = size, .mv_data = (void *)(uintptr_t)bytes};
}

static uint64_t hash_pair(MDB_val key, MDB_val value)
{
    static const uint8_t hash_key[crypto_shorthash_KEYBYTES] = "leasehold store";
    uint8_t bytes[1 + LH_STORE_KEY_MAX + LH_STORE_VALUE_MAX];
    uint64_t hash = 0;
    _Static_assert(crypto_shorthash_BYTES == sizeof(hash), "SipHash is 64 bits");
    bytes[0] = (uint8_t)key.mv_size; // keeps key and value apart
    memcpy(bytes + 1, key.mv_data, key.mv_size);
    memcpy(bytes + 1 + key.mv_size, value.mv_data, value.mv_size);
    crypto_shorthash((uint8_t *)&hash, bytes, 1 + key.mv_size + value.mv_size, hash_key);
    return hash;
}

static void digest_add(struct digest *digest, MDB_val key, MDB_val value)
{
    digest->count++;
    digest->sum += hash_pair(key, value);
}

static void digest_remove(struct digest *digest, MDB_val key, MDB_val value)
{
    digest->count--;
    digest->sum -= hash_pair(key, value);
}

static bool is_digest(MDB_val key)
{
    return key.mv_size == sizeof(digest_key) && memcmp(key.mv_data, digest_key, key.mv_size) == 0;
}

static int read_digest(MDB_txn *txn, MDB_dbi pairs, struct digest *ret_digest)
{
    MDB_val key = value_of(digest_key, sizeof(digest_key));
    MDB_val value = {0};
    const int code = mdb_get(txn, pairs, &key, &value);
    if (code != 0)
        return code == MDB_NOTFOUND ? LH_STORE_DAMAGED : code;
    if (value.mv_size != sizeof(*ret_digest))
        return LH_STORE_DAMAGED;
    memcpy(ret_digest, value.mv_data, sizeof(*ret_digest));
    return ret_digest->version == LH_STORE_VERSION ||
                   ret_digest->version == LH_STORE_VERSION_UNNUMBERED
               ? 0
               : MDB_VERSION_MISMATCH;
}

static uint32_t commit_of(MDB_txn *txn)
{
    const uint64_t number = mdb_txn_id(txn);
    return (uint32_t)(number ^ number >> 32);
}

static int write_digest(MDB_txn *txn, MDB_dbi pairs, struct digest digest)
{
    digest.version = LH_STORE_VERSION;
    digest.commit = commit_of(txn);
    MDB_val key = value_of(digest_key, sizeof(digest_key));
    MDB_val value = value_of(&digest, sizeof(digest));
    return mdb_put(txn, pairs, &key, &value, 0);
}

static int env_open(const char *path, MDB_env **ret_env)
{
    MDB_env *env = NULL;
    int code = mdb_env_create(&env);
    if (code != 0)
        return code;
    code = mdb_env_set_mapsize(env, (size_t)LH_STORE_MAP_MIB << 20);
    if (code == 0)
        code = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, 0600);
    if (code != 0) {
        mdb_env_close(env);
        return code;
    }
    *ret_env = env;
    return 0;
}

// LMDB maps the file and would die by a signal on a page beyond its end.
static int check_length(MDB_env *env)
{
    MDB_envinfo info;
    MDB_stat pages;
    struct stat status;
    int file = -1;
    int code = mdb_env_info(env, &info);
    if (code == 0)
        code = mdb_env_stat(env, &pages);
    if (code == 0)
        code = mdb_env_get_fd(env, &file);
    if (code == 0 && fstat(file, &status) != 0)
        code = errno;
    if (code == 0 && (uint64_t)status.st_size < ((uint64_t)info.me_last_pgno + 1) * pages.ms_psize)
        code = LH_STORE_DAMAGED;
    return code;
}

static int begin(struct lh_store_file *file, unsigned flags, MDB_txn **ret_txn)
{
    MDB_txn *txn = NULL;
    unsigned order = 0;
    int code = mdb_txn_begin(file->env, NULL, flags, &txn);
    if (code != 0)
        return code;
    code = mdb_dbi_open(txn, NULL, 0, &file->pairs);
    if (code == 0)
        code = mdb_dbi_flags(txn, file->pairs, &order);
    if (code == 0 && order != 0) // the meta page's word for how the keys are sorted
        code = LH_STORE_DAMAGED;
    if (code != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    *ret_txn = txn;
    return 0;
}

// A meta page that leads to pairs of another commit than it says.
static bool is_stale(MDB_txn *txn, const struct digest *digest)
{
    return digest->version != LH_STORE_VERSION_UNNUMBERED && digest->commit != commit_of(txn);
}

static int walk(MDB_txn *txn, MDB_dbi pairs, lh_store_each_fn *each, void *context)
{
    struct digest expected = {0};
    struct digest found = {0};
    MDB_cursor *cursor = NULL;
    MDB_val key = {0};
    MDB_val value = {0};
    int code = read_digest(txn, pairs, &expected);
    if (code == 0 && is_stale(txn, &expected))
        code = LH_STORE_DAMAGED;
    if (code == 0)
        code = mdb_cursor_open(txn, pairs, &cursor);
    if (code != 0)
        return code;
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        if (is_digest(key))
            continue;
        if (key.mv_size == 0 || key.mv_size > LH_STORE_KEY_MAX ||
            value.mv_size > LH_STORE_VALUE_MAX || found.count == expected.count) {
            code = LH_STORE_DAMAGED;
            break;
        }
        digest_add(&found, key, value);
        if (each != NULL)
            each(context,
                 &(struct lh_store_pair){lh_slice_of(key.mv_data, key.mv_size),
                                         lh_slice_of(value.mv_data, value.mv_size), false});
    }
    mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND)
        return code;
    return found.count == expected.count && found.sum == expected.sum ? 0 : LH_STORE_DAMAGED;
}

static int walk_file(struct lh_store_file *file, lh_store_each_fn *each, void *context)
{
    MDB_txn *txn = NULL;
    int code = begin(file, MDB_RDONLY, &txn);
    if (code != 0)
        return code;
    code = walk(txn, file->pairs, each, context);
    mdb_txn_abort(txn);
    return code;
}

// Opens, reads everything, and leaves a write unfinished, which reads the list of free pages as
// well.
static int try_everything(const char *path)
{
    struct lh_store_file file = {0};
    struct digest digest;
    MDB_txn *txn = NULL;
    int code = env_open(path, &file.env);
    if (code != 0)
        return code;
    code = check_length(file.env);
    if (code == 0)
        code = walk_file(&file, NULL, NULL);
    if (code == 0)
        code = begin(&file, 0, &txn);
    if (code == 0)
        code = read_digest(txn, file.pairs, &digest);
    if (code == 0)
        code = write_digest(txn, file.pairs, digest);
    mdb_txn_abort(txn);
    mdb_env_close(file.env);
    return code;
}

// LMDB takes the sizes of its pages and of its map from the file. Those of a whole one are no
// invalid argument, and fit if a map of the usual size does.
static bool is_of_damaged_sizes(int code)
{
    if (code != ENOMEM)
        return code == EINVAL;
    const size_t size = (size_t)LH_STORE_MAP_MIB << 20;
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return false;
    munmap(map, size);
    return true;
}

// A child that dies, by whatever signal, found a damaged file: that is an answer, so no handler, no
// core and no message shall make more of it.
static void die_quietly(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        signal(faults[i], SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    dup2(silence, STDERR_FILENO); // LMDB's own assertions
    alarm(CHILD_PATIENCE_S);      // pages that point at each other
}

// The child tells its code through a pipe.
static int try_in_child(const char *path)
{
    int ends[2];
    int code = LH_STORE_DAMAGED;
    if (pipe(ends) != 0)
        return errno;
    const pid_t child = fork();
    if (child < 0) {
        code = errno;
    } else if (child == 0) {
        die_quietly();
        code = try_everything(path);
        if (is_of_damaged_sizes(code))
            code = LH_STORE_DAMAGED;
        _exit(write(ends[1], &code, sizeof(code)) == sizeof(code) ? 0 : 1);
    }
    close(ends[1]);
    int told = LH_STORE_DAMAGED;
    if (child > 0) {
        ssize_t size = 0;
        while ((size = read(ends[0], &told, sizeof(told))) < 0 && errno == EINTR)
            ;
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        code = size == sizeof(told) ? told : LH_STORE_DAMAGED;
    }
    close(ends[0]);
    return code;
}

static int sync_directory(const char *directory)
{
    const int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno;
    const int code = fsync(file) == 0 ? 0 : errno;
    close(file);
    return code;
}

// A new file appears under its name only when its digest is on disk.
static int make_new(const char *directory, const char *path)
{
    char draft[sizeof(((struct lh_store_file *)0)->directory) + 32];
    struct lh_store_file file = {0};
    MDB_txn *txn = NULL;
    snprintf(draft, sizeof(draft), "%s/data.mdb.new", directory);
    if (unlink(draft) != 0 && errno != ENOENT)
        return errno;
    int code = env_open(draft, &file.env);
    if (code != 0)
        goto cleanup;
    code = begin(&file, 0, &txn);
    if (code == 0)
        code = write_digest(txn, file.pairs, (struct digest){.count = 0});
    if (code == 0) {
        code = mdb_txn_commit(txn);
        txn = NULL;
    }
    mdb_txn_abort(txn);
    mdb_env_close(file.env);
    if (code == 0 && rename(draft, path) != 0)
        code = errno;
    if (code == 0)
        code = sync_directory(directory);
cleanup:
    if (code != 0)
        unlink(draft);
    return code;
}

static void path_of(const char *directory, char *ret_path, size_t capacity)
{
    snprintf(ret_path, capacity, "%s/data.mdb", directory);
}

bool lh_store_file_open_copy(const char *directory, const char *path,
                             struct lh_store_file *ret_file, struct lh_error *error)
{
    struct stat status;
    struct lh_store_file file = {0};
    if (sodium_init() < 0)
        return lh_error_set(error, "libsodium cannot be initialised");
    LH_ASSERT(strlen(directory) < sizeof(file.directory));
    memcpy(file.directory, directory, strlen(directory) + 1);
    int code = 0;
    if (stat(path, &status) != 0)
        code = errno;
    else if (status.st_size == 0) // LMDB would take it for a new one
        code = LH_STORE_DAMAGED;
    else
        code = try_in_child(path);
    if (code == 0)
        code = env_open(path, &file.env);
    if (code == 0)
        code = walk_file(&file, NULL, NULL);
    if (code != 0) {
        lh_store_file_close(&file);
        return lh_store_file_explain(directory, code, error);
    }
    *ret_file = file;
    return true;
}

bool lh_store_file_open(const char *directory, struct lh_store_file *ret_file,
                        struct lh_error *error)
{
    char path[sizeof(ret_file->directory) + 32];
    if (strlen(directory) >= sizeof(ret_file->directory))
        return lh_error_set(error, "data directory %s: the path is longer than %zu bytes",
                            directory, sizeof(ret_file->directory) - 1);
    path_of(directory, path, sizeof(path));
    if (access(path, F_OK) != 0) {
        int code = errno;
        if (code == ENOENT)
            code = make_new(directory, path);
        if (code != 0)
            return lh_store_file_explain(directory, code, error);
    }
    return lh_store_file_open_copy(directory, path, ret_file, error);
}

void lh_store_file_close(struct lh_store_file *file)
{
    if (file == NULL || file->env == NULL)
        return;
    mdb_env_close(file->env);
    file->env = NULL;
}

bool lh_store_file_each(struct lh_store_file *file, lh_store_each_fn *each, void *context,
                        struct lh_error *error)
{
    const int code = walk_file(file, each, context);
    return code == 0 || lh_store_file_explain(file->directory, code, error);
}

// What stands before the key and the value of a record.
struct record {
    uint8_t key_size;
    bool erased;
    uint16_t value_size;
};

size_t lh_store_record(uint8_t *out, const struct lh_store_pair *pair)
{
    const struct lh_slice value = pair->erased ? (struct lh_slice){NULL, 0} : pair->value;
    LH_ASSERT(pair->key.size_bytes >= 1 && pair->key.size_bytes <= LH_STORE_KEY_MAX);
    LH_ASSERT(value.size_bytes <= LH_STORE_VALUE_MAX);
    const struct record record = {.key_size = (uint8_t)pair->key.size_bytes,
                                  .erased = pair->erased,
                                  .value_size = (uint16_t)value.size_bytes};
    memcpy(out, &record, sizeof(record));
    memcpy(out + sizeof(record), pair->key.data, record.key_size);
    if (value.size_bytes != 0)
        memcpy(out + sizeof(record) + record.key_size, value.data, record.value_size);
    return sizeof(record) + record.key_size + record.value_size;
}

// Applies the first of `records` and returns its size through `ret_size`.
static int apply(MDB_txn *txn, MDB_dbi pairs, struct digest *digest, const uint8_t *records,
                 size_t *ret_size)
{
    struct record record;
    memcpy(&record, records, sizeof(record));
    MDB_val key = value_of(records + sizeof(record), record.key_size);
    MDB_val value = value_of(records + sizeof(record) + record.key_size, record.value_size);
    MDB_val old = {0};
    *ret_size = sizeof(record) + record.key_size + record.value_size;
    int code = mdb_get(txn, pairs, &key, &old);
    if (code == 0)
        digest_remove(digest, key, old);
    else if (code != MDB_NOTFOUND)
        return code;
    if (record.erased)
        return code == 0 ? mdb_del(txn, pairs, &key, NULL) : 0;
    digest_add(digest, key, value);
    return mdb_put(txn, pairs, &key, &value, 0);
}

static int commit(struct lh_store_file *file, const uint8_t *records, size_t size)
{
    MDB_txn *txn = NULL;
    struct digest digest;
    int code = begin(file, 0, &txn);
    if (code != 0)
        return code;
    code = read_digest(txn, file->pairs, &digest);
    for (size_t at = 0, used = 0; at < size && code == 0; at += used)
        code = apply(txn, file->pairs, &digest, records + at, &used);
    if (code == 0)
        code = write_digest(txn, file->pairs, digest);
    if (code != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

int lh_store_file_commit(struct lh_store_file *file, const uint8_t *records, size_t size)
{
    if (file->env == NULL) {
        char path[sizeof(file->directory) + 32];
        path_of(file->directory, path, sizeof(path));
        const int code = env_open(path, &file->env);
        if (code != 0)
            return code;
    }
    int code = commit(file, records, size);
    if (code == 0)
        code = commit(file, NULL, 0); // so that both meta pages lead to these pairs
    // After a meta page could not be written LMDB refuses everything until it is opened again.
    // Whether that commit counts is unknown; applying the same records once more gives the same
    // pairs either way.
    if (code == MDB_PANIC)
        lh_store_file_close(file);
    return code;
}

bool lh_store_file_explain(const char *directory, int code, struct lh_error *error)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
        return lh_error_set(error, "data directory %s: no space left: free some on its file system",
                            directory);
    case MDB_MAP_FULL:
        return lh_error_set(error, "data directory %s: data.mdb holds its %d MiB: report this",
                            directory, LH_STORE_MAP_MIB);
    case ENOMEM:
        return lh_error_set(error,
                            "data directory %s: out of memory: free some, or raise the limit of "
                            "this process",
                            directory);
    case EROFS:
        return lh_error_set(error,
                            "data directory %s: its file system is read-only: look for disk errors "
                            "in the kernel log, then remount it writable",
                            directory);
    case EACCES:
    case EPERM:
        return lh_error_set(error,
                            "data directory %s: permission denied: make it owned and writable by "
                            "the user of this daemon",
                            directory);
    case ENOENT:
    case ENOTDIR:
        return lh_error_set(error, "data directory %s: %s: create it, or set data-dir", directory,
                            mdb_strerror(code));
    case MDB_VERSION_MISMATCH:
        return lh_error_set(
            error,
            "data directory %s: data.mdb is of another version of leaseholdd, or damaged: start "
            "that version, or move the directory away; the node then comes back as a replacement",
            directory);
    case LH_STORE_DAMAGED:
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_MAP_RESIZED:
        return lh_error_set(error,
                            "data directory %s: data.mdb is damaged: move the directory away and "
                            "start again; the node then comes back as a replacement",
                            directory);
    default:
        return lh_error_set(error, "data directory %s: %s: look for disk errors in the kernel log",
                            directory, mdb_strerror(code));
    }
}
