/*
 * Shortest schedules under capacities. The horizon is set one step below the incumbent and the relaxation
 * looks for means that keep every capacity within it. Means order the ops for a generation scheme, and so do
 * samples of the Gaussians themselves; forward-backward improvement follows. The first schedule that fits
 * becomes the incumbent.
 */
#include "engine/decode/justify.h"
#include "method/gaus/gaus.h"

#include <assert.h>
#include <string.h>

typedef struct shortener {
    sked_i_run *run;
    const sked_i_gaus_settings *set;
    sked_i_cumulative *core;
    sked_i_justifier justifier;
    int32_t *key, *made;       /* [n] in core numbers */
    int32_t *starts;           /* [n] of the incumbent, core numbers */
    int32_t best;              /* its length in the core's units, INT32_MAX: none */
    sked_i_gaus_incumbent fit; /* what the legaliser found within a horizon; by ops of the graph */
    int32_t samples;           /* drawn per visit */
    sked_i_rng rng;
    int64_t decodes, counted; /* counted: told to the run */
    int64_t legalised;        /* schedules of the legaliser */
    bool watched;             /* the first descent has been told */
} shortener;

static sked_status open_shortener(shortener *s, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_cumulative_create(s->run->problem, &s->core, err));
    SKED_TRY(sked_i_justifier_open(&s->justifier, s->core, &s->run->limit, err));
    SKED_NEW(s->key, s->core->n);
    SKED_NEW(s->made, s->core->n);
    SKED_NEW(s->starts, s->core->n);
    SKED_TRY(sked_i_gaus_incumbent_create(s->core->n, false, &s->fit, err));
cleanup:
    return st;
}

static void close_shortener(shortener *s)
{
    sked_i_justifier_close(&s->justifier);
    free(s->key);
    free(s->made);
    free(s->starts);
    sked_i_gaus_incumbent_free(&s->fit);
    sked_i_cumulative_destroy(s->core);
}

static void keep(shortener *s, int32_t length)
{
    if (length >= s->best || length > s->core->horizon)
        return;
    s->best = length;
    memcpy(s->starts, s->made, (size_t)s->core->n * sizeof *s->made);
}

/* The keys' schedule, improved; kept where it is shorter than the incumbent. */
static void decode(shortener *s, bool parallel)
{
    sked_i_sgs_sort(s->justifier.forward, s->key, false, s->justifier.list);
    int32_t length = parallel && s->core->fixed == NULL
                         ? sked_i_sgs_parallel(s->justifier.forward, s->justifier.list, s->made)
                         : sked_i_sgs_serial(s->justifier.forward, s->justifier.list, INT32_MAX - 1, s->made);
    s->decodes++;
    if (length == SKED_I_ABORTED)
        return;
    if (s->core->fixed == NULL)
        length = sked_i_justify(&s->justifier, length, s->made);
    else if (s->justifier.forward->late > 0)
        return;
    keep(s, length);
}

/* Means (plus noise of their own sigmas) as keys: eighths of a step, so that fractions still order. */
static void set_keys(shortener *s, const double *mu, const double *sigma)
{
    for (int32_t k = 0; k < s->core->n; k++) {
        const int32_t i = s->core->op[k];
        const double t = mu[i] + (sigma != NULL ? sigma[i] * sked_i_rng_normal(&s->rng) : 0);
        s->key[k] = (int32_t)(8 * fmin(1e7, fmax(0, t + 32)));
    }
}

static bool visit(void *data, const double *mu, const double *sigma)
{
    shortener *s = data;
    const int32_t before = s->best;
    set_keys(s, mu, NULL);
    decode(s, false);
    decode(s, true);
    for (int32_t k = 0; k < s->samples && s->best == before; k++) {
        if (sked_i_limit_reached(&s->run->limit))
            return true;
        set_keys(s, mu, sigma);
        decode(s, k % 2 == 1);
    }
    return s->best < before || sked_i_limit_reached(&s->run->limit);
}

static void tell_evaluations(shortener *s)
{
    const int64_t all = s->decodes + s->legalised;
    sked_i_run_evaluated(s->run, all - s->counted);
    s->counted = all;
}

static sked_status offer(shortener *s, sked_error *err)
{
    sked_schedule *made = NULL;
    sked_status st = sked_i_cumulative_schedule(s->core, s->starts, &made, err);
    tell_evaluations(s);
    if (st == SKED_OK)
        st = sked_i_run_offer(s->run, made, err);
    sked_schedule_destroy(made);
    return st;
}

/* ASAP, ALAP and the middle of both as orders. */
static sked_status first_schedules(shortener *s, const sked_i_gaus_model *m, double *mu, sked_error *err)
{
    const int kinds[] = {SKED_I_GAUS_START_ALAP, SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ASAP};
    const double begin = sked_clock();
    for (int k = 0; k < 3; k++) {
        sked_i_gaus_place_means(m, kinds[k], NULL, NULL, mu);
        set_keys(s, mu, NULL);
        decode(s, false);
        decode(s, true);
    }
    sked_i_run_tally(s->run, "quick start", 1, sked_clock() - begin, s->decodes, 0);
    if (s->best == INT32_MAX)
        return SKED_OK;
    return offer(s, err);
}

