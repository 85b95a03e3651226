/* Schedules from a model: draws, ranked and without repeats. */
#include "method/gflownet/sample.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/explog.h"
#include "engine/environment/machines.h"
#include "engine/stages/stages.h"
#include "formats/format.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/draws.h"
#include "method/gflownet/gather.h"
#include "schedule/schedule.h"

#include <math.h>

/* Draws at a time, and ops of them: memory of trajectories follows this, and so does what a stop leaves over.
 */
enum { draws_at_once = 500, draw_ops_at_once = 500000 };
/* Some result is better than none: a first draw, and work on draws made, may take as long past the time. */
static const double moment = 0.05;
/* Machines of the prior, of 20 draws or more each. */
enum { prior_machines = 16 };
static const uint64_t prior_stream = UINT64_C(1) << 62;

/* May ops change their devices at the same starts? */
static bool movable(const sked_problem *p)
{
    return p->machine == NULL && !sked_i_has_transfers(p);
}

static sked_status check(const sked_problem *p, const sked_sample_options *opt, sked_error *err)
{
    bool pools = false;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        pools |= sked_i_capacity(p, r) < INFINITY;
    if (p->devices < 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "sampling needs devices (see --devices)");
    if ((opt->improve > 0 || opt->local) && opt->raw)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "raw draws stay as they are: no rounds of improvement");
    if (pools || p->ii != 0 || p->horizon < INFINITY || p->fix_device || p->fix_start ||
        p->objective != SKED_OBJECTIVE_MAKESPAN)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "sampling takes devices without pools, loops, horizon or fixed ops");
    if (opt->improve > 0 && !movable(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "rounds of improvement take equal devices without transfer cost");
    if (opt->prior && !movable(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "draws over a prior of machines take equal devices without transfer cost");
    return SKED_OK;
}

static sked_status take(sked_i_drawing *d, const sked_i_batch_f32 *b, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_taking t = {.drawing = d, .instance = b->policy->instance, .first = d->out->count};
    SKED_NEW(t.drawn, b->size);
    sked_i_taking_note(&t, b->policy->temperature, b->size, b->trajectory);
    SKED_TRY(sked_i_taking_make(&t, err));
cleanup:
    free(t.drawn);
    return st;
}

/* The next ones. A stop on the way is no failure where there are some. */
static sked_status draw_some(sked_i_drawing *d, sked_i_batch_f32 *b, bool greedy, sked_error *err)
{
    sked_error why = {0};
    const sked_status drawn =
        sked_i_batch_sample_f32(b, 0, greedy, d->opt->seed, (uint64_t)d->out->count, &why);
    d->stopped = drawn == SKED_ERR_STOPPED;
    if (drawn != SKED_OK && !d->stopped)
        return sked_i_fail(err, drawn, "%s", why.message);
    const sked_status st = take(d, b, err);
    return st == SKED_OK && d->stopped && d->out->count == 0 ? sked_i_limit_fail(err) : st;
}

/* The draws of a part, `total` being wanted in all; log Z and spread are those of the first. */
static sked_status draw_part(sked_i_drawing *d, sked_i_policy_f32 *policy, const sked_i_rung *r,
                             int32_t total, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_samples *out = d->out;
    const int32_t ops = d->problem->graph->n_ops, first = out->count;
    const int32_t fit = ops > 0 ? draw_ops_at_once / ops : draws_at_once;
    const int32_t most = fit > draws_at_once ? draws_at_once : fit < 16 ? 16 : fit;
    const sked_i_draw_range own = sked_i_draws_of_rank(d->together, first, r->until);
    sked_i_batch_f32 *b = NULL;
    d->zeta = d->square = 0;
    out->count = own.from;
    while (!d->stopped && out->count < own.end &&
           sked_i_drawing_goes_on(d->opt, d->limit, out->count, total)) {
        const int32_t now = own.end - out->count < most ? own.end - out->count : most;
        SKED_TRY(sked_i_batch_create_f32(policy, now, d->opt->threads, false, &b, err));
        SKED_TRY(draw_some(d, b, r->greedy, err));
        sked_i_batch_destroy_f32(b);
        b = NULL;
    }
    if (first == 0) {
        d->first_part = r->until;
        sked_i_drawing_spread(d, out->count - own.from);
    }
    d->stopped = d->stopped || out->count < own.end; /* the time is up */
    out->count = d->stopped ? out->count : r->until;
cleanup:
    sked_i_batch_destroy_f32(b);
    return st;
}

static sked_status draw_machine(sked_i_drawing *d, sked_i_instance *x, int32_t first, int32_t end,
                                int32_t total, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_rung rungs[sked_i_most_rungs];
    const int parts = sked_i_drawing_rungs(d, x, first, end, rungs);
    sked_i_policy_f32 *policy = NULL;
    if (d->gpu != NULL && x->n > 0)
        return sked_i_drawing_on_gpu(d, x, first, end, total, err);
    SKED_TRY(sked_i_policy_create_f32(x, &d->model->layout, sked_i_backend_cpu.nn, &policy, err));
    policy->trust = sked_i_sampler_trust(d->model, x->n);
    for (int k = 0; k < parts && !d->stopped; k++) {
        if (rungs[k].until == d->out->count)
            continue;
        if (policy->temperature != rungs[k].temperature)
            sked_i_policy_prepare_f32(policy, d->model->parameter, rungs[k].temperature);
        SKED_TRY(draw_part(d, policy, &rungs[k], total, err));
    }
cleanup:
    sked_i_policy_destroy_f32(policy);
    return st;
}

/*
 * A machine of the prior: transfers take 1/8 to 4 mean durations, log-uniformly and spread evenly over the
 * machines. Machine 0 is the problem's own.
 */
static void draw_links(const sked_i_drawing *d, sked_i_platform *p, int32_t machine, int32_t machines)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, d->opt->seed, prior_stream + (uint64_t)machine);
    const double where = (machine - 1 + sked_i_rng_uniform(&rng)) / (machines - 1);
    sked_i_law_draw_links(p, d->problem->graph->n_edges, 0.125 * sked_i_exp(where * sked_i_log(32)), &rng);
}

