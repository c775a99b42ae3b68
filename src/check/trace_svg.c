// The step in which two own the lease is marked in red, and so are their bars; so is the last step,
// whatever it breaks.
#include "check/trace_svg.h"

#include "check/trace_picture.h"

enum { LEFT = 70, TOP = 60, STEP = 44, LANE = 76, BAR = 12, LEGEND = 17 };

static const char *const colours[LH_CHECK_MAX_PROPOSERS] = {"#1f77b4", "#e08214", "#2ca02c"};

static const char style[] =
    "text{font:12px sans-serif;fill:#222}.small{font-size:9px}.line{stroke:#999}"
    ".tick{stroke:#ccc;stroke-dasharray:3 3}.crashed{fill:#444}.stopped{fill:#aaa}"
    ".quarantine{fill:url(#hatch)}.record{fill-opacity:.55}.ended{fill-opacity:.15}"
    ".orphan{fill-opacity:.55}.nobody{fill:#777}"
    ".arrow{fill:none;stroke-width:1.3;marker-end:url(#head)}.lost{stroke-dasharray:4 3}"
    ".again{stroke-dasharray:1 3;stroke-width:2}"
    ".two{fill:#d62728;fill-opacity:.12}.last{fill:#d62728;fill-opacity:.06}"
    ".owner{stroke:#d62728;stroke-width:2}";

static int x_of(uint32_t step)
{
    return LEFT + STEP / 2 + (int)step * STEP;
}

static int y_of(uint32_t lane)
{
    return TOP + LANE / 2 + (int)lane * LANE;
}

static const char *colour_of(uint32_t p)
{
    return colours[p % LH_CHECK_MAX_PROPOSERS];
}

// `owner` counts from 1; 0 is nobody.
static void draw_bar(FILE *file, uint32_t lane, uint32_t step, int offset, enum lh_bar bar,
                     uint32_t owner, bool highlighted)
{
    static const char *const classes[] = {"",        "authority",  "orphan", "crashed",
                                          "stopped", "quarantine", "record", "ended"};
    const bool coloured = bar == LH_BAR_AUTHORITY || bar == LH_BAR_ORPHAN || bar == LH_BAR_RECORD ||
                          bar == LH_BAR_ENDED;
    if (bar == LH_BAR_NONE)
        return;
    fprintf(file, "<rect x='%d' y='%d' width='%d' height='%d' class='%s%s%s'",
            x_of(step) - STEP / 2, y_of(lane) + offset, STEP, BAR, classes[bar],
            coloured && owner == 0 ? " nobody" : "", highlighted ? " owner" : "");
    if (coloured && owner != 0)
        fprintf(file, " fill='%s'", colour_of(owner - 1));
    fprintf(file, "/>\n");
}

static void draw_cell(const struct lh_trace *trace, uint32_t step, uint32_t lane, FILE *file)
{
    struct lh_picture_cell cell;
    const bool two = lh_picture_owners(trace, step) > 1;
    lh_picture_cell(trace, step, lane, &cell);
    draw_bar(file, lane, step, -BAR / 2, cell.line, lane + 1, two && cell.line == LH_BAR_AUTHORITY);
    draw_bar(file, lane, step, BAR, cell.below, cell.below == LH_BAR_ORPHAN ? lane + 1 : cell.owner,
             two && cell.below == LH_BAR_ORPHAN);
}

static void draw_column(const struct lh_trace *trace, uint32_t step, const char *class, FILE *file)
{
    fprintf(file, "<rect class='%s' x='%d' y='%d' width='%d' height='%d'/>\n", class,
            x_of(step) - STEP / 2, TOP, STEP, (int)lh_picture_lanes(trace) * LANE);
}

static void draw_states(const struct lh_trace *trace, FILE *file)
{
    const uint32_t lanes = lh_picture_lanes(trace);
    for (uint32_t step = 0; step < trace->count; step++) {
        if (lh_picture_owners(trace, step) > 1)
            draw_column(trace, step, "two", file);
        else if (step + 1 == trace->count)
            draw_column(trace, step, "last", file);
        for (uint32_t lane = 0; lane < lanes; lane++)
            draw_cell(trace, step, lane, file);
        fprintf(file, "<text class='small' x='%d' y='%d' text-anchor='middle'>%u</text>\n",
                x_of(step), TOP - 6, step + 1);
        if (trace->actions[step].kind == LH_ACT_TICK)
            fprintf(file,
                    "<line class='tick' x1='%d' y1='%d' x2='%d' y2='%d'/>"
                    "<text x='%d' y='%d' text-anchor='middle'>t=%u</text>\n",
                    x_of(step), TOP, x_of(step), TOP + (int)lanes * LANE, x_of(step), TOP - 20,
                    lh_trace_time(trace, step));
    }
}

// What does not arrive ends on its way.
static void draw_arrow(const struct lh_picture_arrow *arrow, FILE *file)
{
    const int x1 = x_of(arrow->from_step);
    const int y1 = y_of(arrow->from_lane);
    int x2 = x_of(arrow->to_step);
    int y2 = y_of(arrow->to_lane);
    if (!arrow->arrives) {
        y2 = y1 + (y2 - y1) / 3;
        x2 = x1 + STEP / 2;
    } else if (x1 == x2) {
        x2 += STEP / 3; // an answer that is read at once
    }
    fprintf(file,
            "<path class='arrow%s%s' stroke='%s' d='M%d %d L%d %d'><title>%s</title></path>"
            "<text class='small' x='%d' y='%d'>%s</text>\n",
            arrow->arrives ? "" : " lost", arrow->again ? " again" : "", colour_of(arrow->proposer),
            x1, y1, x2, y2, arrow->title, (x1 + 2 * x2) / 3, (y1 + 2 * y2) / 3 - 3, arrow->label);
}

static void draw_messages(const struct lh_trace *trace, FILE *file)
{
    struct lh_picture_arrow arrow;
    for (uint32_t step = 1; step < trace->count; step++) {
        for (uint32_t i = 0; lh_picture_arrow(trace, step, i, &arrow); i++)
            draw_arrow(&arrow, file);
    }
}

static void draw_lines(const struct lh_trace *trace, FILE *file)
{
    const uint32_t proposers = trace->model->config.proposers;
    for (uint32_t lane = 0; lane < lh_picture_lanes(trace); lane++) {
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
    const bool closed = trace->model->config.module == LH_CHECK_CLOSED;
    const int y = TOP + (int)lh_picture_lanes(trace) * LANE + 24;
    fprintf(
        file,
        "<text x='12' y='%d'>Bars: colour = authority of a proposer, record at an acceptor; "
        "%sblack = crashed; hatched = quarantine; red = two owners. Arrows: P Prepare, p Promise, "
        "A Accept, a Accepted, R Release, %swith the ballot; dotted = again%s.</text>\n",
        y, closed ? "grey = stopped in order; under a proposer = a client that outlives it; " : "",
        closed ? "E Extend, e Extended, " : "", closed ? "" : "; dashed = not delivered");
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
    const int height =
        TOP + (int)lh_picture_lanes(trace) * LANE + 60 + LEGEND * ((int)trace->count + 2);
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
    draw_messages(trace, file);
    draw_legend(trace, file);
    fprintf(file, "</svg>\n");
}
