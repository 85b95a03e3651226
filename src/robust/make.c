#include "robust/make.h"

#include "base/memory.h"
#include "base/thread.h"
#include "robust/posterior.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const sked_i_maker_names[SKED_I_LOOP_COUNT] = {
#define SKED_X(name, text) text,
    SKED_I_LOOP_MEMBERS(SKED_X)
#undef SKED_X
};
/* Time of a run in those of search; near-best schedules that it hands over. */
static const double share[SKED_I_LOOP_COUNT] = {1, 0.4, 0.4};
static const int32_t near_best[SKED_I_LOOP_COUNT] = {12, 6, 12};

/* One run of a member. */
typedef struct job {
    int member;
    uint64_t seed;
    double seconds;               /* limit, then what it took */
    double *parameter;            /* [count] the guess */
    const sked_i_candidate *warm; /* where it starts from; NULL: nowhere */
    sked_result result;
    sked_status status;
    bool beyond; /* the guess makes numbers that no method takes: another may not */
    sked_error err;
} job;

typedef struct batch {
    sked_i_arena arena;
    const sked_i_maker *maker;
    const sked_i_belief *b;
    job *job;
    int count, parts;
} batch;

/* The schedule to start from, with the starts that the guess gives it. */
static sked_status start_warm(const job *j, const sked_i_rates *rates, sked_i_timing_work *w,
                              sked_schedule **out, sked_error *err)
{
    const sked_status st = sked_schedule_clone(j->warm->schedule, out, err);
    if (st != SKED_OK)
        return st;
    sked_i_timing_run(&j->warm->timing, rates, w);
    memcpy((*out)->start, w->start, (size_t)(*out)->ops * sizeof *w->start);
    return SKED_OK;
}

static sked_status run_member(const batch *x, job *j, const sked_problem *p, const sked_schedule *warm,
                              sked_error *err)
{
    const sked_robust_options *opt = x->maker->run->opt;
    const char *method = sked_i_maker_names[j->member];
    sked_run_options run;
    sked_run_options_init(&run);
    run.seed = j->seed;
    run.time_limit = j->seconds;
    run.candidates = run.top = near_best[j->member];
    run.min_distance = opt->min_distance;
    run.start = sked_method_find(method)->features & SKED_CAN_START ? warm : NULL;
    return sked_i_robust_run_member(opt, method, NULL, p, &run, &j->result, err);
}

static void run_job(const batch *x, job *j, sked_i_belief_work *w)
{
    sked_i_guess guess = {0};
    sked_schedule *warm = NULL;
    const double begin = sked_clock();
    sked_i_model_rates(x->b->model, j->parameter, &w->rates);
    sked_i_model_state(x->b->model, &w->rates);
    j->status = sked_i_guess_open(&guess, x->b->model, &w->rates, &j->err);
    if (j->status == SKED_OK && j->warm != NULL)
        j->status = start_warm(j, &w->rates, &w->timing, &warm, &j->err);
    if (warm != NULL && sked_schedule_validate(&guess.problem, warm, NULL) != SKED_OK) {
        sked_schedule_destroy(warm); /* a memory limit that other times break */
        warm = NULL;
    }
    if (j->status == SKED_OK)
        j->status = run_member(x, j, &guess.problem, warm, &j->err);
    j->beyond = (j->status == SKED_ERR_UNSUPPORTED || j->status == SKED_ERR_ARGUMENT) &&
                sked_problem_check(&guess.problem, NULL) != SKED_OK;
    sked_schedule_destroy(warm);
    sked_i_guess_close(&guess);
    j->seconds = sked_clock() - begin;
}

static void run_part(void *data, int part)
{
    const batch *x = data;
    for (int k = part; k < x->count; k += x->parts)
        run_job(x, &x->job[k], x->b->work[part]);
}

/* ------------------------------------------------------------------ one turn */

