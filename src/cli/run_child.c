// See run_child.h.
#include "cli/run_child.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit.h"

void lh_inherited_replace(struct lh_inherited *ret_inherited, const sigset_t *blocked)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigprocmask(SIG_BLOCK, blocked, &ret_inherited->mask);
    sigaction(SIGCHLD, &by_default, &ret_inherited->child_ended);
    sigaction(SIGPIPE, &ignored, &ret_inherited->broken_pipe);
    sigaction(SIGXFSZ, &ignored, &ret_inherited->file_size);
}

void lh_inherited_restore(const struct lh_inherited *inherited)
{
    sigaction(SIGCHLD, &inherited->child_ended, NULL);
    sigaction(SIGPIPE, &inherited->broken_pipe, NULL);
    sigaction(SIGXFSZ, &inherited->file_size, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

static void export_lease(const struct lh_holding *lease)
{
    char number[24];
    setenv("LEASEHOLD_NAME", lease->name, 1);
    setenv("LEASEHOLD_HOLDER", lease->holder, 1);
    snprintf(number, sizeof number, "%" PRId64, lease->token);
    setenv("LEASEHOLD_TOKEN", number, 1);
    snprintf(number, sizeof number, "%" PRId64, lh_floor_ms(lease->ttl));
    setenv("LEASEHOLD_TTL_MS", number, 1);
}

// In the new process. Does not return.
static _Noreturn void become(char **argv, const struct lh_holding *lease,
                             const struct lh_inherited *inherited, bool terminal, pid_t wrapper)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != wrapper)
        _exit(LH_EXIT_INTERNAL); // the wrapper died before the kernel was told
    setpgid(0, 0);
    if (terminal)
        tcsetpgrp(STDIN_FILENO, getpid()); // SIGTTOU is still blocked
    lh_inherited_restore(inherited);
    export_lease(lease);
    execvp(argv[0], argv);
    int failure = errno;
    fprintf(stderr, "leasehold run: cannot execute '%s': %s\n", argv[0], strerror(failure));
    fflush(stderr);
    _exit(failure == ENOENT ? LH_EXIT_NOT_FOUND : LH_EXIT_NOT_EXECUTABLE);
}

bool lh_child_start(char **argv, const struct lh_holding *lease,
                    const struct lh_inherited *inherited, struct lh_child *ret_child,
                    struct lh_error *error)
{
    bool terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    pid_t wrapper = getpid();
    prctl(PR_SET_CHILD_SUBREAPER, 1); // orphans of the group come to us and are reaped
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return lh_error_set(error, "cannot start a process: %s", strerror(errno));
    if (pid == 0)
        become(argv, lease, inherited, terminal, wrapper);
    setpgid(pid, pid); // both sides do it: neither may go on before it is done
    if (terminal)
        tcsetpgrp(STDIN_FILENO, pid);
    *ret_child = (struct lh_child){.pid = pid, .terminal = terminal};
    return true;
}

static bool send_signal(pid_t to, int signal)
{
    return kill(to, signal) == 0 || errno == ESRCH;
}

bool lh_child_signal(const struct lh_child *child, int signal)
{
    if (child->pid == 0)
        return true;
    bool sent = send_signal(-child->pid, signal);
    if (child->ended)
        return sent;
    // A command that left its group gets it too, but one that did not gets it once: the second TERM
    // or INT means something else to many. SIGKILL may come twice, and then no step between the
    // groups escapes it. Signal 0 asks whether the group's other members hide that it is not ours.
    bool again = signal == SIGKILL || getpgid(child->pid) != child->pid;
    return send_signal(child->pid, again ? signal : 0) && sent;
}

void lh_child_reap(struct lh_child *child)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (WIFSTOPPED(status)) {
            if (WSTOPSIG(status) != SIGSTOP && child->terminal)
                lh_child_signal(child, SIGCONT);
        } else if (pid == child->pid) {
            child->ended = true;
            child->exit_code =
                WIFEXITED(status) ? WEXITSTATUS(status) : LH_EXIT_SIGNAL + WTERMSIG(status);
        }
    }
}

bool lh_child_alive(const struct lh_child *child)
{
    return child->pid > 0 &&
           (!child->ended || kill(-child->pid, 0) == 0 || errno == EPERM); // not ours to signal
}

void lh_child_close(struct lh_child *child)
{
    if (child->terminal)
        tcsetpgrp(STDIN_FILENO, getpgrp());
    child->terminal = false;
}
