/* The plain batched simulator: one schedule after the other. */
#include "backend/backend.h"
#include "base/memory.h"

#include <math.h>

static sked_status available(sked_error *err)
{
    (void)err;
    return SKED_OK;
}

static double simulate_one(const sked_i_batch_graph *g, const int32_t *device, const int32_t *order,
                           double *start, double *free_at)
{
    double latest = 0;
    for (int32_t i = 0; i < g->ops; i++)
        start[i] = -1;
    for (int32_t d = 0; d < g->devices; d++)
        free_at[d] = 0;
    for (int32_t k = 0; k < g->ops; k++) {
        const int32_t i = order[k];
        double t = free_at[device[i]];
        for (int64_t e = g->row[i]; e < g->row[i + 1]; e++) {
            const int32_t q = g->pred[e];
            if (start[q] < 0)
                return NAN;
            double arrives = start[q] + g->lag[e];
            if (g->transfer != NULL && device[q] != device[i])
                arrives += g->transfer[e];
            t = arrives > t ? arrives : t;
        }
        start[i] = t;
        free_at[device[i]] = t + g->duration[i];
        latest = free_at[device[i]] > latest ? free_at[device[i]] : latest;
    }
    return latest;
}

/* Time of op i on a device. */
static double time_on(const sked_i_batch_graph *g, int32_t i, int32_t device)
{
    const sked_i_batch_machine *m = g->machine;
    const int32_t k = m->class_of[device];
    if (m->table_row != NULL && m->table_row[i] >= 0)
        return m->table[(int64_t)m->table_row[i] * m->classes + k];
    return g->duration[i] / m->speed[k];
}

static double transfer_time(const sked_i_batch_machine *m, int64_t edge, int32_t from, int32_t to)
{
    if (!m->transfers || from == to)
        return 0;
    const int64_t at = (int64_t)m->group_of[from] * m->groups + m->group_of[to];
    if (isnan(m->link_latency[at]))
        return m->bytes[edge] > 0 ? INFINITY : 0;
    return m->link_latency[at] + m->bytes[edge] / m->link_bandwidth[at];
}

/* simulate_one on unequal devices. */
static double simulate_on_machine(const sked_i_batch_graph *g, const int32_t *device, const int32_t *order,
                                  double *start, double *free_at)
{
    double latest = 0;
    for (int32_t i = 0; i < g->ops; i++)
        start[i] = -1;
    for (int32_t d = 0; d < g->devices; d++)
        free_at[d] = 0;
    for (int32_t k = 0; k < g->ops; k++) {
        const int32_t i = order[k], mine = device[i];
        double t = free_at[mine];
        for (int64_t e = g->row[i]; e < g->row[i + 1]; e++) {
            const int32_t q = g->pred[e];
            if (start[q] < 0)
                return NAN;
            const double lag = isnan(g->lag[e]) ? time_on(g, q, device[q]) : g->lag[e];
            const double arrives = start[q] + lag + transfer_time(g->machine, e, device[q], mine);
            t = arrives > t ? arrives : t;
        }
        start[i] = t;
        free_at[mine] = t + time_on(g, i, mine);
        latest = free_at[mine] > latest ? free_at[mine] : latest;
    }
    return latest;
}

static sked_status simulate(const sked_i_batch_graph *g, int64_t count, const int32_t *device,
                            const int32_t *order, double *makespan, sked_error *err)
{
    sked_status st = SKED_OK;
    double *start = NULL, *free_at = NULL;
    SKED_NEW(start, g->ops);
    SKED_NEW(free_at, g->devices);
    for (int64_t b = 0; b < count; b++)
        makespan[b] = (g->machine ? simulate_on_machine : simulate_one)(g, device + b * g->ops,
                                                                        order + b * g->ops, start, free_at);
cleanup:
    free(start);
    free(free_at);
    return st;
}

const sked_i_backend sked_i_backend_cpu = {.name = "cpu",
                                           .available = available,
                                           .simulate = simulate,
                                           .gaus = &sked_i_gaus_cpu,
                                           .gaus_descent = &sked_i_gaus_descent_cpu,
                                           .nn = &sked_i_kernels_cpu_f32};
