// The timer wheel. A deadline is read as eleven digits of base 64. A timer lies on the level of the
// highest digit in which its deadline differs from the wheel's position, in the slot of that digit.
// Four rules follow, and everything here rests on them:
//   1. A slot on a lower level is earlier than any on a higher one, and on one level a lower digit is
//      earlier: the first occupied slot holds the earliest timer, and no slot wraps around.
//   2. The position may advance freely below the start of the first occupied slot: no highest
//      differing digit changes.
//   3. When the position enters a slot, its timers agree with it in one digit more: all of them move
//      down, and the slot is empty before anything else happens (it is `draining` until then).
//   4. Equal deadlines always lie in the same slot, and which chain of it a timer is in depends on its
//      order alone, so a chain keeps equal deadlines in order of insertion.
#include "base/wheel.h"

#include <string.h>

#include "base/assert.h"

#define DIGIT_BITS 6
#define PLACE_BITS 10
#define OVERDUE LH_WHEEL_SLOTS

_Static_assert(OVERDUE + 1 < 1 << PLACE_BITS, "a place has room for every slot");
_Static_assert(LH_WHEEL_CHAINS == 16, "`filled` has a bit for each chain");

static unsigned lowest_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

static unsigned level_of(uint64_t difference)
{
    return (63 - (unsigned)__builtin_clzll(difference | 1)) / DIGIT_BITS;
}

// A place is an order of insertion and, plus one, the number of a slot. The order has 54 bits:
// enough for ten million timers a second over fifty years.
static uint64_t place_in(uint64_t order, size_t number)
{
    return order << PLACE_BITS | (number + 1);
}

static size_t number_of(const struct lh_wheel_timer *timer)
{
    return (timer->place & ((1 << PLACE_BITS) - 1)) - 1;
}

static unsigned chain_of(uint64_t order)
{
    return order % LH_WHEEL_CHAINS;
}

// --- chains ---

static void chain_append(struct lh_wheel_chain *chain, struct lh_wheel_timer *timer)
{
    timer->next = NULL;
    if (chain->first == NULL) {
        chain->first = timer;
    } else {
        chain->last->next = timer;
        timer->previous = chain->last;
    }
    chain->last = timer;
}

// Taking the first leaves the second untouched, and so with a stale `previous`: whoever needs to
// know which is the first asks the chain.
static void chain_remove(struct lh_wheel_chain *chain, struct lh_wheel_timer *timer)
{
    if (chain->first == timer) {
        chain->first = timer->next;
        return;
    }
    timer->previous->next = timer->next;
    if (timer->next != NULL)
        timer->next->previous = timer->previous;
    else
        chain->last = timer->previous;
}

// Sorted by deadline, behind equal ones. Only timers for a time already past come here; there are
// few, and most are later than the others.
static void chain_insert_sorted(struct lh_wheel_chain *chain, struct lh_wheel_timer *timer)
{
    struct lh_wheel_timer *before = chain->first == NULL ? NULL : chain->last;
    while (before != NULL && lh_before(timer->deadline, before->deadline))
        before = before == chain->first ? NULL : before->previous;
    struct lh_wheel_timer *after = before == NULL ? chain->first : before->next;
    timer->previous = before;
    timer->next = after;
    if (before == NULL)
        chain->first = timer;
    else
        before->next = timer;
    if (after == NULL)
        chain->last = timer;
    else
        after->previous = timer;
}

// --- slots ---

static void slot_append(struct lh_wheel *wheel, size_t number, struct lh_wheel_timer *timer,
                        uint64_t order)
{
    size_t level = number / LH_WHEEL_DIGITS;
    unsigned chain_number = chain_of(order);
    struct lh_wheel_chain *chain = &wheel->chains[number][chain_number];

    timer->place = place_in(order, number);
    if ((wheel->filled[number] >> chain_number & 1) == 0)
        chain->first = NULL;
    if (wheel->filled[number] == 0) {
        wheel->occupied[level] |= UINT64_C(1) << number % LH_WHEEL_DIGITS;
        wheel->levels |= UINT32_C(1) << level;
        wheel->earliest[number] = timer->deadline;
    } else {
        wheel->earliest[number] = lh_earlier(wheel->earliest[number], timer->deadline);
    }
    wheel->filled[number] |= (uint16_t)(1 << chain_number);
    chain_append(chain, timer);
}

