#include "schedule/profile.h"

#include "base/arena.h"
#include "base/sort.h"
#include "problem/lower.h"
#include "schedule/holdings.h"

#include <assert.h>
#include <string.h>

typedef struct change {
    double time, amount;
} change;

void sked_i_profile_free(sked_i_profile *profile)
{
    free(profile->time);
    free(profile->value);
    *profile = (sked_i_profile){0};
}

static int64_t emit(change *out, double begin, double end, double amount)
{
    out[0] = (change){begin, amount};
    out[1] = (change){end, -amount};
    return 2;
}

/* Changes of one interval, folded when there is a period; full turns go into *base. */
static int64_t changes_of(const sked_i_interval *v, double period, double tolerance, change *out,
                          double *base)
{
    double length = v->end - v->begin - tolerance;
    if (!(length > 0) || v->amount == 0)
        return 0;
    if (!(period > 0))
        return emit(out, v->begin, v->begin + length, v->amount);
    const double rest = fmod(length, period), begin = fmod(v->begin, period); /* fmod is exact */
    *base += round((length - rest) / period) * v->amount;
    length = rest;
    if (!(length > 0))
        return 0;
    if (begin + length <= period)
        return emit(out, begin, begin + length, v->amount);
    const int64_t n = emit(out, begin, period, v->amount);
    return n + emit(out + n, 0, begin + length - period, v->amount);
}

/* The amount is stored with the key, so that the sorted changes are read from the first to the last. */
static sked_i_keyed pack(const change *c)
{
    sked_i_keyed x = {.key = sked_i_sort_key(c->time)};
    memcpy(&x.value, &c->amount, sizeof x.value);
    return x;
}

static inline double amount_of(const sked_i_keyed *x)
{
    double amount;
    memcpy(&amount, &x->value, sizeof amount);
    return amount;
}

/* Merges sorted changes into steps; equal times become one step. */
static void integrate(const sked_i_keyed *c, int64_t n, double base, double period, sked_i_profile *out)
{
    double now = base;
    if (period > 0 && (n == 0 || sked_i_sort_value(c[0].key) > 0)) {
        out->time[out->count] = 0;
        out->value[out->count++] = base;
    }
    out->peak = base;
    for (int64_t k = 0; k < n;) {
        const uint64_t time = c[k].key;
        assert(k == 0 || c[k - 1].key < time);
        for (; k < n && c[k].key == time; k++)
            now += amount_of(&c[k]);
        out->time[out->count] = sked_i_sort_value(time);
        out->value[out->count++] = k == n && !(period > 0) ? 0 : now;
        if (now > out->peak)
            out->peak = now;
    }
}

/* Changes in the order of time, and what holds before them. */
typedef struct changes {
    sked_i_arena arena;
    sked_i_keyed *at; /* [count] */
    int64_t count;
    double base;
} changes;

