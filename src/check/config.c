// One table of constants drives parsing, printing and range checks: a constant that is not in it
// does not exist. The table says which modules know a constant, because a misplaced one (a retry
// timeout in the lease module) would otherwise be ignored in silence and a user would believe in a
// check that never ran.
#include "check/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum value_kind { KIND_NUMBER, KIND_FLAG, KIND_ACCEPTORS, KIND_QUORUMS, KIND_DURATIONS };

enum { CLOSED_LONGEST = 7 }; // duration on the closed network

struct constant {
    const char *name;
    enum value_kind kind;
    uint32_t modules; // bit per lh_check_module
    size_t offset;
    uint8_t min;
    uint8_t max;
};

#define IN_LEASE (1u << LH_CHECK_LEASE)
#define IN_IMPL (1u << LH_CHECK_IMPL)
#define IN_COMPOSITION (1u << LH_CHECK_COMPOSITION)
#define IN_CLOSED (1u << LH_CHECK_CLOSED)
#define IN_BOTH (IN_LEASE | IN_IMPL)
#define IN_LEASES (IN_BOTH | IN_CLOSED)
#define FIELD(field) offsetof(struct lh_check_config, field)

static const struct constant constants[] = {
    {"Proposers", KIND_NUMBER, IN_LEASES | IN_COMPOSITION, FIELD(proposers), 1,
     LH_CHECK_MAX_PROPOSERS},
    {"Acceptors", KIND_NUMBER, IN_LEASES, FIELD(acceptors), 1, LH_CHECK_MAX_ACCEPTORS},
    {"Ballots", KIND_NUMBER, IN_LEASES, FIELD(ballots), 1, LH_CHECK_MAX_BALLOTS},
    {"MaxTime", KIND_NUMBER, IN_BOTH | IN_COMPOSITION, FIELD(max_time), 0, 7},
    {"ProposerDuration", KIND_NUMBER, IN_BOTH, FIELD(proposer_duration), 0, 24},
    {"AcceptorDuration", KIND_NUMBER, IN_BOTH, FIELD(acceptor_duration), 0, 24},
    {"Quarantine", KIND_NUMBER, IN_LEASES, FIELD(quarantine), 0, 24},
    {"RetryTimeout", KIND_NUMBER, IN_IMPL, FIELD(retry_timeout), 1, 24},
    {"MaxNetwork", KIND_NUMBER, IN_BOTH, FIELD(max_network), 1, LH_CHECK_MAX_NETWORK},
    {"TimelyDispatch", KIND_FLAG, IN_IMPL, FIELD(timely_dispatch), 0, 1},
    {"CrashableAcceptors", KIND_ACCEPTORS, IN_LEASES, FIELD(crashable_acceptors), 0, 0},
    {"Quorums", KIND_QUORUMS, IN_LEASES, FIELD(quorums), 0, 0},
    {"AllowCrash", KIND_FLAG, IN_LEASES, FIELD(allow_crash), 0, 1},
    {"AllowRelease", KIND_FLAG, IN_LEASES, FIELD(allow_release), 0, 1},
    {"AllowDrop", KIND_FLAG, IN_BOTH, FIELD(allow_drop), 0, 1},
    {"AllowRenewal", KIND_FLAG, IN_LEASES, FIELD(allow_renewal), 0, 1},
    {"AllowAbandon", KIND_FLAG, IN_LEASE | IN_CLOSED, FIELD(allow_abandon), 0, 1},
    {"AllowRedeliver", KIND_FLAG, IN_LEASE, FIELD(allow_redeliver), 0, 1},
    {"CrashDropsIncoming", KIND_FLAG, IN_BOTH, FIELD(crash_drops_incoming), 0, 1},
    {"RefuseLiveOverwrite", KIND_FLAG, IN_LEASE, FIELD(refuse_live_overwrite), 0, 1},
    {"Values", KIND_NUMBER, IN_COMPOSITION, FIELD(values), 1, 4},
    {"MaxSlot", KIND_NUMBER, IN_COMPOSITION, FIELD(max_slot), 1, 4},
    {"ProposerDurations", KIND_DURATIONS, IN_CLOSED, FIELD(durations), 1, CLOSED_LONGEST},
    {"OneRoundRenewal", KIND_NUMBER, IN_CLOSED, FIELD(extends), 0, 3},
    {"IdleForget", KIND_FLAG, IN_CLOSED, FIELD(idle_forget), 0, 1},
    {"PromiseFloor", KIND_FLAG, IN_CLOSED, FIELD(promise_floor), 0, 1},
    {"CleanRestart", KIND_FLAG, IN_CLOSED, FIELD(clean_restart), 0, 1},
    {"Ceiling", KIND_FLAG, IN_CLOSED, FIELD(ceiling), 0, 1},
    {"ClientOutlives", KIND_FLAG, IN_CLOSED, FIELD(client_outlives), 0, 1},
    {"AllowReplace", KIND_FLAG, IN_CLOSED, FIELD(allow_replace), 0, 1},
    {"AbandonRelease", KIND_FLAG, IN_CLOSED, FIELD(abandon_release), 0, 1},
    {"KeepDead", KIND_FLAG, IN_CLOSED, FIELD(keep_dead), 0, 1},
    {"Prompt", KIND_FLAG, IN_CLOSED, FIELD(prompt), 0, 1},
    {"LeaseDuration", KIND_NUMBER, IN_COMPOSITION, FIELD(lease_duration), 1, 24},
};

