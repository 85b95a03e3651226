/* Schedules from a model: draws, ranked and without repeats. */
#include "method/gflownet/sample.h"
#include "backend/backend.h"
#include "base/clock.h"
#include "base/memory.h"
#include "engine/candidates/candidates.h"
#include "formats/format.h"
#include "method/gflownet/batch.h"
#include "schedule/schedule.h"

#include <string.h>

/* Draws at a time, and ops of them: memory of trajectories follows this, and so does what a stop leaves over.
 */
enum { draws_at_once = 500, draw_ops_at_once = 500000 };
/* Some result is better than none: a first draw, and work on draws made, may take as long past the time. */
static const double moment = 0.05;

static sked_status check(const sked_problem *p, const sked_sample_options *opt, sked_error *err)
{
    bool pools = false;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        pools |= sked_i_capacity(p, r) < INFINITY;
    if (p->devices < 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "sampling needs devices (see --devices)");
    if (opt->improve < 0 || ((opt->improve > 0 || opt->local) && opt->raw))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "rounds of improvement are 0 or more, and raw draws stay as they are");
    if (!(opt->temperature > 0 && opt->temperature < INFINITY) || opt->count < 1 || opt->threads < 1)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "sampling needs a temperature above 0, a draw and a thread at least");
    if (sked_i_has_transfers(p) || pools || p->ii != 0 || p->horizon < INFINITY || p->fix_device ||
        p->fix_start || p->objective != SKED_OBJECTIVE_MAKESPAN)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "sampling takes devices without transfer cost, pools, loops, horizon or fixed ops");
    return sked_problem_check(p, err);
}

/* Starts again in the problem's own units, so that integers stay exact. name, free_at: [devices] */
static void fill_schedule(const sked_graph *g, const sked_i_trajectory *t, int32_t *name, double *free_at,
                          sked_schedule *s)
{
    for (int32_t i = 0; i < g->n_ops; i++) {
        s->start[i] = 0;
        s->device[t->op[i]] = t->device[i];
        free_at[t->device[i]] = 0;
    }
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t op = t->op[k];
        double start = free_at[t->device[k]];
        for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1]; j++)
            if (g->edge_distance[g->pred_edge[j]] == 0)
                start = fmax(start, s->start[g->pred_op[j]] + g->edge_lag[g->pred_edge[j]]);
        s->start[op] = start;
        free_at[t->device[k]] = start + g->duration[op];
    }
    sked_i_schedule_name_devices(s, name);
}

typedef struct sums {
    double zeta, square;
} sums;

static sked_status take(const sked_problem *p, const sked_i_batch_f32 *b, int32_t count, sked_samples *out,
                        sums *z, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_instance *x = b->policy->instance;
    int32_t *name = NULL;
    double *free_at = NULL;
    SKED_NEW(name, x->devices);
    SKED_NEW(free_at, x->devices);
    for (int32_t k = 0; k < count; k++) {
        if (isnan(b->trajectory[k].makespan))
            continue; /* interrupted */
        const double zeta = sked_i_trajectory_zeta(x, b->policy->temperature, &b->trajectory[k]);
        sked_schedule *s = NULL;
        SKED_TRY(sked_schedule_create(x->n, p->devices, &s, err));
        fill_schedule(p->graph, &b->trajectory[k], name, free_at, s);
        out->schedule[out->count] = s;
        out->log_prob[out->count] = b->trajectory[k].log_forward;
        out->makespan[out->count++] = sked_i_makespan(p->graph, s);
        z->zeta += zeta;
        z->square += zeta * zeta;
    }
cleanup:
    free(name);
    free(free_at);
    return st;
}

static bool goes_on(const sked_sample_options *opt, const sked_i_limit *limit, int32_t done, int32_t total)
{
    if (opt->progress != NULL && done > 0)
        opt->progress(opt->progress_data, "sampling", (double)done / total, NAN, NAN);
    return done < total && (done == 0 || !sked_i_limit_reached(limit));
}

