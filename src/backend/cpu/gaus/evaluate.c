/*
 * One evaluation: windows, then expectations forward, then prices of the profiles' cells, then gradients
 * backward. Threads take fixed ranges of ops; what they add is summed in their order, so the same number of
 * threads gives the same bits.
 */
#include "backend/cpu/gaus/terms.h"
#include "base/explog.h"
#include "base/thread.h"

#include <string.h>

static const double widest = 0x1p28; /* cells of all windows together */

/* ------------------------------------------------------------------ creating */

static sked_status create_parts(sked_i_gaus_evaluator *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_view *v = s->view;
    const int64_t rows = v->profiles + 1, n = v->ops;
    int64_t degree = 0;
    for (int32_t i = 0; i < n; i++)
        degree = v->succ_ptr[i + 1] - v->succ_ptr[i] > degree ? v->succ_ptr[i + 1] - v->succ_ptr[i] : degree;
    SKED_OWN0(&s->arena, s->part, s->threads);
    for (int t = 0; t < s->threads; t++) {
        sked_i_gaus_part *part = &s->part[t];
        part->begin = (int32_t)(n * t / s->threads);
        part->end = (int32_t)(n * (t + 1) / s->threads);
        SKED_OWN(&s->arena, part->change, rows * s->length);
        SKED_OWN(&s->arena, part->dmu, n);
        SKED_OWN(&s->arena, part->dsigma, n);
        SKED_OWN(&s->arena, part->factor, degree + 1);
    }
cleanup:
    return st;
}

sked_status sked_i_gaus_evaluator_open(sked_i_gaus_evaluator *s, const sked_i_gaus_view *view, int threads,
                                       sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t rows = view->profiles + 1;
    assert(threads >= 1 && view->steps >= 0 && view->period >= 0);
    *s = (sked_i_gaus_evaluator){.view = view, .threads = threads};
    sked_i_gaus_measure(view, &s->cells, &s->lead, &s->length);
    assert(s->cells > 0 && (view->period == 0 || s->lead % view->period == 0));
    sked_i_normal_init(&s->normal);
    SKED_OWN(&s->arena, s->low, view->ops);
    SKED_OWN(&s->arena, s->first, (int64_t)view->ops + 1);
    SKED_OWN(&s->arena, s->profile, rows * s->cells);
    SKED_OWN(&s->arena, s->adjoint, rows * s->cells);
    SKED_TRY(create_parts(s, err));
cleanup:
    return st;
}

void sked_i_gaus_evaluator_close(sked_i_gaus_evaluator *s)
{
    sked_i_arena_free(&s->arena);
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
    if (!SKED_OWN_GROW(&s->arena, s->cdf, s->cap, s->first[s->view->ops]) ||
        !SKED_OWN_GROW(&s->arena, s->slope, other, s->first[s->view->ops]))
        return sked_i_no_memory(err);
    return SKED_OK;
}

/* Called before every op: some milliseconds of them pass between two looks at the limit. */
static bool is_cut(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    enum { between = 1024 };
    if (i % between == 0 && sked_i_limit_heard(s->limit))
        part->cut = true;
    return part->cut;
}

/* Runs a pass over the ops in all threads. STOPPED, without a message: the limit is reached. */
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

/* F and slope of op i into its cells. */
static void fill_window(sked_i_gaus_evaluator *s, int32_t i)
{
    const int64_t first = s->first[i], len = s->first[i + 1] - first;
    const double inverse = 1 / s->sigma[i], z0 = (s->low[i] + 0.5 - s->mu[i]) * inverse;
    sked_i_normal_row(&s->normal, z0, inverse, len, s->cdf + first, s->slope + first);
    for (int64_t k = 0; k < len; k++)
        s->slope[first + k] *= inverse;
}

static void fill_windows(void *data, int index)
{
    sked_i_gaus_evaluator *s = data;
    sked_i_gaus_part *part = &s->part[index];
    for (int32_t i = part->begin; i < part->end && !is_cut(s, part, i); i++)
        fill_window(s, i);
}

/* ------------------------------------------------------------------ forward */

