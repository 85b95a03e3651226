/*
 * Adam on (mu, log sigma) under an augmented Lagrangian. mu stays in its window by projection. Every few
 * steps the means are legalised and the incumbent kept (good values come on the way, not at the end); a few
 * times the descent returns to the incumbent with sharper sigmas.
 */
#include "engine/gaus/gaus_relaxation.h"

#include "backend/backend.h"
#include "backend/gaus_step.h"

#include <assert.h>
#include <string.h>

/* What a loop over the steps of one descent keeps. */
typedef struct descent {
    sked_i_arena arena;
    sked_i_gaus_legaliser *l;
    const sked_i_relaxation *m;
    const sked_i_gaus_tuning *tuning;
    const sked_i_gaus_descent_backend *backend;
    sked_i_gaus_descent *steps;
    sked_i_gaus_view view;
    double *mu, *sigma;        /* [n] the point after the last run that was waited for */
    double *dmu;               /* [n] at the start */
    double *tau;               /* [steps of a run * (profiles + 1)] */
    sked_i_gaus_step *planned; /* [steps of a run] */
    int32_t most;              /* steps of the next run at most */
    double peak;               /* of the start: the scale of tau */
    sked_i_gaus_terms terms;
    bool harvests[SKED_I_GAUS_FLIGHT]; /* runs under way, oldest first: are its means to be legalised? */
    int under_way;
    int32_t all, stretch; /* steps altogether; between returns to the incumbent */
    int32_t every;        /* steps between legalisations */
    int32_t stale;        /* legalisations since the last better one */
    bool enough;          /* the goal is met, or it has gone stale */
    const sked_i_limit *limit;
    sked_i_gaus_incumbent *best;
    int64_t *evaluations;
} descent;

/*
 * Steps of a run: the CPU checks limits after every one. On a GPU they are checked after the runs under way,
 * while other descents take their turns: some 20 ms a run.
 */
enum {
    long_run = 16,
    short_run = 2,
    large = 20000 /* ops from which runs are short until the pace is known */
};
static const double run_seconds = 0.02;

sked_i_gaus_view sked_i_gaus_view_of(const sked_i_relaxation *m)
{
    return (sked_i_gaus_view){.ops = m->n,
                              .profiles = m->profiles,
                              .steps = m->steps,
                              .period = m->period,
                              .duration = m->duration,
                              .use_ptr = m->use_ptr,
                              .use_profile = m->use_profile,
                              .use_amount = m->use_amount,
                              .memory = m->with_memory ? m->memory : NULL,
                              .succ_ptr = m->g->succ_ptr,
                              .edge_to = m->g->edge_to,
                              .gap = m->gap,
                              .shift = m->shift,
                              .edge_kind = m->kind,
                              .edge_bytes = m->bytes,
                              .lo = m->lo,
                              .hi = m->hi};
}

static sked_status open_descent(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = d->m->n, rows = d->m->profiles + 1;
    d->backend = d->tuning->backend->gaus_descent;
    d->most = !d->backend->beside ? 1 : d->m->n > large ? short_run : long_run;
    const int64_t longest = d->backend->beside ? long_run : 1;
    SKED_TRY(d->backend->create(&d->view, d->limit, d->tuning->threads, &d->steps, err));
    SKED_OWN(&d->arena, d->sigma, n);
    SKED_OWN(&d->arena, d->dmu, n);
    SKED_OWN(&d->arena, d->tau, longest * rows);
    SKED_OWN(&d->arena, d->planned, longest);
cleanup:
    return st;
}

/* sigma as a share of the window; wide enough to feel a neighbour step where there is a choice at all. */
static void reset_sigma(descent *d, double scale)
{
    for (int32_t i = 0; i < d->m->n; i++) {
        const double window = d->m->hi[i] - d->m->lo[i];
        const double least = window > 0 ? 0.5 * scale : SKED_I_GAUS_SIGMA_LEAST;
        d->sigma[i] = fmin(fmax(SKED_I_GAUS_SIGMA_LEAST, d->tuning->sigma_most * scale),
                           fmax(fmax(SKED_I_GAUS_SIGMA_LEAST, least), scale * d->tuning->kappa * window));
    }
}

/* tau falls from a tenth of the peak to the size of one op. */
static void set_tau(const descent *d, double progress, double *tau)
{
    for (int32_t p = 0; p <= d->m->profiles; p++) {
        const double fine = d->m->typical[p], coarse = fmax(2 * fine, 0.1 * d->peak);
        tau[p] = fmax(coarse * pow(fine / coarse, progress), d->m->largest[p] / 600);
        assert(tau[p] > 0);
    }
}

static double mean_pull(const descent *d)
{
    double sum = 0;
    int64_t count = 0;
    for (int32_t i = 0; i < d->m->n; i++) {
        sum += fabs(d->dmu[i]);
        count += d->dmu[i] != 0;
    }
    return count > 0 ? sum / (double)count : 1;
}

