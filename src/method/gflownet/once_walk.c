#include "base/memory.h"

#include "base/explog.h"
#include "method/gflownet/once.h"
#include "method/gflownet/partial.h"

#include <string.h>

enum { FEATURES = SKED_I_PAIR_FEATURES };

/*
 * Building schedules step by step with the encode-once policy.
 *
 * What unscheduled ops and devices contribute changes only when something happens to them, so each keeps
 * its contribution as a version from one change to the next. The gradient of a version is the difference of
 * a running total at its end and its begin: a walk costs O(scored pairs + ops + edges), not O(ops * ops).
 * Devices are numbered in the order they are first used.
 */
typedef struct walker {
    RN(walker) base;
    const RN(once) * policy;
    const sked_i_instance *x;
    int32_t context, width, devices; /* devices: at most as many as there are ops */
    bool learned;                    /* backward policy */
    sked_i_partial at;
    int32_t used;           /* devices, numbered in the order they are first used */
    double work_left, busy; /* busy: sum of the times devices are free */
    double earliest;        /* start of any pair, this step */
    /* Scorer. */
    real *wait;                                    /* [n, context] of unscheduled ops */
    real *device;                                  /* [devices, context] */
    real *device_part;                             /* [devices, width] */
    real *state;                                   /* [2 * context + SKED_I_STATE_FEATURES] */
    real *sum_wait, *sum_device;                   /* [context] */
    real *sum;                                     /* [width] state part */
    real *row;                                     /* [devices, width] */
    real *feature, *logit, *logp, *dlogp, *dlogit; /* per pair */
    int32_t *count;                                /* per pair */
    int64_t pair_cap;
    /* Gradient: totals so far, and what they were when a version began. */
    const RN(once_gradient) * gradient; /* NULL: not wanted */
    real *total_wait, *total_device;    /* [context] */
    real *wait_from, *device_from;      /* [n, context], [devices, context] */
    real *ddevice_part;                 /* [devices, width] */
    real *drow;                         /* [devices, width] */
    real *dbase, *dstate, *dversion;    /* [width], as state, [context] */
    /* Backward policy. */
    real *back_state, *dback_state; /* [2 * context + SKED_I_BACK_FEATURES] */
    real *back_row, *dback_row;     /* [used, width] hidden rows */
    real *back_logit;               /* [used] likewise the next four */
    real *back_logp, *dback_logp, *dback_logit;
    int32_t *back_count;
    real *ddevice; /* [devices, context] */
} walker;

static sked_status create_scorer(walker *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = w->x->n, context = w->context, width = w->width, devices = w->devices;
    SKED_NEW(w->wait, n * context);
    SKED_NEW(w->device, devices * context);
    SKED_NEW(w->device_part, devices * width);
    SKED_NEW0(w->state, 2 * context + SKED_I_STATE_FEATURES);
    SKED_NEW(w->sum_wait, context);
    SKED_NEW(w->sum_device, context);
    SKED_NEW(w->sum, width);
    SKED_NEW(w->row, devices * width);
    SKED_NEW0(w->total_wait, context);
    SKED_NEW0(w->total_device, context);
    SKED_NEW(w->wait_from, n * context);
    SKED_NEW(w->device_from, devices * context);
    SKED_NEW(w->ddevice_part, devices * width);
    SKED_NEW(w->drow, devices * width);
    SKED_NEW(w->dbase, width);
    SKED_NEW(w->dstate, 2 * context + SKED_I_STATE_FEATURES);
    SKED_NEW(w->dversion, context);
cleanup:
    return st;
}

