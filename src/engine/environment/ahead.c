#include "engine/environment/ahead.h"

void sked_i_ahead_fill(sked_i_ahead *a, const sked_i_partial *p, const sked_i_choices *c, int32_t op)
{
    const sked_i_instance *x = p->instance;
    const int32_t *edge = x->ahead + (int64_t)op * SKED_I_AHEAD;
    for (int k = 0; k < SKED_I_AHEAD && edge[k] >= 0; k++) {
        const double *arrive = p->arrive + (int64_t)x->graph->edge_to[edge[k]] * x->columns;
        a->first[k] = a->second[k] = INFINITY;
        a->best[k] = -1;
        for (int32_t i = 0; i < c->n_columns; i++) {
            const int32_t d = c->column[i];
            const double at = sked_i_later(arrive[d], p->free_at[d]);
            if (at < a->first[k]) {
                a->second[k] = a->first[k];
                a->first[k] = at;
                a->best[k] = d;
            } else if (at < a->second[k]) {
                a->second[k] = at;
            }
        }
    }
}

double sked_i_ahead_end(const sked_i_ahead *a, const sked_i_partial *p, int32_t op, int32_t d, double start)
{
    const sked_i_instance *x = p->instance;
    const int32_t *edge = x->ahead + (int64_t)op * SKED_I_AHEAD;
    const double finish = start + sked_i_instance_time(x, op, d);
    double end = finish;
    for (int k = 0; k < SKED_I_AHEAD && edge[k] >= 0; k++) {
        const int32_t to = x->graph->edge_to[edge[k]];
        const double data = start + sked_i_instance_lag(x, edge[k], d);
        const double arrive = p->arrive[(int64_t)to * x->columns + d];
        const double here = sked_i_later(sked_i_later(arrive, data), finish) + sked_i_instance_time(x, to, d);
        const double other = a->best[k] == d ? a->second[k] : a->first[k];
        const double away = sked_i_later(other, data + x->hop[edge[k]]) + x->duration[to];
        const double done = here < away ? here : away;
        if (done < INFINITY)
            end = sked_i_later(end, done + x->tail[to] - x->duration[to]);
    }
    return end;
}

double sked_i_ahead_held(const sked_i_partial *p, int32_t op, int32_t d)
{
    const sked_i_instance *x = p->instance;
    const int32_t *edge = x->ahead + (int64_t)op * SKED_I_AHEAD;
    double held = 0;
    int k = 0;
    for (; k < SKED_I_AHEAD && edge[k] >= 0; k++)
        held += p->local[(int64_t)x->graph->edge_to[edge[k]] * x->columns + d];
    return k > 0 ? held / k : 0;
}
