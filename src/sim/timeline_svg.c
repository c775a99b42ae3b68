// A lane for each node, in it a row for each name: how long the node holds it (light), and inside
// that how long the client believes so that was granted it there (full). Behind the rows, the node
// is down, silent, or stands still; below them two thin lines tell of its links and its disk. Where
// the oracle found something wrong a red line ends the drawing, and who held is outlined in red.
#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "sim/timeline.h"

enum { LEFT = 96, RIGHT = 60, TOP = 112, ROW = 14, LINE = 6, GAP = 14 };

#define WIDTH_MOST 12000
#define PIXELS_A_SECOND 24

struct picture {
    const struct lh_sim_timeline *timeline;
    const struct lh_sim_settings *settings;
    const struct lh_sim_result *result;
    double pixels_a_ns;
    int width, height;
    FILE *file;
};

static const char *const colours[LH_SIM_NAMES_MAX] = {"#1f77b4", "#e08214", "#2ca02c", "#9467bd",
                                                      "#8c564b", "#c51b8a", "#17868f", "#7f7f00"};
static const char *const words[LH_SIM_SPAN_KINDS] = {
#define WORDS(kind, words) words,
    LH_SIM_SPANS(WORDS)
#undef WORDS
};
static const char *const classes[LH_SIM_SPAN_KINDS] = {[LH_SIM_SPAN_NODE_HOLDS] = "node",
                                                       [LH_SIM_SPAN_CLIENT_HOLDS] = "client",
                                                       [LH_SIM_SPAN_CRASHED] = "crashed",
                                                       [LH_SIM_SPAN_STOPPED] = "stopped",
                                                       [LH_SIM_SPAN_HALTED] = "halted",
                                                       [LH_SIM_SPAN_NOT_SERVING] = "silent",
                                                       [LH_SIM_SPAN_PAUSED] = "paused",
                                                       [LH_SIM_SPAN_SUSPENDED] = "asleep",
                                                       [LH_SIM_SPAN_WIPED] = "wiped",
                                                       [LH_SIM_SPAN_LINK_CUT] = "link",
                                                       [LH_SIM_SPAN_DEAF] = "cut",
                                                       [LH_SIM_SPAN_MUTE] = "cut",
                                                       [LH_SIM_SPAN_CUT_OFF] = "cut",
                                                       [LH_SIM_SPAN_DISK_STALLED] = "disk",
                                                       [LH_SIM_SPAN_DISK_FULL] = "disk full",
                                                       [LH_SIM_SPAN_DISK_FAILING] = "disk failing"};

static const char style[] =
    "text{font:12px sans-serif;fill:#222}.small{font-size:10px}.right{text-anchor:end}"
    ".middle{text-anchor:middle}.lane{fill:#f6f6f6}.grid{stroke:#ddd}.second{stroke:#999}"
    ".node{fill-opacity:.3}.in{fill:#fff;font-size:9px;text-anchor:middle}"
    ".crashed{fill:#444;fill-opacity:.75}.stopped{fill:#999;fill-opacity:.75}"
    ".halted{fill:#7a2a2a;fill-opacity:.75}.silent{fill:url(#silent)}.paused{fill:url(#paused)}"
    ".asleep{fill:url(#asleep)}.wiped{fill:#d62728}.link{fill:#f4a6a6}.cut{fill:#d62728}"
    ".disk{fill:#bcbd22}.full{fill:#b8860b}.failing{fill:#5e3c99}.healed{stroke:#2ca02c;"
    "stroke-width:2;stroke-dasharray:6 3}.wrong{stroke:#d62728;stroke-width:2}.red{fill:#d62728}"
    ".two{stroke:#d62728;stroke-width:2}";

