// Parsing, loading and making keyring files: see keyring.h.
#include "os/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/text.h"
#include "os/file.h"

// Room for comments around eight keys; a larger file is not a keyring.
enum { FILE_MAX_BYTES = 16384 };

// While a file is read: where we are, and what was seen.
struct parse {
    struct lh_keyring keyring;
    const char *path;
    unsigned line;
    unsigned cluster_id_line; // 0: not seen
    unsigned hash_key_line;
    unsigned key_line[LH_KEYRING_KEYS_MAX];
    struct lh_error *error;
};

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static struct lh_slice trim(struct lh_slice text)
{
    while (text.size_bytes > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size_bytes--;
    }
    while (text.size_bytes > 0 && is_blank(text.data[text.size_bytes - 1]))
        text.size_bytes--;
    return text;
}

// Splits `text` at the first `separator`, which belongs to neither part. False, with all of it in
// `ret_before`, if there is none.
static bool split(struct lh_slice text, char separator, struct lh_slice *ret_before,
                  struct lh_slice *ret_after)
{
    const uint8_t *at = text.size_bytes == 0 ? NULL : memchr(text.data, separator, text.size_bytes);
    if (at == NULL) {
        *ret_before = text;
        *ret_after = (struct lh_slice){NULL, 0};
        return false;
    }
    const size_t before = (size_t)(at - text.data);
    *ret_before = lh_slice_of(text.data, before);
    *ret_after = lh_slice_of(at + 1, text.size_bytes - before - 1);
    return true;
}

static bool parse_hex(struct parse *parse, const char *name, struct lh_slice value,
                      uint8_t *ret_bytes, size_t size)
{
    if (!lh_hex_decode(value, ret_bytes, size))
        return lh_error_set(parse->error,
                            "%s:%u: %s: want %zu hexadecimal digits, got %zu bytes (not shown): "
                            "copy it anew from another node",
                            parse->path, parse->line, name, size * 2, value.size_bytes);
    return true;
}

static bool refuse_second(struct parse *parse, const char *name, unsigned first_line)
{
    return lh_error_set(parse->error, "%s:%u: %s: given before, on line %u; a cluster has one",
                        parse->path, parse->line, name, first_line);
}

static bool parse_key(struct parse *parse, struct lh_slice value)
{
    struct lh_keyring *keyring = &parse->keyring;
    const size_t index = keyring->key_count;
    if (index == LH_KEYRING_KEYS_MAX)
        return lh_error_set(parse->error, "%s:%u: key: more than %d keys; remove retired ones",
                            parse->path, parse->line, LH_KEYRING_KEYS_MAX);
    if (!parse_hex(parse, "key", value, keyring->keys[index], LH_KEY_BYTES))
        return false;
    for (size_t i = 0; i < index; i++) {
        if (sodium_memcmp(keyring->keys[i], keyring->keys[index], LH_KEY_BYTES) == 0)
            return lh_error_set(parse->error, "%s:%u: key: the same key as on line %u; remove one",
                                parse->path, parse->line, parse->key_line[i]);
    }
    parse->key_line[index] = parse->line;
    keyring->key_count++;
    return true;
}