static sked_status draw_all(sked_i_drawing *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_sample_options *opt = d->opt;
    const int32_t total = opt->greedy ? 1 : opt->count, few = total < 20 ? 1 : total / 20;
    const int32_t machines = !opt->prior || d->problem->graph->n_ops == 0 ? 1
                             : few < prior_machines                       ? few
                                                                          : prior_machines;
    sked_i_platform platform = {0};
    sked_i_instance *x = NULL;
    SKED_NEW0(d->out->schedule, total);
    SKED_NEW(d->out->log_prob, total);
    SKED_NEW(d->out->makespan, total);
    SKED_NEW(d->out->temperature, total);
    SKED_NEW(d->zetas, total);
    for (int32_t k = 0; k < machines && !d->stopped; k++) {
        const int32_t first = (int32_t)((int64_t)total * k / machines);
        const int32_t end = (int32_t)((int64_t)total * (k + 1) / machines);
        SKED_TRY(sked_i_platform_make(d->problem, d->costs, &platform, err));
        if (k > 0)
            draw_links(d, &platform, k, machines);
        const sked_status made = sked_i_instance_on(d->problem->graph, &platform, d->limit, &x, err);
        if (made == SKED_ERR_STOPPED && k > 0)
            break;
        SKED_TRY(made);
        SKED_TRY(draw_machine(d, x, first, end, total, err));
        sked_i_instance_destroy(x);
        x = NULL;
    }
cleanup:
    sked_i_platform_clear(&platform);
    sked_i_instance_destroy(x);
    return st;
}

/* The draws of all ranks on the first, and what those of the first part say of log Z. */
static sked_status draw_together(sked_i_drawing *d, sked_error *err)
{
    const int32_t total = d->opt->greedy ? 1 : d->opt->count;
    sked_samples *out = d->out;
    sked_status st = draw_all(d, err);
    st = sked_i_draws_gather(d->problem, st, out, d->zetas, total, err);
    double sum = 0, square = 0;
    int32_t count = 0; /* a stop may have left fewer: then others moved up */
    for (int32_t k = 0; st == SKED_OK && k < out->count && k < d->first_part; k++) {
        if (out->temperature[k] != out->temperature[0])
            break;
        count++;
        sum += d->zetas[k];
        square += d->zetas[k] * d->zetas[k];
    }
    out->log_z = sum / count;
    out->spread = sqrt(fmax(0, square / count - out->log_z * out->log_z));
    return st;
}

/* The stages of all candidates. Log-probability and temperature move with a draw. */
static sked_status rank(const sked_problem *p, const sked_sample_options *opt, const sked_i_limit *limit,
                        sked_samples *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_stages how = {.improve = opt->improve,
                               .local = opt->local || opt->improve > 0,
                               .seed = opt->seed,
                               .threads = opt->threads,
                               .limit = limit};
    sked_i_arena arena = {0};
    sked_i_stages_candidate *list;
    double *log_prob, *temperature;
    SKED_OWN(&arena, log_prob, s->count);
    SKED_OWN(&arena, temperature, s->count);
    SKED_OWN(&arena, list, s->count);
    for (int32_t k = 0; k < s->count; k++) {
        log_prob[k] = s->log_prob[k];
        temperature[k] = s->temperature[k];
        list[k] =
            (sked_i_stages_candidate){.schedule = s->schedule[k], .makespan = s->makespan[k], .origin = k};
    }
    st = sked_i_stages_pass(p, &how, list, &s->count, err);
    for (int32_t k = 0; k < s->count; k++) {
        s->schedule[k] = list[k].schedule;
        s->makespan[k] = list[k].makespan;
        s->log_prob[k] = log_prob[list[k].origin];
        s->temperature[k] = temperature[list[k].origin];
    }
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

sked_status sked_i_sample(const sked_sampler *m, const sked_problem *p, const sked_i_costs *c,
                          const sked_sample_options *opt, sked_samples *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_samples s = {.size = sizeof s};
    const double begin = sked_clock();
    sked_i_limit limit = {.stop = opt->stop, .begin = begin};
    sked_i_drawing d = {.model = m, .problem = p, .costs = c, .opt = opt, .limit = &limit, .out = &s};
    d.together = opt->together && sked_dist_size() > 1;
    limit.deadline = begin + fmax(opt->time_limit, moment);
    SKED_TRY(check(p, opt, err));
    SKED_TRY(sked_i_drawing_open(&d, err));
    SKED_TRY((d.together ? draw_together : draw_all)(&d, err));
    limit.deadline = fmax(limit.deadline, sked_clock() + moment);
    if (!opt->raw && s.count > 0)
        SKED_TRY(rank(p, opt, &limit, &s, err));
    *out = s;
    s = (sked_samples){.size = sizeof s};
cleanup:
    sked_i_drawing_close(&d);
    sked_samples_clear(&s);
    free(d.zetas);
    return st;
}
