/* The encode-once policy on a GPU: memory, copies and the order of launches. */
#include "backend/cuda/gflownet_once.h"

#include <math.h>
#include <new>
#include <stdio.h>
#include <string.h>

extern "C" {
#include "base/memory.h"
}

/* Host memory that copies need not go around; it grows. */
struct pinned {
    char *at;
    size_t size;
};

/* What comes back in one copy. */
struct results {
    double *log_forward, *log_backward, *makespan; /* [walks] */
    double *loss, *norm;                           /* [lessons, ONCE_LOSSES], [lessons] */
    int32_t *status, *steps;                       /* [walks], ops and devices of all trajectories */
    size_t numbers, bytes;                         /* up to the steps, and with them */
    char *begin;
};

struct sked_i_once_device {
    sked_i_once_shape shape;
    cudaStream_t stream;
    int multiprocessors, most_shared;
    sked_i_cuda_arena fixed, work;
    float *parameter, *moment1, *moment2, *gradient;
    float *state_turned, *device_turned, *back_state_turned, *back_turned;
    pinned up, down;
    /* The call under way. */
    once_lesson *lesson;       /* [model.lessons] */
    sked_i_once_walks **walks; /* the same */
    int64_t room;              /* for so many */
    once_model model;
    once_encoder encoder;
    results out; /* on the device */
    char *upload;
    size_t upload_bytes;
    int32_t threads, most_ops;
    int64_t steps; /* ops and devices of all trajectories */
    double *partial_norm;
    float *partial_sum;
    int64_t zero_bytes; /* gradients of rows that begin as zeros */
    char *zero;
    bool grad, saves;
};

