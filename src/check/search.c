// The search runs in rounds between two barriers. In a round every thread works (search_worker.c).
// It ends when the level is exhausted, the visited set must grow, or a checkpoint is due; threads
// then stand still, perhaps with their batch half looked up, the first thread does what needs
// doing, and they go on exactly where they stopped.
//
// What must stay true: a checkpoint is written only when every batch is looked up, so that the two
// frontiers and the set are the whole search.
#include "check/search_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check/checkpoint.h"
#include "check/say.h"

#define GOES_ON "with --resume and the checkpoint it goes on from here"
#define NO_MEMORY "the machine has no memory for the search"

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

bool lh_search_interrupted(void)
{
    return interrupted != 0;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double seconds_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

void lh_search_fail(struct lh_search *search, const char *reason)
{
    pthread_mutex_lock(&search->mutex);
    if (search->reason[0] == '\0')
        snprintf(search->reason, sizeof search->reason, "%s", reason);
    pthread_mutex_unlock(&search->mutex);
    atomic_store(&search->failed, true);
    atomic_store(&search->stop, true);
}

uint64_t lh_search_memory_used(const struct lh_search *search)
{
    return search->set.mapped_bytes + search->frontiers[0].memory_bytes +
           search->frontiers[1].memory_bytes + search->history.bytes;
}

// Why the search is to end where it is, or NULL.
static const char *limit_reached(const struct lh_search *search)
{
    const struct lh_search_options *options = search->options;
    if (options->time_limit_seconds != 0 &&
        seconds_now() - search->started > options->time_limit_seconds)
        return "the time limit is reached: raise --time";
    if (options->distinct_limit != 0 && atomic_load(&search->distinct) >= options->distinct_limit)
        return "as many states as were asked for";
    return NULL;
}

bool lh_search_wants_pause(const struct lh_search *search)
{
    const struct lh_search_options *options = search->options;
    return interrupted || limit_reached(search) != NULL ||
           (options->checkpoint != NULL &&
            seconds_now() - search->last_checkpoint > options->checkpoint_seconds);
}

// Everything that was generated is looked up: nothing but segments is half done.
static bool is_drained(const struct lh_search *search)
{
    for (uint32_t i = 0; i < search->threads; i++) {
        if (search->workers[i].lookup_at < search->workers[i].lookup_count)
            return false;
    }
    return true;
}

// Puts what the threads have begun to read, and to fill, back into the two frontiers.
static bool gather_frontiers(struct lh_search *search)
{
    for (uint32_t i = 0; i < search->threads; i++) {
        struct lh_search_worker *worker = &search->workers[i];
        lh_search_flush(worker);
        const uint32_t rest = worker->segment_count - worker->segment_at;
        if (rest == 0)
            continue;
        if (!lh_frontier_return(search->present, worker->segment, worker->segment_at, rest,
                                worker->segment_first + worker->segment_at))
            return false;
        worker->segment = NULL;
        worker->segment_at = worker->segment_count = 0;
    }
    return !atomic_load(&search->failed);
}

static bool save_checkpoint(struct lh_search *search)
{
    const struct lh_checkpoint checkpoint = {.model = search->model,
                                             .set = &search->set,
                                             .present = search->present,
                                             .next = search->next,
                                             .distinct = atomic_load(&search->distinct),
                                             .generated = search->generated,
                                             .unreduced = search->unreduced,
                                             .depth = search->depth,
                                             .conform = search->options->conform};
    bool saved = false;
    if (!gather_frontiers(search))
        lh_search_fail(search, "the machine has no more memory");
    else
        saved = lh_checkpoint_save(&checkpoint, search->options->checkpoint);
    if (!saved)
        lh_check_say(stderr, "leasehold check: %s could not be written",
                     search->options->checkpoint);
    search->last_checkpoint = seconds_now();
    return saved;
}

static bool load_checkpoint(struct lh_search *search)
{
    struct lh_checkpoint checkpoint = {.model = search->model,
                                       .set = &search->set,
                                       .present = search->present,
                                       .next = search->next,
                                       .conform = search->options->conform};
    const char *wrong = lh_checkpoint_load(&checkpoint, search->options->resume);
    if (wrong == NULL && lh_search_memory_used(search) > search->options->memory_bytes)
        wrong = "the memory limit is below what the checkpoint holds: raise --memory";
    if (wrong != NULL) {
        lh_search_fail(search, wrong);
        return false;
    }
    search->distinct = checkpoint.distinct;
    search->workers[0].batch.generated = checkpoint.generated;
    search->workers[0].unreduced = checkpoint.unreduced;
    search->depth = checkpoint.depth;
    return true;
}

// The search ends for want of memory; with more of it, the checkpoint goes on.
static void give_up(struct lh_search *search, const char *reason)
{
    char text[LH_CHECK_ERROR_SIZE];
    const bool saved =
        search->options->checkpoint != NULL && is_drained(search) && save_checkpoint(search);
    snprintf(text, sizeof text, "%s%s", reason, saved ? "; " GOES_ON : "");
    lh_search_fail(search, text);
}

static bool fits(const struct lh_search *search, uint64_t buckets)
{
    const uint64_t others = lh_search_memory_used(search) - search->set.mapped_bytes;
    return lh_fpset_bytes(buckets) + others <= search->options->memory_bytes;
}

// By a quarter, since every growth moves everything; where that is too much, by what a state of
// eight bytes allows.
static bool grow_set(struct lh_search *search)
{
    uint64_t buckets = search->set.buckets + search->set.buckets / 4 + 16;
    if (!fits(search, buckets))
        buckets = search->set.buckets + search->set.buckets / 16 + 16;
    if (!fits(search, buckets)) {
        if (search->history.bytes > 0) {
            lh_history_disable(&search->history);
            return grow_set(search);
        }
        give_up(search, "the memory limit is reached: raise --memory");
        return false;
    }
    if (buckets > search->restart_buckets) {
        search->too_short = true;
        return false;
    }
    if (!lh_fpset_grow(&search->set, buckets)) {
        give_up(search, "the machine has no more memory");
        return false;
    }
    return true;
}

// The next level becomes the present one.
static void turn_level(struct lh_search *search)
{
    struct lh_frontier *old = search->present;
    search->present = search->next;
    search->next = old;
    lh_frontier_clear(old);
    if (search->present->states == 0) {
        search->done = true;
        return;
    }
    search->depth++;
    if (search->history.enabled && !lh_history_begin_level(&search->history))
        lh_history_disable(&search->history);
}

// A checkpoint is due, or the search is to stop.
static void pause_search(struct lh_search *search)
{
    const struct lh_search_options *options = search->options;
    atomic_store(&search->must_pause, false);
    const bool saved = options->checkpoint != NULL && save_checkpoint(search);
    const char *limit = limit_reached(search);
    if (!interrupted && limit == NULL)
        return;
    search->done = true;
    if (options->checkpoint != NULL && !saved)
        lh_search_fail(search, "stopped, and what was done is lost: the checkpoint could not be "
                               "written");
    else if (saved)
        lh_search_fail(search, "stopped; " GOES_ON);
    else if (interrupted)
        lh_search_fail(search, "interrupted; --checkpoint FILE would have kept what was done");
    else
        lh_search_fail(search, limit);
}

// What the first thread does while the others stand still.
static void coordinate(struct lh_search *search)
{
    search->generated = 0;
    search->unreduced = (struct lh_search_counts){0};
    for (uint32_t i = 0; i < search->threads; i++) {
        const struct lh_search_worker *worker = &search->workers[i];
        search->generated += worker->batch.generated;
        search->unreduced.distinct += worker->unreduced.distinct;
        search->unreduced.generated += worker->unreduced.generated;
    }
    if (atomic_load(&search->stop)) {
        search->done = true;
        return;
    }
    if (lh_search_memory_used(search) > search->options->memory_bytes && search->history.bytes > 0)
        lh_history_disable(&search->history);
    if (atomic_load(&search->must_grow)) {
        atomic_store(&search->must_grow, false);
        if (!grow_set(search))
            search->done = true;
        return; // the level goes on; if it was done, the next round finds that out
    }
    if (!is_drained(search))
        return;
    if (lh_search_wants_pause(search))
        pause_search(search);
    bool level_done = lh_frontier_is_read(search->present);
    for (uint32_t i = 0; i < search->threads; i++)
        level_done =
            level_done && search->workers[i].segment_at == search->workers[i].segment_count;
    if (level_done && !search->done)
        turn_level(search);
}

static void *run_worker(void *argument)
{
    struct lh_search_worker *worker = argument;
    struct lh_search *search = worker->search;
    pthread_mutex_lock(&search->mutex); // until it is known how many threads there are
    pthread_mutex_unlock(&search->mutex);
    for (;;) {
        pthread_barrier_wait(&search->barrier);
        if (search->done)
            return NULL;
        lh_search_work(worker);
        pthread_barrier_wait(&search->barrier);
        if (worker->index == 0)
            coordinate(search);
    }
}

// The first level: the initial state alone.
static bool place_initial_state(struct lh_search *search)
{
    const struct lh_model *model = search->model;
    struct lh_search_worker *worker = &search->workers[0];
    uint8_t *packed = lh_frontier_buffer(search->present);
    if (packed == NULL)
        return false;
    model->init(model, worker->block_raw);
    lh_model_hash(model, worker->block_raw, worker->block_lanes);
    lh_fpset_insert(&search->set, lh_model_fingerprint(model, worker->block_lanes));
    lh_layout_pack(&model->layout, worker->block_raw, packed);
    search->distinct = 1;
    search->depth = 1;
    worker->batch.generated = 1;
    worker->unreduced.generated = 1;
    return lh_frontier_append(search->present, packed, 1) == 0;
}

static bool open_search(struct lh_search *search, uint64_t buckets)
{
    const struct lh_search_options *options = search->options;
    const uint32_t state_bytes = search->model->layout.packed_bytes;
    const uint64_t budget = options->memory_bytes / 16;
    search->threads = options->threads;
    search->present = &search->frontiers[0];
    search->next = &search->frontiers[1];
    search->workers = calloc(search->threads, sizeof(struct lh_search_worker));
    if (search->workers == NULL || pthread_mutex_init(&search->mutex, NULL) != 0)
        return false;
    if (!lh_frontier_open(search->present, state_bytes, options->spill_directory, budget) ||
        !lh_frontier_open(search->next, state_bytes, options->spill_directory, budget)) {
        lh_search_fail(search, "no file can be made in the directory given to --spill");
        return false;
    }
    for (uint32_t i = 0; i < search->threads; i++) {
        if (!lh_search_open_worker(search, i))
            return false;
    }
    if (options->resume != NULL)
        return load_checkpoint(search);
    if (lh_fpset_bytes(buckets) > options->memory_bytes) {
        lh_search_fail(search,
                       "the memory limit is below what this configuration needs: raise --memory");
        return false;
    }
    if (!lh_history_open(&search->history) || !lh_fpset_open(&search->set, buckets))
        return false;
    if (!options->want_trace || !lh_history_begin_level(&search->history))
        lh_history_disable(&search->history);
    return place_initial_state(search);
}

static void close_search(struct lh_search *search)
{
    for (uint32_t i = 0; i < search->threads && search->workers != NULL; i++)
        lh_search_close_worker(&search->workers[i]);
    free(search->workers);
    lh_history_close(&search->history);
    lh_frontier_close(&search->frontiers[0]);
    lh_frontier_close(&search->frontiers[1]);
    lh_fpset_close(&search->set);
}

// Makes the threads but the first, which is this one. Returns how many there are.
static uint32_t make_threads(struct lh_search *search)
{
    uint32_t made = 1;
    while (made < search->threads && pthread_create(&search->workers[made].thread, NULL, run_worker,
                                                    &search->workers[made]) == 0)
        made++;
    return made;
}

// Runs the threads until the search is done.
static void run_threads(struct lh_search *search)
{
    pthread_mutex_lock(&search->mutex);
    const uint32_t made = make_threads(search);
    pthread_barrier_init(&search->barrier, NULL, made);
    search->done = made < search->threads;
    pthread_mutex_unlock(&search->mutex);
    if (search->done)
        lh_search_fail(search, "the machine makes no more threads: lower --threads");
    run_worker(&search->workers[0]);
    for (uint32_t i = 1; i < made; i++)
        pthread_join(search->workers[i].thread, NULL);
    pthread_barrier_destroy(&search->barrier);
}

static void fill_result(const struct lh_search *search, struct lh_search_result *result)
{
    result->distinct = search->distinct;
    result->generated = search->generated;
    result->unreduced = search->unreduced;
    result->depth = search->depth;
    result->seconds = seconds_now() - search->started;
    result->cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - search->started_cpu;
    result->set_bytes = search->set.lines == NULL ? 0 : lh_fpset_bytes(search->set.buckets);
    result->fingerprint_bits = search->set.bits;
    result->threads = search->threads;
    result->collision_probability = lh_progress_collision(search->distinct, search->set.bits);
    result->invariant = search->violation.invariant;
    snprintf(result->reason, sizeof result->reason, "%s", search->reason);
    result->verdict = LH_VERDICT_PASS;
    snprintf(result->fault, sizeof result->fault, "%s", search->fault);
    for (uint32_t i = 0; i < search->threads; i++)
        lh_conform_add(&result->conform, &search->workers[i].conform.counts);
    // What does not conform may be a state that refuses too little: then no step leads further.
    const bool no_step =
        result->invariant == LH_INV_CONFORMANCE && search->violation.ordinal == LH_CONFORM_NO_STEP;
    if (result->invariant != LH_INV_NONE) {
        result->verdict = LH_VERDICT_VIOLATED;
        result->trace_states = search->depth + (no_step ? 0 : 1);
    } else if (atomic_load(&search->failed) || !search->done) {
        result->verdict = LH_VERDICT_INCOMPLETE;
    }
    if (result->verdict == LH_VERDICT_VIOLATED && search->depth < LH_TRACE_MAX &&
        lh_history_choices(&search->history, search->depth - 1, search->violation.parent,
                           result->choices)) {
        if (!no_step)
            result->choices[search->depth - 1] = search->violation.ordinal;
        result->has_trace = true;
    }
}

// Set sizes to begin with when nothing is known, and up to which the fingerprint of such a set will
// do (a chance of collision below 1 in 1000).
static const struct {
    uint64_t buckets;
    uint64_t restart;
} stages[] = {
    {UINT64_C(1) << 10, UINT64_C(1) << 14},
    {UINT64_C(1) << 17, UINT64_C(1) << 21},
    {UINT64_C(1) << 22, UINT64_MAX},
};

// A longer fingerprint is no use to a search that has no room for it.
static uint64_t restart_at(const struct lh_search_options *options, size_t stage)
{
    if (options->expected_distinct != 0 || options->resume != NULL ||
        stages[stage].restart == UINT64_MAX ||
        lh_fpset_bytes(stages[stage + 1].buckets) > options->memory_bytes / 2)
        return UINT64_MAX;
    return stages[stage].restart;
}

// What ends a search in order. A hang-up that is ignored stays so: nohup.
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING = sizeof ending / sizeof ending[0] };

