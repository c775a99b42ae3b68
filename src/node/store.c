// The lock, the queue and the storage thread: see store.h. What the file holds is store_file.c's
// matter.
#include "node/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

#define RETRY_FIRST_NS (10 * LH_NS_PER_MS)
#define RETRY_MOST_NS (1 * LH_NS_PER_S)
// What a thread that is not held by the disk needs to end once it is told to give up.
#define GIVE_UP_NS (200 * LH_NS_PER_MS)

struct bytes {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

struct lh_store {
    int lock_file;
    struct lh_store_file file; // of the storage thread once it runs
    uint64_t queued_n;         // of the loop thread
    bool started;

    uv_loop_t *loop;
    uv_async_t wake_loop;
    struct lh_store_events events;
    uint64_t told_n;
    int told_code;

    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t wake_thread;
    uv_cond_t ended;
    // Below: under the mutex.
    struct bytes queue;
    struct bytes batch; // of the storage thread while it commits: what was queued before `queue`
    uint64_t batch_n;
    uint64_t newest_n;
    uint64_t persisted_n;
    int code;      // of the last commit: 0, or why it failed
    bool stopping; // commit what there is, then end
    bool gave_up;  // end now, and leave the loop alone
    bool has_ended;
};

static bool refuse_locked(const char *directory, int lock_file, struct lh_error *error)
{
    char text[32] = "";
    const ssize_t size = pread(lock_file, text, sizeof(text) - 1, 0);
    const long pid = size > 0 ? strtol(text, NULL, 10) : 0;
    if (pid <= 0)
        return lh_error_set(
            error,
            "data directory %s is in use by another process: stop that leaseholdd, or "
            "give this one a data-dir of its own",
            directory);
    return lh_error_set(
        error,
        "data directory %s is in use by process %ld%s: stop that leaseholdd, or give "
        "this one a data-dir of its own",
        directory, pid, pid == (long)getpid() ? " (this one)" : "");
}

static bool lock(const char *directory, int *ret_lock_file, struct lh_error *error)
{
    char path[512];
    char pid[16];
    if ((size_t)snprintf(path, sizeof(path), "%s/lock", directory) >= sizeof(path))
        return lh_error_set(error, "data directory %s: the path is too long", directory);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return lh_store_file_explain(directory, errno, error);
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        const bool held = errno == EWOULDBLOCK;
        if (held)
            refuse_locked(directory, file, error);
        else
            lh_store_file_explain(directory, errno, error);
        close(file);
        return false;
    }
    // For the message of the next one only, so a full disk is no reason to fail here. Always of one
    // size, so that no file system has to find room for it twice.
    snprintf(pid, sizeof(pid), "%10ld\n", (long)getpid());
    if (pwrite(file, pid, strlen(pid), 0) < 0)
        (void)ftruncate(file, 0);
    *ret_lock_file = file;
    return true;
}

bool lh_store_open(const char *directory, struct lh_store **ret_store, struct lh_error *error)
{
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return lh_store_file_explain(directory, errno, error);
    struct lh_store *store = calloc(1, sizeof(*store));
    if (store == NULL)
        return lh_error_set(error, "out of memory");
    if (!lock(directory, &store->lock_file, error))
        goto cleanup_memory;
    if (!lh_store_file_open(directory, &store->file, error))
        goto cleanup_lock;
    *ret_store = store;
    return true;
cleanup_lock:
    close(store->lock_file);
cleanup_memory:
    free(store);
    return false;
}

bool lh_store_each(struct lh_store *store, lh_store_each_fn *each, void *context,
                   struct lh_error *error)
{
    LH_ASSERT(!store->started);
    return lh_store_file_each(&store->file, each, context, error);
}

// Grows to hold `more` bytes behind those there are. False if there is no memory.
static bool reserve(struct bytes *bytes, size_t more)
{
    if (more <= bytes->capacity - bytes->size)
        return true;
    size_t capacity = bytes->capacity == 0 ? 4096 : bytes->capacity;
    while (capacity - bytes->size < more)
        capacity *= 2;
    uint8_t *grown = realloc(bytes->bytes, capacity);
    if (grown == NULL)
        return false;
    bytes->bytes = grown;
    bytes->capacity = capacity;
    return true;
}

