/*
 * Placing on heterogeneous devices: an op takes its own time on each, some cannot run it, and data takes as
 * long as the link between two devices says. Devices of a kind share their links, so arrivals are kept by
 * kind; only what comes from the kind itself needs to know from which of its devices.
 */
#include "engine/list/placer.h"

#include <string.h>

typedef sked_i_placer placer;

/* Links in the direction of the view: mirrored, data runs against time. */
static void fill_links(const sked_i_dag *v, sked_i_arrivals *a)
{
    const sked_i_costs *c = v->costs;
    const sked_machine *m = c->machine;
    for (int32_t from = 0; from < a->kinds; from++)
        for (int32_t to = 0; to < a->kinds; to++) {
            const int64_t at = (int64_t)from * a->kinds + to;
            const int64_t link = v->mirrored ? (int64_t)to * a->kinds + from : at;
            a->latency[at] = m ? m->link_latency[link] : c->latency;
            a->bandwidth[at] = m ? m->link_bandwidth[link] : c->bandwidth;
        }
}

static void find_shortest(placer *x)
{
    const sked_i_costs *c = x->input.view->costs;
    x->shortest = INFINITY;
    for (int32_t i = 0; i < x->input.view->n; i++)
        for (int32_t q = 0; q < c->classes; q++) {
            const double t = sked_i_kind_time(c, i, c->fastest != NULL ? c->fastest[q] : 0);
            x->shortest = t > 0 && t < x->shortest ? t : x->shortest;
        }
}

static void find_instant(const sked_i_pools *q, bool *instant)
{
    for (int32_t c = 0; c < q->n_classes; c++)
        for (int64_t k = q->class_ptr[c]; k < q->class_ptr[c + 1]; k++)
            instant[c] = instant[c] || q->amount[k] > q->capacity[q->pool[k]] + q->slack[q->pool[k]];
}

sked_status sked_i_placer_open_heterogeneous(sked_i_placer *x, sked_error *err)
{
    const sked_machine *m = x->input.view->costs->machine;
    sked_status st = SKED_OK;
    sked_i_arrivals *a = &x->far;
    a->kinds = m ? m->n_link_kinds : 1;
    a->kind = m ? m->link_kind : NULL;
    SKED_OWN(&x->arena, a->latency, (int64_t)a->kinds * a->kinds);
    SKED_OWN(&x->arena, a->bandwidth, (int64_t)a->kinds * a->kinds);
    SKED_OWN(&x->arena, a->far, a->kinds);
    SKED_OWN(&x->arena, a->near, 2 * (int64_t)a->kinds);
    SKED_OWN(&x->arena, a->near_device, a->kinds);
    SKED_OWN(&x->arena, a->option, 3 * (int64_t)x->input.devices);
    SKED_OWN0(&x->arena, a->instant, x->input.pools->n_classes);
    find_instant(x->input.pools, a->instant);
    fill_links(x->input.view, a);
    find_shortest(x);
    SKED_TRY(sked_i_reach_create(x, &x->reach, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ where data is when */

static int32_t kind_of(const sked_i_arrivals *a, int32_t d)
{
    return a->kind ? a->kind[d] : 0;
}

/* Data that is there at `here` arrives elsewhere then; a link that is missing is free to no bytes. */
static double sent(double here, double latency, double bandwidth, double bytes)
{
    const double t = here + (latency + bytes / bandwidth);
    return isnan(latency) ? bytes > 0 ? INFINITY : here : t;
}

/* Data from a device of kind `own` to all other kinds; the loop is for the compiler to vectorise. */
static void note_far(int32_t kinds, double here, double bytes, const double *restrict latency,
                     const double *restrict bandwidth, int32_t own, double *restrict far)
{
    const double kept = far[own], without = bytes > 0 ? INFINITY : here;
    for (int32_t g = 0; g < kinds; g++) {
        const double t = here + (latency[g] + bytes / bandwidth[g]);
        const double arrives = latency[g] >= 0 ? t : without;
        far[g] = arrives > far[g] ? arrives : far[g];
    }
    far[own] = kept;
}

/* Without op `but`, and without predecessors that are not placed yet (device -1). */
static void gather_all_but(placer *x, int32_t i, int32_t but)
{
    const sked_i_dag_rows *in = &x->input.view->in;
    const sked_i_costs *c = x->input.view->costs;
    const double floor_time = x->input.release ? x->input.release[i] : 0;
    sked_i_arrivals *a = &x->far;
    const int32_t kinds = a->kinds;
    for (int32_t g = 0; g < kinds; g++) {
        a->far[g] = a->near[2 * g] = a->near[2 * g + 1] = floor_time;
        a->near_device[g] = -1;
    }
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t q = in->op[k], d = x->device[q];
        if (d < 0 || q == but)
            continue;
        const int32_t own = kind_of(a, d);
        const double here = x->start[q] + (in->given[k] ? in->lag[k] : sked_i_time(c, q, d));
        const double *latency = a->latency + (int64_t)own * kinds;
        const double *bandwidth = a->bandwidth + (int64_t)own * kinds;
        if (x->seen[d] != i || here > x->local[d])
            x->local[d] = here;
        x->seen[d] = i;
        sked_i_placer_note(a->near + 2 * (int64_t)own, &a->near_device[own], d,
                           sent(here, latency[own], bandwidth[own], in->bytes[k]));
        note_far(kinds, here, in->bytes[k], latency, bandwidth, own, a->far);
    }
}

void sked_i_placer_gather(sked_i_placer *x, int32_t i)
{
    gather_all_but(x, i, -1);
}

double sked_i_placer_arrival(const sked_i_placer *x, int32_t i, int32_t d)
{
    const sked_i_arrivals *a = &x->far;
    const int32_t g = kind_of(a, d);
    const double near = a->near[2 * (int64_t)g + (d == a->near_device[g])];
    const double away = near > a->far[g] ? near : a->far[g];
    return x->seen[d] == i && x->local[d] > away ? x->local[d] : away;
}

double sked_i_placer_earliest(sked_i_placer *x, int32_t i)
{
    const double least = x->input.release ? x->input.release[i] : 0;
    int32_t first, last;
    double best = INFINITY;
    sked_i_placer_gather(x, i);
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = first; d <= last && best > least; d++)
        if (sked_i_placer_time(x, i, d) < INFINITY)
            best = fmin(best, sked_i_placer_arrival(x, i, d));
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
        const int64_t link = (int64_t)kind_of(a, from) * a->kinds + kind_of(a, d);
        const double here = x->start[q] + (in->given[k] ? in->lag[k] : sked_i_time(c, q, from));
        const double t = from == d ? here : sent(here, a->latency[link], a->bandwidth[link], in->bytes[k]);
        missing += isinf(t);
        *arrival = fmax(*arrival, isinf(t) ? here : t);
    }
    return missing;
}

