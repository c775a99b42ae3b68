// See campaign.h. Workers take the next seed from a counter in shared memory and write their
// results, each smaller than what a pipe takes in one piece, into one pipe.
#include "sim/campaign.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;

static void on_signal(int signal)
{
    stop_signal = signal;
}

_Static_assert(sizeof(struct lh_sim_result) <= PIPE_BUF, "a result is written in one piece");

struct shared {
    _Atomic uint64_t next;
    _Atomic uint64_t running[LH_SIM_WORKERS_MAX]; // the seed, by worker
};

struct crew {
    const struct lh_sim_campaign *campaign;
    struct shared *shared;
    int pipe[2];
    pid_t pids[LH_SIM_WORKERS_MAX];
    unsigned count, alive;
    bool failed;
};

void lh_sim_campaign_settings(const struct lh_sim_campaign *campaign, uint64_t seed,
                              struct lh_sim_settings *ret_settings)
{
    char error[256];
    lh_sim_settings_draw(ret_settings, seed, campaign->duration_ns, campaign->nodes);
    if (campaign->overrides != NULL) // they were checked before
        lh_sim_settings_override(ret_settings, campaign->overrides, error, sizeof error);
    ret_settings->weakened = campaign->weakened;
}

// Why a file is not whole, or 0.
static int flush_file(FILE *file)
{
    errno = 0;
    bool whole = file == NULL || (fflush(file) == 0 && ferror(file) == 0);
    return whole ? 0 : errno != 0 ? errno : EIO;
}

static void flush_files(const struct lh_sim_files *files, struct lh_sim_result *result)
{
    const struct {
        enum lh_sim_file kind;
        FILE *file;
    } all[] = {{LH_SIM_FILE_LOG, files->log}, {LH_SIM_FILE_TIMELINE, files->timeline}};
    for (size_t i = 0; i < sizeof all / sizeof all[0] && result->unwritten == 0; i++) {
        result->unwritten = flush_file(all[i].file);
        result->unwritten_file = all[i].kind;
    }
    for (size_t i = 0; i < LH_SIM_NODES_MAX && result->unwritten == 0; i++) {
        result->unwritten = flush_file(files->records[i]);
        result->unwritten_file = LH_SIM_FILE_RECORD;
    }
}

static void work(const struct crew *crew, unsigned worker)
{
    const struct lh_sim_campaign *campaign = crew->campaign;
    for (;;) {
        uint64_t seed = atomic_fetch_add(&crew->shared->next, 1);
        struct lh_sim_settings settings;
        struct lh_sim_result result;
        if (seed > campaign->last || seed < campaign->first)
            break;
        atomic_store(&crew->shared->running[worker], seed);
        lh_sim_campaign_settings(campaign, seed, &settings);
        lh_sim_run(&settings, &campaign->files, &result);
        flush_files(&campaign->files, &result);
        fflush(NULL);
        if (write(crew->pipe[1], &result, sizeof result) != (ssize_t)sizeof result)
            break;
    }
    _exit(0);
}

static bool begin(struct crew *crew, unsigned worker)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody would read its results
        signal(SIGINT, SIG_IGN); // a terminal tells the whole group, and the parent ends it
        signal(SIGHUP, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        close(crew->pipe[0]);
        work(crew, worker);
    }
    crew->pids[worker] = pid;
    crew->alive++;
    return true;
}

static void take(struct crew *crew, const struct lh_sim_result *result)
{
    const struct lh_sim_campaign *campaign = crew->campaign;
    campaign->each(campaign->context, result);
    if (result->verdict == LH_SIM_CLEAN)
        return;
    crew->failed = true;
    if (!campaign->keep_going)
        atomic_store(&crew->shared->next, UINT64_MAX / 2); // nothing more is begun
}

static void take_all(struct crew *crew)
{
    struct lh_sim_result result;
    struct pollfd wanted = {.fd = crew->pipe[0], .events = POLLIN};
    while (poll(&wanted, 1, 0) > 0 && (wanted.revents & POLLIN) != 0 &&
           read(crew->pipe[0], &result, sizeof result) == (ssize_t)sizeof result)
        take(crew, &result);
}

// A worker has ended: of itself, or with the seed that it was running.
static void bury(struct crew *crew, unsigned worker, int status)
{
    crew->alive--;
    crew->pids[worker] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    struct lh_sim_result result = {.seed = atomic_load(&crew->shared->running[worker]),
                                   .verdict = LH_SIM_CRASHED};
    if (WIFSIGNALED(status))
        snprintf(result.what, sizeof result.what, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(result.what, sizeof result.what, "ended with exit code %d", WEXITSTATUS(status));
    take(crew, &result);
    begin(crew, worker);
}

static void stop(struct crew *crew)
{
    for (unsigned worker = 0; worker < crew->count; worker++) {
        if (crew->pids[worker] == 0)
            continue;
        kill(crew->pids[worker], SIGKILL);
        waitpid(crew->pids[worker], NULL, 0);
    }
    take_all(crew);
    crew->alive = 0;
}

static void watch(struct crew *crew)
{
    while (crew->alive > 0) {
        if (stop_signal != 0) {
            stop(crew);
            return;
        }
        struct pollfd wanted = {.fd = crew->pipe[0], .events = POLLIN};
        poll(&wanted, 1, 50);
        take_all(crew);
        for (unsigned worker = 0; worker < crew->count; worker++) {
            int status = 0;
            if (crew->pids[worker] == 0 ||
                waitpid(crew->pids[worker], &status, WNOHANG) != crew->pids[worker])
                continue;
            take_all(crew); // what it wrote before it ended
            bury(crew, worker, status);
        }
    }
}

bool lh_sim_campaign_run(struct lh_sim_campaign *campaign)
{
    const struct sigaction told = {.sa_handler = on_signal};
    struct crew crew = {.campaign = campaign};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t seeds = campaign->last - campaign->first + 1;
    crew.count = campaign->workers != 0 ? campaign->workers : cores > 0 ? (unsigned)cores : 1;
    if (crew.count > LH_SIM_WORKERS_MAX)
        crew.count = LH_SIM_WORKERS_MAX;
    if (crew.count > seeds)
        crew.count = (unsigned)seeds;
    crew.shared =
        mmap(NULL, sizeof *crew.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crew.shared == MAP_FAILED)
        return false;
    if (pipe(crew.pipe) != 0) {
        munmap(crew.shared, sizeof *crew.shared);
        return false;
    }
    atomic_store(&crew.shared->next, campaign->first);
    sigaction(SIGINT, &told, NULL);
    sigaction(SIGTERM, &told, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) // as nohup does
        sigaction(SIGHUP, &told, NULL);
    bool begun = true;
    for (unsigned worker = 0; worker < crew.count && begun; worker++)
        begun = begin(&crew, worker);
    watch(&crew);
    campaign->stopped_by = stop_signal;
    close(crew.pipe[0]);
    close(crew.pipe[1]);
    munmap(crew.shared, sizeof *crew.shared);
    return begun;
}