/* The legaliser met the horizon itself: its schedule, improved. */
static void take_fit(shortener *s)
{
    int32_t length = 0;
    for (int32_t k = 0; k < s->core->n; k++) {
        s->made[k] = (int32_t)(s->fit.start[s->core->op[k]] * s->core->scale);
        if (s->made[k] + s->core->forward.duration[k] > length)
            length = s->made[k] + s->core->forward.duration[k];
    }
    keep(s, sked_i_justify(&s->justifier, length, s->made));
}

/* One descent at one horizon; true in *shorter when it found a schedule that fits. */
static sked_status descend_once(shortener *s, sked_i_gaus_legaliser *l, sked_i_gaus_tuning *t, int try,
                                double *mu, bool *shorter, sked_error *err)
{
    const sked_i_gaus_model *m = l->m;
    const int kinds[] = {SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ALAP, SKED_I_GAUS_START_RANDOM};
    const int32_t before = s->best;
    const int64_t evaluations = s->decodes + s->legalised;
    const double begin = sked_clock();
    assert(before < INT32_MAX);
    s->fit.value = INFINITY;
    if (try % 4 == 0)
        for (int32_t k = 0; k < m->n; k++) {
            const int32_t i = s->core->op[k];
            mu[i] = fmin(m->hi[i], fmax(m->lo[i], s->starts[k] / s->core->scale));
        }
    else
        sked_i_gaus_place_means(m, kinds[try % 4 - 1], NULL, &s->rng, mu);
    const sked_status st = sked_i_gaus_descend(l, t, &s->run->limit, mu, &s->fit, &s->legalised, err);
    if (s->fit.value < INFINITY)
        take_fit(s);
    *shorter = s->best < before;
    sked_i_run_tally(s->run, "descent", 1, sked_clock() - begin, s->decodes + s->legalised - evaluations,
                     (before - s->best) / s->core->scale);
    return st;
}

static sked_status shorten(shortener *s, const sked_i_gaus_model *m, double *mu, bool *shorter,
                           sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_tuning t = s->set->tuning;
    const int tries = s->set->starts, patience = 1 + s->set->patience;
    t.goal = 0; /* any schedule within the horizon */
    t.threads = sked_i_gaus_threads(s->run, 1);
    t.visit = visit;
    t.visit_data = s;
    SKED_TRY(sked_i_gaus_legaliser_create(m, &l, err));
    for (int k = 0; k < tries * patience && !*shorter && !sked_i_limit_reached(&s->run->limit); k++) {
        if (s->set->polish)
            s->samples = 2 << (k / tries < 8 ? k / tries : 8);
        t.record = NULL;
        if (!s->watched)
            sked_i_gaus_watch(s->run, &t);
        s->watched = true;
        SKED_TRY(descend_once(s, l, &t, k, mu, shorter, err));
        sked_i_run_progress(s->run, "gradient and generation scheme");
    }
cleanup:
    sked_i_gaus_legaliser_destroy(l);
    return st;
}

/* Lengths one after the other, as long as the incumbent gets shorter. */
static sked_status shorten_all(shortener *s, double *mu, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_model *m = NULL;
    bool shorter = true;
    while (shorter && !sked_i_run_over(s->run)) {
        shorter = false;
        const int64_t length = (int64_t)ceil(s->best / s->core->scale) - 1;
        SKED_TRY(sked_i_gaus_model_create(s->run->problem, 0, length, &m, err));
        if (m == NULL)
            break;
        SKED_TRY(shorten(s, m, mu, &shorter, err));
        if (shorter)
            SKED_TRY(offer(s, err));
        sked_i_gaus_model_destroy(m);
        m = NULL;
    }
cleanup:
    sked_i_gaus_model_destroy(m);
    return st;
}

sked_status sked_i_gaus_run_makespan(sked_i_run *run, const sked_i_gaus_settings *set, sked_error *err)
{
    sked_status st = SKED_OK;
    shortener s = {.run = run, .set = set, .best = INT32_MAX};
    sked_i_gaus_model *m = NULL;
    double *mu = NULL;
    sked_i_rng_seed(&s.rng, run->options->seed, 0);
    SKED_NEW(mu, run->problem->graph->n_ops);
    SKED_TRY(open_shortener(&s, err));
    /* Windows for the first orders; fixed starts may lie past the longest path. */
    const int32_t room = s.core->fixed != NULL ? s.core->forward.span : s.core->forward.longest;
    const double loose = fmin(run->problem->horizon, ceil(room / s.core->scale));
    SKED_TRY(sked_i_gaus_model_create(run->problem, 0, (int64_t)loose, &m, err));
    if (m != NULL)
        SKED_TRY(first_schedules(&s, m, mu, err));
    if (s.best == INT32_MAX)
        goto cleanup;
    const double first = sked_i_run_best(run);
    SKED_TRY(shorten_all(&s, mu, err));
    sked_i_run_note(run, "order of starts %g, with the gradient %g; %lld schedules generated", first,
                    sked_i_run_best(run), (long long)s.decodes);
cleanup:
    tell_evaluations(&s);
    sked_i_gaus_model_destroy(m);
    close_shortener(&s);
    free(mu);
    return st;
}
