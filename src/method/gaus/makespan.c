/*
 * Shortest schedules under capacities. The horizon is set one step below the incumbent and the relaxation
 * looks for means that keep every capacity within it; means, and samples of the Gaussians, order the ops for
 * a generation scheme. The first schedule that fits becomes the incumbent.
 */
#include "engine/gaus/scheme.h"
#include "method/gaus/gaus.h"

typedef struct shortener {
    sked_i_run *run;
    const sked_i_gaus_settings *set;
    sked_i_gaus_scheme *scheme;
    double *mu;                /* [n] */
    sked_i_gaus_incumbent fit; /* what the legaliser found within a horizon */
    int64_t legalised;         /* schedules of the legaliser */
    int64_t told;              /* evaluations that the run knows of */
    bool watched;              /* the first descent has been told */
} shortener;

static sked_status open_shortener(shortener *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = s->run->problem;
    SKED_NEW(s->mu, p->graph->n_ops);
    SKED_TRY(sked_i_gaus_incumbent_create(p->graph->n_ops, false, &s->fit, err));
    SKED_TRY(sked_i_gaus_scheme_create(p, &s->run->limit, s->run->options->seed, &s->scheme, err));
cleanup:
    return st;
}

static void close_shortener(shortener *s)
{
    sked_i_gaus_scheme_destroy(s->scheme);
    sked_i_gaus_incumbent_free(&s->fit);
    free(s->mu);
}

static int64_t evaluations(const shortener *s)
{
    return s->scheme->decodes + s->legalised;
}

static void tell_evaluations(shortener *s)
{
    sked_i_run_evaluated(s->run, evaluations(s) - s->told);
    s->told = evaluations(s);
}

static sked_status offer(shortener *s, sked_error *err)
{
    sked_schedule *made = NULL;
    sked_status st = sked_i_cumulative_schedule(s->scheme->core, s->scheme->start, &made, err);
    tell_evaluations(s);
    if (st == SKED_OK)
        st = sked_i_run_offer(s->run, made, err);
    sked_schedule_destroy(made);
    return st;
}

/* ASAP, ALAP and the middle of both as orders; what the user gave. */
static sked_status first_schedules(shortener *s, const sked_i_gaus_model *m, sked_error *err)
{
    static const int kinds[] = {SKED_I_GAUS_START_ALAP, SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ASAP};
    const double begin = sked_clock();
    for (int k = 0; k < 3; k++) {
        sked_i_gaus_place_means(m, kinds[k], NULL, NULL, s->mu);
        sked_i_gaus_scheme_decode(s->scheme, s->mu);
    }
    if (s->run->options->start != NULL)
        sked_i_gaus_scheme_take(s->scheme, s->run->options->start->start);
    sked_i_run_tally(s->run, "quick start", 1, sked_clock() - begin, s->scheme->decodes, 0);
    return s->scheme->length < INT32_MAX ? offer(s, err) : SKED_OK;
}

/* One descent at one horizon: from the incumbent at first, then from other means. */
static sked_status descend_once(shortener *s, sked_i_gaus_legaliser *l, const sked_i_gaus_tuning *t, int try,
                                sked_error *err)
{
    static const int kinds[] = {SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ALAP, SKED_I_GAUS_START_RANDOM};
    sked_i_gaus_scheme *x = s->scheme;
    const int32_t length = x->length;
    const int64_t before = evaluations(s);
    const double begin = sked_clock();
    s->fit.value = INFINITY;
    if (try % 4 == 0)
        sked_i_gaus_scheme_means(x, l->m, s->mu);
    else
        sked_i_gaus_place_means(l->m, kinds[try % 4 - 1], NULL, &x->rng, s->mu);
    const sked_status st = sked_i_gaus_descend(l, t, &s->run->limit, s->mu, &s->fit, &s->legalised, err);
    if (s->fit.value < INFINITY) /* the legaliser met the horizon itself */
        sked_i_gaus_scheme_take(x, s->fit.start);
    sked_i_run_tally(s->run, "descent", 1, sked_clock() - begin, evaluations(s) - before,
                     (length - x->length) / x->core->scale);
    return st;
}

