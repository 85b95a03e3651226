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
    SKED_NEW0(b->trajectory, size);
    SKED_NEW(b->steps, 2 * size * n);
    for (int64_t k = 0; k < size; k++)
        b->trajectory[k] =
            (sked_i_trajectory){.op = b->steps + 2 * k * n, .device = b->steps + (2 * k + 1) * n};
    for (int32_t k = 0; k < b->parts; k++) {
        SKED_TRY(RN(walker_create)(p, &b->walker[k], err));
        if (gradients)
            SKED_TRY(RN(gradient_create)(p, &b->gradient[k], err));
        if (gradients && p->kind->single_pass) {
            SKED_TRY(RN(gradient_create)(p, &b->plain[k], err));
            SKED_TRY(RN(gradient_create)(p, &b->weighed[k], err));
        }
    }
    *out = b;
    b = NULL;
cleanup:
    RN(batch_destroy)(b);
    return st;
}

void RN(batch_destroy)(RN(batch) * b)
{
    if (b == NULL)
        return;
    for (int32_t k = 0; k < b->parts; k++) {
        RN(walker_destroy)(b->walker[k]);
        RN(gradient_clear)(&b->gradient[k]);
        RN(gradient_clear)(&b->plain[k]);
        RN(gradient_clear)(&b->weighed[k]);
    }
    free(b->trajectory);
    free(b->steps);
    free(b);
}

/* One pass over all trajectories, part by part. */
typedef struct pass {
    RN(batch) * batch;
    bool replay, greedy;
    int32_t listed;
    uint64_t seed, first;
    const real *slope; /* [size]: add gradients; NULL: none */
    bool single;       /* gradients of the trajectories as they are drawn */
    sked_error error[SKED_I_BATCH_PARTS];
    sked_status status[SKED_I_BATCH_PARTS];
} pass;

static double zeta_of(const RN(batch) * b, int32_t k)
{
    return sked_i_trajectory_zeta(b->policy->instance, b->policy->temperature, &b->trajectory[k]);
}

static void clear(RN(gradient) * g)
{
    memset(g->block, 0, (size_t)g->size * sizeof *g->block);
}

