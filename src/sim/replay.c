// See replay.h. A unit of the trace's time is a second.
#include "sim/replay.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/roles.h"
#include "sim/run.h"
#include "sim/weaken.h"

#define NOBODY (0u - 1) // whose ballot is over, on the closed network: any

enum { EXIT_USAGE = 64, FILE_MOST = 64 << 20, TIME_MOST = 255, BALLOT_MOST = 255 };

struct replay {
    const char *path;
    struct lh_sim_roles *roles;
    const json_t *state; // of the trace, after this step
    const char *rules;   // that decide this step
    bool closed;         // the closed network: times are what remains, and answers count at once
    bool bad;            // the file
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct replay *replay, const char *format,
                                                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!replay->bad) {
        fprintf(stderr, "leasehold sim: --replay '%s': ", replay->path);
        if (replay->roles->step > 0)
            fprintf(stderr, "step %u: ", replay->roles->step);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    va_end(arguments);
    replay->bad = true;
    return false;
}

// --- what the trace says ---

static unsigned number_at(struct replay *replay, const json_t *object, const char *name,
                          unsigned most)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= (json_int_t)most)
        return (unsigned)json_integer_value(value);
    refuse(replay, "'%s' is no number up to %u", name, most);
    return 0;
}

__attribute__((format(printf, 2, 3))) static unsigned variable(struct replay *replay,
                                                               const char *format, ...)
{
    char name[48];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return number_at(replay, replay->state, name, TIME_MOST);
}

// A constant is a text, as `--set` takes it.
static unsigned constant(struct replay *replay, const json_t *constants, const char *name,
                         unsigned least, unsigned most)
{
    const char *text = json_string_value(json_object_get(constants, name));
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);
    if (text != NULL && end != text && *end == '\0' && value >= least && value <= most)
        return (unsigned)value;
    refuse(replay, "the constant '%s' is no number from %u to %u", name, least, most);
    return least;
}

static struct lh_instant instant_of(unsigned time)
{
    return (struct lh_instant){(LH_SIM_ROLES_START_S + (int64_t)time) * LH_NS_PER_S};
}

static unsigned time_of(struct lh_instant instant)
{
    return (unsigned)(instant.ns / LH_NS_PER_S - LH_SIM_ROLES_START_S);
}

// --- departing ---

// Returns true: it departs.
__attribute__((format(printf, 2, 3))) static bool departs(const struct replay *replay,
                                                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("step %u: the code that ships departs from the trace: ", replay->roles->step);
    vprintf(format, arguments);
    printf(" (%s)\n", replay->rules);
    va_end(arguments);
    return true;
}

static bool differs(const struct replay *replay, char kind, unsigned number, const char *what,
                    unsigned ours, unsigned theirs)
{
    return ours != theirs &&
           departs(replay, "%c%u %s %u, in the trace %u", kind, number + 1, what, ours, theirs);
}

// A deadline of the trace.
static struct lh_instant deadline(struct replay *replay, unsigned value)
{
    return replay->closed ? lh_after(replay->roles->now, (struct lh_duration){value * LH_NS_PER_S})
                          : instant_of(value);
}

static bool acceptor_differs(struct replay *replay, unsigned a)
{
    const struct lh_sim_acceptor *acceptor = &replay->roles->acceptors[a];
    const struct lh_acceptor_record *record = &acceptor->role;
    struct lh_instant now = replay->roles->now;
    bool closed = replay->closed;
    bool ours = !acceptor->down && lh_acceptor_live(record, now);
    struct lh_instant until =
        deadline(replay, variable(replay, closed ? "a%u.exclusion" : "a%u.deadline", a + 1));
    unsigned recorded = variable(replay, closed ? "a%u.record" : "a%u.ballot", a + 1);
    bool theirs = lh_before(now, until) && (closed || variable(replay, "a%u.owner", a + 1) != 0);
    struct lh_instant silent_until =
        deadline(replay, variable(replay, closed ? "a%u.silence" : "a%u.quarantineUntil", a + 1));
    return differs(replay, 'a', a, "has promised", (unsigned)lh_ballot_counter(record->promised),
                   variable(replay, "a%u.promised", a + 1)) ||
           differs(replay, 'a', a, "has as its live record, of ballot (0: none),",
                   ours ? (unsigned)lh_ballot_counter(record->ballot) : 0, theirs ? recorded : 0) ||
           (ours && theirs &&
            differs(replay, 'a', a, "excludes others until", time_of(record->deadline),
                    time_of(until))) ||
           (!acceptor->down &&
            differs(replay, 'a', a, "is in quarantine (0: no, 1: yes):",
                    lh_before(now, acceptor->silent_until), lh_before(now, silent_until)));
}

