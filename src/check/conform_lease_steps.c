// One step of the bounded module in one way: the paper's rules against ours. Where our rules differ
// on purpose is in deliver_accept and release; everything else must be the same.
#include "check/conform_lease_view.h"

static bool gate_agrees(struct lh_lease_trial *trial, const struct lh_message *m,
                        const struct lh_conform_acceptor *before, uint8_t base,
                        const struct lh_conform_acceptor *after, struct lh_conform_answer answer)
{
    static const enum lh_conform_request requests[] = {[LH_MSG_PREPARE] = LH_CONFORM_PREPARE,
                                                       [LH_MSG_ACCEPT] = LH_CONFORM_ACCEPT,
                                                       [LH_MSG_RELEASE] = LH_CONFORM_RELEASE};
    const struct lh_conform_delivery delivery = {.request = requests[m->kind],
                                                 .ballot = m->ballot,
                                                 .base = base,
                                                 .ttl = trial->config->proposer_duration};
    return lh_conform_gate_agrees(
        trial->conform, &trial->place, before,
        lh_lease_trial_acceptor(trial->from, m->acceptor)[LH_A_QUARANTINE], &delivery, after,
        answer);
}

// A4: nothing is answered, and nothing changes.
static bool is_silent(struct lh_lease_trial *trial, const struct lh_message *m)
{
    const struct lh_conform_acceptor before =
        lh_lease_trial_read_acceptor(trial, m->acceptor, m->ballot);
    return gate_agrees(trial, m, &before, 0, &before,
                       (struct lh_conform_answer){.verdict = LH_CONFORM_DROPPED});
}

// A1.
static bool deliver_prepare(struct lh_lease_trial *trial, const struct lh_message *m)
{
    const struct lh_conform_acceptor before =
        lh_lease_trial_read_acceptor(trial, m->acceptor, m->ballot);
    const bool promises = m->ballot >= before.promised;
    struct lh_conform_acceptor row = before;
    const struct lh_conform_answer answer = lh_conform_prepare(&trial->place, &row, m->ballot);
    const struct lh_conform_acceptor want =
        lh_lease_trial_want_acceptor(trial, m->acceptor, &before, promises);
    if (!lh_conform_same_acceptor(trial->conform, &want, &row) ||
        !gate_agrees(trial, m, &before, 0, &row, answer))
        return false;
    if (answer.promised != want.promised ||
        answer.verdict != (promises ? LH_CONFORM_PROMISED : LH_CONFORM_REJECTED))
        return lh_conform_fail(trial->conform, "it is answered by %u, promised %u", answer.verdict,
                               answer.promised);
    if (answer.verdict == LH_CONFORM_PROMISED)
        lh_lease_trial_emit(trial,
                            (struct lh_message){.kind = LH_MSG_PROMISE,
                                                .proposer = m->proposer,
                                                .acceptor = m->acceptor,
                                                .ballot = m->ballot,
                                                .owner = trial->place.owners[answer.reported],
                                                .accepted_ballot = answer.reported,
                                                .deadline = answer.ends});
    return true;
}

static void note(struct lh_lease_trial *trial, enum lh_conform_difference difference)
{
    trial->differed |= 1u << difference;
}

