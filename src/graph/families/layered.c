/* Layered graphs as in Gagrani et al., "Neural Topological Ordering for Computation Graphs", 2022. */
#include "graph/generate.h"

#include <assert.h>
#include <math.h>

enum { WIDTH, DENSITY, SKIPS };
static const sked_option options[] = {
    {"width", SKED_OPTION_REAL, "0", 0, 0.999, NULL,
     "width factor W: about sqrt(nodes (1/W - 1)) layers; 0: drawn from 0.25 to 0.5"},
    {"density", SKED_OPTION_REAL, "0.2", 0, 1, NULL,
     "share of all edges between two neighbouring layers, beside 0.8 for each op of the larger one; not "
     "given "
     "and over 1000 ops: lowered to about 4 edges per op"},
    {"skips", SKED_OPTION_REAL, "0.14", 0, 0.9, NULL, "share of edges that skip at least one layer"},
};

typedef struct layers {
    int32_t *first; /* [count + 1] first op of each */
    int64_t cap;
    int32_t count;
    double mean; /* size that the sizes vary around */
} layers;

/* Sizes uniform in [ceil(0.25 mean), floor(1.75 mean)] until all ops are placed. */
static sked_status cut_layers(sked_i_draft *p, layers *l, sked_error *err)
{
    const double n = p->nodes, u = sked_i_rng_uniform(&p->rng);
    const double width = p->value[WIDTH] > 0 ? p->value[WIDTH] : 0.25 + 0.25 * u;
    l->mean = n / fmax(1, ceil(sqrt(n * (1 / width - 1))));
    const int64_t lo = (int64_t)fmax(1, ceil(0.25 * l->mean)),
                  hi = (int64_t)fmax((double)lo, floor(1.75 * l->mean));
    int64_t placed = 0;
    for (l->count = 0;; l->count++) {
        if (!SKED_OWN_GROW(&p->arena, l->first, l->cap, (int64_t)l->count + 1))
            return sked_i_no_memory(err);
        l->first[l->count] = (int32_t)placed;
        if (placed == p->nodes)
            return SKED_OK;
        placed += lo + (int64_t)sked_i_rng_below(&p->rng, (uint64_t)(hi - lo) + 1);
        placed = placed < p->nodes ? placed : p->nodes;
    }
}

static int64_t edges_between(double density, int64_t a, int64_t b)
{
    const int64_t larger = a > b ? a : b; /* every op of the larger layer has one at least */
    const double count = floor(density * (double)a * (double)b + 0.8 * (double)larger + 1e-9);
    return (int64_t)fmin((double)a * (double)b, fmax((double)larger, count));
}

/*
 * Spreads the edges evenly over the larger layer; ties by chance (each remaining op gets one more with the
 * probability that is left). An op is joined to a window around its proportional place in the smaller layer.
 */
static void join_layers(sked_i_draft *p, const layers *l, int32_t upper, double density)
{
    const int32_t *first = l->first + upper;
    const int64_t a = first[1] - first[0], b = first[2] - first[1], count = edges_between(density, a, b);
    const bool down = a >= b; /* the upper layer is the larger one */
    const int64_t large = down ? a : b, small = down ? b : a;
    int64_t extra = count % large;
    for (int64_t i = 0; i < large; i++) {
        const bool more = sked_i_rng_below(&p->rng, (uint64_t)(large - i)) < (uint64_t)extra;
        const int64_t window = count / large + more;
        assert(window >= 1 && window <= small);
        int64_t start = (2 * i + 1) * small + large - window * large;
        start = start < 0 ? 0 : start / (2 * large);
        start = start < small - window ? start : small - window;
        extra -= more;
        for (int64_t k = start; k < start + window; k++)
            sked_i_draft_edge(p, (int32_t)(first[0] + (down ? i : k)), (int32_t)(first[1] + (down ? k : i)));
    }
}

static int32_t op_at(const layers *l, int64_t layer, double place)
{
    return l->first[layer] + (int32_t)(place * (l->first[layer + 1] - l->first[layer]));
}

static void add_skip(sked_i_draft *p, const layers *l)
{
    const int64_t from = (int64_t)sked_i_rng_below(&p->rng, (uint64_t)l->count - 2);
    const int64_t to = from + 2 + (int64_t)sked_i_rng_below(&p->rng, (uint64_t)(l->count - from - 2));
    const double x = sked_i_rng_uniform(&p->rng), y = fmin(0.999, x + 0.2 * sked_i_rng_uniform(&p->rng));
    sked_i_draft_edge(p, op_at(l, from, x), op_at(l, to, y));
}

static sked_status lay_out(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    layers l = {0};
    double density = p->value[DENSITY], edges = 0;
    const double share = p->value[SKIPS] / (1 - p->value[SKIPS]);
    SKED_TRY(cut_layers(p, &l, err));
    if (p->nodes > SKED_I_DENSE_OPS && !p->given[DENSITY])
        density = fmin(density, 4 / l.mean);
    for (int32_t i = 0; i + 1 < l.count; i++)
        edges += (double)edges_between(density, l.first[i + 1] - l.first[i], l.first[i + 2] - l.first[i + 1]);
    const double skips = l.count < 3 ? 0 : ceil(edges * share - 1e-9);
    SKED_TRY(sked_i_draft_reserve(p, edges + skips, "layered: density", err));
    for (int32_t i = 0; i + 1 < l.count; i++)
        join_layers(p, &l, i, density);
    for (int64_t k = 0; k < (int64_t)skips; k++)
        add_skip(p, &l);
cleanup:
    return st;
}

const sked_i_family sked_i_family_layered = {
    .info = {"layered", "layers of random size, each joined to the next, and some edges that skip layers",
             options, COUNT_OF(options), "uniform:0,1"},
    .lay_out = lay_out,
};
