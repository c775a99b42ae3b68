// The data directory: what is durable when, what a failing, full or stalled disk does, and who may
// open it.
//
// fdatasync is replaced here: LMDB calls it once or twice a commit, so a test can count, stall and
// fail commits.
// run-tests: timeout 300
#include "node/store.h"
#include "node/store_look.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// --- the disk ---

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stalled;
    int error; // 0: works
    unsigned calls;
    unsigned held; // calls that wait because of `stalled`
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int fdatasync(int fildes)
{
    pthread_mutex_lock(&disk.mutex);
    disk.calls++;
    disk.held++;
    pthread_cond_broadcast(&disk.changed);
    while (disk.stalled)
        pthread_cond_wait(&disk.changed, &disk.mutex);
    disk.held--;
    const int error = disk.error;
    pthread_mutex_unlock(&disk.mutex);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fildes);
}

static void set_disk(bool stalled, int error)
{
    pthread_mutex_lock(&disk.mutex);
    disk.stalled = stalled;
    disk.error = error;
    pthread_cond_broadcast(&disk.changed);
    pthread_mutex_unlock(&disk.mutex);
}

static void await_stall(void)
{
    pthread_mutex_lock(&disk.mutex);
    while (disk.held == 0)
        pthread_cond_wait(&disk.changed, &disk.mutex);
    pthread_mutex_unlock(&disk.mutex);
}

static unsigned disk_calls(void)
{
    pthread_mutex_lock(&disk.mutex);
    const unsigned calls = disk.calls;
    pthread_mutex_unlock(&disk.mutex);
    return calls;
}

// --- a store in a loop ---

struct fixture {
    char root[64];
    char directory[96];
    uv_loop_t loop;
    struct lh_store *store;
    uint64_t persisted;
    unsigned reports;
    unsigned troubles;
    char trouble[512]; // empty: none now
    struct lh_error error;
};

static void on_persisted(void *context, uint64_t n)
{
    struct fixture *fixture = context;
    assert_true(n > fixture->persisted);
    fixture->persisted = n;
    fixture->reports++;
}

static void on_trouble(void *context, const char *reason)
{
    struct fixture *fixture = context;
    fixture->troubles++;
    snprintf(fixture->trouble, sizeof(fixture->trouble), "%s", reason == NULL ? "" : reason);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    strcpy(fixture->root, "/tmp/leasehold-store-XXXXXX");
    if (mkdtemp(fixture->root) == NULL)
        return 1;
    snprintf(fixture->directory, sizeof(fixture->directory), "%s/data", fixture->root);
    uv_loop_init(&fixture->loop);
    set_disk(false, 0);
    *state = fixture;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    set_disk(false, 0);
    lh_store_close(fixture->store, lh_ms(10000));
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&fixture->loop) != 0)
        return 1;
    nftw(fixture->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return 0;
}

static void open_store(struct fixture *fixture)
{
    if (!lh_store_open(fixture->directory, &fixture->store, &fixture->error))
        fail_msg("%s", fixture->error.text);
}

static void start(struct fixture *fixture)
{
    const struct lh_store_events events = {fixture, on_persisted, on_trouble};
    fixture->persisted = 0;
    assert_true(lh_store_start(fixture->store, &fixture->loop, events, &fixture->error));
}

static void open_and_start(struct fixture *fixture)
{
    open_store(fixture);
    start(fixture);
}

static bool close_store(struct fixture *fixture)
{
    const bool all = lh_store_close(fixture->store, lh_ms(10000));
    fixture->store = NULL;
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return all;
}

static void reopen(struct fixture *fixture)
{
    assert_true(close_store(fixture));
    open_store(fixture);
}

