// The actions of the lease module (P1..P6, A1..A4, T1..T4) and of the implementation projection,
// one function each, named after the module's action. This is a second encoding of the rules: it
// shares no code with src/lease, so that one mistake cannot hide in both.
//
// A successor is built in place: the parent's variables are copied, each change updates the
// fingerprint by two words, and the result is counted. Only the symmetry lanes make that a loop.
#include "check/lease_model.h"

// What depends on nothing but the kind of search, so that the compiler makes one copy for each.
struct variant {
    bool impl;
    bool one_lane;
};

struct step {
    const struct lh_model *model;
    const struct lh_lease *lease;
    const uint8_t *from;
    const struct lh_fp *from_lanes;
    struct lh_batch *batch;
    uint8_t *raw;
    struct lh_fp *lanes;
    struct variant variant;
    uint8_t ordinal;
};

// Inlining is what turns `variant` into constants. Sanitizers multiply the code, so there it is
// left.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INLINE static
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INLINE static
#endif
#endif
#ifndef INLINE
#define INLINE static inline __attribute__((always_inline))
#endif

INLINE uint32_t lanes_of(const struct step *step)
{
    return step->variant.one_lane ? 1 : step->model->layout.lanes;
}

INLINE void begin(struct step *step)
{
    const struct lh_layout *layout = &step->model->layout;
    const struct lh_batch *batch = step->batch;
    const uint32_t lanes = lanes_of(step);
    step->raw = batch->raw + (size_t)batch->count * layout->stride;
    step->lanes = batch->lanes + (size_t)batch->count * lanes;
    if (layout->stride == 64)
        memcpy(step->raw, step->from, 64);
    else
        memcpy(step->raw, step->from, layout->stride);
    for (uint32_t lane = 0; lane < lanes; lane++)
        step->lanes[lane] = step->from_lanes[lane];
}

INLINE void put(struct step *step, uint32_t variable, uint32_t value)
{
    const uint32_t old = step->raw[variable];
    if (!step->variant.one_lane && old == value)
        return;
    const struct lh_layout *layout = &step->model->layout;
    const struct lh_fp *out = lh_layout_variable_word(layout, variable, old);
    const struct lh_fp *in = lh_layout_variable_word(layout, variable, value);
    const uint32_t lanes = lanes_of(step);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        step->lanes[lane].high ^= out[lane].high ^ in[lane].high;
        step->lanes[lane].low ^= out[lane].low ^ in[lane].low;
    }
    step->raw[variable] = (uint8_t)value;
}

INLINE void flip_message(struct step *step, uint32_t message)
{
    const struct lh_fp *word = lh_layout_message_word(&step->model->layout, message);
    const uint32_t lanes = lanes_of(step);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        step->lanes[lane].high ^= word[lane].high;
        step->lanes[lane].low ^= word[lane].low;
    }
}

INLINE void add_message(struct step *step, uint32_t message)
{
    uint16_t *network = lh_layout_network(&step->model->layout, step->raw);
    const uint32_t count = network[0];
    for (uint32_t i = 1; i <= count; i++) {
        if (network[i] == message)
            return;
    }
    network[1 + count] = (uint16_t)message;
    network[0] = (uint16_t)(count + 1);
    flip_message(step, message);
}

INLINE void take_message(struct step *step, uint32_t index)
{
    uint16_t *network = lh_layout_network(&step->model->layout, step->raw);
    const uint32_t last = network[0];
    flip_message(step, network[1 + index]);
    network[1 + index] = network[last];
    network[0] = (uint16_t)(last - 1);
}

// The connection-lifecycle transport: what was under way to a process dies with it.
INLINE void purge_inbox(struct step *step, uint32_t inbox)
{
    if (!step->model->config.crash_drops_incoming)
        return;
    const uint16_t *network = lh_layout_network(&step->model->layout, step->raw);
    for (uint32_t i = network[0]; i-- > 0;) {
        if (step->lease->messages[network[1 + i]].inbox & inbox)
            take_message(step, i);
    }
}

