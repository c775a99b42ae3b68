// See run_loop.h.
#include "cli/run_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/output.h"
#include "cli/run_child.h"
#include "cli/run_schedule.h"
#include "cli/session.h"
#include "os/clock.h"
#include "os/warn.h"

// How long a release may take, unless the lease ends before, until it is left to end by itself.
#define RELEASE_PATIENCE_NS (1 * LH_NS_PER_S)
#define LOOK_MS 5
#define PAUSE_MS 1000            // --keep: before a quorum is asked for again
#define STRAYS_PATIENCE_MS 10000 // after the lease has ended

static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
#define FORWARDED_COUNT (sizeof forwarded / sizeof forwarded[0])

enum phase {
    ACQUIRING, // no command yet
    RUNNING,   // the command runs, the lease is renewed
    ENDING,    // the lease is lost or nearly over: the command is being ended
    SWEEPING,  // the command ended, others that it started have not
    HOLDING,   // everything ended; the lease is renewed until --min-hold is over
    RELEASING, // everything ended
    LEAVING,   // the hook of --on-lost still runs
    PAUSING,   // --keep: no quorum, to be asked again soon
    FINISHED,
};

struct run {
    const struct lh_run_plan *plan;
    struct lh_channel *client;
    struct lh_holding *lease;
    struct lh_errand call;
    bool calling;
    struct lh_child child;
    struct lh_duration kill_after;
    struct lh_run_schedule schedule;
    enum phase phase;
    bool lost;                     // the command is being ended because of the lease
    bool gone;                     // the daemon said that the lease is not ours any more
    bool failed;                   // the guardian was killed, and the command with it
    bool beyond_reach;             // it was said that something cannot be signalled
    bool outlived;                 // it was said that the command outlives the lease
    bool hooked;                   // --on-lost was run by ourselves
    bool told;                     // --keep: it was said that there is no quorum
    bool asked_to_end;             // by a signal
    struct lh_instant hold_until;  // --min-hold
    struct lh_instant pause_until; // PAUSING
    int exit_code;
    int signal_fd;
    int timer_fd;
    struct lh_inherited inherited;
};