bool lh_store_write(struct lh_store *store, uint64_t n, const struct lh_store_pair *pairs,
                    size_t count)
{
    LH_ASSERT(store->started);
    LH_ASSERT(n > store->queued_n);
    bool fits = false;
    uv_mutex_lock(&store->mutex);
    const size_t waiting = store->queue.size + store->batch.size;
    if (count <= (LH_STORE_QUEUE_MAX_BYTES - waiting) / LH_STORE_RECORD_MAX &&
        reserve(&store->queue, count * LH_STORE_RECORD_MAX)) {
        for (size_t i = 0; i < count; i++)
            store->queue.size += lh_store_record(store->queue.bytes + store->queue.size, &pairs[i]);
        store->newest_n = n;
        fits = true;
        uv_cond_signal(&store->wake_thread);
    }
    uv_mutex_unlock(&store->mutex);
    if (fits)
        store->queued_n = n;
    return fits;
}

// Moves everything queued behind what an earlier commit left. Called under the mutex; the storage
// thread may then read the batch without it. False if there is no memory, with nothing moved.
static bool take_batch(struct lh_store *store)
{
    if (store->batch.size == 0) {
        const struct bytes empty = store->batch;
        store->batch = store->queue;
        store->queue = empty;
    } else {
        if (!reserve(&store->batch, store->queue.size))
            return false;
        memcpy(store->batch.bytes + store->batch.size, store->queue.bytes, store->queue.size);
        store->batch.size += store->queue.size;
        store->queue.size = 0;
    }
    store->batch_n = store->newest_n;
    return true;
}

// Called under the mutex, gives it up while the disk works.
static void commit_batch(struct lh_store *store)
{
    int code = take_batch(store) ? 0 : ENOMEM;
    const uint8_t *records = store->batch.bytes;
    const size_t size = store->batch.size;
    uv_mutex_unlock(&store->mutex);
    if (code == 0 && size > 0)
        code = lh_store_file_commit(&store->file, records, size);
    uv_mutex_lock(&store->mutex);
    store->code = code;
    if (code == 0) {
        store->batch.size = 0;
        store->persisted_n = store->batch_n;
    }
    if (!store->gave_up)
        uv_async_send(&store->wake_loop);
}

// Sleeps before the next try; ends early when the store is to be closed or gives up. Called under
// the mutex.
static void back_off(struct lh_store *store, uint64_t wait_ns)
{
    const uint64_t end_ns = uv_hrtime() + wait_ns;
    const bool was_stopping = store->stopping;
    for (uint64_t now_ns = uv_hrtime();
         now_ns < end_ns && !store->gave_up && store->stopping == was_stopping;
         now_ns = uv_hrtime())
        uv_cond_timedwait(&store->wake_thread, &store->mutex, end_ns - now_ns);
}

static void run(void *argument)
{
    struct lh_store *store = argument;
    uint64_t wait_ns = RETRY_FIRST_NS;
    uv_mutex_lock(&store->mutex);
    while (!store->gave_up) {
        if (store->persisted_n == store->newest_n) {
            if (store->stopping)
                break;
            uv_cond_wait(&store->wake_thread, &store->mutex);
            continue;
        }
        commit_batch(store);
        if (store->code == 0) {
            wait_ns = RETRY_FIRST_NS;
        } else {
            back_off(store, wait_ns);
            wait_ns = wait_ns * 2 < RETRY_MOST_NS ? wait_ns * 2 : RETRY_MOST_NS;
        }
    }
    store->has_ended = true;
    uv_cond_signal(&store->ended);
    uv_mutex_unlock(&store->mutex);
}

