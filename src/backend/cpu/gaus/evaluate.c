/*
 * One evaluation: windows, then expectations forward, then prices of the profiles' cells, then gradients
 * backward. Threads take fixed ranges of ops; what they add is summed in their order, so the same number of
 * threads gives the same bits.
 */
#include "backend/cpu/gaus/terms.h"
#include "base/memory.h"
#include "base/thread.h"

#include <string.h>

static const double widest = 0x1p28; /* cells of all windows together */

/* ------------------------------------------------------------------ creating */

static void destroy(sked_i_gaus_evaluator *s)
{
    if (s == NULL)
        return;
    for (int t = 0; s->part != NULL && t < s->threads; t++) {
        sked_i_gaus_part *part = &s->part[t];
        void *const owned[] = {part->change, part->dmu, part->dsigma, part->factor};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
    }
    free(s->part);
    free(s->low);
    free(s->first);
    free(s->cdf);
    free(s->slope);
    free(s->profile);
    free(s->adjoint);
    free(s);
}

/* How far unfolded time reaches: past the last start plus what lives on after it. */
static void measure(sked_i_gaus_evaluator *s, int64_t *degree)
{
    const sked_i_gaus_view *v = s->view;
    int64_t longest = 0;
    *degree = 0;
    for (int32_t i = 0; i < v->ops; i++) {
        const int64_t out = v->succ_ptr[i + 1] - v->succ_ptr[i];
        *degree = out > *degree ? out : *degree;
        longest = v->duration[i] > longest ? v->duration[i] : longest;
    }
    for (int64_t e = 0; e < v->succ_ptr[v->ops]; e++)
        if (v->edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED && v->shift[e] > longest)
            longest = v->shift[e];
    s->cells = v->period > 0 ? v->period : v->steps + 1;
    s->lead = v->period > 0 ? v->period * (1 + 64 / v->period) : 0;
    assert(s->cells > 0 && (v->period == 0 || s->lead % v->period == 0)); /* folding begins at cell 0 */
    s->length = v->period > 0 ? (int32_t)(s->lead * 2 + v->steps + longest + 1) : v->steps + 1;
}

static sked_status create_parts(sked_i_gaus_evaluator *s, int64_t degree, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t rows = s->view->profiles + 1, n = s->view->ops;
    SKED_NEW0(s->part, s->threads);
    for (int t = 0; t < s->threads; t++) {
        sked_i_gaus_part *part = &s->part[t];
        part->begin = (int32_t)(n * t / s->threads);
        part->end = (int32_t)(n * (t + 1) / s->threads);
        SKED_NEW(part->change, rows * s->length);
        SKED_NEW(part->dmu, n);
        SKED_NEW(part->dsigma, n);
        SKED_NEW(part->factor, degree + 1);
    }
cleanup:
    return st;
}

static sked_status create(const sked_i_gaus_view *view, int threads, sked_i_gaus_evaluator **out,
                          sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t rows = view->profiles + 1;
    int64_t degree;
    sked_i_gaus_evaluator *s = sked_i_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return sked_i_no_memory(err);
    assert(threads >= 1 && view->steps >= 0 && view->period >= 0);
    s->view = view;
    s->threads = threads;
    measure(s, &degree);
    sked_i_normal_init(&s->normal);
    SKED_NEW(s->low, view->ops);
    SKED_NEW(s->first, (int64_t)view->ops + 1);
    SKED_NEW(s->profile, rows * s->cells);
    SKED_NEW(s->adjoint, rows * s->cells);
    SKED_TRY(create_parts(s, degree, err));
    *out = s;
    return SKED_OK;
cleanup:
    destroy(s);
    return st;
}

/* ------------------------------------------------------------------ windows */

static sked_status lay_windows(sked_i_gaus_evaluator *s, sked_error *err)
{
    double sum = 0;
    s->first[0] = 0;
    for (int32_t i = 0; i < s->view->ops; i++) {
        const double reach = SKED_I_GAUS_REACH * s->sigma[i];
        const double low = ceil(s->mu[i] - reach - 0.5), high = floor(s->mu[i] + reach - 0.5);
        sum += high - low + 1;
        if (!(sum < widest) || !(fabs(low) < 0x1p30) || !(s->sigma[i] > 0))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler lost its numbers at op %d: mu %g, sigma %g",
                               (int)i, s->mu[i], s->sigma[i]);
        s->low[i] = (int32_t)low;
        s->first[i + 1] = s->first[i] + (high >= low ? (int64_t)(high - low) + 1 : 0);
    }
    int64_t other = s->cap;
    if (!SKED_GROW(s->cdf, s->cap, s->first[s->view->ops]) ||
        !SKED_GROW(s->slope, other, s->first[s->view->ops]))
        return sked_i_no_memory(err);
    return SKED_OK;
}

