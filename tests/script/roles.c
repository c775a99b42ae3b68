// The world of bare role records: proposers p1.. and acceptors a1.., one clock of whole units that
// all of them read, ballots written as their counters, and a network that forgets nothing, so that
// everything sent may be delivered late, again, or never. Nothing stands between the rules and the
// schedule: no reservation, no floor (but for names forgotten), no retransmission. Tokens are held
// to rise until an acceptor crashes: after that it takes F2, which only whole machines have.
//
//     roles p1 p2 a1 a2 a3 DP=2 DA=2 Q=2
//     at 3
//     p1 starts 2 [for 4]        P1: a fresh attempt, or a renewal if p1 holds the lease
//     p1 extends [for 4]         F3
//     p1 abandons                P5
//     p1 releases                P6
//     deliver prepare|accept|release 2 to a1 a2
//     deliver extend 2 n=3 to a1
//     deliver promise|accepted 2 from a1 a2
//     deliver extended 2 n=3 from a1
//     crash a1 a2                the memory is lost; silent for Q (A4)
//     forget a1                  F1, with the floor of F2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease/acceptor.h"
#include "lease/message.h"
#include "lease/proposer.h"
#include "script.h"

enum { PROPOSERS = 4, ACCEPTORS = 7, SENT = 512 };

struct sent {
    enum lh_message_kind kind;
    lh_ballot ballot, base, reported;
    uint64_t stamp;
    struct lh_duration ttl;
    int acceptor; // of an answer
};

struct acceptor {
    struct lh_acceptor_record record;
    struct lh_instant silent_until;
    lh_ballot floor;
};

struct roles {
    int proposer_count, acceptor_count;
    unsigned quorum;
    struct lh_duration DP, DA, Q;
    struct lh_instant now;
    struct lh_proposer proposers[PROPOSERS];
    struct acceptor acceptors[ACCEPTORS];
    struct sent sent[SENT];
    int sent_count;
    // the referee's
    int owner; // told last, -1 for none
    lh_ballot token;
    int token_owner;
    struct lh_instant until;
    bool token_over;
    bool floorless; // an acceptor came back without the floor of F2: tokens may fall
};

static unsigned long long number_of(lh_ballot ballot)
{
    return lh_ballot_counter(ballot);
}

// A ballot of a lease as text: "lease 2 of p1".
static const char *lease_text(lh_ballot ballot)
{
    static char text[2][64];
    static int turn;
    turn ^= 1;
    snprintf(text[turn], sizeof text[turn], "lease %llu of p%u", number_of(ballot),
             lh_ballot_node(ballot));
    return text[turn];
}

static void send(struct roles *roles, struct sent message)
{
    if (roles->sent_count == SENT)
        abort();
    roles->sent[roles->sent_count++] = message;
}

// The last message of this kind sent under that ballot; of an answer, by that acceptor.
static const struct sent *find(const struct roles *roles, enum lh_message_kind kind,
                               long long number, const long long *stamp, int acceptor)
{
    for (int i = roles->sent_count - 1; i >= 0; i--) {
        const struct sent *sent = &roles->sent[i];
        if (sent->kind == kind && number_of(sent->ballot) == (unsigned long long)number &&
            (stamp == NULL || sent->stamp == (uint64_t)*stamp) && sent->acceptor == acceptor)
            return sent;
    }
    return NULL;
}

// --- the proposer's half ---

// "[for D]" at `word`, or DP.
static bool duration_at(const struct roles *roles, const struct script_line *line, int word,
                        struct lh_duration *ret)
{
    long long number = roles->DP.ns;
    if (line->count > word && (!script_is(line, word, "for") || line->count != word + 2 ||
                               !script_number(line->words[word + 1], "", &number)))
        return false;
    *ret = (struct lh_duration){number};
    return true;
}

