#include "engine/network/sampler.h"

#include "base/clones.h"
#include "base/explog.h"
#include "base/memory.h"
#include "base/rng.h"

#include <assert.h>

sked_status sked_i_sampler_create(const sked_i_sizes *sizes, sked_sampler **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_sampler *m = NULL;
    SKED_NEW0(m, 1);
    SKED_TRY(sked_i_layout_init(&m->layout, sizes, err));
    SKED_NEW0(m->parameter, SKED_I_SAMPLER_BLOCKS * m->layout.total);
    m->moment1 = m->parameter + m->layout.total;
    m->moment2 = m->moment1 + m->layout.total;
    m->rate = 1e-3;
    m->epochs = 1;
    *out = m;
    m = NULL;
cleanup:
    sked_sampler_destroy(m);
    return st;
}

void sked_sampler_destroy(sked_sampler *m)
{
    if (m == NULL)
        return;
    free(m->parameter);
    free(m->log_z);
    free(m);
}

int64_t sked_sampler_parameter_count(const sked_sampler *m)
{
    return m->layout.total;
}

double sked_i_sampler_trust(const sked_sampler *m, int32_t ops)
{
    return m->largest > 0 && ops > m->largest ? (double)m->largest / ops : 1;
}

int64_t sked_sampler_steps(const sked_sampler *m)
{
    return m->steps;
}

static const float list_rule[SKED_I_DIRECT_FEATURES] = SKED_I_LIST_RULE;

static float initial(const sked_i_parameter *p, int64_t i, double spread, sked_i_rng *rng)
{
    switch (p->initial) {
    case SKED_I_INITIAL_ZERO:
        return 0;
    case SKED_I_INITIAL_ONE:
        return 1;
    case SKED_I_INITIAL_LIST:
        return list_rule[i];
    default:
        return (float)(spread * sked_i_rng_normal(rng));
    }
}

void sked_i_sampler_start(sked_sampler *m, uint64_t seed)
{
    m->seed = seed;
    for (int k = 0; k < m->layout.n_table; k++) {
        const sked_i_parameter *p = &m->layout.table[k];
        const double spread = (p->initial == SKED_I_INITIAL_SMALL ? 0.1 : 1) / sqrt(p->rows);
        sked_i_rng rng;
        sked_i_rng_seed(&rng, seed, (uint64_t)k);
        for (int64_t i = 0; i < (int64_t)p->rows * p->columns; i++)
            m->parameter[p->offset + i] = initial(p, i, spread, &rng);
    }
}

sked_status sked_i_sampler_blend(sked_sampler *m, double share, sked_error *err)
{
    sked_sampler *start = NULL;
    const sked_status st = sked_i_sampler_create(&m->layout.sizes, &start, err);
    if (st != SKED_OK)
        return st;
    sked_i_sampler_start(start, m->seed);
    for (int64_t i = 0; i < m->layout.total; i++)
        m->parameter[i] = start->parameter[i] + (float)share * (m->parameter[i] - start->parameter[i]);
    sked_sampler_destroy(start);
    return SKED_OK;
}

double sked_i_sampler_decay(const sked_sampler *m)
{
    const double left = m->anneal > 0 ? 1 - (double)m->steps / (double)m->anneal : 1;
    return m->anneal > 0 ? fmax(left, 0.01) : 1 / sqrt(1 + (double)m->steps / 4000);
}

double sked_i_sampler_rate(const sked_sampler *m)
{
    const double warm = m->steps < 100 ? (double)(m->steps + 1) / 100 : 1;
    return m->rate * warm * sked_i_sampler_decay(m);
}

void sked_i_sampler_advance(sked_sampler *m)
{
    assert(m->epoch >= 0 && m->epoch < m->epochs);
    m->epoch = m->epoch + 1 < m->epochs ? m->epoch + 1 : 0;
    m->steps += m->epoch == 0;
}

sked_i_adam sked_i_sampler_adam(const sked_sampler *m)
{
    const double b1 = 0.9, b2 = 0.999, t = (double)m->steps * m->epochs + m->epoch + 1;
    /* b^t through exp and log of our own: pow differs between C libraries. */
    return (sked_i_adam){.b1 = b1,
                         .b2 = b2,
                         .left1 = 1 - sked_i_exp(fmax(t * sked_i_log(b1), -700)),
                         .left2 = 1 - sked_i_exp(fmax(t * sked_i_log(b2), -700)),
                         .rate = sked_i_sampler_rate(m)};
}

double sked_i_gradient_norm(int64_t n, const float *gradient)
{
    enum { lanes = 8 };
    double sum[lanes] = {0}, square = 0;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (int k = 0; k < lanes; k++)
            sum[k] += (double)gradient[i + k] * gradient[i + k];
    for (; i < n; i++)
        sum[0] += (double)gradient[i] * gradient[i];
    for (int k = 0; k < lanes; k++)
        square += sum[k];
    return sqrt(square);
}

static inline void adam_step(const sked_i_adam *a, double g, float *parameter, float *moment1, float *moment2)
{
    *moment1 = (float)(a->b1 * *moment1 + (1 - a->b1) * g);
    *moment2 = (float)(a->b2 * *moment2 + (1 - a->b2) * g * g);
    *parameter -= (float)(a->rate * (*moment1 / a->left1) / (sqrt(*moment2 / a->left2) + 1e-8));
}

SKED_I_CLONES static void adam_steps(int64_t n, const sked_i_adam *a, const float *gradient, double cut,
                                     float *parameter, float *moment1, float *moment2)
{
    for (int64_t i = 0; i < n; i++)
        adam_step(a, gradient[i] * cut, &parameter[i], &moment1[i], &moment2[i]);
}

void sked_i_sampler_step(sked_sampler *m, const sked_i_adam *a, const float *gradient, double cut,
                         int64_t first, int64_t end)
{
    assert(first >= 0 && first <= end && end <= m->layout.total);
    adam_steps(end - first, a, gradient + first, cut, m->parameter + first, m->moment1 + first,
               m->moment2 + first);
}

sked_status sked_i_sampler_open_log_z(sked_sampler *m, sked_error *err)
{
    if (m->log_z != NULL)
        return SKED_OK;
    m->log_z = sked_i_alloc(1, sizeof *m->log_z);
    if (m->log_z == NULL)
        return sked_i_no_memory(err);
    sked_i_log_z_start(m->log_z, m->seed);
    return SKED_OK;
}

void sked_i_sampler_step_log_z(sked_sampler *m, const sked_i_adam *a, const double *gradient)
{
    sked_i_log_z *z = m->log_z;
    assert(z != NULL);
    for (int i = 0; i < SKED_I_LOG_Z_TOTAL; i++)
        adam_step(a, gradient[i], &z->parameter[i], &z->moment1[i], &z->moment2[i]);
}
