// Time as two types that cannot be mixed: an instant on one process's clock and a length of time.
// Every sum saturates, so no deadline can wrap (audit finding 8), and comparison always comes
// before subtraction. Instants of two processes are never compared: there is no function that
// could.
#ifndef LH_BASE_TIME_H
#define LH_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

// Nanoseconds on the reading process's CLOCK_BOOTTIME. Never negative.
struct lh_instant {
    int64_t ns;
};

// A length in nanoseconds. Never negative where it is stored.
struct lh_duration {
    int64_t ns;
};

// The instant that is never reached: an unarmed timer, an absent deadline.
#define LH_NEVER ((struct lh_instant){INT64_MAX})
// The instant before all others: an expired or absent lease.
#define LH_PAST ((struct lh_instant){0})

#define LH_NS_PER_US INT64_C(1000)
#define LH_NS_PER_MS INT64_C(1000000)
#define LH_NS_PER_S INT64_C(1000000000)

static inline struct lh_duration lh_ms(int64_t ms)
{
    if (ms > INT64_MAX / LH_NS_PER_MS)
        return (struct lh_duration){INT64_MAX};
    if (ms < INT64_MIN / LH_NS_PER_MS)
        return (struct lh_duration){INT64_MIN};
    return (struct lh_duration){ms * LH_NS_PER_MS};
}

// a < b
static inline bool lh_before(struct lh_instant a, struct lh_instant b)
{
    return a.ns < b.ns;
}

static inline struct lh_instant lh_later(struct lh_instant a, struct lh_instant b)
{
    return a.ns < b.ns ? b : a;
}

static inline struct lh_instant lh_earlier(struct lh_instant a, struct lh_instant b)
{
    return a.ns < b.ns ? a : b;
}

// t + d, saturating at LH_NEVER. Takes d >= 0.
static inline struct lh_instant lh_after(struct lh_instant t, struct lh_duration d)
{
    if (d.ns > INT64_MAX - t.ns)
        return LH_NEVER;
    return (struct lh_instant){t.ns + d.ns};
}

// What is left until `deadline` at `now`: zero once it has come, never negative.
static inline struct lh_duration lh_left(struct lh_instant now, struct lh_instant deadline)
{
    if (now.ns >= deadline.ns)
        return (struct lh_duration){0};
    return (struct lh_duration){deadline.ns - now.ns};
}

// Whole milliseconds of d, rounded down: what may be told of a remaining time.
static inline int64_t lh_floor_ms(struct lh_duration d)
{
    return d.ns / LH_NS_PER_MS;
}

#endif
