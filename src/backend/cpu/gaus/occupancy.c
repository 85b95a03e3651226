/*
 * Expected share of a cell [c, c + 1) during which an op is busy. With H(t) = E[max(0, t - X)] =
 * sigma (z Phi(z) + phi(z)), z = (t - mu) / sigma, the op has begun for r(c; mu) = H(c + 1) - H(c) of it on
 * average, and ended for r(c; mu + duration). Booked as changes from cell to cell: an op costs the windows
 * of its two ends, however long it is. dr/dmu = -(Phi(z') - Phi(z)), dr/dsigma = phi(z') - phi(z). On unequal
 * devices it ends after the time of each kind, with the chance that it runs there.
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

/* ------------------------------------------------------------------ unequal devices */

/* Is op i busy on devices of kind k, and does it run there at all? */
static bool busy_on(const sked_i_gaus_device_view *v, int32_t i, int32_t k)
{
    const double time = v->kinds->time[(int64_t)i * v->kinds->count + k];
    return time > 0 && time < INFINITY;
}

/* Chance that op i is busy anywhere; with only >= 0: on devices of that kind. */
static double chance_of(const sked_i_gaus_device_evaluator *s, const double *sum, int32_t i, int32_t only)
{
    double chance = 0;
    for (int32_t k = 0; k < s->view->kinds->count; k++)
        chance += (only < 0 || k == only) && busy_on(s->view, i, k) ? sum[k] : 0;
    return chance;
}

/* Books one end of op i for the devices of one kind (only >= 0), or of all where it is busy. */
static void book_kind(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i,
                      int32_t only, rise r, double sign)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    const double chance = chance_of(s, part->kind[0], i, only);
    for (int32_t d = 0; d < v->devices; d++) {
        const int32_t k = v->kinds->of[d];
        if (share[d] > 0 && (only < 0 || k == only) && busy_on(v, i, k))
            book(s, part, r, sign * share[d], part->change + (int64_t)d * v->cells);
    }
    for (int64_t u = v->use_ptr[i]; u < v->use_ptr[i + 1]; u++)
        book(s, part, r, sign * chance * v->use_amount[u],
             part->change + (int64_t)(v->devices + v->use_pool[u]) * v->cells);
}

typedef void kind_visit(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i,
                        int32_t only, rise r, double sign);

/* Visits the ends of op i. All devices begin it at the same time; each kind ends it in its own. */
static void over_kinds(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i,
                       kind_visit *visit)
{
    const sked_i_gaus_device_kinds *kinds = s->view->kinds;
    const double mu = s->at->mu[i], sigma = s->at->sigma[i];
    if (!room(s, part, i))
        return;
    sked_i_gaus_kind_shares(s, i, part->kind[0]);
    visit(s, part, i, -1, make_rise(s, part, mu, sigma), 1);
    for (int32_t k = 0; k < kinds->count; k++)
        if (part->kind[0][k] > 0 && busy_on(s->view, i, k)) {
            const double end = mu + kinds->time[(int64_t)i * kinds->count + k];
            visit(s, part, i, k, make_rise(s, part, end, sigma), -1);
        }
}

void sked_i_gaus_device_occupancy(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                  int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    if (v->kinds != NULL) {
        over_kinds(s, part, i, book_kind);
        return;
    }
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

/* What book_kind did, backwards. */
static void collect_kind(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i,
                         int32_t only, rise r, double sign)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    double *dshare = part->dshare + (int64_t)i * v->devices;
    const double chance = chance_of(s, part->kind[0], i, only);
    double pools = 0; /* what a share costs in all pools together */
    for (int64_t u = v->use_ptr[i]; u < v->use_ptr[i + 1]; u++) {
        const sums x = collect(s, part, r, v->devices + v->use_pool[u]);
        pools += v->use_amount[u] * x.load;
        part->dmu[i] += sign * chance * v->use_amount[u] * x.dmu;
        part->dsigma[i] += sign * chance * v->use_amount[u] * x.dsigma;
    }
    for (int32_t d = 0; d < v->devices; d++) {
        const int32_t k = v->kinds->of[d];
        if ((only >= 0 && k != only) || !busy_on(v, i, k))
            continue;
        const sums x = collect(s, part, r, d);
        dshare[d] += sign * (x.load + pools);
        part->dmu[i] += sign * share[d] * x.dmu;
        part->dsigma[i] += sign * share[d] * x.dsigma;
    }
}

void sked_i_gaus_device_occupancy_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                       int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    double *dshare = part->dshare + (int64_t)i * v->devices;
    if (v->kinds != NULL) {
        over_kinds(s, part, i, collect_kind);
        return;
    }
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
