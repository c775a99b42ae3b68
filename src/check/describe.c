// Sentences are built from the action and the two states, never from what an action ought to do: a
// model that errs is described as it erred.
#include "check/describe.h"

#include <stdarg.h>
#include <stdio.h>

#include "check/closed_model.h"
#include "check/composition_model.h"
#include "check/lease_model.h"

static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (used + 1 < size)
        vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void lh_describe_message(const struct lh_model *model, uint32_t message, char *ret_text,
                         size_t size)
{
    const struct lh_message *m = &lh_lease_of(model)->messages[message];
    const unsigned p = m->proposer + 1u;
    const unsigned a = m->acceptor + 1u;
    ret_text[0] = '\0';
    switch (m->kind) {
    case LH_MSG_PREPARE: add(ret_text, size, "Prepare(b%u) p%u->a%u", m->ballot, p, a); break;
    case LH_MSG_ACCEPT: add(ret_text, size, "Accept(b%u) p%u->a%u", m->ballot, p, a); break;
    case LH_MSG_RELEASE: add(ret_text, size, "Release(b%u) p%u->a%u", m->ballot, p, a); break;
    case LH_MSG_ACCEPTED:
        add(ret_text, size, "Accepted(b%u) a%u->p%u, until %u", m->ballot, a, p, m->deadline);
        break;
    default:
        add(ret_text, size, "Promise(b%u) a%u->p%u, ", m->ballot, a, p);
        if (m->owner == 0)
            add(ret_text, size, "no lease");
        else
            add(ret_text, size, "p%u's b%u until %u", m->owner, m->accepted_ballot, m->deadline);
    }
}

static void describe_lease_variable(const struct lh_model *model, uint32_t variable, char *text,
                                    size_t size)
{
    static const char *const of_acceptor[] = {"promised", "owner",   "ballot",
                                              "deadline", "crashed", "quarantineUntil"};
    static const char *const of_proposer[] = {
        "phase",           "pBallot", "pDeadline",  "pendingDeadline",
        "attemptDeadline", "okResp",  "acceptResp", "active",
        "activeBallot",    "cert",    "crashed"};
    const struct lh_lease *lease = lh_lease_of(model);
    const uint32_t proposers = lh_lease_proposer(lease, 0, 0);
    if (variable == LH_VAR_NOW) {
        add(text, size, "now");
    } else if (variable == LH_VAR_USED) {
        add(text, size, "usedBallots");
    } else if (variable < proposers) {
        add(text, size, "a%u.%s", (variable - LH_VAR_ROWS) / LH_A_VARIABLES + 1,
            of_acceptor[(variable - LH_VAR_ROWS) % LH_A_VARIABLES]);
    } else {
        const uint32_t p = (variable - proposers) / lease->proposer_row + 1;
        const uint32_t inner = (variable - proposers) % lease->proposer_row;
        if (inner >= LH_P_CERT_DEADLINE)
            add(text, size, "p%u.certDeadline[a%u]", p, inner - LH_P_CERT_DEADLINE + 1);
        else
            add(text, size, "p%u.%s", p, of_proposer[inner]);
    }
}

static void describe_closed_variable(const struct lh_model *model, uint32_t variable, char *text,
                                     size_t size)
{
    static const char *const of_ballot[] = {"owner",    "duration", "acceptSent", "base",
                                            "released", "extend1",  "extend2",    "extend3"};
    static const char *const of_proposer[] = {"phase", "ballot",    "pending", "base", "held",
                                              "token", "authority", "orphan",  "stamp"};
    static const char *const of_acceptor[] = {
        "promised", "record",        "exclusion",   "stamp",         "power", "silence",
        "open",     "answered",      "stale",       "idle",          "cool",  "ceiling",
        "saved",    "savedPromised", "savedRecord", "savedExclusion"};
    const uint32_t proposers = lh_closed_proposer(&model->config, 0, 0);
    const uint32_t acceptors = lh_closed_acceptor(&model->config, 0, 0);
    if (variable < LH_C_ROWS)
        add(text, size, "%s", variable == LH_C_MAX_TOKEN ? "maxToken" : "tokenBroken");
    else if (variable < proposers)
        add(text, size, "b%u.%s", (variable - LH_C_ROWS) / LH_CB_VARIABLES + 1,
            of_ballot[(variable - LH_C_ROWS) % LH_CB_VARIABLES]);
    else if (variable < acceptors)
        add(text, size, "p%u.%s", (variable - proposers) / LH_CP_VARIABLES + 1,
            of_proposer[(variable - proposers) % LH_CP_VARIABLES]);
    else
        add(text, size, "a%u.%s", (variable - acceptors) / LH_CA_VARIABLES + 1,
            of_acceptor[(variable - acceptors) % LH_CA_VARIABLES]);
}

