// See witness_world.h. Time is one axis here: clocks are the business of other tests.
#include "check/witness_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const nodes[] = {"p1", "p2", "p3"};

lh_ballot lh_witness_ballot(const struct lh_witness_world *world, unsigned ballot)
{
    return lh_ballot_make(ballot, 1, (uint8_t)(world->owner[ballot] + 1));
}

static unsigned counter_of(lh_ballot ballot)
{
    return (unsigned)lh_ballot_counter(ballot);
}

struct lh_instant lh_witness_now(const struct lh_witness_world *world)
{
    return (struct lh_instant){(world->now_ms + 1000000) * LH_NS_PER_MS};
}

static long long ms_of(struct lh_instant instant)
{
    return instant.ns / LH_NS_PER_MS - 1000000;
}

void lh_witness_say(struct lh_witness_world *world, const char *format, ...)
{
    va_list arguments;
    if (world->step_count == LH_WITNESS_STEPS)
        return;
    char *line = world->steps[world->step_count++];
    const int used = snprintf(line, LH_WITNESS_LINE, "%6lld ms  ", (long long)world->now_ms);
    va_start(arguments, format);
    vsnprintf(line + used, LH_WITNESS_LINE - (size_t)used, format, arguments);
    va_end(arguments);
}

void lh_witness_fail(struct lh_witness_world *world, const char *format, ...)
{
    char text[LH_WITNESS_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lh_witness_say(world, "FAILURE: %s", text);
    if (world->failure[0] == '\0')
        memcpy(world->failure, text, sizeof text);
}

static bool weakened(const struct lh_witness_world *world, enum lh_witness_weakness given,
                     enum lh_witness_weakness wanted)
{
    return world->weak && given == wanted;
}

// The referee: at most one proposer has authority.
static void look(struct lh_witness_world *world)
{
    const struct lh_proposer *first = NULL;
    const struct lh_instant now = lh_witness_now(world);
    for (unsigned p = 0; p < LH_WITNESS_PROPOSERS; p++) {
        const struct lh_proposer *proposer = &world->proposers[p];
        if (!lh_proposer_holds(proposer, now))
            continue;
        if (first != NULL)
            lh_witness_fail(world, "two owners at once: %s under %u, %s under %u",
                            nodes[first - world->proposers], counter_of(first->held), nodes[p],
                            counter_of(proposer->held));
        else
            first = proposer;
    }
}

void lh_witness_wait_until(struct lh_witness_world *world, int64_t ms)
{
    for (unsigned p = 0; p < LH_WITNESS_PROPOSERS; p++) {
        const struct lh_instant until = world->proposers[p].until;
        if (lh_proposer_holds(&world->proposers[p], lh_witness_now(world)) && ms_of(until) <= ms)
            lh_witness_say(world, "(the authority of %s ends at %lld ms)", nodes[p], ms_of(until));
    }
    world->now_ms = ms;
}

void lh_witness_start(struct lh_witness_world *world, unsigned p, unsigned ballot,
                      enum lh_witness_weakness weakness)
{
    struct lh_proposer *proposer = &world->proposers[p];
    const bool again = world->used[ballot];
    world->owner[ballot] = p;
    world->used[ballot] = true;
    world->counted = 0;
    lh_proposer_start(proposer, lh_witness_now(world), lh_witness_ballot(world, ballot),
                      world->ttl);
    if (weakened(world, weakness, LH_WITNESS_TIMER_AT_QUORUM))
        proposer->td = LH_NEVER;
    if (proposer->td.ns == LH_NEVER.ns)
        lh_witness_say(world, "%s sends Prepare(%u); no timer runs", nodes[p], ballot);
    else
        lh_witness_say(world, "%s sends Prepare(%u); td = %lld ms%s", nodes[p], ballot,
                       ms_of(proposer->td), proposer->base != LH_BALLOT_NONE ? "; a renewal" : "");
    if (again)
        lh_witness_fail(world, "%s begins a second attempt under ballot %u", nodes[p], ballot);
}

static bool is_silent(struct lh_witness_world *world, unsigned a, const char *what, unsigned ballot)
{
    if (!lh_before(lh_witness_now(world), world->silent_until[a]))
        return false;
    lh_witness_say(world, "a%u drops %s(%u): silent until %lld ms", a + 1, what, ballot,
                   ms_of(world->silent_until[a]) + 1);
    return true;
}

static void say_answer(struct lh_witness_world *world, unsigned a, const char *verb,
                       unsigned ballot, struct lh_acceptor_answer answer)
{
    if (answer.verdict == LH_REJECTED && answer.promised > lh_witness_ballot(world, ballot))
        lh_witness_say(world, "a%u rejects %u: it promised %u", a + 1, ballot,
                       counter_of(answer.promised));
    else if (answer.verdict == LH_REJECTED && answer.reported == LH_BALLOT_NONE)
        lh_witness_say(world, "a%u rejects %u: that ballot is spent", a + 1, ballot);
    else if (answer.verdict == LH_REJECTED)
        lh_witness_say(world, "a%u rejects %u: lease %u is live", a + 1, ballot,
                       counter_of(answer.reported));
    else if (answer.verdict == LH_PROMISED && answer.reported != LH_BALLOT_NONE)
        lh_witness_say(world, "a%u %s %u and reports lease %u", a + 1, verb, ballot,
                       counter_of(answer.reported));
    else
        lh_witness_say(world, "a%u %s %u", a + 1, verb, ballot);
}

void lh_witness_prepare(struct lh_witness_world *world, unsigned ballot, unsigned a)
{
    if (is_silent(world, a, "Prepare", ballot))
        return;
    const struct lh_acceptor_answer answer = lh_acceptor_prepare(
        &world->acceptors[a], lh_witness_now(world), lh_witness_ballot(world, ballot));
    say_answer(world, a, "promises", ballot, answer);
    if (answer.verdict == LH_PROMISED) {
        world->promised[ballot][a] = true;
        world->reported[ballot][a] = answer.reported;
    }
}

void lh_witness_promise(struct lh_witness_world *world, unsigned ballot, unsigned a,
                        enum lh_witness_weakness weakness)
{
    const unsigned p = world->owner[ballot];
    lh_ballot reported = world->reported[ballot][a];
    unsigned counts_as = a;
    if (!world->promised[ballot][a])
        return;
    if (weakened(world, weakness, LH_WITNESS_COUNT_MESSAGES))
        counts_as = world->counted++;
    if (weakened(world, weakness, LH_WITNESS_OWN_IS_OPEN) && reported != LH_BALLOT_NONE &&
        lh_ballot_same_owner(reported, lh_witness_ballot(world, ballot)))
        reported = LH_BALLOT_NONE;
    const bool open = lh_proposer_promise(&world->proposers[p], lh_witness_now(world), counts_as,
                                          lh_witness_ballot(world, ballot), reported);
    lh_witness_say(world, "%s reads the promise of a%u for %u: %s, %u of %u", nodes[p], a + 1,
                   ballot, open ? "open" : "not open", lh_set_count(world->proposers[p].open),
                   world->quorum);
}

void lh_witness_propose(struct lh_witness_world *world, unsigned ballot,
                        enum lh_witness_weakness weakness)
{
    const unsigned p = world->owner[ballot];
    struct lh_proposer *proposer = &world->proposers[p];
    const struct lh_instant now = lh_witness_now(world);
    if (proposer->ballot != lh_witness_ballot(world, ballot) ||
        !lh_proposer_propose(proposer, now, world->quorum)) {
        lh_witness_say(world, "%s sends no Accept(%u)%s", nodes[p], ballot,
                       lh_before(now, proposer->td) ? "" : ": its td has come");
        return;
    }
    if (weakened(world, weakness, LH_WITNESS_TIMER_AT_QUORUM))
        proposer->td = lh_after(now, world->ttl);
    world->accept_sent[ballot] = true;
    world->base[ballot] = proposer->base;
    world->counted = 0;
    lh_witness_say(world, "%s sends Accept(%u); td = %lld ms", nodes[p], ballot,
                   ms_of(proposer->td));
}

// The paper's A2 and weaker ones are ours, with what it would refuse for taken out of the way.
static void weaken_record(struct lh_witness_world *world, struct lh_acceptor_record *record,
                          lh_ballot ballot, bool below)
{
    if (below && record->promised > ballot)
        record->promised = ballot;
    if (ballot >= record->promised && ballot != record->ballot && (below || world->paper_a2))
        record->deadline = LH_PAST;
}

void lh_witness_accept(struct lh_witness_world *world, unsigned ballot, unsigned a,
                       enum lh_witness_weakness weakness)
{
    struct lh_acceptor_record *record = &world->acceptors[a];
    const struct lh_instant now = lh_witness_now(world);
    const lh_ballot named = lh_witness_ballot(world, ballot);
    if (!world->accept_sent[ballot] || is_silent(world, a, "Accept", ballot))
        return;
    const struct lh_acceptor_record before = *record;
    weaken_record(world, record, named, weakened(world, weakness, LH_WITNESS_ACCEPT_BELOW));
    const struct lh_acceptor_answer answer = lh_acceptor_accept(
        record, now, named, world->base[ballot], lh_timing_exclusion(world->timing, world->ttl));
    say_answer(world, a, "accepts", ballot, answer);
    if (answer.verdict == LH_ACCEPTED)
        world->accepted[ballot][a] = true;
    if (lh_acceptor_live(&before, now) && record->ballot < before.ballot)
        lh_witness_fail(world, "the live record of %u at a%u is replaced by the older %u",
                        counter_of(before.ballot), a + 1, ballot);
}

// Authority comes from a quorum that has the lease on record.
static void look_for_quorum(struct lh_witness_world *world, unsigned p)
{
    unsigned on_record = 0;
    for (unsigned a = 0; a < LH_WITNESS_ACCEPTORS; a++)
        on_record += world->acceptors[a].ballot == world->proposers[p].held &&
                     lh_acceptor_live(&world->acceptors[a], lh_witness_now(world));
    if (on_record == 1 && world->quorum > 1)
        lh_witness_fail(world, "%s has authority until %lld ms from 1 acceptor, not %u", nodes[p],
                        ms_of(world->proposers[p].until), world->quorum);
}

void lh_witness_accepted(struct lh_witness_world *world, unsigned ballot, unsigned a,
                         enum lh_witness_weakness weakness)
{
    const unsigned p = world->owner[ballot];
    struct lh_proposer *proposer = &world->proposers[p];
    unsigned counts_as = a;
    if (!world->accepted[ballot][a])
        return;
    if (weakened(world, weakness, LH_WITNESS_COUNT_MESSAGES))
        counts_as = world->counted++;
    const unsigned quorum = weakened(world, weakness, LH_WITNESS_ONE_WILL_DO) ? 1 : world->quorum;
    const bool counted = proposer->phase == LH_ACCEPTING &&
                         proposer->ballot == lh_witness_ballot(world, ballot) &&
                         lh_before(lh_witness_now(world), proposer->td);
    const enum lh_outcome outcome = lh_proposer_accepted(proposer, lh_witness_now(world), counts_as,
                                                         lh_witness_ballot(world, ballot), quorum);
    if (outcome != LH_NOTHING)
        lh_witness_say(world, "%s reads the Accepted of a%u for %u: it %s", nodes[p], a + 1, ballot,
                       outcome == LH_RENEWED ? "has renewed" : "owns the lease");
    else if (counted)
        lh_witness_say(world, "%s reads the Accepted of a%u for %u: %u of %u", nodes[p], a + 1,
                       ballot, lh_set_count(proposer->accepted), quorum);
    else
        lh_witness_say(world, "%s reads the Accepted of a%u for %u: nothing comes of it", nodes[p],
                       a + 1, ballot);
    if (outcome == LH_NOTHING)
        return;
    lh_witness_say(world, "%s has authority until %lld ms, token %u", nodes[p],
                   ms_of(proposer->until), counter_of(proposer->token));
    if (weakness == LH_WITNESS_ONE_WILL_DO)
        look_for_quorum(world, p);
    look(world);
}

void lh_witness_abandon(struct lh_witness_world *world, unsigned p)
{
    lh_proposer_abandon(&world->proposers[p]);
    lh_witness_say(world, "%s abandons its attempt", nodes[p]);
}

void lh_witness_release(struct lh_witness_world *world, unsigned p)
{
    const lh_ballot named = lh_proposer_release(&world->proposers[p], lh_witness_now(world));
    lh_witness_say(world, "%s releases %u", nodes[p], counter_of(named));
    if (named != LH_BALLOT_NONE)
        world->release_sent[counter_of(named)] = true;
}

void lh_witness_release_to(struct lh_witness_world *world, unsigned ballot, unsigned a,
                           enum lh_witness_weakness weakness)
{
    struct lh_acceptor_record *record = &world->acceptors[a];
    lh_ballot named = lh_witness_ballot(world, ballot);
    if (!world->release_sent[ballot] || is_silent(world, a, "Release", ballot))
        return;
    const lh_ballot before = record->ballot;
    if (weakened(world, weakness, LH_WITNESS_OWNER_ALONE) &&
        lh_ballot_same_owner(record->ballot, named))
        named = record->ballot;
    const bool cleared = lh_acceptor_release(record, lh_witness_now(world), named);
    lh_witness_say(world, "a%u gets Release(%u): it %s", a + 1, ballot,
                   cleared ? "clears its record" : "clears nothing");
    if (cleared && counter_of(before) != ballot)
        lh_witness_fail(world, "Release(%u) erases the newer lease %u at a%u", ballot,
                        counter_of(before), a + 1);
}

void lh_witness_crash_proposer(struct lh_witness_world *world, unsigned p)
{
    world->proposers[p] = (struct lh_proposer){0};
    lh_witness_say(world, "%s crashes and starts again", nodes[p]);
}

void lh_witness_crash_acceptor(struct lh_witness_world *world, unsigned a,
                               struct lh_duration quarantine)
{
    const struct lh_instant now = lh_witness_now(world);
    world->acceptors[a] = lh_acceptor_fresh((struct lh_key){{1, 1}}, LH_BALLOT_NONE, now);
    world->silent_until[a] = lh_after(now, quarantine);
    lh_witness_say(world, "a%u crashes, forgets all and starts again; silent for %lld ms", a + 1,
                   (long long)((quarantine.ns + LH_NS_PER_MS - 1) / LH_NS_PER_MS));
}

void lh_witness_first_round(struct lh_witness_world *world, unsigned p, unsigned ballot, unsigned a,
                            unsigned b)
{
    lh_witness_start(world, p, ballot, LH_WITNESS_AS_SHIPPED);
    lh_witness_prepare(world, ballot, a);
    lh_witness_prepare(world, ballot, b);
    lh_witness_promise(world, ballot, a, LH_WITNESS_AS_SHIPPED);
    lh_witness_promise(world, ballot, b, LH_WITNESS_AS_SHIPPED);
    lh_witness_propose(world, ballot, LH_WITNESS_AS_SHIPPED);
}

void lh_witness_win(struct lh_witness_world *world, unsigned p, unsigned ballot, unsigned a,
                    unsigned b)
{
    lh_witness_first_round(world, p, ballot, a, b);
    lh_witness_accept(world, ballot, a, LH_WITNESS_AS_SHIPPED);
    lh_witness_accept(world, ballot, b, LH_WITNESS_AS_SHIPPED);
    lh_witness_accepted(world, ballot, a, LH_WITNESS_AS_SHIPPED);
    lh_witness_accepted(world, ballot, b, LH_WITNESS_AS_SHIPPED);
}
