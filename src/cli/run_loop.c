// See run_loop.h.
#include "cli/run_loop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/run_state.h"
#include "os/clock.h"

#define LOOK_MS 5 // between looks at what a killed guardian left: nothing tells when it ends
#define STRAYS_PATIENCE_MS 10000 // after the lease has ended

static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
#define FORWARDED_COUNT (sizeof forwarded / sizeof forwarded[0])

// A command that became another user's (sudo, a set-user-ID program) can be signalled by root only.
static void tell_beyond_reach(struct lh_run *run)
{
    if (run->child.denied == 0 || run->beyond_reach)
        return;
    run->beyond_reach = true;
    lh_run_say(
        run,
        "cannot end its command (process %ld), which became another user's: it may outlive the "
        "lease (write `sudo leasehold run ...`, not `leasehold run ... sudo`)",
        (long)run->child.denied);
}

// When the guardian should have killed everything and did not: a quarter of the margin is left to do
// it ourselves.
static struct lh_instant guardian_overdue(const struct lh_run *run)
{
    struct lh_duration margin = lh_left(run->schedule.kill, run->lease->deadline);
    return lh_after(run->schedule.kill, (struct lh_duration){margin.ns / 4 * 3});
}

static void apply_hold(struct lh_run *run, struct lh_instant now)
{
    if (!lh_holding_valid(run->lease))
        lh_run_hold_ended(run, "it was not renewed in time");
    else if (!lh_before(now, run->hold_until))
        lh_run_begin_release(run);
    else if (!run->calling && !lh_before(now, run->schedule.renew))
        lh_run_begin_renewal(run);
}

// What the clock brings, before anything that arrived is looked at.
static void apply_schedule(struct lh_run *run)
{
    struct lh_instant now = lh_clock_now();
    if (run->phase == LH_RUN_HOLDING)
        apply_hold(run, now);
    if (run->phase == LH_RUN_PAUSING && !lh_before(now, run->pause_until)) {
        run->phase = LH_RUN_ACQUIRING;
        lh_run_begin_acquire(run);
    }
    if (run->phase != LH_RUN_RUNNING && run->phase != LH_RUN_ENDING &&
        run->phase != LH_RUN_SWEEPING)
        return;
    if (run->phase == LH_RUN_RUNNING && !lh_before(now, run->schedule.terminate))
        lh_run_end_unrenewed(run);
    if (!lh_before(now, guardian_overdue(run)))
        lh_child_replace_guardian(&run->child);
    if (run->phase == LH_RUN_RUNNING && !run->calling && !lh_before(now, run->schedule.renew) &&
        lh_run_pulse_beats(&run->pulse, now))
        lh_run_begin_renewal(run);
}

// Neither signal ended it in time. It is waited for all the same: to end before it would tell the
// caller that nothing runs any more.
static void command_runs_on(struct lh_run *run)
{
    if (run->phase != LH_RUN_ENDING || run->outlived || lh_holding_valid(run->lease))
        return;
    run->outlived = true;
    lh_run_say(
        run, "has ended, and its command (process %ld) still runs: another may hold the lease now",
        (long)run->child.pid);
}

// Without a guardian the command is not left alone: it was killed, and the lease goes when all of it
// has ended.
static void guardian_was_killed(struct lh_run *run)
{
    run->failed = true;
    lh_run_say(run, "has no guardian any more: it was killed, and so was the command");
}

// It and everything that it started: what is left would act without a lease once it is released, so
// the guardian ends it, and nothing is renewed meanwhile.
static void sweep(struct lh_run *run)
{
    if (run->calling)
        lh_channel_abandon(run->client);
    run->calling = false;
    run->phase = LH_RUN_SWEEPING;
    run->schedule = lh_run_schedule_lost(lh_clock_now(), run->schedule, run->kill_after);
}

static struct lh_instant strays_given_up(const struct lh_run *run)
{
    return lh_after(run->lease->deadline, lh_ms(STRAYS_PATIENCE_MS));
}