static int32_t first_of(const RN(batch) * b, int32_t part)
{
    return (int32_t)((int64_t)b->size * part / b->parts);
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

static void run_part(pass *p, int32_t part)
{
    RN(batch) *b = p->batch;
    for (int32_t k = first_of(b, part); k < first_of(b, part + 1) && p->status[part] == SKED_OK; k++) {
        const sked_i_walk_kind kind = p->replay       ? SKED_I_WALK_REPLAY
                                      : k < p->listed ? SKED_I_WALK_LIST
                                      : p->greedy     ? SKED_I_WALK_GREEDY
                                                      : SKED_I_WALK_SAMPLE;
        const real slope = p->slope ? p->slope[k] : p->single;
        sked_i_rng rng;
        sked_i_rng_seed(&rng, p->seed, p->first + (uint64_t)k);
        p->status[part] =
            RN(walk)(b->walker[part], kind, &rng, slope, p->slope || p->single ? &b->gradient[part] : NULL,
                     &b->trajectory[k], &p->error[part]);
        if (p->single && p->status[part] == SKED_OK)
            collect(b, part, k);
    }
}

static void run_thread(void *data, int thread)
{
    pass *p = data;
    for (int32_t part = thread; part < p->batch->parts; part += p->batch->threads)
        run_part(p, part);
}

static sked_status run_pass(pass *p, sked_error *err)
{
    bool stopped = false;
    for (int32_t k = 0; k < p->batch->size; k++)
        p->batch->trajectory[k].makespan = NAN;
    sked_status st = sked_i_parallel(p->batch->threads, run_thread, p, err);
    for (int32_t k = 0; k < p->batch->parts && st == SKED_OK; k++) {
        stopped = stopped || p->status[k] == SKED_ERR_STOPPED;
        if (p->status[k] != SKED_OK && p->status[k] != SKED_ERR_STOPPED)
            st = sked_i_fail(err, p->status[k], "%s", p->error[k].message);
    }
    return st == SKED_OK && stopped ? sked_i_limit_fail(err) : st;
}

sked_status RN(batch_sample)(RN(batch) * b, int32_t listed, bool greedy, uint64_t seed, uint64_t first,
                             sked_error *err)
{
    pass p = {.batch = b, .greedy = greedy, .listed = listed, .seed = seed, .first = first};
    return run_pass(&p, err);
}

sked_status RN(batch_replay)(RN(batch) * b, sked_error *err)
{
    pass p = {.batch = b, .replay = true};
    return run_pass(&p, err);
}

/* Half the slope of h. */
static double bounded(const RN(batch) * b, double r)
{
    return r > b->bound ? b->bound : r < -b->bound ? -b->bound : r;
}

/* Sum of slopes at c: falls as c rises, and is 0 at the least loss. */
static double slopes(const RN(batch) * b, double c)
{
    double sum = 0;
    for (int32_t k = 0; k < b->size; k++)
        sum += bounded(b, zeta_of(b, k) - c);
    return sum;
}

/* The mean, and with a bound the root of the slopes between the least and the largest zeta, by bisection. */
static double centre_of(const RN(batch) * b)
{
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (int32_t k = 0; k < b->size; k++) {
        const double zeta = zeta_of(b, k);
        low = fmin(low, zeta);
        high = fmax(high, zeta);
        sum += zeta;
    }
    if (high - low <= b->bound)
        return sum / b->size;
    for (double middle; middle = low + (high - low) / 2, middle > low && middle < high;)
        *(slopes(b, middle) > 0 ? &low : &high) = middle;
    return low;
}

double RN(batch_loss)(const RN(batch) * b, double *centre)
{
    double sum = 0;
    *centre = centre_of(b);
    for (int32_t k = 0; k < b->size; k++) {
        const double r = zeta_of(b, k) - *centre, inside = bounded(b, r);
        sum += inside * (2 * r - inside);
    }
    return sum / b->size;
}

sked_status RN(batch_grad)(RN(batch) * b, real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    real *slope = NULL;
    double mean;
    SKED_NEW(slope, b->size);
    RN(batch_loss)(b, &mean);
    for (int32_t k = 0; k < b->size; k++)
        slope[k] = (real)(-2 * bounded(b, zeta_of(b, k) - mean) / b->size);
    for (int32_t k = 0; k < b->parts; k++)
        clear(&b->gradient[k]);
    pass p = {.batch = b, .replay = true, .slope = slope};
    SKED_TRY(run_pass(&p, err));
    for (int32_t k = 1; k < b->parts; k++)
        for (int64_t i = 0; i < b->gradient[0].size; i++)
            b->gradient[0].block[i] += b->gradient[k].block[i];
    SKED_TRY(RN(policy_grad)(b->policy, &b->gradient[0], dparameter, err));
cleanup:
    free(slope);
    return st;
}

static sked_status learn_in_one(RN(batch) * b, pass *p, real *dparameter, sked_error *err)
{
    sked_status st = SKED_OK;
    double mean;
    for (int32_t k = 0; k < b->parts; k++) {
        clear(&b->gradient[k]);
        clear(&b->plain[k]);
        clear(&b->weighed[k]);
    }
    p->single = true;
    SKED_TRY(run_pass(p, err));
    RN(batch_loss)(b, &mean);
    RN(gradient) *sum = &b->gradient[0];
    clear(sum);
    for (int32_t k = 0; k < b->parts; k++) {
        const real scale = (real)(-2.0 / b->size), weight = (real)(zeta_of(b, first_of(b, k)) - mean);
        const real *plain = b->plain[k].block, *weighed = b->weighed[k].block;
        for (int64_t i = 0; i < sum->size; i++)
            sum->block[i] += scale * (weighed[i] + weight * plain[i]);
    }
    SKED_TRY(RN(policy_grad)(b->policy, sum, dparameter, err));
cleanup:
    return st;
}

sked_status RN(batch_learn)(RN(batch) * b, int32_t listed, uint64_t seed, uint64_t first, real *dparameter,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    pass p = {.batch = b, .listed = listed, .seed = seed, .first = first};
    if (b->policy->kind->single_pass)
        return learn_in_one(b, &p, dparameter, err);
    SKED_TRY(run_pass(&p, err));
    SKED_TRY(RN(batch_grad)(b, dparameter, err));
cleanup:
    return st;
}