void lh_describe_variable(const struct lh_model *model, uint32_t variable, char *ret_text,
                          size_t size)
{
    static const char *const of_leader[] = {"active",    "leaseDeadline", "leaderState",
                                            "recovered", "everRecovered", "appliedUpTo"};
    ret_text[0] = '\0';
    if (model->config.module == LH_CHECK_CLOSED) {
        describe_closed_variable(model, variable, ret_text, size);
        return;
    }
    if (model->config.module != LH_CHECK_COMPOSITION) {
        describe_lease_variable(model, variable, ret_text, size);
        return;
    }
    const uint32_t leaders = lh_composition_leader(&model->config, 0, 0);
    if (variable == 0)
        add(ret_text, size, "now");
    else if (variable < leaders)
        add(ret_text, size, "chosen[%u]", variable);
    else
        add(ret_text, size, "p%u.%s", (variable - leaders) / LH_L_VARIABLES + 1,
            of_leader[(variable - leaders) % LH_L_VARIABLES]);
}

static bool in_flight(const struct lh_model *model, const uint8_t *raw, uint32_t message)
{
    const uint16_t *network = lh_layout_network_const(&model->layout, raw);
    for (uint32_t i = 1; i <= network[0]; i++) {
        if (network[i] == message)
            return true;
    }
    return false;
}

// The messages in flight in `here` and not in `there`.
static void describe_difference(const struct lh_model *model, const uint8_t *here,
                                const uint8_t *there, char sign, char *text)
{
    const uint16_t *network = lh_layout_network_const(&model->layout, here);
    for (uint32_t i = 1; i <= network[0]; i++) {
        char message[96];
        if (in_flight(model, there, network[i]))
            continue;
        lh_describe_message(model, network[i], message, sizeof message);
        add(text, LH_DESCRIPTION_SIZE, "%s%c%s", text[0] == '\0' ? "" : "; ", sign, message);
    }
}

void lh_describe_changes(const struct lh_model *model, const uint8_t *from, const uint8_t *to,
                         char ret_text[LH_DESCRIPTION_SIZE])
{
    ret_text[0] = '\0';
    for (uint32_t i = 0; i < model->layout.variable_count; i++) {
        char name[48];
        if (from[i] == to[i])
            continue;
        lh_describe_variable(model, i, name, sizeof name);
        add(ret_text, LH_DESCRIPTION_SIZE, "%s%s %u -> %u", ret_text[0] == '\0' ? "" : ", ", name,
            from[i], to[i]);
    }
    if (model->layout.message_count == 0)
        return;
    describe_difference(model, to, from, '+', ret_text);
    describe_difference(model, from, to, '-', ret_text);
}

static void describe_promise(const struct lh_model *model, const struct lh_message *m,
                             const uint8_t *from, const uint8_t *to, char *text)
{
    const struct lh_lease *lease = lh_lease_of(model);
    const uint32_t open = lh_lease_proposer(lease, m->proposer, LH_P_OPEN);
    add(text, LH_DESCRIPTION_SIZE, "p%u receives a%u's promise of b%u (", m->proposer + 1u,
        m->acceptor + 1u, m->ballot);
    if (m->owner == 0)
        add(text, LH_DESCRIPTION_SIZE, "no lease)");
    else
        add(text, LH_DESCRIPTION_SIZE, "p%u's b%u until %u)", m->owner, m->accepted_ballot,
            m->deadline);
    if (from[open] != to[open])
        add(text, LH_DESCRIPTION_SIZE, ": open");
    else if (m->owner != 0)
        add(text, LH_DESCRIPTION_SIZE, ": blocked");
}

