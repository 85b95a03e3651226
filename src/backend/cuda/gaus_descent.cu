/* Descents of the time-step relaxation: what lies on the device, and whole runs of steps, one stream each. */
#include "backend/cuda/gaus_steps.h"

extern "C" {
#include "base/arena.h"
}

#include <assert.h>
#include <string.h>

/* What differs from step to step. */
typedef struct numbers {
    double rate, widest;
    sked_i_gaus_growth raise;
    sked_i_gaus_decay decay;
} numbers;

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

enum { most_pieces = 24 };

typedef struct descent {
    const sked_i_gaus_view *view;
    sked_i_cuda_arena arena;
    sked_i_gaus_board board;
    cudaStream_t stream;
    unsigned what; /* SKED_I_GAUS_WITH_* */
    struct {
        void *to;
        const void *from;
        size_t bytes;
    } piece[most_pieces]; /* to be copied to the device */
    int pieces;
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

/* ------------------------------------------------------------------ copies to the device */

template <class T> static void note(descent *d, T *to, const T *from, int64_t count)
{
    assert(d->pieces < most_pieces && count >= 0);
    d->piece[d->pieces++] = {to, from, (size_t)count * sizeof(T)};
}

/* Sends what has been noted. */
static sked_status send(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const int count = d->pieces;
    d->pieces = 0;
    for (int k = 0; k < count; k++)
        if (d->piece[k].bytes > 0)
            CUDA_TRY(cudaMemcpyAsync(d->piece[k].to, d->piece[k].from, d->piece[k].bytes,
                                     cudaMemcpyHostToDevice, d->stream));
cleanup:
    return st;
}

/* The same, and waits. */
static sked_status send_all(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(send(d, err));
    CUDA_TRY(cudaStreamSynchronize(d->stream));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ what the host works out */

typedef struct made {
    sked_i_arena arena;
    int64_t *pred_ptr, *pred_edge;
    double *net, *scale;
    int32_t *heavy;
    sked_i_normal *normal;
} made;

template <class T> static bool make_room(made *m, T **out, int64_t count)
{
    return (*out = (T *)sked_i_arena_alloc_zero(&m->arena, count, sizeof(T))) != NULL;
}

/* In-edges in the order of their numbers, and what a mean adds to communication. */
static void turn_edges(const sked_i_gaus_view *v, sked_i_gaus_board *b, made *m)
{
    b->shifts = 0;
    for (int64_t e = 0; e < b->edges; e++)
        m->pred_ptr[v->edge_to[e] + 1] += sked_i_gaus_counts(v, e);
    for (int32_t i = 0; i < v->ops; i++)
        m->pred_ptr[i + 1] += m->pred_ptr[i];
    for (int32_t i = 0; i < v->ops; i++)
        for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
            const int32_t to = v->edge_to[e];
            if (!sked_i_gaus_counts(v, e))
                continue;
            m->pred_edge[m->pred_ptr[to]++] = e;
            m->net[to] += v->edge_bytes[e];
            m->net[i] -= v->edge_bytes[e];
            b->shifts += v->edge_bytes[e] * v->shift[e];
        }
    for (int32_t i = v->ops; i > 0; i--)
        m->pred_ptr[i] = m->pred_ptr[i - 1];
    m->pred_ptr[0] = 0;
}

/*
 * Powers of two that keep the sum of all amounts of a profile below 2^61. With amounts of the same size an op
 * is off by less than 2^-61 of the whole, n ops by less than n 2^-61.
 */
static void set_scales(const sked_i_gaus_view *v, made *m)
{
    for (int64_t u = 0; u < v->use_ptr[v->ops]; u++)
        m->scale[v->use_profile[u]] += fabs(v->use_amount[u]);
    for (int32_t i = 0; v->memory != NULL && i < v->ops; i++)
        m->scale[v->profiles] += fabs(v->memory[i]);
    for (int32_t p = 0; p <= v->profiles; p++) {
        int exponent = 0;
        frexp(m->scale[p], &exponent);
        m->scale[p] = ldexp(1, 61 - exponent);
    }
}

static bool is_heavy(const sked_i_gaus_view *v, int32_t i)
{
    return v->succ_ptr[i + 1] - v->succ_ptr[i] > SKED_I_GAUS_HEAVY;
}

static sked_status make(const sked_i_gaus_view *v, sked_i_gaus_board *b, made *m, sked_error *err)
{
    int32_t heavy = 0;
    if (!make_room(m, &m->pred_ptr, (int64_t)v->ops + 2) || !make_room(m, &m->pred_edge, b->edges) ||
        !make_room(m, &m->net, v->ops) || !make_room(m, &m->scale, (int64_t)v->profiles + 1) ||
        !make_room(m, &m->heavy, b->heavy_count) || !make_room(m, &m->normal, 1))
        return sked_i_no_memory(err);
    turn_edges(v, b, m);
    set_scales(v, m);
    sked_i_normal_init(m->normal);
    for (int32_t i = 0; i < v->ops; i++)
        if (is_heavy(v, i))
            m->heavy[heavy++] = i;
    assert(heavy == b->heavy_count && m->pred_ptr[v->ops] <= b->edges);
    return SKED_OK;
}

/* ------------------------------------------------------------------ what lies on the device */

/* Copies of rows * length changes that are worth their memory. */
static int copies_of(int64_t cells)
{
    const int64_t copies = 32768 / (cells > 0 ? cells : 1);
    return copies < 1 ? 1 : copies > 64 ? 64 : (int)copies;
}

/* Sizes of the board. */
static void measure(descent *d, const sked_i_gaus_view *v)
{
    sked_i_gaus_board *b = &d->board;
    d->view = v;
    sked_i_gaus_measure(v, &b->cells, &b->lead, &b->length);
    for (int32_t i = 0; i < v->ops; i++)
        b->heavy_count += is_heavy(v, i);
    b->ops = v->ops;
    b->profiles = v->profiles;
    b->steps = v->steps;
    b->period = v->period;
    b->edges = v->succ_ptr[v->ops];
    b->copies = copies_of(((int64_t)b->profiles + 1) * b->length);
    const int64_t blocks = ((int64_t)v->ops + SKED_I_GAUS_TEAM - 1) / SKED_I_GAUS_TEAM;
    b->light_blocks = blocks < 1 ? 1 : blocks < SKED_I_GAUS_BLOCKS ? (int)blocks : SKED_I_GAUS_BLOCKS;
    b->heavy_blocks = b->heavy_count < SKED_I_GAUS_BLOCKS ? b->heavy_count : SKED_I_GAUS_BLOCKS;
}

/* Cuts an array of the problem from the arena, or counts it; what lies in it comes from `from`. */
template <class T> static void put(descent *d, T **to, const T *from, int64_t count)
{
    *to = sked_i_cut<T>(&d->arena, count);
    if (d->arena.at != NULL)
        note(d, *to, from, count);
}

/* m: may be empty while counting. */
static void lay_problem(descent *d, const made *m)
{
    const sked_i_gaus_view *v = d->view;
    sked_i_gaus_board *b = &d->board;
    const int64_t n = b->ops, edges = b->edges, uses = v->use_ptr[v->ops];
    put(d, &b->duration, v->duration, n);
    put(d, &b->use_ptr, v->use_ptr, n + 1);
    put(d, &b->use_profile, v->use_profile, uses);
    put(d, &b->use_amount, v->use_amount, uses);
    if (v->memory != NULL)
        put(d, &b->memory, v->memory, n);
    put(d, &b->succ_ptr, v->succ_ptr, n + 1);
    put(d, &b->edge_to, v->edge_to, edges);
    put(d, &b->gap, v->gap, edges);
    put(d, &b->shift, v->shift, edges);
    put(d, &b->edge_kind, v->edge_kind, edges);
    put(d, &b->pred_ptr, m->pred_ptr, n + 1);
    put(d, &b->pred_edge, m->pred_edge, edges);
    put(d, &b->net, m->net, n);
    put(d, &b->heavy, m->heavy, b->heavy_count);
    put(d, &b->normal, m->normal, 1);
    put(d, &b->scale, m->scale, (int64_t)b->profiles + 1);
    put(d, &d->lo, v->lo, n);
    put(d, &d->hi, v->hi, n);
}

static void lay_numbers(descent *d)
{
    sked_i_gaus_board *b = &d->board;
    sked_i_cuda_arena *a = &d->arena;
    const int64_t n = b->ops, rows = (int64_t)b->profiles + 1;
    b->weight = sked_i_cut<double>(a, rows);
    b->capacity = sked_i_cut<double>(a, rows);
    b->tau = sked_i_cut<double>(a, rows);
    b->mu = sked_i_cut<double>(a, 2 * n);
    b->sigma = b->mu != NULL ? b->mu + n : NULL;
    b->dmu = sked_i_cut<double>(a, n);
    b->dsigma = sked_i_cut<double>(a, n);
    b->change = sked_i_cut<unsigned long long>(a, b->copies * rows * b->length);
    b->level = b->period > 0 ? sked_i_cut<long long>(a, rows * b->length) : NULL;
    b->profile = sked_i_cut<double>(a, rows * b->cells);
    b->price = sked_i_cut<double>(a, rows * b->cells);
    b->row = sked_i_cut<sked_i_gaus_pair>(a, rows);
    b->partial = sked_i_cut<double>(a, (b->light_blocks + b->heavy_blocks) * SKED_I_GAUS_SUMS);
    b->own = sked_i_cut<sked_i_gaus_pair>(a, n);
    b->passed = sked_i_cut<sked_i_gaus_pair>(a, b->edges);
    b->control = sked_i_cut<sked_i_gaus_control>(a, 1);
    d->momentum = sked_i_cut<double>(a, 2 * n);
    d->variance = sked_i_cut<double>(a, 2 * n);
    d->tau = sked_i_cut<double>(a, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * rows);
    d->now = sked_i_cut<numbers>(a, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN);
}

/* ------------------------------------------------------------------ runs under way */

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

/* BUG where the value, or the gradient of an op, is not finite. */
static sked_status check_control(const sked_i_gaus_control *c, sked_error *err)
{
    if (c->lost != INT32_MAX)
        return sked_i_fail(err, SKED_ERR_BUG,
                           "the differentiable scheduler's gradient is not finite at op %d on the GPU",
                           (int)c->lost);
    return sked_i_gaus_check_value(&c->value, c->multiplier, " on the GPU", err);
}

/* ------------------------------------------------------------------ steps */

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

__global__ static void __launch_bounds__(SKED_I_GAUS_BLOCK) gradient_kernel(sked_i_gaus_board b)
{
    const int64_t i = ((int64_t)blockIdx.x * SKED_I_GAUS_BLOCK + threadIdx.x) / 8;
    const int lane = (int)threadIdx.x % 8;
    const sked_i_gaus_pair x = gaus_gather(b, i, lane);
    if (lane != 0 || i >= b.ops)
        return;
    b.dmu[i] = x.mu;
    b.dsigma[i] = x.sigma;
}

/* Blocks for eight lanes an op. */
static unsigned gather_blocks(const sked_i_gaus_board &b)
{
    const unsigned blocks = (unsigned)(((int64_t)b.ops * 8 + SKED_I_GAUS_BLOCK - 1) / SKED_I_GAUS_BLOCK);
    return blocks > 0 ? blocks : 1;
}

/* Step k of the run that lands in `place`. */
static void launch_step(const descent *d, int place, int k)
{
    const sked_i_gaus_board b = d->board;
    const int64_t at = (int64_t)place * SKED_I_GAUS_RUN + k;
    const mover m = {d->lo, d->hi, d->momentum, d->variance, d->now + at};
    sked_i_gaus_forward(&b, d->what, d->stream);
    sked_i_gaus_profiles(&b, d->tau + at * (b.profiles + 1), &d->now[at].raise, d->stream);
    sked_i_gaus_backward(&b, d->what, d->stream);
    SKED_LAUNCH(adam_kernel, gather_blocks(b), SKED_I_GAUS_BLOCK, 0, d->stream, b, m);
}

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
    CUDA_TRY(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < CAPTURED; k++)
        launch_step(d, place, k);
    CUDA_TRY(cudaStreamEndCapture(d->stream, &graph));
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
        CUDA_TRY(cudaGraphLaunch(d->runs[place], d->stream));
        return SKED_OK;
    }
    for (int k = 0; k < count; k++)
        launch_step(d, place, k);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ opening and closing */

