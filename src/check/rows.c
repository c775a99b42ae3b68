// The configurations that the paper recorded, and what it recorded of them: states, levels,
// verdict, length of the shortest trace. They are facts to be met, not limits. Behind them stand
// ours on the closed network, with what this checker found. A row that is quick is part of `check
// --quick`.
#include "check/rows.h"

#include <string.h>

// The numbers of a configuration in the order of the paper's tables.
#define LEASE(p, a, b, time, d_p, d_a, q, network)                                                 \
    .module = LH_CHECK_LEASE, .proposers = (p), .acceptors = (a), .ballots = (b),                  \
    .max_time = (time), .proposer_duration = (d_p), .acceptor_duration = (d_a), .quarantine = (q), \
    .max_network = (network)
#define IMPL(p, a, b, time, d_p, d_a, q, network, retry, timely)                                   \
    .module = LH_CHECK_IMPL, .proposers = (p), .acceptors = (a), .ballots = (b),                   \
    .max_time = (time), .proposer_duration = (d_p), .acceptor_duration = (d_a), .quarantine = (q), \
    .max_network = (network), .retry_timeout = (retry), .timely_dispatch = (timely),               \
    .allow_crash = true
#define CLOSED(p, a, b, q)                                                                         \
    .module = LH_CHECK_CLOSED, .proposers = (p), .acceptors = (a), .ballots = (b),                 \
    .quarantine = (q), .allow_crash = true, .allow_renewal = true, .allow_abandon = true,          \
    .symmetry = true
#define CRASH .allow_crash = true
#define RELEASE .allow_release = true
#define RENEWAL .allow_renewal = true
#define ABANDON .allow_abandon = true
#define REDELIVER .allow_redeliver = true
#define TCP .crash_drops_incoming = true
#define REFUSE .refuse_live_overwrite = true
#define SYMMETRY .symmetry = true
#define WEAKEN(rules) .weaken = (rules)
// Attempts of duration 2, or of 1 and 2.
#define LASTING_2 .durations = (1 << 1)
#define LASTING_1_2 .durations = (1 << 0 | 1 << 1)

#define PASS(states, steps, levels)                                                                \
    .verdict = LH_VERDICT_PASS, .distinct = UINT64_C(states), .generated = UINT64_C(steps),        \
    .depth = (levels)
#define TWO_OWNERS(states)                                                                         \
    .verdict = LH_VERDICT_VIOLATED, .invariant = LH_INV_LEASE_EXCLUSIVITY, .trace_states = (states)
#define TOKENS_FALL(states)                                                                        \
    .verdict = LH_VERDICT_VIOLATED, .invariant = LH_INV_TOKEN_ORDER, .trace_states = (states)
#define STOPPED(states, steps)                                                                     \
    .verdict = LH_VERDICT_INCOMPLETE, .distinct = UINT64_C(states), .generated = UINT64_C(steps)
#define SIZE(states) .hint = UINT64_C(states)
#define QUICK .quick = true

