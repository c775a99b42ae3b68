// See run_guardian.h.
#include "cli/run_guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/run_family.h"
#include "cli/run_terminal.h"
#include "os/clock.h"
#include "os/warn.h"

// Between SIGKILLs, for what forked meanwhile: first soon, then ever less often.
#define KILL_AGAIN_FIRST_NS (1 * LH_NS_PER_MS)
#define KILL_AGAIN_MOST_NS (200 * LH_NS_PER_MS)
#define REAP_MOST 64 // in one turn
#define SLICE_NS 100000
#define CONTINUE_AFTER_MS 50  // the terminal stops one of a group after the other
#define TERMINAL_AGAIN_MS 200 // between looks for a terminal: nothing tells when a shell gives it

struct guardian {
    const struct lh_guardian_plan *plan;
    struct lh_run_schedule schedule;
    struct lh_family family;
    int channel; // -1: the wrapper is gone
    int signal_fd;
    timer_t timer; // sends SIGCONT, which continues us if we were stopped
    pid_t command;
    bool ended;          // the command was reaped
    bool ending;         // SIGTERM was sent, by ourselves
    bool lost;           // because of the lease
    bool denied;         // it was said that something cannot be signalled
    bool more_ended;     // there was no time to reap them all
    bool childless;      // everything has ended
    bool terminal;       // the command has been the foreground group
    bool wants_terminal; // and is stopped until it is again
    struct lh_instant kill_at;
    struct lh_instant continue_at; // the command, which Ctrl-Z stopped
    struct lh_duration kill_again;
};