#define CONSTANT_COUNT (sizeof constants / sizeof constants[0])

static const struct {
    const char *name;
    enum lh_check_rule rule;
    uint32_t modules;
} rules[] = {
    {"late-timer", LH_WEAKEN_LATE_TIMER, IN_LEASE | IN_CLOSED},
    {"owner-only-release", LH_WEAKEN_OWNER_ONLY_RELEASE, IN_LEASES},
    {"scalar-quorum", LH_WEAKEN_SCALAR_QUORUM, IN_LEASES},
    {"stale-owner-open", LH_WEAKEN_STALE_OWNER_OPEN, IN_LEASE | IN_CLOSED},
    {"quorums", LH_WEAKEN_QUORUMS, IN_LEASES},
    {"live-overwrite", LH_WEAKEN_LIVE_OVERWRITE, IN_CLOSED},
    {"overwrite-by-owner", LH_WEAKEN_OVERWRITE_BY_OWNER, IN_CLOSED},
    {"recorded-again", LH_WEAKEN_RECORDED_AGAIN, IN_CLOSED},
    {"not-held-open", LH_WEAKEN_NOT_HELD_OPEN, IN_CLOSED},
    {"exclusion-set", LH_WEAKEN_EXCLUSION_SET, IN_CLOSED},
    {"authority-set", LH_WEAKEN_AUTHORITY_SET, IN_CLOSED},
    {"late-renewal-token", LH_WEAKEN_LATE_RENEWAL_TOKEN, IN_CLOSED},
    {"forget-early", LH_WEAKEN_FORGET_EARLY, IN_CLOSED},
    {"floor-lost", LH_WEAKEN_FLOOR_LOST, IN_CLOSED},
    {"older-extend", LH_WEAKEN_OLDER_EXTEND, IN_CLOSED},
    {"extend-expired", LH_WEAKEN_EXTEND_EXPIRED, IN_CLOSED},
    {"extend-foreign", LH_WEAKEN_EXTEND_FOREIGN, IN_CLOSED},
    {"extend-late", LH_WEAKEN_EXTEND_LATE, IN_CLOSED},
    {"stamp-restarts", LH_WEAKEN_STAMP_RESTARTS, IN_CLOSED},
    {"saved-twice", LH_WEAKEN_SAVED_TWICE, IN_CLOSED},
    {"ceiling-promise", LH_WEAKEN_CEILING_PROMISE, IN_CLOSED},
    {"ceiling-accept", LH_WEAKEN_CEILING_ACCEPT, IN_CLOSED},
    {"ceiling-extend", LH_WEAKEN_CEILING_EXTEND, IN_CLOSED},
    {"ballot-reuse", LH_WEAKEN_BALLOT_REUSE, IN_CLOSED},
    {"abandon-renewal", LH_WEAKEN_ABANDON_RENEWAL, IN_CLOSED},
    {"abandon-goes-on", LH_WEAKEN_ABANDON_GOES_ON, IN_CLOSED},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])

static const char *const module_names[LH_CHECK_MODULES] = {"lease", "impl", "composition",
                                                           "closed"};

const char *lh_check_module_name(enum lh_check_module module)
{
    return module_names[module];
}

