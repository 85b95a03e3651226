#include "engine/binding/colour.h"

#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { most_cuts = 32 };

typedef struct painter {
    const sked_i_arc *arc;
    double period;
    int32_t n;      /* arcs that count: order[0..n-1] */
    int32_t *order; /* by their start after the cut; those that cross it first */
    double *begin;  /* [arcs] start after the cut */
    double *taken,
        *crossed;    /* [colours] its last arc ends there; the arc that crosses the cut begins there */
    int32_t *trial;  /* [arcs] colours of an attempt */
    int32_t *choice; /* [n] of the search */
    double *before;  /* [n] `taken` before it */
    sked_i_keyed *key, *spare;
    int32_t crossing; /* arcs that cross the cut */
} painter;

static double fold(double x, double period)
{
    const double rest = fmod(x, period);
    return rest < 0 ? rest + period : rest;
}

bool sked_i_arcs_overlap(const sked_i_arc *a, const sked_i_arc *b, double period)
{
    if (!(a->length > 0) || !(b->length > 0))
        return false;
    if (period == 0)
        return a->start < b->start + b->length && b->start < a->start + a->length;
    const double gap = fold(b->start - a->start, period);
    return gap < a->length || period - gap < b->length;
}

/* Arcs in the order of their starts after a cut; those that cross it come first. */
static void cut(painter *x, int32_t arcs, double at)
{
    x->n = x->crossing = 0;
    for (int32_t i = 0; i < arcs; i++) {
        const sked_i_arc *a = &x->arc[i];
        x->trial[i] = 0;
        if (!(a->length > 0))
            continue;
        x->begin[i] = x->period > 0 ? fold(a->start - at, x->period) : a->start;
        const bool crosses = x->period > 0 && x->begin[i] + a->length > x->period;
        x->crossing += crosses;
        x->key[x->n++] =
            (sked_i_keyed){sked_i_sort_key(crosses ? -1 - x->period + x->begin[i] : x->begin[i]), i};
    }
    sked_i_sort_keyed(x->key, x->spare, x->n);
    for (int32_t k = 0; k < x->n; k++)
        x->order[k] = (int32_t)x->key[k].value;
}

/* Arcs that cross the cut have colours of their own, which they hold at both ends. */
static void paint_crossing(painter *x)
{
    for (int32_t k = 0; k < x->crossing; k++) {
        const int32_t i = x->order[k];
        x->trial[i] = k;
        x->taken[k] = x->begin[i] + x->arc[i].length - x->period;
        x->crossed[k] = x->begin[i];
    }
}

static bool fits(const painter *x, int32_t i, int32_t colour)
{
    return x->taken[colour] <= x->begin[i] && x->begin[i] + x->arc[i].length <= x->crossed[colour];
}

/* Each arc takes the colour that was free for the shortest time. Returns how many there are. */
static int32_t paint_greedily(painter *x)
{
    int32_t colours = x->crossing;
    paint_crossing(x);
    for (int32_t k = x->crossing; k < x->n; k++) {
        const int32_t i = x->order[k];
        int32_t best = -1;
        for (int32_t c = 0; c < colours; c++)
            if (fits(x, i, c) && (best < 0 || x->taken[c] > x->taken[best] ||
                                  (x->taken[c] == x->taken[best] && x->crossed[c] < x->crossed[best])))
                best = c;
        if (best < 0) {
            best = colours++;
            x->crossed[best] = INFINITY;
        }
        x->taken[best] = x->begin[i] + x->arc[i].length;
        x->trial[i] = best;
    }
    return colours;
}

/* Did an earlier colour offer the same? Then this one leads nowhere else. */
static bool is_twin(const painter *x, int32_t colour)
{
    for (int32_t c = 0; c < colour; c++)
        if (x->taken[c] == x->taken[colour] && x->crossed[c] == x->crossed[colour])
            return true;
    return false;
}

