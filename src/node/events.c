// See events.h.
#include "node/events.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "node/log.h"

static enum lh_log_level event_level(enum lh_event_kind kind)
{
    switch (kind) {
    case LH_EVENT_HALTED:
    case LH_EVENT_CLOCK_BAD:
    case LH_EVENT_REFUSED: return LH_LOG_ERROR;
    case LH_EVENT_PEER_REFUSED:
    case LH_EVENT_PEER_DOWN:
    case LH_EVENT_CLOCK_GOOD: return LH_LOG_WARN;
    case LH_EVENT_RENEWED: return LH_LOG_DEBUG;
    case LH_EVENT_RESTORED:
    case LH_EVENT_JOINING:
    case LH_EVENT_ADMITTED:
    case LH_EVENT_QUARANTINE:
    case LH_EVENT_SERVING:
    case LH_EVENT_PEER_UP:
    case LH_EVENT_GRANTED:
    case LH_EVENT_LOST:
    case LH_EVENT_RELEASED:
    case LH_EVENT_REVOKED: break;
    }
    return LH_LOG_INFO;
}

static void log_lease(const struct lh_events_lease *lease)
{
    lh_log(event_level(lease->kind), lh_event_name(lease->kind), "name=%.*s token=%llu holder=%.*s",
           (int)lease->name_size, (const char *)lease->name, (unsigned long long)lease->token,
           (int)lease->holder_size, (const char *)lease->holder);
}

static void log_node(const struct lh_event *event)
{
    enum lh_log_level level = event_level(event->kind);
    const char *name = lh_event_name(event->kind);
    switch (event->kind) {
    case LH_EVENT_ADMITTED:
        lh_log(level, name, "as=%s generation=%u start=%llu", event->text, event->generation,
               (unsigned long long)event->number);
        break;
    case LH_EVENT_JOINING:
        lh_log(level, name, "reason=%s answers-needed=%llu",
               "this data directory has no history: other members are asked whether they know "
               "this node",
               (unsigned long long)event->number);
        break;
    case LH_EVENT_QUARANTINE:
        lh_log(level, name, "ms=%llu", (unsigned long long)event->number / 1000000);
        break;
    case LH_EVENT_RESTORED:
        lh_log(level, name, "leases-lost=%llu", (unsigned long long)event->number);
        break;
    case LH_EVENT_SERVING: lh_log_event(level, name); break;
    case LH_EVENT_PEER_UP:
        lh_log(level, name, "node=%u generation=%u start=%llu", event->peer, event->generation,
               (unsigned long long)event->number);
        break;
    case LH_EVENT_PEER_DOWN: lh_log(level, name, "node=%u", event->peer); break;
    case LH_EVENT_PEER_REFUSED:
    case LH_EVENT_REFUSED:
        lh_log(level, name, "node=%u reason=%s", event->peer, event->text);
        break;
    case LH_EVENT_HALTED: lh_log(level, name, "reason=%s", event->text); break;
    case LH_EVENT_CLOCK_BAD:
        lh_log(level, name, "node=%u beyond-ppm=%" PRIu64 " reason=%s", event->peer,
               event->number / 1000, event->text);
        break;
    case LH_EVENT_CLOCK_GOOD: lh_log_event(level, name); break;
    case LH_EVENT_GRANTED:
    case LH_EVENT_RENEWED:
    case LH_EVENT_LOST:
    case LH_EVENT_RELEASED:
    case LH_EVENT_REVOKED: break; // log_lease
    }
}

static bool is_of_lease(enum lh_event_kind kind)
{
    return kind >= LH_EVENT_GRANTED && kind <= LH_EVENT_REVOKED;
}

static uint8_t keep(uint8_t *out, size_t capacity, struct lh_slice text)
{
    LH_ASSERT_LE(text.size_bytes, capacity);
    if (text.size_bytes > 0)
        memcpy(out, text.data, text.size_bytes);
    return (uint8_t)text.size_bytes;
}

void lh_events_add(struct lh_events *events, const struct lh_event *event)
{
    if (!lh_log_enabled(event_level(event->kind)))
        return;
    if (events->count == LH_EVENTS_MAX || !is_of_lease(event->kind))
        lh_events_write(events); // in the order of what happened
    if (!is_of_lease(event->kind)) {
        log_node(event);
        return;
    }
    struct lh_events_lease *lease = &events->leases[events->count++];
    lease->kind = event->kind;
    lease->token = event->ballot;
    lease->name_size = keep(lease->name, sizeof lease->name, event->name);
    lease->holder_size = keep(lease->holder, sizeof lease->holder, event->holder);
}

void lh_events_write(struct lh_events *events)
{
    for (unsigned i = 0; i < events->count; i++)
        log_lease(&events->leases[i]);
    events->count = 0;
}
