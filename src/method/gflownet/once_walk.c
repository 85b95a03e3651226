#include "base/memory.h"

#include "base/explog.h"
#include "engine/environment/ahead.h"
#include "method/gflownet/once.h"

#include <assert.h>
#include <string.h>

enum { FEATURES = SKED_I_PAIR_FEATURES, DIRECT = SKED_I_DIRECT_FEATURES, STEPS_AT_ONCE = 32 };
/* A gap of that many mean durations is as bad as any larger one. */
static const real direct_clip = 12;

/*
 * Building schedules step by step with the encode-once policy.
 *
 * What unscheduled ops and devices contribute changes only when something happens to them, so each keeps
 * its contribution as a version from one change to the next. The gradient of a version is the difference of
 * a running total at its end and its begin: a walk costs O(scored pairs + ops + edges), not O(ops * ops).
 * Rows of devices are those of the instance's columns.
 */
typedef struct walker {
    RN(walker) base;
    const RN(once) * policy;
    const sked_i_instance *x;
    sked_i_arena arena;
    int32_t context, width;
    bool learned; /* backward policy */
    sked_i_partial at;
    sked_i_choices choices; /* of this step */
    int32_t most;           /* devices a list walk opens */
    double work_left, busy; /* busy: sum of the times devices are free */
    /* Scorer. */
    real *wait;                  /* [n, context] of unscheduled ops */
    real *device;                /* [devices, context] */
    real *device_part;           /* [devices, width] */
    real *state;                 /* [2 * context + SKED_I_STATE_FEATURES] */
    real *sum_wait, *sum_device; /* [context] */
    real *sum;                   /* [width] state part */
    real *row;                   /* [devices, width] of this step's choices */
    real *feature, *direct;      /* per pair and feature */
    RN(choice) pair;
    int64_t pair_cap, count_cap;
    int64_t kept; /* numbers of the trajectory's steps so far that are kept */
    /* Gradient: totals so far, and what they were when a version began. */
    const RN(once_gradient) * gradient; /* NULL: not wanted */
    real *total_wait, *total_device;    /* [context] */
    real *wait_from, *device_from;      /* [n, context], [devices, context] */
    real *ddevice_part;                 /* [devices, width] */
    real *drow;                         /* [devices, width] */
    real *dbase, *dstate, *dversion;    /* [width], as state, [context] */
    /* Steps whose share of the gradient of state_weight is still to be added: many at once are quicker. */
    real *states, *dbases; /* [STEPS_AT_ONCE, as state], [STEPS_AT_ONCE, width] */
    int32_t n_states;
    /* Backward policy. */
    real *back_state, *dback_state; /* [2 * context + SKED_I_BACK_FEATURES] */
    real *back_device;              /* [used, context] rows of the used devices, as they were opened */
    real *back_row, *dback_row;     /* [used, width] hidden rows */
    real *back_logit;               /* [used] likewise the next four */
    real *back_logp, *dback_logp, *dback_logit;
    int32_t *back_count;
    real *ddevice, *dback_device; /* [devices, context], [used, context] */
} walker;

static sked_status reserve(walker *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = w->x->n, context = w->context, width = w->width, devices = w->x->columns;
    SKED_OWN(&w->arena, w->wait, n * context);
    SKED_OWN(&w->arena, w->device, devices * context);
    SKED_OWN(&w->arena, w->device_part, devices * width);
    SKED_OWN0(&w->arena, w->state, 2 * context + SKED_I_STATE_FEATURES);
    SKED_OWN(&w->arena, w->sum_wait, context);
    SKED_OWN(&w->arena, w->sum_device, context);
    SKED_OWN(&w->arena, w->sum, width);
    SKED_OWN(&w->arena, w->row, (devices + w->x->kinds) * width);
    SKED_OWN0(&w->arena, w->total_wait, context);
    SKED_OWN0(&w->arena, w->total_device, context);
    SKED_OWN(&w->arena, w->wait_from, n * context);
    SKED_OWN(&w->arena, w->device_from, devices * context);
    SKED_OWN(&w->arena, w->ddevice_part, devices * width);
    SKED_OWN(&w->arena, w->drow, (devices + w->x->kinds) * width);
    SKED_OWN(&w->arena, w->dbase, width);
    SKED_OWN(&w->arena, w->dstate, 2 * context + SKED_I_STATE_FEATURES);
    SKED_OWN(&w->arena, w->dversion, context);
    SKED_OWN(&w->arena, w->states, STEPS_AT_ONCE * (2 * context + SKED_I_STATE_FEATURES));
    SKED_OWN(&w->arena, w->dbases, STEPS_AT_ONCE * width);
    if (!w->learned)
        return SKED_OK;
    SKED_OWN(&w->arena, w->back_state, 2 * context + SKED_I_BACK_FEATURES);
    SKED_OWN(&w->arena, w->dback_state, 2 * context + SKED_I_BACK_FEATURES);
    SKED_OWN(&w->arena, w->back_row, devices * width);
    SKED_OWN(&w->arena, w->dback_row, devices * width);
    SKED_OWN(&w->arena, w->back_logit, devices);
    SKED_OWN(&w->arena, w->back_logp, devices);
    SKED_OWN(&w->arena, w->dback_logp, devices);
    SKED_OWN(&w->arena, w->dback_logit, devices);
    SKED_OWN(&w->arena, w->back_count, devices);
    SKED_OWN(&w->arena, w->ddevice, devices * context);
    SKED_OWN(&w->arena, w->back_device, devices * context);
    SKED_OWN(&w->arena, w->dback_device, devices * context);
cleanup:
    return st;
}

