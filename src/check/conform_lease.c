// Conformance of the bounded module: what is compared from one state, and what was compared before
// (conform_memo.h). Whatever the paper's state does not tell (the base of an attempt, a spent
// ballot, whether an expired record was cleared) is tried in both ways that it can be, in the first
// and in the last nanosecond of a unit.
#include "base/assert.h"
#include "check/conform_lease_view.h"

enum { WAYS = 4, MOST = UINT8_MAX + LH_CHECK_MAX_NETWORK + 4 * LH_CHECK_MAX_ACCEPTORS };

typedef bool comparison(struct lh_lease_trial *trial, struct lh_action action);

// What is to be compared from a state. The slots of the memo are on their way while the rest is
// listed.
struct list {
    uint32_t count;
    struct entry {
        struct lh_fp key;
        comparison *compare;
        const uint8_t *to; // NULL: the model refuses it
        struct lh_action action;
        uint8_t ordinal;
    } entries[MOST];
};

static bool is_delivery(enum lh_action_kind kind)
{
    return kind == LH_ACT_DELIVER_PREPARE || kind == LH_ACT_DELIVER_PROMISE ||
           kind == LH_ACT_DELIVER_ACCEPT || kind == LH_ACT_DELIVER_ACCEPTED ||
           kind == LH_ACT_DELIVER_RELEASE;
}

static void name_step(struct lh_lease_trial *trial, struct lh_action action, bool refused)
{
    const bool at_acceptor = action.kind == LH_ACT_RESTART_ACCEPTOR;
    const uint8_t process = (uint8_t)(action.process + 1);
    struct lh_conform_step *step = &trial->conform->step;
    *step = (struct lh_conform_step){.kind = action.kind, .refused = refused};
    if (action.kind == LH_ACT_INIT)
        return;
    step->ballot = action.argument;
    if (is_delivery(action.kind)) {
        const struct lh_message *m = &trial->lease->messages[action.message];
        step->ballot = m->ballot;
        step->proposer = (uint8_t)(m->proposer + 1);
        step->acceptor = (uint8_t)(m->acceptor + 1);
    } else if (at_acceptor) {
        step->acceptor = process;
    } else {
        step->proposer = process;
    }
}

static bool is_ours(enum lh_action_kind kind)
{
    return kind != LH_ACT_TICK && kind != LH_ACT_STUTTER && kind != LH_ACT_DROP &&
           kind != LH_ACT_CRASH_PROPOSER && kind != LH_ACT_RESTART_PROPOSER &&
           kind != LH_ACT_CRASH_ACCEPTOR;
}

enum { READS_RECORD = 1 }; // an argument of LH_ACT_INIT

static bool acts_at_acceptor(const struct lh_lease_trial *trial, struct lh_action action)
{
    if (is_delivery(action.kind)) {
        const uint8_t kind = trial->lease->messages[action.message].kind;
        return kind != LH_MSG_PROMISE && kind != LH_MSG_ACCEPTED;
    }
    return action.kind == LH_ACT_RESTART_ACCEPTOR ||
           (action.kind == LH_ACT_INIT && action.argument == READS_RECORD);
}

// All that a comparison of this step depends on; `change` is what the model changes, nothing where it
// refuses.
static struct lh_fp key_of(const struct lh_lease_trial *trial, struct lh_action action,
                           bool refused, struct lh_fp change)
{
    const bool delivered = is_delivery(action.kind);
    const bool at_acceptor = acts_at_acceptor(trial, action);
    const struct lh_message *m = &trial->lease->messages[delivered ? action.message : 0];
    const uint32_t p = delivered ? m->proposer : action.process;
    const uint32_t a = delivered ? m->acceptor : action.process;
    struct lh_fp key = lh_conform_memo_add(
        trial->around, (uint64_t)action.kind << 48 | (uint64_t)action.process << 40 |
                           (uint64_t)action.argument << 32 | (uint64_t)action.keep << 24 |
                           (uint64_t)refused << 16 | action.message);
    key = lh_conform_memo_join(key, at_acceptor ? trial->acceptors[a] : trial->proposers[p]);
    if (delivered || !at_acceptor)
        key = lh_conform_memo_join(key, trial->sent[p]);
    return lh_conform_memo_join(key, change);
}