static void say(const struct run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Never waits: whatever must be done in time is done first, and said if somebody listens.
static void say(const struct run *run, const char *format, ...)
{
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lh_warn("leasehold run: '%s' %s\n", run->lease->name, text);
}

static void finish(struct run *run, int exit_code)
{
    run->exit_code = exit_code;
    run->phase = FINISHED;
}

// A command that became another user's (sudo, a set-user-ID program) can be signalled by root only.
static void tell_beyond_reach(struct run *run)
{
    if (run->child.denied == 0 || run->beyond_reach)
        return;
    run->beyond_reach = true;
    say(run,
        "cannot end its command (process %ld), which became another user's: it may outlive the "
        "lease (write `sudo leasehold run ...`, not `leasehold run ... sudo`)",
        (long)run->child.denied);
}

// When the guardian should have killed everything and did not: a quarter of the margin is left to do
// it ourselves.
static struct lh_instant guardian_overdue(const struct run *run)
{
    struct lh_duration margin = lh_left(run->schedule.kill, run->lease->deadline);
    return lh_after(run->schedule.kill, (struct lh_duration){margin.ns / 4 * 3});
}

static void schedule_from_lease(struct run *run)
{
    uint32_t spread = 0;
    if (getrandom(&spread, sizeof spread, GRND_NONBLOCK) < 0)
        spread = (uint32_t)getpid();
    run->schedule = lh_run_schedule(lh_clock_now(), run->lease->deadline, run->lease->ttl,
                                    run->kill_after, spread);
}

// The lease cannot be renewed, though its deadline stands: end the command now, not at the
// deadline.
static void end_command(struct run *run, const char *why)
{
    char left[LH_DURATION_TEXT_BYTES];
    struct lh_instant now = lh_clock_now();
    lh_duration_text(lh_left(now, run->lease->deadline), left);
    if (run->calling)
        lh_channel_abandon(run->client);
    run->calling = false;
    run->phase = ENDING;
    run->lost = true;
    run->schedule = lh_run_schedule_lost(now, run->schedule, run->kill_after);
    lh_child_end(&run->child, run->schedule);
    say(run, "is lost: %s; ending the command (%s of the lease left)", why, left);
}

// Out of time. A lease is renewed by the node that granted it, and by no other: if that is gone, so
// is the lease, however many nodes are left.
static void end_unrenewed(struct run *run)
{
    char why[600] = "it was not renewed in time";
    const struct lh_trouble *trouble = &run->call.trouble;
    if (trouble->error.text[0] != '\0')
        snprintf(why, sizeof why, "node %" PRId64 ", which owns the lease, %s: %s",
                 run->lease->node,
                 trouble->reach == LH_REACH_NOBODY ? "is gone" : "did not renew it in time",
                 trouble->error.text);
    end_command(run, why);
}

static void begin_release(struct run *run)
{
    struct lh_duration patience = lh_left(lh_clock_now(), run->lease->deadline);
    if (patience.ns > RELEASE_PATIENCE_NS)
        patience.ns = RELEASE_PATIENCE_NS;
    if (run->calling)
        lh_channel_abandon(run->client);
    run->phase = RELEASING;
    run->calling = true;
    lh_errand_release(&run->call, run->client, run->lease, patience);
}

static struct lh_run_codes codes(const struct run *run)
{
    static const struct lh_run_codes usual = {LH_EXIT_NOT_ACQUIRED, LH_EXIT_LOST};
    return run->plan->codes != NULL ? *run->plan->codes : usual;
}

// Once the command was ended because of the lease, its own code says nothing, however it ended.
static int code_of_command(const struct run *run)
{
    if (run->lost)
        return codes(run).lost;
    return run->failed ? LH_EXIT_INTERNAL : run->child.exit_code;
}

static void begin_acquire(struct run *run)
{
    run->calling = true;
    run->hold_until = LH_PAST;
    lh_errand_acquire(&run->call, run->client, run->lease, run->plan->ttl, run->plan->wait,
                      run->plan->patience);
}

// Under another holder, or a daemon that has not noticed the loss would hand the old lease back.
static void start_over(struct run *run)
{
    say(run, "is waited for again");
    lh_holder_make(run->lease->holder);
    run->lease->token = 0;
    run->lease->ttl = (struct lh_duration){0};
    run->lease->deadline = LH_PAST;
    run->child = (struct lh_child){.channel = -1, .cgroup = {.join = -1, .kill = -1}};
    run->lost = run->gone = run->beyond_reach = run->outlived = run->hooked = false;
    run->phase = ACQUIRING;
    begin_acquire(run);
}

// The command has ended and the lease is let go or over. What remains is the hook, and --keep.
static void conclude(struct run *run)
{
    struct lh_child *child = &run->child;
    bool by_guardian = child->lost && !child->guardian_lost;
    if (run->lost && run->plan->on_lost != NULL && !by_guardian && !run->hooked) {
        run->hooked = true;
        lh_child_start_hook(child, run->plan->on_lost, run->lease, &run->inherited);
    }
    if (run->lost && run->plan->on_lost != NULL && child->guardian != 0)
        run->phase = LEAVING;
    else if (run->lost && run->plan->keep && !run->asked_to_end)
        start_over(run);
    else
        finish(run, run->exit_code);
}

// The command and everything that it started has ended.
static void command_ended(struct run *run)
{
    lh_child_close(&run->child);
    run->exit_code = code_of_command(run);
    if (run->gone || !lh_holding_valid(run->lease)) {
        conclude(run);
    } else if (run->lost || run->failed || run->asked_to_end ||
               !lh_before(lh_clock_now(), run->hold_until)) {
        begin_release(run);
    } else {
        run->phase = HOLDING;
        schedule_from_lease(run);
    }
}

// An answer that comes after the command was told to end is of no use: the patience ends there.
static void begin_renewal(struct run *run)
{
    struct lh_instant now = lh_clock_now();
    struct lh_instant end = run->phase == RUNNING ? run->schedule.terminate : run->lease->deadline;
    run->calling = true;
    lh_errand_renew(&run->call, run->client, run->lease, run->lease->ttl, lh_left(now, end));
    run->call.reached =
        true; // go on to the end even if nothing listens now: a daemon may come back
}

static bool choose_kill_after(struct run *run)
{
    struct lh_duration ttl = run->lease->ttl;
    run->kill_after =
        run->plan->kill_after_given ? run->plan->kill_after : lh_run_kill_after_default(ttl);
    if (run->kill_after.ns <= lh_run_kill_after_most(ttl).ns)
        return true;
    char text[LH_DURATION_TEXT_BYTES];
    lh_duration_text(lh_run_kill_after_most(ttl), text);
    say(run,
        "was granted, but --kill-after leaves no time to renew it: allow at most %s, or ask "
        "for a longer --ttl",
        text);
    run->exit_code = LH_EXIT_USAGE;
    return false;
}

// Granted. A grant that arrived with less than half of its time left is renewed before the command
// is started, so that the command never begins with its end in sight.
static void acquired(struct run *run)
{
    if (!choose_kill_after(run)) {
        begin_release(run);
        return;
    }
    struct lh_duration left = lh_left(lh_clock_now(), run->lease->deadline);
    run->told = false;
    if (run->call.verb == LH_ERRAND_ACQUIRE)
        run->hold_until = lh_after(lh_clock_now(), run->plan->min_hold);
    if (left.ns < run->lease->ttl.ns / 2 && run->call.verb == LH_ERRAND_ACQUIRE) {
        begin_renewal(run);
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
    };
    if (!lh_child_start(&guardian, &run->child, &error)) {
        say(run, "was granted, but %s", error.text);
        run->exit_code = LH_EXIT_INTERNAL;
        begin_release(run);
        return;
    }
    run->phase = RUNNING;
}

// Who keeps on waiting waits for a quorum as well, and says so once.
static void no_quorum(struct run *run)
{
    bool keep = run->plan->keep && run->plan->wait.ns == LH_WAIT_FOREVER.ns;
    if (!run->told) {
        say(run, "was not acquired: %s: %s", lh_session_cause(run->call.trouble.reach),
            run->call.trouble.error.text);
        lh_session_hint("run", run->client, run->call.trouble.reach);
    }
    run->told = keep;
    run->exit_code = LH_EXIT_NO_QUORUM;
    if (keep) {
        run->phase = PAUSING;
        run->pause_until = lh_after(lh_clock_now(), lh_ms(PAUSE_MS));
    } else if (run->lease->token > 0) { // granted late, and not renewed
        begin_release(run);
    } else {
        finish(run, run->exit_code);
    }
}

static void not_acquired(struct run *run, enum lh_errand_result result)
{
    char text[LH_HELD_TEXT_BYTES];
    switch (result) {
    case LH_ERRAND_HELD:
    case LH_ERRAND_LOST:
        lh_held_text(&run->call.answer, text);
        say(run, "was not acquired: %s", text);
        finish(run, codes(run).not_acquired);
        break;
    case LH_ERRAND_REFUSED:
        say(run, "was refused: %s", run->call.trouble.error.text);
        finish(run, LH_EXIT_USAGE);
        break;
    default: no_quorum(run);
    }
}

static void renewed(struct run *run, enum lh_errand_result result)
{
    switch (result) {
    case LH_ERRAND_GRANTED:
        schedule_from_lease(run);
        lh_child_renewed(&run->child, run->schedule);
        break;
    case LH_ERRAND_LOST:
        run->gone = true;
        end_command(run, run->call.answer.reason[0] ? run->call.answer.reason
                                                    : "the daemon does not know it any more");
        break;
    case LH_ERRAND_REFUSED: end_command(run, run->call.trouble.error.text); break;
    default: break; // out of time: the schedule ends the command
    }
}

// The command has its result; what --min-hold asks for cannot be kept.
static void hold_ended(struct run *run, const char *why)
{
    say(run, "could not be held until --min-hold is over: %s", why);
    finish(run, run->exit_code);
}

static void held_on(struct run *run, enum lh_errand_result result)
{
    switch (result) {
    case LH_ERRAND_GRANTED: schedule_from_lease(run); break;
    case LH_ERRAND_LOST:
        hold_ended(run, run->call.answer.reason[0] ? run->call.answer.reason : "it is lost");
        break;
    default: hold_ended(run, run->call.trouble.error.text); break;
    }
}

static void advance_call(struct run *run)
{
    enum lh_errand_result result = lh_errand_advance(&run->call);
    if (result == LH_ERRAND_BUSY)
        return;
    run->calling = false;
    if (run->phase == RELEASING)
        conclude(run);
    else if (run->phase == RUNNING)
        renewed(run, result);
    else if (run->phase == HOLDING)
        held_on(run, result);
    else if (result == LH_ERRAND_GRANTED)
        acquired(run);
    else
        not_acquired(run, result);
}

static void apply_hold(struct run *run, struct lh_instant now)
{
    if (!lh_holding_valid(run->lease))
        hold_ended(run, "it was not renewed in time");
    else if (!lh_before(now, run->hold_until))
        begin_release(run);
    else if (!run->calling && !lh_before(now, run->schedule.renew))
        begin_renewal(run);
}

// What the clock brings, before anything that arrived is looked at.
static void apply_schedule(struct run *run)
{
    struct lh_instant now = lh_clock_now();
    if (run->phase == HOLDING)
        apply_hold(run, now);
    if (run->phase == PAUSING && !lh_before(now, run->pause_until)) {
        run->phase = ACQUIRING;
        begin_acquire(run);
    }
    if (run->phase != RUNNING && run->phase != ENDING && run->phase != SWEEPING)
        return;
    if (run->phase == RUNNING && !lh_before(now, run->schedule.terminate))
        end_unrenewed(run);
    if (!lh_before(now, guardian_overdue(run)))
        lh_child_replace_guardian(&run->child);
    if (run->phase == RUNNING && !run->calling && !lh_before(now, run->schedule.renew))
        begin_renewal(run);
}

// Neither signal ended it in time. It is waited for all the same: to end before it would tell the
// caller that nothing runs any more.
static void command_runs_on(struct run *run)
{
    if (run->phase != ENDING || run->outlived || lh_holding_valid(run->lease))
        return;
    run->outlived = true;
    say(run, "has ended, and its command (process %ld) still runs: another may hold the lease now",
        (long)run->child.pid);
}

// Without a guardian the command is not left alone: it was killed, and the lease goes when all of it
// has ended.
static void guardian_was_killed(struct run *run)
{
    run->failed = true;
    say(run, "has no guardian any more: it was killed, and so was the command");
}

// It and everything that it started: what is left would act without a lease once it is released, so
// the guardian ends it, and nothing is renewed meanwhile.
static void sweep(struct run *run)
{
    if (run->calling)
        lh_channel_abandon(run->client);
    run->calling = false;
    run->phase = SWEEPING;
    run->schedule = lh_run_schedule_lost(lh_clock_now(), run->schedule, run->kill_after);
}

static struct lh_instant strays_given_up(const struct run *run)
{
    return lh_after(run->lease->deadline, lh_ms(STRAYS_PATIENCE_MS));
}

// What the command left behind and SIGKILL does not end, in a disk that hangs or of another user, is
// waited for only so long: there is an exit code to be told. A guardian stays with it.
static void strays_run_on(struct run *run)
{
    if (!lh_holding_valid(run->lease) && !run->outlived) {
        run->outlived = true;
        say(run, "has ended, and some of what the command (process %ld) started has not",
            (long)run->child.pid);
    }
    if (lh_before(lh_clock_now(), strays_given_up(run)))
        return;
    lh_child_close(&run->child);
    finish(run, code_of_command(run));
}

static void command_not_started(struct run *run)
{
    say(run, "was granted, but the command was not started: %s",
        run->child.failure == ETIME ? "the lease was used up by then"
                                    : strerror(run->child.failure));
    lh_child_close(&run->child);
    run->exit_code = LH_EXIT_INTERNAL;
    begin_release(run);
}

static void look_at_child(struct run *run)
{
    if (run->phase == LEAVING) {
        lh_child_look(&run->child);
        if (run->child.guardian == 0)
            conclude(run);
    }
    if (run->phase != RUNNING && run->phase != ENDING && run->phase != SWEEPING)
        return;
    lh_child_look(&run->child);
    tell_beyond_reach(run);
    if (run->child.failure != 0) {
        command_not_started(run);
        return;
    }
    if (run->child.guardian_lost && !run->child.replaced && !run->failed)
        guardian_was_killed(run);
    if (run->child.lost && run->phase == RUNNING)
        end_unrenewed(run);
    if (run->child.gone) {
        command_ended(run);
    } else if (!run->child.ended) {
        command_runs_on(run);
    } else if (run->phase != SWEEPING) {
        sweep(run);
    } else {
        strays_run_on(run);
    }
}

// Asked to end before the command was started. The closed connection takes us out of the line.
static void give_up(struct run *run, int exit_code)
{
    run->exit_code = exit_code;
    if (run->lease->token > 0) {
        begin_release(run);
        return;
    }
    lh_channel_abandon(run->client);
    finish(run, exit_code);
}

static void take_signal(struct run *run, int signal)
{
    bool end = signal != SIGUSR1 && signal != SIGUSR2;
    run->asked_to_end = run->asked_to_end || end;
    switch (run->phase) {
    case RUNNING:
    case ENDING:
    case SWEEPING: lh_child_signal(&run->child, signal); break;
    case LEAVING:
        if (end && run->child.guardian > 0)
            kill(run->child.guardian, signal);
        break;
    case ACQUIRING:
    case PAUSING:
        if (end)
            give_up(run, LH_EXIT_SIGNAL + signal);
        break;
    case HOLDING:
        if (end)
            begin_release(run);
        break;
    case RELEASING:
        if (end)
            finish(run, run->exit_code);
        break;
    case FINISHED: break;
    }
}

static void take_signals(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD)
            continue;
        take_signal(run, signal);
    }
}

