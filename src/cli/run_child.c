// See run_child.h.
#include "cli/run_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/run_terminal.h"

#define REAP_MOST 64 // at one look: the schedule must have its turn, and the next is soon

bool lh_child_start(struct lh_guardian_plan *plan, struct lh_child *child, struct lh_error *error)
{
    int channel[2];
    *child = (struct lh_child){.channel = -1, .family = {.cgroup = &child->cgroup}};
    plan->terminal = lh_terminal_is_ours_alone();
    plan->group = getpgrp();
    plan->cgroup = &child->cgroup;
    child->terminal = plan->terminal;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    lh_family_spare_children(&child->family); // who executed us may have had some
    lh_cgroup_make(&child->cgroup);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) {
        lh_error_set(error, "cannot make a channel to a guardian: %s", strerror(errno));
        lh_cgroup_close(&child->cgroup);
        return false;
    }
    fflush(NULL);
    child->guardian = fork();
    if (child->guardian == 0) {
        close(channel[0]);
        lh_guardian_main(plan, channel[1]);
    }
    child->channel = channel[0];
    close(channel[1]);
    if (child->guardian > 0)
        return true;
    lh_error_set(error, "cannot start a process: %s", strerror(errno));
    child->guardian = 0;
    lh_child_close(child);
    return false;
}

static void order(struct lh_child *child, const struct lh_guardian_order *order)
{
    if (child->channel < 0)
        return;
    ssize_t sent = send(child->channel, order, sizeof *order, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN && order->kind != LH_GUARDIAN_SIGNAL)
        lh_child_replace_guardian(child);
}

void lh_child_signal(struct lh_child *child, int signal)
{
    order(child, &(struct lh_guardian_order){.kind = LH_GUARDIAN_SIGNAL, .signal = signal});
}

void lh_child_renewed(struct lh_child *child, struct lh_run_schedule schedule)
{
    order(child, &(struct lh_guardian_order){.kind = LH_GUARDIAN_RENEWED, .schedule = schedule});
}

void lh_child_end(struct lh_child *child, struct lh_run_schedule schedule)
{
    order(child, &(struct lh_guardian_order){.kind = LH_GUARDIAN_END, .schedule = schedule});
}

static void take_report(struct lh_child *child, const struct lh_guardian_report *report)
{
    child->lost = child->lost || report->lost;
    child->terminal = child->terminal || report->terminal;
    switch (report->kind) {
    case LH_GUARDIAN_STARTED:
        child->pid = report->pid;
        child->family.group = report->pid;
        break;
    case LH_GUARDIAN_NOT_STARTED:
        child->failure = report->number;
        child->gone = true;
        break;
    case LH_GUARDIAN_DENIED: child->denied = report->pid; break;
    case LH_GUARDIAN_TERMINAL: break;
    case LH_GUARDIAN_ENDED:
        child->ended = true;
        child->exit_code = report->number;
        break;
    case LH_GUARDIAN_GONE: child->gone = true; break;
    }
}

static void take_reports(struct lh_child *child)
{
    struct lh_guardian_report report;
    while (child->channel >= 0) {
        ssize_t size = recv(child->channel, &report, sizeof report, MSG_DONTWAIT);
        if (size == (ssize_t)sizeof report) {
            take_report(child, &report);
        } else if (size < 0 && errno == EAGAIN) {
            return;
        } else if (size >= 0 || errno != EINTR) {
            close(child->channel);
            child->channel = -1;
            child->guardian_lost = !child->gone;
        }
    }
}

void lh_child_replace_guardian(struct lh_child *child)
{
    take_reports(child); // it may be the hook by now
    if (child->guardian <= 0 || child->replaced || child->gone)
        return;
    child->replaced = true;
    kill(child->guardian, SIGKILL);
}

// The guardian, and what a killed one left us. A guardian that was stopped is continued: nobody else
// tells us that the command has ended, or passes a signal on to it.
static void reap(struct lh_child *child)
{
    int status;
    pid_t pid;
    for (int i = 0; i < REAP_MOST && (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0; i++) {
        if (WIFSTOPPED(status)) {
            if (pid == child->guardian && !child->gone)
                kill(pid, SIGCONT);
        } else if (pid == child->guardian) {
            child->guardian = 0;
        } else if (pid == child->pid && !child->ended) {
            child->ended = true;
            child->exit_code =
                WIFEXITED(status) ? WEXITSTATUS(status) : LH_EXIT_SIGNAL + WTERMSIG(status);
        }
    }
}

void lh_child_look(struct lh_child *child)
{
    take_reports(child);
    reap(child);
    if (!child->guardian_lost || child->gone)
        return;
    struct lh_family_found found = lh_family_signal(&child->family, SIGKILL);
    if (found.denied != 0)
        child->denied = found.denied;
    bool group_lives = found.blind && child->pid > 0 && kill(-child->pid, 0) == 0;
    child->gone = child->guardian == 0 && found.living == 0 && !group_lives;
}

void lh_child_start_hook(struct lh_child *child, const char *hook, const struct lh_holding *lease,
                         const struct lh_inherited *inherited)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        lh_become_hook(hook, lease, inherited);
    child->guardian = pid > 0 ? pid : 0;
}

void lh_child_close(struct lh_child *child)
{
    if (child->terminal)
        lh_terminal_take_back();
    child->terminal = false;
    if (child->channel >= 0)
        close(child->channel);
    child->channel = -1;
    lh_cgroup_close(&child->cgroup);
}
