/* Schedules from a model: draws, ranked and without repeats. */
#include "method/gflownet/sample.h"
#include "backend/backend.h"
#include "base/clock.h"
#include "base/explog.h"
#include "base/memory.h"
#include "base/thread.h"
#include "engine/candidates/candidates.h"
#include "formats/format.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/device.h"
#include "method/gflownet/gather.h"
#include "method/gflownet/machines.h"
#include "method/gflownet/stepwise_device.h"
#include "schedule/schedule.h"

#include <string.h>

/* Draws at a time, and ops of them: memory of trajectories follows this, and so does what a stop leaves over.
 */
enum { draws_at_once = 500, draw_ops_at_once = 500000 };
/* The same on a device of its own, which wants many side by side. */
enum { device_ops_at_once = 1 << 25, stepwise_ops_at_once = 1 << 19 };
/* Ops of all draws from which on such a device is quicker, with the time until it is ready: from the speeds
 * of both for encode-once; estimated for stepwise, which encodes every op again at every step. */
enum { worth_ops = 500000, worth_stepwise = 50000 };
/* Some result is better than none: a first draw, and work on draws made, may take as long past the time. */
static const double moment = 0.05;
/*
 * Automatic temperatures: what a delay of one mean duration costs in log R. Each gets a share of the draws.
 */
static const double kappas[] = {60, 200, 600};
enum { n_kappas = sizeof kappas / sizeof *kappas };
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
    if (opt->improve < 0 || ((opt->improve > 0 || opt->local) && opt->raw))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "rounds of improvement are 0 or more, and raw draws stay as they are");
    if (!(opt->temperature >= 0 && opt->temperature < INFINITY) || opt->count < 1 || opt->threads < 1)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "sampling needs a temperature of 0 or more, a draw and a thread at least");
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
    return sked_problem_check(p, err);
}

/* When the data of an edge is on a device, in a schedule that has its beginning. */
static double arrival(const sked_i_costs *c, const sked_schedule *s, int64_t e, int32_t device)
{
    const int32_t from = c->graph->edge_from[e], there = s->device[from];
    return s->start[from] + sked_i_lag(c, e, there) +
           sked_i_transfer_time(c, c->graph->edge_bytes[e], there, device);
}

/* Starts again in the problem's own units, so that integers stay exact. name, free_at: [devices] */
static void fill_schedule(const sked_i_costs *c, const sked_i_instance *x, const sked_i_trajectory *t,
                          int32_t *name, double *free_at, sked_schedule *s)
{
    const sked_graph *g = c->graph;
    for (int32_t i = 0; i < g->n_ops; i++) {
        s->start[i] = 0;
        s->device[t->op[i]] = x->real_of[t->device[i]];
        free_at[s->device[t->op[i]]] = 0;
    }
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t op = t->op[k], device = s->device[op];
        double start = free_at[device];
        for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1]; j++)
            if (g->edge_distance[g->pred_edge[j]] == 0)
                start = fmax(start, arrival(c, s, g->pred_edge[j], device));
        s->start[op] = start;
        free_at[device] = start + sked_i_time(c, op, device);
    }
    if (c->machine == NULL)
        sked_i_schedule_name_devices(s, name);
}

/* Draws of one problem as they come: for it, or for machines that it may have. */
typedef struct drawing {
    const sked_sampler *model;
    const sked_problem *problem;
    const sked_sample_options *opt;
    const sked_i_limit *limit;
    const sked_i_once_backend *backend; /* NULL: the CPU */
    sked_i_once_device *device;
    const sked_i_stepwise_backend *stepwise; /* the same of a stepwise model */
    sked_i_stepwise_device *stepwise_device;
    sked_i_costs costs;
    sked_samples *out;
    double zeta, square; /* sums over the draws of one part */
    double *zetas;       /* [draws wanted] */
    int32_t first_part;  /* draws of the first one, over all ranks */
    bool together;       /* ranks share the draws: those of others are left out, count passes over them */
    bool stopped;
} drawing;

/* Trajectories that become the schedules from number `first` of the samples on. */
typedef struct taking {
    drawing *drawing;
    const sked_i_instance *instance;
    const sked_i_trajectory **drawn; /* [count] */
    int32_t first, count;
    int threads;
    sked_status *status; /* [threads] */
    sked_error *error;   /* [threads] */
} taking;

