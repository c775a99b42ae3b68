// See roles.h. What a function decides is what ships; here are only the messages between them.
#include "sim/roles.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "sim/weaken.h"

static bool broken(const struct lh_sim_roles *roles, unsigned flag)
{
    return (roles->config.weakened & flag) != 0;
}

static long long seconds_of(struct lh_instant instant)
{
    return instant.ns / LH_NS_PER_S - LH_SIM_ROLES_START_S;
}

static unsigned long long counter_of(lh_ballot ballot)
{
    return (unsigned long long)lh_ballot_counter(ballot);
}

static char *ballot_text(lh_ballot ballot, char text[static 32])
{
    snprintf(text, 32, "%llu.p%u", counter_of(ballot), lh_ballot_node(ballot));
    return text;
}

__attribute__((format(printf, 2, 3))) static void say(struct lh_sim_roles *roles,
                                                      const char *format, ...)
{
    if (roles->config.told == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(roles->config.told, "%4u  t=%llds  ", roles->step, seconds_of(roles->now));
    vfprintf(roles->config.told, format, arguments);
    fputc('\n', roles->config.told);
    va_end(arguments);
}

void lh_sim_roles_init(struct lh_sim_roles *roles, const struct lh_sim_roles_config *config)
{
    memset(roles, 0, offsetof(struct lh_sim_roles, packets));
    roles->config = *config;
    roles->quorum = config->acceptors / 2 + 1;
    roles->now = (struct lh_instant){LH_SIM_ROLES_START_S * LH_NS_PER_S};
    for (unsigned a = 0; a < config->acceptors; a++)
        roles->acceptors[a].role =
            lh_acceptor_fresh((struct lh_key){{1, 1}}, LH_BALLOT_NONE, roles->now);
}

// --- the referee ---

struct lh_members_set lh_sim_roles_holders(const struct lh_sim_roles *roles)
{
    struct lh_members_set holders = LH_SET_EMPTY;
    for (unsigned p = 0; p < roles->config.proposers; p++)
        if (lh_proposer_holds(&roles->proposers[p].role, roles->now))
            lh_set_add(&holders, p);
    return holders;
}

static bool look(struct lh_sim_roles *roles)
{
    struct lh_members_set holders = lh_sim_roles_holders(roles);
    char one[32], other[32];
    for (unsigned p = 0, q; p < roles->config.proposers; p++)
        for (q = p + 1; q < roles->config.proposers; q++)
            if (lh_set_has(holders, p) && lh_set_has(holders, q))
                snprintf(roles->wrong, sizeof roles->wrong,
                         "p%u under %s and p%u under %s both hold the lease", p + 1,
                         ballot_text(roles->proposers[p].role.held, one), q + 1,
                         ballot_text(roles->proposers[q].role.held, other));
    return true;
}

// Whoever made it an owner excludes others for longer than it believes in its lease.
static void look_at_cover(struct lh_sim_roles *roles, unsigned p)
{
    const struct lh_sim_proposer *proposer = &roles->proposers[p];
    for (unsigned a = 0; a < roles->config.acceptors; a++)
        if (lh_set_has(proposer->role.accepted, a) &&
            lh_before(proposer->covers[a], proposer->role.td))
            snprintf(roles->wrong, sizeof roles->wrong,
                     "a%u excludes others for less time than p%u believes in its lease", a + 1,
                     p + 1);
}

// --- the network ---

// One that finds no room is lost, as any may be.
static void send(struct lh_sim_roles *roles, unsigned p, unsigned a,
                 const struct lh_message *message, struct lh_instant covers)
{
    if (roles->packet_count < LH_SIM_PACKETS_MAX)
        roles->packets[roles->packet_count++] = (struct lh_sim_packet){*message, p, a, covers};
}

static void send_to_all(struct lh_sim_roles *roles, unsigned p, const struct lh_message *message)
{
    for (unsigned a = 0; a < roles->config.acceptors; a++)
        send(roles, p, a, message, LH_PAST);
}

unsigned lh_sim_roles_find(const struct lh_sim_roles *roles, enum lh_message_kind kind,
                           unsigned proposer, unsigned acceptor)
{
    for (unsigned i = 0; i < roles->packet_count; i++)
        if (roles->packets[i].message.kind == kind && roles->packets[i].proposer == proposer &&
            roles->packets[i].acceptor == acceptor)
            return i;
    return LH_SIM_PACKETS_MAX;
}

static struct lh_sim_packet take(struct lh_sim_roles *roles, unsigned packet)
{
    struct lh_sim_packet taken = roles->packets[packet];
    roles->packets[packet] = roles->packets[--roles->packet_count];
    return taken;
}

static void say_packet(struct lh_sim_roles *roles, const char *what,
                       const struct lh_sim_packet *packet)
{
    bool answer = lh_message_is_answer(packet->message.kind);
    char ballot[32];
    say(roles, "%s: %s %s, %c%u to %c%u", what, lh_message_name(packet->message.kind),
        ballot_text(packet->message.ballot, ballot), answer ? 'a' : 'p',
        1 + (answer ? packet->acceptor : packet->proposer), answer ? 'p' : 'a',
        1 + (answer ? packet->proposer : packet->acceptor));
}

bool lh_sim_roles_drop(struct lh_sim_roles *roles, unsigned packet)
{
    struct lh_sim_packet taken = take(roles, packet);
    say_packet(roles, "lost", &taken);
    return true;
}

bool lh_sim_roles_repeat(struct lh_sim_roles *roles, unsigned packet)
{
    struct lh_sim_packet again = roles->packets[packet];
    send(roles, again.proposer, again.acceptor, &again.message, again.covers);
    say_packet(roles, "repeated", &again);
    return true;
}

// --- proposers ---

bool lh_sim_roles_start(struct lh_sim_roles *roles, unsigned p)
{
    struct lh_sim_proposer *proposer = &roles->proposers[p];
    char ballot[32];
    if (proposer->down ||
        (proposer->role.phase != LH_IDLE && lh_before(roles->now, proposer->role.td)))
        return false;
    lh_proposer_abandon(&proposer->role);
    struct lh_message prepare = {
        .kind = LH_MESSAGE_PREPARE,
        .ballot = lh_ballot_make(++proposer->counter, 1, (uint8_t)(p + 1)),
        .ttl = roles->config.ttl,
    };
    lh_proposer_start(&proposer->role, roles->now, prepare.ballot, prepare.ttl);
    send_to_all(roles, p, &prepare);
    say(roles, "p%u begins %s%s, td = %llds", p + 1, ballot_text(prepare.ballot, ballot),
        proposer->role.base != LH_BALLOT_NONE ? " to renew" : "", seconds_of(proposer->role.td));
    return look(roles);
}

bool lh_sim_roles_release(struct lh_sim_roles *roles, unsigned p)
{
    struct lh_sim_proposer *proposer = &roles->proposers[p];
    struct lh_message release = {.kind = LH_MESSAGE_RELEASE};
    char ballot[32];
    if (!lh_proposer_holds(&proposer->role, roles->now))
        return false;
    release.ballot = lh_proposer_release(&proposer->role, roles->now);
    send_to_all(roles, p, &release);
    say(roles, "p%u releases %s", p + 1, ballot_text(release.ballot, ballot));
    return look(roles);
}

static void take_promise(struct lh_sim_roles *roles, const struct lh_sim_packet *packet)
{
    struct lh_sim_proposer *proposer = &roles->proposers[packet->proposer];
    const struct lh_message *promise = &packet->message;
    lh_sim_weaken_answer(roles->config.weakened, &proposer->role, packet->acceptor, promise);
    lh_proposer_promise(&proposer->role, roles->now, packet->acceptor, promise->ballot,
                        promise->reported);
}

bool lh_sim_roles_propose(struct lh_sim_roles *roles, unsigned p)
{
    struct lh_proposer *role = &roles->proposers[p].role;
    if (broken(roles, LH_SIM_WEAKEN_LATE_TIMER) && role->phase == LH_PREPARING &&
        lh_set_count(role->open) >= roles->quorum)
        role->td = lh_after(roles->now, roles->config.ttl);
    if (roles->proposers[p].down || !lh_proposer_propose(role, roles->now, roles->quorum))
        return false;
    struct lh_message accept = {.kind = LH_MESSAGE_ACCEPT,
                                .ballot = role->ballot,
                                .base = role->base,
                                .ttl = roles->config.ttl};
    send_to_all(roles, p, &accept);
    say(roles, "p%u has a quorum of open promises: Accept", p + 1);
    return true;
}

bool lh_sim_roles_abandon(struct lh_sim_roles *roles, unsigned p)
{
    if (roles->proposers[p].role.phase == LH_IDLE)
        return false;
    lh_proposer_abandon(&roles->proposers[p].role);
    say(roles, "p%u gives its attempt up", p + 1);
    return true;
}

static void take_accepted(struct lh_sim_roles *roles, const struct lh_sim_packet *packet)
{
    struct lh_sim_proposer *proposer = &roles->proposers[packet->proposer];
    const struct lh_message *accepted = &packet->message;
    if (proposer->role.phase == LH_ACCEPTING && accepted->ballot == proposer->role.ballot)
        proposer->covers[packet->acceptor] = packet->covers;
    lh_sim_weaken_answer(roles->config.weakened, &proposer->role, packet->acceptor, accepted);
    enum lh_outcome outcome = lh_proposer_accepted(&proposer->role, roles->now, packet->acceptor,
                                                   accepted->ballot, roles->quorum);
    if (outcome == LH_NOTHING)
        return;
    say(roles, "p%u %s the lease until %llds", packet->proposer + 1,
        outcome == LH_RENEWED ? "has renewed" : "owns", seconds_of(proposer->role.until));
    look_at_cover(roles, packet->proposer);
}

// T4; what an acceptor will not help with is given up.
static void take_rejected(struct lh_sim_roles *roles, const struct lh_sim_packet *packet)
{
    struct lh_sim_proposer *proposer = &roles->proposers[packet->proposer];
    uint64_t promised = lh_ballot_counter(packet->message.promised);
    proposer->counter = promised > proposer->counter ? promised : proposer->counter;
    if (packet->message.ballot == proposer->role.ballot)
        lh_sim_roles_abandon(roles, packet->proposer);
}

static void take_answer(struct lh_sim_roles *roles, const struct lh_sim_packet *packet)
{
    if (roles->proposers[packet->proposer].down)
        return;
    switch (packet->message.kind) {
    case LH_MESSAGE_PROMISE: take_promise(roles, packet); break;
    case LH_MESSAGE_ACCEPTED: take_accepted(roles, packet); break;
    default: take_rejected(roles, packet); break;
    }
}

bool lh_sim_roles_crash_proposer(struct lh_sim_roles *roles, unsigned p)
{
    struct lh_sim_proposer *proposer = &roles->proposers[p];
    if (proposer->down)
        return false;
    proposer->role = (struct lh_proposer){0};
    proposer->down = true;
    say(roles, "p%u crashes", p + 1);
    return true;
}

bool lh_sim_roles_restart_proposer(struct lh_sim_roles *roles, unsigned p)
{
    if (!roles->proposers[p].down)
        return false;
    roles->proposers[p].down = false;
    say(roles, "p%u is back", p + 1);
    return true;
}

// --- acceptors ---

static void answer(struct lh_sim_roles *roles, const struct lh_sim_packet *packet,
                   struct lh_acceptor_answer made)
{
    const struct lh_message *request = &packet->message;
    struct lh_message message = {.kind = LH_MESSAGE_REJECTED,
                                 .ballot = request->ballot,
                                 .promised = made.promised,
                                 .reported = made.reported,
                                 .exclusion = made.exclusion,
                                 .refused = request->kind};
    char ballot[32], reported[32];
    if (made.verdict == LH_PROMISED)
        message.kind = LH_MESSAGE_PROMISE;
    if (made.verdict == LH_ACCEPTED)
        message.kind = LH_MESSAGE_ACCEPTED;
    send(roles, packet->proposer, packet->acceptor, &message,
         roles->acceptors[packet->acceptor].role.deadline);
    ballot_text(request->ballot, ballot);
    ballot_text(made.reported, reported);
    if (made.verdict == LH_ACCEPTED)
        say(roles, "a%u accepts %s, and excludes others for %.6f s", packet->acceptor + 1, ballot,
            (double)made.exclusion.ns / (double)LH_NS_PER_S);
    else
        say(roles, "a%u %s %s%s%s", packet->acceptor + 1,
            made.verdict == LH_PROMISED ? "promises" : "refuses", ballot,
            made.reported != LH_BALLOT_NONE ? ", and reports the lease " : "",
            made.reported != LH_BALLOT_NONE ? reported : "");
}

static void take_request(struct lh_sim_roles *roles, const struct lh_sim_packet *packet)
{
    struct lh_sim_acceptor *acceptor = &roles->acceptors[packet->acceptor];
    const struct lh_message *request = &packet->message;
    if (acceptor->down || lh_before(roles->now, acceptor->silent_until)) {
        say(roles, "a%u hears nothing: it is %s", packet->acceptor + 1,
            acceptor->down ? "down" : "in quarantine");
        return;
    }
    lh_sim_weaken_request(roles->config.weakened, &acceptor->role, roles->now, request);
    if (request->kind == LH_MESSAGE_PREPARE)
        answer(roles, packet, lh_acceptor_prepare(&acceptor->role, roles->now, request->ballot));
    else if (request->kind == LH_MESSAGE_ACCEPT)
        answer(roles, packet,
               lh_acceptor_accept(&acceptor->role, roles->now, request->ballot, request->base,
                                  roles->config.exclusion));
    else if (lh_acceptor_release(&acceptor->role, roles->now, request->ballot))
        say(roles, "a%u clears its record", packet->acceptor + 1);
}

bool lh_sim_roles_crash_acceptor(struct lh_sim_roles *roles, unsigned a)
{
    struct lh_sim_acceptor *acceptor = &roles->acceptors[a];
    if (acceptor->down)
        return false;
    acceptor->role = (struct lh_acceptor_record){0};
    acceptor->down = true;
    say(roles, "a%u crashes, and forgets all", a + 1);
    return true;
}

bool lh_sim_roles_restart_acceptor(struct lh_sim_roles *roles, unsigned a)
{
    struct lh_sim_acceptor *acceptor = &roles->acceptors[a];
    struct lh_duration quarantine = roles->config.quarantine;
    if (!acceptor->down)
        return false;
    if (broken(roles, LH_SIM_WEAKEN_SHORT_QUARANTINE))
        quarantine.ns /= 2;
    if (broken(roles, LH_SIM_WEAKEN_NO_QUARANTINE))
        quarantine.ns = 0;
    acceptor->down = false;
    acceptor->role = lh_acceptor_fresh((struct lh_key){{1, 1}}, LH_BALLOT_NONE, roles->now);
    acceptor->silent_until = lh_after(roles->now, quarantine);
    say(roles, "a%u is back, silent for %.6f s", a + 1,
        (double)quarantine.ns / (double)LH_NS_PER_S);
    return true;
}

// --- whatever comes ---

bool lh_sim_roles_deliver(struct lh_sim_roles *roles, unsigned packet)
{
    struct lh_sim_packet taken = take(roles, packet);
    say_packet(roles, "delivered", &taken);
    if (lh_message_is_answer(taken.message.kind))
        take_answer(roles, &taken);
    else
        take_request(roles, &taken);
    return look(roles);
}

bool lh_sim_roles_pass(struct lh_sim_roles *roles, unsigned seconds)
{
    roles->now = lh_after(roles->now, (struct lh_duration){seconds * LH_NS_PER_S});
    say(roles, "time passes");
    return look(roles);
}
