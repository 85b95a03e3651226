/* Schedules and problems as plain data. */
#include "schedule/schedule.h"

#include "base/memory.h"
#include "base/sized.h"
#include "base/whole.h"

#include <string.h>

void sked_problem_init_sized(sked_problem *p, size_t size, const sked_graph *g)
{
    const sked_problem preset = {.graph = g,
                                 .bandwidth = INFINITY,
                                 .horizon = INFINITY,
                                 .alpha = 1,
                                 .memory_limit = INFINITY,
                                 .align = 1};
    sked_i_sized_init(p, size, &preset, sizeof preset);
}

const char *sked_lifetime_name(sked_lifetime l)
{
    static const char *const names[] = {
#define SKED_X(name, text, help) text,
        SKED_LIFETIME_LIST(SKED_X)
#undef SKED_X
    };
    return (size_t)l < sizeof names / sizeof *names ? names[l] : "unknown";
}

const char *sked_io_name(sked_io io)
{
    static const char *const names[] = {
#define SKED_X(name, text, help) text,
        SKED_IO_LIST(SKED_X)
#undef SKED_X
    };
    return (size_t)io < sizeof names / sizeof *names ? names[io] : "unknown";
}

const char *sked_objective_name(sked_objective o)
{
    static const char *const names[] = {
#define SKED_X(name, text, help) text,
        SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
    };
    return (size_t)o < sizeof names / sizeof *names ? names[o] : "unknown";
}

sked_status sked_schedule_create(int32_t ops, int32_t devices, sked_schedule **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_schedule *s = NULL;
    if (ops < 0 || devices < 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "a schedule needs 0 or more ops and devices");
    SKED_NEW0(s, 1);
    s->ops = ops;
    s->devices = devices;
    SKED_NEW0(s->start, ops);
    if (devices > 0)
        SKED_NEW0(s->device, ops);
    *out = s;
    return SKED_OK;
cleanup:
    sked_schedule_destroy(s);
    return st;
}

sked_status sked_i_schedule_add_phases(sked_schedule *s, sked_error *err)
{
    if (s->phase == NULL)
        s->phase = sked_i_alloc_zero(s->ops, sizeof *s->phase);
    return s->phase != NULL ? SKED_OK : sked_i_no_memory(err);
}

sked_status sked_schedule_clone(const sked_schedule *s, sked_schedule **out, sked_error *err)
{
    sked_schedule *copy = NULL;
    sked_status st = sked_schedule_create(s->ops, s->devices, &copy, err);
    if (st == SKED_OK && s->phase != NULL)
        st = sked_i_schedule_add_phases(copy, err);
    if (st == SKED_OK)
        st = sked_i_schedule_copy_units(s, copy, err);
    if (st == SKED_OK)
        st = sked_i_schedule_copy_addresses(s, copy, err);
    if (st != SKED_OK) {
        sked_schedule_destroy(copy);
        return st;
    }
    copy->ii = s->ii;
    if (s->phase != NULL)
        memcpy(copy->phase, s->phase, (size_t)s->ops * sizeof *s->phase);
    memcpy(copy->start, s->start, (size_t)s->ops * sizeof *s->start);
    if (s->device != NULL)
        memcpy(copy->device, s->device, (size_t)s->ops * sizeof *s->device);
    *out = copy;
    return SKED_OK;
}

sked_status sked_i_schedule_check(const sked_problem *p, const sked_schedule *s, sked_error *err)
{
    if (s->ops != p->graph->n_ops || s->devices != p->devices || (s->device == NULL) != (p->devices == 0))
        return sked_i_fail(err, SKED_ERR_INVALID, "the schedule is for another graph or number of devices");
    for (int32_t i = 0; i < s->ops; i++)
        if (!isfinite(s->start[i]) || (s->device && (s->device[i] < 0 || s->device[i] >= s->devices)))
            return sked_i_fail(err, SKED_ERR_INVALID, "op %d of the schedule has no start or no device",
                               (int)i);
    return isfinite(s->ii) ? SKED_OK : sked_i_fail(err, SKED_ERR_INVALID, "the interval is no number");
}

void sked_schedule_destroy(sked_schedule *s)
{
    if (s == NULL)
        return;
    free(s->start);
    free(s->device);
    free(s->phase);
    sked_i_schedule_unbind(s);
    sked_i_schedule_drop_addresses(s);
    free(s);
}

void sked_i_schedule_sort(const sked_graph *g, const double *start, sked_i_keyed *item, sked_i_keyed *spare,
                          int32_t *order)
{
    for (int32_t k = 0; k < g->n_ops; k++)
        item[k] = (sked_i_keyed){sked_i_sort_key(start[g->topo[k]]), g->topo[k]};
    sked_i_sort_keyed(item, spare, g->n_ops);
    for (int32_t k = 0; k < g->n_ops; k++)
        order[k] = (int32_t)item[k].value;
}

sked_status sked_i_schedule_order(const sked_graph *g, const double *start, int32_t *order, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *item;
    SKED_NEW(item, 2 * (int64_t)g->n_ops);
    sked_i_schedule_sort(g, start, item, item + g->n_ops, order);
    free(item);
cleanup:
    return st;
}

/* Every time on every device, and every transfer over every link. Links of many bandwidths count as not. */
static bool whole_machine(const sked_problem *p)
{
    enum { MOST = 8 };
    const sked_graph *g = p->graph;
    const sked_machine *m = p->machine;
    double bandwidth[MOST];
    int32_t n = 0;
    for (int64_t k = 0; k < (int64_t)m->n_link_kinds * m->n_link_kinds; k++) {
        int32_t i = 0;
        while (i < n && bandwidth[i] != m->link_bandwidth[k])
            i++;
        if (i == MOST || (!isnan(m->link_latency[k]) && !sked_i_whole(m->link_latency[k], 1)))
            return false;
        bandwidth[i] = m->link_bandwidth[k];
        n += i == n;
    }
    for (int64_t e = 0; e < g->n_edges; e++)
        for (int32_t i = 0; i < n; i++)
            if (!sked_i_whole(g->edge_bytes[e] / bandwidth[i], 1))
                return false;
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int32_t d = 0; d < m->n_devices; d++)
            if (!sked_i_whole(g->duration[i] / m->speed[d], 1))
                return false;
    for (int64_t k = 0; g->on_ptr != NULL && k < g->on_ptr[g->n_ops]; k++)
        if (!isinf(g->on_duration[k]) && !sked_i_whole(g->on_duration[k], 1))
            return false;
    return true;
}

bool sked_i_problem_integral(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    for (int32_t i = 0; i < g->n_ops; i++)
        if ((p->machine == NULL && !sked_i_whole(g->duration[i], 1)) ||
            (p->fix_start && !isnan(p->fix_start[i]) && !sked_i_whole(p->fix_start[i], 1)))
            return false;
    if (p->machine != NULL && !whole_machine(p))
        return false;
    const bool transfers = p->machine == NULL && sked_i_has_transfers(p);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (((p->machine == NULL || g->edge_lag_given[e]) && !sked_i_whole(g->edge_lag[e], 1)) ||
            (transfers && !sked_i_whole(sked_i_transfer(p, e), 1)))
            return false;
    return p->ii == SKED_II_AUTO || sked_i_whole(p->ii, 1);
}
