/*
 * Rounds of the time-step relaxation. The first round takes each kind of start through descent and polish;
 * later rounds go on from the incumbent (polish for longer, or descend from it with sharp sigmas) or from
 * random means.
 */
#include "method/gaus/gaus.h"

#include "backend/backend.h"
#include "problem/bounds.h"
#include "problem/communication.h"

enum {
    at_leisure = 8,       /* times as many steps where the time is known that they may take */
    means_lead = 5000,    /* ops from which Gaussians find little that the means alone do not */
    means_for_one = 4,    /* steps on the means for one with Gaussians */
    means_at_leisure = 2, /* times as many of these where they descend alone */
    ops_a_round = 10 /* pushes: ops for one more round without progress, where the time is the user's limit */
};

static const double near_work = 3e8; /* looks for the least communication: some seconds */

typedef struct tools {
    sked_i_gaus_legaliser *legaliser;
    double *mu;    /* [n] where Gaussians start from */
    double *means; /* [n] those that descend alone */
    double *near;  /* [n] of the first worker: starts of least communication, where they stand for list */
    bool alone;    /* of the first worker: the means descend without Gaussians, for want of time or of use */
    bool polishes; /* of the first worker: it allows none, and the incumbent is polished from the start */
} tools;

static bool means_alone(const sked_i_gaus_rounds *r)
{
    const tools *first = r->workers[0].tools;
    return first->alone;
}

static bool only_polishes(const sked_i_gaus_rounds *r)
{
    const tools *first = r->workers[0].tools;
    return first->polishes;
}

static void destroy_tools(void *data)
{
    tools *t = data;
    if (t == NULL)
        return;
    sked_i_gaus_legaliser_destroy(t->legaliser);
    free(t->mu);
    free(t->means);
    free(t->near);
    free(t);
}

static sked_status create_tools(const sked_i_gaus_rounds *r, void **out, sked_error *err)
{
    const sked_i_gaus_model *m = r->model;
    sked_status st = SKED_OK;
    tools *t = NULL;
    SKED_NEW0(t, 1);
    SKED_NEW(t->mu, m->n);
    SKED_NEW(t->means, m->n);
    SKED_TRY(sked_i_gaus_legaliser_create(m, &t->legaliser, err));
    *out = t;
    return SKED_OK;
cleanup:
    destroy_tools(t);
    return st;
}

/* ------------------------------------------------------------------ before the first round */

/* A schedule becomes the incumbent where it is one of this model, and better. */
static bool adopt(sked_i_gaus_rounds *r, const sked_schedule *s)
{
    const sked_i_gaus_model *m = r->model;
    const tools *t = r->workers[0].tools;
    const double before = r->best.value;
    if (s == NULL || s->ii != m->period)
        return false;
    for (int32_t i = 0; i < m->n; i++)
        if (!(s->start[i] >= m->lo[i] && s->start[i] <= m->hi[i]))
            return false;
    sked_i_gaus_state_load(t->legaliser->state, s->start);
    if (sked_i_gaus_state_legal(t->legaliser->state))
        sked_i_gaus_keep(&r->best, t->legaliser->state);
    return r->best.value < before;
}

/* The driver's bound has less time. It holds for all schedules if the model leaves none of them out. */
static sked_status raise_bound(sked_i_gaus_rounds *r, double communication, sked_error *err)
{
    const sked_i_gaus_model *m = r->model;
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
    const sked_i_gaus_model *m = r->model;
    tools *t = r->workers[0].tools;
    sked_i_limit limit = r->run->limit;
    sked_i_bound_effort effort = {.work = near_work, .limit = &limit};
    sked_status st = SKED_OK;
    const double before = r->best.value;
    double *near = NULL, least;
    if (!(m->alpha > 0) || !sked_i_must_communicate(m->g, m->period))
        return SKED_OK; /* all ops together, at any step, have none: nothing to start from */
    if (limit.paced)
        limit.deadline = fmin(limit.deadline, sked_clock() + 0.3 * (limit.deadline - sked_clock()));
    SKED_NEW(near, m->n);
    for (int32_t i = 0; i < m->n; i++) {
        t->mu[i] = m->lo[i];
        t->means[i] = m->hi[i];
    }
    SKED_TRY(sked_i_least_communication(m->g, m->period, t->mu, t->means, &effort, near, &least, err));
    SKED_TRY(raise_bound(r, least, err));
    if (sked_i_gaus_legalise(t->legaliser, near, &r->run->limit))
        sked_i_gaus_keep(&r->best, t->legaliser->state);
    if (r->best.value < before) {
        t->near = near;
        r->list = near;
        near = NULL;
        SKED_TRY(sked_i_gaus_rounds_offer(r, err));
    }
cleanup:
    free(near);
    return st;
}

