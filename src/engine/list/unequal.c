/*
 * Placing on unequal devices: an op takes its own time on each, some cannot run it, and data takes as long as
 * the link between two devices says. Devices of a group share their links, so arrivals are kept by group;
 * only what comes from the group itself needs to know from which of its devices.
 */
#include "base/memory.h"
#include "engine/list/placer.h"

#include <string.h>

typedef sked_i_placer placer;

void sked_i_arrivals_free(sked_i_placer *x)
{
    sked_i_arrivals *a = &x->far;
    free(a->latency);
    free(a->bandwidth);
    free(a->far);
    free(a->near);
    free(a->near_device);
    free(a->instant);
}

/* Links in the direction of the view: mirrored, data runs against time. */
static void fill_links(const sked_i_dag *v, sked_i_arrivals *a)
{
    const sked_i_costs *c = v->costs;
    const sked_machine *m = c->machine;
    for (int32_t from = 0; from < a->groups; from++)
        for (int32_t to = 0; to < a->groups; to++) {
            const int64_t at = (int64_t)from * a->groups + to;
            const int64_t link = v->mirrored ? (int64_t)to * a->groups + from : at;
            a->latency[at] = m ? m->link_latency[link] : c->latency;
            a->bandwidth[at] = m ? m->link_bandwidth[link] : c->bandwidth;
        }
}

static void find_shortest(placer *x)
{
    const sked_i_costs *c = x->input.view->costs;
    x->shortest = INFINITY;
    for (int32_t i = 0; i < x->input.view->n; i++)
        for (int32_t k = 0; k < c->classes; k++) {
            const double t = sked_i_class_time(c, i, k);
            x->shortest = t > 0 && t < x->shortest ? t : x->shortest;
        }
}

static void find_instant(const sked_i_pools *q, bool *instant)
{
    for (int32_t c = 0; c < q->n_classes; c++)
        for (int64_t k = q->class_ptr[c]; k < q->class_ptr[c + 1]; k++)
            instant[c] = instant[c] || q->amount[k] > q->capacity[q->pool[k]] + q->slack[q->pool[k]];
}

sked_status sked_i_unequal_create(sked_i_placer *x, sked_error *err)
{
    const sked_machine *m = x->input.view->costs->machine;
    sked_status st = SKED_OK;
    sked_i_arrivals *a = &x->far;
    a->groups = m ? m->n_groups : 1;
    a->group = m ? m->group : NULL;
    SKED_NEW(a->latency, (int64_t)a->groups * a->groups);
    SKED_NEW(a->bandwidth, (int64_t)a->groups * a->groups);
    SKED_NEW(a->far, a->groups);
    SKED_NEW(a->near, 2 * (int64_t)a->groups);
    SKED_NEW(a->near_device, a->groups);
    SKED_NEW0(a->instant, x->input.pools->n_classes);
    find_instant(x->input.pools, a->instant);
    fill_links(x->input.view, a);
    find_shortest(x);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ where data is when */

static int32_t group_of(const sked_i_arrivals *a, int32_t d)
{
    return a->group ? a->group[d] : 0;
}

/* Data that is there at `here` arrives elsewhere then; a link that is missing is free to no bytes. */
static double sent(double here, double latency, double bandwidth, double bytes)
{
    const double t = here + (latency + bytes / bandwidth);
    return isnan(latency) ? bytes > 0 ? INFINITY : here : t;
}

/* Data from device d to the others of its group. */
static void note_near(sked_i_arrivals *a, int32_t g, int32_t d, double t)
{
    double *near = a->near + 2 * (int64_t)g;
    if (d == a->near_device[g])
        near[0] = t > near[0] ? t : near[0];
    else if (t > near[0]) {
        near[1] = near[0];
        near[0] = t;
        a->near_device[g] = d;
    } else if (t > near[1])
        near[1] = t;
}

void sked_i_unequal_gather(sked_i_placer *x, int32_t i)
{
    const sked_i_dag_rows *in = &x->input.view->in;
    const sked_i_costs *c = x->input.view->costs;
    const double floor_time = x->input.release ? x->input.release[i] : 0;
    sked_i_arrivals *a = &x->far;
    const int32_t groups = a->groups;
    for (int32_t g = 0; g < groups; g++) {
        a->far[g] = a->near[2 * g] = a->near[2 * g + 1] = floor_time;
        a->near_device[g] = -1;
    }
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t q = in->op[k], d = x->device[q], own = group_of(a, d);
        const double here = x->start[q] + (in->given[k] ? in->lag[k] : sked_i_time(c, q, d));
        const double *latency = a->latency + (int64_t)own * groups;
        const double *bandwidth = a->bandwidth + (int64_t)own * groups;
        if (x->seen[d] != i || here > x->local[d])
            x->local[d] = here;
        x->seen[d] = i;
        note_near(a, own, d, sent(here, latency[own], bandwidth[own], in->bytes[k]));
        for (int32_t g = 0; g < groups; g++) {
            const double t = g == own ? floor_time : sent(here, latency[g], bandwidth[g], in->bytes[k]);
            a->far[g] = t > a->far[g] ? t : a->far[g];
        }
    }
}

