// P1 to P6, L1 and the owner's half of F3, on the closed network.
#include "check/closed_rules.h"

static struct lh_action by(enum lh_action_kind kind, uint32_t p, uint32_t argument)
{
    return (struct lh_action){
        .kind = (uint8_t)kind, .process = (uint8_t)p, .argument = (uint8_t)argument};
}

static uint32_t answers(const struct lh_closed_step *step, uint32_t p, uint32_t variable)
{
    uint32_t set = 0;
    for (uint32_t a = 0; a < step->config->acceptors; a++) {
        if (lh_closed_from_a(step, a)[variable] & 1u << p)
            set |= 1u << a;
    }
    return set;
}

static void clear_answers(struct lh_closed_step *step, uint32_t p, uint32_t variable)
{
    for (uint32_t a = 0; a < step->config->acceptors; a++)
        lh_closed_a(step, a)[variable] &= (uint8_t) ~(1u << p);
}

static bool has_duration(const struct lh_closed_step *step, uint32_t duration)
{
    return (step->config->durations & 1u << (duration - 1)) != 0;
}

// P1, T1: what remains of td counts from here.
static void start(struct lh_closed_step *step, uint32_t p, uint32_t ballot, uint32_t duration)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    lh_closed_begin(step);
    uint8_t *row = lh_closed_p(step, p);
    if (before[LH_CP_BALLOT] != ballot) { // else it is used again, against the rule
        clear_answers(step, p, LH_CA_OPEN);
        clear_answers(step, p, LH_CA_ANSWERED);
    }
    lh_closed_b(step, ballot)[LH_CB_OWNER] = (uint8_t)(p + 1);
    lh_closed_b(step, ballot)[LH_CB_DURATION] = (uint8_t)duration;
    row[LH_CP_PHASE] = LH_C_PREPARING;
    row[LH_CP_BALLOT] = (uint8_t)ballot;
    row[LH_CP_PENDING] = lh_closed_weak(step, LH_WEAKEN_LATE_TIMER) ? 0 : (uint8_t)duration;
    row[LH_CP_BASE] = before[LH_CP_AUTHORITY] != 0 ? before[LH_CP_HELD] : 0;
    lh_closed_commit(step, by(LH_ACT_START_ACQUIRE, p, ballot));
}

static void starts(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    if (before[LH_CP_PHASE] != LH_C_IDLE ||
        (before[LH_CP_AUTHORITY] != 0 && !step->config->allow_renewal))
        return;
    const bool again = lh_closed_weak(step, LH_WEAKEN_BALLOT_REUSE) && before[LH_CP_BALLOT] != 0;
    for (uint32_t ballot = before[LH_CP_BALLOT] + (again ? 0u : 1u);
         ballot <= step->config->ballots; ballot++) {
        const uint8_t owner = lh_closed_from_b(step, ballot)[LH_CB_OWNER];
        if (owner != 0 && !(again && ballot == before[LH_CP_BALLOT]))
            continue;
        for (uint32_t duration = 1; duration <= step->closed->longest; duration++) {
            if (has_duration(step, duration))
                start(step, p, ballot, duration);
        }
    }
}

void lh_closed_send_accept(const struct lh_closed_step *step, uint32_t p)
{
    uint8_t *row = lh_closed_p(step, p);
    uint8_t *ballot = lh_closed_b(step, row[LH_CP_BALLOT]);
    row[LH_CP_PHASE] = LH_C_ACCEPTING;
    if (lh_closed_weak(step, LH_WEAKEN_LATE_TIMER))
        row[LH_CP_PENDING] = ballot[LH_CB_DURATION];
    ballot[LH_CB_ACCEPT_SENT] = 1;
    if (!lh_closed_weak(step, LH_WEAKEN_LIVE_OVERWRITE))
        ballot[LH_CB_BASE] = row[LH_CP_BASE];
}

bool lh_closed_has_quorum(const struct lh_closed_step *step, uint32_t p, uint32_t variable)
{
    uint32_t set = 0;
    for (uint32_t a = 0; a < step->config->acceptors; a++) {
        if (lh_closed_a(step, a)[variable] & 1u << p)
            set |= 1u << a;
    }
    return step->closed->quorum[set];
}

