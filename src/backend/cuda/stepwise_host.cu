/* The stepwise policy on a GPU: the model, launches, and the table of backend/gpu.h. */
#include "backend/cuda/stepwise_host.h"

#include <math.h>
#include <new>

typedef step_device device;

/* ------------------------------------------------------------------ the model */

static void cut_model(device *d)
{
    sked_i_cuda_arena *a = &d->fixed;
    sked_i_gpu_cut_model(d);
    d->net.matrix = d->folding.matrix = sked_i_cut<step_matrix>(a, d->net.n_matrices);
    d->folding.fold = sked_i_cut<step_fold>(a, d->net.n_matrices);
    d->folding.film = sked_i_cut<step_film>(a, d->folding.films);
    d->job = sked_i_cut<step_outer_job>(a, d->n_jobs);
}

static void device_destroy(sked_i_gpu_model *m)
{
    device *d = static_cast<device *>(m);
    if (d == NULL)
        return;
    sked_i_gpu_close(d);
    free(d->problem);
    free(d->blob);
    delete d;
}

static sked_status open_model(device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    size_t left;
    step_job_list jobs = {};
    const size_t matrices = (size_t)d->net.n_matrices;
    sked_i_step_list_jobs(d, &jobs);
    d->n_jobs = jobs.count;
    CUDA_TRY(cudaMemGetInfo(&left, &d->memory));
    SKED_TRY(sked_i_gpu_open(d, 12 << 10, err)); /* what kernels have of their own, or more */
    cut_model(d);
    SKED_TRY(sked_i_cuda_arena_open(&d->fixed, "a stepwise model", err));
    cut_model(d);
    SKED_TRY(sked_i_gpu_upload(d, d->net.matrix, d->matrix, matrices * sizeof *d->matrix, err));
    SKED_TRY(sked_i_gpu_upload(d, d->folding.fold, d->fold, matrices * sizeof *d->fold, err));
    SKED_TRY(sked_i_gpu_upload(d, d->folding.film, d->film, (size_t)d->folding.films * sizeof *d->film, err));
    SKED_TRY(sked_i_gpu_upload(d, d->job, jobs.at, (size_t)jobs.count * sizeof *jobs.at, err));
    SKED_TRY(sked_i_gpu_settle(d, err));
cleanup:
    return st;
}

static sked_status device_create(const sked_i_gpu_shape *shape, sked_i_gpu_model **out, sked_error *err)
{
    device *d = new (std::nothrow) device();
    if (d == NULL)
        return sked_i_no_memory(err);
    d->shape = *shape;
    sked_i_step_make_tables(d);
    const sked_status st = open_model(d, err);
    if (st == SKED_OK)
        *out = d;
    else
        device_destroy(d);
    return st;
}

/* ------------------------------------------------------------------ drawing */

static step_load load_of(const device *d, const step_kernel_plan *p)
{
    step_load l = {};
    l.net = d->net;
    l.places = p->places;
    l.problem = d->problem_there;
    l.problems = d->count;
    l.parameter = d->parameter;
    l.scratch = d->scratch;
    l.stride = p->stride;
    return l;
}

/* States of the largest problem that a block surely takes in 30 ms. */
static int64_t states_at_once(const device *d, int ops)
{
    const step_net *z = &d->net;
    const double n = ops, matrices = (double)(d->tile_count * STEP_TILE * STEP_TILE / 2);
    const double products = n * (matrices + 2 * n * z->inner * z->layers);
    const double states = 0.03 * 7e10 / products; /* products a second of one block, at the least */
    return states < 1 ? 1 : states < 1e6 ? (int64_t)states : 1000000;
}

static sked_status check_limit(device *d, sked_error *err)
{
    const sked_status st = d->limit != NULL ? sked_i_gpu_settle(d, err) : SKED_OK;
    return st == SKED_OK && sked_i_limit_heard(d->limit) ? sked_i_limit_fail(err) : st;
}