/* Asked before every op: some milliseconds of them pass between two looks at the limit. */
static bool is_cut(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    enum { between = 1024 };
    if (i % between == 0 && sked_i_limit_heard(s->limit))
        part->cut = true;
    return part->cut;
}

/* Runs a pass over the ops in all threads. STOPPED, without a message: the limit was heard. */
static sked_status pass_ops(sked_i_gaus_evaluator *s, void (*pass)(void *data, int index), sked_error *err)
{
    for (int t = 0; t < s->threads; t++)
        s->part[t].cut = false;
    const sked_status st = sked_i_parallel(s->threads, pass, s, err);
    for (int t = 0; t < s->threads; t++)
        if (s->part[t].cut)
            return st == SKED_OK ? SKED_ERR_STOPPED : st;
    return st;
}

static void fill_windows(void *data, int index)
{
    sked_i_gaus_evaluator *s = data;
    sked_i_gaus_part *part = &s->part[index];
    for (int32_t i = part->begin; i < part->end && !is_cut(s, part, i); i++)
        sked_i_gaus_window_fill(s, i);
}

/* ------------------------------------------------------------------ forward */

static bool matters(const sked_i_gaus_evaluator *s, int family)
{
    return s->terms->multiplier[family] != 0 || s->terms->penalty[family] != 0;
}

static bool edges_matter(const sked_i_gaus_evaluator *s)
{
    return matters(s, SKED_I_GAUS_DEPENDENCY) || matters(s, SKED_I_GAUS_RECURRENCE);
}

static bool memory_matters(const sked_i_gaus_evaluator *s)
{
    const int32_t memory = s->view->profiles;
    return s->view->memory != NULL && (s->terms->weight[memory] != 0 || isfinite(s->terms->capacity[memory]));
}

static void forward(void *data, int index)
{
    sked_i_gaus_evaluator *s = data;
    sked_i_gaus_part *part = &s->part[index];
    const size_t rows = (size_t)s->view->profiles + 1;
    const bool edges = edges_matter(s), memory = memory_matters(s), latency = matters(s, SKED_I_GAUS_LATENCY);
    memset(part->change, 0, rows * (size_t)s->length * sizeof *part->change);
    memset(part->violation, 0, sizeof part->violation);
    part->communication = 0;
    for (int32_t i = part->begin; i < part->end && !is_cut(s, part, i); i++) {
        sked_i_gaus_resource(s, part, i);
        if (memory)
            sked_i_gaus_memory(s, part, i);
        if (edges)
            sked_i_gaus_dependency(s, part, i);
        if (latency)
            sked_i_gaus_latency(s, part, i);
        sked_i_gaus_communication(s, part, i);
    }
}

/* Sums the changes of all threads over time and folds them into the cells. */
static void integrate(sked_i_gaus_evaluator *s)
{
    for (int32_t p = 0; p <= s->view->profiles; p++) {
        double *row = s->profile + (int64_t)p * s->cells, now = 0;
        memset(row, 0, (size_t)s->cells * sizeof *row);
        for (int32_t k = 0, cell = 0; k < s->length; k++, cell++) {
            for (int t = 0; t < s->threads; t++)
                now += s->part[t].change[(int64_t)p * s->length + k];
            cell = cell == s->cells ? 0 : cell;
            row[cell] += now;
        }
    }
}

/* ------------------------------------------------------------------ value, and prices of cells */

/* Adds what the violations cost to value->total; coefficient gets dL/dV of every family. */
static void add_violations(const double *multiplier, const double *penalty, sked_i_gaus_value *value,
                           double *coefficient)
{
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        const double v = value->violation[f];
        value->total += multiplier[f] * v + 0.5 * penalty[f] * v * v;
        coefficient[f] = multiplier[f] + penalty[f] * v;
    }
}