// A2 of ours, for an Accept that names `base`. *ret_kept tells that, on purpose, the model did
// something else.
static bool accept_with_base(struct lh_lease_trial *trial, const struct lh_message *m, uint8_t base,
                             bool *ret_kept)
{
    const uint8_t *from = lh_lease_trial_acceptor(trial->from, m->acceptor);
    const struct lh_conform_acceptor before =
        lh_lease_trial_read_acceptor(trial, m->acceptor, m->ballot);
    const bool live = lh_lease_trial_live(trial, from);
    const bool same_owner = from[LH_A_OWNER] == m->proposer + 1u;
    const bool granted = m->ballot >= before.promised &&
                         (!trial->config->refuse_live_overwrite || !live || same_owner);
    const bool recorded = granted && before.ballot == m->ballot;
    const bool in_the_way = granted && !recorded && live && !(same_owner && base == before.ballot);
    const bool kept = recorded || in_the_way;
    struct lh_conform_acceptor row = before;
    const struct lh_conform_answer answer =
        lh_conform_accept(&trial->place, &row, m->ballot, base, trial->config->acceptor_duration);
    const struct lh_conform_acceptor want =
        kept ? before : lh_lease_trial_want_acceptor(trial, m->acceptor, &before, false);
    const bool accepts = recorded ? live : granted && !in_the_way;
    if (!lh_conform_same_acceptor(trial->conform, &want, &row) ||
        !gate_agrees(trial, m, &before, base, &row, answer))
        return false;
    if (answer.verdict != (accepts ? LH_CONFORM_ACCEPTED : LH_CONFORM_REJECTED) ||
        answer.promised != want.promised || answer.ends != (live || accepts ? want.deadline : 0))
        return lh_conform_fail(trial->conform, "base %u: it is answered by %u, promised %u", base,
                               answer.verdict, answer.promised);
    if (in_the_way)
        note(trial, LH_CONFORM_KEEPS_LIVE);
    if (recorded)
        note(trial, live ? LH_CONFORM_KEEPS_RECORDED : LH_CONFORM_REFUSES_SPENT);
    *ret_kept = kept;
    trial->emitted_count = 0;
    if (accepts)
        lh_lease_trial_emit(trial, (struct lh_message){.kind = LH_MSG_ACCEPTED,
                                                       .proposer = m->proposer,
                                                       .acceptor = m->acceptor,
                                                       .ballot = m->ballot,
                                                       .deadline = answer.ends});
    return true;
}

// The paper's Accept carries no base: every one is tried.
static bool deliver_accept(struct lh_lease_trial *trial, const struct lh_message *m,
                           uint32_t consumed)
{
    for (uint8_t base = 0; base <= trial->config->ballots; base++) {
        bool kept = false;
        if (!accept_with_base(trial, m, base, &kept) ||
            (!kept && !lh_lease_trial_same_network(trial, consumed)))
            return false;
    }
    return true;
}

// A3.
static bool deliver_release(struct lh_lease_trial *trial, const struct lh_message *m)
{
    const struct lh_conform_acceptor before =
        lh_lease_trial_read_acceptor(trial, m->acceptor, m->ballot);
    const bool live = lh_lease_trial_live(trial, lh_lease_trial_acceptor(trial->from, m->acceptor));
    const bool clears =
        live && !lh_lease_trial_live(trial, lh_lease_trial_acceptor(trial->to, m->acceptor));
    struct lh_conform_acceptor row = before;
    const bool cleared = lh_conform_clear(&trial->place, &row, m->ballot);
    const struct lh_conform_acceptor want =
        lh_lease_trial_want_acceptor(trial, m->acceptor, &before, clears);
    if (cleared != clears)
        return lh_conform_fail(trial->conform, "the code %s",
                               cleared ? "clears a lease" : "clears nothing");
    return lh_conform_same_acceptor(trial->conform, &want, &row) &&
           gate_agrees(trial, m, &before, 0, &row,
                       (struct lh_conform_answer){.verdict = LH_CONFORM_SILENT});
}

// P2. An attempt that is over has no use for promises; the paper's gathers them all the same.
static bool deliver_promise(struct lh_lease_trial *trial, const struct lh_message *m)
{
    const struct lh_conform_proposer before = lh_lease_trial_read_proposer(trial, m->proposer);
    struct lh_conform_proposer row = before;
    struct lh_conform_proposer want = lh_lease_trial_want_proposer(trial, m->proposer, &before);
    const bool open = lh_conform_promise(&trial->place, &row, m->acceptor, m->ballot,
                                         m->owner == 0 ? 0 : m->accepted_ballot);
    if (before.phase == LH_CONFORM_IDLE && m->owner != 0 && before.base != m->accepted_ballot)
        want.open = before.open;
    if (open && !(want.open >> m->acceptor & 1))
        return lh_conform_fail(trial->conform, "open in the code");
    return lh_conform_same_proposer(trial->conform, &want, &row);
}

