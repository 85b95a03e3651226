/* The time-step relaxation on the device: what lies there, and one evaluation. */
#include "backend/cuda/gaus_steps.h"

extern "C" {
#include "base/arena.h"
}

#include <string.h>

/* ------------------------------------------------------------------ what lies on the device */

/* Copies of rows * length changes that are worth their memory. */
static int copies_of(int64_t cells)
{
    const int64_t copies = 32768 / (cells > 0 ? cells : 1);
    return copies < 1 ? 1 : copies > 64 ? 64 : (int)copies;
}

static bool is_heavy(const sked_i_gaus_view *v, int32_t i)
{
    return v->succ_ptr[i + 1] - v->succ_ptr[i] > SKED_I_GAUS_HEAVY;
}

void sked_i_gaus_steps_measure(sked_i_gaus_steps *s, const sked_i_gaus_view *v)
{
    sked_i_gaus_board *b = &s->board;
    s->view = v;
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

void sked_i_gaus_steps_lay(sked_i_gaus_steps *s)
{
    lay_problem(&s->board, &s->arena, s->view);
    lay_numbers(&s->board, &s->arena);
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

sked_status sked_i_gaus_steps_open(sked_i_gaus_steps *s, sked_error *err)
{
    sked_status st = SKED_OK;
    made m = {};
    SKED_TRY(make(s->view, &s->board, &m, err));
    CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    SKED_TRY(send_problem(s, &m, err));
cleanup:
    sked_i_arena_free(&m.arena);
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

sked_status sked_i_gaus_steps_aim(sked_i_gaus_steps *s, const sked_i_gaus_terms *terms,
                                  const double *violation, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_board *b = &s->board;
    const int32_t rows = b->profiles + 1;
    sked_i_gaus_control control = {};
    memcpy(control.multiplier, terms->multiplier, sizeof control.multiplier);
    memcpy(control.penalty, terms->penalty, sizeof control.penalty);
    memcpy(control.before, violation, sizeof control.before);
    control.alpha = terms->alpha;
    control.lost = INT32_MAX;
    s->what = sked_i_gaus_what_matters(s->view, terms);
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
    if (c->lost != INT32_MAX)
        return sked_i_fail(err, SKED_ERR_BUG,
                           "the differentiable scheduler's gradient is not finite at op %d on the GPU",
                           (int)c->lost);
    return sked_i_gaus_check_value(&c->value, c->multiplier, " on the GPU", err);
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
