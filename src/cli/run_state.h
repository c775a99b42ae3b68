// What the two halves of `leasehold run` share: run_lease.c asks for the lease and takes what became of
// it, run_loop.c waits, and applies the clock, signals and what became of the command.
//
// What must stay true: `phase` changes in one direction, except that --keep begins again after a
// loss; whoever abandons a call says so in `calling`.
#ifndef LH_CLI_RUN_STATE_H
#define LH_CLI_RUN_STATE_H

#include "cli/run_child.h"
#include "cli/run_loop.h"
#include "cli/run_pulse.h"
#include "cli/run_schedule.h"
#include "cli/session.h"

enum lh_run_phase {
    LH_RUN_ACQUIRING, // no command yet
    LH_RUN_RUNNING,   // the command runs, the lease is renewed
    LH_RUN_ENDING,    // the lease is lost or nearly over: the command is being ended
    LH_RUN_SWEEPING,  // the command ended, others that it started have not
    LH_RUN_HOLDING,   // everything ended; the lease is renewed until --min-hold is over
    LH_RUN_RELEASING, // everything ended
    LH_RUN_LEAVING,   // the hook of --on-lost still runs
    LH_RUN_PAUSING,   // --keep: no quorum, to be asked again soon
    LH_RUN_FINISHED,
};

struct lh_run {
    const struct lh_run_plan *plan;
    struct lh_channel *client;
    struct lh_holding *lease;
    struct lh_errand call;
    bool calling;
    struct lh_child child;
    struct lh_run_pulse pulse;
    struct lh_duration kill_after;
    struct lh_run_schedule schedule;
    enum lh_run_phase phase;
    bool lost;                     // the command is being ended because of the lease
    bool gone;                     // the daemon said that the lease is not ours any more
    bool failed;                   // the guardian was killed, and the command with it
    bool beyond_reach;             // it was said that something cannot be signalled
    bool outlived;                 // it was said that the command outlives the lease
    bool hooked;                   // --on-lost was run by ourselves
    bool told;                     // --keep: it was said that there is no quorum
    struct lh_waited waited;       // what was said of the waiting
    bool told_danger;              // it was said that the lease cannot be renewed at present
    bool asked_to_end;             // by a signal
    struct lh_instant hold_until;  // --min-hold
    struct lh_instant pause_until; // LH_RUN_PAUSING
    int exit_code;
    int signal_fd;
    int timer_fd;
    struct lh_inherited inherited;
};

// Says something about the lease on standard error. Never waits: whatever must be done in time is
// done first, and said if somebody listens.
void lh_run_say(const struct lh_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void lh_run_finish(struct lh_run *run, int exit_code);

// Calls to the daemon; lh_run_advance_call takes their results as far as they have come.
void lh_run_begin_acquire(struct lh_run *run);
void lh_run_begin_renewal(struct lh_run *run);
void lh_run_begin_release(struct lh_run *run);
void lh_run_advance_call(struct lh_run *run);

// The daemon hung up between two calls: whether it still renews is to be known at once.
void lh_run_hung_up(struct lh_run *run);

// Out of time: the command is ended.
void lh_run_end_unrenewed(struct lh_run *run);

// The command and everything that it started has ended.
void lh_run_command_ended(struct lh_run *run);

// The command has its result, but what --min-hold asks for cannot be kept.
void lh_run_hold_ended(struct lh_run *run, const char *why);

// The lease is let go or over. What remains is the hook, and --keep.
void lh_run_conclude(struct lh_run *run);

// The command's own, unless it was ended because of the lease or with its guardian.
int lh_run_code_of_command(const struct lh_run *run);

#endif
