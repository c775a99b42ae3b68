// A1 to A4, D, F1, F2, F4, F5 and the acceptor's half of F3, on the closed network.
#include "check/closed_rules.h"

static struct lh_action of(enum lh_action_kind kind, uint32_t a, uint32_t ballot, uint32_t n)
{
    return (struct lh_action){.kind = (uint8_t)kind,
                              .process = (uint8_t)a,
                              .message = (uint16_t)ballot,
                              .argument = (uint8_t)n};
}

// F1 counts from every answer; F5 raises the ceiling, durably, before it.
static void note_answer(struct lh_closed_step *step, uint8_t *row, uint8_t duration,
                        enum lh_check_rule raises)
{
    row[LH_CA_IDLE] = 0;
    if (!step->config->ceiling)
        return;
    if (duration > row[LH_CA_CEILING] && !lh_closed_weak(step, raises))
        row[LH_CA_CEILING] = duration;
    if (duration >= row[LH_CA_CEILING])
        row[LH_CA_COOL] = 0;
}

// P2, read at once: no live record, or in a renewal exactly the base, and still held.
static bool is_open(const struct lh_closed_step *step, uint32_t p, uint8_t reported)
{
    const uint8_t *row = lh_closed_from_p(step, p);
    if (reported == 0)
        return true;
    if (lh_closed_weak(step, LH_WEAKEN_STALE_OWNER_OPEN) &&
        lh_closed_from_b(step, reported)[LH_CB_OWNER] == p + 1)
        return true;
    if (row[LH_CP_BASE] != reported)
        return false;
    return lh_closed_weak(step, LH_WEAKEN_NOT_HELD_OPEN) ||
           (row[LH_CP_AUTHORITY] != 0 && row[LH_CP_HELD] == reported);
}

static bool attempts(const struct lh_closed_step *step, uint32_t p, uint32_t ballot,
                     enum lh_closed_phase phase)
{
    const uint8_t *row = lh_closed_from_p(step, p);
    return p < step->config->proposers && row[LH_CP_PHASE] == phase && row[LH_CP_BALLOT] == ballot;
}

// A1.
static void deliver_prepare(struct lh_closed_step *step, uint32_t a, uint32_t ballot)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const uint8_t *sent = lh_closed_from_b(step, ballot);
    const uint32_t p = sent[LH_CB_OWNER] - 1u;
    if (ballot < before[LH_CA_PROMISED])
        return;
    const uint8_t reported = before[LH_CA_EXCLUSION] != 0 ? before[LH_CA_RECORD] : 0;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    row[LH_CA_PROMISED] = (uint8_t)ballot;
    if (attempts(step, p, ballot, LH_C_PREPARING) && is_open(step, p, reported))
        row[LH_CA_OPEN] |= (uint8_t)(1u << p);
    if (step->config->prompt && !lh_closed_weak(step, LH_WEAKEN_LATE_TIMER) &&
        attempts(step, p, ballot, LH_C_PREPARING) &&
        lh_closed_from_p(step, p)[LH_CP_PENDING] != 0 && // P3
        lh_closed_has_quorum(step, p, LH_CA_OPEN))
        lh_closed_send_accept(step, p);
    note_answer(step, row, sent[LH_CB_DURATION], LH_WEAKEN_CEILING_PROMISE);
    lh_closed_commit(step, of(LH_ACT_DELIVER_PREPARE, a, ballot, 0));
}

// A2: whether this Accept may take the place of what is recorded.
static bool may_record(const struct lh_closed_step *step, const uint8_t *before, uint32_t ballot)
{
    const uint8_t *sent = lh_closed_from_b(step, ballot);
    const uint8_t record = before[LH_CA_RECORD];
    if (before[LH_CA_EXCLUSION] == 0 || lh_closed_weak(step, LH_WEAKEN_LIVE_OVERWRITE))
        return true;
    if (record == ballot)
        return true;
    if (lh_closed_from_b(step, record)[LH_CB_OWNER] != sent[LH_CB_OWNER])
        return false;
    return sent[LH_CB_BASE] == record || lh_closed_weak(step, LH_WEAKEN_OVERWRITE_BY_OWNER);
}

