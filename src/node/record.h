// record = FILE: the protocol as this node saw it, for validation against the model. A line is
// host/recorder.h's.
#ifndef LH_NODE_RECORD_H
#define LH_NODE_RECORD_H

#include <stdio.h>

#include "host/recorder.h"
#include "os/error.h"

struct lh_record {
    FILE *file; // NULL: off
    struct lh_recorder recorder;
    bool failed; // it was said once that a line could not be written
};

// False, with the reason in `error`, if there is something at `path` and it is no recording that
// lines can be added to.
bool lh_record_look(const char *path, struct lh_error *error);

bool lh_record_open(struct lh_record *record, const char *path, uint8_t node,
                    struct lh_error *error);
void lh_record_event(struct lh_record *record, struct lh_instant now, const struct lh_event *event);
void lh_record_message(struct lh_record *record, struct lh_instant now,
                       const struct lh_trace *trace);

// Hands what was recorded to the kernel. To be called before anything leaves this node: then nobody
// hears what a killed daemon's recording does not tell.
void lh_record_flush(struct lh_record *record);
void lh_record_close(struct lh_record *record);

#endif
