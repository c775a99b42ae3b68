// One line of a recording (`record = FILE`, `leasehold sim --record`): what this node sent, received
// or did, as one JSON object. The order of lines is the order of steps at this node; messages are
// matched across nodes by their fields. docs/wire.md says what the fields mean.
#ifndef LH_HOST_RECORDER_H
#define LH_HOST_RECORDER_H

#include "host/driver.h"

#define LH_RECORDER_LINE_MAX 4096

// Zeroed but for `node` whenever the node starts: the numbers of lines tell its lives apart.
struct lh_recorder {
    uint8_t node;
    uint64_t sequence;
};

// Appends the line with its newline. A line that does not fit, which no event of a host is, fails the
// writer.
void lh_recorder_event(struct lh_recorder *recorder, struct lh_instant now,
                       const struct lh_event *event, struct lh_writer *writer);
void lh_recorder_message(struct lh_recorder *recorder, struct lh_instant now,
                         const struct lh_trace *trace, struct lh_writer *writer);

#endif
