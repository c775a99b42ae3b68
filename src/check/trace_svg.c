// Every mark is computed from the states, so the drawing cannot show more than happened. The step
// in which two proposers own the lease is marked in red, and so are their bars.
#include "check/trace_svg.h"

#include <stdlib.h>

#include "check/composition_model.h"
#include "check/describe.h"
#include "check/lease_model.h"

enum { LEFT = 70, TOP = 60, STEP = 44, LANE = 76, BAR = 12, LEGEND = 17 };

static const char *const colours[LH_CHECK_MAX_PROPOSERS] = {"#1f77b4", "#e08214", "#2ca02c"};

static const char *colour_of(uint32_t p)
{
    return colours[p % LH_CHECK_MAX_PROPOSERS];
}

static const char style[] =
    "text{font:12px sans-serif;fill:#222}.small{font-size:9px}.line{stroke:#999}"
    ".tick{stroke:#ccc;stroke-dasharray:3 3}.crash{fill:#444}.quarantine{fill:url(#hatch)}"
    ".arrow{fill:none;stroke-width:1.3;marker-end:url(#head)}.lost{stroke-dasharray:4 3}"
    ".two{fill:#d62728;fill-opacity:.12}.owner{stroke:#d62728;stroke-width:2}";

static uint32_t lane_of_proposer(uint32_t p)
{
    return p;
}

static uint32_t lane_of_acceptor(const struct lh_trace *trace, uint32_t a)
{
    return trace->model->config.proposers + a;
}

static uint32_t lanes(const struct lh_trace *trace)
{
    const struct lh_check_config *config = &trace->model->config;
    return config->proposers + (config->module == LH_CHECK_COMPOSITION ? 0u : config->acceptors);
}

static int x_of(uint32_t step)
{
    return LEFT + STEP / 2 + (int)step * STEP;
}

static int y_of(uint32_t lane)
{
    return TOP + LANE / 2 + (int)lane * LANE;
}

static uint32_t variable_of(const struct lh_trace *trace, uint32_t p, uint32_t variable)
{
    return lh_lease_proposer(lh_lease_of(trace->model), p, variable);
}

static bool is_active(const struct lh_trace *trace, uint32_t step, uint32_t p)
{
    const uint8_t *raw = lh_trace_state(trace, step);
    if (trace->model->config.module == LH_CHECK_COMPOSITION)
        return raw[lh_composition_leader(&trace->model->config, p, LH_L_ACTIVE)] != 0;
    return raw[variable_of(trace, p, LH_P_ACTIVE)] != 0;
}

static uint32_t owners(const struct lh_trace *trace, uint32_t step)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < trace->model->config.proposers; p++)
        count += is_active(trace, step, p);
    return count;
}

static void draw_bar(FILE *file, uint32_t lane, uint32_t step, int offset, const char *attributes)
{
    fprintf(file, "<rect x='%d' y='%d' width='%d' height='%d' %s/>\n", x_of(step) - STEP / 2,
            y_of(lane) + offset, STEP, BAR, attributes);
}

static void draw_proposer(const struct lh_trace *trace, uint32_t step, uint32_t p, FILE *file)
{
    char attributes[96] = "";
    const uint32_t lane = lane_of_proposer(p);
    if (is_active(trace, step, p)) {
        snprintf(attributes, sizeof attributes, "fill='%s'%s", colour_of(p),
                 owners(trace, step) > 1 ? " class='owner'" : "");
        draw_bar(file, lane, step, -BAR / 2, attributes);
    }
    if (trace->model->config.module != LH_CHECK_COMPOSITION &&
        lh_trace_state(trace, step)[variable_of(trace, p, LH_P_CRASHED)])
        draw_bar(file, lane, step, -BAR / 2, "class='crash'");
}

