#include "method/gflownet/batch.h"

#include "base/memory.h"
#include "base/thread.h"

#include <math.h>
#include <string.h>

/* In nats. */
static const double huber_bound = 20;

sked_status RN(batch_create)(const RN(policy) * p, int32_t size, int threads, bool gradients,
                             RN(batch) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    RN(batch) *b = NULL;
    const int64_t n = p->instance->n;
    SKED_NEW0(b, 1);
    b->policy = p;
    b->size = size;
    b->parts = size < SKED_I_BATCH_PARTS ? size : SKED_I_BATCH_PARTS;
    b->threads = threads < b->parts ? threads : b->parts;
    b->bound = p->kind->single_pass ? INFINITY : huber_bound;
    b->gradients = gradients;
    SKED_NEW0(b->trajectory, size);
    SKED_NEW(b->steps, 2 * size * n);
    SKED_NEW(b->slope, gradients ? size : 0);
    SKED_NEW(b->zeta, size);
    for (int64_t k = 0; k < size; k++)
        b->trajectory[k] = (sked_i_trajectory){.op = b->steps + 2 * k * n,
                                               .device = b->steps + (2 * k + 1) * n,
                                               .keeps = gradients && !p->kind->single_pass};
    *out = b;
    b = NULL;
cleanup:
    RN(batch_destroy)(b);
    return st;
}

static int32_t first_of(const RN(batch) * b, int32_t part)
{
    return (int32_t)((int64_t)b->size * part / b->parts);
}

void RN(batch_close_part)(RN(batch) * b, int32_t part)
{
    RN(walker_destroy)(b->walker[part]);
    b->walker[part] = NULL;
    RN(gradient_clear)(&b->gradient[part]);
    RN(gradient_clear)(&b->plain[part]);
    RN(gradient_clear)(&b->weighed[part]);
    for (int32_t k = first_of(b, part); k < first_of(b, part + 1); k++) {
        sked_i_trajectory *t = &b->trajectory[k];
        free(t->kept);
        t->kept = NULL;
        t->kept_cap = t->kept_steps = 0;
    }
}

void RN(batch_destroy)(RN(batch) * b)
{
    if (b == NULL)
        return;
    for (int32_t k = 0; k < b->parts && b->trajectory != NULL; k++)
        RN(batch_close_part)(b, k);
    free(b->trajectory);
    free(b->steps);
    free(b->slope);
    free(b->zeta);
    free(b->log_step);
    free(b->advantage);
    free(b);
}

sked_status RN(batch_set_loss)(RN(batch) * b, const sked_i_loss *loss, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = b->policy->instance->n;
    const bool ppo = loss->kind == SKED_I_LOSS_PPO;
    if (ppo && b->log_step == NULL)
        SKED_NEW(b->log_step, b->size * n);
    if (ppo && b->advantage == NULL)
        SKED_NEW(b->advantage, b->size);
    b->loss = *loss;
    b->ppo = (sked_i_clipping){loss->clip, loss->entropy / ((double)b->size * (double)n)};
    for (int64_t k = 0; k < b->size; k++) {
        b->trajectory[k].ppo = ppo ? &b->ppo : NULL;
        b->trajectory[k].log_step = ppo ? b->log_step + k * n : NULL;
    }
cleanup:
    return st;
}

/* Gradients are taken as trajectories are drawn. Those of PPO depend on what all of them reach. */
static bool takes_one_pass(const RN(batch) * b)
{
    return b->policy->kind->single_pass && b->loss.kind != SKED_I_LOSS_PPO;
}

static double zeta_of(const RN(batch) * b, int32_t k)
{
    return sked_i_trajectory_zeta(b->policy->instance, b->policy->temperature, &b->trajectory[k]);
}

static void clear(RN(gradient) * g)
{
    memset(g->block, 0, (size_t)g->size * sizeof *g->block);
}

