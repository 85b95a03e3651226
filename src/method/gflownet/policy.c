#include "method/gflownet/policy.h"

#include "base/explog.h"
#include "base/memory.h"

sked_status RN(policy_create)(const sked_i_instance *x, const sked_i_layout *layout,
                              const RN(kernels) * kernels, RN(policy) * *out, sked_error *err)
{
    const RN(policy_kind) *kind =
        layout->sizes.policy == SKED_I_POLICY_STEPWISE ? &RN(policy_stepwise) : &RN(policy_once);
    RN(policy) *p = NULL;
    const sked_status st = kind->create(x, layout, kernels, &p, err);
    if (st == SKED_OK)
        *out = p;
    return st;
}

void RN(policy_destroy)(RN(policy) * p)
{
    if (p != NULL)
        p->kind->destroy(p);
}

void RN(policy_begin)(RN(policy) * p, const real *parameter, double temperature)
{
    p->parameter = parameter;
    p->temperature = temperature;
}

void RN(policy_prepare)(RN(policy) * p, const real *parameter, double temperature)
{
    RN(policy_begin)(p, parameter, temperature);
    for (int stage = 0; p->kind->prepare_pieces(p, stage, 1) > 0; stage++)
        p->kind->prepare(p, stage, 0, 1);
}

sked_status RN(policy_grad)(const RN(policy) * p, RN(gradient) * g, real *dparameter, sked_error *err)
{
    RN(back) *b = NULL;
    const sked_status st = p->kind->back_begin(p, g, dparameter, &b, err);
    if (st != SKED_OK)
        return st;
    for (int stage = 0; p->kind->back_pieces(b, stage, 1) > 0; stage++)
        p->kind->back_run(b, stage, 0, 1);
    return p->kind->back_end(b, err);
}

sked_status RN(gradient_create)(const RN(policy) * p, RN(gradient) * out, sked_error *err)
{
    enum { line = 64 }; /* bytes of a cache line */
    out->size = p->kind->gradient_size(p);
    char *bytes = sked_i_alloc(out->size + line / (int64_t)sizeof *out->block, sizeof *out->block);
    if (bytes == NULL)
        return sked_i_no_memory(err);
    out->owned = bytes;
    out->block = (real *)(void *)(bytes + (line - (uintptr_t)bytes % line) % line);
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
    return w->policy->kind->walk(w, kind, rng, slope, gradient, t, err);
}

int32_t RN(choice_likeliest)(int32_t n, const real *logp)
{
    int32_t best = 0;
    for (int32_t k = 1; k < n; k++)
        if (logp[k] > logp[best])
            best = k;
    return best;
}

int32_t RN(choice_draw)(int32_t n, const real *logp, const int32_t *count, sked_i_rng *rng)
{
    const real negligible = -45; /* no uniform number is that small */
    double rest = sked_i_rng_uniform(rng);
    for (int32_t k = 0; k < n; k++) {
        if (!(logp[k] > negligible))
            continue;
        const double share = count[k] * sked_i_exp_quick(logp[k]);
        if (rest < share)
            return k;
        rest -= share;
    }
    return RN(choice_likeliest)(n, logp); /* rounding left a rest */
}

real RN(step_slope)(sked_i_trajectory *t, int32_t step, real slope, real logp)
{
    const double most = 20; /* nats: beyond, a ratio is as bad as any, and stays a number */
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

void RN(step_entropy)(sked_i_trajectory *t, int32_t n, const real *logp, const int32_t *count, real *dlogit)
{
    double entropy = 0, log_share = 0;
    if (t->ppo == NULL)
        return;
    for (int32_t k = 0; k < n; k++) {
        const double share = choice_share(logp[k], count[k], &log_share);
        entropy -= share * log_share;
    }
    for (int32_t k = 0; k < n; k++) {
        const double share = choice_share(logp[k], count[k], &log_share);
        dlogit[k] += (real)(t->ppo->entropy * share * (log_share + entropy));
    }
    t->entropy += entropy;
}
