/* Descents of the time-step relaxation: whole runs of steps on the device, one stream each. */
#include "backend/cuda/gaus_steps.h"

extern "C" {
#include "base/memory.h"
}

#include <string.h>

/* ------------------------------------------------------------------ runs under way */

/* Where the points of runs land on the host, in memory that the device writes to. */
typedef struct landings {
    struct {
        double *point; /* [count] */
        sked_i_gaus_control *control;
        cudaEvent_t done;
    } at[SKED_I_GAUS_FLIGHT];
    int64_t count;
    int oldest, under_way;
} landings;

/* The place of the next run, 0 .. SKED_I_GAUS_FLIGHT - 1. */
static int landings_next(const landings *l)
{
    return (l->oldest + l->under_way) % SKED_I_GAUS_FLIGHT;
}

static sked_status landings_open(landings *l, int64_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    l->count = count;
    for (int k = 0; k < SKED_I_GAUS_FLIGHT; k++) {
        CUDA_TRY(cudaMallocHost(&l->at[k].point, (size_t)(count > 0 ? count : 1) * sizeof(double)));
        CUDA_TRY(cudaMallocHost(&l->at[k].control, sizeof(sked_i_gaus_control)));
        CUDA_TRY(cudaEventCreateWithFlags(&l->at[k].done, cudaEventDisableTiming));
    }
cleanup:
    return st;
}

static void landings_close(landings *l)
{
    for (int k = 0; k < SKED_I_GAUS_FLIGHT; k++) {
        cudaFreeHost(l->at[k].point);
        cudaFreeHost(l->at[k].control);
        if (l->at[k].done != NULL)
            cudaEventDestroy(l->at[k].done);
    }
}

static sked_status landings_send(landings *l, const double *point, const sked_i_gaus_control *control,
                                 cudaStream_t stream, sked_error *err)
{
    sked_status st = SKED_OK;
    const int k = landings_next(l);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(l->at[k].point, point, (size_t)l->count * sizeof *point, cudaMemcpyDeviceToHost,
                             stream));
    CUDA_TRY(cudaMemcpyAsync(l->at[k].control, control, sizeof *control, cudaMemcpyDeviceToHost, stream));
    CUDA_TRY(cudaEventRecord(l->at[k].done, stream));
    l->under_way++;
cleanup:
    return st;
}

static sked_status landings_wait(landings *l, const double **point, sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = SKED_OK;
    const int k = l->oldest;
    CUDA_TRY(cudaEventSynchronize(l->at[k].done));
    l->oldest = (l->oldest + 1) % SKED_I_GAUS_FLIGHT;
    l->under_way--;
    SKED_TRY(sked_i_gaus_control_check(l->at[k].control, err));
    *point = l->at[k].point;
    *value = l->at[k].control->value;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ one step */

/* What differs from step to step. */
typedef struct numbers {
    double rate, widest;
    sked_i_gaus_growth raise;
    sked_i_gaus_decay decay;
} numbers;

typedef struct descent {
    sked_i_gaus_steps steps;
    const sked_i_gaus_bounds *bounds;
    int32_t *lo, *hi;            /* [ops] on the device, as what follows */
    double *momentum, *variance; /* [2 ops] */
    double *tau;                 /* [SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * (profiles + 1)] */
    numbers *now;                /* [SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN] */
    double *sent_tau;            /* the same on the host */
    numbers *sent;
    sked_i_gaus_decay decay;
    landings back;
    cudaGraphExec_t runs[SKED_I_GAUS_FLIGHT]; /* of CAPTURED steps that land there; NULL: not made yet */
} descent;

/* What the table calls a descent. */
static inline descent *mine(sked_i_gaus_descent *x)
{
    return reinterpret_cast<descent *>(x);
}

struct mover {
    const int32_t *lo, *hi;
    double *momentum, *variance;
    const numbers *now;
};

__device__ static void move_op(const sked_i_gaus_board &b, const mover &m, int64_t i,
                               const sked_i_gaus_pair &gradient)
{
    const double lo = m.lo[i], hi = m.hi[i];
    const numbers now = *m.now;
    if (!isfinite(gradient.mu) || !isfinite(gradient.sigma)) {
        atomicMin(&b.control->lost, (int32_t)i);
        return;
    }
    if (hi == lo)
        return;
    const double rate = now.rate * sked_i_gaus_pace(hi - lo);
    const double mu =
        b.mu[i] - 10 * rate * sked_i_gaus_adam(&now.decay, &m.momentum[i], &m.variance[i], gradient.mu);
    b.mu[i] = fmin(hi, fmax(lo, mu));
    const int64_t k = (int64_t)b.ops + i;
    const double sigma = b.sigma[i];
    const double turn = sked_i_gaus_adam(&now.decay, &m.momentum[k], &m.variance[k], gradient.sigma * sigma);
    b.sigma[i] = fmax(SKED_I_GAUS_SIGMA_LEAST, fmin(sigma * exp(-0.05 * turn), now.widest));
}

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) adam_kernel(sked_i_gaus_board b, mover m)
{
    const int64_t i = ((int64_t)blockIdx.x * SKED_I_GAUS_BLOCK + threadIdx.x) / 8;
    const int lane = (int)threadIdx.x % 8;
    const sked_i_gaus_pair gradient = gaus_gather(b, i, lane);
    if (lane == 0 && i < b.ops)
        move_op(b, m, i, gradient);
}