/* A thread's share of the schedules. */
static sked_status make_schedules(const taking *t, int thread, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_instance *x = t->instance;
    const sked_i_costs *costs = &t->drawing->costs;
    sked_samples *out = t->drawing->out;
    int32_t *name = NULL;
    double *free_at = NULL;
    SKED_NEW(name, x->devices);
    SKED_NEW(free_at, x->devices);
    const int32_t end = (int32_t)((int64_t)t->count * (thread + 1) / t->threads);
    for (int32_t k = (int32_t)((int64_t)t->count * thread / t->threads); k < end; k++) {
        sked_schedule *s = NULL;
        SKED_TRY(sked_schedule_create(x->n, x->devices, &s, err));
        fill_schedule(costs, x, t->drawn[k], name, free_at, s);
        out->schedule[t->first + k] = s;
        out->makespan[t->first + k] = sked_i_latest_finish(costs, s);
    }
cleanup:
    free(name);
    free(free_at);
    return st;
}

static void make_share(void *data, int thread)
{
    taking *t = data;
    t->status[thread] = make_schedules(t, thread, &t->error[thread]);
}

/* Schedules of the trajectories in t->drawn, on as many threads as are worth their start. */
static sked_status make_all(taking *t, sked_error *err)
{
    enum { ops_of_a_thread = 5000 }; /* some 0.1 ms */
    sked_status st = SKED_OK;
    const int64_t shares = 1 + (int64_t)t->count * t->instance->n / ops_of_a_thread;
    t->threads = shares < t->drawing->opt->threads ? (int)shares : t->drawing->opt->threads;
    SKED_NEW0(t->status, t->threads);
    SKED_NEW0(t->error, t->threads);
    t->drawing->out->count = t->first + t->count; /* what is not there is NULL, for clearing too */
    SKED_TRY(sked_i_parallel(t->threads, make_share, t, err));
    for (int k = 0; k < t->threads; k++)
        if (t->status[k] != SKED_OK) {
            st = sked_i_fail(err, t->status[k], "%s", t->error[k].message);
            goto cleanup;
        }
cleanup:
    free(t->status);
    free(t->error);
    return st;
}

/* Notes the complete ones of `count` trajectories of a temperature. */
static void note(taking *t, double temperature, int32_t count, const sked_i_trajectory *trajectory)
{
    drawing *d = t->drawing;
    for (int32_t k = 0; k < count; k++) {
        if (isnan(trajectory[k].makespan))
            continue; /* interrupted */
        const double zeta = sked_i_trajectory_zeta(t->instance, temperature, &trajectory[k]);
        const int32_t at = t->first + t->count;
        d->out->log_prob[at] = trajectory[k].log_forward;
        d->out->temperature[at] = temperature;
        d->zetas[at] = zeta;
        t->drawn[t->count++] = &trajectory[k];
        d->zeta += zeta;
        d->square += zeta * zeta;
    }
}

static sked_status take(drawing *d, const sked_i_batch_f32 *b, sked_error *err)
{
    sked_status st = SKED_OK;
    taking t = {.drawing = d, .instance = b->policy->instance, .first = d->out->count};
    SKED_NEW(t.drawn, b->size);
    note(&t, b->policy->temperature, b->size, b->trajectory);
    SKED_TRY(make_all(&t, err));
cleanup:
    free(t.drawn);
    return st;
}

static bool goes_on(const sked_sample_options *opt, const sked_i_limit *limit, int32_t done, int32_t total)
{
    if (opt->progress != NULL && done > 0)
        opt->progress(opt->progress_data, "sampling", (double)done / total, NAN, NAN);
    return done < total && (done == 0 || !sked_i_limit_reached(limit));
}

/* Draws up to number `until` at one temperature. */
typedef struct rung {
    double temperature;
    int32_t until;
    bool greedy; /* the likeliest action at every step */
} rung;
enum { most_rungs = n_kappas + 1 };

/*
 * The draws of a machine from `first` to `end`: at the temperature given, or parts by kappa, each colder, and
 * where temperature is 0 the likeliest schedule as the last.
 */
static int set_rungs(const drawing *d, const sked_i_instance *x, int32_t first, int32_t end, rung *out)
{
    const bool given = d->opt->temperature > 0 || d->opt->greedy;
    const int parts = given ? 1 : n_kappas;
    const int32_t random = given || end - first <= parts ? end : end - 1;
    for (int k = 0; k < parts; k++)
        out[k] =
            (rung){d->opt->temperature > 0 ? d->opt->temperature : sked_i_instance_temperature(x, kappas[k]),
                   first + (int32_t)((int64_t)(random - first) * (k + 1) / parts), d->opt->greedy};
    if (random == end)
        return parts;
    out[parts] = (rung){out[parts - 1].temperature, end, true};
    return parts + 1;
}

/* The next ones. A stop on the way is no failure where there are some. */
static sked_status draw_some(drawing *d, sked_i_batch_f32 *b, bool greedy, sked_error *err)
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

