// See timeline.h.
#include "sim/timeline.h"

#include <stdlib.h>

#include "base/assert.h"

struct lh_sim_timeline *lh_sim_timeline_open(void)
{
    struct lh_sim_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL)
        abort();
    timeline->healed_ns = INT64_MAX;
    return timeline;
}

void lh_sim_timeline_close(struct lh_sim_timeline *timeline)
{
    if (timeline == NULL)
        return;
    free(timeline->spans);
    free(timeline);
}

void lh_sim_timeline_add(struct lh_sim_timeline *timeline, const struct lh_sim_span *span)
{
    if (timeline == NULL)
        return;
    if (timeline->count == timeline->capacity) {
        timeline->capacity = timeline->capacity == 0 ? 1024 : 2 * timeline->capacity;
        timeline->spans = realloc(timeline->spans, timeline->capacity * sizeof timeline->spans[0]);
        if (timeline->spans == NULL)
            abort();
    }
    timeline->spans[timeline->count++] = *span;
}

static struct lh_sim_span *find(struct lh_sim_timeline *timeline, const struct lh_sim_span *like)
{
    for (unsigned i = 0; i < timeline->open_count; i++) {
        struct lh_sim_span *span = &timeline->open[i];
        bool same_place = like->kind == LH_SIM_SPAN_CLIENT_HOLDS ? span->client == like->client
                                                                 : span->node == like->node;
        if (span->kind == like->kind && span->which == like->which && same_place)
            return span;
    }
    return NULL;
}

static void end(struct lh_sim_timeline *timeline, struct lh_sim_span *span, int64_t at_ns)
{
    span->to_ns = at_ns > span->from_ns ? at_ns : span->from_ns;
    lh_sim_timeline_add(timeline, span);
    *span = timeline->open[--timeline->open_count];
}

void lh_sim_timeline_begin(struct lh_sim_timeline *timeline, const struct lh_sim_span *span)
{
    if (timeline == NULL)
        return;
    struct lh_sim_span *open = find(timeline, span);
    if (open != NULL && open->token == span->token && open->node == span->node)
        return;
    if (open != NULL)
        end(timeline, open, span->from_ns);
    LH_ASSERT_LT(timeline->open_count, LH_SIM_SPANS_OPEN);
    timeline->open[timeline->open_count++] = *span;
}

void lh_sim_timeline_end(struct lh_sim_timeline *timeline, const struct lh_sim_span *span,
                         int64_t at_ns)
{
    struct lh_sim_span *open = timeline == NULL ? NULL : find(timeline, span);
    if (open != NULL)
        end(timeline, open, at_ns);
}

void lh_sim_timeline_healed(struct lh_sim_timeline *timeline, int64_t at_ns)
{
    if (timeline != NULL)
        timeline->healed_ns = at_ns;
}
