/* The tables of a stepwise model: matrices, what is folded into them, pieces of their gradients. */
#include "backend/cuda/stepwise_host.h"

#include <assert.h>
#include <math.h>

/* Matrix k, and how it comes from the parameters. */
static void place_matrix(step_device *d, int k, int rows, int columns, const step_fold &fold)
{
    const int64_t size = (int64_t)rows * columns, gradient = d->gradient_size;
    assert(k < d->net.n_matrices && rows % STEP_TILE == 0);
    d->matrix[k] = {
        rows, columns, (int)d->folded_size, (int)gradient, (int)(gradient + size), (int)d->tile_count};
    d->fold[k] = fold;
    d->tile_count += 2 * step_tiles_of(rows) * step_tiles_of(columns);
    d->folded_size += columns;
    d->gradient_size += size + columns;
}
/* One that is used as it is. */
static void place_plain(step_device *d, int k, int rows, int columns, int64_t weight, int64_t bias)
{
    place_matrix(d, k, rows, columns, {weight, bias, -1, -1, columns, -1, 0, 1, false});
}

/* FiLM i, whose parameters follow one another (engine/network/heat.h); returns where its scale will be. */
static int place_film(step_device *d, int i, int64_t scale_weight, int width)
{
    const int64_t size = (int64_t)d->shape.temperature * width, shift = scale_weight + size + width;
    const int at = d->folding.film_size;
    d->film[i] = {scale_weight, scale_weight + size, shift, shift + size, width, at};
    d->folding.film_size += 2 * width;
    return at;
}

static void place_layer(step_device *d, int i)
{
    const sked_i_gpu_shape *s = &d->shape;
    const sked_i_layer_at *l = &s->layer[i];
    const int inner = d->net.inner, k = i * STEP_MATRICES, film = place_film(d, i, l->scale_weight, s->mlp);
    const float query_scale = 1 / sqrtf((float)s->head);
    place_matrix(
        d, k + STEP_QKV, s->dim, 3 * inner,
        {l->qkv_weight, l->qkv_bias, l->norm1_gain, l->norm1_bias, 3 * inner, -1, inner, query_scale, false});
    place_plain(d, k + STEP_MERGE, inner, s->dim, l->merge_weight, l->merge_bias);
    place_matrix(d, k + STEP_MLP1, s->dim, s->mlp,
                 {l->mlp1_weight, l->mlp1_bias, l->norm2_gain, l->norm2_bias, s->mlp, film, 0, 1, false});
    place_plain(d, k + STEP_MLP2, s->mlp, s->dim, l->mlp2_weight, l->mlp2_bias);
}

static void place_heads(step_device *d)
{
    const sked_i_gpu_shape *s = &d->shape;
    const int k = s->layers * STEP_MATRICES,
              film = place_film(d, s->layers, s->forward_scale_weight, s->width);
    place_plain(d, k + STEP_FORWARD2, s->width, s->slots, s->forward2_weight, s->forward2_bias);
    place_matrix(
        d, k + STEP_FORWARD1, s->dim, s->width,
        {s->forward1_weight, s->forward1_bias, s->final_gain, s->final_bias, s->width, film, 0, 1, false});
    if (!s->learned)
        return;
    const int back = place_film(d, s->layers + 1, s->back_scale_weight, s->width);
    place_matrix(d, k + STEP_BACK1, s->dim, s->width,
                 {s->back1_weight, s->back1_bias, s->final_gain, s->final_bias, s->width, back, 0, 1, true});
}

void sked_i_step_make_tables(step_device *d)
{
    const sked_i_gpu_shape *s = &d->shape;
    d->net = {};
    d->net.dim = s->dim;
    d->net.layers = s->layers;
    d->net.inner = SKED_I_HEADS * s->head;
    d->net.mlp = s->mlp;
    d->net.width = s->width;
    d->net.slots = s->slots;
    d->net.inputs = SKED_I_STEP_FEATURES + s->slots;
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

/* dw[rows, columns] = rows that are kept from tile a on, times slopes from tile y on. dbias: -1: none. */
static void add_jobs(step_job_list *list, int a, int rows, int y, int columns, int dweight, int dbias)
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
static void add_matrix_jobs(step_job_list *list, int a, int y, const step_matrix *m)
{
    add_jobs(list, a, m->rows, y, m->columns, m->dweight, m->dbias);
}

void sked_i_step_list_jobs(const step_device *d, step_job_list *list)
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