static void list(struct list *list, const struct lh_lease_trial *trial, struct lh_action action,
                 comparison *compare)
{
    const struct lh_fp key = key_of(trial, action, true, (struct lh_fp){0, 0});
    LH_ASSERT_LT(list->count, MOST);
    lh_conform_memo_fetch(&trial->conform->memo, key);
    list->entries[list->count++] = (struct entry){
        .key = key, .compare = compare, .action = action, .ordinal = LH_CONFORM_NO_STEP};
}

static void list_steps(struct list *list, const struct lh_lease_trial *trial)
{
    const struct lh_batch *batch = &trial->conform->batch;
    const struct lh_layout *layout = &trial->conform->model->layout;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!is_ours(batch->actions[i].kind))
            continue;
        const struct lh_fp key =
            key_of(trial, batch->actions[i], false, batch->lanes[(size_t)i * layout->lanes]);
        lh_conform_memo_fetch(&trial->conform->memo, key);
        list->entries[list->count++] = (struct entry){.key = key,
                                                      .compare = lh_lease_trial_step,
                                                      .to = batch->raw + (size_t)i * layout->stride,
                                                      .action = batch->actions[i],
                                                      .ordinal = batch->ordinals[i]};
    }
}

static bool has_step(const struct lh_lease_trial *trial, enum lh_action_kind kind, uint32_t process)
{
    const struct lh_batch *batch = &trial->conform->batch;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->actions[i].kind == kind && batch->actions[i].process == process)
            return true;
    }
    return false;
}

static bool has_delivery(const struct lh_lease_trial *trial, uint32_t message)
{
    const struct lh_batch *batch = &trial->conform->batch;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct lh_action action = batch->actions[i];
        if (action.message == message && is_delivery(action.kind))
            return true;
    }
    return false;
}

static void list_refusals(struct list *all, const struct lh_lease_trial *trial)
{
    static const enum lh_action_kind kinds[] = {[LH_MSG_PREPARE] = LH_ACT_DELIVER_PREPARE,
                                                [LH_MSG_PROMISE] = LH_ACT_DELIVER_PROMISE,
                                                [LH_MSG_ACCEPT] = LH_ACT_DELIVER_ACCEPT,
                                                [LH_MSG_ACCEPTED] = LH_ACT_DELIVER_ACCEPTED,
                                                [LH_MSG_RELEASE] = LH_ACT_DELIVER_RELEASE};
    const uint16_t *network = lh_layout_network_const(&trial->conform->model->layout, trial->from);
    for (uint32_t i = 1; i <= network[0]; i++) {
        const struct lh_message *m = &trial->lease->messages[network[i]];
        const bool to_proposer = m->kind == LH_MSG_PROMISE || m->kind == LH_MSG_ACCEPTED;
        const bool crashed =
            to_proposer
                ? lh_lease_trial_proposer(trial, trial->from, m->proposer)[LH_P_CRASHED] != 0
                : lh_lease_trial_acceptor(trial->from, m->acceptor)[LH_A_CRASHED] != 0;
        if (crashed || has_delivery(trial, network[i]))
            continue;
        trial->conform->counts.refusals++;
        list(all, trial, (struct lh_action){.kind = (uint8_t)kinds[m->kind], .message = network[i]},
             lh_lease_trial_refuse_delivery);
    }
    for (uint32_t p = 0; p < trial->lease->proposers; p++) {
        const uint8_t *row = lh_lease_trial_proposer(trial, trial->from, p);
        struct lh_action action = {.kind = LH_ACT_SEND_ACCEPT, .process = (uint8_t)p};
        if (row[LH_P_CRASHED])
            continue;
        if (!has_step(trial, LH_ACT_SEND_ACCEPT, p)) {
            trial->conform->counts.refusals++;
            list(all, trial, action, lh_lease_trial_refuse_step);
        }
        action.kind = LH_ACT_RELEASE;
        if (!row[LH_P_ACTIVE])
            list(all, trial, action, lh_lease_trial_refuse_step);
    }
}