/* Value and gradient at the start under the terms as they stand. */
static sked_status measure(descent *d, sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = SKED_OK;
    static const double none[SKED_I_GAUS_FAMILIES] = {0};
    SKED_TRY(d->backend->aim(d->steps, &d->terms, none, err));
    SKED_TRY(d->backend->evaluate(d->steps, d->dmu, NULL, value, err));
cleanup:
    return st;
}

/*
 * Multipliers begin where breaking a rule by a step pulls as hard as the objective pulls a mean op, measured
 * at the start, and penalties double their pull there. As published multipliers begin at 0, and the penalties
 * alone pull as hard.
 */
static sked_status set_multipliers(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_value value;
    memset(d->terms.multiplier, 0, sizeof d->terms.multiplier);
    memset(d->terms.penalty, 0, sizeof d->terms.penalty);
    SKED_TRY(measure(d, &value, err));
    if (sked_i_limit_reached(d->limit))
        return SKED_OK; /* there is no time for a step either */
    const double pull = mean_pull(d);
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++)
        d->terms.multiplier[f] = f == SKED_I_GAUS_CAPACITY && !d->m->capped ? 0 : pull;
    SKED_TRY(measure(d, &value, err));
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        d->terms.penalty[f] = d->terms.multiplier[f] / (1 + value.violation[f]);
        if (d->tuning->published)
            d->terms.multiplier[f] = 0;
    }
    SKED_TRY(d->backend->aim(d->steps, &d->terms, value.violation, err));
cleanup:
    return st;
}

static sked_status return_to_best(descent *d, double scale, sked_error *err)
{
    assert(d->under_way == 0 && d->best->value < INFINITY);
    for (int32_t i = 0; i < d->m->n; i++)
        d->mu[i] = d->best->start[i];
    reset_sigma(d, scale);
    return d->backend->place(d->steps, d->mu, d->sigma, err);
}

static sked_status prepare(descent *d, sked_error *err)
{
    const sked_i_relaxation *m = d->m;
    for (int32_t i = 0; i < m->n; i++)
        assert(d->mu[i] >= m->lo[i] && d->mu[i] <= m->hi[i]);
    sked_i_gaus_load_rounded(d->l, d->mu);
    for (int32_t p = 0; p <= m->profiles; p++)
        if (m->weight[p] > 0)
            d->peak = fmax(d->peak, sked_i_gaus_state_peak(d->l->state, p));
    d->terms =
        (sked_i_gaus_terms){.weight = m->weight, .capacity = m->capacity, .tau = d->tau, .alpha = m->alpha};
    reset_sigma(d, d->tuning->sigma_scale);
    set_tau(d, 0, d->tau);
    return d->backend->place(d->steps, d->mu, d->sigma, err);
}

/* ------------------------------------------------------------------ runs of steps */

/* Steps from k to where the descent looks up: a legalisation, a return, the end, or `mark`. */
static int32_t steps_ahead(const descent *d, int32_t k, int32_t mark)
{
    const int32_t left[] = {d->every - k % d->every, d->stretch - k % d->stretch, d->all - k,
                            k < mark ? mark - k : d->most};
    int32_t count = d->most;
    for (size_t j = 0; j < sizeof left / sizeof *left; j++)
        count = left[j] < count ? left[j] : count;
    assert(count >= 1);
    return count;
}

/*
 * How multipliers, or as published penalties, grow. 3 % a step are right for some 400 of them; a descent
 * beside the caller makes many more, and as much has to happen in it.
 */
static sked_i_gaus_growth growth_of(const descent *d)
{
    const double share = d->backend->beside ? 1 / fmax(1, d->all / 400.0) : 1;
    return (sked_i_gaus_growth){pow(1.03, share), pow(0.99, share), d->tuning->published ? share : 0};
}

/* Starts the steps k to k + count - 1. */
static sked_status start_run(descent *d, int32_t k, int32_t count, sked_error *err)
{
    const int64_t rows = d->m->profiles + 1;
    const sked_i_gaus_growth raise = growth_of(d);
    assert(count >= 1 && count <= d->most && d->under_way < SKED_I_GAUS_FLIGHT);
    for (int32_t j = 0; j < count; j++) {
        const double progress = (double)((k + j) % d->stretch) / d->stretch;
        d->planned[j] = (sked_i_gaus_step){.rate = d->tuning->rate * (1 - 0.8 * progress),
                                           .widest = d->tuning->sigma_most * (1 - 0.8 * progress),
                                           .tau = d->tau + j * rows,
                                           .raise = raise};
        set_tau(d, progress, d->tau + j * rows);
    }
    d->harvests[d->under_way++] = (k + count) % d->every == 0;
    if (d->tuning->steps != NULL)
        *d->tuning->steps += count;
    return d->backend->run(d->steps, d->planned, count, err);
}

/* Legalises the means and keeps what is better. */
static void harvest(descent *d)
{
    const sked_i_gaus_tuning *t = d->tuning;
    (*d->evaluations)++;
    d->stale++;
    if (sked_i_gaus_legalise(d->l, d->mu, d->limit) && sked_i_gaus_keep(d->best, d->l->state))
        d->stale = 0;
    d->enough = d->best->value <= t->goal || (int64_t)d->stale * d->every > 2 * (int64_t)d->stretch;
}