static bool do_start(struct roles *roles, int p, const struct script_line *line,
                     struct script_output *output)
{
    struct lh_proposer *proposer = &roles->proposers[p];
    struct lh_duration ttl;
    long long number = 0;
    if (line->count < 3 || !script_number(line->words[2], "", &number) ||
        !duration_at(roles, line, 3, &ttl))
        return false;
    const lh_ballot ballot = lh_ballot_make((uint64_t)number, 1, (uint8_t)(p + 1));
    lh_proposer_start(proposer, roles->now, ballot, ttl);
    send(roles, (struct sent){.kind = LH_MESSAGE_PREPARE, .ballot = ballot, .ttl = ttl});
    if (proposer->base != LH_BALLOT_NONE)
        script_say(output, "prepare %lld to all, a renewal of %llu, until %lld", number,
                   number_of(proposer->base), (long long)proposer->td.ns);
    else
        script_say(output, "prepare %lld to all, until %lld", number, (long long)proposer->td.ns);
    return true;
}

static bool do_extend(struct roles *roles, int p, const struct script_line *line,
                      struct script_output *output)
{
    struct lh_proposer *proposer = &roles->proposers[p];
    struct lh_duration ttl;
    if (!duration_at(roles, line, 2, &ttl) || !lh_proposer_holds(proposer, roles->now))
        return false;
    lh_proposer_extend(proposer, roles->now, ttl);
    send(roles, (struct sent){.kind = LH_MESSAGE_EXTEND,
                              .ballot = proposer->held,
                              .stamp = proposer->stamp,
                              .ttl = ttl});
    script_say(output, "extend %llu n=%llu to all, until %lld", number_of(proposer->held),
               (unsigned long long)proposer->stamp, (long long)proposer->td.ns);
    return true;
}

static bool do_proposer(struct roles *roles, int p, const struct script_line *line,
                        struct script_output *output)
{
    if (script_is(line, 1, "starts"))
        return do_start(roles, p, line, output);
    if (script_is(line, 1, "extends"))
        return do_extend(roles, p, line, output);
    if (script_is(line, 1, "abandons")) {
        lh_proposer_abandon(&roles->proposers[p]);
        return true;
    }
    if (!script_is(line, 1, "releases"))
        return false;
    const lh_ballot named = lh_proposer_release(&roles->proposers[p], roles->now);
    if (named == LH_BALLOT_NONE) {
        script_say(output, "nothing to release");
        return true;
    }
    send(roles, (struct sent){.kind = LH_MESSAGE_RELEASE, .ballot = named});
    script_say(output, "release %llu to all", number_of(named));
    return true;
}

static void read_promise(struct roles *roles, int p, const struct sent *sent,
                         struct script_output *output)
{
    struct lh_proposer *proposer = &roles->proposers[p];
    const bool was_preparing = proposer->phase == LH_PREPARING;
    const bool mine = sent->ballot == proposer->ballot;
    const bool open = lh_proposer_promise(proposer, roles->now, (unsigned)sent->acceptor,
                                          sent->ballot, sent->reported);
    if (!mine || !was_preparing)
        script_say(output, "p%d ignores it", p + 1);
    else if (!open)
        script_say(output, "p%d: a%d is not open, %s", p + 1, sent->acceptor + 1,
                   lease_text(sent->reported));
    else
        script_say(output, "p%d: a%d is open, %u of %u", p + 1, sent->acceptor + 1,
                   lh_set_count(proposer->open), roles->quorum);
    if (lh_proposer_propose(proposer, roles->now, roles->quorum)) {
        send(roles, (struct sent){.kind = LH_MESSAGE_ACCEPT,
                                  .ballot = proposer->ballot,
                                  .base = proposer->base,
                                  .ttl = find(roles, LH_MESSAGE_PREPARE,
                                              (long long)number_of(proposer->ballot), NULL, 0)
                                             ->ttl});
        script_say(output, "p%d: accept %llu to all", p + 1, number_of(proposer->ballot));
    } else if (was_preparing && mine && lh_set_count(proposer->open) >= roles->quorum) {
        script_say(output, "p%d does not propose: its attempt ended at %lld", p + 1,
                   (long long)proposer->td.ns);
    }
}