// On the closed network the trace tells which promises are open.
static bool open_differs(struct replay *replay, unsigned p)
{
    const struct lh_proposer *role = &replay->roles->proposers[p].role;
    replay->rules = "P2";
    for (unsigned a = 0; a < replay->roles->config.acceptors && role->phase == LH_PREPARING; a++) {
        bool theirs = (variable(replay, "a%u.open", a + 1) >> p & 1) != 0;
        if (lh_set_has(role->open, a) != theirs)
            return departs(replay, "p%u takes what a%u promised as %s, in the trace it is %s",
                           p + 1, a + 1, theirs ? "not open" : "open", theirs ? "open" : "not");
    }
    return false;
}

static bool proposer_differs(struct replay *replay, unsigned p)
{
    const struct lh_proposer *role = &replay->roles->proposers[p].role;
    bool closed = replay->closed;
    bool ours = lh_proposer_holds(role, replay->roles->now);
    struct lh_instant until =
        deadline(replay, variable(replay, closed ? "p%u.authority" : "p%u.pDeadline", p + 1));
    bool theirs =
        closed ? lh_before(replay->roles->now, until) : variable(replay, "p%u.active", p + 1) != 0;
    unsigned ballot = variable(replay, closed ? "p%u.held" : "p%u.activeBallot", p + 1);
    unsigned phase = variable(replay, "p%u.phase", p + 1);
    struct lh_instant pending =
        deadline(replay, variable(replay, closed ? "p%u.pending" : "p%u.pendingDeadline", p + 1));
    return differs(replay, 'p', p, "holds the lease of ballot (0: none)",
                   ours ? (unsigned)lh_ballot_counter(role->held) : 0, theirs ? ballot : 0) ||
           (ours && theirs &&
            differs(replay, 'p', p, "believes in its lease until", time_of(role->until),
                    time_of(until))) ||
           differs(replay, 'p', p, "is in phase (1: prepare, 2: accept)", (unsigned)role->phase,
                   phase) ||
           (role->phase == LH_ACCEPTING && phase == LH_ACCEPTING &&
            differs(replay, 'p', p, "counts no answer from this time on:", time_of(role->td),
                    time_of(pending))) ||
           (closed && open_differs(replay, p));
}

static bool state_differs(struct replay *replay)
{
    for (unsigned a = 0; a < replay->roles->config.acceptors; a++)
        if (acceptor_differs(replay, a))
            return true;
    for (unsigned p = 0; p < replay->roles->config.proposers; p++)
        if (proposer_differs(replay, p))
            return true;
    return false;
}

// --- steps ---

