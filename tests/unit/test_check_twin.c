// The search against a deliberately dumb twin: plain structs, a list of messages, one linear list
// of states, every rule written out again from the paper's modules, no packing, no fingerprints, no
// increments. On every small configuration both must count the same states, and under symmetry
// reduction as many states as there are orbits.
// run-tests: timeout 300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/search.h"

enum { MESSAGES = 16, TWIN_LIMIT = 20000 };
enum kind { PREPARE = 1, PROMISE, ACCEPT, ACCEPTED, RELEASE };

struct message {
    int kind, proposer, acceptor, ballot, owner, accepted_ballot, deadline;
};

struct acceptor {
    int promised, owner, ballot, deadline, crashed, quarantine;
};

struct proposer {
    int phase, ballot, deadline, pending, attempt, ok, answered, active, active_ballot, cert;
    int crashed, cert_deadline[LH_CHECK_MAX_ACCEPTORS];
};

struct state {
    int now, used;
    struct acceptor a[LH_CHECK_MAX_ACCEPTORS];
    struct proposer p[LH_CHECK_MAX_PROPOSERS];
    int count;
    struct message m[MESSAGES];
};

struct twin {
    const struct lh_check_config *c;
    struct state *states; // in the order found
    uint32_t *sorted;     // their numbers, by content
    uint32_t count;
    uint64_t generated;
    uint32_t depth;
    bool violated;
    bool overflow;
    bool impl;
};

static int compare_messages(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct message));
}

static void sort_network(struct state *s)
{
    qsort(s->m, (size_t)s->count, sizeof s->m[0], compare_messages);
    memset(&s->m[s->count], 0, (size_t)(MESSAGES - s->count) * sizeof s->m[0]);
}

static void send_message(struct state *s, struct message m)
{
    for (int i = 0; i < s->count; i++) {
        if (memcmp(&s->m[i], &m, sizeof m) == 0)
            return;
    }
    assert_true(s->count < MESSAGES);
    s->m[s->count++] = m;
}

static void take(struct state *s, struct message m)
{
    for (int i = 0; i < s->count; i++) {
        if (memcmp(&s->m[i], &m, sizeof m) == 0) {
            s->m[i] = s->m[--s->count];
            return;
        }
    }
}

static bool weak(const struct twin *t, enum lh_check_rule rule)
{
    return (t->c->weaken & (uint32_t)rule) != 0;
}

static bool quorum(const struct twin *t, int answers)
{
    if (weak(t, LH_WEAKEN_SCALAR_QUORUM))
        return 2 * answers > t->c->acceptors;
    return lh_check_config_is_quorum(t->c, (uint32_t)answers);
}

static int add_answer(const struct twin *t, int answers, int acceptor)
{
    if (weak(t, LH_WEAKEN_SCALAR_QUORUM))
        return answers < t->c->acceptors ? answers + 1 : answers;
    return answers | 1 << acceptor;
}

static bool breaks(const struct twin *t, const struct state *s)
{
    int active = 0;
    for (int p = 0; p < t->c->proposers; p++)
        active += s->p[p].active;
    return active > 1;
}

// Renames processes: proposer p becomes pn[p], acceptor a becomes an[a].
static struct state renamed(const struct twin *t, const struct state *s, const int *pn,
                            const int *an)
{
    struct state r;
    memset(&r, 0, sizeof r);
    r.now = s->now;
    r.used = s->used;
    r.count = s->count;
    for (int a = 0; a < t->c->acceptors; a++) {
        r.a[an[a]] = s->a[a];
        if (s->a[a].owner != 0)
            r.a[an[a]].owner = pn[s->a[a].owner - 1] + 1;
    }
    for (int p = 0; p < t->c->proposers; p++) {
        const struct proposer *from = &s->p[p];
        struct proposer *to = &r.p[pn[p]];
        *to = *from;
        to->cert = 0;
        if (!weak(t, LH_WEAKEN_SCALAR_QUORUM))
            to->ok = to->answered = 0;
        for (int a = 0; a < t->c->acceptors; a++) {
            to->cert_deadline[an[a]] = from->cert_deadline[a];
            to->cert |= (from->cert >> a & 1) << an[a];
            if (!weak(t, LH_WEAKEN_SCALAR_QUORUM)) {
                to->ok |= (from->ok >> a & 1) << an[a];
                to->answered |= (from->answered >> a & 1) << an[a];
            }
        }
    }
    for (int i = 0; i < s->count; i++) {
        r.m[i] = s->m[i];
        r.m[i].proposer = pn[s->m[i].proposer];
        r.m[i].acceptor = an[s->m[i].acceptor];
        if (s->m[i].owner != 0)
            r.m[i].owner = pn[s->m[i].owner - 1] + 1;
    }
    sort_network(&r);
    return r;
}