static void sum_value(sked_i_gaus_evaluator *s, sked_i_gaus_value *value)
{
    const sked_i_gaus_terms *t = s->terms;
    *value = (sked_i_gaus_value){0};
    for (int k = 0; k < s->threads; k++) {
        value->communication += s->part[k].communication;
        for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++)
            value->violation[f] += s->part[k].violation[f];
    }
    for (int32_t p = 0; p <= s->view->profiles; p++) {
        const double *row = s->profile + (int64_t)p * s->cells;
        if (t->weight[p] != 0)
            value->peak += t->weight[p] * sked_i_gaus_peak(row, s->cells, t->tau[p]);
        if (isfinite(t->capacity[p]))
            value->violation[SKED_I_GAUS_CAPACITY] += sked_i_gaus_overuse(row, s->cells, t->capacity[p]);
    }
    value->total = value->peak + t->alpha * value->communication;
    add_violations(t->multiplier, t->penalty, value, s->coefficient);
}

static void price_cells(sked_i_gaus_evaluator *s)
{
    const sked_i_gaus_terms *t = s->terms;
    s->least_price = 1e-12 * t->weight[s->view->profiles];
    memset(s->adjoint, 0, (size_t)(s->view->profiles + 1) * (size_t)s->cells * sizeof *s->adjoint);
    for (int32_t p = 0; p <= s->view->profiles; p++) {
        const double *row = s->profile + (int64_t)p * s->cells;
        double *price = s->adjoint + (int64_t)p * s->cells;
        if (t->weight[p] != 0)
            sked_i_gaus_peak_back(row, s->cells, t->tau[p], t->weight[p], price);
        if (isfinite(t->capacity[p]))
            sked_i_gaus_overuse_back(row, s->cells, t->capacity[p], s->coefficient[SKED_I_GAUS_CAPACITY],
                                     price);
    }
}

/* ------------------------------------------------------------------ backward */

static void backward(void *data, int index)
{
    sked_i_gaus_evaluator *s = data;
    sked_i_gaus_part *part = &s->part[index];
    const bool edges = edges_matter(s), memory = memory_matters(s), latency = matters(s, SKED_I_GAUS_LATENCY);
    memset(part->dmu, 0, (size_t)s->view->ops * sizeof *part->dmu);
    memset(part->dsigma, 0, (size_t)s->view->ops * sizeof *part->dsigma);
    for (int32_t i = part->begin; i < part->end && !is_cut(s, part, i); i++) {
        sked_i_gaus_resource_back(s, part, i);
        if (memory)
            sked_i_gaus_memory_back(s, part, i);
        if (edges)
            sked_i_gaus_dependency_back(s, part, i);
        if (latency)
            sked_i_gaus_latency_back(s, part, i);
        if (s->terms->alpha != 0)
            sked_i_gaus_communication_back(s, part, i);
    }
}

static void sum_gradient(const sked_i_gaus_evaluator *s, double *dmu, double *dsigma)
{
    for (int32_t i = 0; i < s->view->ops; i++) {
        double m = 0, d = 0;
        for (int t = 0; t < s->threads; t++) {
            m += s->part[t].dmu[i];
            d += s->part[t].dsigma[i];
        }
        dmu[i] = m;
        dsigma[i] = d;
    }
}

static sked_status evaluate(sked_i_gaus_evaluator *s, const sked_i_gaus_terms *terms, const double *mu,
                            const double *sigma, double *dmu, double *dsigma, sked_i_gaus_value *value,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    s->terms = terms;
    s->mu = mu;
    s->sigma = sigma;
    SKED_TRY(lay_windows(s, err));
    SKED_TRY(pass_ops(s, fill_windows, err));
    SKED_TRY(pass_ops(s, forward, err));
    integrate(s);
    sum_value(s, value);
    price_cells(s);
    SKED_TRY(pass_ops(s, backward, err));
    sum_gradient(s, dmu, dsigma);
cleanup:
    return st;
}

static const double *profile_of(const sked_i_gaus_evaluator *s, int32_t profile)
{
    return s->profile + (int64_t)profile * s->cells;
}

const sked_i_gaus_backend sked_i_gaus_cpu = {create, destroy, evaluate, profile_of};
