// The search runs in rounds between two barriers. In a round every thread takes segments of the
// present level, expands a block of states, fetches the buckets of all successors, and only then
// looks them up: the memory latency of one successor hides behind the others. A round ends when the
// level is exhausted or the visited set must grow; threads then stand still with their block half
// done, the first thread does what needs doing, and they go on exactly where they stopped.
//
// What must stay true: a successor is packed into the next level if and only if its fingerprint was
// new, and its invariants were checked before.
#include "check/search.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "check/checkpoint.h"
#include "check/fpset.h"
#include "check/frontier.h"
#include "check/history.h"
#include "check/progress.h"

enum { BLOCK_STATES = 32, BATCH_MIN = 256 };

struct violation {
    enum lh_invariant invariant;
    uint64_t parent; // number of the state before, within its level
    uint8_t ordinal;
};

struct worker {
    struct search *search;
    pthread_t thread;
    uint32_t index;
    struct lh_batch batch;
    struct lh_fp *fingerprints; // of the batch
    uint32_t batch_at;          // successors of the batch that are looked up
    uint64_t block_first;       // number of the block's first state
    uint8_t *block_raw;
    struct lh_fp *block_lanes;
    uint8_t *segment; // being read
    uint32_t segment_count;
    uint32_t segment_at;
    uint64_t segment_first;
    uint8_t *out; // being filled, for the next level
    struct lh_origin *origins;
    uint32_t out_count;
    struct lh_conform conform;
};

struct search {
    const struct lh_model *model;
    const struct lh_search_options *options;
    struct lh_fpset set;
    struct lh_frontier frontiers[2];
    struct lh_frontier *present;
    struct lh_frontier *next;
    struct lh_history history;
    struct worker *workers;
    uint32_t threads;
    pthread_barrier_t barrier;
    uint64_t generated; // at the last barrier
    uint32_t depth;
    double started;
    double last_checkpoint;
    struct lh_progress progress;
    bool done;
    bool too_short; // the fingerprint is, for so many states: start again
    uint64_t restart_buckets;