static bool next_permutation(int *names, int count)
{
    int i = count - 2;
    while (i >= 0 && names[i] > names[i + 1])
        i--;
    if (i < 0)
        return false;
    int j = count - 1;
    while (names[j] < names[i])
        j--;
    const int swap = names[i];
    names[i] = names[j];
    names[j] = swap;
    for (int left = i + 1, right = count - 1; left < right; left++, right--) {
        const int other = names[left];
        names[left] = names[right];
        names[right] = other;
    }
    return true;
}

// The least of all renamings.
static void canonical(const struct twin *t, struct state *s)
{
    struct state least = *s;
    int pn[3] = {0, 1, 2};
    do {
        int an[5] = {0, 1, 2, 3, 4};
        do {
            const struct state r = renamed(t, s, pn, an);
            if (memcmp(&r, &least, sizeof r) < 0)
                least = r;
        } while (next_permutation(an, t->c->acceptors));
    } while (next_permutation(pn, t->c->proposers));
    *s = least;
}

// Counts a successor and keeps it if it is new and inside the constraint.
static void found(struct twin *t, const struct state *successor, int times)
{
    struct state s = *successor;
    sort_network(&s);
    t->generated += (uint64_t)times;
    if (breaks(t, &s))
        t->violated = true;
    if (s.count > t->c->max_network || t->overflow)
        return;
    if (t->c->symmetry)
        canonical(t, &s);
    uint32_t low = 0;
    uint32_t high = t->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        const int order = memcmp(&t->states[t->sorted[middle]], &s, sizeof s);
        if (order == 0)
            return;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (t->count == TWIN_LIMIT) {
        t->overflow = true;
        return;
    }
    memmove(&t->sorted[low + 1], &t->sorted[low], (t->count - low) * sizeof t->sorted[0]);
    t->sorted[low] = t->count;
    t->states[t->count++] = s;
}

static void purge(const struct twin *t, struct state *s, bool to_acceptor, int process)
{
    if (!t->c->crash_drops_incoming)
        return;
    for (int i = s->count - 1; i >= 0; i--) {
        const struct message m = s->m[i];
        const bool request = m.kind == PREPARE || m.kind == ACCEPT || m.kind == RELEASE;
        if (request == to_acceptor && (request ? m.acceptor : m.proposer) == process)
            take(s, m);
    }
}

static void broadcast(const struct twin *t, struct state *s, int kind, int p, int ballot)
{
    for (int a = 0; a < t->c->acceptors; a++)
        send_message(s, (struct message){kind, p, a, ballot, 0, 0, 0});
}

static void at_acceptor(struct twin *t, const struct state *from, struct message m, bool keep)
{
    const struct acceptor *a = &from->a[m.acceptor];
    const bool live = a->owner != 0 && from->now < a->deadline;
    if (a->crashed || from->now < a->quarantine)
        return;
    struct state s = *from;
    struct acceptor *to = &s.a[m.acceptor];
    if (!keep)
        take(&s, m);
    if (m.kind == PREPARE && m.ballot >= a->promised) {
        struct message r = {PROMISE, m.proposer, m.acceptor, m.ballot, 0, 0, 0};
        if (live) {
            r.owner = a->owner;
            r.accepted_ballot = a->ballot;
            r.deadline = a->deadline;
        }
        send_message(&s, r);
        to->promised = m.ballot;
    }
    if (m.kind == ACCEPT && m.ballot >= a->promised &&
        !(t->c->refuse_live_overwrite && live && a->owner != m.proposer + 1)) {
        const int deadline = from->now + t->c->acceptor_duration;
        send_message(&s,
                     (struct message){ACCEPTED, m.proposer, m.acceptor, m.ballot, 0, 0, deadline});
        to->promised = m.ballot;
        to->owner = m.proposer + 1;
        to->ballot = m.ballot;
        to->deadline = deadline;
    }
    if (m.kind == RELEASE && a->owner == m.proposer + 1 &&
        (a->ballot == m.ballot || weak(t, LH_WEAKEN_OWNER_ONLY_RELEASE)))
        to->owner = to->ballot = to->deadline = 0;
    found(t, &s, 1);
}

