/* The stepwise policy on the device: the model, launches, and the table of backend/stepwise.h. */
#include "backend/cuda/stepwise_host.h"

typedef sked_i_stepwise_device device;

/* ------------------------------------------------------------------ the model */

static bool has_tile_widths(const step_net *z)
{
    return z->dim == TILE_DIM * STEP_TILE && z->head == STEP_TILE && z->mlp == TILE_MLP * STEP_TILE &&
           z->width == TILE_WIDTH * STEP_TILE;
}

static void cut_model(device *d, sked_i_cuda_arena *a)
{
    const int64_t total = d->shape.total;
    d->parameter = SKED_CUT(a, float, total);
    d->moment1 = SKED_CUT(a, float, total);
    d->moment2 = SKED_CUT(a, float, total);
    d->sum = SKED_CUT(a, float, total);
    d->net.matrix = d->folding.matrix = SKED_CUT(a, step_matrix, d->net.n_matrices);
    d->folding.fold = SKED_CUT(a, step_fold, d->net.n_matrices);
    d->folding.film = SKED_CUT(a, step_film, d->folding.films);
    d->job = d->n_jobs > 0 ? SKED_CUT(a, step_outer_job, d->n_jobs) : NULL;
}

static void device_destroy(sked_i_stepwise_device *d)
{
    if (d == NULL)
        return;
    if (d->stream != NULL)
        cudaStreamSynchronize(d->stream);
    sked_i_cuda_arena_close(&d->model);
    sked_i_cuda_arena_close(&d->work);
    if (d->stream != NULL)
        cudaStreamDestroy(d->stream);
    free(d->problem);
    free(d->blob);
    free(d);
}

sked_status sked_i_step_upload(device *d, const void *to, const void *from, size_t bytes, sked_error *err)
{
    sked_status st = SKED_OK;
    CUDA_TRY(cudaMemcpyAsync((void *)to, from, bytes, cudaMemcpyHostToDevice, d->stream));
cleanup:
    return st;
}

static sked_status open_model(device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    enum { fixed_shared = 12 << 10 }; /* what kernels have of their own, or more */
    int number = 0, shared = 0;
    size_t left;
    step_job_list jobs = {};
    const size_t matrices = (size_t)d->net.n_matrices;
    if (has_tile_widths(&d->net))
        sked_i_step_list_jobs(d, &jobs);
    d->n_jobs = jobs.count;
    CUDA_TRY(cudaMemGetInfo(&left, &d->memory));
    CUDA_TRY(cudaGetDevice(&number));
    CUDA_TRY(cudaDeviceGetAttribute(&d->processors, cudaDevAttrMultiProcessorCount, number));
    CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, number));
    d->shared_most = (size_t)shared - fixed_shared;
    CUDA_TRY(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    cut_model(d, &d->model);
    SKED_TRY(sked_i_cuda_arena_open(&d->model, "a stepwise model", err));
    cut_model(d, &d->model);
    SKED_TRY(sked_i_step_upload(d, d->net.matrix, d->matrix, matrices * sizeof *d->matrix, err));
    SKED_TRY(sked_i_step_upload(d, d->folding.fold, d->fold, matrices * sizeof *d->fold, err));
    SKED_TRY(
        sked_i_step_upload(d, d->folding.film, d->film, (size_t)d->folding.films * sizeof *d->film, err));
    SKED_TRY(sked_i_step_upload(d, d->job, jobs.at, (size_t)jobs.count * sizeof *jobs.at, err));
cleanup:
    return st;
}

static sked_status device_create(const sked_i_stepwise_shape *shape, const sked_i_limit *limit,
                                 sked_i_stepwise_device **out, sked_error *err)
{
    device *d = (device *)sked_i_alloc_zero(1, sizeof *d);
    if (d == NULL)
        return sked_i_no_memory(err);
    d->shape = *shape;
    d->limit = limit;
    sked_i_step_make_tables(d);
    const sked_status st = open_model(d, err);
    if (st == SKED_OK)
        *out = d;
    else
        device_destroy(d);
    return st;
}

static sked_status device_write(sked_i_stepwise_device *d, const float *parameter, const float *moment1,
                                const float *moment2, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)d->shape.total * sizeof(float);
    const float *const from[] = {parameter, moment1, moment2};
    float *const to[] = {d->parameter, d->moment1, d->moment2};
    for (int k = 0; k < 3; k++)
        if (from[k] != NULL)
            SKED_TRY(sked_i_step_upload(d, to[k], from[k], bytes, err));
        else
            CUDA_TRY(cudaMemsetAsync(to[k], 0, bytes, d->stream));
cleanup:
    return st;
}

/* Waits for all that was asked for. */
sked_status sked_i_step_settle(device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaStreamSynchronize(d->stream));
cleanup:
    return st;
}

