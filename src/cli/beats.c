// See beats.h.
#include "cli/beats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool contains(const int64_t *tokens, size_t count, int64_t token)
{
    for (size_t i = 0; i < count; i++)
        if (tokens[i] == token)
            return true;
    return false;
}

// The span of `token`, a new one if it has none yet, NULL if there is no room.
static struct lh_beat_span *span_of(struct lh_beats_verdict *verdict, const struct lh_beat *beat)
{
    for (size_t i = verdict->span_count; i > 0; i--)
        if (verdict->spans[i - 1].token == beat->token)
            return &verdict->spans[i - 1];
    if (verdict->span_count == LH_BEAT_SPANS_MOST)
        return NULL;
    struct lh_beat_span *span = &verdict->spans[verdict->span_count++];
    *span = (struct lh_beat_span){
        .token = beat->token, .first_ns = beat->boottime_ns, .last_ns = beat->boottime_ns};
    return span;
}

static void widen(struct lh_beat_span *span, int64_t boottime_ns)
{
    if (boottime_ns < span->first_ns)
        span->first_ns = boottime_ns;
    if (boottime_ns > span->last_ns)
        span->last_ns = boottime_ns;
    span->beats++;
}

// Tokens in the order of the file, with refused lines set aside.
static bool collect(const struct lh_beat *beats, size_t count, const int64_t *stopped,
                    size_t stopped_count, struct lh_beats_verdict *verdict, struct lh_error *error)
{
    int64_t highest = 0;
    for (size_t i = 0; i < count; i++) {
        struct lh_beat_span *span = span_of(verdict, &beats[i]);
        if (span == NULL)
            return lh_error_set(error, "more than %d holders", LH_BEAT_SPANS_MOST);
        if (beats[i].token >= highest) {
            highest = beats[i].token;
            widen(span, beats[i].boottime_ns);
        } else if (contains(stopped, stopped_count, beats[i].token)) {
            span->refused++;
            verdict->refused++;
        } else {
            return lh_error_set(error,
                                "tokens fell: line %zu has token %" PRId64 " after token %" PRId64
                                " was written",
                                i + 1, beats[i].token, highest);
        }
    }
    verdict->beats = count;
    return true;
}

bool lh_beats_check(const struct lh_beat *beats, size_t count, const int64_t *stopped,
                    size_t stopped_count, struct lh_beats_verdict *ret_verdict,
                    struct lh_error *error)
{
    memset(ret_verdict, 0, sizeof *ret_verdict);
    if (!collect(beats, count, stopped, stopped_count, ret_verdict, error))
        return false;
    // Every pair: the latest end so far against each next beginning, in the order of the tokens,
    // which is the order of the spans.
    for (size_t i = 1; i < ret_verdict->span_count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct lh_beat_span *a = &ret_verdict->spans[j];
            const struct lh_beat_span *b = &ret_verdict->spans[i];
            if (a->beats == 0 || b->beats == 0)
                continue;
            if (a->last_ns >= b->first_ns)
                return lh_error_set(error,
                                    "two holders at once: token %" PRId64 " beat until %" PRId64
                                    " ns, token %" PRId64 " from %" PRId64 " ns (%.3f ms overlap)",
                                    a->token, a->last_ns, b->token, b->first_ns,
                                    (double)(a->last_ns - b->first_ns) / 1e6);
        }
    }
    return true;
}

// Decimal digits to a positive int64; moves *at past them.
static bool number(const char **at, const char *end, int64_t *ret_number)
{
    int64_t value = 0;
    const char *start = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        int digit = **at - '0';
        if (value > (INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_number = value;
    return *at > start && value > 0;
}

bool lh_beat_parse(const char *line, size_t size, struct lh_beat *ret_beat)
{
    const char *at = line;
    const char *end = line + size;
    struct lh_beat beat;
    if (!number(&at, end, &beat.token) || at == end || *at++ != ' ' ||
        !number(&at, end, &beat.boottime_ns) || at != end)
        return false;
    *ret_beat = beat;
    return true;
}

bool lh_beats_read(const char *path, struct lh_beat **ret_beats, size_t *ret_count,
                   struct lh_error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return lh_error_set(error, "cannot read %s: %s", path, strerror(errno));
    struct lh_beat *beats = NULL;
    size_t count = 0;
    size_t room = 0;
    char *line = NULL;
    size_t line_room = 0;
    bool good = true;
    for (ssize_t size; good && (size = getline(&line, &line_room, file)) > 0;) {
        if (count == room) {
            room = room == 0 ? 4096 : room * 2;
            struct lh_beat *more = realloc(beats, room * sizeof *beats);
            if (more == NULL) {
                good = lh_error_set(error, "out of memory after %zu beats", count);
                break;
            }
            beats = more;
        }
        if (line[size - 1] != '\n' || !lh_beat_parse(line, (size_t)size - 1, &beats[count]))
            good = lh_error_set(error, "%s, line %zu is not a beat: '%.*s'", path, count + 1,
                                (int)size, line);
        count++;
    }
    free(line);
    fclose(file);
    if (!good) {
        free(beats);
        return false;
    }
    *ret_beats = beats;
    *ret_count = count;
    return true;
}
