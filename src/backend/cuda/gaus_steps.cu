/* The time-step relaxation on the device: what lies there, and one evaluation. */
#include "backend/cuda/gaus_steps.h"

extern "C" {
#include "backend/backend.h"
#include "base/memory.h"
}

#include <limits.h>

/* ------------------------------------------------------------------ what lies on the device */

/* Copies of rows * length changes that are worth their memory. */
static int copies_of(int64_t cells)
{
    const int64_t copies = 32768 / (cells > 0 ? cells : 1);
    return copies < 1 ? 1 : copies > 64 ? 64 : (int)copies;
}

/* As in cpu/gaus/evaluate.c: how far unfolded time reaches. */
static void measure(sked_i_gaus_board *b, const sked_i_gaus_view *v)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < v->ops; i++) {
        longest = v->duration[i] > longest ? v->duration[i] : longest;
        b->heavy_count += v->succ_ptr[i + 1] - v->succ_ptr[i] > SKED_I_GAUS_HEAVY;
    }
    for (int64_t e = 0; e < v->succ_ptr[v->ops]; e++)
        if (v->edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED && v->shift[e] > longest)
            longest = v->shift[e];
    b->ops = v->ops;
    b->profiles = v->profiles;
    b->steps = v->steps;
    b->period = v->period;
    b->edges = v->succ_ptr[v->ops];
    b->cells = v->period > 0 ? v->period : v->steps + 1;
    b->lead = v->period > 0 ? v->period * (1 + 64 / v->period) : 0;
    b->length = v->period > 0 ? (int32_t)(b->lead * 2 + v->steps + longest + 1) : v->steps + 1;
    b->copies = copies_of(((int64_t)b->profiles + 1) * b->length);
    const int64_t blocks = ((int64_t)v->ops + SKED_I_GAUS_TEAM - 1) / SKED_I_GAUS_TEAM;
    b->light_blocks = blocks < 1 ? 1 : blocks < SKED_I_GAUS_BLOCKS ? (int)blocks : SKED_I_GAUS_BLOCKS;
    b->heavy_blocks = b->heavy_count < SKED_I_GAUS_BLOCKS ? b->heavy_count : SKED_I_GAUS_BLOCKS;
}

static void lay_problem(sked_i_gaus_board *b, sked_i_cuda_arena *a, const sked_i_gaus_view *v)
{
    const int64_t n = b->ops, edges = b->edges, uses = v->use_ptr[v->ops];
    b->duration = sked_i_cut<int32_t>(a, n);
    b->use_ptr = sked_i_cut<int64_t>(a, n + 1);
    b->use_profile = sked_i_cut<int32_t>(a, uses);
    b->use_amount = sked_i_cut<double>(a, uses);
    b->memory = v->memory != NULL ? sked_i_cut<double>(a, n) : NULL;
    b->succ_ptr = sked_i_cut<int64_t>(a, n + 1);
    b->edge_to = sked_i_cut<int32_t>(a, edges);
    b->gap = sked_i_cut<int32_t>(a, edges);
    b->shift = sked_i_cut<int32_t>(a, edges);
    b->edge_kind = sked_i_cut<uint8_t>(a, edges);
    b->pred_ptr = sked_i_cut<int64_t>(a, n + 1);
    b->pred_edge = sked_i_cut<int64_t>(a, edges);
    b->net = sked_i_cut<double>(a, n);
    b->heavy = sked_i_cut<int32_t>(a, b->heavy_count);
    b->normal = sked_i_cut<sked_i_normal>(a, 1);
}

static void lay_numbers(sked_i_gaus_board *b, sked_i_cuda_arena *a)
{
    const int64_t n = b->ops, rows = (int64_t)b->profiles + 1;
    b->scale = sked_i_cut<double>(a, rows);
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
}

/* ------------------------------------------------------------------ what the host works out */

typedef struct made {
    int64_t *pred_ptr, *pred_edge;
    double *net, *scale;
    int32_t *heavy;
    sked_i_normal *normal;
} made;