static void read_accepted(struct roles *roles, int p, const struct sent *sent,
                          struct script_output *output)
{
    struct lh_proposer *proposer = &roles->proposers[p];
    const bool extended = sent->kind == LH_MESSAGE_EXTENDED;
    const bool waits = proposer->phase == (extended ? LH_EXTENDING : LH_ACCEPTING);
    const struct lh_members_set before = proposer->accepted;
    const enum lh_outcome outcome =
        extended ? lh_proposer_extended(proposer, roles->now, (unsigned)sent->acceptor,
                                        sent->ballot, sent->stamp, roles->quorum)
                 : lh_proposer_accepted(proposer, roles->now, (unsigned)sent->acceptor,
                                        sent->ballot, roles->quorum);
    if (outcome == LH_ACQUIRED)
        script_say(output, "p%d acquires, token %llu, until %lld", p + 1,
                   number_of(proposer->token), (long long)proposer->until.ns);
    else if (outcome == LH_RENEWED)
        script_say(output, "p%d renews, token %llu, until %lld", p + 1, number_of(proposer->token),
                   (long long)proposer->until.ns);
    else if (waits && proposer->phase == LH_IDLE)
        script_say(output, "p%d gets nothing: its attempt ended at %lld", p + 1,
                   (long long)proposer->td.ns);
    else if (!waits || before.bits == proposer->accepted.bits)
        script_say(output, "p%d ignores it", p + 1);
    else
        script_say(output, "p%d: %u of %u", p + 1, lh_set_count(proposer->accepted), roles->quorum);
}

// --- the acceptor's half ---

static void say_answer(const struct roles *roles, int a, const struct sent *request,
                       const struct lh_acceptor_answer *answer, struct script_output *output)
{
    static const char *const VERBS[] = {[LH_REJECTED] = "rejects",
                                        [LH_PROMISED] = "promises",
                                        [LH_ACCEPTED] = "accepts",
                                        [LH_EXTENDED] = "extends"};
    char detail[128] = "";
    const struct lh_acceptor_record *record = &roles->acceptors[a].record;
    if (answer->verdict == LH_REJECTED && request->ballot < answer->promised)
        snprintf(detail, sizeof detail, ": promised %llu", number_of(answer->promised));
    else if (answer->verdict == LH_REJECTED && answer->reported != LH_BALLOT_NONE)
        snprintf(detail, sizeof detail, ": %s is live", lease_text(answer->reported));
    else if (answer->verdict == LH_REJECTED)
        snprintf(detail, sizeof detail, ": it is over");
    else if (answer->verdict == LH_PROMISED && answer->reported == LH_BALLOT_NONE)
        snprintf(detail, sizeof detail, ", nothing live");
    else if (answer->verdict == LH_PROMISED)
        snprintf(detail, sizeof detail, ", %s is live", lease_text(answer->reported));
    else
        snprintf(detail, sizeof detail, ", live until %lld", (long long)record->deadline.ns);
    script_say(output, "a%d %s %llu%s", a + 1, VERBS[answer->verdict], number_of(request->ballot),
               detail);
}

static struct lh_acceptor_answer ask(struct roles *roles, int a, const struct sent *request)
{
    struct lh_acceptor_record *record = &roles->acceptors[a].record;
    const struct lh_duration exclusion = {request->ttl.ns + roles->DA.ns - roles->DP.ns};
    switch (request->kind) {
    case LH_MESSAGE_PREPARE: return lh_acceptor_prepare(record, roles->now, request->ballot);
    case LH_MESSAGE_ACCEPT:
        return lh_acceptor_accept(record, roles->now, request->ballot, request->base, exclusion);
    default:
        return lh_acceptor_extend(record, roles->now, request->ballot, request->stamp, exclusion);
    }
}

