/*
 * Transitive reduction, one block of target columns at a time.
 *
 * Rows are filled from the last position to the first. A row visits its successors in topological order: a
 * successor already reached through an earlier one is redundant and adds nothing, so the work is that of the
 * reduced graph. Blocks run in ascending order; an edge into an earlier block is already decided.
 */
#include "graph/relations.h"

#include <assert.h>
#include <string.h>

/* The ops' own order where that is topological (edges of most graphs are short in it), else the graph's. */
static void find_positions(const sked_graph *g, int32_t *position, int32_t *order)
{
    bool sorted = true;
    for (int64_t e = 0; e < g->n_edges && sorted; e++)
        sorted = g->edge_from[e] < g->edge_to[e] || g->edge_distance[e] > 0;
    for (int32_t p = 0; p < g->n_ops; p++) {
        order[p] = sorted ? p : g->topo[p];
        position[order[p]] = p;
    }
}

sked_status sked_i_relation_dag_create(const sked_graph *g, sked_i_relation_dag *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = g->n_ops;
    sked_i_relation_dag d = {.n = n};
    SKED_OWN(&d.arena, d.position, n);
    SKED_OWN(&d.arena, d.order, n);
    SKED_OWN0(&d.arena, d.ptr, (int64_t)n + 1);
    SKED_OWN(&d.arena, d.to, g->n_edges - g->n_carried);
    SKED_OWN(&d.arena, d.edge, g->n_edges - g->n_carried);
    find_positions(g, d.position, d.order);
    for (int64_t e = 0; e < g->n_edges; e++)
        d.ptr[d.position[g->edge_from[e]] + 1] += g->edge_distance[e] == 0;
    for (int32_t p = 0; p < n; p++)
        d.ptr[p + 1] += d.ptr[p];
    for (int32_t q = 0; q < n; q++) { /* targets in ascending order: every row comes out sorted */
        const int32_t op = d.order[q];
        for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
            if (g->edge_distance[g->pred_edge[k]] > 0)
                continue;
            const int64_t slot = d.ptr[d.position[g->pred_op[k]]]++;
            d.to[slot] = q;
            d.edge[slot] = g->pred_edge[k];
        }
    }
    memmove(d.ptr + 1, d.ptr, (size_t)n * sizeof *d.ptr);
    d.ptr[0] = 0;
    assert(d.ptr[n] == g->n_edges - g->n_carried);
    *out = d;
    return SKED_OK;
cleanup:
    sked_i_relation_dag_clear(&d);
    return st;
}

void sked_i_relation_dag_clear(sked_i_relation_dag *d)
{
    sked_i_arena_free(&d->arena);
    *d = (sked_i_relation_dag){0};
}

void sked_i_sweep_bits(const sked_i_relation_sweep *s, uint64_t *rows)
{
    const sked_i_relation_dag *d = s->dag;
    assert(s->begin < s->end && s->column < s->end && s->end - s->column <= 64 * SKED_I_SWEEP_WORDS);
    for (int32_t p = s->end - 1; p >= s->begin; p--) {
        uint64_t *row = rows + (int64_t)(p - s->begin) * SKED_I_SWEEP_WORDS, sum[SKED_I_SWEEP_WORDS] = {0};
        for (int64_t k = d->ptr[p]; k < d->ptr[p + 1] && d->to[k] < s->end; k++) {
            const int32_t q = d->to[k], column = q - s->column;
            if (s->redundant[d->edge[k]])
                continue;
            if (column >= 0) {
                if (sum[column >> 6] >> (column & 63) & 1) {
                    s->redundant[d->edge[k]] = 1;
                    continue;
                }
                sum[column >> 6] |= (uint64_t)1 << (column & 63);
            }
            const uint64_t *other = rows + (int64_t)(q - s->begin) * SKED_I_SWEEP_WORDS;
            for (int w = 0; w < SKED_I_SWEEP_WORDS; w++)
                sum[w] |= other[w];
        }
        memcpy(row, sum, sizeof sum);
    }
}

/* Decides the parallel edges k..last-1 into one target: `longest` is the best other way there. */
static double decide_lags(const sked_i_relation_sweep *s, const double *lag, int64_t k, int64_t last,
                          double longest)
{
    const int64_t *edge = s->dag->edge;
    int64_t best = -1;
    assert(k < last);
    for (int64_t i = k; i < last; i++)
        if (lag[edge[i]] > longest && (best < 0 || lag[edge[i]] > lag[edge[best]]))
            best = i;
    for (int64_t i = k; i < last; i++)
        s->redundant[edge[i]] = i != best;
    return best < 0 ? longest : lag[edge[best]];
}

/* The same for lags: a cell is the longest path to its column, -INFINITY for none. */
static void sweep_lags(const sked_i_relation_sweep *s, const double *lag, double *rows)
{
    const sked_i_relation_dag *d = s->dag;
    for (int32_t p = s->end - 1; p >= s->begin; p--) {
        double *row = rows + (int64_t)(p - s->begin) * SKED_I_SWEEP_WORDS;
        for (int w = 0; w < SKED_I_SWEEP_WORDS; w++)
            row[w] = -INFINITY;
        for (int64_t k = d->ptr[p], next; k < d->ptr[p + 1] && d->to[k] < s->end; k = next) {
            const int32_t q = d->to[k], column = q - s->column;
            for (next = k + 1; next < d->ptr[p + 1] && d->to[next] == q; next++)
                ;
            if (column >= 0)
                row[column] = decide_lags(s, lag, k, next, row[column]);
            const double *other = rows + (int64_t)(q - s->begin) * SKED_I_SWEEP_WORDS;
            for (int64_t i = k; i < next; i++)
                for (int w = 0; w < SKED_I_SWEEP_WORDS && !s->redundant[d->edge[i]]; w++)
                    if (lag[d->edge[i]] + other[w] > row[w])
                        row[w] = lag[d->edge[i]] + other[w];
        }
    }
}