bool lh_check_module_parse(const char *text, enum lh_check_module *ret_module)
{
    for (unsigned i = 0; i < LH_CHECK_MODULES; i++) {
        if (strcmp(text, module_names[i]) == 0) {
            *ret_module = (enum lh_check_module)i;
            return true;
        }
    }
    return false;
}

void lh_check_config_default(struct lh_check_config *config, enum lh_check_module module)
{
    *config = (struct lh_check_config){
        .module = module,
        .proposers = 2,
        .acceptors = 2,
        .ballots = 2,
        .max_time = 2,
        .proposer_duration = 2,
        .acceptor_duration = 2,
        .quarantine = 2,
        .retry_timeout = 1,
        .max_network = 4,
        .values = 2,
        .max_slot = 2,
        .lease_duration = 2,
        .durations = 1 << 1,
        .timely_dispatch = true,
    };
    if (module == LH_CHECK_CLOSED) {
        config->ballots = 3;
        config->allow_crash = true;
        config->allow_release = true;
        config->allow_renewal = true;
        config->allow_abandon = true;
        config->symmetry = true;
    }
    snprintf(config->name, sizeof config->name, "%s", module_names[module]);
}

static bool parse_number(const char *text, const struct constant *constant, uint8_t *ret_value,
                         char *error)
{
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    const bool plain = *text >= '0' && *text <= '9' && (*text != '0' || text[1] == '\0');
    if (!plain || *end != '\0' || value < constant->min || value > constant->max) {
        snprintf(error, LH_CHECK_ERROR_SIZE, "%s=%s: give a whole number from %d to %d",
                 constant->name, text, constant->min, constant->max);
        return false;
    }
    *ret_value = (uint8_t)value;
    return true;
}

static bool parse_flag(const char *text, const char *name, bool *ret_value, char *error)
{
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0 || strcmp(text, "1") == 0) {
        *ret_value = true;
        return true;
    }
    if (strcasecmp(text, "false") == 0 || strcasecmp(text, "no") == 0 || strcmp(text, "0") == 0) {
        *ret_value = false;
        return true;
    }
    snprintf(error, LH_CHECK_ERROR_SIZE, "%s=%s: give true or false", name, text);
    return false;
}

// The set that a list names: numbers of one digit, each once, after `prefix` or not, with a comma, a
// space or both between two, and braces around all or not. 0 for anything else.
static uint32_t parse_list(const char *text, const char *prefix, int min, int max)
{
    const bool braced = *text == '{';
    const char *at = text + braced;
    uint32_t set = 0;
    for (;;) {
        if (strncmp(at, prefix, strlen(prefix)) == 0)
            at += strlen(prefix);
        if (*at < '0' + min || *at > '0' + max || (set & 1u << (*at - '1')) != 0)
            return 0;
        set |= 1u << (*at++ - '1');
        if (*at == '}' || *at == '\0')
            return strcmp(at, braced ? "}" : "") == 0 ? set : 0;
        if (*at != ',' && *at != ' ')
            return 0;
        at += at[0] == ',' && at[1] == ' ' ? 2 : 1;
    }
}

// "1,3" and the paper's "{a1 a3}" name the same set. "none" is the empty set, kept as a bit above
// all acceptors, because 0 stands for "not given: all".
static bool parse_acceptors(const char *text, const char *name, uint8_t *ret_set, char *error)
{
    const bool none = strcmp(text, "none") == 0 || strcmp(text, "{}") == 0;
    const uint32_t set =
        none ? 1u << LH_CHECK_MAX_ACCEPTORS : parse_list(text, "a", 1, LH_CHECK_MAX_ACCEPTORS);
    if (set == 0) {
        snprintf(error, LH_CHECK_ERROR_SIZE,
                 "%s=%s: name acceptors by number, each once, as in %s=1,3, or none", name, text,
                 name);
        return false;
    }
    *ret_set = (uint8_t)set;
    return true;
}

// "1,2" is the set of durations that attempts may have.
static bool parse_durations(const char *text, const struct constant *constant, uint8_t *ret_set,
                            char *error)
{
    const uint32_t set = parse_list(text, "", constant->min, constant->max);
    if (set == 0) {
        snprintf(error, LH_CHECK_ERROR_SIZE,
                 "%s=%s: list durations from %d to %d, each once, as in %s=1,2", constant->name,
                 text, constant->min, constant->max, constant->name);
        return false;
    }
    *ret_set = (uint8_t)set;
    return true;
}