static void draw_acceptor(const struct lh_trace *trace, uint32_t step, uint32_t a, FILE *file)
{
    const uint8_t *raw = lh_trace_state(trace, step);
    const uint8_t *row = raw + lh_lease_acceptor(a, 0);
    const uint32_t lane = lane_of_acceptor(trace, a);
    if (row[LH_A_CRASHED])
        draw_bar(file, lane, step, -BAR / 2, "class='crash'");
    else if (raw[LH_VAR_NOW] < row[LH_A_QUARANTINE])
        draw_bar(file, lane, step, -BAR / 2, "class='quarantine'");
    if (row[LH_A_OWNER] != 0) {
        char attributes[64] = "";
        const bool live = raw[LH_VAR_NOW] < row[LH_A_DEADLINE];
        snprintf(attributes, sizeof attributes, "fill='%s' fill-opacity='%s'",
                 colour_of(row[LH_A_OWNER] - 1u), live ? ".55" : ".15");
        draw_bar(file, lane, step, BAR, attributes);
    }
}

static void draw_states(const struct lh_trace *trace, FILE *file)
{
    const struct lh_check_config *config = &trace->model->config;
    for (uint32_t step = 0; step < trace->count; step++) {
        if (owners(trace, step) > 1)
            fprintf(file, "<rect class='two' x='%d' y='%d' width='%d' height='%d'/>\n",
                    x_of(step) - STEP / 2, TOP, STEP, (int)lanes(trace) * LANE);
        for (uint32_t p = 0; p < config->proposers; p++)
            draw_proposer(trace, step, p, file);
        for (uint32_t a = 0; config->module != LH_CHECK_COMPOSITION && a < config->acceptors; a++)
            draw_acceptor(trace, step, a, file);
        fprintf(file, "<text class='small' x='%d' y='%d' text-anchor='middle'>%u</text>\n",
                x_of(step), TOP - 6, step + 1);
        if (trace->actions[step].kind == LH_ACT_TICK)
            fprintf(file,
                    "<line class='tick' x1='%d' y1='%d' x2='%d' y2='%d'/>"
                    "<text x='%d' y='%d' text-anchor='middle'>t=%u</text>\n",
                    x_of(step), TOP, x_of(step), TOP + (int)lanes(trace) * LANE, x_of(step),
                    TOP - 20, lh_describe_now(lh_trace_state(trace, step)));
    }
}

static bool in_flight(const struct lh_trace *trace, uint32_t step, uint32_t message)
{
    const uint16_t *network =
        lh_layout_network_const(&trace->model->layout, lh_trace_state(trace, step));
    for (uint32_t i = 1; i <= network[0]; i++) {
        if (network[i] == message)
            return true;
    }
    return false;
}

// The step that put the message, in flight before `step`, under way.
static uint32_t sent_at(const struct lh_trace *trace, uint32_t step, uint32_t message)
{
    uint32_t sent = step - 1;
    while (sent > 0 && in_flight(trace, sent - 1, message))
        sent--;
    return sent;
}

static void draw_arrow(const struct lh_trace *trace, uint32_t message, uint32_t from_step,
                       uint32_t to_step, bool arrives, FILE *file)
{
    static const char *const letters[] = {"P", "p", "A", "a", "R"};
    const struct lh_message *m = &lh_lease_of(trace->model)->messages[message];
    const bool answer = m->kind == LH_MSG_PROMISE || m->kind == LH_MSG_ACCEPTED;
    const int x1 = x_of(from_step);
    int x2 = x_of(to_step);
    const int y1 =
        y_of(answer ? lane_of_acceptor(trace, m->acceptor) : lane_of_proposer(m->proposer));
    int y2 = y_of(answer ? lane_of_proposer(m->proposer) : lane_of_acceptor(trace, m->acceptor));
    char text[96];
    if (!arrives) {
        y2 = y1 + (y2 - y1) / 3;
        x2 = x1 + STEP / 2;
    }
    lh_describe_message(trace->model, message, text, sizeof text);
    fprintf(file,
            "<path class='arrow%s' stroke='%s' d='M%d %d L%d %d'><title>%s</title></path>"
            "<text class='small' x='%d' y='%d'>%s%u</text>\n",
            arrives ? "" : " lost", colour_of(m->proposer), x1, y1, x2, y2, text, (x1 + 2 * x2) / 3,
            (y1 + 2 * y2) / 3 - 3, letters[m->kind], m->ballot);
}

