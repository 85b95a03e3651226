/*
 * Items of the rounds. The first round takes each kind of start through descent and polish; later rounds
 * continue from the incumbent (polish for longer, or descend from it with sharp sigmas) or from random means.
 */
#include "method/gaus/gaus.h"

#include "backend/backend.h"
#include "problem/bounds.h"
#include "problem/communication.h"

#include <assert.h>

enum {
    worth_forking = 2000, /* ops from which an evaluation takes longer than starting threads */
    means_lead = 5000,    /* ops from which Gaussians find little that the means alone do not */
    means_for_one = 4,    /* steps on the means for one with Gaussians */
    means_at_leisure = 2  /* times as many of these where they descend alone */
};

static const double near_work = 3e8;     /* looks for the least communication: some seconds */
static const double descent_share = 0.6; /* of an item's time where a polish follows */

/* ------------------------------------------------------------------ before the first round */

bool sked_i_gaus_adopt(sked_i_gaus_rounds *r, const sked_schedule *s)
{
    const sked_i_relaxation *m = r->model;
    sked_i_gaus_state *state = sked_i_gaus_worker_at(r, 0)->legaliser->state;
    const double before = r->best.value;
    if (s == NULL || s->ii != m->period)
        return false;
    for (int32_t i = 0; i < m->n; i++)
        if (!(s->start[i] >= m->lo[i] && s->start[i] <= m->hi[i]))
            return false;
    sked_i_gaus_state_load(state, s->start);
    if (sked_i_gaus_state_legal(state))
        sked_i_gaus_keep(&r->best, state);
    return r->best.value < before;
}

/* The driver's bound has less time. It holds for all schedules if the model leaves none of them out. */
static sked_status raise_bound(sked_i_gaus_rounds *r, double communication, sked_error *err)
{
    const sked_i_relaxation *m = r->model;
    const sked_problem *p = r->run->problem;
    double bound;
    if (p->horizon != m->steps || p->ii != m->period)
        return SKED_OK;
    const sked_status st = sked_i_cost_bound(p, communication, &bound, err);
    if (st == SKED_OK)
        sked_i_run_raise_bound(r->run, bound);
    return st;
}

/*
 * Where communication counts: starts that have the least of it, made legal, become the incumbent where they
 * are better than the quick schedules, and the first start in place of these.
 */
static sked_status adopt_near(sked_i_gaus_rounds *r, sked_error *err)
{
    const sked_i_relaxation *m = r->model;
    const sked_i_gaus_worker *w = sked_i_gaus_worker_at(r, 0);
    sked_i_limit limit = r->run->limit;
    sked_i_bound_effort effort = {.work = near_work, .limit = &limit};
    sked_status st = SKED_OK;
    const double before = r->best.value;
    double *near, least;
    if (!(m->alpha > 0) || !sked_i_must_communicate(m->g, m->period))
        return SKED_OK; /* all ops together, at any step, have none: nothing to start from */
    if (limit.paced)
        limit.deadline = fmin(limit.deadline, sked_clock() + 0.3 * (limit.deadline - sked_clock()));
    SKED_OWN(&r->arena, near, m->n);
    for (int32_t i = 0; i < m->n; i++) {
        w->mu[i] = m->lo[i];
        w->means[i] = m->hi[i];
    }
    SKED_TRY(sked_i_least_communication(m->g, m->period, w->mu, w->means, &effort, near, &least, err));
    SKED_TRY(raise_bound(r, least, err));
    if (sked_i_gaus_legalise(w->legaliser, near, &r->run->limit))
        sked_i_gaus_keep(&r->best, w->legaliser->state);
    if (r->best.value < before) {
        r->list = r->near = near;
        SKED_TRY(sked_i_gaus_offer_best(r, err));
    }
cleanup:
    return st;
}

/* The means alone descend, one start for each thread, and two for one. With capacities they cannot. */
static void leave_means(sked_i_gaus_rounds *r)
{
    const int most = r->threads > 2 ? r->threads : 2;
    if (!sked_i_gaus_means_suffice(r->model))
        return;
    r->alone = true;
    r->starts = r->set->starts < most ? r->set->starts : most;
}

