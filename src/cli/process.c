// See process.h.
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Ctrl-C is for the parent, which ends its children in order.
static void stand_alone(pid_t parent, int end_with, int output)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, end_with);
    if (getppid() != parent)
        _exit(1);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

bool lh_process_start(struct lh_process *process, int end_with, void (*become)(const void *context),
                      const void *context, struct lh_error *error)
{
    int pipe_fds[2];
    pid_t parent = getpid();
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return lh_error_set(error, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        stand_alone(parent, end_with, pipe_fds[1]);
        become(context);
        _exit(127);
    }
    close(pipe_fds[1]);
    if (pid < 0) {
        close(pipe_fds[0]);
        return lh_error_set(error, "cannot start a process: %s", strerror(errno));
    }
    lh_process_ignore(process);
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    process->pid = pid;
    process->output = pipe_fds[0];
    process->line_size = 0;
    return true;
}

void lh_process_read(struct lh_process *process,
                     void (*line)(void *context, int id, const char *text), void *context)
{
    char buffer[4096];
    while (process->output >= 0) {
        ssize_t size = read(process->output, buffer, sizeof buffer);
        if (size < 0)
            return; // nothing now
        if (size == 0)
            lh_process_ignore(process);
        for (ssize_t i = 0; i < size; i++) {
            if (buffer[i] != '\n') {
                if (process->line_size < sizeof process->line - 1)
                    process->line[process->line_size++] = buffer[i];
                continue;
            }
            process->line[process->line_size] = '\0';
            process->line_size = 0;
            line(context, process->id, process->line);
        }
    }
}

bool lh_process_reap(struct lh_process *process, int *ret_status)
{
    if (process->pid == 0 || waitpid(process->pid, ret_status, WNOHANG) != process->pid)
        return false;
    process->pid = 0;
    return true;
}

void lh_process_ignore(struct lh_process *process)
{
    if (process->output >= 0)
        close(process->output);
    process->output = -1;
}