static void assert_not_opened(struct fixture *fixture, const char *why)
{
    struct lh_store *none = NULL;
    assert_false(lh_store_open(fixture->directory, &none, &fixture->error));
    assert_null(none);
    if (strstr(fixture->error.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", fixture->error.text, why);
    assert_non_null(strstr(fixture->error.text, fixture->directory));
}

static struct lh_store_pair pair(const char *key, const char *value)
{
    return (struct lh_store_pair){lh_slice_of_string(key), lh_slice_of_string(value), false};
}

static bool write_pair(struct fixture *fixture, uint64_t n, const char *key, const char *value)
{
    const struct lh_store_pair one = pair(key, value);
    return lh_store_write(fixture->store, n, &one, 1);
}

static void await_persisted(struct fixture *fixture, uint64_t n)
{
    while (fixture->persisted < n)
        uv_run(&fixture->loop, UV_RUN_ONCE);
}

// All pairs as "key=value;" in the order of keys.
static char listing[32768];

static void list_one(void *context, const struct lh_store_pair *one)
{
    (void)context;
    const size_t used = strlen(listing);
    snprintf(listing + used, sizeof(listing) - used, "%.*s=%.*s;", (int)one->key.size_bytes,
             (const char *)one->key.data, (int)one->value.size_bytes,
             (const char *)one->value.data);
}

static const char *list(struct fixture *fixture)
{
    listing[0] = '\0';
    assert_true(lh_store_each(fixture->store, list_one, NULL, &fixture->error));
    return listing;
}

// --- cases ---

static void a_new_directory_is_private_and_empty(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;
    open_store(fixture);
    assert_int_equal(stat(fixture->directory, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_string_equal(list(fixture), "");
    reopen(fixture);
    assert_string_equal(list(fixture), "");
}

static void what_is_persisted_comes_back(void **state)
{
    struct fixture *fixture = *state;
    open_and_start(fixture);
    const struct lh_store_pair pairs[] = {pair("b", "2"), pair("a", "1"), pair("c", "")};
    assert_true(lh_store_write(fixture->store, 5, pairs, 3));
    await_persisted(fixture, 5);
    reopen(fixture);
    assert_string_equal(list(fixture), "a=1;b=2;c=;");
}

static void later_pairs_win_and_erased_ones_are_gone(void **state)
{
    struct fixture *fixture = *state;
    open_and_start(fixture);
    const struct lh_store_pair pairs[] = {pair("a", "1"),
                                          pair("b", "2"),
                                          pair("a", "3"),
                                          {LH_SLICE("b"), {NULL, 0}, true},
                                          {LH_SLICE("never"), {NULL, 0}, true}};
    assert_true(lh_store_write(fixture->store, 1, pairs, 5));
    assert_true(write_pair(fixture, 2, "c", "4"));
    await_persisted(fixture, 2);
    assert_true(write_pair(fixture, 3, "c", "5"));
    await_persisted(fixture, 3);
    reopen(fixture);
    assert_string_equal(list(fixture), "a=3;c=5;");
    start(fixture);
    const struct lh_store_pair gone = {LH_SLICE("a"), {NULL, 0}, true};
    assert_true(lh_store_write(fixture->store, 1, &gone, 1));
    await_persisted(fixture, 1);
    reopen(fixture);
    assert_string_equal(list(fixture), "c=5;");
}

struct bytes_seen {
    const uint8_t *key, *value;
    unsigned count;
};

static void see_bytes(void *context, const struct lh_store_pair *one)
{
    struct bytes_seen *seen = context;
    assert_int_equal(one->key.size_bytes, LH_STORE_KEY_MAX);
    assert_memory_equal(one->key.data, seen->key, LH_STORE_KEY_MAX);
    assert_int_equal(one->value.size_bytes, LH_STORE_VALUE_MAX);
    assert_memory_equal(one->value.data, seen->value, LH_STORE_VALUE_MAX);
    seen->count++;
}

static void the_largest_pair_comes_back_byte_exact(void **state)
{
    struct fixture *fixture = *state;
    uint8_t key[LH_STORE_KEY_MAX], value[LH_STORE_VALUE_MAX];
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = (uint8_t)(255 - i);
    memset(key, 0, sizeof(key));
    struct bytes_seen seen = {key, value, 0};
    const struct lh_store_pair one = {lh_slice_of(key, sizeof(key)),
                                      lh_slice_of(value, sizeof(value)), false};
    open_and_start(fixture);
    assert_true(lh_store_write(fixture->store, 1, &one, 1));
    assert_true(close_store(fixture)); // drains
    open_store(fixture);
    assert_true(lh_store_each(fixture->store, see_bytes, &seen, &fixture->error));
    assert_int_equal(seen.count, 1);
}

static void a_number_without_pairs_follows_those_before_it(void **state)
{
    struct fixture *fixture = *state;
    open_and_start(fixture);
    set_disk(true, 0);
    assert_true(write_pair(fixture, 1, "a", "1"));
    await_stall();
    assert_true(lh_store_write(fixture->store, 2, NULL, 0));
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture->persisted, 0);
    set_disk(false, 0);
    await_persisted(fixture, 2);
}

static void a_stalled_disk_delays_nobody_and_batches(void **state)
{
    struct fixture *fixture = *state;
    char key[8];
    open_and_start(fixture);
    assert_true(write_pair(fixture, 1, "x", "0"));
    await_persisted(fixture, 1);
    const unsigned before = disk_calls();
    assert_true(write_pair(fixture, 2, "x", "1"));
    await_persisted(fixture, 2);
    const unsigned per_commit = disk_calls() - before;
    assert_true(per_commit >= 1);

    set_disk(true, 0);
    const unsigned stalled_at = disk_calls();
    assert_true(write_pair(fixture, 3, "x", "2"));
    await_stall();
    for (uint64_t n = 4; n <= 200; n++) { // returns, though the thread is held
        snprintf(key, sizeof(key), "k%03d", (int)n);
        assert_true(write_pair(fixture, n, key, "v"));
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(fixture->persisted, 2);
    set_disk(false, 0);
    await_persisted(fixture, 200);
    assert_int_equal(disk_calls() - stalled_at, 2 * per_commit); // n=3 alone, then all the rest
    reopen(fixture);
    assert_memory_equal(list(fixture), "k004=v;k005=v;", 14);
}

static void await_troubles(struct fixture *fixture, unsigned count)
{
    while (fixture->troubles < count)
        uv_run(&fixture->loop, UV_RUN_ONCE);
}

static void a_failing_disk_is_told_once_and_nothing_is_lost(void **state)
{
    struct fixture *fixture = *state;
    open_and_start(fixture);
    set_disk(false, EIO);
    const unsigned before = disk_calls();
    assert_true(write_pair(fixture, 1, "a", "1"));
    await_troubles(fixture, 1);
    assert_non_null(strstr(fixture->trouble, "Input/output error"));
    assert_non_null(strstr(fixture->trouble, fixture->directory));
    assert_true(write_pair(fixture, 2, "a", "2"));
    while (disk_calls() < before + 4) // several tries, one message
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(fixture->troubles, 1);
    assert_int_equal(fixture->persisted, 0);

    set_disk(false, EROFS); // another reason is another message
    await_troubles(fixture, 2);
    assert_non_null(strstr(fixture->trouble, "read-only"));
    set_disk(false, 0);
    await_persisted(fixture, 2);
    assert_int_equal(fixture->troubles, 3);
    assert_string_equal(fixture->trouble, "");
    reopen(fixture);
    assert_string_equal(list(fixture), "a=2;");
}

static void closing_gives_up_on_a_failing_disk(void **state)
{
    struct fixture *fixture = *state;
    open_and_start(fixture);
    assert_true(write_pair(fixture, 1, "a", "1"));
    await_persisted(fixture, 1);
    set_disk(false, EIO);
    assert_true(write_pair(fixture, 2, "a", "2"));
    assert_false(lh_store_close(fixture->store, lh_ms(50)));
    fixture->store = NULL;
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    set_disk(false, 0);
    open_store(fixture); // the directory was given up
    assert_string_equal(list(fixture), "a=1;");
}

// Done in a child, since a thread that the disk holds keeps the directory until its process ends.
static void closing_gives_up_on_a_stalled_disk(void **state)
{
    struct fixture *fixture = *state;
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        open_and_start(fixture);
        set_disk(true, 0);
        write_pair(fixture, 1, "a", "1");
        await_stall();
        const bool all = lh_store_close(fixture->store, lh_ms(50));
        uv_run(&fixture->loop, UV_RUN_DEFAULT);
        _exit(all ? 1 : fixture->reports != 0 ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    open_store(fixture);
}

static void a_full_queue_refuses_and_stays_whole(void **state)
{
    struct fixture *fixture = *state;
    struct lh_store_pair many[1000];
    char keys[1000][8];
    uint8_t value[LH_STORE_VALUE_MAX] = {7};
    for (size_t i = 0; i < 1000; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%04d", (int)i);
        many[i] = (struct lh_store_pair){lh_slice_of_string(keys[i]),
                                         lh_slice_of(value, sizeof(value)), false};
    }
    open_and_start(fixture);
    set_disk(true, 0);
    uint64_t n = 0;
    while (lh_store_write(fixture->store, n + 1, many, 1000))
        n++;
    assert_true(n >= 8 && n <= 20);
    set_disk(false, 0);
    await_persisted(fixture, n);
    assert_true(lh_store_write(fixture->store, n + 1, many, 1000)); // there is room again
    await_persisted(fixture, n + 1);
}

static void a_second_store_is_refused_by_pid(void **state)
{
    struct fixture *fixture = *state;
    char said[64];
    int status = 0;
    open_store(fixture);
    snprintf(said, sizeof(said), "in use by process %d (this one)", (int)getpid());
    assert_not_opened(fixture, said);
    snprintf(said, sizeof(said), "in use by process %d: stop that leaseholdd", (int)getpid());
    const pid_t child = fork();
    if (child == 0) {
        struct lh_store *none = NULL;
        const bool opened = lh_store_open(fixture->directory, &none, &fixture->error);
        _exit(opened || strstr(fixture->error.text, said) == NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    reopen(fixture); // and the refused ones did not disturb it
}

static void the_lock_of_a_killed_process_is_gone(void **state)
{
    struct fixture *fixture = *state;
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        open_and_start(fixture);
        write_pair(fixture, 1, "a", "1");
        await_persisted(fixture, 1);
        if (write(ends[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_not_opened(fixture, "in use by process");
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    open_store(fixture);
    assert_string_equal(list(fixture), "a=1;");
    close(ends[0]);
    close(ends[1]);
}

static void a_missing_parent_or_a_file_is_refused(void **state)
{
    struct fixture *fixture = *state;
    snprintf(fixture->directory, sizeof(fixture->directory), "%s/no/data", fixture->root);
    assert_not_opened(fixture, "create it, or set data-dir");
    snprintf(fixture->directory, sizeof(fixture->directory), "%s/file", fixture->root);
    close(open(fixture->directory, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_not_opened(fixture, "Not a directory");
}

// --- a look from outside ---

static void mount_small(struct fixture *fixture, const char *options)
{
    if (mount("none", fixture->root, "tmpfs", 0, options) != 0)
        skip();
}

enum { LOOKED_PAIRS = 1000, LOOKS = 10 };

static void commit_some(struct lh_store_file *file, unsigned first, unsigned count)
{
    static uint8_t records[LOOKED_PAIRS * LH_STORE_RECORD_MAX];
    char key[8], value[400];
    size_t size = 0;
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (unsigned i = first; i < first + count; i++) {
        snprintf(key, sizeof(key), "k%03u", i);
        const struct lh_store_pair one = pair(key, value);
        size += lh_store_record(records + size, &one);
    }
    if (lh_store_file_commit(file, records, size) != 0)
        _exit(1);
}

// The child that writes without end, and tells when it began.
static void write_without_end(const char *directory, int told)
{
    struct lh_store_file file = {0};
    struct lh_error error;
    unsigned n = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!lh_store_file_open(directory, &file, &error))
        _exit(1);
    commit_some(&file, 0, LOOKED_PAIRS);
    if (write(told, "x", 1) != 1)
        _exit(1);
    for (;; n += 7)
        commit_some(&file, n % LOOKED_PAIRS, 1);
}

static void count_one(void *context, const struct lh_store_pair *one)
{
    (void)one;
    ++*(unsigned *)context;
}

static void a_look_at_what_is_being_written_finds_nothing_damaged(void **state)
{
    struct fixture *fixture = *state;
    struct stat before, after;
    unsigned refused = 0, count = 0;
    int ends[2];
    char byte = 0;
    mount_small(fixture, "size=16m"); // in memory, where many commits fit into a look
    assert_int_equal(lh_store_look(fixture->directory, count_one, &count, &fixture->error),
                     LH_STORE_LOOK_NEW);
    assert_int_equal(mkdir(fixture->directory, 0700), 0);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0)
        write_without_end(fixture->directory, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    for (unsigned i = 0; i < LOOKS; i++)
        refused += lh_store_look(fixture->directory, count_one, &count, &fixture->error) ==
                   LH_STORE_LOOK_REFUSED;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    assert_int_equal(refused, 0);
    count = 0;
    assert_int_equal(stat(fixture->directory, &before), 0);
    assert_int_equal(lh_store_look(fixture->directory, count_one, &count, &fixture->error),
                     LH_STORE_LOOK_READ);
    assert_int_equal(count, LOOKED_PAIRS);
    assert_int_equal(stat(fixture->directory, &after), 0);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim)); // nothing made
}

// --- damage ---

enum { FLIPS = 80 };

static void data_path(const struct fixture *fixture, char *ret_path, size_t capacity)
{
    snprintf(ret_path, capacity, "%s/data.mdb", fixture->directory);
}

static void fill(struct fixture *fixture)
{
    char key[8], value[400];
    open_and_start(fixture);
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (uint64_t n = 1; n <= 40; n++) {
        snprintf(key, sizeof(key), "k%02d", (int)n);
        write_pair(fixture, n, key, value);
        await_persisted(fixture, n);
    }
    assert_true(close_store(fixture));
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(file, &status), 0);
    uint8_t *bytes = malloc((size_t)status.st_size);
    assert_int_equal(read(file, bytes, (size_t)status.st_size), status.st_size);
    close(file);
    *ret_size = (size_t)status.st_size;
    return bytes;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

// The bytes of a store that lists `ret_expected`.
static uint8_t *filled_file(struct fixture *fixture, char ret_expected[sizeof(listing)],
                            size_t *ret_size)
{
    char path[128];
    fill(fixture);
    data_path(fixture, path, sizeof(path));
    open_store(fixture);
    strcpy(ret_expected, list(fixture));
    assert_true(close_store(fixture));
    return read_file(path, ret_size);
}

// With `bits` of one byte flipped the store is refused with its directory's name, or lists `expected`.
static bool is_refused_with(struct fixture *fixture, uint8_t *bytes, size_t size, size_t at,
                            uint8_t bits, const char *expected)
{
    char path[128];
    data_path(fixture, path, sizeof(path));
    bytes[at] ^= bits;
    write_file(path, bytes, size);
    bytes[at] ^= bits;
    if (!lh_store_open(fixture->directory, &fixture->store, &fixture->error)) {
        assert_non_null(strstr(fixture->error.text, fixture->directory));
        return true;
    }
    assert_string_equal(list(fixture), expected);
    assert_true(close_store(fixture));
    return false;
}

// Either every byte is as it was written, or the store is refused with a remedy; whatever bit has
// flipped.
static void flipped_bits_are_noticed_or_harmless(void **state)
{
    struct fixture *fixture = *state;
    char expected[sizeof(listing)];
    size_t size = 0, refused = 0;
    uint64_t random = 1;
    uint8_t *bytes = filled_file(fixture, expected, &size);
    for (int i = 0; i < FLIPS; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const size_t bit = (size_t)(random >> 16) % (size * 8);
        refused +=
            is_refused_with(fixture, bytes, size, bit / 8, (uint8_t)(1 << bit % 8), expected);
    }
    assert_true(refused > FLIPS / 10);
    free(bytes);
}

// LMDB's meta page: after the page's header a magic number, the version, sizes, two trees, the last page
// and the commit's number.
enum { META_ROOT = 128, META_NUMBER = 144, META_END = 152 };

static uint64_t number_at(const uint8_t *page)
{
    uint64_t number;
    memcpy(&number, page + META_NUMBER, sizeof(number));
    return number;
}

// Both of LMDB's meta pages lead to the same pairs, so none that is flipped leads to earlier ones: the
// store lists what was last written, or says that it is damaged. One bit of every byte, and every bit
// from the root of the pairs on.
static void a_flipped_meta_page_leads_to_no_earlier_pairs(void **state)
{
    struct fixture *fixture = *state;
    char expected[sizeof(listing)];
    size_t size = 0, refused = 0;
    uint8_t *bytes = filled_file(fixture, expected, &size);
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(number_at(bytes + page_size) - number_at(bytes), 1);
    for (size_t i = 0; i < META_END * 2 * 8; i++) {
        const size_t page = i % 2 * page_size, byte = i / 2 / 8, bit = i / 2 % 8;
        if (byte < META_ROOT && bit != (byte * 5 + i % 2) % 8)
            continue;
        if (is_refused_with(fixture, bytes, size, page + byte, (uint8_t)(1 << bit), expected)) {
            assert_non_null(strstr(fixture->error.text, "damaged"));
            refused++;
        }
    }
    assert_true(refused > 100);
    free(bytes);
}

// Sizes that a damaged file asks for are told as damage (above); a lack of memory as one.
static void a_lack_of_memory_sends_nobody_to_the_disk(void **state)
{
    struct fixture *fixture = *state;
    assert_false(lh_store_file_explain("/d", ENOMEM, &fixture->error));
    assert_string_equal(fixture->error.text, "data directory /d: out of memory: free some, or "
                                             "raise the limit of this process");
}

static void truncated_files_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    size_t size = 0;
    fill(fixture);
    data_path(fixture, path, sizeof(path));
    uint8_t *bytes = read_file(path, &size);
    for (size_t left = 0; left < size; left += 2048) {
        write_file(path, bytes, left);
        assert_not_opened(fixture, "is damaged: move the directory away");
    }
    memset(bytes, 0, size);
    write_file(path, bytes, size);
    assert_not_opened(fixture, "is damaged");
    free(bytes);
}

static void a_half_made_file_is_made_anew(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    mkdir(fixture->directory, 0700);
    snprintf(path, sizeof(path), "%s/data.mdb.new", fixture->directory);
    write_file(path, (const uint8_t *)"half", 4);
    open_and_start(fixture);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(write_pair(fixture, 1, "a", "1"));
    await_persisted(fixture, 1);
}

// --- full and read-only file systems ---

// Mounts a small file system over the root; false, with the case skipped, where that is not
// allowed.
// Takes all the room there is; returns the file that holds it.
static void fill_up(const struct fixture *fixture, char *ret_path, size_t capacity)
{
    static const uint8_t page[4096];
    snprintf(ret_path, capacity, "%s/ballast", fixture->root);
    const int file = open(ret_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(file, page, sizeof(page)) > 0)
        ;
    close(file);
}

static void a_full_disk_is_survived(void **state)
{
    struct fixture *fixture = *state;
    char ballast[128], key[8], value[400];
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    mount_small(fixture, "size=256k");
    open_and_start(fixture);
    assert_true(write_pair(fixture, 1, "a", "1"));
    await_persisted(fixture, 1);
    fill_up(fixture, ballast, sizeof(ballast));
    for (uint64_t n = 2; n <= 200; n++) { // more than the free pages of the file can take
        snprintf(key, sizeof(key), "k%03d", (int)n);
        assert_true(write_pair(fixture, n, key, value));
    }
    await_troubles(fixture, 1);
    assert_non_null(strstr(fixture->trouble, "no space left: free some"));
    assert_true(fixture->persisted < 200);
    assert_int_equal(unlink(ballast), 0);
    await_persisted(fixture, 200);
    assert_string_equal(fixture->trouble, "");
    reopen(fixture); // all of it is there, and counted
    assert_memory_equal(list(fixture), "a=1;k002=v", 10);

    // A full disk does not keep a daemon from starting with what it has.
    fill_up(fixture, ballast, sizeof(ballast));
    reopen(fixture);
    assert_memory_equal(list(fixture), "a=1;k002=v", 10);
    assert_true(close_store(fixture));
    assert_int_equal(umount(fixture->root), 0);
}

static void a_new_store_on_a_full_disk_is_refused_and_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    char ballast[128], path[128];
    mount_small(fixture, "size=64k");
    assert_int_equal(mkdir(fixture->directory, 0700), 0);
    fill_up(fixture, ballast, sizeof(ballast));
    assert_not_opened(fixture, "no space left");
    data_path(fixture, path, sizeof(path));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(unlink(ballast), 0);
    open_store(fixture);
    assert_true(close_store(fixture));
    assert_int_equal(umount(fixture->root), 0);
}

static void a_read_only_disk_is_refused(void **state)
{
    struct fixture *fixture = *state;
    mount_small(fixture, "size=256k");
    fill(fixture);
    assert_int_equal(mount("none", fixture->root, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_not_opened(fixture, "its file system is read-only");
    assert_int_equal(mount("none", fixture->root, "tmpfs", MS_REMOUNT, NULL), 0);
    open_store(fixture);
    assert_true(close_store(fixture));
    assert_int_equal(umount(fixture->root), 0);
}

static int unmount_and_tear_down(void **state)
{
    const struct fixture *fixture = *state;
    umount2(fixture->root, MNT_DETACH); // only if the case failed half-way
    return tear_down(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define MOUNTED(name) cmocka_unit_test_setup_teardown(name, set_up, unmount_and_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_new_directory_is_private_and_empty),
        CASE(what_is_persisted_comes_back),
        CASE(later_pairs_win_and_erased_ones_are_gone),
        CASE(the_largest_pair_comes_back_byte_exact),
        CASE(a_number_without_pairs_follows_those_before_it),
        CASE(a_stalled_disk_delays_nobody_and_batches),
        CASE(a_failing_disk_is_told_once_and_nothing_is_lost),
        CASE(closing_gives_up_on_a_failing_disk),
        CASE(closing_gives_up_on_a_stalled_disk),
        CASE(a_full_queue_refuses_and_stays_whole),
        CASE(a_second_store_is_refused_by_pid),
        CASE(the_lock_of_a_killed_process_is_gone),
        CASE(a_missing_parent_or_a_file_is_refused),
        MOUNTED(a_look_at_what_is_being_written_finds_nothing_damaged),
        CASE(flipped_bits_are_noticed_or_harmless),
        CASE(a_flipped_meta_page_leads_to_no_earlier_pairs),
        CASE(a_lack_of_memory_sends_nobody_to_the_disk),
        CASE(truncated_files_are_refused),
        CASE(a_half_made_file_is_made_anew),
        MOUNTED(a_full_disk_is_survived),
        MOUNTED(a_new_store_on_a_full_disk_is_refused_and_leaves_nothing),
        MOUNTED(a_read_only_disk_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
