/* Runs of the stepwise network on one partial schedule after another. */
#include "engine/network/stepper.h"

#include <assert.h>
#include <string.h>

static int64_t lay_out(RN(step_run) * r, real *block)
{
    const sked_i_sizes *z = &r->net->layout->sizes;
    const int64_t n = r->n, inner = (int64_t)SKED_I_HEADS * z->head, stride = r->net->views.stride;
    RN(cutter) c = {.block = block};
    int64_t widest = 2 * inner > z->dim ? 2 * inner : z->dim;
    widest = widest > r->net->layout->inputs ? widest : r->net->layout->inputs;
    r->feature = RN(cut)(&c, n, r->net->layout->inputs);
    for (int i = 0; i < z->layers; i++) {
        RN(step_kept) *k = &r->kept[i];
        k->in = RN(cut)(&c, n, z->dim);
        k->unit1 = RN(cut)(&c, n, z->dim);
        k->rstd1 = RN(cut)(&c, n, 1);
        k->query = RN(cut)(&c, n, inner);
        k->keys = RN(cut)(&c, n, 2 * inner);
        k->weight = RN(cut)(&c, n, stride);
        k->mixed = RN(cut)(&c, n, inner);
        k->middle = RN(cut)(&c, n, z->dim);
        k->unit2 = RN(cut)(&c, n, z->dim);
        k->rstd2 = RN(cut)(&c, n, 1);
        k->active = RN(cut)(&c, n, z->mlp);
    }
    r->last = RN(cut)(&c, n, z->dim);
    r->unit = RN(cut)(&c, n, z->dim);
    r->rstd = RN(cut)(&c, n, 1);
    r->active = RN(cut)(&c, n, z->width);
    r->logit = RN(cut)(&c, n, z->slots);
    r->back_logit = RN(cut)(&c, n, 1);
    r->picked = RN(cut)(&c, n, widest);
    return c.used;
}

static int64_t lay_out_grad(RN(step_run) * r, real *block)
{
    const sked_i_sizes *z = &r->net->layout->sizes;
    const int64_t n = r->n, inner = (int64_t)SKED_I_HEADS * z->head;
    RN(cutter) c = {.block = block};
    r->first_dquery = RN(cut)(&c, n, inner);
    r->first_dkeys = RN(cut)(&c, n, 2 * inner);
    r->first_dx = RN(cut)(&c, n, z->dim);
    r->dlogit = RN(cut)(&c, n, z->slots);
    r->dback = RN(cut)(&c, n, 1);
    r->dx = RN(cut)(&c, n, z->dim);
    r->dmiddle = RN(cut)(&c, n, z->dim);
    r->dunit = RN(cut)(&c, n, z->dim);
    r->dactive = RN(cut)(&c, n, z->mlp > z->width ? z->mlp : z->width);
    r->dmixed = RN(cut)(&c, n, inner);
    r->dquery = RN(cut)(&c, n, inner);
    r->dkeys = RN(cut)(&c, n, 2 * inner);
    r->scratch = RN(cut)(&c, 1, r->net->views.stride);
    return c.used;
}

sked_status RN(step_run_create)(const RN(stepper) * net, RN(step_run) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    real *block;
    RN(step_run) *r = NULL;
    SKED_NEW0(r, 1);
    r->net = net;
    r->n = net->views.n;
    SKED_OWN0(&r->arena, r->rows, r->n);
    SKED_OWN0(&r->arena, r->all, r->n);
    for (int32_t i = 0; i < r->n; i++)
        r->all[i] = i;
    SKED_BLOCK(&r->arena, block, lay_out(r, NULL));
    lay_out(r, block);
    *out = r;
    r = NULL;
cleanup:
    RN(step_run_destroy)(r);
    return st;
}

void RN(step_run_destroy)(RN(step_run) * r)
{
    if (r == NULL)
        return;
    sked_i_arena_free(&r->arena);
    free(r);
}

sked_status RN(step_run_want_grad)(RN(step_run) * r, sked_error *err)
{
    sked_status st = SKED_OK;
    real *block;
    if (r->dx != NULL)
        return SKED_OK;
    SKED_BLOCK(&r->arena, block, lay_out_grad(r, NULL));
    lay_out_grad(r, block);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ small helpers on rows */

static void clear(real *x, int64_t n)
{
    memset(x, 0, (size_t)n * sizeof *x);
}

static void gather(int32_t count, const int32_t *row, int64_t width, const real *x, real *y)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(y + i * width, x + row[i] * width, (size_t)width * sizeof *y);
}