/* Adds the gradient of trajectory k, the last one drawn, to the sums of its part. */
static void collect(RN(batch) * b, int32_t part, int32_t k)
{
    RN(gradient) *g = &b->gradient[part];
    real *plain = b->plain[part].block, *weighed = b->weighed[part].block;
    const real weight = (real)(zeta_of(b, k) - zeta_of(b, first_of(b, part)));
    for (int64_t i = 0; i < g->size; i++) {
        plain[i] += g->block[i];
        weighed[i] += weight * g->block[i];
    }
    clear(g);
}

/* The slope of trajectory k, and whether its gradient is wanted. */
static bool slope_of(const RN(batch) * b, int32_t k, real *slope)
{
    const RN(batch_pass) *p = &b->pass;
    *slope = p->slope ? p->slope[k] : p->single;
    return p->slope != NULL || p->single;
}

static sked_i_walk_kind kind_of(const RN(batch_pass) * p, int32_t k)
{
    return p->replay       ? SKED_I_WALK_REPLAY
           : k < p->listed ? SKED_I_WALK_LIST
           : p->greedy     ? SKED_I_WALK_GREEDY
                           : SKED_I_WALK_SAMPLE;
}

static void clear_part(RN(batch) * b, int32_t part)
{
    clear(&b->gradient[part]);
    if (b->pass.single) {
        clear(&b->plain[part]);
        clear(&b->weighed[part]);
    }
}

sked_status RN(batch_open_part)(RN(batch) * b, int32_t part, sked_error *err)
{
    sked_status st = SKED_OK;
    if (b->walker[part] != NULL)
        return SKED_OK;
    if (b->gradients && b->gradient[part].block == NULL)
        SKED_TRY(RN(gradient_create)(b->policy, &b->gradient[part], err));
    if (b->gradients && b->plain[part].block == NULL && takes_one_pass(b))
        SKED_TRY(RN(gradient_create)(b->policy, &b->plain[part], err));
    if (b->gradients && b->weighed[part].block == NULL && takes_one_pass(b))
        SKED_TRY(RN(gradient_create)(b->policy, &b->weighed[part], err));
    SKED_TRY(RN(walker_create)(b->policy, &b->walker[part], err));
cleanup:
    return st;
}

static int32_t left_of(const RN(batch) * b, int32_t part)
{
    return __atomic_load_n(&b->pass.left[part], __ATOMIC_RELAXED);
}

static bool takes_gradients(const RN(batch_pass) * p)
{
    return p->slope != NULL || p->single;
}

/* Trajectory k, with the memory of a part that is the caller's. */
static void walk_one(RN(batch) * b, int32_t part, int32_t k)
{
    RN(batch_pass) *p = &b->pass;
    sked_status *st = &p->status[part];
    *st = RN(batch_open_part)(b, part, &p->error[part]);
    if (*st == SKED_OK && takes_gradients(p) && k == first_of(b, part))
        clear_part(b, part);
    if (*st == SKED_OK) {
        real slope;
        RN(gradient) *gradient = slope_of(b, k, &slope) ? &b->gradient[part] : NULL;
        sked_i_rng rng;
        sked_i_rng_seed(&rng, p->seed, p->first + (uint64_t)k);
        *st = RN(walk)(b->walker[part], kind_of(p, k), &rng, slope, gradient, &b->trajectory[k],
                       &p->error[part]);
    }
    p->failed[part] = k;
}

/* The next trajectory of a part that is the caller's. */
static void walk_next(RN(batch) * b, int32_t part)
{
    RN(batch_pass) *p = &b->pass;
    const int32_t left = left_of(b, part), k = first_of(b, part + 1) - left;
    const sked_status *st = &p->status[part];
    walk_one(b, part, k);
    if (p->single && *st == SKED_OK)
        collect(b, part, k);
    __atomic_store_n(&p->left[part], *st == SKED_OK ? left - 1 : 0, __ATOMIC_RELAXED);
}