/* Step k of the run that lands in `place`. */
static void launch_step(const descent *d, int place, int k)
{
    const sked_i_gaus_board b = d->steps.board;
    const cudaStream_t stream = d->steps.stream;
    const unsigned blocks = (unsigned)(((int64_t)b.ops * 8 + SKED_I_GAUS_BLOCK - 1) / SKED_I_GAUS_BLOCK);
    const int64_t at = (int64_t)place * SKED_I_GAUS_RUN + k;
    const mover m = {d->lo, d->hi, d->momentum, d->variance, d->now + at};
    sked_i_gaus_forward(&b, d->steps.what, stream);
    sked_i_gaus_profiles(&b, d->tau + at * (b.profiles + 1), &d->now[at].raise, stream);
    sked_i_gaus_backward(&b, d->steps.what, stream);
    SKED_LAUNCH(adam_kernel, blocks > 0 ? blocks : 1, SKED_I_GAUS_BLOCK, 0, stream, b, m);
}

/* ------------------------------------------------------------------ runs of steps */

/*
 * Steps of a run as CUDA graphs: launching kernels one by one takes longer than small problems do. What
 * differs from step to step is read from memory, so one graph serves all runs of CAPTURED steps that land in
 * the same place.
 */
enum { CAPTURED = 16 };

static void clear_graphs(descent *d)
{
    for (int k = 0; k < SKED_I_GAUS_FLIGHT; k++) {
        if (d->runs[k] != NULL)
            cudaGraphExecDestroy(d->runs[k]);
        d->runs[k] = NULL;
    }
}

