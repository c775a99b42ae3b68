// See run_cgroup.h.
#include "cli/run_cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINE_BYTES 512

static const struct lh_cgroup none = {.join = -1, .kill = -1};

// Our place in the hierarchy of version 2: the line "0::PATH".
static bool read_place(char ret_place[LINE_BYTES])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool found = false;
    char line[LINE_BYTES];
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = strncmp(line, "0::/", 4) == 0 && strchr(line, '\n') != NULL;
        line[strcspn(line, "\n")] = '\0';
        if (found)
            memmove(ret_place, line + 3, strlen(line + 3) + 1);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

// Where that place is mounted: a line of mountinfo has the part of the hierarchy that is mounted and
// the directory as its fourth and fifth word, and the type after " - ".
static bool find_directory(const char *place, char *ret_path, size_t size)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[2 * LINE_BYTES];
    char part[LINE_BYTES];
    char mounted[LINE_BYTES];
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, " - cgroup2 ") == NULL ||
            sscanf(line, "%*s %*s %*s %511s %511s", part, mounted) != 2)
            continue;
        size_t skipped = strcmp(part, "/") == 0 ? 0 : strlen(part);
        found = strncmp(place, part, skipped) == 0 &&
                (size_t)snprintf(ret_path, size, "%s%s", mounted, place + skipped) < size;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static bool is_delegated(const char *path)
{
    char mark = '0';
    if (access(path, W_OK) != 0)
        return false;
    return geteuid() != 0 || (getxattr(path, "trusted.delegate", &mark, 1) == 1 && mark == '1') ||
           (getxattr(path, "user.delegate", &mark, 1) == 1 && mark == '1');
}

static int open_file(const char *path, const char *name)
{
    char file[700];
    snprintf(file, sizeof file, "%s/%s", path, name);
    return open(file, O_WRONLY | O_CLOEXEC);
}

void lh_cgroup_make(struct lh_cgroup *ret_cgroup)
{
    char place[LINE_BYTES];
    char parent[sizeof none.path - 32];
    *ret_cgroup = none;
    if (!read_place(place) || !find_directory(place, parent, sizeof parent) ||
        !is_delegated(parent))
        return;
    struct lh_cgroup cgroup = none;
    snprintf(cgroup.path, sizeof cgroup.path, "%s/leasehold-run-%ld", parent, (long)getpid());
    if (mkdir(cgroup.path, 0755) != 0)
        return;
    cgroup.join = open_file(cgroup.path, "cgroup.procs");
    cgroup.kill = open_file(cgroup.path, "cgroup.kill"); // Linux 5.14
    if (cgroup.join >= 0 && cgroup.kill >= 0)
        *ret_cgroup = cgroup;
    else
        lh_cgroup_close(&cgroup);
}

static void write_to(int file, const char *text)
{
    if (file >= 0 && write(file, text, 1) < 0)
        return; // what is not in it is found in the tree of processes
}

void lh_cgroup_join(const struct lh_cgroup *cgroup)
{
    write_to(cgroup->join, "0");
}

void lh_cgroup_kill(const struct lh_cgroup *cgroup)
{
    write_to(cgroup->kill, "1");
}

void lh_cgroup_close(struct lh_cgroup *cgroup)
{
    if (cgroup->join >= 0)
        close(cgroup->join);
    if (cgroup->kill >= 0)
        close(cgroup->kill);
    if (cgroup->path[0] != '\0')
        rmdir(cgroup->path);
    *cgroup = none;
}