/* The means alone descend, one start for each thread, and two for one. With capacities they cannot. */
static void leave_means(sked_i_gaus_rounds *r)
{
    tools *first = r->workers[0].tools;
    const int most = r->threads > 2 ? r->threads : 2;
    if (!sked_i_gaus_means_suffice(r->model))
        return;
    first->alone = true;
    r->starts = r->set->starts < most ? r->set->starts : most;
}

/* Peak memory of a large graph: Gaussians find in a minute what the means do in a second. */
static bool prefers_means(const sked_i_gaus_rounds *r)
{
    return r->n >= means_lead && r->period == 0 && sked_i_gaus_means_suffice(r->model);
}

/* The polish of a large graph is by regions. */
static bool moves_regions(const sked_i_gaus_rounds *r)
{
    return prefers_means(r) && sked_i_gaus_regional(r->model);
}

/* A loop with capacities: the means cannot descend alone, only the polish is left. Needs an incumbent. */
static void leave_polish(sked_i_gaus_rounds *r)
{
    tools *first = r->workers[0].tools;
    if (sked_i_gaus_means_suffice(r->model) || r->period == 0 || r->best.value == INFINITY)
        return;
    first->polishes = true;
    r->starts = 0;
}

/* So large that measuring a step would take too long: a step takes a microsecond an op or more. */
static bool hopeless(const sked_i_gaus_rounds *r, double left)
{
    const bool means = sked_i_gaus_means_suffice(r->model);
    const double steps = means ? 120 : r->period > 0 ? 40 : 0;
    return r->threads * 0.3 * left < steps * 1e-6 * r->n;
}

/*
 * Starts that the time allows: a descent of fewer than some 120 steps is worth less than none, so rather
 * fewer of them. Measured by two steps from the middle. Without a time limit: all.
 */
static sked_status afford_starts(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_i_gaus_worker *w = &r->workers[0];
    const tools *t = w->tools;
    sked_i_gaus_tuning tuning = r->tuning;
    sked_i_gaus_incumbent *scratch = &r->items[0].best;
    const double begin = sked_clock(), left = r->run->limit.deadline - begin;
    if (isinf(left) || !r->run->limit.paced || r->starts <= 1)
        return SKED_OK;
    if (prefers_means(r))
        leave_means(r);
    if (prefers_means(r) || r->tuning.backend->gaus_descent->beside)
        return SKED_OK; /* a GPU makes its steps while the starts of others are legalised */
    tuning.iterations = 2;
    sked_i_gaus_place_means(r->model, SKED_I_GAUS_START_MIDPOINT, NULL, NULL, t->mu);
    if (hopeless(r, left)) {
        r->starts = 1;
        leave_means(r);
        leave_polish(r);
        return SKED_OK;
    }
    const sked_status st =
        sked_i_gaus_descend(t->legaliser, &tuning, &r->run->limit, t->mu, scratch, &w->evaluations, err);
    const double step = (sked_clock() - begin) / 4; /* two more for the multipliers */
    const double count =
        floor(sked_i_gaus_ranks(r->run) * r->threads * 0.3 * left / (120 * fmax(1e-7, step)));
    r->starts = count < r->starts ? (int)fmax(count, 1) : r->starts;
    if (count < 1) {
        leave_means(r);
        leave_polish(r);
    }
    return st;
}