static void scatter(int32_t count, const int32_t *row, int64_t width, const real *x, real *y)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(y + row[i] * width, x + i * width, (size_t)width * sizeof *y);
}

static void scatter_add(int32_t count, const int32_t *row, int64_t width, const real *x, real *y)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < width; c++)
            y[row[i] * width + c] += x[i * width + c];
}

static void multiply(const RN(step_run) * r, int32_t rows, const real *x, const RN(step_matrix) * m, real *y)
{
    r->net->kernels->linear_packed(rows, m->rows, m->columns, x, m->weight, m->bias, y);
}

/* y = x[row] + x' m. */
static void multiply_onto(const RN(step_run) * r, int32_t rows, const int32_t *row, const real *x,
                          const real *factor, const RN(step_matrix) * m, real *y)
{
    const int64_t width = m->columns;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < width; c++)
            y[i * width + c] = x[row[i] * width + c] + m->bias[c];
    r->net->kernels->linear_packed(rows, m->rows, m->columns, factor, m->weight, NULL, y);
}

/* From dy of y = x m to g, and added to dx. */
static void multiply_grad(const RN(step_run) * r, int32_t rows, const real *x, const RN(step_matrix) * m,
                          const real *dy, const RN(step_matrix) * g, real *dx)
{
    const RN(kernels) *k = r->net->kernels;
    k->linear_grad(rows, m->rows, m->columns, x, NULL, dy, NULL, g->weight, g->bias);
    if (dx != NULL)
        k->linear_packed(rows, m->columns, m->rows, dy, m->turned, NULL, dx);
}

/* ------------------------------------------------------------------ forward */

static int32_t picked_rows(const RN(step_run) * r)
{
    assert(r->n_forward >= 0 && r->n_back >= 0 && r->n_forward + r->n_back <= r->n);
    return r->n_forward + r->n_back;
}

void RN(step_run_change)(RN(step_run) * r, int32_t count, const int32_t *op)
{
    assert(count >= 0 && count <= r->n);
    const RN(step_weights) *w = &r->net->weights;
    const RN(step_kept) *k = &r->kept[0];
    const int32_t inputs = w->input.rows, dim = w->input.columns, inner = w->layer[0].query.columns;
    /* The rows behind go through scratch of the later pieces: attention of the first layer comes after. */
    real *in = k->middle, *unit = k->unit2, *rstd = k->rstd2;
    gather(count, op, inputs, r->feature, r->picked);
    multiply(r, count, r->picked, &w->input, in);
    r->net->kernels->unit(count, dim, in, unit, rstd);
    scatter(count, op, dim, in, k->in);
    scatter(count, op, dim, unit, k->unit1);
    scatter(count, op, 1, rstd, k->rstd1);
    multiply(r, count, unit, &w->layer[0].query, r->picked);
    scatter(count, op, inner, r->picked, k->query);
    multiply(r, count, unit, &w->layer[0].keys, r->picked);
    scatter(count, op, 2 * (int64_t)inner, r->picked, k->keys);
}

/* What attention of layer i looks with: its rows, and where their queries lie. */
typedef struct sight {
    int32_t count;
    const int32_t *op, *query;
} sight;

static sight sight_of(const RN(step_run) * r, int i)
{
    const bool last = i == r->net->layout->sizes.layers - 1;
    const int32_t *op = last ? r->rows : r->all;
    return (sight){last ? picked_rows(r) : r->n, op, i == 0 ? op : r->all};
}

/* Queries, keys and values of a layer behind the first. */
static void project(RN(step_run) * r, int i, const sight *s)
{
    const RN(step_layer) *w = &r->net->weights.layer[i];
    const RN(step_kept) *k = &r->kept[i];
    const int32_t dim = w->query.rows;
    r->net->kernels->unit(r->n, dim, k->in, k->unit1, k->rstd1);
    multiply(r, r->n, k->unit1, &w->keys, k->keys);
    const real *unit = k->unit1;
    if (s->op != r->all) {
        gather(s->count, s->op, dim, k->unit1, r->picked);
        unit = r->picked;
    }
    multiply(r, s->count, unit, &w->query, k->query);
}