sked_status RN(once_walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    walker *w = NULL;
    SKED_NEW0(w, 1);
    w->base.policy = p;
    w->policy = (const RN(once) *)p;
    w->x = p->instance;
    w->context = p->layout->sizes.context;
    w->width = p->layout->sizes.width;
    w->learned = p->layout->sizes.backward == SKED_I_BACKWARD_LEARNED;
    SKED_TRY(sked_i_partial_init(&w->at, w->x, err));
    SKED_TRY(sked_i_choices_init(&w->choices, w->x, err));
    SKED_TRY(reserve(w, err));
    *out = &w->base;
    w = NULL;
cleanup:
    if (w)
        RN(once_walker_destroy)(&w->base);
    return st;
}

void RN(once_walker_destroy)(RN(walker) * generic)
{
    walker *w = (walker *)generic;
    sked_i_arena_free(&w->arena);
    sked_i_partial_clear(&w->at);
    sked_i_choices_clear(&w->choices);
    free(w);
}

/* ------------------------------------------------------------------ versions */

static double squashed(double x)
{
    return x / (1 + fabs(x));
}

/* y[c] = max(0, base[c] + sum_k f[k] weight[k, c]), and its share of the sum. */
static void version_begin(int32_t width, const real *base, int32_t features, const real *f,
                          const real *weight, real *y, real *sum)
{
    for (int32_t c = 0; c < width; c++) {
        real z = base[c];
        for (int32_t k = 0; k < features; k++)
            z += f[k] * weight[k * width + c];
        y[c] = z > 0 ? z : 0;
        sum[c] += y[c];
    }
}

static void version_leave(int32_t width, const real *y, real *sum)
{
    for (int32_t c = 0; c < width; c++)
        sum[c] -= y[c];
}

/* dy: gradient of the version that ends. To its base row and feature weights. */
static void version_grad(int32_t width, const real *y, const real *dy, int32_t features, const real *f,
                         real *dbase, real *dweight)
{
    for (int32_t c = 0; c < width; c++) {
        const real dz = y[c] > 0 ? dy[c] : 0;
        dbase[c] += dz;
        for (int32_t k = 0; k < features; k++)
            dweight[k * width + c] += f[k] * dz;
    }
}

static void wait_features(const walker *w, int32_t op, real *f)
{
    f[0] = (real)w->at.ready_time[op];
    f[1] = w->at.waits[op] == 0;
    f[2] = (real)(w->at.ready_time[op] + w->x->tail[op]);
}

static void wait_begin(walker *w, int32_t op)
{
    const int64_t at = (int64_t)op * w->context;
    real f[SKED_I_WAIT_FEATURES];
    wait_features(w, op, f);
    version_begin(w->context, w->policy->wait + at, SKED_I_WAIT_FEATURES, f,
                  w->policy->base.parameter + w->policy->base.layout->wait_feature, w->wait + at,
                  w->sum_wait);
    if (w->gradient)
        memcpy(w->wait_from + at, w->total_wait, (size_t)w->context * sizeof(real));
}

static void wait_end(walker *w, int32_t op)
{
    const int64_t at = (int64_t)op * w->context;
    assert(w->at.device_of[op] < 0);
    version_leave(w->context, w->wait + at, w->sum_wait);
    if (w->gradient == NULL)
        return;
    real f[SKED_I_WAIT_FEATURES];
    wait_features(w, op, f);
    for (int32_t c = 0; c < w->context; c++)
        w->dversion[c] = w->total_wait[c] - w->wait_from[at + c];
    version_grad(w->context, w->wait + at, w->dversion, SKED_I_WAIT_FEATURES, f, w->gradient->wait + at,
                 w->gradient->wait_feature);
}