/*
 * Peak memory of a large graph: Gaussians find in a minute what the means do in a second, and the polish is
 * by regions.
 */
static bool prefers_means(const sked_i_gaus_rounds *r)
{
    return r->model->n >= means_lead && sked_i_gaus_regional(r->model);
}

/* A loop with capacities: the means cannot descend alone, only the polish is left. Needs an incumbent. */
static void leave_polish(sked_i_gaus_rounds *r)
{
    if (sked_i_gaus_means_suffice(r->model) || r->model->period == 0 || r->best.value == INFINITY)
        return;
    r->polishes = true;
    r->starts = 0;
}

/* So large that measuring a step would take too long: a step takes a microsecond an op or more. */
static bool hopeless(const sked_i_gaus_rounds *r, double left)
{
    const bool means = sked_i_gaus_means_suffice(r->model);
    const double steps = means ? 120 : r->model->period > 0 ? 40 : 0;
    return r->threads * 0.3 * left < steps * 1e-6 * r->model->n;
}

/* How many ranks make this run. */
static int ranks(const sked_i_run *run)
{
    return run->options->together ? sked_dist_size() : 1;
}

/*
 * Starts that the time allows: a descent of fewer than some 120 steps is worth less than none, so rather
 * fewer of them. Measured by two steps from the middle. Without a time limit: all.
 */
static sked_status afford_starts(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_i_gaus_worker *w = sked_i_gaus_worker_at(r, 0);
    sked_i_gaus_tuning tuning = r->tuning;
    sked_i_gaus_incumbent *scratch = &r->items[0].best;
    const double begin = sked_clock(), left = r->run->limit.deadline - begin;
    double count = 0;
    sked_status st = SKED_OK;
    if (isinf(left) || !r->run->limit.paced || r->starts <= 1)
        return SKED_OK;
    if (prefers_means(r))
        leave_means(r);
    if (prefers_means(r) || r->tuning.backend->gaus_descent->beside)
        return SKED_OK; /* a GPU makes its steps while the starts of others are legalised */
    tuning.iterations = 2;
    sked_i_gaus_place_means(r->model, SKED_I_GAUS_START_MIDPOINT, NULL, NULL, w->mu);
    if (!hopeless(r, left)) {
        st = sked_i_gaus_descend(w->legaliser, &tuning, &r->run->limit, w->mu, scratch, &w->evaluations, err);
        const double step = (sked_clock() - begin) / 4; /* two more for the multipliers */
        count = floor(ranks(r->run) * r->threads * 0.3 * left / (120 * fmax(1e-7, step)));
    }
    r->starts = count < r->starts ? (int)fmax(count, 1) : r->starts;
    if (count < 1) {
        leave_means(r);
        leave_polish(r);
    }
    return st;
}

