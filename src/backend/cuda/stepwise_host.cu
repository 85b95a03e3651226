/* The stepwise policy on the device: memory, launches, and the table of backend/stepwise.h. */
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_tile_long.h"

extern "C" {
#include "backend/cuda/stepwise.h"
#include "base/memory.h"
}

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the rows of one kernel lie, and how it is launched. */
struct kernel_plan {
    step_places places;
    size_t shared;  /* bytes */
    int64_t stride; /* numbers of a block in global memory */
    int threads, blocks;
    bool turns; /* tiles: warps take them in turn */
};
/* How problems of least .. most ops are drawn. */
struct draw_plan {
    kernel_plan kernel;
    step_drawing how;
    int least, most;
    int64_t trajectories;
};

struct sked_i_stepwise_device {
    sked_i_stepwise_shape shape;
    const sked_i_limit *limit;
    cudaStream_t stream;
    int processors;
    size_t shared_most;            /* bytes a block may have */
    size_t memory;                 /* bytes the device has */
    sked_i_cuda_arena model, work; /* parameters and tables; a load */
    step_net net;
    step_folding folding;
    step_matrix matrix[SKED_I_STEPWISE_LAYERS * STEP_MATRICES + STEP_HEADS];
    step_fold fold[SKED_I_STEPWISE_LAYERS * STEP_MATRICES + STEP_HEADS];
    step_film film[SKED_I_STEPWISE_LAYERS + 2];
    int64_t folded_size, gradient_size; /* of a problem */
    int64_t tile_count;                 /* tiles of its weights */
    step_outer_job *job;                /* on the device; NULL: other widths than those of tiles */
    int n_jobs;
    float *parameter, *moment1, *moment2, *sum; /* [total] */
    float *share;                               /* [most shares] */
    int most_shares;
    /* The load. */
    int count, graphs; /* graphs: of the update, on all ranks */
    bool gradients, drawn;
    bool tiled;            /* by stepwise_tile_net.h and stepwise_tile_long.h */
    step_problem *problem; /* [count] on the host, with pointers of the device */
    char *blob;            /* what is uploaded for it */
    size_t blob_size;
    step_problem *problem_there;
    draw_plan draw[2]; /* of problems whose warps have a tile each (rows: of all), and of longer ones */
    kernel_plan grad;
    step_kept keep;
    int64_t kept_size; /* of a block */
    float *scratch, *block_gradients;
    step_pass pass;     /* tiled: memory for the row tiles of a pass */
    int64_t pass_tiles; /* at most */
    double *loss;       /* [count, STEP_LOSS_NUMBERS] */
    int32_t *trouble;   /* [trajectories] */
    int64_t trajectories;
    int most_ops;
};
typedef sked_i_stepwise_device device;

/* ------------------------------------------------------------------ the tables of a model */

static int place_matrix(device *d, int k, int rows, int columns)
{
    const int64_t size = (int64_t)rows * columns;
    d->matrix[k] = {rows,
                    columns,
                    (int)d->folded_size,
                    (int)(d->folded_size + size),
                    (int)(d->folded_size + 2 * size),
                    (int)d->gradient_size,
                    (int)(d->gradient_size + size),
                    (int)d->tile_count};
    d->tile_count += 2 * step_tiles_of(rows) * step_tiles_of(columns);
    d->folded_size += 2 * size + columns;
    d->gradient_size += size + columns;
    return k;
}

static void place_film(device *d, int i, const step_film *f)
{
    d->film[i] = *f;
    d->film[i].at = d->folding.film_size;
    d->folding.film_size += 2 * f->width;
}

static void place_layer(device *d, int i)
{
    const sked_i_stepwise_shape *s = &d->shape;
    const sked_i_layer_offsets *l = &s->layer[i];
    const int inner = d->net.inner, k = i * STEP_MATRICES;
    const step_film film = {l->scale_weight, l->scale_bias, l->shift_weight, l->shift_bias, s->mlp, 0};
    const float query_scale = 1 / sqrtf((float)s->head);
    place_film(d, i, &film);
    place_matrix(d, k + STEP_QKV, s->dim, 3 * inner);
    place_matrix(d, k + STEP_MERGE, inner, s->dim);
    place_matrix(d, k + STEP_MLP1, s->dim, s->mlp);
    place_matrix(d, k + STEP_MLP2, s->mlp, s->dim);
    d->fold[k + STEP_QKV] = {l->qkv_weight, l->qkv_bias, l->norm1_gain, l->norm1_bias, 3 * inner, -1,
                             inner,         query_scale, false};
    d->fold[k + STEP_MERGE] = {l->merge_weight, l->merge_bias, -1, -1, s->dim, -1, 0, 1, false};
    d->fold[k + STEP_MLP1] = {
        l->mlp1_weight, l->mlp1_bias, l->norm2_gain, l->norm2_bias, s->mlp, d->film[i].at, 0, 1, false};
    d->fold[k + STEP_MLP2] = {l->mlp2_weight, l->mlp2_bias, -1, -1, s->dim, -1, 0, 1, false};
}