static bool is_among(uint32_t set, const uint8_t *sets, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (sets[i] == set)
            return true;
    }
    return false;
}

static bool parse_quorums(const char *text, struct lh_check_config *config, char *error)
{
    uint8_t sets[LH_CHECK_MAX_QUORUMS] = {0};
    unsigned count = 0;
    uint32_t set = 0;
    for (const char *at = text;; at++) {
        const bool named = *at >= '1' && *at <= '0' + LH_CHECK_MAX_ACCEPTORS;
        if (named && (set & 1u << (*at - '1')) == 0) {
            set |= 1u << (*at - '1');
            continue;
        }
        if ((*at != ',' && *at != '\0') || set == 0 || is_among(set, sets, count)) {
            snprintf(
                error, LH_CHECK_ERROR_SIZE,
                "Quorums=%s: list sets of acceptor numbers, each set once and each number once "
                "in a set, as in Quorums=12,13,23",
                text);
            return false;
        }
        sets[count++] = (uint8_t)set;
        set = 0;
        if (*at == '\0')
            break;
    }
    memcpy(config->quorums, sets, sizeof sets);
    config->quorum_count = (uint8_t)count;
    return true;
}

static const struct constant *find_constant(const char *name, size_t length)
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        if (strlen(constants[i].name) == length && memcmp(constants[i].name, name, length) == 0)
            return &constants[i];
    }
    return NULL;
}

bool lh_check_module_constant(enum lh_check_module module, size_t index, const char **ret_name,
                              char ret_range[64])
{
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        const struct constant *constant = &constants[i];
        if ((constant->modules & (1u << module)) == 0 || index-- != 0)
            continue;
        *ret_name = constant->name;
        switch (constant->kind) {
        case KIND_NUMBER:
            snprintf(ret_range, 64, "%d to %d", constant->min,
                     module == LH_CHECK_CLOSED && constant->max > CLOSED_LONGEST ? CLOSED_LONGEST
                                                                                 : constant->max);
            break;
        case KIND_FLAG: snprintf(ret_range, 64, "true or false"); break;
        case KIND_ACCEPTORS: snprintf(ret_range, 64, "as in 1,3, or none; all unless given"); break;
        case KIND_QUORUMS:
            snprintf(ret_range, 64, "as in 12,13,23; majorities unless given");
            break;
        case KIND_DURATIONS:
            snprintf(ret_range, 64, "some of %d to %d, as in 1,2", constant->min, constant->max);
            break;
        }
        return true;
    }
    return false;
}

const char *lh_check_module_rule(enum lh_check_module module, size_t index)
{
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if ((rules[i].modules & (1u << module)) != 0 && index-- == 0)
            return rules[i].name;
    }
    return NULL;
}

static void append(char *error, const char *separator, const char *word)
{
    const size_t used = strlen(error);
    snprintf(error + used, LH_CHECK_ERROR_SIZE - used, "%s%s", separator, word);
}

static void append_constants(char *error, enum lh_check_module module)
{
    const char *name;
    char ignored[64];
    for (size_t i = 0; lh_check_module_constant(module, i, &name, ignored); i++)
        append(error, " ", name);
}

bool lh_check_config_set(struct lh_check_config *config, const char *assignment,
                         char ret_error[LH_CHECK_ERROR_SIZE])
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL) {
        snprintf(ret_error, LH_CHECK_ERROR_SIZE, "--set %s: give NAME=VALUE, as in MaxTime=3",
                 assignment);
        return false;
    }
    const struct constant *constant = find_constant(assignment, (size_t)(equals - assignment));
    if (constant == NULL) {
        snprintf(ret_error, LH_CHECK_ERROR_SIZE,
                 "--set %s: there is no such constant; module %s has", assignment,
                 module_names[config->module]);
        append_constants(ret_error, config->module);
        return false;
    }
    if ((constant->modules & (1u << config->module)) == 0) {
        snprintf(ret_error, LH_CHECK_ERROR_SIZE, "--set %s: module %s has no constant %s; it has",
                 assignment, module_names[config->module], constant->name);
        append_constants(ret_error, config->module);
        return false;
    }
    char *field = (char *)config + constant->offset;
    const char *text = equals + 1;
    switch (constant->kind) {
    case KIND_NUMBER: return parse_number(text, constant, (uint8_t *)field, ret_error);
    case KIND_FLAG: return parse_flag(text, constant->name, (bool *)field, ret_error);
    case KIND_ACCEPTORS: return parse_acceptors(text, constant->name, (uint8_t *)field, ret_error);
    case KIND_QUORUMS: return parse_quorums(text, config, ret_error);
    case KIND_DURATIONS: return parse_durations(text, constant, (uint8_t *)field, ret_error);
    }
    return false;
}