/* What the first `count` draws, those of a part, say of log Z. */
static void set_spread(drawing *d, int32_t count)
{
    sked_samples *out = d->out;
    out->log_z = d->zeta / count;
    out->spread = sqrt(fmax(0, d->square / count - out->log_z * out->log_z));
}

/* The draws of a part, `total` being wanted in all; log Z and spread are those of the first. */
static sked_status draw_part(drawing *d, sked_i_policy_f32 *policy, const rung *r, int32_t total,
                             sked_error *err)
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
    while (!d->stopped && out->count < own.end && goes_on(d->opt, d->limit, out->count, total)) {
        const int32_t now = own.end - out->count < most ? own.end - out->count : most;
        SKED_TRY(sked_i_batch_create_f32(policy, now, d->opt->threads, false, &b, err));
        SKED_TRY(draw_some(d, b, r->greedy, err));
        sked_i_batch_destroy_f32(b);
        b = NULL;
    }
    if (first == 0) {
        d->first_part = r->until;
        set_spread(d, out->count - own.from);
    }
    d->stopped = d->stopped || out->count < own.end; /* the time is up */
    out->count = d->stopped ? out->count : r->until;
cleanup:
    sked_i_batch_destroy_f32(b);
    return st;
}

/* ------------------------------------------------------------------ on a device of its own */

/* Draws of one temperature, a part of those that are made at once. */
typedef struct device_part {
    sked_i_once_problem problem;
    int32_t count;
    bool greedy;
} device_part;

/* Trajectories of some draws: arrays as the device fills them, and rows of them. */
typedef struct device_draws {
    int32_t *steps;
    double *number; /* log P_F, log P_B and makespan of all */
    sked_i_trajectory *trajectory;
} device_draws;

static sked_status reserve_draws(device_draws *a, int64_t count, int64_t n, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(a->steps, 2 * count * n);
    SKED_NEW(a->number, 3 * count);
    SKED_NEW(a->trajectory, count);
cleanup:
    return st;
}

static void free_draws(device_draws *a)
{
    free(a->steps);
    free(a->number);
    free(a->trajectory);
    *a = (device_draws){0};
}

/* The walks of a part whose first draw is number `first` of these, `drawn` of all. */
static sked_i_once_walks walks_of(const drawing *d, const device_part *p, const device_draws *a,
                                  int64_t total, int64_t first, uint64_t drawn)
{
    const int64_t n = p->problem.n;
    return (sked_i_once_walks){.problem = &p->problem,
                               .count = p->count,
                               .greedy = p->greedy,
                               .seed = d->opt->seed,
                               .first = drawn,
                               .op = a->steps + first * n,
                               .device = a->steps + (total + first) * n,
                               .log_forward = a->number + first,
                               .log_backward = a->number + total + first,
                               .makespan = a->number + 2 * total + first};
}

static void list_trajectories(const device_draws *a, int64_t total, int64_t n)
{
    for (int64_t k = 0; k < total; k++)
        a->trajectory[k] = (sked_i_trajectory){.op = a->steps + k * n,
                                               .device = a->steps + (total + k) * n,
                                               .log_forward = a->number[k],
                                               .log_backward = a->number[total + k],
                                               .makespan = a->number[2 * total + k]};
}

/* Walks of a stepwise model. */
static sked_status walk_stepwise(drawing *d, const sked_i_instance *x, int parts, sked_i_once_walks *walks,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_stepwise_input input[most_rungs];
    sked_i_stepwise_problem problem[most_rungs];
    memset(input, 0, sizeof input);
    for (int k = 0; k < parts; k++) {
        sked_i_once_walks *w = &walks[k];
        for (int32_t i = 0; i < w->count; i++)
            w->makespan[i] = NAN;
        SKED_TRY(sked_i_stepwise_input_make(x, &d->model->layout, w->problem->temperature, &input[k], err));
        problem[k] = input[k].problem;
        problem[k].walk = w->greedy ? SKED_I_STEPWISE_GREEDY : SKED_I_STEPWISE_SAMPLE;
        problem[k].batch = w->count;
        problem[k].seed = w->seed;
        problem[k].first = w->first;
    }
    SKED_TRY(d->stepwise->load(d->stepwise_device, parts, problem, false, err));
    SKED_TRY(d->stepwise->draw(d->stepwise_device, err));
    for (int k = 0; k < parts; k++) {
        const sked_i_once_walks *w = &walks[k];
        const sked_i_stepwise_outcome out = {w->op, w->device, w->log_forward, w->log_backward, w->makespan};
        SKED_TRY(d->stepwise->outcome(d->stepwise_device, k, &out, err));
    }
cleanup:
    for (int k = 0; k < parts; k++)
        sked_i_stepwise_input_clear(&input[k]);
    return st;
}

