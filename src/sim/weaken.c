// See weaken.h. What is done here to a node's memory leaves it as it would be if the rule were not
// in the code: before a message is handled, since then the rule that is left finds nothing to
// object to.
#include "sim/weaken.h"

#include <string.h>

#include "host/host_internal.h"
#include "sim/world.h"

static const char *const names[LH_SIM_WEAKEN_COUNT] = {
#define NAME(flag, name, help) name,
    LH_SIM_WEAKENINGS(NAME)
#undef NAME
};
static const char *const helps[LH_SIM_WEAKEN_COUNT] = {
#define HELP(flag, name, help) help,
    LH_SIM_WEAKENINGS(HELP)
#undef HELP
};

unsigned lh_sim_weaken_parse(const char *text)
{
    unsigned flags = 0;
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        unsigned flag = 0;
        for (unsigned i = 0; i < LH_SIM_WEAKEN_COUNT; i++)
            if (strlen(names[i]) == size && strncmp(names[i], text, size) == 0)
                flag = 1u << i;
        if (flag == 0 || strcmp(text + size, ",") == 0)
            return 0;
        flags |= flag;
        text += size + (text[size] == ',');
    }
    return flags;
}

void lh_sim_weaken_print(unsigned flags, FILE *file)
{
    const char *separator = "";
    for (unsigned i = 0; i < LH_SIM_WEAKEN_COUNT; i++) {
        if ((flags >> i & 1) == 0)
            continue;
        fprintf(file, "%s%s", separator, names[i]);
        separator = ",";
    }
}

void lh_sim_weaken_help(FILE *file)
{
    for (unsigned i = 0; i < LH_SIM_WEAKEN_COUNT; i++)
        fprintf(file, "  %-19s %s\n", names[i], helps[i]);
}

static bool broken(const struct lh_sim_node *node, unsigned flag)
{
    return (node->sim->settings.weakened & flag) != 0;
}

void lh_sim_weaken_start(struct lh_sim_node *node)
{
    struct lh_machine *machine = &lh_driver_host(node->driver)->machine;
    memset(node->answered, 0, sizeof node->answered);
    if (broken(node, LH_SIM_WEAKEN_NO_GUARD))
        machine->config.timing.rate_ppm = 0; // D_A = D_P
}

// --- requests, at the acceptor ---

static void before_accept(unsigned flags, struct lh_acceptor_record *record, struct lh_instant now,
                          const struct lh_message *message)
{
    if (!lh_acceptor_live(record, now) || message->ballot < record->promised ||
        message->ballot == record->ballot)
        return;
    bool named =
        message->base == record->ballot && lh_ballot_same_owner(message->ballot, record->ballot);
    if (named && (flags & LH_SIM_WEAKEN_SHRINKING_DEADLINE) != 0)
        record->deadline = (struct lh_instant){now.ns + 1};
    if (!named && (flags & LH_SIM_WEAKEN_LIVE_OVERWRITE) != 0)
        record->deadline = now; // ended, and just now: as if nothing stood there
}

static void before_extend(unsigned flags, struct lh_acceptor_record *record, struct lh_instant now,
                          const struct lh_message *message)
{
    if ((flags & LH_SIM_WEAKEN_SHRINKING_DEADLINE) != 0 && lh_acceptor_live(record, now) &&
        message->ballot == record->ballot && message->stamp > record->stamp)
        record->deadline = (struct lh_instant){now.ns + 1};
}

static void before_release(unsigned flags, struct lh_acceptor_record *record, struct lh_instant now,
                           const struct lh_message *message)
{
    if ((flags & LH_SIM_WEAKEN_OWNER_ONLY_RELEASE) != 0 &&
        lh_ballot_same_owner(record->ballot, message->ballot) && message->ballot != record->ballot)
        record->deadline = now; // ended, and just now: as if nothing stood there
}

void lh_sim_weaken_request(unsigned flags, struct lh_acceptor_record *record, struct lh_instant now,
                           const struct lh_message *message)
{
    switch (message->kind) {
    case LH_MESSAGE_ACCEPT: before_accept(flags, record, now, message); break;
    case LH_MESSAGE_EXTEND: before_extend(flags, record, now, message); break;
    case LH_MESSAGE_RELEASE: before_release(flags, record, now, message); break;
    default: break;
    }
}

static void before_request(struct lh_sim_node *node, struct lh_machine *machine,
                           struct lh_instant now, const struct lh_message *message)
{
    unsigned flags = node->sim->settings.weakened;
    struct lh_acceptor_record *record = lh_acceptors_find(&machine->acceptors, message->key);
    if (record == NULL || lh_before(now, machine->quarantine_until))
        return;
    if ((flags & LH_SIM_WEAKEN_STALE_OWNER_OPEN) != 0)
        flags |= LH_SIM_WEAKEN_LIVE_OVERWRITE;
    bool asks = message->kind == LH_MESSAGE_PREPARE || message->kind == LH_MESSAGE_ACCEPT;
    if ((flags & LH_SIM_WEAKEN_NO_REFUSAL) != 0 && asks && lh_acceptor_live(record, now) &&
        !lh_ballot_same_owner(record->ballot, message->ballot))
        record->deadline = now;
    lh_sim_weaken_request(flags, record, now, message);
}

// --- answers, at the proposer ---

