#include "engine/network/stepper.h"

#include <math.h>
#include <string.h>

static RN(step_matrix) cut_matrix(RN(cutter) * c, int32_t rows, int32_t columns, bool turned)
{
    RN(step_matrix) m = {.rows = rows, .columns = columns};
    m.weight = RN(cut)(c, rows, columns);
    m.bias = RN(cut)(c, 1, columns);
    m.turned = turned ? RN(cut)(c, columns, rows) : NULL;
    return m;
}

/* The pieces of weights or of their gradient (turned false). */
static void cut_weights(const RN(stepper) * s, RN(cutter) * c, bool turned, RN(step_weights) * w)
{
    const sked_i_sizes *z = &s->layout->sizes;
    const int32_t inner = SKED_I_HEADS * z->head;
    w->input = cut_matrix(c, s->layout->inputs, z->dim, false);
    for (int i = 0; i < z->layers; i++) {
        RN(step_layer) *l = &w->layer[i];
        l->query = cut_matrix(c, z->dim, inner, turned);
        l->keys = cut_matrix(c, z->dim, 2 * inner, turned);
        l->merge = cut_matrix(c, inner, z->dim, turned);
        l->mlp1 = cut_matrix(c, z->dim, z->mlp, turned);
        l->mlp2 = cut_matrix(c, z->mlp, z->dim, turned);
    }
    w->forward1 = cut_matrix(c, z->dim, z->width, turned);
    w->forward2 = cut_matrix(c, z->width, z->slots, turned);
    if (s->learned) {
        w->back1 = cut_matrix(c, z->dim, z->width, turned);
        w->back2 = RN(cut)(c, 1, z->width);
    }
}

/* Numbers in the largest matrix, or more. */
static int64_t largest_matrix(const RN(stepper) * s)
{
    const sked_i_sizes *z = &s->layout->sizes;
    const int64_t side[] = {2 * SKED_I_HEADS * z->head, z->mlp, z->width, z->slots, s->layout->inputs};
    int64_t most = z->dim;
    for (size_t i = 0; i < sizeof side / sizeof *side; i++)
        most = side[i] > most ? side[i] : most;
    return most * (z->dim > z->width ? z->dim : z->width);
}

static int64_t lay_out(RN(stepper) * s, real *block)
{
    const sked_i_sizes *z = &s->layout->sizes;
    RN(cutter) c = {.block = block};
    cut_weights(s, &c, true, &s->weights);
    s->heat.first = RN(cut)(&c, 1, z->temperature);
    s->heat.second = RN(cut)(&c, 1, z->temperature);
    s->query_scale = RN(cut)(&c, SKED_I_HEADS, z->head);
    for (int i = 0; i < z->layers + 2; i++) {
        const int32_t width = i < z->layers ? z->mlp : z->width;
        s->film[i] = (RN(film)){RN(cut)(&c, 1, width), RN(cut)(&c, 1, width)};
    }
    s->plain = RN(cut)(&c, 1, largest_matrix(s));
    s->plain_turned = RN(cut)(&c, 1, largest_matrix(s));
    return c.used;
}

/* ------------------------------------------------------------------ views */

static bool may_see(const sked_i_masks *m, int32_t head, int64_t i, int32_t j)
{
    return (m->bits[((int64_t)head * m->n + i) * m->words + (j >> 6)] >> (j & 63)) & 1;
}

/* Every other op is seen by one head, the op itself by all: n - 1 + heads pairs. */
static sked_status fill_views(RN(stepper) * s, const sked_i_masks *m, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_attention_views *v = &s->views;
    const int32_t head = s->layout->sizes.head, pairs = m->n - 1 + SKED_I_HEADS, inner = SKED_I_HEADS * head;
    v->n = m->n;
    v->stride = (pairs + SKED_I_LANES - 1) / SKED_I_LANES * SKED_I_LANES;
    SKED_OWN0(&s->arena, v->end, (int64_t)m->n * SKED_I_HEADS);
    SKED_OWN0(&s->arena, v->query, (int64_t)m->n * v->stride);
    SKED_OWN0(&s->arena, v->key, (int64_t)m->n * v->stride);
    for (int64_t i = 0; i < m->n; i++) {
        int32_t count = 0;
        for (int32_t h = 0; h < SKED_I_HEADS; h++) {
            for (int32_t j = 0; j < m->n; j++)
                if (may_see(m, h, i, j) && count < pairs) {
                    v->query[i * v->stride + count] = h * head;
                    v->key[i * v->stride + count++] = j * 2 * inner + h * head;
                }
            v->end[i * SKED_I_HEADS + h] = count;
        }
    }
cleanup:
    return st;
}