double sked_i_placer_arrival_hetero(const sked_i_placer *x, int32_t i, int32_t d)
{
    double arrival;
    return missing_links(x, i, d, &arrival) > 0 ? INFINITY : arrival;
}

/* Of first..last the device that lacks the least data of op i, with its start there; INT64_MAX: none can run
 * it. */
static int64_t least_missing(placer *x, int32_t i, int32_t first, int32_t last)
{
    int64_t least = INT64_MAX;
    double gap;
    for (int32_t d = first; d <= last; d++) {
        double from;
        if (isinf(sked_i_placer_time(x, i, d)))
            continue;
        const int64_t missing = missing_links(x, i, d, &from);
        if (missing < least) {
            least = missing;
            x->device[i] = d;
            x->start[i] = sked_i_placer_room(x, i, sked_i_placer_time(x, i, d), d, from, &gap);
        }
    }
    return least;
}

/* No device can have all data of op i, or the one it should go to cannot run it. */
static void strand(placer *x, int32_t i)
{
    int32_t first, last;
    sked_i_placer_range(x, i, &first, &last);
    int64_t missing = least_missing(x, i, first, last);
    if (missing == INT64_MAX)
        missing = 1 + least_missing(x, i, 0, x->input.devices - 1);
    x->late += (double)missing + sked_i_placer_time(x, i, x->device[i]);
}

/* What follows the finish of op i on device d, as far as devices are compared by it. */
static double ahead_of(const placer *x, int32_t i, int32_t d)
{
    const sked_i_costs *c = x->input.view->costs;
    return x->how->ahead ? x->how->ahead[(int64_t)i * c->time_kinds + sked_i_device_time_kind(c, d)] : 0;
}

static bool allows(const placer *x, int32_t i, int32_t d)
{
    return x->reach == NULL || sked_i_reach_allows(x, i, d);
}

/* Every device on which op i can start, with start, score (finish and what follows) and idle since. */
static void list_options(placer *x, int32_t i)
{
    const int32_t m = x->input.devices;
    double *start = x->far.option, *score = start + m, *idle = score + m;
    int32_t first, last;
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = 0; d < m; d++) {
        const bool open = d >= first && d <= last && allows(x, i, d);
        const double length = open ? sked_i_placer_time(x, i, d) : INFINITY;
        const double from = sked_i_placer_arrival(x, i, d);
        start[d] = score[d] = INFINITY;
        idle[d] = 0;
        if (isinf(from + length))
            continue;
        start[d] = sked_i_placer_room(x, i, length, d, from, &idle[d]);
        score[d] = start[d] + length + ahead_of(x, i, d);
    }
}

