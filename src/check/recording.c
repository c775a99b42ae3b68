// A reader for exactly the lines that the daemon writes. It knows every field, so that a field that
// was edited into another name is noticed and not skipped.
#include "check/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const whats[LH_RECORDED_WHATS] = {
    [LH_RECORDED_OTHER] = "",
    [LH_RECORDED_SEND] = "send",
    [LH_RECORDED_RECEIVE] = "receive",
    [LH_RECORDED_HOLD] = "hold",
    [LH_RECORDED_ADMITTED] = "admitted",
    [LH_RECORDED_QUARANTINE] = "quarantine",
    [LH_RECORDED_GRANTED] = "granted",
    [LH_RECORDED_RENEWED] = "renewed",
    [LH_RECORDED_LOST] = "lost",
    [LH_RECORDED_RELEASED] = "released",
    [LH_RECORDED_REVOKED] = "revoked",
    [LH_RECORDED_SERVING] = "serving",
    [LH_RECORDED_RESTORED] = "state-restored",
    [LH_RECORDED_CLOCK_BAD] = "clock-bad",
    [LH_RECORDED_CLOCK_GOOD] = "clock-good",
};

static const char *const other_events[] = {"joining",      "peer-up",         "peer-down",
                                           "peer-refused", "refused-by-peer", "halted"};

static const char *const kinds[LH_RECORDED_KINDS] = {
    [LH_RECORDED_NONE] = "",
    [LH_RECORDED_PREPARE] = "prepare",
    [LH_RECORDED_PROMISE] = "promise",
    [LH_RECORDED_ACCEPT] = "accept",
    [LH_RECORDED_ACCEPTED] = "accepted",
    [LH_RECORDED_EXTEND] = "extend",
    [LH_RECORDED_EXTENDED] = "extended",
    [LH_RECORDED_REJECTED] = "rejected",
    [LH_RECORDED_RELEASE] = "release",
    [LH_RECORDED_WAKE] = "wake",
    [LH_RECORDED_WAITS] = "waits",
};

struct cursor {
    const char *at;
    const char *wrong; // NULL: nothing so far
};

static void refuse_line(struct cursor *cursor)
{
    cursor->wrong = "not a line of a recording";
}

static bool take(struct cursor *cursor, char wanted)
{
    if (*cursor->at != wanted) {
        refuse_line(cursor);
        return false;
    }
    cursor->at++;
    return true;
}

// A string without its quotes; escapes are kept as they are. What does not fit is cut off.
static bool take_string(struct cursor *cursor, char *ret_text, size_t size)
{
    size_t used = 0;
    if (!take(cursor, '"'))
        return false;
    for (; *cursor->at != '"'; cursor->at++) {
        if (*cursor->at == '\0') {
            refuse_line(cursor);
            return false;
        }
        if (*cursor->at == '\\' && cursor->at[1] != '\0') {
            if (used + 1 < size)
                ret_text[used++] = *cursor->at;
            cursor->at++;
        }
        if (used + 1 < size)
            ret_text[used++] = *cursor->at;
    }
    ret_text[used] = '\0';
    return take(cursor, '"');
}

static bool take_number(struct cursor *cursor, uint64_t most, uint64_t *ret_value)
{
    char *end = NULL;
    if (*cursor->at < '0' || *cursor->at > '9') {
        cursor->wrong = "a whole number is missing";
        return false;
    }
    errno = 0;
    *ret_value = strtoull(cursor->at, &end, 10);
    if (errno != 0 || *ret_value > most) {
        cursor->wrong = "a number is too great";
        return false;
    }
    cursor->at = end;
    return true;
}

static uint64_t find_word(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
    }
    return 0;
}

static bool is_event(const char *text)
{
    for (size_t i = 0; i < sizeof other_events / sizeof other_events[0]; i++) {
        if (strcmp(text, other_events[i]) == 0)
            return true;
    }
    return false;
}

