// Conformance of the closed network, whose rules are ours: nothing may differ. The code's answer is
// written into a copy of the state, settled as the model settles, and compared with the model's
// successor as a whole. A delivery takes the answer to its proposer in the same step, as there.
//
// What no role function knows is taken from the model: how long an acceptor has been idle (F1), its
// ceiling (F5), what it saved (F4).
#include "check/conform_closed_view.h"

enum { WAYS = 4 };

static bool token_falls(const struct lh_closed_trial *trial, uint8_t token)
{
    return token < trial->from[LH_C_MAX_TOKEN];
}

static struct lh_conform_place gathering(const struct lh_closed_trial *trial)
{
    struct lh_conform_place place = trial->place;
    place.quorum = LH_CONFORM_NO_QUORUM;
    return place;
}

static bool attempts(const struct lh_closed_trial *trial, uint32_t p)
{
    return p < trial->config->proposers;
}

// P3. Answers of the last attempt are not this one's.
static void propose(struct lh_closed_trial *trial, uint32_t p, struct lh_conform_proposer *row)
{
    if (!lh_conform_propose(&trial->place, row))
        return;
    trial->raw[lh_closed_ballot(row->ballot, LH_CB_ACCEPT_SENT)] = 1;
    trial->raw[lh_closed_ballot(row->ballot, LH_CB_BASE)] = row->base;
    lh_closed_trial_write_proposer(trial, p, row);
}

// A1 and, on its promise, P2; under Prompt P3 as well, when it is the last that was needed.
static struct lh_conform_answer prepare(struct lh_closed_trial *trial, uint32_t a, uint8_t ballot,
                                        struct lh_conform_acceptor *row)
{
    const uint32_t p = lh_closed_trial_b(trial, ballot)[LH_CB_OWNER] - 1u;
    const struct lh_conform_answer answer = lh_conform_prepare(&trial->place, row, ballot);
    if (answer.verdict == LH_CONFORM_PROMISED && attempts(trial, p)) {
        struct lh_conform_proposer proposer = lh_closed_trial_read_proposer(trial, p);
        lh_conform_promise(&trial->place, &proposer, (uint8_t)a, ballot, answer.reported);
        lh_closed_trial_write_proposer(trial, p, &proposer);
        if (trial->config->prompt)
            propose(trial, p, &proposer);
    }
    return answer;
}

// A2 and the gathering of P4; activation is a step of its own.
static struct lh_conform_answer accept(struct lh_closed_trial *trial, uint32_t a, uint8_t ballot,
                                       struct lh_conform_acceptor *row)
{
    const uint8_t *sent = lh_closed_trial_b(trial, ballot);
    const uint32_t p = sent[LH_CB_OWNER] - 1u;
    const struct lh_conform_answer answer =
        lh_conform_accept(&trial->place, row, ballot, sent[LH_CB_BASE], sent[LH_CB_DURATION]);
    if (answer.verdict == LH_CONFORM_ACCEPTED && attempts(trial, p)) {
        const struct lh_conform_place place = gathering(trial);
        struct lh_conform_proposer proposer = lh_closed_trial_read_proposer(trial, p);
        lh_conform_accepted(&place, &proposer, (uint8_t)a, ballot);
        lh_closed_trial_write_proposer(trial, p, &proposer);
    }
    return answer;
}

// F3.
static struct lh_conform_answer lengthen(struct lh_closed_trial *trial, uint32_t a, uint8_t ballot,
                                         uint8_t n, struct lh_conform_acceptor *row)
{
    const uint8_t *sent = lh_closed_trial_b(trial, ballot);
    const uint32_t p = sent[LH_CB_OWNER] - 1u;
    const struct lh_conform_answer answer =
        lh_conform_lengthen(&trial->place, row, ballot, n, sent[LH_CB_EXTEND + n - 1]);
    if (answer.verdict == LH_CONFORM_EXTENDED && attempts(trial, p)) {
        const struct lh_conform_place place = gathering(trial);
        struct lh_conform_proposer proposer = lh_closed_trial_read_proposer(trial, p);
        lh_conform_extended(&place, &proposer, (uint8_t)a, ballot, n);
        lh_closed_trial_write_proposer(trial, p, &proposer);
    }
    return answer;
}