static void read_request(struct roles *roles, int a, const struct sent *sent,
                         struct script_output *output)
{
    static const enum lh_message_kind ANSWERS[] = {[LH_PROMISED] = LH_MESSAGE_PROMISE,
                                                   [LH_ACCEPTED] = LH_MESSAGE_ACCEPTED,
                                                   [LH_EXTENDED] = LH_MESSAGE_EXTENDED};
    struct acceptor *acceptor = &roles->acceptors[a];
    const struct sent request = *sent;
    if (lh_before(roles->now, acceptor->silent_until)) {
        script_say(output, "a%d is silent until %lld", a + 1, (long long)acceptor->silent_until.ns);
        return;
    }
    if (request.kind == LH_MESSAGE_RELEASE) {
        const bool cleared = lh_acceptor_release(&acceptor->record, roles->now, request.ballot);
        if (cleared)
            script_say(output, "a%d clears %llu", a + 1, number_of(request.ballot));
        else if (lh_acceptor_live(&acceptor->record, roles->now))
            script_say(output, "a%d keeps %s", a + 1, lease_text(acceptor->record.ballot));
        else
            script_say(output, "a%d has nothing live", a + 1);
        return;
    }
    const struct lh_acceptor_answer answer = ask(roles, a, &request);
    say_answer(roles, a, &request, &answer, output);
    if (answer.verdict != LH_REJECTED)
        send(roles, (struct sent){.kind = ANSWERS[answer.verdict],
                                  .ballot = request.ballot,
                                  .reported = answer.reported,
                                  .stamp = request.stamp,
                                  .acceptor = a});
}

// --- commands ---

static bool kind_of(const char *word, enum lh_message_kind *ret)
{
    static const char *const WORDS[] = {
        [LH_MESSAGE_PREPARE] = "prepare",   [LH_MESSAGE_PROMISE] = "promise",
        [LH_MESSAGE_ACCEPT] = "accept",     [LH_MESSAGE_ACCEPTED] = "accepted",
        [LH_MESSAGE_EXTEND] = "extend",     [LH_MESSAGE_EXTENDED] = "extended",
        [LH_MESSAGE_REJECTED] = "rejected", [LH_MESSAGE_RELEASE] = "release"};
    for (int kind = LH_MESSAGE_PREPARE; kind <= LH_MESSAGE_RELEASE; kind++) {
        if (strcmp(word, WORDS[kind]) == 0) {
            *ret = (enum lh_message_kind)kind;
            return true;
        }
    }
    return false;
}

static bool acceptor_at(const struct roles *roles, const struct script_line *line, int word,
                        int *ret)
{
    long long number = 0;
    if (!script_number(line->words[word], "a", &number) || number < 1 ||
        number > roles->acceptor_count)
        return false;
    *ret = (int)number - 1;
    return true;
}

static bool do_deliver(struct roles *roles, const struct script_line *line,
                       struct script_output *output)
{
    enum lh_message_kind kind = LH_MESSAGE_PREPARE;
    long long number = 0, stamp = 0;
    int word = 3;
    if (line->count < 5 || !kind_of(line->words[1], &kind) ||
        !script_number(line->words[2], "", &number))
        return false;
    const bool has_stamp = script_number(line->words[word], "n=", &stamp);
    word += has_stamp ? 1 : 0;
    const bool answer = lh_message_is_answer(kind);
    if (!script_is(line, word, answer ? "from" : "to"))
        return false;
    for (word++; word < line->count; word++) {
        int a = 0;
        if (!acceptor_at(roles, line, word, &a))
            return false;
        const struct sent *sent =
            find(roles, kind, number, has_stamp ? &stamp : NULL, answer ? a : 0);
        if (sent == NULL) {
            script_say(output, answer ? "a%d never sent it" : "nobody ever sent it", a + 1);
            continue;
        }
        const int p = lh_ballot_node(sent->ballot) - 1;
        if (!answer)
            read_request(roles, a, sent, output);
        else if (kind == LH_MESSAGE_PROMISE)
            read_promise(roles, p, sent, output);
        else
            read_accepted(roles, p, sent, output);
    }
    return true;
}

static bool do_crash(struct roles *roles, const struct script_line *line,
                     struct script_output *output)
{
    for (int word = 1; word < line->count; word++) {
        int a = 0;
        if (!acceptor_at(roles, line, word, &a))
            return false;
        roles->floorless = true;
        roles->acceptors[a] = (struct acceptor){.silent_until = lh_after(roles->now, roles->Q)};
        script_say(output, "a%d forgot all, silent until %lld", a + 1,
                   (long long)roles->acceptors[a].silent_until.ns);
    }
    return true;
}

