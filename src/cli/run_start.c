// See run_start.h.
#include "cli/run_start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/hook.h"
#include "cli/output.h"

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

// At the lowest number that the command finds free, what is ours being closed by then: `>&3` can be
// written in every shell, `>&12` cannot.
static void export_pulse(int pulse_fd)
{
    char number[12];
    int fd = STDERR_FILENO + 1;
    int flags = fcntl(fd, F_GETFD);
    while (flags >= 0 && (flags & FD_CLOEXEC) == 0)
        flags = fcntl(++fd, F_GETFD);
    if (fd != pulse_fd ? dup2(pulse_fd, fd) != fd : fcntl(fd, F_SETFD, 0) != 0)
        return;
    snprintf(number, sizeof number, "%d", fd);
    setenv("LEASEHOLD_PULSE_FD", number, 1);
}

// In the new process. Does not return.
static _Noreturn void become(char **argv, const struct lh_holding *lease,
                             const struct lh_inherited *inherited, const struct lh_cgroup *cgroup,
                             bool terminal, int pulse_fd, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(LH_EXIT_INTERNAL); // it died before the kernel was told
    setpgid(0, 0);
    lh_cgroup_join(cgroup);
    if (terminal)
        tcsetpgrp(STDIN_FILENO, getpid()); // SIGTTOU is still blocked
    lh_inherited_restore(inherited);
    export_lease(lease);
    if (pulse_fd >= 0)
        export_pulse(pulse_fd);
    execvp(argv[0], argv);
    int failure = errno;
    bool for_shell = argv[1] == NULL && strpbrk(argv[0], " &|;<>$") != NULL;
    lh_complain("run", "cannot execute '%s': %s%s", argv[0], strerror(failure),
                for_shell ? "; it is run without a shell: for one, write -- sh -c 'LINE'" : "");
    fflush(stderr);
    _exit(failure == ENOENT ? LH_EXIT_NOT_FOUND : LH_EXIT_NOT_EXECUTABLE);
}

pid_t lh_start_command(char **argv, const struct lh_holding *lease,
                       const struct lh_inherited *inherited, const struct lh_cgroup *cgroup,
                       bool terminal, int pulse_fd)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(argv, lease, inherited, cgroup, terminal, pulse_fd, parent);
    if (pid > 0)
        setpgid(pid, pid); // both sides do it: neither may go on before it is done
    return pid;
}

_Noreturn void lh_become_hook(const char *hook, const struct lh_holding *lease,
                              const struct lh_inherited *inherited)
{
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    lh_inherited_restore(inherited);
    export_lease(lease);
    lh_hook_become(hook, "run", "--on-lost");
}
