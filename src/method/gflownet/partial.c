#include "method/gflownet/partial.h"

#include "base/explog.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

sked_status sked_i_partial_init(sked_i_partial *p, const sked_i_instance *x, int32_t devices, sked_error *err)
{
    sked_status st = SKED_OK;
    p->instance = x;
    p->devices = devices;
    SKED_NEW(p->ready_time, x->n);
    SKED_NEW(p->waits, x->n);
    SKED_NEW(p->ready, x->n);
    SKED_NEW(p->device_of, x->n);
    SKED_NEW(p->followed, x->n);
    SKED_NEW(p->noise, x->n);
    SKED_NEW(p->free_at, devices);
    SKED_NEW(p->last, devices);
cleanup:
    return st;
}

void sked_i_partial_clear(sked_i_partial *p)
{
    free(p->ready_time);
    free(p->waits);
    free(p->ready);
    free(p->device_of);
    free(p->followed);
    free(p->noise);
    free(p->free_at);
    free(p->last);
}

void sked_i_partial_reset(sked_i_partial *p)
{
    const sked_i_instance *x = p->instance;
    p->n_ready = 0;
    p->left = x->n;
    p->makespan = 0;
    memcpy(p->waits, x->waits, (size_t)x->n * sizeof *p->waits);
    memset(p->followed, 0, (size_t)x->n);
    for (int32_t i = 0; i < x->n; i++) {
        p->ready_time[i] = 0;
        p->device_of[i] = -1;
        if (x->waits[i] == 0)
            p->ready[p->n_ready++] = i;
    }
    for (int32_t d = 0; d < p->devices; d++) {
        p->free_at[d] = 0;
        p->last[d] = -1;
    }
}

int32_t sked_i_partial_pop(sked_i_partial *p, int32_t index)
{
    const int32_t op = p->ready[index];
    memmove(p->ready + index, p->ready + index + 1, (size_t)(p->n_ready - index - 1) * sizeof *p->ready);
    p->n_ready--;
    p->left--;
    return op;
}

void sked_i_partial_arrive(sked_i_partial *p, int64_t e, double start)
{
    const int32_t to = p->instance->graph->edge_to[e];
    if (start + p->instance->lag[e] > p->ready_time[to])
        p->ready_time[to] = start + p->instance->lag[e];
    if (--p->waits[to] == 0)
        p->ready[p->n_ready++] = to;
}

void sked_i_partial_place(sked_i_partial *p, int32_t op, int32_t d, double start)
{
    p->device_of[op] = d;
    p->last[d] = op;
    p->free_at[d] = start + p->instance->duration[op];
    p->makespan = p->free_at[d] > p->makespan ? p->free_at[d] : p->makespan;
}

int32_t sked_i_partial_removable(const sked_i_partial *p, int32_t devices)
{
    int32_t count = 0;
    for (int32_t d = 0; d < devices; d++)
        count += p->last[d] >= 0 && !p->followed[p->last[d]];
    return count;
}

void sked_i_partial_draw_noise(sked_i_partial *p, sked_i_rng *rng)
{
    const double strength = 0.1 * sked_i_rng_uniform(rng);
    for (int32_t i = 0; i < p->instance->n; i++) {
        const double u = (double)((sked_i_rng_next(rng) >> 12) + 1) * 0x1.0p-53;
        p->noise[i] = p->instance->tail[i] - strength * sked_i_log(-sked_i_log(u));
    }
}

int32_t sked_i_partial_list(const sked_i_partial *p, int32_t open)
{
    int32_t best = 0;
    double best_start = INFINITY, best_rank = 0;
    for (int32_t i = 0; i < p->n_ready; i++)
        for (int32_t d = 0; d < open; d++) {
            const int32_t op = p->ready[i];
            const double start = sked_i_later(p->ready_time[op], p->free_at[d]), rank = p->noise[op];
            if (start < best_start || (start == best_start && rank > best_rank)) {
                best = i * open + d;
                best_start = start;
                best_rank = rank;
            }
        }
    return best;
}