static void list_readings(struct list *all, const struct lh_lease_trial *trial)
{
    for (uint32_t p = 0; p < trial->lease->proposers; p++)
        list(all, trial, (struct lh_action){.kind = LH_ACT_INIT, .process = (uint8_t)p},
             lh_lease_trial_reads_authority);
    for (uint32_t a = 0; a < trial->lease->acceptors; a++)
        list(all, trial,
             (struct lh_action){
                 .kind = LH_ACT_INIT, .process = (uint8_t)a, .argument = READS_RECORD},
             lh_lease_trial_reads_record);
}

// One comparison, in every way.
static bool compare(struct lh_lease_trial *trial, const struct entry *entry)
{
    const struct lh_conform_place place = trial->place;
    bool same = true;
    name_step(trial, entry->action, entry->to == NULL && entry->action.kind != LH_ACT_INIT);
    trial->to = entry->to;
    trial->differed = 0;
    for (uint32_t way = 0; way < WAYS && same; way++) {
        trial->place = place;
        trial->place.last = (way & 1) != 0;
        trial->hidden = (way & 2) != 0;
        trial->emitted_count = 0;
        same = entry->compare(trial, entry->action);
    }
    trial->place = place;
    return same;
}

static bool compare_all(struct lh_lease_trial *trial, const struct list *list)
{
    struct lh_conform *conform = trial->conform;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct entry *entry = &list->entries[i];
        if (!lh_conform_memo_knows(&conform->memo, entry->key, &trial->differed)) {
            if (!compare(trial, entry)) {
                conform->fault.ordinal = entry->ordinal;
                return false;
            }
            lh_conform_memo_keep(&conform->memo, entry->key, trial->differed);
        }
        if (entry->to == NULL)
            continue;
        conform->counts.steps++;
        for (uint32_t d = 0; d < LH_CONFORM_DIFFERENCES; d++)
            conform->counts.differences[d] += trial->differed >> d & 1;
    }
    return true;
}

// What the keys of all steps of a state share.
static void gather_keys(struct lh_lease_trial *trial)
{
    const struct lh_layout *layout = &trial->conform->model->layout;
    const uint16_t *network = lh_layout_network_const(layout, trial->from);
    uint64_t owners = 0;
    memcpy(&owners, trial->place.owners, sizeof owners);
    trial->around = lh_conform_memo_add((struct lh_fp){0, 0}, owners);
    trial->around = lh_conform_memo_add(trial->around, trial->place.now);
    memset(trial->sent, 0, sizeof trial->sent);
    for (uint32_t i = 1; i <= network[0]; i++) {
        const struct lh_fp *word = lh_layout_message_word(layout, network[i]);
        struct lh_fp *sent = &trial->sent[trial->lease->messages[network[i]].proposer];
        *sent = (struct lh_fp){sent->high ^ word->high, sent->low ^ word->low};
    }
    for (uint32_t p = 0; p < trial->lease->proposers; p++)
        trial->proposers[p] = lh_conform_memo_row(lh_lease_trial_proposer(trial, trial->from, p),
                                                  trial->lease->proposer_row);
    for (uint32_t a = 0; a < trial->lease->acceptors; a++)
        trial->acceptors[a] =
            lh_conform_memo_row(lh_lease_trial_acceptor(trial->from, a), LH_A_VARIABLES);
}

bool lh_conform_lease_state(struct lh_conform *conform, const uint8_t *raw)
{
    struct lh_lease_trial trial = {
        .conform = conform,
        .config = &conform->model->config,
        .lease = lh_lease_of(conform->model),
        .from = raw,
        .place = {.now = raw[LH_VAR_NOW],
                  .quorum = (uint8_t)(conform->model->config.acceptors / 2 + 1)}};
    struct list all;
    all.count = 0;
    lh_lease_trial_find_owners(&trial, trial.place.owners);
    gather_keys(&trial);
    list_steps(&all, &trial);
    list_refusals(&all, &trial);
    list_readings(&all, &trial);
    return compare_all(&trial, &all);
}