INLINE void commit(struct step *step, struct lh_action action)
{
    struct lh_batch *batch = step->batch;
    const struct lh_layout *layout = &step->model->layout;
    const uint32_t at = batch->count;
    const bool outside = lh_layout_network(layout, step->raw)[0] > layout->max_network;
    const uint8_t ordinal = step->ordinal++;
    batch->generated++;
    if (outside) {
        const enum lh_invariant violated = step->model->violated(step->model, step->raw);
        if (violated != LH_INV_NONE && batch->violated == LH_INV_NONE) {
            batch->violated = violated;
            batch->violated_parent = batch->parent;
            batch->violated_ordinal = ordinal;
        }
        if (!batch->keep_outside)
            return;
    }
    batch->actions[at] = action;
    batch->parents[at] = batch->parent;
    batch->ordinals[at] = ordinal;
    batch->outside[at] = outside;
    batch->count = at + 1;
}

INLINE uint32_t acceptor_value(const struct step *step, uint32_t a, uint32_t variable)
{
    return step->from[lh_lease_acceptor(a, variable)];
}

INLINE uint32_t proposer_value(const struct step *step, uint32_t p, uint32_t variable)
{
    return step->from[lh_lease_proposer(step->lease, p, variable)];
}

INLINE void put_acceptor(struct step *step, uint32_t a, uint32_t variable, uint32_t value)
{
    put(step, lh_lease_acceptor(a, variable), value);
}

INLINE void put_proposer(struct step *step, uint32_t p, uint32_t variable, uint32_t value)
{
    put(step, lh_lease_proposer(step->lease, p, variable), value);
}

INLINE bool can_participate(const struct step *step, uint32_t a)
{
    return !acceptor_value(step, a, LH_A_CRASHED) &&
           step->from[LH_VAR_NOW] >= acceptor_value(step, a, LH_A_QUARANTINE);
}

INLINE bool has_live_record(const struct step *step, uint32_t a)
{
    return acceptor_value(step, a, LH_A_OWNER) != 0 &&
           step->from[LH_VAR_NOW] < acceptor_value(step, a, LH_A_DEADLINE);
}

INLINE bool is_quorum(const struct step *step, uint32_t answers)
{
    if (step->model->config.weaken & LH_WEAKEN_SCALAR_QUORUM)
        return step->lease->scalar_quorum[answers];
    return step->lease->quorum[answers];
}

INLINE uint32_t with_answer(const struct step *step, uint32_t answers, uint32_t acceptor)
{
    if (step->model->config.weaken & LH_WEAKEN_SCALAR_QUORUM)
        return answers < step->lease->acceptors ? answers + 1 : answers;
    return answers | 1u << acceptor;
}

INLINE void clear_record(struct step *step, uint32_t a)
{
    put_acceptor(step, a, LH_A_OWNER, 0);
    put_acceptor(step, a, LH_A_BALLOT, 0);
    put_acceptor(step, a, LH_A_DEADLINE, 0);
}

INLINE void send_to_all(struct step *step, enum lh_message_kind kind, uint32_t p, uint32_t ballot)
{
    for (uint32_t a = 0; a < step->lease->acceptors; a++) {
        add_message(step,
                    lh_lease_message(step->lease, (struct lh_message){.kind = (uint8_t)kind,
                                                                      .proposer = (uint8_t)p,
                                                                      .acceptor = (uint8_t)a,
                                                                      .ballot = (uint8_t)ballot}));
    }
}

