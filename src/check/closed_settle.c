// Values that no rule will read again are set to one value, so that states that behave alike are
// equal. Nothing else is given up: a settled state has the same steps, by the same rules, to states
// that settle alike. What a weakened rule may read is kept. `KeepDead=true` leaves most of it out,
// for a test that both searches find the same.
//
// The greatest part is ballots that are over. With the floor (F2) promises never fall, so that what
// all acceptors promised above is refused for ever; and a ballot that is neither attempted, held,
// recorded nor able to be recorded has no owner any more: its Prepare only raises promises.
#include "check/closed_rules.h"

enum {
    // Under these, messages or records matter in ways of their own.
    KEEPS_BALLOTS = LH_WEAKEN_EXTEND_FOREIGN | LH_WEAKEN_EXTEND_EXPIRED |
                    LH_WEAKEN_OWNER_ONLY_RELEASE | LH_WEAKEN_BALLOT_REUSE | LH_WEAKEN_SAVED_TWICE,
};

static void settle_proposer(const struct lh_check_config *config, uint8_t *row)
{
    const bool late_timer = (config->weaken & LH_WEAKEN_LATE_TIMER) != 0;
    const bool extends_late = (config->weaken & LH_WEAKEN_EXTEND_LATE) != 0;
    const bool keeps_token = (config->weaken & LH_WEAKEN_LATE_RENEWAL_TOKEN) != 0;
    uint8_t *phase = &row[LH_CP_PHASE];
    // An attempt that may release on being abandoned is abandoned by a step of its own.
    const bool by_itself =
        config->allow_abandon && !(config->abandon_release && *phase == LH_C_ACCEPTING);
    if (row[LH_CP_PENDING] == 0 && *phase != LH_C_IDLE &&
        !(late_timer && *phase == LH_C_PREPARING) && (by_itself || *phase == LH_C_EXTENDING))
        *phase = LH_C_IDLE;
    if (row[LH_CP_AUTHORITY] == 0 && *phase == LH_C_EXTENDING && !extends_late)
        *phase = LH_C_IDLE;
    if (*phase == LH_C_IDLE || *phase == LH_C_EXTENDING)
        row[LH_CP_BASE] = 0;
    if (*phase == LH_C_IDLE)
        row[LH_CP_PENDING] = 0;
    if (row[LH_CP_AUTHORITY] == 0 && *phase != LH_C_EXTENDING) {
        row[LH_CP_HELD] = 0;
        row[LH_CP_STAMP] = 0;
        if (!keeps_token || row[LH_CP_BASE] == 0)
            row[LH_CP_TOKEN] = 0;
        if (*phase == LH_C_ACCEPTING && !keeps_token)
            row[LH_CP_BASE] = 0; // it is a new acquisition by now
    }
}

static void settle_acceptor(const struct lh_model *model, const uint8_t *raw, uint8_t *row)
{
    const struct lh_check_config *config = &model->config;
    const struct lh_closed *closed = model->private;
    if (row[LH_CA_EXCLUSION] == 0) {
        const bool revivable = (config->weaken & LH_WEAKEN_EXTEND_EXPIRED) != 0;
        const bool reinstallable =
            (config->weaken & (LH_WEAKEN_LIVE_OVERWRITE | LH_WEAKEN_RECORDED_AGAIN)) != 0;
        if (!revivable)
            row[LH_CA_STAMP] = 0;
        if (!revivable && (reinstallable || row[LH_CA_RECORD] != row[LH_CA_PROMISED]))
            row[LH_CA_RECORD] = 0;
    }
    if (row[LH_CA_RECORD] == 0)
        row[LH_CA_STAMP] = 0;
    for (uint32_t p = 0; p < config->proposers; p++) {
        const uint8_t *proposer = raw + lh_closed_proposer(config, p, 0);
        const uint8_t phase = proposer[LH_CP_PHASE];
        const uint8_t others = (uint8_t) ~(1u << p);
        if (config->weaken & LH_WEAKEN_BALLOT_REUSE)
            continue;
        if (phase != LH_C_PREPARING)
            row[LH_CA_OPEN] &= others;
        if (phase != LH_C_ACCEPTING && phase != LH_C_EXTENDING)
            row[LH_CA_ANSWERED] &= others;
        if (proposer[LH_CP_HELD] == 0)
            row[LH_CA_STALE] &= others;
    }
    const uint8_t wait = lh_closed_greater(closed->longest, config->quarantine);
    const bool remembers = row[LH_CA_PROMISED] != 0 || row[LH_CA_CEILING] != 0;
    if (!config->idle_forget && !config->ceiling)
        row[LH_CA_IDLE] = 0;
    else if (!remembers)
        row[LH_CA_IDLE] = wait;
    if (!config->ceiling)
        row[LH_CA_COOL] = 0;
    else if (row[LH_CA_CEILING] == 0)
        row[LH_CA_COOL] = wait;
}

// What the proposers and acceptors have to do with each ballot, one bit each.
struct uses {
    uint32_t attempted;  // in its Prepare or Accept phase
    uint32_t named;      // held, or the base of an attempt
    uint32_t recorded;   // live, at an acceptor or in what it saved
    uint32_t acceptable; // its Accept is sent or may yet be, and is not refused by all for ever
    uint8_t refused;     // below this, everything is refused by all for ever
};

