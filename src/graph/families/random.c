/*
 * The classical random graphs. Each is drawn in time linear in ops and edges and, where it is undirected by
 * nature, becomes a DAG by orienting every edge along a random order of the ops; ops are numbered by that
 * order.
 */
#include "base/explog.h"
#include "graph/generate.h"

#include <math.h>
#include <string.h>

/* Expected edges plus some deviations, so that the list rarely grows. */
static double with_slack(double edges)
{
    return edges + 4 * sqrt(edges) + 16;
}

/* Up to SKED_I_DENSE_OPS the published density; above it about 4 edges leave an op. */
static double thinned(const sked_i_draft *p, double edges)
{
    return p->nodes <= SKED_I_DENSE_OPS ? 1 : fmin(1, 4.0 * p->nodes / edges);
}

typedef struct block {
    int32_t first, count;
} block;

/*
 * Each pair of an op of a with an op of b (the same block: each unordered pair) with probability chance.
 * Jumps from one edge to the next by geometric gaps (Batagelj and Brandes 2005): O(rows + edges).
 */
static void draw_pairs(sked_i_draft *p, double chance, block a, block b)
{
    if (chance <= 0)
        return;
    const bool same = a.first == b.first;
    const double log_miss = chance < 1e-5   ? -chance * (1 + chance * (0.5 + chance / 3))
                            : chance >= 1.0 ? -INFINITY
                                            : sked_i_log(1 - chance);
    int32_t row = 0;
    double at = -1; /* column within the row; exact far beyond any row's length */
    for (;;) {
        at += 1 + floor(sked_i_log(1 - sked_i_rng_uniform(&p->rng)) / log_miss);
        while (row < a.count && at >= (same ? a.count - 1 - row : b.count)) {
            at -= same ? a.count - 1 - row : b.count;
            row++;
        }
        if (row >= a.count)
            return;
        sked_i_draft_edge(p, a.first + row, (same ? a.first + row + 1 : b.first) + (int32_t)at);
    }
}

/* Renames all ops by a random order and points every edge forward in it. */
static sked_status orient(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *rank = NULL;
    SKED_NEW(rank, p->n);
    for (int32_t i = 0; i < p->n; i++)
        rank[i] = i;
    sked_i_rng_shuffle(&p->rng, rank, p->n);
    for (int64_t e = 0; e < p->n_edges; e++) {
        const int32_t a = rank[p->from[e]], b = rank[p->to[e]];
        p->from[e] = a < b ? a : b;
        p->to[e] = a < b ? b : a;
    }
cleanup:
    free(rank);
    return st;
}

/* ------------------------------------------------------------------ erdos-renyi */

enum { ER_P };
static const sked_option er_options[] = {
    {"p", SKED_OPTION_REAL, "0.05", 0, 1, NULL,
     "probability of each edge; not given and over 1000 ops: 8/(nodes - 1) where that is less"},
};

static sked_status lay_out_er(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const double pairs = 0.5 * p->nodes * (p->nodes - 1.0);
    double chance = p->value[ER_P];
    if (!p->given[ER_P])
        chance *= thinned(p, chance * pairs);
    SKED_TRY(sked_i_draft_reserve(p, with_slack(chance * pairs), "erdos-renyi: p", err));
    const block all = {0, p->n}; /* all orders are alike here, so the numbering itself is one */
    draw_pairs(p, chance, all, all);
cleanup:
    return st;
}

const sked_i_family sked_i_family_erdos_renyi = {
    .info = {"erdos-renyi", "every pair of ops is an edge with the same probability", er_options,
             COUNT_OF(er_options), "uniform:0,1"},
    .lay_out = lay_out_er,
};

/* ------------------------------------------------------------------ stochastic-block */