static void describe_at_acceptor(const struct lh_message *m, const uint8_t *from, const uint8_t *to,
                                 char *text)
{
    static const char *const names[] = {"Prepare", "Promise", "Accept", "Accepted", "Release"};
    const uint8_t *before = from + lh_lease_acceptor(m->acceptor, 0);
    const uint8_t *after = to + lh_lease_acceptor(m->acceptor, 0);
    add(text, LH_DESCRIPTION_SIZE, "a%u receives p%u's %s(b%u): ", m->acceptor + 1u,
        m->proposer + 1u, names[m->kind], m->ballot);
    if (m->kind == LH_MSG_RELEASE)
        add(text, LH_DESCRIPTION_SIZE,
            before[LH_A_OWNER] != after[LH_A_OWNER] ? "clears its record" : "not its record");
    else if (m->ballot < before[LH_A_PROMISED])
        add(text, LH_DESCRIPTION_SIZE, "refuses, it promised b%u", before[LH_A_PROMISED]);
    else if (m->kind == LH_MSG_PREPARE && before[LH_A_OWNER] != 0 &&
             from[0] < before[LH_A_DEADLINE])
        add(text, LH_DESCRIPTION_SIZE, "promises, reports p%u's b%u until %u", before[LH_A_OWNER],
            before[LH_A_BALLOT], before[LH_A_DEADLINE]);
    else if (m->kind == LH_MSG_PREPARE)
        add(text, LH_DESCRIPTION_SIZE, "promises, reports no lease");
    else if (after[LH_A_OWNER] == m->proposer + 1u && after[LH_A_BALLOT] == m->ballot)
        add(text, LH_DESCRIPTION_SIZE, "records p%u until %u", m->proposer + 1u,
            after[LH_A_DEADLINE]);
    else
        add(text, LH_DESCRIPTION_SIZE, "refuses, it holds a live record");
}

static void describe_accepted(const struct lh_model *model, const struct lh_message *m,
                              const uint8_t *from, const uint8_t *to, char *text)
{
    const struct lh_lease *lease = lh_lease_of(model);
    const uint8_t *before = from + lh_lease_proposer(lease, m->proposer, 0);
    const uint8_t *after = to + lh_lease_proposer(lease, m->proposer, 0);
    add(text, LH_DESCRIPTION_SIZE, "p%u receives a%u's Accepted(b%u)", m->proposer + 1u,
        m->acceptor + 1u, m->ballot);
    if (after[LH_P_PHASE] == LH_PHASE_IDLE && after[LH_P_ACTIVE] &&
        (!before[LH_P_ACTIVE] || before[LH_P_ACTIVE_BALLOT] != after[LH_P_ACTIVE_BALLOT]))
        add(text, LH_DESCRIPTION_SIZE, ": a quorum, it owns the lease until %u",
            after[LH_P_DEADLINE]);
    else if (after[LH_P_PHASE] == LH_PHASE_IDLE)
        add(text, LH_DESCRIPTION_SIZE, ": a quorum, too late");
}

static void describe_tick(const struct lh_model *model, const uint8_t *from, const uint8_t *to,
                          char *text)
{
    add(text, LH_DESCRIPTION_SIZE, "time passes, it is %u", to[0]);
    for (uint32_t p = 0; p < model->config.proposers; p++) {
        const uint32_t active = model->config.module == LH_CHECK_COMPOSITION
                                    ? lh_composition_leader(&model->config, p, LH_L_ACTIVE)
                                    : lh_lease_proposer(lh_lease_of(model), p, LH_P_ACTIVE);
        if (from[active] && !to[active])
            add(text, LH_DESCRIPTION_SIZE, "; p%u's lease ends", p + 1);
    }
}

static void describe_leader(struct lh_action action, char *text)
{
    const char *what = "";
    switch (action.kind) {
    case LH_ACT_ACQUIRE_LEASE: what = "wins the lease"; break;
    case LH_ACT_START_RECOVERY: what = "starts recovery"; break;
    case LH_ACT_FINISH_RECOVERY: what = "finishes recovery and repairs"; break;
    case LH_ACT_BECOME_READY: what = "is ready"; break;
    default: what = "admits a command"; break;
    }
    add(text, LH_DESCRIPTION_SIZE, "p%u %s", action.process + 1u, what);
    if (action.kind == LH_ACT_ADMIT)
        add(text, LH_DESCRIPTION_SIZE, ", value %u", action.argument);
}

