/* Levels on heterogeneous devices: what stands for the times of an op, and tables by kind of time of devices.
 */
#include "base/memory.h"
#include "engine/list/list.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ one time for all devices */

/* A value that `count` devices or pairs share. */
typedef struct share {
    double value, count;
} share;

static int by_value(const void *a, const void *b)
{
    const share *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* The weighted median; between two values their mean. Sorts. */
static double median(share *all, int64_t n)
{
    double total = 0, below = 0;
    for (int64_t k = 0; k < n; k++)
        total += all[k].count;
    qsort(all, (size_t)n, sizeof *all, by_value);
    for (int64_t k = 0; k < n; k++) {
        below += all[k].count;
        if (2 * below == total && k + 1 < n)
            return (all[k].value + all[k + 1].value) / 2;
        if (2 * below >= total)
            return all[k].value;
    }
    return 0;
}

typedef struct measurer {
    const sked_i_dag *view;
    sked_i_measure kind;
    double *size; /* [time_kinds] devices */
    share *all;   /* room for a median */
    double latency, per_byte;
} measurer;

static double median_time(const measurer *x, int32_t op)
{
    const sked_i_costs *c = x->view->costs;
    int64_t n = 0;
    for (int32_t k = 0; k < c->time_kinds; k++) {
        const double t = sked_i_kind_time(c, op, k);
        if (t < INFINITY)
            x->all[n++] = (share){t, x->size[k]};
    }
    return median(x->all, n);
}

static double measure_time(const measurer *x, int32_t op)
{
    const sked_i_costs *c = x->view->costs;
    switch (x->kind) {
    case SKED_I_BEST:
        return sked_i_shortest_time(c, op);
    case SKED_I_WORST:
        return sked_i_longest_time(c, op);
    case SKED_I_MEDIAN:
        return median_time(x, op);
    case SKED_I_MEAN:
        break;
    }
    return x->view->duration[op];
}

/* Pairs of different devices that a link between two kinds joins. */
static double pairs(const sked_machine *m, int32_t a, int32_t b)
{
    return (double)m->link_kind_size[a] * (m->link_kind_size[b] - (a == b));
}

/* Latency and time per byte, each for itself: longest, or median over all pairs with a link. */
static void measure_links(measurer *x)
{
    const sked_machine *m = x->view->costs->machine;
    double *const out[] = {&x->latency, &x->per_byte};
    for (int part = 0; part < 2; part++) {
        int64_t n = 0;
        double longest = 0;
        for (int32_t a = 0; a < m->n_link_kinds; a++)
            for (int32_t b = 0; b < m->n_link_kinds; b++) {
                const int64_t at = (int64_t)a * m->n_link_kinds + b;
                const double value = part == 0 ? m->link_latency[at] : 1 / m->link_bandwidth[at];
                if (isnan(m->link_latency[at]) || pairs(m, a, b) == 0)
                    continue;
                x->all[n++] = (share){value, pairs(m, a, b)};
                longest = fmax(longest, value);
            }
        *out[part] = x->kind == SKED_I_MEDIAN ? median(x->all, n) : longest;
    }
}

static void find_links(measurer *x)
{
    const sked_i_costs *c = x->view->costs;
    if (x->kind == SKED_I_MEAN || (c->machine == NULL && x->kind != SKED_I_BEST))
        sked_i_mean_link(c, &x->latency, &x->per_byte);
    else if (x->kind != SKED_I_BEST)
        measure_links(x);
}

static void count_time_kinds(const sked_i_costs *c, double *size)
{
    for (int32_t d = 0; d < c->devices; d++)
        size[sked_i_device_time_kind(c, d)]++;
}

sked_status sked_i_measured_ranks(const sked_i_dag *v, sked_i_measure kind, double *up, sked_error *err)
{
    const sked_i_costs *c = v->costs;
    const int64_t kinds = c->machine ? c->machine->n_link_kinds : 1;
    measurer x = {.view = v, .kind = kind};
    sked_status st = SKED_OK;
    SKED_NEW0(x.size, c->time_kinds);
    SKED_NEW(x.all, kinds * kinds > c->time_kinds ? kinds * kinds : c->time_kinds);
    count_time_kinds(c, x.size);
    find_links(&x);
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        const double time = measure_time(&x, i);
        double longest = time;
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const double lag = v->out.given[e] ? v->out.lag[e] : time;
            longest = fmax(longest, lag + (x.latency + v->out.bytes[e] * x.per_byte) + up[v->out.op[e]]);
        }
        up[i] = longest;
    }
cleanup:
    free(x.size);
    free(x.all);
    return st;
}

void sked_i_downward_ranks(const sked_i_dag *v, double share_of_transfer, double *down)
{
    memset(down, 0, (size_t)v->n * sizeof *down);
    for (int32_t k = 0; k < v->n; k++) {
        const int32_t i = v->order[k];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const double extra = v->out.transfer ? share_of_transfer * v->out.transfer[e] : 0;
            down[v->out.op[e]] = fmax(down[v->out.op[e]], down[i] + v->out.lag[e] + extra);
        }
    }
}

/* ------------------------------------------------------------------ the optimistic cost table */

/*
 * A successor runs on the same device, free of transfers, or on the kind of time that ends first, after a
 * mean transfer. Edges with a given lag count it in place of the time: what is left of the op itself is no
 * more.
 */
static void optimistic_row(const sked_i_dag *v, int32_t i, const double *least, double *table)
{
    const sked_i_costs *c = v->costs;
    double *row = table + (int64_t)i * c->time_kinds;
    for (int32_t k = 0; k < c->time_kinds; k++)
        row[k] = 0;
    for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
        const int32_t to = v->out.op[e];
        const double *next = table + (int64_t)to * c->time_kinds;
        const double away = least[to] + v->out.transfer[e];
        for (int32_t k = 0; k < c->time_kinds; k++) {
            const double early = v->out.given[e] ? v->out.lag[e] - sked_i_kind_time(c, i, k) : 0;
            const double path = fmin(next[k] + sked_i_kind_time(c, to, k), away) + early;
            row[k] = path > row[k] ? path : row[k];
        }
    }
}

sked_status sked_i_optimistic_costs(const sked_i_dag *v, double *table, double *mean, sked_error *err)
{
    const sked_i_costs *c = v->costs;
    sked_status st = SKED_OK;
    double *least = NULL, *size = NULL;
    SKED_NEW(least, v->n);
    SKED_NEW0(size, c->time_kinds);
    count_time_kinds(c, size);
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        const double *row = table + (int64_t)i * c->time_kinds;
        optimistic_row(v, i, least, table);
        least[i] = INFINITY;
        mean[i] = 0;
        for (int32_t q = 0; q < c->time_kinds; q++) {
            least[i] = fmin(least[i], row[q] + sked_i_kind_time(c, i, q));
            mean[i] += row[q] * size[q] / c->devices;
        }
    }
cleanup:
    free(least);
    free(size);
    return st;
}

int32_t sked_i_fastest_device(const sked_i_costs *c, const int32_t *op, int32_t n)
{
    int32_t best = 0, most = -1;
    double least = INFINITY;
    for (int32_t d = 0; d < c->devices; d++) {
        int32_t able = 0;
        double sum = 0;
        if (!sked_i_costs_leads(c, d, n))
            continue;
        for (int32_t k = 0; k < n; k++) {
            const double t = sked_i_time(c, op != NULL ? op[k] : k, d);
            able += t < INFINITY;
            sum += t < INFINITY ? t : 0;
        }
        if (able > most || (able == most && sum < least)) {
            best = d;
            most = able;
            least = sum;
        }
    }
    return best;
}