static void slot_emptied(struct lh_wheel *wheel, size_t number)
{
    size_t level = number / LH_WHEEL_DIGITS;
    wheel->occupied[level] &= ~(UINT64_C(1) << number % LH_WHEEL_DIGITS);
    if (wheel->occupied[level] == 0)
        wheel->levels &= ~(UINT32_C(1) << level);
}

static void slot_remove(struct lh_wheel *wheel, size_t number, struct lh_wheel_timer *timer)
{
    unsigned chain_number = chain_of(timer->place >> PLACE_BITS);
    chain_remove(&wheel->chains[number][chain_number], timer);
    if (wheel->chains[number][chain_number].first != NULL)
        return;
    wheel->filled[number] &= (uint16_t) ~(1 << chain_number);
    if (wheel->filled[number] == 0)
        slot_emptied(wheel, number);
}

// The slot for a deadline at or after the position.
static size_t slot_for(const struct lh_wheel *wheel, uint64_t deadline)
{
    unsigned level = level_of(deadline ^ wheel->position);
    unsigned digit = (unsigned)(deadline >> DIGIT_BITS * level) % LH_WHEEL_DIGITS;
    return (size_t)level * LH_WHEEL_DIGITS + digit;
}

// The first occupied slot, by rule 1. Takes at least one occupied slot.
static size_t first_slot(const struct lh_wheel *wheel)
{
    unsigned level = lowest_bit(wheel->levels);
    return (size_t)level * LH_WHEEL_DIGITS + lowest_bit(wheel->occupied[level]);
}

// The first instant of a slot that is not before the position.
static uint64_t slot_start(const struct lh_wheel *wheel, size_t number)
{
    unsigned shift = DIGIT_BITS * (unsigned)(number / LH_WHEEL_DIGITS);
    uint64_t higher = wheel->position >> shift >> DIGIT_BITS << DIGIT_BITS;
    return (higher | number % LH_WHEEL_DIGITS) << shift;
}

// True if the deadline lies within the slot that is being drained. It must then join that slot:
// rule 4.
static bool is_draining(const struct lh_wheel *wheel, uint64_t deadline)
{
    return wheel->draining != 0 &&
           (deadline ^ wheel->position) >> DIGIT_BITS * ((wheel->draining - 1) / LH_WHEEL_DIGITS) ==
               0;
}

// The only timer of a slot, or NULL if there are more.
static struct lh_wheel_timer *only_in(const struct lh_wheel *wheel, size_t number)
{
    unsigned filled = wheel->filled[number];
    const struct lh_wheel_chain *chain = &wheel->chains[number][lowest_bit(filled)];
    return (filled & (filled - 1)) == 0 && chain->first == chain->last ? chain->first : NULL;
}

// The timer that was scheduled first in an occupied slot of equal deadlines.
static struct lh_wheel_timer *oldest_in(const struct lh_wheel *wheel, size_t number)
{
    struct lh_wheel_timer *oldest = NULL;
    for (unsigned left = wheel->filled[number]; left != 0; left &= left - 1) {
        struct lh_wheel_timer *timer = wheel->chains[number][lowest_bit(left)].first;
        if (oldest == NULL || timer->place < oldest->place)
            oldest = timer;
    }
    return oldest;
}

// --- turning ---

// Moves timers from the draining slot to lower levels, one from each chain in turn: by the time a
// chain's turn comes again, the timer asked for has arrived from memory. False if `most` ran out.
static bool drain(struct lh_wheel *wheel, size_t *most)
{
    size_t number = wheel->draining - 1;
    while (wheel->filled[number] != 0) {
        for (unsigned left = wheel->filled[number]; left != 0; left &= left - 1) {
            struct lh_wheel_chain *chain = &wheel->chains[number][lowest_bit(left)];
            struct lh_wheel_timer *timer = chain->first;
            if (*most == 0)
                return false;
            --*most;
            chain->first = timer->next;
            if (chain->first == NULL)
                wheel->filled[number] ^= (uint16_t)(left & -left);
            __builtin_prefetch(chain->first, 1);
            slot_append(wheel, slot_for(wheel, (uint64_t)timer->deadline.ns), timer,
                        timer->place >> PLACE_BITS);
        }
    }
    slot_emptied(wheel, number); // again, if the last was cancelled between two turns
    wheel->draining = 0;
    return true;
}