/* Any times: the changes are sorted. */
static sked_status sort_changes(const sked_i_interval *intervals, int64_t count, double period,
                                double tolerance, changes *x, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *spare;
    SKED_OWN(&x->arena, x->at, (period > 0 ? 4 : 2) * count);
    for (int64_t k = 0; k < count; k++) {
        change some[4];
        const int64_t more = changes_of(&intervals[k], period, tolerance, some, &x->base);
        for (int64_t j = 0; j < more; j++)
            x->at[x->count++] = pack(&some[j]);
    }
    SKED_OWN(&x->arena, spare, x->count);
    sked_i_sort_keyed(x->at, spare, x->count);
    sked_i_arena_drop(&x->arena, spare);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ integers */

static inline bool is_integer(double x)
{
    return x < 0x1p53 && (double)(int64_t)x == x;
}

/*
 * Cells from 0 to the last change, where they are no more than a few for each interval and times and amounts
 * are integers whose sums are exact in any order; else 0.
 */
static int64_t cells_of(const sked_i_interval *v, int64_t count, double period, double tolerance)
{
    const double most = 4.0 * (double)count;
    double last = period, sum = 0;
    if (tolerance > 0 || !is_integer(period))
        return 0;
    for (int64_t k = 0; k < count; k++) {
        if (!(v[k].begin >= 0 && v[k].end >= 0 && v[k].amount >= 0) || !is_integer(v[k].begin) ||
            !is_integer(v[k].end) || !is_integer(v[k].amount))
            return 0;
        last = period > 0 || last > v[k].end ? last : v[k].end;
        sum += v[k].amount * (period > 0 ? v[k].end / period + 2 : 1);
    }
    return last < most && sum < 0x1p53 ? (int64_t)last + 1 : 0;
}

/* One cell for each unit of time: O(count + cells), without a sort. */
static sked_status add_changes(const sked_i_interval *intervals, int64_t count, double period, int64_t cells,
                               changes *x, sked_error *err)
{
    sked_status st = SKED_OK;
    double *amount;
    bool *touched; /* there is a change, of 0 or not */
    SKED_OWN0(&x->arena, amount, cells);
    SKED_OWN0(&x->arena, touched, cells);
    for (int64_t k = 0; k < count; k++) {
        change some[4];
        const int64_t n = changes_of(&intervals[k], period, 0, some, &x->base);
        for (int64_t j = 0; j < n; j++) {
            assert(some[j].time >= 0 && some[j].time < (double)cells);
            amount[(int64_t)some[j].time] += some[j].amount;
            touched[(int64_t)some[j].time] = true;
        }
    }
    SKED_OWN(&x->arena, x->at, cells);
    for (int64_t c = 0; c < cells; c++)
        if (touched[c])
            x->at[x->count++] = pack(&(change){(double)c, amount[c]});
    sked_i_arena_drop(&x->arena, amount);
cleanup:
    return st;
}

sked_status sked_i_profile_build(const sked_i_interval *intervals, int64_t count, double period,
                                 double tolerance, sked_i_profile *out, sked_error *err)
{
    const int64_t cells = cells_of(intervals, count, period, tolerance);
    sked_status st = SKED_OK;
    sked_i_profile result = {0};
    changes x = {0};
    SKED_TRY(cells > 0 ? add_changes(intervals, count, period, cells, &x, err)
                       : sort_changes(intervals, count, period, tolerance, &x, err));
    SKED_NEW(result.time, x.count + 1);
    SKED_NEW(result.value, x.count + 1);
    integrate(x.at, x.count, x.base, period, &result);
    *out = result;
    result = (sked_i_profile){0};
cleanup:
    sked_i_arena_free(&x.arena);
    sked_i_profile_free(&result);
    return st;
}

double sked_i_time_tolerance(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s)
{
    return sked_i_problem_integral(p) ? 0 : 1e-9 * fmax(1, sked_i_costs_latest_finish(c, s));
}

/* Peak load of a resource (-1: all ops, 1 each). tolerance: of times; v: room for all ops. */
static sked_status load_peak(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s, int32_t r,
                             bool weighted, double tolerance, sked_i_interval *v, double *peak,
                             sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_i_profile load;
    int64_t n = 0;
    for (int64_t k = 0; k < sked_i_user_count(g, r); k++) {
        double amount;
        const int32_t i = sked_i_user(g, r, k, &amount);
        amount *= weighted ? g->weight[i] : 1;
        if (amount > 0)
            v[n++] = (sked_i_interval){s->start[i], s->start[i] + sked_i_time_in(c, s, i), amount};
    }
    *peak = 0;
    if (n == 0)
        return SKED_OK;
    const sked_status st = sked_i_profile_build(v, n, s->ii, tolerance, &load, err);
    if (st == SKED_OK) {
        *peak = load.peak;
        sked_i_profile_free(&load);
    }
    return st;
}

sked_status sked_i_profile_loads(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                 double *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const bool pooled = g->demand_ptr[g->n_ops] > 0;
    sked_status st = SKED_OK;
    sked_i_interval *v = NULL;
    const double tolerance = sked_i_time_tolerance(p, c, s); /* O(ops), once for all resources */
    double sum = 0, peak = 0;
    SKED_NEW(v, g->n_ops);
    for (int32_t r = pooled ? 0 : -1; r < (pooled ? g->n_resources : 0); r++) {
        SKED_TRY(load_peak(p, c, s, r, true, tolerance, v, &peak, err));
        sum += peak;
    }
    *out = sum;
cleanup:
    free(v);
    return st;
}

sked_status sked_i_profile_peaks(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                 double *peak, sked_error *err)
{
    const double tolerance = sked_i_time_tolerance(p, c, s);
    sked_status st = SKED_OK;
    sked_i_interval *v = NULL;
    SKED_NEW(v, p->graph->n_ops);
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        SKED_TRY(load_peak(p, c, s, r, false, tolerance, v, &peak[r], err));
cleanup:
    free(v);
    return st;
}

/* Holdings as intervals: those on one device (-1: all), in their order. */
static int64_t intervals_on(const sked_graph *g, const sked_i_holdings *h, int32_t device, sked_i_interval *v)
{
    int64_t n = 0;
    for (int64_t k = 0; k < h->count; k++)
        if (device < 0 || h->at[k].device == device)
            v[n++] = (sked_i_interval){h->at[k].begin, h->at[k].end, g->memory[h->at[k].op]};
    return n;
}

sked_status sked_i_profile_memory(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                  int32_t device, sked_i_profile *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_holdings h = {0};
    sked_i_interval *v = NULL;
    SKED_TRY(sked_i_holdings_make(p, c, s, &h, err));
    SKED_NEW(v, h.count);
    const int64_t n = intervals_on(p->graph, &h, device, v);
    SKED_TRY(sked_i_profile_build(v, n, s->ii, sked_i_time_tolerance(p, c, s), out, err));
cleanup:
    sked_i_holdings_free(&h);
    free(v);
    return st;
}

sked_status sked_i_profile_devices(const sked_problem *p, const sked_i_costs *c, const sked_schedule *s,
                                   sked_i_profile *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_holdings h = {0};
    sked_i_interval *sorted = NULL;
    int64_t *first = NULL; /* [devices + 2], shifted while they are counted */
    if (s->devices == 0)
        return SKED_OK;
    memset(out, 0, (size_t)s->devices * sizeof *out);
    SKED_TRY(sked_i_holdings_make(p, c, s, &h, err));
    SKED_NEW0(first, (int64_t)s->devices + 2);
    SKED_NEW(sorted, h.count);
    for (int64_t k = 0; k < h.count; k++)
        first[h.at[k].device + 2]++;
    for (int32_t d = 0; d < s->devices; d++)
        first[d + 2] += first[d + 1];
    for (int64_t k = 0; k < h.count; k++)
        sorted[first[h.at[k].device + 1]++] =
            (sked_i_interval){h.at[k].begin, h.at[k].end, p->graph->memory[h.at[k].op]};
    const double tolerance = sked_i_time_tolerance(p, c, s);
    for (int32_t d = 0; d < s->devices; d++)
        SKED_TRY(
            sked_i_profile_build(sorted + first[d], first[d + 1] - first[d], s->ii, tolerance, &out[d], err));
cleanup:
    for (int32_t d = 0; st != SKED_OK && d < s->devices; d++)
        sked_i_profile_free(&out[d]);
    sked_i_holdings_free(&h);
    free(sorted);
    free(first);
    return st;
}

sked_status sked_schedule_device_memory(const sked_problem *p, const sked_schedule *s, double *peak,
                                        sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_status st = SKED_OK;
    sked_i_costs c = {0};
    sked_i_profile *profile = NULL;
    SKED_TRY(sked_i_schedule_check(p, s, err));
    SKED_NEW(profile, s->devices);
    SKED_TRY(sked_i_costs_make(p, &c, err));
    SKED_TRY(sked_i_profile_devices(p, &c, s, profile, err));
    for (int32_t d = 0; d < s->devices; d++) {
        peak[d] = profile[d].peak;
        sked_i_profile_free(&profile[d]);
    }
cleanup:
    sked_i_costs_free(&c);
    free(profile);
    return st;
}

/* ------------------------------------------------------------------ registers */

/* The last cycle that a value is held over; -1: times that are not whole, or too many. */
static int32_t last_cycle(const sked_i_holdings *h)
{
    enum { most_cycles = 1000000 };
    double last = 0;
    for (int64_t k = 0; k < h->count; k++) {
        if (!is_integer(h->at[k].begin) || !is_integer(h->at[k].end) || h->at[k].begin < 0)
            return -1;
        last = fmax(last, h->at[k].end);
    }
    return last < most_cycles ? (int32_t)last : -1;
}

sked_status sked_schedule_registers(const sked_problem *p, const sked_schedule *s, double **bits,
                                    int32_t *count, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_status st = SKED_OK;
    sked_i_costs c = {0};
    sked_i_holdings h = {0};
    double *held = NULL;
    SKED_TRY(sked_i_schedule_check(p, s, err));
    SKED_TRY(sked_i_costs_make(p, &c, err));
    SKED_TRY(sked_i_holdings_make(p, &c, s, &h, err));
    const int32_t last = last_cycle(&h);
    if (last < 0) {
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                         "registers are counted in less than a million whole cycles");
        goto cleanup;
    }
    SKED_NEW0(held, (int64_t)last + 1);
    for (int64_t k = 0; k < h.count; k++) {
        held[(int32_t)h.at[k].begin] += p->graph->memory[h.at[k].op];
        held[(int32_t)h.at[k].end] -= p->graph->memory[h.at[k].op];
    }
    for (int32_t k = 1; k < last; k++)
        held[k] += held[k - 1];
    *bits = held;
    *count = last;
    held = NULL;
cleanup:
    sked_i_holdings_free(&h);
    sked_i_costs_free(&c);
    free(held);
    return st;
}