static sked_status capture(descent *d, int place, sked_error *err)
{
    sked_status st = SKED_OK;
    cudaGraph_t graph = NULL;
    CUDA_TRY(cudaStreamBeginCapture(d->steps.stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < CAPTURED; k++)
        launch_step(d, place, k);
    CUDA_TRY(cudaStreamEndCapture(d->steps.stream, &graph));
    CUDA_TRY(cudaGraphInstantiate(&d->runs[place], graph, 0));
cleanup:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return st;
}

static sked_status launch_run(descent *d, int place, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    if (count == CAPTURED) {
        if (d->runs[place] == NULL)
            SKED_TRY(capture(d, place, err));
        CUDA_TRY(cudaGraphLaunch(d->runs[place], d->steps.stream));
        return SKED_OK;
    }
    for (int k = 0; k < count; k++)
        launch_step(d, place, k);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ opening and closing */

static void lay(descent *d)
{
    sked_i_cuda_arena *a = &d->steps.arena;
    sked_i_gaus_steps_lay(&d->steps);
    const int64_t n = d->steps.board.ops, rows = (int64_t)d->steps.board.profiles + 1;
    d->lo = sked_i_cut<int32_t>(a, n);
    d->hi = sked_i_cut<int32_t>(a, n);
    d->momentum = sked_i_cut<double>(a, 2 * n);
    d->variance = sked_i_cut<double>(a, 2 * n);
    d->tau = sked_i_cut<double>(a, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * rows);
    d->now = sked_i_cut<numbers>(a, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN);
}

static sked_status room(const sked_i_gaus_view *view, int most, int *count, sked_error *err)
{
    descent d = {};
    sked_i_gaus_steps_measure(&d.steps, view);
    lay(&d);
    const double need = (double)d.steps.arena.used, left = (double)sked_i_cuda_free_bytes();
    if (left < need)
        return sked_i_fail(err, SKED_ERR_DEVICE,
                           "CUDA: a descent of gaus over %d ops needs %.1f MB of device memory, %.1f MB are "
                           "free: some %.0f ops would fit",
                           (int)view->ops, need * 1e-6, left * 1e-6, floor(left / need * view->ops));
    *count = left / need < most ? (int)(left / need) : most;
    return SKED_OK;
}

static void destroy(sked_i_gaus_descent *opaque)
{
    descent *d = mine(opaque);
    if (d == NULL)
        return;
    sked_i_gaus_steps_close(&d->steps);
    landings_close(&d->back);
    clear_graphs(d);
    cudaFreeHost(d->sent_tau);
    cudaFreeHost(d->sent);
    free(d);
}

static sked_status create(const sked_i_gaus_view *view, const sked_i_gaus_bounds *bounds, int threads,
                          sked_i_gaus_descent **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)view->ops * sizeof(int32_t);
    const size_t rows = ((size_t)view->profiles + 1) * sizeof(double);
    descent *d = (descent *)sked_i_alloc_zero(1, sizeof *d);
    (void)threads;
    if (d == NULL)
        return sked_i_no_memory(err);
    d->bounds = bounds;
    sked_i_gaus_steps_measure(&d->steps, view);
    lay(d);
    SKED_TRY(sked_i_cuda_arena_open(&d->steps.arena, "a descent of gaus", err));
    lay(d);
    SKED_TRY(sked_i_gaus_steps_open(&d->steps, err));
    SKED_TRY(landings_open(&d->back, 2 * (int64_t)view->ops, err));
    CUDA_TRY(cudaMallocHost(&d->sent_tau, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * rows));
    CUDA_TRY(cudaMallocHost(&d->sent, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * sizeof *d->sent));
    CUDA_TRY(cudaMemcpyAsync(d->lo, bounds->lo, bytes, cudaMemcpyHostToDevice, d->steps.stream));
    CUDA_TRY(cudaMemcpyAsync(d->hi, bounds->hi, bytes, cudaMemcpyHostToDevice, d->steps.stream));
    CUDA_TRY(cudaStreamSynchronize(d->steps.stream));
    *out = reinterpret_cast<sked_i_gaus_descent *>(d);
    return SKED_OK;
cleanup:
    destroy(reinterpret_cast<sked_i_gaus_descent *>(d));
    return st;
}

/* ------------------------------------------------------------------ the table */

static sked_status place(sked_i_gaus_descent *opaque, const double *mu, const double *sigma, sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const size_t bytes = 2 * (size_t)d->steps.board.ops * sizeof(double);
    CUDA_TRY(cudaMemsetAsync(d->momentum, 0, bytes, d->steps.stream));
    CUDA_TRY(cudaMemsetAsync(d->variance, 0, bytes, d->steps.stream));
    SKED_TRY(sked_i_gaus_steps_place(&d->steps, mu, sigma, err));
    d->decay = {1, 1};
cleanup:
    return st;
}

static sked_status aim(sked_i_gaus_descent *opaque, const sked_i_gaus_terms *terms, const double *violation,
                       sked_error *err)
{
    descent *d = mine(opaque);
    clear_graphs(d); /* they have the terms in them */
    return sked_i_gaus_steps_aim(&d->steps, terms, violation, err);
}

static sked_status evaluate(sked_i_gaus_descent *opaque, double *dmu, double *dsigma,
                            sked_i_gaus_value *value, sked_error *err)
{
    return sked_i_gaus_steps_evaluate(&mine(opaque)->steps, dmu, dsigma, value, err);
}

static sked_status run(sked_i_gaus_descent *opaque, const sked_i_gaus_step *steps, int count, sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &d->steps.board;
    const cudaStream_t stream = d->steps.stream;
    const size_t rows = (size_t)b->profiles + 1;
    const int place = landings_next(&d->back);
    const size_t first = (size_t)place * SKED_I_GAUS_RUN;
    for (int k = 0; k < count; k++) {
        sked_i_gaus_decay_advance(&d->decay);
        d->sent[first + k] = {steps[k].rate, steps[k].widest, steps[k].raise, d->decay};
        memcpy(d->sent_tau + (first + k) * rows, steps[k].tau, rows * sizeof(double));
    }
    {
        const sked_i_gaus_piece pieces[] = {
            SKED_I_GAUS_PIECE(d->tau + first * rows, d->sent_tau + first * rows, count * rows),
            SKED_I_GAUS_PIECE(d->now + first, d->sent + first, count)};
        SKED_TRY(sked_i_gaus_send(pieces, 2, stream, err));
    }
    SKED_TRY(launch_run(d, place, count, err));
    SKED_TRY(landings_send(&d->back, b->mu, b->control, stream, err));
cleanup:
    return st;
}

static sked_status wait(sked_i_gaus_descent *opaque, double *mu, double *sigma, sked_i_gaus_value *value,
                        sked_error *err)
{
    descent *d = mine(opaque);
    const size_t n = (size_t)d->steps.board.ops;
    const double *point;
    const sked_status st = landings_wait(&d->back, &point, value, err);
    if (st == SKED_OK) {
        memcpy(mu, point, n * sizeof *mu);
        memcpy(sigma, point + n, n * sizeof *sigma);
    }
    return st;
}

extern "C" const sked_i_gaus_descent_backend sked_i_gaus_descent_cuda = {
    true, room, create, destroy, place, aim, evaluate, run, wait};
