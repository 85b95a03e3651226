/* Draws on a GPU. */
#include "backend/backend.h"
#include "base/arena.h"
#include "method/gflownet/draws.h"
#include "method/gflownet/gather.h"

/* Ops of the draws made at once: a GPU wants many side by side. */
enum { once_ops_at_once = 1 << 25, stepwise_ops_at_once = 1 << 19 };
/* Ops of all draws from which on a GPU is quicker for stepwise, with the time until it is ready. */
enum { worth_stepwise = 50000 };
/* Seconds until a GPU is ready. Once it is, it draws sooner than the CPU, be it ten draws of 20 ops. */
static const double ready = 0.25;

/*
 * Encode-once: do four threads take longer than a GPU takes to be ready? Measured (docs/performance.md): the
 * encoder does not share its work out, the draws do. The answer is the same for any number of threads, and so
 * are the draws.
 */
static bool worth_once(double ops, double draws)
{
    return 0.35e-6 * ops * ops + 1.1e-6 * ops * draws > ready;
}

static bool is_once(const sked_i_drawing *d)
{
    return d->model->layout.sizes.policy == SKED_I_POLICY_ENCODE_ONCE;
}

sked_status sked_i_drawing_open(sked_i_drawing *d, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error unused;
    const int32_t ops = d->problem->graph->n_ops, draws = d->opt->greedy ? 1 : d->opt->count;
    const bool worth = is_once(d) ? worth_once(ops, draws) : (int64_t)ops * draws >= worth_stepwise;
    const sked_i_backend *backend;
    SKED_TRY(sked_i_backend_choose(d->opt->backend,
                                   worth && sked_i_gflownet_gpu_check(&d->model->layout, &unused) == SKED_OK,
                                   &backend, err));
    if (backend != &sked_i_backend_cpu)
        SKED_TRY(sked_i_gpu_model_open(backend, d->model, false, &d->policy, &d->gpu, err));
cleanup:
    return st;
}

void sked_i_drawing_close(sked_i_drawing *d)
{
    if (d->gpu != NULL)
        d->policy->destroy(d->gpu);
}

/* Draws of one temperature, a part of those that are made at once. */
typedef struct gpu_part {
    sked_i_gpu_problem problem;
    int32_t count, crowd; /* crowd: of all ranks and temperatures of the machine */
    bool greedy;
} gpu_part;

/* Trajectories of some draws: arrays as the GPU fills them, and rows of them. */
typedef struct gpu_draws {
    sked_i_arena arena;
    int32_t *steps;
    double *number; /* log P_F, log P_B and makespan of all */
    sked_i_trajectory *trajectory;
} gpu_draws;

/* The walks of a part whose first draw is number `first` of these, `drawn` of all. */
static sked_i_gpu_walks walks_of(const sked_i_drawing *d, const gpu_part *p, const gpu_draws *a,
                                 int64_t total, int64_t first, uint64_t drawn)
{
    const int64_t n = p->problem.n;
    return (sked_i_gpu_walks){.problem = &p->problem,
                              .count = p->count,
                              .greedy = p->greedy,
                              .seed = d->opt->seed,
                              .first = drawn,
                              .crowd = p->crowd,
                              .op = a->steps + first * n,
                              .device = a->steps + (total + first) * n,
                              .log_forward = a->number + first,
                              .log_backward = a->number + total + first,
                              .makespan = a->number + 2 * total + first};
}

static void list_trajectories(const gpu_draws *a, int64_t total, int64_t n)
{
    for (int64_t k = 0; k < total; k++)
        a->trajectory[k] = (sked_i_trajectory){.op = a->steps + k * n,
                                               .device = a->steps + (total + k) * n,
                                               .log_forward = a->number[k],
                                               .log_backward = a->number[total + k],
                                               .makespan = a->number[2 * total + k]};
}