static unsigned find(struct replay *replay, const json_t *message)
{
    static const struct {
        const char *name;
        enum lh_message_kind kind;
    } kinds[] = {{"Prepare", LH_MESSAGE_PREPARE},
                 {"Promise", LH_MESSAGE_PROMISE},
                 {"Accept", LH_MESSAGE_ACCEPT},
                 {"Accepted", LH_MESSAGE_ACCEPTED},
                 {"Release", LH_MESSAGE_RELEASE}};
    const struct lh_sim_roles *roles = replay->roles;
    const char *name = json_string_value(json_object_get(message, "kind"));
    unsigned k = 0;
    while (k < sizeof kinds / sizeof kinds[0] && (name == NULL || strcmp(name, kinds[k].name) != 0))
        k++;
    unsigned proposer = number_at(replay, message, "proposer", roles->config.proposers) - 1;
    unsigned acceptor = number_at(replay, message, "acceptor", roles->config.acceptors) - 1;
    unsigned ballot = number_at(replay, message, "ballot", BALLOT_MOST);
    unsigned reports = number_at(replay, message, "reports", BALLOT_MOST);
    unsigned until = number_at(replay, message, "until", TIME_MOST);
    if (k == sizeof kinds / sizeof kinds[0]) {
        refuse(replay, "a message of no kind that is known");
        return LH_SIM_PACKETS_MAX;
    }
    for (unsigned i = 0; i < roles->packet_count; i++) {
        const struct lh_sim_packet *packet = &roles->packets[i];
        if (packet->message.kind == kinds[k].kind && packet->acceptor == acceptor &&
            (packet->proposer == proposer || (replay->closed && proposer == NOBODY)) &&
            lh_ballot_counter(packet->message.ballot) == ballot &&
            (kinds[k].kind != LH_MESSAGE_PROMISE ||
             lh_ballot_counter(packet->message.reported) == reports) &&
            (kinds[k].kind != LH_MESSAGE_ACCEPTED || time_of(packet->covers) == until))
            return i;
    }
    return LH_SIM_PACKETS_MAX;
}

static unsigned process(struct replay *replay, const json_t *step, unsigned count)
{
    unsigned number = number_at(replay, step, "process", count);
    if (number == 0)
        refuse(replay, "'process' counts from 1");
    return number == 0 ? 0 : number - 1;
}

static unsigned proposer_of(struct replay *replay, const json_t *step)
{
    return process(replay, step, replay->roles->config.proposers);
}

static unsigned acceptor_of(struct replay *replay, const json_t *step)
{
    return process(replay, step, replay->roles->config.acceptors);
}

// Promises are read at once; answers to an Accept wait for Activate; refusals are none.
static void take_answer(struct lh_sim_roles *roles, unsigned proposer, unsigned acceptor)
{
    unsigned promise = lh_sim_roles_find(roles, LH_MESSAGE_PROMISE, proposer, acceptor);
    unsigned refusal = lh_sim_roles_find(roles, LH_MESSAGE_REJECTED, proposer, acceptor);
    if (promise != LH_SIM_PACKETS_MAX)
        lh_sim_roles_deliver(roles, promise);
    else if (refusal != LH_SIM_PACKETS_MAX)
        lh_sim_roles_drop(roles, refusal);
}

static bool deliver(struct replay *replay, const json_t *step)
{
    struct lh_sim_roles *roles = replay->roles;
    unsigned packet = find(replay, json_object_get(step, "message"));
    if (packet == LH_SIM_PACKETS_MAX)
        return false;
    const struct lh_sim_packet taken = roles->packets[packet];
    if (replay->closed || json_is_true(json_object_get(step, "kept")))
        lh_sim_roles_repeat(roles, packet);
    if (replay->closed)
        roles->config.exclusion = taken.message.ttl;
    bool changed = lh_sim_roles_deliver(roles, packet);
    if (replay->closed)
        take_answer(roles, taken.proposer, taken.acceptor);
    return changed;
}

// The answers to its Accept, as many as it takes.
static bool activate(struct replay *replay, const json_t *step)
{
    struct lh_sim_roles *roles = replay->roles;
    unsigned p = proposer_of(replay, step);
    const struct lh_proposer *role = &roles->proposers[p].role;
    for (unsigned i = 0; i < roles->packet_count && role->phase == LH_ACCEPTING;) {
        const struct lh_sim_packet *packet = &roles->packets[i];
        if (packet->message.kind == LH_MESSAGE_ACCEPTED && packet->proposer == p &&
            packet->message.ballot == role->ballot)
            lh_sim_roles_deliver(roles, i);
        else
            i++;
    }
    return role->phase == LH_IDLE;
}

static bool drop(struct replay *replay, const json_t *step)
{
    unsigned packet = find(replay, json_object_get(step, "message"));
    return packet != LH_SIM_PACKETS_MAX && lh_sim_roles_drop(replay->roles, packet);
}