/* The guess of job j and the candidate that is best under it. */
static void aim(job *j, int number, const sked_i_candidate_set *candidates, const sked_i_belief *b,
                sked_i_rng *rng)
{
    assert(number >= 0 && j->parameter != NULL);
    const int32_t i = sked_i_belief_draw(b, sked_i_rng_uniform(rng));
    j->warm = sked_i_candidates_fittest(candidates, i);
    if (number == 0) {
        const sked_i_candidate *best = sked_i_candidates_best(candidates);
        sked_i_belief_mean(b, j->parameter);
        j->warm = best != NULL ? best : j->warm;
    } else {
        memcpy(j->parameter, sked_i_belief_guess(b, i), (size_t)b->model->count * sizeof *j->parameter);
    }
}

/* Search for every guess, the others for one guess each, in turn. */
static sked_status plan(sked_i_maker *m, batch *x, const sked_i_candidate_set *candidates, int guesses,
                        double seconds, sked_i_rng *rng, sked_error *err)
{
    sked_status st = SKED_OK;
    double shares = 0;
    SKED_OWN0(&x->arena, x->job, guesses + SKED_I_LOOP_COUNT);
    for (int k = 0; k < guesses + SKED_I_LOOP_COUNT; k++) {
        const int other = k - guesses, member = other < 0 ? SKED_I_LOOP_SEARCH : other;
        job *j = &x->job[x->count];
        if (m->refuses[member] || (k >= guesses && member == SKED_I_LOOP_SEARCH))
            continue;
        x->count++;
        *j = (job){.member = member, .seed = sked_i_rng_next(rng), .result = {.size = sizeof j->result}};
        SKED_OWN(&x->arena, j->parameter, x->b->model->count);
        aim(j, k < guesses ? k : (int)((m->turn + (uint64_t)k) % 2), candidates, x->b, rng);
        shares += share[member];
        m->asked[member] += near_best[member];
    }
    for (int k = 0; k < x->count; k++)
        x->job[k].seconds = isinf(seconds) ? INFINITY : seconds * x->parts * share[x->job[k].member] / shares;
cleanup:
    return st;
}

/* What a job made goes into the candidates, as far as no stop comes; a member that cannot take the problem is
 * left out from now on. */
static sked_status take(sked_i_maker *m, job *j, sked_i_candidate_set *candidates, sked_error *err)
{
    sked_status st = SKED_OK;
    m->seconds[j->member] += j->seconds;
    for (int32_t k = 0; k < j->result.count && st == SKED_OK && !sked_i_robust_stopped(m->run); k++)
        st = sked_i_candidates_offer(candidates, j->result.schedule[k], sked_i_maker_names[j->member], NULL,
                                     err);
    if (j->beyond)
        return st;
    if (j->status == SKED_ERR_UNSUPPORTED)
        m->refuses[j->member] = true;
    else if (j->status != SKED_OK && j->status != SKED_ERR_STOPPED && j->status != SKED_ERR_INFEASIBLE)
        return sked_i_fail(err, j->status, "%s", j->err.message);
    return st;
}

sked_status sked_i_maker_turn(sked_i_maker *m, sked_i_candidate_set *candidates, const sked_i_belief *b,
                              int guesses, double seconds, sked_i_rng *rng, sked_error *err)
{
    sked_status st = SKED_OK;
    batch x = {.maker = m, .b = b, .parts = b->threads};
    SKED_TRY(plan(m, &x, candidates, guesses, seconds, rng, err));
    m->turn++;
    SKED_TRY(sked_i_parallel(x.parts, run_part, &x, err));
    for (int k = 0; k < x.count; k++)
        SKED_TRY(take(m, &x.job[k], candidates, err));
    for (int k = 0; k < x.count && candidates->count == 0; k++)
        if (x.job[k].status != SKED_OK)
            SKED_TRY(sked_i_fail(err, x.job[k].status, "%s", x.job[k].err.message));
cleanup:
    for (int k = 0; k < x.count; k++)
        sked_result_clear(&x.job[k].result);
    sked_i_arena_free(&x.arena);
    return st;
}
