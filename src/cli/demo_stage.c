// See demo_stage.h.
#include "cli/demo_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/beats.h"
#include "cli/exit.h"
#include "os/clock.h"

#define LOOK_NS (40 * LH_NS_PER_MS)
#define RESTART_AFTER_NS (300 * LH_NS_PER_MS)

// --- wrappers ---

struct wrapper {
    const struct lh_demo_stage *stage;
    int node;
};

static void become_wrapper(const void *context)
{
    const struct wrapper *wrapper = context;
    const struct lh_demo_stage *stage = wrapper->stage;
    char endpoint[160];
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    snprintf(endpoint, sizeof endpoint, "unix:%s", stage->cluster.nodes[wrapper->node].socket);
    execl(stage->self, "leasehold", "run", "demo", "--ttl", stage->ttl, "--connect", endpoint, "--",
          stage->self, "demo-beat", stage->beats_path, (char *)NULL);
}

static bool start_wrapper(struct lh_demo_stage *stage, int node, struct lh_error *error)
{
    const struct wrapper wrapper = {stage, node};
    return lh_process_start(&stage->wrappers[node].process, SIGTERM, become_wrapper, &wrapper,
                            error);
}

bool lh_demo_start_wrappers(struct lh_demo_stage *stage, struct lh_error *error)
{
    for (int i = 0; i < LH_DEMO_NODES; i++)
        if (stage->wrappers[i].process.pid == 0 && stage->cluster.nodes[i].daemon.pid != 0 &&
            !start_wrapper(stage, i, error))
            return false;
    return true;
}

static void take_wrapper_line(void *context, int node, const char *line)
{
    struct lh_demo_stage *stage = context;
    static const char prefix[] = "leasehold run: ";
    struct lh_demo_wrapper *wrapper = &stage->wrappers[node];
    if (strncmp(line, "pid ", 4) == 0) { // demo-beat: pid N token N
        char *end;
        wrapper->command = (pid_t)strtol(line + 4, &end, 10);
        if (strncmp(end, " token ", 7) == 0)
            wrapper->token = strtoll(end + 7, NULL, 10);
        return;
    }
    if (strncmp(line, prefix, sizeof prefix - 1) == 0)
        line += sizeof prefix - 1;
    lh_timeline_event(&stage->timeline, lh_clock_now(), "wrapper %d says: %s", node + 1, line);
}

static void reap_wrapper(struct lh_demo_stage *stage, int node)
{
    struct lh_demo_wrapper *wrapper = &stage->wrappers[node];
    int status;
    if (!lh_process_reap(&wrapper->process, &status))
        return;
    lh_process_read(&wrapper->process, take_wrapper_line, stage);
    wrapper->ended_at = lh_clock_now();
    wrapper->last_code =
        WIFEXITED(status) ? WEXITSTATUS(status) : LH_EXIT_SIGNAL + WTERMSIG(status);
    if (!stage->ending)
        lh_timeline_event(&stage->timeline, wrapper->ended_at, "wrapper %d ended with code %d%s",
                          node + 1, wrapper->last_code,
                          wrapper->last_code == LH_EXIT_LOST ? " (lease lost)" : "");
}

// As a supervisor would: a wrapper that ended is started again once its daemon runs.
static void restart_wrapper(struct lh_demo_stage *stage, int node)
{
    struct lh_demo_wrapper *wrapper = &stage->wrappers[node];
    struct lh_error error;
    struct lh_duration pause = {RESTART_AFTER_NS};
    if (wrapper->process.pid == 0 && wrapper->ended_at.ns != 0 &&
        stage->cluster.nodes[node].daemon.pid != 0 && !stage->ending &&
        !lh_before(lh_clock_now(), lh_after(wrapper->ended_at, pause)) &&
        !start_wrapper(stage, node, &error))
        lh_timeline_event(&stage->timeline, lh_clock_now(), "wrapper %d: %s", node + 1, error.text);
}

