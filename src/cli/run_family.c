// See run_family.h.
#include "cli/run_family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct list {
    pid_t *pids;
    size_t count;
    size_t capacity;
};

// Out of memory some are left out: they are found the next time, when the others are gone.
static void append(struct list *list, pid_t pid)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        pid_t *pids = realloc(list->pids, capacity * sizeof *pids);
        if (pids == NULL)
            return;
        list->pids = pids;
        list->capacity = capacity;
    }
    list->pids[list->count++] = pid;
}

static bool is_spared(const struct lh_family *family, pid_t pid)
{
    for (size_t i = 0; i < family->spared_count; i++)
        if (family->spared[i] == pid)
            return true;
    return false;
}

// The children of one thread, as /proc/PID/task/TID/children lists them. Without stdio, since there
// may be thousands to read in a few milliseconds.
static bool append_children_of_thread(const struct lh_family *family, pid_t pid, const char *thread,
                                      struct list *list)
{
    char text[4096];
    ssize_t size;
    pid_t child = 0;
    snprintf(text, sizeof text, "/proc/%d/task/%s/children", (int)pid, thread);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    while ((size = read(file, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < size; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                child = child * 10 + (text[i] - '0');
            } else {
                if (child > 0 && !is_spared(family, child))
                    append(list, child);
                child = 0;
            }
    close(file);
    return size == 0;
}

// False if nothing could be read: it is gone, or the kernel does not tell.
static bool append_children(const struct lh_family *family, pid_t pid, struct list *list)
{
    char path[40];
    char thread[16];
    struct stat status;
    bool any = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (stat(path, &status) != 0)
        return false;
    if (status.st_nlink == 3) { // ".", ".." and one thread: most have no more
        snprintf(thread, sizeof thread, "%d", (int)pid);
        return append_children_of_thread(family, pid, thread, list);
    }
    DIR *threads = opendir(path);
    if (threads == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            any = append_children_of_thread(family, pid, entry->d_name, list) || any;
    closedir(threads);
    return any;
}

// The /proc of another process namespace has other processes under our numbers.
static bool is_our_proc(void)
{
    char number[16] = "";
    ssize_t size = readlink("/proc/self", number, sizeof number - 1);
    return size > 0 && strtol(number, NULL, 10) == getpid();
}

void lh_family_spare_children(struct lh_family *family)
{
    struct list list = {.count = 0};
    if (is_our_proc())
        append_children(family, getpid(), &list);
    for (size_t i = 0; i < list.count && family->spared_count < LH_FAMILY_SPARED_MOST; i++)
        family->spared[family->spared_count++] = list.pids[i];
    free(list.pids);
}

static void send_signal(pid_t to, int signal, struct lh_family_found *found)
{
    if (kill(to, signal) != 0 && errno == EPERM)
        found->denied = to > 0 ? to : -to;
}

// With the first of the group the whole group has it; the others are only asked whether they are
// ours.
static void signal_one(const struct lh_family *family, pid_t pid, int signal, bool *group_done,
                       struct lh_family_found *found)
{
    bool member = family->group > 0 && getpgid(pid) == family->group;
    if (member && !*group_done) {
        *group_done = true;
        send_signal(-family->group, signal, found);
    }
    send_signal(pid, member && signal != SIGKILL ? 0 : signal, found);
}

// The list grows while it is walked. SIGKILL goes out on the way, to the nearest first, because those
// that fork on must not be waited for; what the dead leave is ours and found the next time. Others go
// out at the end, since who ends by them would take its children off the list.
struct lh_family_found lh_family_signal(const struct lh_family *family, int signal)
{
    struct list list = {.count = 0};
    struct lh_family_found found = {.blind = !is_our_proc()};
    bool group_done = false;
    if (signal == SIGKILL)
        lh_cgroup_kill(family->cgroup);
    if (!found.blind)
        found.blind = !append_children(family, getpid(), &list);
    if (found.blind && family->group > 0)
        send_signal(-family->group, signal, &found);
    for (size_t i = 0; i < list.count; i++) {
        append_children(family, list.pids[i], &list);
        if (signal == SIGKILL)
            signal_one(family, list.pids[i], signal, &group_done, &found);
    }
    for (size_t i = 0; i < list.count && signal != SIGKILL; i++)
        signal_one(family, list.pids[i], signal, &group_done, &found);
    found.living = list.count;
    free(list.pids);
    return found;
}