static void device_features(const walker *w, int32_t d, real *f)
{
    assert(w->at.last[d] >= 0);
    f[0] = (real)w->at.free_at[d];
    f[1] = !w->at.followed[w->at.last[d]];
    f[2] = (real)squashed(w->x->pace[w->x->kind_of[d]]);
}

static void device_begin(walker *w, int32_t d)
{
    const RN(once) *p = w->policy;
    const int64_t at = (int64_t)d * w->context;
    real f[SKED_I_LAST_FEATURES];
    device_features(w, d, f);
    version_begin(w->context, p->last + (int64_t)w->at.last[d] * w->context, SKED_I_LAST_FEATURES, f,
                  p->base.parameter + p->base.layout->last_feature, w->device + at, w->sum_device);
    p->base.kernels->linear(1, w->context, w->width, w->device + at, p->device_weight, NULL,
                            w->device_part + (int64_t)d * w->width);
    if (w->gradient) {
        memcpy(w->device_from + at, w->total_device, (size_t)w->context * sizeof(real));
        memset(w->ddevice_part + (int64_t)d * w->width, 0, (size_t)w->width * sizeof(real));
        if (w->learned)
            memset(w->ddevice + at, 0, (size_t)w->context * sizeof(real));
    }
}

static void device_end(walker *w, int32_t d)
{
    const int64_t at = (int64_t)d * w->context;
    version_leave(w->context, w->device + at, w->sum_device);
    if (w->gradient == NULL)
        return;
    const RN(once_gradient) *g = w->gradient;
    real f[SKED_I_LAST_FEATURES];
    device_features(w, d, f);
    for (int32_t c = 0; c < w->context; c++)
        w->dversion[c] = w->total_device[c] - w->device_from[at + c] + (w->learned ? w->ddevice[at + c] : 0);
    w->policy->base.kernels->linear_grad(1, w->context, w->width, w->device + at, w->policy->device_weight,
                                         w->ddevice_part + (int64_t)d * w->width, w->dversion,
                                         g->device_weight, NULL);
    version_grad(w->context, w->device + at, w->dversion, SKED_I_LAST_FEATURES, f,
                 g->last + (int64_t)w->at.last[d] * w->context, g->last_feature);
}

/* ------------------------------------------------------------------ environment */

static void reset(walker *w)
{
    const sked_i_instance *x = w->x;
    const size_t context = (size_t)w->context * sizeof(real);
    sked_i_partial_reset(&w->at);
    w->busy = 0;
    w->work_left = x->work;
    memcpy(w->wait, w->policy->first_wait, (size_t)x->n * context);
    memcpy(w->sum_wait, w->policy->first_sum, context);
    memset(w->sum_device, 0, context);
    if (w->gradient) {
        memset(w->total_wait, 0, context);
        memset(w->total_device, 0, context);
        memset(w->wait_from, 0, (size_t)x->n * context);
    }
}

/* Data of op arrives at its successors, and its predecessors are followed now. */
static void tell_neighbours(walker *w, int32_t op, int32_t d, double start)
{
    const sked_i_instance *x = w->x;
    const sked_graph *g = x->graph;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (g->edge_distance[e] != 0)
            continue;
        wait_end(w, to);
        sked_i_partial_arrive(&w->at, e, d, start);
        wait_begin(w, to);
    }
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int32_t from = g->pred_op[k], its = w->at.device_of[from];
        if (g->edge_distance[g->pred_edge[k]] != 0 || w->at.followed[from])
            continue;
        const bool shows =
            w->at.last[its] == from; /* the device's state says whether its last op is followed */
        if (shows)
            device_end(w, its);
        w->at.followed[from] = 1;
        if (shows)
            device_begin(w, its);
    }
}

/* Appends ready[index] to a device. */
static void append(walker *w, int32_t index, int32_t d)
{
    const double free_at = w->at.free_at[d];
    const int32_t op = sked_i_partial_pop(&w->at, index);
    const double start = sked_i_partial_start(&w->at, op, d);
    wait_end(w, op);
    tell_neighbours(w, op, d, start);
    if (w->at.last[d] >= 0)
        device_end(w, d);
    sked_i_partial_place(&w->at, op, d, start);
    w->busy += w->at.free_at[d] - free_at;
    w->work_left -= w->x->duration[op];
    device_begin(w, d);
}

/* ------------------------------------------------------------------ scores */

/* What the features of all pairs of a step are measured against. */
typedef struct frame {
    double earliest; /* start of any pair, transfers not counted */
    double bound;    /* end that some path reaches already */
    double per_unit; /* 1 / mean duration */
} frame;