/* Of all parts, or of those that nobody is at, the one with the most to do; -1: there is none. */
static int32_t most_left(const RN(batch) * b, bool free)
{
    int32_t best = -1, most = 0;
    for (int32_t k = 0; k < b->parts; k++)
        if (left_of(b, k) > most && !(free && __atomic_load_n(&b->pass.taken[k], __ATOMIC_RELAXED))) {
            best = k;
            most = left_of(b, k);
        }
    return best;
}

static bool claim(RN(batch) * b, int32_t part)
{
    bool free = false;
    return __atomic_compare_exchange_n(&b->pass.taken[part], &free, true, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void release(RN(batch) * b, int32_t part)
{
    __atomic_store_n(&b->pass.taken[part], false, __ATOMIC_RELEASE);
}

/* `other` is so far behind `own` that a thread had better change: it must fetch what the part has in memory.
 * On few threads all parts are done in good time without. */
static bool is_behind(const RN(batch) * b, int32_t other, int32_t own)
{
    enum { parts_enough = 4 }; /* for each thread */
    return b->threads * parts_enough > b->parts && left_of(b, other) > left_of(b, own) + 1;
}

/* A part that was nobody's: the near one, or the first that is to be had; there are as many as threads. */
static int32_t claim_any(RN(batch) * b, int32_t near)
{
    for (int32_t k = 0;; k++)
        if (claim(b, (near + k) % b->parts))
            return (near + k) % b->parts;
}

/* A trajectory of the part that is not walked yet; -1: there is none. */
static int32_t take_one(RN(batch) * b, int32_t part)
{
    if (part < 0 || left_of(b, part) <= 0)
        return -1;
    const int32_t left = __atomic_fetch_sub(&b->pass.left[part], 1, __ATOMIC_RELAXED);
    return left > 0 ? first_of(b, part + 1) - left : -1;
}

/* Without gradients trajectories are independent: who is free takes any, with the memory of one part. */
static void walk_any(RN(batch) * b, int32_t near)
{
    const int32_t own = claim_any(b, near);
    for (int32_t from = own; from >= 0 && b->pass.status[own] == SKED_OK; from = most_left(b, false))
        for (int32_t k; b->pass.status[own] == SKED_OK && (k = take_one(b, from)) >= 0;)
            walk_one(b, own, k);
    release(b, own);
}

/* The near part, if it is to be had and has anything to do, or the one with the most to do. */
static int32_t first_part(const RN(batch) * b, int32_t near)
{
    return left_of(b, near) > 0 && !__atomic_load_n(&b->pass.taken[near], __ATOMIC_RELAXED)
               ? near
               : most_left(b, true);
}

void RN(batch_walk)(RN(batch) * b, int32_t near)
{
    if (!takes_gradients(&b->pass)) {
        walk_any(b, near);
        return;
    }
    for (int32_t own = -1, other = first_part(b, near);; other = most_left(b, true)) {
        if (own < 0 && other < 0)
            return;
        if (other >= 0 && (own < 0 || is_behind(b, other, own)) && claim(b, other)) {
            if (own >= 0)
                release(b, own);
            own = other;
        }
        if (own >= 0 && left_of(b, own) > 0)
            walk_next(b, own);
        if (own >= 0 && left_of(b, own) == 0) {
            release(b, own);
            own = -1;
        }
    }
}

static void begin_pass(RN(batch) * b, const RN(batch_pass) * p)
{
    b->pass = *p;
    for (int32_t k = 0; k < b->parts; k++)
        b->pass.left[k] = first_of(b, k + 1) - first_of(b, k);
    for (int32_t k = 0; k < b->size; k++)
        b->trajectory[k].makespan = NAN;
}

sked_status RN(batch_check)(const RN(batch) * b, sked_error *err)
{
    const RN(batch_pass) *p = &b->pass;
    bool stopped = false;
    int32_t first = -1; /* part whose failure came with the first trajectory */
    for (int32_t k = 0; k < b->parts; k++) {
        stopped = stopped || p->status[k] == SKED_ERR_STOPPED;
        if (p->status[k] != SKED_OK && p->status[k] != SKED_ERR_STOPPED)
            first = first < 0 || p->failed[k] < p->failed[first] ? k : first;
    }
    if (first >= 0)
        return sked_i_fail(err, p->status[first], "%s", p->error[first].message);
    return stopped ? sked_i_limit_fail(err) : SKED_OK;
}

static void run_thread(void *data, int thread)
{
    RN(batch) *b = data;
    RN(batch_walk)(b, thread * b->parts / b->threads);
}

/* The pass that was begun, on threads. */
static sked_status run_pass(RN(batch) * b, sked_error *err)
{
    const sked_status st = sked_i_parallel(b->threads, run_thread, b, err);
    return st == SKED_OK ? RN(batch_check)(b, err) : st;
}

sked_status RN(batch_sample)(RN(batch) * b, int32_t listed, bool greedy, uint64_t seed, uint64_t first,
                             sked_error *err)
{
    begin_pass(b, &(RN(batch_pass)){.greedy = greedy, .listed = listed, .seed = seed, .first = first});
    return run_pass(b, err);
}

sked_status RN(batch_replay)(RN(batch) * b, sked_error *err)
{
    begin_pass(b, &(RN(batch_pass)){.replay = true});
    return run_pass(b, err);
}

/* Half the slope of h. */
static double bounded(const RN(batch) * b, double r)
{
    return r > b->bound ? b->bound : r < -b->bound ? -b->bound : r;
}

static void fill_zeta(const RN(batch) * b)
{
    for (int32_t k = 0; k < b->size; k++)
        b->zeta[k] = zeta_of(b, k);
}

/* Sum of slopes at c for b->zeta: falls as c rises, and is 0 at the least loss. */
static double slopes(const RN(batch) * b, double c)
{
    double sum = 0;
    for (int32_t k = 0; k < b->size; k++)
        sum += bounded(b, b->zeta[k] - c);
    return sum;
}

/*
 * The learned log Z; or the mean, and with a bound the root of the slopes between the least and the largest
 * zeta, by bisection.
 */
static double centre_of(const RN(batch) * b)
{
    double low = INFINITY, high = -INFINITY, sum = 0;
    if (b->loss.kind == SKED_I_LOSS_TB)
        return b->loss.log_z;
    fill_zeta(b);
    for (int32_t k = 0; k < b->size; k++) {
        low = fmin(low, b->zeta[k]);
        high = fmax(high, b->zeta[k]);
        sum += b->zeta[k];
    }
    if (high - low <= b->bound)
        return sum / b->size;
    for (double middle; middle = low + (high - low) / 2, middle > low && middle < high;)
        *(slopes(b, middle) > 0 ? &low : &high) = middle;
    return low;
}

static double surrogate_of(const RN(batch) * b)
{
    double sum = 0;
    for (int32_t k = 0; k < b->size; k++)
        sum += b->trajectory[k].objective - b->ppo.entropy * b->trajectory[k].entropy;
    return sum;
}

double RN(batch_loss)(const RN(batch) * b, double *centre)
{
    double sum = 0;
    *centre = centre_of(b);
    if (b->loss.kind == SKED_I_LOSS_PPO)
        return surrogate_of(b);
    for (int32_t k = 0; k < b->size; k++) {
        const double r = zeta_of(b, k) - *centre, inside = bounded(b, r);
        sum += inside * (2 * r - inside);
    }
    return sum / b->size;
}

void RN(batch_draw)(RN(batch) * b, int32_t listed, uint64_t seed, uint64_t first)
{
    begin_pass(
        b, &(RN(batch_pass)){.listed = listed, .seed = seed, .first = first, .single = takes_one_pass(b)});
}

double RN(batch_pull)(const RN(batch) * b)
{
    if (b->loss.kind != SKED_I_LOSS_TB)
        return 0;
    fill_zeta(b);
    return -2 * slopes(b, b->loss.log_z) / b->size;
}

double RN(batch_speedup)(const RN(batch) * b, int32_t listed)
{
    const int32_t first = listed < b->size ? listed : 0;
    double sum = 0;
    for (int32_t k = first; k < b->size; k++)
        sum += sked_i_instance_speedup(b->policy->instance, b->trajectory[k].makespan);
    return sum / (b->size - first);
}

static void fill_advantages(RN(batch) * b)
{
    const RN(policy) *p = b->policy;
    for (int32_t k = 0; k < b->size; k++)
        b->advantage[k] = sked_i_log_reward(p->instance, p->temperature, b->trajectory[k].makespan);
    sked_i_advantages(b->size, p->instance->n, b->advantage);
    for (int32_t k = 0; k < b->size; k++)
        b->slope[k] = (real)b->advantage[k];
}

static void begin_grad(RN(batch) * b)
{
    if (b->loss.kind == SKED_I_LOSS_PPO)
        fill_advantages(b);
    for (int32_t k = 0; k < b->size && b->loss.kind != SKED_I_LOSS_PPO; k++)
        b->slope[k] = (real)(-2 * bounded(b, zeta_of(b, k) - b->centre) / b->size);
    begin_pass(b, &(RN(batch_pass)){.replay = true, .slope = b->slope});
}

void RN(batch_again)(RN(batch) * b)
{
    for (int32_t k = 0; k < b->size; k++)
        b->trajectory[k].kept_steps = 0; /* of other parameters */
    b->centre = centre_of(b);
    begin_grad(b);
}

bool RN(batch_second)(RN(batch) * b)
{
    b->centre = centre_of(b);
    if (takes_one_pass(b))
        return false;
    begin_grad(b);
    return true;
}

/* Elements first to end - 1 of gradients that were taken as the trajectories were drawn. */
static void gather_weighed(RN(batch) * b, int64_t first, int64_t end)
{
    real *sum = b->gradient[0].block;
    memset(sum + first, 0, (size_t)(end - first) * sizeof *sum);
    for (int32_t k = 0; k < b->parts; k++) {
        const real scale = (real)(-2.0 / b->size), weight = (real)(zeta_of(b, first_of(b, k)) - b->centre);
        const real *plain = b->plain[k].block, *weighed = b->weighed[k].block;
        for (int64_t i = first; i < end; i++)
            sum[i] += scale * (weighed[i] + weight * plain[i]);
    }
}

void RN(batch_gather)(RN(batch) * b, int32_t piece, int32_t count)
{
    enum { line = 16 }; /* numbers: no cache line is written by two threads */
    const int64_t lines = (b->gradient[0].size + line - 1) / line, last = b->gradient[0].size;
    const int64_t first = lines * piece / count * line, end = lines * (piece + 1) / count * line;
    if (b->pass.single) {
        gather_weighed(b, first, end < last ? end : last);
        return;
    }
    for (int32_t k = 1; k < b->parts; k++)
        for (int64_t i = first; i < end && i < last; i++)
            b->gradient[0].block[i] += b->gradient[k].block[i];
}

sked_status RN(batch_grad)(RN(batch) * b, real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    if (b->loss.kind == SKED_I_LOSS_PPO) {
        RN(batch_again)(b);
    } else {
        b->centre = centre_of(b);
        begin_grad(b);
    }
    SKED_TRY(run_pass(b, err));
    RN(batch_gather)(b, 0, 1);
    SKED_TRY(RN(policy_grad)(b->policy, &b->gradient[0], dparameter, err));
cleanup:
    return st;
}

sked_status RN(batch_learn)(RN(batch) * b, int32_t listed, uint64_t seed, uint64_t first, real *dparameter,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    RN(batch_draw)(b, listed, seed, first);
    SKED_TRY(run_pass(b, err));
    if (RN(batch_second)(b))
        SKED_TRY(run_pass(b, err));
    RN(batch_gather)(b, 0, 1);
    SKED_TRY(RN(policy_grad)(b->policy, &b->gradient[0], dparameter, err));
cleanup:
    return st;
}