/* Depth first over the arcs in order, with so many colours; complete but for the effort. */
static bool paint_exactly(painter *x, int32_t colours, int64_t effort)
{
    if (x->crossing > colours)
        return false;
    paint_crossing(x);
    for (int32_t c = x->crossing; c < colours; c++) {
        x->taken[c] = -INFINITY;
        x->crossed[c] = INFINITY;
    }
    for (int32_t k = x->crossing, c = 0; k < x->n;) {
        const int32_t i = x->order[k];
        while (c < colours && !(fits(x, i, c) && !is_twin(x, c)))
            c++;
        if (effort-- <= 0 || (c == colours && k == x->crossing))
            return false;
        if (c < colours) {
            x->choice[k] = x->trial[i] = c;
            x->before[k] = x->taken[c];
            x->taken[c] = x->begin[i] + x->arc[i].length;
            k++, c = 0;
        } else {
            c = x->choice[--k];
            x->taken[c++] = x->before[k];
        }
    }
    return true;
}

/* Most arcs that overlap at once. The cut is at 0. */
static int32_t peak_load(const painter *x)
{
    int32_t load = x->crossing, peak = load;
    for (int32_t k = 0; k < x->n; k++) { /* ends first: they come before starts at the same time */
        const int32_t i = x->order[k];
        const double end = x->begin[i] + x->arc[i].length;
        x->key[k] = (sked_i_keyed){sked_i_sort_key(end > x->period ? end - x->period : end), -1};
        x->key[x->n + k] = (sked_i_keyed){sked_i_sort_key(x->begin[i]), 1};
    }
    sked_i_sort_keyed(x->key, x->spare, 2 * (int64_t)x->n);
    for (int64_t k = 0; k < 2 * (int64_t)x->n; k++) {
        load += (int32_t)x->key[k].value;
        peak = load > peak ? load : peak;
    }
    return peak;
}

/* The greedy rule with room for any number of arcs: colours that are free stand on a stack, by time. */
static void paint_line(painter *x, int32_t *colour, int32_t *colours)
{
    int32_t ends = 0, free_colours = 0, *const stack = x->choice;
    for (int32_t k = 0; k < x->n; k++) {
        const sked_i_arc *a = &x->arc[x->order[k]];
        x->key[k] = (sked_i_keyed){sked_i_sort_key(a->start + a->length), x->order[k]};
    }
    sked_i_sort_keyed(x->key, x->spare, x->n);
    for (int32_t k = 0; k < x->n; k++) {
        const int32_t i = x->order[k];
        for (; sked_i_sort_value(x->key[ends].key) <= x->arc[i].start; ends++)
            stack[free_colours++] = colour[x->key[ends].value];
        colour[i] = free_colours > 0 ? stack[--free_colours] : (*colours)++;
    }
}

/* Several cuts, then the search, until as many colours do as overlap. */
static void paint_circle(painter *x, int32_t arcs, int64_t effort, int32_t *colour, int32_t *colours)
{
    const int32_t peak = peak_load(x), step = x->n > most_cuts ? x->n / most_cuts : 1;
    *colours = INT32_MAX;
    for (int32_t k = 0; k<arcs && * colours> peak; k += step) {
        cut(x, arcs, x->arc[k].start);
        const int32_t found = paint_greedily(x);
        if (found < *colours) {
            *colours = found;
            memcpy(colour, x->trial, (size_t)arcs * sizeof *colour);
        }
    }
    for (int32_t wanted = peak; wanted < *colours && effort > 0; wanted++)
        if (paint_exactly(x, wanted, effort)) {
            *colours = wanted;
            memcpy(colour, x->trial, (size_t)arcs * sizeof *colour);
        }
}

sked_status sked_i_colour(const sked_i_arc *arc, int32_t n, double period, int64_t effort, int32_t *colour,
                          int32_t *colours, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    painter x = {.arc = arc, .period = period};
    SKED_OWN(&arena, x.order, n);
    SKED_OWN(&arena, x.begin, n);
    SKED_OWN(&arena, x.taken, n);
    SKED_OWN(&arena, x.crossed, n);
    SKED_OWN(&arena, x.trial, n);
    SKED_OWN(&arena, x.choice, n);
    SKED_OWN(&arena, x.before, n);
    SKED_OWN(&arena, x.key, 2 * (int64_t)n);
    SKED_OWN(&arena, x.spare, 2 * (int64_t)n);
    *colours = 0;
    for (int32_t i = 0; i < n; i++)
        colour[i] = 0;
    cut(&x, n, 0);
    if (x.n > 0 && period > 0)
        paint_circle(&x, n, effort, colour, colours);
    else if (x.n > 0)
        paint_line(&x, colour, colours);
    if (*colours == 0 && n > 0)
        *colours = 1;
cleanup:
    sked_i_arena_free(&arena);
    return st;
}
