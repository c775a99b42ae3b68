// A process of `leasehold dev` or `leasehold demo`, in a group of its own, whose output is read line
// by line. It does not outlive this process.
#ifndef LH_CLI_PROCESS_H
#define LH_CLI_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "os/error.h"

struct lh_process {
    int id;         // whose it is, as the caller counts
    pid_t pid;      // 0: not running
    int output;     // what it writes, non-blocking; -1: none
    char line[512]; // the beginning of a line
    size_t line_size;
};

// Starts it: `become` replaces the new process, or returns if it cannot, which ends it with 127. Its
// output comes through process->output (-1 before the first start), and it gets `end_with` when this
// process ends. False with the reason.
bool lh_process_start(struct lh_process *process, int end_with, void (*become)(const void *context),
                      const void *context, struct lh_error *error);

// Calls `line` for each whole line that it has written, without its newline.
void lh_process_read(struct lh_process *process,
                     void (*line)(void *context, int id, const char *text), void *context);

// Takes note that it has ended. True, once, with its wait status.
bool lh_process_reap(struct lh_process *process, int *ret_status);

// What it writes from now on is lost.
void lh_process_ignore(struct lh_process *process);

#endif
