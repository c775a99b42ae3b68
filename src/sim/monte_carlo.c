// See monte_carlo.h.
#include "sim/monte_carlo.h"

#include "base/prng.h"
#include "lease/timing.h"
#include "sim/roles.h"
#include "sim/run.h"
#include "sim/weaken.h"

enum { PROPOSERS = 2, ACCEPTORS = 3 };

static const struct lh_timing timing = {{4 * LH_NS_PER_S}, LH_RATE_PPM_MIN};

enum step {
    START,
    RELEASE,
    DELIVER,
    DROP,
    REPEAT,
    PASS,
    CRASH_ACCEPTOR,
    RESTART_ACCEPTOR,
    CRASH_PROPOSER,
    RESTART_PROPOSER,
    STEPS,
};

// How often each is picked. Evenly, hardly any schedule would come to a grant before time is up.
static const unsigned weights[STEPS] = {
    [START] = 4,          [RELEASE] = 1,
    [DELIVER] = 18,       [DROP] = 1,
    [REPEAT] = 2,         [PASS] = 2,
    [CRASH_ACCEPTOR] = 2, [RESTART_ACCEPTOR] = 3,
    [CRASH_PROPOSER] = 1, [RESTART_PROPOSER] = 2,
};

static enum step pick(struct lh_prng *prng)
{
    unsigned sum = 0, step = 0;
    for (unsigned i = 0; i < STEPS; i++)
        sum += weights[i];
    for (unsigned picked = (unsigned)lh_prng_below(prng, sum); picked >= weights[step]; step++)
        picked -= weights[step];
    return (enum step)step;
}

// What is proposed goes out at once, as a machine does it.
static bool deliver(struct lh_sim_roles *roles, unsigned packet)
{
    unsigned proposer = roles->packets[packet].proposer;
    lh_sim_roles_deliver(roles, packet);
    lh_sim_roles_propose(roles, proposer);
    return true;
}

static bool take(struct lh_sim_roles *roles, enum step step, struct lh_prng *prng)
{
    unsigned proposer = (unsigned)lh_prng_below(prng, PROPOSERS);
    unsigned acceptor = (unsigned)lh_prng_below(prng, ACCEPTORS);
    unsigned seconds = 1 + (unsigned)lh_prng_below(prng, 2);
    unsigned packet =
        roles->packet_count == 0 ? 0 : (unsigned)lh_prng_below(prng, roles->packet_count);
    switch (step) {
    case START: return lh_sim_roles_start(roles, proposer);
    case RELEASE: return lh_sim_roles_release(roles, proposer);
    case DELIVER: return roles->packet_count > 0 && deliver(roles, packet);
    case DROP: return roles->packet_count > 0 && lh_sim_roles_drop(roles, packet);
    case REPEAT: return roles->packet_count > 0 && lh_sim_roles_repeat(roles, packet);
    case PASS: return lh_sim_roles_pass(roles, seconds);
    case CRASH_ACCEPTOR: return lh_sim_roles_crash_acceptor(roles, acceptor);
    case RESTART_ACCEPTOR: return lh_sim_roles_restart_acceptor(roles, acceptor);
    case CRASH_PROPOSER: return lh_sim_roles_crash_proposer(roles, proposer);
    case RESTART_PROPOSER: return lh_sim_roles_restart_proposer(roles, proposer);
    case STEPS: break;
    }
    return false;
}

static void count(struct lh_sim_schedule_counts *counts, enum step step, bool under_lease,
                  bool under_way)
{
    counts->delivered += step == DELIVER;
    counts->dropped += step == DROP;
    counts->repeated += step == REPEAT;
    counts->ticks += step == PASS;
    counts->releases += step == RELEASE;
    counts->acceptor_crashes += step == CRASH_ACCEPTOR;
    counts->crashes_under_lease += step == CRASH_ACCEPTOR && under_lease;
    counts->restarts_under_way += step == RESTART_ACCEPTOR && under_way;
    counts->proposer_crashes += step == CRASH_PROPOSER;
}

static void count_grants(struct lh_sim_schedule_counts *counts, const struct lh_sim_roles *roles,
                         const struct lh_proposer before[PROPOSERS])
{
    for (unsigned p = 0; p < PROPOSERS; p++) {
        const struct lh_proposer *now = &roles->proposers[p].role;
        if (now->held == LH_BALLOT_NONE || now->held == before[p].held)
            continue;
        counts->grants += now->token == now->held;
        counts->renewals += now->token != now->held;
    }
}