// One more acceptor than there is: what a counter would make of a second answer of the same.
static void count_twice(struct lh_members_set *set, unsigned acceptor)
{
    if (!lh_set_has(*set, acceptor))
        return;
    for (unsigned i = LH_MEMBERS_MAX; i < LH_SET_CAPACITY; i++)
        if (!lh_set_has(*set, i)) {
            lh_set_add(set, i);
            return;
        }
}

void lh_sim_weaken_answer(unsigned flags, struct lh_proposer *proposer, unsigned acceptor,
                          const struct lh_message *message)
{
    bool promise = message->kind == LH_MESSAGE_PROMISE && proposer->phase == LH_PREPARING &&
                   message->ballot == proposer->ballot;
    bool accepted = (message->kind == LH_MESSAGE_ACCEPTED && proposer->phase == LH_ACCEPTING &&
                     message->ballot == proposer->ballot) ||
                    (message->kind == LH_MESSAGE_EXTENDED && proposer->phase == LH_EXTENDING &&
                     message->ballot == proposer->held && message->stamp == proposer->stamp);
    if ((flags & LH_SIM_WEAKEN_SCALAR_QUORUM) != 0 && promise)
        count_twice(&proposer->open, acceptor);
    if ((flags & LH_SIM_WEAKEN_SCALAR_QUORUM) != 0 && accepted)
        count_twice(&proposer->accepted, acceptor);
    if ((flags & LH_SIM_WEAKEN_STALE_OWNER_OPEN) != 0 && promise &&
        message->reported != LH_BALLOT_NONE &&
        lh_ballot_same_owner(message->reported, proposer->ballot))
        lh_set_add(&proposer->open, acceptor);
}

static void before_answer(struct lh_sim_node *node, struct lh_machine *machine,
                          struct lh_instant now, unsigned acceptor,
                          const struct lh_message *message)
{
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    if (lease == NULL)
        return;
    lh_sim_weaken_answer(node->sim->settings.weakened, &lease->proposer, acceptor, message);
    if (broken(node, LH_SIM_WEAKEN_LATE_TIMER) && message->kind == LH_MESSAGE_ACCEPTED &&
        lease->proposer.phase == LH_ACCEPTING && message->ballot == lease->proposer.ballot)
        lease->proposer.td = lh_after(now, lease->ttl);
}

// --- whatever comes ---

void lh_sim_weaken_admitted(struct lh_sim_node *node, int64_t now_ns)
{
    struct lh_host *host = lh_driver_host(node->driver);
    struct lh_machine *machine = &host->machine;
    struct lh_instant now = {now_ns};
    if (broken(node, LH_SIM_WEAKEN_NO_QUARANTINE))
        machine->quarantine_until = LH_PAST;
    if (broken(node, LH_SIM_WEAKEN_SHORT_QUARANTINE) && lh_before(now, machine->quarantine_until))
        machine->quarantine_until.ns -= lh_left(now, machine->quarantine_until).ns / 2;
    if (broken(node, LH_SIM_WEAKEN_TOKEN_REUSE) && !host->identity.restored) {
        machine->acceptors.floor = LH_BALLOT_NONE;
        machine->seen = machine->counter = 0;
    }
    if (broken(node, LH_SIM_WEAKEN_NO_FLOOR) && !host->identity.restored)
        machine->acceptors.floor = LH_BALLOT_NONE;
}

// Where the node noted its last promise or grant of this name; if it did not, the first free place,
// or NULL.
static struct lh_sim_answered *find_answered(struct lh_sim_node *node, struct lh_key key)
{
    for (unsigned i = 0; i < LH_SIM_NAMES_MAX; i++) {
        struct lh_sim_answered *answered = &node->answered[i];
        if (answered->at_ns == 0 || lh_key_equal(answered->key, key))
            return answered;
    }
    return NULL;
}

static void note_answer(struct lh_sim_node *node, struct lh_instant now,
                        const struct lh_message *message)
{
    if (!lh_message_is_answer(message->kind) || message->kind == LH_MESSAGE_REJECTED)
        return;
    struct lh_sim_answered *answered = find_answered(node, message->key);
    if (answered != NULL)
        *answered = (struct lh_sim_answered){.key = message->key, .at_ns = now.ns};
}

static void forget_early(struct lh_sim_node *node, struct lh_machine *machine,
                         struct lh_instant now, struct lh_key key)
{
    const struct lh_sim_answered *answered = find_answered(node, key);
    struct lh_acceptor_record *record = lh_acceptors_find(&machine->acceptors, key);
    if (record == NULL || answered == NULL || answered->at_ns == 0 ||
        now.ns - answered->at_ns < machine->config.timing.max_ttl.ns / 8)
        return;
    record->deadline = LH_PAST; // and last touched at the beginning of time, like no other
    record->stamp = 0;
    for (unsigned i = 0; i < machine->acceptors.used; i++)
        lh_acceptors_forget(&machine->acceptors, now, (struct lh_duration){now.ns});
}

void lh_sim_weaken_message(struct lh_sim_node *node, int64_t now_ns, const struct lh_trace *trace)
{
    struct lh_host *host = lh_driver_host(node->driver);
    struct lh_machine *machine = &host->machine;
    struct lh_instant now = {now_ns};
    const struct lh_message *message = &trace->message;
    if (!trace->received) {
        note_answer(node, now, message);
        return;
    }
    if (broken(node, LH_SIM_WEAKEN_FORGET_EARLY))
        forget_early(node, machine, now, message->key);
    if (lh_message_is_answer(message->kind))
        before_answer(node, machine, now, trace->peer - 1u, message);
    else
        before_request(node, machine, now, message);
}
