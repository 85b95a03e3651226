/* The relaxation with devices on the device: what lies there, and one evaluation. */
#include "backend/cuda/gaus_device.h"

extern "C" {
#include "backend/backend.h"
#include "base/memory.h"
}

/* ------------------------------------------------------------------ what lies on the device */

static void measure(sked_i_gaus_device_board *b, const sked_i_gaus_device_view *v)
{
    b->ops = v->ops;
    b->devices = v->devices;
    b->pools = v->pools;
    b->cells = v->cells;
    b->rows = v->devices + v->pools;
    b->equal = v->kinds == NULL;
    b->kinds = b->equal ? 1 : v->kinds->count;
    b->longest = b->equal ? 0 : v->kinds->longest;
    b->edges = v->succ_ptr[v->ops];
    b->copies = sked_i_gaus_copies((int64_t)b->rows * b->cells);
    const int64_t blocks = ((int64_t)v->ops + SKED_I_GAUS_TEAM - 1) / SKED_I_GAUS_TEAM;
    b->blocks = blocks < 1 ? 1 : blocks < SKED_I_GAUS_BLOCKS ? (int)blocks : SKED_I_GAUS_BLOCKS;
}

static void lay_problem(sked_i_gaus_device_board *b, sked_i_cuda_arena *a, const sked_i_gaus_device_view *v)
{
    const int64_t n = b->ops, edges = b->edges, uses = v->use_ptr[v->ops];
    const int64_t kinds = b->kinds, unequal = b->equal ? 0 : 1;
    b->succ_ptr = SKED_CUT(a, int64_t, n + 1);
    b->edge_to = SKED_CUT(a, int32_t, edges);
    b->edge_from = SKED_CUT(a, int32_t, edges);
    b->lag = SKED_CUT(a, double, edges);
    b->transfer = v->transfer != NULL ? SKED_CUT(a, double, edges) : NULL;
    b->use_ptr = SKED_CUT(a, int64_t, n + 1);
    b->use_pool = SKED_CUT(a, int32_t, uses);
    b->use_amount = SKED_CUT(a, double, uses);
    b->of = SKED_CUT(a, int32_t, b->devices);
    b->members = SKED_CUT(a, int32_t, kinds);
    b->time = SKED_CUT(a, double, n *kinds);
    b->latency = SKED_CUT(a, double, 2 * kinds * kinds * unequal);
    b->per_byte = SKED_CUT(a, double, kinds *kinds *unequal);
    b->bytes = SKED_CUT(a, double, edges *unequal);
    b->follows = SKED_CUT(a, double, edges *unequal);
    b->links = SKED_CUT(a, int32_t, edges * unequal);
    b->pred_ptr = SKED_CUT(a, int64_t, n + 1);
    b->pred_edge = SKED_CUT(a, int64_t, edges);
    b->normal = SKED_CUT(a, sked_i_normal, 1);
}

static void lay_numbers(sked_i_gaus_device_board *b, sked_i_cuda_arena *a)
{
    const int64_t n = b->ops, shares = n * b->devices, rows = b->rows;
    b->scale = SKED_CUT(a, double, rows);
    b->mu = SKED_CUT(a, double, 2 * n + shares);
    b->sigma = b->mu != NULL ? b->mu + n : NULL;
    b->share = b->mu != NULL ? b->mu + 2 * n : NULL;
    b->by_kind = SKED_CUT(a, double, n * b->kinds);
    b->change = SKED_CUT(a, unsigned long long, b->copies *rows * b->cells);
    b->load = SKED_CUT(a, double, rows * b->cells);
    b->price = SKED_CUT(a, double, rows * b->cells);
    b->prefix = SKED_CUT(a, double, rows *((int64_t)b->cells + 1));
    b->over = SKED_CUT(a, double, rows);
    b->partial = SKED_CUT(a, double, b->blocks *SKED_I_GAUS_DEVICE_SUMS);
    b->own = SKED_CUT(a, sked_i_gaus_pair, n);
    b->passed = SKED_CUT(a, sked_i_gaus_pair, b->edges);
    b->traded = SKED_CUT(a, double, b->edges *(b->equal ? 1 : 3 * (int64_t)b->kinds));
    b->dmu = SKED_CUT(a, double, n);
    b->dsigma = SKED_CUT(a, double, n);
    b->dshare = SKED_CUT(a, double, shares);
    b->control = SKED_CUT(a, sked_i_gaus_control, 1);
}