static frame frame_of(const walker *w)
{
    const sked_i_choices *c = &w->choices;
    return (frame){.earliest = sked_i_later(c->first_ready, c->least_free),
                   .bound = sked_i_later(sked_i_later(c->critical, w->at.makespan), 1),
                   .per_unit = 1 / w->x->unit};
}

/* What the features of all pairs of an op are measured against. */
typedef struct op_frame {
    double finish; /* least over the devices */
    double end;    /* the same of a path one op ahead; with transfers */
    sked_i_ahead ahead;
} op_frame;

/* One pair: times in mean durations for the hidden row, still to be squashed, and for the direct path. */
static void pair_features(const walker *w, const frame *at, const op_frame *its, int32_t op, int32_t d,
                          real *f, real *g)
{
    const double u = at->per_unit, data = sked_i_partial_data(&w->at, op, d), free_at = w->at.free_at[d];
    const double start = sked_i_later(data, free_at), finish = start + sked_i_instance_time(w->x, op, d);
    const double end = start + w->x->tail[op], gap = (w->choices.top_tail - w->x->tail[op]) * u;
    const double local = w->at.local != NULL ? w->at.local[(int64_t)op * w->x->columns + d] : 0;
    f[0] = (real)((start - at->earliest) * u);
    f[1] = (real)((start - w->at.ready_time[op]) * u);
    f[2] = (real)((start - free_at) * u);
    f[3] = (real)((end - w->at.makespan) * u);
    f[4] = (real)(sked_i_later(0, end - at->bound) * u);
    f[5] = (real)gap;
    f[6] = (real)(sked_i_later(0, finish - w->at.makespan) * u);
    f[7] = (real)((free_at - w->choices.least_free) * u);
    f[8] = (real)((data - w->at.ready_time[op]) * u);
    f[9] = (real)local;
    f[10] = (real)((finish - start - w->x->least[op]) * u);
    f[11] = (real)((finish - its->finish) * u);
    for (int k = SKED_I_NEAR_FEATURES; k < FEATURES; k++)
        f[k] = 0;
    if (w->x->ahead != NULL) {
        const double far = sked_i_ahead_end(&its->ahead, &w->at, op, d, start);
        f[12] = (real)((far - end) * u);
        f[13] = (real)(sked_i_later(0, far - at->bound) * u);
        f[14] = (real)((far - its->end) * u);
        f[15] = (real)sked_i_ahead_held(&w->at, op, d);
    }
    g[0] = f[0];
    g[1] = f[11];
    g[2] = f[5];
    g[3] = (real)squashed(gap);
    g[4] = f[8];
    g[5] = f[2];
    g[6] = f[4];
    g[7] = f[10];
    g[8] = f[14];
    g[9] = f[13];
}

static op_frame op_frame_of(const walker *w, int32_t op)
{
    const sked_i_choices *c = &w->choices;
    op_frame out = {.finish = INFINITY, .end = INFINITY};
    if (w->x->ahead != NULL)
        sked_i_ahead_fill(&out.ahead, &w->at, c, op);
    for (int32_t i = 0; i < c->n_columns; i++) {
        const int32_t d = c->column[i];
        const double start = sked_i_partial_start(&w->at, op, d);
        const double finish = start + sked_i_instance_time(w->x, op, d);
        out.finish = finish < out.finish ? finish : out.finish;
        if (w->x->ahead != NULL && finish < INFINITY) {
            const double end = sked_i_ahead_end(&out.ahead, &w->at, op, d, start);
            out.end = end < out.end ? end : out.end;
        }
    }
    return out;
}

/* Features of every pair; those of a device that cannot run the op are 0, and so is its count. */
static void observe_pairs(walker *w)
{
    const sked_i_choices *c = &w->choices;
    const frame at = frame_of(w);
    for (int32_t i = 0; i < c->n_ops; i++) {
        const int32_t op = c->row[i];
        const op_frame its = op_frame_of(w, op);
        for (int32_t d = 0; d < c->n_columns; d++) {
            const int64_t pair = (int64_t)i * c->n_columns + d;
            const bool able = !w->x->picky || sked_i_instance_time(w->x, op, c->column[d]) < INFINITY;
            w->pair.count[pair] = able ? c->count[d] : 0;
            if (able) {
                pair_features(w, &at, &its, op, c->column[d], w->feature + pair * FEATURES,
                              w->direct + pair * DIRECT);
            } else {
                memset(w->feature + pair * FEATURES, 0, FEATURES * sizeof(real));
                memset(w->direct + pair * DIRECT, 0, DIRECT * sizeof(real));
            }
        }
    }
    const int64_t pairs = (int64_t)c->n_ops * c->n_columns;
    const int features = w->x->ahead != NULL ? FEATURES : SKED_I_NEAR_FEATURES;
    for (int64_t p = 0; p < pairs; p++)
        for (int k = 0; k < features; k++) {
            real *f = &w->feature[p * FEATURES + k];
            *f /= 1 + (*f < 0 ? -*f : *f);
        }
    for (int64_t k = 0; k < pairs * DIRECT; k++)
        w->direct[k] = w->direct[k] < direct_clip ? w->direct[k] : direct_clip;
}