static void deliver_accept(struct lh_closed_step *step, uint32_t a, uint32_t ballot)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const uint8_t *sent = lh_closed_from_b(step, ballot);
    const uint32_t p = sent[LH_CB_OWNER] - 1u;
    const bool live = before[LH_CA_EXCLUSION] != 0;
    if (!sent[LH_CB_ACCEPT_SENT] || ballot < before[LH_CA_PROMISED] ||
        !may_record(step, before, ballot))
        return;
    const bool once = !lh_closed_weak(step, LH_WEAKEN_RECORDED_AGAIN) &&
                      !lh_closed_weak(step, LH_WEAKEN_LIVE_OVERWRITE);
    const bool repeats = once && before[LH_CA_RECORD] == ballot;
    if (repeats && !live)
        return;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    if (!repeats) {
        const uint8_t record = before[LH_CA_RECORD];
        const bool same_owner =
            live && lh_closed_from_b(step, record)[LH_CB_OWNER] == sent[LH_CB_OWNER];
        row[LH_CA_PROMISED] = (uint8_t)ballot;
        row[LH_CA_RECORD] = (uint8_t)ballot;
        row[LH_CA_STAMP] = 0;
        row[LH_CA_EXCLUSION] = sent[LH_CB_DURATION];
        if (same_owner && !lh_closed_weak(step, LH_WEAKEN_EXCLUSION_SET)) // D
            row[LH_CA_EXCLUSION] = lh_closed_greater(sent[LH_CB_DURATION], before[LH_CA_EXCLUSION]);
    }
    if (attempts(step, p, ballot, LH_C_ACCEPTING))
        row[LH_CA_ANSWERED] |= (uint8_t)(1u << p);
    note_answer(step, row, sent[LH_CB_DURATION], LH_WEAKEN_CEILING_ACCEPT);
    lh_closed_commit(step, of(LH_ACT_DELIVER_ACCEPT, a, ballot, 0));
}

// A3.
static void deliver_release(struct lh_closed_step *step, uint32_t a, uint32_t ballot)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const uint8_t *sent = lh_closed_from_b(step, ballot);
    if (!sent[LH_CB_RELEASED] || before[LH_CA_EXCLUSION] == 0)
        return;
    const bool same_owner =
        lh_closed_from_b(step, before[LH_CA_RECORD])[LH_CB_OWNER] == sent[LH_CB_OWNER];
    if (before[LH_CA_RECORD] != ballot &&
        !(same_owner && lh_closed_weak(step, LH_WEAKEN_OWNER_ONLY_RELEASE)))
        return;
    lh_closed_begin(step);
    lh_closed_a(step, a)[LH_CA_EXCLUSION] = 0;
    lh_closed_commit(step, of(LH_ACT_DELIVER_RELEASE, a, ballot, 0));
}

// F3: exactly the live record; a newer n restarts its exclusion, an older one is only answered.
static void deliver_extend(struct lh_closed_step *step, uint32_t a, uint32_t ballot, uint32_t n)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const uint8_t *sent = lh_closed_from_b(step, ballot);
    const uint8_t duration = sent[LH_CB_EXTEND + n - 1];
    const uint32_t p = sent[LH_CB_OWNER] - 1u;
    const bool live = before[LH_CA_EXCLUSION] != 0;
    const bool exact = before[LH_CA_RECORD] == ballot;
    if (duration == 0 ||
        !((exact && live) || (exact && lh_closed_weak(step, LH_WEAKEN_EXTEND_EXPIRED)) ||
          (live && lh_closed_weak(step, LH_WEAKEN_EXTEND_FOREIGN))))
        return;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    if (n > before[LH_CA_STAMP]) {
        row[LH_CA_STAMP] = (uint8_t)n;
        row[LH_CA_EXCLUSION] = lh_closed_weak(step, LH_WEAKEN_EXCLUSION_SET)
                                   ? duration
                                   : lh_closed_greater(duration, before[LH_CA_EXCLUSION]);
    }
    const uint8_t *owner = lh_closed_from_p(step, p);
    const bool any = lh_closed_weak(step, LH_WEAKEN_OLDER_EXTEND);
    if (owner[LH_CP_HELD] == ballot && any)
        row[LH_CA_STALE] |= (uint8_t)(1u << p);
    if (owner[LH_CP_PHASE] == LH_C_EXTENDING && owner[LH_CP_HELD] == ballot &&
        (owner[LH_CP_STAMP] == n || any))
        row[LH_CA_ANSWERED] |= (uint8_t)(1u << p);
    note_answer(step, row, duration, LH_WEAKEN_CEILING_EXTEND);
    lh_closed_commit(step, of(LH_ACT_DELIVER_EXTEND, a, ballot, n));
}

