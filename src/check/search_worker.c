// One thread of the search: it takes segments of the present level, expands a block of states,
// fetches the buckets of all successors, and only then looks them up, so that the memory latency of
// one hides behind the others.
//
// Many successors of neighbouring states are the same state, reached by the same steps in another
// order. Each thread remembers, in a table that stays in its cache, whole fingerprints that it has
// looked up or is about to: what is found there needs no look into the large set.
//
// What must stay true: a successor is packed into the next level if and only if its fingerprint was
// new, and its invariants were checked before.
#include "check/search_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_STATES = 32, BATCH_MIN = 256, SEEN = 1 << 13 };

static void report_violation(struct lh_search *search, enum lh_invariant invariant, uint64_t parent,
                             uint8_t ordinal)
{
    pthread_mutex_lock(&search->mutex);
    if (search->violation.invariant == LH_INV_NONE)
        search->violation = (struct lh_search_violation){invariant, parent, ordinal};
    pthread_mutex_unlock(&search->mutex);
    atomic_store(&search->stop, true);
}

static void report_fault(struct lh_search *search, const struct lh_conform_fault *fault,
                         uint64_t parent)
{
    pthread_mutex_lock(&search->mutex);
    if (search->violation.invariant == LH_INV_NONE)
        snprintf(search->fault, sizeof search->fault, "%s", fault->text);
    pthread_mutex_unlock(&search->mutex);
    report_violation(search, LH_INV_CONFORMANCE, parent, fault->ordinal);
}

void lh_search_flush(struct lh_search_worker *worker)
{
    struct lh_search *search = worker->search;
    if (worker->out_count == 0)
        return;
    const uint64_t first = lh_frontier_append(search->next, worker->out, worker->out_count);
    worker->out = NULL;
    if (first == UINT64_MAX) {
        lh_search_fail(search,
                       "the frontier could not be written: free space for --spill, or memory");
        return;
    }
    if (search->history.enabled &&
        !lh_history_append(&search->history, first, worker->origins, worker->out_count))
        lh_search_fail(search,
                       "no memory for the trace: give --memory more, or leave the trace out");
    worker->out_count = 0;
    worker->out = lh_frontier_buffer(search->next);
    if (worker->out == NULL)
        lh_search_fail(search, "no memory for the frontier: give --spill DIR");
    if (lh_search_memory_used(search) > search->options->memory_bytes) {
        if (search->history.enabled && search->history.bytes > 0)
            return; // the first thread drops the history at the next barrier
        lh_search_fail(search, "the memory limit is reached: raise --memory, or give --spill DIR");
    }
}

static void keep_successor(struct lh_search_worker *worker, uint32_t at)
{
    struct lh_search *search = worker->search;
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
        lh_search_flush(worker);
}