static bool parse_line(struct parse *parse, struct lh_slice line)
{
    struct lh_keyring *keyring = &parse->keyring;
    struct lh_slice name;
    struct lh_slice value;
    line = trim(line);
    if (line.size_bytes == 0 || line.data[0] == '#' || line.data[0] == ';')
        return true;
    // The line itself is not shown: it may be a key that lost its name.
    if (!split(line, '=', &name, &value))
        return lh_error_set(parse->error,
                            "%s:%u: not of the form `name = value`, as `leasehold keygen` makes "
                            "them: copy the keyring anew from another node",
                            parse->path, parse->line);
    name = trim(name);
    value = trim(value);
    if (lh_slice_equal(name, LH_SLICE("key")))
        return parse_key(parse, value);
    if (lh_slice_equal(name, LH_SLICE("cluster-id"))) {
        if (parse->cluster_id_line != 0)
            return refuse_second(parse, "cluster-id", parse->cluster_id_line);
        parse->cluster_id_line = parse->line;
        return parse_hex(parse, "cluster-id", value, keyring->cluster_id, LH_CLUSTER_ID_BYTES);
    }
    if (lh_slice_equal(name, LH_SLICE("hash-key"))) {
        if (parse->hash_key_line != 0)
            return refuse_second(parse, "hash-key", parse->hash_key_line);
        parse->hash_key_line = parse->line;
        return parse_hex(parse, "hash-key", value, keyring->hash_key, LH_KEY_BYTES);
    }
    return lh_error_set(parse->error,
                        "%s:%u: unknown name; a keyring holds cluster-id, hash-key and key",
                        parse->path, parse->line);
}

static bool check_complete(struct parse *parse)
{
    const char *missing = NULL;
    if (parse->cluster_id_line == 0)
        missing = "cluster-id";
    else if (parse->hash_key_line == 0)
        missing = "hash-key";
    else if (parse->keyring.key_count == 0)
        missing = "key";
    if (missing != NULL)
        return lh_error_set(parse->error,
                            "%s: %s is missing; `leasehold keygen` makes a whole keyring",
                            parse->path, missing);
    return true;
}

bool lh_keyring_parse(struct lh_slice text, const char *path, struct lh_keyring *ret_keyring,
                      struct lh_error *error)
{
    struct parse parse = {.path = path, .error = error};
    struct lh_slice line;
    bool good = true;
    while (good && text.size_bytes > 0) {
        split(text, '\n', &line, &text);
        parse.line++;
        good = parse_line(&parse, line);
    }
    good = good && check_complete(&parse);
    if (good)
        *ret_keyring = parse.keyring;
    lh_keyring_wipe(&parse.keyring);
    return good;
}