static bool is_delivery(struct lh_action action)
{
    return action.kind == LH_ACT_DELIVER_PREPARE || action.kind == LH_ACT_DELIVER_PROMISE ||
           action.kind == LH_ACT_DELIVER_ACCEPT || action.kind == LH_ACT_DELIVER_ACCEPTED ||
           action.kind == LH_ACT_DELIVER_RELEASE;
}

static void draw_messages(const struct lh_trace *trace, FILE *file)
{
    for (uint32_t step = 1; step < trace->count; step++) {
        const struct lh_action action = trace->actions[step];
        if (is_delivery(action))
            draw_arrow(trace, action.message, sent_at(trace, step, action.message), step, true,
                       file);
        if (action.kind == LH_ACT_DROP)
            draw_arrow(trace, action.message, sent_at(trace, step, action.message), step, false,
                       file);
    }
    const uint32_t last = trace->count - 1;
    const uint16_t *network =
        lh_layout_network_const(&trace->model->layout, lh_trace_state(trace, last));
    for (uint32_t i = 1; i <= network[0]; i++)
        draw_arrow(trace, network[i], sent_at(trace, last + 1, network[i]), last, false, file);
}

static void draw_lines(const struct lh_trace *trace, FILE *file)
{
    const uint32_t proposers = trace->model->config.proposers;
    for (uint32_t lane = 0; lane < lanes(trace); lane++) {
        const bool proposer = lane < proposers;
        fprintf(file,
                "<line class='line' x1='%d' y1='%d' x2='%d' y2='%d'/>"
                "<text x='12' y='%d'>%c%u</text>\n",
                LEFT, y_of(lane), x_of(trace->count), y_of(lane), y_of(lane) + 4,
                proposer ? 'p' : 'a', (proposer ? lane : lane - proposers) + 1);
    }
}

static void draw_legend(const struct lh_trace *trace, FILE *file)
{
    char text[LH_DESCRIPTION_SIZE];
    const int y = TOP + (int)lanes(trace) * LANE + 24;
    fprintf(
        file,
        "<text x='12' y='%d'>Bars: colour = authority of a proposer, record at an acceptor; "
        "black = crashed; hatched = quarantine; red = two owners. Arrows: P Prepare, p Promise, "
        "A Accept, a Accepted, R Release, with the ballot; dashed = not delivered.</text>\n",
        y);
    for (uint32_t step = 0; step < trace->count; step++) {
        const uint8_t *to = lh_trace_state(trace, step);
        lh_describe_action(trace->model, step == 0 ? to : lh_trace_state(trace, step - 1),
                           trace->actions[step], to, text);
        fprintf(file, "<text x='12' y='%d'>%u. %s</text>\n", y + LEGEND * ((int)step + 2), step + 1,
                text);
    }
}

void lh_trace_draw(const struct lh_trace *trace, FILE *file)
{
    int width = x_of(trace->count) + 20;
    if (width < 1100)
        width = 1100;
    const int height = TOP + (int)lanes(trace) * LANE + 60 + LEGEND * ((int)trace->count + 2);
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "viewBox='0 0 %d %d'>\n<style>%s</style>\n"
            "<defs><marker id='head' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='6' "
            "markerHeight='6' orient='auto'><path d='M0 0L10 5L0 10z'/></marker>"
            "<pattern id='hatch' width='6' height='6' patternUnits='userSpaceOnUse' "
            "patternTransform='rotate(45)'><rect width='6' height='6' fill='#eee'/>"
            "<line x1='0' y1='0' x2='0' y2='6' stroke='#666' stroke-width='3'/></pattern></defs>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            width, height, width, height, style);
    fprintf(file, "<text x='12' y='22'>%s: %s violated, %u states</text>\n",
            trace->model->config.name, lh_invariant_name(trace->invariant), trace->count);
    draw_lines(trace, file);
    draw_states(trace, file);
    if (trace->model->layout.message_count != 0)
        draw_messages(trace, file);
    draw_legend(trace, file);
    fprintf(file, "</svg>\n");
}
