// The demo's evidence: a file to which whoever holds the lease appends `token boottime_ns` every 10
// ms, each beat one write to a file opened for appending, so that the file's order is the order of
// the writes. The check knows nothing of how leases work. It reads the whole file and holds it
// against two rules:
//   - by the stamps: no two tokens' intervals, first beat to last, overlap;
//   - by the file's order: tokens only rise.
// One kind of line is excused, because no lease can prevent it: a process that was stopped and
// continued may write once more before it is killed. It carries its old token, so a resource that
// compares tokens (a fence) refuses it; the check is such a resource and counts what it refused.
// Only the token that the caller names as stopped is excused, and only after a higher token was
// written.
#ifndef LH_CLI_BEATS_H
#define LH_CLI_BEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/error.h"

struct lh_beat {
    int64_t token;
    int64_t boottime_ns;
};

// One holder's time, from its first beat to its last.
struct lh_beat_span {
    int64_t token;
    int64_t first_ns;
    int64_t last_ns;
    size_t beats;
    size_t refused; // written after a higher token and excused
};

#define LH_BEAT_SPANS_MOST 4096

struct lh_beats_verdict {
    size_t beats;
    size_t refused;
    size_t span_count;
    struct lh_beat_span spans[LH_BEAT_SPANS_MOST]; // in the order of their first beats in the file
};

// Checks `count` beats in the order of the file. `stopped` lists tokens whose holders were stopped
// and continued. Returns false with what broke in `error`.
bool lh_beats_check(const struct lh_beat *beats, size_t count, const int64_t *stopped,
                    size_t stopped_count, struct lh_beats_verdict *ret_verdict,
                    struct lh_error *error);

// Reads one line, `token boottime_ns` without its newline.
bool lh_beat_parse(const char *line, size_t size, struct lh_beat *ret_beat);

// Reads a whole file into *ret_beats, which the caller frees. A line that is not a beat is an error
// that names it; an unfinished last line is one too, since a beat is a single write.
bool lh_beats_read(const char *path, struct lh_beat **ret_beats, size_t *ret_count,
                   struct lh_error *error);

#endif