// A report that does not fit is dropped: a wrapper that reads nothing is stopped, and looks for
// itself when it goes on.
static void report(struct guardian *guardian, struct lh_guardian_report report)
{
    report.lost = guardian->lost;
    report.terminal = guardian->terminal;
    if (guardian->channel >= 0)
        send(guardian->channel, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void tell_denied(struct guardian *guardian, pid_t pid)
{
    if (pid == 0 || guardian->denied)
        return;
    guardian->denied = true;
    report(guardian, (struct lh_guardian_report){.kind = LH_GUARDIAN_DENIED, .pid = pid});
    if (guardian->channel < 0)
        lh_warn("leasehold run: '%s' cannot end process %ld, which is another user's: it may "
                "outlive the lease\n",
                guardian->plan->lease->name, (long)pid);
}

static void signal_family(struct guardian *guardian, int signal)
{
    tell_denied(guardian, lh_family_signal(&guardian->family, signal).denied);
}

// A signal that somebody sent to the wrapper is the command's and its group's. A command that left
// its group gets it too, but one that did not gets it once: the second TERM or INT means something
// else to many.
static void pass_on(struct guardian *guardian, int signal)
{
    pid_t command = guardian->command;
    if (guardian->ended) {
        signal_family(guardian, signal);
        return;
    }
    bool denied = kill(-command, signal) != 0 && errno == EPERM;
    bool left = getpgid(command) != command;
    denied = (kill(command, left ? signal : 0) != 0 && errno == EPERM) || denied;
    if (denied)
        tell_denied(guardian, command);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT)
        kill(left ? command : -command, SIGCONT); // stopped, it would not hear it
}

// Asks all to end, once, and sets when they are killed. An end that was begun is never put off.
static void begin_end(struct guardian *guardian)
{
    struct lh_instant latest = lh_after(lh_clock_now(), guardian->plan->kill_after);
    latest = lh_earlier(latest, guardian->schedule.kill);
    if (guardian->ending) {
        guardian->kill_at = lh_earlier(guardian->kill_at, latest);
        return;
    }
    guardian->ending = true;
    guardian->kill_at = latest;
    signal_family(guardian, SIGTERM);
    signal_family(guardian, SIGCONT); // what is stopped would not hear it
}

static void lose(struct guardian *guardian)
{
    guardian->lost = guardian->lost || !guardian->ended;
    begin_end(guardian);
}

static void obey(struct guardian *guardian, const struct lh_guardian_order *order)
{
    switch (order->kind) {
    case LH_GUARDIAN_SIGNAL: pass_on(guardian, order->signal); break;
    case LH_GUARDIAN_RENEWED:
        if (!guardian->ending)
            guardian->schedule = order->schedule;
        break;
    case LH_GUARDIAN_END:
        guardian->schedule.kill = lh_earlier(guardian->schedule.kill, order->schedule.kill);
        lose(guardian);
        break;
    }
}

// The end of the channel is the end of the wrapper: nobody will renew.
static void take_orders(struct guardian *guardian)
{
    struct lh_guardian_order order;
    while (guardian->channel >= 0) {
        ssize_t size = recv(guardian->channel, &order, sizeof order, MSG_DONTWAIT);
        if (size == (ssize_t)sizeof order) {
            obey(guardian, &order);
        } else if (size >= 0 || (errno != EAGAIN && errno != EINTR)) {
            close(guardian->channel);
            guardian->channel = -1;
            if (!guardian->ending)
                lh_warn("leasehold run: '%s' is not renewed any more: the wrapper is gone; its "
                        "guardian is ending the command (process %ld)\n",
                        guardian->plan->lease->name, (long)guardian->command);
            lose(guardian);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void undo_stop(struct guardian *guardian)
{
    if (lh_before(lh_clock_now(), guardian->continue_at))
        return;
    guardian->continue_at = LH_NEVER;
    pass_on(guardian, SIGCONT);
}

static void seek_terminal(struct guardian *guardian)
{
    if (!guardian->wants_terminal || guardian->ended ||
        !lh_terminal_lend(guardian->plan->group, guardian->command))
        return;
    guardian->wants_terminal = false;
    guardian->terminal = true;
    pass_on(guardian, SIGCONT);
    report(guardian, (struct lh_guardian_report){.kind = LH_GUARDIAN_TERMINAL});
}

// A command that the terminal stopped is continued: a lease goes on, so what it protects does.
static void was_stopped(struct guardian *guardian, int signal)
{
    if (signal == SIGTTIN || signal == SIGTTOU)
        guardian->wants_terminal = true;
    else if (signal == SIGTSTP && guardian->terminal)
        guardian->continue_at = lh_after(lh_clock_now(), lh_ms(CONTINUE_AFTER_MS));
}

// Where children end as fast as they are reaped, the schedule must have its turn.
static void reap(struct guardian *guardian)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid = 1;
    while (read(guardian->signal_fd, &info, sizeof info) > 0)
        ;
    for (int i = 0; i < REAP_MOST && (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0; i++) {
        if (WIFSTOPPED(status)) {
            was_stopped(guardian, WSTOPSIG(status));
        } else if (pid == guardian->command) {
            guardian->ended = true;
            report(guardian, (struct lh_guardian_report){
                                 .kind = LH_GUARDIAN_ENDED,
                                 .number = WIFEXITED(status) ? WEXITSTATUS(status)
                                                             : LH_EXIT_SIGNAL + WTERMSIG(status)});
        }
    }
    guardian->more_ended = pid > 0;
    guardian->childless = pid < 0 && errno == ECHILD;
}

static void apply_schedule(struct guardian *guardian)
{
    struct lh_instant now = lh_clock_now();
    if (!guardian->ending && !lh_before(now, guardian->schedule.terminate))
        lose(guardian);
    if (!guardian->ending && guardian->ended)
        begin_end(guardian); // what the command left behind would act without a lease
    if (!guardian->ending || lh_before(now, guardian->kill_at))
        return;
    signal_family(guardian, SIGKILL);
    guardian->kill_at = lh_after(now, guardian->kill_again);
    if (guardian->kill_again.ns < KILL_AGAIN_MOST_NS)
        guardian->kill_again.ns *= 2;
}

static void wait_for_event(struct guardian *guardian)
{
    struct lh_instant wake = guardian->ending ? guardian->kill_at : guardian->schedule.terminate;
    wake = lh_earlier(wake, guardian->continue_at);
    int64_t wake_ns = wake.ns > 0 ? wake.ns : 1; // 0 would disarm
    struct itimerspec when = {
        .it_value = {.tv_sec = wake_ns / LH_NS_PER_S, .tv_nsec = wake_ns % LH_NS_PER_S}};
    struct pollfd wanted[2] = {
        {.fd = guardian->channel, .events = POLLIN},
        {.fd = guardian->signal_fd, .events = POLLIN},
    };
    timer_settime(guardian->timer, TIMER_ABSTIME, &when, NULL);
    int again_ms = guardian->wants_terminal ? TERMINAL_AGAIN_MS : -1;
    poll(wanted, 2, guardian->more_ended ? 0 : again_ms);
}

// The wrapper's connection would otherwise live on in us, and pipes whose readers wait for the end
// of the command.
static void close_others(const struct guardian *guardian)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
    }
    for (unsigned first = STDERR_FILENO + 1;;) {
        unsigned next = ~0U; // the first of ours from `first` on
        const int kept[] = {guardian->channel, guardian->signal_fd, guardian->plan->cgroup->kill};
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            if (kept[i] > STDERR_FILENO && (unsigned)kept[i] >= first && (unsigned)kept[i] < next)
                next = (unsigned)kept[i];
        if (next > first)
            close_range(first, next == ~0U ? next : next - 1, 0);
        if (next == ~0U)
            return;
        first = next + 1;
    }
}

// No signal but SIGKILL and SIGSTOP reaches it: whoever means the command tells the wrapper.
static bool settle(struct guardian *guardian)
{
    struct sigevent wake = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    sigset_t watched;
    sigset_t all;
    setpgid(0, 0); // SIGKILL to the wrapper's group does not take both
    prctl(PR_SET_NAME, "lh-guardian");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGCONT);
    guardian->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    return guardian->signal_fd >= 0 && timer_create(CLOCK_BOOTTIME, &wake, &guardian->timer) == 0;
}

// A machine that paused in between may have used up the lease: then there is nothing to start.
static bool start(struct guardian *guardian)
{
    const struct lh_guardian_plan *plan = guardian->plan;
    if (!settle(guardian))
        return false;
    if (!lh_before(lh_clock_now(), plan->schedule.terminate)) {
        errno = ETIME;
        return false;
    }
    guardian->command = lh_start_command(plan->command, plan->lease, plan->inherited, plan->cgroup,
                                         plan->terminal, plan->pulse_fd);
    guardian->family.group = guardian->command;
    return guardian->command > 0;
}

// Where processes crowd the machine, the deadline must not wait in line with them. A real-time
// priority, or else a short time slice, which is served sooner (Linux 6.12). Where neither is to be
// had, the margin before the deadline has to do.
static void hurry(void)
{
    struct { // sched_setattr(2), which has no header that goes with the others
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .slice_ns = SLICE_NS};
    const struct sched_param lowest = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR, &lowest) == 0)
        return;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