// P3.
static void send_accept(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    const bool late = lh_closed_weak(step, LH_WEAKEN_LATE_TIMER);
    if (before[LH_CP_PHASE] != LH_C_PREPARING || (before[LH_CP_PENDING] == 0 && !late) ||
        !step->closed->quorum[answers(step, p, LH_CA_OPEN)])
        return;
    lh_closed_begin(step);
    lh_closed_send_accept(step, p);
    lh_closed_commit(step, by(LH_ACT_SEND_ACCEPT, p, before[LH_CP_BALLOT]));
}

// Tokens rise; the greatest granted so far is kept to tell.
static void grant_token(struct lh_closed_step *step, uint8_t *row, uint8_t token)
{
    if (!step->config->promise_floor)
        return;
    row[LH_CP_TOKEN] = token;
    if (token < step->raw[LH_C_MAX_TOKEN])
        step->raw[LH_C_TOKEN_BROKEN] = 1;
    else
        step->raw[LH_C_MAX_TOKEN] = token;
}

// P4: a renewal in time keeps its token and takes the later deadline (D); otherwise it is new.
static void activate(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    if (before[LH_CP_PHASE] != LH_C_ACCEPTING || before[LH_CP_PENDING] == 0 ||
        !step->closed->quorum[answers(step, p, LH_CA_ANSWERED)])
        return;
    const bool renews = before[LH_CP_AUTHORITY] != 0 && before[LH_CP_BASE] != 0 &&
                        before[LH_CP_BASE] == before[LH_CP_HELD];
    lh_closed_begin(step);
    uint8_t *row = lh_closed_p(step, p);
    row[LH_CP_AUTHORITY] = before[LH_CP_PENDING];
    if (renews && !lh_closed_weak(step, LH_WEAKEN_AUTHORITY_SET))
        row[LH_CP_AUTHORITY] = lh_closed_greater(before[LH_CP_PENDING], before[LH_CP_AUTHORITY]);
    const bool keeps = lh_closed_weak(step, LH_WEAKEN_LATE_RENEWAL_TOKEN) &&
                       before[LH_CP_BASE] != 0 && before[LH_CP_TOKEN] != 0;
    if (!renews)
        grant_token(step, row, keeps ? before[LH_CP_TOKEN] : before[LH_CP_BALLOT]);
    row[LH_CP_HELD] = before[LH_CP_BALLOT];
    row[LH_CP_STAMP] = 0;
    row[LH_CP_PHASE] = LH_C_IDLE;
    clear_answers(step, p, LH_CA_STALE);
    lh_closed_commit(step, by(LH_ACT_ACTIVATE, p, before[LH_CP_BALLOT]));
}

// P5.
static void abandon(struct lh_closed_step *step, uint32_t p)
{
    if (lh_closed_from_p(step, p)[LH_CP_PHASE] == LH_C_IDLE || !step->config->allow_abandon)
        return;
    lh_closed_begin(step);
    lh_closed_p(step, p)[LH_CP_PHASE] = LH_C_IDLE;
    lh_closed_commit(step, by(LH_ACT_ABANDON, p, 0));
}

// AbandonRelease: a fresh attempt, which was built over nothing, is abandoned and its ballot
// released, so that what it left at some acceptors blocks nobody.
static void abandon_and_release(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    const uint32_t ballot = before[LH_CP_BALLOT];
    if (before[LH_CP_PHASE] != LH_C_ACCEPTING || !step->config->abandon_release ||
        !step->config->allow_abandon)
        return;
    const bool fresh = before[LH_CP_BASE] == 0 && lh_closed_from_b(step, ballot)[LH_CB_BASE] == 0;
    if (!fresh && !lh_closed_weak(step, LH_WEAKEN_ABANDON_RENEWAL))
        return;
    lh_closed_begin(step);
    lh_closed_b(step, ballot)[LH_CB_RELEASED] = 1;
    if (!lh_closed_weak(step, LH_WEAKEN_ABANDON_GOES_ON))
        lh_closed_p(step, p)[LH_CP_PHASE] = LH_C_IDLE;
    lh_closed_commit(step, by(LH_ACT_ABANDON_RELEASE, p, ballot));
}