static void place_heads(device *d)
{
    const sked_i_stepwise_shape *s = &d->shape;
    const int k = s->layers * STEP_MATRICES;
    const step_film forward = {s->forward_scale_weight,
                               s->forward_scale_bias,
                               s->forward_shift_weight,
                               s->forward_shift_bias,
                               s->width,
                               0};
    const step_film back = {s->back_scale_weight, s->back_scale_bias, s->back_shift_weight,
                            s->back_shift_bias,   s->width,           0};
    place_film(d, s->layers, &forward);
    place_matrix(d, k + STEP_FORWARD2, s->width, s->slots);
    place_matrix(d, k + STEP_FORWARD1, s->dim, s->width);
    d->fold[k + STEP_FORWARD2] = {s->forward2_weight, s->forward2_bias, -1, -1, s->slots, -1, 0, 1, false};
    d->fold[k + STEP_FORWARD1] = {s->forward1_weight,
                                  s->forward1_bias,
                                  s->final_gain,
                                  s->final_bias,
                                  s->width,
                                  d->film[s->layers].at,
                                  0,
                                  1,
                                  false};
    if (!s->learned)
        return;
    place_film(d, s->layers + 1, &back);
    place_matrix(d, k + STEP_BACK1, s->dim, s->width);
    d->fold[k + STEP_BACK1] = {s->back1_weight,
                               s->back1_bias,
                               s->final_gain,
                               s->final_bias,
                               s->width,
                               d->film[s->layers + 1].at,
                               0,
                               1,
                               true};
}

static void make_tables(device *d)
{
    const sked_i_stepwise_shape *s = &d->shape;
    d->net = {};
    d->net.dim = s->dim;
    d->net.layers = s->layers;
    d->net.head = s->head;
    d->net.inner = SKED_I_HEADS * s->head;
    d->net.mlp = s->mlp;
    d->net.width = s->width;
    d->net.slots = s->slots;
    d->net.inputs = SKED_I_STEPWISE_FEATURES + s->slots;
    d->net.learned = s->learned;
    d->net.ruled = s->ruled;
    d->net.input_weight = s->input_weight;
    d->net.input_bias = s->input_bias;
    d->net.back2_weight = s->back2_weight;
    d->net.n_matrices = s->layers * STEP_MATRICES + STEP_HEADS - !s->learned;
    for (int i = 0; i < s->layers; i++)
        place_layer(d, i);
    place_heads(d);
    d->net.dinput = (int)d->gradient_size;
    d->net.dinput_bias = d->net.dinput + d->net.inputs * s->dim;
    d->net.dback2 = d->net.dinput_bias + s->dim;
    d->gradient_size = (d->net.dback2 + s->width + 3) / 4 * 4;
    d->folding.matrices = d->net.n_matrices;
    d->folding.films = s->layers + 1 + s->learned;
    d->folding.temperature = s->temperature;
    d->folding.heat1_weight = s->heat1_weight;
    d->folding.heat1_bias = s->heat1_bias;
    d->folding.heat2_weight = s->heat2_weight;
    d->folding.heat2_bias = s->heat2_bias;
}

/* ------------------------------------------------------------------ pieces of matrices, for tiles */

enum { MOST_JOBS = SKED_I_STEPWISE_LAYERS * 12 + 16 };
struct job_list {
    step_outer_job at[MOST_JOBS];
    int count;
};

/* dw[rows, columns] = rows that are kept from tile a on, times slopes from tile y on. dbias: -1: none. */
static void add_jobs(job_list *list, int a, int rows, int y, int columns, int dweight, int dbias)
{
    const int side = STEP_OUTER_TILES * STEP_TILE;
    for (int i = 0; i < rows; i += side)
        for (int j = 0; j < columns; j += side)
            list->at[list->count++] = {a + i / STEP_TILE,
                                       y + j / STEP_TILE,
                                       rows - i < side ? rows - i : side,
                                       columns - j < side ? columns - j : side,
                                       dweight + i * columns + j,
                                       columns,
                                       i == 0 && dbias >= 0 ? dbias + j : -1};
}
static void add_matrix_jobs(job_list *list, int a, int y, const step_matrix *m)
{
    add_jobs(list, a, m->rows, y, m->columns, m->dweight, m->dbias);
}