static bool start(struct replay *replay, const json_t *step)
{
    struct lh_sim_proposer *proposer = &replay->roles->proposers[proposer_of(replay, step)];
    unsigned ballot = number_at(replay, step, "argument", BALLOT_MOST);
    if (ballot <= proposer->counter)
        return false;
    proposer->counter = ballot - 1;
    if (replay->closed)
        replay->roles->config.ttl.ns = LH_NS_PER_S * variable(replay, "b%u.duration", ballot);
    return proposer->role.phase == LH_IDLE &&
           lh_sim_roles_start(replay->roles, proposer_of(replay, step));
}

// On the closed network it is back at once.
static bool crash_proposer(struct replay *replay, const json_t *step)
{
    unsigned p = proposer_of(replay, step);
    return lh_sim_roles_crash_proposer(replay->roles, p) &&
           (!replay->closed || lh_sim_roles_restart_proposer(replay->roles, p));
}

// An attempt that the trace's timer ends here is given up: when to, P5 leaves to the caller.
static bool tick(struct replay *replay, const json_t *step)
{
    (void)step;
    lh_sim_roles_pass(replay->roles, 1);
    for (unsigned p = 0; p < replay->roles->config.proposers; p++)
        if (variable(replay, "p%u.phase", p + 1) == 0)
            lh_sim_roles_abandon(replay->roles, p);
    return true;
}

static bool nothing(struct replay *replay, const json_t *step)
{
    (void)replay;
    (void)step;
    return true;
}

// One of the three takes the step.
static const struct {
    const char *name, *rules;
    bool (*take)(struct replay *replay, const json_t *step);
    bool (*of_proposer)(struct lh_sim_roles *roles, unsigned proposer);
    bool (*of_acceptor)(struct lh_sim_roles *roles, unsigned acceptor);
} actions[] = {
    {"Init", "P1", .take = nothing},
    {"StartAcquire", "P1, T1", .take = start},
    {"DeliverPrepare", "A1, A4", .take = deliver},
    {"DeliverPromise", "P2", .take = deliver},
    {"SendAccept", "P3, T1", .of_proposer = lh_sim_roles_propose},
    {"DeliverAcceptReq", "A2, A4", .take = deliver},
    {"DeliverAccepted", "P4, T1", .take = deliver},
    {"Activate", "P4, T1", .take = activate},
    {"AbandonAttempt", "P5", .of_proposer = lh_sim_roles_abandon},
    {"Release", "P6", .of_proposer = lh_sim_roles_release},
    {"DeliverRelease", "A3", .take = deliver},
    {"DropMessage", "the network", .take = drop},
    {"Tick", "T1", .take = tick},
    {"StutterAtEnd", "T1", .take = nothing},
    {"CrashProposer", "P1", .take = crash_proposer},
    {"RestartProposer", "P1", .of_proposer = lh_sim_roles_restart_proposer},
    {"CrashAcceptor", "A4", .of_acceptor = lh_sim_roles_crash_acceptor},
    {"RestartAcceptor", "A4, T3", .of_acceptor = lh_sim_roles_restart_acceptor},
};

// Returns true if it was the last one: it departs, or cannot be read.
static bool take(struct replay *replay, const json_t *step)
{
    const char *name = json_string_value(json_object_get(step, "action"));
    unsigned i = 0;
    while (i < sizeof actions / sizeof actions[0] &&
           (name == NULL || strcmp(name, actions[i].name) != 0))
        i++;
    replay->state = json_object_get(step, "state");
    if (i == sizeof actions / sizeof actions[0])
        return !refuse(replay, "an action of no module that can be replayed");
    replay->rules = actions[i].rules;
    bool taken = actions[i].of_proposer != NULL
                     ? actions[i].of_proposer(replay->roles, proposer_of(replay, step))
                 : actions[i].of_acceptor != NULL
                     ? actions[i].of_acceptor(replay->roles, acceptor_of(replay, step))
                     : actions[i].take(replay, step);
    if (replay->bad)
        return true;
    if (!taken)
        return departs(replay, "it has no such step, or nothing that leads to it: %s", name);
    return state_differs(replay) || replay->bad;
}

// --- the file ---