static sked_status room(const sked_i_gaus_view *view, int most, int *count, sked_error *err)
{
    const made nothing = {};
    descent d = {};
    measure(&d, view);
    lay_problem(&d, &nothing);
    lay_numbers(&d);
    const double need = (double)d.arena.used, left = (double)sked_i_cuda_free_bytes();
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
    if (d->stream != NULL) {
        cudaStreamSynchronize(d->stream);
        cudaStreamDestroy(d->stream);
    }
    sked_i_cuda_arena_close(&d->arena);
    landings_close(&d->back);
    clear_graphs(d);
    cudaFreeHost(d->sent_tau);
    cudaFreeHost(d->sent);
    free(d);
}

/* Puts the problem on the device. */
static sked_status open_board(descent *d, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &d->board;
    made m = {};
    SKED_TRY(make(d->view, &d->board, &m, err));
    lay_problem(d, &m);
    lay_numbers(d);
    SKED_TRY(sked_i_cuda_arena_open(&d->arena, "a descent of gaus", err));
    lay_problem(d, &m);
    lay_numbers(d);
    CUDA_TRY(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    CUDA_TRY(cudaMemsetAsync(
        b->change, 0, (size_t)b->copies * (b->profiles + 1) * b->length * sizeof *b->change, d->stream));
    SKED_TRY(send_all(d, err));
cleanup:
    sked_i_arena_free(&m.arena);
    return st;
}

static sked_status create(const sked_i_gaus_view *view, const sked_i_limit *limit, int threads,
                          sked_i_gaus_descent **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t rows = ((size_t)view->profiles + 1) * sizeof(double);
    descent *d = (descent *)sked_i_alloc_zero(1, sizeof *d);
    (void)limit;
    (void)threads;
    if (d == NULL)
        return sked_i_no_memory(err);
    measure(d, view);
    SKED_TRY(open_board(d, err));
    SKED_TRY(landings_open(&d->back, 2 * (int64_t)view->ops, err));
    CUDA_TRY(cudaMallocHost(&d->sent_tau, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * rows));
    CUDA_TRY(cudaMallocHost(&d->sent, SKED_I_GAUS_FLIGHT * SKED_I_GAUS_RUN * sizeof *d->sent));
    *out = reinterpret_cast<sked_i_gaus_descent *>(d);
    return SKED_OK;
cleanup:
    destroy(reinterpret_cast<sked_i_gaus_descent *>(d));
    return st;
}

/* ------------------------------------------------------------------ the table */

/* BUG where a mean or sigma would leave the grid. */
static sked_status place(sked_i_gaus_descent *opaque, const double *mu, const double *sigma, sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &d->board;
    const size_t bytes = 2 * (size_t)b->ops * sizeof(double);
    for (int32_t i = 0; i < b->ops; i++)
        if (!(fabs(mu[i]) < 0x1p29) || !(sigma[i] > 0) || !(sigma[i] < 0x1p20))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler lost its numbers at op %d: mu %g, sigma %g",
                               (int)i, mu[i], sigma[i]);
    CUDA_TRY(cudaMemsetAsync(d->momentum, 0, bytes, d->stream));
    CUDA_TRY(cudaMemsetAsync(d->variance, 0, bytes, d->stream));
    note(d, b->mu, mu, b->ops);
    note(d, b->sigma, sigma, b->ops);
    SKED_TRY(send_all(d, err));
    d->decay = {1, 1};
cleanup:
    return st;
}