// Looks the rest of the batch up. Returns false if the round must end first.
static bool drain_batch(struct lh_search_worker *worker)
{
    struct lh_search *search = worker->search;
    uint64_t added = 0;
    bool drained = true;
    for (; worker->lookup_at < worker->lookup_count; worker->lookup_at++) {
        const enum lh_fpset_result result =
            lh_fpset_insert(&search->set, worker->fingerprints[worker->lookup_at]);
        if (result == LH_FPSET_FULL) {
            atomic_store(&search->must_grow, true);
            drained = false;
            break;
        }
        if (result == LH_FPSET_NEW) {
            added++;
            keep_successor(worker, worker->lookups[worker->lookup_at]);
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

// Notes a successor for the lookup, unless it is known to be in the set.
static inline void plan_lookup(struct lh_search_worker *worker, uint32_t at)
{
    const struct lh_model *model = worker->search->model;
    const struct lh_fp fp =
        lh_model_fingerprint(model, worker->batch.lanes + (size_t)at * model->layout.lanes);
    struct lh_fp *seen = &worker->seen[fp.low & (SEEN - 1)];
    if (seen->high == fp.high && seen->low == fp.low)
        return;
    *seen = fp;
    lh_fpset_prefetch(&worker->search->set, fp);
    worker->fingerprints[worker->lookup_count] = fp;
    worker->lookups[worker->lookup_count++] = at;
}

static void expand_state(struct lh_search_worker *worker, uint32_t state)
{
    struct lh_search *search = worker->search;
    const struct lh_model *model = search->model;
    struct lh_batch *batch = &worker->batch;
    const uint32_t before = batch->count;
    const uint64_t generated = batch->generated;
    lh_layout_unpack(&model->layout,
                     worker->segment + (size_t)worker->segment_at * model->layout.packed_bytes,
                     worker->block_raw);
    lh_model_hash(model, worker->block_raw, worker->block_lanes);
    batch->parent = state;
    if (search->options->conform && !lh_conform_state(&worker->conform, worker->block_raw))
        report_fault(search, &worker->conform.fault, worker->block_first + state);
    model->expand(model, worker->block_raw, worker->block_lanes, batch);
    const uint32_t orbit = lh_model_orbit(model, worker->block_lanes);
    worker->unreduced.distinct += orbit;
    worker->unreduced.generated += orbit * (batch->generated - generated);
    for (uint32_t i = before; i < batch->count; i++)
        plan_lookup(worker, i);
}

static void expand_block(struct lh_search_worker *worker)
{
    const uint32_t max_successors = worker->search->model->max_successors;
    struct lh_batch *batch = &worker->batch;
    batch->count = 0;
    worker->lookup_count = 0;
    worker->lookup_at = 0;
    worker->block_first = worker->segment_first + worker->segment_at;
    for (uint32_t state = 0; state < BLOCK_STATES && worker->segment_at < worker->segment_count &&
                             batch->count + max_successors <= batch->capacity;
         state++, worker->segment_at++)
        expand_state(worker, state);
    if (batch->violated != LH_INV_NONE)
        report_violation(worker->search, batch->violated,
                         worker->block_first + batch->violated_parent, batch->violated_ordinal);
}

static bool next_segment(struct lh_search_worker *worker)
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
        lh_search_fail(worker->search, "the spilled frontier could not be read back");
    return false;
}

static void report_progress(struct lh_search_worker *worker)
{
    struct lh_search *search = worker->search;
    uint64_t generated = 0;
    for (uint32_t i = 0; i < search->threads; i++)
        generated += search->workers[i].batch.generated; // a little stale is fine
    lh_progress_show(&search->progress, generated, atomic_load(&search->distinct), search->depth,
                     search->next->states, lh_search_memory_used(search), search->set.bits);
}

void lh_search_work(struct lh_search_worker *worker)
{
    struct lh_search *search = worker->search;
    for (uint32_t blocks = 0;; blocks++) {
        if (worker->lookup_at < worker->lookup_count && !drain_batch(worker))
            return;
        if (atomic_load_explicit(&search->must_grow, memory_order_relaxed) ||
            atomic_load_explicit(&search->must_pause, memory_order_relaxed) ||
            atomic_load_explicit(&search->stop, memory_order_relaxed))
            return;
        if (worker->segment_at == worker->segment_count && !next_segment(worker)) {
            lh_search_flush(worker);
            return;
        }
        expand_block(worker);
        if (worker->index == 0 && blocks % 64 == 0) {
            report_progress(worker);
            if (lh_search_wants_pause(search))
                atomic_store(&search->must_pause, true);
        }
    }
}

bool lh_search_open_worker(struct lh_search *search, uint32_t index)
{
    const struct lh_layout *layout = &search->model->layout;
    struct lh_search_worker *worker = &search->workers[index];
    const uint32_t capacity = BATCH_MIN + search->model->max_successors;
    worker->search = search;
    worker->index = index;
    worker->seen = calloc(SEEN, sizeof(struct lh_fp));
    worker->fingerprints = calloc(capacity, sizeof(struct lh_fp));
    worker->lookups = calloc(capacity, sizeof(uint32_t));
    worker->block_raw = aligned_alloc(64, layout->stride);
    worker->block_lanes = calloc(layout->lanes, sizeof(struct lh_fp));
    worker->out = lh_frontier_buffer(search->next);
    worker->origins = calloc(search->next->segment_states, sizeof(struct lh_origin));
    if (worker->block_raw != NULL)
        memset(worker->block_raw, 0, layout->stride);
    if (search->options->conform && !lh_conform_open(&worker->conform, search->model))
        return false;
    return lh_batch_open(&worker->batch, search->model, capacity) && worker->fingerprints != NULL &&
           worker->seen != NULL && worker->lookups != NULL && worker->block_raw != NULL &&
           worker->block_lanes != NULL && worker->out != NULL && worker->origins != NULL;
}

void lh_search_close_worker(struct lh_search_worker *worker)
{
    lh_batch_close(&worker->batch);
    lh_conform_close(&worker->conform);
    free(worker->seen);
    free(worker->fingerprints);
    free(worker->lookups);
    free(worker->block_raw);
    free(worker->block_lanes);
    free(worker->segment);
    free(worker->out);
    free(worker->origins);
}