static sked_status prepare(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_schedule *given = r->run->options->start;
    const sked_schedule *list = given != NULL ? given : sked_i_run_incumbent(r->run);
    r->list = list != NULL ? list->start : NULL;
    (void)adopt(r, list);
    if (given != NULL && r->best.value < INFINITY)
        SKED_TRY(sked_i_gaus_rounds_offer(r, err));
    if (given == NULL)
        SKED_TRY(adopt_near(r, err));
    SKED_TRY(afford_starts(r, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ what a round does */

/* Kinds of start, the most promising first: where loads count, symmetric starts are of little use. */
static int kind_of(const sked_i_gaus_model *m, int k)
{
    static const int for_loads[] = {SKED_I_GAUS_START_LIST, SKED_I_GAUS_START_FILL, SKED_I_GAUS_START_ALAP,
                                    SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ASAP};
    static const int for_memory[] = {SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ALAP,
                                     SKED_I_GAUS_START_LIST, SKED_I_GAUS_START_ASAP,
                                     SKED_I_GAUS_START_RANDOM};
    if (k >= SKED_I_GAUS_START_RANDOM)
        return SKED_I_GAUS_START_RANDOM;
    return m->with_memory ? for_memory[k] : for_loads[k];
}

/* The same where the means descend alone: they go far from wherever they begin, and list begins low. */
static int kind_for_means(int k)
{
    static const int kinds[] = {SKED_I_GAUS_START_LIST, SKED_I_GAUS_START_MIDPOINT, SKED_I_GAUS_START_ALAP,
                                SKED_I_GAUS_START_ASAP};
    return k < 4 ? kinds[k] : SKED_I_GAUS_START_RANDOM;
}

/*
 * Descents of the first round: the starts, shared by the ranks; on a GPU, and on the means alone, one a
 * thread at least, the starts again with other rates and sigmas.
 */
static int first_count(const sked_i_gaus_rounds *r)
{
    const bool fill = r->tuning.backend->gaus_descent->beside || means_alone(r);
    const int ranks = sked_i_gaus_ranks(r->run), own = (r->starts + ranks - 1) / ranks;
    return fill && r->starts > 1 && r->threads > own ? r->threads : own > 0 ? own : 1;
}

/* Item k, the `kind`th of all ranks, of the first round. */
static void plan_first(const sked_i_gaus_rounds *r, sked_i_gaus_item *it, int kind)
{
    it->varied = r->starts > 0 && kind >= r->starts;
    const int which = it->varied ? kind % r->starts : kind;
    it->start = means_alone(r) ? kind_for_means(which) : kind_of(r->model, which);
    it->from_best = only_polishes(r);
}

/*
 * Items of a later round: two, or one a thread. More would make rounds longer and fewer, and each goes on
 * from the best of the one before; so two threads do what one does, and sooner. A GPU makes the steps of one
 * item while another one is polished.
 */
static int later_count(const sked_i_gaus_rounds *r)
{
    const bool beside = r->tuning.backend->gaus_descent->beside && !means_alone(r);
    return beside ? 2 * r->threads : r->threads > 2 ? r->threads : 2;
}

/* Longer and longer polish, descents from the incumbent, and something new. */
static void plan_later(const sked_i_gaus_rounds *r, sked_i_gaus_item *it, int turn)
{
    it->varied = false;
    it->start = SKED_I_GAUS_START_RANDOM;
    it->from_best = turn % 4 != 3 || means_alone(r) || only_polishes(r);
}

/*
 * What a round may take of the time left. On the means alone each round goes on from the best of all threads,
 * so there are several.
 */
static double share_of_round(const sked_i_gaus_rounds *r)
{
    if (means_alone(r))
        return r->round == 0 ? 0.6 : r->round < 3 ? 0.5 : 1;
    return r->round == 0 ? 0.6 : 1;
}

static void plan(sked_i_gaus_rounds *r)
{
    const sked_i_gaus_settings *set = r->set;
    const bool beside = r->tuning.backend->gaus_descent->beside;
    const double sweeps = set->polish ? set->sweeps : 0;
    /* One turn in so many is a polish of the incumbent. */
    const int polishing = means_alone(r) && !moves_regions(r) ? 8 : 2;
    r->count = r->round == 0 ? first_count(r) : later_count(r);
    r->share = share_of_round(r);
    r->list = r->round == 0 ? r->list : NULL;
    const int first = sked_i_gaus_first_item(r->run, r->count);
    for (int k = 0; k < r->count; k++) {
        sked_i_gaus_item *it = &r->items[k];
        const int turn = r->round + first + k;
        if (r->round == 0)
            plan_first(r, it, first + k);
        else
            plan_later(r, it, turn);
        it->descend = r->starts > 0;
        it->means_only =
            means_alone(r) && (!beside || k % 4 != 3); /* what a GPU can do beside costs nothing */
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

static void begin(sked_i_gaus_task *t)
{
    const sked_i_gaus_rounds *r = t->rounds;
    const sked_i_gaus_model *m = r->model;
    const tools *own = t->worker->tools;
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

/*
 * Peak memory: the means alone descend first, four steps for one or, where the time is known, as many more
 * as it allows; with an interval only where there is no time for more.
 */
static sked_status descend_means(sked_i_gaus_task *t, sked_error *err)
{
    const sked_i_gaus_rounds *r = t->rounds;
    sked_i_gaus_worker *w = t->worker;
    const tools *own = w->tools;
    const double begin = sked_clock();
    const int64_t before = w->evaluations;
    sked_i_gaus_tuning tuning = t->tuning;
    if (!sked_i_gaus_means_suffice(r->model) || (r->period > 0 && !means_alone(r)))
        return SKED_OK;
    const int32_t times = t->item->means_only ? means_for_one * means_at_leisure : means_for_one;
    tuning.iterations = (int32_t)fmin(1e9, (double)times * r->set->steps);
    tuning.every = r->set->every;
    if (!t->item->from_best && t->item->start == SKED_I_GAUS_START_LIST)
        tuning.sigma_scale *= 0.5; /* near a good schedule */
    for (int32_t i = 0; i < r->n; i++)
        own->means[i] = own->mu[i];
    const sked_status st = sked_i_gaus_descend_means(own->legaliser, &tuning, &t->limit, own->means,
                                                     &t->item->best, &w->evaluations, err);
    w->means.calls++;
    w->means.seconds += sked_clock() - begin;
    w->means.evaluations += w->evaluations - before;
    return st;
}

/*
 * Of an item's time, that of the means. Gaussians follow in the other half. Without them the means take half
 * more, at the cost of the polish, which finds little then; moves of regions find much.
 */
static double means_share(const sked_i_gaus_task *t)
{
    if (!t->item->means_only)
        return 0.5;
    return moves_regions(t->rounds) ? 1 : 1.5;
}

static sked_status descend(sked_i_gaus_task *t, sked_error *err)
{
    const tools *own = t->worker->tools;
    const bool only = t->item->means_only;
    const double now = sked_clock(), deadline = t->limit.deadline;
    if (t->limit.paced)
        t->limit.deadline = fmin(t->rounds->run->limit.deadline, now + means_share(t) * (deadline - now));
    const sked_status st = descend_means(t, err);
    t->limit.deadline = deadline;
    if (st != SKED_OK || only)
        return st;
    return sked_i_gaus_descend(own->legaliser, &t->tuning, &t->limit, own->mu, &t->item->best,
                               &t->worker->evaluations, err);
}

static sked_status move_regions(sked_i_gaus_task *t, sked_error *err)
{
    const tools *own = t->worker->tools;
    const double begin = sked_clock();
    const sked_status st =
        sked_i_gaus_move_regions(own->legaliser->state, t->item->sweeps, &t->rng, &t->limit,
                                 sked_i_run_bound(t->rounds->run), &t->item->best, err);
    t->worker->regions.calls++;
    t->worker->regions.seconds += sked_clock() - begin;
    return st;
}

static sked_status polish(sked_i_gaus_task *t, sked_error *err)
{
    const tools *own = t->worker->tools;
    sked_i_gaus_item *it = t->item;
    if (it->best.value == INFINITY)
        return SKED_OK;
    if (moves_regions(t->rounds))
        return move_regions(t, err);
    return (sked_i_gaus_pushable(t->rounds->model) ? sked_i_gaus_push : sked_i_gaus_polish)(
        own->legaliser->state, it->sweeps, it->heat, &t->rng, &t->limit, sked_i_run_bound(t->rounds->run),
        &it->best, err);
}

static const char *start_name(const sked_i_gaus_rounds *r)
{
    static const char *const names[] = {"list", "ALAP", "midpoint", "filling", "ASAP", "random"};
    const tools *first = r->workers[0].tools;
    const bool near = r->best_start == SKED_I_GAUS_START_LIST && first->near != NULL;
    return near ? "least communication" : names[r->best_start];
}

static void explain(const sked_i_gaus_rounds *r, const char *why)
{
    if (r->round == 0)
        sked_i_run_note(r->run, "schedule to start from %g; no round, stopped by %s", r->best.value, why);
    else
        sked_i_run_note(r->run, "gradient %g, with polish %g, best start %s; %d rounds, stopped by %s",
                        r->gradient, r->best.value, start_name(r), r->round, why);
}

static const sked_i_gaus_relaxation relaxation = {.phase = "gradient and polish",
                                                  .polish_name = "polish",
                                                  .descent_share = 0.6,
                                                  .create_tools = create_tools,
                                                  .destroy_tools = destroy_tools,
                                                  .prepare = prepare,
                                                  .plan = plan,
                                                  .begin = begin,
                                                  .descend = descend,
                                                  .polish = polish,
                                                  .adopt = adopt,
                                                  .explain = explain};

sked_status sked_i_gaus_run_steps(sked_i_run *run, const sked_i_gaus_settings *set,
                                  const sked_i_gaus_model *m, sked_error *err)
{
    int threads = run->options->threads;
    sked_i_gaus_tuning tuning = set->tuning;
    const sked_status st = sked_i_gaus_fit(run, &m->view, &tuning, &threads, err);
    if (st != SKED_OK)
        return st;
    sked_i_gaus_rounds r = {.run = run,
                            .set = set,
                            .relaxation = &relaxation,
                            .model = m,
                            .tuning = tuning,
                            .period = m->period,
                            .starts = set->starts,
                            .threads = threads,
                            .most = set->starts > 2 * threads ? set->starts : 2 * threads};
    r.tuning.goal = sked_i_run_bound(run);
    if (sked_i_gaus_pushable(m) && set->polish && run->limit.paced && isfinite(run->limit.deadline))
        r.more_patience = m->n / ops_a_round;
    if (tuning.backend->gaus_descent->beside && run->limit.paced && isfinite(run->limit.deadline))
        sked_i_gaus_lengthen(&r.tuning, at_leisure); /* the time limit cuts them down to what it allows */
    return sked_i_gaus_rounds_run(&r, err);
}