double sked_i_unequal_arrival(const sked_i_placer *x, int32_t i, int32_t d)
{
    const sked_i_arrivals *a = &x->far;
    const int32_t g = group_of(a, d);
    const double near = a->near[2 * (int64_t)g + (d == a->near_device[g])];
    const double away = near > a->far[g] ? near : a->far[g];
    return x->seen[d] == i && x->local[d] > away ? x->local[d] : away;
}

double sked_i_unequal_earliest(sked_i_placer *x, int32_t i)
{
    int32_t first, last;
    double best = INFINITY;
    sked_i_unequal_gather(x, i);
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = first; d <= last; d++)
        if (sked_i_unequal_time(x, i, d) < INFINITY)
            best = fmin(best, sked_i_unequal_arrival(x, i, d));
    return best < INFINITY ? best : 0;
}

/* ------------------------------------------------------------------ the choice of a device */

/* Data of op i that no link brings to device d, and when the rest is there. */
static int64_t missing_links(const placer *x, int32_t i, int32_t d, double *arrival)
{
    const sked_i_dag_rows *in = &x->input.view->in;
    const sked_i_costs *c = x->input.view->costs;
    const sked_i_arrivals *a = &x->far;
    int64_t missing = 0;
    *arrival = x->input.release ? x->input.release[i] : 0;
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t q = in->op[k], from = x->device[q];
        const int64_t link = (int64_t)group_of(a, from) * a->groups + group_of(a, d);
        const double here = x->start[q] + (in->given[k] ? in->lag[k] : sked_i_time(c, q, from));
        const double t = from == d ? here : sent(here, a->latency[link], a->bandwidth[link], in->bytes[k]);
        missing += isinf(t);
        *arrival = fmax(*arrival, isinf(t) ? here : t);
    }
    return missing;
}

/* No device can have all data of op i: the one that lacks the least. */
static void strand(placer *x, int32_t i)
{
    int32_t first, last;
    int64_t least = INT64_MAX;
    double gap;
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = first; d <= last; d++) {
        double from;
        if (isinf(sked_i_unequal_time(x, i, d)))
            continue;
        const int64_t missing = missing_links(x, i, d, &from);
        if (missing < least) {
            least = missing;
            x->device[i] = d;
            x->start[i] = sked_i_placer_room(x, i, sked_i_unequal_time(x, i, d), d, from, &gap);
        }
    }
    assert(least < INT64_MAX);
    x->late += (double)least + sked_i_unequal_time(x, i, x->device[i]);
}

void sked_i_unequal_choose(sked_i_placer *x, int32_t i)
{
    int32_t first, last;
    double best = INFINITY, idle_since = -1;
    sked_i_unequal_gather(x, i);
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = first; d <= last; d++) {
        double gap = 0;
        const double length = sked_i_unequal_time(x, i, d), from = sked_i_unequal_arrival(x, i, d);
        if (from + length > best || isinf(from + length))
            continue;
        const double t = sked_i_placer_room(x, i, length, d, from, &gap), finish = t + length;
        if (finish < best || (finish == best && gap > idle_since)) {
            best = finish;
            idle_since = gap;
            x->device[i] = d;
            x->start[i] = t;
        }
    }
    if (isinf(best))
        strand(x, i);
}

bool sked_i_unequal_fit(sked_i_placer *x, int32_t i, double t)
{
    int32_t first, last;
    double best = INFINITY, gap;
    bool found = false;
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = first; d <= last; d++) {
        const double length = sked_i_unequal_time(x, i, d);
        const bool room = length < INFINITY && sked_i_placer_room(x, i, length, d, t, &gap) == t;
        if (isinf(length) || (found && !room) || (room == found && length >= best))
            continue;
        best = length;
        found = room;
        x->device[i] = d;
    }
    return found;
}
