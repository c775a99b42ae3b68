// The lease of `leasehold run`: acquired, renewed and released, and what each answer means for the
// command (run_state.h). Nothing here waits.
//
// What must stay true: the command is started only on a lease with at least half of its time left;
// each new deadline, and each loss, goes to the guardian at once; after a loss the next acquisition
// is under a new holder.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/run_state.h"
#include "cli/session.h"
#include "os/clock.h"
#include "os/warn.h"

// How long a release may take, unless the lease ends before, until it is left to end by itself.
#define RELEASE_PATIENCE_NS (1 * LH_NS_PER_S)
#define PAUSE_MS 1000 // --keep: before a quorum is asked for again

void lh_run_say(const struct lh_run *run, const char *format, ...)
{
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lh_make_printable(text);
    lh_warn("leasehold run: '%s' %s\n", run->lease->name, text);
}

void lh_run_finish(struct lh_run *run, int exit_code)
{
    run->exit_code = exit_code;
    run->phase = LH_RUN_FINISHED;
}

static void schedule_from_lease(struct lh_run *run)
{
    uint32_t spread = 0;
    if (getrandom(&spread, sizeof spread, GRND_NONBLOCK) < 0)
        spread = (uint32_t)getpid();
    run->schedule = lh_run_schedule(lh_clock_now(), run->lease->deadline, run->lease->ttl,
                                    run->kill_after, spread);
}

// The lease cannot be renewed, though its deadline stands: end the command now, not at the
// deadline.
static void end_command(struct lh_run *run, const char *why)
{
    char left[LH_DURATION_TEXT_BYTES];
    struct lh_instant now = lh_clock_now();
    lh_duration_text(lh_left(now, run->lease->deadline), left);
    if (run->calling)
        lh_channel_abandon(run->client);
    run->calling = false;
    run->phase = LH_RUN_ENDING;
    run->lost = true;
    run->schedule = lh_run_schedule_lost(now, run->schedule, run->kill_after);
    lh_child_end(&run->child, run->schedule);
    lh_run_say(run, "is lost: %s; ending the command (%s of the lease left)", why, left);
}

// Out of time. A lease is renewed by the node that granted it, and by no other: if that is gone, so
// is the lease, however many nodes are left.
void lh_run_end_unrenewed(struct lh_run *run)
{
    char why[600] = "it was not renewed in time";
    char silent_text[LH_DURATION_TEXT_BYTES];
    char allowed_text[LH_DURATION_TEXT_BYTES];
    const struct lh_trouble *trouble = &run->call.trouble;
    bool gone = run->call.owner_gone || trouble->reach == LH_REACH_NOBODY;
    struct lh_duration silent = lh_left(run->pulse.last, lh_clock_now());
    if (!run->calling && !lh_run_pulse_beats(&run->pulse, lh_clock_now()))
        snprintf(why, sizeof why, "its command gave no pulse for %s (--pulse %s)",
                 lh_duration_text(silent, silent_text),
                 lh_duration_text(run->plan->pulse, allowed_text));
    else if (trouble->error.text[0] != '\0')
        snprintf(why, sizeof why, "node %" PRId64 ", which owns the lease, %s: %s",
                 run->lease->node, gone ? "is gone" : "did not renew it in time",
                 trouble->error.text);
    end_command(run, why);
}

void lh_run_begin_release(struct lh_run *run)
{
    struct lh_duration patience = lh_left(lh_clock_now(), run->lease->deadline);
    if (patience.ns > RELEASE_PATIENCE_NS)
        patience.ns = RELEASE_PATIENCE_NS;
    if (run->calling)
        lh_channel_abandon(run->client);
    run->phase = LH_RUN_RELEASING;
    run->calling = true;
    lh_errand_release(&run->call, run->client, run->lease, patience);
}

static struct lh_run_codes codes(const struct lh_run *run)
{
    static const struct lh_run_codes usual = {LH_EXIT_NOT_ACQUIRED, LH_EXIT_LOST};
    return run->plan->codes != NULL ? *run->plan->codes : usual;
}

// Once the command was ended because of the lease, its own code says nothing, however it ended.
int lh_run_code_of_command(const struct lh_run *run)
{
    if (run->lost)
        return codes(run).lost;
    return run->failed ? LH_EXIT_INTERNAL : run->child.exit_code;
}

void lh_run_begin_acquire(struct lh_run *run)
{
    run->calling = true;
    run->waited = (struct lh_waited){.told_holder = false};
    run->hold_until = LH_PAST;
    lh_errand_acquire(&run->call, run->client, run->lease, run->plan->ttl, run->plan->wait,
                      run->plan->patience);
}