    _Atomic uint64_t distinct;
    _Atomic bool must_grow;
    _Atomic bool stop;   // found something, or failed
    _Atomic bool failed; // no memory, or the file
    pthread_mutex_t mutex;
    struct violation violation;
    char fault[LH_CONFORM_TEXT];
    char reason[LH_CHECK_ERROR_SIZE];
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(struct search *search, const char *reason)
{
    pthread_mutex_lock(&search->mutex);
    if (search->reason[0] == '\0')
        snprintf(search->reason, sizeof search->reason, "%s", reason);
    pthread_mutex_unlock(&search->mutex);
    atomic_store(&search->failed, true);
    atomic_store(&search->stop, true);
}

static void report_violation(struct search *search, enum lh_invariant invariant, uint64_t parent,
                             uint8_t ordinal)
{
    pthread_mutex_lock(&search->mutex);
    if (search->violation.invariant == LH_INV_NONE)
        search->violation = (struct violation){invariant, parent, ordinal};
    pthread_mutex_unlock(&search->mutex);
    atomic_store(&search->stop, true);
}

static void report_fault(struct search *search, const struct lh_conform_fault *fault,
                         uint64_t parent)
{
    pthread_mutex_lock(&search->mutex);
    if (search->violation.invariant == LH_INV_NONE)
        snprintf(search->fault, sizeof search->fault, "%s", fault->text);
    pthread_mutex_unlock(&search->mutex);
    report_violation(search, LH_INV_CONFORMANCE, parent, fault->ordinal);
}

static uint64_t memory_used(const struct search *search)
{
    return search->set.mapped_bytes + search->frontiers[0].memory_bytes +
           search->frontiers[1].memory_bytes + search->history.bytes;
}

// Hands the filled buffer over to the next level.
static void flush_out(struct worker *worker)
{
    struct search *search = worker->search;
    if (worker->out_count == 0)
        return;
    const uint64_t first = lh_frontier_append(search->next, worker->out, worker->out_count);
    worker->out = NULL;
    if (first == UINT64_MAX) {
        fail(search, "the frontier could not be written: free space for --spill, or memory");
        return;
    }
    if (search->history.enabled &&
        !lh_history_append(&search->history, first, worker->origins, worker->out_count))
        fail(search, "no memory for the trace: give --memory more, or leave the trace out");
    worker->out_count = 0;
    worker->out = lh_frontier_buffer(search->next);
    if (worker->out == NULL)
        fail(search, "no memory for the frontier: give --spill DIR");
    if (memory_used(search) > search->options->memory_bytes) {
        if (search->history.enabled && search->history.bytes > 0)
            return; // the first thread drops the history at the next barrier
        fail(search, "the memory limit is reached: raise --memory, or give --spill DIR");
    }
}

static void keep_successor(struct worker *worker, uint32_t at)
{
    struct search *search = worker->search;
    const struct lh_layout *layout = &search->model->layout;
    const struct lh_batch *batch = &worker->batch;
    const uint8_t *raw = batch->raw + (size_t)at * layout->stride;
    const uint64_t parent = worker->block_first + batch->parents[at];
    const enum lh_invariant violated = search->model->violated(search->model, raw);
    if (violated != LH_INV_NONE)
        report_violation(search, violated, parent, batch->ordinals[at]);
    lh_layout_pack(layout, raw, worker->out + (size_t)worker->out_count * layout->packed_bytes);
    worker->origins[worker->out_count] =
        (struct lh_origin){.parent = (uint32_t)parent, .ordinal = batch->ordinals[at]};
    if (++worker->out_count == search->next->segment_states)
        flush_out(worker);
}

// Looks the rest of the batch up. Returns false if the round must end first.
static bool drain_batch(struct worker *worker)
{
    struct search *search = worker->search;
    uint64_t added = 0;
    bool drained = true;
    for (; worker->batch_at < worker->batch.count; worker->batch_at++) {
        const enum lh_fpset_result result =
            lh_fpset_insert(&search->set, worker->fingerprints[worker->batch_at]);
        if (result == LH_FPSET_FULL) {
            atomic_store(&search->must_grow, true);
            drained = false;
            break;
        }
        if (result == LH_FPSET_NEW) {
            added++;
            keep_successor(worker, worker->batch_at);
            if (worker->out == NULL) {
                drained = false;
                break;
            }
        }
    }
    const uint64_t distinct = atomic_fetch_add(&search->distinct, added) + added;
    if (distinct > lh_fpset_capacity(search->set.buckets))
        atomic_store(&search->must_grow, true);
    return drained;
}

static void expand_block(struct worker *worker)
{
    struct search *search = worker->search;
    const struct lh_model *model = search->model;
    const struct lh_layout *layout = &model->layout;
    struct lh_batch *batch = &worker->batch;
    batch->count = 0;
    worker->batch_at = 0;
    worker->block_first = worker->segment_first + worker->segment_at;
    for (uint32_t state = 0; state < BLOCK_STATES && worker->segment_at < worker->segment_count &&
                             batch->count + model->max_successors <= batch->capacity;
         state++, worker->segment_at++) {
        const uint32_t before = batch->count;
        lh_layout_unpack(layout,
                         worker->segment + (size_t)worker->segment_at * layout->packed_bytes,
                         worker->block_raw);
        lh_model_hash(model, worker->block_raw, worker->block_lanes);
        batch->parent = state;
        if (search->options->conform && !lh_conform_state(&worker->conform, worker->block_raw))
            report_fault(search, &worker->conform.fault, worker->block_first + state);
        model->expand(model, worker->block_raw, worker->block_lanes, batch);
        for (uint32_t i = before; i < batch->count; i++) {
            worker->fingerprints[i] =
                lh_model_fingerprint(model, batch->lanes + (size_t)i * layout->lanes);
            lh_fpset_prefetch(&search->set, worker->fingerprints[i]);
        }
    }
    if (batch->violated != LH_INV_NONE)
        report_violation(search, batch->violated, worker->block_first + batch->violated_parent,
                         batch->violated_ordinal);
}

static bool next_segment(struct worker *worker)
{
    bool file_failed = false;
    free(worker->segment);
    worker->segment = NULL;
    worker->segment_at = 0;
    worker->segment_count = 0;
    if (lh_frontier_take(worker->search->present, &worker->segment, &worker->segment_count,
                         &worker->segment_first, &file_failed))
        return true;
    if (file_failed)
        fail(worker->search, "the spilled frontier could not be read back");
    return false;
}

static void report_progress(struct worker *worker)
{
    struct search *search = worker->search;
    uint64_t generated = 0;
    for (uint32_t i = 0; i < search->threads; i++)
        generated += search->workers[i].batch.generated; // a little stale is fine
    lh_progress_show(&search->progress, generated, atomic_load(&search->distinct), search->depth,
                     search->next->states, memory_used(search), search->set.bits);
}

// One round: until the level is exhausted, the set must grow, or the search ends.
static void work(struct worker *worker)
{
    struct search *search = worker->search;
    for (uint32_t blocks = 0;; blocks++) {
        if (worker->batch_at < worker->batch.count && !drain_batch(worker))
            return;
        if (atomic_load_explicit(&search->must_grow, memory_order_relaxed) ||
            atomic_load_explicit(&search->stop, memory_order_relaxed))
            return;
        if (worker->segment_at == worker->segment_count && !next_segment(worker)) {
            flush_out(worker);
            return;
        }
        expand_block(worker);
        if (worker->index == 0 && blocks % 64 == 0) {
            report_progress(worker);
            if (search->options->checkpoint == NULL && interrupted)
                fail(search, "interrupted; --checkpoint FILE would have kept what was done");
            if (search->options->time_limit_seconds != 0 && search->options->checkpoint == NULL &&
                seconds_now() - search->started > search->options->time_limit_seconds)
                fail(search, "the time limit is reached: raise --time");
        }
    }
}

static bool grow_set(struct search *search)
{
    uint64_t buckets = search->set.buckets + search->set.buckets / 16 + 16;
    const uint64_t others = memory_used(search) - search->set.mapped_bytes;
    if (lh_fpset_bytes(buckets) + others > search->options->memory_bytes) {
        if (search->history.bytes > 0) {
            lh_history_disable(&search->history);
            return grow_set(search);
        }
        fail(search, "the memory limit is reached: raise --memory");
        return false;
    }
    if (buckets > search->restart_buckets) {
        search->too_short = true;
        return false;
    }
    if (!lh_fpset_grow(&search->set, buckets)) {
        fail(search, "the machine has no more memory");
        return false;
    }
    return true;
}

static void save_checkpoint(struct search *search)
{
    const struct lh_checkpoint checkpoint = {.model = search->model,
                                             .set = &search->set,
                                             .frontier = search->present,
                                             .distinct = atomic_load(&search->distinct),
                                             .generated = search->generated,
                                             .depth = search->depth};
    if (!lh_checkpoint_save(&checkpoint, search->options->checkpoint))
        fprintf(stderr, "leasehold check: %s could not be written: the search goes on without it\n",
                search->options->checkpoint);
    search->last_checkpoint = seconds_now();
}

static bool load_checkpoint(struct search *search)
{
    struct lh_checkpoint checkpoint = {
        .model = search->model, .set = &search->set, .frontier = search->present};
    const char *wrong = lh_checkpoint_load(&checkpoint, search->options->resume);
    if (wrong != NULL) {
        fail(search, wrong);
        return false;
    }
    search->distinct = checkpoint.distinct;
    search->workers[0].batch.generated = checkpoint.generated;
    search->depth = checkpoint.depth;
    return true;
}

// The next level becomes the present one.
static void turn_level(struct search *search)
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
    const struct lh_search_options *options = search->options;
    if (options->checkpoint != NULL) {
        const bool late = options->time_limit_seconds != 0 &&
                          seconds_now() - search->started > options->time_limit_seconds;
        if (interrupted || late ||
            seconds_now() - search->last_checkpoint > options->checkpoint_seconds)
            save_checkpoint(search);
        if (interrupted || late) {
            fail(search, "stopped; --resume with the checkpoint goes on from here");
            search->done = true;
        }
    }
    if (search->history.enabled && !lh_history_begin_level(&search->history))
        lh_history_disable(&search->history);
}

