/*
 * One evaluation with devices: expectations forward, prices of the cells, gradients backward. Threads take
 * fixed ranges of ops; what they add is summed in their order.
 */
#include "backend/cpu/gaus/device.h"
#include "base/memory.h"
#include "base/thread.h"

#include <string.h>

static void destroy(sked_i_gaus_device_evaluator *s)
{
    if (s == NULL)
        return;
    for (int t = 0; s->part != NULL && t < s->threads; t++) {
        sked_i_gaus_device_part *p = &s->part[t];
        void *const owned[] = {p->change, p->dmu,   p->dsigma, p->dshare,
                               p->cell,   p->dcell, p->scell,  p->kind[0]};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
    }
    free(s->part);
    free(s->load);
    free(s->price);
    free(s->prefix);
    free(s->members);
    free(s);
}

/* Counts and scratch of unequal devices. */
static sked_status open_kinds(sked_i_gaus_device_evaluator *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t count = s->view->kinds->count;
    SKED_NEW0(s->members, count);
    for (int32_t d = 0; d < s->view->devices; d++)
        s->members[s->view->kinds->of[d]]++;
    for (int t = 0; t < s->threads; t++) {
        double **kind = s->part[t].kind;
        SKED_NEW(kind[0], 5 * count);
        for (int k = 1; k < 5; k++)
            kind[k] = kind[k - 1] + count;
    }
cleanup:
    return st;
}

static sked_status create(const sked_i_gaus_device_view *view, int threads,
                          sked_i_gaus_device_evaluator **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = view->ops, rows = (int64_t)view->devices + view->pools;
    sked_i_gaus_device_evaluator *s = NULL;
    SKED_NEW0(s, 1);
    assert(threads >= 1 && view->cells > 0);
    s->view = view;
    s->threads = threads;
    s->rows = (int32_t)rows;
    sked_i_normal_init(&s->normal);
    SKED_NEW(s->load, rows * view->cells);
    SKED_NEW(s->price, rows * view->cells);
    SKED_NEW(s->prefix, rows * ((int64_t)view->cells + 1));
    SKED_NEW0(s->part, threads);
    for (int t = 0; t < threads; t++) {
        sked_i_gaus_device_part *p = &s->part[t];
        p->begin = (int32_t)(n * t / threads);
        p->end = (int32_t)(n * (t + 1) / threads);
        SKED_NEW(p->change, rows * view->cells);
        SKED_NEW(p->dmu, n);
        SKED_NEW(p->dsigma, n);
        SKED_NEW(p->dshare, n * view->devices);
    }
    if (view->kinds != NULL)
        SKED_TRY(open_kinds(s, err));
    *out = s;
    return SKED_OK;
cleanup:
    destroy(s);
    return st;
}

/* Looks for the limit before every 512th op. */
static bool heard(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i)
{
    enum { looks = 511 };
    if ((i & looks) == 0 && sked_i_limit_heard(s->limit))
        part->stopped = true;
    return part->stopped;
}

static bool any_stopped(const sked_i_gaus_device_evaluator *s)
{
    bool any = false;
    for (int t = 0; t < s->threads; t++)
        any = any || s->part[t].stopped;
    return any;
}

static void forward(void *data, int index)
{
    sked_i_gaus_device_evaluator *s = data;
    sked_i_gaus_device_part *part = &s->part[index];
    memset(part->change, 0, (size_t)s->rows * (size_t)s->view->cells * sizeof *part->change);
    memset(part->violation, 0, sizeof part->violation);
    part->stopped = false;
    for (int32_t i = part->begin; i < part->end && !heard(s, part, i); i++) {
        sked_i_gaus_device_occupancy(s, part, i);
        sked_i_gaus_device_transfer(s, part, i);
        sked_i_gaus_device_latency(s, part, i);
    }
}

static void sum_loads(sked_i_gaus_device_evaluator *s)
{
    const int32_t cells = s->view->cells;
    for (int32_t r = 0; r < s->rows; r++) {
        double now = 0;
        for (int64_t k = (int64_t)r * cells; k < (int64_t)(r + 1) * cells; k++) {
            for (int t = 0; t < s->threads; t++)
                now += s->part[t].change[k];
            s->load[k] = now;
        }
    }
}