static const char patterns[] =
    "<defs>"
    "<pattern id='silent' width='6' height='6' patternUnits='userSpaceOnUse'>"
    "<path d='M0 6L6 0' stroke='#bbb'/></pattern>"
    "<pattern id='paused' width='5' height='5' patternUnits='userSpaceOnUse'>"
    "<rect width='5' height='5' fill='#fde9b8'/><path d='M2 0V5' stroke='#e0a800'/></pattern>"
    "<pattern id='asleep' width='5' height='5' patternUnits='userSpaceOnUse'>"
    "<rect width='5' height='5' fill='#dfe7fb'/><path d='M0 2H5' stroke='#6a8bd8'/></pattern>"
    "</defs>\n";

static double x_of(const struct picture *picture, int64_t at_ns)
{
    return LEFT + picture->pixels_a_ns * (double)at_ns;
}

static int lane_height(const struct picture *picture)
{
    return (int)picture->settings->names * ROW + 2 * LINE + 4;
}

static int y_of(const struct picture *picture, unsigned node)
{
    return TOP + (int)node * (lane_height(picture) + GAP);
}

static bool is_holder(const struct lh_sim_span *span)
{
    return span->kind == LH_SIM_SPAN_NODE_HOLDS || span->kind == LH_SIM_SPAN_CLIENT_HOLDS;
}

// Faults end when everything is healed, whatever they were to last.
static int64_t end_of(const struct picture *picture, const struct lh_sim_span *span)
{
    int64_t most = picture->result->at_ns;
    if (!is_holder(span) && span->kind >= LH_SIM_SPAN_PAUSED &&
        picture->timeline->healed_ns < most && picture->timeline->healed_ns > span->from_ns)
        most = picture->timeline->healed_ns;
    return span->to_ns < most ? span->to_ns : most;
}

// --- spans ---

static void who_text(const struct picture *picture, const struct lh_sim_span *span, char *ret_text,
                     size_t size)
{
    if (span->kind != LH_SIM_SPAN_CLIENT_HOLDS)
        snprintf(ret_text, size, "node %u", span->node + 1);
    else if (span->client == picture->settings->clients)
        snprintf(ret_text, size, "who asks after healing");
    else
        snprintf(ret_text, size, "client %u", span->client);
}

static void draw_title(const struct picture *picture, const struct lh_sim_span *span)
{
    char who[40];
    who_text(picture, span, who, sizeof who);
    fprintf(picture->file, "<title>%s %s", who, words[span->kind]);
    if (is_holder(span))
        fprintf(picture->file, " n%u, token %" PRIu64, span->which, span->token);
    if (span->kind == LH_SIM_SPAN_LINK_CUT)
        fprintf(picture->file, " %u", span->which + 1);
    fprintf(picture->file, ", %.6f s to %.6f s</title>", (double)span->from_ns / 1e9,
            (double)end_of(picture, span) / 1e9);
}

static void draw_span(const struct picture *picture, const struct lh_sim_span *span, int y,
                      int height, const char *more)
{
    double x = x_of(picture, span->from_ns);
    double width = x_of(picture, end_of(picture, span)) - x;
    double least = more[0] != '\0' ? 5 : 1;
    if (width < least) { // what is too short to be seen ends where it does
        x -= least - width;
        width = least;
    }
    fprintf(picture->file, "<rect class='%s%s' x='%.2f' y='%d' width='%.2f' height='%d'",
            classes[span->kind], more, x, y, width, height);
    if (is_holder(span))
        fprintf(picture->file, " fill='%s'", colours[span->which]);
    fputc('>', picture->file);
    draw_title(picture, span);
    fputs("</rect>\n", picture->file);
}

// Of what was still held when something was found wrong, what another one of its kind holds, too.
static bool is_disputed(const struct picture *picture, const struct lh_sim_span *span)
{
    const struct lh_sim_timeline *timeline = picture->timeline;
    int64_t at = picture->result->at_ns;
    if (picture->result->verdict != LH_SIM_UNSAFE || span->to_ns < at)
        return false;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct lh_sim_span *other = &timeline->spans[i];
        if (other != span && other->kind == span->kind && other->which == span->which &&
            other->to_ns >= at)
            return true;
    }
    return false;
}