bool lh_check_config_weaken(struct lh_check_config *config, const char *rule,
                            char ret_error[LH_CHECK_ERROR_SIZE])
{
    const enum lh_check_module module = config->module;
    uint32_t modules = 0;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (strcmp(rules[i].name, rule) != 0)
            continue;
        modules = rules[i].modules;
        if ((config->weaken & (uint32_t)rules[i].rule) != 0) {
            snprintf(ret_error, LH_CHECK_ERROR_SIZE, "--weaken %s: this rule is left out already",
                     rule);
            return false;
        }
        if ((modules & (1u << module)) != 0) {
            config->weaken |= (uint32_t)rules[i].rule;
            return true;
        }
    }
    if (modules == 0)
        snprintf(ret_error, LH_CHECK_ERROR_SIZE, "--weaken %s: there is no such rule; module %s",
                 rule, module_names[module]);
    else
        snprintf(ret_error, LH_CHECK_ERROR_SIZE, "--weaken %s: module %s has no such rule%s", rule,
                 module_names[module], modules & IN_CLOSED ? ", --network closed has" : "");
    append(ret_error, modules == 0 ? " " : "; it ",
           lh_check_module_rule(module, 0) == NULL ? "has none" : "has");
    for (size_t i = 0; lh_check_module_rule(module, i) != NULL; i++)
        append(ret_error, " ", lh_check_module_rule(module, i));
    if (strchr(rule, ',') != NULL)
        append(ret_error, "; ", "give --weaken before each");
    return false;
}

bool lh_check_config_is_quorum(const struct lh_check_config *config, uint32_t acceptors)
{
    if (config->quorum_count == 0)
        return 2 * __builtin_popcount(acceptors) > config->acceptors;
    for (unsigned i = 0; i < config->quorum_count; i++) {
        if ((acceptors & config->quorums[i]) == config->quorums[i])
            return true;
    }
    return false;
}

uint8_t lh_check_config_longest(const struct lh_check_config *config)
{
    return (uint8_t)(32 - __builtin_clz(config->durations));
}

static void print_set(uint32_t set, char *text, size_t size)
{
    size_t used = 0;
    for (unsigned a = 0; a < LH_CHECK_MAX_ACCEPTORS && used + 1 < size; a++) {
        if (set & (1u << a))
            text[used++] = (char)('1' + a);
    }
    text[used] = '\0';
}

static bool validate_quorums(const struct lh_check_config *config, char *error)
{
    for (unsigned i = 0; i < config->quorum_count; i++) {
        char left[8];
        print_set(config->quorums[i], left, sizeof left);
        if (config->quorums[i] >> config->acceptors != 0) {
            snprintf(error, LH_CHECK_ERROR_SIZE,
                     "Quorums: %s names an acceptor that is not there; Acceptors is %d", left,
                     config->acceptors);
            return false;
        }
        for (unsigned j = 0; j < i && (config->weaken & LH_WEAKEN_QUORUMS) == 0; j++) {
            char right[8];
            print_set(config->quorums[j], right, sizeof right);
            if ((config->quorums[i] & config->quorums[j]) != 0)
                continue;
            snprintf(error, LH_CHECK_ERROR_SIZE,
                     "Quorums: %s and %s do not intersect, so each could grant the lease; "
                     "change one, or add --weaken quorums to see it happen",
                     right, left);
            return false;
        }
    }
    return true;
}

static bool validate_durations(const struct lh_check_config *config, char *error)
{
    if (config->proposer_duration > config->acceptor_duration) {
        snprintf(error, LH_CHECK_ERROR_SIZE,
                 "ProposerDuration=%d is above AcceptorDuration=%d: the module assumes that the "
                 "acceptor excludes others at least as long (T2)",
                 config->proposer_duration, config->acceptor_duration);
        return false;
    }
    unsigned longest = config->acceptor_duration;
    if (config->quarantine > longest)
        longest = config->quarantine;
    if (config->module == LH_CHECK_IMPL && config->retry_timeout > longest)
        longest = config->retry_timeout;
    if (config->max_time + longest >= LH_CHECK_VALUES) {
        snprintf(error, LH_CHECK_ERROR_SIZE,
                 "MaxTime=%d and the longest duration %u add up to more than %d: lower one",
                 config->max_time, longest, LH_CHECK_VALUES - 1);
        return false;
    }
    return true;
}