static void at_proposer(struct twin *t, const struct state *from, struct message m, bool keep)
{
    const struct proposer *p = &from->p[m.proposer];
    if (p->crashed || m.ballot != p->ballot || (m.kind == ACCEPTED && p->phase != 2))
        return;
    struct state s = *from;
    struct proposer *to = &s.p[m.proposer];
    if (!keep)
        take(&s, m);
    if (m.kind == PROMISE) {
        const bool own = m.owner == m.proposer + 1;
        const bool renews = p->active && m.accepted_ballot == p->active_ballot;
        if (m.owner == 0 || (own && (renews || t->impl || weak(t, LH_WEAKEN_STALE_OWNER_OPEN))))
            to->ok = add_answer(t, p->ok, m.acceptor);
        found(t, &s, 1);
        return;
    }
    to->answered = add_answer(t, p->answered, m.acceptor);
    to->cert_deadline[m.acceptor] = m.deadline;
    if (quorum(t, to->answered)) {
        to->phase = 0;
        if (from->now < p->pending) {
            to->active = 1;
            to->active_ballot = m.ballot;
            to->deadline = p->pending;
            if (!weak(t, LH_WEAKEN_SCALAR_QUORUM))
                to->cert = to->answered;
        }
    }
    found(t, &s, 1);
}

static void start_and_accept(struct twin *t, const struct state *from, int p)
{
    const struct proposer *row = &from->p[p];
    const bool late = t->impl || weak(t, LH_WEAKEN_LATE_TIMER);
    for (int b = row->ballot + 1; b <= t->c->ballots; b++) {
        if (row->phase != 0 || (from->used >> b & 1) || (row->active && !t->c->allow_renewal))
            continue;
        struct state s = *from;
        struct proposer *to = &s.p[p];
        to->ballot = b;
        to->phase = 1;
        to->ok = to->answered = 0;
        s.used |= 1 << b;
        if (!late)
            to->pending = from->now + t->c->proposer_duration;
        if (t->impl)
            to->attempt = from->now + t->c->retry_timeout;
        broadcast(t, &s, PREPARE, p, b);
        found(t, &s, !row->active && t->c->allow_renewal ? 2 : 1);
    }
    if (row->phase == 1 && quorum(t, row->ok) && (late || from->now < row->pending)) {
        struct state s = *from;
        s.p[p].phase = 2;
        s.p[p].answered = 0;
        if (late)
            s.p[p].pending = from->now + t->c->proposer_duration;
        broadcast(t, &s, ACCEPT, p, row->ballot);
        found(t, &s, 1);
    }
}

static void other_proposer_steps(struct twin *t, const struct state *from, int p)
{
    const struct proposer *row = &from->p[p];
    struct state s = *from;
    s.p[p].phase = 0;
    if (!row->crashed && row->phase != 0 &&
        (t->impl ? !t->c->timely_dispatch && from->now >= row->attempt : t->c->allow_abandon))
        found(t, &s, 1);
    s = *from;
    s.p[p].active = 0;
    if (row->active && t->c->allow_release) {
        broadcast(t, &s, RELEASE, p, row->active_ballot);
        found(t, &s, 1);
    }
    if (!t->c->allow_crash)
        return;
    s = *from;
    s.p[p].crashed = !row->crashed;
    if (!row->crashed)
        s.p[p].active = s.p[p].phase = 0;
    if (!t->impl)
        purge(t, &s, false, p);
    found(t, &s, 1);
}

static void crash_steps(struct twin *t, const struct state *from, int a)
{
    const bool may_crash = t->c->crashable_acceptors == 0 || (t->c->crashable_acceptors >> a & 1);
    struct state s = *from;
    if (!t->c->allow_crash || (!from->a[a].crashed && !may_crash))
        return;
    if (from->a[a].crashed) {
        s.a[a].crashed = 0;
        s.a[a].quarantine = from->now + t->c->quarantine;
    } else {
        const int quarantine = from->a[a].quarantine;
        s.a[a] = (struct acceptor){.crashed = 1, .quarantine = quarantine};
    }
    purge(t, &s, true, a);
    found(t, &s, 1);
}