/* ------------------------------------------------------------------ what the host works out */

typedef struct made {
    int64_t *pred_ptr, *pred_edge;
    int32_t *edge_from, *of, *members;
    double *scale;
    sked_i_normal *normal;
} made;

static void free_made(made *m)
{
    void *const owned[] = {m->pred_ptr, m->pred_edge, m->edge_from, m->of, m->members, m->scale, m->normal};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

template <class T> static bool make_room(T **out, int64_t count)
{
    return (*out = (T *)sked_i_alloc_zero(count, sizeof(T))) != NULL;
}

static void turn_edges(const sked_i_gaus_device_view *v, made *m)
{
    for (int64_t e = 0; e < v->succ_ptr[v->ops]; e++)
        m->pred_ptr[v->edge_to[e] + 1]++;
    for (int32_t i = 0; i < v->ops; i++)
        m->pred_ptr[i + 1] += m->pred_ptr[i];
    for (int32_t i = 0; i < v->ops; i++)
        for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
            m->edge_from[e] = i;
            m->pred_edge[m->pred_ptr[v->edge_to[e]]++] = e;
        }
    for (int32_t i = v->ops; i > 0; i--)
        m->pred_ptr[i] = m->pred_ptr[i - 1];
    m->pred_ptr[0] = 0;
}

/* Powers of two, as in gaus_steps.cu: an op adds at most 1 to a device and its amounts to the pools. */
static void set_scales(const sked_i_gaus_device_view *v, made *m)
{
    for (int32_t d = 0; d < v->devices; d++)
        m->scale[d] = v->ops;
    for (int64_t u = 0; u < v->use_ptr[v->ops]; u++)
        m->scale[v->devices + v->use_pool[u]] += fabs(v->use_amount[u]);
    for (int32_t r = 0; r < v->devices + v->pools; r++) {
        int exponent = 0;
        frexp(m->scale[r], &exponent);
        m->scale[r] = ldexp(1, 60 - exponent);
    }
}