static void free_made(made *m)
{
    void *const owned[] = {m->pred_ptr, m->pred_edge, m->net, m->scale, m->heavy, m->normal};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

template <class T> static bool make_room(T **out, int64_t count)
{
    return (*out = (T *)sked_i_alloc_zero(count, sizeof(T))) != NULL;
}

/* In-edges in the order of their numbers, and what a mean adds to communication. */
static void turn_edges(const sked_i_gaus_view *v, sked_i_gaus_board *b, made *m)
{
    b->shifts = 0;
    for (int64_t e = 0; e < b->edges; e++)
        m->pred_ptr[v->edge_to[e] + 1] += v->edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED;
    for (int32_t i = 0; i < v->ops; i++)
        m->pred_ptr[i + 1] += m->pred_ptr[i];
    for (int32_t i = 0; i < v->ops; i++)
        for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
            const int32_t to = v->edge_to[e];
            if (v->edge_kind[e] == SKED_I_GAUS_EDGE_IGNORED)
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

static sked_status make(const sked_i_gaus_view *v, sked_i_gaus_board *b, made *m, sked_error *err)
{
    int32_t heavy = 0;
    if (!make_room(&m->pred_ptr, (int64_t)v->ops + 2) || !make_room(&m->pred_edge, b->edges) ||
        !make_room(&m->net, v->ops) || !make_room(&m->scale, (int64_t)v->profiles + 1) ||
        !make_room(&m->heavy, b->heavy_count) || !make_room(&m->normal, 1))
        return sked_i_no_memory(err);
    turn_edges(v, b, m);
    set_scales(v, m);
    sked_i_normal_init(m->normal);
    for (int32_t i = 0; i < v->ops; i++)
        if (v->succ_ptr[i + 1] - v->succ_ptr[i] > SKED_I_GAUS_HEAVY)
            m->heavy[heavy++] = i;
    return SKED_OK;
}

/* ------------------------------------------------------------------ opening and closing */

sked_status sked_i_gaus_send(const sked_i_gaus_piece *pieces, int count, cudaStream_t stream, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; k < count; k++)
        if (pieces[k].bytes > 0)
            CUDA_TRY(cudaMemcpyAsync(pieces[k].to, pieces[k].from, pieces[k].bytes, cudaMemcpyHostToDevice,
                                     stream));
cleanup:
    return st;
}

static sked_status send_problem(const sked_i_gaus_steps *s, const made *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_view *v = s->view;
    const sked_i_gaus_board *b = &s->board;
    const int64_t n = b->ops, uses = v->use_ptr[v->ops], rows = (int64_t)b->profiles + 1;
    const sked_i_gaus_piece pieces[] = {SKED_I_GAUS_PIECE(b->duration, v->duration, n),
                                        SKED_I_GAUS_PIECE(b->use_ptr, v->use_ptr, n + 1),
                                        SKED_I_GAUS_PIECE(b->use_profile, v->use_profile, uses),
                                        SKED_I_GAUS_PIECE(b->use_amount, v->use_amount, uses),
                                        SKED_I_GAUS_PIECE(b->memory, v->memory, v->memory != NULL ? n : 0),
                                        SKED_I_GAUS_PIECE(b->succ_ptr, v->succ_ptr, n + 1),
                                        SKED_I_GAUS_PIECE(b->edge_to, v->edge_to, b->edges),
                                        SKED_I_GAUS_PIECE(b->gap, v->gap, b->edges),
                                        SKED_I_GAUS_PIECE(b->shift, v->shift, b->edges),
                                        SKED_I_GAUS_PIECE(b->edge_kind, v->edge_kind, b->edges),
                                        SKED_I_GAUS_PIECE(b->pred_ptr, m->pred_ptr, n + 1),
                                        SKED_I_GAUS_PIECE(b->pred_edge, m->pred_edge, b->edges),
                                        SKED_I_GAUS_PIECE(b->net, m->net, n),
                                        SKED_I_GAUS_PIECE(b->scale, m->scale, rows),
                                        SKED_I_GAUS_PIECE(b->heavy, m->heavy, b->heavy_count),
                                        SKED_I_GAUS_PIECE(b->normal, m->normal, 1)};
    SKED_TRY(sked_i_gaus_send(pieces, sizeof pieces / sizeof *pieces, s->stream, err));
    CUDA_TRY(
        cudaMemsetAsync(b->change, 0, (size_t)(b->copies * rows) * b->length * sizeof *b->change, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
cleanup:
    return st;
}

static void lay_out(sked_i_gaus_steps *s, sked_i_gaus_lay_fn lay, void *data)
{
    lay_problem(&s->board, &s->arena, s->view);
    lay_numbers(&s->board, &s->arena);
    if (lay != NULL)
        lay(&s->arena, data);
}

void sked_i_gaus_steps_count(sked_i_gaus_steps *s, const sked_i_gaus_view *view, sked_i_gaus_lay_fn lay,
                             void *data)
{
    s->view = view;
    measure(&s->board, view);
    lay_out(s, lay, data);
}

sked_status sked_i_gaus_steps_open(sked_i_gaus_steps *s, const sked_i_gaus_view *view, sked_i_gaus_lay_fn lay,
                                   void *data, sked_error *err)
{
    sked_status st = SKED_OK;
    made m = {};
    sked_i_gaus_steps_count(s, view, lay, data);
    SKED_TRY(sked_i_cuda_arena_open(&s->arena, "a descent of gaus", err));
    lay_out(s, lay, data);
    SKED_TRY(make(view, &s->board, &m, err));
    CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    SKED_TRY(send_problem(s, &m, err));
cleanup:
    free_made(&m);
    return st;
}

void sked_i_gaus_steps_close(sked_i_gaus_steps *s)
{
    if (s->stream != NULL) {
        cudaStreamSynchronize(s->stream);
        cudaStreamDestroy(s->stream);
    }
    sked_i_cuda_arena_close(&s->arena);
}

/* ------------------------------------------------------------------ one evaluation */

static bool matters(const sked_i_gaus_terms *t, int family)
{
    return t->multiplier[family] != 0 || t->penalty[family] != 0;
}

sked_i_gaus_control sked_i_gaus_control_make(const double *multiplier, const double *penalty,
                                             const double *violation, double alpha)
{
    sked_i_gaus_control c = {};
    for (int f = 0; f < SKED_I_GAUS_FAMILIES; f++) {
        c.multiplier[f] = multiplier[f];
        c.penalty[f] = penalty[f];
        c.before[f] = violation[f];
    }
    c.alpha = alpha;
    c.lost = INT32_MAX;
    return c;
}

static unsigned what_matters(const sked_i_gaus_view *v, const sked_i_gaus_terms *t)
{
    unsigned what = 0;
    if (v->memory != NULL && (t->weight[v->profiles] != 0 || isfinite(t->capacity[v->profiles])))
        what |= SKED_I_GAUS_WITH_MEMORY;
    if (matters(t, SKED_I_GAUS_DEPENDENCY) || matters(t, SKED_I_GAUS_RECURRENCE))
        what |= SKED_I_GAUS_WITH_EDGES;
    if (matters(t, SKED_I_GAUS_LATENCY))
        what |= SKED_I_GAUS_WITH_LATENCY;
    for (int32_t p = 0; p <= v->profiles; p++)
        what |= isfinite(t->capacity[p]) ? SKED_I_GAUS_WITH_CAPACITY : 0;
    return what;
}

sked_status sked_i_gaus_steps_aim(sked_i_gaus_steps *s, const sked_i_gaus_terms *terms,
                                  const double *violation, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &s->board;
    const int32_t rows = b->profiles + 1;
    const sked_i_gaus_control control =
        sked_i_gaus_control_make(terms->multiplier, terms->penalty, violation, terms->alpha);
    s->what = what_matters(s->view, terms);
    const sked_i_gaus_piece pieces[] = {SKED_I_GAUS_PIECE(b->weight, terms->weight, rows),
                                        SKED_I_GAUS_PIECE(b->capacity, terms->capacity, rows),
                                        SKED_I_GAUS_PIECE(b->tau, terms->tau, rows),
                                        SKED_I_GAUS_PIECE(b->control, &control, 1)};
    SKED_TRY(sked_i_gaus_send(pieces, 4, s->stream, err));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
cleanup:
    return st;
}

sked_status sked_i_gaus_steps_place(sked_i_gaus_steps *s, const double *mu, const double *sigma,
                                    sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_piece pieces[] = {SKED_I_GAUS_PIECE(s->board.mu, mu, s->board.ops),
                                        SKED_I_GAUS_PIECE(s->board.sigma, sigma, s->board.ops)};
    for (int32_t i = 0; i < s->board.ops; i++)
        if (!(fabs(mu[i]) < 0x1p29) || !(sigma[i] > 0) || !(sigma[i] < 0x1p20))
            return sked_i_fail(err, SKED_ERR_BUG,
                               "the differentiable scheduler lost its numbers at op %d: mu %g, sigma %g",
                               (int)i, mu[i], sigma[i]);
    SKED_TRY(sked_i_gaus_send(pieces, 2, s->stream, err));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
cleanup:
    return st;
}

sked_status sked_i_gaus_control_check(const sked_i_gaus_control *c, sked_error *err)
{
    const sked_i_gaus_value *v = &c->value;
    if (c->lost != INT32_MAX)
        return sked_i_fail(err, SKED_ERR_BUG,
                           "the differentiable scheduler's gradient is not finite at op %d on the GPU",
                           (int)c->lost);
    if (isfinite(v->total))
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_BUG,
                       "the differentiable scheduler met a number that is not finite on the GPU: total %g, "
                       "peak %g, communication %g, violations %g %g %g %g, multipliers %g %g %g %g",
                       v->total, v->peak, v->communication, v->violation[0], v->violation[1], v->violation[2],
                       v->violation[3], c->multiplier[0], c->multiplier[1], c->multiplier[2],
                       c->multiplier[3]);
}

sked_status sked_i_gaus_steps_evaluate(sked_i_gaus_steps *s, double *dmu, double *dsigma,
                                       sked_i_gaus_value *value, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &s->board;
    const size_t bytes = (size_t)b->ops * sizeof(double);
    sked_i_gaus_control control;
    sked_i_gaus_forward(b, s->what, s->stream);
    sked_i_gaus_profiles(b, b->tau, NULL, s->stream);
    sked_i_gaus_backward(b, s->what, s->stream);
    sked_i_gaus_gradient(b, s->stream);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(dmu, b->dmu, bytes, cudaMemcpyDeviceToHost, s->stream));
    if (dsigma != NULL)
        CUDA_TRY(cudaMemcpyAsync(dsigma, b->dsigma, bytes, cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaMemcpyAsync(&control, b->control, sizeof control, cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    SKED_TRY(sked_i_gaus_control_check(&control, err));
    *value = control.value;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the table of the evaluator */

typedef struct evaluator {
    sked_i_gaus_steps steps;
    double *profile; /* [(profiles + 1) * cells] of the last evaluation */
} evaluator;

/* What the table calls an evaluator. */
static inline evaluator *mine(sked_i_gaus_evaluator *x)
{
    return reinterpret_cast<evaluator *>(x);
}

static void destroy(sked_i_gaus_evaluator *opaque)
{
    evaluator *s = mine(opaque);
    if (s == NULL)
        return;
    sked_i_gaus_steps_close(&s->steps);
    free(s->profile);
    free(s);
}

static sked_status create(const sked_i_gaus_view *view, int threads, sked_i_gaus_evaluator **out,
                          sked_error *err)
{
    evaluator *s = (evaluator *)sked_i_alloc_zero(1, sizeof *s);
    (void)threads;
    if (s == NULL)
        return sked_i_no_memory(err);
    sked_status st = sked_i_gaus_steps_open(&s->steps, view, NULL, NULL, err);
    const int64_t cells = ((int64_t)view->profiles + 1) * s->steps.board.cells;
    if (st == SKED_OK && !make_room(&s->profile, cells))
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        *out = reinterpret_cast<sked_i_gaus_evaluator *>(s);
    else
        destroy(reinterpret_cast<sked_i_gaus_evaluator *>(s));
    return st;
}

static sked_status evaluate(sked_i_gaus_evaluator *opaque, const sked_i_gaus_terms *terms, const double *mu,
                            const double *sigma, double *dmu, double *dsigma, sked_i_gaus_value *value,
                            sked_error *err)
{
    static const double none[SKED_I_GAUS_FAMILIES] = {0, 0, 0, 0};
    sked_status st = SKED_OK;
    evaluator *s = mine(opaque);
    const sked_i_gaus_board *b = &s->steps.board;
    SKED_TRY(sked_i_gaus_steps_aim(&s->steps, terms, none, err));
    SKED_TRY(sked_i_gaus_steps_place(&s->steps, mu, sigma, err));
    SKED_TRY(sked_i_gaus_steps_evaluate(&s->steps, dmu, dsigma, value, err));
    CUDA_TRY(cudaMemcpy(s->profile, b->profile, ((size_t)b->profiles + 1) * b->cells * sizeof(double),
                        cudaMemcpyDeviceToHost));
cleanup:
    return st;
}

static const double *profile_of(const sked_i_gaus_evaluator *opaque, int32_t profile)
{
    const evaluator *s = reinterpret_cast<const evaluator *>(opaque);
    return s->profile + (int64_t)profile * s->steps.board.cells;
}

extern "C" const sked_i_gaus_backend sked_i_gaus_cuda = {create, destroy, evaluate, profile_of};