/* The tail of w->state. */
static void observe_state(walker *w)
{
    const sked_i_choices *c = &w->choices;
    const frame at = frame_of(w);
    real *q = w->state + 2 * (int64_t)w->context;
    q[0] = (real)w->at.makespan;
    q[1] = (real)(w->x->n - w->at.left) / (real)w->x->n;
    q[2] = (real)(w->busy / w->x->devices);
    q[3] = (real)squashed((c->most_free - c->least_free) * at.per_unit);
    q[4] = (real)((w->busy + w->work_left) / w->x->devices);
    q[5] = (real)w->at.n_ready / (real)w->at.left;
    q[6] = (real)at.earliest;
    q[7] = (real)c->critical;
    q[8] = (real)squashed((c->critical - w->at.makespan) * at.per_unit);
    q[9] = (real)squashed((at.earliest - c->least_free) * at.per_unit);
    q[10] = (real)w->at.n_ready / (real)(w->at.n_ready + w->x->devices);
    q[11] = (real)w->at.n_used / (real)w->x->devices;
}

/* For what is written anew in every step. */
static bool room_for_pairs(walker *w, int32_t pairs)
{
    const int64_t n = pairs;
    RN(choice) *c = &w->pair;
    if (!SKED_OWN_GROW(&w->arena, w->feature, w->pair_cap, n * (FEATURES + DIRECT + 4)) ||
        !SKED_OWN_GROW(&w->arena, c->count, w->count_cap, n))
        return false;
    w->direct = w->feature + n * FEATURES;
    c->n = pairs;
    c->logit = w->direct + n * DIRECT;
    c->logp = c->logit + n;
    c->dlogp = c->logp + n;
    c->dlogit = c->dlogp + n;
    return true;
}

static RN(pairs) pairs_of(const walker *w)
{
    return (RN(pairs)){.ops = w->choices.n_ops,
                       .devices = w->choices.n_columns,
                       .width = w->width,
                       .far = w->x->ahead != NULL,
                       .row = w->choices.row,
                       .op_part = w->policy->op,
                       .device = w->row,
                       .feature = w->feature,
                       .weight = w->policy->pair_weight,
                       .out = w->policy->out};
}

/* ------------------------------------------------------------------ what is kept for the gradient */

/* Numbers of a trajectory: above that the rest of its steps is computed again. */
enum { MOST_KEPT = 1 << 18 };

/* Room for a step with so many pairs; NULL: this step is not kept. */
static real *kept_step(walker *w, sked_i_trajectory *t, int64_t pairs)
{
    const int64_t from = w->kept, end = from + w->width + pairs;
    const int64_t likely = (int64_t)w->x->n * (w->width + 2 * pairs), room = from > 0 ? end : likely;
    real *all = t->kept;
    if (!t->keeps || end > MOST_KEPT || !SKED_GROW(all, t->kept_cap, room < MOST_KEPT ? room : MOST_KEPT)) {
        w->kept = MOST_KEPT;
        return NULL;
    }
    t->kept = all;
    t->kept_steps++;
    w->kept = end;
    return all + from;
}

static const real *take_kept(walker *w, const sked_i_trajectory *t, int32_t step, int64_t pairs)
{
    if (w->gradient == NULL || step >= t->kept_steps)
        return NULL;
    const real *at = (const real *)t->kept + w->kept;
    w->kept += w->width + pairs;
    return at;
}

/* The state's part and the devices' parts of the hidden rows; known: the state's part, or NULL. */
static void fill_rows(walker *w, const real *known)
{
    const RN(once) *p = w->policy;
    const sked_i_choices *c = &w->choices;
    const real empties = (real)(w->x->devices - w->at.n_used);
    for (int32_t k = 0; k < w->context; k++) {
        w->state[k] = w->sum_wait[k] / (real)w->at.left;
        w->state[w->context + k] = (w->sum_device[k] + empties * p->empty[k]) / (real)w->x->devices;
    }
    if (known)
        memcpy(w->sum, known, (size_t)w->width * sizeof *w->sum);
    else
        p->base.kernels->linear(1, 2 * w->context + SKED_I_STATE_FEATURES, w->width, w->state,
                                p->state_weight, NULL, w->sum);
    for (int32_t d = 0; d < c->n_columns; d++) {
        const bool used = w->at.last[c->column[d]] >= 0;
        const real *part = used ? w->device_part + (int64_t)c->column[d] * w->width : p->empty_part;
        for (int32_t k = 0; k < w->width; k++)
            w->row[(int64_t)d * w->width + k] = w->sum[k] + part[k];
    }
}