void RN(step_run_forward)(RN(step_run) * r)
{
    const RN(kernels) *kernels = r->net->kernels;
    const RN(step_weights) *w = &r->net->weights;
    const sked_i_sizes *z = &r->net->layout->sizes;
    for (int i = 0; i < z->layers; i++) {
        const RN(step_kept) *k = &r->kept[i];
        const sight s = sight_of(r, i);
        real *next = i + 1 < z->layers ? r->kept[i + 1].in : r->last;
        if (i > 0)
            project(r, i, &s);
        kernels->attend(&r->net->views, z->head, s.count, s.op, s.query, k->query, k->keys, k->mixed,
                        k->weight);
        multiply_onto(r, s.count, s.op, k->in, k->mixed, &w->layer[i].merge, k->middle);
        kernels->unit(s.count, z->dim, k->middle, k->unit2, k->rstd2);
        multiply(r, s.count, k->unit2, &w->layer[i].mlp1, k->active);
        RN(relu)((int64_t)s.count * z->mlp, k->active);
        multiply_onto(r, s.count, r->all, k->middle, k->active, &w->layer[i].mlp2, next);
    }
    const int32_t rows = picked_rows(r);
    real *back = r->active + (int64_t)r->n_forward * z->width;
    kernels->unit(rows, z->dim, r->last, r->unit, r->rstd);
    multiply(r, r->n_forward, r->unit, &w->forward1, r->active);
    if (r->n_back > 0)
        multiply(r, r->n_back, r->unit + (int64_t)r->n_forward * z->dim, &w->back1, back);
    RN(relu)((int64_t)rows * z->width, r->active);
    multiply(r, r->n_forward, r->active, &w->forward2, r->logit);
    for (int64_t i = 0; i < r->n_back; i++) {
        r->back_logit[i] = 0;
        for (int32_t c = 0; c < z->width; c++)
            r->back_logit[i] += back[i * z->width + c] * w->back2[c];
    }
}

/* ------------------------------------------------------------------ backward */

/* From the logits to dx, the gradient of r->last. */
static void heads_grad(RN(step_run) * r, const RN(step_weights) * g)
{
    const RN(step_weights) *w = &r->net->weights;
    const sked_i_sizes *z = &r->net->layout->sizes;
    const int32_t rows = picked_rows(r), width = z->width;
    const int64_t first = r->n_forward;
    const real *back = r->active + first * width;
    real *dback = r->dactive + first * width;
    clear(r->dactive, (int64_t)rows * width);
    clear(r->dunit, (int64_t)rows * z->dim);
    clear(r->dx, (int64_t)rows * z->dim);
    multiply_grad(r, r->n_forward, r->active, &w->forward2, r->dlogit, &g->forward2, r->dactive);
    for (int64_t i = 0; i < r->n_back; i++)
        for (int32_t c = 0; c < width; c++) {
            g->back2[c] += r->dback[i] * back[i * width + c];
            dback[i * width + c] = r->dback[i] * w->back2[c];
        }
    RN(relu_grad)((int64_t)rows * width, r->active, r->dactive);
    multiply_grad(r, r->n_forward, r->unit, &w->forward1, r->dactive, &g->forward1, r->dunit);
    if (r->n_back > 0)
        multiply_grad(r, r->n_back, r->unit + first * z->dim, &w->back1, dback, &g->back1,
                      r->dunit + first * z->dim);
    r->net->kernels->unit_grad(rows, z->dim, r->unit, r->rstd, r->dunit, r->dx);
}

/* MLP half of a layer: from dx of its output rows to dx of k->middle. */
static void mlp_grad(RN(step_run) * r, int i, int32_t rows, const RN(step_layer) * g)
{
    const RN(step_layer) *w = &r->net->weights.layer[i];
    const RN(step_kept) *k = &r->kept[i];
    const int32_t dim = w->mlp1.rows, mlp = w->mlp1.columns;
    clear(r->dactive, (int64_t)rows * mlp);
    clear(r->dunit, (int64_t)rows * dim);
    multiply_grad(r, rows, k->active, &w->mlp2, r->dx, &g->mlp2, r->dactive);
    RN(relu_grad)((int64_t)rows * mlp, k->active, r->dactive);
    multiply_grad(r, rows, k->unit2, &w->mlp1, r->dactive, &g->mlp1, r->dunit);
    r->net->kernels->unit_grad(rows, dim, k->unit2, k->rstd2, r->dunit, r->dx);
}