// What the command left behind and SIGKILL does not end, in a disk that hangs or of another user, is
// waited for only so long: there is an exit code to be told. A guardian stays with it.
static void strays_run_on(struct lh_run *run)
{
    if (!lh_holding_valid(run->lease) && !run->outlived) {
        run->outlived = true;
        lh_run_say(run, "has ended, and some of what the command (process %ld) started has not",
                   (long)run->child.pid);
    }
    if (lh_before(lh_clock_now(), strays_given_up(run)))
        return;
    lh_child_close(&run->child);
    lh_run_finish(run, lh_run_code_of_command(run));
}

static void command_not_started(struct lh_run *run)
{
    lh_run_say(run, "was granted, but the command was not started: %s",
               run->child.failure == ETIME ? "the lease was used up by then"
                                           : strerror(run->child.failure));
    lh_child_close(&run->child);
    run->exit_code = LH_EXIT_INTERNAL;
    lh_run_begin_release(run);
}

static void look_at_child(struct lh_run *run)
{
    const bool is_under_way = run->phase == LH_RUN_RUNNING || run->phase == LH_RUN_ENDING ||
                              run->phase == LH_RUN_SWEEPING;
    if (is_under_way || run->child.guardian != 0) // which may end after the lease was dealt with
        lh_child_look(&run->child);
    if (run->phase == LH_RUN_LEAVING && run->child.guardian == 0)
        lh_run_conclude(run);
    if (!is_under_way)
        return;
    tell_beyond_reach(run);
    if (run->child.failure != 0) {
        command_not_started(run);
        return;
    }
    if (run->child.guardian_lost && !run->child.replaced && !run->failed)
        guardian_was_killed(run);
    if (run->child.lost && run->phase == LH_RUN_RUNNING)
        lh_run_end_unrenewed(run);
    if (run->child.gone) {
        lh_run_command_ended(run);
    } else if (!run->child.ended) {
        command_runs_on(run);
    } else if (run->phase != LH_RUN_SWEEPING) {
        sweep(run);
    } else {
        strays_run_on(run);
    }
}

// Asked to end before the command was started. The closed connection takes us out of the line.
static void give_up(struct lh_run *run, int exit_code)
{
    run->exit_code = exit_code;
    if (run->lease->token > 0) {
        lh_run_begin_release(run);
        return;
    }
    lh_channel_abandon(run->client);
    lh_run_finish(run, exit_code);
}

static void take_signal(struct lh_run *run, int signal)
{
    bool end = signal != SIGUSR1 && signal != SIGUSR2;
    run->asked_to_end = run->asked_to_end || end;
    switch (run->phase) {
    case LH_RUN_RUNNING:
    case LH_RUN_ENDING:
    case LH_RUN_SWEEPING: lh_child_signal(&run->child, signal); break;
    case LH_RUN_LEAVING:
        if (end && run->child.guardian > 0)
            kill(run->child.guardian, signal);
        break;
    case LH_RUN_ACQUIRING:
    case LH_RUN_PAUSING:
        if (end)
            give_up(run, LH_EXIT_SIGNAL + signal);
        break;
    case LH_RUN_HOLDING:
        if (end)
            lh_run_begin_release(run);
        break;
    case LH_RUN_RELEASING:
        if (end)
            lh_run_finish(run, run->exit_code);
        break;
    case LH_RUN_FINISHED: break;
    }
}

static void take_signals(struct lh_run *run)
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
static struct lh_duration look_again(const struct lh_run *run)
{
    return lh_ms(lh_holding_valid(run->lease) ? LOOK_MS : 20 * LOOK_MS);
}

