/*
 * Adam on the means, log sigmas and logits of the shares of one grid. There is no objective but to keep
 * every rule within a horizon that no schedule has reached yet; what is broken least is decoded.
 */
#include "engine/gaus/device.h"

#include "backend/backend.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

typedef struct descent {
    const sked_i_gaus_device_grid *grid;
    const sked_i_gaus_tuning *tuning;
    const sked_i_limit *limit;
    const sked_i_gaus_device_descent_backend *backend;
    sked_i_gaus_device_descent *steps;
    sked_i_gaus_device_bounds bounds;
    sked_i_gaus_device_point at; /* after the last run that was waited for */
    double *logit;               /* [n * m] at the start */
    double *dmu;                 /* [n] at the start */
    sked_i_gaus_device_step planned[SKED_I_GAUS_RUN];
    int32_t most, all; /* steps of one run at most; steps altogether */
    sked_i_gaus_device_terms terms;
    bool harvests[SKED_I_GAUS_FLIGHT]; /* per run under way, the oldest first: its point is to be decoded */
    int under_way;
    bool enough; /* the goal is met */
    sked_i_gaus_device_decoder *decoder;
    sked_i_rng *rng;
    sked_i_gaus_incumbent *best;
} descent;

/* Steps of a run beside the caller, who hears limits after those under way. */
enum { long_run = 16, short_run = 2, large = 20000 /* shares from which they are short */ };

static sked_status open_descent(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_backend *backend = d->tuning->backend;
    const sked_i_gaus_device_model *b = d->grid->model;
    const int64_t n = b->n, shares = n * b->m;
    if (backend == NULL)
        SKED_TRY(sked_i_backend_find("cpu", &backend, err));
    d->backend = backend->gaus_device_descent;
    /* On unequal devices an evaluation costs the pairs of kinds that have a share: a thousandth is none. */
    d->bounds = (sked_i_gaus_device_bounds){.lo = d->grid->lo,
                                            .hi = d->grid->hi,
                                            .fix = b->p->fix_device,
                                            .least = b->form->unequal != NULL ? -7 : -30,
                                            .fixed_sigma = d->tuning->fixed_sigma,
                                            .limit = d->limit};
    d->most = !d->backend->beside ? 1 : shares > large ? short_run : long_run;
    SKED_TRY(d->backend->create(&d->grid->view, &d->bounds, d->tuning->threads, &d->steps, err));
    SKED_NEW(d->at.mu, n);
    SKED_NEW(d->at.sigma, n);
    SKED_NEW(d->at.share, shares);
    SKED_NEW(d->logit, shares);
    SKED_NEW(d->dmu, n);
cleanup:
    return st;
}

static void close_descent(descent *d)
{
    if (d->steps != NULL)
        d->backend->destroy(d->steps);
    void *const owned[] = {d->at.mu, d->at.sigma, d->at.share, d->logit, d->dmu};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

/* ------------------------------------------------------------------ where it begins */

static void place_means(descent *d, int kind, const sked_i_gaus_incumbent *from)
{
    const sked_i_gaus_device_grid *g = d->grid;
    const double squeeze = from->value > 0 ? fmin(1, g->horizon / from->value) / g->width : 0;
    for (int32_t i = 0; i < g->model->n; i++) {
        const double lo = g->lo[i], hi = g->hi[i];
        double mu = from->start[i] * squeeze;
        if (kind == SKED_I_GAUS_DEVICE_MIDDLE)
            mu = 0.5 * (lo + hi);
        d->at.mu[i] = fmin(hi, fmax(lo, mu));
        const double window = hi - lo;
        d->at.sigma[i] =
            fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(d->tuning->sigma_most, d->tuning->kappa * window));
    }
}

/* Unequal devices: no share where an op cannot run; open ones fall with the time that it takes. */
static void prefer_fast(descent *d, int kind)
{
    const sked_i_gaus_device_model *b = d->grid->model;
    const sked_i_unequal *u = b->form->unequal;
    for (int32_t i = 0; i < b->n; i++) {
        const double shortest = sked_i_unequal_time(u, i, u->able[u->able_ptr[i]]);
        for (int32_t k = 0; k < b->m; k++) {
            const double time = sked_i_unequal_time(u, i, k);
            double *logit = &d->logit[(int64_t)i * b->m + k];
            if (time == INFINITY)
                *logit = -INFINITY;
            else if (kind != SKED_I_GAUS_DEVICE_NEAR && shortest > 0 && time > 0) /* 0: pinned elsewhere */
                *logit -= log(time / shortest);
        }
    }
}

/* Noise breaks the symmetry of equal devices where the start does not. */
static void place_shares(descent *d, int kind, const sked_i_gaus_incumbent *from, sked_i_rng *rng)
{
    const int32_t m = d->grid->model->m;
    const double lead = kind == SKED_I_GAUS_DEVICE_NEAR ? 2 + log(fmax(1, m - 1)) : 0;
    for (int32_t i = 0; i < d->grid->model->n; i++)
        for (int32_t k = 0; k < m; k++)
            d->logit[(int64_t)i * m + k] = 0.3 * sked_i_rng_normal(rng) + (k == from->device[i] ? lead : 0);
    if (d->grid->model->form->unequal != NULL)
        prefer_fast(d, kind);
}

/*
 * Multipliers are the inverse of the mean pull at the start; capacities a tenth of that, for they are met
 * soon and dependencies late (measured).
 */