// Between looks at what a killed guardian left: nothing tells when it ends. More rarely once it is too
// late.
static struct lh_duration look_again(const struct run *run)
{
    return lh_ms(lh_holding_valid(run->lease) ? LOOK_MS : 20 * LOOK_MS);
}

static struct lh_instant next_wake(const struct run *run)
{
    struct lh_instant wake = LH_NEVER;
    if (run->calling)
        wake = lh_errand_wake_at(&run->call);
    if (run->phase == RUNNING) {
        wake = lh_earlier(wake, run->schedule.terminate);
        if (!run->calling)
            wake = lh_earlier(wake, run->schedule.renew);
    }
    if (run->phase == HOLDING) {
        wake = lh_earlier(wake, lh_earlier(run->hold_until, run->lease->deadline));
        if (!run->calling)
            wake = lh_earlier(wake, run->schedule.renew);
    }
    if (run->phase == PAUSING)
        wake = run->pause_until;
    if (run->phase != RUNNING && run->phase != ENDING && run->phase != SWEEPING)
        return wake;
    if (run->child.guardian_lost)
        return lh_earlier(wake, lh_after(lh_clock_now(), look_again(run)));
    if (!run->child.replaced)
        wake = lh_earlier(wake, guardian_overdue(run));
    if (!run->outlived)
        wake = lh_earlier(wake, run->lease->deadline);
    else if (run->phase == SWEEPING)
        wake = lh_earlier(wake, strays_given_up(run));
    return wake;
}