static sked_status aim(sked_i_gaus_descent *opaque, const sked_i_gaus_terms *terms, const double *violation,
                       sked_error *err)
{
    descent *d = mine(opaque);
    const sked_i_gaus_board *b = &d->board;
    const int64_t rows = (int64_t)b->profiles + 1;
    sked_i_gaus_control control = {};
    assert(d->back.under_way == 0);
    memcpy(control.multiplier, terms->multiplier, sizeof control.multiplier);
    memcpy(control.penalty, terms->penalty, sizeof control.penalty);
    memcpy(control.before, violation, sizeof control.before);
    control.alpha = terms->alpha;
    control.lost = INT32_MAX;
    d->what = sked_i_gaus_what_matters(d->view, terms);
    clear_graphs(d); /* they have the terms in them */
    note(d, b->weight, terms->weight, rows);
    note(d, b->capacity, terms->capacity, rows);
    note(d, b->tau, terms->tau, rows);
    note(d, b->control, &control, 1);
    return send_all(d, err);
}

static sked_status evaluate(sked_i_gaus_descent *opaque, double *dmu, double *dsigma,
                            sked_i_gaus_value *value, sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &d->board;
    const size_t bytes = (size_t)b->ops * sizeof(double);
    sked_i_gaus_control control;
    sked_i_gaus_forward(b, d->what, d->stream);
    sked_i_gaus_profiles(b, b->tau, NULL, d->stream);
    sked_i_gaus_backward(b, d->what, d->stream);
    SKED_LAUNCH(gradient_kernel, gather_blocks(*b), SKED_I_GAUS_BLOCK, 0, d->stream, *b);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(dmu, b->dmu, bytes, cudaMemcpyDeviceToHost, d->stream));
    if (dsigma != NULL)
        CUDA_TRY(cudaMemcpyAsync(dsigma, b->dsigma, bytes, cudaMemcpyDeviceToHost, d->stream));
    CUDA_TRY(cudaMemcpyAsync(&control, b->control, sizeof control, cudaMemcpyDeviceToHost, d->stream));
    CUDA_TRY(cudaStreamSynchronize(d->stream));
    SKED_TRY(check_control(&control, err));
    *value = control.value;