static void draw_holder(const struct picture *picture, const struct lh_sim_span *span)
{
    int y = y_of(picture, span->node) + 2 + (int)span->which * ROW;
    const char *more = is_disputed(picture, span) ? " two" : "";
    if (span->kind == LH_SIM_SPAN_NODE_HOLDS) {
        draw_span(picture, span, y, ROW - 2, more);
        return;
    }
    double x = x_of(picture, span->from_ns);
    double width = x_of(picture, end_of(picture, span)) - x;
    draw_span(picture, span, y + 2, ROW - 6, more);
    if (width >= 22 && span->client < picture->settings->clients)
        fprintf(picture->file, "<text class='in' x='%.2f' y='%d'>c%u</text>\n", x + width / 2,
                y + ROW - 5, span->client);
}

static void draw_fault(const struct picture *picture, const struct lh_sim_span *span)
{
    int top = y_of(picture, span->node);
    int rows = (int)picture->settings->names * ROW + 2;
    if (span->kind == LH_SIM_SPAN_WIPED)
        fprintf(picture->file,
                "<path class='wiped' d='M%.2f %d l-5 -9 h10 z'><title>node %u loses its disk, at "
                "%.6f s</title></path>\n",
                x_of(picture, span->from_ns), top, span->node + 1, (double)span->from_ns / 1e9);
    else if (span->kind >= LH_SIM_SPAN_DISK_STALLED)
        draw_span(picture, span, top + rows + 1 + LINE, LINE - 1, "");
    else if (span->kind >= LH_SIM_SPAN_LINK_CUT)
        draw_span(picture, span, top + rows, LINE - 1, "");
    else
        draw_span(picture, span, top, rows, "");
}

static void draw_spans(const struct picture *picture)
{
    const struct lh_sim_timeline *timeline = picture->timeline;
    for (size_t i = 0; i < timeline->count; i++)
        if (!is_holder(&timeline->spans[i]))
            draw_fault(picture, &timeline->spans[i]);
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->spans[i].kind == LH_SIM_SPAN_NODE_HOLDS)
            draw_holder(picture, &timeline->spans[i]);
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->spans[i].kind == LH_SIM_SPAN_CLIENT_HOLDS)
            draw_holder(picture, &timeline->spans[i]);
}

// --- around them ---

static void draw_lanes(const struct picture *picture)
{
    for (unsigned i = 0; i < picture->settings->nodes; i++) {
        int y = y_of(picture, i);
        fprintf(picture->file,
                "<rect class='lane' x='%d' y='%d' width='%d' height='%d'/>"
                "<text x='8' y='%d'>node %u</text>\n",
                LEFT, y, picture->width - LEFT - RIGHT, lane_height(picture), y + 12, i + 1);
        for (unsigned name = 0; name < picture->settings->names; name++)
            fprintf(picture->file, "<text class='small right' x='%d' y='%d'>n%u</text>\n", LEFT - 6,
                    y + 12 + (int)name * ROW, name);
        fprintf(picture->file, "<text class='small right' x='%d' y='%d'>links, disk</text>\n",
                LEFT - 6, y + lane_height(picture));
    }
}

// So many seconds between two lines that their numbers do not run into each other.
static int64_t grid_seconds(const struct picture *picture)
{
    static const int64_t choices[] = {1, 2, 5, 10, 30, 60, 120, 300, 600};
    unsigned i = 0;
    while (i + 1 < sizeof choices / sizeof choices[0] &&
           (double)choices[i] * 1e9 * picture->pixels_a_ns < 44)
        i++;
    return choices[i];
}

static void draw_grid(const struct picture *picture)
{
    int64_t every = grid_seconds(picture);
    int bottom = picture->height - 24;
    for (int64_t s = 0; s * LH_NS_PER_S <= picture->result->at_ns; s += every) {
        double x = x_of(picture, s * LH_NS_PER_S);
        fprintf(picture->file,
                "<line class='grid' x1='%.2f' y1='%d' x2='%.2f' y2='%d'/>"
                "<text class='small middle' x='%.2f' y='%d'>%" PRId64 " s</text>\n",
                x, TOP - 12, x, bottom, x, bottom + 14, s);
    }
}