/* A shorter schedule of another rank becomes the one to shorten. */
static sked_status exchange(shortener *s, sked_error *err)
{
    const double before = sked_i_run_best(s->run);
    const sked_status st = sked_i_run_exchange(s->run, err);
    if (st == SKED_OK && sked_i_run_best(s->run) < before)
        sked_i_gaus_scheme_take(s->scheme, sked_i_run_incumbent(s->run)->start);
    return st;
}

/* Descents at the model's horizon until one finds a schedule that fits: *shorter. */
static sked_status shorten(shortener *s, const sked_i_gaus_model *m, bool *shorter, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_legaliser *l = NULL;
    sked_i_gaus_tuning t = s->set->tuning;
    const int tries = s->set->starts, patience = 1 + s->set->patience;
    const int32_t before = s->scheme->length;
    int one = 1;
    t.goal = 0; /* any schedule within the horizon */
    t.threads = sked_i_gaus_threads(s->run, 1);
    SKED_TRY(sked_i_gaus_fit(s->run, &m->view, &t, &one, err));
    t.visit = sked_i_gaus_scheme_visit;
    t.visit_data = s->scheme;
    SKED_TRY(sked_i_gaus_legaliser_create(m, &l, err));
    for (int k = 0; k < tries * patience && !*shorter && !sked_i_limit_reached(&s->run->limit); k++) {
        if (s->set->polish)
            s->scheme->samples = 2 << (k / tries < 8 ? k / tries : 8);
        t.record = NULL;
        if (!s->watched)
            sked_i_gaus_watch(s->run, &t);
        s->watched = true;
        SKED_TRY(descend_once(s, l, &t, k, err));
        SKED_TRY(exchange(s, err));
        *shorter = s->scheme->length < before;
        sked_i_run_progress(s->run, "gradient and generation scheme");
    }
cleanup:
    sked_i_gaus_legaliser_destroy(l);
    return st;
}

/* Lengths one after the other, as long as the incumbent gets shorter. */
static sked_status shorten_all(shortener *s, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_model *m = NULL;
    bool shorter = true;
    while (shorter && !sked_i_run_over(s->run)) {
        shorter = false;
        SKED_TRY(
            sked_i_gaus_model_create(s->run->problem, 0, sked_i_gaus_scheme_steps(s->scheme) - 1, &m, err));
        if (m == NULL)
            break;
        SKED_TRY(shorten(s, m, &shorter, err));
        if (shorter)
            SKED_TRY(offer(s, err));
        sked_i_gaus_model_destroy(m);
        m = NULL;
    }
cleanup:
    sked_i_gaus_model_destroy(m);
    return st;
}

static sked_status run_shortener(shortener *s, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_run *run = s->run;
    sked_i_gaus_model *m = NULL;
    /* Windows for the first orders; fixed starts may lie past the longest path. */
    const sked_i_cumulative *core = s->scheme->core;
    const int32_t room = core->fixed != NULL ? core->forward.span : core->forward.longest;
    const double loose = fmin(run->problem->horizon, ceil(room / core->scale));
    SKED_TRY(sked_i_gaus_model_create(run->problem, 0, (int64_t)loose, &m, err));
    if (m != NULL)
        SKED_TRY(first_schedules(s, m, err));
    if (s->scheme->length == INT32_MAX)
        goto cleanup;
    const double first = sked_i_run_best(run);
    SKED_TRY(shorten_all(s, err));
    sked_i_run_note(run, "order of starts %g, with the gradient %g; %lld schedules generated", first,
                    sked_i_run_best(run), (long long)s->scheme->decodes);
cleanup:
    sked_i_gaus_model_destroy(m);
    return st;
}

sked_status sked_i_gaus_run_makespan(sked_i_run *run, const sked_i_gaus_settings *set, sked_error *err)
{
    shortener s = {.run = run, .set = set};
    sked_status st = open_shortener(&s, err);
    if (st == SKED_OK) {
        st = run_shortener(&s, err);
        tell_evaluations(&s);
    }
    close_shortener(&s);
    return st;
}
