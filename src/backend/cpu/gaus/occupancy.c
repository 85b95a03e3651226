/*
 * Expected share of a cell [c, c + 1) during which an op is busy. With H(t) = E[max(0, t - X)] =
 * sigma (z Phi(z) + phi(z)), z = (t - mu) / sigma, the op has begun for r(c; mu) = H(c + 1) - H(c) of it on
 * average, and ended for r(c; mu + duration). Booked as changes from cell to cell: an op costs the windows
 * of its two ends, however long it is. dr/dmu = -(Phi(z') - Phi(z)), dr/dsigma = phi(z') - phi(z).
 */
#include "backend/cpu/gaus/device.h"

#include "base/memory.h"

typedef struct rise {
    int32_t low, len; /* r is 0 before low and 1 from low + len on */
} rise;

/*
 * r and its derivatives into the part's scratch. At the borders of the window z is within the reach; what is
 * cut off there is set to 0 before and to the whole after.
 */
static rise make_rise(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, double mu,
                      double sigma)
{
    const double reach = SKED_I_GAUS_REACH * sigma, low = floor(mu - reach), inverse = 1 / sigma;
    const rise r = {(int32_t)low, (int32_t)(floor(mu + reach) - low) + 1};
    const double first = low + 1 - mu;
    assert(r.len >= 1 && r.len < part->reach_cap);
    double *cdf = part->dcell + 1, *pdf = part->scell + 1, *area = part->cell + 1;
    sked_i_normal_row(&s->normal, first * inverse, inverse, r.len - 1, cdf, pdf);
    for (int32_t k = 0; k < r.len - 1; k++)
        area[k] = (first + k) * cdf[k] + sigma * pdf[k];
    cdf[-1] = pdf[-1] = area[-1] = 0;
    cdf[r.len - 1] = 1;
    pdf[r.len - 1] = 0;
    area[r.len - 1] = first + r.len - 1;
    for (int32_t k = 0; k < r.len; k++) {
        part->cell[k] = area[k] - area[k - 1];
        part->dcell[k] = cdf[k - 1] - cdf[k];
        part->scell[k] = pdf[k] - pdf[k - 1];
    }
    return r;
}

/* Makes room for the widest rise of op i. */
static bool room(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i)
{
    const int64_t need = (int64_t)(2 * SKED_I_GAUS_REACH * s->at->sigma[i]) + 8;
    int64_t a = part->reach_cap, b = a;
    if (need <= part->reach_cap)
        return true;
    part->failed = part->failed || !SKED_GROW(part->dcell, a, need) || !SKED_GROW(part->scell, b, need) ||
                   !SKED_GROW(part->cell, part->reach_cap, need);
    return !part->failed;
}

static void book(const sked_i_gaus_device_evaluator *s, const sked_i_gaus_device_part *part, rise r,
                 double amount, double *row)
{
    const int32_t cells = s->view->cells;
    double before = 0;
    for (int32_t k = 0; k <= r.len; k++) {
        const int32_t c = r.low + k;
        const double now = k < r.len ? part->cell[k] : 1;
        if (c < cells)
            row[c < 0 ? 0 : c] += amount * (now - before);
        before = now;
    }
}

void sked_i_gaus_device_occupancy(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                  int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    if (v->duration[i] == 0 || !room(s, part, i))
        return;
    for (int end = 0; end < 2; end++) {
        const double sign = end ? -1 : 1, at = s->at->mu[i] + (end ? v->duration[i] : 0);
        const rise r = make_rise(s, part, at, s->at->sigma[i]);
        for (int32_t d = 0; d < v->devices; d++)
            if (share[d] > 0)
                book(s, part, r, sign * share[d], part->change + (int64_t)d * v->cells);
        for (int64_t u = v->use_ptr[i]; u < v->use_ptr[i + 1]; u++)
            book(s, part, r, sign * v->use_amount[u],
                 part->change + (int64_t)(v->devices + v->use_pool[u]) * v->cells);
    }
}

typedef struct sums {
    double load, dmu, dsigma; /* prices times r, dr/dmu, dr/dsigma */
} sums;

static sums collect(const sked_i_gaus_device_evaluator *s, const sked_i_gaus_device_part *part, rise r,
                    int32_t row)
{
    const int32_t cells = s->view->cells, first = r.low < 0 ? 0 : r.low;
    const double *price = s->price + (int64_t)row * cells, *prefix = s->prefix + (int64_t)row * (cells + 1);
    const int32_t end = r.low + r.len < cells ? r.low + r.len : cells;
    const int32_t after = end < 0 ? 0 : end;
    sums x = {.load = prefix[cells] - prefix[after]};
    for (int32_t c = first; c < end; c++) {
        x.load += price[c] * part->cell[c - r.low];
        x.dmu += price[c] * part->dcell[c - r.low];
        x.dsigma += price[c] * part->scell[c - r.low];
    }
    return x;
}

void sked_i_gaus_device_occupancy_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                       int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    double *dshare = part->dshare + (int64_t)i * v->devices;
    if (v->duration[i] == 0 || !room(s, part, i))
        return;
    for (int end = 0; end < 2; end++) {
        const double sign = end ? -1 : 1, at = s->at->mu[i] + (end ? v->duration[i] : 0);
        const rise r = make_rise(s, part, at, s->at->sigma[i]);
        for (int32_t d = 0; d < v->devices; d++) {
            const sums x = collect(s, part, r, d);
            dshare[d] += sign * x.load;
            part->dmu[i] += sign * share[d] * x.dmu;
            part->dsigma[i] += sign * share[d] * x.dsigma;
        }
        for (int64_t u = v->use_ptr[i]; u < v->use_ptr[i + 1]; u++) {
            const sums x = collect(s, part, r, v->devices + v->use_pool[u]);
            part->dmu[i] += sign * v->use_amount[u] * x.dmu;
            part->dsigma[i] += sign * v->use_amount[u] * x.dsigma;
        }
    }
}