static void on_wake_loop(uv_async_t *async)
{
    struct lh_store *store = async->data;
    struct lh_error reason;
    uv_mutex_lock(&store->mutex);
    const uint64_t n = store->persisted_n;
    const int code = store->code;
    uv_mutex_unlock(&store->mutex);
    if (code != store->told_code) {
        store->told_code = code;
        if (code != 0)
            lh_store_file_explain(store->file.directory, code, &reason);
        store->events.trouble(store->events.context, code != 0 ? reason.text : NULL);
    }
    // The event before may have closed the store: its memory lives until the loop has let go of the
    // handle.
    if (n > store->told_n && !uv_is_closing((const uv_handle_t *)async)) {
        store->told_n = n;
        store->events.persisted(store->events.context, n);
    }
}

// Signals belong to the loop's thread.
static int start_thread(struct lh_store *store)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = uv_thread_create(&store->thread, run, store);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void free_store(uv_handle_t *handle)
{
    struct lh_store *store = handle->data;
    free(store->queue.bytes);
    free(store->batch.bytes);
    free(store);
}

bool lh_store_start(struct lh_store *store, uv_loop_t *loop, struct lh_store_events events,
                    struct lh_error *error)
{
    LH_ASSERT(!store->started);
    store->loop = loop;
    store->events = events;
    store->wake_loop.data = store;
    int code = uv_mutex_init(&store->mutex);
    if (code != 0)
        goto fail;
    code = uv_cond_init(&store->wake_thread);
    if (code != 0)
        goto cleanup_mutex;
    code = uv_cond_init(&store->ended);
    if (code != 0)
        goto cleanup_wake;
    code = uv_async_init(loop, &store->wake_loop, on_wake_loop);
    if (code != 0)
        goto cleanup_ended;
    store->started = true;
    code = start_thread(store);
    if (code == 0)
        return true;
    // The loop knows the handle now, so only lh_store_close can let go of the memory.
    store->has_ended = true;
    return lh_error_set(error, "the storage thread cannot be started: %s", uv_strerror(code));
cleanup_ended:
    uv_cond_destroy(&store->ended);
cleanup_wake:
    uv_cond_destroy(&store->wake_thread);
cleanup_mutex:
    uv_mutex_destroy(&store->mutex);
fail:
    return lh_error_set(error, "the storage thread cannot be started: %s", uv_strerror(code));
}

// Waits until the thread has ended. Called under the mutex.
static bool await_end(struct lh_store *store, int64_t patience_ns)
{
    const uint64_t end_ns = uv_hrtime() + (uint64_t)patience_ns;
    for (uint64_t now_ns = uv_hrtime(); now_ns < end_ns && !store->has_ended; now_ns = uv_hrtime())
        uv_cond_timedwait(&store->ended, &store->mutex, end_ns - now_ns);
    return store->has_ended;
}

bool lh_store_close(struct lh_store *store, struct lh_duration patience)
{
    if (store == NULL)
        return true;
    if (!store->started) {
        lh_store_file_close(&store->file);
        close(store->lock_file);
        free(store);
        return true;
    }
    uv_mutex_lock(&store->mutex);
    const bool has_thread = !store->has_ended;
    store->stopping = true;
    uv_cond_signal(&store->wake_thread);
    bool ended = await_end(store, patience.ns);
    if (!ended) {
        store->gave_up = true;
        uv_cond_signal(&store->wake_thread);
        ended = await_end(store, GIVE_UP_NS);
    }
    const bool all = store->persisted_n == store->queued_n;
    uv_mutex_unlock(&store->mutex);
    if (!ended) {
        // The disk holds the thread, and the thread holds the file and this memory: leave it all to
        // the end of the process. It will not touch the loop again.
        uv_close((uv_handle_t *)&store->wake_loop, NULL);
        return false;
    }
    if (has_thread)
        uv_thread_join(&store->thread);
    uv_mutex_destroy(&store->mutex);
    uv_cond_destroy(&store->wake_thread);
    uv_cond_destroy(&store->ended);
    lh_store_file_close(&store->file);
    close(store->lock_file);
    uv_close((uv_handle_t *)&store->wake_loop, free_store);
    return all;
}