/* Logits of all pairs, and their log-probabilities into w->pair.logp. */
static sked_status score(walker *w, int32_t count, sked_error *err)
{
    const RN(once) *p = w->policy;
    const RN(pairs) pairs = pairs_of(w);
    p->base.kernels->score(&pairs, w->pair.logit);
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; k < DIRECT; k++)
            w->pair.logit[i] += p->direct[k] * w->direct[(int64_t)i * DIRECT + k];
    if (!p->base.kernels->log_softmax(count, w->pair.logit, w->pair.count, w->pair.logp))
        return RN(no_probability)(w->x->n - w->at.left, w->x->n, err);
    return SKED_OK;
}

/* Log-probabilities of all pairs into w->pair.logp. With a gradient those of the walk before are there
 * already. */
static sked_status evaluate(walker *w, sked_i_trajectory *t, int32_t step, sked_error *err)
{
    sked_i_choices_fill(&w->choices, &w->at);
    const int32_t count = w->choices.n_ops * w->choices.n_columns;
    if (!room_for_pairs(w, count))
        return sked_i_no_memory(err);
    const real *known = take_kept(w, t, step, count);
    observe_pairs(w);
    observe_state(w);
    fill_rows(w, known);
    if (known) {
        memcpy(w->pair.logp, known + w->width, (size_t)count * sizeof *w->pair.logp);
        return SKED_OK;
    }
    const sked_status st = score(w, count, err);
    real *kept = st == SKED_OK && w->gradient == NULL ? kept_step(w, t, count) : NULL;
    if (kept) {
        memcpy(kept, w->sum, (size_t)w->width * sizeof *kept);
        memcpy(kept + w->width, w->pair.logp, (size_t)count * sizeof *kept);
    }
    return st;
}

/* Adds what the steps since the last time do to the gradient of state_weight. */
static void add_states(walker *w)
{
    assert(w->n_states <= STEPS_AT_ONCE);
    const int32_t states = 2 * w->context + SKED_I_STATE_FEATURES;
    w->policy->base.kernels->linear_grad(w->n_states, states, w->width, w->states, NULL, w->dbases, NULL,
                                         w->gradient->state_weight, NULL);
    w->n_states = 0;
}

static void remember_state(walker *w)
{
    const int64_t states = 2 * w->context + SKED_I_STATE_FEATURES, at = w->n_states;
    memcpy(w->states + at * states, w->state, (size_t)states * sizeof(real));
    memcpy(w->dbases + at * w->width, w->dbase, (size_t)w->width * sizeof(real));
    if (++w->n_states == STEPS_AT_ONCE)
        add_states(w);
}

/* The step's share of the gradient: slope * d logp[chosen], or what PPO makes of it. */
static void step_grad(walker *w, sked_i_trajectory *t, int32_t step, int32_t chosen, real slope)
{
    const RN(once) *p = w->policy;
    const RN(once_gradient) *g = w->gradient;
    const sked_i_choices *c = &w->choices;
    const int32_t pairs = c->n_ops * c->n_columns, context = w->context;
    const size_t states = (size_t)(2 * context + SKED_I_STATE_FEATURES);
    memset(w->drow, 0, (size_t)c->n_columns * (size_t)w->width * sizeof(real));
    memset(w->dbase, 0, (size_t)w->width * sizeof(real));
    memset(w->dstate, 0, states * sizeof(real));
    RN(choice_grad)(&w->pair, p->base.kernels, t, step, chosen, slope);
    for (int32_t i = 0; i < pairs; i++)
        for (int32_t k = 0; k < DIRECT; k++)
            g->direct[k] += w->pair.dlogit[i] * w->direct[(int64_t)i * DIRECT + k];
    const RN(pairs) s = pairs_of(w);
    p->base.kernels->score_grad(&s, w->pair.dlogit, g->op, w->drow, g->pair_weight, g->out);
    for (int32_t d = 0; d < c->n_columns; d++) {
        const bool used = w->at.last[c->column[d]] >= 0;
        real *part = used ? w->ddevice_part + (int64_t)c->column[d] * w->width : g->empty_part;
        for (int32_t k = 0; k < w->width; k++) {
            part[k] += w->drow[(int64_t)d * w->width + k];
            w->dbase[k] += w->drow[(int64_t)d * w->width + k];
        }
    }
    p->base.kernels->linear_grad(1, (int32_t)states, w->width, NULL, p->state_weight, w->dbase, w->dstate,
                                 NULL, NULL);
    remember_state(w);
    for (int32_t k = 0; k < context; k++) {
        const real each = w->dstate[context + k] / (real)w->x->devices;
        w->total_wait[k] += w->dstate[k] / (real)w->at.left;
        w->total_device[k] += each;
        g->empty[k] += each * (real)(w->x->devices - w->at.n_used);
    }
}