// Advances to the first timer that is due and returns it, or to `now` if none is. NULL also if
// `most` ran out with a slot still draining.
static struct lh_wheel_timer *advance(struct lh_wheel *wheel, uint64_t now, size_t *most)
{
    for (;;) {
        if (wheel->draining != 0 && !drain(wheel, most))
            return NULL;
        size_t number = wheel->levels == 0 ? 0 : first_slot(wheel);
        if (wheel->levels == 0 || slot_start(wheel, number) > now) {
            if (wheel->position < now) // rule 2
                wheel->position = now;
            return NULL;
        }
        struct lh_wheel_timer *only = only_in(wheel, number);
        if (only != NULL && (uint64_t)only->deadline.ns <= now)
            return only; // it need not move down first; the position stays below its slot
        uint64_t earliest = (uint64_t)wheel->earliest[number].ns;
        wheel->position = earliest < now ? earliest : now;
        if (number < LH_WHEEL_DIGITS)
            return oldest_in(wheel, number);
        wheel->draining = (uint32_t)number + 1; // rule 3
    }
}

static void take_out(struct lh_wheel *wheel, struct lh_wheel_timer *timer)
{
    size_t number = number_of(timer);
    if (number == OVERDUE)
        chain_remove(&wheel->overdue, timer);
    else
        slot_remove(wheel, number, timer);
    timer->place = 0;
    wheel->count--;
}

void lh_wheel_init(struct lh_wheel *wheel, struct lh_instant now)
{
    LH_ASSERT(now.ns >= 0);
    memset(wheel, 0, offsetof(struct lh_wheel, earliest));
    wheel->position = (uint64_t)now.ns;
}

void lh_wheel_cancel(struct lh_wheel *wheel, struct lh_wheel_timer *timer)
{
    if (lh_wheel_is_scheduled(timer))
        take_out(wheel, timer);
}

void lh_wheel_schedule(struct lh_wheel *wheel, struct lh_wheel_timer *timer,
                       struct lh_instant deadline)
{
    LH_ASSERT(deadline.ns >= 0);
    uint64_t at = (uint64_t)deadline.ns;
    uint64_t order = wheel->inserted++;

    lh_wheel_cancel(wheel, timer);
    timer->deadline = deadline;
    wheel->count++;
    if (at < wheel->position) {
        timer->place = place_in(order, OVERDUE);
        chain_insert_sorted(&wheel->overdue, timer);
    } else if (is_draining(wheel, at)) {
        slot_append(wheel, wheel->draining - 1, timer, order);
    } else {
        slot_append(wheel, slot_for(wheel, at), timer, order);
    }
}

struct lh_instant lh_wheel_next(const struct lh_wheel *wheel)
{
    if (wheel->overdue.first != NULL)
        return wheel->overdue.first->deadline;
    if (wheel->draining != 0)
        return (struct lh_instant){(int64_t)wheel->position};
    if (wheel->levels == 0)
        return LH_NEVER;
    return wheel->earliest[first_slot(wheel)];
}

bool lh_wheel_expire(struct lh_wheel *wheel, struct lh_instant now,
                     struct lh_wheel_timer **ret_timer)
{
    size_t most = SIZE_MAX;
    struct lh_wheel_timer *timer = wheel->overdue.first;

    LH_ASSERT(now.ns >= 0);
    if (timer == NULL)
        timer = advance(wheel, (uint64_t)now.ns, &most);
    if (timer == NULL || lh_before(now, timer->deadline))
        return false;
    take_out(wheel, timer);
    *ret_timer = timer;
    return true;
}

bool lh_wheel_turn(struct lh_wheel *wheel, struct lh_instant now, size_t most)
{
    LH_ASSERT(now.ns >= 0);
    if (wheel->overdue.first == NULL)
        (void)advance(wheel, (uint64_t)now.ns, &most);
    return wheel->draining == 0;
}