static void tick(struct twin *t, const struct state *from)
{
    struct state s = *from;
    if (from->now < t->c->max_time) {
        s.now++;
        for (int p = 0; p < t->c->proposers; p++) {
            if (s.now >= s.p[p].deadline)
                s.p[p].active = 0;
            if (t->impl && t->c->timely_dispatch && s.now >= s.p[p].attempt)
                s.p[p].phase = 0;
        }
    }
    found(t, &s, 1);
}

static void expand(struct twin *t, struct state from)
{
    for (int i = 0; i < from.count; i++) {
        const struct message m = from.m[i];
        for (int keep = t->c->allow_redeliver; keep >= 0; keep--) {
            if (m.kind == PROMISE || m.kind == ACCEPTED)
                at_proposer(t, &from, m, keep);
            else
                at_acceptor(t, &from, m, keep);
        }
        if (t->c->allow_drop) {
            struct state s = from;
            take(&s, m);
            found(t, &s, 1);
        }
    }
    for (int p = 0; p < t->c->proposers; p++) {
        if (!from.p[p].crashed)
            start_and_accept(t, &from, p);
        other_proposer_steps(t, &from, p);
    }
    for (int a = 0; a < t->c->acceptors; a++)
        crash_steps(t, &from, a);
    tick(t, &from);
}

static void run_twin(struct twin *t, const struct lh_check_config *config)
{
    *t = (struct twin){.c = config,
                       .states = calloc(TWIN_LIMIT, sizeof(struct state)),
                       .sorted = calloc(TWIN_LIMIT + 1, sizeof(uint32_t)),
                       .count = 1,
                       .generated = 1,
                       .impl = config->module == LH_CHECK_IMPL};
    assert_non_null(t->states);
    assert_non_null(t->sorted);
    uint32_t begin = 0;
    while (begin < t->count && !t->violated && !t->overflow) {
        const uint32_t end = t->count;
        t->depth++;
        for (uint32_t i = begin; i < end && !t->overflow; i++)
            expand(t, t->states[i]);
        begin = end;
    }
}

// Returns false if the configuration is too large for the twin.
static bool agree(const struct lh_check_config *config, uint32_t threads)
{
    struct twin twin;
    struct lh_model model;
    struct lh_search_result result;
    char error[LH_CHECK_ERROR_SIZE];
    assert_true(lh_check_config_validate(config, error));
    run_twin(&twin, config);
    const bool small = !twin.overflow;
    if (small) {
        const struct lh_search_options options = {.threads = threads,
                                                  .memory_bytes = UINT64_C(1) << 28};
        assert_true(lh_model_open(&model, config));
        lh_search_run(&model, &options, &result);
        if (twin.violated) {
            assert_int_equal(result.verdict, LH_VERDICT_VIOLATED);
            assert_int_equal(result.invariant, LH_INV_LEASE_EXCLUSIVITY);
            assert_int_equal(result.trace_states, twin.depth + 1);
        } else {
            assert_int_equal(result.verdict, LH_VERDICT_PASS);
            assert_int_equal(result.distinct, twin.count);
            assert_int_equal(result.generated, twin.generated);
            assert_int_equal(result.depth, twin.depth);
        }
        lh_model_close(&model);
    }
    free(twin.states);
    free(twin.sorted);
    return small;
}

static struct lh_check_config small_config(enum lh_check_module module)
{
    struct lh_check_config config;
    lh_check_config_default(&config, module);
    config.max_network = 3;
    config.max_time = 1;
    config.ballots = 1;
    return config;
}

static void the_smallest_configurations_agree(void **state)
{
    (void)state;
    struct lh_check_config config = small_config(LH_CHECK_LEASE);
    assert_true(agree(&config, 1));
    config.allow_crash = true;
    assert_true(agree(&config, 1));
    config.crash_drops_incoming = true;
    config.max_time = 0;
    assert_true(agree(&config, 2));
    config = small_config(LH_CHECK_LEASE);
    config.proposers = 1;
    config.ballots = 2;
    config.max_time = 2;
    config.allow_release = config.allow_renewal = config.allow_abandon = true;
    assert_true(agree(&config, 1));
}

