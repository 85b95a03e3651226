/* The encode-once policy on a GPU: memory, copies and the order of launches. */
#include "backend/cuda/gflownet_once.h"

#include <assert.h>
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

/* PPO and credit by steps: trajectories are drawn first, and replayed (in every epoch of PPO). */
struct drawn {
    int32_t *steps;  /* [2 * count * n] ops, then devices */
    double *numbers; /* what pointers of once_walks and sked_i_gpu_walks lead to */
};

/* The caller's walks, and where they came from. */
struct once_walks : sked_i_gpu_walks {
    sked_i_gpu_walks *from;
    /* [count * n] log P_F of every step; credit by steps, as once_lesson has it. Out by walk, in by learn; or
     * NULL. */
    double *log_step, *outlook, *flow;
    const double *slope; /* [count] PPO: what a ratio of a trajectory counts; or NULL */
    drawn own;
};

struct once_device : sked_i_gpu_model {
    float *state_turned, *device_turned;
    pinned up, down;
    /* The call under way. */
    once_lesson *lesson; /* [model.lessons] */
    once_walks **walks;  /* the same */
    once_walks *given;   /* what was given to walk or learn */
    int32_t n_given;
    int64_t room; /* for so many */
    once_model model;
    once_encoder encoder;
    results out; /* on the device */
    char *upload;
    size_t upload_bytes;
    int32_t threads, most_ops;
    int64_t steps; /* ops and devices of all trajectories */
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

static void place_model(once_device *d)
{
    sked_i_gpu_cut_model(d);
    d->state_turned = sked_i_cut<float>(&d->fixed, 2 * ONCE_WIDE * ONCE_WIDE);
    d->device_turned = sked_i_cut<float>(&d->fixed, ONCE_WIDE * ONCE_WIDE);
}

/*
 * The last one that was put away waits here for the next call: memory and streams take longer than a thousand
 * draws of 50 ops. What it holds is bounded.
 */
static once_device *idle;
static const size_t idle_bytes = (size_t)64 << 20;

static void clear_given(once_device *d)
{
    for (int32_t b = 0; b < d->n_given; b++) {
        free(d->given[b].own.steps);
        free(d->given[b].own.numbers);
    }
    d->n_given = 0;
}

static void release(once_device *d)
{
    if (d == NULL)
        return;
    sked_i_gpu_close(d);
    cudaFreeHost(d->up.at);
    cudaFreeHost(d->down.at);
    clear_given(d);
    free(d->lesson);
    free(d->walks);
    free(d->given);
    delete d;
}

static void destroy(sked_i_gpu_model *m)
{
    once_device *d = static_cast<once_device *>(m);
    if (d != NULL && d->work.size <= idle_bytes && d->up.size <= idle_bytes && d->down.size <= idle_bytes &&
        cudaStreamSynchronize(d->stream) == cudaSuccess)
        d = __atomic_exchange_n(&idle, d, __ATOMIC_ACQ_REL);
    release(d);
}

static sked_status create(const sked_i_gpu_shape *shape, sked_i_gpu_model **out, sked_error *err)
{
    sked_status st = SKED_OK;
    once_device *d = __atomic_exchange_n(&idle, NULL, __ATOMIC_ACQ_REL);
    if (d != NULL && memcmp(&d->shape, shape, sizeof *shape) == 0) {
        *out = d;
        return SKED_OK;
    }
    release(d);
    d = new (std::nothrow) once_device();
    if (d == NULL)
        return sked_i_no_memory(err);
    d->shape = *shape;
    SKED_TRY(sked_i_gpu_open(d, 6144, err)); /* what kernels have of a fixed size */
    SKED_TRY(once_walk_setup((int32_t)d->most_shared, err));
    place_model(d);
    SKED_TRY(sked_i_cuda_arena_open(&d->fixed, "the model", err));
    place_model(d);
    *out = d;
    d = NULL;
cleanup:
    release(d);
    return st;
}

/* ------------------------------------------------------------------ memory of a call */

static once_layout lay_out(const once_device *d, int32_t shared)
{
    return once_lay_out(d->threads, d->grad, shared / 16 * 16, d->model.lessons, d->lesson);
}

/*
 * As many walks in a block as there is room for: two at least where they have few threads, be there as many
 * or not, so that it does not depend on their number which kernel takes them.
 */
static bool lay_out_inside(once_device *d)
{
    const int32_t processors = d->processors, walks = d->model.walks;
    const int32_t least = d->threads > ONCE_FEWER ? 1 : 2;
    const int32_t each = walks > 0 ? (walks + processors - 1) / processors : 1;
    const int32_t room = d->threads > ONCE_FEWER ? 1 : d->grad ? ONCE_SIDE_GRAD : ONCE_SIDE;
    for (int32_t fit = each < least ? least : each < room ? each : room; fit >= least; fit--) {
        once_layout at = lay_out(d, ((int32_t)d->most_shared - ONCE_WEIGHTS) / fit);
        if (!at.inside)
            continue;
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
static void choose_block(once_device *d, int64_t walks, int64_t crowd)
{
    const int64_t each = (walks + d->processors - 1) / d->processors, most = d->grad ? 6 : 8;
    const int64_t side_by_side = each < 1 ? 1 : each > most ? most : each;
    d->threads = crowd > 2 * d->processors ? ONCE_FEWER : ONCE_MORE; /* sums depend on it */
    if (lay_out_inside(d))
        return;
    d->threads = ONCE_FEWER;
    d->model.layout = lay_out(d, (int32_t)(((int64_t)d->most_shared + 1024) / side_by_side - 2048));
    d->model.layout.inside = false; /* weights are not */
}

/* Everything that is copied to the device, with pointers into it; counts where p has no host memory. */
static void pack_all(once_device *d, gpu_pack *p)
{
    once_model *m = &d->model;
    once_lesson *lessons = gpu_room(p, m->lessons, &m->lesson);
    int32_t *row_lesson = gpu_room(p, m->rows, &m->row_lesson);
    int32_t *walk_lesson = gpu_room(p, m->walks, &m->walk_lesson);
    float *feature = gpu_room(p, (int64_t)m->rows * SKED_I_STATIC_FEATURES, &d->encoder.feature);
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
        for (int64_t i = 0; i < (int64_t)l->n * SKED_I_STATIC_FEATURES; i++)
            feature[(int64_t)l->first_row * SKED_I_STATIC_FEATURES + i] =
                (float)d->walks[b]->problem->feature[i];
    }
}

static void place_results(once_device *d, char *begin, results *r)
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

static void place_layer(sked_i_cuda_arena *a, const sked_i_gpu_shape *s, int64_t rows, bool grad,
                        once_layer *l)
{
    const int64_t inner = (int64_t)HEADS * s->head;
    sked_i_cut_all(a, rows * s->dim, {&l->in, &l->norm1, &l->middle, &l->norm2});
    sked_i_cut_all(a, rows * 2, {&l->stat1, &l->stat2});
    sked_i_cut_all(a, rows * s->mlp, {&l->hidden, &l->active});
    l->qkv = sked_i_cut<float>(a, rows * 3 * inner);
    l->mixed = sked_i_cut<float>(a, rows * inner);
    l->lse = sked_i_cut<float>(a, rows * HEADS);
    if (!grad)
        return;
    sked_i_cut_all(a, rows * s->dim, {&l->dout, &l->dnorm2, &l->dmiddle, &l->dnorm1});
    l->dfilmed = sked_i_cut<float>(a, rows * s->mlp);
    l->dqkv = sked_i_cut<float>(a, rows * 3 * inner);
}

/* Without gradients all layers work in the same memory, but for the rows that they pass on. */
static void place_encoder(once_device *d, sked_i_cuda_arena *a)
{
    const sked_i_gpu_shape *s = &d->shape;
    const int64_t rows = d->model.rows, inner = (int64_t)HEADS * s->head;
    const int64_t lessons = d->model.lessons, widest = s->mlp > s->width ? s->mlp : s->width;
    once_encoder *e = &d->encoder;
    float *other = d->grad ? NULL : sked_i_cut<float>(a, rows * s->dim);
    for (int k = 0; k < s->layers; k++) {
        if (k == 0 || d->grad)
            place_layer(a, s, rows, d->grad, &e->layer[k]);
        else
            e->layer[k] = e->layer[0];
        if (!d->grad && k % 2 == 1)
            e->layer[k].in = other;
    }
    sked_i_cut_all(a, rows * s->dim, {&e->last, &e->out});
    e->stat = sked_i_cut<float>(a, rows * 2);
    if (!d->grad)
        return;
    sked_i_cut_all(a, rows * s->dim, {&e->dembedding, &e->dinput});
    sked_i_cut_all(a, rows * s->context, {&e->dwait, &e->dlast});
    e->dplain = sked_i_cut<float>(a, rows * s->width);
    e->dmixed = sked_i_cut<float>(a, rows * inner);
    e->dfilm = sked_i_cut<float>(a, lessons * (s->layers + 1) * 2 * widest);
    d->lessons = d->model.lessons;
    sked_i_gpu_cut_gradients(d, a);
    e->gradient = d->gradient;
}

static void place_rows(once_device *d, sked_i_cuda_arena *a)
{
    const sked_i_gpu_shape *s = &d->shape;
    once_model *m = &d->model;
    const int64_t lessons = m->lessons, rows = m->rows;
    sked_i_cut_all(a, lessons * s->temperature, {&m->heat1, &m->heat2});
    sked_i_cut_all(a, lessons * s->width, {&m->scale, &m->shift, &m->out, &m->empty_part});
    sked_i_cut_all(a, lessons * s->context, {&m->empty, &m->first_sum});
    m->film = sked_i_cut<float>(a, lessons * s->layers * 2 * s->mlp);
    m->direct = sked_i_cut<float>(a, lessons * DIRECT);
    sked_i_cut_all(a, rows * s->width, {&m->plain, &m->op});
    sked_i_cut_all(a, rows * s->context, {&m->wait, &m->last});
}

/* What the trajectories of a problem keep, and with gradients what they say. */
static void place_walks(once_device *d, sked_i_cuda_arena *a, once_lesson *l)
{
    const int64_t w = ONCE_WIDE, c = ONCE_WIDE, n = l->n, count = l->count;
    const once_layout *layout = &d->model.layout;
    l->global = sked_i_cut<char>(a, count * layout->stride);
    l->saved = d->saves ? sked_i_cut<char>(a, count * (int64_t)layout->shared_bytes) : NULL;
    if (!d->grad)
        return;
    l->turned = sked_i_cut<uint64_t>(a, HEADS * n * l->words);
    l->states = sked_i_cut<float>(a, count * n * (2 * c + SKED_I_STATE_FEATURES));
    l->dbases = sked_i_cut<float>(a, count * n * w);
    l->versions = sked_i_cut<float>(a, count * 2 * n * c);
    l->dversions = sked_i_cut<float>(a, count * 2 * n * w);
    l->small = sked_i_cut<float>(a, count * d->model.at.small);
    l->sums = sked_i_cut<float>(a, n * (w + 2 * c) + d->model.at.total);
}

/* Rows that begin as zeros lie together. */
static void place_zeros(once_device *d, sked_i_cuda_arena *a)
{
    const int64_t w = d->shape.width, c = d->shape.context;
    const size_t begin = a->used;
    d->zero = sked_i_cut<char>(a, 0);
    for (int32_t b = 0; b < d->model.lessons; b++) {
        once_lesson &l = d->lesson[b];
        l.dop = sked_i_cut<float>(a, (int64_t)l.count * l.n * w);
        sked_i_cut_all(a, (int64_t)l.count * l.n * c, {&l.dwait, &l.dlast});
    }
    d->zero_bytes = (int64_t)(a->used - begin);
}

static void place_all(once_device *d, sked_i_cuda_arena *a)
{
    once_model *m = &d->model;
    const int64_t walks = m->walks, lessons = m->lessons;
    results count = {};
    place_results(d, NULL, &count);
    d->upload = sked_i_cut<char>(a, d->upload_bytes);
    place_results(d, sked_i_cut<char>(a, count.bytes), &d->out);
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
        l.log_step = d->walks[b]->log_step ? sked_i_cut<double>(a, (int64_t)l.count * l.n) : NULL;
        l.credit = d->walks[b]->slope ? sked_i_cut<double>(a, l.count) : NULL;
        l.outlook = l.flow = NULL;
        if (d->walks[b]->flow != NULL)
            sked_i_cut_all(a, (int64_t)l.count * l.n, {&l.outlook, &l.flow});
        place_walks(d, a, &l);
    }
    place_rows(d, a);
    place_encoder(d, a);
    if (!d->grad)
        return;
    place_zeros(d, a);
    sked_i_cut_all(a, walks, {&m->slope, &m->value});
    m->n_versions = sked_i_cut<int32_t>(a, walks);
    d->norm = d->out.norm;
    d->partial_sum = sked_i_cut<float>(a, lessons * ONCE_SPLITS * (m->at.total - m->at.small));
}

/* Steps of a launch: a few milliseconds, whatever the number of trajectories. */
static int32_t steps_at_once(const once_device *d)
{
    const int64_t waves = 1 + d->model.walks / ((int64_t)d->processors * 8);
    return (int32_t)(waves < 32 ? 512 / waves : 16);
}

static sked_status make_room(once_device *d, int32_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    clear_given(d);
    if (count <= d->room)
        return SKED_OK;
    free(d->lesson);
    free(d->walks);
    free(d->given);
    d->room = 0;
    d->lesson = (once_lesson *)sked_i_alloc(count, sizeof *d->lesson);
    d->walks = (once_walks **)sked_i_alloc(count, sizeof *d->walks);
    d->given = (once_walks *)sked_i_alloc_zero(count, sizeof *d->given);
    if (d->lesson == NULL || d->walks == NULL || d->given == NULL)
        st = sked_i_no_memory(err);
    else
        d->room = count;
    return st;
}

/* Takes what the caller gives. */
static sked_status take(once_device *d, int32_t count, sked_i_gpu_walks *w, sked_error *err)
{
    assert(count > 0);
    const sked_status st = make_room(d, count, err);
    for (int32_t b = 0; st == SKED_OK && b < count; b++) {
        d->given[b] = once_walks();
        *static_cast<sked_i_gpu_walks *>(&d->given[b]) = w[b];
        d->given[b].from = &w[b];
        d->n_given = b + 1;
    }
    return st;
}

/* Sizes of a call; returns the bytes of device memory that it needs. */
static size_t measure(once_device *d, int32_t count, once_walks *w, bool grad)
{
    once_model *m = &d->model;
    sked_i_cuda_arena counting = {};
    gpu_pack pack = {};
    int64_t walks = 0, rows = 0;
    d->grad = grad;
    memset((void *)d->lesson, 0, (size_t)count * sizeof *d->lesson);
    d->steps = 0;
    d->most_ops = 0;
    for (int32_t b = 0; b < count; b++) {
        const sked_i_gpu_problem *x = w[b].problem;
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
    m->at = once_small_of();
    m->parameter = d->parameter;
    m->state_turned = d->state_turned;
    m->device_turned = d->device_turned;
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

/* Credit by steps: what the draw left, for all that follows from it. */
static sked_status upload_credit(once_device *d, const once_lesson *l, const once_walks *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const once_model *m = &d->model;
    const size_t bytes = (size_t)l->count * sizeof(double), cells = bytes * (size_t)l->n;
    SKED_TRY(sked_i_gpu_upload(d, l->outlook, w->outlook, cells, err));
    SKED_TRY(sked_i_gpu_upload(d, l->flow, w->flow, cells, err));
    SKED_TRY(sked_i_gpu_upload(d, m->log_forward + l->first_walk, w->log_forward, bytes, err));
    SKED_TRY(sked_i_gpu_upload(d, m->log_backward + l->first_walk, w->log_backward, bytes, err));
    SKED_TRY(sked_i_gpu_upload(d, m->makespan + l->first_walk, w->makespan, bytes, err));
cleanup:
    return st;
}

/* Trajectories that are given: into the block that is copied. */
static sked_status upload_steps(once_device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int32_t b = 0; b < d->model.lessons; b++) {
        const once_lesson *l = &d->lesson[b];
        const once_walks *w = d->walks[b];
        const size_t count = (size_t)l->count, bytes = count * (size_t)l->n * sizeof(int32_t);
        if (!l->replay)
            continue;
        SKED_TRY(sked_i_gpu_upload(d, l->op, w->op, bytes, err));
        SKED_TRY(sked_i_gpu_upload(d, l->device, w->device, bytes, err));
        if (l->credit != NULL) {
            SKED_TRY(sked_i_gpu_upload(d, l->log_step, w->log_step, 2 * bytes, err));
            SKED_TRY(sked_i_gpu_upload(d, l->credit, w->slope, count * sizeof(double), err));
        }
        if (d->grad && l->flow != NULL)
            SKED_TRY(upload_credit(d, l, w, err));
        CUDA_TRY(cudaStreamSynchronize(d->stream));
    }
cleanup:
    return st;
}

/* DEVICE, with what would fit, where there is not enough memory for the call. */
static sked_status check_memory(const once_device *d, size_t need, const char *what, sked_error *err)
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
static sked_status open_call(once_device *d, size_t need, const char *what, sked_error *err)
{
    sked_status st = SKED_OK;
    gpu_pack pack = {};
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
    SKED_TRY(sked_i_gpu_upload(d, d->upload, d->up.at, d->upload_bytes, err));
    SKED_TRY(upload_steps(d, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ walks */

/* All launches of the walks. STOPPED at the limit; what is complete then is there. */
static sked_status walk_all(once_device *d, const sked_i_limit *limit, sked_error *err)
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

/* Trajectories and their numbers, as far as their pointers are not NULL; op: devices follow. */
static void hand_out(const sked_i_gpu_walks *to, size_t count, size_t cells, const int32_t *op,
                     const double *log_forward, const double *log_backward, const double *makespan)
{
    if (to->log_forward != NULL) {
        memcpy(to->log_forward, log_forward, count * sizeof(double));
        memcpy(to->log_backward, log_backward, count * sizeof(double));
        memcpy(to->makespan, makespan, count * sizeof(double));
    }
    if (to->op != NULL && !to->replay) {
        memcpy(to->op, op, cells * sizeof *op);
        memcpy(to->device, op + cells, cells * sizeof *op);
    }
}

/* Waits, and hands the numbers out. `learnt`: losses and norms too. */
static sked_status bring(once_device *d, bool learnt, sked_error *err)
{
    sked_status st = SKED_OK;
    bool steps = false;
    results r;
    for (int32_t b = 0; b < d->model.lessons; b++)
        steps = steps || (d->walks[b]->op != NULL && !d->walks[b]->replay);
    SKED_TRY(pinned_reserve(&d->down, d->out.bytes, err));
    place_results(d, d->down.at, &r);
    SKED_TRY(sked_i_gpu_download(d, d->down.at, d->out.begin, steps ? r.bytes : r.numbers, err));
    for (int32_t b = 0; b < d->model.lessons && !d->grad; b++) {
        const once_lesson *l = &d->lesson[b];
        const once_walks *w = d->walks[b];
        const size_t bytes = (size_t)l->count * (size_t)l->n * sizeof(double);
        SKED_TRY(sked_i_gpu_download(d, w->log_step, l->log_step, bytes, err));
        SKED_TRY(sked_i_gpu_download(d, w->outlook, l->outlook, bytes, err));
        SKED_TRY(sked_i_gpu_download(d, w->flow, l->flow, bytes, err));
    }
    CUDA_TRY(cudaStreamSynchronize(d->stream));
    for (size_t b = 0; b < (size_t)d->model.lessons; b++) {
        once_walks *w = d->walks[b];
        const once_lesson *l = &d->lesson[b];
        const size_t count = (size_t)l->count, cells = count * (size_t)l->n;
        const int32_t *op = r.steps + (l->op - d->out.steps);
        SKED_TRY(sked_i_gpu_check_walks(l->count, r.status + l->first_walk, l->n, err));
        hand_out(w, count, cells, op, r.log_forward + l->first_walk, r.log_backward + l->first_walk,
                 r.makespan + l->first_walk);
        if (learnt) {
            const double *of = r.loss + ONCE_LOSSES * b;
            w->from->loss = of[ONCE_LOSS];
            w->from->log_z = of[ONCE_CENTRE];
            w->from->speedup = of[ONCE_SPEEDUP];
            w->from->pull = of[ONCE_PULL];
            w->from->norm = r.norm[b];
        }
    }
cleanup:
    return st;
}

static sked_status run_walks(once_device *d, size_t need, const sked_i_limit *limit, sked_error *err)
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
static once_walks part_of(const once_walks *w, int32_t first, int32_t count)
{
    once_walks part = *w;
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
    part.outlook += part.outlook != NULL ? step : 0;
    part.flow += part.flow != NULL ? step : 0;
    return part;
}

/* One problem, so many trajectories at a time as fit. */
static sked_status walk_parts(once_device *d, const once_walks *w, const sked_i_limit *limit, sked_error *err)
{
    const size_t there = sked_i_cuda_free_bytes() + d->work.size;
    int32_t most = w->count;
    for (;;) {
        once_walks part = part_of(w, 0, most);
        if (most <= 1 || measure(d, 1, &part, false) <= there)
            break;
        most = (most + 1) / 2;
    }
    for (int32_t first = 0; first < w->count; first += most) {
        once_walks part = part_of(w, first, w->count - first < most ? w->count - first : most);
        const sked_status st = run_walks(d, measure(d, 1, &part, false), limit, err);
        if (st != SKED_OK)
            return st;
        if (first + most < w->count && sked_i_limit_heard(limit))
            return sked_i_limit_fail(err);
    }
    return SKED_OK;
}

/* All that was given. */
static sked_status walk_given(once_device *d, const sked_i_limit *limit, sked_error *err)
{
    const size_t need = measure(d, d->n_given, d->given, false);
    if (need <= d->work.size || need <= sked_i_cuda_free_bytes() + d->work.size) /* asking takes long */
        return run_walks(d, need, limit, err);
    for (int32_t b = 0; b < d->n_given; b++) {
        const sked_status st = walk_parts(d, &d->given[b], limit, err);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

static sked_status walk(sked_i_gpu_model *m, int32_t count, sked_i_gpu_walks *w, const sked_i_limit *limit,
                        sked_error *err)
{
    once_device *d = static_cast<once_device *>(m);
    for (int32_t b = 0; b < count; b++)
        for (int32_t k = 0; k < w[b].count; k++)
            w[b].makespan[k] = NAN;
    if (sked_i_limit_heard(limit))
        return sked_i_limit_fail(err);
    const sked_status st = take(d, count, w, err);
    return st == SKED_OK ? walk_given(d, limit, err) : st;
}

/* ------------------------------------------------------------------ learning */

static bool draws_first(const sked_i_loss *law)
{
    return law->kind == SKED_I_LOSS_PPO || law->by_steps;
}

/* The next `count` numbers, where they are wanted. */
static double *take_numbers(double **next, int64_t count, bool wanted)
{
    double *const at = *next;
    *next += wanted ? count : 0;
    return wanted ? at : NULL;
}

static sked_status make_drawn(once_walks *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t count = w->count, cells = count * w->problem->n;
    const bool ppo = w->loss_of.kind == SKED_I_LOSS_PPO, steps = w->loss_of.by_steps;
    w->own.steps = (int32_t *)sked_i_alloc(2 * cells, sizeof *w->own.steps);
    w->own.numbers =
        (double *)sked_i_alloc((ppo + 2 * steps) * cells + (3 + ppo) * count, sizeof *w->own.numbers);
    if (w->own.steps == NULL || w->own.numbers == NULL)
        return sked_i_no_memory(err);
    if (w->replay) {
        memcpy(w->own.steps, w->op, (size_t)cells * sizeof *w->op);
        memcpy(w->own.steps + cells, w->device, (size_t)cells * sizeof *w->device);
    }
    w->op = w->own.steps;
    w->device = w->own.steps + cells;
    double *next = w->own.numbers;
    w->log_step = take_numbers(&next, cells, ppo);
    w->outlook = take_numbers(&next, cells, steps);
    w->flow = take_numbers(&next, cells, steps);
    w->log_forward = take_numbers(&next, count, true);
    w->log_backward = take_numbers(&next, count, true);
    w->makespan = take_numbers(&next, count, true);
    return st;
}

/* Advantages of what was drawn: minus what log P_F of each trajectory counts. */
static void set_slopes(once_walks *w)
{
    const sked_i_gpu_problem *p = w->problem;
    double *slope = w->makespan + w->count; /* behind the others */
    for (int32_t k = 0; k < w->count; k++) {
        const double speedup = w->makespan[k] > 0 ? p->work / w->makespan[k] : 1;
        slope[k] = (speedup - p->devices) / p->temperature;
    }
    sked_i_advantages(w->count, p->n, slope);
    w->slope = slope;
}

/* What an action counts depends on what all trajectories reach, so they are drawn before they are learnt
 * from. */
static sked_status draw_given(once_device *d, const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int32_t b = 0; b < d->n_given; b++)
        SKED_TRY(make_drawn(&d->given[b], err));
    SKED_TRY(walk_given(d, limit, err));
    for (int32_t b = 0; b < d->n_given; b++) {
        const once_walks *w = &d->given[b];
        const size_t count = (size_t)w->count;
        hand_out(w->from, count, count * (size_t)w->problem->n, w->op, w->log_forward, w->log_backward,
                 w->makespan);
        if (w->loss_of.kind == SKED_I_LOSS_PPO)
            set_slopes(&d->given[b]);
        d->given[b].replay = true;
    }
cleanup:
    return st;
}

static sked_status again(sked_i_gpu_model *model, const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    once_device *d = static_cast<once_device *>(model);
    char what[80];
    const size_t need = measure(d, d->n_given, d->given, true);
    const once_launch how = {d->stream, limit, d->model.rows > 20000};
    snprintf(what, sizeof what, "learning from %d schedules of up to %d ops", (int)d->model.walks,
             (int)d->most_ops);
    SKED_TRY(open_call(d, need, what, err));
    CUDA_TRY(cudaMemsetAsync(d->zero, 0, (size_t)d->zero_bytes, d->stream));
    if (!d->model.layout.inside) /* those read the weights both ways */
        once_turn_weights(&d->model, d->stream);
    SKED_TRY(once_encode(&d->model, &d->encoder, &how, err));
    once_credit_launch(&d->model, d->stream);
    SKED_TRY(walk_all(d, limit, err));
    once_loss_launch(&d->model, d->out.loss, d->stream);
    once_sum_launch(&d->model, d->partial_sum, d->stream);
    SKED_TRY(once_encode_grad(&d->model, &d->encoder, &how, err));
    sked_i_gpu_norms(d);
    CUDA_TRY(cudaGetLastError());
cleanup:
    return st;
}

static sked_status learn(sked_i_gpu_model *m, int32_t count, sked_i_gpu_walks *w, const sked_i_limit *limit,
                         sked_error *err)
{
    once_device *d = static_cast<once_device *>(m);
    sked_status st = take(d, count, w, err);
    if (st == SKED_OK && draws_first(&w[0].loss_of))
        st = draw_given(d, limit, err);
    return st == SKED_OK ? again(m, limit, err) : st;
}

static sked_status finish(sked_i_gpu_model *m, sked_error *err)
{
    return bring(static_cast<once_device *>(m), true, err);
}

extern "C" const sked_i_gpu_policy sked_i_once_cuda = {
    create, destroy, sked_i_gpu_put, sked_i_gpu_get, walk,
    learn,  again,   finish,         sked_i_gpu_add, sked_i_gpu_update};