/* Which blocks have work, found before anything large is allocated. */
typedef struct block_plan {
    int columns;    /* of a block */
    int32_t *first; /* [blocks] smallest position with an edge into it that might be redundant, n: none */
    int64_t rows;   /* longest range of rows that a block needs */
    double work;    /* row operations ahead */
} block_plan;

/*
 * Only an edge that skips a level can be redundant (another path makes the gap 2 at least), or one of two
 * parallel edges; seen[i]: the last op found with an edge to i.
 */
static void find_candidates(const sked_graph *g, const int32_t *position, const int32_t *level, int32_t *seen,
                            block_plan *plan)
{
    for (int32_t i = 0; i < g->n_ops; i++)
        seen[i] = -1;
    for (int64_t b = 0; b * plan->columns < g->n_ops; b++)
        plan->first[b] = g->n_ops;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        int32_t *first = &plan->first[position[to] / plan->columns];
        if (g->edge_distance[e] > 0)
            continue;
        if ((level[to] > level[from] + 1 || seen[to] == from) && position[from] < *first)
            *first = position[from];
        seen[to] = from;
    }
}

/* before[p]: edges that leave positions below p. */
static void count_work(const sked_graph *g, const int64_t *before, block_plan *plan)
{
    plan->work = 0;
    plan->rows = 0;
    for (int64_t b = 0; b * plan->columns < g->n_ops; b++) {
        const int64_t next = (b + 1) * plan->columns, end = next < g->n_ops ? next : g->n_ops;
        const int64_t first = plan->first[b];
        if (first == g->n_ops)
            continue;
        plan->work += (double)(before[end] - before[first] + end - first);
        plan->rows = end - first > plan->rows ? end - first : plan->rows;
    }
}

static sked_status make_plan(const sked_graph *g, block_plan *plan, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = g->n_ops;
    sked_i_arena own = {0};
    int32_t *position, *order, *level, *seen;
    int64_t *before;
    SKED_NEW(plan->first, n / plan->columns + 1);
    SKED_OWN(&own, position, n);
    SKED_OWN(&own, order, n);
    SKED_OWN(&own, level, n);
    SKED_OWN(&own, seen, n);
    find_positions(g, position, order);
    sked_i_levels(g, level);
    find_candidates(g, position, level, seen, plan);
    sked_i_arena_drop(&own, seen);
    SKED_OWN(&own, before, n + 1);
    before[0] = 0;
    for (int64_t p = 0; p < n; p++)
        before[p + 1] = before[p] + g->succ_ptr[order[p] + 1] - g->succ_ptr[order[p]];
    count_work(g, before, plan);
cleanup:
    sked_i_arena_free(&own);
    return st;
}

static sked_status run_blocks(const sked_graph *g, sked_i_reduction kind, const block_plan *plan,
                              uint8_t *redundant, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = g->n_ops;
    sked_i_relation_dag d = {0};
    union {
        uint64_t bits;
        double lag;
    } *rows = NULL;
    SKED_NEW(rows, plan->rows * SKED_I_SWEEP_WORDS);
    SKED_TRY(sked_i_relation_dag_create(g, &d, err));
    for (int32_t b = 0; (int64_t)b * plan->columns < n; b++) {
        if (plan->first[b] == n)
            continue;
        const int32_t column = b * plan->columns;
        const sked_i_relation_sweep s = {.dag = &d,
                                         .redundant = redundant,
                                         .begin = plan->first[b],
                                         .column = column,
                                         .end = n - column < plan->columns ? n : column + plan->columns};
        assert(s.end - s.begin <= plan->rows);
        if (kind == SKED_I_REDUCE_PATHS)
            sked_i_sweep_bits(&s, &rows->bits);
        else
            sweep_lags(&s, g->edge_lag, &rows->lag);
    }
cleanup:
    sked_i_relation_dag_clear(&d);
    free(rows);
    return st;
}

sked_status sked_i_graph_reduce(const sked_graph *g, sked_i_reduction kind, double max_work,
                                uint8_t *redundant, int64_t *count, sked_error *err)
{
    sked_status st = SKED_OK;
    const double limit = max_work > 0 ? max_work : SKED_I_REDUCTION_LIMIT;
    block_plan plan = {.columns = kind == SKED_I_REDUCE_PATHS ? 64 * SKED_I_SWEEP_WORDS : SKED_I_SWEEP_WORDS};
    int64_t found = 0;
    SKED_TRY(make_plan(g, &plan, err));
    if (plan.work > limit) {
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                         "the transitive reduction of %d ops and %lld edges takes %.3g row operations, the "
                         "limit is %.3g",
                         (int)g->n_ops, (long long)g->n_edges, plan.work, limit);
        goto cleanup;
    }
    if (g->n_edges > 0)
        memset(redundant, 0, (size_t)g->n_edges);
    if (plan.work > 0)
        SKED_TRY(run_blocks(g, kind, &plan, redundant, err));
    for (int64_t e = 0; e < g->n_edges; e++)
        found += redundant[e];
    *count = found;
cleanup:
    free(plan.first);
    return st;
}