/* The next ones. A stop on the way is no failure where there are some. */
static sked_status draw_some(sked_i_batch_f32 *b, const sked_problem *p, const sked_sample_options *opt,
                             sked_samples *out, sums *z, bool *stopped, sked_error *err)
{
    sked_error why = {0};
    const sked_status drawn =
        sked_i_batch_sample_f32(b, 0, opt->greedy, opt->seed, (uint64_t)out->count, &why);
    *stopped = drawn == SKED_ERR_STOPPED;
    if (drawn != SKED_OK && !*stopped)
        return sked_i_fail(err, drawn, "%s", why.message);
    const sked_status st = take(p, b, b->size, out, z, err);
    return st == SKED_OK && *stopped && out->count == 0 ? sked_i_limit_fail(err) : st;
}

static sked_status draw_all(sked_i_policy_f32 *policy, const sked_problem *p, const sked_sample_options *opt,
                            const sked_i_limit *limit, sked_samples *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t total = opt->greedy ? 1 : opt->count, ops = p->graph->n_ops;
    const int32_t fit = ops > 0 ? draw_ops_at_once / ops : draws_at_once;
    const int32_t most = fit > draws_at_once ? draws_at_once : fit < 16 ? 16 : fit;
    sked_i_batch_f32 *b = NULL;
    bool stopped = false;
    sums z = {0, 0};
    SKED_NEW0(out->schedule, total);
    SKED_NEW(out->log_prob, total);
    SKED_NEW(out->makespan, total);
    while (!stopped && goes_on(opt, limit, out->count, total)) {
        const int32_t now = total - out->count < most ? total - out->count : most;
        SKED_TRY(sked_i_batch_create_f32(policy, now, opt->threads, false, &b, err));
        SKED_TRY(draw_some(b, p, opt, out, &z, &stopped, err));
        sked_i_batch_destroy_f32(b);
        b = NULL;
    }
    out->log_z = z.zeta / out->count;
    out->spread = sqrt(fmax(0, z.square / out->count - out->log_z * out->log_z));
cleanup:
    sked_i_batch_destroy_f32(b);
    return st;
}

/* The stages of all candidates. What a draw was likely to be goes with it. */
static sked_status rank(const sked_problem *p, const sked_sample_options *opt, const sked_i_limit *limit,
                        sked_samples *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_stages how = {.improve = opt->improve,
                               .local = opt->local || opt->improve > 0,
                               .seed = opt->seed,
                               .threads = opt->threads,
                               .limit = limit};
    sked_i_candidate *list = NULL;
    double *log_prob = NULL;
    SKED_NEW(log_prob, s->count);
    SKED_NEW(list, s->count);
    for (int32_t k = 0; k < s->count; k++) {
        log_prob[k] = s->log_prob[k];
        list[k] = (sked_i_candidate){.schedule = s->schedule[k], .makespan = s->makespan[k], .origin = k};
    }
    st = sked_i_candidates_pass(p, &how, list, &s->count, err);
    for (int32_t k = 0; k < s->count; k++) {
        s->schedule[k] = list[k].schedule;
        s->makespan[k] = list[k].makespan;
        s->log_prob[k] = log_prob[list[k].origin];
    }
cleanup:
    free(list);
    free(log_prob);
    return st;
}

sked_status sked_i_sample(const sked_sampler *m, const sked_problem *p, const sked_sample_options *opt,
                          sked_samples *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_samples s = {.size = sizeof s};
    sked_i_instance *x = NULL;
    sked_i_policy_f32 *policy = NULL;
    const double begin = sked_clock();
    sked_i_limit limit = {.stop = opt->stop, .begin = begin};
    limit.deadline = begin + fmax(opt->time_limit, moment);
    SKED_TRY(check(p, opt, err));
    SKED_TRY(sked_i_instance_create(p->graph, p->devices, &limit, &x, err));
    SKED_TRY(sked_i_policy_create_f32(x, &m->layout, sked_i_backend_cpu.nn, &policy, err));
    sked_i_policy_prepare_f32(policy, m->parameter, opt->temperature);
    SKED_TRY(draw_all(policy, p, opt, &limit, &s, err));
    limit.deadline = fmax(limit.deadline, sked_clock() + moment);
    if (!opt->raw)
        SKED_TRY(rank(p, opt, &limit, &s, err));
    *out = s;
    s = (sked_samples){.size = sizeof s};
cleanup:
    sked_samples_clear(&s);
    sked_i_policy_destroy_f32(policy);
    sked_i_instance_destroy(x);
    return st;
}