static void deliveries(struct lh_closed_step *step, uint32_t a)
{
    for (uint32_t ballot = 1; ballot <= step->config->ballots; ballot++) {
        if (lh_closed_from_b(step, ballot)[LH_CB_OWNER] == 0)
            continue;
        deliver_prepare(step, a, ballot);
        deliver_accept(step, a, ballot);
        deliver_release(step, a, ballot);
        for (uint32_t n = 1; n <= step->config->extends; n++)
            deliver_extend(step, a, ballot, n);
    }
}

// Memory is lost; under F2 the floor, on disk, is not. What lies at the floor counts as recorded.
static void lose_memory(struct lh_closed_step *step, uint8_t *row)
{
    if (!step->config->promise_floor || lh_closed_weak(step, LH_WEAKEN_FLOOR_LOST))
        row[LH_CA_PROMISED] = 0;
    row[LH_CA_RECORD] = row[LH_CA_PROMISED];
    row[LH_CA_EXCLUSION] = 0;
    row[LH_CA_STAMP] = 0;
    row[LH_CA_SILENCE] = 0;
}

static void drop_saved(struct lh_closed_step *step, uint8_t *row)
{
    if (lh_closed_weak(step, LH_WEAKEN_SAVED_TWICE))
        return;
    row[LH_CA_SAVED] = 0;
    row[LH_CA_SAVED_PROMISED] = 0;
    row[LH_CA_SAVED_RECORD] = 0;
    row[LH_CA_SAVED_EXCLUSION] = 0;
}

// A4/T3: down with everything forgotten, and up again into the quarantine. Under Prompt both are
// one step: one that stays down for long answers as little as one that crashes again and again.
static void crash(struct lh_closed_step *step, uint32_t a)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const uint8_t silence =
        step->config->ceiling ? before[LH_CA_CEILING] : step->config->quarantine;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    if (before[LH_CA_POWER] == LH_C_DOWN) {
        row[LH_CA_POWER] = LH_C_UP;
        row[LH_CA_SILENCE] = silence;
        lh_closed_commit(step, of(LH_ACT_RESTART_ACCEPTOR, a, 0, 0));
        return;
    }
    if (!(step->closed->crashable & 1u << a))
        return;
    row[LH_CA_POWER] = step->config->prompt ? LH_C_UP : LH_C_DOWN;
    lose_memory(step, row);
    drop_saved(step, row);
    if (step->config->prompt)
        row[LH_CA_SILENCE] = silence;
    lh_closed_commit(step, of(LH_ACT_CRASH_ACCEPTOR, a, 0, 0));
}

// F4: stopped in order, the state is saved; started again, it is consumed.
static void stop(struct lh_closed_step *step, uint32_t a)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    row[LH_CA_SAVED] = 1;
    row[LH_CA_SAVED_PROMISED] = before[LH_CA_PROMISED];
    row[LH_CA_SAVED_RECORD] = before[LH_CA_RECORD];
    row[LH_CA_SAVED_EXCLUSION] = before[LH_CA_EXCLUSION];
    row[LH_CA_POWER] = LH_C_STOPPED;
    lose_memory(step, row);
    lh_closed_commit(step, of(LH_ACT_STOP_ACCEPTOR, a, 0, 0));
}

static void restore(struct lh_closed_step *step, uint32_t a)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    row[LH_CA_POWER] = LH_C_UP;
    row[LH_CA_PROMISED] = lh_closed_greater(before[LH_CA_SAVED_PROMISED], before[LH_CA_PROMISED]);
    row[LH_CA_RECORD] = before[LH_CA_SAVED_RECORD];
    row[LH_CA_EXCLUSION] = before[LH_CA_SAVED_EXCLUSION];
    drop_saved(step, row);
    lh_closed_commit(step, of(LH_ACT_RESTORE_ACCEPTOR, a, 0, 0));
}