cleanup:
    return st;
}

static sked_status run(sked_i_gaus_descent *opaque, const sked_i_gaus_step *steps, int count, sked_error *err)
{
    descent *d = mine(opaque);
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &d->board;
    const size_t rows = (size_t)b->profiles + 1;
    const int place = landings_next(&d->back);
    const size_t first = (size_t)place * SKED_I_GAUS_RUN;
    assert(count >= 1 && count <= SKED_I_GAUS_RUN && d->back.under_way < SKED_I_GAUS_FLIGHT);
    for (int k = 0; k < count; k++) {
        sked_i_gaus_decay_advance(&d->decay);
        d->sent[first + k] = {steps[k].rate, steps[k].widest, steps[k].raise, d->decay};
        memcpy(d->sent_tau + (first + k) * rows, steps[k].tau, rows * sizeof(double));
    }
    note(d, d->tau + first * rows, d->sent_tau + first * rows, (int64_t)(count * rows));
    note(d, d->now + first, d->sent + first, count);
    SKED_TRY(send(d, err));
    SKED_TRY(launch_run(d, place, count, err));
    SKED_TRY(landings_send(&d->back, b->mu, b->control, d->stream, err));
cleanup:
    return st;
}

static sked_status wait(sked_i_gaus_descent *opaque, double *mu, double *sigma, sked_i_gaus_value *value,
                        sked_error *err)
{
    landings *l = &mine(opaque)->back;
    sked_status st = SKED_OK;
    const size_t n = (size_t)l->count / 2;
    const int k = l->oldest;
    assert(l->under_way > 0);
    CUDA_TRY(cudaEventSynchronize(l->at[k].done));
    l->oldest = (l->oldest + 1) % SKED_I_GAUS_FLIGHT;
    l->under_way--;
    SKED_TRY(check_control(l->at[k].control, err));
    memcpy(mu, l->at[k].point, n * sizeof *mu);
    memcpy(sigma, l->at[k].point + n, n * sizeof *sigma);
    *value = l->at[k].control->value;
cleanup:
    return st;
}

extern "C" const sked_i_gaus_descent_backend sked_i_gaus_descent_cuda = {
    true, room, create, destroy, place, aim, evaluate, run, wait};