// Reads all of `file`, up to the limit and one byte more. False on an I/O error.
static bool read_all(int file, uint8_t *ret_bytes, size_t capacity, size_t *ret_size)
{
    size_t size = 0;
    while (size < capacity) {
        const ssize_t part = read(file, ret_bytes + size, capacity - size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return false;
        if (part == 0)
            break;
        size += (size_t)part;
    }
    *ret_size = size;
    return true;
}

bool lh_keyring_load(const char *path, struct lh_keyring *ret_keyring, struct lh_error *ret_warning,
                     struct lh_error *error)
{
    uint8_t bytes[FILE_MAX_BYTES + 1];
    size_t size = 0;
    struct stat status;
    const char *reason = NULL;
    const int file = lh_file_open(path, O_RDONLY, &reason);
    if (file < 0)
        return lh_error_set(error, "%s: %s: %s", path, reason,
                            errno == EACCES ? "chown it to the user of this daemon"
                                            : "make one with `leasehold keygen`, or set keyring");
    bool good = fstat(file, &status) == 0 && read_all(file, bytes, sizeof(bytes), &size);
    if (!good)
        lh_error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    close(file);
    if (good && size > FILE_MAX_BYTES)
        good = lh_error_set(error, "%s: longer than %d bytes: not a keyring", path, FILE_MAX_BYTES);
    good = good && lh_keyring_parse(lh_slice_of(bytes, size), path, ret_keyring, error);
    sodium_memzero(bytes, sizeof(bytes));
    if (!good)
        return false;
    ret_warning->text[0] = '\0';
    if ((status.st_mode & 077) != 0)
        lh_error_set(ret_warning,
                     "%s: mode %04o lets others than its owner at the keys: chmod 0600 it", path,
                     (unsigned)status.st_mode & 07777);
    return true;
}

bool lh_keyring_reload(const char *path, struct lh_keyring *keyring, struct lh_error *ret_warning,
                       struct lh_error *error)
{
    struct lh_keyring loaded;
    struct lh_error warning;
    if (!lh_keyring_load(path, &loaded, &warning, error))
        return false;
    const char *changed = NULL;
    if (memcmp(loaded.cluster_id, keyring->cluster_id, LH_CLUSTER_ID_BYTES) != 0)
        changed = "cluster-id";
    else if (sodium_memcmp(loaded.hash_key, keyring->hash_key, LH_KEY_BYTES) != 0)
        changed = "hash-key";
    if (changed == NULL) {
        *keyring = loaded;
        *ret_warning = warning;
    } else {
        lh_error_set(error,
                     "%s: %s is another one than this daemon runs with; it never changes in the "
                     "life of a cluster, so the old keyring stays in use",
                     path, changed);
    }
    lh_keyring_wipe(&loaded);
    return changed == NULL;
}

bool lh_keyring_generate(struct lh_keyring *ret_keyring, struct lh_error *error)
{
    if (sodium_init() < 0)
        return lh_error_set(error, "libsodium finds no source of randomness");
    struct lh_keyring keyring = {.key_count = 1};
    randombytes_buf(keyring.cluster_id, sizeof(keyring.cluster_id));
    randombytes_buf(keyring.hash_key, sizeof(keyring.hash_key));
    randombytes_buf(keyring.keys[0], sizeof(keyring.keys[0]));
    *ret_keyring = keyring;
    lh_keyring_wipe(&keyring);
    return true;
}

static size_t format_line(char *out, const char *name, const uint8_t *bytes, size_t size)
{
    const size_t name_size = strlen(name);
    memcpy(out, name, name_size);
    sodium_bin2hex(out + name_size, size * 2 + 1, bytes, size);
    memcpy(out + name_size + size * 2, "\n", 2);
    return name_size + size * 2 + 1;
}

size_t lh_keyring_format(const struct lh_keyring *keyring, char out[LH_KEYRING_TEXT_MAX])
{
    _Static_assert(LH_KEYRING_TEXT_MAX >
                       64 + LH_KEY_BYTES * 2 + LH_KEYRING_KEYS_MAX * (LH_KEY_BYTES * 2 + 8),
                   "the longest keyring fits");
    size_t size = format_line(out, "cluster-id = ", keyring->cluster_id, LH_CLUSTER_ID_BYTES);
    size += format_line(out + size, "hash-key = ", keyring->hash_key, LH_KEY_BYTES);
    for (size_t i = 0; i < keyring->key_count; i++)
        size += format_line(out + size, "key = ", keyring->keys[i], LH_KEY_BYTES);
    return size;
}

static bool write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(file, bytes, size);
        if (written < 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

// Makes the name of a new file durable.
static bool sync_directory(const char *path)
{
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof(copy)) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(copy, path);
    const int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return false;
    const bool good = fsync(directory) == 0;
    close(directory);
    return good;
}

bool lh_keyring_create(const char *path, const struct lh_keyring *keyring, struct lh_error *error)
{
    char text[LH_KEYRING_TEXT_MAX];
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return lh_error_set(error, "%s is a directory: name a file in it", path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST)
        return lh_error_set(error,
                            "%s: there is a file already, and it is not overwritten: a "
                            "cluster whose keys are lost is lost; move it away first, or name "
                            "another",
                            path);
    if (file < 0)
        return lh_error_set(error, "%s: %s%s", path, strerror(errno),
                            errno == ENOENT ? ": make its directory first" : "");
    const size_t size = lh_keyring_format(keyring, text);
    const bool good = write_all(file, text, size) && fsync(file) == 0 && sync_directory(path);
    if (!good) {
        lh_error_set(error, "%s: cannot be written: %s", path, strerror(errno));
        unlink(path);
    }
    sodium_memzero(text, sizeof(text));
    close(file);
    return good;
}

void lh_keyring_wipe(struct lh_keyring *keyring)
{
    sodium_memzero(keyring, sizeof(*keyring));
}
