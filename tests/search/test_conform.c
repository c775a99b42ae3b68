// Conformance over exhaustive searches: every step of the model is made by the shipped functions as
// well, on configurations small enough for every day, and each of the differences from the paper's
// rules turns up exactly where it can. Then that the comparison can fail: with any one rule of the
// model weakened it finds the step at which the code does not follow. Planted bugs in the code
// itself are tests/planted's, which runs this program with --small.
//
//     test_conform --random SEED COUNT    so many configurations drawn from SEED on, nothing else
// run-tests: timeout 300
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check/rows.h"

enum {
    LIVE = 1 << LH_CONFORM_KEEPS_LIVE,
    RECORDED = 1 << LH_CONFORM_KEEPS_RECORDED,
    SPENT = 1 << LH_CONFORM_REFUSES_SPENT,
    RELEASE = 1 << LH_CONFORM_RELEASE_ABANDONS,
};

#define LEASE_2_2                                                                                  \
    "Proposers=2 Acceptors=2 Ballots=2 MaxTime=2 ProposerDuration=2 AcceptorDuration=2 "           \
    "Quarantine=2 MaxNetwork=3 "
#define LEASE_1_2                                                                                  \
    "Proposers=1 Acceptors=2 Ballots=2 MaxTime=3 ProposerDuration=2 AcceptorDuration=2 "           \
    "Quarantine=1 MaxNetwork=3 "
#define CLOSED_2_2                                                                                 \
    "Proposers=2 Acceptors=2 Ballots=2 Quarantine=2 AllowCrash=true AllowRenewal=true "            \
    "AllowAbandon=true AllowRelease=true "
#define CLOSED_1_2                                                                                 \
    "Proposers=1 Acceptors=2 Ballots=2 Quarantine=2 AllowCrash=true AllowRenewal=true "            \
    "AllowAbandon=true AllowRelease=true "

// What must conform, and what must differ from the paper on the way.
struct conforming {
    const char *row; // or, of a configuration of our own:
    enum lh_check_module module;
    const char *constants;
    uint32_t differences;
    bool small;
};

static const struct conforming conforming[] = {
    {.row = "renew-release", .differences = LIVE | SPENT | RELEASE, .small = true},
    {.row = "drift", .differences = SPENT, .small = true},
    {.module = LH_CHECK_LEASE, .constants = LEASE_2_2, .differences = SPENT, .small = true},
    {.module = LH_CHECK_LEASE,
     .constants = LEASE_2_2 "MaxTime=1 RefuseLiveOverwrite=true AllowRedeliver=true",
     .differences = RECORDED | SPENT,
     .small = true},
    {.module = LH_CHECK_LEASE,
     .constants = LEASE_1_2 "AllowRelease=true AllowRenewal=true AllowAbandon=true "
                            "AllowRedeliver=true",
     .differences = LIVE | RECORDED | SPENT | RELEASE,
     .small = true},
    {.module = LH_CHECK_CLOSED, .constants = CLOSED_2_2 "ProposerDurations=1,2", .small = true},
    {.module = LH_CHECK_CLOSED,
     .constants = CLOSED_2_2 "ProposerDurations=2 PromiseFloor=true IdleForget=true",
     .small = true},
    {.module = LH_CHECK_CLOSED,
     .constants = CLOSED_1_2 "ProposerDurations=1,2 OneRoundRenewal=1",
     .small = true},
    {.module = LH_CHECK_CLOSED,
     .constants = CLOSED_2_2 "ProposerDurations=1,2 PromiseFloor=true Prompt=true",
     .small = true},
    {.module = LH_CHECK_CLOSED,
     .constants = CLOSED_1_2 "AllowAbandon=false Prompt=true",
     .small = true},
    {.module = LH_CHECK_LEASE,
     .constants = LEASE_2_2 "Acceptors=3 MaxTime=0 MaxNetwork=4",
     .differences = LIVE | SPENT,
     .small = true},
    {.module = LH_CHECK_LEASE,
     .constants = LEASE_2_2 "MaxTime=1 AllowCrash=true CrashableAcceptors=1",
     .differences = SPENT},
    {.row = "base", .differences = LIVE | SPENT},
    {.row = "renew-release-stale", .differences = LIVE | SPENT | RELEASE},
    {.row = "closed-rules"},
    {.row = "closed-promise-floor"},
    {.row = "closed-f23"},
};

// What must not, since the model's rule is weaker than the code's.
struct weakened {
    const char *rule;
    enum lh_check_module module;
    const char *constants;
};

