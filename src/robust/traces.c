#include "robust/traces.h"

#include "base/explog.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>

static const double degrees_of_freedom = 4;
/* Relative deviation of a traced duration while nothing was traced twice, and the least that is believed. */
static const double unknown_deviation = 0.01, least_deviation = 1e-4;
/* Reads: spread of what the bytes of a mean edge take, in mean durations; least share of an op that is work.
 */
static const double read_spread = 0.3, least_work = 0.1;
/* Less than this, in units of that spread, is rounding. */
static const double least_found = 1e-6;
enum { ROUNDS = 12, READ_ROUNDS = 3 };

/* ------------------------------------------------------------------ what a trace shows */

static sked_status open_trace(sked_i_traces *t, const sked_i_model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t cells = (int64_t)m->ops * m->kinds;
    SKED_OWN0(&t->arena, t->sum, cells);
    SKED_OWN0(&t->arena, t->square, cells);
    SKED_OWN0(&t->arena, t->seen, cells);
    SKED_OWN0(&t->arena, t->warm_sum, cells);
    SKED_OWN0(&t->arena, t->warm_seen, cells);
    SKED_OWN(&t->arena, t->mean, m->count - m->at_type);
    SKED_OWN(&t->arena, t->spread, m->count - m->at_type);
cleanup:
    return st;
}

static sked_status add_durations(sked_i_traces *t, const sked_i_model *m, const sked_i_timing *r,
                                 const sked_measurement *run, sked_error *err)
{
    const double start_up = sked_i_exp(m->mean[m->at_start_up]);
    for (int32_t i = 0; i < m->ops; i++) {
        const double took = run->finish[i] - run->start[i], base = r->base[i] + start_up * r->share[i];
        if (!(took > 0 && took < INFINITY && base > 0))
            continue;
        if (!SKED_OWN_GROW(&t->arena, t->look, t->looks_cap, t->n_looks + 1))
            return sked_i_no_memory(err);
        t->look[t->n_looks++] = (sked_i_traces_look){.cell = (int64_t)i * m->kinds + r->kind[i],
                                                     .run = t->runs,
                                                     .took = took,
                                                     .base = base,
                                                     .remote = m->sized ? 0 : r->remote[i],
                                                     .warm = sked_i_timing_warm(r, i)};
    }
    return SKED_OK;
}

/* When the op's device and the data that is there already let it start; waits for the rest are added. */
static sked_status add_step(sked_i_traces *t, const sked_i_timing *r, const sked_measurement *run, int32_t i,
                            sked_error *err)
{
    const int64_t first = t->n_waits;
    double local = r->before[i] >= 0 ? run->finish[r->before[i]] : 0;
    for (int64_t k = r->row[i]; k < r->row[i + 1]; k++) {
        const sked_i_timing_edge *e = &r->edge[k];
        const double left = isnan(e->lag) ? run->finish[e->from] : run->start[e->from] + e->lag;
        if (e->link < 0) {
            local = fmax(local, left);
            continue;
        }
        if (!SKED_OWN_GROW(&t->arena, t->wait, t->waits_cap, t->n_waits + 1))
            return sked_i_no_memory(err);
        t->wait[t->n_waits++] = (sked_i_traces_wait){left, e->bytes, e->link, e->from};
    }
    if (t->n_waits == first)
        return SKED_OK;
    if (!SKED_OWN_GROW(&t->arena, t->step, t->steps_cap, t->n_steps + 1))
        return sked_i_no_memory(err);
    t->step[t->n_steps++] = (sked_i_traces_step){run->start[i], local, first, t->n_waits - first};
    return SKED_OK;
}

