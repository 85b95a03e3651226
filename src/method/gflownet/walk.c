#include "method/gflownet/walk.h"

#include "base/memory.h"

#include <string.h>

enum { FEATURES = SKED_I_PAIR_FEATURES };

struct RN(walker) {
    const RN(policy) * policy;
    const sked_i_instance *x;
    int32_t context, width, devices; /* devices: at most as many as there are ops */
    /* Environment. */
    double *ready_time; /* [n] latest data so far */
    int32_t *waits;     /* [n] unscheduled predecessors, by edge */
    int32_t *ready;     /* [n_ready] ops that can be added, in the order they became ready */
    int32_t *device_of; /* [n] -1: unscheduled */
    uint8_t *followed;  /* [n] some successor is scheduled */
    double *noise;      /* [n] priorities of list walks */
    double *free_at;    /* [devices] */
    int32_t *last;      /* [devices] */
    int32_t n_ready, used, left;
    double makespan, work_left, busy; /* busy: sum of free_at */
    double earliest;                  /* start of any pair, this step */
    /* Scorer. */
    real *wait;                                    /* [n, context] of unscheduled ops */
    real *device;                                  /* [devices, context] */
    real *device_part;                             /* [devices, width] */
    real *state;                                   /* [2 * context + SKED_I_STATE_FEATURES] */
    real *sum_wait, *sum_device;                   /* [context] */
    real *base;                                    /* [width] */
    real *row;                                     /* [devices, width] */
    real *feature, *logit, *logp, *dlogp, *dlogit; /* per pair */
    int32_t *count;                                /* per pair */
    int64_t pair_cap;
    /* Gradient: totals so far, and what they were when a version began. */
    RN(gradient) * gradient;
    real *total_wait, *total_device; /* [context] */
    real *wait_from, *device_from;   /* [n, context], [devices, context] */
    real *ddevice_part;              /* [devices, width] */
    real *drow;                      /* [devices, width] */
    real *dbase, *dstate, *dversion; /* [width], as state, [context] */
};

static sked_status create_environment(RN(walker) * w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = w->x->n;
    SKED_NEW(w->ready_time, n);
    SKED_NEW(w->waits, n);
    SKED_NEW(w->ready, n);
    SKED_NEW(w->device_of, n);
    SKED_NEW(w->followed, n);
    SKED_NEW(w->noise, n);
    SKED_NEW(w->free_at, w->devices);
    SKED_NEW(w->last, w->devices);
cleanup:
    return st;
}