sked_status sked_i_gaus_prepare(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_schedule *given = r->run->options->start;
    const sked_schedule *list = given != NULL ? given : sked_i_run_incumbent(r->run);
    r->list = list != NULL ? list->start : NULL;
    (void)sked_i_gaus_adopt(r, list);
    if (given != NULL && r->best.value < INFINITY)
        SKED_TRY(sked_i_gaus_offer_best(r, err));
    if (given == NULL)
        SKED_TRY(adopt_near(r, err));
    SKED_TRY(afford_starts(r, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ what a round does */

/*
 * Kinds of start, the most promising first. Where loads count, symmetric starts are of little use; where the
 * means descend alone they go far from wherever they begin, and list begins low.
 */
static int kind_of(const sked_i_gaus_rounds *r, int k)
{
    static const int for_loads[] = {SKED_I_GAUS_START_LIST, SKED_I_GAUS_START_FILL, SKED_I_GAUS_START_ALAP,
                                    SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ASAP};
    static const int for_memory[] = {SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ALAP,
                                     SKED_I_GAUS_START_LIST, SKED_I_GAUS_START_ASAP,
                                     SKED_I_GAUS_START_RANDOM};
    static const int for_means[] = {SKED_I_GAUS_START_LIST, SKED_I_GAUS_START_MIDPOINT,
                                    SKED_I_GAUS_START_ALAP, SKED_I_GAUS_START_ASAP, SKED_I_GAUS_START_RANDOM};
    assert(k >= 0);
    if (k >= SKED_I_GAUS_START_RANDOM)
        return SKED_I_GAUS_START_RANDOM;
    return (r->alone ? for_means : r->model->with_memory ? for_memory : for_loads)[k];
}

/*
 * Descents of the first round: the starts, shared by the ranks; on a GPU, and on the means alone, one a
 * thread at least, the starts again with other rates and sigmas.
 */
static int first_count(const sked_i_gaus_rounds *r)
{
    const bool fill = r->tuning.backend->gaus_descent->beside || r->alone;
    const int all = ranks(r->run), own = (r->starts + all - 1) / all;
    return fill && r->starts > 1 && r->threads > own ? r->threads : own > 0 ? own : 1;
}

/* Item k, the `kind`th of all ranks, of the first round. */
static void plan_first(const sked_i_gaus_rounds *r, sked_i_gaus_item *it, int kind)
{
    it->varied = r->starts > 0 && kind >= r->starts;
    it->start = kind_of(r, it->varied ? kind % r->starts : kind);
    it->from_best = r->polishes;
}

/*
 * Items of a later round: two, or one a thread. More would make rounds longer and fewer, and each
 * continues from the best of the one before; so two threads do what one does, and sooner. A GPU makes the
 * steps of one item while another one is polished.
 */
static int later_count(const sked_i_gaus_rounds *r)
{
    const bool beside = r->tuning.backend->gaus_descent->beside && !r->alone;
    return beside ? 2 * r->threads : r->threads > 2 ? r->threads : 2;
}

/* Longer and longer polish, descents from the incumbent, and something new. */
static void plan_later(const sked_i_gaus_rounds *r, sked_i_gaus_item *it, int turn)
{
    it->varied = false;
    it->start = SKED_I_GAUS_START_RANDOM;
    it->from_best = turn % 4 != 3 || r->alone || r->polishes;
}

/*
 * What a round may take of the time left. On the means alone each round continues from the best of all
 * threads, so there are several.
 */
static double share_of_round(const sked_i_gaus_rounds *r)
{
    if (r->alone)
        return r->round == 0 ? 0.6 : r->round < 3 ? 0.5 : 1;
    return r->round == 0 ? 0.6 : 1;
}

/*
 * The first of the items of a rank among those of all ranks that make this run together, as if they were one
 * rank with as many items: ranks begin with different starts. Else 0.
 */
static int first_item(const sked_i_gaus_rounds *r)
{
    return r->run->options->together ? sked_dist_rank() * r->count : 0;
}

void sked_i_gaus_plan(sked_i_gaus_rounds *r)
{
    const sked_i_gaus_settings *set = r->set;
    const bool beside = r->tuning.backend->gaus_descent->beside;
    const double sweeps = set->polish ? set->sweeps : 0;
    /* One turn in so many is a polish of the incumbent. */
    const int polishing = r->alone && !prefers_means(r) ? 8 : 2;
    r->count = r->round == 0 ? first_count(r) : later_count(r);
    r->share = share_of_round(r);
    r->list = r->round == 0 ? r->list : NULL;
    const int first = first_item(r);
    for (int k = 0; k < r->count; k++) {
        sked_i_gaus_item *it = &r->items[k];
        const int turn = r->round + first + k;
        if (r->round == 0)
            plan_first(r, it, first + k);
        else
            plan_later(r, it, turn);
        it->descend = r->starts > 0;
        it->means_only = r->alone && (!beside || k % 4 != 3); /* what a GPU can do beside costs nothing */
        it->sweeps = sweeps;
        it->heat = set->heat * (k % 2 == 0 ? 1 : 0.3); /* hot moves whole regions, mild balances loads */
        if (it->from_best && set->polish && (turn % polishing == 1 || r->starts == 0)) {
            it->descend = false;
            it->sweeps = sweeps * pow(2, fmin(5, r->round));
            it->heat = set->heat * (turn % 4 == 1 ? 1 : 0.3);
        }
    }
}

/* ------------------------------------------------------------------ one item */

/* An item in progress, in a worker's thread: it reads the rounds but does not change them. */
typedef struct task {
    const sked_i_gaus_rounds *rounds;
    sked_i_gaus_worker *worker;
    sked_i_gaus_item *item;
    sked_i_gaus_tuning tuning; /* of this descent; begin may change it */
    sked_i_limit limit;        /* of the phase in progress */
    sked_i_rng rng;
} task;

static void begin(task *t)
{
    const sked_i_gaus_rounds *r = t->rounds;
    const sked_i_relaxation *m = r->model;
    const sked_i_gaus_worker *own = t->worker;
    sked_i_gaus_item *it = t->item;
    t->worker->evaluations++;
    if (it->from_best && r->best.value < INFINITY) {
        sked_i_gaus_incumbent_copy(&it->best, &r->best, m->n);
        for (int32_t i = 0; i < m->n; i++)
            own->mu[i] = r->best.start[i];
    } else {
        sked_i_gaus_place_means(m, it->start, r->list, &t->rng, own->mu);
    }
    if (it->varied && it->means_only) { /* below 1 the means do not cross their windows */
        t->tuning.sigma_scale = 1 + sked_i_rng_uniform(&t->rng);
        t->tuning.rate *= 0.5 * pow(4, sked_i_rng_uniform(&t->rng));
    } else if (it->varied) {
        t->tuning.sigma_scale = 0.4 + 1.2 * sked_i_rng_uniform(&t->rng);
        t->tuning.rate *= 0.4 * pow(10, sked_i_rng_uniform(&t->rng)); /* deep graphs want large ones */
    }
    if (it->from_best) {
        const double least = it->means_only ? 0.4 : 0.15, range = it->means_only ? 0.8 : 0.5;
        t->tuning.sigma_scale = least + range * sked_i_rng_uniform(&t->rng);
        t->tuning.rate *= 0.2 + sked_i_rng_uniform(&t->rng);
    } else if (sked_i_gaus_legalise(own->legaliser, own->mu, &r->run->limit)) {
        sked_i_gaus_keep(&it->best, own->legaliser->state);
    }
}

/* Runs one phase and notes what it took. */
static sked_status run_phase(task *t, sked_status (*phase)(task *t, sked_error *err),
                             sked_i_gaus_effort *effort, sked_error *err)
{
    const double begin = sked_clock();
    const int64_t before = t->worker->evaluations;
    const sked_status st = phase(t, err);
    effort->calls++;
    effort->seconds += sked_clock() - begin;
    effort->evaluations += t->worker->evaluations - before;
    return st;
}

/* Four steps for one with Gaussians or, where the time is known, as many more as it allows. */
static sked_status descend_means(task *t, sked_error *err)
{
    const sked_i_gaus_rounds *r = t->rounds;
    sked_i_gaus_worker *w = t->worker;
    sked_i_gaus_tuning tuning = t->tuning;
    const int32_t times = t->item->means_only ? means_for_one * means_at_leisure : means_for_one;
    tuning.iterations = (int32_t)fmin(1e9, (double)times * r->set->steps);
    tuning.every = r->set->every;
    if (!t->item->from_best && t->item->start == SKED_I_GAUS_START_LIST)
        tuning.sigma_scale *= 0.5; /* near a good schedule */
    for (int32_t i = 0; i < r->model->n; i++)
        w->means[i] = w->mu[i];
    return sked_i_gaus_descend_means(w->legaliser, &tuning, &t->limit, w->means, &t->item->best,
                                     &w->evaluations, err);
}

/*
 * Of an item's time, that of the means. Gaussians follow in the other half. Without them the means take half
 * more, at the cost of the polish, which finds little then; moves of regions find much.
 */
static double means_share(const task *t)
{
    if (!t->item->means_only)
        return 0.5;
    return prefers_means(t->rounds) ? 1 : 1.5;
}

/*
 * Peak memory: the means alone descend first; with an interval only where there is no time for more. Then the
 * Gaussians.
 */
static sked_status descend(task *t, sked_error *err)
{
    const sked_i_gaus_rounds *r = t->rounds;
    sked_i_gaus_worker *w = t->worker;
    const double now = sked_clock(), deadline = t->limit.deadline;
    sked_status st = SKED_OK;
    if (t->limit.paced)
        t->limit.deadline = fmin(r->run->limit.deadline, now + means_share(t) * (deadline - now));
    if (sked_i_gaus_means_suffice(r->model) && (r->model->period == 0 || r->alone))
        st = run_phase(t, descend_means, &w->means_alone, err);
    t->limit.deadline = deadline;
    if (st != SKED_OK || t->item->means_only)
        return st;
    return sked_i_gaus_descend(w->legaliser, &t->tuning, &t->limit, w->mu, &t->item->best, &w->evaluations,
                               err);
}

static sked_status move_regions(task *t, sked_error *err)
{
    return sked_i_gaus_move_regions(t->worker->legaliser->state, t->item->sweeps, &t->rng, &t->limit,
                                    sked_i_run_bound(t->rounds->run), &t->item->best, err);
}

static sked_status polish(task *t, sked_error *err)
{
    sked_i_gaus_item *it = t->item;
    if (it->best.value == INFINITY)
        return SKED_OK;
    if (prefers_means(t->rounds))
        return run_phase(t, move_regions, &t->worker->regions, err);
    return (sked_i_gaus_pushable(t->rounds->model) ? sked_i_gaus_push : sked_i_gaus_polish)(
        t->worker->legaliser->state, it->sweeps, it->heat, &t->rng, &t->limit,
        sked_i_run_bound(t->rounds->run), &it->best, err);
}

/* `part` of an item's share of what is left of the round: the items of one worker share it evenly. */
static sked_i_limit slice(const sked_i_gaus_rounds *r, int index, double part)
{
    sked_i_limit limit = r->run->limit;
    const double now = sked_clock();
    const int left = (r->count - index + r->threads - 1) / r->threads;
    assert(left >= 1 && part > 0);
    if (isfinite(r->deadline) && limit.paced)
        limit.deadline = fmin(limit.deadline, now + fmax(0, r->deadline - now) / left * part);
    return limit;
}

/* Threads of one evaluation where `jobs` descents run at a time: those left over, on graphs worth forking. */
static int threads_for(const sked_i_run *run, int jobs)
{
    const int threads = run->options->threads;
    return run->problem->graph->n_ops < worth_forking || jobs >= threads ? 1 : threads / jobs;
}

sked_status sked_i_gaus_run_item(const sked_i_gaus_rounds *r, sked_i_gaus_worker *w, int index,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_item *it = &r->items[index];
    assert(index >= 0 && index < r->count);
    task t = {.rounds = r, .worker = w, .item = it, .tuning = r->tuning};
    sked_i_rng_seed(&t.rng, r->run->options->seed, (uint64_t)r->round * 1000003u + (uint64_t)index);
    it->best.value = INFINITY;
    it->best.curve = &w->curve;
    it->best.evaluations = &w->evaluations;
    t.tuning.threads = threads_for(r->run, r->count);
    t.tuning.steps = &w->steps;
    begin(&t);
    if (it->descend) {
        t.limit = slice(r, index, it->sweeps > 0 ? descent_share : 1);
        SKED_TRY(run_phase(&t, descend, &w->descent, err));
    }
    it->gradient = it->best.value;
    if (it->sweeps > 0) {
        t.limit = slice(r, index, 1);
        SKED_TRY(run_phase(&t, polish, &w->polish, err));
    }
    assert(it->best.value <= it->gradient);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the note */

static const char *start_name(const sked_i_gaus_rounds *r)
{
    static const char *const names[] = {"list", "ALAP", "midpoint", "filling", "ASAP", "random"};
    const bool near = r->best_start == SKED_I_GAUS_START_LIST && r->near != NULL;
    return near ? "least communication" : names[r->best_start];
}

void sked_i_gaus_explain(const sked_i_gaus_rounds *r, const char *why)
{
    if (r->round == 0)
        sked_i_run_note(r->run, "schedule to start from %g; no round, stopped by %s", r->best.value, why);
    else
        sked_i_run_note(r->run, "gradient %g, with polish %g, best start %s; %d rounds, stopped by %s",
                        r->gradient, r->best.value, start_name(r), r->round, why);
}
