#include "method/gflownet/policy.h"

#include "base/explog.h"
#include "base/memory.h"
#include "engine/network/pieces.h"

#include <assert.h>
#include <string.h>

sked_status RN(policy_create)(const sked_i_instance *x, const sked_i_layout *layout,
                              const RN(kernels) * kernels, RN(policy) * *out, sked_error *err)
{
    const RN(policy_kind) *kind =
        layout->sizes.policy == SKED_I_POLICY_STEPWISE ? &RN(policy_stepwise) : &RN(policy_once);
    RN(policy) *p = NULL;
    const sked_status st = kind->create(x, layout, kernels, &p, err);
    if (st == SKED_OK) {
        p->trust = 1;
        *out = p;
    }
    return st;
}

void RN(policy_destroy)(RN(policy) * p)
{
    if (p != NULL)
        p->kind->destroy(p);
}

void RN(policy_begin)(RN(policy) * p, const real *parameter, double temperature)
{
    assert(parameter != NULL && temperature > 0);
    p->parameter = parameter;
    p->temperature = temperature;
}

void RN(policy_prepare)(RN(policy) * p, const real *parameter, double temperature)
{
    RN(policy_begin)(p, parameter, temperature);
    for (int stage = 0; p->kind->prepare_pieces(p, stage, 1) > 0; stage++)
        p->kind->prepare(p, stage, 0, 1);
}

sked_status RN(gradient_create)(const RN(policy) * p, RN(gradient) * out, sked_error *err)
{
    out->size = p->kind->gradient_size(p);
    out->owned = sked_i_alloc(out->size + SKED_I_LINE, sizeof *out->block);
    if (out->owned == NULL)
        return sked_i_no_memory(err);
    out->block = RN(first_line)(out->owned);
    return SKED_OK;
}

void RN(gradient_clear)(RN(gradient) * g)
{
    free(g->owned);
    *g = (RN(gradient)){0};
}

sked_status RN(walker_create)(const RN(policy) * p, RN(walker) * *out, sked_error *err)
{
    return p->kind->walker_create(p, out, err);
}

void RN(walker_destroy)(RN(walker) * w)
{
    if (w != NULL)
        w->policy->kind->walker_destroy(w);
}

sked_status RN(walk)(RN(walker) * w, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                     RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err)
{
    assert(rng != NULL || kind == SKED_I_WALK_GREEDY || kind == SKED_I_WALK_REPLAY);
    assert(t->ppo == NULL || t->log_step != NULL);
    return w->policy->kind->walk(w, kind, rng, slope, gradient, t, err);
}

static int32_t likeliest(int32_t n, const real *logp)
{
    int32_t best = 0;
    for (int32_t k = 1; k < n; k++)
        if (logp[k] > logp[best])
            best = k;
    return best;
}

int32_t RN(choose)(const RN(choice) * c, sked_i_walk_kind kind, sked_i_rng *rng)
{
    const real negligible = -45; /* no uniform number is that small */
    assert(c->n > 0 && (kind == SKED_I_WALK_SAMPLE || kind == SKED_I_WALK_GREEDY));
    double rest = kind == SKED_I_WALK_SAMPLE ? sked_i_rng_uniform(rng) : 0;
    for (int32_t k = 0; k < c->n && kind == SKED_I_WALK_SAMPLE; k++) {
        if (!(c->logp[k] > negligible))
            continue;
        const double share = c->count[k] * sked_i_exp_quick(c->logp[k]);
        if (rest < share)
            return k;
        rest -= share;
    }
    return likeliest(c->n, c->logp); /* or rounding left a rest */
}

sked_status RN(no_probability)(int32_t step, int32_t n, sked_error *err)
{
    return sked_i_fail(err, SKED_ERR_BUG, "the policy gives no probability at step %d of %d", (int)step,
                       (int)n);
}

sked_status RN(note_choice)(const RN(choice) * c, sked_i_walk_kind kind, int32_t step, int32_t chosen,
                            sked_i_trajectory *t, sked_error *err)
{
    assert(chosen < c->n);
    if (chosen < 0)
        return sked_i_fail(err, SKED_ERR_BUG, "step %d of the trajectory is not legal", (int)step);
    if (t->ppo && kind != SKED_I_WALK_REPLAY)
        t->log_step[step] = c->logp[chosen];
    t->log_forward += c->logp[chosen];
    if (t->step_flow != NULL)
        t->step_flow[step] = -c->logp[chosen];
    return SKED_OK;
}

/* The slope of log P_F of a step whose action has this logp: `slope` itself, or what PPO makes of it. */
static real step_slope(sked_i_trajectory *t, int32_t step, real slope, real logp)
{
    const double most = 20; /* nats: beyond, a ratio is as bad as any, and stays a number */
    if (t->step_slope != NULL)
        slope = (real)t->step_slope[step];
    if (t->ppo == NULL)
        return slope;
    const double away = logp - t->log_step[step];
    const double ratio = sked_i_exp(away > most ? most : away > -700 ? away : -700);
    const double bound = slope < 0 ? 1 + t->ppo->clip : 1 - t->ppo->clip;
    const bool cut = slope < 0 ? ratio > bound : ratio < bound;
    t->objective += slope * (cut ? bound : ratio);
    return cut ? 0 : (real)(slope * ratio);
}

/* Of a choice with all its labels: probability, and its logarithm where that is not 0. */
static double choice_share(real logp, int32_t count, double *log_share)
{
    const real negligible = -45;
    if (count == 0 || !(logp > negligible))
        return 0;
    *log_share = logp + (count > 1 ? sked_i_log(count) : 0);
    return count * sked_i_exp_quick(logp);
}

/* PPO: dlogit += the slope of -entropy * H. Labels of an entry count together: identical devices are one
 * place. */
static void add_entropy(const RN(choice) * c, sked_i_trajectory *t)
{
    double entropy = 0, log_share = 0;
    for (int32_t k = 0; k < c->n; k++) {
        const double share = choice_share(c->logp[k], c->count[k], &log_share);
        entropy -= share * log_share;
    }
    for (int32_t k = 0; k < c->n; k++) {
        const double share = choice_share(c->logp[k], c->count[k], &log_share);
        c->dlogit[k] += (real)(t->ppo->entropy * share * (log_share + entropy));
    }
    t->entropy += entropy;
}

void RN(choice_grad)(const RN(choice) * c, const RN(kernels) * k, sked_i_trajectory *t, int32_t step,
                     int32_t chosen, real slope)
{
    assert(chosen >= 0 && chosen < c->n);
    memset(c->dlogp, 0, (size_t)c->n * sizeof(real));
    memset(c->dlogit, 0, (size_t)c->n * sizeof(real));
    c->dlogp[chosen] = step_slope(t, step, slope, c->logp[chosen]);
    k->log_softmax_grad(c->n, c->logp, c->count, c->dlogp, c->dlogit);
    if (t->ppo != NULL)
        add_entropy(c, t);
}