static sked_status create_scorer(RN(walker) * w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = w->x->n, context = w->context, width = w->width, devices = w->devices;
    SKED_NEW(w->wait, n * context);
    SKED_NEW(w->device, devices * context);
    SKED_NEW(w->device_part, devices * width);
    SKED_NEW0(w->state, 2 * context + SKED_I_STATE_FEATURES);
    SKED_NEW(w->sum_wait, context);
    SKED_NEW(w->sum_device, context);
    SKED_NEW(w->base, width);
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

sked_status RN(walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    RN(walker) *w = NULL;
    SKED_NEW0(w, 1);
    w->policy = p;
    w->x = p->instance;
    w->context = p->layout->sizes.context;
    w->width = p->layout->sizes.width;
    w->devices = w->x->devices < w->x->n ? w->x->devices : w->x->n;
    SKED_TRY(create_environment(w, err));
    SKED_TRY(create_scorer(w, err));
    *out = w;
    w = NULL;
cleanup:
    RN(walker_destroy)(w);
    return st;
}

void RN(walker_destroy)(RN(walker) * w)
{
    if (w == NULL)
        return;
    void *const owned[] = {w->ready_time,  w->waits,        w->ready,      w->device_of,    w->followed,
                           w->noise,       w->free_at,      w->last,       w->wait,         w->device,
                           w->device_part, w->state,        w->sum_wait,   w->sum_device,   w->base,
                           w->row,         w->feature,      w->logit,      w->logp,         w->dlogp,
                           w->dlogit,      w->count,        w->total_wait, w->total_device, w->wait_from,
                           w->device_from, w->ddevice_part, w->drow,       w->dbase,        w->dstate,
                           w->dversion};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
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

static void wait_features(const RN(walker) * w, int32_t op, real *f)
{
    f[0] = (real)w->ready_time[op];
    f[1] = w->waits[op] == 0;
    f[2] = (real)(w->ready_time[op] + w->x->tail[op]);
}

static void wait_begin(RN(walker) * w, int32_t op)
{
    const int64_t at = (int64_t)op * w->context;
    real f[SKED_I_WAIT_FEATURES];
    wait_features(w, op, f);
    version_begin(w->context, w->policy->wait + at, SKED_I_WAIT_FEATURES, f,
                  w->policy->parameter + w->policy->layout->wait_feature, w->wait + at, w->sum_wait);
    if (w->gradient)
        memcpy(w->wait_from + at, w->total_wait, (size_t)w->context * sizeof(real));
}

static void wait_end(RN(walker) * w, int32_t op)
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

static void device_features(const RN(walker) * w, int32_t d, real *f)
{
    f[0] = (real)w->free_at[d];
    f[1] = !w->followed[w->last[d]];
}

static void device_begin(RN(walker) * w, int32_t d)
{
    const RN(policy) *p = w->policy;
    const int64_t at = (int64_t)d * w->context;
    real f[SKED_I_LAST_FEATURES];
    device_features(w, d, f);
    version_begin(w->context, p->last + (int64_t)w->last[d] * w->context, SKED_I_LAST_FEATURES, f,
                  p->parameter + p->layout->last_feature, w->device + at, w->sum_device);
    p->kernels->linear(1, w->context, w->width, w->device + at, p->device_weight, NULL,
                       w->device_part + (int64_t)d * w->width);
    if (w->gradient) {
        memcpy(w->device_from + at, w->total_device, (size_t)w->context * sizeof(real));
        memset(w->ddevice_part + (int64_t)d * w->width, 0, (size_t)w->width * sizeof(real));
    }
}

static void device_end(RN(walker) * w, int32_t d)
{
    const int64_t at = (int64_t)d * w->context;
    version_leave(w->context, w->device + at, w->sum_device);
    if (w->gradient == NULL)
        return;
    RN(gradient) *g = w->gradient;
    real f[SKED_I_LAST_FEATURES];
    device_features(w, d, f);
    for (int32_t c = 0; c < w->context; c++)
        w->dversion[c] = w->total_device[c] - w->device_from[at + c];
    w->policy->kernels->linear_grad(1, w->context, w->width, w->device + at, w->policy->device_weight,
                                    w->ddevice_part + (int64_t)d * w->width, w->dversion, g->device_weight,
                                    NULL);
    version_grad(w->context, w->device + at, w->dversion, SKED_I_LAST_FEATURES, f,
                 g->last + (int64_t)w->last[d] * w->context, g->last_feature);
}

/* ------------------------------------------------------------------ environment */

static void reset(RN(walker) * w)
{
    const sked_i_instance *x = w->x;
    const size_t context = (size_t)w->context * sizeof(real);
    w->n_ready = w->used = 0;
    w->left = x->n;
    w->makespan = w->busy = 0;
    w->work_left = x->work;
    memcpy(w->waits, x->waits, (size_t)x->n * sizeof *w->waits);
    memset(w->followed, 0, (size_t)x->n);
    for (int32_t i = 0; i < x->n; i++) {
        w->ready_time[i] = 0;
        w->device_of[i] = -1;
        if (x->waits[i] == 0)
            w->ready[w->n_ready++] = i;
    }
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
static void tell_neighbours(RN(walker) * w, int32_t op, double start)
{
    const sked_i_instance *x = w->x;
    const sked_graph *g = x->graph;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (g->edge_distance[e] != 0)
            continue;
        wait_end(w, to);
        if (start + x->lag[e] > w->ready_time[to])
            w->ready_time[to] = start + x->lag[e];
        if (--w->waits[to] == 0)
            w->ready[w->n_ready++] = to;
        wait_begin(w, to);
    }
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int32_t from = g->pred_op[k], its = w->device_of[from];
        if (g->edge_distance[g->pred_edge[k]] != 0 || w->followed[from])
            continue;
        const bool shows = w->last[its] == from; /* the device's state says whether its last op is followed */
        if (shows)
            device_end(w, its);
        w->followed[from] = 1;
        if (shows)
            device_begin(w, its);
    }
}

/* Appends ready[index] to a device; w->used opens the next empty one. */
static void append(RN(walker) * w, int32_t index, int32_t d)
{
    const sked_i_instance *x = w->x;
    const int32_t op = w->ready[index];
    const double free_at = d < w->used ? w->free_at[d] : 0;
    const double start = free_at > w->ready_time[op] ? free_at : w->ready_time[op];
    memmove(w->ready + index, w->ready + index + 1, (size_t)(w->n_ready - index - 1) * sizeof *w->ready);
    w->n_ready--;
    w->left--;
    wait_end(w, op);
    tell_neighbours(w, op, start);
    if (d < w->used)
        device_end(w, d);
    else
        w->used++;
    w->device_of[op] = d;
    w->last[d] = op;
    w->free_at[d] = start + x->duration[op];
    w->busy += w->free_at[d] - free_at;
    w->work_left -= x->duration[op];
    w->makespan = w->free_at[d] > w->makespan ? w->free_at[d] : w->makespan;
    device_begin(w, d);
}

static int32_t removable(const RN(walker) * w)
{
    int32_t count = 0;
    for (int32_t d = 0; d < w->used; d++)
        count += !w->followed[w->last[d]];
    return count;
}

/* ------------------------------------------------------------------ scores */

static int32_t open_devices(const RN(walker) * w)
{
    return w->used + (w->used < w->x->devices);
}

static double free_time(const RN(walker) * w, int32_t d)
{
    return d < w->used ? w->free_at[d] : 0;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void pair_features(const RN(walker) * w, int32_t op, int32_t d, double least_free, double top_tail,
                          real *f)
{
    const double ready = w->ready_time[op], free_at = free_time(w, d), start = later(ready, free_at);
    const double end = start + w->x->tail[op];
    f[0] = (real)(start - w->earliest);
    f[1] = (real)(start - ready);
    f[2] = (real)(start - free_at);
    f[3] = (real)(end - w->makespan);
    f[4] = (real)later(0, end - 1);
    f[5] = (real)(w->x->tail[op] - top_tail);
    f[6] = (real)later(0, start + w->x->duration[op] - w->makespan);
    f[7] = (real)(free_at - least_free);
}

/* Features of every pair and of the state; fills w->feature, w->count, the tail of w->state. */
static void observe(RN(walker) * w)
{
    const int32_t open = open_devices(w);
    double least_free = INFINITY, most_free = 0, top_tail = 0, first_ready = INFINITY, critical = 0;
    for (int32_t d = 0; d < open; d++) {
        least_free = free_time(w, d) < least_free ? free_time(w, d) : least_free;
        most_free = later(most_free, free_time(w, d));
    }
    for (int32_t i = 0; i < w->n_ready; i++) {
        const int32_t op = w->ready[i];
        first_ready = w->ready_time[op] < first_ready ? w->ready_time[op] : first_ready;
        top_tail = later(top_tail, w->x->tail[op]);
        critical = later(critical, later(w->ready_time[op], least_free) + w->x->tail[op]);
    }
    w->earliest = later(first_ready, least_free);
    for (int32_t i = 0; i < w->n_ready; i++)
        for (int32_t d = 0; d < open; d++) {
            const int64_t pair = (int64_t)i * open + d;
            pair_features(w, w->ready[i], d, least_free, top_tail, w->feature + pair * FEATURES);
            w->count[pair] = d < w->used ? 1 : w->x->devices - w->used;
        }
    real *q = w->state + 2 * (int64_t)w->context;
    q[0] = (real)w->makespan;
    q[1] = (real)(w->x->n - w->left) / (real)w->x->n;
    q[2] = (real)(w->busy / w->x->devices);
    q[3] = (real)(most_free - least_free);
    q[4] = (real)((w->busy + w->work_left) / w->x->devices);
    q[5] = (real)w->n_ready / (real)w->left;
    q[6] = (real)w->earliest;
    q[7] = (real)critical;
}

static bool room_for_pairs(RN(walker) * w, int64_t pairs)
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

static RN(pairs) pairs_of(const RN(walker) * w)
{
    return (RN(pairs)){.ops = w->n_ready,
                       .devices = open_devices(w),
                       .width = w->width,
                       .row = w->ready,
                       .op_part = w->policy->op,
                       .device = w->row,
                       .feature = w->feature,
                       .weight = w->policy->pair_weight,
                       .out = w->policy->parameter + w->policy->layout->out_weight};
}

/* Log-probabilities of all pairs into w->logp. */
static sked_status evaluate(RN(walker) * w, sked_error *err)
{
    const RN(policy) *p = w->policy;
    const int32_t open = open_devices(w), empties = w->x->devices - w->used;
    if (!room_for_pairs(w, (int64_t)w->n_ready * open))
        return sked_i_no_memory(err);
    observe(w);
    for (int32_t c = 0; c < w->context; c++) {
        w->state[c] = w->sum_wait[c] / (real)w->left;
        w->state[w->context + c] = (w->sum_device[c] + (real)empties * p->empty[c]) / (real)w->x->devices;
    }
    p->kernels->linear(1, 2 * w->context + SKED_I_STATE_FEATURES, w->width, w->state, p->state_weight, NULL,
                       w->base);
    for (int32_t d = 0; d < open; d++) {
        const real *part = d < w->used ? w->device_part + (int64_t)d * w->width : p->empty_part;
        for (int32_t c = 0; c < w->width; c++)
            w->row[(int64_t)d * w->width + c] = w->base[c] + part[c];
    }
    const RN(pairs) pairs = pairs_of(w);
    p->kernels->score(&pairs, w->logit);
    if (!p->kernels->log_softmax(w->n_ready * open, w->logit, w->count, w->logp))
        return sked_i_fail(err, SKED_ERR_BUG, "the policy gives no probability at step %d of %d",
                           (int)(w->x->n - w->left), (int)w->x->n);
    return SKED_OK;
}

/* The step's share of the gradient: slope * d logp[chosen]. */
static void step_grad(RN(walker) * w, int32_t chosen, real slope)
{
    const RN(policy) *p = w->policy;
    RN(gradient) *g = w->gradient;
    const int32_t open = open_devices(w), pairs = w->n_ready * open, context = w->context;
    const size_t states = (size_t)(2 * context + SKED_I_STATE_FEATURES);
    memset(w->dlogp, 0, (size_t)pairs * sizeof(real));
    memset(w->dlogit, 0, (size_t)pairs * sizeof(real));
    memset(w->drow, 0, (size_t)open * (size_t)w->width * sizeof(real));
    memset(w->dbase, 0, (size_t)w->width * sizeof(real));
    memset(w->dstate, 0, states * sizeof(real));
    w->dlogp[chosen] = slope;
    p->kernels->log_softmax_grad(pairs, w->logp, w->count, w->dlogp, w->dlogit);
    const RN(pairs) s = pairs_of(w);
    p->kernels->score_grad(&s, w->dlogit, g->op, w->drow, g->pair_weight, g->out);
    for (int32_t d = 0; d < open; d++) {
        real *part = d < w->used ? w->ddevice_part + (int64_t)d * w->width : g->empty_part;
        for (int32_t c = 0; c < w->width; c++) {
            part[c] += w->drow[(int64_t)d * w->width + c];
            w->dbase[c] += w->drow[(int64_t)d * w->width + c];
        }
    }
    p->kernels->linear_grad(1, (int32_t)states, w->width, w->state, p->state_weight, w->dbase, w->dstate,
                            g->state_weight, NULL);
    for (int32_t c = 0; c < context; c++) {
        const real each = w->dstate[context + c] / (real)w->x->devices;
        w->total_wait[c] += w->dstate[c] / (real)w->left;
        w->total_device[c] += each;
        g->empty[c] += each * (real)(w->x->devices - w->used);
    }
}

/* ------------------------------------------------------------------ choices */

static int32_t draw(const RN(walker) * w, int32_t pairs, sked_i_rng *rng)
{
    double rest = sked_i_rng_uniform(rng);
    int32_t best = 0;
    for (int32_t k = 0; k < pairs; k++) {
        const double share = w->count[k] * sked_i_exp(later(w->logp[k], -700));
        if (rest < share)
            return k;
        rest -= share;
        if (w->logp[k] > w->logp[best])
            best = k; /* rounding left a rest: the likeliest */
    }
    return best;
}

static int32_t likeliest(const RN(walker) * w, int32_t pairs)
{
    int32_t best = 0;
    for (int32_t k = 1; k < pairs; k++)
        if (w->logp[k] > w->logp[best])
            best = k;
    return best;
}

/* Earliest start first, then the longest noisy tail. */
static int32_t list_choice(const RN(walker) * w)
{
    const int32_t open = open_devices(w);
    int32_t best = 0;
    double best_start = INFINITY, best_rank = 0;
    for (int32_t i = 0; i < w->n_ready; i++)
        for (int32_t d = 0; d < open; d++) {
            const int32_t op = w->ready[i];
            const double start = later(w->ready_time[op], free_time(w, d)), rank = w->noise[op];
            if (start < best_start || (start == best_start && rank > best_rank)) {
                best = i * open + d;
                best_start = start;
                best_rank = rank;
            }
        }
    return best;
}

/* Gumbel noise on the tails: from nearly the plain list to a loose one. */
static void draw_priorities(RN(walker) * w, sked_i_rng *rng)
{
    const double strength = 0.1 * sked_i_rng_uniform(rng);
    for (int32_t i = 0; i < w->x->n; i++) {
        const double u = (double)((sked_i_rng_next(rng) >> 12) + 1) * 0x1.0p-53;
        w->noise[i] = w->x->tail[i] - strength * sked_i_log(-sked_i_log(u));
    }
}

static int32_t replayed(const RN(walker) * w, int32_t op, int32_t device)
{
    for (int32_t i = 0; i < w->n_ready && device >= 0 && device < open_devices(w); i++)
        if (w->ready[i] == op)
            return i * open_devices(w) + device;
    return -1;
}

static int32_t choose(const RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng,
                      const sked_i_trajectory *t, int32_t step)
{
    const int32_t pairs = w->n_ready * open_devices(w);
    switch (kind) {
    case SKED_I_WALK_SAMPLE:
        return draw(w, pairs, rng);
    case SKED_I_WALK_GREEDY:
        return likeliest(w, pairs);
    case SKED_I_WALK_LIST:
        return list_choice(w);
    default:
        return replayed(w, t->op[step], t->device[step]);
    }
}

sked_status RN(walk)(RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                     RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err)
{
    sked_status st = SKED_OK;
    w->gradient = gradient;
    t->log_forward = t->log_backward = 0;
    reset(w);
    if (kind == SKED_I_WALK_LIST)
        draw_priorities(w, rng);
    for (int32_t step = 0; step < w->x->n; step++) {
        SKED_TRY(evaluate(w, err));
        const int32_t open = open_devices(w), chosen = choose(w, kind, rng, t, step);
        if (chosen < 0)
            return sked_i_fail(err, SKED_ERR_BUG, "step %d of the trajectory is not legal", (int)step);
        if (gradient)
            step_grad(w, chosen, slope);
        t->log_forward += w->logp[chosen];
        t->op[step] = w->ready[chosen / open];
        t->device[step] = chosen % open;
        append(w, chosen / open, chosen % open);
        t->log_backward -= sked_i_log(removable(w));
    }
    for (int32_t d = 0; d < w->used && gradient; d++)
        device_end(w, d);
    t->makespan = w->makespan;
cleanup:
    w->gradient = NULL;
    return st;
}