static void sum_value(sked_i_gaus_device_evaluator *s, sked_i_gaus_value *value)
{
    const int32_t cells = s->view->cells;
    *value = (sked_i_gaus_value){0};
    for (int t = 0; t < s->threads; t++)
        for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++)
            value->violation[f] += s->part[t].violation[f];
    for (int32_t r = 0; r < s->rows; r++)
        value->violation[SKED_I_GAUS_CAPACITY] += sked_i_gaus_overuse(s->load + (int64_t)r * cells, cells, 1);
    sked_i_gaus_add_violations(s->terms->multiplier, s->terms->penalty, value, s->coefficient);
}

static void price_cells(sked_i_gaus_device_evaluator *s)
{
    const int32_t cells = s->view->cells;
    memset(s->price, 0, (size_t)s->rows * (size_t)cells * sizeof *s->price);
    for (int32_t r = 0; r < s->rows; r++) {
        double *price = s->price + (int64_t)r * cells, *prefix = s->prefix + (int64_t)r * (cells + 1);
        sked_i_gaus_overuse_back(s->load + (int64_t)r * cells, cells, 1, s->coefficient[SKED_I_GAUS_CAPACITY],
                                 price);
        prefix[0] = 0;
        for (int32_t c = 0; c < cells; c++)
            prefix[c + 1] = prefix[c] + price[c];
    }
}

static void backward(void *data, int index)
{
    sked_i_gaus_device_evaluator *s = data;
    sked_i_gaus_device_part *part = &s->part[index];
    const size_t n = (size_t)s->view->ops;
    memset(part->dmu, 0, n * sizeof *part->dmu);
    memset(part->dsigma, 0, n * sizeof *part->dsigma);
    memset(part->dshare, 0, n * (size_t)s->view->devices * sizeof *part->dshare);
    for (int32_t i = part->begin; i < part->end && !heard(s, part, i); i++) {
        sked_i_gaus_device_occupancy_back(s, part, i);
        sked_i_gaus_device_transfer_back(s, part, i);
        sked_i_gaus_device_latency_back(s, part, i);
    }
}

static void sum_gradient(const sked_i_gaus_device_evaluator *s, const sked_i_gaus_device_point *gradient)
{
    const int64_t n = s->view->ops, shares = n * s->view->devices;
    memcpy(gradient->mu, s->part[0].dmu, (size_t)n * sizeof *gradient->mu);
    memcpy(gradient->sigma, s->part[0].dsigma, (size_t)n * sizeof *gradient->sigma);
    memcpy(gradient->share, s->part[0].dshare, (size_t)shares * sizeof *gradient->share);
    for (int t = 1; t < s->threads; t++) {
        for (int64_t i = 0; i < n; i++) {
            gradient->mu[i] += s->part[t].dmu[i];
            gradient->sigma[i] += s->part[t].dsigma[i];
        }
        for (int64_t k = 0; k < shares; k++)
            gradient->share[k] += s->part[t].dshare[k];
    }
}

/* Numbers that would leave the grid are refused before they become indices. */
static sked_status check_point(const sked_i_gaus_device_evaluator *s, sked_error *err)
{
    for (int32_t i = 0; i < s->view->ops; i++)
        if (!(fabs(s->at->mu[i]) < 0x1p28) || !(s->at->sigma[i] > 0) || !(s->at->sigma[i] < 0x1p20))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler lost its numbers at op %d: mu %g, sigma %g",
                               (int)i, s->at->mu[i], s->at->sigma[i]);
    return SKED_OK;
}

static sked_status evaluate(sked_i_gaus_device_evaluator *s, const sked_i_gaus_device_terms *terms,
                            const sked_i_gaus_device_point *at, const sked_i_gaus_device_point *gradient,
                            sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = SKED_OK;
    s->terms = terms;
    s->at = at;
    SKED_TRY(check_point(s, err));
    SKED_TRY(sked_i_parallel(s->threads, forward, s, err));
    if (any_stopped(s))
        return SKED_ERR_STOPPED;
    sum_loads(s);
    sum_value(s, value);
    price_cells(s);
    SKED_TRY(sked_i_parallel(s->threads, backward, s, err));
    if (any_stopped(s))
        return SKED_ERR_STOPPED;
    for (int t = 0; t < s->threads; t++)
        if (s->part[t].failed)
            SKED_TRY(sked_i_no_memory(err));
    sum_gradient(s, gradient);
cleanup:
    return st;
}

static const double *load_of(const sked_i_gaus_device_evaluator *s, int32_t row)
{
    return s->load + (int64_t)row * s->view->cells;
}

const sked_i_gaus_device_backend sked_i_gaus_device_cpu = {create, destroy, evaluate, load_of};