static bool do_forget(struct roles *roles, const struct script_line *line,
                      struct script_output *output)
{
    for (int word = 1; word < line->count; word++) {
        int a = 0;
        if (!acceptor_at(roles, line, word, &a))
            return false;
        struct acceptor *acceptor = &roles->acceptors[a];
        if (!lh_acceptor_forgettable(&acceptor->record, roles->now, roles->Q)) {
            script_say(output, "a%d may not forget", a + 1);
            continue;
        }
        if (acceptor->floor < acceptor->record.promised)
            acceptor->floor = acceptor->record.promised;
        acceptor->record = lh_acceptor_fresh((struct lh_key){{0, 0}}, acceptor->floor, roles->now);
        script_say(output, "a%d forgets, floor %llu", a + 1, number_of(acceptor->floor));
    }
    return true;
}

// The proposers with authority now; the last of them.
static int owners(const struct roles *roles, int *ret_owner)
{
    int count = 0;
    *ret_owner = -1;
    for (int p = 0; p < roles->proposer_count; p++) {
        if (lh_proposer_holds(&roles->proposers[p], roles->now)) {
            *ret_owner = p;
            count++;
        }
    }
    return count;
}

static bool run(void *state, const struct script_line *line, struct script_output *output)
{
    struct roles *roles = state;
    long long number = 0;
    bool known = true;
    if (script_is(line, 0, "at") && line->count == 2 && script_number(line->words[1], "", &number))
        roles->now = (struct lh_instant){number};
    else if (script_is(line, 0, "deliver"))
        known = do_deliver(roles, line, output);
    else if (script_is(line, 0, "crash"))
        known = do_crash(roles, line, output);
    else if (script_is(line, 0, "forget"))
        known = do_forget(roles, line, output);
    else if (script_number(line->words[0], "p", &number) && number >= 1 &&
             number <= roles->proposer_count)
        known = do_proposer(roles, (int)number - 1, line, output);
    else
        known = false;
    int owner = -1;
    if (owners(roles, &owner) == 0 && roles->owner >= 0)
        script_say(output, "nobody owns it now");
    roles->owner = owner;
    return known;
}

static const char *check(void *state)
{
    struct roles *roles = state;
    int owner = -1;
    const int count = owners(roles, &owner);
    if (count > 1)
        return "two owners";
    if (count == 0) {
        roles->token_over = true;
        return NULL;
    }
    const struct lh_proposer *proposer = &roles->proposers[owner];
    if (proposer->token < roles->token && !roles->floorless)
        return "a token fell";
    if (proposer->token == roles->token) {
        if (roles->token_over || roles->token_owner != owner)
            return "a token came back";
        if (lh_before(proposer->until, roles->until))
            return "a deadline moved back";
    }
    roles->token = proposer->token;
    roles->token_owner = owner;
    roles->token_over = false;
    roles->until = proposer->until;
    return NULL;
}

bool roles_open(struct script_world *world, const struct script_line *line)
{
    struct roles *roles = calloc(1, sizeof *roles);
    if (roles == NULL)
        abort();
    for (int word = 1; word < line->count; word++) {
        long long number = 0;
        if (script_number(line->words[word], "p", &number) && number <= PROPOSERS)
            roles->proposer_count = (int)number;
        else if (script_number(line->words[word], "a", &number) && number <= ACCEPTORS)
            roles->acceptor_count = (int)number;
        else if (script_number(line->words[word], "DP=", &number))
            roles->DP.ns = number;
        else if (script_number(line->words[word], "DA=", &number))
            roles->DA.ns = number;
        else if (script_number(line->words[word], "Q=", &number))
            roles->Q.ns = number;
    }
    roles->quorum = (unsigned)roles->acceptor_count / 2 + 1;
    roles->owner = -1;
    *world = (struct script_world){run, check, free, roles};
    return roles->proposer_count > 0 && roles->acceptor_count > 0 && roles->DP.ns > 0;
}