static sked_status make(const sked_i_gaus_device_view *v, const sked_i_gaus_device_board *b, made *m,
                        sked_error *err)
{
    if (!make_room(&m->pred_ptr, (int64_t)v->ops + 2) || !make_room(&m->pred_edge, b->edges) ||
        !make_room(&m->edge_from, b->edges) || !make_room(&m->of, v->devices) ||
        !make_room(&m->members, b->kinds) || !make_room(&m->scale, b->rows) || !make_room(&m->normal, 1))
        return sked_i_no_memory(err);
    turn_edges(v, m);
    set_scales(v, m);
    sked_i_normal_init(m->normal);
    for (int32_t d = 0; d < v->devices; d++) {
        m->of[d] = b->equal ? 0 : v->kinds->of[d];
        m->members[m->of[d]]++;
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ opening and closing */

static sked_status send_problem(const sked_i_gaus_devices *s, const made *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_device_view *v = s->view;
    const sked_i_gaus_device_kinds *k = v->kinds;
    const sked_i_gaus_device_board *b = &s->board;
    const int64_t n = b->ops, edges = b->edges, uses = v->use_ptr[v->ops], kinds = b->kinds;
    const sked_i_gaus_piece both[] = {
        SKED_I_GAUS_PIECE(b->succ_ptr, v->succ_ptr, n + 1),
        SKED_I_GAUS_PIECE(b->edge_to, v->edge_to, edges),
        SKED_I_GAUS_PIECE(b->edge_from, m->edge_from, edges),
        SKED_I_GAUS_PIECE(b->lag, v->lag, edges),
        SKED_I_GAUS_PIECE(b->transfer, v->transfer, v->transfer != NULL ? edges : 0),
        SKED_I_GAUS_PIECE(b->use_ptr, v->use_ptr, n + 1),
        SKED_I_GAUS_PIECE(b->use_pool, v->use_pool, uses),
        SKED_I_GAUS_PIECE(b->use_amount, v->use_amount, uses),
        SKED_I_GAUS_PIECE(b->of, m->of, b->devices),
        SKED_I_GAUS_PIECE(b->members, m->members, kinds),
        SKED_I_GAUS_PIECE(b->time, b->equal ? v->duration : k->time, n * kinds),
        SKED_I_GAUS_PIECE(b->pred_ptr, m->pred_ptr, n + 1),
        SKED_I_GAUS_PIECE(b->pred_edge, m->pred_edge, edges),
        SKED_I_GAUS_PIECE(b->scale, m->scale, b->rows),
        SKED_I_GAUS_PIECE(b->normal, m->normal, 1)};
    SKED_TRY(sked_i_gaus_send(both, sizeof both / sizeof *both, s->stream, err));
    if (k != NULL) {
        const sked_i_gaus_piece unequal[] = {SKED_I_GAUS_PIECE(b->latency, k->latency, 2 * kinds * kinds),
                                             SKED_I_GAUS_PIECE(b->per_byte, k->per_byte, kinds * kinds),
                                             SKED_I_GAUS_PIECE(b->bytes, k->bytes, edges),
                                             SKED_I_GAUS_PIECE(b->follows, k->follows, edges),
                                             SKED_I_GAUS_PIECE(b->links, k->links, edges)};
        SKED_TRY(sked_i_gaus_send(unequal, sizeof unequal / sizeof *unequal, s->stream, err));
    }
    CUDA_TRY(
        cudaMemsetAsync(b->change, 0, (size_t)b->copies * b->rows * b->cells * sizeof *b->change, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
cleanup:
    return st;
}

sked_status sked_i_gaus_devices_open(sked_i_gaus_devices *s, const sked_i_gaus_device_view *view,
                                     sked_i_gaus_lay_fn lay, void *data, sked_error *err)
{
    sked_status st = SKED_OK;
    made m = {};
    s->view = view;
    measure(&s->board, view);
    for (int pass = 0; pass < 2; pass++) {
        lay_problem(&s->board, &s->arena, view);
        lay_numbers(&s->board, &s->arena);
        if (lay != NULL)
            lay(&s->arena, data);
        if (pass == 0)
            SKED_TRY(sked_i_cuda_arena_open(&s->arena, "a descent of gaus", err));
    }
    SKED_TRY(make(view, &s->board, &m, err));
    CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    SKED_TRY(send_problem(s, &m, err));
cleanup:
    free_made(&m);
    return st;
}

void sked_i_gaus_devices_close(sked_i_gaus_devices *s)
{
    if (s->stream != NULL) {
        cudaStreamSynchronize(s->stream);
        cudaStreamDestroy(s->stream);
    }
    sked_i_cuda_arena_close(&s->arena);
}

/* ------------------------------------------------------------------ one evaluation */

sked_status sked_i_gaus_devices_aim(sked_i_gaus_devices *s, const sked_i_gaus_device_terms *terms,
                                    const double *violation, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_control control =
        sked_i_gaus_control_make(terms->multiplier, terms->penalty, violation, 0);
    const sked_i_gaus_piece piece = SKED_I_GAUS_PIECE(s->board.control, &control, 1);
    SKED_TRY(sked_i_gaus_send(&piece, 1, s->stream, err));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
cleanup:
    return st;
}

sked_status sked_i_gaus_devices_place(sked_i_gaus_devices *s, const double *mu, const double *sigma,
                                      const double *share, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_device_board *b = &s->board;
    const int64_t n = b->ops;
    const sked_i_gaus_piece pieces[] = {
        SKED_I_GAUS_PIECE(b->mu, mu, n), SKED_I_GAUS_PIECE(b->sigma, sigma, n),
        SKED_I_GAUS_PIECE(b->share, share, share != NULL ? n * b->devices : 0)};
    for (int32_t i = 0; i < b->ops; i++)
        if (!(fabs(mu[i]) < 0x1p28) || !(sigma[i] > 0) || !(sigma[i] < 0x1p20))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler lost its numbers at op %d: mu %g, sigma %g",
                               (int)i, mu[i], sigma[i]);
    SKED_TRY(sked_i_gaus_send(pieces, 3, s->stream, err));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
cleanup:
    return st;
}

void sked_i_gaus_devices_launch(const sked_i_gaus_devices *s, const sked_i_gaus_growth *raise)
{
    sked_i_gaus_device_forward(&s->board, s->stream);
    sked_i_gaus_device_profiles(&s->board, raise, s->stream);
    sked_i_gaus_device_backward(&s->board, s->stream);
}

sked_status sked_i_gaus_devices_value(const sked_i_gaus_devices *s, sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_control control;
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(&control, s->board.control, sizeof control, cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    SKED_TRY(sked_i_gaus_control_check(&control, err));
    *value = control.value;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the table of the evaluator */

typedef struct evaluator {
    sked_i_gaus_devices devices;
    double *load; /* [rows * cells] of the last evaluation */
} evaluator;

/* What the table calls an evaluator. */
static inline evaluator *mine(sked_i_gaus_device_evaluator *x)
{
    return reinterpret_cast<evaluator *>(x);
}

static void destroy(sked_i_gaus_device_evaluator *opaque)
{
    evaluator *s = mine(opaque);
    if (s == NULL)
        return;
    sked_i_gaus_devices_close(&s->devices);
    free(s->load);
    free(s);
}

static sked_status create(const sked_i_gaus_device_view *view, int threads,
                          sked_i_gaus_device_evaluator **out, sked_error *err)
{
    evaluator *s = (evaluator *)sked_i_alloc_zero(1, sizeof *s);
    (void)threads;
    if (s == NULL)
        return sked_i_no_memory(err);
    sked_status st = sked_i_gaus_devices_open(&s->devices, view, NULL, NULL, err);
    if (st == SKED_OK && !make_room(&s->load, (int64_t)s->devices.board.rows * view->cells))
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        *out = reinterpret_cast<sked_i_gaus_device_evaluator *>(s);
    else
        destroy(reinterpret_cast<sked_i_gaus_device_evaluator *>(s));
    return st;
}

static sked_status fetch(const sked_i_gaus_devices *s, double *to, const double *from, int64_t count,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)count * sizeof *to, cudaMemcpyDeviceToHost, s->stream));
cleanup:
    return st;
}

static sked_status evaluate(sked_i_gaus_device_evaluator *opaque, const sked_i_gaus_device_terms *terms,
                            const sked_i_gaus_device_point *at, const sked_i_gaus_device_point *gradient,
                            sked_i_gaus_value *value, sked_error *err)
{
    static const double none[SKED_I_GAUS_FAMILIES] = {0, 0, 0, 0};
    sked_status st = SKED_OK;
    evaluator *s = mine(opaque);
    sked_i_gaus_devices *d = &s->devices;
    const sked_i_gaus_device_board *b = &d->board;
    const int64_t n = b->ops;
    SKED_TRY(sked_i_gaus_devices_aim(d, terms, none, err));
    SKED_TRY(sked_i_gaus_devices_place(d, at->mu, at->sigma, at->share, err));
    sked_i_gaus_devices_launch(d, NULL);
    SKED_TRY(fetch(d, gradient->mu, b->dmu, n, err));
    SKED_TRY(fetch(d, gradient->sigma, b->dsigma, n, err));
    SKED_TRY(fetch(d, gradient->share, b->dshare, n * b->devices, err));
    SKED_TRY(fetch(d, s->load, b->load, (int64_t)b->rows * b->cells, err));
    SKED_TRY(sked_i_gaus_devices_value(d, value, err));
cleanup:
    return st;
}

static const double *load_of(const sked_i_gaus_device_evaluator *opaque, int32_t row)
{
    const evaluator *s = reinterpret_cast<const evaluator *>(opaque);
    return s->load + (int64_t)row * s->devices.board.cells;
}

extern "C" const sked_i_gaus_device_backend sked_i_gaus_device_cuda = {create, destroy, evaluate, load_of};