static void list_jobs(const device *d, job_list *list)
{
    const step_net *z = &d->net;
    const int top = z->layers * KEPT_LAYER;
    const step_matrix *head = d->matrix + z->layers * STEP_MATRICES;
    for (int i = 0; i < z->layers; i++) {
        const step_matrix *m = d->matrix + i * STEP_MATRICES;
        const int at = i * KEPT_LAYER;
        add_matrix_jobs(list, at + KEPT_UNIT1, at + KEPT_DQKV, &m[STEP_QKV]);
        add_matrix_jobs(list, at + KEPT_MIXED, at + KEPT_DMIDDLE, &m[STEP_MERGE]);
        add_matrix_jobs(list, at + KEPT_UNIT2, at + KEPT_DHIDDEN, &m[STEP_MLP1]);
        add_matrix_jobs(list, at + KEPT_HIDDEN, at + KEPT_DOUT, &m[STEP_MLP2]);
    }
    add_matrix_jobs(list, top + KEPT_FORWARD, top + KEPT_DSLOTS, &head[STEP_FORWARD2]);
    add_matrix_jobs(list, top + KEPT_TOP, top + KEPT_DFORWARD, &head[STEP_FORWARD1]);
    add_jobs(list, step_kept_features(*z), z->inputs, top + KEPT_DX, z->dim, z->dinput, z->dinput_bias);
    if (!z->learned)
        return;
    add_matrix_jobs(list, top + KEPT_TOP, top + KEPT_DBACK, &head[STEP_BACK1]);
    add_jobs(list, top + KEPT_BACK, z->width, top + KEPT_DREMOVAL, 1, z->dback2, -1);
}

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

static sked_status upload(device *d, const void *to, const void *from, size_t bytes, sked_error *err)
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
    job_list jobs = {};
    const size_t matrices = (size_t)d->net.n_matrices;
    if (has_tile_widths(&d->net))
        list_jobs(d, &jobs);
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
    SKED_TRY(upload(d, d->net.matrix, d->matrix, matrices * sizeof *d->matrix, err));
    SKED_TRY(upload(d, d->folding.fold, d->fold, matrices * sizeof *d->fold, err));
    SKED_TRY(upload(d, d->folding.film, d->film, (size_t)d->folding.films * sizeof *d->film, err));
    SKED_TRY(upload(d, d->job, jobs.at, (size_t)jobs.count * sizeof *jobs.at, err));
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
    make_tables(d);
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
            SKED_TRY(upload(d, to[k], from[k], bytes, err));
        else
            CUDA_TRY(cudaMemsetAsync(to[k], 0, bytes, d->stream));
cleanup:
    return st;
}