/* ------------------------------------------------------------------ backward policy */

/* Log-probabilities of removing the last op of each device, into w->back_logp. */
static bool evaluate_back(walker *w)
{
    const RN(once) *p = w->policy;
    const sked_i_layout *at = p->base.layout;
    const RN(kernels) *k = p->base.kernels;
    const real *weight = p->base.parameter;
    const int32_t context = w->context, width = w->width, states = 2 * context + SKED_I_BACK_FEATURES;
    const int32_t used = w->at.n_used;
    const real empties = (real)(w->x->devices - used);
    for (int32_t c = 0; c < context; c++) {
        w->back_state[c] = w->sum_wait[c] / (real)w->x->n;
        w->back_state[context + c] = (w->sum_device[c] + empties * p->empty[c]) / (real)w->x->devices;
    }
    w->back_state[2 * context] = (real)w->at.makespan;
    w->back_state[2 * context + 1] = (real)w->at.left / (real)w->x->n;
    k->linear(1, states, width, w->back_state, weight + at->back_state, weight + at->back_bias, w->sum);
    for (int32_t d = 0; d < used; d++)
        memcpy(w->back_device + (int64_t)d * context, w->device + (int64_t)w->at.used[d] * context,
               (size_t)context * sizeof(real));
    k->linear(used, context, width, w->back_device, weight + at->back_device, NULL, w->back_row);
    for (int32_t d = 0; d < used; d++) {
        real *row = w->back_row + (int64_t)d * width, logit = 0;
        for (int32_t c = 0; c < width; c++) {
            row[c] = row[c] + w->sum[c] > 0 ? row[c] + w->sum[c] : 0;
            logit += row[c] * weight[at->back_out + c];
        }
        w->back_logit[d] = logit;
        w->back_count[d] = !w->at.followed[w->at.last[w->at.used[d]]];
    }
    return k->log_softmax(used, w->back_logit, w->back_count, w->back_logp);
}

/* slope * d back_logp[chosen] of the state as it is now. */
static void back_grad(walker *w, int32_t chosen, real slope)
{
    const RN(once) *p = w->policy;
    const sked_i_layout *at = p->base.layout;
    const RN(kernels) *k = p->base.kernels;
    const RN(once_gradient) *g = w->gradient;
    const real *weight = p->base.parameter;
    const int32_t context = w->context, width = w->width, states = 2 * context + SKED_I_BACK_FEATURES;
    const int32_t used = w->at.n_used;
    memset(w->dback_logp, 0, (size_t)used * sizeof(real));
    memset(w->dback_logit, 0, (size_t)used * sizeof(real));
    memset(w->dback_device, 0, (size_t)used * (size_t)context * sizeof(real));
    memset(w->dbase, 0, (size_t)width * sizeof(real));
    memset(w->dback_state, 0, (size_t)states * sizeof(real));
    w->dback_logp[chosen] = slope;
    k->log_softmax_grad(used, w->back_logp, w->back_count, w->dback_logp, w->dback_logit);
    for (int32_t d = 0; d < used; d++)
        for (int32_t c = 0; c < width; c++) {
            const int64_t i = (int64_t)d * width + c;
            const real dlogit = w->dback_logit[d];
            g->back_out[c] += dlogit * w->back_row[i];
            w->dback_row[i] = w->back_row[i] > 0 ? dlogit * weight[at->back_out + c] : 0;
            w->dbase[c] += w->dback_row[i];
        }
    k->linear_grad(used, context, width, w->back_device, weight + at->back_device, w->dback_row,
                   w->dback_device, g->back_device, NULL);
    for (int32_t d = 0; d < used; d++)
        for (int32_t c = 0; c < context; c++)
            w->ddevice[(int64_t)w->at.used[d] * context + c] += w->dback_device[(int64_t)d * context + c];
    k->linear_grad(1, states, width, w->back_state, weight + at->back_state, w->dbase, w->dback_state,
                   g->back_state, g->back_bias);
    for (int32_t c = 0; c < context; c++) {
        const real each = w->dback_state[context + c] / (real)w->x->devices;
        w->total_wait[c] += w->dback_state[c] / (real)w->x->n;
        w->total_device[c] += each;
        g->empty[c] += each * (real)(w->x->devices - used);
    }
}