// Under another holder, or a daemon that has not noticed the loss would hand the old lease back.
static void start_over(struct lh_run *run)
{
    lh_run_say(run, "is asked for again");
    lh_holder_make(run->lease->holder);
    run->lease->token = 0;
    run->lease->ttl = (struct lh_duration){0};
    run->lease->deadline = LH_PAST;
    run->child = (struct lh_child){.channel = -1, .cgroup = {.join = -1, .kill = -1}};
    run->lost = run->gone = run->beyond_reach = run->outlived = run->hooked = false;
    run->phase = LH_RUN_ACQUIRING;
    lh_run_begin_acquire(run);
}

void lh_run_conclude(struct lh_run *run)
{
    struct lh_child *child = &run->child;
    bool by_guardian = child->lost && !child->guardian_lost && !child->replaced;
    if (run->lost && run->plan->on_lost != NULL && !by_guardian && !run->hooked) {
        run->hooked = true;
        lh_child_start_hook(child, run->plan->on_lost, run->lease, &run->inherited);
    }
    if (run->lost && run->plan->on_lost != NULL && child->guardian != 0)
        run->phase = LH_RUN_LEAVING;
    else if (run->lost && run->plan->keep && !run->asked_to_end)
        start_over(run);
    else
        lh_run_finish(run, run->exit_code);
}

void lh_run_command_ended(struct lh_run *run)
{
    lh_child_close(&run->child);
    run->exit_code = lh_run_code_of_command(run);
    if (run->gone || !lh_holding_valid(run->lease)) {
        lh_run_conclude(run);
    } else if (run->lost || run->failed || run->asked_to_end ||
               !lh_before(lh_clock_now(), run->hold_until)) {
        lh_run_begin_release(run);
    } else {
        run->phase = LH_RUN_HOLDING;
        schedule_from_lease(run);
    }
}

// An answer that comes after the command was told to end is of no use: the patience ends there.
void lh_run_begin_renewal(struct lh_run *run)
{
    struct lh_instant now = lh_clock_now();
    struct lh_instant end =
        run->phase == LH_RUN_RUNNING ? run->schedule.terminate : run->lease->deadline;
    run->calling = true;
    lh_errand_renew(&run->call, run->client, run->lease, run->lease->ttl, lh_left(now, end));
    // Go on to the end even if nothing listens now: a daemon may come back.
    run->call.reached = true;
}

void lh_run_hung_up(struct lh_run *run)
{
    lh_channel_abandon(run->client);
    run->schedule.renew = lh_earlier(run->schedule.renew, lh_clock_now());
}

// Said once, until it is renewed after all.
static void tell_danger(struct lh_run *run)
{
    const struct lh_errand *call = &run->call;
    bool renews = run->phase == LH_RUN_RUNNING || run->phase == LH_RUN_HOLDING;
    if (!renews || run->told_danger || (!call->owner_gone && call->move != LH_ERRAND_PAUSE))
        return;
    char left[LH_DURATION_TEXT_BYTES];
    run->told_danger = true;
    lh_duration_text(lh_left(lh_clock_now(), run->lease->deadline), left);
    lh_run_say(run,
               "cannot be renewed at present: node %" PRId64 ", which owns the lease, %s: %s; "
               "trying on (%s of the lease left)",
               run->lease->node, call->owner_gone ? "is gone" : "does not renew it",
               call->trouble.error.text, left);
}

static bool choose_kill_after(struct lh_run *run)
{
    struct lh_duration ttl = run->lease->ttl;
    run->kill_after =
        run->plan->kill_after_given ? run->plan->kill_after : lh_run_kill_after_default(ttl);
    if (run->kill_after.ns <= lh_run_kill_after_most(ttl).ns)
        return true;
    char text[LH_DURATION_TEXT_BYTES];
    lh_duration_text(lh_run_kill_after_most(ttl), text);
    lh_run_say(run,
               "was granted, but --kill-after leaves no time to renew it: allow at most %s, or ask "
               "for a longer --ttl",
               text);
    run->exit_code = LH_EXIT_USAGE;
    return false;
}