// P4.
static bool deliver_accepted(struct lh_lease_trial *trial, const struct lh_message *m)
{
    const struct lh_conform_proposer before = lh_lease_trial_read_proposer(trial, m->proposer);
    struct lh_conform_proposer row = before;
    struct lh_conform_proposer want = lh_lease_trial_want_proposer(trial, m->proposer, &before);
    const uint8_t *from = lh_lease_trial_proposer(trial, trial->from, m->proposer);
    const bool renews = from[LH_P_ACTIVE] != 0 && before.base != 0 && before.base == before.held;
    enum lh_conform_outcome expected = LH_CONFORM_NOTHING;
    if (trial->to != NULL) {
        const uint8_t *to = lh_lease_trial_proposer(trial, trial->to, m->proposer);
        if (to[LH_P_ACTIVE] &&
            (!from[LH_P_ACTIVE] || to[LH_P_ACTIVE_BALLOT] != from[LH_P_ACTIVE_BALLOT]))
            expected = renews ? LH_CONFORM_RENEWED : LH_CONFORM_ACQUIRED;
    }
    if (expected == LH_CONFORM_ACQUIRED)
        want.token = want.held;
    const enum lh_conform_outcome outcome =
        lh_conform_accepted(&trial->place, &row, m->acceptor, m->ballot);
    if (outcome != expected)
        return lh_conform_fail(trial->conform, "outcome %u in the code, %u in the model", outcome,
                               expected);
    return lh_conform_same_proposer(trial->conform, &want, &row);
}

static bool deliver(struct lh_lease_trial *trial, const struct lh_message *m, bool keep)
{
    const uint32_t number = lh_lease_message(trial->lease, *m);
    const uint32_t consumed = keep ? UINT32_MAX : number;
    if (m->kind == LH_MSG_ACCEPT)
        return deliver_accept(trial, m, consumed);
    const bool same = m->kind == LH_MSG_PREPARE   ? deliver_prepare(trial, m)
                      : m->kind == LH_MSG_RELEASE ? deliver_release(trial, m)
                      : m->kind == LH_MSG_PROMISE ? deliver_promise(trial, m)
                                                  : deliver_accepted(trial, m);
    return same && lh_lease_trial_same_network(trial, consumed);
}

static bool start(struct lh_lease_trial *trial, uint32_t p, uint8_t ballot)
{
    const struct lh_conform_proposer before = lh_lease_trial_read_proposer(trial, p);
    struct lh_conform_proposer row = before;
    trial->place.owners[ballot] = (uint8_t)(p + 1);
    struct lh_conform_proposer want = lh_lease_trial_want_proposer(trial, p, &before);
    want.base = lh_lease_trial_proposer(trial, trial->from, p)[LH_P_ACTIVE] ? before.held : 0;
    lh_conform_start(&trial->place, &row, ballot, trial->config->proposer_duration);
    lh_lease_trial_emit_to_all(trial, LH_MSG_PREPARE, p, row.ballot);
    return lh_conform_same_proposer(trial->conform, &want, &row) &&
           lh_lease_trial_same_network(trial, UINT32_MAX);
}

// P3; also where the model does not allow it.
static bool send_accept(struct lh_lease_trial *trial, uint32_t p)
{
    const struct lh_conform_proposer before = lh_lease_trial_read_proposer(trial, p);
    struct lh_conform_proposer row = before;
    const struct lh_conform_proposer want = lh_lease_trial_want_proposer(trial, p, &before);
    if (lh_conform_propose(&trial->place, &row) != (trial->to != NULL))
        return lh_conform_fail(trial->conform, "the code %s",
                               trial->to != NULL ? "does not propose" : "proposes");
    if (!lh_conform_same_proposer(trial->conform, &want, &row))
        return false;
    lh_lease_trial_emit_to_all(trial, LH_MSG_ACCEPT, p, row.ballot);
    return trial->to == NULL || lh_lease_trial_same_network(trial, UINT32_MAX);
}

static bool abandon(struct lh_lease_trial *trial, uint32_t p)
{
    const struct lh_conform_proposer before = lh_lease_trial_read_proposer(trial, p);
    struct lh_conform_proposer row = before;
    const struct lh_conform_proposer want = lh_lease_trial_want_proposer(trial, p, &before);
    lh_conform_abandon(&trial->place, &row);
    return lh_conform_same_proposer(trial->conform, &want, &row) &&
           lh_lease_trial_same_network(trial, UINT32_MAX);
}