static void redelivery_counts_a_kept_message_apart(void **state)
{
    (void)state;
    struct lh_check_config config = small_config(LH_CHECK_LEASE);
    config.allow_redeliver = true;
    config.allow_drop = true;
    assert_true(agree(&config, 1));
}

static void the_projection_agrees(void **state)
{
    (void)state;
    struct lh_check_config config = small_config(LH_CHECK_IMPL);
    config.allow_crash = true;
    assert_true(agree(&config, 1));
    config.timely_dispatch = false;
    config.crashable_acceptors = 1 << 1;
    assert_true(agree(&config, 1));
}

static void orbits_are_counted_under_symmetry(void **state)
{
    (void)state;
    struct lh_check_config config = small_config(LH_CHECK_LEASE);
    config.symmetry = true;
    config.allow_crash = true;
    assert_true(agree(&config, 1));
    config.ballots = 2;
    config.allow_crash = false;
    config.max_time = 0;
    assert_true(agree(&config, 1));
    config.acceptors = 3;
    assert_true(agree(&config, 1));
    config.proposers = 3;
    config.ballots = 1;
    assert_true(agree(&config, 1));
}

static void a_violation_is_found_at_the_same_length(void **state)
{
    (void)state;
    char error[LH_CHECK_ERROR_SIZE];
    struct lh_check_config config = small_config(LH_CHECK_LEASE);
    config.ballots = 2;
    config.max_time = 1;
    config.weaken = LH_WEAKEN_QUORUMS;
    config.symmetry = false;
    assert_true(lh_check_config_set(&config, "Quorums=1,2", error));
    assert_true(agree(&config, 1));
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

// Mixtures that nobody chose.
static void mixtures_agree(void **state)
{
    (void)state;
    static const uint32_t rules[] = {0,
                                     0,
                                     0,
                                     LH_WEAKEN_LATE_TIMER,
                                     LH_WEAKEN_OWNER_ONLY_RELEASE,
                                     LH_WEAKEN_SCALAR_QUORUM,
                                     LH_WEAKEN_STALE_OWNER_OPEN};
    uint64_t seed = 2012;
    uint32_t compared = 0;
    for (uint32_t i = 0; i < 120 && compared < 40; i++) {
        struct lh_check_config c =
            small_config(draw(&seed, 4) == 0 ? LH_CHECK_IMPL : LH_CHECK_LEASE);
        c.proposers = (uint8_t)(1 + draw(&seed, 2));
        c.acceptors = (uint8_t)(1 + draw(&seed, i % 3 == 0 ? 5 : 3));
        c.ballots = (uint8_t)(1 + draw(&seed, i % 3 == 1 ? 4 : 2));
        c.max_time = (uint8_t)draw(&seed, i % 3 == 2 ? 8 : 4);
        c.acceptor_duration = (uint8_t)(1 + draw(&seed, 3));
        c.proposer_duration = (uint8_t)(draw(&seed, c.acceptor_duration + 1u));
        c.quarantine = (uint8_t)draw(&seed, 3);
        c.retry_timeout = (uint8_t)(1 + draw(&seed, 2));
        c.max_network = (uint8_t)(1 + draw(&seed, 4));
        c.allow_crash = draw(&seed, 2);
        c.allow_release = draw(&seed, 2);
        c.allow_drop = draw(&seed, 2);
        c.allow_renewal = draw(&seed, 2);
        c.crash_drops_incoming = draw(&seed, 2);
        c.symmetry = draw(&seed, 3) == 0;
        if (c.module == LH_CHECK_LEASE) {
            c.allow_abandon = draw(&seed, 2);
            c.allow_redeliver = draw(&seed, 2);
            c.refuse_live_overwrite = draw(&seed, 2);
            c.weaken = rules[draw(&seed, sizeof rules / sizeof rules[0])];
        } else {
            c.timely_dispatch = draw(&seed, 2);
        }
        compared += agree(&c, 1 + i % 2);
    }
    assert_true(compared >= 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_configurations_agree),
        cmocka_unit_test(redelivery_counts_a_kept_message_apart),
        cmocka_unit_test(the_projection_agrees),
        cmocka_unit_test(orbits_are_counted_under_symmetry),
        cmocka_unit_test(a_violation_is_found_at_the_same_length),
        cmocka_unit_test(mixtures_agree),
    };
    return cmocka_run_group_tests_name("check_twin", tests, NULL, NULL);
}
