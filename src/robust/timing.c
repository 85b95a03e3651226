#include "robust/timing.h"

#include <assert.h>
#include <math.h>

enum { VIA_NOTHING = -1, VIA_DEVICE = -2 };

sked_status sked_i_timing_work_open(sked_i_timing_work *w, sked_i_arena *a, int32_t ops, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(a, w->time, ops);
    SKED_OWN(a, w->start, ops);
    SKED_OWN(a, w->via, ops);
cleanup:
    return st;
}

static double bytes_of(const sked_i_timing_edge *e, const sked_i_rates *rates)
{
    return rates->size != NULL ? rates->size[e->from] : e->bytes;
}

static double arrival(const sked_i_timing_edge *e, const sked_i_rates *rates, const sked_i_timing_work *w)
{
    const double ready = w->start[e->from] + (isnan(e->lag) ? w->time[e->from] : e->lag);
    return e->link < 0 ? ready
                       : ready + rates->latency[e->link] + bytes_of(e, rates) * rates->per_byte[e->link];
}

double sked_i_timing_run(const sked_i_timing *r, const sked_i_rates *rates, sked_i_timing_work *w)
{
    double latest = 0;
    w->last = -1;
    for (int32_t k = 0; k < r->ops; k++) {
        const int32_t i = r->order[k], before = r->before[i];
        double start = 0, warm = 1;
        int64_t via = VIA_NOTHING;
        if (before >= 0 && w->start[before] + w->time[before] > start) {
            start = w->start[before] + w->time[before];
            via = VIA_DEVICE;
        }
        for (int64_t e = r->row[i]; e < r->row[i + 1]; e++) {
            const double t = arrival(&r->edge[e], rates, w);
            if (t > start) {
                start = t;
                via = e;
            }
            if (r->edge[e].from == before)
                warm = rates->warm;
        }
        w->time[i] =
            (r->base[i] + rates->start_up * r->share[i]) * rates->factor[i] * rates->kind[r->kind[i]] * warm +
            rates->read * r->remote[i];
        w->start[i] = start;
        w->via[i] = via;
        if (start + w->time[i] > latest || w->last < 0) {
            latest = start + w->time[i];
            w->last = i;
        }
    }
    return latest;
}

bool sked_i_timing_warm(const sked_i_timing *r, int32_t op)
{
    for (int64_t e = r->row[op]; e < r->row[op + 1]; e++)
        if (r->edge[e].from == r->before[op])
            return true;
    return false;
}

static void add_time(const sked_i_timing *r, const sked_i_rates *rates, const sked_i_timing_work *w,
                     int32_t i, const sked_i_timing_gradient *d)
{
    const double read = rates->read * r->remote[i], work = w->time[i] - read;
    d->factor[i] += work;
    d->kind[r->kind[i]] += work;
    *d->read += read;
    const bool warm = sked_i_timing_warm(r, i);
    *d->warm += warm ? work : 0;
    *d->start_up +=
        rates->start_up * r->share[i] * rates->factor[i] * rates->kind[r->kind[i]] * (warm ? rates->warm : 1);
}

static void add_transfer(const sked_i_timing_edge *e, const sked_i_rates *rates,
                         const sked_i_timing_gradient *d)
{
    assert(e->link >= 0);
    const double bytes = bytes_of(e, rates) * rates->per_byte[e->link];
    d->latency[e->link] += rates->latency[e->link];
    d->per_byte[e->link] += bytes;
    if (d->size != NULL)
        d->size[e->from] += bytes;
}

void sked_i_timing_differentiate(const sked_i_timing *r, const sked_i_rates *rates,
                                 const sked_i_timing_work *w, const sked_i_timing_gradient *d)
{
    assert(w->last < r->ops && (d->size == NULL) == (rates->size == NULL));
    int32_t i = w->last;
    if (i >= 0)
        add_time(r, rates, w, i, d);
    while (i >= 0 && w->via[i] != VIA_NOTHING) {
        if (w->via[i] == VIA_DEVICE) {
            i = r->before[i];
            add_time(r, rates, w, i, d);
            continue;
        }
        const sked_i_timing_edge *e = &r->edge[w->via[i]];
        if (e->link >= 0)
            add_transfer(e, rates, d);
        i = e->from;
        if (isnan(e->lag))
            add_time(r, rates, w, i, d);
    }
}

int32_t sked_i_timing_critical(const sked_i_timing *r, const sked_i_timing_work *w, int32_t *op)
{
    int32_t n = 0;
    for (int32_t i = w->last; i >= 0;) {
        op[n++] = i;
        i = w->via[i] == VIA_NOTHING ? -1 : w->via[i] == VIA_DEVICE ? r->before[i] : r->edge[w->via[i]].from;
    }
    return n;
}