/* From dquery of s->count rows and dkeys of all ops to dx [n, dim], to which it adds. */
static void project_grad(RN(step_run) * r, int i, const sight *s, const RN(step_layer) * g, real *dx)
{
    const RN(step_layer) *w = &r->net->weights.layer[i];
    const RN(step_kept) *k = &r->kept[i];
    const int32_t dim = w->query.rows;
    clear(r->dunit, (int64_t)r->n * dim);
    if (s->op == r->all) {
        multiply_grad(r, s->count, k->unit1, &w->query, r->dquery, &g->query, r->dunit);
    } else {
        gather(s->count, s->op, dim, k->unit1, r->picked);
        clear(r->dmiddle, (int64_t)s->count * dim);
        multiply_grad(r, s->count, r->picked, &w->query, r->dquery, &g->query, r->dmiddle);
        scatter_add(s->count, s->op, dim, r->dmiddle, r->dunit);
    }
    multiply_grad(r, r->n, k->unit1, &w->keys, r->dkeys, &g->keys, r->dunit);
    r->net->kernels->unit_grad(r->n, dim, k->unit1, k->rstd1, r->dunit, dx);
}

/* Attention half: from dx of k->middle's rows to dx of k->in, of all ops. */
static void attention_grad(RN(step_run) * r, int i, const sight *s, const RN(step_layer) * g)
{
    const RN(stepper) *net = r->net;
    const RN(step_layer) *w = &net->weights.layer[i];
    const RN(step_kept) *k = &r->kept[i];
    const int32_t dim = w->merge.columns, inner = w->merge.rows;
    real *dquery = i == 0 ? r->first_dquery : r->dquery, *dkeys = i == 0 ? r->first_dkeys : r->dkeys;
    clear(r->dmixed, (int64_t)s->count * inner);
    multiply_grad(r, s->count, k->mixed, &w->merge, r->dx, &g->merge, r->dmixed);
    if (i > 0) {
        clear(dquery, (int64_t)s->count * inner);
        clear(dkeys, 2 * (int64_t)r->n * inner);
    }
    net->kernels->attend_grad(&net->views, net->layout->sizes.head, s->count, s->op, s->query, k->query,
                              k->keys, k->weight, r->dmixed, r->scratch, dquery, dkeys);
    if (i == 0) {
        scatter_add(s->count, s->op, dim, r->dx, r->first_dx);
        return;
    }
    if (s->op != r->all) {
        memcpy(r->dmiddle, r->dx, (size_t)s->count * (size_t)dim * sizeof(real));
        clear(r->dx, (int64_t)r->n * dim);
        scatter(s->count, s->op, dim, r->dmiddle, r->dx);
    }
    project_grad(r, i, s, g, r->dx);
}

void RN(step_run_backward)(RN(step_run) * r, real *gradient)
{
    assert(r->dx != NULL); /* RN(step_run_want_grad) */
    const RN(step_weights) g = RN(stepper_gradient_pieces)(r->net, gradient);
    heads_grad(r, &g);
    for (int i = r->net->layout->sizes.layers - 1; i >= 0; i--) {
        const sight s = sight_of(r, i);
        mlp_grad(r, i, s.count, &g.layer[i]);
        attention_grad(r, i, &s, &g.layer[i]);
    }
}

void RN(step_run_settle)(RN(step_run) * r, int32_t count, const int32_t *op, real *gradient)
{
    const RN(step_weights) g = RN(stepper_gradient_pieces)(r->net, gradient);
    const RN(step_layer) *w = &r->net->weights.layer[0];
    const RN(step_kept) *k = &r->kept[0];
    const int32_t inputs = g.input.rows, dim = g.input.columns, inner = w->query.columns;
    real *unit = r->dmiddle, *rstd = r->dback, *dgathered = r->dkeys;
    gather(count, op, dim, k->unit1, unit);
    gather(count, op, 1, k->rstd1, rstd);
    gather(count, op, dim, r->first_dx, r->dx);
    clear(r->dunit, (int64_t)count * dim);
    gather(count, op, inner, r->first_dquery, dgathered);
    multiply_grad(r, count, unit, &w->query, dgathered, &g.layer[0].query, r->dunit);
    gather(count, op, 2 * (int64_t)inner, r->first_dkeys, dgathered);
    multiply_grad(r, count, unit, &w->keys, dgathered, &g.layer[0].keys, r->dunit);
    r->net->kernels->unit_grad(count, dim, unit, rstd, r->dunit, r->dx);
    gather(count, op, inputs, r->feature, r->picked);
    multiply_grad(r, count, r->picked, &r->net->weights.input, r->dx, &g.input, NULL);
    for (int64_t i = 0; i < count; i++) {
        clear(r->first_dx + op[i] * (int64_t)dim, dim);
        clear(r->first_dquery + op[i] * (int64_t)inner, inner);
        clear(r->first_dkeys + op[i] * 2 * (int64_t)inner, 2 * (int64_t)inner);
    }
}