// Granted. A grant that arrived with less than half of its time left is renewed before the command
// is started, so that the command never begins with its end in sight.
static void acquired(struct lh_run *run)
{
    if (!choose_kill_after(run)) {
        lh_run_begin_release(run);
        return;
    }
    struct lh_duration left = lh_left(lh_clock_now(), run->lease->deadline);
    run->told = run->told_danger = false;
    if (run->call.verb == LH_ERRAND_ACQUIRE)
        run->hold_until = lh_after(lh_clock_now(), run->plan->min_hold);
    if (left.ns < run->lease->ttl.ns / 2 && run->call.verb == LH_ERRAND_ACQUIRE) {
        lh_run_begin_renewal(run);
        return;
    }
    struct lh_error error;
    schedule_from_lease(run);
    struct lh_guardian_plan guardian = {
        .command = run->plan->command,
        .lease = run->lease,
        .inherited = &run->inherited,
        .schedule = run->schedule,
        .kill_after = run->kill_after,
        .on_lost = run->plan->on_lost,
        .pulse_fd = run->pulse.write_fd,
    };
    lh_run_pulse_start(&run->pulse, lh_clock_now());
    if (!lh_child_start(&guardian, &run->child, &error)) {
        lh_run_say(run, "was granted, but %s", error.text);
        run->exit_code = LH_EXIT_INTERNAL;
        lh_run_begin_release(run);
        return;
    }
    run->phase = LH_RUN_RUNNING;
}

// Who keeps on waiting waits for a quorum as well, and says so once.
static void no_quorum(struct lh_run *run)
{
    bool keep = run->plan->keep && run->plan->wait.ns == LH_WAIT_FOREVER.ns;
    if (!run->told) {
        lh_run_say(run, "was not acquired: %s: %s%s", lh_session_cause(run->call.trouble.reach),
                   run->call.trouble.error.text, keep ? "; trying on" : "");
        lh_session_hint("run", lh_channel_from_environment(run->client), run->call.trouble.reach);
    }
    run->told = keep;
    run->exit_code = LH_EXIT_NO_QUORUM;
    if (keep) {
        run->phase = LH_RUN_PAUSING;
        run->pause_until = lh_after(lh_clock_now(), lh_ms(PAUSE_MS));
    } else if (run->lease->token > 0) { // granted late, and not renewed
        lh_run_begin_release(run);
    } else {
        lh_run_finish(run, run->exit_code);
    }
}

static void not_acquired(struct lh_run *run, enum lh_errand_result result)
{
    char text[LH_HELD_TEXT_BYTES];
    switch (result) {
    case LH_ERRAND_HELD:
    case LH_ERRAND_LOST:
        lh_held_text(&run->call.answer, text);
        lh_run_say(run, "was not acquired: %s", text);
        lh_run_finish(run, codes(run).not_acquired);
        break;
    case LH_ERRAND_REFUSED:
        lh_run_say(run, "was refused: %s", run->call.trouble.error.text);
        lh_run_finish(run, LH_EXIT_USAGE);
        break;
    default: no_quorum(run);
    }
}

static void renewed(struct lh_run *run, enum lh_errand_result result)
{
    switch (result) {
    case LH_ERRAND_GRANTED:
        schedule_from_lease(run);
        lh_child_renewed(&run->child, run->schedule);
        if (run->told_danger)
            lh_run_say(run, "is renewed again");
        run->told_danger = false;
        break;
    case LH_ERRAND_LOST:
        run->gone = !run->call.answer.revoked; // which is still ours to release
        end_command(run, run->call.answer.reason[0] ? run->call.answer.reason
                                                    : "the daemon does not know it any more");
        break;
    case LH_ERRAND_REFUSED: end_command(run, run->call.trouble.error.text); break;
    default: break; // out of time: the schedule ends the command
    }
}

void lh_run_hold_ended(struct lh_run *run, const char *why)
{
    lh_run_say(run, "could not be held until --min-hold is over: %s", why);
    lh_run_finish(run, run->exit_code);
}

static void held_on(struct lh_run *run, enum lh_errand_result result)
{
    switch (result) {
    case LH_ERRAND_GRANTED:
        schedule_from_lease(run);
        run->told_danger = false;
        break;
    case LH_ERRAND_LOST:
        lh_run_hold_ended(run, run->call.answer.reason[0] ? run->call.answer.reason : "it is lost");
        if (run->call.answer.revoked)
            lh_run_begin_release(run);
        break;
    default: lh_run_hold_ended(run, run->call.trouble.error.text); break;
    }
}

void lh_run_advance_call(struct lh_run *run)
{
    enum lh_errand_result result = lh_errand_advance(&run->call);
    if (result == LH_ERRAND_BUSY) {
        tell_danger(run);
        if (lh_session_waited(&run->call, &run->waited))
            lh_run_say(run, "%s", run->waited.text);
        return;
    }
    run->calling = false;
    if (run->phase == LH_RUN_RELEASING)
        lh_run_conclude(run);
    else if (run->phase == LH_RUN_RUNNING)
        renewed(run, result);
    else if (run->phase == LH_RUN_HOLDING)
        held_on(run, result);
    else if (result == LH_ERRAND_GRANTED)
        acquired(run);
    else
        not_acquired(run, result);
}