/* Draws all of the parts at once and takes them. A stop on the way is no failure where there are some. */
static sked_status draw_parts(drawing *d, const sked_i_instance *x, const device_part *part, int parts,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error why = {0};
    device_draws a = {0};
    taking t = {.drawing = d, .instance = x, .first = d->out->count};
    sked_i_once_walks walks[most_rungs];
    int64_t total = 0, at = 0;
    for (int k = 0; k < parts; k++)
        total += part[k].count;
    SKED_TRY(reserve_draws(&a, total, x->n, err));
    for (int k = 0; k < parts; k++) {
        walks[k] = walks_of(d, &part[k], &a, total, at, (uint64_t)(d->out->count + at));
        at += part[k].count;
    }
    const sked_status drawn = d->stepwise != NULL ? walk_stepwise(d, x, parts, walks, &why)
                                                  : d->backend->walk(d->device, parts, walks, d->limit, &why);
    d->stopped = drawn == SKED_ERR_STOPPED;
    if (drawn != SKED_OK && !d->stopped) {
        st = sked_i_fail(err, drawn, "%s", why.message);
        goto cleanup;
    }
    list_trajectories(&a, total, x->n);
    SKED_NEW(t.drawn, total);
    at = 0;
    for (int k = 0; k < parts; k++) {
        const bool first = t.first + t.count == 0;
        note(&t, part[k].problem.temperature, part[k].count, a.trajectory + at);
        if (first && t.count > 0)
            set_spread(d, t.count);
        at += part[k].count;
    }
    SKED_TRY(make_all(&t, err));
    if (d->stopped && d->out->count == 0)
        st = sked_i_limit_fail(err);
cleanup:
    free(t.drawn);
    free_draws(&a);
    return st;
}

/* The parts of a machine's draws as far as they are `own`, those of this rank; how many. */
static int plan_draws(drawing *d, const sked_i_instance *x, int32_t first, int32_t end, sked_i_draw_range own,
                      device_part *out)
{
    rung rungs[most_rungs];
    const int parts = set_rungs(d, x, first, end, rungs);
    int count = 0;
    for (int k = 0; k < parts; k++) {
        d->first_part = first == 0 ? rungs[k].until : d->first_part; /* with few draws some parts have none */
        const int32_t from = first > own.from ? first : own.from;
        const int32_t until = rungs[k].until < own.end ? rungs[k].until : own.end;
        first = rungs[k].until;
        if (from >= until)
            continue;
        out[count] = (device_part){.count = until - from, .greedy = rungs[k].greedy};
        sked_i_once_problem_of(x, rungs[k].temperature, &out[count++].problem);
    }
    return count;
}

/* As draw_machine, with all temperatures side by side; large numbers of draws piece by piece. */
static sked_status draw_on_device(drawing *d, const sked_i_instance *x, int32_t first, int32_t end,
                                  int32_t total, sked_error *err)
{
    const int32_t fit = (d->stepwise != NULL ? stepwise_ops_at_once : device_ops_at_once) / x->n;
    const sked_i_draw_range own = sked_i_draws_of_rank(d->together, first, end);
    device_part all[most_rungs];
    const int parts = plan_draws(d, x, first, end, own, all);
    int at = 0;
    d->out->count = own.from;
    while (!d->stopped && at < parts && goes_on(d->opt, d->limit, d->out->count, total)) {
        device_part now[most_rungs];
        int32_t room = fit > 16 ? fit : 16;
        int count = 0;
        for (; at < parts && room > 0; at++) {
            device_part *left = &all[at];
            now[count] = *left;
            now[count].count = left->count < room ? left->count : room;
            room -= now[count].count;
            left->count -= now[count++].count;
            if (left->count > 0)
                break; /* the rest of this one next time */
        }
        d->zeta = d->square = 0;
        const sked_status st = draw_parts(d, x, now, count, err);
        if (st != SKED_OK)
            return st;
    }
    d->stopped = d->stopped || d->out->count < own.end; /* the time is up */
    d->out->count = d->stopped ? d->out->count : end;
    return SKED_OK;
}

/* ------------------------------------------------------------------ machines */