enum { SBM_BLOCKS, SBM_IN, SBM_OUT };
static const sked_option sbm_options[] = {
    {"blocks", SKED_OPTION_INT, "4", 1, 1000, NULL, "communities, of equal size"},
    {"p-in", SKED_OPTION_REAL, "0.3", 0, 1, NULL,
     "probability of an edge inside a community; not given and over 1000 ops: lowered to about 4 edges per "
     "op"},
    {"p-out", SKED_OPTION_REAL, "0.001", 0, 1, NULL, "probability of an edge between communities; likewise"},
};

static block block_at(int32_t n, int64_t blocks, int64_t i)
{
    const int64_t first = n * i / blocks;
    return (block){(int32_t)first, (int32_t)(n * (i + 1) / blocks - first)};
}

static sked_status lay_out_sbm(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const double n = p->nodes;
    const int blocks = (int)p->value[SBM_BLOCKS];
    const double inside = 0.5 * n * (n / blocks - 1), across = 0.5 * n * (n - n / blocks);
    double in = p->value[SBM_IN], out = p->value[SBM_OUT];
    const double thin = thinned(p, fmax(0, in * inside) + out * across + 1);
    in *= p->given[SBM_IN] ? 1 : thin;
    out *= p->given[SBM_OUT] ? 1 : thin;
    SKED_TRY(sked_i_draft_reserve(p, with_slack(fmax(0, in * inside) + out * across),
                                  "stochastic-block: p-in and p-out", err));
    for (int i = 0; i < blocks; i++)
        for (int j = i; j < blocks; j++) {
            const block a = block_at(p->n, blocks, i), b = block_at(p->n, blocks, j);
            if (a.count > 0 && b.count > 0)
                draw_pairs(p, i == j ? in : out, a, b);
        }
    SKED_TRY(orient(p, err));
cleanup:
    return st;
}

const sked_i_family sked_i_family_stochastic_block = {
    .info = {"stochastic-block", "communities of ops with many edges inside and few between them",
             sbm_options, COUNT_OF(sbm_options), "uniform:0,1"},
    .lay_out = lay_out_sbm,
};

/* ------------------------------------------------------------------ watts-strogatz */

enum { WS_K, WS_BETA };
static const sked_option ws_options[] = {
    {"k", SKED_OPTION_INT, "4", 2, 1000, NULL,
     "neighbours of each op on the ring, even; fewer where nodes <= k"},
    {"beta", SKED_OPTION_REAL, "0.3", 0, 1, NULL, "probability that an edge is moved to a random op"},
};

/* The ring and what was moved: a bit per ring edge, and the new edges in an open-addressing set. */
typedef struct ring {
    int64_t n, reach; /* ops; ring edges that start at each */
    uint64_t *moved;  /* bit op * reach + step - 1 */
    uint64_t *key;    /* [mask + 1], 0: empty */
    uint64_t mask, keys;
} ring;

static uint64_t *find_key(const ring *g, int64_t a, int64_t b)
{
    const uint64_t key = (uint64_t)(a < b ? a : b) << 32 | (uint64_t)(a < b ? b : a);
    uint64_t k = (key * 0x9e3779b97f4a7c15u >> 20) & g->mask;
    while (g->key[k] != 0 && g->key[k] != key)
        k = (k + 1) & g->mask;
    return &g->key[k];
}

static bool on_ring(const ring *g, int64_t a, int64_t b)
{
    const int64_t step = b > a ? b - a : b - a + g->n, bit = a * g->reach + step - 1;
    return step <= g->reach && !(g->moved[bit >> 6] >> (bit & 63) & 1);
}

static bool joined(const ring *g, int64_t a, int64_t b)
{
    return on_ring(g, a, b) || on_ring(g, b, a) || *find_key(g, a, b) != 0;
}