// P6: the attempt in flight goes too.
static void release(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    if (before[LH_CP_AUTHORITY] == 0 || !step->config->allow_release)
        return;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_p(step, p);
    lh_closed_b(step, before[LH_CP_HELD])[LH_CB_RELEASED] = 1;
    row[LH_CP_AUTHORITY] = 0;
    row[LH_CP_PHASE] = LH_C_IDLE;
    lh_closed_commit(step, by(LH_ACT_RELEASE, p, before[LH_CP_HELD]));
}

// F3: Extend(held, n) with td counting from the send.
static void extend(struct lh_closed_step *step, uint32_t p, uint32_t duration)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    const uint32_t stamp = before[LH_CP_STAMP] + 1u;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_p(step, p);
    lh_closed_b(step, before[LH_CP_HELD])[LH_CB_EXTEND + stamp - 1] = (uint8_t)duration;
    row[LH_CP_STAMP] = (uint8_t)stamp;
    row[LH_CP_PHASE] = LH_C_EXTENDING;
    row[LH_CP_PENDING] = (uint8_t)duration;
    for (uint32_t a = 0; a < step->config->acceptors; a++) {
        uint8_t *acceptor = lh_closed_a(step, a);
        acceptor[LH_CA_ANSWERED] &= (uint8_t) ~(1u << p);
        if (lh_closed_weak(step, LH_WEAKEN_OLDER_EXTEND))
            acceptor[LH_CA_ANSWERED] |= (uint8_t)(acceptor[LH_CA_STALE] & 1u << p);
    }
    lh_closed_commit(step, by(LH_ACT_EXTEND, p, stamp));
}

static void extended(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    if (before[LH_CP_PHASE] != LH_C_EXTENDING || before[LH_CP_PENDING] == 0 ||
        (before[LH_CP_AUTHORITY] == 0 && !lh_closed_weak(step, LH_WEAKEN_EXTEND_LATE)) ||
        !step->closed->quorum[answers(step, p, LH_CA_ANSWERED)])
        return;
    lh_closed_begin(step);
    uint8_t *row = lh_closed_p(step, p);
    row[LH_CP_AUTHORITY] = before[LH_CP_PENDING];
    if (!lh_closed_weak(step, LH_WEAKEN_AUTHORITY_SET))
        row[LH_CP_AUTHORITY] = lh_closed_greater(before[LH_CP_PENDING], before[LH_CP_AUTHORITY]);
    row[LH_CP_PHASE] = LH_C_IDLE;
    lh_closed_commit(step, by(LH_ACT_EXTENDED, p, before[LH_CP_STAMP]));
}

// The daemon is gone at once; what it told its client stays told.
static void crash(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    lh_closed_begin(step);
    uint8_t *row = lh_closed_p(step, p);
    if (step->config->client_outlives)
        row[LH_CP_ORPHAN] = lh_closed_greater(before[LH_CP_ORPHAN], before[LH_CP_AUTHORITY]);
    row[LH_CP_AUTHORITY] = 0;
    row[LH_CP_PHASE] = LH_C_IDLE;
    lh_closed_commit(step, by(LH_ACT_CRASH_PROPOSER, p, 0));
}

// F4: a restart in order keeps the lease; what it must not do is to begin n again.
static void restore(struct lh_closed_step *step, uint32_t p)
{
    lh_closed_begin(step);
    lh_closed_p(step, p)[LH_CP_PHASE] = LH_C_IDLE;
    if (lh_closed_weak(step, LH_WEAKEN_STAMP_RESTARTS))
        lh_closed_p(step, p)[LH_CP_STAMP] = 0;
    lh_closed_commit(step, by(LH_ACT_RESTORE_PROPOSER, p, 0));
}

void lh_closed_proposer_steps(struct lh_closed_step *step, uint32_t p)
{
    const uint8_t *before = lh_closed_from_p(step, p);
    starts(step, p);
    send_accept(step, p);
    activate(step, p);
    abandon(step, p);
    abandon_and_release(step, p);
    release(step, p);
    if (before[LH_CP_PHASE] == LH_C_IDLE && before[LH_CP_AUTHORITY] != 0 &&
        before[LH_CP_STAMP] < step->config->extends) {
        for (uint32_t duration = 1; duration <= step->closed->longest; duration++) {
            if (has_duration(step, duration))
                extend(step, p, duration);
        }
    }
    extended(step, p);
    if (step->config->allow_crash)
        crash(step, p);
    if (step->config->clean_restart)
        restore(step, p);
}