static void describe_process(const struct lh_model *model, const uint8_t *from,
                             struct lh_action action, const uint8_t *to, char *text)
{
    const struct lh_lease *lease = lh_lease_of(model);
    const unsigned name = action.process + 1u;
    switch (action.kind) {
    case LH_ACT_START_ACQUIRE:
        add(text, LH_DESCRIPTION_SIZE, "p%u starts b%u and sends Prepare", name, action.argument);
        break;
    case LH_ACT_SEND_ACCEPT:
        add(text, LH_DESCRIPTION_SIZE, "p%u has a quorum of promises and sends Accept(b%u)", name,
            from[lh_lease_proposer(lease, action.process, LH_P_BALLOT)]);
        break;
    case LH_ACT_ABANDON:
        add(text, LH_DESCRIPTION_SIZE, "p%u abandons b%u", name,
            from[lh_lease_proposer(lease, action.process, LH_P_BALLOT)]);
        break;
    case LH_ACT_RELEASE:
        add(text, LH_DESCRIPTION_SIZE, "p%u releases b%u", name,
            from[lh_lease_proposer(lease, action.process, LH_P_ACTIVE_BALLOT)]);
        break;
    case LH_ACT_CRASH_PROPOSER: add(text, LH_DESCRIPTION_SIZE, "p%u crashes", name); break;
    case LH_ACT_RESTART_PROPOSER: add(text, LH_DESCRIPTION_SIZE, "p%u restarts", name); break;
    case LH_ACT_CRASH_ACCEPTOR:
        add(text, LH_DESCRIPTION_SIZE, "a%u crashes and forgets", name);
        break;
    default:
        add(text, LH_DESCRIPTION_SIZE, "a%u restarts, silent until %u", name,
            to[lh_lease_acceptor(action.process, LH_A_QUARANTINE)]);
    }
}

static void describe_closed_acceptor(const struct lh_check_config *config, struct lh_action action,
                                     const uint8_t *from, const uint8_t *to, char *text)
{
    const unsigned name = action.process + 1u;
    const unsigned b = action.message;
    const uint8_t *a = from + lh_closed_acceptor(config, action.process, 0);
    const uint8_t *a_after = to + lh_closed_acceptor(config, action.process, 0);
    switch (action.kind) {
    case LH_ACT_DELIVER_PREPARE:
        add(text, LH_DESCRIPTION_SIZE, "a%u promises b%u, ", name, b);
        if (a[LH_CA_EXCLUSION] == 0)
            add(text, LH_DESCRIPTION_SIZE, "no lease");
        else
            add(text, LH_DESCRIPTION_SIZE, "reports b%u", a[LH_CA_RECORD]);
        if (a[LH_CA_OPEN] != a_after[LH_CA_OPEN])
            add(text, LH_DESCRIPTION_SIZE, ": open");
        break;
    case LH_ACT_DELIVER_ACCEPT:
        add(text, LH_DESCRIPTION_SIZE, "a%u accepts b%u, excludes others for %u", name, b,
            a_after[LH_CA_EXCLUSION]);
        break;
    case LH_ACT_DELIVER_RELEASE:
        add(text, LH_DESCRIPTION_SIZE, "a%u receives Release(b%u) and clears b%u", name, b,
            a[LH_CA_RECORD]);
        break;
    case LH_ACT_DELIVER_EXTEND:
        add(text, LH_DESCRIPTION_SIZE, "a%u answers Extend(b%u, %u), excludes others for %u", name,
            b, action.argument, a_after[LH_CA_EXCLUSION]);
        break;
    case LH_ACT_CRASH_ACCEPTOR:
        add(text, LH_DESCRIPTION_SIZE, "a%u crashes and forgets", name);
        break;
    case LH_ACT_RESTART_ACCEPTOR:
        add(text, LH_DESCRIPTION_SIZE, "a%u restarts, silent for %u", name, a_after[LH_CA_SILENCE]);
        break;
    case LH_ACT_STOP_ACCEPTOR:
        add(text, LH_DESCRIPTION_SIZE, "a%u is stopped in order and saves its state", name);
        break;
    case LH_ACT_RESTORE_ACCEPTOR:
        add(text, LH_DESCRIPTION_SIZE, "a%u starts and restores the saved state", name);
        break;
    case LH_ACT_FORGET: add(text, LH_DESCRIPTION_SIZE, "a%u forgets the idle name", name); break;
    case LH_ACT_LOWER_CEILING:
        add(text, LH_DESCRIPTION_SIZE, "a%u lowers its ceiling to %u", name, action.argument);
        break;
    default:
        add(text, LH_DESCRIPTION_SIZE, "a%u is replaced, floor b%u, silent for %u", name,
            action.argument, a_after[LH_CA_SILENCE]);
    }
}