static sked_status pinned_reserve(pinned *p, size_t bytes, sked_error *err)
{
    sked_status st = SKED_OK;
    if (bytes <= p->size)
        return SKED_OK;
    cudaFreeHost(p->at);
    *p = {};
    CUDA_TRY(cudaMallocHost((void **)&p->at, bytes + bytes / 2));
    p->size = bytes + bytes / 2;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the model */

static void place_model(sked_i_once_device *d)
{
    const sked_i_once_shape *s = &d->shape;
    const int64_t c = s->context, w = s->width, back = s->learned;
    sked_i_cuda_arena *a = &d->fixed;
    d->parameter = SKED_CUT(a, float, s->total);
    d->moment1 = SKED_CUT(a, float, s->total);
    d->moment2 = SKED_CUT(a, float, s->total);
    d->gradient = SKED_CUT(a, float, s->total);
    d->state_turned = SKED_CUT(a, float, 2 * c * w);
    d->device_turned = SKED_CUT(a, float, c *w);
    d->back_state_turned = SKED_CUT(a, float, back * 2 * c * w);
    d->back_turned = SKED_CUT(a, float, back *c *w);
}

/*
 * The last one that was put away waits here for the next call: memory and streams take longer than a thousand
 * draws of 50 ops. What it holds is bounded.
 */
static sked_i_once_device *idle;
static const size_t idle_bytes = (size_t)64 << 20;

static void release(sked_i_once_device *d)
{
    if (d == NULL)
        return;
    if (d->stream != NULL) {
        cudaStreamSynchronize(d->stream);
        cudaStreamDestroy(d->stream);
    }
    sked_i_cuda_arena_close(&d->fixed);
    sked_i_cuda_arena_close(&d->work);
    cudaFreeHost(d->up.at);
    cudaFreeHost(d->down.at);
    free(d->lesson);
    free(d->walks);
    delete d;
}

static void destroy(sked_i_once_device *d)
{
    if (d != NULL && d->work.size <= idle_bytes && d->up.size <= idle_bytes && d->down.size <= idle_bytes &&
        cudaStreamSynchronize(d->stream) == cudaSuccess)
        d = __atomic_exchange_n(&idle, d, __ATOMIC_ACQ_REL);
    release(d);
}

static bool same_shape(const sked_i_once_shape *a, const sked_i_once_shape *b)
{
    return a->dim == b->dim && a->layers == b->layers && a->head == b->head && a->mlp == b->mlp &&
           a->temperature == b->temperature && a->context == b->context && a->width == b->width &&
           a->learned == b->learned && a->total == b->total;
}

static sked_status create(const sked_i_once_shape *shape, sked_i_once_device **out, sked_error *err)
{
    sked_status st = SKED_OK;
    int device = 0;
    sked_i_once_device *d = __atomic_exchange_n(&idle, NULL, __ATOMIC_ACQ_REL);
    if (d != NULL && same_shape(&d->shape, shape)) {
        *out = d;
        return SKED_OK;
    }
    release(d);
    d = new (std::nothrow) sked_i_once_device();
    if (d == NULL)
        return sked_i_no_memory(err);
    d->shape = *shape;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CUDA_TRY(cudaDeviceGetAttribute(&d->most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUDA_TRY(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    d->most_shared -= 6144; /* what kernels have of a fixed size */
    SKED_TRY(once_walk_setup(d->most_shared, err));
    place_model(d);
    SKED_TRY(sked_i_cuda_arena_open(&d->fixed, "the model", err));
    place_model(d);
    *out = d;
    d = NULL;
cleanup:
    release(d);
    return st;
}

static sked_status upload(sked_i_once_device *d, const float *from, float *to, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)d->shape.total * sizeof(float);
    if (from == NULL) {
        CUDA_TRY(cudaMemsetAsync(to, 0, bytes, d->stream));
    } else {
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->stream));
        CUDA_TRY(cudaStreamSynchronize(d->stream)); /* the caller's memory is free again */
    }
cleanup:
    return st;
}

static sked_status put(sked_i_once_device *d, const float *parameter, const float *moment1,
                       const float *moment2, sked_error *err)
{
    sked_status st = upload(d, parameter, d->parameter, err);
    if (st == SKED_OK)
        st = upload(d, moment1, d->moment1, err);
    if (st == SKED_OK)
        st = upload(d, moment2, d->moment2, err);
    return st;
}

static sked_status get(sked_i_once_device *d, float *parameter, float *moment1, float *moment2,
                       sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)d->shape.total * sizeof(float);
    float *const to[] = {parameter, moment1, moment2}, *const from[] = {d->parameter, d->moment1, d->moment2};
    for (int k = 0; k < 3; k++)
        if (to[k] != NULL)
            CUDA_TRY(cudaMemcpyAsync(to[k], from[k], bytes, cudaMemcpyDeviceToHost, d->stream));
    CUDA_TRY(cudaStreamSynchronize(d->stream));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ memory of a call */

static once_layout lay_out(const sked_i_once_device *d, int32_t shared)
{
    return once_lay_out(&d->shape, d->threads, d->grad, shared / 16 * 16, d->model.lessons, d->lesson);
}

/*
 * As many walks in a block as there is room for: two at least where they have few threads, be there as many
 * or not, so that it does not depend on their number which kernel takes them.
 */
static bool lay_out_preset(sked_i_once_device *d)
{
    const int32_t processors = d->multiprocessors, walks = d->model.walks;
    const int32_t least = d->threads > ONCE_FEWER ? 1 : 2;
    const int32_t each = walks > 0 ? (walks + processors - 1) / processors : 1;
    const int32_t room = d->threads > ONCE_FEWER ? 1 : d->grad ? ONCE_SIDE_GRAD : ONCE_SIDE;
    if (d->shape.width != ONCE_PRESET || d->shape.context != ONCE_PRESET || d->shape.learned)
        return false;
    for (int32_t fit = each < least ? least : each < room ? each : room; fit >= least; fit--) {
        once_layout at = lay_out(d, (d->most_shared - ONCE_WEIGHTS) / fit);
        if (!at.inside)
            continue;
        at.preset = true;
        at.side = each < fit ? each : fit;
        at.blocks = (walks + at.side - 1) / at.side;
        if (d->threads == ONCE_FEWER && at.blocks > processors)
            at.blocks = processors;
        d->model.layout = at;
        return true;
    }
    return false;
}

/* Trajectories side by side decide how much shared memory each may have, and how many threads: as measured.
 */
static void choose_block(sked_i_once_device *d, int64_t walks, int64_t crowd)
{
    const int64_t each = (walks + d->multiprocessors - 1) / d->multiprocessors, most = d->grad ? 6 : 8;
    const int64_t side_by_side = each < 1 ? 1 : each > most ? most : each;
    const int32_t shared = (int32_t)((d->most_shared + 1024) / side_by_side - 2048);
    d->threads = crowd > 2 * d->multiprocessors ? ONCE_FEWER : ONCE_MORE; /* sums depend on it */
    if (lay_out_preset(d))
        return;
    d->model.layout = lay_out(d, shared);
    if (!d->model.layout.inside && d->threads > ONCE_FEWER) { /* fewer threads need less room */
        d->threads = ONCE_FEWER;
        d->model.layout = lay_out(d, shared);
    }
}

/* Everything that is copied to the device, with pointers into it; counts where p has no host memory. */
static void pack_all(sked_i_once_device *d, once_pack *p)
{
    once_model *m = &d->model;
    once_lesson *lessons = p->host != NULL ? (once_lesson *)p->host : NULL;
    m->lesson = (const once_lesson *)p->at;
    p->used = ((size_t)d->model.lessons * sizeof(once_lesson) + 15) / 16 * 16;
    int32_t *row_lesson = p->host != NULL ? (int32_t *)(p->host + p->used) : NULL;
    m->row_lesson = (const int32_t *)(p->at + p->used);
    p->used += ((size_t)m->rows * sizeof(int32_t) + 15) / 16 * 16;
    int32_t *walk_lesson = p->host != NULL ? (int32_t *)(p->host + p->used) : NULL;
    m->walk_lesson = (const int32_t *)(p->at + p->used);
    p->used += ((size_t)m->walks * sizeof(int32_t) + 15) / 16 * 16;
    float *feature = p->host != NULL ? (float *)(p->host + p->used) : NULL;
    d->encoder.feature = (float *)(p->at + p->used);
    p->used += (size_t)m->rows * SKED_I_ONCE_STATIC * sizeof(float);
    for (size_t b = 0; b < (size_t)d->model.lessons; b++) {
        once_lesson *l = &d->lesson[b];
        once_pack_lesson(p, d->walks[b], l);
        if (lessons == NULL)
            continue;
        lessons[b] = *l;
        for (int32_t i = 0; i < l->n; i++)
            row_lesson[l->first_row + i] = (int32_t)b;
        for (int32_t k = 0; k < l->count; k++)
            walk_lesson[l->first_walk + k] = (int32_t)b;
        for (int64_t i = 0; i < (int64_t)l->n * SKED_I_ONCE_STATIC; i++)
            feature[(int64_t)l->first_row * SKED_I_ONCE_STATIC + i] = (float)d->walks[b]->problem->feature[i];
    }
}

static void place_results(sked_i_once_device *d, char *begin, results *r)
{
    const size_t walks = (size_t)d->model.walks, lessons = (size_t)d->model.lessons;
    r->begin = begin;
    r->log_forward = (double *)begin;
    r->log_backward = r->log_forward + walks;
    r->makespan = r->log_backward + walks;
    r->loss = r->makespan + walks;
    r->norm = r->loss + ONCE_LOSSES * lessons;
    r->status = (int32_t *)(r->norm + lessons);
    r->steps = r->status + walks;
    r->numbers = (size_t)((char *)r->steps - begin);
    r->bytes = r->numbers + (size_t)d->steps * sizeof(int32_t);
}

static void place_layer(sked_i_cuda_arena *a, const sked_i_once_shape *s, int64_t rows, bool grad,
                        once_layer *l)
{
    const int64_t inner = (int64_t)HEADS * s->head;
    l->in = SKED_CUT(a, float, rows * s->dim);
    l->norm1 = SKED_CUT(a, float, rows * s->dim);
    l->stat1 = SKED_CUT(a, float, rows * 2);
    l->qkv = SKED_CUT(a, float, rows * 3 * inner);
    l->mixed = SKED_CUT(a, float, rows *inner);
    l->lse = SKED_CUT(a, float, rows *HEADS);
    l->middle = SKED_CUT(a, float, rows * s->dim);
    l->norm2 = SKED_CUT(a, float, rows * s->dim);
    l->stat2 = SKED_CUT(a, float, rows * 2);
    l->hidden = SKED_CUT(a, float, rows * s->mlp);
    l->active = SKED_CUT(a, float, rows * s->mlp);
    if (!grad)
        return;
    l->dout = SKED_CUT(a, float, rows * s->dim);
    l->dfilmed = SKED_CUT(a, float, rows * s->mlp);
    l->dnorm2 = SKED_CUT(a, float, rows * s->dim);
    l->dmiddle = SKED_CUT(a, float, rows * s->dim);
    l->dqkv = SKED_CUT(a, float, rows * 3 * inner);
    l->dnorm1 = SKED_CUT(a, float, rows * s->dim);
}

/* Without gradients all layers work in the same memory, but for the row that goes on. */
static void place_encoder(sked_i_once_device *d, sked_i_cuda_arena *a)
{
    const sked_i_once_shape *s = &d->shape;
    const int64_t rows = d->model.rows, inner = (int64_t)HEADS * s->head;
    const int64_t lessons = d->model.lessons, widest = s->mlp > s->width ? s->mlp : s->width;
    once_encoder *e = &d->encoder;
    float *other = d->grad ? NULL : SKED_CUT(a, float, rows * s->dim);
    for (int k = 0; k < s->layers; k++) {
        if (k == 0 || d->grad)
            place_layer(a, s, rows, d->grad, &e->layer[k]);
        else
            e->layer[k] = e->layer[0];
        if (!d->grad && k % 2 == 1)
            e->layer[k].in = other;
    }
    e->last = SKED_CUT(a, float, rows * s->dim);
    e->stat = SKED_CUT(a, float, rows * 2);
    e->out = SKED_CUT(a, float, rows * s->dim);
    if (!d->grad)
        return;
    e->dplain = SKED_CUT(a, float, rows * s->width);
    e->dwait = SKED_CUT(a, float, rows * s->context);
    e->dlast = SKED_CUT(a, float, rows * s->context);
    e->dembedding = SKED_CUT(a, float, rows * s->dim);
    e->dinput = SKED_CUT(a, float, rows * s->dim);
    e->dmixed = SKED_CUT(a, float, rows *inner);
    e->dfilm = SKED_CUT(a, float, lessons *(s->layers + 1) * 2 * widest);
    e->gradient = SKED_CUT(a, float, lessons * s->total);
}

static void place_rows(sked_i_once_device *d, sked_i_cuda_arena *a)
{
    const sked_i_once_shape *s = &d->shape;
    once_model *m = &d->model;
    const int64_t lessons = m->lessons, rows = m->rows;
    m->heat1 = SKED_CUT(a, float, lessons * s->temperature);
    m->heat2 = SKED_CUT(a, float, lessons * s->temperature);
    m->film = SKED_CUT(a, float, lessons * s->layers * 2 * s->mlp);
    m->scale = SKED_CUT(a, float, lessons * s->width);
    m->shift = SKED_CUT(a, float, lessons * s->width);
    m->out = SKED_CUT(a, float, lessons * s->width);
    m->direct = SKED_CUT(a, float, lessons *DIRECT);
    m->empty = SKED_CUT(a, float, lessons * s->context);
    m->empty_part = SKED_CUT(a, float, lessons * s->width);
    m->first_sum = SKED_CUT(a, float, lessons * s->context);
    m->plain = SKED_CUT(a, float, rows * s->width);
    m->op = SKED_CUT(a, float, rows * s->width);
    m->wait = SKED_CUT(a, float, rows * s->context);
    m->last = SKED_CUT(a, float, rows * s->context);
}

/* What the trajectories of a problem keep, and with gradients what they say. */
static void place_walks(sked_i_once_device *d, sked_i_cuda_arena *a, once_lesson *l)
{
    const int64_t w = d->shape.width, c = d->shape.context, n = l->n, count = l->count,
                  back = d->shape.learned;
    const once_layout *layout = &d->model.layout;
    l->global = SKED_CUT(a, char, count * layout->stride);
    l->saved = d->saves ? SKED_CUT(a, char, count *(int64_t)layout->shared_bytes) : NULL;
    if (!d->grad)
        return;
    l->turned = SKED_CUT(a, uint64_t, HEADS * n * l->words);
    l->states = SKED_CUT(a, float, count *n *(2 * c + SKED_I_ONCE_STATE));
    l->dbases = SKED_CUT(a, float, count *n *w);
    l->versions = SKED_CUT(a, float, count * 2 * n * c);
    l->dversions = SKED_CUT(a, float, count * 2 * n * w);
    l->back_states = SKED_CUT(a, float, back *count *n *(2 * c + SKED_I_ONCE_BACK));
    l->dbacks = SKED_CUT(a, float, back *count *n *w);
    l->dback_versions = SKED_CUT(a, float, back *count * 2 * n * w);
    l->small = SKED_CUT(a, float, count * d->model.at.small);
    l->sums = SKED_CUT(a, float, n *(w + 2 * c) + d->model.at.total);
}

/* Rows that begin as zeros lie together. */
static void place_zeros(sked_i_once_device *d, sked_i_cuda_arena *a)
{
    const int64_t w = d->shape.width, c = d->shape.context;
    const size_t begin = a->used;
    d->zero = SKED_CUT(a, char, 0);
    for (int32_t b = 0; b < d->model.lessons; b++) {
        once_lesson &l = d->lesson[b];
        l.dop = SKED_CUT(a, float, (int64_t)l.count *l.n *w);
        l.dwait = SKED_CUT(a, float, (int64_t)l.count *l.n *c);
        l.dlast = SKED_CUT(a, float, (int64_t)l.count *l.n *c);
    }
    d->zero_bytes = (int64_t)(a->used - begin);
}

static void place_all(sked_i_once_device *d, sked_i_cuda_arena *a)
{
    once_model *m = &d->model;
    const int64_t walks = m->walks, lessons = m->lessons;
    results count = {};
    place_results(d, NULL, &count);
    d->upload = SKED_CUT(a, char, d->upload_bytes);
    place_results(d, SKED_CUT(a, char, count.bytes), &d->out);
    m->log_forward = d->out.log_forward;
    m->log_backward = d->out.log_backward;
    m->makespan = d->out.makespan;
    m->status = d->out.status;
    int32_t *steps = d->out.steps;
    for (int32_t b = 0; b < d->model.lessons; b++) {
        once_lesson &l = d->lesson[b];
        l.op = steps;
        l.device = steps + (int64_t)l.count * l.n;
        steps += 2 * (int64_t)l.count * l.n;
        l.log_step = d->walks[b]->log_step ? SKED_CUT(a, double, (int64_t)l.count *l.n) : NULL;
        l.credit = d->walks[b]->slope ? SKED_CUT(a, double, l.count) : NULL;
        place_walks(d, a, &l);
    }
    place_rows(d, a);
    place_encoder(d, a);
    if (!d->grad)
        return;
    place_zeros(d, a);
    m->slope = SKED_CUT(a, double, walks);
    m->value = SKED_CUT(a, double, walks);
    m->n_versions = SKED_CUT(a, int32_t, walks);
    d->partial_norm = SKED_CUT(a, double, lessons *ONCE_NORM_BLOCKS);
    d->partial_sum = SKED_CUT(a, float, lessons *ONCE_SPLITS *(m->at.total - m->at.small));
}

/* Steps of a launch: a few milliseconds, whatever the number of trajectories. */
static int32_t steps_at_once(const sked_i_once_device *d)
{
    const int64_t waves = 1 + d->model.walks / ((int64_t)d->multiprocessors * 8);
    return (int32_t)(waves < 32 ? 512 / waves : 16);
}

static sked_status make_room(sked_i_once_device *d, int32_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    if (count <= d->room)
        return SKED_OK;
    free(d->lesson);
    free(d->walks);
    d->room = 0;
    d->lesson = (once_lesson *)sked_i_alloc(count, sizeof *d->lesson);
    d->walks = (sked_i_once_walks **)sked_i_alloc(count, sizeof *d->walks);
    if (d->lesson == NULL || d->walks == NULL)
        st = sked_i_no_memory(err);
    else
        d->room = count;
    return st;
}

/* Sizes of a call; returns the bytes of device memory that it needs. */
static size_t measure(sked_i_once_device *d, int32_t count, sked_i_once_walks *w, bool grad)
{
    once_model *m = &d->model;
    sked_i_cuda_arena counting = {};
    once_pack pack = {};
    int64_t walks = 0, rows = 0;
    d->grad = grad;
    memset((void *)d->lesson, 0, (size_t)count * sizeof *d->lesson);
    d->steps = 0;
    d->most_ops = 0;
    for (int32_t b = 0; b < count; b++) {
        const sked_i_once_problem *x = w[b].problem;
        d->walks[b] = &w[b];
        d->lesson[b].first_row = (int32_t)rows;
        d->lesson[b].first_walk = (int32_t)walks;
        rows += x->n;
        walks += w[b].count;
        d->steps += 2 * (int64_t)w[b].count * x->n;
        d->most_ops = x->n > d->most_ops ? x->n : d->most_ops;
    }
    *m = {};
    m->shape = d->shape;
    m->at = once_small_of(&d->shape);
    m->parameter = d->parameter;
    m->state_turned = d->state_turned;
    m->device_turned = d->device_turned;
    m->back_state_turned = d->back_state_turned;
    m->back_turned = d->back_turned;
    m->lessons = count;
    m->rows = (int32_t)rows;
    m->walks = (int32_t)walks;
    d->saves = d->most_ops > steps_at_once(d);
    pack_all(d, &pack);
    d->upload_bytes = pack.used;
    choose_block(d, walks, w[0].crowd > 0 ? w[0].crowd : walks);
    place_all(d, &counting);
    return counting.used;
}

/* Trajectories that are given: into the block that is copied. */
static sked_status upload_steps(sked_i_once_device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    for (size_t b = 0; b < (size_t)d->model.lessons; b++) {
        const once_lesson *l = &d->lesson[b];
        const size_t bytes = (size_t)l->count * (size_t)l->n * sizeof(int32_t);
        if (!l->replay)
            continue;
        CUDA_TRY(cudaMemcpyAsync(l->op, d->walks[b]->op, bytes, cudaMemcpyHostToDevice, d->stream));
        CUDA_TRY(cudaMemcpyAsync(l->device, d->walks[b]->device, bytes, cudaMemcpyHostToDevice, d->stream));
        if (l->credit != NULL) {
            CUDA_TRY(cudaMemcpyAsync(l->log_step, d->walks[b]->log_step, 2 * bytes, cudaMemcpyHostToDevice,
                                     d->stream));
            CUDA_TRY(cudaMemcpyAsync(l->credit, d->walks[b]->slope, (size_t)l->count * sizeof(double),
                                     cudaMemcpyHostToDevice, d->stream));
        }
        CUDA_TRY(cudaStreamSynchronize(d->stream));
    }
cleanup:
    return st;
}

/* DEVICE, with what would fit, where there is not enough memory for the call. */
static sked_status check_memory(const sked_i_once_device *d, size_t need, const char *what, sked_error *err)
{
    const size_t there = sked_i_cuda_free_bytes() + d->work.size;
    if (need <= there)
        return SKED_OK;
    return sked_i_fail(
        err, SKED_ERR_DEVICE,
        "CUDA: %s needs %.1f MB of device memory, %.1f MB are free; about %d schedules fit at once", what,
        (double)need * 1e-6, (double)there * 1e-6, (int)((double)there / (double)need * d->model.walks));
}

/* Takes the memory that `measure` found, and copies the problems there. */
static sked_status open_call(sked_i_once_device *d, size_t need, const char *what, sked_error *err)
{
    sked_status st = SKED_OK;
    once_pack pack = {};
    if (need > d->work.size) {
        SKED_TRY(check_memory(d, need, what, err));
        CUDA_TRY(cudaStreamSynchronize(d->stream)); /* the last update may still read there */
        sked_i_cuda_arena_close(&d->work);
        d->work.used = need;
        SKED_TRY(sked_i_cuda_arena_open(&d->work, what, err));
    }
    d->work.used = 0;
    place_all(d, &d->work);
    SKED_TRY(pinned_reserve(&d->up, d->upload_bytes, err));
    pack.host = d->up.at;
    pack.at = d->upload;
    pack_all(d, &pack);
    CUDA_TRY(cudaMemcpyAsync(d->upload, d->up.at, d->upload_bytes, cudaMemcpyHostToDevice, d->stream));
    SKED_TRY(upload_steps(d, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ walks */

/* All launches of the walks. STOPPED at the limit; what is complete then is there. */
static sked_status walk_all(sked_i_once_device *d, const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t step = d->saves ? steps_at_once(d) : d->most_ops;
    for (int32_t from = 0; from == 0 || from < d->most_ops; from += step) {
        once_walk_launch(&d->model, d->threads, d->grad, from, from + step, d->stream);
        CUDA_TRY(cudaGetLastError());
        if (!d->saves)
            break;
        CUDA_TRY(cudaStreamSynchronize(d->stream));
        if (from + step < d->most_ops && sked_i_limit_heard(limit))
            SKED_TRY(sked_i_limit_fail(err));
    }
cleanup:
    return st;
}

static sked_status check_walk(int32_t status, int32_t n, sked_error *err)
{
    const int step = status >> 8;
    switch (status & 255) {
    case WALK_OK:
        return SKED_OK;
    case WALK_NO_PROBABILITY:
        return sked_i_fail(err, SKED_ERR_BUG, "the policy gives no probability at step %d of %d", step,
                           (int)n);
    case WALK_NO_BACK_PROBABILITY:
        return sked_i_fail(err, SKED_ERR_BUG, "the backward policy gives no probability at step %d of %d",
                           step, (int)n);
    default:
        return sked_i_fail(err, SKED_ERR_BUG, "step %d of the trajectory is not legal", step);
    }
}

/* Waits, and hands the numbers out. `learnt`: losses and norms too. */
static sked_status bring(sked_i_once_device *d, bool learnt, sked_error *err)
{
    sked_status st = SKED_OK;
    bool steps = false;
    results r;
    for (int32_t b = 0; b < d->model.lessons; b++)
        steps = steps || (d->walks[b]->op != NULL && !d->walks[b]->replay);
    SKED_TRY(pinned_reserve(&d->down, d->out.bytes, err));
    place_results(d, d->down.at, &r);
    CUDA_TRY(cudaMemcpyAsync(d->down.at, d->out.begin, steps ? r.bytes : r.numbers, cudaMemcpyDeviceToHost,
                             d->stream));
    for (size_t b = 0; b < (size_t)d->model.lessons && !d->grad; b++) {
        const once_lesson *l = &d->lesson[b];
        if (l->log_step != NULL)
            CUDA_TRY(cudaMemcpyAsync(d->walks[b]->log_step, l->log_step,
                                     (size_t)l->count * (size_t)l->n * sizeof(double), cudaMemcpyDeviceToHost,
                                     d->stream));
    }
    CUDA_TRY(cudaStreamSynchronize(d->stream));
    for (size_t b = 0; b < (size_t)d->model.lessons; b++) {
        sked_i_once_walks *w = d->walks[b];
        const once_lesson *l = &d->lesson[b];
        const size_t count = (size_t)l->count, cells = count * (size_t)l->n;
        const int32_t *op = r.steps + (l->op - d->out.steps);
        for (int32_t k = 0; k < l->count; k++)
            SKED_TRY(check_walk(r.status[l->first_walk + k], l->n, err));
        if (w->log_forward != NULL) {
            memcpy(w->log_forward, r.log_forward + l->first_walk, count * sizeof(double));
            memcpy(w->log_backward, r.log_backward + l->first_walk, count * sizeof(double));
            memcpy(w->makespan, r.makespan + l->first_walk, count * sizeof(double));
        }
        if (w->op != NULL && !w->replay) {
            memcpy(w->op, op, cells * sizeof *op);
            memcpy(w->device, op + cells, cells * sizeof *op);
        }
        if (learnt) {
            const double *of = r.loss + ONCE_LOSSES * b;
            w->loss = of[ONCE_LOSS];
            w->log_z = of[ONCE_CENTRE];
            w->speedup = of[ONCE_SPEEDUP];
            w->pull = of[ONCE_PULL];
            w->norm = r.norm[b];
        }
    }
cleanup:
    return st;
}

static sked_status run_walks(sked_i_once_device *d, size_t need, const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK, stopped = SKED_OK;
    char what[80];
    snprintf(what, sizeof what, "drawing %d schedules of %d ops", (int)d->model.walks, (int)d->most_ops);
    const once_launch how = {d->stream, limit, d->model.rows > 2000};
    SKED_TRY(open_call(d, need, what, err));
    SKED_TRY(once_encode(&d->model, &d->encoder, &how, err));
    stopped = walk_all(d, limit, err);
    if (stopped != SKED_OK && stopped != SKED_ERR_STOPPED)
        return stopped;
    SKED_TRY(bring(d, false, err));
    st = stopped;
cleanup:
    return st;
}

/* Trajectories from `first` on, `count` of them. */
static sked_i_once_walks part_of(const sked_i_once_walks *w, int32_t first, int32_t count)
{
    sked_i_once_walks part = *w;
    const int64_t step = (int64_t)first * w->problem->n;
    part.count = count;
    part.listed = w->listed - first < 0 ? 0 : w->listed - first;
    part.first += (uint64_t)first;
    part.op += step;
    part.device += step;
    part.log_forward += first;
    part.log_backward += first;
    part.makespan += first;
    part.log_step += part.log_step != NULL ? step : 0;
    return part;
}

/* One problem, so many trajectories at a time as fit. */
static sked_status walk_parts(sked_i_once_device *d, const sked_i_once_walks *w, const sked_i_limit *limit,
                              sked_error *err)
{
    const size_t there = sked_i_cuda_free_bytes() + d->work.size;
    int32_t most = w->count;
    for (;;) {
        sked_i_once_walks part = part_of(w, 0, most);
        if (most <= 1 || measure(d, 1, &part, false) <= there)
            break;
        most = (most + 1) / 2;
    }
    for (int32_t first = 0; first < w->count; first += most) {
        sked_i_once_walks part = part_of(w, first, w->count - first < most ? w->count - first : most);
        const sked_status st = run_walks(d, measure(d, 1, &part, false), limit, err);
        if (st != SKED_OK)
            return st;
        if (first + most < w->count && sked_i_limit_heard(limit))
            return sked_i_limit_fail(err);
    }
    return SKED_OK;
}

static sked_status walk(sked_i_once_device *d, int32_t count, sked_i_once_walks *w, const sked_i_limit *limit,
                        sked_error *err)
{
    for (int32_t b = 0; b < count; b++)
        for (int32_t k = 0; k < w[b].count; k++)
            w[b].makespan[k] = NAN;
    if (sked_i_limit_heard(limit))
        return sked_i_limit_fail(err);
    const sked_status room = make_room(d, count, err);
    if (room != SKED_OK)
        return room;
    const size_t need = measure(d, count, w, false);
    if (need <= d->work.size || need <= sked_i_cuda_free_bytes() + d->work.size) /* asking takes long */
        return run_walks(d, need, limit, err);
    for (int32_t b = 0; b < count; b++) {
        const sked_status st = walk_parts(d, &w[b], limit, err);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ learning */

static sked_status learn(sked_i_once_device *d, int32_t count, sked_i_once_walks *w,
                         const sked_i_limit *limit, sked_error *err)
{
    sked_status st = make_room(d, count, err);
    if (st != SKED_OK)
        return st;
    char what[80];
    const size_t need = measure(d, count, w, true);
    const once_launch how = {d->stream, limit, d->model.rows > 20000};
    snprintf(what, sizeof what, "learning from %d schedules of up to %d ops", (int)d->model.walks,
             (int)d->most_ops);
    SKED_TRY(open_call(d, need, what, err));
    CUDA_TRY(cudaMemsetAsync(d->zero, 0, (size_t)d->zero_bytes, d->stream));
    if (!d->model.layout.preset) /* those read the weights both ways */
        once_turn_weights(&d->model, d->stream);
    SKED_TRY(once_encode(&d->model, &d->encoder, &how, err));
    SKED_TRY(walk_all(d, limit, err));
    once_loss_launch(&d->model, d->out.loss, d->stream);
    once_sum_launch(&d->model, d->partial_sum, d->stream);
    SKED_TRY(once_encode_grad(&d->model, &d->encoder, &how, err));
    once_norm_launch(&d->model, &d->encoder, d->partial_norm, d->out.norm, d->stream);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

static sked_status finish(sked_i_once_device *d, sked_error *err)
{
    return bring(d, true, err);
}

static sked_status add(sked_i_once_device *d, double clip, double share, float *gradient, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t bytes = (size_t)d->shape.total * sizeof(float);
    SKED_TRY(upload(d, gradient, d->gradient, err));
    once_add_launch(&d->model, &d->encoder, clip, share, d->out.norm, true, d->gradient, d->stream);
    CUDA_TRY(cudaMemcpyAsync(gradient, d->gradient, bytes, cudaMemcpyDeviceToHost, d->stream));
    CUDA_TRY(cudaStreamSynchronize(d->stream));
cleanup:
    return st;
}

static sked_status update(sked_i_once_device *d, const sked_i_once_step *how, const float *gradient,
                          sked_error *err)
{
    sked_status st = SKED_OK;
    if (gradient != NULL)
        SKED_TRY(upload(d, gradient, d->gradient, err));
    else
        once_add_launch(&d->model, &d->encoder, how->clip, how->share, d->out.norm, false, d->gradient,
                        d->stream);
    once_adam_launch(d->shape.total, how, d->gradient, d->parameter, d->moment1, d->moment2, d->stream);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

extern "C" const sked_i_once_backend sked_i_once_cuda = {create, destroy, put, get,   walk,
                                                         learn,  finish,  add, update};