// A message that was sent, to an acceptor that is up.
static bool deliver(struct lh_closed_trial *trial, uint32_t a, enum lh_conform_request request,
                    uint8_t ballot, uint8_t n)
{
    static const enum lh_action_kind kinds[] = {[LH_CONFORM_PREPARE] = LH_ACT_DELIVER_PREPARE,
                                                [LH_CONFORM_ACCEPT] = LH_ACT_DELIVER_ACCEPT,
                                                [LH_CONFORM_RELEASE] = LH_ACT_DELIVER_RELEASE,
                                                [LH_CONFORM_EXTEND] = LH_ACT_DELIVER_EXTEND};
    const uint8_t *sent = lh_closed_trial_b(trial, ballot);
    const uint8_t silence = lh_closed_trial_a(trial, a)[LH_CA_SILENCE];
    const struct lh_conform_acceptor before = lh_closed_trial_read_acceptor(trial, a);
    const struct lh_action action = {
        .kind = (uint8_t)kinds[request], .process = (uint8_t)a, .message = ballot, .argument = n};
    const uint8_t ttl =
        request == LH_CONFORM_EXTEND ? sent[LH_CB_EXTEND + n - 1] : sent[LH_CB_DURATION];
    const struct lh_conform_delivery delivery = {.request = request,
                                                 .ballot = ballot,
                                                 .base = sent[LH_CB_BASE],
                                                 .stamp = n,
                                                 .ttl = ttl != 0 ? ttl : 1};
    struct lh_conform_answer answer = {.verdict =
                                           silence != 0 ? LH_CONFORM_DROPPED : LH_CONFORM_SILENT};
    struct lh_conform_acceptor row = before;
    uint32_t index = LH_CONFORM_NO_STEP;
    const uint8_t *to = lh_closed_trial_successor(trial, action, &index);
    trial->conform->step = (struct lh_conform_step){.kind = action.kind,
                                                    .ballot = ballot,
                                                    .n = n,
                                                    .acceptor = (uint8_t)(a + 1),
                                                    .refused = to == NULL};
    lh_closed_trial_begin(trial);
    if (silence == 0) {
        switch (request) {
        case LH_CONFORM_PREPARE: answer = prepare(trial, a, ballot, &row); break;
        case LH_CONFORM_ACCEPT: answer = accept(trial, a, ballot, &row); break;
        case LH_CONFORM_RELEASE: lh_conform_clear(&trial->place, &row, ballot); break;
        case LH_CONFORM_EXTEND: answer = lengthen(trial, a, ballot, n, &row); break;
        }
        lh_closed_trial_write_acceptor(trial, a, &row);
    }
    if (to != NULL)
        trial->conform->counts.steps += lh_closed_trial_first_way(trial);
    else
        trial->conform->counts.refusals += lh_closed_trial_first_way(trial);
    if (lh_conform_gate_agrees(trial->conform, &trial->place, &before,
                               lh_closed_trial_until(silence), &delivery, &row, answer) &&
        lh_closed_trial_same_state(trial, to))
        return true;
    trial->conform->fault.ordinal =
        to != NULL ? trial->conform->batch.ordinals[index] : LH_CONFORM_NO_STEP;
    return false;
}

static bool deliveries(struct lh_closed_trial *trial, uint32_t a)
{
    for (uint8_t ballot = 1; ballot <= trial->config->ballots; ballot++) {
        const uint8_t *sent = lh_closed_trial_b(trial, ballot);
        if (sent[LH_CB_OWNER] == 0)
            continue;
        if (!deliver(trial, a, LH_CONFORM_PREPARE, ballot, 0) ||
            (sent[LH_CB_ACCEPT_SENT] && !deliver(trial, a, LH_CONFORM_ACCEPT, ballot, 0)) ||
            (sent[LH_CB_RELEASED] && !deliver(trial, a, LH_CONFORM_RELEASE, ballot, 0)))
            return false;
        for (uint8_t n = 1; n <= trial->config->extends; n++) {
            if (sent[LH_CB_EXTEND + n - 1] != 0 && !deliver(trial, a, LH_CONFORM_EXTEND, ballot, n))
                return false;
        }
    }
    return true;
}