sked_status sked_i_traces_add(sked_i_traces *t, const sked_i_model *m, const sked_i_timing *r,
                              const sked_measurement *run, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(run->start != NULL && run->finish != NULL);
    if (t->mean == NULL)
        SKED_TRY(open_trace(t, m, err));
    SKED_TRY(add_durations(t, m, r, run, err));
    for (int32_t i = 0; i < m->ops; i++)
        SKED_TRY(add_step(t, r, run, i, err));
    t->runs++;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ durations */

/* Sums of what was seen in each cell, without the time that reads took. */
static void sum_looks(sked_i_traces *t, int64_t cells)
{
    for (int64_t k = 0; k < cells; k++) {
        t->sum[k] = t->square[k] = t->warm_sum[k] = 0;
        t->seen[k] = t->warm_seen[k] = 0;
    }
    for (int64_t k = 0; k < t->n_looks; k++) {
        const sked_i_traces_look *o = &t->look[k];
        const double work = fmax(o->took - t->read * o->remote, least_work * o->took);
        const double x = sked_i_model_log(work / o->base);
        t->sum[o->cell] += x;
        t->square[o->cell] += x * x;
        t->seen[o->cell]++;
        t->warm_sum[o->cell] += o->warm ? x : 0;
        t->warm_seen[o->cell] += o->warm;
    }
}

/* Variance of one traced logarithm, from ops that were traced alike more than once: warm or not, same kind.
 */
static double traced_variance(const sked_i_traces *t, int64_t cells)
{
    double sum = 0, degrees = 0;
    for (int64_t k = 0; k < cells; k++) {
        const int32_t warm = t->warm_seen[k], cold = t->seen[k] - warm;
        const double cold_sum = t->sum[k] - t->warm_sum[k];
        if (t->seen[k] < 2 || (warm > 0 && cold > 0 && t->seen[k] < 3))
            continue;
        sum += fmax(0, t->square[k] - (warm > 0 ? t->warm_sum[k] * t->warm_sum[k] / warm : 0) -
                           (cold > 0 ? cold_sum * cold_sum / cold : 0));
        degrees += t->seen[k] - (warm > 0) - (cold > 0);
    }
    const double variance = degrees > 0 ? sum / degrees : unknown_deviation * unknown_deviation;
    return fmax(variance, least_deviation * least_deviation);
}

/* What a warm input saves, from ops that were traced with and without one; its prior pulls towards nothing.
 */
static double warm_effect(const sked_i_traces *t, const sked_i_model *m, double variance)
{
    const double spread = m->spread[m->at_warm];
    double sum = 0, precision = spread > 0 ? 1 / (spread * spread) : INFINITY;
    for (int64_t k = 0; k < (int64_t)m->ops * m->kinds; k++) {
        const int32_t warm = t->warm_seen[k], cold = t->seen[k] - warm;
        if (warm == 0 || cold == 0)
            continue;
        const double weight = 1 / (variance / warm + variance / cold);
        sum += weight * (t->warm_sum[k] / warm - (t->sum[k] - t->warm_sum[k]) / cold);
        precision += weight;
    }
    return precision < INFINITY ? m->mean[m->at_warm] + sum / precision : m->mean[m->at_warm];
}

/* How a look differs from the mean of its op, in relation to the op's time; then from the mean of its run. */
typedef struct contrast {
    double remote, warm, took;
} contrast;

/* out: [looks]; mean: [cells], run: [runs], both cleared. Runs that were slow as a whole say nothing of
 * bytes. */
static void compare_looks(const sked_i_traces *t, contrast *mean, contrast *run, contrast *out)
{
    for (int64_t k = 0; k < t->n_looks; k++) {
        const sked_i_traces_look *o = &t->look[k];
        contrast *c = &mean[o->cell];
        const double share = 1.0 / t->seen[o->cell];
        c->remote += share * o->remote;
        c->warm += share * o->warm;
        c->took += share * o->took;
    }
    for (int64_t k = 0; k < t->n_looks; k++) {
        const sked_i_traces_look *o = &t->look[k];
        const contrast *c = &mean[o->cell];
        const double share = (double)t->runs / (double)t->n_looks;
        out[k] = (contrast){(o->remote - c->remote) / c->took, o->warm - c->warm, o->took / c->took - 1};
        run[o->run].remote += share * out[k].remote;
        run[o->run].warm += share * out[k].warm;
        run[o->run].took += share * out[k].took;
    }
    for (int64_t k = 0; k < t->n_looks; k++) {
        const contrast *c = &run[t->look[k].run];
        out[k] = (contrast){out[k].remote - c->remote, out[k].warm - c->warm, out[k].took - c->took};
    }
}

/*
 * What a byte of another device costs: how times of an op differ with its remote bytes, and with warm inputs,
 * which come with fewer remote ones. The prior pulls towards nothing.
 */
static double read_effect(const sked_i_traces *t, const sked_i_model *m, const contrast *look,
                          double variance)
{
    const double typical = read_spread * m->time_scale / m->byte_scale, saves = m->spread[m->at_warm];
    /* Normal equations of both, in units of their spreads. */
    double rr = 1, rw = 0, ww = 1, ry = 0, wy = 0;
    for (int64_t k = 0; k < t->n_looks; k++) {
        const double r = look[k].remote * typical, w = look[k].warm * saves, y = look[k].took;
        rr += r * r / variance;
        rw += r * w / variance;
        ww += w * w / variance;
        ry += r * y / variance;
        wy += w * y / variance;
    }
    const double found = (ry * ww - wy * rw) / (rr * ww - rw * rw); /* in units of the prior's spread */
    return found > least_found ? found * typical : 0;
}

/* t->read, and the sums of all looks without it. */
static sked_status fit_reads(sked_i_traces *t, const sked_i_model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t cells = (int64_t)m->ops * m->kinds;
    sked_i_arena work = {0};
    contrast *mean, *run, *look;
    SKED_OWN0(&work, mean, cells);
    SKED_OWN0(&work, run, t->runs);
    SKED_OWN(&work, look, t->n_looks);
    t->read = 0;
    sum_looks(t, cells);
    compare_looks(t, mean, run, look);
    for (int k = 0; k < READ_ROUNDS; k++) { /* the noise is what reads leave, and weighs them */
        t->read = read_effect(t, m, look, traced_variance(t, cells));
        sum_looks(t, cells);
    }
cleanup:
    sked_i_arena_free(&work);
    return st;
}

/* Mean of what was traced in a cell, as it would be without warm inputs. */
static double cold_mean(const sked_i_traces *t, int64_t cell)
{
    assert(t->seen[cell] > 0);
    return (t->sum[cell] - t->warm * t->warm_seen[cell]) / t->seen[cell];
}

/* One parameter as the precision-weighted mean of residuals that its prior pulls towards 0. */
typedef struct pull {
    double *sum, *precision; /* [types or kinds] */
} pull;

/* Factors by type (by_kind: by kind) from what the other leaves, the ops' own factors integrated out. */
static void fit_factors(const sked_i_traces *t, const sked_i_model *m, bool by_kind, double op_variance,
                        double variance, pull p)
{
    const int64_t at = by_kind ? m->at_kind : m->at_type;
    const int32_t count = by_kind ? m->kinds : m->types;
    for (int32_t k = 0; k < count; k++) {
        const double s = m->spread[at + k];
        p.sum[k] = 0;
        p.precision[k] = s > 0 ? 1 / (s * s) : INFINITY;
    }
    for (int32_t i = 0; i < m->ops; i++)
        for (int32_t g = 0; g < m->kinds; g++) {
            const int64_t cell = (int64_t)i * m->kinds + g;
            const int32_t own = by_kind ? g : m->type_of[i];
            const double other = t->mean[by_kind ? m->type_of[i] : m->at_kind - m->at_type + g];
            if (t->seen[cell] == 0)
                continue;
            const double weight = 1 / (op_variance + variance / t->seen[cell]);
            p.sum[own] += weight * (cold_mean(t, cell) - other);
            p.precision[own] += weight;
        }
    for (int32_t k = 0; k < count; k++) {
        t->mean[at - m->at_type + k] = p.precision[k] < INFINITY ? p.sum[k] / p.precision[k] : 0;
        t->spread[at - m->at_type + k] = by_kind ? 1 / sqrt(p.precision[k]) : 0;
    }
}

/* The ops' own factors, given the others; returns their variance about 0, without that of the noise. */
static double fit_ops(sked_i_traces *t, const sked_i_model *m, double op_variance, double variance)
{
    double squares = 0, ops = 0;
    for (int32_t i = 0; i < m->ops; i++) {
        double sum = 0, seen = 0;
        for (int32_t g = 0; g < m->kinds; g++) {
            const int64_t cell = (int64_t)i * m->kinds + g;
            if (t->seen[cell] > 0)
                sum += t->seen[cell] *
                       (cold_mean(t, cell) - t->mean[m->type_of[i]] - t->mean[m->at_kind - m->at_type + g]);
            seen += t->seen[cell];
        }
        const int64_t at = m->at_op - m->at_type + i;
        t->mean[at] = sum / (seen + variance / op_variance);
        t->spread[at] = sqrt(1 / (1 / op_variance + seen / variance));
        squares += seen > 0 ? sum / seen * (sum / seen) - variance / seen : 0;
        ops += seen > 0;
    }
    return ops > 0 ? squares / ops : op_variance;
}

sked_status sked_i_traces_fit(sked_i_traces *t, const sked_i_model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena work = {0};
    pull p;
    double op_variance = 0.01, variance = 0;
    assert(t->runs > 0 && t->mean != NULL);
    SKED_TRY(fit_reads(t, m, err));
    variance = traced_variance(t, (int64_t)m->ops * m->kinds);
    t->warm = warm_effect(t, m, variance);
    const int32_t most = m->types > m->kinds ? m->types : m->kinds;
    SKED_OWN(&work, p.sum, most);
    SKED_OWN(&work, p.precision, most);
    for (int64_t k = 0; k < m->at_size - m->at_type; k++)
        t->mean[k] = 0;
    for (int k = 0; k < ROUNDS; k++) {
        fit_factors(t, m, false, op_variance, variance, p);
        if (m->kinds > 1)
            fit_factors(t, m, true, op_variance, variance, p);
        op_variance = fmax(1e-6, fit_ops(t, m, op_variance, variance));
    }
    if (m->kinds == 1)
        t->spread[m->at_kind - m->at_type] = 0;
cleanup:
    sked_i_arena_free(&work);
    return st;
}

/* ------------------------------------------------------------------ links */

/* The wait that ends last under the rates, and when. */
static const sked_i_traces_wait *last_wait(const sked_i_traces *t, const sked_i_traces_step *s,
                                           const sked_i_rates *r, double *arrives)
{
    const sked_i_traces_wait *last = NULL;
    *arrives = -INFINITY;
    assert(s->count > 0); /* a step waits for something */
    for (int64_t k = s->first; k < s->first + s->count; k++) {
        const sked_i_traces_wait *w = &t->wait[k];
        const double bytes = r->size != NULL ? r->size[w->from] : w->bytes;
        const double at = w->left + r->latency[w->link] + bytes * r->per_byte[w->link];
        if (at > *arrives) {
            *arrives = at;
            last = w;
        }
    }
    return last;
}

/* A Gauss-Newton term: residual z and its derivatives by the two parameters of the wait's link. */
static void add_term(const sked_i_traces_wait *w, const sked_i_model *m, const sked_i_rates *r, double scale,
                     double z, double *hessian, double *gradient, int32_t n)
{
    const int64_t a = w->link, b = m->links + w->link;
    const double bytes = r->size != NULL ? r->size[w->from] : w->bytes;
    const double da = r->latency[w->link] / scale, db = bytes * r->per_byte[w->link] / scale;
    const double weight = (degrees_of_freedom + 1) / (degrees_of_freedom + z * z);
    hessian[a * n + a] += weight * da * da;
    hessian[b * n + b] += weight * db * db;
    hessian[b * n + a] += weight * da * db; /* the lower triangle: b > a */
    gradient[a] += weight * z * da;
    gradient[b] += weight * z * db;
}

double sked_i_traces_likelihood(const sked_i_traces *t, const sked_i_model *m, const sked_i_rates *r,
                                double noise, double *hessian, double *gradient, int32_t n)
{
    const double scale = noise * m->time_scale;
    double sum = 0;
    for (int64_t k = 0; k < t->n_steps; k++) {
        const sked_i_traces_step *s = &t->step[k];
        double arrives;
        const sked_i_traces_wait *w = last_wait(t, s, r, &arrives);
        const double z = (s->start - fmax(s->local, arrives)) / scale;
        sum -= (degrees_of_freedom + 1) / 2 * sked_i_log(1 + z * z / degrees_of_freedom);
        /* Where the op started late, the transfer decided, even if this guess has it too short to matter. */
        if (hessian != NULL && (arrives > s->local || z > 1))
            add_term(w, m, r, scale, (s->start - arrives) / scale, hessian, gradient, n);
    }
    return sum - (double)t->n_steps * sked_i_log(noise);
}