static bool parse_key(const char *text, uint64_t ret_key[2])
{
    char half[17] = "";
    if (strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return false;
    memcpy(half, text, 16);
    ret_key[0] = strtoull(half, NULL, 16);
    ret_key[1] = strtoull(text + 16, NULL, 16);
    return true;
}

// Not 0, which stands for no text.
static uint64_t hash(const char *text)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        sum = (sum ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return sum | 1;
}

static bool take_text_field(struct cursor *cursor, const char *name, struct lh_recorded *event)
{
    char text[2048];
    if (!take_string(cursor, text, sizeof text))
        return false;
    if (strcmp(name, "event") == 0) {
        event->what = (enum lh_recorded_what)find_word(text, whats, LH_RECORDED_WHATS);
        if (event->what == LH_RECORDED_OTHER && !is_event(text))
            cursor->wrong = "there is no such event";
    } else if (strcmp(name, "kind") == 0 || strcmp(name, "refused") == 0) {
        const uint64_t kind = find_word(text, kinds, LH_RECORDED_KINDS);
        *(name[0] == 'k' ? &event->message.kind : &event->message.refused) = kind;
        if (kind == LH_RECORDED_NONE)
            cursor->wrong = "there is no such message";
    } else if (strcmp(name, "key") == 0) {
        if (!parse_key(text, event->message.key))
            cursor->wrong = "a key has 32 hexadecimal digits";
    } else if (strcmp(name, "text") == 0) {
        event->is_new = strcmp(text, "new") == 0;
        event->is_restored = strcmp(text, "clean restart") == 0;
    } else if (strcmp(name, "name") == 0) {
        event->text = hash(text);
    } else if (strcmp(name, "holder") == 0) {
        event->holder = hash(text);
    } else {
        cursor->wrong = "there is no such field";
    }
    return cursor->wrong == NULL;
}

static bool take_number_field(struct cursor *cursor, const char *name, struct lh_recorded *event)
{
    uint64_t ignored = 0;
    uint64_t node = 0;
    uint64_t at = 0;
    const struct {
        const char *name;
        uint64_t *to;
    } fields[] = {
        {"node", &node},
        {"n", &event->n},
        {"at", &at},
        {"from", &event->message.from},
        {"to", &event->message.to},
        {"ballot", &event->message.ballot},
        {"base", &event->message.base},
        {"promised", &event->message.promised},
        {"reported", &event->message.reported},
        {"stamp", &event->message.stamp},
        {"ttl_ns", &event->message.ttl_ns},
        {"exclusion_ns", &event->message.exclusion_ns},
        {"made_at", &event->made_at},
        {"number", &event->number},
        {"token", &event->token},
        {"until", &event->until},
        {"peer", &ignored},
        {"generation", &event->generation},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(name, fields[i].name) != 0)
            continue;
        const uint64_t most = fields[i].to == &node ? UINT32_MAX
                              : fields[i].to == &at ? INT64_MAX
                                                    : UINT64_MAX;
        if (!take_number(cursor, most, fields[i].to))
            return false;
        if (fields[i].to == &node)
            event->node = (uint32_t)node;
        if (fields[i].to == &at)
            event->at = (int64_t)at;
        return true;
    }
    cursor->wrong = "there is no such field";
    return false;
}

// Each kind has its own fields; what a message cannot carry was not recorded by a daemon.
static bool has_only_its_fields(const struct lh_recorded *event)
{
    const uint64_t kind = event->message.kind;
    const bool request =
        kind == LH_RECORDED_PREPARE || kind == LH_RECORDED_ACCEPT || kind == LH_RECORDED_EXTEND;
    const bool rejected = kind == LH_RECORDED_REJECTED;
    const bool reports = rejected || kind == LH_RECORDED_PROMISE;
    const bool stamped = rejected || kind == LH_RECORDED_EXTEND || kind == LH_RECORDED_EXTENDED;
    return (event->message.ballot != 0) ==
               (kind != LH_RECORDED_WAKE && kind != LH_RECORDED_WAITS) &&
           (event->message.ttl_ns != 0) == request &&
           (event->message.base == 0 || kind == LH_RECORDED_ACCEPT) &&
           (event->message.refused != 0) == rejected &&
           (event->message.promised == 0 || rejected) && (event->message.stamp == 0 || stamped) &&
           (event->message.reported == 0 || reports) &&
           (event->message.exclusion_ns != 0) == (event->message.reported != 0);
}

uint64_t lh_recorded_request(const struct lh_recorded *answer)
{
    switch (answer->message.kind) {
    case LH_RECORDED_PROMISE: return LH_RECORDED_PREPARE;
    case LH_RECORDED_ACCEPTED: return LH_RECORDED_ACCEPT;
    case LH_RECORDED_EXTENDED: return LH_RECORDED_EXTEND;
    case LH_RECORDED_REJECTED: return answer->message.refused;
    default: return LH_RECORDED_NONE;
    }
}

static const char *check_event(const struct lh_recorded *event)
{
    const bool lease = event->what >= LH_RECORDED_GRANTED && event->what <= LH_RECORDED_REVOKED;
    const bool message = event->what >= LH_RECORDED_SEND && event->what <= LH_RECORDED_HOLD;
    const uint64_t peer =
        event->what == LH_RECORDED_RECEIVE ? event->message.from : event->message.to;
    const bool answer = lh_recorded_request(event) != LH_RECORDED_NONE;
    if (event->node == 0 || event->node > 63 || event->n == 0)
        return "node (1 to 63) or n is missing";
    if (event->message.from > 63 || event->message.to > 63)
        return "nodes go up to 63 here";
    if (message && (event->message.kind == LH_RECORDED_NONE || peer == 0 ||
                    (event->message.from != 0 && event->message.to != 0)))
        return "a message needs kind and peer";
    if (message && !has_only_its_fields(event))
        return "a message lacks a field of its kind, or has one of another";
    if (event->made_at != 0 &&
        (event->what != LH_RECORDED_SEND || !answer || event->made_at > (uint64_t)event->at))
        return "what was held is an answer, and older";
    if (event->what == LH_RECORDED_HOLD && !answer)
        return "only an answer is held";
    if (!message && (event->message.kind != LH_RECORDED_NONE || event->message.ballot != 0))
        return "an event that is no message has the fields of one";
    if (lease != (event->token != 0))
        return "a token, and what is granted, renewed, lost or released, belong together";
    if ((lease || message) && event->message.key[0] == 0 && event->message.key[1] == 0)
        return "a key is missing";
    return NULL;
}