static sked_status create_backward(walker *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t context = w->context, width = w->width, devices = w->devices;
    SKED_NEW(w->back_state, 2 * context + SKED_I_BACK_FEATURES);
    SKED_NEW(w->dback_state, 2 * context + SKED_I_BACK_FEATURES);
    SKED_NEW(w->back_row, devices * width);
    SKED_NEW(w->dback_row, devices * width);
    SKED_NEW(w->back_logit, devices);
    SKED_NEW(w->back_logp, devices);
    SKED_NEW(w->dback_logp, devices);
    SKED_NEW(w->dback_logit, devices);
    SKED_NEW(w->back_count, devices);
    SKED_NEW(w->ddevice, devices * context);
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
    w->devices = w->x->devices < w->x->n ? w->x->devices : w->x->n;
    w->learned = p->layout->sizes.backward == SKED_I_BACKWARD_LEARNED;
    SKED_TRY(sked_i_partial_init(&w->at, w->x, w->devices, err));
    SKED_TRY(create_scorer(w, err));
    if (w->learned)
        SKED_TRY(create_backward(w, err));
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
    void *const owned[] = {w->wait,         w->device,     w->device_part, w->state,        w->sum_wait,
                           w->sum_device,   w->sum,        w->row,         w->feature,      w->logit,
                           w->logp,         w->dlogp,      w->dlogit,      w->count,        w->total_wait,
                           w->total_device, w->wait_from,  w->device_from, w->ddevice_part, w->drow,
                           w->dbase,        w->dstate,     w->dversion,    w->back_state,   w->dback_state,
                           w->back_row,     w->dback_row,  w->back_logit,  w->back_logp,    w->dback_logp,
                           w->dback_logit,  w->back_count, w->ddevice};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    sked_i_partial_clear(&w->at);
    free(w);
}

/* ------------------------------------------------------------------ versions */

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
    f[0] = (real)w->at.free_at[d];
    f[1] = !w->at.followed[w->at.last[d]];
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
    w->used = 0;
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