static void forward(void *data, int index)
{
    sked_i_gaus_evaluator *s = data;
    sked_i_gaus_part *part = &s->part[index];
    const size_t rows = (size_t)s->view->profiles + 1;
    const unsigned what = s->what;
    memset(part->change, 0, rows * (size_t)s->length * sizeof *part->change);
    memset(part->violation, 0, sizeof part->violation);
    part->communication = 0;
    for (int32_t i = part->begin; i < part->end && !is_cut(s, part, i); i++) {
        sked_i_gaus_resource(s, part, i);
        if (what & SKED_I_GAUS_WITH_MEMORY)
            sked_i_gaus_memory(s, part, i);
        if (what & SKED_I_GAUS_WITH_EDGES)
            sked_i_gaus_dependency(s, part, i);
        if (what & SKED_I_GAUS_WITH_LATENCY)
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

/* exp(x) for x <= 0, 0 where it cannot matter. */
static double falling(double x)
{
    return x > -700 ? sked_i_exp(x) : 0;
}

/* tau * log sum exp(E / tau) of a profile; price: weight * softmax. */
static double take_peak(const double *profile, int32_t cells, double tau, double weight, double *price)
{
    double most = profile[0], sum = 0;
    assert(tau > 0 && cells > 0);
    for (int32_t d = 1; d < cells; d++)
        most = profile[d] > most ? profile[d] : most;
    for (int32_t d = 0; d < cells; d++)
        sum += falling((profile[d] - most) / tau);
    const double peak = most + tau * sked_i_log(sum);
    for (int32_t d = 0; d < cells; d++)
        price[d] = weight * falling((profile[d] - peak) / tau);
    return peak;
}

/* Sum over cells of (E - capacity)^2 / 2 where above. */
static double overuse(const double *profile, int32_t cells, double capacity)
{
    double sum = 0;
    for (int32_t d = 0; d < cells; d++)
        if (profile[d] > capacity)
            sum += 0.5 * (profile[d] - capacity) * (profile[d] - capacity);
    return sum;
}

/* The value, and in s->adjoint what it costs to raise a cell of a peak. */
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
        double *price = s->adjoint + (int64_t)p * s->cells;
        if (t->weight[p] != 0)
            value->peak += t->weight[p] * take_peak(row, s->cells, t->tau[p], t->weight[p], price);
        else
            memset(price, 0, (size_t)s->cells * sizeof *price);
        if (isfinite(t->capacity[p]))
            value->violation[SKED_I_GAUS_CAPACITY] += overuse(row, s->cells, t->capacity[p]);
    }
    value->total = value->peak + t->alpha * value->communication;
    sked_i_gaus_add_violations(t->multiplier, t->penalty, value, s->coefficient);
}

/* Cells beyond a capacity cost more. */
static void price_overuse(sked_i_gaus_evaluator *s)
{
    const double weight = s->coefficient[SKED_I_GAUS_CAPACITY];
    s->least_price = 1e-12 * s->terms->weight[s->view->profiles];
    for (int32_t p = 0; p <= s->view->profiles; p++) {
        const double *row = s->profile + (int64_t)p * s->cells, capacity = s->terms->capacity[p];
        for (int32_t d = 0; isfinite(capacity) && d < s->cells; d++)
            if (row[d] > capacity)
                s->adjoint[(int64_t)p * s->cells + d] += weight * (row[d] - capacity);
    }
}

/* ------------------------------------------------------------------ backward */

static void backward(void *data, int index)
{
    sked_i_gaus_evaluator *s = data;
    sked_i_gaus_part *part = &s->part[index];
    const unsigned what = s->what;
    memset(part->dmu, 0, (size_t)s->view->ops * sizeof *part->dmu);
    memset(part->dsigma, 0, (size_t)s->view->ops * sizeof *part->dsigma);
    for (int32_t i = part->begin; i < part->end && !is_cut(s, part, i); i++) {
        sked_i_gaus_resource_back(s, part, i);
        if (what & SKED_I_GAUS_WITH_MEMORY)
            sked_i_gaus_memory_back(s, part, i);
        if (what & SKED_I_GAUS_WITH_EDGES)
            sked_i_gaus_dependency_back(s, part, i);
        if (what & SKED_I_GAUS_WITH_LATENCY)
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

sked_status sked_i_gaus_evaluate(sked_i_gaus_evaluator *s, const sked_i_gaus_terms *terms, const double *mu,
                                 const double *sigma, double *dmu, double *dsigma, sked_i_gaus_value *value,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    s->terms = terms;
    s->mu = mu;
    s->sigma = sigma;
    assert(terms->weight != NULL && terms->capacity != NULL && terms->tau != NULL);
    s->what = sked_i_gaus_what_matters(s->view, terms);
    SKED_TRY(lay_windows(s, err));
    SKED_TRY(pass_ops(s, fill_windows, err));
    SKED_TRY(pass_ops(s, forward, err));
    integrate(s);
    sum_value(s, value);
    price_overuse(s);
    SKED_TRY(pass_ops(s, backward, err));
    sum_gradient(s, dmu, dsigma);
cleanup:
    return st;
}