// P1. The lease module stores the deadline here (T1); the projection starts the retry timer
// instead.
INLINE void start_acquire(struct step *step, uint32_t p)
{
    const struct lh_check_config *config = &step->model->config;
    const uint32_t now = step->from[LH_VAR_NOW];
    const uint32_t used = step->from[LH_VAR_USED];
    const bool active = proposer_value(step, p, LH_P_ACTIVE) != 0;
    if (active && !config->allow_renewal)
        return;
    for (uint32_t ballot = proposer_value(step, p, LH_P_BALLOT) + 1; ballot <= config->ballots;
         ballot++) {
        if (used & 1u << (ballot - 1))
            continue;
        begin(step);
        put_proposer(step, p, LH_P_BALLOT, ballot);
        put(step, LH_VAR_USED, used | 1u << (ballot - 1));
        if (step->variant.impl)
            put_proposer(step, p, LH_P_ATTEMPT, now + config->retry_timeout);
        else if (!(config->weaken & LH_WEAKEN_LATE_TIMER))
            put_proposer(step, p, LH_P_PENDING, now + config->proposer_duration);
        put_proposer(step, p, LH_P_PHASE, LH_PHASE_PREPARING);
        put_proposer(step, p, LH_P_OPEN, 0);
        put_proposer(step, p, LH_P_ACCEPTED, 0);
        send_to_all(step, LH_MSG_PREPARE, p, ballot);
        commit(step, (struct lh_action){.kind = LH_ACT_START_ACQUIRE,
                                        .process = (uint8_t)p,
                                        .argument = (uint8_t)ballot});
        if (!active && config->allow_renewal)
            step->batch->generated++; // TLC takes both branches of the disjunction
    }
}

// P3. Under late-timer, and in the projection, the deadline starts only here.
INLINE void send_accept(struct step *step, uint32_t p)
{
    const struct lh_check_config *config = &step->model->config;
    const uint32_t now = step->from[LH_VAR_NOW];
    const bool late = step->variant.impl || (config->weaken & LH_WEAKEN_LATE_TIMER) != 0;
    if (proposer_value(step, p, LH_P_PHASE) != LH_PHASE_PREPARING ||
        !is_quorum(step, proposer_value(step, p, LH_P_OPEN)))
        return;
    if (!late && now >= proposer_value(step, p, LH_P_PENDING))
        return;
    begin(step);
    if (late)
        put_proposer(step, p, LH_P_PENDING, now + config->proposer_duration);
    put_proposer(step, p, LH_P_PHASE, LH_PHASE_ACCEPTING);
    put_proposer(step, p, LH_P_ACCEPTED, 0);
    send_to_all(step, LH_MSG_ACCEPT, p, proposer_value(step, p, LH_P_BALLOT));
    commit(step, (struct lh_action){.kind = LH_ACT_SEND_ACCEPT, .process = (uint8_t)p});
}

// P5. In the projection only an overdue attempt is abandoned, and under timely dispatch Tick does
// it.
INLINE void abandon(struct step *step, uint32_t p)
{
    if (proposer_value(step, p, LH_P_PHASE) == LH_PHASE_IDLE)
        return;
    if (step->variant.impl ? step->model->config.timely_dispatch ||
                                 step->from[LH_VAR_NOW] < proposer_value(step, p, LH_P_ATTEMPT)
                           : !step->model->config.allow_abandon)
        return;
    begin(step);
    put_proposer(step, p, LH_P_PHASE, LH_PHASE_IDLE);
    commit(step, (struct lh_action){.kind = LH_ACT_ABANDON, .process = (uint8_t)p});
}

// P6.
INLINE void release(struct step *step, uint32_t p)
{
    if (!step->model->config.allow_release || !proposer_value(step, p, LH_P_ACTIVE))
        return;
    begin(step);
    put_proposer(step, p, LH_P_ACTIVE, 0);
    send_to_all(step, LH_MSG_RELEASE, p, proposer_value(step, p, LH_P_ACTIVE_BALLOT));
    commit(step, (struct lh_action){.kind = LH_ACT_RELEASE, .process = (uint8_t)p});
}

// A message in flight that is delivered.
struct arrival {
    const struct lh_message *message;
    uint32_t index; // in flight
    bool keep;      // it may be delivered once more
};

INLINE uint32_t number_in_flight(const struct step *step, uint32_t index)
{
    return lh_layout_network_const(&step->model->layout, step->from)[1 + index];
}

INLINE void begin_delivery(struct step *step, const struct arrival *arrival)
{
    begin(step);
    if (!arrival->keep)
        take_message(step, arrival->index);
}

INLINE void commit_delivery(struct step *step, const struct arrival *arrival,
                            enum lh_action_kind kind, uint32_t process)
{
    commit(step, (struct lh_action){.kind = (uint8_t)kind,
                                    .process = (uint8_t)process,
                                    .message = (uint16_t)number_in_flight(step, arrival->index),
                                    .keep = arrival->keep});
}