// What the first thread does while the others stand still.
static void coordinate(struct search *search)
{
    search->generated = 0;
    bool level_done = true;
    for (uint32_t i = 0; i < search->threads; i++) {
        const struct worker *worker = &search->workers[i];
        search->generated += worker->batch.generated;
        if (worker->segment_at < worker->segment_count || worker->batch_at < worker->batch.count)
            level_done = false;
    }
    if (atomic_load(&search->stop)) {
        search->done = true;
        return;
    }
    if (memory_used(search) > search->options->memory_bytes && search->history.bytes > 0)
        lh_history_disable(&search->history);
    if (atomic_load(&search->must_grow)) {
        atomic_store(&search->must_grow, false);
        if (!grow_set(search))
            search->done = true;
        return; // the level goes on; if it was done, the next round finds that out
    }
    if (level_done)
        turn_level(search);
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    struct search *search = worker->search;
    for (;;) {
        pthread_barrier_wait(&search->barrier);
        if (search->done)
            return NULL;
        work(worker);
        pthread_barrier_wait(&search->barrier);
        if (worker->index == 0)
            coordinate(search);
    }
}

static bool open_worker(struct search *search, uint32_t index)
{
    const struct lh_layout *layout = &search->model->layout;
    struct worker *worker = &search->workers[index];
    const uint32_t capacity = BATCH_MIN + search->model->max_successors;
    worker->search = search;
    worker->index = index;
    worker->fingerprints = calloc(capacity, sizeof(struct lh_fp));
    worker->block_raw = aligned_alloc(64, layout->stride);
    worker->block_lanes = calloc(layout->lanes, sizeof(struct lh_fp));
    worker->out = lh_frontier_buffer(search->next);
    worker->origins = calloc(search->next->segment_states, sizeof(struct lh_origin));
    if (worker->block_raw != NULL)
        memset(worker->block_raw, 0, layout->stride);
    if (search->options->conform && !lh_conform_open(&worker->conform, search->model))
        return false;
    return lh_batch_open(&worker->batch, search->model, capacity) && worker->fingerprints != NULL &&
           worker->block_raw != NULL && worker->block_lanes != NULL && worker->out != NULL &&
           worker->origins != NULL;
}