// What is beyond the paper's rules, A2 and D.
static bool is_plain(struct replay *replay, const json_t *constants)
{
    static const char *const beyond[] = {"IdleForget",     "PromiseFloor",   "CleanRestart",
                                         "Ceiling",        "ClientOutlives", "AllowReplace",
                                         "AbandonRelease", "Prompt"};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        const char *value = json_string_value(json_object_get(constants, beyond[i]));
        if (value == NULL || strcmp(value, "false") != 0)
            return refuse(replay, "replays no trace with %s=true", beyond[i]);
    }
    if (constant(replay, constants, "OneRoundRenewal", 0, TIME_MOST) != 0)
        return refuse(replay, "replays no trace with OneRoundRenewal");
    return !replay->bad;
}

static bool read_config(struct replay *replay, const json_t *trace,
                        struct lh_sim_roles_config *config)
{
    const char *module = json_string_value(json_object_get(trace, "module"));
    const json_t *constants = json_object_get(trace, "constants");
    replay->closed = module != NULL && strcmp(module, "closed") == 0;
    if (module == NULL ||
        (!replay->closed && strcmp(module, "lease") != 0 && strcmp(module, "impl") != 0))
        return refuse(replay, "replays traces of the modules lease, impl and closed; this is of "
                              "another");
    if (json_object_get(constants, "Quorums") != NULL)
        return refuse(replay, "its quorums are not majorities, ours are");
    config->proposers = constant(replay, constants, "Proposers", 1, LH_SIM_PROPOSERS_MAX);
    config->acceptors = constant(replay, constants, "Acceptors", 1, LH_SIM_ACCEPTORS_MAX);
    config->quarantine.ns = LH_NS_PER_S * constant(replay, constants, "Quarantine", 0, TIME_MOST);
    if (replay->closed)
        return is_plain(replay, constants);
    config->ttl.ns = LH_NS_PER_S * constant(replay, constants, "ProposerDuration", 1, TIME_MOST);
    config->exclusion.ns =
        LH_NS_PER_S * constant(replay, constants, "AcceptorDuration", 1, TIME_MOST);
    return !replay->bad;
}

static json_t *load(struct replay *replay)
{
    struct stat stat_of;
    json_error_t error;
    json_t *trace = NULL;
    if (stat(replay->path, &stat_of) != 0)
        refuse(replay, "%s", strerror(errno));
    else if (!S_ISREG(stat_of.st_mode) || stat_of.st_size > FILE_MOST)
        refuse(replay, "it is no file, or larger than %d MiB", FILE_MOST >> 20);
    else if ((trace = json_load_file(replay->path, JSON_REJECT_DUPLICATES, &error)) == NULL)
        refuse(replay, "it is no JSON: line %d, column %d", error.line, error.column);
    return trace;
}

static int run(struct replay *replay, const json_t *states)
{
    struct lh_sim_roles *roles = replay->roles;
    size_t count = json_array_size(states);
    if (count == 0)
        refuse(replay, "it has no states");
    for (size_t i = 0; i < count && !replay->bad; i++) {
        roles->step = (unsigned)i + 1;
        if (take(replay, json_array_get(states, i)))
            return replay->bad ? EXIT_USAGE : LH_SIM_CLEAN;
    }
    if (replay->bad)
        return EXIT_USAGE;
    if (roles->wrong[0] == '\0') {
        printf("all %zu steps were made, and nothing is wrong\n", count);
        return LH_SIM_CLEAN;
    }
    printf("step %u: safety: %s\n", roles->step, roles->wrong);
    return LH_SIM_UNSAFE;
}

int lh_sim_replay(const char *path, unsigned weakened)
{
    static struct lh_sim_roles roles;
    struct replay replay = {.path = path, .roles = &roles};
    struct lh_sim_roles_config config = {.weakened = weakened, .told = stdout};
    json_t *trace = load(&replay);
    int status = EXIT_USAGE;
    if (trace != NULL && read_config(&replay, trace, &config)) {
        lh_sim_roles_init(&roles, &config);
        status = run(&replay, json_object_get(trace, "states"));
    }
    json_decref(trace);
    return status;
}