// F1: by T3 this is a restart already served. Under F2 the floor takes the place of the promise.
static void forget(struct lh_closed_step *step, uint32_t a)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const uint32_t quarantine =
        step->config->ceiling ? before[LH_CA_CEILING] : step->config->quarantine;
    const uint32_t early = lh_closed_weak(step, LH_WEAKEN_FORGET_EARLY) ? 1 : 0;
    if (before[LH_CA_EXCLUSION] != 0 || before[LH_CA_IDLE] + early < quarantine)
        return;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    if (!step->config->promise_floor)
        row[LH_CA_PROMISED] = 0;
    row[LH_CA_RECORD] = row[LH_CA_PROMISED];
    lh_closed_commit(step, of(LH_ACT_FORGET, a, 0, 0));
}

// F5: once the old quarantine has passed since the last answer above the new ceiling.
static void lower_ceiling(struct lh_closed_step *step, uint32_t a)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    uint8_t lower = before[LH_CA_CEILING];
    if (lower == 0 || before[LH_CA_COOL] < lower)
        return;
    do {
        lower--;
    } while (lower != 0 && !(step->config->durations & 1u << (lower - 1)));
    lh_closed_begin(step);
    uint8_t *row = lh_closed_a(step, a);
    row[LH_CA_CEILING] = lower;
    row[LH_CA_COOL] = before[LH_CA_IDLE];
    lh_closed_commit(step, of(LH_ACT_LOWER_CEILING, a, 0, lower));
}

// A node whose disk is lost asks f+1 others what they reserved, and is silent for M.
static void replace(struct lh_closed_step *step, uint32_t a)
{
    const struct lh_check_config *config = step->config;
    const int needed = (config->acceptors - 1) / 2 + 1;
    for (uint32_t heard = 0; heard < 1u << config->acceptors; heard++) {
        uint8_t floor = 0;
        bool answering = !(heard & 1u << a) && __builtin_popcount(heard) == needed;
        for (uint32_t other = 0; other < config->acceptors && answering; other++) {
            const uint8_t *row = lh_closed_from_a(step, other);
            if (!(heard & 1u << other))
                continue;
            answering = row[LH_CA_POWER] == LH_C_UP;
            floor = lh_closed_greater(floor, row[LH_CA_PROMISED]);
        }
        if (!answering)
            continue;
        lh_closed_begin(step);
        uint8_t *row = lh_closed_a(step, a);
        row[LH_CA_POWER] = LH_C_UP;
        lose_memory(step, row);
        drop_saved(step, row);
        row[LH_CA_PROMISED] =
            config->promise_floor && !lh_closed_weak(step, LH_WEAKEN_FLOOR_LOST) ? floor : 0;
        row[LH_CA_RECORD] = row[LH_CA_PROMISED];
        row[LH_CA_SILENCE] = lh_closed_greater(step->closed->longest, config->quarantine);
        if (config->ceiling) {
            row[LH_CA_CEILING] = step->closed->longest;
            row[LH_CA_COOL] = 0;
        }
        row[LH_CA_IDLE] = 0;
        lh_closed_commit(step, of(LH_ACT_REPLACE_ACCEPTOR, a, 0, floor));
    }
}

void lh_closed_acceptor_steps(struct lh_closed_step *step, uint32_t a)
{
    const uint8_t *before = lh_closed_from_a(step, a);
    const bool up = before[LH_CA_POWER] == LH_C_UP;
    const bool answers = up && before[LH_CA_SILENCE] == 0;
    if (answers)
        deliveries(step, a);
    if (step->config->allow_crash)
        crash(step, a);
    if (step->config->clean_restart && answers)
        stop(step, a);
    if (before[LH_CA_SAVED] && !up)
        restore(step, a);
    if (step->config->idle_forget && answers)
        forget(step, a);
    if (step->config->ceiling && up)
        lower_ceiling(step, a);
    if (step->config->allow_replace && (step->closed->crashable & 1u << a))
        replace(step, a);
}
