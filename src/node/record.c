// See record.h.
#include "node/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "node/log.h"
#include "os/file.h"

static const char start[] = "{\"node\":"; // of each line

static bool begins_line(const char *bytes, size_t size)
{
    return memcmp(bytes, start, size < strlen(start) ? size : strlen(start)) == 0;
}

// Empty, or begun by a daemon. Whatever else a mistake names, the keyring say, is not added to.
static bool is_recording(int file)
{
    char bytes[sizeof start];
    const ssize_t size = pread(file, bytes, sizeof bytes, 0);
    return size >= 0 && begins_line(bytes, (size_t)size);
}

// Cuts off the line that a killed daemon had begun: what it was to tell never left the node.
static void cut_off_unfinished(int file)
{
    char bytes[LH_RECORDER_LINE_MAX];
    const off_t end = lseek(file, 0, SEEK_END);
    const off_t from = end > (off_t)sizeof bytes ? end - (off_t)sizeof bytes : 0;
    const ssize_t size = pread(file, bytes, sizeof bytes, from);
    if (size <= 0)
        return;
    const char *newline = memrchr(bytes, '\n', (size_t)size);
    const char *line = newline == NULL ? bytes : newline + 1;
    const size_t left = (size_t)(bytes + size - line);
    if (left > 0 && begins_line(line, left) && ftruncate(file, from + (line - bytes)) != 0)
        lh_log(LH_LOG_WARN, "record-unfinished", "reason=%s", strerror(errno));
}

// Returns the descriptor, or -1 with errno and with what to do in `error`.
static int open_recording(const char *path, int flags, struct lh_error *error)
{
    const char *reason = NULL;
    const int file = lh_file_open(path, flags, &reason);
    const int code = file < 0 ? errno : EINVAL;
    if (file >= 0 && is_recording(file))
        return file;
    if (file < 0) {
        lh_error_set(error, "cannot open record = %s: %s; name another file", path, reason);
    } else {
        lh_error_set(error, "record = %s is no recording: name another file", path);
        close(file);
    }
    errno = code;
    return -1;
}

bool lh_record_look(const char *path, struct lh_error *error)
{
    if (path[0] == '\0')
        return true;
    const int file = open_recording(path, O_RDWR | O_APPEND, error);
    if (file < 0)
        return errno == ENOENT;
    close(file);
    return true;
}

bool lh_record_open(struct lh_record *record, const char *path, uint8_t node,
                    struct lh_error *error)
{
    *record = (struct lh_record){.recorder = {.node = node}};
    if (path[0] == '\0')
        return true;
    const int file = open_recording(path, O_RDWR | O_CREAT | O_APPEND, error);
    if (file < 0)
        return false;
    cut_off_unfinished(file);
    record->file = fdopen(file, "a");
    if (record->file != NULL)
        return true;
    close(file);
    return lh_error_set(error, "no memory for record = %s", path);
}

static void put(const struct lh_record *record, const struct lh_writer *writer)
{
    fwrite(writer->start, 1, lh_writer_size_bytes(writer), record->file);
}

void lh_record_event(struct lh_record *record, struct lh_instant now, const struct lh_event *event)
{
    uint8_t line[LH_RECORDER_LINE_MAX];
    struct lh_writer writer = lh_writer_of(line, sizeof line);
    if (record->file == NULL)
        return;
    lh_recorder_event(&record->recorder, now, event, &writer);
    put(record, &writer);
}

void lh_record_message(struct lh_record *record, struct lh_instant now,
                       const struct lh_trace *trace)
{
    uint8_t line[LH_RECORDER_LINE_MAX];
    struct lh_writer writer = lh_writer_of(line, sizeof line);
    if (record->file == NULL)
        return;
    lh_recorder_message(&record->recorder, now, trace, &writer);
    put(record, &writer);
}

void lh_record_flush(struct lh_record *record)
{
    if (record->file == NULL)
        return;
    if ((fflush(record->file) != 0 || ferror(record->file) != 0) && !record->failed) {
        record->failed = true;
        lh_log(LH_LOG_ERROR, "record-failed", "reason=%s", strerror(errno));
    }
}

void lh_record_close(struct lh_record *record)
{
    if (record->file != NULL)
        fclose(record->file);
    record->file = NULL;
}