static void acquire(struct lh_sim_roles *roles)
{
    static const enum lh_message_kind kinds[] = {LH_MESSAGE_PREPARE, LH_MESSAGE_PROMISE,
                                                 LH_MESSAGE_ACCEPT, LH_MESSAGE_ACCEPTED};
    lh_sim_roles_start(roles, 0);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (unsigned a = 0; a < roles->quorum; a++)
            deliver(roles, lh_sim_roles_find(roles, kinds[i], 0, a));
}

// Returns false if it broke a rule, which `roles` tells.
static bool run_schedule(struct lh_sim_roles *roles, uint64_t seed, unsigned weakened, FILE *told,
                         struct lh_sim_schedule_counts *counts)
{
    struct lh_prng prng;
    lh_prng_seed_number(&prng, seed);
    lh_sim_roles_init(roles, &(struct lh_sim_roles_config){
                                 .proposers = PROPOSERS,
                                 .acceptors = ACCEPTORS,
                                 .ttl = timing.max_ttl,
                                 .exclusion = lh_timing_exclusion(timing, timing.max_ttl),
                                 .quarantine = lh_timing_quarantine(timing, timing.max_ttl),
                                 .weakened = weakened,
                                 .told = told,
                             });
    counts->schedules++;
    if (seed % 2 == 1) {
        acquire(roles);
        counts->grants++;
    }
    while (roles->step < LH_SIM_SCHEDULE_STEPS && roles->wrong[0] == '\0') {
        roles->step++;
        struct lh_proposer before[PROPOSERS];
        for (unsigned p = 0; p < PROPOSERS; p++)
            before[p] = roles->proposers[p].role;
        bool under_lease = !lh_set_is_empty(lh_sim_roles_holders(roles));
        bool under_way = roles->packet_count > 0;
        enum step step = pick(&prng);
        bool taken = take(roles, step, &prng);
        counts->steps++;
        counts->effective += taken;
        counts->idle += !taken;
        if (taken)
            count(counts, step, under_lease, under_way);
        count_grants(counts, roles, before);
        if (roles->packet_count > counts->queued)
            counts->queued = roles->packet_count;
    }
    counts->violations += roles->wrong[0] != '\0';
    return roles->wrong[0] == '\0';
}

static void print_text(const struct lh_sim_schedule_counts *counts)
{
#define PRINT(field, words) printf("%-48s %llu\n", words, (unsigned long long)counts->field);
    LH_SIM_SCHEDULE_COUNTS(PRINT)
#undef PRINT
}

static void print_json(uint64_t first, uint64_t last, const struct lh_sim_schedule_counts *counts)
{
    printf("{\"preset\":\"monte-carlo\",\"first\":%llu,\"last\":%llu,\"verdict\":\"%s\"",
           (unsigned long long)first, (unsigned long long)last,
           counts->violations == 0 ? "clean" : "safety");
#define PRINT(field, words) printf(",\"" #field "\":%llu", (unsigned long long)counts->field);
    LH_SIM_SCHEDULE_COUNTS(PRINT)
#undef PRINT
    printf("}\n");
}

static void tell(struct lh_sim_roles *roles, uint64_t seed, unsigned weakened)
{
    struct lh_sim_schedule_counts none = {0};
    printf("schedule %llu%s\n", (unsigned long long)seed,
           seed % 2 == 1 ? ", which begins with a lease of p1 (step 0)" : "");
    if (run_schedule(roles, seed, weakened, stdout, &none))
        return;
    printf("schedule %llu: safety: %s, at step %u\n", (unsigned long long)seed, roles->wrong,
           roles->step);
    printf("replay: leasehold sim --preset monte-carlo --seed %llu", (unsigned long long)seed);
    if (weakened != 0) {
        printf(" --weaken ");
        lh_sim_weaken_print(weakened, stdout);
    }
    printf("\n");
}

int lh_sim_monte_carlo(uint64_t first, uint64_t last, unsigned weakened, bool keep_going, bool json)
{
    static struct lh_sim_roles roles;
    struct lh_sim_schedule_counts counts = {0};
    for (uint64_t seed = first; seed <= last; seed++) {
        bool clean = run_schedule(&roles, seed, weakened, NULL, &counts);
        if (!json && (first == last || (!clean && counts.violations == 1)))
            tell(&roles, seed, weakened);
        if (!clean && !keep_going)
            break;
    }
    if (json)
        print_json(first, last, &counts);
    else
        print_text(&counts);
    return counts.violations == 0 ? LH_SIM_CLEAN : LH_SIM_UNSAFE;
}