static void describe_closed(const struct lh_check_config *config, struct lh_action action,
                            const uint8_t *from, const uint8_t *to, char *text)
{
    const unsigned name = action.process + 1u;
    const uint8_t *p = from + lh_closed_proposer(config, action.process, 0);
    const uint8_t *p_after = to + lh_closed_proposer(config, action.process, 0);
    switch (action.kind) {
    case LH_ACT_INIT: add(text, LH_DESCRIPTION_SIZE, "the initial state"); break;
    case LH_ACT_TICK: add(text, LH_DESCRIPTION_SIZE, "time passes"); break;
    case LH_ACT_START_ACQUIRE:
        add(text, LH_DESCRIPTION_SIZE, "p%u starts b%u for %u", name, action.argument,
            to[lh_closed_ballot(action.argument, LH_CB_DURATION)]);
        if (p_after[LH_CP_BASE] != 0)
            add(text, LH_DESCRIPTION_SIZE, ", to renew b%u", p_after[LH_CP_BASE]);
        break;
    case LH_ACT_SEND_ACCEPT:
        add(text, LH_DESCRIPTION_SIZE, "p%u has a quorum of promises and sends Accept(b%u)", name,
            action.argument);
        break;
    case LH_ACT_ACTIVATE:
        add(text, LH_DESCRIPTION_SIZE, "p%u has a quorum for b%u and owns the lease for %u", name,
            action.argument, p_after[LH_CP_AUTHORITY]);
        break;
    case LH_ACT_ABANDON: add(text, LH_DESCRIPTION_SIZE, "p%u abandons its attempt", name); break;
    case LH_ACT_ABANDON_RELEASE:
        add(text, LH_DESCRIPTION_SIZE, "p%u abandons its attempt and releases b%u", name,
            action.argument);
        break;
    case LH_ACT_RELEASE:
        add(text, LH_DESCRIPTION_SIZE, "p%u releases b%u", name, action.argument);
        break;
    case LH_ACT_EXTEND:
        add(text, LH_DESCRIPTION_SIZE, "p%u sends Extend(b%u, %u) for %u", name, p[LH_CP_HELD],
            action.argument, p_after[LH_CP_PENDING]);
        break;
    case LH_ACT_EXTENDED:
        add(text, LH_DESCRIPTION_SIZE, "p%u has a quorum for n = %u and owns the lease for %u",
            name, action.argument, p_after[LH_CP_AUTHORITY]);
        break;
    case LH_ACT_CRASH_PROPOSER: add(text, LH_DESCRIPTION_SIZE, "p%u crashes", name); break;
    case LH_ACT_RESTORE_PROPOSER:
        add(text, LH_DESCRIPTION_SIZE, "p%u is restarted in order", name);
        break;
    default: describe_closed_acceptor(config, action, from, to, text);
    }
}

void lh_describe_action(const struct lh_model *model, const uint8_t *from, struct lh_action action,
                        const uint8_t *to, char ret_text[LH_DESCRIPTION_SIZE])
{
    ret_text[0] = '\0';
    if (model->config.module == LH_CHECK_CLOSED) {
        describe_closed(&model->config, action, from, to, ret_text);
        return;
    }
    static const struct lh_message none;
    const struct lh_message *m = &none;
    if (model->config.module != LH_CHECK_COMPOSITION)
        m = &lh_lease_of(model)->messages[action.message];
    switch (action.kind) {
    case LH_ACT_INIT: add(ret_text, LH_DESCRIPTION_SIZE, "the initial state"); break;
    case LH_ACT_STUTTER: add(ret_text, LH_DESCRIPTION_SIZE, "nothing happens"); break;
    case LH_ACT_TICK: describe_tick(model, from, to, ret_text); break;
    case LH_ACT_DELIVER_PREPARE:
    case LH_ACT_DELIVER_ACCEPT:
    case LH_ACT_DELIVER_RELEASE: describe_at_acceptor(m, from, to, ret_text); break;
    case LH_ACT_DELIVER_PROMISE: describe_promise(model, m, from, to, ret_text); break;
    case LH_ACT_DELIVER_ACCEPTED: describe_accepted(model, m, from, to, ret_text); break;
    case LH_ACT_DROP: {
        char message[96];
        lh_describe_message(model, action.message, message, sizeof message);
        add(ret_text, LH_DESCRIPTION_SIZE, "lost: %s", message);
        break;
    }
    default:
        if (action.kind >= LH_ACT_ACQUIRE_LEASE)
            describe_leader(action, ret_text);
        else
            describe_process(model, from, action, to, ret_text);
    }
    if (action.keep)
        add(ret_text, LH_DESCRIPTION_SIZE, " (it stays in flight)");
}
