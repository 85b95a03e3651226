#include "method/gflownet/batch.h"

#include "base/memory.h"
#include "base/thread.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* In nats. */
static const double huber_bound = 20;

/*
 * Long parts save memory and sums; short ones, a fifth of the trajectories, go to threads that are ahead of
 * others. Small batches have nothing to save, and where gradients are taken in a single pass a part has three
 * of them: there all parts are alike, and there are few.
 */
static void cut_into_parts(RN(batch) * b)
{
    const int32_t share = (int32_t)((int64_t)b->size * 4 / 5 / SKED_I_BATCH_LONG);
    const bool alike = share < 2 || b->policy->kind->single_pass;
    const int32_t most = alike ? SKED_I_BATCH_LONG : SKED_I_BATCH_PARTS - SKED_I_BATCH_LONG;
    b->share = alike ? 0 : share;
    b->longs = alike ? 0 : SKED_I_BATCH_LONG;
    const int32_t rest = b->size - b->longs * b->share;
    b->parts = b->longs + (rest < most ? rest : most);
}

sked_status RN(batch_create)(const RN(policy) * p, int32_t size, int threads, bool gradients,
                             RN(batch) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    RN(batch) *b = NULL;
    assert(size >= 1 && threads >= 1);
    const int64_t n = p->instance->n;
    SKED_NEW0(b, 1);
    b->policy = p;
    b->size = size;
    cut_into_parts(b);
    b->threads = threads < b->parts ? threads : b->parts;
    b->bound = p->kind->single_pass ? INFINITY : huber_bound;
    b->gradients = gradients;
    SKED_OWN0(&b->arena, b->trajectory, size);
    SKED_OWN(&b->arena, b->steps, 2 * size * n);
    SKED_OWN(&b->arena, b->slope, gradients ? size : 0);
    SKED_OWN(&b->arena, b->zeta, size);
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
    assert(part >= 0 && part <= b->parts);
    const int32_t from = b->longs * b->share;
    if (part <= b->longs)
        return part * b->share;
    return from + (int32_t)((int64_t)(b->size - from) * (part - b->longs) / (b->parts - b->longs));
}

