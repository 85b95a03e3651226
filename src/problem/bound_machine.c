/*
 * Makespan bounds that see heterogeneous devices and links, beside those of the relaxation without them.
 *
 * Paths: head[op][kind] is the earliest start of an op should it run on a device of that kind, the greatest
 * over its predecessors of the least over their kinds of head, lag and transfer; tail[op][kind] likewise.
 * Each predecessor may choose for itself, so this holds for every schedule. Kinds are as in kinds.h. Two
 * devices of one kind may be the same one, so data passes between them for nothing.
 *
 * Work: the fractional assignment of load.h, for all ops and for those cut off by head or tail. Devices with
 * ops fixed on them are kinds of their own there.
 *
 * Steps are counted, never timed: what would take too many is left out.
 */
#include "base/arena.h"
#include "problem/bounds.h"
#include "problem/kinds.h"
#include "problem/load.h"

#include <assert.h>
#include <string.h>

enum {
    most_cells = 4000000,
    most_loads = 16000000,
    most_kinds = 64,
    most_steps = 300,
    most_cut_ops = 250000
};
static const double path_budget = 5e7, load_budget = 2e7;

typedef struct bounder {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_graph *g;
    const sked_i_costs *c;
    sked_i_kinds like;               /* devices that are alike in what is asked for */
    int32_t kinds;                   /* of them */
    double *count;                   /* [kinds] devices */
    double *head, *tail;             /* [ops * kinds] INFINITY: cannot run there */
    double *near;                    /* [kinds] scratch */
    double *least_head, *least_rest; /* [ops] over the kinds of the paths; NULL with head and tail */
    sked_i_best_bound best;
} bounder;

/* ------------------------------------------------------------------ kinds */

/* apart: as for sked_i_kinds_make. */
static sked_status find_kinds(bounder *b, const int32_t *apart, sked_error *err)
{
    sked_i_kinds_free(&b->like);
    const sked_status st = sked_i_kinds_make(b->c, apart, true, &b->like, err);
    b->kinds = b->like.count;
    for (int32_t k = 0; st == SKED_OK && k < b->kinds; k++)
        b->count[k] = b->like.size[k];
    return st;
}

/* INFINITY: the op cannot run there, or is fixed elsewhere. */
static double time_on(const bounder *b, int32_t op, int32_t kind)
{
    const int32_t fixed = b->p->fix_device ? b->p->fix_device[op] : -1;
    const bool may_run = fixed < 0 || b->like.of[fixed] == kind;
    return may_run ? sked_i_time(b->c, op, sked_i_kinds_device(&b->like, kind)) : INFINITY;
}

/* ------------------------------------------------------------------ paths */

/*
 * Carries value[other end][kind] along the edge: least[kind] for a device of each kind at this end. Per kind
 * it comes from the same device, or from the best of some kind over its link. O(kinds + kinds^2).
 */
static void pass(const bounder *b, int64_t e, bool backward, const double *value, double *least)
{
    const sked_machine *m = b->p->machine;
    const double bytes = b->g->edge_bytes[e];
    for (int32_t g = 0; g < m->n_link_kinds; g++)
        b->near[g] = b->near[m->n_link_kinds + g] = INFINITY;
    for (int32_t k = 0; k < b->kinds; k++) {
        const int32_t g = m->link_kind[sked_i_kinds_device(&b->like, k)];
        const double lag = backward ? 0 : sked_i_lag(b->c, e, sked_i_kinds_device(&b->like, k));
        least[k] = value[k] + lag;
        b->near[g] = fmin(b->near[g], least[k]);
    }
    for (int32_t g = 0; g < m->n_link_kinds; g++)
        for (int32_t other = 0; other < m->n_link_kinds; other++) {
            const int64_t pair =
                backward ? (int64_t)g * m->n_link_kinds + other : (int64_t)other * m->n_link_kinds + g;
            const double t = sked_i_link_time(m, pair, bytes);
            b->near[m->n_link_kinds + g] = fmin(b->near[m->n_link_kinds + g], b->near[other] + t);
        }
    for (int32_t k = 0; k < b->kinds; k++) {
        least[k] = fmin(least[k], b->near[m->n_link_kinds + m->link_kind[sked_i_kinds_device(&b->like, k)]]);
        least[k] += backward ? sked_i_lag(b->c, e, sked_i_kinds_device(&b->like, k)) : 0;
    }
}