/* Its successors learn when the data of op arrives, its predecessors that they are followed. */
static void tell_neighbours(walker *w, int32_t op, double start)
{
    const sked_i_instance *x = w->x;
    const sked_graph *g = x->graph;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (g->edge_distance[e] != 0)
            continue;
        wait_end(w, to);
        sked_i_partial_arrive(&w->at, e, start);
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

/* Appends ready[index] to a device; w->used opens the next empty one. */
static void append(walker *w, int32_t index, int32_t d)
{
    const double free_at = w->at.free_at[d];
    const int32_t op = sked_i_partial_pop(&w->at, index);
    const double start = sked_i_later(free_at, w->at.ready_time[op]);
    wait_end(w, op);
    tell_neighbours(w, op, start);
    if (d < w->used)
        device_end(w, d);
    else
        w->used++;
    sked_i_partial_place(&w->at, op, d, start);
    w->busy += w->at.free_at[d] - free_at;
    w->work_left -= w->x->duration[op];
    device_begin(w, d);
}

/* ------------------------------------------------------------------ scores */

static int32_t open_devices(const walker *w)
{
    return w->used + (w->used < w->x->devices);
}

static void pair_features(const walker *w, int32_t op, int32_t d, double least_free, double top_tail, real *f)
{
    const double ready = w->at.ready_time[op], free_at = w->at.free_at[d],
                 start = sked_i_later(ready, free_at);
    const double end = start + w->x->tail[op];
    f[0] = (real)(start - w->earliest);
    f[1] = (real)(start - ready);
    f[2] = (real)(start - free_at);
    f[3] = (real)(end - w->at.makespan);
    f[4] = (real)sked_i_later(0, end - 1);
    f[5] = (real)(w->x->tail[op] - top_tail);
    f[6] = (real)sked_i_later(0, start + w->x->duration[op] - w->at.makespan);
    f[7] = (real)(free_at - least_free);
}

/* Features of every pair and of the state; fills w->feature, w->count, the tail of w->state. */
static void observe(walker *w)
{
    const int32_t open = open_devices(w);
    double least_free = INFINITY, most_free = 0, top_tail = 0, first_ready = INFINITY, critical = 0;
    for (int32_t d = 0; d < open; d++) {
        least_free = w->at.free_at[d] < least_free ? w->at.free_at[d] : least_free;
        most_free = sked_i_later(most_free, w->at.free_at[d]);
    }
    for (int32_t i = 0; i < w->at.n_ready; i++) {
        const int32_t op = w->at.ready[i];
        first_ready = w->at.ready_time[op] < first_ready ? w->at.ready_time[op] : first_ready;
        top_tail = sked_i_later(top_tail, w->x->tail[op]);
        critical = sked_i_later(critical, sked_i_later(w->at.ready_time[op], least_free) + w->x->tail[op]);
    }
    w->earliest = sked_i_later(first_ready, least_free);
    for (int32_t i = 0; i < w->at.n_ready; i++)
        for (int32_t d = 0; d < open; d++) {
            const int64_t pair = (int64_t)i * open + d;
            pair_features(w, w->at.ready[i], d, least_free, top_tail, w->feature + pair * FEATURES);
            w->count[pair] = d < w->used ? 1 : w->x->devices - w->used;
        }
    real *q = w->state + 2 * (int64_t)w->context;
    q[0] = (real)w->at.makespan;
    q[1] = (real)(w->x->n - w->at.left) / (real)w->x->n;
    q[2] = (real)(w->busy / w->x->devices);
    q[3] = (real)(most_free - least_free);
    q[4] = (real)((w->busy + w->work_left) / w->x->devices);
    q[5] = (real)w->at.n_ready / (real)w->at.left;
    q[6] = (real)w->earliest;
    q[7] = (real)critical;
}

static bool room_for_pairs(walker *w, int64_t pairs)
{
    if (pairs <= w->pair_cap)
        return true;
    int64_t cap[6];
    for (int i = 0; i < 6; i++)
        cap[i] = i == 0 ? w->pair_cap * FEATURES : w->pair_cap;
    if (!SKED_GROW(w->feature, cap[0], pairs * FEATURES) || !SKED_GROW(w->logit, cap[1], pairs) ||
        !SKED_GROW(w->logp, cap[2], pairs) || !SKED_GROW(w->dlogp, cap[3], pairs) ||
        !SKED_GROW(w->dlogit, cap[4], pairs) || !SKED_GROW(w->count, cap[5], pairs))
        return false;
    w->pair_cap = pairs;
    return true;
}

static RN(pairs) pairs_of(const walker *w)
{
    return (RN(pairs)){.ops = w->at.n_ready,
                       .devices = open_devices(w),
                       .width = w->width,
                       .row = w->at.ready,
                       .op_part = w->policy->op,
                       .device = w->row,
                       .feature = w->feature,
                       .weight = w->policy->pair_weight,
                       .out = w->policy->base.parameter + w->policy->base.layout->out_weight};
}

/* Log-probabilities of all pairs into w->logp. */
static sked_status evaluate(walker *w, sked_error *err)
{
    const RN(once) *p = w->policy;
    const int32_t open = open_devices(w), empties = w->x->devices - w->used;
    if (!room_for_pairs(w, (int64_t)w->at.n_ready * open))
        return sked_i_no_memory(err);
    observe(w);
    for (int32_t c = 0; c < w->context; c++) {
        w->state[c] = w->sum_wait[c] / (real)w->at.left;
        w->state[w->context + c] = (w->sum_device[c] + (real)empties * p->empty[c]) / (real)w->x->devices;
    }
    p->base.kernels->linear(1, 2 * w->context + SKED_I_STATE_FEATURES, w->width, w->state, p->state_weight,
                            NULL, w->sum);
    for (int32_t d = 0; d < open; d++) {
        const real *part = d < w->used ? w->device_part + (int64_t)d * w->width : p->empty_part;
        for (int32_t c = 0; c < w->width; c++)
            w->row[(int64_t)d * w->width + c] = w->sum[c] + part[c];
    }
    const RN(pairs) pairs = pairs_of(w);
    p->base.kernels->score(&pairs, w->logit);
    if (!p->base.kernels->log_softmax(w->at.n_ready * open, w->logit, w->count, w->logp))
        return sked_i_fail(err, SKED_ERR_BUG, "the policy gives no probability at step %d of %d",
                           (int)(w->x->n - w->at.left), (int)w->x->n);
    return SKED_OK;
}

/* The step's share of the gradient: slope * d logp[chosen]. */
static void step_grad(walker *w, int32_t chosen, real slope)
{
    const RN(once) *p = w->policy;
    const RN(once_gradient) *g = w->gradient;
    const int32_t open = open_devices(w), pairs = w->at.n_ready * open, context = w->context;
    const size_t states = (size_t)(2 * context + SKED_I_STATE_FEATURES);
    memset(w->dlogp, 0, (size_t)pairs * sizeof(real));
    memset(w->dlogit, 0, (size_t)pairs * sizeof(real));
    memset(w->drow, 0, (size_t)open * (size_t)w->width * sizeof(real));
    memset(w->dbase, 0, (size_t)w->width * sizeof(real));
    memset(w->dstate, 0, states * sizeof(real));
    w->dlogp[chosen] = slope;
    p->base.kernels->log_softmax_grad(pairs, w->logp, w->count, w->dlogp, w->dlogit);
    const RN(pairs) s = pairs_of(w);
    p->base.kernels->score_grad(&s, w->dlogit, g->op, w->drow, g->pair_weight, g->out);
    for (int32_t d = 0; d < open; d++) {
        real *part = d < w->used ? w->ddevice_part + (int64_t)d * w->width : g->empty_part;
        for (int32_t c = 0; c < w->width; c++) {
            part[c] += w->drow[(int64_t)d * w->width + c];
            w->dbase[c] += w->drow[(int64_t)d * w->width + c];
        }
    }
    p->base.kernels->linear_grad(1, (int32_t)states, w->width, w->state, p->state_weight, w->dbase, w->dstate,
                                 g->state_weight, NULL);
    for (int32_t c = 0; c < context; c++) {
        const real each = w->dstate[context + c] / (real)w->x->devices;
        w->total_wait[c] += w->dstate[c] / (real)w->at.left;
        w->total_device[c] += each;
        g->empty[c] += each * (real)(w->x->devices - w->used);
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
    const real empties = (real)(w->x->devices - w->used);
    for (int32_t c = 0; c < context; c++) {
        w->back_state[c] = w->sum_wait[c] / (real)w->x->n;
        w->back_state[context + c] = (w->sum_device[c] + empties * p->empty[c]) / (real)w->x->devices;
    }
    w->back_state[2 * context] = (real)w->at.makespan;
    w->back_state[2 * context + 1] = (real)w->at.left / (real)w->x->n;
    k->linear(1, states, width, w->back_state, weight + at->back_state, weight + at->back_bias, w->sum);
    k->linear(w->used, context, width, w->device, weight + at->back_device, NULL, w->back_row);
    for (int32_t d = 0; d < w->used; d++) {
        real *row = w->back_row + (int64_t)d * width, logit = 0;
        for (int32_t c = 0; c < width; c++) {
            row[c] = row[c] + w->sum[c] > 0 ? row[c] + w->sum[c] : 0;
            logit += row[c] * weight[at->back_out + c];
        }
        w->back_logit[d] = logit;
        w->back_count[d] = !w->at.followed[w->at.last[d]];
    }
    return k->log_softmax(w->used, w->back_logit, w->back_count, w->back_logp);
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
    memset(w->dback_logp, 0, (size_t)w->used * sizeof(real));
    memset(w->dback_logit, 0, (size_t)w->used * sizeof(real));
    memset(w->dbase, 0, (size_t)width * sizeof(real));
    memset(w->dback_state, 0, (size_t)states * sizeof(real));
    w->dback_logp[chosen] = slope;
    k->log_softmax_grad(w->used, w->back_logp, w->back_count, w->dback_logp, w->dback_logit);
    for (int32_t d = 0; d < w->used; d++)
        for (int32_t c = 0; c < width; c++) {
            const int64_t i = (int64_t)d * width + c;
            const real dlogit = w->dback_logit[d];
            g->back_out[c] += dlogit * w->back_row[i];
            w->dback_row[i] = w->back_row[i] > 0 ? dlogit * weight[at->back_out + c] : 0;
            w->dbase[c] += w->dback_row[i];
        }
    k->linear_grad(w->used, context, width, w->device, weight + at->back_device, w->dback_row, w->ddevice,
                   g->back_device, NULL);
    k->linear_grad(1, states, width, w->back_state, weight + at->back_state, w->dbase, w->dback_state,
                   g->back_state, g->back_bias);
    for (int32_t c = 0; c < context; c++) {
        const real each = w->dback_state[context + c] / (real)w->x->devices;
        w->total_wait[c] += w->dback_state[c] / (real)w->x->n;
        w->total_device[c] += each;
        g->empty[c] += each * (real)(w->x->devices - w->used);
    }
}

/* ------------------------------------------------------------------ choices */

static int32_t replayed(const walker *w, int32_t op, int32_t device)
{
    for (int32_t i = 0; i < w->at.n_ready && device >= 0 && device < open_devices(w); i++)
        if (w->at.ready[i] == op)
            return i * open_devices(w) + device;
    return -1;
}

static int32_t choose(const walker *w, sked_i_walk_kind kind, sked_i_rng *rng, const sked_i_trajectory *t,
                      int32_t step)
{
    const int32_t pairs = w->at.n_ready * open_devices(w);
    switch (kind) {
    case SKED_I_WALK_SAMPLE:
        return RN(choice_draw)(pairs, w->logp, w->count, rng);
    case SKED_I_WALK_GREEDY:
        return RN(choice_likeliest)(pairs, w->logp);
    case SKED_I_WALK_LIST:
        return sked_i_partial_list(&w->at, open_devices(w));
    default:
        return replayed(w, t->op[step], t->device[step]);
    }
}

/* log P_B of the op just appended to device d, and with a gradient its share of that. */
static sked_status look_back(walker *w, int32_t d, real slope, double *logp, sked_error *err)
{
    if (!w->learned) {
        *logp = -sked_i_log(sked_i_partial_removable(&w->at, w->used));
        return SKED_OK;
    }
    if (!evaluate_back(w))
        return sked_i_fail(err, SKED_ERR_BUG, "the backward policy gives no probability at step %d of %d",
                           (int)(w->x->n - w->at.left), (int)w->x->n);
    *logp = w->back_logp[d];
    if (w->gradient)
        back_grad(w, d, -slope);
    return SKED_OK;
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
    t->log_forward = t->log_backward = 0;
    reset(w);
    if (kind == SKED_I_WALK_LIST)
        sked_i_partial_draw_noise(&w->at, rng);
    int64_t scored = 0;
    for (int32_t step = 0; step < w->x->n; step++) {
        double back = 0;
        if (step == 0 || scored >= pairs_between_looks) {
            if (sked_i_limit_heard(w->x->limit))
                SKED_TRY(sked_i_limit_fail(err));
            scored = 0;
        }
        SKED_TRY(evaluate(w, err));
        scored += 1 + (int64_t)w->at.n_ready * open_devices(w);
        const int32_t open = open_devices(w), chosen = choose(w, kind, rng, t, step);
        if (chosen < 0) {
            st = sked_i_fail(err, SKED_ERR_BUG, "step %d of the trajectory is not legal", (int)step);
            goto cleanup;
        }
        if (gradient)
            step_grad(w, chosen, slope);
        t->log_forward += w->logp[chosen];
        t->op[step] = w->at.ready[chosen / open];
        t->device[step] = chosen % open;
        append(w, chosen / open, chosen % open);
        SKED_TRY(look_back(w, chosen % open, slope, &back, err));
        t->log_backward += back;
    }
    for (int32_t d = 0; d < w->used && gradient; d++)
        device_end(w, d);
    t->makespan = w->at.makespan;
cleanup:
    w->gradient = NULL;
    return st;
}