// F1: forgotten exactly when the model may, and then as good as new at the floor (F2).
static bool forget(struct lh_closed_trial *trial, uint32_t a)
{
    const uint8_t *before = lh_closed_trial_a(trial, a);
    const uint8_t quarantine =
        trial->config->ceiling ? before[LH_CA_CEILING] : trial->config->quarantine;
    const struct lh_conform_acceptor row = lh_closed_trial_read_acceptor(trial, a);
    const struct lh_action action = {.kind = LH_ACT_FORGET, .process = (uint8_t)a};
    uint32_t index = LH_CONFORM_NO_STEP;
    const uint8_t *to = lh_closed_trial_successor(trial, action, &index);
    trial->conform->step = (struct lh_conform_step){
        .kind = LH_ACT_FORGET, .acceptor = (uint8_t)(a + 1), .refused = to == NULL};
    lh_closed_trial_begin(trial);
    if (lh_conform_forgettable(&trial->place, &row, quarantine)) {
        const struct lh_conform_acceptor fresh = lh_conform_fresh(
            &trial->place, trial->config->promise_floor ? before[LH_CA_PROMISED] : 0);
        lh_closed_trial_write_acceptor(trial, a, &fresh);
    } else if (to != NULL) {
        trial->conform->fault.ordinal = trial->conform->batch.ordinals[index];
        return lh_conform_fail(trial->conform, "not yet in the code");
    }
    if (lh_closed_trial_same_state(trial, to))
        return true;
    trial->conform->fault.ordinal =
        to != NULL ? trial->conform->batch.ordinals[index] : LH_CONFORM_NO_STEP;
    return false;
}

// The end of an attempt: P4 of an answer that completes the quorum, or F3's.
static bool complete(struct lh_closed_trial *trial, uint32_t p, bool extends)
{
    const uint8_t *before = lh_closed_trial_p(trial, p);
    const uint8_t set = lh_closed_trial_answers(trial, p, LH_CA_ANSWERED);
    const struct lh_action action = {.kind = extends ? LH_ACT_EXTENDED : LH_ACT_ACTIVATE,
                                     .process = (uint8_t)p,
                                     .argument =
                                         extends ? before[LH_CP_STAMP] : before[LH_CP_BALLOT]};
    struct lh_conform_proposer row = lh_closed_trial_read_proposer(trial, p);
    uint32_t index = LH_CONFORM_NO_STEP;
    const uint8_t *to = lh_closed_trial_successor(trial, action, &index);
    if (set == 0)
        return to == NULL ||
               lh_conform_fail(trial->conform, "p%u completes it from nothing", p + 1);
    lh_closed_trial_name_own(trial, action.kind, p, to);
    const uint8_t last = (uint8_t)__builtin_ctz(set);
    row.accepted = (uint8_t)(set & (set - 1));
    const enum lh_conform_outcome outcome =
        extends ? lh_conform_extended(&trial->place, &row, last, before[LH_CP_HELD],
                                      before[LH_CP_STAMP])
                : lh_conform_accepted(&trial->place, &row, last, before[LH_CP_BALLOT]);
    if (to != NULL)
        trial->conform->fault.ordinal = trial->conform->batch.ordinals[index];
    if ((outcome != LH_CONFORM_NOTHING) != (to != NULL))
        return lh_conform_fail(trial->conform, "outcome %u in the code", outcome);
    if (to == NULL)
        return true; // too few, or too late: nothing was granted
    lh_closed_trial_begin(trial);
    lh_closed_trial_write_proposer(trial, p, &row);
    if (!extends)
        trial->raw[lh_closed_proposer(trial->config, p, LH_CP_STAMP)] = 0; // n counts per ballot
    if (outcome == LH_CONFORM_ACQUIRED && trial->config->promise_floor) {
        if (token_falls(trial, row.token))
            trial->raw[LH_C_TOKEN_BROKEN] = 1;
        else
            trial->raw[LH_C_MAX_TOKEN] = row.token;
    }
    for (uint32_t a = 0; a < trial->config->acceptors && !extends; a++)
        trial->raw[lh_closed_acceptor(trial->config, a, LH_CA_STALE)] &= (uint8_t) ~(1u << p);
    return lh_closed_trial_same_state(trial, to);
}

