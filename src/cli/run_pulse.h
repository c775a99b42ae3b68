// The heartbeat gate of `leasehold run --pulse D`: whether the command is alive enough to be worth a
// renewal. The command writes to a pipe, LEASEHOLD_PULSE_FD; any byte is a pulse and counts for D.
//
// What must stay true: without --pulse it beats for ever; a command that pulses without end costs a
// look every 10 ms, no more; the pipe outlives commands, so that --keep goes on with the same.
#ifndef LH_CLI_RUN_PULSE_H
#define LH_CLI_RUN_PULSE_H

#include <stdbool.h>

#include "base/time.h"

struct lh_run_pulse {
    struct lh_duration counts_for; // 0: no gate
    struct lh_instant last;        // the last pulse, or the start of the command
    struct lh_instant look_at;     // not before
    int read_fd;                   // -1: no gate
    int write_fd;                  // the command's
};

// False with errno if there is no pipe to be had. Without a gate (0) nothing is opened.
bool lh_run_pulse_open(struct lh_run_pulse *pulse, struct lh_duration counts_for);
void lh_run_pulse_close(struct lh_run_pulse *pulse);

// The command is started: it has D for its first.
void lh_run_pulse_start(struct lh_run_pulse *pulse, struct lh_instant now);

// Takes what has come.
void lh_run_pulse_look(struct lh_run_pulse *pulse, struct lh_instant now);

bool lh_run_pulse_beats(const struct lh_run_pulse *pulse, struct lh_instant now);

#endif
