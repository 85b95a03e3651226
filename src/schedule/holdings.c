#include "schedule/holdings.h"

#include "base/arena.h"

#include <assert.h>

typedef struct store {
    sked_i_arena arena;
    const sked_problem *p;
    const sked_schedule *s;
    const sked_i_costs *c;
    sked_lifetime lifetime;
    double end;           /* of the schedule */
    int32_t *seen;        /* [devices] op + 1 that has a copy there */
    sked_i_holding *copy; /* [devices] that copy */
    int32_t *touched;     /* [devices] where the value at hand has copies */
    sked_i_holdings *out;
} store;

static void hold(store *x, sked_i_holding h)
{
    assert(x->out->count < x->p->graph->n_ops + x->p->graph->n_edges);
    if (h.end > h.begin)
        x->out->at[x->out->count++] = h;
}

/* One reader of op's value elsewhere: the copy there begins with the first arrival and ends with the last. */
static void add_copy(store *x, int32_t op, int32_t d, double arrival, double release, int32_t *copies)
{
    if (x->seen[d] != op + 1) {
        x->seen[d] = op + 1;
        x->touched[(*copies)++] = d;
        x->copy[d] = (sked_i_holding){op, d, arrival, release};
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
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        if ((g->edge_distance[e] > 0 && s->ii == 0) || !sked_i_passes(g, e))
            continue;
        const int32_t to = g->edge_to[e], d = s->device ? s->device[to] : 0;
        const double release =
            s->start[to] + g->edge_distance[e] * s->ii + (to_finish ? sked_i_time_in(c, s, to) : 0);
        if (d == home) {
            end = fmax(end, release);
            continue;
        }
        const double arrival =
            s->start[op] + sked_i_lag(c, e, home) + sked_i_transfer_time(c, g->edge_bytes[e], home, d);
        end = fmax(end, arrival);
        add_copy(x, op, d, arrival, release, &copies);
    }
    if (sked_graph_keep(g, op) || (x->p->io == SKED_IO_ALIGNED && sked_i_is_output(g, op)))
        end = fmax(end, x->end);
    hold(x, (sked_i_holding){op, home, begin, end});
    for (int32_t k = 0; k < copies; k++)
        hold(x, x->copy[x->touched[k]]);
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
    SKED_NEW(out->at, g->n_ops + g->n_edges);
    x.end = sked_i_costs_latest_finish(c, s);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->memory[i] > 0)
            hold_value(&x, i);
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}

void sked_i_holdings_free(sked_i_holdings *h)
{
    free(h->at);
    *h = (sked_i_holdings){0};
}