sked_status RN(stepper_create)(const sked_i_layout *layout, const RN(kernels) * kernels,
                               const sked_i_masks *masks, RN(stepper) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    real *block;
    RN(stepper) *s = NULL;
    SKED_NEW0(s, 1);
    s->layout = layout;
    s->kernels = kernels;
    s->learned = layout->sizes.backward == SKED_I_BACKWARD_LEARNED;
    SKED_BLOCK(&s->arena, block, lay_out(s, NULL));
    lay_out(s, block);
    SKED_TRY(fill_views(s, masks, err));
    for (int32_t c = 0; c < SKED_I_HEADS * layout->sizes.head; c++)
        s->query_scale[c] = 1 / (real)sqrt((double)layout->sizes.head);
    *out = s;
    s = NULL;
cleanup:
    RN(stepper_destroy)(s);
    return st;
}

void RN(stepper_destroy)(RN(stepper) * s)
{
    if (s == NULL)
        return;
    sked_i_arena_free(&s->arena);
    free(s);
}

/* ------------------------------------------------------------------ folding */

/*
 * How a matrix comes from the parameters, with weight[rows, width] and its bias at offsets of the block:
 *
 *     m.weight = diag(gain) weight diag(scale)
 *     m.bias   = (norm . weight + bias) diag(scale) + shift
 *
 * gain and norm (-1: none) are those of the normalisation before it.
 */
typedef struct fold {
    int64_t weight, width, bias, gain, norm;
    const real *scale, *shift; /* NULL: 1 and 0 */
    real *dscale, *dshift;     /* where their gradients go, or NULL */
} fold;

static void fold_run(const RN(stepper) * s, const fold *f, const real *w, RN(step_matrix) * m)
{
    for (int32_t c = 0; c < m->columns; c++)
        m->bias[c] = w[f->bias + c];
    for (int64_t k = 0; k < m->rows; k++) {
        const real *row = w + f->weight + k * f->width;
        const real gain = f->gain < 0 ? 1 : w[f->gain + k], norm = f->norm < 0 ? 0 : w[f->norm + k];
        for (int32_t c = 0; c < m->columns; c++) {
            m->bias[c] += norm * row[c];
            s->plain[k * m->columns + c] = gain * row[c] * (f->scale ? f->scale[c] : 1);
        }
    }
    for (int32_t c = 0; c < m->columns; c++)
        m->bias[c] = m->bias[c] * (f->scale ? f->scale[c] : 1) + (f->shift ? f->shift[c] : 0);
    s->kernels->pack(m->rows, m->columns, s->plain, m->weight);
    if (m->turned == NULL)
        return;
    for (int64_t k = 0; k < m->rows; k++)
        for (int64_t c = 0; c < m->columns; c++)
            s->plain_turned[c * m->rows + k] = s->plain[k * m->columns + c];
    s->kernels->pack(m->columns, m->rows, s->plain_turned, m->turned);
}

