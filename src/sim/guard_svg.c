// See guard_svg.h. Every colour and every point of the line comes from a run, none from a formula.
#include "sim/guard_svg.h"

#include <inttypes.h>

enum { LEFT = 60, TOP = 64, CELL_MOST = 46, CELL_LEAST = 6, TEXT_FROM = 34, SIDE = 900 };

struct map {
    const struct lh_guard_world *world;
    const struct lh_guard_list *skews, *guards;
    int cell;
    int64_t most; // the greatest overlap or gap on the grid
    FILE *file;
};

static int cell_size(const struct lh_guard_list *skews, const struct lh_guard_list *guards)
{
    const size_t count = skews->count > guards->count ? skews->count : guards->count;
    const int size = SIDE / (int)count;
    return size > CELL_MOST ? CELL_MOST : size < CELL_LEAST ? CELL_LEAST : size;
}

static int x_of(const struct map *map, size_t skew)
{
    return LEFT + (int)skew * map->cell;
}

static int y_of(const struct map *map, size_t guard)
{
    return TOP + (int)(map->guards->count - 1 - guard) * map->cell;
}

static void each_cell(struct map *map,
                      void (*visit)(struct map *, size_t, size_t, const struct lh_guard_counts *))
{
    struct lh_guard_counts counts;
    for (size_t s = 0; s < map->skews->count; s++) {
        for (size_t g = 0; g < map->guards->count; g++) {
            lh_guard_run(map->world, map->skews->values[s], map->guards->values[g], &counts);
            visit(map, s, g, &counts);
        }
    }
}

static void measure(struct map *map, size_t s, size_t g, const struct lh_guard_counts *counts)
{
    (void)s;
    (void)g;
    if (counts->overlap > map->most)
        map->most = counts->overlap;
    if (counts->gap > map->most)
        map->most = counts->gap;
}

// From nearly white to full in steps of the greatest count.
static int fade(const struct map *map, int64_t count)
{
    return count == 0 ? 255 : (int)(215 - 175 * count / map->most);
}

static void draw_cell(struct map *map, size_t s, size_t g, const struct lh_guard_counts *counts)
{
    const int x = x_of(map, s);
    const int y = y_of(map, g);
    const int overlap = fade(map, counts->overlap);
    const int gap = fade(map, counts->gap);
    const int green = overlap < gap ? overlap : gap;
    fprintf(map->file,
            "<rect x='%d' y='%d' width='%d' height='%d' fill='rgb(%d,%d,%d)'><title>skew %" PRId64
            ", guard %" PRId64 ": overlap %" PRId64 ", gap %" PRId64 "%s</title></rect>\n",
            x, y, map->cell, map->cell, gap, green, overlap, map->skews->values[s],
            map->guards->values[g], counts->overlap, counts->gap,
            counts->cut ? ", cut by the window" : "");
    if (counts->cut)
        fprintf(map->file, "<rect class='cut' x='%d' y='%d' width='%d' height='%d'/>\n", x, y,
                map->cell, map->cell);
    if (map->cell >= TEXT_FROM)
        fprintf(map->file, "<text x='%d' y='%d'>%" PRId64 " / %" PRId64 "</text>\n",
                x + map->cell / 2, y + map->cell / 2 + 4, counts->overlap, counts->gap);
}

static void draw_axes(const struct map *map)
{
    // So that labels do not run into each other.
    const size_t every = (size_t)((27 + map->cell) / map->cell);
    const int bottom = TOP + (int)map->guards->count * map->cell;
    for (size_t s = 0; s < map->skews->count; s += every)
        fprintf(map->file, "<text x='%d' y='%d'>%" PRId64 "</text>\n", x_of(map, s) + map->cell / 2,
                bottom + 16, map->skews->values[s]);
    for (size_t g = 0; g < map->guards->count; g += every)
        fprintf(map->file, "<text x='%d' y='%d'>%" PRId64 "</text>\n", LEFT - 20,
                y_of(map, g) + map->cell / 2 + 4, map->guards->values[g]);
    fprintf(map->file,
            "<text x='%d' y='%d' class='left'>skew, ticks that the holder's clock is behind"
            "</text><text x='10' y='%d' class='left'>guard</text>\n",
            LEFT, bottom + 36, TOP - 8);
}

// The height of `guard` (in half ticks) between the rows of the grid, if it lies between two.
static bool height_of(const struct map *map, int64_t half_ticks, int *ret_y)
{
    const int middle = map->cell / 2;
    for (size_t g = 0; g < map->guards->count; g++) {
        const int64_t here = 2 * map->guards->values[g];
        if (here == half_ticks) {
            *ret_y = y_of(map, g) + middle;
            return true;
        }
        if (here > half_ticks && g > 0) {
            const int64_t below = 2 * map->guards->values[g - 1];
            *ret_y = y_of(map, g - 1) + middle -
                     (int)(map->cell * (half_ticks - below) / (here - below));
            return true;
        }
        if (here > half_ticks)
            return false;
    }
    return false;
}

// Where overlap turns into gap, in half ticks: a clean guard, or between the last with an overlap
// and the first without.
static bool turning_point(const struct map *map, int64_t skew, int64_t *ret_half_ticks)
{
    struct lh_guard_found found;
    lh_guard_search(map->world, skew, &found);
    if (found.clean_count > 0)
        *ret_half_ticks = 2 * found.clean;
    else if (found.any && found.smallest > 0)
        *ret_half_ticks = 2 * found.smallest - 1;
    return found.clean_count > 0 || (found.any && found.smallest > 0);
}

static void draw_line(const struct map *map)
{
    fprintf(map->file, "<polyline class='exact' points='");
    for (size_t s = 0; s < map->skews->count; s++) {
        int64_t half_ticks;
        int y;
        if (turning_point(map, map->skews->values[s], &half_ticks) &&
            height_of(map, half_ticks, &y))
            fprintf(map->file, "%d,%d ", x_of(map, s) + map->cell / 2, y);
    }
    fprintf(map->file, "'/>\n");
}

void lh_guard_draw(const struct lh_guard_world *world, const struct lh_guard_list *skews,
                   const struct lh_guard_list *guards, FILE *file)
{
    struct map map = {world, skews, guards, cell_size(skews, guards), 1, file};
    const int width = LEFT + (int)skews->count * map.cell + 20;
    const int height = TOP + (int)guards->count * map.cell + 50;
    each_cell(&map, measure);
    fprintf(
        file,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d'>\n<style>text{font:12px "
        "sans-serif;text-anchor:middle;fill:#222}.left{text-anchor:start}.exact{fill:none;"
        "stroke:#111;stroke-width:2}.cut{fill:url(#hatch)}</style>\n<defs><pattern id='hatch' "
        "width='6' height='6' patternUnits='userSpaceOnUse'><path d='M0 6L6 0' stroke='#555'/>"
        "</pattern></defs>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
        width < 560 ? 560 : width, height);
    fprintf(file,
            "<text x='10' y='20' class='left'>ticks with two leaders / ticks with none, lease end "
            "%" PRId64 ", window %" PRId64 "..%" PRId64 "</text>\n<text x='10' y='38' class='left'>"
            "red: overlap, blue: gap, hatched: cut by the window, line: neither</text>\n",
            world->lease_end, world->first, world->last);
    each_cell(&map, draw_cell);
    draw_axes(&map);
    draw_line(&map);
    fprintf(file, "</svg>\n");
}