static void catch_signals(struct sigaction ret_old[ENDING])
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    for (int i = 0; i < ENDING; i++) {
        sigaction(ending[i], NULL, &ret_old[i]);
        if (ending[i] != SIGHUP || ret_old[i].sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    }
}

static void restore_signals(const struct sigaction old[ENDING])
{
    for (int i = 0; i < ENDING; i++)
        sigaction(ending[i], &old[i], NULL);
}

void lh_search_run(const struct lh_model *model, const struct lh_search_options *options,
                   struct lh_search_result *ret_result)
{
    const double started = seconds_now();
    const double started_cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    struct sigaction old[ENDING];
    catch_signals(old);
    memset(ret_result, 0, sizeof *ret_result);
    const bool known = options->expected_distinct != 0;
    for (size_t stage = 0;; stage++) {
        struct lh_search *search = calloc(1, sizeof *search);
        if (search == NULL) {
            ret_result->verdict = LH_VERDICT_INCOMPLETE;
            snprintf(ret_result->reason, sizeof ret_result->reason, NO_MEMORY);
            break;
        }
        search->model = model;
        search->options = options;
        search->started = started;
        search->started_cpu = started_cpu;
        search->last_checkpoint = started;
        search->restart_buckets = restart_at(options, stage);
        lh_progress_open(&search->progress, options->progress);
        const uint64_t buckets =
            known ? lh_fpset_buckets_for(options->expected_distinct) : stages[stage].buckets;
        if (!open_search(search, buckets) && search->reason[0] == '\0')
            lh_search_fail(search, NO_MEMORY);
        if (!atomic_load(&search->failed))
            run_threads(search);
        lh_progress_close(&search->progress);
        fill_result(search, ret_result);
        const bool again = search->too_short;
        close_search(search);
        free(search);
        if (!again)
            break;
    }
    restore_signals(old);
}
