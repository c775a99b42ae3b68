// Timers: a hierarchical wheel with eleven levels of 64 slots, each level 64 times as coarse as the
// one below, the lowest one nanosecond wide. So no deadline is ever rounded: timers come out never
// early, ordered by deadline, equal deadlines in the order in which they were scheduled, and two
// runs with the same calls get the same order. Timers are embedded in what they time; nothing is
// allocated.
//
// Scheduling and cancelling take constant time. A timer moves down at most ten levels before it
// expires, however far the clock jumped and however many ticks went by: a turn steps from one
// occupied slot to the next.
//
// Timers only wake us. Whether a lease still holds is always asked of the clock (P1, T1).
#ifndef LH_BASE_WHEEL_H
#define LH_BASE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

#define LH_WHEEL_LEVELS 11
#define LH_WHEEL_DIGITS 64
#define LH_WHEEL_SLOTS (LH_WHEEL_LEVELS * LH_WHEEL_DIGITS)
// A slot keeps its timers in several chains, so that emptying it waits for several cache misses at
// once instead of one after the other.
#define LH_WHEEL_CHAINS 16

// Zeroed memory is an idle timer. A scheduled one belongs to its wheel: it may be neither moved nor
// freed. Reading `deadline` is allowed at any time.
struct lh_wheel_timer {
    struct lh_wheel_timer *next, *previous;
    struct lh_instant deadline;
    uint64_t place; // order of insertion and slot; 0 while idle
};

struct lh_wheel_chain {
    struct lh_wheel_timer *first, *last;
};

// About 190 KB; its address may not change once it was used.
struct lh_wheel {
    uint64_t position; // every timer in a slot has its deadline here or later
    uint64_t inserted; // timers ever scheduled: the order among equal deadlines
    size_t count;      // timers scheduled now
    uint32_t levels;   // bit l: level l has an occupied slot
    uint32_t draining; // number of the slot being distributed to lower levels, plus one; or 0
    uint64_t occupied[LH_WHEEL_LEVELS];
    struct lh_wheel_chain overdue; // scheduled for instants before `position`, sorted
    // For each slot: a bit for each chain that is not empty, and a bound that no timer in it is
    // before. The bound is exact unless the earliest timer was cancelled. What `filled` lacks is
    // not read: an empty wheel costs no more than the fields up to here.
    uint16_t filled[LH_WHEEL_SLOTS];
    struct lh_instant earliest[LH_WHEEL_SLOTS];
    struct lh_wheel_chain chains[LH_WHEEL_SLOTS][LH_WHEEL_CHAINS];
};

// Makes an empty wheel that begins at `now`.
void lh_wheel_init(struct lh_wheel *wheel, struct lh_instant now);

// Schedules an idle timer, or moves a scheduled one. Any deadline will do: a past one expires in
// the next turn, LH_NEVER only when the clock ends. Constant time, but for a deadline before that
// of the last timer yielded, which is sorted in among the others of that kind.
void lh_wheel_schedule(struct lh_wheel *wheel, struct lh_wheel_timer *timer,
                       struct lh_instant deadline);

// Makes the timer idle; one that is idle already stays so.
void lh_wheel_cancel(struct lh_wheel *wheel, struct lh_wheel_timer *timer);

// When the wheel must be turned next: never later than the earliest deadline, LH_NEVER if there is
// none. It is exactly the earliest deadline, unless timers were cancelled that would have been
// first in their slot: then it may be earlier, and a turn that yields nothing corrects it.
struct lh_instant lh_wheel_next(const struct lh_wheel *wheel);

// Takes out the earliest timer if its deadline is now or earlier: returns true with *ret_timer idle
// again. The caller repeats until false; it may schedule and cancel any timer in between. A `now`
// before an earlier one yields what is due by it and does no harm.
bool lh_wheel_expire(struct lh_wheel *wheel, struct lh_instant now,
                     struct lh_wheel_timer **ret_timer);

// Does the distribution that lh_wheel_expire would do on the way to the first timer, but moves no
// more than `most` timers: for callers that must not pause when a coarse slot with very many timers
// comes due. Returns true when that is finished; until then lh_wheel_next is at or before `now`.
bool lh_wheel_turn(struct lh_wheel *wheel, struct lh_instant now, size_t most);

static inline bool lh_wheel_is_scheduled(const struct lh_wheel_timer *timer)
{
    return timer->place != 0;
}

#endif
