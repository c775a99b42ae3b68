// The input is a sequence of calls of the wheel, made on a dumb twin as well, which keeps an array
// and searches it. Both must yield the same timers in the same order.
#include "base/wheel.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/cursor.h"

#define TIMERS 32

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static struct lh_wheel wheel;
static struct lh_wheel_timer timers[TIMERS];
static uint64_t orders[TIMERS]; // of the twin: when the timer was scheduled, 0 while idle
static uint64_t scheduled;

static int first_of_twin(void)
{
    int first = -1;
    for (int i = 0; i < TIMERS; i++) {
        if (orders[i] == 0)
            continue;
        if (first < 0 || lh_before(timers[i].deadline, timers[first].deadline) ||
            (timers[i].deadline.ns == timers[first].deadline.ns && orders[i] < orders[first]))
            first = i;
    }
    return first;
}

static void expire_one(struct lh_instant now)
{
    struct lh_wheel_timer *timer = NULL;
    int first = first_of_twin();
    bool due = first >= 0 && timers[first].deadline.ns <= now.ns;
    LH_ASSERT(lh_wheel_expire(&wheel, now, &timer) == due);
    if (!due)
        return;
    LH_ASSERT(timer == &timers[first] && !lh_wheel_is_scheduled(timer));
    orders[first] = 0;
}

static void next_is_not_too_late(void)
{
    int first = first_of_twin();
    struct lh_instant next = lh_wheel_next(&wheel);
    LH_ASSERT(first < 0 || next.ns <= timers[first].deadline.ns);
}

// A length of time of any magnitude from four bytes: 24 bits, shifted.
static int64_t some_ns(struct lh_reader *reader)
{
    uint32_t bits = lh_reader_u32(reader);
    return (int64_t)((uint64_t)(bits & 0xffffff) << (bits >> 24) % 40);
}

static void one_call(struct lh_reader *reader, struct lh_instant *now)
{
    uint8_t call = lh_reader_u8(reader);
    size_t i = call / 8 % TIMERS;
    struct lh_instant deadline = *now;
    switch (call % 8) {
    case 0:
    case 1: deadline = lh_after(*now, (struct lh_duration){some_ns(reader)}); break;
    case 2: deadline = timers[(i + 1) % TIMERS].deadline; break;
    case 3: deadline.ns -= lh_earlier(*now, (struct lh_instant){some_ns(reader)}).ns; break;
    case 4:
        lh_wheel_cancel(&wheel, &timers[i]);
        orders[i] = 0;
        return;
    case 5: *now = lh_after(*now, (struct lh_duration){some_ns(reader)}); return;
    case 6: (void)lh_wheel_turn(&wheel, *now, i); return;
    default: expire_one(*now); return;
    }
    lh_wheel_schedule(&wheel, &timers[i], deadline);
    orders[i] = ++scheduled;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct lh_reader reader = lh_reader_of(lh_slice_of(bytes, size_bytes));
    struct lh_instant now = {some_ns(&reader)};

    memset(timers, 0, sizeof timers);
    memset(orders, 0, sizeof orders);
    scheduled = 0;
    lh_wheel_init(&wheel, now);
    while (lh_reader_left_bytes(&reader) > 0) {
        one_call(&reader, &now);
        next_is_not_too_late();
    }
    while (wheel.count > 0)
        expire_one(LH_NEVER);
    LH_ASSERT(first_of_twin() < 0);
    return 0;
}