static sked_status download(device *d, void *to, const void *from, size_t bytes, sked_error *err)
{
    sked_status st = SKED_OK;
    if (to != NULL && bytes > 0)
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream));
cleanup:
    return st;
}

static sked_status device_read(sked_i_stepwise_device *d, float *parameter, float *moment1, float *moment2,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)d->shape.total * sizeof(float);
    SKED_TRY(download(d, parameter, d->parameter, bytes, err));
    SKED_TRY(download(d, moment1, d->moment1, bytes, err));
    SKED_TRY(download(d, moment2, d->moment2, bytes, err));
    SKED_TRY(sked_i_step_settle(d, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ work */

static step_load load_of(const device *d, const step_kernel_plan *p, bool keeps)
{
    step_load l = {};
    l.net = d->net;
    l.places = p->places;
    l.keep = d->keep;
    l.problem = d->problem_there;
    l.problems = d->count;
    l.parameter = d->parameter;
    l.scratch = d->scratch;
    l.stride = p->stride + (keeps ? d->kept_size : 0);
    l.kept = keeps ? p->stride : -1;
    return l;
}

/* States of the largest problem that a block surely takes in 30 ms. */
static int64_t states_at_once(const device *d, const step_kernel_plan *p, int ops)
{
    const step_net *z = &d->net;
    const double n = ops, matrices = (double)(d->folded_size / 2);
    const double products = n * (matrices + 2 * n * z->inner * z->layers);
    /* Products a second of one block, at the least. */
    const double rate = d->tiled ? 7e10 : p->stride > 0 ? 1e10 : 5e10;
    const double states = 0.03 * rate / products;
    return states < 1 ? 1 : states < 1e6 ? (int64_t)states : 1000000;
}

static sked_status check_limit(device *d, sked_error *err)
{
    const sked_status st = d->limit != NULL ? sked_i_step_settle(d, err) : SKED_OK;
    return st == SKED_OK && sked_i_limit_heard(d->limit) ? sked_i_limit_fail(err) : st;
}

/* The problems of one plan, in launches that end soon. */
static sked_status run_draws(device *d, const step_draw_plan *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_kernel_plan *kernel = &p->kernel;
    const step_load l = load_of(d, kernel, false);
    const int64_t waves = (p->trajectories + kernel->blocks - 1) / kernel->blocks;
    const int64_t steps = step_most_of(states_at_once(d, kernel, p->ops) / waves, 1);
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

static sked_status device_draw(sked_i_stepwise_device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_load l = load_of(d, &d->draw[0].kernel, false);
    d->drawn = false;
    sked_i_step_fold(&l, &d->folding, d->stream);
    for (const step_draw_plan &p : d->draw)
        if (p.trajectories > 0)
            SKED_TRY(run_draws(d, &p, err));
    CUDA_TRY(cudaGetLastError());
    d->drawn = true;
cleanup:
    return st;
}

/* The first trajectory with trouble. */
static sked_status check_trouble(const device *d, int problem, const int32_t *trouble, sked_error *err)
{
    for (int32_t k = 0; k < d->problem[problem].batch; k++) {
        if (trouble[k] == 0)
            continue;
        const int step = (trouble[k] - 1) / 2;
        if ((trouble[k] - 1) % 2 == STEP_NOT_LEGAL)
            return sked_i_fail(err, SKED_ERR_BUG, "step %d of the trajectory is not legal", step);
        return sked_i_fail(err, SKED_ERR_BUG, "the policy gives no probability at step %d of %d", step,
                           d->problem[problem].ops);
    }
    return SKED_OK;
}

static sked_status device_outcome(sked_i_stepwise_device *d, int problem, const sked_i_stepwise_outcome *out,
                                  sked_error *err)
{
    sked_status st = SKED_OK;
    const step_problem *p = &d->problem[problem];
    const size_t batch = (size_t)p->batch, words = batch * (size_t)p->ops * sizeof(int32_t);
    int32_t *trouble = (int32_t *)sked_i_alloc(p->batch, sizeof *trouble);
    if (trouble == NULL)
        return sked_i_no_memory(err);
    SKED_TRY(download(d, trouble, p->trouble, batch * sizeof *trouble, err));
    SKED_TRY(download(d, out->op, p->op, words, err));
    SKED_TRY(download(d, out->device, p->device, words, err));
    SKED_TRY(download(d, out->log_forward, p->log_forward, batch * sizeof(double), err));
    SKED_TRY(download(d, out->log_backward, p->log_backward, batch * sizeof(double), err));
    SKED_TRY(download(d, out->makespan, p->makespan, batch * sizeof(double), err));
    SKED_TRY(sked_i_step_settle(d, err));
    SKED_TRY(check_trouble(d, problem, trouble, err));
cleanup:
    free(trouble);
    return st;
}

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
        const step_load l = load_of(d, &plan, true);
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
        sked_i_step_tile_outer(l, &pass, d->problem[0].n_blocks, d->block_gradients, d->gradient_size,
                               d->stream);
    }
cleanup:
    return st;
}

/* A state of every block at a time, in launches that end soon. */
static sked_status run_rounds(device *d, const step_load *l, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t at_once = step_most_of(states_at_once(d, &d->grad, d->most_ops) / 4, 1);
    int64_t rounds = 0;
    for (int k = 0; k < d->count; k++) {
        const int64_t states = (int64_t)d->problem[k].batch * (d->problem[k].ops + 1);
        rounds = step_most_of(rounds, (states + d->problem[k].n_blocks - 1) / d->problem[k].n_blocks);
    }
    for (int64_t from = 0; from < rounds; from += at_once) {
        const int64_t end = from + at_once < rounds ? from + at_once : rounds;
        if (from > 0)
            SKED_TRY(check_limit(d, err));
        sked_i_step_grad(l, d->grad.threads, d->grad.blocks, d->grad.shared, d->block_gradients,
                         d->gradient_size, from, end, d->stream);
    }
cleanup:
    return st;
}

static sked_status run_gradient(device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_load l = load_of(d, &d->grad, true);
    CUDA_TRY(cudaMemsetAsync(d->block_gradients, 0,
                             (size_t)d->grad.blocks * (size_t)d->gradient_size * sizeof(float), d->stream));
    SKED_TRY(d->tiled ? run_passes(d, &l, err) : run_rounds(d, &l, err));
    sked_i_step_unfold(&l, &d->folding, d->block_gradients, d->gradient_size, d->shape.total, d->stream);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

static sked_status read_marks(device *d, sked_i_stepwise_mark *marks, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *trouble = (int32_t *)sked_i_alloc(d->trajectories, sizeof *trouble), *next = trouble;
    double *loss = (double *)sked_i_alloc(STEP_LOSS_NUMBERS * d->count, sizeof *loss);
    if (trouble == NULL || loss == NULL) {
        st = sked_i_no_memory(err);
        goto cleanup;
    }
    SKED_TRY(download(d, trouble, d->trouble, (size_t)d->trajectories * sizeof *trouble, err));
    SKED_TRY(download(d, loss, d->loss, STEP_LOSS_NUMBERS * (size_t)d->count * sizeof *loss, err));
    SKED_TRY(sked_i_step_settle(d, err));
    for (int k = 0; k < d->count; k++) {
        SKED_TRY(check_trouble(d, k, next, err));
        next += d->problem[k].batch;
        const double *of = loss + STEP_LOSS_NUMBERS * k;
        marks[k] = {of[STEP_LOSS], of[STEP_CENTRE], of[STEP_NORM], of[STEP_SPEEDUP], of[STEP_PULL]};
    }
cleanup:
    free(trouble);
    free(loss);
    return st;
}

static sked_status device_learn(sked_i_stepwise_device *d, sked_i_stepwise_mark *marks, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_load l = load_of(d, &d->grad, true);
    if (!d->drawn || !d->gradients)
        return sked_i_fail(err, SKED_ERR_BUG, "nothing was drawn to learn from");
    sked_i_step_loss(&l, d->stream);
    SKED_TRY(run_gradient(d, err));
    SKED_TRY(read_marks(d, marks, err));
cleanup:
    return st;
}

static sked_status device_again(sked_i_stepwise_device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_load l = load_of(d, &d->grad, true);
    if (!d->drawn || !d->gradients)
        return sked_i_fail(err, SKED_ERR_BUG, "nothing was drawn to learn from again");
    sked_i_step_fold(&l, &d->folding, d->stream);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

static sked_status device_gradient(sked_i_stepwise_device *d, int problem, float *gradient, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(
        download(d, gradient, d->problem[problem].gradient, (size_t)d->shape.total * sizeof(float), err));
    SKED_TRY(sked_i_step_settle(d, err));
cleanup:
    return st;
}

static sked_status device_update(sked_i_stepwise_device *d, const float *gradient, const float *share,
                                 double rate, double left1, double left2, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_adam adam = {rate, left1, left2};
    if (gradient != NULL)
        SKED_TRY(sked_i_step_upload(d, d->sum, gradient, (size_t)d->shape.total * sizeof(float), err));
    else
        SKED_TRY(sked_i_step_upload(d, d->share, share, (size_t)d->count * sizeof(float), err));
    sked_i_step_adam(d->problem_there, d->count, d->share, gradient != NULL ? d->sum : NULL, d->shape.total,
                     &adam, d->parameter, d->moment1, d->moment2, d->stream);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

extern "C" {
const sked_i_stepwise_backend sked_i_stepwise_cuda = {
    device_create,  device_destroy, device_write, device_read,     sked_i_step_load, device_draw,
    device_outcome, device_again,   device_learn, device_gradient, device_update};
}