/* Waits for all that was asked for. */
static sked_status settle(device *d, sked_error *err)
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
    SKED_TRY(settle(d, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ plans */

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The next `count` numbers: in shared memory while there is room, else in the block's piece. */
static int64_t place(kernel_plan *p, size_t most, int64_t count)
{
    const size_t bytes = (size_t)(count + 3) / 4 * 4 * sizeof(float);
    if (p->shared + bytes <= most) {
        p->shared += bytes;
        return (int64_t)((p->shared - bytes) / sizeof(float));
    }
    p->stride += (int64_t)(bytes / sizeof(float));
    return -1 - (p->stride - (int64_t)(bytes / sizeof(float)));
}

/* The same in shared memory or nowhere: -1. What is small enough to leave room for others. */
static int64_t place_inside(kernel_plan *p, size_t most, int64_t count)
{
    const size_t bytes = (size_t)(count + 3) / 4 * 4 * sizeof(float);
    return p->shared + bytes <= most ? place(p, most, count) : -1;
}

static void plan_rows(const device *d, bool gradient, kernel_plan *p)
{
    const step_net *z = &d->net;
    const int64_t n = d->most_ops, pad = SKED_STEP_PAD, dim = z->dim + pad, inner = z->inner + pad;
    const int64_t deep = most_of(most_of(z->inner, z->mlp), z->width) + pad;
    const int64_t wide = most_of(most_of(3 * z->inner, z->slots + z->width), z->mlp) + pad;
    const int64_t table = z->n_matrices * (int64_t)(sizeof(step_matrix) / sizeof(int));
    enum { small = 512 }; /* more numbers than this want more threads */
    *p = {};
    p->places.small = place(p, d->shared_most, table + n * (5 + (gradient ? 2 * SKED_I_HEADS : 0)));
    p->places.x = place(p, d->shared_most, n * dim);
    p->places.narrow = place(p, d->shared_most, n * (gradient ? most_of(2 * dim, inner) : dim));
    p->places.top = place(p, d->shared_most, n * dim);
    const int64_t inputs = (z->inputs + 7) / 8 * 8 + pad;
    const int64_t dqkv = most_of(3 * z->inner + pad, inputs);
    p->places.deep = place(p, d->shared_most, n * (gradient ? most_of(deep, dqkv) : deep));
    p->places.wide = place(p, d->shared_most, n * wide);
    p->places.masks = place_inside(p, d->shared_most, 2 * SKED_I_HEADS * n * ((n + 63) / 64));
    p->places.tables = gradient ? -1 : place_inside(p, d->shared_most, 12 * n + 3 * z->slots);
    p->threads = n * z->dim > small ? SKED_STEP_THREADS : 128;
}

static int64_t plan_kept(device *d)
{
    const step_net *z = &d->net;
    const int64_t n = (d->most_ops + 3) / 4 * 4;
    int64_t used = 0;
    struct {
        int64_t *at, size;
    } const list[] = {{&d->keep.unit1, n * z->dim},
                      {&d->keep.rstd1, n},
                      {&d->keep.qkv, 3 * n * z->inner},
                      {&d->keep.lse, n * SKED_I_HEADS},
                      {&d->keep.mixed, n * z->inner},
                      {&d->keep.unit2, n * z->dim},
                      {&d->keep.rstd2, n},
                      {&d->keep.active, n * z->mlp}};
    for (const auto &piece : list) {
        *piece.at = used;
        used += piece.size;
    }
    d->keep.stride = used;
    return used * z->layers;
}

/*
 * Blocks for the gradient of each problem. They depend on its own states and on the number of problems of the
 * whole update, not on what else is loaded: a sum of gradients has one order, however ranks share the update.
 */
static int share_blocks(device *d)
{
    const int at_once = d->graphs > 1 ? 2 : 1, wanted = at_once * d->processors / d->graphs;
    int next = 0;
    for (int k = 0; k < d->count; k++) {
        step_problem *p = &d->problem[k];
        const int64_t states = (int64_t)p->batch * (p->ops + 1);
        p->first_block = next;
        p->n_blocks = wanted < 1 ? 1 : wanted > states ? (int)states : wanted;
        next += p->n_blocks;
    }
    return next;
}

/* Numbers of `kinds` of mail. */
static int64_t mail_size(int64_t kinds, int tiles)
{
    return kinds * step_mail_lanes(tiles) * (int64_t)(sizeof(step_tile) / sizeof(float));
}

/* The same for tiles, of problems of up to so many ops: false where they do not fit. */
static bool plan_tiles(const device *d, int ops, bool gradient, kernel_plan *p)
{
    const step_net *z = &d->net;
    const int64_t n = ops, table = z->n_matrices * (int64_t)(sizeof(step_matrix) / sizeof(int));
    const int tiles = step_tiles_of(ops);
    *p = {};
    p->places.small = place_inside(p, d->shared_most, table + 5 * n);
    p->places.wide = place_inside(p, d->shared_most, n * z->slots);
    p->places.mail = place_inside(p, d->shared_most, mail_size(gradient ? MAIL_KINDS : MAIL_SLOPE, tiles));
    p->places.sums = place_inside(p, d->shared_most, gradient ? 2 * TILE_HEADS * tiles * STEP_TILE : 0);
    if (n > TILE_OPS || p->places.small < 0 || p->places.wide < 0 || p->places.mail < 0 || p->places.sums < 0)
        return false;
    p->places.masks = place_inside(p, d->shared_most, 2 * SKED_I_HEADS * n * ((n + 63) / 64));
    p->places.tables = gradient ? -1 : place_inside(p, d->shared_most, 12 * n + 3 * z->slots);
    p->threads = (int)most_of(tiles, gradient ? 1 : 2) * SKED_STEP_WARP; /* two warps choose */
    return true;
}

/* And where warps take tiles in turn. What all of them read is in shared memory first. */
static void plan_long(const device *d, int ops, bool gradient, kernel_plan *p)
{
    const step_net *z = &d->net;
    const int64_t n = ops, table = z->n_matrices * (int64_t)(sizeof(step_matrix) / sizeof(int));
    const int tiles = step_tiles_of(ops), turns = (tiles + LONG_WARPS - 1) / LONG_WARPS;
    *p = {};
    p->turns = true;
    p->places.small = place(p, d->shared_most, table + 5 * n);
    p->places.wide = place(p, d->shared_most, n * z->slots);
    p->places.sums = place(p, d->shared_most, gradient ? 2 * TILE_HEADS * tiles * STEP_TILE : 0);
    p->places.mail =
        place(p, d->shared_most, mail_size((gradient ? MAIL_KINDS : MAIL_SLOPE) - MAIL_KEY, tiles));
    p->places.masks = place_inside(p, d->shared_most, 2 * SKED_I_HEADS * n * ((n + 63) / 64));
    p->places.tables = -1;
    p->places.x = place(p, 0, (int64_t)tiles * LONG_ROW * SKED_STEP_WARP * 4);
    p->places.narrow = place(p, 0, mail_size(1, tiles));
    p->threads = (int)most_of((tiles + turns - 1) / turns, gradient ? 1 : 2) * SKED_STEP_WARP;
    p->blocks = d->processors;
}

/* The plan for the gradients of problems of so many row tiles. */
static void plan_states(const device *d, int tiles, kernel_plan *p)
{
    if (!plan_tiles(d, tiles * STEP_TILE, true, p))
        plan_long(d, tiles * STEP_TILE, true, p);
}

static int64_t states_of(const step_problem *p)
{
    return (int64_t)p->batch * (p->ops + 1);
}

static int64_t row_tiles_of(const step_problem *p)
{
    return states_of(p) * step_tiles_of(p->ops);
}

/*
 * How many row tiles are kept at once, and the parts of a problem's sum: the memory is that of the device,
 * not what is free of it, for the order of sums depends on it.
 */
static void plan_pass(device *d)
{
    const size_t most = (size_t)3 << 30, share = d->memory / 8 < most ? d->memory / 8 : most;
    const size_t tile = (size_t)SKED_STEP_WARP * ((size_t)step_kept_tiles(d->net) * sizeof(step_tile) +
                                                  (size_t)step_kept_scales(d->net) * sizeof(float2));
    const int parts = d->graphs < 32 ? 32 / d->graphs : 1;
    d->pass_tiles = (int64_t)(share / tile);
    for (int k = 0; k < d->count; k++) {
        d->problem[k].first_block = k * parts;
        d->problem[k].n_blocks = parts;
    }
    d->grad.blocks = d->count * parts;
}

/*
 * Where the pass that begins at state `from` ends: it takes whole problems while they fit. One that fits no
 * pass is cut on its own, evenly, so that its sum does not depend on the others. *taken: its row tiles.
 */
static int64_t end_of_pass(const device *d, int64_t from, int64_t *taken)
{
    int64_t past = 0, end = from;
    *taken = 0;
    for (int k = 0; k < d->count; k++) {
        const step_problem *p = &d->problem[k];
        const int64_t states = states_of(p), tiles = row_tiles_of(p);
        past += states;
        if (past <= from)
            continue;
        if (tiles > d->pass_tiles && end == from) {
            const int64_t at_once = most_of(d->pass_tiles / step_tiles_of(p->ops), 1),
                          passes = (states + at_once - 1) / at_once, size = (states + passes - 1) / passes;
            *taken = size * step_tiles_of(p->ops);
            return from + size < past ? from + size : past;
        }
        if (*taken + tiles > d->pass_tiles)
            break;
        *taken += tiles;
        end = past;
    }
    return end;
}

static int64_t states_of_all(const device *d)
{
    int64_t states = 0;
    for (int k = 0; k < d->count; k++)
        states += states_of(&d->problem[k]);
    return states;
}

/* Row tiles of the largest pass. */
static int64_t largest_pass(const device *d)
{
    const int64_t states = d->pass_tiles > 0 ? states_of_all(d) : 0;
    int64_t most = 0, taken;
    for (int64_t from = 0; from < states; most = most_of(most, taken))
        from = end_of_pass(d, from, &taken);
    return most;
}

static void choose_blocks(const device *d, draw_plan *p, int resident)
{
    const int64_t most = (int64_t)d->processors * resident;
    p->kernel.blocks = (int)(p->trajectories < most ? p->trajectories : most);
}

/* How schedules are drawn. Blocks that a processor does not take at once wait for others to end. */
static void plan_tile_draw(const device *d, draw_plan *p)
{
    const int threads = p->kernel.threads;
    const int roomy = SKED_STEP_THREADS / threads, dense = TILE_RESIDENT * TILE_FEW / threads;
    const int64_t few = (int64_t)d->processors * roomy, many = (int64_t)d->processors * dense;
    const bool fewer_rounds = (p->trajectories - 1) / many < (p->trajectories - 1) / few;
    p->how = threads <= TILE_FEW && fewer_rounds ? STEP_DRAW_DENSE : STEP_DRAW_TILES;
    choose_blocks(d, p, p->how == STEP_DRAW_DENSE ? dense : roomy);
}

/* Blocks that drew a long trajectory first draw a short one after it. */
static void order_turns(device *d)
{
    for (int k = 0; k < d->count; k++) {
        int at = k;
        for (; at > 0 && d->problem[d->problem[at - 1].turn].ops < d->problem[k].ops; at--)
            d->problem[at].turn = d->problem[at - 1].turn;
        d->problem[at].turn = k;
    }
}

/* Problems of p->least .. most ops, of all that are loaded: the longest, and how many schedules they want. */
static int count_problems(const device *d, draw_plan *p)
{
    int longest = 0;
    p->trajectories = 0;
    for (int k = 0; k < d->count; k++) {
        const step_problem *problem = &d->problem[k];
        if (problem->ops < p->least || problem->ops > p->most)
            continue;
        longest = problem->ops > longest ? problem->ops : longest;
        p->trajectories += problem->batch;
    }
    return longest;
}

/* Where a warp has a tile each, and longer ones. That depends on nothing else that is loaded. */
static void plan_tile_draws(device *d)
{
    draw_plan *const each = &d->draw[0], *const turns = &d->draw[1];
    int low = 0, high = TILE_OPS;
    while (low < high) { /* the most ops that fit */
        const int middle = (low + high + 1) / 2;
        if (plan_tiles(d, middle, false, &each->kernel))
            low = middle;
        else
            high = middle - 1;
    }
    *each = {{}, STEP_DRAW_TILES, 0, low, 0};
    *turns = {{}, STEP_DRAW_LONG, low + 1, INT_MAX, 0};
    if (count_problems(d, each) > 0 && plan_tiles(d, count_problems(d, each), false, &each->kernel))
        plan_tile_draw(d, each);
    if (count_problems(d, turns) > 0) {
        plan_long(d, count_problems(d, turns), false, &turns->kernel);
        choose_blocks(d, turns, 1);
    }
}

static void plan_row_draws(device *d)
{
    const int small = 4;
    draw_plan *p = &d->draw[0];
    *p = {{}, STEP_DRAW_ROWS, 0, INT_MAX, d->trajectories};
    d->draw[1] = {};
    plan_rows(d, false, &p->kernel);
    choose_blocks(d, p, p->kernel.threads < SKED_STEP_THREADS ? small : 1);
}

static void make_plans(device *d)
{
    d->most_ops = 1;
    d->trajectories = 0;
    for (int k = 0; k < d->count; k++) {
        d->most_ops = d->problem[k].ops > d->most_ops ? d->problem[k].ops : d->most_ops;
        d->trajectories += d->problem[k].batch;
    }
    order_turns(d);
    d->kept_size = 0;
    d->pass_tiles = 0;
    d->grad = {};
    d->tiled = d->job != NULL;
    if (d->tiled)
        plan_tile_draws(d);
    else
        plan_row_draws(d);
    if (d->gradients && d->tiled)
        plan_pass(d);
    if (!d->gradients || d->tiled)
        return;
    plan_rows(d, true, &d->grad);
    d->grad.blocks = share_blocks(d);
    d->kept_size = plan_kept(d);
}

/* ------------------------------------------------------------------ loads */

/* A piece of memory that is filled on the host and uploaded: host NULL only measures. */
struct packer {
    char *host, *there;
    size_t used;
};

static void *pack(packer *b, const void *from, size_t bytes)
{
    char *at = b->there + b->used;
    if (b->host != NULL && bytes > 0)
        memcpy(b->host + b->used, from, bytes);
    b->used += (bytes + 15) / 16 * 16;
    return at;
}

/* Rows of a graph as int32: it has fewer edges than that (8 bytes each have been allocated). */
static int32_t *pack_rows(packer *b, const int64_t *row, int32_t n)
{
    int32_t *at = (int32_t *)(b->there + b->used);
    for (int32_t i = 0; i <= n && b->host != NULL; i++)
        ((int32_t *)(b->host + b->used))[i] = (int32_t)row[i];
    b->used += ((size_t)n + 1 + 3) / 4 * 4 * sizeof *at;
    return at;
}

static void pack_problem(const device *d, packer *b, const sked_i_stepwise_problem *from, step_problem *p)
{
    const size_t n = (size_t)from->ops, m = (size_t)from->edges;
    p->succ_ptr = pack_rows(b, from->succ_ptr, from->ops);
    p->pred_ptr = pack_rows(b, from->pred_ptr, from->ops);
    p->succ = (const int32_t *)pack(b, from->succ, m * sizeof(int32_t));
    p->pred = (const int32_t *)pack(b, from->pred, m * sizeof(int32_t));
    p->lag = (const double *)pack(b, from->lag, m * sizeof(double));
    p->duration = (const double *)pack(b, from->duration, n * sizeof(double));
    p->tail = (const double *)pack(b, from->tail, n * sizeof(double));
    p->masks =
        (const uint64_t *)pack(b, from->masks, SKED_I_HEADS * n * (size_t)from->words * sizeof(uint64_t));
    p->ops = from->ops;
    p->devices = from->devices;
    p->batch = from->batch;
    p->listed = from->listed;
    p->walk = from->walk;
    p->words = (int)from->words;
    p->work = from->work;
    p->unit = from->unit;
    p->temperature = from->temperature;
    p->sharpness = d->net.ruled ? (float)from->sharpness : 1;
    p->log_devices = (float)log((double)from->devices);
    for (int i = 0; i < SKED_I_STEPWISE_HEAT; i++)
        p->heat[i] = (float)from->heat[i];
    p->seed = from->seed;
    p->first = from->first;
    p->law = from->loss;
    p->law.entropy /= (double)p->batch * p->ops;
}

static void cut_problem(const device *d, sked_i_cuda_arena *a, step_problem *p)
{
    const int64_t cells = (int64_t)p->batch * p->ops, columns = (int64_t)p->batch * p->devices;
    int32_t **const words[] = {&p->op,       &p->device,  &p->at,    &p->on,
                               &p->ready_at, &p->gone_at, &p->queue, &p->waits};
    double **const numbers[] = {&p->start, &p->data, &p->noise},
                   **const of_batch[] = {&p->log_forward, &p->log_backward, &p->makespan};
    for (int32_t **w : words)
        *w = SKED_CUT(a, int32_t, cells);
    for (double **x : numbers)
        *x = SKED_CUT(a, double, cells);
    for (double **x : of_batch)
        *x = SKED_CUT(a, double, p->batch);
    p->free_at = SKED_CUT(a, double, columns);
    p->last = SKED_CUT(a, int32_t, columns);
    p->rng = SKED_CUT(a, uint64_t, 4 * (int64_t)p->batch);
    p->queued = SKED_CUT(a, int32_t, p->batch);
    p->folded = SKED_CUT(a, float, d->folded_size);
    p->tiles = d->tiled ? SKED_CUT(a, step_tile, d->tile_count * SKED_STEP_WARP) : NULL;
    p->film = SKED_CUT(a, float, 2 * d->folding.film_size);
    p->warmth = SKED_CUT(a, float, 4 * d->folding.temperature);
    if (!d->gradients)
        return;
    p->free_until = d->net.ruled ? SKED_CUT(a, double, cells * p->devices) : NULL;
    p->slope = SKED_CUT(a, float, p->batch);
    p->gradient = SKED_CUT(a, float, d->shape.total);
    p->folded_gradient = SKED_CUT(a, float, d->gradient_size);
    if (p->law.kind != SKED_I_LOSS_PPO)
        return;
    p->log_step = SKED_CUT(a, double, cells);
    p->value = SKED_CUT(a, double, cells);
}

/* Numbers in global memory that blocks of any kernel have of their own. */
static int64_t scratch_size(const device *d)
{
    int64_t most = (int64_t)d->grad.blocks * (d->grad.stride + d->kept_size);
    for (const draw_plan &p : d->draw)
        most = most_of(most, p.kernel.blocks * p.kernel.stride);
    for (int k = 0; k < d->count && d->gradients && d->tiled; k++) {
        kernel_plan states;
        plan_states(d, step_tiles_of(d->problem[k].ops), &states);
        most = most_of(most, states.blocks * states.stride);
    }
    return most;
}

static void cut_load(device *d, sked_i_cuda_arena *a, size_t blob)
{
    char *there = (char *)sked_i_cuda_arena_cut(a, blob);
    d->problem_there = (step_problem *)there;
    d->loss = SKED_CUT(a, double, STEP_LOSS_NUMBERS * d->count);
    d->trouble = SKED_CUT(a, int32_t, d->trajectories);
    d->share = SKED_CUT(a, float, d->count);
    for (int k = 0; k < d->count; k++)
        cut_problem(d, a, &d->problem[k]);
    d->block_gradients = SKED_CUT(a, float, d->grad.blocks * d->gradient_size);
    d->scratch = SKED_CUT(a, float, scratch_size(d));
    const int64_t lanes = largest_pass(d) * SKED_STEP_WARP;
    d->pass.kept = SKED_CUT(a, step_tile, lanes * step_kept_tiles(d->net));
    d->pass.scale = SKED_CUT(a, float2, lanes * step_kept_scales(d->net));
    int64_t first = 0;
    for (int k = 0; k < d->count && there != NULL; k++) {
        d->problem[k].loss = d->loss + STEP_LOSS_NUMBERS * k;
        d->problem[k].trouble = d->trouble + first;
        first += d->problem[k].batch;
    }
}

static size_t pack_load(device *d, const sked_i_stepwise_problem *problem, char *host)
{
    packer b = {host, (char *)d->problem_there, 0};
    pack(&b, d->problem, (size_t)d->count * sizeof *d->problem);
    for (int k = 0; k < d->count; k++)
        pack_problem(d, &b, &problem[k], &d->problem[k]);
    if (host != NULL) /* again: now the pointers are known */
        memcpy(host, d->problem, (size_t)d->count * sizeof *d->problem);
    return b.used;
}

/* Room for the load, in the memory there is or in new. */
static sked_status open_load(device *d, size_t blob, sked_error *err)
{
    char what[80];
    sked_i_cuda_arena count = {};
    cut_load(d, &count, blob);
    if (count.used > d->work.size) {
        snprintf(what, sizeof what, "stepwise policy: %d graph%s of up to %d ops, %lld trajectories,",
                 d->count, d->count == 1 ? "" : "s", d->most_ops, (long long)d->trajectories);
        sked_status st = settle(d, err); /* the last update may still read there */
        sked_i_cuda_arena_close(&d->work);
        d->work.used = count.used;
        if (st == SKED_OK)
            st = sked_i_cuda_arena_open(&d->work, what, err);
        if (st != SKED_OK) {
            d->work = {};
            d->count = 0;
            return st;
        }
    }
    d->work.used = 0;
    cut_load(d, &d->work, blob);
    return SKED_OK;
}

static sked_status device_load(sked_i_stepwise_device *d, int count, const sked_i_stepwise_problem *problem,
                               bool gradients, sked_error *err)
{
    sked_status st = SKED_OK;
    size_t blob;
    d->count = 0;
    d->drawn = false;
    free(d->problem);
    free(d->blob);
    d->blob = NULL;
    d->problem = (step_problem *)sked_i_alloc_zero(count, sizeof *d->problem);
    if (d->problem == NULL)
        return sked_i_no_memory(err);
    d->count = count;
    d->graphs = problem[0].graphs > count ? problem[0].graphs : count;
    d->gradients = gradients;
    d->problem_there = NULL;
    blob = pack_load(d, problem, NULL);
    make_plans(d);
    d->blob = (char *)sked_i_alloc((int64_t)blob, 1);
    if (d->blob == NULL) {
        d->count = 0;
        return sked_i_no_memory(err);
    }
    SKED_TRY(open_load(d, blob, err));
    pack_load(d, problem, d->blob);
    SKED_TRY(upload(d, d->problem_there, d->blob, blob, err));
    for (int k = 0; k < count; k++)
        if (problem[k].walk == SKED_I_STEPWISE_REPLAY) {
            const size_t bytes = (size_t)problem[k].batch * (size_t)problem[k].ops * sizeof(int32_t);
            SKED_TRY(upload(d, d->problem[k].op, problem[k].op, bytes, err));
            SKED_TRY(upload(d, d->problem[k].device, problem[k].device, bytes, err));
        }
    for (const draw_plan &p : d->draw)
        if (p.trajectories > 0)
            CUDA_TRY(sked_i_step_draw_allow(p.how, p.kernel.shared));
    if (gradients && !d->tiled)
        CUDA_TRY(sked_i_step_grad_allow(d->grad.shared));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ work */

static step_load load_of(const device *d, const kernel_plan *p, bool keeps)
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
static int64_t states_at_once(const device *d, const kernel_plan *p, int ops)
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
    const sked_status st = d->limit != NULL ? settle(d, err) : SKED_OK;
    return st == SKED_OK && sked_i_limit_heard(d->limit) ? sked_i_limit_fail(err) : st;
}

/* The problems of one plan, in launches that end soon. */
static sked_status run_draws(device *d, const draw_plan *p, int ops, sked_error *err)
{
    sked_status st = SKED_OK;
    const kernel_plan *kernel = &p->kernel;
    const step_load l = load_of(d, kernel, false);
    const int64_t waves = (p->trajectories + kernel->blocks - 1) / kernel->blocks;
    const int64_t steps = most_of(states_at_once(d, kernel, ops) / waves, 1);
    for (int64_t from = 0; from <= ops; from += steps) {
        const step_walk walk = {p->least, p->most, (int)from,
                                (int)(from + steps < ops + 1 ? from + steps : ops + 1)};
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
    for (draw_plan &p : d->draw) {
        const int ops = count_problems(d, &p);
        if (p.trajectories > 0)
            SKED_TRY(run_draws(d, &p, ops, err));
    }
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
    SKED_TRY(settle(d, err));
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
        kernel_plan plan;
        if (!has_tiles(d, pass->tiles))
            continue;
        plan_states(d, pass->tiles, &plan);
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
    const int64_t states = states_of_all(d);
    int64_t taken;
    step_pass pass = d->pass;
    pass.job = d->job;
    pass.jobs = d->n_jobs;
    for (pass.from = 0; pass.from < states; pass.from = pass.end) {
        pass.end = end_of_pass(d, pass.from, &taken);
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
    const int64_t at_once = most_of(states_at_once(d, &d->grad, d->most_ops) / 4, 1);
    int64_t rounds = 0;
    for (int k = 0; k < d->count; k++) {
        const int64_t states = (int64_t)d->problem[k].batch * (d->problem[k].ops + 1);
        rounds = most_of(rounds, (states + d->problem[k].n_blocks - 1) / d->problem[k].n_blocks);
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
    SKED_TRY(settle(d, err));
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
    SKED_TRY(settle(d, err));
cleanup:
    return st;
}

static sked_status device_update(sked_i_stepwise_device *d, const float *gradient, const float *share,
                                 double rate, double left1, double left2, sked_error *err)
{
    sked_status st = SKED_OK;
    const step_adam adam = {rate, left1, left2};
    if (gradient != NULL)
        SKED_TRY(upload(d, d->sum, gradient, (size_t)d->shape.total * sizeof(float), err));
    else
        SKED_TRY(upload(d, d->share, share, (size_t)d->count * sizeof(float), err));
    sked_i_step_adam(d->problem_there, d->count, d->share, gradient != NULL ? d->sum : NULL, d->shape.total,
                     &adam, d->parameter, d->moment1, d->moment2, d->stream);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

extern "C" {
const sked_i_stepwise_backend sked_i_stepwise_cuda = {
    device_create,  device_destroy, device_write, device_read,     device_load,  device_draw,
    device_outcome, device_again,   device_learn, device_gradient, device_update};
}