// A1: promise a ballot that is not below the promised one; report the live record, or none.
INLINE void deliver_prepare(struct step *step, const struct arrival *arrival)
{
    const struct lh_message *m = arrival->message;
    const uint32_t a = m->acceptor;
    if (!can_participate(step, a))
        return;
    begin_delivery(step, arrival);
    if (m->ballot >= acceptor_value(step, a, LH_A_PROMISED)) {
        struct lh_message promise = {.kind = LH_MSG_PROMISE,
                                     .proposer = m->proposer,
                                     .acceptor = m->acceptor,
                                     .ballot = m->ballot};
        if (has_live_record(step, a)) {
            promise.owner = (uint8_t)acceptor_value(step, a, LH_A_OWNER);
            promise.accepted_ballot = (uint8_t)acceptor_value(step, a, LH_A_BALLOT);
            promise.deadline = (uint8_t)acceptor_value(step, a, LH_A_DEADLINE);
        }
        add_message(step, lh_lease_message(step->lease, promise));
        put_acceptor(step, a, LH_A_PROMISED, m->ballot);
    }
    commit_delivery(step, arrival, LH_ACT_DELIVER_PREPARE, a);
}

// P2: open is a promise without a live record, or, in a renewal, with exactly the record renewed.
INLINE bool is_open(const struct step *step, const struct lh_message *m)
{
    const uint32_t p = m->proposer;
    if (m->owner == 0)
        return true;
    if (m->owner != p + 1)
        return false;
    if (step->variant.impl || (step->model->config.weaken & LH_WEAKEN_STALE_OWNER_OPEN))
        return true;
    return proposer_value(step, p, LH_P_ACTIVE) != 0 &&
           m->accepted_ballot == proposer_value(step, p, LH_P_ACTIVE_BALLOT);
}

INLINE void deliver_promise(struct step *step, const struct arrival *arrival)
{
    const struct lh_message *m = arrival->message;
    const uint32_t p = m->proposer;
    if (proposer_value(step, p, LH_P_CRASHED) || m->ballot != proposer_value(step, p, LH_P_BALLOT))
        return;
    begin_delivery(step, arrival);
    if (is_open(step, m))
        put_proposer(step, p, LH_P_OPEN,
                     with_answer(step, proposer_value(step, p, LH_P_OPEN), m->acceptor));
    commit_delivery(step, arrival, LH_ACT_DELIVER_PROMISE, p);
}

// A2. RefuseLiveOverwrite keeps a live record of another owner, whatever the ballot.
INLINE void deliver_accept(struct step *step, const struct arrival *arrival)
{
    const struct lh_message *m = arrival->message;
    const struct lh_check_config *config = &step->model->config;
    const uint32_t a = m->acceptor;
    const uint32_t owner = m->proposer + 1u;
    if (!can_participate(step, a))
        return;
    const bool granted = m->ballot >= acceptor_value(step, a, LH_A_PROMISED) &&
                         (!config->refuse_live_overwrite || !has_live_record(step, a) ||
                          acceptor_value(step, a, LH_A_OWNER) == owner);
    begin_delivery(step, arrival);
    if (granted) {
        const uint32_t deadline = step->from[LH_VAR_NOW] + config->acceptor_duration;
        add_message(step, lh_lease_message(step->lease,
                                           (struct lh_message){.kind = LH_MSG_ACCEPTED,
                                                               .proposer = m->proposer,
                                                               .acceptor = m->acceptor,
                                                               .ballot = m->ballot,
                                                               .deadline = (uint8_t)deadline}));
        put_acceptor(step, a, LH_A_PROMISED, m->ballot);
        put_acceptor(step, a, LH_A_OWNER, owner);
        put_acceptor(step, a, LH_A_BALLOT, m->ballot);
        put_acceptor(step, a, LH_A_DEADLINE, deadline);
    }
    commit_delivery(step, arrival, LH_ACT_DELIVER_ACCEPT, a);
}