// P3, where the model allows it and where not.
static bool send_accept(struct lh_closed_trial *trial, uint32_t p)
{
    const struct lh_action action = {.kind = LH_ACT_SEND_ACCEPT,
                                     .process = (uint8_t)p,
                                     .argument = lh_closed_trial_p(trial, p)[LH_CP_BALLOT]};
    struct lh_conform_proposer row = lh_closed_trial_read_proposer(trial, p);
    uint32_t index = LH_CONFORM_NO_STEP;
    const uint8_t *to = lh_closed_trial_successor(trial, action, &index);
    lh_closed_trial_name_own(trial, LH_ACT_SEND_ACCEPT, p, to);
    if (to != NULL)
        trial->conform->fault.ordinal = trial->conform->batch.ordinals[index];
    else
        trial->conform->counts.refusals += lh_closed_trial_first_way(trial);
    lh_closed_trial_begin(trial);
    propose(trial, p, &row);
    return lh_closed_trial_same_state(trial, to);
}

static bool release(struct lh_closed_trial *trial, uint32_t p, const uint8_t *to)
{
    struct lh_conform_proposer row = lh_closed_trial_read_proposer(trial, p);
    const uint8_t held = lh_closed_trial_p(trial, p)[LH_CP_AUTHORITY] != 0 ? row.held : 0;
    const uint8_t named = lh_conform_release(&trial->place, &row);
    if (named != held)
        return lh_conform_fail(trial->conform, "the code releases %u", named);
    if (to == NULL)
        return true;
    lh_closed_trial_begin(trial);
    lh_closed_trial_write_proposer(trial, p, &row);
    trial->raw[lh_closed_ballot(named, LH_CB_RELEASED)] = 1;
    return lh_closed_trial_same_state(trial, to);
}

// The steps that a proposer takes of its own accord.
static bool own_step(struct lh_closed_trial *trial, struct lh_action action, const uint8_t *to)
{
    const uint32_t p = action.process;
    struct lh_conform_proposer row = lh_closed_trial_read_proposer(trial, p);
    lh_closed_trial_name_own(trial, action.kind, p, to);
    lh_closed_trial_begin(trial);
    if (action.kind == LH_ACT_RELEASE)
        return release(trial, p, to);
    if (action.kind == LH_ACT_ABANDON) {
        lh_conform_abandon(&trial->place, &row);
    } else if (action.kind == LH_ACT_ABANDON_RELEASE) { // the machine sends that Release
        lh_conform_abandon(&trial->place, &row);
        trial->raw[lh_closed_ballot(row.ballot, LH_CB_RELEASED)] = 1;
    } else if (action.kind == LH_ACT_START_ACQUIRE) {
        const uint8_t duration = to[lh_closed_ballot(action.argument, LH_CB_DURATION)];
        trial->place.owners[action.argument] = (uint8_t)(p + 1);
        lh_conform_start(&trial->place, &row, action.argument, duration);
        trial->raw[lh_closed_ballot(action.argument, LH_CB_OWNER)] = (uint8_t)(p + 1);
        trial->raw[lh_closed_ballot(action.argument, LH_CB_DURATION)] = duration;
    } else {
        // From td: what nobody can extend any more, settling forgets.
        const uint8_t duration = to[lh_closed_proposer(trial->config, p, LH_CP_PENDING)];
        lh_conform_extend(&trial->place, &row, duration, trial->hidden);
        trial->raw[lh_closed_ballot(row.held, LH_CB_EXTEND + action.argument - 1u)] = duration;
    }
    lh_closed_trial_write_proposer(trial, p, &row);
    return lh_closed_trial_same_state(trial, to);
}