static const char *parse_line(const char *line, struct lh_recorded *event)
{
    struct cursor cursor = {.at = line};
    char name[32];
    take(&cursor, '{');
    while (cursor.wrong == NULL) {
        if (!take_string(&cursor, name, sizeof name) || !take(&cursor, ':'))
            break;
        if (*cursor.at == '"' ? !take_text_field(&cursor, name, event)
                              : !take_number_field(&cursor, name, event))
            break;
        if (*cursor.at == '}') {
            cursor.at++;
            break;
        }
        if (!take(&cursor, ','))
            break;
    }
    if (cursor.wrong != NULL)
        return cursor.wrong;
    if (strcmp(cursor.at, "\n") != 0 && *cursor.at != '\0')
        return "something stands behind the object";
    return check_event(event);
}

static bool append(struct lh_recording *recording, const struct lh_recorded *event)
{
    if (recording->count == recording->capacity) {
        const size_t capacity = recording->capacity == 0 ? 1024 : 2 * recording->capacity;
        struct lh_recorded *events =
            realloc(recording->events, capacity * sizeof(struct lh_recorded));
        if (events == NULL)
            return false;
        recording->events = events;
        recording->capacity = capacity;
    }
    recording->events[recording->count++] = *event;
    return true;
}

// `settled`: how many bytes the file had before any was read.
static bool read_file(struct lh_recording *recording, const char *path, uint32_t file,
                      uint64_t settled, char *ret_error, size_t error_size)
{
    char line[8192];
    uint64_t size = 0;
    uint32_t number = 0;
    const char *wrong = NULL;
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        snprintf(ret_error, error_size, "%s: cannot be opened", path);
        return false;
    }
    while (wrong == NULL && fgets(line, sizeof line, stream) != NULL) {
        struct lh_recorded event = {.file = file, .line = ++number};
        if (strchr(line, '\n') == NULL && feof(stream))
            break; // the daemon was killed while it wrote
        size += strlen(line);
        event.is_late = size > settled;
        wrong = parse_line(line, &event);
        if (wrong != NULL)
            break;
        recording->recorders |= UINT64_C(1) << event.node;
        recording->nodes |= UINT64_C(1) << event.node | UINT64_C(1) << event.message.from |
                            UINT64_C(1) << event.message.to;
        if (event.what == LH_RECORDED_SEND || event.what == LH_RECORDED_HOLD)
            event.message.from = event.node;
        if (event.what == LH_RECORDED_RECEIVE)
            event.message.to = event.node;
        if (!append(recording, &event))
            wrong = "no memory left";
    }
    recording->nodes &= ~UINT64_C(1);
    if (wrong == NULL && ferror(stream)) {
        number++;
        wrong = "cannot be read";
    }
    if (wrong != NULL)
        snprintf(ret_error, error_size, "%s:%u: %s", path, number, wrong);
    fclose(stream);
    return wrong == NULL;
}

// A message leaves a node after its line was written, so whatever a file tells to be received before
// any file was read, another one tells to be sent once it is read.
bool lh_recording_read(struct lh_recording *recording, const char *const *paths, uint32_t count,
                       char *ret_error, size_t error_size)
{
    bool good = true;
    struct stat status;
    uint64_t *settled = malloc((count + 1) * sizeof *settled);
    if (settled == NULL) {
        snprintf(ret_error, error_size, "%s: no memory left", paths[0]);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        settled[i] = stat(paths[i], &status) == 0 && S_ISREG(status.st_mode)
                         ? (uint64_t)status.st_size
                         : UINT64_MAX;
    for (uint32_t i = 0; i < count && good; i++)
        good = read_file(recording, paths[i], i, settled[i], ret_error, error_size);
    free(settled);
    return good;
}

static int compare_keys(const void *left, const void *right, void *events)
{
    const uint64_t *a = ((const struct lh_recorded *)events)[*(const uint32_t *)left].message.key;
    const uint64_t *b = ((const struct lh_recorded *)events)[*(const uint32_t *)right].message.key;
    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return a[1] == b[1] ? 0 : a[1] < b[1] ? -1 : 1;
}

bool lh_recording_finish(struct lh_recording *recording)
{
    uint32_t *order = malloc((recording->count + 1) * sizeof *order);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < recording->count; i++)
        order[i] = i;
    qsort_r(order, recording->count, sizeof *order, compare_keys, recording->events);
    recording->names = 1; // 0: events without a name
    for (size_t i = 0; i < recording->count; i++) {
        struct lh_recorded *event = &recording->events[order[i]];
        if (event->message.key[0] == 0 && event->message.key[1] == 0)
            continue;
        if (i > 0 && compare_keys(&order[i - 1], &order[i], recording->events) == 0)
            event->name = recording->events[order[i - 1]].name;
        else
            event->name = recording->names++;
    }
    free(order);
    return true;
}

void lh_recording_close(struct lh_recording *recording)
{
    free(recording->events);
    recording->events = NULL;
}