// P4: a quorum of acceptors before the deadline activates; a quorum in any case ends the attempt.
INLINE void deliver_accepted(struct step *step, const struct arrival *arrival)
{
    const struct lh_message *m = arrival->message;
    const uint32_t p = m->proposer;
    if (proposer_value(step, p, LH_P_CRASHED) ||
        m->ballot != proposer_value(step, p, LH_P_BALLOT) ||
        proposer_value(step, p, LH_P_PHASE) != LH_PHASE_ACCEPTING)
        return;
    const uint32_t answers = with_answer(step, proposer_value(step, p, LH_P_ACCEPTED), m->acceptor);
    const uint32_t pending = proposer_value(step, p, LH_P_PENDING);
    begin_delivery(step, arrival);
    put_proposer(step, p, LH_P_ACCEPTED, answers);
    put_proposer(step, p, LH_P_CERT_DEADLINE + m->acceptor, m->deadline);
    if (is_quorum(step, answers)) {
        put_proposer(step, p, LH_P_PHASE, LH_PHASE_IDLE);
        if (step->from[LH_VAR_NOW] < pending) {
            put_proposer(step, p, LH_P_ACTIVE, 1);
            put_proposer(step, p, LH_P_ACTIVE_BALLOT, m->ballot);
            put_proposer(step, p, LH_P_DEADLINE, pending);
            if (!(step->model->config.weaken & LH_WEAKEN_SCALAR_QUORUM))
                put_proposer(step, p, LH_P_CERT, answers);
        }
    }
    commit_delivery(step, arrival, LH_ACT_DELIVER_ACCEPTED, p);
}

// A3.
INLINE void deliver_release(struct step *step, const struct arrival *arrival)
{
    const struct lh_message *m = arrival->message;
    const uint32_t a = m->acceptor;
    if (!can_participate(step, a))
        return;
    begin_delivery(step, arrival);
    if (acceptor_value(step, a, LH_A_OWNER) == m->proposer + 1u &&
        (acceptor_value(step, a, LH_A_BALLOT) == m->ballot ||
         (step->model->config.weaken & LH_WEAKEN_OWNER_ONLY_RELEASE)))
        clear_record(step, a);
    commit_delivery(step, arrival, LH_ACT_DELIVER_RELEASE, a);
}

INLINE void drop_message(struct step *step, const struct arrival *arrival)
{
    begin_delivery(step, arrival);
    commit_delivery(step, arrival, LH_ACT_DROP, 0);
}

INLINE void deliver(struct step *step, uint32_t index)
{
    const struct lh_message *m = &step->lease->messages[number_in_flight(step, index)];
    const bool redeliver = !step->variant.impl && step->model->config.allow_redeliver;
    struct arrival arrival = {.message = m, .index = index};
    for (int keep = redeliver ? 1 : 0; keep >= 0; keep--) {
        arrival.keep = keep != 0;
        switch (m->kind) {
        case LH_MSG_PREPARE: deliver_prepare(step, &arrival); break;
        case LH_MSG_PROMISE: deliver_promise(step, &arrival); break;
        case LH_MSG_ACCEPT: deliver_accept(step, &arrival); break;
        case LH_MSG_ACCEPTED: deliver_accepted(step, &arrival); break;
        default: deliver_release(step, &arrival); break;
        }
    }
    if (step->model->config.allow_drop)
        drop_message(step, &arrival);
}

INLINE void tick(struct step *step)
{
    const struct lh_check_config *config = &step->model->config;
    const uint32_t now = step->from[LH_VAR_NOW];
    begin(step);
    if (now >= config->max_time) {
        commit(step, (struct lh_action){.kind = LH_ACT_STUTTER});
        return;
    }
    put(step, LH_VAR_NOW, now + 1);
    for (uint32_t p = 0; p < step->lease->proposers; p++) {
        if (proposer_value(step, p, LH_P_ACTIVE) &&
            now + 1 >= proposer_value(step, p, LH_P_DEADLINE))
            put_proposer(step, p, LH_P_ACTIVE, 0);
        if (step->variant.impl && config->timely_dispatch &&
            proposer_value(step, p, LH_P_PHASE) != LH_PHASE_IDLE &&
            now + 1 >= proposer_value(step, p, LH_P_ATTEMPT))
            put_proposer(step, p, LH_P_PHASE, LH_PHASE_IDLE);
    }
    commit(step, (struct lh_action){.kind = LH_ACT_TICK});
}