/* Waits for the oldest run and looks at its means. */
static sked_status settle(descent *d, sked_error *err)
{
    sked_i_gaus_value value;
    const bool look = d->harvests[0];
    assert(d->under_way > 0);
    d->under_way--;
    memmove(d->harvests, d->harvests + 1, (size_t)d->under_way * sizeof *d->harvests);
    const sked_status st = d->backend->wait(d->steps, d->mu, d->sigma, &value, err);
    if (st == SKED_OK && look)
        harvest(d);
    return st;
}

static sked_status settle_all(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    while (st == SKED_OK && d->under_way > 0)
        st = settle(d, err);
    return st;
}

/* ------------------------------------------------------------------ the descent */

int32_t sked_i_gaus_affordable(double begin, int32_t done, int32_t all, int32_t least,
                               const sked_i_limit *limit)
{
    const double now = sked_clock(), left = limit->deadline - now;
    assert(done > 0 && done <= all);
    if (isinf(left) || !limit->paced || (now - begin) * (all - done) <= left * done)
        return all;
    const double more = left / fmax(1e-9, now - begin) * done;
    return done + (int32_t)fmax(least, fmin(all - done, more));
}

/*
 * Sets the steps, as many as the time allows, and what follows from them: a GPU legalises as often in a short
 * descent as in a long one, for it waits for that.
 */
static void set_length(descent *d, int32_t all)
{
    const sked_i_gaus_tuning *t = d->tuning;
    d->all = all;
    d->stretch = all / (t->restarts + 1) + 1;
    d->every = t->every;
    if (d->backend->beside)
        d->every = (int32_t)fmax(1, floor((double)all * t->every / t->iterations));
}

/*
 * The means of one run are legalised while the backend makes the next one. What that finds decides about
 * returns and the end only, so the steps are the same as one after the other.
 */
static sked_status descend(descent *d, sked_error *err)
{
    const sked_i_gaus_tuning *t = d->tuning;
    const bool beside = d->backend->beside;
    /* The first steps on a GPU load its code: the pace is measured after them. */
    const int32_t from = beside ? 8 : 0, mark = beside ? 40 : 6;
    double begin = sked_clock();
    sked_status st = SKED_OK;
    set_length(d, t->iterations);
    for (int32_t k = 0, count; st == SKED_OK && k < d->all && !d->enough; k += count) {
        const bool turn = k > 0 && k % d->stretch == 0;
        count = 0;
        if (turn || (beside && (k == from || k == mark)))
            SKED_TRY(settle_all(d, err));
        if (k == from)
            begin = sked_clock();
        if (k == mark) {
            const double pace = (sked_clock() - begin) / (k - from);
            set_length(d, from + sked_i_gaus_affordable(begin, k - from, d->all - from, 8, d->limit));
            if (beside) /* how steps are cut into runs changes nothing else */
                d->most = (int32_t)fmax(1, fmin(long_run, run_seconds / pace));
        }
        if (d->enough || sked_i_limit_reached(d->limit))
            break;
        if (k > 0 && k % d->stretch == 0 && d->best->value < INFINITY)
            SKED_TRY(return_to_best(d, t->sigma_scale * pow(0.5, k / d->stretch), err));
        count = steps_ahead(d, k, k < from ? from : mark);
        SKED_TRY(start_run(d, k, count, err));
        while (d->under_way > (beside ? 1 : 0))
            SKED_TRY(settle(d, err));
    }
    if (!d->enough && !sked_i_limit_reached(d->limit))
        SKED_TRY(settle_all(d, err));
cleanup:
    return st;
}

sked_status sked_i_gaus_descend(sked_i_gaus_legaliser *l, const sked_i_gaus_tuning *tuning,
                                const sked_i_limit *limit, double *mu, sked_i_gaus_incumbent *best,
                                int64_t *evaluations, sked_error *err)
{
    descent d = {.l = l,
                 .m = l->m,
                 .view = sked_i_gaus_view_of(l->m),
                 .tuning = tuning,
                 .mu = mu,
                 .limit = limit,
                 .best = best,
                 .evaluations = evaluations};
    assert(tuning->every >= 1 && tuning->threads >= 1 && tuning->rate > 0 && tuning->sigma_scale > 0);
    if (sked_i_limit_reached(limit))
        return SKED_OK;
    sked_status st = SKED_OK;
    SKED_TRY(open_descent(&d, err));
    SKED_TRY(prepare(&d, err));
    SKED_TRY(set_multipliers(&d, err));
    SKED_TRY(descend(&d, err));
cleanup:
    if (d.steps != NULL)
        d.backend->destroy(d.steps);
    sked_i_arena_free(&d.arena);
    return st == SKED_ERR_STOPPED ? SKED_OK : st; /* what it has found until then counts */
}