bool lh_check_config_validate(const struct lh_check_config *config,
                              char ret_error[LH_CHECK_ERROR_SIZE])
{
    if (config->module == LH_CHECK_COMPOSITION) {
        if (config->max_time + config->lease_duration >= LH_CHECK_VALUES) {
            snprintf(ret_error, LH_CHECK_ERROR_SIZE,
                     "MaxTime=%d and LeaseDuration=%d add up to more than %d: lower one",
                     config->max_time, config->lease_duration, LH_CHECK_VALUES - 1);
            return false;
        }
        return true;
    }
    const uint32_t none = 1u << LH_CHECK_MAX_ACCEPTORS;
    if (config->crashable_acceptors != none &&
        config->crashable_acceptors >> config->acceptors != 0) {
        char set[8];
        print_set(config->crashable_acceptors, set, sizeof set);
        snprintf(ret_error, LH_CHECK_ERROR_SIZE,
                 "CrashableAcceptors: %s names an acceptor that is not there; Acceptors is %d", set,
                 config->acceptors);
        return false;
    }
    if (config->module == LH_CHECK_CLOSED && config->quarantine > CLOSED_LONGEST) {
        snprintf(ret_error, LH_CHECK_ERROR_SIZE,
                 "Quarantine=%d: the closed network takes up to %d, the longest duration",
                 config->quarantine, CLOSED_LONGEST);
        return false;
    }
    if (config->module == LH_CHECK_CLOSED)
        return validate_quorums(config, ret_error);
    return validate_durations(config, ret_error) && validate_quorums(config, ret_error);
}

// "1,3" for the bits 0 and 2.
static void print_list(uint32_t set, char ret_value[LH_CHECK_VALUE_SIZE])
{
    size_t used = 0;
    for (unsigned i = 0; i < 8; i++) {
        if ((set & 1u << i) == 0)
            continue;
        if (used != 0)
            ret_value[used++] = ',';
        ret_value[used++] = (char)('1' + i);
    }
    ret_value[used] = '\0';
    if (used == 0)
        snprintf(ret_value, LH_CHECK_VALUE_SIZE, "none");
}

bool lh_check_config_constant(const struct lh_check_config *config, size_t index,
                              const char **ret_name, char ret_value[LH_CHECK_VALUE_SIZE])
{
    const char *base = (const char *)config;
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        const struct constant *constant = &constants[i];
        if ((constant->modules & (1u << config->module)) == 0)
            continue;
        if ((constant->kind == KIND_QUORUMS && config->quorum_count == 0) ||
            (constant->kind == KIND_ACCEPTORS && config->crashable_acceptors == 0))
            continue;
        if (index-- != 0)
            continue;
        *ret_name = constant->name;
        switch (constant->kind) {
        case KIND_NUMBER:
            snprintf(ret_value, LH_CHECK_VALUE_SIZE, "%d",
                     *(const uint8_t *)(base + constant->offset));
            break;
        case KIND_FLAG:
            snprintf(ret_value, LH_CHECK_VALUE_SIZE, "%s",
                     *(const bool *)(base + constant->offset) ? "true" : "false");
            break;
        case KIND_ACCEPTORS: print_list(config->crashable_acceptors & 31u, ret_value); break;
        case KIND_DURATIONS: print_list(config->durations, ret_value); break;
        case KIND_QUORUMS: {
            size_t used = 0;
            for (unsigned q = 0; q < config->quorum_count && used + 8 < LH_CHECK_VALUE_SIZE; q++) {
                if (q != 0)
                    ret_value[used++] = ',';
                print_set(config->quorums[q], ret_value + used, 8);
                used += strlen(ret_value + used);
            }
            break;
        }
        }
        return true;
    }
    return false;
}

void lh_check_config_weakened(const struct lh_check_config *config, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if ((config->weaken & (uint32_t)rules[i].rule) == 0 || used >= size)
            continue;
        used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used == 0 ? "" : ",",
                                 rules[i].name);
    }
}