/* Earliest finish of op `to`, gathered before, with one more predecessor: it starts at `begin` on device d.
 */
static double finish_after(const placer *x, int64_t edge, int32_t to, double here, int32_t d)
{
    const sked_i_arrivals *a = &x->far;
    const double bytes = x->input.view->out.bytes[edge];
    double best = INFINITY, gap;
    int32_t first, last;
    sked_i_placer_range(x, to, &first, &last);
    for (int32_t e = first; e <= last; e++) {
        const int64_t link = (int64_t)kind_of(a, d) * a->kinds + kind_of(a, e);
        const double length = sked_i_placer_time(x, to, e);
        const double brought = d == e ? here : sent(here, a->latency[link], a->bandwidth[link], bytes);
        const double from = fmax(brought, sked_i_placer_arrival(x, to, e));
        if (from + length < best)
            best = fmin(best, sked_i_placer_room(x, to, length, e, from, &gap) + length);
    }
    return best;
}

/* Scores become the latest finish of a successor, each placed alone where it finishes first. */
static void look_ahead(placer *x, int32_t i)
{
    const sked_i_dag_rows *out = &x->input.view->out;
    const sked_i_costs *c = x->input.view->costs;
    const int32_t m = x->input.devices;
    double *start = x->far.option, *score = start + m;
    for (int64_t e = out->ptr[i]; e < out->ptr[i + 1]; e++) {
        const int32_t to = out->op[e];
        if (x->how->fix_start != NULL && !isnan(x->how->fix_start[to]))
            continue;
        if (sked_i_pace_over(&x->pace, (int64_t)m * m))
            return; /* the placer gives up before the next op */
        gather_all_but(x, to, i);
        for (int32_t d = 0; d < m; d++)
            if (start[d] < INFINITY) {
                const double here = start[d] + (out->given[e] ? out->lag[e] : sked_i_time(c, i, d));
                score[d] = fmax(score[d], finish_after(x, e, to, here, d));
            }
    }
}

static void choose_scored(placer *x, int32_t i)
{
    const int32_t m = x->input.devices;
    const double *start = x->far.option, *score = start + m, *idle = score + m;
    int32_t best = -1;
    list_options(x, i);
    if (x->how->lookahead)
        look_ahead(x, i);
    for (int32_t d = 0; d < m; d++)
        if (start[d] < INFINITY &&
            (best < 0 || score[d] < score[best] || (score[d] == score[best] && idle[d] > idle[best])))
            best = d;
    if (best < 0)
        strand(x, i);
    else {
        x->device[i] = best;
        x->start[i] = start[best];
    }
}

static void choose_first(placer *x, int32_t i)
{
    int32_t first, last;
    double best = INFINITY, idle_since = -1;
    sked_i_placer_range(x, i, &first, &last);
    for (int32_t d = first; d <= last; d++) {
        double gap = 0;
        if (!allows(x, i, d))
            continue;
        const double length = sked_i_placer_time(x, i, d), from = sked_i_placer_arrival(x, i, d);
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

void sked_i_placer_choose(sked_i_placer *x, int32_t i)
{
    sked_i_placer_gather(x, i);
    if (x->how->ahead != NULL || x->how->lookahead)
        choose_scored(x, i);
    else
        choose_first(x, i);
}

/* The same among first..last; x->device[i] stays as it is where none of them can run op i. */
static bool fit_among(placer *x, int32_t i, double t, int32_t first, int32_t last)
{
    double best = INFINITY, gap;
    bool found = false;
    for (int32_t d = first; d <= last; d++) {
        const double length = sked_i_placer_time(x, i, d);
        if (isinf(length) || (found && length >= best))
            continue;
        const bool room = sked_i_placer_room(x, i, length, d, t, &gap) == t;
        if (!room && (found || length >= best))
            continue;
        best = length;
        found = room;
        x->device[i] = d;
    }
    return found;
}

bool sked_i_placer_fit(sked_i_placer *x, int32_t i, double t)
{
    int32_t first, last;
    sked_i_placer_range(x, i, &first, &last);
    if (first < last || sked_i_placer_time(x, i, first) < INFINITY)
        return fit_among(x, i, t, first, last);
    (void)fit_among(x, i, t, 0, x->input.devices - 1);
    return false;
}