// A proposer keeps its durable ballots across a crash and loses its authority.
INLINE void crash_proposer(struct step *step, uint32_t p)
{
    const bool crashed = proposer_value(step, p, LH_P_CRASHED) != 0;
    begin(step);
    put_proposer(step, p, LH_P_CRASHED, !crashed);
    if (!crashed) {
        put_proposer(step, p, LH_P_ACTIVE, 0);
        put_proposer(step, p, LH_P_PHASE, LH_PHASE_IDLE);
    }
    if (!step->variant.impl)
        purge_inbox(step, 1u << (step->lease->acceptors + p));
    commit(step,
           (struct lh_action){.kind = crashed ? LH_ACT_RESTART_PROPOSER : LH_ACT_CRASH_PROPOSER,
                              .process = (uint8_t)p});
}

// A4/T3: an acceptor loses everything, and stays silent for the quarantine after its restart.
INLINE void crash_acceptor(struct step *step, uint32_t a)
{
    const bool crashed = acceptor_value(step, a, LH_A_CRASHED) != 0;
    if (!crashed && !(step->lease->crashable & 1u << a))
        return;
    begin(step);
    put_acceptor(step, a, LH_A_CRASHED, !crashed);
    if (crashed) {
        put_acceptor(step, a, LH_A_QUARANTINE,
                     step->from[LH_VAR_NOW] + step->model->config.quarantine);
    } else {
        put_acceptor(step, a, LH_A_PROMISED, 0);
        clear_record(step, a);
    }
    purge_inbox(step, 1u << a);
    commit(step,
           (struct lh_action){.kind = crashed ? LH_ACT_RESTART_ACCEPTOR : LH_ACT_CRASH_ACCEPTOR,
                              .process = (uint8_t)a});
}

INLINE void expand(const struct lh_model *model, const uint8_t *raw, const struct lh_fp *lanes,
                   struct lh_batch *batch, struct variant variant)
{
    struct step step = {.model = model,
                        .lease = lh_lease_of(model),
                        .from = raw,
                        .from_lanes = lanes,
                        .batch = batch,
                        .variant = variant};
    const uint32_t in_flight = lh_layout_network_const(&model->layout, raw)[0];
    for (uint32_t i = 0; i < in_flight; i++)
        deliver(&step, i);
    for (uint32_t p = 0; p < step.lease->proposers; p++) {
        if (!proposer_value(&step, p, LH_P_CRASHED)) {
            if (proposer_value(&step, p, LH_P_PHASE) == LH_PHASE_IDLE)
                start_acquire(&step, p);
            send_accept(&step, p);
            abandon(&step, p);
            release(&step, p);
        }
        if (model->config.allow_crash)
            crash_proposer(&step, p);
    }
    for (uint32_t a = 0; a < step.lease->acceptors && model->config.allow_crash; a++)
        crash_acceptor(&step, a);
    tick(&step);
}

static void expand_lease(const struct lh_model *model, const uint8_t *raw,
                         const struct lh_fp *lanes, struct lh_batch *batch)
{
    expand(model, raw, lanes, batch, (struct variant){.impl = false, .one_lane = true});
}

static void expand_impl(const struct lh_model *model, const uint8_t *raw, const struct lh_fp *lanes,
                        struct lh_batch *batch)
{
    expand(model, raw, lanes, batch, (struct variant){.impl = true, .one_lane = true});
}

static void expand_symmetric(const struct lh_model *model, const uint8_t *raw,
                             const struct lh_fp *lanes, struct lh_batch *batch)
{
    expand(model, raw, lanes, batch,
           (struct variant){.impl = model->config.module == LH_CHECK_IMPL, .one_lane = false});
}

lh_expand *lh_lease_expand(const struct lh_check_config *config)
{
    if (config->symmetry)
        return expand_symmetric;
    return config->module == LH_CHECK_IMPL ? expand_impl : expand_lease;
}