static void fill_heads(bounder *b, double *least)
{
    const sked_graph *g = b->g;
    for (int32_t q = 0; q < g->n_ops; q++) {
        const int32_t i = g->topo[q];
        double *head = b->head + (int64_t)i * b->kinds;
        const bool fixed = b->p->fix_start && !isnan(b->p->fix_start[i]);
        for (int32_t k = 0; k < b->kinds; k++)
            head[k] = isinf(time_on(b, i, k)) ? INFINITY : fixed ? b->p->fix_start[i] : 0;
        for (int64_t j = g->pred_ptr[i]; j < g->pred_ptr[i + 1]; j++) {
            if (g->edge_distance[g->pred_edge[j]] > 0)
                continue;
            pass(b, g->pred_edge[j], false, b->head + (int64_t)g->pred_op[j] * b->kinds, least);
            for (int32_t k = 0; k < b->kinds; k++)
                head[k] = fmax(head[k], least[k]);
        }
    }
}

static void fill_tails(bounder *b, double *least)
{
    const sked_graph *g = b->g;
    for (int32_t q = g->n_ops - 1; q >= 0; q--) {
        const int32_t i = g->topo[q];
        double *tail = b->tail + (int64_t)i * b->kinds;
        for (int32_t k = 0; k < b->kinds; k++)
            tail[k] = time_on(b, i, k);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            if (g->edge_distance[e] > 0)
                continue;
            pass(b, e, true, b->tail + (int64_t)g->edge_to[e] * b->kinds, least);
            for (int32_t k = 0; k < b->kinds; k++)
                tail[k] = fmax(tail[k], least[k]);
        }
    }
}