_Noreturn void lh_guardian_main(const struct lh_guardian_plan *plan, int channel)
{
    struct guardian guardian = {
        .plan = plan,
        .schedule = plan->schedule,
        .channel = channel,
        .family = {.cgroup = plan->cgroup},
        .terminal = plan->terminal,
        .continue_at = LH_NEVER,
        .kill_again = {KILL_AGAIN_FIRST_NS},
    };
    if (!start(&guardian)) {
        report(&guardian,
               (struct lh_guardian_report){.kind = LH_GUARDIAN_NOT_STARTED, .number = errno});
        _exit(LH_EXIT_INTERNAL);
    }
    report(&guardian,
           (struct lh_guardian_report){.kind = LH_GUARDIAN_STARTED, .pid = guardian.command});
    close_others(&guardian);
    hurry();
    for (;;) {
        take_orders(&guardian);
        reap(&guardian);
        if (guardian.childless)
            break;
        apply_schedule(&guardian);
        undo_stop(&guardian);
        seek_terminal(&guardian);
        wait_for_event(&guardian);
    }
    plan->cgroup->join = -1; // was closed with the others
    lh_cgroup_close(plan->cgroup);
    report(&guardian, (struct lh_guardian_report){.kind = LH_GUARDIAN_GONE});
    if (plan->on_lost == NULL || !guardian.lost)
        _exit(LH_EXIT_OK);
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){.sched_priority = 0});
    lh_become_hook(plan->on_lost, plan->lease, plan->inherited);
}