/* One row of the matrix: g is the gradient by the folded one. */
static void fold_row_grad(const fold *f, const real *w, const RN(step_matrix) * g, int64_t k, real *dw)
{
    const real *row = w + f->weight + k * f->width, *drow = g->weight + k * g->columns;
    const real gain = f->gain < 0 ? 1 : w[f->gain + k], norm = f->norm < 0 ? 0 : w[f->norm + k];
    real dgain = 0, dnorm = 0;
    for (int32_t c = 0; c < g->columns; c++) {
        const real scale = f->scale ? f->scale[c] : 1;
        dw[f->weight + k * f->width + c] += (gain * drow[c] + norm * g->bias[c]) * scale;
        dgain += row[c] * scale * drow[c];
        dnorm += row[c] * scale * g->bias[c];
        if (f->dscale)
            f->dscale[c] += row[c] * (gain * drow[c] + norm * g->bias[c]);
    }
    if (f->gain >= 0) {
        dw[f->gain + k] += dgain;
        dw[f->norm + k] += dnorm;
    }
}

static void fold_grad(const fold *f, const real *w, const RN(step_matrix) * g, real *dw)
{
    for (int64_t k = 0; k < g->rows; k++)
        fold_row_grad(f, w, g, k, dw);
    for (int32_t c = 0; c < g->columns; c++) {
        dw[f->bias + c] += g->bias[c] * (f->scale ? f->scale[c] : 1);
        if (f->dscale) {
            f->dscale[c] += g->bias[c] * w[f->bias + c];
            f->dshift[c] += g->bias[c];
        }
    }
}

enum { MAX_FOLDS = 5 * SKED_I_MAX_LAYERS + 4 };

typedef struct fold_list {
    int count;
    fold fold[MAX_FOLDS];
    RN(step_matrix) * matrix[MAX_FOLDS];
} fold_list;

static void add_fold(fold_list *l, fold f, RN(step_matrix) * m)
{
    l->fold[l->count] = f;
    l->matrix[l->count++] = m;
}

static void layer_folds(const RN(stepper) * s, int i, const RN(film) * dfilm, RN(step_layer) * m,
                        fold_list *l)
{
    const sked_i_layer_at *at = &s->layout->layer[i];
    const sked_i_sizes *z = &s->layout->sizes;
    const int64_t inner = (int64_t)SKED_I_HEADS * z->head;
    add_fold(l,
             (fold){at->qkv_weight, 3 * inner, at->qkv_bias, at->norm1_gain, at->norm1_bias, s->query_scale,
                    NULL, NULL, NULL},
             &m->query);
    add_fold(l,
             (fold){at->qkv_weight + inner, 3 * inner, at->qkv_bias + inner, at->norm1_gain, at->norm1_bias,
                    NULL, NULL, NULL, NULL},
             &m->keys);
    add_fold(l, (fold){at->merge_weight, z->dim, at->merge_bias, -1, -1, NULL, NULL, NULL, NULL}, &m->merge);
    add_fold(l,
             (fold){at->mlp1_weight, z->mlp, at->mlp1_bias, at->norm2_gain, at->norm2_bias, s->film[i].scale,
                    s->film[i].shift, dfilm[i].scale, dfilm[i].shift},
             &m->mlp1);
    add_fold(l, (fold){at->mlp2_weight, z->dim, at->mlp2_bias, -1, -1, NULL, NULL, NULL, NULL}, &m->mlp2);
}

/* All matrices; `m` are the weights or a gradient, dfilm the gradients of FiLM (or zeros of NULL). */
static void list_folds(const RN(stepper) * s, const RN(film) * dfilm, RN(step_weights) * m, fold_list *l)
{
    const sked_i_layout *at = s->layout;
    const sked_i_sizes *z = &at->sizes;
    const RN(film) *film = s->film + z->layers;
    l->count = 0;
    add_fold(l, (fold){at->input_weight, z->dim, at->input_bias, -1, -1, NULL, NULL, NULL, NULL}, &m->input);
    for (int i = 0; i < z->layers; i++)
        layer_folds(s, i, dfilm, &m->layer[i], l);
    dfilm += z->layers;
    add_fold(l,
             (fold){at->forward1_weight, z->width, at->forward1_bias, at->final_gain, at->final_bias,
                    film[0].scale, film[0].shift, dfilm[0].scale, dfilm[0].shift},
             &m->forward1);
    add_fold(l, (fold){at->forward2_weight, z->slots, at->forward2_bias, -1, -1, NULL, NULL, NULL, NULL},
             &m->forward2);
    if (s->learned)
        add_fold(l,
                 (fold){at->back1_weight, z->width, at->back1_bias, at->final_gain, at->final_bias,
                        film[1].scale, film[1].shift, dfilm[1].scale, dfilm[1].shift},
                 &m->back1);
}

