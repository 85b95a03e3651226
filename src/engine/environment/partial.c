#include "engine/environment/partial.h"

#include "base/explog.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_partial_init(sked_i_partial *p, const sked_i_instance *x, sked_error *err)
{
    sked_status st = SKED_OK;
    p->instance = x;
    SKED_OWN(&p->arena, p->ready_time, x->n);
    SKED_OWN(&p->arena, p->waits, x->n);
    SKED_OWN(&p->arena, p->ready, x->n);
    SKED_OWN(&p->arena, p->device_of, x->n);
    SKED_OWN(&p->arena, p->followed, x->n);
    SKED_OWN(&p->arena, p->noise, x->n);
    SKED_OWN(&p->arena, p->free_at, x->columns);
    SKED_OWN(&p->arena, p->last, x->columns);
    SKED_OWN(&p->arena, p->used, x->columns);
    SKED_OWN(&p->arena, p->opened, x->kinds);
    if (x->transfers) {
        SKED_OWN(&p->arena, p->arrive, (int64_t)x->n * x->columns);
        SKED_OWN(&p->arena, p->local, (int64_t)x->n * x->columns);
    }
cleanup:
    return st;
}

void sked_i_partial_clear(sked_i_partial *p)
{
    sked_i_arena_free(&p->arena);
}

void sked_i_partial_reset(sked_i_partial *p)
{
    const sked_i_instance *x = p->instance;
    const size_t cells = (size_t)x->n * (size_t)x->columns;
    p->n_ready = p->n_used = 0;
    p->left = x->n;
    p->makespan = p->reach = 0;
    p->rest = x->work;
    memcpy(p->waits, x->waits, (size_t)x->n * sizeof *p->waits);
    memset(p->followed, 0, (size_t)x->n);
    memset(p->opened, 0, (size_t)x->kinds * sizeof *p->opened);
    if (p->arrive != NULL) {
        memset(p->arrive, 0, cells * sizeof *p->arrive);
        memset(p->local, 0, cells * sizeof *p->local);
    }
    for (int32_t i = 0; i < x->n; i++) {
        p->ready_time[i] = 0;
        p->device_of[i] = -1;
        if (x->waits[i] == 0)
            p->ready[p->n_ready++] = i;
    }
    for (int32_t d = 0; d < x->columns; d++) {
        p->free_at[d] = 0;
        p->last[d] = -1;
    }
}

int32_t sked_i_partial_pop(sked_i_partial *p, int32_t index)
{
    assert(index >= 0 && index < p->n_ready);
    const int32_t op = p->ready[index];
    memmove(p->ready + index, p->ready + index + 1, (size_t)(p->n_ready - index - 1) * sizeof *p->ready);
    p->n_ready--;
    p->left--;
    return op;
}

/* The same data, at the time it is there, on every column. */
static void spread(sked_i_partial *p, int64_t e, int32_t from, double there)
{
    const sked_i_instance *x = p->instance;
    const int32_t kind = x->kind_of[from];
    const int64_t row = (int64_t)x->graph->edge_to[e] * x->columns;
    double *arrive = p->arrive + row;
    for (int32_t k = 0; k < x->kinds; k++) {
        const int64_t link = (int64_t)kind * x->kinds + k;
        const double t =
            there + x->platform.latency[link] + x->platform.bytes[e] * x->platform.per_byte[link];
        const int32_t first = x->kind_first[k], end = k + 1 < x->kinds ? x->kind_first[k + 1] : x->columns;
        for (int32_t d = first; d < end; d++) {
            const double at = d == from ? there : t;
            arrive[d] = at > arrive[d] ? at : arrive[d];
        }
    }
    p->local[row + from] += x->share[e];
}

void sked_i_partial_arrive(sked_i_partial *p, int64_t e, int32_t d, double start)
{
    const int32_t to = p->instance->graph->edge_to[e];
    assert(p->instance->graph->edge_distance[e] == 0 && p->waits[to] > 0 && p->device_of[to] < 0);
    const double there = start + sked_i_instance_lag(p->instance, e, d);
    p->ready_time[to] = sked_i_later(p->ready_time[to], there);
    if (p->arrive != NULL)
        spread(p, e, d, there);
    if (--p->waits[to] == 0)
        p->ready[p->n_ready++] = to;
}

void sked_i_partial_place(sked_i_partial *p, int32_t op, int32_t d, double start)
{
    assert(d >= 0 && d < p->instance->columns && p->device_of[op] < 0);
    assert(p->waits[op] == 0 && start >= p->free_at[d]);
    if (p->last[d] < 0) {
        p->used[p->n_used++] = d;
        p->opened[p->instance->kind_of[d]]++;
    }
    p->device_of[op] = d;
    p->last[d] = op;
    p->free_at[d] = start + sked_i_instance_time(p->instance, op, d);
    p->makespan = sked_i_later(p->free_at[d], p->makespan);
    p->reach = sked_i_later(p->reach, start + p->instance->tail[op]);
    p->rest -= p->instance->duration[op];
}

void sked_i_partial_append(sked_i_partial *p, int32_t index, int32_t d)
{
    const sked_graph *g = p->instance->graph;
    const int32_t op = sked_i_partial_pop(p, index);
    const double start = sked_i_partial_start(p, op, d);
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (g->edge_distance[e] == 0)
            sked_i_partial_arrive(p, e, d, start);
    sked_i_partial_place(p, op, d, start);
}

double sked_i_partial_outlook(const sked_i_partial *p)
{
    const sked_i_instance *x = p->instance;
    double first_free = INFINITY, busy = p->rest, end = sked_i_later(p->makespan, p->reach);
    if (p->left == 0)
        return p->makespan;
    for (int32_t d = 0; d < x->columns; d++) {
        first_free = p->free_at[d] < first_free ? p->free_at[d] : first_free;
        busy += p->free_at[d];
    }
    end = sked_i_later(end, busy / x->columns);
    for (int32_t k = 0; k < p->n_ready; k++) {
        const int32_t op = p->ready[k];
        end = sked_i_later(end, sked_i_later(p->ready_time[op], first_free) + x->tail[op]);
    }
    return end;
}

int32_t sked_i_partial_removable(const sked_i_partial *p)
{
    int32_t count = 0;
    for (int32_t k = 0; k < p->n_used; k++)
        count += !p->followed[p->last[p->used[k]]];
    return count;
}

void sked_i_partial_draw_noise(sked_i_partial *p, sked_i_rng *rng)
{
    const sked_i_instance *x = p->instance;
    /* Up to a tenth of the makespan, but not more than a few mean durations of a large graph. */
    const double most = 4 * x->unit < 0.1 ? 4 * x->unit : 0.1, strength = most * sked_i_rng_uniform(rng);
    for (int32_t i = 0; i < x->n; i++) {
        const double u = (double)((sked_i_rng_next(rng) >> 12) + 1) * 0x1.0p-53;
        p->noise[i] = x->tail[i] - strength * sked_i_log(-sked_i_log(u));
    }
}