static void draw_line(const struct picture *picture, const char *class, int64_t at_ns,
                      const char *text)
{
    double x = x_of(picture, at_ns);
    bool late = x > picture->width / 2.0;
    fprintf(picture->file,
            "<line class='%s' x1='%.2f' y1='%d' x2='%.2f' y2='%d'/>"
            "<text class='small%s%s' x='%.2f' y='%d'>%s</text>\n",
            class, x, TOP - 14, x, picture->height - 24, late ? " right" : "",
            strcmp(class, "wrong") == 0 ? " red" : "", x + (late ? -4 : 4), TOP - 16, text);
}

static void draw_legend(const struct picture *picture)
{
    static const enum lh_sim_span_kind shown[] = {
        LH_SIM_SPAN_CRASHED,      LH_SIM_SPAN_STOPPED,   LH_SIM_SPAN_HALTED,
        LH_SIM_SPAN_PAUSED,       LH_SIM_SPAN_SUSPENDED, LH_SIM_SPAN_NOT_SERVING,
        LH_SIM_SPAN_WIPED,        LH_SIM_SPAN_LINK_CUT,  LH_SIM_SPAN_CUT_OFF,
        LH_SIM_SPAN_DISK_STALLED, LH_SIM_SPAN_DISK_FULL, LH_SIM_SPAN_DISK_FAILING};
    static const char *const texts[] = {
        "crashed",           "stopped in order", "halted itself",
        "stands still",      "sleeps",           "serves not yet",
        "disk is lost",      "a link is cut",    "deaf, mute or cut off",
        "disk stands still", "disk is full",     "disk fails"};
    int x = 8;
    for (unsigned i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        if (shown[i] == LH_SIM_SPAN_WIPED)
            fprintf(picture->file, "<path class='wiped' d='M%d 68 l-5 -9 h10 z'/>", x + 7);
        else
            fprintf(picture->file, "<rect class='%s' x='%d' y='58' width='14' height='10'/>",
                    classes[shown[i]], x);
        fprintf(picture->file, "<text class='small' x='%d' y='67'>%s</text>\n", x + 18, texts[i]);
        x += 28 + 5 * (int)strlen(texts[i]) + (int)strlen(texts[i]) / 3;
    }
}

void lh_sim_timeline_draw(struct lh_sim_timeline *timeline, const struct lh_sim_settings *settings,
                          const struct lh_sim_result *result, FILE *file)
{
    struct picture picture = {timeline, settings, result, 0, 0, 0, file};
    double seconds = (double)(result->at_ns < LH_NS_PER_S ? LH_NS_PER_S : result->at_ns) / 1e9;
    double inner = seconds * PIXELS_A_SECOND;
    inner = inner > WIDTH_MOST ? WIDTH_MOST : inner < 1100 ? 1100 : inner;
    while (timeline->open_count > 0)
        lh_sim_timeline_end(timeline, &timeline->open[0], result->at_ns);
    picture.pixels_a_ns = inner / seconds / 1e9;
    picture.width = LEFT + (int)inner + RIGHT;
    picture.height = y_of(&picture, (unsigned)settings->nodes) + 24;
    fprintf(
        file,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d'>\n<style>%s</style>\n%s"
        "<rect width='100%%' height='100%%' fill='#fff'/>\n"
        "<text x='8' y='20'>leasehold sim --seed %" PRIu64 ": who held what, in true time</text>\n"
        "<text class='small' x='8' y='40'>light: the node holds the name; full: the client that "
        "was granted it there believes so (its number inside)</text>\n",
        picture.width, picture.height, style, patterns, settings->seed);
    draw_legend(&picture);
    draw_lanes(&picture);
    draw_grid(&picture);
    draw_spans(&picture);
    if (timeline->healed_ns != INT64_MAX)
        draw_line(&picture, "healed", timeline->healed_ns, "healed");
    if (result->verdict != LH_SIM_CLEAN)
        draw_line(&picture, "wrong", result->at_ns, result->what);
    fprintf(file, "</svg>\n");
}