static const struct lh_check_row rows[] = {
    {.config = {"base", LEASE(2, 3, 2, 2, 2, 2, 2, 4)}, PASS(573975, 1992396, 29), QUICK},
    {.config = {"renew-release", LEASE(1, 2, 2, 3, 2, 2, 2, 3), RELEASE, RENEWAL},
     PASS(7717, 22158, 29),
     QUICK},
    {.config = {"crash-restart", LEASE(2, 2, 2, 2, 2, 2, 2, 4), CRASH},
     PASS(10059404, 59115853, 36),
     QUICK},
    {.config = {"drift", LEASE(1, 2, 1, 2, 1, 2, 2, 3), CRASH}, PASS(19656, 87561, 21), QUICK},
    {.config = {"quarantine-equals-proposer", LEASE(2, 2, 2, 2, 1, 2, 1, 4), CRASH},
     PASS(20447948, 121847029, 39)},
    {.config = {"quarantine-equals-proposer23", LEASE(2, 2, 2, 2, 2, 3, 2, 4), CRASH},
     PASS(9867548, 57995085, 37),
     QUICK},
    {.config = {"redeliver", LEASE(2, 2, 2, 2, 2, 2, 2, 4), REDELIVER},
     PASS(1857563, 12054516, 27),
     QUICK},
    {.config = {"redeliver-crash", LEASE(2, 2, 2, 2, 2, 2, 2, 4), CRASH, REDELIVER},
     PASS(494875842, 3648432087, 40)},
    {.config = {"retry", LEASE(2, 2, 3, 2, 2, 2, 2, 4), CRASH, ABANDON},
     PASS(251904392, 1657135619, 45)},
    {.config = {"retry-mn5", LEASE(2, 2, 3, 2, 2, 2, 2, 5), CRASH, ABANDON},
     PASS(465991204, 3122170943, 45)},
    {.config = {"retry-twice", LEASE(2, 2, 4, 2, 2, 2, 2, 4), CRASH, ABANDON},
     STOPPED(2319130447, 14789680824)},
    {.config = {"retry-redeliver", LEASE(2, 2, 3, 2, 2, 2, 2, 4), ABANDON, REDELIVER},
     PASS(53723103, 380450912, 34)},
    {.config = {"renew-retry", LEASE(2, 2, 3, 2, 2, 2, 2, 4), CRASH, RENEWAL, ABANDON},
     PASS(280165306, 1852008719, 46)},
    {.config = {"renew-release-stale", LEASE(1, 2, 3, 3, 2, 2, 2, 3), RELEASE, RENEWAL, ABANDON},
     PASS(204050, 675110, 39),
     QUICK},
    {.config = {"paxos-lease-paxos", .module = LH_CHECK_COMPOSITION, .proposers = 2, .max_time = 4,
                .values = 2, .max_slot = 2, .lease_duration = 2},
     PASS(2095, 4414, 20),
     QUICK},
    {.config = {"unsafe-quarantine", LEASE(2, 2, 2, 2, 2, 3, 1, 4), CRASH},
     TWO_OWNERS(26),
     SIZE(17600000)},
    {.config = {"unsafe-quarantine12", LEASE(2, 2, 2, 2, 1, 2, 0, 4), CRASH},
     TWO_OWNERS(25),
     SIZE(15900000),
     QUICK},
    {.config = {"unsafe-quarantine3", LEASE(2, 3, 2, 2, 2, 2, 1, 6), CRASH, SYMMETRY},
     TWO_OWNERS(24)},
    {.config = {"late-timer", LEASE(2, 2, 2, 2, 2, 2, 2, 4), CRASH, WEAKEN(LH_WEAKEN_LATE_TIMER)},
     TWO_OWNERS(27),
     SIZE(6200000),
     QUICK},
    {.config = {"late-timer-tcp", LEASE(2, 2, 2, 2, 2, 2, 2, 4), CRASH, TCP,
                WEAKEN(LH_WEAKEN_LATE_TIMER)},
     TWO_OWNERS(27),
     SIZE(6900000),
     QUICK},
    {.config = {"late-timer3", LEASE(2, 3, 2, 2, 2, 2, 2, 6), CRASH, SYMMETRY,
                WEAKEN(LH_WEAKEN_LATE_TIMER)},
     TWO_OWNERS(25)},
    {.config = {"owner-only-release", LEASE(2, 2, 3, 2, 2, 2, 2, 6), RELEASE,
                WEAKEN(LH_WEAKEN_OWNER_ONLY_RELEASE)},
     TWO_OWNERS(36),
     SIZE(790000),
     QUICK},
    {.config = {"scalar-quorum-counting", LEASE(2, 2, 2, 1, 1, 1, 0, 4), REDELIVER,
                WEAKEN(LH_WEAKEN_SCALAR_QUORUM)},
     TWO_OWNERS(18),
     SIZE(415000),
     QUICK},
    {.config = {"stale-owner-open", LEASE(2, 2, 3, 2, 2, 2, 2, 4), CRASH, ABANDON,
                WEAKEN(LH_WEAKEN_STALE_OWNER_OPEN)},
     TWO_OWNERS(36)},
    {.config = {"stale-owner-open-tcp", LEASE(2, 2, 3, 2, 2, 2, 2, 4), CRASH, ABANDON, TCP,
                WEAKEN(LH_WEAKEN_STALE_OWNER_OPEN)},
     TWO_OWNERS(36)},
    {.config = {"stale-owner-open-a2", LEASE(2, 2, 3, 2, 2, 2, 2, 4), CRASH, ABANDON, REFUSE,
                WEAKEN(LH_WEAKEN_STALE_OWNER_OPEN)},
     PASS(337917446, 2206870439, 48)},
    {.config = {"impl-timely-shipped", IMPL(2, 2, 2, 3, 2, 2, 2, 4, 1, true)},
     PASS(18160464, 103018265, 37)},
    {.config = {"impl-timely-boundary", IMPL(2, 2, 2, 3, 2, 2, 2, 4, 2, true)},
     PASS(37160904, 211453825, 37)},
    {.config = {"impl-timely-r-dominant-safe", IMPL(2, 2, 2, 3, 1, 2, 2, 4, 2, true)},
     PASS(37476080, 213185929, 37)},
    {.config = {"impl-timely-below", IMPL(2, 2, 2, 3, 2, 2, 1, 4, 2, true)},
     TWO_OWNERS(26),
     SIZE(58500000)},
    {.config = {"impl-timely-r-dominant", IMPL(2, 2, 2, 2, 1, 2, 1, 4, 2, true)},
     TWO_OWNERS(26),
     SIZE(18000000),
     QUICK},
    {.config = {"impl-delayed-shipped", IMPL(2, 2, 2, 3, 2, 2, 2, 4, 1, false)},
     TWO_OWNERS(27),
     SIZE(81500000)},
    {.config = {"impl-delayed-shipped-tcp", IMPL(2, 2, 2, 3, 2, 2, 2, 4, 1, false), TCP},
     TWO_OWNERS(27)},
    {.config = {"impl-delayed-colocated", IMPL(2, 3, 2, 2, 2, 2, 2, 6, 1, false),
                .crashable_acceptors = 1 << 1},
     TWO_OWNERS(25)},
    {.config = {"impl-delayed-colocated-tcp", IMPL(2, 3, 2, 2, 2, 2, 2, 6, 1, false), TCP,
                .crashable_acceptors = 1 << 1},
     TWO_OWNERS(25)},
    {.config = {"impl-stale-owner", IMPL(2, 2, 3, 3, 2, 2, 2, 4, 1, true), TCP}, TWO_OWNERS(35)},
    {.config = {"closed-rules", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2},
     PASS(129815, 917221, 40),
     QUICK},
    {.config = {"closed-mixed", CLOSED(2, 2, 3, 2), RELEASE, LASTING_1_2},
     PASS(588809, 4106380, 41)},
    {.config = {"closed-idle-forget", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .idle_forget = true},
     PASS(283010, 2323871, 38),
     QUICK},
    {.config = {"closed-promise-floor", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                .promise_floor = true},
     PASS(120505, 766361, 34),
     QUICK},
    {.config = {"closed-extend", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .extends = 2},
     PASS(2532318, 19126662, 52)},
    {.config = {"closed-clean-restart", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                .clean_restart = true},
     PASS(370592, 3111853, 43)},
    {.config = {"closed-ceiling", CLOSED(2, 2, 3, 2), RELEASE, LASTING_1_2, .ceiling = true},
     PASS(6828833, 53518063, 44)},
    {.config = {"closed-client-outlives", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                .client_outlives = true},
     PASS(140642, 971765, 40),
     QUICK},
    {.config = {"closed-replace", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .allow_replace = true},
     PASS(129815, 1111922, 38),
     QUICK},
    {.config = {"closed-paper", CLOSED(2, 2, 3, 2), LASTING_2, WEAKEN(LH_WEAKEN_LIVE_OVERWRITE)},
     PASS(53137, 386196, 29),
     QUICK},
    {.config = {"closed-paper-release", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                WEAKEN(LH_WEAKEN_LIVE_OVERWRITE)},
     TWO_OWNERS(33),
     SIZE(102388),
     QUICK},
    {.config = {"closed-paper-late-timer", CLOSED(2, 2, 3, 2), LASTING_2,
                WEAKEN(LH_WEAKEN_LIVE_OVERWRITE | LH_WEAKEN_LATE_TIMER)},
     TWO_OWNERS(21),
     SIZE(63033),
     QUICK},
    {.config = {"closed-paper-not-held-open", CLOSED(2, 2, 3, 2), LASTING_2,
                WEAKEN(LH_WEAKEN_LIVE_OVERWRITE | LH_WEAKEN_NOT_HELD_OPEN)},
     TWO_OWNERS(30),
     SIZE(54482),
     QUICK},
    {.config = {"closed-paper-stale-owner-open", CLOSED(2, 2, 3, 2), LASTING_2,
                WEAKEN(LH_WEAKEN_LIVE_OVERWRITE | LH_WEAKEN_STALE_OWNER_OPEN)},
     TWO_OWNERS(27),
     SIZE(55478),
     QUICK},
    {.config = {"closed-paper-forget-early", CLOSED(2, 2, 3, 2), LASTING_2, .idle_forget = true,
                WEAKEN(LH_WEAKEN_LIVE_OVERWRITE | LH_WEAKEN_FORGET_EARLY)},
     TWO_OWNERS(18),
     SIZE(90727),
     QUICK},
    {.config = {"closed-quarantine-1", CLOSED(2, 2, 3, 1), RELEASE, LASTING_2},
     TWO_OWNERS(20),
     SIZE(89940),
     QUICK},
    {.config = {"closed-owner-only-release", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                WEAKEN(LH_WEAKEN_OWNER_ONLY_RELEASE)},
     TWO_OWNERS(27),
     SIZE(112332),
     QUICK},
    {.config = {"closed-scalar-quorum", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                WEAKEN(LH_WEAKEN_SCALAR_QUORUM)},
     TWO_OWNERS(11),
     SIZE(21610),
     QUICK},
    {.config = {"closed-ballot-reuse", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2,
                WEAKEN(LH_WEAKEN_BALLOT_REUSE)},
     TWO_OWNERS(19),
     SIZE(423074),
     QUICK},
    {.config = {"closed-exclusion-set", CLOSED(2, 2, 3, 2), RELEASE, LASTING_1_2,
                WEAKEN(LH_WEAKEN_EXCLUSION_SET)},
     TWO_OWNERS(22),
     SIZE(341305),
     QUICK},
    {.config = {"closed-exclusion-set-extend", CLOSED(2, 2, 3, 2), RELEASE, LASTING_1_2,
                .extends = 1, WEAKEN(LH_WEAKEN_EXCLUSION_SET)},
     TWO_OWNERS(19),
     SIZE(783384)},
    {.config = {"closed-floor-lost", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .promise_floor = true,
                WEAKEN(LH_WEAKEN_FLOOR_LOST)},
     TOKENS_FALL(21),
     SIZE(99619),
     QUICK},
    {.config = {"closed-late-renewal-token", CLOSED(2, 2, 3, 2), RELEASE, LASTING_1_2,
                .promise_floor = true, WEAKEN(LH_WEAKEN_LATE_RENEWAL_TOKEN)},
     TOKENS_FALL(26),
     SIZE(500691)},
    {.config = {"closed-older-extend", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .extends = 2,
                WEAKEN(LH_WEAKEN_OLDER_EXTEND)},
     TWO_OWNERS(23),
     SIZE(423018),
     QUICK},
    {.config = {"closed-extend-foreign", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .extends = 2,
                WEAKEN(LH_WEAKEN_EXTEND_FOREIGN)},
     TWO_OWNERS(32),
     SIZE(1573493)},
    {.config = {"closed-stamp-restarts", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .extends = 2,
                .clean_restart = true, WEAKEN(LH_WEAKEN_STAMP_RESTARTS)},
     TWO_OWNERS(25),
     SIZE(1570953)},
    {.config = {"closed-saved-twice", CLOSED(2, 2, 3, 2), RELEASE, LASTING_2, .clean_restart = true,
                WEAKEN(LH_WEAKEN_SAVED_TWICE)},
     TWO_OWNERS(23),
     SIZE(4599495)},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

size_t lh_check_row_count(void)
{
    return ROW_COUNT;
}

const struct lh_check_row *lh_check_row_at(size_t index)
{
    return &rows[index];
}

const struct lh_check_row *lh_check_row_find(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].config.name, name) == 0)
            return &rows[i];
    }
    return NULL;
}