/* Draws all of the parts at once and takes them. A stop on the way is no failure where there are some. */
static sked_status draw_parts(sked_i_drawing *d, const sked_i_instance *x, const gpu_part *part, int parts,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    sked_error why = {0};
    gpu_draws a = {0};
    sked_i_taking t = {.drawing = d, .instance = x, .first = d->out->count};
    sked_i_gpu_walks walks[sked_i_most_rungs];
    int64_t total = 0, at = 0;
    for (int k = 0; k < parts; k++)
        total += part[k].count;
    SKED_OWN(&a.arena, a.steps, 2 * total * x->n);
    SKED_OWN(&a.arena, a.number, 3 * total);
    SKED_OWN(&a.arena, a.trajectory, total);
    SKED_OWN(&a.arena, t.drawn, total);
    for (int k = 0; k < parts; k++) {
        walks[k] = walks_of(d, &part[k], &a, total, at, (uint64_t)(d->out->count + at));
        at += part[k].count;
    }
    const sked_status drawn = d->policy->walk(d->gpu, parts, walks, d->limit, &why);
    d->stopped = drawn == SKED_ERR_STOPPED;
    if (drawn != SKED_OK && !d->stopped) {
        st = sked_i_fail(err, drawn, "%s", why.message);
        goto cleanup;
    }
    list_trajectories(&a, total, x->n);
    at = 0;
    for (int k = 0; k < parts; k++) {
        const bool first = t.first + t.count == 0;
        sked_i_taking_note(&t, part[k].problem.temperature, part[k].count, a.trajectory + at);
        if (first && t.count > 0)
            sked_i_drawing_spread(d, t.count);
        at += part[k].count;
    }
    SKED_TRY(sked_i_taking_make(&t, err));
    if (d->stopped && d->out->count == 0)
        st = sked_i_limit_fail(err);
cleanup:
    sked_i_arena_free(&a.arena);
    return st;
}

/* The parts of a machine's draws as far as they are `own`, those of this rank; *count: how many. */
static sked_status plan_draws(sked_i_drawing *d, const sked_i_instance *x, int32_t first, int32_t end,
                              sked_i_draw_range own, gpu_part *out, int *count, sked_error *err)
{
    sked_i_rung rungs[sked_i_most_rungs];
    const int parts = sked_i_drawing_rungs(d, x, first, end, rungs);
    const int32_t crowd = end - first;
    *count = 0;
    for (int k = 0; k < parts; k++) {
        d->first_part = first == 0 ? rungs[k].until : d->first_part; /* with few draws some parts have none */
        const int32_t from = first > own.from ? first : own.from;
        const int32_t until = rungs[k].until < own.end ? rungs[k].until : own.end;
        first = rungs[k].until;
        if (from >= until)
            continue;
        out[*count] = (gpu_part){.count = until - from, .crowd = crowd, .greedy = rungs[k].greedy};
        const sked_status st = sked_i_gflownet_gpu_problem_of(x, &d->model->layout, rungs[k].temperature,
                                                              &out[*count].problem, err);
        if (st != SKED_OK)
            return st;
        out[(*count)++].problem.trust = sked_i_sampler_trust(d->model, x->n);
    }
    return SKED_OK;
}

sked_status sked_i_drawing_on_gpu(sked_i_drawing *d, const sked_i_instance *x, int32_t first, int32_t end,
                                  int32_t total, sked_error *err)
{
    const int32_t fit = (is_once(d) ? once_ops_at_once : stepwise_ops_at_once) / x->n;
    const sked_i_draw_range own = sked_i_draws_of_rank(d->together, first, end);
    gpu_part all[sked_i_most_rungs];
    int at = 0, parts;
    const sked_status planned = plan_draws(d, x, first, end, own, all, &parts, err);
    if (planned != SKED_OK)
        return planned;
    d->out->count = own.from;
    while (!d->stopped && at < parts && sked_i_drawing_goes_on(d->opt, d->limit, d->out->count, total)) {
        gpu_part now[sked_i_most_rungs];
        int32_t room = fit > 16 ? fit : 16;
        int count = 0;
        for (; at < parts && room > 0; at++) {
            gpu_part *left = &all[at];
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