static sked_status set_multipliers(descent *d, sked_error *err)
{
    static const int families[] = {SKED_I_GAUS_DEPENDENCY, SKED_I_GAUS_CAPACITY};
    static const double none[SKED_I_GAUS_FAMILIES] = {0};
    sked_status st = SKED_OK;
    sked_i_gaus_value value;
    double found[2] = {1, 1};
    for (int f = 0; f < 2; f++) {
        double pull = 0;
        d->terms = (sked_i_gaus_device_terms){0};
        d->terms.multiplier[families[f]] = 1;
        SKED_TRY(d->backend->aim(d->steps, &d->terms, none, err));
        SKED_TRY(d->backend->evaluate(d->steps, d->dmu, &value, err));
        for (int32_t i = 0; i < d->grid->model->n; i++)
            pull += fabs(d->dmu[i]);
        found[f] = fmin(1e3, d->grid->model->n / fmax(pull, 1e-9));
    }
    d->terms = (sked_i_gaus_device_terms){0};
    d->terms.multiplier[SKED_I_GAUS_DEPENDENCY] = d->terms.multiplier[SKED_I_GAUS_LATENCY] = found[0];
    d->terms.multiplier[SKED_I_GAUS_CAPACITY] = 0.1 * found[1];
    SKED_TRY(d->backend->aim(d->steps, &d->terms, none, err));
    if (d->tuning->published) { /* ours does without penalties here */
        SKED_TRY(d->backend->evaluate(d->steps, d->dmu, &value, err));
        sked_i_gaus_set_penalties(d->tuning, value.violation, d->terms.multiplier, d->terms.penalty);
        SKED_TRY(d->backend->aim(d->steps, &d->terms, none, err));
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ runs of steps */

/* Starts the steps k to k + count - 1. */
static sked_status start_run(descent *d, int32_t k, int32_t count, sked_error *err)
{
    const sked_i_gaus_tuning *t = d->tuning;
    const sked_i_gaus_growth raise = sked_i_gaus_growth_of(t, d->backend->beside, d->all);
    assert(count >= 1 && count <= d->most && d->under_way < SKED_I_GAUS_FLIGHT);
    for (int32_t j = 0; j < count; j++) {
        const double progress = (double)(k + j) / d->all, cooling = 1 - 0.8 * progress;
        d->planned[j] = (sked_i_gaus_device_step){.rate = 5 * t->rate * cooling,
                                                  .share_rate = t->rate * cooling,
                                                  .widest = t->sigma_most * pow(0.05, progress),
                                                  .temperature = 1 - 0.8 * progress,
                                                  .raise = raise};
    }
    d->harvests[d->under_way++] = (k + count) % t->every == 0;
    if (d->tuning->steps != NULL)
        *d->tuning->steps += count;
    return d->backend->run(d->steps, d->planned, count, err);
}

/* Waits for the oldest run and decodes its point. */
static sked_status settle(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_value value;
    const bool look = d->harvests[0];
    d->under_way--;
    memmove(d->harvests, d->harvests + 1, (size_t)d->under_way * sizeof *d->harvests);
    SKED_TRY(d->backend->wait(d->steps, &d->at, &value, err));
    if (look)
        SKED_TRY(sked_i_gaus_device_decode(d->decoder, &d->at, 2, d->rng, d->best, err));
    d->enough = look && d->best->value <= d->tuning->goal;
cleanup:
    return st;
}

static sked_status settle_down_to(descent *d, int left, sked_error *err)
{
    sked_status st = SKED_OK;
    while (st == SKED_OK && d->under_way > left && !d->enough)
        st = settle(d, err);
    return st;
}

/* ------------------------------------------------------------------ the descent */

static sked_status descend(descent *d, sked_error *err)
{
    const sked_i_limit *limit = d->limit;
    const sked_i_gaus_tuning *t = d->tuning;
    const bool beside = d->backend->beside;
    const double begin = sked_clock();
    sked_status st = SKED_OK;
    d->all = t->iterations;
    for (int32_t k = 0, count; k < d->all && !d->enough && !sked_i_limit_reached(limit); k += count) {
        if (k == t->every) {
            SKED_TRY(settle_down_to(d, 0, err));
            d->all = sked_i_gaus_affordable(begin, k, d->all, 4, limit);
        }
        count = t->every - k % t->every;
        count = count < d->most ? count : d->most;
        count = count < d->all - k ? count : d->all - k;
        SKED_TRY(start_run(d, k, count, err));
        SKED_TRY(settle_down_to(d, beside ? 1 : 0, err));
    }
    if (!sked_i_limit_reached(limit))
        SKED_TRY(settle_down_to(d, 0, err));
cleanup:
    return st;
}

sked_status sked_i_gaus_device_descend(const sked_i_gaus_device_grid *grid, sked_i_gaus_device_decoder *dec,
                                       const sked_i_gaus_tuning *tuning, int kind,
                                       const sked_i_gaus_incumbent *from, sked_i_rng *rng,
                                       const sked_i_limit *limit, sked_i_gaus_incumbent *best,
                                       sked_error *err)
{
    sked_status st = SKED_OK;
    descent d = {.grid = grid, .tuning = tuning, .limit = limit, .decoder = dec, .rng = rng, .best = best};
    assert(tuning->every >= 1 && tuning->threads >= 1 && tuning->rate > 0);
    assert(from->value < INFINITY);
    SKED_TRY(open_descent(&d, err));
    place_means(&d, kind, from);
    place_shares(&d, kind, from, rng);
    SKED_TRY(d.backend->place(d.steps, d.at.mu, d.at.sigma, d.logit, err));
    SKED_TRY(set_multipliers(&d, err));
    SKED_TRY(descend(&d, err));
cleanup:
    close_descent(&d);
    return st == SKED_ERR_STOPPED ? SKED_OK : st; /* what was decoded before counts */
}