static bool own_steps(struct lh_closed_trial *trial)
{
    const struct lh_batch *batch = &trial->conform->batch;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct lh_action action = batch->actions[i];
        const struct lh_conform_place place = trial->place;
        if (action.kind != LH_ACT_START_ACQUIRE && action.kind != LH_ACT_ABANDON &&
            action.kind != LH_ACT_ABANDON_RELEASE && action.kind != LH_ACT_RELEASE &&
            action.kind != LH_ACT_EXTEND)
            continue;
        trial->conform->fault.ordinal = batch->ordinals[i];
        trial->conform->counts.steps += lh_closed_trial_first_way(trial);
        if (!own_step(trial, action, batch->raw + (size_t)i * trial->model->layout.stride))
            return false;
        trial->place = place;
    }
    trial->conform->fault.ordinal = LH_CONFORM_NO_STEP;
    return true;
}

static bool unmoved(struct lh_closed_trial *trial, const struct lh_conform_proposer *before,
                    const struct lh_conform_proposer *row)
{
    trial->conform->counts.refusals += lh_closed_trial_first_way(trial);
    return lh_conform_same_proposer(trial->conform, before, row);
}

// Answers to anything but the present attempt, which the model does not even list, change nothing.
static bool stale_answers(struct lh_closed_trial *trial, uint32_t p)
{
    const struct lh_conform_proposer before = lh_closed_trial_read_proposer(trial, p);
    for (uint8_t ballot = 1; ballot <= trial->config->ballots; ballot++) {
        struct lh_conform_proposer row = before;
        lh_closed_trial_name_own(trial, LH_ACT_DELIVER_PROMISE, p, NULL);
        trial->conform->step.ballot = ballot;
        if (ballot != before.ballot) {
            lh_conform_promise(&trial->place, &row, 0, ballot, 0);
            if (!unmoved(trial, &before, &row))
                return false;
        }
        trial->conform->step.kind = LH_ACT_DELIVER_ACCEPTED;
        if (ballot != before.ballot || before.phase != LH_CONFORM_ACCEPTING) {
            lh_conform_accepted(&trial->place, &row, 0, ballot);
            if (!unmoved(trial, &before, &row))
                return false;
        }
        trial->conform->step.kind = LH_ACT_EXTENDED;
        for (uint8_t n = 0; n <= trial->config->extends && trial->config->extends != 0; n++) {
            if (before.phase == LH_CONFORM_EXTENDING && ballot == before.held && n == before.stamp)
                continue;
            trial->conform->step.n = n;
            lh_conform_extended(&trial->place, &row, 0, ballot, n);
            if (!unmoved(trial, &before, &row))
                return false;
        }
    }
    return true;
}

// An Extend whose td has come, or whose lease has ended, is no attempt any more to the model; its
// answers grant nothing.
static bool late_extension(struct lh_closed_trial *trial, uint32_t p, uint8_t ballot)
{
    const uint8_t authority = lh_closed_trial_p(trial, p)[LH_CP_AUTHORITY];
    struct lh_conform_proposer row = lh_closed_trial_read_proposer(trial, p);
    row.phase = LH_CONFORM_EXTENDING;
    row.stamp = 1;
    row.accepted = (uint8_t)((1u << trial->config->acceptors) - 2u);
    row.td = authority != 0 ? LH_CLOSED_TRIAL_NOW : LH_CLOSED_TRIAL_NOW + 1;
    if (authority == 0) {
        row.held = ballot;
        row.token = LH_CONFORM_OLD_TOKEN;
        row.until = LH_CLOSED_TRIAL_NOW;
    }
    struct lh_conform_proposer want = row;
    want.phase = LH_CONFORM_IDLE;
    want.accepted |= 1;
    lh_closed_trial_name_own(trial, LH_ACT_EXTENDED, p, NULL);
    if (lh_conform_extended(&trial->place, &row, 0, row.held, 1) != LH_CONFORM_NOTHING)
        return lh_conform_fail(trial->conform, "it is granted, though late");
    return unmoved(trial, &want, &row);
}

