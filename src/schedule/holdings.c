#include "schedule/holdings.h"

#include "base/arena.h"
#include "schedule/profile.h"

#include <assert.h>
#include <string.h>

/* Who lets a value go last on a device, and when all others have let it go. */
typedef struct heir {
    int32_t by;   /* -1: nobody */
    bool inplace; /* it may write over the value */
    double last, others;
} heir;

typedef struct store {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_schedule *s;
    const sked_i_costs *c;
    sked_lifetime lifetime;
    double end;           /* of the schedule */
    int32_t *seen;        /* [devices] op + 1 that has a copy there */
    sked_i_holding *copy; /* [devices] that copy */
    heir *heir;           /* [devices] of that copy */
    int64_t *over;        /* [ops] number of the holding that the op writes over, -1: none; NULL: none does */
    double tolerance;     /* of times there */
    int32_t *touched;     /* [devices] where the value at hand has copies */
    sked_i_holdings *out;
} store;

static void release_by(heir *h, int32_t by, double release, bool inplace)
{
    if (by == h->by) {
        h->inplace = h->inplace || inplace;
    } else if (release > h->last) {
        *h = (heir){by, inplace, release, fmax(h->others, h->last)};
    } else {
        h->others = fmax(h->others, release);
    }
}

/* Does the heir write over the value? */
static bool is_taken(const store *x, const sked_i_holding *h, const heir *to)
{
    const double *const size = x->p->graph->memory;
    if (x->over == NULL || !to->inplace || x->over[to->by] >= 0 || size[h->op] != size[to->by])
        return false;
    const double start = x->s->start[to->by];
    return to->others <= start + x->tolerance && h->begin < start &&
           sked_i_time_in(x->c, x->s, to->by) > x->tolerance;
}

static void hold(store *x, sked_i_holding h, const heir *to)
{
    assert(x->out->count < x->p->graph->n_ops + x->p->graph->n_edges);
    if (!(h.end > h.begin))
        return;
    if (is_taken(x, &h, to)) {
        x->over[to->by] = x->out->count;
        h.end = x->s->start[to->by];
    }
    h.over = -1;
    x->out->at[x->out->count++] = h;
}

/* One reader of op's value elsewhere: the copy there begins with the first arrival and ends with the last. */
static void add_copy(store *x, int32_t op, int32_t d, double arrival, double release, int32_t *copies)
{
    if (x->seen[d] != op + 1) {
        x->seen[d] = op + 1;
        x->touched[(*copies)++] = d;
        x->copy[d] = (sked_i_holding){op, d, arrival, release, -1};
        x->heir[d] = (heir){-1, false, -INFINITY, -INFINITY};
    }
    x->copy[d].begin = fmin(x->copy[d].begin, arrival);
    x->copy[d].end = fmax(x->copy[d].end, release);
}

static void hold_value(store *x, int32_t op)
{
    const sked_graph *g = x->p->graph;
    const sked_schedule *s = x->s;
    const sked_i_costs *c = x->c;
    const int32_t home = s->device ? s->device[op] : 0;
    int32_t copies = 0;
    const bool to_finish = x->lifetime == SKED_LIFETIME_FINISH;
    const double begin = s->start[op] + (x->lifetime == SKED_LIFETIME_RESULT ? sked_i_result_lag(g, op) : 0);
    double end = begin + (to_finish ? sked_i_time_in(c, s, op) : 0);
    heir here = {-1, false, -INFINITY, end};
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        if ((g->edge_distance[e] > 0 && s->ii == 0) || !sked_i_passes(g, e))
            continue;
        const int32_t to = g->edge_to[e], d = s->device ? s->device[to] : 0;
        const bool inplace = g->edge_inplace != NULL && g->edge_inplace[e];
        const double release =
            s->start[to] + g->edge_distance[e] * s->ii + (to_finish ? sked_i_time_in(c, s, to) : 0);
        if (d == home) {
            end = fmax(end, release);
            release_by(&here, to, release, inplace);
            continue;
        }
        const double arrival =
            s->start[op] + sked_i_lag(c, e, home) + sked_i_transfer_time(c, g->edge_bytes[e], home, d);
        end = fmax(end, arrival);
        here.others = fmax(here.others, arrival);
        add_copy(x, op, d, arrival, release, &copies);
        release_by(&x->heir[d], to, release, inplace);
    }
    if (sked_graph_keep(g, op) || (x->p->io == SKED_IO_ALIGNED && sked_i_is_output(g, op)))
        end = here.others = fmax(end, x->end);
    hold(x, (sked_i_holding){op, home, begin, end, -1}, &here);
    for (int32_t k = 0; k < copies; k++)
        hold(x, x->copy[x->touched[k]], &x->heir[x->touched[k]]);
}

sked_status sked_i_holdings_make(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                 sked_i_holdings *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const int64_t devices = s->devices > 0 ? s->devices : 1;
    sked_status st = SKED_OK;
    store x = {.p = p, .s = s, .c = c, .lifetime = sked_i_lifetime(p), .out = out};
    *out = (sked_i_holdings){0};
    SKED_OWN0(&x.arena, x.seen, devices);
    SKED_OWN(&x.arena, x.copy, devices);
    SKED_OWN(&x.arena, x.touched, devices);
    SKED_OWN(&x.arena, x.heir, devices);
    if (g->edge_inplace != NULL && x.lifetime == SKED_LIFETIME_FINISH && s->ii == 0 &&
        (sked_i_has_addresses(p) || s->offset != NULL)) {
        x.tolerance = sked_i_time_tolerance(p, c, s);
        SKED_OWN(&x.arena, x.over, g->n_ops);
        memset(x.over, 0xff, (size_t)g->n_ops * sizeof *x.over);
    }
    SKED_NEW(out->at, g->n_ops + g->n_edges);
    x.end = sked_i_costs_latest_finish(c, s);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->memory[i] > 0)
            hold_value(&x, i);
    for (int64_t k = 0; x.over != NULL && k < out->count; k++) {
        sked_i_holding *const h = &out->at[k];
        if (h->device == (s->device ? s->device[h->op] : 0))
            h->over = x.over[h->op];
    }
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}

void sked_i_holdings_free(sked_i_holdings *h)
{
    free(h->at);
    *h = (sked_i_holdings){0};
}