/* ------------------------------------------------------------------ choices */

static int32_t replayed(const walker *w, int32_t op, int32_t device)
{
    const sked_i_choices *c = &w->choices;
    for (int32_t i = 0; i < c->n_ops; i++)
        for (int32_t d = 0; d < c->n_columns && c->row[i] == op; d++)
            if (c->column[d] == device && w->pair.count[i * c->n_columns + d] > 0)
                return i * c->n_columns + d;
    return -1;
}

static int32_t choose(const walker *w, sked_i_walk_kind kind, sked_i_rng *rng, const sked_i_trajectory *t,
                      int32_t step)
{
    if (kind == SKED_I_WALK_LIST)
        return sked_i_choices_list(&w->choices, &w->at, w->most);
    return kind == SKED_I_WALK_REPLAY ? replayed(w, t->op[step], t->device[step])
                                      : RN(choose)(&w->pair, kind, rng);
}

/* log P_B of the op just appended to column d, and with a gradient its share of that. */
static sked_status look_back(walker *w, int32_t d, real slope, double *logp, sked_error *err)
{
    if (!w->learned) {
        *logp = -sked_i_log(sked_i_partial_removable(&w->at));
        return SKED_OK;
    }
    if (!evaluate_back(w))
        return sked_i_fail(err, SKED_ERR_BUG, "the backward policy gives no probability at step %d of %d",
                           (int)(w->x->n - w->at.left), (int)w->x->n);
    int32_t chosen = 0;
    while (w->at.used[chosen] != d)
        chosen++;
    *logp = w->back_logp[chosen];
    if (w->gradient)
        back_grad(w, chosen, slope);
    return SKED_OK;
}

/* Where transfers take time or devices differ, some of the devices may be better than all. */
static void begin_list(walker *w, sked_i_rng *rng)
{
    sked_i_partial_draw_noise(&w->at, rng);
    w->most = w->x->columns;
    if ((w->x->transfers || w->x->kinds > 1) && sked_i_rng_uniform(rng) < 0.5)
        w->most = 1 + (int32_t)sked_i_rng_below(rng, (uint64_t)w->x->columns);
}

sked_status RN(once_walk)(RN(walker) * generic, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                          RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err)
{
    enum { pairs_between_looks = 2048 }; /* about 0.1 ms */
    sked_status st = SKED_OK;
    walker *w = (walker *)generic;
    RN(once_gradient) pieces;
    if (gradient)
        RN(once_gradient_lay_out)(w->policy, gradient->block, &pieces);
    w->gradient = gradient ? &pieces : NULL;
    t->log_forward = t->log_backward = t->objective = t->entropy = 0;
    w->kept = 0;
    w->n_states = 0;
    if (gradient == NULL)
        t->kept_steps = 0;
    reset(w);
    if (kind == SKED_I_WALK_LIST)
        begin_list(w, rng);
    int64_t scored = 0;
    for (int32_t step = 0; step < w->x->n; step++) {
        double back = 0;
        if (step == 0 || scored >= pairs_between_looks) {
            if (sked_i_limit_heard(w->x->limit))
                SKED_TRY(sked_i_limit_fail(err));
            scored = 0;
        }
        SKED_TRY(evaluate(w, t, step, err));
        const sked_i_choices *c = &w->choices;
        scored += 1 + w->at.n_ready / 8 + (int64_t)c->n_ops * c->n_columns;
        const int32_t chosen = choose(w, kind, rng, t, step);
        SKED_TRY(RN(note_choice)(&w->pair, kind, step, chosen, t, err));
        if (gradient)
            step_grad(w, t, step, chosen, slope);
        t->op[step] = c->row[chosen / c->n_columns];
        t->device[step] = c->column[chosen % c->n_columns];
        append(w, c->index[chosen / c->n_columns], t->device[step]);
        SKED_TRY(look_back(w, t->device[step], (real)sked_i_back_slope(t, slope), &back, err));
        sked_i_note_back(t, step, back);
        if (gradient == NULL)
            sked_i_note_step(t, step, &w->at);
    }
    for (int32_t d = 0; d < w->at.n_used && gradient; d++)
        device_end(w, w->at.used[d]);
    if (gradient)
        add_states(w);
    t->makespan = w->at.makespan;
cleanup:
    w->gradient = NULL;
    return st;
}