static void close_worker(struct worker *worker)
{
    lh_batch_close(&worker->batch);
    lh_conform_close(&worker->conform);
    free(worker->fingerprints);
    free(worker->block_raw);
    free(worker->block_lanes);
    free(worker->segment);
    free(worker->out);
    free(worker->origins);
}

// The first level: the initial state alone.
static bool place_initial_state(struct search *search)
{
    const struct lh_model *model = search->model;
    struct worker *worker = &search->workers[0];
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
    return lh_frontier_append(search->present, packed, 1) == 0;
}

static bool open_search(struct search *search, uint64_t buckets)
{
    const struct lh_search_options *options = search->options;
    const uint32_t state_bytes = search->model->layout.packed_bytes;
    const uint64_t budget = options->memory_bytes / 16;
    search->threads = options->threads;
    search->present = &search->frontiers[0];
    search->next = &search->frontiers[1];
    search->workers = calloc(search->threads, sizeof(struct worker));
    if (search->workers == NULL || pthread_mutex_init(&search->mutex, NULL) != 0)
        return false;
    if (!lh_frontier_open(search->present, state_bytes, options->spill_directory, budget) ||
        !lh_frontier_open(search->next, state_bytes, options->spill_directory, budget)) {
        fail(search, "no file can be made in the directory given to --spill");
        return false;
    }
    for (uint32_t i = 0; i < search->threads; i++) {
        if (!open_worker(search, i))
            return false;
    }
    if (options->resume != NULL)
        return load_checkpoint(search);
    if (lh_fpset_bytes(buckets) > options->memory_bytes) {
        fail(search, "the memory limit is below what this configuration needs: raise --memory");
        return false;
    }
    if (!lh_history_open(&search->history) || !lh_fpset_open(&search->set, buckets))
        return false;
    if (!options->want_trace || !lh_history_begin_level(&search->history))
        lh_history_disable(&search->history);
    return place_initial_state(search);
}

static void close_search(struct search *search)
{
    for (uint32_t i = 0; i < search->threads && search->workers != NULL; i++)
        close_worker(&search->workers[i]);
    free(search->workers);
    lh_history_close(&search->history);
    lh_frontier_close(&search->frontiers[0]);
    lh_frontier_close(&search->frontiers[1]);
    lh_fpset_close(&search->set);
}

// Runs the threads until the search is done. Returns false if threads cannot be made.
static bool run_threads(struct search *search)
{
    if (pthread_barrier_init(&search->barrier, NULL, search->threads) != 0)
        return false;
    for (uint32_t i = 1; i < search->threads; i++) {
        if (pthread_create(&search->workers[i].thread, NULL, run_worker, &search->workers[i]) != 0)
            abort(); // the others would wait at the barrier for ever
    }
    run_worker(&search->workers[0]);
    for (uint32_t i = 1; i < search->threads; i++)
        pthread_join(search->workers[i].thread, NULL);
    pthread_barrier_destroy(&search->barrier);
    return true;
}

static void fill_result(const struct search *search, struct lh_search_result *result)
{
    result->distinct = search->distinct;
    result->generated = search->generated;
    result->depth = search->depth;
    result->seconds = seconds_now() - search->started;
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

void lh_search_run(const struct lh_model *model, const struct lh_search_options *options,
                   struct lh_search_result *ret_result)
{
    const double started = seconds_now();
    struct sigaction old_int;
    struct sigaction old_term;
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    memset(ret_result, 0, sizeof *ret_result);
    const bool known = options->expected_distinct != 0;
    for (size_t stage = 0;; stage++) {
        struct search *search = calloc(1, sizeof *search);
        LH_ASSERT(search != NULL);
        search->model = model;
        search->options = options;
        search->started = started;
        search->last_checkpoint = started;
        search->restart_buckets = restart_at(options, stage);
        lh_progress_open(&search->progress, options->progress);
        const uint64_t buckets =
            known ? lh_fpset_buckets_for(options->expected_distinct) : stages[stage].buckets;
        if (!open_search(search, buckets) && search->reason[0] == '\0')
            fail(search, "the machine has no memory for the search");
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
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
}