// P6. Ours ends the attempt in flight as well. What is not held cannot be released.
static bool release(struct lh_lease_trial *trial, uint32_t p)
{
    const struct lh_conform_proposer before = lh_lease_trial_read_proposer(trial, p);
    struct lh_conform_proposer row = before;
    struct lh_conform_proposer want = lh_lease_trial_want_proposer(trial, p, &before);
    const uint8_t named = lh_conform_release(&trial->place, &row);
    if (before.phase != LH_CONFORM_IDLE && trial->to != NULL)
        note(trial, LH_CONFORM_RELEASE_ABANDONS);
    want.phase = LH_CONFORM_IDLE;
    want.held = 0;
    want.token = 0;
    want.until = 0;
    if (named != (trial->to != NULL ? before.held : 0))
        return lh_conform_fail(trial->conform, "the code names %u", named);
    if (!lh_conform_same_proposer(trial->conform, &want, &row))
        return false;
    lh_lease_trial_emit_to_all(trial, LH_MSG_RELEASE, p, named);
    return trial->to == NULL || lh_lease_trial_same_network(trial, UINT32_MAX);
}

// A4: what comes up again knows nothing.
static bool restart(struct lh_lease_trial *trial, uint32_t a)
{
    const struct lh_conform_acceptor fresh = lh_conform_fresh(&trial->place, 0);
    const uint8_t *row = lh_lease_trial_acceptor(trial->to, a);
    if (row[LH_A_PROMISED] != 0 || row[LH_A_OWNER] != 0 || fresh.promised != 0 ||
        fresh.ballot != 0 || lh_conform_live(&trial->place, &fresh))
        return lh_conform_fail(trial->conform, "something is remembered");
    return true;
}

bool lh_lease_trial_step(struct lh_lease_trial *trial, struct lh_action action)
{
    trial->emitted_count = 0;
    switch ((enum lh_action_kind)action.kind) {
    case LH_ACT_START_ACQUIRE: return start(trial, action.process, action.argument);
    case LH_ACT_DELIVER_PREPARE:
    case LH_ACT_DELIVER_ACCEPT:
    case LH_ACT_DELIVER_RELEASE:
    case LH_ACT_DELIVER_PROMISE:
    case LH_ACT_DELIVER_ACCEPTED:
        return deliver(trial, &trial->lease->messages[action.message], action.keep);
    case LH_ACT_SEND_ACCEPT: return send_accept(trial, action.process);
    case LH_ACT_ABANDON: return abandon(trial, action.process);
    case LH_ACT_RELEASE: return release(trial, action.process);
    case LH_ACT_RESTART_ACCEPTOR: return restart(trial, action.process);
    default: return true;
    }
}

bool lh_lease_trial_refuse_delivery(struct lh_lease_trial *trial, struct lh_action action)
{
    const struct lh_message *m = &trial->lease->messages[action.message];
    trial->emitted_count = 0;
    switch (m->kind) {
    case LH_MSG_PROMISE: return deliver_promise(trial, m);
    case LH_MSG_ACCEPTED: return deliver_accepted(trial, m);
    default: return is_silent(trial, m);
    }
}

bool lh_lease_trial_refuse_step(struct lh_lease_trial *trial, struct lh_action action)
{
    return action.kind == LH_ACT_RELEASE ? release(trial, action.process)
                                         : send_accept(trial, action.process);
}

bool lh_lease_trial_reads_authority(struct lh_lease_trial *trial, struct lh_action action)
{
    const uint32_t p = action.process;
    const struct lh_conform_proposer row = lh_lease_trial_read_proposer(trial, p);
    const bool active = lh_lease_trial_proposer(trial, trial->from, p)[LH_P_ACTIVE] != 0;
    if (lh_conform_holds(&trial->place, &row) != active)
        return lh_conform_fail(trial->conform, "p%u: %s in the code", p + 1,
                               active ? "no authority" : "authority");
    return true;
}

bool lh_lease_trial_reads_record(struct lh_lease_trial *trial, struct lh_action action)
{
    const uint32_t a = action.process;
    const struct lh_conform_acceptor row = lh_lease_trial_read_acceptor(trial, a, 0);
    const bool live = lh_lease_trial_live(trial, lh_lease_trial_acceptor(trial->from, a));
    if (lh_conform_live(&trial->place, &row) != live)
        return lh_conform_fail(trial->conform, "a%u: the record is %s in the code", a + 1,
                               live ? "not live" : "live");
    return true;
}