static struct lh_instant next_wake(const struct lh_run *run)
{
    struct lh_instant wake = LH_NEVER;
    if (run->calling)
        wake = lh_errand_wake_at(&run->call);
    if (run->phase == LH_RUN_RUNNING) {
        wake = lh_earlier(wake, run->schedule.terminate);
        if (!run->calling && lh_run_pulse_beats(&run->pulse, lh_clock_now()))
            wake = lh_earlier(wake, run->schedule.renew);
    }
    if (run->phase == LH_RUN_HOLDING) {
        wake = lh_earlier(wake, lh_earlier(run->hold_until, run->lease->deadline));
        if (!run->calling)
            wake = lh_earlier(wake, run->schedule.renew);
    }
    if (run->phase == LH_RUN_PAUSING)
        wake = run->pause_until;
    if (run->phase != LH_RUN_RUNNING && run->phase != LH_RUN_ENDING &&
        run->phase != LH_RUN_SWEEPING)
        return wake;
    if (run->child.guardian_lost)
        return lh_earlier(wake, lh_after(lh_clock_now(), look_again(run)));
    if (!run->child.replaced)
        wake = lh_earlier(wake, guardian_overdue(run));
    if (!run->outlived)
        wake = lh_earlier(wake, run->lease->deadline);
    else if (run->phase == LH_RUN_SWEEPING)
        wake = lh_earlier(wake, strays_given_up(run));
    return wake;
}

static void wait_for_event(struct lh_run *run)
{
    struct lh_instant wake = next_wake(run);
    bool look = run->phase == LH_RUN_RUNNING && run->pulse.read_fd >= 0;
    if (look && lh_before(lh_clock_now(), run->pulse.look_at)) {
        wake = lh_earlier(wake, run->pulse.look_at);
        look = false;
    }
    int64_t wake_ns = wake.ns > 0 ? wake.ns : 1; // 0 would disarm
    struct itimerspec when = {.it_value = {0}};
    if (lh_before(wake, LH_NEVER)) {
        when.it_value.tv_sec = wake_ns / LH_NS_PER_S;
        when.it_value.tv_nsec = wake_ns % LH_NS_PER_S;
    }
    timerfd_settime(run->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    bool holds = run->phase == LH_RUN_RUNNING || run->phase == LH_RUN_HOLDING;
    struct pollfd wanted[6] = {
        {.fd = run->signal_fd, .events = POLLIN},
        {.fd = run->timer_fd, .events = POLLIN},
        {.fd = run->calling ? lh_errand_fd(&run->call) : -1,
         .events = run->calling ? lh_errand_events(&run->call) : (short)0},
        {.fd = run->child.channel, .events = POLLIN},
        {.fd = look ? run->pulse.read_fd : -1, .events = POLLIN},
        {.fd = holds ? lh_channel_idle_fd(run->client) : -1, .events = POLLIN},
    };
    poll(wanted, 6, -1);
    if (wanted[4].revents != 0)
        lh_run_pulse_look(&run->pulse, lh_clock_now());
    if (wanted[5].revents != 0)
        lh_run_hung_up(run);
}

static bool open_descriptors(struct lh_run *run)
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
    struct lh_run run = {.plan = plan,
                         .client = client,
                         .lease = lease,
                         .phase = LH_RUN_ACQUIRING,
                         .child = {.channel = -1, .cgroup = {.join = -1, .kill = -1}}};
    bool has_pulse = lh_run_pulse_open(&run.pulse, plan->pulse);
    if (!open_descriptors(&run) || !has_pulse) {
        lh_run_say(&run, "was not asked for: no descriptor for signals, timers or pulses: %s",
                   strerror(errno));
        lh_run_finish(&run, LH_EXIT_INTERNAL);
    } else {
        lh_run_begin_acquire(&run);
    }
    while (run.phase != LH_RUN_FINISHED) {
        apply_schedule(&run);
        look_at_child(&run);
        if (run.calling)
            lh_run_advance_call(&run);
        if (run.phase == LH_RUN_FINISHED)
            break;
        wait_for_event(&run);
        apply_schedule(&run);
        take_signals(&run);
    }
    if (run.signal_fd >= 0)
        close(run.signal_fd);
    if (run.timer_fd >= 0)
        close(run.timer_fd);
    lh_run_pulse_close(&run.pulse);
    lh_inherited_restore(&run.inherited);
    return run.exit_code;
}