static void wait_for_event(struct run *run)
{
    struct lh_instant wake = next_wake(run);
    int64_t wake_ns = wake.ns > 0 ? wake.ns : 1; // 0 would disarm
    struct itimerspec when = {.it_value = {0}};
    if (lh_before(wake, LH_NEVER)) {
        when.it_value.tv_sec = wake_ns / LH_NS_PER_S;
        when.it_value.tv_nsec = wake_ns % LH_NS_PER_S;
    }
    timerfd_settime(run->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    struct pollfd wanted[4] = {
        {.fd = run->signal_fd, .events = POLLIN},
        {.fd = run->timer_fd, .events = POLLIN},
        {.fd = run->calling ? lh_errand_fd(&run->call) : -1,
         .events = run->calling ? lh_errand_events(&run->call) : (short)0},
        {.fd = run->child.channel, .events = POLLIN},
    };
    poll(wanted, 4, -1);
}

static bool open_descriptors(struct run *run)
{
    sigset_t watched;
    sigemptyset(&watched);
    for (size_t i = 0; i < FORWARDED_COUNT; i++)
        sigaddset(&watched, forwarded[i]);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTTOU); // taking the terminal back must not stop us
    lh_inherited_replace(&run->inherited, &watched);
    sigdelset(&watched, SIGTTOU);
    run->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    run->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    return run->signal_fd >= 0 && run->timer_fd >= 0;
}

int lh_run_loop(const struct lh_run_plan *plan, struct lh_channel *client, struct lh_holding *lease)
{
    struct run run = {.plan = plan,
                      .client = client,
                      .lease = lease,
                      .phase = ACQUIRING,
                      .child = {.channel = -1, .cgroup = {.join = -1, .kill = -1}}};
    if (!open_descriptors(&run)) {
        say(&run, "was not asked for: no descriptor for signals or timers: %s", strerror(errno));
        finish(&run, LH_EXIT_INTERNAL);
    } else {
        begin_acquire(&run);
    }
    while (run.phase != FINISHED) {
        apply_schedule(&run);
        look_at_child(&run);
        if (run.calling)
            advance_call(&run);
        if (run.phase == FINISHED)
            break;
        wait_for_event(&run);
        apply_schedule(&run);
        take_signals(&run);
    }
    if (run.signal_fd >= 0)
        close(run.signal_fd);
    if (run.timer_fd >= 0)
        close(run.timer_fd);
    lh_inherited_restore(&run.inherited);
    return run.exit_code;
}