/* Leaves head and tail NULL where they would cost too much. */
static sked_status path_bound(bounder *b, sked_error *err)
{
    const int32_t kinds = b->p->machine->n_link_kinds;
    const int64_t cells = (int64_t)b->g->n_ops * b->kinds;
    sked_status st = SKED_OK;
    double *least;
    if (cells > most_cells || (double)b->g->n_edges * (b->kinds + (double)kinds * kinds) > path_budget)
        return SKED_OK;
    SKED_OWN(&b->arena, least, b->kinds);
    SKED_OWN(&b->arena, b->near, 2 * (int64_t)kinds);
    SKED_OWN(&b->arena, b->head, cells);
    SKED_OWN(&b->arena, b->tail, cells);
    fill_heads(b, least);
    fill_tails(b, least);
    for (int32_t i = 0; i < b->g->n_ops; i++) {
        double through = INFINITY;
        for (int64_t c = (int64_t)i * b->kinds; c < (int64_t)(i + 1) * b->kinds; c++)
            through = fmin(through, b->head[c] + b->tail[c]);
        if (through < INFINITY) /* else no schedule exists, which the search says better */
            sked_i_bound_keep(&b->best, through, "critical path with its best devices and transfers");
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ work */

/* Do the op's times follow the speeds alone? */
static bool follows_speed(const bounder *b, int32_t op)
{
    return !(b->p->fix_device && b->p->fix_device[op] >= 0) && (b->c->row == NULL || b->c->row[op] < 0);
}

/* Rows of the load: an op each, but ops whose times follow the speeds alone are one row together. */
static sked_status fill_rows(bounder *b, double **out, int64_t *rows, sked_error *err)
{
    const int64_t n = b->g->n_ops;
    sked_status st = SKED_OK;
    double *time, together = 0;
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += !follows_speed(b, i);
    SKED_OWN(&b->arena, time, (count + 1) * b->kinds);
    *rows = 0;
    for (int32_t i = 0; i < n; i++) {
        if (follows_speed(b, i)) {
            together += b->g->duration[i];
            continue;
        }
        for (int32_t k = 0; k < b->kinds; k++)
            time[*rows * b->kinds + k] = time_on(b, i, k);
        ++*rows;
    }
    for (int32_t k = 0; k < b->kinds; k++)
        time[*rows * b->kinds + k] =
            together / b->c->speed[sked_i_device_time_kind(b->c, sked_i_kinds_device(&b->like, k))];
    *rows += together > 0;
    *out = time;
cleanup:
    return st;
}

/* Ops cut off by head or rest, at the prices that are best for all. */
static sked_status cut_bound(bounder *b, const double *price, sked_error *err)
{
    const int64_t n = b->g->n_ops;
    sked_status st = SKED_OK;
    sked_i_area_item *item;
    double offer = 0;
    SKED_OWN(&b->arena, item, n);
    for (int32_t k = 0; k < b->kinds; k++)
        offer += price[k] * b->count[k];
    for (int side = 0; side < 2; side++) {
        for (int32_t i = 0; i < n; i++) {
            double cost = INFINITY;
            for (int32_t k = 0; k < b->kinds; k++)
                cost = fmin(cost, price[k] * time_on(b, i, k));
            item[i] = side ? (sked_i_area_item){b->least_rest[i], b->least_head[i], cost}
                           : (sked_i_area_item){b->least_head[i], b->least_rest[i], cost};
        }
        sked_i_bound_keep(&b->best, sked_i_area_sweep(item, (int32_t)n, offer),
                          "fractional assignment with heads and tails");
    }
cleanup:
    return st;
}

static sked_status load_bound(bounder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    double *time = NULL, *price, *scratch;
    int64_t rows = 0;
    if (b->kinds > most_kinds)
        return SKED_OK;
    for (int32_t i = 0; i < b->g->n_ops; i++)
        rows += !follows_speed(b, i);
    if (rows * b->kinds > most_loads)
        return SKED_OK;
    SKED_OWN(&b->arena, price, b->kinds);
    SKED_OWN(&b->arena, scratch, 2 * (int64_t)b->kinds);
    SKED_TRY(fill_rows(b, &time, &rows, err));
    const double steps = load_budget / fmax(1, (double)rows * b->kinds);
    const sked_i_load load = {rows, b->kinds, time, b->count};
    sked_i_bound_keep(&b->best, sked_i_load_bound(&load, (int32_t)fmin(steps, most_steps), price, scratch),
                      "fractional assignment of the work");
    if (b->least_head != NULL && rows > 0 && b->g->n_ops <= most_cut_ops)
        SKED_TRY(cut_bound(b, price, err));
cleanup:
    return st;
}

/* Least head and rest of each op over the kinds of the paths. */
static sked_status least_ends(bounder *b, sked_error *err)
{
    const int64_t n = b->g->n_ops;
    sked_status st = SKED_OK;
    if (b->head == NULL)
        return SKED_OK;
    SKED_OWN(&b->arena, b->least_head, n);
    SKED_OWN(&b->arena, b->least_rest, n);
    for (int32_t i = 0; i < n; i++) {
        b->least_head[i] = b->least_rest[i] = INFINITY;
        for (int32_t k = 0; k < b->kinds; k++) {
            const int64_t c = (int64_t)i * b->kinds + k;
            if (isinf(b->head[c]) || isinf(b->tail[c]))
                continue;
            b->least_head[i] = fmin(b->least_head[i], b->head[c]);
            b->least_rest[i] = fmin(b->least_rest[i], b->tail[c] - time_on(b, i, k));
        }
        if (isinf(b->least_head[i])) /* no schedule exists: any bound holds */
            b->least_head[i] = b->least_rest[i] = 0;
    }
cleanup:
    return st;
}

/* Every device with ops fixed on it becomes a kind of its own: kind[d] is its number. */
static sked_status tell_apart(bounder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *kind;
    SKED_OWN0(&b->arena, kind, b->c->devices);
    for (int32_t i = 0; b->p->fix_device && i < b->g->n_ops; i++)
        if (b->p->fix_device[i] >= 0)
            kind[b->p->fix_device[i]] = b->p->fix_device[i] + 1;
    st = find_kinds(b, kind, err);
    if (st == SKED_OK && b->kinds > most_kinds) { /* kinds of times then */
        memset(kind, 0, (size_t)b->c->devices * sizeof *kind);
        st = find_kinds(b, kind, err);
    }
cleanup:
    return st;
}

sked_status sked_i_bound_machine(const sked_problem *p, const sked_i_costs *c, double *bound,
                                 const char **why, sked_error *err)
{
    bounder b = {.p = p, .g = p->graph, .c = c, .best = {sked_i_problem_integral(p), *bound, *why}};
    sked_status st = SKED_OK;
    assert(p->machine != NULL && c->machine == p->machine);
    SKED_OWN(&b.arena, b.count, b.c->devices);
    SKED_TRY(find_kinds(&b, NULL, err));
    SKED_TRY(path_bound(&b, err));
    SKED_TRY(least_ends(&b, err));
    SKED_TRY(tell_apart(&b, err));
    SKED_TRY(load_bound(&b, err));
    *bound = b.best.value;
    *why = b.best.why;
cleanup:
    sked_i_kinds_free(&b.like);
    sked_i_arena_free(&b.arena);
    return st;
}