// --- beats ---

// The node that issued a token is in its last byte, and each wrapper talks only to its own node.
static int node_of(int64_t token)
{
    int node = (int)(token & 0xff) - 1;
    return node >= 0 && node < LH_DEMO_NODES ? node : -1;
}

static void take_beat(struct lh_demo_stage *stage, const struct lh_beat *beat)
{
    struct lh_instant at = {beat->boottime_ns};
    int node = node_of(beat->token);
    if (node < 0 || beat->token < stage->token)
        return; // a late one; the check at the end judges it
    if (beat->token > stage->token) {
        stage->token = beat->token;
        stage->holder = node;
        stage->previous_end = stage->last_beat;
        stage->token_began = at;
        lh_timeline_event(&stage->timeline, at, "node %d holds the lease, token %" PRId64, node + 1,
                          beat->token);
    }
    stage->last_beat = at;
    lh_timeline_mark(&stage->timeline, (size_t)node, at, LH_TIMELINE_HOLDING);
}

static void read_beats(struct lh_demo_stage *stage)
{
    char buffer[4096];
    ssize_t size;
    while ((size = read(stage->beats_fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < size; i++) {
            struct lh_beat beat;
            if (buffer[i] != '\n') {
                if (stage->beat_line_size < sizeof stage->beat_line)
                    stage->beat_line[stage->beat_line_size++] = buffer[i];
                continue;
            }
            if (lh_beat_parse(stage->beat_line, stage->beat_line_size, &beat))
                take_beat(stage, &beat);
            stage->beat_line_size = 0;
        }
    }
}

// --- watching ---

static void keep_daemon_line(void *context, int id, const char *text)
{
    struct lh_demo_stage *stage = context;
    struct lh_demo_wrapper *wrapper = &stage->wrappers[id - 1];
    size_t slot = wrapper->log_lines++ % LH_DEMO_LINES_KEPT;
    snprintf(wrapper->log[slot], sizeof wrapper->log[slot], "%s", text);
}

static void mark_now(struct lh_demo_stage *stage)
{
    struct lh_instant now = lh_clock_now();
    for (int i = 0; i < LH_DEMO_NODES; i++) {
        enum lh_timeline_mark mark = LH_TIMELINE_NOTHING;
        if (stage->cluster.nodes[i].daemon.pid == 0)
            mark = LH_TIMELINE_KILLED;
        else if (stage->wrappers[i].stopped)
            mark = LH_TIMELINE_STOPPED;
        else if (stage->wrappers[i].quarantine)
            mark = LH_TIMELINE_QUARANTINE;
        else if (stage->wrappers[i].process.pid != 0)
            mark = LH_TIMELINE_WAITING;
        lh_timeline_mark(&stage->timeline, (size_t)i, now, mark);
    }
    lh_timeline_draw(&stage->timeline, now);
}

static void take_signals(struct lh_demo_stage *stage)
{
    struct signalfd_siginfo info;
    while (read(stage->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            stage->interrupted = true;
}

static void look(struct lh_demo_stage *stage)
{
    take_signals(stage);
    read_beats(stage);
    for (int i = 0; i < LH_DEMO_NODES; i++) {
        struct lh_cluster_node *node = &stage->cluster.nodes[i];
        int status;
        lh_process_read(&node->daemon, keep_daemon_line, stage);
        lh_process_reap(&node->daemon, &status);
        lh_process_read(&stage->wrappers[i].process, take_wrapper_line, stage);
        reap_wrapper(stage, i);
        restart_wrapper(stage, i);
    }
    mark_now(stage);
}

bool lh_demo_watch(struct lh_demo_stage *stage, bool (*done)(struct lh_demo_stage *stage),
                   struct lh_duration timeout)
{
    struct lh_instant end = lh_after(lh_clock_now(), timeout);
    for (;;) {
        look(stage);
        if (done != NULL && done(stage))
            return true;
        struct lh_duration left = lh_left(lh_clock_now(), end);
        if (stage->interrupted || left.ns == 0)
            return false;
        struct timespec pause = {.tv_nsec = left.ns < LOOK_NS ? left.ns : LOOK_NS};
        struct pollfd wanted = {.fd = stage->signal_fd, .events = POLLIN};
        ppoll(&wanted, 1, &pause, NULL);
    }
}

void lh_demo_signal_all(struct lh_demo_stage *stage, int node, int signal)
{
    struct lh_demo_wrapper *wrapper = &stage->wrappers[node];
    if (wrapper->process.pid != 0 && wrapper->command > 0)
        kill(wrapper->command, signal);
    if (wrapper->process.pid != 0)
        kill(wrapper->process.pid, signal);
    lh_cluster_signal(&stage->cluster.nodes[node], signal);
}

// --- beginning and end ---

static bool open_files(struct lh_demo_stage *stage, struct lh_error *error)
{
    ssize_t size = readlink("/proc/self/exe", stage->self, sizeof stage->self - 1);
    if (size <= 0)
        return lh_error_set(error, "cannot find this program's path in /proc: %s", strerror(errno));
    stage->self[size] = '\0';
    snprintf(stage->beats_path, sizeof stage->beats_path, "%s/beats", stage->cluster.directory);
    stage->beats_fd = open(stage->beats_path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (stage->beats_fd < 0)
        return lh_error_set(error, "cannot make %s: %s", stage->beats_path, strerror(errno));
    return true;
}

bool lh_demo_stage_open(struct lh_demo_stage *stage, struct lh_duration length,
                        struct lh_error *error)
{
    memset(stage, 0, sizeof *stage);
    stage->ttl = "1s";
    stage->beats_fd = stage->signal_fd = stage->holder = -1;
    for (int i = 0; i < LH_DEMO_NODES; i++)
        stage->wrappers[i].process = (struct lh_process){.id = i, .output = -1};
    stage->signal_fd = lh_cluster_open_signals(error);
    if (stage->signal_fd < 0 || !lh_cluster_open(LH_DEMO_NODES, NULL, "3s", &stage->cluster, error))
        return false;
    lh_timeline_open(&stage->timeline, LH_DEMO_NODES, lh_clock_now(), length);
    bool good = open_files(stage, error);
    for (int i = 0; i < LH_DEMO_NODES && good; i++)
        good = lh_cluster_start(&stage->cluster, &stage->cluster.nodes[i], error);
    if (!good)
        lh_demo_stage_close(stage);
    return good;
}

static bool wrappers_ended(struct lh_demo_stage *stage)
{
    for (int i = 0; i < LH_DEMO_NODES; i++)
        if (stage->wrappers[i].process.pid != 0)
            return false;
    return true;
}

void lh_demo_end_wrappers(struct lh_demo_stage *stage)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    stage->ending = true;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        for (int node = 0; node < LH_DEMO_NODES; node++) {
            if (stage->wrappers[node].process.pid != 0) {
                kill(stage->wrappers[node].process.pid, signals[i]);
                kill(stage->wrappers[node].process.pid, SIGCONT);
            }
        }
        stage->interrupted = false; // the end is not interrupted
        lh_demo_watch(stage, wrappers_ended, lh_ms(2500));
    }
    stage->timeline.drawn = false; // the picture stays as it is, and what follows stands below it
}

void lh_demo_stage_close(struct lh_demo_stage *stage)
{
    lh_demo_end_wrappers(stage);
    lh_cluster_close(&stage->cluster);
    for (int i = 0; i < LH_DEMO_NODES; i++)
        lh_process_ignore(&stage->wrappers[i].process);
    if (stage->beats_fd >= 0)
        close(stage->beats_fd);
    if (stage->signal_fd >= 0)
        close(stage->signal_fd);
}