void RN(batch_close)(RN(batch) * b, int32_t piece, int32_t count)
{
    for (int32_t k = piece; k < SKED_I_BATCH_PARTS; k += count) {
        RN(walker_destroy)(b->walker[k]);
        b->walker[k] = NULL;
        RN(gradient_clear)(&b->gradient[k]);
        RN(gradient_clear)(&b->plain[k]);
        RN(gradient_clear)(&b->weighed[k]);
    }
    for (int32_t k = piece; k < b->size; k += count) {
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
    if (b->trajectory != NULL)
        RN(batch_close)(b, 0, 1);
    sked_i_arena_free(&b->arena);
    free(b);
}

/* Gradients are taken as trajectories are drawn. Those of PPO and of steps depend on all of them. */
static bool takes_one_pass(const RN(batch) * b)
{
    return b->policy->kind->single_pass && b->loss.kind != SKED_I_LOSS_PPO && !b->loss.by_steps;
}

sked_status RN(batch_set_loss)(RN(batch) * b, const sked_i_loss *loss, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = b->policy->instance->n;
    const bool ppo = loss->kind == SKED_I_LOSS_PPO;
    if (ppo && b->log_step == NULL)
        SKED_OWN(&b->arena, b->log_step, b->size * n);
    if (ppo && b->advantage == NULL)
        SKED_OWN(&b->arena, b->advantage, b->size);
    if (loss->by_steps && b->step == NULL)
        SKED_OWN(&b->arena, b->step, 3 * b->size * n);
    b->loss = *loss;
    b->bound = takes_one_pass(b) ? INFINITY : huber_bound;
    b->ppo = (sked_i_clipping){loss->clip, loss->entropy / ((double)b->size * (double)n)};
    for (int64_t k = 0; k < b->size; k++) {
        b->trajectory[k].ppo = ppo ? &b->ppo : NULL;
        b->trajectory[k].log_step = ppo ? b->log_step + k * n : NULL;
        b->trajectory[k].step_flow = loss->by_steps ? b->step + 3 * k * n : NULL;
        b->trajectory[k].step_outlook = loss->by_steps ? b->step + (3 * k + 1) * n : NULL;
        b->trajectory[k].step_slope = loss->by_steps ? b->step + (3 * k + 2) * n : NULL;
    }
cleanup:
    return st;
}

static double zeta_of(const RN(batch) * b, int32_t k)
{
    return sked_i_loss_zeta(b->policy->instance, b->policy->temperature, &b->trajectory[k]);
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
    assert(b->plain[part].size == g->size && b->weighed[part].size == g->size);
    const real weight = (real)(zeta_of(b, k) - zeta_of(b, first_of(b, part)));
    for (int64_t i = 0; i < g->size; i++) {
        plain[i] += g->block[i];
        weighed[i] += weight * g->block[i];
    }
    clear(g);
}

/* Of trajectory k. */
static real slope_of(const RN(batch) * b, int32_t k)
{
    return b->pass.slope ? b->pass.slope[k] : 1;
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

static sked_status open_part(RN(batch) * b, int32_t part, sked_error *err)
{
    sked_status st = SKED_OK;
    if (b->gradient[part].block == NULL)
        SKED_TRY(RN(gradient_create)(b->policy, &b->gradient[part], err));
    if (b->plain[part].block == NULL && takes_one_pass(b))
        SKED_TRY(RN(gradient_create)(b->policy, &b->plain[part], err));
    if (b->weighed[part].block == NULL && takes_one_pass(b))
        SKED_TRY(RN(gradient_create)(b->policy, &b->weighed[part], err));
cleanup:
    return st;
}

static sked_status open_walker(RN(batch) * b, int32_t own, sked_error *err)
{
    return b->walker[own] != NULL ? SKED_OK : RN(walker_create)(b->policy, &b->walker[own], err);
}

sked_status RN(batch_open)(RN(batch) * b, int32_t piece, sked_error *err)
{
    return piece < b->parts ? open_part(b, piece, err) : open_walker(b, piece - b->parts, err);
}

static int32_t left_of(const RN(batch) * b, int32_t part)
{
    return __atomic_load_n(&b->pass.left[part], __ATOMIC_RELAXED);
}

static bool takes_gradients(const RN(batch_pass) * p)
{
    return p->slope != NULL || p->single;
}

/* Trajectory k, with a walker and, for its gradient, a part that are the caller's; else part is -1. */
static void walk_one(RN(batch) * b, int32_t own, int32_t part, int32_t k)
{
    RN(batch_pass) *p = &b->pass;
    sked_error *err = &p->error[own];
    sked_status st = SKED_OK;
    real slope = 0;
    sked_i_rng rng;
    SKED_TRY(open_walker(b, own, err));
    if (part >= 0) {
        SKED_TRY(open_part(b, part, err));
        slope = slope_of(b, k);
        if (k == first_of(b, part))
            clear_part(b, part);
    }
    sked_i_rng_seed(&rng, p->seed, p->first + (uint64_t)k);
    SKED_TRY(RN(walk)(b->walker[own], kind_of(p, k), &rng, slope, part >= 0 ? &b->gradient[part] : NULL,
                      &b->trajectory[k], err));
    if (p->single)
        collect(b, part, k);
cleanup:
    p->status[own] = st;
    p->failed[own] = k;
}

/* The part with the most to do, of all or of those that no thread has taken; -1: there is none. */
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

static bool claim(bool *taken)
{
    bool free = false;
    return __atomic_compare_exchange_n(taken, &free, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void release(bool *taken)
{
    __atomic_store_n(taken, false, __ATOMIC_RELEASE);
}

/* A free walker: there is one for each thread. */
static int32_t claim_walker(RN(batch) * b, int thread)
{
    int32_t own = thread % b->threads;
    while (!claim(&b->pass.walks[own]))
        own = (own + 1) % b->threads;
    return own;
}

/* A trajectory of the part that is not walked yet; -1: there is none. */
static int32_t take_one(RN(batch) * b, int32_t part)
{
    const int32_t left = __atomic_fetch_sub(&b->pass.left[part], 1, __ATOMIC_RELAXED);
    return left > 0 ? first_of(b, part + 1) - left : -1;
}

/* What a part has left, together with other threads. */
static void walk_any(RN(batch) * b, int32_t own, int32_t part)
{
    for (int32_t k; b->pass.status[own] == SKED_OK && (k = take_one(b, part)) >= 0;)
        walk_one(b, own, -1, k);
}

/* What a part has left, in order and alone; nothing where another thread is at it. */
static void walk_part(RN(batch) * b, int32_t own, int32_t part)
{
    RN(batch_pass) *p = &b->pass;
    if (!claim(&p->taken[part]))
        return;
    for (int32_t left; (left = left_of(b, part)) > 0 && p->status[own] == SKED_OK;) {
        walk_one(b, own, part, first_of(b, part + 1) - left);
        __atomic_store_n(&p->left[part], left - 1, __ATOMIC_RELAXED);
    }
    release(&p->taken[part]);
}

void RN(batch_walk)(RN(batch) * b, int thread)
{
    const bool alone = takes_gradients(&b->pass);
    const int32_t own = claim_walker(b, thread);
    for (int32_t part = thread % b->parts; part >= 0 && b->pass.status[own] == SKED_OK;
         part = most_left(b, alone))
        if (alone)
            walk_part(b, own, part);
        else
            walk_any(b, own, part);
    release(&b->pass.walks[own]);
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
    int32_t first = -1; /* walker whose failure came with the first trajectory */
    for (int32_t k = 0; k < b->threads; k++) {
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
    RN(batch_walk)(data, thread);
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
        b->advantage[k] = sked_i_loss_log_reward(p->instance, p->temperature, b->trajectory[k].makespan);
    sked_i_advantages(b->size, p->instance->n, b->advantage);
    for (int32_t k = 0; k < b->size; k++)
        b->slope[k] = (real)b->advantage[k];
}

/* What step u adds to the sum of credit by steps. */
static double gain_of(const RN(batch) * b, const sked_i_trajectory *t, int32_t u)
{
    const sked_i_instance *x = b->policy->instance;
    const double heat = b->policy->temperature;
    const double before = u > 0 ? sked_i_loss_log_reward(x, heat, t->step_outlook[u - 1]) : 0;
    const double rise = sked_i_loss_log_reward(x, heat, t->step_outlook[u]) - before;
    return b->loss.kind == SKED_I_LOSS_PPO ? rise : rise + t->step_flow[u];
}

/* G_t into step_slope[t] of the trajectories that were drawn, less their mean; sum of squares. */
static double fill_gains(RN(batch) * b, int32_t first, int32_t step)
{
    const int32_t n = b->policy->instance->n;
    double mean = 0, square = 0;
    for (int32_t k = first; k < b->size; k++) {
        const sked_i_trajectory *t = &b->trajectory[k];
        b->zeta[k] = gain_of(b, t, step) + (step + 1 < n ? b->loss.lambda * b->zeta[k] : 0);
        mean += b->zeta[k] / (b->size - first);
    }
    for (int32_t k = first; k < b->size; k++) {
        const double gain = b->zeta[k] - mean;
        b->trajectory[k].step_slope[step] = gain;
        square += gain * gain;
    }
    return square;
}

/* From gains to slopes. Of lists the whole trajectory answers for every step: they are not drawn from P_F. */
static void fill_step_slopes(RN(batch) * b, int32_t listed)
{
    const int32_t n = b->policy->instance->n;
    const bool ppo = b->loss.kind == SKED_I_LOSS_PPO;
    double square = 0;
    for (int32_t step = n - 1; step >= 0; step--)
        square += fill_gains(b, listed, step);
    const double unit = ppo ? (1 + sqrt(square / n / (b->size - listed))) * n : 2;
    for (int32_t k = 0; k < b->size; k++) {
        sked_i_trajectory *t = &b->trajectory[k];
        t->back_slope = -1.0 / b->size;
        for (int32_t step = 0; step < n; step++)
            t->step_slope[step] = k < listed ? b->slope[k]
                                  : ppo      ? -t->step_slope[step] / unit / b->size
                                             : -2 * bounded(b, t->step_slope[step]) / b->size;
    }
}

static void begin_grad(RN(batch) * b)
{
    assert(b->gradients); /* there is room for slopes */
    if (b->loss.kind == SKED_I_LOSS_PPO)
        fill_advantages(b);
    for (int32_t k = 0; k < b->size && b->loss.kind != SKED_I_LOSS_PPO; k++)
        b->slope[k] = (real)(-2 * bounded(b, zeta_of(b, k) - b->centre) / b->size);
    if (b->loss.by_steps)
        fill_step_slopes(b, b->pass.listed);
    begin_pass(b, &(RN(batch_pass)){.replay = true, .listed = b->pass.listed, .slope = b->slope});
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
    assert(piece >= 0 && piece < count && b->gradient[0].block != NULL);
    if (b->pass.single) {
        gather_weighed(b, first, end < last ? end : last);
        return;
    }
    for (int32_t k = 1; k < b->parts; k++)
        for (int64_t i = first; i < end && i < last; i++)
            b->gradient[0].block[i] += b->gradient[k].block[i];
}