/* The problems of one plan, in launches that end soon. */
static sked_status run_draws(device *d, const step_draw_plan *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_kernel_plan *kernel = &p->kernel;
    const step_load l = load_of(d, kernel);
    const int64_t waves = (p->trajectories + kernel->blocks - 1) / kernel->blocks;
    const int64_t steps = step_most_of(states_at_once(d, p->ops) / waves, 1);
    for (int64_t from = 0; from <= p->ops; from += steps) {
        const step_walk walk = {p->least, p->most, (int)from,
                                (int)(from + steps < p->ops + 1 ? from + steps : p->ops + 1)};
        if (from > 0)
            SKED_TRY(check_limit(d, err));
        sked_i_step_draw(&l, p->how, kernel->threads, kernel->blocks, kernel->shared, &walk, d->stream);
    }
cleanup:
    return st;
}

static sked_status draw(device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_load l = load_of(d, &d->draw[0].kernel);
    sked_i_step_fold(&l, &d->folding, d->stream);
    for (const step_draw_plan &p : d->draw)
        if (p.trajectories > 0)
            SKED_TRY(run_draws(d, &p, err));
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

/* Trajectories and their numbers to the caller, losses too where `loss` [count, STEP_LOSS_NUMBERS] is there.
 */
static sked_status bring(device *d, double *loss, double *norm, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *trouble = (int32_t *)sked_i_alloc(d->trajectories, sizeof *trouble), *next = trouble;
    if (trouble == NULL)
        return sked_i_no_memory(err);
    SKED_TRY(sked_i_gpu_download(d, trouble, d->trouble, (size_t)d->trajectories * sizeof *trouble, err));
    SKED_TRY(sked_i_gpu_download(d, loss, d->loss, STEP_LOSS_NUMBERS * (size_t)d->count * sizeof *loss, err));
    SKED_TRY(sked_i_gpu_download(d, norm, d->norm, (size_t)d->count * sizeof *norm, err));
    for (int k = 0; k < d->count; k++) {
        const sked_i_gpu_walks *w = &d->walks[k];
        const step_problem *p = &d->problem[k];
        const size_t batch = (size_t)p->batch, words = w->replay ? 0 : batch * (size_t)p->ops * sizeof *p->op;
        SKED_TRY(sked_i_gpu_download(d, w->op, p->op, words, err));
        SKED_TRY(sked_i_gpu_download(d, w->device, p->device, words, err));
        SKED_TRY(sked_i_gpu_download(d, w->log_forward, p->log_forward, batch * sizeof(double), err));
        SKED_TRY(sked_i_gpu_download(d, w->log_backward, p->log_backward, batch * sizeof(double), err));
        SKED_TRY(sked_i_gpu_download(d, w->makespan, p->makespan, batch * sizeof(double), err));
    }
    SKED_TRY(sked_i_gpu_settle(d, err));
    for (int k = 0; k < d->count; next += d->problem[k++].batch)
        SKED_TRY(sked_i_gpu_check_walks(d->problem[k].batch, next, d->problem[k].ops, err));
cleanup:
    free(trouble);
    return st;
}

static sked_status device_walk(sked_i_gpu_model *m, int32_t count, sked_i_gpu_walks *w,
                               const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    device *d = static_cast<device *>(m);
    for (int32_t b = 0; b < count; b++)
        for (int32_t k = 0; k < w[b].count; k++)
            w[b].makespan[k] = NAN;
    d->limit = limit;
    SKED_TRY(sked_i_step_load(d, count, w, false, err));
    SKED_TRY(draw(d, err));
    SKED_TRY(bring(d, NULL, NULL, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ learning */

/* Whether a problem has so many row tiles. */
static bool has_tiles(const device *d, int tiles)
{
    for (int k = 0; k < d->count; k++)
        if (step_tiles_of(d->problem[k].ops) == tiles)
            return true;
    return false;
}

/* The states of a pass, by the row tiles of their problems: blocks of as many warps. */
static sked_status run_states(device *d, step_pass *pass, sked_error *err)
{
    sked_status st = SKED_OK;
    for (pass->tiles = 1; pass->tiles <= step_tiles_of(d->most_ops); pass->tiles++) {
        int resident;
        step_kernel_plan plan;
        if (!has_tiles(d, pass->tiles))
            continue;
        sked_i_step_plan_states(d, pass->tiles, &plan);
        const step_load l = load_of(d, &plan);
        CUDA_TRY(sked_i_step_tile_allow(plan.shared, plan.turns, plan.threads, &resident));
        sked_i_step_tile_states(&l, pass, plan.turns, plan.threads,
                                plan.turns ? plan.blocks : resident * d->processors, plan.shared, d->stream);
    }
cleanup:
    return st;
}

/* Pass by pass: states, then matrices. */
static sked_status run_passes(device *d, const step_load *l, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t states = sked_i_step_states(d);
    int64_t taken;
    step_pass pass = d->pass;
    pass.job = d->job;
    pass.jobs = d->n_jobs;
    for (pass.from = 0; pass.from < states; pass.from = pass.end) {
        pass.end = sked_i_step_end_of_pass(d, pass.from, &taken);
        if (pass.from > 0)
            SKED_TRY(check_limit(d, err));
        SKED_TRY(run_states(d, &pass, err));
        sked_i_step_tile_outer(l, &pass, d->problem[0].n_blocks, d->parts_gradients, d->gradient_size,
                               d->stream);
    }
cleanup:
    return st;
}

/* From the schedules that were drawn last to gradients. */
static sked_status run_gradient(device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    step_kernel_plan none = {};
    const step_load l = load_of(d, &none);
    sked_i_step_loss(&l, d->stream);
    CUDA_TRY(cudaMemsetAsync(d->parts_gradients, 0,
                             (size_t)d->parts * (size_t)d->gradient_size * sizeof(float), d->stream));
    SKED_TRY(run_passes(d, &l, err));
    sked_i_step_unfold(&l, &d->folding, d->parts_gradients, d->gradient_size, d->stream);
    sked_i_gpu_norms(d);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

static sked_status device_learn(sked_i_gpu_model *m, int32_t count, sked_i_gpu_walks *w,
                                const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    device *d = static_cast<device *>(m);
    d->limit = limit;
    SKED_TRY(sked_i_step_load(d, count, w, true, err));
    SKED_TRY(draw(d, err));
    SKED_TRY(run_gradient(d, err));
cleanup:
    return st;
}

static sked_status device_again(sked_i_gpu_model *m, const sked_i_limit *limit, sked_error *err)
{
    device *d = static_cast<device *>(m);
    const step_load l = load_of(d, &d->draw[0].kernel);
    d->limit = limit;
    sked_i_step_fold(&l, &d->folding, d->stream);
    return run_gradient(d, err);
}

static sked_status device_finish(sked_i_gpu_model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    device *d = static_cast<device *>(m);
    double *loss = (double *)sked_i_alloc((STEP_LOSS_NUMBERS + 1) * d->count, sizeof *loss), *norm;
    if (loss == NULL)
        return sked_i_no_memory(err);
    norm = loss + STEP_LOSS_NUMBERS * d->count;
    SKED_TRY(bring(d, loss, norm, err));
    for (int k = 0; k < d->count; k++) {
        const double *of = loss + STEP_LOSS_NUMBERS * k;
        sked_i_gpu_walks *w = &d->walks[k];
        w->loss = of[STEP_LOSS];
        w->log_z = of[STEP_CENTRE];
        w->norm = norm[k];
        w->speedup = of[STEP_SPEEDUP];
        w->pull = of[STEP_PULL];
    }
cleanup:
    free(loss);
    return st;
}

extern "C" const sked_i_gpu_policy sked_i_stepwise_cuda = {
    device_create, device_destroy, sked_i_gpu_put, sked_i_gpu_get, device_walk,
    device_learn,  device_again,   device_finish,  sked_i_gpu_add, sked_i_gpu_update};