static const struct weakened weakened[] = {
    {"late-timer", LH_CHECK_LEASE, LEASE_2_2},
    {"scalar-quorum", LH_CHECK_LEASE, LEASE_2_2 "AllowRedeliver=true"},
    {"owner-only-release", LH_CHECK_LEASE,
     LEASE_1_2 "AllowRelease=true AllowRenewal=true AllowAbandon=true"},
    {"stale-owner-open", LH_CHECK_LEASE, LEASE_1_2 "AllowAbandon=true"},
    {"live-overwrite", LH_CHECK_CLOSED, CLOSED_2_2 "ProposerDurations=2"},
    {"overwrite-by-owner", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=2"},
    {"recorded-again", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=2"},
    {"not-held-open", LH_CHECK_CLOSED, CLOSED_2_2 "ProposerDurations=1,2"},
    {"exclusion-set", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=1,2"},
    {"authority-set", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=1,2"},
    {"late-renewal-token", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=1,2 PromiseFloor=true"},
    {"forget-early", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=2 IdleForget=true"},
    {"older-extend", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=2 OneRoundRenewal=2"},
    {"extend-expired", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=1,2 OneRoundRenewal=2"},
    {"extend-foreign", LH_CHECK_CLOSED, CLOSED_2_2 "ProposerDurations=2 OneRoundRenewal=1"},
    {"extend-late", LH_CHECK_CLOSED, CLOSED_1_2 "ProposerDurations=1,2 OneRoundRenewal=2"},
};

#define RANDOM_STATES 100000

static uint32_t number;
static bool failed;

static void tap(bool good, const char *name, const char *why)
{
    number++;
    failed = failed || !good;
    printf("%sok %u - %s\n", good ? "" : "not ", number, name);
    if (!good)
        printf("# %s\n", why);
    fflush(stdout);
}

static bool set_constants(struct lh_check_config *config, const char *constants, char *ret_error)
{
    char text[512];
    char *rest = NULL;
    snprintf(text, sizeof text, "%s", constants);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (!lh_check_config_set(config, word, ret_error))
            return false;
    }
    return true;
}

// Searches with comparison, up to about `states` of them if not 0. Returns false if it could not even begin.
static bool search(const struct lh_check_config *config, uint64_t states,
                   struct lh_search_result *ret_result, char *ret_error)
{
    struct lh_model model;
    const struct lh_search_options options = {
        .threads = 1, .memory_bytes = UINT64_C(1) << 31, .distinct_limit = states, .conform = true};
    if (!lh_check_config_validate(config, ret_error) || !lh_conform_possible(config, ret_error))
        return false;
    if (!lh_model_open(&model, config)) {
        snprintf(ret_error, LH_CHECK_ERROR_SIZE, "no memory");
        return false;
    }
    lh_search_run(&model, &options, ret_result);
    lh_model_close(&model);
    return true;
}

static uint32_t seen_differences(const struct lh_conform_counts *counts)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < LH_CONFORM_DIFFERENCES; i++)
        seen |= (uint32_t)(counts->differences[i] != 0) << i;
    return seen;
}

static void must_conform(const struct conforming *given)
{
    struct lh_check_config config;
    struct lh_search_result result;
    char why[2 * LH_CHECK_ERROR_SIZE] = "";
    char name[512];
    if (given->row != NULL) {
        config = lh_check_row_find(given->row)->config;
        snprintf(name, sizeof name, "%s conforms", given->row);
    } else {
        lh_check_config_default(&config, given->module);
        snprintf(name, sizeof name, "%s %s conforms", lh_check_module_name(given->module),
                 given->constants);
    }
    if ((given->row == NULL && !set_constants(&config, given->constants, why)) ||
        !search(&config, 0, &result, why)) {
        tap(false, name, why);
        return;
    }
    const uint32_t seen = seen_differences(&result.conform);
    snprintf(why, sizeof why, "%s after %llu states; differences 0x%x instead of 0x%x: %s%s",
             lh_invariant_name(result.invariant), (unsigned long long)result.distinct, seen,
             given->differences, result.fault, result.reason);
    tap(result.verdict == LH_VERDICT_PASS && result.conform.steps != 0 &&
            result.conform.refusals != 0 && seen == given->differences,
        name, why);
}

static void must_not_conform(const struct weakened *given)
{
    struct lh_check_config config;
    struct lh_search_result result;
    char why[2 * LH_CHECK_ERROR_SIZE] = "";
    char name[512];
    snprintf(name, sizeof name, "%s without %s does not conform",
             lh_check_module_name(given->module), given->rule);
    lh_check_config_default(&config, given->module);
    if (!set_constants(&config, given->constants, why) ||
        !lh_check_config_weaken(&config, given->rule, why) || !search(&config, 0, &result, why)) {
        tap(false, name, why);
        return;
    }
    snprintf(why, sizeof why, "%s after %llu states", lh_invariant_name(result.invariant),
             (unsigned long long)result.distinct);
    tap(result.verdict == LH_VERDICT_VIOLATED && result.invariant == LH_INV_CONFORMANCE &&
            result.fault[0] != '\0',
        name, why);
}

// What a configuration may say. Of each line one word is drawn; a word that stands alone, or none.
static const char *const drawn[LH_CHECK_MODULES][32] = {
    [LH_CHECK_LEASE] =
        {
            "Proposers=1 Proposers=2 Proposers=3",
            "Acceptors=1 Acceptors=2 Acceptors=3 Acceptors=4",
            "Ballots=1 Ballots=2 Ballots=3",
            "MaxTime=0 MaxTime=1 MaxTime=2 MaxTime=3",
            "ProposerDuration=1 ProposerDuration=2 ProposerDuration=3",
            "AcceptorDuration=1 AcceptorDuration=2 AcceptorDuration=3",
            "Quarantine=0 Quarantine=1 Quarantine=2 Quarantine=3",
            "MaxNetwork=2 MaxNetwork=3 MaxNetwork=4",
            "AllowCrash=true",
            "AllowRelease=true",
            "AllowDrop=true",
            "AllowRenewal=true",
            "AllowAbandon=true",
            "AllowRedeliver=true",
            "CrashDropsIncoming=true",
            "RefuseLiveOverwrite=true",
            "CrashableAcceptors=1",
        },
    [LH_CHECK_CLOSED] =
        {
            "Proposers=1 Proposers=2 Proposers=3",
            "Acceptors=1 Acceptors=2 Acceptors=3",
            "Ballots=1 Ballots=2 Ballots=3",
            "Quarantine=1 Quarantine=2 Quarantine=3",
            "ProposerDurations=1 ProposerDurations=2 ProposerDurations=1,2 ProposerDurations=1,3",
            "OneRoundRenewal=1 OneRoundRenewal=2",
            "AllowCrash=false",
            "AllowRelease=false",
            "AllowRenewal=false",
            "AllowAbandon=false",
            "IdleForget=true",
            "PromiseFloor=true",
            "CleanRestart=true",
            "Ceiling=true",
            "ClientOutlives=true",
            "AllowReplace=true",
            "AbandonRelease=true",
            "KeepDead=true",
            "Prompt=true",
        },
};

// One of the words; the only one, or none.
static void draw(struct lh_prng *prng, const char *words, char constants[static 512])
{
    char text[128];
    char *rest = NULL;
    unsigned count = 0;
    const char *chosen = NULL;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        if (lh_prng_below(prng, ++count) == 0)
            chosen = word;
    if (count == 1 && lh_prng_below(prng, 2) == 0)
        return;
    strcat(strcat(constants, chosen), " ");
}

// Of any configuration some states. That two own a lease, or a token falls, may be its constants'
// fault; that the code departs may not.
static void random_must_conform(uint64_t seed)
{
    struct lh_prng prng;
    struct lh_check_config config;
    struct lh_search_result result;
    char constants[512];
    char why[2 * LH_CHECK_ERROR_SIZE] = "";
    lh_prng_seed_number(&prng, seed);
    do {
        const enum lh_check_module module =
            lh_prng_below(&prng, 2) == 0 ? LH_CHECK_LEASE : LH_CHECK_CLOSED;
        lh_check_config_default(&config, module);
        constants[0] = '\0';
        for (unsigned i = 0; drawn[module][i] != NULL; i++)
            draw(&prng, drawn[module][i], constants);
    } while (!set_constants(&config, constants, why) ||
             !search(&config, RANDOM_STATES, &result, why));
    char name[600];
    snprintf(name, sizeof name, "random %llu: %s %s", (unsigned long long)seed,
             lh_check_module_name(config.module), constants);
    snprintf(why, sizeof why, "after %llu states: %s%s", (unsigned long long)result.distinct,
             result.fault, result.reason);
    tap(result.invariant != LH_INV_CONFORMANCE && result.conform.steps != 0, name, why);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--random") == 0) {
        const uint64_t seed = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
        for (uint64_t i = 0; i < count; i++)
            random_must_conform(seed + i);
        printf("1..%u\n", number);
        return failed;
    }
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    for (size_t i = 0; i < sizeof conforming / sizeof conforming[0]; i++) {
        if (small && failed)
            break; // a planted bug is noticed
        if (conforming[i].small || !small)
            must_conform(&conforming[i]);
    }
    for (size_t i = 0; i < sizeof weakened / sizeof weakened[0] && !small; i++)
        must_not_conform(&weakened[i]);
    for (uint64_t seed = 1; seed <= 30 && !small; seed++)
        random_must_conform(seed);
    printf("1..%u\n", number);
    return failed;
}