static void find_uses(const struct lh_check_config *config, const uint8_t *raw, struct uses *uses)
{
    const bool floor_holds =
        config->promise_floor && !config->allow_replace && !(config->weaken & LH_WEAKEN_FLOOR_LOST);
    *uses = (struct uses){.refused = floor_holds ? config->ballots : 0};
    for (uint32_t a = 0; a < config->acceptors; a++) {
        const uint8_t *row = raw + lh_closed_acceptor(config, a, 0);
        if (row[LH_CA_EXCLUSION] != 0)
            uses->recorded |= 1u << row[LH_CA_RECORD];
        if (row[LH_CA_SAVED_EXCLUSION] != 0)
            uses->recorded |= 1u << row[LH_CA_SAVED_RECORD];
        if (row[LH_CA_PROMISED] < uses->refused)
            uses->refused = row[LH_CA_PROMISED];
    }
    uint32_t may_send = 0;
    for (uint32_t p = 0; p < config->proposers; p++) {
        const uint8_t *row = raw + lh_closed_proposer(config, p, 0);
        uses->named |= 1u << row[LH_CP_HELD] | 1u << row[LH_CP_BASE];
        if (row[LH_CP_PHASE] == LH_C_PREPARING)
            may_send |= 1u << row[LH_CP_BALLOT];
        if (row[LH_CP_PHASE] == LH_C_PREPARING || row[LH_CP_PHASE] == LH_C_ACCEPTING)
            uses->attempted |= 1u << row[LH_CP_BALLOT];
    }
    for (uint32_t b = 1; b <= config->ballots; b++) {
        const uint8_t *row = raw + lh_closed_ballot(b, 0);
        if (b >= uses->refused && (row[LH_CB_ACCEPT_SENT] || may_send >> b & 1))
            uses->acceptable |= 1u << b;
    }
    for (uint32_t b = 1; b <= config->ballots; b++) {
        if (uses->acceptable >> b & 1)
            uses->named |= 1u << raw[lh_closed_ballot(b, LH_CB_BASE)];
    }
}

static void settle_ballot(const struct lh_check_config *config, const struct uses *uses, uint32_t b,
                          uint8_t *row)
{
    const uint32_t bit = 1u << b;
    const bool acceptable = (uses->acceptable & bit) != 0;
    const bool attempted = (uses->attempted & bit) != 0;
    const bool recordable = acceptable || (uses->recorded & bit) != 0;
    if (!acceptable) {
        row[LH_CB_ACCEPT_SENT] = 0;
        if (!attempted || !config->abandon_release) // which asks whether it was fresh
            row[LH_CB_BASE] = 0;
    }
    if (!recordable) {
        row[LH_CB_RELEASED] = 0;
        memset(row + LH_CB_EXTEND, 0, LH_CB_VARIABLES - LH_CB_EXTEND);
    }
    const bool raises_ceiling = config->ceiling && row[LH_CB_OWNER] != 0 && b >= uses->refused;
    if (!acceptable && !attempted && !raises_ceiling)
        row[LH_CB_DURATION] = 0;
    const bool owned = recordable || attempted || (uses->named & bit) != 0;
    if (row[LH_CB_OWNER] != 0 && !owned)
        row[LH_CB_OWNER] = (uint8_t)(config->proposers + 1);
}

// A proposer at rest cares only for the ballots it may still use.
static void settle_last_ballot(const struct lh_check_config *config, const uint8_t *raw,
                               uint8_t *row)
{
    if (row[LH_CP_PHASE] == LH_C_PREPARING || row[LH_CP_PHASE] == LH_C_ACCEPTING)
        return;
    while (row[LH_CP_BALLOT] < config->ballots &&
           raw[lh_closed_ballot(row[LH_CP_BALLOT] + 1u, LH_CB_OWNER)] != 0)
        row[LH_CP_BALLOT]++;
}

static void settle_record(const struct lh_check_config *config, const struct uses *uses,
                          uint8_t wait, uint8_t *row)
{
    const bool acceptable = (uses->acceptable >> row[LH_CA_PROMISED] & 1) != 0;
    if (row[LH_CA_EXCLUSION] == 0 && row[LH_CA_RECORD] == row[LH_CA_PROMISED] && !acceptable)
        row[LH_CA_RECORD] = 0;
    if (row[LH_CA_SAVED] && row[LH_CA_SAVED_EXCLUSION] == 0 &&
        (row[LH_CA_SAVED_RECORD] != row[LH_CA_SAVED_PROMISED] ||
         !(uses->acceptable >> row[LH_CA_SAVED_PROMISED] & 1)))
        row[LH_CA_SAVED_RECORD] = 0;
    // With the floor, forgetting only marks what was promised as recorded.
    if (config->promise_floor && !config->ceiling && !row[LH_CA_SAVED] &&
        row[LH_CA_EXCLUSION] == 0 && config->idle_forget &&
        (!acceptable || row[LH_CA_RECORD] == row[LH_CA_PROMISED]))
        row[LH_CA_IDLE] = wait;
}

void lh_closed_settle(const struct lh_model *model, uint8_t *raw)
{
    const struct lh_check_config *config = &model->config;
    const struct lh_closed *closed = model->private;
    for (uint32_t p = 0; p < config->proposers; p++)
        settle_proposer(config, raw + lh_closed_proposer(config, p, 0));
    for (uint32_t a = 0; a < config->acceptors; a++)
        settle_acceptor(model, raw, raw + lh_closed_acceptor(config, a, 0));
    if (config->keep_dead || (config->weaken & KEEPS_BALLOTS) != 0)
        return;
    struct uses uses;
    find_uses(config, raw, &uses);
    for (uint32_t b = 1; b <= config->ballots; b++)
        settle_ballot(config, &uses, b, raw + lh_closed_ballot(b, 0));
    for (uint32_t p = 0; p < config->proposers; p++)
        settle_last_ballot(config, raw, raw + lh_closed_proposer(config, p, 0));
    const uint8_t wait = lh_closed_greater(closed->longest, config->quarantine);
    for (uint32_t a = 0; a < config->acceptors; a++)
        settle_record(config, &uses, wait, raw + lh_closed_acceptor(config, a, 0));
}