static int film_count(const RN(stepper) * s)
{
    return s->layout->sizes.layers + 1 + s->learned;
}

/* Where the parameters of a FiLM begin, and its columns. */
static int64_t film_of(const RN(stepper) * s, int i, int32_t *width)
{
    const sked_i_layout *at = s->layout;
    const int layers = at->sizes.layers;
    *width = i < layers ? at->sizes.mlp : at->sizes.width;
    return i < layers    ? at->layer[i].scale_weight
           : i == layers ? at->forward_scale_weight
                         : at->back_scale_weight;
}

void RN(stepper_prepare)(RN(stepper) * s, const real *parameter, const double *heat)
{
    static const RN(film) none[SKED_I_MAX_LAYERS + 2];
    const RN(kernels) *k = s->kernels;
    const sked_i_sizes *z = &s->layout->sizes;
    const real *w = parameter;
    fold_list l;
    s->parameter = parameter;
    RN(heat_run)(s->layout, k, w, heat, &s->heat);
    for (int i = 0; i < film_count(s); i++) {
        int32_t width;
        const int64_t at = film_of(s, i, &width);
        RN(film_run)(s->layout, k, w, &s->heat, at, width, s->film[i].scale, s->film[i].shift);
    }
    list_folds(s, none, &s->weights, &l);
    for (int i = 0; i < l.count; i++)
        fold_run(s, &l.fold[i], w, l.matrix[i]);
    if (s->learned)
        memcpy(s->weights.back2, w + s->layout->back2_weight, (size_t)z->width * sizeof(real));
}

int64_t RN(stepper_gradient_size)(const RN(stepper) * s)
{
    RN(cutter) c = {0};
    RN(step_weights) g;
    cut_weights(s, &c, false, &g);
    return c.used;
}

RN(step_weights) RN(stepper_gradient_pieces)(const RN(stepper) * s, real *block)
{
    RN(cutter) c = {.block = block};
    RN(step_weights) g;
    cut_weights(s, &c, false, &g);
    return g;
}

sked_status RN(stepper_grad)(const RN(stepper) * s, real *gradient, real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    const RN(kernels) *k = s->kernels;
    const sked_i_sizes *z = &s->layout->sizes;
    const int64_t widest = z->mlp > z->width ? z->mlp : z->width;
    const real *w = s->parameter;
    real *dfilm = NULL, *dheat = NULL;
    RN(film) films[SKED_I_MAX_LAYERS + 2];
    RN(step_weights) g = RN(stepper_gradient_pieces)(s, gradient);
    fold_list l;
    SKED_NEW0(dfilm, 2 * widest * (SKED_I_MAX_LAYERS + 2));
    SKED_NEW0(dheat, 2 * z->temperature);
    for (int i = 0; i < SKED_I_MAX_LAYERS + 2; i++)
        films[i] = (RN(film)){dfilm + 2 * i * widest, dfilm + (2 * i + 1) * widest};
    list_folds(s, films, &g, &l);
    for (int i = 0; i < l.count; i++)
        fold_grad(&l.fold[i], w, l.matrix[i], dparameter);
    for (int32_t c = 0; c < z->width && s->learned; c++)
        dparameter[s->layout->back2_weight + c] += g.back2[c];
    for (int i = 0; i < film_count(s); i++) {
        int32_t width;
        const int64_t at = film_of(s, i, &width);
        RN(film_back)
        (s->layout, k, w, &s->heat, at, width, films[i].scale, films[i].shift, dheat, dparameter);
    }
    RN(heat_grad)(s->layout, k, w, &s->heat, dheat, dheat + z->temperature, dparameter);
cleanup:
    free(dfilm);
    free(dheat);
    return st;
}