static bool refused_answers(struct lh_closed_trial *trial, uint32_t p)
{
    const uint8_t *row = lh_closed_trial_p(trial, p);
    if (!stale_answers(trial, p))
        return false;
    for (uint8_t ballot = 1; ballot <= trial->config->ballots; ballot++) {
        if (trial->config->extends != 0 && row[LH_CP_PHASE] == LH_C_IDLE &&
            trial->place.owners[ballot] == p + 1 && !late_extension(trial, p, ballot))
            return false;
    }
    return true;
}

static bool proposer_steps(struct lh_closed_trial *trial, uint32_t p)
{
    const uint8_t *row = lh_closed_trial_p(trial, p);
    const struct lh_conform_proposer view = lh_closed_trial_read_proposer(trial, p);
    if (lh_conform_holds(&trial->place, &view) != (row[LH_CP_AUTHORITY] != 0))
        return lh_conform_fail(trial->conform, "p%u: authority is not what the model says", p + 1);
    if (row[LH_CP_AUTHORITY] == 0 && !release(trial, p, NULL))
        return false;
    trial->conform->fault.ordinal = LH_CONFORM_NO_STEP;
    if (!refused_answers(trial, p) || !send_accept(trial, p))
        return false;
    trial->conform->fault.ordinal = LH_CONFORM_NO_STEP;
    if (!complete(trial, p, false) || (trial->config->extends != 0 && !complete(trial, p, true)))
        return false;
    trial->conform->fault.ordinal = LH_CONFORM_NO_STEP;
    return true;
}

static bool acceptor_steps(struct lh_closed_trial *trial, uint32_t a)
{
    const uint8_t *row = lh_closed_trial_a(trial, a);
    const struct lh_conform_acceptor view = lh_closed_trial_read_acceptor(trial, a);
    if (lh_conform_live(&trial->place, &view) != (row[LH_CA_EXCLUSION] != 0))
        return lh_conform_fail(trial->conform, "a%u: a live record is not what the model says",
                               a + 1);
    if (row[LH_CA_POWER] != LH_C_UP)
        return true;
    if (trial->config->idle_forget && row[LH_CA_SILENCE] == 0 && !forget(trial, a))
        return false;
    return deliveries(trial, a);
}

static bool compare(struct lh_closed_trial *trial)
{
    trial->conform->step = (struct lh_conform_step){.kind = LH_ACT_INIT};
    for (uint32_t a = 0; a < trial->config->acceptors; a++) {
        if (!acceptor_steps(trial, a))
            return false;
    }
    for (uint32_t p = 0; p < trial->config->proposers; p++) {
        if (!proposer_steps(trial, p))
            return false;
    }
    return own_steps(trial);
}

bool lh_conform_closed_state(struct lh_conform *conform, const uint8_t *raw)
{
    const struct lh_check_config *config = &conform->model->config;
    struct lh_closed_trial trial = {
        .conform = conform,
        .model = conform->model,
        .config = config,
        .from = raw,
        .place = {.now = LH_CLOSED_TRIAL_NOW, .quorum = (uint8_t)(config->acceptors / 2 + 1)}};
    for (uint32_t ballot = 1; ballot <= config->ballots; ballot++)
        trial.place.owners[ballot] = lh_closed_trial_b(&trial, ballot)[LH_CB_OWNER];
    for (uint32_t way = 0; way < WAYS; way++) {
        trial.place.last = (way & 1) != 0;
        trial.hidden = (way & 2) != 0;
        if (!compare(&trial))
            return false;
    }
    return true;
}
