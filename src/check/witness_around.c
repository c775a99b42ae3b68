// What surrounds the protocol: the resource, the members, the clock, the arithmetic.
#include "check/witness_schedules.h"
#include "check/witness_world.h"

enum { P1, P2 };
enum { A1, A2, A3, A4, A5, A6 };

// A resource that takes writes with the token of their lease.
struct resource {
    lh_ballot newest;
    bool fenced;
};

static void write_to(struct lh_witness_world *world, struct resource *resource, const char *who,
                     lh_ballot token)
{
    const unsigned given = (unsigned)lh_ballot_counter(token);
    const unsigned newest = (unsigned)lh_ballot_counter(resource->newest);
    if (resource->fenced && token < resource->newest) {
        lh_witness_say(world, "the resource refuses %s's write: token %u, it has seen %u", who,
                       given, newest);
        return;
    }
    lh_witness_say(world, "the resource takes %s's write with token %u", who, given);
    if (token < resource->newest)
        lh_witness_fail(world, "the resource took token %u after token %u", given, newest);
    else
        resource->newest = token;
}

// The owner looks at its authority, is paused, and writes.
void lh_witness_unfenced_external_effect(struct lh_witness_world *world)
{
    struct resource resource = {.fenced = !world->weak};
    lh_witness_win(world, P1, 1, A1, A2);
    const lh_ballot old = world->proposers[P1].token;
    lh_witness_wait_until(world, 1900);
    lh_witness_say(world, "p1 %s, and is paused before it writes",
                   lh_proposer_holds(&world->proposers[P1], lh_witness_now(world))
                       ? "has authority"
                       : "has no authority");
    lh_witness_wait_until(world, 2100);
    lh_witness_win(world, P2, 2, A1, A2);
    write_to(world, &resource, "p2", world->proposers[P2].token);
    lh_witness_say(world, "p1 goes on");
    write_to(world, &resource, "p1", old);
}

// From three members to three others. Restored, the new ones serve a quarantine first: then every
// lease of the old ones has ended.
void lh_witness_nonintersecting_reconfiguration(struct lh_witness_world *world)
{
    lh_witness_win(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 1000);
    lh_witness_say(world, "members are a4, a5, a6 from now on, instead of a1, a2, a3");
    if (!world->weak) {
        const struct lh_duration quarantine = lh_timing_quarantine(world->timing, world->ttl);
        for (unsigned a = A4; a <= A6; a++)
            world->silent_until[a] = lh_after(lh_witness_now(world), quarantine);
    }
    lh_witness_wait_until(world, 1500);
    lh_witness_win(world, P2, 2, A4, A5);
}

// A clock that is set back 1000 ms while a lease of 2000 ms ends. Restored, the clock is one that
// nobody can set.
void lh_witness_unsafe_clock_source(struct lh_witness_world *world)
{
    lh_witness_win(world, P1, 1, A1, A2);
    lh_witness_wait_until(world, 2500);
    const struct lh_proposer *owner = &world->proposers[P1];
    struct lh_instant reading = lh_witness_now(world);
    lh_witness_say(world, "the wall clock is set back by 1000 ms");
    if (world->weak)
        reading.ns -= 1000 * LH_NS_PER_MS;
    const bool believes = lh_proposer_holds(owner, reading);
    lh_witness_say(world, "p1 reads %s and %s", world->weak ? "1500 ms" : "2500 ms",
                   believes ? "believes that it holds" : "knows that it has ended");
    if (believes)
        lh_witness_fail(world, "an expired lease looks live to p1, 500 ms after its end");
    lh_witness_win(world, P2, 2, A1, A2);
}

// The handler of the two older implementations: two readings, and unsigned numbers.
static bool activates_unsigned(uint64_t expires, uint64_t first, uint64_t second, uint64_t margin)
{
    if (expires < first)
        return false;
    return expires - second > margin;
}

// The clock passes the deadline between the two readings. Restored, there is one, and lh_left
// compares before it subtracts.
void lh_witness_unsigned_expiry_underflow(struct lh_witness_world *world)
{
    const uint64_t margin = 500;
    lh_witness_first_round(world, P1, 1, A1, A2);
    lh_witness_accept(world, 1, A1, LH_WITNESS_AS_SHIPPED);
    lh_witness_accept(world, 1, A2, LH_WITNESS_AS_SHIPPED);
    lh_witness_accepted(world, 1, A1, LH_WITNESS_AS_SHIPPED);
    lh_witness_wait_until(world, 2000);
    const struct lh_instant td = world->proposers[P1].td;
    const uint64_t first = (uint64_t)world->now_ms;
    lh_witness_say(world, "p1 reads the last answer and its clock");
    lh_witness_wait_until(world, 2001);
    if (world->weak) {
        const uint64_t second = (uint64_t)world->now_ms;
        const uint64_t expires = (uint64_t)(td.ns / LH_NS_PER_MS - 1000000);
        lh_witness_say(world, "p1 reads it again: 2000 - 2001 is %llu ms left",
                       (unsigned long long)(expires - second));
        if (activates_unsigned(expires, first, second, margin))
            lh_witness_fail(world, "p1 activates a lease that ended 1 ms ago");
        return;
    }
    lh_witness_say(world, "%lld ms are left",
                   (long long)lh_floor_ms(lh_left(lh_witness_now(world), td)));
    lh_witness_accepted(world, 1, A2, LH_WITNESS_AS_SHIPPED);
    if (lh_proposer_holds(&world->proposers[P1], lh_witness_now(world)))
        lh_witness_fail(world, "p1 activates a lease that has ended");
}
