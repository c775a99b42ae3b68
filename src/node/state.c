// The file behind a clean restart: see state.h.
#include "node/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"

#define PATH_BYTES (LH_CONFIG_PATH_BYTES + 64)

static void directory_of(const struct lh_node_config *config, char out[LH_CONFIG_PATH_BYTES])
{
    const char *directory = config->state_dir;
    int length = (int)strlen(directory);
    if (length == 0) { // beside the socket
        const char *end = strrchr(config->socket, '/');
        directory = end == NULL ? "." : config->socket;
        length = end == NULL || end == config->socket ? 1 : (int)(end - config->socket);
    }
    snprintf(out, LH_CONFIG_PATH_BYTES, "%.*s", length, directory);
}

static void path_of(const struct lh_node_config *config, const char *suffix, char out[PATH_BYTES])
{
    char directory[LH_CONFIG_PATH_BYTES];
    directory_of(config, directory);
    snprintf(out, PATH_BYTES, "%s/leasehold-%u.state%s", directory, config->node, suffix);
}

static bool bind_clock(struct lh_clock_binding *ret_binding, struct lh_error *error)
{
    return lh_kernel_boot_id(ret_binding->kernel_boot_id, error) &&
           lh_boottime_offset(&ret_binding->boottime_offset_ns, error);
}

static bool read_whole(int file, uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = read(file, bytes + done, size - done);
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

static bool write_whole(int file, const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = write(file, bytes + done, size - done);
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

// Reads and removes the file. Returns its bytes, which the caller frees, or NULL.
static uint8_t *take_file(const char *path, size_t *ret_size, struct lh_error *error)
{
    struct stat status;
    uint8_t *bytes = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); // a FIFO would wait
    if (file < 0) {
        if (errno != ENOENT)
            lh_error_set(error, "%s cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    if (unlink(path) != 0 || fstat(file, &status) != 0) {
        lh_error_set(error, "%s cannot be taken over: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        lh_error_set(error, "%s is no regular file, and was removed", path);
    } else if (status.st_uid != geteuid()) {
        lh_error_set(error, "%s belongs to user %u, not to this daemon's %u, and was removed", path,
                     (unsigned)status.st_uid, (unsigned)geteuid());
    } else {
        *ret_size = (size_t)status.st_size;
        bytes = malloc(*ret_size + 1);
        if (bytes == NULL || !read_whole(file, bytes, *ret_size)) {
            lh_error_set(error, "%s cannot be read: %s", path, strerror(errno));
            free(bytes);
            bytes = NULL;
        }
    }
    close(file);
    return bytes;
}

bool lh_state_restore(const struct lh_node_config *config, struct lh_host *host,
                      struct lh_error *error)
{
    char path[PATH_BYTES];
    size_t size = 0;
    struct lh_clock_binding binding;
    path_of(config, "", path);
    uint8_t *bytes = take_file(path, &size, error);
    if (bytes == NULL)
        return false;
    struct lh_error unbound;
    const char *reason = unbound.text;
    if (bind_clock(&binding, &unbound))
        reason = lh_host_restore(host, lh_clock_now(), &binding, lh_slice_of(bytes, size));
    free(bytes);
    return reason == NULL || lh_error_set(error, "%s is not used: %s", path, reason);
}

bool lh_state_check(const struct lh_node_config *config, struct lh_error *error)
{
    char directory[LH_CONFIG_PATH_BYTES];
    char inside[PATH_BYTES];
    directory_of(config, directory);
    snprintf(inside, sizeof(inside), "%s/.", directory); // a file has none
    return access(inside, W_OK | X_OK) == 0 ||
           lh_error_set(error,
                        "nothing can be saved in %s: %s; name a state-dir that exists and is "
                        "writable, or no lease outlives a stop",
                        directory, strerror(errno));
}

static bool save_file(const struct lh_node_config *config, const uint8_t *bytes, size_t size,
                      struct lh_error *error)
{
    char path[PATH_BYTES];
    char unfinished[PATH_BYTES];
    path_of(config, "", path);
    path_of(config, ".new", unfinished);
    unlink(unfinished); // of a save that was cut short, or anything else: it must be a new file
    int file = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return lh_error_set(error, "%s cannot be made: %s; state-dir must exist and be writable",
                            unfinished, strerror(errno));
    bool written = write_whole(file, bytes, size);
    if (close(file) != 0 || !written || rename(unfinished, path) != 0) {
        unlink(unfinished);
        return lh_error_set(error, "%s cannot be written: %s", path, strerror(errno));
    }
    return true;
}

bool lh_state_save(const struct lh_node_config *config, struct lh_host *host,
                   struct lh_error *error)
{
    struct lh_clock_binding binding;
    size_t capacity = lh_host_save_size(host);
    uint8_t *bytes = malloc(capacity);
    if (bytes == NULL)
        return lh_error_set(error, "no memory for %zu bytes of state", capacity);
    size_t size = bind_clock(&binding, error)
                      ? lh_host_save(host, lh_clock_now(), &binding, bytes, capacity)
                      : 0;
    bool saved = size > 0 && save_file(config, bytes, size, error);
    free(bytes);
    return saved;
}