static sked_status draw_machine(drawing *d, sked_i_instance *x, int32_t first, int32_t end, int32_t total,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    rung rungs[most_rungs];
    const int parts = set_rungs(d, x, first, end, rungs);
    sked_i_policy_f32 *policy = NULL;
    if ((d->device != NULL || d->stepwise_device != NULL) && x->n > 0)
        return draw_on_device(d, x, first, end, total, err);
    SKED_TRY(sked_i_policy_create_f32(x, &d->model->layout, sked_i_backend_cpu.nn, &policy, err));
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
static void draw_links(const drawing *d, sked_i_platform *p, int32_t machine, int32_t machines)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, d->opt->seed, prior_stream + (uint64_t)machine);
    const double where = (machine - 1 + sked_i_rng_uniform(&rng)) / (machines - 1);
    sked_i_machine_draw_links(p, d->problem->graph->n_edges, 0.125 * sked_i_exp(where * sked_i_log(32)),
                              &rng);
}

static sked_status draw_all(drawing *d, sked_error *err)
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
        SKED_TRY(sked_i_platform_make(d->problem, &platform, err));
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
static sked_status draw_together(drawing *d, sked_error *err)
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

static sked_status open_stepwise(drawing *d, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_stepwise_shape shape;
    sked_i_stepwise_shape_fill(&d->model->layout, &shape);
    SKED_TRY(d->stepwise->create(&shape, d->limit, &d->stepwise_device, err));
    SKED_TRY(d->stepwise->write(d->stepwise_device, d->model->parameter, NULL, NULL, err));
cleanup:
    return st;
}

/* The device of the chosen backend, with the model there. */
static sked_status open_device(drawing *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_layout *layout = &d->model->layout;
    const bool once = layout->sizes.policy == SKED_I_POLICY_ENCODE_ONCE;
    const int64_t ops = (int64_t)(d->opt->greedy ? 1 : d->opt->count) * d->problem->graph->n_ops;
    const sked_i_backend *backend;
    sked_i_once_shape shape;
    SKED_TRY(
        sked_i_backend_choose(d->opt->backend, ops >= (once ? worth_ops : worth_stepwise), &backend, err));
    if (backend == &sked_i_backend_cpu)
        return SKED_OK;
    d->stepwise = once ? NULL : backend->stepwise;
    if (d->stepwise != NULL)
        return open_stepwise(d, err);
    if (!once || backend->once == NULL)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "the %s backend does not draw from this policy; use the cpu backend",
                           backend->name);
    sked_i_once_shape_of(layout, &shape);
    d->backend = backend->once;
    SKED_TRY(d->backend->create(&shape, &d->device, err));
    SKED_TRY(d->backend->put(d->device, d->model->parameter, NULL, NULL, err));
cleanup:
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
    double *log_prob = NULL, *temperature = NULL;
    SKED_NEW(log_prob, s->count);
    SKED_NEW(temperature, s->count);
    SKED_NEW(list, s->count);
    for (int32_t k = 0; k < s->count; k++) {
        log_prob[k] = s->log_prob[k];
        temperature[k] = s->temperature[k];
        list[k] = (sked_i_candidate){.schedule = s->schedule[k], .makespan = s->makespan[k], .origin = k};
    }
    st = sked_i_candidates_pass(p, &how, list, &s->count, err);
    for (int32_t k = 0; k < s->count; k++) {
        s->schedule[k] = list[k].schedule;
        s->makespan[k] = list[k].makespan;
        s->log_prob[k] = log_prob[list[k].origin];
        s->temperature[k] = temperature[list[k].origin];
    }
cleanup:
    free(list);
    free(log_prob);
    free(temperature);
    return st;
}

sked_status sked_i_sample(const sked_sampler *m, const sked_problem *p, const sked_sample_options *opt,
                          sked_samples *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_samples s = {.size = sizeof s};
    const double begin = sked_clock();
    sked_i_limit limit = {.stop = opt->stop, .begin = begin};
    drawing d = {.model = m, .problem = p, .opt = opt, .limit = &limit, .out = &s};
    d.together = opt->together && sked_dist_size() > 1;
    limit.deadline = begin + fmax(opt->time_limit, moment);
    SKED_TRY(check(p, opt, err));
    SKED_TRY(sked_i_costs_make(p, &d.costs, err));
    SKED_TRY(open_device(&d, err));
    SKED_TRY((d.together ? draw_together : draw_all)(&d, err));
    limit.deadline = fmax(limit.deadline, sked_clock() + moment);
    if (!opt->raw && s.count > 0)
        SKED_TRY(rank(p, opt, &limit, &s, err));
    *out = s;
    s = (sked_samples){.size = sizeof s};
cleanup:
    if (d.device != NULL)
        d.backend->destroy(d.device);
    if (d.stepwise_device != NULL)
        d.stepwise->destroy(d.stepwise_device);
    sked_samples_clear(&s);
    free(d.zetas);
    sked_i_costs_free(&d.costs);
    return st;
}