/* Another end for the ring edge of `op`, or its own where a few dozen draws find none. */
static int64_t move_edge(sked_i_draft *p, ring *g, int64_t op, int64_t step)
{
    const int64_t bit = op * g->reach + step - 1;
    for (int attempt = 0; attempt < 64 && 2 * g->keys <= g->mask; attempt++) {
        const int64_t to = (int64_t)sked_i_rng_below(&p->rng, (uint64_t)g->n);
        if (to == op || joined(g, op, to))
            continue;
        *find_key(g, op, to) = (uint64_t)(op < to ? op : to) << 32 | (uint64_t)(op < to ? to : op);
        g->keys++;
        g->moved[bit >> 6] |= (uint64_t)1 << (bit & 63);
        return to;
    }
    return (op + step) % g->n;
}

static sked_status lay_out_ws(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const double beta = p->value[WS_BETA];
    const int64_t n = p->nodes, half = (int64_t)p->value[WS_K] / 2;
    ring g = {.n = n, .reach = half < (n - 1) / 2 ? half : (n - 1) / 2, .mask = 63};
    if (p->value[WS_K] != 2 * half)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "watts-strogatz: k must be even, not %g", p->value[WS_K]);
    const int64_t edges = n * g.reach;
    SKED_TRY(sked_i_draft_reserve(p, (double)edges, "watts-strogatz: k", err));
    while ((double)g.mask < 2 * with_slack(beta * (double)edges))
        g.mask = 2 * g.mask + 1;
    SKED_NEW0(g.moved, edges / 64 + 1);
    SKED_NEW0(g.key, (int64_t)g.mask + 1);
    for (int64_t step = 1; step <= g.reach; step++)
        for (int64_t op = 0; op < n; op++) {
            const bool moves = sked_i_rng_uniform(&p->rng) < beta;
            sked_i_draft_edge(p, (int32_t)op,
                              (int32_t)(moves ? move_edge(p, &g, op, step) : (op + step) % n));
        }
    SKED_TRY(orient(p, err));
cleanup:
    free(g.moved);
    free(g.key);
    return st;
}

const sked_i_family sked_i_family_watts_strogatz = {
    .info = {"watts-strogatz", "a ring of near neighbours, some of whose edges are moved to random ops",
             ws_options, COUNT_OF(ws_options), "uniform:0,1"},
    .lay_out = lay_out_ws,
};

/* ------------------------------------------------------------------ barabasi-albert */

enum { BA_M };
static const sked_option ba_options[] = {
    {"m", SKED_OPTION_INT, "2", 1, 100, NULL, "edges that each new op brings; fewer where nodes <= m"},
};

/* An op with probability proportional to its degree: an end of a random earlier edge. */
static int32_t draw_by_degree(sked_i_draft *p, int64_t edges)
{
    const uint64_t k = sked_i_rng_below(&p->rng, 2 * (uint64_t)edges);
    return k < (uint64_t)edges ? p->from[k] : p->to[k - (uint64_t)edges];
}

static void attach(sked_i_draft *p, int32_t op, int32_t m)
{
    const int64_t before = p->n_edges;
    while (p->n_edges < before + m && !p->failed) {
        const int32_t other = draw_by_degree(p, before);
        bool fresh = true;
        for (int64_t e = before; e < p->n_edges && fresh; e++)
            fresh = p->from[e] != other;
        if (fresh)
            sked_i_draft_edge(p, other, op);
    }
}

static sked_status lay_out_ba(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t asked = (int32_t)p->value[BA_M], m = asked < p->nodes ? asked : p->nodes - 1;
    SKED_TRY(sked_i_draft_reserve(p, (double)m * p->n, "barabasi-albert: m", err));
    for (int32_t i = 0; i < m; i++)
        sked_i_draft_edge(p, i, m);
    for (int32_t i = m + 1; i < p->n; i++)
        attach(p, i, m);
    if (!p->failed)
        SKED_TRY(orient(p, err));
cleanup:
    return st;
}

const sked_i_family sked_i_family_barabasi_albert = {
    .info = {"barabasi-albert",
             "every new op is joined to earlier ones in proportion to their edges: hubs emerge", ba_options,
             COUNT_OF(ba_options), "uniform:0,1"},
    .lay_out = lay_out_ba,
};
